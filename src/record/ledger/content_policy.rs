//! What is kept of texts, and how the ledger says so.
//!
//! ```text
//! content_policy    {"content":"none"|"sanitized","openings":true|false}      from its line on, outside of any session
//! ```
//! Before the first one texts are kept. Where none are kept there are commitments in their place:
//! what is left can be checked, and opened by whoever has the text and, with `openings`, the home's
//! salts.

use serde_json::json;

use super::exchange::ArtifactDoc;
use super::item::ItemKind;
use super::params::Params;
use crate::record::canon;

/// The kind of the artifact that says what is kept from its line on.
pub const CONTENT_POLICY: &str = "content_policy";

/// What is kept of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentPolicy {
    /// All, with secrets removed.
    Sanitized,
    /// None: hashes and commitments.
    Nothing {
        /// Whether salts are kept, so that somebody who has a text can show that it is the one on
        /// record.
        openings: bool,
    },
}

impl ContentPolicy {
    /// What the artifact says.
    pub fn content(self) -> serde_json::Value {
        match self {
            ContentPolicy::Sanitized => json!({"content": "sanitized", "openings": true}),
            ContentPolicy::Nothing { openings } => json!({"content": "none", "openings": openings}),
        }
    }

    /// What an artifact says, by its canonical JSON; none of one that no writer would have written.
    pub fn read(document: &str) -> Option<ContentPolicy> {
        let document: ArtifactDoc = canon::parse(document.as_bytes()).ok()?;
        let openings = document.content["openings"].as_bool()?;
        match document.content["content"].as_str()? {
            "sanitized" => Some(ContentPolicy::Sanitized),
            "none" => Some(ContentPolicy::Nothing { openings }),
            _ => None,
        }
    }

    /// Whether texts are kept.
    pub fn keeps_text(self) -> bool {
        self == ContentPolicy::Sanitized
    }

    /// Whether salts are kept, and digests from which a short text could be guessed.
    pub fn keeps_openings(self) -> bool {
        self != ContentPolicy::Nothing { openings: false }
    }

    /// What is stored of a call's settings: without texts, if none are kept.
    pub fn params(self, params: &Params) -> Params {
        if self.keeps_text() {
            params.clone()
        } else {
            Params {
                expect: None,
                ..params.clone().without_content()
            }
        }
    }

    /// Whether what somebody wrote stands in an artifact of this kind. What a person puts on record
    /// for continuity is its text, and is committed to as it is; of the others the states and codes
    /// are kept, and what somebody wrote is left out.
    pub fn commits_to_text(self, kind: &str) -> bool {
        self.keeps_text() || is_text(kind)
    }

    /// Whether the document of an artifact of this kind is stored.
    pub fn keeps_document(self, kind: &str) -> bool {
        self.keeps_text() || !is_text(kind)
    }
}

/// Whether artifacts of this kind are there for their text: facts, notes, decisions, intents.
fn is_text(kind: &str) -> bool {
    kind.parse::<ItemKind>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(content: serde_json::Value) -> String {
        json!({"content": content, "format": "gently/1", "id": "content_policy-1", "kind": CONTENT_POLICY}).to_string()
    }

    #[test]
    fn a_policy_is_read_as_it_is_written_and_no_other() {
        for policy in [
            ContentPolicy::Sanitized,
            ContentPolicy::Nothing { openings: true },
            ContentPolicy::Nothing { openings: false },
        ] {
            let read = ContentPolicy::read(&document(policy.content()));
            assert_eq!(read, Some(policy));
        }
        for other in [
            json!({"content": "some", "openings": true}),
            json!({"content": "none"}),
            json!({"content": "none", "openings": "true"}),
            json!(null),
        ] {
            assert_eq!(
                ContentPolicy::read(&document(other.clone())),
                None,
                "{other}"
            );
        }
        assert_eq!(ContentPolicy::read("{}"), None);
    }
}
