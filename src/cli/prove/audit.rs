//! `gently audit`: checks a ledger, or one session of it, and says what it found.
//!
//! Exit codes: 0 consistent and complete, with `--since` of what is new, and no line signed by
//! nobody; 1 not, or a required answer is not *yes*, or what the caller has kept of this ledger (a
//! receipt, a tree head, an earlier copy, a position) says otherwise; 2 could not look, which
//! includes that there is nothing to check. 0 without `--require` says nothing about time,
//! uniqueness or whose key.

pub(in crate::cli) mod answers;
mod bounds;
pub(in crate::cli) mod check;
pub(in crate::cli) mod open;
mod progress;
mod render;
pub(in crate::cli) mod replay;
mod row_words;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::app::prove::verify::conclusion::SessionVerdict;
use crate::app::prove::verify::copy;
use crate::app::prove::verify::required::{RequiredAnswer, read_required};
use crate::app::prove::verify::target::TargetError;
use crate::app::prove::verify::{
    SessionVerifyResult, TargetRequest, VerifyRequest, ask_for_key, verify, verify_session,
};
use crate::govern::sanitize::redact;
use crate::record::bitcoin::block::Network;
use crate::view::ask::unrecorded::ErrorView;
use crate::view::prove::report::ReportView;

use crate::cli::{COULD_NOT, FINE, NEGATIVE, json_line, rendered};

use crate::cli::screen::quiet;
use progress::watched;

/// What to check.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check ledger, log and blocks, and say what holds and what does not
    Verify(VerifyArgs),
    /// Check one session
    Session(SessionArgs),
    /// Check a file that `share` or `audit open` wrote; needs no ledger and no home
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

impl AuditCommand {
    /// Whether it looks at this home alone, and writes no file that somebody names.
    pub fn is_of_home(&self) -> bool {
        match self {
            AuditCommand::Verify(args) => {
                args.position.is_none() && args.compare.is_empty() && args.target.repo.is_none()
            }
            AuditCommand::Session(args) => args.target.repo.is_none(),
            AuditCommand::Check(_) => true,
        }
    }
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
    /// Say all that was checked and found, not only what it comes to
    #[arg(long, short)]
    verbose: bool,
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
        AuditCommand::Session(args) => verify_session(&args.target.request(), home, &args.prefix)
            .map(|checked| show_session(&checked, &args.target, out, err)),
    };
    let json = match &command {
        AuditCommand::Check(args) => args.json,
        AuditCommand::Verify(args) => args.target.json,
        AuditCommand::Session(args) => args.target.json,
    };
    // The name of a file may hold line breaks, behind which it could say anything.
    let words = |error: TargetError| format!("error: {}\n", quiet(&error.to_string()));
    checked.unwrap_or_else(|error| not_looked(&words(error), json, out, err))
}

/// Says why nothing could be judged: in words, and with `--json` as an object, too.
fn not_looked(words: &str, json: bool, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let words = redact(words).clean;
    if json {
        let why = words.as_str().trim_start_matches("error: ");
        let view = ErrorView {
            error: why.trim_end().to_owned(),
            exit: COULD_NOT,
        };
        say(out, &json_line(&view), COULD_NOT);
    }
    warn(err, words.as_str(), COULD_NOT)
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
    let (json, request) = (args.target.json, args.request());
    let shown = !args.quiet && !json;
    ask_for_key(&request, home);
    let checked = watched(shown, |progress| verify(&request, home, Some(progress)))?;
    let report = &checked.report;
    for notice in &checked.notices {
        warn(err, &format!("gently audit: {notice}\n"), FINE);
    }
    if let Some(words) = render::cost(report) {
        warn(err, &words, FINE);
    }
    let words = || match args.target.verbose {
        true => render::full_text(&checked),
        false => render::text(&checked),
    };
    let text = rendered(json, || ReportView::of_ledger(&checked), words);
    let otherwise = render::contradicted(report);
    let code = if checked.passes() { FINE } else { NEGATIVE };
    let code = say(out, &text, code);
    if code != NEGATIVE {
        return Ok(code);
    }
    let unplaced = checked.has_tree_head_to_place.then(|| TO_PLACE.to_owned());
    let unmet = checked
        .unmet
        .map(|words| format!("gently audit: required to be yes: {words}\n"));
    let words: String = [otherwise, unmet, unplaced].into_iter().flatten().collect();
    Ok(if words.is_empty() {
        code
    } else {
        warn(err, &words, code)
    })
}

impl TargetArgs {
    /// The same as the desk takes it.
    fn request(&self) -> TargetRequest {
        TargetRequest {
            repo: self.repo.clone(),
            log: self.log.clone(),
            checkpoint: self.checkpoint.clone(),
            headers: self.headers.clone(),
            signers: self.signer.clone(),
            network: self.network,
        }
    }
}

impl VerifyArgs {
    /// The same as the desk takes it.
    fn request(&self) -> VerifyRequest {
        VerifyRequest {
            target: self.target.request(),
            require: self.require.clone(),
            since: self.since.clone(),
            from_scratch: self.from_scratch,
            position: self.position.clone(),
            policy: self.policy.clone(),
            heads: self.head.clone(),
            compare: self.compare.clone(),
            receipts: self.receipt.clone(),
        }
    }
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

fn show_session(
    checked: &SessionVerifyResult,
    args: &TargetArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let SessionVerifyResult { report, prefix } = checked;
    let json = args.json;
    let session = match checked.sessions().as_slice() {
        [session] => *session,
        [] => return not_looked(&render::unknown_session(report, prefix), json, out, err),
        several => return not_looked(&render::ambiguous_session(prefix, several), json, out, err),
    };
    let view = || ReportView::of_session(report, session);
    let words = || match args.verbose {
        true => render::full_session_text(report, session),
        false => render::session_text(report, session),
    };
    let text = rendered(json, view, words);
    let code = match SessionVerdict::of(report, session) {
        SessionVerdict::Holds => FINE,
        _ => NEGATIVE,
    };
    say(out, &text, code)
}

/// The same on stderr, where nothing goes that has not passed the sanitizer.
fn warn(err: &mut dyn Write, text: &str, code: u8) -> u8 {
    say(err, redact(text).clean.as_str(), code)
}

/// Prints, and gives `code`; a closed pipe or full disk is not a pass.
fn say(to: &mut dyn Write, text: &str, code: u8) -> u8 {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Ok(()) => code,
        Err(_) => COULD_NOT,
    }
}
