//! Erasing texts: what is committed to them stays, and a tombstone says that they are gone.

use std::collections::BTreeSet;
use std::path::Path;

use uuid::Uuid;

use crate::app::sentence::RequestField;
use crate::ask::withheld::Withheld;
use crate::config::Config;
use crate::govern::sanitize::{Clean, redact};
use crate::models::wire::Wire;
use crate::os::shell_word;
use crate::record::ledger::council::{COUNCIL, council_of};
use crate::record::ledger::imported::{IMPORT, ImportedState};
use crate::record::ledger::item;
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::time::Seconds;
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::{ACTION, Erasure, ErasureReach, ErasureResult, RecorderError};
use crate::store::{ArtifactFilter, GivenTitle, ReadStore, StoreError};

use crate::app::ask::model_choice::server;
use crate::app::find::{self, FindError, IdKind, MeantId};
use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::look::imported::listed;
use crate::app::look::session::question_begins;
use crate::app::moment::older_than;
use crate::app::prove::handed_on::handed_on;
use crate::app::redacted::clean;
use crate::app::words::{beginning, counted};

/// So many exchanges share one transaction and one tombstone.
const AT_ONCE: usize = 200;
/// So many are erased after one turn.
const AFTER_A_TURN: u32 = 20;
const DAY: u64 = 86_400;
/// So much of what somebody wanted to have done stands beside its id.
const EXCERPT: usize = 48;
/// The reason of what a retention erases.
const RETENTION: &str = "retention";

/// What is to be erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EraseTarget {
    /// An exchange, an artifact (`fact-1`), or the name of a thread.
    One(String),
    /// All conversations that an import recorded, by its id.
    Import(String),
    /// Everything that is older than so many days, or than a moment, as it was typed.
    OlderThan(String),
    /// What `retention.content_days` says.
    Due,
}

/// What would be erased: looked up, and nothing done yet.
#[derive(Clone, Debug)]
pub struct ErasurePlan {
    /// The exchanges, oldest first; without those that were erased before.
    pub exchanges: Vec<NamedExchange>,
    /// Artifacts and names of threads, requests to act that quote such an exchange among them.
    pub artifacts: Vec<String>,
    /// How screens call them, in the same order.
    pub artifact_names: Vec<String>,
    /// Other exchanges, oldest first, that put one of these before their model or refer to one: what
    /// was sent in them can't be put together any more.
    pub contexts: Vec<NamedExchange>,
    /// Those among them that only refer to it.
    pub referring: Vec<NamedExchange>,
    /// Conversations with a title of which no text is left then: it goes, too.
    pub titles: Vec<Uuid>,
    /// What screens call them, in the same order.
    pub titled: Vec<String>,
    /// The models that the texts were sent to, each with its server as the settings have it; nothing
    /// is erased there.
    pub sent_to: Vec<String>,
    /// What screens call the exports and openings by which their words were handed on, oldest first.
    pub handed_on: Vec<String>,
    /// What screens call corrections, ratings, handoffs and reviews that were said about these exchanges:
    /// they stay.
    pub said_about: Vec<String>,
    /// How the question begins, if it is one alone that goes.
    pub question: Option<String>,
    /// What screens call the answers and reviews of councils whose record goes: they stay.
    pub council_turns: Vec<String>,
    /// The imported conversations among the artifacts.
    pub imported: Vec<ErasedImport>,
    /// How many corrections, and how many promotions and audit logs, came with the import that is meant: they
    /// stay.
    pub stay_beside: (u64, u64),
    /// Ids of imported conversations that took the place of one that goes: they stay.
    pub newer: Vec<String>,
    /// Said where nothing is left to erase.
    pub nothing: &'static str,
    /// Why, unless it was said: what is old is erased by a rule.
    reason: Option<&'static str>,
}

/// Said where nothing of one thing is left to erase.
const NOTHING_OF_IT: &str =
    "nothing to erase: its text was erased before, or was never kept; gently show says which";
/// Said where nothing of an import is left to erase.
const NOTHING_OF_IMPORT: &str = "nothing to erase: no text of it is here";
/// Said where nothing is so old as was typed.
const NOTHING_THAT_OLD: &str = "nothing to erase: nothing that still has its text is that old";
/// Said where retention.content_days is over for nothing.
const NOTHING_DUE: &str =
    "nothing to erase: nothing that still has its text is older than retention.content_days";

