//! Tree heads: the Merkle tree over the log's lines and the signed note that states it (format,
//! section 10).
//!
//! ```text
//! gently/10ba682c8ad13513                                       origin
//! 58                                                            number of lines
//! GJHgGmJ0ZYM4Wxc7G14H71pJtz9FrRqhFHr/pyin1V8=                  root, base64
//!                                                               empty line: the text above is what is signed
//! — gently/10ba682c8ad13513 WMTNtb3fZZSs83M…                     key name, base64 of key id (4) ‖ signature (64)
//! ```
//!
//! The tree is that of RFC 6962: leaf `H(0x00 ‖ line)`, node `H(0x01 ‖ left ‖ right)`, the left
//! subtree of a node the largest power of two that leaves something for the right. The text is a
//! c2sp tlog-checkpoint inside a c2sp signed-note.

pub mod note;
pub mod proof;
pub mod witness_policy;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::hash::Hash32;
use super::ledger::documents::origin_is_valid;
use super::signature::{PublicKey, Signature};

/// Signature type of a plain Ed25519 note signature (c2sp signed-note).
const ED25519: u8 = 0x01;
/// What a signature line starts with: an em dash and a space.
const DASH: &str = "— ";

/// Why bytes are not a frontier, or a text not a tree head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// A stored frontier has another length than its size asks for.
    #[error("a frontier of {size} entries has {expected} bytes, this has {actual}")]
    FrontierLength {
        /// Number of entries that the bytes claim.
        size: u64,
        /// Bytes that this many entries need.
        expected: usize,
        /// Size of the right edge, in bytes.
        actual: usize,
    },
    /// A note differs from what a writer would have printed.
    #[error("not a tree head: {what}: expected {expected}, found '{actual}'")]
    Note {
        /// Which part of the text.
        what: &'static str,
        /// The form it should have.
        expected: &'static str,
        /// What was found, shortened.
        actual: String,
    },
}

/// The leaf hash of one line, without its newline.
pub fn leaf(line: &[u8]) -> Hash32 {
    Hash32::of_parts(&[&[0x00], line])
}

/// The hash of an inner node.
pub fn node(left: Hash32, right: Hash32) -> Hash32 {
    Hash32::of_parts(&[&[0x01], left.as_bytes(), right.as_bytes()])
}

/// The right edge of a growing tree: enough to add lines and state the root, at most 64 hashes.
///
/// Holds one hash for each 1-bit of `size`, largest subtree first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<Hash32>,
}

impl Frontier {
    /// The tree without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one line of the log, given without its newline.
    pub fn push(&mut self, line: &[u8]) {
        self.push_leaf(leaf(line));
    }

    /// The same for a line whose leaf hash is known.
    pub fn push_leaf(&mut self, mut hash: Hash32) {
        for _ in 0..self.size.trailing_ones() {
            let left = self.peaks.pop().expect("one peak for each 1-bit of size");
            hash = node(left, hash);
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// Number of lines so far.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the complete subtrees, largest first: one for each 1-bit of the size.
    pub fn peaks(&self) -> &[Hash32] {
        &self.peaks
    }

    /// The tree's root; that of the empty tree is the hash of no bytes.
    pub fn root(&self) -> Hash32 {
        let mut peaks = self.peaks.iter().rev().copied();
        let Some(last) = peaks.next() else {
            return Hash32::digest(b"");
        };
        peaks.fold(last, |right, left| node(left, right))
    }

    /// The stored form: `be64(size)` and the peaks, largest subtree first.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + 32 * self.peaks.len());
        out.extend_from_slice(&self.size.to_be_bytes());
        for peak in &self.peaks {
            out.extend_from_slice(peak.as_bytes());
        }
        out
    }

    /// Reads [`Frontier::to_bytes`]; any other length is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TreeError> {
        let wrong = |size: u64, expected| TreeError::FrontierLength {
            size,
            expected,
            actual: bytes.len(),
        };
        let (size, rest) = bytes.split_first_chunk::<8>().ok_or_else(|| wrong(0, 8))?;
        let size = u64::from_be_bytes(*size);
        let (chunks, left_over) = rest.as_chunks::<32>();
        let peaks: Vec<Hash32> = chunks
            .iter()
            .map(|bytes| Hash32::from_bytes(*bytes))
            .collect();
        if !left_over.is_empty() || u32::try_from(peaks.len()) != Ok(size.count_ones()) {
            return Err(wrong(size, 8 + size.count_ones() as usize * 32));
        }
        Ok(Frontier { size, peaks })
    }
}

/// The text that a tree head's signature is over, with its final newline.
pub fn note_body(origin: &str, size: u64, root: Hash32) -> String {
    format!("{origin}\n{size}\n{}\n", BASE64.encode(root.as_bytes()))
}

