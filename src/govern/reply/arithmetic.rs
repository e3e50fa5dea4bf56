//! Numbers of a reply, and whether bundle and prompt come to them.
//!
//! A number has a source when it is one that was shown or said, in another spelling (`1,000`,
//! `1000`, `1 thousand`), rounded as far as it is given, in another unit (MB and GB of either kind,
//! seconds and days, a fraction and its percentage), or simple arithmetic on what was seen: a
//! share, its complement, a sum or a difference of values of one thing (`mem_total_mb`,
//! `mem_used_mb`), or + − × ÷ of two numbers of the prompt.

use std::sync::LazyLock;

use regex::Regex;

use crate::record::ledger::bundle::{Bundle, Measurement, SightEntry};

/// Relative distance within which a round figure still is the value: *about 4000* for 3812.
const ROUND: f64 = 0.06;
/// A whole number up to this without a unit is a count of what the reply itself lists.
const COUNT: f64 = 10.0;
/// Prompts with more numbers than this are not calculated with: some pair would come to anything.
const OPERANDS: usize = 8;
/// The same of a bundle with more values: no machine has as many that one would add up.
const PAIRED: usize = 400;

/// One number as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::govern) struct Number {
    /// With `thousand`, `million` and the like multiplied in.
    pub value: f64,
    /// Half of the last place that is given.
    half: f64,
    /// What follows: `%`, `gb`, `days`; empty when nothing that is known.
    pub unit: String,
}

struct NumberPatterns {
    number: RegexPair,
    label: LazyLock<Regex>,
    shown: RegexPair,
}

/// One expression for all texts, and what it comes to on ASCII, which is compiled in a tenth of the
/// time.
struct RegexPair {
    any: LazyLock<Regex>,
    ascii: LazyLock<Regex>,
}

impl RegexPair {
    fn on(&self, text: &str) -> &Regex {
        if text.is_ascii() {
            &self.ascii
        } else {
            &self.any
        }
    }
}

const UNITS: &str = r"(?i-u:%|(?:percent|per cent|[kmgt]i?b|bytes?|thousand|million|billion|trillion|bn|k|milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|hrs?|h|days?|weeks?|[kmg]hz)\b)";

/// Digits of a number, with or without commas between thousands.
const DIGITS: &str = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?";

fn new(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles it")
}

/// Each is compiled when it is first needed.
static ALL: NumberPatterns = NumberPatterns {
    number: RegexPair {
        any: LazyLock::new(|| {
            new(&format!(
                r"(?:^|[^\w.,/-])[$€£]?(?P<n>{DIGITS})(?:\s?(?P<u>{UNITS}))?(?P<after>[\w/]?)"
            ))
        }),
        ascii: LazyLock::new(|| {
            new(&format!(
                r"(?:^|[\x00-\x7f&&[^0-9A-Za-z_.,/-]])[$]?(?P<n>{DIGITS})(?:[\t-\r ]?(?P<u>{UNITS}))?(?P<after>[0-9A-Za-z_/]?)"
            ))
        }),
    },
    label: LazyLock::new(|| {
        new(
            r"(?i-u:#|\b(?:steps?|figures?|tables?|options?|parts?|sections?|chapters?|levels?|phases?|points?|items?|examples?|questions?|answers?|cases?|rules?|lines?|pages?|tiers?|no\.|number))\s?[0-9]+(?:\s?(?:-|–|to|and)\s?[0-9]+)?",
        )
    }),
    shown: RegexPair {
        any: LazyLock::new(|| new(r"(?:^|[^\w.])(-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)(?-u:\b)")),
        ascii: LazyLock::new(|| {
            new(r"(?:^|[\x00-\x7f&&[^0-9A-Za-z_.]])(-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)(?-u:\b)")
        }),
    },
};

/// Whether a word stands in a text that names what a number may be the number of.
fn may_have_labels(text: &str) -> bool {
    const LABELS: [&str; 22] = [
        "#", "step", "figure", "table", "option", "part", "section", "chapter", "level", "phase",
        "point", "item", "example", "question", "answer", "case", "rule", "line", "page", "tier",
        "no.", "number",
    ];
    let text = text.to_ascii_lowercase();
    LABELS.iter().any(|label| text.contains(label))
}

