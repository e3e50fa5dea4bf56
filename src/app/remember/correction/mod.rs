//! Corrections: what a person says is right in the place of what was said. They go into contexts as
//! facts do, and lose their weight with time (`docs/specialists.md`).

pub mod import;

use std::str::FromStr;

use uuid::Uuid;

use crate::app::find;
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::sentence::FieldSentence;
use crate::app::set_up::specialist::{domain, on_record};
use crate::continuity::words::words;
use crate::govern::sanitize::{Clean, Placeholders, as_seen, redact, redact_with, unnumbered};
use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::ledger::correction::{DecayClass, MANUAL, MEDIUM, RESERVED, correction_text};
use crate::record::ledger::item::{Item, ItemKind, ItemState, content, same_claim};
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::ledger::specialist::{GENERAL, Specialists};
use crate::record::time::Seconds;
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::{
    ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError, always,
};
use crate::store::{ReadStore, SessionRow, StoreError};

use super::items::conflict::on;
use super::items::list::MOST;
use super::items::{ItemInput, ItemOrigin, RedactedItem};
use super::with_placeholders::record_all_with_placeholders;

/// How fast a correction fades that doesn't say it.
pub const DEFAULT_DECAY: DecayClass = DecayClass::C;
/// How sure a person is who doesn't say it, in thousandths.
pub const DEFAULT_CONFIDENCE: u16 = 900;
/// So many that have words of a correction are looked at for one that says the same.
const LOOKED_AT: u32 = 24;
/// Longest name of a domain, in bytes.
const MAX_DOMAIN: usize = 40;

/// A confidence from 0 to 1 with at most three decimals, as it is typed, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thousandths(pub u16);

impl FromStr for Thousandths {
    type Err = String;

    fn from_str(typed: &str) -> Result<Thousandths, String> {
        let wrong = || {
            format!(
                "'{typed}' is no confidence: a number from 0 to 1 with at most three decimals, such as 0.9"
            )
        };
        let (whole, decimals) = typed.split_once('.').unwrap_or((typed, "0"));
        let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let fits = matches!(whole, "0" | "1") && (1..=3).contains(&decimals.len());
        if !fits || !are_digits(decimals) {
            return Err(wrong());
        }
        let milli: u16 = format!("{whole}{decimals:0<3}")
            .parse()
            .map_err(|_| wrong())?;
        (milli <= 1000)
            .then_some(Thousandths(milli))
            .ok_or_else(wrong)
    }
}

/// Name of a domain or a specialist: small letters, digits, `_`, `.`, `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainName(String);

impl FromStr for DomainName {
    type Err = String;

    fn from_str(typed: &str) -> Result<DomainName, String> {
        let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.-".contains(&b);
        let fits = (1..=MAX_DOMAIN).contains(&typed.len()) && typed.bytes().all(is_part);
        if record_name(typed).is_some() || typed == "none" {
            return Err(format!(
                "'{typed}' means something else here: choose another name"
            ));
        }
        // A name stands in lists and charts: it is no place for a secret.
        if fits && redact(typed).found.is_empty() {
            return Ok(DomainName(typed.to_owned()));
        }
        Err(format!(
            "'{}' is no name here: 1 to {MAX_DOMAIN} small letters, digits, '_', '.' and '-', such as law.immigration",
            spelled_on_a_line(typed)
        ))
    }
}

