//! Which model answers: what was asked for, what it means, what is there, and what it is asked
//! with.

use std::path::Path;
use std::time::Duration;

use uuid::Uuid;
use zeroize::Zeroizing;

use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::ask::conversation::stands_beside;
use crate::ask::withheld::Withheld;
use crate::config::Config;
use crate::govern::reply::output::Shape;
use crate::models::http::ServerAddress;
use crate::models::remote::{self, Remote};
use crate::models::replay::{ReplayModel, StoredAnswer};
use crate::models::wire::Wire;
use crate::models::{Model, ModelFault, listing, observer};
use crate::net;
use crate::os::{shell_word, why_unread};
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::params::{ANY_JSON, Params};
use crate::record::unseen::is_plain_name;
use crate::store::{ExchangeRow, ReadStore, Store, StoreError};

use crate::app::find;
use crate::app::find::FindError;
use crate::app::home::open::{OpenHomeError, env};
use crate::app::look::show;
use crate::app::redacted::{clean, no_secret};
use crate::app::set_up::provider_key::provider_key;
use crate::app::words::{either, near};

/// How long `auto` waits for an Ollama to show itself: it is on this machine, or near.
const PROBE: Duration = Duration::from_millis(200);
/// The same for a server that somebody set and that is not on this machine.
const PROBE_FAR: Duration = Duration::from_secs(1);
/// The port of an Ollama.
const OLLAMA_PORT: u16 = 11434;
/// The word for "the first that is there".
pub const AUTO: &str = "auto";
/// How `replay` of one exchange is asked for.
const REPLAY_OF: &str = "replay:";

/// What a call is made with; each wins over its key of `[model]`.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// The owner's part of the system message.
    pub system: Option<String>,
    /// How freely words are chosen: a decimal from 0 to 2.
    pub temperature: Option<String>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// Where sampling starts.
    pub seed: Option<u64>,
    /// The answer's shape: `json`, or the file of a JSON Schema.
    pub expect: Option<String>,
    /// The same where it is at hand, in the place of a file.
    pub shape: Option<Shape>,
}

impl CallOptions {
    /// The settings in force: flags, then configuration.
    pub fn over(&self, configured: &Params) -> Result<Params, OpenHomeError> {
        let given = self.temperature.as_deref().map(str::parse).transpose();
        let temperature = given.map_err(|e: crate::record::ledger::params::NotDecimal| {
            OpenHomeError::Setting {
                place: RequestField::Temperature.into(),
                reason: e.to_string(),
            }
        })?;
        let system = self
            .system
            .clone()
            .or_else(|| configured.system.clone())
            .filter(|text| !text.trim().is_empty());
        let typed = self.expect.as_deref().map(shape).transpose()?;
        let shape = self.shape.clone().or(typed);
        // What a server is told of all this is for its wire to say.
        Ok(Params {
            expect: shape.map(|shape| shape.as_str().to_owned()),
            max_tokens: self.max_tokens.or(configured.max_tokens),
            seed: self.seed.or(configured.seed),
            system,
            temperature: temperature.or(configured.temperature),
            ..Params::default()
        })
    }
}

/// Where a model is chosen.
fn model_place() -> FieldSentence {
    sentence![RequestField::Model, ", model.default"]
}

/// The shape that `--expect` names.
fn shape(text: &str) -> Result<Shape, OpenHomeError> {
    if text == ANY_JSON {
        return Ok(Shape::any_json());
    }
    let fault = |reason: String| OpenHomeError::Setting {
        place: RequestField::Expect.into(),
        reason,
    };
    let schema = std::fs::read_to_string(text).map_err(|e| {
        fault(format!(
            "{text}: {}; say json, or the file of a JSON Schema",
            why_unread(&e)
        ))
    })?;
    Shape::schema(&schema).map_err(|e| fault(format!("{text}: {e}")))
}

/// A model, and what a person is told about it before it is asked.
pub struct ModelChoice {
    /// Ready to be asked.
    pub model: Model,
    /// Its id as somebody could have typed it whole: no alias, no name without a provider.
    pub id: String,
    /// How it was chosen, where nobody named it, or by less than its id.
    pub why: Option<String>,
    /// Whether it was taken from a server's list because somebody has to answer.
    pub is_from_list: bool,
    /// The alias that stands for it, where one was named.
    pub alias: Option<String>,
    /// Warnings about the choice, each a whole sentence.
    pub notices: Vec<String>,
}

