//! The terminal door: what was typed, what it means, what is printed, and the exit code.

mod args;
mod ask;
mod flags;
mod help;
mod keep;
mod look;
pub mod prove;
mod remember;
mod screen;
pub mod set_up;

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::govern::sanitize::{Clean, redact};
use crate::view::ask::unrecorded::{ErrorView, UnrecordedView};
use clap::Parser;

use crate::app::home::open::OpenHomeError;
use crate::app::home::store_key::find_key;
use crate::app::home::unrecorded::RecordState;
use crate::app::redacted::clean;
use crate::store::set_key_finder;

use args::{Audit, Cli, Command, KernelCommand, KeyCommand, SessionCommand, StoreCommand};
use ask::chat;
use flags::error_words;
use help::{completions, man};
use keep::{backup, disk_sync, doctor, erase, import, rebuild, store};
use look::{
    action, assertion, conversation, council, drift, log, search, session, show, sight, stats,
    thread,
};
use prove::{anchor, anchor_sync, audit, consent, publish, share, stamp, trace, witness};
use remember::{conflict, context, correction, handoff, items, project, rate};
use screen::{ScreenFilter, pager, passphrase};
use set_up::{config, hook, init, kernel, key, model, sanitize, specialist};

/// Everything went well.
const FINE: u8 = 0;
/// The verdict is negative: denied, drift blocked, verification found something.
const NEGATIVE: u8 = 1;
/// Could not do it: usage, configuration, network.
const COULD_NOT: u8 = 2;
/// Not recorded, so withheld.
const WITHHELD: u8 = 3;

/// Runs the program; every exit code is decided in this file and by the commands it calls.
pub fn run() -> ExitCode {
    let typed = search::with_words_left_out(std::env::args_os());
    let cli = match Cli::try_parse_from(typed) {
        Ok(cli) => cli,
        Err(e) => return ExitCode::from(answer_usage(e)),
    };
    // There are texts and keys in this process's memory.
    crate::os::no_core_dump();
    crate::net::install_tls_provider();
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(code) => return ExitCode::from(code),
    };
    let code = runtime.block_on(async {
        let _heard = size_signal();
        dispatch(cli).await
    });
    // A name look-up that outlived its deadline must not hold up the person.
    runtime.shutdown_background();
    ExitCode::from(code)
}

/// What everything waits in; an exit code where there can be none.
fn runtime() -> Result<tokio::runtime::Runtime, u8> {
    let made = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    made.map_err(|e| {
        say(&format!("error: no runtime: {e}"));
        COULD_NOT
    })
}

/// Answers what is no command. Help may go through a pager, whose signals are heard in a runtime.
fn answer_usage(error: clap::Error) -> u8 {
    match runtime() {
        Ok(runtime) => runtime.block_on(async { help::answer_usage(error) }),
        Err(code) => code,
    }
}

/// Listens to the signal of a limit on the size of files, which would end the process in the middle
/// of a turn: listened to, the write fails instead, and whoever wrote says so.
#[cfg(unix)]
fn size_signal() -> Option<tokio::signal::unix::Signal> {
    /// `SIGXFSZ`: one number on Linux, the BSDs and macOS.
    const FILE_SIZE: i32 = 25;
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(FILE_SIZE)).ok()
}

#[cfg(not(unix))]
fn size_signal() {}

async fn dispatch(cli: Cli) -> u8 {
    let json = cli.json;
    screen::choose_color(cli.color);
    pager::allow(!cli.no_pager && !json);
    crate::app::home::secrets::set(crate::app::home::secrets::SecretCommands {
        passphrase_cmd: cli.passphrase_cmd,
        key_cmd: cli.key_cmd,
        ask: Some(passphrase::ask),
        tell: Some(say),
    });
    set_key_finder(find_key);
    perform(cli.command, json).await
}

