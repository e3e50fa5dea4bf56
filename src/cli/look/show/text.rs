//! One exchange as people read it.

use serde_json::Value;

use crate::app::ask::warnings::DriftWarning;
use crate::ask::withheld::WITHHELD;
use crate::cli::look::session::block_name;
use crate::cli::screen::{block, counted, mark, quiet, thousandths};
use crate::record::ledger::reply::readable;
use crate::record::time::Seconds;

use crate::app::look::show::ExchangeDetails;
use crate::view::look::outcome::outcome_words;

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
    let question = text_or_absence(turn, turn.prompt_text());
    part(&mut out, &format!("question of {asked}"), &question);
    let whose = match turn.exchange.is_answered() {
        true => format!("answer of {}", quiet(&turn.exchange.model)),
        false => "answer".to_owned(),
    };
    part(&mut out, &whose, &answer(turn));
    part(&mut out, "what to know of it", &warnings(turn));
    part(&mut out, "not as it was recorded", &changed(turn));
    out.push_str(&format!("\n{}\n", status(turn)));
    out.trim_start_matches('\n').to_owned()
}

/// That what stands here is another than what was recorded, and what says all of it; nothing where it
/// is not.
fn changed(turn: &ExchangeDetails) -> String {
    match turn.changed().as_slice() {
        [] => String::new(),
        [first, ..] => format!(
            "what gently.db has of this turn is another than what was recorded, first its {first}; the texts above are \
             not evidence. gently audit verify says what differs"
        ),
    }
}

/// `✔ 81bb5b35/2 · answered · block 930226 · as it was recorded`
fn status(turn: &ExchangeDetails) -> String {
    let of = |holds| turn.checks.iter().filter(move |check| check.holds == holds);
    let (held, broken) = (of(Some(true)).count(), of(Some(false)).count());
    let open = of(None).count();
    let all = held + broken + open;
    let hashes = match (held, broken, open) {
        (_, 0, 0) => "as it was recorded".to_owned(),
        (0, 0, _) => "its texts are not here to be checked".to_owned(),
        (_, 0, open) => {
            format!("as it was recorded; {open} of {all} parts are not here to be checked")
        }
        (_, broken, _) => format!("CHANGED since it was recorded: {broken} of {all} parts"),
    };
    let mark = mark(match (broken, turn.exchange.is_answered()) {
        (0, true) if turn.is_whole() => "yes",
        (0, true) => "open",
        _ => "no",
    });
    format!(
        "{mark} {} · {} · {} · {hashes} · all of it: with --full",
        turn.id,
        quiet(&outcome_words(&turn.exchange)),
        block_name(&turn.session)
    )
}

/// All parts, each under its name; `context` is what was put before the model, in words.
pub fn of(turn: &ExchangeDetails, context: &str) -> String {
    let (session, exchange) = (&turn.session, &turn.exchange);
    let mut out = format!(
        "{} · {} of session {} · {} · {}\n",
        turn.id,
        turn.name(),
        session.id.short16(),
        quiet(&outcome_words(&turn.exchange)),
        exchange.created_at
    );
    if let Some((at, reason)) = &turn.erased {
        part(
            &mut out,
            "text",
            &format!("erased: {}, {at}", quiet(reason)),
        );
    }
    part(
        &mut out,
        "question",
        &text_or_absence(turn, turn.prompt_text()),
    );
    part(&mut out, "answer", &answer(turn));
    part(&mut out, "not as it was recorded", &changed(turn));
    part(&mut out, "warnings", &drift(turn));
    part(&mut out, "put before the model", &put_before(turn, context));
    part(
        &mut out,
        "sent to the model, put together again",
        &compiled(turn),
    );
    let outcome = exchange.outcome.as_ref();
    let beside = outcome.and_then(|outcome| outcome.reply.as_deref());
    if let Some(beside) = beside.filter(|_| !turn.is_covered()) {
        part(&mut out, "came beside the answer", &pretty(beside));
    }
    part(&mut out, "worth to its specialist", &worth(turn));
    part(&mut out, "hashes", &hashes(turn));
    part(&mut out, "session", &session_facts(turn));
    out
}

/// `0.631 of 1: 0.681 is expected in law, its checks add -0.050`; nothing where no specialist was asked.
fn worth(turn: &ExchangeDetails) -> String {
    match &turn.utility {
        Some(Ok(utility)) => format!(
            "{} of 1: {} is expected in {}, its checks add {}",
            thousandths(utility.score()),
            thousandths(utility.expected),
            quiet(&utility.domain),
            thousandths(utility.bonus),
        ),
        _ => String::new(),
    }
}

fn part(out: &mut String, name: &str, text: &str) {
    if !text.trim().is_empty() {
        out.push_str(&format!("\n{name}\n{}", block(text, INDENT)));
    }
}

