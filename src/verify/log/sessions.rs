//! Each session's own chain: id, every chain entry, close hash (format, sections 5 and 12 step 3).

use std::collections::{HashMap, HashSet};

use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::documents::{Close, Record, SessionDoc, ValidatorFlags};
use crate::record::log::chain::{session_close_hash, session_id};
use crate::record::log::entry::DriftClass;
use crate::record::log::rules::{LogState, PromptOutcome, SessionState};

use crate::verify::ledger::history::{CommitChain, CommitNode, branch_name};
use crate::verify::report::{AuditQuestion, Findings, SessionBlock};

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
    fn carried(session: &SessionState) -> Self {
        let seqs = (1u64..)
            .zip(&session.turns)
            .filter(|(_, turn)| turn.outcome == PromptOutcome::Ended(ExchangeOutcome::Answered));
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

/// Sessions as their commits tell them.
#[derive(Default)]
pub(crate) struct SessionChains {
    by_id: HashMap<Hash32, SessionCheck>,
    /// In the order in which their starts were met.
    pub met: Vec<Hash32>,
}

impl SessionChains {
    /// A session of which some commit was met, or that was open where the check begins.
    pub fn get(&self, id: Hash32) -> Option<&SessionCheck> {
        self.by_id.get(&id)
    }

    /// How many of them start on no block.
    pub fn count_local(&self) -> usize {
        let local = |session: &&SessionCheck| session.start == SessionBlock::Local;
        self.by_id.values().filter(local).count()
    }

    /// Takes over the sessions that are open where the check begins.
    pub fn carry(&mut self, state: &LogState) {
        let open = state.open_sessions();
        let carried = open.map(|session| (session.id, SessionCheck::carried(session)));
        self.by_id.extend(carried);
    }

    /// Takes the start of a session.
    pub fn start(&mut self, node: &CommitNode, document: &SessionDoc, findings: &mut Findings) {
        let id = document.session_id;
        let place = || node.file("session.json");
        let block_hash = document.block.hash.to_string();
        let expected = session_id(document.auth_key_hash, &block_hash, document.prev_log);
        findings.same(Some(id), place, "session_id", &expected, &id);
        findings.same(
            Some(id),
            place,
            "branch",
            &document.block.branch(),
            &document.branch,
        );
        check_on_branch(node, &document.branch, findings);
        let session = SessionCheck {
            branch: document.branch.clone(),
            start: height(&document.block),
            end: None,
            last: None,
            interactions: 0,
            seqs: HashSet::new(),
            document: Some(document.clone()),
        };
        if self.by_id.insert(id, session).is_some() {
            findings.inconsistent(Some(id), place(), "one start of a session", "another");
        } else {
            self.met.push(id);
        }
    }

    /// The session of a commit, if it has started and not ended.
    fn open(
        &mut self,
        node: &CommitNode,
        id: Hash32,
        findings: &mut Findings,
    ) -> Option<&mut SessionCheck> {
        let actual = match self.by_id.get(&id) {
            Some(session) if session.end.is_none() => None,
            Some(_) => Some("after its session_end commit"),
            None => Some("without its session_start commit before"),
        };
        if let Some(actual) = actual {
            let expected = format!("a commit of the open session {id}");
            findings.inconsistent(Some(id), node.place(), expected, actual);
            return None;
        }
        self.by_id.get_mut(&id)
    }

    /// Takes an answer into its session; `entry` is its chain entry, recomputed.
    pub fn answer(
        &mut self,
        node: &CommitNode,
        document: &Record,
        entry: Hash32,
        findings: &mut Findings,
    ) {
        let id = document.session_id;
        let Some(session) = self.open(node, id, findings) else {
            return;
        };
        let prev = session.last.unwrap_or(id);
        let fresh = session.seqs.insert(document.seq);
        session.interactions += 1;
        // The entry as it stands: the next one was made from it, so one wrong entry is one finding.
        session.last = Some(document.chain_entry);
        check_on_branch(node, &session.branch, findings);
        let place = || node.file("record.json");
        findings.same(Some(id), place, "prev", &prev, &document.prev);
        findings.same(
            Some(id),
            place,
            "chain_entry",
            &entry,
            &document.chain_entry,
        );
        if !fresh || document.seq == 0 {
            let actual = format!("seq {}", document.seq);
            findings.inconsistent(Some(id), place(), "a seq of its own, from 1", actual);
        }
    }

    /// Takes the end of a session.
    pub fn end(&mut self, node: &CommitNode, document: &Close, findings: &mut Findings) {
        let id = document.session_id;
        let Some(session) = self.open(node, id, findings) else {
            return;
        };
        let (last, count) = (session.last, session.interactions);
        session.end = Some(height(&document.block));
        // Nothing of the session is taken any more, and a million numbers are not kept.
        session.seqs = HashSet::new();
        check_on_branch(node, &session.branch, findings);
        let place = || node.file("close.json");
        let final_entry = last.unwrap_or(Hash32::ZERO);
        findings.same(
            Some(id),
            place,
            "final_chain_hash",
            &final_entry,
            &document.final_chain_hash,
        );
        findings.same(
            Some(id),
            place,
            "interactions",
            &count,
            &document.interactions,
        );
        let expected = session_close_hash(id, &document.block.hash.to_string(), last);
        findings.same(
            Some(id),
            place,
            "session_close_hash",
            &expected,
            &document.session_close_hash,
        );
    }
}

/// Each flag of a record has its `drift` line, and each `drift` line its flag.
pub(crate) fn check_drift(
    node: &CommitNode,
    document: &Record,
    state: &LogState,
    findings: &mut Findings,
) {
    let Some(session) = state.session(document.session_id) else {
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
        let name = class.name();
        let (question, expected, actual) = match (flagged, logged) {
            (true, false) => (
                missing,
                format!("a drift line of class {name} with seq {}", document.seq),
                "none in the log",
            ),
            (false, true) => (
                AuditQuestion::Consistent,
                format!("a validator flag for the drift line of class {name}"),
                "none",
            ),
            _ => continue,
        };
        let (session, place) = (Some(document.session_id), node.file("record.json"));
        findings.add(question, session, place, expected, actual);
    }
}

/// A session's branch is the one its commits stand on.
fn check_on_branch(node: &CommitNode, branch: &str, findings: &mut Findings) {
    let consistent = AuditQuestion::Consistent;
    match node.chain {
        Some(CommitChain::Branch(n, _)) if format!("branch-{n}") != branch => {
            let (expected, actual) = (format!("on {branch}"), format!("on {}", branch_name(n)));
            findings.add(consistent, node.session, node.place(), expected, actual);
        }
        Some(CommitChain::Lost(..)) => {
            let place = format!("refs/heads/{branch}");
            let expected = format!("a ref that leads to {}", node.place());
            findings.add(
                consistent,
                node.session,
                place,
                expected,
                "another, or none",
            );
        }
        _ => {}
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
