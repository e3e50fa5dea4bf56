//! `observer`: the built-in voice that is no language model.
//!
//! It says what the context bundle shows, and nothing else: same bundle, same words. So the first
//! answer of a fresh home needs no network, and every figure in it has its source in the record.

mod values;

use crate::record::ledger::bundle::{
    Bundle, Fact, Measurement, Moment, NoSight, OpenItem, SightEntry,
};
use crate::record::ledger::short_name::{short_name, short_names};

/// The model's id.
pub const ID: &str = "observer";

/// The tool that tells how the machine is: it is what people ask about.
const MACHINE: &str = "sys_health";

/// The tool that tells which part of the home somebody else changed.
const CHANGES: &str = "index_changed";

/// The tool that tells which services run.
const SERVICES: &str = "service_status";

/// Most characters of the question that are looked at, for naming what it is about.
const LOOKED_AT: usize = 4096;

/// Words of a question that sight, facts or open items can answer.
const OURS: [&str; 26] = [
    "machine", "computer", "host", "server", "system", "laptop", "load", "cpu", "memory", "ram",
    "swap", "disk", "disks", "storage", "space", "uptime", "health", "healthy", "cores", "facts",
    "fact", "open", "drift", "unknown", "know", "status",
];

/// Answers from the bundle alone: what was seen, facts, open items, and what is not known.
pub fn answer(bundle: &Bundle, question: &str) -> String {
    let mut lines = vec![opening(bundle, question).to_owned(), String::new()];
    let is_brief = is_brief(bundle);
    let shown = |tool: &str, entry: &SightEntry| !is_brief || is_told_always(tool, entry);
    // The machine first: it is what people ask about.
    let told = bundle
        .sight
        .iter()
        .filter(|(tool, entry)| shown(tool, entry));
    let (machine, others): (Vec<_>, Vec<_>) = told.partition(|(tool, _)| *tool == MACHINE);
    for (tool, entry) in machine.into_iter().chain(others) {
        match entry {
            SightEntry::Seen {
                observed_at,
                freshness_s,
                values,
                ..
            } => {
                lines.push(heading(tool, *observed_at, *freshness_s));
                lines.extend(values::lines(values));
            }
            // What nobody asked about is named once, at the end.
            SightEntry::Unavailable {
                reason: NoSight::NotLooked(_),
                ..
            } => continue,
            SightEntry::Unavailable { reason, .. } => {
                lines.push(format!("{tool} shows nothing here ({}).", reason.name()));
            }
        }
        lines.push(String::new());
    }
    lines.extend(records(bundle));
    if is_brief {
        lines.extend(failed(bundle));
        lines.extend(more(bundle));
    }
    lines.push(unknown(bundle, &shown));
    lines.extend(not_looked_at(bundle));
    lines.join("\n")
}

/// Whether the state of the machine is told alone: all tools were looked at, so the question is about
/// none of them by name, and what they show would not fit on a screen.
fn is_brief(bundle: &Bundle) -> bool {
    let is_seen = |entry: &SightEntry| matches!(entry, SightEntry::Seen { .. });
    bundle.sight.len() > 1
        && bundle.sight.get(MACHINE).is_some_and(is_seen)
        && !bundle.sight.values().any(SightEntry::was_not_looked_at)
}

/// Whether a tool's values are told in a brief answer, too: those of the machine, and what somebody
/// changed in this home, for each change is told once, and the next look no longer finds it.
fn is_told_always(tool: &str, entry: &SightEntry) -> bool {
    let changed = Measurement::Text("changed".to_owned());
    let differs = |entry: &SightEntry| match entry {
        SightEntry::Seen { values, .. } => values.values().any(|value| *value == changed),
        SightEntry::Unavailable { .. } => false,
    };
    tool == MACHINE || (tool == CHANGES && differs(entry))
}

