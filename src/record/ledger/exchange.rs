//! The exchange document: what one turn was, without a word of its texts (format, section 8).
//!
//! Rebuilt from the rows of the database, so a changed row breaks `exchange_hash`. Every text, and
//! every digest made from text, stands in it as a commitment under the exchange's salt.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::bundle::Exclusion;
use super::commitment::{Role, Salt, Scheme, commit};
use super::documents::{AuthorityState, Format};
use super::measures::{TraceSection, TurnMeasures};
use super::params::{Cost, ParamsSection};
use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::context::turn::ContextSection;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// Derives the id of a row from what it belongs to: version 8 over a labelled hash.
///
/// `H("gently/1/row/" ‖ label ‖ 0x00 ‖ session_id ‖ be64(number))`, first 16 bytes, version and
/// variant bits set. So the same history has the same ids, and no randomness is needed.
pub fn row_id(label: &str, session: Hash32, number: u64) -> Uuid {
    let digest = Hash32::of_parts(&[
        b"gently/1/row/",
        label.as_bytes(),
        b"\0",
        session.as_bytes(),
        &number.to_be_bytes(),
    ]);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    Uuid::new_v8(bytes)
}

/// The label of an assertion's row id: an id belongs to a name, so that neither can be exchanged.
pub fn assertion_label(name: &str) -> String {
    format!("assertion/{name}")
}

/// One injected artifact, as the document names it; its content is inside the bundle's commitment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactEntry {
    /// Name of the artifact; column `context_artifact_ref.artifact_id`.
    pub artifact_id: String,
    /// Kind of the artifact; column `context_artifact_ref.artifact_type`.
    pub artifact_type: String,
    /// Age at the time of the question, in seconds; column `context_artifact_ref.freshness_s`.
    pub freshness_s: Option<u64>,
    /// Why it was put into the bundle; column `context_artifact_ref.included_reason`.
    pub included_reason: String,
    /// When it was observed; column `context_artifact_ref.observed_at`.
    pub observed_at: Option<Seconds>,
    /// Flags of risk, as compact text; column `context_artifact_ref.risk_flags`.
    pub risk_flags: Option<String>,
}

/// One drift event, as the document names it; its summary holds no word of the reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriftEntry {
    /// Class of the drift; column `drift_event.drift_class`.
    pub class: String,
    /// Name of the event, such as `driftwatch:0042`; column `drift_event.drift_id`.
    pub id: String,
    /// How severe it is; column `drift_event.severity`.
    pub severity: String,
    /// What happened, in one sentence; column `drift_event.summary`.
    pub summary: String,
}

/// The document; keys in this order are also their canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeDoc {
    /// Time of the outcome's line.
    pub answered_at: Seconds,
    /// What was injected, in order.
    pub artifacts: Vec<ArtifactEntry>,
    /// Time of the prompt line.
    pub asked_at: Seconds,
    /// Commitment to the stored answer.
    pub aurora_text: Option<Hash32>,
    /// Authority of the turn.
    pub authority_state: AuthorityState,
    /// Commitment to the context bundle's canonical JSON.
    pub bundle: Option<Hash32>,
    /// Commitment to the compiled prompt's canonical JSON.
    pub compiled_prompt: Option<Hash32>,
    /// As the model reported.
    pub completion_tokens: Option<u64>,
    /// Thread, events, references and decision; left out for exchanges from before threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextSection>,
    /// By the price table of its time, if it names the model.
    pub cost: Option<Cost>,
    /// `allow`, `deny` or `none`.
    pub decision: String,
    /// In the order of their lines.
    pub drift: Vec<DriftEntry>,
    /// The row's id.
    pub exchange_id: Uuid,
    /// What was left out and why.
    pub exclusions: Vec<Exclusion>,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// The session's kernel.
    pub kernel_hash: Hash32,
    /// What was measured; left out where nothing was: for abandoned prompts, and for exchanges from
    /// before measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<TurnMeasures>,
    /// Which model was asked.
    pub model: String,
    /// `answered`, `failed` or `denied`.
    pub outcome: String,
    /// What the call was made with, if there was one to make; its text is in the compiled prompt.
    pub params: Option<ParamsSection>,
    /// As the model reported.
    pub prompt_tokens: Option<u64>,
    /// Code, for failed and denied.
    pub reason: Option<String>,
    /// Whether the answer is a refusal.
    pub refusal: Option<bool>,
    /// Commitment to what came beside the answer's text; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Hash32>,
    /// Commitment to what was sent, part by part; left out where nothing was, and for exchanges
    /// from before conversations were sent as messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Hash32>,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// The ledger's session id.
    pub session_id: Hash32,
    /// What its trace is committed to; left out where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceSection>,
    /// Commitment to the stored user text.
    pub user_text: Hash32,
    /// `llm_exchange.validator_summary`, flags and a note of codes, if there is an answer.
    pub validator: Option<serde_json::Value>,
}

