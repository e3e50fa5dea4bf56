//! Domains, the specialists that answer in them, which model each is bound to, and what people said of
//! their answers.
//!
//! | kind | id | content, beside `by` (hash of the auth key) |
//! |---|---|---|
//! | `domain`, `domain_changed` | `domain:000001` | `decay` (or null), `name`, `words` |
//! | `domain_retired` | the same | |
//! | `specialist` | `specialist:000001` | `domains` (ids), `model`, `name`, `system` (or null), `window` (tokens, or null) |
//! | `specialist_changed` | the same | as `specialist`, without `model` |
//! | `specialist_retired` | the same | |
//! | `promotion` | `promotion:000001` | `event` (`promote`, `rollback`), `from_model`, `metadata` (or null), `reverts` (a promotion, or null), `specialist`, `to_model` |
//! | `rating` | `rating:000001` | `domain`, `exchange`, `model`, `specialist` (or null), `verdict` (`good`, `bad`), `why` (or null) |
//!
//! Names are not public, ids are: so ids are numbers. All of it follows from these artifacts by
//! [`Specialists::take`] and [`rating_of`].

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use uuid::Uuid;

use super::correction::DecayClass;
use super::item::{NoSuchWord, content};
use crate::record::hash::Hash32;

/// The kind of the artifact that makes a domain, and what stands before its number.
pub const DOMAIN: &str = "domain";
/// The kind of the artifact that gives it another name, other words or another decay.
pub const DOMAIN_CHANGED: &str = "domain_changed";
/// The kind of the artifact that ends it.
pub const DOMAIN_RETIRED: &str = "domain_retired";
/// The kind of the artifact that makes a specialist, and what stands before its number.
pub const SPECIALIST: &str = "specialist";
/// The kind of the artifact that changes all of it but its model.
pub const SPECIALIST_CHANGED: &str = "specialist_changed";
/// The kind of the artifact that ends it.
pub const SPECIALIST_RETIRED: &str = "specialist_retired";
/// The kind of the artifact that binds a specialist to another model, and what stands before its number.
pub const PROMOTION: &str = "promotion";
/// The kind of the artifact that says whether an answer was good, and what stands before its number.
pub const RATING: &str = "rating";
/// The kinds from which domains and specialists follow.
pub const KINDS: [&str; 7] = [
    DOMAIN,
    DOMAIN_CHANGED,
    DOMAIN_RETIRED,
    SPECIALIST,
    SPECIALIST_CHANGED,
    SPECIALIST_RETIRED,
    PROMOTION,
];
/// The domain of what is in none.
pub const GENERAL: &str = "general";

/// Number of a specialist: `specialist:000001` is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecialistId(pub u64);

impl fmt::Display for SpecialistId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SPECIALIST}:{:06}", self.0)
    }
}

impl Serialize for SpecialistId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SpecialistId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SpecialistId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl FromStr for SpecialistId {
    type Err = NoSuchWord;

    fn from_str(text: &str) -> Result<SpecialistId, NoSuchWord> {
        let number = text
            .strip_prefix(SPECIALIST)
            .and_then(|rest| rest.strip_prefix(':'))
            .and_then(|digits| digits.parse().ok())
            .map(SpecialistId);
        number
            .filter(|id| id.to_string() == text)
            .ok_or_else(|| NoSuchWord(text.to_owned()))
    }
}

/// A specialist that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedSpecialist {
    /// Its number.
    pub id: SpecialistId,
    /// How much of the question is of its domains, in thousandths.
    pub alignment: u16,
    /// What is expected of it in the likeliest domain of the question, in thousandths.
    pub utility: u16,
}

/// What a promotion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromotionEvent {
    /// Binds to another model.
    Promote,
    /// Undoes a promotion.
    Rollback,
}

impl PromotionEvent {
    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            PromotionEvent::Promote => "promote",
            PromotionEvent::Rollback => "rollback",
        }
    }
}

/// What a person said of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatingVerdict {
    /// It was good.
    Good,
    /// It was not.
    Bad,
}

impl RatingVerdict {
    /// All of them.
    pub const ALL: [RatingVerdict; 2] = [RatingVerdict::Good, RatingVerdict::Bad];

    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            RatingVerdict::Good => "good",
            RatingVerdict::Bad => "bad",
        }
    }
}

impl FromStr for RatingVerdict {
    type Err = NoSuchWord;

