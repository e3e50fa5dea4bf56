//! A long chain of headers, kept and read again.
//!
//! The chain is made here, on regtest's first block and with regtest's easy work: two hashes a
//! header, and no change of difficulty. Reading mainnet's does one comparison with the built-in
//! table, and one division, more in 2016.

use std::path::Path;
use std::time::{Duration, Instant};

use gently::anchor::headers_store::HeadersStore;
use gently::record::bitcoin::block::{Header, Network};

use crate::processor;

/// Headers that are appended together.
const BATCH: usize = 2000;
/// Regtest's first block.
const FIRST: &str = "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f2002000000";

/// Makes a store of so many headers in a folder; how long checking and appending took.
pub fn make(folder: &Path, count: u32) -> Duration {
    let mut chain = vec![FIRST.parse::<Header>().unwrap()];
    while chain.len() < count as usize {
        chain.push(next(chain.last().unwrap()));
    }
    let mut store = HeadersStore::create(folder, Network::Regtest, 0).unwrap();
    let begun = Instant::now();
    for some in chain.chunks(BATCH) {
        store.append(some).unwrap();
    }
    begun.elapsed()
}

/// Reads and checks the whole store, some times: how long each took, and the processor time of
/// each.
pub fn measure(folder: &Path, count: u32, runs: usize) -> (Vec<Duration>, Vec<Duration>) {
    let (mut times, mut used) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let (begun, before) = (Instant::now(), processor::thread());
        let store = HeadersStore::open(folder, Network::Regtest, &[count / 2])
            .unwrap()
            .unwrap();
        times.push(begun.elapsed());
        used.push(processor::thread() - before);
        assert_eq!(store.next_height(), count);
        assert!(store.header(count / 2).is_some());
    }
    (times, used)
}

fn next(before: &Header) -> Header {
    let mut bytes = *before.as_bytes();
    let mut prev = *before.hash().as_bytes();
    prev.reverse();
    bytes[4..36].copy_from_slice(&prev);
    bytes[36..68].copy_from_slice(&prev);
    let time = u32::from_le_bytes(bytes[68..72].try_into().unwrap()) + 60;
    bytes[68..72].copy_from_slice(&time.to_le_bytes());
    let nonces = 0_u32..;
    let mut found = nonces.map(|nonce| {
        bytes[76..80].copy_from_slice(&nonce.to_le_bytes());
        Header::from_bytes(bytes)
    });
    found
        .find(|header| header.hash().as_bytes()[0] < 0x7f)
        .unwrap()
}
