//! `gently ask`: the answer on stdout and nothing else there; one line on stderr.

use std::io::{IsTerminal, Read};

use serde_json::{Value, json};

use crate::ask::{AskError, Asked, Turn, ask};
use crate::govern::drift::{Judgement, Verdict};
use crate::recorder::{RecordedAnswer, RecorderError, TurnIds};
use crate::store::SessionRow;

use super::args::AskArgs;
use super::choose::{Chosen, choose};
use super::session::block_name;
use super::wire::{self, Opened, WireError};
use super::{COULD_NOT, FINE, NEGATIVE, WITHHELD, init, print, say};

/// Standard input past this is no prompt; the kernel's own limit is far below.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

/// Asks once.
pub async fn run(args: AskArgs, json: bool) -> Result<u8, WireError> {
    let question = match question(&args.words) {
        Ok(question) => question,
        Err(why) => {
            say(&format!("error: {why}"));
            return Ok(COULD_NOT);
        }
    };
    let (home, made) = wire::home_or_new()?;
    let opened = Opened::open(home)?;
    if made {
        init::welcome(&opened.home, &opened.config.anchor_addresses());
    }
    let key = opened.authorize().await?;
    let Chosen { model, notes } =
        choose(args.model.as_deref(), &args.call, &opened.config, &opened.home.paths().database()).await?;
    notes.iter().for_each(|note| say(note));
    let seen = opened.gather()?;
    let house = opened.house(model.id(), &say);
    match ask(&house, key, &model, &question, move || seen).await {
        Ok(asked) => Ok(show(&asked, &Beside { notes, source: model.note() }, json, made)),
        Err(error) => Ok(withheld(&error, json)),
    }
}

/// The prompt from arguments, standard input, or both.
fn question(words: &[String]) -> Result<String, String> {
    let mut text = words.join(" ");
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return if words.is_empty() { Err("nothing asked: gently ask \"QUESTION\"".to_owned()) } else { Ok(text) };
    }
    let mut bytes = Vec::new();
    stdin.lock().take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(|e| format!("reading standard input: {e}"))?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(format!("standard input holds more than {MAX_INPUT} bytes; ask about less"));
    }
    let piped = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("standard input is not UTF-8 at byte {at}; convert it first, for example with iconv")
    })?;
    if words.is_empty() && piped.is_empty() {
        return Err("nothing asked: gently ask \"QUESTION\"".to_owned());
    }
    if !words.is_empty() && !piped.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(&piped);
    Ok(text)
}

/// What is told of the model beside its answer.
struct Beside {
    /// Before it was asked.
    notes: Vec<String>,
    /// Where the answer is from, if it is a replay.
    source: Option<String>,
}

fn show(asked: &Asked, beside: &Beside, json: bool, made: bool) -> u8 {
    for kind in kinds(asked) {
        say(&format!("removed from the prompt before it was stored or sent: {kind}"));
    }
    let code = match &asked.turn {
        Turn::Answered(answer) => show_answer(answer, json, asked, beside),
        Turn::Refused(refusal, fault) => {
            let (code, why) = match fault {
                None => (NEGATIVE, refusal_words(&refusal.refusal)),
                Some(fault) => (COULD_NOT, fault.to_string()),
            };
            if json {
                print(&format!("{}\n", refusal_facts(asked, &refusal.ids, &refusal.session, &why)));
            }
            say(&format!("no model was called: {why}"));
            say(&format!("recorded prompt-{} · {}", refusal.ids.seq, place(&refusal.session)));
            code
        }
        Turn::Failed(failure, fault) => {
            if json {
                print(&format!("{}\n", refusal_facts(asked, &failure.ids, &failure.session, &fault.to_string())));
            }
            say(&format!("error: {fault}"));
            say(&format!(
                "recorded prompt-{} without an answer ({}) · {}",
                failure.ids.seq,
                failure.reason,
                place(&failure.session)
            ));
            COULD_NOT
        }
    };
    if made {
        say("check it any time: gently audit verify");
    }
    code
}

fn show_answer(answer: &RecordedAnswer, json: bool, asked: &Asked, beside: &Beside) -> u8 {
    let (code, lines) = match answer.judgement.verdict() {
        Verdict::Show => (FINE, Vec::new()),
        Verdict::Warn(lines) => (FINE, lines),
        Verdict::Block(lines) => (NEGATIVE, lines),
    };
    let shown = code == FINE;
    let printed = if json {
        let mut facts = answer_facts(asked, answer, shown);
        facts["notes"] = json!(beside.notes);
        facts["replayed"] = json!(beside.source);
        print(&format!("{facts}\n"))
    } else if shown {
        let newline = if answer.text.ends_with('\n') { "" } else { "\n" };
        print(&format!("{}{newline}", answer.text))
    } else {
        FINE
    };
    for line in lines {
        say(&line);
    }
    if !shown {
        say("the answer is recorded and withheld: the kernel blocks this drift");
    }
    say(&recorded_line(answer, beside));
    code.max(printed)
}

