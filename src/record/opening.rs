//! A file that opens one text to somebody who has no ledger: the opening with all that it takes to check it.
//!
//! ```text
//! {"close":…,"format":"gently/1","head":{…},"line":{…},"opening":{…},"record":…,"stamp":…,"start":…}   one line, JCS
//! ```
//!
//! | key | what | for |
//! |---|---|---|
//! | `opening` | the document of format, section 10, byte for byte | the text and its key |
//! | `line` | the log line that carries the commitment, and the HASH before it | every opening |
//! | `head` | the ledger's key, and a tlog-proof of that line with the signed tree head and its cosignatures | every opening |
//! | `record` | `record.json` and its commit | an answered turn |
//! | `start` | `session.json`, its commit, the block's header | a line inside a session |
//! | `close` | `close.json`, its commit on `main`, the turns between | a session that is closed |
//! | `stamp` | an OpenTimestamps proof with one Bitcoin attestation, and that block's header | where there is one |
//!
//! Commits are given by what their document does not say: tree, parents, signature. The rest of them has one
//! spelling (format, section 5), so the signed bytes are made again. The same is true of the lines `session_start`
//! and `session_end`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::block::Header;
use super::canon::{self, CanonError};
use super::chain::{chain_entry, line_hash};
use super::commit::{AUTHOR_EMAIL, AUTHOR_NAME, Message, Subject};
use super::commitment::Opening;
use super::documents::{Close, Format, Record, SessionDoc};
use super::entry::{Event, Line};
use super::hash::Hash32;
use super::ots::{Attestation, FileHash, Op, Proof, Tree};
use super::signature::{PublicKey, Signature, signed_data};
use super::time::Seconds;

/// Largest file that is read, in bytes: a prompt of 16 MiB whose every byte is escaped, and what stands around it.
pub const MAX_FILE: usize = 100 << 20;
/// What stands around the text has at most so many bytes, if the names in it are not unusually long.
pub const MAX_AROUND: usize = 8192;

/// Why bytes are no opening file.
#[derive(Debug, thiserror::Error)]
pub enum OpeningFault {
    /// Longer than [`MAX_FILE`].
    #[error("{actual} bytes; an opening file has at most {MAX_FILE}")]
    TooLarge {
        /// Bytes found.
        actual: usize,
    },
    /// It does not end with its one newline.
    #[error("an opening file is one line of JSON and its newline; this does not end so")]
    Newline,
    /// Not the document.
    #[error(transparent)]
    Document(#[from] CanonError),
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpeningFile {
    /// The session's end.
    pub close: Option<ClosePart>,
    /// `gently/1`.
    pub format: Format,
    /// Key, proof and tree head.
    pub head: HeadPart,
    /// The line.
    pub line: LinePart,
    /// The opened text.
    pub opening: Opening,
    /// The answered turn.
    pub record: Option<RecordPart>,
    /// The time of a Bitcoin block.
    pub stamp: Option<StampPart>,
    /// The session's start.
    pub start: Option<StartPart>,
}

/// A commit, but for what follows from its document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitPart {
    /// In their order.
    pub parents: Vec<ObjectName>,
    /// Ed25519 over the commit as git signs it.
    #[serde(with = "plain_signature")]
    pub signature: Signature,
    /// Its tree.
    pub tree: ObjectName,
}

/// A git object's name: 40 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ObjectName(String);

/// The ledger's key, and the proof that the line is in the tree whose head that key has signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadPart {
    /// In force at the line, and what everything here is signed with.
    pub key: PublicKey,
    /// A c2sp tlog-proof, as text.
    pub proof: String,
}

/// A line, and the HASH of the line before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinePart {
    /// 64 digits; the genesis hash before the first line.
    pub prev: Hash32,
    /// Without its newline.
    pub text: String,
}

/// An answered turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordPart {
    /// The interaction's.
    pub commit: CommitPart,
    /// `record.json`.
    pub document: Record,
}

/// A session's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartPart {
    /// The start's.
    pub commit: CommitPart,
    /// `session.json`.
    pub document: SessionDoc,
    /// Of the document's block; null for a local one.
    #[serde(with = "header_digits")]
    pub header: Option<Header>,
}