/// Chooses: `asked` wins over the configuration; an alias is resolved before anything is recorded.
pub async fn choose(
    asked: Option<&str>,
    call: &CallOptions,
    config: &Config,
    database: &Path,
) -> Result<ModelChoice, OpenHomeError> {
    let wanted = asked.unwrap_or(&config.model.default);
    let (id, why, is_from_list) = if wanted == AUTO {
        let first = first_there(config, database).await;
        (first.id, Some(first.why), first.is_from_list)
    } else {
        (resolved(wanted, config), None, false)
    };
    no_secret(model_place(), &id)?;
    if !is_plain_name(&id) {
        let reason = "a model's name with characters that nobody sees".to_owned();
        return Err(OpenHomeError::Setting {
            place: model_place(),
            reason,
        });
    }
    let alias = config.model.named.aliases.contains_key(wanted);
    let alias = alias.then(|| wanted.to_owned());
    let settings = call.over(&config.model.params())?;
    if let Some(shape) = &settings.expect {
        no_secret(RequestField::Expect, shape)?;
    }
    let (id, why) = match without_provider(&id, config).await? {
        Some(BareName { id, why }) => (id, Some(why)),
        None => (id, why),
    };
    match model(&id, settings, config, database) {
        Ok((model, notices)) => Ok(ModelChoice {
            model,
            id,
            why,
            is_from_list,
            alias,
            notices,
        }),
        Err(OpenHomeError::Setting { place, reason }) => Err(OpenHomeError::Setting {
            place,
            reason: match alias {
                Some(alias) => format!("{reason}. {}", stands_for(&alias, &id)),
                None => reason,
            },
        }),
        Err(OpenHomeError::UnknownModel { id, .. }) => {
            Err(unknown_beside(&id, &at_hand(config).await, config))
        }
        Err(other) => Err(other),
    }
}

/// The model that a name without a provider was taken for.
pub struct BareName {
    /// Its id.
    pub id: String,
    /// Whose model it is, in a sentence.
    pub why: String,
}

/// The model of a name without a provider: that of the one server that lists it, of those that
/// somebody set or that are on this machine. None for what needs no server to be known: `auto`, an
/// alias, what is built in, a name with its provider.
///
/// # Errors
/// Several servers list it, and are named; none does, and names that are almost the same are.
pub async fn without_provider(
    typed: &str,
    config: &Config,
) -> Result<Option<BareName>, OpenHomeError> {
    let is_alias = config.model.named.aliases.contains_key(typed);
    if typed == AUTO || is_alias || is_whole(typed) {
        return Ok(None);
    }
    let listed = at_hand(config).await;
    let is_named = |(wire, name): &&(Wire, String)| {
        // What an Ollama calls so, where no tag is given.
        let latest = name
            .strip_suffix(":latest")
            .filter(|_| *wire == Wire::Ollama);
        name == typed || latest == Some(typed)
    };
    let named: Vec<String> = listed.iter().filter(is_named).map(id_of).collect();
    match named.as_slice() {
        [] => Err(match silent_server(&listed, config).await {
            // Nobody knows what a server has that does not say it.
            Some(url) => OpenHomeError::Setting {
                place: model_place(),
                reason: format!(
                    "no list of models at {url}, so nobody knows whose '{typed}' is: start the server, or say whose it is, \
                     as in openai/{typed}"
                ),
            },
            None => unknown_beside(typed, &listed, config),
        }),
        [id] => {
            let (url, whose) = match id.starts_with(Wire::Ollama.name()) {
                true => (ollama_url(config), "the Ollama"),
                false => (config.model.base_url.clone(), "the server"),
            };
            let why = format!("{typed} is {id}, of {whose} at {}", clean(&url));
            let id = id.clone();
            Ok(Some(BareName { id, why }))
        }
        several => Err(OpenHomeError::Setting {
            place: model_place(),
            reason: format!(
                "'{typed}' is listed by several servers: say {}",
                either(several)
            ),
        }),
    }
}

/// The address of the server that somebody set, where it lists nothing as it can't be reached.
async fn silent_server(listed: &[(Wire, String)], config: &Config) -> Option<String> {
    let url = set_server(config)?;
    let is_listed = listed.iter().any(|(wire, _)| *wire == Wire::OpenAi);
    (!is_listed && is_shut(&config.model.base_url).await).then_some(url)
}

/// Whether a name says who answers: what is built in, or a provider's.
fn is_whole(name: &str) -> bool {
    let provider = name.split_once('/').map(|(provider, _)| provider);
    name == observer::ID
        || name == crate::models::replay::ID
        || name.starts_with(REPLAY_OF)
        || Wire::ALL.iter().any(|wire| provider == Some(wire.name()))
}

