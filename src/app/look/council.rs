//! Councils on record: what each member answered, what reviews said, and which answer was chosen.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use crate::app::ask::council::references;
use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::specialist::called;
use crate::ask::stored_text::StoredTexts;
use crate::govern::choice::DomainShare;
use crate::govern::council::{CouncilBid, DecidedBy, VoteCount, read_review};
use crate::home::Home;
use crate::record::ledger::conversation::LAST;
use crate::record::ledger::council::{
    COUNCIL, CouncilAnswer, CouncilPlace, CouncilReview, CouncilSaying, council_of,
};
use crate::record::ledger::item::content;
use crate::record::ledger::short_name::{record_name, record_name_of, short_name};
use crate::record::ledger::specialist::Specialists;
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ArtifactFilter, ArtifactRow, ReadStore, StoreError};

/// One member of a council on record.
pub struct RecordedMember {
    /// What its artifact says of it.
    pub of: CouncilAnswer,
    /// What it is called now.
    pub name: String,
    /// Its exchange as screens call it.
    pub id: String,
    /// The model that was asked; none where its exchange is not here.
    pub model: Option<String>,
    /// What it answered; none where it did not, where that is erased or not kept, and where it is
    /// withheld.
    pub answer: Option<String>,
    /// The votes on it.
    pub votes: VoteCount,
}

/// What one review on record says of one answer.
pub struct RecordedReview {
    /// What the artifact says of it.
    pub of: CouncilReview,
    /// What its specialist is called now.
    pub by: String,
    /// Its exchange as screens call it.
    pub id: String,
    /// Name of the specialist whose answer it is about.
    pub about: String,
    /// Why, in the reviewer's words; none where that is erased, or can't be read.
    pub why: Option<String>,
    /// What it proposes as right in the answer's place, likewise.
    pub correction: Option<String>,
}

/// A council on record.
pub struct RecordedCouncil {
    /// Its id.
    pub id: String,
    /// Number of its line, from 0.
    pub line: u64,
    /// When it was recorded; none where its line can't be read.
    pub recorded_at: Option<String>,
    /// How sure the answer was to be.
    pub accuracy: String,
    /// `ratings` or `prior`.
    pub basis: String,
    /// How the question's domains were found.
    pub method: String,
    /// What the question is of.
    pub domains: Vec<DomainShare>,
    /// The question; none once erased.
    pub question: Option<String>,
    /// The members, of whom most was expected first.
    pub members: Vec<RecordedMember>,
    /// What the reviews say.
    pub reviews: Vec<RecordedReview>,
}

impl RecordedCouncil {
    /// The member whose answer was chosen.
    pub fn winner(&self) -> Option<&RecordedMember> {
        let mut members = self.members.iter();
        members.find(|member| member.of.place == CouncilPlace::Won)
    }

    /// What decided between the answers.
    pub fn decided_by(&self) -> Option<DecidedBy> {
        let is_answer = |member: &&RecordedMember| {
            matches!(member.of.place, CouncilPlace::Won | CouncilPlace::Lost)
        };
        let answers: Vec<&RecordedMember> = self.members.iter().filter(is_answer).collect();
        let bids = answers.iter().map(|member| CouncilBid {
            specialist: member.of.specialist,
            welfare: member.of.welfare,
            votes: member.votes,
        });
        let mut places = answers.iter().map(|member| member.of.place);
        let winner = places.position(|place| place == CouncilPlace::Won)?;
        DecidedBy::of(&bids.collect::<Vec<_>>(), winner)
    }
}

/// The newest councils of a home, so many at most, newest first, and how many older ones there are.
pub fn list(home: &Home, most: u32) -> Result<(Vec<RecordedCouncil>, usize), OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let rows = store.artifacts(ArtifactFilter::Kind(COUNCIL))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let newest = rows.iter().rev().take(most);
    let all = store.specialists()?;
    let read = newest.filter_map(|row| read(&store, &all, row).transpose());
    Ok((
        read.collect::<Result<_, _>>()?,
        rows.len().saturating_sub(most),
    ))
}

