//! What is looked for on record for a question: bounded queries, and nothing that was not declared.

use serde_json::Value;
use uuid::Uuid;

use crate::continuity::candidate::{
    Candidate, CandidateClass, Confidence, RecallResult, TurnCandidate,
};
use crate::continuity::words::words;
use crate::govern::kernel::Kernel;
use crate::govern::reply::warning_words::open_question;
use crate::govern::sanitize::Clean;
use crate::record::canon;
use crate::record::ledger::bundle::OpenItem;
use crate::record::ledger::imported::{ImportedRole, MessageOnRecord, format_of, reply_to};
use crate::record::ledger::item::{Item, ItemKind, ItemState, content};
use crate::record::ledger::prompt::IMPORTED;
use crate::record::time::Seconds;
use crate::store::{ExchangeRow, ImportedMatch, OpenDrift, ReadStore, StoreError, TurnRow};

use super::refer::{CHANGED, ResolvedRefs};
use super::stored_text::StoredTexts;
use super::withheld::Withheld;

/// So many artifacts beyond a ring's cap are looked at, so that what is kept out can be named.
const OVER: u64 = 24;
/// A ring's cap may be larger than anything that is worth looking at.
const MOST: u64 = 200;
/// So many artifacts in force on one subject are shown when they disagree.
const MOST_RIVALS: u32 = 8;
/// So many facts that nobody ratified are named as kept out.
const MOST_PROPOSED: u32 = 8;
/// So many open drift events are looked at.
const MOST_DRIFT: u32 = 24;

/// So many characters of an imported message are shown at most, and as many of the answer to it.
const PASSAGE: usize = 2000;

/// One declared reference to earlier turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The last turns before the question, in its thread.
    Last(u32),
    /// What was said in one exchange.
    Exchange(Uuid),
    /// An id as it was declared: an event's, or a turn's, which stands for its INTENT.
    Id(String),
}

impl Reference {
    /// How many of the last turns it names, if it names those.
    pub(super) fn last(&self) -> Option<u32> {
        match self {
            Reference::Last(most) => Some(*most),
            Reference::Exchange(_) | Reference::Id(_) => None,
        }
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reference::Last(most) => write!(f, "last:{most}"),
            Reference::Exchange(id) => id.fmt(f),
            Reference::Id(id) => f.write_str(id),
        }
    }
}

/// What whoever asks declares as context. Nothing is added to it here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredContext {
    /// Earlier turns that the question names.
    pub refs: Vec<Reference>,
    /// Whether it was said that there are none: then no configuration expands them.
    pub none: bool,
    /// Whether deep history may be searched (ring 2).
    pub deep: bool,
}

impl DeclaredContext {
    /// Whether turns are named one by one.
    pub fn names_turns(&self) -> bool {
        self.refs.iter().any(|one| one.last().is_none())
    }
}

/// Looks for what a question could need, in the thread in which it stands.
pub fn recall(
    store: &ReadStore,
    kernel: &Kernel,
    text: &Clean,
    referred: &ResolvedRefs,
    deep: bool,
    now: Seconds,
) -> Result<RecallResult, StoreError> {
    let question = words(text.as_str());
    let rings = kernel.rules().rings;
    let texts = StoredTexts::of(store)?;
    let (mut found, mut kept) = (Vec::new(), referred.kept.clone());
    let intent = store.items_of(&[ItemKind::Intent], &[ItemState::Declared], 1)?;
    let intent = intent
        .into_iter()
        .filter_map(|(item, text)| Some((item, text?, 0)));
    let fitting = store.items_like(&question, most(rings.ring1.items), MOST_PROPOSED)?;
    for (item, text, relevance) in intent.chain(fitting) {
        match texts.holds_item(&item)? {
            true => found.push(candidate(item, text, relevance, now)),
            false => kept.push((item.id, CHANGED.to_owned())),
        }
    }
    let thread = referred.context.thread();
    let open = store.drift_about(thread, &question, MOST_DRIFT)?;
    found.extend(open_questions(open, thread)?);
    let rivals = rivals((store, &texts), &found, now)?;
    let turns = Turns::of(store);
    let mut history = Vec::new();
    let declared = referred.turns.clone();
    if deep {
        for (turn, relevance) in store.turns_like(&question, most(rings.ring2.items))? {
            // Without an exchange it is of a home that `audit verify` has to look at.
            let Some(exchange) = store.exchange_of_turn(turn.turn_id)? else {
                continue;
            };
            if let Some(text) = &turn.content
                && !texts.holds(&exchange, turn.by_user, text)?
            {
                kept.push((turn.turn_id.to_string(), CHANGED.to_owned()));
                continue;
            }
            history.extend(turns.candidate((&turn, &exchange), relevance, "deep")?);
        }
    }
    let imported = match deep {
        true => passages(
            (store, &texts),
            &question,
            most(rings.ring2.items),
            &mut kept,
        )?,
        false => Vec::new(),
    };
    Ok(RecallResult {
        found,
        rivals,
        declared,
        kept,
        deep: history,
        imported,
    })
}

