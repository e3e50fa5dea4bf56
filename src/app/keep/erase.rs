//! Erasing texts: what is committed to them stays, and a tombstone says that they are gone.

use uuid::Uuid;

use crate::config::Config;
use crate::govern::sanitize::{Clean, redact};
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::time::Seconds;
use crate::recorder::{Erasure, ErasureResult};
use crate::store::{ReadStore, ThreadRow};

use crate::app::find;
use crate::app::home::open::{self, OpenHome, OpenHomeError};

/// So many exchanges share one transaction and one tombstone.
const AT_ONCE: usize = 200;
/// So many are erased after one turn.
const AFTER_A_TURN: u32 = 20;
const DAY: u64 = 86_400;
/// How many digits of a thread's id name it when something of it is to be destroyed.
const DIGITS: usize = 8;
/// The reason of what a retention erases.
const RETENTION: &str = "retention";

/// What is to be erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EraseTarget {
    /// An exchange, an artifact (`fact-1`), or the name of a thread.
    One(String),
    /// Everything that is older than so many days.
    OlderThan(u64),
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
    /// Why, unless it was said: what is old is erased by a rule.
    reason: Option<&'static str>,
}

impl ErasurePlan {
    /// Whether nothing is left to erase.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty() && self.artifacts.is_empty()
    }

    /// Other exchanges whose model was shown words that go, oldest first.
    pub fn quoting(&self) -> impl Iterator<Item = &NamedExchange> {
        let refers = |one: &NamedExchange| {
            let of = |other: &NamedExchange| other.exchange == one.exchange;
            self.referring.iter().any(of)
        };
        self.contexts.iter().filter(move |one| !refers(one))
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
    let (erasure, reason) = match target {
        EraseTarget::One(id) => (one(store, id)?, None),
        EraseTarget::OlderThan(days) => (old(store, *days)?, None),
        EraseTarget::Due => {
            let days = config.retention.content_days.ok_or_else(|| {
                OpenHomeError::Refused(
                    "retention.content_days is not set: gently config set retention.content_days DAYS"
                        .to_owned(),
                )
            })?;
            (old(store, days)?, Some(RETENTION))
        }
    };
    planned(store, &erasure, reason)
}

/// Looks up what erasing these exchanges would reach; changes nothing.
pub fn plan_for(store: &ReadStore, exchanges: Vec<Uuid>) -> Result<ErasurePlan, OpenHomeError> {
    planned(store, &texts_of(exchanges, redact("").clean), None)
}

fn planned(
    store: &ReadStore,
    erasure: &Erasure,
    reason: Option<&'static str>,
) -> Result<ErasurePlan, OpenHomeError> {
    let reach = erasure.reach(store)?;
    let names = reach.artifacts.iter().map(|id| artifact_name(store, id));
    Ok(ErasurePlan {
        exchanges: NamedExchange::of_all(store, &reach.exchanges)?,
        artifact_names: names.collect::<Result<_, _>>()?,
        artifacts: reach.artifacts,
        contexts: NamedExchange::of_all(store, &reach.contexts)?,
        referring: NamedExchange::of_all(store, &reach.referring)?,
        reason,
    })
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
        return Ok(artifact(named));
    }
    match find::exchange(store, id) {
        Ok(exchange) => Ok(texts_of(vec![exchange.exchange_id], redact("").clean)),
        // The name of a thread is a text, too.
        Err(other) => match find::thread(store, id) {
            Ok(thread) if thread.number > 0 && is_meant(&thread, id) => {
                Ok(artifact(thread.thread.to_string()))
            }
            _ => Err(other.into()),
        },
    }
}

/// Whether a thread is what is to be erased: by its whole name, or by eight digits or more. Fewer
/// are soon typed for something else.
fn is_meant(thread: &ThreadRow, id: &str) -> bool {
    let digits = id.chars().filter(char::is_ascii_hexdigit).count();
    thread.name.as_deref() == Some(id) || digits >= DIGITS
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

/// How screens call an artifact, or a thread whose name is a text.
fn artifact_name(store: &ReadStore, id: &str) -> Result<String, OpenHomeError> {
    Ok(match id.parse() {
        Ok(thread) => format!("the name of thread {}", find::short_thread(store, thread)?),
        Err(_) => short_name(id),
    })
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

fn old(store: &ReadStore, days: u64) -> Result<Erasure, OpenHomeError> {
    let exchanges = store.kept_before(before(days)?, u32::MAX)?;
    Ok(texts_of(exchanges, redact("").clean))
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
    if exchanges.is_empty() && !plan.artifacts.is_empty() {
        steps.push(Erasure {
            exchanges,
            artifacts: plan.artifacts.clone(),
            reason,
        });
    }
    for step in steps {
        let erased = record(opened, step).await?;
        all.exchanges.extend(erased.exchanges);
        all.artifacts.extend(erased.artifacts);
        all.contexts.extend(erased.contexts);
        all.scrubbed = erased.scrubbed;
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
    let erasure = texts_of(exchanges, redact(RETENTION).clean);
    Some(match record(opened, erasure).await {
        Ok(erased) => {
            let count = erased.exchanges.len();
            let exchanges = if count == 1 { "exchange" } else { "exchanges" };
            format!("erased {count} {exchanges} older than {days} days")
        }
        Err(e) => format!("what is older than {days} days could not be erased: {e}"),
    })
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
