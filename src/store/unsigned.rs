//! Lines that no signature covers.
//!
//! Whatever adds lines signs the tree head over all of them in the same transaction, so a crash leaves
//! none that is unsigned. A rebuild alone, which has no key, adds `recover` lines and leaves them to
//! the next writer. Any other was put there by somebody who can write the file and can't sign.

use crate::record::canon;
use crate::record::ledger::documents::{Genesis, Rotate};
use crate::record::log::entry::{Event, Line};
use crate::record::signature::PublicKey;
use crate::record::tree::{Frontier, SignedNote, parse_note};

use super::{LedgerHead, ReadStore, StoreError};

/// How many of them are named.
const NAMED: u64 = 10;

/// Lines that nobody signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsignedLines {
    /// The number of the first, from 1.
    pub from: u64,
    /// The number of the last.
    pub to: u64,
    /// The first of them: `line 9 (artifact, 2026-02-08T12:34:56Z)`.
    pub named: Vec<String>,
}

impl UnsignedLines {
    /// How many they are.
    pub fn count(&self) -> u64 {
        self.to.saturating_add(1).saturating_sub(self.from)
    }

    /// The first of them by number, kind and time, and how many there are beside those.
    pub fn list(&self) -> String {
        let named = u64::try_from(self.named.len()).unwrap_or(u64::MAX);
        let more = match self.count().saturating_sub(named) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}", self.named.join(", "))
    }
}

impl ReadStore {
    /// Lines that no tree head covers and no process of gently leaves so. A database that has no tree
    /// head at all is for [`LedgerHead::lacks_tree_head`].
    pub fn unsigned_lines(&self, head: &LedgerHead) -> Result<Option<UnsignedLines>, StoreError> {
        let Some(text) = &head.checkpoint else {
            return Ok(None);
        };
        let covered = self.lines_under(head, text)?;
        match only_recovered(&self.lines(covered, head.lines)?) {
            true => Ok(None),
            false => self.lines_behind(covered, head),
        }
    }

    /// How many of its lines a tree head is over; none when it is not one over the first lines of the
    /// database, by the key in force at the last of them.
    pub fn lines_under(&self, head: &LedgerHead, checkpoint: &str) -> Result<u64, StoreError> {
        match parse_note(checkpoint) {
            Ok(note) if self.is_over(head, &note)? => Ok(note.size),
            _ => Ok(0),
        }
    }

    /// The lines behind so many, if there are any.
    pub fn lines_behind(
        &self,
        covered: u64,
        head: &LedgerHead,
    ) -> Result<Option<UnsignedLines>, StoreError> {
        let from = covered.saturating_add(1);
        let named = self.lines(covered, head.lines.min(covered.saturating_add(NAMED)))?;
        let name = |(number, text): (u64, &String)| match Line::parse(text.as_bytes()) {
            Ok(line) => format!("line {number} ({}, {})", line.event.name(), line.time),
            Err(_) => format!("line {number} (which is none)"),
        };
        let unsigned = UnsignedLines {
            from,
            to: head.lines,
            named: (from..).zip(&named).map(name).collect(),
        };
        Ok((unsigned.count() > 0).then_some(unsigned))
    }

    fn is_over(&self, head: &LedgerHead, note: &SignedNote) -> Result<bool, StoreError> {
        if note.size > head.lines {
            return Ok(false);
        }
        let root = match Frontier::from_bytes(&head.frontier) {
            Ok(whole) if whole.size() == note.size => whole.root(),
            _ => {
                let mut tree = Frontier::new();
                let lines = self.lines(0, note.size)?;
                lines.iter().for_each(|line| tree.push(line.as_bytes()));
                tree.root()
            }
        };
        let signed = |key: &PublicKey| note.root == root && note.verify(key);
        Ok(signed(&head.signer) || self.signer_before(note.size)?.as_ref().is_some_and(signed))
    }

    /// The key in force before the rotation that is the last of so many lines, which that key signs;
    /// none where it is none, or where the rotations do not lead there from the genesis.
    fn signer_before(&self, lines: u64) -> Result<Option<PublicKey>, StoreError> {
        let Ok(genesis) = canon::parse::<Genesis>(self.genesis()?.as_bytes()) else {
            return Ok(None);
        };
        let mut signer = genesis.signer;
        for row in self.rotations()? {
            let files = self.files(row.n)?;
            let rotate = files.get("rotate.json");
            let rotate = rotate.and_then(|bytes| canon::parse::<Rotate>(bytes).ok());
            let Some(rotate) = rotate.filter(|rotate| rotate.old_signer == signer) else {
                return Ok(None);
            };
            if row.line.saturating_add(1) == lines {
                return Ok(Some(signer));
            }
            signer = rotate.new_signer;
        }
        Ok(None)
    }
}

/// Whether these are lines that a rebuild leaves unsigned.
fn only_recovered(lines: &[String]) -> bool {
    lines.iter().all(|text| {
        Line::parse(text.as_bytes()).is_ok_and(|line| matches!(line.event, Event::Recover { .. }))
    })
}
