//! What is pushed to a host's copy of a ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::app::prove::history::{is_ledger_ref, refs};
use crate::app::prove::overlay::Overlay;
use crate::app::prove::verify::target::read_signer;
use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::ledger::commit::{NOTES_OTS, NOTES_WITNESS};
use crate::record::ots::{Attestation, Leaf, Proof};
use crate::record::signature::PublicKey;
use crate::verify::{AuditQuestion, CheckAnswer, Evidence, Report, verify};

use super::{KnownLedger, RefUpdate};

/// What a signature line of a note begins with.
const SIGNATURE: char = '\u{2014}';
/// How many findings a refused push shows; the pusher can run the whole check.
const SHOWN: usize = 10;

/// A push that waits for a hook: the repository as it would be afterwards. The pushed objects are
/// still in quarantine.
pub struct ReceivedPush {
    git_dir: PathBuf,
    /// Refs as they are before it.
    known: BTreeMap<String, Oid>,
    updates: Vec<RefUpdate>,
    /// Refs as they would be.
    after: Overlay,
    /// The ledger's first key.
    pinned: PublicKey,
}

impl ReceivedPush {
    /// Puts the repository together; `signer` is the ledger's first key, or a file that begins with
    /// it.
    pub fn new(git_dir: &Path, updates: Vec<RefUpdate>, signer: &str) -> Result<Self, String> {
        let pinned = read_signer(signer).map_err(|e| e.to_string())?;
        let git_dir = std::path::absolute(git_dir).map_err(|e| e.to_string())?;
        let known = refs(&Repository::open(&git_dir).map_err(|e| e.to_string())?)
            .map_err(|e| e.to_string())?;
        // What a host keeps of its own, such as the heads of pull requests, is no part of the
        // ledger.
        let mut after = known.clone();
        after.retain(|name, _| is_ledger_ref(name));
        for update in &updates {
            match update.new {
                Some(new) => after.insert(update.name.clone(), new),
                None => after.remove(&update.name),
            };
        }
        let after = Overlay::new(&object_dirs(&git_dir), &after).map_err(|e| e.to_string())?;
        Ok(ReceivedPush {
            git_dir,
            known,
            updates,
            after,
            pinned,
        })
    }

    /// Where the repository is that is looked at.
    pub fn repository(&self) -> PathBuf {
        self.after.repository()
    }

    /// Why the push is refused.
    pub fn refusals(&self) -> Result<Vec<String>, String> {
        let place = self.repository();
        let repository = Repository::open(&place).map_err(|e| e.to_string())?;
        let ledger = KnownLedger {
            git_dir: &self.git_dir,
            repository: &repository,
            refs: &self.known,
        };
        let mut refusals = ledger.growth(&self.updates)?;
        if refusals.is_empty() {
            // A note that proves less may be one that proves nothing: both are said.
            refusals = fewer_notes(&repository, &self.known, &self.updates)?;
            refusals.extend(findings(&place, self.pinned)?);
        }
        Ok(refusals)
    }
}

/// Where git keeps what is pushed until the hook agrees, and all that was there before.
fn object_dirs(git_dir: &Path) -> Vec<PathBuf> {
    let mut dirs = vec![git_dir.join("objects")];
    for name in [
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_QUARANTINE_PATH",
    ] {
        let value = std::env::var_os(name).unwrap_or_default();
        dirs.extend(std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()));
    }
    let mut dirs: Vec<PathBuf> = dirs
        .into_iter()
        .filter_map(|dir| std::path::absolute(dir).ok())
        .collect();
    dirs.sort();
    dirs.dedup();
    dirs
}

/// Notes only come, and grow: one that is taken away, or stands in the place of one that said more,
/// proves less to everybody who reads this copy.
fn fewer_notes(
    repository: &Repository,
    known: &BTreeMap<String, Oid>,
    updates: &[RefUpdate],
) -> Result<Vec<String>, String> {
    let mut refusals = Vec::new();
    for name in [NOTES_OTS, NOTES_WITNESS] {
        let moved = updates
            .iter()
            .find(|update| update.name == name)
            .and_then(|update| update.new);
        let read = |tip: &Oid| {
            repository
                .notes(tip)
                .map_err(|e| format!("{name} at {tip}: {}", e.actual()))
        };
        if let Some(new) = moved
            && let Err(fault) = repository.notes_once(&new)
        {
            refusals.push(format!("{name} at {new}: {}", fault.actual()));
            continue;
        }
        let (old, new) = match (known.get(name), moved) {
            (Some(old), Some(new)) => (old, new),
            (None, Some(new)) if read(&new)?.is_empty() => {
                refusals.push(format!(
                    "{name} would begin without a note, and be in the way of the ledger's own"
                ));
                continue;
            }
            _ => continue,
        };
        let (before, after) = (read(old)?, read(&new)?);
        for (commit, blob) in before {
            match after.get(&commit) {
                None => refusals.push(format!("{name} would lose its note on {commit}")),
                Some(other) if *other != blob && less(repository, name, &blob, other)? => {
                    refusals.push(format!(
                        "{name}: the new note on {commit} proves less than the one that is here"
                    ));
                }
                Some(_) => {}
            }
        }
    }
    Ok(refusals)
}

