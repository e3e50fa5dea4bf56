//! Opening, anchoring and closing a session inside a ledger transaction (format, sections 4 to 6).

use crate::ledger::Oid;
use crate::record::bitcoin::block::{Anchor, Block};
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, MAIN, Subject, branch_ref};
use crate::record::ledger::documents::{Close, Format, SessionDoc};
use crate::record::ledger::exchange::row_id;
use crate::record::log::chain;
use crate::record::log::entry::Event;
use crate::record::time::Seconds;
use crate::store::{KernelRow, ReadStore, SessionRow};

use super::kernel;
use super::settings::settle_settings;
use crate::recorder::batch::transaction::{
    EntryFiles, LedgerTransaction, NewCommit, NewLine, document, oid,
};
use crate::recorder::recovery::unsigned::refuse_column;
use crate::recorder::{RecorderError, blocks};

/// What a session is opened under; a session is resumed only under the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTerms {
    /// Hash of the auth key that opens the session: `H(auth_key)`.
    pub auth_key_hash: Hash32,
    /// The kernel in force.
    pub kernel_hash: Hash32,
    /// Its canonical JSON.
    pub kernel_json: String,
    /// Which model is asked.
    pub model: String,
    /// From the configuration.
    pub host_role: String,
    /// From the kernel.
    pub phase: String,
    /// From the kernel.
    pub tier: u8,
}

impl SessionTerms {
    /// Whether a session runs under these terms.
    pub fn fit(&self, session: &SessionRow) -> bool {
        session.auth_key_hash == self.auth_key_hash
            && session.runs_under(self.kernel_hash, &self.model, &self.host_role)
    }
}

/// The open session that fits, if there is one.
pub fn resumable(
    store: &ReadStore,
    terms: &SessionTerms,
) -> Result<Option<SessionRow>, RecorderError> {
    Ok(store
        .open_sessions()?
        .into_iter()
        .rev()
        .find(|session| terms.fit(session)))
}

/// An open session by its ledger id.
pub fn open_session(store: &ReadStore, id: Hash32) -> Result<SessionRow, RecorderError> {
    let row = store.session(id)?;
    let row = row.filter(|session| session.ended_at.is_none());
    let row = row.ok_or(RecorderError::NotOpen { session: id })?;
    refuse_session(store, &row)?;
    Ok(row)
}

/// Refuses to go on in a session that does not fit its exchanges.
pub fn refuse_session(store: &ReadStore, session: &SessionRow) -> Result<(), RecorderError> {
    refuse_column(store.session_fault(session)?)
}

/// Writes session start: its lines, its commit, its row.
pub fn open(
    transaction: &mut LedgerTransaction<'_>,
    terms: &SessionTerms,
    anchor: &Anchor,
    now: Seconds,
) -> Result<SessionRow, RecorderError> {
    kernel::check_in_force(&*transaction.tx, terms.kernel_hash)?;
    let time = transaction.line_time(now)?;
    blocks::check(transaction, anchor, time)?;
    settle_settings(transaction, now)?;
    let doc = session_document(terms, &anchor.block, transaction.head.hash, time);
    let (bytes, record) = document("session.json", &doc)?;
    let (id, reference) = (doc.session_id, branch_ref(&doc.branch));
    let tip = transaction.tip(&reference)?;
    let parents = start_parents(transaction, tip.as_ref().map(|row| row.n), &reference)?;
    let (line, last) = start_lines(transaction, &doc, record, tip.is_some())?;
    let mut files = EntryFiles::from([("session.json", bytes)]);
    put_header(&mut files, anchor);
    let subject = Subject::SessionStart {
        session: id,
        height: doc.block.height,
    };
    let new = NewCommit {
        subject,
        record,
        line,
        files: &files,
        reference,
        parents,
        segment: None,
        tree_of: None,
    };
    transaction.commit(CommitKind::SessionStart, new)?;
    transaction.head.last_branch = Some(doc.branch.clone());
    let row = SessionRow {
        uuid: row_id("session", id, 0),
        id,
        started_at: time,
        ended_at: None,
        phase: terms.phase.clone(),
        tier: terms.tier,
        kernel_hash: terms.kernel_hash,
        host_role: terms.host_role.clone(),
        model: terms.model.clone(),
        auth_key_hash: terms.auth_key_hash,
        branch: doc.branch,
        anchor: anchor.clone(),
        prompts: 0,
        interactions: 0,
        chain_head: id,
        last_at: last.time,
    };
    transaction.tx.remember(&KernelRow {
        hash: terms.kernel_hash,
        document: terms.kernel_json.clone(),
    })?;
    transaction.tx.put_block(anchor)?;
    transaction.tx.put(&row)?;
    Ok(row)
}