/// One council by its id; the newest one without it, or where it is `last`: none where there is none at all.
pub fn one(home: &Home, typed: Option<&str>) -> Result<Option<RecordedCouncil>, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let typed = typed.filter(|typed| !typed.trim().eq_ignore_ascii_case(LAST));
    let row = match typed {
        None => match store.newest_artifact(COUNCIL)? {
            None => return Ok(None),
            newest => newest,
        },
        Some(typed) => {
            let id = record_name_of(COUNCIL, typed).unwrap_or_else(|| typed.to_owned());
            let rows = store.artifacts(ArtifactFilter::Id(&id))?;
            rows.into_iter().find(|row| row.kind == COUNCIL)
        }
    };
    let refused = |why: String| OpenHomeError::Refused(why);
    let row = row.ok_or_else(|| {
        refused(format!(
            "no council '{}' is on record: gently council list names those there are",
            spelled_on_a_line(typed.unwrap_or(LAST))
        ))
    })?;
    if !StoredTexts::of(&store)?.holds_artifact(&row)? {
        return Err(refused(format!(
            "{} is not what was recorded: gently audit verify",
            short_name(&row.id)
        )));
    }
    let all = store.specialists()?;
    let found = read(&store, &all, &row)?;
    let found = found.ok_or_else(|| refused(format!("{} is erased", short_name(&row.id))));
    found.map(Some)
}

/// What screens call the exchange whose answer a council chose; none where there is no such council.
pub fn chosen_of(store: &ReadStore, typed: &str) -> Result<Option<String>, StoreError> {
    let id = record_name(typed).unwrap_or_else(|| typed.to_owned());
    let rows = store.artifacts(ArtifactFilter::Id(&id))?;
    let said = rows
        .iter()
        .find_map(|row| council_of(row.line, &row.kind, &row.id, row.document.as_deref()));
    let answers = said.into_iter().flat_map(|said| said.answers);
    let won = answers
        .into_iter()
        .find(|answer| answer.place == CouncilPlace::Won);
    won.map(|answer| short_id(store, answer.exchange))
        .transpose()
}

/// Id of the newest council of a conversation.
pub fn newest_of(store: &ReadStore, thread: Uuid) -> Result<Option<String>, StoreError> {
    for row in store.artifacts(ArtifactFilter::Kind(COUNCIL))?.iter().rev() {
        let said = council_of(row.line, &row.kind, &row.id, row.document.as_deref());
        let first = said.and_then(|said| said.answers.into_iter().next());
        let turn = first.map(|answer| store.thread_turn(answer.exchange));
        if turn
            .transpose()?
            .flatten()
            .is_some_and(|turn| turn.thread == thread)
        {
            return Ok(Some(short_name(&row.id)));
        }
    }
    Ok(None)
}

/// What an artifact says, with the texts; none of one that is erased.
fn read(
    store: &ReadStore,
    all: &Specialists,
    row: &ArtifactRow,
) -> Result<Option<RecordedCouncil>, OpenHomeError> {
    let document = row.document.as_deref();
    let said = council_of(row.line, &row.kind, &row.id, document);
    let (Some(said), Some(content)) = (said, content(document)) else {
        return Ok(None);
    };
    let text = |key: &str| content[key].as_str().unwrap_or_default().to_owned();
    let CouncilSaying { answers, reviews } = said;
    let mut votes: BTreeMap<Uuid, VoteCount> = BTreeMap::new();
    for review in &reviews {
        if let Some(verdict) = review.verdict {
            votes.entry(review.of).or_default().take(verdict);
        }
    }
    let question = match answers.first() {
        Some(first) => texts(store, first.exchange)?.0,
        None => None,
    };
    let reviews = reviews
        .iter()
        .map(|review| recorded_review(store, all, (review, &reviews), &answers));
    let reviews = reviews.collect::<Result<_, OpenHomeError>>()?;
    let members = answers.into_iter().map(|of| {
        let votes = votes.get(&of.exchange).copied().unwrap_or_default();
        recorded_member(store, all, of, votes)
    });
    Ok(Some(RecordedCouncil {
        id: row.id.clone(),
        line: row.line,
        recorded_at: store.time_of_line(row.line)?.map(|time| time.to_string()),
        accuracy: text("accuracy"),
        basis: text("basis"),
        method: text("method"),
        domains: domains(&content),
        question,
        members: members.collect::<Result<_, StoreError>>()?,
        reviews,
    }))
}

