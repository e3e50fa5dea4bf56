//! `gently erase`: text and salt are destroyed, what is committed to them stays, a tombstone says
//! so.

use serde_json::json;
use uuid::Uuid;

use crate::govern::sanitize::redact;
use crate::record::time::Seconds;
use crate::recorder::{Erasure, ErasureResult};
use crate::store::{ExchangeRow, Find as _, ReadStore as _};

use super::args::EraseArgs;
use super::screen::quiet;
use super::{FINE, could_not, print, say};
use crate::app::find;
use crate::app::open;
use crate::app::open::{OpenHome, OpenHomeError};

/// So many exchanges share one transaction and one tombstone.
const AT_ONCE: u32 = 200;
/// So many are erased after one turn.
const AFTER_A_TURN: u32 = 20;
const DAY: u64 = 86_400;
/// The reason of what a retention erases.
const RETENTION: &str = "retention";

/// Erases what is named, or what is old.
pub async fn run(args: &EraseArgs, json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(open::existing_home()?)?;
    opened.authorize().await?;
    let reason = redact(args.reason.as_deref().unwrap_or("asked for").trim()).clean;
    let mut all = ErasureResult {
        scrubbed: true,
        ..ErasureResult::default()
    };
    if let Some(id) = &args.id {
        let (exchanges, artifacts) = match id.contains(':') {
            true => (Vec::new(), vec![id.clone()]),
            false => match find::exchange(&opened.store, id) {
                Ok(exchange) => {
                    say(&named(&opened, &exchange)?);
                    (vec![exchange.exchange_id], Vec::new())
                }
                // The name of a thread is a text, too.
                Err(other) => match find::thread(&opened.store, id) {
                    Ok(thread) if thread.number > 0 => {
                        (Vec::new(), vec![thread.thread.to_string()])
                    }
                    _ => return Err(other.into()),
                },
            },
        };
        all = erase(
            &opened,
            Erasure {
                exchanges,
                artifacts,
                reason,
            },
        )
        .await?;
        return report(&all, json);
    }
    let days = if args.due {
        opened.config.retention.content_days
    } else {
        args.older_than
    };
    let Some(days) = days else {
        return Ok(could_not(
            "retention.content_days is not set: gently config set retention.content_days DAYS",
            json,
        ));
    };
    let limit = before(days)?;
    loop {
        let exchanges = opened.store.kept_before(limit, AT_ONCE)?;
        if exchanges.is_empty() {
            return report(&all, json);
        }
        let reason = if args.due {
            redact(RETENTION).clean
        } else {
            reason.clone()
        };
        let erased = erase(
            &opened,
            Erasure {
                exchanges,
                artifacts: Vec::new(),
                reason,
            },
        )
        .await?;
        all.exchanges.extend(erased.exchanges);
        all.artifacts.extend(erased.artifacts);
        all.contexts.extend(erased.contexts);
        all.scrubbed = erased.scrubbed;
    }
}

/// Erases some of what the retention is over for; what fails is tried again after the next turn.
pub async fn some_that_is_due(opened: &OpenHome) {
    let Some(days) = opened.config.retention.content_days else {
        return;
    };
    let found = before(days).and_then(|limit| Ok(opened.store.kept_before(limit, AFTER_A_TURN)?));
    let exchanges: Vec<Uuid> = found.unwrap_or_default();
    if exchanges.is_empty() {
        return;
    }
    let erasure = Erasure {
        exchanges,
        artifacts: Vec::new(),
        reason: redact(RETENTION).clean,
    };
    match erase(opened, erasure).await {
        Ok(erased) => {
            let count = erased.exchanges.len();
            let exchanges = if count == 1 { "exchange" } else { "exchanges" };
            say(&format!(
                "erased {count} {exchanges} older than {days} days"
            ));
        }
        Err(e) => say(&format!(
            "what is older than {days} days could not be erased: {e}"
        )),
    }
}

/// Which exchange that is, without a word of it.
fn named(opened: &OpenHome, exchange: &ExchangeRow) -> Result<String, OpenHomeError> {
    let session = opened
        .store
        .sessions_like(&exchange.session.to_string(), 1)?
        .pop();
    let session = session.map_or_else(String::new, |row| {
        format!(" of session {}", row.id.short16())
    });
    Ok(format!(
        "prompt {}{session}, to {}",
        exchange.seq,
        quiet(&exchange.model)
    ))
}

async fn erase(opened: &OpenHome, what: Erasure) -> Result<ErasureResult, OpenHomeError> {
    Ok(opened
        .recorder
        .erase(what, open::fresh_salt()?, open::clock()?)
        .await?)
}

/// The time so many days ago.
fn before(days: u64) -> Result<Seconds, OpenHomeError> {
    let now = open::clock()?.get();
    Seconds::new(now.saturating_sub(days.saturating_mul(DAY))).map_err(|_| OpenHomeError::Clock)
}

fn report(erased: &ErasureResult, json: bool) -> Result<u8, OpenHomeError> {
    let ids = |list: &[Uuid]| list.iter().map(Uuid::to_string).collect::<Vec<_>>();
    let nothing = erased.exchanges.is_empty() && erased.artifacts.is_empty();
    if !erased.scrubbed {
        say(
            "another program reads the database: a copy may stand in gently.db-wal until the next gently starts \
             without it",
        );
    }
    if json {
        let facts = json!({
            "exchanges": ids(&erased.exchanges), "artifacts": erased.artifacts, "contexts": ids(&erased.contexts),
            "erased": !nothing, "scrubbed": erased.scrubbed,
        });
        return Ok(print(&format!("{facts}\n")));
    }
    if nothing {
        say("nothing to erase: it was erased before, was never kept, or nothing is that old");
        return Ok(FINE);
    }
    let mut lines: Vec<String> = ids(&erased.exchanges)
        .iter()
        .map(|id| format!("erased exchange {id}"))
        .collect();
    lines.extend(
        erased
            .artifacts
            .iter()
            .map(|id| format!("erased {}", quiet(id))),
    );
    lines.extend(
        ids(&erased.contexts)
            .iter()
            .map(|id| format!("its words stood in the prompt of {id}, now gone too")),
    );
    say("an older backup still holds what it held; so does whoever was sent it");
    Ok(print(&format!("{}\n", lines.join("\n"))))
}
