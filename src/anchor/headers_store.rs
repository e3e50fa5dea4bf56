//! Headers that this home keeps, so that heights are proven and nobody is asked (format, section
//! 9).
//!
//! One file, `headers/NETWORK-START.dat`: 80 bytes a block, from height START on, only ever
//! appended to. Every header in it was checked on the one before ([`HeaderChain`]), and is checked
//! again whenever it is read. Blocks enter it once [`BURIED`] others are on top of them, so a
//! reorganisation does not reach into it.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::os::open_regular;
use crate::record::bitcoin::block::{Header, Network};
use crate::record::bitcoin::headers::{ChainFault, HeaderChain};
use crate::record::hash::Hash32;

/// How many blocks are on top of one that is kept.
pub const BURIED: u32 = 6;
/// Bytes of a header.
const HEADER: u64 = 80;

/// Why headers can't be kept or believed.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// The file or its folder.
    #[error("{}: {reason}", path.display())]
    Io {
        /// File or folder that could not be read or written.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// More than one file for a network.
    #[error("{} holds more than one file of {} headers ({first}, {second}); keep the one that starts lowest", path.display(), network.name())]
    Two {
        /// Folder that holds both files.
        path: PathBuf,
        /// Network whose headers two files claim to hold.
        network: Network,
        /// Name of the first file.
        first: String,
        /// Name of the second file.
        second: String,
    },
    /// A file of another name.
    #[error("{}: expected NETWORK-START.dat; take it out of the folder", path.display())]
    Name {
        /// File whose name is not one of ours.
        path: PathBuf,
    },
    /// A header in the file is not of the chain.
    #[error("{}: {fault}; the file was changed: move it away and run: gently anchor sync", path.display())]
    Broken {
        /// File whose content is not a chain of headers.
        path: PathBuf,
        /// What is wrong.
        fault: ChainFault,
    },
    /// Somebody else adds headers.
    #[error("{}: another gently anchor sync is at work", path.display())]
    Busy {
        /// Folder whose lock another process holds.
        path: PathBuf,
    },
    /// A header that was to be added is not of the chain.
    #[error("not added: {0}")]
    NotAdded(ChainFault),
}

/// The kept headers of one network.
#[derive(Debug)]
pub struct HeadersStore {
    path: PathBuf,
    start: u32,
    chain: HeaderChain,
    /// Whole headers in the file.
    count: u32,
    merkle: Vec<HeaderAtHeight>,
}

/// A height that was asked for, and the header found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderAtHeight {
    /// Height of the block in the chain, from 0.
    pub height: u32,
    /// Its header; none when the file does not reach it.
    pub header: Option<Header>,
}

/// Whoever holds it may append; released when dropped.
#[derive(Debug)]
pub struct AppendLock {
    _folder: File,
}

impl HeadersStore {
    /// Makes the folder if need be, and keeps others from appending.
    pub fn lock(folder: &Path) -> Result<AppendLock, StoreFault> {
        let io = |e: std::io::Error| StoreFault::Io {
            path: folder.to_owned(),
            reason: e.to_string(),
        };
        fs::create_dir_all(folder).map_err(io)?;
        let held = File::open(folder).map_err(io)?;
        match held.try_lock() {
            Ok(()) => Ok(AppendLock { _folder: held }),
            Err(fs::TryLockError::WouldBlock) => Err(StoreFault::Busy {
                path: folder.to_owned(),
            }),
            Err(fs::TryLockError::Error(e)) => Err(io(e)),
        }
    }

