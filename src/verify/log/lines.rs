//! The log as the checks need it: every line taken once, in order, with what commits are compared
//! to (format, sections 4 and 12 step 4).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::ledger::Oid;
use crate::record::bitcoin::block::{Block, Network, Source, check_header};
use crate::record::bitcoin::epochs::is_cheap;
use crate::record::bitcoin::fit::check_height;
use crate::record::hash::Hash32;
use crate::record::log::end::LogEnd;
use crate::record::log::entry::{Event, Line};
use crate::record::log::rules::{LogRule, LogState, OpenPrompt, Violation};
use crate::record::time::Seconds;
use crate::record::tree::Frontier;

use super::line_index::LineIndex;
use super::receipts::Receipts;
use super::records::{RecordLine, Records};
use crate::verify::ledger::commit_graph::{HalfHash, half};
use crate::verify::report::{AuditQuestion, ClockSet, Findings, MAX_FINDINGS};
use crate::verify::time::blocks::FirstMention;
use crate::verify::time::witnesses::RootsBySize;

/// Where a line stands; spelled only for a finding.
#[derive(Clone, Copy)]
pub(crate) enum LinePosition<'a> {
    /// In a segment of `main`.
    Segment { number: u64, commit: &'a Oid },
    /// In the file, behind the segments.
    File { number: u64 },
}

impl LinePosition<'_> {
    fn words(&self) -> String {
        match self {
            LinePosition::Segment { number, commit } => {
                format!("log line {number} (segment of commit {commit})")
            }
            LinePosition::File { number } => format!("audit.log line {number}"),
        }
    }
}

/// The log as far as it was taken.
#[derive(Clone)]
pub(crate) struct Lines {
    pub state: LogState,
    pub tree: Frontier,
    /// Lines with `record:`.
    pub records: Records,
    /// Which blocks the lines so far name at a height.
    pub blocks: BTreeMap<u32, BTreeSet<Hash32>>,
    /// `btc_anchor` lines whose header was accepted.
    pub accepted_anchors: u64,
    /// The blocks that those name, each with who named it first.
    pub anchors: BTreeMap<(u32, Hash32), FirstMention>,
    /// At which height a block was named first.
    heights: HashMap<Hash32, u32>,
    /// Sessions of `btc_anchor` lines whose header shows next to no work.
    pub cheap: BTreeSet<Hash32>,
    /// Lines that set the clock.
    pub clock_sets: Vec<ClockSet>,
    /// The last line with `record:`, while only lines follow that belong to it.
    pub last_record: Option<(u64, Option<Hash32>)>,
    /// Outcomes that commits tell of and no line: session and number of the prompt.
    pub answered_apart: HashSet<(Hash32, u64)>,
    /// Lines from which on a higher block is named than before, with its height.
    pub rises: Vec<(u64, u32)>,
    /// HASH of every line, as it stands there, for a database to be held against.
    pub line_index: LineIndex,
    /// Length of all lines with their newlines.
    pub bytes: u64,
    /// Number of `artifact` lines.
    pub artifacts: u64,
    /// Up to this line no commit is held against its line; such lines are known by half their HASH.
    pub until: u64,
    pub old: HashSet<HalfHash>,
    /// What tree heads outside are about.
    pub sizes: RootsBySize,
    /// What was signed for somebody, to be found in the log.
    pub receipts: Receipts,
    /// About what is kept in memory of the lines taken since somebody asked, beyond what an answer
    /// takes.
    pub kept: u64,
    network: Option<Network>,
}

/// About what is kept of a line behind the segments: its HASH.
const NEWER: u64 = 48;
/// Of one that is no line: nothing but a finding, which takes time to spell. A log with a hundred
/// thousand of them is none.
const NO_LINE: u64 = 3 << 10;
/// Of a session.
const SESSION: u64 = 1 << 10;
/// Of a line that no commit answers with a digest.
const OTHER: u64 = 600;
/// Of a block that is named.
const BLOCK: u64 = 200;
/// Of a prompt that has no outcome, and of a session that was never started.
const LEFT: u64 = 100;

