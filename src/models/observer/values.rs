//! Values of sight as sentences; what has none of its own follows by name.

use std::collections::BTreeMap;

use crate::record::ledger::bundle::Measurement;

/// Values that no line has named so far.
type UnnamedValues = BTreeMap<String, Measurement>;

/// The values in the order in which a person would ask for them; those without a sentence of their
/// own follow by name.
pub(super) fn lines(values: &BTreeMap<String, Measurement>) -> Vec<String> {
    let mut left = values.clone();
    let mut lines = machine(&mut left);
    lines.extend(disks(&mut left));
    lines.extend(holdings(&mut left));
    lines.extend(changes(&mut left));
    lines.extend(left.iter().map(|(name, value)| format!("  {name} {value}")));
    lines
}

/// Sentences on what `sys_health` saw.
fn machine(left: &mut UnnamedValues) -> Vec<String> {
    let mut lines = Vec::new();
    let mut take = |name: &str| left.remove(name);
    let (one, five, fifteen) = (take("cpu_load"), take("cpu_load_5m"), take("cpu_load_15m"));
    let cores = take("cores");
    if let Some(one) = one {
        let longer =
            both(five, fifteen).map(|(a, b)| format!(" ({a} over 5 minutes, {b} over 15)"));
        let cores = cores
            .as_ref()
            .map(|n| format!(" on {n} {}", plural(n, "core", "cores")));
        lines.push(format!(
            "  load     {one}{}{}",
            cores.unwrap_or_default(),
            longer.unwrap_or_default()
        ));
    }
    let (total, used, available) = (
        take("mem_total_mb"),
        take("mem_used_mb"),
        take("mem_available_mb"),
    );
    if let Some((used, total)) = both(used, total) {
        let available = available.map(|a| format!(", {} available", size(&a)));
        lines.push(format!(
            "  memory   {} of {} used{}",
            size(&used),
            size(&total),
            available.unwrap_or_default()
        ));
    }
    if let Some((used, total)) = both(take("swap_used_mb"), take("swap_total_mb")) {
        lines.push(match total {
            Measurement::Count(0) => "  swap     none".to_owned(),
            _ => format!("  swap     {} of {} used", size(&used), size(&total)),
        });
    }
    let (free, total, share) = (
        take("disk_free_mb"),
        take("disk_total_mb"),
        take("disk_free_pct"),
    );
    if let Some(share) = share {
        let sizes = both(free, total).map(|(f, t)| format!(" ({} of {})", size(&f), size(&t)));
        lines.push(format!(
            "  disk     {share} % free{}",
            sizes.unwrap_or_default()
        ));
    }
    if let Some(share) = take("root_disk_free_pct") {
        lines.push(format!("  root     {share} % of the root disk free"));
    }
    if let Some(up) = take("uptime_s") {
        lines.push(format!("  up       {}", duration(&up)));
    }
    lines
}

/// `disk_usage`: a line a disk.
fn disks(left: &mut UnnamedValues) -> Vec<String> {
    let mut lines = Vec::new();
    for n in 1.. {
        let Some(mount) = left.remove(&format!("disk{n}_mount")) else {
            break;
        };
        let mut take = |name: &str| left.remove(&format!("disk{n}_{name}"));
        let (used, free, total) = (take("used_pct"), take("free_mb"), take("total_mb"));
        let used = used.map_or_else(
            || "use unknown".to_owned(),
            |share| format!("{share} % used"),
        );
        let sizes = both(free, total).map(|(f, t)| format!(" ({} of {} free)", size(&f), size(&t)));
        lines.push(format!(
            "  {:8} {used}{}",
            mount.to_string(),
            sizes.unwrap_or_default()
        ));
    }
    lines
}

/// Sentences on what `index_status` saw.
fn holdings(left: &mut UnnamedValues) -> Vec<String> {
    let mut counted = |name: &str, one: &str, many: &str| {
        let value = left.remove(name)?;
        Some(format!("{value} {}", plural(&value, one, many)))
    };
    let rows = [
        counted("sessions", "session", "sessions"),
        counted("sessions_open", "of them open", "of them open"),
        counted("exchanges", "exchange", "exchanges"),
        counted("artifacts", "artifact", "artifacts"),
        counted("search_entries", "search entry", "search entries"),
        counted("log_lines", "line", "lines"),
        counted("ledger_commits", "commit", "commits"),
    ];
    let mut sized = |part: &str| {
        let value = left.remove(&format!("{part}_bytes"))?;
        Some(format!("{} {part}", bytes(&value)))
    };
    let files = ["database", "ledger", "log"].map(&mut sized);
    let list = |parts: &[Option<String>]| {
        let parts: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
        parts.join(", ")
    };
    let newest = left
        .remove("last_record_at")
        .map(|at| at.to_string())
        .unwrap_or_default();
    [
        ("holds", list(&rows)),
        ("sizes", list(&files)),
        ("newest", newest),
    ]
    .into_iter()
    .filter(|(_, text)| !text.is_empty())
    .map(|(name, text)| format!("  {name:8} {text}"))
    .collect()
}