impl ErasurePlan {
    /// Whether nothing is left to erase.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty() && self.artifacts.is_empty() && self.titles.is_empty()
    }

    /// Other exchanges whose model was shown words that go and are still there, oldest first; without
    /// those that were said about them, which stay.
    pub fn quoting(&self) -> impl Iterator<Item = &NamedExchange> {
        let refers = |one: &NamedExchange| {
            let of = |other: &NamedExchange| other.exchange == one.exchange;
            self.referring.iter().any(of)
        };
        let has_words = |one: &NamedExchange| match self.exchanges.is_empty() {
            true => one.has_bundle,
            false => one.has_prompt,
        };
        let stays = |one: &NamedExchange| self.said_about.contains(&one.id);
        let contexts = self.contexts.iter();
        contexts.filter(move |one| !refers(one) && !stays(one) && has_words(one))
    }
}

/// An imported conversation that would be erased.
#[derive(Clone, Debug)]
pub struct ErasedImport {
    /// Its id, such as `imported:000001`.
    pub id: String,
    /// What its source called it.
    pub title: Option<String>,
    /// What a list calls it.
    pub called: String,
    /// How many messages it has.
    pub messages: u64,
    /// Whether another one took its place.
    pub is_replaced: bool,
}

impl ErasedImport {
    /// Those among some artifacts, in their order.
    fn among(store: &ReadStore, artifacts: &[String]) -> Result<Vec<ErasedImport>, OpenHomeError> {
        let mut all = Vec::new();
        for id in artifacts {
            let Some(row) = store.imported(id)? else {
                continue;
            };
            let is_replaced = row.state == ImportedState::Replaced;
            let listed = listed(store, row)?;
            all.push(ErasedImport {
                id: id.clone(),
                called: listed.called(),
                messages: listed.row.messages,
                title: listed.title,
                is_replaced,
            });
        }
        Ok(all)
    }
}

/// An exchange without a word of it.
#[derive(Clone, Debug)]
pub struct NamedExchange {
    /// Id of the exchange that would be erased.
    pub exchange: Uuid,
    /// What screens call it: `8923fa34/3`.
    pub id: String,
    /// When it was asked.
    pub asked_at: Seconds,
    /// Which model was asked.
    pub model: String,
    /// Whether it has an answer.
    pub is_answered: bool,
    /// Whether it was sent to a model.
    was_sent: bool,
    /// Whether what was sent can be put together.
    has_prompt: bool,
    /// Whether the bundle that was sent is here.
    has_bundle: bool,
    line: u64,
}

impl NamedExchange {
    fn of(store: &ReadStore, exchange: Uuid) -> Result<Option<NamedExchange>, OpenHomeError> {
        let Some(row) = store.exchange(exchange)? else {
            return Ok(None);
        };
        let Some(session) = store.session_of(row.session)? else {
            return Ok(None);
        };
        Ok(Some(NamedExchange {
            exchange,
            id: find::short_id(store, session.id, row.seq)?,
            asked_at: row.created_at,
            was_sent: row.params.is_some(),
            has_prompt: row.prompt_hash.is_some(),
            has_bundle: row.bundle_json.is_some(),
            model: row.model,
            is_answered: row.outcome.is_some_and(|end| end.turn_aurora.is_some()),
            line: row.prompt_line,
        }))
    }

    /// All of them, in the order in which they were asked.
    fn of_all(store: &ReadStore, all: &[Uuid]) -> Result<Vec<NamedExchange>, OpenHomeError> {
        let named = all.iter().map(|id| NamedExchange::of(store, *id));
        let named = named.filter_map(Result::transpose);
        let mut named = named.collect::<Result<Vec<_>, _>>()?;
        named.sort_by_key(|one| one.line);
        Ok(named)
    }
}

