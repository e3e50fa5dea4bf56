//! Witnesses: who cosigns tree heads, and asking them.

use toml_edit::{DocumentMut, Item, Table};

use crate::anchor::witness::WitnessClient;
use crate::config::witnesses::{WITNESS, read_key};
use crate::config::{Config, ConfigError, ConfiguredWitness, Witnesses};
use crate::home::Home;
use crate::record::time::Seconds;
use crate::record::tree::note::{KeyKind, VerifierKey};
use crate::record::tree::witness_policy::{Witness, WitnessPolicy};
use crate::recorder::Paths;
use crate::store::{Store, WitnessState};
use crate::witness::{
    RoundOptions, RoundResult, WitnessError, WitnessOutcome, WitnessStatement, ask, newest_head,
};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::settings::edit;

/// A witness to be asked from now on.
pub struct NewWitness<'a> {
    /// What to call it.
    pub name: &'a str,
    /// Its verifier key, as its operator publishes it.
    pub vkey: &'a str,
    /// Its submission prefix.
    pub url: &'a str,
}

/// A witness that was put into `gently.toml`.
pub struct AddedWitness {
    /// Its key, in the form that is kept.
    pub key: VerifierKey,
    /// Its submission prefix, without a slash at the end.
    pub url: String,
    /// What its operator has to know: this log's origin and key.
    pub log: VerifierKey,
}

