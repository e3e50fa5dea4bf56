//! One exchange with a model.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::app::look::assertion::RunUtility;
use crate::app::look::show::ExchangeDetails;
use crate::record::hash::Hash32;
use crate::record::ledger::params::Cost;
use crate::store::{ArtifactRefRow, CommitRow, DriftRow};

use super::session::SessionView;
use crate::view::ask::warning::WarningView;
use crate::view::look::outcome::outcome_word;

/// All that is on record of one exchange; documents stand in it whole.
#[derive(Clone, Debug, Serialize)]
pub struct ExchangeView {
    /// How screens call it: `8923fa34/3`.
    pub id: String,
    /// Id of the exchange.
    pub exchange: Uuid,
    /// `interaction-3`, or `prompt-3` without an answer.
    pub name: String,
    /// Its number in the session.
    pub seq: u64,
    /// The session that the exchange is part of.
    pub session: SessionView,
    /// `answered`, `failed`, `denied`, or `in flight`.
    pub outcome: &'static str,
    /// Why it has no answer.
    pub reason: Option<String>,
    /// When it was asked.
    pub asked_at: String,
    /// When it ended.
    pub answered_at: Option<String>,
    /// The model that was asked.
    pub model: String,
    /// `allow` or `deny`.
    pub decision: String,
    /// What authority said: `ok`, `insufficient`, `blocked`.
    pub authority_state: &'static str,
    /// What was asked, without its secrets; none when it is not here any more.
    pub prompt: Option<String>,
    /// Whether the kernel blocks the answer's drift.
    pub withheld: bool,
    /// The answer; none when there is none, it is not here, or it stays withheld.
    pub answer: Option<String>,
    /// Whether the answer refuses.
    pub refusal: Option<bool>,
    /// The context bundle.
    pub bundle: Option<Value>,
    /// What was left out of it, and why.
    pub exclusions: Value,
    /// What the validator said.
    pub validator: Option<Value>,
    /// The tombstone of an erased text.
    pub erased: Option<TombstoneView>,
    /// Whether its texts were kept when it was recorded.
    pub kept: bool,
    /// The compiled prompt, rendered again; none when no model was to be asked.
    pub compiled_prompt: Option<CompiledPromptView>,
    /// What was sent, part by part; none when nothing was, it is not here any more, or it is from
    /// before conversations were sent as messages.
    pub request: Option<Value>,
    /// What came beside the answer; none where nothing did, it is not here, or the answer stays
    /// withheld.
    pub reply: Option<Value>,
    /// What it cost.
    pub usage: UsageView,
    /// What the answer was worth to the specialist who gave it.
    pub utility: UtilityView,
    /// What the call was made with.
    pub params: Option<Value>,
    /// What binds it to the ledger.
    pub hashes: HashesView,
    /// What is stored, held against the hashes on record, by name.
    pub checks: BTreeMap<String, HashCheckView>,
    /// What of it in the database is another than what was recorded; empty where nothing is.
    pub changed: Vec<&'static str>,
    /// Commits of the ledger that are about this exchange.
    pub commits: Vec<CommitView>,
    /// Its lines in the log, from 1.
    pub log_lines: LogLinesView,
    /// What the validator found.
    pub drift: Vec<DriftView>,
    /// The same for a person.
    pub warnings: Vec<WarningView>,
    /// What was injected into the prompt, and why.
    pub artifacts: Vec<ArtifactRefView>,
}

/// When and why a text was erased.
#[derive(Clone, Debug, Serialize)]
pub struct TombstoneView {
    /// The time of its line.
    pub at: String,
    /// The reason that was given.
    pub reason: String,
}

/// A prompt as the model was given it.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum CompiledPromptView {
    /// It could be rendered again.
    Rendered {
        /// The bytes that `prompt_hash` is of.
        canonical: String,
        /// The same, read.
        messages: Value,
    },
    /// Something that it was made of is gone.
    Gone {
        /// Always null: the prompt can't be made again.
        canonical: (),
        /// What is gone.
        fault: String,
    },
}