/// The numbers that a text states; labels, small counts, ordinals and parts of names are none.
pub(in crate::govern) fn numbers(text: &str) -> Vec<Number> {
    if !text.bytes().any(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    let all = &ALL;
    let text = if may_have_labels(text) {
        all.label.replace_all(text, " ")
    } else {
        text.into()
    };
    let mut out = Vec::new();
    let mut from = 0;
    let expression = all.number.on(&text);
    while let Some(found) = text.get(from..).and_then(|rest| expression.captures(rest)) {
        let Some(digits) = found.name("n") else { break };
        from += digits.end();
        let named = found.name("after").is_some_and(|m| !m.as_str().is_empty());
        if !named {
            out.extend(number(
                digits.as_str(),
                found.name("u").map_or("", |m| m.as_str()),
            ));
        }
    }
    out.retain(|n| !is_count(n));
    out
}

fn number(digits: &str, unit: &str) -> Option<Number> {
    let plain = digits.replace(',', "");
    let value: f64 = plain.parse().ok()?;
    let places = plain.split_once('.').map_or(0, |(_, rest)| rest.len());
    let unit = unit.to_lowercase();
    let scale = match unit.as_str() {
        "thousand" | "k" => 1e3,
        "million" => 1e6,
        "billion" | "bn" => 1e9,
        "trillion" => 1e12,
        _ => 1.0,
    };
    let half = scale * 0.5 * 10f64.powi(-i32::try_from(places).unwrap_or(i32::MAX));
    Some(Number {
        value: value * scale,
        half,
        unit: if scale > 1.0 { String::new() } else { unit },
    })
}

fn is_count(n: &Number) -> bool {
    let all_of_it =
        matches!(n.unit.as_str(), "%" | "percent" | "per cent") && (n.value - 100.0).abs() < n.half;
    all_of_it || (n.unit.is_empty() && n.value <= COUNT && n.value.fract() == 0.0 && n.half >= 0.5)
}

impl Number {
    /// What it is by its spelling: the same for numbers that are equal.
    pub fn key(&self) -> (u64, u64, &str) {
        (self.value.to_bits(), self.half.to_bits(), &self.unit)
    }

    /// Whether a value is this number, as far as it is given.
    pub fn is(&self, value: f64) -> bool {
        let distance = (value - self.value).abs();
        let round =
            self.half >= 0.5 && distance <= (half_of_round(self.value)).min(value.abs() * ROUND);
        round || distance <= self.half + value.abs() * 1e-9
    }

    /// Whether a value is this number, also when it was cut off rather than rounded.
    fn is_cut(&self, value: f64) -> bool {
        self.is(value) || (value >= self.value && value - self.value < 2.0 * self.half)
    }
}

/// Half of the last place of a whole number that is not a zero: 500 for 4000, 0.5 for 4001.
fn half_of_round(value: f64) -> f64 {
    let mut place = 1.0;
    while value > 0.0 && value % (place * 10.0) == 0.0 {
        place *= 10.0;
    }
    place / 2.0
}

/// The numbers that a reply may draw on; each list sorted, so that a number is held against its
/// neighbours alone.
pub(in crate::govern) struct KnownNumbers {
    /// As they stand in bundle and prompt.
    plain: Vec<f64>,
    /// What values of sight come to in other units and together.
    derived: Vec<f64>,
    /// What they come to as percentages.
    percents: Vec<f64>,
    /// Durations told as a whole or in parts (*1 day, 2 hours*), in each of [`DURATIONS`].
    durations: [Vec<f64>; DURATIONS.len()],
}

impl KnownNumbers {
    /// Of a bundle, its print, and the prompt's numbers.
    pub fn of(bundle: &Bundle, shown: &str, told: Vec<Number>) -> KnownNumbers {
        let values = sight(bundle);
        let in_bundle = ALL
            .shown
            .on(shown)
            .captures_iter(shown)
            .filter_map(|c| c.get(1));
        let mut plain: Vec<f64> = in_bundle
            .filter_map(|m| m.as_str().replace(',', "").parse().ok())
            .collect();
        plain.extend(told.iter().map(|n| n.value));
        // `cpu_load_15m` is the load over 15 minutes.
        let names = values
            .iter()
            .flat_map(|(name, _)| name.split(|c: char| !c.is_ascii_digit()));
        plain.extend(names.filter_map(|digits| digits.parse::<f64>().ok()));
        let mut derived: Vec<f64> = values
            .iter()
            .flat_map(|(name, value)| other_units(name, *value))
            .collect();
        let mut percents: Vec<f64> = Vec::new();
        together(&values, &mut derived, &mut percents);
        derived.extend(calculated(&told));
        let full = values
            .iter()
            .filter(|(name, _)| name.ends_with("_pct"))
            .map(|(_, value)| 100.0 - value);
        percents.extend(full.chain(calculated(&told)));
        let seconds: Vec<f64> = values
            .iter()
            .filter(|(name, _)| name.ends_with("_s"))
            .map(|(_, value)| *value)
            .collect();
        let durations = DURATIONS.map(|(_, unit, within)| {
            sorted(
                seconds
                    .iter()
                    .flat_map(|all| [all / unit, (all % within) / unit])
                    .collect(),
            )
        });
        KnownNumbers {
            plain: sorted(plain),
            derived: sorted(derived),
            percents: sorted(percents),
            durations,
        }
    }

    /// Whether any of them is this number.
    pub fn explains(&self, n: &Number) -> bool {
        let percent = n.unit.starts_with(['%', 'p']);
        let made = if percent {
            &self.percents
        } else {
            &self.derived
        };
        let spans = DURATIONS
            .iter()
            .zip(&self.durations)
            .find(|((names, ..), _)| names.contains(&n.unit.as_str()));
        any_near(&self.plain, n, 1.0, Number::is)
            || (percent && any_near(&self.plain, n, 100.0, Number::is))
            || any_near(made, n, 1.0, Number::is)
            || spans.is_some_and(|(_, spans)| any_near(spans, n, 1.0, Number::is_cut))
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.retain(|value| !value.is_nan());
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    values
}

/// Whether one of sorted values is a number when multiplied by `scale`.
///
/// What counts as a number lies around it without a gap, so if neither neighbour is it, none is.
fn any_near(values: &[f64], n: &Number, scale: f64, is: fn(&Number, f64) -> bool) -> bool {
    let at = values.partition_point(|value| value * scale < n.value);
    let neighbour = |at: usize| values.get(at).is_some_and(|value| is(n, value * scale));
    neighbour(at) || at.checked_sub(1).is_some_and(neighbour)
}

/// Units of time: their names, seconds, and the seconds of the next larger one.
const DURATIONS: [(&[&str], f64, f64); 5] = [
    (&["s", "sec", "secs", "second", "seconds"], 1.0, 60.0),
    (&["min", "mins", "minute", "minutes"], 60.0, 3600.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3600.0, 86400.0),
    (&["d", "day", "days"], 86400.0, 604_800.0),
    (&["week", "weeks"], 604_800.0, f64::INFINITY),
];

/// Whether a number with a unit of time is a duration, or its part of that unit.
pub(in crate::govern) fn of_duration(n: &Number, seconds: f64) -> bool {
    let unit = DURATIONS
        .iter()
        .find(|(names, ..)| names.contains(&n.unit.as_str()));
    unit.is_some_and(|(_, unit, within)| {
        n.is_cut(seconds / unit) || n.is_cut((seconds % within) / unit)
    })
}

/// Names and values of everything seen that is a number, and how old it is.
pub(in crate::govern) fn sight(bundle: &Bundle) -> Vec<(String, f64)> {
    let mut out = Vec::new();
    for entry in bundle.sight.values() {
        let SightEntry::Seen {
            values,
            freshness_s,
            ..
        } = entry
        else {
            continue;
        };
        let number =
            |(name, reading): (&String, &Measurement)| Some((name.clone(), reading.number()?));
        out.extend(values.iter().filter_map(number));
        out.extend(
            Measurement::Count(*freshness_s)
                .number()
                .map(|age| ("freshness_s".to_owned(), age)),
        );
    }
    out
}

/// A value in the units that people say it in.
fn other_units(name: &str, value: f64) -> Vec<f64> {
    if name.ends_with("_bytes") {
        return [1024.0_f64, 1000.0]
            .iter()
            .flat_map(|base| [value / base, value / base / base])
            .collect();
    }
    if name.ends_with("_mb") {
        // Readers meet both kinds of unit, so either spelling of the value is right.
        let (two, ten) = (1024.0, 1000.0);
        return vec![
            value / two,
            value / ten,
            value * 1.048_576,
            value * 1.048_576 / ten,
            value / two / two,
            value * two,
        ];
    }
    if name.ends_with("_pct") {
        return vec![value / 100.0];
    }
    Vec::new()
}

/// Shares, complements, sums and differences of the values of one thing.
fn together(values: &[(String, f64)], derived: &mut Vec<f64>, percents: &mut Vec<f64>) {
    let thing = |name: &str| name.split('_').next().unwrap_or_default().to_owned();
    let unit = |name: &str| name.rsplit('_').next().unwrap_or_default().to_owned();
    if values.len() > PAIRED {
        return;
    }
    for (i, (a, x)) in values.iter().enumerate() {
        for (b, y) in values.iter().skip(i + 1) {
            let loads = (a == "cores" && b.starts_with("cpu_load"))
                || (b == "cores" && a.starts_with("cpu_load"));
            if !loads && (thing(a) != thing(b) || unit(a) != unit(b)) {
                continue;
            }
            for (part, whole) in [(x, y), (y, x)] {
                if *whole > 0.0 {
                    percents.extend([part / whole * 100.0, 100.0 - part / whole * 100.0]);
                    derived.push(part / whole);
                }
            }
            let (sum, difference) = (x + y, (x - y).abs());
            derived.extend([sum, difference]);
            derived.extend(other_units(a, difference));
            derived.extend(other_units(a, sum));
        }
    }
}

/// What two numbers of the prompt come to.
fn calculated(told: &[Number]) -> Vec<f64> {
    if told.len() > OPERANDS {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (i, a) in told.iter().enumerate() {
        for (j, b) in told.iter().enumerate() {
            if i != j {
                let (a, b) = (a.value, b.value);
                out.extend([a + b, a - b, a * b, a * b / 100.0]);
                if b != 0.0 {
                    out.extend([a / b, a / b * 100.0]);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::reply::validate::tests::BUNDLE;

    fn known(prompt: &str) -> KnownNumbers {
        let bundle = Bundle::parse(BUNDLE).unwrap();
        KnownNumbers::of(&bundle, &bundle.print().unwrap(), numbers(prompt))
    }

    fn explained(prompt: &str, text: &str) -> bool {
        let found = numbers(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        known(prompt).explains(&found[0])
    }

    #[test]
    fn one_value_in_many_spellings() {
        for text in [
            "0.42",
            "42%",
            "42 percent",
            "71%",
            "29%",
            "8,000 MB",
            "8000 MB",
            "7.8 GB",
            "7.81 GiB",
            "8 GB",
            "3.8 GB",
            "3.7 GiB",
            "4200 MB",
            "47.5%",
            "48%",
            "21%",
            "52.5 %",
            "about 4000 MB",
        ] {
            assert!(explained("Hi", text), "{text}");
        }
        for text in [
            "15 minutes",
            "0.43",
            "43%",
            "72%",
            "8,001 MB",
            "6.5 GB",
            "4300",
            "47.4%",
            "5000 MB",
        ] {
            assert!(!explained("Hi", text), "{text}");
        }
    }

    #[test]
    fn arithmetic_on_the_prompts_numbers() {
        for text in ["391", "40", "0.74", "73.9%"] {
            assert!(explained("What are 17 and 23 together?", text), "{text}");
        }
        assert!(!explained("What are 17 and 23 together?", "392"));
        assert!(!explained("1 11 12 13 14 15 16 17 18 19 20", "391"));
    }

    #[test]
    fn durations_in_parts() {
        let day = |text: &str| of_duration(&numbers(text)[0], 93_784.0);
        for text in [
            "1 day",
            "26 hours",
            "2 hours",
            "26.05 hours",
            "3 minutes",
            "1.1 days",
            "93784 s",
        ] {
            assert!(day(text), "{text}");
        }
        for text in ["2 days", "3 hours", "25 hours", "7 minutes", "1 GB"] {
            assert!(!day(text), "{text}");
        }
    }

    proptest::proptest! {
        /// The expressions of ASCII find in ASCII what those of all texts find.
        #[test]
        fn on_ascii_both_expressions_are_one(text in "([0-9]{1,4}|[ -~\\t\\n]|[.,/$%-]|GB|k|, |hours|\\x0b|\\r){0,24}") {
            for twin in [&ALL.number, &ALL.shown] {
                let all = |regex: &Regex| -> Vec<Vec<Option<(usize, usize)>>> {
                    let groups = |c: regex::Captures<'_>| c.iter().map(|m| m.map(|m| (m.start(), m.end()))).collect();
                    regex.captures_iter(&text).map(groups).collect()
                };
                proptest::prop_assert_eq!(all(&twin.any), all(&twin.ascii), "{:?}", text);
            }
        }

        /// Held against its neighbours alone, a number comes out as when it is held against every
        /// value.
        #[test]
        fn neighbours_say_what_all_say(
            values in proptest::collection::vec((0_u32..3000, 0_u32..4), 0..30),
            told in 0_u32..30_000, places in 0_usize..3, unit in 0_usize..4,
        ) {
            let values = sorted(values.iter().map(|(n, scale)| f64::from(*n) * 10f64.powi(*scale as i32 - 2)).collect());
            let unit = ["", " %", " days", " thousand"][unit];
            let text = format!("{:.places$}{unit}", f64::from(told) / 10f64.powi(places as i32));
            for n in numbers(&text) {
                for (scale, is) in [(1.0, Number::is as fn(&Number, f64) -> bool), (100.0, Number::is), (1.0, Number::is_cut)] {
                    let all = values.iter().any(|value| is(&n, value * scale));
                    proptest::prop_assert_eq!(any_near(&values, &n, scale, is), all, "{} {:?}", text, values);
                }
            }
        }
    }

    #[test]
    fn what_is_a_number() {
        let values = |text: &str| {
            numbers(text)
                .into_iter()
                .map(|n| n.value)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            values("1,234 and 12.50; $99, 7% 2.5 million"),
            [1234.0, 12.5, 99.0, 7.0, 2_500_000.0]
        );
        assert!(values("3 ways, 10, 42nd, x86, UTF-8, 24/7, step 12, #15, 100%, 3D").is_empty());
        assert_eq!(values("12GB 11.0 0.5"), [12.0, 11.0, 0.5]);
    }
}
