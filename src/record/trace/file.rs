//! Files that hold traces: an envelope, a trace or a batch; or one of them on each line.
//!
//! ```text
//! {"batch_timestamp":"…Z","consent_timestamp":"…Z"|null,
//!  "events":[{"event_type":"complete_trace","trace":{…},"trace_level":"generic"},…],"trace_level":"generic"}
//! ```
//!
//! A batch is the body that the other project's receiver takes.

use std::collections::BTreeMap;

use super::envelope::{Envelope, EnvelopeFault};
use super::level::TraceLevel;
use super::read::{MAX_TRACE_FILE, TraceJsonFault, read};
use super::signed::{Trace, TraceFault, TraceMembers};
use super::value::TraceValue;
use crate::record::time::Seconds;

/// `event_type` of every event in a batch.
const EVENT: &str = "complete_trace";
/// The key that envelopes have, and neither traces nor batches.
const ENVELOPE_KEY: &str = "format";
/// The key that batches have, and traces have not.
const BATCH_KEY: &str = "events";

/// Why a file holds no traces.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileFault {
    /// Larger than any that is read.
    #[error("{actual} bytes; a file of traces has at most {MAX_TRACE_FILE} (64 MiB)")]
    TooLarge {
        /// Size of the file, in bytes.
        actual: usize,
    },
    /// There is nothing in it.
    #[error("there is no trace in it")]
    Nothing,
    /// Something on a line is no trace.
    #[error("line {line}: {fault}")]
    Trace {
        /// Where it begins, from 1.
        line: usize,
        /// Why it is none.
        fault: TraceFault,
    },
    /// Something on a line is no envelope.
    #[error("line {line}: {fault}")]
    Envelope {
        /// Which line, from 1.
        line: usize,
        /// Why it is none.
        fault: EnvelopeFault,
    },
}

/// One document of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceDocument {
    /// A trace in its envelope.
    Envelope(Box<Envelope>),
    /// A trace of anybody.
    Trace(Box<Trace>),
    /// Traces of anybody, as they are sent.
    Batch(TraceBatch),
}

/// The body of one request to the other project's receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceBatch {
    /// When it was put together.
    pub batch_timestamp: String,
    /// When consent was given.
    pub consent_timestamp: Option<String>,
    /// The traces, all of one level.
    pub traces: Vec<Trace>,
    /// Their level.
    pub trace_level: TraceLevel,
}

impl TraceBatch {
    /// A batch of ours.
    pub fn new(
        traces: Vec<Trace>,
        trace_level: TraceLevel,
        at: Seconds,
        consent: Option<Seconds>,
    ) -> TraceBatch {
        TraceBatch {
            batch_timestamp: at.to_string(),
            consent_timestamp: consent.map(|at| at.to_string()),
            traces,
            trace_level,
        }
    }

    /// One line without a newline, in the spelling of M.
    pub fn print(&self) -> String {
        let level = || TraceValue::text(self.trace_level.name());
        let event = |trace: &Trace| {
            TraceValue::Map(BTreeMap::from([
                ("event_type".to_owned(), TraceValue::text(EVENT)),
                ("trace".to_owned(), trace.to_value()),
                ("trace_level".to_owned(), level()),
            ]))
        };
        let consent = self.consent_timestamp.as_ref();
        let body = TraceValue::Map(BTreeMap::from([
            (
                "batch_timestamp".to_owned(),
                TraceValue::text(&self.batch_timestamp),
            ),
            (
                "consent_timestamp".to_owned(),
                consent.map_or(TraceValue::Null, TraceValue::text),
            ),
            (
                BATCH_KEY.to_owned(),
                TraceValue::List(self.traces.iter().map(event).collect()),
            ),
            ("trace_level".to_owned(), level()),
        ]));
        let mut out = Vec::new();
        body.write(&mut out);
        String::from_utf8(out).expect("everything outside ASCII is escaped")
    }

