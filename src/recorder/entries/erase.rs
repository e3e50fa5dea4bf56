//! Erasing: text and salt are destroyed, commitments stay, a tombstone says so (format, sections 3
//! and 12, step 6).
//!
//! ```text
//! tombstone   {"contexts":["UUID",…],"ids":["UUID","note:000001",…],"reason":"…"}     an artifact outside of any session
//! ```
//! `ids` are exchanges and artifacts that are gone; `contexts` are exchanges that had one of them
//! put before their model, and whose compiled prompt, and bundle if it stood in there, is therefore
//! gone too.

use std::collections::BTreeSet;

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::{Clean, SANITIZE_POLICY};
use crate::record::Exchange;
use crate::record::canon;
use crate::record::context::event::EventKind;
use crate::record::exchange::ErasureCommitments;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt};
use crate::record::ledger::documents::Format;
use crate::record::ledger::erased::{TOMBSTONE, Tombstone};
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::ledger::item::CONFLICT_RESOLVED;
use crate::record::ledger::params::Params;
use crate::record::ledger::settings::CONFIG_RELOAD;
use crate::record::ledger::short_name::short_name;
use crate::record::log::entry::Line;
use crate::record::time::Seconds;
use crate::store::{
    ArtifactFilter, ArtifactRow, ErasureCommitmentRow, ExchangeRow, ExchangeRows, ReadStore,
    ReaderWait, Store, StoreError,
};
use uuid::Uuid;

use super::content_policy::{CONTENT_POLICY, settle};
use crate::recorder::batch::transaction::LedgerTransaction;
use crate::recorder::placeholders::forget_tags;
use crate::recorder::recovery::adopt::ADOPT;
use crate::recorder::{Recorder, RecorderError, WAIT, WriterLock};

/// What a home can't do without, and what says that something else is gone.
const KEPT: [&str; 8] = [
    "kernel",
    "auth_key",
    TOMBSTONE,
    ADOPT,
    CONFLICT_RESOLVED,
    CONTENT_POLICY,
    SANITIZE_POLICY,
    CONFIG_RELOAD,
];
/// What nobody can put together again of an exchange whose model was shown a turn that is erased.
const GONE_WITH_TURN: [Role; 3] = [
    Role::CompiledPrompt,
    Role::ContextDigest,
    Role::PromptDigest,
];
/// The same where it was shown an artifact that is erased.
const GONE_WITH_ARTIFACT: [Role; 3] = [Role::CompiledPrompt, Role::Bundle, Role::PromptDigest];
/// The reason of a tombstone where no text is kept.
const UNKEPT_REASON: &str = "not kept";

/// What is to be erased.
#[derive(Clone, Debug)]
pub struct Erasure {
    /// Ids of the exchanges whose texts are erased.
    pub exchanges: Vec<Uuid>,
    /// Ids of artifacts: `note:000001`.
    pub artifacts: Vec<String>,
    /// Why; it stays on record.
    pub reason: Clean,
}

/// What was erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasureResult {
    /// Exchanges whose text and salt are gone; without those that were erased before.
    pub exchanges: Vec<Uuid>,
    /// Ids of artifacts whose document and salt are gone.
    pub artifacts: Vec<String>,
    /// Exchanges whose compiled prompt can't be rendered any more, as something in it is erased.
    pub contexts: Vec<Uuid>,
    /// Whether no copy is left in the write-ahead log. False while another program reads: the next record
    /// behind that finishes it.
    pub scrubbed: bool,
    /// Why the write-ahead log could not be emptied, such as a full disk: erased texts stand in it until the
    /// next start that can.
    pub unscrubbed: Option<String>,
    /// Whether first letters of erased words may be left in a search index, until a rebuild.
    pub letters_stay: bool,
    /// Why no search index could be written anew: whole words that were erased may be left where it is damaged.
    pub unwritten: Option<String>,
}

/// What an erasure would reach, as the database is now; nothing of it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasureReach {
    /// Exchanges whose text or salt is still there.
    pub exchanges: Vec<Uuid>,
    /// Artifacts that are still there, those among them that quote such an exchange.
    pub artifacts: Vec<String>,
    /// Other exchanges whose compiled prompt can't be rendered any more afterwards.
    pub contexts: Vec<Uuid>,
    /// Those among them that only refer to what is erased: none of its words were before their model.
    pub referring: Vec<Uuid>,
}

