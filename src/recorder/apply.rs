//! Applying the database to git and log: the normal path and the recovery path are this one.
//!
//! Order: objects, refs, lines; then one sync of all; then the mark. Every step may be done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::ledger::write::Ledger;
use crate::ledger::{LedgerError, Oid};
use crate::log::append::{AppendError, Appender};
use crate::record::commit::CommitKind;
use crate::record::entry::Line;
use crate::store::{Applied, CommitRow, Head, Read};

use super::RecorderError;
use super::draft::{Files, oid, segment};
use super::step::{Step, Watch, pass};

/// Where the parts of a home are.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The home.
    pub root: PathBuf,
}

impl Paths {
    /// The relationship database.
    pub fn database(&self) -> PathBuf {
        self.root.join("gently.db")
    }

    /// The log.
    pub fn log(&self) -> PathBuf {
        self.root.join("audit.log")
    }

    /// The git ledger.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger.git")
    }

    /// The writer's lock.
    pub fn lock(&self) -> PathBuf {
        self.root.join("writer.lock")
    }

    /// Locks of prompts in flight.
    pub fn in_flight(&self) -> PathBuf {
        self.root.join("in-flight")
    }
}

/// What is not known to be durable outside the database yet.
struct Pending {
    commits: Vec<CommitRow>,
    lines: Vec<String>,
    /// Length of the log without and with those lines.
    from: u64,
    to: u64,
}

/// What was written and waits for its sync.
#[must_use = "what is written is not durable before it is synced"]
pub struct Written {
    ledger: Option<Ledger>,
    log: Option<Appender>,
    /// How many lines or commits were missing.
    pub missing: u64,
}

impl Written {
    /// Waits until git and log are on the disk.
    pub fn sync(&mut self) -> Result<(), RecorderError> {
        if let Some(ledger) = &mut self.ledger {
            ledger.sync().map_err(unapplied("syncing ledger.git"))?;
        }
        if let Some(log) = &mut self.log {
            log.sync().map_err(unapplied("syncing audit.log"))?;
        }
        Ok(())
    }

    /// Merges packs when they have become many; nobody waits for it, and what fails is tried again next time.
    pub fn tidy(mut self) {
        if let Some(ledger) = &mut self.ledger {
            let _ = ledger.tidy();
        }
    }
}

fn unapplied<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> RecorderError {
    move |e| RecorderError::Unapplied { what, reason: e.to_string() }
}

/// Brings git and log up to the head; returns what waits for its sync.
///
/// Refuses when either holds what the database does not know, or lacks what the mark says it has.
pub fn apply<R: Read + ?Sized>(store: &R, head: &Head, paths: &Paths, watch: &Watch) -> Result<Written, RecorderError> {
    let pending = Pending {
        commits: store.commits(head.applied.commits, head.commits)?,
        lines: store.lines(head.applied.lines, head.lines)?,
        from: head.applied.bytes,
        to: head.bytes,
    };
    let log_state = look_at_log(store, head, &paths.log(), &pending)?;
    let (ledger, missing) = apply_commits(store, head, paths, &pending, watch)?;
    pass(watch, Step::AfterRefs).map_err(unapplied("moving refs"))?;
    let (log, added) = apply_lines(&paths.log(), &pending, log_state)?;
    pass(watch, Step::AfterLog).map_err(unapplied("appending to audit.log"))?;
    Ok(Written { ledger, log, missing: missing.max(added) })
}

/// Refuses when log or git are not where the mark says, without writing anything.
pub fn check<R: Read + ?Sized>(store: &R, head: &Head, paths: &Paths) -> Result<(), RecorderError> {
    let pending = Pending {
        commits: store.commits(head.applied.commits, head.commits)?,
        lines: store.lines(head.applied.lines, head.lines)?,
        from: head.applied.bytes,
        to: head.bytes,
    };
    look_at_log(store, head, &paths.log(), &pending)?;
    let ledger = open_ledger(paths)?;
    for (reference, moves) in moves(store, head, &pending)? {
        if let Place::Elsewhere(actual) = place(&ledger, &reference, &moves)? {
            return Err(moves.disagree(&reference, actual));
        }
    }
    Ok(())
}

/// Sets aside what a power loss tore in git, so that [`apply`] writes it anew.
pub fn set_aside_torn(paths: &Paths) -> Result<(), RecorderError> {
    open_ledger(paths)?.set_aside_torn_packs().map(|_| ()).map_err(unapplied("reading the packs of ledger.git"))
}

/// The mark once everything up to the head is durable.
pub fn all_applied(head: &Head) -> Applied {
    Applied { lines: head.lines, bytes: head.bytes, commits: head.commits }
}

// ---- git

/// How one ref has to move: from the applied tip, through the pending commits, to the last of them.
struct Moves {
    applied: Option<Oid>,
    pending: Vec<Oid>,
}

impl Moves {
    fn target(&self) -> Option<Oid> {
        self.pending.last().copied().or(self.applied)
    }

