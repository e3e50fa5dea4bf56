//! What came of asking witnesses and calendars: no evidence, only what a person, or the next
//! question, wants to know.

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

/// One calendar, as it was last asked to stamp a head of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarState {
    /// Its address, without a slash at its end.
    pub address: String,
    /// When it was last asked.
    pub asked_at: Seconds,
    /// When it last accepted; none when it never did.
    pub accepted_at: Option<Seconds>,
    /// Why it did not accept when it was last asked; none when it did. Secrets are removed.
    pub said: Option<String>,
}