/// Puts a witness into `gently.toml`; it is asked with the next tree head.
pub fn add(
    home: &Home,
    config: &Config,
    new: &NewWitness<'_>,
) -> Result<AddedWitness, OpenHomeError> {
    let refuse = |why: String| Err(OpenHomeError::Refused(why));
    let key = match read_key(new.vkey) {
        Ok(key) => key,
        Err(why) => return refuse(format!("'{}' is no key of a witness: {why}", new.vkey)),
    };
    let named = &config.witness.named;
    let same_key = named
        .iter()
        .find(|(_, known)| known.key.key == key.key)
        .map(|(name, _)| name);
    if let Some(known) = same_key.or(named.get_key_value(new.name).map(|(name, _)| name)) {
        return refuse(format!(
            "'{known}' is there already: gently witness list; to change it: gently witness remove {known}"
        ));
    }
    if let Err(fault) = WitnessClient::new(new.name, key.clone(), new.url) {
        return refuse(fault.to_string());
    }
    let url = new.url.trim_end_matches('/').to_owned();
    let vkey = key.print();
    edit(home.root(), &|document| {
        put(document, new.name, &vkey, &url)
    })?;
    let log = log_key(home)?;
    Ok(AddedWitness { key, url, log })
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

/// Takes a witness out of `gently.toml` and gives the key that it had.
pub fn remove(home: &Home, config: &Config, name: &str) -> Result<VerifierKey, OpenHomeError> {
    let named = &config.witness.named;
    let Some(known) = named.get(name) else {
        let names: Vec<&str> = named.keys().map(String::as_str).collect();
        let there = if names.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        return Err(OpenHomeError::Refused(format!(
            "no witness is called '{name}'; {there}"
        )));
    };
    edit(home.root(), &|document| {
        if let Some(section) = document.get_mut(WITNESS).and_then(Item::as_table_like_mut) {
            section.remove(name);
        }
    })?;
    Ok(known.key.clone())
}

/// What a witness, or the policy of a verifier, knows this log by: its origin and the key that
/// signs now.
pub fn log_key(home: &Home) -> Result<VerifierKey, OpenHomeError> {
    let store = open::store(home)?;
    let genesis = Home::genesis(&store)?;
    Ok(VerifierKey {
        name: genesis.origin,
        kind: KeyKind::Log,
        key: store.head()?.signer,
    })
}

/// The log's key for the operators of witnesses; none without a witness.
pub fn log_key_for_operators(
    home: &Home,
    config: &Config,
) -> Result<Option<String>, OpenHomeError> {
    if config.witness.named.is_empty() {
        Ok(None)
    } else {
        Ok(Some(log_key(home)?.print()))
    }
}

/// A configured witness, with what it did last.
pub struct ListedWitness {
    /// What its owner calls it.
    pub name: String,
    /// Public key of the witness, with its name.
    pub key: VerifierKey,
    /// Its submission prefix.
    pub url: String,
    /// None before it is asked for the first time.
    pub state: Option<WitnessState>,
}

/// The witnesses of a home.
pub struct WitnessList {
    /// What their operators know this log by.
    pub log: VerifierKey,
    /// Lines under the newest tree head; none before there is one.
    pub lines: Option<u64>,
    /// How many have to cosign.
    pub quorum: usize,
    /// Configured witnesses, sorted by name.
    pub witnesses: Vec<ListedWitness>,
}

/// Lists the witnesses of a home and what each cosigned last; asks nobody.
pub fn list(home: &Home, config: &Config) -> Result<WitnessList, OpenHomeError> {
    let store = open::store(home)?;
    let (log, states) = (log_key(home)?, store.witness_states()?);
    let lines = newest_head(&store)?.map(|head| head.note.size);
    let Witnesses { quorum, named, .. } = &config.witness;
    let listed = |(name, witness): (&String, &ConfiguredWitness)| ListedWitness {
        name: name.clone(),
        key: witness.key.clone(),
        url: witness.url.clone(),
        state: states
            .iter()
            .find(|state| state.vkey == witness.key.print())
            .cloned(),
    };
    Ok(WitnessList {
        log,
        lines,
        quorum: *quorum,
        witnesses: named.iter().map(listed).collect(),
    })
}

/// Asks all witnesses about the newest tree head now.
pub async fn ask_now(home: &Home, config: &Config) -> Result<RoundResult, OpenHomeError> {
    let refuse = |why: &str| OpenHomeError::Refused(why.to_owned());
    if config.witness.named.is_empty() {
        return Err(refuse(
            "no witness is configured: gently witness add NAME VKEY URL",
        ));
    }
    let mut store = Store::open(&home.paths().database())?;
    let asked = round(&mut store, &home.paths(), &config.witness, open::clock()?).await?;
    asked.ok_or_else(|| {
        refuse(
            "there is no tree head yet, and nothing to ask about: the first one comes with gently session close",
        )
    })
}

/// Asks those whose address can be used; the others have an outcome all the same.
async fn round(
    store: &mut Store,
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
    let options = RoundOptions {
        quorum: config.quorum,
        deadline: config.deadline,
    };
    let asked = ask(store, paths, &able, options, now).await?;
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
/// head already.
pub async fn after(home: &Home, config: &Config) -> Result<Option<RoundResult>, OpenHomeError> {
    let named = &config.witness.named;
    if named.is_empty() {
        return Ok(None);
    }
    let mut store = Store::open(&home.paths().database())?;
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
    if !named.values().any(|witness| is_new(&witness.key)) {
        return Ok(None);
    }
    Ok(round(&mut store, &home.paths(), &config.witness, open::clock()?).await?)
}

/// What this home's owner believes: as many of the configured witnesses as the quorum says; none
/// without any.
pub fn own_policy(home: &std::path::Path) -> Result<Option<WitnessPolicy>, ConfigError> {
    let config = Config::load(home, &open::env)?;
    let Witnesses { quorum, named, .. } = config.witness;
    let witness = |(name, witness): (String, ConfiguredWitness)| Witness {
        name,
        key: witness.key,
        url: Some(witness.url),
    };
    let has_any = !named.is_empty();
    Ok(has_any.then(|| WitnessPolicy::of(named.into_iter().map(witness).collect(), quorum)))
}

/// Why a quorum can't be reached, and what mends it.
pub fn hopeless(here: usize, quorum: usize) -> String {
    format!(
        "witness.quorum is {quorum}, witnesses are {here}: it can't be reached. Add witnesses, or: gently config set \
         witness.quorum {here}"
    )
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