/// The tools that failed, and the services that do not run: that is told, however short the answer is.
fn failed(bundle: &Bundle) -> Option<String> {
    let mut failed: Vec<String> = Vec::new();
    for (tool, entry) in &bundle.sight {
        match entry {
            _ if has_failed(entry) => failed.push(format!("{tool} gave no values")),
            SightEntry::Seen { values, .. } if tool == SERVICES => {
                failed.extend(values.iter().filter_map(not_running));
            }
            _ => {}
        }
    }
    (!failed.is_empty()).then(|| format!("Not as it should be: {}.", failed.join("; ")))
}

fn has_failed(entry: &SightEntry) -> bool {
    let reason = match entry {
        SightEntry::Unavailable { reason, .. } => Some(*reason),
        SightEntry::Seen { .. } => None,
    };
    reason == Some(NoSight::ToolError)
}

/// `nginx.service is failed (failed)`; none of a service that runs, or is being started or reloaded.
fn not_running((unit, state): (&String, &Measurement)) -> Option<String> {
    let Measurement::Text(state) = state else {
        return None;
    };
    let runs = ["active", "activating", "reloading"];
    let is = state.split(' ').next().unwrap_or_default();
    (!runs.contains(&is)).then(|| format!("{unit} is {state}"))
}

/// The tools that were looked at and whose values are not told: who asks for one by name gets it.
fn more(bundle: &Bundle) -> Option<String> {
    let others = bundle.sight.iter();
    let others = others.filter(|(tool, entry)| !is_told_always(tool, entry) && !has_failed(entry));
    let names: Vec<&str> = others.map(|(tool, _)| tool.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Looked at, too: {}. To see one: gently sight {}",
            names.join(", "),
            names.first().unwrap_or(&"")
        )
    })
}

fn opening(bundle: &Bundle, question: &str) -> &'static str {
    const OURS_TO_TELL: &str =
        "I am the observer, built into gently; no language model. Here is what the record shows.";
    // Somebody chose among the tools, so the question is about what they show.
    let seen = |entry: &SightEntry| matches!(entry, SightEntry::Seen { .. });
    if bundle.sight.values().any(SightEntry::was_not_looked_at) && bundle.sight.values().any(seen) {
        return OURS_TO_TELL;
    }
    let question: String = question
        .chars()
        .take(LOOKED_AT)
        .collect::<String>()
        .to_lowercase();
    let mut words = question.split(|c: char| !c.is_alphanumeric());
    if words.any(|word| OURS.contains(&word)) {
        OURS_TO_TELL
    } else {
        "I am the observer, built into gently; no language model, so general questions are beyond me. \
         For those, name a model with --model. What I can tell you is what the record shows."
    }
}

fn heading(tool: &str, observed_at: Moment, age: u64) -> String {
    let age = match age {
        0 => "just now".to_owned(),
        1 => "1 second old".to_owned(),
        n => format!("{n} seconds old"),
    };
    format!("{tool}, {observed_at}, {age}:")
}

fn records(bundle: &Bundle) -> Vec<String> {
    let mut lines = Vec::new();
    let fact = |f: &Fact| {
        let id = short_name(&f.id);
        format!("  {} [{id}, {} confidence]", f.claim, f.confidence)
    };
    let (imported, own): (Vec<&Fact>, Vec<&Fact>) =
        bundle.facts.iter().partition(|fact| fact.is_imported());
    let headed = [
        ("Facts on record:", own),
        ("Imported, not verified:", imported),
    ];
    for (heading, facts) in headed.into_iter().filter(|(_, facts)| !facts.is_empty()) {
        lines.push(heading.to_owned());
        lines.extend(facts.into_iter().map(fact));
        lines.push(String::new());
    }
    if !bundle.open_items.is_empty() {
        lines.push("Open:".to_owned());
        lines.extend(bundle.open_items.iter().map(open_item));
        lines.push(String::new());
    }
    lines
}

