//! How is a number of things written?

/// A number of things.
pub fn plural(number: u64, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{} {word}s", count(number)) }
}

/// A number with its thousands marked.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
