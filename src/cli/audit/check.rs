//! `gently audit check FILE`: opened texts, checked without any ledger.
//!
//! Exit codes: 0 *consistent*, *commitment* and *tree head* are *yes*, with keys given *signed by*
//! too, and so is what is required; 1 one of them is not; 2 it could not be looked at.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::anchor::headers_store::HeadersStore;
use crate::record::bitcoin::block::{Header, Network};
use crate::record::ledger::commitment::{Role, TextOpening};
use crate::record::ledger::opening::{MAX_FILE, OpeningFile};
use crate::record::log::entry::{Event, Line};
use crate::record::signature::PublicKey;
use crate::record::tree::witness_policy::WitnessPolicy;
use crate::verify::{
    About, HeaderRequests, OpeningReport, QuestionAnswer, Trust, check_opening, wanted_headers,
};

use super::headers;
use super::outside::read_policy;
use super::target::{TargetError, read_signers};
use super::{FINE, FOUND, not_looked, say, warn};

/// Flags of `gently audit check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// What `gently audit open` wrote
    file: PathBuf,
    /// A key that the ledger may be signed by, the newest last: 'ssh-ed25519 AAAA…', or a file of
    /// them (allowed_signers)
    #[arg(long, value_name = "KEY-OR-FILE")]
    signer: Vec<String>,
    /// The witnesses that count, as a c2sp tlog-policy
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// A folder of kept headers (gently anchor sync): heights are then proven, else they are the
    /// file's word
    #[arg(long, value_name = "FOLDER")]
    headers: Option<PathBuf>,
    /// A test network whose blocks are to show times; they prove nothing to anybody else
    #[arg(long, value_name = "NAME")]
    network: Option<Network>,
    /// Answers that must be yes: consistent, commitment, tree-head, signed, cosigned, not-before,
    /// not-after
    #[arg(long, value_name = "ANSWER", value_delimiter = ',', value_parser = read_about)]
    require: Vec<About>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

fn read_about(text: &str) -> Result<About, String> {
    let name = match text {
        "signed" => "signed_by".to_owned(),
        "cosigned" => "cosigned_by".to_owned(),
        other => other.replace('-', "_"),
    };
    About::ALL.into_iter().find(|about| about.name() == name).ok_or_else(|| {
        format!("'{text}' is no answer: consistent, commitment, tree-head, signed, cosigned, not-before or not-after")
    })
}

/// Checks a file, and gives the exit code.
pub(super) fn run(
    args: &CheckArgs,
    out: &mut dyn std::io::Write,
    err: &mut dyn std::io::Write,
) -> u8 {
    let CheckInput {
        file,
        pinned,
        policy,
        chain,
    } = match read(args) {
        Ok(read) => read,
        Err(why) => {
            return not_looked(&format!("gently audit check: {why}\n"), args.json, out, err);
        }
    };
    let trust = Trust {
        pinned: pinned.as_deref(),
        policy: policy.as_ref(),
        chain: chain.as_ref(),
        network: args.network,
    };
    let report = check_opening(&file, trust);
    let signed = pinned.is_none() || report.to(About::SignedBy).answer == QuestionAnswer::Yes;
    let missing: Vec<String> = args
        .require
        .iter()
        .map(|about| (about, report.to(*about).answer))
        .filter(|(_, answer)| *answer != QuestionAnswer::Yes)
        .map(|(about, answer)| format!("{} is {}", about.name().replace('_', " "), answer.word()))
        .collect();
    let code = if report.opens() && signed && missing.is_empty() {
        FINE
    } else {
        FOUND
    };
    let text = if args.json {
        format!("{}\n", facts(&file, &report))
    } else {
        words(&file, &report)
    };
    let code = say(out, &text, code);
    if missing.is_empty() {
        return code;
    }
    warn(
        err,
        &format!(
            "gently audit check: required to be yes: {}\n",
            missing.join(", ")
        ),
        code,
    )
}

/// The file, and what the checker brings along.
struct CheckInput {
    file: OpeningFile,
    pinned: Option<Vec<PublicKey>>,
    policy: Option<WitnessPolicy>,
    chain: Option<BTreeMap<u32, Header>>,
}

fn read(args: &CheckArgs) -> Result<CheckInput, String> {
    let place = args.file.display();
    let bytes = crate::os::read_regular(&args.file, MAX_FILE as u64);
    let file =
        OpeningFile::parse(&bytes.map_err(|e| format!("{place}: {e}; an opening file is wanted"))?);
    let file = file.map_err(|e| format!("{place} is no opening file: {e}"))?;
    let told = |e: TargetError| e.to_string();
    let pinned = args
        .signer
        .iter()
        .map(|text| read_signers(text))
        .collect::<Result<Vec<_>, _>>()
        .map_err(told)?;
    let pinned = Some(pinned.concat()).filter(|keys| !keys.is_empty());
    let policy = args
        .policy
        .as_deref()
        .map(read_policy)
        .transpose()
        .map_err(told)?;
    args.headers
        .as_deref()
        .map(headers::folder)
        .transpose()
        .map_err(told)?;
    let chain = args.headers.as_deref().zip(wanted_headers(&file));
    let chain = chain
        .map(|(folder, wanted)| kept(folder, &wanted))
        .transpose()?;
    Ok(CheckInput {
        file,
        pinned,
        policy,
        chain,
    })
}

