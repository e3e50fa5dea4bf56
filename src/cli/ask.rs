//! `gently ask`: the answer on stdout and nothing else there; one line on stderr.

use std::io::{IsTerminal, Read};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::app::ask::{AskRequest, AskResult, AskSetup, beyond_without_a_home, prepare, settle};
use crate::app::attachment::Attachment;
use crate::app::open::{self, OpenHome, OpenHomeError};
use crate::app::unrecorded::RecordState;
use crate::app::warnings::DriftWarning;
use crate::app::words::short_uuids;
use crate::ask::{AskError, TurnEnd};
use crate::config::AnchorMode;
use crate::govern::drift::{DriftClass, ReplyVerdict};
use crate::record::ledger::reply::readable;
use crate::recorder::{RecordedAnswer, RecordedFailure, RecorderError};
use crate::store::SessionRow;
use crate::view::context::disclosed;
use crate::view::turn::{
    AttachmentView, TurnNotes, TurnView, answer_kinds, removed_kinds, tools_wanted,
};
use crate::view::unrecorded::UnrecordedView;

use super::args::AskArgs;
use super::receipt::{ReceiptFile, TurnReceipt};
use super::screen::mark;
use super::session::block_name;
use super::terminal::Terminal;
use super::{
    COULD_NOT, FINE, NEGATIVE, Notices, action, context, could_not, heads, init, print, print_view,
    program, say, withheld,
};

