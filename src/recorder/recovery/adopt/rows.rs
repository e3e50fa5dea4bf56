//! Rows of which only the public half is known, and the documents they are made from.

use uuid::Uuid;

use crate::record::bitcoin::block::Header;
use crate::record::canon;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::documents::AuthorityState;
use crate::record::log::entry::Line;
use crate::record::time::Seconds;
use crate::store::{OutcomeUpdate, TurnRow};

use super::{AdoptFault, NewerCommit};
use crate::recorder::RecorderError;

/// What can't be read in a ledger that was verified.
pub fn unreadable(place: &str, reason: impl std::fmt::Display) -> RecorderError {
    AdoptFault::Unreadable {
        place: place.to_owned(),
        reason: reason.to_string(),
    }
    .into()
}

/// A turn without its text.
pub fn silent(
    (turn_id, prompt_line): (Uuid, u64),
    session: Uuid,
    created_at: Seconds,
    (by_user, refusal): (bool, bool),
    authority_state: AuthorityState,
) -> TurnRow {
    TurnRow {
        turn_id,
        line: prompt_line,
        session,
        created_at,
        by_user,
        content: None,
        content_hash: None,
        refusal,
        authority_state,
        driftwatch_id: None,
    }
}

/// An outcome of which only the line is known.
pub fn line_only_outcome(n: u64, line: &Line, exchange: Hash32) -> OutcomeUpdate {
    OutcomeUpdate {
        outcome: ExchangeOutcome::Failed,
        reason: None,
        turn_aurora: None,
        response_hash: None,
        validator_summary: None,
        refusal: None,
        answered_at: line.time,
        prompt_tokens: None,
        completion_tokens: None,
        cost: None,
        response_commitment: None,
        exchange_commitment: exchange,
        chain_entry: None,
        aurora_text: None,
        reply: None,
        reply_commitment: None,
        outcome_line: n,
    }
}

/// The document of a line's commits.
pub fn document<T: serde::Serialize + serde::de::DeserializeOwned>(
    commits: &[&NewerCommit],
    name: &str,
) -> Result<T, RecorderError> {
    let bytes = commits.iter().find_map(|commit| commit.files.get(name));
    let bytes = bytes.ok_or_else(|| unreadable(name, "it is missing"))?;
    canon::parse(bytes).map_err(|e| unreadable(name, e))
}

/// The block header of a line's commits, if it has one.
pub fn header(commits: &[&NewerCommit]) -> Result<Option<Header>, RecorderError> {
    let Some(bytes) = commits
        .iter()
        .find_map(|commit| commit.files.get("btc_header"))
    else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(bytes);
    text.trim_end()
        .parse()
        .map(Some)
        .map_err(|e| unreadable("btc_header", e))
}
