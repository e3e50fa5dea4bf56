//! What judging a reply of a megabyte to a prompt of a megabyte takes, whatever both are made of.

use std::time::Duration;

use gently::continuity::words::words;
use gently::govern::actions::actuation::{proposed, requested};
use gently::govern::kernel::Kernel;
use gently::govern::reply::validate::judge;
use gently::govern::sanitize::{Clean, redact};
use gently::record::ledger::bundle::Bundle;

use crate::processor;

/// Families of texts, by name: a piece that is repeated; `{}` is another number in each.
const PIECES: &[(&str, &str)] = &[
    (
        "plain prose",
        "The disk of this machine is 71 % full. I have restarted nothing yet, and 4711 files are left. ",
    ),
    ("numbers", "{} "),
    ("numbers with units", "{} MB, {} days and {} % "),
    ("dates", "{}:{} on {} May 1{}, "),
    ("versions", "v1.{}.{} "),
    ("addresses", "https://a.b/{} "),
    ("addresses in addresses", "a.1.2.3.4."),
    ("e-mail", "a{}@b.{} "),
    ("ids", "ledger:00{} "),
    ("paths", "/etc/x{} "),
    ("quotes", "\"three words {}\" "),
    ("open quotes", "“\"a b c\" "),
    ("quotes that close nothing", "„«“"),
    ("code", "``a `b` "),
    ("fences", "```\n~~~\n"),
    ("figures", "The disk is {} % full and its load is {}.5. "),
    ("claims", "i went and "),
    ("claims in a row", "I've deleted file{}. "),
    ("one clause", "i "),
    ("passives", "asked is now "),
    ("orders", "check , "),
    ("orders in a row", "delete /var/log/x{}. "),
    ("politeness", "please , "),
    ("announcements", "i'll now then "),
    ("tool calls", "<tool_call <invoke name=\"a "),
    ("dots", "."),
    ("no space", "a"),
    ("different words", "w{} "),
    ("the same words", "word other "),
    ("tone", "guaranteed 100% sure, my dear. "),
    ("refusals", "I cannot and will not be able to "),
    ("lines", "\n"),
    ("bullets", "- [x] 1. "),
    ("log lines", "2026-01-08T00:00:{} x\n"),
    ("assignments", "KEY{}=1\n"),
];

/// A prompt and a reply of a family: nothing that one has in it does the other.
fn pair(piece: &str, bytes: usize) -> (String, String) {
    let mut number = 10_000_u64;
    let mut text = |step: u64| {
        let mut out = String::with_capacity(bytes + 100);
        while out.len() < bytes {
            let mut parts = piece.split("{}");
            out.push_str(parts.next().unwrap_or_default());
            for part in parts {
                number += step;
                out.push_str(&(number % 900_000).to_string());
                out.push_str(part);
            }
        }
        out
    };
    (text(2), text(3))
}

const QUESTION: &str = "How full is the disk of this machine, and what is its load?\n";

/// What a turn on some machine was shown.
const BUNDLE: &str = r#"{"compiled_at":"2026-01-08T00:00:02Z","constraints":[{"rule":"read_only_default","source":"kernel"}],"exclusions":[],"facts":[{"claim":"The backup runs nightly.","confidence":"high","id":"ledger:000183","observed_at":"2026-01-07T23:31:44Z","source":"user"}],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"observer","open_items":[],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"disk_usage":{"available":true,"freshness_s":2,"observed_at":"2026-01-08T00:00:00Z","unknowns":["inodes"],"values":{"disk1_free_mb":1600000,"disk1_mount":"/","disk1_total_mb":2250000,"disk1_used_pct":29}},"index_status":{"available":true,"freshness_s":2,"observed_at":"2026-01-08T00:00:00Z","unknowns":[],"values":{"artifacts":12,"database_bytes":4194304,"exchanges":310,"log_lines":931}},"sys_health":{"available":true,"freshness_s":2,"observed_at":"2026-01-08T00:00:00Z","unknowns":["gpu_health"],"values":{"cores":2,"cpu_load":0.42,"cpu_load_15m":0.2,"cpu_load_5m":0.3,"disk_free_mb":1600000,"disk_free_pct":71,"disk_total_mb":2250000,"mem_available_mb":4000,"mem_total_mb":7950,"mem_used_mb":900,"swap_total_mb":0,"swap_used_mb":0,"uptime_s":93784}}},"tier":2}"#;

/// Prints, by family, the processor time of a megabyte and how much more it is than that of half of
/// one.
pub fn measure() {
    let (kernel, bundle) = (Kernel::genesis(), Bundle::parse(BUNDLE).unwrap());
    let one = |prompt: &Clean, reply: &str| -> Duration {
        let before = processor::thread();
        let _ = judge(&kernel, &bundle, prompt, None, reply);
        let _ = (
            requested(prompt.as_str()),
            proposed(reply),
            words(prompt.as_str()),
        );
        processor::thread() - before
    };
    println!("{:34} {:>8} {:>8}", "family", "1 MB, ms", "ratio");
    for (name, piece) in PIECES {
        let spent = |bytes: usize| {
            let (prompt, reply) = pair(piece, bytes);
            // What the sanitizer does to it is measured elsewhere.
            one(&redact(&format!("{QUESTION}{prompt}")).clean, &reply)
        };
        one(&redact(QUESTION).clean, "warm");
        let (half, whole) = (spent(500_000), spent(1_000_000));
        let ms = whole.as_secs_f64() * 1000.0;
        println!(
            "{name:34} {ms:8.0} {:8.1}",
            whole.as_secs_f64() / half.as_secs_f64()
        );
    }
}
