//! `context.json`: what a turn may refer to. Its digest stands in every DECISION.

use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::ledger::bundle::NamedHash;

use super::json::{self, JsonFault};

/// The configuration that a home starts from.
pub const GENESIS_CONTEXT: &str = include_str!("../../../genesis/context.json");
/// What a configuration must look like (JSON Schema, draft 2020-12).
pub const CONTEXT_SCHEMA: &str = include_str!("../../../genesis/context.schema.json");

/// What a turn without any reference meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EmptyRefs {
    /// It is refused: `EMPTY_REFS_DENIED`.
    Deny,
    /// It is fine.
    Allow,
    /// The client declares the newest turns in its place; the core sees what the client declared.
    Expand,
}

/// The order of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// By `event_index`, lowest first, whatever the order given.
    EventIndexAsc,
}

/// What is done to declared references; each rule is executed, and named in the record in the order
/// of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ContextRule {
    /// Policy sees INTENTs only.
    FilterIntentOnly,
    /// Events of other threads are refused.
    ScopeBound,
    /// References are sorted by `event_index`.
    SortCanonical,
}

/// How references are resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextRules {
    /// Most references of one turn, 1 to 1000.
    pub max_refs: u64,
    /// What a turn without references meets.
    pub empty_refs_policy: EmptyRefs,
    /// How many turns a client declares under [`EmptyRefs::Expand`], 1 to 1000.
    pub expand_last_n: u64,
    /// Whether a model's earlier output may be put into a prompt.
    pub allow_execution_refs_for_prompt: bool,
    /// The order of references.
    pub canonical_sort: Sort,
    /// Whether references must be of the turn's own thread; always true.
    pub enforce_scope_bound: bool,
}

/// The rules, in any order: all are executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalization {
    /// All three, in any order.
    pub rules: Vec<ContextRule>,
}

/// The whole document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigDocument {
    schema_version: String,
    context: ContextRules,
    normalization: Normalization,
}

/// A configuration that keeps its rules, with its digest; every turn has one, so copies are cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextConfig {
    document: Arc<ConfigDocument>,
    raw: Arc<Value>,
    digest: NamedHash,
}

/// Why a text is no context configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextConfigFault {
    /// Not JSON, or not of this shape.
    #[error("context.json: {reason}; compare with genesis/context.json")]
    Shape {
        /// The parser's words.
        reason: String,
    },
    /// Not what the schema allows.
    #[error("context.json: {path}: {reason}; compare with genesis/context.json")]
    Schema {
        /// Where, as a JSON pointer.
        path: String,
        /// The validator's words.
        reason: String,
    },
    /// A rule that an invariant rests on is missing, or a value is outside its range.
    #[error("context.json: {key}: expected {expected}, got {actual}")]
    Value {
        /// The key, dotted.
        key: &'static str,
        /// What may stand there.
        expected: &'static str,
        /// What stands there.
        actual: String,
    },
    /// It has no canonical form.
    #[error("context.json: {0}")]
    Json(#[from] JsonFault),
}

/// The range of both numbers.
const COUNTS: std::ops::RangeInclusive<u64> = 1..=1000;

impl ContextConfig {
    /// Reads a configuration that the schema ([`CONTEXT_SCHEMA`]) allows.
    pub fn parse(text: &str) -> Result<Self, ContextConfigFault> {
        let shape = |e: serde_json::Error| ContextConfigFault::Shape {
            reason: e.to_string(),
        };
        let raw: Value = serde_json::from_str(text).map_err(shape)?;
        // A test holds what a home starts from; compiling the schema takes longer than most turns'
        // whole context.
        if text != GENESIS_CONTEXT {
            fits_schema(&raw)?;
        }
        // The schema can't say that a key stands once, nor that a rule is all of them.
        let document: ConfigDocument = serde_json::from_str(text).map_err(shape)?;
        check(&document)?;
        let digest = json::digest(&raw)?;
        Ok(ContextConfig {
            document: Arc::new(document),
            raw: Arc::new(raw),
            digest,
        })
    }

    /// How references are resolved.
    pub fn rules(&self) -> &ContextRules {
        &self.document.context
    }

    /// What is executed and named in the record.
    pub fn normalization(&self) -> &[ContextRule] {
        &self.document.normalization.rules
    }

    /// The version of the document's shape, which the record calls `boundary_version`.
    pub fn version(&self) -> &str {
        &self.document.schema_version
    }

    /// The document as given.
    pub fn document(&self) -> &Value {
        &self.raw
    }

    /// SHA-256 of the document's canonical text: `boundary.context_config_digest`.
    pub fn digest(&self) -> NamedHash {
        self.digest
    }
}

