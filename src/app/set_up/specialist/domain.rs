//! Domains: fields of questions, known by words.

use std::collections::BTreeSet;

use super::{must_keep_text, on_record, put};
use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::remember::correction::DomainName;
use crate::app::words::nearest;
use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::ledger::correction::DecayClass;
use crate::record::ledger::short_name::record_name;
use crate::record::ledger::specialist::{
    DOMAIN, DOMAIN_CHANGED, DOMAIN_RETIRED, Domain, GENERAL, Specialists,
};
use crate::record::unseen::{is_plain_name, spelled_on_a_line};
use crate::recorder::{ArtifactField, ArtifactId};

/// So many words a domain may have.
const MAX_WORDS: usize = 200;
/// Longest of them, in bytes.
const MAX_WORD: usize = 60;

/// What is said of a domain.
#[derive(Clone, Debug, Default)]
pub struct DomainInput {
    /// Its words, as they were typed: between commas.
    pub words: Option<String>,
    /// How fast its corrections fade.
    pub decay: Option<DecayClass>,
}

/// The words of a list between commas, each once and in its order.
fn words_of(typed: &str) -> Result<Vec<String>, String> {
    let mut known = BTreeSet::new();
    let words = typed
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words
        .filter(|word| known.insert(word.to_lowercase()))
        .map(str::to_owned)
        .collect();
    if words.is_empty() {
        return Err("a domain is known by its words: one at least, between commas".to_owned());
    }
    if words.len() > MAX_WORDS {
        return Err(format!(
            "{} words, at most {MAX_WORDS} are a domain's",
            words.len()
        ));
    }
    let is_word = |word: &&String| word.len() <= MAX_WORD && is_plain_name(word);
    match words.iter().find(|word| !is_word(word)) {
        None => Ok(words),
        Some(other) => Err(format!(
            "'{}' is no word: at most {MAX_WORD} bytes, without characters that nobody sees",
            spelled_on_a_line(other)
        )),
    }
}

/// The domain that a text means, among those that are not over: its name or its id.
pub fn find(all: &Specialists, typed: &str) -> Result<Domain, String> {
    let id = record_name(typed);
    let found = all.domains.values().find(|one| {
        let is_named = one.name.as_deref() == Some(typed) && !one.is_retired;
        is_named || Some(&one.id) == id.as_ref()
    });
    let mut ended = all.domains.values().filter(|one| one.is_retired);
    match found {
        Some(one) if one.is_retired => Err(format!("the domain {} is retired", called(one))),
        Some(one) => Ok(one.clone()),
        None if ended.any(|one| one.name.as_deref() == Some(typed)) => Err(format!(
            "the domain {typed} is retired: gently domain list --all shows it"
        )),
        None => {
            let open = all.domains.values().filter(|one| !one.is_retired);
            let names: Vec<String> = open.map(called).collect();
            let near = nearest(typed, names.iter().map(String::as_str));
            let typed = spelled_on_a_line(typed);
            let instead = match (near, names.is_empty()) {
                (Some(near), _) => format!("did you mean {near}?"),
                (None, true) => "gently domain add NAME --words WORDS makes one".to_owned(),
                (None, false) => format!("there are {}", names.join(", ")),
            };
            Err(format!("no domain '{typed}' is on record; {instead}"))
        }
    }
}

/// How people call a domain.
pub fn called(domain: &Domain) -> String {
    domain.name.clone().unwrap_or_else(|| domain.id.clone())
}

fn fields(
    by: Hash32,
    name: &str,
    (words, decay): (&[String], Option<DecayClass>),
) -> Vec<(&'static str, ArtifactField)> {
    let words = words
        .iter()
        .map(|word| ArtifactField::Text(redact(word).clean));
    vec![
        ("by", ArtifactField::Hash(by)),
        (
            "decay",
            decay.map_or(ArtifactField::Null, |class| {
                ArtifactField::Word(class.name().to_owned())
            }),
        ),
        ("name", ArtifactField::Text(redact(name).clean)),
        ("words", ArtifactField::List(words.collect())),
    ]
}

/// Makes a domain.
pub async fn add(
    opened: &OpenHome,
    name: &DomainName,
    input: &DomainInput,
) -> Result<Domain, OpenHomeError> {
    must_keep_text(opened, "a domain")?;
    let words = words_of(input.words.as_deref().unwrap_or_default());
    let words = words.map_err(OpenHomeError::Refused)?;
    let key = opened.authorize().await?;
    let all = on_record(&opened.store)?;
    let is_taken = name.as_str() == GENERAL || find(&all, name.as_str()).is_ok();
    if is_taken {
        let why = match name.as_str() {
            GENERAL => format!("{GENERAL} is what is in no domain"),
            name => {
                format!("there is a domain {name}: gently domain change {name} --words \"…, …\"")
            }
        };
        return Err(OpenHomeError::Refused(why));
    }
    let content = fields(key, name.as_str(), (&words, input.decay));
    let next = ArtifactId::Next { prefix: DOMAIN };
    let recorded = put(opened, (DOMAIN, next), content, &all).await?;
    known(opened, &recorded.document.id)
}

/// Gives a domain other words, or another decay.
pub async fn change(
    opened: &OpenHome,
    typed: &str,
    input: &DomainInput,
) -> Result<Domain, OpenHomeError> {
    must_keep_text(opened, "a domain")?;
    let key = opened.authorize().await?;
    let all = on_record(&opened.store)?;
    let found = find(&all, typed).map_err(OpenHomeError::Refused)?;
    let words = match &input.words {
        Some(typed) => words_of(typed).map_err(OpenHomeError::Refused)?,
        None => found.words.clone(),
    };
    let decay = input.decay.or(found.decay);
    let content = fields(key, &called(&found), (&words, decay));
    let id = ArtifactId::Of(found.id.clone());
    put(opened, (DOMAIN_CHANGED, id), content, &all).await?;
    known(opened, &found.id)
}

/// Ends a domain: no question is of it any more.
pub async fn retire(opened: &OpenHome, typed: &str) -> Result<Domain, OpenHomeError> {
    let key = opened.authorize().await?;
    let all = on_record(&opened.store)?;
    let found = find(&all, typed).map_err(OpenHomeError::Refused)?;
    let content = vec![("by", ArtifactField::Hash(key))];
    let id = ArtifactId::Of(found.id.clone());
    put(opened, (DOMAIN_RETIRED, id), content, &all).await?;
    known(opened, &found.id)
}

fn known(opened: &OpenHome, id: &str) -> Result<Domain, OpenHomeError> {
    let all = on_record(&opened.store)?;
    let found = all.domains.get(id).cloned();
    found.ok_or_else(|| {
        OpenHomeError::Refused(format!(
            "{id} is on record by its commitment only: its text was not kept"
        ))
    })
}

/// The domains of a home, oldest first; with those that are over, if all are asked for.
pub fn list(home: &Home, with_retired: bool) -> Result<Vec<Domain>, OpenHomeError> {
    let all = on_record(&*open::store(home)?)?.domains.into_values();
    Ok(all.filter(|one| with_retired || !one.is_retired).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_between_commas() {
        assert_eq!(
            words_of(" visa, Asylum ,, VISA"),
            Ok(vec!["visa".to_owned(), "Asylum".to_owned()])
        );
        for wrong in ["", " , ", "a\u{200b}b", &"x".repeat(61)] {
            assert!(words_of(wrong).is_err(), "{wrong}");
        }
        let many: Vec<String> = (0..201).map(|n| format!("w{n}")).collect();
        assert!(words_of(&many.join(",")).is_err());
    }
}