/// Looks up what would be erased; changes nothing.
pub fn plan(
    store: &ReadStore,
    config: &Config,
    target: &EraseTarget,
) -> Result<ErasurePlan, OpenHomeError> {
    let (limit, reason, nothing) = match target {
        EraseTarget::One(id) => return planned(store, config, &one(store, id)?, None),
        EraseTarget::Import(id) => {
            let all = store.imported_with(id)?;
            let ids = all.iter().map(|row| row.id.as_str());
            let erasure = with_emptied_imports(store, imported(store, ids)?, Some(id))?;
            let mut planned = planned(store, config, &erasure, None)?;
            planned.stay_beside = beside_import(store, id)?;
            planned.nothing = NOTHING_OF_IMPORT;
            return Ok(planned);
        }
        EraseTarget::OlderThan(typed) => {
            let limit = older_than(RequestField::OlderThan, typed, open::clock()?);
            (
                limit.map_err(OpenHomeError::Wanting)?,
                None,
                NOTHING_THAT_OLD,
            )
        }
        EraseTarget::Due => {
            let days = config.retention.content_days.ok_or_else(|| {
                OpenHomeError::Refused(
                    "retention.content_days is not set: gently config set retention.content_days DAYS"
                        .to_owned(),
                )
            })?;
            (before(days)?, Some(RETENTION), NOTHING_DUE)
        }
    };
    let old = store.kept_before(limit, u32::MAX)?;
    let erasure = texts_of(old, redact("").clean);
    let mut planned = planned(store, config, &erasure, reason)?;
    planned.nothing = nothing;
    let erased: BTreeSet<Uuid> = erasure.exchanges.into_iter().collect();
    for (row, _) in store.titled_among(u32::MAX)? {
        let newest = store.newest_message(row.thread)?;
        let newest = newest.map(|turn| store.exchange(turn)).transpose()?;
        let is_old = newest.flatten().is_some_and(|row| row.created_at < limit);
        if is_old && !has_texts_but(store, row.thread, &erased)? {
            planned.titled.push(find::short_thread(store, row.thread)?);
            planned.titles.push(row.thread);
        }
    }
    Ok(planned)
}

/// Looks up what erasing these exchanges would reach; changes nothing.
pub fn plan_for(
    store: &ReadStore,
    config: &Config,
    exchanges: Vec<Uuid>,
) -> Result<ErasurePlan, OpenHomeError> {
    planned(store, config, &texts_of(exchanges, redact("").clean), None)
}

