//! What the validator found in an answer, in sentences for a person: with the
//! words of the answer that it was found on, which no record holds.

use crate::ask::TurnEnd;
use crate::govern::drift::{DriftEffect, DriftEvent, ReplyVerdict, rule_of};
use crate::govern::kernel::Kernel;
use crate::govern::reply::found_on::{FoundWords, ReplyContext};
use crate::govern::reply::output::Shape;
use crate::govern::reply::warning_words::{open_question, sentence};
use crate::govern::reply_rule::ReplyRule;
use crate::govern::sanitize::redact;
use crate::record::Exchange;
use crate::record::context::turn::TurnIntent;
use crate::record::ledger::bundle::{ArtifactRef, Fact, Moment};
use crate::record::ledger::short_name::short_name;
use crate::recorder::Refusal;
use crate::store::{DriftRow, DriftState, ExchangeRow, ExchangeRows, ReadStore, StoreError};

use uuid::Uuid;

use crate::app::find;
use crate::app::look::drift::thread_of;
use crate::ask::stored_text::kernel_of;

/// What the id of a warning begins with, where it stands in a context.
const WARNING: &str = "driftwatch:";

/// One thing that was found in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftWarning {
    /// Class of the drift, such as `evidence_drift`.
    pub class: String,
    /// The rule that found it.
    pub reason: String,
    /// What it comes to, with the words that it was found on.
    pub sentence: String,
    /// Those words; none where they are not here, or are withheld.
    pub found_on: Option<String>,
}

impl DriftWarning {
    /// Of a class, a summary as it is recorded, and the words that it was found on.
    fn new(class: &str, summary: &str, found: Option<FoundWords>) -> DriftWarning {
        let reason = rule_of(summary);
        let sentence = sentence(summary, found.as_ref());
        DriftWarning {
            class: class.to_owned(),
            reason: reason.to_owned(),
            sentence,
            found_on: found.map(|found| found.excerpt),
        }
    }

    /// The same without the words of the answer.
    pub fn without_excerpt(class: &str, summary: &str) -> DriftWarning {
        Self::new(class, summary, None)
    }
}

/// The sentence of an open warning as a context had it before it had the sentence itself:
/// `authority (medium): ` and its summary.
pub fn issue_words(issue: &str) -> Option<String> {
    let (head, summary) = issue.split_once(": ")?;
    let (class, _) = head.split_once(' ')?;
    Some(DriftWarning::without_excerpt(class, summary).sentence)
}

/// What was found in the answer of a turn, and is no warning under its kernel: it is on record, and
/// told to whoever wants to know more.
pub fn noted(turn: &TurnEnd) -> Vec<DriftWarning> {
    let TurnEnd::Answered(answer) = turn else {
        return Vec::new();
    };
    let events = answer.judgement.events().iter();
    let silent = events.filter(|event| event.effect < DriftEffect::Warn);
    let warning =
        |event: &DriftEvent| DriftWarning::without_excerpt(event.class.name(), &event.summary);
    silent.map(warning).collect()
}

/// What a person is told of a turn that was just asked. Of an answer that is withheld no word is
/// told.
pub fn of_turn(kernel: &Kernel, turn: &TurnEnd) -> Vec<DriftWarning> {
    let (judgement, answer) = match turn {
        TurnEnd::Answered(answer) => (&answer.judgement, Some(answer)),
        TurnEnd::Refused(refusal, _) => match &refusal.refusal {
            Refusal::CompileFailed {
                judgement: Some(judgement),
                ..
            } => (judgement, None),
            _ => return Vec::new(),
        },
        TurnEnd::Failed(..) | TurnEnd::Interrupted(_) => return Vec::new(),
    };
    let told: Vec<&DriftEvent> = judgement.told().collect();
    let is_shown = !told.is_empty() && judgement.verdict() != ReplyVerdict::Block;
    let shown = answer.filter(|_| is_shown);
    let shown = shown.map(|answer| (&answer.context, redact(&answer.text).clean));
    let found = |event: &DriftEvent| {
        let (context, reply) = shown.as_ref()?;
        context.found_on(kernel, ReplyRule::named(event.rule())?, reply)
    };
    let warning =
        |event: &DriftEvent| DriftWarning::new(event.class.name(), &event.summary, found(event));
    told.into_iter().map(warning).collect()
}

/// An open warning that was put before a model for the first time in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedWarning {
    /// How screens call it, and commands take it: `drift-1`.
    pub id: String,
    /// What the model was told of it.
    pub sentence: String,
}

