//! THE ONE DOOR: everything that becomes evidence goes through one writer.
//!
//! A record is committed in the database (rows, signature and the new head, compare-and-swap, one
//! transaction: *the* commit point), then applied to git, then to `audit.log`. Applying is
//! idempotent and needs no key; the mark *applied* moves only after git and log are synced. Every
//! batch begins by applying what an earlier one, or a process that died, left unapplied, with the
//! same code.
//!
//! The recorder owns a thread. Records that wait at the same moment are committed together; while
//! more wait, a second thread applies one batch and the next is committed. The writer's lock covers
//! one batch, or a second of batches that follow each other, never a model call. A caller gets its
//! result when the record is durable in the database and written to git and log; the sync of those
//! two, and the mark, follow while the model thinks or the person reads, and end before the
//! recorder does, or wait for more to come ([`SyncPolicy`]).

mod apply;
mod batch;
mod blocks;
mod comparison;
mod entries;
mod error;
mod in_flight;
mod lock;
mod notes;
mod placeholders;
mod recorded;
mod recovery;
mod sync_policy;
mod turn;

use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;
use uuid::Uuid;

use crate::govern::actions::actuation::{proposed, requested};
use crate::govern::sanitize::Clean;
use crate::keys::Signer;
use crate::record::bitcoin::block::Anchor;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::time::Seconds;
use crate::store::{ReaderWait, SessionRow, ThreadRow};

pub use crate::record::exchange::ABANDONED;
pub use apply::{CHECKPOINT, EvidenceComparison, Paths, checkpoint_is_newest, expected_refs};
pub use batch::failpoint::{Failpoint, FailpointWatch, unwatched};
pub use blocks::block_elsewhere;
pub use comparison::{ExpectedRef, LogPosition, RefPosition, ref_position};
pub use entries::actions::{AWAITING, Action, KIND as ACTION, REPLY};
pub use entries::artifacts::{
    ArtifactField, ArtifactFields, ArtifactId, NewArtifact, RecordedArtifact, always,
};
pub use entries::auth::{AuthKeyChange, AuthKeyFault, is_last, revocable, revoked_at};
pub use entries::content_policy::{CONTENT_POLICY, ContentPolicy};
pub use entries::erase::{Erasure, ErasureReach, ErasureResult, tombstone_of};
pub use entries::genesis::{FirstRecords, create};
pub use entries::imported::{ImportBatch, NewImportedConversation, SourceTag};
pub use entries::rotation::signers;
pub use entries::sessions::{SessionClose, SessionTerms, refuse_session, resumable};
pub use entries::settings::SettingsInForce;
pub use entries::threads::{POLICY, thread_id};
pub use error::RecorderError;
pub use lock::{WAIT, WriterLock};
pub use notes::{Merge, put_notes};
pub use recovery::adopt::{
    ADOPT, AdoptFault, AdoptionResult, LOST_WITH_DATABASE, LostArtifact, NewerCommit, NewerLedger,
};
pub use recovery::rebuild::{
    Contradiction, MissingParts, RebuildOutcome, look as look_for_losses, rebuild, sign_rebuilt,
};
pub use recovery::restored::{MARKER, RestoreRecord, is_marked, nothing_newer, taken_over};
pub use recovery::unsigned::refuse as refuse_unsigned;
pub use sync_policy::{DEFERRED_LINES, DEFERRED_SECONDS, SyncPolicy};
pub use turn::{
    BodyTimes, JudgedReply, Prompt, QuestionOrigin, RecordedAnswer, RecordedFailure,
    RecordedPrompt, RecordedRefusal, Refusal, RefusedPrompt, Reply, TurnEntry, TurnIds, Usage,
};

use batch::queue::BatchQueue;
use batch::request::WriterMessage;
use batch::transaction::LedgerTransaction;
use batch::writer::Writer;
use entries::content_policy::WriterContext;
use in_flight::Prompts;

/// The handle of the one writer; every method records something, durably, or says why not.
///
/// A method that returns `Ok` promises: the record is durable in the database, and readable in git
/// and log. When it is durable in those, too, [`SyncPolicy`] says. After an error for which [`RecorderError::is_recorded`] is false, nothing was written.
pub struct Recorder {
    requests: Option<mpsc::Sender<WriterMessage>>,
    thread: Option<JoinHandle<()>>,
    paths: Paths,
    prompts: Prompts,
    writer_context: WriterContext,
    key: Arc<Signer>,
}

