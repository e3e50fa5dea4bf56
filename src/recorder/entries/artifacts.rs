//! Artifacts on record: everything beside the exchanges that must not change silently (format,
//! section 4).
//!
//! A later state of something is a new artifact with the same id and another kind; the rows never
//! change.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::govern::sanitize::{Clean, Placeholders};
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::time::Seconds;
use crate::store::ReadStore;

use super::content_policy::settle;
use crate::recorder::batch::transaction::LedgerTransaction;
use crate::recorder::placeholders::must_put;
use crate::recorder::{Recorder, RecorderError};

/// One value inside an artifact; a text that a person or a model wrote has passed the sanitizer.
#[derive(Clone, Debug, PartialEq)]
pub enum ArtifactField {
    /// What somebody wrote.
    Text(Clean),
    /// A word of ours: a state, a code, an id that gently made.
    Word(String),
    /// A whole number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// A hash, as 64 digits.
    Hash(Hash32),
    /// A time, as lines spell it.
    Time(Seconds),
    /// Several values in their order.
    List(Vec<ArtifactField>),
    /// Values by their names.
    Map(Vec<(&'static str, ArtifactField)>),
    /// A document with rules of its own, such as a kernel.
    Document(Value),
    /// No value, `null` in JSON.
    Null,
}

impl ArtifactField {
    /// It, with its texts or with none.
    fn value(self, has_text: bool) -> Value {
        match self {
            ArtifactField::Text(_) if !has_text => Value::Null,
            ArtifactField::Text(text) => Value::from(text.as_str()),
            ArtifactField::Word(word) => Value::from(word),
            ArtifactField::Number(number) => Value::from(number),
            ArtifactField::Flag(flag) => Value::from(flag),
            ArtifactField::Hash(hash) => Value::from(hash.to_string()),
            ArtifactField::Time(time) => Value::from(time.to_string()),
            ArtifactField::List(fields) => {
                let values = fields.into_iter().map(|field| field.value(has_text));
                values.collect()
            }
            ArtifactField::Map(fields) => {
                let value = |(key, field): (&str, Self)| (key.to_owned(), field.value(has_text));
                Value::Object(fields.into_iter().map(value).collect())
            }
            ArtifactField::Document(document) => document,
            ArtifactField::Null => Value::Null,
        }
    }
}

/// As its document has it where texts are kept.
impl Serialize for ArtifactField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ArtifactField::Text(text) => serializer.serialize_str(text.as_str()),
            ArtifactField::Word(word) => serializer.serialize_str(word),
            ArtifactField::Number(number) => serializer.serialize_u64(*number),
            ArtifactField::Flag(flag) => serializer.serialize_bool(*flag),
            ArtifactField::Hash(hash) => serializer.collect_str(hash),
            ArtifactField::Time(time) => serializer.collect_str(time),
            ArtifactField::List(fields) => serializer.collect_seq(fields),
            ArtifactField::Map(fields) => ArtifactFields(fields).serialize(serializer),
            ArtifactField::Document(document) => document.serialize(serializer),
            ArtifactField::Null => serializer.serialize_unit(),
        }
    }
}

/// Values by their names, as [`ArtifactField::Map`] has them.
pub struct ArtifactFields<'a>(pub &'a [(&'static str, ArtifactField)]);

impl Serialize for ArtifactFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, field)| (key, field)))
    }
}

/// What an artifact is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactId {
    /// The next number under a prefix, of six digits or more: `ledger:000183`. Numbers run per
    /// kind.
    Next {
        /// Before the colon.
        prefix: &'static str,
    },
    /// One that exists already, or that is derived from something else.
    Of(String),
}

/// What is to be put on record.
#[derive(Clone, Debug)]
pub struct NewArtifact {
    /// Kind of the artifact, of the form `[a-z0-9_.]+`.
    pub kind: &'static str,
    /// What it is called.
    pub id: ArtifactId,
    /// What it says: keys and values of its `content`.
    pub content: Vec<(&'static str, ArtifactField)>,
    /// The open session that it belongs to, if any.
    pub session: Option<Hash32>,
    /// Fresh randomness for its commitment.
    pub salt: Salt,
    /// Time of the record.
    pub now: Seconds,
}

/// An artifact that is on record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedArtifact {
    /// Number of its line, from 0.
    pub line: u64,
    /// Time of its line.
    pub time: Seconds,
    /// What was committed to.
    pub document: ArtifactDoc,
    /// Whether the document is kept, and not its commitment alone.
    pub is_kept: bool,
}

