//! Files of other programs, read as conversations: nothing is recorded here, and nothing is written.
//!
//! A reader goes through its file once, in the order of the file, and hands each piece on as soon as
//! it is whole, so that memory does not grow with the file. What is broken costs its own piece: it is
//! handed on as refused, by its place, and the reader goes on where it can.

mod aua;
mod chatgpt;
mod claude;
mod database;
mod draft;
mod elements;
mod export;
mod fault;
mod file;
mod guess;
mod json;
mod jsonl;
mod llm;
mod python;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::path::Path;

use tokio_util::sync::CancellationToken;

use draft::PieceFeed;
use file::ForeignFile;
pub use file::look_at;

use crate::record::ledger::imported::{ImportFormat, ImportedRole};

/// Most bytes of one conversation, as it is put on record: 16 MiB.
pub const MAX_CONVERSATION: usize = 16 << 20;

/// One message as its source has it, before secrets are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceMessage {
    /// Its id in the source; made from its place where the source has none.
    pub id: String,
    /// The id of the message that it replies to, in the same conversation.
    pub parent: Option<String>,
    /// Who wrote it.
    pub role: ImportedRole,
    /// What it says; parts that are no text stand in it as `[image]`, `[audio]`, `[file: NAME]`.
    pub text: String,
    /// What stands in the text between two parts of the source that somebody wrote, in their order: the
    /// reader's break, blanks around it, and marks of what is no text. A secret may be split over such parts.
    pub seams: Vec<Range<usize>>,
    /// The model, as the source names it.
    pub model: Option<String>,
    /// When, in whole seconds since 1970, if the source says so.
    pub at: Option<i64>,
}

/// One conversation as its source has it, before secrets are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceConversation {
    /// Its id in the source; what is the same there is the same here.
    pub source_id: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// The name of its project or folder, where it has one.
    pub project: Option<String>,
    /// When it began and when it was changed, in whole seconds since 1970.
    pub created_at: Option<i64>,
    /// See [`SourceConversation::created_at`].
    pub updated_at: Option<i64>,
    /// Its messages, in the order of the source; a parent stands before its replies. None where the
    /// source has none, or where all are left out: then there is nothing to record of it.
    pub messages: Vec<SourceMessage>,
    /// The id of the message at the end of the way that is shown; the last one where the source names none.
    pub current: Option<String>,
    /// What is left out, each reason with its count: messages (`hidden`, `empty`), and times that are
    /// none, which leaves the message without one (`time`).
    pub skipped: BTreeMap<&'static str, u64>,
}

/// A correction that stands in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceCorrection {
    /// What it is about.
    pub subject: Option<String>,
    /// Domain, as the source names it.
    pub domain: Option<String>,
    /// What is right.
    pub claim: String,
    /// What is wrong; may be empty.
    pub rejected: String,
    /// How sure the source is, in thousandths.
    pub confidence: u16,
    /// `A`, `B`, `C` or `D`, where the source has one.
    pub decay: Option<char>,
    /// When it was made, in whole seconds since 1970.
    pub at: Option<i64>,
}

/// A promotion that stands in a source: it is on record for the view alone, and binds nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePromotion {
    /// Its id in the source.
    pub id: String,
    /// When, in whole seconds since 1970.
    pub at: Option<i64>,
    /// Whom it was about.
    pub specialist: String,
    /// `promote` or `rollback`.
    pub event: String,
    /// The model before.
    pub from_model: Option<String>,
    /// The model after.
    pub to_model: Option<String>,
    /// Whether it was rolled back later.
    pub is_reverted: bool,
    /// What has no column, as JSON.
    pub metadata: Option<String>,
}

/// Another program's audit log, row for row as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceAudit {
    /// Each row as one JSON object, in the order of the source.
    pub rows: Vec<serde_json::Map<String, serde_json::Value>>,
    /// How many of them follow from the row before (`prev_hash` is its `curr_hash`).
    pub linked: u64,
    /// How many hashes could be computed again, and were the same; and how many were not the same.
    pub computed: (u64, u64),
}

/// What a file gives, piece by piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePiece {
    /// A conversation, whole.
    Conversation(SourceConversation),
    /// A correction; `aua` alone.
    Correction(SourceCorrection),
    /// A promotion; `aua` alone.
    Promotion(SourcePromotion),
    /// An audit log; `aua` alone, at most one.
    Audit(SourceAudit),
    /// Something that can't be taken.
    Refused(RefusedPiece),
    /// Parts that the file should have by the numbers of others, and has not. They are no pieces that could be
    /// counted: nobody knows what stood in them.
    Missing(Vec<String>),
}

