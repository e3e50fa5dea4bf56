//! Texts whose secrets were taken out.

use serde::Serialize;
use serde_json::Value;

use crate::govern::sanitize::{Redaction, SecretFinding};

/// A secret that was found.
#[derive(Clone, Debug, Serialize)]
pub struct SecretFindingView {
    /// What it is.
    pub kind: String,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl SecretFindingView {
    fn all(found: &[SecretFinding]) -> Vec<Self> {
        let view = |finding: &SecretFinding| SecretFindingView {
            kind: finding.kind.to_owned(),
            start: finding.start,
            end: finding.end,
        };
        found.iter().map(view).collect()
    }
}

/// A text without its secrets.
#[derive(Clone, Debug, Serialize)]
pub struct RedactionView {
    /// The id of its line, where it came in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// The text with placeholders for its secrets.
    pub text: String,
    /// What was taken out.
    pub found: Vec<SecretFindingView>,
    /// What stays by the home's own list, where there is such.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<SecretFindingView>,
}

impl RedactionView {
    /// Of a redaction.
    pub fn of(id: Option<Value>, redaction: &Redaction) -> Self {
        RedactionView {
            id,
            text: redaction.clean.as_str().to_owned(),
            found: SecretFindingView::all(&redaction.found),
            allowed: SecretFindingView::all(&redaction.allowed),
        }
    }
}
