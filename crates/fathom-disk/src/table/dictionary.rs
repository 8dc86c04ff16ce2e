//! Which small number stands for this piece of a wide key?
//!
//! A piece that few keys differ in is numbered as it is (`leaves.rs`). Any other is cut in two, its halves are numbered the same way, and the pair of their numbers, one
//! word, is numbered in its place: what repeats within a piece is stored once, however wide the piece is.
//!
//! Threads share one as they share [`Leaves`]: they number beside one another, and only making room takes it alone. Pieces come in batches, since at every level the entries of
//! a whole batch are asked for before the first is looked at. Successors of one state differ in few places, so a piece is first compared with the one before.

use super::cut::{Cut, cut_key, join};
use super::leaves::Leaves;
use super::plan::Plan;
use crate::budget::{Budget, BudgetError};

/// Pieces that are numbered at once, at most.
pub(super) const BATCH: usize = 64;

/// Numbers of pieces of one width.
#[derive(Debug)]
pub(super) enum Dictionary {
    /// As they are.
    Whole(Box<Leaves>),
    /// By the numbers of their halves.
    Paired(Box<Paired>),
}

/// Numbers of pieces that are cut.
#[derive(Debug)]
pub(super) struct Paired {
    cut: Cut,
    left: Dictionary,
    right: Dictionary,
    /// Left number in the high half of a word, right number in the low half.
    pairs: Leaves,
}

/// Room to cut and number a batch in.
#[derive(Debug)]
pub(super) struct Room {
    words: usize,
    hashes: [u64; BATCH],
    paired: Option<Box<PairedRoom>>,
}

#[derive(Debug)]
struct PairedRoom {
    lefts: Vec<u64>,
    rights: Vec<u64>,
    numbers: [[u32; BATCH]; 2],
    pairs: [u64; BATCH],
    left: Room,
    right: Room,
}

impl Dictionary {
    /// Nothing numbered yet, for pieces of `bits` bits that are cut as planned.
    pub(super) fn new(bits: u32, plan: &Plan, budget: &Budget) -> Result<Dictionary, BudgetError> {
        match plan {
            Plan::Whole => Ok(Dictionary::Whole(Box::new(Leaves::new(bits.div_ceil(64) as usize, budget)?))),
            Plan::Cut(cut) => Ok(Dictionary::Paired(Box::new(Paired {
                cut: Cut::new(bits, cut.right_bits),
                left: Dictionary::new(bits - cut.right_bits, &cut.left, budget)?,
                right: Dictionary::new(cut.right_bits, &cut.right, budget)?,
                pairs: Leaves::new(1, budget)?,
            }))),
        }
    }

    /// How many pieces have numbers: more than any number that was given before asking.
    pub(super) fn len(&self) -> u32 {
        self.leaves().len()
    }

    /// Bytes charged to the budget.
    pub(super) fn bytes(&self) -> usize {
        let parts = match self {
            Dictionary::Whole(_) => 0,
            Dictionary::Paired(paired) => paired.left.bytes() + paired.right.bytes(),
        };
        self.leaves().bytes() + parts
    }

    /// Room for batches of its pieces.
    pub(super) fn room(&self, words: usize) -> Room {
        let paired = match self {
            Dictionary::Whole(_) => None,
            Dictionary::Paired(paired) => Some(Box::new(PairedRoom {
                lefts: vec![0; BATCH * paired.cut.left_words],
                rights: vec![0; BATCH * paired.cut.right_words],
                numbers: [[0; BATCH]; 2],
                pairs: [0; BATCH],
                left: paired.left.room(paired.cut.left_words),
                right: paired.right.room(paired.cut.right_words),
            })),
        };
        Room { words, hashes: [0; BATCH], paired }
    }

    /// Numbers up to [`BATCH`] pieces, beside other threads that do. False if [room must be made](Dictionary::make_room) first: then some may have numbers and others not.
    pub(super) fn number(&self, pieces: &[u64], room: &mut Room, numbers: &mut [u32]) -> bool {
        match (self, &mut room.paired) {
            (Dictionary::Paired(paired), Some(paired_room)) => {
                paired.number(pieces, room.words, paired_room, &mut room.hashes, numbers)
            }
            _ => number_all(self.leaves(), pieces, room.words, &mut room.hashes, numbers),
        }
    }

