//! Consent to hand texts on in traces: who gave it, for what, how far it goes, and until when.
//!
//! | kind | id | content |
//! |---|---|---|
//! | `consent` | `consent:000001` | `at`, `by` (hash of the auth key), `level` (always `full_traces`), `past`, `purpose` (null where texts are not kept), `scope` (`all`, `thread:UUID`, `exchange:UUID`), `until` (a time, or null) |
//! | `consent_withdrawn` | the same | `at`, `by` |
//!
//! A consent is of the auth key that gave it, and covers what was asked with that key: from its own
//! line on, or with `past` what was asked before, too. What is withdrawn, over or erased covers
//! nothing. All of it follows from these artifacts by [`Consents::take`]; no table holds it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use uuid::Uuid;

use super::item::content;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::record::trace::level::TraceLevel;

/// The kind of the artifact that gives a consent, and what stands before its number.
pub const CONSENT: &str = "consent";
/// The kind of the artifact that takes it back.
pub const CONSENT_WITHDRAWN: &str = "consent_withdrawn";
/// Characters of a purpose.
pub const PURPOSE_MOST: usize = 500;

/// What a consent is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentScope {
    /// Everything that is asked with the key.
    All,
    /// One conversation.
    Thread(Uuid),
    /// One question and its answer.
    Exchange(Uuid),
}

impl fmt::Display for ConsentScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConsentScope::All => f.write_str("all"),
            ConsentScope::Thread(id) => write!(f, "thread:{id}"),
            ConsentScope::Exchange(id) => write!(f, "exchange:{id}"),
        }
    }
}

/// A text that is no scope of a consent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no scope of a consent: all, thread:UUID or exchange:UUID")]
pub struct NoSuchScope(String);

impl FromStr for ConsentScope {
    type Err = NoSuchScope;

    fn from_str(text: &str) -> Result<ConsentScope, NoSuchScope> {
        let none = || NoSuchScope(text.to_owned());
        let scope = match text.split_once(':') {
            None if text == "all" => ConsentScope::All,
            Some(("thread", id)) => ConsentScope::Thread(id.parse().map_err(|_| none())?),
            Some(("exchange", id)) => ConsentScope::Exchange(id.parse().map_err(|_| none())?),
            _ => return Err(none()),
        };
        // One spelling of an id, and no other.
        match scope.to_string() == text {
            true => Ok(scope),
            false => Err(none()),
        }
    }
}

/// What a consent says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentTerms {
    /// When it was given.
    pub at: Seconds,
    /// Hash of the auth key that gave it.
    pub by: Hash32,
    /// How much a trace may tell under it.
    pub level: TraceLevel,
    /// Whether what was asked before is covered, too.
    pub past: bool,
    /// For what; none where texts are not kept.
    pub purpose: Option<String>,
    /// What it is to.
    pub scope: ConsentScope,
    /// When it is over.
    pub until: Option<Seconds>,
}

impl ConsentTerms {
    /// Reads the content of its artifact; none for one that says something else.
    fn read(content: &Value) -> Option<ConsentTerms> {
        let text = |key: &str| content[key].as_str();
        Some(ConsentTerms {
            at: text("at")?.parse().ok()?,
            by: text("by")?.parse().ok()?,
            level: TraceLevel::named(text("level")?)?,
            past: content["past"].as_bool()?,
            purpose: text("purpose").map(str::to_owned),
            scope: text("scope")?.parse().ok()?,
            until: match &content["until"] {
                Value::Null => None,
                until => Some(until.as_str()?.parse().ok()?),
            },
        })
    }
}

/// Where a consent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentState {
    /// It counts.
    InForce,
    /// It was taken back.
    Withdrawn,
    /// Its time is over.
    Over,
    /// What it said is erased, so that nobody knows what it would cover.
    Erased,
}

/// A consent as it is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Such as `consent:000001`.
    pub id: String,
    /// Number of its line, from 0.
    pub line: u64,
    /// What it says; none once erased.
    pub terms: Option<ConsentTerms>,
    /// What took it back.
    pub withdrawn: Option<ConsentWithdrawal>,
}

/// What took a consent back, as it is on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsentWithdrawal {
    /// Number of its line, from 0.
    pub line: u64,
    /// When; none once that is erased.
    pub at: Option<Seconds>,
}

/// What a consent has to cover.
#[derive(Clone, Copy, Debug)]
pub struct ConsentNeed {
    /// Id of the exchange whose texts are shown.
    pub exchange: Uuid,
    /// Its thread; exchanges from before threads have none.
    pub thread: Option<Uuid>,
    /// Hash of the auth key that asked.
    pub asked_by: Hash32,
    /// Number of the prompt's line, from 0.
    pub prompt_line: u64,
    /// How much is shown.
    pub level: TraceLevel,
}