/// Something of a file that can't be taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPiece {
    /// Where it stands, for people: `conversations-002.json, conversation 17`.
    pub place: String,
    /// Its title or id, where it could be read.
    pub name: Option<String>,
    /// A word for counting (`loop`, `too_large`, `not_json`).
    pub reason: &'static str,
    /// The whole sentence, with what was expected and what was there.
    pub detail: String,
}

/// What is known of a file when all of it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// How many bytes it has.
    pub bytes: u64,
    /// What the source says of its version, or the generation that its shape is of.
    pub version: String,
}

/// Why nothing (more) can be read of a file; what was handed on before stays so.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {reason}. {remedy}")]
pub struct SourceError {
    /// The file, where its bytes could be read: what was handed on before came from it.
    pub file: Option<Box<SourceFile>>,
    /// The file, and where in it.
    pub place: String,
    /// What is wrong, with what was expected.
    pub reason: String,
    /// How to mend it.
    pub remedy: String,
}

/// What takes the pieces of a file, in its order; [`ControlFlow::Break`] ends the reading.
pub type TakePiece<'a> = &'a mut dyn FnMut(SourcePiece) -> ControlFlow<()>;

/// What a reader may need beside the file.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions<'a> {
    /// The key of texts that the adaptive utility agent has encrypted: 64 hexadecimal digits, as
    /// they stand in its `AUA_ENCRYPTION_KEY`.
    pub aua_key: Option<&'a str>,
    /// Whoever cancels it wants no more of the file: reading ends soon, in the middle of a piece, too.
    pub stop: CancellationToken,
}

/// Reads a file of a format and hands on what it has.
///
/// # Errors
///
/// [`SourceError`] if the file can't be opened, is none of this format, or ends in the middle.
pub fn read(
    format: ImportFormat,
    path: &Path,
    options: &ImportOptions<'_>,
    take: TakePiece<'_>,
) -> Result<SourceFile, SourceError> {
    let file = ForeignFile::open(path, &options.stop)?;
    if let Some(error) = guess::other_format(&file, format) {
        return Err(error);
    }
    let mut feed = PieceFeed::new(take);
    let version = match format {
        ImportFormat::ChatGpt => chatgpt::read(&file, &mut feed),
        ImportFormat::Claude => claude::read(&file, &mut feed),
        ImportFormat::Llm => llm::read(&file, &mut feed),
        ImportFormat::Aua => aua::read(&file, options, &mut feed),
        ImportFormat::JsonLines => jsonl::read(&file, &mut feed),
    }?;
    file.finish(version)
}

/// Whose file this looks like; none where that can't be told.
pub fn looks_like(path: &Path) -> Option<ImportFormat> {
    let file = ForeignFile::open(path, &CancellationToken::new()).ok()?;
    guess::formats_of(&file).first().copied()
}

/// Reads the files of version 0.7 of the adaptive utility agent in the folder of a project:
/// `.aua/state/promotions.jsonl`, and `*.jsonl` of `dpo_pairs` there or beside `.aua`, a piece a line. What is known of each file
/// that could be read comes back, by its name in the folder; one that could not is handed on as refused.
///
/// # Errors
///
/// [`SourceError`] if there is none of them, or none can be read.
pub fn read_flat_aua(
    folder: &Path,
    options: &ImportOptions<'_>,
    take: TakePiece<'_>,
) -> Result<Vec<(String, SourceFile)>, SourceError> {
    aua::read_flat(folder, &options.stop, take)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a file gave, and how it ended.
    pub(crate) struct ReadPieces {
        pub(crate) pieces: Vec<SourcePiece>,
        pub(crate) end: Result<SourceFile, SourceError>,
    }

    /// Reads bytes as a file.
    pub(crate) fn read_bytes(format: ImportFormat, bytes: &[u8]) -> ReadPieces {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("conversations.json");
        std::fs::write(&path, bytes).unwrap();
        read_path(format, &path)
    }

    /// Reads a file.
    pub(crate) fn read_path(format: ImportFormat, path: &Path) -> ReadPieces {
        let mut pieces = Vec::new();
        let end = read(format, path, &ImportOptions::default(), &mut |piece| {
            pieces.push(piece);
            ControlFlow::Continue(())
        });
        ReadPieces { pieces, end }
    }

    /// The conversations of pieces.
    pub(crate) fn conversations(pieces: &[SourcePiece]) -> Vec<&SourceConversation> {
        let all = pieces.iter().filter_map(|piece| match piece {
            SourcePiece::Conversation(conversation) => Some(conversation),
            _ => None,
        });
        all.collect()
    }

    /// Why and where pieces are refused.
    pub(crate) fn refusals(pieces: &[SourcePiece]) -> Vec<(&str, &str)> {
        let all = pieces.iter().filter_map(|piece| match piece {
            SourcePiece::Refused(refused) => Some((refused.reason, refused.place.as_str())),
            _ => None,
        });
        all.collect()
    }
}
