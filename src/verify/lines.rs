//! The log as the checks need it: every line taken once, in order, with what commits are compared to
//! (format, sections 3 and 11.4).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::record::block::{Block, Network, Source, check_header};
use crate::record::entry::{Event, Line};
use crate::record::hash::Hash32;
use crate::record::rules::{LogState, OpenPrompt, Rule, Violation};
use crate::record::tree::Frontier;

use super::report::{Findings, Question};

/// A line with `record:`, and what its commit has to agree with.
#[derive(Clone)]
pub(super) struct RecordLine {
    /// From 1.
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
    /// A session's end is a commit on its branch and the close on `main`; every other line has one commit.
    pub fn wanted(&self) -> u32 {
        if matches!(self.line.event, Event::SessionEnd { .. }) { 2 } else { 1 }
    }
}

/// The log as far as it was taken.
#[derive(Clone)]
pub(super) struct Lines {
    pub state: LogState,
    pub tree: Frontier,
    /// By HASH.
    pub records: HashMap<Hash32, RecordLine>,
    /// Which blocks the lines so far name at a height.
    pub blocks: BTreeMap<u32, BTreeSet<Hash32>>,
    /// `btc_anchor` lines whose header was accepted.
    pub accepted_anchors: u64,
    /// HASH of every line, as it stands there; 32 bytes a line.
    pub hashes: Vec<Hash32>,
    /// Length of all lines with their newlines.
    pub bytes: u64,
    /// Number of `artifact` lines.
    pub artifacts: u64,
    network: Option<Network>,
}

impl Lines {
    /// The log before its first line; without a network, headers can't be judged.
    pub fn new(network: Option<Network>) -> Self {
        Lines {
            state: LogState::new(),
            tree: Frontier::new(),
            records: HashMap::new(),
            blocks: BTreeMap::new(),
            accepted_anchors: 0,
            hashes: Vec::new(),
            bytes: 0,
            artifacts: 0,
            network,
        }
    }

    /// Takes the next line, given without its newline; `place` is how findings name it.
    pub fn take(&mut self, bytes: &[u8], place: &str, findings: &mut Findings) {
        self.tree.push(bytes);
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX)).saturating_add(1);
        let line = match Line::parse(bytes) {
            Ok(line) => line,
            Err(error) => {
                findings.add(Question::Consistent, None, place, "a line of the log", error.to_string());
                self.state.skip(bytes);
                return self.hashes.push(self.state.head());
            }
        };
        self.hashes.push(line.hash);
        if matches!(line.event, Event::Artifact { .. }) {
            self.artifacts += 1;
        }
        let prev = self.state.head();
        let open = u64::try_from(self.state.open_sessions().len()).unwrap_or(u64::MAX);
        let asked = self.asked(&line);
        if let Err(violation) = self.state.accept(&line) {
            report(&violation, &line, place, findings);
        }
        self.take_block(&line, place, findings);
        if line.event.record().is_some() {
            let number = self.state.count();
            self.records.insert(line.hash, RecordLine { number, line, prev, open, asked, commits: 0 });
        }
    }

    fn asked(&self, line: &Line) -> Option<OpenPrompt> {
        let Event::Response { seq, .. } = &line.event else { return None };
        self.state.session(line.session?)?.unanswered.get(seq).copied()
    }

    fn take_block(&mut self, line: &Line, place: &str, findings: &mut Findings) {
        match &line.event {
            Event::SessionStart { btc, block, .. } | Event::SessionEnd { btc, block, .. } => {
                self.blocks.entry(*btc).or_default().insert(*block);
            }
            Event::BtcAnchor { btc, block, header } => {
                self.blocks.entry(*btc).or_default().insert(*block);
                let Some(network) = self.network else { return };
                // The line carries no time of its own: the header's is the block's.
                let time = header.fields().time;
                let block = Block { hash: *block, height: *btc, network, source: Source::File, time };
                match check_header(header, &block, network) {
                    Ok(()) => self.accepted_anchors += 1,
                    Err(fault) => {
                        let expected = format!("a header that shows the work of block {btc}");
                        findings.add(Question::NotBefore, line.session, place, expected, fault.to_string());
                    }
                }
            }
            _ => {}
        }
    }

    /// Prompts that have no outcome by the end of the log: incomplete, not inconsistent.
    pub fn report_unanswered(&self, findings: &mut Findings) {
        for (session, seq, prompt) in self.state.unanswered() {
            findings.add(
                Question::Complete,
                Some(session.id),
                format!("log line {} (prompt {seq} of session {})", prompt.line, session.id),
                "a response, response_fail or denied with its seq",
                "none by the end of the log",
            );
        }
    }
}

fn report(violation: &Violation, line: &Line, place: &str, findings: &mut Findings) {
    let session = match violation.rule {
        Rule::Genesis | Rule::Chain | Rule::Time | Rule::ClockSet | Rule::Record | Rule::Height => None,
        _ => line.session,
    };
    let actual = format!("{}: {}", violation.rule.words(), violation.actual);
    findings.add(Question::Consistent, session, place, violation.expected.clone(), actual.clone());
    if matches!(violation.rule, Rule::PromptSeq | Rule::OutcomeWithoutPrompt) {
        findings.add(Question::Complete, session, place, violation.expected.clone(), actual);
    }
}
