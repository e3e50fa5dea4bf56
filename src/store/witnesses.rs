//! What came of asking witnesses: no evidence, only what the next question begins with.

use crate::record::time::Seconds;

/// One witness, as it was last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessState {
    /// Its verifier key, as it is printed.
    pub vkey: String,
    /// Size of the newest tree head that it cosigned; 0 when none.
    pub lines: u64,
    /// When, by its own clock.
    pub cosigned_at: Option<Seconds>,
    /// When it was last asked.
    pub asked_at: Seconds,
    /// Size of the tree head that it was asked about.
    pub asked_lines: u64,
    /// Why it did not cosign then; none when it did.
    pub said: Option<String>,
}