    /// The number of a piece, if it has one.
    pub(super) fn find(&self, piece: &[u64]) -> Option<u32> {
        match self {
            Dictionary::Whole(leaves) => leaves.find(piece, Leaves::hash(piece)),
            Dictionary::Paired(paired) => {
                let (mut left, mut right) = (vec![0; paired.cut.left_words], vec![0; paired.cut.right_words]);
                cut_key(piece, paired.cut, &mut left, &mut right);
                let pair = [pair(paired.left.find(&left)?, paired.right.find(&right)?)];
                paired.pairs.find(&pair, Leaves::hash(&pair))
            }
        }
    }

    /// Writes the piece with this number to `piece`.
    pub(super) fn read(&self, number: u32, piece: &mut [u64]) {
        match self {
            Dictionary::Whole(leaves) => leaves.read(number, piece),
            Dictionary::Paired(paired) => {
                let (mut left, mut right) = (vec![0; paired.cut.left_words], vec![0; paired.cut.right_words]);
                let mut pair = [0];
                paired.pairs.read(number, &mut pair);
                paired.left.read((pair[0] >> 32) as u32, &mut left);
                paired.right.read(pair[0] as u32, &mut right);
                join(piece, paired.cut, &left, &right);
            }
        }
    }

    /// Makes room for at least one more piece, whatever it consists of.
    #[cold]
    pub(super) fn make_room(&mut self) -> Result<(), BudgetError> {
        match self {
            Dictionary::Whole(leaves) => leaves.make_room(),
            Dictionary::Paired(paired) => {
                paired.left.make_room()?;
                paired.right.make_room()?;
                paired.pairs.make_room()
            }
        }
    }

    fn leaves(&self) -> &Leaves {
        match self {
            Dictionary::Whole(leaves) => leaves,
            Dictionary::Paired(paired) => &paired.pairs,
        }
    }
}

impl Paired {
    fn number(
        &self,
        pieces: &[u64],
        words: usize,
        room: &mut PairedRoom,
        hashes: &mut [u64; BATCH],
        numbers: &mut [u32],
    ) -> bool {
        let count = pieces.len() / words;
        let (left_words, right_words) = (self.cut.left_words, self.cut.right_words);
        let lefts = &mut room.lefts[..count * left_words];
        let rights = &mut room.rights[..count * right_words];
        let halves = lefts.chunks_exact_mut(left_words).zip(rights.chunks_exact_mut(right_words));
        for (piece, (left, right)) in pieces.chunks_exact(words).zip(halves) {
            cut_key(piece, self.cut, left, right);
        }
        let [left_numbers, right_numbers] = &mut room.numbers;
        if !self.left.number(lefts, &mut room.left, &mut left_numbers[..count])
            || !self.right.number(rights, &mut room.right, &mut right_numbers[..count])
        {
            return false;
        }
        let pairs = &mut room.pairs[..count];
        for (both, (left, right)) in pairs.iter_mut().zip(left_numbers.iter().zip(&*right_numbers)) {
            *both = pair(*left, *right);
        }
        number_all(&self.pairs, pairs, 1, hashes, numbers)
    }
}

/// A pair of numbers as one word.
#[inline(always)]
pub(super) fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Numbers pieces as they are: those that differ from the one before them.
#[inline(always)]
fn number_all(
    leaves: &Leaves,
    pieces: &[u64],
    words: usize,
    hashes: &mut [u64; BATCH],
    numbers: &mut [u32],
) -> bool {
    // One word is what most pieces are: the loops below are worth having without a count of words.
    if words == 1 {
        number_words(leaves, pieces, hashes, numbers)
    } else {
        number_wide(leaves, pieces, words, hashes, numbers)
    }
}

