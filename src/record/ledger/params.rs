//! What a call was made with beside its two messages, and what it cost (column and exchange
//! document).
//!
//! Recorded JSON has no fractions, so a temperature is text (`"0.2"`) and a cost is whole
//! millionths of its currency. Only what was sent is recorded: a setting that a model's wire has no
//! place for is left out.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::record::canon;
use crate::record::canon::CanonError;

use super::image::ImageEntry;

/// The hottest that any provider takes.
const MAX_TEMPERATURE: u32 = 2000;
/// Places after the point.
const PLACES: usize = 3;
/// Characters of a currency: `USD`, `EUR`, or a word.
const MAX_CURRENCY: usize = 8;
/// The largest number that canonical JSON holds exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;
/// Millionths in one.
const MICRO: u128 = 1_000_000;

/// A number that is not one of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found '{actual}'")]
pub struct NotDecimal {
    /// What is taken.
    pub expected: &'static str,
    /// What was given.
    pub actual: String,
}

/// A sampling temperature from 0 to 2 in thousandths; `Display` and JSON are its shortest decimal
/// text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Temperature(u32);

impl Temperature {
    /// As the number that goes over the wire.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl FromStr for Temperature {
    type Err = NotDecimal;
    fn from_str(text: &str) -> Result<Self, NotDecimal> {
        let milli = scaled(text, PLACES)
            .and_then(|m| u32::try_from(m).ok())
            .filter(|m| *m <= MAX_TEMPERATURE);
        milli.map(Temperature).ok_or_else(|| NotDecimal {
            expected: "a decimal from 0 to 2 with at most 3 places, as in 0.2",
            actual: text.to_owned(),
        })
    }
}

impl fmt::Display for Temperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0 / 1000, self.0 % 1000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Temperature {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let read: Temperature = text.parse().map_err(serde::de::Error::custom)?;
        // One text for one value, so that what is read prints back the same.
        if read.to_string() == text {
            Ok(read)
        } else {
            Err(serde::de::Error::custom("not the shortest decimal"))
        }
    }
}

/// How any JSON is declared.
pub const ANY_JSON: &str = "json";
/// What the model is told before a schema.
pub const SCHEMA_TOLD: &str =
    "Answer with one JSON value and nothing else. It must hold against this JSON Schema: ";

/// What the model is told of a declared shape, in the message of the question.
pub fn shape_told(shape: &str) -> String {
    if shape == ANY_JSON {
        return "Answer with one JSON value and nothing else.".to_owned();
    }
    format!("{SCHEMA_TOLD}{shape}")
}

/// How a server itself is told that an answer has a declared shape, beside the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Any JSON object.
    JsonObject,
    /// JSON that holds against the declared schema.
    JsonSchema,
}

impl ResponseFormat {
    /// The spelling in documents.
    pub const fn name(self) -> &'static str {
        match self {
            ResponseFormat::JsonObject => "json_object",
            ResponseFormat::JsonSchema => "json_schema",
        }
    }
}

/// What stands in `llm_exchange.params`; keys in this order are also their canonical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The declared output shape: `json`, or the canonical print of a JSON Schema. Left out when
    /// none is declared. The model is told of it, so that the compiled prompt's commitment covers
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// Images that were sent behind the question. Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageEntry>,
    /// The most tokens that the answer may have.
    pub max_tokens: Option<u64>,
    /// How many tokens the server was told to take, prompt and answer together. Left out where it
    /// was told nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_ctx: Option<u64>,
    /// What the server itself was told of the shape. Left out where it was told nothing, as in all
    /// exchanges from before servers were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// Where sampling starts, for models that repeat themselves.
    pub seed: Option<u64>,
    /// Whether the answer was asked for piece by piece. Left out where it was not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stream: bool,
    /// The owner's own part of the system message, secrets removed; a part of the compiled prompt.
    pub system: Option<String>,
    /// How freely words are chosen.
    pub temperature: Option<Temperature>,
}

/// Whether something is left out because it is not so.
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

impl Params {
    /// The canonical print, as it is stored.
    ///
    /// # Errors
    /// Only for a number that JSON can't hold exactly.
    pub fn canonical(&self) -> Result<String, CanonError> {
        canon::print(self)
    }

