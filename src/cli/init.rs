//! `gently init`: makes the home.

use crate::anchor::agree::host;
use crate::config::{AnchorMode, Config};
use crate::home::{Home, InitOptions};
use crate::keys::os_random;
use crate::store::Store;

use super::args::InitArgs;
use super::{Notices, could_not, no_secret, print, print_view, program};
use crate::app::open;
use crate::app::open::OpenHomeError;
use crate::view::home::HomeView;

/// Makes the home; fails when there is one.
pub fn run(args: InitArgs, json: bool) -> Result<u8, OpenHomeError> {
    let path = open::home_path()?;
    if Home::open(&path)?.is_some() {
        let why = format!(
            "there is a home at {} already; another place: GENTLY_HOME=DIR gently init",
            path.display()
        );
        return Ok(could_not(&why, json));
    }
    no_secret("--origin", args.origin.as_deref().unwrap_or_default())?;
    let options = InitOptions {
        network: args.network,
        commitments: args.commitments,
        origin: args.origin,
    };
    let home = Home::init(&path, &options, &mut os_random, open::clock()?)?;
    let store = Store::open_read_only(&home.paths().database())?;
    let genesis = Home::genesis(&store)?;
    if json {
        return Ok(print_view(&HomeView::of(&home, &genesis)));
    }
    Ok(print(&format!(
        "home         {}\nledger       {}\nsigner       {}\nnetwork      {}\ncommitments  {}\n",
        home.root().display(),
        genesis.origin,
        genesis.signer,
        genesis.network.name(),
        genesis.commitments.name(),
    )))
}

/// What a person reads when the first `ask` made the home.
pub fn welcome(home: &Home, config: &Config, told: &Notices) {
    let contacted = config.anchor_addresses();
    told.say(&format!(
        "made a home for your records: {}",
        home.root().display()
    ));
    if contacted.is_empty() {
        told.say("no block explorer is contacted (anchor.mode is off, or none is configured)");
    } else {
        told.say(&format!(
            "asked for the newest Bitcoin block, and told nothing else: {}",
            hosts(&contacted)
        ));
    }
    let calendars = config.calendars();
    if !calendars.is_empty() {
        told.say(&format!(
            "sent a hash when a session closes, and told nothing else: {}",
            hosts(calendars)
        ));
    }
    if config.anchor.mode == AnchorMode::Auto && !(contacted.is_empty() && calendars.is_empty()) {
        told.say(&format!(
            "to contact nobody: {} config set anchor.mode off",
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
