//! `gently handoff`: a conversation summed up, for whoever goes on in it.

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use crate::app::ask::{AskResult, SpecialistWish, prepare, settle};
use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::home::unrecorded::RecordState;
use crate::app::look::not_shown::UnshownReference;
use crate::app::redacted::clean;
use crate::app::remember::handoff::make::{
    HandoffOutcome, HandoffPlan, HandoffRequest, UncoveredConversation, conclude, plan, uncovered,
};
use crate::app::remember::handoff::{HandoffState, ShownHandoff, list, one};
use crate::app::words::counted;
use crate::ask::{AskError, TurnEnd};
use crate::cli::look::action;
use crate::cli::prove::tree_heads;
use crate::cli::remember::context::{self, LossesTold};
use crate::cli::screen::terminal::Terminal;
use crate::cli::screen::{mark, quiet};
use crate::cli::{
    COULD_NOT, FINE, NEGATIVE, Notices, WITHHELD, error_words, present, print_reply, print_view,
    program, say,
};
use crate::record::ledger::handoff::HandoffTrigger;
use crate::record::ledger::measures::QuestionDoor;
use crate::record::ledger::reply::readable;
use crate::record::ledger::short_name::short_name;
use crate::recorder::RecorderError;
use crate::view::ask::warning::WarningView;
use crate::view::remember::handoff::{HandoffRunView, HandoffRunsView, HandoffView};

/// One handoff a second, where several are made.
const PACE: Duration = Duration::from_secs(1);

/// Subcommands of `gently handoff`.
#[derive(Debug, Subcommand)]
pub enum HandoffCommand {
    /// Have a conversation summed up by a model, for whoever goes on in it
    ///
    /// The model is sent the last 60 messages. A reply without the six headings GOAL, DECISIONS, STATUS,
    /// ACTIVE FILE, PREFERENCES and RESUME is no handoff (exit 1). Later questions are shown the
    /// handoff and what came after it, in place of the last turns.
    Run(HandoffArgs),
    /// List handoffs, with whether each can be gone on from
    List {
        /// Those of one conversation: the first digits of its id, its title, or last
        conversation: Option<String>,
    },
    /// Show a handoff: the newest without an id
    Show {
        /// As in handoff-3
        id: Option<String>,
    },
}

/// `gently handoff run`.
#[derive(Debug, Args)]
pub struct HandoffArgs {
    /// The conversation: the first digits of its id, its title, or last; yours that was asked in last
    /// without it
    conversation: Option<String>,
    /// Each conversation of at least 5 messages that has no handoff, or messages after it
    #[arg(long, conflicts_with = "conversation")]
    due: bool,
    /// The specialist that writes it
    #[arg(long, value_name = "NAME", conflicts_with = "model")]
    specialist: Option<String>,
    /// The model that writes it; else the one that answered there last
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
}

impl HandoffArgs {
    fn request(&self) -> HandoffRequest {
        HandoffRequest {
            conversation: self.conversation.clone(),
            specialist: self.specialist.clone().map(SpecialistWish::Named),
            model: self.model.clone(),
        }
    }
}

/// Carries out `gently handoff`.
pub async fn run(command: HandoffCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        HandoffCommand::Run(args) => {
            let opened = OpenHome::open_for_turns(open::existing_home()?)
                .inspect_err(|_| open::note_files())?;
            let done = match args.due {
                true => run_due(&opened, &args.request(), json).await,
                false => run_one(&opened, &args.request(), json).await,
            };
            open::close_and_note(opened);
            done
        }
        HandoffCommand::List { conversation } => print_list(conversation.as_deref(), json),
        HandoffCommand::Show { id } => print_one(id.as_deref(), json),
    }
}

/// What became of one.
struct HandoffAttempt {
    view: HandoffRunView,
    /// Where `main` was, for what is done after it.
    main_before: Option<u64>,
    /// The exit code of the signal that ended the wait, if one did.
    signalled: Option<u8>,
}

async fn run_one(
    opened: &OpenHome,
    wanted: &HandoffRequest,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let told = Notices::default();
    let planned = plan(opened, wanted, HandoffTrigger::Manual).await?;
    let attempt = attempt(opened, &planned, &told).await?;
    let code = attempt.view.exit;
    if !json && let Some(text) = &attempt.view.text {
        print_reply(&format!("{}\n", readable(text).trim_end()));
    }
    say(&said(&attempt.view));
    after(opened, attempt.main_before, &told).await;
    if json {
        print_view(&HandoffRunsView {
            runs: vec![attempt.view],
            notes: told.lines(),
        });
    }
    Ok(code)
}

