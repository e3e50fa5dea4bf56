//! Signed notes with signatures of others: verifier keys, cosignatures of witnesses (format,
//! section 10).
//!
//! ```text
//! witness.example/w1+a1b2c3d4+BP…            verifier key: name, key id, base64 of type and key
//!
//! gently/10ba682c8ad13513                    the tree head, as `checkpoint` files hold it
//! 58
//! GJHgGmJ0ZYM4Wxc7G14H71pJtz9FrRqhFHr/pyin1V8=
//!
//! — gently/10ba682c8ad13513 WMTNtb3f…        the ledger's signature: key id (4), signature (64)
//! — witness.example/w1 obLD1AAAAABk…         a cosignature: key id (4), be64 of seconds (8), signature (64)
//! ```
//!
//! A cosignature is over `"cosignature/v1\ntime SECONDS\n"` and the note's body (c2sp
//! tlog-cosignature). Of its two kinds only Ed25519 is read; other signature lines are kept and
//! count for nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{SignedNote, TreeError, note_body, parse_note};
use crate::record::hash::Hash32;
use crate::record::signature::{PublicKey, Signature};
use crate::record::unseen::{is_invisible, is_moving};

/// Whether a text may be the name of somebody's key (c2sp signed-note): not empty, no white space,
/// no `+`, and nothing that is not seen. A ledger's own is narrower, its origin.
fn key_name_is_valid(name: &str) -> bool {
    !name.is_empty()
        && !name
            .chars()
            .any(|c| c.is_whitespace() || is_moving(c) || is_invisible(c) || c == '+')
}

/// What a signature line starts with: an em dash and a space.
const DASH: &str = "— ";
/// Most signature lines that are read.
pub const MAX_SIGNATURES: usize = 64;
/// Longest signature line, in bytes: other kinds of signatures are long.
const MAX_LINE: usize = 8192;

/// What a verifier key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A log's own tree heads (`01`).
    Log,
    /// A witness's key for cosignatures; its type byte is `04`.
    Cosigner,
}

impl KeyKind {
    const fn byte(self) -> u8 {
        match self {
            KeyKind::Log => 0x01,
            KeyKind::Cosigner => 0x04,
        }
    }
}

/// Why a text is no verifier key, no note, or no cosignature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// A verifier key of another form.
    #[error("no verifier key: {what}: expected {expected}, found '{actual}'")]
    Key {
        /// Part of the key that is malformed.
        what: &'static str,
        /// The form it should have.
        expected: &'static str,
        /// What was found, shortened.
        actual: String,
    },
    /// The tree head itself.
    #[error(transparent)]
    Head(#[from] TreeError),
    /// A signature line of another form, or too many.
    #[error("not a signed note: {expected}; found '{actual}'")]
    Line {
        /// The form it should have.
        expected: &'static str,
        /// What was found, shortened.
        actual: String,
    },
}

fn shortened(text: &str) -> String {
    text.chars()
        .take(80)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

/// A name, a kind and a public key: what a signature is checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierKey {
    /// The name on signature lines; for a log its origin.
    pub name: String,
    /// What it signs.
    pub kind: KeyKind,
    /// Ed25519 public key.
    pub key: PublicKey,
}

impl VerifierKey {
    /// The first four bytes of `H(name ‖ "\n" ‖ kind ‖ key)`.
    pub fn id(&self) -> [u8; 4] {
        let hash = Hash32::of_parts(&[
            self.name.as_bytes(),
            b"\n",
            &[self.kind.byte()],
            self.key.as_bytes(),
        ]);
        let [a, b, c, d, ..] = *hash.as_bytes();
        [a, b, c, d]
    }

    /// Prints the key as `NAME+ID+BASE64`.
    pub fn print(&self) -> String {
        let material = [&[self.kind.byte()][..], self.key.as_bytes()].concat();
        format!(
            "{}+{}+{}",
            self.name,
            hex::encode(self.id()),
            BASE64.encode(material)
        )
    }

    /// Reads [`VerifierKey::print`]; the id must be the key's.
    pub fn parse(text: &str) -> Result<VerifierKey, NoteError> {
        let wrong = |what, expected, actual: &str| NoteError::Key {
            what,
            expected,
            actual: shortened(actual),
        };
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(encoded)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong("form", "NAME+ID+BASE64", text));
        };
        if !key_name_is_valid(name) {
            return Err(wrong("name", "a name without white space or '+'", name));
        }
        let material = BASE64
            .decode(encoded)
            .map_err(|_| wrong("key", "base64", encoded))?;
        let (kind, key) = match material.split_first() {
            Some((0x01, key)) => (KeyKind::Log, key),
            Some((0x04, key)) => (KeyKind::Cosigner, key),
            _ => {
                return Err(wrong(
                    "kind",
                    "01 (Ed25519) or 04 (Ed25519 cosignature) as first byte",
                    encoded,
                ));
            }
        };
        let key = <[u8; 32]>::try_from(key)
            .map_err(|_| wrong("key", "32 bytes after its kind", encoded))?;
        let parsed = VerifierKey {
            name: name.to_owned(),
            kind,
            key: PublicKey::from_bytes(key),
        };
        if hex::encode(parsed.id()) != id {
            return Err(wrong("id", "the first four bytes of the key's hash", id));
        }
        Ok(parsed)
    }
}

