//! `gently audit replay`: exchanges computed again from the record, a line an assertion; and
//! another kernel on history.
//!
//! Exit codes: 0 all that was checked holds; 1 something is another than on record; 2 could not
//! look, which includes that nothing could be checked.

mod tried;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::replay::{ReplayCount, ReplayRequest, ReplayResult, replay};
use crate::audit::replay::{Assertion, AssertionOutcome, ExchangeReplay};
use crate::cli::{FINE, NEGATIVE, print_view, print_words};
use crate::view::prove::replay::{ExchangeReplayView, ReplayView};

use crate::cli::screen::{counted, quiet};

/// So many faults and differences are shown line by line; `--json` has all.
const SHOWN: usize = 50;

/// `gently audit replay`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["exchange", "all"])))]
pub struct ReplayArgs {
    /// An exchange, as gently show takes it
    pub exchange: Option<String>,
    /// Every exchange on record
    #[arg(long)]
    pub all: bool,
    /// Also say which decisions would have been others under this kernel, or with this [policy]
    /// alone, had it been in force from the beginning; nothing is put in force
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
}

/// Replays what was named and prints the result; exit 1 when an assertion fails.
pub fn run(args: &ReplayArgs, json: bool) -> Result<u8, OpenHomeError> {
    let request = ReplayRequest {
        exchange: args.exchange.clone(),
        kernel: args.kernel.clone(),
    };
    let result = replay(&open::existing_home()?, &request)?;
    let code = if result.holds() { FINE } else { NEGATIVE };
    let trial = result.trial.as_ref();
    let one = result.last.as_ref().filter(|_| request.exchange.is_some());
    let printed = match (json, one) {
        (true, Some(one)) => print_view(&ExchangeReplayView::of(one, code, trial)),
        (true, None) => print_view(&ReplayView::of(&result, code)),
        (false, Some(one)) => print_words(&one_text(one, &result)),
        (false, None) => print_words(&text(&result)),
    };
    Ok(code.max(printed))
}

fn text(result: &ReplayResult) -> String {
    let mut text = format!(
        "{} replayed, from the database and in the order of audit.log\n\n",
        counted(result.exchanges, "exchange")
    );
    for assertion in Assertion::ALL {
        let empty = ReplayCount::default();
        let count = result.counts.get(&assertion).unwrap_or(&empty);
        let left: u64 = count.not_checked.values().sum();
        text.push_str(&format!(
            "{:40} {:>8} hold {:>6} fail {left:>6} not checked\n",
            assertion.says(),
            count.holds,
            count.fails
        ));
    }
    let mut whys: BTreeMap<&str, u64> = BTreeMap::new();
    for (why, n) in result.counts.values().flat_map(|count| &count.not_checked) {
        *whys.entry(why).or_default() += n;
    }
    for (why, n) in whys {
        text.push_str(&format!("\nnot checked {n} times: {}", quiet(why)));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    for fault in result.faults.iter().take(SHOWN) {
        text.push_str(&format!(
            "\n{}\n    {}\n",
            quiet(&fault.place),
            quiet(&fault.what)
        ));
    }
    for failure in result.failures.iter().take(SHOWN) {
        text.push_str(&format!(
            "\n{}\n    not so: {}\n    {}\n",
            result.name(failure.exchange),
            failure.assertion.says(),
            quiet(&failure.what)
        ));
    }
    let more = (result.faults.len() + result.failures.len()).saturating_sub(2 * SHOWN);
    if more > 0 {
        text.push_str("\n… more: --json has all\n");
    }
    if let Some(trial) = &result.trial {
        text.push_str(&tried::text(trial, result));
    }
    text
}

fn one_text(one: &ExchangeReplay, result: &ReplayResult) -> String {
    let mut text = format!("replay of {}\n\n", result.name(one.exchange));
    for (assertion, outcome) in &one.outcomes {
        let (word, why) = match outcome {
            AssertionOutcome::Holds => ("yes", String::new()),
            AssertionOutcome::Fails(what) => ("NO", format!("  {}", quiet(what))),
            AssertionOutcome::NotChecked(why) => ("not checked", format!("  {}", quiet(why))),
        };
        text.push_str(&format!("{:40} {word}{why}\n", assertion.says()));
    }
    if let Some(trial) = &result.trial {
        text.push_str(&tried::of_one(trial, result));
    }
    text
}