/// The key id of a signed note: the first 4 bytes of `H(name ‖ "\n" ‖ 0x01 ‖ key)`.
pub fn key_id(name: &str, key: &PublicKey) -> [u8; 4] {
    let hash = Hash32::of_parts(&[name.as_bytes(), b"\n", &[ED25519], key.as_bytes()]);
    let [a, b, c, d, ..] = *hash.as_bytes();
    [a, b, c, d]
}

/// The whole note: body, empty line, one signature line of `key`.
///
/// `sign` is given the body's bytes and returns the plain Ed25519 signature over them; its error is
/// the only one.
pub fn note<E>(
    origin: &str,
    size: u64,
    root: Hash32,
    key: &PublicKey,
    sign: &dyn Fn(&[u8]) -> Result<Signature, E>,
) -> Result<String, E> {
    let body = note_body(origin, size, root);
    let signature = sign(body.as_bytes())?;
    Ok(SignedNote {
        origin: origin.to_owned(),
        size,
        root,
        key_id: key_id(origin, key),
        signature,
    }
    .render())
}

/// A tree head as it stands in a `checkpoint` file: one signature, by the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedNote {
    /// The ledger's name, which is also the key's.
    pub origin: String,
    /// Number of lines.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Hash32,
    /// Which key the signature claims to be of.
    pub key_id: [u8; 4],
    /// Ed25519 signature over [`note_body`].
    pub signature: Signature,
}

impl SignedNote {
    /// The only spelling of this note.
    pub fn render(&self) -> String {
        let mut signed = self.key_id.to_vec();
        signed.extend_from_slice(self.signature.as_bytes());
        let body = note_body(&self.origin, self.size, self.root);
        format!("{body}\n{DASH}{} {}\n", self.origin, BASE64.encode(signed))
    }

    /// Whether the signature is `key`'s over this origin, size and root.
    #[must_use = "an unchecked signature proves nothing"]
    pub fn verify(&self, key: &PublicKey) -> bool {
        let body = note_body(&self.origin, self.size, self.root);
        self.key_id == key_id(&self.origin, key) && key.verifies(body.as_bytes(), &self.signature)
    }
}

