//! Erasing texts: what is committed to them stays, and a tombstone says that they are gone.

use uuid::Uuid;

use crate::govern::sanitize::{Clean, redact};
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::time::Seconds;
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::{Erasure, ErasureResult};
use crate::store::ExchangeRow;

use super::find;
use super::open::{self, OpenHome, OpenHomeError};

/// So many exchanges share one transaction and one tombstone.
const AT_ONCE: u32 = 200;
/// So many are erased after one turn.
const AFTER_A_TURN: u32 = 20;
const DAY: u64 = 86_400;
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

/// Erases what is named, or what is old; the auth key is asked for.
pub async fn erase(
    opened: &OpenHome,
    target: &EraseTarget,
    reason: &str,
    notice: &dyn Fn(&str),
) -> Result<ErasureResult, OpenHomeError> {
    opened.authorize().await?;
    let reason = redact(reason.trim()).clean;
    match target {
        EraseTarget::One(id) => one(opened, id, reason, notice).await,
        EraseTarget::OlderThan(days) => older_than(opened, *days, reason).await,
        EraseTarget::Due => {
            let days = opened.config.retention.content_days.ok_or_else(|| {
                OpenHomeError::Refused(
                    "retention.content_days is not set: gently config set retention.content_days DAYS"
                        .to_owned(),
                )
            })?;
            older_than(opened, days, redact(RETENTION).clean).await
        }
    }
}

async fn one(
    opened: &OpenHome,
    id: &str,
    reason: Clean,
    notice: &dyn Fn(&str),
) -> Result<ErasureResult, OpenHomeError> {
    // A thread may be called as a fact is.
    let named = record_name(id).filter(|_| find::thread(&opened.store, id).is_err());
    let named = named.or_else(|| id.contains(':').then(|| id.to_owned()));
    let (exchanges, artifacts) = match named {
        Some(named) => (Vec::new(), vec![named]),
        None => match find::exchange(&opened.store, id) {
            Ok(exchange) => {
                notice(&name(opened, &exchange)?);
                (vec![exchange.exchange_id], Vec::new())
            }
            // The name of a thread is a text, too.
            Err(other) => match find::thread(&opened.store, id) {
                Ok(thread) if thread.number > 0 => (Vec::new(), vec![thread.thread.to_string()]),
                _ => return Err(other.into()),
            },
        },
    };
    let erasure = Erasure {
        exchanges,
        artifacts,
        reason,
    };
    record(opened, erasure).await
}

/// How screens call what was erased.
pub struct ErasedNames {
    /// Exchanges.
    pub exchanges: Vec<String>,
    /// Facts and the like, and threads that had a name.
    pub artifacts: Vec<String>,
    /// Exchanges whose prompts quoted them.
    pub contexts: Vec<String>,
}

/// The names of what was erased.
pub fn names(opened: &OpenHome, erased: &ErasureResult) -> Result<ErasedNames, OpenHomeError> {
    let store = &opened.store;
    let exchange = |id: &Uuid| {
        let short = find::short_id_of(store, *id)?;
        Ok::<_, OpenHomeError>(short.unwrap_or_else(|| id.to_string()))
    };
    let artifact = |id: &String| match id.parse() {
        Ok(thread) => Ok(format!(
            "the name of thread {}",
            find::short_thread(store, thread)?
        )),
        Err(_) => Ok::<_, OpenHomeError>(short_name(id)),
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
            .map(artifact)
            .collect::<Result<_, _>>()?,
        contexts: erased
            .contexts
            .iter()
            .map(exchange)
            .collect::<Result<_, _>>()?,
    })
}

async fn older_than(
    opened: &OpenHome,
    days: u64,
    reason: Clean,
) -> Result<ErasureResult, OpenHomeError> {
    let limit = before(days)?;
    let mut all = ErasureResult {
        scrubbed: true,
        ..ErasureResult::default()
    };
    loop {
        let exchanges = opened.store.kept_before(limit, AT_ONCE)?;
        if exchanges.is_empty() {
            return Ok(all);
        }
        let erased = record(opened, texts_of(exchanges, reason.clone())).await?;
        all.exchanges.extend(erased.exchanges);
        all.artifacts.extend(erased.artifacts);
        all.contexts.extend(erased.contexts);
        all.scrubbed = erased.scrubbed;
    }
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

/// Which exchange that is, without a word of it.
fn name(opened: &OpenHome, exchange: &ExchangeRow) -> Result<String, OpenHomeError> {
    Ok(format!(
        "{}, to {}",
        find::short_id_of_row(&opened.store, exchange)?,
        spelled_on_a_line(&exchange.model)
    ))
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
