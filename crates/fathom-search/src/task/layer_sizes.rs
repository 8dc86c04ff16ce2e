//! How many states has each layer? Kept in one or two bytes a layer, since a space may have tens of thousands of small ones.
//!
//! Memory: 7 bits of a size to a byte, charged.

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};

/// The sizes of the layers closed so far, in order.
#[derive(Debug)]
pub struct LayerSizes {
    bytes: ChargedVec<u8>,
    count: u64,
    sum: u64,
    last: Option<u64>,
}

impl LayerSizes {
    /// No layer yet.
    pub fn new(budget: &Budget) -> Result<LayerSizes, BudgetError> {
        Ok(LayerSizes {
            bytes: ChargedVec::with_capacity(budget, "layer sizes", 0)?,
            count: 0,
            sum: 0,
            last: None,
        })
    }

    /// The sizes that were written as bytes; none if they make no sense.
    pub(crate) fn from_bytes(budget: &Budget, bytes: &[u8]) -> Result<Option<LayerSizes>, BudgetError> {
        let mut sizes = LayerSizes::new(budget)?;
        sizes.bytes.extend(bytes)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(states) = take_number(&mut rest) else { return Ok(None) };
            let Some(sum) = sizes.sum.checked_add(states) else { return Ok(None) };
            (sizes.count, sizes.sum, sizes.last) = (sizes.count + 1, sum, Some(states));
        }
        Ok(Some(sizes))
    }

    /// The sizes as bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a layer.
    pub fn push(&mut self, states: u64) -> Result<(), BudgetError> {
        let mut coded = [0; 10];
        let length = put_number(states, &mut coded);
        if self.bytes.len() + length > self.bytes.capacity() {
            self.bytes.reserve(length.max(self.bytes.len() / 2))?;
        }
        self.bytes.extend(&coded[..length])?;
        (self.count, self.sum, self.last) = (self.count + 1, self.sum + states, Some(states));
        Ok(())
    }

    /// How many layers there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many states all layers have together.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The size of the last layer.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// The sizes in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let mut rest = &*self.bytes;
        std::iter::from_fn(move || take_number(&mut rest))
    }
}

/// Writes a number, 7 bits to a byte, least significant first; says how many bytes that took.
fn put_number(mut number: u64, bytes: &mut [u8; 10]) -> usize {
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = number as u8 & 0x7f;
        number >>= 7;
        if number == 0 {
            return index + 1;
        }
        *byte |= 0x80;
    }
    unreachable!("ten bytes hold 70 bits")
}

/// Takes a number off the front; none if there is no whole one.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_back_in_order_and_from_bytes() {
        let budget = Budget::new(1 << 16);
        let mut sizes = LayerSizes::new(&budget).unwrap();
        let expected: Vec<u64> =
            (0..64).map(|bit| (1u64 << bit) / 3).chain([0, 127, 128, 16383, 16384]).collect();
        for &states in &expected {
            sizes.push(states).unwrap();
        }
        assert_eq!(sizes.iter().collect::<Vec<_>>(), expected);
        let again = LayerSizes::from_bytes(&budget, sizes.as_bytes()).unwrap().unwrap();
        assert_eq!(again.iter().collect::<Vec<_>>(), expected);
        assert_eq!((again.len(), again.sum(), again.last()), (sizes.len(), sizes.sum(), sizes.last()));
        assert!(LayerSizes::from_bytes(&budget, &[0x80]).unwrap().is_none());
        assert!(LayerSizes::from_bytes(&budget, &[0xff; 11]).unwrap().is_none());
    }
}
