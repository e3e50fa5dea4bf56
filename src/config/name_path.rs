//! What is typed for a place under a name that a person gave: an alias, a window, a price, a
//! witness.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

use super::named_tables::{self, NamedTables};
use super::witnesses::WITNESS;
use crate::record::ledger::params::Price;

/// The parts of a price, as the file calls them.
const PRICE_PARTS: [&str; 3] = ["input_per_mtok", "output_per_mtok", "currency"];
/// The parts of a witness.
const WITNESS_PARTS: [&str; 2] = ["key", "url"];

/// A place under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamePath {
    /// The model that an alias stands for: `model.alias.NAME`.
    Alias(String),
    /// The window of a model, in tokens: `model.window.MODEL`.
    Window(String),
    /// `price.MODEL`, or one part of it.
    Price(String, Option<&'static str>),
    /// One part of `witness.NAME`.
    Witness(String, &'static str),
}

impl NamePath {
    /// What was typed; none when it is of no such name. Quotes around a model's id may be left out:
    /// it may have dots in it.
    pub fn read(name: &str) -> Option<NamePath> {
        let plain = |text: &str| text.trim_matches(['"', '\'']).to_owned();
        if let Some(alias) = name.strip_prefix("model.alias.") {
            return Some(NamePath::Alias(plain(alias)));
        }
        if let Some(model) = name.strip_prefix("model.window.") {
            return Some(NamePath::Window(plain(model)));
        }
        if let Some(rest) = name.strip_prefix("price.") {
            let part = part_of(rest, &PRICE_PARTS);
            return Some(match part {
                Some((model, part)) => NamePath::Price(plain(model), Some(part)),
                None => NamePath::Price(plain(rest), None),
            });
        }
        let (witness, part) = part_of(name.strip_prefix("witness.")?, &WITNESS_PARTS)?;
        Some(NamePath::Witness(plain(witness), part))
    }

    /// The keys that lead to it in the file.
    pub fn path(&self) -> Vec<&str> {
        match self {
            NamePath::Alias(alias) => vec![named_tables::ALIAS.0, named_tables::ALIAS.1, alias],
            NamePath::Window(model) => vec![named_tables::WINDOW.0, named_tables::WINDOW.1, model],
            NamePath::Price(model, part) => {
                let path = [Some(named_tables::PRICE), Some(model.as_str()), *part];
                path.into_iter().flatten().collect()
            }
            NamePath::Witness(witness, part) => vec![WITNESS, witness, part],
        }
    }

    /// What is in force there.
    pub fn value(&self, named: &NamedTables) -> Option<String> {
        match self {
            NamePath::Alias(alias) => named.aliases.get(alias).cloned(),
            NamePath::Window(model) => named.windows.get(model).map(u64::to_string),
            NamePath::Price(model, part) => {
                let price = named.prices.get(model)?;
                Some(match part {
                    None => in_words(price),
                    Some("input_per_mtok") => decimal(price.input_per_mtok),
                    Some("output_per_mtok") => decimal(price.output_per_mtok),
                    Some(_) => price.currency.clone(),
                })
            }
            NamePath::Witness(witness, part) => {
                let witness = named.witnesses.get(witness)?;
                Some(match *part {
                    "key" => witness.key.print(),
                    _ => witness.url.clone(),
                })
            }
        }
    }

    /// A section of its own for what was typed, to stand at the end of a file; none where the file
    /// has a place for it already.
    ///
    /// A document's own editor would put it before the comments that the file ends with.
    pub fn section(&self, document: &DocumentMut, typed: &str) -> Option<String> {
        let NamePath::Price(model, None) = self else {
            return None;
        };
        let is_open = |prices: &Item| prices.is_table() && prices.get(model).is_none();
        if !document.get(named_tables::PRICE).is_none_or(is_open) {
            return None;
        }
        let mut section = DocumentMut::new();
        self.put(&mut section, typed);
        Some(section.to_string())
    }

    /// Writes what was typed. Whether it is an alias, a price or a witness shows when the file is
    /// read again.
    pub fn put(&self, document: &mut DocumentMut, typed: &str) {
        let path = self.path();
        match self {
            NamePath::Price(_, None) => {
                if let Some(price) = table_at(document, &path) {
                    let words = typed.trim().splitn(PRICE_PARTS.len(), char::is_whitespace);
                    for (part, word) in PRICE_PARTS.iter().zip(words) {
                        replace(price, part, word.trim().into());
                    }
                }
            }
            _ => {
                let (last, tables) = path.split_last().unwrap_or((&"", &[]));
                if let Some(table) = table_at(document, tables) {
                    replace(table, last, self.value_of(typed));
                }
            }
        }
    }
}

impl NamePath {
    /// What was typed, as the file has it: a window is a number. What is none stays a text, and is
    /// refused when the file is read again.
    fn value_of(&self, typed: &str) -> toml_edit::Value {
        let number = match self {
            NamePath::Window(_) => typed.trim().parse::<i64>().ok(),
            _ => None,
        };
        number.map_or_else(|| unquoted(typed).into(), Into::into)
    }
}

/// The table at a place, made where there is none; none where something else stands, which is said
/// when the file is read again.
fn table_at<'a>(document: &'a mut DocumentMut, path: &[&str]) -> Option<&'a mut dyn TableLike> {
    let mut item = document.as_item_mut();
    for name in path {
        // What is made in an inline table has to be one, too.
        let made = match item.is_inline_table() {
            true => Item::Value(InlineTable::new().into()),
            false => {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            }
        };
        item = item.as_table_like_mut()?.entry(name).or_insert(made);
    }
    item.as_table_like_mut()
}

