//! The tree head beside the log, `audit.checkpoint`, and which lines somebody signed (format,
//! sections 2, 10 and 12 step 5).
//!
//! A line behind the last segment is signed when a commit names it or a later one, or when this
//! tree head is over it. The others are signed by nobody: anybody can write them, so they are
//! counted, and count for nothing else.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;

use crate::record::hash::Hash32;
use crate::record::tree::{SignedNote, parse_note};

use super::file::LogFile;
use super::lines::LinePosition;
use super::segments::LogCheck;
use crate::verify::VerifyError;
use crate::verify::ledger::history::History;
use crate::verify::report::{AuditQuestion, counted};

/// What a finding calls it.
const PLACE: &str = "audit.checkpoint";
/// Larger is unreadable.
const MOST: u64 = 16 << 10;

/// The tree head beside the log, as it was read before the log.
pub(crate) enum CheckpointFile {
    /// There is none.
    None,
    /// It is no tree head, and why.
    Wrong(String),
    /// What it says.
    Note(Box<SignedNote>),
}

impl CheckpointFile {
    /// Reads the file; one that is a link, a pipe or a device is not opened.
    pub fn read(path: Option<&Path>) -> Result<Self, VerifyError> {
        let Some(bytes) = read_file(path)? else {
            return Ok(CheckpointFile::None);
        };
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST {
            return Ok(CheckpointFile::Wrong(format!("more than {MOST} bytes")));
        }
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => return Ok(CheckpointFile::Wrong(error.to_string())),
        };
        Ok(match parse_note(text) {
            Ok(note) => CheckpointFile::Note(Box::new(note)),
            Err(error) => CheckpointFile::Wrong(error.to_string()),
        })
    }

    /// How many lines it is over.
    pub fn size(&self) -> Option<u64> {
        if let CheckpointFile::Note(note) = self {
            Some(note.size)
        } else {
            None
        }
    }
}

/// The bytes of the file, one more than are allowed at most; none when there is no such file.
pub(crate) fn read_file(path: Option<&Path>) -> Result<Option<Vec<u8>>, VerifyError> {
    let Some(path) = path else { return Ok(None) };
    let failed = |reason: String| VerifyError::Checkpoint {
        place: path.display().to_string(),
        reason,
    };
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
        Ok(found) if !found.is_file() => return Err(failed("it is no regular file".to_owned())),
        Ok(_) => {}
    }
    let file = match crate::os::open_regular(path) {
        // Between the two a writer may have put the next one in its place; a name that is gone is
        // none.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| failed(error.to_string()))?,
    };
    let mut bytes = Vec::new();
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(error.to_string()))?;
    Ok(Some(bytes))
}

impl LogCheck<'_> {
    /// Takes the lines of the file behind the segments as far as somebody signed them.
    pub fn take_newer(&mut self, file: &mut LogFile, history: &History) -> Result<(), VerifyError> {
        let here = self.log.lines.state.count();
        let known = |log: &Hash32| self.log.lines.is_known(log);
        let mut named: HashSet<Hash32> = history.graph.logs().filter(|log| !known(log)).collect();
        // Nobody signed them yet, so they are only counted, and looked at for the HASHes that
        // commits name.
        let (start, mut last, mut covered) = (file.place(), here, here);
        while let Some(line) = file.newer()? {
            last += 1;
            if digits(&line.bytes).is_some_and(|hash| named.remove(&hash)) {
                covered = last;
            }
        }
        let torn = file.report_torn();
        let over = self
            .log
            .beside
            .size()
            .filter(|size| *size <= last && self.is_signed_beside());
        covered = covered.max(over.unwrap_or_default());
        if let Some(limit) = self.log.limit {
            covered = limit.clamp(here, last);
            self.log.newer = last - covered;
        } else {
            self.log.unsigned = last - covered;
            if let Some((number, actual)) = torn {
                let place = format!("audit.log line {number}");
                self.findings
                    .add(AuditQuestion::Complete, None, place, "a whole line", actual);
            }
        }
        file.back_to(start)?;
        while self.log.lines.state.count() < covered {
            let Some(line) = file.newer()? else { break };
            let number = line.number;
            let position = LinePosition::File { number };
            self.log.lines.take(&line.bytes, position, self.findings);
            self.keep_lines(number);
            if self.repository.budget().refused().is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the tree head beside the log is of this ledger and signed by the key in force at its
    /// last line.
    fn is_signed_beside(&self) -> bool {
        let (CheckpointFile::Note(note), Some(genesis)) = (&self.log.beside, self.genesis) else {
            return false;
        };
        note.origin == genesis.origin
            && self
                .keys
                .of_size(note.size)
                .is_some_and(|key| note.verify(&key))
    }

    /// Holds the tree head beside the log against the log; `last` lines are in the file, signed
    /// ones or not.
    pub fn check_beside(&mut self) {
        let note = match std::mem::replace(&mut self.log.beside, CheckpointFile::None) {
            CheckpointFile::None => return,
            CheckpointFile::Wrong(actual) => {
                return self
                    .findings
                    .inconsistent(None, PLACE, "a tree head", actual);
            }
            CheckpointFile::Note(note) => note,
        };
        let Some(genesis) = self.genesis else { return };
        self.findings.same(
            None,
            || PLACE.to_owned(),
            "origin",
            &genesis.origin,
            &note.origin,
        );
        let key = self.keys.of_size(note.size);
        if let Some(key) = key.filter(|key| !note.verify(key)) {
            for question in [AuditQuestion::Consistent, AuditQuestion::SignedBy] {
                let expected = format!("a signature by the key in force, {key}");
                self.findings
                    .add(question, None, PLACE, expected, "a signature that is not");
            }
        }
        let last = self.log.lines.state.count() + self.log.unsigned + self.log.newer;
        if note.size > last {
            let expected = format!("a log of {}", counted(note.size, "line"));
            return self.findings.add(
                AuditQuestion::Complete,
                None,
                PLACE,
                expected,
                counted(last, "line"),
            );
        }
        // Of a size before the saved position that a check goes on from nothing is known.
        if let Some(root) = self.log.lines.sizes.root(note.size)
            && root != note.root
        {
            let expected = format!(
                "root {root}, that of the first {}",
                counted(note.size, "line")
            );
            self.findings
                .inconsistent(None, PLACE, expected, format!("root {}", note.root));
        }
    }
}

/// The HASH that a line claims.
fn digits(line: &[u8]) -> Option<Hash32> {
    let (hash, rest) = line.split_at_checked(64)?;
    std::str::from_utf8(hash)
        .ok()
        .filter(|_| rest.first() == Some(&b'|'))?
        .parse()
        .ok()
}
