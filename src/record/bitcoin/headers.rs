//! A chain of block headers: each on the one before, with its work and the right difficulty
//! (format, section 9).
//!
//! A chain starts at the network's first block, or on mainnet at any height 2016 × *k* whose
//! previous block is in the built-in table. Checked is: the link, the proof of work, and `bits`,
//! which change every 2016 blocks by the time that the last 2016 took. On testnet4, whose rule
//! about `bits` has exceptions, `bits` are only held against the network's limit.

use bitcoin::consensus::Params;
use bitcoin::constants::genesis_block;
use bitcoin::{CompactTarget, Target};

use super::block::Network;
use super::epochs;
use super::epochs::EPOCH_BLOCKS;
use super::header::{Header, HeaderFault, HeaderFields, check_bits, check_work};
use crate::record::hash::Hash32;

/// Why a chain can't start, or does not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// Nothing built in says what comes before this height.
    #[error(
        "a chain of {} headers can't start at height {height}: expected 0{or_a_multiple}",
        network.name()
    )]
    Start {
        /// Network that the headers are of.
        network: Network,
        /// The height asked for.
        height: u32,
        /// What else would do.
        or_a_multiple: &'static str,
    },
    /// The header is not on top of the one before.
    #[error("header {height}: it follows {actual}, expected {expected}")]
    Link {
        /// Height of the header that does not follow.
        height: u32,
        /// The header before.
        expected: Hash32,
        /// What it names.
        actual: Hash32,
    },
    /// Not the network's first block.
    #[error("header 0: expected {expected}, found {actual}")]
    First {
        /// Hash of the network's first block.
        expected: Hash32,
        /// Hash of the first header that was given.
        actual: Hash32,
    },
    /// Another difficulty than the rule gives.
    #[error("header {height}: expected bits {expected:08x}, found {actual:08x}")]
    Difficulty {
        /// Height of the header.
        height: u32,
        /// What the rule gives.
        expected: u32,
        /// Compact difficulty target in the header.
        actual: u32,
    },
    /// The built-in table has another block there.
    #[error("header {height}: the table has {expected}, found {actual}")]
    Table {
        /// Height of the header.
        height: u32,
        /// Hash in the difficulty table.
        expected: Hash32,
        /// Hash of the header that was given.
        actual: Hash32,
    },
    /// Its target or its work.
    #[error("header {height}: {fault}")]
    Work {
        /// Height of the header whose hash is above its target.
        height: u32,
        /// What is wrong.
        fault: HeaderFault,
    },
}

/// The state of a chain: enough to check the next header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderChain {
    network: Network,
    /// Height of the next header.
    next: u32,
    /// Hash of the header before it; none before the first block.
    last: Option<Hash32>,
    /// Bits and time of the header before it, once there is one.
    before: Option<HeaderFields>,
    /// Time of the first header of the running 2016, once there is one.
    epoch_start: Option<u64>,
    /// The last `bits` that were a target of the network, and it: 2016 headers share one.
    target: Option<(u32, Target)>,
}

impl HeaderChain {
    /// A chain whose first header will be the one at `height`.
    pub fn starting_at(network: Network, height: u32) -> Result<Self, ChainFault> {
        let known = match height.checked_sub(1) {
            None => Some(None),
            Some(before) if network == Network::Bitcoin => epochs::last_hash(before).map(Some),
            Some(_) => None,
        };
        let or_a_multiple = if network == Network::Bitcoin {
            ", or a multiple of 2016 that the built-in table reaches"
        } else {
            ""
        };
        let last = known.ok_or(ChainFault::Start {
            network,
            height,
            or_a_multiple,
        })?;
        Ok(HeaderChain {
            network,
            next: height,
            last,
            before: None,
            epoch_start: None,
            target: None,
        })
    }

    /// Height of the next header.
    pub const fn next_height(&self) -> u32 {
        self.next
    }

    /// Hash of the newest header; none when none was taken.
    pub fn tip(&self) -> Option<Hash32> {
        self.before.and(self.last)
    }

    /// Checks the next header and takes it; a chain that refused one stays as it was.
    pub fn push(&mut self, header: &Header) -> Result<Hash32, ChainFault> {
        let (height, fields, hash) = (self.next, header.fields(), header.hash());
        match self.last {
            Some(expected) if fields.prev != expected => {
                return Err(ChainFault::Link {
                    height,
                    expected,
                    actual: fields.prev,
                });
            }
            None if hash != first_hash(self.network) => {
                return Err(ChainFault::First {
                    expected: first_hash(self.network),
                    actual: hash,
                });
            }
            _ => {}
        }
        let work = |fault| ChainFault::Work { height, fault };
        let known = self.target.filter(|(bits, _)| *bits == fields.bits);
        let target = known
            .map_or_else(
                || check_bits(fields.bits, self.network),
                |(_, target)| Ok(target),
            )
            .map_err(work)?;
        check_work(hash, fields.bits, target).map_err(work)?;
        match self.expected_bits() {
            Some(expected) if fields.bits != expected => {
                return Err(ChainFault::Difficulty {
                    height,
                    expected,
                    actual: fields.bits,
                });
            }
            _ => {}
        }
        if let Some(expected) = self.table_hash(height).filter(|expected| *expected != hash) {
            return Err(ChainFault::Table {
                height,
                expected,
                actual: hash,
            });
        }
        if height.is_multiple_of(EPOCH_BLOCKS) {
            self.epoch_start = Some(fields.time.get());
        }
        (self.before, self.last, self.next) = (Some(fields), Some(hash), height + 1);
        self.target = Some((fields.bits, target));
        Ok(hash)
    }

    fn table_hash(&self, height: u32) -> Option<Hash32> {
        if self.network == Network::Bitcoin {
            epochs::last_hash(height)
        } else {
            None
        }
    }

    /// What the next header's `bits` must be; none where only the network's limit holds.
    fn expected_bits(&self) -> Option<u32> {
        if self.network == Network::Testnet4 {
            return None;
        }
        let Some(before) = &self.before else {
            return if self.network == Network::Bitcoin {
                epochs::bits_at(self.next)
            } else {
                None
            };
        };
        if !self.next.is_multiple_of(EPOCH_BLOCKS) {
            return Some(before.bits);
        }
        let took = before.time.get().saturating_sub(self.epoch_start?);
        let last = CompactTarget::from_consensus(before.bits);
        let next = CompactTarget::from_next_work_required(last, took, params(self.network));
        Some(next.to_consensus())
    }
}

fn params(network: Network) -> &'static Params {
    match network {
        Network::Bitcoin => &Params::BITCOIN,
        Network::Testnet4 => &Params::TESTNET4,
        Network::Signet => &Params::SIGNET,
        Network::Regtest => &Params::REGTEST,
    }
}

fn first_hash(network: Network) -> Hash32 {
    let block = genesis_block(params(network));
    Header::from_bytes(header_bytes(&block.header)).hash()
}

fn header_bytes(header: &bitcoin::block::Header) -> [u8; 80] {
    let mut bytes = [0; 80];
    // A header is six fixed fields of 80 bytes in all.
    bytes.copy_from_slice(&bitcoin::consensus::serialize(header));
    bytes
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
