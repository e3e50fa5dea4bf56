//! Reading and changing `gently.toml`. A change leaves comments and order, and a file that would be
//! wrong is never written.
//!
//! ```text
//! anchor.mode                           a key of the table
//! model.alias.NAME                      a name for a model
//! price.MODEL                           what its tokens cost: "IN OUT" or "IN OUT CURRENCY"
//! price.MODEL.input_per_mtok            one part of that
//! witness.NAME.url                      one part of a witness that gently witness add put there
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table};

use crate::config::table::{KEYS, Key, Value};
use crate::config::{
    self, Config, ConfigError, Environment, FILE, GENESIS, NamePath, SHIPPED, Settings,
    ValueSource, file_text, is_alias,
};
use crate::home::Home;
use crate::net;
use crate::store::{DatabaseForm, SealFault, StoreError};

use super::keys;
use crate::app::ask::model_choice::{BareName, without_provider};
use crate::app::home::open::{self, OpenHomeError};
use crate::app::keep::store_encryption::{KeyPlace, open_by_key_file, unfit_command};

/// The key that names a model or an alias.
pub const DEFAULT_MODEL: &str = "model.default";

/// The key of the command that prints the key of an encrypted database.
const STORE_KEY_CMD: &str = "store.key_cmd";

/// The key of the address of an OpenAI-compatible server.
const BASE_URL: &str = "model.base_url";

/// Tables in which nothing stands at first.
const TABLES: [&str; 3] = ["model.window", "price", "witness"];

/// A key, and what is in force for it.
pub struct SettingState {
    /// Declaration of the key: its name, default and range.
    pub key: &'static Key,
    /// Its value; none when nobody set it and it has no default.
    pub value: Option<Value>,
    /// Where that is from.
    pub source: ValueSource,
}

impl SettingState {
    fn of(key: &'static Key, settings: &Settings) -> Self {
        let found = settings.get(key.name);
        SettingState {
            key,
            value: found.map(|(value, _)| value.clone()),
            source: found.map_or(ValueSource::Default, |(_, source)| source),
        }
    }
}

/// What a name in `gently.toml` is of.
pub enum NamedSetting {
    /// A key of the table.
    Key(SettingState),
    /// What stands under a name that a person gave, if something does.
    Named(Option<String>),
}

/// A value that was written, or taken out.
pub struct ChangedSetting {
    /// Section and name.
    pub name: String,
    /// What is in force now, but for the environment; none where nothing is.
    pub value: Option<Value>,
    /// Whether it is a key of the table, and no name that a person gave.
    pub is_key: bool,
    /// The variable of the environment that is set, and wins over it.
    pub overridden_by: Option<String>,
    /// What is worth a look in it, in a sentence.
    pub notice: Option<String>,
}

/// What is in force for one key, or under a name that a person gave.
pub fn get(
    name: &str,
    home: &Path,
    environment: Environment<'_>,
) -> Result<NamedSetting, ConfigError> {
    if let Some(place) = NamePath::read(name) {
        let settings = read(home, environment)?;
        return Ok(NamedSetting::Named(place.value(settings.named())));
    }
    let key = key_named(name, "gently config get", home)?;
    let settings = read(home, environment)?;
    Ok(NamedSetting::Key(SettingState::of(key, &settings)))
}

/// What is in force for every key, in the order of the file.
pub fn list(home: &Path, environment: Environment<'_>) -> Result<Vec<SettingState>, ConfigError> {
    let settings = read(home, environment)?;
    let state = |key| SettingState::of(key, &settings);
    Ok(KEYS.iter().map(state).collect())
}

/// The key of a name; the name of a table is answered with what stands in it.
fn key_named(name: &str, place: &str, home: &Path) -> Result<&'static Key, ConfigError> {
    let unknown = match Key::find(name, place) {
        Err(unknown @ ConfigError::Unknown { .. }) => unknown,
        found => return found,
    };
    // A file that can't be read is not what was asked about.
    let Ok(settings) = read(home, &|_| None) else {
        return Err(unknown);
    };
    let names = settings.named();
    let given = |table: &str, names: Vec<&String>| -> Vec<String> {
        let quoted = |name: &String| format!("{table}.{name}");
        names.into_iter().map(quoted).collect()
    };
    let tables = [
        given("model.alias", names.aliases.keys().collect()),
        given("model.window", names.windows.keys().collect()),
        given("price", names.prices.keys().collect()),
        given("witness", names.witnesses.keys().collect()),
    ];
    let keys = KEYS.iter().map(|key| key.name.to_owned());
    let below = format!("{name}.");
    let all = keys.chain(tables.into_iter().flatten());
    let found: Vec<String> = all.filter(|key| key.starts_with(&below)).collect();
    let is_table = !found.is_empty() || TABLES.contains(&name);
    match is_table {
        true => Err(ConfigError::Table {
            place: place.to_owned(),
            key: name.to_owned(),
            names: found,
        }),
        false => Err(unknown),
    }
}

