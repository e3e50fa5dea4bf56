//! `gently show ID`: question, answer, and whether they still are what was recorded; with `--full` all
//! that is on record of the turn. What else has an id is shown as the command of its kind shows it.
//!
//! Exit 1 when a stored text or document has another hash than the one recorded with it.

mod artifact;
pub mod session;
mod text;

use crate::app::find::{IdKind, MeantId};
use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::show::{self, ExchangeDetails};
use crate::app::remember::context;
use crate::home::Home;
use crate::record::ledger::item::ItemKind;
use crate::view::look::exchange::ExchangeView;

use super::{action, conversation, council, drift};
use crate::cli::args::{ActionCommand, ShowArgs};
use crate::cli::keep::import;
use crate::cli::remember::context::parts;
use crate::cli::remember::{correction, handoff, items, project};
use crate::cli::screen::quiet;
use crate::cli::set_up::specialist;
use crate::cli::{NEGATIVE, could_not, present_report, say};

/// What was put before the model, in words.
fn shown_to(home: &Home, turn: &ExchangeDetails) -> String {
    let id = turn.exchange.exchange_id.to_string();
    match context::show(home, &id) {
        Ok(details) => parts(&details),
        // The record was changed: what can still be read of it is shown all the same.
        Err(error) => format!("can't be read: {error}"),
    }
}

/// Shows what an id means.
pub fn run(args: &ShowArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let MeantId { kind, id } = show::meant(&home, &args.id)?;
    if kind != IdKind::Exchange && args.full {
        let why = format!(
            "--full is about a question and its answer, and {} is {}: {}",
            quiet(&args.id),
            kind.called(),
            kind.shown_by(&quiet(&args.id))
        );
        return Ok(could_not(&why, json));
    }
    match kind {
        IdKind::Exchange => exchange(&home, &id, args, json),
        IdKind::Session => session::run(&id, json),
        IdKind::Conversation => conversation::print_newest(&id, json),
        IdKind::Fact => items::print_one(ItemKind::Fact, &id, json),
        IdKind::Correction => correction::print_one(&id, json),
        IdKind::Note => items::print_one(ItemKind::Note, &id, json),
        IdKind::Decision => items::print_one(ItemKind::Decision, &id, json),
        IdKind::Intent => items::print_one(ItemKind::Intent, &id, json),
        IdKind::Action => {
            let withheld = args.withheld;
            action::run(&ActionCommand::Show { id, withheld }, json)
        }
        IdKind::Drift => drift::print_event(&id, json),
        IdKind::Project => project::print_shown(&id, json),
        IdKind::Council => council::print_one(Some(&id), json),
        IdKind::Specialist => specialist::print_one(&id, json),
        IdKind::Handoff => handoff::print_one(Some(&id), json),
        IdKind::Import => import::print_one(&id, json),
        IdKind::Imported => conversation::print_newest(&id, json),
        IdKind::ImportedAudit
        | IdKind::ImportedPromotion
        | IdKind::Conflict
        | IdKind::Opening
        | IdKind::Consent
        | IdKind::Export
        | IdKind::Domain
        | IdKind::Promotion
        | IdKind::Rating => artifact::run(&home, &id, json),
    }
}

fn exchange(home: &Home, id: &str, args: &ShowArgs, json: bool) -> Result<u8, OpenHomeError> {
    let turn = show::exchange(home, id, args.withheld)?;
    let words = || match args.full {
        true => text::of(&turn, &shown_to(home, &turn)),
        false => text::brief(&turn),
    };
    let printed = present_report(json, || ExchangeView::of(&turn), words);
    let wrong = turn.changed();
    if !wrong.is_empty() {
        say(&format!(
            "changed since it was recorded: {}; look with: gently audit verify",
            wrong.join(", ")
        ));
        return Ok(NEGATIVE.max(printed));
    }
    Ok(printed)
}