/// What a note proves to whoever can check it: its signature lines, or the messages that blocks
/// attest, as text.
fn proves(repository: &Repository, name: &str, id: &Oid) -> Result<BTreeSet<String>, String> {
    let bytes = repository
        .blob(id)
        .map_err(|e| format!("{name}, note {id}: {}", e.actual()))?;
    if name == NOTES_WITNESS {
        let text = String::from_utf8_lossy(&bytes);
        return Ok(text
            .lines()
            .filter(|line| line.starts_with(SIGNATURE))
            .map(str::to_owned)
            .collect());
    }
    let Ok(proof) = Proof::read(&bytes) else {
        return Ok(BTreeSet::new());
    };
    let leaves = proof.leaves().unwrap_or_default();
    let attested = |leaf: &Leaf<'_>| match leaf.attestation {
        Attestation::Bitcoin { height } => Some(format!("{height} {}", hex::encode(&leaf.message))),
        _ => None,
    };
    Ok(leaves.iter().filter_map(attested).collect())
}

/// Whether a note lacks something that another proves. As many lines of rubbish in the place of
/// good ones are no match: a host has no list of witnesses to tell them apart, so each line that
/// was there has to stay.
fn less(repository: &Repository, name: &str, old: &Oid, new: &Oid) -> Result<bool, String> {
    Ok(!proves(repository, name, old)?.is_subset(&proves(repository, name, new)?))
}

fn findings(repository: &Path, pinned: PublicKey) -> Result<Vec<String>, String> {
    let evidence = Evidence {
        repository,
        log: None,
        checkpoint: None,
        signers: &[],
    };
    let report = verify(&evidence).map_err(|e| e.to_string())?;
    let asked = [AuditQuestion::Consistent, AuditQuestion::SignedBy];
    // Notes prove themselves before they are taken: one that does not would be a *no* for everybody
    // who reads this.
    let proven = [
        AuditQuestion::Unique,
        AuditQuestion::NotBefore,
        AuditQuestion::NotAfter,
    ];
    let denied: Vec<AuditQuestion> = proven
        .into_iter()
        .filter(|question| report.answers.to(*question).answer == CheckAnswer::No)
        .collect();
    // The ledger began with the pinned key; its rotations lead from there to the newest.
    match (report.begins_with(&pinned), denied.is_empty()) {
        (true, true) => Ok(Vec::new()),
        (true, false) => Ok(refusals_of(&report, &denied)),
        (false, _) => Ok(refusals_of(&report, &asked)
            .into_iter()
            .chain(other_first_key(&report, &pinned))
            .collect()),
    }
}

fn refusals_of(report: &Report, asked: &[AuditQuestion]) -> Vec<String> {
    let counted = report
        .findings
        .iter()
        .filter(|finding| asked.contains(&finding.question))
        .take(SHOWN);
    let mut lines: Vec<String> = counted
        .map(|f| {
            format!(
                "{}: {}: expected {}, found {}",
                f.question.name(),
                f.place,
                f.expected,
                f.actual
            )
        })
        .collect();
    if lines.is_empty() {
        let is_no = |q: &&AuditQuestion| report.answers.to(**q).answer == CheckAnswer::No;
        lines = asked
            .iter()
            .filter(is_no)
            .map(|q| format!("{}: {}", q.name(), report.answers.to(*q).reason))
            .collect();
    }
    lines
}

/// That the ledger begins with another key than the one that is pinned here.
fn other_first_key(report: &Report, pinned: &PublicKey) -> Option<String> {
    let first = report.signers.first().map_or("no key", String::as_str);
    (first != pinned.to_string()).then(|| {
        format!(
            "signed_by: the ledger begins with {first}, and this repository was installed with {pinned}: \
             gently hook install --signer takes the ledger's first key, the first of its allowed_signers"
        )
    })
}
