//! A file that opens one or more texts of one session to somebody who has no ledger (format,
//! section 11.1).
//!
//! ```text
//! {"documents":[…],"format":"gently/1","head":"…","headers":[…],"lines":[…],"openings":[…],"stamp":…}   one line, JCS
//! ```
//!
//! | key | what |
//! |---|---|
//! | `openings` | the documents of format, section 11, in the order of their lines |
//! | `head` | the signed tree head under which every line is proven |
//! | `lines` | genesis, every rotation, the session's start, the opened lines, the session's end: each with its proof |
//! | `documents` | what those lines' `record:` names, in the order of the lines |
//! | `headers` | of the blocks of start and end |
//! | `stamp` | a stamped tree head of `main`, its OpenTimestamps proof, the block's header |
//!
//! One signed root holds scheme, network, keys, times and texts together: no part of the file says
//! anything that a line under that root does not commit to. The types here hold what has the right
//! form; whether it is right is asked by `verify::check_opening`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::commitment::{Role, TextOpening};
use super::documents::{Close, Format, Genesis, Record, Rotate, SessionDoc};
use crate::record::bitcoin::block::Header;
use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::hash::Hash32;
use crate::record::ots::{Attestation, FileHash, Leaf, Op, Proof, ProofNode};
use crate::record::tree::proof::MAX_HASHES;

/// Largest file that is written or read, in bytes (format, ruling 126).
pub const MAX_FILE: usize = 32 << 20;
/// What stands around the texts has at most so many bytes,
pub const MAX_AROUND: usize = 64 * 1024;
/// and so many more for each opening and each rotation.
pub const MAX_EACH: usize = 8 * 1024;
/// Most bytes outside of strings, quotes among them: what a small file unfolds to in memory hangs
/// on these, and texts have none of them.
pub const MAX_STRUCTURE: usize = 4 << 20;

/// Why bytes are no opening file.
#[derive(Debug, thiserror::Error)]
pub enum OpeningFault {
    /// Longer than [`MAX_FILE`].
    #[error("{actual} bytes; an opening file has at most {MAX_FILE} (32 MiB)")]
    TooLarge {
        /// Size of the opening, in bytes.
        actual: usize,
    },
    /// More around the texts than there may be.
    #[error(
        "{actual} bytes beside its texts; for so many openings and rotations there are at most {most}"
    )]
    TooMuch {
        /// Most bytes around the texts.
        most: usize,
        /// Size of the content, in bytes.
        actual: usize,
    },
    /// A value that no such file has.
    #[error("{what}: expected {expected}")]
    Form {
        /// Part of the opening that is malformed.
        what: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// It does not end with its one newline.
    #[error("an opening file is one line of JSON and its newline; this does not end so")]
    Newline,
    /// What is on that line is not an opening file's document.
    #[error(transparent)]
    Document(#[from] CanonError),
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpeningFile {
    /// What the lines' `record:` names, in the order of the lines.
    pub documents: Vec<Document>,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// A signed note, with cosignatures behind its own line.
    pub head: String,
    /// Of the start's block and of the end's, where they are not local.
    pub headers: Vec<HeaderAt>,
    /// Lines of the log that it shows, sorted by index.
    pub lines: Vec<Entry>,
    /// In the order of their lines; those of one line as prompt, response, exchange, request, reply.
    pub openings: Vec<TextOpening>,
    /// Evidence of a time by which the lines were there.
    pub stamp: Option<Stamp>,
}

/// A document of one of the kinds that a file has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Document {
    /// The first document of `main`: `genesis.json`.
    Genesis(Genesis),
    /// The document of a session's start: `session.json`.
    Session(SessionDoc),
    /// The document of an answer: `record.json`.
    Record(Record),
    /// The document of a new signing key: `rotate.json`.
    Rotate(Rotate),
    /// The document of a session's end: `close.json`.
    Close(Close),
    /// No document of these kinds: no line's `record:` leads to it.
    Other(BTreeMap<String, serde_json::Value>),
}

impl Document {
    /// The name of its file in the ledger.
    pub const fn name(&self) -> &'static str {
        match self {
            Document::Genesis(_) => "genesis.json",
            Document::Session(_) => "session.json",
            Document::Record(_) => "record.json",
            Document::Rotate(_) => "rotate.json",
            Document::Close(_) => "close.json",
            Document::Other(_) => "a document of no known kind",
        }
    }
}

