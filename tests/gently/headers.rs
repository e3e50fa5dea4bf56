//! Real headers, and real ones made wrong in one place, against the header check.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::path::Path;

use gently::record::bitcoin::block::{
    Anchor, Block, Header, HeaderFault, Network, Source, check_anchor, check_header,
};
use gently::record::bitcoin::epochs::is_cheap;
use gently::record::bitcoin::fit::check_height;
use gently::record::hash::Hash32;
use gently::record::time::Seconds;

use crate::esplora_server::{HEADERS, STALE, rows};

fn block(height: u32, hash: Hash32, header: &Header) -> Block {
    Block {
        hash,
        height,
        network: Network::Bitcoin,
        source: Source::File,
        time: header.fields().time,
    }
}

/// A real block of the copied ones.
fn real(height: u32) -> (Header, Block) {
    let (_, hash, header) = rows(HEADERS)
        .into_iter()
        .find(|row| row.0 == height)
        .unwrap();
    let header = header.parse().unwrap();
    (header, block(height, hash.parse().unwrap(), &header))
}

/// A real header claimed to be at another height.
fn claimed(height: u32, at: u32) -> Result<(), HeaderFault> {
    let (header, mut block) = real(height);
    block.height = at;
    check_header(&header, &block, Network::Bitcoin)
}

fn check_all(csv: &str) -> usize {
    let rows = rows(csv);
    for (height, hash, header) in &rows {
        let header: Header = header.parse().unwrap();
        let checked = check_header(
            &header,
            &block(*height, hash.parse().unwrap(), &header),
            Network::Bitcoin,
        );
        assert_eq!(checked, Ok(()), "block {height}");
    }
    rows.len()
}

#[test]
fn every_real_header_is_accepted() {
    assert_eq!(check_all(HEADERS), 91);
    assert_eq!(check_all(STALE), 1);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/btc");
    if !folder.is_dir() {
        println!("skipped: the 12924 headers of shared/data/btc, which is not beside the checkout");
        return;
    }
    let files = [
        "mainnet-0-4031.csv",
        "mainnet-822527-830592.csv",
        "mainnet-single.csv",
    ];
    let checked: usize = files
        .iter()
        .map(|name| check_all(&std::fs::read_to_string(folder.join(name)).unwrap()))
        .sum();
    assert_eq!(checked, 4032 + 8066 + 826);
    for height in [823_226, 829_613] {
        let bytes = std::fs::read(folder.join(format!("stale/{height:07}.bin"))).unwrap();
        let header = Header::from_bytes(bytes.try_into().unwrap());
        assert_eq!(
            check_header(
                &header,
                &block(height, header.hash(), &header),
                Network::Bitcoin
            ),
            Ok(())
        );
        // Of the two that are called stale there one is: the other is the chain's own block of that
        // height.
        let (listed, named) = listed(&folder.join("mainnet-822527-830592.csv"), height);
        assert_eq!(listed == header, height == 829_613);
        assert_eq!(named == header.hash().to_string(), height == 829_613);
        assert_eq!(listed.fields().prev, header.fields().prev);
    }
}

/// Header and hash of a height in a file of the chain.
fn listed(file: &Path, height: u32) -> (Header, String) {
    let text = std::fs::read_to_string(file).unwrap();
    let row = text
        .lines()
        .find(|row| row.starts_with(&format!("{height},")))
        .unwrap();
    let fields: Vec<&str> = row.split(',').collect();
    (fields[2].parse().unwrap(), fields[1].to_owned())
}

#[test]
fn a_stale_block_proves_its_work_as_its_rival_does() {
    let (height, hash, header) = rows(STALE).into_iter().next().unwrap();
    let stale: Header = header.parse().unwrap();
    let (rival, named) = real(height);
    assert_ne!(named.hash.to_string(), hash);
    assert_eq!(
        stale.fields().prev,
        rival.fields().prev,
        "they are rivals: both build on the same block"
    );
    // It can't stand in for its rival.
    let fault = check_header(&stale, &named, Network::Bitcoin).unwrap_err();
    assert_eq!(
        fault,
        HeaderFault::Hash {
            expected: named.hash,
            actual: stale.hash()
        }
    );
}

