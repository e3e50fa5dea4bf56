//! From facts to a trace. Another table of fields is another mapping; the builders of old ones stay,
//! so that what was committed to under them is built again for ever.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::facts::{Known, ReplyCheck, ToolLook, TraceEnd, TraceFacts};
use super::field::{TASK_ID, TraceField, TraceStep};
use super::level::{Absence, TraceLevel, TraceProfile};
use super::read::read;
use super::signed::{TraceComponent, TraceFault, UnsignedTrace};
use super::value::{TraceNumber, TraceValue};
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit};
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::params::Cost;
use crate::record::time::Seconds;

/// Characters of a question that a trace shows, as the document has it.
const CONTENT: usize = 500;
/// The currency whose hundredth part is a cent here.
const USD: &str = "USD";
/// Millionths in a cent.
const MICRO_PER_CENT: u128 = 10_000;
/// Checks that tell whether a reply fits what its model was shown, beside all of the shape.
const COHERENCE: [&str; 2] = ["evidence.contradicts_sight", "evidence.unknown_artifact"];
/// The class of the checks of a reply's shape.
const SHAPE: &str = "schema";
/// The check that tells whether a reply is surer than anybody can be.
const CERTAINTY: &str = "tone.certainty";
/// Classes whose failed checks are flags of common sense.
const COMMON_SENSE: [&str; 2] = ["evidence", "completeness"];

/// How facts become fields; an exchange document names the one of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceMapping {
    /// The table of [`TraceField`].
    #[serde(rename = "gently.trace/1")]
    First,
    /// The same of a turn in which a specialist was asked: it tells how much of the question is of that
    /// one's domains.
    #[serde(rename = "gently.trace/2")]
    Second,
}

/// Which trace of a turn is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// How much it tells.
    pub level: TraceLevel,
    /// In which form.
    pub profile: TraceProfile,
    /// Whether an answer that is withheld is shown, too.
    pub withheld_too: bool,
}

impl TraceRequest {
    /// The trace that is committed to: generic, in seven components.
    pub const COMMITTED: TraceRequest = TraceRequest {
        level: TraceLevel::Generic,
        profile: TraceProfile::SevenComponents,
        withheld_too: false,
    };
}

/// A trace, and why fields of its level are not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltTrace {
    /// The trace, to be signed.
    pub trace: UnsignedTrace,
    /// By the place of the field, as `DMA_RESULTS.csdma.plausibility_score`.
    pub absent: BTreeMap<String, Absence>,
}

impl TraceMapping {
    /// All of them.
    pub const ALL: [TraceMapping; 2] = [TraceMapping::First, TraceMapping::Second];

    /// The one that a turn's trace is made by.
    pub fn of(facts: &TraceFacts) -> TraceMapping {
        match facts.domain_alignment {
            Ok(_) => TraceMapping::Second,
            Err(_) => TraceMapping::First,
        }
    }

    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            TraceMapping::First => "gently.trace/1",
            TraceMapping::Second => "gently.trace/2",
        }
    }

    /// The mapping that is spelled so; none for one of a later version.
    pub fn named(name: &str) -> Option<TraceMapping> {
        TraceMapping::ALL
            .into_iter()
            .find(|mapping| mapping.name() == name)
    }

    /// Builds the trace of a turn; a function of its arguments and nothing else.
    ///
    /// A component that no field is known of is left out, as an empty one can't be signed: the
    /// reasons stand in `absent`.
    ///
    /// # Errors
    /// A stored bundle that is no JSON, or that holds a number which no trace has.
    pub fn build(
        self,
        facts: &TraceFacts,
        request: TraceRequest,
    ) -> Result<BuiltTrace, TraceFault> {
        let built = match self {
            TraceMapping::First => {
                let mut facts = facts.clone();
                facts.domain_alignment = Err(Absence::NoSpecialist);
                facts.is_review = false;
                build(&facts, request)?
            }
            TraceMapping::Second => build(facts, request)?,
        };
        built.trace.check_form()?;
        Ok(built)
    }

    /// The commitment to the signed bytes of a turn's generic trace, with role `trace`.
    pub fn commitment(
        self,
        facts: &TraceFacts,
        scheme: Scheme,
        salt: &Salt,
    ) -> Result<Hash32, TraceFault> {
        let built = self.build(facts, TraceRequest::COMMITTED)?;
        Ok(commit(
            scheme,
            salt,
            Role::Trace,
            &built.trace.to_be_signed()?,
        ))
    }
}

