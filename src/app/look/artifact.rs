//! What is kept beside questions and answers and has no list of its own, by its id.

use serde_json::Value;

use crate::home::Home;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::ledger::short_name::record_name;
use crate::record::log::entry::Line;
use crate::record::unseen::spelled_on_a_line;
use crate::store::ArtifactFilter;

use crate::app::home::open::{self, OpenHomeError};

/// An artifact as it is on record.
pub struct ArtifactDetails {
    /// Its id, such as `opening:000001`.
    pub id: String,
    /// Its kind on record.
    pub kind: String,
    /// The number of its log line, from 1.
    pub line: u64,
    /// When it was recorded; none where its line can't be read.
    pub recorded_at: Option<String>,
    /// What its document says; none once erased.
    pub content: Option<Value>,
    /// The name of the auth key that it says it is by, where the home knows that.
    pub by_key: Option<String>,
}

/// The artifact of an id, as it was begun.
pub fn show(home: &Home, id: &str) -> Result<ArtifactDetails, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let named = record_name(id).unwrap_or_else(|| id.to_owned());
    let found = store.artifacts(ArtifactFilter::Id(&named))?.into_iter();
    let row = found.min_by_key(|row| row.line).ok_or_else(|| {
        OpenHomeError::Refused(format!(
            "nothing on record is called '{}': gently log shows what is",
            spelled_on_a_line(id)
        ))
    })?;
    let line = store.lines(row.line, row.line.saturating_add(1))?;
    let line = line
        .first()
        .and_then(|line| Line::parse(line.as_bytes()).ok());
    let document = row.document.as_deref();
    let document = document.and_then(|text| canon::parse::<ArtifactDoc>(text.as_bytes()).ok());
    let content = document.map(|document| document.content);
    let by = content
        .as_ref()
        .and_then(|content| content["by"].as_str()?.parse::<Hash32>().ok());
    let by_key = store
        .auth_keys()?
        .into_iter()
        .find(|key| Some(key.hash) == by)
        .map(|key| key.name);
    Ok(ArtifactDetails {
        id: row.id,
        kind: row.kind,
        line: row.line + 1,
        recorded_at: line.map(|line| line.time.to_string()),
        content,
        by_key,
    })
}
