//! A ledger's lines and commits, out of its repository and, where there is one, its log file.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::ledger::Oid;
use crate::ledger::read::{RefTarget, Repository};
use crate::log::read::{LogPiece, LogReader};
use crate::record::ledger::commit::{CommitKind, MAIN, branch_ref, trailer};
use crate::record::ledger::documents::{Genesis, Rotate};
use crate::record::log::entry::{Event, Line};
use crate::record::signature::PublicKey;
use crate::record::tree::{Frontier, parse_note};

use super::rows::document;
use super::{AdoptFault, NewerCommit, NewerLedger};
use crate::recorder::apply::MAX_CHECKPOINT;
use crate::recorder::{CHECKPOINT, RecorderError};

fn unreadable(place: String, reason: impl std::fmt::Display) -> RecorderError {
    AdoptFault::Unreadable {
        place,
        reason: reason.to_string(),
    }
    .into()
}

impl NewerLedger {
    /// Reads a repository that was verified before; `log` has the lines that no segment holds yet,
    /// with the signed tree head beside it.
    ///
    /// Lines that no commit and no tree head covers are left out: anybody could have written them,
    /// and the writer that takes them over would sign them.
    ///
    /// Holds all lines and commits in memory: taking over is done once, after a loss.
    pub fn read(repository: &Path, log: Option<&Path>) -> Result<Self, RecorderError> {
        let place = repository.display().to_string();
        let repository = Repository::open(repository).map_err(|e| unreadable(place.clone(), e))?;
        let refs = repository
            .refs()
            .map_err(|e| unreadable(place.clone(), e))?;
        let tip = |name: &str| {
            refs.iter()
                .find(|r| r.name == name)
                .map(|r| r.target.clone())
        };
        let mut gathering = StepCollector {
            repository: &repository,
            seen: HashSet::new(),
            newer: NewerLedger::default(),
        };
        let Some(RefTarget::Direct(main)) = tip(MAIN) else {
            return Err(unreadable(place, "it has no main"));
        };
        let segments = gathering.walk(MAIN, main)?;
        for number in 1..=7u8 {
            let name = branch_ref(&format!("branch-{number}"));
            if let Some(RefTarget::Direct(tip)) = tip(&name) {
                gathering.walk(&name, tip)?;
            }
        }
        let mut newer = gathering.newer;
        newer.lines = lines_of(&segments)?;
        if let Some(log) = log {
            newer.lines = longer(newer.lines, log)?;
            newer.cut_unsigned(&log.with_file_name(CHECKPOINT))?;
        }
        Ok(newer)
    }
}

