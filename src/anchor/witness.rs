//! Witnesses: asking for a cosignature over HTTP (c2sp tlog-witness, `add-checkpoint`).
//!
//! ```text
//! POST URL/add-checkpoint
//!
//! old 20852014                                   size of the tree that the witness cosigned last
//! PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=   the consistency proof from there, at most 63 lines
//!                                                an empty line, then the signed tree head
//! gently/10ba682c8ad13513
//! …
//! 200  signature lines        409  text/x.tlog.size: the size that it holds
//! 403  it does not trust the key   404  it does not know the log   422  the proof does not lead to its tree
//! ```
//!
//! An answer is what one witness *says*. Only its cosignature proves something, and it is checked
//! here before it is handed on; sizes and refusals are unsigned.

use reqwest::{Client, StatusCode, Url};

use super::{SourceFault, http, shown};
use crate::record::hash::Hash32;
use crate::record::tree::SignedNote;
use crate::record::tree::note::{NoteSignature, VerifierKey};
use crate::record::tree::proof::base64_line;

/// Sixteen signature lines of the longest known kind are below it.
const MAX_ANSWER: usize = 64 * 1024;
/// The media type of a 409's body.
const SIZE_TYPE: &str = "text/x.tlog.size";

/// What a witness answered, when it did as the document says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WitnessReply {
    /// It cosigned the tree head.
    Cosigned {
        /// Its lines that hold; at least one.
        lines: Vec<NoteSignature>,
        /// When, by its own clock: seconds since the Unix epoch.
        time: u64,
    },
    /// It holds a tree of another size than the question named, or one of this size with another
    /// root.
    Holds(u64),
    /// The proof does not lead from the tree it holds to ours.
    Refuted {
        /// Its words, escaped and cut.
        said: String,
    },
}

/// Why a witness gave no answer that counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WitnessFault {
    /// The address can't be used.
    #[error("'{address}' is no address of a witness: {reason}")]
    Address {
        /// What was given, without a password.
        address: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No whole answer, or none in time.
    #[error(transparent)]
    Transport(#[from] SourceFault),
    /// It does not know the log.
    #[error(
        "{at}: it does not know this log (404); give its operator the log's name and key: gently witness list"
    )]
    UnknownLog {
        /// The address asked.
        at: String,
    },
    /// It knows the log by another key.
    #[error(
        "{at}: it does not trust the key that signs now (403); after a rotation its operator has to be given the new \
         one: gently witness list"
    )]
    UnknownKey {
        /// The address asked.
        at: String,
    },
    /// It accepted the tree head, and none of the lines it sent is its cosignature.
    #[error(
        "{at}: it says that it cosigned, and sent no cosignature by the key of {name}; got '{said}'"
    )]
    NotSigned {
        /// The address asked.
        at: String,
        /// The key's name.
        name: String,
        /// The beginning of what it sent, escaped.
        said: String,
    },
    /// A status that the document does not have for this question, or an answer of another form.
    #[error("{at}: expected {expected}, got status {status}, saying '{said}'")]
    Answer {
        /// The address asked.
        at: String,
        /// Form that the answer should have had, in words.
        expected: &'static str,
        /// The status that came.
        status: u16,
        /// The beginning of the body, escaped.
        said: String,
    },
}

/// One witness, as a client knows it.
pub struct WitnessClient {
    name: String,
    key: VerifierKey,
    at: String,
    url: Url,
    client: Client,
}

impl WitnessClient {
    /// Prepares a witness at its submission prefix, with or without a slash at its end; contacts
    /// nobody.
    ///
    /// `https`, or `http` on loopback, without a name or password in it.
    pub fn new(name: &str, key: VerifierKey, address: &str) -> Result<Self, WitnessFault> {
        let base = http::parse_base(address, "witness").map_err(told)?;
        let client = http::client(&base)?;
        let url = base
            .join("add-checkpoint")
            .map_err(|_| WitnessFault::Address {
                address: shown(address.as_bytes()),
                reason: "nothing can be appended to its path",
            })?;
        Ok(WitnessClient {
            name: name.to_owned(),
            key,
            at: url.as_str().to_owned(),
            url,
            client,
        })
    }

    /// What its owner calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its cosignatures are checked with.
    pub fn key(&self) -> &VerifierKey {
        &self.key
    }

    /// Asks for a cosignature of a tree head, given that the witness holds a tree of `old` entries.
    ///
    /// One question and one answer, of bounded size; the future may be dropped at any time.
    pub async fn add_checkpoint(
        &self,
        old: u64,
        proof: &[Hash32],
        head: &SignedNote,
    ) -> Result<WitnessReply, WitnessFault> {
        let request = self
            .client
            .post(self.url.clone())
            .body(question(old, proof, head));
        let http::HttpAnswer {
            status,
            kind,
            bytes,
        } = http::fetch(request, &self.at, MAX_ANSWER).await?;
        match status {
            StatusCode::OK => self.cosigned(head, &bytes),
            StatusCode::CONFLICT => match size_of(kind.as_deref(), &bytes) {
                Some(size) => Ok(WitnessReply::Holds(size)),
                None => Err(self.answer("a size as text/x.tlog.size", status, &bytes)),
            },
            StatusCode::UNPROCESSABLE_ENTITY => Ok(WitnessReply::Refuted {
                said: shown(&bytes),
            }),
            StatusCode::NOT_FOUND => Err(WitnessFault::UnknownLog {
                at: self.at.clone(),
            }),
            StatusCode::FORBIDDEN => Err(WitnessFault::UnknownKey {
                at: self.at.clone(),
            }),
            other => Err(self.answer("status 200, 403, 404, 409 or 422", other, &bytes)),
        }
    }

