//! A ledger's lines and commits, out of its repository and, where there is one, its log file.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::ledger::Oid;
use crate::ledger::read::{Repository, Target};
use crate::log::read::{LogReader, Piece};
use crate::record::commit::{CommitKind, MAIN, branch_ref, trailer};

use super::super::RecorderError;
use super::{AdoptFault, Newer, NewerCommit};

fn unreadable(place: String, reason: impl std::fmt::Display) -> RecorderError {
    AdoptFault::Unreadable { place, reason: reason.to_string() }.into()
}

impl Newer {
    /// Reads a repository that was verified before; `log` has the lines that no segment holds yet.
    ///
    /// Holds all lines and commits in memory: taking over is done once, after a loss.
    pub fn read(repository: &Path, log: Option<&Path>) -> Result<Self, RecorderError> {
        let place = repository.display().to_string();
        let repository = Repository::open(repository).map_err(|e| unreadable(place.clone(), e))?;
        let refs = repository.refs().map_err(|e| unreadable(place.clone(), e))?;
        let tip = |name: &str| refs.iter().find(|r| r.name == name).map(|r| r.target.clone());
        let mut gathering = Gathering { repository: &repository, seen: HashSet::new(), newer: Newer::default() };
        let Some(Target::Direct(main)) = tip(MAIN) else { return Err(unreadable(place, "it has no main")) };
        let segments = gathering.walk(MAIN, main)?;
        for number in 1..=7u8 {
            let name = branch_ref(&format!("branch-{number}"));
            if let Some(Target::Direct(tip)) = tip(&name) {
                gathering.walk(&name, tip)?;
            }
        }
        let mut newer = gathering.newer;
        newer.lines = lines_of(&segments)?;
        if let Some(log) = log {
            newer.lines = longer(newer.lines, log)?;
        }
        Ok(newer)
    }
}

struct Gathering<'a> {
    repository: &'a Repository,
    seen: HashSet<Oid>,
    newer: Newer,
}

impl Gathering<'_> {
    /// Takes the first parents of a ref, down to what was taken before; returns their segments, oldest first.
    fn walk(&mut self, reference: &str, tip: Oid) -> Result<Vec<Vec<u8>>, RecorderError> {
        let mut segments = Vec::new();
        let mut next = Some(tip);
        while let Some(id) = next.filter(|id| self.seen.insert(*id)) {
            let failed = |e: &dyn std::fmt::Display| unreadable(format!("commit {id}"), e);
            let commit = self.repository.commit(&id).map_err(|e| failed(&e))?;
            let subject = commit.message.lines().next().unwrap_or_default();
            let kind = CommitKind::of_subject(subject).ok_or_else(|| failed(&"of no known kind"))?;
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
            self.newer.commits.entry(log).or_default().push(NewerCommit { kind, reference, id, raw, files });
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

/// The lines of a log file, which must begin with those of the segments; a torn last one is left out.
fn longer(segments: Vec<String>, path: &Path) -> Result<Vec<String>, RecorderError> {
    let place = || path.display().to_string();
    let mut lines = Vec::with_capacity(segments.len());
    for piece in LogReader::open(path).map_err(|e| unreadable(place(), e))? {
        match piece.map_err(|e| unreadable(place(), e))? {
            Piece::Line(line) => lines.push(line.text),
            Piece::Torn(_) => {}
        }
    }
    if !lines.starts_with(&segments) {
        return Err(unreadable(place(), "it does not begin with the segments on main"));
    }
    Ok(lines)
}
