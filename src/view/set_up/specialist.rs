//! Domains, specialists, and which of them a question goes to.

use serde::Serialize;

use crate::app::remember::rating::RecordedRating;
use crate::app::set_up::specialist::KnownSpecialist;
use crate::app::set_up::specialist::choice::ChosenSpecialist;
use crate::app::set_up::specialist::promote::ChangedBinding;
use crate::govern::choice::DomainShare;
use crate::record::ledger::specialist::Domain;

/// A domain.
#[derive(Clone, Debug, Serialize)]
pub struct DomainView {
    /// Its id, such as `domain:000001`.
    pub id: String,
    /// What it is called; null once erased.
    pub name: Option<String>,
    /// The words by which a question is known to be of it.
    pub words: Vec<String>,
    /// How fast its corrections fade; null where it doesn't say.
    pub decay: Option<&'static str>,
    /// `open` or `retired`.
    pub state: &'static str,
}

fn state(is_retired: bool) -> &'static str {
    match is_retired {
        true => "retired",
        false => "open",
    }
}

impl DomainView {
    /// Of a domain.
    pub fn of(domain: &Domain) -> Self {
        DomainView {
            id: domain.id.clone(),
            name: domain.name.clone(),
            words: domain.words.clone(),
            decay: domain.decay.map(|class| class.name()),
            state: state(domain.is_retired),
        }
    }
}

/// A specialist.
#[derive(Clone, Debug, Serialize)]
pub struct SpecialistView {
    /// Its id, such as `specialist:000001`.
    pub id: String,
    /// What it is called; null once erased.
    pub name: Option<String>,
    /// The model that it is bound to.
    pub model: Option<String>,
    /// Names of the domains that it answers in.
    pub domains: Vec<String>,
    /// Tokens of its model's window, where somebody said it.
    pub window: Option<u64>,
    /// Its part of the system message.
    pub system: Option<String>,
    /// How its answers with that model were rated.
    pub ratings: Vec<RatingCountView>,
    /// `open` or `retired`.
    pub state: &'static str,
}

/// How answers in a domain were rated.
#[derive(Clone, Debug, Serialize)]
pub struct RatingCountView {
    /// Name of the domain.
    pub domain: String,
    /// How many were good.
    pub good: u64,
    /// How many were rated.
    pub rated: u64,
}

impl SpecialistView {
    /// Of a specialist.
    pub fn of(known: &KnownSpecialist) -> Self {
        let of = &known.of;
        let ratings = known.ratings.iter().map(|count| RatingCountView {
            domain: count.domain.clone(),
            good: count.good,
            rated: count.rated,
        });
        SpecialistView {
            id: of.id.to_string(),
            name: of.name.clone(),
            model: of.model.clone(),
            domains: known.domains.clone(),
            window: of.window,
            system: of.system.clone(),
            ratings: ratings.collect(),
            state: state(of.is_retired),
        }
    }
}

/// A binding that was changed.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedBindingView {
    /// Id of the record.
    pub id: String,
    /// The specialist as it is now.
    pub specialist: SpecialistView,
    /// What it was bound to before.
    pub from_model: String,
    /// The promotion that was undone.
    pub reverts: Option<String>,
}

impl ChangedBindingView {
    /// Of a binding that was changed.
    pub fn of(changed: &ChangedBinding) -> Self {
        ChangedBindingView {
            id: changed.id.clone(),
            specialist: SpecialistView::of(&changed.specialist),
            from_model: changed.from.clone(),
            reverts: changed.reverts.clone(),
        }
    }
}

/// How much of a question is of one domain.
#[derive(Clone, Debug, Serialize)]
pub struct DomainShareView {
    /// Its name.
    pub domain: String,
    /// In thousandths.
    pub share: u64,
}

impl DomainShareView {
    /// Of all that a question is of.
    pub fn of_all(shares: &[DomainShare]) -> Vec<DomainShareView> {
        let view = |one: &DomainShare| DomainShareView {
            domain: one.domain.clone(),
            share: one.share,
        };
        shares.iter().map(view).collect()
    }
}

/// What is expected of a specialist for a question.
#[derive(Clone, Debug, Serialize)]
pub struct BidView {
    /// Its id.
    pub specialist: String,
    /// What it is called.
    pub name: String,
    /// Its welfare, in millionths.
    pub welfare: u64,
    /// Expected utility in each domain of the question, in thousandths.
    pub utilities: Vec<u64>,
    /// How many of its answers were rated.
    pub rated: u64,
}

/// Which specialist a question went to, and why.
#[derive(Clone, Debug, Serialize)]
pub struct ChosenSpecialistView {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// The model that it is bound to.
    pub model: String,
    /// `ratings`, or `prior` where nobody rated any answer of those that could have been asked.
    pub basis: &'static str,
    /// How a question's domains are found.
    pub method: &'static str,
    /// What the question is of.
    pub domains: Vec<DomainShareView>,
    /// What is expected of each that could have been asked, best first.
    pub bids: Vec<BidView>,
}

impl ChosenSpecialistView {
    /// Of a choice.
    pub fn of(chosen: &ChosenSpecialist) -> Self {
        let bids = chosen.bids.iter().map(|(name, bid)| BidView {
            specialist: bid.specialist.to_string(),
            name: name.clone(),
            welfare: bid.welfare,
            utilities: bid.utilities.clone(),
            rated: bid.rated,
        });
        ChosenSpecialistView {
            id: chosen.id.to_string(),
            name: chosen.name.clone(),
            model: chosen.model.clone(),
            basis: match chosen.is_prior() {
                true => "prior",
                false => "ratings",
            },
            method: chosen.method,
            domains: DomainShareView::of_all(&chosen.shares),
            bids: bids.collect(),
        }
    }
}

/// A rating that was put on record.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedRatingView {
    /// Its id.
    pub id: String,
    /// Short id of the exchange.
    pub exchange: String,
    /// `good` or `bad`.
    pub verdict: &'static str,
    /// The model that answered.
    pub model: String,
    /// Id of the specialist that answered; null where a model was asked by its own name.
    pub specialist: Option<String>,
    /// The likeliest domain of the question.
    pub domain: String,
    /// What this key had said of it before.
    pub before: Option<&'static str>,
    /// Kinds of secrets that were removed from the reason.
    pub removed: Vec<String>,
    /// Its line in the log, from 1.
    pub log_line: u64,
}

impl RecordedRatingView {
    /// Of what was recorded.
    pub fn of(rating: &RecordedRating) -> Self {
        RecordedRatingView {
            id: rating.recorded.document.id.clone(),
            exchange: rating.exchange.clone(),
            verdict: rating.verdict.name(),
            model: rating.model.clone(),
            specialist: rating.specialist.map(|id| id.to_string()),
            domain: rating.domain.clone(),
            before: rating.before.map(|before| before.name()),
            removed: rating.removed.clone(),
            log_line: rating.recorded.line + 1,
        }
    }
}