/// `[height, 160HEX]`: a header, and the height that a document claims for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderAt(pub u32, #[serde(with = "header_digits")] pub Header);

/// A line of the log and its proof under the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "EntryForm", into = "EntryForm")]
pub struct Entry {
    /// Place of the line in the log, from 0.
    pub index: u64,
    /// Without its newline.
    pub text: String,
    /// From the leaf up.
    pub proof: Vec<Hash32>,
    /// What stands behind these.
    pub more: EntryExtra,
}

/// The last member of an entry, where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryExtra {
    /// The entry ends with its proof.
    Nothing,
    /// Of a rotation: its own tree head, which the old key has signed, and the line's proof under
    /// that.
    Rotation {
        /// A signed note.
        checkpoint: String,
        /// From the leaf up.
        proof: Vec<Hash32>,
    },
    /// The line's proof under the stamped root.
    Stamped(Vec<Hash32>),
}

/// The three lists that an entry is spelled as.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum EntryForm {
    Plain(u64, String, Vec<Hash32>),
    Rotation(u64, String, Vec<Hash32>, (String, Vec<Hash32>)),
    Stamped(u64, String, Vec<Hash32>, Vec<Hash32>),
}

impl From<EntryForm> for Entry {
    fn from(spelled: EntryForm) -> Entry {
        let (index, text, proof, more) = match spelled {
            EntryForm::Plain(index, text, proof) => (index, text, proof, EntryExtra::Nothing),
            EntryForm::Rotation(index, text, proof, (checkpoint, own)) => (
                index,
                text,
                proof,
                EntryExtra::Rotation {
                    checkpoint,
                    proof: own,
                },
            ),
            EntryForm::Stamped(index, text, proof, own) => {
                (index, text, proof, EntryExtra::Stamped(own))
            }
        };
        Entry {
            index,
            text,
            proof,
            more,
        }
    }
}

impl From<Entry> for EntryForm {
    fn from(
        Entry {
            index,
            text,
            proof,
            more,
        }: Entry,
    ) -> EntryForm {
        match more {
            EntryExtra::Nothing => EntryForm::Plain(index, text, proof),
            EntryExtra::Rotation {
                checkpoint,
                proof: own,
            } => EntryForm::Rotation(index, text, proof, (checkpoint, own)),
            EntryExtra::Stamped(own) => EntryForm::Stamped(index, text, proof, own),
        }
    }
}

/// A timestamp of a tree head of `main`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// The stamped file: a signed note, byte for byte.
    pub checkpoint: String,
    /// Of the attested block; null when it was not at hand.
    #[serde(with = "optional_header")]
    pub header: Option<Header>,
    /// The detached proof.
    #[serde(with = "base64_bytes")]
    pub ots: Vec<u8>,
}

impl OpeningFile {
    /// The file's bytes: canonical JSON and a newline.
    pub fn print(&self) -> Result<String, CanonError> {
        canon::print(self).map(|text| text + "\n")
    }

    /// Reads what [`OpeningFile::print`] writes, and nothing else.
    pub fn parse(bytes: &[u8]) -> Result<OpeningFile, OpeningFault> {
        if bytes.len() > MAX_FILE {
            return Err(OpeningFault::TooLarge {
                actual: bytes.len(),
            });
        }
        let structure = outside_strings(bytes);
        if structure > MAX_STRUCTURE {
            return Err(OpeningFault::TooMuch {
                most: MAX_STRUCTURE,
                actual: structure,
            });
        }
        let file: OpeningFile =
            canon::parse(bytes.strip_suffix(b"\n").ok_or(OpeningFault::Newline)?)?;
        let (actual, most) = (file.around_of(bytes.len())?, file.most_around());
        if actual > most {
            Err(OpeningFault::TooMuch { most, actual })
        } else {
            file.formed()
        }
    }

