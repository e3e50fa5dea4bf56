//! Each session's own chain: id, every chain entry, close hash (format, sections 4 and 11.3).

use std::collections::HashSet;

use crate::record::hash::Hash32;
use crate::record::ledger::documents::{Close, Record, SessionDoc, ValidatorFlags};
use crate::record::log::chain::{session_close_hash, session_id};
use crate::record::log::entry::DriftClass;
use crate::record::log::rules::{PromptOutcome, SessionState};

use crate::verify::checker::Checker;
use crate::verify::ledger::history::CommitNode;
use crate::verify::report::{AuditQuestion, SessionBlock};

/// A session as its commits tell it.
pub(crate) struct SessionCheck {
    pub branch: String,
    pub start: SessionBlock,
    pub end: Option<SessionBlock>,
    /// The last chain entry; none before the first answer.
    last: Option<Hash32>,
    pub interactions: u64,
    seqs: HashSet<u64>,
    /// Its `session.json`; none when it started before what is checked.
    pub document: Option<SessionDoc>,
}

impl SessionCheck {
    /// A session that was open where the check begins, as its lines told it.
    pub fn carried(session: &SessionState) -> Self {
        let seqs = (1u64..)
            .zip(&session.turns)
            .filter(|(_, turn)| turn.outcome == PromptOutcome::Answered);
        let start = session.start.btc;
        SessionCheck {
            branch: session.start.branch.clone(),
            start: if start == 0 {
                SessionBlock::Local
            } else {
                SessionBlock::Height(start)
            },
            end: None,
            last: session.last_chain,
            interactions: session.answered,
            seqs: seqs.map(|(seq, _)| seq).collect(),
            document: None,
        }
    }
}

impl Checker<'_> {
    pub(crate) fn start_session(&mut self, node: &CommitNode, document: &SessionDoc) {
        let id = document.session_id;
        let place = || node.file("session.json");
        let block_hash = document.block.hash.to_string();
        let expected = session_id(document.auth_key_hash, &block_hash, document.prev_log);
        self.findings
            .same(Some(id), place, "session_id", &expected, &id);
        self.findings.same(
            Some(id),
            place,
            "branch",
            &document.block.branch(),
            &document.branch,
        );
        self.check_on_branch(node, &document.branch);
        let session = SessionCheck {
            branch: document.branch.clone(),
            start: height(&document.block),
            end: None,
            last: None,
            interactions: 0,
            seqs: HashSet::new(),
            document: Some(document.clone()),
        };
        if self.sessions.insert(id, session).is_some() {
            self.findings.add(
                AuditQuestion::Consistent,
                Some(id),
                place(),
                "one start of a session",
                "another",
            );
        } else {
            self.met.push(id);
        }
    }

    /// The session of a commit, if it has started and not ended.
    fn open_session(&mut self, node: &CommitNode, id: Hash32) -> Option<&mut SessionCheck> {
        let actual = match self.sessions.get(&id) {
            Some(session) if session.end.is_none() => None,
            Some(_) => Some("after its session_end commit"),
            None => Some("without its session_start commit before"),
        };
        if let Some(actual) = actual {
            let expected = format!("a commit of the open session {id}");
            self.findings.add(
                AuditQuestion::Consistent,
                Some(id),
                node.place(),
                expected,
                actual,
            );
            return None;
        }
        self.sessions.get_mut(&id)
    }

    /// Takes an answer into its session; `entry` is its chain entry, recomputed.
    pub(crate) fn answer(&mut self, node: &CommitNode, document: &Record, entry: Hash32) {
        let id = document.session_id;
        if self.is_apart(node) {
            self.lines.answered_apart.insert((id, document.seq));
        }
        let Some(session) = self.open_session(node, id) else {
            return;
        };
        let prev = session.last.unwrap_or(id);
        let branch = session.branch.clone();
        let fresh = session.seqs.insert(document.seq);
        session.interactions += 1;
        // The entry as it stands: the next one was made from it, so one wrong entry is one finding.
        session.last = Some(document.chain_entry);
        self.check_on_branch(node, &branch);
        let place = || node.file("record.json");
        self.findings
            .same(Some(id), place, "prev", &prev, &document.prev);
        self.findings.same(
            Some(id),
            place,
            "chain_entry",
            &entry,
            &document.chain_entry,
        );
        if !fresh || document.seq == 0 {
            let actual = format!("seq {}", document.seq);
            self.findings.add(
                AuditQuestion::Consistent,
                Some(id),
                place(),
                "a seq of its own, from 1",
                actual,
            );
        }
    }

    pub(crate) fn end_session(&mut self, node: &CommitNode, document: &Close) {
        let id = document.session_id;
        let Some(session) = self.open_session(node, id) else {
            return;
        };
        let (last, count, branch) = (session.last, session.interactions, session.branch.clone());
        session.end = Some(height(&document.block));
        // Nothing of the session is taken any more, and a million numbers are not kept.
        session.seqs = HashSet::new();
        self.check_on_branch(node, &branch);
        let place = || node.file("close.json");
        let final_entry = last.unwrap_or(Hash32::ZERO);
        self.findings.same(
            Some(id),
            place,
            "final_chain_hash",
            &final_entry,
            &document.final_chain_hash,
        );
        self.findings.same(
            Some(id),
            place,
            "interactions",
            &count,
            &document.interactions,
        );
        let expected = session_close_hash(id, &document.block.hash.to_string(), last);
        self.findings.same(
            Some(id),
            place,
            "session_close_hash",
            &expected,
            &document.session_close_hash,
        );
    }

    /// Each flag of a record has its `drift` line, and each `drift` line its flag.
    pub(crate) fn check_drift(&mut self, node: &CommitNode, document: &Record) {
        let Some(session) = self.lines.state.session(document.session_id) else {
            return;
        };
        let Some(turn) = session.turn(document.seq) else {
            return;
        };
        // An open session may still get the line: it is missing, and contradicts nothing yet.
        let missing = if session.is_open() {
            AuditQuestion::Complete
        } else {
            AuditQuestion::Consistent
        };
        for class in DriftClass::ALL {
            let (flagged, logged) = (flag(&document.validator, class), turn.drifted(class));
            let place = || node.file("record.json");
            if flagged && !logged {
                let expected = format!(
                    "a drift line of class {} with seq {}",
                    class.name(),
                    document.seq
                );
                self.findings.add(
                    missing,
                    Some(document.session_id),
                    place(),
                    expected,
                    "none in the log",
                );
            } else if logged && !flagged {
                let expected = format!(
                    "a validator flag for the drift line of class {}",
                    class.name()
                );
                self.findings.add(
                    AuditQuestion::Consistent,
                    Some(document.session_id),
                    place(),
                    expected,
                    "none",
                );
            }
        }
    }
}

fn flag(flags: &ValidatorFlags, class: DriftClass) -> bool {
    match class {
        DriftClass::Authority => flags.authority_drift,
        DriftClass::Evidence => flags.evidence_drift,
        DriftClass::Tone => flags.tone_drift,
        DriftClass::Schema => !flags.schema_ok,
        DriftClass::Completeness => flags.completeness_drift,
    }
}

fn height(block: &crate::record::bitcoin::block::Block) -> SessionBlock {
    if block.is_local() {
        SessionBlock::Local
    } else {
        SessionBlock::Height(block.height)
    }
}
