//! `gently witness`: who cosigns tree heads, and asking them.

use clap::Subcommand;
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table};

use crate::anchor::witness::WitnessClient;
use crate::config::witnesses::{WITNESS, is_witness_name, name_rule, read_key};
use crate::config::{Config, ConfigError, Witnesses};
use crate::home::Home;
use crate::record::time::Seconds;
use crate::record::tree::note::{KeyKind, VerifierKey};
use crate::record::tree::witness_policy;
use crate::record::tree::witness_policy::WitnessPolicy;
use crate::recorder::Paths;
use crate::store::sqlite::Sqlite;
use crate::store::{ReadStore, WitnessState};
use crate::witness::{
    RoundOptions, RoundResult, WitnessError, WitnessOutcome, WitnessStatement, ask, newest_head,
};

use super::config::edit;
use super::heads::HeadReport;
use super::wire::{self, OpenHomeError};
use super::{COULD_NOT, FINE, NEGATIVE, could_not, print, say};

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
    let home = wire::existing_home()?;
    let config = Config::load(home.root(), &wire::env)?;
    match command {
        WitnessCommand::Add { name, vkey, url } => add(&home, &config, (&name, &vkey, &url), json),
        WitnessCommand::List => list(&home, &config, json),
        WitnessCommand::Remove { name } => remove(&home, &config, &name, json),
        WitnessCommand::Ask => ask_now(&home, &config, json).await,
    }
}

fn add(
    home: &Home,
    config: &Config,
    (name, vkey, url): (&str, &str, &str),
    json: bool,
) -> Result<u8, OpenHomeError> {
    let key = match read_key(vkey) {
        Ok(key) => key,
        Err(why) => {
            return Ok(could_not(
                &format!("'{vkey}' is no key of a witness: {why}"),
                json,
            ));
        }
    };
    let named = &config.witness.named;
    let same_key = named
        .iter()
        .find(|(_, known)| known.key.key == key.key)
        .map(|(name, _)| name);
    if let Some(known) = same_key.or(named.get_key_value(name).map(|(name, _)| name)) {
        let why = format!(
            "'{known}' is there already: gently witness list; to change it: gently witness remove {known}"
        );
        return Ok(could_not(&why, json));
    }
    if let Err(fault) = WitnessClient::new(name, key.clone(), url) {
        return Ok(could_not(&fault.to_string(), json));
    }
    let (vkey, url) = (key.print(), url.trim_end_matches('/'));
    edit(home.root(), &|document| put(document, name, &vkey, url))?;
    let log = log_key(home)?;
    if json {
        let facts = json!({"name": name, "key": vkey, "url": url, "log": {"origin": log.name, "key": log.print()}});
        return Ok(print(&format!("{facts}\n")));
    }
    say("it is asked with the next tree head; or now: gently witness ask");
    Ok(print(&format!(
        "{name}  {url}  {vkey}\nits operator has to know this log: origin {}, key {}\n",
        log.name,
        log.print()
    )))
}

/// Writes `[witness.NAME]`, in whichever form the file has `[witness]`.
fn put(document: &mut DocumentMut, name: &str, vkey: &str, url: &str) {
    let section = document
        .entry(WITNESS)
        .or_insert_with(|| Item::Table(Table::new()));
    let mut fields = Table::new();
    fields.insert("key", toml_edit::value(vkey));
    fields.insert("url", toml_edit::value(url));
    match section {
        Item::Table(section) => _ = section.insert(name, Item::Table(fields)),
        other => {
            let Some(section) = other.as_table_like_mut() else {
                return;
            };
            section.insert(name, Item::Value(fields.into_inline_table().into()));
        }
    }
}

fn remove(home: &Home, config: &Config, name: &str, json: bool) -> Result<u8, OpenHomeError> {
    let Some(known) = config.witness.named.get(name) else {
        let names: Vec<&str> = config.witness.named.keys().map(String::as_str).collect();
        let there = if names.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        return Ok(could_not(
            &format!("no witness is called '{name}'; {there}"),
            json,
        ));
    };
    edit(home.root(), &|document| {
        if let Some(section) = document.get_mut(WITNESS).and_then(Item::as_table_like_mut) {
            section.remove(name);
        }
    })?;
    let left = config.witness.named.len() - 1;
    if left < config.witness.quorum && left > 0 {
        say(&hopeless(left, config.witness.quorum));
    }
    if json {
        return Ok(print(&format!(
            "{}\n",
            json!({"name": name, "key": known.key.print(), "removed": true})
        )));
    }
    Ok(print(&format!("{name}  removed\n")))
}

/// Why a quorum can't be reached, and what mends it.
pub fn hopeless(here: usize, quorum: usize) -> String {
    format!(
        "witness.quorum is {quorum}, witnesses are {here}: it can't be reached. Add witnesses, or: gently config set \
         witness.quorum {here}"
    )
}

/// What a witness, or the policy of a verifier, knows this log by: its origin and the key that
/// signs now.
fn log_key(home: &Home) -> Result<VerifierKey, OpenHomeError> {
    let store = Sqlite::open_read_only(&home.paths().database())?;
    let genesis = Home::genesis(&store)?;
    Ok(VerifierKey {
        name: genesis.origin,
        kind: KeyKind::Log,
        key: store.head()?.signer,
    })
}

