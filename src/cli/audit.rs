//! `gently audit`: checks a ledger, or one session of it, and says what it found.
//!
//! Exit codes: 0 consistent and complete, with `--since` of what is new; 1 not, or another answer is *no*, or a
//! required one was not checked; 2 could not look, which includes that there is nothing to check.

mod bracket;
mod check;
mod copy;
mod headers;
pub(super) mod open;
mod outside;
mod progress;
pub(super) mod rebuild;
mod render;
pub(super) mod replay;
mod saved;
mod target;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::govern::sanitize::redact;
use crate::record::policy::Policy;
use crate::store::sqlite::Sqlite;
use crate::verify::{Answer, OutsideHead, Question, Report, Since, Terms};

use super::{find, receipt};

use copy::Copy;
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
    /// Check all of a copy that was fetched before, not only what is new since its last check
    #[arg(long, conflicts_with = "since")]
    from_scratch: bool,
    /// Where that last check is kept; in a home verified.json
    #[arg(long, value_name = "FILE")]
    position: Option<PathBuf>,
    /// Whose cosignatures make `unique` a yes (c2sp tlog-policy); required then. A home has its own witnesses
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// A tree head of this log that somebody kept: it must be one of this history
    #[arg(long, value_name = "FILE")]
    head: Vec<PathBuf>,
    /// Another copy of this ledger (path, bundle or URL): its tree heads must be of this history
    #[arg(long, value_name = "COPY")]
    compare: Vec<PathBuf>,
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
    /// Check this repository, bundle or URL (cloned with your git, kept in the cache), without any home
    #[arg(long, value_name = "PATH-BUNDLE-OR-URL")]
    repo: Option<PathBuf>,
    /// The log file that belongs to --repo
    #[arg(long, value_name = "FILE", requires = "repo")]
    log: Option<PathBuf>,
    /// A folder of kept headers (gently anchor sync); the home's own when not given, none with --repo
    #[arg(long, value_name = "FOLDER")]
    headers: Option<PathBuf>,
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
    checked.unwrap_or_else(|error| warn(err, &format!("gently audit: {error}\n"), COULD_NOT_LOOK))
}

