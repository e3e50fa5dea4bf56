//! What a turn leaves on record beside its events: the counts that policy saw, and the digest of
//! all that was sent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::bundle::NamedHash;
use crate::record::time::Seconds;

use super::event::EventKind;
use super::json::{self, JsonFault};
use super::spec::{AdmittedFor, Transformation};

/// What a turn is for (`intent_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TurnIntent {
    /// Somebody asks.
    #[default]
    ChatMessage,
    /// A specialist looks at what another one answered.
    CouncilReview,
    /// A conversation is summed up for whoever goes on in it.
    ContextHandoff,
}

impl TurnIntent {
    /// All that there are.
    pub const ALL: [TurnIntent; 3] = [
        TurnIntent::ChatMessage,
        TurnIntent::CouncilReview,
        TurnIntent::ContextHandoff,
    ];

    /// The spelling in documents: `chat.message`.
    pub const fn name(self) -> &'static str {
        match self {
            TurnIntent::ChatMessage => "chat.message",
            TurnIntent::CouncilReview => "council.review",
            TurnIntent::ContextHandoff => "context.handoff",
        }
    }

    /// The one that is spelled so; none for one of another version.
    pub fn named(name: &str) -> Option<TurnIntent> {
        TurnIntent::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// What policy counted: INTENTs on record at one moment, and nothing that a model said.
///
/// `{"as_of":61,"at":1767657600,"recent":2,"spent":40,"thread":2}`; whoever has the log counts
/// again. What a model's window left for earlier turns stands beside, where that was less than the
/// kernel allows: no policy asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Number of log lines at that moment: what is counted stands before.
    pub as_of: u64,
    /// The clock at that moment.
    pub at: Seconds,
    /// INTENTs of all threads within the kernel's `policy.rate.seconds`; 0 where it has no rate.
    pub recent: u64,
    /// Tokens that earlier turns could have, where the model's window left less than the kernel
    /// allows; left out elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u64>,
    /// Tokens of the INTENTs of all threads within the kernel's `policy.budget.seconds`, each text
    /// counted as four bytes a token, rounded up; 0 where it has no budget.
    pub spent: u64,
    /// INTENTs of the thread.
    pub thread: u64,
}

/// Tokens of a text of so many bytes.
pub fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// `prompt_digest`: SHA-256 over the canonical text of everything that was sent.
///
/// `{"model":ID,"model_messages":[…],"params":{…}}`, the messages as the compiled prompt has them.
pub fn prompt_digest(
    compiled: &str,
    model: &str,
    params: Option<&str>,
) -> Result<NamedHash, JsonFault> {
    // As it always is; another list of messages is digested as any value is.
    let Ok(model_messages) = serde_json::from_str::<Vec<BTreeMap<String, String>>>(compiled) else {
        return json::digest(&prompt_document(compiled, model, params)?);
    };
    let params = params.map(read).transpose()?;
    json::digest_of(&SentForm {
        model,
        model_messages,
        params,
    })
}

fn read(text: &str) -> Result<Value, JsonFault> {
    serde_json::from_str(text).map_err(|e| JsonFault::Shape(e.to_string()))
}

#[derive(Serialize)]
struct SentForm<'a> {
    model: &'a str,
    model_messages: Vec<BTreeMap<String, String>>,
    params: Option<Value>,
}

/// The document that [`prompt_digest`] is over.
pub fn prompt_document(
    compiled: &str,
    model: &str,
    params: Option<&str>,
) -> Result<Value, JsonFault> {
    let params = params.map(read).transpose()?;
    Ok(json!({"model": model, "model_messages": read(compiled)?, "params": params}))
}

/// An event as the exchange document names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventEntry {
    /// Id of the event.
    pub event_id: Uuid,
    /// Its place in the thread.
    pub event_index: u64,
    /// What it is.
    pub kind: EventKind,
}

/// A resolved reference as the exchange document names it: its digest is inside the context digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefEntry {
    /// What it was let in for.
    pub admitted_for: AdmittedFor,
    /// Id of the event that is referred to.
    pub event_id: Uuid,
    /// The event's place.
    pub event_index: u64,
    /// Id as the client declared it.
    pub ref_id: String,
}

/// The part of the exchange document that tells of thread and context; keys in their canonical
/// order.
///
/// Exchanges from before threads have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextSection {
    /// The configuration: `boundary.context_config_digest`.
    pub config_digest: NamedHash,
    /// Commitment to the context digest, role `context_digest`.
    pub context_digest: Option<Hash32>,
    /// Ids as the client declared them.
    pub declared: Vec<String>,
    /// Events of the turn, sorted by `event_index`.
    pub events: Vec<EventEntry>,
    /// What policy counted.
    pub inputs: Counts,
    /// Type of the intent: always `chat.message`.
    pub intent_type: String,
    /// The turn that this one replies to.
    pub parent_turn_id: Option<Uuid>,
    /// Commitment to the prompt digest, role `prompt_digest`.
    pub prompt_digest: Option<Hash32>,
    /// Codes of the DECISION.
    pub reasons: Vec<String>,
    /// References of the turn, sorted by `event_index`.
    pub refs: Vec<RefEntry>,
    /// Id of the thread that the turn belongs to.
    pub thread_id: Uuid,
    /// What the rules changed.
    pub transformations: Vec<Transformation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_was_sent_is_in_the_prompt_digest() {
        let messages = r#"[{"content":"é","role":"system"},{"content":"b","role":"user"}]"#;
        let params = r#"{"max_tokens":null,"seed":1}"#;
        let one = prompt_digest(messages, "m", Some(params)).unwrap();
        let text = "{\"model\":\"m\",\"model_messages\":[{\"content\":\"\\u00e9\",\"role\":\"system\"},\
                    {\"content\":\"b\",\"role\":\"user\"}],\"params\":{\"max_tokens\":null,\"seed\":1}}";
        assert_eq!(one.0, Hash32::digest(text.as_bytes()));
        assert_ne!(
            prompt_digest(&messages.replace('b', "c"), "m", Some(params)).unwrap(),
            one
        );
        assert_ne!(prompt_digest(messages, "n", Some(params)).unwrap(), one);
        assert_ne!(prompt_digest(messages, "m", None).unwrap(), one);
        for messages in [
            messages,
            r#"[]"#,
            r#"[["b","a"]]"#,
            r#"[{"role":"user","content":7}]"#,
            r#"[{"b":"1","a":"2"}]"#,
        ] {
            let document = prompt_document(messages, "m", Some(params)).unwrap();
            assert_eq!(
                prompt_digest(messages, "m", Some(params)),
                json::digest(&document),
                "{messages}"
            );
        }
        assert!(prompt_digest("[", "m", None).is_err());
        assert!(prompt_digest("[0.5]", "m", None).is_err());
    }

    #[test]
    fn a_token_is_four_bytes_begun() {
        assert_eq!([0, 1, 4, 5].map(tokens), [0, 1, 1, 2]);
    }
}