/// What a server lists in the place of a model that it does not know, in a sentence: the nearest names,
/// or all of a few. None where it lists that model, or nothing in a moment. It is asked once.
pub async fn instead_of(id: &str, config: &Config) -> Option<String> {
    let (provider, typed) = id.split_once('/')?;
    let wire = Wire::ALL.into_iter().find(|wire| wire.name() == provider)?;
    let listed = names_of(wire, config, PROBE_FAR).await;
    if listed.is_empty() || listed.iter().any(|name| name == typed) {
        return None;
    }
    let listed: Vec<String> = listed
        .into_iter()
        .map(|name| id_of(&(wire, name)))
        .collect();
    let nearest = nearest_ids(id, listed.iter().flat_map(|id| spelled_as(id)));
    Some(match (nearest.is_empty(), listed.len()) {
        (false, _) => format!("It lists no such model: did you mean {}?", either(&nearest)),
        (true, 1..=NEAREST) => format!("It lists no such model, but {}", either(&listed)),
        (true, several) => {
            format!("It lists no such model, but {several} others: gently model list")
        }
    })
}

/// What an alias stands for, and how that is changed, in a sentence.
pub fn stands_for(alias: &str, id: &str) -> String {
    format!(
        "{alias} is an alias of {id}; to change that: gently config set model.alias.{alias} PROVIDER/NAME"
    )
}

/// How somebody chooses another model of the server whose list the one that refused was taken from,
/// in a sentence; none where the server lists no other in a moment.
pub async fn another_of(id: &str, config: &Config) -> Option<String> {
    let (provider, refused) = id.split_once('/')?;
    let wire = Wire::ALL.into_iter().find(|wire| wire.name() == provider)?;
    let mut listed = names_of(wire, config, PROBE_FAR).await;
    listed.retain(|name| name != refused && is_plain_name(name));
    let other = id_of(&(wire, first_that_answers(listed)?));
    let word = shell_word(Path::new(&other));
    Some(format!(
        "It was taken from the list of its server, as no model is set. To ask another from now on: \
         gently config set model.default {word}"
    ))
}

/// So many of a conversation's newest questions are looked at for one that was answered.
const LOOKED_AT: u32 = 50;

/// The same for a question in a conversation that somebody named or is talking in: the model that
/// answered there last answers again, unless `asked` names one. Where it can't be asked that is said,
/// and the configured one answers.
pub async fn choose_in(
    place: Option<(&ReadStore, Uuid)>,
    asked: Option<&str>,
    call: &CallOptions,
    (config, database): (&Config, &Path),
) -> Result<ModelChoice, OpenHomeError> {
    let last = match (place, asked) {
        (Some((store, thread)), None) => {
            let mut asked = store.models_of(thread, LOOKED_AT)?.into_iter();
            asked.find_map(|(model, answered)| answered.then_some(model))
        }
        _ => None,
    };
    let configured = resolved(&config.model.default, config);
    let Some(last) = last.filter(|id| !stands_beside(id) && *id != configured) else {
        return choose(asked, call, config, database).await;
    };
    let why = match choose(Some(&last), call, config, database).await {
        Ok(choice) => match shut_server(&last, config).await {
            None => return Ok(choice),
            Some(url) => format!("nobody listens at {url}"),
        },
        Err(error) => error.to_string(),
    };
    let mut choice = choose(None, call, config, database).await?;
    let answers = choice.model.id();
    let notice =
        format!("{answers} answers; {last}, which did so here before, can't be asked: {why}");
    choice.notices.insert(0, notice);
    Ok(choice)
}

/// The address of a model's server, if that is on this machine and nobody listens there.
async fn shut_server(id: &str, config: &Config) -> Option<String> {
    let (provider, _) = id.split_once('/')?;
    let wire = Wire::ALL.into_iter().find(|wire| wire.name() == provider)?;
    let (url, _) = server(wire, config);
    is_shut(&url).await.then(|| clean(&url))
}

/// The full id of a name.
pub fn resolved(name: &str, config: &Config) -> String {
    config
        .model
        .named
        .aliases
        .get(name)
        .map_or(name, String::as_str)
        .to_owned()
}

/// The model that answers where nobody named one.
struct FirstThere {
    id: String,
    /// Which it is, in a sentence.
    why: String,
    /// Whether it is one of a server's list.
    is_from_list: bool,
}

