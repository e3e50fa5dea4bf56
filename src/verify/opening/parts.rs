//! Whether the documents of an opening file say what their lines say.

use crate::record::hash::Hash32;
use crate::record::ledger::documents::{Close, Record, SessionDoc};
use crate::record::ledger::opening::{Document, EntryExtra};
use crate::record::log::chain::{chain_entry, session_close_hash, session_id};
use crate::record::log::entry::{Event, Line};
use crate::record::tree::leaf;
use crate::record::tree::proof::includes;

use super::lines::{OpeningEntry, place_of};
use super::{OpeningCheck, OpeningQuestion, OpeningSubject};

impl<'a> OpeningCheck<'a> {
    /// Every proof under the head, what stands behind the proofs, and every document.
    pub(super) fn parts(&mut self, read: &OpeningSubject<'a>) {
        self.proofs(read);
        let (mut answers, mut last) = (0, None);
        for shown in &read.lines {
            match shown.document {
                Some(Document::Session(document)) => self.start(shown, document),
                Some(Document::Record(document)) => {
                    (answers, last) = (answers + 1, Some(document.chain_entry));
                    self.record(shown, document);
                }
                Some(Document::Close(document)) => self.close(shown, document, (answers, last)),
                Some(Document::Genesis(_) | Document::Rotate(_) | Document::Other(_)) | None => {}
            }
        }
    }

    fn proofs(&mut self, read: &OpeningSubject<'a>) {
        let file = self.file;
        for entry in &file.lines {
            let head = read.head.as_ref().map(|note| &note.head);
            let under = |size, root| {
                includes(
                    leaf(entry.text.as_bytes()),
                    entry.index,
                    size,
                    &entry.proof,
                    root,
                )
            };
            if !head.is_some_and(|head| under(head.size, head.root)) {
                let expected = "a proof that the line is under the head";
                self.find(
                    OpeningQuestion::Consistent,
                    place_of(entry),
                    expected,
                    "a proof of something else",
                );
            }
        }
        for (at, shown) in read.lines.iter().enumerate() {
            let rotation = matches!(shown.line.event, Event::KeyRotate { .. });
            let stamped = file.stamp.is_some() && read.may_be_stamped(at);
            let fine = match &shown.entry.more {
                // What is missing is said where it is missed.
                EntryExtra::Nothing => true,
                EntryExtra::Rotation { .. } => rotation,
                EntryExtra::Stamped(_) => stamped,
            };
            if !fine {
                let expected =
                    "three members, and one more where a rotation or a stamp asks for it";
                self.find(
                    OpeningQuestion::Consistent,
                    shown.place(),
                    expected,
                    "one that nothing asks for",
                );
            }
        }
    }

    fn start(&mut self, shown: &OpeningEntry<'a>, document: &SessionDoc) {
        let place = "session.json";
        let SessionDoc {
            block,
            branch,
            auth_key_hash,
            opened_at,
            prev_log,
            session_id: id,
            ..
        } = document;
        self.same(
            place,
            "session_id",
            session_id(*auth_key_hash, &block.hash.to_string(), *prev_log),
            *id,
        );
        self.same(place, "branch", block.branch(), branch.clone());
        let Event::SessionStart { record, .. } = shown.line.event else {
            return;
        };
        let event = Event::SessionStart {
            btc: block.height,
            branch: branch.clone(),
            block: block.hash,
            auth: *auth_key_hash,
            record,
        };
        // All of the line follows from its document, the HASH too.
        let made = Line::new(*prev_log, block.height, *opened_at, Some(*id), event);
        self.same(
            &shown.place(),
            "the line",
            made.text(),
            shown.entry.text.clone(),
        );
    }

    fn record(&mut self, shown: &OpeningEntry<'a>, document: &Record) {
        let Event::Response {
            hash,
            seq,
            model,
            chain,
            ..
        } = &shown.line.event
        else {
            return;
        };
        let place = format!("record.json of {}", shown.place());
        let entry = chain_entry(
            document.prev,
            document.prompt_hash,
            document.response_hash,
            document.timestamp,
        );
        self.same(&place, "chain_entry", entry, document.chain_entry);
        self.same(&place, "chain_entry", *chain, document.chain_entry);
        self.same(&place, "response_hash", *hash, document.response_hash);
        self.same(&place, "seq", *seq, document.seq);
        self.same(&place, "model", model.clone(), document.model.clone());
        self.same(&place, "timestamp", shown.line.time, document.timestamp);
        self.same(
            &place,
            "session_id",
            shown.line.session.unwrap_or(Hash32::ZERO),
            document.session_id,
        );
    }

    /// `shown_answers` are those that the file shows, and the chain entry of the last.
    fn close(
        &mut self,
        shown: &OpeningEntry<'a>,
        document: &Close,
        shown_answers: (u64, Option<Hash32>),
    ) {
        let Close {
            block,
            closed_at,
            interactions,
            session_close_hash: hash,
            session_id: id,
            ..
        } = document;
        let place = "close.json";
        let Event::SessionEnd { record, .. } = shown.line.event else {
            return;
        };
        let last = (*interactions > 0).then_some(document.final_chain_hash);
        self.same(
            place,
            "session_close_hash",
            session_close_hash(*id, &block.hash.to_string(), last),
            *hash,
        );
        if *interactions == 0 {
            self.same(
                place,
                "final_chain_hash",
                Hash32::ZERO,
                document.final_chain_hash,
            );
        }
        match shown_answers {
            (answers, _) if answers > *interactions => {
                self.find(
                    OpeningQuestion::Consistent,
                    place,
                    format!("at least {answers} interactions"),
                    interactions,
                );
            }
            (answers, Some(entry)) if answers == *interactions => {
                self.same(place, "final_chain_hash", entry, document.final_chain_hash);
            }
            _ => {}
        }
        let event = Event::SessionEnd {
            btc: block.height,
            interactions: *interactions,
            block: block.hash,
            close: *hash,
            record,
        };
        // All but the HASH, which hangs on the line before.
        let made = Line {
            hash: shown.line.hash,
            height: block.height,
            time: *closed_at,
            session: Some(*id),
            event,
        };
        self.same(
            &shown.place(),
            "the line",
            made.text(),
            shown.entry.text.clone(),
        );
    }
}
