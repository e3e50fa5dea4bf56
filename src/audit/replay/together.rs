//! Two threads on one history: each replays every other session.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use uuid::Uuid;

use crate::store::ReadStore;

use super::{ExchangeReplay, Replay, ReplayError, ReplayHistory};

/// So many sessions the second thread is ahead at most: what it has is held until it is its turn.
const AHEAD: usize = 8;

/// What came of one session.
type Session = Result<Vec<ExchangeReplay>, ReplayError>;

/// Replays all, in the order of sessions and of their prompts.
pub(super) fn all(
    replay: &Replay<'_>,
    other: &mut ReadStore,
    each: &mut dyn FnMut(ExchangeReplay),
) -> Result<(), ReplayError> {
    let mut sessions = Vec::new();
    replay.store.each_session(&mut |row| {
        sessions.push(row.uuid);
        Ok(())
    })?;
    let second: VecDeque<Uuid> = sessions.iter().copied().skip(1).step_by(2).collect();
    let share = replay.share();
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(AHEAD);
        scope.spawn(move || replay_each(share, other, second, &sender));
        for (n, session) in sessions.into_iter().enumerate() {
            match n % 2 {
                0 => replay.walk(Some(session), each)?,
                _ => next(&receiver, replay, session, each)?,
            }
        }
        Ok(())
    })
}

/// Until all are done, or nobody wants them any more.
fn replay_each(
    share: ReplayHistory,
    store: &mut ReadStore,
    sessions: VecDeque<Uuid>,
    sender: &SyncSender<Session>,
) {
    let store: &ReadStore = store;
    let replay = share.over(store);
    for session in sessions {
        let mut done = Vec::new();
        let walked = replay
            .walk(Some(session), &mut |one| done.push(one))
            .map(|()| done);
        let ends = walked.is_err();
        if sender.send(walked).is_err() || ends {
            return;
        }
    }
}

/// What the second thread made of its next session; if it ended before its time, this one does it.
fn next(
    receiver: &Receiver<Session>,
    replay: &Replay<'_>,
    session: Uuid,
    each: &mut dyn FnMut(ExchangeReplay),
) -> Result<(), ReplayError> {
    match receiver.recv() {
        Ok(done) => {
            done?.into_iter().for_each(each);
            Ok(())
        }
        Err(_) => replay.walk(Some(session), each),
    }
}
