//! What each block source says now, and the block that comes of it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::anchor::agree::{Observation, observe_beside};
use crate::config::Config;
use crate::home::Home;
use crate::record::bitcoin::block::Network;
use crate::recorder::block_elsewhere;

use crate::app::home::open::{self, OpenHomeError};

/// What sources say.
pub struct AnchorStatus {
    /// Bitcoin network whose blocks anchor this record.
    pub network: Network,
    /// Who was asked, and how they have to agree.
    pub config: Config,
    /// What they said.
    pub seen: Observation,
    /// Why no session can ever be anchored with this configuration.
    pub misconfigured: Option<String>,
}

/// Asks every source; writes nothing.
///
/// Of a home only the configuration and the genesis are read; without one the defaults and
/// `bitcoin` are taken.
pub async fn status(root: &Path) -> Result<AnchorStatus, OpenHomeError> {
    let store = Home::open(root)?
        .map(|home| open::store(&home))
        .transpose()?;
    let network = match &store {
        Some(store) => Home::genesis(store)?.network,
        None => Network::Bitcoin,
    };
    let config = Config::load(root, &open::env)?;
    let sources = open::sources(&config, network)?;
    let names: BTreeSet<&str> = sources.iter().map(|source| source.name()).collect();
    let here = names.len();
    // One source is no quorum of two, whatever it answers.
    let unreachable = config
        .anchor
        .quorum
        .filter(|quorum| (1..*quorum).contains(&here));
    let misconfigured = unreachable.map(|quorum| {
        format!(
            "anchor.quorum is {quorum}, sources are {here}: no session can be anchored. \
             Add sources, or: gently config set anchor.quorum {here}"
        )
    });
    let known = |hash, height| {
        let store = store.as_ref()?;
        block_elsewhere(store, hash, height).ok().flatten()
    };
    let seen = observe_beside(
        &sources,
        network,
        open::policy(&config),
        open::clock()?,
        &known,
    )
    .await;
    Ok(AnchorStatus {
        network,
        config,
        seen,
        misconfigured,
    })
}
