//! Exchanges from before conversations were sent as messages: they render to the bytes that were
//! sent, and give the document that was committed to.

#![allow(
    clippy::unwrap_used,
    reason = "a test's helpers may panic like its tests"
)]

use gently::record::Exchange;
use gently::record::context::turn::prompt_digest;
use gently::record::exchange::{
    ErasureCommitments, ExchangeContext, ExchangeEnd, ExchangeOutcome, ReferredEvent,
};
use gently::record::hash::Hash32;
use gently::record::ledger::bundle::StoredBundle;
use gently::record::ledger::commitment::{Salt, Scheme};
use gently::record::ledger::documents::AuthorityState;
use gently::record::ledger::prompt::{PriorTurn, SystemPrompt};
use gently::record::time::Seconds;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

fn vector() -> Value {
    serde_json::from_str(include_str!("../vectors/ours/two_messages.json")).unwrap()
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{value}: {e}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn list<T>(value: &Value, one: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(one).collect()
}

fn context(told: &Value) -> ExchangeContext {
    let referred = |one: &Value| {
        let mut reference = one.clone();
        let fields = reference.as_object_mut().unwrap();
        let (kind, said) = (
            fields.remove("kind").unwrap(),
            fields.remove("text").unwrap(),
        );
        ReferredEvent {
            reference: read(&reference),
            kind: read(&kind),
            text: read(&said),
        }
    };
    ExchangeContext {
        thread: read(&told["thread"]),
        parent: read(&told["parent"]),
        intent_type: text(&told["intent_type"]),
        config_digest: read(&told["config_digest"]),
        declared: text(&told["declared"]),
        transformations: text(&told["transformations"]),
        inputs: text(&told["inputs"]),
        reasons: text(&told["reasons"]),
        context_digest: read(&told["context_digest"]),
        prompt_digest: read(&told["prompt_digest"]),
        events: read(&told["events"]),
        refs: list(&told["refs"], referred),
    }
}

fn exchange(vector: &Value, told: &Value) -> Exchange {
    let prior = |one: &Value| {
        let (turn, at): (Uuid, Seconds) = (read(&one["turn"]), read(&one["at"]));
        let said = one["text"].as_str();
        Ok(PriorTurn::new(turn, one["by_user"].as_bool().unwrap(), at, said).unwrap())
    };
    Exchange {
        id: read(&told["exchange_id"]),
        session: read(&vector["session"]),
        seq: read(&told["seq"]),
        kernel_hash: read(&vector["kernel_hash"]),
        model: text(&told["model"]),
        asked_at: read(&told["asked_at"]),
        decision: "allow".to_owned(),
        authority_state: AuthorityState::Ok,
        params: read(&told["params"]),
        exclusions: text(&told["exclusions"]),
        artifacts: read(&told["artifacts"]),
        context: Some(context(&told["context"])),
        prior: list(&told["prior"], prior),
        request: None,
        bundle: Some(StoredBundle::new(text(&told["bundle"]))),
        user: Some(text(&told["user"])),
        not_kept: None,
        erasure: ErasureCommitments::default(),
        drift: read(&told["drift"]),
        measures: None,
        trace: None,
        outcome: Some(ExchangeEnd {
            outcome: ExchangeOutcome::Answered,
            reason: None,
            answered_at: read(&told["answered_at"]),
            has_answer: true,
            answer: Some(text(&told["answer"])),
            reply: None,
            refusal: Some(false),
            validator: read(&told["validator"]),
            prompt_tokens: read(&told["prompt_tokens"]),
            completion_tokens: read(&told["completion_tokens"]),
            cost: None,
        }),
    }
}

#[test]
fn what_was_sent_and_committed_to_then_comes_out_again() {
    let vector = vector();
    let system = text(&vector["kernel_system"]);
    let exchanges = vector["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 3);
    for told in exchanges {
        let exchange = exchange(&vector, told);
        let kernel = SystemPrompt {
            kernel: exchange.kernel_hash,
            text: &system,
        };
        let compiled = exchange.compiled_prompt(Ok(kernel)).unwrap().unwrap();
        let hash = Hash32::digest(compiled.as_bytes());
        assert_eq!(hash, read(&told["prompt_hash"]), "{compiled}");
        let digest = prompt_digest(&compiled, &exchange.model, exchange.params.as_deref());
        let context = exchange.context.as_ref().unwrap();
        assert_eq!(Some(digest.unwrap().0), context.prompt_digest);
        let salt: Hash32 = read(&told["salt"]);
        let salt = Salt::new(*salt.as_bytes());
        let document = exchange.document(Scheme::HmacSha256, &salt, Some(&compiled));
        let commitment = document.unwrap().commitment(Scheme::HmacSha256, &salt);
        assert_eq!(commitment.unwrap(), read(&told["exchange_commitment"]));
    }
}
