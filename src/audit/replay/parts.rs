//! What replay computes again of any exchange: its events, its bundle, its record; and how values
//! are compared.

use uuid::Uuid;

use crate::continuity::candidate::RecallResult;
use crate::continuity::compile::{Inputs, ring0};
use crate::govern::kernel::Kernel;
use crate::govern::sanitize::{Clean, unnumbered};
use crate::record::context::event::EventKind;
use crate::record::hash::Hash32;
use crate::store::{ContextRows, ExchangeRows, SessionRow, TurnRow};

use super::source::EventFault;
use super::{AssertionOutcome, Replay, ReplayError};
use crate::audit::rows::exchange_rows::ExchangeEvidence;

/// Why there is no prompt to compile.
pub(super) const NOTHING_SENT: &str = "nothing was to be sent";

/// Whether a value on record is the one that was computed again.
pub(super) fn same<T: PartialEq + std::fmt::Display>(
    what: &str,
    recorded: Option<T>,
    again: Option<T>,
) -> AssertionOutcome {
    if recorded == again {
        return AssertionOutcome::Holds;
    }
    let told = |value: Option<T>| value.map_or("none".to_owned(), |value| value.to_string());
    AssertionOutcome::Fails(format!(
        "{what}: on record {}, computed again {}",
        told(recorded),
        told(again)
    ))
}

/// The first of several outcomes that does not hold.
pub(super) fn worst(outcomes: impl IntoIterator<Item = AssertionOutcome>) -> AssertionOutcome {
    let mut worst = AssertionOutcome::Holds;
    for outcome in outcomes {
        match (&worst, &outcome) {
            (AssertionOutcome::Fails(_), _) => {}
            (_, AssertionOutcome::Fails(_))
            | (AssertionOutcome::Holds, AssertionOutcome::NotChecked(_)) => worst = outcome,
            _ => {}
        }
    }
    worst
}

/// The events of a turn against the log's order, and against their texts where those are here; and
/// their thread.
pub(super) fn events(
    replay: &Replay<'_>,
    context: &ContextRows,
    rows: &ExchangeRows<'_>,
) -> Result<AssertionOutcome, ReplayError> {
    if let Some(what) = replay.thread_fault(context.row.thread)? {
        return Ok(AssertionOutcome::Fails(what));
    }
    // What only an INTENT has the others don't.
    if let Some(event) = context
        .events
        .iter()
        .find(|event| event.kind != EventKind::Intent && event.bytes.is_some())
    {
        return Ok(same(
            &format!("bytes of {} {}", event.kind.name(), event.event),
            event.bytes,
            None,
        ));
    }
    let placed = replay.stream.of_turn(context.row.turn);
    if placed.is_empty() {
        let behind = rows.exchange.prompt_line >= replay.stream.lines;
        return Ok(match behind {
            true => AssertionOutcome::NotChecked("audit.log does not reach it yet".to_owned()),
            false => AssertionOutcome::Fails("the log has no prompt line of it".to_owned()),
        });
    }
    let told = |id: Uuid, kind: EventKind, thread: Uuid, index: u64, line: u64| {
        format!(
            "{} {id} is event {index} of thread {thread}, line {}",
            kind.name(),
            line + 1
        )
    };
    let by_log = placed
        .iter()
        .map(|(id, p)| (*id, p.kind, p.thread, p.index, p.line));
    let by_rows = context
        .events
        .iter()
        .map(|e| (e.event, e.kind, e.thread, e.index, e.line));
    if !by_log.clone().eq(by_rows.clone()) {
        let told = |(id, kind, thread, index, line)| told(id, kind, thread, index, line);
        let (expected, found): (Vec<String>, Vec<String>) =
            (by_log.map(told).collect(), by_rows.map(told).collect());
        let missing = expected.iter().find(|one| !found.contains(one));
        let extra = found.iter().find(|one| !expected.contains(one));
        let words = |one: Option<&String>| one.cloned().unwrap_or_else(|| "nothing".to_owned());
        return Ok(AssertionOutcome::Fails(format!(
            "by the log {}; in the database {}",
            words(missing),
            words(extra)
        )));
    }
    for event in context
        .events
        .iter()
        .filter(|event| event.kind != EventKind::Decision)
    {
        match &replay.said_by(event)?.event {
            Ok(again) => {
                let named = |what: &str| format!("{what} of {} {}", event.kind.name(), event.event);
                let digest = again.digest().map(|digest| digest.0);
                let text = again.text().filter(|_| event.kind == EventKind::Intent);
                let length = text.and_then(|text| u64::try_from(unnumbered(text).len()).ok());
                let compared = worst([
                    same(&named("event_digest"), event.digest, digest),
                    same(&named("bytes"), event.bytes, length),
                ]);
                if compared != AssertionOutcome::Holds {
                    return Ok(compared);
                }
            }
            Err(EventFault::Gone) => return replay.absent(rows.exchange),
            Err(EventFault::Wrong(words)) => return Ok(AssertionOutcome::Fails(words.clone())),
        }
    }
    Ok(AssertionOutcome::Holds)
}

