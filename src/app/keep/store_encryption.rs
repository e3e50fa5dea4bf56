//! Encryption at rest: making a home's database an encrypted one, and a plain one again.

use std::cell::RefCell;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::home::{Home, LeftCopy, left_copies, remove_leftovers};
use crate::keys::{KeyError, StoreKey, os_random};
use crate::os::{kind_of, shell_word};
use crate::recorder::{WAIT, WriterLock};
use crate::store::{
    CAN_ENCRYPT, ConvertStep, DatabaseForm, FoundKey, NO_CIPHER, SealFault, StoreError, convert,
    foreign_journal, forget_key, has_plain_log, left_unfinished, log_beside, look_at_database,
    remember_key, remove_unfinished,
};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::home::secrets::{
    is_passphrase_given, new_passphrase, offered, passphrase, work_factor,
};
use crate::app::home::store_key::{
    OWN_COMMAND, OWN_FILE, WANTED_ENV, command_place, found_key, given_key, is_emptied, key_file,
    key_from_command, key_variable,
};
use crate::app::set_up::keys::is_known;
use crate::app::set_up::settings;

/// The setting that refuses a plain database.
const ENCRYPTED: &str = "store.encrypted";

/// Refuses to have the setting say by hand what the database of a home is not: that is converted first, and sets it.
pub fn fits_database(home: &Path, key: &str, typed: Option<&str>) -> Result<(), OpenHomeError> {
    let database = Home::open(home)?.map(|home| home.paths().database());
    let Some(database) = database.filter(|_| key == ENCRYPTED) else {
        return Ok(());
    };
    let (is, verb) = match (DatabaseForm::of(&database)?, typed == Some("true")) {
        (DatabaseForm::Plain, true) => ("is not encrypted", "encrypt"),
        (DatabaseForm::Encrypted, false) => ("is encrypted", "decrypt"),
        _ => return Ok(()),
    };
    Err(OpenHomeError::Refused(format!(
        "{} {is}, and the setting says what it has to be: nothing was changed. This changes both: gently store {verb}",
        database.display()
    )))
}

/// A command whose key does not open a database.
#[derive(Clone, Debug)]
pub struct UnfitCommand {
    /// Why not, in words.
    pub why: String,
    /// Whether the database has a key file, which is read where there is no command.
    pub has_key_file: bool,
}

/// A command that does not open the encrypted database of a home; none where it does, and then the database is opened
/// with its key from here on.
pub fn unfit_command(home: &Path, command: &str) -> Option<UnfitCommand> {
    let database = Home::open(home).ok()??.paths().database();
    if !CAN_ENCRYPT || !matches!(DatabaseForm::of(&database), Ok(DatabaseForm::Encrypted)) {
        return None;
    }
    let why = match key_from_command(command, OWN_COMMAND) {
        Err(fault) => fault.to_string(),
        Ok(found) => {
            remember_key(&database, Some(found));
            match look_at_database(&database) {
                Err(StoreError::Sealed {
                    why: SealFault::WrongKey { .. },
                    ..
                }) => {
                    forget_key(&database);
                    "it gives another key than the one that opens the database".to_owned()
                }
                _ => return None,
            }
        }
    };
    let has_key_file = has_key_file(&database);
    Some(UnfitCommand { why, has_key_file })
}

/// Has a database that is to be opened by a command opened by its key file, if it has one; whether that is so.
pub fn open_by_key_file(home: &Home, config: &Config) -> Result<bool, OpenHomeError> {
    let database = home.paths().database();
    if KeyPlace::of(&database, config) != KeyPlace::Command || !has_key_file(&database) {
        return Ok(false);
    }
    let key = StoreKey::load(&key_file(&database), &mut |place| passphrase(config, place))?;
    remember_key(&database, Some(found_key(&key, OWN_FILE)));
    Ok(true)
}

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
    /// Whether it was opened to see; not where somebody would have to be asked for a passphrase.
    pub is_tried: bool,
    /// Why it can't be opened as it is, in words.
    pub fault: Option<String>,
    /// What a conversion left beside it.
    pub rest: Option<UnfinishedCopy>,
    /// What backups, restores and chats left that were killed.
    pub copies: Vec<LeftCopy>,
}

