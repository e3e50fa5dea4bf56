//! The whole home in one encrypted file, and back.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::backup::{self, BackupError, BackupOptions, Manifest, RestoredFiles};
use crate::config::Config;
use crate::home::Home;
use crate::import::looks_like;
use crate::keys::{KeyError, StoreKey};
use crate::os::{shell_word, why_unread};
use crate::recorder::Paths;
use crate::store::{CAN_ENCRYPT, FoundKey, SealFault, StoreError};
use crate::verify::Report;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::home::secrets::{new_passphrase, passphrase, work_factor};
use crate::app::home::store_key::{command_place, found_key, given_key, key_file, key_variable};
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

/// How every backup begins, as an encrypted file of age does.
const BEGINS: &[u8] = b"age-encryption.org/v1\n";

/// Refuses what is no backup before anybody is asked for its passphrase, and says what it is and what to do.
fn refuse_other_files(file: &Path) -> Result<(), OpenHomeError> {
    let refused = |what: &str, next: &str| {
        OpenHomeError::Refused(format!(
            "{} is no backup: {what}. A backup is the one file that gently backup FILE wrote: {next}",
            file.display()
        ))
    };
    let unread = |error: std::io::Error| {
        let why = why_unread(&error);
        OpenHomeError::Refused(format!("cannot open {}: {why}", file.display()))
    };
    // What a pipe gives can be read once, by whoever unpacks it.
    let found = file.metadata().map_err(unread)?;
    if !found.is_file() && !found.is_dir() {
        return Ok(());
    }
    if found.is_dir() {
        return Err(refused(
            "it is a folder",
            "name that file. A home that somebody copied as a folder is used as it is: GENTLY_HOME=DIR gently audit \
             verify",
        ));
    }
    let mut begins = Vec::new();
    let opened = File::open(file).map_err(unread)?;
    let read = opened.take(BEGINS.len() as u64).read_to_end(&mut begins);
    read.map_err(unread)?;
    if begins == BEGINS {
        return Ok(());
    }
    if begins.is_empty() {
        return Err(refused("it is empty", "use another copy of yours"));
    }
    let what = "it does not begin as one does";
    Err(match looks_like(file) {
        Some(format) => refused(
            what,
            &format!(
                "name that one. This looks like {}, and comes along with: gently import {} {}",
                format.shown_file(),
                format.name(),
                shell_word(file)
            ),
        ),
        None => refused(
            what,
            "name that one; if this was one and is damaged, another copy of it",
        ),
    })
}

/// A home that was restored, and what a check of it found.
pub struct RestoreResult {
    /// Where it is.
    pub root: PathBuf,
    /// What came back.
    pub back: RestoredFiles,
    /// What the check of the restored home found; none where it could not be made.
    pub report: Option<Report>,
    /// Why it could not be made.
    pub unchecked: Option<String>,
    /// Where the key of an encrypted database was from, in words; none of a plain one.
    pub key_from: Option<String>,
    /// Whether the home has a key file again, from the copy that was given.
    pub has_key_file: bool,
    /// Whether the settings that came back name a command for the key.
    pub has_key_command: bool,
}

impl RestoreResult {
    /// Whether database, log and ledger are sound.
    pub fn is_sound(&self) -> bool {
        self.back.database == "ok" && self.report.as_ref().is_some_and(holds)
    }
}

/// Whether the digits of a key stand in a file as they are.
fn has_key_itself(path: &Path) -> bool {
    let mut text = String::new();
    let opened = File::open(path).map(|file| file.take(200));
    let read = opened.and_then(|mut file| file.read_to_string(&mut text));
    let text = Zeroizing::new(text);
    read.is_ok() && StoreKey::from_text(text.trim(), "").is_ok()
}

/// A copy of the key file of a home that is not there yet.
struct KeyCopy<'a> {
    path: &'a Path,
    /// What it held, and the passphrase that it is under.
    opened: RefCell<Option<(StoreKey, Zeroizing<String>)>>,
}

