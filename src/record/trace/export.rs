//! How the record says that traces were handed on.
//!
//! | kind | id | content |
//! |---|---|---|
//! | `trace_export` | `export:000001` | `by` (hash of the auth key), `consent` (ids of consents, sorted; empty where no text is shown), `exchanges` (ids, in the file's order), `key_id`, `level`, `profile`, `sha256` of the file |
//!
//! It stands on record before the file is whole, so that no file can be of an export that nobody
//! knows of.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::level::{TraceLevel, TraceProfile};
use crate::record::hash::Hash32;

/// The kind of the artifact.
pub const TRACE_EXPORT: &str = "trace_export";
/// What stands before its number.
pub const EXPORT: &str = "export";

/// What an export says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceExport {
    /// Hash of the auth key that exported.
    pub by: Hash32,
    /// The consents under which texts are shown.
    pub consent: Vec<String>,
    /// The exchanges whose traces are in the file.
    pub exchanges: Vec<Uuid>,
    /// The key that signed the traces.
    pub key_id: String,
    /// How much they tell.
    pub level: TraceLevel,
    /// In which form.
    pub profile: TraceProfile,
    /// SHA-256 of the file.
    pub sha256: Hash32,
}

impl TraceExport {
    /// Reads the content of its artifact; none for one that says something else.
    pub fn read(content: Value) -> Option<TraceExport> {
        serde_json::from_value(content).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_read_as_it_is_written_and_nothing_else_is() {
        let export = TraceExport {
            by: Hash32::GENESIS,
            consent: vec!["consent:000001".to_owned()],
            exchanges: vec![Uuid::from_u128(7)],
            key_id: "agent-56475aa75463".to_owned(),
            level: TraceLevel::FullTraces,
            profile: TraceProfile::SevenComponents,
            sha256: Hash32::digest(b"x"),
        };
        let written = serde_json::to_value(&export).unwrap();
        assert_eq!(TraceExport::read(written.clone()), Some(export));
        for (key, value) in [
            ("level", Value::from("full")),
            ("by", Value::Null),
            ("more", Value::from(1)),
        ] {
            let mut changed = written.clone();
            changed[key] = value;
            assert_eq!(TraceExport::read(changed), None, "{key}");
        }
    }
}