/// A session's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosePart {
    /// The close on `main`.
    pub commit: CommitPart,
    /// `close.json`.
    pub document: Close,
    /// What the chain has between this turn and the session's end: commitments to prompt and answer, and the time, of
    /// each later answer; null when it is left out, or the turn has no answer.
    pub later: Option<Vec<(Hash32, Hash32, Seconds)>>,
    /// HASH of the line before `session_end`.
    pub prev: Hash32,
}

/// A timestamp of a later head of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StampPart {
    /// Of the attested block; null when it was not at hand.
    #[serde(with = "header_digits")]
    pub header: Option<Header>,
    /// The lines after this one up to the stamped one, each behind its first `|`; null when the stamped line is the
    /// session's end and `later` leads there.
    pub lines: Option<Vec<String>>,
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
            return Err(OpeningFault::TooLarge { actual: bytes.len() });
        }
        Ok(canon::parse(bytes.strip_suffix(b"\n").ok_or(OpeningFault::Newline)?)?)
    }

    /// How many of the file's bytes are not the text's, as JSON spells it.
    pub fn around(&self) -> Result<usize, CanonError> {
        let text = canon::print(&self.opening.text)?;
        Ok(self.print()?.len().saturating_sub(text.len()))
    }
}

impl CommitPart {
    /// What is signed: the commit without its signature.
    pub fn payload(&self, message: &Message, time: Seconds) -> String {
        let parents: String = self.parents.iter().map(|parent| format!("parent {}\n", parent.0)).collect();
        let who = format!("{AUTHOR_NAME} <{AUTHOR_EMAIL}> {} +0000", time.get());
        format!("tree {}\n{parents}author {who}\ncommitter {who}\n\n{}", self.tree.0, message.render())
    }

    /// Whether the signature is `key`'s over the commit of that message and time.
    #[must_use = "an unchecked signature proves nothing"]
    pub fn is_signed_by(&self, key: &PublicKey, message: &Message, time: Seconds) -> bool {
        key.verifies(&signed_data(self.payload(message, time).as_bytes()), &self.signature)
    }
}

impl RecordPart {
    /// The commit's message; `line` is the HASH of the `response` line.
    pub fn message(&self, line: Hash32) -> Result<Message, CanonError> {
        let Record { session_id: session, seq, chain_entry: chain, .. } = self.document;
        Ok(Message {
            subject: Subject::Interaction { session, seq, chain },
            record: canon::digest(&self.document)?,
            log: line,
        })
    }
}

impl StartPart {
    /// The `session_start` line that the document gives.
    pub fn line(&self) -> Result<Line, CanonError> {
        let SessionDoc { block, branch, auth_key_hash, opened_at, prev_log, session_id, .. } = &self.document;
        let event = Event::SessionStart {
            btc: block.height,
            branch: branch.clone(),
            block: block.hash,
            auth: *auth_key_hash,
            record: canon::digest(&self.document)?,
        };
        Ok(Line::new(*prev_log, block.height, *opened_at, Some(*session_id), event))
    }

    /// The commit's message.
    pub fn message(&self) -> Result<Message, CanonError> {
        let subject = Subject::SessionStart { session: self.document.session_id, height: self.document.block.height };
        Ok(Message { subject, record: canon::digest(&self.document)?, log: self.line()?.hash })
    }
}

impl ClosePart {
    /// The `session_end` line that document and `prev` give.
    pub fn line(&self) -> Result<Line, CanonError> {
        let Close { block, closed_at, interactions, session_close_hash, session_id, .. } = &self.document;
        let event = Event::SessionEnd {
            btc: block.height,
            interactions: *interactions,
            block: block.hash,
            close: *session_close_hash,
            record: canon::digest(&self.document)?,
        };
        Ok(Line::new(self.prev, block.height, *closed_at, Some(*session_id), event))
    }

    /// The message of the close on `main`.
    pub fn message(&self) -> Result<Message, CanonError> {
        let Close { session_id: session, session_close_hash: close, .. } = self.document;
        let subject = Subject::Close { session, close };
        Ok(Message { subject, record: canon::digest(&self.document)?, log: self.line()?.hash })
    }

