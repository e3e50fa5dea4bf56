//! What becomes of new tree heads: calendars stamp them and witnesses cosign them, both at once.

use futures_util::future::join;

use crate::record::ledger::commit::MAIN;
use crate::witness::RoundResult;

use super::stamp::{self, StampingError, StampingReport};
use super::witness;
use crate::app::home::open::{OpenHome, OpenHomeError};

/// What calendars and witnesses said of a new tree head.
pub struct ThirdPartyReport {
    /// Calendars; nothing when none was to be asked.
    pub stamping: Result<Option<StampingReport>, StampingError>,
    /// Witnesses; nothing when none was to be asked.
    pub witnesses: Result<Option<RoundResult>, OpenHomeError>,
}

/// Where `main` is: a command that moves it has closed something, or made a checkpoint.
pub fn main_tip(opened: &OpenHome) -> Result<Option<u64>, OpenHomeError> {
    Ok(opened.store.tip(MAIN, u64::MAX)?.map(|row| row.n))
}

/// Asks about what is new on `main` since `before`, after a command that may have closed something.
///
/// One wait for all: calendars have two seconds, witnesses `witness.deadline_ms`. Names that don't
/// resolve and addresses that refuse are no wait at all. What goes wrong costs the command nothing:
/// what was closed is on record, and everything is asked again with the next head.
pub async fn after(opened: &OpenHome, before: Option<u64>) -> ThirdPartyReport {
    let has_moved = main_tip(opened).map_or(true, |now| now != before);
    let stamping = async {
        match has_moved {
            true => stamp::after_close(opened).await,
            false => Ok(None),
        }
    };
    // Witnesses first: what they are asked is the longer in the making, and clocks start when a
    // question is sent.
    let (witnesses, stamping) = join(witness::after(&opened.home, &opened.config), stamping).await;
    ThirdPartyReport {
        stamping,
        witnesses,
    }
}
