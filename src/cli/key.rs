//! `gently key`: who may ask, and a passphrase on the vault file.

use std::path::Path;

use crate::app::keys::{self, KeyRotation, check_name};
use crate::app::open::{self, OpenHomeError};
use crate::store::AuthKeyRow;
use crate::view::key::{AuthKeyView, KeyFileView, KeyRotationView, NewAuthKeyView};

use super::args::KeyCommand;
use super::{FINE, Notices, heads, present, print_view, say};

/// Runs one of the verbs.
pub async fn run(command: KeyCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        KeyCommand::Add { name } => add(&name, json).await,
        KeyCommand::List => list(json),
        KeyCommand::Revoke { name, force } => revoke(&name, force, json).await,
        KeyCommand::Rotate { to } => rotate(to.as_deref(), json).await,
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
    Ok(present(json, || NewAuthKeyView::of(&new), text))
}

fn list(json: bool) -> Result<u8, OpenHomeError> {
    let rows = keys::list(&open::existing_home()?)?;
    let views = || rows.iter().map(AuthKeyView::of).collect::<Vec<_>>();
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let lines = rows.iter().map(|row| line(row, width) + "\n");
    Ok(present(json, views, || lines.collect()))
}

async fn revoke(name: &str, force: bool, json: bool) -> Result<u8, OpenHomeError> {
    let revoked = keys::revoke(&open::open_home()?, name, force).await?;
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

async fn rotate(to: Option<&Path>, json: bool) -> Result<u8, OpenHomeError> {
    let told = Notices::default();
    let rotation = keys::rotate(open::open_home()?, to, &say).await?;
    heads::say(&rotation.outside, &told);
    let view = || KeyRotationView::of(&rotation);
    Ok(present(json, view, || next_steps(&rotation)))
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
    if json {
        return print_view(&KeyFileView::of(path, state));
    }
    say(&format!("{} is {state}", path.display()));
    FINE
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