/// `th_` and the exchange's id.
pub fn thought_id(exchange: Uuid) -> String {
    format!("th_{exchange}")
}

/// `task_` and the thread's id.
pub fn task_id(thread: Uuid) -> String {
    format!("task_{thread}")
}

/// `trace-`, the thought's id and the digits of a time.
pub fn trace_id(exchange: Uuid, asked_at: Seconds) -> String {
    let digits: String = asked_at
        .to_string()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    format!("trace-{}-{digits}", thought_id(exchange))
}

/// The first 16 digits of the SHA-256 of a ledger's name.
pub fn agent_id_hash(origin: &str) -> String {
    Hash32::digest(origin.as_bytes()).short16()
}

fn build(facts: &TraceFacts, request: TraceRequest) -> Result<BuiltTrace, TraceFault> {
    let mut absent = BTreeMap::new();
    let mut steps: BTreeMap<TraceStep, BTreeMap<String, TraceValue>> = BTreeMap::new();
    let fields = TraceField::ALL.iter();
    for field in fields.filter(|field| field.row().level <= request.level) {
        let place = field.place(request.profile);
        match value_of(*field, facts, request)? {
            Ok(value) => place.put(steps.entry(place.step).or_default(), value),
            Err(absence) => drop(absent.insert(place.path(), absence)),
        }
    }
    if let Err(absence) = facts.thread {
        absent.insert(TASK_ID.to_owned(), absence);
    }
    let component = |(step, data): (TraceStep, BTreeMap<String, TraceValue>)| TraceComponent {
        component_type: step.component_type().to_owned(),
        data,
        event_type: step.event_type().to_owned(),
        timestamp: match step.is_after_outcome() {
            true => facts.answered_at.to_string(),
            false => facts.asked_at.to_string(),
        },
    };
    let trace = UnsignedTrace {
        agent_id_hash: agent_id_hash(&facts.origin),
        completed_at: facts.answered_at.to_string(),
        components: steps.into_iter().map(component).collect(),
        started_at: facts.asked_at.to_string(),
        task_id: facts.thread.ok().map(task_id),
        thought_id: thought_id(facts.exchange),
        trace_id: trace_id(facts.exchange, facts.asked_at),
        trace_level: request.level,
        others: BTreeMap::new(),
    };
    Ok(BuiltTrace { trace, absent })
}