    fn disagree(&self, reference: &str, actual: Option<Oid>) -> RecorderError {
        let (ahead, behind) =
            if actual.is_none() { ("the database", "ledger.git") } else { ("ledger.git", "the database") };
        let spell = |id: Option<Oid>| id.map_or("no such ref".to_owned(), |id| id.to_string());
        RecorderError::Disagree {
            ahead,
            behind,
            place: reference.to_owned(),
            expected: spell(self.applied),
            actual: spell(actual),
        }
    }
}

enum Place {
    /// At the applied tip or at a pending commit.
    Known(Option<Oid>),
    /// Cut by a power loss.
    Torn,
    /// Somewhere the database does not know.
    Elsewhere(Option<Oid>),
}

fn open_ledger(paths: &Paths) -> Result<Ledger, RecorderError> {
    Ledger::open(&paths.ledger()).map_err(unapplied("opening ledger.git"))
}

fn moves<R: Read + ?Sized>(
    store: &R,
    head: &Head,
    pending: &Pending,
) -> Result<BTreeMap<String, Moves>, RecorderError> {
    let mut all = BTreeMap::new();
    for reference in store.refs()? {
        let applied = store.tip(&reference, head.applied.commits)?.as_ref().map(oid).transpose()?;
        let on_it = pending.commits.iter().filter(|row| row.reference == reference);
        let pending = on_it.map(oid).collect::<Result<_, _>>()?;
        all.insert(reference, Moves { applied, pending });
    }
    Ok(all)
}

fn place(ledger: &Ledger, reference: &str, moves: &Moves) -> Result<Place, RecorderError> {
    match ledger.tip(reference) {
        Ok(actual) if actual == moves.applied => Ok(Place::Known(actual)),
        Ok(Some(actual)) if moves.pending.contains(&actual) => Ok(Place::Known(Some(actual))),
        Ok(actual) => Ok(Place::Elsewhere(actual)),
        Err(LedgerError::TornRef { .. }) if !moves.pending.is_empty() => Ok(Place::Torn),
        Err(e) => Err(unapplied("reading a ref of ledger.git")(e)),
    }
}

fn apply_commits<R: Read + ?Sized>(
    store: &R,
    head: &Head,
    paths: &Paths,
    pending: &Pending,
    watch: &Watch,
) -> Result<(Option<Ledger>, u64), RecorderError> {
    let mut ledger = open_ledger(paths)?;
    let moves = moves(store, head, pending)?;
    let mut places = BTreeMap::new();
    for (reference, moves) in &moves {
        match place(&ledger, reference, moves)? {
            Place::Elsewhere(actual) => return Err(moves.disagree(reference, actual)),
            known => places.insert(reference.clone(), known),
        };
    }
    refuse_unknown_refs(&ledger, &moves)?;
    if pending.commits.is_empty() {
        pass(watch, Step::AfterObjects).map_err(unapplied("writing objects"))?;
        return Ok((None, 0));
    }
    for row in &pending.commits {
        let files = files_of(store, row)?;
        ledger.put(&row.raw, &files).map_err(unapplied("writing objects to ledger.git"))?;
    }
    ledger.write_objects().map_err(unapplied("writing objects to ledger.git"))?;
    pass(watch, Step::AfterObjects).map_err(unapplied("writing objects"))?;
    let mut missing = 0;
    for (reference, moves) in &moves {
        let Some(target) = moves.target().filter(|_| !moves.pending.is_empty()) else { continue };
        let moved = match places.get(reference) {
            Some(Place::Torn) => ledger.overwrite_torn_ref(reference, target),
            Some(Place::Known(from)) => {
                missing += u64::from(*from != Some(target));
                ledger.move_ref(reference, *from, target)
            }
            _ => continue,
        };
        moved.map_err(unapplied("moving a ref of ledger.git"))?;
    }
    Ok((Some(ledger), missing))
}

/// Session branches and `main` are the database's; notes are not its affair.
fn refuse_unknown_refs(ledger: &Ledger, known: &BTreeMap<String, Moves>) -> Result<(), RecorderError> {
    let names: BTreeSet<&str> = known.keys().map(String::as_str).collect();
    for number in 1..=7u8 {
        let name = format!("refs/heads/branch-{number}");
        if names.contains(name.as_str()) {
            continue;
        }
        if let Some(actual) = ledger.tip(&name).map_err(unapplied("reading a ref of ledger.git"))? {
            return Err(RecorderError::Disagree {
                ahead: "ledger.git",
                behind: "the database",
                place: name,
                expected: "no such ref".to_owned(),
                actual: actual.to_string(),
            });
        }
    }
    Ok(())
}

