//! `gently check FILE`, and `gently audit check`: opened texts, checked without any ledger. The verdict
//! stands first, in three lines, and then the texts; with `-v` all that it follows from.
//!
//! Exit codes: 0 *consistent*, *commitment* and *tree head* are *yes*, with keys given *signed by*
//! too, and so is what is required; 1 one of them is not; 2 it could not be looked at.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::app::prove::verify::opening::{CheckRequest, CheckResult, PageOrigin, check, opened};
use crate::record::bitcoin::block::Network;
use crate::record::ledger::commitment::{Role, TextOpening};
use crate::record::log::entry::Event;
use crate::verify::{CheckAnswer, OpeningQuestion};
use crate::view::prove::opening::{OpeningReportView, OpeningVerdictView, is_whole};

use super::open::named_text;
use super::{not_looked, say, warn};
use crate::cli::screen::{mark, quiet};
use crate::cli::{FINE, NEGATIVE, rendered};

/// Flags of `gently check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// What `gently share` wrote, file or page, or `gently audit open`
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
    require: Vec<OpeningQuestion>,
    /// Say all of it: each answer with its reason, and what it rests on
    #[arg(short, long)]
    verbose: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

fn read_about(text: &str) -> Result<OpeningQuestion, String> {
    let name = match text {
        "signed" => "signed_by".to_owned(),
        "cosigned" => "cosigned_by".to_owned(),
        other => other.replace('-', "_"),
    };
    OpeningQuestion::ALL.into_iter().find(|about| about.name() == name).ok_or_else(|| {
        format!("'{text}' is no answer: consistent, commitment, tree-head, signed, cosigned, not-before or not-after")
    })
}

/// Checks a file, and gives the exit code.
pub(in crate::cli) fn run(
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
            let why = quiet(&why.to_string());
            return not_looked(&format!("error: {why}\n"), args.json, out, err);
        }
    };
    let view = || OpeningReportView::of(&checked);
    let text = rendered(args.json, view, || words(&checked, args.verbose));
    let code = say(out, &text, if checked.holds { FINE } else { NEGATIVE });
    if checked.missing.is_empty() {
        return code;
    }
    let words = |(about, answer): &(OpeningQuestion, CheckAnswer)| {
        format!("{} is {}", about.name().replace('_', " "), answer.word())
    };
    let missing: Vec<String> = checked.missing.iter().map(words).collect();
    warn(
        err,
        &format!("required to be yes: {}\n", missing.join(", ")),
        code,
    )
}

/// Genuine or not, by whom, when between; and what was checked, if that was in a page.
fn headline(out: &mut String, checked: &CheckResult, verbose: bool) {
    let verdict = OpeningVerdictView::of(checked);
    put(
        out,
        &format!("{} {}: {}", mark(verdict.mark), verdict.word, verdict.text),
    );
    put(out, &format!("  by:   {}", verdict.by));
    put(out, &format!("  when: {}", verdict.when));
    match checked.page {
        None => {}
        Some(PageOrigin::Ours) if !verbose => {}
        Some(PageOrigin::Ours) => put(
            out,
            "  This is a page; the file in it was checked, and it shows these texts.",
        ),
        Some(PageOrigin::Foreign) => put(
            out,
            "  This is a page, and not as this program makes it: the file in it was checked, and what the \
             page shows may be something else. Rely on the texts below.",
        ),
    }
    put(out, "");
}

/// Each text under its name, and whether it is the one that was put on record.
fn texts(out: &mut String, checked: &CheckResult) {
    for (at, (opening, line)) in opened(&checked.file).enumerate() {
        let name = named_text(opening.role, opening.seq);
        let judged = match (checked.report.text_opens(at), is_whole(checked)) {
            (false, _) => format!("{} NOT the text that was put on record", mark("no")),
            (true, true) => format!("{} as it was put on record", mark("yes")),
            (true, false) => format!(
                "{} not known to be on record, as the parts of this file contradict each other",
                mark("open")
            ),
        };
        let model = match line.map(|line| line.event) {
            Some(Event::Response { model, .. }) if opening.role == Role::Response => {
                format!(" (of {model}, its owner says)")
            }
            _ => String::new(),
        };
        put(
            out,
            &format!(
                "{}{model}: {judged}",
                capital(name.trim_start_matches("the "))
            ),
        );
        for line in opening.text.split('\n') {
            put(out, &format!("  {line}"));
        }
        put(out, "");
    }
}

fn words(checked: &CheckResult, verbose: bool) -> String {
    let CheckResult { file, report, .. } = checked;
    let mut out = String::new();
    headline(&mut out, checked, verbose);
    texts(&mut out, checked);
    if !verbose {
        let whose = match (checked.pinned, report.signer) {
            (0, Some(_)) if is_whole(checked) => {
                "Whose key that is, its owner has to tell you: then add --signer KEY. "
            }
            _ => "",
        };
        put(&mut out, &format!("{whose}All of it: -v"));
        return out;
    }
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
    for about in OpeningQuestion::ALL {
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
    out
}

/// With a capital letter.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(rest).collect()
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
