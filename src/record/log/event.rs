//! The events of the log, each with its DETAILS (format, section 3, table).

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::details;
use super::details::{DetailFields, Pair};
use super::entry::{EntryError, excerpt};
use crate::record::bitcoin::block::Header;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// In which way an answer drifted; each is a flag of `record.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftClass {
    /// `authority_drift`.
    Authority,
    /// `evidence_drift`.
    Evidence,
    /// `tone_drift`.
    Tone,
    /// `schema_ok` is false.
    Schema,
    /// `completeness_drift`.
    Completeness,
}

impl DriftClass {
    /// All classes, in the order of the table.
    pub const ALL: [DriftClass; 5] = [
        DriftClass::Authority,
        DriftClass::Evidence,
        DriftClass::Tone,
        DriftClass::Schema,
        DriftClass::Completeness,
    ];

    /// The spelling in the log.
    pub const fn name(self) -> &'static str {
        match self {
            DriftClass::Authority => "authority",
            DriftClass::Evidence => "evidence",
            DriftClass::Tone => "tone",
            DriftClass::Schema => "schema",
            DriftClass::Completeness => "completeness",
        }
    }
}

/// What one line says: EVENT_TYPE and DETAILS.
///
/// Numbers that count something (`seq`, `count`, `applied`) are at least 1; `interactions` may be
/// 0. Free texts are any non-empty Unicode; they are escaped when they are printed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the fields are the keys of the table in format, section 3, one for one"
)]
pub enum Event {
    /// `record:HASH`: the first line of every log.
    Genesis { record: Hash32 },
    /// `btc:HEIGHT,branch:branch-N,block:HASH,auth:AUTH_KEY_HASH,record:HASH`.
    SessionStart {
        btc: u32,
        branch: String,
        block: Hash32,
        auth: Hash32,
        record: Hash32,
    },
    /// `branch:branch-N`: the session's branch did not exist.
    BranchCreate { branch: String },
    /// `from:branch-M,to:branch-N`: it exists and is not that of the session started before.
    BranchSwitch { from: String, to: String },
    /// `auth:AUTH_KEY_HASH16`: 16 lower-case digits.
    AuthOk { auth: String },
    /// `reason:CODE,count:N`: gathered per minute.
    AuthFail { reason: String, count: u64 },
    /// `hash:PROMPT,seq:N`.
    Prompt { hash: Hash32, seq: u64 },
    /// `hash:RESPONSE,seq:N,model:ID,chain:CHAIN_ENTRY,record:HASH`.
    Response {
        hash: Hash32,
        seq: u64,
        model: String,
        chain: Hash32,
        record: Hash32,
    },
    /// `seq:N,model:ID,reason:CODE,exchange:HASH`: no answer.
    ResponseFail {
        seq: u64,
        model: String,
        reason: String,
        exchange: Hash32,
    },
    /// `seq:N,reason:CODE,exchange:HASH`: policy denied the prompt.
    Denied {
        seq: u64,
        reason: String,
        exchange: Hash32,
    },
    /// `btc:HEIGHT,block:HASH,header:160HEX`.
    BtcAnchor {
        btc: u32,
        block: Hash32,
        header: Header,
    },
    /// `class:CLASS,severity:S,seq:N,id:ID`.
    Drift {
        class: DriftClass,
        severity: String,
        seq: u64,
        id: String,
    },
    /// `kind:K,id:ID,hash:COMMITMENT`.
    Artifact {
        kind: String,
        id: String,
        hash: Hash32,
    },
    /// `btc:HEIGHT,interactions:N,block:HASH,close:SESSION_CLOSE_HASH,record:HASH`.
    SessionEnd {
        btc: u32,
        interactions: u64,
        block: Hash32,
        close: Hash32,
        record: Hash32,
    },
    /// `record:HASH`.
    Checkpoint { record: Hash32 },
    /// `record:HASH`.
    KeyRotate { record: Hash32 },
    /// `applied:N`.
    Recover { applied: u64 },
    /// `to:TIMESTAMP`.
    ClockSet { to: Seconds },
    /// A type that this version doesn't know: it chains like the others and is kept.
    Unknown {
        event_type: String,
        details: Vec<(String, String)>,
    },
}

