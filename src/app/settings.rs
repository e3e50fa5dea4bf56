//! Reading and changing `gently.toml`. A change leaves comments and order, and a file that would be
//! wrong is never written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table};

use crate::config::table::{KEYS, Key, Value};
use crate::config::{ConfigError, Environment, FILE, GENESIS, Settings, ValueSource, file_text};
use crate::home::Home;

use super::keys;
use super::open::{self, OpenHomeError};

/// A key, and what is in force for it.
pub struct SettingState {
    /// The key.
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
    /// `model.alias.NAME`, the model that has the name; `model.window.MODEL`, its tokens; none where
    /// nobody gave one.
    Named(Option<String>),
}

/// A value that was written.
pub struct ChangedSetting {
    /// Section and name.
    pub name: String,
    /// What the file holds now.
    pub value: Value,
    /// Whether it is a key of the table, and not what somebody said of a model.
    pub is_key: bool,
    /// The variable of the environment that is set, and wins over it.
    pub overridden_by: Option<String>,
}

/// The alias that `model.alias.NAME` is about.
fn alias_of(name: &str) -> Option<&str> {
    name.strip_prefix("model.alias.")
}

/// The model that `model.window.MODEL` is about.
fn windowed(name: &str) -> Option<&str> {
    let model = name.strip_prefix("model.window.")?;
    Some(model.trim_matches('"'))
}

/// What is in force for one key, or an alias.
pub fn get(
    name: &str,
    home: &Path,
    environment: Environment<'_>,
) -> Result<NamedSetting, ConfigError> {
    if let Some(alias) = alias_of(name) {
        let settings = read(home, environment)?;
        return Ok(NamedSetting::Named(
            settings.named().aliases.get(alias).cloned(),
        ));
    }
    if let Some(model) = windowed(name) {
        let settings = read(home, environment)?;
        let tokens = settings.named().windows.get(model);
        return Ok(NamedSetting::Named(tokens.map(u64::to_string)));
    }
    let key = Key::find(name, "gently config get")?;
    let settings = read(home, environment)?;
    Ok(NamedSetting::Key(SettingState::of(key, &settings)))
}

/// What is in force for every key, in the order of the file.
pub fn list(home: &Path, environment: Environment<'_>) -> Result<Vec<SettingState>, ConfigError> {
    let settings = read(home, environment)?;
    let state = |key| SettingState::of(key, &settings);
    Ok(KEYS.iter().map(state).collect())
}

fn read(home: &Path, environment: Environment<'_>) -> Result<Settings, ConfigError> {
    let path = home.join(FILE);
    Settings::read(
        &file_text(&path)?.unwrap_or_default(),
        &path.display().to_string(),
        environment,
    )
}

/// Checks the auth key when a key guards the home: whoever has the machine for a minute has none.
pub fn authorize(name: &str, root: &Path) -> Result<(), OpenHomeError> {
    match Home::open(root) {
        Ok(Some(home)) if guards(name) => {
            let config = open::config(&home)?;
            keys::is_known(&home, &config)
        }
        _ => Ok(()),
    }
}

/// Whether a key guards what is recorded, kept or believed: then `gently config set` asks for the
/// auth key.
///
/// The others choose a model's voice or what a person sees; what is asked with them is on record
/// each time.
fn guards(key: &str) -> bool {
    const SECTIONS: [&str; 8] = [
        "anchor",
        "keys",
        "ots",
        "policy",
        "retention",
        "sanitize",
        "store",
        "witness",
    ];
    const KEYS: [&str; 7] = [
        "model.anthropic_url",
        "model.base_url",
        "model.key_cmd",
        "model.key_file",
        "model.ollama_url",
        "session.host_role",
        "sight.units",
    ];
    KEYS.contains(&key) || SECTIONS.contains(&key.split('.').next().unwrap_or_default())
}

/// Sets a key, as it was typed: a TOML value, or a bare word for a string; or gives a model a name.
pub fn set(
    name: &str,
    typed: &str,
    home: &Path,
    environment: Environment<'_>,
) -> Result<ChangedSetting, ConfigError> {
    if let Some(alias) = alias_of(name) {
        let value = Value::Text(typed.to_owned());
        return set_named(name, ("alias", alias), value, home);
    }
    if let Some(model) = windowed(name) {
        // What is no number is refused when the file is read again.
        let number = typed.parse().map(Value::Number);
        let value = number.unwrap_or_else(|_| Value::Text(typed.to_owned()));
        return set_named(name, ("window", model), value, home);
    }
    let key = Key::find(name, "gently config set")?;
    if !home.is_dir() {
        return Err(ConfigError::NoHome {
            path: home.to_owned(),
        });
    }
    let value = key.accept_typed(typed, "gently config set")?;
    edit(home, &|document| put(document, key, &value))?;
    let variable = key.variable();
    Ok(ChangedSetting {
        name: key.name.to_owned(),
        value,
        is_key: true,
        overridden_by: environment(&variable).map(|_| variable),
    })
}

/// Says something of a model in a table of `[model]`; the file is read again as a home would, so
/// that what is no alias, no model or no number is refused.
fn set_named(
    name: &str,
    (table_name, key): (&str, &str),
    value: Value,
    home: &Path,
) -> Result<ChangedSetting, ConfigError> {
    let table = || Item::Table(Table::new());
    edit(home, &|document| {
        let section = document.entry("model").or_insert_with(table);
        let named = section
            .as_table_like_mut()
            .map(|section| section.entry(table_name).or_insert_with(table));
        if let Some(named) = named.and_then(Item::as_table_like_mut) {
            named.insert(key, Item::Value(value.to_toml()));
        }
    })?;
    Ok(ChangedSetting {
        name: name.to_owned(),
        value,
        is_key: false,
        overridden_by: None,
    })
}

/// Changes the file of a home: read, change, read again as the parser would, replace atomically.
///
/// Comments and order stay. Whatever is wrong, before or after the change, leaves the file as it
/// was.
pub fn edit(home: &Path, change: &dyn Fn(&mut DocumentMut)) -> Result<(), ConfigError> {
    if !home.is_dir() {
        return Err(ConfigError::NoHome {
            path: home.to_owned(),
        });
    }
    let path = real_path(&home.join(FILE));
    let place = path.display().to_string();
    let before = file_text(&path)?.unwrap_or_else(|| GENESIS.to_owned());
    // A file that is already wrong is not edited: the edit might hide what is wrong with it.
    Settings::read(&before, &place, &|_| None)?;
    let after = edited(&before, change, &place)?;
    Settings::read(&after, &place, &|_| None)?;
    replace(&path, after.as_bytes())
}

/// The text as a change leaves it.
fn edited(
    text: &str,
    change: &dyn Fn(&mut DocumentMut),
    place: &str,
) -> Result<String, ConfigError> {
    let syntax = |e: toml_edit::TomlError| ConfigError::Syntax {
        place: place.to_owned(),
        reason: e.message().to_owned(),
    };
    let mut document: DocumentMut = text.parse().map_err(syntax)?;
    change(&mut document);
    let after = document.to_string();
    // toml_edit prints bare newlines; a file with a carriage return before each keeps them.
    Ok(if text.contains("\r\n") {
        after.replace('\n', "\r\n")
    } else {
        after
    })
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