    /// Opens the file of a network in a folder, and checks all of it; none when there is no file.
    ///
    /// `wanted` are heights whose headers are to be kept in memory, in any order. A last header
    /// that was only partly written is left out; the next append writes over it.
    pub fn open(
        folder: &Path,
        network: Network,
        wanted: &[u32],
    ) -> Result<Option<Self>, StoreFault> {
        let Some((path, start)) = find(folder, network)? else {
            return Ok(None);
        };
        let io = |e: std::io::Error| StoreFault::Io {
            path: path.clone(),
            reason: e.to_string(),
        };
        let broken = |fault| StoreFault::Broken {
            path: path.clone(),
            fault,
        };
        let mut chain = HeaderChain::starting_at(network, start).map_err(broken)?;
        let file = open_regular(&path).map_err(io)?;
        let whole = file.metadata().map_err(io)?.len() / HEADER;
        let mut heights = wanted.to_vec();
        heights.sort_unstable();
        heights.dedup();
        let mut merkle: Vec<HeaderAtHeight> = heights
            .into_iter()
            .map(|height| HeaderAtHeight {
                height,
                header: None,
            })
            .collect();
        let mut next_wanted = merkle.partition_point(|wanted| wanted.height < start);
        let mut reader = BufReader::with_capacity(1 << 16, file.take(whole * HEADER));
        for _ in 0..whole {
            let mut bytes = [0; 80];
            reader.read_exact(&mut bytes).map_err(io)?;
            let (height, header) = (chain.next_height(), Header::from_bytes(bytes));
            chain.push(&header).map_err(broken)?;
            if let Some(wanted) = merkle
                .get_mut(next_wanted)
                .filter(|wanted| wanted.height == height)
            {
                wanted.header = Some(header);
                next_wanted += 1;
            }
        }
        let count = chain.next_height() - start;
        Ok(Some(HeadersStore {
            path,
            start,
            chain,
            count,
            merkle,
        }))
    }

    /// The header that stands at a height, without checking the chain to it: good for asking, not
    /// for proving.
    ///
    /// None where the file does not reach, or there is none.
    pub fn peek(
        folder: &Path,
        network: Network,
        height: u32,
    ) -> Result<Option<Header>, StoreFault> {
        let Some((path, start)) = find(folder, network)? else {
            return Ok(None);
        };
        let io = |e: std::io::Error| StoreFault::Io {
            path: path.clone(),
            reason: e.to_string(),
        };
        let Some(at) = height.checked_sub(start) else {
            return Ok(None);
        };
        let mut file = open_regular(&path).map_err(io)?;
        if u64::from(at).saturating_add(1) * HEADER > file.metadata().map_err(io)?.len() {
            return Ok(None);
        }
        let mut bytes = [0; 80];
        file.seek(SeekFrom::Start(u64::from(at) * HEADER))
            .map_err(io)?;
        file.read_exact(&mut bytes).map_err(io)?;
        Ok(Some(Header::from_bytes(bytes)))
    }

    /// Makes an empty file that starts at a height; the network's first block, or one that the
    /// built-in table knows.
    pub fn create(folder: &Path, network: Network, start: u32) -> Result<Self, StoreFault> {
        let path = folder.join(format!("{}-{start}.dat", network.name()));
        let chain = HeaderChain::starting_at(network, start).map_err(StoreFault::NotAdded)?;
        let io = |e: std::io::Error| StoreFault::Io {
            path: path.clone(),
            reason: e.to_string(),
        };
        fs::create_dir_all(folder).map_err(io)?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(io)?;
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(io)?;
        Ok(HeadersStore {
            path,
            start,
            chain,
            count: 0,
            merkle: Vec::new(),
        })
    }

    /// Checks headers on top of the newest, and appends those before the first that does not fit;
    /// durable on return.
    pub fn append(&mut self, headers: &[Header]) -> Result<(), StoreFault> {
        let mut bytes = Vec::with_capacity(headers.len().saturating_mul(80));
        let (mut chain, mut refused) = (self.chain.clone(), None);
        for header in headers {
            if let Err(fault) = chain.push(header) {
                refused = Some(fault);
                break;
            }
            bytes.extend_from_slice(header.as_bytes());
        }
        let io = |e: std::io::Error| StoreFault::Io {
            path: self.path.clone(),
            reason: e.to_string(),
        };
        let mut file = OpenOptions::new()
            .append(true)
            .open(&self.path)
            .map_err(io)?;
        // A torn header of an earlier append is cut off; whole ones are never touched.
        let whole = u64::from(self.count) * HEADER;
        if file.metadata().map_err(io)?.len() != whole {
            file.set_len(whole).map_err(io)?;
        }
        file.write_all(&bytes)
            .and_then(|()| file.sync_data())
            .map_err(io)?;
        self.count = chain.next_height() - self.start;
        self.chain = chain;
        refused.map_or(Ok(()), |fault| Err(StoreFault::NotAdded(fault)))
    }

    /// Height of the first header.
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// Height of the next header to be added.
    pub const fn next_height(&self) -> u32 {
        self.chain.next_height()
    }

    /// Hash of the newest header; none in an empty file.
    pub fn tip(&self) -> Option<Hash32> {
        self.chain.tip()
    }

    /// The header at a height that was asked for in [`HeadersStore::open`]; none where the file
    /// does not reach.
    pub fn header(&self, height: u32) -> Option<Header> {
        let at = self
            .merkle
            .binary_search_by_key(&height, |wanted| wanted.height)
            .ok()?;
        self.merkle.get(at)?.header
    }
}

