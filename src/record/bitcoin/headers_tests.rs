//! Real headers of mainnet and of a regtest node.

use std::path::{Path, PathBuf};

use super::*;

fn read(path: &Path) -> Vec<(u32, Header)> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    rows.map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].parse().unwrap(), fields[2].parse().unwrap())
    })
    .collect()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A file of many headers that lies beside the checkout, if it does.
fn many(name: &str) -> Option<Vec<(u32, Header)>> {
    let shared = std::env::var_os("GENTLY_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let path = shared.join("data/btc").join(name);
    if !path.is_file() {
        eprintln!("skipped: no {} to read", path.display());
        return None;
    }
    Some(read(&path))
}

#[test]
fn the_chain_of_a_regtest_node_holds_and_one_changed_header_does_not() {
    let headers = read(&folder("ots/regtest-headers.csv"));
    let check = |headers: &[(u32, Header)]| {
        let mut chain = HeaderChain::starting_at(Network::Regtest, 0).unwrap();
        headers
            .iter()
            .try_for_each(|(_, header)| chain.push(header).map(drop))
            .map(|()| chain)
    };
    let chain = check(&headers).unwrap();
    assert_eq!(
        (chain.next_height() as usize, chain.tip()),
        (headers.len(), headers.last().map(|(_, h)| h.hash()))
    );
    for byte in 0..80 {
        let mut changed = headers.clone();
        let mut bytes = *changed[50].1.as_bytes();
        bytes[byte] ^= 1;
        changed[50].1 = Header::from_bytes(bytes);
        assert!(check(&changed).is_err(), "byte {byte}");
    }
    let mut swapped = headers.clone();
    swapped.swap(50, 51);
    assert!(matches!(
        check(&swapped),
        Err(ChainFault::Link { height: 50, .. })
    ));
    assert!(matches!(
        check(&headers[1..]),
        Err(ChainFault::First { .. })
    ));
    let mut other = HeaderChain::starting_at(Network::Bitcoin, 0).unwrap();
    assert!(matches!(
        other.push(&headers[0].1),
        Err(ChainFault::First { .. })
    ));
}

#[test]
fn a_chain_starts_where_something_built_in_says_what_came_before() {
    assert!(HeaderChain::starting_at(Network::Bitcoin, 929_376).is_ok());
    for (network, height) in [
        (Network::Bitcoin, 1),
        (Network::Bitcoin, 929_377),
        (Network::Bitcoin, 2016 * 600),
        (Network::Regtest, 2016),
    ] {
        let fault = HeaderChain::starting_at(network, height).unwrap_err();
        assert!(matches!(fault, ChainFault::Start { .. }), "{fault}");
    }
}

#[test]
fn real_epochs_follow_the_difficulty_rule() {
    let (Some(first), Some(late)) = (
        many("mainnet-0-4031.csv"),
        many("mainnet-822527-830592.csv"),
    ) else {
        return;
    };
    let late = &late[1..];
    for headers in [first.as_slice(), late] {
        let start = headers[0].0;
        let mut chain = HeaderChain::starting_at(Network::Bitcoin, start).unwrap();
        for (height, header) in headers {
            let before = chain.clone();
            assert_eq!(chain.next_height(), *height);
            chain.push(header).unwrap_or_else(|e| panic!("{e}"));
            if height % 2016 == 0 && *height > start {
                let expected = before.expected_bits();
                assert_eq!(expected, Some(header.fields().bits));
            }
        }
        assert_eq!(
            chain.next_height() - start,
            u32::try_from(headers.len()).unwrap()
        );
    }
}

#[test]
fn an_orphaned_header_is_not_in_the_chain() {
    let Some(late) = many("mainnet-822527-830592.csv") else {
        return;
    };
    let orphan = read(&folder("btc/stale.csv"))
        .into_iter()
        .find(|(height, _)| *height == 823_226);
    let Some((height, orphan)) = orphan else {
        panic!("the orphan of 823226")
    };
    let mut chain = HeaderChain::starting_at(Network::Bitcoin, 822_528).unwrap();
    for (_, header) in late[1..].iter().take_while(|(at, _)| *at < height) {
        chain.push(header).unwrap();
    }
    // It has its work, and follows its parent; the next block does not follow it.
    let mut other = chain.clone();
    other.push(&orphan).unwrap();
    let next = late.iter().find(|(at, _)| *at == height + 1).unwrap().1;
    assert!(matches!(other.push(&next), Err(ChainFault::Link { .. })));
}
