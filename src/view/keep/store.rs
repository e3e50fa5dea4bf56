//! Whether the database is encrypted, and what a conversion came to.

use serde::Serialize;

use crate::app::keep::store_encryption::{KeyPlace, StoreConversion, StoreStatus};
use crate::home::{LeftCopy, LeftCopyOf};
use crate::store::{CAN_ENCRYPT, DatabaseForm};

/// What `gently store status` says.
#[derive(Clone, Debug, Serialize)]
pub struct StoreStatusView {
    /// The database.
    pub database: String,
    /// Whether its file is encrypted.
    pub encrypted: bool,
    /// Whether the settings say that it has to be: `store.encrypted`.
    pub wanted: bool,
    /// Whether this build can open an encrypted one.
    pub can_encrypt: bool,
    /// Where its key comes from, or would come from; null where there is no key.
    pub key_from: Option<String>,
    /// Whether it was opened to see; not where somebody would have to be asked for a passphrase.
    pub tried: bool,
    /// Why it can't be opened; null where it can, or where that was not tried.
    pub fault: Option<String>,
    /// A copy that a conversion left beside it; null where there is none.
    pub unfinished: Option<UnfinishedCopyView>,
    /// What a backup, a restore or a chat left that was killed, and holds texts.
    pub copies: Vec<LeftCopyView>,
}

/// A copy of texts that a killed process left.
#[derive(Clone, Debug, Serialize)]
pub struct LeftCopyView {
    /// The file or folder.
    pub path: String,
    /// What left it: `backup`, `restore` or `question`.
    pub of: &'static str,
    /// Whether its texts are encrypted, if there are any.
    pub encrypted: bool,
    /// A command that takes it away.
    pub removed_by: String,
}

impl LeftCopyView {
    fn of(copy: &LeftCopy) -> Self {
        LeftCopyView {
            path: copy.path.display().to_string(),
            of: match copy.of {
                LeftCopyOf::Backup => "backup",
                LeftCopyOf::Restore => "restore",
                LeftCopyOf::Question => "question",
            },
            encrypted: !copy.is_plain,
            removed_by: copy.removed_by(),
        }
    }
}

/// What a conversion left.
#[derive(Clone, Debug, Serialize)]
pub struct UnfinishedCopyView {
    /// The file.
    pub file: String,
    /// Whether it is encrypted; null where it is no file.
    pub encrypted: Option<bool>,
    /// What it is, where it is no file, and so none that a conversion left: `a folder`.
    pub foreign: Option<String>,
}

impl StoreStatusView {
    /// Of what was found.
    pub fn of(status: &StoreStatus) -> Self {
        StoreStatusView {
            database: status.database.display().to_string(),
            encrypted: status.form == DatabaseForm::Encrypted,
            wanted: status.is_wanted,
            can_encrypt: CAN_ENCRYPT,
            key_from: match status.key {
                KeyPlace::Nowhere => None,
                place => Some(place.words().to_owned()),
            },
            tried: status.is_tried,
            fault: status.fault.clone(),
            unfinished: status.rest.as_ref().map(|rest| UnfinishedCopyView {
                file: rest.path.display().to_string(),
                encrypted: rest.foreign.is_none().then_some(!rest.is_plain),
                foreign: rest.foreign.map(str::to_owned),
            }),
            copies: status.copies.iter().map(LeftCopyView::of).collect(),
        }
    }
}

/// What `gently store encrypt` and `decrypt` did.
#[derive(Clone, Debug, Serialize)]
pub struct StoreConversionView {
    /// The database.
    pub database: String,
    /// Whether its file is encrypted now.
    pub encrypted: bool,
    /// Whether it was something else before.
    pub changed: bool,
    /// How large the file is.
    pub bytes: u64,
    /// Where its key is from; null where it has none, or had it before.
    pub key_from: Option<String>,
    /// Whether that key was made for this; null where it has none, or had it before.
    pub key_made: Option<bool>,
    /// Whether a copy was taken away that an earlier conversion left.
    pub unfinished_removed: bool,
}

impl StoreConversionView {
    /// Of what was done.
    pub fn of(done: &StoreConversion) -> Self {
        StoreConversionView {
            database: done.database.display().to_string(),
            encrypted: done.form == DatabaseForm::Encrypted,
            changed: done.is_changed,
            bytes: done.bytes,
            key_from: done.key.as_ref().map(|key| key.from.clone()),
            key_made: done.key.as_ref().map(|key| key.is_new),
            unfinished_removed: done.is_tidied,
        }
    }
}

/// What `gently store encrypt --new-key` prints.
#[derive(Clone, Debug, Serialize)]
pub struct NewStoreKeyView {
    /// 64 hexadecimal digits.
    pub key: String,
}