impl DomainName {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A correction as it was typed.
#[derive(Clone, Debug)]
pub struct CorrectionInput {
    /// What is right.
    pub claim: String,
    /// What is wrong; empty where nothing is named.
    pub rejected: String,
    /// The exchange that said it, as it was typed.
    pub about: Option<String>,
    /// What it is about: what else is in force on it and claims another thing is a conflict.
    pub subject: Option<String>,
    /// Its field.
    pub domain: Option<DomainName>,
    /// How sure the person is, in thousandths.
    pub confidence: u16,
    /// How fast that is lost.
    pub decay: Option<DecayClass>,
    /// An item that it takes the place of, as it was typed.
    pub replaces: Option<String>,
    /// When it was observed, as it was typed; now without it.
    pub observed_at: Option<String>,
    /// The tier from which on it may be put before a model.
    pub tier: u8,
}

impl CorrectionInput {
    /// A claim with nothing else.
    pub fn of(claim: &str) -> CorrectionInput {
        CorrectionInput {
            claim: claim.to_owned(),
            rejected: String::new(),
            about: None,
            subject: None,
            domain: None,
            confidence: DEFAULT_CONFIDENCE,
            decay: None,
            replaces: None,
            observed_at: None,
            tier: 1,
        }
    }
}

/// One that was checked, with what its names mean on record.
struct CheckedCorrection {
    item: ItemInput,
    rejected: String,
    about: Option<Uuid>,
    domain: String,
    confidence: u16,
    decay: DecayClass,
    source: &'static str,
    observed_at: Seconds,
}

/// A correction that is on record.
pub struct RecordedCorrection {
    /// What went on record, with its line of the log.
    pub recorded: RecordedArtifact,
    /// The state that it has.
    pub state: ItemState,
    /// What it says, without its secrets.
    pub claim: String,
    /// What it rejects, without its secrets.
    pub rejected: String,
    /// The item that was taken out of force in the same step.
    pub replaced: Option<String>,
    /// How fast it fades.
    pub decay: DecayClass,
    /// What is left of its confidence by now, in thousandths.
    pub left: u16,
    /// What in force on its subject claims another thing, and how that ends.
    pub conflict: Option<String>,
    /// The secrets that were removed, each by its kind.
    pub removed: Vec<String>,
}

impl RecordedCorrection {
    /// The state in a word. What is not kept is in no state.
    pub fn state_name(&self) -> &'static str {
        match self.recorded.is_kept {
            true => self.state.name(),
            false => "not kept",
        }
    }

    /// It as a model is shown it.
    pub fn text(&self) -> String {
        correction_text(&self.claim, &self.rejected)
    }
}

/// Why it is none, before a home is opened for it.
pub fn check(said: &CorrectionInput) -> Result<(), OpenHomeError> {
    item_of(said, MANUAL)
        .map(drop)
        .map_err(OpenHomeError::Wanting)
}

fn item_of(said: &CorrectionInput, source: &str) -> Result<ItemInput, FieldSentence> {
    let item = ItemInput::new(
        ItemKind::Correction,
        &said.claim,
        said.subject.as_deref(),
        ItemOrigin {
            source: source.to_owned(),
            observed_at: said.observed_at.clone(),
            tier: said.tier,
        },
    );
    let rejected = ItemInput::new(
        ItemKind::Correction,
        &said.rejected,
        None,
        ItemOrigin::default(),
    );
    let rejects = !said.rejected.trim().is_empty();
    let fault = item.fault();
    let fault = fault.or_else(|| rejects.then(|| rejected.fault()).flatten());
    let fault = fault.or_else(|| {
        let texts = [&said.claim, &said.rejected];
        texts.into_iter().any(|text| is_reserved(text)).then(|| {
            let why = "in it: it is put before a model as CLAIM (not: REJECTED)";
            FieldSentence::from(format!("a correction can't have '{RESERVED}' {why}"))
        })
    });
    let fault = fault.or_else(|| {
        (!is_balanced(&said.rejected)).then(|| {
            let why = "the parentheses of what it rejects don't match, and it is put before a model between two of them";
            FieldSentence::from(why.to_owned())
        })
    });
    let fault = fault.or_else(|| {
        let same = same_claim(&said.claim, &said.rejected);
        same.then(|| {
            FieldSentence::from(
                "what it rejects is what it claims: say one of them otherwise".to_owned(),
            )
        })
    });
    fault.map_or(Ok(item), Err)
}

/// What a correction is checked beside.
struct CheckPlace<'a> {
    store: &'a ReadStore,
    now: Seconds,
    /// Domains as they were recorded: one may say how fast its corrections fade.
    domains: Specialists,
}

impl<'a> CheckPlace<'a> {
    /// For a correction of a domain; nothing is read for one of none.
    fn of(store: &'a ReadStore, domain: Option<&DomainName>) -> Result<Self, OpenHomeError> {
        Ok(CheckPlace {
            store,
            now: open::clock()?,
            domains: match domain {
                Some(_) => on_record(store)?,
                None => Specialists::default(),
            },
        })
    }
}

