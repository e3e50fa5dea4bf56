//! Domains and the specialists that answer in them: made, changed, bound to models, ended
//! (`docs/specialists.md`).

pub mod choice;
pub mod domain;
pub mod promote;
pub mod report;

use std::collections::BTreeSet;

use crate::app::ask::model_choice::{instead_of, resolved, without_provider};
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::redacted::no_secret;
use crate::app::remember::correction::DomainName;
use crate::app::words::nearest;
use crate::ask::stored_text::StoredTexts;
use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::ledger::specialist::{
    RatingCount, SPECIALIST, SPECIALIST_CHANGED, SPECIALIST_RETIRED, Specialist, SpecialistId,
    Specialists,
};
use crate::record::unseen::{is_plain_name, spelled_on_a_line};
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError};
use crate::store::{ReadStore, StoreError};

/// Longest name of a model, in bytes.
const MAX_MODEL: usize = 200;
/// Longest part of the system message, in bytes.
const MAX_SYSTEM: usize = 8 * 1024;

/// Name of a specialist: of the same form as a domain's.
pub type SpecialistName = DomainName;

/// What is to be known of a new specialist.
#[derive(Clone, Debug)]
pub struct SpecialistInput {
    /// What it is called.
    pub name: SpecialistName,
    /// The model that it is bound to, as it was typed.
    pub model: String,
    /// Names of the domains that it answers in.
    pub domains: Vec<String>,
    /// Tokens of its model's window.
    pub window: Option<u64>,
    /// Its part of the system message.
    pub system: Option<String>,
}

/// What is to be changed of one; nothing of what is left out.
#[derive(Clone, Debug, Default)]
pub struct SpecialistChange {
    /// What it is called from now on.
    pub name: Option<SpecialistName>,
    /// Names of the domains that it answers in from now on.
    pub domains: Option<Vec<String>>,
    /// Tokens of its model's window.
    pub window: Option<u64>,
    /// Its part of the system message; empty: none any more.
    pub system: Option<String>,
}

impl SpecialistChange {
    fn is_nothing(&self) -> bool {
        self.name.is_none()
            && self.domains.is_none()
            && self.window.is_none()
            && self.system.is_none()
    }
}

/// A specialist as it stands.
#[derive(Clone, Debug)]
pub struct KnownSpecialist {
    /// What follows from its artifacts.
    pub of: Specialist,
    /// Names of the domains that it answers in.
    pub domains: Vec<String>,
    /// How its answers with that model were rated, by domain.
    pub ratings: Vec<RatingCount>,
}

impl KnownSpecialist {
    /// Of a specialist, with the names of its domains and its ratings.
    pub fn of(
        store: &ReadStore,
        all: &Specialists,
        specialist: &Specialist,
    ) -> Result<KnownSpecialist, StoreError> {
        let model = specialist.model.as_deref().unwrap_or_default();
        Ok(KnownSpecialist {
            domains: all.domain_names(specialist),
            ratings: store.rating_counts(specialist.id, model)?,
            of: specialist.clone(),
        })
    }

    /// How people call it.
    pub fn called(&self) -> String {
        called(&self.of)
    }
}

/// How people call a specialist: by its name, or by its id where that is gone.
pub fn called(specialist: &Specialist) -> String {
    match &specialist.name {
        Some(name) => name.clone(),
        None => specialist.id.to_string(),
    }
}

/// What keeps a home without texts from having any.
fn must_keep_text(opened: &OpenHome, what: &str) -> Result<(), OpenHomeError> {
    if opened.keeps_text() {
        return Ok(());
    }
    Err(OpenHomeError::Refused(format!(
        "this home keeps no texts (store.content is \"none\"), and {what} is known by what its record says"
    )))
}

/// Domains and specialists as they were recorded; where a row of them was changed since, why nothing is
/// done by it.
pub fn on_record(store: &ReadStore) -> Result<Specialists, OpenHomeError> {
    let texts = StoredTexts::of(store)?;
    let mut all = Specialists::default();
    for row in store.specialist_rows()? {
        // Homes without texts have none of these, so what says nothing has to be erased.
        let says_nothing = row.document.is_none() && !store.is_erased(&row.id, row.line)?;
        if says_nothing || !texts.holds_artifact(&row)? {
            return Err(OpenHomeError::Refused(format!(
                "{} is not what was recorded, so nobody is chosen by it: gently audit verify",
                short_name(&row.id)
            )));
        }
        all.take(row.line, &row.kind, &row.id, row.document.as_deref());
    }
    Ok(all)
}