/// What a conversion left that did not come to its end, or what one that runs now is writing.
#[derive(Clone, Debug)]
pub struct UnfinishedCopy {
    /// The file.
    pub path: PathBuf,
    /// Whether whoever has the disk can read it.
    pub is_plain: bool,
    /// What it is, where no conversion made it: `a folder`.
    pub foreign: Option<&'static str>,
}

impl UnfinishedCopy {
    /// Beside a database, if there is one.
    pub fn of(database: &Path) -> Option<UnfinishedCopy> {
        let (path, kind) = left_unfinished(database)?;
        // It is what the database was to become, and its own first page is the last to be written.
        Some(UnfinishedCopy {
            path,
            is_plain: kind.is_file()
                && !matches!(DatabaseForm::of(database), Ok(DatabaseForm::Plain)),
            foreign: (!kind.is_file()).then(|| kind_of(kind)),
        })
    }
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
        match (key_variable(), &config.store.key_cmd) {
            (Some(_), _) => KeyPlace::Variable,
            (None, Some(_)) => KeyPlace::Command,
            (None, None) if !has_key_file(database) => KeyPlace::Nowhere,
            (None, None) => KeyPlace::File,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            KeyPlace::Variable => "$GENTLY_STORE_KEY",
            KeyPlace::Command => command_place(),
            KeyPlace::File => "keys/store.key, under a passphrase",
            KeyPlace::Nowhere => "nowhere",
        }
    }
}

/// Whether a database has a key file; one that was cut to nothing is none where nothing was encrypted
/// with it.
fn has_key_file(database: &Path) -> bool {
    let (file, form) = (key_file(database), DatabaseForm::of(database));
    file.exists() && !(is_emptied(&file) && matches!(form, Ok(DatabaseForm::Plain)))
}

impl StoreStatus {
    /// Looks at a home. The database is opened, and its key used, unless somebody would have to be
    /// asked for a passphrase.
    pub fn of(home: &Home) -> Result<StoreStatus, OpenHomeError> {
        let config = open::config(home)?;
        let database = home.paths().database();
        let form = DatabaseForm::of(&database)?;
        let key = KeyPlace::of(&database, &config);
        let is_tried = form == DatabaseForm::Plain
            || key != KeyPlace::File
            || !CAN_ENCRYPT
            || is_passphrase_given(&config);
        let fault = match is_tried {
            true => look_at_database(&database).err().map(|fault| match fault {
                StoreError::Sealed { why, .. } => why.words(),
                other => other.to_string(),
            }),
            false => foreign_journal(&database)
                .map(SealFault::Journal)
                .or_else(|| {
                    let log = log_beside(&database);
                    has_plain_log(&database).then_some(SealFault::PlainLog { log })
                })
                .map(|fault| fault.words())
                .or_else(|| key_file_fault(&database)),
        };
        Ok(StoreStatus {
            rest: UnfinishedCopy::of(&database),
            copies: left_copies(home.root()),
            database,
            form,
            is_wanted: config.store.encrypted,
            key,
            is_tried,
            fault,
        })
    }
}

impl StoreStatus {
    /// Whether texts lie open beside a database that hides them.
    pub fn has_open_texts(&self) -> bool {
        let is_open = self.copies.iter().any(|copy| copy.is_plain);
        let hides = self.form == DatabaseForm::Encrypted || self.is_wanted;
        self.rest.as_ref().is_some_and(|rest| rest.is_plain) || hides && is_open
    }
}

/// What is wrong with the key file of a database whatever its passphrase is.
fn key_file_fault(database: &Path) -> Option<String> {
    let fault = StoreKey::check(&key_file(database)).err()?;
    Some(fault.to_string())
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
    /// Where its key is from, where it was encrypted now.
    pub key: Option<UsedKey>,
    /// Whether something was taken away that an earlier conversion left.
    pub is_tidied: bool,
}

