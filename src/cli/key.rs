//! `gently key`: who may ask, and a passphrase on the vault file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::SignedBy;
use crate::keys::agent::SOCKET_ENV;
use crate::keys::{ALLOWED_SIGNERS, AuthKey, Signer, allowed_signers, os_random};
use crate::record::signature::PublicKey;
use crate::recorder::RecorderError;
use crate::session;
use crate::store::AuthKeyRow;

use super::args::KeyCommand;
use super::{FINE, Notices, could_not, heads, print, say};
use crate::app::open;
use crate::app::open::{OpenHome, OpenHomeError};
use crate::app::secrets::{auth_key, new_passphrase, passphrase, work_factor};
use crate::app::{tree_heads, witnesses};

/// The longest name of a key; it stands in the public log.
const MAX_NAME: usize = 64;

/// Runs one of the verbs.
pub async fn run(command: KeyCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        KeyCommand::Add { name } => add(name, json).await,
        KeyCommand::List => list(json),
        KeyCommand::Revoke { name, force } => revoke(name, force, json).await,
        KeyCommand::Rotate { to } => rotate(to.as_deref(), json).await,
        KeyCommand::Protect => protect(json).await,
        KeyCommand::Unprotect => unprotect(json).await,
    }
}

/// What a name may be, as an argument's check: it is public, so it says no more than it must.
pub fn name(text: &str) -> Result<String, String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(fits) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "a name is 1 to {MAX_NAME} of a-z, A-Z, 0-9, '.', '_' and '-'"
    ))
}

async fn add(name: String, json: bool) -> Result<u8, OpenHomeError> {
    super::no_secret("NAME", &name)?;
    let opened = OpenHome::open(open::existing_home()?)?;
    opened.authorize().await?;
    let key = AuthKey::generate(&mut os_random)?;
    let row = opened
        .recorder
        .add_auth_key(name, key.hash(), open::fresh_salt()?, open::clock()?)
        .await?;
    let shown = key.reveal();
    if json {
        let mut facts = facts(&row);
        facts["key"] = json!(*shown);
        return Ok(print(&format!("{facts}\n")));
    }
    say(&format!(
        "the key '{}' is shown this once and kept nowhere; use it as $GENTLY_AUTH_KEY",
        row.name
    ));
    Ok(print(&format!("{}\n", *shown)))
}

fn list(json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let store = crate::store::Store::open_read_only(&home.paths().database())?;
    let rows = store.auth_keys()?;
    if json {
        return Ok(print(&format!(
            "{}\n",
            Value::Array(rows.iter().map(facts).collect())
        )));
    }
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    Ok(print(
        &rows
            .iter()
            .map(|row| line(row, width) + "\n")
            .collect::<String>(),
    ))
}