impl Erasure {
    /// What it would reach; refused is what [`Recorder::erase`] refuses.
    pub fn reach(&self, store: &ReadStore) -> Result<ErasureReach, RecorderError> {
        let mut reach = ErasureReach::default();
        let (mut contexts, mut quoting) = (BTreeSet::new(), BTreeSet::new());
        for id in &self.exchanges {
            let Some(row) = erasable_exchange(store, *id)? else {
                continue;
            };
            contexts.extend(concerned(store, &row)?);
            quoting.extend(shown_to(store, &row)?);
            let actions = store.artifacts(ArtifactFilter::ActionsOf(*id))?;
            reach
                .artifacts
                .extend(actions.into_iter().map(|row| row.id));
            reach.exchanges.push(*id);
        }
        for id in &self.artifacts {
            if erasable_artifact(store, id)?.is_empty() {
                continue;
            }
            let shown = store.injected_into(id)?;
            contexts.extend(&shown);
            quoting.extend(shown);
            reach.artifacts.push(id.clone());
        }
        let erased: BTreeSet<Uuid> = reach.exchanges.iter().copied().collect();
        reach.contexts = contexts.difference(&erased).copied().collect();
        let only_refers = |id: &&Uuid| !quoting.contains(id);
        reach.referring = reach.contexts.iter().filter(only_refers).copied().collect();
        Ok(reach)
    }
}

/// The first tombstone that names an exchange or an artifact, with the number of its line.
pub fn tombstone_of(store: &ReadStore, id: &str) -> Result<Option<(u64, Tombstone)>, StoreError> {
    let Some(line) = store.tombstone_of(id)? else {
        return Ok(None);
    };
    let text = store.artifact_of_line(line)?.and_then(|row| row.document);
    let tombstone = Tombstone::read(text.as_deref());
    Ok(tombstone.map(|tombstone| (line, tombstone)))
}

/// So many texts are in search indexes that are written anew after an erasing: others wait meanwhile.
const MOST_REWRITTEN: u64 = 500_000;

/// Empties the write-ahead log if that is still to be done; false while another program reads.
pub(in crate::recorder) fn finish(store: &mut Store, wait: ReaderWait) -> Result<bool, StoreError> {
    if store.is_to_scrub()? {
        store.scrub(wait)
    } else {
        Ok(true)
    }
}

impl Recorder {
    /// Erases: tombstone and destruction in one transaction, then the write-ahead log is emptied.
    ///
    /// [`RecorderError::NotAllowed`] for what is not there, still waits for its answer, or can't be
    /// done without. Nothing is recorded when all of it was erased before.
    pub async fn erase(
        &self,
        what: Erasure,
        salt: Salt,
        now: Seconds,
    ) -> Result<ErasureResult, RecorderError> {
        let mut erased = self
            .record(now, move |transaction| {
                erase(transaction, &what, &salt, now)
            })
            .await?;
        // What was asked for is done and on record, whatever comes of this.
        match Store::open(&self.paths.database())
            .and_then(|mut store| finish(&mut store, ReaderWait::Seconds))
        {
            Ok(scrubbed) => erased.scrubbed = scrubbed,
            Err(why) => erased.unscrubbed = Some(why.to_string()),
        }
        Ok(erased)
    }

    /// Takes the first letters of erased words out of the search indexes, too, which takes about a
    /// second for 100,000 turns: for somebody who waits for an erasing. Of more than
    /// `MOST_REWRITTEN` texts it is left to a rebuild: none, unless an index is damaged so that whole words may
    /// be left. False while another program reads, as the write-ahead log can't be emptied then.
    pub fn forget_first_letters(&self) -> Result<Option<bool>, RecorderError> {
        let _lock = WriterLock::acquire_within(&self.paths.lock(), WAIT)?;
        let mut store = Store::open(&self.paths.database())?;
        if store.row_counts()?.search_entries > MOST_REWRITTEN && store.are_indexes_sound()? {
            return Ok(None);
        }
        store.forget_first_letters()?;
        Ok(Some(finish(&mut store, ReaderWait::Seconds)?))
    }
}

fn refused(reason: String) -> RecorderError {
    RecorderError::NotAllowed { reason }
}

fn erase(
    transaction: &mut LedgerTransaction<'_>,
    what: &Erasure,
    salt: &Salt,
    now: Seconds,
) -> Result<ErasureResult, RecorderError> {
    let mut erased = ErasureResult::default();
    let mut contexts = BTreeSet::new();
    for id in &what.exchanges {
        let Some(row) = erasable_exchange(&*transaction.tx, *id)? else {
            continue;
        };
        contexts.extend(erase_exchange(transaction, &row)?);
        let session = transaction.tx.lines(row.prompt_line, row.prompt_line + 1)?;
        forget_tags(transaction, session_of(&session))?;
        erased.artifacts.extend(erase_actions(transaction, *id)?);
        erased.exchanges.push(*id);
    }
    for id in &what.artifacts {
        let rows = erasable_artifact(&*transaction.tx, id)?;
        if rows.is_empty() {
            continue;
        }
        let shown = transaction.tx.injected_into(id)?;
        for exchange in &shown {
            keep_commitments(transaction, *exchange, &GONE_WITH_ARTIFACT)?;
        }
        for row in &rows {
            transaction.tx.erase_artifact(row.line)?;
            let session = transaction.tx.lines(row.line, row.line + 1)?;
            forget_tags(transaction, session_of(&session))?;
        }
        for exchange in shown {
            transaction.tx.erase_context(exchange, true)?;
            contexts.insert(exchange);
        }
        erased.artifacts.push(id.clone());
    }
    erased.contexts = contexts
        .into_iter()
        .filter(|id| !erased.exchanges.contains(id))
        .collect();
    if !(erased.exchanges.is_empty() && erased.artifacts.is_empty()) {
        put_tombstone(transaction, &erased, &what.reason, salt, now)?;
    }
    Ok(erased)
}

