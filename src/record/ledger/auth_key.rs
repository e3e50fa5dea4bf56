//! Auth keys as the artifacts on record name them: added, and revoked.

use serde::{Deserialize, Serialize};

use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// The kind of their artifacts.
pub const KIND: &str = "auth_key";
/// What the key that a home is made with is called.
pub const FIRST: &str = "owner";
/// What follows a key's name in the artifact that revokes it: the log alone shows which it is.
pub const REVOKED: &str = "-revoked";

/// `content` of such an artifact. The key that a home was made with has none until it is revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthKeyContent {
    /// When it was added.
    pub added_at: Seconds,
    /// Hash of the key's text: `H(auth_key)`.
    pub hash: Hash32,
    /// What a person calls it.
    pub name: String,
    /// When it was revoked.
    pub revoked_at: Option<Seconds>,
}

impl AuthKeyContent {
    /// The id of the artifact that adds it: its name and 16 digits of its hash.
    pub fn id(&self) -> String {
        format!("{}-{}", self.name, self.hash.short16())
    }
}