async fn run_due(
    opened: &OpenHome,
    wanted: &HandoffRequest,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let told = Notices::default();
    let due = uncovered(opened, wanted).await?;
    if due.is_empty() {
        say("no handoff is due: each conversation of 5 messages or more has one already");
    }
    let (mut runs, mut worst, mut main_before) = (Vec::new(), FINE, None);
    for UncoveredConversation { thread, trigger } in due {
        let begun = Instant::now();
        let of_it = HandoffRequest {
            conversation: Some(thread.to_string()),
            ..wanted.clone()
        };
        let view = match one_due(opened, &of_it, trigger, &told).await {
            Ok(attempt) => {
                main_before = main_before.or(attempt.main_before);
                say(&said(&attempt.view));
                let is_over = attempt.signalled.is_some();
                worst = worst.max(attempt.view.exit);
                runs.push(attempt.view);
                match is_over {
                    true => break,
                    false => None,
                }
            }
            Err(error) => Some(failed(opened, thread, trigger, &error)?),
        };
        if let Some(view) = view {
            say(&said(&view));
            worst = worst.max(view.exit);
            runs.push(view);
        }
        tokio::time::sleep(PACE.saturating_sub(begun.elapsed())).await;
    }
    after(opened, main_before, &told).await;
    if json {
        print_view(&HandoffRunsView {
            runs,
            notes: told.lines(),
        });
    }
    Ok(worst)
}

async fn one_due(
    opened: &OpenHome,
    wanted: &HandoffRequest,
    trigger: HandoffTrigger,
    told: &Notices,
) -> Result<HandoffAttempt, OpenHomeError> {
    let planned = plan(opened, wanted, trigger).await?;
    attempt(opened, &planned, told).await
}

/// One of several that could not be asked for.
fn failed(
    opened: &OpenHome,
    thread: uuid::Uuid,
    trigger: HandoffTrigger,
    error: &OpenHomeError,
) -> Result<HandoffRunView, OpenHomeError> {
    let place = crate::app::look::conversation::QuestionPlace::of(&opened.store, thread)?;
    let exit = match RecordState::after(error) {
        None => COULD_NOT,
        Some(_) => WITHHELD,
    };
    Ok(HandoffRunView {
        why: Some(clean(&error_words(error))),
        exit,
        ..HandoffRunView::wanted(&place, trigger)
    })
}

/// Makes a handoff that an answer made due, where it is to be made so.
pub async fn run_after(opened: &OpenHome, asked: &AskResult, told: &Notices) {
    let Some(due) = asked.due.as_ref().filter(|due| due.is_automatic) else {
        return;
    };
    let wanted = HandoffRequest {
        conversation: Some(due.thread.to_string()),
        specialist: asked
            .specialist
            .as_ref()
            .map(|one| SpecialistWish::Named(one.id.to_string())),
        model: match asked.specialist {
            Some(_) => None,
            None => Some(due.model.clone()),
        },
    };
    match one_due(opened, &wanted, due.trigger, told).await {
        Ok(attempt) => say(&said(&attempt.view)),
        Err(error) => say(&format!("no handoff: {}", clean(&error_words(&error)))),
    }
}

/// That a handoff is due after an answer, in a line; none where it is made right away.
pub fn due_line(asked: &AskResult) -> Option<String> {
    let due = asked.due.as_ref().filter(|due| !due.is_automatic)?;
    let thread = due.thread.to_string();
    let short = asked
        .place
        .as_ref()
        .map_or(thread, |place| place.short.clone());
    Some(format!(
        "{}: {} handoff run {short}",
        due.sentence(),
        program()
    ))
}

/// Does what can wait until the handoff is there.
async fn after(opened: &OpenHome, main_before: Option<u64>, told: &Notices) {
    let settled = settle(opened, main_before).await;
    settled.erased.iter().for_each(|line| told.say(line));
    tree_heads::say(&settled.outside, told);
}

/// Asks for a handoff. The signals are armed for as long as it takes.
async fn attempt(
    opened: &OpenHome,
    planned: &HandoffPlan,
    told: &Notices,
) -> Result<HandoffAttempt, OpenHomeError> {
    let notice = |line: &str| told.say(line);
    let setup = prepare(opened, &planned.request, &notice).await?;
    let main_before = setup.main_before();
    let model = setup.model_id().to_owned();
    let person = Terminal::listen(&model).map_err(|e| OpenHomeError::Signals {
        reason: e.to_string(),
    })?;
    let lost = |not_shown: &[UnshownReference]| {
        let all = LossesTold {
            all: false,
            files: false,
        };
        let lines = context::lost_with_files(not_shown, all, QuestionDoor::Handoff);
        lines.iter().for_each(|line| told.say(line));
    };
    let outcome = person
        .attend(setup.ask(&person.control, &notice, &lost))
        .await;
    let signalled = person.exit_code();
    drop(person);
    let mut view = HandoffRunView {
        model: Some(model),
        ..HandoffRunView::wanted(&planned.place, planned.trigger())
    };
    match outcome {
        Ok(asked) => take_answer(&mut view, opened, planned, (&asked, signalled), told).await?,
        Err(error) => take_error(&mut view, &error, signalled),
    }
    Ok(HandoffAttempt {
        view,
        main_before,
        signalled,
    })
}