/// What a field holds in the trace of a turn, or why it is absent: the table, row by row.
fn value_of(
    field: TraceField,
    facts: &TraceFacts,
    request: TraceRequest,
) -> Result<Known<TraceValue>, TraceFault> {
    use TraceField as F;
    Ok(match field {
        F::RoundNumber => count(facts.seq),
        F::ThoughtDepth => facts.depth.and_then(count),
        F::TaskPriority => Err(Absence::NoSuchThing),
        F::ThoughtType => facts.depth.and_then(|depth| text(thought_type(depth))),
        F::ThoughtContent => shown(&facts.texts.question)
            .and_then(|question| text(question.chars().take(CONTENT).collect::<String>())),
        F::CognitiveState => text("work"),
        F::ActiveServices => facts.looks().and_then(active_services),
        F::ServiceHealth => facts.looks().and_then(service_health),
        F::SystemSnapshot => return system_snapshot(&facts.texts.bundle),
        F::CommonSenseFlags => facts.checks().and_then(common_sense_flags),
        F::DomainAlignment => facts.domain_alignment.and_then(|share| {
            let share = TraceNumber::ratio(share.into(), 1000).map(TraceValue::Number);
            share.ok_or(Absence::NotMeasured)
        }),
        F::HasConflicts => facts.has_conflicts().and_then(flag),
        F::Conflicts => shown_list(&facts.conflicts).and_then(conflicts),
        F::EffectiveSources => facts
            .sources
            .map(|sources| TraceValue::Number(sources.effective())),
        F::CorrelationRisk => facts.sources.and_then(|sources| {
            let correlation = sources.correlation().map(TraceValue::Number);
            correlation.ok_or(Absence::NoSuchThing)
        }),
        F::Phase => facts.phase(),
        F::FragilityFlag => facts.sources.and_then(|sources| flag(sources.is_fragile())),
        F::SourcesIdentified => shown_list(&facts.source_kinds).and_then(names),
        F::SelectedAction => text(facts.end.action()),
        F::IsRecursive => flag(facts.is_review),
        F::ActionRationale => text(facts.rationale()),
        F::AspdmaPrompt => shown(&facts.texts.compiled_prompt).and_then(text),
        F::ConsciencePassed => facts.conscience_passed(),
        F::ActionWasOverridden => facts.end.is_withheld().and_then(flag),
        F::FacultiesSkipped => facts.is_judged().and_then(|is_judged| flag(!is_judged)),
        F::CoherencePassed => {
            facts.passed(|check| COHERENCE.contains(&check.name.as_str()) || check.class() == SHAPE)
        }
        F::VetoPassed => facts.checks().and_then(|checks| flag(!is_blocked(checks))),
        F::HumilityPassed => facts.passed(|check| check.name == CERTAINTY),
        F::PlausibilityScore
        | F::SelectionConfidence
        | F::EntropyLevel
        | F::CoherenceLevel
        | F::EntropyScore
        | F::EntropyThreshold
        | F::EntropyPassed
        | F::CoherenceScore
        | F::CoherenceThreshold
        | F::VetoEntropyRatio
        | F::HumilityCertainty => Err(Absence::NotMeasured),
        F::VetoAffectedValues => facts.checks().and_then(affected_values),
        F::HumilityUncertainties => shown_list(&facts.unknowns).and_then(names),
        F::ExecutionSuccess => facts.end.took_place().and_then(flag),
        F::ExecutionTimeMs => facts.model_ms.and_then(count),
        F::TokensInput => facts.tokens_input.and_then(count),
        F::TokensOutput => facts.tokens_output.and_then(count),
        F::TokensTotal => facts.tokens_total(),
        F::CostCents => facts.cost.as_ref().map_err(|a| *a).and_then(cost_cents),
        F::AuditEntryHash => text(facts.prompt_line.to_string()),
        F::AuditSequenceNumber => count(facts.prompt_number),
        F::ActionExecuted => match facts.end.took_place() {
            Ok(true) => text(facts.end.action()),
            Ok(false) => Err(Absence::NoSuchThing),
            Err(absence) => Err(absence),
        },
        F::ModelsUsed => match facts.end.asked_model() {
            true => names([facts.model.as_str()]),
            false => Err(Absence::NoSuchThing),
        },
        F::ActionParameters => facts.parameters(request),
    })
}

/// What fields are computed from, where they need more than one fact.
impl TraceFacts {
    fn looks(&self) -> Known<&BTreeMap<String, ToolLook>> {
        self.looks.as_ref().map_err(|absence| *absence)
    }

    /// The checks that were made; none were is no judgement, too.
    fn checks(&self) -> Known<&[ReplyCheck]> {
        match &self.checks {
            Ok(checks) if checks.is_empty() => Err(Absence::NoJudgement),
            Ok(checks) => Ok(checks),
            Err(absence) => Err(*absence),
        }
    }

    /// Whether an answer was judged, also where single checks were not on record yet.
    fn is_judged(&self) -> Known<bool> {
        match self.end {
            TraceEnd::Answered | TraceEnd::Withheld => {
                Ok(self.checks().err() != Some(Absence::NoJudgement))
            }
            TraceEnd::AnswerUnknown => Err(Absence::Erased),
            TraceEnd::Denied | TraceEnd::NotCompiled | TraceEnd::Failed => Ok(false),
        }
    }

    fn has_conflicts(&self) -> Known<bool> {
        match self.authority {
            AuthorityState::Ok => self.is_in_conflict,
            AuthorityState::Insufficient | AuthorityState::Blocked => Ok(true),
        }
    }

    fn phase(&self) -> Known<TraceValue> {
        let sources = self.sources?;
        // What no model was shown is in no conflict.
        if sources.sources == 0 {
            return Err(Absence::NoSuchThing);
        }
        let phase = sources.phase(self.is_in_conflict?);
        phase
            .map(|phase| TraceValue::text(phase.name()))
            .ok_or(Absence::NoSuchThing)
    }

    fn rationale(&self) -> String {
        let parts = self.reasons.iter().chain(&self.notes);
        parts.map(String::as_str).collect::<Vec<_>>().join("; ")
    }

    fn conscience_passed(&self) -> Known<TraceValue> {
        match self.checks() {
            Ok(checks) => flag(!is_blocked(checks)),
            // What was not checked has not passed.
            Err(Absence::NoJudgement) => flag(false),
            Err(absence) => Err(absence),
        }
    }