/// How a home is written to.
#[derive(Clone, Debug)]
pub struct RecorderTerms {
    /// What is kept of texts from now on; without it, it stays as it is on record.
    pub content_policy: Option<ContentPolicy>,
    /// The settings in force; without them, a change of them is not put on record.
    pub settings: Option<SettingsInForce>,
    /// When git and log are synced.
    pub sync_policy: SyncPolicy,
    /// How long other writers are waited for, here and before every batch.
    pub wait: Duration,
}

impl Default for RecorderTerms {
    fn default() -> Self {
        RecorderTerms {
            content_policy: None,
            settings: None,
            sync_policy: SyncPolicy::EachBatch,
            wait: lock::WAIT,
        }
    }
}

/// The exchanges of a home whose answer a living process waits for; nothing is opened for writing.
pub fn waited_for(paths: &Paths) -> Result<BTreeSet<Uuid>, RecorderError> {
    Prompts::new(paths.in_flight()).waited_for()
}

impl Recorder {
    /// Opens a home for writing and finishes what a crash left unapplied.
    ///
    /// `now` is the time of the `recover` line, if one is due. Refuses when database, log and
    /// ledger disagree in a way that no crash explains.
    pub fn open(
        paths: Paths,
        key: impl Into<Signer>,
        now: Seconds,
        watch: FailpointWatch,
    ) -> Result<Self, RecorderError> {
        Self::open_within(paths, key, now, watch, lock::WAIT)
    }

    /// The same with a wait of one's own for other writers, here and before every batch.
    pub fn open_within(
        paths: Paths,
        key: impl Into<Signer>,
        now: Seconds,
        watch: FailpointWatch,
        wait: Duration,
    ) -> Result<Self, RecorderError> {
        let terms = RecorderTerms {
            wait,
            ..RecorderTerms::default()
        };
        Self::open_with(paths, key, now, watch, terms)
    }

    /// The same with other terms than the usual ones.
    pub fn open_with(
        paths: Paths,
        key: impl Into<Signer>,
        now: Seconds,
        watch: FailpointWatch,
        terms: RecorderTerms,
    ) -> Result<Self, RecorderError> {
        recovery::restored::refuse(&paths)?;
        let key: Signer = key.into();
        Self::open_unchecked(paths, key, now, watch, terms)
    }

