//! The writer's thread: gathers what waits into batches, and decides who applies them.
//!
//! A batch of one record is committed, applied, answered, synced and marked before the next is
//! looked at. Under company the applier takes a committed batch over, and the next one is committed
//! meanwhile; the lock is kept until all of them have landed, or for [`HOLD`], so that other
//! processes come in between.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use crate::record::time::Seconds;
use crate::store::{AppliedMark, ReaderWait};

use super::apply_thread::{ApplyThread, BatchOutcome};
use super::failpoint::{Failpoint, pass};
use super::request::{BatchFault, WriteRequest, WriterMessage, finish_all};
use super::writer::Writer;
use crate::recorder::RecorderError;
use crate::recorder::apply;
use crate::recorder::lock::{POLL, WriterLock};

/// How many records are committed together; a transaction stays small enough to be quick.
const MAX_BATCH: usize = 256;
/// How long a batch waits for as many records as the one before it had: its answers set askers free
/// who are about to bring more, and a batch of one costs as many syncs as a batch of a hundred. Who
/// is alone never waits.
const LINGER: Duration = Duration::from_millis(2);
/// How long the writer's lock is kept while batches follow each other.
const HOLD: Duration = Duration::from_secs(1);
/// How long it is then left to others, who look for it every [`POLL`].
const GAP: Duration = Duration::from_millis(POLL.as_millis() as u64 + 2);
/// Committed batches that wait for the applier; with more, those who wait for them would wait
/// longer and nobody less.
const MAX_FLYING: usize = 4;
/// Pages of the database's write-ahead log from which on it is copied back when nobody waits. Each start
/// reads the whole log.
const WAL_PAGES: u32 = 400;
/// The same between batches under company.
const WAL_PAGES_HELD: u32 = 16_384;

type WriteRequests = Vec<Box<dyn WriteRequest>>;

/// The writer's lock, with batches on their way to git and log.
struct Hold {
    _lock: WriterLock,
    since: Instant,
    /// Batches that have not landed.
    flying: usize,
    /// Whether more may be handed on.
    is_sound: bool,
    /// What is applied when all that was handed on has landed.
    through: AppliedMark,
    is_first: bool,
}

/// The writer with what waits for it.
pub struct BatchQueue {
    writer: Writer,
    inbox: Receiver<WriterMessage>,
    tell: Sender<WriterMessage>,
    apply_thread: Option<ApplyThread>,
    hold: Option<Hold>,
    /// Requests that came while something else was waited for.
    waiting: VecDeque<Box<dyn WriteRequest>>,
    is_closing: bool,
}

impl BatchQueue {
    /// `tell` is the other end of `inbox`.
    pub fn new(
        writer: Writer,
        inbox: Receiver<WriterMessage>,
        tell: Sender<WriterMessage>,
    ) -> Self {
        BatchQueue {
            writer,
            inbox,
            tell,
            apply_thread: None,
            hold: None,
            waiting: VecDeque::new(),
            is_closing: false,
        }
    }

    /// Takes requests until the handle is gone, and finishes what it has taken.
    pub fn run(mut self) {
        let mut company = 0;
        while let Some(batch) = self.gather(company) {
            company = batch.len();
            if company == 1 && self.hold.is_none() {
                self.writer.batch(batch);
                // More wait when more came together; a longer log is read again by the next process
                // only.
                self.shorten_wal(WAL_PAGES);
            } else {
                self.forward(batch);
            }
        }
        self.drain();
        self.release();
    }