fn run_verify(
    args: &VerifyArgs,
    home: Option<&Path>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, TargetError> {
    announce(args, err);
    let (policy, heads) = outside(args, home, err)?;
    let target = Target::find(&args.target, home)?;
    let of_copy = target.copy().map(Copy::position);
    let kept = Kept::find(args.position.as_deref().or(of_copy.as_deref()), home.filter(|_| args.target.repo.is_none()));
    // Of a copy that was checked before, what is new is what is asked for.
    let again = target.copy().is_some() && !args.from_scratch && kept.as_ref().is_some_and(Kept::is_there);
    let wanted = args.since.as_deref().or(again.then_some("last"));
    let saved = kept.as_ref().filter(|_| wanted.is_some()).map(Kept::read);
    let since = match (wanted, &saved) {
        (None, _) => None,
        (Some("last"), Some(saved)) => Some(Since::Position(saved.as_ref())),
        (Some("last"), None) => return Err(TargetError::NoPosition),
        (Some(commit), _) => Some(Since::Commit(commit, saved.as_ref().and_then(|saved| saved.as_ref().ok()))),
    };
    let shown = !args.quiet && !args.target.json;
    let receipts = receipt::read(&args.receipt).map_err(TargetError::Receipt)?;
    let terms = Terms { since, policy: policy.as_ref(), heads: &heads, receipts: &receipts, ..Terms::default() };
    let mut report = watched(shown, |progress| target.report(Terms { progress: Some(progress), ..terms }))?;
    outside::same_log(&report, &heads)?;
    for finding in target.copy().map(Copy::moved_back).transpose()?.unwrap_or_default() {
        report.found(finding);
    }
    let from = saved.as_ref().and_then(|saved| saved.as_ref().ok());
    let position = kept.zip(report.position.clone()).map(|(kept, to)| kept.write(to, from, &report.scope));
    let refs = target.copy().map(|copy| copy.remember(&report));
    for (what, done) in [("the position of this check", position), ("where the copy's refs are", refs)] {
        if let Some(Err(words)) = done {
            warn(err, &format!("gently audit: {what} is not kept: {words}\n"), FINE);
        }
    }
    if let Some(words) = render::cost(&report) {
        warn(err, &words, FINE);
    }
    let text = match args.target.json {
        true => render::json(&report, target.copy().map(Copy::facts)),
        false => render::text(&report),
    };
    let required = required(args, policy.as_ref(), &report);
    let code = say(out, &text, verdict(&report, &required));
    Ok(match missing(&report, &required) {
        Some(words) if code == FOUND => warn(err, &words, code),
        _ => code,
    })
}

/// Says what is fetched, before it takes its time.
fn announce(args: &VerifyArgs, err: &mut dyn Write) {
    let address = args.target.repo.as_ref().filter(|repo| !repo.exists() && copy::is_address(&repo.to_string_lossy()));
    if let Some(address) = address.filter(|_| !args.quiet && !args.target.json) {
        warn(err, &format!("fetching a copy of {}\n", copy::shown(address)), FINE);
    }
}

/// What has to be *yes* and is not. A policy that was given has to be reached: of what is checked.
fn required(args: &VerifyArgs, policy: Option<&Policy>, report: &Report) -> Vec<Question> {
    let by_policy = args.policy.is_some() && policy.is_some_and(Policy::asks_somebody);
    let answer = |question: Question| report.answers.to(question).answer;
    let mut lacking: Vec<Question> = args.require.iter().copied().filter(|q| answer(*q) != Answer::Yes).collect();
    let reached = matches!(answer(Question::Unique), Answer::Yes | Answer::YesSince);
    if by_policy && !reached && !lacking.contains(&Question::Unique) {
        lacking.push(Question::Unique);
    }
    lacking
}

/// What is held against the log beside itself: a policy (in a home its own witnesses'), and tree heads.
fn outside(
    args: &VerifyArgs,
    home: Option<&Path>,
    err: &mut dyn Write,
) -> Result<(Option<Policy>, Vec<OutsideHead>), TargetError> {
    let policy = match (&args.policy, home.filter(|_| args.target.repo.is_none())) {
        (Some(file), _) => Some(outside::read_policy(file)?),
        (None, Some(home)) => super::witness::own_policy(home).unwrap_or_else(|fault| {
            // The evidence is looked at all the same; `unique` is then not checked.
            warn(err, &format!("gently audit: which witnesses this home has is not known: {fault}\n"), FINE);
            None
        }),
        (None, None) => None,
    };
    let mut heads = args.head.iter().map(|file| outside::read_head(file)).collect::<Result<Vec<_>, _>>()?;
    for copy in &args.compare {
        heads.extend(outside::read_copy(copy)?);
    }
    Ok((policy, heads))
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
        [] => return warn(err, &render::unknown_session(report, prefix), COULD_NOT_LOOK),
        several => return warn(err, &render::ambiguous_session(prefix, several), COULD_NOT_LOOK),
    };
    let text = if json { render::session_json(report, session) } else { render::session_text(report, session) };
    say(out, &text, if session.chain_valid && session.all_verified { FINE } else { FOUND })
}

/// The same on stderr, where nothing goes that has not passed the sanitizer.
fn warn(err: &mut dyn Write, text: &str, code: u8) -> u8 {
    say(err, redact(text).clean.as_str(), code)
}

/// Prints, and gives `code`; a closed pipe or full disk is not a pass.
fn say(to: &mut dyn Write, text: &str, code: u8) -> u8 {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Ok(()) => code,
        Err(_) => COULD_NOT_LOOK,
    }
}