    /// The same in a home that was restored; only for what lets it write again.
    fn open_unchecked(
        paths: Paths,
        key: impl Into<Arc<Signer>>,
        now: Seconds,
        watch: FailpointWatch,
        terms: RecorderTerms,
    ) -> Result<Self, RecorderError> {
        let writer_context = WriterContext::new(terms.content_policy, terms.settings)?;
        let key = key.into();
        let mut writer = Writer::open(
            paths.clone(),
            key.clone(),
            writer_context.clone(),
            watch,
            (terms.wait, terms.sync_policy),
        )?;
        writer.recover(now)?;
        // A reader that was in the way then may be in it still: nobody waits for it at every start.
        entries::erase::finish(&mut writer.store, ReaderWait::None)?;
        let (requests, inbox) = mpsc::channel();
        let forward = BatchQueue::new(writer, inbox, requests.clone());
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || forward.run())
            .map_err(|e| RecorderError::Lock {
                path: paths.lock(),
                reason: format!("no thread: {e}"),
            })?;
        let prompts = Prompts::new(paths.in_flight());
        Ok(Recorder {
            requests: Some(requests),
            thread: Some(thread),
            paths,
            prompts,
            writer_context,
            key,
        })
    }

    /// Where the home's parts are.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The exchanges whose answer a living process still waits for.
    pub fn waited_for(&self) -> Result<BTreeSet<Uuid>, RecorderError> {
        self.prompts.waited_for()
    }

    /// Resumes the open session that fits the terms, or opens one on the block given.
    pub async fn resume_or_open(
        &self,
        terms: SessionTerms,
        anchor: Anchor,
        now: Seconds,
    ) -> Result<(SessionRow, bool), RecorderError> {
        self.record(now, move |transaction| {
            entries::auth::check(&*transaction.tx, terms.auth_key_hash)?;
            match resumable(&*transaction.tx, &terms)? {
                Some(session) => Ok((session, false)),
                None => Ok((
                    entries::sessions::open(transaction, &terms, &anchor, now)?,
                    true,
                )),
            }
        })
        .await
    }

    /// Resumes the open session that fits the terms; none when there is none (any more).
    pub async fn resume(
        &self,
        terms: SessionTerms,
        now: Seconds,
    ) -> Result<Option<SessionRow>, RecorderError> {
        self.record(now, move |transaction| resumable(&*transaction.tx, &terms))
            .await
    }

    /// Opens a session, whether or not another fits.
    pub async fn open_session(
        &self,
        terms: SessionTerms,
        anchor: Anchor,
        now: Seconds,
    ) -> Result<SessionRow, RecorderError> {
        self.record(now, move |transaction| {
            entries::auth::check(&*transaction.tx, terms.auth_key_hash)?;
            entries::sessions::open(transaction, &terms, &anchor, now)
        })
        .await
    }

    /// Begins a thread beside the one that every session has; its name, if it has one, stays in the
    /// database.
    pub async fn begin_thread(
        &self,
        session: Hash32,
        name: Option<Clean>,
        salt: Salt,
        now: Seconds,
    ) -> Result<ThreadRow, RecorderError> {
        self.record(now, move |transaction| {
            let row = transaction.open_session(session)?;
            entries::threads::begin(
                transaction,
                &row,
                name.as_ref().map(Clean::as_str),
                salt.clone(),
                now,
            )
        })
        .await
    }

    /// Logs a newer block for an open session; false when it was not newer.
    pub async fn anchor(
        &self,
        session: Hash32,
        anchor: Anchor,
        now: Seconds,
    ) -> Result<bool, RecorderError> {
        self.record(now, move |transaction| {
            let mut row = transaction.open_session(session)?;
            let taken = entries::sessions::take_anchor(transaction, &mut row, &anchor, now)?;
            transaction.move_session(&row)?;
            Ok(taken)
        })
        .await
    }

    /// Closes a session; prompts whose process is gone are recorded as abandoned.
    ///
    /// [`RecorderError::InFlight`] when a prompt still waits for its model in a process that is
    /// alive.
    pub async fn close_session(
        &self,
        session: Hash32,
        anchor: Anchor,
        now: Seconds,
    ) -> Result<SessionClose, RecorderError> {
        let prompts = self.prompts.clone();
        let closing = self.record(now, move |transaction| {
            let mut row = transaction.open_session(session)?;
            entries::exchanges::abandon_all(transaction, &prompts, &mut row, now)?;
            entries::sessions::close(transaction, row, &anchor, now)
        });
        let closed = closing.await?;
        self.forget(std::slice::from_ref(&closed));
        Ok(closed)
    }

    /// Empties the write-ahead log when closed sessions had numbers for secrets. What a reader
    /// holds up, or fails here, the next record finishes.
    fn forget(&self, closed: &[SessionClose]) {
        if closed.iter().any(|closed| closed.forgot)
            && let Ok(mut store) = crate::store::Store::open(&self.paths.database())
        {
            let _ = entries::erase::finish(&mut store, ReaderWait::Seconds);
        }
    }

    /// Records a prompt; without this no model can be called.
    pub async fn prompt(&self, prompt: Prompt) -> Result<RecordedPrompt, RecorderError> {
        let (prompts, now) = (self.prompts.clone(), prompt.now);
        // Texts are looked through here: the thread that writes for everybody is the one that
        // others wait for.
        let acts = requested(prompt.text.as_str());
        let recording = self.record_of(now, false, prompt, move |transaction, prompt| {
            entries::auth::check_session(transaction, prompt.session)?;
            entries::exchanges::prompt(transaction, &prompts, prompt, &acts)
        });
        recording.await.map(|(begun, prompt)| begun.of(prompt))
    }

    /// Records a prompt together with why no model gets it, in one step.
    pub async fn refuse(&self, refused: RefusedPrompt) -> Result<RecordedRefusal, RecorderError> {
        let (now, acts) = (refused.now, requested(refused.text.as_str()));
        self.record(now, move |transaction| {
            entries::exchanges::refuse(transaction, &refused, &acts)
        })
        .await
    }

    /// Records an answer; without this no answer can be shown.
    pub async fn answer(
        &self,
        prompt: RecordedPrompt,
        judged: JudgedReply,
        now: Seconds,
    ) -> Result<RecordedAnswer, RecorderError> {
        let acts = proposed(judged.stored.text.clean.as_str());
        // The prompt stays in the request, and its lock is held, until the batch is over.
        let recording = self.record_of(now, true, judged, move |transaction, judged| {
            entries::exchanges::answer(transaction, &prompt, judged, acts.clone(), now)
        });
        recording
            .await
            .map(|(answered, judged)| answered.of(judged))
    }

    /// Records that the model gave no answer.
    pub async fn fail(
        &self,
        prompt: RecordedPrompt,
        reason: String,
        now: Seconds,
    ) -> Result<RecordedFailure, RecorderError> {
        self.record_outcome(now, move |transaction| {
            entries::exchanges::fail(transaction, &prompt, &reason, now)
        })
        .await
    }

    /// Records a wrong or missing auth key, gathered per minute and reason.
    ///
    /// The first of a minute gets its line at once; those after it are counted, and get one line
    /// with the first record after the minute.
    pub async fn auth_fail(&self, reason: String, now: Seconds) -> Result<(), RecorderError> {
        self.record(now, move |transaction| {
            batch::writer::auth_fail(transaction, &reason, now)
        })
        .await
    }

    /// Sets the clock back on record, when the last line is more than an hour ahead of it.
    pub async fn clock_set(&self, now: Seconds) -> Result<(), RecorderError> {
        self.record(now, move |transaction| {
            batch::writer::clock_set(transaction, now)
        })
        .await
    }

    /// Writes a checkpoint when any line is behind the newest commit of `main`; false when none is.
    pub async fn checkpoint(&self, now: Seconds) -> Result<bool, RecorderError> {
        self.record(now, move |transaction| transaction.checkpoint_now(now))
            .await
    }

    /// Runs `work` in a batch and waits until it is recorded and applied.
    async fn record<T: Send + 'static>(
        &self,
        now: Seconds,
        work: impl FnMut(&mut LedgerTransaction<'_>) -> Result<T, RecorderError> + Send + 'static,
    ) -> Result<T, RecorderError> {
        self.enqueue(now, false, work).await
    }

    /// The same for the outcome of a prompt that is on record.
    async fn record_outcome<T: Send + 'static>(
        &self,
        now: Seconds,
        work: impl FnMut(&mut LedgerTransaction<'_>) -> Result<T, RecorderError> + Send + 'static,
    ) -> Result<T, RecorderError> {
        self.enqueue(now, true, work).await
    }

    async fn enqueue<T: Send + 'static>(
        &self,
        now: Seconds,
        is_outcome: bool,
        work: impl FnMut(&mut LedgerTransaction<'_>) -> Result<T, RecorderError> + Send + 'static,
    ) -> Result<T, RecorderError> {
        let (reply, answer) = oneshot::channel();
        let request = batch::request::Task::new(now, is_outcome, work, reply);
        let requests = self.requests.as_ref().ok_or(RecorderError::Stopped)?;
        requests
            .send(WriterMessage::Write(Box::new(request)))
            .map_err(|_| RecorderError::Stopped)?;
        answer.await.map_err(|_| RecorderError::Stopped)?
    }

    /// The same for work on something that the caller gets back.
    async fn record_of<I: Send + Sync + 'static, T: Send + 'static>(
        &self,
        now: Seconds,
        is_outcome: bool,
        input: I,
        mut work: impl FnMut(&mut LedgerTransaction<'_>, &I) -> Result<T, RecorderError>
        + Send
        + 'static,
    ) -> Result<(T, I), RecorderError> {
        let input = Arc::new(input);
        let given = input.clone();
        let value = self
            .enqueue(now, is_outcome, move |transaction| {
                work(transaction, &given)
            })
            .await?;
        // A request is dropped before its answer is sent.
        let input = Arc::into_inner(input).expect("the request was the only other holder");
        Ok((value, input))
    }
}

impl Drop for Recorder {
    /// Waits for the sync of what was recorded.
    fn drop(&mut self) {
        if let Some(requests) = self.requests.take() {
            let _ = requests.send(WriterMessage::Close);
        }
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the thread itself; the next open heals.
            let _ = thread.join();
        }
    }
}