/// Tokens and price of a call, as the server said.
#[derive(Clone, Debug, Serialize)]
pub struct UsageView {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    pub completion_tokens: Option<u64>,
    /// What the call cost; null when no price is configured.
    pub cost: Option<Cost>,
}

/// What an answer was worth, in thousandths; each is null where nobody can say it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UtilityView {
    /// What was expected, and what checks add to it, from 0 to 1000.
    pub score: Option<u64>,
    /// The likeliest domain of the question.
    pub domain: Option<String>,
    /// What is expected of who gave it in that domain, by the ratings of today.
    pub expected: Option<u64>,
    /// What its checks were worth under its session's kernel.
    pub bonus: Option<i64>,
    /// Why there is no score.
    pub why_not: Option<&'static str>,
}

impl UtilityView {
    fn of(utility: Option<&Result<RunUtility, &'static str>>) -> UtilityView {
        match utility {
            None => UtilityView::default(),
            Some(Err(why)) => UtilityView {
                why_not: Some(why),
                ..UtilityView::default()
            },
            Some(Ok(utility)) => UtilityView {
                score: Some(utility.score()),
                domain: Some(utility.domain.clone()),
                expected: Some(utility.expected),
                bonus: Some(utility.bonus),
                why_not: None,
            },
        }
    }
}

/// Hashes of an exchange.
#[derive(Clone, Debug, Serialize)]
pub struct HashesView {
    /// Of the exchange document.
    pub exchange_hash: Option<Hash32>,
    /// Its entry in the session's chain.
    pub chain_entry: Option<Hash32>,
}

/// A stored text or document against the hash on record.
#[derive(Clone, Debug, Serialize)]
pub struct HashCheckView {
    /// The hash on record.
    pub recorded: Hash32,
    /// Whether it holds; none when the text is not here.
    pub holds: Option<bool>,
}

/// A commit of the ledger.
#[derive(Clone, Debug, Serialize)]
pub struct CommitView {
    /// Id of the commit.
    pub id: String,
    /// What it is of.
    pub kind: &'static str,
    /// The ref that it was made on.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its line in the log, from 1.
    pub log_line: u64,
}

/// Lines of an exchange, from 1.
#[derive(Clone, Debug, Serialize)]
pub struct LogLinesView {
    /// Of the question.
    pub prompt: u64,
    /// Of what became of it.
    pub outcome: Option<u64>,
}

/// One thing that the validator found.
#[derive(Clone, Debug, Serialize)]
pub struct DriftView {
    /// Name of the event, such as `driftwatch:0042`.
    pub id: String,
    /// Class of the drift, such as `evidence_drift`.
    pub class: String,
    /// How bad it is.
    pub severity: String,
    /// What was found.
    pub summary: String,
}

/// One thing that was put before the model.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactRefView {
    /// Name of the artifact, such as `ledger:000183`.
    pub artifact_id: String,
    /// What it is.
    pub artifact_type: String,
    /// Commitment to the artifact; null when it has none.
    pub artifact_hash: Option<Hash32>,
    /// Why it was chosen.
    pub included_reason: String,
    /// How old it was, in seconds.
    pub freshness_s: Option<u64>,
    /// When it was observed.
    pub observed_at: Option<String>,
    /// What is to be known of it.
    pub risk_flags: Option<Value>,
}

/// A stored JSON document, read; as a string when it is none.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

