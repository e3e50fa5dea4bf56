//! Every commit against its line, its tree, its message, its parents and its key (format, sections
//! 6 and 12 step 2).

use std::collections::{BTreeMap, HashSet};

use crate::ledger::Oid;
use crate::ledger::read::{Repository, TreeEntry};
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, CommitMessage, Subject};
use crate::record::ledger::documents::Genesis;
use crate::record::log::entry::Event;

use super::commit_graph::half;
use super::history::{CommitChain, CommitNode, History};
use super::keys::KeyHistory;
use super::read_ahead::{FetchedFiles, MAX_FILES, ReadAheadConsumer, TreeContent};
use crate::verify::log::lines::Lines;
use crate::verify::log::records::ExpectedCommit;
use crate::verify::log::sessions::SessionChains;
use crate::verify::progress::{CheckStage, Progress};
use crate::verify::report::{AuditQuestion, Findings};
use crate::verify::time::blocks::NamedBlocks;

/// The files of one commit, by name; what a tree holds beyond them is a finding of its own.
#[derive(Default)]
pub(crate) struct CommitFiles(Vec<(String, Vec<u8>)>);

impl CommitFiles {
    /// A file; of two with one name the last.
    pub fn get(&self, name: &str) -> Option<&Vec<u8>> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, bytes)| bytes)
    }
}

/// What was met among the commits.
#[derive(Default)]
pub(crate) struct CheckedCommits {
    /// How many of each kind.
    pub kinds: BTreeMap<CommitKind, u64>,
    /// How many behind the last segment, where the log is not at hand.
    pub apart: u64,
    /// Lines of session starts and ends whose commit was met.
    pub anchored: HashSet<Hash32>,
}

/// Goes through the commits of all chains: each against its line, its files, its session and its
/// key.
pub(crate) struct CommitCheck<'c> {
    pub repository: &'c Repository,
    pub progress: &'c Progress,
    /// Whether there is a log beside the segments in `main`.
    pub has_log: bool,
    pub genesis: Option<&'c Genesis>,
    pub history: &'c History,
    pub keys: &'c KeyHistory,
    /// Line numbers of the commits of `main`.
    pub main_lines: &'c [Option<u64>],
    pub lines: &'c mut Lines,
    pub sessions: &'c mut SessionChains,
    pub blocks: &'c mut NamedBlocks,
    pub commits: &'c mut CheckedCommits,
    pub findings: &'c mut Findings,
}

