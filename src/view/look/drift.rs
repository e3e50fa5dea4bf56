//! What the validator found, and what became of it.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::app::look::drift::trial::TrialVerdict;
use crate::app::look::drift::{DriftDetails, DriftList, DriftStep};
use crate::govern::drift::{DriftCheck, DriftEvent};
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// A drift event and its state.
#[derive(Clone, Debug, Serialize)]
pub struct DriftEntryView {
    /// Name of the event, such as `driftwatch:0042`.
    pub id: String,
    /// As the log names it.
    pub drift_id: String,
    /// Kind of the entry: always `DRIFTWATCH`.
    pub kind: &'static str,
    /// `open`, `acked` or `closed`.
    pub state: &'static str,
    /// Class of the drift, such as `evidence_drift`.
    pub class: String,
    /// How bad it is.
    pub severity: String,
    /// The same as the watchdog names it.
    pub level: Option<String>,
    /// What was found.
    pub summary: String,
    /// The same for a person, with the words of the answer where one event is shown.
    pub sentence: String,
    /// Those words; null in a list, where they are not here, and where the answer is withheld.
    pub found_on: Option<String>,
    /// Id of the exchange whose answer drifted.
    pub exchange: Uuid,
    /// The same as every command takes it.
    pub place: String,
    /// Commitment to the prompt.
    pub prompt_hash: Hash32,
    /// Commitment to the answer.
    pub response_hash: Hash32,
    /// When it was found.
    pub created_at: String,
    /// How long ago that is, in seconds.
    pub age_s: u64,
}

impl DriftEntryView {
    /// Of an event, as it is now.
    pub fn of(details: &DriftDetails, now: Seconds) -> Self {
        let event = &details.state.event;
        DriftEntryView {
            id: details.state.id(),
            drift_id: event.drift_id.clone(),
            kind: "DRIFTWATCH",
            state: details.state.state(),
            class: event.class.clone(),
            severity: event.severity.clone(),
            level: details.state.level.clone(),
            summary: event.summary.clone(),
            sentence: details.warning.sentence.clone(),
            found_on: details.warning.found_on.clone(),
            exchange: event.exchange,
            place: details.place(),
            prompt_hash: event.prompt_hash,
            response_hash: event.response_hash,
            created_at: event.created_at.to_string(),
            age_s: now.since(event.created_at),
        }
    }
}

/// Drift events of a home.
#[derive(Clone, Debug, Serialize)]
pub struct DriftListView {
    /// Events on record, oldest first.
    pub drift: Vec<DriftEntryView>,
    /// How many older ones are not listed.
    pub older_not_listed: u64,
    /// How many are of other conversations, where those of one are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_other_conversations: Option<u64>,
}

impl DriftListView {
    /// Of a list.
    pub fn of(list: &DriftList, now: Seconds) -> Self {
        let view = |event: &DriftDetails| DriftEntryView::of(event, now);
        DriftListView {
            drift: list.events.iter().map(view).collect(),
            older_not_listed: list.older,
            in_other_conversations: list.elsewhere,
        }
    }
}

/// What somebody said of a drift event.
#[derive(Clone, Debug, Serialize)]
pub struct DriftStepView {
    /// `acked` or `closed`.
    pub state: &'static str,
    /// Its line in the log, from 1.
    pub log_line: u64,
    /// What was committed to.
    pub said: Value,
}

/// A drift event, and who looked at it.
#[derive(Clone, Debug, Serialize)]
pub struct DriftDetailsView {
    /// The event itself.
    #[serde(flatten)]
    pub event: DriftEntryView,
    /// What was said of it.
    pub steps: Vec<DriftStepView>,
}

impl DriftDetailsView {
    /// Of an event and its steps.
    pub fn of(details: &DriftDetails, steps: &[DriftStep], now: Seconds) -> Self {
        let step = |step: &DriftStep| DriftStepView {
            state: step.of.word,
            log_line: step.line + 1,
            said: step.said.clone(),
        };
        DriftDetailsView {
            event: DriftEntryView::of(details, now),
            steps: steps.iter().map(step).collect(),
        }
    }
}

/// Drift events that have a new state.
#[derive(Clone, Debug, Serialize)]
pub struct DriftTransitionView {
    /// State that the events have now: `acked` or `closed`.
    pub state: &'static str,
    /// Names of the events, such as `driftwatch:0042`.
    pub drift: Vec<String>,
}

/// One thing that the validator found in a reply from elsewhere.
#[derive(Clone, Debug, Serialize)]
pub struct TrialEventView {
    /// Kind of the entry: always `DRIFTWATCH`.
    pub kind: &'static str,
    /// Class of the drift, such as `evidence_drift`.
    pub class: &'static str,
    /// How bad it is.
    pub severity: String,
    /// What the kernel makes of it.
    pub effect: &'static str,
    /// What was found.
    pub summary: String,
}

impl TrialEventView {
    fn of(event: &DriftEvent) -> Self {
        TrialEventView {
            kind: "DRIFTWATCH",
            class: event.class.name(),
            severity: event.severity.clone(),
            effect: event.effect.name(),
            summary: event.summary.clone(),
        }
    }
}

/// What the validator said of a reply from elsewhere.
#[derive(Clone, Debug, Serialize)]
pub struct TrialVerdictView {
    /// The line's own id.
    pub id: Value,
    /// Whether the reply refuses.
    pub refusal: bool,
    /// The validator's summary.
    pub validator: Value,
    /// What was found.
    pub events: Vec<TrialEventView>,
    /// Each rule that was held against it.
    pub checks: Vec<DriftCheck>,
}

impl TrialVerdictView {
    /// Of a verdict.
    pub fn of(verdict: &TrialVerdict) -> Self {
        let judgement = &verdict.judgement;
        TrialVerdictView {
            id: verdict.id.clone(),
            refusal: judgement.refusal(),
            validator: serde_json::from_str(&judgement.summary_json()).unwrap_or_default(),
            events: judgement.events().iter().map(TrialEventView::of).collect(),
            checks: judgement.checks().to_vec(),
        }
    }
}
