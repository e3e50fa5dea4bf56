//! What happens on the terminal while a turn waits: a spinner, and the signals that end the wait.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use textwrap::core::display_width;

use crate::ask::TurnControl;

use super::signals::Wait;
use super::{columns, counted, quiet};

/// An answer that comes sooner needs no spinner.
const QUICK: Duration = Duration::from_millis(300);
/// Between two frames.
const FRAME: Duration = Duration::from_millis(120);

/// The person at the terminal, or the program that started us, while a turn waits.
///
/// The first signal ends a wait, and the turn is recorded as interrupted. A second one, and every
/// one while nothing waits, ends the process at once (see `signals.rs`).
pub struct Terminal {
    /// What the first signal cancels.
    pub control: TurnControl,
    wait: Wait,
    model: String,
}

impl Terminal {
    /// Arms the signals for a turn, until this value is dropped.
    pub fn listen(model: &str) -> std::io::Result<Self> {
        let control = TurnControl {
            is_watched: Spinner::is_wanted(),
            ..TurnControl::default()
        };
        Ok(Terminal {
            wait: Wait::begin(control.cancelled.clone())?,
            control,
            model: model.to_owned(),
        })
    }

    /// Does the work of a turn, and shows a spinner whenever its model thinks.
    pub async fn attend<T>(&self, turn: impl Future<Output = T>) -> T {
        let mut thinking = self.control.thinking.subscribe();
        let spinning = async {
            // The sender is ours: a wait can't fail.
            while thinking.wait_for(|thinks| *thinks).await.is_ok() {
                let quick = thinking.wait_for(|thinks| !thinks);
                let begun = Instant::now();
                if tokio::time::timeout(QUICK, quick).await.is_err() {
                    let spinner = Spinner::start(&self.told_of(QUICK, 0));
                    tokio::select! {
                        _ = thinking.wait_for(|thinks| !thinks) => {}
                        never = self.tell_of(&spinner, begun) => match never {},
                    }
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            biased;
            done = turn => done,
            never = spinning => never,
        }
    }

    /// Says how long it has taken, and how much has come, for as long as it is waited for.
    async fn tell_of(&self, spinner: &Spinner, begun: Instant) -> std::convert::Infallible {
        loop {
            let came = *self.control.came.borrow();
            spinner.say(&self.told_of(begun.elapsed(), came));
            tokio::time::sleep(FRAME).await;
        }
    }

    fn told_of(&self, waited: Duration, came: u64) -> String {
        // The sign that turns and a blank stand before it, and the cursor behind it.
        let room = columns(&std::io::stderr()).map(|columns| columns.saturating_sub(3));
        wait_told(&self.model, waited, came, room)
    }

    /// The exit code of the signal that came, if one came.
    pub fn exit_code(&self) -> Option<u8> {
        self.wait.exit_code()
    }
}

/// A spinner on stderr, there for as long as this value lives; nothing where there is no terminal.
pub(in crate::cli) struct Spinner(Option<ProgressBar>);

impl Spinner {
    pub(in crate::cli) fn start(text: &str) -> Self {
        if !Self::is_wanted() {
            return Spinner(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::default_spinner().template("{spinner} {wide_msg}");
        bar.set_style(style.expect("the template is ours, and one"));
        bar.set_message(text.to_owned());
        bar.enable_steady_tick(FRAME);
        Spinner(Some(bar))
    }

    /// Whether there is a terminal for one.
    fn is_wanted() -> bool {
        wanted(
            std::io::stderr().is_terminal(),
            std::env::var("TERM").ok().as_deref(),
        )
    }

    pub(in crate::cli) fn say(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
        }
    }
}

/// `ollama/llama3.1:8b is thinking: 12 s, 340 characters; Ctrl-C gives up`, or as much of it as there
/// is room for: a line that does not fit would be drawn anew below itself.
fn wait_told(model: &str, waited: Duration, came: u64, room: Option<usize>) -> String {
    let seconds = waited.as_secs();
    let count = match came {
        0 => String::new(),
        came => format!(", {}", counted(came, "character")),
    };
    let model = quiet(model);
    let told = [
        format!("{model} is thinking: {seconds} s{count}; Ctrl-C gives up"),
        format!("{model} is thinking: {seconds} s{count}"),
        format!("thinking: {seconds} s{count}"),
        format!("thinking: {seconds} s"),
    ];
    let last = format!("{seconds} s");
    let fits = |told: &String| room.is_none_or(|room| display_width(told) <= room);
    told.into_iter().find(fits).unwrap_or(last)
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A terminal that can move its cursor.
pub(in crate::cli) fn wanted(is_terminal: bool, term: Option<&str>) -> bool {
    is_terminal && term.is_some_and(|term| !term.is_empty() && term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_seconds_and_characters() {
        let told = |seconds, came| wait_told("observer", Duration::from_secs(seconds), came, None);
        assert_eq!(told(12, 0), "observer is thinking: 12 s; Ctrl-C gives up");
        assert_eq!(
            told(0, 1),
            "observer is thinking: 0 s, 1 character; Ctrl-C gives up"
        );
        let many = told(3600, 340);
        assert_eq!(
            many,
            "observer is thinking: 3600 s, 340 characters; Ctrl-C gives up"
        );
        for (room, expected) in [
            (61, many.as_str()),
            (44, "observer is thinking: 3600 s, 340 characters"),
            (43, "thinking: 3600 s, 340 characters"),
            (17, "thinking: 3600 s"),
            (7, "3600 s"),
        ] {
            let told = wait_told("observer", Duration::from_secs(3600), 340, Some(room));
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn a_spinner_needs_a_terminal_that_can_draw_one() {
        for (is_terminal, term, expected) in [
            (true, Some("xterm-256color"), true),
            (true, Some("linux"), true),
            (true, Some("dumb"), false),
            (true, Some(""), false),
            (true, None, false),
            (false, Some("xterm"), false),
        ] {
            assert_eq!(wanted(is_terminal, term), expected, "{term:?}");
        }
    }
}
