//! The keys of an opening file: the one that its genesis names, those that rotations lead to, and
//! whose the head is.

use crate::record::hash::Hash32;
use crate::record::ledger::opening::{Document, EntryExtra};
use crate::record::log::entry::Event;
use crate::record::signature::PublicKey;
use crate::record::tree::note::CosignedNote;
use crate::record::tree::proof::includes;
use crate::record::tree::{SignedNote, leaf, parse_note};

use super::super::report::{CheckAnswer, CheckVerdict};
use super::lines::OpeningEntry;
use super::{OpeningCheck, OpeningQuestion, OpeningSubject};

/// The ledger's keys, in the order in which they came into force.
#[derive(Default)]
pub(super) struct Keys {
    /// The number of the line behind which a key is in force, and it; the first is in force from
    /// the beginning. Behind a rotation that does not hold no key is.
    known: Vec<(Option<u64>, Option<PublicKey>)>,
    /// What is said of the ledger's name and of roots, each with its size and place.
    pub roots: Vec<(u64, Hash32, String)>,
}

impl Keys {
    /// The key in force at a line: a rotation's own line is still the old one's.
    pub fn at(&self, line: u64) -> Option<&PublicKey> {
        let known = self.known.iter().rev();
        known
            .into_iter()
            .find(|(behind, _)| behind.is_none_or(|behind| behind < line))
            .and_then(|(_, key)| key.as_ref())
    }
}

impl OpeningSubject<'_> {
    /// The key in force at the head's last line.
    pub(super) fn head_key(&self) -> Option<&PublicKey> {
        self.keys.at(self.head.as_ref()?.head.size.checked_sub(1)?)
    }

    pub(super) fn head_words(&self) -> String {
        let (Some(note), Some(key)) = (&self.head, self.head_key()) else {
            return String::new();
        };
        format!(
            "{} lines of {}, signed by {key}",
            note.head.size, note.head.origin
        )
    }
}

