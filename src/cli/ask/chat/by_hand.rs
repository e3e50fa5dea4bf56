//! A chat on a terminal: lines are typed, commands are done, and a question that could not be asked
//! stands in the line again. Nothing stands there behind a refusal; Up brings what was typed.

use crate::app::ask::chat::{history, is_offered, last_erasure};
use crate::app::redacted::clean;
use crate::cli::screen::signals::{self, INTERRUPTED};
use crate::cli::{FINE, could_not, say, stopped};
use crate::keys::os_random;

use super::commands::{AfterCommand, perform, say_place};
use super::completion::ChatWords;
use super::lines::{LineEvent, LineInput};
use super::shell_line::{self, ShellLineEnd};
use super::talk::{Chat, ChatTurn};
use super::typed::ChatLine;

/// Talks until somebody ends it.
pub async fn run(chat: &mut Chat) -> u8 {
    if let Err(error) = signals::outlive_interrupts() {
        let why = format!("the system does not let gently listen to signals: {error}");
        return could_not(&why, chat.json);
    }
    let words = ChatWords::of(chat.path().to_owned(), chat.thread);
    let mut lines = match LineInput::open(words) {
        Ok(lines) => lines,
        Err(why) => return could_not(&why, chat.json),
    };
    greet(chat).await;
    offer_history(chat, &mut lines);
    let mut kept = String::new();
    let mut asked = AskedLine::Nothing;
    // A command of the shell that was refused: sent again, it is a question.
    let mut refused = String::new();
    let mut erased = erased_last(chat);
    loop {
        // Somebody else may have erased what would be offered again.
        offer_no_erased(chat, &mut lines, &mut erased);
        let line = match lines.read(&kept).await {
            LineEvent::Line(line) => line,
            LineEvent::Cleared => {
                kept.clear();
                refused.clear();
                asked = AskedLine::Nothing;
                continue;
            }
            LineEvent::Ended => return FINE,
        };
        let stood_there = std::mem::take(&mut kept);
        let was_refused = std::mem::take(&mut refused);
        let was_asked = std::mem::replace(&mut asked, AskedLine::Nothing);
        let (line, is_to_run) = was_asked.said(line, &stood_there);
        let text = match ChatLine::of(&line) {
            ChatLine::Blank => continue,
            ChatLine::Question(text) => text,
            ChatLine::Farewell(text) if text == stood_there => return FINE,
            ChatLine::Farewell(text) => {
                offer_typed(&text, &mut lines);
                say("Enter again ends the chat, and so do /quit and Ctrl-D");
                kept = text;
                continue;
            }
            ChatLine::OfShell { text, .. }
                if !is_to_run && (text == stood_there || text == was_refused) =>
            {
                text
            }
            ChatLine::OfShell { text, here } => {
                offer_typed(&text, &mut lines);
                match shell_line::run(chat, &text, &here, is_to_run).await {
                    ShellLineEnd::Ran => offer_history(chat, &mut lines),
                    ShellLineEnd::Asks => (kept, asked) = AskedLine::of(text, &lines),
                    ShellLineEnd::Refused(why) => {
                        say_refused(&why, &lines);
                        match lines.shows_kept() {
                            true => refused = text,
                            false => kept = text,
                        }
                    }
                }
                continue;
            }
            ChatLine::Mistyped(why) => {
                offer_typed(&line, &mut lines);
                say(&why);
                continue;
            }
            ChatLine::Command(command)
                if command.does_more_than_look() && !is_to_run && !lines.sets_off_pastes() =>
            {
                (kept, asked) = AskedLine::of(line, &lines);
                continue;
            }
            ChatLine::Command(command) => {
                let end = perform(chat, command).await;
                offer_no_erased(chat, &mut lines, &mut erased);
                offer_typed(&line, &mut lines);
                match end {
                    AfterCommand::Prompt => continue,
                    AfterCommand::Moved => {
                        offer_history(chat, &mut lines);
                        continue;
                    }
                    AfterCommand::Ask(text) => text,
                    AfterCommand::Ended(code) => return code,
                }
            }
        };
        match ask(chat, &text, &mut lines).await {
            NextStep::Line => {}
            NextStep::Again => {
                kept = typed_again(&text);
                offer_typed(&kept, &mut lines);
            }
            NextStep::End(code) => return code,
        }
    }
}

/// Why a command of the shell does not run in a chat, and how it becomes a question.
fn say_refused(why: &str, lines: &LineInput) {
    let parts = if why.contains('\n') { "\n" } else { "; " };
    let again = match lines.shows_kept() {
        true => "Up and Enter",
        false => "Enter again",
    };
    say(&format!(
        "{why}{parts}{again} sends it to the model as a question"
    ));
}

/// A command that does more than look: whether to run it was asked.
enum AskedLine {
    /// Nothing was.
    Nothing,
    /// It stands in the line, and runs once it is sent again.
    Again,
    /// It runs once this number is typed, which no text that was pasted can have in it.
    Number {
        /// The line.
        text: String,
        /// The number.
        number: String,
    },
}

