//! Lines that no signature covers.
//!
//! Whatever adds lines signs the tree head over all of them in the same transaction, so a crash leaves
//! none that is unsigned. A rebuild alone, which has no key, adds `recover` lines and leaves them to
//! the next writer. Any other was put there by somebody who can write the file and can't sign.

use crate::record::hash::Hash32;
use crate::record::ledger::short_name::short_name;
use crate::record::log::entry::{Event, Line};
use crate::record::tree::{Frontier, SignedNote, parse_note};

use super::{LedgerHead, ReadStore, StoreError};

/// How many of them are named, and how many of those on one line of a screen.
const NAMED: u64 = 1000;
const LISTED: usize = 10;

/// Lines that nobody signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsignedLines {
    /// The number of the first, from 1.
    pub from: u64,
    /// The number of the last.
    pub to: u64,
    /// The first thousand of them: `line 9 (artifact correction correction-7, 2026-02-08T12:34:56Z)`.
    pub named: Vec<String>,
}

impl UnsignedLines {
    /// How many they are.
    pub fn count(&self) -> u64 {
        self.to.saturating_add(1).saturating_sub(self.from)
    }

    /// The first of them by number, kind and time, and how many there are beside those.
    pub fn list(&self) -> String {
        let listed = self.named.get(..LISTED).unwrap_or(&self.named);
        let shown = u64::try_from(listed.len()).unwrap_or(u64::MAX);
        let more = match self.count().saturating_sub(shown) {
            0 => String::new(),
            more => format!(" and {more} more (--json names them)"),
        };
        format!("{}{more}", listed.join(", "))
    }
}

/// What a line tells of, in a word or two: of an artifact its kind and its name.
fn called(event: &Event) -> String {
    match event {
        Event::Artifact { kind, id, .. } => format!("artifact {kind} {}", short_name(id)),
        other => other.name().to_owned(),
    }
}

impl ReadStore {
    /// Lines that no tree head covers and no process of gently leaves so. A database that has no tree
    /// head at all is for [`LedgerHead::lacks_tree_head`].
    ///
    /// `before` says of a tree head that the key of now has not signed whether the key that was in
    /// force at the last of its lines has: whoever asks knows which rotations hold.
    pub fn unsigned_lines<E: From<StoreError>>(
        &self,
        head: &LedgerHead,
        before: impl Fn(&SignedNote) -> Result<bool, E>,
    ) -> Result<Option<UnsignedLines>, E> {
        let Some(text) = &head.checkpoint else {
            return Ok(None);
        };
        let covered = self.lines_under(head, text, before)?;
        match self.are_recovered(covered, &self.lines(covered, head.lines)?)? {
            true => Ok(None),
            false => Ok(self.lines_behind(covered, head)?),
        }
    }

    /// How many of its lines a tree head is over; none when it is not one over the first lines of the
    /// database, by the key in force at the last of them (`before` as in [`Self::unsigned_lines`]).
    pub fn lines_under<E: From<StoreError>>(
        &self,
        head: &LedgerHead,
        checkpoint: &str,
        before: impl Fn(&SignedNote) -> Result<bool, E>,
    ) -> Result<u64, E> {
        let Ok(note) = parse_note(checkpoint) else {
            return Ok(0);
        };
        let is_over = self.root_of(head, note.size)? == Some(note.root)
            && (note.verify(&head.signer) || before(&note)?);
        Ok(if is_over { note.size } else { 0 })
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
            Ok(line) => format!("line {number} ({}, {})", called(&line.event), line.time),
            Err(_) => format!("line {number} (which is none)"),
        };
        let unsigned = UnsignedLines {
            from,
            to: head.lines,
            named: (from..).zip(&named).map(name).collect(),
        };
        Ok((unsigned.count() > 0).then_some(unsigned))
    }

    /// The root of the tree over the first lines; none when there are not so many.
    fn root_of(&self, head: &LedgerHead, size: u64) -> Result<Option<Hash32>, StoreError> {
        if size > head.lines {
            return Ok(None);
        }
        if let Ok(whole) = Frontier::from_bytes(&head.frontier)
            && whole.size() == size
        {
            return Ok(Some(whole.root()));
        }
        let mut tree = Frontier::new();
        let lines = self.lines(0, size)?;
        lines.iter().for_each(|line| tree.push(line.as_bytes()));
        Ok(Some(tree.root()))
    }
}
