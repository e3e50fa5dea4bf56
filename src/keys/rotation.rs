//! The next signing key: made beside the one in force, put in its place when the rotation is on
//! record.
//!
//! `signing.key.next` is there from before the rotation until it is finished, so a process that
//! dies in between is finished by the next one. A key that an agent keeps has
//! `signing.key.next.pub` alone.

use std::fs;
use std::path::Path;

use super::signing::public_path;
use super::{
    ALLOWED_SIGNERS, KeyError, Random, SIGNING_KEY, SigningKey, allowed_signers, read_public_key,
    vault,
};
use crate::record::signature::{PRINCIPAL, PublicKey};

const NEXT: &str = "signing.key.next";

/// Whether there is a next key.
pub fn is_begun(dir: &Path) -> bool {
    dir.join(NEXT).exists() || public_path(&dir.join(NEXT)).exists()
}

/// Notes that an agent's key is the next one.
pub fn prepare_agent(dir: &Path, next: &PublicKey) -> Result<(), KeyError> {
    let text = format!("{next} {PRINCIPAL}\n");
    vault::replace(
        &public_path(&dir.join(NEXT)),
        text.as_bytes(),
        vault::PUBLIC_MODE,
    )
}

/// The next key of a directory of keys; made now unless an earlier rotation left it.
pub fn prepare(dir: &Path, random: Random<'_>) -> Result<SigningKey, KeyError> {
    let path = dir.join(NEXT);
    if path.exists() {
        return SigningKey::load(&path);
    }
    // A public half without its private one is what a process left that died while it made them.
    let _ = fs::remove_file(public_path(&path));
    let key = SigningKey::generate(random)?;
    key.save_new(&path)?;
    Ok(key)
}

/// Puts the next key in its place when it is the one in force; false when there is nothing to do.
///
/// Durable on return. The old private key is gone then: it signs nothing any more, and what it
/// signed stays valid by `allowed_signers`.
pub fn finish(dir: &Path, in_force: &PublicKey) -> Result<bool, KeyError> {
    let next = dir.join(NEXT);
    let key = match (next.exists(), public_path(&next).exists()) {
        (true, _) => SigningKey::load(&next)?.public(),
        (false, true) => read_public_key(&public_path(&next))?,
        (false, false) => return Ok(false),
    };
    if key != *in_force {
        return Ok(false);
    }
    let signers = dir.join(ALLOWED_SIGNERS);
    let mut known = allowed_signers::load(&signers)?;
    if !known.contains(in_force) {
        known.push(*in_force);
        vault::replace(
            &signers,
            allowed_signers::render(&known).as_bytes(),
            vault::PUBLIC_MODE,
        )?;
    }
    let place = dir.join(SIGNING_KEY);
    move_to(&public_path(&next), &public_path(&place))?;
    move_to(&next, &place)?;
    Ok(true)
}

fn move_to(from: &Path, to: &Path) -> Result<(), KeyError> {
    match fs::rename(from, to) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(vault::io_error("rename", from, e))
        }
        _ => vault::sync_dir_of(to),
    }
}
