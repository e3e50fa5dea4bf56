//! The 80-byte block header, and what makes one acceptable for a block (format, section 9).
//!
//! ```text
//! offset  0    4         36           68    72    76
//!         version│ prev  │ merkle root │ time │ bits │ nonce      integers little-endian
//! ```

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, CompactTarget, Target, TxMerkleNode};

use super::block::{Block, Network};
use super::epochs;
use super::epochs::MAINNET_LIMIT;
use crate::record::hash::Hash32;
use crate::record::time::{Seconds, TimeError};

/// An 80-byte block header, spelled as 160 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header([u8; 80]);

/// What a header says; hashes in display order, as explorers print them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderFields {
    /// The block before.
    pub prev: Hash32,
    /// The root over the block's transactions (OpenTimestamps attests it in the reverse byte
    /// order).
    pub merkle_root: Hash32,
    /// The miner's clock.
    pub time: Seconds,
    /// The compact target.
    pub bits: u32,
}

impl Header {
    /// Wraps raw bytes.
    pub const fn from_bytes(bytes: [u8; 80]) -> Self {
        Header(bytes)
    }

    /// The raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 80] {
        &self.0
    }

    /// The block's hash: double SHA-256, byte-reversed.
    pub fn hash(&self) -> Hash32 {
        displayed(*Hash32::digest(Hash32::digest(&self.0).as_bytes()).as_bytes())
    }

    /// Reads the fields; every 80 bytes have them.
    pub fn fields(&self) -> HeaderFields {
        let header = self.parsed();
        let time: Result<Seconds, TimeError> = Seconds::new(u64::from(header.time));
        HeaderFields {
            prev: displayed(header.prev_blockhash.to_byte_array()),
            merkle_root: displayed(TxMerkleNode::to_byte_array(header.merkle_root)),
            time: time.expect("32 bits of seconds end in 2106"),
            bits: header.bits.to_consensus(),
        }
    }

    fn parsed(&self) -> bitcoin::block::Header {
        bitcoin::consensus::deserialize(&self.0)
            .expect("a header is six fixed fields, any 80 bytes hold them")
    }
}

fn displayed(mut bytes: [u8; 32]) -> Hash32 {
    bytes.reverse();
    Hash32::from_bytes(bytes)
}

impl std::fmt::Display for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Header {
    type Err = HeaderFault;
    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        let fault = || HeaderFault::Form { digits: text.len() };
        if text.len() != 160
            || text
                .bytes()
                .any(|b| !matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        {
            return Err(fault());
        }
        let mut bytes = [0; 80];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| fault())?;
        Ok(Header(bytes))
    }
}

/// Why a header is not accepted for a block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// Not 160 lower-case digits.
    #[error("a block header is 160 lower-case hexadecimal digits, this has {digits} characters")]
    Form {
        /// How many characters there are.
        digits: usize,
    },
    /// A block of `bitcoind`, `esplora` or `file` without its header.
    #[error("block {height} ({hash}) comes without its header, so nothing shows that it exists")]
    Missing {
        /// The block's height.
        height: u32,
        /// The block's hash.
        hash: Hash32,
    },
    /// A `local` block with a header.
    #[error("a local block has no header, this one comes with that of {actual}")]
    OfLocal {
        /// Hash of the header found.
        actual: Hash32,
    },
    /// A `local` block that names a height or a hash.
    #[error("a local block has height 0 and hash zero, this one says height {height}, hash {hash}")]
    LocalNamesBlock {
        /// The height it says.
        height: u32,
        /// The hash it says.
        hash: Hash32,
    },
    /// A block of another chain than the ledger's.
    #[error("the ledger is of network {}, the block of {}", expected.name(), actual.name())]
    Network {
        /// Network of the ledger.
        expected: Network,
        /// Network of the block.
        actual: Network,
    },
    /// The header is another block's.
    #[error("the block is named {expected}, its header hashes to {actual}")]
    Hash {
        /// The block's hash.
        expected: Hash32,
        /// Double SHA-256 of the header, byte-reversed.
        actual: Hash32,
    },
    /// The block's time is not its header's.
    #[error("the block says time {}, its header {}", expected.get(), actual.get())]
    Time {
        /// The block's time.
        expected: Seconds,
        /// Time in the header.
        actual: Seconds,
    },
    /// `bits` is negative, zero, over 256 bits, or not the one spelling of its target.
    #[error("bits {actual:08x} are no target: {reason}")]
    Bits {
        /// Compact difficulty target in the header.
        actual: u32,
        /// What is wrong with them.
        reason: &'static str,
    },
    /// The target is easier than the network ever allows.
    #[error("bits {actual:08x} are easier than {} ever allows ({limit:08x})", network.name())]
    Limit {
        /// Network whose limit it is.
        network: Network,
        /// Its easiest bits.
        limit: u32,
        /// Compact difficulty target in the header.
        actual: u32,
    },
    /// The hash does not meet the header's own target.
    #[error("no proof of work: hash {hash} is above the target of bits {bits:08x}")]
    Work {
        /// The header's hash.
        hash: Hash32,
        /// The header's bits.
        bits: u32,
    },
    /// The height's epoch, which is in the table, has other bits.
    #[error("blocks of height {height} have bits {expected:08x}, this header has {actual:08x}")]
    Epoch {
        /// The height claimed.
        height: u32,
        /// The epoch's bits.
        expected: u32,
        /// Compact difficulty target in the header.
        actual: u32,
    },
    /// The block at an epoch's last height is not the table's.
    #[error("block {height} is {expected}, this is {actual}")]
    EpochEnd {
        /// The height claimed.
        height: u32,
        /// The table's hash.
        expected: Hash32,
        /// Hash of the header.
        actual: Hash32,
    },
    /// Height and time don't belong together ([`super::fit`]).
    #[error(
        "height {height} and time {time} don't belong together: blocks of that time have heights {lowest} to {highest}"
    )]
    Height {
        /// The height claimed.
        height: u32,
        /// The header's time.
        time: Seconds,
        /// The lowest height of that time.
        lowest: u32,
        /// The highest height of that time.
        highest: u32,
    },
}

