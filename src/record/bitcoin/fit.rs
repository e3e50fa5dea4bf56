//! What belongs together in time (format, section 9): a block's height and its header's time, a
//! line and the block that it names, a line and the block that attests it.
//!
//! Without a chain of headers a height is somebody's word. Blocks come every ten minutes on the
//! average, so a header's time says roughly which height it can have; who makes a header of his
//! own, or takes an old one, can't choose both. Everything here is exact: integers, no fractions,
//! nothing is rounded.

use super::block::{Block, Network};
use super::header::HeaderFault;
use crate::record::time::Seconds;

/// A block of mainnet whose height and time are known.
const KNOWN_HEIGHT: i128 = 830_592;
/// Time in the header of the block at the known height, in seconds of the Unix epoch.
const KNOWN_TIME: i128 = 1_708_008_110;
/// What a block takes, in seconds.
const SPACING: i128 = 600;
/// So many blocks more or fewer are luck.
const LUCK: i128 = 2_016;
/// And one in so many of those between the known block and this one.
const SHARE: i128 = 10;

/// How far a miner's clock and a writer's may be apart: what nodes let a header be ahead of theirs.
pub const CLOCKS_APART: u64 = 7_200;

/// Whether a block of mainnet at this height can have this time: `|height − 830,592 − d| ≤ 2,016 +
/// |d|/10`, where `d` is the number of blocks that ten minutes each make of the time since block
/// 830,592.
///
/// Both sides are multiplied by 6,000, so that `d` and its tenth are whole: exactly on the bound is
/// still inside.
pub fn height_fits(height: u32, time: Seconds) -> bool {
    let passed = i128::from(time.get()) - KNOWN_TIME;
    let off = (i128::from(height) - KNOWN_HEIGHT) * SPACING * SHARE - passed * SHARE;
    off.abs() <= LUCK * SPACING * SHARE + passed.abs()
}

/// The lowest and the highest height that a block of mainnet with this time can have; none for a
/// time at which there can have been no block.
pub fn heights_at(time: Seconds) -> Option<(u32, u32)> {
    let passed = i128::from(time.get()) - KNOWN_TIME;
    let (middle, room) = (passed * SHARE, LUCK * SPACING * SHARE + passed.abs());
    let blocks = SPACING * SHARE;
    let lowest = KNOWN_HEIGHT - (room - middle).div_euclid(blocks);
    let highest = KNOWN_HEIGHT + (room + middle).div_euclid(blocks);
    let highest = u32::try_from(highest.min(i128::from(u32::MAX))).ok()?;
    Some((u32::try_from(lowest.max(0)).ok()?, highest))
}

/// Holds a block's height against its time, which is its header's. On other networks than
/// `bitcoin`, and for a `local` block, there is nothing to hold it against.
pub fn check_height(block: &Block) -> Result<(), HeaderFault> {
    if block.network != Network::Bitcoin
        || block.is_local()
        || height_fits(block.height, block.time)
    {
        return Ok(());
    }
    let (lowest, highest) = heights_at(block.time).unwrap_or_default();
    Err(HeaderFault::Height {
        height: block.height,
        time: block.time,
        lowest,
        highest,
    })
}

/// Whether a line with this TIMESTAMP can name a block with this header: it is not from the line's
/// future.
pub fn line_fits(line: Seconds, header: Seconds) -> bool {
    line.get() + CLOCKS_APART >= header.get()
}

/// Whether a line with this TIMESTAMP can have been there before a block with this header: its own
/// time is not behind the block's. Where it is, the writer's clock was fast.
pub fn proof_fits(line: Seconds, header: Seconds) -> bool {
    header.get() + CLOCKS_APART >= line.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::bitcoin::block::Source;
    use crate::record::hash::Hash32;

    fn at(seconds: u64) -> Seconds {
        Seconds::new(seconds).unwrap()
    }

    #[test]
    fn height_and_time_to_the_block_and_to_the_second() {
        const T: u64 = 1_708_008_110;
        // A year later, 52,560 blocks of ten minutes: 2,016 + 5,256 either way.
        const YEAR: u64 = 365 * 86_400;
        let cases = [
            (830_592, T, true),
            (830_592 + 2_016, T, true),
            (830_592 + 2_017, T, false),
            (830_592 - 2_016, T, true),
            (830_592 - 2_017, T, false),
            // One second is a six-hundredth of a block: with the height on the bound it decides, a
            // tenth of it given back.
            (830_592 + 2_016, T - 1, false),
            (830_592 + 2_016, T + 1, true),
            (830_592 - 2_016, T - 1, true),
            (830_592 - 2_016, T + 1, false),
            (883_152 + 7_272, T + YEAR, true),
            (883_152 + 7_273, T + YEAR, false),
            (883_152 - 7_272, T + YEAR, true),
            (883_152 - 7_273, T + YEAR, false),
            (778_032 + 7_272, T - YEAR, true),
            (778_032 + 7_273, T - YEAR, false),
            (778_032 - 7_272, T - YEAR, true),
            (778_032 - 7_273, T - YEAR, false),
            // The first block, and the last that the built-in table has a hash of.
            (0, 1_231_006_505, true),
            (829_002, 1_707_048_000, true),
            // A header made at home may carry any date, but not at any height; an old one not at a
            // new height.
            (1_000, 1_767_225_600, false),
            (1_100_000, 1_231_469_665, false),
            (0, 0, false),
            (u32::MAX, T, false),
            (u32::MAX, Seconds::MAX.get(), false),
            (0, Seconds::MAX.get(), false),
        ];
        for (height, time, fits) in cases {
            assert_eq!(height_fits(height, at(time)), fits, "{height} at {time}");
        }
    }

    #[test]
    fn the_heights_of_a_time_are_the_ones_that_fit() {
        for time in [
            1_231_006_505,
            1_400_000_000,
            1_708_008_109,
            1_708_008_110,
            1_708_008_111,
            1_893_456_000,
        ] {
            let time = at(time);
            let (lowest, highest) = heights_at(time).unwrap();
            assert!(
                height_fits(lowest, time) && height_fits(highest, time),
                "{time}"
            );
            assert!(lowest == 0 || !height_fits(lowest - 1, time), "{time}");
            assert!(!height_fits(highest + 1, time), "{time}");
        }
        assert_eq!(heights_at(at(0)), None, "no block was before the first");
    }

    #[test]
    fn only_blocks_of_mainnet_have_a_height_that_a_time_tells() {
        let block = |network, source| Block {
            hash: Hash32::ZERO,
            height: 1_000,
            network,
            source,
            time: at(1_767_225_600),
        };
        let fault = check_height(&block(Network::Bitcoin, Source::Esplora)).unwrap_err();
        assert!(
            matches!(fault, HeaderFault::Height { height: 1_000, .. }),
            "{fault}"
        );
        assert_eq!(
            check_height(&block(Network::Bitcoin, Source::Local)),
            Ok(())
        );
        for network in [Network::Testnet4, Network::Signet, Network::Regtest] {
            assert_eq!(check_height(&block(network, Source::Esplora)), Ok(()));
        }
    }

    #[test]
    fn two_hours_between_clocks_and_no_second_more() {
        for (line, header, fits) in [
            (1_000_000, 1_007_200, true),
            (1_000_000, 1_007_201, false),
            (1_007_201, 1_000_000, true),
            (0, 7_200, true),
            (0, 7_201, false),
        ] {
            assert_eq!(
                line_fits(at(line), at(header)),
                fits,
                "line {line}, header {header}"
            );
            assert_eq!(
                proof_fits(at(header), at(line)),
                fits,
                "line {header}, header {line}"
            );
        }
    }
}
