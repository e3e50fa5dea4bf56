//! What an AUA state store has beside conversations: promotions, which bind nothing here, and its audit
//! log, as it was received.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Number, Value};

use super::conversation::{id_on_record, time_of};
use crate::app::home::open::OpenHomeError;
use crate::govern::sanitize::{Placeholders, redact_document, redact_with};
use crate::import::{SourceAudit, SourcePromotion};
use crate::keys::ImportKey;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::imported::{
    IMPORTED_AUDIT, IMPORTED_PROMOTION, ImportFormat, digest_of,
};
use crate::record::ledger::item::content;
use crate::record::unseen::spelled;
use crate::recorder::{ArtifactField, ArtifactFields};
use crate::store::{ArtifactFilter, ReadStore};

/// The largest whole number that every reader of JSON keeps.
const EXACT: u64 = 1 << 53;

/// Something that is recorded beside conversations.
pub struct BesideArtifact {
    /// The kind of its artifact.
    pub kind: &'static str,
    /// What stands before its number.
    pub prefix: &'static str,
    /// What it says, but for who received it, and with which import.
    pub said: Vec<(&'static str, ArtifactField)>,
    /// How many secrets were removed.
    pub removed: u64,
    /// SHA-256 of what it says.
    digest: Option<Hash32>,
    /// What it is known by in its source.
    pub name: String,
}

/// What is on record of them already.
#[derive(Default)]
pub struct BesideOnRecord {
    /// The newest digest of each name.
    digests: HashMap<(&'static str, String), Option<Hash32>>,
    /// Names that stand in this file.
    seen: HashSet<(&'static str, String)>,
}

/// What is to be done with one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BesideState {
    /// It is to be recorded.
    New,
    /// It is on record as it is.
    Unchanged,
    /// One before it in the file has its name, and says something else.
    Repeats,
}

impl BesideOnRecord {
    /// Of a store.
    pub fn of(store: &ReadStore) -> Result<Self, OpenHomeError> {
        let mut known = HashMap::new();
        for kind in [IMPORTED_PROMOTION, IMPORTED_AUDIT] {
            for row in store.artifacts(ArtifactFilter::Kind(kind))? {
                let Some(content) = content(row.document.as_deref()) else {
                    continue;
                };
                let named = content["source_id"].as_str().map(str::to_owned);
                let digest = digest_of(content);
                // Logs have no id: each is known by what it says.
                let name = match (named, digest) {
                    (Some(name), _) => name,
                    (None, Some(digest)) => digest.to_string(),
                    (None, None) => continue,
                };
                known.insert((kind, name), digest);
            }
        }
        Ok(BesideOnRecord {
            digests: known,
            seen: HashSet::new(),
        })
    }

    /// What is to be done with the next one of a file; from now on it is known.
    pub fn known(&mut self, one: &BesideArtifact) -> BesideState {
        let key = (one.kind, one.name.clone());
        let known = self.digests.get(&key).copied().flatten();
        let is_same = known.is_some() && known == one.digest;
        let is_first = self.seen.insert(key.clone());
        match (is_same, is_first) {
            (true, _) => BesideState::Unchanged,
            (false, false) => BesideState::Repeats,
            (false, true) => {
                self.digests.insert(key, one.digest);
                BesideState::New
            }
        }
    }
}

/// A promotion: it is on record for the view alone.
pub fn promotion(
    key: &ImportKey,
    format: ImportFormat,
    source: &SourcePromotion,
) -> BesideArtifact {
    let mut numbers = Placeholders::new([0; 32]);
    let mut removed = 0;
    let mut text = |text: Option<&str>| match text {
        None => ArtifactField::Null,
        Some(text) => {
            // What is spelled out hides a secret that it stands in: that goes before.
            let (text, of_values) = without_secret_values(text, &mut numbers);
            let (text, of_escapes) = without_escaped_secrets(text, &mut numbers);
            let whole = redact_with(&text.replace("\r\n", "\n"), &mut numbers);
            // People look at the view with other programs, which let a terminal do as it is told.
            let redacted = redact_with(&spelled(whole.clean.as_str()), &mut numbers);
            let found = of_values + of_escapes + whole.found.len() + redacted.found.len();
            removed += u64::try_from(found).unwrap_or(u64::MAX);
            ArtifactField::Text(redacted.clean)
        }
    };
    let at = time_of(source.at).map(|at| ArtifactField::Number(at.get()));
    let source_id = id_on_record(key, &source.id);
    let said = vec![
        ("at", at.unwrap_or(ArtifactField::Null)),
        ("event", text(Some(&source.event))),
        ("format", ArtifactField::Word(format.name().to_owned())),
        ("from_model", text(source.from_model.as_deref())),
        ("metadata", text(source.metadata.as_deref())),
        ("reverted", ArtifactField::Flag(source.is_reverted)),
        ("source_id", ArtifactField::Word(source_id.clone())),
        ("specialist", text(Some(&source.specialist))),
        ("to_model", text(source.to_model.as_deref())),
    ];
    BesideArtifact {
        kind: IMPORTED_PROMOTION,
        prefix: IMPORTED_PROMOTION,
        digest: canon::digest(&ArtifactFields(&said)).ok(),
        said,
        removed,
        name: source_id,
    }
}

/// A text that is JSON without the secrets in its strings, which JSON spells out; any other as it is. How many kinds of
/// secrets were in it, too.
fn without_secret_values<'a>(text: &'a str, numbers: &mut Placeholders) -> (Cow<'a, str>, usize) {
    match serde_json::from_str::<Value>(text) {
        Ok(document @ (Value::Object(_) | Value::Array(_))) => {
            let (document, kinds) = redact_document(document, Vec::new(), numbers);
            match kinds.len() {
                // As it was received.
                0 => (Cow::Borrowed(text), 0),
                found => (Cow::Owned(document.to_string()), found),
            }
        }
        _ => (Cow::Borrowed(text), 0),
    }
}

/// A text without secrets that are cut by an escape of JSON (`\u200b`), whether or not it is JSON; the escapes are the signs
/// they stand for then. A text without such secrets is as it was.
fn without_escaped_secrets<'a>(
    text: Cow<'a, str>,
    numbers: &mut Placeholders,
) -> (Cow<'a, str>, usize) {
    const ESCAPE: &str = "\\u";
    if !text.contains(ESCAPE) {
        return (text, 0);
    }
    let mut pieces = text.split(ESCAPE);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece
            .get(..4)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match (code, piece.get(4..)) {
            (Some(code), Some(rest)) => {
                // Of JSON in a text of JSON the escape has several.
                plain.truncate(plain.trim_end_matches('\\').len());
                // What is half of a character stands for a sign that nobody sees.
                plain.push(char::from_u32(code).unwrap_or('\u{200b}'));
                plain.push_str(rest);
            }
            _ => {
                plain.push_str(ESCAPE);
                plain.push_str(piece);
            }
        }
    }
    let redacted = redact_with(&plain, numbers);
    match redacted.found.len() {
        0 => (text, 0),
        found => (Cow::Owned(redacted.clean.as_str().to_owned()), found),
    }
}