/// The log's key for the operators of witnesses; none without a witness.
pub fn hand_over(home: &Home, config: &Config) -> Result<Option<String>, OpenHomeError> {
    if config.witness.named.is_empty() {
        Ok(None)
    } else {
        Ok(Some(log_key(home)?.print()))
    }
}

fn list(home: &Home, config: &Config, json: bool) -> Result<u8, OpenHomeError> {
    let store = Sqlite::open_read_only(&home.paths().database())?;
    let (log, states) = (log_key(home)?, store.witness_states()?);
    let head = newest_head(&store)?.map(|head| head.note.size);
    let Witnesses { quorum, named, .. } = &config.witness;
    let state_of = |key: &VerifierKey| states.iter().find(|state| state.vkey == key.print());
    if json {
        let each = named.iter().map(|(name, witness)| {
            let state = state_of(&witness.key);
            json!({
                "name": name, "key": witness.key.print(), "url": witness.url,
                "lines": state.map_or(0, |state| state.lines),
                "cosigned_at": state.and_then(|state| state.cosigned_at).map(|at| at.to_string()),
                "asked_at": state.map(|state| state.asked_at.to_string()),
                "said": state.and_then(|state| state.said.clone()),
            })
        });
        let facts = json!({
            "log": {"origin": log.name, "key": log.print()}, "lines": head, "quorum": quorum,
            "witnesses": each.collect::<Vec<_>>(),
        });
        return Ok(print(&format!("{facts}\n")));
    }
    let width = named.keys().map(String::len).max().unwrap_or(0);
    let mut out = format!(
        "log {}\nkey {}\nquorum {quorum} of {}\n",
        log.name,
        log.print(),
        named.len()
    );
    for (name, witness) in named {
        out.push_str(&format!(
            "{name:width$}  {}  {}\n",
            witness.url,
            state_words(state_of(&witness.key), head)
        ));
    }
    if named.is_empty() {
        say("no witness is configured: gently witness add NAME VKEY URL");
    } else if named.len() < *quorum {
        say(&hopeless(named.len(), *quorum));
    }
    Ok(print(&out))
}

/// `cosigned 58 of 58 lines at 2026-…`, and what was wrong since.
pub fn state_words(state: Option<&WitnessState>, head: Option<u64>) -> String {
    let Some(state) = state else {
        return "not asked yet".to_owned();
    };
    let all = head.map_or("no tree head".to_owned(), |lines| format!("{lines} lines"));
    let cosigned = match (state.lines, state.cosigned_at) {
        (0, _) => "has cosigned nothing".to_owned(),
        (lines, Some(at)) => format!("cosigned {lines} of {all} at {at}"),
        (lines, None) => format!("cosigned {lines} of {all}"),
    };
    match &state.said {
        Some(said) => format!("{cosigned}; asked at {}: {said}", state.asked_at),
        None => cosigned,
    }
}

async fn ask_now(home: &Home, config: &Config, json: bool) -> Result<u8, OpenHomeError> {
    if config.witness.named.is_empty() {
        return Ok(could_not(
            "no witness is configured: gently witness add NAME VKEY URL",
            json,
        ));
    }
    let mut store = Sqlite::open(&home.paths().database())?;
    let Some(asked) = round(&mut store, &home.paths(), &config.witness, wire::clock()?).await?
    else {
        let why = "there is no tree head yet, and nothing to ask about: the first one comes with gently session close";
        return Ok(could_not(why, json));
    };
    let code = match (asked.findings().next(), asked.is_enough()) {
        (Some(_), _) => NEGATIVE,
        (None, true) => FINE,
        (None, false) => COULD_NOT,
    };
    if json {
        print(&format!("{}\n", facts(&asked)));
        return Ok(code);
    }
    let width = asked
        .outcomes
        .iter()
        .map(|outcome| outcome.name.len())
        .max()
        .unwrap_or(0);
    let line = |outcome: &WitnessOutcome| {
        let mark = if outcome.said.is_finding() {
            "FINDING: "
        } else {
            ""
        };
        format!(
            "{:width$}  {:>5} ms  {mark}{}\n",
            outcome.name,
            outcome.elapsed.as_millis(),
            outcome.said
        )
    };
    let (size, root) = (asked.head.note.size, asked.head.note.root);
    let last = format!(
        "{} of {} needed cosignatures of {size} lines, root {root}\n",
        asked.cosigned(),
        asked.quorum
    );
    print(&(asked.outcomes.iter().map(line).collect::<String>() + &last));
    if !asked.is_enough() {
        say(&not_enough(&asked, config));
    }
    Ok(code)
}

fn not_enough(asked: &RoundResult, config: &Config) -> String {
    let (here, quorum) = (config.witness.named.len(), asked.quorum);
    if here < quorum {
        hopeless(here, quorum)
    } else {
        "Asked again with the next one, or now: gently witness ask".to_owned()
    }
}

