//! The database as the lines of a newer ledger leave it, line by line.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::record::bitcoin::block::{Anchor, Block, Header, Network, Source};
use crate::record::canon;
use crate::record::context::event::EventKind;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::auth_key::{KIND, REVOKED};
use crate::record::ledger::documents::{
    AuthorityState, Close, Genesis, Record, Rotate, SessionDoc,
};
use crate::record::ledger::erased::TOMBSTONE;
use crate::record::ledger::exchange::row_id;
use crate::record::log::entry::{Event, Line};
use crate::record::signature::PublicKey;
use crate::record::tree::Frontier;
use crate::store::{
    ArtifactRow, AuthKeyRow, EventRow, ExchangeRow, KernelRow, LedgerHead, OutcomeUpdate,
    SessionRow, WriteStore,
};

use super::rows::{document, header, line_only_outcome, silent, unreadable};
use super::{ADOPT, AdoptFault, AdoptionResult, LostArtifact, NewerCommit, row};
use crate::recorder::batch::transaction::append;
use crate::recorder::{ABANDONED, RecorderError};

/// A prompt line that has no outcome so far.
struct UnansweredPrompt {
    n: u64,
    /// The place of its turn among all turns.
    place: u64,
    line: Line,
    hash: Hash32,
}

/// The database being brought forward.
pub struct Adoption<'a> {
    tx: &'a mut WriteStore,
    /// The place of the next turn.
    next_place: u64,
    head: LedgerHead,
    frontier: Frontier,
    network: Network,
    sessions: BTreeMap<Hash32, SessionRow>,
    /// New prompts without an outcome, by session and number.
    asked: BTreeMap<(Hash32, u64), UnansweredPrompt>,
    new_sessions: u64,
    /// Ids of exchanges and artifacts whose texts and salts were in the lost database only.
    lost: Vec<String>,
    exchanges_lost: u64,
    /// Artifact ids of keys that were added after the backup.
    keys: Vec<String>,
    /// All other artifacts that somebody made.
    artifacts: Vec<LostArtifact>,
    /// Tombstones of erasings.
    erasings: u64,
    /// Whether the line before is of an earlier taking over, behind which stands what was lost then.
    after_adopt: bool,
}

impl<'a> Adoption<'a> {
    /// Starts where the database stands.
    pub fn begin(tx: &'a mut WriteStore, head: LedgerHead) -> Result<Self, RecorderError> {
        let frontier =
            Frontier::from_bytes(&head.frontier).map_err(|e| unreadable("head.frontier", e))?;
        let genesis: Genesis =
            canon::parse(tx.genesis()?.as_bytes()).map_err(|e| unreadable("head.genesis", e))?;
        let open = tx
            .open_sessions()?
            .into_iter()
            .map(|session| (session.id, session))
            .collect();
        let next_place = tx.next_turn_place()?;
        Ok(Adoption {
            tx,
            next_place,
            head,
            frontier,
            network: genesis.network,
            sessions: open,
            asked: BTreeMap::new(),
            new_sessions: 0,
            lost: Vec::new(),
            exchanges_lost: 0,
            keys: Vec::new(),
            artifacts: Vec::new(),
            erasings: 0,
            after_adopt: false,
        })
    }

    /// Appends a line; returns its number.
    pub fn line(&mut self, line: &Line, text: &str) -> Result<u64, RecorderError> {
        Ok(append(
            self.tx,
            &mut self.head,
            &mut self.frontier,
            line,
            text,
        )?)
    }

    /// Appends a commit of the line `line`; returns its number.
    pub fn commit(
        &mut self,
        line: u64,
        commit: &NewerCommit,
        end: Option<u64>,
    ) -> Result<u64, RecorderError> {
        use crate::record::ledger::commit::CommitKind::{Checkpoint, Close, KeyRotate, SessionEnd};
        let segment = match commit.kind {
            SessionEnd | Close | Checkpoint | KeyRotate => {
                Some((self.head.segment_lines, line + 1))
            }
            _ => None,
        };
        let n = self.head.commits;
        let tree_of = end.filter(|_| commit.kind == Close);
        let none = BTreeMap::new();
        let files = if tree_of.is_some() {
            &none
        } else {
            &commit.files
        };
        self.tx
            .put_commit(&row(n, line, commit, segment, tree_of), files)?;
        self.head.commits += 1;
        Ok(n)
    }

