//! `gently witness`: who cosigns tree heads, and asking them.

use clap::Subcommand;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::witness::{self as desk, NewWitness, WitnessList, hopeless, state_words};
use crate::config::Config;
use crate::config::witnesses::{is_witness_name, name_rule};
use crate::home::Home;
use crate::view::prove::witness::WitnessRoundView;
use crate::view::prove::witness::{AddedWitnessView, RemovedWitnessView, WitnessListView};
use crate::witness::{RoundResult, WitnessOutcome};

use crate::cli::screen::view_or_words::view_or_words;
use crate::cli::{COULD_NOT, FINE, NEGATIVE, present, print, say};

/// What there is to do with witnesses.
#[derive(Debug, Subcommand)]
pub enum WitnessCommand {
    /// Have a witness cosign tree heads from now on; it is asked with the next one, or by `witness
    /// ask`
    Add {
        /// What to call it
        #[arg(value_parser = name)]
        name: String,
        /// Its verifier key, NAME+ID+BASE64, as its operator publishes it
        vkey: String,
        /// Its submission prefix: https://…, or http:// on loopback
        url: String,
    },
    /// List witnesses and what each cosigned last, and what their operators need to know of this
    /// log
    List,
    /// Ask a witness no more; what it cosigned stays
    Remove {
        /// Its name
        name: String,
    },
    /// Ask the witnesses now; exit 0 when enough cosigned, 1 when one holds another history, 2 when
    /// not enough did
    Ask,
}

impl WitnessCommand {
    /// Whether it changes gently.toml.
    pub const fn writes(&self) -> bool {
        matches!(
            self,
            WitnessCommand::Add { .. } | WitnessCommand::Remove { .. }
        )
    }
}

fn name(text: &str) -> Result<String, String> {
    if is_witness_name(text) {
        Ok(text.to_owned())
    } else {
        Err(name_rule())
    }
}

/// Runs one of the verbs.
pub async fn run(command: WitnessCommand, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let config = open::config(&home)?;
    match command {
        WitnessCommand::Add { name, vkey, url } => {
            let new = NewWitness {
                name: &name,
                vkey: &vkey,
                url: &url,
            };
            add(&home, &config, &new, json)
        }
        WitnessCommand::List => list(&home, &config, json),
        WitnessCommand::Remove { name } => remove(&home, &config, &name, json),
        WitnessCommand::Ask => ask_now(&home, &config, json).await,
    }
}

fn add(
    home: &Home,
    config: &Config,
    new: &NewWitness<'_>,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let added = desk::add(home, config, new)?;
    let text = || {
        say("it is asked with the next tree head; or now: gently witness ask");
        format!(
            "{}  {}  {}\nits operator has to know this log: origin {}, key {}\n",
            new.name,
            added.url,
            added.key.print(),
            added.log.name,
            added.log.print()
        )
    };
    let view = || AddedWitnessView::of(new.name, &added);
    Ok(present(json, view, text))
}

fn remove(home: &Home, config: &Config, name: &str, json: bool) -> Result<u8, OpenHomeError> {
    let key = desk::remove(home, config, name)?;
    let left = config.witness.named.len() - 1;
    if left < config.witness.quorum && left > 0 {
        say(&hopeless(left, config.witness.quorum));
    }
    let view = || RemovedWitnessView::of(name, &key);
    Ok(present(json, view, || format!("{name}  removed\n")))
}

fn list(home: &Home, config: &Config, json: bool) -> Result<u8, OpenHomeError> {
    let list = desk::list(home, config)?;
    Ok(present(
        json,
        || WitnessListView::of(&list),
        || listed(&list),
    ))
}

fn listed(list: &WitnessList) -> String {
    let (count, quorum) = (list.witnesses.len(), list.quorum);
    let width = list.witnesses.iter().map(|one| one.name.len()).max();
    let width = width.unwrap_or(0);
    let mut out = format!(
        "log {}\nkey {}\nquorum {quorum} of {count}\n",
        list.log.name,
        list.log.print(),
    );
    for witness in &list.witnesses {
        out.push_str(&format!(
            "{:width$}  {}  {}\n",
            witness.name,
            witness.url,
            state_words(witness.state.as_ref(), list.lines)
        ));
    }
    if count == 0 {
        say("no witness is configured: gently witness add NAME VKEY URL");
    } else if count < quorum {
        say(&hopeless(count, quorum));
    }
    out
}

async fn ask_now(home: &Home, config: &Config, json: bool) -> Result<u8, OpenHomeError> {
    let asked = desk::ask_now(home, config).await?;
    let code = match (asked.findings().next(), asked.is_enough()) {
        (Some(_), _) => NEGATIVE,
        (None, true) => FINE,
        (None, false) => COULD_NOT,
    };
    view_or_words(json, || WitnessRoundView::of(&asked), || show_round(&asked));
    Ok(code)
}

fn show_round(asked: &RoundResult) -> u8 {
    let width = asked
        .outcomes
        .iter()
        .map(|outcome| outcome.name.len())
        .max();
    let width = width.unwrap_or(0);
    let line = |outcome: &WitnessOutcome| {
        format!(
            "{:width$}  {:>5} ms  {}{}\n",
            outcome.name,
            outcome.elapsed.as_millis(),
            mark(outcome),
            outcome.said
        )
    };
    let (size, root) = (asked.head.note.size, asked.head.note.root);
    let last = format!(
        "{} of {} needed cosignatures of {size} lines, root {root}\n",
        asked.cosigned(),
        asked.quorum
    );
    let printed = print(&(asked.outcomes.iter().map(line).collect::<String>() + &last));
    if !asked.is_enough() {
        say(&not_enough(asked));
    }
    printed
}

/// What stands before the words of a witness that holds another history.
fn mark(outcome: &WitnessOutcome) -> &'static str {
    if outcome.said.is_finding() {
        "FINDING: "
    } else {
        ""
    }
}

fn not_enough(asked: &RoundResult) -> String {
    let (here, quorum) = (asked.outcomes.len(), asked.quorum);
    if here < quorum {
        hopeless(here, quorum)
    } else {
        "Asked again with the next one, or now: gently witness ask".to_owned()
    }
}

/// One line when all is well; else one for each witness that did not cosign, and what follows from
/// it.
pub fn round_words(asked: &RoundResult) -> Vec<String> {
    let size = asked.head.note.size;
    let (cosigned, others): (Vec<_>, Vec<_>) = asked
        .outcomes
        .iter()
        .partition(|outcome| outcome.said.is_cosigned());
    let mut lines: Vec<String> = others
        .iter()
        .map(|outcome| {
            format!(
                "{}witness {}: {}",
                mark(outcome),
                outcome.name,
                outcome.said
            )
        })
        .collect();
    if asked.is_enough() {
        let names: Vec<&str> = cosigned.iter().map(|one| one.name.as_str()).collect();
        lines.push(format!(
            "cosigned by {}: the tree head of {size} lines",
            names.join(", ")
        ));
    } else {
        lines.push(format!(
            "{} of {} needed witnesses cosigned the tree head of {size} lines; it stands all the same. {}",
            cosigned.len(),
            asked.quorum,
            not_enough(asked)
        ));
    }
    lines
}
