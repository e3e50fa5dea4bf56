//! Figures of a reply about the machine, held against what sight measured: the strongest evidence
//! drift.

use std::sync::LazyLock;

use regex::Regex;

use crate::record::ledger::bundle::Bundle;

use super::arithmetic::{KnownNumbers, numbers, of_duration, sight};
use super::substrings::occurring;
use crate::govern::phrase;
use crate::govern::sanitize::count;

/// Words of what sight measures; the value names of a topic hold its stem.
const TOPICS: [(&str, &[&str]); 6] = [
    ("disk", &["disk", "disks", "storage", "space"]),
    ("mem", &["memory", "ram"]),
    ("swap", &["swap"]),
    ("load", &["load", "cpu"]),
    ("cores", &["cores", "core", "cpus"]),
    ("uptime", &["uptime", "up"]),
];
/// Relative distance within which a rounded figure still is the value: *about 4 GB* for 3.8.
const TOLERANCE: f64 = 0.06;
/// Distance in percent points that rounding explains.
const POINTS: f64 = 1.5;

struct FigurePatterns {
    quantity: LazyLock<Regex>,
    load: LazyLock<Regex>,
    cores: LazyLock<Regex>,
    uptime: LazyLock<Regex>,
}

fn new(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles it")
}

/// Each is compiled when it is first needed.
static ALL: FigurePatterns = FigurePatterns {
    quantity: LazyLock::new(|| {
        new(r"([0-9][0-9,]*(?:\.[0-9]+)?)\s?(%|percent|per cent|[KMGT]i?B)")
    }),
    load: LazyLock::new(|| {
        new(
            r"(?i-u:\bload(?: average)?(?:,? (?:is|was|of|at|stands at|currently|now|about|around|only|just)){0,3}[: =]{1,2})([0-9]+\.[0-9]+)(?:[^0-9%]|$)",
        )
    }),
    cores: LazyLock::new(|| {
        new(r"(?i-u)\b([0-9]{1,4}) (?:(?:cpu|processor|logical|physical) )?(?:cores|cpus)\b")
    }),
    uptime: LazyLock::new(|| {
        new(
            r"(?i-u)\b(?:up(?:time)?|running)(?: (?:is|was|of|for|at|about|around|time|since|now)){0,3}:? ([0-9]+(?:\.[0-9]+)? (?:days?|hours?|minutes?))\b",
        )
    }),
};

/// The stems of the topics that a text names.
pub(in crate::govern) fn topics(text: &str) -> Vec<&'static str> {
    let words = phrase::words(text);
    let named = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    TOPICS
        .iter()
        .filter(|(_, list)| named(list))
        .map(|(stem, _)| *stem)
        .collect()
}

/// Whether a value of sight is of a topic.
pub(in crate::govern) fn is_of(name: &str, topic: &str) -> bool {
    name.contains(topic) || (topic == "load" && name == "cores")
}

/// The numbers that sight has for a topic.
pub(in crate::govern) fn measured(bundle: &Bundle, topic: &str) -> Vec<(String, f64)> {
    sight(bundle)
        .into_iter()
        .filter(|(name, _)| is_of(name, topic))
        .collect()
}

/// What sight comes to on some topics; on all when there are none.
pub(in crate::govern) fn known(bundle: &Bundle, topics: &[&str]) -> KnownNumbers {
    let mut only = bundle.clone();
    for entry in only.sight.values_mut() {
        if let crate::record::ledger::bundle::SightEntry::Seen { values, .. } = entry {
            values.retain(|name, _| {
                topics.is_empty() || topics.iter().any(|topic| is_of(name, topic))
            });
        }
    }
    let values: String = sight(&only)
        .iter()
        .filter(|(name, _)| name != "freshness_s")
        .map(|(_, n)| format!("{n} "))
        .collect();
    KnownNumbers::of(&only, &values, Vec::new())
}

/// A topic with more values than this is of no machine: nothing is held against it.
const MOST_VALUES: usize = 64;

/// What sight measured, looked up once for all sentences.
struct SightFigures {
    /// By topic, in the order of [`TOPICS`].
    values: Vec<(&'static str, Vec<(String, f64)>)>,
}

impl SightFigures {
    fn of(bundle: &Bundle) -> SightFigures {
        let few = |values: Vec<(String, f64)>| {
            if values.len() > MOST_VALUES {
                Vec::new()
            } else {
                values
            }
        };
        SightFigures {
            values: TOPICS
                .iter()
                .map(|(topic, _)| (*topic, few(measured(bundle, topic))))
                .collect(),
        }
    }

    fn on(&self, topic: &str) -> &[(String, f64)] {
        self.values
            .iter()
            .find(|(known, _)| *known == topic)
            .map_or(&[], |(_, values)| values)
    }
}

/// The sentences that give a figure, on a topic that sight measured, that no value shown and
/// nothing of the prompt comes to.
///
/// Compared are percentages and sizes with every value of the topics, their parts of the totals,
/// and the usual units; and a load, a number of cores, an uptime where the sentence says that it is
/// one. Any other plain number (*3 disks*) is never held against anything.
pub(in crate::govern) fn contradictions(
    bundle: &Bundle,
    prompt: &str,
    sentences: &[&str],
) -> Vec<usize> {
    let measured = SightFigures::of(bundle);
    let wrong: Vec<(usize, &str)> = sentences
        .iter()
        .enumerate()
        .flat_map(|(at, sentence)| {
            count(sentence.len());
            unexplained(&measured, sentence)
                .into_iter()
                .map(move |figure| (at, figure))
        })
        .collect();
    let figures: Vec<&str> = wrong.iter().map(|(_, figure)| *figure).collect();
    let in_prompt = occurring(prompt, &figures);
    let mut places: Vec<usize> = wrong
        .iter()
        .zip(in_prompt)
        .filter(|(_, said)| !said)
        .map(|((at, _), _)| *at)
        .collect();
    places.dedup();
    places
}

/// The figures of a sentence that no value comes to.
fn unexplained<'a>(measured: &SightFigures, sentence: &'a str) -> Vec<&'a str> {
    if !sentence.bytes().any(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    let mut figures = quantities(measured, sentence);
    figures.extend(load(measured, sentence));
    figures.extend(cores(measured, sentence));
    figures.extend(uptime(measured, sentence));
    figures
}