/// The open warnings of this conversation among what a model was shown of which the turn before it
/// told nothing yet: each sentence once, for as long as the event that it was told of is open.
pub fn carried(
    store: &ReadStore,
    shown: &[ArtifactRef],
    (thread, parent): (Uuid, Option<Uuid>),
) -> Result<Vec<CarriedWarning>, StoreError> {
    let state = |id: &str| {
        let state = id.starts_with(WARNING).then(|| find::drift(store, id));
        let state = state.and_then(Result::ok);
        state.filter(|state| {
            let is_here = thread_of(store, state).is_ok_and(|of| of == Some(thread));
            is_here && state.closed.is_none()
        })
    };
    let warning = |state: DriftState| CarriedWarning {
        id: short_name(&state.id()),
        sentence: open_question(&state.event.summary),
    };
    let named = shown.iter().filter_map(|one| state(&one.artifact_id));
    let mut carried: Vec<CarriedWarning> = named.map(warning).collect();
    if carried.is_empty() {
        return Ok(carried);
    }
    let before = match parent {
        Some(parent) => store.artifact_refs(parent)?,
        None => Vec::new(),
    };
    let told = before.iter().filter_map(|row| state(&row.artifact_id));
    let told: Vec<String> = told.map(|state| warning(state).sentence).collect();
    carried.retain(|one| !told.contains(&one.sentence));
    Ok(carried)
}

/// All that is on record of an exchange's answer. Its words are told with `with_words`, as far as
/// they are here.
pub fn on_record(
    store: &ReadStore,
    row: &ExchangeRow,
    with_words: bool,
) -> Result<Vec<DriftWarning>, StoreError> {
    let drift = store.drift(row.exchange_id)?;
    if drift.is_empty() {
        return Ok(Vec::new());
    }
    let bare = |event: &DriftRow| DriftWarning::without_excerpt(&event.class, &event.summary);
    let Some(session) = store.session_of(row.session)?.filter(|_| with_words) else {
        return Ok(drift.iter().map(bare).collect());
    };
    let record = ExchangeRows::read(store, &session, row)?.record();
    let kernel = kernel_of(store, &session)?.ok();
    let (judged, reply) = (context_of(&record), answer_of(&record));
    let found = |event: &DriftRow| {
        let rule = ReplyRule::named(rule_of(&event.summary))?;
        let reply = redact(reply?).clean;
        judged.as_ref()?.found_on(kernel.as_ref()?, rule, &reply)
    };
    let warning = |event: &DriftRow| DriftWarning::new(&event.class, &event.summary, found(event));
    Ok(drift.iter().map(warning).collect())
}

fn answer_of(record: &Exchange) -> Option<&str> {
    record.outcome.as_ref()?.answer.as_deref()
}

/// What an answer on record was judged against; none where that is not here any more.
fn context_of(record: &Exchange) -> Option<ReplyContext> {
    let mut shown = record.bundle.as_ref()?.read().ok()?.clone();
    let at = shown.compiled_at;
    shown
        .facts
        .extend(earlier_texts(record).map(|text| turn_as_fact(at, text)));
    let params = record.params().ok()??;
    let context = record.context.as_ref();
    let intent = context.and_then(|context| TurnIntent::named(&context.intent_type));
    Some(ReplyContext {
        shown,
        question: redact(record.user.as_deref()?).clean,
        shape: params.expect.as_deref().map(Shape::recorded),
        intent: intent.unwrap_or_default(),
    })
}

/// What was said earlier and shown to the model.
fn earlier_texts(record: &Exchange) -> impl Iterator<Item = &str> {
    let prior = record.prior.iter().flatten().map(|turn| turn.text.as_str());
    let referred = record.context.iter().flat_map(|context| &context.refs);
    prior.chain(referred.filter_map(|event| event.text.as_deref()))
}