impl CommitCheck<'_> {
    /// Every commit of every chain, oldest first; on `main` those behind the one at `named_base`.
    pub fn check_chains(
        &mut self,
        named_base: Option<usize>,
        files: &mut ReadAheadConsumer<'_, '_>,
    ) {
        let history = self.history;
        let branches = history
            .branches
            .values()
            .chain(&history.unreachable)
            .map(Vec::len)
            .sum::<usize>();
        let commits = history.new_on_main().len() + branches;
        self.progress.begin(
            CheckStage::Commits,
            u64::try_from(commits).unwrap_or(u64::MAX),
        );
        if named_base == Some(0)
            && let Some(log) = history.on_main().next().and_then(|root| root.log)
        {
            // The root has no segment: its line stands in the first one behind it, and has its
            // commit.
            self.lines.records.count_commit(&log);
        }
        let mut last = None;
        let skipped = history.base.map_or(0, |base| base + 1);
        for (position, node) in history.on_main().enumerate().skip(skipped) {
            self.check_commit(&node, position, files.next());
            last = self.check_order(&node, last);
        }
        for n in 1..=7 {
            self.check_branch(history.on_branch(n), files);
        }
        for n in 0..history.unreachable.len() {
            self.check_branch(history.on_lost(n), files);
        }
    }

    /// Checks one commit of `main` or of a branch; `position` counts from the chain's oldest.
    pub fn check_commit(
        &mut self,
        node: &CommitNode,
        position: usize,
        fetched: Option<TreeContent>,
    ) {
        self.progress.step();
        if !node
            .kind
            .is_some_and(|kind| stands_on(kind, node.chain, position))
        {
            let actual = node.kind.map_or("another subject", CommitKind::name);
            self.findings.inconsistent(
                node.session,
                node.place(),
                "a commit of this place",
                actual,
            );
        }
        let Some(kind) = node.kind else {
            return self.check_signature(node);
        };
        *self.commits.kinds.entry(kind).or_default() += 1;
        let line = self.claim_line(node, kind);
        let number = line.as_ref().map(ExpectedCommit::number);
        if node.misspelt {
            return self.not_looked_at(kind);
        }
        self.check_signature(node);
        self.check_parents(node, kind, number);
        let fetched = match fetched {
            // Names, files, message: all that is left is what it has to agree with.
            Some(TreeContent::Answer(answered)) if kind == CommitKind::Interaction => {
                return self.check_answered(node, *answered, line.as_ref());
            }
            Some(TreeContent::Files(files)) => Some(files),
            _ => None,
        };
        let files = fetched.and_then(|fetched| self.take_files(node, fetched));
        let Some((entries, files)) = files else {
            return self.not_looked_at(kind);
        };
        let anchored = self.check_document(node, kind, &files, line.as_ref());
        if anchored.is_none() {
            self.not_looked_at(kind);
        }
        self.check_names(node, kind, &entries, anchored);
    }

    /// The entries and files of a commit; what could not be read is a finding.
    fn take_files(
        &mut self,
        node: &CommitNode,
        fetched: FetchedFiles,
    ) -> Option<(Vec<TreeEntry>, CommitFiles)> {
        let FetchedFiles {
            entries,
            files: read,
        } = fetched;
        let entries = match entries {
            Ok(entries) => entries,
            Err(fault) => {
                let place = format!("{}, tree {}", node.place(), node.tree);
                self.findings.object(node.session, place, &fault);
                return None;
            }
        };
        let mut files = CommitFiles::default();
        for (at, content) in read {
            let Some(entry) = entries.get(at) else {
                continue;
            };
            match content {
                Ok(bytes) => files.0.push((entry.name.clone(), bytes)),
                Err(fault) => {
                    let place = format!("{} (object {})", node.file(&entry.name), entry.id);
                    self.findings.object(node.session, place, &fault);
                }
            }
        }
        Some((entries, files))
    }

    /// A start or end that can't be read is a block that nobody has looked at.
    fn not_looked_at(&mut self, kind: CommitKind) {
        if matches!(kind, CommitKind::SessionStart | CommitKind::SessionEnd) {
            self.findings.unlooked(AuditQuestion::NotBefore);
        }
    }

    /// The line that the commit names: of its kind, and of its time.
    fn claim_line(&mut self, node: &CommitNode, kind: CommitKind) -> Option<ExpectedCommit> {
        let log = node.log?;
        let line = self.lines.records.get(&log)?;
        let (fits, name, time) = match &line {
            ExpectedCommit::Whole(line) => (
                names_kind(&line.line.event, kind),
                line.line.event.name(),
                line.line.time,
            ),
            ExpectedCommit::Packed(answer) => {
                (kind == CommitKind::Interaction, "response", answer.time)
            }
        };
        if !fits {
            let actual = format!("Log of a {name} line (log line {})", line.number());
            let expected = format!("Log of the line of this {}", kind.name());
            self.findings
                .inconsistent(node.session, node.place(), expected, actual);
            return None;
        }
        self.lines.records.count_commit(&log);
        if matches!(kind, CommitKind::SessionStart | CommitKind::SessionEnd) {
            self.commits.anchored.insert(log);
        }
        if !node.misspelt {
            self.findings
                .same(node.session, || node.place(), "date", &time, &node.time);
        }
        Some(line)
    }

    fn check_signature(&mut self, node: &CommitNode) {
        let line = node.log.and_then(|log| self.lines.records.number(&log));
        let Some(key) = self.keys.at(line, node).filter(|_| !node.misspelt) else {
            return;
        };
        if node.signer == Some(key) {
            return;
        }
        let actual = match node.signer {
            Some(other) => format!("a signature by {other}"),
            None => "a signature that does not verify".to_owned(),
        };
        // Behind the last segment, without a log, a commit covers no line that *signed by* speaks
        // of.
        let apart = self.is_apart(node);
        for question in [AuditQuestion::Consistent, AuditQuestion::SignedBy] {
            if !apart || question == AuditQuestion::Consistent {
                let expected = format!("a signature by the key in force, {key}");
                self.findings.add(
                    question,
                    node.session,
                    node.place(),
                    expected,
                    actual.clone(),
                );
            }
        }
    }

    fn check_parents(&mut self, node: &CommitNode, kind: CommitKind, line: Option<u64>) {
        let history = self.history;
        let chain_parent = node.parents.first().and_then(|id| history.node(id));
        let tip = self.main_tip(line);
        let mut wrong = |expected: String| {
            let actual: Vec<String> = node.parents.iter().map(ToString::to_string).collect();
            let actual = if actual.is_empty() {
                "none".to_owned()
            } else {
                actual.join(", ")
            };
            self.findings.inconsistent(
                node.session,
                format!("{}, parents", node.place()),
                expected,
                actual,
            );
        };
        match (kind, node.parents.as_slice(), chain_parent) {
            // A root, and the commits on `main`, whose first parent is `main`'s tip because they
            // stand on it.
            (CommitKind::Genesis, [], _) => {}
            (CommitKind::Checkpoint | CommitKind::KeyRotate, [_], Some(_)) => {}
            (CommitKind::Close, [_, end], Some(_)) => {
                let end = history.node(end);
                let same = |end: &CommitNode| {
                    end.tree == node.tree && end.log == node.log && end.session == node.session
                };
                if !end.is_some_and(|end| end.kind == Some(CommitKind::SessionEnd) && same(&end)) {
                    wrong(
                        "main's tip and the end of this session, with the same tree and Log"
                            .to_owned(),
                    );
                }
            }
            (CommitKind::Interaction | CommitKind::SessionEnd, [_], Some(parent))
                if same_branch(node, &parent) => {}
            (CommitKind::SessionStart, parents, Some(parent)) => {
                let Some((position, tip)) = tip else { return };
                let expected = match same_branch(node, &parent) {
                    true if parent.main_reached < Some(position) => vec![parent.id, tip],
                    true => vec![parent.id],
                    false => vec![tip],
                };
                if parents != expected {
                    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
                    wrong(expected.join(", "));
                }
            }
            (CommitKind::Close, ..) => wrong("main's tip and the end of this session".to_owned()),
            (CommitKind::Genesis, ..) => wrong("none".to_owned()),
            (CommitKind::Checkpoint | CommitKind::KeyRotate, ..) => wrong("main's tip".to_owned()),
            _ => wrong("the tip of the session's branch".to_owned()),
        }
    }

    /// `main`'s tip at a line: its newest commit of an earlier line. A line that is not known is
    /// newer than all.
    fn main_tip(&self, line: Option<u64>) -> Option<(u32, Oid)> {
        let before = |number: &Option<u64>| {
            number.is_none_or(|number| line.is_none_or(|line| number < line))
        };
        let position = self.main_lines.iter().rposition(before)?;
        let at = self.history.main.get(position)?;
        let node = self.history.graph.get(*at as usize)?;
        Some((u32::try_from(position).ok()?, node.id))
    }

    /// Exactly the files of the table, mode 100644.
    fn check_names(
        &mut self,
        node: &CommitNode,
        kind: CommitKind,
        entries: &[TreeEntry],
        anchored: Option<bool>,
    ) {
        let same = |anchored| {
            let names = kind.files(anchored);
            let plain =
                |(entry, name): (&TreeEntry, &str)| entry.mode == "100644" && entry.name == name;
            names.len() == entries.len() && entries.iter().zip(names).all(plain)
        };
        if anchored.map_or_else(|| same(true) || same(false), same) {
            return;
        }
        let mut names: Vec<String> = entries
            .iter()
            .take(MAX_FILES)
            .map(|entry| format!("{} {}", entry.mode, entry.name))
            .collect();
        if entries.len() > MAX_FILES {
            names.push(format!("and {} more", entries.len() - MAX_FILES));
        }
        let spelled = |anchored| -> Vec<String> {
            kind.files(anchored)
                .into_iter()
                .map(|name| format!("100644 {name}"))
                .collect()
        };
        let place = format!("{}, tree {}", node.place(), node.tree);
        let expected = spelled(anchored.unwrap_or(true)).join(", ");
        self.findings
            .inconsistent(node.session, place, expected, names.join(", "));
    }

    /// The message that document and line ask for, to the byte.
    pub fn check_message(&mut self, node: &CommitNode, subject: Subject, record: Hash32) {
        let message = CommitMessage {
            subject,
            record,
            log: node.log.unwrap_or(Hash32::ZERO),
        }
        .render();
        if half(Hash32::digest(message.as_bytes())) == node.message {
            return;
        }
        let actual = self
            .repository
            .commit(&node.id)
            .map(|commit| commit.message)
            .unwrap_or_default();
        let differs = message
            .lines()
            .zip(actual.lines())
            .find(|(expected, actual)| expected != actual);
        let (expected, actual) =
            differs.unwrap_or(("subject, empty line and trailers only", "another ending"));
        self.findings.inconsistent(
            node.session,
            format!("{}, message", node.place()),
            expected,
            actual,
        );
    }

    /// Checks the commits of one branch, oldest first, with the sessions that they tell of.
    pub fn check_branch(
        &mut self,
        commits: impl Iterator<Item = CommitNode>,
        files: &mut ReadAheadConsumer<'_, '_>,
    ) {
        let mut last = None;
        let mut unknown: Vec<CommitNode> = Vec::new();
        for (position, node) in commits.enumerate() {
            self.check_commit(&node, position, files.next());
            last = self.check_order(&node, last);
            if self.is_apart(&node) {
                self.commits.apart += 1;
            } else if node
                .log
                .is_some_and(|log| self.lines.records.number(&log).is_some())
            {
                for earlier in unknown.drain(..) {
                    self.report_unknown(&earlier, true, "a line before that of the next commit");
                }
            } else {
                unknown.push(node);
            }
        }
        for node in unknown {
            let ended = node
                .session
                .and_then(|id| self.lines.state.session(id))
                .is_some_and(|s| !s.is_open());
            self.report_unknown(&node, ended, "a line of the log (give the whole audit.log)");
        }
    }

    /// Commits of a chain stand in the order of their lines; one of `main` has its line in its own
    /// segment.
    pub fn check_order(&mut self, node: &CommitNode, last: Option<u64>) -> Option<u64> {
        let number = node.log.and_then(|log| self.lines.records.number(&log));
        if let (Some(last), Some(number)) = (last, number)
            && number <= last
        {
            let (expected, actual) = (
                format!("a Log after line {last}"),
                format!("log line {number}"),
            );
            self.findings
                .inconsistent(node.session, node.place(), expected, actual);
        }
        if number.is_none() && matches!(node.chain, Some(CommitChain::Main(_))) {
            self.report_unknown(node, !node.parents.is_empty(), "a line of the log");
        }
        number.or(last)
    }

    /// Whether a commit stands behind the last segment of a ledger whose log is not at hand: it
    /// counts for *consistent* alone.
    pub fn is_apart(&self, node: &CommitNode) -> bool {
        !self.has_log
            && matches!(
                node.kind,
                Some(CommitKind::SessionStart | CommitKind::Interaction)
            )
            && matches!(node.chain, Some(CommitChain::Branch(..)))
            && node
                .log
                .is_some_and(|log| self.lines.records.number(&log).is_none())
    }

    /// A commit without its line: the log is shorter than it says; and contradicts it, where a
    /// longer log can't help.
    fn report_unknown(&mut self, node: &CommitNode, contradicts: bool, expected: &str) {
        let log = node
            .log
            .map_or("no Log trailer".to_owned(), |log| format!("Log {log}"));
        let actual = format!(
            "{log}, in none of the {} lines at hand",
            self.lines.state.count()
        );
        if contradicts {
            self.findings
                .inconsistent(node.session, node.place(), expected, actual.clone());
        }
        self.findings.add(
            AuditQuestion::Complete,
            node.session,
            node.place(),
            expected,
            actual,
        );
    }

    /// A file of one hash and a newline.
    pub fn check_hash_file(
        &mut self,
        node: &CommitNode,
        files: &CommitFiles,
        name: &str,
        hash: Hash32,
    ) {
        let Some(bytes) = files.get(name) else { return };
        if !crate::record::ledger::commit::is_hash_file(bytes, hash) {
            let actual = String::from_utf8_lossy(bytes)
                .chars()
                .take(80)
                .collect::<String>();
            let (expected, actual) = (
                format!("'{hash}\\n'"),
                format!("'{}'", actual.escape_debug()),
            );
            self.findings
                .inconsistent(node.session, node.file(name), expected, actual);
        }
    }
}