fn read(home: &Path, environment: Environment<'_>) -> Result<Settings, ConfigError> {
    Settings::load(home, environment)
}

/// Checks the auth key when a key guards the home: whoever has the machine for a minute has none. What there is to say
/// of a command that was `typed` for the key of the database.
pub fn authorize(
    name: &str,
    typed: Option<&str>,
    root: &Path,
) -> Result<Option<String>, OpenHomeError> {
    let typed = typed.filter(|_| name == STORE_KEY_CMD);
    // What opens the database needs no other key to be set.
    let notice = typed.and_then(|typed| {
        let key = Key::find(name, "gently config set").ok()?;
        match key.accept_typed(typed, "gently config set") {
            Ok(Value::Text(command)) => unfit_command(root, &command),
            _ => None,
        }
    });
    match (is_authorized(name, root), notice) {
        (Ok(()), None) => Ok(None),
        (Ok(()), Some(unfit)) => {
            let back = match unfit.has_key_file {
                true => "go back to keys/store.key",
                false => "take it out",
            };
            Ok(Some(format!(
                "the command is set, and does not open the database: {}. Set another one, or {back}: gently config unset \
                 {STORE_KEY_CMD}",
                unfit.why
            )))
        }
        (Err(fault), None) => Err(fault),
        (Err(fault), Some(unfit)) => Err(OpenHomeError::Refused(format!(
            "nothing was set: this command does not open the database ({}), and as it is set up now, it can't be opened \
             either, to compare the auth key: {fault}",
            unfit.why
        ))),
    }
}

fn is_authorized(name: &str, root: &Path) -> Result<(), OpenHomeError> {
    match Home::open(root) {
        Ok(Some(home)) if guards(name) => {
            let config = open::config(&home)?;
            let known = keys::is_known(&home, &config);
            let known = match known {
                // The command that fails is what is to be changed; the key file is not read beside it.
                Err(OpenHomeError::Store(StoreError::Sealed { .. }))
                    if name == STORE_KEY_CMD && open_by_key_file(&home, &config)? =>
                {
                    keys::is_known(&home, &config)
                }
                known => known,
            };
            match known {
                // No auth key can be compared before the database is open, which it is by this command.
                Err(OpenHomeError::Store(StoreError::Sealed {
                    why:
                        SealFault::NoKey { .. }
                        | SealFault::Unreachable { .. }
                        | SealFault::Passphrase { .. }
                        | SealFault::WrongKey { .. },
                    ..
                })) if name == STORE_KEY_CMD && has_no_other_key(&home, &config) => Ok(()),
                known => known,
            }
        }
        _ => Ok(()),
    }
}

/// Whether an encrypted database has its key from no other place than from a command.
fn has_no_other_key(home: &Home, config: &Config) -> bool {
    let database = home.paths().database();
    let place = KeyPlace::of(&database, config);
    matches!(DatabaseForm::of(&database), Ok(DatabaseForm::Encrypted))
        && matches!(place, KeyPlace::Command | KeyPlace::Nowhere)
}

/// Whether a key guards what is recorded, kept or believed: then `gently config set` asks for the
/// auth key.
///
/// The others choose a model's voice or what a person sees; what is asked with them is on record
/// each time.
fn guards(key: &str) -> bool {
    const SECTIONS: [&str; 9] = [
        "anchor",
        "keys",
        "ots",
        "policy",
        "retention",
        "sanitize",
        "store",
        "trace",
        "witness",
    ];
    const KEYS: [&str; 7] = [
        "model.anthropic_url",
        BASE_URL,
        "model.key_cmd",
        "model.key_file",
        "model.ollama_url",
        "session.host_role",
        "sight.units",
    ];
    KEYS.contains(&key) || SECTIONS.contains(&key.split('.').next().unwrap_or_default())
}

/// Sets a key, as it was typed: a TOML value, or a bare word for a string; or what stands under a
/// name that a person gives.
pub fn set(
    name: &str,
    typed: &str,
    home: &Path,
    environment: Environment<'_>,
) -> Result<ChangedSetting, ConfigError> {
    if let Some(place) = NamePath::read(name) {
        if let NamePath::Price(model, Some(_)) = &place {
            is_priced(model, &read(home, &|_| None)?)?;
        }
        // The file is read again as a home would: what is no alias, no model or no price is refused.
        rewrite(home, &|text, file| {
            let document = parsed(text, file)?;
            match place.section(&document, typed) {
                Some(section) => Ok(with_section(text, &section)),
                None => edited(text, &|document| place.put(document, typed), file),
            }
        })?;
        return Ok(ChangedSetting {
            name: name.to_owned(),
            value: Some(typed_value(&place, typed)),
            is_key: false,
            overridden_by: None,
            notice: None,
        });
    }
    let key = key_named(name, "gently config set", home)?;
    check_home(home)?;
    let value = key.accept_typed(typed, "gently config set")?;
    if let (DEFAULT_MODEL, Value::Text(model)) = (key.name, &value) {
        is_there(model, &read(home, &|_| None)?)?;
    }
    edit(home, &|document| put(document, key, &value))?;
    Ok(changed(key, Some(value), environment))
}

