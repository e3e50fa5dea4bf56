//! Doing the commands: each does what the command of its name does.

use std::path::{Path, PathBuf};

use clap::{Parser as _, ValueEnum as _};
use rustyline::completion::unescape;

use crate::app::ask::attachment::Attachment;
use crate::app::ask::chat::last_exchange;
use crate::app::ask::references::{ContextRequest, check};
use crate::app::home::open::OpenHomeError;
use crate::app::look::council::newest_of;
use crate::app::set_up::specialist::called;
use crate::cli::args::{AccuracyArg, Audit, Cli, Command};
use crate::cli::screen::{block, quiet};
use crate::cli::{FINE, could_not, json_line, print, print_reply, print_words, say, stopped};
use crate::record::ledger::council::AccuracyLevel;
use crate::view::set_up::help::{ChatCommandView, ChatHelpView};

use super::talk::Chat;
use super::typed::{COMMANDS, ChatCommand, CorrectionText, FULL, ShownTurns, rated_by_id};
use super::{checking, place, written};

/// What is said where the next question begins a conversation.
const BEGINS: &str = "a new conversation begins with the next question";

/// What is said where a command is about questions of this conversation, and there are none.
const NOTHING_ASKED: &str = "nothing was asked in this conversation yet";

/// What the chat goes on with after a command.
pub enum AfterCommand {
    /// The next line.
    Prompt,
    /// The chat stands elsewhere, or what is on record is not what it was.
    Moved,
    /// A question.
    Ask(String),
    /// The end of the chat, with this exit code.
    Ended(u8),
}

/// Does a command; what goes wrong is said.
pub async fn perform(chat: &mut Chat, command: ChatCommand) -> AfterCommand {
    let json = chat.json;
    act_on(chat, command).await.unwrap_or_else(|error| {
        stopped(&error, json);
        AfterCommand::Prompt
    })
}

async fn act_on(chat: &mut Chat, command: ChatCommand) -> Result<AfterCommand, OpenHomeError> {
    // Whatever its exit code: what happened is on the screen.
    let _ = match command {
        ChatCommand::Help => print_help(chat.json),
        ChatCommand::New(title) => return begin_other(chat, title).await,
        ChatCommand::Open(None) => do_words(chat, &["conversation", "list"]).await,
        ChatCommand::Open(Some(text)) => return open(chat, &text).await,
        ChatCommand::Title(title) => return give_title(chat, title).await,
        ChatCommand::Project(None) => do_words(chat, &["project", "list"]).await,
        ChatCommand::Project(Some(project)) => join(chat, &project).await?,
        ChatCommand::Model(None) => do_words(chat, &["model", "list"]).await,
        ChatCommand::Model(Some(model)) => choose_model(chat, &model).await?,
        ChatCommand::Refs(turns) => refer(chat, turns)?,
        ChatCommand::Deep(deep) => search_deep(chat, deep),
        ChatCommand::File(path) => attach(chat, path.as_deref()),
        ChatCommand::Context => do_of_last(chat, &["context", "show", "--"]).await?,
        ChatCommand::Show { id, full } => {
            let words: &[&str] = match full {
                true => &["show", FULL, "--"],
                false => &["show", "--"],
            };
            match id {
                Some(id) => do_words(chat, &[words, &[id.as_str()]].concat()).await,
                None => do_of_last(chat, words).await?,
            }
        }
        ChatCommand::Search(text) => search(chat, &text).await,
        ChatCommand::Rate { is_good, why } => rate(chat, is_good, why.as_deref()).await?,
        ChatCommand::Specialist(None) => do_words(chat, &["specialist", "list"]).await,
        ChatCommand::Specialist(Some(name)) => choose_specialist(chat, &name).await?,
        ChatCommand::Council(None) => show_council(chat).await?,
        ChatCommand::Council(Some(names)) => choose_council(chat, &names)?,
        ChatCommand::Accuracy(None) => say_levels(chat),
        ChatCommand::Accuracy(Some(level)) => choose_accuracy(chat, &level)?,
        ChatCommand::Correct(text) => correct(chat, &text).await?,
        ChatCommand::Fact(text) => do_words(chat, &["fact", "add", "--", &text]).await,
        ChatCommand::Note(text) => do_words(chat, &["note", "add", "--", &text]).await,
        ChatCommand::Drift => list_drift(chat).await,
        ChatCommand::CloseDrift(ids) => close_drift(chat, &ids).await,
        ChatCommand::Erase(id) => return erase(chat, &id).await,
        ChatCommand::Session => do_of_last(chat, &["session", "show", "--"]).await?,
        ChatCommand::Verify => return Ok(verify(chat.json).await),
        ChatCommand::Edit(begun) => return Ok(edit(chat, &begun)),
        ChatCommand::Quit => return Ok(AfterCommand::Ended(FINE)),
    };
    Ok(AfterCommand::Prompt)
}

