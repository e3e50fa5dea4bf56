//! The log's half of applying: what the file already holds, and what is appended to it.

use std::fs::File;
use std::io::{Read as _, Seek, SeekFrom};
use std::path::Path;

use crate::log::append::{AppendError, Appender};
use crate::store::{LedgerHead, ReadStore};

use super::super::RecorderError;
use super::{PendingWrites, apply_error};
use crate::recorder::batch::transaction::segment;
use crate::recorder::comparison::{ExpectedLog, FoundLog, LogPosition, compare_log};

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
    let last = match head.applied.lines.checked_sub(1) {
        Some(n) => store.lines(n, n + 1)?,
        None => Vec::new(),
    };
    let expected = ExpectedLog {
        applied: head.applied.lines,
        last: segment(&last),
        pending: &pending.lines,
        from: pending.from,
        to: pending.to,
    };
    let last_len = u64::try_from(expected.last.len()).unwrap_or(u64::MAX);
    // A file that is far longer than it can be is somebody's; there is no need to read all of it.
    let most = last_len + pending.to.saturating_sub(pending.from) + MAX_STRANGE;
    let found = FoundLog {
        length: length_of(path)?,
        bytes: read_from(path, pending.from.saturating_sub(last_len), most)?,
    };
    Ok(compare_log(&expected, &found)?)
}

/// How much of what nobody expected is read to see whether it is a history.
const MAX_STRANGE: u64 = 1 << 17;

fn length_of(path: &Path) -> Result<u64, RecorderError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(_) => Err(apply_error("looking at audit.log")(AppendError::NotAFile {
            path: path.to_owned(),
        })),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(apply_error("looking at audit.log")(e)),
    }
}

fn read_from(path: &Path, start: u64, most: u64) -> Result<Vec<u8>, RecorderError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(apply_error("opening audit.log")(e)),
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))
        .map_err(apply_error("reading audit.log"))?;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(apply_error("reading audit.log"))?;
    Ok(bytes)
}

pub(super) fn apply_lines(
    path: &Path,
    pending: &PendingWrites,
    state: LogPosition,
) -> Result<(Option<Appender>, u64), RecorderError> {
    if pending.lines.is_empty() && state.length == pending.to {
        return Ok((None, 0));
    }
    let failed = |e: AppendError| apply_error("appending to audit.log")(e);
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