/// Another program's audit log, with what of it could be computed again.
pub fn audit(format: ImportFormat, source: SourceAudit) -> BesideArtifact {
    let number = ArtifactField::Number;
    let rows = source.rows.into_iter().map(Value::Object).map(exact);
    let mut numbers = Placeholders::new([0; 32]);
    let (rows, kinds) = redact_document(Value::Array(rows.collect()), Vec::new(), &mut numbers);
    let (same, other) = source.computed;
    let said = vec![
        ("computed_other", number(other)),
        ("computed_same", number(same)),
        ("format", ArtifactField::Word(format.name().to_owned())),
        ("linked", number(source.linked)),
        ("rows", ArtifactField::Document(rows)),
        ("verified", ArtifactField::Flag(false)),
    ];
    let digest = canon::digest(&ArtifactFields(&said)).ok();
    BesideArtifact {
        kind: IMPORTED_AUDIT,
        prefix: "audit",
        name: digest.map(|digest| digest.to_string()).unwrap_or_default(),
        digest,
        said,
        removed: u64::try_from(kinds.len()).unwrap_or(u64::MAX),
    }
}

/// A value whose numbers every reader keeps as they are: larger ones become texts.
fn exact(value: Value) -> Value {
    let is_kept = |number: &Number| match (number.as_u64(), number.as_i64()) {
        (Some(n), _) => n < EXACT,
        (None, Some(n)) => n.unsigned_abs() < EXACT,
        (None, None) => true,
    };
    match value {
        Value::Number(number) if !is_kept(&number) => Value::String(number.to_string()),
        Value::Array(all) => all.into_iter().map(exact).collect(),
        Value::Object(all) => all
            .into_iter()
            .map(|(key, one)| (key, exact(one)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_spelled_out_is_found_before_that() {
        let key = ImportKey::of_nobody().unwrap();
        for text in [
            "AKIAZWSP\u{200b}ZQRSTUVWXY23",
            "s\u{1b}[31mAKIAQQQQ\u{1b}[0mZQRSTUVWXY23",
            r#""AKIAZWSP\u200bZQRSTUVWXY23""#,
            r#"{"a": "x", broken "AKIAQQQQ\u001b[0mZQRSTUVWXY23"#,
            r#"{"s":"x\ud800","t":"AKIAZWSP\u200bZQRSTUVWXY23"}"#,
            r#"{"metadata":"{\"y\": \"AKIAZWSP\\u200bZQRSTUVWXY23\"}"}"#,
            r#"{"metadata":"{\"y\": \"{\\\"z\\\": \\\"AKIAQQQQ\\\\u001b[0mZQRSTUVWXY23\\\"}\"}"}"#,
            r#"{"metadata":"{\"y\": \"AKIAZWSP\\udb40\\udc20ZQRSTUVWXY23\"}"}"#,
            r#"{"a": "AKIAZWSP\u200bZQRSTUVWXY23", "b": [{"c": "AKIAQQQQ\u001b[0mZQRSTUVWXY23"}]}"#,
        ] {
            let source = SourcePromotion {
                id: "p".to_owned(),
                at: None,
                specialist: text.to_owned(),
                event: "promote".to_owned(),
                from_model: Some(text.to_owned()),
                to_model: None,
                is_reverted: false,
                metadata: Some(text.to_owned()),
            };
            let made = promotion(&key, ImportFormat::Aua, &source);
            let texts = made.said.iter().filter_map(|(_, field)| match field {
                ArtifactField::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let said = texts.collect::<Vec<_>>().join(" / ");
            assert!(said.contains("[redacted:"), "{said}");
            assert!(!said.contains("ZQRSTUVWXY23"), "{said}");
            assert!(made.removed >= 3, "{said}");
        }
        let harmless = r#"{"b": 1.50, "a": "\u00e9"}"#;
        let kept = without_secret_values(harmless, &mut Placeholders::new([0; 32]));
        assert_eq!(kept, (Cow::Borrowed(harmless), 0));
    }
}
