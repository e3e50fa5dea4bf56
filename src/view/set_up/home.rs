//! A home.

use serde::Serialize;

use crate::app::set_up::init::NewHome;

/// A home that was made.
#[derive(Clone, Debug, Serialize)]
pub struct HomeView {
    /// Where it is.
    pub home: String,
    /// The ledger's name.
    pub origin: String,
    /// Its first key.
    pub signer: String,
    /// The chain whose blocks it names.
    pub network: &'static str,
    /// How texts are committed to.
    pub commitments: &'static str,
    /// What somebody does next, as commands.
    pub next: [&'static str; 2],
}

impl HomeView {
    /// Of a home and its genesis.
    pub fn of(NewHome { home, genesis }: &NewHome) -> Self {
        HomeView {
            home: home.root().display().to_string(),
            origin: genesis.origin.clone(),
            signer: genesis.signer.to_string(),
            network: genesis.network.name(),
            commitments: genesis.commitments.name(),
            next: [
                "gently ask \"How is this machine doing?\"",
                "gently model list",
            ],
        }
    }
}