impl ExchangeDoc {
    /// The commitment to this document in role `exchange`.
    pub fn commitment(&self, scheme: Scheme, salt: &Salt) -> Result<Hash32, CanonError> {
        Ok(commit(
            scheme,
            salt,
            Role::Exchange,
            canon::print(self)?.as_bytes(),
        ))
    }

    /// Whether there is a commitment in this role, here or on the exchange's lines.
    pub fn commits_to(&self, role: Role) -> bool {
        let context = self.context.as_ref();
        match role {
            Role::Prompt | Role::Exchange | Role::UserText => true,
            Role::Response | Role::AuroraText => self.aurora_text.is_some(),
            Role::CompiledPrompt => self.compiled_prompt.is_some(),
            Role::Bundle => self.bundle.is_some(),
            Role::ContextDigest => context.is_some_and(|context| context.context_digest.is_some()),
            Role::PromptDigest => context.is_some_and(|context| context.prompt_digest.is_some()),
            Role::Request => self.request.is_some(),
            Role::Reply => self.reply.is_some(),
            Role::Trace => self.trace.is_some(),
            Role::Artifact => false,
        }
    }

    /// Roles of which nothing on record can be opened with what is kept: no commitment is in them,
    /// or that of the answer is to another text than the stored one (a secret was taken out).
    ///
    /// Their keys go when a salt becomes keys: one that opens nothing could be any other.
    pub fn unopened(
        &self,
        scheme: Scheme,
        salt: &Salt,
        answer: Option<(&str, Hash32)>,
    ) -> Vec<Role> {
        let opens = answer.is_none_or(|(text, response)| {
            commit(scheme, salt, Role::Response, text.as_bytes()) == response
        });
        let is_unopened =
            |role: &Role| !self.commits_to(*role) || (*role == Role::Response && !opens);
        Role::OF_EXCHANGES.into_iter().filter(is_unopened).collect()
    }
}

/// The JCS document of one artifact (format, section 3, role `artifact`).
///
/// `{"content":…,"format":"gently/1","id":…,"kind":…}`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactDoc {
    /// What it says; its shape depends on the kind.
    pub content: serde_json::Value,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// As its line names it.
    pub id: String,
    /// As its line names it.
    pub kind: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_ids_are_version_8_and_tell_labels_sessions_and_numbers_apart() {
        let (a, b) = (Hash32::digest(b"a"), Hash32::digest(b"b"));
        let ids = [
            row_id("exchange", a, 1),
            row_id("exchange", a, 2),
            row_id("exchange", b, 1),
            row_id("turn", a, 1),
        ];
        for (i, id) in ids.iter().enumerate() {
            assert_eq!(id.get_version_num(), 8);
            assert!(ids.iter().skip(i + 1).all(|other| other != id));
        }
        assert_eq!(row_id("exchange", a, 1), ids[0]);
    }

    #[test]
    fn a_document_from_before_threads_has_the_bytes_that_it_had() {
        let old = serde_json::json!({
            "answered_at": 2, "artifacts": [], "asked_at": 1, "aurora_text": null, "authority_state": "blocked",
            "bundle": null, "compiled_prompt": null, "completion_tokens": null, "cost": null, "decision": "deny",
            "drift": [], "exchange_id": Uuid::nil(), "exclusions": [], "format": "gently/1",
            "kernel_hash": Hash32::ZERO, "model": "m", "outcome": "denied", "params": null, "prompt_tokens": null,
            "reason": "x", "refusal": null, "seq": 1, "session_id": Hash32::ZERO, "user_text": Hash32::ZERO,
            "validator": null,
        });
        let text = canon::print(&old).unwrap();
        let read: ExchangeDoc = canon::parse(text.as_bytes()).unwrap();
        assert_eq!((canon::print(&read).unwrap(), read.context), (text, None));
    }
}