/// What is said of a session that starts on this block, behind the log's line `prev_log`.
fn session_document(
    terms: &SessionTerms,
    block: &Block,
    prev_log: Hash32,
    opened_at: Seconds,
) -> SessionDoc {
    SessionDoc {
        auth_key_hash: terms.auth_key_hash,
        block: block.clone(),
        branch: block.branch(),
        format: Format,
        host_role: terms.host_role.clone(),
        kernel_hash: terms.kernel_hash,
        model: terms.model.clone(),
        opened_at,
        phase: terms.phase.clone(),
        prev_log,
        session_id: chain::session_id(terms.auth_key_hash, &block.hash.to_string(), prev_log),
        tier: terms.tier,
    }
}

/// The lines of a session start: the first, which its commit belongs to, and the last.
fn start_lines(
    transaction: &mut LedgerTransaction<'_>,
    doc: &SessionDoc,
    record: Hash32,
    is_on_a_known_branch: bool,
) -> Result<(NewLine, NewLine), RecorderError> {
    let start = Event::SessionStart {
        btc: doc.block.height,
        branch: doc.branch.clone(),
        block: doc.block.hash,
        auth: doc.auth_key_hash,
        record,
    };
    let known = Event::AuthOk {
        auth: doc.auth_key_hash.short16(),
    };
    let last = transaction.head.last_branch.clone();
    let branch = branch_event(last, &doc.branch, is_on_a_known_branch);
    let mut write = |event| {
        let session = Some(doc.session_id);
        transaction.line_at(doc.opened_at, doc.block.height, session, event)
    };
    let first = write(start)?;
    if let Some(event) = branch {
        write(event)?;
    }
    Ok((first, write(known)?))
}

/// The block's header as a file of a commit, where there is one.
fn put_header(files: &mut EntryFiles, anchor: &Anchor) {
    if let Some(header) = anchor.header {
        files.insert("btc_header", format!("{header}\n").into_bytes());
    }
}

/// `[branch tip, or main if the branch is new; then main's tip unless it is the first parent or an
/// ancestor of it]`.
///
/// `main`'s tip is an ancestor of the branch's exactly when `main` has not moved since the last
/// session start on the branch: each start takes in all of `main` there was, and nothing else
/// brings it there.
fn start_parents(
    transaction: &LedgerTransaction<'_>,
    tip: Option<u64>,
    reference: &str,
) -> Result<Vec<Oid>, RecorderError> {
    let main = transaction.main_tip()?;
    let main_id = oid(&main)?;
    if tip.is_none() {
        return Ok(vec![main_id]);
    }
    let Some(tip) = transaction.tip(reference)? else {
        return Ok(vec![main_id]);
    };
    let tip_id = oid(&tip)?;
    let last_start = last_start(transaction, reference)?;
    if last_start.is_some_and(|n| main.n < n) {
        Ok(vec![tip_id])
    } else {
        Ok(vec![tip_id, main_id])
    }
}

/// Number of the newest session start on a ref.
fn last_start(
    transaction: &LedgerTransaction<'_>,
    reference: &str,
) -> Result<Option<u64>, RecorderError> {
    Ok(transaction
        .tx
        .last_of_kind(reference, CommitKind::SessionStart)?)
}

/// `branch_create` or `branch_switch`, right after `session_start`; none on the branch of the session
/// before.
fn branch_event(last: Option<String>, branch: &str, exists: bool) -> Option<Event> {
    let branch = branch.to_owned();
    match last {
        _ if !exists => Some(Event::BranchCreate { branch }),
        Some(last) if last != branch => Some(Event::BranchSwitch {
            from: last,
            to: branch,
        }),
        _ => None,
    }
}

/// Logs `btc_anchor` when the block is higher than the session's last; the row is changed, not yet
/// written back.
pub fn take_anchor(
    transaction: &mut LedgerTransaction<'_>,
    session: &mut SessionRow,
    anchor: &Anchor,
    now: Seconds,
) -> Result<bool, RecorderError> {
    let Some(header) = anchor.header else {
        return Ok(false);
    };
    let (btc, block) = (anchor.block.height, anchor.block.hash);
    if btc <= session.anchor.block.height {
        return Ok(false);
    }
    blocks::check(transaction, anchor, transaction.line_time(now)?)?;
    let line = transaction.line(
        now,
        btc,
        Some(session.id),
        Event::BtcAnchor { btc, block, header },
    )?;
    transaction.tx.put_block(anchor)?;
    session.anchor = anchor.clone();
    session.last_at = line.time;
    Ok(true)
}