    /// Does to the rows what the line says.
    pub fn event(
        &mut self,
        n: u64,
        line: &Line,
        commits: &[&NewerCommit],
    ) -> Result<(), RecorderError> {
        let kind = match &line.event {
            Event::Artifact { kind, .. } => kind.as_str(),
            _ => "",
        };
        let after_adopt = std::mem::replace(&mut self.after_adopt, kind == ADOPT);
        self.erasings += u64::from(kind == TOMBSTONE && !after_adopt);
        match &line.event {
            Event::SessionStart { .. } => {
                self.start(line, document(commits, "session.json")?, header(commits)?)?
            }
            Event::Prompt { hash, seq } => self.prompt(n, line, *hash, *seq)?,
            Event::Response { seq, chain, .. } => {
                let record = document(commits, "record.json")?;
                self.response(n, line, *seq, *chain, &record)?;
            }
            Event::ResponseFail {
                seq,
                reason,
                exchange,
                ..
            } => {
                self.no_answer(n, line, (*seq, ExchangeOutcome::Failed), reason, *exchange)?;
            }
            Event::Denied {
                seq,
                reason,
                exchange,
            } => {
                self.no_answer(n, line, (*seq, ExchangeOutcome::Denied), reason, *exchange)?;
            }
            Event::BtcAnchor { btc, block, header } => self.anchor(line, *btc, *block, *header)?,
            Event::Artifact { kind, id, hash } => self.artifact(n, line, (kind, id), *hash)?,
            Event::SessionEnd { .. } => {
                self.end(line, document(commits, "close.json")?, header(commits)?)?
            }
            Event::KeyRotate { .. } => {
                let rotate: Rotate = document(commits, "rotate.json")?;
                self.head.signer = rotate.new_signer;
            }
            _ => {}
        }
        if matches!(
            line.event,
            Event::SessionEnd { .. } | Event::Checkpoint { .. } | Event::KeyRotate { .. }
        ) {
            self.head.segment_lines = n + 1;
            self.head.segment_bytes = self.head.bytes;
            self.head.segment_at = line.time;
        }
        if let Some(session) = line.session.and_then(|id| self.sessions.get_mut(&id)) {
            session.last_at = line.time;
        }
        Ok(())
    }

    fn start(
        &mut self,
        line: &Line,
        doc: SessionDoc,
        header: Option<Header>,
    ) -> Result<(), RecorderError> {
        let anchor = Anchor {
            block: doc.block,
            header,
        };
        self.know_key(doc.auth_key_hash, line)?;
        if self.tx.kernel(doc.kernel_hash)?.is_none() {
            // Its text is in the lost database only; the row is what sessions refer to.
            self.tx.remember(&KernelRow {
                hash: doc.kernel_hash,
                document: String::new(),
            })?;
        }
        let row = SessionRow {
            uuid: row_id("session", doc.session_id, 0),
            id: doc.session_id,
            started_at: line.time,
            ended_at: None,
            phase: doc.phase,
            tier: doc.tier,
            kernel_hash: doc.kernel_hash,
            host_role: doc.host_role,
            model: doc.model,
            auth_key_hash: doc.auth_key_hash,
            branch: doc.branch.clone(),
            anchor,
            prompts: 0,
            interactions: 0,
            chain_head: doc.session_id,
            last_at: line.time,
        };
        self.tx.put_block(&row.anchor)?;
        self.tx.put(&row)?;
        self.head.last_branch = Some(doc.branch);
        self.new_sessions += 1;
        self.sessions.insert(row.id, row);
        Ok(())
    }

    /// A key that was added after the backup: sessions refer to it.
    fn know_key(&mut self, hash: Hash32, line: &Line) -> Result<(), RecorderError> {
        let keys = self.tx.auth_keys()?;
        if keys.iter().any(|key| key.hash == hash) {
            return Ok(());
        }
        let name = format!("adopted-{}", hash.short16());
        Ok(self.tx.put(&AuthKeyRow {
            hash,
            name,
            added_at: line.time,
            revoked_at: None,
        })?)
    }

    fn session(&mut self, line: &Line) -> Result<&mut SessionRow, RecorderError> {
        let id = line
            .session
            .ok_or_else(|| unreadable("a log line", "it names no session"))?;
        self.sessions
            .get_mut(&id)
            .ok_or_else(|| unreadable(&format!("session {id}"), "it is not open"))
    }

    fn prompt(&mut self, n: u64, line: &Line, hash: Hash32, seq: u64) -> Result<(), RecorderError> {
        let session = self.session(line)?;
        session.prompts = seq;
        let id = session.id;
        let place = self.take_place();
        self.asked.insert(
            (id, seq),
            UnansweredPrompt {
                n,
                place,
                line: line.clone(),
                hash,
            },
        );
        Ok(())
    }

