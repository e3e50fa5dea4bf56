//! `gently audit replay`: exchanges computed again from the record, a line an assertion; and
//! another kernel on history.
//!
//! Exit codes: 0 all that was checked holds; 1 something is another than on record; 2 could not
//! look, which includes that nothing could be checked.

mod tried;

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use crate::config::Config;
use crate::govern::kernel::Kernel;
use crate::home::Home;
use crate::store::Store;
use crate::verify::replay::{
    Assertion, AssertionOutcome, ExchangeReplay, Replay, ReplayError, ReplayFault, Trial,
};

use super::super::screen::{counted, quiet};
use crate::app::find;
use crate::app::open;
use crate::app::open::OpenHomeError;
use crate::app::rules_in_force::put_in_force;
use crate::cli::{FINE, NEGATIVE, could_not, print};

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
    pub kernel: Option<std::path::PathBuf>,
}

/// Does it.
pub fn run(args: &ReplayArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    // What the home's own rules left in a text is left again.
    put_in_force(&Config::load(home.root(), &open::env)?)?;
    let store = Store::open_read_only(&home.paths().database())?;
    store.begin_read()?;
    let other = match args
        .kernel
        .as_deref()
        .map(|path| read_kernel(&store, path))
        .transpose()
    {
        Ok(other) => other,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let row = args
        .exchange
        .as_deref()
        .map(|text| find::exchange(&store, text))
        .transpose()?;
    let replayed = Replay::open(&store, &home.paths().log()).and_then(|replay| {
        let mut tally = Tally {
            faults: replay.faults()?,
            ..Tally::default()
        };
        match &row {
            Some(row) => tally.take(replay.exchange(row)?),
            None => all(&replay, &store, &home.paths().database(), &mut |one| {
                tally.take(one)
            })?,
        }
        let only = row.as_ref().map(|row| row.exchange_id);
        tally.trial = other
            .as_ref()
            .map(|other| replay.tried(other, only))
            .transpose()?;
        Ok(tally)
    });
    let mut tally = match replayed {
        Ok(tally) => tally,
        Err(ReplayError::Store(error)) => return Err(error.into()),
        Err(other) => return Ok(could_not(&other.to_string(), json)),
    };
    if row.is_some() {
        // What is wrong elsewhere is told by --all; what is wrong with this one its assertions say.
        tally.faults.clear();
    }
    if tally.held == 0 && tally.failed == 0 {
        return Ok(could_not(&tally.nothing(), json));
    }
    let code = if tally.failed == 0 && tally.faults.is_empty() {
        FINE
    } else {
        NEGATIVE
    };
    let text = match (json, &tally.last) {
        (true, Some(one)) if row.is_some() => {
            format!("{}\n", one_facts(one, code, tally.trial.as_ref()))
        }
        (true, _) => format!("{}\n", tally.facts(code)),
        (false, Some(one)) if row.is_some() => one_text(one, tally.trial.as_ref()),
        (false, _) => tally.text(),
    };
    Ok(code.max(print(&text)))
}

/// On two threads, unless something was recorded between the openings of their stores.
fn all(
    replay: &Replay<'_>,
    store: &Store,
    database: &std::path::Path,
    each: &mut dyn FnMut(ExchangeReplay),
) -> Result<(), ReplayError> {
    let mut other = Store::open_read_only(database)?;
    other.begin_read()?;
    match other.head()? == store.head()? {
        true => replay.all_beside(&mut other, each),
        false => replay.all(each),
    }
}

fn read_kernel(store: &Store, path: &std::path::Path) -> Result<Kernel, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let in_force = Home::kernel(store).map_err(|e| e.to_string())?;
    in_force
        .tried(&text)
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// How often an assertion came out how.
#[derive(Default)]
struct ReplayCount {
    holds: u64,
    fails: u64,
    not_checked: BTreeMap<String, u64>,
}

/// All that came out.
#[derive(Default)]
struct Tally {
    exchanges: u64,
    held: u64,
    failed: u64,
    counts: BTreeMap<Assertion, ReplayCount>,
    failures: Vec<(String, Assertion, String)>,
    faults: Vec<ReplayFault>,
    trial: Option<Trial>,
    last: Option<ExchangeReplay>,
}

fn name(one: &ExchangeReplay) -> String {
    format!(
        "{} (prompt {} of session {})",
        one.exchange,
        one.seq,
        one.session.short16()
    )
}

impl Tally {
    fn take(&mut self, one: ExchangeReplay) {
        self.exchanges += 1;
        for (assertion, outcome) in &one.outcomes {
            let count = self.counts.entry(*assertion).or_default();
            match outcome {
                AssertionOutcome::Holds => {
                    count.holds += 1;
                    self.held += 1;
                }
                AssertionOutcome::Fails(what) => {
                    count.fails += 1;
                    self.failed += 1;
                    self.failures.push((name(&one), *assertion, what.clone()));
                }
                AssertionOutcome::NotChecked(why) => {
                    *count.not_checked.entry(why.clone()).or_default() += 1
                }
            }
        }
        self.last = Some(one);
    }

    /// Why nothing could be checked.
    fn nothing(&self) -> String {
        let whys: Vec<&str> = self
            .counts
            .values()
            .flat_map(|count| count.not_checked.keys())
            .map(String::as_str)
            .collect();
        match whys.first() {
            Some(why) => format!("nothing to replay: {why}"),
            None => "nothing to replay: no exchange is on record".to_owned(),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} replayed, from the database and in the order of audit.log\n\n",
            counted(self.exchanges, "exchange")
        );
        for assertion in Assertion::ALL {
            let empty = ReplayCount::default();
            let count = self.counts.get(&assertion).unwrap_or(&empty);
            let left: u64 = count.not_checked.values().sum();
            text.push_str(&format!(
                "{:40} {:>8} hold {:>6} fail {left:>6} not checked\n",
                assertion.says(),
                count.holds,
                count.fails
            ));
        }
        let mut whys: BTreeMap<&str, u64> = BTreeMap::new();
        for (why, n) in self.counts.values().flat_map(|count| &count.not_checked) {
            *whys.entry(why).or_default() += n;
        }
        for (why, n) in whys {
            text.push_str(&format!("\nnot checked {n} times: {}", quiet(why)));
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for fault in self.faults.iter().take(SHOWN) {
            text.push_str(&format!(
                "\n{}\n    {}\n",
                quiet(&fault.place),
                quiet(&fault.what)
            ));
        }
        for (name, assertion, what) in self.failures.iter().take(SHOWN) {
            text.push_str(&format!(
                "\n{name}\n    not so: {}\n    {}\n",
                assertion.says(),
                quiet(what)
            ));
        }
        let more = (self.faults.len() + self.failures.len()).saturating_sub(2 * SHOWN);
        if more > 0 {
            text.push_str("\n… more: --json has all\n");
        }
        if let Some(trial) = &self.trial {
            text.push_str(&tried::text(trial));
        }
        text
    }

    fn facts(&self, code: u8) -> Value {
        let assertions: Vec<Value> = Assertion::ALL
            .into_iter()
            .map(|assertion| {
                let count = self.counts.get(&assertion);
                json!({
                    "assertion": assertion.name(), "holds": count.map_or(0, |c| c.holds),
                    "fails": count.map_or(0, |c| c.fails), "not_checked": count.map(|c| &c.not_checked),
                })
            })
            .collect();
        let failures = self.failures.iter().map(|(exchange, assertion, what)| {
            json!({"exchange": exchange.split(' ').next(), "assertion": assertion.name(), "what": what})
        });
        let mut facts = json!({
            "exchanges": self.exchanges, "assertions": assertions, "failures": failures.collect::<Vec<_>>(),
            "faults": self.faults.iter().map(|f| json!({"place": f.place, "what": f.what})).collect::<Vec<_>>(),
            "exit": code,
        });
        tried::put(&mut facts, self.trial.as_ref());
        facts
    }
}

fn one_text(one: &ExchangeReplay, trial: Option<&Trial>) -> String {
    let mut text = format!("replay of {}\n\n", name(one));
    for (assertion, outcome) in &one.outcomes {
        let (word, why) = match outcome {
            AssertionOutcome::Holds => ("yes", String::new()),
            AssertionOutcome::Fails(what) => ("NO", format!("  {}", quiet(what))),
            AssertionOutcome::NotChecked(why) => ("not checked", format!("  {}", quiet(why))),
        };
        text.push_str(&format!("{:40} {word}{why}\n", assertion.says()));
    }
    if let Some(trial) = trial {
        text.push_str(&tried::of_one(trial));
    }
    text
}

fn one_facts(one: &ExchangeReplay, code: u8, trial: Option<&Trial>) -> Value {
    let assertions = one.outcomes.iter().map(|(assertion, outcome)| {
        let (holds, why) = match outcome {
            AssertionOutcome::Holds => (json!(true), Value::Null),
            AssertionOutcome::Fails(what) => (json!(false), json!(what)),
            AssertionOutcome::NotChecked(why) => (Value::Null, json!(why)),
        };
        json!({"assertion": assertion.name(), "says": assertion.says(), "holds": holds, "why": why})
    });
    let mut facts = json!({
        "exchange": one.exchange, "session": one.session.to_string(), "seq": one.seq, "thread_id": one.thread,
        "assertions": assertions.collect::<Vec<_>>(), "exit": code,
    });
    tried::put(&mut facts, trial);
    facts["difference"] = facts["differences"][0].clone();
    facts
}
