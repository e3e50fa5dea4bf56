//! The stamp of an opening file: a tree head of `main` that is in a Bitcoin block, and the opened lines under it.

use crate::record::block::{Block, Header, Source, check_header};
use crate::record::documents::Genesis;
use crate::record::fit::{check_height, proof_fits};
use crate::record::hash::Hash32;
use crate::record::opening::{More, Stamp, Stamped};
use crate::record::proof::includes;
use crate::record::tree::{SignedNote, leaf, parse_note};

use super::super::report::{Answer, Verdict};
use super::height;
use super::time::{Started, named};
use super::{About, Check, Read};

/// A fault that takes both *consistent* and *not after*.
const BOTH: [About; 2] = [About::Consistent, About::NotAfter];

impl Read<'_> {
    /// Whether the line in this place has to be under the stamped root, where there is one.
    pub(super) fn is_stamped(&self, at: usize) -> bool {
        let start = self.start().is_some_and(|(start, _)| {
            self.lines.get(at).is_some_and(|shown| std::ptr::eq(shown.entry, start.entry))
        });
        at == 0 || start || self.opened.all.contains(&at)
    }
}

impl<'a> Check<'a> {
    /// The block that a tree head over the opened lines is in; none when there is no stamp.
    pub(super) fn stamp(&mut self, read: &Read<'a>, start: Option<&Started>) -> Option<Verdict> {
        let file = self.file;
        let (stamp, genesis) = (file.stamp.as_ref()?, read.genesis()?);
        self.stamped_tree(read, stamp, genesis);
        let Some(stamped) = stamp.read() else {
            let expected = "an OpenTimestamps proof that is one path to one Bitcoin block";
            self.find(About::NotAfter, "stamp", expected, "another proof");
            return None;
        };
        let own = Hash32::digest(stamp.checkpoint.as_bytes());
        if stamped.digest != own {
            let expected = format!("a stamp of the tree head beside it, SHA-256 {own}");
            self.find(About::NotAfter, "stamp", expected, stamped.digest);
        }
        // Kept headers stand in for one that the file does not bring.
        let kept = || self.trust.chain.and_then(|chain| chain.get(&stamped.height)).copied();
        match stamp.header.or_else(kept) {
            Some(header) => Some(self.attested(read, genesis, &stamped, &header, start)),
            None => {
                let words = "an OpenTimestamps proof is there, and not its block's header";
                Some(Verdict::new(Answer::NotChecked, words))
            }
        }
    }

    /// The stamped tree head is the ledger's, no newer than the head, and the opened lines are under it.
    fn stamped_tree(&mut self, read: &Read<'a>, stamp: &Stamp, genesis: &Genesis) {
        let note = match parse_note(&stamp.checkpoint) {
            Ok(note) => note,
            Err(error) => return self.both("a tree head of main", error),
        };
        if note.origin != genesis.origin {
            self.both(&format!("a tree head of {}", genesis.origin), &note.origin);
        }
        let key = note.size.checked_sub(1).and_then(|last| read.keys.at(last));
        if !key.is_some_and(|key| note.verify(key)) {
            let expected = key.map_or_else(|| "a key in force".to_owned(), |key| format!("a signature by {key}"));
            self.both(&expected, "a signature that is not");
        }
        if let Some(head) = read.head.as_ref().map(|note| &note.head) {
            if note.size > head.size {
                self.both(&format!("a tree head of at most {} lines", head.size), note.size);
            }
            let known = read.keys.roots.iter().map(|(size, root, _)| (*size, *root));
            let mut known = known.chain([(head.size, head.root)]);
            if let Some((size, root)) = known.find(|(size, root)| *size == note.size && *root != note.root) {
                self.both(&format!("root {root} over {size} lines"), format!("root {}", note.root));
            }
        }
        self.under(read, &note);
    }

    fn both(&mut self, expected: &str, actual: impl ToString) {
        let actual = actual.to_string();
        BOTH.iter().for_each(|about| self.find(*about, "stamp", expected, &actual));
    }

    fn under(&mut self, read: &Read<'a>, note: &SignedNote) {
        for (at, shown) in read.lines.iter().enumerate().filter(|(at, _)| read.is_stamped(*at)) {
            let proof = match &shown.entry.more {
                More::Stamped(proof) => Some(proof),
                _ => None,
            };
            let hash = leaf(shown.entry.text.as_bytes());
            if !proof.is_some_and(|proof| includes(hash, shown.entry.index, note.size, proof, note.root)) {
                let actual = if proof.is_some() { "a proof of something else" } else { "none" };
                let place = read.lines.get(at).map_or_else(String::new, |shown| shown.place());
                for about in BOTH {
                    self.find(about, &place, "a proof that the line is under the stamped tree head", actual);
                }
            }
        }
    }

    /// The header shows the work of the block that the proof names, and the block is where it can be in time.
    fn attested(
        &mut self,
        read: &Read<'a>,
        genesis: &Genesis,
        stamped: &Stamped,
        header: &Header,
        start: Option<&Started>,
    ) -> Verdict {
        let (network, fields) = (genesis.network, header.fields());
        let (hash, time, at) = (header.hash(), fields.time, stamped.height);
        let block = Block { hash, height: at, network, source: Source::File, time };
        if fields.merkle_root != stamped.merkle_root {
            let expected = format!("a header with Merkle root {}", stamped.merkle_root);
            self.find(About::NotAfter, "stamp", expected, fields.merkle_root);
        }
        if let Err(fault) = check_header(header, &block, network) {
            self.find(About::NotAfter, "stamp", format!("a header that shows the work of block {at}"), fault);
        }
        if let Err(fault) = check_height(&block) {
            self.find(About::NotAfter, "stamp", "a block whose height and time belong together", fault);
        }
        if let Some(start) = start.filter(|start| at < start.height || time < start.time) {
            let expected = format!("a block after {}, on which the session started", start.name);
            self.find(About::NotAfter, "stamp", expected, named(&block));
        }
        for shown in read.opened_lines() {
            if !proof_fits(shown.line.time, time) {
                let expected = format!("a line that was there when block {at} was made, {time}");
                self.find(About::NotAfter, shown.place(), expected, format!("one of {}", shown.line.time));
            }
        }
        let name = named(&block);
        let height = self.height(About::NotAfter, "stamp", header, at, network);
        if !self.shows_time(network) {
            return Verdict::new(Answer::NotChecked, height::of_no_time(network));
        }
        match height.lacks() {
            Some(why) => Verdict::new(Answer::NotChecked, format!("an OpenTimestamps proof names {name}: {why}")),
            None => Verdict::new(Answer::Yes, format!("a tree head over it is in {name}{}", height.words())),
        }
    }
}
