//! The parts of an opening file, from database and ledger.

use std::path::Path;

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::block::Header;
use crate::record::canon;
use crate::record::commit::{CommitKind, MAIN};
use crate::record::documents::Format;
use crate::record::entry::Line;
use crate::record::hash::Hash32;
use crate::record::opening::{
    ClosePart, CommitPart, HeadPart, LinePart, ObjectName, OpeningFile, RecordPart, StartPart,
};
use crate::store::sqlite::Sqlite;
use crate::store::{CommitRow, ExchangeRow, Find, Outcome, Read, SessionRow};

use super::fit::{Believed, Later, fill};
use super::head::{Head, file, prove};
use super::stamp;
use super::{Found, Stop, because, broken};

/// Puts a file together, and says in sentences what is left out so that it stays small.
pub(super) fn assemble(
    store: &Sqlite,
    repository: &Repository,
    headers: &Path,
    found: &Found,
    (head, believed): (&Head, &Believed),
) -> Result<(OpeningFile, Vec<String>), Stop> {
    let answered = found.exchange.as_ref().filter(|row| is_answered(row));
    let ended = match &found.session {
        Some(session) => end(store, session, found.line)?,
        None => None,
    };
    let mut file = OpeningFile {
        close: ended.as_ref().map(|ended| close(store, repository, ended)).transpose()?,
        format: Format,
        head: HeadPart { key: head.key, proof: prove(store, found.line, head)? },
        line: LinePart { prev: hash_before(store, found.line)?, text: line(store, found.line)? },
        opening: found.opening.clone(),
        record: answered.map(|row| record(store, repository, row)).transpose()?,
        stamp: None,
        start: found.session.as_ref().map(|session| start(store, repository, session, found.line)).transpose()?,
    };
    let later = match (answered, &found.session, &file.close) {
        (Some(row), Some(session), Some(_)) => Some(later(store, session, row)?),
        _ => None,
    };
    let place = stamp::Place { store, repository, headers, found, ended: ended.as_ref() };
    let stamp = stamp::find(&place, later.is_some(), &mut file)?;
    let left_out = fill(&mut file, later, stamp, believed)?;
    Ok((file, left_out))
}

fn is_answered(row: &ExchangeRow) -> bool {
    row.outcome.as_ref().is_some_and(|outcome| outcome.outcome == Outcome::Answered)
}

/// A line of the log.
pub(super) fn line(store: &dyn Read, n: u64) -> Result<String, Stop> {
    let line = store.lines(n, n + 1)?.pop();
    line.map_or_else(|| because(format!("log line {} is not in the database", n + 1)), Ok)
}

/// HASH of the line before.
fn hash_before(store: &dyn Read, n: u64) -> Result<Hash32, Stop> {
    let Some(before) = n.checked_sub(1) else { return Ok(Hash32::GENESIS) };
    Line::parse(line(store, before)?.as_bytes()).map(|line| line.hash).map_err(broken)
}

fn commit_part(repository: &Repository, row: &CommitRow) -> Result<CommitPart, Stop> {
    let id: Oid = row.id.parse().map_err(broken)?;
    let commit = repository.commit(&id).map_err(broken)?;
    let name = |id: &Oid| ObjectName::parse(&id.to_string());
    let parents: Option<Vec<ObjectName>> = commit.parents.iter().map(name).collect();
    match (parents, name(&commit.tree)) {
        (Some(parents), Some(tree)) => Ok(CommitPart { parents, signature: commit.signature, tree }),
        _ => because(format!("commit {} can't be read; look with: gently audit verify", row.id)),
    }
}

fn document<T: serde::Serialize + serde::de::DeserializeOwned>(
    store: &dyn Read,
    row: &CommitRow,
    name: &str,
) -> Result<T, Stop> {
    canon::parse(file(store, row, name)?.as_bytes()).map_err(broken)
}

fn record(store: &Sqlite, repository: &Repository, row: &ExchangeRow) -> Result<RecordPart, Stop> {
    let line = row.outcome.as_ref().map_or(row.prompt_line, |outcome| outcome.outcome_line);
    let commits = store.commits_of_line(line)?;
    let Some(commit) = commits.iter().find(|commit| commit.kind == CommitKind::Interaction) else {
        return because("the turn's commit is not in the database; look with: gently audit verify");
    };
    Ok(RecordPart {
        commit: commit_part(repository, commit)?,
        document: document(store, commit, CommitKind::Interaction.document())?,
    })
}

fn start_row(store: &Sqlite, session: &SessionRow, line: u64) -> Result<CommitRow, Stop> {
    let row = store.start_commit(session, line)?;
    row.map_or_else(|| because("the session's start is not in the database; look with: gently audit verify"), Ok)
}

fn start(store: &Sqlite, repository: &Repository, session: &SessionRow, line: u64) -> Result<StartPart, Stop> {
    let row = start_row(store, session, line)?;
    let header = store.files(row.n)?.remove("btc_header");
    let header = header.map(|bytes| String::from_utf8_lossy(&bytes).trim_end().parse::<Header>()).transpose();
    Ok(StartPart {
        commit: commit_part(repository, &row)?,
        document: document(store, &row, CommitKind::SessionStart.document())?,
        header: header.map_err(broken)?,
    })
}

/// The session's end on its branch, and the close on `main`; none while it is open.
pub(super) struct Ended {
    pub end: CommitRow,
    pub merge: CommitRow,
}

fn end(store: &Sqlite, session: &SessionRow, line: u64) -> Result<Option<Ended>, Stop> {
    if session.ended_at.is_none() {
        return Ok(None);
    }
    let start = start_row(store, session, line)?;
    let end = store.end_commit(session, start.n)?;
    let merge = end.as_ref().map(|end| store.commits_of_line(end.line)).transpose()?;
    let merge = merge.and_then(|found| found.into_iter().find(|commit| commit.reference == MAIN));
    match end.zip(merge) {
        Some((end, merge)) => Ok(Some(Ended { end, merge })),
        None => because("the session's close is not in the database; look with: gently audit verify"),
    }
}

fn close(store: &Sqlite, repository: &Repository, ended: &Ended) -> Result<ClosePart, Stop> {
    Ok(ClosePart {
        commit: commit_part(repository, &ended.merge)?,
        document: document(store, &ended.end, CommitKind::SessionEnd.document())?,
        later: None,
        prev: hash_before(store, ended.end.line)?,
    })
}

/// What the session's chain has behind a turn.
fn later(store: &Sqlite, session: &SessionRow, row: &ExchangeRow) -> Result<Later, Stop> {
    let own = row.outcome.as_ref().map_or(0, |outcome| outcome.outcome_line);
    let mut later = Vec::new();
    store.each_exchange(Some(session.uuid), &mut |row| {
        if let Some(outcome) = row.outcome.as_ref().filter(|outcome| outcome.outcome_line > own)
            && let Some(response) = outcome.response_commitment
        {
            later.push((outcome.outcome_line, (row.prompt_commitment, response, outcome.answered_at)));
        }
        Ok(())
    })?;
    later.sort_by_key(|(line, _)| *line);
    Ok(later.into_iter().map(|(_, turn)| turn).collect())
}
