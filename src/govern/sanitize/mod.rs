//! Taking secrets out of text, at the one place that every text passes (AEGIS 8).

mod address;
mod assignments;
mod cue_words;
mod document;
mod exempt;
mod named_value;
mod optional;
mod pem;
mod phrases;
mod placeholder;
mod public;
mod random_tokens;
mod rules;
mod separator;
mod tables;
mod text;
mod token;
mod vocabulary;

use std::borrow::Cow;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

pub use document::{KnownSecret, redact_document};
pub use exempt::{Exemptions, SANITIZE_POLICY};
pub use named_value::found_by_file_name;
pub use optional::{OPTIONAL, Optional};
pub use placeholder::{NewPlaceholder, Placeholders, SecretTag, has_placeholder, unnumbered};
pub use rules::engine::{Engine, HomeRules};
pub use rules::file::RuleFault;
pub(in crate::govern) use text::work::count;
pub use text::work::steps;

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
    /// The text without secrets.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same in small letters, as placeholders are.
    pub fn to_lowercase(&self) -> Clean {
        Clean(self.0.to_lowercase())
    }
}

impl fmt::Display for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One secret that was taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFinding {
    /// What it is: `aws-access-key`.
    pub kind: String,
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
    pub found: Vec<SecretFinding>,
    /// What looks like a secret and stays, because the home's list says so; by place.
    pub allowed: Vec<SecretFinding>,
}

static OWN: LazyLock<Engine> =
    LazyLock::new(|| Engine::new(&[]).expect("our own rules are read by a test of this build"));
static IN_FORCE: OnceLock<Engine> = OnceLock::new();

/// Puts rules in force for the rest of this process, once; false when others are in force already.
///
/// They belong to the process and not to a caller, because a caller could forget to hand them on.
pub fn put_in_force(engine: Engine) -> bool {
    IN_FORCE.set(engine).is_ok()
}

/// The rules in force: those put there, else our own.
pub fn current_engine() -> &'static Engine {
    IN_FORCE.get().unwrap_or_else(|| &OWN)
}

/// Takes secrets out of a text, each replaced by a placeholder that names its kind.
///
/// The same secret gets the same placeholder, a second one of a kind gets a number
/// (`[redacted:password-2]`). Idempotent: redacting the result changes nothing.
pub fn redact(text: &str) -> Redaction {
    redact_with(text, &mut Placeholders::of_one_text())
}

/// The same, with the numbers of a session: what it has named keeps its name, what is new is noted
/// in them.
pub fn redact_with(text: &str, placeholders: &mut Placeholders) -> Redaction {
    current_engine().redact(text, placeholders)
}

/// Puts placeholders in the place of what was found in a text, by place; for findings that the text
/// alone does not show. What comes of it still has to pass [`redact_with`].
pub fn without(text: &str, found: &[SecretFinding], placeholders: &mut Placeholders) -> String {
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for one in found {
        out.push_str(text.get(done..one.start).unwrap_or_default());
        let secret = text.get(one.start..one.end).unwrap_or_default();
        out.push_str(&placeholders.of(secret, &one.kind));
        done = one.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// A text as the eye reads it: no invisible characters, no terminal colours, ASCII for its
/// look-alikes.
///
/// The same view that rules for secrets have; what judges words shares it.
pub(in crate::govern) fn unmasked_text(text: &str) -> Cow<'_, str> {
    text::view::TextView::of(text, &text::normalize::unmasked(text)).text
}

/// The same for whoever compares what people read.
pub fn as_seen(text: &str) -> Cow<'_, str> {
    unmasked_text(text)
}

/// The ASCII letter or digit that a character of another script looks like, whatever stands beside
/// it.
pub(in crate::govern) fn looks_like(c: char) -> Option<char> {
    text::normalize::ascii_look_alike(c)
}

#[cfg(test)]
mod tests;
