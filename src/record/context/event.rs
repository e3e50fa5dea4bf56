//! INTENT, DECISION and EXECUTION: what a turn leaves in its thread.
//!
//! Three types, so that what policy may see (an [`IntentPayload`]) cannot be confused with what a model
//! said (an [`Execution`]).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::record::ledger::bundle::NamedHash;

use super::json::{self, JsonFault};

/// What kind of event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EventKind {
    /// What the user said.
    Intent,
    /// What policy said.
    Decision,
    /// What the model said.
    Execution,
}

impl EventKind {
    /// The spelling in documents.
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::Intent => "INTENT",
            EventKind::Decision => "DECISION",
            EventKind::Execution => "EXECUTION",
        }
    }
}

/// `sha256:` of `{"correlation_id":…,"data":…,"event_kind":…}`, without observations at any depth.
pub fn event_digest(kind: EventKind, id: &str, data: Value) -> Result<NamedHash, JsonFault> {
    let data = json::without_observations(data);
    json::digest(&json!({"correlation_id": id, "data": data, "event_kind": kind.name()}))
}

/// What an event digest is over, for data that holds no observations.
#[derive(Serialize)]
struct DigestForm<'a, T> {
    correlation_id: &'a str,
    data: T,
    event_kind: &'static str,
}

#[derive(Serialize)]
struct IntentData<'a> {
    message: &'a str,
}

#[derive(Serialize)]
struct ExecutionData<'a> {
    model: &'a str,
    output_text: &'a str,
}

/// [`event_digest`] of data of ours, which have no key for an observation.
fn digest_in_order(
    kind: EventKind,
    id: &str,
    data: impl Serialize,
) -> Result<NamedHash, JsonFault> {
    json::digest_of(&DigestForm {
        correlation_id: id,
        data,
        event_kind: kind.name(),
    })
}

/// Where an event stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPosition {
    /// From 0, in the order in which the thread's events were recorded.
    pub index: u64,
    /// The event's own id; its correlation id in the digest.
    pub id: String,
    /// The turn that left it.
    pub turn_id: String,
    /// The thread of the turn.
    pub thread_id: String,
}

/// What a user said: the only payload that policy may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentPayload {
    place: EventPosition,
    digest: Option<NamedHash>,
    message: Option<String>,
    denied: bool,
}

impl IntentPayload {
    /// From the stored text.
    pub fn new(place: EventPosition, message: String) -> Result<Self, JsonFault> {
        let digest = digest_in_order(
            EventKind::Intent,
            &place.id,
            IntentData { message: &message },
        )?;
        Ok(IntentPayload {
            place,
            digest: Some(digest),
            message: Some(message),
            denied: false,
        })
    }

    /// One whose text is not here, because it was erased or never kept: it counts, and says
    /// nothing.
    pub fn without_text(place: EventPosition) -> Self {
        IntentPayload {
            place,
            digest: None,
            message: None,
            denied: false,
        }
    }

    /// The same, with whether policy denied it: no model was shown it, and none ever is.
    pub fn with_denied(self, denied: bool) -> Self {
        IntentPayload { denied, ..self }
    }

    /// The user's text as stored; none where it is not here.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Whether policy denied it.
    pub fn is_denied(&self) -> bool {
        self.denied
    }

    /// Where it stands.
    pub fn place(&self) -> &EventPosition {
        &self.place
    }

    /// Its event digest; none where its text is not here.
    pub fn digest(&self) -> Option<NamedHash> {
        self.digest
    }
}

/// What a model said: never policy's to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    place: EventPosition,
    digest: Option<NamedHash>,
    output: Option<String>,
}

impl Execution {
    /// From the stored text and the model's id.
    pub fn new(place: EventPosition, output: String, model: &str) -> Result<Self, JsonFault> {
        let data = ExecutionData {
            model,
            output_text: &output,
        };
        let digest = digest_in_order(EventKind::Execution, &place.id, data)?;
        Ok(Execution {
            place,
            digest: Some(digest),
            output: Some(output),
        })
    }

