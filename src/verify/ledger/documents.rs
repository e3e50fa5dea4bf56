//! The document and small files of each commit, against the line that it belongs to (format,
//! sections 6 and 7).

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::bitcoin::block::Block;
use crate::record::canon::{self, CanonError};
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, Subject};
use crate::record::ledger::documents::{CheckpointDoc, Close, Genesis, Record, Rotate, SessionDoc};
use crate::record::log::chain::chain_entry;
use crate::record::log::entry::Event;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::commits::{CommitCheck, CommitFiles};
use super::history::CommitNode;
use super::interaction::InteractionCommit;
use crate::verify::log::records::{DocumentDigest, ExpectedCommit, RecordLine};
use crate::verify::log::sessions::check_drift;
use crate::verify::report::AuditQuestion;

impl CommitCheck<'_> {
    /// Checks the commit's document; whether its block is a real one is given back, none when that
    /// can't be told.
    pub fn check_document(
        &mut self,
        node: &CommitNode,
        kind: CommitKind,
        files: &CommitFiles,
        claimed: Option<&ExpectedCommit>,
    ) -> Option<bool> {
        let bytes = files.get(kind.document())?;
        let record = Hash32::digest(bytes);
        if kind == CommitKind::Interaction {
            let subject = self.record_document(node, bytes, record, files, claimed)?;
            self.check_message(node, subject, record);
            return Some(true);
        }
        let line = match claimed {
            Some(ExpectedCommit::Whole(line)) => Some(&**line),
            _ => None,
        };
        if let Some(named) = line.and_then(|line| line.line.event.record()) {
            self.findings.same(
                node.session,
                || node.file(kind.document()),
                "SHA-256",
                &named,
                &record,
            );
        }
        let (subject, anchored) = match kind {
            CommitKind::Genesis => (self.genesis_document(node, bytes, files, line)?, true),
            CommitKind::SessionStart => self.session_document(node, bytes, files, line)?,
            CommitKind::Interaction => return None,
            CommitKind::SessionEnd => self.close_document(node, bytes, files, line)?,
            CommitKind::Close => self.close_on_main(node, bytes)?,
            CommitKind::Checkpoint => (self.checkpoint_document(node, bytes, line)?, true),
            CommitKind::KeyRotate => (self.rotate_document(node, bytes, files, line)?, true),
        };
        self.check_message(node, subject, record);
        Some(anchored)
    }

    fn parse<T: Serialize + DeserializeOwned>(
        &mut self,
        node: &CommitNode,
        kind: CommitKind,
        bytes: &[u8],
    ) -> Option<T> {
        match canon::parse(bytes) {
            Ok(document) => Some(document),
            Err(error) => {
                self.not_canonical(node, kind, &error);
                None
            }
        }
    }

    fn not_canonical(&mut self, node: &CommitNode, kind: CommitKind, error: &CanonError) {
        let expected = format!("a canonical {}", kind.document());
        let place = node.file(kind.document());
        self.findings
            .inconsistent(node.session, place, expected, error.to_string());
    }

    /// Reports every row whose two texts are not equal.
    fn agree(&mut self, node: &CommitNode, kind: CommitKind, rows: &[LineComparison]) {
        for (what, expected, actual) in rows {
            self.findings.same(
                node.session,
                || node.file(kind.document()),
                what,
                expected,
                actual,
            );
        }
    }

    fn genesis_document(
        &mut self,
        node: &CommitNode,
        bytes: &[u8],
        files: &CommitFiles,
        line: Option<&RecordLine>,
    ) -> Option<Subject> {
        let kind = CommitKind::Genesis;
        let document: Genesis = self.parse(node, kind, bytes)?;
        if let Some(line) = line {
            self.agree(
                node,
                kind,
                &[row("created_at", &line.line.time, &document.created_at)],
            );
        }
        self.check_signers(node, files, &[document.signer]);
        Some(Subject::Genesis)
    }

    fn session_document(
        &mut self,
        node: &CommitNode,
        bytes: &[u8],
        files: &CommitFiles,
        line: Option<&RecordLine>,
    ) -> Option<(Subject, bool)> {
        let kind = CommitKind::SessionStart;
        let document: SessionDoc = self.parse(node, kind, bytes)?;
        if let Some(line) = line
            && let Event::SessionStart { branch, auth, .. } = &line.line.event
        {
            let opened = ("opened_at", document.opened_at);
            let mut rows = session_rows(line, document.session_id, opened, &document.block);
            rows.push(row("prev_log", &line.prev, &document.prev_log));
            rows.push(row("branch", branch, &document.branch));
            rows.push(row("auth_key_hash", auth, &document.auth_key_hash));
            self.agree(node, kind, &rows);
        }
        self.check_block(node, document.session_id, &document.block, files);
        self.sessions.start(node, &document, self.findings);
        let subject = Subject::SessionStart {
            session: document.session_id,
            height: document.block.height,
        };
        Some((subject, !document.block.is_local()))
    }

    /// A record with its files, against its line and its session.
    fn record_document(
        &mut self,
        node: &CommitNode,
        bytes: &[u8],
        record: Hash32,
        files: &CommitFiles,
        claimed: Option<&ExpectedCommit>,
    ) -> Option<Subject> {
        let kind = CommitKind::Interaction;
        let document = match canon::parse_in_order::<Record>(bytes) {
            Ok(document) => document,
            Err(error) => {
                let unpacked = claimed.and_then(|claimed| self.whole_line(claimed));
                self.check_named(node, unpacked.as_ref(), record);
                self.not_canonical(node, kind, &error);
                return None;
            }
        };
        self.check_against_line(
            node,
            &document,
            record,
            DocumentDigest::by(&document, record),
            claimed,
        );
        self.check_hash_file(node, files, "prompt_hash", document.prompt_hash);
        self.check_hash_file(node, files, "response_hash", document.response_hash);
        self.check_hash_file(node, files, "chain_entry", document.chain_entry);
        self.check_hash_file(node, files, "session", document.session_id);
        let (prev, prompt, response) =
            (document.prev, document.prompt_hash, document.response_hash);
        self.answer(
            node,
            &document,
            chain_entry(prev, prompt, response, document.timestamp),
        );
        let (session, seq, chain) = (document.session_id, document.seq, document.chain_entry);
        Some(Subject::Interaction {
            session,
            seq,
            chain,
        })
    }

    /// An answer that is right in itself, against its line and its session.
    pub fn check_answered(
        &mut self,
        node: &CommitNode,
        answered: InteractionCommit,
        claimed: Option<&ExpectedCommit>,
    ) {
        let InteractionCommit {
            document,
            record,
            said,
        } = answered;
        self.check_against_line(node, &document, record, said, claimed);
        self.answer(node, &document, document.chain_entry);
    }

    /// Takes an answer into its session; `entry` is its chain entry, recomputed.
    fn answer(&mut self, node: &CommitNode, document: &Record, entry: Hash32) {
        if self.is_apart(node) {
            let answered = (document.session_id, document.seq);
            self.lines.answered_apart.insert(answered);
        }
        self.sessions.answer(node, document, entry, self.findings);
    }

    /// The line that a commit claims; of a packed one read again.
    fn whole_line(&self, claimed: &ExpectedCommit) -> Option<RecordLine> {
        match claimed {
            ExpectedCommit::Whole(line) => Some((**line).clone()),
            ExpectedCommit::Packed(answer) => self.lines.records.unpack(self.repository, answer),
        }
    }

    /// A record against its line; of a packed line the digest tells whether they agree.
    fn check_against_line(
        &mut self,
        node: &CommitNode,
        document: &Record,
        record: Hash32,
        said: DocumentDigest,
        claimed: Option<&ExpectedCommit>,
    ) {
        let Some(claimed) = claimed else { return };
        let agrees = if let ExpectedCommit::Packed(answer) = claimed {
            Some(answer.agrees(said))
        } else {
            None
        };
        let before = self.findings.count(AuditQuestion::Consistent);
        if agrees != Some(true)
            && let Some(line) = self.whole_line(claimed)
        {
            self.check_named(node, Some(&line), record);
            self.record_against_line(node, document, &line);
        }
        if agrees == Some(false) && self.findings.count(AuditQuestion::Consistent) == before {
            let place = node.file(CommitKind::Interaction.document());
            let (expected, actual) = ("what its response line says", "something else");
            self.findings
                .inconsistent(node.session, place, expected, actual);
        }
        check_drift(node, document, &self.lines.state, self.findings);
    }

    /// The document is the one that its line names.
    fn check_named(&mut self, node: &CommitNode, line: Option<&RecordLine>, record: Hash32) {
        let place = || node.file(CommitKind::Interaction.document());
        if let Some(named) = line.and_then(|line| line.line.event.record()) {
            self.findings
                .same(node.session, place, "SHA-256", &named, &record);
        }
    }

    fn record_against_line(&mut self, node: &CommitNode, document: &Record, line: &RecordLine) {
        let kind = CommitKind::Interaction;
        if let Event::Response {
            hash,
            seq,
            model,
            chain,
            ..
        } = &line.line.event
        {
            self.agree(
                node,
                kind,
                &[
                    row(
                        "session_id",
                        &named(line.line.session),
                        &document.session_id,
                    ),
                    row("timestamp", &line.line.time, &document.timestamp),
                    row("response_hash", hash, &document.response_hash),
                    row("seq", seq, &document.seq),
                    row("model", model, &document.model),
                    row("chain_entry", chain, &document.chain_entry),
                ],
            );
            if let Some(asked) = &line.asked {
                let asked_at = row("asked_at", &asked.time, &document.asked_at);
                let prompt = row("prompt_hash", &asked.hash, &document.prompt_hash);
                self.agree(node, kind, &[asked_at, prompt]);
            }
        }
    }

    fn close_document(
        &mut self,
        node: &CommitNode,
        bytes: &[u8],
        files: &CommitFiles,
        line: Option<&RecordLine>,
    ) -> Option<(Subject, bool)> {
        let kind = CommitKind::SessionEnd;
        let document: Close = self.parse(node, kind, bytes)?;
        if let Some(line) = line
            && let Event::SessionEnd {
                interactions,
                close,
                ..
            } = &line.line.event
        {
            let closed = ("closed_at", document.closed_at);
            let mut rows = session_rows(line, document.session_id, closed, &document.block);
            rows.push(row("interactions", interactions, &document.interactions));
            rows.push(row(
                "session_close_hash",
                close,
                &document.session_close_hash,
            ));
            self.agree(node, kind, &rows);
        }
        self.check_block(node, document.session_id, &document.block, files);
        self.sessions.end(node, &document, self.findings);
        let (session, close) = (document.session_id, document.session_close_hash);
        let subject = Subject::SessionEnd {
            session,
            close,
            height: document.block.height,
        };
        Some((subject, !document.block.is_local()))
    }

    /// The close on `main` has its session end's tree; what the tree says is checked there.
    fn close_on_main(&mut self, node: &CommitNode, bytes: &[u8]) -> Option<(Subject, bool)> {
        let document: Close = self.parse(node, CommitKind::Close, bytes)?;
        let subject = Subject::Close {
            session: document.session_id,
            close: document.session_close_hash,
        };
        Some((subject, !document.block.is_local()))
    }

    fn checkpoint_document(
        &mut self,
        node: &CommitNode,
        bytes: &[u8],
        line: Option<&RecordLine>,
    ) -> Option<Subject> {
        let kind = CommitKind::Checkpoint;
        let document: CheckpointDoc = self.parse(node, kind, bytes)?;
        if let Some(line) = line {
            self.agree(
                node,
                kind,
                &[
                    row("created_at", &line.line.time, &document.created_at),
                    row("log_head", &line.prev, &document.log_head),
                    row("block.height", &line.line.height, &document.block.height),
                    row("sessions_open", &line.open, &document.sessions_open),
                ],
            );
        }
        self.check_claimed_block(node, &document.block);
        Some(Subject::Checkpoint {
            head: document.log_head,
        })
    }

    /// A checkpoint's block is a claim; still it is the one that the lines name at its height.
    fn check_claimed_block(&mut self, node: &CommitNode, block: &Block) {
        let known = self
            .lines
            .blocks
            .get(&block.height)
            .is_some_and(|named| named.contains(&block.hash));
        let local = block.height == 0 && block.hash == Hash32::ZERO;
        let network = self
            .genesis
            .is_none_or(|genesis| genesis.network == block.network);
        let fits = if block.is_local() {
            local
        } else {
            known && !local
        };
        if !fits || !network {
            let expected =
                "the block that the log names at the line's BTC_HEIGHT, or the local one";
            let actual = format!(
                "block {} of height {} on {}",
                block.hash,
                block.height,
                block.network.name()
            );
            let place = node.file(CommitKind::Checkpoint.document());
            self.findings.inconsistent(None, place, expected, actual);
        }
    }

    fn rotate_document(
        &mut self,
        node: &CommitNode,
        bytes: &[u8],
        files: &CommitFiles,
        line: Option<&RecordLine>,
    ) -> Option<Subject> {
        let kind = CommitKind::KeyRotate;
        let document: Rotate = self.parse(node, kind, bytes)?;
        if let Some(line) = line {
            self.agree(
                node,
                kind,
                &[row("created_at", &line.line.time, &document.created_at)],
            );
            if let Some(key) = self.keys.at(Some(line.number), node) {
                self.agree(node, kind, &[row("old_signer", &key, &document.old_signer)]);
            }
            let so_far: Vec<PublicKey> = self.keys.before(line.number + 1).collect();
            self.check_signers(node, files, &so_far);
            self.check_is_new(node, line.number, &document.new_signer);
        }
        Some(Subject::KeyRotate {
            key: Hash32::digest(document.new_signer.as_bytes()),
        })
    }

    /// A key comes into force once: with a key twice, nobody could say from it when a commit was
    /// signed.
    fn check_is_new(&mut self, node: &CommitNode, number: u64, key: &PublicKey) {
        if self.keys.before(number).any(|known| known == *key) {
            let expected = "a new signer that was not in force before";
            let place = node.file(CommitKind::KeyRotate.document());
            self.findings
                .inconsistent(None, place, expected, key.to_string());
        }
    }

    /// `allowed_signers`: a line for each key, in the order in which they came into force.
    fn check_signers(&mut self, node: &CommitNode, files: &CommitFiles, keys: &[PublicKey]) {
        let expected: String = keys.iter().map(PublicKey::allowed_signers_line).collect();
        let Some(bytes) = files.get("allowed_signers") else {
            return;
        };
        if bytes != expected.as_bytes() {
            let actual = String::from_utf8_lossy(bytes)
                .chars()
                .take(400)
                .collect::<String>();
            let (expected, actual) = (
                expected.escape_debug().to_string(),
                actual.escape_debug().to_string(),
            );
            self.findings
                .inconsistent(None, node.file("allowed_signers"), expected, actual);
        }
    }
}

/// What it is, as the line says it, and as the document says it.
type LineComparison = (&'static str, String, String);

fn row(what: &'static str, expected: &dyn Display, actual: &dyn Display) -> LineComparison {
    (what, expected.to_string(), actual.to_string())
}

/// What the lines of a session's start and of its end both say.
fn session_rows(
    line: &RecordLine,
    session: Hash32,
    (what, time): (&'static str, Seconds),
    block: &Block,
) -> Vec<LineComparison> {
    let mut rows = vec![
        row("session_id", &named(line.line.session), &session),
        row(what, &line.line.time, &time),
    ];
    if let Event::SessionStart {
        btc, block: hash, ..
    }
    | Event::SessionEnd {
        btc, block: hash, ..
    } = &line.line.event
    {
        rows.push(row("block.height", btc, &block.height));
        rows.push(row("block.hash", hash, &block.hash));
    }
    rows
}

fn named(session: Option<Hash32>) -> String {
    session.map_or("-".to_owned(), |id| id.to_string())
}