fn number_words(leaves: &Leaves, pieces: &[u64], hashes: &mut [u64; BATCH], numbers: &mut [u32]) -> bool {
    number_pieces(leaves, pieces, 1, hashes, numbers)
}

fn number_wide(
    leaves: &Leaves,
    pieces: &[u64],
    words: usize,
    hashes: &mut [u64; BATCH],
    numbers: &mut [u32],
) -> bool {
    number_pieces(leaves, pieces, words, hashes, numbers)
}

#[inline(always)]
fn number_pieces(
    leaves: &Leaves,
    pieces: &[u64],
    words: usize,
    hashes: &mut [u64; BATCH],
    numbers: &mut [u32],
) -> bool {
    let mut distinct = [0u8; BATCH];
    let mut count = 0;
    let mut before: &[u64] = &[];
    for (index, piece) in pieces.chunks_exact(words).enumerate() {
        if piece != before {
            let hash = Leaves::hash(piece);
            leaves.prefetch(hash);
            distinct[count] = index as u8;
            hashes[count] = hash;
            count += 1;
            before = piece;
        }
    }
    let (distinct, hashes) = (&distinct[..count], &hashes[..count]);
    hashes.iter().for_each(|hash| leaves.prefetch_record(*hash));
    for (next, (&first, &hash)) in distinct.iter().zip(hashes).enumerate() {
        let first = first as usize;
        let Some(number) = leaves.intern_beside(&pieces[first * words..(first + 1) * words], hash) else {
            return false;
        };
        let end = distinct.get(next + 1).map_or(numbers.len(), |index| *index as usize);
        numbers[first..end].fill(number);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Cuts, Plan};
    use super::*;
    use std::collections::BTreeMap;

    fn plans(bits: u32) -> Vec<Plan> {
        let cut = |right_bits, left, right| Plan::Cut(Box::new(Cuts { right_bits, left, right }));
        vec![
            Plan::Whole,
            cut(bits / 2, Plan::Whole, Plan::Whole),
            cut(1, Plan::Whole, Plan::Whole),
            cut(bits - 1, Plan::Whole, Plan::Whole),
            cut(
                bits / 3,
                cut(2, Plan::Whole, Plan::Whole),
                cut(bits / 5, Plan::Whole, cut(1, Plan::Whole, Plan::Whole)),
            ),
        ]
    }

    #[test]
    fn equal_pieces_have_equal_numbers_whatever_the_plan() {
        for bits in [20u32, 64, 65, 130, 200, 500] {
            let words = bits.div_ceil(64) as usize;
            for plan in plans(bits) {
                let mut dictionary = Dictionary::new(bits, &plan, &Budget::unlimited()).unwrap();
                let mut room = dictionary.room(words);
                let mut expected: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
                let mut seed = u64::from(bits);
                for _ in 0..200 {
                    let mut pieces = Vec::new();
                    let count = 1 + (seed >> 60) as usize * 4 % BATCH;
                    for _ in 0..count {
                        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        let mut piece: Vec<u64> =
                            (0..words as u64).map(|word| ((seed >> 40) % 9) << (word * 7)).collect();
                        piece[words - 1] |= (seed >> 50) % 5;
                        if bits % 64 != 0 {
                            piece[0] &= (1 << (bits % 64)) - 1;
                        }
                        pieces.extend(piece);
                    }
                    let mut numbers = vec![u32::MAX; count];
                    while !dictionary.number(&pieces, &mut room, &mut numbers) {
                        dictionary.make_room().unwrap();
                    }
                    for (piece, number) in pieces.chunks(words).zip(numbers) {
                        assert_eq!(
                            *expected.entry(piece.to_vec()).or_insert(number),
                            number,
                            "{bits} bits, {plan:?}"
                        );
                    }
                }
                assert!(dictionary.len() as usize >= expected.len());
                for (piece, number) in &expected {
                    let mut read = vec![7; words];
                    dictionary.read(*number, &mut read);
                    assert_eq!(
                        (read, dictionary.find(piece)),
                        (piece.clone(), Some(*number)),
                        "{bits} bits, {plan:?}"
                    );
                }
            }
        }
    }
}
