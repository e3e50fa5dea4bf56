//! `gently audit`: checks a ledger, or one session of it, and says what it found.
//!
//! Exit codes: 0 consistent and complete; 1 not, or another answer is *no*, or a required one was not
//! checked; 2 could not look, which includes that there is nothing to check.

pub(super) mod rebuild;
mod render;
mod target;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::store::sqlite::Sqlite;
use crate::verify::{Answer, Question, Report};

use super::find;

use target::Target;
pub(super) use target::read_signer;

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
}

/// Flags of `gently audit verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Answers that must be yes: signed, not-before, not-after, unique, consistent, complete
    #[arg(long, value_name = "ANSWER", value_delimiter = ',', value_parser = read_question)]
    require: Vec<Question>,
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
    let (target, required, prefix) = match &command {
        AuditCommand::Verify(args) => (&args.target, args.require.as_slice(), None),
        AuditCommand::Session(args) => (&args.target, [].as_slice(), Some(args.prefix.as_str())),
    };
    let report = match Target::find(target, home).and_then(|found| found.report()) {
        Ok(report) => report,
        Err(error) => return say(err, &format!("gently audit: {error}\n"), COULD_NOT_LOOK),
    };
    match prefix {
        None => {
            let text = if target.json { render::json(&report) } else { render::text(&report) };
            let code = say(out, &text, verdict(&report, required));
            match missing(&report, required) {
                Some(words) if code == FOUND => say(err, &words, code),
                _ => code,
            }
        }
        Some(prefix) => {
            let known = !report.sessions_of(prefix).is_empty() || target.repo.is_some();
            let named = if known { None } else { home.and_then(|home| session_around(home, prefix)) };
            run_session(&report, named.as_deref().unwrap_or(prefix), target.json, out, err)
        }
    }
}

/// The session that another id of this home means: `last`, an exchange, a commit.
fn session_around(home: &Path, text: &str) -> Option<String> {
    let store = Sqlite::open_read_only(&home.join("gently.db")).ok()?;
    find::session(&store, text).ok().map(|row| row.id.to_string())
}

fn verdict(report: &Report, required: &[Question]) -> u8 {
    let missing = required.iter().any(|question| report.answers.to(*question).answer != Answer::Yes);
    if report.passes() && !missing { FINE } else { FOUND }
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