/// Standard input past this is no prompt; the kernel's own limit is far below.
const MAX_INPUT: u64 = 16 * 1024 * 1024;
/// Standard input that takes longer is worth a word.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks once.
pub async fn run(args: AskArgs, json: bool) -> Result<u8, OpenHomeError> {
    let files = args.files.iter().map(|path| Attachment::read(path));
    let files: Vec<Attachment> = match files.collect() {
        Ok(files) => files,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let text = match question(&args.words, !files.is_empty()) {
        Ok(text) => text,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let place = args.receipt.as_deref().map(ReceiptFile::reserve);
    let place = match place.transpose() {
        Ok(place) => place,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let request = AskRequest {
        text,
        files,
        model: args.model,
        call: args.call.options(),
        context: args.refs.request(),
        thread: args.place.request(),
        sight: args.sight.wish(),
    };
    let path = open::home_path()?;
    if !path.exists()
        && let Some(why) = beyond_without_a_home(&request, &path).await
    {
        return Ok(could_not(&why, json));
    }
    let told = Notices::default();
    let (home, made) = open::home_or_new()?;
    let touched = home.log_is_touched();
    let opened = OpenHome::open_for_turns(home).inspect_err(|_| open::note_files())?;
    if made {
        init::welcome(&opened.home, &opened.config, &told);
    }
    let door = Door {
        json,
        verbose: args.verbose,
        anchored: opened.config.anchor.mode == AnchorMode::Auto,
        made,
        told: &told,
    };
    let done = door.answer(&opened, &request, place, touched).await;
    open::close_and_note(opened);
    done
}

/// How this door was called, and what was said at it.
struct Door<'a> {
    json: bool,
    /// Whether more is said after an answer.
    verbose: bool,
    /// Whether blocks are looked for.
    anchored: bool,
    /// Whether the home was made for this question.
    made: bool,
    told: &'a Notices,
}

impl Door<'_> {
    /// Asks, and does what can wait until the answer is there. `touched`: whether the log was
    /// changed since it was noted last.
    async fn answer(
        &self,
        opened: &OpenHome,
        request: &AskRequest,
        place: Option<ReceiptFile>,
        touched: bool,
    ) -> Result<u8, OpenHomeError> {
        let setup = prepare(opened, request, &|line| self.told.say(line)).await?;
        let main_before = setup.main_before();
        let code = self.ask(opened, setup, place).await?;
        // The person has the answer.
        let settled = settle(opened, main_before).await;
        settled.erased.iter().for_each(|line| say(line));
        heads::say(&settled.outside, self.told);
        // Reading all of the log costs nobody a wait now.
        if touched && let Some(line) = opened.home.changed_line()? {
            self.told.say(&format!(
                "audit.log was changed: its line {line} is not the one on record. gently audit verify names what differs; \
                 gently audit rebuild sets the file aside and writes it anew, where the signed tree head agrees"
            ));
        }
        Ok(code)
    }

    async fn ask(
        &self,
        opened: &OpenHome,
        setup: AskSetup<'_>,
        place: Option<ReceiptFile>,
    ) -> Result<u8, OpenHomeError> {
        let person = Terminal::listen(setup.model_id()).map_err(|e| OpenHomeError::Signals {
            reason: e.to_string(),
        })?;
        let notice = |line: &str| self.told.say(line);
        let turn = setup.ask(&person.control, &notice);
        let outcome = person.attend(turn).await;
        let signalled = person.exit_code().unwrap_or(COULD_NOT);
        // From here on a signal ends the process, whoever is slow to read what is printed.
        drop(person);
        Ok(match outcome {
            Ok(asked) => {
                let receipt = TurnReceipt::of(opened, &asked, place, self.json);
                let code = self.show(&asked, &receipt, signalled);
                code.max(receipt.say())
            }
            Err(AskError::Interrupted) => given_up(self.json, signalled),
            Err(AskError::Prompt(cause)) => self.withheld(&cause, "no model was called"),
            Err(AskError::Outcome(cause)) => self.withheld(&cause, "the answer is withheld"),
        })
    }

    fn withheld(&self, cause: &RecorderError, what: &str) -> u8 {
        let state = RecordState::of(cause);
        withheld(&cause.to_string(), state, self.json, what)
    }

    fn show(&self, asked: &AskResult, receipt: &TurnReceipt, signalled: u8) -> u8 {
        let turn = &asked.turn;
        for kind in removed_kinds(turn) {
            say(&format!(
                "removed from the prompt before it was stored or sent: {kind}"
            ));
        }
        if !matches!(turn.turn, TurnEnd::Refused(..)) {
            let all = self.verbose || asked.declared.names_turns();
            let lost = context::beside_room(&turn.referred, all);
            lost.iter().for_each(|line| say(line));
        }
        for conflict in &asked.conflicts {
            say(&format!("{} {}", mark("warning"), conflict.sentence()));
        }
        let printed = self.print_answer(asked, receipt);
        let code = match &turn.turn {
            TurnEnd::Answered(answer) => show_answer(answer, asked, self),
            TurnEnd::Refused(_, fault) => {
                show_refusal(asked);
                if fault.is_some() { COULD_NOT } else { NEGATIVE }
            }
            TurnEnd::Failed(failure, _) => {
                show_failure(failure, asked);
                COULD_NOT
            }
            TurnEnd::Interrupted(failure) => {
                show_failure(failure, asked);
                signalled
            }
        };
        for action in &turn.actions {
            say(&action::line_of(action, asked.is_withheld()));
        }
        if self.made {
            say(&format!(
                "To check your record at any time: {} audit verify",
                program()
            ));
        }
        match &turn.turn {
            TurnEnd::Answered(_) => code.max(printed),
            _ => code,
        }
    }

    /// What stands on stdout: the answer, or the view of the turn.
    fn print_answer(&self, asked: &AskResult, receipt: &TurnReceipt) -> u8 {
        if self.json {
            let beside = TurnNotes {
                notes: self.told.lines(),
                receipt: receipt.value(),
                files: AttachmentView::of_all(&asked.files),
            };
            return print_view(&TurnView::of(asked, beside));
        }
        match asked.answer().map(readable) {
            Some(answer) if answer.ends_with('\n') => print(&answer),
            Some(answer) => print(&format!("{answer}\n")),
            None => FINE,
        }
    }
}

fn show_answer(answer: &RecordedAnswer, asked: &AskResult, door: &Door<'_>) -> u8 {
    let code = match answer.judgement.verdict() {
        ReplyVerdict::Show | ReplyVerdict::Warn => FINE,
        ReplyVerdict::Block => NEGATIVE,
    };
    warn(asked);
    let missed = asked.shape_missed();
    let code = if missed.is_some() { NEGATIVE } else { code };
    // A kernel that warns of it has said so.
    let is_said = |said: &DriftWarning| said.class == DriftClass::Schema.name();
    if let Some(sentence) = missed.filter(|_| !asked.warnings.iter().any(is_said)) {
        say(&format!("{} {sentence}", mark("warning")));
    }
    for kind in answer_kinds(answer) {
        say(&format!(
            "the answer held a secret ({kind}): it is stored without it"
        ));
    }
    tools_wanted(answer).iter().for_each(|line| say(line));
    if asked.is_withheld() {
        say(&format!(
            "The answer is on record and withheld, as your kernel says. To see it: {} show {} --withheld",
            program(),
            asked.id
        ));
    }
    let context = &asked.turn.context;
    disclosed(context).iter().for_each(|line| say(line));
    say(&recorded_line(asked, answer, door.anchored));
    if door.verbose {
        say(&more(asked, answer));
    }
    sent_sight(asked).iter().for_each(|line| say(line));
    code
}

/// `⚠ The answer says it restarted something ("I restarted it"). gently did nothing. (authority)`
fn warn(asked: &AskResult) {
    for warning in &asked.warnings {
        let (sentence, class) = (&warning.sentence, &warning.class);
        say(&format!("{} {sentence} ({class})", mark("warning")));
    }
}

fn show_refusal(asked: &AskResult) {
    let why = asked.why_unanswered().unwrap_or_default();
    say(&format!("no model was called: {why}"));
    warn(asked);
    say(&not_answered(asked, "no model was asked"));
}

/// `✘ 8923fa34/4 · no answer (timeout) · on record`
fn not_answered(asked: &AskResult, what: &str) -> String {
    format!("{} {} · {what} · on record", mark("no"), asked.id)
}

fn show_failure(failure: &RecordedFailure, asked: &AskResult) {
    say(&format!(
        "error: {}",
        asked.why_unanswered().unwrap_or_default()
    ));
    let why = format!("no answer ({})", failure.reason);
    say(&not_answered(asked, &why));
    sent_sight(asked).iter().for_each(|line| say(line));
}

/// `sent about this machine: disk_usage, sys_health (looked at just now)`; none when nothing was.
fn sent_sight(asked: &AskResult) -> Option<String> {
    let sent = asked.sent_sight();
    let oldest = sent.iter().filter_map(|tool| tool.freshness_s).max()?;
    let names: Vec<&str> = sent
        .iter()
        .map(|tool| tool.artifact_type.as_str())
        .collect();
    let when = match oldest {
        0 | 1 => "just now".to_owned(),
        seconds => format!("{seconds} seconds before"),
    };
    Some(format!(
        "sent about this machine: {} (looked at {when})",
        names.join(", ")
    ))
}

/// Whoever asked gave up before there was anything to record.
fn given_up(json: bool, signalled: u8) -> u8 {
    let sentence = "interrupted before the prompt was recorded: no model was called";
    if json {
        print_view(&UnrecordedView::interrupted(sentence, signalled));
    }
    say(sentence);
    signalled
}

/// `✔ 8923fa34/3 · block 930226`, and what the person should know: how much of the conversation was
/// left out, whose answer is replayed.
fn recorded_line(asked: &AskResult, answer: &RecordedAnswer, anchored: bool) -> String {
    let lost = context::is_short_of_turns(&asked.turn);
    let turns = context::turns_in(&asked.turn).filter(|_| lost);
    let replayed = asked.replayed.as_deref().map(short_uuids);
    let beside = [turns, replayed];
    let beside = beside.into_iter().flatten();
    let beside: String = beside.map(|text| format!(" · {text}")).collect();
    let block = block_told(&answer.session, anchored);
    let block = block.map_or_else(String::new, |block| format!(" · {block}"));
    format!("{} {}{block}{beside}", mark("yes"), asked.id)
}

/// What `-v` adds: `openai/small-1b · branch-4 · chain 8923fa34… · 4 earlier turns · 812 tokens ·
/// $0.0041 · window of 8192 tokens`.
fn more(asked: &AskResult, answer: &RecordedAnswer) -> String {
    let usage = &answer.usage;
    let counts = [usage.prompt_tokens, usage.completion_tokens];
    let tokens = counts
        .iter()
        .flatten()
        .copied()
        .reduce(u64::saturating_add)
        .map(|sum| format!("{sum} tokens"));
    let chain = format!("chain {}…", answer.chain_entry.short8());
    let parts = [
        Some(answer.session.model.clone()),
        Some(answer.session.branch.clone()),
        Some(chain),
        context::turns_in(&asked.turn),
        tokens,
        answer.cost.as_ref().map(ToString::to_string),
        asked.over_a_wire.then(|| window_told(asked.window)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// How much the model takes; what is sent depends on it.
fn window_told(window: Option<u64>) -> String {
    match window {
        Some(tokens) => format!("window of {tokens} tokens"),
        None => "window unknown".to_owned(),
    }
}

/// `block 930226`, or that there is none where one was looked for.
fn block_told(session: &SessionRow, anchored: bool) -> Option<String> {
    match (session.anchor.block.is_local(), anchored) {
        (false, _) => Some(block_name(session)),
        (true, true) => Some("no block: offline".to_owned()),
        // Nobody is asked, by choice.
        (true, false) => None,
    }
}

/// The prompt from arguments, standard input, or both.
fn question(words: &[String], with_files: bool) -> Result<String, String> {
    let nothing = || format!("nothing asked: {} ask \"QUESTION\"", program());
    let mut text = words.join(" ");
    if std::io::stdin().is_terminal() {
        return if words.is_empty() && !with_files {
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
    if words.is_empty() && piped.is_empty() && !with_files {
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