fn text_or_absence(turn: &ExchangeDetails, text: Option<&str>) -> String {
    text.unwrap_or(turn.gone()).to_owned()
}

fn answer(turn: &ExchangeDetails) -> String {
    let text = turn.answer_text().map(readable);
    match &turn.exchange.outcome {
        None => "none yet: its model is thinking, or its process is gone".to_owned(),
        Some(outcome) if outcome.turn_aurora.is_none() => {
            format!("none: {}", quiet(&outcome_words(&turn.exchange)))
        }
        Some(_) if turn.is_covered() && turn.answer_text().is_some() => {
            format!("{WITHHELD}; --withheld shows it")
        }
        Some(_) if turn.withheld => {
            format!(
                "({WITHHELD} when it was asked)\n{}",
                text_or_absence(turn, text.as_deref())
            )
        }
        Some(_) => text_or_absence(turn, text.as_deref()),
    }
}

/// The warnings, or what the checks of the answer came to.
fn drift(turn: &ExchangeDetails) -> String {
    let outcome = turn.exchange.outcome.as_ref();
    let summary = outcome.and_then(|outcome| outcome.validator_summary.as_deref());
    let notes = summary
        .and_then(|json| serde_json::from_str::<Value>(json).ok())
        .map(|v| v["notes"].clone());
    match notes {
        _ if !turn.warnings.is_empty() => warnings(turn),
        Some(Value::String(_)) if turn.drift.is_empty() => "none".to_owned(),
        _ if !turn.drift.is_empty() => {
            format!(
                "{}: gently drift list",
                counted(turn.drift.len(), "warning")
            )
        }
        _ => String::new(),
    }
}

/// What a person should know of the answer.
fn warnings(turn: &ExchangeDetails) -> String {
    let warning = |one: &DriftWarning| format!("{} ({})", one.sentence, one.class);
    let warnings: Vec<String> = turn.warnings.iter().map(warning).collect();
    warnings.join("\n")
}

fn put_before(turn: &ExchangeDetails, context: &str) -> String {
    if turn.exchange.bundle_json.is_none() {
        return not_compiled(turn);
    }
    if was_taken_over(turn) {
        return format!("{}\nleft out: {NOT_KNOWN}", context.trim());
    }
    context.trim().to_owned()
}

fn not_compiled(turn: &ExchangeDetails) -> String {
    // Whoever answered was shown something; what of it is erased can't be put together any more.
    let was_compiled = turn.erased.is_some()
        || turn.exchange.params.is_some()
        || turn
            .exchange
            .not_kept
            .is_some_and(|not_kept| not_kept.bundle.is_some());
    if was_compiled {
        turn.gone()
    } else {
        "none: no model was to be asked"
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

fn hashes(turn: &ExchangeDetails) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for check in &turn.checks {
        let word = match check.holds {
            Some(true) => "as recorded",
            Some(false) => "NOT AS RECORDED",
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
        "{}\n{} · {} · kernel {} · phase {} · tier {} · host {}\nmodel {} · policy said {}\n\
         asked {} · ended {}\ntokens of the question and what was put before it {}, of the answer {}{}\n\
         called with {}\n",
        session.id,
        session.branch,
        block_name(session),
        session.kernel_hash.short16(),
        session.phase,
        session.tier,
        session.host_role,
        exchange.model,
        exchange.decision,
        exchange.created_at,
        answered.map_or_else(|| "not yet".to_owned(), |at: Seconds| at.to_string()),
        tokens(outcome.and_then(|o| o.prompt_tokens)),
        tokens(outcome.and_then(|o| o.completion_tokens)),
        outcome
            .and_then(|o| o.cost.as_ref())
            .map_or_else(String::new, |cost| format!(" · {cost}")),
        match exchange.params.as_deref() {
            Some(params) => settings(params),
            None if was_taken_over(turn) => NOT_KNOWN.to_owned(),
            None => "nothing: no call was to be made".to_owned(),
        },
    )
}

/// The settings of a call, those that were set: `seed 7 · temperature "0.2"`.
fn settings(params: &str) -> String {
    let Ok(Value::Object(settings)) = serde_json::from_str(params) else {
        return params.to_owned();
    };
    let set = settings.iter().filter(|(_, value)| !value.is_null());
    let set: Vec<String> = set.map(|(name, value)| format!("{name} {value}")).collect();
    match set.is_empty() {
        true => "the server's own settings".to_owned(),
        false => set.join(" · "),
    }
}

/// What is said of what only the database had that asked.
const NOT_KNOWN: &str = "not known: it was taken over from a ledger, without its database";

/// Whether a model answered and this database does not have what it was called with: it was taken
/// over from the ledger (`gently audit adopt`).
fn was_taken_over(turn: &ExchangeDetails) -> bool {
    turn.exchange.params.is_none() && turn.exchange.is_answered()
}
