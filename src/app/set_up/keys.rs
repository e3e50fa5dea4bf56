//! Who may ask, and who signs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use zeroize::Zeroizing;

use crate::config::{Config, SignedBy};
use crate::home::Home;
use crate::keys::agent::SOCKET_ENV;
use crate::keys::{ALLOWED_SIGNERS, AuthKey, Signer, allowed_signers, os_random};
use crate::record::signature::PublicKey;
use crate::recorder::{AuthKeyChange, RecorderError, is_last, revocable, signers};
use crate::session;
use crate::store::{AuthKeyRow, ReadStore, Store};

use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::home::secrets::{auth_key, new_passphrase, unsealed, work_factor};
use crate::app::look::session::SessionClosePlan;
use crate::app::prove::tree_heads::{self, ThirdPartyReport};
use crate::app::prove::witness;
use crate::app::redacted::no_secret;

/// The longest name of a key; it stands in the public log.
const MAX_NAME: usize = 64;

/// Checks a key's name: it is public, so it says no more than it must.
pub fn check_name(text: &str) -> Result<(), String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(fits) {
        return Ok(());
    }
    Err(format!(
        "a name is 1 to {MAX_NAME} of a-z, A-Z, 0-9, '.', '_' and '-'"
    ))
}

/// An auth key that was made: the only time that it can be read.
pub struct NewAuthKey {
    /// What is kept of it.
    pub row: AuthKeyRow,
    /// Text of the new key, shown once and not kept.
    pub key: Zeroizing<String>,
}

/// Makes another auth key.
pub async fn add(opened: &OpenHome, name: &str) -> Result<NewAuthKey, OpenHomeError> {
    no_secret("NAME", name)?;
    opened.authorize().await?;
    let key = AuthKey::generate(&mut os_random)?;
    let (salt, now) = (open::fresh_salt()?, open::clock()?);
    let change = AuthKeyChange::Add {
        name: name.to_owned(),
        hash: key.hash(),
    };
    let row = opened.recorder.change_auth_key(change, salt, now).await?;
    Ok(NewAuthKey {
        row,
        key: key.reveal(),
    })
}

/// All auth keys of a home, revoked ones too.
pub fn list(home: &Home) -> Result<Vec<AuthKeyRow>, OpenHomeError> {
    Ok(open::store(home)?.auth_keys()?)
}

/// An auth key that opens this home no more.
pub struct KeyRevocation {
    /// Row of the key that was revoked.
    pub row: AuthKeyRow,
    /// Sessions that it opened and that are still open.
    pub open_sessions: usize,
}

/// What revoking an auth key would do: looked up, and nothing done yet.
#[derive(Clone, Debug)]
pub struct RevocationPlan {
    /// Row of the key that would be revoked.
    pub row: AuthKeyRow,
    /// Sessions that it opened and that are open.
    pub open_sessions: usize,
    /// Whether no key is left then that opens this home.
    pub is_last: bool,
}

/// Looks up what revoking an auth key would do; `force` even if it is the last one.
pub fn plan_revocation(
    store: &ReadStore,
    name: &str,
    force: bool,
) -> Result<RevocationPlan, OpenHomeError> {
    let keys = store.auth_keys()?;
    let row = revocable(&keys, name, force).map_err(RecorderError::from)?;
    Ok(RevocationPlan {
        row: row.clone(),
        open_sessions: sessions_of(store, row)?,
        is_last: is_last(&keys),
    })
}

fn sessions_of(store: &ReadStore, key: &AuthKeyRow) -> Result<usize, OpenHomeError> {
    let sessions = store.open_sessions()?;
    let of_this_key = sessions
        .iter()
        .filter(|session| session.auth_key_hash == key.hash);
    Ok(of_this_key.count())
}

/// Revokes the auth key of a plan, for ever. An auth key was asked for.
pub async fn revoke(
    opened: &OpenHome,
    plan: &RevocationPlan,
) -> Result<KeyRevocation, OpenHomeError> {
    let (salt, now) = (open::fresh_salt()?, open::clock()?);
    // Forced only as far as the plan says so: another key may be revoked meanwhile.
    let change = AuthKeyChange::Revoke {
        name: plan.row.name.clone(),
        force: plan.is_last,
    };
    let row = opened.recorder.change_auth_key(change, salt, now).await?;
    Ok(KeyRevocation {
        open_sessions: sessions_of(&opened.store, &row)?,
        row,
    })
}

/// What putting the next signing key in force would do: looked up, and nothing done yet.
#[derive(Clone, Debug)]
pub struct RotationPlan {
    /// The key that signs now.
    pub old: PublicKey,
    /// The agent's key that would sign; a file's is made when it is done.
    pub next: Option<PublicKey>,
    /// The sessions that are closed first.
    pub closes: SessionClosePlan,
}

/// What others pin of a ledger.
#[derive(Clone, Debug)]
pub struct LedgerSigners {
    /// The ledger's name.
    pub origin: String,
    /// Every key that ever signed, in the order in which they came into force.
    pub keys: Vec<PublicKey>,
    /// The one that signs now.
    pub in_force: PublicKey,
}

