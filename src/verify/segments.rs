//! The log out of `main`'s segments and the file behind them, and the tree heads over it
//! (format, sections 5, 9 and 11.4).

use std::collections::HashSet;

use crate::record::canon;
use crate::record::commit::CommitKind;
use crate::record::documents::Rotate;
use crate::record::entry::Line;
use crate::record::hash::Hash32;
use crate::record::tree::{is_signed_text, parse_note};

use super::VerifyError;
use super::checker::Checker;
use super::file::LogFile;
use super::history::{History, Node};
use super::lines::Place;
use super::report::{Question, TreeHead};
use super::since::Mark;

impl Checker<'_> {
    /// Takes the lines of every segment, in the order of `main`.
    pub fn take_segments(&mut self, main: &[Node], mut file: Option<&mut LogFile>) -> Result<(), VerifyError> {
        self.end_position(0);
        for (position, node) in main.iter().enumerate().skip(1) {
            self.begin_position(position);
            self.take_segment(node, file.as_deref_mut())?;
            self.end_position(position);
        }
        self.lines_in_segments = self.lines.state.count();
        self.mark = Some(Mark::of(&self.lines));
        Ok(())
    }

    /// Takes the file's newer lines, when the segments are taken and the commits known.
    pub fn end_log(&mut self, file: Option<LogFile>) -> Result<(), VerifyError> {
        let history = std::mem::take(&mut self.history);
        if let Some(mut file) = file {
            file.end_of_segments(self.lines.state.head(), self.lines_in_segments, &mut self.findings)?;
            self.take_newer(&mut file, &history)?;
        }
        let number = |node: Node| self.lines.records.number(&node.log?);
        self.main_lines = history.on_main().map(number).collect();
        self.history = history;
        Ok(())
    }

    fn take_newer(&mut self, file: &mut LogFile, history: &History) -> Result<(), VerifyError> {
        let mut known: Option<HashSet<Hash32>> = None;
        while let Some(line) = file.newer()? {
            // Appended while we look: its commit came after the refs were read.
            let of_record = |line: Line| line.event.record().map(|_| line.hash);
            if !line.noted
                && let Some(log) = Line::parse(&line.bytes).ok().and_then(of_record)
                && !known.get_or_insert_with(|| history.nodes.logs().collect()).contains(&log)
            {
                return Ok(());
            }
            self.lines.take(&line.bytes, Place::File { number: line.number }, &mut self.findings);
        }
        file.report_torn(&mut self.findings);
        Ok(())
    }

    fn take_segment(&mut self, node: &Node, mut file: Option<&mut LogFile>) -> Result<(), VerifyError> {
        // A tree that can't be read is reported with its commit.
        let Ok(entries) = self.repository.tree(&node.tree) else { return Ok(()) };
        for entry in entries.iter().filter(|entry| entry.name == "audit.log") {
            match self.repository.blob(&entry.id) {
                Ok(bytes) => {
                    self.lines.records.begin_segment(self.lines.state.count() + 1, entry.id);
                    self.take_lines(node, &bytes, file.as_deref_mut())?;
                }
                Err(fault) => {
                    let place = format!("{} (object {})", node.file(&entry.name), entry.id);
                    self.findings.object(None, place, &fault);
                }
            }
        }
        for entry in entries.iter().filter(|entry| entry.name == "checkpoint") {
            match self.repository.blob(&entry.id) {
                Ok(bytes) => self.take_tree_head(node, &bytes),
                Err(fault) => {
                    let place = format!("{} (object {})", node.file(&entry.name), entry.id);
                    self.findings.object(None, place, &fault);
                }
            }
        }
        self.segment_trees.insert(node.tree);
        if node.kind == Some(CommitKind::KeyRotate) {
            let document = entries.iter().find(|entry| entry.name == "rotate.json");
            let bytes = document.and_then(|entry| self.repository.blob(&entry.id).ok());
            if let Some(Ok(rotate)) = bytes.map(|bytes| canon::parse::<Rotate>(&bytes)) {
                self.keys.push((self.lines.state.count(), rotate.new_signer));
                self.key_commits.push(node.id);
            }
        }
        Ok(())
    }

    fn take_lines(&mut self, node: &Node, bytes: &[u8], mut file: Option<&mut LogFile>) -> Result<(), VerifyError> {
        let Some(whole) = bytes.strip_suffix(b"\n") else {
            let actual = format!("{} bytes without a newline at the end", bytes.len());
            self.findings.add(Question::Consistent, None, node.file("audit.log"), "whole lines, at least one", actual);
            return Ok(());
        };
        for line in whole.split(|byte| *byte == b'\n') {
            let number = self.lines.state.count() + 1;
            if let Some(file) = file.as_deref_mut() {
                file.compare(line, number, &mut self.findings)?;
            }
            self.lines.take(line, Place::Segment { number, commit: &node.id }, &mut self.findings);
        }
        if let Some(log) = node.log {
            let head = self.lines.state.head();
            self.findings.same(None, || node.file("audit.log"), "last line's HASH", &log, &head);
        }
        Ok(())
    }

    /// The tree head of a segment: the tree of the log so far, signed by the key in force.
    fn take_tree_head(&mut self, node: &Node, bytes: &[u8]) {
        let place = || node.file("checkpoint");
        let (size, root) = (self.lines.tree.size(), self.lines.tree.root());
        self.tree_heads.push(TreeHead { size, root });
        let text = String::from_utf8_lossy(bytes);
        let note = match parse_note(&text) {
            Ok(note) => note,
            Err(error) => {
                let key = self.key_at(Some(self.lines.state.count()));
                if key.is_some_and(|key| !is_signed_text(&text, &key)) {
                    self.findings.add(Question::SignedBy, None, place(), "a tree head", error.to_string());
                }
                return self.findings.add(Question::Consistent, None, place(), "a tree head", error.to_string());
            }
        };
        self.findings.same(None, place, "size", &size, &note.size);
        self.findings.same(None, place, "root", &root, &note.root);
        if let Some(genesis) = &self.genesis {
            self.findings.same(None, place, "origin", &genesis.origin, &note.origin);
        }
        if let Some(key) = self.key_at(Some(self.lines.state.count()))
            && !note.verify(&key)
        {
            for question in [Question::Consistent, Question::SignedBy] {
                let expected = format!("a signature by the key in force, {key}");
                self.findings.add(question, None, place(), expected, "a signature that is not");
            }
        }
    }
}
