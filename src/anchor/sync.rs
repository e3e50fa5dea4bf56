//! Filling the store of headers: from a file, from one's own node, or from an explorer (format,
//! section 9).
//!
//! Whoever it is from is believed nothing: the store takes a header only on top of the one before,
//! with its work and the difficulty that the rule gives. The newest [`BURIED`] blocks stay out,
//! since a reorganisation may replace them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::bitcoind::Bitcoind;
use super::esplora::Esplora;
use super::headers_store::{BURIED, HeadersStore, StoreFault};
use super::{BlockSource, SourceFault};
use crate::record::bitcoin::block::{Header, Network};
use crate::record::bitcoin::epochs::{EPOCH_BLOCKS, last_hash};

/// The most questions that one run puts to explorers, all of them together: others need them, too.
pub const MAX_REQUESTS: u32 = 2016;
/// Questions that an explorer's tip takes: height, hash, header.
const TIP: u32 = 3;
/// Headers that are appended, and made durable, together.
const BATCH: u32 = 2000;
/// Blocks in an explorer's answer.
const PAGE: u32 = 10;

/// Why headers could not be kept, or no more of them.
#[derive(Debug, thiserror::Error)]
pub enum SyncFault {
    /// The store, or a header that does not fit.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// Who was asked.
    #[error(transparent)]
    Source(#[from] SourceFault),
    /// A file that is no file of headers.
    #[error(
        "{place}: {reason}; expected 80 bytes a block, or lines of height,hash,header in the order of heights"
    )]
    File {
        /// Path, and line or length.
        place: String,
        /// What is wrong.
        reason: String,
    },
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncResult {
    /// How many headers were added to the file.
    pub added: u32,
    /// Whether all that the source has, but the newest few, is kept now.
    pub complete: bool,
}

/// Told how far a run is: height of the next header, and where it will end.
pub type SyncProgress<'a> = &'a dyn Fn(u32, u32);

/// Where a new store starts that is to hold a height: the newest block at or below it that
/// something built in knows.
pub fn start_for(network: Network, height: u32) -> u32 {
    if network != Network::Bitcoin {
        return 0;
    }
    let mut start = height - height % EPOCH_BLOCKS;
    while start > 0 && last_hash(start - 1).is_none() {
        start -= EPOCH_BLOCKS;
    }
    start
}

/// Takes headers from a node, in batches, up to the buried ones.
pub async fn from_node(
    store: &mut HeadersStore,
    node: &Bitcoind,
    watch: SyncProgress<'_>,
) -> Result<SyncResult, SyncFault> {
    let end = node
        .tip()
        .await?
        .block
        .height
        .saturating_sub(BURIED)
        .saturating_add(1);
    let first = store.next_height();
    while store.next_height() < end {
        let count = (end - store.next_height()).min(BATCH);
        let headers = node.headers(store.next_height(), count).await?;
        store.append(&headers)?;
        watch(store.next_height(), end);
    }
    Ok(SyncResult {
        added: store.next_height() - first,
        complete: true,
    })
}

/// Takes headers from an explorer, some blocks a question, while questions are left; it takes them
/// off `left`.
pub async fn from_explorer(
    store: &mut HeadersStore,
    explorer: &Esplora,
    left: &mut u32,
    watch: SyncProgress<'_>,
) -> Result<SyncResult, SyncFault> {
    // Before the tip was asked here, it was where a new store was to start.
    *left = left.saturating_sub(2 * TIP);
    let end = explorer
        .tip()
        .await?
        .block
        .height
        .saturating_sub(BURIED)
        .saturating_add(1);
    let first = store.next_height();
    while store.next_height() < end && *left > 0 {
        let mut headers = Vec::new();
        let from = store.next_height();
        while *left > 0 && u32::try_from(headers.len()).unwrap_or(u32::MAX) < BATCH / 2 {
            let next = from + u32::try_from(headers.len()).unwrap_or(u32::MAX);
            if next >= end {
                break;
            }
            *left -= 1;
            let page = explorer.headers(next, (next + PAGE).min(end)).await;
            match page {
                Ok(page) => headers.extend(page),
                // What came before the fault is kept.
                Err(fault) => {
                    store.append(&headers)?;
                    return Err(fault.into());
                }
            }
        }
        store.append(&headers)?;
        watch(store.next_height(), end);
    }
    Ok(SyncResult {
        added: store.next_height() - first,
        complete: store.next_height() >= end,
    })
}

/// Headers in a file, one after the other, from a height on.
pub struct HeadersIn {
    place: String,
    reader: BufReader<File>,
    lines: bool,
    next: u32,
    length: u64,
}

