//! `gently anchor sync`: keeps headers of Bitcoin blocks, so that heights and proofs are checked
//! with nobody's help.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::anchor::sync::MAX_REQUESTS;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::anchor_sync::{SyncReport, SyncRequest, sync};
use crate::view::prove::anchor_sync::SyncReportView;

use crate::cli::screen::terminal::wanted;
use crate::cli::{COULD_NOT, FINE, present, say};

/// `gently anchor sync`.
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Take them from a file: 80 bytes a block, or lines of height,hash,header
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The height of the first block in a file of 80 bytes a block
    #[arg(long, value_name = "HEIGHT", requires = "from", default_value_t = 0)]
    start: u32,
}

/// The bar of one run; nothing where nobody sees it.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new() -> Self {
        if !wanted(
            std::io::stderr().is_terminal(),
            std::env::var("TERM").ok().as_deref(),
        ) {
            return Bar(None);
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let form = "headers: {bar:24} {percent} % to {len} ({rate}, {eta} left)";
        let style =
            ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
        // What can't be written is not shown.
        bar.set_style(style.with_key(
            "rate",
            |state: &ProgressState, to: &mut dyn std::fmt::Write| {
                let _ = write!(to, "{:.0} a second", state.per_sec());
            },
        ));
        Bar(Some(bar))
    }

    fn show(&self, next: u32, end: u32) {
        if let Some(bar) = &self.0 {
            bar.set_length(u64::from(end));
            bar.set_position(u64::from(next));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Adds headers; resumes where the last run ended. 2 when none could be had.
pub async fn run(args: &SyncArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let request = SyncRequest {
        from: args.from.clone(),
        start: args.start,
    };
    let bar = Bar::new();
    let done = sync(&home, &request, &|next, end| bar.show(next, end)).await;
    drop(bar);
    let report = done?;
    present(json, || SyncReportView::of(&report), || kept(&report));
    if let Some(why) = &report.fault {
        say(&format!("error: {why}"));
    } else if !report.is_complete {
        say(&format!(
            "not all yet: one run asks at most {MAX_REQUESTS} questions. Run it again to go on"
        ));
    }
    if let Some(block) = report.older_block {
        say(&format!(
            "the ledger names block {block}, before the first header kept: it stays claimed. To keep older ones, move \
             {} away and sync from a node or a file",
            report.folder.display()
        ));
    }
    Ok(match report.fault {
        None => FINE,
        Some(_) => COULD_NOT,
    })
}

/// What is kept now; nothing when that is nothing.
fn kept(report: &SyncReport) -> String {
    let Some(kept) = report.kept.filter(|kept| kept.next > kept.start) else {
        return String::new();
    };
    format!(
        "headers {} to {} of {} are kept, {} of them new\n",
        kept.start,
        kept.next - 1,
        report.network.name(),
        report.added
    )
}