/// The first that is there: a server that somebody set, an Ollama, a key of Anthropic, a key of
/// OpenAI, `observer`; and which it is.
async fn first_there(config: &Config, database: &Path) -> FirstThere {
    let ollama = ollama_url(config);
    let (anthropic, openai) = (&config.model.anthropic_key_env, &config.model.api_key_env);
    let set = set_server(config);
    let listed = match first_of_set_server(config, database).await {
        Some((name, which)) => {
            let url = clean(&config.model.base_url);
            let id = format!("openai/{name}");
            Some((id, format!("{which} of the server at {url}")))
        }
        None => {
            let first = first_of_ollama(config).await;
            let why = format!("{BY_NAME} of the Ollama at {ollama}");
            first.map(|name| (format!("ollama/{name}"), why))
        }
    };
    let is_from_list = listed.is_some();
    let (id, why) = if let Some(listed) = listed {
        listed
    } else if key(anthropic).is_some() {
        (
            resolved("sonnet", config),
            format!("there is a key in ${anthropic}"),
        )
    } else if key(openai).is_some() {
        (
            resolved("gpt", config),
            format!("there is a key in ${openai}"),
        )
    } else {
        let silent = set.map(|url| format!("no list of models at {url}, "));
        let nothing = format!(
            "{}no Ollama at {ollama}, no ${anthropic}, no ${openai}",
            silent.unwrap_or_default()
        );
        (observer::ID.to_owned(), nothing)
    };
    FirstThere {
        why: format!(
            "model {id}: {why}. Choose with --model, or: gently config set model.default ID"
        ),
        id,
        is_from_list,
    }
}

/// The address of the OpenAI-compatible server that somebody set, without a secret; none where it is
/// the one that everybody has.
pub fn set_server(config: &Config) -> Option<String> {
    let url = &config.model.base_url;
    (url != Wire::OpenAi.base_url()).then(|| clean(url))
}

/// How the first model of a list is called, which is sorted.
const BY_NAME: &str = "the first by name";

/// The model that is asked of the server that somebody set: the one that `gpt` means, if the server
/// has it, else its first by name; and which of them it is. Where that one was refused here last,
/// another that answered.
async fn first_of_set_server(config: &Config, database: &Path) -> Option<(String, &'static str)> {
    let listed = names_of_set_server(config).await;
    let meant = resolved("gpt", config);
    let is_meant = |name: &&String| meant.strip_prefix("openai/") == Some(name.as_str());
    let first = match listed.iter().find(is_meant) {
        Some(meant) => (meant.clone(), "the one that gpt means"),
        None => (first_that_answers(listed.clone())?, BY_NAME),
    };
    // Nothing is on record in a home that is not there yet.
    let asked = match listed.len() {
        0 | 1 => Vec::new(),
        _ => Store::open_read_only(database)
            .and_then(|store| store.answers_of_models(LOOKED_AT))
            .unwrap_or_default(),
    };
    Some(match answered_instead(&first.0, &listed, &asked) {
        Some(other) => (other, "the one that answered here last"),
        None => first,
    })
}

/// The listed model that answered last, where the first was refused when it was asked last. `asked`:
/// models and whether they answered, the newest first.
fn answered_instead(first: &str, listed: &[String], asked: &[(String, bool)]) -> Option<String> {
    let name = |id: &str| id.strip_prefix("openai/").map(str::to_owned);
    let mut last: Vec<(String, bool)> = Vec::new();
    for (name, answered) in asked.iter().filter_map(|(id, is)| Some((name(id)?, *is))) {
        if !last.iter().any(|(known, _)| *known == name) {
            last.push((name, answered));
        }
    }
    if !last
        .iter()
        .any(|(name, answered)| name == first && !answered)
    {
        return None;
    }
    let mut answered = last.into_iter().filter(|(_, answered)| *answered);
    let answered = answered.find(|(name, _)| listed.contains(name));
    answered.map(|(name, _)| name)
}

/// Parts of the names of models that give numbers, and no answers.
const NO_ANSWERS: [&str; 2] = ["embed", "rerank"];

/// The first model that by its name answers; the first of all where none does.
fn first_that_answers(mut listed: Vec<String>) -> Option<String> {
    let answers = |name: &String| {
        let name = name.to_lowercase();
        !NO_ANSWERS.iter().any(|part| name.contains(part))
    };
    let place = listed.iter().position(answers).unwrap_or(0);
    (place < listed.len()).then(|| listed.swap_remove(place))
}

/// The models of the server that somebody set; none where it does not show itself soon.
async fn names_of_set_server(config: &Config) -> Vec<String> {
    let limit = match net::parse_address(&config.model.base_url) {
        Ok(url) if net::is_loopback(&url) => PROBE,
        _ => PROBE_FAR,
    };
    match set_server(config) {
        Some(_) => names_of(Wire::OpenAi, config, limit).await,
        None => Vec::new(),
    }
}

/// The models that a server lists; none where it does not in so long.
async fn names_of(wire: Wire, config: &Config, limit: Duration) -> Vec<String> {
    let (url, variable) = server(wire, config);
    if is_shut(&url).await {
        return Vec::new();
    }
    let key = provider_key(wire, variable, config).ok().flatten();
    let key = key.map(|found| found.key);
    let listed = listing::models(place(wire, &url, key, variable, limit));
    // The client itself tries a lost connection twice; here there is no time for that.
    let listed = tokio::time::timeout(limit, listed).await;
    listed.ok().and_then(Result::ok).unwrap_or_default()
}

