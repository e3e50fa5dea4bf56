//! The database against log and ledger: the newest lines, every ref, and whether a writer would go
//! on.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::ledger::Oid;
use crate::ledger::read::{Ref, RefTarget, Repository};
use crate::log::back::LinesBack;
use crate::os::open_regular;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{NOTES_OTS, NOTES_WITNESS};
use crate::record::log::entry::Line;
use crate::recorder::{
    self, EvidenceComparison, ExpectedRef, Paths, RecorderError, RefPosition, expected_refs,
    ref_position,
};
use crate::store::{LedgerHead, Store, StoreError};

use super::{CheckState, DoctorCheck, files};
use crate::app::words::counted;

/// How many of the newest lines are compared; `gently audit verify` looks at all.
const LINES: u64 = 1000;
/// How often a look is repeated when somebody records meanwhile.
const TRIES: usize = 5;

const VERIFY: &str = "gently audit verify";
const REBUILD: &str = "gently audit rebuild";

/// Three checks of one moment.
pub fn all(store: &Store, paths: &Paths) -> Vec<DoctorCheck> {
    let mut found = Vec::new();
    for _ in 0..TRIES {
        let before = match store.begin_read().and_then(|()| store.head()) {
            Ok(head) => head,
            Err(error) => return unreadable(error),
        };
        found = vec![
            log(store, &before, paths).unwrap_or_else(|e| broken("log", &e)),
            ledger(store, &before, paths).unwrap_or_else(|e| broken("ledger", &e)),
            writer(store, &before, paths),
        ];
        let ended = store.end_read();
        // Files are read after the database's snapshot: only a head that stood still makes a
        // difference count.
        let quiet = ended
            .and_then(|()| store.head())
            .is_ok_and(|after| after == before);
        if quiet || found.iter().all(|check| check.state == CheckState::Ok) {
            break;
        }
    }
    found
}

fn unreadable(error: StoreError) -> Vec<DoctorCheck> {
    let error = RecorderError::from(error);
    ["log", "ledger", "writer"]
        .map(|name| broken(name, &error))
        .into()
}

fn broken(name: &'static str, error: &RecorderError) -> DoctorCheck {
    DoctorCheck::fail(name, error.to_string(), VERIFY)
}

/// The newest lines: chained in the database up to its head, and the same in the file.
fn log(store: &Store, head: &LedgerHead, paths: &Paths) -> Result<DoctorCheck, RecorderError> {
    let from = head.lines.saturating_sub(LINES);
    let lines = store.lines(from, head.lines)?;
    if let Some(place) = first_break(&lines, from, head) {
        return Ok(DoctorCheck::fail(
            "log",
            format!("the hash chain in the database breaks at line {place}"),
            VERIFY,
        ));
    }
    if let Err(error) = recorder::refuse_unsigned(store, head) {
        return Ok(DoctorCheck::fail("log", error.to_string(), VERIFY));
    }
    for session in store.open_sessions()? {
        if let Err(error) = recorder::refuse_session(store, &session) {
            return Ok(DoctorCheck::fail("log", error.to_string(), VERIFY));
        }
    }
    let back = match LinesBack::open(&paths.log()) {
        Ok(back) => back,
        Err(error) => return Ok(DoctorCheck::fail("log", error.to_string(), REBUILD)),
    };
    let (torn, end) = (back.torn(), back.end());
    if torn == 0 && end > head.bytes {
        return Ok(too_long(&paths.log(), head, end - head.bytes));
    }
    let LogComparison { missing, left } = match compare(back, &lines, from, head) {
        Ok(comparison) => comparison,
        Err(difference) => return Ok(difference),
    };
    if left > 0 {
        let found = format!(
            "audit.log is {} short: it has {end} bytes, the database expects {}",
            counted(left, "line"),
            head.bytes
        );
        return Ok(DoctorCheck::fail("log", found, REBUILD));
    }
    if missing == 0 && torn > 0 {
        if last_bytes(&paths.log(), torn).is_some_and(|end| end.iter().all(|byte| *byte == 0)) {
            return Ok(DoctorCheck::warn(
                "log",
                format!("{torn} zero bytes stand after the last line, as a power loss leaves them"),
                "the next command that records something cuts them, for example gently session open",
            ));
        }
        // What a crash tears is a line of ours, and the database knows that it is not written yet.
        let found = format!("{torn} bytes after the last line belong to no record");
        return Ok(DoctorCheck::fail("log", found, to_cut(head)));
    }
    if head.lacks_tree_head() {
        let found = format!(
            "the database has no signed tree head, though {} lines are written: it was taken away",
            head.lines
        );
        let command = match recorder::is_marked(paths) {
            true => "gently audit adopt",
            false => REBUILD,
        };
        let mend = format!("{VERIFY}, and if what is there holds, {command} has it signed again");
        return Ok(DoctorCheck::fail("log", found, mend));
    }
    if missing > 0 {
        let found = format!(
            "{} not written yet, and {} of an incomplete one",
            counted(missing, "line"),
            counted(torn, "byte")
        );
        return Ok(DoctorCheck::warn(
            "log",
            found,
            "the next command that records something finishes it, for example gently session open",
        ));
    }
    match recorder::checkpoint_is_newest(head, paths) {
        Ok(true) => {}
        Ok(false) => {
            let mend = "the next command that records something writes it, for example gently session open";
            return Ok(DoctorCheck::warn(
                "log",
                "audit.checkpoint is not the signed tree head of the newest line",
                mend,
            ));
        }
        Err(error) => return Ok(DoctorCheck::fail("log", error.to_string(), VERIFY)),
    }
    Ok(DoctorCheck::ok(
        "log",
        format!(
            "the newest {} lines match the database, head {}…",
            lines.len(),
            head.hash.short8()
        ),
    ))
}

