//! Lines with `record:` as commits are held against them, packed for a million answers.
//!
//! All but a few of them are `response` lines. Of one that stands in a segment only a digest is
//! kept: over everything that its commit has to agree with. Where the digest of the commit's own
//! document differs, the line is read again, and the finding names what differs.

use std::collections::HashMap;

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::hash::Hash32;
use crate::record::ledger::documents::Record;
use crate::record::log::entry::{Event, Line};
use crate::record::log::rules::OpenPrompt;
use crate::record::time::Seconds;

use crate::verify::ledger::commit_graph::{HalfHash, HashIndex, half, number};

/// A line with `record:`, and what its commit has to agree with.
#[derive(Clone)]
pub(crate) struct RecordLine {
    /// Number of the line, from 1.
    pub number: u64,
    pub line: Line,
    /// HASH of the line before.
    pub prev: Hash32,
    /// Sessions open just before the line.
    pub open: u64,
    /// The prompt that a `response` answers.
    pub asked: Option<OpenPrompt>,
    /// How many commits name the line.
    pub commits: u32,
}

impl RecordLine {
    /// A session's end is a commit on its branch and the close on `main`; every other line has one
    /// commit.
    pub fn wanted(&self) -> u32 {
        if matches!(self.line.event, Event::SessionEnd { .. }) {
            2
        } else {
            1
        }
    }

    /// The digest that the commit's document must have; none for what is not packed.
    fn digest(&self) -> Option<HalfHash> {
        let Event::Response {
            hash,
            seq,
            model,
            chain,
            record,
        } = &self.line.event
        else {
            return None;
        };
        let asked = self.asked.as_ref()?;
        Some(digest(&Facts {
            hashes: [&self.line.session?, hash, chain, record, &asked.hash],
            numbers: [self.line.time.get(), *seq, asked.time.get()],
            model,
        }))
    }
}

/// What an answer's line and document both say.
struct Facts<'a> {
    hashes: [&'a Hash32; 5],
    numbers: [u64; 3],
    model: &'a str,
}

