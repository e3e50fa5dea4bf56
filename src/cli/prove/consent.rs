//! `gently consent`: who may be shown texts in traces, and for what; given, withdrawn, listed.

use clap::Subcommand;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::consent::{ConsentRequest, ListedConsent, give, list, withdraw};
use crate::record::ledger::short_name::short_name;
use crate::view::prove::consent::{ConsentView, GivenConsentView, state_word};

use crate::cli::screen::{counted, quiet};
use crate::cli::{Notices, present, present_or_tell, program, say};

/// What `gently consent` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ConsentCommand {
    /// Consent that texts are handed on in traces: what you asked with your key, from now on
    ///
    /// gently trace export --level full_traces needs it. Without a consent a trace holds no text.
    Give {
        /// For what the texts may be used; it goes on record, without secrets
        #[arg(long, value_name = "TEXT")]
        purpose: String,
        /// One conversation alone: its title, the first digits of its id, or a question in it
        #[arg(
            long,
            value_name = "ID|TITLE",
            visible_alias = "conversation",
            conflicts_with = "exchange"
        )]
        thread: Option<String>,
        /// One question with its answer alone, as gently show takes it
        #[arg(long, value_name = "ID")]
        exchange: Option<String>,
        /// What you asked before, too; of one question that is so anyway
        #[arg(long)]
        past: bool,
        /// Until then: 2027-12-31, to the end of that day (UTC), or 2027-12-31T12:00:00Z
        #[arg(long, value_name = "DATE")]
        until: Option<String>,
    },
    /// Take a consent back: nothing more is handed on under it; says what was
    Withdraw {
        /// Such as consent-1
        id: String,
    },
    /// List the consents on record, oldest first
    List,
}

/// Gives, withdraws or lists.
pub async fn run(command: ConsentCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        ConsentCommand::Give {
            purpose,
            thread,
            exchange,
            past,
            until,
        } => {
            let request = ConsentRequest {
                purpose,
                thread,
                exchange,
                past,
                until,
            };
            let told = Notices::default();
            let notice = |line: &str| told.say(line);
            let given = give(&open::open_home()?, &request, &notice).await?;
            let short = short_name(&given.of.consent.id);
            let outcome = format!("on record: {short}");
            if given
                .of
                .consent
                .terms
                .as_ref()
                .is_some_and(|terms| !terms.past)
            {
                say("what was asked before is not covered: that takes --past");
            }
            say(&format!(
                "to take it back: {} consent withdraw {short}",
                program()
            ));
            Ok(present_or_tell(
                json,
                || GivenConsentView::of(&given),
                || line(&given.of),
                &outcome,
            ))
        }
        ConsentCommand::Withdraw { id } => {
            let withdrawn = withdraw(&open::open_home()?, &id).await?;
            tell_exports(&withdrawn);
            let outcome = format!("withdrawn: {}", short_name(&withdrawn.consent.id));
            Ok(present_or_tell(
                json,
                || ConsentView::of(&withdrawn),
                || line(&withdrawn),
                &outcome,
            ))
        }
        ConsentCommand::List => print_list(json),
    }
}

/// Says what was handed on under a consent: that can't be called back.
fn tell_exports(withdrawn: &ListedConsent) {
    if !withdrawn.untold.is_empty() {
        let names: Vec<String> = withdrawn.untold.iter().map(|id| short_name(id)).collect();
        say(&format!(
            "whether {} was under it, nothing here says: what is on record of it is erased",
            names.join(", ")
        ));
    }
    if withdrawn.exports.is_empty() {
        if withdrawn.untold.is_empty() {
            say("nothing was exported under it");
        }
        return;
    }
    say(&format!(
        "{} under it before, which nobody can call back:",
        counted(withdrawn.exports.len(), "export")
    ));
    for id in &withdrawn.exports {
        let short = short_name(id);
        say(&format!("  {short}   {} show {short}", program()));
    }
}

fn print_list(json: bool) -> Result<u8, OpenHomeError> {
    let consents = list(&open::existing_home()?)?;
    let views = || consents.iter().map(ConsentView::of).collect::<Vec<_>>();
    let text = || {
        if consents.is_empty() {
            say(&format!(
                "no consent yet, so no trace shows a text: {} consent give --purpose \"…\" gives one",
                program()
            ));
        }
        consents.iter().map(line).collect()
    };
    Ok(present(json, views, text))
}

/// `consent-1  a study  (in force; all that its key asks; until 2027-12-31T23:59:59Z)`
fn line(listed: &ListedConsent) -> String {
    let terms = listed.consent.terms.as_ref();
    let mut beside = vec![state_word(listed.state).to_owned()];
    if let Some(at) = listed.consent.withdrawn.and_then(|withdrawn| withdrawn.at) {
        beside = vec![format!("{} {at}", state_word(listed.state))];
    }
    if let (Some(terms), Some(covers)) = (terms, &listed.covers) {
        beside.push(match terms.past {
            true => covers.clone(),
            false => format!("{covers} since {}", terms.at),
        });
        beside.extend(terms.until.map(|until| format!("until {until}")));
    }
    if listed.covers_nothing {
        beside.push("covers nothing any more: all of it was erased".to_owned());
    }
    if !listed.exports.is_empty() {
        beside.push(counted(listed.exports.len(), "export"));
    }
    let purpose = match terms.map(|terms| &terms.purpose) {
        Some(Some(purpose)) => quiet(purpose),
        Some(None) => "(not kept)".to_owned(),
        None => "(erased)".to_owned(),
    };
    let short = short_name(&listed.consent.id);
    format!("{short}  {purpose}  ({})\n", beside.join("; "))
}
