//! Where the key of an encrypted database comes from: the first of `$GENTLY_STORE_KEY`, `[store]
//! key_cmd`, and `keys/store.key`, whose passphrase is asked for as that of the auth key is.
//!
//! The command runs for the home of this process alone: settings that lie beside somebody else's
//! database run nothing here.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use zeroize::Zeroizing;

use crate::config::Config;
use crate::keys::{KeyError, STORE_KEY, STORE_KEY_ENV, StoreKey};
use crate::store::{CipherKey, FoundKey, KeyNeed, SealFault, unfinished_file};

use super::open::{env, home_path};
use super::secrets::{from_command, is_passphrase_given, passphrase};

/// Key files whose passphrase was a wrong one in this process: nobody is asked for it again.
static REFUSED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The key of a file whose passphrase was given, and when that file was written: one that does not open the database is
/// sought again, and nobody is asked for it twice.
static OPENED: Mutex<Option<(PathBuf, SystemTime, FoundKey)>> = Mutex::new(None);

/// Where the command stands in the settings.
pub const OWN_COMMAND: &str = "[store] key_cmd";
/// The file of the key, in words.
pub const OWN_FILE: &str = "keys/store.key";
/// The environment's way to give that command, which wins over the settings.
const COMMAND_ENV: &str = "GENTLY_STORE_KEY_CMD";

/// The variable that says whether a database has to be encrypted, and wins over the settings.
pub const WANTED_ENV: &str = "GENTLY_STORE_ENCRYPTED";

/// Said where a home is to be encrypted from its beginning.
const NO_KEY_YET: &str = "store.encrypted is true, and that is done from the beginning only with a key in \
                          $GENTLY_STORE_KEY or from $GENTLY_STORE_KEY_CMD; or make the home without that, and then: \
                          gently store encrypt";

/// The text of the variable; an empty one is none.
pub fn key_variable() -> Option<OsString> {
    env(STORE_KEY_ENV).filter(|text| !text.is_empty())
}

/// Where the command stands that is run, in words.
pub fn command_place() -> &'static str {
    match env(COMMAND_ENV) {
        Some(_) => "$GENTLY_STORE_KEY_CMD",
        None => OWN_COMMAND,
    }
}

/// The file of the key of a database.
pub fn key_file(database: &Path) -> PathBuf {
    database.with_file_name("keys").join(STORE_KEY)
}

/// A key with the words for where it is from.
pub fn found_key(key: &StoreKey, from: impl Into<String>) -> FoundKey {
    FoundKey {
        key: CipherKey::new(key.bytes()),
        from: from.into(),
    }
}

/// Finds the key of a database, for every door to one; refuses a plain database in a home whose
/// settings say that it is encrypted.
pub fn find_key(path: &Path, need: KeyNeed) -> Result<Option<FoundKey>, SealFault> {
    let config = own_config(path);
    match need {
        // A home that is being made is not yet where it will be.
        KeyNeed::New => match home_path().ok().map(|home| Config::load(&home, &env)) {
            // Whoever sets the variable wants something of it, and a slip must not make a plain home.
            Some(Err(fault)) if env(WANTED_ENV).is_some() => {
                let reason = fault.to_string();
                Err(SealFault::Unclear { reason })
            }
            Some(Ok(config)) if config.store.encrypted => {
                let cannot = |reason: String| SealFault::New { reason };
                let found = given_key(Some(&config)).map_err(|fault| cannot(fault.to_string()))?;
                found.ok_or_else(|| cannot(NO_KEY_YET.to_owned())).map(Some)
            }
            _ => Ok(None),
        },
        KeyNeed::Plain => match config {
            Some(Ok(config)) if config.store.encrypted => Err(plain_fault(path)),
            // What is wrong with the settings is said by whoever reads them for what they are.
            _ => Ok(None),
        },
        KeyNeed::Encrypted => {
            let config = config.transpose().map_err(|reason| unreachable(&reason))?;
            let found = key_from(path, config.as_ref()).map_err(|fault| match fault {
                KeyError::WrongPassphrase { .. } => SealFault::Passphrase {
                    reason: format!("{fault}{}", given_by(config.as_ref())),
                },
                other => unreachable(&format!("{other}{}", not_read(path, config.as_ref()))),
            })?;
            let found = found.ok_or_else(|| SealFault::NoKey {
                beside: put_away(&key_file(path)),
            });
            found.map(Some)
        }
    }
}

