//! The rows that an exchange's trace is made from, and what they tell.

use serde_json::Value;

use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::exchange::ABANDONED;
use crate::record::hash::Hash32;
use crate::record::ledger::measures::TurnMeasures;
use crate::record::trace::facts::{Known, ReplyCheck, RiskFlags, TraceEnd, TraceFacts, TraceTexts};
use crate::record::trace::level::Absence;
use crate::record::trace::sources::{SourceCount, source_kinds};

use super::{
    ArtifactRefRow, AssertionRow, ExchangeOutcome, ExchangeRow, MeasureRow, OutcomeUpdate,
    ThreadTurnRow,
};

/// The level of a check whose failure withholds the reply.
const BLOCKING: &str = "blocking";
/// How the reason of a turn begins of which nothing could be compiled.
const NOT_COMPILED: &str = "compile.";

/// The rows that an exchange's trace is made from, but those of its texts.
#[derive(Clone, Copy)]
pub struct TraceRows<'a> {
    /// The ledger's name.
    pub origin: &'a str,
    /// Row of the exchange.
    pub exchange: &'a ExchangeRow,
    /// HASH of the prompt's line.
    pub prompt_line: Hash32,
    /// Its context; none for an exchange from before threads.
    pub context: Option<&'a ThreadTurnRow>,
    /// What was injected, in order.
    pub refs: &'a [ArtifactRefRow],
    /// Every check that was made.
    pub checks: &'a [AssertionRow],
    /// What was measured.
    pub measures: Option<&'a TurnMeasures>,
    /// Whether its kernel withholds the answer.
    pub is_withheld: bool,
    /// Whether a tombstone says that it is erased.
    pub is_erased: bool,
}

