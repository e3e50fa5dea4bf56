//! One exchange as one JSON object.

use serde_json::{Map, Value, json};

use super::ExchangeDetails;

/// Everything that the screen says, and the documents whole.
pub fn of(turn: &ExchangeDetails) -> Value {
    let exchange = &turn.exchange;
    let outcome = exchange.outcome.as_ref();
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!(text));
    let mut facts = json!({
        "exchange": exchange.exchange_id.to_string(), "name": turn.name(), "seq": exchange.seq,
        "session": super::super::session::facts(&turn.session),
        "outcome": turn.outcome(), "reason": outcome.and_then(|o| o.reason.as_deref()),
        "asked_at": exchange.created_at.to_string(), "answered_at": outcome.map(|o| o.answered_at.to_string()),
        "model": exchange.model, "decision": exchange.decision, "authority_state": exchange.authority_state.name(),
        "prompt": turn.prompt_text(), "withheld": turn.withheld,
        "answer": turn.answer_text().filter(|_| !turn.is_covered()), "refusal": outcome.and_then(|o| o.refusal),
        "bundle": exchange.bundle_json.as_deref().map(parsed), "exclusions": parsed(&exchange.exclusions),
        "validator": outcome.and_then(|o| o.validator_summary.as_deref()).map(parsed),
    });
    facts["erased"] = turn.erased.as_ref().map_or(
        Value::Null,
        |(at, reason)| json!({"at": at, "reason": reason}),
    );
    facts["kept"] = json!(exchange.not_kept.is_none());
    facts["compiled_prompt"] = match &turn.compiled {
        None => Value::Null,
        Some(Ok(text)) => json!({"canonical": text, "messages": parsed(text)}),
        Some(Err(why)) => json!({"canonical": null, "fault": why}),
    };
    facts["usage"] = json!({
        "prompt_tokens": outcome.and_then(|o| o.prompt_tokens),
        "completion_tokens": outcome.and_then(|o| o.completion_tokens),
        "cost": outcome.and_then(|o| o.cost.as_ref()),
    });
    facts["params"] = turn.exchange.params.as_deref().map_or(Value::Null, parsed);
    facts["hashes"] = json!({
        "exchange_hash": outcome.map(|o| o.exchange_commitment.to_string()),
        "chain_entry": outcome.and_then(|o| o.chain_entry).map(|entry| entry.to_string()),
    });
    let checks = turn.checks.iter().map(|check| {
        let value = json!({"recorded": check.recorded.to_string(), "holds": check.holds});
        (check.what.replace(' ', "_"), value)
    });
    facts["checks"] = Value::Object(checks.collect::<Map<_, _>>());
    facts["commits"] = turn
        .commits
        .iter()
        .map(|c| json!({"id": c.id, "kind": c.kind.name(), "ref": c.reference, "log_line": c.line + 1}))
        .collect();
    facts["log_lines"] = json!({
        "prompt": exchange.prompt_line + 1, "outcome": outcome.map(|o| o.outcome_line + 1),
    });
    facts["drift"] = turn
        .drift
        .iter()
        .map(|d| json!({"id": d.drift_id, "class": d.class, "severity": d.severity, "summary": d.summary}))
        .collect();
    facts["artifacts"] = turn
        .refs
        .iter()
        .map(|r| {
            json!({
                "artifact_id": r.artifact_id, "artifact_type": r.artifact_type,
                "artifact_hash": r.artifact_hash.map(|hash| hash.to_string()),
                "included_reason": r.included_reason, "freshness_s": r.freshness_s,
                "observed_at": r.observed_at.map(|at| at.to_string()),
                "risk_flags": r.risk_flags.as_deref().map(parsed),
            })
        })
        .collect();
    facts
}
