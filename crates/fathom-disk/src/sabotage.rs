//! Which deliberate defect does this build have? None, unless it was made to show that tests can fail.
//!
//! Only builds with the feature `sabotage`, which no build for use has, know defects: of these the one that the environment names in `FATHOM_SABOTAGE`, so that one build serves for all of
//! them (`cargo xtask sabotage`). In every other build the answer is no, and the compiler leaves the defect out.

/// Whether the defect of that name was chosen.
#[cfg(feature = "sabotage")]
pub fn is_chosen(defect: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("FATHOM_SABOTAGE").ok()).as_deref() == Some(defect)
}

/// Whether the defect of that name was chosen.
#[cfg(not(feature = "sabotage"))]
#[inline(always)]
pub const fn is_chosen(_: &str) -> bool {
    false
}