impl Lines {
    /// The log before its first line; without a network, headers can't be judged.
    pub fn new(network: Option<Network>) -> Self {
        Lines {
            state: LogState::new(),
            tree: Frontier::new(),
            records: Records::default(),
            blocks: BTreeMap::new(),
            accepted_anchors: 0,
            anchors: BTreeMap::new(),
            heights: HashMap::new(),
            cheap: BTreeSet::new(),
            clock_sets: Vec::new(),
            last_record: None,
            answered_apart: HashSet::new(),
            rises: Vec::new(),
            line_index: LineIndex::default(),
            bytes: 0,
            artifacts: 0,
            until: 0,
            old: HashSet::new(),
            sizes: RootsBySize::default(),
            receipts: Receipts::default(),
            kept: 0,
            network,
        }
    }

    /// Takes the next line, given without its newline.
    pub fn take(&mut self, bytes: &[u8], place: LinePosition<'_>, findings: &mut Findings) {
        let in_segment = matches!(place, LinePosition::Segment { .. });
        self.tree.push(bytes);
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
            .saturating_add(1);
        let line = match Line::parse(bytes) {
            Ok(line) => line,
            Err(error) => {
                findings.inconsistent(None, place.words(), "a line of the log", error.to_string());
                // Nobody can tell that it is no anchor.
                findings.unlooked(AuditQuestion::NotBefore);
                self.last_record = None;
                self.state.skip(bytes);
                self.kept += NO_LINE;
                self.keep_size();
                self.receipts
                    .take(self.state.count(), None, self.state.head(), &self.tree);
                return self.line_index.keep(self.state.head(), in_segment);
            }
        };
        self.line_index.keep(line.hash, in_segment);
        if matches!(line.event, Event::Artifact { .. }) {
            self.artifacts += 1;
        }
        let prev = self.state.head();
        if let (Event::ClockSet { to }, Some(before)) = (&line.event, self.state.last_time())
            && self.clock_sets.len() < MAX_FINDINGS
        {
            self.clock_sets.push(ClockSet {
                line: self.state.count() + 1,
                before,
                to: *to,
            });
        }
        let open = u64::try_from(self.state.open_sessions().len()).unwrap_or(u64::MAX);
        let asked = self.asked(&line);
        // A line that parses begins with 64 digits and '|'.
        let rest = bytes.get(65..).unwrap_or_default();
        if let Err(violation) = self.state.accept_spelled(&line, rest) {
            report(&violation, &line, &place.words(), findings);
            self.kept += LEFT;
        }
        self.kept += kept_of(&line.event) + if in_segment { 0 } else { NEWER };
        self.take_block(&line, place, findings);
        self.keep_size();
        let number = self.state.count();
        let highest = self.state.highest();
        if self.rises.last().map_or(0, |rise| rise.1) < highest {
            self.rises.push((number, highest));
        }
        self.receipts
            .take(number, Some(&line), self.state.head(), &self.tree);
        self.last_record = match (&line.event, self.last_record) {
            (event, _) if event.record().is_some() => Some((number, line.session)),
            // What a writer adds in the same step.
            (
                Event::BranchCreate { .. }
                | Event::BranchSwitch { .. }
                | Event::AuthOk { .. }
                | Event::Drift { .. },
                Some((of, session)),
            ) if session == line.session => Some((of, session)),
            _ => None,
        };
        if line.event.record().is_some() && number <= self.until {
            self.old.insert(half(line.hash));
        } else if line.event.record().is_some() {
            let line = RecordLine {
                number,
                line,
                prev,
                open,
                asked,
                commits: 0,
            };
            self.records.take(line, in_segment);
        }
    }

    /// Where the log ends; so many of its lines are inside `main`.
    pub fn end(&self, segment_lines: u64) -> LogEnd {
        LogEnd {
            lines: self.state.count(),
            hash: self.state.head(),
            time: self.state.last_time(),
            height: self.state.highest(),
            bytes: self.bytes,
            frontier: self.tree.to_bytes(),
            segment_lines,
            last_branch: self.state.last_branch().map(str::to_owned),
        }
    }

    /// Whether a commit's line was taken, be it an old one.
    pub fn is_known(&self, log: &Hash32) -> bool {
        self.records.number(log).is_some() || self.old.contains(&half(*log))
    }

    /// Keeps root and time of a size that a tree head outside is about.
    pub fn keep_size(&mut self) {
        let size = self.tree.size();
        if self.sizes.is_wanted(size) {
            self.sizes.keep(
                size,
                self.tree.root(),
                self.state.last_time().unwrap_or(Seconds::ZERO),
            );
        }
    }

    fn asked(&self, line: &Line) -> Option<OpenPrompt> {
        let Event::Response { seq, .. } = &line.event else {
            return None;
        };
        self.state
            .session(line.session?)?
            .unanswered
            .get(seq)
            .copied()
    }

