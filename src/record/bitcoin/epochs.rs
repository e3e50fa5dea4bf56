//! Which proof of work a height must show: the difficulty epochs of Bitcoin mainnet (format,
//! section 9).

use std::sync::LazyLock;

use bitcoin::{CompactTarget, Target};

use super::block::Network;
use crate::record::hash::Hash32;

/// Blocks that share one target.
pub const EPOCH_BLOCKS: u32 = 2016;

/// The easiest `bits` that mainnet ever allows.
pub const MAINNET_LIMIT: u32 = 0x1d00_ffff;

/// The table that is built in; its first line says where it is from.
const TABLE: &str = include_str!("../../../genesis/btc-epochs.csv");

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    bits: u32,
    last_hash: Option<Hash32>,
}

static EPOCHS: LazyLock<Vec<Epoch>> =
    LazyLock::new(|| parse(TABLE).expect("the built-in table is constant, and a test parses it"));

/// The `bits` of a height of mainnet; none when its epoch is later than the table.
pub fn bits_at(height: u32) -> Option<u32> {
    let epoch = usize::try_from(height / EPOCH_BLOCKS).ok()?;
    EPOCHS.get(epoch).map(|epoch| epoch.bits)
}

/// Whether a header with these `bits` shows less than a sixteenth of the work that the table's last
/// epoch asks for, on `bitcoin`; on other networks no work is dear.
///
/// It holds at every height, in the table and beyond: where no chain of headers is at hand the
/// height is somebody's word, and whoever may choose it chooses one where next to nothing is asked
/// for. This much work nobody does for a lie.
pub fn is_cheap(network: Network, bits: u32) -> bool {
    let target = Target::from_compact(CompactTarget::from_consensus(bits));
    network == Network::Bitcoin
        && EPOCHS
            .last()
            .is_none_or(|last| target > sixteenfold(last.bits))
}

/// The hash of the block at this height, when it is the last of an epoch whose last hash is in the
/// table.
pub fn last_hash(height: u32) -> Option<Hash32> {
    if height % EPOCH_BLOCKS != EPOCH_BLOCKS - 1 {
        return None;
    }
    EPOCHS
        .get(usize::try_from(height / EPOCH_BLOCKS).ok()?)?
        .last_hash
}

/// Sixteen times the target of `bits`, which is at most [`MAINNET_LIMIT`], so that nothing is
/// shifted out.
fn sixteenfold(bits: u32) -> Target {
    fourfold(fourfold(Target::from_compact(
        CompactTarget::from_consensus(bits),
    )))
}

fn fourfold(target: Target) -> Target {
    target.max_transition_threshold_unchecked()
}

/// Reads `epoch,bits,last_hash` rows after comment lines and the column line; none when a row is
/// odd.
fn parse(table: &str) -> Option<Vec<Epoch>> {
    let mut rows = table.lines().skip_while(|line| line.starts_with('#'));
    if rows.next()? != "epoch,bits,last_hash" {
        return None;
    }
    rows.enumerate()
        .map(|(at, row)| parse_row(at, row))
        .collect()
}

fn parse_row(at: usize, row: &str) -> Option<Epoch> {
    let mut cells = row.split(',');
    let (epoch, bits, hash) = (cells.next()?, cells.next()?, cells.next()?);
    if cells.next().is_some() || epoch != at.to_string() || bits.len() != 8 {
        return None;
    }
    let last_hash = if hash == "-" {
        None
    } else {
        Some(hash.parse().ok()?)
    };
    Some(Epoch {
        bits: u32::from_str_radix(bits, 16).ok()?,
        last_hash,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(bits: u32) -> Target {
        Target::from_compact(CompactTarget::from_consensus(bits))
    }

    #[test]
    fn the_table_is_whole() {
        let epochs = parse(TABLE).unwrap();
        assert_eq!(epochs.len(), 474);
        assert!(epochs[..473].iter().all(|e| e.last_hash.is_some()));
        assert_eq!(epochs[473].last_hash, None);
        for (before, after) in epochs.iter().zip(&epochs[1..]) {
            assert!(
                target(after.bits) <= fourfold(target(before.bits)),
                "the rule holds inside the table too"
            );
            assert!(target(after.bits) <= target(MAINNET_LIMIT));
        }
    }

    #[test]
    fn known_epochs_have_their_bits() {
        let cases = [
            (0, 0x1d00_ffff),
            (2015, 0x1d00_ffff),
            (32_255, 0x1d00_ffff),
            (32_256, 0x1d00_d86a),
            (929_375, 0x1701_e63a),
            (929_376, 0x1701_e605),
            (931_391, 0x1701_e605),
            (953_567, 0x1702_068f),
            (953_568, 0x1702_40c3),
            (955_583, 0x1702_40c3),
        ];
        for (height, bits) in cases {
            assert_eq!(bits_at(height), Some(bits), "height {height}");
        }
        for height in [955_584, 1_003_968, u32::MAX] {
            assert_eq!(bits_at(height), None, "height {height}");
        }
    }

    #[test]
    fn less_than_a_sixteenth_of_the_last_work_is_cheap() {
        let last = 0x1702_40c3;
        // Sixteen times the last target to the bit, and the next target above it that `bits` can
        // spell.
        let most = sixteenfold(last).to_compact_lossy().to_consensus();
        assert_eq!(target(most), sixteenfold(last));
        assert_eq!(most, 0x1724_0c30);
        for (bits, cheap) in [
            (last, false),
            (0x1701_e63a, false),
            (most - 1, false),
            (most, false),
            (most + 1, true),
            (0x1800_ffff, true),
            (MAINNET_LIMIT, true),
        ] {
            assert_eq!(is_cheap(Network::Bitcoin, bits), cheap, "{bits:08x}");
            for network in [Network::Testnet4, Network::Signet, Network::Regtest] {
                assert!(!is_cheap(network, bits), "{bits:08x} on {}", network.name());
            }
        }
    }

    #[test]
    fn last_hashes_stand_at_last_heights_only() {
        assert_eq!(
            last_hash(2015).unwrap().to_string(),
            "00000000693067b0e6b440bc51450b9f3850561b07f6d3c021c54fbd6abb9763"
        );
        assert!(last_hash(953_567).is_some());
        for height in [0, 2014, 2016, 953_566, 955_583, u32::MAX] {
            assert_eq!(last_hash(height), None, "height {height}");
        }
    }

    #[test]
    fn odd_tables_are_refused() {
        let head = "# why\nepoch,bits,last_hash\n";
        assert!(parse(&format!("{head}0,1d00ffff,-\n")).is_some());
        for rows in [
            "1,1d00ffff,-",
            "0,1d00fff,-",
            "0,1d00ffff,xx",
            "0,1d00ffff,-,",
            "0,1d00ffff",
            "0,1d00fffg,-",
        ] {
            assert_eq!(parse(&format!("{head}{rows}\n")), None, "{rows}");
        }
        assert_eq!(parse("0,1d00ffff,-\n"), None);
        assert_eq!(parse(""), None);
    }
}