/// Why a consent does not cover an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentGap {
    /// It is not in force.
    State(ConsentState),
    /// It is of another auth key.
    Key,
    /// It is to something else.
    Scope,
    /// The question was asked before it was given.
    Before,
    /// It is to less than is shown.
    Level,
}

impl ConsentGap {
    /// How little is missing: of several consents the one with the largest is worth naming.
    const fn nearness(self) -> u8 {
        match self {
            ConsentGap::Before => 6,
            ConsentGap::Level => 5,
            ConsentGap::State(ConsentState::Over) => 4,
            ConsentGap::State(ConsentState::Withdrawn) => 3,
            ConsentGap::Scope => 2,
            ConsentGap::Key => 1,
            ConsentGap::State(_) => 0,
        }
    }
}

impl Consent {
    /// Where it stands at a time.
    pub fn state(&self, now: Seconds) -> ConsentState {
        match &self.terms {
            _ if self.withdrawn.is_some() => ConsentState::Withdrawn,
            None => ConsentState::Erased,
            Some(terms) if terms.until.is_some_and(|until| until < now) => ConsentState::Over,
            Some(_) => ConsentState::InForce,
        }
    }

    /// Whether it covers an exchange at a time.
    ///
    /// # Errors
    /// Why it does not.
    pub fn covers(&self, need: ConsentNeed, now: Seconds) -> Result<(), ConsentGap> {
        let state = self.state(now);
        let terms = self.terms.as_ref().ok_or(ConsentGap::State(state))?;
        let is_in_scope = match terms.scope {
            ConsentScope::All => true,
            ConsentScope::Thread(id) => need.thread == Some(id),
            ConsentScope::Exchange(id) => need.exchange == id,
        };
        for (holds, gap) in [
            (terms.by == need.asked_by, ConsentGap::Key),
            (is_in_scope, ConsentGap::Scope),
            (state == ConsentState::InForce, ConsentGap::State(state)),
            (
                terms.past || self.line < need.prompt_line,
                ConsentGap::Before,
            ),
            (need.level <= terms.level, ConsentGap::Level),
        ] {
            if !holds {
                return Err(gap);
            }
        }
        Ok(())
    }
}

/// The consents that artifacts give, in the order of their lines.
#[derive(Clone, Debug, Default)]
pub struct Consents(BTreeMap<String, Consent>);

impl Consents {
    /// Takes the next artifact, other ones among them; `document` is its canonical JSON, none once
    /// erased.
    pub fn take(&mut self, line: u64, kind: &str, id: &str, document: Option<&str>) {
        if kind == CONSENT {
            let content = content(document);
            let terms = content.as_ref().and_then(ConsentTerms::read);
            self.0.entry(id.to_owned()).or_insert_with(|| Consent {
                id: id.to_owned(),
                line,
                terms,
                withdrawn: None,
            });
        }
        // What was taken back stays so, also where the words of that are erased.
        if kind == CONSENT_WITHDRAWN
            && let Some(consent) = self.0.get_mut(id)
        {
            let at = content(document).and_then(|content| content["at"].as_str()?.parse().ok());
            let withdrawal = ConsentWithdrawal { line, at };
            consent.withdrawn = consent.withdrawn.or(Some(withdrawal));
        }
    }