impl AskedLine {
    /// Asks, and says what stands in the line then. Where a text that is pasted may press Enter, a number
    /// is to be typed.
    fn of(text: String, lines: &LineInput) -> (String, AskedLine) {
        const ASKS: &str = "that command does more than look, or hands something out";
        if lines.sets_off_pastes() {
            say(&format!("{ASKS}: Enter again runs it, Ctrl-C clears it"));
            return (text, AskedLine::Again);
        }
        let mut bytes = [0; 4];
        if let Err(error) = os_random(&mut bytes) {
            say(&format!("{ASKS}, and is not run: {error}"));
            return (String::new(), AskedLine::Nothing);
        }
        let number = format!("{:04}", u32::from_be_bytes(bytes) % 10_000);
        say(&format!(
            "{ASKS}: type {number} to run it, anything else leaves it"
        ));
        (String::new(), AskedLine::Number { text, number })
    }

    /// What a line means, and whether it is the command, which is to run.
    fn said(self, line: String, stood_there: &str) -> (String, bool) {
        match self {
            AskedLine::Nothing => (line, false),
            AskedLine::Again => {
                let is_it = line.trim_end() == stood_there;
                (line, is_it)
            }
            AskedLine::Number { text, number } if line.trim() == number => (text, true),
            AskedLine::Number { .. } => {
                say("it was not run");
                (line, false)
            }
        }
    }
}

/// What comes after a question.
enum NextStep {
    /// Another line.
    Line,
    /// The same question, which is not on record.
    Again,
    /// The end, with this exit code.
    End(u8),
}

/// How a question that is kept is asked where it does not stand in the line.
const BY_AN_EMPTY_LINE: &str = "an empty line asks it again";

async fn ask(chat: &mut Chat, text: &str, lines: &mut LineInput) -> NextStep {
    let again = match lines.shows_kept() {
        true => "your question stands in the line: Enter asks it, Ctrl-C clears it",
        false => BY_AN_EMPTY_LINE,
    };
    match chat.renew_where_changed() {
        Ok(None) => {}
        Ok(Some(what)) => {
            say(&format!(
                "{what}: the home was opened anew, and nothing was asked; {again}"
            ));
            return NextStep::Again;
        }
        Err(error) => {
            stopped(&error, chat.json);
            say(again);
            return NextStep::Again;
        }
    }
    let thread = chat.thread;
    let turn = chat.ask(text).await;
    if thread != chat.thread
        && let Some(words) = lines.words()
    {
        words.thread = chat.thread;
    }
    // What comes next stands apart from what was answered.
    say("");
    if let Some(question) = &turn.offered {
        lines.offer(&typed_again(question));
    }
    match turn.signalled {
        Some(code) if code != INTERRUPTED => NextStep::End(code),
        _ if turn.is_refused => refused(&turn, text, lines),
        _ if turn.is_kept => {
            say(again);
            NextStep::Again
        }
        _ => NextStep::Line,
    }
}

/// What comes after a question that was refused as it is: whoever asks it again gets the same again, so that a
/// command is typed next. It stands in the line only where Up would not bring it.
fn refused(turn: &ChatTurn, text: &str, lines: &mut LineInput) -> NextStep {
    if let Some(way) = turn.way_out {
        say(way);
    }
    let is_brought = offer_typed(&typed_again(text), lines);
    match (lines.shows_kept(), is_brought) {
        (true, true) => {
            say("Up brings your question again");
            return NextStep::Line;
        }
        (true, false) => say("your question stands in the line; Ctrl-C clears it"),
        (false, _) => say(BY_AN_EMPTY_LINE),
    }
    NextStep::Again
}

/// A question as it is typed: one that begins with a slash has two.
fn typed_again(question: &str) -> String {
    match question.starts_with('/') {
        true => format!("/{question}"),
        false => question.to_owned(),
    }
}

/// Says first what the questions need that is not there, where they go, and how to find out the rest.
async fn greet(chat: &Chat) {
    say_place(chat, "a new conversation").await;
    say("/help lists the commands, Ctrl-D ends");
}

fn erased_last(chat: &Chat) -> Option<String> {
    let opened = chat.opened().ok()?;
    last_erasure(&opened.store).ok().flatten()
}

/// Offers what was erased since then no more, nor any line of this chat, as its words may stand there.
fn offer_no_erased(chat: &Chat, lines: &mut LineInput, erased: &mut Option<String>) {
    let now = erased_last(chat);
    if now != *erased {
        *erased = now;
        lines.forget();
        offer_history(chat, lines);
    }
}

/// Offers a line again as it was typed, whatever became of it, without the secrets in it; gives whether it is
/// one that can be.
fn offer_typed(line: &str, lines: &mut LineInput) -> bool {
    let line = clean(line.trim_end());
    let is_offered = is_offered(&line);
    if is_offered {
        lines.offer(&line);
    }
    is_offered
}

/// Offers the questions on record again, and the words of this conversation.
fn offer_history(chat: &Chat, lines: &mut LineInput) {
    if let Some(words) = lines.words() {
        words.thread = chat.thread;
    }
    let Ok(opened) = chat.opened() else { return };
    match history(&opened.store, chat.thread) {
        Ok(questions) => {
            let questions: Vec<String> = questions.iter().map(|one| typed_again(one)).collect();
            lines.offer_all(&questions);
        }
        Err(error) => say(&format!("earlier questions are not offered: {error}")),
    }
}
