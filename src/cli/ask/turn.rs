//! One question at the terminal, whoever brings it: the wait, the answer on stdout, the lines on
//! stderr.

use crate::app::ask::council::CouncilResult;
use crate::app::ask::denial::reason_words;
use crate::app::ask::retry::again;
use crate::app::ask::warnings::{CarriedWarning, DriftWarning};
use crate::app::ask::{AskRequest, AskResult, prepare, settle};
use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::app::home::unrecorded::RecordState;
use crate::app::look::conversation::QuestionPlace;
use crate::app::look::not_shown::UnshownReference;
use crate::app::words::short_uuids;
use crate::ask::sight_sent::tools_named;
use crate::ask::{AskError, TurnEnd};
use crate::config::AnchorMode;
use crate::govern::drift::{DriftClass, ReplyVerdict};
use crate::record::ledger::measures::QuestionDoor;
use crate::record::ledger::reply::readable;
use crate::recorder::{RecordedAnswer, RecordedFailure, RecorderError};
use crate::store::SessionRow;
use crate::view::ask::council::{AskedView, CouncilTurnView};
use crate::view::ask::turn::{AttachmentView, TurnNotices, TurnView, answer_kinds, tools_wanted};
use crate::view::ask::unrecorded::UnrecordedView;
use crate::view::remember::context::disclosed;

use super::receipt::{ReceiptFile, TurnReceipt};
use crate::cli::look::action;
use crate::cli::look::session::block_name;
use crate::cli::prove::tree_heads;
use crate::cli::remember::context::{self, LossesTold};
use crate::cli::remember::handoff;
use crate::cli::screen::terminal::Terminal;
use crate::cli::screen::view_or_words::{view_before_words, view_or_words};
use crate::cli::screen::{mark, quiet};
use crate::cli::{COULD_NOT, FINE, NEGATIVE, Notices, print_reply, program, say, withheld};

/// How a question came in at this door, and what was said at it.
pub struct TurnScreen<'a> {
    /// Whether the answer is one JSON object.
    pub json: bool,
    /// Whether more is said after an answer.
    pub verbose: bool,
    /// Whether the home was made for this question.
    pub made: bool,
    /// Whether the line below an answer names the conversation; a chat has said where it is.
    pub names_place: bool,
    /// What was said, for `--json`.
    pub told: &'a Notices,
}

/// What came of a question at this door.
pub struct TurnReport {
    /// The exit code.
    pub code: u8,
    /// The turn; none when it can't be told that all of it is on record.
    pub asked: Option<AskResult>,
    /// Whether the recorder failed: it is to be opened anew.
    pub is_unrecorded: bool,
    /// The exit code of the signal that ended the wait, if one did.
    pub signalled: Option<u8>,
    /// Where `main` was before, for what is done after the answer.
    pub(super) main_before: Option<u64>,
}

impl TurnReport {
    /// Of a wait that is over, and of which nothing is shown yet.
    pub(super) fn ended(signalled: Option<u8>, main_before: Option<u64>) -> TurnReport {
        TurnReport {
            code: signalled.unwrap_or(COULD_NOT),
            asked: None,
            is_unrecorded: false,
            signalled,
            main_before,
        }
    }
}

/// How one attempt at a question ended.
enum Attempt {
    /// It was shown.
    Done(Box<TurnReport>),
    /// It is to be asked like this.
    Again(Box<AskRequest>),
}

/// Does what can wait until the answer is there. `is_touched`: whether the log was changed since it
/// was noted last.
pub async fn settled(
    opened: &OpenHome,
    report: &TurnReport,
    is_touched: bool,
    told: &Notices,
) -> Result<(), OpenHomeError> {
    let settled = settle(opened, report.main_before).await;
    settled.erased.iter().for_each(|line| say(line));
    tree_heads::say(&settled.outside, told);
    // Reading all of the log costs nobody a wait now.
    if is_touched && let Some(line) = opened.home.changed_line()? {
        told.say(&format!(
            "audit.log was changed: its line {line} is not the one on record. gently audit verify names what differs; \
             gently audit rebuild sets the file aside and writes it anew, where the signed tree head agrees"
        ));
    }
    Ok(())
}

