//! `gently ask`: the answer on stdout and nothing else there; one line on stderr.

use std::io::{IsTerminal, Read};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ask::recall::DeclaredContext;
use crate::ask::{AskError, Question, TurnEnd, TurnResult, ask};
use crate::govern::authority;
use crate::govern::drift::{Judgement, ReplyVerdict};
use crate::govern::policy;
use crate::govern::sanitize::redact;
use crate::recorder::{RecordedAnswer, RecordedFailure, RecordedRefusal, Refusal, TurnIds};
use crate::store::SessionRow;

use super::args::AskArgs;
use super::context;
use super::receipt::{ReceiptFile, TurnReceipt};
use super::session::block_name;
use super::terminal::Terminal;
use super::{
    COULD_NOT, FINE, NEGATIVE, Notices, action, could_not, erase, heads, init, print, program, say,
    withheld,
};
use crate::app::model_choice::{ModelChoice, choose};
use crate::app::open;
use crate::app::open::{OpenHome, OpenHomeError};

/// Standard input past this is no prompt; the kernel's own limit is far below.
const MAX_INPUT: u64 = 16 * 1024 * 1024;
/// Standard input that takes longer is worth a word.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks once.
pub async fn run(args: AskArgs, json: bool) -> Result<u8, OpenHomeError> {
    let question = match question(&args.words) {
        Ok(question) => question,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let place = match args
        .receipt
        .as_deref()
        .map(ReceiptFile::reserve)
        .transpose()
    {
        Ok(place) => place,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let told = Notices::default();
    let (home, made) = open::home_or_new()?;
    let touched = home.log_is_touched();
    let opened = OpenHome::open(home)?;
    if made {
        init::welcome(&opened.home, &opened.config, &told);
    }
    let key = opened.authorize().await?;
    let ModelChoice { model, notes } = choose(
        args.model.as_deref(),
        &args.call.options(),
        &opened.config,
        &opened.home.paths().database(),
    )
    .await?;
    notes.iter().for_each(|note| told.say(note));
    let declared = args
        .refs
        .declared(&opened.config, opened.context.rules(), &opened.store)?;
    let standing = args.place.standing(&opened.store)?;
    let seen = opened.gather()?;
    let say_on = |line: &str| told.say(line);
    let environment = opened.environment(model.id(), &say_on);
    let person = Terminal::listen(model.id()).map_err(|e| OpenHomeError::Signals {
        reason: e.to_string(),
    })?;
    let question = Question {
        text: &question,
        declared: &declared,
        standing,
    };
    let before = heads::main_tip(&opened)?;
    let turn = ask(
        &environment,
        key,
        &model,
        question,
        move || seen,
        &person.control,
    );
    let outcome = person.attend(turn).await;
    let signalled = person.exit_code().unwrap_or(COULD_NOT);
    // From here on a signal ends the process, whoever is slow to read what is printed.
    drop(person);
    let told_all = match outcome {
        Ok(asked) => {
            let receipt = TurnReceipt::of(&opened, &asked.turn, place, json);
            let code = show(
                &asked,
                &declared,
                model.note(),
                (json, &receipt),
                made,
                signalled,
                &told,
            );
            Ok(code.max(receipt.say()))
        }
        Err(AskError::Interrupted) => Ok(given_up(json, signalled)),
        Err(AskError::Prompt(cause)) => Ok(withheld(&cause, json, "no model was called")),
        Err(AskError::Outcome(cause)) => Ok(withheld(&cause, json, "the answer is withheld")),
    };
    // The person has the answer. What is too old goes now, a little at a time.
    erase::some_that_is_due(&opened).await;
    // A checkpoint, or the close of a session that was idle, may have made a tree head.
    heads::after(&opened, before, &told).await;
    // The answer is there: reading all of the log costs nobody a wait.
    if touched && let Some(line) = opened.home.changed_line()? {
        told.say(&format!(
            "audit.log was changed: its line {line} is not the one on record. gently audit verify names what differs; \
             gently audit rebuild sets the file aside and writes it anew, where the signed tree head agrees"
        ));
    }
    told_all
}

/// The prompt from arguments, standard input, or both.
fn question(words: &[String]) -> Result<String, String> {
    let nothing = || format!("nothing asked: {} ask \"QUESTION\"", program());
    let mut text = words.join(" ");
    if std::io::stdin().is_terminal() {
        return if words.is_empty() {
            Err(nothing())
        } else {
            Ok(text)
        };
    }
    let bytes = piped()?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(format!(
            "standard input holds more than {MAX_INPUT} bytes; ask about less"
        ));
    }
    let piped = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!(
            "standard input is not UTF-8 at byte {at}; convert it first, for example with iconv"
        )
    })?;
    if let Some(at) = piped.find('\0') {
        return Err(format!(
            "standard input has a NUL byte at byte {at}: it is binary, or UTF-16; a prompt is UTF-8 text"
        ));
    }
    if words.is_empty() && piped.is_empty() {
        return Err(nothing());
    }
    if !words.is_empty() && !piped.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(&piped);
    Ok(text)
}