    fn response(
        &mut self,
        n: u64,
        line: &Line,
        seq: u64,
        chain: Hash32,
        record: &Record,
    ) -> Result<(), RecorderError> {
        let session = self.session(line)?;
        session.interactions += 1;
        session.chain_head = chain;
        let update = OutcomeUpdate {
            outcome: ExchangeOutcome::Answered,
            turn_aurora: Some(row_id("turn_aurora", session.id, seq)),
            refusal: Some(record.refusal),
            response_commitment: Some(record.response_hash),
            chain_entry: Some(chain),
            ..line_only_outcome(n, line, record.exchange_hash)
        };
        self.outcome(line, seq, &update, record.authority_state)
    }

    fn no_answer(
        &mut self,
        n: u64,
        line: &Line,
        (seq, outcome): (u64, ExchangeOutcome),
        reason: &str,
        exchange: Hash32,
    ) -> Result<(), RecorderError> {
        let update = OutcomeUpdate {
            outcome,
            reason: Some(reason.to_owned()),
            ..line_only_outcome(n, line, exchange)
        };
        self.outcome(line, seq, &update, AuthorityState::Ok)
    }

    /// A prompt gets its outcome; a newer one gets its rows too, without texts.
    fn outcome(
        &mut self,
        line: &Line,
        seq: u64,
        update: &OutcomeUpdate,
        state: AuthorityState,
    ) -> Result<(), RecorderError> {
        let session = self.session(line)?.clone();
        let exchange = row_id("exchange", session.id, seq);
        let asked = self.asked.remove(&(session.id, seq));
        if let Some(asked) = &asked {
            let decision = if update.outcome == ExchangeOutcome::Denied {
                "deny"
            } else {
                "allow"
            };
            self.exchange(&session, seq, asked, (decision, state))?;
        }
        if let Some(turn_id) = update.turn_aurora {
            let known = self.tx.exchange(exchange)?;
            let prompt_line = known
                .as_ref()
                .map_or(update.outcome_line, |row| row.prompt_line);
            let state = known.map_or(state, |row| row.authority_state);
            let refusal = update.refusal.unwrap_or(false);
            let answer = silent(
                (turn_id, prompt_line),
                session.uuid,
                line.time,
                (false, refusal),
                state,
            );
            let place = self.take_place();
            self.tx.put_turn_in_place(&answer, place)?;
            self.execution(exchange, turn_id, line, update.outcome_line)?;
            if asked.is_none() {
                self.lose(exchange.to_string());
            }
        }
        Ok(self.tx.put_outcome(exchange, update)?)
    }

    /// Takes the next place of a turn: turns are numbered in the order of their lines, and of a
    /// question no row can be written before its outcome is known.
    fn take_place(&mut self) -> u64 {
        let place = self.next_place;
        self.next_place += 1;
        place
    }

    /// A prompt that was in the database when it was saved has its place in a thread, and so has
    /// its lost answer.
    fn execution(
        &mut self,
        exchange: Uuid,
        event: Uuid,
        line: &Line,
        n: u64,
    ) -> Result<(), RecorderError> {
        let Some(turn) = self.tx.thread_turn(exchange)? else {
            return Ok(());
        };
        let index = self.tx.next_index(turn.thread)?;
        Ok(self.tx.put_all(&[EventRow {
            event,
            thread: turn.thread,
            index,
            kind: EventKind::Execution,
            turn: exchange,
            line: n,
            created_at: line.time,
            bytes: None,
            digest: None,
        }])?)
    }

    fn lose(&mut self, exchange: String) {
        self.lost.push(exchange);
        self.exchanges_lost += 1;
    }

    /// The rows of a prompt whose text is lost.
    fn exchange(
        &mut self,
        session: &SessionRow,
        seq: u64,
        asked: &UnansweredPrompt,
        (decision, authority_state): (&str, AuthorityState),
    ) -> Result<(), RecorderError> {
        let (id, time) = (session.id, asked.line.time);
        let turn_user = row_id("turn_user", id, seq);
        let question = silent(
            (turn_user, asked.n),
            session.uuid,
            time,
            (true, false),
            authority_state,
        );
        self.tx.put_turn_in_place(&question, asked.place)?;
        let row = ExchangeRow {
            exchange_id: row_id("exchange", id, seq),
            session: session.uuid,
            turn_user,
            bundle_hash: None,
            bundle_json: None,
            prompt_hash: None,
            created_at: time,
            seq,
            model: session.model.clone(),
            decision: decision.to_owned(),
            authority_state,
            exclusions: "[]".to_owned(),
            params: None,
            request: None,
            salt: None,
            prompt_commitment: asked.hash,
            prompt_line: asked.n,
            not_kept: None,
            outcome: None,
        };
        self.tx.put(&row)?;
        self.lose(row.exchange_id.to_string());
        Ok(())
    }

