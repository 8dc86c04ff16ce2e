//! How far has a state come? Some of its components, the first of which counts most, each in an order of its own.

use std::fmt;

use fathom_disk::hash::hash_key;
use fathom_model::record::{Records, read_bits};

/// A number for every state, made of components of its record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    parts: Vec<Part>,
    bits: u32,
}

/// A component of a record, and how its values are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What users call it.
    pub name: String,
    /// The low end of its bits.
    pub low: u32,
    /// How many there are.
    pub bits: u32,
    /// The order of its codes.
    pub order: Order,
    /// Bits of a place in that order.
    pub place_bits: u32,
}

/// An order of the codes of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are, up to this one.
    Ascending(u64),
    /// The greatest first, which is this one.
    Descending(u64),
    /// By a place for each code. One that has none is where the last one is.
    Ranks(Vec<u32>),
}

impl Order {
    /// The place of a code.
    #[inline]
    pub fn place(&self, code: u64) -> u64 {
        match self {
            Order::Ascending(most) => code.min(*most),
            Order::Descending(most) => most.saturating_sub(code),
            Order::Ranks(ranks) => {
                let last = ranks.len() - 1;
                u64::from(ranks[usize::try_from(code).unwrap_or(last).min(last)])
            }
        }
    }

    /// Bits that every place fits into.
    fn bits(&self) -> u32 {
        let greatest = match self {
            Order::Ascending(most) | Order::Descending(most) => *most,
            Order::Ranks(ranks) => u64::from(ranks.iter().copied().max().unwrap_or(0)),
        };
        u64::BITS - greatest.leading_zeros()
    }
}

impl Part {
    /// A component of that name in `bits` bits from `low` on, in an order.
    pub fn new(name: String, (low, bits): (u32, u32), order: Order) -> Part {
        let place_bits = order.bits();
        Part { name, low, bits, order, place_bits }
    }

    /// The place of a record.
    #[inline]
    pub fn place(&self, record: &[u64]) -> u64 {
        self.order.place(read_bits(record, self.low, self.bits))
    }
}

impl Measure {
    /// Whether all states are alike to it.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Its parts, the first counts most.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether there is room for a part in 64 bits.
    pub fn has_room(&self, part: &Part) -> bool {
        self.bits + part.place_bits <= u64::BITS
    }

    /// Adds a part that counts least, if there is room for it.
    pub fn push(&mut self, part: Part) {
        if self.has_room(&part) && part.place_bits > 0 {
            self.bits += part.place_bits;
            self.parts.push(part);
        }
    }

    /// A number that measures of other parts or orders do not have.
    pub fn identity(&self) -> u64 {
        let words: Vec<u64> = format!("{self:?}").bytes().map(u64::from).collect();
        hash_key(&words)
    }

    /// The number of a state.
    #[inline]
    pub fn value(&self, record: &[u64]) -> u64 {
        self.parts.iter().fold(0, |value, part| value.unbounded_shl(part.place_bits) | part.place(record))
    }

    /// Appends the number of each of some states.
    pub fn values(&self, records: Records<'_>, values: &mut Vec<u64>) {
        values.extend(records.iter().map(|record| self.value(record)));
    }
}

impl fmt::Display for Measure {
    /// Names, `-` before those that are counted down, `~` before those in an order of their own.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.parts.iter().enumerate() {
            let separator = if place > 0 { ", " } else { "" };
            let sign = match part.order {
                Order::Ascending(_) => "",
                Order::Descending(_) => "-",
                Order::Ranks(_) => "~",
            };
            write!(formatter, "{separator}{sign}{}", part.name)?;
        }
        Ok(())
    }
}
