//! The JSON values of traces, and their print as Python makes it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::record::context::json;

/// A JSON value whose numbers keep what they were: an integer is no fraction, however it is used.
///
/// Its keys are sorted by their code points, as UTF-8 sorts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// An integer or a fraction.
    Number(TraceNumber),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<TraceValue>),
    /// An object.
    Map(BTreeMap<String, TraceValue>),
}

/// A number, as Python prints it: `7`, `0.8`, `1.0`, `1e-05`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceNumber(String);

/// Places after the point in a fraction of ours.
const PLACES: usize = 4;
/// Fractions of ours are below this: with four places they then have at most sixteen digits, which
/// a double holds.
const BELOW: u128 = 1_000_000_000_000;
/// From this power of ten on Python prints an exponent.
const LARGE: i32 = 16;
/// Below this power of ten Python prints an exponent, too.
const TINY: i32 = -4;

impl TraceNumber {
    /// A whole number.
    pub fn count(number: u64) -> TraceNumber {
        TraceNumber(number.to_string())
    }

    /// A fraction of two whole numbers, of at most four places, half to even; none for a divisor of
    /// zero and for a fraction of 10¹² and more.
    pub fn ratio(dividend: u128, divisor: u128) -> Option<TraceNumber> {
        let scale = 10_u128.pow(4);
        let scaled = dividend.checked_mul(scale)?;
        let (quotient, rest) = (scaled.checked_div(divisor)?, scaled.checked_rem(divisor)?);
        // The rest is below the divisor: what is left to it is compared, which can't overflow.
        let is_odd = quotient % 2 == 1;
        let up = match rest.cmp(&(divisor - rest)) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => is_odd,
            std::cmp::Ordering::Greater => true,
        };
        let rounded = quotient + u128::from(up);
        let (whole, places) = (rounded / scale, rounded % scale);
        if whole >= BELOW {
            return None;
        }
        let places = format!("{places:0>PLACES$}");
        let kept = places.trim_end_matches('0');
        let kept = if kept.is_empty() { "0" } else { kept };
        Some(TraceNumber(format!("{whole}.{kept}")))
    }

    /// A double of anybody, as Python prints it again; none for one that is not finite.
    pub fn double(value: f64) -> Option<TraceNumber> {
        if !value.is_finite() {
            return None;
        }
        let scientific = shortest(value);
        let (digits, exponent) = scientific.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let text = if (TINY..LARGE).contains(&exponent) {
            plain(digits, exponent)
        } else {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        };
        Some(TraceNumber(text))
    }

    /// An integer of any length, from its digits; `-0` is the integer 0.
    pub(super) fn integer(digits: &str) -> TraceNumber {
        let digits = if digits == "-0" { "0" } else { digits };
        TraceNumber(digits.to_owned())
    }

    /// As it is printed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it was written as an integer.
    pub fn is_integer(&self) -> bool {
        let digits = self.0.strip_prefix('-').unwrap_or(&self.0);
        digits.bytes().all(|b| b.is_ascii_digit())
    }

    /// Whether a trace of ours may hold it: an integer, or a fraction in the one form.
    pub fn is_ours(&self) -> bool {
        if self.is_integer() {
            return true;
        }
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        self.0.split_once('.').is_some_and(|(whole, places)| {
            let is_whole = whole.parse::<u128>().is_ok_and(|whole| whole < BELOW);
            is_whole && digits(whole) && digits(places) && (1..=PLACES).contains(&places.len())
        })
    }
}

/// The shortest digits that are read as the same double, with an exponent: of two that are equally
/// near the one with an even last digit, as in Python.
fn shortest(value: f64) -> String {
    let found = format!("{value:e}");
    let digits = found.split('e').next().unwrap_or_default();
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    let nearest = format!("{value:.*e}", count.saturating_sub(1));
    match nearest.parse::<f64>().is_ok_and(|again| again == value) {
        true => nearest,
        false => found,
    }
}

/// `1.25` and an exponent of -1 are `0.125`: the same digits without an exponent, with one place at
/// least.
fn plain(digits: &str, exponent: i32) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let digits = digits.replace('.', "");
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let filled = format!("{digits:0<width$}", width = exponent + 2);
            let (whole, places) = filled.split_at(exponent + 1);
            format!("{sign}{whole}.{places}")
        }
        Err(_) => {
            let zeros: String = (1..exponent.unsigned_abs()).map(|_| '0').collect();
            format!("{sign}0.{zeros}{digits}")
        }
    }
}

