//! Names that people give: `[model.alias]` for models, `[model.window]` for how much they take,
//! `[price."MODEL"]` for what their tokens cost, `[witness.NAME]` for witnesses.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{Item, TableLike};

use super::ConfigError;
use super::rules::is_model_id;
use super::witnesses::{self, ConfiguredWitness, WitnessTable};
use crate::record::ledger::params::{Price, is_currency, micro_units};

/// The section of prices.
pub const PRICE: &str = "price";
/// The table of aliases: a section, and a name in it.
pub const ALIAS: (&str, &str) = ("model", "alias");
/// The table of windows: a section, and a name in it.
pub const WINDOW: (&str, &str) = ("model", "window");
/// The smallest window that a question has room in, and more than any model's.
const WINDOWS: std::ops::RangeInclusive<i64> = 256..=100_000_000;

/// What an alias means unless the file says otherwise. Providers rename and retire models: edit at
/// will.
pub const SHIPPED: [(&str, &str); 4] = [
    ("gpt", "openai/gpt-4o-mini"),
    ("haiku", "anthropic/claude-haiku-4-5-20251001"),
    ("opus", "anthropic/claude-opus-4-5-20251101"),
    ("sonnet", "anthropic/claude-sonnet-4-5-20250929"),
];
/// Words that mean something already.
const TAKEN: [&str; 3] = ["auto", "observer", "replay"];
/// Characters of an alias: it is typed often.
const MAX_ALIAS: usize = 40;

pub(super) type TablePlace<'a> = &'a dyn Fn(Option<Range<usize>>) -> String;

/// Aliases, prices and witnesses, those of the file and those that are shipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTables {
    /// The full id by its alias.
    pub aliases: BTreeMap<String, String>,
    /// The window's tokens by the full id.
    pub windows: BTreeMap<String, u64>,
    /// The price by the full id.
    pub prices: BTreeMap<String, Price>,
    /// Who is asked to cosign tree heads.
    pub witnesses: BTreeMap<String, ConfiguredWitness>,
}

impl Default for NamedTables {
    fn default() -> Self {
        let aliases = SHIPPED.map(|(alias, id)| (alias.to_owned(), id.to_owned()));
        NamedTables {
            aliases: aliases.into(),
            windows: BTreeMap::new(),
            prices: BTreeMap::new(),
            witnesses: BTreeMap::new(),
        }
    }
}

impl NamedTables {
    /// Reads the table `[model.alias]`.
    pub(super) fn read_aliases(
        &mut self,
        item: &Item,
        place: TablePlace<'_>,
    ) -> Result<(), ConfigError> {
        let table = section(item, "model.alias", place)?;
        for (alias, item) in table.iter() {
            let (at, key) = (
                place_of(table, alias, place),
                format!("model.alias.{alias}"),
            );
            if !is_alias(alias) {
                let expected = format!(
                    "an alias of at most {MAX_ALIAS} small letters, digits, dots and hyphens, and none of {}",
                    TAKEN.join(", ")
                );
                return Err(ConfigError::Wrong {
                    place: at,
                    key,
                    expected,
                    actual: format!("\"{alias}\""),
                });
            }
            let id =
                item.as_str()
                    .filter(|id| is_model_id(id))
                    .ok_or_else(|| ConfigError::Wrong {
                        place: at,
                        key,
                        expected: "a model's full id, as in \"ollama/llama3.1:8b\"".to_owned(),
                        actual: item.to_string().trim().to_owned(),
                    })?;
            self.aliases.insert(alias.to_owned(), id.to_owned());
        }
        Ok(())
    }