/// All of standard input; says so when it takes long, since a pipe that nobody closes looks like a
/// hang.
fn piped() -> Result<Vec<u8>, String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin()
            .lock()
            .take(MAX_INPUT + 1)
            .read_to_end(&mut bytes);
        // Nobody listens only when the program is ending.
        let _ = sender.send(
            read.map(|_| bytes)
                .map_err(|e| format!("reading standard input: {e}")),
        );
    });
    let gone = || "reading standard input: it could not be read".to_owned();
    match receiver.recv_timeout(PATIENCE) {
        Ok(read) => read,
        Err(RecvTimeoutError::Timeout) => {
            say(
                "waiting for the end of standard input, which is no terminal (with < /dev/null there is none)",
            );
            receiver.recv().map_err(|_| gone())?
        }
        Err(RecvTimeoutError::Disconnected) => Err(gone()),
    }
}

/// `source` is where the answer is from, if it is a replay.
fn show(
    asked: &TurnResult,
    declared: &DeclaredContext,
    source: Option<String>,
    (json, receipt): (bool, &TurnReceipt),
    made: bool,
    signalled: u8,
    told: &Notices,
) -> u8 {
    for kind in kinds(asked) {
        say(&format!(
            "removed from the prompt before it was stored or sent: {kind}"
        ));
    }
    if !matches!(asked.turn, TurnEnd::Refused(..)) {
        context::lost(&asked.referred, asked.unfit)
            .iter()
            .for_each(|line| say(line));
    }
    let withheld = matches!(&asked.turn, TurnEnd::Answered(answer) if matches!(answer.judgement.verdict(), ReplyVerdict::Block(_)));
    let print_facts = |mut facts: Value| {
        facts["notes"] = json!(told.lines());
        facts["receipt"] = receipt.value();
        facts["context"] = context::asked(declared, &asked.context, &asked.referred, asked.unfit);
        facts["actions"] = asked
            .actions
            .iter()
            .map(|one| action::facts_of(one, withheld))
            .collect();
        print(&format!("{facts}\n"))
    };
    let code = match &asked.turn {
        TurnEnd::Answered(answer) => {
            show_answer(answer, source.as_deref(), json, asked, &print_facts)
        }
        TurnEnd::Refused(refusal, fault) => {
            let (code, why) = match fault {
                None => (NEGATIVE, refusal_words(asked, &refusal.refusal)),
                Some(fault) => (COULD_NOT, fault.to_string()),
            };
            if json {
                print_facts(refusal_facts(asked, &refusal.ids, &refusal.session, &why));
            }
            say(&format!("no model was called: {why}"));
            say(&format!(
                "recorded prompt-{} · {}",
                refusal.ids.seq,
                place(&refusal.session)
            ));
            code
        }
        TurnEnd::Failed(failure, fault) => {
            show_failure(
                asked,
                failure,
                redact(&fault.to_string()).clean.as_str(),
                json,
                &print_facts,
            );
            COULD_NOT
        }
        TurnEnd::Interrupted(failure) => {
            let why = format!("interrupted while {} was thinking", failure.session.model);
            show_failure(asked, failure, &why, json, &print_facts);
            signalled
        }
    };
    for action in &asked.actions {
        say(&action::line_of(action, withheld));
    }
    if made {
        say(&format!(
            "check it any time: {} audit verify (or with git and ssh-keygen alone: see the README)",
            program()
        ));
    }
    code
}

