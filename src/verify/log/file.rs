//! A log file beside the segments that `main` holds (format, sections 6 and 12 step 4).
//!
//! The file starts with the segments and goes on where they end. A file that is a mere prefix of
//! them, or whose last line is torn, is incomplete; any other difference is inconsistent. After a
//! difference the segments are believed, they are signed, and the file's newer lines are taken up
//! again behind the segments' last line if the file holds it.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::log::read::{LogPiece, LogReader, ReadError};
use crate::os;
use crate::record::hash::Hash32;
use crate::record::log::entry::MAX_LINE;

use crate::verify::cursor::file::PositionMismatch;
use crate::verify::report::{AuditQuestion, Findings};

/// One line of the file, of whatever bytes.
pub(crate) struct FileLine {
    pub number: u64,
    pub bytes: Vec<u8>,
    /// The line ended before the length that was noted when the check began.
    pub noted: bool,
}

enum FileState {
    /// So far the file holds what the segments hold.
    Same,
    /// The last line compared differed.
    Differs,
    /// The file has no more whole lines.
    Ended,
}

/// A log file that is read once, in step with the segments.
pub(crate) struct LogFile {
    reader: LogReader<BufReader<File>>,
    noted: u64,
    last: u64,
    state: FileState,
    /// Some line that was compared differed.
    differed: bool,
    path: PathBuf,
    torn: Option<(u64, Vec<u8>)>,
}

