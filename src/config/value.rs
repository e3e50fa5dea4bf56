//! The value of a key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use toml_edit::Value as Toml;

use super::AnchorMode;
use crate::record::ledger::params::Temperature;

/// A value that its key accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A string of TOML.
    Text(String),
    /// A list of strings.
    List(Vec<String>),
    /// A whole number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    /// The value as TOML.
    pub fn to_toml(&self) -> Toml {
        match self {
            Value::Text(text) => Toml::from(text.as_str()),
            Value::List(list) => list.iter().map(String::as_str).collect(),
            Value::Flag(flag) => Toml::from(*flag),
            Value::Number(number) => {
                Toml::from(i64::try_from(*number).expect("the table's ranges fit i64"))
            }
        }
    }
}

/// The value as `gently.toml` would hold it, on one line.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_toml().to_string().trim())
    }
}

/// What is in force for a key, and how the program takes it.
///
/// The table has said what may be there; nothing is judged here. Texts and lists that nobody set
/// are empty.
pub(super) struct ValueInForce<'a> {
    pub value: Option<&'a Value>,
    /// Where relative paths start.
    pub home: &'a Path,
}

impl ValueInForce<'_> {
    pub fn some_text(&self) -> Option<String> {
        match self.value {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    pub fn text(&self) -> String {
        self.some_text().unwrap_or_default()
    }

    /// A text that says something.
    pub fn prose(&self) -> Option<String> {
        self.some_text().filter(|text| !text.trim().is_empty())
    }

    pub fn temperature(&self) -> Option<Temperature> {
        self.some_text()?.parse().ok()
    }

    pub fn anchor_mode(&self) -> AnchorMode {
        match self.text().as_str() {
            "off" => AnchorMode::Off,
            _ => AnchorMode::Auto,
        }
    }

    pub fn texts(&self) -> Vec<String> {
        match self.value {
            Some(Value::List(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    /// An address without a slash at the end.
    pub fn some_address(&self) -> Option<String> {
        self.some_text().map(|url| without_slash(&url))
    }

    pub fn address(&self) -> String {
        without_slash(&self.text())
    }

    pub fn addresses(&self) -> Vec<String> {
        self.texts().iter().map(|url| without_slash(url)).collect()
    }

    /// A path, absolute if the home's is.
    pub fn path(&self) -> Option<PathBuf> {
        self.some_text().map(|path| self.home.join(path))
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        self.texts()
            .iter()
            .map(|path| self.home.join(path))
            .collect()
    }

    pub fn some_number(&self) -> Option<u64> {
        match self.value {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn number(&self) -> u64 {
        self.some_number()
            .expect("the table gives this key a number")
    }

    /// A number of things; none where a word leaves it open.
    pub fn some_count(&self) -> Option<usize> {
        self.some_number()
            .and_then(|count| usize::try_from(count).ok())
    }

    pub fn count(&self) -> usize {
        self.some_count()
            .expect("the table gives this key a number that fits usize")
    }

    pub fn millis(&self) -> Duration {
        Duration::from_millis(self.number())
    }

    pub fn seconds(&self) -> Duration {
        Duration::from_secs(self.number())
    }

    pub fn minutes(&self) -> Duration {
        Duration::from_secs(60 * self.number())
    }

    pub fn flag(&self) -> bool {
        self.value == Some(&Value::Flag(true))
    }
}

fn without_slash(url: &str) -> String {
    url.trim_end_matches('/').to_owned()
}