impl<'a> OpeningCheck<'a> {
    /// Follows the rotations from the genesis. One that does not hold, or has no tree head of its
    /// own, leads to no key: what is signed behind it is then nobody's word.
    pub(super) fn keys(&mut self, lines: &[OpeningEntry<'a>]) -> Keys {
        let mut keys = Keys::default();
        let first = lines.first().filter(|first| first.entry.index == 0);
        let Some(Document::Genesis(genesis)) = first.and_then(|first| first.document) else {
            self.find(
                OpeningQuestion::TreeHead,
                "documents",
                "a genesis that names the ledger's first key",
                "none",
            );
            return keys;
        };
        keys.known.push((None, Some(genesis.signer)));
        let mut current = genesis.signer;
        for shown in lines
            .iter()
            .filter(|shown| matches!(shown.line.event, Event::KeyRotate { .. }))
        {
            let place = shown.place();
            let Some(Document::Rotate(rotate)) = shown.document else {
                self.find(
                    OpeningQuestion::TreeHead,
                    &place,
                    "a rotation whose document names the new key",
                    "none",
                );
                keys.known.push((Some(shown.entry.index), None));
                continue;
            };
            self.same(&place, "old_signer", current, rotate.old_signer);
            self.same(&place, "created_at", shown.line.time, rotate.created_at);
            if keys
                .known
                .iter()
                .any(|(_, key)| *key == Some(rotate.new_signer))
            {
                self.find(
                    OpeningQuestion::Consistent,
                    &place,
                    "a key that was never in force before",
                    rotate.new_signer,
                );
            }
            let before = self.findings.len();
            self.rotation(shown, &current, &genesis.origin, &mut keys);
            current = rotate.new_signer;
            let holds = self.findings.len() == before;
            keys.known
                .push((Some(shown.entry.index), holds.then_some(current)));
        }
        keys
    }

    /// A rotation's own tree head, which the old key has signed.
    fn rotation(
        &mut self,
        shown: &OpeningEntry<'a>,
        old: &PublicKey,
        origin: &str,
        keys: &mut Keys,
    ) {
        let place = format!("rotation at {}", shown.place());
        let EntryExtra::Rotation { checkpoint, proof } = &shown.entry.more else {
            return self.find(
                OpeningQuestion::TreeHead,
                place,
                "its own tree head, signed by the old key",
                "none",
            );
        };
        let note = match parse_note(checkpoint) {
            Ok(note) => note,
            Err(error) => {
                return self.find(
                    OpeningQuestion::TreeHead,
                    place,
                    "its own tree head, signed by the old key",
                    error,
                );
            }
        };
        let size = shown.entry.index.saturating_add(1);
        if note.size != size {
            self.find(
                OpeningQuestion::TreeHead,
                &place,
                format!("a tree head of {size} lines"),
                note.size,
            );
        }
        self.signed(&place, &note, origin, Some(old));
        if !includes(
            leaf(shown.entry.text.as_bytes()),
            shown.entry.index,
            note.size,
            proof,
            note.root,
        ) {
            for about in [OpeningQuestion::Consistent, OpeningQuestion::TreeHead] {
                self.find(
                    about,
                    &place,
                    "a proof that the line is under its own tree head",
                    "another proof",
                );
            }
        }
        keys.roots.push((note.size, note.root, place));
    }

    /// That a tree head is the ledger's and signed by a key; else *tree head* is *no*.
    fn signed(&mut self, place: &str, note: &SignedNote, origin: &str, key: Option<&PublicKey>) {
        if note.origin != origin {
            self.find(
                OpeningQuestion::TreeHead,
                place,
                format!("a tree head of {origin}"),
                format!("one of {}", note.origin),
            );
        }
        match key {
            Some(key) if note.verify(key) => {}
            Some(key) => self.find(
                OpeningQuestion::TreeHead,
                place,
                format!("a signature by {key}"),
                "a signature that is not",
            ),
            None => self.find(
                OpeningQuestion::TreeHead,
                place,
                "a key that genesis and rotations lead to",
                "none",
            ),
        }
    }

    /// The tree head that everything is under.
    pub(super) fn head(&mut self, read: &OpeningSubject<'a>) -> Option<CosignedNote> {
        let note = match CosignedNote::parse(&self.file.head) {
            Ok(note) => note,
            Err(error) => {
                self.find(OpeningQuestion::TreeHead, "head", "a tree head", error);
                return None;
            }
        };
        let Some(genesis) = read.genesis() else {
            return Some(note);
        };
        let key = note
            .head
            .size
            .checked_sub(1)
            .and_then(|last| read.keys.at(last))
            .copied();
        self.same(
            "head",
            "origin",
            genesis.origin.clone(),
            note.head.origin.clone(),
        );
        self.signed("head", &note.head, &genesis.origin, key.as_ref());
        Some(note)
    }

    /// Two roots of one size are two histories, whoever signed them.
    pub(super) fn roots(&mut self, read: &OpeningSubject<'a>) {
        let Some(head) = read.head.as_ref().map(|note| &note.head) else {
            return;
        };
        let mut known = vec![(head.size, head.root)];
        for (size, root, place) in &read.keys.roots {
            let other = known.iter().find(|(other, _)| other == size);
            if let Some((_, expected)) = other.filter(|(_, other)| other != root) {
                let expected = format!("root {expected} over {size} lines");
                self.find(
                    OpeningQuestion::Consistent,
                    place,
                    expected,
                    format!("root {root}"),
                );
            }
            known.push((*size, *root));
        }
    }

    /// Whose the key is, by the checker's own list.
    pub(super) fn signer(&mut self, read: &OpeningSubject<'a>) -> CheckVerdict {
        let key = read.head_key();
        let name = key.map_or_else(|| "no key".to_owned(), ToString::to_string);
        let Some(pinned) = self.trust.pinned else {
            return CheckVerdict::new(
                CheckAnswer::NotChecked,
                format!("unpinned: {name}; pin it with --signer"),
            );
        };
        if self.count(OpeningQuestion::TreeHead) > 0 {
            let expected = "a tree head that a pinned key has signed";
            self.find(
                OpeningQuestion::SignedBy,
                "head",
                expected,
                "one that is not as it should be",
            );
        }
        let at = key.and_then(|key| pinned.iter().rposition(|pinned| pinned == key));
        match at {
            Some(at) if at.saturating_add(1) == pinned.len() => {
                CheckVerdict::new(CheckAnswer::Yes, format!("the newest pinned key, {name}"))
            }
            Some(_) => CheckVerdict::new(
                CheckAnswer::NotChecked,
                format!(
                    "retired: {name} is an older one of the pinned keys, and whoever has it now can sign this"
                ),
            ),
            None => {
                let names: Vec<String> = pinned.iter().map(ToString::to_string).collect();
                self.find(
                    OpeningQuestion::SignedBy,
                    "head",
                    format!("the pinned {}", names.join(" or ")),
                    &name,
                );
                CheckVerdict::new(CheckAnswer::No, "")
            }
        }
    }
}
