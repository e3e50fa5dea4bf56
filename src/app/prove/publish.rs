//! Giving the evidence to others: pushing it, or one session of it in files.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::ledger::Oid;
use crate::ledger::read::{Commit, ObjectFault, Repository};
use crate::ledger::write::Ledger;
use crate::record::ledger::commit::{
    CommitKind, MAIN, NOTES_OTS, NOTES_WITNESS, branch_ref, trailer,
};
use crate::record::time::Seconds;
use crate::recorder::CHECKPOINT;
use crate::store::Store;

use super::git::{git_in, output, place};
use super::history::{ancestors, first_parents, is_ancestor, is_ledger_ref, refs};
use super::overlay::Overlay;
use crate::app::find;

/// A ref, and the commit that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefTip {
    /// Full name of the ref, such as `refs/heads/main`.
    pub name: String,
    /// Commit that the ref points to.
    pub id: Oid,
}

/// A push that was looked into, and not made yet.
pub struct PushSetup {
    overlay: Overlay,
    /// The remote, as git takes it.
    remote: String,
    /// Refs of the ledger that can be pushed.
    ours: BTreeMap<String, Oid>,
    /// Refs of the remote, as they are there, that ours do not continue; they stay as they are.
    pub refused: Vec<RefTip>,
}

/// Compares `main`, branches and notes with those of a remote, by the user's own git.
pub fn prepare_push(home: &Path, remote: &str) -> Result<PushSetup, String> {
    let ledger = home.join("ledger.git");
    let repository = Repository::open(&ledger).map_err(|e| e.to_string())?;
    let mut ours = refs(&repository).map_err(|e| e.to_string())?;
    ours.retain(|name, _| is_ledger_ref(name));
    let objects = std::path::absolute(ledger.join("objects")).map_err(|e| e.to_string())?;
    let overlay = Overlay::new(&[objects], &ours).map_err(|e| e.to_string())?;
    let remote = place(remote)?;
    let refused = not_continued(&repository, &ours, remote_refs(&overlay, &remote)?)?;
    ours.retain(|name, _| refused.iter().all(|tip| tip.name != *name));
    Ok(PushSetup {
        overlay,
        remote,
        ours,
        refused,
    })
}

impl PushSetup {
    /// Whether the remote holds a history that ours does not continue: then nothing may be pushed.
    ///
    /// Anybody who may push could have begun refs of notes there: they are unsigned, and hold up
    /// nothing that is signed.
    pub fn is_refused(&self) -> bool {
        let notes = [NOTES_OTS, NOTES_WITNESS];
        self.refused
            .iter()
            .any(|tip| !notes.contains(&tip.name.as_str()))
    }

    /// Pushes, never by force; gives what was pushed.
    pub fn push(self) -> Result<Vec<RefTip>, String> {
        let specs = self.ours.keys().map(|name| format!("{name}:{name}"));
        let mut push = git_in(&self.overlay);
        push.args(["push", "--atomic", "--", &self.remote])
            .args(specs);
        output(&mut push, "push")?;
        let pushed = self.ours.into_iter().map(|(name, id)| RefTip { name, id });
        Ok(pushed.collect())
    }
}

/// The refs of a remote that ours do not continue.
fn not_continued(
    repository: &Repository,
    ours: &BTreeMap<String, Oid>,
    theirs: BTreeMap<String, Oid>,
) -> Result<Vec<RefTip>, String> {
    let mut refused = Vec::new();
    // A host's own refs, such as those of its pull requests, are nobody's history.
    for (name, id) in theirs.into_iter().filter(|(name, _)| is_ledger_ref(name)) {
        let is_continued = match ours.get(&name) {
            // A commit that we do not have can't be an ancestor of ours.
            Some(tip) if repository.foreign_commit(&id).is_ok() => {
                is_ancestor(repository, &id, tip).map_err(|e| format!("{name}: {}", e.actual()))?
            }
            _ => false,
        };
        if !is_continued {
            refused.push(RefTip { name, id });
        }
    }
    Ok(refused)
}

fn remote_refs(overlay: &Overlay, remote: &str) -> Result<BTreeMap<String, Oid>, String> {
    let mut list = git_in(overlay);
    list.args(["ls-remote", "--", remote]);
    let text = output(&mut list, &format!("ls-remote {remote}"))?;
    let parsed = text.lines().filter_map(|line| {
        let (id, name) = line.split_once('\t')?;
        Some((name.to_owned(), id.parse().ok()?))
    });
    Ok(parsed.collect())
}

/// The files of one session.
pub struct ExportResult {
    /// Where they are.
    pub files: Vec<PathBuf>,
    /// Refs of notes that can't be read, and why: the evidence does not rest on them.
    pub left_out: Vec<String>,
}