/// What is open, in words: of a warning from before it had a sentence its class and severity, before
/// the codes of its summary.
fn open_item(item: &OpenItem) -> String {
    let short = short_name(&item.id);
    match item.issue.split_once("): ") {
        Some((of, _)) if item.id.starts_with("driftwatch:") => {
            format!("  an answer was warned of: {of}) [{short}]")
        }
        // Lists call it by a number, which the bundle does not hold.
        _ if item.id.starts_with("driftwatch:") && item.id.contains('-') => {
            format!("  {}", item.issue)
        }
        _ => format!("  {} [{}]", short_names(&item.issue), short_names(&short)),
    }
}

/// What is not known of the tools whose values are told.
fn unknown(bundle: &Bundle, shown: &dyn Fn(&str, &SightEntry) -> bool) -> String {
    let mut names: Vec<String> = Vec::new();
    for (tool, entry) in bundle
        .sight
        .iter()
        .filter(|(tool, entry)| shown(tool, entry))
    {
        match entry {
            SightEntry::Seen { unknowns, .. } => {
                names.extend(unknowns.iter().map(|u| u.replace('_', " ")))
            }
            SightEntry::Unavailable {
                reason: NoSight::NotLooked(_),
                ..
            } => {}
            SightEntry::Unavailable { .. } => names.push(format!("all that {tool} would show")),
        }
    }
    if names.is_empty() {
        return "Not known: anything else.".to_owned();
    }
    format!(
        "Not known: {}. Unknown is a risk, and no sign of health.",
        names.join(", ")
    )
}

