//! `gently key`: who may ask, what signs, and a passphrase on the file with the keys.

use std::path::Path;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::keys::{self, KeyRotation, check_name};
use crate::os::is_led_into_file;
use crate::store::AuthKeyRow;
use crate::view::set_up::key::{
    AuthKeyView, KeyFileView, KeyRotationView, NewAuthKeyView, RevocationPlanView,
    RotationPlanView, SignerView,
};

use crate::cli::args::KeyCommand;
use crate::cli::prove::tree_heads;
use crate::cli::screen::confirm::{self, ConfirmArgs, ConfirmWords};
use crate::cli::screen::view_or_words::view_or_words;
use crate::cli::{FINE, Notices, could_not, present, present_as_is, program, say, say_finding};

/// Runs one of the verbs.
pub async fn run(command: KeyCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        KeyCommand::Add { name } => add(&name, json).await,
        KeyCommand::List => list(json),
        KeyCommand::Show => show(json),
        KeyCommand::Revoke {
            name,
            force,
            consent,
        } => revoke(&name, force, consent, json).await,
        KeyCommand::Rotate { to, consent } => rotate(to.as_deref(), consent, json).await,
        KeyCommand::Protect => {
            let path = keys::protect(&open::open_home()?).await?;
            Ok(done(&path, "protected", json))
        }
        KeyCommand::Unprotect => {
            let path = keys::unprotect(&open::open_home()?).await?;
            Ok(done(&path, "unprotected", json))
        }
    }
}

/// What a name may be, as an argument's check.
pub fn name(text: &str) -> Result<String, String> {
    check_name(text).map(|()| text.to_owned())
}

async fn add(name: &str, json: bool) -> Result<u8, OpenHomeError> {
    let new = keys::add(&open::open_home()?, name).await?;
    let text = || {
        say(&format!(
            "the key '{}' is shown this once and kept nowhere; use it as $GENTLY_AUTH_KEY",
            new.row.name
        ));
        format!("{}\n", *new.key)
    };
    Ok(present_as_is(json, || NewAuthKeyView::of(&new), text))
}

fn list(json: bool) -> Result<u8, OpenHomeError> {
    let rows = keys::list(&open::existing_home()?)?;
    let views = || rows.iter().map(AuthKeyView::of).collect::<Vec<_>>();
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let lines = rows.iter().map(|row| line(row, width) + "\n");
    Ok(present(json, views, || lines.collect()))
}

async fn revoke(
    name: &str,
    force: bool,
    consent: ConfirmArgs,
    json: bool,
) -> Result<u8, OpenHomeError> {
    if consent.dry_run {
        let store = open::store(&open::existing_home()?)?;
        let planned = keys::plan_revocation(&store, name, force)?;
        return Ok(confirm::dry_run(&RevocationPlanView::plan(&planned), json));
    }
    let opened = open::open_home()?;
    // A name that is none is no reason to ask for a passphrase.
    let planned = keys::plan_revocation(&opened.store, name, force)?;
    opened.authorize().await?;
    let words = ConfirmWords {
        does: "revoke it",
        done: "revoked",
    };
    if let Err(why) = consent.ask(&RevocationPlanView::plan(&planned), words) {
        return Ok(could_not(&why, json));
    }
    let revoked = keys::revoke(&opened, &planned).await?;
    if revoked.open_sessions > 0 {
        say(&format!(
            "{} open session(s) of this key take no more prompts; close them with: gently session close",
            revoked.open_sessions
        ));
    }
    let text = || line(&revoked.row, 0) + "\n";
    Ok(present(json, || AuthKeyView::of(&revoked.row), text))
}

fn line(row: &AuthKeyRow, width: usize) -> String {
    let state = row
        .revoked_at
        .map_or("usable".to_owned(), |at| format!("revoked {at}"));
    format!(
        "{:width$}  {}  added {}  {state}",
        row.name,
        row.hash.short16(),
        row.added_at
    )
}