/// Writes one closed session, by the first digits of its id, with all that an outsider needs: bundle
/// with notes, log, the signed tree head over it, keys, and how to check them.
///
/// The folder does not exist yet, or is empty.
pub fn export(home: &Path, session: &str, folder: &Path) -> Result<ExportResult, String> {
    let ledger = &home.join("ledger.git");
    let repository = Repository::open(ledger).map_err(|e| e.to_string())?;
    let tips = refs(&repository).map_err(|e| e.to_string())?;
    let main = tips
        .get(MAIN)
        .ok_or("this ledger has no main; run `gently audit verify`")?;
    let chain = first_parents(&repository, main).map_err(|e| format!("main: {}", e.actual()))?;
    let at = find_close(&chain, &meant(session, ledger))?;
    let (close, upto) = (chain[at].0, &chain[at..]);
    let inside = ancestors(&repository, &close).map_err(|e| e.actual())?;
    let mut kept = BTreeMap::from([(MAIN.to_owned(), close)]);
    for n in 1..=7 {
        let name = branch_ref(&format!("branch-{n}"));
        if let Some(tip) = tips
            .get(&name)
            .map(|tip| newest_inside(&repository, *tip, &inside))
            .transpose()?
            .flatten()
        {
            kept.insert(name, tip);
        }
    }
    let objects = std::path::absolute(ledger.join("objects")).map_err(|e| e.to_string())?;
    let overlay = Overlay::new(&[objects], &kept).map_err(|e| e.to_string())?;
    let left_out = carry_notes(&overlay, &repository, &tips, upto)?;
    prepare_dir(folder)?;
    let dir = std::path::absolute(folder).map_err(|e| e.to_string())?;
    let bundle = dir.join("ledger.bundle");
    let mut create = git_in(&overlay);
    create
        .args(["bundle", "create", "--quiet"])
        .arg(&bundle)
        .arg("--all");
    output(&mut create, "bundle")?;
    let (_, closing) = &chain[at];
    let session = trailer(&closing.message, "Session").unwrap_or_default();
    let head = file_of(&repository, closing, "checkpoint")?;
    let head = head.ok_or("the close on main has no checkpoint; run `gently audit verify`")?;
    let files = [
        ("audit.log", log_of(&repository, upto)?),
        // The close's own tree head is the one over exactly these lines.
        (CHECKPOINT, head),
        ("allowed_signers", signers_of(&repository, upto)?),
        ("README.md", readme(session).into_bytes()),
    ];
    let mut written = vec![folder.join("ledger.bundle")];
    for (name, bytes) in files {
        std::fs::write(dir.join(name), bytes).map_err(|e| format!("write {name}: {e}"))?;
        written.push(folder.join(name));
    }
    Ok(ExportResult {
        files: written,
        left_out,
    })
}

/// Puts the notes on a stretch of `main` into an overlay: proofs and cosignatures go where their
/// commits go.
///
/// Notes on later commits stay out, as those do. Returns a line for each ref of notes that can't be
/// read, and is left out.
fn carry_notes(
    overlay: &Overlay,
    repository: &Repository,
    tips: &BTreeMap<String, Oid>,
    upto: &[(Oid, Commit)],
) -> Result<Vec<String>, String> {
    let mut ledger = Ledger::open(&overlay.repository()).map_err(|e| e.to_string())?;
    let mut left_out = Vec::new();
    for reference in [NOTES_OTS, NOTES_WITNESS] {
        let Some(tip) = tips.get(reference) else {
            continue;
        };
        match notes_on(repository, tip, upto) {
            Ok((notes, time)) => {
                ledger
                    .put_notes(reference, &notes, time)
                    .map_err(|e| format!("{reference}: {e}"))?;
            }
            Err(fault) => left_out.push(format!(
                "{reference}: {}, not {}",
                fault.actual(),
                fault.expected()
            )),
        }
    }
    Ok(left_out)
}

/// The notes under a tip that are on some commits, and the time of the tip.
fn notes_on(
    repository: &Repository,
    tip: &Oid,
    commits: &[(Oid, Commit)],
) -> Result<(BTreeMap<Oid, Vec<u8>>, Seconds), ObjectFault> {
    let (known, time) = (repository.notes(tip)?, repository.noted_at(tip)?);
    let on = commits
        .iter()
        .filter_map(|(commit, _)| Some((*commit, known.get(commit)?)));
    let notes = on
        .map(|(commit, blob)| Ok((commit, repository.blob(blob)?)))
        .collect::<Result<_, ObjectFault>>()?;
    Ok((
        notes,
        time.and_then(|time| Seconds::new(time).ok())
            .unwrap_or(Seconds::ZERO),
    ))
}

