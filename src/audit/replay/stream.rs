//! The events of all threads as the log's order gives them: numbered again, from lines alone.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use uuid::Uuid;

use crate::log::read::{LogPiece, LogReader, ReadError};
use crate::record::context::event::EventKind;
use crate::record::hash::Hash32;
use crate::record::ledger::exchange::row_id;
use crate::record::log::chain::line_hash;
use crate::record::log::entry::{Event, Line};
use crate::record::time::Seconds;
use crate::store::{ArtifactFilter, ReadStore, StoreError};

use super::counts::IntentIndex;
use super::{ReplayError, ReplayFault};

/// Where the log's order puts an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamEvent {
    /// Id of the thread that the event belongs to.
    pub thread: Uuid,
    /// Its number in the thread, from 0.
    pub index: u64,
    /// What it is.
    pub kind: EventKind,
    /// Id of the turn that the event is a part of.
    pub turn: Uuid,
    /// Its line, from 0.
    pub line: u64,
    /// Time of that line.
    pub at: Seconds,
}

/// The whole order.
#[derive(Default)]
pub(super) struct Stream {
    events: HashMap<Uuid, StreamEvent>,
    /// Events of a turn that has any.
    turns: HashMap<Uuid, Vec<Uuid>>,
    /// How many events each thread has.
    threads: HashMap<Uuid, u64>,
    /// What was answered: the commitment that the line names.
    responses: HashMap<Uuid, Hash32>,
    /// What policy counts.
    pub intents: IntentIndex,
    /// Lines that were read.
    pub lines: u64,
    /// What does not fit.
    pub faults: Vec<ReplayFault>,
}

/// What the log needs to know of an exchange.
struct StreamExchange {
    exchange: Uuid,
    turn_user: Uuid,
    turn_aurora: Option<Uuid>,
    prompt: Hash32,
    line: u64,
    answered: bool,
    /// Thread, and bytes of the INTENT; none for an exchange from before threads.
    thread: Option<(Uuid, u64)>,
    met: bool,
}

impl Stream {
    /// Reads the log to where the database stands.
    pub fn read(store: &ReadStore, log: &Path) -> Result<Self, ReplayError> {
        let mut known = known(store)?;
        let head = store.head()?;
        let mut stream = Stream::default();
        let mut prev = Hash32::GENESIS;
        for piece in LogReader::open(log)? {
            if stream.lines >= head.lines {
                break;
            }
            let text = match piece {
                Ok(LogPiece::Line(raw)) => raw.text,
                Ok(LogPiece::Torn(_)) => break,
                Err(e @ ReadError::Io { .. }) => return Err(e.into()),
                Err(e) => {
                    stream.fault(
                        format!("audit.log line {}", stream.lines + 1),
                        e.to_string(),
                    );
                    break;
                }
            };
            let Some(line) = stream.line(&text, prev) else {
                break;
            };
            prev = line.hash;
            stream.take(&line, &mut known);
            stream.lines += 1;
        }
        let lines = stream.lines;
        for ((session, seq), one) in known.iter().filter(|(_, one)| !one.met && one.line < lines) {
            let place = format!("llm_exchange {}", one.exchange);
            stream.fault(
                place,
                format!("expected a prompt line of session {session}, seq {seq}; the log has none"),
            );
        }
        stream.faults.sort_by(|a, b| a.place.cmp(&b.place));
        Ok(stream)
    }

    fn fault(&mut self, place: String, what: String) {
        self.faults.push(ReplayFault { place, what });
    }

    /// A line that is one, and that follows the line before it.
    fn line(&mut self, text: &str, prev: Hash32) -> Option<Line> {
        let place = format!("audit.log line {}", self.lines + 1);
        let line = match Line::parse(text.as_bytes()) {
            Ok(line) => line,
            Err(e) => {
                self.fault(place, e.to_string());
                return None;
            }
        };
        let rest = text
            .split_once('|')
            .map(|(_, rest)| rest)
            .unwrap_or_default();
        if line_hash(prev, rest.as_bytes()) != line.hash {
            self.fault(
                place,
                "it does not follow the line before it; run gently audit verify".to_owned(),
            );
            return None;
        }
        Some(line)
    }

    fn take(&mut self, line: &Line, known: &mut HashMap<(Hash32, u64), StreamExchange>) {
        let Some(session) = line.session else { return };
        let (seq, hash, response) = match &line.event {
            Event::Prompt { hash, seq } => (*seq, Some(*hash), None),
            Event::Response { seq, hash, .. } => (*seq, None, Some(*hash)),
            _ => return,
        };
        let (n, at) = (self.lines, line.time);
        let Some(one) = known.get_mut(&(session, seq)) else {
            let what = format!(
                "expected an exchange of session {session}, seq {seq}, in the database; found none"
            );
            return self.fault(format!("audit.log line {}", n + 1), what);
        };
        if let Some(hash) = hash {
            one.met = true;
            if (hash, n) != (one.prompt, one.line) {
                let what = format!(
                    "expected prompt {hash} of line {}; found {} of line {}",
                    n + 1,
                    one.prompt,
                    one.line + 1
                );
                self.faults.push(ReplayFault {
                    place: format!("llm_exchange {}", one.exchange),
                    what,
                });
            }
        }
        let turn = one.exchange;
        self.responses
            .extend(response.map(|response| (turn, response)));
        let Some((thread, bytes)) = one.thread else {
            return;
        };
        if hash.is_none() {
            if let Some(aurora) = one.turn_aurora.filter(|_| one.answered) {
                self.place(aurora, thread, EventKind::Execution, turn, (n, at));
            }
            return;
        }
        self.place(one.turn_user, thread, EventKind::Intent, turn, (n, at));
        self.place(
            row_id("decision", session, seq),
            thread,
            EventKind::Decision,
            turn,
            (n, at),
        );
        self.intents.push(thread, n, at, bytes);
    }

