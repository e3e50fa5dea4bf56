//! Encryption at rest: making a home's database an encrypted one, and a plain one again.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::home::Home;
use crate::keys::{KeyError, STORE_KEY_ENV, StoreKey, os_random};
use crate::recorder::{WAIT, WriterLock};
use crate::store::{
    CAN_ENCRYPT, ConvertStep, DatabaseForm, FoundKey, SealFault, StoreError, convert, remember_key,
};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::home::secrets::{new_passphrase, passphrase, work_factor};
use crate::app::home::store_key::{OWN_COMMAND, found_key, given_key, key_file};
use crate::app::set_up::keys::is_known;
use crate::app::set_up::settings;

/// The setting that refuses a plain database.
const ENCRYPTED: &str = "store.encrypted";

/// Whether a home's database is encrypted, and whether its key is at hand.
#[derive(Clone, Debug)]
pub struct StoreStatus {
    /// The database.
    pub database: PathBuf,
    /// What its file is.
    pub form: DatabaseForm,
    /// Whether the settings say that it has to be encrypted.
    pub is_wanted: bool,
    /// Where its key comes from, or would come from.
    pub key: KeyPlace,
    /// Why it can't be opened as it is, in words.
    pub fault: Option<String>,
}

/// Where the key of a database comes from, or would come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// The environment.
    Variable,
    /// The command of the settings.
    Command,
    /// The file under a passphrase.
    File,
    /// Nowhere yet.
    Nowhere,
}

impl KeyPlace {
    /// Of a home's database, under its settings; nothing is run and nobody asked.
    pub fn of(database: &Path, config: &Config) -> KeyPlace {
        match (open::env(STORE_KEY_ENV), &config.store.key_cmd) {
            (Some(_), _) => KeyPlace::Variable,
            (None, Some(_)) => KeyPlace::Command,
            (None, None) if key_file(database).exists() => KeyPlace::File,
            (None, None) => KeyPlace::Nowhere,
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            KeyPlace::Variable => "$GENTLY_STORE_KEY",
            KeyPlace::Command => OWN_COMMAND,
            KeyPlace::File => "keys/store.key, under a passphrase",
            KeyPlace::Nowhere => "nowhere",
        }
    }
}

impl StoreStatus {
    /// Looks at a home. The database is opened, and its key used, unless somebody would have to be
    /// asked for a passphrase.
    pub fn of(home: &Home) -> Result<StoreStatus, OpenHomeError> {
        let config = open::config(home)?;
        let database = home.paths().database();
        let form = DatabaseForm::of(&database);
        let key = KeyPlace::of(&database, &config);
        let fault = match (form, key) {
            (DatabaseForm::Encrypted, KeyPlace::File) if CAN_ENCRYPT => None,
            _ => open::store(home).err().map(|fault| fault.to_string()),
        };
        Ok(StoreStatus {
            database,
            form,
            is_wanted: config.store.encrypted,
            key,
            fault,
        })
    }
}

/// What a conversion came to.
#[derive(Clone, Debug)]
pub struct StoreConversion {
    /// The database.
    pub database: PathBuf,
    /// What it is now.
    pub form: DatabaseForm,
    /// Whether it was something else before.
    pub is_changed: bool,
    /// How large its file is.
    pub bytes: u64,
    /// Where its key is from.
    pub key_from: Option<String>,
}

impl StoreConversion {
    fn of(home: &Home, form: DatabaseForm, is_changed: bool, key_from: Option<String>) -> Self {
        let database = home.paths().database();
        let bytes = database.metadata().map_or(0, |found| found.len());
        StoreConversion {
            database,
            form,
            is_changed,
            bytes,
            key_from,
        }
    }
}

/// A key that nobody had before, for what is to keep it.
pub fn new_key() -> Result<StoreKey, KeyError> {
    StoreKey::generate(&mut os_random)
}

/// Encrypts the database of a home. The key is proven from where it will come before anything is
/// written.
pub fn encrypt(home: &Home) -> Result<StoreConversion, OpenHomeError> {
    can_encrypt()?;
    let (paths, config) = (home.paths(), open::config(home)?);
    let database = paths.database();
    if DatabaseForm::of(&database) == DatabaseForm::Encrypted {
        // Its key is asked for with that of whoever asks.
        is_known(home, &config)?;
        want_encrypted(home, &config, true)?;
        let form = DatabaseForm::Encrypted;
        return Ok(StoreConversion::of(home, form, false, None));
    }
    // Its owner says here that the plain file is the right one.
    remember_key(&database, None);
    is_known(home, &config)?;
    let found = proven_key(&database, &config)?;
    let from = found.from.clone();
    replace(home, Some(&found))?;
    want_encrypted(home, &config, true)?;
    let form = DatabaseForm::Encrypted;
    Ok(StoreConversion::of(home, form, true, Some(from)))
}