    /// The session's last chain entry, by the turns after one with this entry; none when they are left out.
    pub fn end_of_chain(&self, entry: Hash32) -> Option<Hash32> {
        let later = self.later.as_ref()?.iter();
        Some(later.fold(entry, |prev, (prompt, response, time)| chain_entry(prev, *prompt, *response, *time)))
    }
}

impl StampPart {
    /// HASH of the last of `lines`, the first of which follows a line of this HASH; none when there are no `lines`.
    pub fn end_of_lines(&self, from: Hash32) -> Option<Hash32> {
        Some(self.lines.as_ref()?.iter().fold(from, |prev, rest| line_hash(prev, rest.as_bytes())))
    }

    /// What the proof says, if it is one path of the three operations that calendars use to one Bitcoin block.
    pub fn read(&self) -> Option<Stamped> {
        let proof = Proof::read(&self.ots).ok().filter(|proof| proof.print() == self.ots)?;
        stamped(&proof).filter(|_| proof.tree.attestations.len() + proof.tree.branches.len() == 1)
    }
}

/// What a timestamp with one attestation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The HASH that was stamped.
    pub digest: Hash32,
    /// The block's Merkle root, in the order that headers are shown in.
    pub merkle_root: Hash32,
    /// The block's height, as the proof claims it.
    pub height: u32,
}

fn stamped(proof: &Proof) -> Option<Stamped> {
    let leaves = proof.leaves().ok().filter(|_| proof.file_hash == FileHash::Sha256)?;
    let [leaf] = leaves.as_slice() else { return None };
    let Attestation::Bitcoin { height } = leaf.attestation else { return None };
    let common = |op: &&Op| matches!(op, Op::Sha256 | Op::Append(_) | Op::Prepend(_));
    let mut root = <[u8; 32]>::try_from(leaf.message.as_slice()).ok().filter(|_| leaf.path.iter().all(common))?;
    root.reverse();
    Some(Stamped {
        digest: Hash32::from_bytes(<[u8; 32]>::try_from(proof.digest.as_slice()).ok()?),
        merkle_root: Hash32::from_bytes(root),
        height: u32::try_from(*height).ok()?,
    })
}

/// The shortest way of a proof to its earliest Bitcoin block, as a proof of its own; none when there is none that an
/// opening file can hold.
pub fn one_path(proof: &Proof) -> Option<(Vec<u8>, Stamped)> {
    let leaves = proof.leaves().ok()?;
    let paths = leaves.iter().filter_map(|leaf| {
        let Attestation::Bitcoin { .. } = leaf.attestation else { return None };
        let tree = Tree::chain(leaf.path.iter().map(|op| (*op).clone()), leaf.attestation.clone());
        let alone = Proof { file_hash: proof.file_hash, digest: proof.digest.clone(), tree };
        Some((alone.print(), stamped(&alone)?))
    });
    paths.min_by_key(|(bytes, stamped)| (stamped.height, bytes.len()))
}

impl ObjectName {
    /// Reads 40 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let good = text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        good.then(|| ObjectName(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for ObjectName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        ObjectName::parse(&text).ok_or_else(|| serde::de::Error::custom("an object's name has 40 lower-case digits"))
    }
}

mod base64_bytes {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        BASE64.decode(String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

mod plain_signature {
    use super::*;

    pub fn serialize<S: Serializer>(signature: &Signature, to: S) -> Result<S::Ok, S::Error> {
        base64_bytes::serialize(signature.as_bytes(), to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Signature, D::Error> {
        let bytes = <[u8; 64]>::try_from(base64_bytes::deserialize(from)?);
        bytes.map(Signature::from_bytes).map_err(|_| serde::de::Error::custom("a signature has 64 bytes"))
    }
}

mod header_digits {
    use super::*;

    pub fn serialize<S: Serializer>(header: &Option<Header>, to: S) -> Result<S::Ok, S::Error> {
        header.map(|header| header.to_string()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Header>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse()).transpose().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "opening_tests.rs"]
mod tests;
