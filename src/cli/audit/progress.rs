//! How far a check is, on the terminal: a line on stderr with rate and time left.

use std::io::IsTerminal as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::cli::terminal::wanted;
use crate::verify::{Progress, Stage};

/// A check that is over sooner shows nothing.
const QUICK: Duration = Duration::from_millis(500);
/// Between two looks.
const FRAME: Duration = Duration::from_millis(150);

/// Runs a check; while it takes its time, shows how far it is if the caller wants that and somebody can see it.
pub(super) fn watched<T>(shown: bool, check: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !shown || !wanted(std::io::stderr().is_terminal(), std::env::var("TERM").ok().as_deref()) {
        return check(&progress);
    }
    std::thread::scope(|scope| {
        let (over, is_over) = channel::<()>();
        let progress = &progress;
        scope.spawn(move || {
            if is_over.recv_timeout(QUICK) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let mut shown = None;
            while is_over.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
                draw(&mut shown, progress.now());
            }
            if let Some((_, bar)) = shown {
                bar.finish_and_clear();
            }
        });
        // Dropped with the check, also when that ends in a panic.
        let _over = over;
        check(progress)
    })
}

/// Draws the bar of the stage, a new one for each: rate and time left are of the stage.
fn draw(shown: &mut Option<(Stage, ProgressBar)>, (stage, done, total): (Stage, u64, Option<u64>)) {
    if shown.as_ref().is_none_or(|(of, _)| *of != stage) {
        if let Some((_, bar)) = shown.take() {
            bar.finish_and_clear();
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        bar.set_style(style(stage, total));
        *shown = Some((stage, bar));
    }
    if let Some((_, bar)) = shown {
        bar.set_position(total.map_or(done, |total| done.min(total)));
    }
}

fn style(stage: Stage, total: Option<u64>) -> ProgressStyle {
    let what = match stage {
        Stage::Reading => "reading commits and log",
        Stage::Commits => "checking commits",
        Stage::Database => "checking the database's exchanges",
    };
    let form = match total {
        None => format!("{what}: {{human_pos}} ({{rate}})"),
        Some(total) => {
            format!("{what}: {{bar:24}} {{percent}} % of {} ({{rate}}, {{eta}} left)", HumanCount(total))
        }
    };
    let style = ProgressStyle::with_template(&form).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("rate", |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        // A rate that can't be written is not shown.
        let _ = write!(to, "{:.0} a second", state.per_sec());
    })
}
