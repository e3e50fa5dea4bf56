//! Keys: who may ask, and who signs.

use std::path::Path;

use serde::Serialize;

use crate::app::keys::{KeyRotation, NewAuthKey};
use crate::record::hash::Hash32;
use crate::store::AuthKeyRow;

use super::tree_head::ThirdPartyView;

/// An auth key; its hash is all that is kept of it.
#[derive(Clone, Debug, Serialize)]
pub struct AuthKeyView {
    /// What it is called.
    pub name: String,
    /// Its hash.
    pub hash: Hash32,
    /// When it was added.
    pub added_at: String,
    /// When it was revoked.
    pub revoked_at: Option<String>,
}

impl AuthKeyView {
    /// Of a row.
    pub fn of(row: &AuthKeyRow) -> Self {
        AuthKeyView {
            name: row.name.clone(),
            hash: row.hash,
            added_at: row.added_at.to_string(),
            revoked_at: row.revoked_at.map(|at| at.to_string()),
        }
    }
}

/// An auth key that was made. It has no `Debug`: it holds the key.
#[derive(Serialize)]
pub struct NewAuthKeyView {
    /// What is kept of it.
    #[serde(flatten)]
    pub kept: AuthKeyView,
    /// The key, this once.
    pub key: String,
}

impl NewAuthKeyView {
    /// Of a new key.
    pub fn of(new: &NewAuthKey) -> Self {
        NewAuthKeyView {
            kept: AuthKeyView::of(&new.row),
            key: new.key.as_str().to_owned(),
        }
    }
}

/// A signing key that was put in force.
#[derive(Clone, Debug, Serialize)]
pub struct KeyRotationView {
    /// The key before it.
    pub old_signer: String,
    /// The key that signs now.
    pub new_signer: String,
    /// The log's key for the operators of witnesses.
    pub log_key: Option<String>,
    /// What calendars and witnesses said of the rotation's tree head.
    #[serde(flatten)]
    pub outside: ThirdPartyView,
}

impl KeyRotationView {
    /// Of a rotation.
    pub fn of(rotation: &KeyRotation) -> Self {
        KeyRotationView {
            old_signer: rotation.old.to_string(),
            new_signer: rotation.new.to_string(),
            log_key: rotation.log_key.clone(),
            outside: ThirdPartyView::of(&rotation.outside),
        }
    }
}

/// A key's file that was changed.
#[derive(Clone, Debug, Serialize)]
pub struct KeyFileView {
    /// Where it is.
    pub file: String,
    /// `protected` or `unprotected`.
    pub state: &'static str,
}

impl KeyFileView {
    /// Of a file and what it is now.
    pub fn of(path: &Path, state: &'static str) -> Self {
        KeyFileView {
            file: path.display().to_string(),
            state,
        }
    }
}