/// Whether something of a conversation can still be read, or is to come, beside these exchanges.
fn has_texts_but(
    store: &ReadStore,
    thread: Uuid,
    erased: &BTreeSet<Uuid>,
) -> Result<bool, StoreError> {
    for id in store.exchanges_in(thread)? {
        let left = store.exchange(id)?.filter(|row| !row.is_erased());
        if left.is_some() && !erased.contains(&id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The models that exchanges were sent to, each with the server that the settings have for it.
fn sent_to(config: &Config, exchanges: &[NamedExchange]) -> Vec<String> {
    let sent = exchanges.iter().filter(|one| one.was_sent);
    let models: BTreeSet<&str> = sent.map(|one| one.model.as_str()).collect();
    let named = models.into_iter().filter_map(|model| {
        let provider = model.split_once('/')?.0;
        let wire = Wire::ALL.into_iter().find(|wire| wire.name() == provider)?;
        let (url, _) = server(wire, config);
        Some(clean(&format!("{model} at {url}")))
    });
    named.collect()
}

fn planned(
    store: &ReadStore,
    config: &Config,
    erasure: &Erasure,
    reason: Option<&'static str>,
) -> Result<ErasurePlan, OpenHomeError> {
    let reach = erasure.reach(store)?;
    let names = reach.artifacts.iter().map(|id| artifact_name(store, id));
    let exchanges = NamedExchange::of_all(store, &reach.exchanges)?;
    // Of what was erased before, nothing goes.
    let is_here = |id: &&Uuid| {
        store
            .exchange(**id)
            .is_ok_and(|row| row.is_some_and(|row| !row.is_erased()))
    };
    let here = |ids: &[Uuid]| ids.iter().filter(is_here).copied().collect::<Vec<_>>();
    let row = match exchanges.as_slice() {
        [one] => store.exchange(one.exchange)?,
        _ => None,
    };
    let row = row.filter(|row| row.not_kept.is_none() && !row.is_erased());
    let question = row.map(|row| question_begins(store, &row)).transpose()?;
    Ok(ErasurePlan {
        question: question.filter(|begins| !begins.is_empty()),
        sent_to: sent_to(config, &exchanges),
        handed_on: handed_on(store, &reach.exchanges)?
            .iter()
            .map(|id| short_name(id))
            .collect(),
        said_about: said_about(store, &reach)?,
        council_turns: council_turns(store, &reach)?,
        newer: newer(store, &reach.artifacts)?,
        imported: ErasedImport::among(store, &reach.artifacts)?,
        stay_beside: (0, 0),
        nothing: NOTHING_OF_IT,
        exchanges,
        titles: Vec::new(),
        titled: Vec::new(),
        artifact_names: names.collect::<Result<_, _>>()?,
        artifacts: reach.artifacts,
        contexts: NamedExchange::of_all(store, &here(&reach.contexts))?,
        referring: NamedExchange::of_all(store, &here(&reach.referring))?,
        reason,
    })
}

/// What screens call corrections and ratings about exchanges that go, corrections that a question among
/// them made, or whose subject repeats one, and the exchanges of handoffs that sum them up and of reviews.
fn said_about(store: &ReadStore, reach: &ErasureReach) -> Result<Vec<String>, OpenHomeError> {
    let mut named: Vec<String> = Vec::new();
    for exchange in &reach.exchanges {
        let row = store.exchange(*exchange)?;
        let question = row
            .map(|row| store.turn(row.turn_user))
            .transpose()?
            .flatten();
        let mut said = question.and_then(|turn| turn.content).unwrap_or_default();
        said.push_str(&store.review_text(*exchange)?.unwrap_or_default());
        let ids = store.said_about(*exchange, &said)?;
        for id in ids {
            if !reach.artifacts.contains(&id) && !named.contains(&id) {
                named.push(id);
            }
        }
    }
    let mut named: Vec<String> = named.iter().map(|id| short_name(id)).collect();
    // What sums it up or reviews it has its words in another exchange, and what sums that up, too.
    let mut seen: BTreeSet<Uuid> = reach.exchanges.iter().copied().collect();
    let mut next: Vec<Uuid> = reach.exchanges.iter().rev().copied().collect();
    while let Some(exchange) = next.pop() {
        for (about, is_there) in store.said_of(exchange)? {
            if !seen.insert(about) {
                continue;
            }
            next.push(about);
            if is_there {
                let id = find::short_id_of(store, about)?;
                named.push(id.unwrap_or_else(|| about.to_string()));
            }
        }
    }
    Ok(named)
}

/// What screens call the answers and reviews, as far as they are here, of councils whose record goes.
fn council_turns(store: &ReadStore, reach: &ErasureReach) -> Result<Vec<String>, OpenHomeError> {
    let mut named: Vec<String> = Vec::new();
    let is_council = |id: &&String| id.split(':').next() == Some(COUNCIL);
    for id in reach.artifacts.iter().filter(is_council) {
        let rows = store.artifacts(ArtifactFilter::Id(id))?;
        let said = rows
            .iter()
            .find_map(|row| council_of(row.line, &row.kind, &row.id, row.document.as_deref()));
        let Some(said) = said else { continue };
        let answers = said.answers.iter().map(|one| one.exchange);
        for exchange in answers.chain(said.reviews.iter().map(|one| one.exchange)) {
            let row = store.exchange(exchange)?;
            if reach.exchanges.contains(&exchange) || row.is_none_or(|row| row.is_erased()) {
                continue;
            }
            let name = find::short_id_of(store, exchange)?;
            let name = name.unwrap_or_else(|| exchange.to_string());
            if !named.contains(&name) {
                named.push(name);
            }
        }
    }
    Ok(named)
}

fn one(store: &ReadStore, id: &str) -> Result<Erasure, OpenHomeError> {
    let artifact = |id: String| Erasure {
        exchanges: Vec::new(),
        artifacts: vec![id],
        reason: redact("").clean,
    };
    // A thread may be called as a fact is.
    let named = record_name(id).filter(|_| find::thread(store, id).is_err());
    if let Some(named) = named.or_else(|| id.contains(':').then(|| id.to_owned())) {
        refuse_import_alone(store, &named)?;
        let erasure = match store.imported(&named)? {
            Some(_) => imported(store, std::iter::once(named.as_str()))?,
            None => artifact(named),
        };
        return with_emptied_imports(store, erasure, None);
    }
    match find::exchange(store, id) {
        Ok(exchange) => Ok(texts_of(vec![exchange.exchange_id], redact("").clean)),
        // The name of a thread is a text, too.
        Err(other) => match find::thread(store, id) {
            Ok(thread) if thread.number > 0 && find::is_whole(&thread, id) => {
                Ok(artifact(thread.thread.to_string()))
            }
            _ => Err(not_erased(store, id, other)),
        },
    }
}

/// The record of an import goes by itself only once no conversation of it is here: who names it means those,
/// too.
fn refuse_import_alone(store: &ReadStore, id: &str) -> Result<(), OpenHomeError> {
    let is_import = id.split(':').next() == Some(IMPORT);
    if !is_import || store.imported_with(id)?.is_empty() {
        return Ok(());
    }
    let name = short_name(id);
    Err(OpenHomeError::Refused(format!(
        "{name} is {}, and its conversations are still here: gently import erase {name} erases them",
        IdKind::Import.called()
    )))
}

/// Imported conversations, each with what it took the place of, which says nearly the same. The older ones
/// go first; what took its place came with a later import, and stays.
fn imported<'a>(
    store: &ReadStore,
    ids: impl Iterator<Item = &'a str>,
) -> Result<Erasure, OpenHomeError> {
    let (mut artifacts, mut seen) = (Vec::new(), BTreeSet::new());
    for id in ids {
        for version in store.imported_versions(id)? {
            if seen.insert(version.clone()) {
                artifacts.push(version);
            }
        }
    }
    Ok(Erasure {
        exchanges: Vec::new(),
        artifacts,
        reason: redact("").clean,
    })
}

/// With the imports of which no text is left then, the one that is meant among them: the hash of its file
/// would let a text that is erased be guessed.
fn with_emptied_imports(
    store: &ReadStore,
    erasure: Erasure,
    meant: Option<&str>,
) -> Result<Erasure, OpenHomeError> {
    let Erasure { mut artifacts, .. } = erasure;
    let mut imports: BTreeSet<String> = meant.map(str::to_owned).into_iter().collect();
    for id in &artifacts {
        imports.extend(store.import_of(id)?);
    }
    let going: BTreeSet<String> = artifacts.iter().cloned().collect();
    let is_emptied = |import: &str| -> Result<bool, StoreError> {
        let texts = store.texts_of_import(import)?;
        Ok(texts.iter().all(|id| going.contains(id)) && store.has_artifact(IMPORT, import)?)
    };
    let mut emptied = BTreeSet::new();
    for import in imports {
        if !is_emptied(&import)? {
            continue;
        }
        // Whoever imported the file again has its hash there, too.
        for again in store.imports_of_same_file(&import)? {
            if is_emptied(&again)? {
                emptied.insert(again);
            }
        }
        emptied.insert(import);
    }
    artifacts.extend(emptied);
    Ok(Erasure {
        artifacts,
        ..erasure
    })
}

/// How many corrections came with an import, and how much else beside its conversations, as its record says.
fn beside_import(store: &ReadStore, id: &str) -> Result<(u64, u64), StoreError> {
    let row = store.artifacts(ArtifactFilter::Id(id))?.into_iter().next();
    let content = row.and_then(|row| item::content(row.document.as_deref()));
    let corrections = content.map_or(0, |said| said["corrections"].as_u64().unwrap_or_default());
    let conversations = store.imported_with(id)?.len();
    let others = store
        .texts_of_import(id)?
        .len()
        .saturating_sub(conversations);
    Ok((corrections, u64::try_from(others).unwrap_or(u64::MAX)))
}

/// Imported conversations that took the place of some that go, and are not among them.
fn newer(store: &ReadStore, going: &[String]) -> Result<Vec<String>, StoreError> {
    let mut newer = BTreeSet::new();
    for id in going {
        newer.extend(store.newer_versions(id)?);
    }
    let going: BTreeSet<&String> = going.iter().collect();
    newer.retain(|id| !going.contains(id));
    Ok(newer.into_iter().collect())
}

/// What a person does instead with an id of which nothing is erased by itself.
fn not_erased(store: &ReadStore, id: &str, unfound: FindError) -> OpenHomeError {
    let Ok(MeantId { kind, .. }) = find::any(store, id) else {
        return unfound.into();
    };
    let id = spelled_on_a_line(id.trim());
    let command = match kind {
        IdKind::Conversation => format!(
            "gently conversation delete {} erases all of it",
            shell_word(Path::new(&id))
        ),
        IdKind::Session => {
            format!("gently erase {id}/1 erases one question of it, with the answer")
        }
        _ => return unfound.into(),
    };
    OpenHomeError::Refused(format!("'{id}' is {}: {command}", kind.called()))
}

/// How screens call what was erased.
pub struct ErasedNames {
    /// Names of the erased exchanges, such as `8e96540d/5`.
    pub exchanges: Vec<String>,
    /// Facts and the like, and threads that had a name.
    pub artifacts: Vec<String>,
    /// Exchanges whose prompts quoted them, oldest first.
    pub quoting: Vec<String>,
}

/// How screens call an artifact, or a thread whose name is a text. A request to act is named with what
/// was wanted, unless that quotes an answer that is withheld.
fn artifact_name(store: &ReadStore, id: &str) -> Result<String, OpenHomeError> {
    if let Ok(thread) = id.parse::<Uuid>() {
        let short = find::short_thread(store, thread)?;
        let row = store.conversation(thread)?;
        let is_titled = row.is_some_and(|row| row.title_line.is_some());
        return Ok(match is_titled {
            true => format!("the title of conversation {short}"),
            false => format!("the name of thread {short}"),
        });
    }
    let wanted = match id.starts_with(ACTION) {
        true => wanted(store, id)?,
        false => None,
    };
    Ok(match wanted {
        Some(what) => format!("{} ({})", short_name(id), beginning(&what, EXCERPT)),
        None => short_name(id),
    })
}

/// What a request to act wants; none once erased, where it is not kept, and where it quotes a withheld
/// answer.
fn wanted(store: &ReadStore, id: &str) -> Result<Option<String>, StoreError> {
    let row = store.artifacts(ArtifactFilter::Id(id))?.into_iter().next();
    let content = row.and_then(|row| item::content(row.document.as_deref()));
    let Some(content) = content else {
        return Ok(None);
    };
    if Withheld::of(store).is_quoted_in(&content)? {
        return Ok(None);
    }
    Ok(content["what"].as_str().map(str::to_owned))
}

/// The names of what was erased by a plan.
pub fn names(
    opened: &OpenHome,
    plan: &ErasurePlan,
    erased: &ErasureResult,
) -> Result<ErasedNames, OpenHomeError> {
    let store = &opened.store;
    let exchange = |id: &Uuid| {
        let short = find::short_id_of(store, *id)?;
        Ok::<_, OpenHomeError>(short.unwrap_or_else(|| id.to_string()))
    };
    Ok(ErasedNames {
        exchanges: erased
            .exchanges
            .iter()
            .map(exchange)
            .collect::<Result<_, _>>()?,
        artifacts: erased
            .artifacts
            .iter()
            .map(|id| artifact_name(store, id))
            .collect::<Result<_, _>>()?,
        quoting: plan.quoting().map(|one| one.id.clone()).collect(),
    })
}

/// An erasing of many that was stopped: portions before that are on record, and those behind it are not
/// begun.
#[derive(Debug, thiserror::Error)]
#[error("{}. What stopped it: {cause}", self.words())]
pub struct StoppedErasing {
    /// How many exchanges are erased, which is on record.
    pub erased: usize,
    /// How many there are of which only the next start shows it.
    pub unknown: usize,
    /// How many are not.
    pub left: usize,
    /// How many titles of conversations are not.
    pub titles_left: usize,
    /// What failed.
    pub cause: RecorderError,
    /// What goes on with the rest.
    pub next: String,
}

impl StoppedErasing {
    /// In the portion `n`, from 0, of some exchanges and, behind them, of so many titles.
    fn at(n: usize, exchanges: &[Uuid], titles: usize, cause: RecorderError) -> Self {
        let all = exchanges.len();
        let (begin, end) = ((n * AT_ONCE).min(all), ((n + 1) * AT_ONCE).min(all));
        let is_of_titles = begin == all;
        let (erased, unknown) = match (cause.is_recorded(), cause.is_unknown()) {
            (true, _) => (end, 0),
            (false, true) => (begin, end - begin),
            (false, false) => (begin, 0),
        };
        StoppedErasing {
            erased,
            unknown,
            left: all - erased - unknown,
            titles_left: match is_of_titles && cause.is_recorded() {
                true => 0,
                false => titles,
            },
            cause,
            next: "The same command, given again,".to_owned(),
        }
    }

    /// The same where another command goes on with the rest.
    pub fn goes_on_with(self, command: &str) -> Self {
        StoppedErasing {
            next: format!("`{command}`"),
            ..self
        }
    }

    /// Of a plan that has one portion.
    pub fn at_once(plan: &ErasurePlan, cause: RecorderError) -> Self {
        let exchanges: Vec<Uuid> = plan.exchanges.iter().map(|one| one.exchange).collect();
        StoppedErasing::at(0, &exchanges, plan.titles.len(), cause)
    }

    /// Behind the exchanges of a conversation, with the title that somebody gave it.
    pub fn at_title(erased: usize, cause: RecorderError) -> Self {
        StoppedErasing {
            erased,
            unknown: 0,
            left: 0,
            titles_left: usize::from(!cause.is_recorded()),
            cause,
            next: String::new(),
        }
    }

    fn words(&self) -> String {
        let all = counted(self.erased + self.unknown + self.left, "exchange");
        let mut words = format!("erased, and on record as erased: {} of {all}", self.erased);
        if self.unknown > 0 {
            words.push_str(&format!("; of {} the next start shows it", self.unknown));
        }
        let exchanges = (self.left > 0).then(|| counted(self.left, "exchange"));
        let titles = (self.titles_left > 0)
            .then(|| format!("{} of conversations", counted(self.titles_left, "title")));
        let left: Vec<String> = exchanges.into_iter().chain(titles).collect();
        if !left.is_empty() {
            let left = left.join(" and ");
            let next = &self.next;
            words.push_str(&format!(
                "; not erased: {left}. {next} goes on with what is left"
            ));
        }
        words
    }
}

/// Erases what a plan names; what was erased since is passed over. The auth key was asked for.
pub async fn erase(
    opened: &OpenHome,
    plan: &ErasurePlan,
    reason: &str,
) -> Result<ErasureResult, OpenHomeError> {
    let reason = redact(plan.reason.unwrap_or(reason).trim()).clean;
    let mut all = ErasureResult {
        scrubbed: true,
        ..ErasureResult::default()
    };
    let exchanges: Vec<Uuid> = plan.exchanges.iter().map(|one| one.exchange).collect();
    let some = exchanges.chunks(AT_ONCE);
    let mut steps: Vec<Erasure> = some
        .map(|some| texts_of(some.to_vec(), reason.clone()))
        .collect();
    // What quotes an exchange goes with it.
    let mut named = match exchanges.is_empty() {
        true => plan.artifacts.clone(),
        false => Vec::new(),
    };
    named.extend(plan.titles.iter().map(Uuid::to_string));
    for some in named.chunks(AT_ONCE) {
        steps.push(Erasure {
            exchanges: Vec::new(),
            artifacts: some.to_vec(),
            reason: reason.clone(),
        });
    }
    let portions = steps.len();
    for (n, step) in steps.into_iter().enumerate() {
        let erased = match record(opened, step).await {
            Err(OpenHomeError::Recorder(cause)) if portions > 1 => {
                return Err(StoppedErasing::at(n, &exchanges, plan.titles.len(), cause).into());
            }
            done => done?,
        };
        all.exchanges.extend(erased.exchanges);
        all.artifacts.extend(erased.artifacts);
        all.contexts.extend(erased.contexts);
        (all.scrubbed, all.unscrubbed) = (erased.scrubbed, erased.unscrubbed);
    }
    if !all.exchanges.is_empty() || !all.artifacts.is_empty() {
        match opened.recorder.forget_first_letters() {
            Ok(Some(scrubbed)) => (all.scrubbed, all.unscrubbed) = (scrubbed, None),
            Ok(None) => all.letters_stay = true,
            // What was asked for is done and on record, whatever came of this.
            Err(why) => {
                all.letters_stay = true;
                all.unwritten = Some(why.to_string());
                if all.scrubbed && opened.store.is_to_scrub()? {
                    (all.scrubbed, all.unscrubbed) = (false, Some(why.to_string()));
                }
            }
        }
    }
    let place = |id: &Uuid| plan.contexts.iter().position(|one| one.exchange == *id);
    all.contexts.sort_by_key(place);
    all.contexts.dedup();
    Ok(all)
}

/// Erases what was recorded under one id of an artifact, such as the titles of a conversation; the auth
/// key was asked for.
pub async fn erase_named(
    opened: &OpenHome,
    id: String,
    reason: &str,
) -> Result<ErasureResult, OpenHomeError> {
    let erasure = Erasure {
        exchanges: Vec::new(),
        artifacts: vec![id],
        reason: redact(reason.trim()).clean,
    };
    record(opened, erasure).await
}

/// Erases some of what the retention is over for, and says what came of it; what fails is tried
/// again after the next turn.
pub async fn some_that_is_due(opened: &OpenHome) -> Option<String> {
    let days = opened.config.retention.content_days?;
    let found = before(days).and_then(|limit| Ok(opened.store.kept_before(limit, AFTER_A_TURN)?));
    let exchanges: Vec<Uuid> = found.unwrap_or_default();
    if exchanges.is_empty() {
        return None;
    }
    Some(match due(opened, exchanges).await {
        Ok(erased) => {
            let questions = counted(erased.exchanges.len(), "question");
            format!("erased {questions} older than {days} days")
        }
        Err(e) => format!("what is older than {days} days could not be erased: {e}"),
    })
}

/// Erases exchanges for their age, and the titles of conversations of which nothing is left then.
async fn due(opened: &OpenHome, exchanges: Vec<Uuid>) -> Result<ErasureResult, OpenHomeError> {
    let store = &opened.store;
    let reason = redact(RETENTION).clean;
    let mut erased = record(opened, texts_of(exchanges, reason.clone())).await?;
    let mut emptied = BTreeSet::new();
    for id in &erased.exchanges {
        let Some(turn) = store.thread_turn(*id)? else {
            continue;
        };
        let row = store.conversation(turn.thread)?;
        let given = row.map(|row| store.given_title(&row)).transpose()?;
        if matches!(given, Some(GivenTitle::Text(_)))
            && !has_texts_but(store, turn.thread, &BTreeSet::new())?
        {
            emptied.insert(turn.thread.to_string());
        }
    }
    if !emptied.is_empty() {
        let titles = Erasure {
            exchanges: Vec::new(),
            artifacts: emptied.into_iter().collect(),
            reason,
        };
        let titles = record(opened, titles).await?;
        erased.artifacts.extend(titles.artifacts);
        (erased.scrubbed, erased.unscrubbed) = (titles.scrubbed, titles.unscrubbed);
    }
    Ok(erased)
}

fn texts_of(exchanges: Vec<Uuid>, reason: Clean) -> Erasure {
    Erasure {
        exchanges,
        artifacts: Vec::new(),
        reason,
    }
}

async fn record(opened: &OpenHome, erasure: Erasure) -> Result<ErasureResult, OpenHomeError> {
    Ok(opened
        .recorder
        .erase(erasure, open::fresh_salt()?, open::clock()?)
        .await?)
}

/// The time so many days ago.
fn before(days: u64) -> Result<Seconds, OpenHomeError> {
    let now = open::clock()?.get();
    Seconds::new(now.saturating_sub(days.saturating_mul(DAY))).map_err(|_| OpenHomeError::Clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(n: usize, titles: usize, cause: RecorderError) -> String {
        StoppedErasing::at(n, &[Uuid::nil(); 450], titles, cause).to_string()
    }

    #[test]
    fn what_is_erased_and_what_is_not_is_counted() {
        let fault = || RecorderError::Fault { step: "x" };
        let told = stopped(1, 2, fault());
        assert!(
            told.starts_with(
                "erased, and on record as erased: 200 of 450 exchanges; not erased: 250 exchanges and 2 titles of"
            ),
            "{told}"
        );
        let told = stopped(2, 0, RecorderError::Stopped);
        assert!(
            told.starts_with("erased, and on record as erased: 400 of 450 exchanges; of 50 the next start shows it."),
            "{told}"
        );
        let unfinished = RecorderError::Unfinished(std::sync::Arc::new(fault()));
        let told = stopped(1, 0, unfinished);
        assert!(
            told.contains("400 of 450 exchanges; not erased: 50 exchanges."),
            "{told}"
        );
        let told = stopped(3, 1, fault());
        assert!(
            told.contains("450 of 450 exchanges; not erased: 1 title of conversations."),
            "{told}"
        );
    }
}
