//! A bundle as people have it at hand: what is missing is empty, what names a tool's values is
//! sight.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::record::ledger::bundle::Bundle;

/// Lists of a bundle, with what a missing key of an item stands for.
const LISTS: [(&str, &[(&str, &str)]); 5] = [
    ("constraints", &[("rule", ""), ("source", "kernel")]),
    (
        "facts",
        &[
            ("id", ""),
            ("claim", ""),
            ("source", "ledger"),
            ("observed_at", EPOCH),
            ("confidence", "low"),
        ],
    ),
    (
        "open_items",
        &[("id", ""), ("issue", ""), ("status", "open")],
    ),
    ("intent", &[("intent", ""), ("source", "user")]),
    ("exclusions", &[("artifact", ""), ("reason", "")]),
];
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// Reads a context bundle (AEGIS 6.6), or a part of one: an object, the text of one, or null for
/// none.
///
/// Keys that a bundle has not are left out. Session, kernel and times say nothing to the validator:
/// where they can't be read they stand at zero. A sight that can't be read is an error: a reply
/// would be judged against nothing.
pub fn lenient(value: Value) -> Result<Bundle, String> {
    let given = match value {
        Value::Null => Map::new(),
        Value::Object(map) => map,
        Value::String(text) => serde_json::from_str(&text).map_err(|e| e.to_string())?,
        other => return Err(format!("expected an object, found {other}")),
    };
    let text = |key: &str, other: &str| {
        given
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or(other)
            .to_owned()
    };
    let mut bundle = json!({
        "session_id": "00000000-0000-0000-0000-000000000000", "phase": text("phase", "beta"),
        "tier": given.get("tier").and_then(Value::as_u64).unwrap_or(2).min(3),
        "kernel_hash": format!("sha256:{}", "0".repeat(64)), "host_role": text("host_role", ""),
        "model_id": text("model_id", ""), "compiled_at": EPOCH,
    });
    bundle["sight"] = sight(given.get("sight"))?;
    for (key, fields) in LISTS {
        bundle[key] = list(given.get(key), fields).map_err(|why| format!("{key}: {why}"))?;
    }
    for key in ["session_id", "kernel_hash", "compiled_at"] {
        let with = given.get(key).map(|value| {
            let mut with = bundle.clone();
            with[key] = value.clone();
            with
        });
        bundle = with
            .filter(|with| serde_json::from_value::<Bundle>(with.clone()).is_ok())
            .unwrap_or(bundle);
    }
    serde_json::from_value(bundle).map_err(|e| e.to_string())
}

fn list(value: Option<&Value>, fields: &[(&str, &str)]) -> Result<Value, String> {
    let Some(value) = value else {
        return Ok(json!([]));
    };
    let items = value
        .as_array()
        .ok_or_else(|| format!("expected a list, found {value}"))?;
    let item = |item: &Value| {
        let given = item
            .as_object()
            .ok_or_else(|| format!("expected an object, found {item}"))?;
        let field = |(key, other): &(&str, &str)| {
            let text = given.get(*key).map_or((*other).to_owned(), plain);
            ((*key).to_owned(), Value::from(text))
        };
        Ok(Value::Object(fields.iter().map(field).collect()))
    };
    items
        .iter()
        .map(item)
        .collect::<Result<Vec<_>, String>>()
        .map(Value::from)
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn sight(value: Option<&Value>) -> Result<Value, String> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(json!({}));
    };
    let tools = value
        .as_object()
        .ok_or_else(|| format!("sight: expected an object, found {value}"))?;
    let mut out = BTreeMap::new();
    for (tool, entry) in tools {
        out.insert(
            tool.clone(),
            tool_entry(entry).map_err(|why| format!("sight.{tool}: {why}"))?,
        );
    }
    Ok(json!(out))
}

fn tool_entry(entry: &Value) -> Result<Value, String> {
    let given = entry
        .as_object()
        .ok_or_else(|| format!("expected an object, found {entry}"))?;
    let unknowns = given.get("unknowns").cloned().unwrap_or_else(|| json!([]));
    let values = given.get("values");
    let available = given
        .get("available")
        .map_or(Some(values.is_some()), Value::as_bool);
    match (available, values) {
        (Some(true), Some(Value::Object(values))) => {
            let observed = given
                .get("observed_at")
                .cloned()
                .unwrap_or_else(|| json!(EPOCH));
            let freshness = given
                .get("freshness_s")
                .cloned()
                .unwrap_or_else(|| json!(0));
            let values: Map<String, Value> = values
                .iter()
                .map(|(name, value)| (name.clone(), reading(value)))
                .collect();
            Ok(
                json!({"available": true, "observed_at": observed, "freshness_s": freshness, "values": values, "unknowns": unknowns}),
            )
        }
        (Some(false), _) => {
            let reason = given
                .get("reason")
                .cloned()
                .unwrap_or_else(|| json!("tool_error"));
            Ok(json!({"available": false, "reason": reason, "unknowns": unknowns}))
        }
        _ => Err("expected available true with values, or false".to_owned()),
    }
}

/// Numbers and texts as they are; anything else as its text.
fn reading(value: &Value) -> Value {
    if value.is_number() || value.is_string() {
        value.clone()
    } else {
        Value::from(value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::bundle::SightEntry;

    #[test]
    fn a_whole_bundle_a_part_of_one_and_none() {
        let none = lenient(Value::Null).unwrap();
        assert!(none.sight.is_empty() && none.facts.is_empty());
        assert_eq!(lenient(json!({})).unwrap(), none);
        let some = lenient(json!({
            "session_id": "uuid", "kernel_hash": "sha256:…", "compiled_at": "2026-01-08T00:00:00Z", "extra": 1,
            "sight": {"sys_health": {"values": {"cpu_load": 0.42, "up": true}}, "x": {"available": false}},
            "facts": [{"id": "ledger:000183", "claim": "A"}],
        }))
        .unwrap();
        assert_eq!(some.compiled_at.to_string(), "2026-01-08T00:00:00Z");
        assert!(
            matches!(&some.sight["sys_health"], SightEntry::Seen { values, .. } if values.len() == 2)
        );
        assert!(matches!(&some.sight["x"], SightEntry::Unavailable { .. }));
        assert_eq!(some.facts[0].id, "ledger:000183");
        let again = lenient(json!(some)).unwrap();
        assert_eq!(again, some);
        assert_eq!(lenient(json!(some.print().unwrap())).unwrap(), some);
    }

    #[test]
    fn what_is_no_bundle_is_said() {
        for (bundle, named) in [
            (json!([]), "object"),
            (json!("{"), "EOF"),
            (json!({"sight": []}), "sight"),
            (json!({"sight": {"t": {"available": true}}}), "sight.t"),
            (
                json!({"sight": {"t": {"values": {"n": 1}, "freshness_s": "old"}}}),
                "u64",
            ),
            (json!({"facts": {}}), "facts"),
        ] {
            let fault = lenient(bundle.clone()).unwrap_err();
            assert!(fault.contains(named), "{bundle}: {fault}");
        }
    }
}
