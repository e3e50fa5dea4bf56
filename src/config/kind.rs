//! What a key may hold: the words for it, and whether a value passes.

use toml_edit::Value as Toml;

use crate::record::unseen::is_plain_name;

use super::ConfigError;
use super::rules::is_prose;
use super::table::{Key, MAX_LIST, TextRule, ValueKind};
use super::value::Value;
use super::words::shown;

/// No name, path or address is longer.
const MAX_TEXT: usize = 1024;

impl ValueKind {
    pub(super) fn shows(&self) -> bool {
        match self {
            ValueKind::Text(rule) | ValueKind::List(rule) => rule.shows,
            ValueKind::Choice(_)
            | ValueKind::Number(..)
            | ValueKind::WordOrNumber(..)
            | ValueKind::Flag => true,
            ValueKind::Prose(_) => false,
        }
    }

    /// What is accepted, in words.
    pub fn describe(&self) -> String {
        match self {
            ValueKind::Choice(choices) => choices
                .iter()
                .map(|choice| format!("\"{choice}\""))
                .collect::<Vec<_>>()
                .join(" or "),
            ValueKind::Text(rule) => format!("a string: {}", rule.says),
            ValueKind::Prose(most) => {
                format!("a text of at most {most} bytes, without control characters")
            }
            ValueKind::List(rule) => {
                format!("a list of at most {MAX_LIST} strings, each {}", rule.says)
            }
            ValueKind::Number(least, most) => format!("a whole number from {least} to {most}"),
            ValueKind::WordOrNumber(word, least, most) => {
                format!("\"{word}\", or a whole number from {least} to {most}")
            }
            ValueKind::Flag => "true or false".to_owned(),
        }
    }
}

impl TextRule {
    pub(super) fn takes(&self, text: &str) -> bool {
        text.len() <= MAX_TEXT && is_plain_name(text) && (self.accepts)(text)
    }
}

impl Key {
    /// Takes a TOML value if its type and content are right for this key.
    pub fn accept(&self, toml: &Toml, place: &str) -> Result<Value, ConfigError> {
        let value = match (&self.kind, toml) {
            (ValueKind::Choice(choices), Toml::String(text))
                if choices.contains(&text.value().as_str()) =>
            {
                Some(Value::Text(text.value().clone()))
            }
            (ValueKind::Text(rule), Toml::String(text)) if rule.takes(text.value()) => {
                Some(Value::Text(text.value().clone()))
            }
            (ValueKind::Prose(most), Toml::String(text)) if is_prose(text.value(), *most) => {
                Some(Value::Text(text.value().clone()))
            }
            (ValueKind::List(rule), Toml::Array(list)) if list.len() <= MAX_LIST => {
                let texts = list.iter().map(|item| {
                    item.as_str()
                        .filter(|text| rule.takes(text))
                        .map(str::to_owned)
                });
                texts.collect::<Option<Vec<_>>>().map(Value::List)
            }
            (ValueKind::WordOrNumber(word, ..), Toml::String(text)) if text.value() == word => {
                Some(Value::Text(text.value().clone()))
            }
            (
                ValueKind::Number(least, most) | ValueKind::WordOrNumber(_, least, most),
                Toml::Integer(number),
            ) => u64::try_from(*number.value())
                .ok()
                .filter(|number| (*least..=*most).contains(number))
                .map(Value::Number),
            (ValueKind::Flag, Toml::Boolean(flag)) => Some(Value::Flag(*flag.value())),
            _ => None,
        };
        value.ok_or_else(|| self.wrong(place, shown(toml, self.kind.shows())))
    }

    /// Reads a value as a person types it: TOML, or a bare word for a key that holds a string.
    pub fn accept_typed(&self, text: &str, place: &str) -> Result<Value, ConfigError> {
        let is_empty = matches!(text.trim(), "" | "\"\"" | "''");
        self.accept_text(text, place).map_err(|wrong| match wrong {
            ConfigError::Wrong { place, key, .. } if is_empty => ConfigError::Empty {
                out: format!("gently config unset {key}"),
                place,
                key,
            },
            other => other,
        })
    }

    fn accept_text(&self, text: &str, place: &str) -> Result<Value, ConfigError> {
        let holds_text = matches!(
            self.kind,
            ValueKind::Choice(_) | ValueKind::Text(_) | ValueKind::Prose(_)
        );
        let is_word = matches!(self.kind, ValueKind::WordOrNumber(word, ..) if text.trim() == word);
        if is_word {
            return self.accept(&Toml::from(text.trim()), place);
        }
        let literal = holds_text && !text.trim_start().starts_with(['"', '\'', '[', '{']);
        if literal {
            return self.accept(&Toml::from(text), place);
        }
        let toml = text
            .parse::<Toml>()
            .map_err(|_| self.wrong(place, shown(&Toml::from(text), self.kind.shows())))?;
        self.accept(&toml, place)
    }

    pub(super) fn wrong(&self, place: &str, actual: String) -> ConfigError {
        ConfigError::Wrong {
            place: place.to_owned(),
            key: self.name.to_owned(),
            expected: self.kind.describe(),
            actual,
        }
    }
}
