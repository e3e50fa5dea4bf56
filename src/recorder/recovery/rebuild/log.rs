//! The database's lines among themselves and against `audit.log`, and appending what the file
//! lacks.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::ledger::write::Ledger;
use crate::log::append::{AppendError, Appender};
use crate::log::read::{LogPiece, LogReader, ReadError};
use crate::record::hash::Hash32;
use crate::record::log::end::{EndDifference, LogEnd};
use crate::record::log::entry::Line;
use crate::record::tree::{Frontier, parse_note};
use crate::store::{LedgerHead, Store};

use crate::recorder::apply::CHECKPOINT;
use crate::recorder::comparison::{FoundLine, LineState, compare_line};

use super::ledger::line_in_segments;
use super::rows::{LineRows, RowFault};
use super::{
    Contradiction, MissingParts, RecorderError, changed, database_is_older, database_is_wrong,
    nobody_signed, set_aside, two_histories,
};

/// How many lines are appended at a time.
const APPENDED: u64 = 4096;

/// What there is of the log.
#[derive(Clone, Copy)]
pub struct LogContent {
    /// How many lines, all of them the database's.
    here: u64,
    /// Their length in bytes.
    bytes: u64,
    /// Bytes of an unfinished line after them.
    torn: u64,
    /// Those bytes are not the beginning of the next line.
    strange: bool,
}

impl LogContent {
    /// What of it is lost.
    pub fn count(&self, head: &LedgerHead, path: &Path, lost: &mut MissingParts) {
        let first = if self.strange { 0 } else { self.here };
        lost.lines = (first < head.lines).then_some((first + 1, head.lines));
        lost.torn_bytes = if self.strange { 0 } else { self.torn };
        if self.strange {
            lost.aside.push(path.to_owned());
        }
    }

    /// Brings the file up to the head. Durable on return.
    pub fn restore(
        &self,
        store: &Store,
        head: &LedgerHead,
        path: &Path,
        lost: &mut MissingParts,
    ) -> Result<(), RecorderError> {
        self.count(head, path, lost);
        let Some((first, last)) = lost.lines else {
            return Ok(());
        };
        if self.strange {
            lost.aside.pop();
            lost.aside.push(set_aside(path)?);
        }
        let failed = |e: AppendError| RecorderError::Unapplied {
            what: "writing audit.log",
            reason: e.to_string(),
        };
        let mut log = Appender::open(path).map_err(failed)?;
        let keep = if self.strange { 0 } else { self.bytes };
        if log.len() > keep {
            log.truncate_to(keep).map_err(failed)?;
        }
        let mut from = first - 1;
        while from < last {
            let to = from.saturating_add(APPENDED).min(last);
            log.append(&store.lines(from, to)?).map_err(failed)?;
            from = to;
        }
        log.sync().map_err(failed)
    }
}

/// Holds the database's lines against each other, the head and the log; refuses at the first
/// difference.
pub fn look(
    store: &Store,
    head: &LedgerHead,
    path: &Path,
    ledger: Option<&Ledger>,
) -> Result<LogContent, RecorderError> {
    let mut log = Log::open(path, head.bytes)?;
    log.signed = is_signed(head);
    let mut chain = StoredChain {
        before: Hash32::GENESIS,
        head: Hash32::GENESIS,
        bytes: 0,
        frontier: Frontier::new(),
    };
    let segments =
        |number: u64| ledger.and_then(|ledger| line_in_segments(store, head, ledger, number - 1));
    let mut number = 0;
    for row in LineRows::new(head.lines, |from, to| store.lines(from, to)) {
        number += 1;
        let of_log = log.line(number)?;
        match chain.take(row)? {
            Ok(text) => log.compare(number, of_log, &text, chain.before)?,
            Err(said) => return Err(own_fault(number, said, of_log, segments(number)).into()),
        }
    }
    chain.check_head(head)?;
    if !store
        .lines(head.lines, head.lines.saturating_add(1))?
        .is_empty()
    {
        let said = format!("a line, though its head ends at line {}", head.lines);
        return Err(own_fault(head.lines + 1, said, None, None).into());
    }
    log.end(head)
}

/// Whether the tree head beside the log is over more lines than the database has. Without one that
/// can be read it may have been.
fn is_signed_behind(log: &Path, lines: u64) -> bool {
    let note = std::fs::read_to_string(log.with_file_name(CHECKPOINT))
        .ok()
        .and_then(|text| parse_note(&text).ok());
    note.is_none_or(|note| note.size > lines)
}