fn quantities<'a>(measured: &SightFigures, sentence: &'a str) -> Vec<&'a str> {
    let topics = topics(sentence)
        .into_iter()
        .filter(|topic| !matches!(*topic, "cores" | "uptime"));
    let values: Vec<(String, f64)> = topics
        .flat_map(|topic| measured.on(topic))
        .cloned()
        .collect();
    if values.is_empty() {
        return Vec::new();
    }
    let wrong = |found: regex::Captures<'a>| {
        let (number, unit) = (found.get(1)?.as_str(), found.get(2)?.as_str());
        let figure = number.replace(',', "").parse::<f64>().ok()?;
        (!explained(figure, unit, &values)).then_some(number)
    };
    if !has_any(sentence, &["%", "percent", "per cent", "b"]) {
        return Vec::new();
    }
    ALL.quantity
        .captures_iter(sentence)
        .filter_map(wrong)
        .collect()
}

/// Whether one of these stands in a sentence, in capitals or small letters: without it there is
/// nothing to compile an expression for.
fn has_any(sentence: &str, signs: &[&str]) -> bool {
    let sentence = sentence.to_ascii_lowercase();
    signs.iter().any(|sign| sentence.contains(sign))
}

/// The figures that an expression finds and that are none of the values.
fn other<'a>(regex: &Regex, sentence: &'a str, is: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let found = regex.captures_iter(sentence).filter_map(|c| c.get(1));
    found.map(|m| m.as_str()).filter(|text| !is(text)).collect()
}

fn load<'a>(measured: &SightFigures, sentence: &'a str) -> Vec<&'a str> {
    let of_load = measured
        .on("load")
        .iter()
        .filter(|(name, _)| name != "cores");
    let values: Vec<f64> = of_load.map(|(_, value)| *value).collect();
    let is = |text: &str| {
        let told = text.parse::<f64>().unwrap_or(f64::NAN);
        let places = text.split_once('.').map_or(0, |(_, rest)| rest.len());
        let half = 0.5 * 10f64.powi(-i32::try_from(places).unwrap_or(i32::MAX)) + 1e-9;
        values.iter().any(|value| (value - told).abs() <= half)
    };
    if values.is_empty() || !has_any(sentence, &["load"]) {
        Vec::new()
    } else {
        other(&ALL.load, sentence, is)
    }
}

fn cores<'a>(measured: &SightFigures, sentence: &'a str) -> Vec<&'a str> {
    let values = measured.on("cores");
    let is = |text: &str| values.iter().any(|(_, value)| text.parse() == Ok(*value));
    if values.is_empty() || !has_any(sentence, &["cores", "cpus"]) {
        Vec::new()
    } else {
        other(&ALL.cores, sentence, is)
    }
}

fn uptime<'a>(measured: &SightFigures, sentence: &'a str) -> Vec<&'a str> {
    let values = measured.on("uptime");
    let is = |text: &str| {
        numbers(&format!("{text}."))
            .iter()
            .all(|n| values.iter().any(|(_, value)| of_duration(n, *value)))
    };
    if values.is_empty() || !has_any(sentence, &["up", "running"]) {
        Vec::new()
    } else {
        other(&ALL.uptime, sentence, is)
    }
}

fn explained(figure: f64, unit: &str, values: &[(String, f64)]) -> bool {
    if matches!(unit, "%" | "percent" | "per cent") {
        return percents(values)
            .into_iter()
            .any(|p| (p - figure).abs() <= POINTS);
    }
    let sizes: Vec<f64> = values
        .iter()
        .filter(|(name, _)| name.ends_with("_mb"))
        .map(|(_, value)| *value)
        .collect();
    let differences = sizes
        .iter()
        .flat_map(|a| sizes.iter().map(move |b| (a - b).abs()))
        .filter(|size| *size > 0.0);
    // A missing size says nothing against the figure.
    sizes.is_empty()
        || sizes
            .iter()
            .copied()
            .chain(differences)
            .any(|size| is_size(figure, unit, size))
}

/// Whether a figure is a size of so many mebibytes. Readers meet both kinds of unit, so either
/// spelling is right.
fn is_size(figure: f64, unit: &str, mebibytes: f64) -> bool {
    [1024.0_f64, 1000.0].into_iter().any(|base| {
        let scaled = match unit.as_bytes().first() {
            Some(b'K') => mebibytes * base,
            Some(b'M') => mebibytes * if base > 1000.0 { 1.0 } else { 1.048_576 },
            Some(b'G') => mebibytes / base,
            _ => mebibytes / base / base,
        };
        (scaled - figure).abs() <= (scaled.abs() * TOLERANCE).max(0.06)
    })
}

/// Every percentage that the values of a topic come to.
fn percents(values: &[(String, f64)]) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::new();
    for (name, value) in values {
        if name.ends_with("_pct") {
            out.extend([*value, 100.0 - value]);
        }
        for (whole_name, whole) in values {
            if *whole > 0.0 && (whole_name.contains("total") || whole_name == "cores") {
                let share = value / whole * 100.0;
                out.extend([share, 100.0 - share]);
            }
        }
    }
    out
}
