//! Reading `gently.toml` and the environment into one set of values.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;

use toml_edit::{Document, Item, TableLike, TomlError};

use super::duplicate::{DUPLICATE, DuplicateKey};
use super::named_tables::{self, NamedTables};
use super::table::{KEYS, Key, Value};
use super::witnesses::{WITNESS, WitnessTable};
use super::{ConfigError, Environment};

/// Where a value in force is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// The default that the table of keys declares.
    Default,
    /// The file `gently.toml` of the home.
    File,
    /// A `GENTLY_…` variable.
    Environment,
}

impl ValueSource {
    /// The word that screens show.
    pub const fn name(self) -> &'static str {
        match self {
            ValueSource::Default => "default",
            ValueSource::File => "file",
            ValueSource::Environment => "environment",
        }
    }
}

/// Every key's value and where it is from; a key without value and default is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, (Value, ValueSource)>,
    named: NamedTables,
}

impl Settings {
    /// Reads a file's text and the environment; `file` is what errors name.
    pub fn read(text: &str, file: &str, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let mut values = BTreeMap::new();
        for key in KEYS {
            if let Some(value) = key.default_value() {
                values.insert(key.name, (value, ValueSource::Default));
            }
        }
        let FileSettings {
            values: in_file,
            named,
        } = FileSettings::parse(text, file)?;
        for (name, value) in in_file {
            values.insert(name, (value, ValueSource::File));
        }
        for key in KEYS {
            let variable = key.variable();
            if let Some(value) = environment(&variable) {
                values.insert(
                    key.name,
                    (
                        from_environment(key, &variable, value)?,
                        ValueSource::Environment,
                    ),
                );
            }
        }
        Ok(Settings { values, named })
    }

    /// A key's value, if it has one, and where it is from.
    pub fn get(&self, name: &str) -> Option<(&Value, ValueSource)> {
        self.values
            .get(name)
            .map(|(value, source)| (value, *source))
    }

    /// What people have given names to: models, prices, witnesses.
    pub fn named(&self) -> &NamedTables {
        &self.named
    }
}

/// What a file sets.
#[derive(Default)]
struct FileSettings {
    values: BTreeMap<&'static str, Value>,
    named: NamedTables,
}

impl FileSettings {
    /// Reads a file; what is no key is refused.
    fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let document = Document::parse(text).map_err(|e| not_toml(text, file, &e))?;
        let mut settings = FileSettings::default();
        for (section, item) in document.as_table().iter() {
            let at = place(text, file, span_of(document.as_table(), section));
            if section == named_tables::PRICE {
                settings
                    .named
                    .read_prices(item, &|span| place(text, file, span))?;
                continue;
            }
            let known = KEYS.iter().any(|key| key.parts().0 == section);
            match item.as_table_like() {
                Some(table) => {
                    settings.read_section(section, table, &|span| place(text, file, span))?;
                }
                None if known => {
                    return Err(ConfigError::Wrong {
                        place: at,
                        key: section.to_owned(),
                        expected: format!("a section: [{section}]"),
                        actual: item.type_name().to_owned(),
                    });
                }
                None => Key::find(section, &at).map(|_| ())?,
            }
            if !known {
                Key::find(section, &at)?;
            }
        }
        Ok(settings)
    }

    fn read_section(
        &mut self,
        section: &str,
        table: &dyn TableLike,
        place: &dyn Fn(Option<Range<usize>>) -> String,
    ) -> Result<(), ConfigError> {
        for (name, item) in table.iter() {
            let at = place(table.get_key_value(name).and_then(|(key, _)| key.span()));
            if (section, name) == named_tables::ALIAS {
                self.named.read_aliases(item, place)?;
                continue;
            }
            if (section, name) == named_tables::WINDOW {
                self.named.read_windows(item, place)?;
                continue;
            }
            if let Some(witness) = item.as_table_like().filter(|_| section == WITNESS) {
                self.named.read_witness(&WitnessTable {
                    name,
                    fields: witness,
                    at,
                    place,
                })?;
                continue;
            }
            let key = Key::find(&format!("{section}.{name}"), &at)?;
            let value = match item {
                Item::Value(value) => key.accept(value, &at)?,
                other => return Err(key.wrong(&at, other.type_name().to_owned())),
            };
            self.values.insert(key.name, value);
        }
        Ok(())
    }
}

/// Why a text is not TOML; a key that stands twice is named with both places.
fn not_toml(text: &str, file: &str, error: &TomlError) -> ConfigError {
    let at = place(text, file, error.span());
    let start = error.span().map(|span| span.start);
    match start.filter(|_| error.message() == DUPLICATE) {
        Some(start) => {
            let twice = DuplicateKey::at(text, start);
            ConfigError::Duplicate {
                place: at,
                key: twice.key,
                first: twice
                    .first_line
                    .map(|line| format!(", first on line {line}")),
            }
        }
        None => ConfigError::Syntax {
            place: at,
            reason: error.message().to_owned(),
        },
    }
}

fn from_environment(key: &Key, variable: &str, value: OsString) -> Result<Value, ConfigError> {
    let place = format!("environment variable {variable}");
    let text = value
        .into_string()
        .map_err(|_| key.wrong(&place, "bytes that are not UTF-8".to_owned()))?;
    key.accept_typed(&text, &place)
        .map_err(|fault| match fault {
            ConfigError::Empty { place, key, .. } => ConfigError::Empty {
                out: format!("unset {variable}"),
                place,
                key,
            },
            other => other,
        })
}

fn span_of(table: &dyn TableLike, name: &str) -> Option<Range<usize>> {
    table.get_key_value(name).and_then(|(key, _)| key.span())
}

/// `FILE line N`, or the file alone where the parser does not say.
fn place(text: &str, file: &str, span: Option<Range<usize>>) -> String {
    let before = span.and_then(|span| text.get(..span.start));
    before.map_or_else(
        || file.to_owned(),
        |before| format!("{file} line {}", before.matches('\n').count() + 1),
    )
}