    /// Reads what [`Params::canonical`] printed.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, CanonError> {
        canon::parse(text.as_bytes())
    }

    /// What the model is told of the shape that is declared, if one is, and if the owner's text does
    /// not begin with it: there it stood in exchanges from before the question's message had it.
    pub fn shape_beside(&self) -> Option<String> {
        let said = self.system.as_deref().unwrap_or_default();
        let told = shape_told(self.expect.as_deref()?);
        (!said.starts_with(&told)).then_some(told)
    }

    /// The same without texts, and without what they could be guessed from: its numbers.
    pub fn without_content(self) -> Params {
        Params {
            images: Vec::new(),
            system: None,
            ..self
        }
    }

    /// As the exchange document names them: without text, which the compiled prompt's commitment
    /// covers.
    pub fn named(&self) -> ParamsSection {
        ParamsSection {
            max_tokens: self.max_tokens,
            seed: self.seed,
            temperature: self.temperature,
        }
    }
}

/// The part of [`Params`] that the exchange document spells out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsSection {
    /// Most tokens of an answer, as [`Params::max_tokens`].
    pub max_tokens: Option<u64>,
    /// Seed of the model's randomness, as [`Params::seed`].
    pub seed: Option<u64>,
    /// Temperature of the model, as [`Params::temperature`].
    pub temperature: Option<Temperature>,
}

/// What an exchange cost by the price table of its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// `USD` unless the table says otherwise.
    pub currency: String,
    /// Millionths of it.
    pub micro: u64,
}

/// `$0.0041`, or `0.0041 EUR`: exact, with two places or more.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (
            u128::from(self.micro) / MICRO,
            u128::from(self.micro) % MICRO,
        );
        let places = format!("{rest:06}");
        let kept = places.trim_end_matches('0').len().max(2);
        let amount = format!("{whole}.{}", places.get(..kept).unwrap_or(&places));
        if self.currency == "USD" {
            write!(f, "${amount}")
        } else {
            write!(f, "{amount} {}", self.currency)
        }
    }
}

/// The price of a model: millionths of a currency for a million tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// For tokens of the prompt.
    pub input_per_mtok: u64,
    /// For tokens of the answer.
    pub output_per_mtok: u64,
    /// Currency of both prices, such as `USD`.
    pub currency: String,
}

impl Price {
    /// The cost of so many tokens, rounded to the nearest millionth, halves up; none when no JSON
    /// number holds it.
    pub fn cost(&self, prompt_tokens: u64, completion_tokens: u64) -> Option<Cost> {
        let input = u128::from(self.input_per_mtok) * u128::from(prompt_tokens);
        let output = u128::from(self.output_per_mtok) * u128::from(completion_tokens);
        let micro = input.checked_add(output)?.checked_add(MICRO / 2)? / MICRO;
        let micro = u64::try_from(micro)
            .ok()
            .filter(|micro| *micro <= MAX_EXACT)?;
        Some(Cost {
            currency: self.currency.clone(),
            micro,
        })
    }
}

/// Reads an amount of money such as `3.00` as millionths; at most six places.
///
/// # Errors
/// [`NotDecimal`].
pub fn micro_units(text: &str) -> Result<u64, NotDecimal> {
    scaled(text, 6).ok_or_else(|| NotDecimal {
        expected: "a decimal such as 3.00, with at most 6 places",
        actual: text.to_owned(),
    })
}

/// Whether a text may name a currency: 1 to 8 letters.
pub fn is_currency(text: &str) -> bool {
    (1..=MAX_CURRENCY).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphabetic())
}