/// [`CONTEXT_SCHEMA`], made ready once: that takes a hundred times as long as using it.
static SCHEMA: LazyLock<Result<Validator, String>> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(CONTEXT_SCHEMA).map_err(|e| e.to_string())?;
    jsonschema::validator_for(&schema).map_err(|e| e.to_string())
});

fn fits_schema(raw: &Value) -> Result<(), ContextConfigFault> {
    let broken = |e: &String| ContextConfigFault::Schema {
        path: "genesis/context.schema.json".to_owned(),
        reason: e.clone(),
    };
    let validator = SCHEMA.as_ref().map_err(broken)?;
    let faults = validator.iter_errors(raw).next().map(|fault| {
        let path = fault.instance_path().to_string();
        let path = if path.is_empty() {
            "the document".to_owned()
        } else {
            path
        };
        ContextConfigFault::Schema {
            path,
            reason: fault.to_string(),
        }
    });
    faults.map_or(Ok(()), Err)
}

fn check(document: &ConfigDocument) -> Result<(), ContextConfigFault> {
    let fault = |key, expected, actual: String| {
        Err(ContextConfigFault::Value {
            key,
            expected,
            actual,
        })
    };
    let ConfigDocument {
        schema_version,
        context,
        normalization,
    } = document;
    if schema_version != "1" {
        return fault("schema_version", "\"1\"", format!("\"{schema_version}\""));
    }
    for (key, count) in [
        ("context.max_refs", context.max_refs),
        ("context.expand_last_n", context.expand_last_n),
    ] {
        if !COUNTS.contains(&count) {
            return fault(key, "1 to 1000", count.to_string());
        }
    }
    if !context.enforce_scope_bound {
        return fault(
            "context.enforce_scope_bound",
            "true: a turn refers to its own thread only",
            "false".to_owned(),
        );
    }
    let all = [
        ContextRule::FilterIntentOnly,
        ContextRule::ScopeBound,
        ContextRule::SortCanonical,
    ];
    if normalization.rules.len() != all.len()
        || !all.iter().all(|rule| normalization.rules.contains(rule))
    {
        let expected = "FILTER_INTENT_ONLY, SCOPE_BOUND and SORT_CANONICAL, each once";
        return fault(
            "normalization.rules",
            expected,
            format!("{:?}", normalization.rules),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_of_the_specification_has_its_known_digest() {
        // What is shipped has room for longer conversations, and takes a question without any.
        let text = GENESIS_CONTEXT
            .replacen("ALLOW", "DENY", 1)
            .replacen("128", "50", 1);
        let config = ContextConfig::parse(&text).unwrap();
        let known = "09a2bd5213bcfeeb820884c5a6ed2d8a0a6eea108185de2c6866ef3f11b0329f";
        assert_eq!(config.digest().0.to_string(), known);
        assert_eq!((config.rules().max_refs, config.version()), (50, "1"));
        assert_ne!(
            ContextConfig::parse(GENESIS_CONTEXT).unwrap().digest(),
            config.digest()
        );
        let spaced = text.replace('\n', "\n\n");
        assert_eq!(
            ContextConfig::parse(&spaced).unwrap().digest(),
            config.digest()
        );
    }

    #[test]
    fn what_a_home_starts_from_fits_the_schema() {
        fits_schema(&serde_json::from_str(GENESIS_CONTEXT).unwrap()).unwrap();
        ContextConfig::parse(&format!("{GENESIS_CONTEXT}\n")).unwrap();
    }

    #[test]
    fn what_breaks_an_invariant_is_no_configuration() {
        for (from, to) in [
            ("\"1\"", "\"2\""),
            ("128", "0"),
            ("128", "1001"),
            ("128", "50.0"),
            ("128", "\"50\""),
            ("\"ALLOW\"", "\"allow\""),
            ("event_index_asc", "event_index_desc"),
            (
                "\"enforce_scope_bound\": true",
                "\"enforce_scope_bound\": false",
            ),
            ("\"SCOPE_BOUND\", ", ""),
            ("SORT_CANONICAL", "SCOPE_BOUND"),
            ("SORT_CANONICAL", "SORT"),
            ("\"max_refs\"", "\"max_ref\""),
            ("\"max_refs\": 128,", ""),
            ("\"normalization\": {", "\"normalization\": {\"more\": 1,"),
            ("}\n}", "}\n"),
        ] {
            assert!(GENESIS_CONTEXT.contains(from), "{from}");
            assert!(
                ContextConfig::parse(&GENESIS_CONTEXT.replacen(from, to, 1)).is_err(),
                "{from} -> {to}"
            );
        }
    }
}