/// Checks that a header shows the work of a block (format, section 9).
///
/// Without a headers store the height stays the source's claim, bounded by its epoch as far as the
/// built-in table reaches; whether it fits the time is [`super::fit::check_height`], whether the
/// work is worth anything [`super::epochs::is_cheap`]. Faults come in the order of [`HeaderFault`]:
/// form, network, hash, time, bits, limit, work, epoch. Never panics.
pub fn check_header(
    header: &Header,
    block: &Block,
    ledger_network: Network,
) -> Result<(), HeaderFault> {
    if block.is_local() {
        return Err(HeaderFault::OfLocal {
            actual: header.hash(),
        });
    }
    check_network(block, ledger_network)?;
    let hash = header.hash();
    let fields = header.fields();
    if hash != block.hash {
        return Err(HeaderFault::Hash {
            expected: block.hash,
            actual: hash,
        });
    }
    if fields.time != block.time {
        return Err(HeaderFault::Time {
            expected: block.time,
            actual: fields.time,
        });
    }
    let target = check_bits(fields.bits, block.network)?;
    check_work(hash, fields.bits, target)?;
    if block.network == Network::Bitcoin {
        check_epoch(block.height, hash, fields.bits)
    } else {
        Ok(())
    }
}

/// The target of `bits`; a fault when they are no target of the network.
pub(in crate::record) fn check_bits(bits: u32, network: Network) -> Result<Target, HeaderFault> {
    let (target, limit) = (target_of(bits)?, limit_of(network));
    if target > target_of(limit)? {
        return Err(HeaderFault::Limit {
            network,
            limit,
            actual: bits,
        });
    }
    Ok(target)
}

/// Whether a header's hash meets its target.
pub(in crate::record) fn check_work(
    hash: Hash32,
    bits: u32,
    target: Target,
) -> Result<(), HeaderFault> {
    let mut bytes = *hash.as_bytes();
    bytes.reverse();
    if target.is_met_by(BlockHash::from_byte_array(bytes)) {
        Ok(())
    } else {
        Err(HeaderFault::Work { hash, bits })
    }
}

/// Checks a block with or without a header: a real block needs one that [`check_header`] accepts, a
/// `local` one has none, height 0 and hash zero.
pub fn check_anchor(
    header: Option<&Header>,
    block: &Block,
    ledger_network: Network,
) -> Result<(), HeaderFault> {
    match header {
        Some(header) => check_header(header, block, ledger_network),
        None if !block.is_local() => Err(HeaderFault::Missing {
            height: block.height,
            hash: block.hash,
        }),
        None if block.height != 0 || block.hash != Hash32::ZERO => {
            Err(HeaderFault::LocalNamesBlock {
                height: block.height,
                hash: block.hash,
            })
        }
        None => check_network(block, ledger_network),
    }
}

fn check_network(block: &Block, ledger_network: Network) -> Result<(), HeaderFault> {
    if block.network == ledger_network {
        return Ok(());
    }
    Err(HeaderFault::Network {
        expected: ledger_network,
        actual: block.network,
    })
}

fn check_epoch(height: u32, hash: Hash32, bits: u32) -> Result<(), HeaderFault> {
    if let Some(expected) = epochs::bits_at(height).filter(|expected| *expected != bits) {
        return Err(HeaderFault::Epoch {
            height,
            expected,
            actual: bits,
        });
    }
    match epochs::last_hash(height) {
        Some(expected) if expected != hash => Err(HeaderFault::EpochEnd {
            height,
            expected,
            actual: hash,
        }),
        Some(_) | None => Ok(()),
    }
}

/// The easiest `bits` of a network.
pub const fn limit_of(network: Network) -> u32 {
    match network {
        Network::Bitcoin | Network::Testnet4 => MAINNET_LIMIT,
        Network::Signet => 0x1e03_77ae,
        Network::Regtest => 0x207f_ffff,
    }
}

