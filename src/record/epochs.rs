//! Which proof of work a height must show: the difficulty epochs of Bitcoin mainnet (format, section 8).

use std::sync::LazyLock;

use bitcoin::{CompactTarget, Target};

use super::hash::Hash32;

/// Blocks that share one target.
pub const EPOCH_BLOCKS: u32 = 2016;

/// The easiest `bits` that mainnet ever allows.
pub const MAINNET_LIMIT: u32 = 0x1d00_ffff;

/// The table that is built in; its first line says where it is from.
const TABLE: &str = include_str!("../../genesis/btc-epochs.csv");

/// What `bits` may be at a height of mainnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The epoch is in the table: these and no other.
    Exactly(u32),
    /// The epoch is later than the table: any target up to this one, however hard.
    AtMost(Target),
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    bits: u32,
    last_hash: Option<Hash32>,
}

static EPOCHS: LazyLock<Vec<Epoch>> =
    LazyLock::new(|| parse(TABLE).expect("the built-in table is constant, and a test parses it"));

/// The `bits` that mainnet allows at a height.
///
/// Beyond the table the bound grows fourfold an epoch until it is [`MAINNET_LIMIT`]: what the
/// difficulty rule could have become in that time, and no more.
pub fn rule(height: u32) -> Rule {
    let epoch = height / EPOCH_BLOCKS;
    let index = usize::try_from(epoch).unwrap_or(usize::MAX);
    match (EPOCHS.get(index), EPOCHS.last()) {
        (Some(epoch), _) => Rule::Exactly(epoch.bits),
        (None, Some(last)) => Rule::AtMost(eased(last.bits, index.saturating_sub(EPOCHS.len()).saturating_add(1))),
        (None, None) => Rule::AtMost(Target::from_compact(CompactTarget::from_consensus(MAINNET_LIMIT))),
    }
}

/// Whether a height beyond the table is claimed with less than a sixteenth of the work of the table's last epoch.
///
/// Difficulty can have fallen so far in two epochs, and never did. Who names a height of his own choice finds one where
/// the bound of [`rule`] asks for next to nothing; this much work nobody makes for a lie of that kind.
pub fn is_cheap(height: u32, bits: u32) -> bool {
    match (rule(height), EPOCHS.last()) {
        (Rule::AtMost(_), Some(last)) => {
            Target::from_compact(CompactTarget::from_consensus(bits)) > eased(last.bits, 2)
        }
        _ => false,
    }
}

/// The hash of the block at this height, when it is the last of an epoch whose last hash is in the table.
pub fn last_hash(height: u32) -> Option<Hash32> {
    if height % EPOCH_BLOCKS != EPOCH_BLOCKS - 1 {
        return None;
    }
    EPOCHS.get(usize::try_from(height / EPOCH_BLOCKS).ok()?)?.last_hash
}

/// The target that `epochs` rounds of fourfold easing lead to at most.
fn eased(bits: u32, epochs: usize) -> Target {
    let limit = Target::from_compact(CompactTarget::from_consensus(MAINNET_LIMIT));
    let mut target = Target::from_compact(CompactTarget::from_consensus(bits));
    for _ in 0..epochs {
        // The limit ends the loop long before a height's worth of rounds, and far below an overflow.
        if target >= limit {
            return limit;
        }
        target = fourfold(target);
    }
    target.min(limit)
}

/// Four times a target that is at most [`MAINNET_LIMIT`], so that nothing is shifted out.
fn fourfold(target: Target) -> Target {
    target.max_transition_threshold_unchecked()
}

/// Reads `epoch,bits,last_hash` rows after comment lines and the column line; none when a row is odd.
fn parse(table: &str) -> Option<Vec<Epoch>> {
    let mut rows = table.lines().skip_while(|line| line.starts_with('#'));
    if rows.next()? != "epoch,bits,last_hash" {
        return None;
    }
    rows.enumerate().map(|(at, row)| parse_row(at, row)).collect()
}

fn parse_row(at: usize, row: &str) -> Option<Epoch> {
    let mut cells = row.split(',');
    let (epoch, bits, hash) = (cells.next()?, cells.next()?, cells.next()?);
    if cells.next().is_some() || epoch != at.to_string() || bits.len() != 8 {
        return None;
    }
    let last_hash = if hash == "-" { None } else { Some(hash.parse().ok()?) };
    Some(Epoch { bits: u32::from_str_radix(bits, 16).ok()?, last_hash })
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
            assert!(target(after.bits) <= fourfold(target(before.bits)), "the rule holds inside the table too");
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
            assert_eq!(rule(height), Rule::Exactly(bits), "height {height}");
        }
    }

    #[test]
    fn beyond_the_table_four_times_an_epoch_up_to_the_limit() {
        let last = target(0x1702_40c3);
        assert_eq!(rule(955_584), Rule::AtMost(fourfold(last)));
        assert_eq!(rule(957_599), Rule::AtMost(fourfold(last)));
        assert_eq!(rule(957_600), Rule::AtMost(fourfold(fourfold(last))));
        assert_eq!(rule(955_584), Rule::AtMost(target(0x1709_030c)));
        let limit = Rule::AtMost(target(MAINNET_LIMIT));
        assert_ne!(rule(955_584 + 22 * EPOCH_BLOCKS), limit);
        assert_eq!(rule(955_584 + 24 * EPOCH_BLOCKS), limit);
        assert_eq!(rule(u32::MAX), limit);
    }

    #[test]
    fn little_work_is_cheap_beyond_the_table_only() {
        // 16 × the last target, and the next one up.
        let (last, sixteen) = (0x1702_40c3, target(0x1702_40c3).to_compact_lossy().to_consensus());
        assert_eq!(last, sixteen);
        let most = fourfold(fourfold(target(last))).to_compact_lossy().to_consensus();
        for (height, bits, cheap) in [
            (955_584, last, false),
            (955_584, most, false),
            (955_584, most + 1, true),
            (1_003_968, most + 1, true),
            (1_003_968, MAINNET_LIMIT, true),
            (u32::MAX, MAINNET_LIMIT, true),
            (955_583, MAINNET_LIMIT, false),
            (0, MAINNET_LIMIT, false),
        ] {
            assert_eq!(is_cheap(height, bits), cheap, "{height} {bits:08x}");
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
        for rows in ["1,1d00ffff,-", "0,1d00fff,-", "0,1d00ffff,xx", "0,1d00ffff,-,", "0,1d00ffff", "0,1d00fffg,-"] {
            assert_eq!(parse(&format!("{head}{rows}\n")), None, "{rows}");
        }
        assert_eq!(parse("0,1d00ffff,-\n"), None);
        assert_eq!(parse(""), None);
    }
}