/// The bundle: ring 0 compiled again, the rest as it was found then; and its hash.
pub(super) fn bundle(
    session: &SessionRow,
    evidence: &ExchangeEvidence<'_>,
    (kernel, text): (&Kernel, &Clean),
    absent: &AssertionOutcome,
) -> AssertionOutcome {
    let row = evidence.rows.exchange;
    let Some(bundle) = &evidence.record.bundle else {
        return match row.bundle_hash {
            None => AssertionOutcome::NotChecked(NOTHING_SENT.to_owned()),
            Some(_) => absent.clone(),
        };
    };
    let stored = match bundle.read() {
        Ok(stored) => stored,
        Err(e) => return AssertionOutcome::Fails(format!("context_bundle_json: {e}")),
    };
    let recalled = RecallResult::default();
    let compiled = ring0(&Inputs {
        session_id: session.uuid,
        user_input: text,
        kernel,
        host_role: &session.host_role,
        model_id: &row.model,
        now: stored.compiled_at.0,
        sight: stored.sight.clone(),
        recalled: &recalled,
    });
    let again = compiled.map(|mut again| {
        // What was found on record then is an observation; the system's intent is ring 0's.
        let found = stored
            .intent
            .get(again.intent.len()..)
            .unwrap_or_default()
            .to_vec();
        again.intent.extend(found);
        again.facts.clone_from(&stored.facts);
        again.open_items.clone_from(&stored.open_items);
        again.exclusions.clone_from(&stored.exclusions);
        again
    });
    match again {
        // The text was read as what the bundle prints, so what is the same prints the same.
        Ok(again) if again == *stored => same(
            "context_bundle_hash",
            row.bundle_hash,
            Some(Hash32::digest(bundle.json().as_bytes())),
        ),
        Ok(_) => AssertionOutcome::Fails(
            "context_bundle_json: phase, tier, kernel and tools compile to another bundle"
                .to_owned(),
        ),
        Err(fault) => AssertionOutcome::Fails(format!("context_bundle_json: {fault}")),
    }
}

/// Hashes beside the texts, and what was answered: the rows name the commitment that the log does.
pub(super) fn hashes(replay: &Replay<'_>, rows: &ExchangeRows<'_>) -> AssertionOutcome {
    let digest = |turn: &TurnRow| {
        turn.content
            .as_deref()
            .map(|text| Hash32::digest(text.as_bytes()))
    };
    let of_turn = |what: &str, turn: &Option<TurnRow>| match turn {
        Some(turn) if turn.content.is_some() => same(what, turn.content_hash, digest(turn)),
        _ => AssertionOutcome::Holds,
    };
    let texts = [
        of_turn("content_hash of the question", &rows.user),
        of_turn("content_hash of the answer", &rows.aurora),
    ];
    let Some(outcome) = &rows.exchange.outcome else {
        return worst(texts);
    };
    let stored = rows.aurora.as_ref().and_then(|turn| turn.content_hash);
    let mut answered = vec![same("response_hash", outcome.response_hash, stored)];
    if let Some(response) = replay.stream.response_of(rows.exchange.exchange_id) {
        answered.push(same(
            "the response's commitment, by the log",
            outcome.response_commitment,
            Some(response),
        ));
    }
    let drift = rows.drift.iter().map(|drift| {
        same(
            "response_hash of its drift",
            Some(drift.response_hash),
            Some(outcome.response_commitment.unwrap_or(Hash32::ZERO)),
        )
    });
    worst(texts.into_iter().chain(answered).chain(drift))
}

/// The exchange document from the rows, against the commitment; texts that were not kept have
/// theirs in the rows.
pub(super) fn record(
    replay: &Replay<'_>,
    evidence: &ExchangeEvidence<'_>,
    absent: &AssertionOutcome,
) -> AssertionOutcome {
    let rows = &evidence.rows;
    let Some(outcome) = &rows.exchange.outcome else {
        return AssertionOutcome::NotChecked("it has no outcome yet".to_owned());
    };
    let Some(salt) = &rows.exchange.salt else {
        return absent.clone();
    };
    if rows.exchange.not_kept.is_none() && rows.has_own_gone() {
        return absent.clone();
    }
    let document = evidence.document(replay.scheme, salt);
    match document.and_then(|document| {
        document
            .commitment(replay.scheme, salt)
            .map_err(|e| e.to_string())
    }) {
        Ok(again) => same(
            "exchange_commitment",
            Some(outcome.exchange_commitment),
            Some(again),
        ),
        Err(words) => AssertionOutcome::Fails(words),
    }
}

/// The compiled prompt of an exchange without a context.
pub(super) fn plain_prompt(
    evidence: &ExchangeEvidence<'_>,
    text: Option<&Clean>,
    absent: &AssertionOutcome,
) -> AssertionOutcome {
    let Some(text) = text else {
        return absent.clone();
    };
    let row = evidence.rows.exchange;
    let Some(stored) = row.prompt_hash else {
        return match row.bundle_json {
            None => AssertionOutcome::NotChecked(NOTHING_SENT.to_owned()),
            Some(_) => absent.clone(),
        };
    };
    match evidence.compiled_with(None, text.as_str()) {
        Ok(compiled) => same(
            "prompt_hash",
            Some(stored),
            compiled.map(|text| Hash32::digest(text.as_bytes())),
        ),
        Err(words) => AssertionOutcome::Fails(words),
    }
}
