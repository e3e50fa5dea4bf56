//! What replay computes again of any exchange: its events, its bundle, its record; and how values are compared.

use crate::continuity::candidate::Recalled;
use crate::continuity::compile::{Inputs, compile};
use crate::govern::kernel::Kernel;
use crate::govern::sanitize::Clean;
use crate::record::bundle::Bundle;
use crate::record::context::event::Kind;
use crate::record::hash::Hash32;
use crate::store::{ExchangeRow, SessionRow};

use super::super::contexts::{Context, ContextFault, event_again};
use super::super::exchange_rows::Rows;
use super::{Outcome, Replay, ReplayError};

/// Why there is no prompt to compile.
pub(super) const NOTHING_SENT: &str = "nothing was to be sent";

/// Whether a value on record is the one that was computed again.
pub(super) fn same<T: PartialEq + std::fmt::Display>(what: &str, recorded: Option<T>, again: Option<T>) -> Outcome {
    if recorded == again {
        return Outcome::Holds;
    }
    let told = |value: Option<T>| value.map_or("none".to_owned(), |value| value.to_string());
    Outcome::Fails(format!("{what}: on record {}, computed again {}", told(recorded), told(again)))
}

/// The first of several outcomes that does not hold.
pub(super) fn worst(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    let mut worst = Outcome::Holds;
    for outcome in outcomes {
        match (&worst, &outcome) {
            (Outcome::Fails(_), _) => {}
            (_, Outcome::Fails(_)) | (Outcome::Holds, Outcome::NotChecked(_)) => worst = outcome,
            _ => {}
        }
    }
    worst
}

/// The events of a turn against the log's order, and against their texts where those are here.
pub(super) fn events(replay: &Replay<'_>, context: &Context, rows: &Rows<'_>) -> Result<Outcome, ReplayError> {
    let placed = replay.stream.of_turn(context.row.turn);
    if placed.is_empty() {
        let behind = rows.exchange.prompt_line >= replay.stream.lines;
        return Ok(match behind {
            true => Outcome::NotChecked("audit.log does not reach it yet".to_owned()),
            false => Outcome::Fails("the log has no prompt line of it".to_owned()),
        });
    }
    let told = |id, kind: Kind, thread, index, line: u64| {
        format!("{} {id} is event {index} of thread {thread}, line {}", kind.name(), line + 1)
    };
    let expected: Vec<String> = placed.iter().map(|(id, p)| told(*id, p.kind, p.thread, p.index, p.line)).collect();
    let found: Vec<String> = context.events.iter().map(|e| told(e.event, e.kind, e.thread, e.index, e.line)).collect();
    if expected != found {
        let missing = expected.iter().find(|one| !found.contains(one));
        let extra = found.iter().find(|one| !expected.contains(one));
        let words = |one: Option<&String>| one.cloned().unwrap_or_else(|| "nothing".to_owned());
        return Ok(Outcome::Fails(format!("by the log {}; in the database {}", words(missing), words(extra))));
    }
    for event in context.events.iter().filter(|event| event.kind != Kind::Decision) {
        match event_again(replay.store, event) {
            Ok(again) if Some(again.digest().0) == event.digest => {}
            Ok(again) => {
                let what = format!("event_digest of {} {}", event.kind.name(), event.event);
                return Ok(same(&what, event.digest, Some(again.digest().0)));
            }
            Err(ContextFault::Gone) => return replay.absent(rows.exchange),
            Err(ContextFault::Store(error)) => return Err(error.into()),
            Err(fault) => return Ok(fault.into()),
        }
    }
    Ok(Outcome::Holds)
}

/// The bundle: ring 0 compiled again, the rest as it was found then; and its hash.
pub(super) fn bundle(
    session: &SessionRow,
    row: &ExchangeRow,
    (kernel, text): (&Kernel, &Clean),
    absent: &Outcome,
) -> Outcome {
    let Some(json) = &row.bundle_json else {
        return match row.bundle_hash {
            None => Outcome::NotChecked(NOTHING_SENT.to_owned()),
            Some(_) => absent.clone(),
        };
    };
    // What is compiled again is printed, and compared byte by byte: another spelling does not pass.
    let stored = match Bundle::parse_unprinted(json) {
        Ok(stored) => stored,
        Err(e) => return Outcome::Fails(format!("context_bundle_json: {e}")),
    };
    let recalled = Recalled::default();
    let compiled = compile(&Inputs {
        session_id: session.uuid,
        user_input: text,
        kernel,
        host_role: &session.host_role,
        model_id: &row.model,
        now: stored.compiled_at.0,
        sight: stored.sight.clone(),
        recalled: &recalled,
    });
    let again = compiled.map_err(|e| e.to_string()).and_then(|compiled| {
        let mut again = compiled.bundle().clone();
        // What was found on record then is an observation; the system's intent is ring 0's.
        let found = stored.intent.get(again.intent.len()..).unwrap_or_default().to_vec();
        again.intent.extend(found);
        again.facts.clone_from(&stored.facts);
        again.open_items.clone_from(&stored.open_items);
        again.exclusions.clone_from(&stored.exclusions);
        again.print().map_err(|e| e.to_string())
    });
    match again {
        Ok(again) if again == *json => {
            same("context_bundle_hash", row.bundle_hash, Some(Hash32::digest(again.as_bytes())))
        }
        Ok(_) => {
            let words = Bundle::parse(json).err().map(|e| e.to_string());
            let words = words.unwrap_or_else(|| "ring 0 compiles to another bundle".to_owned());
            Outcome::Fails(format!("context_bundle_json: {words}"))
        }
        Err(words) => Outcome::Fails(format!("context_bundle_json: {words}")),
    }
}

/// The exchange document from the rows, against the commitment; texts that were not kept have theirs in the rows.
///
/// `compiled` is what the rows compile to, if that was done before.
pub(super) fn record(replay: &Replay<'_>, rows: &Rows<'_>, absent: &Outcome, compiled: Option<&str>) -> Outcome {
    let Some(outcome) = &rows.exchange.outcome else {
        return Outcome::NotChecked("it has no outcome yet".to_owned());
    };
    let Some(salt) = &rows.exchange.salt else { return absent.clone() };
    if rows.exchange.unkept.is_none() && rows.has_gone() {
        return absent.clone();
    }
    let document = rows.document_with(replay.scheme, salt, compiled);
    match document.and_then(|document| document.commitment(replay.scheme, salt).map_err(|e| e.to_string())) {
        Ok(again) => same("exchange_commitment", Some(outcome.exchange_commitment), Some(again)),
        Err(words) => Outcome::Fails(words),
    }
}

/// The compiled prompt of an exchange without a context.
pub(super) fn plain_prompt(rows: &Rows<'_>, text: Option<&Clean>, absent: &Outcome) -> Outcome {
    let Some(text) = text else { return absent.clone() };
    let Some(stored) = rows.exchange.prompt_hash else {
        return match rows.exchange.bundle_json {
            None => Outcome::NotChecked(NOTHING_SENT.to_owned()),
            Some(_) => absent.clone(),
        };
    };
    match rows.compiled(text.as_str()) {
        Ok(compiled) => same("prompt_hash", Some(stored), compiled.map(|text| Hash32::digest(text.as_bytes()))),
        Err(words) => Outcome::Fails(words),
    }
}
