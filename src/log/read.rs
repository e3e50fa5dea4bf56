//! Reads `audit.log` line by line, from the front or from the end, without holding the file in
//! memory.
//!
//! Lines are handed out raw, with number and byte offset; [`crate::record::log::entry::Line::parse`]
//! reads them. A last line without newline is *torn*: a writer died while it wrote. That is a state
//! of the file, not an error (format, section 12: incomplete, not inconsistent).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::os;
use crate::record::limits;
use crate::record::log::entry::MAX_LINE;

/// How much is read at a time from the end of a file: some hundred lines.
const BLOCK: u64 = 64 * 1024;

/// One whole line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawLine {
    /// Number of the line, from 1.
    pub number: u64,
    /// Where it begins, in bytes from the front of the file.
    pub offset: u64,
    /// The line without its newline.
    pub text: String,
}

impl RawLine {
    /// The offset of the line after it.
    pub fn end(&self) -> u64 {
        self.offset
            .saturating_add(u64::try_from(self.text.len()).unwrap_or(u64::MAX))
            .saturating_add(1)
    }
}

/// What is left of a line that was not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornLine {
    /// The number that the line would have.
    pub number: u64,
    /// Where it begins: the length to which a writer cuts the file.
    pub offset: u64,
    /// The bytes that are there; after a power failure they may be anything, zeros too.
    pub bytes: Vec<u8>,
}

/// What a [`LogReader`] hands out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a torn line that is overlooked makes a log look whole"]
pub enum LogPiece {
    /// A line with its newline.
    Line(RawLine),
    /// The end of a file without a last newline; nothing follows.
    Torn(TornLine),
}

/// Why a log can't be read, or a line of it can't be handed out.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file can't be opened or read; nothing follows.
    #[error("can't read {place}: {source}")]
    Io {
        /// The path, or "the log" for a reader that has none.
        place: String,
        /// What the system says.
        source: io::Error,
    },
    /// Longer than any line may be; the reader goes on after it.
    #[error("line {number} at byte {offset} is longer than {max} bytes")]
    TooLong {
        /// Of the line.
        number: u64,
        /// Of the line.
        offset: u64,
        /// Most bytes that a line may have: [`MAX_LINE`].
        max: usize,
        /// Its beginning, for its HASH.
        bytes: Vec<u8>,
    },
    /// A NUL byte; the reader goes on after the line.
    #[error(
        "line {number} at byte {offset} holds a NUL byte at column {column}: a line is printable ASCII"
    )]
    Nul {
        /// Of the line.
        number: u64,
        /// Of the line.
        offset: u64,
        /// Byte of the line where it stands, from 1.
        column: usize,
        /// The whole line, for its HASH.
        bytes: Vec<u8>,
    },
    /// Not UTF-8; the reader goes on after the line.
    #[error(
        "line {number} at byte {offset} is not UTF-8 from column {column}: a line is printable ASCII"
    )]
    NotUtf8 {
        /// Of the line.
        number: u64,
        /// Of the line.
        offset: u64,
        /// Byte of the line where it stands, from 1.
        column: usize,
        /// The whole line, for its HASH.
        bytes: Vec<u8>,
    },
}

impl ReadError {
    /// The line's number, for errors that are about one line and after which reading goes on.
    pub fn line(&self) -> Option<u64> {
        match self {
            ReadError::Io { .. } => None,
            ReadError::TooLong { number, .. }
            | ReadError::Nul { number, .. }
            | ReadError::NotUtf8 { number, .. } => Some(*number),
        }
    }

    /// The bytes of the line, as far as they were kept; a verifier passes over them with
    /// [`crate::record::log::rules::LogState::skip`].
    pub fn bytes(&self) -> &[u8] {
        match self {
            ReadError::TooLong { bytes, .. }
            | ReadError::Nul { bytes, .. }
            | ReadError::NotUtf8 { bytes, .. } => bytes,
            ReadError::Io { .. } => &[],
        }
    }
}

/// Hands out the pieces of a log in order, and holds one line at a time.
///
/// Works on any bytes: a file, or a segment out of a commit (then with [`LogReader::starting_at`]).
#[derive(Debug)]
pub struct LogReader<R> {
    inner: R,
    place: String,
    number: u64,
    offset: u64,
    done: bool,
}

