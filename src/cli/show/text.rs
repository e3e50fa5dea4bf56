//! One exchange as people read it.

use serde_json::Value;

use crate::cli::screen::{block, mark, quiet};
use crate::cli::session::block_name;
use crate::record::time::Seconds;

use crate::app::show::ExchangeDetails;

/// How far a part's text stands in.
const INDENT: &str = "    ";

/// Question, answer and status.
pub fn brief(turn: &ExchangeDetails) -> String {
    let mut out = String::new();
    let asked = turn.exchange.created_at;
    if let Some((at, reason)) = &turn.erased {
        let erased = format!("erased {at}: {}", quiet(reason));
        part(&mut out, "texts", &erased);
    }
    let question = said(turn, turn.prompt_text());
    part(&mut out, &format!("question of {asked}"), &question);
    let whose = match turn.exchange.is_answered() {
        true => format!("answer of {}", quiet(&turn.exchange.model)),
        false => "answer".to_owned(),
    };
    part(&mut out, &whose, &answer(turn));
    let warnings = turn.warnings.iter();
    let warnings: Vec<String> = warnings
        .map(|warning| format!("{} ({})", warning.sentence, warning.class))
        .collect();
    part(&mut out, "what to know of it", &warnings.join("\n"));
    out.push_str(&format!("\n{}\n", status(turn)));
    out.trim_start_matches('\n').to_owned()
}

/// `✔ 81bb5b35/2 · answered · block 930226 · 5 hashes hold`
fn status(turn: &ExchangeDetails) -> String {
    let of = |holds| turn.checks.iter().filter(move |check| check.holds == holds);
    let (held, broken) = (of(Some(true)).count(), of(Some(false)).count());
    let hashes = match (held, broken) {
        (1, 0) => "1 hash holds".to_owned(),
        (held, 0) => format!("{held} hashes hold"),
        (_, broken) => format!("{broken} of {} hashes DO NOT HOLD", held + broken),
    };
    let is_fine = broken == 0 && turn.exchange.is_answered();
    let mark = mark(if is_fine { "yes" } else { "no" });
    format!(
        "{mark} {} · {} · {} · {hashes} · all of it: with --full",
        turn.id,
        outcome_words(turn),
        block_name(&turn.session)
    )
}

/// All parts, each under its name.
pub fn of(turn: &ExchangeDetails) -> String {
    let (session, exchange) = (&turn.session, &turn.exchange);
    let mut out = format!(
        "{} · {} of session {} · {} · {}\n",
        turn.id,
        turn.name(),
        session.id.short16(),
        outcome_words(turn),
        exchange.created_at
    );
    if let Some((at, reason)) = &turn.erased {
        part(
            &mut out,
            "text",
            &format!("erased: {}, {at}", quiet(reason)),
        );
    }
    part(&mut out, "prompt", &said(turn, turn.prompt_text()));
    part(&mut out, "answer", &answer(turn));
    part(&mut out, "drift", &drift(turn));
    part(
        &mut out,
        "context bundle",
        &exchange
            .bundle_json
            .as_deref()
            .map_or_else(|| not_compiled(turn), pretty),
    );
    part(&mut out, "compiled prompt, rendered again", &compiled(turn));
    let outcome = exchange.outcome.as_ref();
    let beside = outcome.and_then(|outcome| outcome.reply.as_deref());
    if let Some(beside) = beside.filter(|_| !turn.is_covered()) {
        part(&mut out, "came beside the answer", &pretty(beside));
    }
    part(&mut out, "injected", &injected(turn));
    let left_out = if was_taken_over(turn) {
        NOT_KNOWN.to_owned()
    } else {
        pretty(&exchange.exclusions)
    };
    part(&mut out, "left out", &left_out);
    part(&mut out, "hashes", &hashes(turn));
    part(&mut out, "session", &session_facts(turn));
    out
}

fn part(out: &mut String, name: &str, text: &str) {
    if !text.trim().is_empty() {
        out.push_str(&format!("\n{name}\n{}", block(text, INDENT)));
    }
}

fn outcome_words(turn: &ExchangeDetails) -> String {
    let reason = turn
        .exchange
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.reason.as_deref());
    reason.map_or_else(
        || turn.outcome().to_owned(),
        |reason| format!("{} ({})", turn.outcome(), quiet(reason)),
    )
}

fn said(turn: &ExchangeDetails, text: Option<&str>) -> String {
    text.unwrap_or(turn.gone()).to_owned()
}

fn answer(turn: &ExchangeDetails) -> String {
    match &turn.exchange.outcome {
        None => "none yet: its model is thinking, or its process is gone".to_owned(),
        Some(outcome) if outcome.turn_aurora.is_none() => format!("none: {}", outcome_words(turn)),
        Some(_) if turn.is_covered() && turn.answer_text().is_some() => {
            "withheld: the kernel blocks this drift; --withheld shows it".to_owned()
        }
        Some(_) if turn.withheld => {
            format!(
                "(withheld when it was asked: the kernel blocks this drift)\n{}",
                said(turn, turn.answer_text())
            )
        }
        Some(_) => said(turn, turn.answer_text()),
    }
}

