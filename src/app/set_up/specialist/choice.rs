//! Which specialist a question goes to, and why.

use std::collections::BTreeSet;

use super::{called, find, on_record};
use crate::app::home::open::OpenHomeError;
use crate::govern::choice::{
    Bid, Bidder, DomainShare, DomainStems, alignment, bids, shares, whole,
};
use crate::record::ledger::specialist::{GENERAL, Specialist, SpecialistId, Specialists};
use crate::store::{ReadStore, StoreError};

use super::domain;

/// Whom a question is to go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecialistWish {
    /// One by its name or id.
    Named(String),
    /// The one of whom most is expected: of these, where some are named.
    Best(Option<Vec<String>>),
}

/// A specialist that is asked, and what is known of all.
#[derive(Clone, Debug)]
pub struct ChosenSpecialist {
    /// Its number.
    pub id: SpecialistId,
    /// How people call it.
    pub name: String,
    /// How much of the question is of its domains, in thousandths.
    pub alignment: u16,
    /// The model that it is bound to.
    pub model: String,
    /// Its part of the system message.
    pub system: Option<String>,
    /// Tokens of its model's window.
    pub window: Option<u64>,
    /// What the question is of.
    pub shares: Vec<DomainShare>,
    /// How that is known: [`BY_WORDS`], or [`BY_NAME`].
    pub method: &'static str,
    /// What is expected of everybody that could have been asked, best first; the chosen one alone where
    /// it was named.
    pub bids: Vec<(String, Bid)>,
}

/// What is said where no answer of those that could have been asked was rated.
pub const NOTHING_RATED: &str = "no answer of theirs is rated yet";
/// A question's domains are found by its words.
pub const BY_WORDS: &str = "words/1";
/// Somebody said which domain it is of.
pub const BY_NAME: &str = "named";

impl ChosenSpecialist {
    /// The likeliest domain of the question.
    pub fn domain(&self) -> &str {
        self.shares.first().map_or(GENERAL, |share| &share.domain)
    }

    /// Whether nobody rated any answer of those that could have been asked.
    pub fn is_prior(&self) -> bool {
        self.bids.iter().all(|(_, bid)| bid.rated == 0)
    }

    /// Whether nobody rated any answer of theirs in a domain of the question: the same is expected of all.
    pub fn is_unrated_here(&self) -> bool {
        self.bids.iter().all(|(_, bid)| bid.rated_here == 0)
    }

    /// The domains of the question, each by its name in quotation marks.
    pub fn domain_names(&self) -> String {
        let names = self.shares.iter().map(|one| format!("\"{}\"", one.domain));
        names.collect::<Vec<_>>().join(", ")
    }

    /// What is expected of the one that is asked.
    pub fn bid(&self) -> Option<&Bid> {
        let found = self.bids.iter().find(|(_, bid)| bid.specialist == self.id);
        found.map(|(_, bid)| bid)
    }

    /// What is expected of it in the likeliest domain, in thousandths.
    pub fn utility(&self) -> u64 {
        let own = self.bid().and_then(|bid| bid.utilities.first());
        own.copied().unwrap_or(0)
    }

    /// Why its model can't be asked, in sentences, and what to do.
    pub fn unasked(&self, why: &OpenHomeError) -> String {
        let (name, model) = (&self.name, &self.model);
        format!(
            "{name} is bound to {model}, which can't be asked: {why}. To bind it to another one: gently specialist \
             promote {name} --to MODEL"
        )
    }

    /// Who is asked, in a sentence; why, where nobody was named.
    pub fn sentence(&self, is_chosen: bool) -> String {
        let (name, model) = (&self.name, &self.model);
        let Some(own) = self.bid().filter(|_| is_chosen) else {
            return format!("asked: {name} ({model})");
        };
        let of = |bid: &Bid| thousandths(bid.welfare / 1000);
        let known = match (self.is_prior(), own.rated) {
            (true, _) => NOTHING_RATED.to_owned(),
            _ if self.is_unrated_here() => {
                format!("nothing is rated in {} yet", self.domain_names())
            }
            (false, 0) => "none of its answers is rated, and some of others are".to_owned(),
            (false, 1) => "1 of its answers is rated".to_owned(),
            (false, rated) => format!("{rated} of its answers are rated"),
        };
        let others: Vec<&(String, Bid)> = self
            .bids
            .iter()
            .filter(|(_, bid)| bid.specialist != self.id)
            .collect();
        let is_even = others.iter().any(|(_, bid)| bid.welfare == own.welfare);
        let why = match is_even {
            true => "the oldest of those of whom most is expected",
            false => "of whom most is expected",
        };
        let others: Vec<String> = others
            .iter()
            .map(|(name, bid)| format!("; {name} {}", of(bid)))
            .collect();
        format!(
            "asked: {name}, {why}: {} of 1 ({}; {known}){}",
            of(own),
            self.domains_told(),
            others.concat()
        )
    }

    /// `law.visa 0.667, code 0.333`: what the question is of.
    pub fn domains_told(&self) -> String {
        let domains = self.shares.iter();
        let domains = domains.map(|one| format!("{} {}", one.domain, thousandths(one.share)));
        domains.collect::<Vec<_>>().join(", ")
    }
}

