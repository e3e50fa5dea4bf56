//! How far a check is, on the terminal: a line on stderr with rate and time left.

use std::io::IsTerminal as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{
    HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};

use crate::cli::screen::terminal::wanted;
use crate::verify::{CheckStage, Progress};

/// A check that is over sooner shows nothing.
const QUICK: Duration = Duration::from_millis(500);
/// Between two looks.
const FRAME: Duration = Duration::from_millis(150);

/// Runs a check; while it takes its time, shows how far it is if the caller wants that and somebody
/// can see it.
pub(super) fn watched<T>(shown: bool, check: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !shown
        || !wanted(
            std::io::stderr().is_terminal(),
            std::env::var("TERM").ok().as_deref(),
        )
    {
        return check(&progress);
    }
    std::thread::scope(|scope| {
        let (over, is_over) = channel::<()>();
        let progress = &progress;
        let mut looked = Instant::now();
        scope.spawn(move || {
            if is_over.recv_timeout(QUICK) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let mut shown: Option<StageBar> = None;
            while is_over.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
                let (stage, done, total) = progress.now();
                if shown.as_ref().is_none_or(|bar| bar.stage != stage) {
                    // The old one goes before the new one is there.
                    drop(shown.take());
                }
                shown
                    .get_or_insert_with(|| StageBar::new(stage, total, looked))
                    .show(done);
                looked = Instant::now();
            }
        });
        // Dropped with the check, also when that ends in a panic.
        let _over = over;
        check(progress)
    })
}

/// The bar of one stage: rate and time left are of the stage, which began not before the look
/// before the first that saw it.
struct StageBar {
    stage: CheckStage,
    bar: ProgressBar,
}

impl StageBar {
    fn new(stage: CheckStage, total: Option<u64>, begun: Instant) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        bar.set_style(style(stage, total, begun));
        StageBar { stage, bar }
    }

    fn show(&self, done: u64) {
        self.bar
            .set_position(self.bar.length().map_or(done, |total| done.min(total)));
    }
}

impl Drop for StageBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(stage: CheckStage, total: Option<u64>, begun: Instant) -> ProgressStyle {
    let what = match stage {
        CheckStage::Reading => "reading commits and log",
        CheckStage::Commits => "checking commits",
        CheckStage::Database => "checking the database's exchanges",
    };
    let form = match total {
        None => format!("{what}: {{human_pos}} ({{rate}})"),
        Some(total) => {
            format!(
                "{what}: {{bar:24}} {{percent}} % of {} ({{rate}}, {{left}} left)",
                HumanCount(total)
            )
        }
    };
    let style =
        ProgressStyle::with_template(&form).unwrap_or_else(|_| ProgressStyle::default_bar());
    // What can't be written is not shown.
    style
        .with_key(
            "rate",
            move |state: &ProgressState, to: &mut dyn std::fmt::Write| {
                let _ = write!(
                    to,
                    "{} a second",
                    HumanCount(rate(state.pos(), begun.elapsed()))
                );
            },
        )
        .with_key(
            "left",
            move |state: &ProgressState, to: &mut dyn std::fmt::Write| {
                let (done, all) = (state.pos(), state.len().unwrap_or_default());
                let _ = match left(done, all, begun.elapsed()) {
                    Some(left) => write!(to, "{left:#}", left = HumanDuration(left)),
                    None => write!(to, "?"),
                };
            },
        )
}

/// Steps a second, on the average of the stage.
fn rate(done: u64, elapsed: Duration) -> u64 {
    let millis = elapsed.as_millis().max(1);
    u64::try_from(u128::from(done) * 1000 / millis).unwrap_or(u64::MAX)
}

/// How long the rest takes at that rate; none before the first step.
fn left(done: u64, all: u64, elapsed: Duration) -> Option<Duration> {
    let millis = (u128::from(all.saturating_sub(done)) * elapsed.as_millis())
        .checked_div(u128::from(done))?;
    Some(Duration::from_millis(
        u64::try_from(millis).unwrap_or(u64::MAX),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left_are_of_the_whole_stage() {
        let two = Duration::from_secs(2);
        assert_eq!(
            (
                rate(0, Duration::ZERO),
                rate(3, Duration::ZERO),
                rate(900, two)
            ),
            (0, 3000, 450)
        );
        assert_eq!(
            (left(0, 10, two), left(10, 10, two)),
            (None, Some(Duration::ZERO))
        );
        assert_eq!(left(100, 1_000_000, two), Some(Duration::from_secs(19_998)));
    }
}
