//! `gently action`: actuation intents on record. They are shown; there is nothing that carries them
//! out.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::actions::{self, ActionDetails};
use crate::ask::withheld::WITHHELD;
use crate::record::ledger::short_name::short_name;
use crate::recorder::{Action, REPLY};
use crate::view::look::action::ActionDetailsView;

use crate::cli::args::ActionCommand;
use crate::cli::screen::{beginning, minute, quiet, row};
use crate::cli::{present, say};

/// How much of an intent stands in the list.
const EXCERPT: usize = 80;

/// Runs one of the verbs.
pub fn run(command: &ActionCommand, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    match command {
        ActionCommand::List => {
            let all = actions::list(&home)?;
            let views = || all.iter().map(ActionDetailsView::of).collect::<Vec<_>>();
            Ok(present(json, views, || list(&all)))
        }
        ActionCommand::Show { id, withheld } => {
            let action = actions::show(&home, id, *withheld)?;
            let view = || ActionDetailsView::of(&action);
            Ok(present(json, view, || text(&action)))
        }
    }
}

/// What was said.
fn what(action: &ActionDetails) -> &str {
    if action.is_withheld {
        WITHHELD
    } else {
        word(action, "what")
    }
}

fn word<'a>(action: &'a ActionDetails, key: &str) -> &'a str {
    let Some(content) = &action.content else {
        return "erased";
    };
    content[key].as_str().unwrap_or("not kept")
}

fn recorded_at(action: &ActionDetails) -> &str {
    action.recorded_at.as_deref().unwrap_or("unknown time")
}

fn list(actions: &[ActionDetails]) -> String {
    if actions.is_empty() {
        say("nobody asked to have anything done");
    }
    let line = |action: &ActionDetails| {
        let head = format!(
            "{}  {}  {}  {}  {}",
            short_name(&action.id),
            minute(recorded_at(action)),
            word(action, "state"),
            word(action, "class"),
            word(action, "source"),
        );
        row(&head, &beginning(what(action), EXCERPT))
    };
    actions.iter().map(line).collect()
}

fn text(action: &ActionDetails) -> String {
    let lines = [
        ("state", word(action, "state").to_owned()),
        ("what", quiet(what(action))),
        ("class", word(action, "class").to_owned()),
        ("said by", word(action, "source").to_owned()),
        ("exchange", action.exchange.clone()),
        ("recorded", recorded_at(action).to_owned()),
    ];
    let text: String = lines
        .iter()
        .map(|(name, value)| format!("    {name:10}{value}\n"))
        .collect();
    format!("{}\n{text}", short_name(&action.id))
}

/// What a person is told when an intent was recorded with a turn; `withheld` when its answer is.
pub fn line_of(action: &Action, withheld: bool) -> String {
    let what = if withheld && action.source == REPLY {
        WITHHELD
    } else {
        &action.what
    };
    format!(
        "{} is on record, and gently does none of it: {}",
        short_name(&action.id),
        quiet(what)
    )
}