/// That the key file is there, and not read where a command is to give the key.
fn not_read(database: &Path, config: Option<&Config>) -> &'static str {
    let is_by_command = key_variable().is_none()
        && command_place() == OWN_COMMAND
        && config.is_some_and(|config| config.store.key_cmd.is_some());
    match is_by_command && key_file(database).exists() {
        true => {
            ". keys/store.key is there, and not read while a command is set; to go back to it: gently config unset \
             store.key_cmd"
        }
        false => "",
    }
}

/// Why a plain database is refused: somebody may have put it there, unless a conversion is at work or
/// was interrupted.
fn plain_fault(database: &Path) -> SealFault {
    let new = unfinished_file(database);
    match new.symlink_metadata() {
        Ok(found) if found.is_file() => SealFault::Converting { new },
        _ => SealFault::NotEncrypted,
    }
}

/// Whether the file of a key was cut to nothing, and so holds none.
pub fn is_emptied(key_file: &Path) -> bool {
    let found = key_file.symlink_metadata();
    found.is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// The newest file beside that of a key which is called as if it was put away, and is one.
fn put_away(key_file: &Path) -> Option<PathBuf> {
    let beside = format!("{STORE_KEY}.");
    let entries = std::fs::read_dir(key_file.parent()?).ok()?.flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&beside));
    let keys = named.filter(|entry| StoreKey::check_copy(&entry.path()).is_ok());
    let newest = keys.max_by_key(|entry| entry.metadata().and_then(|found| found.modified()).ok());
    newest.map(|entry| entry.path())
}

/// Where a passphrase is from that nobody was asked for.
fn given_by(config: Option<&Config>) -> &'static str {
    match config.is_some_and(is_passphrase_given) {
        true => {
            ", which is from $GENTLY_PASSPHRASE or from the command for passphrases: it is taken for everything that \
             has one"
        }
        false => "",
    }
}

fn unreachable(reason: &impl ToString) -> SealFault {
    SealFault::Unreachable {
        reason: reason.to_string(),
    }
}

/// The settings of the home that a database is in; none where that is not this process's own.
fn own_config(database: &Path) -> Option<Result<Config, crate::config::ConfigError>> {
    let folder = std::path::absolute(database.parent()?).ok()?;
    let own = std::path::absolute(home_path().ok()?).ok()?;
    (folder == own).then(|| Config::load(&own, &env))
}

fn key_from(database: &Path, config: Option<&Config>) -> Result<Option<FoundKey>, KeyError> {
    if let Some(found) = given_key(config)? {
        return Ok(Some(found));
    }
    let path = key_file(database);
    if !path.exists() {
        return Ok(None);
    }
    let mut ask = |place: &str| match config {
        Some(config) => passphrase(config, place),
        None => own_passphrase(place),
    };
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    if refused.contains(&path) {
        let place = path.display().to_string();
        return Err(KeyError::WrongPassphrase { place });
    }
    let written = path.metadata().and_then(|found| found.modified()).ok();
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, at, found)) = opened.as_ref()
        && (of, Some(*at)) == (&path, written)
    {
        return Ok(Some(found.clone()));
    }
    let key = StoreKey::load(&path, &mut ask).inspect_err(|fault| {
        if matches!(fault, KeyError::WrongPassphrase { .. }) {
            refused.insert(path.clone());
        }
    })?;
    let found = found_key(&key, OWN_FILE);
    *opened = written.map(|at| (path, at, found.clone()));
    Ok(Some(found))
}

/// A passphrase for a file in another home than this process's own, under the settings of its own.
fn own_passphrase(place: &str) -> Result<Zeroizing<String>, KeyError> {
    let config = home_path().ok().map(|home| Config::load(&home, &env));
    match config {
        Some(Ok(config)) => passphrase(&config, place),
        _ => Err(KeyError::NoPassphrase {
            place: place.to_owned(),
            reason: "the settings of this home can't be read".to_owned(),
        }),
    }
}

/// The key that nobody is asked for: from the environment, else from the command.
pub fn given_key(config: Option<&Config>) -> Result<Option<FoundKey>, KeyError> {
    if let Some(text) = key_variable() {
        let place = format!("${STORE_KEY_ENV}");
        let text = Zeroizing::new(text.to_string_lossy().into_owned());
        let key = StoreKey::from_text(&text, &place)?;
        return Ok(Some(found_key(&key, place)));
    }
    let command = config.and_then(|config| config.store.key_cmd.as_deref());
    command
        .map(|command| key_from_command(command, command_place()))
        .transpose()
}

/// The key that a command gives, which stands at a place.
pub fn key_from_command(command: &str, place: &str) -> Result<FoundKey, KeyError> {
    let text = from_command(command, place)?;
    let key = StoreKey::from_text(&text, place)?;
    Ok(found_key(&key, place))
}
