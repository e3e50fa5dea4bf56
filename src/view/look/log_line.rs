//! A line of `audit.log`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::app::look::log_lines::CheckedLine;
use crate::record::hash::Hash32;

/// A line, decoded and held against the line before it.
#[derive(Clone, Debug, Serialize)]
pub struct LogLineView {
    /// Its number, from 1.
    pub line: u64,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// `holds` or `broken`.
    pub chain: &'static str,
    /// Why it does not hold.
    pub fault: Option<String>,
    /// What it says.
    #[serde(flatten)]
    pub content: LineContentView,
}

/// What a line says.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum LineContentView {
    /// It could be read.
    Fields {
        /// Field HASH of the line.
        hash: Hash32,
        /// BTC_HEIGHT; 0 without an anchor.
        btc_height: u32,
        /// Field TIMESTAMP of the line.
        time: String,
        /// The event's name.
        event: String,
        /// Number that the format gives the event.
        code: Option<u8>,
        /// Field SESSION_ID of the line; null for lines of no session.
        session: Option<Hash32>,
        /// Field DETAILS of the line, by key.
        details: BTreeMap<String, String>,
    },
    /// It is no line of the format.
    Raw {
        /// As it stands there.
        raw: String,
    },
}

/// A last line without a newline.
#[derive(Clone, Debug, Serialize)]
pub struct TornLineView {
    /// How many bytes it has.
    pub torn_bytes: u64,
}

impl LogLineView {
    /// Of a line.
    pub fn of(shown: &CheckedLine) -> Self {
        let fault = shown.fault();
        let content = match &shown.line {
            Ok(line) => LineContentView::Fields {
                hash: line.hash,
                btc_height: line.height,
                time: line.time.to_string(),
                event: line.event.name().to_owned(),
                code: line.event.code(),
                session: line.session,
                details: line.event.fields().into_iter().collect(),
            },
            Err(_) => LineContentView::Raw {
                raw: String::from_utf8_lossy(&shown.bytes).into_owned(),
            },
        };
        LogLineView {
            line: shown.number,
            offset: shown.offset,
            chain: if fault.is_none() { "holds" } else { "broken" },
            fault,
            content,
        }
    }
}