impl fmt::Display for TraceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TraceValue {
    /// A string.
    pub fn text(text: impl Into<String>) -> TraceValue {
        TraceValue::Text(text.into())
    }

    /// A whole number.
    pub fn count(number: u64) -> TraceValue {
        TraceValue::Number(TraceNumber::count(number))
    }

    /// A list of strings, in the order that they come in.
    pub fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> TraceValue {
        TraceValue::List(texts.into_iter().map(TraceValue::text).collect())
    }

    /// Adds the value as Python's `json.dumps` prints it with sorted keys and without spaces.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            TraceValue::Null => out.extend_from_slice(b"null"),
            TraceValue::Flag(true) => out.extend_from_slice(b"true"),
            TraceValue::Flag(false) => out.extend_from_slice(b"false"),
            TraceValue::Number(number) => out.extend_from_slice(number.0.as_bytes()),
            TraceValue::Text(text) => json::write_text(out, text),
            TraceValue::List(items) => {
                out.push(b'[');
                for (n, item) in items.iter().enumerate() {
                    separate(out, n);
                    item.write(out);
                }
                out.push(b']');
            }
            TraceValue::Map(entries) => write_map(entries, out),
        }
    }

    /// Whether it is null, `""`, `[]` or `{}`.
    pub fn is_empty(&self) -> bool {
        match self {
            TraceValue::Null => true,
            TraceValue::Text(text) => text.is_empty(),
            TraceValue::List(items) => items.is_empty(),
            TraceValue::Map(entries) => entries.is_empty(),
            TraceValue::Flag(_) | TraceValue::Number(_) => false,
        }
    }

    /// The value without what is empty, at any depth; none where nothing is left.
    pub fn without_empty(self) -> Option<TraceValue> {
        let left = match self {
            TraceValue::List(items) => TraceValue::List(
                items
                    .into_iter()
                    .filter_map(TraceValue::without_empty)
                    .collect(),
            ),
            TraceValue::Map(entries) => TraceValue::Map(
                entries
                    .into_iter()
                    .filter_map(|(key, value)| Some((key, value.without_empty()?)))
                    .collect(),
            ),
            other => other,
        };
        (!left.is_empty()).then_some(left)
    }

    /// The first place below which something does not please, as a JSON pointer; this value itself
    /// is the pointer `""`.
    pub(super) fn find(&self, pleases: &dyn Fn(&TraceValue) -> bool) -> Option<String> {
        if !pleases(self) {
            return Some(String::new());
        }
        match self {
            TraceValue::List(items) => {
                let mut places = items.iter().enumerate();
                places.find_map(|(n, item)| Some(format!("/{n}{}", item.find(pleases)?)))
            }
            TraceValue::Map(entries) => {
                let mut places = entries.iter();
                places.find_map(|(key, item)| Some(format!("/{key}{}", item.find(pleases)?)))
            }
            _ => None,
        }
    }
}

/// Adds an object as [`TraceValue::write`] does.
pub(super) fn write_map(entries: &BTreeMap<String, TraceValue>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (n, (key, value)) in entries.iter().enumerate() {
        separate(out, n);
        json::write_text(out, key);
        out.push(b':');
        value.write(out);
    }
    out.push(b'}');
}

/// A comma before all but the first.
fn separate(out: &mut Vec<u8>, n: usize) {
    if n > 0 {
        out.push(b',');
    }
}

impl Serialize for TraceNumber {
    /// As the number that it is; an integer beyond 64 bits has no place in a document of ours.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if !self.is_integer() {
            let double = self.0.parse::<f64>().map_err(S::Error::custom)?;
            return to.serialize_f64(double);
        }
        match self.0.parse::<u64>() {
            Ok(number) => to.serialize_u64(number),
            Err(_) => to.serialize_i64(self.0.parse().map_err(S::Error::custom)?),
        }
    }
}

impl Serialize for TraceValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            TraceValue::Null => to.serialize_unit(),
            TraceValue::Flag(flag) => to.serialize_bool(*flag),
            TraceValue::Number(number) => number.serialize(to),
            TraceValue::Text(text) => to.serialize_str(text),
            TraceValue::List(items) => to.collect_seq(items),
            TraceValue::Map(entries) => to.collect_map(entries),
        }
    }
}

