//! `gently init`: makes the home.

use crate::anchor::agree::host;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::init::init;
use crate::config::{AnchorMode, Config};
use crate::home::{Home, InitOptions};
use crate::view::set_up::home::HomeView;

use crate::cli::args::InitArgs;
use crate::cli::{Notices, present, program};

/// Makes the home; fails when there is one.
pub fn run(args: InitArgs, json: bool) -> Result<u8, OpenHomeError> {
    let options = InitOptions {
        network: args.network,
        commitments: args.commitments,
        origin: args.origin,
    };
    let new = init(&open::home_path()?, &options)?;
    let view = HomeView::of(&new);
    Ok(present(json, || &view, || text(&view)))
}

fn text(view: &HomeView) -> String {
    let [ask, models] = view.next.map(typed);
    let models = format!("{models}   which models can answer more");
    let rows: [(&str, &str); 7] = [
        ("home", &view.home),
        ("ledger", &view.origin),
        ("signer", &view.signer),
        ("network", view.network),
        ("commitments", view.commitments),
        ("next", &ask),
        ("", &models),
    ];
    let row = |(name, value)| format!("{name:11}  {value}\n");
    rows.map(row).concat()
}

/// A command as it is typed where this program was called by its path.
fn typed(command: &str) -> String {
    command.replacen("gently", &program(), 1)
}

/// What a person reads when the first `ask` made the home: where it is, and who is contacted. Of
/// what is turned off nothing is said.
pub fn welcome(home: &Home, config: &Config, told: &Notices) {
    let place = home.root().display();
    told.say(&format!("gently keeps your records in {place}"));
    let contacted = config.anchor_addresses();
    if !contacted.is_empty() {
        told.say(&format!(
            "It asks these for the newest Bitcoin block, and tells them nothing: {}",
            hosts(&contacted)
        ));
    }
    let calendars = config.calendars();
    if !calendars.is_empty() {
        told.say(&format!(
            "When a session closes, it sends a hash, and nothing else, to: {}",
            hosts(calendars)
        ));
    }
    if config.anchor.mode == AnchorMode::Auto && !(contacted.is_empty() && calendars.is_empty()) {
        told.say(&format!(
            "To contact nobody: {} config set anchor.mode off",
            program()
        ));
    }
}

fn hosts(addresses: &[String]) -> String {
    addresses
        .iter()
        .map(|address| host(address))
        .collect::<Vec<_>>()
        .join(", ")
}
