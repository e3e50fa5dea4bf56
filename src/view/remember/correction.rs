//! Corrections, and what became of a file of them.

use serde::Serialize;
use serde_json::{Number, Value};

use crate::app::remember::correction::import::CorrectionImport;
use crate::app::remember::correction::{Correction, CorrectionList, RecordedCorrection};

/// A correction as it stands.
#[derive(Clone, Debug, Serialize)]
pub struct CorrectionView {
    /// Its id, such as `correction:000001`.
    pub id: String,
    /// Where it stands.
    pub state: &'static str,
    /// What is right; null once erased.
    pub claim: Option<String>,
    /// What is wrong; empty where nothing is named, null once erased.
    pub rejected: Option<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// Short id of the exchange that it is about.
    pub about: Option<String>,
    /// Its field.
    pub domain: Option<String>,
    /// From 0 to 1, when it was observed.
    pub confidence: Option<Number>,
    /// What of it is left now.
    pub effective_confidence: Option<Number>,
    /// `A`, `B`, `C` or `D`.
    pub decay: Option<&'static str>,
    /// `manual`, `arbiter` or `import`.
    pub source: Option<String>,
    /// When it was observed, in RFC 3339.
    pub observed_at: Option<String>,
    /// Its line in the log, from 1.
    pub log_line: u64,
    /// The line that gave it its state.
    pub state_log_line: u64,
}

/// Thousandths as a number from 0 to 1.
fn fraction(milli: u16) -> Option<Number> {
    Number::from_f64(f64::from(milli) / 1000.0)
}

impl CorrectionView {
    /// Of a correction.
    pub fn of(correction: &Correction) -> Self {
        let item = &correction.item;
        let (claim, rejected) = correction.texts.clone().unzip();
        CorrectionView {
            id: item.id.clone(),
            state: item.state.name(),
            claim,
            rejected,
            subject: item.subject.clone(),
            about: correction.about.clone(),
            domain: item.domain.clone(),
            confidence: item.confidence_milli.and_then(fraction),
            effective_confidence: item
                .confidence_milli
                .and_then(|_| fraction(correction.left)),
            decay: item.decay.map(|class| class.name()),
            source: item.source.clone(),
            observed_at: item.observed_at.map(|at| at.to_string()),
            log_line: item.line + 1,
            state_log_line: item.state_line + 1,
        }
    }

    /// Of all in a list.
    pub fn all(list: &CorrectionList) -> Vec<Self> {
        list.corrections.iter().map(Self::of).collect()
    }
}

/// A correction that was put on record.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedCorrectionView {
    /// Its id.
    pub id: String,
    /// The state that it has.
    pub state: &'static str,
    /// What was committed to.
    pub content: Value,
    /// The item that was taken out of force in the same step.
    pub replaced: Option<String>,
    /// When it went on record, in RFC 3339.
    pub recorded_at: String,
    /// Its line in the log, from 1.
    pub log_line: u64,
    /// The secrets that were removed, each by its kind.
    pub removed: Vec<String>,
    /// Whether its text is kept.
    pub kept: bool,
}

impl RecordedCorrectionView {
    /// Of what was recorded.
    pub fn of(made: &RecordedCorrection) -> Self {
        let recorded = &made.recorded;
        RecordedCorrectionView {
            id: recorded.document.id.clone(),
            state: made.state_name(),
            content: recorded.document.content.clone(),
            replaced: made.replaced.clone(),
            recorded_at: recorded.time.to_string(),
            log_line: recorded.line + 1,
            removed: made.removed.clone(),
            kept: recorded.is_kept,
        }
    }
}

/// A line of a file that is no correction.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedLineView {
    /// Its number, from 1.
    pub line: u64,
    /// Why it is none.
    pub reason: String,
}

/// What became of a file.
#[derive(Clone, Debug, Serialize)]
pub struct CorrectionImportView {
    /// Lines that are not empty.
    pub read: u64,
    /// Ids of those that were recorded, all as proposed.
    pub recorded: Vec<String>,
    /// How many are on record already.
    pub unchanged: u64,
    /// Lines that are none.
    pub refused: Vec<RefusedLineView>,
    /// How many secrets were removed.
    pub removed: u64,
}

impl CorrectionImportView {
    /// Of what became of a file.
    pub fn of(made: &CorrectionImport) -> Self {
        let refused = made.refused.iter().map(|(line, reason)| RefusedLineView {
            line: *line,
            reason: reason.clone(),
        });
        CorrectionImportView {
            read: made.read,
            recorded: made.recorded.clone(),
            unchanged: made.unchanged,
            refused: refused.collect(),
            removed: made.removed,
        }
    }
}
