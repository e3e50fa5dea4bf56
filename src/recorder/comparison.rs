//! Whether database, log and ledger agree, and where not: the one comparison that applying,
//! rebuild, adopt, doctor and sight read.
//!
//! What the database says and what was found come in as values, nothing is read here. What a writer
//! goes on from is compared at once: the end of the log, the tree head beside it, and every branch.
//! Rebuild holds every line against the log, and adopt all that another ledger has.

use std::collections::BTreeMap;
use std::fmt;

use crate::ledger::Oid;
use crate::ledger::read::RefTarget;
use crate::record::hash::Hash32;
use crate::record::log::entry::Line;
use crate::record::signature::PublicKey;
use crate::record::tree::parse_note;

use super::RecorderError;
use super::batch::transaction::segment;

/// How much of what is no line an error shows.
const SHOWN_BYTES: usize = 80;

/// A part of a home that stands beside the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidencePart {
    /// The file `audit.log`.
    Log,
    /// The signed tree head beside it.
    Checkpoint,
    /// The git ledger.
    Ledger,
}

impl EvidencePart {
    /// The name of its file.
    pub const fn name(self) -> &'static str {
        match self {
            EvidencePart::Log => "audit.log",
            EvidencePart::Checkpoint => super::CHECKPOINT,
            EvidencePart::Ledger => "ledger.git",
        }
    }
}

/// One place where a part says something else than the database, and no crash explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which part differs from the database.
    pub part: EvidencePart,
    /// Whether the part lacks what the database has; else it has what the database does not know.
    pub is_behind: bool,
    /// Which line or ref.
    pub place: String,
    /// What the database says.
    pub database: String,
    /// What the part says.
    pub found: String,
}

impl From<Difference> for RecorderError {
    fn from(difference: Difference) -> Self {
        const DATABASE: &str = "the database";
        let part = difference.part.name();
        let (ahead, behind) = if difference.is_behind {
            (DATABASE, part)
        } else {
            (part, DATABASE)
        };
        RecorderError::Disagree {
            ahead,
            behind,
            place: difference.place,
            expected: difference.database,
            actual: difference.found,
        }
    }
}

/// What the database says of the log's end.
pub struct ExpectedLog<'a> {
    /// How many lines are durable in the file.
    pub applied: u64,
    /// The last of them with its newline; nothing where there is none.
    pub last: Vec<u8>,
    /// The lines that follow, which may be in the file or not.
    pub pending: &'a [String],
    /// Length of the file without and with those lines.
    pub from: u64,
    /// Length of the file with those lines, in bytes; see [`ExpectedLog::from`].
    pub to: u64,
}

/// The log's end as it is.
pub struct FoundLog {
    /// Length of the file.
    pub length: u64,
    /// What it holds from where [`ExpectedLog::last`] should begin; perhaps not all of it.
    pub bytes: Vec<u8>,
}

/// How far a log holds the pending lines.
pub struct LogPosition {
    /// Bytes of the file that agree, from the start.
    pub agreed: u64,
    /// Length of the file, in bytes.
    pub length: u64,
}

/// Compares the log's end with the applied mark and the pending lines.
///
/// A crash leaves a prefix of the pending lines, or as many bytes of which some are torn, and a power
/// loss perhaps zeros behind it. Whatever else is longer than that, or holds a line of another history,
/// is somebody's.
pub fn compare_log(
    expected: &ExpectedLog<'_>,
    found: &FoundLog,
) -> Result<LogPosition, Difference> {
    let behind = |database: String, found: String| Difference {
        part: EvidencePart::Log,
        is_behind: true,
        place: format!("line {}", expected.applied),
        database,
        found,
    };
    let length = found.length;
    if length < expected.from {
        return Err(behind(
            format!("{} bytes", expected.from),
            format!("{length} bytes"),
        ));
    }
    let (before, after) = found
        .bytes
        .split_at_checked(expected.last.len())
        .unwrap_or((&found.bytes, &[]));
    if before != expected.last {
        let spell = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        return Err(behind(spell(&expected.last), spell(before)));
    }
    let pending = segment(expected.pending);
    let common = after
        .iter()
        .zip(&pending)
        .take_while(|(a, b)| a == b)
        .count();
    let whole_lines = pending[..common]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    // Zeros up to the end are what a power loss leaves of a file that was growing: nobody's words.
    let to_the_end = expected.from + u64::try_from(after.len()).unwrap_or(u64::MAX) == length;
    let zeros = to_the_end && after[whole_lines..].iter().all(|byte| *byte == 0);
    if after.len() > common && !zeros {
        compare_rest(expected, &after[whole_lines..], whole_lines, length)?;
    }
    Ok(LogPosition {
        agreed: expected.from + u64::try_from(whole_lines).unwrap_or(u64::MAX),
        length,
    })
}