    /// Whether all of some checks passed; no judgement where none of them was made.
    fn passed(&self, is_one: impl Fn(&ReplyCheck) -> bool) -> Known<TraceValue> {
        let checks = self.checks()?;
        let mut made = checks.iter().filter(|check| is_one(check)).peekable();
        if made.peek().is_none() {
            return Err(Absence::NoJudgement);
        }
        flag(made.all(|check| check.passed))
    }

    fn tokens_total(&self) -> Known<TraceValue> {
        let (input, output) = (self.tokens_input?, self.tokens_output?);
        input
            .checked_add(output)
            .map(TraceValue::count)
            .ok_or(Absence::NotReported)
    }

    /// The answer; one that is withheld only where that is asked for, as nothing was executed.
    fn parameters(&self, request: TraceRequest) -> Known<TraceValue> {
        if self.end.is_withheld()? && !request.withheld_too {
            return Err(Absence::NoSuchThing);
        }
        let content = shown(&self.texts.answer).and_then(text)?;
        let entries = BTreeMap::from([("content".to_owned(), content)]);
        Ok(TraceValue::Map(entries))
    }
}

fn flag(flag: bool) -> Known<TraceValue> {
    Ok(TraceValue::Flag(flag))
}

fn count(number: u64) -> Known<TraceValue> {
    Ok(TraceValue::count(number))
}

/// A text, where there is one: an empty one has no place in a trace.
fn text(text: impl Into<String>) -> Known<TraceValue> {
    filled(TraceValue::text(text))
}

/// A list of names, where there are any.
fn names<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Known<TraceValue> {
    filled(TraceValue::texts(names))
}

fn filled(value: TraceValue) -> Known<TraceValue> {
    match value.is_empty() {
        true => Err(Absence::NoSuchThing),
        false => Ok(value),
    }
}

fn shown(text: &Known<String>) -> Known<&str> {
    text.as_deref().map_err(|absence| *absence)
}

fn shown_list(list: &Known<Vec<String>>) -> Known<&[String]> {
    list.as_deref().map_err(|absence| *absence)
}

const fn thought_type(depth: u64) -> &'static str {
    match depth {
        0 => "seed",
        _ => "follow_up",
    }
}

fn active_services(looks: &BTreeMap<String, ToolLook>) -> Known<TraceValue> {
    let showed = looks
        .iter()
        .filter(|(_, look)| **look == ToolLook::Available);
    names(showed.map(|(tool, _)| tool.as_str()))
}

fn service_health(looks: &BTreeMap<String, ToolLook>) -> Known<TraceValue> {
    let health = looks
        .iter()
        .map(|(tool, look)| (tool.clone(), TraceValue::text(look.name())));
    filled(TraceValue::Map(health.collect()))
}

/// The bundle without what is empty in it.
fn system_snapshot(bundle: &Known<String>) -> Result<Known<TraceValue>, TraceFault> {
    match bundle {
        Err(absence) => Ok(Err(*absence)),
        Ok(bundle) => {
            let snapshot = read(bundle.as_bytes())?.without_empty();
            Ok(snapshot.ok_or(Absence::NoSuchThing))
        }
    }
}

fn common_sense_flags(checks: &[ReplyCheck]) -> Known<TraceValue> {
    let failed = checks
        .iter()
        .filter(|check| !check.passed && COMMON_SENSE.contains(&check.class()));
    names(failed.map(|check| check.name.as_str()))
}

fn conflicts(ids: &[String]) -> Known<TraceValue> {
    match ids.is_empty() {
        true => text("none"),
        false => text(ids.join(", ")),
    }
}

fn failed_blocking(checks: &[ReplyCheck]) -> impl Iterator<Item = &ReplyCheck> {
    checks
        .iter()
        .filter(|check| check.is_blocking && !check.passed)
}

fn is_blocked(checks: &[ReplyCheck]) -> bool {
    failed_blocking(checks).next().is_some()
}

/// Classes of failed blocking checks, each once.
fn affected_values(checks: &[ReplyCheck]) -> Known<TraceValue> {
    let mut classes: Vec<&str> = failed_blocking(checks).map(ReplyCheck::class).collect();
    classes.sort_unstable();
    classes.dedup();
    names(classes)
}

fn cost_cents(cost: &Cost) -> Known<TraceValue> {
    if cost.currency != USD {
        return Err(Absence::NotUsd);
    }
    // Millions of millions of dollars are no cost of a turn.
    TraceNumber::ratio(u128::from(cost.micro), MICRO_PER_CENT)
        .map(TraceValue::Number)
        .ok_or(Absence::NoSuchThing)
}