    /// Reads the table `[model.window]`.
    pub(super) fn read_windows(
        &mut self,
        item: &Item,
        place: TablePlace<'_>,
    ) -> Result<(), ConfigError> {
        let table = section(item, "model.window", place)?;
        for (id, item) in table.iter() {
            let (at, key) = (place_of(table, id, place), format!("model.window.\"{id}\""));
            let wrong = |expected: &str, actual: String| ConfigError::Wrong {
                place: at.clone(),
                key: key.clone(),
                expected: expected.to_owned(),
                actual,
            };
            if !is_model_id(id) {
                let expected = "a model's full id in quotes, as in \"ollama/llama3.1:8b\" = 8192";
                return Err(wrong(expected, format!("\"{id}\"")));
            }
            let number = item.as_integer().filter(|n| WINDOWS.contains(n));
            let tokens = number.and_then(|n| u64::try_from(n).ok()).ok_or_else(|| {
                let expected = "a whole number of tokens from 256 to 100000000";
                wrong(expected, item.to_string().trim().to_owned())
            })?;
            self.windows.insert(id.to_owned(), tokens);
        }
        Ok(())
    }

    /// Reads one `[witness.NAME]`.
    pub(super) fn read_witness(&mut self, table: &WitnessTable<'_>) -> Result<(), ConfigError> {
        witnesses::read(&mut self.witnesses, table)
    }

    /// Reads all of `[price]`.
    pub(super) fn read_prices(
        &mut self,
        item: &Item,
        place: TablePlace<'_>,
    ) -> Result<(), ConfigError> {
        let models = section(item, PRICE, place)?;
        for (id, item) in models.iter() {
            let (at, key) = (place_of(models, id, place), format!("price.\"{id}\""));
            if !is_model_id(id) {
                let expected = "a model's full id in quotes: [price.\"anthropic/NAME\"]".to_owned();
                return Err(ConfigError::Wrong {
                    place: at,
                    key,
                    expected,
                    actual: format!("\"{id}\""),
                });
            }
            let price = read_price(section(item, &key, place)?, &key, &at, place)?;
            self.prices.insert(id.to_owned(), price);
        }
        Ok(())
    }
}

fn read_price(
    table: &dyn TableLike,
    key: &str,
    at: &str,
    place: TablePlace<'_>,
) -> Result<Price, ConfigError> {
    let known = ["input_per_mtok", "output_per_mtok", "currency"];
    if let Some((other, _)) = table.iter().find(|(name, _)| !known.contains(name)) {
        let at = place_of(table, other, place);
        return Err(ConfigError::Unknown {
            place: at,
            key: format!("{key}.{other}"),
            nearest: None,
        });
    }
    let wrong = |name: &str, expected: &str| ConfigError::Wrong {
        place: if table.contains_key(name) {
            place_of(table, name, place)
        } else {
            at.to_owned()
        },
        key: format!("{key}.{name}"),
        expected: expected.to_owned(),
        actual: table.get(name).map_or("nothing".to_owned(), |item| {
            item.to_string().trim().to_owned()
        }),
    };
    let amount = |name: &str| {
        let text = table.get(name).and_then(Item::as_str);
        let says = "a decimal in quotes with at most 6 places, as in \"3.00\"";
        text.and_then(|text| micro_units(text).ok())
            .ok_or_else(|| wrong(name, says))
    };
    let currency = match table.get("currency") {
        None => "USD",
        Some(item) => item
            .as_str()
            .filter(|text| is_currency(text))
            .ok_or_else(|| wrong("currency", "letters, as in \"USD\""))?,
    };
    Ok(Price {
        input_per_mtok: amount("input_per_mtok")?,
        output_per_mtok: amount("output_per_mtok")?,
        currency: currency.to_owned(),
    })
}

/// Whether a word may be an alias.
pub fn is_alias(text: &str) -> bool {
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-');
    (1..=MAX_ALIAS).contains(&text.len()) && text.bytes().all(fine) && !TAKEN.contains(&text)
}

fn section<'a>(
    item: &'a Item,
    key: &str,
    place: TablePlace<'_>,
) -> Result<&'a dyn TableLike, ConfigError> {
    item.as_table_like().ok_or_else(|| ConfigError::Wrong {
        place: place(item.span()),
        key: key.to_owned(),
        expected: format!("a section: [{key}]"),
        actual: item.type_name().to_owned(),
    })
}