/// The first of some bytes, as an error shows them.
fn spelled(bytes: &[u8]) -> String {
    match bytes.iter().any(|byte| *byte != 0) || bytes.is_empty() {
        true => bytes
            .get(..SHOWN_BYTES)
            .unwrap_or(bytes)
            .escape_ascii()
            .to_string(),
        false => format!("{} zero bytes", bytes.len()),
    }
}

/// `rest` follows the first `agreed` bytes of the pending lines, and is not what they go on with.
fn compare_rest(
    expected: &ExpectedLog<'_>,
    rest: &[u8],
    agreed: usize,
    length: u64,
) -> Result<(), Difference> {
    let first = rest.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = if first.len() < rest.len() {
        Line::parse(first).ok()
    } else {
        None
    };
    if line.is_none() && length <= expected.to {
        return Ok(());
    }
    let ends = expected.pending.iter().scan(0, |length, line| {
        *length += line.len() + 1;
        Some(*length)
    });
    let count = ends.take_while(|length| *length <= agreed).count();
    let shown = || spelled(first);
    Err(Difference {
        part: EvidencePart::Log,
        is_behind: false,
        place: format!(
            "line {}",
            expected.applied + u64::try_from(count).unwrap_or(u64::MAX) + 1
        ),
        database: expected
            .pending
            .get(count)
            .cloned()
            .unwrap_or_else(|| "the end of the log".to_owned()),
        found: line.map_or_else(|| shown().to_string(), |line| line.text()),
    })
}

/// What a log has at the place of a line.
pub enum FoundLine {
    /// A line of the file, without its newline.
    Line(String),
    /// An unfinished one at the end of the file.
    Torn(Vec<u8>),
    /// What is no line, and not the end.
    Foreign(Vec<u8>),
}

impl FoundLine {
    /// Whether it is a line that follows from the one before, which has this HASH.
    pub fn follows(&self, before: Hash32) -> bool {
        match self {
            FoundLine::Line(text) => {
                Line::parse(text.as_bytes()).is_ok_and(|line| line.follows(before))
            }
            FoundLine::Torn(_) | FoundLine::Foreign(_) => false,
        }
    }
}

/// As a message shows it.
impl fmt::Display for FoundLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundLine::Line(text) => write!(f, "'{text}'"),
            FoundLine::Torn(bytes) | FoundLine::Foreign(bytes) => {
                write!(f, "'{}', which is no line", spelled(bytes))
            }
        }
    }
}

/// How a log goes on where the database has a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineState {
    /// It has that line.
    Same,
    /// It has ended.
    Missing,
    /// It ends with so many bytes of that line.
    Cut(usize),
    /// It has a line of other words.
    Other {
        /// Which goes on from the line before.
        follows: bool,
    },
    /// It has what is no line.
    NoLine {
        /// With which it ends.
        is_end: bool,
    },
}

/// Compares a line with what the log has at its place; `before` is the HASH of the line before.
pub fn compare_line(database: &str, found: Option<&FoundLine>, before: Hash32) -> LineState {
    match found {
        None => LineState::Missing,
        Some(FoundLine::Line(text)) if text == database => LineState::Same,
        Some(other @ FoundLine::Line(_)) => LineState::Other {
            follows: other.follows(before),
        },
        Some(FoundLine::Torn(bytes)) if database.as_bytes().starts_with(bytes) => {
            LineState::Cut(bytes.len())
        }
        Some(FoundLine::Torn(_)) => LineState::NoLine { is_end: true },
        Some(FoundLine::Foreign(_)) => LineState::NoLine { is_end: false },
    }
}

/// Compares what stands in one order here and there, up to the end of the shorter one: lines, or
/// the ids of commits. `what` names one of them.
pub fn compare_order<'a>(
    (part, what): (EvidencePart, &str),
    database: impl Iterator<Item = &'a str>,
    found: impl Iterator<Item = &'a str>,
) -> Result<(), Difference> {
    match database.zip(found).zip(1u64..).find(|((a, b), _)| a != b) {
        None => Ok(()),
        Some(((database, found), number)) => Err(Difference {
            part,
            is_behind: false,
            place: format!("{what} {number}"),
            database: database.to_owned(),
            found: found.to_owned(),
        }),
    }
}