impl TurnScreen<'_> {
    /// Asks, and prints what came of it. The signals are armed for as long as it takes.
    pub async fn ask(
        &self,
        opened: &OpenHome,
        request: &AskRequest,
        place: Option<ReceiptFile>,
    ) -> Result<TurnReport, OpenHomeError> {
        self.ask_until_shown(opened, (request, 0), place).await
    }

    /// The same, and asks again where the kernel blocks the answer, so many times.
    pub async fn ask_until_shown(
        &self,
        opened: &OpenHome,
        (request, retries): (&AskRequest, u8),
        place: Option<ReceiptFile>,
    ) -> Result<TurnReport, OpenHomeError> {
        let (mut next, mut place) = (request.clone(), place);
        loop {
            match self.attempt(opened, (&next, retries), &mut place).await? {
                Attempt::Done(report) => return Ok(*report),
                Attempt::Again(request) => next = *request,
            }
        }
    }

    /// Asks once, and prints what came of it if that is not to be asked again.
    async fn attempt(
        &self,
        opened: &OpenHome,
        (request, retries): (&AskRequest, u8),
        place: &mut Option<ReceiptFile>,
    ) -> Result<Attempt, OpenHomeError> {
        let setup = prepare(opened, request, &|line| self.told.say(line)).await?;
        let main_before = setup.main_before();
        let person = Terminal::listen(setup.model_id()).map_err(|e| OpenHomeError::Signals {
            reason: e.to_string(),
        })?;
        let notice = |line: &str| self.told.say(line);
        let (all, files) = setup.names_turns();
        let told = LossesTold {
            all: self.verbose || all,
            files,
        };
        let lost = |not_shown: &[UnshownReference]| {
            let lines = context::lost_with_files(not_shown, told, self.door());
            lines.iter().for_each(|line| self.told.say(line));
        };
        let turn = setup.ask(&person.control, &notice, &lost);
        let outcome = person.attend(turn).await;
        let signalled = person.exit_code();
        // From here on a signal ends the process, whoever is slow to read what is printed.
        drop(person);
        let ended = TurnReport::ended(signalled, main_before);
        let asked = match outcome {
            Ok(asked) => asked,
            Err(error) => return Ok(Attempt::Done(Box::new(self.unasked(error, ended)))),
        };
        if let Some(next) = again(request, &asked, retries) {
            let (of, id) = (next.attempt.unwrap_or_default(), &asked.id);
            self.told.say(&format!(
                "{id} is on record and withheld, as your kernel says: asked again, {of} of {retries}"
            ));
            return Ok(Attempt::Again(Box::new(next)));
        }
        let shown = self.shown(opened, &asked, None, (place.take(), ended));
        Ok(Attempt::Done(Box::new(TurnReport {
            asked: Some(asked),
            ..shown
        })))
    }

    /// Prints a turn, with what a council it is of decided; `ended` is how its wait ended.
    pub(super) fn shown(
        &self,
        opened: &OpenHome,
        asked: &AskResult,
        council: Option<&CouncilResult>,
        (place, ended): (Option<ReceiptFile>, TurnReport),
    ) -> TurnReport {
        let receipt = TurnReceipt::of(opened, asked, place, self.json);
        let anchored = opened.config.anchor.mode == AnchorMode::Auto;
        let code = self.show((asked, council), &receipt, (ended.code, anchored));
        TurnReport {
            code: code.max(receipt.say()),
            ..ended
        }
    }

    /// Says why nothing came of a question that could be shown.
    pub(super) fn unasked(&self, error: AskError, ended: TurnReport) -> TurnReport {
        let (code, is_unrecorded) = match error {
            AskError::Interrupted => (given_up(self.json, ended.code), false),
            AskError::Prompt(cause) => {
                let state = RecordState::of(&cause);
                (self.withheld(&cause, state, "no model was called"), true)
            }
            AskError::Outcome(cause) => {
                let state = RecordState::of_outcome(&cause);
                let what = "the answer is withheld";
                (self.withheld(&cause, state, what), true)
            }
        };
        TurnReport {
            code,
            is_unrecorded,
            ..ended
        }
    }

    fn withheld(&self, cause: &RecorderError, state: RecordState, what: &str) -> u8 {
        withheld(&cause.to_string(), state, self.json, what)
    }

    /// Prints a turn. `signalled`: the exit code of one that was given up; `anchored`: whether blocks
    /// are looked for.
    fn show(
        &self,
        (asked, council): (&AskResult, Option<&CouncilResult>),
        receipt: &TurnReceipt,
        (signalled, anchored): (u8, bool),
    ) -> u8 {
        let turn = &asked.turn;
        for conflict in &asked.conflicts {
            say(&format!("{} {}", mark("warning"), conflict.sentence()));
        }
        let printed = self.print_answer((asked, council), receipt);
        let code = match &turn.turn {
            TurnEnd::Answered(answer) => self.show_answer(answer, asked, anchored),
            TurnEnd::Refused(_, fault) => {
                self.show_refusal(asked);
                if fault.is_some() { COULD_NOT } else { NEGATIVE }
            }
            TurnEnd::Failed(failure, _) => {
                self.show_failure(failure, asked);
                COULD_NOT
            }
            TurnEnd::Interrupted(failure) => {
                self.show_failure(failure, asked);
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

    /// Where the question came in.
    pub(super) fn door(&self) -> QuestionDoor {
        match self.names_place {
            true => QuestionDoor::Ask,
            false => QuestionDoor::Chat,
        }
    }

    /// What a person should know of a turn, behind the line that says what became of it: what was
    /// taken out of the question, and what of memory was left out.
    fn tell_of_prompt(&self, asked: &AskResult) {
        let removed = asked.removed.iter();
        removed.for_each(|one| say(&one.sentence()));
        if !matches!(asked.turn.turn, TurnEnd::Refused(..)) {
            let told = LossesTold {
                all: self.verbose || asked.declared.names_turns(),
                files: asked.are_refs_typed,
            };
            let lost = context::beside_room(&asked.not_shown, told);
            lost.iter().for_each(|line| say(line));
        }
    }

    /// What stands on stdout: the answer, or the view of the turn.
    fn print_answer(
        &self,
        (asked, council): (&AskResult, Option<&CouncilResult>),
        receipt: &TurnReceipt,
    ) -> u8 {
        let view = || {
            let beside = TurnNotices {
                notes: self.told.lines(),
                receipt: receipt.value(),
                files: AttachmentView::of_all(&asked.files),
            };
            AskedView {
                turn: TurnView::of(asked, beside),
                council: council.map(CouncilTurnView::of),
            }
        };
        view_or_words(self.json, view, || match asked.answer().map(readable) {
            Some(answer) if answer.ends_with('\n') => print_reply(&answer),
            Some(answer) => print_reply(&format!("{answer}\n")),
            None => FINE,
        })
    }

    fn show_answer(&self, answer: &RecordedAnswer, asked: &AskResult, anchored: bool) -> u8 {
        let code = match answer.judgement.verdict() {
            ReplyVerdict::Show | ReplyVerdict::Warn => FINE,
            ReplyVerdict::Block => NEGATIVE,
        };
        let place = asked.place_to_tell().filter(|_| self.names_place);
        say(&recorded_line(asked, answer, (anchored, place)));
        if self.verbose {
            say(&more(asked, answer));
        }
        self.tell_of_prompt(asked);
        warn(asked);
        let missed = asked.shape_missed();
        let code = if missed.is_some() { NEGATIVE } else { code };
        // A kernel that warns of it has said so.
        let is_said = |said: &DriftWarning| said.class == DriftClass::Schema.name();
        if let Some(sentence) = missed
            .as_ref()
            .filter(|_| !asked.warnings.iter().any(is_said))
        {
            say(&format!("{} {sentence}", mark("warning")));
        }
        let silent = asked
            .noted
            .iter()
            .filter(|one| !is_said(one) || missed.is_none());
        for DriftWarning {
            sentence, class, ..
        } in silent.filter(|_| self.verbose)
        {
            say(&format!(
                "noted without a warning, as your kernel says: {sentence} ({class})"
            ));
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
        carried(asked, self.door());
        let context = &asked.turn.context;
        if let Some(line) = disclosed(context) {
            let (program, id) = (program(), &asked.id);
            say(&format!("{line}; to see them: {program} context show {id}"));
        }
        sent_sight(asked).iter().for_each(|line| say(line));
        let due = handoff::due_line(asked);
        due.iter().for_each(|line| say(line));
        code
    }

    fn show_refusal(&self, asked: &AskResult) {
        let why = asked.why_unanswered().unwrap_or_default();
        say(&format!("no model was called: {why}"));
        say(&not_answered(asked, "no model was asked"));
        self.tell_of_prompt(asked);
        warn(asked);
    }

    fn show_failure(&self, failure: &RecordedFailure, asked: &AskResult) {
        say(&format!(
            "error: {}",
            asked.why_unanswered().unwrap_or_default()
        ));
        let why = format!("no answer: {}", reason_words(&failure.reason));
        say(&not_answered(asked, &why));
        self.tell_of_prompt(asked);
        carried(asked, self.door());
        sent_sight(asked).iter().for_each(|line| say(line));
    }
}

/// `⚠ The answer says it restarted something ("I restarted it"). gently did nothing. (authority)`
fn warn(asked: &AskResult) {
    for warning in &asked.warnings {
        let (sentence, class) = (&warning.sentence, &warning.class);
        say(&format!("{} {sentence} ({class})", mark("warning")));
    }
}

/// `told to the model with your question: An earlier answer says it did something. gently did nothing.`
/// and how that ends.
fn carried(asked: &AskResult, door: QuestionDoor) {
    let close = match door {
        QuestionDoor::Chat => "/drift".to_owned(),
        _ => format!("{} drift", program()),
    };
    for CarriedWarning { id, sentence } in asked.carried.iter().filter(|_| asked.over_a_wire) {
        say(&format!(
            "told to the model with your question: {sentence} To end that: {close} close {id}"
        ));
    }
}

/// `✘ 8923fa34/4 · no answer: the model took too long · on record`
fn not_answered(asked: &AskResult, what: &str) -> String {
    format!("{} {} · {what} · on record", mark("no"), asked.id)
}

/// `sent about this machine: disk_usage, sys_health (looked at just now)`; none when nothing was, or
/// it was told before.
fn sent_sight(asked: &AskResult) -> Option<String> {
    let is_untold = asked.over_a_wire && !asked.leaves_machine;
    let named = tools_named(&asked.turn.context).filter(|_| is_untold)?;
    Some(format!("sent about this machine: {named}"))
}

/// Whoever asked gave up before there was anything to record.
fn given_up(json: bool, signalled: u8) -> u8 {
    let sentence = "interrupted before the prompt was recorded: no model was called";
    view_before_words(json, || UnrecordedView::interrupted(sentence, signalled));
    say(sentence);
    signalled
}

/// `✔ 8923fa34/3 · in "Tax questions" · block 930226`, and what the person should know: how much of
/// the conversation was left out, whose answer is replayed.
fn recorded_line(
    asked: &AskResult,
    answer: &RecordedAnswer,
    (anchored, place): (bool, Option<&QuestionPlace>),
) -> String {
    /// The columns that the line has: a title takes what is left of them.
    const COLUMNS: usize = 80;
    // A handoff stands for what is not shown.
    let lost = !asked.from_handoff && context::is_short_of_turns(&asked.turn);
    let turns = context::turns_in(&asked.turn).filter(|_| lost);
    let replayed = asked.replayed.as_deref().map(short_uuids);
    let beside = [turns, replayed];
    let beside = beside.into_iter().flatten();
    let beside: String = beside.map(|text| format!(" · {text}")).collect();
    let block = block_told(asked, &answer.session, anchored);
    let block = block.map_or_else(String::new, |block| format!(" · {block}"));
    let begins = format!("{} {}", mark("yes"), asked.id);
    let place = place.map_or_else(String::new, |place| {
        let others = [&begins, " · in ", &block, &beside];
        let taken: usize = others.iter().map(|text| text.chars().count()).sum();
        format!(
            " · in {}",
            quiet(&place.called_within(COLUMNS.saturating_sub(taken)))
        )
    });
    format!("{begins}{place}{block}{beside}")
}

/// What `-v` adds beside what was noted of the answer: `openai/small-1b · branch-4 · chain 8923fa34… · 4 earlier turns · 812 tokens ·
/// $0.0041 · window of 8192 tokens`, and what each block source did where there is no block.
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
    // The line above says it where some of them are missing.
    let turns = context::turns_in(&asked.turn);
    let turns = turns.filter(|_| asked.from_handoff || !context::is_short_of_turns(&asked.turn));
    let parts = [
        Some(answer.session.model.clone()),
        Some(answer.session.branch.clone()),
        Some(chain),
        turns,
        tokens,
        answer.cost.as_ref().map(ToString::to_string),
        asked.over_a_wire.then(|| window_told(asked.window)),
        asked.lack().map(|lack| format!("no block: {}", lack.why)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// How much the model takes; what is sent depends on it.
fn window_told(window: Option<u64>) -> String {
    match window {
        Some(tokens) => format!("window of {tokens} tokens"),
        None => "its window is not known".to_owned(),
    }
}

/// `block 930226`, or that there is none where blocks are asked for, and why.
fn block_told(asked: &AskResult, session: &SessionRow, anchored: bool) -> Option<String> {
    match (session.anchor.block.is_local(), anchored) {
        (false, _) => Some(block_name(session)),
        (true, true) => Some(match asked.lack() {
            Some(lack) => format!("no block: {}", lack.says),
            // Nobody was asked for this question.
            None => "no block".to_owned(),
        }),
        // Nobody is asked, by choice.
        (true, false) => None,
    }
}
