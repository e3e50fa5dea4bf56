//! Drift: its five classes, what an event holds, and what a judgement is made of (AEGIS 9).

use serde::{Deserialize, Serialize};

use crate::record::canon;
use crate::record::documents::ValidatorFlags;
pub use crate::record::entry::DriftClass;

/// What drift of a class does to the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It stands on record.
    Record,
    /// One line beside the reply.
    Warn,
    /// The reply is withheld.
    Block,
}

impl Effect {
    /// The spelling in kernel and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Record => "record",
            Effect::Warn => "warn",
            Effect::Block => "block",
        }
    }
}

/// One finding of the validator; it gets its id and its links when it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftEvent {
    /// The class.
    pub class: DriftClass,
    /// The kernel's severity for it: `[a-z0-9_.]+`.
    pub severity: String,
    /// What it does.
    pub effect: Effect,
    /// Machine-parseable and free of the reply's words: `claimed_side_effect bytes=0..21`.
    pub summary: String,
}

impl DriftEvent {
    /// The rule's name: the summary's first word.
    pub fn rule(&self) -> &str {
        self.summary.split(' ').next().unwrap_or_default()
    }
}

/// What happens to a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is shown.
    Show,
    /// It is shown, with these lines beside it.
    Warn(Vec<String>),
    /// It is withheld; these lines say why.
    Block(Vec<String>),
}

/// The validator's whole answer about one reply.
///
/// Flags are computed from the events, so a flag without an event, or an event without its flag,
/// can't be expressed. Only [`super::validate::judge`] makes one:
///
/// ```compile_fail
/// # use gently::govern::drift::Judgement;
/// let waved_through = Judgement { events: vec![], refusal: false };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a reply without its judgement must not be shown"]
pub struct Judgement {
    events: Vec<DriftEvent>,
    refusal: bool,
}

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    flags: ValidatorFlags,
    notes: String,
}

impl Judgement {
    pub(super) fn new(events: Vec<DriftEvent>, refusal: bool) -> Judgement {
        Judgement { events, refusal }
    }

    /// What was found, in the order of the classes.
    pub fn events(&self) -> &[DriftEvent] {
        &self.events
    }

    /// Whether the reply refuses.
    pub fn refusal(&self) -> bool {
        self.refusal
    }

    /// The five flags.
    pub fn flags(&self) -> ValidatorFlags {
        let has = |class| self.events.iter().any(|e| e.class == class);
        ValidatorFlags {
            authority_drift: has(DriftClass::Authority),
            completeness_drift: has(DriftClass::Completeness),
            evidence_drift: has(DriftClass::Evidence),
            schema_ok: !has(DriftClass::Schema),
            tone_drift: has(DriftClass::Tone),
        }
    }

    /// A short text for people: `no drift`, or class and rule of each event. Holds no word of the reply.
    pub fn notes(&self) -> String {
        if self.events.is_empty() {
            return "no drift".to_owned();
        }
        let mut seen: Vec<String> = Vec::new();
        for event in &self.events {
            let note = format!("{}: {}", event.class.name(), event.rule());
            if !seen.contains(&note) {
                seen.push(note);
            }
        }
        seen.join("; ")
    }

    /// `validator_summary` (AEGIS 9.1): flags and notes as canonical JSON.
    pub fn summary_json(&self) -> String {
        canon::print(&Summary { flags: self.flags(), notes: self.notes() }).expect("booleans and a text have a print")
    }

    /// The strongest effect of all events.
    pub fn verdict(&self) -> Verdict {
        let lines = |least: Effect| {
            let mut lines: Vec<String> = Vec::new();
            for event in self.events.iter().filter(|e| e.effect >= least) {
                let line = format!("drift: {} ({}): {}", event.class.name(), event.severity, event.rule());
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            lines
        };
        match self.events.iter().map(|e| e.effect).max() {
            None | Some(Effect::Record) => Verdict::Show,
            Some(Effect::Warn) => Verdict::Warn(lines(Effect::Warn)),
            Some(Effect::Block) => Verdict::Block(lines(Effect::Warn)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(class: DriftClass, effect: Effect) -> DriftEvent {
        DriftEvent { class, severity: "low".into(), effect, summary: "rule bytes=0..1".into() }
    }

    #[test]
    fn each_flag_has_its_event_and_each_event_its_flag() {
        let none = Judgement::new(vec![], false);
        let clean = none.flags();
        assert!(clean.schema_ok && !clean.authority_drift && !clean.tone_drift);
        assert_eq!(none.verdict(), Verdict::Show);
        assert_eq!(
            none.summary_json(),
            r#"{"authority_drift":false,"completeness_drift":false,"evidence_drift":false,"notes":"no drift","schema_ok":true,"tone_drift":false}"#
        );
        for class in DriftClass::ALL {
            let flags = Judgement::new(vec![event(class, Effect::Record)], false).flags();
            let raised = [
                (flags.authority_drift, DriftClass::Authority),
                (flags.completeness_drift, DriftClass::Completeness),
                (flags.evidence_drift, DriftClass::Evidence),
                (!flags.schema_ok, DriftClass::Schema),
                (flags.tone_drift, DriftClass::Tone),
            ];
            for (on, of) in raised {
                assert_eq!(on, of == class);
            }
        }
    }

    #[test]
    fn the_strongest_effect_decides() {
        let record = event(DriftClass::Tone, Effect::Record);
        let warn = event(DriftClass::Evidence, Effect::Warn);
        let block = event(DriftClass::Authority, Effect::Block);
        assert_eq!(Judgement::new(vec![record.clone()], false).verdict(), Verdict::Show);
        let lines = vec!["drift: evidence (low): rule".to_owned()];
        assert_eq!(
            Judgement::new(vec![record.clone(), warn.clone(), warn.clone()], false).verdict(),
            Verdict::Warn(lines)
        );
        assert!(
            matches!(Judgement::new(vec![record, warn, block], false).verdict(), Verdict::Block(l) if l.len() == 2)
        );
    }
}