/// Whether the database has a signed tree head over exactly its lines: then a log that has other
/// words in an old line was changed, and whoever changed it had no key. That the lines are those
/// under the root is checked with the head.
fn is_signed(head: &LedgerHead) -> bool {
    let note = head
        .checkpoint
        .as_deref()
        .and_then(|text| parse_note(text).ok());
    let own = Frontier::from_bytes(&head.frontier).ok();
    note.zip(own).is_some_and(|(note, own)| {
        (note.size, note.root) == (head.lines, own.root())
            && own.size() == head.lines
            && note.verify(&head.signer)
    })
}

/// The lines of the database so far.
struct StoredChain {
    /// HASH of the line before the last one.
    before: Hash32,
    head: Hash32,
    bytes: u64,
    frontier: Frontier,
}

impl StoredChain {
    /// The next line's text; what is wrong with it otherwise.
    fn take(
        &mut self,
        row: Result<String, RowFault>,
    ) -> Result<Result<String, String>, RecorderError> {
        let text = match row {
            Ok(text) => text,
            Err(RowFault::Missing) => {
                return Ok(Err("nothing: its row in log_line is missing".to_owned()));
            }
            Err(RowFault::Corrupt(words)) => return Ok(Err(words)),
            Err(RowFault::Store(e)) => return Err(e.into()),
        };
        let line = match Line::parse(text.as_bytes()) {
            Ok(line) if line.follows(self.head) => line,
            Ok(_) => {
                return Ok(Err(format!(
                    "'{text}', whose HASH does not follow from it and the line before"
                )));
            }
            Err(e) => {
                return Ok(Err(format!(
                    "'{}', which is no line: {e}",
                    text.escape_debug()
                )));
            }
        };
        self.before = self.head;
        self.head = line.hash;
        self.bytes += u64::try_from(text.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        self.frontier.push(text.as_bytes());
        Ok(Ok(text))
    }

    /// Holds the head against the lines; what their words say besides, `audit verify` compares.
    fn check_head(&self, head: &LedgerHead) -> Result<(), RecorderError> {
        let given = LogEnd {
            hash: self.head,
            bytes: self.bytes,
            frontier: self.frontier.to_bytes(),
            ..head.log_end()
        };
        let Some(EndDifference { what, given, said }) =
            given.differences(&head.log_end()).into_iter().next()
        else {
            return Ok(());
        };
        // Two trees tell a reader nothing.
        let (database, of_lines) = match what {
            "frontier" => ("another tree".to_owned(), "a tree".to_owned()),
            _ => (said, given),
        };
        Err(Contradiction {
            place: format!("head.{what}"),
            database,
            holder: "gently.db",
            found: format!("{of_lines} in its own {} lines", head.lines),
            next: database_is_wrong(),
        }
        .into())
    }
}

/// The database contradicts itself; the log, or a segment in the ledger, may know better.
fn own_fault(
    number: u64,
    said: String,
    of_log: Option<FoundLine>,
    of_ledger: Option<String>,
) -> Contradiction {
    let (holder, found) = match (of_log, of_ledger) {
        (Some(line @ FoundLine::Line(_)), _) => ("audit.log", line.to_string()),
        (_, Some(text)) => ("ledger.git", format!("'{text}', in a segment on main")),
        _ => (
            "gently.db",
            "nothing else: neither log nor ledger has that line".to_owned(),
        ),
    };
    Contradiction {
        place: format!("log line {number}"),
        database: said,
        holder,
        found,
        next: database_is_wrong(),
    }
}

/// The log, read beside the database.
struct Log<'a> {
    path: &'a Path,
    reader: Option<LogReader<BufReader<File>>>,
    /// Length of the file.
    len: u64,
    /// The longest it can be.
    most: u64,
    found: LogContent,
    /// The key in force has signed what the database says.
    signed: bool,
    /// A line was changed: what follows is read to its end, and not compared.
    changed: bool,
}