    /// What no type says: that there is something to check, and in the form of the openings.
    fn formed(self) -> Result<OpeningFile, OpeningFault> {
        let openable = [
            Role::Prompt,
            Role::Response,
            Role::Exchange,
            Role::Request,
            Role::Reply,
            Role::Artifact,
        ];
        let is_session = |id: &str| id == "-" || id.parse::<Hash32>().is_ok();
        let is_numbered =
            |opening: &TextOpening| opening.seq.is_none() == (opening.role == Role::Artifact);
        // Canonical JSON prints larger ones as doubles.
        let is_small = |number: u64| number < 1 << 53;
        let short = |entry: &Entry| {
            let more = match &entry.more {
                EntryExtra::Nothing => 0,
                EntryExtra::Rotation { proof, .. } | EntryExtra::Stamped(proof) => proof.len(),
            };
            entry.proof.len().max(more) <= MAX_HASHES
        };
        for (good, what, expected) in [
            (!self.openings.is_empty(), "openings", "one or more"),
            (!self.lines.is_empty(), "lines", "one or more"),
            (!self.documents.is_empty(), "documents", "one or more"),
            (
                self.lines.iter().all(short),
                "lines",
                "at most 64 hashes in a proof",
            ),
            (
                self.openings
                    .iter()
                    .all(|opening| openable.contains(&opening.role)),
                "role",
                "prompt, response, exchange, request, reply or artifact",
            ),
            (
                self.openings.iter().all(is_numbered),
                "seq",
                "a number of a turn, null of an artifact",
            ),
            (
                self.openings
                    .iter()
                    .all(|opening| opening.seq.is_none_or(is_small)),
                "seq",
                "a number below 2^53",
            ),
            (
                self.lines.iter().all(|entry| is_small(entry.index)),
                "lines",
                "an index below 2^53",
            ),
            (
                self.openings
                    .iter()
                    .all(|opening| is_session(&opening.session_id)),
                "session_id",
                "64 digits, or '-'",
            ),
        ] {
            if !good {
                return Err(OpeningFault::Form { what, expected });
            }
        }
        Ok(self)
    }

    /// How many of the file's bytes are not the texts', as JSON spells them.
    pub fn around(&self) -> Result<usize, CanonError> {
        self.around_of(self.print()?.len())
    }

    fn around_of(&self, whole: usize) -> Result<usize, CanonError> {
        let texts = self
            .openings
            .iter()
            .map(|opening| Ok(canon::print(&opening.text)?.len()));
        Ok(whole.saturating_sub(texts.sum::<Result<usize, CanonError>>()?))
    }

    /// How many there may be, with so many openings and rotations.
    pub fn most_around(&self) -> usize {
        let rotations = self
            .lines
            .iter()
            .filter(|entry| entry.text.contains("|key_rotate|"))
            .count();
        MAX_AROUND + MAX_EACH * (self.openings.len() + rotations)
    }

    /// Whether readers take the file, whatever may still change around its texts: another tree head
    /// with longer proofs, the session's end, one rotation more.
    pub fn has_room(&self) -> Result<(), OpeningFault> {
        let text = self.print()?;
        let texts = text.len().saturating_sub(self.around_of(text.len())?);
        let whole = texts + self.most_around() + MAX_EACH;
        if whole > MAX_FILE {
            return Err(OpeningFault::TooLarge { actual: whole });
        }
        let structure =
            outside_strings(text.as_bytes()) + MAX_EACH + MORE_STRUCTURE * self.lines.len();
        if structure > MAX_STRUCTURE {
            return Err(OpeningFault::TooMuch {
                most: MAX_STRUCTURE,
                actual: structure,
            });
        }
        Ok(())
    }
}

/// A line's proofs may get some hashes more while the log grows: each has two quotes and a comma.
const MORE_STRUCTURE: usize = 32;

