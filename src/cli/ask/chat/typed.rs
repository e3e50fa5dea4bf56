//! What a line is: a question, or a command, which begins with a slash.

use crate::app::ask::references::ContextRequest;
use crate::app::find::IdKind;
use crate::app::words::nearest;
use crate::cli::program;

/// Tells a question from a command, by the slash that a command begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatLine {
    /// Nothing stands there.
    Blank,
    /// A question.
    Question(String),
    /// A word by which somebody means to end the chat; sent again, it does.
    Farewell(String),
    /// A command as it is typed in a shell; sent again, it is a question.
    OfShell {
        /// The line.
        text: String,
        /// How that is done from here.
        here: String,
    },
    /// A command.
    Command(ChatCommand),
    /// Something else that begins with a slash, with a sentence about it.
    Mistyped(String),
}

/// Names what can be done in a chat beside asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatCommand {
    /// List the commands.
    Help,
    /// Begin another conversation, with a title.
    New(Option<String>),
    /// Go on in a conversation; list them without one.
    Open(Option<String>),
    /// Give this conversation a title.
    Title(String),
    /// Put this conversation, and new ones, into a project; list them without one.
    Project(Option<String>),
    /// Ask a model from here on; list them without one.
    Model(Option<String>),
    /// What of the earlier turns is shown to the model; say it without any.
    Refs(Option<ShownTurns>),
    /// Whether the turns of all conversations are searched.
    Deep(bool),
    /// Put a file behind the next question; say which stand there without one.
    File(Option<String>),
    /// Show what was put before the model last.
    Context,
    /// Show an exchange; the last one without one.
    Show {
        /// What was typed of it.
        id: Option<String>,
        /// Whether all that is on record of it is shown.
        full: bool,
    },
    /// Search what is on record.
    Search(String),
    /// Propose a fact.
    Fact(String),
    /// Say what is right in the place of the last answer.
    Correct(String),
    /// Say whether the last answer was good, and why.
    Rate {
        /// Whether it was good.
        is_good: bool,
        /// What was good or bad about it.
        why: Option<String>,
    },
    /// Ask this specialist from here on; none for models by their own names.
    Specialist(Option<String>),
    /// Ask these specialists at once from here on; none for one of them. Without names the newest
    /// council of this conversation is shown.
    Council(Option<String>),
    /// How sure answers are to be from here on; list the levels without one.
    Accuracy(Option<String>),
    /// Put a note on record.
    Note(String),
    /// List what was wrong with answers.
    Drift,
    /// Say that some of it is dealt with: these, or all of this conversation.
    CloseDrift(Vec<String>),
    /// Erase an exchange.
    Erase(String),
    /// Show the session of the last question.
    Session,
    /// Check the record.
    Verify,
    /// Write the question in an editor, beginning with a text.
    Edit(String),
    /// End the chat.
    Quit,
}

impl ChatCommand {
    /// Whether it destroys, sends a file along, or says what counts from here on: nothing that a text which
    /// was pasted may do by itself.
    pub fn does_more_than_look(&self) -> bool {
        match self {
            ChatCommand::File(file) => file.is_some(),
            ChatCommand::Erase(_)
            | ChatCommand::Correct(_)
            | ChatCommand::Rate { .. }
            | ChatCommand::CloseDrift(_) => true,
            _ => false,
        }
    }
}

/// What a question declares of earlier turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownTurns {
    /// What the configuration says.
    Usual,
    /// No earlier turns are shown.
    Nothing,
    /// `last:N`, exchanges, ids of events.
    These(Vec<String>),
}

impl ShownTurns {
    /// Puts them into what is declared.
    pub fn put_into(self, context: &mut ContextRequest) {
        (context.refs, context.no_refs) = match self {
            ShownTurns::Usual => (Vec::new(), false),
            ShownTurns::Nothing => (Vec::new(), true),
            ShownTurns::These(refs) => (refs, false),
        };
    }
}

/// What stands behind `/correct`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorrectionText {
    /// What is right.
    pub claim: String,
    /// What is wrong, where that is said.
    pub rejected: Option<String>,
}