    /// The lines by its key that hold; those of others are passed over.
    fn cosigned(&self, head: &SignedNote, bytes: &[u8]) -> Result<WitnessReply, WitnessFault> {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let read = text
            .lines()
            .filter_map(|line| NoteSignature::parse(line).ok());
        let held: Vec<(NoteSignature, u64)> = read
            .filter_map(|line| line.cosigned_at(head, &self.key).map(|time| (line, time)))
            .collect();
        let time =
            held.iter()
                .map(|(_, time)| *time)
                .max()
                .ok_or_else(|| WitnessFault::NotSigned {
                    at: self.at.clone(),
                    name: self.key.name.clone(),
                    said: shown(bytes),
                })?;
        Ok(WitnessReply::Cosigned {
            lines: held.into_iter().map(|(line, _)| line).collect(),
            time,
        })
    }

    fn answer(&self, expected: &'static str, status: StatusCode, bytes: &[u8]) -> WitnessFault {
        WitnessFault::Answer {
            at: self.at.clone(),
            expected,
            status: status.as_u16(),
            said: shown(bytes),
        }
    }
}

/// An address is a witness's here, whatever else it could be.
fn told(fault: SourceFault) -> WitnessFault {
    match fault {
        SourceFault::Address {
            address, reason, ..
        } => WitnessFault::Address { address, reason },
        other => WitnessFault::Transport(other),
    }
}

/// The question: old size, proof, an empty line, the tree head.
fn question(old: u64, proof: &[Hash32], head: &SignedNote) -> String {
    let mut text = format!("old {old}\n");
    for hash in proof {
        text.push_str(&base64_line(*hash));
    }
    text.push('\n');
    text.push_str(&head.render());
    text
}

/// The size of a 409: decimal, a newline, in its own media type.
fn size_of(kind: Option<&str>, bytes: &[u8]) -> Option<u64> {
    let kind = kind?.split(';').next().unwrap_or_default().trim();
    let digits = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let size = digits
        .parse::<u64>()
        .ok()
        .filter(|size| size.to_string() == digits)?;
    kind.eq_ignore_ascii_case(SIZE_TYPE).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::signature::Signature;

    #[test]
    fn the_question_is_spelled_as_the_document_has_it() {
        let head = SignedNote {
            origin: "gently/test".to_owned(),
            size: 9,
            root: Hash32::digest(b"root"),
            key_id: [1, 2, 3, 4],
            signature: Signature::from_bytes([7; 64]),
        };
        assert_eq!(
            question(0, &[], &head),
            format!("old 0\n\n{}", head.render())
        );
        let proof = [Hash32::digest(b"a"), Hash32::digest(b"b")];
        let text = question(5, &proof, &head);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines[0], lines[3], lines[4], lines.len()),
            ("old 5", "", "gently/test", 9)
        );
        assert!(text.ends_with('\n') && lines[1].len() == 44 && lines[2].len() == 44);
    }

    #[test]
    fn a_size_has_one_spelling_and_its_own_type() {
        let own = Some("text/x.tlog.size");
        assert_eq!(size_of(own, b"20852014\n"), Some(20_852_014));
        assert_eq!(
            size_of(Some("Text/X.Tlog.Size; charset=utf-8"), b"0\n"),
            Some(0)
        );
        for wrong in [
            &b""[..],
            b"5",
            b"05\n",
            b"+5\n",
            b" 5\n",
            b"5\n\n",
            b"-1\n",
            b"18446744073709551616\n",
            b"\xff\n",
        ] {
            assert_eq!(size_of(own, wrong), None, "{wrong:?}");
        }
        assert_eq!(size_of(Some("text/plain"), b"5\n"), None);
        assert_eq!(size_of(None, b"5\n"), None);
    }

    #[test]
    fn an_address_is_a_witness_s() {
        let key = VerifierKey {
            name: "w".to_owned(),
            kind: crate::record::tree::note::KeyKind::Cosigner,
            key: crate::record::signature::PublicKey::from_bytes([1; 32]),
        };
        let witness = WitnessClient::new("w", key.clone(), "http://127.0.0.1:1/prefix").unwrap();
        assert_eq!(witness.at, "http://127.0.0.1:1/prefix/add-checkpoint");
        for wrong in [
            "",
            "witness.example",
            "http://witness.example",
            "https://u:p@witness.example",
            "https://w/?a",
        ] {
            let fault = WitnessClient::new("w", key.clone(), wrong).err().unwrap();
            assert!(
                matches!(fault, WitnessFault::Address { .. }),
                "{wrong}: {fault}"
            );
            assert!(!fault.to_string().contains("u:p"), "{fault}");
        }
    }
}
