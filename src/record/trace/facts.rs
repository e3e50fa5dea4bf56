//! What a trace is made from: plain values, which recorder and verifier fill in, each from its own
//! rows.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::level::Absence;
use super::sources::SourceCount;
use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{Bundle, NoSight, SightEntry};
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::exchange::ArtifactEntry;
use crate::record::ledger::params::Cost;
use crate::record::time::Seconds;

/// A value, or why there is none.
pub type Known<T> = Result<T, Absence>;

/// One exchange with an outcome, as its trace tells of it.
#[derive(Clone, Debug)]
pub struct TraceFacts {
    /// Id of the exchange.
    pub exchange: Uuid,
    /// Id of its thread; exchanges from before threads have none.
    pub thread: Known<Uuid>,
    /// The ledger's name.
    pub origin: String,
    /// Time of the prompt's line.
    pub asked_at: Seconds,
    /// Time of the outcome's line.
    pub answered_at: Seconds,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// HASH of the prompt's line.
    pub prompt_line: Hash32,
    /// Number of the prompt's line in the log, from 1.
    pub prompt_number: u64,
    /// 0 for a thread's first turn, else its parent's and one.
    pub depth: Known<u64>,
    /// How much of the question is of the asked specialist's domains, in thousandths.
    pub domain_alignment: Known<u16>,
    /// Whether it is a review of what another turn of the same council answered.
    pub is_review: bool,
    /// Which model was asked.
    pub model: String,
    /// How it ended.
    pub end: TraceEnd,
    /// Authority of the turn.
    pub authority: AuthorityState,
    /// Whether something that was injected is flagged as in conflict.
    pub is_in_conflict: Known<bool>,
    /// What it is in conflict with: ids, sorted.
    pub conflicts: Known<Vec<String>>,
    /// What tools could not tell: names, sorted.
    pub unknowns: Known<Vec<String>>,
    /// How many sources there were.
    pub sources: Known<SourceCount>,
    /// Their kinds, as [`source_kinds`](super::sources::source_kinds) counts them.
    pub source_kinds: Known<Vec<String>>,
    /// What each tool came to.
    pub looks: Known<BTreeMap<String, ToolLook>>,
    /// Every check that was made of the reply; [`Absence::NoJudgement`] where no reply was judged.
    pub checks: Known<Vec<ReplyCheck>>,
    /// Codes: why policy decided so, why the turn failed.
    pub reasons: Vec<String>,
    /// The validator's notes, which hold no word of the reply; none where no reply was judged.
    pub notes: Option<String>,
    /// From the request until the answer's last byte, in milliseconds.
    pub model_ms: Known<u64>,
    /// As the model's server reported.
    pub tokens_input: Known<u64>,
    /// As the model's server reported.
    pub tokens_output: Known<u64>,
    /// By the price table of its time; in any currency.
    pub cost: Known<Cost>,
    /// What only the fullest level shows.
    pub texts: TraceTexts,
}

/// The stored, sanitized texts of an exchange.
#[derive(Clone, Debug)]
pub struct TraceTexts {
    /// What was asked.
    pub question: Known<String>,
    /// The bundle's canonical JSON.
    pub bundle: Known<String>,
    /// The compiled prompt's canonical JSON.
    pub compiled_prompt: Known<String>,
    /// The answer, also where it is withheld.
    pub answer: Known<String>,
}

/// How a turn ended, as far as its trace tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEnd {
    /// With an answer that is shown.
    Answered,
    /// With an answer that is withheld.
    Withheld,
    /// With an answer; whether it was withheld, nothing here says any more.
    AnswerUnknown,
    /// With a denial by policy.
    Denied,
    /// Nothing could be compiled, so that no model was called.
    NotCompiled,
    /// A model was to answer, and did not.
    Failed,
}

impl TraceEnd {
    /// From how the exchange ended, whether something was compiled, and whether the answer is
    /// withheld.
    pub const fn of(outcome: ExchangeOutcome, is_compiled: bool, is_withheld: bool) -> TraceEnd {
        match (outcome, is_compiled, is_withheld) {
            (ExchangeOutcome::Answered, _, false) => TraceEnd::Answered,
            (ExchangeOutcome::Answered, _, true) => TraceEnd::Withheld,
            (ExchangeOutcome::Denied, ..) => TraceEnd::Denied,
            (ExchangeOutcome::Failed, true, _) => TraceEnd::Failed,
            (ExchangeOutcome::Failed, false, _) => TraceEnd::NotCompiled,
        }
    }

    /// The action that was selected, in the document's words.
    pub const fn action(self) -> &'static str {
        match self {
            TraceEnd::Answered
            | TraceEnd::Withheld
            | TraceEnd::AnswerUnknown
            | TraceEnd::Failed => "SPEAK",
            TraceEnd::Denied => "REJECT",
            TraceEnd::NotCompiled => "DEFER",
        }
    }

    /// Whether what was selected took place.
    pub const fn took_place(self) -> Known<bool> {
        match self {
            TraceEnd::Answered | TraceEnd::Denied | TraceEnd::NotCompiled => Ok(true),
            TraceEnd::Withheld | TraceEnd::Failed => Ok(false),
            TraceEnd::AnswerUnknown => Err(Absence::Erased),
        }
    }

    /// Whether an answer is withheld.
    pub const fn is_withheld(self) -> Known<bool> {
        match self {
            TraceEnd::Withheld => Ok(true),
            TraceEnd::AnswerUnknown => Err(Absence::Erased),
            TraceEnd::Answered | TraceEnd::Denied | TraceEnd::NotCompiled | TraceEnd::Failed => {
                Ok(false)
            }
        }
    }

    /// Whether a model was to be called.
    pub const fn asked_model(self) -> bool {
        match self {
            TraceEnd::Answered
            | TraceEnd::Withheld
            | TraceEnd::AnswerUnknown
            | TraceEnd::Failed => true,
            TraceEnd::Denied | TraceEnd::NotCompiled => false,
        }
    }
}