async fn take_answer(
    view: &mut HandoffRunView,
    opened: &OpenHome,
    planned: &HandoffPlan,
    (asked, signalled): (&AskResult, Option<u8>),
    told: &Notices,
) -> Result<(), OpenHomeError> {
    view.exchange = Some(asked.id.clone());
    view.warnings = asked.warnings.iter().map(WarningView::of).collect();
    for warning in &asked.warnings {
        let (sentence, class) = (&warning.sentence, &warning.class);
        told.say(&format!("{} {sentence} ({class})", mark("warning")));
    }
    for action in &asked.turn.actions {
        told.say(&action::line_of(action, asked.is_withheld()));
    }
    let outcome = conclude(opened, planned, asked).await?;
    view.why = outcome.why_none();
    match &outcome {
        HandoffOutcome::Made { recorded } => {
            view.handoff = Some(recorded.document.id.clone());
            view.text = asked.answer().map(str::to_owned);
        }
        HandoffOutcome::Incomplete(missing) => {
            view.missing_headings.clone_from(missing);
            view.next = Some(by_another(view));
            view.exit = NEGATIVE;
        }
        HandoffOutcome::Withheld => {
            view.next = Some(by_another(view));
            view.exit = NEGATIVE;
        }
        HandoffOutcome::Unanswered => {
            view.why = asked.why_unanswered();
            // What policy denies, it denies of every model.
            let is_denied = matches!(&asked.turn.turn, TurnEnd::Refused(_, None));
            view.next = (!is_denied).then(|| by_another(view));
            view.exit = match &asked.turn.turn {
                TurnEnd::Refused(_, None) => NEGATIVE,
                TurnEnd::Interrupted(_) => signalled.unwrap_or(COULD_NOT),
                _ => COULD_NOT,
            };
        }
    }
    Ok(())
}

/// How another model is asked for the same.
fn by_another(view: &HandoffRunView) -> String {
    format!(
        "to ask again: {0} handoff run {1}; another model: {0} handoff run {1} -m MODEL",
        program(),
        view.conversation
    )
}

fn take_error(view: &mut HandoffRunView, error: &AskError, signalled: Option<u8>) {
    let state = |cause: &RecorderError, state: RecordState| {
        format!("{}: {}", state.sentence, clean(&cause.to_string()))
    };
    (view.why, view.exit) = match error {
        AskError::Interrupted => (Some(error.to_string()), signalled.unwrap_or(COULD_NOT)),
        AskError::Prompt(cause) => (Some(state(cause, RecordState::of(cause))), WITHHELD),
        AskError::Outcome(cause) => (Some(state(cause, RecordState::of_outcome(cause))), WITHHELD),
    };
}

/// `✔ handoff-1 · 8923fa34/7 · "Tax questions" · made because it was asked for`, or why there is none.
fn said(view: &HandoffRunView) -> String {
    let called = match &view.title {
        Some(title) => format!("\"{}\"", quiet(title)),
        None => format!("conversation {}", view.conversation),
    };
    let exchange = view.exchange.iter().map(|id| format!(" · {id}"));
    let exchange: String = exchange.collect();
    match (&view.handoff, &view.why) {
        (Some(id), _) => format!(
            "{} {}{exchange} · {called} · {}",
            mark("yes"),
            short_name(id),
            view.because
        ),
        (None, why) => {
            let next = view.next.iter().map(|next| format!("\n  {next}"));
            format!(
                "{} no handoff{exchange} · {called}: {}{}",
                mark("no"),
                quiet(why.as_deref().unwrap_or("there is no reply")),
                next.collect::<String>()
            )
        }
    }
}

fn print_list(conversation: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let found = list(&open::existing_home()?, conversation)?;
    let text = || {
        if found.is_empty() {
            say("there is no handoff yet");
        }
        found.iter().map(|one| line(one) + "\n").collect()
    };
    let views = || found.iter().map(HandoffView::of).collect::<Vec<_>>();
    Ok(present(json, views, text))
}

/// `handoff-1  stale: 3 messages after it  "Tax questions"  (8923fa34/7, made after a long silence, openai/small-1b)`, and
/// whether the next question of its conversation is shown it.
fn line(shown: &ShownHandoff) -> String {
    let state = match shown.state {
        HandoffState::Valid => "valid".to_owned(),
        HandoffState::Stale { after } => format!("stale: {} after it", counted(after, "message")),
        HandoffState::Gone(missing) => format!("not valid: its text is {}", missing.name()),
    };
    let next = match (shown.is_next, shown.state) {
        (false, _) => "",
        (true, HandoffState::Stale { .. }) => "; the next question is shown it, and them",
        (true, _) => "; the next question is shown it",
    };
    let (name, trigger) = (shown.name(), shown.handoff.trigger.words());
    let (called, model) = (quiet(&shown.place.called()), quiet(&shown.model));
    let exchange = &shown.exchange;
    format!("{name}  {state}{next}  {called}  ({exchange}, {trigger}, {model})")
}

/// Prints a handoff; the newest without an id.
pub fn print_one(id: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let shown = one(&open::existing_home()?, id)?;
    let text = || {
        say(&line(&shown));
        let text = shown.text.as_deref().map(readable);
        text.map_or_else(String::new, |text| format!("{}\n", text.trim_end()))
    };
    let printed = present(json, || HandoffView::of(&shown), text);
    let is_there = shown.state.is_readable();
    Ok(printed.max(if is_there { FINE } else { NEGATIVE }))
}