/// Whether a line of an event names a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionField {
    /// Always `-`.
    Never,
    /// 64 digits or `-`.
    May,
    /// Always 64 digits.
    Must,
}

impl Event {
    /// EVENT_TYPE.
    pub fn name(&self) -> &str {
        match self {
            Event::Genesis { .. } => "genesis",
            Event::SessionStart { .. } => "session_start",
            Event::BranchCreate { .. } => "branch_create",
            Event::BranchSwitch { .. } => "branch_switch",
            Event::AuthOk { .. } => "auth_ok",
            Event::AuthFail { .. } => "auth_fail",
            Event::Prompt { .. } => "prompt",
            Event::Response { .. } => "response",
            Event::ResponseFail { .. } => "response_fail",
            Event::Denied { .. } => "denied",
            Event::BtcAnchor { .. } => "btc_anchor",
            Event::Drift { .. } => "drift",
            Event::Artifact { .. } => "artifact",
            Event::SessionEnd { .. } => "session_end",
            Event::Checkpoint { .. } => "checkpoint",
            Event::KeyRotate { .. } => "key_rotate",
            Event::Recover { .. } => "recover",
            Event::ClockSet { .. } => "clock_set",
            Event::Unknown { event_type, .. } => event_type,
        }
    }

    /// The watchdog's event kind, as `--json` shows it; none for an unknown type.
    pub fn code(&self) -> Option<u8> {
        match self {
            Event::Drift { .. } => Some(0x02),
            Event::SessionEnd { .. } => Some(0x11),
            Event::Prompt { .. } => Some(0x12),
            Event::Response { .. } | Event::ResponseFail { .. } | Event::Denied { .. } => {
                Some(0x13)
            }
            Event::AuthOk { .. } | Event::AuthFail { .. } => Some(0x14),
            Event::BtcAnchor { .. } => Some(0x15),
            Event::Unknown { .. } => None,
            _ => Some(0x10),
        }
    }

    /// `record:`, the hash of the document that the matching commit carries; none where there is no
    /// commit.
    pub fn record(&self) -> Option<Hash32> {
        match self {
            Event::Genesis { record }
            | Event::SessionStart { record, .. }
            | Event::Response { record, .. }
            | Event::SessionEnd { record, .. }
            | Event::Checkpoint { record }
            | Event::KeyRotate { record } => Some(*record),
            _ => None,
        }
    }

