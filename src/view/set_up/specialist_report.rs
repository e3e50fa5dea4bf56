//! What came of specialists and models.

use serde::Serialize;

use crate::app::set_up::specialist::report::{
    AnswererPart, DatedBinding, RatedDomain, SpecialistReport,
};
use crate::record::ledger::specialist::PromotionEvent;
use crate::view::look::stats::FiguresView;

/// Why nobody has won: only a council is won.
const NO_COUNCIL: &str = "it answered in no council of this time";
/// Why there is no welfare of somebody: it is of a question.
const OF_A_QUESTION: &str =
    "welfare is of a question and its domains: gently ask --accuracy fast --json has it";
/// Why nothing is expected of a model by itself.
const NO_SPECIALIST: &str = "only specialists are chosen by what is expected of them";

/// What came of specialists and models.
#[derive(Clone, Debug, Serialize)]
pub struct SpecialistReportView {
    /// Nothing older is counted; null: all of the record is.
    pub since: Option<String>,
    /// Specialists with their models, then models that were asked by their own names.
    pub parts: Vec<AnswererPartView>,
    /// Days from the first rating or promotion to the last, of UTC.
    pub days: Vec<String>,
    /// What was expected at the end of each day.
    pub utilities: Vec<UtilityLineView>,
    /// Promotions and rollbacks.
    pub promotions: Vec<BindingChangeView>,
    /// The file that they are drawn into.
    pub drawn_into: Option<String>,
}

/// What came of one who answered.
#[derive(Clone, Debug, Serialize)]
pub struct AnswererPartView {
    /// Id of the specialist; null where a model was asked by its own name.
    pub specialist: Option<String>,
    /// What the specialist is called; null likewise.
    pub name: Option<String>,
    /// The model.
    pub model: String,
    /// Whether the specialist is bound to it now.
    pub bound: bool,
    /// What was asked of it, and what became of that.
    #[serde(flatten)]
    pub figures: FiguresView,
    /// How many councils it won, of those that it answered in; null without any.
    pub won: Option<u64>,
    /// Why that is null.
    pub won_why_not: Option<&'static str>,
    /// Ratings that called an answer good, of those in this time.
    pub good: u64,
    /// Ratings that called one bad.
    pub bad: u64,
    /// What is expected of it over all domains, in thousandths, by all ratings; null of a model by itself.
    pub expected: Option<u64>,
    /// `ratings`, or `prior` where nobody rated any answer of it; null where nothing is expected.
    pub basis: Option<&'static str>,
    /// Why nothing is expected.
    pub expected_why_not: Option<&'static str>,
    /// The same of each domain in which it was rated.
    pub domains: Vec<RatedDomainView>,
    /// Always null: welfare is of a question.
    pub welfare: Option<u64>,
    /// Why that is so.
    pub welfare_why_not: Option<&'static str>,
    /// Milliseconds until the last byte of an answer, of half of them; null where no server answered.
    pub median_model_ms: Option<u64>,
    /// The same of nine in ten.
    pub ninetieth_model_ms: Option<u64>,
}

/// What is known of somebody in a domain.
#[derive(Clone, Debug, Serialize)]
pub struct RatedDomainView {
    /// Its name.
    pub domain: String,
    /// How many answers were good, of all that were ever rated.
    pub good: u64,
    /// How many were rated.
    pub rated: u64,
    /// What is expected there and below, in thousandths; null of a model by itself.
    pub expected: Option<u64>,
}

/// What was expected of one at the end of each day.
#[derive(Clone, Debug, Serialize)]
pub struct UtilityLineView {
    /// Id of the specialist.
    pub specialist: Option<String>,
    /// The model.
    pub model: String,
    /// In thousandths, over all domains, in the order of days; null before the first rating.
    pub values: Vec<Option<u64>>,
}

/// A specialist that was bound to another model.
#[derive(Clone, Debug, Serialize)]
pub struct BindingChangeView {
    /// Id of the record.
    pub id: String,
    /// Day of UTC; null where its line is not here.
    pub day: Option<String>,
    /// What the specialist is called.
    pub name: String,
    /// `promote` or `rollback`.
    pub event: &'static str,
    /// The model from then on.
    pub to_model: String,
    /// Whether it was undone.
    pub reverted: bool,
}

impl SpecialistReportView {
    /// Of a report, and the file that it is drawn into.
    pub fn of(report: &SpecialistReport, drawn_into: Option<String>) -> Self {
        let history = &report.history;
        let lines = history.lines.iter().map(|line| UtilityLineView {
            specialist: line.who.specialist.map(|id| id.to_string()),
            model: line.who.model.clone(),
            values: line.values.clone(),
        });
        SpecialistReportView {
            since: report.since.map(|since| since.to_string()),
            parts: report.parts.iter().map(AnswererPartView::of).collect(),
            days: history.days.clone(),
            utilities: lines.collect(),
            promotions: history.bindings.iter().map(BindingChangeView::of).collect(),
            drawn_into,
        }
    }
}

impl AnswererPartView {
    fn of(part: &AnswererPart) -> Self {
        let basis = match part.is_prior() {
            true => "prior",
            false => "ratings",
        };
        AnswererPartView {
            specialist: part.who.specialist.map(|id| id.to_string()),
            name: part.name.clone(),
            model: part.who.model.clone(),
            bound: part.is_bound,
            figures: FiguresView::of(&part.figures),
            won: part.won,
            won_why_not: part.won.is_none().then_some(NO_COUNCIL),
            good: part.good,
            bad: part.bad,
            expected: part.expected,
            basis: part.expected.map(|_| basis),
            expected_why_not: part.expected.is_none().then_some(NO_SPECIALIST),
            domains: part.rated.iter().map(RatedDomainView::of).collect(),
            welfare: None,
            welfare_why_not: Some(OF_A_QUESTION),
            median_model_ms: part.times.map(|times| times.median),
            ninetieth_model_ms: part.times.map(|times| times.ninetieth),
        }
    }
}

impl RatedDomainView {
    fn of(rated: &RatedDomain) -> Self {
        RatedDomainView {
            domain: rated.count.domain.clone(),
            good: rated.count.good,
            rated: rated.count.rated,
            expected: rated.expected,
        }
    }
}

impl BindingChangeView {
    fn of(binding: &DatedBinding) -> Self {
        BindingChangeView {
            id: binding.id.clone(),
            day: binding.day.clone(),
            name: binding.name.clone(),
            event: PromotionEvent::name(binding.event),
            to_model: binding.to_model.clone(),
            reverted: binding.is_reverted,
        }
    }
}