/// What a tool came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolLook {
    /// It showed values.
    Available,
    /// It showed none.
    Unavailable(NoSight),
}

impl ToolLook {
    /// The word in traces.
    pub const fn name(self) -> &'static str {
        match self {
            ToolLook::Available => "available",
            ToolLook::Unavailable(reason) => reason.name(),
        }
    }
}

/// One check of a reply, and how it came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyCheck {
    /// Class and rule: `authority.claimed_side_effect`.
    pub name: String,
    /// Whether its failure withholds the reply.
    pub is_blocking: bool,
    /// Whether nothing was found.
    pub passed: bool,
}

impl ReplyCheck {
    /// Whether it failed, and withholds the reply.
    pub fn withholds(&self) -> bool {
        self.is_blocking && !self.passed
    }

    /// The class: what stands before the point.
    pub fn class(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }
}

/// What each tool of a bundle came to.
pub fn looks(bundle: &Bundle) -> BTreeMap<String, ToolLook> {
    let look = |entry: &SightEntry| match entry {
        SightEntry::Seen { .. } => ToolLook::Available,
        SightEntry::Unavailable { reason, .. } => ToolLook::Unavailable(*reason),
    };
    let tools = bundle.sight.iter();
    tools
        .map(|(tool, entry)| (tool.clone(), look(entry)))
        .collect()
}

/// What the risk flags of a turn's artifacts tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RiskFlags {
    /// Ids that something injected is in conflict with, sorted.
    pub conflicts: Vec<String>,
    /// What tools could not tell, sorted.
    pub unknowns: Vec<String>,
}

impl RiskFlags {
    /// Reads the flags of all artifacts of a turn.
    ///
    /// # Errors
    /// Flags that are no list of texts.
    pub fn of(artifacts: &[ArtifactEntry]) -> Result<RiskFlags, CanonError> {
        let mut found = RiskFlags::default();
        for flags in artifacts.iter().filter_map(|one| one.risk_flags.as_ref()) {
            let flags: Vec<String> = canon::parse(flags.as_bytes())?;
            for flag in flags {
                match flag.split_once(':') {
                    Some(("conflict", id)) => found.conflicts.push(id.to_owned()),
                    Some(("unknown", name)) => found.unknowns.push(name.to_owned()),
                    _ => {}
                }
            }
        }
        for list in [&mut found.conflicts, &mut found.unknowns] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_by_outcome_bundle_and_whether_it_is_withheld() {
        for (outcome, compiled, withheld, end, action, took_place) in [
            (
                ExchangeOutcome::Answered,
                true,
                false,
                TraceEnd::Answered,
                "SPEAK",
                true,
            ),
            (
                ExchangeOutcome::Answered,
                true,
                true,
                TraceEnd::Withheld,
                "SPEAK",
                false,
            ),
            (
                ExchangeOutcome::Denied,
                false,
                false,
                TraceEnd::Denied,
                "REJECT",
                true,
            ),
            (
                ExchangeOutcome::Failed,
                true,
                false,
                TraceEnd::Failed,
                "SPEAK",
                false,
            ),
            (
                ExchangeOutcome::Failed,
                false,
                false,
                TraceEnd::NotCompiled,
                "DEFER",
                true,
            ),
        ] {
            let found = TraceEnd::of(outcome, compiled, withheld);
            assert_eq!(found, end);
            assert_eq!(
                (found.action(), found.took_place()),
                (action, Ok(took_place))
            );
            assert_eq!(found.is_withheld(), Ok(end == TraceEnd::Withheld));
        }
        let unknown = TraceEnd::AnswerUnknown;
        assert_eq!(unknown.took_place(), Err(Absence::Erased));
        assert_eq!(unknown.is_withheld(), Err(Absence::Erased));
    }

    #[test]
    fn flags_are_sorted_by_what_they_tell() {
        let artifact = |flags: Option<&str>| ArtifactEntry {
            artifact_id: "ledger:000001".to_owned(),
            artifact_type: "ledger_fact".to_owned(),
            freshness_s: None,
            included_reason: "x".to_owned(),
            observed_at: None,
            risk_flags: flags.map(str::to_owned),
        };
        let found = RiskFlags::of(&[
            artifact(Some(
                r#"["conflict:ledger:000002","unavailable:tool_error"]"#,
            )),
            artifact(None),
            artifact(Some(r#"["unknown:gpu_health","conflict:ledger:000001"]"#)),
            artifact(Some(r#"["unknown:gpu_health"]"#)),
        ]);
        let found = found.unwrap();
        assert_eq!(found.conflicts, ["ledger:000001", "ledger:000002"]);
        assert_eq!(found.unknowns, ["gpu_health"]);
        assert!(RiskFlags::of(&[artifact(Some("conflict"))]).is_err());
    }
}