/// The session that any id of the home means: `last`, an exchange, a UUID, a commit; else what was
/// typed.
///
/// A home without its database, or one that does not know the id, still has the session in its
/// ledger.
fn meant(typed: &str, ledger: &Path) -> String {
    let store = Store::open_read_only(&ledger.with_file_name("gently.db"));
    // The newest that is closed, which may not be the newest.
    let named = (typed != "last").then_some(store.ok()).flatten();
    let found = named.and_then(|store| find::session(&store, typed).ok());
    found.map_or_else(|| typed.to_owned(), |row| row.id.to_string())
}

/// The place of a session's close on `main`, by the first digits of its id.
fn find_close(chain: &[(Oid, Commit)], prefix: &str) -> Result<usize, String> {
    let closes = chain.iter().enumerate().filter_map(|(at, (_, commit))| {
        let subject = commit.message.lines().next()?;
        let closes = CommitKind::of_subject(subject) == Some(CommitKind::Close);
        closes
            .then(|| trailer(&commit.message, "Session").map(|session| (at, session.to_owned())))?
    });
    let closed: Vec<(usize, String)> = closes.collect();
    let names = |of: &[(usize, String)]| {
        of.iter()
            .map(|(_, s)| s[..16.min(s.len())].to_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let fits: Vec<(usize, String)> = closed
        .iter()
        .filter(|(_, session)| session.starts_with(prefix))
        .cloned()
        .collect();
    match fits.as_slice() {
        _ if prefix == "last" => match closed.first() {
            Some((at, _)) => Ok(*at),
            None => {
                Err("no session is closed yet; close one first: gently session close".to_owned())
            }
        },
        [(at, _)] => Ok(*at),
        [] if closed.is_empty() => {
            Err("no session is closed yet; close one first: gently session close".to_owned())
        }
        [] => Err(format!(
            "no closed session begins with '{prefix}'; closed are: {}",
            names(&closed)
        )),
        several => Err(format!("'{prefix}' could be any of: {}", names(several))),
    }
}

/// The newest commit of a branch that the close reaches.
fn newest_inside(
    repository: &Repository,
    tip: Oid,
    inside: &HashSet<Oid>,
) -> Result<Option<Oid>, String> {
    let mut next = Some(tip);
    while let Some(id) = next {
        let commit = repository.commit(&id).map_err(|e| e.actual())?;
        let subject = commit.message.lines().next().unwrap_or_default();
        let on_main = matches!(
            CommitKind::of_subject(subject),
            Some(
                CommitKind::Genesis
                    | CommitKind::Close
                    | CommitKind::Checkpoint
                    | CommitKind::KeyRotate
            ) | None
        );
        if on_main {
            return Ok(None);
        }
        if inside.contains(&id) {
            return Ok(Some(id));
        }
        next = commit.parents.first().copied();
    }
    Ok(None)
}

/// The segments of a stretch of `main`, oldest first.
fn log_of(repository: &Repository, newest_first: &[(Oid, Commit)]) -> Result<Vec<u8>, String> {
    let mut log = Vec::new();
    for (_, commit) in newest_first.iter().rev() {
        log.extend(file_of(repository, commit, "audit.log")?.unwrap_or_default());
    }
    Ok(log)
}

/// The newest `allowed_signers` of a stretch of `main`.
fn signers_of(repository: &Repository, newest_first: &[(Oid, Commit)]) -> Result<Vec<u8>, String> {
    for (_, commit) in newest_first {
        if let Some(bytes) = file_of(repository, commit, "allowed_signers")? {
            return Ok(bytes);
        }
    }
    Err("no allowed_signers on main; run `gently audit verify`".to_owned())
}

fn file_of(
    repository: &Repository,
    commit: &Commit,
    name: &str,
) -> Result<Option<Vec<u8>>, String> {
    let tree = repository.tree(&commit.tree).map_err(|e| e.actual())?;
    let entry = tree.into_iter().find(|entry| entry.name == name);
    entry
        .map(|entry| {
            repository
                .file(&entry)
                .map_err(|e| format!("{name}: {}", e.actual()))
        })
        .transpose()
}

fn prepare_dir(dir: &Path) -> Result<(), String> {
    match std::fs::read_dir(dir).map(|mut found| found.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "{} is not empty; name a new directory",
            dir.display()
        )),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(dir).map_err(|e| format!("make {}: {e}", dir.display()))
        }
        Err(e) => Err(format!("read {}: {e}", dir.display())),
    }
}

/// What an outsider reads first.
fn readme(session: &str) -> String {
    include_str!("export_readme.md").replace("SESSION_ID", session)
}
