//! The lines of an opening file, each with the document that it names.

use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::documents::origin_is_valid;
use crate::record::ledger::opening::{Document, Entry};
use crate::record::log::entry::{Event, Line};

use super::{OpeningCheck, OpeningQuestion};

/// An entry that can be read.
pub(super) struct OpeningEntry<'a> {
    pub entry: &'a Entry,
    pub line: Line,
    /// What its `record:` names, if that is the document in this place and of the right kind.
    pub document: Option<&'a Document>,
}

impl OpeningEntry<'_> {
    /// What findings call it: lines are counted from 1, as `gently log` does.
    pub fn place(&self) -> String {
        place_of(self.entry)
    }
}

pub(super) fn place_of(entry: &Entry) -> String {
    format!("line {}", entry.index.saturating_add(1))
}

impl<'a> OpeningCheck<'a> {
    /// Reads the lines, and gives to each its document: there are exactly those that lines name, in
    /// their order.
    pub(super) fn lines(&mut self) -> Vec<OpeningEntry<'a>> {
        let mut lines = self.read_lines();
        self.give_documents(&mut lines);
        self.genesis(&lines);
        lines
    }

    /// The lines that can be read, in the order of the file.
    fn read_lines(&mut self) -> Vec<OpeningEntry<'a>> {
        let (file, mut lines) = (self.file, Vec::new());
        let mut before: Option<(u64, Option<Hash32>)> = None;
        for entry in &file.lines {
            if before.is_some_and(|(before, _)| entry.index <= before) {
                self.find(
                    OpeningQuestion::Consistent,
                    place_of(entry),
                    "lines by index, each once",
                    "another order",
                );
            }
            let line = Line::parse(entry.text.as_bytes());
            let hash = line.as_ref().ok().map(|line| line.hash);
            match line {
                Ok(line) => {
                    // Of two neighbours the second follows the first.
                    let prev =
                        before.filter(|(index, _)| index.checked_add(1) == Some(entry.index));
                    if let Some(prev) = prev
                        .and_then(|(_, hash)| hash)
                        .filter(|prev| !line.follows(*prev))
                    {
                        let expected = format!("a HASH that follows {prev}");
                        self.find(
                            OpeningQuestion::Consistent,
                            place_of(entry),
                            expected,
                            line.hash,
                        );
                    }
                    lines.push(OpeningEntry {
                        entry,
                        line,
                        document: None,
                    });
                }
                Err(error) => self.find(
                    OpeningQuestion::Consistent,
                    place_of(entry),
                    "a line of the log",
                    error,
                ),
            }
            before = Some((entry.index, hash));
        }
        lines
    }

    /// Gives to each line the document that its `record:` names.
    fn give_documents(&mut self, lines: &mut [OpeningEntry<'a>]) {
        let file = self.file;
        let mut documents = file.documents.iter();
        for shown in lines {
            let Some(named) = shown.line.event.record() else {
                continue;
            };
            // A line with a record that no file has a document for is one that is not needed: said
            // there.
            if matches!(shown.line.event, Event::Checkpoint { .. }) {
                continue;
            }
            let document = documents.next();
            let digest = document.and_then(|document| canon::digest(document).ok());
            let expected = |digest: Hash32| format!("a document with SHA-256 {digest}");
            match (document, digest) {
                (Some(document), Some(digest))
                    if digest == named && is_of(&shown.line.event, document) =>
                {
                    shown.document = Some(document);
                }
                (Some(document), Some(digest)) if digest == named => {
                    let wanted = format!("the document of a {} line", shown.line.event.name());
                    self.find(
                        OpeningQuestion::Consistent,
                        shown.place(),
                        wanted,
                        document.name(),
                    );
                }
                (Some(_), Some(digest)) => {
                    self.find(
                        OpeningQuestion::Consistent,
                        shown.place(),
                        expected(named),
                        expected(digest),
                    );
                }
                _ => self.find(
                    OpeningQuestion::Consistent,
                    shown.place(),
                    expected(named),
                    "none",
                ),
            }
        }
        if let Some(more) = documents.next() {
            self.find(
                OpeningQuestion::Consistent,
                "documents",
                "one for each line that names one",
                more.name(),
            );
        }
    }

    /// The first line is the ledger's first.
    fn genesis(&mut self, lines: &[OpeningEntry<'a>]) {
        let first = lines.first().filter(|first| first.entry.index == 0);
        let Some(first) = first.filter(|first| matches!(first.line.event, Event::Genesis { .. }))
        else {
            let actual = lines.first().map_or_else(
                || "none".to_owned(),
                |first| format!("'{}'", first.line.event.name()),
            );
            return self.find(
                OpeningQuestion::Consistent,
                "line 1",
                "the genesis line",
                actual,
            );
        };
        if !first.line.follows(Hash32::GENESIS) {
            self.find(
                OpeningQuestion::Consistent,
                "line 1",
                format!("a HASH that follows {}", Hash32::GENESIS),
                first.line.hash,
            );
        }
        let Some(Document::Genesis(genesis)) = first.document else {
            return;
        };
        self.same("genesis.json", "genesis", Hash32::GENESIS, genesis.genesis);
        self.same(
            "genesis.json",
            "created_at",
            first.line.time,
            genesis.created_at,
        );
    }
}

/// Whether a document is of the kind that an event names, and spelled as a writer spells it: one of
/// another form says nothing (rulings 40, 95).
fn is_of(event: &Event, document: &Document) -> bool {
    // Canonical JSON prints larger numbers as doubles.
    let is_small = |number: u64| number < 1 << 53;
    match (event, document) {
        (Event::Genesis { .. }, Document::Genesis(genesis)) => origin_is_valid(&genesis.origin),
        (Event::Response { .. }, Document::Record(record)) => is_small(record.seq),
        (Event::SessionEnd { .. }, Document::Close(close)) => is_small(close.interactions),
        (Event::SessionStart { .. }, Document::Session(_))
        | (Event::KeyRotate { .. }, Document::Rotate(_)) => true,
        _ => false,
    }
}
