//! The signals of this process: one thread takes them, from the first wait on, and each wait is
//! armed anew.
//!
//! Signals are taken by a thread of their own, so that nothing that blocks can hold them up. What
//! they do depends on what the process does at that moment: while something waits, the first one
//! ends the wait and a second one the process; while nothing waits, the process ends at once, and
//! what was then unfinished is healed at the next start. A chat outlives a Ctrl-C that comes while
//! nothing waits.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::app::home::open::OpenHomeError;
use crate::cli::say;
use crate::os::remove_own_leftovers;

/// Shells say 128 and the signal's number.
const SIGNALLED: u8 = 128;
/// The number of Ctrl-C.
const INTERRUPT: u8 = 2;
/// What ends a wait: the terminal is gone, Ctrl-C, a service manager.
const SIGNALS: [(u8, SignalKind); 3] = [
    (1, SignalKind::hangup()),
    (INTERRUPT, SignalKind::interrupt()),
    (15, SignalKind::terminate()),
];
/// The exit code of whoever was stopped with Ctrl-C.
pub const INTERRUPTED: u8 = SIGNALLED + INTERRUPT;

/// What the thread and the rest of the process share.
static STATE: Mutex<SignalState> = Mutex::new(SignalState {
    wait: None,
    is_chat: false,
    modes: None,
    words: None,
});
/// Whether the thread listens; it is started once.
static LISTENS: OnceLock<Result<(), String>> = OnceLock::new();

/// Gives what became of the work that a signal ended, as it looks then.
type EndWords = Box<dyn Fn() -> String + Send>;

/// What a signal does now.
struct SignalState {
    wait: Option<Arc<WaitState>>,
    /// Whether a Ctrl-C while nothing waits does nothing.
    is_chat: bool,
    /// How the terminal was when the process began.
    modes: Option<Termios>,
    /// What is said when a signal ends the process, after what was half made is gone.
    words: Option<EndWords>,
}

/// What is waited for.
#[derive(Default)]
struct WaitState {
    cancelled: CancellationToken,
    /// The exit code of the first signal.
    signalled: OnceLock<u8>,
}

fn state() -> MutexGuard<'static, SignalState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that the first signal ends, for as long as this value lives.
///
/// There is one at a time: a later one takes the place of an earlier one.
pub struct Wait(Arc<WaitState>);

impl Wait {
    /// Arms the signals: the first one cancels `cancelled`.
    pub fn begin(cancelled: CancellationToken) -> std::io::Result<Wait> {
        listen()?;
        let wait = Arc::new(WaitState {
            cancelled,
            ..WaitState::default()
        });
        state().wait = Some(Arc::clone(&wait));
        Ok(Wait(wait))
    }

    /// The exit code of the signal that came, if one came.
    pub fn exit_code(&self) -> Option<u8> {
        self.0.signalled.get().copied()
    }
}

impl Drop for Wait {
    /// It is over: from here on a signal ends the process.
    fn drop(&mut self) {
        let mut state = state();
        if state
            .wait
            .as_ref()
            .is_some_and(|wait| Arc::ptr_eq(wait, &self.0))
        {
            state.wait = None;
        }
    }
}

/// Lets this process outlive a Ctrl-C that comes while nothing waits, and has the terminal left as
/// it is now when another signal ends the process.
pub fn outlive_interrupts() -> std::io::Result<()> {
    listen()?;
    let mut state = state();
    state.is_chat = true;
    state.modes = tcgetattr(std::io::stdin()).ok();
    Ok(())
}

/// Has what this process would leave half made removed when a signal ends it, the terminal left as it is now,
/// and somebody told in words what became of it.
pub fn clear_up_when_ended(
    words: impl Fn() -> String + Send + 'static,
) -> Result<(), OpenHomeError> {
    listen().map_err(|e| OpenHomeError::Signals {
        reason: e.to_string(),
    })?;
    let mut state = state();
    state.modes = state
        .modes
        .take()
        .or_else(|| tcgetattr(std::io::stdin()).ok());
    state.words = Some(Box::new(words));
    Ok(())
}

/// Whether this process outlives a Ctrl-C that comes while nothing waits.
pub fn outlives_interrupts() -> bool {
    state().is_chat
}

/// Ends the process as a signal does that nothing waits for.
pub fn end(code: u8) -> ! {
    leave(&state(), code)
}

/// Begins to listen to signals; until the process ends, they do nothing else any more.
fn listen() -> std::io::Result<()> {
    let listens = LISTENS.get_or_init(|| {
        let (ready, listens) = std::sync::mpsc::channel();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || attend(&ready))
            .map_err(|e| e.to_string())?;
        listens
            .recv()
            .unwrap_or_else(|_| Err("the thread for signals ended".to_owned()))
    });
    listens.clone().map_err(std::io::Error::other)
}

type Ready = std::sync::mpsc::Sender<Result<(), String>>;

/// The thread's whole life.
fn attend(ready: &Ready) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(e) => return drop(ready.send(Err(e.to_string()))),
    };
    runtime.block_on(async {
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let heard = SIGNALS
            .into_iter()
            .filter(|(number, _)| ignored & (1 << (number - 1)) == 0);
        let streams: std::io::Result<Vec<_>> = heard
            .map(|(number, kind)| Ok((number, signal(kind)?)))
            .collect();
        let mut streams = match streams {
            Ok(streams) => streams,
            Err(e) => return drop(ready.send(Err(e.to_string()))),
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
            hear(number);
        }
    });
}

/// What a signal does.
fn hear(number: u8) {
    let code = SIGNALLED + number;
    let state = state();
    match &state.wait {
        Some(wait) if wait.signalled.set(code).is_ok() => wait.cancelled.cancel(),
        None if number == INTERRUPT && state.is_chat => {}
        _ => leave(&state, code),
    }
}

/// Ends the process: no text that was being written stays behind, and the terminal is as it was.
fn leave(state: &SignalState, code: u8) -> ! {
    let _held = remove_own_leftovers();
    if let Some(modes) = &state.modes {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, modes);
    }
    if let Some(words) = &state.words {
        // Below the bar, or the sign of the key that was pressed.
        say(&format!("\ninterrupted: {}", words()));
    }
    // What the libraries would do at an end in order would take from a thread that is at work what it works with.
    signal_hook::low_level::exit(i32::from(code))
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
    fn each_wait_is_armed_anew_and_a_first_signal_ends_it_alone() {
        for _ in 0..3 {
            let cancelled = CancellationToken::new();
            let wait = Wait::begin(cancelled.clone()).unwrap();
            assert_eq!((wait.exit_code(), cancelled.is_cancelled()), (None, false));
            hear(INTERRUPT);
            assert!(cancelled.is_cancelled());
            assert_eq!(wait.exit_code(), Some(INTERRUPTED));
        }
        assert!(state().wait.is_none());
    }
}