    fn take_block(&mut self, line: &Line, place: LinePosition<'_>, findings: &mut Findings) {
        match &line.event {
            Event::SessionStart { btc, block, .. } | Event::SessionEnd { btc, block, .. } => {
                self.name_block(*btc, *block, line.session, &|| place.words(), findings);
            }
            Event::BtcAnchor { btc, block, header } => {
                self.name_block(*btc, *block, line.session, &|| place.words(), findings);
                let Some(network) = self.network else { return };
                // The line carries no time of its own: the header's is the block's.
                let time = header.fields().time;
                let block = Block {
                    hash: *block,
                    height: *btc,
                    network,
                    source: Source::File,
                    time,
                };
                if let Err(fault) = check_height(&block) {
                    let (expected, actual) =
                        ("height and time that belong together", fault.to_string());
                    findings.inconsistent(line.session, place.words(), expected, actual);
                }
                match check_header(header, &block, network) {
                    Ok(()) => {
                        self.accepted_anchors += 1;
                        let fields = header.fields();
                        if is_cheap(network, fields.bits) {
                            self.cheap.extend(line.session);
                        }
                        let named = || FirstMention {
                            prev: fields.prev,
                            bits: fields.bits,
                            session: line.session,
                            place: place.words(),
                        };
                        self.anchors.entry((*btc, block.hash)).or_insert_with(named);
                    }
                    Err(fault) => {
                        let expected = format!("a header that shows the work of block {btc}");
                        findings.add(
                            AuditQuestion::NotBefore,
                            line.session,
                            place.words(),
                            expected,
                            fault.to_string(),
                        );
                    }
                }
            }
            _ => {}
        }
    }

    /// Notes which block is named at a height; one block at two heights is a lie.
    pub fn name_block(
        &mut self,
        height: u32,
        block: Hash32,
        session: Option<Hash32>,
        place: &dyn Fn() -> String,
        findings: &mut Findings,
    ) {
        self.blocks.entry(height).or_default().insert(block);
        if block == Hash32::ZERO {
            return;
        }
        let first = *self.heights.entry(block).or_insert(height);
        if first != height {
            let (expected, actual) = (
                format!("block {block} at height {first}, as before"),
                format!("height {height}"),
            );
            findings.inconsistent(session, place(), expected, actual);
        }
    }

    /// Prompts that have no outcome by the end of the log: incomplete, not inconsistent.
    pub fn report_unanswered(&self, findings: &mut Findings) {
        if let Some(due) = self.state.opening().next() {
            let place = format!("log line {}", self.state.count() + 1);
            findings.add(
                AuditQuestion::Complete,
                None,
                place,
                format!("a '{}' line", due.name()),
                "the end of the log",
            );
        }
        let apart = &self.answered_apart;
        let open = self
            .state
            .unanswered()
            .filter(|(session, seq, _)| !apart.contains(&(session.id, *seq)));
        for (session, seq, prompt) in open {
            findings.add(
                AuditQuestion::Complete,
                Some(session.id),
                format!(
                    "log line {} (prompt {seq} of session {})",
                    prompt.line, session.id
                ),
                "a response, response_fail or denied with its seq",
                "none by the end of the log: its model thinks, or its process ended, and then gently session close ends it",
            );
        }
    }
}

/// About what is kept of a line, an answer's apart.
fn kept_of(event: &Event) -> u64 {
    match event {
        Event::Response { .. } => 0,
        Event::SessionStart { .. } => SESSION + OTHER,
        Event::BtcAnchor { .. } => BLOCK,
        event if event.record().is_some() => OTHER,
        _ => 0,
    }
}

fn report(violation: &Violation, line: &Line, place: &str, findings: &mut Findings) {
    let session = match violation.rule {
        LogRule::Genesis
        | LogRule::Chain
        | LogRule::Time
        | LogRule::ClockSet
        | LogRule::Record
        | LogRule::Height => None,
        _ => line.session,
    };
    let actual = format!("{}: {}", violation.rule.words(), violation.actual);
    findings.inconsistent(session, place, violation.expected.clone(), actual.clone());
    if matches!(
        violation.rule,
        LogRule::PromptSeq | LogRule::OutcomeWithoutPrompt
    ) {
        findings.add(
            AuditQuestion::Complete,
            session,
            place,
            violation.expected.clone(),
            actual,
        );
    }
}