/// How fast a correction of a domain fades that doesn't say it.
fn decay_of(all: &Specialists, domain: &str) -> DecayClass {
    let known = domain::find(all, domain).ok();
    known.and_then(|known| known.decay).unwrap_or(DEFAULT_DECAY)
}

/// Whether a text has what stands between a claim and what it rejects, as the eye reads it: `not` behind
/// a bracket or a sign that looks like one, and before a colon or a sign that looks like one.
fn is_reserved(text: &str) -> bool {
    /// Signs that stand beside a word in plain writing.
    const USUAL: &str = "*_\"',.;!?-/|<>=~`+&%$#@\\";
    let is_mark = |c: &char| matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}');
    let seen = as_seen(text).to_lowercase();
    let seen = seen.chars().filter(|c| !c.is_whitespace() && !is_mark(c));
    let seen: Vec<char> = seen.collect();
    let is_sign = |c: &char| !c.is_alphanumeric() && !USUAL.contains(*c);
    seen.windows(5).any(|part| match part {
        [before, 'n', 'o', 't', after] => {
            let opens = is_sign(before) && !matches!(before, ')' | ']' | '}' | ':');
            let ends = is_sign(after) && !matches!(after, '(' | ')' | '[' | ']' | '{' | '}');
            opens && ends
        }
        _ => false,
    })
}

