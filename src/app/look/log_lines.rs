//! Which lines are shown, read from the end, and whether each follows the line before it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use crate::app::sentence::{FieldSentence, RequestField};
use crate::home::Home;
use crate::log::back::{LineBack, LinesBack};
use crate::log::read::ReadError;
use crate::record::hash::Hash32;
use crate::record::log::chain::line_hash;
use crate::record::log::entry::{EntryError, Event, Line};
use crate::record::time::Seconds;
use crate::store::ReadStore;

use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::moment::when;

/// A writer between two of its writes looks like a torn line for as long as this, at most.
const SETTLES: Duration = Duration::from_millis(50);
/// How far the database may be ahead of the log, in lines, for a line's number to be looked up in
/// it.
const AHEAD: u64 = 1024;

/// How many lines are shown when nothing else is said.
const USUAL: usize = 20;

/// Which lines are asked for, as a person says it.
#[derive(Clone, Debug, Default)]
pub struct LinesRequest {
    /// None older: a time, or an age.
    pub since: Option<String>,
    /// Of one session only, by any id of the home that means it.
    pub session: Option<String>,
    /// At most so many, the newest ones; all that is since then, when only that is said.
    pub number: Option<usize>,
}

/// Why no lines are shown.
#[derive(Debug)]
pub enum LinesError {
    /// The time is none.
    Since(FieldSentence),
    /// The log can't be read.
    Log(ReadError),
    /// The home could not be opened.
    Home(OpenHomeError),
}

impl<E> From<E> for LinesError
where
    OpenHomeError: From<E>,
{
    fn from(error: E) -> Self {
        LinesError::Home(error.into())
    }
}

/// The newest lines of a home's log that are asked for.
pub fn newest(home: &Home, request: &LinesRequest) -> Result<LineMatches, LinesError> {
    let since = request.since.as_deref();
    let since = since
        .map(|text| when(RequestField::Since, text, open::clock_or_epoch()))
        .transpose()
        .map_err(LinesError::Since)?;
    let store = open::store(home)?;
    let session = request.session.as_deref();
    let session = session
        .map(|text| find::session(&store, text))
        .transpose()?;
    let usual = if since.is_some() { usize::MAX } else { USUAL };
    let filter = LineFilter {
        most: request.number.unwrap_or(usual),
        since,
        session: session.map(|row| row.id),
    };
    collect(&home.paths().log(), &store, &filter).map_err(LinesError::Log)
}

/// What is asked for.
struct LineFilter {
    /// At most so many, the newest ones.
    most: usize,
    /// Time of the oldest line that is listed; none lists from the first line on.
    since: Option<Seconds>,
    /// Of one session only.
    session: Option<Hash32>,
}

/// One line to be shown.
pub struct CheckedLine {
    /// Number of the line, from 1.
    pub number: u64,
    /// In the file.
    pub offset: u64,
    /// As it stands there.
    pub bytes: Vec<u8>,
    /// What it says.
    pub line: Result<Line, EntryError>,
    /// Why its hash is not that of the line before and of itself.
    chain: Result<(), String>,
}

impl CheckedLine {
    /// Why it does not hold, if it does not.
    pub fn fault(&self) -> Option<String> {
        match (&self.line, &self.chain) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), Err(why)) => Some(why.clone()),
            (Ok(_), Ok(())) => None,
        }
    }
}

/// What was found.
pub struct LineMatches {
    /// Matching lines, oldest first.
    pub shown: Vec<CheckedLine>,
    /// Bytes of a last line without newline.
    pub torn: u64,
}

impl LineMatches {
    /// How many do not hold.
    pub fn broken(&self) -> usize {
        let fault = |line: &&CheckedLine| line.fault().is_some();
        self.shown.iter().filter(fault).count()
    }
}