/// The first model of the Ollama by name, if one is there.
pub async fn first_of_ollama(config: &Config) -> Option<String> {
    first_that_answers(names_of(Wire::Ollama, config, PROBE).await)
}

/// So many models are named to somebody who may have meant one.
const NEAREST: usize = 3;

/// The models of the Ollama and of the server that somebody set. No vendor is asked. Where both are
/// one server, what was set is how it is asked.
async fn at_hand(config: &Config) -> Vec<(Wire, String)> {
    let is_one = same_place(&ollama_url(config), &config.model.base_url);
    let ollama = async {
        match is_one {
            true => Vec::new(),
            false => names_of(Wire::Ollama, config, PROBE).await,
        }
    };
    let (ollama, set) = tokio::join!(ollama, names_of_set_server(config));
    let ollama = ollama.into_iter().map(|name| (Wire::Ollama, name));
    let set = set.into_iter().map(|name| (Wire::OpenAi, name));
    let listed = ollama.chain(set);
    listed.filter(|(_, name)| is_plain_name(name)).collect()
}

/// Whether two addresses lead to one port of one machine, by whatever name of this one.
fn same_place(one: &str, other: &str) -> bool {
    let place = |text: &str| {
        let url = net::parse_address(text).ok()?;
        let host = url.host_str().filter(|_| !net::is_loopback(&url));
        Some((host.map(str::to_owned), url.port_or_known_default()?))
    };
    place(one).is_some_and(|one| Some(one) == place(other))
}

/// A model under its whole name.
fn id_of((wire, name): &(Wire, String)) -> String {
    format!("{}/{name}", wire.name())
}

/// That there is no such model, with those that are.
fn unknown_beside(id: &str, listed: &[(Wire, String)], config: &Config) -> OpenHomeError {
    OpenHomeError::UnknownModel {
        id: id.to_owned(),
        meant: models_near(id, listed, config),
        listed: listed.iter().map(id_of).collect(),
    }
}

/// The models that somebody may have meant: what is built in, aliases, and those that are listed, under
/// their whole names or without provider and tag. No alias of what its server does not list.
fn models_near(name: &str, listed: &[(Wire, String)], config: &Config) -> Vec<String> {
    let lists = |wire: Wire| listed.iter().any(|(known, _)| *known == wire);
    let listed_ids: Vec<String> = listed.iter().map(id_of).collect();
    let is_there = |id: &str| {
        let mut wires = Wire::ALL.into_iter();
        let wire = wires.find(|wire| id.split_once('/').is_some_and(|(of, _)| of == wire.name()));
        !wire.is_some_and(lists) || listed_ids.iter().any(|known| known == id)
    };
    let aliases = config.model.named.aliases.iter();
    let aliases: Vec<(&String, &String)> = aliases.filter(|(_, id)| is_there(id)).collect();
    let mut known = vec![
        observer::ID.to_owned(),
        crate::models::replay::ID.to_owned(),
    ];
    known.extend(listed_ids.iter().cloned());
    known.extend(aliases.iter().map(|(_, id)| (*id).clone()));
    let spelled = known.iter().flat_map(|id| spelled_as(id));
    let aliases = aliases
        .iter()
        .map(|(alias, _)| (alias.as_str(), alias.as_str()));
    nearest_ids(name, aliases.chain(spelled))
}

/// The models whose names are nearest to a name, each once.
fn nearest_ids<'a>(name: &str, names: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, id) in near(name, names) {
        if !found.iter().any(|known| known == id) {
            found.push(id.to_owned());
        }
    }
    found.truncate(NEAREST);
    found
}

/// A model's id, with each way in which it may be called.
fn spelled_as(id: &str) -> impl Iterator<Item = (&str, &str)> {
    spellings(id).map(move |word| (word, id))
}

/// How a model may be called: `ollama/small:1b`, `small:1b`, `small`.
fn spellings(id: &str) -> impl Iterator<Item = &str> {
    let short = id.split_once('/').map(|(_, name)| name);
    let tagless = short
        .and_then(|name| name.split_once(':'))
        .map(|(name, _)| name);
    [Some(id), short, tagless].into_iter().flatten()
}

/// Whether nobody listens at an address of this machine: the HTTP client would try again a while
/// later.
async fn is_shut(url: &str) -> bool {
    let Some(url) = net::parse_address(url).ok().filter(net::is_loopback) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let place = (
        host.trim_matches(['[', ']']),
        url.port_or_known_default().unwrap_or_default(),
    );
    let refused = |e: std::io::Error| e.kind() == std::io::ErrorKind::ConnectionRefused;
    match tokio::time::timeout(PROBE, tokio::net::TcpStream::connect(place)).await {
        Ok(connected) => connected.is_err_and(refused),
        Err(_) => true,
    }
}