impl HeadersIn {
    /// Opens a file of 80 bytes a block from height `start` on, or of lines `height,hash,header`,
    /// which say it.
    pub fn open(path: &Path, start: u32) -> Result<Self, SyncFault> {
        let place = path.display().to_string();
        let wrong = |reason: String| SyncFault::File {
            place: place.clone(),
            reason,
        };
        let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
        let length = file.metadata().map_err(|e| wrong(e.to_string()))?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let begin = reader.fill_buf().map_err(|e| wrong(e.to_string()))?;
        let lines = begin.starts_with(b"height,")
            || begin.first().is_some_and(u8::is_ascii_digit) && begin.contains(&b',');
        if !lines && (length == 0 || !length.is_multiple_of(80)) {
            return Err(wrong(format!("{length} bytes, no multiple of 80")));
        }
        let mut headers = HeadersIn {
            place,
            reader,
            lines,
            next: start,
            length,
        };
        if lines {
            headers.next = headers.first_height(path)?;
        }
        Ok(headers)
    }

    /// Height of the next header.
    pub const fn next_height(&self) -> u32 {
        self.next
    }

    fn first_height(&self, path: &Path) -> Result<u32, SyncFault> {
        let mut peek = HeadersIn {
            place: self.place.clone(),
            reader: BufReader::new(File::open(path).map_err(|e| self.wrong(e.to_string()))?),
            lines: true,
            next: 0,
            length: 0,
        };
        peek.line()?
            .map(|(height, _)| height)
            .ok_or_else(|| self.wrong("no line".to_owned()))
    }

    fn wrong(&self, reason: String) -> SyncFault {
        SyncFault::File {
            place: self.place.clone(),
            reason,
        }
    }

    /// The next line's height and header.
    fn line(&mut self) -> Result<Option<(u32, Header)>, SyncFault> {
        loop {
            let mut line = String::new();
            let read = (&mut self.reader)
                .take(300)
                .read_line(&mut line)
                .map_err(|e| self.wrong(e.to_string()))?;
            if read == 0 {
                return Ok(None);
            }
            let line = line.trim_end();
            if line.starts_with("height,") {
                continue;
            }
            let mut fields = line.split(',');
            let height = fields.next().and_then(|text| text.parse().ok());
            let header = fields.nth(1).and_then(|text| text.parse().ok());
            return match (height, header) {
                (Some(height), Some(header)) => Ok(Some((height, header))),
                _ => Err(self.wrong(format!("the line for height {} is none", self.next))),
            };
        }
    }

    fn take(&mut self) -> Result<Option<Header>, SyncFault> {
        if self.lines {
            let Some((height, header)) = self.line()? else {
                return Ok(None);
            };
            if height != self.next {
                return Err(self.wrong(format!("height {height} follows, not {}", self.next)));
            }
            self.next += 1;
            return Ok(Some(header));
        }
        let over = self.reader.fill_buf().map(<[u8]>::is_empty);
        if over.map_err(|e| self.wrong(e.to_string()))? {
            return Ok(None);
        }
        let mut bytes = [0; 80];
        self.reader
            .read_exact(&mut bytes)
            .map_err(|e| self.wrong(e.to_string()))?;
        self.next += 1;
        Ok(Some(Header::from_bytes(bytes)))
    }

    /// About how many headers are in it; for a progress bar.
    fn about(&self) -> u32 {
        // 10 digits at most, 64, 160, two commas, a newline.
        u32::try_from(self.length / if self.lines { 233 } else { 80 }).unwrap_or(u32::MAX)
    }
}

/// Takes headers from a file; those that the store has, or that are before its start, are passed
/// over.
pub fn from_file(
    store: &mut HeadersStore,
    mut file: HeadersIn,
    watch: SyncProgress<'_>,
) -> Result<SyncResult, SyncFault> {
    let first = store.next_height();
    let end = file.next_height().saturating_add(file.about());
    let mut waiting: Vec<Header> = Vec::new();
    let buried = BURIED as usize;
    loop {
        let at = file.next_height();
        let Some(header) = file.take()? else { break };
        if at < first {
            continue;
        }
        if at > first && waiting.is_empty() && store.next_height() == first {
            return Err(file.wrong(format!(
                "it starts at height {at}, the store goes on at {first}"
            )));
        }
        waiting.push(header);
        if waiting.len() >= BATCH as usize + buried {
            append_but_newest(store, &mut waiting)?;
            watch(store.next_height(), end.max(store.next_height()));
        }
    }
    append_but_newest(store, &mut waiting)?;
    Ok(SyncResult {
        added: store.next_height() - first,
        complete: true,
    })
}

fn append_but_newest(store: &mut HeadersStore, waiting: &mut Vec<Header>) -> Result<(), SyncFault> {
    let sure = waiting.len().saturating_sub(BURIED as usize);
    let kept = waiting.split_off(sure);
    store.append(waiting)?;
    *waiting = kept;
    Ok(())
}
