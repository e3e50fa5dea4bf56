//! The log's half of applying: what the file already holds, and what is appended to it.

use std::fs::File;
use std::io::{Read as _, Seek, SeekFrom};
use std::path::Path;

use crate::log::append::{AppendError, Appender};
use crate::record::log::entry::Line;
use crate::store::{LedgerHead, ReadStore};

use super::super::RecorderError;
use super::{PendingWrites, unapplied};
use crate::recorder::batch::transaction::segment;

/// How far the file already holds the pending lines.
pub(super) struct LogPosition {
    /// Bytes of the file that agree, from the start.
    agreed: u64,
    /// Its length.
    len: u64,
}

/// Compares the file's end with the applied mark and the pending lines.
///
/// A crash leaves a prefix of the pending lines, or as many bytes of which some are torn. Whatever
/// is longer than that, or holds a line of another history, is somebody's, and nothing is touched.
pub(super) fn look_at_log(
    store: &ReadStore,
    head: &LedgerHead,
    path: &Path,
    pending: &PendingWrites,
) -> Result<LogPosition, RecorderError> {
    let len = length_of(path)?;
    if len < pending.from {
        return Err(behind(
            head,
            format!("{} bytes", pending.from),
            format!("{len} bytes"),
        ));
    }
    let last = match head.applied.lines.checked_sub(1) {
        Some(n) => store.lines(n, n + 1)?,
        None => Vec::new(),
    };
    let last = segment(&last);
    let last_len = u64::try_from(last.len()).unwrap_or(u64::MAX);
    let expected = segment(&pending.lines);
    // A file that is far longer than it can be is somebody's; there is no need to read all of it.
    let most = last_len + pending.to.saturating_sub(pending.from) + MAX_STRANGE;
    let bytes = read_from(path, pending.from.saturating_sub(last_len), most)?;
    let (before, after) = bytes.split_at_checked(last.len()).unwrap_or((&bytes, &[]));
    if before != last {
        let spell = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        return Err(behind(head, spell(&last), spell(before)));
    }
    let common = after
        .iter()
        .zip(&expected)
        .take_while(|(a, b)| a == b)
        .count();
    let whole_lines = expected[..common]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    if after.len() > common {
        refuse_other_history(head, pending, &after[whole_lines..], whole_lines, len)?;
    }
    Ok(LogPosition {
        agreed: pending.from + u64::try_from(whole_lines).unwrap_or(u64::MAX),
        len,
    })
}

/// How much of what nobody expected is read to see whether it is a history.
const MAX_STRANGE: u64 = 1 << 17;

fn length_of(path: &Path) -> Result<u64, RecorderError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(_) => Err(unapplied("looking at audit.log")(AppendError::NotAFile {
            path: path.to_owned(),
        })),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(unapplied("looking at audit.log")(e)),
    }
}

fn behind(head: &LedgerHead, expected: String, actual: String) -> RecorderError {
    RecorderError::Disagree {
        ahead: "the database",
        behind: "audit.log",
        place: format!("line {}", head.applied.lines),
        expected,
        actual,
    }
}

/// `rest` follows the first `agreed` bytes of the pending lines, and is not what they go on with.
fn refuse_other_history(
    head: &LedgerHead,
    pending: &PendingWrites,
    rest: &[u8],
    agreed: usize,
    len: u64,
) -> Result<(), RecorderError> {
    let first = rest.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = if first.len() < rest.len() {
        Line::parse(first).ok()
    } else {
        None
    };
    if line.is_none() && len <= pending.to {
        return Ok(());
    }
    let count = pending.lines.iter().scan(0, |length, line| {
        *length += line.len() + 1;
        Some(*length)
    });
    let count = count.take_while(|length| *length <= agreed).count();
    let spelled = line.map_or_else(
        || {
            first
                .get(..SHOWN_BYTES)
                .unwrap_or(first)
                .escape_ascii()
                .to_string()
        },
        |l| l.text(),
    );
    Err(RecorderError::Disagree {
        ahead: "audit.log",
        behind: "the database",
        place: format!(
            "line {}",
            head.applied.lines + u64::try_from(count).unwrap_or(u64::MAX) + 1
        ),
        expected: pending
            .lines
            .get(count)
            .cloned()
            .unwrap_or_else(|| "the end of the log".to_owned()),
        actual: spelled,
    })
}

/// How much of what is no line an error shows.
const SHOWN_BYTES: usize = 80;

fn read_from(path: &Path, start: u64, most: u64) -> Result<Vec<u8>, RecorderError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(unapplied("opening audit.log")(e)),
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))
        .map_err(unapplied("reading audit.log"))?;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unapplied("reading audit.log"))?;
    Ok(bytes)
}

pub(super) fn apply_lines(
    path: &Path,
    pending: &PendingWrites,
    state: LogPosition,
) -> Result<(Option<Appender>, u64), RecorderError> {
    if pending.lines.is_empty() && state.len == pending.to {
        return Ok((None, 0));
    }
    let failed = |e: AppendError| unapplied("appending to audit.log")(e);
    let mut log = Appender::open(path).map_err(failed)?;
    if log.len() > state.agreed {
        log.truncate_to(state.agreed).map_err(failed)?;
    }
    let mut length = pending.from;
    let missing: Vec<String> = pending
        .lines
        .iter()
        .skip_while(|line| {
            length += line.len() as u64 + 1;
            length <= state.agreed
        })
        .cloned()
        .collect();
    let count = missing.len() as u64;
    if count > 0 {
        log.append_at(state.agreed, &missing).map_err(failed)?;
    }
    Ok((Some(log), count))
}