    fn place(
        &mut self,
        event: Uuid,
        thread: Uuid,
        kind: EventKind,
        turn: Uuid,
        (line, at): (u64, Seconds),
    ) {
        let next = self.threads.entry(thread).or_default();
        let index = *next;
        *next += 1;
        self.events.insert(
            event,
            StreamEvent {
                thread,
                index,
                kind,
                turn,
                line,
                at,
            },
        );
        self.turns.entry(turn).or_default().push(event);
    }

    /// Where an event stands, if it was there before a line.
    pub fn before(&self, event: Uuid, line: u64) -> Option<StreamEvent> {
        self.events
            .get(&event)
            .copied()
            .filter(|placed| placed.line < line)
    }

    /// The INTENT of a turn.
    pub fn intent_of(&self, turn: Uuid) -> Option<Uuid> {
        self.turns
            .get(&turn)
            .and_then(|events| events.first())
            .copied()
    }

    /// What an exchange was answered with: the commitment that its line names, if the log has one.
    pub fn response_of(&self, exchange: Uuid) -> Option<Hash32> {
        self.responses.get(&exchange).copied()
    }

    /// The events of a turn, with their places.
    pub fn of_turn(&self, turn: Uuid) -> Vec<(Uuid, StreamEvent)> {
        let events = self.turns.get(&turn).map_or(&[][..], Vec::as_slice);
        events
            .iter()
            .filter_map(|id| Some((*id, *self.events.get(id)?)))
            .collect()
    }

    /// Every thread of the database has as many events as the order gives it, and no other is
    /// there.
    pub fn threads_against(&self, store: &ReadStore) -> Result<Vec<ReplayFault>, StoreError> {
        let mut faults = Vec::new();
        let known = store.newest_threads(u32::MAX)?;
        let rows: HashSet<Uuid> = known.iter().map(|thread| thread.thread).collect();
        let begun: Vec<Uuid> = store
            .artifacts(ArtifactFilter::Kind("thread"))?
            .iter()
            .filter_map(|row| row.id.parse().ok())
            .collect();
        let lost: BTreeSet<Uuid> = self
            .threads
            .keys()
            .copied()
            .chain(begun)
            .filter(|thread| !rows.contains(thread))
            .collect();
        for thread in lost {
            let events = self.threads.get(&thread).copied().unwrap_or_default();
            let what = format!(
                "expected a row of it, with {events} events in the log's order; found none in the database"
            );
            faults.push(ReplayFault {
                place: format!("thread {thread}"),
                what,
            });
        }
        for thread in known {
            let expected = self
                .threads
                .get(&thread.thread)
                .copied()
                .unwrap_or_default();
            let mut found = 0;
            let mut first_gap = None;
            store.each_event(thread.thread, &mut |event| {
                if event.line < self.lines {
                    if event.index != found && first_gap.is_none() {
                        first_gap = Some(found);
                    }
                    found += 1;
                }
                Ok(())
            })?;
            let place = format!("thread {}", thread.thread);
            if let Some(gap) = first_gap {
                faults.push(ReplayFault {
                    place: place.clone(),
                    what: format!("event {gap} is not in the database"),
                });
            }
            if found != expected {
                let what = format!(
                    "expected {expected} events, as the log's order gives; found {found} in the database"
                );
                faults.push(ReplayFault { place, what });
            }
        }
        Ok(faults)
    }
}

fn known(store: &ReadStore) -> Result<HashMap<(Hash32, u64), StreamExchange>, StoreError> {
    let mut sessions = HashMap::new();
    store.each_session(&mut |row| {
        sessions.insert(row.uuid, row.id);
        Ok(())
    })?;
    let mut known = HashMap::new();
    store.each_asked(&mut |row| {
        let Some(session) = sessions.get(&row.session) else {
            return Ok(());
        };
        let one = StreamExchange {
            exchange: row.exchange,
            turn_user: row.turn_user,
            turn_aurora: row.turn_aurora,
            prompt: row.prompt,
            line: row.line,
            answered: row.answered,
            thread: row
                .thread
                .map(|thread| (thread, row.bytes.unwrap_or_default())),
            met: false,
        };
        known.insert((*session, row.seq), one);
        Ok(())
    })?;
    Ok(known)
}
