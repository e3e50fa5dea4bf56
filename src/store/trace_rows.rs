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
        let end = TraceEnd::of(outcome.outcome.name(), is_compiled, self.is_withheld)
            .expect("a row has one of the three outcomes");
        // Of what was taken over from a ledger alone, no check says that it was not withheld.
        match (end, self.checks(outcome)) {
            (TraceEnd::Answered, Err(Absence::Erased)) => TraceEnd::AnswerUnknown,
            (end, _) => end,
        }
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
    fn is_blocking(&self) -> bool {
        self.level == BLOCKING
    }

    /// Whether it failed, and withholds the reply.
    pub fn withholds(&self) -> bool {
        self.is_blocking() && !self.passed
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

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use uuid::Uuid;

    use super::*;
    use crate::record::ledger::commitment::{Role, Salt, Scheme, commit, opening_key};
    use crate::record::ledger::exchange::ExchangeDoc;
    use crate::record::trace::mapping::{TraceMapping, TraceRequest};
    use crate::store::MissingCommitments;

    #[derive(Deserialize)]
    struct Vectors {
        cases: Vec<MeasuresCase>,
        salt: String,
        trace_key: String,
    }

    #[derive(Deserialize)]
    struct MeasuresCase {
        name: String,
        end: String,
        checks: Vec<(String, String, bool)>,
        measures: Option<TurnMeasures>,
        prompt_line: u64,
        prompt_line_hash: Hash32,
        m: Option<String>,
        trace_commitment: Option<Hash32>,
        document: String,
        exchange_commitment: Hash32,
    }

    fn vectors() -> (Salt, Vectors) {
        let text = include_str!("../../tests/vectors/ours/measures.json");
        let vectors: Vectors = serde_json::from_str(text).unwrap();
        let salt = hex::decode(&vectors.salt).unwrap();
        (Salt::from_stored(&salt).unwrap(), vectors)
    }

    impl MeasuresCase {
        fn exchange(&self, salt: &Salt) -> ExchangeRow {
            let doc: ExchangeDoc = canon::parse(self.document.as_bytes()).unwrap();
            let outcomes = [
                ExchangeOutcome::Answered,
                ExchangeOutcome::Failed,
                ExchangeOutcome::Denied,
            ];
            let outcome = outcomes.into_iter().find(|one| one.name() == doc.outcome);
            ExchangeRow {
                exchange_id: doc.exchange_id,
                session: Uuid::nil(),
                turn_user: Uuid::nil(),
                bundle_hash: None,
                bundle_json: None,
                prompt_hash: None,
                created_at: doc.asked_at,
                seq: doc.seq,
                model: doc.model,
                decision: doc.decision,
                authority_state: doc.authority_state,
                exclusions: "[]".to_owned(),
                params: doc.params.map(|_| "{}".to_owned()),
                request: None,
                salt: Some(salt.clone()),
                prompt_commitment: Hash32::ZERO,
                prompt_line: self.prompt_line,
                not_kept: None,
                outcome: Some(OutcomeUpdate {
                    outcome: outcome.unwrap(),
                    reason: doc.reason,
                    turn_aurora: doc.aurora_text.map(|_| Uuid::nil()),
                    response_hash: None,
                    validator_summary: None,
                    refusal: doc.refusal,
                    answered_at: doc.answered_at,
                    prompt_tokens: doc.prompt_tokens,
                    completion_tokens: doc.completion_tokens,
                    cost: doc.cost,
                    response_commitment: None,
                    exchange_commitment: self.exchange_commitment,
                    chain_entry: None,
                    aurora_text: None,
                    reply: None,
                    reply_commitment: None,
                    outcome_line: self.prompt_line + 1,
                }),
            }
        }

        fn assertions(&self, row: &ExchangeRow) -> Vec<AssertionRow> {
            let checks = self.checks.iter();
            let row = |(name, level, passed): &(String, String, bool)| AssertionRow {
                assertion_id: Uuid::nil(),
                exchange: row.exchange_id,
                name: name.clone(),
                level: level.clone(),
                passed: *passed,
                created_at: row.created_at,
            };
            checks.map(row).collect()
        }
    }

    fn rows<'a>(
        case: &'a MeasuresCase,
        exchange: &'a ExchangeRow,
        checks: &'a [AssertionRow],
    ) -> TraceRows<'a> {
        TraceRows {
            origin: "gently/x",
            exchange,
            prompt_line: case.prompt_line_hash,
            context: None,
            refs: &[],
            checks,
            measures: case.measures.as_ref(),
            is_withheld: case.end == "withheld",
            is_erased: false,
        }
    }

    /// Made by python, from the pages.
    #[test]
    fn rows_give_the_signed_bytes_and_the_commitments_of_the_vectors() {
        let (salt, vectors) = vectors();
        let key = opening_key(&salt, Role::Trace).to_string();
        assert_eq!(key, vectors.trace_key);
        for case in &vectors.cases {
            let exchange = case.exchange(&salt);
            let checks = case.assertions(&exchange);
            let facts = rows(case, &exchange, &checks).facts().unwrap().unwrap();
            let mapping = TraceMapping::NEWEST;
            let built = mapping.build(&facts, TraceRequest::COMMITTED).unwrap();
            let bytes = built.trace.to_be_signed().unwrap();
            let doc: ExchangeDoc = canon::parse(case.document.as_bytes()).unwrap();
            assert_eq!(canon::print(&doc).unwrap(), case.document, "{}", case.name);
            let scheme = Scheme::HmacSha256;
            let found = doc.commitment(scheme, &salt).unwrap();
            assert_eq!(found, case.exchange_commitment, "{}", case.name);
            assert_eq!(doc.measures, case.measures, "{}", case.name);
            assert_eq!(doc.commits_to(Role::Trace), case.m.is_some());
            let Some(m) = &case.m else {
                assert_eq!((doc.measures, doc.trace), (None, None));
                continue;
            };
            assert_eq!(&String::from_utf8(bytes).unwrap(), m, "{}", case.name);
            let found = mapping.commitment(&facts, scheme, &salt).unwrap();
            assert_eq!(Some(found), case.trace_commitment, "{}", case.name);
            assert_eq!(doc.trace.unwrap().commitment, found);
            assert_eq!(commit(scheme, &salt, Role::Trace, m.as_bytes()), found);
        }
    }

    #[test]
    fn what_is_not_there_says_why() {
        let (salt, vectors) = vectors();
        let facts = |name: &str, change: &dyn Fn(&mut ExchangeRow), is_erased: bool| {
            let case = vectors.cases.iter().find(|case| case.name == name).unwrap();
            let mut exchange = case.exchange(&salt);
            change(&mut exchange);
            // Of what was taken over from a ledger alone there are none.
            let checks = match is_erased && exchange.params.is_none() {
                true => Vec::new(),
                false => case.assertions(&exchange),
            };
            let rows = TraceRows {
                is_erased,
                ..rows(case, &exchange, &checks)
            };
            rows.facts().unwrap().unwrap()
        };
        let nothing = |_: &mut ExchangeRow| {};
        let outcome = |row: &mut ExchangeRow| row.outcome.clone().unwrap();

        let before = facts("from before", &nothing, false);
        assert_eq!(before.depth, Err(Absence::FromBefore));
        assert_eq!(before.sources, Err(Absence::FromBefore));
        assert_eq!(before.model_ms, Err(Absence::FromBefore));
        assert_eq!(before.thread, Err(Absence::FromBefore));
        assert_eq!(before.is_in_conflict, Ok(false));

        let abandoned = facts(
            "from before",
            &|row| {
                row.outcome = Some(OutcomeUpdate {
                    outcome: ExchangeOutcome::Failed,
                    reason: Some(ABANDONED.to_owned()),
                    ..outcome(row)
                });
            },
            false,
        );
        assert_eq!(abandoned.depth, Err(Absence::NotMeasured));
        assert_eq!(abandoned.end, TraceEnd::Failed);

        let alone = |row: &mut ExchangeRow| {
            row.params = None;
            row.outcome = Some(OutcomeUpdate {
                validator_summary: None,
                ..outcome(row)
            });
        };
        let lost = facts("from before", &alone, true);
        assert_eq!(lost.depth, Err(Absence::Erased));
        assert_eq!(lost.is_in_conflict, Err(Absence::Erased));
        assert_eq!(lost.tokens_input, Err(Absence::Erased));
        assert_eq!(lost.end, TraceEnd::AnswerUnknown);

        let erased = facts("answered", &nothing, true);
        assert_eq!(erased.is_in_conflict, Ok(false));
        assert_eq!(erased.conflicts, Err(Absence::Erased));
        assert_eq!(erased.texts.answer, Err(Absence::Erased));
        assert_eq!((erased.depth, erased.model_ms), (Ok(2), Ok(1204)));

        let unkept = MissingCommitments {
            user_text: Hash32::ZERO,
            bundle: None,
            compiled_prompt: None,
            request: None,
        };
        let unkept = facts("answered", &|row| row.not_kept = Some(unkept), false);
        assert_eq!(unkept.texts.question, Err(Absence::NotKept));
        assert_eq!(unkept.looks, Err(Absence::NotKept));

        let denied = facts("denied", &nothing, false);
        assert_eq!(denied.sources, Ok(SourceCount::NONE));
        assert_eq!(denied.tokens_input, Err(Absence::NoSuchThing));
        assert_eq!(denied.texts.answer, Err(Absence::NoSuchThing));
        assert_eq!(denied.checks, Err(Absence::NoJudgement));
        assert_eq!(denied.reasons, ["authority.denied"]);

        let failed = facts("failed", &nothing, false);
        assert_eq!(failed.tokens_input, Err(Absence::NotReported));
        assert_eq!(failed.model_ms, Err(Absence::NoSuchThing));
        let unpriced = |row: &mut ExchangeRow| {
            row.outcome = Some(OutcomeUpdate {
                cost: None,
                ..outcome(row)
            });
        };
        let unpriced = facts("answered", &unpriced, false);
        assert_eq!(unpriced.cost, Err(Absence::NotMeasured));
    }

    #[test]
    fn one_that_waits_has_no_facts() {
        let (salt, vectors) = vectors();
        let case = &vectors.cases[0];
        let exchange = ExchangeRow {
            outcome: None,
            ..case.exchange(&salt)
        };
        assert!(rows(case, &exchange, &[]).facts().unwrap().is_none());
    }
}
