//! What the validator found in an answer, in words.

use serde::Serialize;

use crate::app::ask::warnings::{CarriedWarning, DriftWarning};

/// One thing that was found in an answer.
#[derive(Clone, Debug, Serialize)]
pub struct WarningView {
    /// Class of the drift, such as `evidence_drift`.
    pub class: String,
    /// The rule that found it.
    pub reason: String,
    /// What a person is told.
    pub sentence: String,
    /// The words of the answer that it was found on, without secrets; null where they are not here,
    /// or are withheld.
    pub found_on: Option<String>,
}

impl WarningView {
    /// Of a warning.
    pub fn of(warning: &DriftWarning) -> Self {
        WarningView {
            class: warning.class.clone(),
            reason: warning.reason.clone(),
            sentence: warning.sentence.clone(),
            found_on: warning.found_on.clone(),
        }
    }
}

/// An open warning that a model was told of with a question.
#[derive(Clone, Debug, Serialize)]
pub struct CarriedWarningView {
    /// How commands take it: `drift-1`.
    pub id: String,
    /// What the model was told of it.
    pub sentence: String,
}

impl CarriedWarningView {
    /// Of a warning.
    pub fn of(warning: &CarriedWarning) -> Self {
        CarriedWarningView {
            id: warning.id.clone(),
            sentence: warning.sentence.clone(),
        }
    }
}
