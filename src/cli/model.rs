//! `gently model list`: what could answer, and what stands in the way.

use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::config::Config;
use crate::home::Home;
use crate::models::listing;
use crate::models::observer;
use crate::models::wire::Wire;

use super::wire::{self, OpenHomeError, env};
use super::{choose, print};

/// For all servers together: they are asked at once.
const DEADLINE: Duration = Duration::from_secs(3);
/// Names that a screen shows of one server; `--json` has all.
const SHOWN: usize = 20;

/// `gently model`.
#[derive(Clone, Debug, Subcommand)]
pub enum ModelCommand {
    /// Show which models are reachable, and the aliases
    List,
}

/// How it stands with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It has these models.
    Models(Vec<String>),
    /// It was not asked, because it answers nobody without a key.
    NoKey,
    /// It did not say.
    Fault {
        /// The code.
        reason: String,
        /// The words.
        said: String,
    },
}

impl ServerState {
    /// Without secrets that a server said, or that are in an address.
    fn clean(self) -> ServerState {
        match self {
            ServerState::Models(names) => {
                ServerState::Models(names.iter().map(|name| super::clean(name)).collect())
            }
            ServerState::NoKey => ServerState::NoKey,
            ServerState::Fault { reason, said } => ServerState::Fault {
                reason,
                said: super::clean(&said),
            },
        }
    }
}

struct Server {
    wire: Wire,
    url: String,
    key_variable: Option<String>,
    has_key: bool,
    state: ServerState,
}

/// Runs it; needs no home.
pub async fn run(command: ModelCommand, json: bool) -> Result<u8, OpenHomeError> {
    let ModelCommand::List = command;
    let home = wire::home_path()?;
    let config = match Home::open(&home)? {
        Some(home) => Config::load(home.root(), &env)?,
        None => Config::load(&home, &env)?,
    };
    let all = Wire::ALL.map(|wire| ask(wire, &config));
    let servers = futures_util::future::join_all(all).await;
    let text = if json {
        format!("{}\n", facts(&servers, &config))
    } else {
        screen(&servers, &config)
    };
    Ok(print(&text))
}

/// How many models a server lists, or why it lists none.
pub async fn reachable(wire: Wire, config: &Config) -> Result<usize, String> {
    let server = ask(wire, config).await;
    match server.state {
        ServerState::Models(names) => Ok(names.len()),
        ServerState::NoKey => Err(format!(
            "no key in ${}",
            server.key_variable.unwrap_or_default()
        )),
        ServerState::Fault { said, .. } => Err(said),
    }
}

async fn ask(wire: Wire, config: &Config) -> Server {
    let (url, variable) = choose::server(wire, config);
    let key = if variable.is_empty() {
        None
    } else {
        choose::key(variable)
    };
    let has_key = key.is_some();
    let key_variable = (!variable.is_empty()).then(|| variable.to_owned());
    // Another address than the provider's own may be a server that wants no key.
    let state = if !has_key && key_variable.is_some() && url == wire.base_url() {
        ServerState::NoKey
    } else {
        let asked = listing::models(choose::place(wire, &url, key, variable, DEADLINE));
        match tokio::time::timeout(DEADLINE, asked).await {
            Ok(Ok(names)) => ServerState::Models(names),
            Ok(Err(fault)) => ServerState::from(&fault),
            Err(_) => ServerState::Fault {
                reason: "timeout".to_owned(),
                said: format!(
                    "no list of models from {url} within {} s",
                    DEADLINE.as_secs()
                ),
            },
        }
    };
    // From here on it is shown, and nobody is asked any more.
    Server {
        wire,
        url: super::clean(&url),
        key_variable,
        has_key,
        state: state.clean(),
    }
}

fn screen(servers: &[Server], config: &Config) -> String {
    let mut lines = vec![format!(
        "{}   built in, no language model: always there",
        observer::ID
    )];
    lines.push("replay     answers on record: --model replay, --model replay:EXCHANGE".to_owned());
    for server in servers {
        let name = format!("{}/", server.wire.name());
        let key = match (&server.key_variable, server.has_key) {
            (None, _) => String::new(),
            (Some(variable), true) => format!(", with the key in ${variable}"),
            (Some(variable), false) => format!(", no key in ${variable}"),
        };
        match &server.state {
            ServerState::Models(names) => {
                lines.push(format!(
                    "{name:<10} {}{key}: {}",
                    server.url,
                    count(names.len())
                ));
                lines.extend(
                    names
                        .iter()
                        .take(SHOWN)
                        .map(|model| format!("  {name}{model}")),
                );
                if names.len() > SHOWN {
                    lines.push(format!(
                        "  and {} more: gently model list --json",
                        names.len() - SHOWN
                    ));
                }
            }
            ServerState::NoKey => lines.push(format!("{name:<10} {}{key}: not asked", server.url)),
            ServerState::Fault { said, .. } => {
                lines.push(format!("{name:<10} {}{key}: {said}", server.url))
            }
        }
    }
    lines.push("aliases    edit them in [model.alias]: gently config path".to_owned());
    lines.extend(
        config
            .model
            .named
            .aliases
            .iter()
            .map(|(alias, id)| format!("  {alias} = {id}")),
    );
    lines.push(format!(
        "default    {}",
        super::clean(&config.model.default)
    ));
    lines.join("\n") + "\n"
}

fn count(models: usize) -> String {
    match models {
        0 => "no models".to_owned(),
        1 => "1 model".to_owned(),
        n => format!("{n} models"),
    }
}

fn facts(servers: &[Server], config: &Config) -> Value {
    let servers = servers.iter().map(|server| {
        let (state, models, reason, message) = match &server.state {
            ServerState::Models(names) => ("reachable", json!(names), Value::Null, Value::Null),
            ServerState::NoKey => ("no_key", Value::Null, Value::Null, Value::Null),
            ServerState::Fault { reason, said } => ("unreachable", Value::Null, json!(reason), json!(said)),
        };
        json!({
            "provider": server.wire.name(), "url": server.url, "key_variable": server.key_variable,
            "has_key": server.has_key, "state": state, "models": models, "reason": reason, "message": message,
        })
    });
    json!({
        "built_in": [observer::ID, crate::models::replay::ID], "servers": servers.collect::<Vec<_>>(),
        "aliases": config.model.named.aliases, "default": super::clean(&config.model.default),
    })
}
