//! `gently chat`: each line is a question of one conversation, asked as `gently ask` asks it.
//!
//! | file | what is in it |
//! |---|---|
//! | `talk` | the open home, where the chat stands, and one question |
//! | `by_hand`, `piped` | a chat on a terminal; one whose questions come through a pipe |
//! | `typed` | what a line is: a question, or one of the commands |
//! | `commands` | doing the commands, each by the command of its name |
//! | `shell_line` | a line that is a command as a shell takes it |
//! | `place` | conversations and projects: the only calls to them |
//! | `lines`, `completion` | the line editor, and a plain terminal; what Tab completes |
//! | `written` | a question that is written in an editor |
//! | `checking` | `/verify`, which Ctrl-C gives up |

mod by_hand;
mod checking;
mod commands;
mod completion;
mod lines;
mod piped;
mod place;
mod shell_line;
mod talk;
mod typed;
mod written;

use std::io::IsTerminal as _;

use clap::Args;

use crate::app::home::open::OpenHomeError;
use crate::cli::args::AccuracyArg;
use crate::cli::{could_not, program};
use crate::os::shell_word;
use std::path::Path;

use talk::Chat;

/// Arguments of `gently chat`.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Go on in the conversation that was asked in last
    #[arg(short = 'c', long = "continue", conflicts_with = "conversation")]
    pub goes_on: bool,
    /// Go on in this conversation: the first digits of its id, its title, or last
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// Which model answers, as gently ask takes it; /model changes it
    #[arg(long, short, value_name = "ID")]
    pub model: Option<String>,
    /// Which specialist answers; /specialist changes it
    #[arg(long, value_name = "NAME", conflicts_with = "model")]
    pub specialist: Option<String>,
    /// Specialists who answer at once, between commas; /council changes it
    #[arg(long, value_name = "NAMES", conflicts_with_all = ["model", "specialist"])]
    pub council: Option<String>,
    /// How sure answers are to be: fast, balanced, high or maximum; /accuracy changes it
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true, conflicts_with_all = ["model", "specialist"])]
    pub accuracy: Option<AccuracyArg>,
    /// The project that a new conversation joins
    #[arg(long, value_name = "PROJECT")]
    pub project: Option<String>,
    /// A question, which a chat takes line by line
    #[arg(hide = true)]
    pub words: Vec<String>,
}

/// Asks line by line until the input ends, and gives the exit code.
pub async fn run(args: ChatArgs, json: bool) -> Result<u8, OpenHomeError> {
    if !args.words.is_empty() {
        let question = shell_word(Path::new(&args.words.join(" ")));
        let why = format!(
            "a chat takes its questions line by line; to ask one: {} ask {question}",
            program()
        );
        return Ok(could_not(&why, json));
    }
    let mut chat = Chat::begin(&args, json).await?;
    let code = match std::io::stdin().is_terminal() {
        true => by_hand::run(&mut chat).await,
        false => piped::run(&mut chat).await,
    };
    chat.close();
    Ok(code)
}
