//! Reads `audit.log` from its end, line by line, without knowing what stands before.
//!
//! For people who look at the newest lines: what is read is proportional to what is asked for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::read::ReadError;
use crate::record::log::entry::MAX_LINE;

/// How much is read at a time: some hundred lines.
const BLOCK: u64 = 64 * 1024;

/// The whole lines of a log, newest first, as raw bytes without their newlines.
///
/// Reads the file as long as it was when it was opened; lines that are appended meanwhile are not
/// seen. Holds one line and one block. Bytes of any kind are handed out: judging them is the
/// caller's.
#[derive(Debug)]
pub struct LinesBack {
    file: File,
    place: String,
    /// Bytes `start..start + held.len()` of the file; its last byte is a newline.
    held: Vec<u8>,
    start: u64,
    torn: u64,
    end: u64,
}

/// One line, found from the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineBack {
    /// Where it begins in the file.
    pub offset: u64,
    /// Without its newline; of a line with more than [`MAX_LINE`] bytes, a part that has more than
    /// those.
    pub bytes: Vec<u8>,
}

impl LinesBack {
    /// Opens a file; a missing file is an error, an empty one has no lines.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let place = path.display().to_string();
        let failed = |source| ReadError::Io {
            place: place.clone(),
            source,
        };
        let mut file = crate::os::open_regular(path).map_err(failed)?;
        let len = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut back = LinesBack {
            file,
            place: place.clone(),
            held: Vec::new(),
            start: len,
            torn: 0,
            end: len,
        };
        back.cut_torn().map_err(failed)?;
        Ok(back)
    }

    /// How many bytes of an unfinished line follow the last newline.
    pub fn torn(&self) -> u64 {
        self.torn
    }

    /// Length of the whole lines.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Drops what stands behind the last newline.
    fn cut_torn(&mut self) -> io::Result<()> {
        loop {
            if let Some(last) = self.held.iter().rposition(|byte| *byte == b'\n') {
                self.torn += length(&self.held) - length(&self.held[..=last]);
                self.held.truncate(last + 1);
                self.end = self.start + length(&self.held);
                return Ok(());
            }
            self.torn += length(&self.held);
            self.held.clear();
            if self.start == 0 {
                self.end = 0;
                return Ok(());
            }
            self.load()?;
        }
    }

    /// Puts the block before what is held in front of it.
    fn load(&mut self) -> io::Result<()> {
        let lower = self.start.saturating_sub(BLOCK);
        self.file.seek(SeekFrom::Start(lower))?;
        let mut block = Vec::new();
        self.file
            .by_ref()
            .take(self.start - lower)
            .read_to_end(&mut block)?;
        if length(&block) != self.start - lower {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file became shorter while it was read",
            ));
        }
        block.append(&mut self.held);
        self.held = block;
        self.start = lower;
        Ok(())
    }

    fn step(&mut self) -> io::Result<Option<LineBack>> {
        self.held.pop();
        loop {
            if let Some(before) = self.held.iter().rposition(|byte| *byte == b'\n') {
                let bytes = self.held.split_off(before + 1);
                return Ok(Some(LineBack {
                    offset: self.start + length(&self.held),
                    bytes,
                }));
            }
            if self.start == 0 {
                return Ok(Some(LineBack {
                    offset: 0,
                    bytes: std::mem::take(&mut self.held),
                }));
            }
            // A line longer than any can be: its end is enough to say so.
            self.held.truncate(MAX_LINE + 1);
            self.load()?;
        }
    }
}

impl Iterator for LinesBack {
    type Item = Result<LineBack, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.held.is_empty() {
            if self.start == 0 {
                return None;
            }
            if let Err(source) = self.load() {
                self.start = 0;
                return Some(Err(ReadError::Io {
                    place: self.place.clone(),
                    source,
                }));
            }
        }
        match self.step() {
            Ok(line) => line.map(Ok),
            Err(source) => {
                (self.held, self.start) = (Vec::new(), 0);
                Some(Err(ReadError::Io {
                    place: self.place.clone(),
                    source,
                }))
            }
        }
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(bytes: &[u8]) -> (Vec<(u64, Vec<u8>)>, u64, u64) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        std::fs::write(&path, bytes).unwrap();
        let lines = LinesBack::open(&path).unwrap();
        let (torn, end) = (lines.torn(), lines.end());
        (
            lines
                .map(|line| line.map(|line| (line.offset, line.bytes)).unwrap())
                .collect(),
            torn,
            end,
        )
    }

    #[test]
    fn lines_from_the_end_are_the_lines_from_the_front() {
        let long = vec![b'x'; 64 * 1024 - 1];
        let whole: [&[&[u8]]; 6] = [
            &[],
            &[b"one"],
            &[b"one", b"two", b"three"],
            &[b"", b""],
            &[&long, b"y", &long, &long],
            &[b"a", &[0, 0xff]],
        ];
        for lines in whole {
            for tail in [&b""[..], b"torn", &long] {
                let mut bytes: Vec<u8> = lines
                    .iter()
                    .flat_map(|line| [*line, b"\n"].concat())
                    .collect();
                let end = bytes.len() as u64;
                bytes.extend_from_slice(tail);
                let (mut found, torn, found_end) = back(&bytes);
                found.reverse();
                let mut offset = 0;
                let expected = lines.iter().map(|line| {
                    let at = offset;
                    offset += line.len() as u64 + 1;
                    (at, line.to_vec())
                });
                assert_eq!(found, expected.collect::<Vec<_>>());
                assert_eq!((torn, found_end), (tail.len() as u64, end));
            }
        }
    }

    #[test]
    fn a_line_longer_than_any_can_be_is_no_reason_to_hold_all_of_it() {
        let mut bytes = b"first\n".to_vec();
        bytes.extend(vec![b'z'; 10 * MAX_LINE]);
        bytes.extend_from_slice(b"\nlast\n");
        let (found, ..) = back(&bytes);
        assert_eq!(
            (found[0].1.as_slice(), found.last().unwrap().1.as_slice()),
            (&b"last"[..], &b"first"[..])
        );
        assert!(found[1].1.len() > MAX_LINE && found[1].1.len() < 4 * MAX_LINE);
    }
}