/// The specialist that a text means, among those that are not over: its name or its id.
pub fn find(all: &Specialists, typed: &str) -> Result<Specialist, String> {
    let id = record_name(typed).and_then(|id| id.parse::<SpecialistId>().ok());
    let named = all.specialists.values().find(|one| {
        let is_named = one.name.as_deref() == Some(typed) && !one.is_retired;
        is_named || Some(one.id) == id
    });
    let known = || {
        let open = all.specialists.values().filter(|one| !one.is_retired);
        let names: Vec<String> = open.map(called).collect();
        match (
            nearest(typed, names.iter().map(String::as_str)),
            names.len(),
        ) {
            (Some(near), _) => format!("did you mean {near}?"),
            (None, 0) => "nor is any other: gently specialist add NAME --model MODEL".to_owned(),
            (None, 1) => format!("there is {}", names.join(", ")),
            (None, _) => format!("there are {}", names.join(", ")),
        }
    };
    let mut ended = all.specialists.values().filter(|one| one.is_retired);
    match named {
        None if ended.any(|one| one.name.as_deref() == Some(typed)) => Err(format!(
            "the specialist {typed} is retired: gently specialist list --all shows it"
        )),
        None => Err(format!(
            "no specialist '{}' is on record; {}",
            spelled_on_a_line(typed),
            known()
        )),
        Some(one) if one.is_retired => Err(format!("the specialist {} is retired", called(one))),
        Some(one) => Ok(one.clone()),
    }
}

/// Ids of the domains of these names, or which of them there is not.
fn domains_of(all: &Specialists, names: &[String]) -> Result<BTreeSet<String>, OpenHomeError> {
    let mut ids = BTreeSet::new();
    for name in names {
        let known = domain::find(all, name).map_err(OpenHomeError::Refused)?;
        ids.insert(known.id);
    }
    Ok(ids)
}

fn system_fault(system: &str) -> Option<String> {
    (system.len() > MAX_SYSTEM).then(|| {
        format!(
            "its part of the system message has {} bytes, at most {MAX_SYSTEM}",
            system.len()
        )
    })
}

/// Why a name can't be taken: somebody has it.
fn taken(all: &Specialists, name: &str, but: Option<SpecialistId>) -> Option<String> {
    let has = |one: &&Specialist| {
        one.name.as_deref() == Some(name) && !one.is_retired && Some(one.id) != but
    };
    let other = all.specialists.values().find(has)?;
    let id = short_name(&other.id.to_string());
    Some(format!(
        "there is a specialist {name} ({id}). To give it other domains: gently specialist change {name} --domain DOMAIN; \
         to bind it to another model: gently specialist promote {name} --to MODEL"
    ))
}

/// What of a specialist is committed to but its model.
fn content(
    by: Hash32,
    (name, domains): (&str, &BTreeSet<String>),
    window: Option<u64>,
    system: Option<&str>,
) -> Vec<(&'static str, ArtifactField)> {
    let words = domains.iter().cloned().map(ArtifactField::Word);
    vec![
        ("by", ArtifactField::Hash(by)),
        ("domains", ArtifactField::List(words.collect())),
        ("name", ArtifactField::Text(redact(name).clean)),
        (
            "system",
            system.map_or(ArtifactField::Null, |text| {
                ArtifactField::Text(redact(text).clean)
            }),
        ),
        (
            "window",
            window.map_or(ArtifactField::Null, ArtifactField::Number),
        ),
    ]
}

