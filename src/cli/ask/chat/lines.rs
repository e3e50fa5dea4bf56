//! Where lines are typed: a line editor, or a terminal that can't move its cursor.

use std::borrow::Cow;
use std::io::IsTerminal as _;

use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{History as _, MemHistory};
use rustyline::validate::Validator;
use rustyline::{
    Behavior, Cmd, ColorMode, CompletionType, ConditionalEventHandler, Editor, Event, EventContext,
    EventHandler, Helper, KeyCode, KeyEvent, Modifiers, RepeatCount,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cli::screen::quiet;
use crate::cli::screen::signals::{self, INTERRUPTED, Wait};
use crate::cli::screen::terminal::wanted;
use crate::cli::{print, say};
use crate::record::unseen::spelled;

use super::completion::ChatWords;

/// What stands before a line.
const PROMPT: &str = "> ";
/// What stands before a line that goes on, where the editor does not show the lines before.
const GOES_ON: &str = "… ";
/// More questions are not kept for offering again.
const MOST: usize = 2000;

/// Says what somebody did at the prompt.
pub enum LineEvent {
    /// Sent this.
    Line(String),
    /// Cleared the line with Ctrl-C.
    Cleared,
    /// Ended the input.
    Ended,
}

/// Reads lines that somebody types, with a line editor where the terminal can have one.
pub enum LineInput {
    /// With a line editor.
    Edited {
        /// The editor.
        editor: Box<Editor<ChatWords, MemHistory>>,
        /// The lines of this chat that are offered again, oldest first.
        typed: Vec<String>,
    },
    /// Line by line, as the terminal sends them.
    Plain(PlainInput),
}

impl LineInput {
    /// The one that this terminal can have.
    pub fn open(words: ChatWords) -> Result<LineInput, String> {
        let term = std::env::var("TERM").ok();
        if !wanted(std::io::stdin().is_terminal(), term.as_deref()) {
            return Ok(LineInput::Plain(PlainInput { begun: None }));
        }
        let failed = |e: ReadlineError| format!("no line can be typed on this terminal: {e}");
        let config = rustyline::Config::builder()
            .max_history_size(MOST)
            .map_err(failed)?
            .auto_add_history(false)
            .completion_type(CompletionType::List)
            // The words of a line pass `ChatWords` in any case.
            .color_mode(ColorMode::Forced)
            .enable_signals(false)
            .behavior(match std::io::stdout().is_terminal() {
                true => Behavior::Stdio,
                false => Behavior::PreferTerm,
            })
            .build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).map_err(failed)?;
        editor.set_helper(Some(words));
        let enter = KeyEvent(KeyCode::Enter, Modifiers::NONE);
        editor.bind_sequence(enter, EventHandler::Conditional(Box::new(EnterKey)));
        let alt_enter = KeyEvent(KeyCode::Enter, Modifiers::ALT);
        editor.bind_sequence(alt_enter, EventHandler::Simple(Cmd::Newline));
        Ok(LineInput::Edited {
            editor: Box::new(editor),
            typed: Vec::new(),
        })
    }

    /// Offers these again, the last one first; before them the lines of this chat.
    pub fn offer_all(&mut self, questions: &[String]) {
        if let LineInput::Edited { editor, typed } = self {
            // In memory, it can't fail.
            let _ = editor.clear_history();
            let questions = questions.iter().filter(|text| !typed.contains(text));
            for text in questions.chain(typed.iter()) {
                let _ = editor.history_mut().add(text);
            }
        }
    }

    /// Offers one more line of this chat, before all others.
    pub fn offer(&mut self, line: &str) {
        if let LineInput::Edited { editor, typed } = self
            && typed.last().is_none_or(|newest| newest != line)
        {
            typed.push(line.to_owned());
            let _ = editor.history_mut().add(line);
        }
    }

    /// Offers the lines of this chat no more: what was erased may stand in them.
    pub fn forget(&mut self) {
        if let LineInput::Edited { typed, .. } = self {
            typed.clear();
        }
    }

    /// Whether a question that is kept stands in the line, and Up brings lines.
    pub fn shows_kept(&self) -> bool {
        matches!(self, LineInput::Edited { .. })
    }

    /// Whether a text that is pasted can't press Enter: the editor asks the terminal to set it off, which
    /// these are known to do.
    pub fn sets_off_pastes(&self) -> bool {
        /// How the names of terminals begin that do.
        const SETTING_OFF: [&str; 14] = [
            "alacritty",
            "contour",
            "foot",
            "gnome",
            "iterm",
            "kitty",
            "konsole",
            "mintty",
            "rxvt",
            "screen",
            "tmux",
            "wezterm",
            "xterm",
            "ghostty",
        ];
        let term = std::env::var("TERM")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let is_known = SETTING_OFF.iter().any(|name| term.starts_with(name));
        self.shows_kept() && is_known
    }

    /// What Tab completes.
    pub fn words(&mut self) -> Option<&mut ChatWords> {
        match self {
            LineInput::Edited { editor, .. } => editor.helper_mut(),
            LineInput::Plain(_) => None,
        }
    }

    /// Waits for a line; `kept` stands in it already.
    pub async fn read(&mut self, kept: &str) -> LineEvent {
        match self {
            LineInput::Edited { editor, .. } => {
                match editor.readline_with_initial(PROMPT, (kept, "")) {
                    Ok(line) => LineEvent::Line(line.replace(&format!("\\{CONTINUES}\n"), "\n")),
                    Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {
                        LineEvent::Cleared
                    }
                    Err(ReadlineError::Eof) => LineEvent::Ended,
                    Err(error) => {
                        say(&format!("error: the terminal can't be read: {error}"));
                        LineEvent::Ended
                    }
                }
            }
            LineInput::Plain(plain) => plain.read(kept).await,
        }
    }
}

