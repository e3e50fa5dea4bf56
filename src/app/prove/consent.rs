//! Consent to hand texts on in traces: given, withdrawn, listed.

use std::collections::BTreeMap;

use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::ledger::consent::{
    CONSENT, CONSENT_WITHDRAWN, Consent, ConsentScope, ConsentState, Consents, PURPOSE_MOST,
};
use crate::record::ledger::short_name::{record_name_of, short_name};
use crate::record::time::Seconds;
use crate::record::trace::level::TraceLevel;
use crate::record::unseen::{is_plain_name, spelled_on_a_line};
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecorderError};
use crate::store::{ArtifactFilter, ReadStore, StoreError};

use crate::app::find;
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::prove::handed_on::exports;
use crate::app::remember::named_artifact::{NamedArtifact, NamedThing, record_named};

/// What somebody wants to consent to.
#[derive(Clone, Debug, Default)]
pub struct ConsentRequest {
    /// For what, as it was typed.
    pub purpose: String,
    /// A conversation, instead of everything.
    pub thread: Option<String>,
    /// One exchange, instead of everything.
    pub exchange: Option<String>,
    /// Whether what was asked before is covered, too.
    pub past: bool,
    /// A time, or a day whose last second is meant.
    pub until: Option<String>,
}

/// A consent with what became of it.
#[derive(Clone, Debug)]
pub struct ListedConsent {
    /// The consent as it is on record.
    pub consent: Consent,
    /// Where it stands now.
    pub state: ConsentState,
    /// What it is to, as screens call that; none once erased.
    pub covers: Option<String>,
    /// Whether all that it is to was erased, so that nothing can be handed on under it any more.
    pub covers_nothing: bool,
    /// What was handed on under it: ids of exports, oldest first.
    pub exports: Vec<String>,
    /// Exports of which the record does not say any more what was in them, and under which consent.
    pub untold: Vec<String>,
}

/// Every consent of a home, as it is on record.
pub fn consents(store: &ReadStore) -> Result<Consents, StoreError> {
    let mut rows = store.artifacts(ArtifactFilter::Kind(CONSENT))?;
    rows.extend(store.artifacts(ArtifactFilter::Kind(CONSENT_WITHDRAWN))?);
    rows.sort_by_key(|row| row.line);
    let mut consents = Consents::default();
    for row in rows {
        consents.take(row.line, &row.kind, &row.id, row.document.as_deref());
    }
    Ok(consents)
}

fn refused<T>(why: impl Into<FieldSentence>) -> Result<T, OpenHomeError> {
    Err(OpenHomeError::Wanting(why.into()))
}

/// A purpose as it is recorded.
fn purpose(text: &str) -> Result<&str, OpenHomeError> {
    let text = text.trim();
    let count = text.chars().count();
    if text.is_empty() {
        return refused(sentence![
            RequestField::Purpose,
            " says nothing: say for what the texts may be used, as in ",
            RequestField::Purpose,
            " \"research on reasoning\""
        ]);
    }
    if count > PURPOSE_MOST {
        return refused(sentence![
            RequestField::Purpose,
            format!(" has {count} characters; a purpose has at most {PURPOSE_MOST}")
        ]);
    }
    match is_plain_name(text) {
        true => Ok(text),
        false => refused(sentence![
            RequestField::Purpose,
            " is one line of characters that can be seen; say it without the others"
        ]),
    }
}

/// When a consent is over.
fn over_at(text: &str, now: Seconds) -> Result<Seconds, OpenHomeError> {
    let day = || format!("{text}T23:59:59Z").parse();
    let Ok(until) = text.parse::<Seconds>().or_else(|_| day()) else {
        let text = spelled_on_a_line(text);
        return refused(sentence![
            RequestField::Until,
            format!(
                " takes a day as 2027-12-31, which counts to its end (UTC), or a time as 2027-12-31T12:00:00Z; not '{text}'"
            )
        ]);
    };
    match until < now {
        true => refused(sentence![
            RequestField::Until,
            format!(" {until} is over: it is {now}. Name a day to come, or leave it out")
        ]),
        false => Ok(until),
    }
}

/// What the request is to, and whether what was asked before is covered.
fn scope(
    store: &ReadStore,
    key: Hash32,
    request: &ConsentRequest,
) -> Result<(ConsentScope, bool), OpenHomeError> {
    if let Some(id) = &request.exchange {
        let row = find::exchange(store, id)?;
        let session = store.session_of(row.session)?;
        if session.is_none_or(|session| session.auth_key_hash != key) {
            return refused(format!(
                "'{}' was asked with another auth key, and only that one consents to it (gently key list)",
                spelled_on_a_line(id.trim())
            ));
        }
        // Whoever names a question names one that was asked.
        return Ok((ConsentScope::Exchange(row.exchange_id), true));
    }
    let scope = match &request.thread {
        Some(id) => ConsentScope::Thread(find::conversation::thread_or_conversation(store, id)?),
        None => ConsentScope::All,
    };
    Ok((scope, request.past))
}

