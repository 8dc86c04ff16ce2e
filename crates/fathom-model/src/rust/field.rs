//! How is a value of Rust read from a record, and written to it?
//!
//! A [`Field`] knows where its bits are: reading is a shift and a mask, and no state is ever unpacked as a whole. Handles are copied freely, into the struct of a model and into the closures of its
//! labels.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

use crate::domain::Domain;
use crate::record::{read_bits, write_bits};

/// A value that a field can hold: an integer, or one of a few [choices](Choice).
pub trait Value: Copy {
    /// Its number: an integer's own, and the place of a choice among all; none if that is no number of 64 bits with a sign.
    fn number(self) -> Option<i64>;

    /// The value of a number that came from [`Value::number`].
    fn from_number(number: i64) -> Self;
}

/// One of a few values that have names.
///
/// ```
/// use fathom_model::rust::Choice;
///
/// #[derive(Clone, Copy, PartialEq)]
/// enum Light { Red, Green }
///
/// impl Choice for Light {
///     const ALL: &'static [(Light, &'static str)] = &[(Light::Red, "red"), (Light::Green, "green")];
/// }
/// ```
pub trait Choice: Copy + PartialEq + 'static {
    /// Every value once, with the word that traces have for it. The first one is what a new state has.
    const ALL: &'static [(Self, &'static str)];
}

impl Choice for bool {
    const ALL: &'static [(bool, &'static str)] = &[(false, "false"), (true, "true")];
}

impl<T: Choice> Value for T {
    #[inline]
    fn number(self) -> Option<i64> {
        T::ALL.iter().position(|(value, _)| *value == self).map(|place| place as i64)
    }

    #[inline]
    fn from_number(number: i64) -> T {
        T::ALL[number as usize].0
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl Value for $integer {
            #[inline]
            fn number(self) -> Option<i64> {
                i64::try_from(self).ok()
            }

            #[inline]
            fn from_number(number: i64) -> $integer {
                number as $integer
            }
        })*
    };
}

integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

/// A place in a record, and what its bits mean.
pub struct Field<T> {
    domain: Domain,
    low: u32,
    bits: u32,
    /// As many ones.
    mask: u64,
    value: PhantomData<fn() -> T>,
}

/// Places in a record for values of one kind, by their index.
pub struct Array<T> {
    first: Field<T>,
    length: u32,
}

impl<T: Value> Field<T> {
    /// Values of a domain whose bits begin that far above the low end of the record.
    pub(super) fn new(domain: Domain, low: u32) -> Field<T> {
        let bits = domain.bits();
        // A field of no bits lies anywhere: it is read where no shift goes over the end of a word.
        let low = if bits == 0 { 0 } else { low };
        Field { domain, low, bits, mask: u64::MAX.unbounded_shr(64 - bits), value: PhantomData }
    }

    /// The value in a record.
    #[inline]
    pub fn read(self, record: &[u64]) -> T {
        // Most systems fit a word, and then nothing is asked but this.
        let code = match record {
            [only] => only >> self.low & self.mask,
            _ => read_bits(record, self.low, self.bits),
        };
        T::from_number(self.domain.low.wrapping_add(code as i64))
    }

    /// Puts a value into a record, if it is one that the field was declared for. Else nothing changes, and it is false.
    #[inline]
    #[must_use]
    pub fn write(self, record: &mut [u64], value: T) -> bool {
        let Some(number) = value.number().filter(|number| self.domain.contains(*number)) else {
            return false;
        };
        let code = number.wrapping_sub(self.domain.low) as u64;
        match record {
            [only] => *only = *only & !(self.mask << self.low) | code << self.low,
            _ => write_bits(record, self.low, self.bits, code),
        }
        true
    }
}

impl<T: Value> Array<T> {
    pub(super) fn new(first: Field<T>, length: u32) -> Array<T> {
        Array { first, length }
    }

    /// The place of an element.
    ///
    /// # Panics
    /// If there is none of that index, as an array does.
    #[inline]
    pub fn at(self, index: usize) -> Field<T> {
        assert!(index < self.len(), "there is no element {index} among {}", self.length);
        Field { low: self.first.low - index as u32 * self.first.bits, ..self.first }
    }

    /// How many elements there are.
    #[inline]
    pub fn len(self) -> usize {
        self.length as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }

    /// The places of all elements.
    pub fn iter(self) -> impl Iterator<Item = Field<T>> {
        (0..self.len()).map(move |index| self.at(index))
    }
}

// Derived, these would ask the value for what only the place needs.

impl<T> Clone for Field<T> {
    fn clone(&self) -> Field<T> {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T> Debug for Field<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bits from {}, of {:?}", self.bits, self.low, self.domain)
    }
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Array<T> {
        *self
    }
}

impl<T> Copy for Array<T> {}

impl<T> Debug for Array<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} times {:?}", self.length, self.first)
    }
}