/// Whether each closing parenthesis of a text has its opening one before it: what is rejected stands
/// between two of them.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i64;
    for c in text.chars() {
        depth += i64::from(c == '(') - i64::from(c == ')');
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// The correction in force that says the same, if there is one.
pub fn same_in_force(
    opened: &OpenHome,
    said: &CorrectionInput,
) -> Result<Option<String>, OpenHomeError> {
    let place = CheckPlace::of(&opened.store, said.domain.as_ref())?;
    let now = place.now;
    let checked = CheckedCorrection::of(said, MANUAL, &place)?;
    Ok(checked.same_in_force(&opened.store, now)?)
}

impl CheckedCorrection {
    fn of(
        said: &CorrectionInput,
        source: &'static str,
        place: &CheckPlace<'_>,
    ) -> Result<CheckedCorrection, OpenHomeError> {
        let (store, now) = (place.store, place.now);
        let item = item_of(said, source).map_err(OpenHomeError::Wanting)?;
        let about = said.about.as_deref();
        let about = about
            .map(|typed| find::exchange(store, typed))
            .transpose()?;
        let domain = said.domain.as_ref().map_or(GENERAL, DomainName::as_str);
        Ok(CheckedCorrection {
            observed_at: item.observed_at(now).map_err(OpenHomeError::Wanting)?,
            item,
            rejected: said.rejected.trim().to_owned(),
            about: about.map(|row| row.exchange_id),
            domain: domain.to_owned(),
            confidence: said.confidence,
            decay: match said.decay {
                Some(decay) => decay,
                None => decay_of(&place.domains, domain),
            },
            source,
        })
    }

    /// The correction in force that says the same.
    fn same_in_force(&self, store: &ReadStore, now: Seconds) -> Result<Option<String>, StoreError> {
        let same = self.same(store, now, ItemState::is_in_force)?;
        Ok(same.map(|known| known.id))
    }

    /// The correction in such a state that says the same, among those that its words find. One that has
    /// faded may be said again.
    fn same(
        &self,
        store: &ReadStore,
        now: Seconds,
        is_such: impl Fn(ItemState) -> bool,
    ) -> Result<Option<Item>, StoreError> {
        let (item, rejected) = self.clean(&mut Placeholders::new([0; 32]));
        let text = correction_text(item.text.as_str(), rejected.as_str());
        let text = unnumbered(&text);
        let subject = item.subject.as_ref().map(Clean::as_str);
        let found = store.items_like(&words(&text), LOOKED_AT, LOOKED_AT)?;
        let same = found.into_iter().find(|(known, said, _)| {
            let is_same = unnumbered(said) == text && known.subject.as_deref() == subject;
            let counts = is_such(known.state) && known.confidence_left(now) >= MEDIUM;
            is_same && known.kind == ItemKind::Correction && counts
        });
        Ok(same.map(|(known, ..)| known))
    }

    /// It without its secrets, and the kinds of those.
    fn clean(&self, numbers: &mut Placeholders) -> (RedactedItem, Clean) {
        let mut item = self.item.clean(numbers);
        let rejected = redact_with(&self.rejected, numbers);
        let found = rejected.found.iter();
        item.removed
            .extend(found.map(|finding| finding.kind.to_owned()));
        (item, rejected.clean)
    }

    /// What is committed to.
    fn content(
        &self,
        (item, rejected): (&RedactedItem, &Clean),
        session: Option<&SessionRow>,
        phase: &str,
    ) -> Vec<(&'static str, ArtifactField)> {
        let or_null = |field: Option<ArtifactField>| field.unwrap_or(ArtifactField::Null);
        let word = |text: &str| ArtifactField::Word(text.to_owned());
        vec![
            (
                "about",
                or_null(self.about.map(|id| ArtifactField::Word(id.to_string()))),
            ),
            ("confidence", ArtifactField::Number(self.confidence.into())),
            ("decay", word(self.decay.name())),
            ("domain", word(&self.domain)),
            ("observed_at", ArtifactField::Number(self.observed_at.get())),
            ("phase", word(phase)),
            ("rejected", ArtifactField::Text(rejected.clone())),
            (
                "session",
                or_null(session.map(|session| ArtifactField::Hash(session.id))),
            ),
            ("source", word(self.source)),
            (
                "subject",
                or_null(item.subject.clone().map(ArtifactField::Text)),
            ),
            ("text", ArtifactField::Text(item.text.clone())),
            ("tier", ArtifactField::Number(self.item.tier().into())),
        ]
    }

    fn artifact(
        &self,
        clean: (&RedactedItem, &Clean),
        session: Option<&SessionRow>,
        (phase, now): (&str, Seconds),
    ) -> Result<NewArtifact, OpenHomeError> {
        let prefix = ItemKind::Correction.prefix();
        Ok(NewArtifact {
            kind: ItemKind::Correction.name(),
            id: ArtifactId::Next { prefix },
            content: self.content(clean, session, phase),
            session: session.map(|session| session.id),
            salt: fresh_salt()?,
            now,
        })
    }
}

/// Puts a person's correction on record: it counts at once. What it replaces is taken out of force in
/// the same step.
pub async fn add(
    opened: &OpenHome,
    said: &CorrectionInput,
) -> Result<RecordedCorrection, OpenHomeError> {
    check(said)?;
    let key = opened.authorize().await?;
    let place = CheckPlace::of(&opened.store, said.domain.as_ref())?;
    let now = place.now;
    let checked = CheckedCorrection::of(said, MANUAL, &place)?;
    let replaced = said.replaces.as_deref();
    let replaced = replaced
        .map(|typed| replaceable(&opened.store, typed))
        .transpose()?;
    if let Some(same) = checked.same_in_force(&opened.store, now)? {
        return Err(OpenHomeError::Refused(format!(
            "{} says the same, and is in force",
            short_name(&same)
        )));
    }
    let named = replaced.as_ref().map(|item| item.id.clone());
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        let Some(id) = &named else { return Ok(None) };
        let is_open = store.item(id)?.is_some_and(|item| item.state.is_open());
        let ended = || format!("{} is not in force any more", short_name(id));
        Ok((!is_open).then(ended))
    };
    let phase = opened.kernel.phase();
    let (recorded, clean) =
        record_all_with_placeholders(opened, key, allowed, |numbers, session| {
            let clean = checked.clean(numbers);
            let mut all = vec![checked.artifact((&clean.0, &clean.1), session, (phase, now))?];
            if let Some(item) = &replaced {
                all.push(ending(item, key, session, now)?);
            }
            Ok((all, clean))
        })
        .await?;
    let recorded = recorded.into_iter().next();
    let (item, rejected) = clean;
    Ok(RecordedCorrection {
        recorded: recorded.expect("the correction was given to be recorded"),
        state: ItemState::Declared,
        claim: item.text.as_str().to_owned(),
        rejected: rejected.as_str().to_owned(),
        replaced: replaced.map(|item| item.id),
        conflict: match item.subject.as_ref() {
            Some(subject) => on(&opened.store, subject.as_str())?.map(|one| one.sentence()),
            None => None,
        },
        decay: checked.decay,
        left: checked
            .decay
            .left_of(checked.confidence, now.since(checked.observed_at)),
        removed: item.removed,
    })
}

