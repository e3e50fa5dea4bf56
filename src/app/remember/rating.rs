//! What a person says of an answer: good or bad. It decides who is asked where
//! `--accuracy fast` chooses (`docs/specialists.md`).

use crate::app::find::{self, FindError, IdKind};
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::look::council::chosen_of;
use crate::app::set_up::specialist::choice::shares_of;
use crate::app::set_up::specialist::on_record;
use crate::govern::sanitize::redact;
use crate::record::exchange::ExchangeOutcome;
use crate::record::ledger::specialist::{GENERAL, RATING, RatingVerdict, SpecialistId};
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, always};
use crate::store::{ExchangeRow, ReadStore};

/// Longest reason, in bytes.
const MAX_WHY: usize = 2000;

/// A rating that is on record.
pub struct RecordedRating {
    /// What went on record, with its line of the log.
    pub recorded: RecordedArtifact,
    /// Short id of the exchange.
    pub exchange: String,
    /// What was said.
    pub verdict: RatingVerdict,
    /// The model that answered.
    pub model: String,
    /// The specialist that answered.
    pub specialist: Option<SpecialistId>,
    /// The likeliest domain of the question.
    pub domain: String,
    /// What this person had said of it before.
    pub before: Option<RatingVerdict>,
    /// Kinds of secrets that were removed from the reason.
    pub removed: Vec<String>,
}

/// Why an exchange has no answer that could be rated.
fn unrated(row: &ExchangeRow, shown: &str) -> Option<String> {
    match row.outcome.as_ref().map(|outcome| outcome.outcome) {
        Some(ExchangeOutcome::Answered) => None,
        Some(ExchangeOutcome::Failed) => {
            Some(format!("{shown} failed: there is no answer to rate"))
        }
        Some(ExchangeOutcome::Denied) => Some(format!("{shown} was denied: nobody answered")),
        None => Some(format!("{shown} still waits for its answer")),
    }
}

/// That a rating is of one answer, and how the one is rated that a council chose.
fn of_council(
    store: &ReadStore,
    typed: &str,
    verdict: RatingVerdict,
) -> Result<OpenHomeError, OpenHomeError> {
    let name = spelled_on_a_line(typed.trim());
    let how = match chosen_of(store, typed)? {
        Some(id) => format!(
            "for the one that {name} chose: gently rate {id} {}",
            verdict.name()
        ),
        None => {
            "gently council list names councils, and gently council show one's answers".to_owned()
        }
    };
    Ok(OpenHomeError::Refused(format!(
        "'{name}' is a council, and a rating is of one answer; {how}"
    )))
}

/// Says of the answer of an exchange whether it was good. The newest word of an auth key counts.
pub async fn rate(
    opened: &OpenHome,
    typed: &str,
    (verdict, why): (RatingVerdict, Option<&str>),
) -> Result<RecordedRating, OpenHomeError> {
    let why = why.map(str::trim).filter(|why| !why.is_empty());
    if let Some(long) = why.filter(|why| why.len() > MAX_WHY) {
        return Err(OpenHomeError::Refused(format!(
            "the reason has {} bytes, at most {MAX_WHY}",
            long.len()
        )));
    }
    let key = opened.authorize().await?;
    let store = &opened.store;
    let row = match find::exchange(store, typed) {
        Err(FindError::OtherKind {
            kind: IdKind::Council,
            ..
        }) => return Err(of_council(store, typed, verdict)?),
        found => found?,
    };
    let shown = find::short_id_of_row(store, &row)?;
    if let Some(why) = unrated(&row, &shown) {
        return Err(OpenHomeError::Refused(why));
    }
    let question = store.turn(row.turn_user)?.and_then(|turn| turn.content);
    if question.is_none() && row.not_kept.is_none() {
        return Err(OpenHomeError::Refused(format!(
            "{shown} is erased: nobody knows any more what was answered"
        )));
    }
    let specialist = store
        .measures(&row)?
        .and_then(|row| row.measures.specialist);
    let shares = match &question {
        Some(question) => shares_of(store, &on_record(store)?, (question, None))?,
        None => Vec::new(),
    };
    let domain = shares
        .first()
        .map_or(GENERAL, |share| &share.domain)
        .to_owned();
    let before = store.rating(row.exchange_id, key)?;
    let same = before
        .as_ref()
        .is_some_and(|before| before.verdict == verdict);
    if same && why.is_none() {
        return Err(OpenHomeError::Refused(format!(
            "{shown} is rated {} by you already: nothing was recorded",
            verdict.name()
        )));
    }
    let reason = why.map(redact);
    let removed = reason.iter().flat_map(|reason| &reason.found);
    let removed = removed.map(|finding| finding.kind.to_owned()).collect();
    let word = |text: &str| ArtifactField::Word(text.to_owned());
    let or_null = |field: Option<ArtifactField>| field.unwrap_or(ArtifactField::Null);
    let content = vec![
        ("by", ArtifactField::Hash(key)),
        ("domain", word(&domain)),
        ("exchange", word(&row.exchange_id.to_string())),
        ("model", word(&row.model)),
        (
            "specialist",
            or_null(specialist.map(|id| word(&id.to_string()))),
        ),
        ("verdict", word(verdict.name())),
        (
            "why",
            or_null(reason.map(|reason| ArtifactField::Text(reason.clean))),
        ),
    ];
    let new = NewArtifact {
        kind: RATING,
        id: ArtifactId::Next { prefix: RATING },
        content,
        session: None,
        salt: fresh_salt()?,
        now: open::clock()?,
    };
    Ok(RecordedRating {
        recorded: opened.recorder.artifact(new, always).await?,
        exchange: shown,
        verdict,
        model: row.model,
        specialist,
        domain,
        before: before.map(|before| before.verdict),
        removed,
    })
}

/// The name of the specialist that answered, for a screen.
pub fn specialist_name(
    opened: &OpenHome,
    rating: &RecordedRating,
) -> Result<Option<String>, OpenHomeError> {
    let Some(id) = rating.specialist else {
        return Ok(None);
    };
    let all = on_record(&opened.store)?;
    Ok(all.specialists.get(&id).and_then(|one| one.name.clone()))
}