/// `0.650` of 650.
pub fn thousandths(value: u64) -> String {
    format!("{}.{:03}", value / 1000, value % 1000)
}

/// The shares of the domains in a question; all of it is of `named`, where somebody says so.
pub fn shares_of(
    store: &ReadStore,
    all: &Specialists,
    (question, named): (&str, Option<&str>),
) -> Result<Vec<DomainShare>, OpenHomeError> {
    if let Some(named) = named {
        if named == GENERAL {
            return Ok(whole(GENERAL));
        }
        let found = domain::find(all, named).map_err(OpenHomeError::Refused)?;
        return Ok(whole(&domain::called(&found)));
    }
    let open = all
        .domains
        .values()
        .filter(|one| !one.is_retired && one.name.is_some());
    let open: Vec<_> = open.collect();
    let words: Vec<String> = open.iter().map(|one| one.words.join(" ")).collect();
    let mut texts = vec![question];
    texts.extend(words.iter().map(String::as_str));
    let mut stems = store.stems(&texts)?.into_iter();
    let asked = stems.next().unwrap_or_default();
    let domains = open.iter().zip(stems).map(|(one, stems)| DomainStems {
        domain: domain::called(one),
        stems,
    });
    Ok(shares(&asked, &domains.collect::<Vec<_>>()))
}

/// Chooses who answers a question.
pub fn choose(
    store: &ReadStore,
    wish: &SpecialistWish,
    question: (&str, Option<&str>),
) -> Result<ChosenSpecialist, OpenHomeError> {
    let all = match wish {
        SpecialistWish::Named(typed) => ranked(store, Some(std::slice::from_ref(typed)), question)?,
        SpecialistWish::Best(among) => of_council(store, among.as_deref(), question)?,
    };
    all.into_iter().next().ok_or_else(nobody)
}

/// The members of a council, of whom most is expected first; with names, those alone, each named once.
pub fn of_council(
    store: &ReadStore,
    named: Option<&[String]>,
    question: (&str, Option<&str>),
) -> Result<Vec<ChosenSpecialist>, OpenHomeError> {
    if let Some([only]) = named {
        return Err(OpenHomeError::Refused(format!(
            "a council has two members or more, and {only} is one: --specialist {only} asks it alone"
        )));
    }
    let members = ranked(store, named, question)?;
    let distinct: BTreeSet<_> = members.iter().map(|one| one.id).collect();
    if distinct.len() < named.map_or(0, <[String]>::len) {
        return Err(OpenHomeError::Refused(
            "one specialist is named twice in this council: name each once".to_owned(),
        ));
    }
    Ok(members)
}

/// All that could be chosen where nobody is named.
fn choosable(all: &Specialists) -> impl Iterator<Item = &Specialist> {
    let named = |one: &&Specialist| !one.is_retired && one.name.is_some();
    all.specialists.values().filter(named)
}

/// Whether there is somebody to choose.
pub fn is_anybody(store: &ReadStore) -> Result<bool, OpenHomeError> {
    Ok(choosable(&on_record(store)?).next().is_some())
}

/// That there is nobody to choose.
pub fn nobody() -> OpenHomeError {
    OpenHomeError::Refused(
        "no specialist is on record that could be chosen: gently specialist add NAME --model MODEL"
            .to_owned(),
    )
}

/// All that could answer a question, of whom most is expected first; with names, those alone.
pub fn ranked(
    store: &ReadStore,
    named: Option<&[String]>,
    (question, domain): (&str, Option<&str>),
) -> Result<Vec<ChosenSpecialist>, OpenHomeError> {
    let all = on_record(store)?;
    let asked: Vec<Specialist> = match named {
        Some(names) => names
            .iter()
            .map(|typed| find(&all, typed).map_err(OpenHomeError::Refused))
            .collect::<Result<_, _>>()?,
        None => choosable(&all).cloned().collect(),
    };
    let shares = shares_of(store, &all, (question, domain))?;
    let bidders = asked.iter().map(|one| -> Result<Bidder, StoreError> {
        let model = one.model.as_deref().unwrap_or_default();
        Ok(Bidder {
            specialist: one.id,
            counts: store.rating_counts(one.id, model)?,
        })
    });
    let bidders: Vec<Bidder> = bidders.collect::<Result<_, _>>()?;
    let bids = bids(&shares, &bidders);
    let of = |bid: &Bid| asked.iter().find(|one| one.id == bid.specialist);
    let name = |bid: &Bid| of(bid).map(called).unwrap_or_default();
    let named_bids: Vec<(String, Bid)> = bids.iter().map(|bid| (name(bid), bid.clone())).collect();
    let chosen = bids.iter().filter_map(of).map(|one| {
        let model = one.model.clone().ok_or_else(|| {
            let why = format!("{} is bound to no model any more", called(one));
            OpenHomeError::Refused(why)
        })?;
        Ok(ChosenSpecialist {
            id: one.id,
            name: called(one),
            alignment: alignment(&shares, &all.domain_names(one)),
            model,
            system: one.system.clone(),
            window: one.window,
            bids: named_bids.clone(),
            method: match domain {
                Some(_) => BY_NAME,
                None => BY_WORDS,
            },
            shares: shares.clone(),
        })
    });
    chosen.collect()
}
