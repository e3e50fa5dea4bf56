//! The events of the log, each with its DETAILS (format, section 4, table).

use std::fmt;

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
    /// The answer goes beyond its authority: `authority_drift`.
    Authority,
    /// The answer states what its evidence does not show: `evidence_drift`.
    Evidence,
    /// The answer's tone is not what the kernel asks for: `tone_drift`.
    Tone,
    /// `schema_ok` is false.
    Schema,
    /// The answer lacks a part that was asked for: `completeness_drift`.
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

/// As the log spells it.
impl fmt::Display for DriftClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a line of an event names a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionField {
    /// No session: the field is always `-`.
    Never,
    /// 64 digits or `-`.
    May,
    /// Always 64 digits.
    Must,
}

/// Makes [`Event`] from the table of events.
///
/// A row has the variant, EVENT_TYPE, the watchdog's code, whether the line names a session, and
/// the keys in the order of DETAILS: for each its type and the method of
/// [`details::DetailField`] that reads it.
macro_rules! event_table {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $name:literal, $code:literal, $session:ident {
            $($key:ident: $value:ty = $form:ident),+
        }
    )+) => {
        /// What one line says: EVENT_TYPE and DETAILS.
        ///
        /// Numbers that count something (`seq`, `count`, `applied`) are at least 1; `interactions`
        /// may be 0. Free texts are any non-empty Unicode; they are escaped when they are printed.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(
            missing_docs,
            reason = "the fields are the keys of the table in format, section 4, one for one"
        )]
        pub enum Event {
            $($(#[$doc])* $variant { $($key: $value),+ },)+
            /// A type that this version doesn't know: it chains like the others and is kept.
            Unknown {
                event_type: String,
                details: Vec<(String, String)>,
            },
        }

        impl Event {
            /// The event's EVENT_TYPE, as the log spells it.
            pub fn name(&self) -> &str {
                match self {
                    $(Event::$variant { .. } => $name,)+
                    Event::Unknown { event_type, .. } => event_type,
                }
            }

            /// The watchdog's event kind, as `--json` shows it; none for an unknown type.
            pub fn code(&self) -> Option<u8> {
                match self {
                    $(Event::$variant { .. } => Some($code),)+
                    Event::Unknown { .. } => None,
                }
            }

            pub(crate) fn session_field(&self) -> SessionField {
                match self {
                    $(Event::$variant { .. } => SessionField::$session,)+
                    Event::Unknown { .. } => SessionField::May,
                }
            }

            /// Keys and plain values, in the order of the line.
            fn pairs(&self) -> Vec<(&str, &dyn fmt::Display)> {
                match self {
                    $(Event::$variant { $($key),+ } => {
                        vec![$((stringify!($key), $key as &dyn fmt::Display)),+]
                    })+
                    Event::Unknown { details, .. } => details
                        .iter()
                        .map(|(key, value)| (key.as_str(), value as &dyn fmt::Display))
                        .collect(),
                }
            }

            /// Reads an event from its type and its pairs: exactly the keys of the table in their
            /// order, and values of the right form.
            pub(crate) fn read(name: &str, pairs: Vec<Pair<'_>>) -> Result<Event, EntryError> {
                let fields = DetailFields { event: name, pairs };
                Ok(match name {
                    $($name => {
                        let [$($key),+] = fields.take([$(stringify!($key)),+])?;
                        Event::$variant { $($key: $key.$form()?),+ }
                    })+
                    other if details::is_event_type(other) => Event::Unknown {
                        event_type: other.to_owned(),
                        details: fields.owned(),
                    },
                    other => {
                        return Err(EntryError::EventType {
                            actual: excerpt(other),
                        });
                    }
                })
            }
        }
    };
}

event_table! {
    /// The first line of every log.
    Genesis = "genesis", 0x10, Never { record: Hash32 = hash }
    /// A session begins under a block, on the branch of its height.
    SessionStart = "session_start", 0x10, Must {
        btc: u32 = height,
        branch: String = branch,
        block: Hash32 = hash,
        auth: Hash32 = hash,
        record: Hash32 = hash
    }
    /// The session's branch did not exist.
    BranchCreate = "branch_create", 0x10, Must { branch: String = branch }
    /// It exists and is not that of the session started before.
    BranchSwitch = "branch_switch", 0x10, Must { from: String = branch, to: String = branch }
    /// The first 16 digits of the auth key's hash.
    AuthOk = "auth_ok", 0x14, Must { auth: String = short_hash }
    /// Gathered per minute.
    AuthFail = "auth_fail", 0x14, May { reason: String = code, count: u64 = positive }
    /// A prompt, by its commitment.
    Prompt = "prompt", 0x12, Must { hash: Hash32 = hash, seq: u64 = positive }
    /// An answer, by its commitment.
    Response = "response", 0x13, Must {
        hash: Hash32 = hash,
        seq: u64 = positive,
        model: String = text,
        chain: Hash32 = hash,
        record: Hash32 = hash
    }
    /// A question got no answer.
    ResponseFail = "response_fail", 0x13, Must {
        seq: u64 = positive,
        model: String = text,
        reason: String = code,
        exchange: Hash32 = hash
    }
    /// Policy denied the prompt.
    Denied = "denied", 0x13, Must {
        seq: u64 = positive,
        reason: String = code,
        exchange: Hash32 = hash
    }
    /// A newer block was seen.
    BtcAnchor = "btc_anchor", 0x15, Must {
        btc: u32 = height,
        block: Hash32 = hash,
        header: Header = header
    }
    /// An answer drifted.
    Drift = "drift", 0x02, Must {
        class: DriftClass = drift_class,
        severity: String = code,
        seq: u64 = positive,
        id: String = text
    }
    /// Everything else that must not change silently, by its commitment.
    Artifact = "artifact", 0x10, May { kind: String = code, id: String = text, hash: Hash32 = hash }
    /// A session ends.
    SessionEnd = "session_end", 0x11, Must {
        btc: u32 = height,
        interactions: u64 = number,
        block: Hash32 = hash,
        close: Hash32 = hash,
        record: Hash32 = hash
    }
    /// A segment of the log went to `main`.
    Checkpoint = "checkpoint", 0x10, Never { record: Hash32 = hash }
    /// Another key signs from here on.
    KeyRotate = "key_rotate", 0x10, Never { record: Hash32 = hash }
    /// What a crash had left unapplied was applied.
    Recover = "recover", 0x10, Never { applied: u64 = positive }
    /// The clock had gone back; lines go on from this time.
    ClockSet = "clock_set", 0x10, Never { to: Seconds = time }
}

impl Event {
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
        details::print(&self.pairs())
    }

    /// Writes [`Event::details`], of which no copy is made.
    pub(crate) fn write_details(&self, out: &mut impl fmt::Write) -> fmt::Result {
        details::write(&self.pairs(), out)
    }

    /// Keys and decoded values of DETAILS, in their order.
    pub fn fields(&self) -> Vec<(String, String)> {
        self.pairs()
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_string()))
            .collect()
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