fn print_help(json: bool) -> u8 {
    match json {
        true => print(&json_line(&help_view())),
        false => print_words(&help()),
    }
}

/// Leaves this conversation for another one that begins.
async fn begin_other(
    chat: &mut Chat,
    title: Option<String>,
) -> Result<AfterCommand, OpenHomeError> {
    let moved = begin(chat, title).await?;
    take_files_back(chat);
    Ok(moved)
}

/// Begins another conversation: one with a title is on record at once.
async fn begin(chat: &mut Chat, title: Option<String>) -> Result<AfterCommand, OpenHomeError> {
    match title {
        Some(title) => chat.begin_titled(&title).await?,
        None => chat.begin_anew(),
    }
    say_place(chat, BEGINS).await;
    Ok(AfterCommand::Moved)
}

/// Goes on in another conversation.
async fn open(chat: &mut Chat, text: &str) -> Result<AfterCommand, OpenHomeError> {
    chat.go_to(text)?;
    say_place(chat, BEGINS).await;
    take_files_back(chat);
    Ok(AfterCommand::Moved)
}

/// Files that were put behind a question of the conversation before go nowhere else.
fn take_files_back(chat: &mut Chat) {
    let names: Vec<String> = std::mem::take(&mut chat.settings.files)
        .iter()
        .map(|file| quiet(&file.name))
        .collect();
    if !names.is_empty() {
        say(&format!(
            "no longer sent with the next question: {}",
            names.join(", ")
        ));
    }
}

/// Gives this conversation a title; where nothing was asked yet, begins one with it.
async fn give_title(chat: &mut Chat, title: String) -> Result<AfterCommand, OpenHomeError> {
    let Some(thread) = chat.thread.map(|thread| thread.to_string()) else {
        return begin(chat, Some(title)).await;
    };
    let words = ["conversation", "rename", "--", &thread, &title];
    do_words(chat, &words).await;
    Ok(AfterCommand::Prompt)
}

/// Puts this conversation, and those that begin here, into a project.
async fn join(chat: &mut Chat, project: &str) -> Result<u8, OpenHomeError> {
    chat.join(project)?;
    Ok(match chat.thread.map(|thread| thread.to_string()) {
        Some(thread) => do_words(chat, &["conversation", "move", "--", &thread, project]).await,
        None => told(&format!(
            "the new conversation joins {} with its first question",
            quiet(project)
        )),
    })
}

async fn choose_model(chat: &mut Chat, model: &str) -> Result<u8, OpenHomeError> {
    if let Some(why) = chat.choose_model(model).await? {
        say(&why);
    }
    let chosen = chat.settings.model.as_deref().unwrap_or(model);
    Ok(told(&format!("{} is asked from here on", quiet(chosen))))
}

async fn search(chat: &Chat, text: &str) -> u8 {
    let words = [&["search", "--"], in_words(text).as_slice()].concat();
    do_words(chat, &words).await
}

fn search_deep(chat: &mut Chat, deep: bool) -> u8 {
    chat.settings.context.deep = deep;
    told(match deep {
        true => "the turns of all conversations are searched, too",
        false => "the turns of other conversations are not searched",
    })
}

/// Lists what was wrong with answers of this conversation; of all, where nothing was asked in it yet.
async fn list_drift(chat: &Chat) -> u8 {
    let thread = chat.thread.map(|thread| thread.to_string());
    match thread {
        Some(thread) => do_words(chat, &["drift", "list", "--conversation", &thread]).await,
        None => told(NOTHING_ASKED),
    }
}

