//! The log out of `main`'s segments and the file behind them, and the tree heads over it
//! (format, sections 6, 10 and 12 step 4).

use std::collections::HashSet;

use crate::ledger::Oid;
use crate::ledger::read::{Repository, TreeEntry};
use crate::record::hash::Hash32;
use crate::record::ledger::documents::Genesis;
use crate::record::limits;
use crate::record::tree::parse_note;

use super::file::LogFile;
use super::lines::{LinePosition, Lines};
use super::sessions::SessionChains;
use super::tree_head::CheckpointFile;
use crate::verify::VerifyError;
use crate::verify::cursor::start::{CheckStart, SegmentEnd};
use crate::verify::ledger::commit_graph::half;
use crate::verify::ledger::history::{CommitChain, CommitNode, History};
use crate::verify::ledger::keys::{KeyHistory, KeyPeriod, rotated_to};
use crate::verify::report::{AuditQuestion, Findings, TreeHead};

/// What was read of the log.
pub(crate) struct CheckedLog {
    pub lines: Lines,
    /// How many of them are inside `main`.
    pub in_segments: u64,
    /// The log at the end of the last segment.
    pub end: Option<SegmentEnd>,
    /// Trees whose segment and tree head were checked on `main`.
    pub segment_trees: HashSet<Oid>,
    pub tree_heads: Vec<TreeHead>,
    /// Line numbers of the commits of `main`, in its order; none for one whose line is not known.
    pub main_lines: Vec<Option<u64>>,
    /// The tree head beside the log, until it is judged.
    pub beside: CheckpointFile,
    /// Lines behind this one are newer and not read.
    pub limit: Option<u64>,
    /// How many those are.
    pub newer: u64,
    /// Lines that nobody signed.
    pub unsigned: u64,
}

impl CheckedLog {
    /// Before the first line.
    pub fn new(lines: Lines, beside: CheckpointFile, limit: Option<u64>) -> Self {
        CheckedLog {
            lines,
            in_segments: 0,
            end: None,
            segment_trees: HashSet::new(),
            tree_heads: Vec::new(),
            main_lines: Vec::new(),
            beside,
            limit,
            newer: 0,
            unsigned: 0,
        }
    }
}

/// Goes through the log. Rotations on the way bring keys, and sessions that are open where the
/// check begins are taken over.
pub(crate) struct LogCheck<'c> {
    pub repository: &'c Repository,
    pub genesis: Option<&'c Genesis>,
    pub log: &'c mut CheckedLog,
    pub keys: &'c mut KeyHistory,
    pub start: &'c mut CheckStart,
    pub sessions: &'c mut SessionChains,
    pub findings: &'c mut Findings,
}

