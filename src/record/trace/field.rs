//! The table of components and fields, with the reasons by which each may be absent, and holding a
//! trace against it.
//!
//! It is the table of `gently.trace/1`. Names are the document's; `ethical_faculties_skipped`,
//! `aspdma_prompt` and `audit_sequence_number` are those of its project beside it.

use std::collections::{BTreeMap, BTreeSet};

use super::level::{Absence, TraceLevel, TraceProfile};
use super::signed::{TraceComponent, UnsignedTrace};
use super::value::TraceValue;
use crate::record::hash::Hash32;

/// The seven steps of a turn, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceStep {
    /// What was asked.
    ThoughtStart,
    /// What was seen.
    SnapshotAndContext,
    /// What speaks against it.
    DmaResults,
    /// How far apart the sources were.
    IdmaResult,
    /// What was selected.
    AspdmaResult,
    /// How the reply was judged.
    ConscienceResult,
    /// What came of it.
    ActionResult,
}

impl TraceStep {
    /// All of them, in their order.
    pub const ALL: [TraceStep; 7] = [
        TraceStep::ThoughtStart,
        TraceStep::SnapshotAndContext,
        TraceStep::DmaResults,
        TraceStep::IdmaResult,
        TraceStep::AspdmaResult,
        TraceStep::ConscienceResult,
        TraceStep::ActionResult,
    ];

    /// `event_type` of its component.
    pub const fn event_type(self) -> &'static str {
        match self {
            TraceStep::ThoughtStart => "THOUGHT_START",
            TraceStep::SnapshotAndContext => "SNAPSHOT_AND_CONTEXT",
            TraceStep::DmaResults => "DMA_RESULTS",
            TraceStep::IdmaResult => "IDMA_RESULT",
            TraceStep::AspdmaResult => "ASPDMA_RESULT",
            TraceStep::ConscienceResult => "CONSCIENCE_RESULT",
            TraceStep::ActionResult => "ACTION_RESULT",
        }
    }

    /// `component_type` of its component.
    pub const fn component_type(self) -> &'static str {
        match self {
            TraceStep::ThoughtStart => "observation",
            TraceStep::SnapshotAndContext => "context",
            TraceStep::DmaResults | TraceStep::IdmaResult | TraceStep::AspdmaResult => "rationale",
            TraceStep::ConscienceResult => "conscience",
            TraceStep::ActionResult => "action",
        }
    }

    /// Whether its time is that of the outcome; else it is the prompt's.
    pub const fn is_after_outcome(self) -> bool {
        matches!(self, TraceStep::ConscienceResult | TraceStep::ActionResult)
    }
}

/// What JSON a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// `true` or `false`.
    Flag,
    /// A whole number, not negative.
    Count,
    /// A fraction.
    Fraction,
    /// A text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A SHA-256 in 64 lower-case digits.
    Hash,
    /// A list of texts.
    Names,
    /// An object.
    Object,
}

