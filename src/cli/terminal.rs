//! What happens on the terminal while a turn waits: a spinner, and the signals that end the wait.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::ask::TurnControl;

use super::screen::quiet;

/// Shells say 128 and the signal's number.
const SIGNALLED: u8 = 128;
/// What ends a wait: the terminal is gone, Ctrl-C, a service manager.
const SIGNALS: [(u8, SignalKind); 3] = [
    (1, SignalKind::hangup()),
    (2, SignalKind::interrupt()),
    (15, SignalKind::terminate()),
];
/// An answer that comes sooner needs no spinner.
const QUICK: Duration = Duration::from_millis(300);
/// Between two frames.
const FRAME: Duration = Duration::from_millis(120);

/// The person at the terminal, or the program that started us.
///
/// The first signal ends a wait, and the turn is recorded as interrupted. A second one, and every
/// one while nothing waits, ends the process at once; what was then unfinished is healed at the
/// next start. Signals are taken by a thread of their own, so that nothing that blocks can hold
/// them up.
pub struct Terminal {
    /// What the first signal cancels.
    pub control: TurnControl,
    /// The exit code of the first signal.
    signalled: Arc<OnceLock<u8>>,
    turn_is_over: Arc<AtomicBool>,
    model: String,
}

impl Terminal {
    /// Begins to listen to signals; until the process ends, they do nothing else any more.
    pub fn listen(model: &str) -> std::io::Result<Self> {
        let terminal = Terminal {
            control: TurnControl {
                is_watched: Spinner::is_wanted(),
                ..TurnControl::default()
            },
            signalled: Arc::default(),
            turn_is_over: Arc::default(),
            model: model.to_owned(),
        };
        let signals = Signals {
            cancelled: terminal.control.cancelled.clone(),
            signalled: Arc::clone(&terminal.signalled),
            turn_is_over: Arc::clone(&terminal.turn_is_over),
        };
        let (ready, listens) = std::sync::mpsc::channel();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || signals.attend(&ready))?;
        listens
            .recv()
            .unwrap_or_else(|_| Err(std::io::Error::other("the thread for signals ended")))?;
        Ok(terminal)
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
                    let spinner = Spinner::start(&self.model);
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
            spinner.say(&wait_told(&self.model, begun.elapsed(), came));
            tokio::time::sleep(FRAME).await;
        }
    }

    /// The exit code of the signal that came, if one came.
    pub fn exit_code(&self) -> Option<u8> {
        self.signalled.get().copied()
    }
}

impl Drop for Terminal {
    /// The turn is over: from here on a signal ends the process.
    fn drop(&mut self) {
        self.turn_is_over.store(true, Ordering::SeqCst);
    }
}

type Ready = std::sync::mpsc::Sender<std::io::Result<()>>;

/// The thread that waits for signals.
struct Signals {
    cancelled: CancellationToken,
    signalled: Arc<OnceLock<u8>>,
    turn_is_over: Arc<AtomicBool>,
}

impl Signals {
    /// The thread's whole life.
    fn attend(self, ready: &Ready) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(e) => return drop(ready.send(Err(e))),
        };
        runtime.block_on(async {
            let ignored =
                ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
            let heard = SIGNALS
                .into_iter()
                .filter(|(number, _)| ignored & (1 << (number - 1)) == 0);
            let streams: std::io::Result<Vec<_>> = heard
                .map(|(number, kind)| Ok((number, signal(kind)?)))
                .collect();
            let mut streams = match streams {
                Ok(streams) => streams,
                Err(e) => return drop(ready.send(Err(e))),
            };
            drop(ready.send(Ok(())));
            while !streams.is_empty() {
                let each = streams.iter_mut().map(|(number, stream)| {
                    Box::pin(async move {
                        stream.recv().await;
                        *number
                    })
                });
                let (number, ..) = futures_util::future::select_all(each).await;
                let is_first = self.signalled.set(SIGNALLED + number).is_ok();
                if !is_first || self.turn_is_over.load(Ordering::SeqCst) {
                    std::process::exit(i32::from(SIGNALLED + number));
                }
                self.cancelled.cancel();
            }
        });
    }
}

/// The signals that whoever started us has switched off, bit N-1 for signal N: `nohup` does so with
/// SIGHUP, and a shell without job control with SIGINT of what it puts into the background. They
/// stay off.
///
/// None where the system does not tell in this way (it is Linux's).
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

/// A spinner on stderr, there for as long as this value lives; nothing where there is no terminal.
struct Spinner(Option<ProgressBar>);

impl Spinner {
    fn start(model: &str) -> Self {
        if !Self::is_wanted() {
            return Spinner(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(wait_told(model, QUICK, 0));
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

    fn say(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
        }
    }
}

/// `ollama/llama3.1:8b is thinking: 12 s, 340 characters; Ctrl-C gives up`
fn wait_told(model: &str, waited: Duration, came: u64) -> String {
    let came = match came {
        0 => String::new(),
        1 => ", 1 character".to_owned(),
        several => format!(", {several} characters"),
    };
    let seconds = waited.as_secs();
    format!(
        "{} is thinking: {seconds} s{came}; Ctrl-C gives up",
        quiet(model)
    )
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A terminal that can move its cursor.
pub(super) fn wanted(is_terminal: bool, term: Option<&str>) -> bool {
    is_terminal && term.is_some_and(|term| !term.is_empty() && term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_switched_off_is_read_from_the_system() {
        assert_eq!(
            ignored("Name:\tgently\nSigBlk:\t0\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"),
            0x1001
        );
        assert_eq!((ignored(""), ignored("SigIgn:\tnone\n")), (0, 0));
    }

    #[test]
    fn a_wait_is_told_in_seconds_and_characters() {
        let told = |seconds, came| wait_told("observer", Duration::from_secs(seconds), came);
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