/// The tools that nobody asked about.
fn not_looked_at(bundle: &Bundle) -> Option<String> {
    let tools = bundle
        .sight
        .iter()
        .filter(|(_, entry)| entry.was_not_looked_at());
    let names: Vec<&str> = tools.map(|(tool, _)| tool.as_str()).collect();
    (!names.is_empty()).then(|| format!("Not looked at: {}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLE: &str = r#"{"compiled_at":"2026-01-08T00:00:02Z","constraints":[],"exclusions":[],"facts":[{"claim":"The backup runs nightly.","confidence":"high","id":"ledger:000183","observed_at":"2026-01-07T23:31:44Z","source":"ledger"}],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"observer","open_items":[{"id":"driftwatch:0042","issue":"Sight is missing.","status":"open"}],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"sys_health":{"available":true,"freshness_s":2,"observed_at":"2026-01-08T00:00:00Z","unknowns":["gpu_health"],"values":{"cores":2,"cpu_load":0.42,"cpu_load_15m":0.2,"cpu_load_5m":0.3,"disk_free_mb":1600000,"disk_free_pct":71,"disk_total_mb":2250000,"fans":3,"mem_available_mb":4000,"mem_total_mb":7950,"mem_used_mb":900,"swap_total_mb":0,"swap_used_mb":0,"uptime_s":93784}}},"tier":2}"#;

    #[test]
    fn it_says_what_it_was_shown_and_what_it_is() {
        let said = answer(
            &Bundle::parse(BUNDLE).unwrap(),
            "How is this machine doing?",
        );
        assert_eq!(
            said,
            "I am the observer, built into gently; no language model. Here is what the record shows.\n\n\
             sys_health, 2026-01-08T00:00:00Z, 2 seconds old:\n\
             \x20 load     0.42 on 2 cores (0.3 over 5 minutes, 0.2 over 15)\n\
             \x20 memory   900 MiB of 7.8 GiB used, 3.9 GiB available\n\
             \x20 swap     none\n\
             \x20 disk     71 % free (1.5 TiB of 2.1 TiB)\n\
             \x20 up       1 day, 2 hours\n\
             \x20 fans 3\n\n\
             Facts on record:\n\
             \x20 The backup runs nightly. [fact-183, high confidence]\n\n\
             Open:\n\
             \x20 Sight is missing. [drift-42]\n\n\
             Not known: gpu health. Unknown is a risk, and no sign of health."
        );
    }

    #[test]
    fn general_questions_are_beyond_it() {
        let said = answer(
            &Bundle::parse(BUNDLE).unwrap(),
            "What is the capital of France?",
        );
        assert!(
            said.contains("general questions are beyond me") && !said.contains("Paris"),
            "{said}"
        );
    }

    #[test]
    fn what_nobody_asked_about_is_named_and_no_unknown() {
        let disks = r#""sight":{"disk_usage":{"available":false,"observed_at":"2026-01-07T00:00:00Z","reason":"not_looked","unknowns":[]},"#;
        let some = BUNDLE.replace(r#""sight":{"#, disks);
        let said = answer(&Bundle::parse(&some).unwrap(), "Up for long?");
        assert!(said.starts_with("I am the observer, built into gently; no language model. Here"));
        assert!(said.ends_with(
            "Not known: gpu health. Unknown is a risk, and no sign of health.\n\
             Not looked at: disk_usage."
        ));
        assert!(!said.contains("shows nothing"), "{said}");
    }

    /// Who asks about no tool by name gets the machine's state and the names of the rest.
    #[test]
    fn a_question_about_all_gets_the_state_of_the_machine() {
        let disks = r#""sight":{"disk_usage":{"available":true,"freshness_s":2,"observed_at":"2026-01-08T00:00:00Z","unknowns":["inodes"],"values":{"disk1_free_mb":69362,"disk1_mount":"/","disk1_total_mb":250000}},"service_status":{"available":false,"reason":"not_installed","unknowns":[]},"#;
        let all = BUNDLE.replace(r#""sight":{"#, disks);
        let said = answer(&Bundle::parse(&all).unwrap(), "How is this machine doing?");
        assert!(said.contains("\n  disk     71 % free"), "{said}");
        assert!(
            said.ends_with(
                "Looked at, too: disk_usage, service_status. To see one: gently sight disk_usage\n\
                 Not known: gpu health. Unknown is a risk, and no sign of health."
            ),
            "{said}"
        );
    }

    /// However short the answer is, what failed is in it.
    #[test]
    fn a_short_answer_names_what_failed() {
        let failing = r#""sight":{"disk_usage":{"available":false,"reason":"tool_error","unknowns":["disks"]},"service_status":{"available":true,"freshness_s":2,"observed_at":"2026-01-08T00:00:00Z","unknowns":[],"values":{"backup.timer":"active (waiting)","backup.timer_restarts":2,"cron.service":"not-found","nginx.service":"failed (failed)"}},"#;
        let all = BUNDLE.replace(r#""sight":{"#, failing);
        let said = answer(&Bundle::parse(&all).unwrap(), "How is this machine doing?");
        assert!(
            said.contains(
                "\nNot as it should be: disk_usage gave no values; cron.service is not-found; \
                 nginx.service is failed (failed).\n\
                 Looked at, too: service_status. To see one: gently sight service_status\n"
            ),
            "{said}"
        );
        // Who asks for the tool by name sees it there.
        let one = all.replace(
            r#""reason":"tool_error","unknowns":["disks"]"#,
            r#""reason":"not_looked","unknowns":[]"#,
        );
        let said = answer(&Bundle::parse(&one).unwrap(), "Which services run?");
        assert!(said.contains("nginx.service failed (failed)"), "{said}");
        assert!(!said.contains("Not as it should be"), "{said}");
    }

    #[test]
    fn without_sight_it_says_why() {
        let (head, tail) = BUNDLE.split_once(r#""sight":{"#).unwrap();
        let (_, end) = tail.split_once(r#"}}},"#).unwrap();
        let blind = format!(
            r#"{head}"sight":{{"sys_health":{{"available":false,"reason":"blocked_by_tier","unknowns":[]}}}},{end}"#
        );
        let said = answer(
            &Bundle::parse(&blind).unwrap(),
            "How is this machine doing?",
        );
        assert!(
            said.contains("sys_health shows nothing here (blocked_by_tier)."),
            "{said}"
        );
        assert!(said.contains("all that sys_health would show"), "{said}");
    }
}