impl TraceRows<'_> {
    /// What they tell; none while the exchange waits for its outcome. What tools came to, and the
    /// texts, stand there as they do where they are not kept here.
    ///
    /// # Errors
    /// Lists in rows that are no lists.
    pub fn facts(&self) -> Result<Option<TraceFacts>, CanonError> {
        let row = self.exchange;
        let Some(outcome) = &row.outcome else {
            return Ok(None);
        };
        let end = self.end(outcome);
        let artifacts: Vec<_> = self.refs.iter().map(ArtifactRefRow::named).collect();
        let flags = RiskFlags::of(&artifacts)?;
        let is_lost = self.is_lost(outcome);
        let erased = |is: bool| match is {
            true => Err(Absence::Erased),
            false => Ok(()),
        };
        let flags = erased(self.is_erased || is_lost).map(|()| flags);
        let measured = self.measured(outcome);
        let asked = match end.asked_model() {
            true => Ok(()),
            false => Err(Absence::NoSuchThing),
        };
        let reported = |count: Option<u64>| {
            asked.and(erased(is_lost))?;
            count.ok_or(Absence::NotReported)
        };
        let unpriced = match outcome.prompt_tokens.and(outcome.completion_tokens) {
            Some(_) => Absence::NotMeasured,
            None => Absence::NotReported,
        };
        let gone = asked.and(Err(self.gone()));
        Ok(Some(TraceFacts {
            exchange: row.exchange_id,
            thread: self
                .context
                .map(|context| context.thread)
                .ok_or(if is_lost {
                    Absence::Erased
                } else {
                    Absence::FromBefore
                }),
            origin: self.origin.to_owned(),
            asked_at: row.created_at,
            answered_at: outcome.answered_at,
            seq: row.seq,
            prompt_line: self.prompt_line,
            prompt_number: row.prompt_line + 1,
            depth: measured.map(|measures| measures.depth),
            model: row.model.clone(),
            end,
            authority: row.authority_state,
            is_in_conflict: match (self.measures, &flags) {
                (Some(measures), _) => Ok(measures.is_in_conflict),
                (None, Ok(flags)) => Ok(!flags.conflicts.is_empty()),
                (None, Err(absence)) => Err(*absence),
            },
            conflicts: flags.clone().map(|flags| flags.conflicts),
            unknowns: flags.map(|flags| flags.unknowns),
            sources: match asked {
                Ok(()) => measured.and_then(|measures| {
                    let count = SourceCount::new(measures.sources, measures.same_pairs);
                    count.ok_or(Absence::NotMeasured)
                }),
                Err(_) => Ok(SourceCount::NONE),
            },
            source_kinds: asked
                .and(erased(is_lost))
                .map(|()| source_kinds(&artifacts)),
            looks: gone.map(|()| Default::default()),
            checks: self.checks(outcome),
            reasons: self.reasons(outcome)?,
            notes: outcome.validator_summary.as_deref().and_then(notes),
            model_ms: asked
                .and(measured)
                .and_then(|measures| measures.model_ms.ok_or(Absence::NoSuchThing)),
            tokens_input: reported(outcome.prompt_tokens),
            tokens_output: reported(outcome.completion_tokens),
            cost: asked
                .and(erased(is_lost))
                .and(outcome.cost.clone().ok_or(unpriced)),
            texts: self.no_texts(outcome, end),
        }))
    }

    fn end(&self, outcome: &OutcomeUpdate) -> TraceEnd {
        let reason = outcome.reason.as_deref().unwrap_or_default();
        let is_compiled = self.exchange.params.is_some() || !reason.starts_with(NOT_COMPILED);
        TraceEnd::of(outcome.outcome.name(), is_compiled, self.is_withheld)
            .expect("a row has one of the three outcomes")
    }

    /// Whether its rows were lost with a copy of the database, and only its lines are known: then
    /// nothing says what the model was called with.
    fn is_lost(&self, outcome: &OutcomeUpdate) -> bool {
        let end = self.end(outcome);
        end.asked_model() && self.exchange.params.is_none()
    }

    /// What was measured, or why nothing was.
    fn measured(&self, outcome: &OutcomeUpdate) -> Known<&TurnMeasures> {
        self.measures.ok_or(match outcome.reason.as_deref() {
            Some(ABANDONED) => Absence::NotMeasured,
            _ if self.is_lost(outcome) => Absence::Erased,
            _ => Absence::FromBefore,
        })
    }

    fn checks(&self, outcome: &OutcomeUpdate) -> Known<Vec<ReplyCheck>> {
        if self.checks.is_empty() {
            return Err(match (&outcome.validator_summary, outcome.outcome) {
                (Some(_), _) => Absence::FromBefore,
                (None, ExchangeOutcome::Answered) => Absence::Erased,
                (None, _) => Absence::NoJudgement,
            });
        }
        let checks = self.checks.iter().map(|check| ReplyCheck {
            name: check.name.clone(),
            is_blocking: check.is_blocking(),
            passed: check.passed,
        });
        Ok(checks.collect())
    }

    /// Codes of the decision, then that of the outcome where it is another.
    fn reasons(&self, outcome: &OutcomeUpdate) -> Result<Vec<String>, CanonError> {
        let mut reasons: Vec<String> = match self.context {
            Some(context) => canon::parse(context.reasons.as_bytes())?,
            None => Vec::new(),
        };
        let own = outcome.reason.iter();
        let others: Vec<String> = own
            .filter(|code| !reasons.contains(code))
            .cloned()
            .collect();
        reasons.extend(others);
        Ok(reasons)
    }

    /// Why a text that it had is not here.
    pub fn gone(&self) -> Absence {
        match self.exchange.not_kept.is_some() && !self.is_erased {
            true => Absence::NotKept,
            false => Absence::Erased,
        }
    }

    /// Texts of which none is here.
    fn no_texts(&self, outcome: &OutcomeUpdate, end: TraceEnd) -> TraceTexts {
        let gone = |was_there: bool| match was_there {
            true => Err(self.gone()),
            false => Err(Absence::NoSuchThing),
        };
        TraceTexts {
            question: gone(true),
            bundle: gone(end.asked_model()),
            compiled_prompt: gone(end.asked_model()),
            answer: gone(outcome.turn_aurora.is_some()),
        }
    }
}

impl AssertionRow {
    /// Whether its failure withholds a reply.
    pub fn is_blocking(&self) -> bool {
        self.level == BLOCKING
    }
}

impl MeasureRow {
    /// The key that opens its commitment.
    pub fn opening(&self) -> Option<Hash32> {
        self.trace_key.map(Hash32::from_bytes)
    }
}

/// The validator's notes, which hold no word of the reply.
fn notes(summary: &str) -> Option<String> {
    let summary: Value = serde_json::from_str(summary).ok()?;
    summary.get("notes")?.as_str().map(str::to_owned)
}
