//! Consents to hand texts on in traces.

use serde::Serialize;

use crate::app::prove::consent::ListedConsent;
use crate::app::prove::trace::consent_cover::{NoConsent, UncoveredTurn};
use crate::app::remember::named_artifact::NamedThing;
use crate::record::ledger::consent::{ConsentGap, ConsentState};
use crate::record::ledger::short_name::short_name;

/// So many exchanges without a consent are named; the others are counted.
const NAMED: usize = 3;

/// Where a consent stands, in a word.
pub const fn state_word(state: ConsentState) -> &'static str {
    match state {
        ConsentState::InForce => "in force",
        ConsentState::Withdrawn => "withdrawn",
        ConsentState::Over => "over",
        ConsentState::Erased => "erased",
    }
}

/// Why a consent does not cover something, behind its name.
const fn gap_words(gap: ConsentGap) -> &'static str {
    match gap {
        ConsentGap::State(ConsentState::InForce) => "it is in force",
        ConsentGap::State(ConsentState::Withdrawn) => "it is withdrawn",
        ConsentGap::State(ConsentState::Over) => "its time is over",
        ConsentGap::State(ConsentState::Erased) => "it is erased",
        ConsentGap::Key => "it is of another auth key",
        ConsentGap::Scope => "it is to something else",
        ConsentGap::Before => "this was asked before it was given, and it is without --past",
        ConsentGap::Level => "it is to less",
    }
}

/// Why texts are not handed on, in a sentence.
pub fn no_consent_words(why: &NoConsent) -> String {
    match why {
        NoConsent::Uncovered { turns, of, .. } => {
            let named: Vec<String> = turns.iter().take(NAMED).map(uncovered_words).collect();
            let rest = match turns.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!("; {more} more"),
            };
            format!(
                "full_traces shows texts, and no consent in force covers {} of {of}: {}{rest}. Nothing was written",
                turns.len(),
                named.join("; ")
            )
        }
        NoConsent::NoMore { consent, gap } => format!(
            "{} covers it no more: {}. Nothing was written",
            short_name(consent),
            gap_words(*gap)
        ),
        NoConsent::ErasedMeanwhile => {
            "something was erased while the file was made, and nothing was written; say it again"
                .to_owned()
        }
    }
}

/// `81bb5b35/16 (consent-1: it is withdrawn)`
fn uncovered_words(turn: &UncoveredTurn) -> String {
    let of = match &turn.shown_in {
        Some(own) => format!("{own}, whose prompt shows {}", turn.exchange),
        None => turn.exchange.clone(),
    };
    match &turn.nearest {
        None => format!("{of} (there is none)"),
        Some((consent, gap)) => format!("{of} ({}: {})", short_name(consent), gap_words(*gap)),
    }
}

/// A consent, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct ConsentView {
    /// Its id: `consent:000001`.
    pub id: String,
    /// `in force`, `withdrawn`, `over` or `erased`.
    pub state: &'static str,
    /// When it was given; null once erased.
    pub at: Option<String>,
    /// Hash of the auth key that gave it; null once erased.
    pub by: Option<String>,
    /// How much a trace may tell under it: `full_traces`; null once erased.
    pub level: Option<&'static str>,
    /// Whether what was asked before is covered, too; null once erased.
    pub past: Option<bool>,
    /// For what; null where that is erased or not kept.
    pub purpose: Option<String>,
    /// `all`, `thread:UUID` or `exchange:UUID`; null once erased.
    pub scope: Option<String>,
    /// Whether all that it is to was erased, so that it covers nothing any more.
    pub covers_nothing: bool,
    /// When it is over; null where that was not said.
    pub until: Option<String>,
    /// When it was withdrawn; null where it was not.
    pub withdrawn_at: Option<String>,
    /// Ids of the exports under it, oldest first: they can't be called back.
    pub exports: Vec<String>,
    /// Ids of exports whose words are erased, so that nothing says under which consent they were.
    pub untold: Vec<String>,
}

impl ConsentView {
    /// Of a consent.
    pub fn of(listed: &ListedConsent) -> Self {
        let terms = listed.consent.terms.as_ref();
        let withdrawn = listed.consent.withdrawn;
        ConsentView {
            id: listed.consent.id.clone(),
            state: state_word(listed.state),
            at: terms.map(|terms| terms.at.to_string()),
            by: terms.map(|terms| terms.by.to_string()),
            level: terms.map(|terms| terms.level.name()),
            past: terms.map(|terms| terms.past),
            purpose: terms.and_then(|terms| terms.purpose.clone()),
            scope: terms.map(|terms| terms.scope.to_string()),
            covers_nothing: listed.covers_nothing,
            until: terms
                .and_then(|terms| terms.until)
                .map(|until| until.to_string()),
            withdrawn_at: withdrawn
                .and_then(|withdrawn| withdrawn.at)
                .map(|at| at.to_string()),
            exports: listed.exports.clone(),
            untold: listed.untold.clone(),
        }
    }
}

/// A consent that was given just now.
#[derive(Clone, Debug, Serialize)]
pub struct GivenConsentView {
    /// The consent.
    #[serde(flatten)]
    pub consent: ConsentView,
    /// Kinds of secrets that were removed from the purpose.
    pub removed: Vec<String>,
}

impl GivenConsentView {
    /// Of a consent that was given.
    pub fn of(given: &NamedThing<ListedConsent>) -> Self {
        GivenConsentView {
            consent: ConsentView::of(&given.of),
            removed: given.removed.clone(),
        }
    }
}