/// Records one artifact of these, if all that is on record is still what was looked at.
async fn put(
    opened: &OpenHome,
    (kind, id): (&'static str, ArtifactId),
    content: Vec<(&'static str, ArtifactField)>,
    seen: &Specialists,
) -> Result<RecordedArtifact, OpenHomeError> {
    let seen = seen.clone();
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        let is_same = store.specialists()? == seen;
        Ok((!is_same)
            .then(|| "domains or specialists were changed meanwhile: try again".to_owned()))
    };
    let new = NewArtifact {
        kind,
        id,
        content,
        session: None,
        salt: fresh_salt()?,
        now: open::clock()?,
    };
    Ok(opened.recorder.artifact(new, allowed).await?)
}

/// Makes a specialist.
pub async fn add(
    opened: &OpenHome,
    input: &SpecialistInput,
) -> Result<KnownSpecialist, OpenHomeError> {
    must_keep_text(opened, "a specialist")?;
    let key = opened.authorize().await?;
    let all = on_record(&opened.store)?;
    let system = input
        .system
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let fault = taken(&all, input.name.as_str(), None).or_else(|| system.and_then(system_fault));
    if let Some(why) = fault {
        return Err(OpenHomeError::Refused(why));
    }
    let domains = domains_of(&all, &input.domains)?;
    let model = model_id(opened, &input.model).await?;
    let mut content = content(key, (input.name.as_str(), &domains), input.window, system);
    content.push(("model", ArtifactField::Word(model)));
    let next = ArtifactId::Next { prefix: SPECIALIST };
    let recorded = put(opened, (SPECIALIST, next), content, &all).await?;
    known(&opened.store, &recorded.document.id)
}

/// A model's whole id, as an exchange has it; a name without its provider is one of a server's list.
async fn model_id(opened: &OpenHome, typed: &str) -> Result<String, OpenHomeError> {
    let id = resolved(typed.trim(), &opened.config);
    no_secret("the model", &id)?;
    if id.is_empty() || id.len() > MAX_MODEL || !is_plain_name(&id) {
        return Err(OpenHomeError::Refused(
            "a specialist is bound to a model by its name, such as ollama/llama3.2: gently model list".to_owned(),
        ));
    }
    let whole = without_provider(&id, &opened.config).await?;
    Ok(whole.map_or(id, |whole| whole.id))
}

/// What a person is told of a model that a specialist was bound to, where its server lists others and
/// not this one.
pub async fn unlisted(opened: &OpenHome, model: &str) -> Option<String> {
    let instead = instead_of(model, &opened.config).await?;
    Some(format!("{model} is bound as it was typed. {instead}"))
}

/// Changes all of a specialist but its model.
pub async fn change(
    opened: &OpenHome,
    typed: &str,
    change: &SpecialistChange,
) -> Result<KnownSpecialist, OpenHomeError> {
    must_keep_text(opened, "a specialist")?;
    if change.is_nothing() {
        return Err(OpenHomeError::Refused(
            "say what is to be changed: --name, --domains, --window or --system; its model by gently specialist promote"
                .to_owned(),
        ));
    }
    let key = opened.authorize().await?;
    let all = on_record(&opened.store)?;
    let found = find(&all, typed).map_err(OpenHomeError::Refused)?;
    let name = match &change.name {
        Some(name) => name.as_str().to_owned(),
        None => called(&found),
    };
    let system = match &change.system {
        Some(system) => Some(system.trim()).filter(|text| !text.is_empty()),
        None => found.system.as_deref(),
    };
    let fault = taken(&all, &name, Some(found.id)).or_else(|| system.and_then(system_fault));
    if let Some(why) = fault {
        return Err(OpenHomeError::Refused(why));
    }
    let domains = match &change.domains {
        Some(names) => domains_of(&all, names)?,
        None => found.domains.iter().cloned().collect(),
    };
    let window = change.window.or(found.window);
    let content = content(key, (&name, &domains), window, system);
    let id = ArtifactId::Of(found.id.to_string());
    put(opened, (SPECIALIST_CHANGED, id), content, &all).await?;
    known(&opened.store, &found.id.to_string())
}

/// Ends a specialist: it is not asked any more.
pub async fn retire(opened: &OpenHome, typed: &str) -> Result<KnownSpecialist, OpenHomeError> {
    let key = opened.authorize().await?;
    let all = on_record(&opened.store)?;
    let found = find(&all, typed).map_err(OpenHomeError::Refused)?;
    let content = vec![("by", ArtifactField::Hash(key))];
    let id = ArtifactId::Of(found.id.to_string());
    put(opened, (SPECIALIST_RETIRED, id), content, &all).await?;
    known(&opened.store, &found.id.to_string())
}

/// A specialist as it is now on record.
fn known(store: &ReadStore, id: &str) -> Result<KnownSpecialist, OpenHomeError> {
    let all = on_record(store)?;
    let found = id
        .parse()
        .ok()
        .and_then(|id: SpecialistId| all.specialists.get(&id));
    match found {
        Some(found) => Ok(KnownSpecialist::of(store, &all, found)?),
        None => Err(OpenHomeError::Refused(format!(
            "{id} is on record by its commitment only: its text was not kept"
        ))),
    }
}

/// The specialists of a home, oldest first; with those that are over, if all are asked for.
pub fn list(home: &Home, with_retired: bool) -> Result<Vec<KnownSpecialist>, OpenHomeError> {
    let store = open::store(home)?;
    let all = on_record(&store)?;
    let shown = all.specialists.values();
    let shown = shown.filter(|one| with_retired || !one.is_retired);
    let known = shown.map(|one| KnownSpecialist::of(&store, &all, one));
    Ok(known.collect::<Result<_, StoreError>>()?)
}
