//! Which exchanges somebody wants traces of.

use uuid::Uuid;

use crate::app::sentence::RequestField;
use crate::record::time::Seconds;
use crate::store::{ExchangeRow, ReadStore, StoreError};

use crate::app::find;
use crate::app::home::open::OpenHomeError;
use crate::app::moment::when;

/// What traces are wanted of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceSelection {
    /// Exchanges, as `gently show` takes them.
    Named(Vec<String>),
    /// A session.
    Session(String),
    /// A conversation.
    Thread(String),
    /// What was asked since then: a time, a day or an age.
    Since(String),
    /// Everything that was asked.
    All,
}

impl TraceSelection {
    /// Whether each exchange was named, so that none is passed over.
    pub(super) const fn is_named(&self) -> bool {
        matches!(self, TraceSelection::Named(_))
    }
}

/// The exchanges that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SelectedExchanges {
    /// Those with an outcome: named ones as they were named, others in the order of their prompts.
    pub exchanges: Vec<Uuid>,
    /// How many wait for their outcome, and have no trace yet.
    pub waiting: u64,
}

impl SelectedExchanges {
    fn take(&mut self, row: &ExchangeRow) {
        match row.outcome {
            Some(_) => self.exchanges.push(row.exchange_id),
            None => self.waiting += 1,
        }
    }
}

/// Finds the exchanges of a selection.
///
/// # Errors
/// What names nothing, a named exchange that waits, and a selection of nothing.
pub(super) fn select(
    store: &ReadStore,
    selection: &TraceSelection,
    now: Seconds,
) -> Result<SelectedExchanges, OpenHomeError> {
    let mut found = SelectedExchanges::default();
    match selection {
        TraceSelection::Named(names) => {
            for name in names {
                for row in named(store, name)? {
                    if !found.exchanges.contains(&row) {
                        found.exchanges.push(row);
                    }
                }
            }
        }
        TraceSelection::Session(id) => {
            let session = find::session(store, id)?;
            each(store, Some(session.uuid), &mut found, |_| true)?;
        }
        TraceSelection::Thread(id) => {
            let thread = find::conversation::thread_or_conversation(store, id)?;
            let mut turns = Vec::new();
            store.each_thread_turn(&mut |turn| {
                turns.extend((turn.thread == thread).then_some(turn.line));
                Ok(())
            })?;
            each(store, None, &mut found, |row| {
                turns.binary_search(&row.prompt_line).is_ok()
            })?;
        }
        TraceSelection::Since(text) => {
            let since = when(RequestField::Since, text, now).map_err(OpenHomeError::Wanting)?;
            each(store, None, &mut found, |row| row.created_at >= since)?;
        }
        TraceSelection::All => each(store, None, &mut found, |_| true)?,
    }
    match (found.exchanges.is_empty(), found.waiting) {
        (false, _) => Ok(found),
        (true, 0) => refused(
            "there is no exchange of that kind, so there is no trace; gently log shows what was asked",
        ),
        (true, waiting) => refused(format!(
            "all that was found waits for its outcome ({waiting}): there is no trace yet; ask again when it is answered"
        )),
    }
}

/// The exchange that a text means, or all of the conversation that it means that have an outcome.
fn named(store: &ReadStore, name: &str) -> Result<Vec<Uuid>, OpenHomeError> {
    match in_conversation(store, name)? {
        Some(rows) => Ok(rows.iter().map(|row| row.exchange_id).collect()),
        None => Ok(vec![outcome_of(store, name)?.exchange_id]),
    }
}

/// What was asked in the conversation that a text means, and has an outcome; none where it means an
/// exchange, or nothing.
fn in_conversation(
    store: &ReadStore,
    name: &str,
) -> Result<Option<Vec<ExchangeRow>>, OpenHomeError> {
    match find::exchange(store, name) {
        Err(nothing) if nothing.is_nothing() => {}
        _ => return Ok(None),
    }
    let Ok(meant) = find::conversation::conversation(store, name, None) else {
        return Ok(None);
    };
    let mut rows = Vec::new();
    for id in store.turns_in(meant.thread)? {
        rows.extend(store.exchange(id)?.filter(|row| row.outcome.is_some()));
    }
    Ok((!rows.is_empty()).then_some(rows))
}

/// An exchange with its outcome, by what somebody typed: of a conversation the newest.
pub(super) fn outcome_of(store: &ReadStore, name: &str) -> Result<ExchangeRow, OpenHomeError> {
    if let Some(newest) = in_conversation(store, name)?.and_then(|mut rows| rows.pop()) {
        return Ok(newest);
    }
    let row = find::exchange(store, name)?;
    if row.outcome.is_some() {
        return Ok(row);
    }
    let short = find::short_id_of_row(store, &row)?;
    refused(format!(
        "{short} waits for its outcome: it has no trace yet; ask again when it is answered"
    ))
}

fn each(
    store: &ReadStore,
    session: Option<Uuid>,
    found: &mut SelectedExchanges,
    is_one: impl Fn(&ExchangeRow) -> bool,
) -> Result<(), StoreError> {
    store.each_exchange(session, &mut |row| {
        if is_one(&row) {
            found.take(&row);
        }
        Ok(())
    })
}

fn refused<T>(why: impl Into<String>) -> Result<T, OpenHomeError> {
    Err(OpenHomeError::Refused(why.into()))
}