    /// The model's text as stored; none where it is not here.
    pub fn output(&self) -> Option<&str> {
        self.output.as_deref()
    }

    /// Its event digest; none where its text is not here.
    pub fn digest(&self) -> Option<NamedHash> {
        self.digest
    }
}

/// What policy said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionPayload {
    place: EventPosition,
    digest: Option<NamedHash>,
}

/// The normative fields of a DECISION; nothing else is in its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormativeFields {
    /// The configuration that resolved the references.
    pub boundary: Boundary,
    /// Over specification and assembled context; null when the references could not be resolved.
    pub context_digest: Option<NamedHash>,
    /// Which policy decided.
    pub policy: PolicyName,
    /// Why, by code.
    pub reasons: Vec<Reason>,
    /// `ALLOW` or `DENY`.
    pub result: PolicyVerdict,
}

/// What is pinned in every DECISION.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boundary {
    /// Digest of `context.json`.
    pub context_config_digest: NamedHash,
}

/// Which policy decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyName {
    /// Name of the policy: always `kernel`.
    pub policy_id: String,
    /// The kernel hash, `sha256:` and 64 digits.
    pub policy_version: NamedHash,
}

/// Why it was decided so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// `[a-z0-9_.]+`, or a reference's code in capitals.
    pub code: String,
}

/// What policy said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PolicyVerdict {
    /// The model may be called.
    Allow,
    /// It was not called.
    Deny,
}

impl DecisionPayload {
    /// From its normative fields; reasons count in the order of their codes.
    pub fn new(place: EventPosition, normative: &NormativeFields) -> Result<Self, JsonFault> {
        let mut sorted = normative.clone();
        sorted.reasons.sort();
        let digest = digest_in_order(EventKind::Decision, &place.id, &sorted)?;
        Ok(DecisionPayload {
            place,
            digest: Some(digest),
        })
    }

    /// Its event digest; none where it is erased.
    pub fn digest(&self) -> Option<NamedHash> {
        self.digest
    }
}

/// One event of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadEvent {
    /// What a user said.
    Intent(IntentPayload),
    /// What policy said.
    Decision(DecisionPayload),
    /// What a model said.
    Execution(Execution),
}

impl ThreadEvent {
    /// One whose text, or of a DECISION whose digest, is not here.
    pub fn without_text(kind: EventKind, place: EventPosition) -> Self {
        match kind {
            EventKind::Intent => ThreadEvent::Intent(IntentPayload::without_text(place)),
            EventKind::Decision => ThreadEvent::Decision(DecisionPayload {
                place,
                digest: None,
            }),
            EventKind::Execution => ThreadEvent::Execution(Execution {
                place,
                digest: None,
                output: None,
            }),
        }
    }

    /// The same, with whether policy denied its turn: that is said of an INTENT.
    pub fn with_denied(self, denied: bool) -> Self {
        match self {
            ThreadEvent::Intent(intent) => ThreadEvent::Intent(intent.with_denied(denied)),
            other => other,
        }
    }

    /// The same at another place: its digest covers none.
    pub fn at(self, place: EventPosition) -> Self {
        match self {
            ThreadEvent::Intent(intent) => ThreadEvent::Intent(IntentPayload { place, ..intent }),
            ThreadEvent::Decision(decision) => {
                ThreadEvent::Decision(DecisionPayload { place, ..decision })
            }
            ThreadEvent::Execution(execution) => {
                ThreadEvent::Execution(Execution { place, ..execution })
            }
        }
    }

    /// What kind it is.
    pub fn kind(&self) -> EventKind {
        match self {
            ThreadEvent::Intent(_) => EventKind::Intent,
            ThreadEvent::Decision(_) => EventKind::Decision,
            ThreadEvent::Execution(_) => EventKind::Execution,
        }
    }

    /// What it says; none for a DECISION, and where its text is not here.
    pub fn text(&self) -> Option<&str> {
        match self {
            ThreadEvent::Intent(intent) => intent.message(),
            ThreadEvent::Execution(execution) => execution.output(),
            ThreadEvent::Decision(_) => None,
        }
    }