/// What an opened exchange document names: the commitments to the request and to the reply of its
/// turn, which no line carries. None where the text is no canonical JSON object, or has more
/// structure than anything that is read.
pub fn named_commitments(exchange: &str) -> Option<BTreeMap<&'static str, Hash32>> {
    if outside_strings(exchange.as_bytes()) > MAX_STRUCTURE {
        return None;
    }
    let document: BTreeMap<String, serde_json::Value> = canon::parse(exchange.as_bytes()).ok()?;
    let named = [Role::Request, Role::Reply].into_iter().filter_map(|role| {
        let member = document.get(role.name())?.as_str()?;
        Some((role.name(), member.parse().ok()?))
    });
    Some(named.collect())
}

/// How many bytes of a JSON text stand outside of its strings; quotes are outside.
pub(in crate::record) fn outside_strings(bytes: &[u8]) -> usize {
    let (mut outside, mut inside, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match (inside, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => {
                inside = false;
                outside += 1;
            }
            (true, _) => {}
            (false, byte) => {
                inside = *byte == b'"';
                outside += 1;
            }
        }
    }
    outside
}

impl Stamp {
    /// What the proof says; none when it is no proof of a SHA-256 digest.
    pub fn read(&self) -> Option<TimestampStatement> {
        let proof = Proof::read(&self.ots)
            .ok()
            .filter(|proof| proof.file_hash == FileHash::Sha256)?;
        let digest = Hash32::from_bytes(<[u8; 32]>::try_from(proof.digest.as_slice()).ok()?);
        Some(TimestampStatement {
            digest,
            blocks: proof.leaves().ok()?.iter().filter_map(attested).collect(),
        })
    }
}

/// What a timestamp says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimestampStatement {
    /// SHA-256 of what was stamped.
    pub digest: Hash32,
    /// The Bitcoin blocks that it leads to; none while it is pending.
    pub blocks: Vec<AttestedBlock>,
}

/// A block that a timestamp leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttestedBlock {
    /// The block's height, as the proof claims it.
    pub height: u32,
    /// The block's Merkle root, in the order that headers are shown in.
    pub merkle_root: Hash32,
}

fn attested(leaf: &Leaf<'_>) -> Option<AttestedBlock> {
    let Attestation::Bitcoin { height } = leaf.attestation else {
        return None;
    };
    let mut root = <[u8; 32]>::try_from(leaf.message.as_slice()).ok()?;
    root.reverse();
    Some(AttestedBlock {
        height: u32::try_from(*height).ok()?,
        merkle_root: Hash32::from_bytes(root),
    })
}

/// The shortest way of a proof to its earliest Bitcoin block, as a proof of its own, and that
/// block; none when it leads to none by the operations that calendars use.
pub fn one_path(proof: &Proof) -> Option<(Vec<u8>, AttestedBlock)> {
    let leaves = proof.leaves().ok()?;
    let common = |op: &&Op| matches!(op, Op::Sha256 | Op::Append(_) | Op::Prepend(_));
    let paths = leaves
        .iter()
        .filter(|leaf| leaf.path.iter().all(common))
        .filter_map(|leaf| {
            let attested = attested(leaf)?;
            let tree = ProofNode::chain(
                leaf.path.iter().map(|op| (*op).clone()),
                leaf.attestation.clone(),
            );
            let alone = Proof {
                file_hash: proof.file_hash,
                digest: proof.digest.clone(),
                tree,
            };
            Some((alone.print(), attested))
        });
    paths.min_by_key(|(bytes, attested)| (attested.height, bytes.len()))
}

mod base64_bytes {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        BASE64
            .decode(String::deserialize(from)?)
            .map_err(serde::de::Error::custom)
    }
}

mod header_digits {
    use super::*;

    pub fn serialize<S: Serializer>(header: &Header, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&header.to_string())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Header, D::Error> {
        String::deserialize(from)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

mod optional_header {
    use super::*;

    pub fn serialize<S: Serializer>(header: &Option<Header>, to: S) -> Result<S::Ok, S::Error> {
        header.map(|header| header.to_string()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Header>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse())
            .transpose()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "opening_tests.rs"]
mod tests;
