//! `gently audit`: checks a ledger, or one session of it, and says what it found.
//!
//! Exit codes: 0 consistent and complete, with `--since` of what is new; 1 not, or another answer is *no*, or a
//! required one was not checked; 2 could not look, which includes that there is nothing to check.

mod check;
pub(super) mod open;
mod progress;
pub(super) mod rebuild;
mod render;
pub(super) mod replay;
mod saved;
mod target;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::store::sqlite::Sqlite;
use crate::verify::{Answer, Question, Report, Since, Terms};

use super::{find, receipt};

use progress::watched;
use saved::Kept;
pub(super) use target::read_signer;
use target::{Target, TargetError};

/// Fine: consistent and complete.
const FINE: u8 = 0;
/// Something was found.
const FOUND: u8 = 1;
/// Could not look.
const COULD_NOT_LOOK: u8 = 2;

/// What to check.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check ledger, log and blocks, and say what holds and what does not
    Verify(VerifyArgs),
    /// Check one session
    Session(SessionArgs),
    /// Check one opened text, which `audit open` wrote; needs no ledger and no home
    Check(check::CheckArgs),
}

/// Flags of `gently audit verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Answers that must be yes: signed, not-before, not-after, unique, consistent, complete
    #[arg(long, value_name = "ANSWER", value_delimiter = ',', value_parser = read_question)]
    require: Vec<Question>,
    /// Check only what is new since a commit of main, or since the last check that found nothing wrong ('last')
    #[arg(long, value_name = "COMMIT|last")]
    since: Option<String>,
    /// Where that last check is kept; in a home verified.json
    #[arg(long, value_name = "FILE")]
    position: Option<PathBuf>,
    /// A receipt that somebody kept, which the ledger must continue; may be given several times
    #[arg(long, value_name = "FILE", conflicts_with = "since")]
    receipt: Vec<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Flags of `gently audit session`.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The first digits of the session's id
    prefix: String,
    #[command(flatten)]
    target: TargetArgs,
}

/// Which ledger, and how to print.
#[derive(Debug, Args)]
struct TargetArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Check this repository or bundle, without any home
    #[arg(long, value_name = "PATH-OR-BUNDLE")]
    repo: Option<PathBuf>,
    /// The log file that belongs to --repo
    #[arg(long, value_name = "FILE", requires = "repo")]
    log: Option<PathBuf>,
    /// The key that the ledger must be signed by: 'ssh-ed25519 AAAA…', or a file that begins with it
    #[arg(long, value_name = "KEY-OR-FILE")]
    signer: Option<String>,
}

fn read_question(text: &str) -> Result<Question, String> {
    let name = if text == "signed" { "signed_by".to_owned() } else { text.replace('-', "_") };
    Question::ALL
        .into_iter()
        .find(|question| question.name() == name)
        .ok_or_else(|| format!("'{text}' is no answer: signed, not-before, not-after, unique, consistent or complete"))
}

/// Runs the command on a home, or on what `--repo` names, and gives the exit code.
///
/// The report goes to `out`, what kept it from looking to `err`.
pub fn run(command: AuditCommand, home: Option<&Path>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let checked = match &command {
        AuditCommand::Check(args) => return check::run(args, out, err),
        AuditCommand::Verify(args) => run_verify(args, home, out, err),
        AuditCommand::Session(args) => Target::find(&args.target, home).and_then(|target| {
            let report = target.report(Terms::default())?;
            let known = !report.sessions_of(&args.prefix).is_empty() || args.target.repo.is_some();
            let named = if known { None } else { home.and_then(|home| session_around(home, &args.prefix)) };
            Ok(run_session(&report, named.as_deref().unwrap_or(&args.prefix), args.target.json, out, err))
        }),
    };
    checked.unwrap_or_else(|error| say(err, &format!("gently audit: {error}\n"), COULD_NOT_LOOK))
}

fn run_verify(
    args: &VerifyArgs,
    home: Option<&Path>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, TargetError> {
    let target = Target::find(&args.target, home)?;
    let kept = Kept::find(args.position.as_deref(), home.filter(|_| args.target.repo.is_none()));
    let saved = kept.as_ref().filter(|_| args.since.is_some()).map(Kept::read);
    let since = match (args.since.as_deref(), &saved) {
        (None, _) => None,
        (Some("last"), Some(saved)) => Some(Since::Position(saved.as_ref())),
        (Some("last"), None) => return Err(TargetError::NoPosition),
        (Some(commit), _) => Some(Since::Commit(commit, saved.as_ref().and_then(|saved| saved.as_ref().ok()))),
    };
    let shown = !args.quiet && !args.target.json;
    let receipts = receipt::read(&args.receipt).map_err(TargetError::Receipt)?;
    let report =
        watched(shown, |progress| target.report(Terms { since, progress: Some(progress), receipts: &receipts }))?;
    let from = saved.as_ref().and_then(|saved| saved.as_ref().ok());
    if let Some(Err(words)) = kept.zip(report.position.clone()).map(|(kept, to)| kept.write(to, from, &report.scope)) {
        say(err, &format!("gently audit: the position of this check is not kept: {words}\n"), FINE);
    }
    if let Some(words) = render::cost(&report) {
        say(err, &words, FINE);
    }
    let text = if args.target.json { render::json(&report) } else { render::text(&report) };
    let code = say(out, &text, verdict(&report, &args.require));
    Ok(match missing(&report, &args.require) {
        Some(words) if code == FOUND => say(err, &words, code),
        _ => code,
    })
}

/// The session that another id of this home means: `last`, an exchange, a commit.
fn session_around(home: &Path, text: &str) -> Option<String> {
    let store = Sqlite::open_read_only(&home.join("gently.db")).ok()?;
    find::session(&store, text).ok().map(|row| row.id.to_string())
}

fn verdict(report: &Report, required: &[Question]) -> u8 {
    let missing = required.iter().any(|question| report.answers.to(*question).answer != Answer::Yes);
    if report.passes_as_asked() && !missing { FINE } else { FOUND }
}

/// Says which required answers are not *yes*.
fn missing(report: &Report, required: &[Question]) -> Option<String> {
    let words: Vec<String> = required
        .iter()
        .map(|question| (question, report.answers.to(*question)))
        .filter(|(_, verdict)| verdict.answer != Answer::Yes)
        .map(|(question, verdict)| format!("{} is {}", question.name().replace('_', " "), verdict.answer.word()))
        .collect();
    (!words.is_empty()).then(|| format!("gently audit: required to be yes: {}\n", words.join(", ")))
}

fn run_session(report: &Report, prefix: &str, json: bool, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let session = match report.sessions_of(prefix).as_slice() {
        [session] => *session,
        [] => return say(err, &render::unknown_session(report, prefix), COULD_NOT_LOOK),
        several => return say(err, &render::ambiguous_session(prefix, several), COULD_NOT_LOOK),
    };
    let text = if json { render::session_json(report, session) } else { render::session_text(report, session) };
    say(out, &text, if session.chain_valid && session.all_verified { FINE } else { FOUND })
}

/// Prints, and gives `code`; a closed pipe or full disk is not a pass.
fn say(to: &mut dyn Write, text: &str, code: u8) -> u8 {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Ok(()) => code,
        Err(_) => COULD_NOT_LOOK,
    }
}