#[test]
fn fields_link_one_block_to_the_next() {
    for height in 829_605..=829_619 {
        assert_eq!(real(height).0.fields().prev, real(height - 1).1.hash);
    }
    // Block 170 holds the first payment from one person to another.
    let (header, _) = real(170);
    assert_eq!(
        header.fields().merkle_root.to_string(),
        "7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff"
    );
}

#[test]
fn every_changed_bit_is_named() {
    let (header, block) = real(829_613);
    for bit in 0..640 {
        let mut bytes = *header.as_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let changed = Header::from_bytes(bytes);
        let fault = check_header(&changed, &block, Network::Bitcoin).unwrap_err();
        assert_eq!(
            fault,
            HeaderFault::Hash {
                expected: block.hash,
                actual: changed.hash()
            },
            "bit {bit}"
        );
        // Renamed to what it hashes to, its time or its work gives it away.
        let renamed = Block {
            hash: changed.hash(),
            ..block.clone()
        };
        let fault = check_header(&changed, &renamed, Network::Bitcoin).unwrap_err();
        let expected = match bit / 8 {
            68..72 => matches!(fault, HeaderFault::Time { .. }),
            72..76 => !matches!(fault, HeaderFault::Hash { .. } | HeaderFault::Time { .. }),
            _ => matches!(fault, HeaderFault::Work { .. }),
        };
        assert!(expected, "bit {bit}: {fault}");
    }
}

#[test]
fn a_header_belongs_to_its_epoch() {
    let epoch = |height, expected, actual| {
        Err(HeaderFault::Epoch {
            height,
            expected,
            actual,
        })
    };
    // 830592 opens epoch 412; 830591 closed the one before.
    assert_eq!(
        claimed(830_590, 828_576),
        Ok(()),
        "the first block of the same epoch: the height is a claim"
    );
    assert_eq!(
        claimed(830_590, 828_575),
        epoch(828_575, 0x1704_005a, 0x1703_ba5d)
    );
    assert_eq!(
        claimed(830_590, 830_592),
        epoch(830_592, 0x1703_71b1, 0x1703_ba5d)
    );
    assert_eq!(
        claimed(830_592, 830_591),
        epoch(830_591, 0x1703_ba5d, 0x1703_71b1)
    );
    assert_eq!(
        claimed(2, 829_613),
        epoch(829_613, 0x1703_ba5d, 0x1d00_ffff)
    );
    assert_eq!(claimed(829_613, 2), epoch(2, 0x1d00_ffff, 0x1703_ba5d));
}

#[test]
fn the_last_block_of_an_epoch_is_the_tables() {
    let (_, last) = real(830_591);
    let (_, other) = real(830_590);
    let fault = HeaderFault::EpochEnd {
        height: 830_591,
        expected: last.hash,
        actual: other.hash,
    };
    assert_eq!(claimed(830_590, 830_591), Err(fault));
    assert_eq!(claimed(830_591, 830_591), Ok(()));
}

#[test]
fn beyond_the_table_work_and_time_bound_a_header() {
    // The table ends with 955583; bits of later heights are nobody's rule, so a header is accepted
    // at any of them.
    for from in [2, 701_567, 782_207, 878_976] {
        for height in [955_584, 957_600, u32::MAX] {
            assert_eq!(claimed(from, height), Ok(()), "{from} at {height}");
        }
    }
    // What it is worth is another matter: the sixteenth, at every height, and on bitcoin only.
    for (height, cheap) in [
        (2, true),
        (701_567, false),
        (782_207, false),
        (829_613, false),
        (878_976, false),
    ] {
        let bits = real(height).0.fields().bits;
        assert_eq!(is_cheap(Network::Bitcoin, bits), cheap, "{height}");
        assert!(!is_cheap(Network::Regtest, bits), "{height}");
    }
    // And a real header stands where its time says, not at a height of somebody's choice.
    for height in [2, 701_567, 782_207, 829_613, 878_976] {
        let (_, block) = real(height);
        assert_eq!(check_height(&block), Ok(()), "{height}");
        for elsewhere in [block.height + 200_000, 1_100_000] {
            let fault = check_height(&Block {
                height: elsewhere,
                ..block.clone()
            })
            .unwrap_err();
            assert!(
                matches!(fault, HeaderFault::Height { .. }),
                "{height} at {elsewhere}: {fault}"
            );
        }
    }
}

