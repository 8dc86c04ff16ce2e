//! Which values may a variable hold, and what becomes of others?

use crate::fault::FaultKind;

/// The values a variable may hold: all integers of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    /// The least value.
    pub low: i64,
    /// The greatest value.
    pub high: i64,
}

/// What to do with a value that does not fit where it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The step faults: a finding.
    #[default]
    Fault,
    /// The value wraps around inside the domain, as compiled code does with bytes.
    Wrap,
}

impl Domain {
    /// The domain of `low..=high`.
    pub fn new(low: i64, high: i64) -> Domain {
        assert!(low <= high, "a domain has at least one value");
        Domain { low, high }
    }

    /// Whether the value is in it.
    pub fn contains(self, value: i64) -> bool {
        self.low <= value && value <= self.high
    }

    /// How far the greatest value is from the least: the largest code.
    pub fn span(self) -> u64 {
        self.high.wrapping_sub(self.low) as u64
    }

    /// How many bits a code of this domain needs.
    pub fn bits(self) -> u32 {
        64 - self.span().leading_zeros()
    }

    /// The value brought into the domain by a policy.
    pub fn convert(self, overflow: Overflow, value: i64) -> Result<i64, FaultKind> {
        match overflow {
            _ if self.contains(value) => Ok(value),
            Overflow::Fault => Err(FaultKind::Range),
            Overflow::Wrap => Ok(self.wrap(value)),
        }
    }

    /// The value of the domain that is congruent to `value` modulo the size of the domain.
    pub fn wrap(self, value: i64) -> i64 {
        let offset = i128::from(value) - i128::from(self.low);
        let size = i128::from(self.span()) + 1;
        (i128::from(self.low) + offset.rem_euclid(size)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_count_bits_and_wrap_like_machine_integers() {
        assert_eq!(Domain::new(0, 255).bits(), 8);
        assert_eq!(Domain::new(-32768, 32767).bits(), 16);
        assert_eq!(Domain::new(7, 7).bits(), 0);
        assert_eq!(Domain::new(0, 256).bits(), 9);
        assert_eq!(Domain::new(i64::MIN, i64::MAX).bits(), 64);
        for value in -70_000..70_000 {
            assert_eq!(Domain::new(0, 255).wrap(value), i64::from(value as u8));
            assert_eq!(Domain::new(-32768, 32767).wrap(value), i64::from(value as i16));
        }
        assert_eq!(Domain::new(i64::MIN, i64::MAX).wrap(i64::MIN), i64::MIN);
    }
}