/// Does what a command says, and gives the exit code.
async fn perform(command: Command, json: bool) -> u8 {
    let writes = writes(&command);
    let done = match command {
        Command::Ask(args) => ask::run(args, json).await,
        // It does other commands in its turn.
        Command::Chat(args) => Box::pin(chat::run(args, json)).await,
        Command::Init(args) => init::run(args, json),
        Command::Session(command) => session::run(command, json).await,
        Command::Audit(Audit::ClockSet) => session::clock_set().await,
        Command::Audit(Audit::Stamp) => stamp::stamp(json).await,
        Command::Audit(Audit::Upgrade) => stamp::upgrade(json).await,
        Command::Audit(Audit::Publish(args)) => publish::push(&args),
        Command::Audit(Audit::Export(args)) => publish::write_files(&args),
        Command::Audit(Audit::Open(args)) => audit::open::run(args, json).await,
        Command::Hook(command) => Ok(hook::run(command)),
        Command::Audit(Audit::Look(command)) => {
            let home = crate::app::home::open::home_path().ok();
            return report_of(json, |out| {
                audit::run(command, home.as_deref(), out, &mut ScreenFilter::err())
            });
        }
        Command::Key(command) => key::run(command, json).await,
        Command::Kernel(command) => kernel::run(command, json).await,
        Command::Backup(args) => backup::make(&args, json),
        Command::Restore(args) => backup::bring_back(&args, json),
        Command::Audit(Audit::Rebuild(args)) => rebuild::run(&args, json),
        Command::Audit(Audit::Replay(args)) => audit::replay::run(&args, json),
        Command::Audit(Audit::Adopt(args)) => backup::adopt_newer(&args, json).await,
        Command::Anchor(args::AnchorCommand::Status) => anchor::status(json).await,
        Command::Anchor(args::AnchorCommand::Sync(args)) => anchor_sync::run(&args, json).await,
        Command::Model(command) => model::run(command, json).await,
        Command::Config(command) => config::run(&command, json).await,
        Command::Fact(command) => items::fact(command, json).await,
        Command::Correction(command) => correction::run(command, json).await,
        Command::Note(command) => items::note(command, json).await,
        Command::Decision(command) => items::decision(command, json).await,
        Command::Intent(command) => items::intent(command, json).await,
        Command::Rate(args) => rate::run(&args, json).await,
        Command::Handoff(command) => handoff::run(command, json).await,
        Command::Domain(command) => specialist::domain(command, json).await,
        Command::Specialist(command) => specialist::specialist(command, json).await,
        Command::Council(command) => council::run(&command, json),
        Command::Conflict(command) => conflict::run(command, json).await,
        Command::Context(command) => context::run(command, json).await,
        Command::Thread(command) => thread::run(command, json).await,
        Command::Conversation(command) => conversation::run(command, json).await,
        Command::Project(command) => project::run(command, json).await,
        Command::Log(args) => log::run(&args, json),
        Command::Show(args) => show::run(&args, json),
        Command::Search(args) => search::run(args, json),
        Command::Stats(args) => stats::run(&args, json),
        Command::Assertion(command) => assertion::run(&command, json),
        Command::Trace(command) => trace::run(command, json).await,
        Command::Consent(command) => consent::run(command, json).await,
        Command::Share(args) => share::run(args, json).await,
        Command::Check(args) => {
            return report_of(json, |out| {
                audit::check::run(&args, out, &mut ScreenFilter::err())
            });
        }
        Command::Drift(command) => drift::run(command, json).await,
        Command::Sync => disk_sync::run(json),
        Command::Store(command) => store::run(&command, json),
        Command::Erase(args) => erase::run(&args, json).await,
        Command::Import(command) => import::run(command, json).await,
        Command::Action(command) => action::run(&command, json),
        Command::Sight { tool } => sight::run(tool.as_deref(), json),
        Command::Sanitize(args) => sanitize::run(&args, json),
        Command::Doctor {
            check_audit: true, ..
        } => doctor::check_audit(json),
        Command::Doctor { verbose, .. } => doctor::run(verbose, json).await,
        Command::Witness(command) => witness::run(command, json).await,
        Command::Completions(args) => Ok(completions::run(&args, json)),
        Command::Man(args) => Ok(man::run(&args, json)),
        Command::Help(args) => Ok(help::run(&args, json)),
    };
    if writes {
        crate::app::home::open::note_files();
    }
    done.unwrap_or_else(|e| stopped(&e, json))
}