/// A text as it was typed, or in quotes as TOML has it.
fn unquoted(typed: &str) -> String {
    let quoted = typed.trim_start().starts_with(['"', '\'']);
    let read = quoted
        .then(|| typed.parse::<toml_edit::Value>().ok())
        .flatten();
    let text = read.and_then(|value| value.as_str().map(str::to_owned));
    text.unwrap_or_else(|| typed.to_owned())
}

fn replace(table: &mut dyn TableLike, name: &str, mut new: toml_edit::Value) {
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            // The white space and the comment behind a value are the person's.
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => _ = table.insert(name, Item::Value(new)),
    }
}

fn part_of<'a>(text: &'a str, parts: &[&'static str]) -> Option<(&'a str, &'static str)> {
    let (name, last) = text.rsplit_once('.')?;
    let part = parts.iter().find(|part| **part == last)?;
    Some((name, part))
}

/// `3 15 USD`: what `put` takes.
fn in_words(price: &Price) -> String {
    let (input, output) = (price.input_per_mtok, price.output_per_mtok);
    format!("{} {} {}", decimal(input), decimal(output), price.currency)
}

/// Millionths as a decimal.
fn decimal(micro: u64) -> String {
    let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_with_the_dots_of_its_model() {
        let price = |model: &str, part| Some(NamePath::Price(model.to_owned(), part));
        for (typed, expected) in [
            ("model.alias.fast", Some(NamePath::Alias("fast".to_owned()))),
            (
                "model.window.ollama/llama3.1:8b",
                Some(NamePath::Window("ollama/llama3.1:8b".to_owned())),
            ),
            ("price.openai/gpt-4.1", price("openai/gpt-4.1", None)),
            ("price.\"openai/gpt-4.1\"", price("openai/gpt-4.1", None)),
            (
                "price.ollama/a:1.5b.input_per_mtok",
                price("ollama/a:1.5b", Some("input_per_mtok")),
            ),
            (
                "price.\"openai/x\".currency",
                price("openai/x", Some("currency")),
            ),
            (
                "witness.a.b.url",
                Some(NamePath::Witness("a.b".to_owned(), "url")),
            ),
            ("witness.quorum", None),
            ("witness.desk", None),
            ("model.default", None),
            ("anchor.mode", None),
        ] {
            assert_eq!(NamePath::read(typed), expected, "{typed}");
        }
    }

    #[test]
    fn amounts_are_told_as_they_are_typed() {
        for (micro, text) in [
            (0, "0"),
            (1, "0.000001"),
            (3_000_000, "3"),
            (150_000, "0.15"),
        ] {
            assert_eq!(decimal(micro), text);
        }
    }
}