/// What a database was encrypted with.
#[derive(Clone, Debug)]
pub struct UsedKey {
    /// Where it is from, in words.
    pub from: String,
    /// Whether it was made for this.
    pub is_new: bool,
}

impl UsedKey {
    /// Whether it is one that a key file held already.
    pub fn is_of_old_file(&self) -> bool {
        !self.is_new && self.from == OWN_FILE
    }
}

impl StoreConversion {
    fn done(home: &Home, form: DatabaseForm, key: Option<UsedKey>) -> Self {
        let database = home.paths().database();
        let bytes = database.metadata().map_or(0, |found| found.len());
        StoreConversion {
            database,
            form,
            is_changed: true,
            bytes,
            key,
            is_tidied: false,
        }
    }

    /// Of a database that was so before, as whoever holds the writer's lock knows: the settings say so
    /// from now on, and what an earlier conversion left is taken away.
    fn nothing_to_do(
        _lock: &WriterLock,
        home: &Home,
        form: DatabaseForm,
    ) -> Result<Self, OpenHomeError> {
        let has_copies = remove_leftovers(home.root());
        let is_tidied = remove_unfinished(&home.paths().database())? || has_copies;
        if form == DatabaseForm::Encrypted {
            want_encrypted(home, true)?;
        }
        Ok(StoreConversion {
            is_changed: false,
            is_tidied,
            ..StoreConversion::done(home, form, None)
        })
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
    if offered().key_cmd.is_some() {
        return Err(OpenHomeError::Refused(format!(
            "--key-cmd prints the key of a model's server. The key of the database comes from the command of \
             {OWN_COMMAND}: gently config set store.key_cmd 'COMMAND'"
        )));
    }
    let (database, config) = (home.paths().database(), open::config(home)?);
    let form = DatabaseForm::Encrypted;
    if DatabaseForm::of(&database)? == form {
        // Its key is asked for with that of whoever asks.
        is_known(home, &config)?;
        return as_it_is(home, form, converted_meanwhile);
    }
    is_one_file(&database, "encrypt")?;
    // Its owner says here that the plain file is the right one.
    remember_key(&database, None);
    is_known(home, &config)?;
    let Some((found, is_new)) = proven_key(&database, &config)? else {
        return as_it_is(home, form, key_made_meanwhile);
    };
    let from = found.from.clone();
    let done = replace(home, Some(&found))?;
    Ok(done.unwrap_or_else(|| StoreConversion::done(home, form, Some(UsedKey { from, is_new }))))
}

/// Makes the database of a home a plain one again. A plain one that should be encrypted is refused
/// here as everywhere.
pub fn decrypt(home: &Home) -> Result<StoreConversion, OpenHomeError> {
    can_encrypt()?;
    let (database, config) = (home.paths().database(), open::config(home)?);
    let form = DatabaseForm::Plain;
    is_known(home, &config)?;
    if DatabaseForm::of(&database)? == form {
        return as_it_is(home, form, converted_meanwhile);
    }
    is_one_file(&database, "decrypt")?;
    if config.store.encrypted && open::env(WANTED_ENV).is_some() {
        return Err(OpenHomeError::Refused(format!(
            "${WANTED_ENV} is true, so that a plain database would be refused. Take it out of the environment, then \
             give the same command again; nothing is changed"
        )));
    }
    let done = replace(home, None)?;
    Ok(done.unwrap_or_else(|| StoreConversion::done(home, form, None)))
}

/// A database that is already what it was to become. Another program may have made it that a moment
/// ago, or something else since: `otherwise` says so of the database.
fn as_it_is(
    home: &Home,
    form: DatabaseForm,
    otherwise: fn(&Path) -> String,
) -> Result<StoreConversion, OpenHomeError> {
    let paths = home.paths();
    let lock = WriterLock::acquire_within(&paths.lock(), WAIT)?;
    match DatabaseForm::of(&paths.database())? == form {
        true => StoreConversion::nothing_to_do(&lock, home, form),
        false => Err(OpenHomeError::Refused(otherwise(&paths.database()))),
    }
}

fn converted_meanwhile(database: &Path) -> String {
    format!(
        "{} was converted by another program in the meantime, and this one changed nothing. Look what it is with: \
         gently store status",
        database.display()
    )
}

/// The key file was not there before: it is the key of what another one encrypts, which nobody may
/// move away.
fn key_made_meanwhile(database: &Path) -> String {
    format!(
        "another gently store encrypt has made {} meanwhile; leave it there, wait until that one has ended, then give \
         the same command again",
        key_file(database).display()
    )
}

/// Refuses a database whose old bytes would stay under another name: a conversion gives its own name
/// to a new file.
fn is_one_file(database: &Path, verb: &str) -> Result<(), OpenHomeError> {
    let Ok(found) = database.symlink_metadata() else {
        return Ok(());
    };
    let (name, word) = (database.display(), shell_word(database));
    let refused = match found.nlink() {
        _ if found.is_symlink() => {
            let target = database.canonicalize().unwrap_or_default();
            format!(
                "{name} is a symlink to {}: only the link would be replaced, and that file stay as it is. Put the file in \
                 the place of the link, with its log of writes if it has one: mv {} {word}",
                target.display(),
                shell_word(&target)
            )
        }
        _ if !found.is_file() => {
            let kind = kind_of(found.file_type());
            let path = database.to_owned();
            return Err(StoreError::NoFile { path, kind }.into());
        }
        names if names > 1 => format!(
            "the file {name} has {names} names (hard links): the others would keep it as it is. Find them with: find / \
             -xdev -samefile {word}, and remove them"
        ),
        _ => return Ok(()),
    };
    Err(OpenHomeError::Refused(format!(
        "{refused}. Then give the same command again: gently store {verb}. Nothing is changed"
    )))
}

fn verb(is_encrypted: bool) -> &'static str {
    if is_encrypted { "encrypt" } else { "decrypt" }
}

