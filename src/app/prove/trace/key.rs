//! Which key signs traces: the one that signs the ledger, or the raw seed of `trace.key_file`.

use std::path::Path;

use crate::config::Config;
use crate::home::Home;
use crate::keys::{KeyError, Signer, SigningKey};
use crate::record::signature::PublicKey;
use crate::record::trace::signed::KeyRegistration;

use crate::app::home::open::{self, OpenHome, OpenHomeError};

/// The key that signs traces, its public half.
pub struct TraceKey {
    /// What registers it with the other project.
    pub registration: KeyRegistration,
    /// The file that it is from; none where it is the ledger's own.
    pub file: Option<String>,
}

/// The key that signs the traces of a home. No private key of the ledger is read for it.
pub fn key(home: &Home) -> Result<TraceKey, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    let file = config.trace.key_file.as_deref();
    let public = public(&config, || Ok(store.head()?.signer))?;
    let description = format!("gently {}", Home::genesis(&store)?.origin);
    Ok(TraceKey {
        registration: KeyRegistration::new(&public, description),
        file: file.map(|path| path.display().to_string()),
    })
}

/// The public half of the seed in `trace.key_file`, else the ledger's.
pub(super) fn public(
    config: &Config,
    ledger: impl FnOnce() -> Result<PublicKey, OpenHomeError>,
) -> Result<PublicKey, OpenHomeError> {
    match config.trace.key_file.as_deref() {
        Some(path) => Ok(seed(path)?.public()),
        None => ledger(),
    }
}

/// What signs the traces of a home; none where it is what signs the ledger.
pub(super) fn own_signer(opened: &OpenHome) -> Result<Option<Signer>, OpenHomeError> {
    let file = opened.config.trace.key_file.as_deref();
    let key = file.map(seed).transpose()?;
    Ok(key.map(Signer::from))
}

fn seed(path: &Path) -> Result<SigningKey, KeyError> {
    SigningKey::load_seed(path).map_err(|e| match e {
        KeyError::Missing { path } => KeyError::NoSecretFile {
            key: "trace.key_file",
            path,
        },
        other => other,
    })
}
