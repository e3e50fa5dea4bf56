//! `gently rate`: what a person says of an answer.

use clap::{Args, ValueEnum};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::remember::rating::{rate, specialist_name};
use crate::record::ledger::specialist::RatingVerdict;
use crate::view::set_up::specialist::RecordedRatingView;

use crate::cli::screen::quiet;
use crate::cli::{present, say};

/// `gently rate`.
#[derive(Debug, Args)]
pub struct RateArgs {
    /// The question whose answer it is about: its id, or last
    exchange: String,
    /// Whether it was good
    #[arg(value_enum)]
    verdict: VerdictArg,
    /// What was good or bad about it
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
}

/// What is said of an answer, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum VerdictArg {
    Good,
    Bad,
}

/// Puts a rating on record.
pub async fn run(args: &RateArgs, json: bool) -> Result<u8, OpenHomeError> {
    let verdict = match args.verdict {
        VerdictArg::Good => RatingVerdict::Good,
        VerdictArg::Bad => RatingVerdict::Bad,
    };
    let opened = open::open_home()?;
    let made = rate(&opened, &args.exchange, (verdict, args.why.as_deref())).await?;
    for kind in &made.removed {
        say(&format!("removed before it was stored: {kind}"));
    }
    if let Some(before) = made.before {
        say(&format!(
            "you rated it {} before; what you say now counts",
            before.name()
        ));
    }
    let name = specialist_name(&opened, &made)?;
    let text = || {
        let who = name.as_deref().unwrap_or(&made.model);
        let (verdict, who) = (made.verdict.name(), quiet(who));
        format!(
            "{}  {verdict}  ({who}, {})\n",
            made.exchange,
            quiet(&made.domain)
        )
    };
    Ok(present(json, || RecordedRatingView::of(&made), text))
}
