//! Putting on record what is kept of texts (`[store]`): one artifact stands before the first record
//! under another policy than the one in force.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::govern::sanitize;
use crate::keys::os_random;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
pub use crate::record::ledger::content_policy::{CONTENT_POLICY, ContentPolicy};
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::time::Seconds;
use crate::store::ReadStore;

use super::settings::{SettingsInForce, settle_settings};
use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::LedgerTransaction;

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
