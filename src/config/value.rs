//! The value of a key.

use toml_edit::Value as Toml;

/// A value that its key accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string.
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