/// Makes the database of a home a plain one again.
pub fn decrypt(home: &Home) -> Result<StoreConversion, OpenHomeError> {
    can_encrypt()?;
    let (paths, config) = (home.paths(), open::config(home)?);
    let is_encrypted = DatabaseForm::of(&paths.database()) == DatabaseForm::Encrypted;
    if !is_encrypted {
        // Its owner says here that the plain file is the right one.
        remember_key(&paths.database(), None);
    }
    is_known(home, &config)?;
    // Before the file is a plain one: else nothing could be opened where this ended between the two.
    want_encrypted(home, &config, false)?;
    if is_encrypted && let Err(fault) = replace(home, None) {
        want_encrypted(home, &open::config(home)?, config.store.encrypted)?;
        return Err(fault);
    }
    let form = DatabaseForm::Plain;
    Ok(StoreConversion::of(home, form, is_encrypted, None))
}

fn can_encrypt() -> Result<(), OpenHomeError> {
    match CAN_ENCRYPT {
        true => Ok(()),
        false => Err(OpenHomeError::Refused(
            "this build of gently has no encryption. Use gently from its package, or build it with: cargo build \
             --release --features sealed"
                .to_owned(),
        )),
    }
}

fn replace(home: &Home, to: Option<&FoundKey>) -> Result<(), OpenHomeError> {
    let paths = home.paths();
    let _lock = WriterLock::acquire_within(&paths.lock(), WAIT)?;
    match convert(&paths.database(), to, &|_: ConvertStep| true) {
        Err(StoreError::Busy { .. }) => Err(OpenHomeError::Refused(format!(
            "{} is open in another program, a chat for example, and is converted only while nobody else has it open. \
             Close that, then give the same command again; nothing is changed",
            paths.database().display()
        ))),
        done => Ok(done?),
    }
}

/// Says in the settings whether the database has to be encrypted, where they say otherwise.
fn want_encrypted(home: &Home, config: &Config, wanted: bool) -> Result<(), OpenHomeError> {
    if config.store.encrypted == wanted {
        return Ok(());
    }
    settings::set(ENCRYPTED, &wanted.to_string(), home.root(), &open::env)?;
    Ok(())
}

/// The key that the database will be opened with, had twice from where it will come.
fn proven_key(database: &Path, config: &Config) -> Result<FoundKey, OpenHomeError> {
    let place = KeyPlace::of(database, config);
    match place {
        KeyPlace::Variable | KeyPlace::Command => {
            let first = given_key(Some(config)).map_err(|fault| no_key_yet(place, &fault))?;
            let first = first.ok_or(SealFault::NoKey.at(database))?;
            match given_key(Some(config))? {
                Some(again) if again.key == first.key => Ok(first),
                _ => Err(OpenHomeError::Refused(format!(
                    "{} gives another key each time: what is encrypted with one could never be opened again. Let it \
                     print a key that is kept; nothing is changed",
                    first.from
                ))),
            }
        }
        KeyPlace::File | KeyPlace::Nowhere => key_in_file(database, config),
    }
}

fn no_key_yet(place: KeyPlace, fault: &KeyError) -> OpenHomeError {
    OpenHomeError::Refused(format!(
        "{fault}. Nothing is changed. A new key, for {} to give from now on, is printed by: gently store encrypt \
         --new-key",
        place.words()
    ))
}

/// The key of the key file, which is made where there is none; what was written is read again.
fn key_in_file(database: &Path, config: &Config) -> Result<FoundKey, OpenHomeError> {
    let path = key_file(database);
    let shown = path.display().to_string();
    let key = if path.exists() {
        StoreKey::load(&path, &mut |place| passphrase(config, place))?
    } else {
        let (made, phrase) = (new_key()?, new_passphrase(config, &shown)?);
        made.save_new(&path, &phrase, work_factor())?;
        let read = StoreKey::load(&path, &mut |_| Ok(phrase.clone()))?;
        if read != made {
            return Err(KeyError::Replaced { path }.into());
        }
        read
    };
    Ok(found_key(&key, "keys/store.key"))
}
