//! Log lines as a writer makes them, right hashes and all, for tests that put a defect in.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use gently::record::bitcoin::block::{Header, branch_of};
use gently::record::hash::Hash32;
use gently::record::log::chain::{chain_entry, session_close_hash, session_id};
use gently::record::log::entry::{DriftClass, Event, Line};
use gently::record::log::rules::{LogRule, LogState};
use gently::record::time::Seconds;

/// A session as its writer knows it.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) id: Hash32,
    pub(crate) height: u32,
    pub(crate) chain: Option<Hash32>,
    pub(crate) answered: u64,
}

/// Writes a log line by line; what is wrong in it is put there by a test.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<Line>,
    pub(crate) time: u64,
    pub(crate) highest: u32,
    pub(crate) records: u64,
}

pub(crate) fn named(text: &str) -> Hash32 {
    Hash32::digest(text.as_bytes())
}

pub(crate) fn header_of(height: u32) -> (Header, Hash32) {
    let mut bytes = [7; 80];
    bytes[..4].copy_from_slice(&height.to_be_bytes());
    let mut hash = *Hash32::digest(Hash32::digest(&bytes).as_bytes()).as_bytes();
    hash.reverse();
    (Header::from_bytes(bytes), Hash32::from_bytes(hash))
}

pub(crate) fn block_of(height: u32) -> Hash32 {
    if height == 0 {
        Hash32::ZERO
    } else {
        header_of(height).1
    }
}

impl Log {
    pub(crate) fn begun() -> Log {
        let mut log = Log {
            time: 1_700_000_000,
            ..Log::default()
        };
        let record = log.record();
        log.push(0, None, Event::Genesis { record });
        log
    }

    pub(crate) fn head(&self) -> Hash32 {
        self.lines.last().map_or(Hash32::GENESIS, |line| line.hash)
    }

    pub(crate) fn record(&mut self) -> Hash32 {
        self.records += 1;
        named(&format!("record {}", self.records))
    }

    pub(crate) fn push(&mut self, height: u32, session: Option<Hash32>, event: Event) {
        self.time += 1;
        let line = Line::new(
            self.head(),
            height,
            Seconds::new(self.time).unwrap(),
            session,
            event,
        );
        assert_eq!(line.check(), Ok(()));
        self.lines.push(line);
    }

    pub(crate) fn outside(&mut self, event: Event) {
        self.push(self.highest, None, event);
    }

    pub(crate) fn inside(&mut self, session: &Writer, event: Event) {
        self.push(session.height, Some(session.id), event);
    }

    pub(crate) fn start(&mut self, height: u32) -> Writer {
        let auth = named("auth key");
        let id = session_id(auth, &block_of(height).to_string(), self.head());
        self.start_as(id, height, block_of(height), branch_of(height))
    }

    pub(crate) fn start_as(
        &mut self,
        id: Hash32,
        height: u32,
        block: Hash32,
        branch: String,
    ) -> Writer {
        let session = Writer {
            id,
            height,
            chain: None,
            answered: 0,
        };
        let record = self.record();
        self.inside(
            &session,
            Event::SessionStart {
                btc: height,
                branch,
                block,
                auth: named("auth key"),
                record,
            },
        );
        self.highest = self.highest.max(height);
        session
    }

    pub(crate) fn create(&mut self, session: &Writer) {
        self.inside(
            session,
            Event::BranchCreate {
                branch: branch_of(session.height),
            },
        );
    }

    pub(crate) fn switch(&mut self, session: &Writer, from: u32) {
        self.inside(
            session,
            Event::BranchSwitch {
                from: branch_of(from),
                to: branch_of(session.height),
            },
        );
    }

    pub(crate) fn auth(&mut self, session: &Writer) {
        self.inside(
            session,
            Event::AuthOk {
                auth: named("auth key").short16(),
            },
        );
    }

    /// A session on a new branch.
    pub(crate) fn open(&mut self, height: u32) -> Writer {
        let session = self.start(height);
        self.create(&session);
        self.auth(&session);
        session
    }

    pub(crate) fn prompt(&mut self, session: &Writer, seq: u64) {
        self.inside(
            session,
            Event::Prompt {
                hash: named("prompt"),
                seq,
            },
        );
    }

    pub(crate) fn answer(&mut self, session: &mut Writer, seq: u64) {
        let time = Seconds::new(self.time + 1).unwrap();
        let prev = session.chain.unwrap_or(session.id);
        let chain = chain_entry(prev, named("prompt"), named("response"), time);
        let record = self.record();
        let event = Event::Response {
            hash: named("response"),
            seq,
            model: "m".to_owned(),
            chain,
            record,
        };
        self.inside(session, event);
        (session.chain, session.answered) = (Some(chain), session.answered + 1);
    }

    pub(crate) fn fail(&mut self, session: &Writer, seq: u64, reason: &str) {
        let (model, reason) = ("m".to_owned(), reason.to_owned());
        self.inside(
            session,
            Event::ResponseFail {
                seq,
                model,
                reason,
                exchange: named("exchange"),
            },
        );
    }

    pub(crate) fn deny(&mut self, session: &Writer, seq: u64) {
        self.inside(
            session,
            Event::Denied {
                seq,
                reason: "policy".to_owned(),
                exchange: named("exchange"),
            },
        );
    }

    pub(crate) fn drift(&mut self, session: &Writer, seq: u64, class: DriftClass) {
        self.inside(
            session,
            Event::Drift {
                class,
                severity: "low".to_owned(),
                seq,
                id: "d".to_owned(),
            },
        );
    }

    pub(crate) fn anchor(&mut self, session: &mut Writer, height: u32) {
        let (header, block) = header_of(height);
        session.height = height;
        self.highest = self.highest.max(height);
        self.inside(
            session,
            Event::BtcAnchor {
                btc: height,
                block,
                header,
            },
        );
    }

    pub(crate) fn end(&mut self, session: &Writer, height: u32) {
        let close = session_close_hash(session.id, &block_of(height).to_string(), session.chain);
        self.end_as(session, height, close, session.answered);
    }

    pub(crate) fn end_as(
        &mut self,
        session: &Writer,
        height: u32,
        close: Hash32,
        interactions: u64,
    ) {
        let record = self.record();
        let event = Event::SessionEnd {
            btc: height,
            interactions,
            block: block_of(height),
            close,
            record,
        };
        self.highest = self.highest.max(height);
        self.push(height, Some(session.id), event);
    }

    pub(crate) fn clock_set(&mut self, to: u64) {
        self.time = to - 1;
        self.outside(Event::ClockSet {
            to: Seconds::new(to).unwrap(),
        });
    }

    pub(crate) fn future(&mut self, session: Option<&Writer>) {
        let event = Event::Unknown {
            event_type: "from_2040".to_owned(),
            details: Vec::new(),
        };
        self.push(
            session.map_or(self.highest, |session| session.height),
            session.map(|session| session.id),
            event,
        );
    }

    /// All that is wrong: the line's number and the rule.
    pub(crate) fn findings(&self) -> (Vec<(u64, LogRule)>, LogState) {
        let mut state = LogState::new();
        let found = self
            .lines
            .iter()
            .filter_map(|line| state.accept(line).err());
        (
            found
                .map(|violation| (violation.line, violation.rule))
                .collect(),
            state,
        )
    }
}