    /// The next batch; none when the handle is gone.
    fn gather(&mut self, company: usize) -> Option<WriteRequests> {
        let mut batch = vec![self.first()?];
        let until = Instant::now() + if company > 1 { LINGER } else { Duration::ZERO };
        while batch.len() < MAX_BATCH {
            if let Some(request) = self.waiting.pop_front() {
                batch.push(request);
                continue;
            }
            let is_short = batch.len() < company;
            let wait = if is_short {
                until.saturating_duration_since(Instant::now())
            } else {
                Duration::ZERO
            };
            match self.inbox.recv_timeout(wait) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        Some(batch)
    }

    /// Waits for a request; lets go of the lock when nothing is on its way.
    fn first(&mut self) -> Option<Box<dyn WriteRequest>> {
        loop {
            if let Some(request) = self.waiting.pop_front() {
                return Some(request);
            }
            if self.is_closing {
                return None;
            }
            let message = match self.inbox.try_recv() {
                Ok(message) => Ok(message),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {
                    if self.hold.as_ref().is_some_and(|hold| hold.flying == 0) {
                        self.release();
                        self.shorten_wal(WAL_PAGES);
                    }
                    self.inbox.recv()
                }
            };
            self.take(message.ok()?);
        }
    }

    fn take(&mut self, message: WriterMessage) {
        match message {
            WriterMessage::Write(request) => self.waiting.push_back(request),
            WriterMessage::Landed(landed) => self.landed(landed),
            WriterMessage::Close => self.is_closing = true,
        }
    }

    /// A batch under company: committed here, applied by the other thread.
    fn forward(&mut self, mut requests: WriteRequests) {
        let now = requests
            .iter()
            .map(|request| request.now())
            .max()
            .unwrap_or(Seconds::ZERO);
        while self
            .hold
            .as_ref()
            .is_some_and(|hold| hold.is_sound && hold.flying >= MAX_FLYING)
        {
            self.wait_for_one();
        }
        let keeps = |hold: &Hold| hold.is_sound && hold.since.elapsed() < HOLD;
        if !self.hold.as_ref().is_some_and(keeps) {
            let was_held = self.hold.is_some();
            self.drain();
            self.release();
            if was_held {
                self.shorten_wal(WAL_PAGES_HELD);
                std::thread::sleep(GAP);
            }
            match self.take_hold(now) {
                Ok(hold) => self.hold = Some(hold),
                Err(RefusedHold::Unapplied(lock, e)) => {
                    self.writer.record_outcomes(requests, now, e);
                    return drop(lock);
                }
                Err(RefusedHold::Other(e)) => {
                    return finish_all(requests, Err(BatchFault::NotRecorded(Arc::new(e))));
                }
            }
        }
        let committed = self.writer.commit(&mut requests, now).and_then(|head| {
            let passed = pass(&self.writer.watch, Failpoint::AfterCommit);
            passed
                .map(|()| head)
                .map_err(|e| BatchFault::Unapplied(Arc::new(e)))
        });
        let (Some(hold), Some(apply_thread)) = (&mut self.hold, &self.apply_thread) else {
            return;
        };
        match committed {
            Ok(head) => {
                let through = apply::all_applied(&head);
                hold.flying += 1;
                let is_alive = apply_thread.hand(requests, head, hold.through, hold.is_first);
                (hold.through, hold.is_first) = (through, false);
                if !is_alive {
                    hold.is_sound = false;
                    self.apply_thread = None;
                }
            }
            // It may stand all the same: the next batch begins by looking.
            Err(fault) => {
                hold.is_sound = false;
                finish_all(requests, Err(fault));
            }
        }
    }

    /// Takes the lock, and applies what is behind.
    fn take_hold(&mut self, now: Seconds) -> Result<Hold, RefusedHold> {
        if self.apply_thread.is_none() {
            let started =
                ApplyThread::start(&self.writer.paths, &self.writer.watch, self.tell.clone());
            self.apply_thread = Some(started.map_err(RefusedHold::Other)?);
        }
        let (lock, through) = match self.writer.begin(now) {
            Ok(begun) => begun,
            Err((Some(lock), e @ RecorderError::Unapplied { .. })) => {
                return Err(RefusedHold::Unapplied(lock, e));
            }
            Err((_, e)) => return Err(RefusedHold::Other(e)),
        };
        Ok(Hold {
            _lock: lock,
            since: Instant::now(),
            flying: 0,
            is_sound: true,
            through,
            is_first: true,
        })
    }

    fn landed(&mut self, landed: BatchOutcome) {
        let Some(hold) = &mut self.hold else { return };
        hold.flying = hold.flying.saturating_sub(1);
        match landed {
            BatchOutcome::Together => {}
            BatchOutcome::Durable(mark) => hold.is_sound &= self.writer.mark(&mark).is_ok(),
            BatchOutcome::Unsound => hold.is_sound = false,
        }
    }

    /// Waits until everything that was handed on has landed; what comes meanwhile waits.
    fn drain(&mut self) {
        while self.hold.as_ref().is_some_and(|hold| hold.flying > 0) {
            self.wait_for_one();
        }
    }

    fn wait_for_one(&mut self) {
        // The sending end is held by this very thread, so there is always somebody to wait for.
        if let Ok(message) = self.inbox.recv() {
            self.take(message);
        }
    }

    fn release(&mut self) {
        self.hold = None;
    }

    /// What fails here is tried again next time, and costs nobody a record. Erased words that a reader has
    /// kept in the log go as soon as it is gone: a program that runs for weeks is not opened again.
    fn shorten_wal(&mut self, pages: u32) {
        let store = &mut self.writer.store;
        if matches!(store.is_to_scrub(), Ok(true)) {
            let _ = store.scrub(ReaderWait::None);
        }
        let _ = store.shorten_wal(pages);
    }
}

/// Why batches can't follow each other.
enum RefusedHold {
    /// Git or log are out of reach; the lock is held.
    Unapplied(WriterLock, RecorderError),
    Other(RecorderError),
}
