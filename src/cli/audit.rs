//! `gently audit`: checks a ledger, or one session of it, and says what it found.
//!
//! Exit codes: 0 consistent and complete, with `--since` of what is new, and no line signed by
//! nobody; 1 not, or a required answer is not *yes*, or what the caller has kept of this ledger (a
//! receipt, a tree head, an earlier copy, a position) says otherwise; 2 could not look, which
//! includes that there is nothing to check. 0 without `--require` says nothing about time,
//! uniqueness or whose key.

mod bounds;
mod check;
mod copy;
mod headers;
pub(super) mod open;
mod outside;
mod progress;
pub(super) mod rebuild;
mod render;
pub(super) mod replay;
mod required;
mod saved;
mod target;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use crate::govern::sanitize::redact;
use crate::record::bitcoin::block::Network;
use crate::record::tree::witness_policy::WitnessPolicy;
use crate::store::sqlite::Sqlite;
use crate::verify::{OutsideHead, Report, Since, VerifyOptions};

use super::receipt;
use crate::app::find;

use copy::Copy;
use progress::watched;
use required::{RequiredAnswer, read_required};
use saved::SavedPosition;
use target::{AuditTarget, TargetError};
pub(super) use target::{own_signers, read_signer};

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
    /// Answers that must be yes: signed, not-before, not-after, unique, consistent, complete;
    /// not-after and unique up to a line, not-after:120
    #[arg(long, value_name = "ANSWER[:LINE]", value_delimiter = ',', value_parser = read_required)]
    require: Vec<RequiredAnswer>,
    /// Check only what is new since a commit of main, or since the last check that found nothing
    /// wrong ('last')
    #[arg(long, value_name = "COMMIT|last")]
    since: Option<String>,
    /// Check all of a copy that was fetched before, not only what is new since its last check
    #[arg(long, conflicts_with = "since")]
    from_scratch: bool,
    /// Where that last check is kept; in a home verified.json
    #[arg(long, value_name = "FILE")]
    position: Option<PathBuf>,
    /// Whose cosignatures make `unique` a yes (c2sp tlog-policy). A home has its own witnesses
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
    /// Check this repository, bundle or URL (cloned with your git, kept in the cache), without any
    /// home
    #[arg(long, value_name = "PATH-BUNDLE-OR-URL")]
    repo: Option<PathBuf>,
    /// The log file that belongs to --repo
    #[arg(long, value_name = "FILE", requires = "repo")]
    log: Option<PathBuf>,
    /// The tree head of that log; audit.checkpoint beside it when not given
    #[arg(long, value_name = "FILE", requires = "log")]
    checkpoint: Option<PathBuf>,
    /// A folder of kept headers (gently anchor sync); the home's own when not given, none with
    /// --repo
    #[arg(long, value_name = "FOLDER")]
    headers: Option<PathBuf>,
    /// A key that the ledger may be signed by, 'ssh-ed25519 AAAA…', or a file of them, such as
    /// allowed_signers; may be given several times, the newest last
    #[arg(long, value_name = "KEY-OR-FILE")]
    signer: Vec<String>,
    /// A test network whose blocks are to count: testnet4, signet or regtest
    #[arg(long, value_name = "NAME")]
    network: Option<Network>,
}

/// Runs the command on a home, or on what `--repo` names, and gives the exit code.
///
/// The report goes to `out`, what kept it from looking to `err`.
pub fn run(
    command: AuditCommand,
    home: Option<&Path>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let checked = match &command {
        AuditCommand::Check(args) => return check::run(args, out, err),
        AuditCommand::Verify(args) => run_verify(args, home, out, err),
        AuditCommand::Session(args) => AuditTarget::find(&args.target, home).and_then(|target| {
            let report = target.report(VerifyOptions {
                network: args.target.network,
                ..VerifyOptions::default()
            })?;
            let known = !report.sessions_of(&args.prefix).is_empty() || args.target.repo.is_some();
            let named = if known {
                None
            } else {
                home.and_then(|home| session_around(home, &args.prefix))
            };
            Ok(run_session(
                &report,
                named.as_deref().unwrap_or(&args.prefix),
                args.target.json,
                out,
                err,
            ))
        }),
    };
    let json = match &command {
        AuditCommand::Check(args) => args.json,
        AuditCommand::Verify(args) => args.target.json,
        AuditCommand::Session(args) => args.target.json,
    };
    checked.unwrap_or_else(|error| not_looked(&format!("gently audit: {error}\n"), json, out, err))
}

/// Says why nothing could be judged: in words, and with `--json` as an object, too.
fn not_looked(words: &str, json: bool, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let words = redact(words).clean;
    if json {
        let why = words
            .as_str()
            .trim_start_matches("gently audit: ")
            .trim_start_matches("gently audit check: ");
        say(
            out,
            &format!(
                "{}\n",
                json!({"error": why.trim_end(), "exit": COULD_NOT_LOOK})
            ),
            COULD_NOT_LOOK,
        );
    }
    warn(err, words.as_str(), COULD_NOT_LOOK)
}

/// What is said of a tree head that a power loss kept from its place.
const TO_PLACE: &str = "gently audit: the newest signed tree head is in the database and not beside the log: the next \
                        ask, or gently audit rebuild, writes it\n";