/// What the database says of the tree head beside the log.
pub struct ExpectedCheckpoint<'a> {
    /// The signed note, once there is one.
    pub note: Option<&'a str>,
    /// How many lines it is over, and their root.
    pub tree: (u64, Hash32),
    /// The key in force.
    pub signer: &'a PublicKey,
}

/// Whether the file holds the tree head that the database has. One over fewer lines is what a crash
/// leaves, and whatever is no tree head of this ledger proves nothing; both are written anew.
///
/// It differs when it is one by the key in force over lines, or a tree, that the database does not
/// have: somebody signed a history with this key that is not the one here.
pub fn compare_checkpoint(
    expected: &ExpectedCheckpoint<'_>,
    found: Option<&[u8]>,
) -> Result<bool, Difference> {
    let Some(found) = found else {
        return Ok(expected.note.is_none());
    };
    if expected.note.is_some_and(|own| own.as_bytes() == found) {
        return Ok(true);
    }
    let (lines, root) = expected.tree;
    let note = std::str::from_utf8(found)
        .ok()
        .and_then(|text| parse_note(text).ok())
        .filter(|note| note.size >= lines && (note.size, note.root) != expected.tree);
    let Some(note) = note.filter(|note| note.verify(expected.signer)) else {
        return Ok(false);
    };
    Err(Difference {
        part: EvidencePart::Checkpoint,
        is_behind: false,
        place: "its signed tree head".to_owned(),
        database: format!("{lines} lines with the root {root}"),
        found: format!("{} lines with the root {}", note.size, note.root),
    })
}

/// Where the database has a ref: at the applied tip, and on its way through the pending commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedRef {
    /// None where it is new.
    pub applied: Option<Oid>,
    /// In their order.
    pub pending: Vec<Oid>,
}

impl ExpectedRef {
    /// Where it belongs.
    pub fn tip(&self) -> Option<Oid> {
        self.pending.last().copied().or(self.applied)
    }
}

/// Where a ref is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefPosition {
    /// At the applied tip or at a pending commit.
    Known(Option<Oid>),
    /// Cut by a power loss: it holds nothing that could be somebody's history.
    Torn,
    /// On a commit that the database does not expect there.
    Elsewhere,
}

/// Where a ref is, as the database knows it.
pub fn ref_position(expected: &ExpectedRef, found: Option<&RefTarget>) -> RefPosition {
    match found {
        None if expected.applied.is_none() => RefPosition::Known(None),
        Some(RefTarget::Direct(id))
            if expected.applied == Some(*id) || expected.pending.contains(id) =>
        {
            RefPosition::Known(Some(*id))
        }
        Some(RefTarget::Broken(_)) => RefPosition::Torn,
        _ => RefPosition::Elsewhere,
    }
}