/// `recorded interaction-3 · chain 8923fa34… · branch-4 · block 930226 · 812 tokens · $0.0041`
fn recorded_line(answer: &RecordedAnswer, beside: &Beside) -> String {
    let tokens = match (answer.usage.prompt_tokens, answer.usage.completion_tokens) {
        (None, None) => None,
        (asked, said) => Some(format!("{} tokens", asked.unwrap_or(0).saturating_add(said.unwrap_or(0)))),
    };
    let cost = answer.cost.as_ref().map(ToString::to_string);
    let extras = [tokens, cost, beside.source.clone()].into_iter().flatten().map(|text| format!(" · {text}"));
    format!(
        "recorded interaction-{} · chain {}… · {}{}",
        answer.ids.seq,
        answer.chain_entry.short8(),
        place(&answer.session),
        extras.collect::<String>()
    )
}

fn place(session: &SessionRow) -> String {
    format!("{} · {}", session.branch, block_name(session))
}

fn refusal_words(refusal: &crate::recorder::Refusal) -> String {
    match refusal {
        crate::recorder::Refusal::Denied { reason } => format!("denied by policy ({reason})"),
        crate::recorder::Refusal::CompileFailed { reason } => format!("no context could be compiled ({reason})"),
    }
}

fn kinds(asked: &Asked) -> Vec<&str> {
    let mut kinds: Vec<&str> = asked.removed.iter().map(|finding| finding.kind).collect();
    kinds.dedup();
    kinds
}

/// What is the same for every ending.
fn common_facts(asked: &Asked, ids: &TurnIds, session: &SessionRow, outcome: &str) -> Value {
    json!({
        "outcome": outcome, "session": ids.session.to_string(), "session_uuid": ids.session_uuid.to_string(),
        "session_opened": asked.resumed.opened, "seq": ids.seq, "exchange": ids.exchange.to_string(),
        "model": session.model, "branch": session.branch, "block": session.anchor.block,
        "prompt_hash": ids.prompt_hash.to_string(), "prompt_line": ids.prompt_line.to_string(),
        "removed_from_prompt": kinds(asked),
    })
}

fn answer_facts(asked: &Asked, answer: &RecordedAnswer, shown: bool) -> Value {
    let mut facts = common_facts(asked, &answer.ids, &answer.session, "answered");
    facts["answer"] = if shown { json!(answer.text) } else { Value::Null };
    facts["withheld"] = json!(!shown);
    facts["interaction"] = json!(format!("interaction-{}", answer.ids.seq));
    facts["response_hash"] = json!(answer.response_hash.to_string());
    facts["exchange_hash"] = json!(answer.exchange_hash.to_string());
    facts["chain_entry"] = json!(answer.chain_entry.to_string());
    facts["response_line"] = json!(answer.response_line.to_string());
    facts["commit"] = json!(answer.commit);
    facts["usage"] = json!({
        "prompt_tokens": answer.usage.prompt_tokens, "completion_tokens": answer.usage.completion_tokens,
        "cost": answer.cost,
    });
    facts["drift"] = drift_facts(&answer.judgement, &answer.drift_ids);
    facts
}

fn drift_facts(judgement: &Judgement, ids: &[String]) -> Value {
    let events = judgement.events().iter().zip(ids).map(|(event, id)| {
        json!({
            "id": id, "class": event.class.name(), "severity": event.severity, "effect": event.effect.name(),
            "summary": event.summary,
        })
    });
    json!({
        "validator": judgement.flags(), "refusal": judgement.refusal(), "notes": judgement.notes(),
        "events": events.collect::<Vec<_>>(),
    })
}

fn refusal_facts(asked: &Asked, ids: &TurnIds, session: &SessionRow, why: &str) -> Value {
    let (outcome, reason, exchange_hash) = match &asked.turn {
        Turn::Refused(refusal, _) => {
            let (outcome, reason) = match &refusal.refusal {
                crate::recorder::Refusal::Denied { reason } => ("denied", reason),
                crate::recorder::Refusal::CompileFailed { reason } => ("failed", reason),
            };
            (outcome, reason.clone(), refusal.exchange_hash)
        }
        Turn::Failed(failure, _) => ("failed", failure.reason.clone(), failure.exchange_hash),
        Turn::Answered(answer) => ("answered", String::new(), answer.exchange_hash),
    };
    let mut facts = common_facts(asked, ids, session, outcome);
    facts["answer"] = Value::Null;
    facts["reason"] = json!(reason);
    facts["message"] = json!(why);
    facts["exchange_hash"] = json!(exchange_hash.to_string());
    facts
}

/// Nothing may be shown; one of two sentences says what is on record.
fn withheld(error: &AskError, json: bool) -> u8 {
    let (cause, what): (&RecorderError, &str) = match error {
        AskError::Prompt(cause) => (cause, "no model was called"),
        AskError::Outcome(cause) => (cause, "the answer is withheld"),
    };
    let sentence = if cause.is_recorded() { "recorded, withheld, finished at the next start" } else { "not recorded" };
    if json {
        let facts = json!({
            "answer": Value::Null, "withheld": true, "recorded": cause.is_recorded(), "sentence": sentence,
            "message": cause.to_string(),
        });
        print(&format!("{facts}\n"));
    }
    say(&format!("error: {cause}"));
    say(&format!("{sentence}: {what}"));
    WITHHELD
}