fn run_verify(
    args: &VerifyArgs,
    home: Option<&Path>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, TargetError> {
    announce(args, err);
    let (policy, heads) = outside(args, home, err)?;
    let target = AuditTarget::find(&args.target, home)?;
    let of_copy = target.copy().map(Copy::position);
    let kept = SavedPosition::find(
        args.position.as_deref().or(of_copy.as_deref()),
        home.filter(|_| args.target.repo.is_none()),
    );
    // Of a copy that was checked before, what is new is what is asked for. A log is no part of the
    // copy: the position says nothing of the bytes of this one.
    let again = target.copy().is_some()
        && !args.from_scratch
        && args.target.log.is_none()
        && kept.as_ref().is_some_and(SavedPosition::is_there);
    let wanted = args.since.as_deref().or(again.then_some("last"));
    let saved = kept
        .as_ref()
        .filter(|_| wanted.is_some())
        .map(SavedPosition::read);
    let since = match (wanted, &saved) {
        (None, _) => None,
        (Some("last"), Some(saved)) => Some(Since::Position(saved.as_ref())),
        (Some("last"), None) => return Err(TargetError::NoPosition),
        (Some(commit), _) => Some(Since::Commit(
            commit,
            saved.as_ref().and_then(|saved| saved.as_ref().ok()),
        )),
    };
    let shown = !args.quiet && !args.target.json;
    let receipts = receipt::read(&args.receipt).map_err(TargetError::Receipt)?;
    let (policy_of, network) = (policy.as_ref(), args.target.network);
    let terms = VerifyOptions {
        since,
        policy: policy_of,
        heads: &heads,
        receipts: &receipts,
        network,
        ..VerifyOptions::default()
    };
    let mut report = watched(shown, |progress| {
        target.report(VerifyOptions {
            progress: Some(progress),
            ..terms
        })
    })?;
    outside::same_log(&report, &heads)?;
    for finding in target
        .copy()
        .map(Copy::moved_back)
        .transpose()?
        .unwrap_or_default()
    {
        report
            .contradicted_by
            .insert(format!("{} as an earlier check saw it", finding.place));
        report.found(finding);
    }
    let from = saved.as_ref().and_then(|saved| saved.as_ref().ok());
    let named = args.position.is_some() || target.copy().is_some();
    if let Some(finding) = saved::other_root(&report.scope, from, |key| named || target.pins(key)) {
        report.contradicted_by.insert(saved::POSITION.to_owned());
        report.found(finding);
    }
    let position = kept
        .zip(report.position.clone())
        .map(|(kept, to)| kept.write(to, from, &report.scope));
    let refs = target.copy().map(|copy| copy.remember(&report));
    for (what, done) in [
        ("the position of this check", position),
        ("where the copy's refs are", refs),
    ] {
        if let Some(Err(words)) = done {
            warn(
                err,
                &format!("gently audit: {what} is not kept: {words}\n"),
                FINE,
            );
        }
    }
    if let Some(words) = render::cost(&report) {
        warn(err, &words, FINE);
    }
    let text = match args.target.json {
        true => render::json(&report, target.copy().map(Copy::facts)),
        false => render::text(&report),
    };
    let unmet = required::unmet(&args.require, &report);
    let otherwise = render::contradicted(&report);
    let fine = report.holds() && otherwise.is_none() && unmet.is_none();
    let code = say(out, &text, if fine { FINE } else { FOUND });
    let unplaced = (code == FOUND && target.has_tree_head_to_place()).then(|| TO_PLACE.to_owned());
    let words: String = [otherwise, unmet, unplaced].into_iter().flatten().collect();
    Ok(if code == FOUND && !words.is_empty() {
        warn(err, &words, code)
    } else {
        code
    })
}

/// Says what is fetched, before it takes its time.
fn announce(args: &VerifyArgs, err: &mut dyn Write) {
    let address = args
        .target
        .repo
        .as_ref()
        .filter(|repo| !repo.exists() && copy::is_address(&repo.to_string_lossy()));
    if let Some(address) = address.filter(|_| !args.quiet && !args.target.json) {
        warn(
            err,
            &format!("fetching a copy of {}\n", copy::shown(address)),
            FINE,
        );
    }
}

/// What is held against the log beside itself: a policy (in a home its own witnesses'), and tree
/// heads.
fn outside(
    args: &VerifyArgs,
    home: Option<&Path>,
    err: &mut dyn Write,
) -> Result<(Option<WitnessPolicy>, Vec<OutsideHead>), TargetError> {
    let policy = match (&args.policy, home.filter(|_| args.target.repo.is_none())) {
        (Some(file), _) => Some(outside::read_policy(file)?),
        (None, Some(home)) => super::witness::own_policy(home).unwrap_or_else(|fault| {
            // The evidence is looked at all the same; `unique` is then not checked.
            warn(
                err,
                &format!("gently audit: which witnesses this home has is not known: {fault}\n"),
                FINE,
            );
            None
        }),
        (None, None) => None,
    };
    let mut heads = args
        .head
        .iter()
        .map(|file| outside::read_head(file))
        .collect::<Result<Vec<_>, _>>()?;
    for copy in &args.compare {
        heads.extend(outside::read_copy(copy)?);
    }
    Ok((policy, heads))
}

/// The session that another id of this home means: `last`, an exchange, a commit.
fn session_around(home: &Path, text: &str) -> Option<String> {
    let store = Sqlite::open_read_only(&home.join("gently.db")).ok()?;
    find::session(&store, text)
        .ok()
        .map(|row| row.id.to_string())
}

fn run_session(
    report: &Report,
    prefix: &str,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let session = match report.sessions_of(prefix).as_slice() {
        [session] => *session,
        [] => return not_looked(&render::unknown_session(report, prefix), json, out, err),
        several => return not_looked(&render::ambiguous_session(prefix, several), json, out, err),
    };
    let text = if json {
        render::session_json(report, session)
    } else {
        render::session_text(report, session)
    };
    say(
        out,
        &text,
        if session.chain_valid && session.all_verified {
            FINE
        } else {
            FOUND
        },
    )
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