fn domains(content: &Value) -> Vec<DomainShare> {
    let list = content["domains"].as_array().into_iter().flatten();
    let share = |one: &Value| {
        Some(DomainShare {
            domain: one["domain"].as_str()?.to_owned(),
            share: one["share"].as_u64()?,
        })
    };
    list.filter_map(share).collect()
}

/// Question and answer of an exchange, as far as they are here and may be shown.
fn texts(
    store: &ReadStore,
    exchange: Uuid,
) -> Result<(Option<String>, Option<String>), StoreError> {
    let Some(row) = store.exchange(exchange)? else {
        return Ok((None, None));
    };
    let text = |turn: Option<Uuid>| -> Result<Option<String>, StoreError> {
        let turn = turn.map(|turn| store.turn(turn)).transpose()?.flatten();
        Ok(turn.and_then(|turn| turn.content))
    };
    let answer = row.outcome.as_ref().and_then(|outcome| outcome.turn_aurora);
    Ok((text(Some(row.turn_user))?, text(answer)?))
}

/// What a specialist is called now, by the exchange that it was asked in.
fn name_of(
    store: &ReadStore,
    all: &Specialists,
    exchange: Uuid,
) -> Result<Option<String>, StoreError> {
    let Some(row) = store.exchange(exchange)? else {
        return Ok(None);
    };
    let measures = store.measures(&row)?;
    let id = measures.and_then(|row| row.measures.specialist);
    let known = id.and_then(|id| all.specialists.get(&id));
    Ok(known.map(called).or(Some(row.model)))
}

fn short_id(store: &ReadStore, exchange: Uuid) -> Result<String, StoreError> {
    let short = find::short_id_of(store, exchange)?;
    Ok(short.unwrap_or_else(|| exchange.to_string()))
}

fn recorded_member(
    store: &ReadStore,
    all: &Specialists,
    of: CouncilAnswer,
    votes: VoteCount,
) -> Result<RecordedMember, StoreError> {
    let known = all.specialists.get(&of.specialist);
    let (_, answer) = texts(store, of.exchange)?;
    Ok(RecordedMember {
        name: known.map_or_else(|| of.specialist.to_string(), called),
        id: short_id(store, of.exchange)?,
        model: store.exchange(of.exchange)?.map(|row| row.model),
        answer: answer.filter(|_| of.place != CouncilPlace::Withheld),
        votes,
        of,
    })
}

fn recorded_review(
    store: &ReadStore,
    all: &Specialists,
    (review, reviews): (&CouncilReview, &[CouncilReview]),
    answers: &[CouncilAnswer],
) -> Result<RecordedReview, OpenHomeError> {
    // A review names answers by their order among those that it was shown.
    let shown: Vec<Uuid> = reviews
        .iter()
        .filter(|other| other.exchange == review.exchange)
        .map(|other| other.of)
        .collect();
    let at = shown.iter().position(|of| *of == review.of);
    let (_, text) = texts(store, review.exchange)?;
    let references = references(store, &shown)?;
    let said = text.and_then(|text| read_review(&text, &references).ok());
    let why = said
        .zip(at)
        .and_then(|(mut said, at)| said.get_mut(at)?.take());
    let why = why.filter(|_| review.verdict.is_some());
    let (why, correction) = why.map_or((None, None), |said| (Some(said.why), said.correction));
    let about = answers.iter().find(|answer| answer.exchange == review.of);
    let about = about.and_then(|answer| all.specialists.get(&answer.specialist));
    Ok(RecordedReview {
        by: name_of(store, all, review.exchange)?.unwrap_or_default(),
        id: short_id(store, review.exchange)?,
        about: about.map(called).unwrap_or_default(),
        why,
        correction,
        of: review.clone(),
    })
}
