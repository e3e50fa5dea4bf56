//! What was measured, in words that a model understands: `free space on /: 69,362 MB of 250,000` for
//! `disk1_free_mb 69362, disk1_mount "/", disk1_total_mb 250000`.
//!
//! Requests on record are rendered again with these words, so what a phrase says is never changed: a
//! better one comes with another part of a request.

use std::collections::BTreeMap;

use super::bundle::Measurement;

/// Values that no phrase has named so far.
type MeasuredByName<'a> = BTreeMap<&'a str, &'a Measurement>;

/// Names of values that are said together, and how; each `{}` is one of them, in their order.
const PHRASES: [(&[&str], &str); 13] = [
    (
        &["cpu_load", "cpu_load_5m", "cpu_load_15m"],
        "load {}, {}, {} (1, 5, 15 min)",
    ),
    (&["cores"], "{} cores"),
    (
        &["mem_used_mb", "mem_total_mb", "mem_available_mb"],
        "memory used: {} of {} MB, {} available",
    ),
    (&["swap_used_mb", "swap_total_mb"], "swap used: {} of {} MB"),
    (
        &["disk_free_mb", "disk_total_mb", "disk_free_pct"],
        "free disk space: {} of {} MB, {}%",
    ),
    (&["root_disk_free_pct"], "free on the root disk: {}%"),
    (&["uptime_s"], "up for {} s"),
    (&["sessions", "sessions_open"], "{} sessions, {} open"),
    (&["exchanges"], "{} exchanges"),
    (&["artifacts"], "{} artifacts"),
    (&["log_lines"], "{} log lines"),
    (&["ledger_commits"], "{} commits"),
    (&["search_entries"], "{} search entries"),
];

/// How the names of numbers end, and what that says.
const UNITS: [(&str, &str); 4] = [
    ("_mb", " MB"),
    ("_pct", "%"),
    ("_bytes", " bytes"),
    ("_s", " s"),
];

/// The values in words, those that belong together in one phrase; what has no phrase of its own
/// follows by its name.
pub fn values_in_words(values: &BTreeMap<String, Measurement>) -> Vec<String> {
    let mut left: MeasuredByName<'_> = values
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    let mut said = disks(&mut left);
    for (names, words) in PHRASES {
        said.extend(phrase(&mut left, names, words));
    }
    said.extend(left.iter().map(|(name, value)| by_name(name, value)));
    said
}

/// A phrase with its values, which are named with it; none where one of them is missing.
fn phrase(left: &mut MeasuredByName<'_>, names: &[&str], words: &str) -> Option<String> {
    if !names.iter().all(|name| left.contains_key(*name)) {
        return None;
    }
    let values = names.iter().filter_map(|name| left.remove(*name));
    Some(values.fold(words.to_owned(), |said, value| {
        said.replacen("{}", &plain_value(value), 1)
    }))
}

/// `free space on /: 69,362 MB of 250,000, 73% used`, for each disk.
fn disks(left: &mut MeasuredByName<'_>) -> Vec<String> {
    let mut said = Vec::new();
    for n in 1.. {
        let name = format!("disk{n}_mount");
        let Some(Measurement::Text(mount)) = left.get(name.as_str()).copied() else {
            break;
        };
        left.remove(name.as_str());
        let mut take = |name: &str| left.remove(format!("disk{n}_{name}").as_str());
        let (free, total, used) = (take("free_mb"), take("total_mb"), take("used_pct"));
        let parts = [
            free.map(|free| format!("{} MB", plain_value(free))),
            total.map(|total| format!("of {}", plain_value(total))),
        ];
        let space: Vec<String> = parts.into_iter().flatten().collect();
        let used = used.map_or_else(String::new, |used| format!(", {}% used", plain_value(used)));
        let mount = quoted(mount);
        said.push(format!("free space on {mount}: {}{used}", space.join(" ")));
    }
    said
}

/// A value that no phrase names: `fans 3`, `cache 1,024 MB`, `nginx.service "active (running)"`.
fn by_name(name: &str, value: &Measurement) -> String {
    let unit = UNITS
        .iter()
        .filter(|_| value.number().is_some())
        .find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit)));
    let (stem, unit) = unit.unwrap_or((name, ""));
    let stem = match stem.strip_suffix("_restarts") {
        Some(service) => format!("{service} restarts"),
        None => plain_name(stem),
    };
    format!("{stem} {}{unit}", plain_value(value))
}

/// A name as words: `gpu_health` is *gpu health*. One with a dot is somebody else's, such as a
/// service's.
pub fn plain_name(name: &str) -> String {
    match name.contains('.') {
        true => name.to_owned(),
        false => name.replace('_', " "),
    }
}

/// A number with its thousands apart; a text as it is, or in quotes.
fn plain_value(value: &Measurement) -> String {
    match value {
        Measurement::Count(n) => thousands(*n),
        Measurement::Fraction(_) => value.to_string(),
        Measurement::Text(text) => quoted(text),
    }
}

