//! Bitcoin blocks as the ledger names them (format, section 5).

use serde::{Deserialize, Serialize};

use crate::record::hash::Hash32;
use crate::record::time::Seconds;

pub use super::header::{Header, HeaderFault, HeaderFields, check_anchor, check_header};

/// Which chain a ledger's blocks are of; chosen once, in `genesis.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Bitcoin's main network.
    Bitcoin,
    /// The test network testnet4.
    Testnet4,
    /// The default signet.
    Signet,
    /// A private chain for tests.
    Regtest,
}

impl Network {
    /// The spelling in documents and configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Network::Bitcoin => "bitcoin",
            Network::Testnet4 => "testnet4",
            Network::Signet => "signet",
            Network::Regtest => "regtest",
        }
    }
}

impl std::str::FromStr for Network {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        [
            Network::Bitcoin,
            Network::Testnet4,
            Network::Signet,
            Network::Regtest,
        ]
        .into_iter()
        .find(|n| n.name() == text)
        .ok_or_else(|| format!("unknown network '{text}': bitcoin, testnet4, signet or regtest"))
    }
}

/// Who told of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// An Esplora explorer.
    Esplora,
    /// A Bitcoin node.
    Bitcoind,
    /// A headers file.
    File,
    /// Nobody: no anchor.
    Local,
}

/// A block as documents name it: `{"hash","height","network","source","time"}`.
///
/// `hash` is the display order (byte-reversed double SHA-256), 64 digits. The `local` block has
/// hash zero, height 0 and the local time: no height is ever invented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// As explorers print it.
    pub hash: Hash32,
    /// 0 for `local`.
    pub height: u32,
    /// Network of the ledger, whose block it is.
    pub network: Network,
    /// Which kind of source told of it.
    pub source: Source,
    /// The header's time; the local clock's for `local`.
    pub time: Seconds,
}

impl Block {
    /// The block that says: nobody could be asked.
    pub fn local(network: Network, time: Seconds) -> Self {
        Block {
            hash: Hash32::ZERO,
            height: 0,
            network,
            source: Source::Local,
            time,
        }
    }

    /// Whether this is the `local` block.
    pub fn is_local(&self) -> bool {
        self.source == Source::Local
    }

    /// `branch-(height mod 7 + 1)`.
    pub fn branch(&self) -> String {
        branch_of(self.height)
    }
}

/// The branch that sessions of this height are committed on.
pub fn branch_of(height: u32) -> String {
    format!("branch-{}", height % 7 + 1)
}

/// A block with the header that proves it: what a block source hands out and a session starts or
/// ends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The block itself.
    pub block: Block,
    /// Its header; none exactly for `local`.
    pub header: Option<Header>,
}

impl Anchor {
    /// The `local` block: no anchor.
    pub fn local(network: Network, time: Seconds) -> Self {
        Anchor {
            block: Block::local(network, time),
            header: None,
        }
    }

    /// Checks block and header as format section 9 says, and that height and time belong together:
    /// what a writer takes from a source.
    pub fn check(&self, ledger_network: Network) -> Result<(), HeaderFault> {
        check_anchor(self.header.as_ref(), &self.block, ledger_network)?;
        super::fit::check_height(&self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_vectors() {
        let vectors: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../tests/vectors/branch.json")).unwrap();
        assert!(!vectors.is_empty());
        for v in vectors {
            let height = u32::try_from(v["height"].as_u64().unwrap()).unwrap();
            assert_eq!(branch_of(height), v["branch"].as_str().unwrap());
        }
    }
}