fn can_encrypt() -> Result<(), OpenHomeError> {
    match CAN_ENCRYPT {
        true => Ok(()),
        false => Err(OpenHomeError::Refused(NO_CIPHER.to_owned())),
    }
}

/// Converts, and says in the settings what the database is. Where another program was first, that
/// nothing is to be done.
///
/// The settings say it just before the new file has its name: an encrypted one is asked for from its
/// beginning, and a plain one is not refused, wherever the process is killed.
fn replace(home: &Home, to: Option<&FoundKey>) -> Result<Option<StoreConversion>, OpenHomeError> {
    let (paths, is_encrypted) = (home.paths(), to.is_some());
    let database = paths.database();
    open::replaceable(home)?;
    remove_leftovers(home.root());
    let lock = WriterLock::acquire_within(&paths.lock(), WAIT)?;
    let form = match is_encrypted {
        true => DatabaseForm::Encrypted,
        false => DatabaseForm::Plain,
    };
    if DatabaseForm::of(&database)? == form {
        forget_key(&database);
        return StoreConversion::nothing_to_do(&lock, home, form).map(Some);
    }
    if let Some(rest) = UnfinishedCopy::of(&database)
        && rest.path.is_dir()
        && !rest.path.is_symlink()
    {
        return Err(OpenHomeError::Refused(format!(
            "{} is a folder, and the new file is to be written there. Put it away: mv -n {2} {2}.away. Then give the same \
             command again: gently store {1}. Nothing is changed",
            rest.path.display(),
            verb(is_encrypted),
            shell_word(&rest.path)
        )));
    }
    let (was_wanted, unsaid) = (is_said(home)?, RefCell::new(None));
    let done = convert(&database, to, &|step: ConvertStep| {
        step != ConvertStep::Synced || {
            let said = want_encrypted(home, is_encrypted);
            said.map_err(|fault| *unsaid.borrow_mut() = Some(fault))
                .is_ok()
        }
    });
    let Err(fault) = done else {
        return Ok(None);
    };
    if DatabaseForm::of(&database)? != form {
        want_encrypted(home, was_wanted)?;
    }
    if let Some(fault) = unsaid.into_inner() {
        remove_unfinished(&database)?;
        return Err(fault);
    }
    let verb = verb(is_encrypted);
    let words = match fault {
        StoreError::Busy { .. } => format!(
            "{} is open in another program, a chat for example, and is converted only while nobody else has it open. \
             Close that, then give the same command again; nothing is changed",
            database.display()
        ),
        StoreError::Full { file, reason, .. } | StoreError::Io { file, reason, .. } => format!(
            "{file} could not be read or written. Is the disk full or failing, or a limit on the size of files set? There \
             has to be room for a second copy of the database ({} MB). The old file stays as it was, and nothing is left \
             beside it. Make room there (gently doctor says how much is free), then give the same command again: gently \
             store {verb} (SQLite: {reason})",
            database
                .metadata()
                .map_or(0, |found| found.len())
                .div_ceil(1_000_000)
        ),
        other => return Err(other.into()),
    };
    Err(OpenHomeError::Refused(words))
}