/// What to do with bytes behind the log that are no line.
fn to_cut(head: &LedgerHead) -> String {
    let bytes = head.bytes;
    format!("look at what they are, then, in the home: truncate -s {bytes} audit.log")
}

/// Whole lines, or what looks like them, behind the last line of the database.
fn too_long(path: &Path, head: &LedgerHead, count: u64) -> DoctorCheck {
    let after = format!("audit.log has {count} bytes after line {}", head.lines);
    let last = last_bytes(path, count).unwrap_or_default();
    let first = last.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if last.is_empty() || Line::parse(first).is_ok() {
        let found = format!("{after} that the database has no record of");
        return DoctorCheck::fail("log", found, VERIFY);
    }
    DoctorCheck::fail("log", format!("{after} that are no line"), to_cut(head))
}

/// A file's last bytes; of very many nobody looks.
fn last_bytes(path: &Path, count: u64) -> Option<Vec<u8>> {
    const MOST: u64 = 1 << 16;
    let back = i64::try_from(count).ok().filter(|_| count <= MOST)?;
    let mut end = Vec::new();
    let read = open_regular(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-back))?;
        file.read_to_end(&mut end)
    });
    read.is_ok().then_some(end)
}

/// How the newest lines of the file stand to those of the database.
struct LogComparison {
    /// Lines at the end that are not in the file, and need not be yet.
    missing: usize,
    /// Lines before them that are not in the file.
    left: usize,
}

/// Compares lines from the end of the file on; a line that differs is a failed check.
fn compare(
    back: LinesBack,
    lines: &[String],
    from: u64,
    head: &LedgerHead,
) -> Result<LogComparison, DoctorCheck> {
    let applied =
        usize::try_from(head.lines.saturating_sub(head.applied.lines)).unwrap_or(usize::MAX);
    let mut missing = 0;
    let mut has_begun = false;
    let mut wanted = lines.iter().rev().zip((from..head.lines).rev()).peekable();
    for line in back {
        let line = match line {
            Ok(line) => line,
            Err(error) => return Err(DoctorCheck::fail("log", error.to_string(), VERIFY)),
        };
        // Lines that no mark calls applied may still be missing at the end of the file, and nowhere
        // else.
        while !has_begun
            && missing < applied
            && wanted
                .peek()
                .is_some_and(|(text, _)| text.as_bytes() != line.bytes)
        {
            missing += 1;
            wanted.next();
        }
        has_begun = true;
        match wanted.next() {
            None => break,
            Some((text, _)) if text.as_bytes() == line.bytes => {}
            Some((_, n)) => {
                return Err(DoctorCheck::fail(
                    "log",
                    format!("audit.log and database differ at line {}", n + 1),
                    VERIFY,
                ));
            }
        }
    }
    Ok(LogComparison {
        missing,
        left: wanted.count(),
    })
}