    /// Where it stands.
    pub fn place(&self) -> &EventPosition {
        match self {
            ThreadEvent::Intent(IntentPayload { place, .. })
            | ThreadEvent::Decision(DecisionPayload { place, .. })
            | ThreadEvent::Execution(Execution { place, .. }) => place,
        }
    }

    /// Its event digest; none where what it is made from is not here.
    pub fn digest(&self) -> Option<NamedHash> {
        match self {
            ThreadEvent::Intent(IntentPayload { digest, .. })
            | ThreadEvent::Decision(DecisionPayload { digest, .. })
            | ThreadEvent::Execution(Execution { digest, .. }) => *digest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::hash::Hash32;

    fn place(id: &str) -> EventPosition {
        EventPosition {
            index: 0,
            id: id.to_owned(),
            turn_id: "turn-1".to_owned(),
            thread_id: "t1".to_owned(),
        }
    }

    #[test]
    fn an_intent_has_the_digest_that_the_reference_implementation_gives_it() {
        let intent = IntentPayload::new(place("INTENT-1"), "What is 2+2?".to_owned()).unwrap();
        let known = "b63efff05e9285c2e0090a63122752b664b6cefc0a8caa52cab215660a4f5db5";
        assert_eq!(intent.digest().unwrap().0.to_string(), known);
    }

    #[test]
    fn what_is_digested_in_order_is_digested_as_any_value_is() {
        let intent = IntentPayload::new(place("a"), "é \"x\"\u{1}".to_owned()).unwrap();
        let value = json!({"message": "é \"x\"\u{1}"});
        assert_eq!(
            intent.digest(),
            event_digest(EventKind::Intent, "a", value).ok()
        );
        let execution = Execution::new(place("b"), "😀".to_owned(), "m").unwrap();
        let value = json!({"model": "m", "output_text": "😀"});
        assert_eq!(
            execution.digest(),
            event_digest(EventKind::Execution, "b", value).ok()
        );
    }

    #[test]
    fn a_digest_covers_kind_id_and_data_and_no_place() {
        let first = IntentPayload::new(place("a"), "x".to_owned()).unwrap();
        let elsewhere = EventPosition {
            index: 7,
            turn_id: "turn-2".to_owned(),
            thread_id: "t2".to_owned(),
            ..place("a")
        };
        assert_eq!(
            IntentPayload::new(elsewhere, "x".to_owned())
                .unwrap()
                .digest(),
            first.digest()
        );
        assert_ne!(
            IntentPayload::new(place("b"), "x".to_owned())
                .unwrap()
                .digest(),
            first.digest()
        );
        assert_ne!(
            IntentPayload::new(place("a"), "y".to_owned())
                .unwrap()
                .digest(),
            first.digest()
        );
        let said = |model| {
            ThreadEvent::Execution(Execution::new(place("a"), "x".to_owned(), model).unwrap())
                .digest()
        };
        assert_ne!(said("m"), first.digest());
        assert_ne!(said("m"), said("n"));
    }

    #[test]
    fn a_decision_counts_its_reasons_in_one_order() {
        let named = |text: &str| NamedHash(Hash32::digest(text.as_bytes()));
        let normative = |codes: [&str; 2]| NormativeFields {
            boundary: Boundary {
                context_config_digest: named("config"),
            },
            context_digest: None,
            policy: PolicyName {
                policy_id: "kernel".to_owned(),
                policy_version: named("kernel"),
            },
            reasons: codes
                .map(|code| Reason {
                    code: code.to_owned(),
                })
                .to_vec(),
            result: PolicyVerdict::Deny,
        };
        let digest = |codes| {
            ThreadEvent::Decision(DecisionPayload::new(place("d"), &normative(codes)).unwrap())
                .digest()
        };
        assert_eq!(digest(["a", "b"]), digest(["b", "a"]));
        assert_ne!(digest(["a", "b"]), digest(["a", "c"]));
    }
}
