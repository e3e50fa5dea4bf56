//! `/verify`: the check of the record, which Ctrl-C gives up.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::app::home::open;
use crate::cli::prove::audit::{self, AuditCommand};
use crate::cli::screen::signals::Wait;
use crate::cli::screen::terminal::Spinner;
use crate::cli::{report_of, say, say_finding};

/// Between two looks at the clock.
const FRAME: Duration = Duration::from_millis(200);
/// A check that is over sooner shows nothing.
const QUICK: Duration = Duration::from_millis(500);

/// What a check found.
struct CheckText {
    code: u8,
    report: Vec<u8>,
    /// What it says beside the report.
    beside: Vec<u8>,
}

/// Checks the record, in a thread that changes nothing: whoever gives up need not wait for it.
pub async fn run(command: AuditCommand, json: bool) -> Option<u8> {
    let cancelled = CancellationToken::new();
    let wait = Wait::begin(cancelled.clone()).ok()?;
    let mut checking = tokio::task::spawn_blocking(move || {
        let home = open::home_path().ok();
        let (mut report, mut beside) = (Vec::new(), Vec::new());
        let code = audit::run(command, home.as_deref(), &mut report, &mut beside);
        CheckText {
            code,
            report,
            beside,
        }
    });
    let begun = Instant::now();
    let mut spinner: Option<Spinner> = None;
    let done = loop {
        tokio::select! {
            biased;
            () = cancelled.cancelled() => break None,
            done = &mut checking => break done.ok(),
            () = tokio::time::sleep(FRAME) => {
                if begun.elapsed() >= QUICK {
                    let seconds = begun.elapsed().as_secs();
                    let text = format!("checking the record: {seconds} s; Ctrl-C gives up");
                    match &spinner {
                        Some(spinner) => spinner.say(&text),
                        None => spinner = Some(Spinner::start(&text)),
                    }
                }
            }
        }
    };
    drop(spinner);
    let signalled = wait.exit_code();
    drop(wait);
    match done {
        None => say("the check was given up; it changes nothing"),
        Some(done) => {
            let beside = String::from_utf8_lossy(&done.beside);
            beside.lines().for_each(say_finding);
            report_of(json, |out| {
                out.extend_from_slice(&done.report);
                done.code
            });
        }
    }
    signalled
}