    fn from_str(text: &str) -> Result<RatingVerdict, NoSuchWord> {
        RatingVerdict::ALL
            .into_iter()
            .find(|verdict| verdict.name() == text)
            .ok_or_else(|| NoSuchWord(text.to_owned()))
    }
}

/// A field of questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its id, such as `domain:000001`.
    pub id: String,
    /// Line of the artifact that made it.
    pub line: u64,
    /// Its name, such as `law.immigration`; none where it is erased, or was not kept.
    pub name: Option<String>,
    /// The words by which a question is known to be of it, as they were given.
    pub words: Vec<String>,
    /// How fast its corrections fade, where it says so.
    pub decay: Option<DecayClass>,
    /// Whether it is over.
    pub is_retired: bool,
}

/// Somebody who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specialist {
    /// Its number.
    pub id: SpecialistId,
    /// Line of the artifact that made it.
    pub line: u64,
    /// Its name, such as `swe`; none where it is erased, or was not kept.
    pub name: Option<String>,
    /// Ids of the domains that it answers in.
    pub domains: Vec<String>,
    /// The model that it is bound to; none where that is erased, or was not kept.
    pub model: Option<String>,
    /// Tokens of its model's window, where somebody said it.
    pub window: Option<u64>,
    /// Its part of the system message.
    pub system: Option<String>,
    /// Whether it is over.
    pub is_retired: bool,
}

/// One change of what a specialist is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// Its id, such as `promotion:000001`.
    pub id: String,
    /// Line of its artifact.
    pub line: u64,
    /// Whose binding it changes.
    pub specialist: SpecialistId,
    /// What it does.
    pub event: PromotionEvent,
    /// What the specialist was bound to.
    pub from_model: String,
    /// What it is bound to from then on.
    pub to_model: String,
    /// The promotion that undid it.
    pub reverted_by: Option<String>,
}

/// All domains, specialists and promotions that artifacts give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specialists {
    /// By id.
    pub domains: BTreeMap<String, Domain>,
    /// By id.
    pub specialists: BTreeMap<SpecialistId, Specialist>,
    /// In the order of their lines.
    pub promotions: Vec<Promotion>,
}

fn text(content: Option<&Value>, key: &str) -> Option<String> {
    content?.get(key)?.as_str().map(str::to_owned)
}