/// A decimal without sign or exponent, times ten to the power of `places`; exactly, or not at all.
fn scaled(text: &str, places: usize) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(rest) || rest.len() > places || whole.len() > 9 {
        return None;
    }
    format!("{whole}{rest:0<places$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temperatures_have_one_text_each() {
        for (typed, text) in [
            ("0", "0"),
            ("0.0", "0"),
            ("0.2", "0.2"),
            ("0.200", "0.2"),
            ("1", "1"),
            ("2.000", "2"),
            ("00.125", "0.125"),
        ] {
            let read: Temperature = typed.parse().unwrap();
            assert_eq!(read.to_string(), text);
            assert_eq!(read.as_f64(), text.parse::<f64>().unwrap());
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Temperature>(&json).unwrap(), read);
        }
        for typed in [
            "",
            ".",
            "0.",
            ".5",
            "-0.1",
            "+1",
            "2.001",
            "3",
            "1e0",
            "0.1234",
            "0,2",
            " 0",
            "warm",
            "9999999999",
        ] {
            assert!(typed.parse::<Temperature>().is_err(), "{typed}");
        }
        for json in ["\"0.20\"", "0.2", "\"2.1\"", "\"00\""] {
            assert!(serde_json::from_str::<Temperature>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn params_print_and_read_back() {
        let none = r#"{"max_tokens":null,"seed":null,"system":null,"temperature":null}"#;
        assert_eq!(Params::default().canonical().unwrap(), none);
        let all = Params {
            max_tokens: Some(64),
            seed: Some(0),
            system: Some("Kurz, \"bitte\".\n".into()),
            temperature: Some("0.2".parse().unwrap()),
            ..Params::default()
        };
        let text = all.canonical().unwrap();
        assert_eq!(
            text,
            r#"{"max_tokens":64,"seed":0,"system":"Kurz, \"bitte\".\n","temperature":"0.2"}"#
        );
        assert_eq!(Params::parse(&text).unwrap(), all);
        let asked = Params {
            num_ctx: Some(8192),
            stream: true,
            ..Params::default()
        };
        let text = asked.canonical().unwrap();
        assert_eq!(
            text,
            r#"{"max_tokens":null,"num_ctx":8192,"seed":null,"stream":true,"system":null,"temperature":null}"#
        );
        assert_eq!(Params::parse(&text).unwrap(), asked);
        let shaped = Params {
            expect: Some("json".into()),
            response_format: Some(ResponseFormat::JsonObject),
            ..Params::default()
        };
        assert!(
            shaped
                .canonical()
                .unwrap()
                .contains(r#""max_tokens":null,"response_format":"json_object","seed":null"#)
        );
        assert_eq!(Params::parse(&shaped.canonical().unwrap()).unwrap(), shaped);
        assert!(
            shaped
                .canonical()
                .unwrap()
                .starts_with("{\"expect\":\"json\",\"max_tokens\"")
        );
        for wrong in [
            "{}x",
            " {}",
            r#"{"max_tokens":null,"seed":null,"system":null,"temperature":null,"top_p":1}"#,
        ] {
            assert!(Params::parse(wrong).is_err(), "{wrong}");
        }
        assert!(!canon::print(&all.named()).unwrap().contains("Kurz"));
    }

    #[test]
    fn costs_are_whole_millionths() {
        let price = |input: &str, output: &str, currency: &str| Price {
            input_per_mtok: micro_units(input).unwrap(),
            output_per_mtok: micro_units(output).unwrap(),
            currency: currency.to_owned(),
        };
        for (price, tokens, micro, shown) in [
            (price("3.00", "15", "USD"), (700, 112), 3780, "$0.00378"),
            (
                price("3", "15", "EUR"),
                (1_000_000, 1_000_000),
                18_000_000,
                "18.00 EUR",
            ),
            (price("0", "0", "USD"), (5, 5), 0, "$0.00"),
            (price("0.5", "0", "USD"), (1, 0), 1, "$0.000001"),
            (price("0.499999", "0", "USD"), (1, 0), 0, "$0.00"),
            (price("10", "0.1", "USD"), (120_000, 0), 1_200_000, "$1.20"),
        ] {
            let cost = price.cost(tokens.0, tokens.1).unwrap();
            assert_eq!((cost.micro, cost.to_string().as_str()), (micro, shown));
        }
        assert_eq!(price("999999999", "0", "USD").cost(u64::MAX, 0), None);
        for wrong in ["", "-1", "1.1234567", "1e6", "$3", "1000000000000"] {
            assert!(micro_units(wrong).is_err(), "{wrong}");
        }
        assert!(
            is_currency("USD")
                && !is_currency("")
                && !is_currency("US D")
                && !is_currency("toolongcurrency")
        );
    }
}