/// One signature line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteSignature {
    /// Name of the key that signed.
    pub name: String,
    /// Which key it claims to be of.
    pub key_id: [u8; 4],
    /// What follows the id.
    pub signature: Vec<u8>,
}

impl NoteSignature {
    /// The line, with its newline.
    pub fn print(&self) -> String {
        let signed = [&self.key_id[..], &self.signature].concat();
        format!("{DASH}{} {}\n", self.name, BASE64.encode(signed))
    }

    /// Reads one line, given without its newline.
    pub fn parse(line: &str) -> Result<NoteSignature, NoteError> {
        let wrong = || NoteError::Line {
            expected: "'— NAME BASE64' with 4 bytes of key id",
            actual: shortened(line),
        };
        if line.len() > MAX_LINE {
            return Err(wrong());
        }
        let (name, encoded) = line
            .strip_prefix(DASH)
            .and_then(|rest| rest.split_once(' '))
            .ok_or_else(wrong)?;
        let signed = BASE64.decode(encoded).map_err(|_| wrong())?;
        let (key_id, signature) = signed.split_first_chunk::<4>().ok_or_else(wrong)?;
        if !key_name_is_valid(name) || signature.is_empty() {
            return Err(wrong());
        }
        Ok(NoteSignature {
            name: name.to_owned(),
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }

    /// When `key` cosigned this tree head, in seconds since the Unix epoch; none when it did not.
    pub fn cosigned_at(&self, head: &SignedNote, key: &VerifierKey) -> Option<u64> {
        let claimed =
            self.name == key.name && self.key_id == key.id() && key.kind == KeyKind::Cosigner;
        let (time, signature) = self
            .signature
            .split_first_chunk::<8>()
            .filter(|_| claimed)?;
        let time = u64::from_be_bytes(*time);
        let signature = Signature::from_bytes(<[u8; 64]>::try_from(signature).ok()?);
        let body = note_body(&head.origin, head.size, head.root);
        let message = format!("cosignature/v1\ntime {time}\n{body}");
        // A time must stay below 2^63; beyond it other programs read it as negative.
        (time < 1 << 63 && key.key.verifies(message.as_bytes(), &signature)).then_some(time)
    }
}

/// A tree head with the ledger's signature and those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CosignedNote {
    /// As the `checkpoint` file holds it.
    pub head: SignedNote,
    /// What others signed, in the order of their lines.
    pub others: Vec<NoteSignature>,
}

impl CosignedNote {
    /// The text: the head, then the other lines.
    pub fn print(&self) -> String {
        self.others
            .iter()
            .fold(self.head.render(), |text, line| text + &line.print())
    }

    /// Reads a note whose first signature line is the ledger's.
    pub fn parse(text: &str) -> Result<CosignedNote, NoteError> {
        let wrong = |expected| NoteError::Line {
            expected,
            actual: shortened(text),
        };
        let (body, lines) = text
            .split_once("\n\n")
            .ok_or_else(|| wrong("a body, an empty line, signature lines"))?;
        let lines = lines
            .strip_suffix('\n')
            .ok_or_else(|| wrong("a newline at the end"))?;
        let mut lines = lines.split('\n');
        let own = lines.next().unwrap_or_default();
        let head = parse_note(&format!("{body}\n\n{own}\n"))?;
        let others: Vec<NoteSignature> =
            lines.map(NoteSignature::parse).collect::<Result<_, _>>()?;
        if others.len() >= MAX_SIGNATURES {
            return Err(wrong("at most 64 signature lines"));
        }
        let note = CosignedNote { head, others };
        if note.print() == text {
            Ok(note)
        } else {
            Err(wrong("what a writer prints"))
        }
    }

    /// When `key` cosigned it last; none when it did not.
    pub fn cosigned_at(&self, key: &VerifierKey) -> Option<u64> {
        self.others
            .iter()
            .filter_map(|line| line.cosigned_at(&self.head, key))
            .max()
    }
}

#[cfg(test)]
#[path = "note_tests.rs"]
mod tests;
