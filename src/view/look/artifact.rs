//! What is kept beside questions and answers and has no list of its own.

use serde::Serialize;
use serde_json::Value;

use crate::app::look::artifact::ArtifactDetails;

/// An artifact as it is on record.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactDetailsView {
    /// Its id, such as `opening:000001`.
    pub id: String,
    /// Its kind on record.
    pub kind: String,
    /// Its line in the log, from 1.
    pub log_line: u64,
    /// When it was recorded.
    pub recorded_at: Option<String>,
    /// What its document says; null once erased.
    pub content: Option<Value>,
    /// The name of the auth key in `by`; null where there is none, or the home does not know it.
    pub by_key: Option<String>,
}

impl ArtifactDetailsView {
    /// Of an artifact.
    pub fn of(details: &ArtifactDetails) -> Self {
        ArtifactDetailsView {
            id: details.id.clone(),
            kind: details.kind.clone(),
            log_line: details.line,
            recorded_at: details.recorded_at.clone(),
            content: details.content.clone(),
            by_key: details.by_key.clone(),
        }
    }
}