/// What others pin of a home's ledger, as it is on record.
pub fn signers_to_pin(home: &Home) -> Result<LedgerSigners, OpenHomeError> {
    let store = open::store(home)?;
    let text = signers(&store)?;
    let text = String::from_utf8_lossy(&text);
    Ok(LedgerSigners {
        origin: Home::genesis(&store)?.origin,
        keys: allowed_signers::parse(&text, "allowed_signers on main")?,
        in_force: store.head()?.signer,
    })
}

/// A signing key that was put in force.
pub struct KeyRotation {
    /// The key before it.
    pub old: PublicKey,
    /// The key that signs now.
    pub new: PublicKey,
    /// Whether an SSH agent has it.
    pub is_in_agent: bool,
    /// The log's key for the operators of witnesses; none without a witness.
    pub log_key: Option<String>,
    /// What calendars and witnesses said of the rotation's tree head.
    pub outside: ThirdPartyReport,
}

/// Looks up what the next signing key would be: a new file, or the agent's key of a public key
/// file.
pub fn plan_rotation(
    home: &Home,
    config: &Config,
    store: &Store,
    to: Option<&Path>,
) -> Result<RotationPlan, OpenHomeError> {
    let agent = match config.keys.signer() {
        SignedBy::Agent { wait } => Some(wait),
        SignedBy::File => None,
    };
    let refuse = |why: &str| Err(OpenHomeError::Refused(why.to_owned()));
    match (agent, to) {
        (Some(_), None) => {
            return refuse(
                "the agent makes no keys. Make one (ssh-keygen -t ed25519 -f FILE), ssh-add FILE, then: \
                 gently key rotate --to FILE.pub",
            );
        }
        (None, Some(_)) => {
            return refuse(
                "--to names a key of an SSH agent, and [keys] signer is \"file\": leave --to away, a new file is made",
            );
        }
        _ => {}
    }
    let next = to
        .zip(agent)
        .map(|(file, wait)| agent_key(file, wait))
        .transpose()?;
    if let Some(key) = next
        && allowed_signers::load(&home.root().join("keys").join(ALLOWED_SIGNERS))?.contains(&key)
    {
        // The recorder refuses it, too: here no session is closed for it, and it is not noted as
        // the next.
        return Err(RecorderError::KeyNotNew { key }.into());
    }
    Ok(RotationPlan {
        old: store.head()?.signer,
        next,
        closes: SessionClosePlan::of(&home.paths(), store, store.open_sessions()?)?,
    })
}

/// Puts the next signing key of a plan in force; closes all sessions first. The auth key was asked
/// for.
pub async fn rotate(
    opened: OpenHome,
    plan: &RotationPlan,
    notice: &dyn Fn(&str),
) -> Result<KeyRotation, OpenHomeError> {
    let environment = opened.environment("", notice);
    let before = tree_heads::main_tip(&opened)?;
    for open in opened.store.open_sessions()? {
        session::close(&environment, open.id).await?;
    }
    let old = opened.store.head()?.signer;
    let new = match plan.next {
        Some(next) => opened.home.next_agent_key(&next).map(|()| next)?,
        None => opened.home.next_signing_key(&mut os_random)?.public(),
    };
    opened.recorder.rotate(new, open::clock()?).await?;
    // The rotation's tree head is signed by the old key, which witnesses know: the last that they
    // take by it.
    let outside = tree_heads::after(&opened, before).await;
    let (home, config) = (opened.home.clone(), opened.config.clone());
    // The recorder signs with the old key: it ends before the new one takes its place.
    drop(opened);
    open::finish_rotation(&home)?;
    Ok(KeyRotation {
        old,
        new,
        is_in_agent: plan.next.is_some(),
        log_key: witness::log_key_for_operators(&home, &config)?,
        outside,
    })
}

/// The key of a public key file, when the agent has its private half.
fn agent_key(file: &Path, wait: Duration) -> Result<PublicKey, OpenHomeError> {
    let socket = open::env(SOCKET_ENV).map(PathBuf::from);
    Ok(Signer::agent(file, socket.as_deref(), wait)?.public())
}

/// Puts a passphrase on the vault file; gives where it is.
pub async fn protect(opened: &OpenHome) -> Result<PathBuf, OpenHomeError> {
    opened.authorize().await?;
    let path = opened.home.auth_key_path();
    if AuthKey::is_protected(&path)? {
        return Err(OpenHomeError::Refused(
            "keys/auth.key has a passphrase already; take it off first: gently key unprotect"
                .to_owned(),
        ));
    }
    let key = AuthKey::load(&path)?;
    let chosen = new_passphrase(&opened.config, &path.display().to_string())?;
    key.protect(&path, &chosen, work_factor())?;
    Ok(path)
}

/// Takes the passphrase off the vault file again; gives where it is.
pub async fn unprotect(opened: &OpenHome) -> Result<PathBuf, OpenHomeError> {
    let path = opened.home.auth_key_path();
    if !AuthKey::is_protected(&path)? {
        return Err(OpenHomeError::Refused(
            "keys/auth.key has no passphrase; put one on it with: gently key protect".to_owned(),
        ));
    }
    opened.authorize().await?;
    // If it is the key that was just presented, nobody is asked again.
    unsealed(&path, &opened.config)?.unprotect(&path)?;
    Ok(path)
}

/// Checks the auth key without writing anything: for homes that may not be written to yet.
pub fn is_known(home: &Home, config: &Config) -> Result<(), OpenHomeError> {
    let key = auth_key(home, config)?;
    let store = open::store(home)?;
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
