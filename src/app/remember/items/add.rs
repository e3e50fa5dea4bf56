//! Putting something on record for continuity: redacted under the numbers of the session that it
//! belongs to.

use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::moment::when;
use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::continuity::candidate::Confidence;
use crate::continuity::gates::is_blob;
use crate::govern::sanitize::{Clean, Placeholders, redact_with};
use crate::record::ledger::item::{ItemKind, ItemState, evenly_spaced};
use crate::record::time::Seconds;
use crate::record::unseen::is_plain_name;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact};
use crate::store::SessionRow;

use super::RecordedItem;
use crate::app::remember::with_placeholders::record_with_placeholders;

/// A subject is a name, in bytes.
const MAX_SUBJECT: usize = 200;

/// What somebody said, as it was typed.
pub struct ItemInput {
    kind: ItemKind,
    text: String,
    about: Option<String>,
    origin: ItemOrigin,
}

/// The same without its secrets.
pub(in crate::app::remember) struct RedactedItem {
    /// What it says.
    pub text: Clean,
    /// What it is about.
    pub subject: Option<Clean>,
    source: Clean,
    /// The secrets that were removed, each by its kind.
    pub removed: Vec<String>,
}

/// Where an item is from, and from when on it may be shown.
#[derive(Clone, Debug)]
pub struct ItemOrigin {
    /// A person, a document, an exchange.
    pub source: String,
    /// When it was observed, as it was typed; now without it.
    pub observed_at: Option<String>,
    /// The tier from which on it may be put before a model.
    pub tier: u8,
}

impl Default for ItemOrigin {
    fn default() -> Self {
        ItemOrigin {
            source: "user".to_owned(),
            observed_at: None,
            tier: 1,
        }
    }
}

impl ItemInput {
    /// What somebody said; `about` is its subject.
    pub fn new(kind: ItemKind, text: &str, about: Option<&str>, origin: ItemOrigin) -> ItemInput {
        ItemInput {
            kind,
            text: text.trim().to_owned(),
            about: about.map(evenly_spaced),
            origin,
        }
    }

    /// The tier from which on it may be shown.
    pub(in crate::app::remember) fn tier(&self) -> u8 {
        self.origin.tier
    }

    /// It without its secrets.
    pub(in crate::app::remember) fn clean(&self, numbers: &mut Placeholders) -> RedactedItem {
        let text = redact_with(&self.text, numbers);
        // Some secrets are known by their capitals, and small letters would hide them.
        let subject = self.about.as_ref().map(|about| redact_with(about, numbers));
        let source = redact_with(self.origin.source.trim(), numbers);
        let found = text
            .found
            .iter()
            .chain(subject.iter().flat_map(|about| &about.found))
            .chain(&source.found);
        let removed: Vec<String> = found.map(|finding| finding.kind.to_owned()).collect();
        RedactedItem {
            text: text.clean,
            subject: subject.map(|about| about.clean.to_lowercase()),
            source: source.clean,
            removed,
        }
    }

    /// Why it is nothing that can be put on record.
    pub(in crate::app::remember) fn fault(&self) -> Option<FieldSentence> {
        let (name, clean) = (
            self.kind.name(),
            self.clean(&mut Placeholders::new([0; 32])),
        );
        if clean.text.as_str().is_empty() {
            return Some(format!("the {name} says nothing").into());
        }
        if is_blob(clean.text.as_str()) {
            return Some(sentence![
                format!(
                    "this is a log, a dump of settings, a binary or a whole document, and no {name}: it would never be \
                     put before a model. Say in a sentence or two what follows from it, and name it with "
                ),
                RequestField::Source
            ]);
        }
        match clean.subject.as_ref().map(|subject| subject.as_str().len()) {
            Some(0) => return Some(sentence![RequestField::Subject, " names nothing"]),
            Some(length) if length > MAX_SUBJECT => {
                return Some(sentence![
                    RequestField::Subject,
                    format!(" has {length} bytes, at most {MAX_SUBJECT} are a name")
                ]);
            }
            _ => {}
        }
        let names = [
            self.about.as_deref().unwrap_or_default(),
            self.origin.source.trim(),
        ];
        if !names.into_iter().all(is_plain_name) {
            return Some(sentence![
                RequestField::Subject,
                " and ",
                RequestField::Source,
                " are names: no characters that nobody sees, on one line"
            ]);
        }
        self.origin
            .source
            .trim()
            .is_empty()
            .then(|| sentence![RequestField::Source, " names nothing"])
    }

    /// When it was observed, or why that is no time.
    pub(in crate::app::remember) fn observed_at(
        &self,
        now: Seconds,
    ) -> Result<Seconds, FieldSentence> {
        let given = self
            .origin
            .observed_at
            .as_deref()
            .map(|text| when(RequestField::ObservedAt, text, now))
            .transpose()?;
        match given {
            Some(at) if at > now => Err(sentence![
                RequestField::ObservedAt,
                format!(" {at} is in the future; it is {now}")
            ]),
            given => Ok(given.unwrap_or(now)),
        }
    }
}

/// Why it can't be put on record, before a home is opened for it.
pub fn check(said: &ItemInput) -> Result<(), OpenHomeError> {
    said.fault()
        .map_or(Ok(()), |why| Err(OpenHomeError::Wanting(why)))
}

/// Puts an item on record: a fact as proposed, anything else as declared.
pub async fn add(
    opened: &OpenHome,
    said: &ItemInput,
    confidence: Option<Confidence>,
) -> Result<RecordedItem, OpenHomeError> {
    check(said)?;
    let key = opened.authorize().await?;
    let now = open::clock()?;
    let observed_at = said.observed_at(now).map_err(OpenHomeError::Wanting)?;
    let phase = opened.kernel.phase();
    let (recorded, clean) = record_with_placeholders(opened, key, |numbers, session| {
        let clean = said.clean(numbers);
        let prefix = said.kind.prefix();
        let new = NewArtifact {
            kind: said.kind.name(),
            id: ArtifactId::Next { prefix },
            content: content(said, &clean, confidence, observed_at, session, phase),
            session: session.map(|session| session.id),
            salt: fresh_salt()?,
            now,
        };
        Ok((new, clean))
    })
    .await?;
    let state = if said.kind == ItemKind::Fact {
        ItemState::Proposed
    } else {
        ItemState::Declared
    };
    Ok(RecordedItem {
        recorded,
        state,
        text: clean.text.as_str().to_owned(),
        removed: clean.removed,
    })
}

/// What is committed to.
fn content(
    said: &ItemInput,
    clean: &RedactedItem,
    confidence: Option<Confidence>,
    observed_at: Seconds,
    session: Option<&SessionRow>,
    phase: &str,
) -> Vec<(&'static str, ArtifactField)> {
    vec![
        (
            "confidence",
            confidence.map_or(ArtifactField::Null, |sure| {
                ArtifactField::Word(sure.name().to_owned())
            }),
        ),
        ("observed_at", ArtifactField::Number(observed_at.get())),
        ("phase", ArtifactField::Word(phase.to_owned())),
        (
            "session",
            session.map_or(ArtifactField::Null, |session| {
                ArtifactField::Hash(session.id)
            }),
        ),
        ("source", ArtifactField::Text(clean.source.clone())),
        (
            "subject",
            clean
                .subject
                .clone()
                .map_or(ArtifactField::Null, ArtifactField::Text),
        ),
        ("text", ArtifactField::Text(clean.text.clone())),
        ("tier", ArtifactField::Number(said.origin.tier.into())),
    ]
}