impl<'de> Deserialize<'de> for TraceValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

/// Takes whatever comes.
struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = TraceValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<TraceValue, E> {
        Ok(TraceValue::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<TraceValue, E> {
        Ok(TraceValue::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<TraceValue, E> {
        Ok(TraceValue::count(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<TraceValue, E> {
        Ok(TraceValue::Number(TraceNumber(number.to_string())))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<TraceValue, E> {
        let number = TraceNumber::double(number).ok_or_else(|| E::custom("not a finite number"))?;
        Ok(TraceValue::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<TraceValue, E> {
        Ok(TraceValue::text(text))
    }

    fn visit_string<E>(self, text: String) -> Result<TraceValue, E> {
        Ok(TraceValue::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TraceValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(TraceValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TraceValue, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<String, TraceValue>()? {
            if entries.insert(key, value).is_some() {
                return Err(A::Error::custom("a key stands twice in one object"));
            }
        }
        Ok(TraceValue::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(dividend: u128, divisor: u128) -> Option<String> {
        TraceNumber::ratio(dividend, divisor).map(|number| number.to_string())
    }

    #[test]
    fn fractions_have_four_places_half_to_even_and_at_least_one() {
        for (dividend, divisor, text) in [
            (4, 5, "0.8"),
            (1, 1, "1.0"),
            (0, 7, "0.0"),
            (1, 3, "0.3333"),
            (2, 3, "0.6667"),
            (1, 20_000, "0.0"),
            (3, 20_000, "0.0002"),
            (5, 20_000, "0.0002"),
            (100_001, 1_000_000_000, "0.0001"),
            (50_001, 1_000_000_000, "0.0001"),
            (199_999, 20_000, "10.0"),
            (9_999_999_999_999_999, 10_000, "999999999999.9999"),
        ] {
            assert_eq!(ratio(dividend, divisor).as_deref(), Some(text));
        }
        assert_eq!(ratio(1, 0), None);
        assert_eq!(ratio(1_000_000_000_000, 1), None);
        assert_eq!(ratio(99_999_999_999_999_996, 100_000), None);
        assert_eq!(ratio(u128::MAX, 1), None);
    }

    #[test]
    fn doubles_are_spelled_as_python_does() {
        for (value, text) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (-1.25e100, "-1.25e+100"),
            (5e-324, "5e-324"),
            (-0.0625, "-0.0625"),
            (120.0, "120.0"),
            (844_292_322_774_496.3, "844292322774496.2"),
            (844_292_322_774_496.8, "844292322774496.8"),
        ] {
            assert_eq!(TraceNumber::double(value).unwrap().as_str(), text);
        }
        assert_eq!(TraceNumber::double(f64::NAN), None);
        assert_eq!(TraceNumber::double(f64::INFINITY), None);
    }

    #[test]
    fn only_numbers_of_the_one_form_are_ours() {
        for ours in ["0", "7", "-7", "0.8", "1.0", "999999999999.9999"] {
            assert!(TraceNumber(ours.to_owned()).is_ours(), "{ours}");
        }
        for other in [
            "-0.5",
            "-0.0",
            "1e-05",
            "1e+16",
            "0.00001",
            "1000000000000.0",
        ] {
            assert!(!TraceNumber(other.to_owned()).is_ours(), "{other}");
        }
    }

    #[test]
    fn what_is_empty_goes_at_any_depth() {
        let given: TraceValue = serde_json::from_str(
            r#"{"a":[],"b":{"c":{"d":""}},"e":[{},"x",null],"f":0,"g":false}"#,
        )
        .unwrap();
        let left = given.without_empty().unwrap();
        let mut out = Vec::new();
        left.write(&mut out);
        assert_eq!(out, br#"{"e":["x"],"f":0,"g":false}"#);
        assert_eq!(left.find(&|value| !value.is_empty()), None);
        let none: TraceValue = serde_json::from_str(r#"{"a":[{"b":[]}]}"#).unwrap();
        assert_eq!(
            none.find(&|value| !value.is_empty()).as_deref(),
            Some("/a/0/b")
        );
        assert_eq!(none.without_empty(), None);
    }
}