/// An exchange that may be erased; none when nothing of it is left to erase.
fn erasable_exchange(store: &ReadStore, id: Uuid) -> Result<Option<ExchangeRow>, RecorderError> {
    let row = store
        .exchange(id)?
        .ok_or_else(|| refused(format!("there is no exchange {id}")))?;
    if row.outcome.is_none() {
        let why = "the exchange still waits for its answer; close its session, then erase it";
        return Err(refused(why.to_owned()));
    }
    let is_left = row.salt.is_some() || has_text(store, &row)?;
    Ok(is_left.then_some(row))
}

fn has_text(store: &ReadStore, row: &ExchangeRow) -> Result<bool, StoreError> {
    let turn = store.turn(row.turn_user)?;
    Ok(turn.is_some_and(|turn| turn.content.is_some()))
}

/// The rows of an artifact that may be erased; none when nothing of it is left to erase.
fn erasable_artifact(store: &ReadStore, id: &str) -> Result<Vec<ArtifactRow>, RecorderError> {
    let rows = store.artifacts(ArtifactFilter::Id(id))?;
    let Some(first) = rows.first() else {
        return Err(refused(format!(
            "there is no artifact '{0}' on record, nor was there one: gently show {0} looks for it, gently search WORDS \
             for what was said",
            short_name(id)
        )));
    };
    if KEPT.contains(&first.kind.as_str()) {
        return Err(refused(format!(
            "'{}' is of kind {}: a home can't do without it",
            short_name(id),
            first.kind
        )));
    }
    let is_gone = |row: &ArtifactRow| row.document.is_none() && row.salt.is_none();
    Ok(match rows.iter().all(is_gone) {
        true => Vec::new(),
        false => rows,
    })
}

/// Destroys an exchange's texts; returns the exchanges that were shown one of its turns.
fn erase_exchange(
    transaction: &mut LedgerTransaction<'_>,
    row: &ExchangeRow,
) -> Result<Vec<Uuid>, RecorderError> {
    let record_error = |e: canon::CanonError| RecorderError::Unrecordable {
        what: "params",
        reason: e.to_string(),
    };
    let params = row
        .params
        .as_deref()
        .map(Params::parse)
        .transpose()
        .map_err(record_error)?;
    // The owner's part of the system message is a text; the other settings are numbers.
    let params = params
        .map(|params| params.without_content().canonical())
        .transpose()
        .map_err(record_error)?;
    let shown = concerned(&*transaction.tx, row)?;
    for exchange in &shown {
        keep_commitments(transaction, *exchange, &GONE_WITH_TURN)?;
    }
    transaction.tx.erase_exchange(row, params.as_deref())?;
    for exchange in &shown {
        transaction.tx.erase_context(*exchange, false)?;
    }
    Ok(shown.into_iter().collect())
}

/// An exchange's turns: its question, and its answer if it has one.
fn turns_of(row: &ExchangeRow) -> impl Iterator<Item = Uuid> {
    let aurora = row.outcome.as_ref().and_then(|outcome| outcome.turn_aurora);
    [Some(row.turn_user), aurora].into_iter().flatten()
}

/// The exchanges whose model was shown one of an exchange's turns.
fn shown_to(store: &ReadStore, row: &ExchangeRow) -> Result<BTreeSet<Uuid>, StoreError> {
    let mut shown = BTreeSet::new();
    for turn in turns_of(row) {
        shown.extend(store.injected_into(&turn.to_string())?);
    }
    Ok(shown)
}

/// The exchanges that were shown one of an exchange's turns, or refer to one that was.
fn concerned(store: &ReadStore, row: &ExchangeRow) -> Result<BTreeSet<Uuid>, StoreError> {
    let mut shown = shown_to(store, row)?;
    for turn in turns_of(row) {
        shown.extend(store.referring_to(turn)?);
    }
    let mut next: Vec<Uuid> = shown.iter().copied().chain([row.exchange_id]).collect();
    // A DECISION's digest covers its context: what refers to it goes with it.
    while let Some(turn) = next.pop() {
        let decision = store
            .events_of(turn)?
            .into_iter()
            .find(|event| event.kind == EventKind::Decision);
        for other in decision
            .map(|event| store.referring_to(event.event))
            .transpose()?
            .unwrap_or_default()
        {
            if shown.insert(other) {
                next.push(other);
            }
        }
    }
    Ok(shown)
}