/// An earlier text as one of the facts that a reply may repeat.
fn turn_as_fact(observed_at: Moment, text: &str) -> Fact {
    Fact {
        id: "turn".to_owned(),
        claim: text.to_owned(),
        source: "turn".to_owned(),
        observed_at,
        confidence: "low".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::drift::DriftClass;

    /// Summaries as the validator writes them, at least one for each rule.
    const SUMMARIES: [(ReplyRule, &str, &str); 19] = [
        (
            ReplyRule::ClaimedSideEffect,
            "claimed_side_effect count=1 sentences=0",
            "The answer says it restarted something (\"I restarted it\"). gently did nothing.",
        ),
        (
            ReplyRule::UnknownArtifact,
            "unknown_artifact count=1",
            "The answer names a record that it was not shown (\"I restarted it\").",
        ),
        (
            ReplyRule::ContradictsSight,
            "contradicts_sight count=1 sentences=0",
            "The answer gives a figure that was not measured here (\"I restarted it\").",
        ),
        (
            ReplyRule::RejectedClaim,
            "rejected_claim count=1 sentences=0",
            "The answer says what a correction on record rejects (\"I restarted it\").",
        ),
        (
            ReplyRule::Unsourced,
            "unsourced numbers=3 dates=1",
            "The answer gives 3 numbers and 1 date that nothing it was shown says (\"I restarted it\").",
        ),
        (
            ReplyRule::GeneralUnsourced,
            "general_unsourced numbers=1 addresses=2 quotes=2",
            "The answer gives 1 number, 2 addresses and 2 quotations that nothing it was shown says (\"I restarted it\").",
        ),
        (
            ReplyRule::GeneralUnsourced,
            "general_unsourced",
            "The answer gives something that nothing it was shown says (\"I restarted it\").",
        ),
        (
            ReplyRule::SightWithoutValues,
            "sight_without_values before_call=true",
            "A tool that looks at this machine gave no values and no reason, so no model was asked.",
        ),
        (
            ReplyRule::DeniesSight,
            "denies_sight",
            "The answer says it can't see this machine (\"I restarted it\"). It was sent what was measured here.",
        ),
        (
            ReplyRule::RefusesSight,
            "refuses_sight",
            "The answer refuses (\"I restarted it\"), though it was sent what was asked for.",
        ),
        (
            ReplyRule::NoValueGiven,
            "no_value_given",
            "The answer leaves out the values that it was sent (\"I restarted it\").",
        ),
        (
            ReplyRule::Urgency,
            "urgency count=1",
            "The answer presses you to hurry (\"I restarted it\").",
        ),
        (
            ReplyRule::Flattery,
            "flattery count=2",
            "The answer flatters you (\"I restarted it\").",
        ),
        (
            ReplyRule::Intimacy,
            "intimacy count=1",
            "The answer speaks as if it were close to you (\"I restarted it\").",
        ),
        (
            ReplyRule::Certainty,
            "certainty count=1",
            "The answer is surer than anybody can be (\"I restarted it\").",
        ),
        (
            ReplyRule::NotJson,
            "not_json wrapped=false",
            "The answer was to be JSON, and is not (\"I restarted it\").",
        ),
        (
            ReplyRule::NotJson,
            "not_json wrapped=true",
            "The answer was to be JSON alone, and has something around it (\"I restarted it\").",
        ),
        (
            ReplyRule::OtherShape,
            "other_shape errors=2 keywords=required,type",
            "The answer is JSON of another shape than was asked for: 2 parts are wrong (required, type).",
        ),
        (
            ReplyRule::OtherShape,
            "other_shape errors=1 keywords=",
            "The answer is JSON of another shape than was asked for: 1 part is wrong.",
        ),
    ];

    fn words() -> FoundWords {
        FoundWords {
            excerpt: "I restarted it".to_owned(),
            deed: Some("restarted".to_owned()),
            correction: None,
        }
    }

    #[test]
    fn every_class_and_every_rule_has_its_sentence() {
        for rule in ReplyRule::ALL {
            let of_rule = |one: &&(ReplyRule, &str, &str)| one.0 == rule;
            assert!(SUMMARIES.iter().any(|one| of_rule(&one)), "{rule:?}");
        }
        for class in DriftClass::ALL {
            assert!(SUMMARIES.iter().any(|(rule, ..)| rule.class() == class));
        }
        for (rule, summary, told) in SUMMARIES {
            assert_eq!(rule_of(summary), rule.name(), "{summary}");
            let warning = DriftWarning::new(rule.class().name(), summary, Some(words()));
            assert_eq!(warning.sentence, told, "{summary}");
            assert_eq!(warning.found_on.as_deref(), Some("I restarted it"));
        }
    }

    #[test]
    fn a_sentence_is_whole_without_the_words() {
        for (rule, summary, _) in SUMMARIES {
            let bare = DriftWarning::without_excerpt(rule.class().name(), summary).sentence;
            let is_plain = !bare.contains('"') && !bare.contains("()") && !bare.contains("  ");
            assert!(
                bare.ends_with('.') && is_plain && bare.len() <= 100,
                "{bare}"
            );
            for word in ["drift", "aurora", "ring", "rule"] {
                assert!(!bare.split(' ').any(|one| one == word), "{bare}");
            }
        }
        assert_eq!(
            issue_words("tone (low): flattery count=1").as_deref(),
            Some("The answer flatters you.")
        );
        assert_eq!(
            DriftWarning::without_excerpt("tone", "someday count=1").sentence,
            "A rule of another version of gently found something (someday)."
        );
    }
}