/// What became of a correction that somebody else than a person proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalEnd {
    /// It is on record, under this id, and counts once a person ratifies it.
    Recorded(String),
    /// Another one says the same.
    Known {
        /// Its id.
        id: String,
        /// Whether it counts; else it waits to be ratified.
        is_in_force: bool,
    },
    /// It can't be one, and why.
    Refused(String),
}

/// Proposes corrections that somebody else than a person found, all in one step; says of each, in
/// their order, what became of it.
pub async fn propose(
    opened: &OpenHome,
    key: Hash32,
    said: &[CorrectionInput],
    source: &'static str,
) -> Result<Vec<ProposalEnd>, OpenHomeError> {
    let (mut waiting, mut ends) = (Vec::new(), Vec::new());
    for one in said {
        let place = CheckPlace::of(&opened.store, one.domain.as_ref())?;
        let checked = CheckedCorrection::of(one, source, &place);
        ends.push(match checked {
            Err(error) => Some(ProposalEnd::Refused(error.to_string())),
            Ok(checked) => match checked.same(&opened.store, place.now, ItemState::is_open)? {
                Some(same) => Some(ProposalEnd::Known {
                    is_in_force: same.state.is_in_force(),
                    id: same.id,
                }),
                None => {
                    waiting.push(checked);
                    None
                }
            },
        });
    }
    if waiting.is_empty() {
        return Ok(ends.into_iter().flatten().collect());
    }
    let (phase, now) = (opened.kernel.phase(), open::clock()?);
    let (recorded, ()) = record_all_with_placeholders(opened, key, always, |numbers, session| {
        let made = waiting.iter().map(|checked| {
            let clean = checked.clean(numbers);
            checked.artifact((&clean.0, &clean.1), session, (phase, now))
        });
        Ok((made.collect::<Result<_, _>>()?, ()))
    })
    .await?;
    // One without an end waited, and all that waited are on record.
    let mut ids = recorded.into_iter().map(|one| one.document.id);
    let ends = ends
        .into_iter()
        .filter_map(|end| end.or_else(|| ids.next().map(ProposalEnd::Recorded)));
    Ok(ends.collect())
}

/// The item that a correction may take the place of, or why it can't.
fn replaceable(store: &ReadStore, typed: &str) -> Result<Item, OpenHomeError> {
    let id = record_name(typed).unwrap_or_else(|| typed.to_owned());
    let refused = |why: String| Err(OpenHomeError::Refused(why));
    match store.item(&id)? {
        None => refused(format!(
            "no fact, note, decision or correction '{typed}' is on record: gently fact list names facts"
        )),
        Some(item) if item.kind == ItemKind::Intent => refused(format!(
            "{} is an intent, and no claim that could be wrong",
            short_name(&id)
        )),
        Some(item) if !item.state.is_open() => refused(format!(
            "{} is {} already: there is nothing to replace",
            short_name(&id),
            item.state
        )),
        Some(item) => Ok(item),
    }
}

/// The artifact that takes an item out of force for a correction.
fn ending(
    item: &Item,
    key: Hash32,
    session: Option<&SessionRow>,
    now: Seconds,
) -> Result<NewArtifact, OpenHomeError> {
    let reason = ArtifactField::Word("replaced by a correction".to_owned());
    Ok(NewArtifact {
        kind: item.kind.ended(),
        id: ArtifactId::Of(item.id.clone()),
        content: vec![("by", ArtifactField::Hash(key)), ("reason", reason)],
        session: session.map(|session| session.id),
        salt: fresh_salt()?,
        now,
    })
}

