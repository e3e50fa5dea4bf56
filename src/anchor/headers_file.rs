//! Blocks from a file of headers, for hosts that reach no network.
//!
//! ```text
//! height,hash,header
//! 830592,0000000000000000000…,00e0ff3f…
//! ```
//!
//! Lines in any order, lower-case digits, `\n` at the end; the first line may be the column names.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{BoxFuture, FutureExt};

use super::esplora::parse_height;
use super::{BlockSource, SourceFault, shown};
use crate::record::bitcoin::block::{Anchor, Block, Header, Network, Source};
use crate::record::hash::Hash32;

/// 10 digits, 64, 160, two commas and a newline.
const MAX_LINE: usize = 10 + 1 + 64 + 1 + 160 + 1;

/// What a first line may be.
const COLUMNS: &[u8] = b"height,hash,header";

/// The form of a line, for messages.
const FORM: &str = "height,hash,header (decimal, 64 and 160 lower-case digits)";

/// A file of headers, read anew at every question, one line in memory at a time.
///
/// Every question reads the whole file (a few hundred MB for all of mainnet take about a second),
/// so a file that is appended to or replaced is always seen as it is, and a damaged line anywhere
/// is an error with its number, not a silent gap.
pub struct HeadersFile {
    name: String,
    path: PathBuf,
    network: Network,
}

/// What is looked for in one pass.
#[derive(Clone, Copy)]
enum HeaderQuery {
    Greatest,
    Height(u32),
}

struct HeaderLine {
    number: u64,
    height: u32,
    hash: Hash32,
    header: Header,
}

/// Stops the reading thread when the question that started it is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl HeadersFile {
    /// Names a file; it is opened at the first question.
    pub fn new(path: &Path, network: Network) -> Self {
        HeadersFile {
            name: path.display().to_string(),
            path: path.to_owned(),
            network,
        }
    }

    async fn find(&self, wanted: HeaderQuery) -> Result<Anchor, SourceFault> {
        let stop = StopOnDrop(Arc::default());
        let (path, stopped) = (self.path.clone(), stop.0.clone());
        let reading = tokio::task::spawn_blocking(move || scan(&path, wanted, &stopped));
        let found = reading
            .await
            .map_err(|error| self.unreadable(error.to_string()))??;
        let line = found.ok_or_else(|| match wanted {
            HeaderQuery::Height(height) => SourceFault::UnknownHeight {
                at: self.name.clone(),
                height,
            },
            HeaderQuery::Greatest => self.unreadable("it holds no headers".to_owned()),
        })?;
        let (hash, height, time) = (line.hash, line.height, line.header.fields().time);
        let block = Block {
            hash,
            height,
            network: self.network,
            source: Source::File,
            time,
        };
        Ok(Anchor {
            block,
            header: Some(line.header),
        })
    }

    fn unreadable(&self, reason: String) -> SourceFault {
        SourceFault::Read {
            path: self.path.clone(),
            reason,
        }
    }
}

impl BlockSource for HeadersFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> Source {
        Source::File
    }

    fn tip(&self) -> BoxFuture<'_, Result<Anchor, SourceFault>> {
        self.find(HeaderQuery::Greatest).boxed()
    }

    fn at(&self, height: u32) -> BoxFuture<'_, Result<Anchor, SourceFault>> {
        self.find(HeaderQuery::Height(height)).boxed()
    }
}

fn scan(
    path: &Path,
    wanted: HeaderQuery,
    stopped: &AtomicBool,
) -> Result<Option<HeaderLine>, SourceFault> {
    let unreadable = |error: std::io::Error| SourceFault::Read {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(unreadable)?);
    let mut best: Option<HeaderLine> = None;
    let mut bytes = Vec::with_capacity(MAX_LINE);
    for number in 1.. {
        bytes.clear();
        // One byte more than a line may have tells a long line from a whole one.
        let limit = u64::try_from(MAX_LINE + 1).unwrap_or(u64::MAX);
        reader
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut bytes)
            .map_err(unreadable)?;
        if bytes.is_empty() || stopped.load(Ordering::Relaxed) {
            break;
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if number == 1 && text == COLUMNS {
            continue;
        }
        let line = parse_line(path, number, text)?;
        best = better(path, best, line, wanted)?;
    }
    Ok(best)
}

fn parse_line(path: &Path, number: u64, bytes: &[u8]) -> Result<HeaderLine, SourceFault> {
    let at = || format!("{} line {number}", path.display());
    if bytes.len() >= MAX_LINE {
        return Err(SourceFault::TooLong {
            at: at(),
            limit: MAX_LINE,
        });
    }
    let parsed = || {
        let mut cells = std::str::from_utf8(bytes).ok()?.split(',');
        let height = parse_height(cells.next()?)?;
        let (hash, header) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
        cells.next().is_none().then_some(HeaderLine {
            number,
            height,
            hash,
            header,
        })
    };
    parsed().ok_or_else(|| SourceFault::Malformed {
        at: at(),
        expected: FORM,
        actual: shown(bytes),
    })
}

/// The one of two lines that is looked for; two different blocks of one wanted height are a fault.
fn better(
    path: &Path,
    best: Option<HeaderLine>,
    line: HeaderLine,
    wanted: HeaderQuery,
) -> Result<Option<HeaderLine>, SourceFault> {
    if matches!(wanted, HeaderQuery::Height(height) if height != line.height) {
        return Ok(best);
    }
    match best {
        Some(best)
            if best.height == line.height
                && (best.hash != line.hash || best.header != line.header) =>
        {
            Err(SourceFault::TwoBlocks {
                path: path.to_owned(),
                height: line.height,
                first: best.hash,
                first_line: best.number,
                second: line.hash,
                second_line: line.number,
            })
        }
        Some(best) if best.height >= line.height => Ok(Some(best)),
        Some(_) | None => Ok(Some(line)),
    }
}
