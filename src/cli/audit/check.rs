//! `gently audit check FILE`: one opened text, checked without any ledger.
//!
//! Exit codes: 0 nothing is *no* (what was not checked says so); 1 something is, or a required answer is not *yes*;
//! 2 it could not be looked at.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::anchor::headers_store::HeadersStore;
use crate::record::block::Header;
use crate::record::entry::Line;
use crate::record::opening::{MAX_FILE, OpeningFile};
use crate::record::policy::Policy;
use crate::record::signature::PublicKey;
use crate::verify::{About, Answer, OpeningReport, Trust, Wanted, check_opening, wanted_headers};

use super::outside::read_policy;
use super::target::{TargetError, read_signers};
use super::{COULD_NOT_LOOK, FINE, FOUND, say, warn};

/// Flags of `gently audit check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// What `gently audit open` wrote
    file: PathBuf,
    /// The key that the ledger must be signed by: 'ssh-ed25519 AAAA…', or a file of one or more, such as allowed_signers
    #[arg(long, value_name = "KEY-OR-FILE")]
    signer: Option<String>,
    /// The witnesses that count, as a c2sp tlog-policy
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// A folder of kept headers (gently anchor sync): heights are then proven, else they are the file's word
    #[arg(long, value_name = "FOLDER")]
    headers: Option<PathBuf>,
    /// Answers that must be yes: consistent, commitment, in-tree, tree-head, signed, cosigned, not-before, not-after
    #[arg(long, value_name = "ANSWER", value_delimiter = ',', value_parser = read_about)]
    require: Vec<About>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn read_about(text: &str) -> Result<About, String> {
    let name = match text {
        "signed" => "signed_by".to_owned(),
        "cosigned" => "cosigned_by".to_owned(),
        other => other.replace('-', "_"),
    };
    About::ALL.into_iter().find(|about| about.name() == name).ok_or_else(|| {
        format!("'{text}' is no answer: consistent, commitment, in-tree, tree-head, signed, cosigned, not-before or not-after")
    })
}

/// Checks a file, and gives the exit code.
pub(super) fn run(args: &CheckArgs, out: &mut dyn std::io::Write, err: &mut dyn std::io::Write) -> u8 {
    let Given { file, pinned, policy, chain } = match read(args) {
        Ok(read) => read,
        Err(why) => return warn(err, &format!("gently audit check: {why}\n"), COULD_NOT_LOOK),
    };
    let trust = Trust { pinned: pinned.as_deref(), policy: policy.as_ref(), chain: chain.as_ref() };
    let report = check_opening(&file, trust);
    let missing: Vec<String> = args
        .require
        .iter()
        .map(|about| (about, report.to(*about).answer))
        .filter(|(_, answer)| *answer != Answer::Yes)
        .map(|(about, answer)| format!("{} is {}", about.name().replace('_', " "), answer.word()))
        .collect();
    let code = if report.passes() && missing.is_empty() { FINE } else { FOUND };
    let text = if args.json { format!("{}\n", facts(&file, &report)) } else { words(&file, &report) };
    let code = say(out, &text, code);
    if missing.is_empty() {
        return code;
    }
    warn(err, &format!("gently audit check: required to be yes: {}\n", missing.join(", ")), code)
}

/// The file, and what the checker brings along.
struct Given {
    file: OpeningFile,
    pinned: Option<Vec<PublicKey>>,
    policy: Option<Policy>,
    chain: Option<BTreeMap<u32, Header>>,
}