impl LogFile {
    /// Opens the file and notes its length.
    ///
    /// A home in use appends while it is checked. The length is noted before the refs are read, and
    /// writers move refs before they append: so every `record:` line within the length has its
    /// commit among the refs, and a line behind it is only taken while it is known to the commits.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let io = |source| ReadError::Io {
            place: path.display().to_string(),
            source,
        };
        let noted = os::open_regular(path)
            .and_then(|file| file.metadata())
            .map_err(io)?
            .len();
        let (reader, path) = (LogReader::open(path)?, path.to_owned());
        Ok(LogFile {
            reader,
            noted,
            last: 0,
            state: FileState::Same,
            differed: false,
            path,
            torn: None,
        })
    }

    /// Opens the file behind its first lines, when the last of them ends there and has this HASH;
    /// else says what is there instead. The lines before it are not looked at.
    pub fn open_behind(
        path: &Path,
        lines: u64,
        bytes: u64,
        head: Hash32,
    ) -> Result<Result<Self, PositionMismatch>, ReadError> {
        let io = |source| ReadError::Io {
            place: path.display().to_string(),
            source,
        };
        let mut file = os::open_regular(path).map_err(io)?;
        let noted = file.metadata().map_err(io)?.len();
        let differs = |expected, actual| PositionMismatch::Differs {
            what: "bytes of audit.log",
            expected,
            actual,
        };
        if noted < bytes {
            return Ok(Err(differs(noted.to_string(), format!("at least {bytes}"))));
        }
        // The last line with the newline before it.
        let reach = u64::try_from(MAX_LINE)
            .unwrap_or(u64::MAX)
            .saturating_add(2)
            .min(bytes);
        let mut end = Vec::new();
        file.seek(SeekFrom::Start(bytes - reach)).map_err(io)?;
        file.take(reach).read_to_end(&mut end).map_err(io)?;
        let line = end
            .strip_suffix(b"\n")
            .and_then(|whole| whole.rsplit(|byte| *byte == b'\n').next());
        if !line.is_some_and(|line| line.starts_with(format!("{head}|").as_bytes())) {
            let expected = format!("another line that ends at byte {bytes}");
            return Ok(Err(differs(
                expected,
                format!("line {lines} with HASH {head}"),
            )));
        }
        let reader = LogReader::open_at(path, lines.saturating_add(1), bytes)?;
        let path = path.to_owned();
        Ok(Ok(LogFile {
            reader,
            noted,
            last: lines,
            state: FileState::Same,
            differed: false,
            path,
            torn: None,
        }))
    }

    fn next(&mut self) -> Result<Option<FileLine>, ReadError> {
        let line = match self.reader.next() {
            None => return Ok(None),
            Some(Ok(LogPiece::Line(line))) => FileLine {
                noted: line.end() <= self.noted,
                number: line.number,
                bytes: line.text.into_bytes(),
            },
            Some(Ok(LogPiece::Torn(torn))) => {
                self.torn = Some((torn.number, torn.bytes));
                return Ok(None);
            }
            Some(Err(error)) => match error.line() {
                Some(number) => FileLine {
                    number,
                    bytes: error.bytes().to_vec(),
                    noted: true,
                },
                None => return Err(error),
            },
        };
        self.last = line.number;
        Ok(Some(line))
    }

    /// Whether the file goes on with exactly these bytes, which are so many whole lines; if not,
    /// nothing is passed over.
    pub fn compare_whole(&mut self, lines: &[u8], count: u64) -> Result<bool, ReadError> {
        let same = matches!(self.state, FileState::Same) && self.reader.pass_same(lines, count)?;
        if same {
            self.last += count;
        }
        Ok(same)
    }

    /// Compares the next line of the file with the next line of the segments.
    pub fn compare(
        &mut self,
        segment_line: &[u8],
        number: u64,
        findings: &mut Findings,
    ) -> Result<(), ReadError> {
        if matches!(self.state, FileState::Ended) {
            return Ok(());
        }
        let Some(line) = self.next()? else {
            self.state = FileState::Ended;
            self.check_torn(segment_line, findings);
            return Ok(());
        };
        let same = line.bytes == segment_line;
        self.differed |= !same;
        if !same && matches!(self.state, FileState::Same) {
            let (expected, actual) = difference(segment_line, &line.bytes);
            findings.inconsistent(None, format!("audit.log line {number}"), expected, actual);
        }
        self.state = if same {
            FileState::Same
        } else {
            FileState::Differs
        };
        Ok(())
    }

    /// A torn line that is not the beginning of the true one is a changed line.
    fn check_torn(&mut self, segment_line: &[u8], findings: &mut Findings) {
        if let Some((number, bytes)) = self
            .torn
            .as_ref()
            .filter(|(_, bytes)| !segment_line.starts_with(bytes))
        {
            let (expected, actual) = difference(segment_line, bytes);
            findings.inconsistent(None, format!("audit.log line {number}"), expected, actual);
            self.differed = true;
        }
    }

    /// After the last segment: says whether the file is as long as the segments, and finds its
    /// newer lines.
    pub fn end_of_segments(
        &mut self,
        head: Hash32,
        count: u64,
        findings: &mut Findings,
    ) -> Result<(), ReadError> {
        if self.differed && self.pass_to(head)? {
            self.state = FileState::Same;
        } else if self.differed || matches!(self.state, FileState::Ended) {
            self.state = FileState::Ended;
            let place = format!("audit.log line {}", self.last.saturating_add(1));
            let expected = format!("the {count} lines that main holds, and newer ones");
            findings.add(
                AuditQuestion::Complete,
                None,
                place,
                expected,
                format!("the end, after {} lines", self.last),
            );
        }
        Ok(())
    }

    /// Goes behind the first line with this HASH, wherever the file has it; false when it has none.
    fn pass_to(&mut self, head: Hash32) -> Result<bool, ReadError> {
        (self.reader, self.torn) = (LogReader::open(&self.path)?, None);
        let start = head.to_string();
        while let Some(line) = self.next()? {
            if line.bytes.starts_with(start.as_bytes()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next line behind the segments that was there when the check began.
    pub fn newer(&mut self) -> Result<Option<FileLine>, ReadError> {
        if matches!(self.state, FileState::Ended) {
            Ok(None)
        } else {
            Ok(self.next()?.filter(|line| line.noted))
        }
    }

    /// A last line without its newline; one that begins behind the noted length is being written.
    pub fn report_torn(&self) -> Option<(u64, String)> {
        let (number, bytes) = self.torn.as_ref()?;
        let begin = self
            .reader
            .offset()
            .saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        (begin < self.noted).then(|| {
            (
                *number,
                format!(
                    "{} bytes without a newline at the end of the file",
                    bytes.len()
                ),
            )
        })
    }

    /// Where it was read up to: lines and bytes.
    pub fn place(&self) -> (u64, u64) {
        (self.last, self.reader.offset())
    }

    /// Reads on from a place that [`LogFile::place`] gave.
    pub fn back_to(&mut self, (last, offset): (u64, u64)) -> Result<(), ReadError> {
        self.reader = LogReader::open_at(&self.path, last.saturating_add(1), offset)?;
        (self.last, self.torn) = (last, None);
        Ok(())
    }
}

/// Shows two lines from a little before their first difference.
fn difference(expected: &[u8], actual: &[u8]) -> (String, String) {
    let at = expected
        .iter()
        .zip(actual)
        .take_while(|(a, b)| a == b)
        .count();
    let from = at.saturating_sub(8);
    let show = |bytes: &[u8]| {
        let part: Vec<u8> = bytes.iter().skip(from).take(48).copied().collect();
        format!(
            "'…{}…' (byte {at} of the line)",
            String::from_utf8_lossy(&part).escape_debug()
        )
    };
    (show(expected), show(actual))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::verify::log::lines::{LinePosition, Lines};

    const LOG: &[u8] = include_bytes!("../../../tests/vectors/ledgers/honest/audit.log");
    /// Lines of the sample that are inside `main`.
    const SEGMENTS: usize = 58;

    /// Every single byte of the log, changed: its line is named. The whole check of a ledger, which
    /// takes longer, goes over some bytes only (`tests/gently/tamper.rs`).
    #[test]
    fn every_changed_byte_is_found_in_its_line() {
        let lines: Vec<&[u8]> = LOG
            .strip_suffix(b"\n")
            .unwrap()
            .split(|byte| *byte == b'\n')
            .collect();
        let mut taken = Lines::new(None);
        for line in &lines[..SEGMENTS] {
            taken.take(
                line,
                LinePosition::File { number: 0 },
                &mut Findings::default(),
            );
        }
        let head = taken.state.head();
        let (mut file, mut line) = (tempfile::NamedTempFile::new().unwrap(), 1);
        for at in 0..LOG.len() {
            let mut changed = LOG.to_vec();
            changed[at] ^= 0x01;
            file.as_file_mut().set_len(0).unwrap();
            std::io::Seek::rewind(file.as_file_mut()).unwrap();
            file.write_all(&changed).unwrap();
            let mut findings = Findings::default();
            let mut log = LogFile::open(file.path()).unwrap();
            for (n, line) in (1u64..).zip(&lines[..SEGMENTS]) {
                log.compare(line, n, &mut findings).unwrap();
            }
            log.end_of_segments(head, 58, &mut findings).unwrap();
            let mut rest = taken.clone();
            while let Some(newer) = log.newer().unwrap() {
                rest.take(
                    &newer.bytes,
                    LinePosition::File {
                        number: newer.number,
                    },
                    &mut findings,
                );
            }
            if let Some((number, actual)) = log.report_torn() {
                findings.add(
                    AuditQuestion::Complete,
                    None,
                    format!("audit.log line {number}"),
                    "a whole line",
                    actual,
                );
            }
            let (found, _) = findings.into_list();
            let place = format!("audit.log line {line}");
            assert!(
                found.iter().any(|finding| finding.place == place),
                "byte {at}: {found:?}"
            );
            line += usize::from(LOG[at] == b'\n');
        }
    }
}