async fn revoke(name: String, force: bool, json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(open::existing_home()?)?;
    opened.authorize().await?;
    let row = opened
        .recorder
        .revoke_auth_key(name, force, open::fresh_salt()?, open::clock()?)
        .await?;
    let open = opened
        .store
        .open_sessions()?
        .into_iter()
        .filter(|s| s.auth_key_hash == row.hash)
        .count();
    if open > 0 {
        say(&format!(
            "{open} open session(s) of this key take no more prompts; close them with: gently session close"
        ));
    }
    if json {
        Ok(print(&format!("{}\n", facts(&row))))
    } else {
        Ok(print(&format!("{}\n", line(&row, 0))))
    }
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

fn facts(row: &AuthKeyRow) -> Value {
    json!({
        "name": row.name, "hash": row.hash.to_string(), "added_at": row.added_at.to_string(),
        "revoked_at": row.revoked_at.map(|at| at.to_string()),
    })
}

/// Puts the next signing key in force: a new file, or the agent's key of a public key file.
async fn rotate(to: Option<&Path>, json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(open::existing_home()?)?;
    let agent = match opened.config.signer {
        SignedBy::Agent { wait } => Some(wait),
        SignedBy::File => None,
    };
    match (agent, to) {
        (Some(_), None) => {
            let mend = "the agent makes no keys. Make one (ssh-keygen -t ed25519 -f FILE), ssh-add FILE, then: \
                        gently key rotate --to FILE.pub";
            return Ok(could_not(mend, json));
        }
        (None, Some(_)) => {
            let mend = "--to names a key of an SSH agent, and [keys] signer is \"file\": leave --to away, a new file is made";
            return Ok(could_not(mend, json));
        }
        _ => {}
    }
    opened.authorize().await?;
    let next = to
        .zip(agent)
        .map(|(file, wait)| agent_key(file, wait))
        .transpose()?;
    if let Some(key) = next
        && allowed_signers::load(&opened.home.root().join("keys").join(ALLOWED_SIGNERS))?
            .contains(&key)
    {
        // The recorder refuses it, too: here no session is closed for it, and it is not noted as
        // the next.
        return Err(RecorderError::KeyNotNew { key }.into());
    }
    let environment = opened.environment("", &say);
    let before = tree_heads::main_tip(&opened)?;
    for open in opened.store.open_sessions()? {
        session::close(&environment, open.id).await?;
    }
    let old = opened.store.head()?.signer;
    let new = match next {
        Some(next) => opened.home.next_agent_key(&next).map(|()| next)?,
        None => opened.home.next_signing_key(&mut os_random)?.public(),
    };
    opened.recorder.rotate(new, open::clock()?).await?;
    let told = Notices::default();
    // The rotation's tree head is signed by the old key, which witnesses know: the last that they
    // take by it.
    let outside = heads::after(&opened, before, &told).await;
    let (home, config) = (opened.home.clone(), opened.config.clone());
    // The recorder signs with the old key: it ends before the new one takes its place.
    drop(opened);
    open::finish_rotation(&home)?;
    let log = witnesses::log_key_for_operators(&home, &config)?;
    if json {
        let facts = json!({
            "old_signer": old.to_string(), "new_signer": new.to_string(), "witnesses": outside.witnesses, "ots": outside.ots,
            "log_key": log,
        });
        return Ok(print(&format!("{facts}\n")));
    }
    // On stdout, because a key is to be copied, and what goes to stderr passes the sanitizer.
    let log = log.map_or_else(String::new, |key| {
        format!("give your witnesses' operators the log's new key: {key}\n")
    });
    let gone = if agent.is_some() {
        "take the old key out of the agent (ssh-add -d)"
    } else {
        "the old private key is gone"
    };
    say(&format!(
        "{gone}; what it signed stays valid. Tell whoever pinned the ledger's first key nothing: they keep it, and follow \
         the rotation from there"
    ));
    Ok(print(&format!("{new}\n{log}")))
}

/// The key of a public key file, when the agent has its private half.
fn agent_key(file: &Path, wait: Duration) -> Result<PublicKey, OpenHomeError> {
    let socket = open::env(SOCKET_ENV).map(PathBuf::from);
    Ok(Signer::agent(file, socket.as_deref(), wait)?.public())
}

/// Puts a passphrase on the vault file, or another one in place of it.
async fn protect(json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(open::existing_home()?)?;
    opened.authorize().await?;
    let path = opened.home.auth_key_path();
    if AuthKey::is_protected(&path)? {
        return Ok(could_not(
            "keys/auth.key has a passphrase already; take it off first: gently key unprotect",
            json,
        ));
    }
    let key = AuthKey::load(&path)?;
    let chosen = new_passphrase(&opened.config, &path.display().to_string())?;
    key.protect(&path, &chosen, work_factor())?;
    done(&path, "protected", json)
}

/// Takes the passphrase off again.
async fn unprotect(json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(open::existing_home()?)?;
    let path = opened.home.auth_key_path();
    if !AuthKey::is_protected(&path)? {
        return Ok(could_not(
            "keys/auth.key has no passphrase; put one on it with: gently key protect",
            json,
        ));
    }
    opened.authorize().await?;
    let key = AuthKey::load_with(&path, &mut |place| passphrase(&opened.config, place))?;
    key.unprotect(&path)?;
    done(&path, "unprotected", json)
}

fn done(path: &std::path::Path, state: &str, json: bool) -> Result<u8, OpenHomeError> {
    if json {
        return Ok(print(&format!(
            "{}\n",
            json!({ "file": path.display().to_string(), "state": state })
        )));
    }
    say(&format!("{} is {state}", path.display()));
    Ok(FINE)
}

/// Checks the auth key without writing anything: for homes that may not be written to yet.
pub fn is_known(
    home: &crate::home::Home,
    config: &crate::config::Config,
) -> Result<(), OpenHomeError> {
    let key = auth_key(home, config)?;
    let store = crate::store::Store::open_read_only(&home.paths().database())?;
    let usable: Vec<_> = store
        .auth_keys()?
        .into_iter()
        .filter(|row| row.revoked_at.is_none())
        .collect();
    let hashes: Vec<_> = usable.iter().map(|row| row.hash).collect();
    match key.find_in(&hashes) {
        Some(_) => Ok(()),
        None => Err(OpenHomeError::Auth {
            reason: "wrong_key",
            why: "this home does not know the key, or it is revoked".to_owned(),
        }),
    }
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