/// Asks those whose address can be used; the others have an outcome all the same.
async fn round(
    store: &mut Sqlite,
    paths: &Paths,
    config: &Witnesses,
    now: Seconds,
) -> Result<Option<RoundResult>, WitnessError> {
    let (mut able, mut unable) = (Vec::new(), Vec::new());
    for (name, witness) in &config.named {
        match WitnessClient::new(name, witness.key.clone(), &witness.url) {
            Ok(witness) => able.push(witness),
            Err(fault) => unable.push((name.clone(), fault)),
        }
    }
    let terms = RoundOptions {
        quorum: config.quorum,
        deadline: config.deadline,
    };
    let asked = ask(store, paths, &able, terms, now).await?;
    Ok(asked.map(|mut asked| {
        asked
            .outcomes
            .extend(unable.into_iter().map(|(name, fault)| WitnessOutcome {
                name,
                said: WitnessStatement::Fault(fault),
                asked: true,
                elapsed: std::time::Duration::ZERO,
            }));
        asked
    }))
}

/// Asks about a tree head that is new to a witness, at the end of a command that may have made one.
///
/// Nobody is contacted when no witness is configured, or when all were asked about the newest tree
/// head already. What is wrong costs the command nothing: it is said, and asked again with the next
/// tree head.
pub async fn after(home: &Home, config: &Config) -> HeadReport {
    if config.witness.named.is_empty() {
        return HeadReport::default();
    }
    match if_new(home, config).await {
        Ok(None) => HeadReport::default(),
        Ok(Some(asked)) => HeadReport {
            lines: told(&asked, config),
            facts: facts(&asked),
        },
        Err(error) => HeadReport::failed(
            format!("witnesses could not be asked: {error}"),
            &error.to_string(),
        ),
    }
}

async fn if_new(home: &Home, config: &Config) -> Result<Option<RoundResult>, OpenHomeError> {
    let mut store = Sqlite::open(&home.paths().database())?;
    let Some(head) = newest_head(&store)? else {
        return Ok(None);
    };
    let states = store.witness_states()?;
    let is_new = |key: &VerifierKey| {
        states
            .iter()
            .find(|state| state.vkey == key.print())
            .is_none_or(|state| state.asked_lines < head.note.size)
    };
    if !config
        .witness
        .named
        .values()
        .any(|witness| is_new(&witness.key))
    {
        return Ok(None);
    }
    Ok(round(&mut store, &home.paths(), &config.witness, wire::clock()?).await?)
}

/// One line when all is well; else one for each witness that did not cosign, and what follows from
/// it.
fn told(asked: &RoundResult, config: &Config) -> Vec<String> {
    let size = asked.head.note.size;
    let mut lines = Vec::new();
    for outcome in asked
        .outcomes
        .iter()
        .filter(|outcome| !outcome.said.is_cosigned())
    {
        let mark = if outcome.said.is_finding() {
            "FINDING: "
        } else {
            ""
        };
        lines.push(format!("{mark}witness {}: {}", outcome.name, outcome.said));
    }
    let names: Vec<&str> = asked
        .outcomes
        .iter()
        .filter(|o| o.said.is_cosigned())
        .map(|outcome| outcome.name.as_str())
        .collect();
    if asked.is_enough() {
        lines.push(format!(
            "cosigned by {}: the tree head of {size} lines",
            names.join(", ")
        ));
    } else {
        let (cosigned, quorum) = (asked.cosigned(), asked.quorum);
        lines.push(format!(
            "{cosigned} of {quorum} needed witnesses cosigned the tree head of {size} lines; it stands all \
                            the same. {}",
            not_enough(asked, config)
        ));
    }
    lines
}

fn facts(asked: &RoundResult) -> Value {
    let each = asked.outcomes.iter().map(|outcome| {
        let at = if let WitnessStatement::Cosigned { at } = &outcome.said {
            *at
        } else {
            None
        };
        json!({
            "name": outcome.name, "cosigned": outcome.said.is_cosigned(), "asked": outcome.asked,
            "cosigned_at": at.map(|at| at.to_string()), "finding": outcome.said.is_finding(),
            "said": outcome.said.to_string(),
            "elapsed_ms": u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        })
    });
    json!({
        "lines": asked.head.note.size, "root": asked.head.note.root, "commit": asked.head.commit.to_string(),
        "quorum": asked.quorum, "cosigned": asked.cosigned(), "enough": asked.is_enough(),
        "witnesses": each.collect::<Vec<_>>(),
    })
}

/// What this home's owner believes: as many of the configured witnesses as the quorum says; none
/// without any.
pub fn own_policy(home: &std::path::Path) -> Result<Option<WitnessPolicy>, ConfigError> {
    let config = Config::load(home, &wire::env)?;
    let Witnesses { quorum, named, .. } = config.witness;
    let witness =
        |(name, witness): (String, crate::config::ConfiguredWitness)| witness_policy::Witness {
            name,
            key: witness.key,
            url: Some(witness.url),
        };
    Ok((!named.is_empty())
        .then(|| WitnessPolicy::of(named.into_iter().map(witness).collect(), quorum)))
}
