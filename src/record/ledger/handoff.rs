//! Handoffs: what a conversation came to, summed up for whoever goes on in it.
//!
//! | kind | id | content |
//! |---|---|---|
//! | `handoff` | `handoff:000001` | `conversation` (the thread's id), `exchange`, `specialist` (or null), `thread_number`, `trigger`, `upto` (a line, from 0) |
//!
//! The summary is the answer of the exchange: no text stands here, so erasing the exchange erases it.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::Value;
use uuid::Uuid;

use super::item::{NoSuchWord, content};
use super::specialist::SpecialistId;

/// The kind of the artifact, and what stands before its number.
pub const HANDOFF: &str = "handoff";

/// Why a handoff is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoffTrigger {
    /// The messages since the last one fill most of the model's window.
    TokenThreshold,
    /// There are many messages since the last one.
    MessageCount,
    /// Nobody said anything for long.
    TimeGap,
    /// Somebody asked for it.
    Manual,
    /// The coverage job found a conversation without one.
    CoverageJobNoBackup,
    /// The coverage job found one, and messages after it.
    CoverageJobStale,
}

impl HandoffTrigger {
    /// All that there are.
    pub const ALL: [HandoffTrigger; 6] = [
        HandoffTrigger::TokenThreshold,
        HandoffTrigger::MessageCount,
        HandoffTrigger::TimeGap,
        HandoffTrigger::Manual,
        HandoffTrigger::CoverageJobNoBackup,
        HandoffTrigger::CoverageJobStale,
    ];

    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            HandoffTrigger::TokenThreshold => "token_threshold",
            HandoffTrigger::MessageCount => "message_count",
            HandoffTrigger::TimeGap => "time_gap",
            HandoffTrigger::Manual => "manual",
            HandoffTrigger::CoverageJobNoBackup => "coverage_job_no_backup",
            HandoffTrigger::CoverageJobStale => "coverage_job_stale",
        }
    }

    /// Why it was made, for a person.
    pub const fn words(self) -> &'static str {
        match self {
            HandoffTrigger::TokenThreshold => "made because the model's window was filling",
            HandoffTrigger::MessageCount => "made because many messages had no handoff",
            HandoffTrigger::TimeGap => "made after a long silence",
            HandoffTrigger::Manual => "made because it was asked for",
            HandoffTrigger::CoverageJobNoBackup => "made by run --due, the first one",
            HandoffTrigger::CoverageJobStale => {
                "made by run --due, as messages had come after the last"
            }
        }
    }
}

impl FromStr for HandoffTrigger {
    type Err = NoSuchWord;

    fn from_str(text: &str) -> Result<HandoffTrigger, NoSuchWord> {
        HandoffTrigger::ALL
            .into_iter()
            .find(|trigger| trigger.name() == text)
            .ok_or_else(|| NoSuchWord(text.to_owned()))
    }
}

/// One handoff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// Line of its artifact.
    pub line: u64,
    /// Its id, such as `handoff:000001`.
    pub id: String,
    /// The exchange whose answer it is.
    pub exchange: Uuid,
    /// The conversation that it sums up.
    pub conversation: Uuid,
    /// The specialist that wrote it; none where a model was asked by its own name.
    pub specialist: Option<SpecialistId>,
    /// How many the conversation has, with this one.
    pub thread_number: u64,
    /// Why it was made.
    pub trigger: HandoffTrigger,
    /// Line of the newest message that it is about, from 0.
    pub upto: u64,
}

/// The handoff that an artifact is; none of another kind, and of one that is erased.
pub fn handoff_of(line: u64, kind: &str, id: &str, document: Option<&str>) -> Option<Handoff> {
    let content = content(document.filter(|_| kind == HANDOFF))?;
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    let number = |key: &str| content.get(key).and_then(Value::as_u64);
    Some(Handoff {
        line,
        id: id.to_owned(),
        exchange: text("exchange")?.parse().ok()?,
        conversation: text("conversation")?.parse().ok()?,
        specialist: text("specialist").and_then(|id| id.parse().ok()),
        thread_number: number("thread_number")?,
        trigger: text("trigger")?.parse().ok()?,
        upto: number("upto")?,
    })
}

/// All handoffs that artifacts give, by line.
#[derive(Clone, Debug, Default)]
pub struct Handoffs(BTreeMap<u64, Handoff>);

impl Handoffs {
    /// Takes the next artifact; `document` is its canonical JSON, none once erased.
    pub fn take(&mut self, line: u64, kind: &str, id: &str, document: Option<&str>) {
        if let Some(handoff) = handoff_of(line, kind, id, document) {
            self.0.insert(line, handoff);
        }
    }

    /// All of them, by line.
    pub fn into_map(self) -> BTreeMap<u64, Handoff> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(content: &Value) -> String {
        let document =
            json!({"content": content, "format": 1, "id": "handoff:000001", "kind": HANDOFF});
        document.to_string()
    }

    #[test]
    fn a_handoff_is_what_its_artifact_says() {
        let [conversation, exchange] = [1, 2].map(Uuid::from_u128);
        let content = json!({"conversation": conversation.to_string(), "exchange": exchange.to_string(),
            "specialist": "specialist:000002", "thread_number": 3, "trigger": "time_gap", "upto": 41});
        let text = document(&content);
        let expected = Handoff {
            line: 44,
            id: "handoff:000001".to_owned(),
            exchange,
            conversation,
            specialist: Some(SpecialistId(2)),
            thread_number: 3,
            trigger: HandoffTrigger::TimeGap,
            upto: 41,
        };
        let mut all = Handoffs::default();
        all.take(44, HANDOFF, "handoff:000001", Some(&text));
        // One of another kind, one that is erased, and one of a trigger that nobody knows give none.
        all.take(45, "rating", "rating:000001", Some(&text));
        all.take(46, HANDOFF, "handoff:000002", None);
        let unknown = document(&json!({"trigger": "boredom"}));
        all.take(47, HANDOFF, "handoff:000003", Some(&unknown));
        assert_eq!(all.into_map(), BTreeMap::from([(44, expected)]));
    }

    #[test]
    fn triggers_are_spelled_as_they_are_read() {
        for trigger in HandoffTrigger::ALL {
            assert_eq!(trigger.name().parse(), Ok(trigger));
        }
        assert!("coverage_job".parse::<HandoffTrigger>().is_err());
    }
}