fn show_failure(
    asked: &TurnResult,
    failure: &RecordedFailure,
    why: &str,
    json: bool,
    print_facts: &dyn Fn(Value) -> u8,
) {
    if json {
        print_facts(refusal_facts(asked, &failure.ids, &failure.session, why));
    }
    say(&format!("error: {why}"));
    say(&format!(
        "recorded prompt-{} without an answer ({}) · {}",
        failure.ids.seq,
        failure.reason,
        place(&failure.session)
    ));
}

/// Whoever asked gave up before there was anything to record.
fn given_up(json: bool, signalled: u8) -> u8 {
    let sentence = "interrupted before the prompt was recorded: no model was called";
    if json {
        let facts = json!({ "answer": Value::Null, "withheld": false, "recorded": false, "error": sentence, "exit": signalled });
        print(&format!("{facts}\n"));
    }
    say(sentence);
    signalled
}

fn show_answer(
    answer: &RecordedAnswer,
    source: Option<&str>,
    json: bool,
    asked: &TurnResult,
    print_facts: &dyn Fn(Value) -> u8,
) -> u8 {
    let (code, line) = match answer.judgement.verdict() {
        ReplyVerdict::Show => (FINE, None),
        ReplyVerdict::Warn(line) => (FINE, Some(line)),
        ReplyVerdict::Block(line) => (NEGATIVE, Some(line)),
    };
    let shown = code == FINE;
    let printed = if json {
        let mut facts = answer_facts(asked, answer, shown);
        facts["replayed"] = json!(source);
        print_facts(facts)
    } else if shown {
        let newline = if answer.text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        print(&format!("{}{newline}", answer.text))
    } else {
        FINE
    };
    line.iter().for_each(|line| say(line));
    for kind in distinct(&answer.redacted) {
        say(&format!(
            "the answer held a secret ({kind}): it is stored without it"
        ));
    }
    if !shown {
        let look = format!("{} show {} --withheld", program(), answer.ids.exchange);
        say(&format!(
            "the answer is recorded and withheld: the kernel blocks this drift; to see it: {look}"
        ));
    }
    if let Some(line) = context::disclosed(&asked.context) {
        say(&line);
    }
    say(&recorded_line(
        answer,
        source,
        context::turns_in(&asked.context),
    ));
    code.max(printed)
}

/// `recorded interaction-3 · chain 8923fa34… · branch-4 · block 930226 · 4 earlier turns · 812
/// tokens · $0.0041`
fn recorded_line(answer: &RecordedAnswer, source: Option<&str>, turns: Option<String>) -> String {
    let tokens = match (answer.usage.prompt_tokens, answer.usage.completion_tokens) {
        (None, None) => None,
        (asked, said) => Some(format!(
            "{} tokens",
            asked.unwrap_or(0).saturating_add(said.unwrap_or(0))
        )),
    };
    let cost = answer.cost.as_ref().map(ToString::to_string);
    let extras = [turns, tokens, cost, source.map(str::to_owned)]
        .into_iter()
        .flatten()
        .map(|text| format!(" · {text}"));
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

fn refusal_words(asked: &TurnResult, refusal: &Refusal) -> String {
    if let Err(fault) = asked.referred.resolved() {
        return fault.to_string();
    }
    match refusal {
        Refusal::Denied { codes, .. } => {
            let words = codes.iter().map(|code| match denial(code) {
                Some(words) => format!("{words} ({code})"),
                None => format!("denied by policy ({code})"),
            });
            words.collect::<Vec<_>>().join("; ")
        }
        Refusal::CompileFailed { reason, .. } => format!("no context could be compiled ({reason})"),
    }
}

/// Why policy denied it, for a person.
fn denial(reason: &str) -> Option<&'static str> {
    match reason {
        authority::EMPTY_PROMPT => Some("the prompt is empty"),
        authority::PROMPT_TOO_LARGE => {
            Some("the prompt is longer than the kernel's prompt.max_bytes allows; ask about less")
        }
        authority::MODEL_NOT_ALLOWED => {
            Some("the kernel's models.allowed has no place for this model")
        }
        policy::TIER_NOT_ALLOWED => {
            Some("the kernel's policy.models has no place for this model at its tier")
        }
        policy::THREAD_LIMIT => Some(
            "the thread has as many questions as policy.thread allows; begin another: gently thread new",
        ),
        policy::RATE_LIMIT => {
            Some("as many questions were asked as policy.rate allows in its time; wait")
        }
        policy::BUDGET => {
            Some("the questions came to as many tokens as policy.budget allows in its time; wait")
        }
        policy::REFS_REQUIRED => {
            Some("the kernel's policy.refs wants more earlier questions to be referred to: --ref")
        }
        topic if topic.starts_with(policy::FORBIDDEN) => Some(
            "the kernel forbids this topic, in the question, in what it refers to, or in what is sent with it",
        ),
        _ => None,
    }
}

