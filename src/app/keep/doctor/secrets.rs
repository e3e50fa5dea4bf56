//! The keys at hand against those in force; no key is shown.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::config::SignedBy;
use crate::keys::agent::SOCKET_ENV;
use crate::keys::{self, AUTH_KEY_ENV, AuthKey, Signer, SigningKey, allowed_signers};
use crate::os::shell_word;
use crate::record::hash::Hash32;
use crate::record::signature::PublicKey;
use crate::recorder::signers;
use crate::store::Store;

use super::DoctorCheck;
use crate::app::home::open;
use crate::app::words::counted;

/// How a file under a passphrase begins, armored or not.
const SEALED: [&[u8]; 2] = [b"-----BEGIN AGE", b"age-encryption.org"];

/// The signing key is the one in force, and `allowed_signers` has it.
pub fn signing(root: &Path, store: &Store, signer: SignedBy) -> DoctorCheck {
    const NAME: &str = "signing key";
    let folder = root.join("keys");
    let path = folder.join(keys::SIGNING_KEY);
    let in_force = match store.head() {
        Ok(head) => head.signer,
        Err(error) => return DoctorCheck::fail(NAME, error.to_string(), "gently audit verify"),
    };
    let (key, who) = match signer {
        SignedBy::File => (
            SigningKey::load(&path).map(|key| key.public()),
            "keys/signing.key",
        ),
        SignedBy::Agent { wait } => {
            let socket = open::env(SOCKET_ENV).map(PathBuf::from);
            let key = Signer::agent(&folder.join(keys::SIGNING_KEY_PUB), socket.as_deref(), wait);
            (key.map(|key| key.public()), "an SSH agent")
        }
    };
    let key = match (key, signer) {
        (Ok(key), _) => key,
        (Err(error), SignedBy::File) => {
            return DoctorCheck::fail(
                NAME,
                error.to_string(),
                "put keys/signing.key back from a backup",
            );
        }
        (Err(error), SignedBy::Agent { .. }) => {
            return DoctorCheck::fail(NAME, error.to_string(), "ssh-add FILE");
        }
    };
    if key != in_force {
        let found = format!("{who} has {key}, but the key in force is {in_force}");
        let mend = match signer {
            SignedBy::File => "put the key in force back as keys/signing.key, with mode 0600",
            SignedBy::Agent { .. } => "put the public key in force back as keys/signing.key.pub",
        };
        return DoctorCheck::fail(NAME, found, mend);
    }
    let file = folder.join(keys::ALLOWED_SIGNERS);
    let line = in_force.allowed_signers_line();
    let mend = format!(
        "printf '%s\\n' '{}' >> {}",
        line.trim_end(),
        shell_word(&file)
    );
    match allowed_signers::load(&file) {
        Ok(known) if known.contains(&in_force) => match foreign(store, &known) {
            Ok(None) => DoctorCheck::ok(
                NAME,
                format!(
                    "{who} has the key in force, and allowed_signers lists it ({})",
                    counted(known.len(), "key")
                ),
            ),
            Ok(Some(foreign)) => DoctorCheck::fail(
                NAME,
                format!(
                    "{} lists a key that never signed this record: {foreign}",
                    file.display()
                ),
                "remove that line; gently key show prints the keys that others should pin",
            ),
            Err(error) => DoctorCheck::fail(NAME, error, "gently audit verify"),
        },
        Ok(_) => DoctorCheck::fail(
            NAME,
            format!("{} does not list the key in force", file.display()),
            mend,
        ),
        Err(error) => DoctorCheck::fail(NAME, error.to_string(), mend),
    }
}

/// The first key of a file of signers that is none of the record's: whoever pins it trusts it.
fn foreign(store: &Store, known: &[PublicKey]) -> Result<Option<PublicKey>, String> {
    let text = signers(store).map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&text);
    let own = allowed_signers::parse(&text, "allowed_signers on main");
    let own = own.map_err(|e| e.to_string())?;
    Ok(known.iter().find(|key| !own.contains(key)).copied())
}

/// The auth key at hand is one of this home's, and not revoked.
pub fn auth(root: &Path, store: &Store) -> DoctorCheck {
    const NAME: &str = "auth key";
    let path = root.join("keys").join(keys::AUTH_KEY);
    let (presented, place) = match open::env(AUTH_KEY_ENV) {
        Some(text) => (
            AuthKey::from_text(&text.to_string_lossy(), "$GENTLY_AUTH_KEY"),
            "$GENTLY_AUTH_KEY".to_owned(),
        ),
        None if is_sealed(&path) => {
            let found = format!(
                "{} is protected by a passphrase and was not opened",
                path.display()
            );
            return DoctorCheck::skipped(NAME, found);
        }
        None => (AuthKey::load(&path), path.display().to_string()),
    };
    let mend = format!(
        "put the key of this home into {} or ${AUTH_KEY_ENV}",
        shell_word(&path)
    );
    let key = match presented {
        Ok(key) => key,
        Err(error) => return DoctorCheck::fail(NAME, error.to_string(), mend),
    };
    let known = match store.auth_keys() {
        Ok(known) => known,
        Err(error) => return DoctorCheck::fail(NAME, error.to_string(), "gently audit verify"),
    };
    let hashes: Vec<Hash32> = known.iter().map(|row| row.hash).collect();
    let row = key
        .find_in(&hashes)
        .and_then(|hash| known.iter().find(|row| row.hash == hash));
    match row {
        None => DoctorCheck::fail(NAME, format!("{place} is not a key of this home"), mend),
        Some(row) => match row.revoked_at {
            Some(at) => DoctorCheck::fail(
                NAME,
                format!("{place} is '{}', revoked {at}", row.name),
                mend,
            ),
            None => DoctorCheck::ok(NAME, format!("{place} is '{}'", row.name)),
        },
    }
}

fn is_sealed(path: &Path) -> bool {
    const BEGINNING: u64 = 32;
    let mut start = Vec::new();
    let read =
        crate::os::open_regular(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut start));
    read.is_ok() && SEALED.iter().any(|mark| start.starts_with(mark))
}