/// Stands between a `\` and the end of its line where Enter was pressed behind it, so that the same
/// in a text that was pasted stays as it is. It has no width, and is not shown.
const CONTINUES: char = '\u{2060}';

/// Enter sends, unless the line ends in `\`: then it goes on.
struct EnterKey;

impl ConditionalEventHandler for EnterKey {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let goes_on = context.pos() == context.line().len() && context.line().ends_with('\\');
        goes_on.then(|| Cmd::Insert(1, format!("{CONTINUES}\n")))
    }
}

impl Helper for ChatWords {}

impl Hinter for ChatWords {
    type Hint = String;
}

impl Validator for ChatWords {}

impl Highlighter for ChatWords {
    /// A text from elsewhere moves nothing on the screen: what would, has no column in the editor's
    /// own reckoning, and is left out.
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        if spelled(line) == line {
            return Cow::Borrowed(line);
        }
        let is_seen = |c: &char| {
            let mut bytes = [0; 4];
            let one: &str = c.encode_utf8(&mut bytes);
            spelled(one) == one
        };
        Cow::Owned(line.chars().filter(is_seen).collect())
    }

    fn highlight_candidate<'c>(&self, candidate: &'c str, _: CompletionType) -> Cow<'c, str> {
        Cow::Owned(quiet(candidate))
    }
}

/// Lines as a terminal sends them that has no line editor.
pub struct PlainInput {
    /// A line that is being typed: Ctrl-C came, and the terminal threw away what stood in it.
    begun: Option<JoinHandle<Option<String>>>,
}

impl PlainInput {
    /// Waits for a line, and for those that it goes on with. An empty one sends what is kept.
    async fn read(&mut self, kept: &str) -> LineEvent {
        let mut text = String::new();
        loop {
            let before = if text.is_empty() { PROMPT } else { GOES_ON };
            let line = match self.line(before).await {
                LineEvent::Line(line) => line,
                other => return other,
            };
            match line.strip_suffix('\\') {
                Some(begun) => {
                    text.push_str(begun);
                    text.push('\n');
                }
                None => {
                    text.push_str(&line);
                    let is_kept = text.is_empty() && !kept.is_empty();
                    return LineEvent::Line(if is_kept { kept.to_owned() } else { text });
                }
            }
        }
    }

    /// One line, behind what stands before it. Whoever sees that may press Ctrl-C at once, so
    /// signals are listened to before it is printed.
    async fn line(&mut self, before: &str) -> LineEvent {
        let cancelled = CancellationToken::new();
        let Ok(wait) = Wait::begin(cancelled.clone()) else {
            return LineEvent::Ended;
        };
        if std::io::stdout().is_terminal() {
            print(before);
        }
        let begun = self
            .begun
            .get_or_insert_with(|| tokio::task::spawn_blocking(read_line));
        let Some(read) = cancelled.run_until_cancelled(begun).await else {
            match wait.exit_code() {
                Some(code) if code != INTERRUPTED => signals::end(code),
                _ => {}
            }
            print("\n");
            return LineEvent::Cleared;
        };
        self.begun = None;
        match read.ok().flatten() {
            Some(line) => LineEvent::Line(line),
            None => {
                print("\n");
                LineEvent::Ended
            }
        }
    }
}

/// A line of standard input; none at its end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).ok()?;
    let text = line.strip_suffix('\n').unwrap_or(&line);
    (read > 0).then(|| text.strip_suffix('\r').unwrap_or(text).to_owned())
}
