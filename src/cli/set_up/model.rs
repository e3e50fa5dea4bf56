//! `gently model list`: what could answer, and what stands in the way.

use clap::Subcommand;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::model_list::{ModelList, ServerState, list};
use crate::models::observer;
use crate::view::set_up::model::ModelListView;

use crate::cli::present;

/// Names that a screen shows of one server; `--json` has all.
const SHOWN: usize = 20;

/// Subcommands of `gently model`.
#[derive(Clone, Debug, Subcommand)]
pub enum ModelCommand {
    /// Show which models are reachable, and the aliases
    List,
}

/// Runs it; needs no home.
pub async fn run(command: ModelCommand, json: bool) -> Result<u8, OpenHomeError> {
    let ModelCommand::List = command;
    let list = list(&open::home_path()?).await?;
    Ok(present(json, || ModelListView::of(&list), || screen(&list)))
}

fn screen(list: &ModelList) -> String {
    let mut lines = vec![format!(
        "{}   built in, no language model: always there",
        observer::ID
    )];
    lines.push("replay     answers on record: --model replay, --model replay:EXCHANGE".to_owned());
    for server in &list.servers {
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
    let alias = |(alias, id): (&String, &String)| format!("  {alias} = {id}");
    lines.extend(list.aliases.iter().map(alias));
    lines.push(format!("default    {}", list.default));
    lines.join("\n") + "\n"
}

fn count(models: usize) -> String {
    match models {
        0 => "no models".to_owned(),
        1 => "1 model".to_owned(),
        n => format!("{n} models"),
    }
}