/// A server's place with one limit for everything.
pub fn place<'a>(
    wire: Wire,
    base_url: &'a str,
    key: Option<Zeroizing<String>>,
    key_variable: &'a str,
    limit: Duration,
) -> ServerAddress<'a> {
    ServerAddress {
        wire,
        base_url,
        path: &[],
        key,
        key_variable,
        connect_timeout: limit,
        total_timeout: limit,
    }
}

/// Where an Ollama is: configuration, `$OLLAMA_HOST`, its usual port on this machine.
pub fn ollama_url(config: &Config) -> String {
    let host = env("OLLAMA_HOST").and_then(|text| text.into_string().ok());
    let named = config
        .model
        .ollama_url
        .clone()
        .or_else(|| host.as_deref().and_then(ollama_host));
    named.unwrap_or_else(|| Wire::Ollama.base_url().to_owned())
}

/// An address as `$OLLAMA_HOST` spells it: scheme and port may be missing, and the addresses that a
/// server listens on everywhere with mean this machine.
fn ollama_host(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port))
            if !port.contains(']') && (!name.contains(':') || name.ends_with(']')) =>
        {
            (name, port.parse().ok()?)
        }
        _ => (
            host,
            match scheme {
                "http" => 80,
                "https" => 443,
                _ => OLLAMA_PORT,
            },
        ),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        other => other,
    };
    if text.is_empty() {
        return None;
    }
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    let path = if path.is_empty() {
        String::new()
    } else {
        format!("/{path}")
    };
    Some(format!("{scheme}://{name}:{port}{path}"))
}

/// A key from the environment; a blank one is none.
pub fn key(variable: &str) -> Option<Zeroizing<String>> {
    std::env::var(variable)
        .ok()
        .map(Zeroizing::new)
        .filter(|key| !key.trim().is_empty())
}

/// Address of a wire, and the variable of its key.
pub fn server(wire: Wire, config: &Config) -> (String, &str) {
    match wire {
        Wire::Ollama => (ollama_url(config), ""),
        Wire::Anthropic => (
            config.model.anthropic_url.clone(),
            &config.model.anthropic_key_env,
        ),
        Wire::OpenAi => (config.model.base_url.clone(), &config.model.api_key_env),
    }
}

fn model(
    id: &str,
    settings: Params,
    config: &Config,
    database: &Path,
) -> Result<(Model, Vec<String>), OpenHomeError> {
    let unknown = || OpenHomeError::UnknownModel {
        id: id.to_owned(),
        meant: Vec::new(),
        listed: Vec::new(),
    };
    // What answers from the record has no sampling: nothing of it is sent, and nothing recorded.
    let own_text = Params {
        expect: settings.expect.clone(),
        system: settings.system.clone(),
        ..Params::default()
    };
    if let Some(of) = id.strip_prefix(REPLAY_OF) {
        // A whole id that is not here is a turn without an answer; part of one has to mean
        // something first.
        let of = match of.parse() {
            Ok(id) => id,
            Err(_) => match find::exchange(&*Store::open_read_only(database)?, of) {
                Err(FindError::Form { .. } | FindError::OtherKind { .. }) => return Err(unknown()),
                found => found?.exchange_id,
            },
        };
        return Ok((replay(Some(of), database).set(own_text), Vec::new()));
    }
    match id.split_once('/') {
        None if id == observer::ID => Ok((Model::observer().set(own_text), Vec::new())),
        None if id == crate::models::replay::ID => {
            Ok((replay(None, database).set(own_text), Vec::new()))
        }
        None => Err(unknown()),
        Some((provider, name)) => {
            let wire = Wire::ALL
                .into_iter()
                .find(|wire| wire.name() == provider)
                .ok_or_else(unknown)?;
            remote(wire, name, &settings, config)
        }
    }
}