/// A correction as it stands at a moment.
pub struct Correction {
    /// What follows from its artifacts.
    pub item: Item,
    /// What is right, and what is wrong; none once erased.
    pub texts: Option<(String, String)>,
    /// Short id of the exchange that it is about.
    pub about: Option<String>,
    /// What is left of its confidence, in thousandths.
    pub left: u16,
}

/// Corrections of a home.
pub struct CorrectionList {
    /// Newest last.
    pub corrections: Vec<Correction>,
    /// Whether there are older ones that are not listed.
    pub has_more: bool,
    /// How many are on record by their commitment only.
    pub not_kept: u64,
    /// Ids of those that are not what was recorded.
    pub changed: Vec<String>,
}

/// Corrections that are in force or proposed, or `all` of them.
pub fn list(home: &Home, all: bool) -> Result<CorrectionList, OpenHomeError> {
    let found = super::items::list::list(home, ItemKind::Correction, all)?;
    let (store, now) = (open::store(home)?, open::clock()?);
    let items = found.items.into_iter().map(|(item, _)| item);
    let corrections = items.map(|item| standing(&store, item, now));
    Ok(CorrectionList {
        corrections: corrections.collect::<Result<_, StoreError>>()?,
        has_more: found.has_more,
        not_kept: found.not_kept,
        changed: found.changed,
    })
}

/// So many corrections are listed at most.
pub const MOST_LISTED: u32 = MOST;

/// One correction by its id.
pub fn one(home: &Home, id: &str) -> Result<Correction, OpenHomeError> {
    let (item, _) = super::items::list::one(home, ItemKind::Correction, id)?;
    let store = open::store(home)?;
    Ok(standing(&store, item, open::clock()?)?)
}

fn standing(store: &ReadStore, item: Item, now: Seconds) -> Result<Correction, StoreError> {
    let row = store.artifact_of_line(item.line)?;
    let content = content(row.as_ref().and_then(|row| row.document.as_deref()));
    let text = |key: &str| Some(content.as_ref()?.get(key)?.as_str()?.to_owned());
    let about = text("about").and_then(|id| id.parse().ok());
    let about = match about {
        Some(id) => find::short_id_of(store, id)?,
        None => None,
    };
    Ok(Correction {
        left: item.confidence_left(now),
        texts: text("text").map(|claim| (claim, text("rejected").unwrap_or_default())),
        about,
        item,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_a_number_from_0_to_1() {
        for (typed, milli) in [
            ("0.9", 900),
            ("1", 1000),
            ("1.0", 1000),
            ("0", 0),
            ("0.05", 50),
            ("0.125", 125),
        ] {
            assert_eq!(typed.parse(), Ok(Thousandths(milli)), "{typed}");
        }
        for typed in [
            "1.5", "0,9", "", ".9", "0.", "0.1234", "-0.1", "+1", "1e0", "NaN", "2", "00.5", " 1",
        ] {
            assert!(typed.parse::<Thousandths>().is_err(), "{typed}");
        }
    }

    #[test]
    fn a_domain_has_a_plain_name() {
        for typed in ["law.immigration", "a", "x_1-y"] {
            assert_eq!(typed.parse().as_ref().map(DomainName::as_str), Ok(typed));
        }
        for typed in ["", "Law", "a b", "é", &"a".repeat(41), "a/b"] {
            assert!(typed.parse::<DomainName>().is_err(), "{typed}");
        }
    }

    #[test]
    fn what_is_no_correction() {
        let with = |claim: &str, rejected: &str| {
            let said = CorrectionInput {
                rejected: rejected.to_owned(),
                ..CorrectionInput::of(claim)
            };
            check(&said).map_err(|error| error.to_string())
        };
        assert!(with("Canberra is the capital.", "Sydney is the capital.").is_ok());
        assert!(with("Canberra is the capital.", "").is_ok());
        for (claim, rejected) in [
            ("", "x"),
            ("  ", ""),
            ("a (not: b)", ""),
            ("a", "b (NOT: c"),
            ("The same.", "the  same"),
        ] {
            assert!(with(claim, rejected).is_err(), "{claim} {rejected}");
        }
    }
}