/// Whether a command records something, or changes a file of the home: what sight then compares
/// with.
fn writes(command: &Command) -> bool {
    match command {
        // They note them themselves, while their database is open.
        Command::Ask(_) | Command::Chat(_) => false,
        Command::Session(command) => match command {
            SessionCommand::Open { .. } => true,
            SessionCommand::Close { consent, .. } => !consent.dry_run,
            _ => false,
        },
        Command::Config(command) => command.writes(),
        Command::Key(command) => match command {
            KeyCommand::List | KeyCommand::Show => false,
            KeyCommand::Revoke { consent, .. } | KeyCommand::Rotate { consent, .. } => {
                !consent.dry_run
            }
            _ => true,
        },
        Command::Kernel(command) => matches!(command, KernelCommand::Set { .. }),
        Command::Import(command) => command.writes(),
        Command::Witness(command) => command.writes(),
        Command::Project(command) => command.writes(),
        Command::Store(command) => match command {
            StoreCommand::Status | StoreCommand::Encrypt { new_key: true } => false,
            StoreCommand::Encrypt { new_key: false } | StoreCommand::Decrypt => true,
        },
        _ => false,
    }
}

/// Says what stopped a command, and gives its exit code.
fn stopped(error: &OpenHomeError, json: bool) -> u8 {
    let why = error_words(error);
    match RecordState::after(error) {
        None => could_not(&why, json),
        Some(state) => withheld(&why, state, json, ""),
    }
}

/// Says why something could not be done; what others wrote into it has passed the sanitizer.
fn could_not(why: &str, json: bool) -> u8 {
    refusal(why, json, COULD_NOT)
}

/// Says why nothing is done, with the exit code that says what kind of reason it is.
fn refusal(why: &str, json: bool, exit: u8) -> u8 {
    let error = clean(why);
    say(&format!("error: {error}"));
    if json {
        print_view(&ErrorView { error, exit });
    }
    exit
}

/// Says that nothing may be shown, what is on record, and in `what` words of the caller's.
fn withheld(why: &str, state: RecordState, json: bool, what: &str) -> u8 {
    let error = clean(why);
    say(&format!("error: {error}"));
    if json {
        print_view(&UnrecordedView::withheld(state, error, WITHHELD));
    }
    say(&if what.is_empty() {
        state.sentence.to_owned()
    } else {
        format!("{}: {what}", state.sentence)
    });
    WITHHELD
}

/// Lines that a person was told on the way, so that `--json` can hold them too.
#[derive(Default)]
struct Notices {
    lines: RefCell<Vec<String>>,
    /// How many of them were said before the turn that goes on.
    before: Cell<usize>,
}

impl Notices {
    /// Says a line, unless it was said before.
    fn say(&self, line: &str) {
        let mut lines = self.lines.borrow_mut();
        if lines.iter().all(|earlier| earlier != line) {
            say(line);
            lines.push(line.to_owned());
        }
    }

    /// Begins another turn: what was said before is said no more, and is not of this turn.
    fn begin_turn(&self) {
        self.before.set(self.lines.borrow().len());
    }

    /// What was said in this turn.
    fn lines(&self) -> Vec<String> {
        self.lines
            .borrow()
            .iter()
            .skip(self.before.get())
            .cloned()
            .collect()
    }
}

/// How this program was called: what a person can type again.
///
/// Under `cargo run` it is not in the `PATH`, and `gently` alone would not be found.
fn program() -> String {
    let name = std::env::args_os().next().unwrap_or_default();
    let path = Path::new(&name);
    if path.components().count() > 1 {
        path.display().to_string()
    } else {
        "gently".to_owned()
    }
}

/// Writes to stdout; a reader that went away is nobody's fault.
fn print(text: &str) -> u8 {
    print_through(ScreenFilter::out(), text)
}

fn print_through(mut gate: impl std::io::Write, text: &str) -> u8 {
    match gate.write_all(text.as_bytes()).and_then(|()| gate.flush()) {
        Err(e) => not_printed(&e),
        Ok(()) => FINE,
    }
}

fn not_printed(error: &std::io::Error) -> u8 {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        return FINE;
    }
    say(&format!("error: writing to standard output: {error}"));
    COULD_NOT
}

/// Writes the report of a check to stdout, and gives the check's exit code; a closed pipe or a full
/// disk is not a pass.
fn report_of(json: bool, check: impl FnOnce(&mut Vec<u8>) -> u8) -> u8 {
    let mut report = Vec::new();
    let code = check(&mut report);
    let gate = if json {
        ScreenFilter::out
    } else {
        ScreenFilter::report
    };
    match pager::write(&String::from_utf8_lossy(&report), gate) {
        Ok(()) => code,
        Err(_) => COULD_NOT,
    }
}