fn drift(turn: &ExchangeDetails) -> String {
    let event = |d: &crate::store::DriftRow| {
        format!(
            "{} ({}): {}  {}\n",
            d.class, d.severity, d.summary, d.drift_id
        )
    };
    let events: String = turn.drift.iter().map(event).collect();
    let summary = turn
        .exchange
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.validator_summary.as_deref());
    let notes = summary
        .and_then(|json| serde_json::from_str::<Value>(json).ok())
        .map(|v| v["notes"].clone());
    match notes {
        Some(Value::String(notes)) if events.is_empty() => notes,
        _ => events,
    }
}

fn not_compiled(turn: &ExchangeDetails) -> String {
    let was_compiled = turn.erased.is_some()
        || turn
            .exchange
            .not_kept
            .is_some_and(|not_kept| not_kept.bundle.is_some());
    if was_compiled {
        turn.gone()
    } else {
        "none: nothing was compiled"
    }
    .to_owned()
}

fn pretty(json: &str) -> String {
    match serde_json::from_str::<Value>(json) {
        Ok(Value::Array(list)) if list.is_empty() => "nothing".to_owned(),
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_else(|_| json.to_owned()),
        Err(_) => json.to_owned(),
    }
}

fn compiled(turn: &ExchangeDetails) -> String {
    match &turn.compiled {
        None => not_compiled(turn),
        Some(Err(why)) => format!("can't be rendered: {why}"),
        Some(Ok(json)) => {
            let messages: Vec<Value> = serde_json::from_str(json).unwrap_or_default();
            let text = |m: &Value, key: &str| m[key].as_str().unwrap_or_default().to_owned();
            messages
                .iter()
                .map(|m| format!("[{}]\n{}\n", text(m, "role"), text(m, "content").trim_end()))
                .collect()
        }
    }
}

fn injected(turn: &ExchangeDetails) -> String {
    let line = |r: &crate::store::ArtifactRefRow| {
        let age = r
            .freshness_s
            .map(|s| format!(", {s} s old"))
            .unwrap_or_default();
        let flags = r
            .risk_flags
            .as_deref()
            .map(|flags| format!(", {flags}"))
            .unwrap_or_default();
        format!("{}  {}{age}{flags}\n", r.artifact_id, r.included_reason)
    };
    turn.refs.iter().map(line).collect()
}

fn hashes(turn: &ExchangeDetails) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for check in &turn.checks {
        let word = match check.holds {
            Some(true) => "holds",
            Some(false) => "DOES NOT HOLD",
            None => "not checked",
        };
        lines.push((check.what.to_owned(), format!("{}  {word}", check.recorded)));
    }
    if let Some(outcome) = &turn.exchange.outcome {
        lines.extend(
            outcome
                .chain_entry
                .map(|entry| ("chain entry".to_owned(), entry.to_string())),
        );
    }
    lines.extend(turn.commits.iter().map(|c| {
        (
            format!("{} commit", c.kind.name()),
            format!("{} on {}", c.id, c.reference),
        )
    }));
    lines.push(("exchange".to_owned(), turn.exchange.exchange_id.to_string()));
    lines
        .iter()
        .map(|(name, value)| format!("{name:26}  {value}\n"))
        .collect()
}

fn session_facts(turn: &ExchangeDetails) -> String {
    let (session, exchange) = (&turn.session, &turn.exchange);
    let outcome = exchange.outcome.as_ref();
    let tokens = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    let answered = outcome.map(|o: &crate::store::OutcomeUpdate| o.answered_at);
    format!(
        "{}\n{} · {} · kernel {} · phase {} · tier {} · host {}\nmodel {} · decision {} · authority {}\n\
         asked {} · ended {}\ntokens of the prompt {}, of the answer {}{}\ncalled with {}\n",
        session.id,
        session.branch,
        block_name(session),
        session.kernel_hash.short16(),
        session.phase,
        session.tier,
        session.host_role,
        exchange.model,
        exchange.decision,
        exchange.authority_state.name(),
        exchange.created_at,
        answered.map_or_else(|| "not yet".to_owned(), |at: Seconds| at.to_string()),
        tokens(outcome.and_then(|o| o.prompt_tokens)),
        tokens(outcome.and_then(|o| o.completion_tokens)),
        outcome
            .and_then(|o| o.cost.as_ref())
            .map_or_else(String::new, |cost| format!(" · {cost}")),
        match exchange.params.as_deref() {
            Some(params) => params,
            None if was_taken_over(turn) => NOT_KNOWN,
            None => "nothing: no call was to be made",
        },
    )
}

/// What is said of what only the database had that asked.
const NOT_KNOWN: &str = "not known: it was taken over from a ledger, without its database";

/// Whether a model answered and this database does not have what it was called with: it was taken
/// over from the ledger (`gently audit adopt`).
fn was_taken_over(turn: &ExchangeDetails) -> bool {
    turn.exchange.params.is_none() && turn.exchange.is_answered()
}