fn read(args: &CheckArgs) -> Result<Given, String> {
    let place = args.file.display();
    let failed = |e: std::io::Error| format!("{place}: {e}");
    let length = std::fs::metadata(&args.file).map_err(failed)?.len();
    if length > MAX_FILE as u64 {
        return Err(format!("{place}: {length} bytes; an opening file has at most {MAX_FILE}"));
    }
    let file = OpeningFile::parse(&std::fs::read(&args.file).map_err(failed)?);
    let file = file.map_err(|e| format!("{place} is no opening file: {e}"))?;
    let told = |e: TargetError| e.to_string();
    let pinned = args.signer.as_deref().map(read_signers).transpose().map_err(told)?;
    let policy = args.policy.as_deref().map(read_policy).transpose().map_err(told)?;
    let chain = args.headers.as_deref().zip(wanted_headers(&file));
    let chain = chain.map(|(folder, wanted)| kept(folder, &wanted)).transpose()?;
    Ok(Given { file, pinned, policy, chain })
}

/// The headers at some heights, of a folder of kept ones whose whole chain is checked.
fn kept(folder: &Path, wanted: &Wanted) -> Result<BTreeMap<u32, Header>, String> {
    let heights: Vec<u32> = wanted.attested.union(&wanted.named).copied().collect();
    let store = HeadersStore::open(folder, wanted.network, &heights).map_err(|fault| fault.to_string())?;
    let store = store.ok_or_else(|| {
        format!("{} holds no headers of {}; fill one with: gently anchor sync", folder.display(), wanted.network.name())
    })?;
    Ok(heights.iter().filter_map(|height| Some((*height, store.header(*height)?))).collect())
}

fn words(file: &OpeningFile, report: &OpeningReport) -> String {
    let opening = &file.opening;
    let seq = opening.seq.map_or_else(String::new, |seq| format!(" {seq}"));
    let around = if opening.session_id == "-" {
        "outside sessions".to_owned()
    } else {
        format!("of session {}", opening.session_id)
    };
    let mut out = String::new();
    put(&mut out, &format!("Opened: {}{seq} {around}", opening.role.name()));
    if let Ok(line) = Line::parse(file.line.text.as_bytes()) {
        put(&mut out, &format!("Recorded: {}, {}", line.time, line.event.name()));
    }
    if let Some(record) = &file.record {
        put(&mut out, &format!("Model: {} (as the ledger's owner says)", record.document.model));
    }
    put(&mut out, "");
    for about in About::ALL {
        let verdict = report.to(about);
        let name = format!("{}:", about.name().replace('_', " "));
        put(&mut out, &format!("{name:<12} {} ({})", verdict.answer.word(), verdict.reason));
    }
    for (n, finding) in report.findings.iter().enumerate() {
        put(&mut out, "");
        put(&mut out, &format!("Finding {} ({}): {}", n + 1, finding.about.name().replace('_', " "), finding.place));
        put(&mut out, &format!("  expected: {}", finding.expected));
        put(&mut out, &format!("  actual:   {}", finding.actual));
    }
    put(&mut out, "");
    let opens = report.to(About::Commitment).answer == Answer::Yes;
    put(&mut out, if opens { "Text:" } else { "Text, which does not open the commitment:" });
    for line in opening.text.split('\n') {
        put(&mut out, &format!("  {line}"));
    }
    out
}

fn put(out: &mut String, line: &str) {
    // What a foreign file says may hold escape sequences for the terminal.
    let clean: String = line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    writeln!(out, "{clean}").expect("a String takes everything");
}

fn facts(file: &OpeningFile, report: &OpeningReport) -> Value {
    let per_question = |what: &dyn Fn(About) -> Value| -> Value {
        About::ALL.iter().map(|about| (about.name().to_owned(), what(*about))).collect::<serde_json::Map<_, _>>().into()
    };
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "question": finding.about.name(), "place": finding.place, "expected": finding.expected,
                "actual": finding.actual,
            })
        })
        .collect();
    json!({
        "answers": per_question(&|about| report.to(about).answer.word().into()),
        "reasons": per_question(&|about| report.to(about).reason.into()),
        "findings": findings,
        "role": file.opening.role.name(), "session": file.opening.session_id, "seq": file.opening.seq,
        "line": file.line.text, "model": file.record.as_ref().map(|record| record.document.model.clone()),
        "signer": file.head.key.to_string(), "text": file.opening.text,
    })
}