fn remote(
    wire: Wire,
    name: &str,
    wanted: &Params,
    config: &Config,
) -> Result<(Model, Vec<String>), OpenHomeError> {
    let (base_url, variable) = server(wire, config);
    let (api_key, key_variable) = match provider_key(wire, variable, config)? {
        Some(found) => (Some(found.key), found.place),
        None => (None, variable.to_owned()),
    };
    let is_keyless = api_key.is_none();
    let is_vendors = wire != Wire::Ollama && base_url == wire.base_url();
    let (mut params, left_out) = wire.fit(wanted);
    if !config.model.response_format {
        params.response_format = None;
    }
    let backend = Remote::new(remote::RemoteConfig {
        base_url,
        api_key,
        key_variable,
        params: params.clone(),
        connect_timeout: config.model.connect_timeout,
        total_timeout: config.model.timeout,
        ..remote::RemoteConfig::new(wire, name)
    })?;
    if is_keyless && is_vendors {
        // They answer nobody without one: no block, no model, nobody is asked for a turn that can't
        // be answered.
        let reason = format!(
            "{}/{name} needs a key and there is none: set ${variable}, or --key-cmd CMD; gently model list shows what \
             is there{}",
            wire.name(),
            match wire {
                Wire::OpenAi =>
                    "; of any OpenAI-compatible server: gently config set model.base_url URL",
                _ => "",
            }
        );
        return Err(OpenHomeError::Setting {
            place: RequestField::Model.into(),
            reason,
        });
    }
    let mut notices: Vec<String> = backend.warning().into_iter().collect();
    notices.extend(
        left_out
            .iter()
            .map(|what| format!("{} takes no {what}: it is not sent", wire.name())),
    );
    let id = format!("{}/{name}", wire.name());
    let price = config.model.named.prices.get(&id).cloned();
    let window = config.model.named.windows.get(&id).copied();
    let model = Model::over(Box::new(backend)).set(params);
    Ok((model.priced(price).within(window), notices))
}

fn replay(of: Option<Uuid>, database: &Path) -> Model {
    let database = database.to_owned();
    let wanted = match of {
        Some(id) => format!("an answer of exchange {id}"),
        None => "an answer to this prompt, or to the same words,".to_owned(),
    };
    let find = move |prompt: Hash32, words: &str| {
        recorded(&database, of, prompt, words).map_err(|e| e.to_string())
    };
    Model::replay(ReplayModel::new(wanted, Box::new(find)))
}

/// Why there is nothing to give again.
#[derive(Debug, thiserror::Error)]
enum NoReplay {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the answer of exchange {0} is on record by its commitment only: its text was not kept"
    )]
    NotKept(Uuid),
    #[error(
        "the answer of exchange {0} is withheld: its kernel blocks its drift, and it is not given again"
    )]
    Withheld(Uuid),
    #[error(
        "the record of exchange {0} was changed since ({1}), so its answer is not given again; look with: gently audit verify"
    )]
    Changed(Uuid, String),
}

fn recorded(
    database: &Path,
    of: Option<Uuid>,
    prompt: Hash32,
    words: &str,
) -> Result<Option<StoredAnswer>, NoReplay> {
    let store = Store::open_read_only(database)?;
    let found = match of {
        Some(id) => store.exchange(id)?,
        None => match store.answered_prompt(prompt)? {
            Some(row) => Some(row),
            None => store.answered_text(Hash32::digest(words.as_bytes()))?,
        },
    };
    let Some(row) = found else { return Ok(None) };
    if Withheld::of(&store).answer_of(&row)? {
        return Err(NoReplay::Withheld(row.exchange_id));
    }
    match recording(&store, &row)? {
        None if row.not_kept.is_some() => Err(NoReplay::NotKept(row.exchange_id)),
        None => Ok(None),
        found => {
            let changed = show::changed(&store, &row)?;
            match changed.is_empty() {
                true => Ok(found),
                false => Err(NoReplay::Changed(row.exchange_id, changed.join(", "))),
            }
        }
    }
}

/// The stored answer of an exchange; none when it has none, or its text is erased.
fn recording(store: &Store, row: &ExchangeRow) -> Result<Option<StoredAnswer>, StoreError> {
    let Some(outcome) = row
        .outcome
        .as_ref()
        .filter(|o| o.outcome == ExchangeOutcome::Answered)
    else {
        return Ok(None);
    };
    let turn = match outcome.turn_aurora {
        Some(id) => store.turn(id)?,
        None => None,
    };
    Ok(turn.and_then(|turn| turn.content).map(|text| StoredAnswer {
        exchange: row.exchange_id,
        model: row.model.clone(),
        at: outcome.answered_at.to_string(),
        text,
    }))
}