/// Writes what a view says, as one line of JSON on stdout.
fn print_view(view: &impl serde::Serialize) -> u8 {
    print(&json_line(view))
}

/// Prints the view of something with `--json`, else its text, in lines that a terminal has room for.
fn present<V: serde::Serialize>(
    json: bool,
    view: impl FnOnce() -> V,
    text: impl FnOnce() -> String,
) -> u8 {
    let gate = if json {
        ScreenFilter::out
    } else {
        ScreenFilter::told
    };
    paged(&rendered(json, view, text), gate)
}

/// The same, of a text that stays as it is: a file, a key, a script.
fn present_as_is<V: serde::Serialize>(
    json: bool,
    view: impl FnOnce() -> V,
    text: impl FnOnce() -> String,
) -> u8 {
    paged(&rendered(json, view, text), ScreenFilter::out)
}

/// The same, of what gently itself says of a check or a record: its signs get their colours. Words
/// of others stand in from the margin.
fn present_report<V: serde::Serialize>(
    json: bool,
    view: impl FnOnce() -> V,
    text: impl FnOnce() -> String,
) -> u8 {
    let gate = if json {
        ScreenFilter::out
    } else {
        ScreenFilter::report
    };
    paged(&rendered(json, view, text), gate)
}

fn paged(text: &str, gate: fn() -> ScreenFilter<std::io::StdoutLock<'static>>) -> u8 {
    match pager::write(text, gate) {
        Ok(()) => FINE,
        Err(e) => not_printed(&e),
    }
}

/// The same, of something that is done: where standard output takes nothing (a closed pipe, a full
/// disk), standard error says in `outcome` what was done.
fn present_or_tell<V: serde::Serialize>(
    json: bool,
    view: impl FnOnce() -> V,
    text: impl FnOnce() -> String,
    outcome: &str,
) -> u8 {
    let mut out = if json {
        ScreenFilter::out()
    } else {
        ScreenFilter::told()
    };
    written_or_told(&mut out, &rendered(json, view, text), outcome)
}

/// Writes words of our own to stdout, in lines that a terminal has room for.
fn print_words(text: &str) -> u8 {
    print_through(ScreenFilter::told(), text)
}

/// Writes somebody's words to stdout: as they are, but on a terminal in lines that it has room for.
fn print_reply(text: &str) -> u8 {
    print_through(ScreenFilter::reply(), text)
}

/// Writes to stdout; where that fails, says on stderr that it did, and what was done all the same.
fn print_or_tell(text: &str, outcome: &str) -> u8 {
    written_or_told(&mut ScreenFilter::out(), text, outcome)
}

fn written_or_told(out: &mut impl std::io::Write, text: &str, outcome: &str) -> u8 {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => FINE,
        Err(e) => {
            say(&format!(
                "error: writing to standard output: {e}; {outcome}"
            ));
            COULD_NOT
        }
    }
}

/// What stdout shows of something; only what is shown is made.
fn rendered<V: serde::Serialize>(
    json: bool,
    view: impl FnOnce() -> V,
    text: impl FnOnce() -> String,
) -> String {
    if json { json_line(&view()) } else { text() }
}

/// What a view says, as one line of JSON; its keys are sorted.
fn json_line(view: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(view).expect("a view has no key that is not a string");
    format!("{value}\n")
}

/// Says a line on stderr; whatever a person, a vendor or the system wrote into it has passed the
/// sanitizer.
fn say(line: &str) {
    tell(&redact(line).clean);
}

/// Says what a check found, as it is: digests and ids are what it is about, and look like secrets.
/// What moves a cursor or hides in a terminal is spelled out.
fn say_finding(line: &str) {
    let _ = ScreenFilter::err().write_all(format!("{}\n", line.replace('\n', "\\n")).as_bytes());
}

/// The only other place that writes a line to stderr: it takes nothing that has not passed the
/// sanitizer.
fn tell(line: &Clean) {
    let _ = ScreenFilter::err().write_all(format!("{line}\n").as_bytes());
}