pub(super) fn place_of(table: &dyn TableLike, name: &str, place: TablePlace<'_>) -> String {
    place(table.get_key_value(name).and_then(|(key, _)| key.span()))
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    fn read(text: &str) -> Result<NamedTables, ConfigError> {
        Settings::read(text, "gently.toml", &|_| None).map(|settings| settings.named().clone())
    }

    #[test]
    fn aliases_add_to_those_that_are_shipped() {
        for (alias, id) in SHIPPED {
            assert!(is_alias(alias) && is_model_id(id), "{alias}");
        }
        let named =
            read("[model]\nseed = 1\n[model.alias]\nfast = 'ollama/qwen:1b'\nopus = 'openai/o'")
                .unwrap();
        assert_eq!(named.aliases.len(), SHIPPED.len() + 1);
        assert_eq!(
            (
                named.aliases["fast"].as_str(),
                named.aliases["opus"].as_str()
            ),
            ("ollama/qwen:1b", "openai/o")
        );
        assert_eq!(
            read("model = { alias = { a = 'observer' } }")
                .unwrap()
                .aliases["a"],
            "observer"
        );
    }

    #[test]
    fn windows_are_whole_numbers_by_the_full_id() {
        let windows = read("[model.window]\n'ollama/a:8b' = 8192\n\"openai/x\" = 256")
            .unwrap()
            .windows;
        assert_eq!((windows["ollama/a:8b"], windows["openai/x"]), (8192, 256));
    }

    #[test]
    fn prices_are_read_exactly() {
        let text = "[price.\"anthropic/x\"]\ninput_per_mtok = '3.00'\noutput_per_mtok = '15'\n\
                    [price.\"ollama/a:8b\"]\ninput_per_mtok = '0'\noutput_per_mtok = '0.000001'\ncurrency = 'EUR'";
        let prices = read(text).unwrap().prices;
        let price = |input_per_mtok, output_per_mtok, currency: &str| Price {
            input_per_mtok,
            output_per_mtok,
            currency: currency.to_owned(),
        };
        assert_eq!(prices["anthropic/x"], price(3_000_000, 15_000_000, "USD"));
        assert_eq!(prices["ollama/a:8b"], price(0, 1, "EUR"));
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        for (text, said) in [
            (
                "[model.alias]\nAuto = 'observer'",
                "line 2: model.alias.Auto is an alias of",
            ),
            (
                "[model.alias]\nauto = 'observer'",
                "none of auto, observer, replay",
            ),
            (
                "[model.alias]\nfast = 'sonnet'",
                "line 2: model.alias.fast is a model's full id",
            ),
            ("[model.alias]\nfast = 1", "model's full id"),
            ("[model]\nalias = 'x'", "model.alias is a section"),
            (
                "[model.window]\nsonnet = 8192",
                "line 2: model.window.\"sonnet\" is a model's full id in quotes",
            ),
            (
                "[model.window]\n'openai/x' = 255",
                "line 2: model.window.\"openai/x\" is a whole number of tokens from 256",
            ),
            (
                "[model.window]\n'openai/x' = '8192'",
                "a whole number of tokens",
            ),
            ("[model]\nwindow = 8192", "model.window is a section"),
            ("price = 1", "price is a section"),
            (
                "[price.sonnet]\ninput_per_mtok = '1'",
                "line 1: price.\"sonnet\" is a model's full id in quotes",
            ),
            (
                "[price.\"openai/x\"]\ninput_per_mtok = 3.0\noutput_per_mtok = '1'",
                "line 2: price.\"openai/x\".input_per_mtok is a decimal in quotes",
            ),
            (
                "[price.\"openai/x\"]\ninput_per_mtok = '1'",
                "output_per_mtok is a decimal in quotes",
            ),
            (
                "[price.\"openai/x\"]\nper_token = '1'",
                "line 2: unknown key 'price.\"openai/x\".per_token'",
            ),
            (
                "[price.\"openai/x\"]\ninput_per_mtok = '1'\noutput_per_mtok = '1'\ncurrency = '$'",
                "letters, as in",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
