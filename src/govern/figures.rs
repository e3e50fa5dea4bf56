//! Figures, addresses and ids of a reply, held against bundle and prompt.

use std::sync::OnceLock;

use regex::Regex;

use crate::record::bundle::{Bundle, Reading, SightEntry};

use super::phrase;

/// Words of what sight measures; the value names of a topic hold its stem.
const TOPICS: [(&str, &[&str]); 4] =
    [("disk", &["disk", "disks", "storage"]), ("mem", &["memory", "ram"]), ("swap", &["swap"]), ("load", &["load"])];
/// Relative distance within which a rounded figure still is the value: "about 4 GB" for 3.8.
const TOLERANCE: f64 = 0.06;
/// Distance in percent points that rounding explains.
const POINTS: f64 = 1.5;

struct Expressions {
    quantity: Regex,
    address: Regex,
    path: Regex,
    artifact: Regex,
}

fn expressions() -> &'static Expressions {
    static ONCE: OnceLock<Expressions> = OnceLock::new();
    ONCE.get_or_init(|| {
        let new = |pattern: &str| Regex::new(pattern).expect("a test compiles it");
        Expressions {
            quantity: new(r"([0-9][0-9,]*(?:\.[0-9]+)?)\s?(%|percent|[KMGT]i?B)"),
            address: new(r#"https?://[^\s<>"'`)\]]+"#),
            path: new(r#"(?:^|[\s`"'(])(/(?:etc|var|home|usr|opt|srv|root|tmp|mnt|dev|boot)/[^\s`"'),;:]+)"#),
            artifact: new(r"(?:ledger|driftwatch|note|decision):[0-9]{2,}"),
        }
    })
}

/// Whether a sentence gives a figure with a unit, on a topic that sight measured, that no value shown
/// and nothing of the prompt comes to.
///
/// Compared are percentages and sizes only, with every value of the topic, its parts of the topic's
/// totals, and the usual units; a plain number ("3 disks") is never held against anything.
pub(super) fn contradicts(bundle: &Bundle, prompt: &str, sentence: &str) -> bool {
    let words = phrase::words(sentence);
    let named = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let mut values: Vec<(String, f64)> = Vec::new();
    for (stem, _) in TOPICS.iter().filter(|(_, list)| named(list)) {
        values.extend(measured(bundle, stem));
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

fn measured(bundle: &Bundle, stem: &str) -> Vec<(String, f64)> {
    let mut out = Vec::new();
    for entry in bundle.sight.values() {
        let SightEntry::Seen { values, .. } = entry else { continue };
        let wanted = |name: &str| name.contains(stem) || (stem == "load" && name == "cores");
        let number = |(name, reading): (&String, &Reading)| Some((name.clone(), reading.number()?));
        out.extend(values.iter().filter(|(name, _)| wanted(name)).filter_map(number));
    }
    out
}

fn explained(figure: f64, unit: &str, values: &[(String, f64)]) -> bool {
    if matches!(unit, "%" | "percent") {
        return percents(values).into_iter().any(|p| (p - figure).abs() <= POINTS);
    }
    let sizes = values.iter().filter(|(name, _)| name.ends_with("_mb"));
    // A missing size says nothing against the figure.
    let mut any = false;
    for (_, mebibytes) in sizes {
        any = true;
        // Readers meet both kinds of unit, so either spelling of the value is right.
        for base in [1024.0_f64, 1000.0] {
            let scaled = match unit.as_bytes().first() {
                Some(b'K') => mebibytes * base,
                Some(b'M') => *mebibytes * if base > 1000.0 { 1.0 } else { 1.048_576 },
                Some(b'G') => mebibytes / base,
                _ => mebibytes / base / base,
            };
            if (scaled - figure).abs() <= (scaled.abs() * TOLERANCE).max(0.06) {
                return true;
            }
        }
    }
    !any
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

/// Addresses and ids, and in a reply about the machine paths, that are in neither bundle nor prompt:
/// rule and count.
pub(super) fn unsourced(bundle: &Bundle, prompt: &str, reply: &str, about_machine: bool) -> Vec<(&'static str, usize)> {
    let Ok(shown) = bundle.print() else { return Vec::new() };
    let all = expressions();
    let count = |regex: &Regex, group: usize| {
        let found = regex.captures_iter(reply).filter_map(|c| c.get(group));
        found
            .map(|m| m.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?']))
            .filter(|m| !prompt.contains(m) && !shown.contains(m))
            .count()
    };
    let paths = if about_machine { count(&all.path, 1) } else { 0 };
    [
        ("unsourced_address", count(&all.address, 0)),
        ("unsourced_artifact", count(&all.artifact, 0)),
        ("unsourced_path", paths),
    ]
    .into_iter()
    .filter(|(_, n)| *n > 0)
    .collect()
}
