//! The parts of an opening file, from database and ledger.
//!
//! **Cost.** The proofs take the leaf hash of every line under the head: all lines are read once,
//! in portions, and hashed into one tree, however many proofs there are. Everything else is looked
//! up by index.

use std::collections::BTreeMap;
use std::path::Path;

use crate::ledger::read::Repository;
use crate::record::bitcoin::block::Header;
use crate::record::canon;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::documents::{Close, Format, Genesis, Record, Rotate, SessionDoc};
use crate::record::ledger::opening::{Document, Entry, EntryExtra, HeaderAt, OpeningFile};
use crate::record::tree::leaf;
use crate::record::tree::note::CosignedNote;
use crate::record::tree::proof::Inclusions;
use crate::store::{CommitRow, ReadStore, SessionRow, Store};
use crate::verify::{Trust, check_opening};

use super::found::OpeningContent;
use super::head;
use super::head::{HeadRequirements, TrustedWitnesses, file};
use super::stamp;
use super::{OpenTextsError, broken};
use crate::app::prove::because;

/// Lines that are read at a time.
const PORTION: u64 = 4096;

/// What an opening is made from.
pub(super) struct LedgerSources<'a> {
    pub store: &'a Store,
    pub repository: &'a Repository,
    pub headers: &'a Path,
    pub genesis: &'a Genesis,
    pub believed: &'a TrustedWitnesses,
}

/// What a line of the file has beside its text and its proof under the head.
#[derive(Default)]
struct LineEvidence {
    document: Option<Document>,
    /// A rotation's own tree head.
    rotation: Option<String>,
    /// Whether it is proven under the stamped tree head.
    stamped: bool,
}

/// Puts a file together, under `newest` or an older tree head; and says in sentences what is left
/// out.
pub(super) fn assemble(
    ledger: &LedgerSources<'_>,
    found: &OpeningContent,
    newest: String,
) -> Result<(OpeningFile, Vec<String>), OpenTextsError> {
    let store = ledger.store;
    let mut wanted = BTreeMap::new();
    let genesis = Some(Document::Genesis(ledger.genesis.clone()));
    wanted.insert(
        0,
        LineEvidence {
            document: genesis,
            stamped: true,
            ..LineEvidence::default()
        },
    );
    // The outcome of a turn is there always, whichever role of it is opened.
    let opened = found
        .pieces
        .iter()
        .flat_map(|piece| [Some(piece.line), piece.outcome])
        .flatten();
    for line in opened {
        wanted.insert(
            line,
            LineEvidence {
                document: record(store, line)?,
                stamped: true,
                ..LineEvidence::default()
            },
        );
    }
    let opened = wanted.last_key_value().map_or(0, |(line, _)| *line);
    let place = stamp::StampSources {
        store,
        repository: ledger.repository,
        headers: ledger.headers,
        network: ledger.genesis.network,
        line: opened,
    };
    let (stamped, mut left_out) = stamp::find(&place)?;
    let mut blocks = Vec::new();
    if let Some(session) = &found.session {
        blocks = session_lines(store, session, opened, &mut wanted)?;
    }
    let last = wanted.last_key_value().map_or(opened, |(line, _)| *line);
    let rotations = store.rotations()?;
    let needed = HeadRequirements {
        line: last,
        rotation: rotations.last().map(|row| row.line),
        stamped: stamped.as_ref().map_or(0, |(_, size)| *size),
    };
    let (head, left) = head::choose(store, ledger.repository, &needed, ledger.believed, newest)?;
    left_out.extend(left);
    for row in rotations.iter().filter(|row| row.line < head.head.size) {
        let document = document::<Rotate>(store, row, CommitKind::KeyRotate.document())?;
        let rotation = Some(file(store, row, "checkpoint")?);
        wanted.insert(
            row.line,
            LineEvidence {
                document: Some(Document::Rotate(document)),
                rotation,
                stamped: false,
            },
        );
    }
    let (lines, documents) = entries(
        store,
        wanted,
        &head,
        stamped.as_ref().map(|(_, size)| *size),
    )?;
    let file = OpeningFile {
        documents,
        format: Format,
        head: head.print(),
        headers: blocks,
        lines,
        openings: found
            .pieces
            .iter()
            .map(|piece| piece.opening.clone())
            .collect(),
        stamp: stamped.map(|(stamp, _)| stamp),
    };
    settle(file, left_out)
}

/// What does not hold is not given away.
fn settle(
    mut file: OpeningFile,
    mut left_out: Vec<String>,
) -> Result<(OpeningFile, Vec<String>), OpenTextsError> {
    if file.around().map_err(broken)? > file.most_around() {
        return because(
            "names in these lines are so long that no file of an opening may hold them",
        );
    }
    let mut report = check_opening(&file, Trust::default());
    if file.stamp.is_some() && !report.opens() {
        // A stamp that does not hold costs nothing but itself.
        left_out
            .push("the OpenTimestamps proof: it does not hold (gently audit verify)".to_owned());
        without_stamp(&mut file);
        report = check_opening(&file, Trust::default());
    }
    if !report.opens() {
        let first = report.findings.first();
        let why = first.map_or_else(String::new, |first| {
            format!(
                ": {}: expected {}, found {}",
                first.place, first.expected, first.actual
            )
        });
        return because(format!(
            "the ledger's own parts don't fit together, so nothing was written{why}; look with: gently audit verify"
        ));
    }
    Ok((file, left_out))
}

