//! An exchange with its outcome, and what follows from it for its trace.

use serde_json::Value;
use uuid::Uuid;

use super::facts::{Known, ReplyCheck, RiskFlags, TraceEnd, TraceFacts, TraceTexts};
use super::level::Absence;
use super::sources::{SourceCount, source_kinds};
use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::exchange::{ABANDONED, ExchangeEnd, ExchangeOutcome};
use crate::record::hash::Hash32;
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::exchange::ArtifactEntry;
use crate::record::ledger::measures::{CouncilRound, TurnMeasures};
use crate::record::time::Seconds;

/// How the reason of a turn begins of which nothing could be compiled.
const NOT_COMPILED: &str = "compile.";

/// What is on record of an exchange with its outcome, but for its texts.
#[derive(Clone, Debug)]
pub struct EndedTurn {
    /// Id of the exchange.
    pub exchange: Uuid,
    /// Its thread; none for an exchange from before threads.
    pub thread: Option<TurnThread>,
    /// Time of the prompt's line.
    pub asked_at: Seconds,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// HASH of the prompt's line.
    pub prompt_line: Hash32,
    /// Number of the prompt's line in the log, from 1.
    pub prompt_number: u64,
    /// Which model was asked.
    pub model: String,
    /// Authority of the turn.
    pub authority: AuthorityState,
    /// Whether it is on record what a model was called with, or was to be.
    pub has_params: bool,
    /// Whether its texts were never kept.
    pub is_not_kept: bool,
    /// What was injected, in order.
    pub artifacts: Vec<ArtifactEntry>,
    /// Every check that was made.
    pub checks: Vec<ReplyCheck>,
    /// What was measured.
    pub measures: Option<TurnMeasures>,
    /// How it ended; the answer's text is not needed.
    pub end: ExchangeEnd,
    /// Whether a tombstone says that it is erased.
    pub is_erased: bool,
    /// Whether its drift withholds the answer; only asked where no check is on record.
    pub is_withheld_by_drift: bool,
}

/// Where a turn stands in its thread, and what policy gave as reasons.
#[derive(Clone, Debug)]
pub struct TurnThread {
    /// Id of the thread.
    pub thread: Uuid,
    /// Canonical JSON: codes of the decision.
    pub reasons: String,
}