/// `index_changed`: what is the same on one line, what is not on another. It *differs*: "changed
/// config" by itself reads like a report of having changed it.
fn changes(left: &mut UnnamedValues) -> Vec<String> {
    let mut lines = Vec::new();
    for (state, said) in [("changed", "differs"), ("same", "same")] {
        let is = |value: &Measurement| *value == Measurement::Text(state.to_owned());
        let names: Vec<String> = left
            .iter()
            .filter(|(_, value)| is(value))
            .map(|(name, _)| name.clone())
            .collect();
        left.retain(|_, value| !is(value));
        if !names.is_empty() {
            lines.push(format!("  {said:8} {}", names.join(", ")));
        }
    }
    let noted = left.remove("noted_at").map(|at| format!("  since    {at}"));
    lines.into_iter().chain(noted).collect()
}

fn both(a: Option<Measurement>, b: Option<Measurement>) -> Option<(Measurement, Measurement)> {
    Some((a?, b?))
}

fn plural<'a>(n: &Measurement, one: &'a str, many: &'a str) -> &'a str {
    if *n == Measurement::Count(1) {
        one
    } else {
        many
    }
}

/// MiB as a person reads them.
fn size(mebibytes: &Measurement) -> String {
    match mebibytes.number() {
        Some(n) if n >= 1024.0 * 1024.0 => format!("{:.1} TiB", n / 1024.0 / 1024.0),
        Some(n) if n >= 1024.0 => format!("{:.1} GiB", n / 1024.0),
        Some(n) => format!("{n:.0} MiB"),
        None => mebibytes.to_string(),
    }
}

/// Bytes as a person reads them.
fn bytes(bytes: &Measurement) -> String {
    match bytes.number() {
        Some(n) if n >= 1024.0 * 1024.0 => size(&Measurement::Fraction(n / 1024.0 / 1024.0)),
        Some(n) if n >= 10.0 * 1024.0 => format!("{:.0} KiB", n / 1024.0),
        // One digit would be too far from the value to be called the same.
        Some(n) if n >= 1024.0 => format!("{:.1} KiB", n / 1024.0),
        Some(n) => format!("{n:.0} B"),
        None => bytes.to_string(),
    }
}

/// Seconds as their two largest units.
fn duration(seconds: &Measurement) -> String {
    let Measurement::Count(seconds) = *seconds else {
        return seconds.to_string();
    };
    let units = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
    ];
    let named = |(n, unit): &(u64, &str)| format!("{n} {unit}{}", if *n == 1 { "" } else { "s" });
    let parts: Vec<String> = units
        .iter()
        .skip_while(|(n, _)| *n == 0)
        .take(2)
        .map(named)
        .collect();
    if parts.is_empty() {
        format!("{seconds} s")
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_told_once() {
        let text = |text: &str| Measurement::Text(text.to_owned());
        let told = |values: &[(&str, Measurement)]| {
            lines(
                &values
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), value.clone()))
                    .collect(),
            )
        };
        let disks = [
            ("disk1_mount", text("/")),
            ("disk1_total_mb", Measurement::Count(2048)),
            ("disk1_free_mb", Measurement::Count(512)),
            ("disk1_used_pct", Measurement::Count(75)),
            ("disk2_mount", text("/srv")),
        ];
        assert_eq!(
            told(&disks),
            [
                "  /        75 % used (512 MiB of 2.0 GiB free)",
                "  /srv     use unknown"
            ]
        );
        let holds = [
            ("exchanges", Measurement::Count(3)),
            ("log_lines", Measurement::Count(9)),
            ("log_bytes", Measurement::Count(2048)),
            ("database_bytes", Measurement::Count(5 * 1024 * 1024)),
        ];
        assert_eq!(
            told(&holds),
            [
                "  holds    3 exchanges, 9 lines",
                "  sizes    5 MiB database, 2.0 KiB log"
            ]
        );
        let changes = [
            ("log", text("same")),
            ("config", text("changed")),
            ("keys", text("same")),
            ("noted_at", text("t")),
        ];
        assert_eq!(
            told(&changes),
            ["  differs  config", "  same     keys, log", "  since    t"]
        );
        assert_eq!(
            told(&[("nginx.service", text("active (running)"))]),
            ["  nginx.service active (running)"]
        );
        assert!(told(&[]).is_empty());
    }

    #[test]
    fn durations_and_sizes() {
        for (seconds, text) in [
            (5, "5 s"),
            (60, "1 minute"),
            (3660, "1 hour, 1 minute"),
            (86_400, "1 day, 0 hours"),
            (200_000, "2 days, 7 hours"),
        ] {
            assert_eq!(duration(&Measurement::Count(seconds)), text);
        }
        assert_eq!(size(&Measurement::Count(1024)), "1.0 GiB");
        assert_eq!(size(&Measurement::Text("?".into())), "?");
        assert_eq!(
            (
                bytes(&Measurement::Count(12)),
                bytes(&Measurement::Count(1 << 30))
            ),
            ("12 B".into(), "1.0 GiB".into())
        );
    }
}