/// Keeps what the document of an exchange commits to and can't be put together any more once these
/// roles are gone, so that it is checked as ever; and destroys the keys of those commitments, with
/// which an erased text could be guessed.
fn keep_commitments(
    transaction: &mut LedgerTransaction<'_>,
    exchange: Uuid,
    gone: &[Role],
) -> Result<(), RecorderError> {
    let Some(row) = transaction.tx.exchange(exchange)? else {
        return Ok(());
    };
    let (Some(salt), Some(session)) = (&row.salt, transaction.tx.session_of(row.session)?) else {
        return Ok(());
    };
    let rows = ExchangeRows::read(transaction.tx, &session, &row)?;
    let (kept, record) = (rows.erasure.clone(), rows.record());
    let answer = record.outcome.as_ref().and_then(|end| end.answer.clone());
    let response = row.outcome.as_ref().and_then(|end| end.response_commitment);
    let answer = answer.as_deref().zip(response);
    let (mut made, unopened) = before_erasure(transaction, (&record, answer), salt)?;
    for role in gone {
        let Some(commitment) = made.of_role(*role).and_then(|made| *made) else {
            continue;
        };
        if kept.iter().all(|known| known.role != *role) {
            transaction.tx.put(&ErasureCommitmentRow {
                line: row.prompt_line,
                role: *role,
                exchange,
                commitment,
            })?;
        }
    }
    let left = salt.without(&[gone, &unopened].concat());
    Ok(transaction.tx.leave_keys(exchange, &left)?)
}

/// What its document commits to and is made from its rows here, and the roles whose keys open
/// nothing, if it has its outcome. Rows that give no prompt or no document were changed: erasing goes
/// on, and the verifier finds them.
fn before_erasure(
    transaction: &LedgerTransaction<'_>,
    (record, answer): (&Exchange, Option<(&str, Hash32)>),
    salt: &Salt,
) -> Result<(ErasureCommitments, Vec<Role>), RecorderError> {
    let kernel = transaction.tx.kernel(record.kernel_hash)?;
    let kernel = Kernel::stored(kernel.as_deref());
    let system = kernel.as_ref().map(Kernel::system_prompt);
    let compiled = record.prompt_to_commit(system.map_err(Clone::clone)).ok();
    let (scheme, compiled) = (transaction.genesis.commitments, compiled.flatten());
    let document = record.document(scheme, salt, compiled.as_deref());
    let unopened = document.map(|document| document.unopened(scheme, salt, answer));
    let made = record.erasable(scheme, salt, compiled.as_deref());
    Ok((made, unopened.unwrap_or_default()))
}

/// The session of a line.
fn session_of(lines: &[String]) -> Option<Hash32> {
    Line::parse(lines.first()?.as_bytes()).ok()?.session
}

/// Intents quote the text that they were found in.
fn erase_actions(
    transaction: &mut LedgerTransaction<'_>,
    exchange: Uuid,
) -> Result<Vec<String>, RecorderError> {
    let mut ids = Vec::new();
    for row in transaction
        .tx
        .artifacts(ArtifactFilter::ActionsOf(exchange))?
    {
        transaction.tx.erase_artifact(row.line)?;
        ids.push(row.id);
    }
    Ok(ids)
}

fn put_tombstone(
    transaction: &mut LedgerTransaction<'_>,
    erased: &ErasureResult,
    reason: &Clean,
    salt: &Salt,
    now: Seconds,
) -> Result<(), RecorderError> {
    let reason = if settle(transaction, now)?.keeps_text() {
        reason.as_str()
    } else {
        UNKEPT_REASON
    };
    let exchanges = erased.exchanges.iter().map(Uuid::to_string);
    let content = Tombstone {
        contexts: Some(erased.contexts.iter().map(Uuid::to_string).collect()),
        ids: exchanges.chain(erased.artifacts.iter().cloned()).collect(),
        reason: reason.to_owned(),
    };
    let content = serde_json::to_value(&content).map_err(|e| RecorderError::Unrecordable {
        what: "a tombstone",
        reason: e.to_string(),
    })?;
    let id = format!("{TOMBSTONE}-{}", transaction.head.hash.short16());
    let doc = ArtifactDoc {
        content,
        format: Format,
        id,
        kind: TOMBSTONE.to_owned(),
    };
    transaction
        .artifact(now, None, &doc, salt.clone())
        .map(|_| ())
}
