//! `gently model list`: what could answer, and what stands in the way.

use clap::Subcommand;

use crate::config::Config;
use crate::home::Home;
use crate::models::observer;

use super::{print, print_view};
use crate::app::model_list::{Server, ServerState, servers};
use crate::app::open;
use crate::app::open::{OpenHomeError, env};
use crate::view::model::ModelListView;

/// Names that a screen shows of one server; `--json` has all.
const SHOWN: usize = 20;

/// `gently model`.
#[derive(Clone, Debug, Subcommand)]
pub enum ModelCommand {
    /// Show which models are reachable, and the aliases
    List,
}

/// Runs it; needs no home.
pub async fn run(command: ModelCommand, json: bool) -> Result<u8, OpenHomeError> {
    let ModelCommand::List = command;
    let home = open::home_path()?;
    let config = match Home::open(&home)? {
        Some(home) => Config::load(home.root(), &env)?,
        None => Config::load(&home, &env)?,
    };
    let servers = servers(&config).await;
    Ok(if json {
        print_view(&ModelListView::of(&servers, &config))
    } else {
        print(&screen(&servers, &config))
    })
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