    /// The batch that a JSON value is.
    fn of(value: TraceValue) -> Result<TraceBatch, TraceFault> {
        let mut members = TraceMembers::of(value, String::new())?;
        let trace_level = level(&mut members)?;
        let events = members.list(BATCH_KEY)?.into_iter().enumerate();
        let traces = events.map(|(n, value)| {
            let path = format!("{BATCH_KEY}/{n}");
            let mut event = TraceMembers::of(value, path.clone())?;
            if event.text("event_type")? != EVENT {
                return Err(event.fault("event_type", "complete_trace"));
            }
            let trace = Trace::of(event.value("trace")?)?;
            let levels = [level(&mut event)?, trace.unsigned.trace_level];
            match levels == [trace_level; 2] {
                true => Ok(trace),
                false => Err(event.fault("trace_level", "the level of the batch")),
            }
        });
        Ok(TraceBatch {
            traces: traces.collect::<Result<_, _>>()?,
            trace_level,
            batch_timestamp: members.text("batch_timestamp")?,
            consent_timestamp: members.optional_text("consent_timestamp")?,
        })
    }
}

fn level(members: &mut TraceMembers) -> Result<TraceLevel, TraceFault> {
    let name = members.text("trace_level")?;
    TraceLevel::named(&name)
        .ok_or_else(|| members.fault("trace_level", "generic, detailed or full_traces"))
}

/// Where one document of a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadTrace<'a> {
    /// The line that it begins on, from 1.
    pub line: usize,
    /// Its bytes, with their newline.
    pub bytes: &'a [u8],
}

impl UnreadTrace<'_> {
    /// What stands there.
    pub fn read(&self) -> Result<TraceDocument, TraceFileFault> {
        document(self.line, self.bytes)
    }
}

/// The documents of a file, one after the other; nobody has read them yet.
#[derive(Clone, Debug)]
pub struct TraceDocuments<'a> {
    left: &'a [u8],
    line: usize,
    by_line: bool,
}

/// The documents of a file: the whole is one, or each line is.
pub fn texts_of(bytes: &[u8]) -> Result<TraceDocuments<'_>, TraceFileFault> {
    if bytes.len() > MAX_TRACE_FILE {
        let actual = bytes.len();
        return Err(TraceFileFault::TooLarge { actual });
    }
    let lines = TraceDocuments {
        left: bytes,
        line: 1,
        by_line: true,
    };
    let first = lines.clone().next().ok_or(TraceFileFault::Nothing)?;
    // A document that ends on its first line is one of many; else it goes on over all of them.
    Ok(TraceDocuments {
        by_line: read(first.bytes).is_ok(),
        ..lines
    })
}

impl<'a> Iterator for TraceDocuments<'a> {
    type Item = UnreadTrace<'a>;

    fn next(&mut self) -> Option<UnreadTrace<'a>> {
        while !self.left.is_empty() {
            let end = self.left.iter().position(|b| *b == b'\n' && self.by_line);
            let (bytes, left) = self
                .left
                .split_at(end.map_or(self.left.len(), |end| end + 1));
            let line = self.line;
            (self.left, self.line) = (left, line + 1);
            if !bytes.iter().all(u8::is_ascii_whitespace) {
                return Some(UnreadTrace { line, bytes });
            }
        }
        None
    }
}

fn document(line: usize, text: &[u8]) -> Result<TraceDocument, TraceFileFault> {
    let trace = |fault| TraceFileFault::Trace { line, fault };
    let value = read(text).map_err(|fault: TraceJsonFault| trace(fault.into()))?;
    let has = |key: &str| matches!(&value, TraceValue::Map(entries) if entries.contains_key(key));
    if has(ENVELOPE_KEY) {
        return Envelope::of(value, text)
            .map(|envelope| TraceDocument::Envelope(Box::new(envelope)))
            .map_err(|fault| TraceFileFault::Envelope { line, fault });
    }
    match has(BATCH_KEY) {
        true => TraceBatch::of(value).map(TraceDocument::Batch),
        false => Trace::of(value).map(|trace| TraceDocument::Trace(Box::new(trace))),
    }
    .map_err(trace)
}