impl FieldForm {
    fn fits(self, value: &TraceValue) -> bool {
        match (self, value) {
            (FieldForm::Flag, TraceValue::Flag(_)) => true,
            (FieldForm::Count, TraceValue::Number(number)) => {
                number.is_integer() && !number.as_str().starts_with('-')
            }
            (FieldForm::Fraction, TraceValue::Number(number)) => !number.is_integer(),
            (FieldForm::Text, TraceValue::Text(_)) => true,
            (FieldForm::Word(words), TraceValue::Text(word)) => words.contains(&word.as_str()),
            (FieldForm::Hash, TraceValue::Text(hash)) => hash.parse::<Hash32>().is_ok(),
            (FieldForm::Names, TraceValue::List(items)) => {
                items.iter().all(|item| matches!(item, TraceValue::Text(_)))
            }
            (FieldForm::Object, TraceValue::Map(_)) => true,
            _ => false,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            FieldForm::Flag => "true or false",
            FieldForm::Count => "a whole number",
            FieldForm::Fraction => "a fraction",
            FieldForm::Text => "a text",
            FieldForm::Word(_) => "one of the words of this field",
            FieldForm::Hash => "a SHA-256 in 64 digits",
            FieldForm::Names => "a list of texts",
            FieldForm::Object => "an object",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldRow {
    /// In which component it stands.
    pub step: TraceStep,
    /// Its name; a point stands before the second part of one that lies in an object.
    pub name: &'static str,
    /// From which level on it is there.
    pub level: TraceLevel,
    /// What it holds.
    pub form: FieldForm,
    /// By which codes it may be absent; without one it is always there.
    pub absences: &'static [Absence],
}

/// Words of `thought_type`.
const TYPES: &[&str] = &["seed", "follow_up"];
/// Words of `cognitive_state`.
const STATES: &[&str] = &["work"];
/// Words of `phase`.
const PHASES: &[&str] = &["chaos", "rigidity", "healthy"];
/// Words of `selected_action` and `action_executed`.
const ACTIONS: &[&str] = &["SPEAK", "REJECT", "DEFER"];

/// Makes the enum of fields, their list and their rows from one table.
macro_rules! fields {
    ($($(#[$doc:meta])+ $field:ident $step:ident $name:literal $level:ident $form:ident $(($words:ident))?
        [$($absence:ident),*];)+) => {
        /// A field of a trace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TraceField {
            $($(#[$doc])+ $field,)+
        }

        impl TraceField {
            /// All of them, in the order of the components.
            pub const ALL: &'static [TraceField] = &[$(TraceField::$field),+];

            /// Its row.
            pub const fn row(self) -> FieldRow {
                match self {
                    $(TraceField::$field => FieldRow {
                        step: TraceStep::$step,
                        name: $name,
                        level: TraceLevel::$level,
                        form: FieldForm::$form $(($words))?,
                        absences: &[$(Absence::$absence),*],
                    },)+
                }
            }
        }
    };
}

fields! {
    /// Number of the prompt in its session.
    RoundNumber ThoughtStart "round_number" Generic Count [];
    /// How many turns of its thread came before it, parent by parent.
    ThoughtDepth ThoughtStart "thought_depth" Generic Count [NotMeasured, Erased, FromBefore];
    /// No question is more urgent than another here.
    TaskPriority ThoughtStart "task_priority" Generic Count [NoSuchThing];
    /// `seed` or `follow_up`.
    ThoughtType ThoughtStart "thought_type" Detailed Word(TYPES) [NotMeasured, Erased, FromBefore];
    /// The question's first 500 characters.
    ThoughtContent ThoughtStart "thought_content" FullTraces Text [NoSuchThing, Erased, NotKept];

    /// Always `work`.
    CognitiveState SnapshotAndContext "cognitive_state" Generic Word(STATES) [];
    /// Tools that showed values.
    ActiveServices SnapshotAndContext "active_services" Detailed Names [NoSuchThing, Erased, NotKept];
    /// What each tool came to.
    ServiceHealth SnapshotAndContext "service_health" Detailed Object [NoSuchThing, Erased, NotKept];
    /// The bundle, without what is empty in it.
    SystemSnapshot SnapshotAndContext "system_snapshot" FullTraces Object [NoSuchThing, Erased, NotKept];

    /// Nobody measures how plausible a turn is.
    PlausibilityScore DmaResults "csdma.plausibility_score" Generic Fraction [NotMeasured];
    /// Failed checks of evidence and completeness.
    CommonSenseFlags DmaResults "csdma.flags" Detailed Names [NoSuchThing, NoJudgement, Erased, FromBefore];
    /// There are no specialists.
    DomainAlignment DmaResults "dsdma.domain_alignment" Generic Fraction [NoSpecialist];
    /// Whether something injected is in conflict, or authority was not enough.
    HasConflicts DmaResults "pdma.has_conflicts" Generic Flag [Erased];
    /// Ids with a comma and a space between them, or `none`.
    Conflicts DmaResults "pdma.conflicts" Detailed Text [Erased];

    /// To how many independent sources the sources come.
    EffectiveSources IdmaResult "k_eff" Generic Fraction [NotMeasured, Erased, FromBefore];
    /// The share of pairs of sources that are of one origin.
    CorrelationRisk IdmaResult "correlation_risk" Generic Fraction [NotMeasured, NoSuchThing, Erased, FromBefore];
    /// `chaos`, `rigidity` or `healthy`.
    Phase IdmaResult "phase" Generic Word(PHASES) [NotMeasured, NoSuchThing, Erased, FromBefore];
    /// Whether the sources are few, or too much alike.
    FragilityFlag IdmaResult "fragility_flag" Generic Flag [NotMeasured, Erased, FromBefore];
    /// Kinds of sources with their counts.
    SourcesIdentified IdmaResult "sources_identified" Detailed Names [NoSuchThing, Erased];

    /// `SPEAK`, `REJECT` or `DEFER`.
    SelectedAction AspdmaResult "selected_action" Generic Word(ACTIONS) [];
    /// Nobody measures how sure a selection is.
    SelectionConfidence AspdmaResult "selection_confidence" Generic Fraction [NotMeasured];
    /// Always false: no turn makes another.
    IsRecursive AspdmaResult "is_recursive" Generic Flag [];
    /// Reason codes and the validator's notes.
    ActionRationale AspdmaResult "action_rationale" FullTraces Text [NoSuchThing];
    /// The compiled prompt.
    AspdmaPrompt AspdmaResult "aspdma_prompt" FullTraces Text [NoSuchThing, Erased, NotKept];

    /// Whether checks were made, and no blocking one failed.
    ConsciencePassed ConscienceResult "conscience_passed" Generic Flag [Erased, FromBefore];
    /// Whether the answer is withheld.
    ActionWasOverridden ConscienceResult "action_was_overridden" Generic Flag [Erased];
    /// Whether no reply was judged.
    FacultiesSkipped ConscienceResult "ethical_faculties_skipped" Generic Flag [Erased];
    /// Whether every check made against sight, known ids and the shape passed.
    CoherencePassed ConscienceResult "coherence_passed" Generic Flag [NoJudgement, Erased, FromBefore];
    /// Whether no check blocked the reply.
    VetoPassed ConscienceResult "optimization_veto_passed" Generic Flag [NoJudgement, Erased, FromBefore];
    /// Whether the check for certainty passed.
    HumilityPassed ConscienceResult "epistemic_humility_passed" Generic Flag [NoJudgement, Erased, FromBefore];
    /// Not measured.
    EntropyLevel ConscienceResult "entropy_level" Generic Fraction [NotMeasured];
    /// Not measured.
    CoherenceLevel ConscienceResult "coherence_level" Generic Fraction [NotMeasured];
    /// Not measured.
    EntropyScore ConscienceResult "entropy_score" Generic Fraction [NotMeasured];
    /// Not measured.
    EntropyThreshold ConscienceResult "entropy_threshold" Generic Fraction [NotMeasured];
    /// Not measured.
    EntropyPassed ConscienceResult "entropy_passed" Generic Flag [NotMeasured];
    /// Not measured.
    CoherenceScore ConscienceResult "coherence_score" Generic Fraction [NotMeasured];
    /// Not measured.
    CoherenceThreshold ConscienceResult "coherence_threshold" Generic Fraction [NotMeasured];
    /// Not measured.
    VetoEntropyRatio ConscienceResult "optimization_veto_entropy_ratio" Generic Fraction [NotMeasured];
    /// Not measured.
    HumilityCertainty ConscienceResult "epistemic_humility_certainty" Generic Fraction [NotMeasured];
    /// Classes of failed blocking checks.
    VetoAffectedValues ConscienceResult "optimization_veto_affected_values" Detailed Names [NoSuchThing, NoJudgement, Erased, FromBefore];
    /// What tools could not tell.
    HumilityUncertainties ConscienceResult "epistemic_humility_uncertainties" Detailed Names [NoSuchThing, Erased];

    /// Whether what was selected took place.
    ExecutionSuccess ActionResult "execution_success" Generic Flag [Erased];
    /// From the request until the answer's last byte.
    ExecutionTimeMs ActionResult "execution_time_ms" Generic Count [NotMeasured, NoSuchThing, Erased, FromBefore];
    /// As the model's server reported.
    TokensInput ActionResult "tokens_input" Generic Count [NoSuchThing, NotReported, Erased];
    /// As the model's server reported.
    TokensOutput ActionResult "tokens_output" Generic Count [NoSuchThing, NotReported, Erased];
    /// Input and output tokens together.
    TokensTotal ActionResult "tokens_total" Generic Count [NoSuchThing, NotReported, Erased];
    /// Cost in hundredths of a US dollar.
    CostCents ActionResult "cost_cents" Generic Fraction [NotMeasured, NoSuchThing, NotReported, NotUsd, Erased];
    /// HASH of the prompt's line.
    AuditEntryHash ActionResult "audit_entry_hash" Generic Hash [];
    /// Number of the prompt's line, from 1.
    AuditSequenceNumber ActionResult "audit_sequence_number" Generic Count [];
    /// What was selected, if it took place.
    ActionExecuted ActionResult "action_executed" Detailed Word(ACTIONS) [NoSuchThing, Erased];
    /// Models that were asked.
    ModelsUsed ActionResult "models_used" Detailed Names [NoSuchThing];
    /// The answer, as `content`.
    ActionParameters ActionResult "action_parameters" FullTraces Object [NoSuchThing, Erased, NotKept];
}

/// The object in DMA_RESULTS that holds what IDMA_RESULT holds otherwise.
const FOLDED: &str = "idma";

/// Where a field stands in a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    /// Its component.
    pub step: TraceStep,
    /// The object in the component's data that it lies in, if it lies in one.
    pub object: Option<&'static str>,
    /// Its key.
    pub key: &'static str,
}

impl FieldPlace {
    /// As envelopes name it: `DMA_RESULTS.csdma.flags`.
    pub fn path(self) -> String {
        let event = self.step.event_type();
        match self.object {
            Some(object) => format!("{event}.{object}.{}", self.key),
            None => format!("{event}.{}", self.key),
        }
    }

    /// What stands there in a component's data.
    pub fn find(self, data: &BTreeMap<String, TraceValue>) -> Option<&TraceValue> {
        let Some(object) = self.object else {
            return data.get(self.key);
        };
        match data.get(object)? {
            TraceValue::Map(entries) => entries.get(self.key),
            _ => None,
        }
    }

    /// Takes away what stands there, with the object that it was alone in; whether something did.
    fn take(self, data: &mut BTreeMap<String, TraceValue>) -> bool {
        let Some(object) = self.object else {
            return data.remove(self.key).is_some();
        };
        let Some(TraceValue::Map(entries)) = data.get_mut(object) else {
            return false;
        };
        let taken = entries.remove(self.key).is_some();
        if entries.is_empty() {
            data.remove(object);
        }
        taken
    }

    /// Puts a value there.
    pub(super) fn put(self, data: &mut BTreeMap<String, TraceValue>, value: TraceValue) {
        let Some(object) = self.object else {
            data.insert(self.key.to_owned(), value);
            return;
        };
        let entry = data.entry(object.to_owned());
        let inner = entry.or_insert_with(|| TraceValue::Map(BTreeMap::new()));
        if let TraceValue::Map(entries) = inner {
            entries.insert(self.key.to_owned(), value);
        }
    }
}

impl TraceField {
    /// What a trace holds of it.
    pub fn find(self, profile: TraceProfile, trace: &UnsignedTrace) -> Option<&TraceValue> {
        let place = self.place(profile);
        let event = place.step.event_type();
        let mut components = trace.components.iter();
        let component = components.find(|component| component.event_type == event)?;
        place.find(&component.data)
    }

    /// Takes it out of a trace, with the component that it was alone in; whether it was there.
    pub fn take(self, profile: TraceProfile, trace: &mut UnsignedTrace) -> bool {
        let place = self.place(profile);
        let event = place.step.event_type();
        let is_it = |component: &&mut TraceComponent| component.event_type == event;
        let component = trace.components.iter_mut().find(is_it);
        let taken = component.is_some_and(|component| place.take(&mut component.data));
        let is_filled = |component: &TraceComponent| !component.data.is_empty();
        trace.components.retain(is_filled);
        taken
    }

    /// Where it stands in a profile.
    pub fn place(self, profile: TraceProfile) -> FieldPlace {
        let row = self.row();
        if profile == TraceProfile::SixComponents && row.step == TraceStep::IdmaResult {
            return FieldPlace {
                step: TraceStep::DmaResults,
                object: Some(FOLDED),
                key: row.name,
            };
        }
        let (object, key) = match row.name.split_once('.') {
            Some((object, key)) => (Some(object), key),
            None => (None, row.name),
        };
        FieldPlace {
            step: row.step,
            object,
            key,
        }
    }
}

/// Why a trace is not one of the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldFault {
    /// A component that the profile does not have, a second one, or one out of order.
    #[error("component {event_type} ({component_type}) is not expected there")]
    Component {
        /// Its `event_type`.
        event_type: String,
        /// Its `component_type`.
        component_type: String,
    },
    /// A field is neither there, nor is there a reason for that.
    #[error("{path} is not there, and no reason is given")]
    Missing {
        /// The field.
        path: String,
    },
    /// A field is there, and a reason for its absence, too.
    #[error("{path} is there, and is said to be absent ({code})")]
    Both {
        /// The field.
        path: String,
        /// The reason.
        code: &'static str,
    },
    /// A field is said to be absent by a code that it is never absent by.
    #[error("{path} is said to be absent ({code}); {}", may_be_absent(.allowed))]
    Reason {
        /// The field.
        path: String,
        /// The code.
        code: &'static str,
        /// Those that it may be absent by.
        allowed: &'static [Absence],
    },
    /// A field of another form.
    #[error("{path}: expected {expected}")]
    Form {
        /// The field.
        path: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Something that the table does not have at this level.
    #[error("{path} has no place in a {level} trace")]
    Beyond {
        /// Where it stands, or of what a reason is given.
        path: String,
        /// The trace's level.
        level: TraceLevel,
    },
}

/// The name of `task_id` among absent fields; it stands in no component.
pub const TASK_ID: &str = "task_id";
/// By which codes `task_id` may be absent.
pub const TASK_ID_ABSENCES: &[Absence] = &[Absence::Erased, Absence::FromBefore];

/// By which codes a field may be absent, in words.
fn may_be_absent(allowed: &[Absence]) -> String {
    let codes: Vec<&str> = allowed.iter().map(|absence| absence.code()).collect();
    match codes.as_slice() {
        [] => "it is in every trace of this level".to_owned(),
        [code] => format!("it may be absent by {code} alone"),
        codes => format!("it may be absent by one of {}", codes.join(", ")),
    }
}

/// Whether a trace has exactly the fields of its level, each there or with a reason that it may have,
/// in either profile.
pub fn check_fields(
    trace: &UnsignedTrace,
    absent: &BTreeMap<String, Absence>,
) -> Result<(), FieldFault> {
    let profile = profile_of(trace, absent);
    let steps = steps(&trace.components)?;
    let mut expected = BTreeSet::new();
    let has_task = trace.task_id.is_some();
    held_once((TASK_ID, TASK_ID_ABSENCES), has_task, absent, &mut expected)?;
    let fields = TraceField::ALL.iter();
    for field in fields.filter(|field| field.row().level <= trace.trace_level) {
        let (place, row) = (field.place(profile), field.row());
        let (path, data) = (place.path(), steps.get(&place.step));
        let value = data.and_then(|data| place.find(data));
        let named = (path.as_str(), row.absences);
        held_once(named, value.is_some(), absent, &mut expected)?;
        if value.is_some_and(|value| !row.form.fits(value)) {
            let expected = row.form.words();
            return Err(FieldFault::Form { path, expected });
        }
    }
    let beyond = steps
        .iter()
        .flat_map(|(step, data)| paths(*step, data))
        .chain(absent.keys().cloned())
        .find(|path| !expected.contains(path));
    match beyond {
        Some(path) => Err(FieldFault::Beyond {
            path,
            level: trace.trace_level,
        }),
        None => Ok(()),
    }
}

/// A field is there, or a reason that it may have, and not both.
fn held_once(
    (path, allowed): (&str, &'static [Absence]),
    is_there: bool,
    absent: &BTreeMap<String, Absence>,
    expected: &mut BTreeSet<String>,
) -> Result<(), FieldFault> {
    let path = path.to_owned();
    expected.insert(path.clone());
    match (is_there, absent.get(&path)) {
        (true, Some(absence)) => Err(FieldFault::Both {
            path,
            code: absence.code(),
        }),
        (false, None) => Err(FieldFault::Missing { path }),
        (false, Some(absence)) if !allowed.contains(absence) => Err(FieldFault::Reason {
            path,
            code: absence.code(),
            allowed,
        }),
        _ => Ok(()),
    }
}

/// The profile that a trace is in: whether something is folded in it, or is said to be absent
/// there.
pub fn profile_of(trace: &UnsignedTrace, absent: &BTreeMap<String, Absence>) -> TraceProfile {
    let effective = TraceField::EffectiveSources.place(TraceProfile::SixComponents);
    let event = effective.step.event_type();
    let mut components = trace.components.iter();
    let is_folded = components
        .any(|component| component.event_type == event && component.data.contains_key(FOLDED));
    match is_folded || absent.contains_key(&effective.path()) {
        true => TraceProfile::SixComponents,
        false => TraceProfile::SevenComponents,
    }
}

/// The data of each step, where they stand in order, none twice.
fn steps(
    components: &[TraceComponent],
) -> Result<BTreeMap<TraceStep, &BTreeMap<String, TraceValue>>, FieldFault> {
    let mut found = BTreeMap::new();
    for component in components {
        let mut steps = TraceStep::ALL.into_iter();
        let step = steps.find(|step| {
            step.event_type() == component.event_type
                && step.component_type() == component.component_type
        });
        let last = found.keys().next_back().copied();
        let Some(step) = step.filter(|step| Some(*step) > last) else {
            return Err(FieldFault::Component {
                event_type: component.event_type.clone(),
                component_type: component.component_type.clone(),
            });
        };
        found.insert(step, &component.data);
    }
    Ok(found)
}

/// Every place of a component's data, those in its objects one by one.
fn paths(step: TraceStep, data: &BTreeMap<String, TraceValue>) -> Vec<String> {
    const OBJECTS: [&str; 4] = ["csdma", "dsdma", "pdma", FOLDED];
    let event = step.event_type();
    let mut found = Vec::new();
    for (key, value) in data {
        match value {
            TraceValue::Map(entries) if OBJECTS.contains(&key.as_str()) => {
                found.extend(entries.keys().map(|inner| format!("{event}.{key}.{inner}")));
            }
            _ => found.push(format!("{event}.{key}")),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_place_of_its_own_in_both_profiles() {
        for profile in TraceProfile::ALL {
            let paths: BTreeSet<String> = TraceField::ALL
                .iter()
                .map(|field| field.place(profile).path())
                .collect();
            assert_eq!(paths.len(), TraceField::ALL.len());
            assert_eq!(paths.len(), 52);
            let idma = paths.iter().filter(|path| path.contains("IDMA")).count();
            assert_eq!(idma == 0, profile == TraceProfile::SixComponents);
        }
        let steps = TraceField::ALL.iter().map(|field| field.row().step);
        assert!(steps.is_sorted());
    }
}