    /// The one of an id.
    pub fn get(&self, id: &str) -> Option<&Consent> {
        self.0.get(id)
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Consent> {
        let mut all: Vec<&Consent> = self.0.values().collect();
        all.sort_by_key(|consent| consent.line);
        all.into_iter()
    }

    /// The newest that covers an exchange at a time.
    ///
    /// # Errors
    /// Of each why it does not, the nearest first, and of those the newest.
    pub fn covering(
        &self,
        need: ConsentNeed,
        now: Seconds,
    ) -> Result<&Consent, Vec<(&Consent, ConsentGap)>> {
        let mut gaps = Vec::new();
        let newest_first: Vec<&Consent> = self.iter().collect();
        for consent in newest_first.into_iter().rev() {
            match consent.covers(need, now) {
                Ok(()) => return Ok(consent),
                Err(gap) => gaps.push((consent, gap)),
            }
        }
        gaps.sort_by_key(|(_, gap)| std::cmp::Reverse(gap.nearness()));
        Err(gaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: Uuid = Uuid::from_u128(7);
    const EXCHANGE: Uuid = Uuid::from_u128(8);

    fn at(text: &str) -> Seconds {
        text.parse().unwrap()
    }

    fn need() -> ConsentNeed {
        ConsentNeed {
            exchange: EXCHANGE,
            thread: Some(THREAD),
            asked_by: Hash32::GENESIS,
            prompt_line: 12,
            level: TraceLevel::FullTraces,
        }
    }

    fn document(change: &[(&str, Value)]) -> String {
        let mut content = serde_json::json!({
            "at": "2026-01-08T00:00:00Z",
            "by": Hash32::GENESIS.to_string(),
            "level": "full_traces",
            "past": false,
            "purpose": "a study",
            "scope": "all",
            "until": null,
        });
        for (key, value) in change {
            content[*key] = value.clone();
        }
        serde_json::json!({ "content": content }).to_string()
    }

    fn given(line: u64, document: Option<&str>) -> Consents {
        let mut consents = Consents::default();
        consents.take(line, CONSENT, "consent:000001", document);
        consents
    }

    #[test]
    fn a_consent_covers_what_it_says_and_nothing_else() {
        let thread = || Value::from(format!("thread:{THREAD}"));
        let exchange = || Value::from(format!("exchange:{EXCHANGE}"));
        let other = || Value::from(format!("exchange:{THREAD}"));
        let now = at("2026-02-01T00:00:00Z");
        for (line, change, expected) in [
            (10, vec![], Ok(())),
            (14, vec![], Err(ConsentGap::Before)),
            (14, vec![("past", Value::from(true))], Ok(())),
            (10, vec![("scope", thread())], Ok(())),
            (10, vec![("scope", exchange())], Ok(())),
            (10, vec![("scope", other())], Err(ConsentGap::Scope)),
            (
                10,
                vec![("by", Value::from(Hash32::digest(b"x").to_string()))],
                Err(ConsentGap::Key),
            ),
            (
                10,
                vec![("level", Value::from("detailed"))],
                Err(ConsentGap::Level),
            ),
            (
                10,
                vec![("until", Value::from("2026-02-01T00:00:00Z"))],
                Ok(()),
            ),
            (
                10,
                vec![("until", Value::from("2026-01-31T23:59:59Z"))],
                Err(ConsentGap::State(ConsentState::Over)),
            ),
            // What says something that nobody wrote so covers nothing.
            (
                10,
                vec![("until", Value::from(7))],
                Err(ConsentGap::State(ConsentState::Erased)),
            ),
            (
                10,
                vec![("scope", Value::from("thread:x"))],
                Err(ConsentGap::State(ConsentState::Erased)),
            ),
        ] {
            let consents = given(line, Some(&document(&change)));
            let consent = consents.get("consent:000001").unwrap();
            assert_eq!(consent.covers(need(), now), expected, "{change:?}");
            let found = consents.covering(need(), now);
            assert_eq!(found.is_ok(), expected.is_ok());
        }
    }

    #[test]
    fn what_is_withdrawn_or_erased_is_not_in_force() {
        let now = at("2026-02-01T00:00:00Z");
        let mut consents = given(10, Some(&document(&[])));
        consents.take(11, CONSENT_WITHDRAWN, "consent:000002", None);
        assert_eq!(
            consents.iter().next().unwrap().state(now),
            ConsentState::InForce
        );
        consents.take(12, CONSENT_WITHDRAWN, "consent:000001", None);
        consents.take(13, CONSENT_WITHDRAWN, "consent:000001", None);
        let consent = consents.get("consent:000001").unwrap();
        assert_eq!(consent.state(now), ConsentState::Withdrawn);
        let withdrawn = ConsentWithdrawal { line: 12, at: None };
        assert_eq!(consent.withdrawn, Some(withdrawn));
        let erased = given(10, None);
        assert_eq!(
            erased.iter().next().unwrap().state(now),
            ConsentState::Erased
        );
        // The newest that covers is the one; of the others each has its reason.
        let mut consents = given(10, Some(&document(&[])));
        consents.take(11, CONSENT, "consent:000002", Some(&document(&[])));
        assert_eq!(consents.covering(need(), now).unwrap().id, "consent:000002");
        consents.take(20, CONSENT_WITHDRAWN, "consent:000002", None);
        assert_eq!(consents.covering(need(), now).unwrap().id, "consent:000001");
        consents.take(21, CONSENT_WITHDRAWN, "consent:000001", None);
        let gaps = consents.covering(need(), now).unwrap_err();
        let withdrawn = ConsentGap::State(ConsentState::Withdrawn);
        assert_eq!(gaps.len(), 2);
        assert!(gaps.iter().all(|(_, gap)| *gap == withdrawn));
    }

    #[test]
    fn a_scope_has_one_spelling() {
        for scope in [
            ConsentScope::All,
            ConsentScope::Thread(THREAD),
            ConsentScope::Exchange(EXCHANGE),
        ] {
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        for wrong in [
            "",
            "ALL",
            "all:",
            "thread:",
            "thread:00000000000000000000000000000007",
            "session:00000000-0000-0000-0000-000000000007",
        ] {
            assert!(wrong.parse::<ConsentScope>().is_err(), "{wrong}");
        }
    }
}