fn texts(content: Option<&Value>, key: &str) -> Vec<String> {
    let list = content
        .and_then(|content| content.get(key))
        .and_then(Value::as_array);
    let words = list.into_iter().flatten().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

impl Specialists {
    /// Takes the next artifact; `document` is its canonical JSON, none once erased.
    pub fn take(&mut self, line: u64, kind: &str, id: &str, document: Option<&str>) {
        let content = content(document);
        let content = content.as_ref();
        match kind {
            DOMAIN | DOMAIN_CHANGED => self.take_domain((line, kind, id), content),
            DOMAIN_RETIRED => {
                if let Some(domain) = self.domains.get_mut(id) {
                    domain.is_retired = true;
                }
            }
            SPECIALIST | SPECIALIST_CHANGED => {
                if let Ok(number) = id.parse() {
                    self.take_specialist((line, kind, number), content);
                }
            }
            SPECIALIST_RETIRED => {
                let known = id.parse().ok();
                let known = known.and_then(|id: SpecialistId| self.specialists.get_mut(&id));
                if let Some(specialist) = known {
                    specialist.is_retired = true;
                }
            }
            PROMOTION => self.take_promotion((line, id), content),
            _ => {}
        }
    }

    fn take_domain(&mut self, (line, kind, id): (u64, &str, &str), content: Option<&Value>) {
        let known = self.domains.get(id);
        // A change of what is not there makes nothing, and nothing is made twice.
        if (kind == DOMAIN) != known.is_none() {
            return;
        }
        let domain = Domain {
            id: id.to_owned(),
            line: known.map_or(line, |known| known.line),
            name: text(content, "name"),
            words: texts(content, "words"),
            decay: text(content, "decay").and_then(|class| class.parse().ok()),
            is_retired: known.is_some_and(|known| known.is_retired),
        };
        self.domains.insert(id.to_owned(), domain);
    }

    fn take_specialist(
        &mut self,
        (line, kind, id): (u64, &str, SpecialistId),
        content: Option<&Value>,
    ) {
        let known = self.specialists.get(&id);
        if (kind == SPECIALIST) != known.is_none() {
            return;
        }
        let window = content
            .and_then(|content| content.get("window"))
            .and_then(Value::as_u64);
        let specialist = Specialist {
            id,
            line: known.map_or(line, |known| known.line),
            name: text(content, "name"),
            domains: texts(content, "domains"),
            model: match known {
                Some(known) => known.model.clone(),
                None => text(content, "model"),
            },
            window,
            system: text(content, "system"),
            is_retired: known.is_some_and(|known| known.is_retired),
        };
        self.specialists.insert(id, specialist);
    }

    fn take_promotion(&mut self, (line, id): (u64, &str), content: Option<&Value>) {
        let specialist = text(content, "specialist").and_then(|id| id.parse().ok());
        let event = match text(content, "event").as_deref() {
            Some("promote") => PromotionEvent::Promote,
            Some("rollback") => PromotionEvent::Rollback,
            _ => return,
        };
        let models = (text(content, "from_model"), text(content, "to_model"));
        let (Some(specialist), (Some(from_model), Some(to_model))) = (specialist, models) else {
            return;
        };
        let Some(bound) = self.specialists.get_mut(&specialist) else {
            return;
        };
        bound.model = Some(to_model.clone());
        if let Some(reverts) = text(content, "reverts") {
            let undone = self.promotions.iter_mut().find(|one| one.id == reverts);
            if let Some(undone) = undone {
                undone.reverted_by = Some(id.to_owned());
            }
        }
        self.promotions.push(Promotion {
            id: id.to_owned(),
            line,
            specialist,
            event,
            from_model,
            to_model,
            reverted_by: None,
        });
    }

    /// The promotion that a rollback of a specialist undoes: the newest that binds it and is not undone.
    pub fn last_promotion(&self, specialist: SpecialistId) -> Option<&Promotion> {
        self.promotions.iter().rev().find(|one| {
            let binds = one.event == PromotionEvent::Promote && one.reverted_by.is_none();
            one.specialist == specialist && binds
        })
    }

    /// The names of a specialist's domains, those that are over among them.
    pub fn domain_names(&self, specialist: &Specialist) -> Vec<String> {
        let known = specialist
            .domains
            .iter()
            .filter_map(|id| self.domains.get(id));
        known.filter_map(|domain| domain.name.clone()).collect()
    }
}

/// What a person said of the answer of an exchange; the newest of a key counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rating {
    /// Line of its artifact.
    pub line: u64,
    /// The exchange.
    pub exchange: Uuid,
    /// Hash of the auth key of whoever said it.
    pub by: Hash32,
    /// The specialist that answered; none where a model was asked by its own name.
    pub specialist: Option<SpecialistId>,
    /// The model that answered.
    pub model: String,
    /// The likeliest domain of the question.
    pub domain: String,
    /// What was said.
    pub verdict: RatingVerdict,
}

/// The rating that an artifact is; none of another kind, and of one that is erased.
pub fn rating_of(line: u64, kind: &str, document: Option<&str>) -> Option<Rating> {
    let content = content(document.filter(|_| kind == RATING))?;
    let text = |key: &str| text(Some(&content), key);
    Some(Rating {
        line,
        exchange: text("exchange")?.parse().ok()?,
        by: text("by")?.parse().ok()?,
        specialist: text("specialist").and_then(|id| id.parse().ok()),
        model: text("model")?,
        domain: text("domain")?,
        verdict: text("verdict")?.parse().ok()?,
    })
}

/// The newest rating of each exchange and auth key.
#[derive(Clone, Debug, Default)]
pub struct Ratings(BTreeMap<(Uuid, Hash32), Rating>);

impl Ratings {
    /// Takes the next artifact; `document` is its canonical JSON, none once erased.
    pub fn take(&mut self, line: u64, kind: &str, document: Option<&str>) {
        if let Some(rating) = rating_of(line, kind, document) {
            self.0.insert((rating.exchange, rating.by), rating);
        }
    }

    /// All of them, by line.
    pub fn into_map(self) -> BTreeMap<u64, Rating> {
        let all = self.0.into_values();
        all.map(|rating| (rating.line, rating)).collect()
    }
}

