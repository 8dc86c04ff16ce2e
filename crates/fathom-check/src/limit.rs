//! Why does a search end before it is complete?

/// Why a search ended before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// States deeper than the limit were not expanded.
    Depth,
    /// The time was up.
    Time,
    /// A signal asked for it.
    Interrupt,
    /// The memory was used up.
    Ram,
    /// Files may not take more room.
    Disk,
    /// The device is full.
    DiskFull,
    /// A property was violated, and that ends the search.
    Violation,
    /// The engine may have missed states.
    Lossy,
    /// The engine wanted no more, and says why.
    Engine(&'static str),
}

impl Limit {
    /// The word for it in a report.
    pub fn word(self) -> &'static str {
        match self {
            Limit::Depth => "depth",
            Limit::Time => "time",
            Limit::Interrupt => "interrupt",
            Limit::Ram => "ram",
            Limit::Disk => "disk",
            Limit::DiskFull => "disk full",
            Limit::Violation => "violation",
            Limit::Lossy => "lossy",
            Limit::Engine(_) => "engine",
        }
    }
}
