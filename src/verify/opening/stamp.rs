//! The stamp of an opening file: a tree head of `main` that is in a Bitcoin block, and the opened
//! lines under it.

use crate::record::bitcoin::block::{Block, Header, Source, check_header};
use crate::record::bitcoin::fit::{check_height, proof_fits};
use crate::record::hash::Hash32;
use crate::record::ledger::documents::Genesis;
use crate::record::ledger::opening::{AttestedBlock, Document, EntryExtra, Stamp};
use crate::record::log::entry::Event;
use crate::record::time::Seconds;
use crate::record::tree::proof::includes;
use crate::record::tree::{SignedNote, leaf, parse_note};

use super::super::report::{CheckAnswer, CheckVerdict};
use super::height;
use super::time::{StartBlock, named};
use super::{OpeningCheck, OpeningQuestion, OpeningSubject};

/// A fault that takes both *consistent* and *not after*.
const BOTH: [OpeningQuestion; 2] = [OpeningQuestion::Consistent, OpeningQuestion::NotAfter];

impl OpeningSubject<'_> {
    /// Whether the line in this place has to be under the stamped root, where there is one.
    fn is_stamped(&self, at: usize) -> bool {
        let start = self
            .lines
            .get(at)
            .is_some_and(|shown| matches!(shown.line.event, Event::SessionStart { .. }));
        at == 0 || start || self.opened.is_carrier(at)
    }

    /// The same, and the outcome of a turn of which another role is opened may be.
    pub(super) fn may_be_stamped(&self, at: usize) -> bool {
        self.is_stamped(at) || self.opened.all.contains(&at)
    }
}

impl<'a> OpeningCheck<'a> {
    /// The block that a tree head over the opened lines is in, and the time of its header; none
    /// when there is no stamp.
    pub(super) fn stamp(
        &mut self,
        read: &OpeningSubject<'a>,
        start: Option<&StartBlock>,
    ) -> Option<(CheckVerdict, Seconds)> {
        let file = self.file;
        let stamp = file.stamp.as_ref()?;
        let Some(genesis) = read.genesis() else {
            self.both("a genesis that names the ledger", "none");
            return None;
        };
        self.stamped_tree(read, stamp, genesis);
        let Some(stamped) = stamp.read() else {
            self.find(
                OpeningQuestion::NotAfter,
                "stamp",
                "an OpenTimestamps proof of a SHA-256 digest",
                "another text",
            );
            return None;
        };
        let own = Hash32::digest(stamp.checkpoint.as_bytes());
        if stamped.digest != own {
            let expected = format!("a stamp of the tree head beside it, SHA-256 {own}");
            self.find(OpeningQuestion::NotAfter, "stamp", expected, stamped.digest);
        }
        if stamped.blocks.is_empty() {
            self.find(
                OpeningQuestion::NotAfter,
                "stamp",
                "an OpenTimestamps proof that leads to a Bitcoin block",
                "to none",
            );
            return None;
        }
        // Kept headers stand in for one that the file does not bring.
        let kept = |block: &AttestedBlock| {
            self.trust
                .chain
                .and_then(|chain| chain.get(&block.height))
                .copied()
        };
        let Some(header) = stamp
            .header
            .or_else(|| stamped.blocks.iter().find_map(kept))
        else {
            let words = "an OpenTimestamps proof is there, and not its block's header";
            return Some((
                CheckVerdict::new(CheckAnswer::NotChecked, words),
                Seconds::ZERO,
            ));
        };
        let root = header.fields().merkle_root;
        let Some(block) = stamped
            .blocks
            .iter()
            .filter(|block| block.merkle_root == root)
            .min()
        else {
            self.find(
                OpeningQuestion::NotAfter,
                "stamp",
                "a header with the Merkle root that the proof leads to",
                root,
            );
            return None;
        };
        let verdict = self.attested(read, genesis, block.height, &header, start);
        Some((verdict, header.fields().time))
    }

