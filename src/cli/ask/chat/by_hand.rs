//! A chat on a terminal: lines are typed, commands are done, and what could not be asked stands in
//! the line again.

use crate::app::ask::chat::{history, last_erasure};
use crate::cli::screen::signals::{self, INTERRUPTED};
use crate::cli::{FINE, could_not, say, stopped};

use super::commands::{AfterCommand, perform, say_place};
use super::completion::ChatWords;
use super::lines::{LineEvent, LineInput};
use super::shell_line::{self, ShellLineEnd};
use super::talk::Chat;
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
    // Whether what stands in the line is a command of the shell that runs once it is sent again.
    let mut is_to_run = false;
    let mut erased = erased_last(chat);
    loop {
        // Somebody else may have erased what would be offered again.
        let now = erased_last(chat);
        if now != erased {
            erased = now;
            offer_history(chat, &mut lines);
        }
        let line = match lines.read(&kept).await {
            LineEvent::Line(line) => line,
            LineEvent::Cleared => {
                kept.clear();
                continue;
            }
            LineEvent::Ended => return FINE,
        };
        let stood_there = std::mem::take(&mut kept);
        let was_to_run = std::mem::take(&mut is_to_run);
        let text = match ChatLine::of(&line) {
            ChatLine::Blank => continue,
            ChatLine::Question(text) => text,
            ChatLine::Farewell(text) if text == stood_there => return FINE,
            ChatLine::Farewell(text) => {
                say("Enter again ends the chat, and so do /quit and Ctrl-D");
                kept = text;
                continue;
            }
            ChatLine::OfShell { text, .. } if text == stood_there && !was_to_run => text,
            ChatLine::OfShell { text, here } => {
                let is_sent_again = text == stood_there;
                match shell_line::run(chat, &text, &here, is_sent_again).await {
                    ShellLineEnd::Ran => offer_history(chat, &mut lines),
                    ShellLineEnd::Asks => {
                        say(
                            "that command does more than look: Enter again runs it, Ctrl-C clears it",
                        );
                        (kept, is_to_run) = (text, true);
                    }
                    ShellLineEnd::Refused(why) => {
                        let parts = if why.contains('\n') { "\n" } else { "; " };
                        say(&format!(
                            "{why}{parts}Enter again sends it to the model as a question"
                        ));
                        kept = text;
                    }
                }
                continue;
            }
            ChatLine::Mistyped { why, instead } => {
                say(&why);
                kept = instead;
                continue;
            }
            ChatLine::Command(command) => match perform(chat, command).await {
                AfterCommand::Prompt => continue,
                AfterCommand::Refused => {
                    lines.offer(line.trim_end());
                    continue;
                }
                AfterCommand::Moved => {
                    offer_history(chat, &mut lines);
                    continue;
                }
                AfterCommand::Ask(text) => text,
                AfterCommand::Ended(code) => return code,
            },
        };
        match ask(chat, &text, &mut lines).await {
            NextStep::Line => {}
            NextStep::Again => kept = typed_again(&text),
            NextStep::End(code) => return code,
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

async fn ask(chat: &mut Chat, text: &str, lines: &mut LineInput) -> NextStep {
    let again = match lines.shows_kept() {
        true => "your question stands in the line: Enter asks it, Ctrl-C clears it",
        false => "an empty line asks it again",
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
        lines.offer(question);
    }
    match turn.signalled {
        Some(code) if code != INTERRUPTED => NextStep::End(code),
        _ if turn.is_kept => {
            match (turn.is_refused, lines.shows_kept()) {
                // Whoever asks it again gets the same again.
                (true, true) => say("your question stands in the line; Ctrl-C clears it"),
                _ => say(again),
            }
            NextStep::Again
        }
        _ => NextStep::Line,
    }
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

/// Offers the questions on record again, and the words of this conversation.
fn offer_history(chat: &Chat, lines: &mut LineInput) {
    if let Some(words) = lines.words() {
        words.thread = chat.thread;
    }
    let Ok(opened) = chat.opened() else { return };
    match history(&opened.store, chat.thread) {
        Ok(questions) => lines.offer_all(&questions),
        Err(error) => say(&format!("earlier questions are not offered: {error}")),
    }
}