/// Gives a consent, in the name of the auth key.
pub async fn give(
    opened: &OpenHome,
    request: &ConsentRequest,
    notice: &dyn Fn(&str),
) -> Result<NamedThing<ListedConsent>, OpenHomeError> {
    let purpose = purpose(&request.purpose)?;
    let now = open::clock()?;
    let until = request.until.as_deref();
    let until = until.map(|text| over_at(text, now)).transpose()?;
    let key = opened.authorize().await?;
    let (scope, past) = scope(&opened.store, key, request)?;
    let named = NamedArtifact {
        kind: CONSENT,
        id: ArtifactId::Next { prefix: CONSENT },
        name_key: "purpose",
        name: purpose,
        beside: vec![
            ("at", ArtifactField::Time(now)),
            (
                "level",
                ArtifactField::Word(TraceLevel::FullTraces.name().to_owned()),
            ),
            ("past", ArtifactField::Flag(past)),
            ("scope", ArtifactField::Word(scope.to_string())),
            (
                "until",
                until.map_or(ArtifactField::Null, ArtifactField::Time),
            ),
        ],
    };
    let (recorded, removed) = record_named(opened, key, named, notice).await?;
    let of = one(&opened.store, &recorded.document.id)?;
    Ok(NamedThing { of, removed })
}

/// The id on record that a person typed: `consent-1`, or 1.
fn consent_id(typed: &str) -> String {
    record_name_of(CONSENT, typed).unwrap_or_else(|| typed.to_owned())
}

/// Takes a consent back: nothing more is handed on under it. What was, can't be called back.
pub async fn withdraw(opened: &OpenHome, typed: &str) -> Result<ListedConsent, OpenHomeError> {
    let key = opened.authorize().await?;
    let now = open::clock()?;
    let id = consent_id(typed.trim());
    let named = id.clone();
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        let consents = consents(store)?;
        Ok(match consents.get(&named) {
            None => Some(no_consent(&named)),
            Some(consent) if consent.withdrawn.is_some() => {
                Some(format!("{} is withdrawn already", short_name(&named)))
            }
            Some(_) => None,
        })
    };
    let new = NewArtifact {
        kind: CONSENT_WITHDRAWN,
        id: ArtifactId::Of(id.clone()),
        content: vec![
            ("at", ArtifactField::Time(now)),
            ("by", ArtifactField::Hash(key)),
        ],
        session: None,
        salt: fresh_salt()?,
        now,
    };
    opened.recorder.artifact(new, allowed).await?;
    one(&opened.store, &id)
}

fn no_consent(id: &str) -> String {
    format!(
        "no consent '{}' here: gently consent list shows them",
        spelled_on_a_line(&short_name(id))
    )
}

/// The consents of a home, oldest first.
pub fn list(home: &Home) -> Result<Vec<ListedConsent>, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    listed(&store)
}

fn one(store: &ReadStore, id: &str) -> Result<ListedConsent, OpenHomeError> {
    let mut all = listed(store)?.into_iter();
    let found = all.find(|listed| listed.consent.id == id);
    found.ok_or_else(|| OpenHomeError::Refused(no_consent(id)))
}

fn listed(store: &ReadStore) -> Result<Vec<ListedConsent>, OpenHomeError> {
    let now = open::clock()?;
    let mut under: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let exports = exports(store)?;
    for export in exports.told {
        for consent in export.export.consent {
            under.entry(consent).or_default().push(export.id.clone());
        }
    }
    let mut one = |consent: &Consent| {
        let scope = consent.terms.as_ref().map(|terms| terms.scope);
        Ok(ListedConsent {
            state: consent.state(now),
            covers: scope.map(|scope| called(store, scope)).transpose()?,
            covers_nothing: scope.map_or(Ok(false), |scope| is_erased(store, scope))?,
            exports: under.remove(&consent.id).unwrap_or_default(),
            untold: exports.untold.clone(),
            consent: consent.clone(),
        })
    };
    let all = consents(store)?;
    all.iter().map(&mut one).collect()
}

/// Whether what a consent is to is erased, all of it. What is asked later in that conversation would be
/// covered all the same.
fn is_erased(store: &ReadStore, scope: ConsentScope) -> Result<bool, StoreError> {
    let exchanges = match scope {
        ConsentScope::All => return Ok(false),
        ConsentScope::Thread(id) => store.turns_in(id)?,
        ConsentScope::Exchange(id) => vec![id],
    };
    for exchange in &exchanges {
        if store.tombstone_of(&exchange.to_string())?.is_none() {
            return Ok(false);
        }
    }
    Ok(!exchanges.is_empty())
}

/// What a consent is to, as screens call it.
fn called(store: &ReadStore, scope: ConsentScope) -> Result<String, StoreError> {
    Ok(match scope {
        ConsentScope::All => "all that its key asks".to_owned(),
        ConsentScope::Thread(id) => format!("conversation {}", find::short_thread(store, id)?),
        ConsentScope::Exchange(id) => {
            let short = find::short_id_of(store, id)?;
            format!("question {}", short.unwrap_or_else(|| id.to_string()))
        }
    })
}
