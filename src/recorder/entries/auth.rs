//! Auth keys on record: added, revoked, and what a revoked one may no longer do.

use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::auth_key::{AuthKeyContent, KIND, REVOKED};
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::time::Seconds;
use crate::store::{ArtifactFilter, AuthKeyRow, ReadStore, StoreError};

use super::settings::settle_settings;
use crate::recorder::batch::transaction::LedgerTransaction;
use crate::recorder::{Recorder, RecorderError};

/// Why a key was not added or revoked, or may not be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthKeyFault {
    /// The name is taken.
    #[error("there is a key named '{name}' already (names are never used twice); names: {known}")]
    Taken {
        /// Name that another key has.
        name: String,
        /// Names of all keys, separated by commas.
        known: String,
    },
    /// No such key.
    #[error("no key is named '{name}'; names: {known}")]
    Unknown {
        /// Name that no key has.
        name: String,
        /// Names of all keys, separated by commas.
        known: String,
    },
    /// It is revoked already.
    #[error("'{name}' was revoked at {at} already")]
    Already {
        /// Name of the key.
        name: String,
        /// When the key was revoked.
        at: Seconds,
    },
    /// The last key that opens this home.
    #[error(
        "'{name}' is the last key that opens this home: add another first (gently key add NAME), or say --force"
    )]
    Last {
        /// Name of the key.
        name: String,
    },
    /// A prompt or session under a key that was revoked in the meantime.
    #[error(
        "the auth key '{name}' was revoked at {at}: its sessions take no more prompts, and another key can close them"
    )]
    Revoked {
        /// Name of the key.
        name: String,
        /// When the key was revoked.
        at: Seconds,
    },
}

/// What becomes of an auth key.
#[derive(Clone, Debug)]
pub enum AuthKeyChange {
    /// It is added, by its hash.
    Add {
        /// Never used before.
        name: String,
        /// Of the key.
        hash: Hash32,
    },
    /// It is revoked.
    Revoke {
        /// Whose it is.
        name: String,
        /// Also the last one that is not revoked.
        force: bool,
    },
}

impl Recorder {
    /// Adds or revokes an auth key; its artifact is on record.
    pub async fn change_auth_key(
        &self,
        change: AuthKeyChange,
        salt: Salt,
        now: Seconds,
    ) -> Result<AuthKeyRow, RecorderError> {
        self.record(now, move |transaction| {
            let row = match &change {
                AuthKeyChange::Add { name, hash } => add(transaction, name, *hash, now)?,
                AuthKeyChange::Revoke { name, force } => revoke(transaction, name, *force, now)?,
            };
            settle_settings(transaction, now)?;
            transaction.artifact(now, None, &document(&row)?, salt.clone())?;
            Ok(row)
        })
        .await
    }
}

/// The id of a key's artifact: its name and 16 digits of its hash.
pub fn artifact_id(key: &AuthKeyRow) -> String {
    key.named().id()
}

fn names(keys: &[AuthKeyRow]) -> String {
    keys.iter()
        .map(|key| key.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

fn add(
    transaction: &mut LedgerTransaction<'_>,
    name: &str,
    hash: Hash32,
    now: Seconds,
) -> Result<AuthKeyRow, RecorderError> {
    let keys = transaction.tx.auth_keys()?;
    if keys.iter().any(|key| key.name == name) {
        return Err(AuthKeyFault::Taken {
            name: name.to_owned(),
            known: names(&keys),
        }
        .into());
    }
    let row = AuthKeyRow {
        hash,
        name: name.to_owned(),
        added_at: transaction.line_time(now)?,
        revoked_at: None,
    };
    transaction.tx.put(&row)?;
    Ok(row)
}

fn revoke(
    transaction: &mut LedgerTransaction<'_>,
    name: &str,
    force: bool,
    now: Seconds,
) -> Result<AuthKeyRow, RecorderError> {
    let keys = transaction.tx.auth_keys()?;
    let key = revocable(&keys, name, force)?;
    let at = transaction.line_time(now)?;
    let row = AuthKeyRow {
        revoked_at: Some(at),
        ..key.clone()
    };
    transaction.tx.revoke_auth_key(row.hash, at)?;
    Ok(row)
}

/// The key of a name, if it may be revoked.
///
/// # Errors
/// [`AuthKeyFault`].
pub fn revocable<'a>(
    keys: &'a [AuthKeyRow],
    name: &str,
    force: bool,
) -> Result<&'a AuthKeyRow, AuthKeyFault> {
    let typed = name.to_owned();
    let Some(key) = keys.iter().find(|key| key.name == name) else {
        let known = names(keys);
        return Err(AuthKeyFault::Unknown { name: typed, known });
    };
    if let Some(at) = key.revoked_at {
        return Err(AuthKeyFault::Already { name: typed, at });
    }
    match is_last(keys) && !force {
        true => Err(AuthKeyFault::Last { name: typed }),
        false => Ok(key),
    }
}

/// Whether one key alone, or none, opens the home.
pub fn is_last(keys: &[AuthKeyRow]) -> bool {
    keys.iter().filter(|key| key.revoked_at.is_none()).count() < 2
}

fn document(key: &AuthKeyRow) -> Result<ArtifactDoc, RecorderError> {
    let suffix = if key.revoked_at.is_some() {
        REVOKED
    } else {
        ""
    };
    let content = serde_json::to_value(key.named());
    Ok(ArtifactDoc {
        content: content.map_err(record_error)?,
        format: Format,
        id: format!("{}{suffix}", artifact_id(key)),
        kind: KIND.to_owned(),
    })
}

fn record_error(error: serde_json::Error) -> RecorderError {
    RecorderError::Unrecordable {
        what: "the document of an auth key",
        reason: error.to_string(),
    }
}

/// When a key was revoked: by its row, or by an artifact, which a changed row does not take back.
pub fn revoked_at(store: &ReadStore, key: &AuthKeyRow) -> Result<Option<Seconds>, StoreError> {
    if key.revoked_at.is_some() {
        return Ok(key.revoked_at);
    }
    let id = format!("{}{REVOKED}", artifact_id(key));
    let revoked = store.artifacts(ArtifactFilter::Id(&id))?;
    // Where its document is gone it was revoked all the same; only the time is not known.
    let at = revoked.first().map(|row| {
        let document = row.document.as_deref().map(str::as_bytes);
        let document = document.and_then(|text| canon::parse::<ArtifactDoc>(text).ok());
        let named = document.and_then(|document| serde_json::from_value(document.content).ok());
        named
            .and_then(|named: AuthKeyContent| named.revoked_at)
            .unwrap_or(key.added_at)
    });
    Ok(at)
}

/// Refuses when a key was revoked, perhaps by another process since it was presented.
pub fn check(store: &ReadStore, hash: Hash32) -> Result<(), RecorderError> {
    let key = store.auth_keys()?.into_iter().find(|key| key.hash == hash);
    let Some(key) = key else {
        return Ok(());
    };
    match revoked_at(store, &key)? {
        Some(at) => Err(AuthKeyFault::Revoked { name: key.name, at }.into()),
        None => Ok(()),
    }
}

/// The same for the key of a session, also of one that is closed.
pub fn check_session(
    transaction: &mut LedgerTransaction<'_>,
    session: Hash32,
) -> Result<(), RecorderError> {
    let row = match transaction.open_session(session) {
        Err(RecorderError::NotOpen { .. }) => transaction.tx.session(session)?,
        found => Some(found?),
    };
    row.map_or(Ok(()), |row| check(&*transaction.tx, row.auth_key_hash))
}