/// Where every ref is. Branches are the database's, all of them: one that it does not know differs.
pub fn compare_refs(
    expected: &BTreeMap<String, ExpectedRef>,
    found: &BTreeMap<String, RefTarget>,
) -> Result<BTreeMap<String, RefPosition>, Difference> {
    let spell = |target: Option<&RefTarget>| match target {
        Some(RefTarget::Direct(id)) => id.to_string(),
        Some(RefTarget::Symbolic(words) | RefTarget::Broken(words)) => words.clone(),
        None => "no such ref".to_owned(),
    };
    let differs = |name: &str, known: Option<Oid>| Difference {
        part: EvidencePart::Ledger,
        is_behind: !found.contains_key(name),
        place: name.to_owned(),
        database: spell(known.map(RefTarget::Direct).as_ref()),
        found: spell(found.get(name)),
    };
    let mut positions = BTreeMap::new();
    for (name, expected) in expected {
        let position = ref_position(expected, found.get(name));
        if position == RefPosition::Elsewhere {
            return Err(differs(name, expected.applied));
        }
        positions.insert(name.clone(), position);
    }
    match found.keys().find(|name| !expected.contains_key(*name)) {
        Some(name) => Err(differs(name, None)),
        None => Ok(positions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> Oid {
        digit.to_string().repeat(40).parse().unwrap()
    }

    #[test]
    fn a_ref_is_where_a_crash_can_leave_it_or_it_differs() {
        let expected = ExpectedRef {
            applied: Some(id('1')),
            pending: vec![id('2'), id('3')],
        };
        assert_eq!(expected.tip(), Some(id('3')));
        for (found, position) in [
            (
                Some(RefTarget::Direct(id('1'))),
                RefPosition::Known(Some(id('1'))),
            ),
            (
                Some(RefTarget::Direct(id('2'))),
                RefPosition::Known(Some(id('2'))),
            ),
            (Some(RefTarget::Direct(id('4'))), RefPosition::Elsewhere),
            (Some(RefTarget::Broken("''".to_owned())), RefPosition::Torn),
            (None, RefPosition::Elsewhere),
        ] {
            assert_eq!(
                ref_position(&expected, found.as_ref()),
                position,
                "{found:?}"
            );
        }
        let new = ExpectedRef::default();
        assert_eq!(ref_position(&new, None), RefPosition::Known(None));
        let name = "refs/heads/branch-1".to_owned();
        let known = BTreeMap::from([(name.clone(), expected)]);
        let gone = compare_refs(&known, &BTreeMap::new()).unwrap_err();
        assert!(gone.is_behind && gone.found == "no such ref", "{gone:?}");
        let strange = BTreeMap::from([(name, RefTarget::Direct(id('1')))]);
        let unknown = compare_refs(&BTreeMap::new(), &strange).unwrap_err();
        assert!(!unknown.is_behind && unknown.found == id('1').to_string());
    }

    #[test]
    fn a_line_is_cut_or_torn_or_of_another_history() {
        let line = |text: &str| FoundLine::Line(text.to_owned());
        let torn = |text: &str| FoundLine::Torn(text.as_bytes().to_vec());
        for (found, state) in [
            (None, LineState::Missing),
            (Some(line("a|b")), LineState::Same),
            (Some(line("a|c")), LineState::Other { follows: false }),
            (Some(torn("a|")), LineState::Cut(2)),
            (Some(torn("\0\0")), LineState::NoLine { is_end: true }),
            (
                Some(FoundLine::Foreign(b"a|".to_vec())),
                LineState::NoLine { is_end: false },
            ),
        ] {
            let compared = compare_line("a|b", found.as_ref(), Hash32::GENESIS);
            assert_eq!(compared, state);
        }
        let order = |found: &[&'static str]| {
            let database = ["a", "b"].into_iter();
            compare_order((EvidencePart::Log, "line"), database, found.iter().copied())
        };
        assert_eq!((order(&[]), order(&["a", "b", "c"])), (Ok(()), Ok(())));
        assert_eq!(order(&["a", "c"]).unwrap_err().place, "line 2");
    }

    #[test]
    fn a_log_ends_where_a_crash_can_leave_it_or_it_differs() {
        let line = |n: u64| {
            let event = crate::record::log::entry::Event::Recover { applied: n };
            Line::new(
                Hash32::GENESIS,
                0,
                crate::record::time::Seconds::ZERO,
                None,
                event,
            )
            .text()
        };
        let (one, two, other) = (line(1), line(2), line(3));
        let length = |text: &str| u64::try_from(text.len()).unwrap() + 1;
        let expected = ExpectedLog {
            applied: 1,
            last: format!("{one}\n").into_bytes(),
            pending: std::slice::from_ref(&two),
            from: length(&one),
            to: length(&one) + length(&two),
        };
        let compare = |text: String| {
            compare_log(
                &expected,
                &FoundLog {
                    length: u64::try_from(text.len()).unwrap(),
                    bytes: text.into_bytes(),
                },
            )
        };
        for (text, agreed) in [
            (format!("{one}\n"), expected.from),
            (format!("{one}\n{}", &two[..9]), expected.from),
            (format!("{one}\n\0\0\0"), expected.from),
            (format!("{one}\n{two}\n"), expected.to),
            // Zeros, as many as there may be, are nobody's words.
            (format!("{one}\n{two}\n{}", "\0".repeat(500)), expected.to),
        ] {
            assert_eq!(compare(text).ok().unwrap().agreed, agreed);
        }
        for (text, is_behind) in [
            (String::new(), true),
            (format!("{other}\n"), true),
            (format!("{one}\n{other}\n"), false),
            (format!("{one}\n{two}\n{other}\n"), false),
            (format!("{one}\n{two}\n\0x"), false),
        ] {
            let difference = compare(text).err().unwrap();
            assert_eq!(difference.is_behind, is_behind, "{difference:?}");
        }
    }
}
