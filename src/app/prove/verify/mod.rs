//! Verifying a ledger, a session of it, or one opened text: what is looked at, and what a checker
//! brings along.

pub mod conclusion;
pub mod copy;
pub mod headers;
pub mod home;
pub mod opening;
pub mod outside;
pub mod required;
pub mod saved;
pub mod target;

use std::path::{Path, PathBuf};

use crate::record::bitcoin::block::Network;
use crate::record::tree::witness_policy::WitnessPolicy;
use crate::store::{DatabaseForm, Store, look_at_database};
use crate::verify::{CheckBase, OutsideHead, Progress, Report, SessionReport, VerifyOptions};

use super::witness;
use crate::app::find;
use copy::Copy;
use outside::read_receipts;
use required::{RequiredAnswer, unmet};
use saved::SavedPosition;
use target::{AuditTarget, TargetError};

/// Which ledger is looked at; a home's own when no repository is named.
#[derive(Clone, Debug, Default)]
pub struct TargetRequest {
    /// A repository, a bundle, or an address that git fetches from.
    pub repo: Option<PathBuf>,
    /// The log file that belongs to it.
    pub log: Option<PathBuf>,
    /// The tree head of that log; `audit.checkpoint` beside it when not given.
    pub checkpoint: Option<PathBuf>,
    /// A folder of kept headers.
    pub headers: Option<PathBuf>,
    /// Keys that the ledger may be signed by, or files of them, the newest last.
    pub signers: Vec<String>,
    /// A test network whose blocks are to count.
    pub network: Option<Network>,
}

/// What is to be checked, and what a checker brings along.
#[derive(Clone, Debug, Default)]
pub struct VerifyRequest {
    /// Which ledger is checked: the home's, or a copy of it.
    pub target: TargetRequest,
    /// Answers that must be yes.
    pub require: Vec<RequiredAnswer>,
    /// Only what is new since a commit of `main`, or since the last check (`last`).
    pub since: Option<String>,
    /// All of a fetched copy, not only what is new since its last check.
    pub from_scratch: bool,
    /// Where the position of the last check is kept.
    pub position: Option<PathBuf>,
    /// A file of witnesses that count; in a home its own ones do.
    pub policy: Option<PathBuf>,
    /// Files of tree heads that somebody kept.
    pub heads: Vec<PathBuf>,
    /// Other copies of the ledger.
    pub compare: Vec<PathBuf>,
    /// Files of receipts that somebody kept.
    pub receipts: Vec<PathBuf>,
}

/// A copy of somebody else's ledger that was fetched.
#[derive(Clone, Debug)]
pub struct FetchedCopy {
    /// Its address, without a name or password.
    pub address: String,
    /// Where it is.
    pub repository: PathBuf,
}

/// What a check found.
pub struct VerifyResult {
    /// Answers, findings and counts of the check.
    pub report: Report,
    /// Which required answers are not *yes*, in words.
    pub unmet: Option<String>,
    /// The copy, when an address was named.
    pub copy: Option<FetchedCopy>,
    /// Whether the newest signed tree head of a home is in its database and not beside the log.
    pub has_tree_head_to_place: bool,
    /// What could not be done beside the check: read the home's witnesses, keep the position.
    pub notices: Vec<String>,
}

/// Has whoever is asked for the key of an encrypted database asked now, and not when something is drawn on the
/// screen. What is wrong with the database is said by who reads it.
pub fn ask_for_key(request: &VerifyRequest, home: Option<&Path>) {
    let own = home.filter(|_| request.target.repo.is_none());
    let database = own.map(|home| home.join("gently.db"));
    if let Some(database) = database
        && matches!(DatabaseForm::of(&database), Ok(DatabaseForm::Encrypted))
    {
        let _ = look_at_database(&database);
    }
}