impl CorrectionText {
    /// Reads `TEXT [--not TEXT]`; quotation marks around a text are none of it.
    ///
    /// # Errors
    /// A sentence for a person.
    pub fn of(text: &str) -> Result<CorrectionText, String> {
        const NOT: &str = "--not";
        let usage = "/correct TEXT, or /correct TEXT --not TEXT";
        let mut options = text
            .split_whitespace()
            .filter(|word| word.starts_with("--"));
        if let Some(other) = options.find(|word| *word != NOT) {
            let shown = crate::cli::screen::quiet(other);
            return Err(format!("/correct has no {shown}: {usage}"));
        }
        // Within a word it is a part of the text.
        let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
        let parts = words.split(|word| word.trim_end() == NOT);
        let parts: Vec<String> = parts.map(|words| words.concat()).collect();
        let mut parts = parts.iter().map(|part| unquoted(part.trim()));
        let (claim, rejected) = (parts.next().unwrap_or_default(), parts.next());
        if claim.is_empty() || rejected.is_some_and(str::is_empty) || parts.next().is_some() {
            return Err(format!("a text is missing: {usage}"));
        }
        Ok(CorrectionText {
            claim: claim.to_owned(),
            rejected: rejected.map(str::to_owned),
        })
    }
}

/// What stands behind `/good` or `/bad` as an id, and the reason behind that; none where it is a reason
/// alone. What looks like an id is none: it may be mistyped, and the last answer is not meant.
pub fn rated_by_id(text: &str) -> Option<(&str, Option<&str>)> {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_numbered = first.split_once('/').is_some_and(|(session, number)| {
        let is_session = session == "last" || session.len() >= 4 && is_hex(session);
        is_session && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    });
    let is_digits = first == text
        && first.len() >= 4
        && is_hex(first)
        && first.contains(|c: char| c.is_ascii_digit());
    let is_id = is_numbered || is_digits || text == "last" || IdKind::word_of(first).is_some();
    is_id.then(|| (first, Some(rest.trim()).filter(|why| !why.is_empty())))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A text without the quotation marks around all of it.
fn unquoted(text: &str) -> &str {
    let inner = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    let inner = inner('"').or_else(|| inner('\''));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(text)
}

/// Describes a command in the list that `/help` shows.
pub struct CommandHelp {
    /// Its name.
    pub name: &'static str,
    /// What stands behind it.
    pub takes: &'static str,
    /// What it does.
    pub does: &'static str,
}

const fn help(name: &'static str, takes: &'static str, does: &'static str) -> CommandHelp {
    CommandHelp { name, takes, does }
}

/// All commands, in the order in which they are listed.
pub const COMMANDS: [CommandHelp; 26] = [
    help("help", "", "this list"),
    help("new", "[TITLE]", "begin another conversation"),
    help("open", "[CONVERSATION]", "go on in another one; list them"),
    help("title", "TEXT", "give this conversation a title"),
    help(
        "project",
        "[PROJECT]",
        "put it into a project, or none; list them",
    ),
    help("model", "[MODEL]", "ask this one from here on; list them"),
    help(
        "refs",
        "[REF…]",
        "show the model last:N, none, usual, or an id",
    ),
    help(
        "deep",
        "on|off",
        "search the turns of all conversations, too",
    ),
    help(
        "file",
        "[PATH]",
        "a file behind the next question; none takes them back",
    ),
    help("edit", "[TEXT]", "write the question in $VISUAL or $EDITOR"),
    help("context", "", "what was put before the model last"),
    help(
        "show",
        "[ID] [--full]",
        "what is on record of a question and its answer",
    ),
    help("search", "WORDS", "find what was said"),
    help(
        "specialist",
        "[NAME]",
        "ask this one from here on; none; list them",
    ),
    help(
        "council",
        "[A,B]",
        "ask these at once from here on; none; show the last",
    ),
    help(
        "accuracy",
        "[LEVEL]",
        "how sure answers are to be from here on; list them",
    ),
    help(
        "good",
        "[ID] [WHY]",
        "the last answer was good, or another one",
    ),
    help(
        "bad",
        "[ID] [WHY]",
        "the last answer was bad, or another one",
    ),
    help("correct", "TEXT [--not TEXT]", "say what is right"),
    help("fact", "TEXT", "propose a fact"),
    help("note", "TEXT", "put a note on record"),
    help(
        "drift",
        "[close ID…|close all]",
        "what was wrong with answers; close what is dealt with",
    ),
    help(
        "erase",
        "last|ID",
        "destroy the texts of a question and its answer",
    ),
    help("session", "", "the session of the last question"),
    help("verify", "", "check the record"),
    help("quit", "", "end; so do /exit and Ctrl-D"),
];

/// What a command of the shell begins with.
const PROGRAM: &str = "gently";

/// The command that a chat does by itself.
const ASK: &str = "ask";

/// Words that end other programs.
const FAREWELLS: [&str; 3] = ["exit", "quit", "bye"];

/// What shows all of an exchange.
pub const FULL: &str = "--full";

/// What is no command of a chat, and how it is done all the same.
const ELSEWHERE: [(&str, &str); 7] = [
    (
        "export",
        "in a shell, gently conversation export last --out FILE.md writes this conversation to a file",
    ),
    (
        "share",
        "in a shell, gently share writes a file that proves what was said",
    ),
    (
        "check",
        "/verify checks the record; in a shell, gently check checks what somebody shared",
    ),
    (
        "delete",
        "/erase last destroys one question with its answer, and in a shell gently conversation delete \
         a whole conversation",
    ),
    (
        "handoff",
        "gently handoff run, typed here, sums up the conversation that was asked in last",
    ),
    (
        "rate",
        "/good rates the last answer good, /bad bad; what stands behind it is the reason; gently rate ID good \
         rates any other",
    ),
    (
        "rename",
        "/title TEXT gives this conversation a title; in a shell, gently conversation rename any",
    ),
];

impl ChatLine {
    /// Reads a line.
    pub fn of(line: &str) -> ChatLine {
        let text = line.trim_end();
        // A path begins with a slash, too.
        let first = text.split_whitespace().next().unwrap_or_default();
        if text.starts_with('/')
            && is_program(first)
            && let Some(here) = of_shell(text)
        {
            let text = text.to_owned();
            return ChatLine::OfShell { text, here };
        }
        let Some(command) = text.strip_prefix('/') else {
            return match text.trim().is_empty() {
                true => ChatLine::Blank,
                false if is_farewell(text) => ChatLine::Farewell(text.to_owned()),
                false => match of_shell(text) {
                    Some(here) => ChatLine::OfShell {
                        text: text.to_owned(),
                        here,
                    },
                    None => ChatLine::Question(text.to_owned()),
                },
            };
        };
        if command.starts_with('/') {
            return ChatLine::Question(command.to_owned());
        }
        let (name, rest) = command
            .split_once(char::is_whitespace)
            .unwrap_or((command, ""));
        match ChatCommand::of(name, rest.trim()) {
            Ok(command) => ChatLine::Command(command),
            Err(why) => ChatLine::Mistyped(why),
        }
    }
}

impl ChatCommand {
    /// Reads what stands behind the slash.
    ///
    /// # Errors
    /// A sentence for a person.
    fn of(name: &str, rest: &str) -> Result<ChatCommand, String> {
        let text = || match rest {
            "" => None,
            text => Some(text.to_owned()),
        };
        let needed = || text().ok_or_else(|| takes(name));
        let bare = |command| match rest {
            "" => Ok(command),
            _ => Err(format!("/{name} takes nothing behind it")),
        };
        match name {
            "help" | "?" => bare(ChatCommand::Help),
            "new" => Ok(ChatCommand::New(text())),
            "open" => Ok(ChatCommand::Open(text())),
            "title" => needed().map(ChatCommand::Title),
            "project" => Ok(ChatCommand::Project(text())),
            "model" => Ok(ChatCommand::Model(text())),
            "refs" => Ok(ChatCommand::Refs(shown_turns(rest))),
            "deep" => match rest {
                "on" => Ok(ChatCommand::Deep(true)),
                "off" => Ok(ChatCommand::Deep(false)),
                _ => Err(takes(name)),
            },
            "file" => Ok(ChatCommand::File(text())),
            "context" => bare(ChatCommand::Context),
            "show" => Ok(shown(rest)),
            "search" => needed().map(ChatCommand::Search),
            "good" | "bad" => Ok(ChatCommand::Rate {
                is_good: name == "good",
                why: text(),
            }),
            "specialist" => Ok(ChatCommand::Specialist(text())),
            "council" => match council_command(rest) {
                Some(command) => Err(format!(
                    "/council takes names of specialists; {command}, typed here, does that, and /council alone \
                     shows the newest of this conversation"
                )),
                None => Ok(ChatCommand::Council(text())),
            },
            "accuracy" => Ok(ChatCommand::Accuracy(text())),
            "correct" => said(name, rest).map(ChatCommand::Correct),
            "fact" => said(name, rest).map(ChatCommand::Fact),
            "note" => said(name, rest).map(ChatCommand::Note),
            "drift" if rest.is_empty() => Ok(ChatCommand::Drift),
            "drift" if rest == "close" => Err(
                "/drift close takes ids of warnings behind it, as /drift lists them, or all for those of this \
                 conversation: /drift close all"
                    .to_owned(),
            ),
            "drift" => closed(rest).ok_or_else(|| takes(name)),
            "erase" => needed().map(ChatCommand::Erase),
            "session" => bare(ChatCommand::Session),
            "verify" => bare(ChatCommand::Verify),
            "edit" => Ok(ChatCommand::Edit(rest.to_owned())),
            "quit" | "exit" => bare(ChatCommand::Quit),
            _ => Err(unknown(name, rest)),
        }
    }
}

/// Whether a line is nothing but a word that ends other programs.
fn is_farewell(line: &str) -> bool {
    let word = line.trim();
    FAREWELLS.iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// Whether commands of this program begin with a word: its name, or the path by which it prints them.
pub fn is_program(word: &str) -> bool {
    word == PROGRAM || word == program()
}

/// How a command of the shell is done from a chat; none where a line is no such command.
fn of_shell(line: &str) -> Option<String> {
    if let Some(here) = other_line(line) {
        return Some(here);
    }
    let mut words = line.split_whitespace();
    let name = words
        .next()
        .filter(|word| is_program(word))
        .and_then(|_| words.next())?;
    // An option before the command, or a mistyped command; but a question may begin with the word, too.
    let is_option = name.strip_prefix("--").is_some_and(|rest| !rest.is_empty());
    let is_like_one = |name: &str| nearest(name, crate::cli::help::commands()).is_some();
    if !is_option && !is_like_one(name) {
        return None;
    }
    let here = COMMANDS.iter().find(|command| command.name == name);
    if name == ASK {
        let mut said = "here you ask by typing the question alone".to_owned();
        let asked: Vec<&str> = words.collect();
        if !asked.is_empty() {
            said = format!("{said}: {}", asked.join(" "));
        }
        return Some(said);
    }
    Some(match (here, elsewhere(name)) {
        (Some(command), _) => format!("here it is {}", format!("/{name} {}", command.takes).trim()),
        (None, Some(how)) => how.to_owned(),
        (None, None) => "Ctrl-D ends the chat".to_owned(),
    })
}

/// How that is done from a chat which is typed in a shell as one short line; none where a line is no
/// such one.
fn other_line(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let here = match words.as_slice() {
        ["help"] => "here it is /help",
        ["ls" | "cd" | "pwd" | "clear"] => "Ctrl-D ends the chat",
        ["ls" | "cd", what] if what.starts_with(['.', '/', '~', '-']) => "Ctrl-D ends the chat",
        _ => return None,
    };
    Some(here.to_owned())
}

/// What `/show` shows: an id, and `--full` before or behind it.
fn shown(rest: &str) -> ChatCommand {
    let (flags, words): (Vec<&str>, Vec<&str>) =
        rest.split_whitespace().partition(|word| *word == FULL);
    let id = words.join(" ");
    ChatCommand::Show {
        id: (!id.is_empty()).then_some(id),
        full: !flags.is_empty(),
    }
}

/// `close` and what: ids, or `all`; none where it is something else.
fn closed(rest: &str) -> Option<ChatCommand> {
    let mut words = rest.split_whitespace().map(str::to_owned);
    let is_close = words.next().is_some_and(|word| word == "close");
    let ids: Vec<String> = words.collect();
    (is_close && !ids.is_empty()).then_some(ChatCommand::CloseDrift(ids))
}

/// How councils are listed and shown, where somebody types that behind `/council`.
fn council_command(rest: &str) -> Option<String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_id = |word: &str| word == "last" || IdKind::word_of(word) == Some("council");
    let command = match words.as_slice() {
        ["list"] => "list".to_owned(),
        ["show"] => "show".to_owned(),
        ["show", id] => format!("show {id}"),
        [id] if is_id(id) => format!("show {id}"),
        _ => return None,
    };
    let command = format!("{PROGRAM} council {command}");
    Some(crate::cli::screen::quiet(&command))
}

/// The text that goes on record, which a command of the shell behind it is not: `/fact ratify fact-1`.
fn said(name: &str, rest: &str) -> Result<String, String> {
    if rest.is_empty() {
        return Err(takes(name));
    }
    match of_group(name, rest) {
        None => Ok(rest.to_owned()),
        Some(command) => Err(format!(
            "nothing was recorded: /{name} takes a text; {command}, typed here, does that"
        )),
    }
}

/// The command of the shell that words behind `/fact`, `/note` or `/correct` are.
fn item_command(group: &str, rest: &str) -> Option<String> {
    let mut words = rest.split_whitespace();
    let verb = words.next()?;
    let behind: Vec<&str> = words.collect();
    let is_id = |word: &&str| word.starts_with("--") || IdKind::word_of(word).is_some();
    let is_command = match verb {
        "list" => behind.iter().all(|word| word.starts_with("--")),
        "ratify" if group == "note" => false,
        "ratify" | "retire" | "show" => behind.len() < 2 || behind.iter().all(is_id),
        _ => false,
    };
    if !is_command {
        return None;
    }
    let id = if behind.is_empty() && verb != "list" {
        " ID".to_owned()
    } else {
        behind.iter().map(|word| format!(" {word}")).collect()
    };
    let group = match verb {
        "show" => String::new(),
        _ => format!("{group} "),
    };
    let command = format!("{PROGRAM} {group}{verb}{id}");
    Some(crate::cli::screen::quiet(&command))
}

/// `last:5`, `none`, `usual`, or ids; none when nothing is said.
fn shown_turns(rest: &str) -> Option<ShownTurns> {
    match rest {
        "" => None,
        "none" => Some(ShownTurns::Nothing),
        "usual" => Some(ShownTurns::Usual),
        refs => {
            let refs = refs.split_whitespace().map(str::to_owned);
            Some(ShownTurns::These(refs.collect()))
        }
    }
}

/// What has to stand behind a command.
fn takes(name: &str) -> String {
    let what = takes_behind(name);
    match what.starts_with('[') {
        true => format!("/{name} takes nothing else behind it: /{name} {what}"),
        false => format!("/{name} takes something behind it: /{name} {what}"),
    }
}

/// How that is done which is no command of a chat.
fn elsewhere(name: &str) -> Option<&'static str> {
    let found = ELSEWHERE.iter().find(|(known, _)| *known == name);
    found.map(|(_, how)| *how)
}