/// Whether commits of a kind stand at a place: genesis first on `main`, closes and the like after
/// it, a session's commits on branches.
fn stands_on(kind: CommitKind, chain: Option<CommitChain>, position: usize) -> bool {
    match kind {
        CommitKind::Genesis => chain == Some(CommitChain::Main(0)),
        CommitKind::Close | CommitKind::Checkpoint | CommitKind::KeyRotate => {
            matches!(chain, Some(CommitChain::Main(_))) && position > 0
        }
        CommitKind::SessionStart | CommitKind::Interaction | CommitKind::SessionEnd => {
            matches!(chain, Some(CommitChain::Branch(..) | CommitChain::Lost(..)))
        }
    }
}

fn same_branch(node: &CommitNode, parent: &CommitNode) -> bool {
    match (node.chain, parent.chain) {
        (Some(CommitChain::Branch(own, _)), Some(CommitChain::Branch(other, _))) => own == other,
        (Some(CommitChain::Lost(own, _)), Some(CommitChain::Lost(other, _))) => own == other,
        _ => false,
    }
}

fn names_kind(event: &Event, kind: CommitKind) -> bool {
    match kind {
        CommitKind::Genesis => matches!(event, Event::Genesis { .. }),
        CommitKind::SessionStart => matches!(event, Event::SessionStart { .. }),
        CommitKind::Interaction => matches!(event, Event::Response { .. }),
        CommitKind::SessionEnd | CommitKind::Close => matches!(event, Event::SessionEnd { .. }),
        CommitKind::Checkpoint => matches!(event, Event::Checkpoint { .. }),
        CommitKind::KeyRotate => matches!(event, Event::KeyRotate { .. }),
    }
}