fn kinds(asked: &TurnResult) -> Vec<&str> {
    let mut kinds: Vec<&str> = asked
        .removed
        .iter()
        .map(|finding| finding.kind.as_str())
        .collect();
    kinds.dedup();
    kinds
}

fn distinct(kinds: &[String]) -> Vec<&str> {
    let mut kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// What is the same for every ending.
fn common_facts(asked: &TurnResult, ids: &TurnIds, session: &SessionRow, outcome: &str) -> Value {
    json!({
        "outcome": outcome, "session": ids.session.to_string(), "session_uuid": ids.session_uuid.to_string(),
        "session_opened": asked.resumed.opened, "seq": ids.seq, "exchange": ids.exchange.to_string(),
        "model": session.model, "branch": session.branch, "block": session.anchor.block,
        "prompt_hash": ids.prompt_hash.to_string(), "prompt_line": ids.prompt_line.to_string(),
        "thread_id": asked.referred.thread(), "turn_id": ids.exchange, "parent_turn_id": asked.referred.parent(),
        "removed_from_prompt": kinds(asked),
    })
}

fn answer_facts(asked: &TurnResult, answer: &RecordedAnswer, shown: bool) -> Value {
    let mut facts = common_facts(asked, &answer.ids, &answer.session, "answered");
    facts["answer"] = if shown {
        json!(answer.text)
    } else {
        Value::Null
    };
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
    facts["removed_from_answer"] = json!(distinct(&answer.redacted));
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
        "events": events.collect::<Vec<_>>(), "checks": judgement.checks(),
    })
}

fn refusal_facts(asked: &TurnResult, ids: &TurnIds, session: &SessionRow, why: &str) -> Value {
    let (outcome, reason, exchange_hash) = match &asked.turn {
        TurnEnd::Refused(refusal, _) => {
            let (outcome, reason) = match &refusal.refusal {
                Refusal::Denied { reason, .. } => ("denied", reason),
                Refusal::CompileFailed { reason, .. } => ("failed", reason),
            };
            (outcome, reason.clone(), refusal.exchange_hash)
        }
        TurnEnd::Failed(failure, _) | TurnEnd::Interrupted(failure) => {
            ("failed", failure.reason.clone(), failure.exchange_hash)
        }
        TurnEnd::Answered(answer) => ("answered", String::new(), answer.exchange_hash),
    };
    let mut facts = common_facts(asked, ids, session, outcome);
    if let TurnEnd::Refused(
        RecordedRefusal {
            refusal: Refusal::Denied { codes, .. },
            ..
        },
        _,
    ) = &asked.turn
    {
        facts["reasons"] = json!(codes);
    }
    if let Err(fault) = asked.referred.resolved() {
        facts["reference"] = json!({"code": fault.code(), "id": fault.id(), "limit": fault.limit(), "remedy": fault.remedy()});
    }
    facts["answer"] = Value::Null;
    facts["reason"] = json!(reason);
    facts["message"] = json!(why);
    facts["exchange_hash"] = json!(exchange_hash.to_string());
    facts
}