/// Says that what was wrong with answers is dealt with; `all` is all of this conversation.
async fn close_drift(chat: &Chat, ids: &[String]) -> u8 {
    let thread = chat.thread.map(|thread| thread.to_string());
    match (ids, thread) {
        ([all], Some(thread)) if all == "all" => {
            do_words(chat, &["drift", "close", "--conversation", &thread]).await
        }
        ([all], None) if all == "all" => told(NOTHING_ASKED),
        (ids, _) => {
            let ids = ids.iter().map(String::as_str);
            let words: Vec<&str> = ["drift", "close", "--"].into_iter().chain(ids).collect();
            do_words(chat, &words).await
        }
    }
}

/// Destroys the texts of an exchange; `last` is the last one of this conversation.
async fn erase(chat: &Chat, id: &str) -> Result<AfterCommand, OpenHomeError> {
    match id {
        "last" => do_of_last(chat, &["erase", "--"]).await?,
        _ => do_words(chat, &["erase", "--", id]).await,
    };
    Ok(AfterCommand::Moved)
}

/// Has a question written in an editor.
fn edit(chat: &Chat, begun: &str) -> AfterCommand {
    match written::question(chat.path(), begun) {
        Ok(Some(text)) => {
            print_reply(&block(&text, "> "));
            return AfterCommand::Ask(text);
        }
        Ok(None) => say("nothing was written: nothing is asked"),
        Err(why) => {
            could_not(&why, chat.json);
        }
    }
    AfterCommand::Prompt
}

/// The words of a line; what stands in quotation marks is one, with them.
fn in_words(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let ends = |c: char| {
        is_quoted ^= c == '"';
        c.is_whitespace() && !is_quoted
    };
    text.split(ends).filter(|word| !word.is_empty()).collect()
}

/// Says it, and that all is well.
fn told(line: &str) -> u8 {
    say(line);
    FINE
}

/// Does what the command of these words does, and gives its exit code.
async fn do_words(chat: &Chat, words: &[&str]) -> u8 {
    match Cli::try_parse_from(["gently"].iter().chain(words)) {
        Ok(cli) => crate::cli::perform(cli.command, chat.json).await,
        Err(error) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            could_not(line.trim_start_matches("error: "), chat.json)
        }
    }
}

/// Does that to the exchange of this conversation that was asked last; says so where there is none.
async fn do_of_last(chat: &Chat, words: &[&str]) -> Result<u8, OpenHomeError> {
    let last = last_asked(chat)?;
    Ok(match last {
        Some(id) => do_words(chat, &[words, &[id.as_str()]].concat()).await,
        None => told(NOTHING_ASKED),
    })
}

/// Id of the question of this conversation that was asked last.
fn last_asked(chat: &Chat) -> Result<Option<String>, OpenHomeError> {
    Ok(match chat.thread {
        Some(thread) => last_exchange(&chat.opened()?.store, thread)?,
        None => None,
    })
}

/// Says of the answer of this conversation that came last whether it was good.
async fn rate(chat: &Chat, is_good: bool, why: Option<&str>) -> Result<u8, OpenHomeError> {
    let verdict = if is_good { "good" } else { "bad" };
    if let Some((id, why)) = why.and_then(rated_by_id) {
        let why = why.map(|why| format!("--why={why}"));
        let mut words = vec!["rate"];
        words.extend(why.as_deref());
        words.extend(["--", id, verdict]);
        return Ok(do_words(chat, &words).await);
    }
    let why = why.map(|why| format!("--why={why}"));
    let last = last_asked(chat)?;
    let Some(last) = last else {
        return Ok(told(NOTHING_ASKED));
    };
    let mut words = vec!["rate", last.as_str(), verdict];
    words.extend(why.as_deref());
    Ok(do_words(chat, &words).await)
}

/// Asks a specialist from here on, or models by their own names, and says who answers.
async fn choose_specialist(chat: &mut Chat, name: &str) -> Result<u8, OpenHomeError> {
    let several = chat.several();
    let found = chat.choose_specialist(name)?;
    if let Some(several) = several {
        say(&format!("no longer: {}", quiet(&several)));
    }
    let Some(found) = found else {
        let model = chat.answering().await?.id;
        return Ok(told(&format!(
            "no specialist is asked; {} answers from here on, and /model NAME asks another one",
            quiet(&model)
        )));
    };
    let model = found.model.as_deref().map_or_else(String::new, quiet);
    let name = quiet(&called(&found));
    Ok(told(&format!("{name} answers from here on ({model})")))
}