impl<'a> Log<'a> {
    fn open(path: &'a Path, most: u64) -> Result<Self, RecorderError> {
        let failed = |e: String| RecorderError::Unapplied {
            what: "reading audit.log",
            reason: e,
        };
        let found = LogContent {
            here: 0,
            bytes: 0,
            torn: 0,
            strange: false,
        };
        let nothing = |strange| Log {
            path,
            reader: None,
            len: 0,
            most,
            found: LogContent { strange, ..found },
            signed: false,
            changed: false,
        };
        match std::fs::symlink_metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(nothing(false)),
            Err(e) => Err(failed(e.to_string())),
            // A link, a folder: it is set aside as it is, and what it leads to is not read.
            Ok(file) if !file.is_file() => Ok(nothing(true)),
            Ok(file) => {
                let reader = LogReader::open(path).map_err(|e| failed(e.to_string()))?;
                Ok(Log {
                    path,
                    reader: Some(reader),
                    len: file.len(),
                    most,
                    found,
                    signed: false,
                    changed: false,
                })
            }
        }
    }

    fn line(&mut self, number: u64) -> Result<Option<FoundLine>, RecorderError> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        Ok(match reader.next() {
            None => None,
            Some(Ok(LogPiece::Line(line))) => Some(FoundLine::Line(line.text)),
            Some(Ok(LogPiece::Torn(torn))) => Some(FoundLine::Torn(torn.bytes)),
            Some(Err(ReadError::Io { source, .. })) => {
                return Err(RecorderError::Unapplied {
                    what: "reading audit.log",
                    reason: source.to_string(),
                });
            }
            Some(Err(error)) => {
                let bytes = error.bytes().to_vec();
                // Longer than any line, up to the end of the file: zeros that a power loss left.
                let is_end = error.line() == Some(number)
                    && reader.next().is_none()
                    && !self.ends_with_newline()?;
                Some(if is_end {
                    FoundLine::Torn(bytes)
                } else {
                    FoundLine::Foreign(bytes)
                })
            }
        })
    }

    fn ends_with_newline(&self) -> Result<bool, RecorderError> {
        let mut last = [0];
        let read = File::open(self.path).and_then(|mut file| {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)
        });
        read.map_err(|e| RecorderError::Unapplied {
            what: "reading audit.log",
            reason: e.to_string(),
        })?;
        Ok(last == *b"\n")
    }

    /// Holds what the log has at a line against the database's; `before` is the HASH of the line
    /// before.
    ///
    /// A changed line that does not follow from the one before it belongs to no history. Where the
    /// database's lines are under a signed tree head, the file is set aside and written anew; else
    /// nobody can say which of the two is right.
    fn compare(
        &mut self,
        number: u64,
        of_log: Option<FoundLine>,
        text: &str,
        before: Hash32,
    ) -> Result<(), RecorderError> {
        if self.changed {
            return Ok(());
        }
        match compare_line(text, of_log.as_ref(), before) {
            LineState::Missing => {}
            LineState::Same => {
                self.found.here += 1;
                self.found.bytes += length(text.as_bytes()) + 1;
            }
            LineState::Cut(bytes) => {
                self.found.torn = u64::try_from(bytes).unwrap_or(u64::MAX);
            }
            LineState::Other { follows: false } if self.signed => {
                (self.changed, self.found.strange) = (true, true);
            }
            LineState::NoLine { is_end: true } if self.len <= self.most => {
                self.found.torn = self.len - self.found.bytes;
                self.found.strange = true;
            }
            state @ (LineState::Other { .. } | LineState::NoLine { .. }) => {
                let found = of_log.map(|found| found.to_string()).unwrap_or_default();
                let follows = state == LineState::Other { follows: true };
                return Err(differs(number, text, found, follows).into());
            }
        }
        Ok(())
    }

    /// Refuses what stands behind the database's last line.
    fn end(mut self, head: &LedgerHead) -> Result<LogContent, RecorderError> {
        let number = head.lines + 1;
        let Some(found) = self.line(number)? else {
            return Ok(self.found);
        };
        let (found, next) = match &found {
            FoundLine::Torn(bytes) if bytes.iter().all(|byte| *byte == 0) => {
                self.found.torn = self.len - self.found.bytes;
                self.found.strange = true;
                return Ok(self.found);
            }
            FoundLine::Torn(_) => {
                let extra = self.len - self.found.bytes;
                let found = format!("{extra} bytes that are no line");
                (found, cut(self.path, head.bytes))
            }
            FoundLine::Line(_) if found.follows(head.hash) => {
                let next = match is_signed_behind(self.path, head.lines) {
                    true => database_is_older(),
                    false => nobody_signed(head.lines),
                };
                (found.to_string(), next)
            }
            _ => (found.to_string(), changed("audit.log")),
        };
        let place = format!("log line {number}");
        let database = format!("the log ends with line {}", head.lines);
        Err(Contradiction {
            place,
            database,
            holder: "audit.log",
            found,
            next,
        }
        .into())
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn differs(number: u64, text: &str, found: String, follows: bool) -> Contradiction {
    let next = if follows {
        two_histories()
    } else {
        changed("audit.log")
    };
    Contradiction {
        place: format!("log line {number}"),
        database: format!("'{text}'"),
        holder: "audit.log",
        found,
        next,
    }
}

fn cut(path: &Path, bytes: u64) -> String {
    format!(
        "Look at what they are, then: `truncate -s {bytes} {}`",
        path.display()
    )
}
