//! The whole home in one encrypted file, and back.

use std::path::{Path, PathBuf};

use crate::backup::{self, BackupError, BackupOptions, Manifest, RestoredFiles};
use crate::config::Config;
use crate::home::Home;
use crate::recorder::Paths;
use crate::store::{CAN_ENCRYPT, FoundKey, SealFault, StoreError};
use crate::verify::Report;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::home::secrets::{new_passphrase, passphrase, work_factor};
use crate::app::home::store_key::{command_place, given_key, key_variable};
use crate::app::prove::verify::home::{check_own, holds};
use crate::app::set_up::keys::is_known;

/// Writes a backup of a home; with `force` over a file of that name.
pub fn backup(home: &Home, file: &Path, force: bool) -> Result<Manifest, OpenHomeError> {
    let config = open::config(home)?;
    is_known(home, &config)?;
    if !force && file.exists() {
        return Err(BackupError::Exists {
            path: file.to_owned(),
        }
        .into());
    }
    let options = BackupOptions {
        passphrase: &new_passphrase(&config, &file.display().to_string())?,
        work: work_factor(),
        force,
        now: open::clock()?,
    };
    Ok(backup::backup(home, file, &options)?)
}

/// A home that was restored, and what a check of it found.
pub struct RestoreResult {
    /// Where it is.
    pub root: PathBuf,
    /// What came back.
    pub back: RestoredFiles,
    /// What the check of the restored home found.
    pub report: Report,
    /// Where the key of an encrypted database was from, in words; none of a plain one.
    pub key_from: Option<&'static str>,
}

impl RestoreResult {
    /// Whether database, log and ledger are sound.
    pub fn is_sound(&self) -> bool {
        self.back.database == "ok" && holds(&self.report)
    }
}

/// The key of an encrypted database, for a home that is not there yet: nobody can be asked for the
/// passphrase of a file that lies in it.
fn store_key(file: &Path, config: &Config) -> Result<FoundKey, StoreError> {
    let found = match (CAN_ENCRYPT, given_key(Some(config))) {
        (false, _) => Err(SealFault::NoCipher),
        (true, Ok(found)) => found.ok_or(SealFault::InBackup),
        (true, Err(fault)) => Err(SealFault::NoKeyForBackup {
            reason: fault.to_string(),
        }),
    };
    found.map_err(|why| why.at(file))
}

/// Restores a backup where there is no home yet, and checks it.
pub fn restore(root: &Path, file: &Path) -> Result<RestoreResult, OpenHomeError> {
    if Home::open(root)?.is_some() {
        return Err(BackupError::HomeThere {
            path: root.to_owned(),
        }
        .into());
    }
    let config = Config::load(root, &open::env)?;
    let passphrase = passphrase(&config, &file.display().to_string())?;
    let back = backup::restore(file, root, &passphrase, open::clock()?, &|| {
        store_key(file, &config)
    })?;
    let paths = Paths {
        root: root.to_owned(),
    };
    let key_from = match key_variable() {
        _ if !back.manifest.encrypted => None,
        Some(_) => Some("$GENTLY_STORE_KEY"),
        None => Some(command_place()),
    };
    Ok(RestoreResult {
        key_from,
        back,
        report: check_own(&paths)?,
        root: paths.root,
    })
}