impl From<&ModelFault> for crate::app::set_up::model_list::ServerState {
    fn from(fault: &ModelFault) -> Self {
        Self::Fault {
            reason: fault.reason().into_owned(),
            said: fault.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_only_gives_numbers_is_not_the_first_to_be_asked() {
        let first =
            |names: &[&str]| first_that_answers(names.iter().map(|&n| n.to_owned()).collect());
        assert_eq!(
            first(&["all-Embed-small", "bge-rerank", "parrot-7b", "other"]).as_deref(),
            Some("parrot-7b")
        );
        assert_eq!(
            first(&["nomic-embed-text"]).as_deref(),
            Some("nomic-embed-text")
        );
        assert_eq!(first(&[]), None);
    }

    #[test]
    fn the_first_that_was_refused_gives_way_to_one_that_answered() {
        let listed = ["alpha", "beta", "zeta"].map(str::to_owned);
        for (asked, instead) in [
            (&[][..], None),
            (&[("openai/alpha", false)], None),
            (
                &[("openai/alpha", false), ("openai/zeta", true)],
                Some("zeta"),
            ),
            (
                &[("openai/zeta", true), ("openai/alpha", false)],
                Some("zeta"),
            ),
            (&[("openai/alpha", true), ("openai/zeta", true)], None),
            (
                &[
                    ("openai/alpha", true),
                    ("openai/alpha", false),
                    ("openai/zeta", true),
                ],
                None,
            ),
            (
                &[
                    ("openai/alpha", false),
                    ("openai/zeta", false),
                    ("openai/zeta", true),
                ],
                None,
            ),
            (
                &[
                    ("openai/alpha", false),
                    ("openai/gone", true),
                    ("ollama/beta", true),
                ],
                None,
            ),
        ] {
            let rows: Vec<(String, bool)> = asked
                .iter()
                .map(|(id, answered): &(&str, bool)| ((*id).to_owned(), *answered))
                .collect();
            let found = answered_instead("alpha", &listed, &rows);
            assert_eq!(found.as_deref(), instead, "{asked:?}");
        }
    }

    #[tokio::test]
    async fn a_name_that_is_almost_right_gets_the_nearest_ones() {
        let mut config = Config::load(Path::new("/nowhere"), &|_| None).unwrap();
        // Nobody listens there.
        config.model.ollama_url = Some("http://127.0.0.77:9".to_owned());
        for (typed, meant) in [
            ("observ", &["observer"][..]),
            ("obsrever", &["observer"]),
            ("sonet", &["sonnet"]),
            ("Sonnet", &["sonnet"]),
            ("gpt-4o", &["openai/gpt-4o-mini"]),
            ("opneai/gpt-4o-mini", &["openai/gpt-4o-mini"]),
            ("nosuchmodel", &[]),
            ("x", &[]),
        ] {
            assert_eq!(
                models_near(typed, &at_hand(&config).await, &config),
                meant,
                "{typed}"
            );
        }
        // What a server that lists its models does not have is suggested to nobody.
        let listed = [(Wire::OpenAi, "zeta-7b".to_owned())];
        for (typed, meant) in [
            ("gpt-4o", &[][..]),
            ("gtp", &[]),
            ("zeta", &["openai/zeta-7b"]),
            ("sonet", &["sonnet"]),
        ] {
            assert_eq!(models_near(typed, &listed, &config), meant, "{typed}");
        }
        let error = unknown_beside("gpt-4o", &listed, &config).to_string();
        assert!(
            error.contains("say 'openai/zeta-7b', or observer;"),
            "{error}"
        );
        let name = |id| spellings(id).collect::<Vec<_>>();
        assert_eq!(name("ollama/a:2b"), ["ollama/a:2b", "a:2b", "a"]);
        assert_eq!(name("observer"), ["observer"]);
    }

    #[tokio::test]
    async fn an_address_where_nobody_listens_is_not_waited_for() {
        // Held and not listened at: another test could take a port that is free again.
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        assert!(is_shut(&url).await);
        let _listener = socket.listen(1).unwrap();
        assert!(!is_shut(&url).await);
        // Elsewhere a proxy may lead there: only the client knows.
        for elsewhere in ["http://gpu.invalid:11434", "nothing"] {
            assert!(!is_shut(elsewhere).await, "{elsewhere}");
        }
    }

    #[test]
    fn ollama_host_is_read_as_its_own_client_reads_it() {
        for (text, url) in [
            ("", None),
            ("  ", None),
            ("127.0.0.1", Some("http://127.0.0.1:11434")),
            ("0.0.0.0", Some("http://127.0.0.1:11434")),
            (":1234", Some("http://127.0.0.1:1234")),
            ("0.0.0.0:1234/", Some("http://127.0.0.1:1234")),
            ("gpu.example.org", Some("http://gpu.example.org:11434")),
            ("http://gpu.example.org", Some("http://gpu.example.org:80")),
            (
                "https://gpu.example.org",
                Some("https://gpu.example.org:443"),
            ),
            (
                "https://gpu.example.org:8443/ollama",
                Some("https://gpu.example.org:8443/ollama"),
            ),
            ("[::1]", Some("http://[::1]:11434")),
            ("[::]:1234", Some("http://[::1]:1234")),
            ("host:port", None),
        ] {
            assert_eq!(ollama_host(text).as_deref(), url, "{text}");
        }
    }
}
