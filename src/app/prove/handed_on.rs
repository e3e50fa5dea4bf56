//! What was handed on of a home, as its record says: exports of traces, and texts that were opened.
//! Nothing of it can be called back.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Role;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::log::entry::Line;
use crate::record::time::Seconds;
use crate::record::trace::export::{TRACE_EXPORT, TraceExport};
use crate::record::trace::level::TraceLevel;
use crate::store::{ArtifactFilter, ArtifactRow, ReadStore, StoreError};

use super::opening;

/// An export that is on record.
#[derive(Clone, Debug)]
pub struct RecordedExport {
    /// Such as `export:000001`.
    pub id: String,
    /// Number of its line, from 0.
    pub line: u64,
    /// Time of its line; none for a line that can't be read.
    pub at: Option<Seconds>,
    /// What it says.
    pub export: TraceExport,
}

/// The exports on record of a home.
#[derive(Clone, Debug, Default)]
pub struct RecordedExports {
    /// Those of which the record says what was in them, oldest first.
    pub told: Vec<RecordedExport>,
    /// Ids of the others: what they said is erased, or can't be read.
    pub untold: Vec<String>,
}

/// Every export that is on record.
pub fn exports(store: &ReadStore) -> Result<RecordedExports, StoreError> {
    let mut rows = store.artifacts(ArtifactFilter::Kind(TRACE_EXPORT))?;
    rows.sort_by_key(|row| row.line);
    let mut found = RecordedExports::default();
    for row in rows {
        let said = document(&row).and_then(|document| TraceExport::read(document.content));
        let Some(export) = said else {
            found.untold.push(row.id);
            continue;
        };
        let line = store.lines(row.line, row.line.saturating_add(1))?.pop();
        let line = line.and_then(|line| Line::parse(line.as_bytes()).ok());
        found.told.push(RecordedExport {
            id: row.id,
            line: row.line,
            at: line.map(|line| line.time),
            export,
        });
    }
    Ok(found)
}

/// Ids of what handed on words of some exchanges, oldest first: traces with texts, and openings.
pub fn handed_on(store: &ReadStore, exchanges: &[Uuid]) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for RecordedExport {
        id, line, export, ..
    } in exports(store)?.told
    {
        let is_of = |id: &Uuid| exchanges.contains(id);
        let has_texts = export.level == TraceLevel::FullTraces;
        if has_texts && export.exchanges.iter().any(is_of) {
            found.push((line, id));
        }
    }
    let mut places = BTreeSet::new();
    for id in exchanges {
        let Some(row) = store.exchange(*id)? else {
            continue;
        };
        if let Some(session) = store.session_of(row.session)? {
            places.insert((session.id, row.seq));
        }
    }
    for row in store.artifacts(ArtifactFilter::Kind(opening::KIND))? {
        let opened = document(&row).and_then(|document| opened_place(&document));
        if opened.is_some_and(|place| places.contains(&place)) {
            found.push((row.line, row.id));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, id)| id).collect())
}

/// The session and number of the question whose words an opening showed; none where it showed none.
fn opened_place(document: &ArtifactDoc) -> Option<(Hash32, u64)> {
    let content = &document.content;
    // The exchange document holds no word of a question or an answer, and a trace none either.
    let wordless = [Role::Exchange, Role::Trace].map(Role::name);
    let role = content["role"].as_str()?;
    let session = content["session_id"].as_str()?.parse().ok()?;
    let seq = content["seq"].as_u64()?;
    (!wordless.contains(&role)).then_some((session, seq))
}

fn document(row: &ArtifactRow) -> Option<ArtifactDoc> {
    canon::parse(row.document.as_ref()?.as_bytes()).ok()
}