/// The tree of a stored commit: its stored files, and the lines of its segment.
fn files_of<R: Read + ?Sized>(store: &R, row: &CommitRow) -> Result<Files, RecorderError> {
    let stored = store.files(row.tree_of.unwrap_or(row.n))?;
    let mut files = Files::new();
    for (name, bytes) in stored {
        let known = row.kind.files(true).into_iter().find(|known| *known == name);
        let known =
            known.ok_or_else(|| RecorderError::Unrecordable { what: "ledger_file.name", reason: name.clone() })?;
        files.insert(known, bytes);
    }
    if let Some((from, to)) = row.segment {
        files.insert("audit.log", segment(&store.lines(from, to)?));
    }
    debug_assert!(row.kind != CommitKind::Interaction || files.len() == 5);
    Ok(files)
}

// ---- log

/// How far the file already holds the pending lines.
struct LogState {
    /// Bytes of the file that agree, from the start.
    agreed: u64,
    /// Its length.
    len: u64,
}

/// Compares the file's end with the applied mark and the pending lines.
///
/// What stands behind the mark and is not the pending lines is a torn write when no line of it
/// continues the chain; else it is somebody's history, and nothing is touched.
fn look_at_log<R: Read + ?Sized>(
    store: &R,
    head: &Head,
    path: &Path,
    pending: &Pending,
) -> Result<LogState, RecorderError> {
    let len = match std::fs::metadata(path) {
        Ok(found) => found.len(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => 0,
        Err(e) => return Err(unapplied("looking at audit.log")(e)),
    };
    let behind = |expected: String, actual: String| RecorderError::Disagree {
        ahead: "the database",
        behind: "audit.log",
        place: format!("line {}", head.applied.lines),
        expected,
        actual,
    };
    if len < pending.from {
        return Err(behind(format!("{} bytes", pending.from), format!("{len} bytes")));
    }
    let last = head.applied.lines.checked_sub(1);
    let last = last.map(|n| store.lines(n, n + 1)).transpose()?.and_then(|lines| lines.into_iter().next());
    let last_len = last.as_ref().map_or(0, |line| line.len() as u64 + 1);
    let start = pending.from.saturating_sub(last_len);
    let expected = segment(&pending.lines);
    // A file that is far longer than it can be is somebody's; there is no need to read all of it.
    let bytes = read_from(path, start, last_len + expected.len() as u64 + 1 + MAX_STRANGE)?;
    let (before, after) = bytes.split_at_checked(last_len as usize).unwrap_or((&bytes, &[]));
    if let Some(last) = last
        && before != segment(std::slice::from_ref(&last))
    {
        return Err(behind(last, String::from_utf8_lossy(before).trim_end().to_owned()));
    }
    let common = after.iter().zip(&expected).take_while(|(a, b)| a == b).count();
    let whole_lines = expected[..common].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    if after.len() > common {
        refuse_other_history(head, pending, &after[whole_lines..], whole_lines)?;
    }
    Ok(LogState { agreed: pending.from + whole_lines as u64, len })
}

/// How much of what nobody expected is read to see whether it is a history.
const MAX_STRANGE: u64 = 1 << 17;

fn refuse_other_history(head: &Head, pending: &Pending, rest: &[u8], agreed: usize) -> Result<(), RecorderError> {
    let Some(end) = rest.iter().position(|b| *b == b'\n') else { return Ok(()) };
    let Ok(line) = Line::parse(&rest[..end]) else { return Ok(()) };
    let known = pending.lines.iter().take_while({
        let mut length = 0;
        move |line| {
            length += line.len() + 1;
            length <= agreed
        }
    });
    let count = known.count() as u64;
    Err(RecorderError::Disagree {
        ahead: "audit.log",
        behind: "the database",
        place: format!("line {}", head.applied.lines + count + 1),
        expected: pending.lines.get(count as usize).cloned().unwrap_or_else(|| "the end of the log".to_owned()),
        actual: line.text(),
    })
}

fn read_from(path: &Path, start: u64, most: u64) -> Result<Vec<u8>, RecorderError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(unapplied("opening audit.log")(e)),
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start)).map_err(unapplied("reading audit.log"))?;
    file.take(most).read_to_end(&mut bytes).map_err(unapplied("reading audit.log"))?;
    Ok(bytes)
}

fn apply_lines(path: &Path, pending: &Pending, state: LogState) -> Result<(Option<Appender>, u64), RecorderError> {
    if pending.lines.is_empty() && state.len == pending.to {
        return Ok((None, 0));
    }
    let failed = |e: AppendError| unapplied("appending to audit.log")(e);
    let mut log = Appender::open(path).map_err(failed)?;
    if log.len() > state.agreed {
        log.truncate_to(state.agreed).map_err(failed)?;
    }
    let mut length = pending.from;
    let missing: Vec<String> = pending
        .lines
        .iter()
        .skip_while(|line| {
            length += line.len() as u64 + 1;
            length <= state.agreed
        })
        .cloned()
        .collect();
    let count = missing.len() as u64;
    if count > 0 {
        log.append_at(state.agreed, &missing).map_err(failed)?;
    }
    Ok((Some(log), count))
}