fn without_stamp(file: &mut OpeningFile) {
    file.stamp = None;
    for entry in &mut file.lines {
        if matches!(entry.more, EntryExtra::Stamped(_)) {
            entry.more = EntryExtra::Nothing;
        }
    }
}

/// The entries with their proofs, made in one pass over the log, and the documents in their order.
fn entries(
    store: &Store,
    wanted: BTreeMap<u64, LineEvidence>,
    head: &CosignedNote,
    stamped: Option<u64>,
) -> Result<(Vec<Entry>, Vec<Document>), OpenTextsError> {
    let size = head.head.size;
    let mut asked: Vec<(u64, u64)> = Vec::new();
    for (line, wanted) in &wanted {
        asked.push((*line, size));
        asked.extend(wanted.rotation.as_ref().map(|_| (*line, line + 1)));
        asked.extend(stamped.filter(|_| wanted.stamped).map(|size| (*line, size)));
    }
    let mut proofs = prove(store, &asked)?.into_iter();
    let (mut entries, mut documents) = (Vec::new(), Vec::new());
    for (index, wanted) in wanted {
        let mut proof = || proofs.next().unwrap_or_default();
        let under_head = proof();
        let more = match (wanted.rotation, stamped.filter(|_| wanted.stamped)) {
            (Some(checkpoint), _) => EntryExtra::Rotation {
                checkpoint,
                proof: proof(),
            },
            (None, Some(_)) => EntryExtra::Stamped(proof()),
            (None, None) => EntryExtra::Nothing,
        };
        entries.push(Entry {
            index,
            text: line(store, index)?,
            proof: under_head,
            more,
        });
        documents.extend(wanted.document);
    }
    Ok((entries, documents))
}

/// The proofs that entries are in trees of these sizes.
fn prove(
    store: &ReadStore,
    asked: &[(u64, u64)],
) -> Result<Vec<Vec<crate::record::hash::Hash32>>, OpenTextsError> {
    let mut proofs = Inclusions::of(asked).map_err(broken)?;
    let (mut from, size) = (0, proofs.size());
    while from < size {
        let to = size.min(from + PORTION);
        store
            .lines(from, to)?
            .iter()
            .for_each(|line| proofs.push(leaf(line.as_bytes())));
        from = to;
    }
    proofs.finish().map_err(broken)
}

/// The session's start, and its end if there is one; gives the headers of their blocks.
fn session_lines(
    store: &Store,
    session: &SessionRow,
    opened: u64,
    wanted: &mut BTreeMap<u64, LineEvidence>,
) -> Result<Vec<HeaderAt>, OpenTextsError> {
    let missing = |what: &str| -> Result<CommitRow, OpenTextsError> {
        because(format!(
            "the session's {what} is not in the database; look with: gently audit verify"
        ))
    };
    let start = store
        .start_commit(session, opened)?
        .map_or_else(|| missing("start"), Ok)?;
    let mut headers = Vec::new();
    let document_of_start: SessionDoc =
        document(store, &start, CommitKind::SessionStart.document())?;
    headers.extend(header(store, &start, document_of_start.block.height)?);
    let opens = Some(Document::Session(document_of_start));
    wanted.insert(
        start.line,
        LineEvidence {
            document: opens,
            stamped: true,
            ..LineEvidence::default()
        },
    );
    if session.ended_at.is_some() {
        let end = store
            .end_commit(session, start.n)?
            .map_or_else(|| missing("close"), Ok)?;
        let close: Close = document(store, &end, CommitKind::SessionEnd.document())?;
        headers.extend(header(store, &end, close.block.height)?);
        wanted.insert(
            end.line,
            LineEvidence {
                document: Some(Document::Close(close)),
                ..LineEvidence::default()
            },
        );
    }
    Ok(headers)
}

/// The header that a commit has; none for a local block.
fn header(
    store: &ReadStore,
    commit: &CommitRow,
    height: u32,
) -> Result<Option<HeaderAt>, OpenTextsError> {
    let bytes = store
        .files(commit.tree_of.unwrap_or(commit.n))?
        .remove("btc_header");
    let header = bytes
        .map(|bytes| String::from_utf8_lossy(&bytes).trim_end().parse::<Header>())
        .transpose();
    Ok(header
        .map_err(broken)?
        .map(|header| HeaderAt(height, header)))
}

/// A line of the log.
fn line(store: &ReadStore, n: u64) -> Result<String, OpenTextsError> {
    let line = store.lines(n, n + 1)?.pop();
    line.map_or_else(
        || because(format!("log line {} is not in the database", n + 1)),
        Ok,
    )
}

/// `record.json` of an answer's line; none for other lines.
fn record(store: &ReadStore, line: u64) -> Result<Option<Document>, OpenTextsError> {
    let bytes = store.record_of_line(line)?;
    let record: Option<Record> = bytes
        .map(|bytes| canon::parse(&bytes))
        .transpose()
        .map_err(broken)?;
    Ok(record.map(Document::Record))
}

fn document<T: serde::Serialize + serde::de::DeserializeOwned>(
    store: &ReadStore,
    row: &CommitRow,
    name: &str,
) -> Result<T, OpenTextsError> {
    canon::parse(file(store, row, name)?.as_bytes()).map_err(broken)
}