/// Says in the file of settings whether the database has to be encrypted, where that says otherwise;
/// what the environment says is for this process alone.
fn want_encrypted(home: &Home, wanted: bool) -> Result<(), OpenHomeError> {
    if is_said(home)? != wanted {
        settings::set(ENCRYPTED, &wanted.to_string(), home.root(), &open::env)?;
    }
    Ok(())
}

/// Whether the file of settings says that the database has to be encrypted.
fn is_said(home: &Home) -> Result<bool, OpenHomeError> {
    Ok(Config::load(home.root(), &|_| None)?.store.encrypted)
}

/// The key that the database will be opened with, had twice from where it will come; and whether it
/// was made for this. None where another program has made it since this one looked.
fn proven_key(database: &Path, config: &Config) -> Result<Option<(FoundKey, bool)>, OpenHomeError> {
    let place = KeyPlace::of(database, config);
    match place {
        KeyPlace::Variable | KeyPlace::Command => {
            let first = given_key(Some(config)).map_err(|fault| no_key_yet(place, &fault))?;
            let first = first.ok_or(SealFault::NoKey { beside: None }.at(database))?;
            match given_key(Some(config))? {
                Some(again) if again.key == first.key => Ok(Some((first, false))),
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
fn key_in_file(
    database: &Path,
    config: &Config,
) -> Result<Option<(FoundKey, bool)>, OpenHomeError> {
    let path = key_file(database);
    if is_emptied(&path) {
        // Nothing was encrypted with it: a process was killed as it made it, or the power was cut.
        std::fs::remove_file(&path).map_err(|source| KeyError::Io {
            doing: "remove the empty file",
            path: path.clone(),
            source,
        })?;
    }
    let is_new = !path.exists();
    let key = match is_new {
        false => Some(StoreKey::load(&path, &mut |place| {
            passphrase(config, place)
        })?),
        true => key_in_new_file(&path, config)?,
    };
    Ok(key.map(|key| (found_key(&key, OWN_FILE), is_new)))
}

fn key_in_new_file(path: &Path, config: &Config) -> Result<Option<StoreKey>, OpenHomeError> {
    let place = path.display().to_string();
    let phrase = new_passphrase(config, &place).map_err(|fault| match fault {
        KeyError::NoPassphrase { reason, .. } => KeyError::NoPassphrase {
            place: format!("the new file {place}, which is to hold the key of the database,"),
            reason: format!("{reason}. Nothing is changed"),
        },
        other => other,
    })?;
    let made = new_key()?;
    if let Err(fault) = made.save_new(path, &phrase, work_factor()) {
        return match path.exists() {
            true => Ok(None),
            false => Err(fault.into()),
        };
    }
    let read = StoreKey::load(path, &mut |_| Ok(phrase.clone()))?;
    match read == made {
        true => Ok(Some(read)),
        false => Err(KeyError::Replaced {
            path: path.to_owned(),
        }
        .into()),
    }
}