impl NewerLedger {
    fn cut_unsigned(&mut self, checkpoint: &Path) -> Result<(), RecorderError> {
        let hash = |text: &String| Line::parse(text.as_bytes()).ok().map(|line| line.hash);
        let committed =
            |text: &String| hash(text).is_some_and(|hash| self.commits.contains_key(&hash));
        let by_commits = self
            .lines
            .iter()
            .rposition(committed)
            .map_or(0, |at| at + 1);
        let signed = by_commits
            .max(self.covered(checkpoint)?)
            .min(self.lines.len());
        self.unsigned = u64::try_from(self.lines.split_off(signed).len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// How many lines the tree head covers, if it is of this log and by the key in force at its
    /// last line; otherwise none.
    fn covered(&self, checkpoint: &Path) -> Result<usize, RecorderError> {
        let place = || checkpoint.display().to_string();
        let text = match std::fs::symlink_metadata(checkpoint) {
            Ok(found) if found.is_file() && found.len() <= MAX_CHECKPOINT => {
                std::fs::read_to_string(checkpoint)
            }
            Ok(_) => return Err(unreadable(place(), "it is no file of a tree head's size")),
            Err(e) => Err(e),
        };
        let text = match text {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            Err(e) => return Err(unreadable(place(), e)),
        };
        let note = parse_note(&text).map_err(|e| unreadable(place(), e))?;
        let size = usize::try_from(note.size).unwrap_or(usize::MAX);
        let Some(lines) = self.lines.get(..size) else {
            return Ok(0);
        };
        let mut tree = Frontier::new();
        lines.iter().for_each(|line| tree.push(line.as_bytes()));
        let signer = self.signer_at(lines)?;
        let holds = tree.root() == note.root && signer.is_some_and(|signer| note.verify(&signer));
        Ok(if holds { size } else { 0 })
    }

    /// The key in force at the last of some lines; a rotation there is signed by the old one.
    fn signer_at(&self, lines: &[String]) -> Result<Option<PublicKey>, RecorderError> {
        let mut signer = None;
        let Some((_, before)) = lines.split_last() else {
            return Ok(None);
        };
        for text in before {
            let Ok(line) = Line::parse(text.as_bytes()) else {
                continue;
            };
            let Some(commits) = self.commits.get(&line.hash) else {
                continue;
            };
            let commits: Vec<&NewerCommit> = commits.iter().collect();
            match &line.event {
                Event::Genesis { .. } => {
                    signer = Some(document::<Genesis>(&commits, "genesis.json")?.signer)
                }
                Event::KeyRotate { .. } => {
                    signer = Some(document::<Rotate>(&commits, "rotate.json")?.new_signer)
                }
                _ => {}
            }
        }
        Ok(signer)
    }
}

struct StepCollector<'a> {
    repository: &'a Repository,
    seen: HashSet<Oid>,
    newer: NewerLedger,
}

impl StepCollector<'_> {
    /// Takes the first parents of a ref, down to what was taken before; returns their segments,
    /// oldest first.
    fn walk(&mut self, reference: &str, tip: Oid) -> Result<Vec<Vec<u8>>, RecorderError> {
        let mut segments = Vec::new();
        let mut next = Some(tip);
        while let Some(id) = next.filter(|id| self.seen.insert(*id)) {
            let failed = |e: &dyn std::fmt::Display| unreadable(format!("commit {id}"), e);
            let commit = self.repository.commit(&id).map_err(|e| failed(&e))?;
            let subject = commit.message.lines().next().unwrap_or_default();
            let kind =
                CommitKind::of_subject(subject).ok_or_else(|| failed(&"of no known kind"))?;
            let log = trailer(&commit.message, "Log").and_then(|text| text.parse().ok());
            let log = log.ok_or_else(|| failed(&"it has no Log trailer"))?;
            let raw = self.repository.commit_bytes(&id).map_err(|e| failed(&e))?;
            let mut files = BTreeMap::new();
            for entry in self.repository.tree(&commit.tree).map_err(|e| failed(&e))? {
                let content = self.repository.file(&entry).map_err(|e| failed(&e))?;
                files.insert(entry.name, content);
            }
            segments.extend(files.remove("audit.log"));
            let reference = reference.to_owned();
            self.newer
                .commits
                .entry(log)
                .or_default()
                .push(NewerCommit {
                    kind,
                    reference,
                    id,
                    raw,
                    files,
                });
            next = commit.parents.first().copied();
        }
        segments.reverse();
        Ok(segments)
    }
}

fn lines_of(segments: &[Vec<u8>]) -> Result<Vec<String>, RecorderError> {
    let text = std::str::from_utf8(&segments.concat()).map(str::to_owned);
    let text = text.map_err(|e| unreadable("the segments on main".to_owned(), e))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// The lines of a log file, which must begin with those of the segments; a torn last one is left
/// out.
fn longer(segments: Vec<String>, path: &Path) -> Result<Vec<String>, RecorderError> {
    let place = || path.display().to_string();
    let mut lines = Vec::with_capacity(segments.len());
    for piece in LogReader::open(path).map_err(|e| unreadable(place(), e))? {
        match piece.map_err(|e| unreadable(place(), e))? {
            LogPiece::Line(line) => lines.push(line.text),
            LogPiece::Torn(_) => {}
        }
    }
    if !lines.starts_with(&segments) {
        return Err(unreadable(
            place(),
            "it does not begin with the segments on main",
        ));
    }
    Ok(lines)
}