    fn anchor(
        &mut self,
        line: &Line,
        height: u32,
        hash: Hash32,
        header: Header,
    ) -> Result<(), RecorderError> {
        let network = self.network;
        // The line does not say who told; a block taken from a file is what it is now.
        let block = Block {
            hash,
            height,
            network,
            source: Source::File,
            time: header.fields().time,
        };
        let anchor = Anchor {
            block,
            header: Some(header),
        };
        self.session(line)?.anchor = anchor.clone();
        Ok(self.tx.put_block(&anchor)?)
    }

    fn artifact(
        &mut self,
        n: u64,
        line: &Line,
        (kind, id): (&str, &str),
        commitment: Hash32,
    ) -> Result<(), RecorderError> {
        let row = ArtifactRow {
            line: n,
            kind: kind.to_owned(),
            id: id.to_owned(),
            document: None,
            salt: None,
            commitment,
        };
        self.tx.put_artifact(&row)?;
        self.lose_artifact(kind, id);
        let Some(revoked) = id.strip_suffix(REVOKED).filter(|_| kind == KIND) else {
            return Ok(());
        };
        // A key that was revoked after the backup must not come back to life with it.
        for key in self.tx.auth_keys()? {
            if revoked.ends_with(&format!("-{}", key.hash.short16())) {
                self.tx.revoke_auth_key(key.hash, line.time)?;
            }
        }
        Ok(())
    }

    /// Remembers what is lost of an artifact. Keys are told by what they open, erasings by their
    /// number, and of an earlier taking over nothing is missed.
    fn lose_artifact(&mut self, kind: &str, id: &str) {
        self.lost.push(id.to_owned());
        match kind {
            KIND if id.ends_with(REVOKED) => {}
            KIND => self.keys.push(id.to_owned()),
            TOMBSTONE | ADOPT => {}
            _ => self.artifacts.push(LostArtifact {
                kind: kind.to_owned(),
                id: id.to_owned(),
            }),
        }
    }

    fn end(
        &mut self,
        line: &Line,
        doc: Close,
        header: Option<Header>,
    ) -> Result<(), RecorderError> {
        let session = self.session(line)?;
        session.anchor = Anchor {
            block: doc.block,
            header,
        };
        session.ended_at = Some(line.time);
        session.last_at = line.time;
        let (anchor, uuid, progress, id) = (
            session.anchor.clone(),
            session.uuid,
            session.progress(),
            session.id,
        );
        self.tx.put_block(&anchor)?;
        self.tx.move_session(uuid, &progress)?;
        self.tx.forget_placeholders(uuid)?;
        self.sessions.remove(&id);
        Ok(())
    }

    /// Writes the sessions that are still open, their unanswered prompts, and the head; returns
    /// what was taken over, the head, and the ids of what is lost.
    pub fn finish(
        mut self,
        from: &LedgerHead,
        key: PublicKey,
    ) -> Result<(AdoptionResult, LedgerHead, Vec<String>), RecorderError> {
        if self.head.signer != key {
            return Err(AdoptFault::Signer {
                theirs: self.head.signer,
                ours: key,
            }
            .into());
        }
        for session in self.sessions.values() {
            self.tx.move_session(session.uuid, &session.progress())?;
        }
        for ((id, seq), asked) in std::mem::take(&mut self.asked) {
            // Closing its session ends it as abandoned. Its salt is lost with its text, and another
            // would stand beside the tombstone.
            let session = self.sessions.get(&id).cloned().ok_or_else(|| {
                unreadable(
                    &format!("prompt {seq} of session {id}"),
                    format!("closed, and not {ABANDONED}"),
                )
            })?;
            self.exchange(&session, seq, &asked, ("allow", AuthorityState::Ok))?;
        }
        self.head.frontier = self.frontier.to_bytes();
        self.tx.move_head(from, &self.head)?;
        let known = self.tx.auth_keys()?;
        let unknown = |id: &String| {
            !known
                .iter()
                .any(|key| id.ends_with(&format!("-{}", key.hash.short16())))
        };
        let taken = AdoptionResult {
            from_line: from.lines + 1,
            to_line: self.head.lines,
            commits: self.head.commits - from.commits,
            sessions: self.new_sessions,
            texts_lost: self.exchanges_lost,
            keys_lost: self.keys.iter().filter(|id| unknown(id)).cloned().collect(),
            artifacts_lost: self.artifacts,
            open: u64::try_from(self.sessions.len()).unwrap_or(u64::MAX),
            erasings: self.erasings,
        };
        Ok((taken, self.head, self.lost))
    }
}