/// Decodes `bits` as consensus does: sign, overflow and zero are faults, and so is a second
/// spelling, which no block can have because nodes compare `bits` with the one that they compute.
fn target_of(bits: u32) -> Result<Target, HeaderFault> {
    let fault = |reason| {
        Err(HeaderFault::Bits {
            actual: bits,
            reason,
        })
    };
    let (size, word) = (bits >> 24, bits & 0x007f_ffff);
    if bits & 0x0080_0000 != 0 {
        return fault("the sign bit is set");
    }
    if word != 0 && (size > 34 || (word > 0xff && size > 33) || (word > 0xffff && size > 32)) {
        return fault("the target is over 256 bits");
    }
    let target = Target::from_compact(CompactTarget::from_consensus(bits));
    if target == Target::ZERO {
        return fault("the target is zero");
    }
    if target.to_compact_lossy().to_consensus() != bits {
        return fault("not the one spelling of that target");
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::bitcoin::block::Source;

    const FIRST: &str = "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c";

    /// The header's own hash and time at a height, so that only what the case is about can be
    /// wrong.
    fn block_of(header: &Header, height: u32, network: Network) -> Block {
        Block {
            hash: header.hash(),
            height,
            network,
            source: Source::Esplora,
            time: header.fields().time,
        }
    }

    fn with_bits(bits: u32) -> Header {
        let mut bytes = [0; 80];
        bytes[72..76].copy_from_slice(&bits.to_le_bytes());
        Header::from_bytes(bytes)
    }

    /// A header that meets its own bits, which must be easy.
    fn mined(bits: u32) -> Header {
        let mut bytes = *with_bits(bits).as_bytes();
        let target = target_of(bits).unwrap();
        (0..u32::MAX)
            .map(|nonce: u32| {
                bytes[76..].copy_from_slice(&nonce.to_le_bytes());
                Header::from_bytes(bytes)
            })
            .find(|h| target.is_met_by(h.parsed().block_hash()))
            .unwrap()
    }

    #[test]
    fn the_first_block_is_accepted_and_read() {
        let header: Header = FIRST.parse().unwrap();
        assert_eq!(header.to_string(), FIRST);
        let block = block_of(&header, 0, Network::Bitcoin);
        assert_eq!(
            block.hash.to_string(),
            "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
        );
        let fields = header.fields();
        assert_eq!(
            (fields.prev, fields.time.get(), fields.bits),
            (Hash32::ZERO, 1_231_006_505, 0x1d00_ffff)
        );
        assert_eq!(
            fields.merkle_root.to_string(),
            "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"
        );
        assert_eq!(check_header(&header, &block, Network::Bitcoin), Ok(()));
    }

    #[test]
    fn one_header_has_one_spelling() {
        for text in [
            &FIRST.to_uppercase(),
            &FIRST[1..],
            &format!("{FIRST}0"),
            &format!(" {}", &FIRST[1..]),
            "",
        ] {
            assert_eq!(
                text.parse::<Header>(),
                Err(HeaderFault::Form { digits: text.len() }),
                "{text}"
            );
        }
    }

    #[test]
    fn hostile_bits_are_faults() {
        let cases = [
            (0, "the target is zero"),
            (0x0100_3456, "the target is zero"),
            (0x0080_0000, "the sign bit is set"),
            (0x0492_3456, "the sign bit is set"),
            (0x1d80_ffff, "the sign bit is set"),
            (0xffff_ffff, "the sign bit is set"),
            (0xff12_3456, "the target is over 256 bits"),
            (0x2300_0001, "the target is over 256 bits"),
            (0x2200_0100, "the target is over 256 bits"),
            (0x2101_0000, "the target is over 256 bits"),
            (0xff00_0000, "the target is zero"),
            (0x1e00_00ff, "not the one spelling of that target"),
            (0x0300_0012, "not the one spelling of that target"),
        ];
        for (bits, reason) in cases {
            let header = with_bits(bits);
            for network in [
                Network::Bitcoin,
                Network::Testnet4,
                Network::Signet,
                Network::Regtest,
            ] {
                let fault =
                    check_header(&header, &block_of(&header, 1, network), network).unwrap_err();
                assert_eq!(
                    fault,
                    HeaderFault::Bits {
                        actual: bits,
                        reason
                    },
                    "{bits:08x}"
                );
            }
        }
    }

    #[test]
    fn every_network_has_its_limit() {
        let easy = mined(0x207f_ffff);
        assert_eq!(
            check_header(
                &easy,
                &block_of(&easy, 5, Network::Regtest),
                Network::Regtest
            ),
            Ok(())
        );
        for network in [Network::Bitcoin, Network::Testnet4, Network::Signet] {
            let fault = HeaderFault::Limit {
                network,
                limit: limit_of(network),
                actual: 0x207f_ffff,
            };
            assert_eq!(
                check_header(&easy, &block_of(&easy, 5, network), network),
                Err(fault)
            );
        }
        let idle = with_bits(0x1e03_77ae);
        let fault =
            check_header(&idle, &block_of(&idle, 5, Network::Signet), Network::Signet).unwrap_err();
        assert_eq!(
            fault,
            HeaderFault::Work {
                hash: idle.hash(),
                bits: 0x1e03_77ae
            }
        );
    }
}