/// Shows the newest council of this conversation.
async fn show_council(chat: &Chat) -> Result<u8, OpenHomeError> {
    let newest = match chat.thread {
        Some(thread) => newest_of(&chat.opened()?.store, thread)?,
        None => None,
    };
    Ok(match newest {
        Some(id) => do_words(chat, &["council", "show", "--", &id]).await,
        None => told(
            "no council answered in this conversation yet: /council NAME,NAME asks one; gently council list, \
             typed here, lists those of all conversations",
        ),
    })
}

/// Asks several specialists at once from here on, or one of them, and says so.
fn choose_council(chat: &mut Chat, names: &str) -> Result<u8, OpenHomeError> {
    chat.choose_council(names)?;
    Ok(say_who(chat))
}

/// Asks for answers that are so sure from here on, and says so.
fn choose_accuracy(chat: &mut Chat, level: &str) -> Result<u8, OpenHomeError> {
    chat.choose_accuracy(level)?;
    Ok(say_who(chat))
}

/// Says which level is in force, and which there are.
fn say_levels(chat: &Chat) -> u8 {
    let in_force = chat.settings.accuracy.map(AccuracyLevel::name);
    say(&match in_force {
        Some(name) => format!("accuracy {name} is in force; the levels:"),
        None => "no accuracy is asked for; the levels:".to_owned(),
    });
    for level in AccuracyArg::value_variants() {
        let Some(value) = level.to_possible_value() else {
            continue;
        };
        let help = value.get_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        say(&format!("  /accuracy {:8}  {help}", value.get_name()));
    }
    told("  /accuracy none      One model answers, as without a level")
}

/// Says who answers from here on, where that is no one model.
fn say_who(chat: &Chat) -> u8 {
    match chat.several() {
        Some(who) => {
            let back = chat.way_to_one_model().map(|way| format!("; {way}"));
            let back = back.unwrap_or_default();
            told(&format!("{} from here on{back}", quiet(&who)))
        }
        None => told("one model answers from here on"),
    }
}

/// Puts a correction on record, about the question of this conversation that was asked last.
async fn correct(chat: &Chat, text: &str) -> Result<u8, OpenHomeError> {
    let said = match CorrectionText::of(text) {
        Ok(said) => said,
        Err(why) => return Ok(could_not(&why, chat.json)),
    };
    let last = last_asked(chat)?;
    let about: &[&str] = match &last {
        Some(id) => &["--about", id.as_str()],
        None => &[],
    };
    let rejected = said.rejected.map(|rejected| format!("--not={rejected}"));
    let mut words = [&["correction", "add"], about].concat();
    words.extend(rejected.as_deref());
    words.extend(["--", &said.claim]);
    Ok(do_words(chat, &words).await)
}

async fn verify(json: bool) -> AfterCommand {
    let parsed = Cli::try_parse_from(["gently", "audit", "verify", "--quiet"]);
    let Ok(Command::Audit(Audit::Look(command))) = parsed.map(|cli| cli.command) else {
        return AfterCommand::Prompt;
    };
    match checking::run(command, json).await {
        Some(code) if code != crate::cli::screen::signals::INTERRUPTED => AfterCommand::Ended(code),
        _ => AfterCommand::Prompt,
    }
}

/// What the list of commands says, for a program.
fn help_view() -> ChatHelpView {
    let commands = COMMANDS.iter().map(|command| ChatCommandView {
        name: command.name,
        takes: command.takes,
        does: command.does,
    });
    ChatHelpView {
        commands: commands.collect(),
        keys: KEYS,
    }
}

/// What keys do, and signs.
const KEYS: [&str; 4] = [
    "Enter asks; Alt-Enter, or \\ at the end of a line, begins another line.",
    "Ctrl-C clears the line, or gives up an answer.",
    "Up brings the lines of this chat, refused ones too, then earlier questions.",
    "Tab completes. // begins a question with a slash.",
];