#[test]
fn the_honest_ledgers_anchors_are_accepted() {
    let log = include_str!("../vectors/ledgers/honest/audit.log");
    let anchors: Vec<_> = log
        .lines()
        .filter(|line| line.contains("|btc_anchor|"))
        .collect();
    assert_eq!(anchors.len(), 2);
    for line in anchors {
        let value = |key: &str| {
            line.rsplit('|')
                .next()?
                .split(',')
                .find_map(|pair| pair.strip_prefix(key))
        };
        let header: Header = value("header:").unwrap().parse().unwrap();
        let (height, hash) = (
            value("btc:").unwrap().parse().unwrap(),
            value("block:").unwrap().parse().unwrap(),
        );
        assert_eq!(
            check_header(&header, &block(height, hash, &header), Network::Bitcoin),
            Ok(()),
            "{line}"
        );
    }
}

#[test]
fn networks_do_not_mix() {
    let (header, real) = real(829_613);
    let fault = HeaderFault::Network {
        expected: Network::Signet,
        actual: Network::Bitcoin,
    };
    assert_eq!(check_header(&header, &real, Network::Signet), Err(fault));
    let elsewhere = Block {
        network: Network::Signet,
        ..real
    };
    let fault = HeaderFault::Network {
        expected: Network::Bitcoin,
        actual: Network::Signet,
    };
    assert_eq!(
        check_header(&header, &elsewhere, Network::Bitcoin),
        Err(fault)
    );
    // Other networks have no table: real work is real work there too.
    assert_eq!(check_header(&header, &elsewhere, Network::Signet), Ok(()));

    for network in [
        bitcoin::Network::Testnet4,
        bitcoin::Network::Signet,
        bitcoin::Network::Regtest,
    ] {
        let ours = match network {
            bitcoin::Network::Testnet4 => Network::Testnet4,
            bitcoin::Network::Signet => Network::Signet,
            _ => Network::Regtest,
        };
        let genesis = bitcoin::constants::genesis_block(network).header;
        let header: Header = bitcoin::consensus::encode::serialize_hex(&genesis)
            .parse()
            .unwrap();
        let block = Block {
            network: ours,
            ..block(0, header.hash(), &header)
        };
        assert_eq!(check_header(&header, &block, ours), Ok(()), "{ours:?}");
    }
}

#[test]
fn times_and_headers_belong_to_their_blocks() {
    let (header, real) = real(829_613);
    let later = Block {
        time: Seconds::new(real.time.get() + 1).unwrap(),
        ..real.clone()
    };
    let fault = HeaderFault::Time {
        expected: later.time,
        actual: real.time,
    };
    assert_eq!(check_header(&header, &later, Network::Bitcoin), Err(fault));

    let local = Anchor::local(Network::Bitcoin, real.time);
    assert_eq!(local.check(Network::Bitcoin), Ok(()));
    assert!(matches!(
        local.check(Network::Regtest),
        Err(HeaderFault::Network { .. })
    ));
    let fault = HeaderFault::OfLocal { actual: real.hash };
    assert_eq!(
        check_anchor(Some(&header), &local.block, Network::Bitcoin),
        Err(fault)
    );
    let fault = HeaderFault::Missing {
        height: real.height,
        hash: real.hash,
    };
    assert_eq!(check_anchor(None, &real, Network::Bitcoin), Err(fault));
    assert_eq!(check_anchor(Some(&header), &real, Network::Bitcoin), Ok(()));
    for block in [
        Block {
            height: 1,
            ..local.block.clone()
        },
        Block {
            hash: real.hash,
            ..local.block.clone()
        },
    ] {
        let fault = HeaderFault::LocalNamesBlock {
            height: block.height,
            hash: block.hash,
        };
        assert_eq!(check_anchor(None, &block, Network::Bitcoin), Err(fault));
    }
}