/// Reads a note with exactly one signature line: parsed, printed again and compared.
pub fn parse_note(text: &str) -> Result<SignedNote, TreeError> {
    let wrong = |what, expected, actual: &str| TreeError::Note {
        what,
        expected,
        actual: actual
            .chars()
            .take(80)
            .collect::<String>()
            .escape_debug()
            .to_string(),
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let &[origin, size, root, "", signature, ""] = lines.as_slice() else {
        return Err(wrong(
            "lines",
            "three lines, an empty one, one signature line",
            text,
        ));
    };
    if !origin_is_valid(origin) {
        return Err(wrong("origin", "a name without white space or '+'", origin));
    }
    let entries = size
        .parse::<u64>()
        .map_err(|_| wrong("size", "a decimal number", size))?;
    let root_bytes = BASE64
        .decode(root)
        .ok()
        .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let root = root_bytes
        .map(Hash32::from_bytes)
        .ok_or_else(|| wrong("root", "base64 of 32 bytes", root))?;
    let form = || {
        wrong(
            "signature line",
            "'— ORIGIN BASE64' with 4 bytes of key id and 64 of signature",
            signature,
        )
    };
    let (name, encoded) = signature
        .strip_prefix(DASH)
        .and_then(|rest| rest.split_once(' '))
        .ok_or_else(form)?;
    if name != origin {
        return Err(wrong("key name", "the origin", name));
    }
    let signed = BASE64.decode(encoded).map_err(|_| form())?;
    let (key_id, bytes) = signed.split_first_chunk::<4>().ok_or_else(form)?;
    let bytes = <[u8; 64]>::try_from(bytes).map_err(|_| form())?;
    let note = SignedNote {
        origin: origin.to_owned(),
        size: entries,
        root,
        key_id: *key_id,
        signature: Signature::from_bytes(bytes),
    };
    if note.render() != text {
        return Err(wrong("spelling", "what a writer prints", text));
    }
    Ok(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};

    /// The definition of RFC 6962, section 2.1, word for word; the frontier is held against it.
    fn by_definition(lines: &[Vec<u8>]) -> Hash32 {
        match lines {
            [] => Hash32::digest(b""),
            [one] => leaf(one),
            more => {
                let mut k = 1;
                while k * 2 < more.len() {
                    k *= 2;
                }
                node(by_definition(&more[..k]), by_definition(&more[k..]))
            }
        }
    }

    #[test]
    fn roots_are_those_of_rfc_6962() {
        let mut tree = Frontier::new();
        assert!(tree.root().to_string().starts_with("e3b0c442"));
        tree.push(b"");
        assert!(tree.root().to_string().starts_with("6e340b9c"));
        tree.push(&[0x00]);
        tree.push(&[0x10]);
        assert!(tree.root().to_string().starts_with("aeb6bcfe"));

        let lines: Vec<Vec<u8>> = (0u8..70).map(|n| vec![n; usize::from(n)]).collect();
        let mut tree = Frontier::new();
        for (n, line) in lines.iter().enumerate() {
            assert_eq!(tree.root(), by_definition(&lines[..n]), "{n} entries");
            let stored = Frontier::from_bytes(&tree.to_bytes()).unwrap();
            assert_eq!(stored, tree);
            tree.push(line);
        }
        assert_eq!(tree.size(), 70);
    }

    #[test]
    fn a_stored_frontier_has_one_length() {
        let mut tree = Frontier::new();
        for n in 0u8..5 {
            tree.push(&[n]);
        }
        let bytes = tree.to_bytes();
        assert_eq!(bytes.len(), 8 + 2 * 32);
        for cut in 0..bytes.len() {
            assert!(Frontier::from_bytes(&bytes[..cut]).is_err(), "{cut}");
        }
        let mut longer = bytes.clone();
        longer.extend_from_slice(&[0; 32]);
        assert_eq!(
            Frontier::from_bytes(&longer),
            Err(TreeError::FrontierLength {
                size: 5,
                expected: 72,
                actual: 104
            })
        );
    }

    /// The tree head of the whole sample log: key `22` × 32 is in force there.
    const SAMPLE: &str = "gently/10ba682c8ad13513\n58\nGJHgGmJ0ZYM4Wxc7G14H71pJtz9FrRqhFHr/pyin1V8=\n\n\
        — gently/10ba682c8ad13513 WMTNtb3fZZSs83M/aAVanHGJKSNUPzFmj+SrSBsCxWI2z67kN8NbHLfOOO4FMJKmBgBmPpGS5WzAtEE+Cut5BdDzSg4=\n";

    #[test]
    fn makes_the_sample_tree_head_byte_for_byte() {
        let log = include_bytes!("../../tests/vectors/ledgers/honest/audit.log");
        let expected: serde_json::Value = serde_json::from_str(include_str!(
            "../../tests/vectors/ledgers/honest/expected.json"
        ))
        .unwrap();
        let mut heads = expected["tree_heads"].as_array().unwrap().iter();
        let mut next = heads.next();
        let mut tree = Frontier::new();
        for line in log.strip_suffix(b"\n").unwrap().split(|b| *b == b'\n') {
            tree.push(line);
            if let Some(head) = next.filter(|head| head["size"] == tree.size()) {
                assert_eq!(tree.root().to_string(), head["root"].as_str().unwrap());
                if tree.size() == 58 {
                    let signing = SigningKey::from_bytes(&[0x22; 32]);
                    let key = PublicKey::from_bytes(signing.verifying_key().to_bytes());
                    let sign = |body: &[u8]| {
                        Ok::<_, std::convert::Infallible>(Signature::from_bytes(
                            signing.sign(body).to_bytes(),
                        ))
                    };
                    assert_eq!(
                        note("gently/10ba682c8ad13513", 58, tree.root(), &key, &sign).unwrap(),
                        SAMPLE
                    );
                    assert!(parse_note(SAMPLE).unwrap().verify(&key));
                }
                next = heads.next();
            }
        }
        assert!(next.is_none(), "every tree head of the sample was met");
        assert_eq!(tree.size(), 60);
    }

    #[test]
    fn one_changed_byte_is_refused_or_does_not_verify() {
        let key = PublicKey::from_bytes(
            SigningKey::from_bytes(&[0x22; 32])
                .verifying_key()
                .to_bytes(),
        );
        let other = PublicKey::from_bytes(
            SigningKey::from_bytes(&[0x11; 32])
                .verifying_key()
                .to_bytes(),
        );
        assert!(!parse_note(SAMPLE).unwrap().verify(&other));
        for at in 0..SAMPLE.len() {
            for flip in [0x01, 0x02, 0x20] {
                let mut bytes = SAMPLE.as_bytes().to_vec();
                bytes[at] ^= flip;
                let Ok(text) = String::from_utf8(bytes) else {
                    continue;
                };
                assert!(
                    !parse_note(&text).is_ok_and(|note| note.verify(&key)),
                    "byte {at} ^ {flip}"
                );
            }
        }
        let spelled = |from: &str, to: &str| SAMPLE.replacen(from, to, 1);
        for wrong in [
            String::new(),
            SAMPLE.trim_end().to_owned(),
            format!("{SAMPLE}\n"),
            format!("\n{SAMPLE}"),
            spelled("58", "058"),
            spelled("58", "+58"),
            spelled("58\n", "58\r\n"),
            spelled("V8=", "V8"),
            spelled("V8=", "V9="),
            spelled("— ", "- "),
            spelled("— gently/", "—  gently/"),
            format!("{SAMPLE}{}", SAMPLE.lines().last().unwrap()),
        ] {
            assert!(parse_note(&wrong).is_err(), "{wrong:?}");
        }
    }
}