impl LogReader<BufReader<File>> {
    /// Opens a file; a missing file is an error, an empty one has no lines.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = os::open_regular(path).map_err(|source| io_error(path, source))?;
        let mut reader = LogReader::new(BufReader::new(file));
        reader.place = path.display().to_string();
        Ok(reader)
    }
}

impl LogReader<BufReader<File>> {
    /// Opens a file behind its first lines: the next one has this number and stands at this offset.
    pub fn open_at(path: &Path, number: u64, offset: u64) -> Result<Self, ReadError> {
        let mut file = os::open_regular(path).map_err(|source| io_error(path, source))?;
        file.seek(SeekFrom::Start(offset))
            .map_err(|source| io_error(path, source))?;
        let mut reader = LogReader::starting_at(BufReader::new(file), number, offset);
        reader.place = path.display().to_string();
        Ok(reader)
    }
}

impl<R: BufRead + Seek> LogReader<R> {
    /// Passes over so many whole lines when they are exactly these bytes; else stays where it is
    /// and says no.
    pub fn pass_same(&mut self, lines: &[u8], count: u64) -> Result<bool, ReadError> {
        if self.done {
            return Ok(false);
        }
        let place = &self.place;
        let io = |source| ReadError::Io {
            place: place.clone(),
            source,
        };
        let mut left = lines;
        while !left.is_empty() {
            let ready = match self.inner.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                ready => ready.map_err(io)?,
            };
            let length = ready.len().min(left.len());
            if length == 0 || ready.get(..length) != left.get(..length) {
                self.inner.seek(SeekFrom::Start(self.offset)).map_err(io)?;
                return Ok(false);
            }
            self.inner.consume(length);
            left = left.get(length..).unwrap_or_default();
        }
        self.number += count;
        self.offset += bytes_len(lines);
        Ok(true)
    }
}

impl<R: BufRead> LogReader<R> {
    /// Reads from the front.
    pub fn new(inner: R) -> Self {
        LogReader::starting_at(inner, 1, 0)
    }

    /// Reads bytes of which the first line has this number and stands at this offset.
    pub fn starting_at(inner: R, number: u64, offset: u64) -> Self {
        LogReader {
            inner,
            place: "the log".to_owned(),
            number,
            offset,
            done: false,
        }
    }

    /// Where the next piece begins; at the end, how long the log is.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn read_piece(&mut self) -> Result<Option<LogPiece>, ReadError> {
        let limit = u64::try_from(MAX_LINE)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let mut bytes = Vec::new();
        let place = &self.place;
        let read = (&mut self.inner).take(limit).read_until(b'\n', &mut bytes);
        read.map_err(|source| ReadError::Io {
            place: place.clone(),
            source,
        })?;
        let (number, offset) = (self.number, self.offset);
        self.number += 1;
        self.offset += bytes_len(&bytes);
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.pop_if(|last| *last == b'\n').is_some() {
            return line_of(number, offset, bytes).map(|line| Some(LogPiece::Line(line)));
        }
        if bytes.len() > MAX_LINE {
            self.pass_over()?;
            return Err(ReadError::TooLong {
                number,
                offset,
                max: MAX_LINE,
                bytes,
            });
        }
        Ok(Some(LogPiece::Torn(TornLine {
            number,
            offset,
            bytes,
        })))
    }

    /// Goes to the end of a line without keeping it; one that does not end within the size of a
    /// segment is in no log.
    fn pass_over(&mut self) -> Result<(), ReadError> {
        let place = &self.place;
        let skipped = (&mut self.inner).take(limits::SEGMENT).skip_until(b'\n');
        let skipped = skipped.map_err(|source| ReadError::Io {
            place: place.clone(),
            source,
        })?;
        self.offset += bytes_len_of(skipped);
        if bytes_len_of(skipped) < limits::SEGMENT {
            return Ok(());
        }
        let reason = format!(
            "line {} is longer than {} bytes: this is no log",
            self.number - 1,
            limits::SEGMENT
        );
        Err(ReadError::Io {
            place: place.clone(),
            source: io::Error::new(io::ErrorKind::InvalidData, reason),
        })
    }
}

