//! The document and small files of each commit, against the line that it belongs to (format,
//! sections 5 and 6).

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

use super::history::CommitNode;
use super::interaction::InteractionCommit;
use crate::verify::checker::{Checker, CommitFiles};
use crate::verify::log::records::{DocumentDigest, ExpectedCommit, RecordLine};
use crate::verify::report::AuditQuestion;

impl Checker<'_> {
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
        self.findings.add(
            AuditQuestion::Consistent,
            node.session,
            place,
            expected,
            error.to_string(),
        );
    }

    /// Reports every pair of unequal texts: what, as the line says it, as the document says it.
    fn agree(&mut self, node: &CommitNode, kind: CommitKind, pairs: &[(&str, String, String)]) {
        for (what, expected, actual) in pairs {
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
                &[(
                    "created_at",
                    line.line.time.to_string(),
                    document.created_at.to_string(),
                )],
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
            && let Event::SessionStart {
                btc,
                branch,
                block,
                auth,
                ..
            } = &line.line.event
        {
            self.agree(
                node,
                kind,
                &[
                    (
                        "session_id",
                        named(line.line.session),
                        document.session_id.to_string(),
                    ),
                    (
                        "opened_at",
                        line.line.time.to_string(),
                        document.opened_at.to_string(),
                    ),
                    (
                        "prev_log",
                        line.prev.to_string(),
                        document.prev_log.to_string(),
                    ),
                    (
                        "block.height",
                        btc.to_string(),
                        document.block.height.to_string(),
                    ),
                    (
                        "block.hash",
                        block.to_string(),
                        document.block.hash.to_string(),
                    ),
                    ("branch", branch.clone(), document.branch.clone()),
                    (
                        "auth_key_hash",
                        auth.to_string(),
                        document.auth_key_hash.to_string(),
                    ),
                ],
            );
        }
        self.check_block(node, document.session_id, &document.block, files);
        self.start_session(node, &document);
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
            self.findings.add(
                AuditQuestion::Consistent,
                node.session,
                place,
                expected,
                actual,
            );
        }
        self.check_drift(node, document);
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
                    (
                        "session_id",
                        named(line.line.session),
                        document.session_id.to_string(),
                    ),
                    (
                        "timestamp",
                        line.line.time.to_string(),
                        document.timestamp.to_string(),
                    ),
                    (
                        "response_hash",
                        hash.to_string(),
                        document.response_hash.to_string(),
                    ),
                    ("seq", seq.to_string(), document.seq.to_string()),
                    ("model", model.clone(), document.model.clone()),
                    (
                        "chain_entry",
                        chain.to_string(),
                        document.chain_entry.to_string(),
                    ),
                ],
            );
            if let Some(asked) = &line.asked {
                let asked_at = (
                    "asked_at",
                    asked.time.to_string(),
                    document.asked_at.to_string(),
                );
                let prompt = (
                    "prompt_hash",
                    asked.hash.to_string(),
                    document.prompt_hash.to_string(),
                );
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
                btc,
                interactions,
                block,
                close,
                ..
            } = &line.line.event
        {
            self.agree(
                node,
                kind,
                &[
                    (
                        "session_id",
                        named(line.line.session),
                        document.session_id.to_string(),
                    ),
                    (
                        "closed_at",
                        line.line.time.to_string(),
                        document.closed_at.to_string(),
                    ),
                    (
                        "block.height",
                        btc.to_string(),
                        document.block.height.to_string(),
                    ),
                    (
                        "block.hash",
                        block.to_string(),
                        document.block.hash.to_string(),
                    ),
                    (
                        "interactions",
                        interactions.to_string(),
                        document.interactions.to_string(),
                    ),
                    (
                        "session_close_hash",
                        close.to_string(),
                        document.session_close_hash.to_string(),
                    ),
                ],
            );
        }
        self.check_block(node, document.session_id, &document.block, files);
        self.end_session(node, &document);
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
                    (
                        "created_at",
                        line.line.time.to_string(),
                        document.created_at.to_string(),
                    ),
                    (
                        "log_head",
                        line.prev.to_string(),
                        document.log_head.to_string(),
                    ),
                    (
                        "block.height",
                        line.line.height.to_string(),
                        document.block.height.to_string(),
                    ),
                    (
                        "sessions_open",
                        line.open.to_string(),
                        document.sessions_open.to_string(),
                    ),
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
            .as_ref()
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
            self.findings
                .add(AuditQuestion::Consistent, None, place, expected, actual);
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
                &[(
                    "created_at",
                    line.line.time.to_string(),
                    document.created_at.to_string(),
                )],
            );
            if let Some(key) = self.key_at(Some(line.number), node) {
                self.agree(
                    node,
                    kind,
                    &[(
                        "old_signer",
                        key.to_string(),
                        document.old_signer.to_string(),
                    )],
                );
            }
            let so_far = self
                .keys
                .iter()
                .filter(|known| known.after.is_some_and(|after| after <= line.number));
            let so_far = so_far.map(|known| known.key);
            let so_far: Vec<PublicKey> = so_far.collect();
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
        let mut before = self
            .keys
            .iter()
            .filter(|known| known.after.is_some_and(|after| after < number));
        if before.any(|known| known.key == *key) {
            let expected = "a new signer that was not in force before";
            let place = node.file(CommitKind::KeyRotate.document());
            self.findings.add(
                AuditQuestion::Consistent,
                None,
                place,
                expected,
                key.to_string(),
            );
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
            self.findings.add(
                AuditQuestion::Consistent,
                None,
                node.file("allowed_signers"),
                expected,
                actual,
            );
        }
    }
}

fn named(session: Option<Hash32>) -> String {
    session.map_or("-".to_owned(), |id| id.to_string())
}
