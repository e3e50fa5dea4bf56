//! What is kept of texts (`[store]`), and how the ledger says so.
//!
//! ```text
//! content_policy    {"content":"none"|"sanitized","openings":true|false}      an artifact outside of any session
//! ```
//! One stands before the first record under another policy than the one in force; without one,
//! texts are kept. Where none are kept there are commitments in their place: what is left can be
//! checked, and opened by whoever has the text and, with `openings`, this home's salts.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::govern::sanitize;
use crate::keys::os_random;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::ledger::item::ItemKind;
use crate::record::ledger::params::Params;
use crate::record::time::Seconds;
use crate::store::ReadStore;

use super::artifacts::ArtifactField;
use super::settings::{SettingsInForce, settle_settings};
use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::LedgerTransaction;

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
    fn content(self) -> serde_json::Value {
        match self {
            ContentPolicy::Sanitized => json!({"content": "sanitized", "openings": true}),
            ContentPolicy::Nothing { openings } => json!({"content": "none", "openings": openings}),
        }
    }

    fn read(document: &str) -> Option<ContentPolicy> {
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

    /// What is committed to in an artifact of a kind. What a person puts on record for continuity
    /// is its text, and is committed to as it is; of the others the states and codes are kept, and
    /// what somebody wrote is left out.
    pub(in crate::recorder) fn field(self, kind: &str, field: ArtifactField) -> ArtifactField {
        match field {
            ArtifactField::Text(_) if !self.keeps_text() && !is_text(kind) => ArtifactField::Null,
            other => other,
        }
    }

    /// Whether the document of an artifact of this kind is stored.
    pub(in crate::recorder) fn keeps_document(self, kind: &str) -> bool {
        self.keeps_text() || !is_text(kind)
    }
}

/// Whether artifacts of this kind are there for their text: facts, notes, decisions, intents.
pub(in crate::recorder) fn is_text(kind: &str) -> bool {
    kind.parse::<ItemKind>().is_ok()
}

/// What this writer was told, and randomness of its own.
#[derive(Clone, Debug)]
pub struct WriterContext {
    /// What is kept; none: as it is on record.
    pub wanted: Option<ContentPolicy>,
    /// The settings in force; none: as they were.
    pub settings: Option<SettingsInForce>,
    /// For salts of what nobody brought a salt for.
    pub seed: [u8; 32],
}

impl WriterContext {
    /// With fresh randomness.
    pub(in crate::recorder) fn new(
        wanted: Option<ContentPolicy>,
        settings: Option<SettingsInForce>,
    ) -> Result<WriterContext, RecorderError> {
        let mut seed = [0; 32];
        os_random(&mut seed)?;
        Ok(WriterContext {
            wanted,
            settings,
            seed,
        })
    }
}

impl WriterContext {
    /// A key for the tags of a session's secrets.
    pub(in crate::recorder) fn placeholder_key(&self, session: Uuid) -> [u8; 32] {
        self.secret("gently/1/placeholder_key/", session.as_bytes())
    }

    /// A key for the tags of the settings.
    pub(super) fn settings_key(&self) -> Hash32 {
        Hash32::from_bytes(self.secret("gently/1/settings_key/", b""))
    }

    /// A salt that nobody else has, for one label and number.
    pub(super) fn salt(&self, label: &str, number: &[u8]) -> Salt {
        Salt::new(self.secret(label, number))
    }

    fn secret(&self, label: &str, number: &[u8]) -> [u8; 32] {
        let digest = Sha256::new()
            .chain_update(label)
            .chain_update(self.seed)
            .chain_update(number)
            .finalize();
        digest.into()
    }
}

/// What is kept by what is on record; none when that was lost, or can't be read.
fn policy_on_record(store: &ReadStore) -> Result<Option<ContentPolicy>, RecorderError> {
    let Some(newest) = store.newest_artifact(CONTENT_POLICY)? else {
        return Ok(Some(ContentPolicy::Sanitized));
    };
    Ok(newest.document.as_deref().and_then(ContentPolicy::read))
}

/// What is kept of the texts that are recorded next; puts it on record, if it is not what is in
/// force, and that settings changed, if they did.
pub(in crate::recorder) fn settle(
    transaction: &mut LedgerTransaction<'_>,
    now: Seconds,
) -> Result<ContentPolicy, RecorderError> {
    settle_settings(transaction, now)?;
    let known = policy_on_record(&*transaction.tx)?;
    // Nobody said what, and nobody knows: what is not kept can't be regretted.
    let wanted = transaction
        .writer_context
        .wanted
        .or(known)
        .unwrap_or(ContentPolicy::Nothing { openings: true });
    if known != Some(wanted) {
        let id = format!("{CONTENT_POLICY}-{}", transaction.head.hash.short16());
        let doc = ArtifactDoc {
            content: wanted.content(),
            format: Format,
            id,
            kind: CONTENT_POLICY.to_owned(),
        };
        let salt = transaction.writer_context.salt(
            "gently/1/content_policy/",
            &transaction.head.lines.to_be_bytes(),
        );
        transaction.artifact(now, None, &doc, salt)?;
    }
    settle_exemptions(transaction, now)?;
    Ok(wanted)
}

/// Puts on record what the sanitizer is told to leave, if it is not what is on record: how many
/// entries the list has, and its digest. Without such an artifact there was no list. The entries
/// themselves stay in the configuration.
fn settle_exemptions(
    transaction: &mut LedgerTransaction<'_>,
    now: Seconds,
) -> Result<(), RecorderError> {
    let exempt = sanitize::current_engine().exemptions();
    let content = exempt.content();
    let newest = transaction.tx.newest_artifact(sanitize::SANITIZE_POLICY)?;
    let known = match &newest {
        None => exempt.count == 0,
        Some(newest) => {
            let doc: Option<ArtifactDoc> = newest
                .document
                .as_deref()
                .and_then(|text| canon::parse(text.as_bytes()).ok());
            doc.is_some_and(|doc| doc.content == content)
        }
    };
    if !known {
        let kind = sanitize::SANITIZE_POLICY.to_owned();
        let id = format!("{kind}-{}", transaction.head.hash.short16());
        let doc = ArtifactDoc {
            content,
            format: Format,
            id,
            kind,
        };
        let salt = transaction.writer_context.salt(
            "gently/1/sanitize_policy/",
            &transaction.head.lines.to_be_bytes(),
        );
        transaction.artifact(now, None, &doc, salt)?;
    }
    Ok(())
}

/// The salt of a prompt whose process is gone, and with it the salt: nobody will open what it
/// commits to.
pub(in crate::recorder) fn lost_salt(transaction: &LedgerTransaction<'_>, exchange: Uuid) -> Salt {
    transaction
        .writer_context
        .salt("gently/1/lost_salt/", exchange.as_bytes())
}

/// SHA-256 of a text, where it may be kept.
pub(in crate::recorder) fn digest(content_policy: ContentPolicy, text: &str) -> Option<Hash32> {
    content_policy
        .keeps_openings()
        .then(|| Hash32::digest(text.as_bytes()))
}