/// Reads from the end until all that is wanted was seen.
fn collect(path: &Path, store: &ReadStore, wanted: &LineFilter) -> Result<LineMatches, ReadError> {
    let mut back = LinesBack::open(path)?;
    if back.torn() > 0 {
        // Somebody may be writing it just now.
        std::thread::sleep(SETTLES);
        back = LinesBack::open(path)?;
    }
    let torn = back.torn();
    let mut shown = Vec::new();
    let Some(newest) = back.next().transpose()? else {
        return Ok(LineMatches { shown, torn });
    };
    let mut number = number_of(path, store, &newest, back.end())?;
    let mut current = Some(newest);
    while let Some(line) = current.take().filter(|_| shown.len() < wanted.most) {
        let older = back.next().transpose()?;
        let (keep, go_on) = look(&line, number, older.as_ref(), wanted);
        shown.extend(keep);
        if !go_on {
            break;
        }
        number = number.saturating_sub(1);
        current = older;
    }
    shown.reverse();
    Ok(LineMatches { shown, torn })
}

/// Whether a line is wanted, and whether older ones can be.
fn look(
    line: &LineBack,
    number: u64,
    older: Option<&LineBack>,
    wanted: &LineFilter,
) -> (Option<CheckedLine>, bool) {
    let parsed = Line::parse(&line.bytes);
    let (keep, go_on) = match &parsed {
        Ok(parsed) => {
            let ours = wanted.session.is_none_or(|id| parsed.session == Some(id));
            let late = wanted.since.is_none_or(|since| parsed.time >= since);
            let first = wanted.session.is_some()
                && ours
                && matches!(parsed.event, Event::SessionStart { .. });
            (ours && late, late && !first)
        }
        // Nobody can say whose it was; with a session asked for it would be noise.
        Err(_) => (wanted.session.is_none(), true),
    };
    let shown = keep.then(|| CheckedLine {
        number,
        offset: line.offset,
        bytes: line.bytes.clone(),
        line: parsed,
        chain: follows(line, older),
    });
    (shown, go_on)
}

/// Recomputes a line's hash from the line before it.
fn follows(line: &LineBack, older: Option<&LineBack>) -> Result<(), String> {
    let (hash, rest) = split(&line.bytes).ok_or_else(|| "it has no hash".to_owned())?;
    let prev = match older {
        None => Hash32::GENESIS,
        Some(older) => split(&older.bytes)
            .map(|(hash, _)| hash)
            .ok_or("the line before it has no hash")?,
    };
    let expected = line_hash(prev, rest);
    if expected == hash {
        return Ok(());
    }
    Err(format!(
        "HASH {}…, expected {}… after the line before it",
        hash.short8(),
        expected.short8()
    ))
}

fn split(bytes: &[u8]) -> Option<(Hash32, &[u8])> {
    let at = bytes.iter().position(|byte| *byte == b'|')?;
    let (hash, rest) = bytes.split_at(at);
    Some((
        std::str::from_utf8(hash).ok()?.parse().ok()?,
        rest.get(1..)?,
    ))
}

/// The number of the last line: from the database, or by counting where the database does not know
/// it.
fn number_of(path: &Path, store: &ReadStore, last: &LineBack, end: u64) -> Result<u64, ReadError> {
    if let Ok(head) = store.head() {
        if head.bytes == end {
            return Ok(head.lines);
        }
        let from = head.lines.saturating_sub(AHEAD);
        let known = store.lines(from, head.lines).unwrap_or_default();
        if let Some(at) = known.iter().rposition(|line| line.as_bytes() == last.bytes) {
            return Ok(from + at as u64 + 1);
        }
    }
    count(path, end)
}

fn count(path: &Path, end: u64) -> Result<u64, ReadError> {
    let failed = |source| ReadError::Io {
        place: path.display().to_string(),
        source,
    };
    let mut reader = BufReader::new(std::io::Read::take(File::open(path).map_err(failed)?, end));
    let mut lines = 0;
    loop {
        let bytes = reader.fill_buf().map_err(failed)?;
        if bytes.is_empty() {
            return Ok(lines);
        }
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let used = bytes.len();
        reader.consume(used);
    }
}