/// A session that was closed.
#[derive(Clone, Debug)]
pub struct SessionClose {
    /// The session as it ended.
    pub session: SessionRow,
    /// Its close hash.
    pub close_hash: Hash32,
    /// The close on `main`.
    pub commit: Oid,
    /// Whether it had numbers for secrets, which are forgotten.
    pub forgot: bool,
}

/// Writes session end: line, commit, tree head, segment, and the merge on `main`, as one step.
///
/// The block is the one given, unless the session has seen a higher one: a lagging source does not
/// take a session back.
pub fn close(
    transaction: &mut LedgerTransaction<'_>,
    mut session: SessionRow,
    anchor: &Anchor,
    now: Seconds,
) -> Result<SessionClose, RecorderError> {
    let anchor = if !anchor.block.is_local() && anchor.block.height < session.anchor.block.height {
        session.anchor.clone()
    } else {
        anchor.clone()
    };
    refuse_column(transaction.tx.answers_fault(&session)?)?;
    let time = transaction.line_time(now)?;
    blocks::check(transaction, &anchor, time)?;
    let block = &anchor.block;
    let last = (session.interactions > 0).then_some(session.chain_head);
    let close_hash = chain::session_close_hash(session.id, &block.hash.to_string(), last);
    let doc = Close {
        block: block.clone(),
        closed_at: time,
        final_chain_hash: last.unwrap_or(Hash32::ZERO),
        format: Format,
        interactions: session.interactions,
        session_close_hash: close_hash,
        session_id: session.id,
    };
    let (bytes, record) = document("close.json", &doc)?;
    let (btc, interactions) = (block.height, session.interactions);
    let event = Event::SessionEnd {
        btc,
        interactions,
        block: block.hash,
        close: close_hash,
        record,
    };
    let line = transaction.line_at(time, btc, Some(session.id), event)?;
    let parts = SessionEndParts {
        anchor: &anchor,
        document: bytes,
        record,
        close: close_hash,
        line,
    };
    let commit = end_commits(transaction, &session, parts)?;
    transaction.tx.put_block(&anchor)?;
    session.anchor = anchor;
    session.ended_at = Some(time);
    session.last_at = time;
    transaction.move_session(&session)?;
    let forgot = transaction.tx.forget_placeholders(session.uuid)?;
    Ok(SessionClose {
        session,
        close_hash,
        commit,
        forgot,
    })
}

/// What the commits of a session's end are made from.
struct SessionEndParts<'a> {
    anchor: &'a Anchor,
    /// The bytes of `close.json`.
    document: Vec<u8>,
    /// Their hash.
    record: Hash32,
    /// The session's close hash.
    close: Hash32,
    line: NewLine,
}

/// The session end on its branch, and the close on `main` with the same tree.
fn end_commits(
    transaction: &mut LedgerTransaction<'_>,
    session: &SessionRow,
    parts: SessionEndParts<'_>,
) -> Result<Oid, RecorderError> {
    let SessionEndParts {
        anchor,
        document,
        record,
        close,
        line,
    } = parts;
    let segment = Some(transaction.take_segment());
    let mut files = EntryFiles::from([
        ("checkpoint", transaction.tree_head()?.into_bytes()),
        ("close.json", document),
    ]);
    put_header(&mut files, anchor);
    let reference = branch_ref(&session.branch);
    let tip = transaction.tip(&reference)?.ok_or(RecorderError::NotOpen {
        session: session.id,
    })?;
    let id = session.id;
    let end = NewCommit {
        subject: Subject::SessionEnd {
            session: id,
            close,
            height: anchor.block.height,
        },
        record,
        line,
        files: &files,
        reference,
        parents: vec![oid(&tip)?],
        segment,
        tree_of: None,
    };
    let (n, end_id) = transaction.commit(CommitKind::SessionEnd, end)?;
    let main = oid(&transaction.main_tip()?)?;
    let merge = NewCommit {
        subject: Subject::Close { session: id, close },
        record,
        line,
        files: &files,
        reference: MAIN.to_owned(),
        parents: vec![main, end_id],
        segment,
        tree_of: Some(n),
    };
    transaction
        .commit(CommitKind::Close, merge)
        .map(|(_, id)| id)
}
