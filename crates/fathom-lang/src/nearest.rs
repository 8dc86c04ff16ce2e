//! Which name did the user mean?
//!
//! A suggestion is worth showing only if it is close: at most a third of the name may differ. Very long names, and
//! names among very many, get none, so that the cost of a look-up is bounded.

/// The longest name that is compared.
const NAME_BYTES_MAX: usize = 64;
/// The most candidates of about the right length that are compared.
const CANDIDATES_MAX: usize = 10_000;

/// The candidate nearest to `name`, if one is close; of equally near ones the least, so that the answer does not depend
/// on the order of the candidates.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let limit = (name.len() / 3).max(1);
    let alike =
        |candidate: &&str| candidate.len().abs_diff(name.len()) <= limit && candidate.len() <= NAME_BYTES_MAX;
    let candidates: Vec<&str> = candidates.into_iter().filter(alike).take(CANDIDATES_MAX + 1).collect();
    if candidates.len() > CANDIDATES_MAX {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= limit && distance < candidate.len())
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many insertions, deletions, replacements and swaps of neighbours turn one name into the other; upper and lower
/// case count as equal, but equal names in different case are 1 apart.
fn distance(left: &str, right: &str) -> usize {
    if left == right {
        return 0;
    }
    if left.eq_ignore_ascii_case(right) {
        return 1;
    }
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let width = right.len() + 1;
    let mut rows = vec![0; width * (left.len() + 1)];
    for row in 0..=left.len() {
        for column in 0..width {
            rows[row * width + column] = cell(left, right, &rows, row, column);
        }
    }
    rows[left.len() * width + right.len()]
}

/// One entry of the table of distances between prefixes.
fn cell(left: &[u8], right: &[u8], rows: &[usize], row: usize, column: usize) -> usize {
    if row == 0 || column == 0 {
        return row + column;
    }
    let width = right.len() + 1;
    let at = |up: usize, back: usize| rows[(row - up) * width + column - back];
    let same = |l: usize, r: usize| left[l].eq_ignore_ascii_case(&right[r]);
    let replaced = at(1, 1) + usize::from(!same(row - 1, column - 1));
    let best = replaced.min(at(1, 0) + 1).min(at(0, 1) + 1);
    if row > 1 && column > 1 && same(row - 1, column - 2) && same(row - 2, column - 1) {
        return best.min(at(2, 2) + 1);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_found_and_far_ones_are_not() {
        let names = ["in_critical", "pos", "step", "P_0", "P_1"];
        assert_eq!(nearest("in_critcal", names), Some("in_critical"));
        assert_eq!(nearest("setp", names), Some("step"));
        assert_eq!(nearest("POS", names), Some("pos"));
        assert_eq!(nearest("P_3", names), Some("P_0"), "the least of equally near ones");
        assert_eq!(nearest("waiting", names), None);
        assert_eq!(nearest("x", ["y"]), None, "a name of one letter is near nothing");
        assert_eq!(nearest("X", ["x"]), None);
        assert_eq!(nearest(&"a".repeat(100), [&*"a".repeat(99)]), None);
        assert_eq!(nearest("abcde", std::iter::repeat_n("abcdf", 10_000)), Some("abcdf"));
        assert_eq!(nearest("abcde", std::iter::repeat_n("abcdf", 10_001)), None, "among very many");
    }

    #[test]
    fn distance_is_symmetric_and_zero_only_for_equal_names() {
        let names = ["", "a", "ab", "ba", "abc", "acb", "A", "xyz"];
        for left in names {
            for right in names {
                assert_eq!(distance(left, right), distance(right, left), "{left} {right}");
                assert_eq!(distance(left, right) == 0, left == right, "{left} {right}");
            }
        }
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