    /// `seq:`, the number of the prompt that the line is about.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Event::Prompt { seq, .. }
            | Event::Response { seq, .. }
            | Event::ResponseFail { seq, .. }
            | Event::Denied { seq, .. }
            | Event::Drift { seq, .. } => Some(*seq),
            _ => None,
        }
    }

    /// DETAILS, percent-encoded; `-` when there are none.
    pub fn details(&self) -> String {
        match self {
            Event::Unknown { details, .. } => details::print(details),
            known => details::print(&known.pairs()),
        }
    }

    /// Writes [`Event::details`]; most lines are of two kinds, of which no copy is made.
    pub(crate) fn write_details(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Event::Prompt { hash, seq } => write!(out, "hash:{hash},seq:{seq}"),
            Event::Response {
                hash,
                seq,
                model,
                chain,
                record,
            } => {
                let model = details::spelled(model);
                write!(
                    out,
                    "hash:{hash},seq:{seq},model:{model},chain:{chain},record:{record}"
                )
            }
            other => out.write_all(other.details().as_bytes()),
        }
    }

    /// Keys and decoded values of DETAILS, in their order.
    pub fn fields(&self) -> Vec<(String, String)> {
        match self {
            Event::Unknown { details, .. } => details.clone(),
            known => known
                .pairs()
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        }
    }

    pub(crate) fn session_field(&self) -> SessionField {
        match self {
            Event::Genesis { .. }
            | Event::Checkpoint { .. }
            | Event::KeyRotate { .. }
            | Event::Recover { .. }
            | Event::ClockSet { .. } => SessionField::Never,
            Event::AuthFail { .. } | Event::Artifact { .. } | Event::Unknown { .. } => {
                SessionField::May
            }
            _ => SessionField::Must,
        }
    }

    /// Keys and plain values of a known event, in the order of the table.
    fn pairs(&self) -> Vec<(&'static str, String)> {
        match self {
            Event::Genesis { record }
            | Event::Checkpoint { record }
            | Event::KeyRotate { record } => {
                vec![("record", record.to_string())]
            }
            Event::SessionStart {
                btc,
                branch,
                block,
                auth,
                record,
            } => vec![
                ("btc", btc.to_string()),
                ("branch", branch.clone()),
                ("block", block.to_string()),
                ("auth", auth.to_string()),
                ("record", record.to_string()),
            ],
            Event::BranchCreate { branch } => vec![("branch", branch.clone())],
            Event::BranchSwitch { from, to } => vec![("from", from.clone()), ("to", to.clone())],
            Event::AuthOk { auth } => vec![("auth", auth.clone())],
            Event::AuthFail { reason, count } => {
                vec![("reason", reason.clone()), ("count", count.to_string())]
            }
            Event::Prompt { hash, seq } => {
                vec![("hash", hash.to_string()), ("seq", seq.to_string())]
            }
            Event::Response {
                hash,
                seq,
                model,
                chain,
                record,
            } => vec![
                ("hash", hash.to_string()),
                ("seq", seq.to_string()),
                ("model", model.clone()),
                ("chain", chain.to_string()),
                ("record", record.to_string()),
            ],
            Event::ResponseFail {
                seq,
                model,
                reason,
                exchange,
            } => vec![
                ("seq", seq.to_string()),
                ("model", model.clone()),
                ("reason", reason.clone()),
                ("exchange", exchange.to_string()),
            ],
            Event::Denied {
                seq,
                reason,
                exchange,
            } => {
                vec![
                    ("seq", seq.to_string()),
                    ("reason", reason.clone()),
                    ("exchange", exchange.to_string()),
                ]
            }
            Event::BtcAnchor { btc, block, header } => {
                vec![
                    ("btc", btc.to_string()),
                    ("block", block.to_string()),
                    ("header", header.to_string()),
                ]
            }
            Event::Drift {
                class,
                severity,
                seq,
                id,
            } => vec![
                ("class", class.name().to_owned()),
                ("severity", severity.clone()),
                ("seq", seq.to_string()),
                ("id", id.clone()),
            ],
            Event::Artifact { kind, id, hash } => {
                vec![
                    ("kind", kind.clone()),
                    ("id", id.clone()),
                    ("hash", hash.to_string()),
                ]
            }
            Event::SessionEnd {
                btc,
                interactions,
                block,
                close,
                record,
            } => vec![
                ("btc", btc.to_string()),
                ("interactions", interactions.to_string()),
                ("block", block.to_string()),
                ("close", close.to_string()),
                ("record", record.to_string()),
            ],
            Event::Recover { applied } => vec![("applied", applied.to_string())],
            Event::ClockSet { to } => vec![("to", to.to_string())],
            Event::Unknown { .. } => Vec::new(),
        }
    }

    /// Reads an event from its type and its pairs: exactly the keys of the table in their order,
    /// and values of the right form.
    pub(crate) fn read(name: &str, pairs: Vec<Pair<'_>>) -> Result<Event, EntryError> {
        let f = DetailFields { event: name, pairs };
        Ok(match name {
            "genesis" => {
                let [record] = f.take(["record"])?;
                Event::Genesis {
                    record: record.hash()?,
                }
            }
            "session_start" => {
                let [btc, branch, block, auth, record] =
                    f.take(["btc", "branch", "block", "auth", "record"])?;
                Event::SessionStart {
                    btc: btc.height()?,
                    branch: branch.branch()?,
                    block: block.hash()?,
                    auth: auth.hash()?,
                    record: record.hash()?,
                }
            }
            "branch_create" => {
                let [branch] = f.take(["branch"])?;
                Event::BranchCreate {
                    branch: branch.branch()?,
                }
            }
            "branch_switch" => {
                let [from, to] = f.take(["from", "to"])?;
                Event::BranchSwitch {
                    from: from.branch()?,
                    to: to.branch()?,
                }
            }
            "auth_ok" => {
                let [auth] = f.take(["auth"])?;
                Event::AuthOk {
                    auth: auth.short_hash()?,
                }
            }
            "auth_fail" => {
                let [reason, count] = f.take(["reason", "count"])?;
                Event::AuthFail {
                    reason: reason.code()?,
                    count: count.positive()?,
                }
            }
            "prompt" => {
                let [hash, seq] = f.take(["hash", "seq"])?;
                Event::Prompt {
                    hash: hash.hash()?,
                    seq: seq.positive()?,
                }
            }
            "response" => {
                let [hash, seq, model, chain, record] =
                    f.take(["hash", "seq", "model", "chain", "record"])?;
                Event::Response {
                    hash: hash.hash()?,
                    seq: seq.positive()?,
                    model: model.text()?,
                    chain: chain.hash()?,
                    record: record.hash()?,
                }
            }
            "response_fail" => {
                let [seq, model, reason, exchange] =
                    f.take(["seq", "model", "reason", "exchange"])?;
                Event::ResponseFail {
                    seq: seq.positive()?,
                    model: model.text()?,
                    reason: reason.code()?,
                    exchange: exchange.hash()?,
                }
            }
            "denied" => {
                let [seq, reason, exchange] = f.take(["seq", "reason", "exchange"])?;
                Event::Denied {
                    seq: seq.positive()?,
                    reason: reason.code()?,
                    exchange: exchange.hash()?,
                }
            }
            "btc_anchor" => {
                let [btc, block, header] = f.take(["btc", "block", "header"])?;
                Event::BtcAnchor {
                    btc: btc.height()?,
                    block: block.hash()?,
                    header: header.header()?,
                }
            }
            "drift" => {
                let [class, severity, seq, id] = f.take(["class", "severity", "seq", "id"])?;
                Event::Drift {
                    class: class.drift_class()?,
                    severity: severity.code()?,
                    seq: seq.positive()?,
                    id: id.text()?,
                }
            }
            "artifact" => {
                let [kind, id, hash] = f.take(["kind", "id", "hash"])?;
                Event::Artifact {
                    kind: kind.code()?,
                    id: id.text()?,
                    hash: hash.hash()?,
                }
            }
            "session_end" => {
                let [btc, interactions, block, close, record] =
                    f.take(["btc", "interactions", "block", "close", "record"])?;
                Event::SessionEnd {
                    btc: btc.height()?,
                    interactions: interactions.number()?,
                    block: block.hash()?,
                    close: close.hash()?,
                    record: record.hash()?,
                }
            }
            "checkpoint" => {
                let [record] = f.take(["record"])?;
                Event::Checkpoint {
                    record: record.hash()?,
                }
            }
            "key_rotate" => {
                let [record] = f.take(["record"])?;
                Event::KeyRotate {
                    record: record.hash()?,
                }
            }
            "recover" => {
                let [applied] = f.take(["applied"])?;
                Event::Recover {
                    applied: applied.positive()?,
                }
            }
            "clock_set" => {
                let [to] = f.take(["to"])?;
                Event::ClockSet { to: to.time()? }
            }
            other if details::is_event_type(other) => {
                let details = f
                    .pairs
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value.into_owned()))
                    .collect();
                Event::Unknown {
                    event_type: other.to_owned(),
                    details,
                }
            }
            other => {
                return Err(EntryError::EventType {
                    actual: excerpt(other),
                });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::record::log::entry::Line;

    #[test]
    fn codes_are_the_watchdogs() {
        let log = include_str!("../../../tests/vectors/audit_log/valid.log");
        for (kind, code) in [
            ("genesis", Some(0x10)),
            ("session_end", Some(0x11)),
            ("prompt", Some(0x12)),
            ("denied", Some(0x13)),
            ("response_fail", Some(0x13)),
            ("auth_fail", Some(0x14)),
            ("btc_anchor", Some(0x15)),
            ("drift", Some(0x02)),
            ("some_future_event", None),
        ] {
            let lines = log
                .lines()
                .map(|text| Line::parse(text.as_bytes()).unwrap());
            let codes: Vec<_> = lines
                .filter(|line| line.event.name() == kind)
                .map(|line| line.event.code())
                .collect();
            assert!(
                !codes.is_empty() && codes.iter().all(|found| *found == code),
                "{kind}"
            );
        }
    }
}