/// The file of a network, and where it starts.
fn find(folder: &Path, network: Network) -> Result<Option<(PathBuf, u32)>, StoreFault> {
    let io = |e: std::io::Error| StoreFault::Io {
        path: folder.to_owned(),
        reason: e.to_string(),
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(io)?,
    };
    let mut found: Option<(PathBuf, u32)> = None;
    for entry in entries {
        let path = entry.map_err(io)?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        let parts = name
            .strip_suffix(".dat")
            .and_then(|stem| stem.split_once('-'));
        let start = parts
            .and_then(|(_, start)| start.parse::<u32>().ok().filter(|n| n.to_string() == start));
        let (Some((of, _)), Some(start)) = (parts, start) else {
            return Err(StoreFault::Name { path });
        };
        if of != network.name() {
            continue;
        }
        if let Some((first, _)) = &found {
            let (path, first) = (folder.to_owned(), first.display().to_string());
            return Err(StoreFault::Two {
                path,
                network,
                first,
                second: name,
            });
        }
        found = Some((path, start));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers() -> Vec<Header> {
        let text = include_str!("../../tests/data/ots/regtest-headers.csv");
        text.lines()
            .skip(1)
            .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
            .collect()
    }

    #[test]
    fn headers_are_kept_checked_and_found_again() {
        let (dir, headers) = (tempfile::tempdir().unwrap(), headers());
        let folder = dir.path().join("headers");
        assert!(
            HeadersStore::open(&folder, Network::Regtest, &[])
                .unwrap()
                .is_none()
        );
        let mut store = HeadersStore::create(&folder, Network::Regtest, 0).unwrap();
        store.append(&headers[..50]).unwrap();
        assert!(HeadersStore::create(&folder, Network::Regtest, 0).is_err());
        // Cut in the middle of an append.
        let path = folder.join("regtest-0.dat");
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(&headers[50].as_bytes()[..33]);
        fs::write(&path, &bytes).unwrap();
        let mut store = HeadersStore::open(&folder, Network::Regtest, &[49, 0, 50])
            .unwrap()
            .unwrap();
        assert_eq!(
            (store.start(), store.next_height(), store.tip()),
            (0, 50, Some(headers[49].hash()))
        );
        assert_eq!(
            (store.header(0), store.header(49), store.header(50)),
            (Some(headers[0]), Some(headers[49]), None)
        );
        store.append(&headers[50..]).unwrap();
        let store = HeadersStore::open(&folder, Network::Regtest, &[102])
            .unwrap()
            .unwrap();
        assert_eq!(store.header(102), Some(headers[102]));
        assert_eq!(fs::read(&path).unwrap().len(), headers.len() * 80);
        assert!(
            HeadersStore::open(&folder, Network::Signet, &[])
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn what_does_not_follow_is_not_added_and_what_was_changed_is_not_believed() {
        let (dir, headers) = (tempfile::tempdir().unwrap(), headers());
        let mut store = HeadersStore::create(dir.path(), Network::Regtest, 0).unwrap();
        let gap = [headers[0], headers[1], headers[3]];
        assert!(matches!(
            store.append(&gap),
            Err(StoreFault::NotAdded(ChainFault::Link { height: 2, .. }))
        ));
        assert_eq!(store.next_height(), 2);
        store.append(&headers[2..]).unwrap();
        let path = dir.path().join("regtest-0.dat");
        let good = fs::read(&path).unwrap();
        for at in [0, 79, 80, 4000, good.len() - 1] {
            let mut changed = good.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            let fault = HeadersStore::open(dir.path(), Network::Regtest, &[]).unwrap_err();
            assert!(matches!(fault, StoreFault::Broken { .. }), "{at}: {fault}");
        }
        fs::write(&path, &good).unwrap();
        fs::write(dir.path().join("regtest-2016.dat"), b"").unwrap();
        assert!(matches!(
            HeadersStore::open(dir.path(), Network::Regtest, &[]),
            Err(StoreFault::Two { .. })
        ));
        fs::rename(
            dir.path().join("regtest-2016.dat"),
            dir.path().join("notes.txt"),
        )
        .unwrap();
        assert!(matches!(
            HeadersStore::open(dir.path(), Network::Regtest, &[]),
            Err(StoreFault::Name { .. })
        ));
    }
}