/// Refuses what [`set`] would refuse whatever stands in the file, before a home is made for it.
pub fn check_typed(name: &str, typed: &str, home: &Path) -> Result<(), ConfigError> {
    match NamePath::read(name) {
        Some(_) => Ok(()),
        None => key_named(name, "gently config set", home)?
            .accept_typed(typed, "gently config set")
            .map(drop),
    }
}

/// The model that is meant where the default was typed as a name without a provider; none where
/// anything else was typed, or where that is for [`set`] to refuse.
pub async fn default_meant(
    name: &str,
    typed: &str,
    home: &Path,
) -> Result<Option<BareName>, OpenHomeError> {
    let key = Key::find(name, "gently config set").ok();
    let (Some(key), Ok(config)) = (
        key.filter(|key| key.name == DEFAULT_MODEL),
        Config::load(home, &open::env),
    ) else {
        return Ok(None);
    };
    let model = match key.accept_typed(typed, "gently config set") {
        Ok(Value::Text(model)) => model,
        // No alias has a capital letter; a model's name may.
        _ => typed.trim().to_owned(),
    };
    match without_provider(&model, &config).await {
        // What can be said at all is said there.
        Err(OpenHomeError::UnknownModel { meant, .. }) if meant.is_empty() => Ok(None),
        found => found,
    }
}

/// Refuses a part of a price that is not there.
fn is_priced(model: &str, settings: &Settings) -> Result<(), ConfigError> {
    let whole = NamePath::Price(model.to_owned(), None);
    match whole.value(settings.named()) {
        Some(_) => Ok(()),
        None => Err(ConfigError::HalfPrice {
            place: "gently config set".to_owned(),
            model: model.to_owned(),
        }),
    }
}

/// Takes a key out of the file, so that its default is in force, or a name with all that stands
/// under it; comments and order stay.
pub fn unset(
    name: &str,
    home: &Path,
    environment: Environment<'_>,
) -> Result<ChangedSetting, ConfigError> {
    let place = NamePath::read(name);
    let key = match &place {
        None => Some(key_named(name, "gently config unset", home)?),
        Some(_) => None,
    };
    let path: Vec<&str> = match (&place, key) {
        (Some(place), _) => place.path(),
        (None, Some(key)) => vec![key.parts().0, key.parts().1],
        (None, None) => Vec::new(),
    };
    if let Some(NamePath::Alias(alias)) = &place {
        is_not_default(alias, &read(home, &|_| None)?)?;
    }
    rewrite(home, &|text, _| Ok(config::without(text, &path)))?;
    let settings = read(home, &|_| None)?;
    Ok(match (key, place) {
        (Some(key), _) => changed(key, key.default_value(), environment),
        (None, place) => ChangedSetting {
            name: name.to_owned(),
            // Some aliases are shipped: one that was edited is again what it was.
            value: place
                .and_then(|place| place.value(settings.named()))
                .map(Value::Text),
            is_key: false,
            overridden_by: None,
            notice: None,
        },
    })
}

/// What there is to say of the address of an OpenAI-compatible server that has no path.
fn without_path(url: &str) -> Option<String> {
    let url = net::parse_address(url).ok()?;
    (url.path() == "/").then(|| {
        "OpenAI-compatible servers mostly answer under …/v1: if gently model list finds none there, put /v1 behind \
         this address"
            .to_owned()
    })
}

fn changed(
    key: &'static Key,
    value: Option<Value>,
    environment: Environment<'_>,
) -> ChangedSetting {
    let variable = key.variable();
    ChangedSetting {
        name: key.name.to_owned(),
        notice: match &value {
            Some(Value::Text(url)) if key.name == BASE_URL => without_path(url),
            _ => None,
        },
        value,
        is_key: true,
        overridden_by: environment(&variable).map(|_| variable),
    }
}

/// Refuses a default that is no model and no alias, with what there is.
fn is_there(model: &str, settings: &Settings) -> Result<(), ConfigError> {
    let aliases = &settings.named().aliases;
    if !is_alias(model) || aliases.contains_key(model) {
        return Ok(());
    }
    let names: Vec<&str> = aliases.keys().map(String::as_str).collect();
    Err(ConfigError::Wrong {
        place: "gently config set".to_owned(),
        key: DEFAULT_MODEL.to_owned(),
        expected: format!(
            "auto, observer, replay, ollama/NAME, anthropic/NAME, openai/NAME, or an alias: {}; \
             gently config set model.alias.{model} ID makes one",
            names.join(", ")
        ),
        actual: format!("\"{model}\""),
    })
}

