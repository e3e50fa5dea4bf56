//! Figures of a reply about the machine, held against what sight measured: the strongest evidence drift.

use std::sync::OnceLock;

use regex::Regex;

use crate::record::bundle::Bundle;

use super::numbers::{Known, numbers, of_duration, sight};
use super::phrase;

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

struct Expressions {
    quantity: Regex,
    load: Regex,
    cores: Regex,
    uptime: Regex,
}

fn expressions() -> &'static Expressions {
    static ONCE: OnceLock<Expressions> = OnceLock::new();
    ONCE.get_or_init(|| {
        let new = |pattern: &str| Regex::new(pattern).expect("a test compiles it");
        Expressions {
            quantity: new(r"([0-9][0-9,]*(?:\.[0-9]+)?)\s?(%|percent|per cent|[KMGT]i?B)"),
            load: new(r"(?i)\bload(?: average)?(?:,? (?:is|was|of|at|stands at|currently|now|about|around|only|just)){0,3}[: =]{1,2}([0-9]+\.[0-9]+)(?:[^0-9%]|$)"),
            cores: new(r"(?i)\b([0-9]{1,4}) (?:(?:cpu|processor|logical|physical) )?(?:cores|cpus)\b"),
            uptime: new(r"(?i)\b(?:up(?:time)?|running)(?: (?:is|was|of|for|at|about|around|time|since|now)){0,3}:? ([0-9]+(?:\.[0-9]+)? (?:days?|hours?|minutes?))\b"),
        }
    })
}

/// The stems of the topics that a text names.
pub(super) fn topics(text: &str) -> Vec<&'static str> {
    let words = phrase::words(text);
    let named = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    TOPICS.iter().filter(|(_, list)| named(list)).map(|(stem, _)| *stem).collect()
}

/// Whether a value of sight is of a topic.
pub(super) fn is_of(name: &str, topic: &str) -> bool {
    name.contains(topic) || (topic == "load" && name == "cores")
}

/// The numbers that sight has for a topic.
pub(super) fn measured(bundle: &Bundle, topic: &str) -> Vec<(String, f64)> {
    sight(bundle).into_iter().filter(|(name, _)| is_of(name, topic)).collect()
}

/// What sight comes to on some topics; on all when there are none.
pub(super) fn known(bundle: &Bundle, topics: &[&str]) -> Known {
    let mut only = bundle.clone();
    for entry in only.sight.values_mut() {
        if let crate::record::bundle::SightEntry::Seen { values, .. } = entry {
            values.retain(|name, _| topics.is_empty() || topics.iter().any(|topic| is_of(name, topic)));
        }
    }
    let values: String =
        sight(&only).iter().filter(|(name, _)| name != "freshness_s").map(|(_, n)| format!("{n} ")).collect();
    Known::of(&only, &values, Vec::new())
}

/// Whether a sentence gives a figure, on a topic that sight measured, that no value shown and nothing of the prompt
/// comes to.
///
/// Compared are percentages and sizes with every value of the topics, their parts of the totals, and the usual
/// units; and a load, a number of cores, an uptime where the sentence says that it is one. Any other plain number
/// (*3 disks*) is never held against anything.
pub(super) fn contradicts(bundle: &Bundle, prompt: &str, sentence: &str) -> bool {
    quantities(bundle, prompt, sentence)
        || load(bundle, prompt, sentence)
        || cores(bundle, prompt, sentence)
        || uptime(bundle, prompt, sentence)
}

fn quantities(bundle: &Bundle, prompt: &str, sentence: &str) -> bool {
    let mut values: Vec<(String, f64)> = Vec::new();
    for topic in topics(sentence).into_iter().filter(|topic| !matches!(*topic, "cores" | "uptime")) {
        values.extend(measured(bundle, topic));
    }
    if values.is_empty() {
        return false;
    }
    expressions().quantity.captures_iter(sentence).any(|found| {
        let (Some(number), Some(unit)) = (found.get(1), found.get(2)) else { return false };
        let Ok(figure) = number.as_str().replace(',', "").parse::<f64>() else { return false };
        !prompt.contains(number.as_str()) && !explained(figure, unit.as_str(), &values)
    })
}

/// Any of the figures that an expression finds, not said in the prompt, is none of the values.
fn other(regex: &Regex, prompt: &str, sentence: &str, is: impl Fn(&str) -> bool) -> bool {
    let found = regex.captures_iter(sentence).filter_map(|c| c.get(1));
    found.map(|m| m.as_str()).any(|text| !prompt.contains(text) && !is(text))
}

fn load(bundle: &Bundle, prompt: &str, sentence: &str) -> bool {
    let values: Vec<f64> =
        measured(bundle, "load").into_iter().filter(|(name, _)| name != "cores").map(|(_, value)| value).collect();
    let is = |text: &str| {
        let told = text.parse::<f64>().unwrap_or(f64::NAN);
        let places = text.split_once('.').map_or(0, |(_, rest)| rest.len());
        let half = 0.5 * 10f64.powi(-i32::try_from(places).unwrap_or(i32::MAX)) + 1e-9;
        values.iter().any(|value| (value - told).abs() <= half)
    };
    !values.is_empty() && other(&expressions().load, prompt, sentence, is)
}

fn cores(bundle: &Bundle, prompt: &str, sentence: &str) -> bool {
    let values = measured(bundle, "cores");
    let is = |text: &str| values.iter().any(|(_, value)| text.parse() == Ok(*value));
    !values.is_empty() && other(&expressions().cores, prompt, sentence, is)
}

fn uptime(bundle: &Bundle, prompt: &str, sentence: &str) -> bool {
    let values = measured(bundle, "uptime");
    let is = |text: &str| {
        numbers(&format!("{text}.")).iter().all(|n| values.iter().any(|(_, value)| of_duration(n, *value)))
    };
    !values.is_empty() && other(&expressions().uptime, prompt, sentence, is)
}

fn explained(figure: f64, unit: &str, values: &[(String, f64)]) -> bool {
    if matches!(unit, "%" | "percent" | "per cent") {
        return percents(values).into_iter().any(|p| (p - figure).abs() <= POINTS);
    }
    let sizes: Vec<f64> = values.iter().filter(|(name, _)| name.ends_with("_mb")).map(|(_, value)| *value).collect();
    let differences = sizes.iter().flat_map(|a| sizes.iter().map(move |b| (a - b).abs())).filter(|size| *size > 0.0);
    // A missing size says nothing against the figure.
    sizes.is_empty() || sizes.iter().copied().chain(differences).any(|size| is_size(figure, unit, size))
}

/// Whether a figure is a size of so many mebibytes. Readers meet both kinds of unit, so either spelling is right.
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