/// Verifies a ledger.
pub fn verify(
    request: &VerifyRequest,
    home: Option<&Path>,
    progress: Option<&Progress>,
) -> Result<VerifyResult, TargetError> {
    let mut notices = Vec::new();
    let own = home.filter(|_| request.target.repo.is_none());
    let policy = policy(request, own, &mut notices)?;
    let heads = heads(request)?;
    let target = AuditTarget::find(&request.target, home)?;
    let of_copy = target.copy().map(Copy::position);
    let kept = SavedPosition::find(request.position.as_deref().or(of_copy.as_deref()), own);
    // Of a copy that was checked before, what is new is what is asked for. A log is no part of the
    // copy: the position says nothing of the bytes of this one.
    let again = target.copy().is_some()
        && !request.from_scratch
        && request.target.log.is_none()
        && kept.as_ref().is_some_and(SavedPosition::is_there);
    let wanted = request.since.as_deref().or(again.then_some("last"));
    let saved = kept
        .as_ref()
        .filter(|_| wanted.is_some())
        .map(SavedPosition::read);
    let since = match (wanted, &saved) {
        (None, _) => None,
        (Some("last"), Some(saved)) => Some(CheckBase::Position(saved.as_ref())),
        (Some("last"), None) => return Err(TargetError::NoPosition),
        (Some(commit), _) => Some(CheckBase::Commit(
            commit,
            saved.as_ref().and_then(|saved| saved.as_ref().ok()),
        )),
    };
    let receipts = read_receipts(&request.receipts).map_err(TargetError::Receipt)?;
    let options = VerifyOptions {
        since,
        policy: policy.as_ref(),
        heads: &heads,
        receipts: &receipts,
        network: request.target.network,
        progress,
        ..VerifyOptions::default()
    };
    let mut report = target.report(options)?;
    outside::same_log(&report, &heads)?;
    let moved_back = target.copy().map(Copy::moved_back).transpose()?;
    for finding in moved_back.unwrap_or_default() {
        report
            .contradicted_by
            .insert(format!("{} as an earlier check saw it", finding.place));
        report.found(finding);
    }
    let from = saved.as_ref().and_then(|saved| saved.as_ref().ok());
    let named = request.position.is_some() || target.copy().is_some();
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
            notices.push(format!("{what} is not kept: {words}"));
        }
    }
    Ok(VerifyResult {
        unmet: unmet(&request.require, &report),
        report,
        copy: target.copy().map(Copy::facts),
        has_tree_head_to_place: target.has_tree_head_to_place(),
        notices,
    })
}

/// The witnesses that count: those of a policy file, else the home's own.
fn policy(
    request: &VerifyRequest,
    own: Option<&Path>,
    notices: &mut Vec<String>,
) -> Result<Option<WitnessPolicy>, TargetError> {
    match (&request.policy, own) {
        (Some(file), _) => Ok(Some(outside::read_policy(file)?)),
        (None, Some(home)) => Ok(witness::own_policy(home).unwrap_or_else(|fault| {
            // The evidence is looked at all the same; `unique` is then not checked.
            notices.push(format!(
                "which witnesses this home has is not known: {fault}"
            ));
            None
        })),
        (None, None) => Ok(None),
    }
}

/// Tree heads from elsewhere that must be of this history.
fn heads(request: &VerifyRequest) -> Result<Vec<OutsideHead>, TargetError> {
    let mut heads = request
        .heads
        .iter()
        .map(|file| outside::read_head(file))
        .collect::<Result<Vec<_>, _>>()?;
    for copy in &request.compare {
        heads.extend(outside::read_copy(copy)?);
    }
    Ok(heads)
}

/// A ledger that was verified for the sake of one session of it.
pub struct SessionVerifyResult {
    /// Answers, findings and counts of the check of the whole ledger.
    pub report: Report,
    /// The first digits of the session's id, as the home knows it.
    pub prefix: String,
}

impl SessionVerifyResult {
    /// The sessions that are meant; one, unless the digits are none or too few.
    pub fn sessions(&self) -> Vec<&SessionReport> {
        self.report.sessions_of(&self.prefix)
    }
}

/// Verifies a ledger for the sake of one session of it: `text` is the first digits of its id, or
/// what the home knows it by (`last`, an exchange, a commit).
pub fn verify_session(
    request: &TargetRequest,
    home: Option<&Path>,
    text: &str,
) -> Result<SessionVerifyResult, TargetError> {
    let target = AuditTarget::find(request, home)?;
    let report = target.report(VerifyOptions {
        network: request.network,
        ..VerifyOptions::default()
    })?;
    let is_known = !report.sessions_of(text).is_empty() || request.repo.is_some();
    let named = match home {
        Some(home) if !is_known => session_around(home, text),
        _ => None,
    };
    Ok(SessionVerifyResult {
        report,
        prefix: named.unwrap_or_else(|| text.to_owned()),
    })
}

/// The session that another id of this home means.
fn session_around(home: &Path, text: &str) -> Option<String> {
    let store = Store::open_read_only(&home.join("gently.db")).ok()?;
    let row = find::session(&store, text).ok()?;
    Some(row.id.to_string())
}