async fn rotate(to: Option<&Path>, consent: ConfirmArgs, json: bool) -> Result<u8, OpenHomeError> {
    if consent.dry_run {
        let home = open::existing_home()?;
        let (config, store) = (open::config(&home)?, open::store(&home)?);
        let planned = keys::plan_rotation(&home, &config, &store, to)?;
        return Ok(confirm::dry_run(&RotationPlanView::plan(&planned), json));
    }
    let opened = open::open_home()?;
    opened.authorize().await?;
    let planned = keys::plan_rotation(&opened.home, &opened.config, &opened.store, to)?;
    let words = ConfirmWords {
        does: "put a new key in force",
        done: "changed",
    };
    if let Err(why) = consent.ask(&RotationPlanView::plan(&planned), words) {
        return Ok(could_not(&why, json));
    }
    let told = Notices::default();
    let rotation = keys::rotate(opened, &planned, &say).await?;
    tree_heads::say(&rotation.outside, &told);
    let view = || KeyRotationView::of(&rotation);
    Ok(present_as_is(json, view, || next_steps(&rotation)))
}

/// Prints what others pin: the keys on stdout, so that they can be led into a file, and the rest
/// beside them.
fn show(json: bool) -> Result<u8, OpenHomeError> {
    let signers = keys::signers_to_pin(&open::existing_home()?)?;
    let view = SignerView::of(&signers, &program());
    let text = || {
        let lines = view.allowed_signers.iter();
        lines.map(|line| format!("{line}\n")).collect()
    };
    let code = present_as_is(json, || &view, text);
    if !json {
        // As they are: a fingerprint looks like a secret.
        let is_file = is_led_into_file();
        pinning(&view, is_file)
            .iter()
            .for_each(|line| say_finding(line));
    }
    Ok(code)
}

/// What a person does with the keys of [`SignerView`]; how they get into a file is known to whoever
/// just led them into one.
fn pinning(view: &SignerView, is_file: bool) -> Vec<String> {
    let count = view.allowed_signers.len();
    let which = match count {
        1 => String::new(),
        _ => format!(", the last of {count}: pin all, in this order"),
    };
    let mut lines = vec![
        format!("ledger {}", view.origin),
        format!("signed by {}{which}", view.fingerprint),
    ];
    lines.extend(match is_file {
        true => vec![
            "Give that file to others another way than through the ledger.".to_owned(),
            "What they run with it, for a shared file, a whole ledger, and without gently:"
                .to_owned(),
        ],
        false => vec![
            "Give these lines to others as a file, another way than through the ledger:".to_owned(),
            format!("  {}", view.give),
            "What they run with it, for a shared file, a whole ledger, and without gently:"
                .to_owned(),
        ],
    });
    lines.extend(view.check.iter().map(|command| format!("  {command}")));
    lines
}

/// The new key; and what whoever knows the old one has to be told.
fn next_steps(rotation: &KeyRotation) -> String {
    let KeyRotation { new, log_key, .. } = rotation;
    // On stdout, because a key is to be copied, and what goes to stderr passes the sanitizer.
    let log = log_key.as_ref().map_or_else(String::new, |key| {
        format!("give your witnesses' operators the log's new key: {key}\n")
    });
    let gone = if rotation.is_in_agent {
        "take the old key out of the agent (ssh-add -d)"
    } else {
        "the old private key is gone"
    };
    say(&format!(
        "{gone}; what it signed stays valid. Give whoever pinned a key keys/allowed_signers as it is now, another way than \
         through the ledger: they pin all its keys, the newest last"
    ));
    format!("{new}\n{log}")
}

fn done(path: &Path, state: &'static str, json: bool) -> u8 {
    let view = || KeyFileView::of(path, state);
    view_or_words(json, view, || {
        say(&format!("{} is {state}", path.display()));
        FINE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for fine in ["a", "laptop-2", "CI.bot_1"] {
            assert_eq!(name(fine).as_deref(), Ok(fine));
        }
        for wrong in ["", "a b", "a/b", "ä", "a\n", &"x".repeat(65)] {
            assert!(name(wrong).is_err(), "{wrong:?}");
        }
    }
}
