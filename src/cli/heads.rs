//! What becomes of new heads of the log: calendars stamp them and witnesses cosign them, both at
//! once.

use futures_util::future::join;
use serde_json::Value;

use crate::record::ledger::commit::MAIN;
use crate::store::ReadStore as _;

use super::wire::{OpenHome, OpenHomeError};
use super::{Notices, stamp, witness};

/// What came of asking: lines for a person, and the same as JSON.
#[derive(Default)]
pub struct HeadReport {
    /// In the order in which they are said.
    pub lines: Vec<String>,
    /// Null when nobody was asked.
    pub facts: Value,
}

impl HeadReport {
    /// Only that it could not be done.
    pub fn failed(line: String, error: &str) -> Self {
        HeadReport {
            lines: vec![line],
            facts: serde_json::json!({"error": error}),
        }
    }
}

/// Where `main` is: a command that moves it has closed something, or made a checkpoint.
pub fn main_tip(opened: &OpenHome) -> Result<Option<u64>, OpenHomeError> {
    Ok(opened.store.tip(MAIN, u64::MAX)?.map(|row| row.n))
}

/// What calendars and witnesses said, as JSON.
pub struct ThirdPartyReport {
    /// `null` when no calendar was asked.
    pub ots: Value,
    /// `null` when no witness was asked.
    pub witnesses: Value,
}

/// Asks about what is new on `main` since `before`, after a command that may have closed something;
/// says what came of it.
///
/// One wait for all: calendars have two seconds, witnesses `witness.deadline_ms`. Names that don't
/// resolve and addresses that refuse are no wait at all. Whatever goes wrong costs lines: what was
/// closed is on record, and everything is asked again with the next head.
pub async fn after(opened: &OpenHome, before: Option<u64>, told: &Notices) -> ThirdPartyReport {
    // Witnesses first: what they are asked is the longer in the making, and clocks start when a
    // question is sent.
    let (witnesses, ots) = join(
        witness::after(&opened.home, &opened.config),
        stamp::after_close(opened, before),
    )
    .await;
    ots.lines
        .iter()
        .chain(&witnesses.lines)
        .for_each(|line| told.say(line));
    ThirdPartyReport {
        ots: ots.facts,
        witnesses: witnesses.facts,
    }
}