impl<R: BufRead> Iterator for LogReader<R> {
    type Item = Result<LogPiece, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let piece = self.read_piece().transpose();
        self.done = matches!(
            piece,
            None | Some(Ok(LogPiece::Torn(_)) | Err(ReadError::Io { .. }))
        );
        piece
    }
}

/// One line read from the end, where its number is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailLine {
    /// Where it begins.
    pub offset: u64,
    /// The line without its newline; bytes that are not UTF-8 make [`tail`] fail.
    pub text: String,
}

/// The end of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The last whole lines, oldest first; fewer than asked for when the log is shorter.
    pub lines: Vec<TailLine>,
    /// Length of the whole lines: where the next line goes, and to where a torn one is cut.
    pub end: u64,
    /// Length of the file; more than `end` when its last line is torn.
    pub len: u64,
}

impl Tail {
    /// How many bytes of an unfinished line follow the last newline.
    pub fn torn(&self) -> u64 {
        self.len.saturating_sub(self.end)
    }
}

/// Reads the last `count` whole lines of a file without scanning what is before them.
///
/// Reads backwards in blocks of 64 KiB; holds at most `count` lines of [`MAX_LINE`]. A missing file
/// is an error. `number` in an error counts from the first line read, since the real number is not
/// known.
pub fn tail(path: &Path, count: usize) -> Result<Tail, ReadError> {
    let io = |source| io_error(path, source);
    let mut file = os::open_regular(path).map_err(io)?;
    let len = file.seek(SeekFrom::End(0)).map_err(io)?;
    let Some(last) = newline_before(&mut file, len, u64::MAX).map_err(io)? else {
        return Ok(Tail {
            lines: Vec::new(),
            end: 0,
            len,
        });
    };
    let end = last + 1;
    let mut start = end;
    for _ in 0..count {
        if start == 0 {
            break;
        }
        let reach = u64::try_from(MAX_LINE)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        start = match newline_before(&mut file, start - 1, reach).map_err(io)? {
            Some(newline) => newline + 1,
            None if start - 1 < reach => 0,
            None => {
                return Err(ReadError::TooLong {
                    number: 1,
                    offset: start - 1 - reach,
                    max: MAX_LINE,
                    bytes: Vec::new(),
                });
            }
        };
    }
    file.seek(SeekFrom::Start(start)).map_err(io)?;
    let mut reader = LogReader::starting_at(BufReader::new(file.take(end - start)), 1, start);
    reader.place = path.display().to_string();
    let mut lines = Vec::new();
    for piece in reader {
        if let LogPiece::Line(RawLine { offset, text, .. }) = piece? {
            lines.push(TailLine { offset, text });
        }
    }
    Ok(Tail { lines, end, len })
}

/// The offset of the last newline before `before`, looking back no further than `reach` bytes.
fn newline_before(file: &mut File, before: u64, reach: u64) -> io::Result<Option<u64>> {
    let floor = before.saturating_sub(reach);
    let mut upper = before;
    while upper > floor {
        let lower = upper.saturating_sub(BLOCK).max(floor);
        file.seek(SeekFrom::Start(lower))?;
        let mut block = Vec::new();
        file.by_ref().take(upper - lower).read_to_end(&mut block)?;
        if let Some(place) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(Some(lower + u64::try_from(place).unwrap_or(u64::MAX)));
        }
        upper = lower;
    }
    Ok(None)
}

fn line_of(number: u64, offset: u64, bytes: Vec<u8>) -> Result<RawLine, ReadError> {
    if let Some(place) = bytes.iter().position(|byte| *byte == 0) {
        return Err(ReadError::Nul {
            number,
            offset,
            column: place + 1,
            bytes,
        });
    }
    String::from_utf8(bytes)
        .map(|text| RawLine {
            number,
            offset,
            text,
        })
        .map_err(|wrong| ReadError::NotUtf8 {
            number,
            offset,
            column: wrong.utf8_error().valid_up_to() + 1,
            bytes: wrong.into_bytes(),
        })
}

fn bytes_len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn bytes_len_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn io_error(path: &Path, source: io::Error) -> ReadError {
    ReadError::Io {
        place: PathBuf::from(path).display().to_string(),
        source,
    }
}