impl ExchangeView {
    /// Of all that is on record.
    pub fn of(turn: &ExchangeDetails) -> ExchangeView {
        let exchange = &turn.exchange;
        let outcome = exchange.outcome.as_ref();
        let checks = turn.checks.iter().map(|check| {
            let (recorded, holds) = (check.recorded, check.holds);
            (
                check.what.replace(' ', "_"),
                HashCheckView { recorded, holds },
            )
        });
        ExchangeView {
            id: turn.id.clone(),
            exchange: exchange.exchange_id,
            name: turn.name(),
            seq: exchange.seq,
            session: SessionView::of(&turn.session),
            outcome: outcome_word(turn.exchange.ended()),
            reason: outcome.and_then(|outcome| outcome.reason.clone()),
            asked_at: exchange.created_at.to_string(),
            answered_at: outcome.map(|outcome| outcome.answered_at.to_string()),
            model: exchange.model.clone(),
            decision: exchange.decision.clone(),
            authority_state: exchange.authority_state.name(),
            prompt: turn.prompt_text().map(str::to_owned),
            withheld: turn.withheld,
            answer: turn
                .answer_text()
                .filter(|_| !turn.is_covered())
                .map(str::to_owned),
            refusal: outcome.and_then(|outcome| outcome.refusal),
            bundle: exchange.bundle_json.as_deref().map(parsed),
            exclusions: parsed(&exchange.exclusions),
            validator: outcome
                .and_then(|outcome| outcome.validator_summary.as_deref())
                .map(parsed),
            erased: turn
                .erased
                .clone()
                .map(|(at, reason)| TombstoneView { at, reason }),
            kept: exchange.not_kept.is_none(),
            compiled_prompt: turn.compiled.as_ref().map(CompiledPromptView::of),
            request: exchange.request.as_deref().map(parsed),
            reply: outcome
                .and_then(|outcome| outcome.reply.as_deref())
                .filter(|_| !turn.is_covered())
                .map(parsed),
            usage: UsageView {
                prompt_tokens: outcome.and_then(|outcome| outcome.prompt_tokens),
                completion_tokens: outcome.and_then(|outcome| outcome.completion_tokens),
                cost: outcome.and_then(|outcome| outcome.cost.clone()),
            },
            utility: UtilityView::of(turn.utility.as_ref()),
            params: exchange.params.as_deref().map(parsed),
            hashes: HashesView {
                exchange_hash: outcome.map(|outcome| outcome.exchange_commitment),
                chain_entry: outcome.and_then(|outcome| outcome.chain_entry),
            },
            checks: checks.collect(),
            changed: turn.changed(),
            commits: turn.commits.iter().map(CommitView::of).collect(),
            log_lines: LogLinesView {
                prompt: exchange.prompt_line + 1,
                outcome: outcome.map(|outcome| outcome.outcome_line + 1),
            },
            drift: turn.drift.iter().map(DriftView::of).collect(),
            warnings: turn.warnings.iter().map(WarningView::of).collect(),
            artifacts: turn.refs.iter().map(ArtifactRefView::of).collect(),
        }
    }
}

impl CompiledPromptView {
    fn of(compiled: &Result<String, String>) -> CompiledPromptView {
        match compiled {
            Ok(text) => CompiledPromptView::Rendered {
                canonical: text.clone(),
                messages: parsed(text),
            },
            Err(why) => CompiledPromptView::Gone {
                canonical: (),
                fault: why.clone(),
            },
        }
    }
}

impl CommitView {
    /// Of a row.
    pub fn of(row: &CommitRow) -> CommitView {
        CommitView {
            id: row.id.to_string(),
            kind: row.kind.name(),
            reference: row.reference.clone(),
            log_line: row.line + 1,
        }
    }
}

impl DriftView {
    /// Of a row.
    pub fn of(row: &DriftRow) -> DriftView {
        DriftView {
            id: row.drift_id.clone(),
            class: row.class.clone(),
            severity: row.severity.clone(),
            summary: row.summary.clone(),
        }
    }
}

impl ArtifactRefView {
    /// Of a row.
    pub fn of(row: &ArtifactRefRow) -> ArtifactRefView {
        ArtifactRefView {
            artifact_id: row.artifact_id.clone(),
            artifact_type: row.artifact_type.clone(),
            artifact_hash: row.artifact_hash,
            included_reason: row.included_reason.clone(),
            freshness_s: row.freshness_s,
            observed_at: row.observed_at.map(|at| at.to_string()),
            risk_flags: row.risk_flags.as_deref().map(parsed),
        }
    }
}
