//! `gently audit check FILE`: opened texts, checked without any ledger.
//!
//! Exit codes: 0 *consistent*, *commitment* and *tree head* are *yes*, with keys given *signed by*
//! too, and so is what is required; 1 one of them is not; 2 it could not be looked at.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::app::verify::opening::{CheckRequest, check, opened};
use crate::record::bitcoin::block::Network;
use crate::record::ledger::commitment::TextOpening;
use crate::record::ledger::opening::OpeningFile;
use crate::record::log::entry::Event;
use crate::verify::{About, OpeningReport, QuestionAnswer};
use crate::view::opening::OpeningReportView;

use super::super::{FINE, NEGATIVE, rendered};
use super::{not_looked, say, warn};

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
    let request = CheckRequest {
        file: args.file.clone(),
        signers: args.signer.clone(),
        policy: args.policy.clone(),
        headers: args.headers.clone(),
        network: args.network,
        require: args.require.clone(),
    };
    let checked = match check(&request) {
        Ok(checked) => checked,
        Err(why) => {
            return not_looked(&format!("gently audit check: {why}\n"), args.json, out, err);
        }
    };
    let view = || OpeningReportView::of(&checked);
    let text = rendered(args.json, view, || words(&checked.file, &checked.report));
    let code = say(out, &text, if checked.holds { FINE } else { NEGATIVE });
    if checked.missing.is_empty() {
        return code;
    }
    let words = |(about, answer): &(About, QuestionAnswer)| {
        format!("{} is {}", about.name().replace('_', " "), answer.word())
    };
    let missing: Vec<String> = checked.missing.iter().map(words).collect();
    warn(
        err,
        &format!(
            "gently audit check: required to be yes: {}\n",
            missing.join(", ")
        ),
        code,
    )
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

fn put(out: &mut String, line: &str) {
    // What a foreign file says may hold escape sequences for the terminal.
    let clean: String = line
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    writeln!(out, "{clean}").expect("a String takes everything");
}