/// That there is no such command, and what was most likely meant: a line that works as it is.
fn unknown(name: &str, rest: &str) -> String {
    const EXCERPT: usize = 40;
    let short =
        |text: &str| crate::cli::screen::quiet(&crate::cli::screen::beginning(text, EXCERPT));
    let shown = short(name);
    if let Some(how) = elsewhere(name) {
        return format!("there is no /{shown}: {how}");
    }
    let Some(meant) = nearest(name, COMMANDS.iter().map(|command| command.name)) else {
        return format!(
            "there is no /{shown}; /help lists the commands. To ask something that begins with a slash, type \
             two: //{shown}"
        );
    };
    let line = match (of_group(meant, rest), ChatCommand::of(meant, rest)) {
        (Some(command), _) => format!("{command}, typed here"),
        (None, Ok(_)) => format!("/{meant} {}", short(rest)).trim_end().to_owned(),
        (None, Err(_)) => format!("/{meant} {}", takes_behind(meant)),
    };
    format!(
        "there is no /{shown}; did you mean {line}? To ask something that begins with a slash, type two: \
         //{shown}"
    )
}

/// What stands behind a command, as it is listed.
fn takes_behind(name: &str) -> &'static str {
    let found = COMMANDS.iter().find(|command| command.name == name);
    found.map_or("something", |command| command.takes)
}