impl<'a> KeyCopy<'a> {
    /// Refuses what can't be one before anything is asked.
    fn of(path: &'a Path) -> Result<Self, OpenHomeError> {
        StoreKey::check_copy(path).map_err(|fault| {
            let why = match fault {
                KeyError::Missing { .. } => format!("there is no file {}", path.display()),
                _ if has_key_itself(path) => format!(
                    "{} holds the 64 digits of a key; those are given as $GENTLY_STORE_KEY, without --store-key",
                    path.display()
                ),
                other => other.to_string(),
            };
            OpenHomeError::Refused(format!(
                "--store-key takes a copy of the file keys/store.key of the home that was backed up: {why}. Nothing was \
                 unpacked"
            ))
        })?;
        let opened = RefCell::new(None);
        Ok(KeyCopy { path, opened })
    }

    fn open(&self, config: &Config) -> Result<FoundKey, KeyError> {
        let mut phrase = None;
        let key = StoreKey::load_copy(self.path, &mut |place| {
            let given = passphrase(config, place)?;
            phrase = Some(given.clone());
            Ok(given)
        })?;
        let found = found_key(&key, self.path.display().to_string());
        *self.opened.borrow_mut() = phrase.map(|phrase| (key, phrase));
        Ok(found)
    }

    /// Makes it the key file of the restored home; whether it is one.
    fn put_back(&self, paths: &Paths) -> bool {
        let opened = self.opened.borrow();
        opened.as_ref().is_some_and(|(key, phrase)| {
            let place = key_file(&paths.database());
            key.save_new(&place, phrase, work_factor()).is_ok()
        })
    }
}

/// The key of an encrypted database, for a home that is not there yet: nobody can be asked for the
/// passphrase of a file that lies in it.
fn store_key(
    file: &Path,
    config: &Config,
    copy: Option<&KeyCopy<'_>>,
) -> Result<FoundKey, StoreError> {
    let given = || match copy {
        Some(copy) => copy.open(config).map(Some),
        None => given_key(Some(config)),
    };
    let found = match CAN_ENCRYPT {
        false => Err(SealFault::NoCipher),
        true => match given() {
            Ok(found) => found.ok_or_else(|| SealFault::InBackup {
                file: shell_word(file),
            }),
            Err(fault) => Err(SealFault::NoKeyForBackup {
                reason: fault.to_string(),
            }),
        },
    };
    found.map_err(|why| why.at(file))
}

/// Restores a backup where there is no home yet, and checks it. The key of an encrypted database may
/// be in a copy of its key file, which the new home gets then.
pub fn restore(
    root: &Path,
    file: &Path,
    key_copy: Option<&Path>,
) -> Result<RestoreResult, OpenHomeError> {
    refuse_other_files(file)?;
    if Home::open(root)?.is_some() {
        return Err(BackupError::HomeThere {
            path: root.to_owned(),
        }
        .into());
    }
    let config = Config::load(root, &open::env)?;
    let copy = key_copy.map(KeyCopy::of).transpose()?;
    let passphrase = passphrase(&config, &file.display().to_string())?;
    let back = backup::restore(file, root, &passphrase, open::clock()?, &|| {
        store_key(file, &config, copy.as_ref())
    })?;
    let paths = Paths {
        root: root.to_owned(),
    };
    let key_from = match (key_copy, key_variable()) {
        _ if !back.manifest.encrypted => None,
        (Some(copy), _) => Some(copy.display().to_string()),
        (None, Some(_)) => Some("$GENTLY_STORE_KEY".to_owned()),
        (None, None) => Some(command_place().to_owned()),
    };
    let has_key_file = copy.is_some_and(|copy| copy.put_back(&paths));
    // What is there is there, and whoever restored it is told what is wrong with it.
    let (report, unchecked) = match check_own(&paths) {
        Ok(report) => (Some(report), None),
        Err(fault) => (None, Some(fault.to_string())),
    };
    // What the environment says is for this process alone.
    let settings = Config::load(root, &|_| None);
    let has_key_command = settings.is_ok_and(|config| config.store.key_cmd.is_some());
    Ok(RestoreResult {
        key_from,
        has_key_file,
        has_key_command,
        back,
        report,
        unchecked,
        root: paths.root,
    })
}