/// Passages of imported conversations that fit the words, best first: one of each conversation.
fn passages(
    (store, texts): (&ReadStore, &StoredTexts<'_>),
    words: &[String],
    most: u32,
    kept: &mut Vec<(String, String)>,
) -> Result<Vec<Candidate>, StoreError> {
    let mut found: Vec<Candidate> = Vec::new();
    for (message, relevance) in store.imported_like(words, most)? {
        let Some(artifact) = store.artifact_of_line(message.line)? else {
            continue;
        };
        if !texts.holds_artifact(&artifact)? {
            kept.push((message.id, CHANGED.to_owned()));
            continue;
        }
        // A row may say otherwise: what the document says is on record.
        let said = content(artifact.document.as_deref()).unwrap_or_default();
        let written = MessageOnRecord::of(&said, message.i).unwrap_or(MessageOnRecord {
            role: message.role,
            model: None,
            at: message.at,
        });
        let at = written.at.or(store.time_of_line(message.line)?);
        let text = passage((&message, written.role), &said);
        let format = format_of(&said).unwrap_or(message.format);
        found.push(Candidate {
            id: message.id,
            class: CandidateClass::Imported,
            text,
            subject: None,
            source: Some(format!("{IMPORTED}:{}", format.name())),
            observed_at: at.unwrap_or(Seconds::ZERO),
            confidence: Confidence::Low,
            counts: true,
            phase: None,
            tier: 1,
            hash: artifact.commitment,
            relevance,
            here: false,
        });
    }
    Ok(found)
}

/// A message as a model is shown it: who wrote it, and behind a person's what was answered to it.
fn passage((message, role): (&ImportedMatch, ImportedRole), conversation: &Value) -> String {
    let said = |role: ImportedRole, text: &str| {
        let text: String = text.chars().take(PASSAGE).collect();
        format!("{}: {text}", role.name())
    };
    let asked = said(role, &message.text);
    if role != ImportedRole::User {
        return asked;
    }
    let place = usize::try_from(message.i).unwrap_or(usize::MAX);
    match reply_to(conversation, place) {
        Some(reply) => format!("{asked}\n{}", said(ImportedRole::Assistant, reply)),
        None => asked,
    }
}

fn most(cap: u64) -> u32 {
    u32::try_from(cap.saturating_add(OVER).min(MOST)).unwrap_or(u32::MAX)
}

/// What an item is as it could be put before a model at a moment.
fn candidate(item: Item, text: String, relevance: u64, now: Seconds) -> Candidate {
    let observed_at = item.observed_at.unwrap_or(Seconds::ZERO);
    let (class, confidence) = match item.kind {
        ItemKind::Fact => (
            CandidateClass::Fact,
            Confidence::read(item.confidence.as_deref()),
        ),
        ItemKind::Note => (CandidateClass::Note, Confidence::Low),
        ItemKind::Decision => (CandidateClass::Decision, Confidence::High),
        ItemKind::Intent => (CandidateClass::Intent, Confidence::High),
        ItemKind::Correction => (
            CandidateClass::Correction,
            Confidence::left(item.confidence_left(now)),
        ),
    };
    Candidate {
        id: item.id,
        class,
        text,
        subject: item.subject,
        source: item.source,
        observed_at,
        confidence,
        counts: item.state.is_in_force(),
        phase: item.phase,
        tier: item.tier.unwrap_or(u8::MAX),
        hash: item.hash,
        relevance,
        here: false,
    }
}

/// Open drift events, each sentence once: of several of one kind, the first.
fn open_questions(all: Vec<OpenDrift>, thread: Uuid) -> Result<Vec<Candidate>, StoreError> {
    let mut questions: Vec<Candidate> = Vec::new();
    for open in all {
        let question = open_item(open, thread)?;
        if questions.iter().all(|known| known.text != question.text) {
            questions.push(question);
        }
    }
    Ok(questions)
}

/// An open drift event in a sentence without any word of the reply.
fn open_item(open: OpenDrift, here: Uuid) -> Result<Candidate, StoreError> {
    let OpenDrift {
        drift,
        thread,
        relevance,
    } = open;
    let id = format!("driftwatch:{}", drift.drift_id);
    let issue = open_question(&drift.summary);
    let entry = OpenItem {
        id: id.clone(),
        issue: issue.clone(),
        status: "open".to_owned(),
    };
    let hash = canon::digest(&entry);
    Ok(Candidate {
        id,
        class: CandidateClass::Drift,
        text: issue,
        subject: None,
        source: Some("driftwatch".to_owned()),
        observed_at: drift.created_at,
        confidence: Confidence::High,
        counts: true,
        phase: None,
        tier: 1,
        hash: hash.map_err(|e| StoreError::Query {
            what: "print a drift event",
            reason: e.to_string(),
        })?,
        relevance,
        here: thread == Some(here),
    })
}

/// What else is in force on the subjects of what was found.
fn rivals(
    (store, texts): (&ReadStore, &StoredTexts<'_>),
    found: &[Candidate],
    now: Seconds,
) -> Result<Vec<Candidate>, StoreError> {
    let mut rivals: Vec<Candidate> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for subject in found
        .iter()
        .filter(|one| one.counts)
        .filter_map(|one| one.subject.as_deref())
    {
        if seen.contains(&subject) {
            continue;
        }
        seen.push(subject);
        for (item, text) in store.items_on(subject, MOST_RIVALS)? {
            let is_new = found.iter().all(|known| known.id != item.id);
            if is_new && texts.holds_item(&item)? {
                rivals.push(candidate(item, text, 0, now));
            }
        }
    }
    Ok(rivals)
}

/// Turns as candidates, with what says that one was withheld.
pub(super) struct Turns<'a> {
    gate: Withheld<'a>,
}

impl<'a> Turns<'a> {
    /// Over a store.
    pub(super) fn of(store: &'a ReadStore) -> Self {
        Turns {
            gate: Withheld::of(store),
        }
    }

    /// A turn with its exchange; none for an answer that no line commits to.
    pub(super) fn candidate(
        &self,
        (row, exchange): (&TurnRow, &ExchangeRow),
        relevance: u64,
        name: &str,
    ) -> Result<Option<TurnCandidate>, StoreError> {
        let outcome = exchange.outcome.as_ref();
        let (line, hash) = if row.by_user {
            (Some(exchange.prompt_line), Some(exchange.prompt_commitment))
        } else {
            (
                outcome.map(|o| o.outcome_line),
                outcome.and_then(|o| o.response_commitment),
            )
        };
        let (Some(line), Some(hash)) = (line, hash) else {
            return Ok(None);
        };
        let withheld =
            exchange.decision == "deny" || (!row.by_user && self.gate.answer_of(exchange)?);
        Ok(Some(TurnCandidate {
            turn: row.turn_id,
            by_user: row.by_user,
            at: row.created_at,
            line,
            not_kept: exchange.not_kept.is_some(),
            text: row.content.clone(),
            hash,
            withheld,
            relevance,
            declared: name.to_owned(),
        }))
    }
}