/// What was typed: a window is a number, all else a text.
fn typed_value(place: &NamePath, typed: &str) -> Value {
    match (place, typed.trim().parse()) {
        (NamePath::Window(_), Ok(tokens)) => Value::Number(tokens),
        _ => Value::Text(typed.to_owned()),
    }
}

/// Refuses to take away the alias that a default is.
fn is_not_default(alias: &str, settings: &Settings) -> Result<(), ConfigError> {
    let is_shipped = SHIPPED.iter().any(|(shipped, _)| *shipped == alias);
    match settings.get(DEFAULT_MODEL) {
        Some((Value::Text(model), _)) if model == alias && !is_shipped => {
            Err(ConfigError::Needed {
                place: "gently config unset".to_owned(),
                alias: alias.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// Changes the file of a home: read, change, read again as the parser would, replace atomically.
///
/// Comments and order stay. Whatever is wrong, before or after the change, leaves the file as it
/// was.
pub fn edit(home: &Path, change: &dyn Fn(&mut DocumentMut)) -> Result<(), ConfigError> {
    rewrite(home, &|text, place| edited(text, change, place))
}

/// The same with the text of the file; the new text, from the old one and the name of the file.
fn rewrite(
    home: &Path,
    change: &dyn Fn(&str, &str) -> Result<String, ConfigError>,
) -> Result<(), ConfigError> {
    check_home(home)?;
    let path = real_path(&home.join(FILE));
    let place = path.display().to_string();
    let before = file_text(&path)?.unwrap_or_else(|| GENESIS.to_owned());
    // A file that is already wrong is not edited: the edit might hide what is wrong with it.
    Settings::read(&before, &place, &|_| None)?;
    let after = change(&before, &place)?;
    Settings::read(&after, &place, &|_| None)?;
    replace(&path, after.as_bytes())
}

fn check_home(home: &Path) -> Result<(), ConfigError> {
    match home.is_dir() {
        true => Ok(()),
        false => Err(ConfigError::NoHome {
            path: home.to_owned(),
        }),
    }
}

/// The text as a change leaves it.
fn edited(
    text: &str,
    change: &dyn Fn(&mut DocumentMut),
    place: &str,
) -> Result<String, ConfigError> {
    let mut document = parsed(text, place)?;
    change(&mut document);
    let after = document.to_string();
    // toml_edit prints bare newlines; a file with a carriage return before each keeps them.
    Ok(if text.contains("\r\n") {
        after.replace('\n', "\r\n")
    } else {
        after
    })
}

fn parsed(text: &str, place: &str) -> Result<DocumentMut, ConfigError> {
    let syntax = |e: toml_edit::TomlError| ConfigError::Syntax {
        place: place.to_owned(),
        reason: e.message().to_owned(),
    };
    text.parse().map_err(syntax)
}

/// The text with a section at its end.
fn with_section(text: &str, section: &str) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let added = format!("{gap}{}\n", section.trim());
    match text.contains("\r\n") {
        true => format!("{text}{}", added.replace('\n', "\r\n")),
        false => format!("{text}{added}"),
    }
}

/// Changes or adds one value; the document must have passed [`Settings::read`].
fn put(document: &mut DocumentMut, key: &Key, value: &Value) {
    let (section, name) = key.parts();
    let section = document
        .entry(section)
        .or_insert_with(|| Item::Table(Table::new()));
    let table = section
        .as_table_like_mut()
        .expect("a known section that is no table was refused when it was read");
    let mut new = value.to_toml();
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            // The white space and the comment behind a value are the person's.
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => {
            table.insert(name, Item::Value(new));
        }
    }
}

/// Where the file really is: a link to it is kept, and what it points at is replaced.
fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Writes a new file beside the old one, syncs it, renames it over, and syncs the directory.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
    let failed = |doing, path: &Path, source| ConfigError::Io {
        doing,
        path: path.to_owned(),
        source,
    };
    let dir = path.parent().unwrap_or(Path::new("."));
    let new = dir.join(format!(".{FILE}.{}", std::process::id()));
    let written = write_new(&new, path, bytes).and_then(|()| fs::rename(&new, path));
    if let Err(source) = written {
        // The old file is untouched; what is left of the new one is of no use.
        let _ = fs::remove_file(&new);
        return Err(failed("write", path, source));
    }
    if cfg!(unix) {
        File::open(dir)
            .and_then(|d| d.sync_all())
            .map_err(|e| failed("sync", dir, e))?;
    }
    Ok(())
}

fn write_new(new: &Path, old: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(new)?;
    if let Ok(found) = fs::metadata(old) {
        file.set_permissions(found.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}
