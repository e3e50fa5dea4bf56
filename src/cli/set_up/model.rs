//! `gently model list`: what could answer, and what stands in the way.

use clap::Subcommand;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::model_list::{ModelList, Server, ServerState, list};
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

/// What answers stands first; what fails last, with its reason.
fn screen(list: &ModelList) -> String {
    let rank = |server: &&Server| match &server.state {
        ServerState::Models(names) => u8::from(names.is_empty()),
        ServerState::NoKey => 2,
        ServerState::Fault { .. } => 3,
    };
    let mut servers: Vec<&Server> = list.servers.iter().collect();
    servers.sort_by_key(rank);
    let answering = servers.partition_point(|server| rank(server) == 0);
    let (there, others) = servers.split_at(answering);
    let mut lines: Vec<String> = there
        .iter()
        .flat_map(|server| server_lines(server))
        .collect();
    lines.push(format!(
        "{}   built in, no language model: always there",
        observer::ID
    ));
    lines.push("replay     answers on record: --model replay, --model replay:EXCHANGE".to_owned());
    lines.push(format!("default    {}", list.default));
    lines.push("aliases    edit them in [model.alias]: gently config path".to_owned());
    let alias = |(alias, id): (&String, &String)| format!("  {alias} = {id}");
    lines.extend(list.aliases.iter().map(alias));
    if !others.is_empty() {
        lines.push("not answering".to_owned());
        lines.extend(others.iter().flat_map(|server| server_lines(server)));
    }
    lines.join("\n") + "\n"
}

/// A server with its models, or with what is wrong.
fn server_lines(server: &Server) -> Vec<String> {
    let name = format!("{}/", server.wire.name());
    let key = match (&server.key_variable, server.has_key) {
        (None, _) => String::new(),
        (Some(variable), true) => format!(", with the key in ${variable}"),
        (Some(variable), false) => format!(", no key in ${variable}"),
    };
    let (said, names) = match &server.state {
        ServerState::Models(names) => (count(names.len()), names.as_slice()),
        ServerState::NoKey => ("not asked".to_owned(), &[][..]),
        ServerState::Fault { said, .. } => (said.clone(), &[][..]),
    };
    let mut lines = vec![format!("{name:<10} {}{key}: {said}", server.url)];
    let shown = names.iter().take(SHOWN);
    lines.extend(shown.map(|model| format!("  {name}{model}")));
    if names.len() > SHOWN {
        lines.push(format!(
            "  and {} more: gently model list --json",
            names.len() - SHOWN
        ));
    }
    lines
}

fn count(models: usize) -> String {
    match models {
        0 => "no models".to_owned(),
        1 => "1 model".to_owned(),
        n => format!("{n} models"),
    }
}