/// How many answers of somebody were rated in a domain, and how many of them good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RatingCount {
    /// Name of the domain.
    pub domain: String,
    /// How many were good.
    pub good: u64,
    /// How many were rated.
    pub rated: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn after(artifacts: &[(&str, &str, Value)]) -> Specialists {
        let mut all = Specialists::default();
        for (line, (kind, id, content)) in (1..).zip(artifacts) {
            let document = json!({ "content": content }).to_string();
            all.take(line, kind, id, Some(&document));
        }
        all
    }

    fn specialist(model: &str) -> (&'static str, &'static str, Value) {
        let content =
            json!({"name": "swe", "model": model, "domains": ["domain:000001"], "window": 8192});
        (SPECIALIST, "specialist:000001", content)
    }

    fn bound(
        event: &str,
        n: u64,
        (from, to): (&str, &str),
        reverts: Option<&str>,
    ) -> (&'static str, String, Value) {
        let content = json!({"event": event, "from_model": from, "to_model": to, "specialist": "specialist:000001", "reverts": reverts});
        (PROMOTION, format!("promotion:{n:06}"), content)
    }

    #[test]
    fn a_binding_is_what_promotions_and_rollbacks_leave() {
        let promotions = [
            bound("promote", 1, ("a", "b"), None),
            bound("promote", 2, ("b", "c"), None),
            bound("rollback", 3, ("c", "b"), Some("promotion:000002")),
            bound("rollback", 4, ("b", "a"), Some("promotion:000001")),
        ];
        for (count, model, last) in [
            (0, "a", None),
            (1, "b", Some("promotion:000001")),
            (2, "c", Some("promotion:000002")),
            (3, "b", Some("promotion:000001")),
            (4, "a", None),
        ] {
            let mut artifacts = vec![specialist("a")];
            let taken = promotions.iter().take(count);
            artifacts
                .extend(taken.map(|(kind, id, content)| (*kind, id.as_str(), content.clone())));
            let all = after(&artifacts);
            let id = SpecialistId(1);
            assert_eq!(
                all.specialists[&id].model.as_deref(),
                Some(model),
                "{count}"
            );
            assert_eq!(
                all.last_promotion(id).map(|one| one.id.as_str()),
                last,
                "{count}"
            );
        }
    }

    #[test]
    fn changes_keep_the_model_and_an_end_stays() {
        let all = after(&[
            (
                DOMAIN,
                "domain:000001",
                json!({"name": "law", "words": ["visa", "court"], "decay": "B"}),
            ),
            specialist("a"),
            (
                SPECIALIST_CHANGED,
                "specialist:000001",
                json!({"name": "lawyer", "domains": ["domain:000001"]}),
            ),
            (SPECIALIST_RETIRED, "specialist:000001", json!({})),
            (DOMAIN_CHANGED, "domain:000002", json!({"name": "nowhere"})),
            (DOMAIN, "domain:000001", json!({"name": "twice"})),
        ]);
        let lawyer = &all.specialists[&SpecialistId(1)];
        assert_eq!(
            (lawyer.name.as_deref(), lawyer.model.as_deref()),
            (Some("lawyer"), Some("a"))
        );
        assert!(lawyer.is_retired && lawyer.window.is_none());
        assert_eq!(all.domain_names(lawyer), ["law"]);
        assert_eq!(all.domains.len(), 1);
        assert_eq!(all.domains["domain:000001"].decay, Some(DecayClass::B));
    }

    #[test]
    fn a_rating_is_read_whole_or_not_at_all() {
        let content = json!({"by": Hash32::ZERO.to_string(), "domain": "law", "exchange": Uuid::nil().to_string(),
            "model": "m", "specialist": "specialist:000002", "verdict": "good", "why": null});
        let document = json!({ "content": content }).to_string();
        let rating = rating_of(7, RATING, Some(&document)).unwrap();
        assert_eq!(
            (rating.specialist, rating.verdict),
            (Some(SpecialistId(2)), RatingVerdict::Good)
        );
        assert_eq!(rating_of(7, "fact", Some(&document)), None);
        assert_eq!(rating_of(7, RATING, None), None);
        for key in ["by", "domain", "exchange", "model", "verdict"] {
            let mut less = content.clone();
            less[key] = json!(null);
            let document = json!({ "content": less }).to_string();
            assert_eq!(rating_of(7, RATING, Some(&document)), None, "{key}");
        }
        for wrong in [
            "specialist:1",
            "specialist:",
            "specialist:x",
            "domain:000001",
            "specialist:0000001",
        ] {
            assert!(wrong.parse::<SpecialistId>().is_err(), "{wrong}");
        }
    }
}
