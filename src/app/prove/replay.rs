//! Computing exchanges again from the record, and trying another kernel on history.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::audit::replay::{
    Assertion, AssertionOutcome, Cause, ExchangeReplay, Replay, ReplayError, ReplayFault, Trial,
};
use crate::govern::kernel::Kernel;
use crate::home::Home;
use crate::store::Store;

use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::rules_in_force::put_in_force;

/// What is to be computed again.
#[derive(Clone, Debug, Default)]
pub struct ReplayRequest {
    /// An exchange; all of them without it.
    pub exchange: Option<String>,
    /// The file of a kernel, or of its `[policy]` alone, that is tried on history.
    pub kernel: Option<PathBuf>,
}

/// How often an assertion came out how.
#[derive(Default)]
pub struct ReplayCount {
    /// How often it holds.
    pub holds: u64,
    /// How often it does not.
    pub fails: u64,
    /// How often it could not be checked, by why.
    pub not_checked: BTreeMap<String, u64>,
}

/// An assertion that does not hold.
pub struct ReplayFailure {
    /// Exchange whose replay came out differently.
    pub exchange: Uuid,
    /// Assertion that did not hold.
    pub assertion: Assertion,
    /// What is otherwise.
    pub what: String,
}

/// All that came out.
#[derive(Default)]
pub struct ReplayResult {
    /// How many exchanges were computed again.
    pub exchanges: u64,
    /// How many assertions hold.
    pub held: u64,
    /// How many do not.
    pub failed: u64,
    /// How often each assertion held, failed or could not be tried.
    pub counts: BTreeMap<Assertion, ReplayCount>,
    /// Those that do not hold.
    pub failures: Vec<ReplayFailure>,
    /// What is wrong with the record beside exchanges.
    pub faults: Vec<ReplayFault>,
    /// What another kernel would have decided.
    pub trial: Option<Trial>,
    /// The last exchange: the one that was named.
    pub last: Option<ExchangeReplay>,
    /// How screens call the exchanges that are told of one by one.
    pub names: BTreeMap<Uuid, String>,
}

/// Computes exchanges again.
pub fn replay(home: &Home, request: &ReplayRequest) -> Result<ReplayResult, OpenHomeError> {
    // What the home's own rules left in a text is left again.
    put_in_force(&open::config(home)?)?;
    let store = open::store(home)?;
    store.begin_read()?;
    let other = request.kernel.as_deref();
    let other = other
        .map(|path| read_kernel(&store, path))
        .transpose()
        .map_err(OpenHomeError::Refused)?;
    let exchange = request.exchange.as_deref();
    let row = exchange
        .map(|text| find::exchange(&store, text))
        .transpose()?;
    let replayed = Replay::open(&store, &home.paths().log()).and_then(|replay| {
        let mut result = ReplayResult {
            faults: replay.faults()?,
            ..ReplayResult::default()
        };
        match &row {
            Some(row) => result.take(replay.exchange(row)?),
            None => all(&replay, &store, &home.paths().database(), &mut |one| {
                result.take(one)
            })?,
        }
        let only = row.as_ref().map(|row| row.exchange_id);
        result.trial = other
            .as_ref()
            .map(|other| replay.tried(other, only))
            .transpose()?;
        Ok(result)
    });
    let mut result = replayed.map_err(|error| match error {
        ReplayError::Store(error) => error.into(),
        other => OpenHomeError::Refused(other.to_string()),
    })?;
    if row.is_some() {
        // What is wrong elsewhere is told by --all; what is wrong with this one its assertions say.
        result.faults.clear();
    }
    if result.held == 0 && result.failed == 0 {
        return Err(OpenHomeError::Refused(result.nothing()));
    }
    for exchange in result.told() {
        let name = find::short_id_of(&store, exchange)?;
        result.names.extend(name.map(|name| (exchange, name)));
    }
    Ok(result)
}

/// On two threads, unless something was recorded between the openings of their stores.
fn all(
    replay: &Replay<'_>,
    store: &Store,
    database: &Path,
    each: &mut dyn FnMut(ExchangeReplay),
) -> Result<(), ReplayError> {
    let mut other = Store::open_read_only(database)?;
    other.begin_read()?;
    match other.head()? == store.head()? {
        true => replay.all_beside(&mut other, each),
        false => replay.all(each),
    }
}

fn read_kernel(store: &Store, path: &Path) -> Result<Kernel, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let in_force = Home::kernel(store).map_err(|e| e.to_string())?;
    in_force
        .tried(&text)
        .map_err(|e| format!("{}: {e}", path.display()))
}

impl ReplayResult {
    /// How screens call an exchange.
    pub fn name(&self, exchange: Uuid) -> String {
        let known = self.names.get(&exchange).cloned();
        known.unwrap_or_else(|| exchange.to_string())
    }

    /// The exchanges that are told of one by one.
    fn told(&self) -> Vec<Uuid> {
        let failures = self.failures.iter().map(|failure| failure.exchange);
        let last = self.last.iter().map(|one| one.exchange);
        let differences = self.trial.iter().flat_map(|trial| &trial.differences);
        let tried = differences.flat_map(|one| {
            let rules = one.would.iter().filter_map(|rule| match &rule.cause {
                Cause::Referred(turn) => Some(*turn),
                _ => None,
            });
            rules.chain([one.exchange])
        });
        failures.chain(last).chain(tried).collect()
    }

    /// Whether all that was checked holds.
    pub fn holds(&self) -> bool {
        self.failed == 0 && self.faults.is_empty()
    }

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
                    self.failures.push(ReplayFailure {
                        exchange: one.exchange,
                        assertion: *assertion,
                        what: what.clone(),
                    });
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
}