/// The command of the shell that somebody means who types its words behind one of these commands.
fn of_group(name: &str, rest: &str) -> Option<String> {
    match name {
        "council" => council_command(rest),
        "correct" => item_command("correction", rest),
        "fact" | "note" => item_command(name, rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_behind_a_rating_is_no_reason() {
        for (text, expected) in [
            ("last", Some(("last", None))),
            ("7a571029/3", Some(("7a571029/3", None))),
            (
                "7a571029/3 it was wrong",
                Some(("7a571029/3", Some("it was wrong"))),
            ),
            ("7a571029/999", Some(("7a571029/999", None))),
            ("correction-1", Some(("correction-1", None))),
            ("8afb", Some(("8afb", None))),
            ("last time it was better", None),
            ("short and/or clear", None),
            ("24/7 help", None),
            ("", None),
        ] {
            assert_eq!(rated_by_id(text), expected, "{text}");
        }
    }

    #[test]
    fn a_correction_is_a_text_and_what_it_rejects() {
        let of = |claim: &str, rejected: Option<&str>| {
            let rejected = rejected.map(str::to_owned);
            let claim = claim.to_owned();
            Ok(CorrectionText { claim, rejected })
        };
        for (text, expected) in [
            ("Snow is white.", of("Snow is white.", None)),
            ("a --not b c", of("a", Some("b c"))),
            (
                "\"Snow is white.\" --not 'Snow is black.'",
                of("Snow is white.", Some("Snow is black.")),
            ),
            ("\"One\" is not \"two\"", of("\"One\" is not \"two\"", None)),
            ("use x--not-y here", of("use x--not-y here", None)),
            ("a--not b", of("a--not b", None)),
            (
                "it is x--not --not  no\tx",
                of("it is x--not", Some("no\tx")),
            ),
        ] {
            assert_eq!(CorrectionText::of(text), expected, "{text}");
        }
        for wrong in [
            "a --about last",
            "a --not",
            "--not b",
            "a --not b --not c",
            "a --not \"\"",
            "--help",
        ] {
            assert!(CorrectionText::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_is_a_question_unless_one_slash_begins_it() {
        let asked = |text: &str| ChatLine::Question(text.to_owned());
        let show = |id: Option<&str>, full| {
            let id = id.map(str::to_owned);
            ChatLine::Command(ChatCommand::Show { id, full })
        };
        for (line, expected) in [
            ("What is 2 + 2?", asked("What is 2 + 2?")),
            ("  indented\n  code  ", asked("  indented\n  code")),
            ("//etc/hosts?", asked("/etc/hosts?")),
            ("///", asked("//")),
            (" /help", asked(" /help")),
            ("Bye ", ChatLine::Farewell("Bye".to_owned())),
            ("exit", ChatLine::Farewell("exit".to_owned())),
            ("exit code of what?", asked("exit code of what?")),
            ("gently does it", asked("gently does it")),
            ("gently -- or not?", asked("gently -- or not?")),
            ("gently", asked("gently")),
            ("ls the files?", asked("ls the files?")),
            (
                "help",
                ChatLine::OfShell {
                    text: "help".to_owned(),
                    here: "here it is /help".to_owned(),
                },
            ),
            (
                "cd ..",
                ChatLine::OfShell {
                    text: "cd ..".to_owned(),
                    here: "Ctrl-D ends the chat".to_owned(),
                },
            ),
            (
                "gently search \"a b\"",
                ChatLine::OfShell {
                    text: "gently search \"a b\"".to_owned(),
                    here: "here it is /search WORDS".to_owned(),
                },
            ),
            (
                "gently dirft list",
                ChatLine::OfShell {
                    text: "gently dirft list".to_owned(),
                    here: "Ctrl-D ends the chat".to_owned(),
                },
            ),
            (
                "gently --key-cmd x drift list",
                ChatLine::OfShell {
                    text: "gently --key-cmd x drift list".to_owned(),
                    here: "Ctrl-D ends the chat".to_owned(),
                },
            ),
            (
                "gently audit verify",
                ChatLine::OfShell {
                    text: "gently audit verify".to_owned(),
                    here: "Ctrl-D ends the chat".to_owned(),
                },
            ),
            ("/show", show(None, false)),
            ("/show --full", show(None, true)),
            ("/show 81bb5b35/1 --full", show(Some("81bb5b35/1"), true)),
            ("", ChatLine::Blank),
            (" \n\t", ChatLine::Blank),
            ("/quit", ChatLine::Command(ChatCommand::Quit)),
            ("/exit ", ChatLine::Command(ChatCommand::Quit)),
            ("/new", ChatLine::Command(ChatCommand::New(None))),
            (
                "/new  a walk ",
                ChatLine::Command(ChatCommand::New(Some("a walk".to_owned()))),
            ),
            (
                "/note one\ntwo",
                ChatLine::Command(ChatCommand::Note("one\ntwo".to_owned())),
            ),
            ("/deep on", ChatLine::Command(ChatCommand::Deep(true))),
            ("/refs", ChatLine::Command(ChatCommand::Refs(None))),
            (
                "/refs none",
                ChatLine::Command(ChatCommand::Refs(Some(ShownTurns::Nothing))),
            ),
            (
                "/refs last:2 81bb5b35/1",
                ChatLine::Command(ChatCommand::Refs(Some(ShownTurns::These(vec![
                    "last:2".to_owned(),
                    "81bb5b35/1".to_owned(),
                ])))),
            ),
        ] {
            assert_eq!(ChatLine::of(line), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_mistyped_gets_the_nearest_command() {
        for (line, said) in [
            ("/hlep", "did you mean /help?"),
            ("/modle gpt", "did you mean /model gpt?"),
            ("/Title x", "did you mean /title x?"),
            ("/tilte", "did you mean /title TEXT?"),
            ("/fcat list", "did you mean gently fact list, typed here?"),
            (
                "/cuoncil list",
                "did you mean gently council list, typed here?",
            ),
            (
                "/corect ratify correction-1",
                "did you mean gently correction ratify",
            ),
            ("/etc/hosts what is it?", "//etc/hosts"),
            ("/", "/help lists the commands"),
            ("/title", "/title TEXT"),
            ("/deep", "/deep on|off"),
            ("/deep maybe", "/deep on|off"),
            ("/drift now", "/drift [close ID…|close all]"),
            ("/drift close", "/drift close all"),
            ("/erase", "/erase last|ID"),
            ("/delete last", "gently conversation delete"),
            ("/export x.md", "gently conversation export"),
            ("/share", "gently share"),
            ("/check x", "gently check"),
            ("/rate last good", "gently rate ID good"),
            ("/handoff", "gently handoff run, typed here"),
            ("/rename x", "/title TEXT"),
            ("/council list", "gently council list, typed here"),
            ("/council council-2", "gently council show council-2"),
            ("/fact ratify fact-1", "gently fact ratify fact-1, typed"),
            ("/fact ratify", "gently fact ratify ID, typed here"),
            ("/fact list", "nothing was recorded"),
            ("/fact show fact-3", "gently show fact-3, typed here"),
            (
                "/note retire note-1 note-2",
                "gently note retire note-1 note-2",
            ),
            ("/correct ratify correction-1", "gently correction ratify"),
            ("/fact", "/fact TEXT"),
        ] {
            match ChatLine::of(line) {
                ChatLine::Mistyped(why) => assert!(why.contains(said), "{line}: {why}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_text_that_begins_as_a_command_does_is_one() {
        for text in [
            "ratify the contract before May",
            "list comprehensions are lazy in Haskell",
            "show business is hard",
        ] {
            let expected = ChatLine::Command(ChatCommand::Fact(text.to_owned()));
            assert_eq!(ChatLine::of(&format!("/fact {text}")), expected);
        }
        let councils = ChatLine::Command(ChatCommand::Council(Some("list,law".to_owned())));
        assert_eq!(ChatLine::of("/council list,law"), councils);
    }

    #[test]
    fn every_command_that_is_listed_is_one() {
        for CommandHelp { name, takes, .. } in COMMANDS {
            let behind = match takes {
                "" => "",
                "on|off" => " on",
                "[close ID…|close all]" => " close 1 2",
                _ => " something",
            };
            let line = ChatLine::of(&format!("/{name}{behind}"));
            assert!(matches!(line, ChatLine::Command(_)), "{name}: {line:?}");
        }
    }
}