impl LogCheck<'_> {
    /// Takes the lines of every segment, in the order of `main`.
    pub fn take_segments(
        &mut self,
        main: &[CommitNode],
        mut file: Option<&mut LogFile>,
    ) -> Result<(), VerifyError> {
        self.end_position(0);
        for (position, node) in main.iter().enumerate().skip(1) {
            self.begin_position(position);
            self.take_segment(node, file.as_deref_mut())?;
            self.end_position(position);
        }
        self.log.in_segments = self.log.lines.state.count();
        self.log.end = Some(SegmentEnd::of(&self.log.lines));
        Ok(())
    }

    /// Takes the file's newer lines, when the segments are taken and the commits known.
    pub fn end_log(&mut self, file: Option<LogFile>, history: &History) -> Result<(), VerifyError> {
        self.take_rest(file, history)?;
        let records = &self.log.lines.records;
        self.keys
            .take_late(history, records, self.log.in_segments, self.repository);
        let number = |node: CommitNode| records.number(&node.log?);
        self.log.main_lines = history.on_main().map(number).collect();
        Ok(())
    }

    /// Before the segment of a commit of `main`, counted from genesis: lines up to the commit that
    /// the caller named are old.
    fn begin_position(&mut self, position: usize) {
        if self.start.named_base.is_some_and(|base| position <= base) {
            self.log.lines.until = u64::MAX;
        }
    }

    /// Behind the segment of the commit that the caller named the check begins: everything up to
    /// the last line taken is old.
    fn end_position(&mut self, position: usize) {
        if self.start.named_base != Some(position) {
            return;
        }
        let until = self.log.lines.state.count();
        self.log.lines.until = until;
        self.start.begin_behind(until);
        self.sessions.carry(&self.log.lines.state);
    }

    /// Takes the file's lines behind the segments, and holds the tree head beside it against all.
    pub fn take_rest(
        &mut self,
        file: Option<LogFile>,
        history: &History,
    ) -> Result<(), VerifyError> {
        if let Some(mut file) = file {
            let (head, count) = (self.log.lines.state.head(), self.log.in_segments);
            file.end_of_segments(head, count, self.findings)?;
            self.take_newer(&mut file, history)?;
            self.check_beside();
        }
        Ok(())
    }

    /// Counts what is kept of the lines taken last.
    pub fn keep_lines(&mut self, number: u64) {
        let kept = std::mem::take(&mut self.log.lines.kept);
        if kept > 0 {
            self.repository
                .budget()
                .keep(|| format!("log line {number}"), kept);
        }
    }

    fn take_segment(
        &mut self,
        node: &CommitNode,
        file: Option<&mut LogFile>,
    ) -> Result<(), VerifyError> {
        // A tree that can't be read, or has no such file, is reported with its commit.
        let entries = self.repository.tree(&node.tree).unwrap_or_default();
        match self.segment_file(node, &entries, "audit.log") {
            Some((blob, bytes)) => {
                let lines = &mut self.log.lines;
                lines.records.begin_segment(lines.state.count() + 1, blob);
                self.take_lines(node, &bytes, file)?;
            }
            // There may be anchors in it.
            None => self.findings.unlooked(AuditQuestion::NotBefore),
        }
        match self.segment_file(node, &entries, "checkpoint") {
            Some((_, bytes)) => self.take_tree_head(node, &bytes),
            None => self.findings.unlooked(AuditQuestion::SignedBy),
        }
        self.log.segment_trees.insert(node.tree);
        if let Some(key) = rotated_to(self.repository, node) {
            let known = |log: Hash32| {
                let records = &self.log.lines.records;
                records.number(&log).or_else(|| self.old_number(log))
            };
            let after = node.log.and_then(known);
            let from = node.chain.and_then(|chain| {
                if let CommitChain::Main(at) = chain {
                    Some(at)
                } else {
                    None
                }
            });
            self.keys.known.push(KeyPeriod { after, from, key });
            self.keys.commits.push(node.id);
        }
        Ok(())
    }

    /// The number of the last line taken, when that is this one and the check begins behind it.
    fn old_number(&self, log: Hash32) -> Option<u64> {
        let lines = &self.log.lines;
        lines.old.contains(&half(log)).then(|| lines.state.count())
    }

    /// A file of a segment; one that can't be read is a finding.
    fn segment_file(
        &mut self,
        node: &CommitNode,
        entries: &[TreeEntry],
        name: &str,
    ) -> Option<(Oid, Vec<u8>)> {
        let entry = entries.iter().rfind(|entry| entry.is_file(name))?;
        match self.repository.file(entry) {
            Ok(bytes) => Some((entry.id, bytes)),
            Err(fault) => {
                let place = format!("{} (object {})", node.file(name), entry.id);
                self.findings.object(None, place, &fault);
                None
            }
        }
    }

    fn take_lines(
        &mut self,
        node: &CommitNode,
        bytes: &[u8],
        mut file: Option<&mut LogFile>,
    ) -> Result<(), VerifyError> {
        let end = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let (whole, torn) = bytes.split_at(end);
        if !torn.is_empty() || whole.is_empty() {
            let actual = format!("{} bytes without a newline at the end", torn.len());
            self.findings.inconsistent(
                None,
                node.file("audit.log"),
                "whole lines, at least one",
                actual,
            );
        }
        let count = whole.iter().filter(|byte| **byte == b'\n').count();
        let shortest = usize::try_from(limits::SHORTEST_LINE).unwrap_or(usize::MAX);
        if count.saturating_mul(shortest) > whole.len() {
            // Each would be a finding; all together they are one, and none is taken.
            self.findings.unlooked(AuditQuestion::NotBefore);
            let expected = format!("lines, of at least {shortest} bytes each");
            let actual = format!("{count} newlines in {} bytes", whole.len());
            self.findings
                .inconsistent(None, node.file("audit.log"), expected, actual);
            return Ok(());
        }
        // Mostly the file holds them byte for byte; line by line is for what differs.
        if let Some(same) = file.as_deref_mut()
            && same.compare_whole(whole, u64::try_from(count).unwrap_or(u64::MAX))?
        {
            file = None;
        }
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let number = self.log.lines.state.count() + 1;
            if let Some(file) = file.as_deref_mut() {
                file.compare(line, number, self.findings)?;
            }
            let commit = &node.id;
            let position = LinePosition::Segment { number, commit };
            self.log.lines.take(line, position, self.findings);
            self.keep_lines(number);
            if self.repository.budget().refused().is_some() {
                return Ok(());
            }
        }
        if let Some(log) = node.log {
            let head = self.log.lines.state.head();
            self.findings.same(
                None,
                || node.file("audit.log"),
                "last line's HASH",
                &log,
                &head,
            );
        }
        Ok(())
    }

    /// The tree head of a segment: the tree of the log so far, signed by the key in force.
    fn take_tree_head(&mut self, node: &CommitNode, bytes: &[u8]) {
        let place = || node.file("checkpoint");
        let lines = &self.log.lines;
        let line = node.log.and_then(|log| lines.records.number(&log));
        let key = self.keys.at(line, node);
        let (size, root) = (lines.tree.size(), lines.tree.root());
        self.log.tree_heads.push(TreeHead { size, root });
        let text = String::from_utf8_lossy(bytes);
        let note = match parse_note(&text) {
            Ok(note) => note,
            Err(error) => {
                self.findings.unlooked(AuditQuestion::SignedBy);
                return self
                    .findings
                    .inconsistent(None, place(), "a tree head", error.to_string());
            }
        };
        self.findings.same(None, place, "size", &size, &note.size);
        self.findings.same(None, place, "root", &root, &note.root);
        if let Some(genesis) = self.genesis {
            self.findings
                .same(None, place, "origin", &genesis.origin, &note.origin);
        }
        if let Some(key) = key
            && !note.verify(&key)
        {
            for question in [AuditQuestion::Consistent, AuditQuestion::SignedBy] {
                let expected = format!("a signature by the key in force, {key}");
                self.findings
                    .add(question, None, place(), expected, "a signature that is not");
            }
        }
    }
}