/// The commands, each with what it does.
fn help() -> String {
    let typed = COMMANDS.iter().map(|command| {
        let typed = format!("/{} {}", command.name, command.takes);
        (typed.trim_end().to_owned(), command.does)
    });
    let typed: Vec<(String, &str)> = typed.collect();
    let widest = typed.iter().map(|(typed, _)| typed.chars().count());
    let widest = widest.max().unwrap_or_default();
    let lines = typed
        .iter()
        .map(|(typed, does)| format!("{typed:widest$}  {does}\n"));
    let lines: String = lines.collect();
    format!("{lines}{}\n", KEYS.join("\n"))
}

/// Where the next question goes and who answers it; before that, what is missing for that. `new`:
/// what is said of a conversation that there is not yet.
pub async fn say_place(chat: &Chat, new: &str) {
    let place = chat.thread.and_then(|thread| {
        let opened = chat.opened().ok()?;
        place::described(&opened.store, thread).ok()
    });
    let place = place.unwrap_or_else(|| new.to_owned());
    if let Some(who) = chat.several() {
        say(&format!("{place} · {}", quiet(&who)));
        return;
    }
    let who = match chat.answering().await {
        Ok(answering) => {
            let missing = answering.without.iter().chain(&answering.notices);
            missing.for_each(|line| say(line));
            let limits = match answering.without {
                Some(_) => ", about this machine alone",
                None => "",
            };
            let who = match &answering.specialist {
                Some(name) => format!("{name} ({})", answering.id),
                None => answering.id,
            };
            format!(" · {} answers{limits}", quiet(&who))
        }
        Err(error) => {
            stopped(&error, false);
            String::new()
        }
    };
    say(&format!("{place}{who}"));
}

/// Changes what of the earlier turns is shown to the model, and says what that is from here on.
fn refer(chat: &mut Chat, turns: Option<ShownTurns>) -> Result<u8, OpenHomeError> {
    if let (Some(ShownTurns::These(refs)), Ok(opened)) = (&turns, chat.opened()) {
        check(&opened.store, refs, chat.thread)?;
    }
    if let Some(turns) = turns {
        turns.put_into(&mut chat.settings.context);
    }
    Ok(told(&shown_turns(&chat.settings.context)))
}

fn shown_turns(context: &ContextRequest) -> String {
    if context.no_refs {
        return "the model is shown no earlier turns".to_owned();
    }
    match context.refs.as_slice() {
        [] => "the model is shown what your settings say: usually the last 40 turns".to_owned(),
        refs => format!("the model is shown {}", quiet(&refs.join(", "))),
    }
}

/// Puts a file behind the next question, takes all back, or says which stand there.
fn attach(chat: &mut Chat, path: Option<&str>) -> u8 {
    let files = &mut chat.settings.files;
    match path {
        None => {}
        Some("none") => files.clear(),
        Some(path) => match Attachment::read(&meant(path)) {
            Ok(file) => files.push(file),
            Err(why) => return could_not(&why, chat.json),
        },
    }
    let names: Vec<String> = files.iter().map(|file| quiet(&file.name)).collect();
    told(&match names.is_empty() {
        true => "no file goes with the next question".to_owned(),
        false => format!("with the next question goes {}", names.join(", ")),
    })
}

/// A path as it was typed or completed: `~/` is the home folder, a blank may be escaped or stand in
/// quotation marks.
fn meant(typed: &str) -> PathBuf {
    let quoted = ['"', '\'']
        .into_iter()
        .find_map(|mark| typed.strip_prefix(mark)?.strip_suffix(mark));
    let typed = match quoted {
        Some(path) => path.into(),
        None => unescape(typed, Some('\\')),
    };
    let home = std::env::var_os("HOME");
    match (typed.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(typed.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_one_word() {
        assert_eq!(
            in_words("borrow  \"a mutable thing\" -rust"),
            ["borrow", "\"a mutable thing\"", "-rust"]
        );
        assert_eq!(in_words("an \"open end"), ["an", "\"open end"]);
    }

    #[test]
    fn a_path_is_what_was_typed_or_completed() {
        for (typed, expected) in [
            ("a.txt", "a.txt"),
            ("my\\ notes.txt", "my notes.txt"),
            ("\"my notes.txt\"", "my notes.txt"),
            ("'my notes.txt'", "my notes.txt"),
        ] {
            assert_eq!(meant(typed), Path::new(expected), "{typed}");
        }
    }
}