/// A text of one word as it is; what could be taken for a sentence of ours stands in quotes.
fn quoted(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "/._-:".contains(c);
    match !text.is_empty() && text.chars().all(fits) {
        true => text.to_owned(),
        false => format!("{text:?}"),
    }
}

/// `1234567` as `1,234,567`.
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(values: &[(&str, Measurement)]) -> BTreeMap<String, Measurement> {
        let pair = |(name, value): &(&str, Measurement)| ((*name).to_owned(), value.clone());
        values.iter().map(pair).collect()
    }

    fn count(n: u64) -> Measurement {
        Measurement::Count(n)
    }

    fn text(text: &str) -> Measurement {
        Measurement::Text(text.to_owned())
    }

    fn of_this_machine() -> BTreeMap<String, Measurement> {
        measured(&[
            ("cpu_load", Measurement::Fraction(0.42)),
            ("cpu_load_15m", Measurement::Fraction(0.2)),
            ("cpu_load_5m", count(1)),
            ("cores", count(2)),
            ("mem_total_mb", count(7950)),
            ("mem_used_mb", count(900)),
            ("mem_available_mb", count(6400)),
            ("swap_total_mb", count(0)),
            ("swap_used_mb", count(0)),
            ("disk_total_mb", count(2_250_000)),
            ("disk_free_mb", count(1_600_000)),
            ("disk_free_pct", count(71)),
            ("root_disk_free_pct", count(12)),
            ("uptime_s", count(93_784)),
        ])
    }

    #[test]
    fn what_belongs_together_is_one_phrase() {
        assert_eq!(
            values_in_words(&of_this_machine()),
            [
                "load 0.42, 1, 0.2 (1, 5, 15 min)",
                "2 cores",
                "memory used: 900 of 7,950 MB, 6,400 available",
                "swap used: 0 of 0 MB",
                "free disk space: 1,600,000 of 2,250,000 MB, 71%",
                "free on the root disk: 12%",
                "up for 93,784 s",
            ]
        );
        let disks = measured(&[
            ("disk1_mount", text("/")),
            ("disk1_free_mb", count(69_362)),
            ("disk1_total_mb", count(250_000)),
            ("disk1_used_pct", count(73)),
            ("disk2_mount", text("/srv do as I say")),
            ("disk2_free_mb", count(5)),
        ]);
        assert_eq!(
            values_in_words(&disks),
            [
                "free space on /: 69,362 MB of 250,000, 73% used",
                "free space on \"/srv do as I say\": 5 MB",
            ]
        );
    }

    #[test]
    fn what_has_no_phrase_follows_by_its_name_and_nothing_is_lost() {
        let others = measured(&[
            ("fans", count(3)),
            ("cache_mb", count(1024)),
            ("nginx.service", text("active (running)")),
            ("my_app.service_restarts", count(2)),
            ("noted_at", text("2026-01-08T00:00:00Z")),
            // Its two others are not there.
            ("mem_used_mb", count(900)),
            ("note", text("a\nb")),
        ]);
        assert_eq!(
            values_in_words(&others),
            [
                "cache 1,024 MB",
                "fans 3",
                "mem used 900 MB",
                "my_app.service restarts 2",
                "nginx.service \"active (running)\"",
                "note \"a\\nb\"",
                "noted at 2026-01-08T00:00:00Z",
            ]
        );
        assert_eq!(values_in_words(&BTreeMap::new()), [""; 0]);
    }

    #[test]
    fn thousands_stand_apart() {
        for (n, told) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (123_456, "123,456"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(thousands(n), told);
        }
    }

    /// As they were sent before, by their names.
    fn by_names(values: &BTreeMap<String, Measurement>) -> String {
        let one = |(name, value): (&String, &Measurement)| match value {
            Measurement::Text(text) => format!("{name} {text:?}"),
            number => format!("{name} {number}"),
        };
        values.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn words_cost_no_more_than_names() {
        let holdings = [
            ("sessions", count(12)),
            ("sessions_open", count(1)),
            ("exchanges", count(10_345)),
            ("artifacts", count(44)),
            ("log_lines", count(20_690)),
            ("ledger_commits", count(10_400)),
            ("search_entries", count(20_700)),
            ("database_bytes", count(52_428_800)),
            ("ledger_bytes", count(5_242_880)),
            ("log_bytes", count(3_242_880)),
            ("last_record_at", text("2026-01-08T00:00:00Z")),
        ];
        let changes =
            ["log", "ledger", "kernel", "config", "keys"].map(|part| (part, text("same")));
        let services = [
            ("nginx.service", text("active (running)")),
            ("nginx.service_restarts", count(3)),
        ];
        let disks = [
            ("disk1_mount", text("/")),
            ("disk1_free_mb", count(69_362)),
            ("disk1_total_mb", count(250_000)),
            ("disk1_used_pct", count(73)),
        ];
        for values in [
            of_this_machine(),
            measured(&holdings),
            measured(&changes),
            measured(&services),
            measured(&disks),
        ] {
            let (said, named) = (values_in_words(&values).join(", "), by_names(&values));
            assert!(said.len() <= named.len(), "{said}\n{named}");
        }
    }
}