impl EndedTurn {
    /// What its trace is made from, in a ledger of this name. What tools came to, and the texts, stand
    /// there as they do where they are not kept here.
    ///
    /// # Errors
    /// Lists on record that are no lists.
    pub fn facts(&self, origin: &str) -> Result<TraceFacts, CanonError> {
        let (outcome, end) = (&self.end, self.trace_end());
        let flags = RiskFlags::of(&self.artifacts)?;
        let is_lost = self.is_lost();
        let erased = |is: bool| match is {
            true => Err(Absence::Erased),
            false => Ok(()),
        };
        let flags = erased(self.is_erased || is_lost).map(|()| flags);
        let measured = self.measured();
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
        Ok(TraceFacts {
            exchange: self.exchange,
            thread: self
                .thread
                .as_ref()
                .map(|place| place.thread)
                .ok_or(if is_lost {
                    Absence::Erased
                } else {
                    Absence::FromBefore
                }),
            origin: origin.to_owned(),
            asked_at: self.asked_at,
            answered_at: outcome.answered_at,
            seq: self.seq,
            prompt_line: self.prompt_line,
            prompt_number: self.prompt_number,
            depth: measured.map(|measures| measures.depth),
            domain_alignment: self
                .measures
                .as_ref()
                .and_then(|measures| measures.domain_alignment)
                .ok_or(Absence::NoSpecialist),
            is_review: self
                .measures
                .as_ref()
                .is_some_and(|measures| measures.round == Some(CouncilRound::PeerReview)),
            model: self.model.clone(),
            end,
            authority: self.authority,
            is_in_conflict: match (&self.measures, &flags) {
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
                .map(|()| source_kinds(&self.artifacts)),
            looks: gone.map(|()| Default::default()),
            checks: self.made_checks(),
            reasons: self.reasons()?,
            notes: outcome.validator.as_deref().and_then(notes),
            model_ms: asked
                .and(measured)
                .and_then(|measures| measures.model_ms.ok_or(Absence::NoSuchThing)),
            tokens_input: reported(outcome.prompt_tokens),
            tokens_output: reported(outcome.completion_tokens),
            cost: asked
                .and(erased(is_lost))
                .and(outcome.cost.clone().ok_or(unpriced)),
            texts: self.no_texts(end),
        })
    }

    fn trace_end(&self) -> TraceEnd {
        let reason = self.end.reason.as_deref().unwrap_or_default();
        let is_compiled = self.has_params || !reason.starts_with(NOT_COMPILED);
        let end = TraceEnd::of(self.end.outcome, is_compiled, self.is_withheld());
        // Of what was taken over from a ledger alone, no check says that it was not withheld.
        match (end, self.made_checks()) {
            (TraceEnd::Answered, Err(Absence::Erased)) => TraceEnd::AnswerUnknown,
            (end, _) => end,
        }
    }

    /// Whether the answer is withheld: as its checks say, or, where none is on record, its drift.
    fn is_withheld(&self) -> bool {
        match self.checks.is_empty() {
            true => self.is_withheld_by_drift,
            false => self.checks.iter().any(ReplyCheck::withholds),
        }
    }

    /// Whether its rows were lost with a copy of the database, and only its lines are known: then
    /// nothing says what the model was called with.
    fn is_lost(&self) -> bool {
        self.trace_end().asked_model() && !self.has_params
    }

    /// What was measured, or why nothing was.
    fn measured(&self) -> Known<&TurnMeasures> {
        self.measures
            .as_ref()
            .ok_or_else(|| match self.end.reason.as_deref() {
                Some(ABANDONED) => Absence::NotMeasured,
                _ if self.is_lost() => Absence::Erased,
                _ => Absence::FromBefore,
            })
    }

    fn made_checks(&self) -> Known<Vec<ReplyCheck>> {
        if !self.checks.is_empty() {
            return Ok(self.checks.clone());
        }
        Err(match (&self.end.validator, self.end.outcome) {
            (Some(_), _) => Absence::FromBefore,
            (None, ExchangeOutcome::Answered) => Absence::Erased,
            (None, _) => Absence::NoJudgement,
        })
    }

    /// Codes of the decision, then that of the outcome where it is another.
    fn reasons(&self) -> Result<Vec<String>, CanonError> {
        let mut reasons: Vec<String> = match &self.thread {
            Some(place) => canon::parse(place.reasons.as_bytes())?,
            None => Vec::new(),
        };
        let own = self.end.reason.iter();
        let others: Vec<String> = own
            .filter(|code| !reasons.contains(code))
            .cloned()
            .collect();
        reasons.extend(others);
        Ok(reasons)
    }

    /// Why a text that it had is not here.
    fn gone(&self) -> Absence {
        match self.is_not_kept && !self.is_erased {
            true => Absence::NotKept,
            false => Absence::Erased,
        }
    }

    /// Texts of which none is here.
    fn no_texts(&self, end: TraceEnd) -> TraceTexts {
        let gone = |was_there: bool| match was_there {
            true => Err(self.gone()),
            false => Err(Absence::NoSuchThing),
        };
        TraceTexts {
            question: gone(true),
            bundle: gone(end.asked_model()),
            compiled_prompt: gone(end.asked_model()),
            answer: gone(self.end.has_answer),
        }
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

    use super::*;
    use crate::record::ledger::commitment::{Role, Salt, Scheme, commit, opening_key};
    use crate::record::ledger::exchange::ExchangeDoc;
    use crate::record::trace::document::ended_turn;
    use crate::record::trace::field::check_fields;
    use crate::record::trace::level::TraceLevel;
    use crate::record::trace::mapping::{TraceMapping, TraceRequest};

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
        let text = include_str!("../../../tests/vectors/ours/measures.json");
        let vectors: Vectors = serde_json::from_str(text).unwrap();
        let salt = hex::decode(&vectors.salt).unwrap();
        (Salt::from_stored(&salt).unwrap(), vectors)
    }

    impl MeasuresCase {
        fn document(&self) -> ExchangeDoc {
            canon::parse(self.document.as_bytes()).unwrap()
        }

        fn turn(&self) -> EndedTurn {
            let checks = self.checks.iter();
            EndedTurn {
                thread: None,
                prompt_line: self.prompt_line_hash,
                prompt_number: self.prompt_line + 1,
                checks: checks
                    .map(|(name, level, passed)| ReplyCheck {
                        name: name.clone(),
                        is_blocking: level == "blocking",
                        passed: *passed,
                    })
                    .collect(),
                measures: self.measures.clone(),
                is_withheld_by_drift: self.end == "withheld",
                ..ended_turn(&self.document()).unwrap()
            }
        }
    }

    /// Made by python, from the pages.
    #[test]
    fn rows_give_the_signed_bytes_and_the_commitments_of_the_vectors() {
        let (salt, vectors) = vectors();
        let key = opening_key(&salt, Role::Trace).to_string();
        assert_eq!(key, vectors.trace_key);
        for case in &vectors.cases {
            let facts = case.turn().facts("gently/x").unwrap();
            let mapping = TraceMapping::First;
            let built = mapping.build(&facts, TraceRequest::COMMITTED).unwrap();
            let bytes = built.trace.to_be_signed().unwrap();
            let doc = case.document();
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

    /// What may have become of a turn, one after the other and all together.
    const FATES: [fn(&mut EndedTurn); 10] = [
        |turn| turn.is_erased = true,
        |turn| turn.is_not_kept = true,
        |turn| turn.has_params = false,
        |turn| turn.checks.clear(),
        |turn| turn.end.validator = Some("{}".to_owned()),
        |turn| turn.measures = None,
        |turn| turn.end.reason = Some(ABANDONED.to_owned()),
        |turn| turn.end.prompt_tokens = None,
        |turn| turn.end.cost = None,
        |turn| {
            turn.end.cost.iter_mut().for_each(|cost| {
                cost.currency = "EUR".to_owned();
            });
        },
    ];

    /// Whatever became of a turn, its trace says so by codes that its fields may have.
    #[test]
    fn every_reason_is_one_that_its_field_may_have() {
        let (_, vectors) = vectors();
        let cases = vectors.cases.iter();
        let fates = 0..1_u32 << FATES.len();
        for (case, fates) in cases.flat_map(|case| fates.clone().map(move |fates| (case, fates))) {
            let mut turn = case.turn();
            for (n, fate) in FATES.iter().enumerate() {
                if fates >> n & 1 == 1 {
                    fate(&mut turn);
                }
            }
            let facts = turn.facts("gently/x").unwrap();
            for level in TraceLevel::ALL {
                let request = TraceRequest {
                    level,
                    ..TraceRequest::COMMITTED
                };
                let built = TraceMapping::of(&facts).build(&facts, request).unwrap();
                let found = check_fields(&built.trace, &built.absent);
                assert_eq!(found, Ok(()), "{}, {fates:b}", case.name);
            }
        }
    }

    #[test]
    fn what_is_not_there_says_why() {
        let (_, vectors) = vectors();
        let facts = |name: &str, change: &dyn Fn(&mut EndedTurn), is_erased: bool| {
            let case = vectors.cases.iter().find(|case| case.name == name).unwrap();
            let mut turn = EndedTurn {
                is_erased,
                ..case.turn()
            };
            change(&mut turn);
            // Of what was taken over from a ledger alone there are none.
            if is_erased && !turn.has_params {
                turn.checks.clear();
            }
            turn.facts("gently/x").unwrap()
        };
        let nothing = |_: &mut EndedTurn| {};

        let before = facts("from before", &nothing, false);
        assert_eq!(before.depth, Err(Absence::FromBefore));
        assert_eq!(before.sources, Err(Absence::FromBefore));
        assert_eq!(before.model_ms, Err(Absence::FromBefore));
        assert_eq!(before.thread, Err(Absence::FromBefore));
        assert_eq!(before.is_in_conflict, Ok(false));

        let abandoned = |turn: &mut EndedTurn| {
            turn.end.outcome = ExchangeOutcome::Failed;
            turn.end.reason = Some(ABANDONED.to_owned());
        };
        let abandoned = facts("from before", &abandoned, false);
        assert_eq!(abandoned.depth, Err(Absence::NotMeasured));
        assert_eq!(abandoned.end, TraceEnd::Failed);

        let alone = |turn: &mut EndedTurn| turn.has_params = false;
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

        let unkept = facts("answered", &|turn| turn.is_not_kept = true, false);
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
        let unpriced = facts("answered", &|turn| turn.end.cost = None, false);
        assert_eq!(unpriced.cost, Err(Absence::NotMeasured));
    }
}