fn digest(facts: &Facts<'_>) -> HalfHash {
    let mut bytes = [0; 5 * 32 + 3 * 8];
    let (hashes, numbers) = bytes.split_at_mut(5 * 32);
    for (place, hash) in hashes.chunks_exact_mut(32).zip(facts.hashes) {
        place.copy_from_slice(hash.as_bytes());
    }
    for (place, number) in numbers.chunks_exact_mut(8).zip(facts.numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
    half(Hash32::of_parts(&[&bytes, facts.model.as_bytes()]))
}

/// An answer's line, packed.
#[derive(Clone, Copy)]
pub(crate) struct PackedAnswer {
    /// Half of its HASH.
    log: HalfHash,
    pub time: Seconds,
    pub number: u32,
    /// Number of its prompt's line.
    asked: u32,
    digest: HalfHash,
    commits: u8,
}

impl PackedAnswer {
    /// Whether a document says what the line says.
    pub fn agrees(&self, said: DocumentDigest) -> bool {
        said.0 == self.digest
    }
}

/// The digest of what a document says that its line has to say too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentDigest(HalfHash);

impl DocumentDigest {
    /// By a document whose bytes have this hash.
    pub fn by(document: &Record, record: Hash32) -> Self {
        let (session, response) = (&document.session_id, &document.response_hash);
        DocumentDigest(digest(&Facts {
            hashes: [
                session,
                response,
                &document.chain_entry,
                &record,
                &document.prompt_hash,
            ],
            numbers: [
                document.timestamp.get(),
                document.seq,
                document.asked_at.get(),
            ],
            model: &document.model,
        }))
    }
}

/// What a commit is held against.
pub(crate) enum ExpectedCommit {
    Whole(Box<RecordLine>),
    Packed(PackedAnswer),
}

impl ExpectedCommit {
    pub fn number(&self) -> u64 {
        match self {
            ExpectedCommit::Whole(line) => line.number,
            ExpectedCommit::Packed(answer) => u64::from(answer.number),
        }
    }
}

/// Answers of one portion of memory.
const PORTION: usize = 1 << 14;

/// All lines with `record:`, by HASH.
#[derive(Clone, Default)]
pub(crate) struct Records {
    whole: HashMap<Hash32, RecordLine>,
    answers: Vec<Vec<PackedAnswer>>,
    count: usize,
    index: HashIndex,
    /// First line and blob of each segment.
    segments: Vec<(u64, Oid)>,
}

impl Records {
    /// Notes that the lines from this number on are those of a segment.
    pub fn begin_segment(&mut self, first: u64, blob: Oid) {
        self.segments.push((first, blob));
    }

    /// Takes a line; one of a segment can be read again, and is packed.
    pub fn take(&mut self, line: RecordLine, in_segment: bool) {
        let log = line.line.hash;
        let digest = line
            .digest()
            .filter(|_| in_segment && self.number(&log).is_none());
        let asked = line
            .asked
            .as_ref()
            .and_then(|asked| u32::try_from(asked.line).ok());
        let (Some(digest), Some(asked), Ok(at)) = (digest, asked, u32::try_from(line.number))
        else {
            self.whole.insert(log, line);
            return;
        };
        if self.answers.last().is_none_or(|last| last.len() == PORTION) {
            self.answers.push(Vec::with_capacity(PORTION));
        }
        if let Some(last) = self.answers.last_mut() {
            last.push(PackedAnswer {
                log: half(log),
                time: line.line.time,
                number: at,
                asked,
                digest,
                commits: 0,
            });
        }
        let answers = &self.answers;
        let key_of = |at: u32| answer(answers, at).map_or(HalfHash::default(), |answer| answer.log);
        self.index.insert(&half(log), number(self.count), key_of);
        self.count += 1;
    }

    fn find(&self, log: &Hash32) -> Option<u32> {
        let log = half(*log);
        self.index.find(&log, |at| {
            answer(&self.answers, at).is_some_and(|answer| answer.log == log)
        })
    }

    /// The number of the line with this HASH.
    pub fn number(&self, log: &Hash32) -> Option<u64> {
        if let Some(line) = self.whole.get(log) {
            return Some(line.number);
        }
        answer(&self.answers, self.find(log)?).map(|answer| u64::from(answer.number))
    }

    /// The line with this HASH.
    pub fn get(&self, log: &Hash32) -> Option<ExpectedCommit> {
        if let Some(line) = self.whole.get(log) {
            return Some(ExpectedCommit::Whole(Box::new(line.clone())));
        }
        answer(&self.answers, self.find(log)?).map(|answer| ExpectedCommit::Packed(*answer))
    }

    /// HASH of every `key_rotate` line behind a line.
    pub fn rotations_after(&self, number: u64) -> impl Iterator<Item = Hash32> {
        let late = self
            .whole
            .values()
            .filter(move |record| record.number > number);
        late.filter(|record| matches!(record.line.event, Event::KeyRotate { .. }))
            .map(|record| record.line.hash)
    }

    /// Every line that is not packed.
    pub fn whole(&self) -> impl Iterator<Item = &Line> {
        self.whole.values().map(|record| &record.line)
    }

    /// Counts a commit that names the line.
    pub fn count_commit(&mut self, log: &Hash32) {
        if let Some(line) = self.whole.get_mut(log) {
            line.commits += 1;
        } else if let Some(at) = self.find(log)
            && let Some(portion) = self.answers.get_mut(at as usize / PORTION)
            && let Some(answer) = portion.get_mut(at as usize % PORTION)
        {
            answer.commits = answer.commits.saturating_add(1);
        }
    }

    /// The whole line of a packed one, read again; none when the segment is gone meanwhile.
    pub fn unpack(&self, repository: &Repository, answer: &PackedAnswer) -> Option<RecordLine> {
        let line = self.line(repository, u64::from(answer.number))?;
        let asked = self
            .line(repository, u64::from(answer.asked))
            .and_then(|line| match line.event {
                Event::Prompt { hash, .. } => Some(OpenPrompt {
                    line: u64::from(answer.asked),
                    time: line.time,
                    hash,
                }),
                _ => None,
            });
        let commits = u32::from(answer.commits);
        // A response's document says nothing of the line before and of open sessions.
        Some(RecordLine {
            number: u64::from(answer.number),
            line,
            prev: Hash32::ZERO,
            open: 0,
            asked,
            commits,
        })
    }

    /// A line of a segment, by its number.
    fn line(&self, repository: &Repository, number: u64) -> Option<Line> {
        let (first, bytes) = self.segment_of(number, repository)?;
        let skip = usize::try_from(number - first).ok()?;
        Line::parse(bytes.split(|byte| *byte == b'\n').nth(skip)?).ok()
    }

    /// The segment that a line stands in, and the number of its first line.
    pub fn segment_of(&self, number: u64, repository: &Repository) -> Option<(u64, Vec<u8>)> {
        let after = self.segments.partition_point(|(first, _)| *first <= number);
        let (first, blob) = self.segments.get(after.checked_sub(1)?)?;
        Some((*first, repository.segment(blob).ok()?))
    }

    /// The lines that have fewer or more commits than they want, in their order; an answer's line
    /// that can't be read again is there by its number.
    pub fn short(&self, repository: &Repository) -> Vec<CommitCountMismatch> {
        let whole = self
            .whole
            .values()
            .filter(|line| line.commits != line.wanted());
        let whole = whole.map(|line| CommitCountMismatch {
            number: line.number,
            commits: line.commits,
            line: Some(line.clone()),
        });
        let packed = self
            .answers
            .iter()
            .flatten()
            .filter(|answer| answer.commits != 1);
        let mut short: Vec<CommitCountMismatch> = packed
            .map(|answer| CommitCountMismatch {
                number: u64::from(answer.number),
                commits: u32::from(answer.commits),
                line: self.unpack(repository, answer),
            })
            .chain(whole)
            .collect();
        short.sort_by_key(|line| line.number);
        short
    }
}

/// A line that has another number of commits than it wants.
pub(crate) struct CommitCountMismatch {
    pub number: u64,
    pub commits: u32,
    pub line: Option<RecordLine>,
}

fn answer(answers: &[Vec<PackedAnswer>], at: u32) -> Option<&PackedAnswer> {
    answers
        .get(at as usize / PORTION)?
        .get(at as usize % PORTION)
}