    /// The stamped tree head is the ledger's, no newer than the head, and the opened lines are
    /// under it.
    fn stamped_tree(&mut self, read: &OpeningSubject<'a>, stamp: &Stamp, genesis: &Genesis) {
        let note = match parse_note(&stamp.checkpoint) {
            Ok(note) => note,
            Err(error) => return self.both("a tree head of main", error),
        };
        if note.origin != genesis.origin {
            self.both(&format!("a tree head of {}", genesis.origin), &note.origin);
        }
        let key = note.size.checked_sub(1).and_then(|last| read.keys.at(last));
        if !key.is_some_and(|key| note.verify(key)) {
            let expected = key.map_or_else(
                || "a key in force".to_owned(),
                |key| format!("a signature by {key}"),
            );
            self.both(&expected, "a signature that is not");
        }
        if let Some(head) = read.head.as_ref().map(|note| &note.head) {
            if note.size > head.size {
                self.both(
                    &format!("a tree head of at most {} lines", head.size),
                    note.size,
                );
            }
            let known = read.keys.roots.iter().map(|(size, root, _)| (*size, *root));
            let mut known = known.chain([(head.size, head.root)]);
            if let Some((size, root)) =
                known.find(|(size, root)| *size == note.size && *root != note.root)
            {
                self.both(
                    &format!("root {root} over {size} lines"),
                    format!("root {}", note.root),
                );
            }
        }
        self.under(read, &note);
    }

    fn both(&mut self, expected: &str, actual: impl ToString) {
        let actual = actual.to_string();
        BOTH.iter()
            .for_each(|about| self.find(*about, "stamp", expected, &actual));
    }

    fn under(&mut self, read: &OpeningSubject<'a>, note: &SignedNote) {
        for (at, shown) in read.lines.iter().enumerate() {
            let proof = match &shown.entry.more {
                EntryExtra::Stamped(proof) => Some(proof),
                _ => None,
            };
            let allowed = proof.is_some() && read.may_be_stamped(at);
            if !read.is_stamped(at) && !allowed {
                continue;
            }
            let hash = leaf(shown.entry.text.as_bytes());
            if !proof
                .is_some_and(|proof| includes(hash, shown.entry.index, note.size, proof, note.root))
            {
                let actual = if proof.is_some() {
                    "a proof of something else"
                } else {
                    "none"
                };
                for about in BOTH {
                    self.find(
                        about,
                        shown.place(),
                        "a proof that the line is under the stamped tree head",
                        actual,
                    );
                }
            }
        }
    }

    /// A block of the session that is the stamp's, too, has one height.
    fn one_height(&mut self, read: &OpeningSubject<'a>, block: &Block) {
        let blocks: Vec<&Block> = read
            .lines
            .iter()
            .filter_map(|shown| match shown.document {
                Some(Document::Session(start)) => Some(&start.block),
                Some(Document::Close(end)) => Some(&end.block),
                _ => None,
            })
            .collect();
        if let Some(other) = blocks
            .iter()
            .find(|known| known.hash == block.hash && known.height != block.height)
        {
            self.both(
                &format!("block {} at height {}", block.hash, other.height),
                block.height,
            );
        }
    }

    /// The header shows the work of the block that the proof names, and the block is where it can
    /// be in time.
    fn attested(
        &mut self,
        read: &OpeningSubject<'a>,
        genesis: &Genesis,
        at: u32,
        header: &Header,
        start: Option<&StartBlock>,
    ) -> CheckVerdict {
        let (network, fields) = (genesis.network, header.fields());
        let (hash, time) = (header.hash(), fields.time);
        let block = Block {
            hash,
            height: at,
            network,
            source: Source::File,
            time,
        };
        if let Err(fault) = check_header(header, &block, network) {
            self.find(
                OpeningQuestion::NotAfter,
                "stamp",
                format!("a header that shows the work of block {at}"),
                fault,
            );
        }
        if let Err(fault) = check_height(&block) {
            self.find(
                OpeningQuestion::NotAfter,
                "stamp",
                "a block whose height and time belong together",
                fault,
            );
        }
        self.one_height(read, &block);
        if let Some(start) = start.filter(|start| at < start.height || time < start.time) {
            let expected = format!("a block after {}, on which the session started", start.name);
            self.find(OpeningQuestion::NotAfter, "stamp", expected, named(&block));
        }
        for shown in read.opened_lines() {
            if !proof_fits(shown.line.time, time) {
                let expected = format!("a line that was there when block {at} was made, {time}");
                self.find(
                    OpeningQuestion::NotAfter,
                    shown.place(),
                    expected,
                    format!("one of {}", shown.line.time),
                );
            }
        }
        let name = named(&block);
        let height = self.height(OpeningQuestion::NotAfter, "stamp", header, at, network);
        if !self.shows_time(network) {
            return CheckVerdict::new(CheckAnswer::NotChecked, height::of_no_time(network));
        }
        match height.lacks() {
            Some(why) => CheckVerdict::new(
                CheckAnswer::NotChecked,
                format!("an OpenTimestamps proof names {name}: {why}"),
            ),
            None => CheckVerdict::new(
                CheckAnswer::Yes,
                format!("a tree head over it is in {name}{}", height.words()),
            ),
        }
    }
}