impl Recorder {
    /// Puts an artifact on record: its line in the log, its document and salt in the database.
    ///
    /// `allowed` sees the database under the writer's lock, with everything recorded before: it
    /// says in a sentence why the artifact must not be recorded, and then nothing is
    /// ([`RecorderError::NotAllowed`]).
    pub async fn artifact(
        &self,
        new: NewArtifact,
        mut allowed: impl FnMut(&ReadStore) -> Result<Option<String>, RecorderError> + Send + 'static,
    ) -> Result<RecordedArtifact, RecorderError> {
        self.record(new.now, move |transaction| {
            if let Some(reason) = allowed(&*transaction.tx)? {
                return Err(RecorderError::NotAllowed { reason });
            }
            put(transaction, new.clone())
        })
        .await
    }

    /// The same for several at once, all or none; with `numbers`, of an open session whose texts were
    /// redacted with its numbers.
    ///
    /// [`RecorderError::PlaceholdersChanged`] when another turn was first.
    pub async fn artifacts(
        &self,
        new: Vec<NewArtifact>,
        numbers: Option<(Uuid, Placeholders)>,
        mut allowed: impl FnMut(&ReadStore) -> Result<Option<String>, RecorderError> + Send + 'static,
    ) -> Result<Vec<RecordedArtifact>, RecorderError> {
        let Some(now) = new.first().map(|first| first.now) else {
            return Ok(Vec::new());
        };
        self.record(now, move |transaction| {
            if let Some(reason) = allowed(&*transaction.tx)? {
                return Err(RecorderError::NotAllowed { reason });
            }
            if let Some((session, numbers)) = &numbers {
                must_put(transaction, *session, &mut numbers.clone())?;
            }
            let recorded = new.iter().map(|one| put(transaction, one.clone()));
            recorded.collect()
        })
        .await
    }
}

/// Nothing stands against it.
pub fn always(_: &ReadStore) -> Result<Option<String>, RecorderError> {
    Ok(None)
}

/// Records one artifact as part of a batch.
pub(in crate::recorder) fn put(
    transaction: &mut LedgerTransaction<'_>,
    new: NewArtifact,
) -> Result<RecordedArtifact, RecorderError> {
    let session = match new.session {
        None => None,
        Some(id) => Some((id, transaction.open_session(id)?.anchor.block.height)),
    };
    let id = match new.id {
        ArtifactId::Of(id) => id,
        ArtifactId::Next { prefix } => {
            format!(
                "{prefix}:{:06}",
                next_number(&*transaction.tx, new.kind, prefix)?
            )
        }
    };
    let content_policy = settle(transaction, new.now)?;
    let has_text = content_policy.commits_to_text(new.kind);
    let value = |field| ArtifactField::value(field, has_text);
    let content: Map<String, Value> = new
        .content
        .into_iter()
        .map(|(key, field)| (key.to_owned(), value(field)))
        .collect();
    let document = ArtifactDoc {
        content: Value::Object(content),
        format: Format,
        id,
        kind: new.kind.to_owned(),
    };
    let is_kept = content_policy.keeps_document(new.kind);
    // The salt of a document that is kept is kept with it: it opens codes, and no text.
    let kept = (is_kept, is_kept || content_policy.keeps_openings());
    let line = transaction.artifact_kept(new.now, session, &document, new.salt, kept)?;
    Ok(RecordedArtifact {
        line: line.n,
        time: line.time,
        document,
        is_kept,
    })
}

/// One more than the newest of the kind; 1 for the first.
fn next_number(store: &ReadStore, kind: &str, prefix: &str) -> Result<u64, RecorderError> {
    let Some(newest) = store.newest_artifact(kind)? else {
        return Ok(1);
    };
    let number = newest
        .id
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix(':'))
        .and_then(|n| n.parse().ok());
    let number: u64 = number.ok_or_else(|| RecorderError::Unrecordable {
        what: "the next number",
        reason: format!(
            "the newest {kind} is called {}, expected {prefix}: and a number",
            newest.id
        ),
    })?;
    Ok(number + 1)
}
