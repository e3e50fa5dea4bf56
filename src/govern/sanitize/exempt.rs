//! What a home says is no secret: findings of our own kinds that stay, by their exact text or by an
//! expression.

use regex::Regex;
use sha2::{Digest as _, Sha256};

use super::rules::file::RuleFault;

/// What errors call the list.
const NAME: &str = "[sanitize] allow";
/// Longest entry of the list.
const MAX_ENTRY: usize = 512;
/// Largest compiled expression.
const MAX_PROGRAM: usize = 4 * 1024 * 1024;

/// The list: `text` is exactly that, `/expression/` is all that it matches from its first to its
/// last character.
#[derive(Default)]
pub struct Exempt {
    texts: Vec<String>,
    expressions: Vec<Regex>,
    digest: [u8; 32],
}

/// What is on record of a list: how long it is, and a digest that another list has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exemptions {
    /// How many entries.
    pub count: usize,
    /// SHA-256 of the entries, each with its length before it.
    pub digest: [u8; 32],
}

/// The kind of the artifact that says what the sanitizer leaves by the home's own list, from its
/// line on.
pub const SANITIZE_POLICY: &str = "sanitize_policy";

impl Exemptions {
    /// The content of that artifact: `{"allow": count, "sha256": digest}`.
    pub fn content(&self) -> serde_json::Value {
        serde_json::json!({"allow": self.count, "sha256": hex::encode(self.digest)})
    }
}

impl Exempt {
    pub fn read(entries: &[String]) -> Result<Self, RuleFault> {
        let mut list = Exempt::default();
        let mut digest = Sha256::new();
        for entry in entries {
            let fault = |reason: String| RuleFault {
                file: NAME.to_owned(),
                rule: Some(entry.clone()),
                reason,
            };
            if entry.trim().is_empty() || entry.len() > MAX_ENTRY {
                return Err(fault(format!(
                    "an entry is 1 to {MAX_ENTRY} bytes that are not all blank"
                )));
            }
            digest.update(u64::try_from(entry.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(entry);
            match entry
                .strip_prefix('/')
                .and_then(|rest| rest.strip_suffix('/'))
                .filter(|inner| !inner.is_empty())
            {
                Some(inner) => list.expressions.push(expression(inner).map_err(fault)?),
                None => list.texts.push(entry.clone()),
            }
        }
        list.digest = digest.finalize().into();
        Ok(list)
    }

    /// Whether a finding stays.
    pub fn holds(&self, finding: &str) -> bool {
        self.texts.iter().any(|text| text == finding)
            || self.expressions.iter().any(|known| known.is_match(finding))
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.expressions.is_empty()
    }

    pub fn described(&self) -> Exemptions {
        Exemptions {
            count: self.texts.len() + self.expressions.len(),
            digest: self.digest,
        }
    }
}

fn expression(inner: &str) -> Result<Regex, String> {
    let whole = format!(r"\A(?:{inner})\z");
    let built = regex::RegexBuilder::new(&whole)
        .size_limit(MAX_PROGRAM)
        .build();
    let built =
        built.map_err(|_| "between its slashes is no expression that can be used".to_owned())?;
    // What matches nothing would match every place; what matches a line of anything exempts
    // everything.
    let all = [
        "",
        "Tr0ub4dor&3",
        "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R",
    ]
    .iter()
    .all(|text| built.is_match(text));
    if all {
        Err("it matches everything, so nothing would be taken out".to_owned())
    } else {
        Ok(built)
    }
}