/// The number of the first line that does not follow the one before it, or is not the head's.
fn first_break(lines: &[String], from: u64, head: &LedgerHead) -> Option<u64> {
    let mut prev = (from == 0).then_some(Hash32::GENESIS);
    for (number, text) in (from + 1..).zip(lines) {
        let Ok(line) = Line::parse(text.as_bytes()) else {
            return Some(number);
        };
        if prev.is_some_and(|prev| !line.follows(prev)) {
            return Some(number);
        }
        prev = Some(line.hash);
    }
    (prev != Some(head.hash)).then_some(head.lines)
}

/// Every ref where the database has it, its newest commit readable, and none that it does not know.
fn ledger(store: &Store, head: &LedgerHead, paths: &Paths) -> Result<DoctorCheck, RecorderError> {
    let opened = Repository::open(&paths.ledger())
        .and_then(|repository| Ok((repository.refs()?, repository)));
    let (refs, repository) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            return Ok(DoctorCheck::fail("ledger", error.to_string(), REBUILD));
        }
    };
    let mut late = 0;
    let known = expected_refs(store, head)?;
    for (name, expected) in &known {
        let actual = refs
            .iter()
            .find(|found| found.name == *name)
            .map(|found| &found.target);
        let RefPosition::Known(here) = ref_position(expected, actual) else {
            let at = |target: Option<&RefTarget>| target.map_or("missing".to_owned(), spelled);
            let tip = expected.tip().map(RefTarget::Direct);
            let mend = if actual.is_none() { REBUILD } else { VERIFY };
            return Ok(DoctorCheck::fail(
                "ledger",
                format!(
                    "{name} is {}, the database has {}",
                    at(actual),
                    at(tip.as_ref())
                ),
                mend,
            ));
        };
        late += u64::from(here != expected.tip());
        if let Some(RefTarget::Direct(id)) = actual
            && let Err(fault) = repository.commit(id)
        {
            return Ok(DoctorCheck::fail(
                "ledger",
                format!("{name}: commit {id}: {fault}"),
                REBUILD,
            ));
        }
    }
    if let Some(stranger) = refs.iter().find(|found| is_strange(found, &known)) {
        let found = format!(
            "{} is not in the database: another program wrote it",
            quoted(&stranger.name)
        );
        return Ok(DoctorCheck::fail("ledger", found, VERIFY));
    }
    if late > 0 {
        let found = format!("{late} refs not updated yet");
        return Ok(DoctorCheck::warn(
            "ledger",
            found,
            "the next command that records something finishes it, for example gently session open",
        ));
    }
    Ok(DoctorCheck::ok(
        "ledger",
        format!(
            "{} refs match the database, {} commits",
            known.len(),
            head.commits
        ),
    ))
}

fn quoted(name: &str) -> String {
    format!("'{name}'")
}

fn spelled(target: &RefTarget) -> String {
    match target {
        RefTarget::Direct(id) => Oid::to_string(id),
        RefTarget::Symbolic(to) => format!("a pointer to {to}"),
        RefTarget::Broken(what) => format!("broken: {what}"),
    }
}

fn is_strange(found: &Ref, known: &BTreeMap<String, ExpectedRef>) -> bool {
    !known.contains_key(&found.name) && ![NOTES_OTS, NOTES_WITNESS].contains(&found.name.as_str())
}

/// The words with which the next writer would refuse, if it would.
fn writer(store: &Store, head: &LedgerHead, paths: &Paths) -> DoctorCheck {
    if recorder::is_marked(paths) {
        return DoctorCheck::fail(
            "writer",
            "would refuse: this home was restored, and what was published after its backup has not been adopted yet",
            "gently audit adopt --help",
        );
    }
    if let Some((found, mend)) = files::in_the_way(paths) {
        return DoctorCheck::fail("writer", format!("would refuse: {found}"), mend);
    }
    if head.lacks_tree_head() {
        return DoctorCheck::fail(
            "writer",
            "would refuse: the signed tree head is missing: see log",
            format!("{REBUILD}, if {VERIFY} shows that the rest holds"),
        );
    }
    match EvidenceComparison::of(store, head, paths).and_then(|found| found.is_in_place(head)) {
        Ok(_) => DoctorCheck::ok("writer", "ready to record"),
        // What a rebuild can't restore it names, with what to do.
        Err(
            error @ (RecorderError::Disagree { .. }
            | RecorderError::Unapplied { .. }
            | RecorderError::StrayMark { .. }),
        ) => DoctorCheck::fail("writer", format!("would refuse: {error}"), REBUILD),
        Err(error) => DoctorCheck::fail("writer", format!("would refuse: {error}"), VERIFY),
    }
}
