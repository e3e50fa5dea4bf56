//! The trace of one exchange, as it would be exported, for whoever has the home.

use crate::audit::trace_facts::{TraceLookup, facts_of};
use crate::home::Home;
use crate::record::trace::mapping::{BuiltTrace, TraceMapping, TraceRequest};

use super::export::{build, changed_rows};
use super::select::outcome_of;
use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::show::RecordCheck;

/// A trace that was built to be looked at.
pub struct ShownTrace {
    /// How screens call its exchange.
    pub short: String,
    /// What of it was asked for.
    pub request: TraceRequest,
    /// How facts became fields.
    pub mapping: TraceMapping,
    /// The trace without a signature, and why fields are absent.
    pub built: BuiltTrace,
    /// What the database has of the exchange and is not as it was recorded; no trace of such an exchange
    /// is exported.
    pub changed: Vec<&'static str>,
}

/// Builds the trace of what an id means. Nothing is signed, and nothing on record of it.
pub fn show(home: &Home, id: &str, request: TraceRequest) -> Result<ShownTrace, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let row = outcome_of(&store, id)?;
    let short = find::short_id_of_row(&store, &row)?;
    let TraceLookup::Found(turn) = facts_of(&store, row.exchange_id)? else {
        return Err(OpenHomeError::Refused(format!("{short} has no trace yet")));
    };
    let (mapping, built) = build(&turn, request).map_err(|unmade| unmade.of(&short))?;
    Ok(ShownTrace {
        changed: changed_rows(&RecordCheck::new(&store)?, &row, &turn)?,
        short,
        request,
        mapping,
        built,
    })
}