/// The headers at some heights, of a folder of kept ones whose whole chain is checked.
fn kept(folder: &Path, wanted: &HeaderRequests) -> Result<BTreeMap<u32, Header>, String> {
    let heights: Vec<u32> = wanted.attested.union(&wanted.named).copied().collect();
    let store =
        HeadersStore::open(folder, wanted.network, &heights).map_err(|fault| fault.to_string())?;
    let store = store.ok_or_else(|| {
        format!(
            "{} holds no headers of {}; fill one with: gently anchor sync",
            folder.display(),
            wanted.network.name()
        )
    })?;
    Ok(heights
        .iter()
        .filter_map(|height| Some((*height, store.header(*height)?)))
        .collect())
}

fn words(file: &OpeningFile, report: &OpeningReport) -> String {
    let mut out = String::new();
    if let Some(network) = report
        .network
        .filter(|network| *network != Network::Bitcoin)
    {
        put(
            &mut out,
            &format!(
                "Network: {}, a test network: its blocks are not Bitcoin's",
                network.name()
            ),
        );
    }
    for (opening, line) in opened(file) {
        put(&mut out, &format!("Opened: {}", name_of(opening)));
        if let Some(line) = line {
            put(
                &mut out,
                &format!("Recorded: {}, {}", line.time, line.event.name()),
            );
            if let Event::Response { model, .. } = &line.event {
                put(
                    &mut out,
                    &format!("Model: {model} (as the ledger's owner says)"),
                );
            }
        }
    }
    put(&mut out, "");
    for about in About::ALL {
        let verdict = report.to(about);
        let name = format!("{}:", about.name().replace('_', " "));
        put(
            &mut out,
            &format!("{name:<12} {} ({})", verdict.answer.word(), verdict.reason),
        );
    }
    for (n, finding) in report.findings.iter().enumerate() {
        put(&mut out, "");
        put(
            &mut out,
            &format!(
                "Finding {} ({}): {}",
                n + 1,
                finding.about.name().replace('_', " "),
                finding.place
            ),
        );
        put(&mut out, &format!("  expected: {}", finding.expected));
        put(&mut out, &format!("  actual:   {}", finding.actual));
    }
    let opens = report.to(About::Commitment).answer == QuestionAnswer::Yes;
    for opening in &file.openings {
        let of = if file.openings.len() == 1 {
            String::new()
        } else {
            format!(" of {}", name_of(opening))
        };
        put(&mut out, "");
        put(
            &mut out,
            &format!(
                "Text{of}{}:",
                if opens {
                    ""
                } else {
                    ", which does not open the commitment"
                }
            ),
        );
        for line in opening.text.split('\n') {
            put(&mut out, &format!("  {line}"));
        }
    }
    out
}

/// What is opened, in a few words.
fn name_of(opening: &TextOpening) -> String {
    let seq = opening
        .seq
        .map_or_else(String::new, |seq| format!(" {seq}"));
    let around = if opening.session_id == "-" {
        "outside sessions".to_owned()
    } else {
        format!("of session {}", opening.session_id)
    };
    format!("{}{seq} {around}", opening.role.name())
}

/// Each opening with its line: the outcome's, where the file has it.
fn opened(file: &OpeningFile) -> impl Iterator<Item = (&TextOpening, Option<Line>)> {
    let lines: Vec<Line> = file
        .lines
        .iter()
        .filter_map(|entry| Line::parse(entry.text.as_bytes()).ok())
        .collect();
    let mut artifacts = 0;
    file.openings.iter().map(move |opening| {
        let carries = |line: &&Line| match (&line.event, opening.role) {
            (Event::Response { .. }, Role::Prompt | Role::Response | Role::Exchange)
            | (Event::Prompt { .. }, Role::Prompt)
            | (Event::ResponseFail { .. } | Event::Denied { .. }, Role::Exchange) => {
                line.event.seq() == opening.seq
            }
            _ => false,
        };
        let line = if opening.role == Role::Artifact {
            artifacts += 1;
            lines
                .iter()
                .filter(|line| matches!(line.event, Event::Artifact { .. }))
                .nth(artifacts - 1)
        } else {
            lines.iter().find(carries)
        };
        (opening, line.cloned())
    })
}

fn put(out: &mut String, line: &str) {
    // What a foreign file says may hold escape sequences for the terminal.
    let clean: String = line
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    writeln!(out, "{clean}").expect("a String takes everything");
}

fn facts(file: &OpeningFile, report: &OpeningReport) -> Value {
    let per_question = |what: &dyn Fn(About) -> Value| -> Value {
        About::ALL
            .iter()
            .map(|about| (about.name().to_owned(), what(*about)))
            .collect::<serde_json::Map<_, _>>()
            .into()
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
    let openings: Vec<Value> = opened(file)
        .map(|(opening, line)| {
            let model = line.as_ref().and_then(|line| match &line.event {
                Event::Response { model, .. } => Some(model.clone()),
                _ => None,
            });
            json!({
                "role": opening.role.name(), "session": opening.session_id, "seq": opening.seq, "text": opening.text,
                "line": line.as_ref().map(Line::text), "model": model,
            })
        })
        .collect();
    let first = openings.first().cloned().unwrap_or_default();
    let mut facts = json!({
        "answers": per_question(&|about| report.to(about).answer.word().into()),
        "reasons": per_question(&|about| report.to(about).reason.into()),
        "findings": findings, "openings": openings,
        "network": report.network.map(Network::name), "signer": report.signer.map(|key| key.to_string()),
    });
    // Most files have one opening: its parts stand beside the list, too.
    if let (Value::Object(facts), Value::Object(first)) = (&mut facts, first) {
        facts.extend(first);
    }
    facts
}
