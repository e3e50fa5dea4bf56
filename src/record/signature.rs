//! Ed25519 keys and signatures as git, OpenSSH and signed notes spell them.
//!
//! ```text
//! public key   ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI…          (base64 of: string "ssh-ed25519", string 32 bytes)
//! git header   gpgsig -----BEGIN SSH SIGNATURE-----            (PROTOCOL.sshsig of OpenSSH)
//!              U1NIU0lHAAAAAQ…                                 (70 digits a line)
//!              -----END SSH SIGNATURE-----
//! signed       "SSHSIG" ‖ string namespace ‖ string "" ‖ string "sha512" ‖ string SHA-512(message)
//! ```

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, STANDARD_NO_PAD};
use ed25519_dalek::{Verifier as _, VerifyingKey};
use ring::digest::{SHA256, SHA512, digest};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The namespace of git's signatures.
pub const GIT_NAMESPACE: &str = "git";
/// The principal in `allowed_signers`, and the address in every commit.
pub const PRINCIPAL: &str = "ledger@gently.invalid";

const ALGORITHM: &[u8] = b"ssh-ed25519";
const MAGIC: &[u8] = b"SSHSIG";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// `ssh-keygen` breaks the base64 after this many digits.
const ARMOR_WIDTH: usize = 70;

/// Coordinate y of the points of small order as it is encoded: 1, -1, 0, and the two of order eight
/// (the curve is that of RFC 8032, 5.1; a test asks `ed25519-dalek` of each).
const SMALL_ORDER_Y: [[u8; 32]; 5] = [
    [
        0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00,
    ],
    [
        0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0x7f,
    ],
    [
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00,
    ],
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
];

/// Why a text is not a key or signature of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Not `ssh-ed25519 BASE64`.
    #[error("not an ssh-ed25519 public key: '{actual}'")]
    Key {
        /// What was found, shortened.
        actual: String,
    },
    /// Not the armor that `ssh-keygen -Y sign -n git` prints for an Ed25519 key.
    #[error("not an Ed25519 SSH signature in namespace git with sha512: {reason}")]
    Armor {
        /// How the text differs from an armored signature.
        reason: &'static str,
    },
}

/// An Ed25519 public key, spelled `ssh-ed25519 AAAA…` without a comment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

/// 64 bytes of Ed25519 signature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

/// A key that signatures are checked with, by the one predicate for all of them (format, section
/// 6): that of `ssh-keygen`, made strict.
///
/// A signature `(R, s)` of a key A over M holds when `s` is below the group's order, A and R are
/// canonical encodings of points that are not of small order, and with `h = SHA-512(R ‖ A ‖ M)` the
/// encoding of `sB − hA` is R, byte for byte.
///
/// There is no other equation: not the one with a cofactor, and no sum of several signatures. Both
/// let pass what a key's holder makes on purpose with a part of small order, the sum sometimes so
/// and sometimes not.
#[derive(Clone, Debug)]
pub struct Verifier(VerifyingKey);

impl PublicKey {
    /// Wraps raw bytes; whether they are a point of the curve shows when a signature is checked.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        PublicKey(bytes)
    }

    /// The raw 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Checks a signature by the one predicate ([`Verifier`]).
    #[must_use = "an unchecked signature proves nothing"]
    pub fn verifies(&self, message: &[u8], signature: &Signature) -> bool {
        Verifier::of(self).is_some_and(|key| key.holds(message, signature))
    }

    /// Whether the key's bytes are the one encoding of a point: its coordinate is below the field's
    /// order, 2²⁵⁵ − 19. (A point has a second encoding by its sign only where it is of small
    /// order, and no such point is a key.)
    fn is_canonical(&self) -> bool {
        let [first, middle @ .., last] = &self.0;
        *first < 0xed || last & 0x7f != 0x7f || middle.iter().any(|byte| *byte != 0xff)
    }

    /// This key's line in `allowed_signers`, with its newline.
    pub fn allowed_signers_line(&self) -> String {
        format!("{PRINCIPAL} namespaces=\"git\" {self}\n")
    }

    /// The fingerprint that `ssh-keygen -l` prints of it.
    pub fn fingerprint(&self) -> String {
        let digest = digest(&SHA256, &self.blob());
        format!("SHA256:{}", STANDARD_NO_PAD.encode(digest))
    }

    /// The `ssh-ed25519` wire blob.
    fn blob(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(51);
        put(&mut out, ALGORITHM);
        put(&mut out, &self.0);
        out
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ssh-ed25519 {}", BASE64.encode(self.blob()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, SignatureError> {
        let wrong = || SignatureError::Key {
            actual: text.chars().take(80).collect(),
        };
        let encoded = text.strip_prefix("ssh-ed25519 ").ok_or_else(wrong)?;
        let blob = BASE64.decode(encoded).map_err(|_| wrong())?;
        let (algorithm, rest) = take(&blob).ok_or_else(wrong)?;
        let (key, rest) = take(rest).ok_or_else(wrong)?;
        let key = <[u8; 32]>::try_from(key).map_err(|_| wrong())?;
        let key = PublicKey(key);
        if algorithm != ALGORITHM || !rest.is_empty() || key.to_string() != text {
            return Err(wrong());
        }
        Ok(key)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl Verifier {
    /// The key's point; none for bytes that are no canonical encoding, or of a point of small
    /// order.
    pub fn of(key: &PublicKey) -> Option<Self> {
        let point = VerifyingKey::from_bytes(&key.0).ok()?;
        (key.is_canonical() && !point.is_weak()).then_some(Verifier(point))
    }

    /// Whether a signature over a message holds.
    #[must_use = "an unchecked signature proves nothing"]
    pub fn holds(&self, message: &[u8], signature: &Signature) -> bool {
        // The computed point's encoding is canonical and is compared with R as bytes: so R is, too,
        // and one of eight encodings if it is of small order. `verify_strict` asks the same of R by
        // decompressing it, which takes a fifth as long as all the rest.
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        !is_of_small_order(signature.r_bytes()) && self.0.verify(message, &signature).is_ok()
    }
}

/// Whether these are the canonical encoding of one of the eight points whose order divides eight.
fn is_of_small_order(point: &[u8; 32]) -> bool {
    let [rest @ .., last] = point;
    // The highest bit is the sign of x: it tells a point from its opposite.
    let last = last & 0x7f;
    SMALL_ORDER_Y
        .iter()
        .any(|[y @ .., y_last]| rest == y && last == *y_last)
}

impl Signature {
    /// Wraps raw bytes.
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Signature(bytes)
    }

    /// The raw 64 bytes.
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({}…)", hex::encode(&self.0[..4]))
    }
}

/// The bytes that are signed for `message` in git's namespace.
pub fn signed_data(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(100);
    out.extend_from_slice(MAGIC);
    put(&mut out, GIT_NAMESPACE.as_bytes());
    put(&mut out, b"");
    put(&mut out, b"sha512");
    put(&mut out, digest(&SHA512, message).as_ref());
    out
}

/// The armored signature as a `gpgsig` header holds it: lines joined by `\n`, none at the end.
pub fn armor(key: &PublicKey, signature: &Signature) -> String {
    let mut blob = Vec::with_capacity(180);
    blob.extend_from_slice(MAGIC);
    blob.extend_from_slice(&1u32.to_be_bytes());
    put(&mut blob, &key.blob());
    put(&mut blob, GIT_NAMESPACE.as_bytes());
    put(&mut blob, b"");
    put(&mut blob, b"sha512");
    let mut inner = Vec::with_capacity(83);
    put(&mut inner, ALGORITHM);
    put(&mut inner, &signature.0);
    put(&mut blob, &inner);
    let encoded = BASE64.encode(blob);
    let mut out = String::with_capacity(encoded.len() + 70);
    out.push_str(BEGIN);
    for line in encoded.as_bytes().chunks(ARMOR_WIDTH) {
        out.push('\n');
        out.push_str(std::str::from_utf8(line).expect("base64 is ASCII"));
    }
    out.push('\n');
    out.push_str(END);
    out
}

/// Reads an armored signature: only the exact text that [`armor`] prints is accepted.
pub fn parse_armor(text: &str) -> Result<(PublicKey, Signature), SignatureError> {
    let wrong = |reason| SignatureError::Armor { reason };
    let body = text
        .strip_prefix(BEGIN)
        .and_then(|t| t.strip_suffix(END))
        .ok_or(wrong("no armor lines"))?;
    let encoded: String = body.chars().filter(|c| *c != '\n').collect();
    let blob = BASE64.decode(encoded).map_err(|_| wrong("not base64"))?;
    let rest = blob
        .strip_prefix(MAGIC)
        .and_then(|b| b.strip_prefix(&1u32.to_be_bytes()))
        .ok_or(wrong("no SSHSIG 1"))?;
    let (key_blob, rest) = take(rest).ok_or(wrong("cut short"))?;
    let (algorithm, key_rest) = take(key_blob).ok_or(wrong("cut short"))?;
    let (key, _) = take(key_rest).ok_or(wrong("cut short"))?;
    if algorithm != ALGORITHM {
        return Err(wrong("not an Ed25519 key"));
    }
    let (namespace, rest) = take(rest).ok_or(wrong("cut short"))?;
    if namespace != GIT_NAMESPACE.as_bytes() {
        return Err(wrong("another namespace"));
    }
    let (_reserved, rest) = take(rest).ok_or(wrong("cut short"))?;
    let (hash, rest) = take(rest).ok_or(wrong("cut short"))?;
    if hash != b"sha512" {
        return Err(wrong("another hash than sha512"));
    }
    let (inner, _) = take(rest).ok_or(wrong("cut short"))?;
    let (_, inner_rest) = take(inner).ok_or(wrong("cut short"))?;
    let (bytes, _) = take(inner_rest).ok_or(wrong("cut short"))?;
    let key = PublicKey(<[u8; 32]>::try_from(key).map_err(|_| wrong("key length"))?);
    let signature = Signature(<[u8; 64]>::try_from(bytes).map_err(|_| wrong("signature length"))?);
    if armor(&key, &signature) != text {
        return Err(wrong("spelled otherwise than ssh-keygen does"));
    }
    Ok((key, signature))
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("our fields are short");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

fn take(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};

    #[test]
    fn the_eight_points_of_small_order_are_known_and_no_other() {
        let mut found = 0;
        for (n, y) in SMALL_ORDER_Y.into_iter().enumerate() {
            // x of the first two is 0, which has no sign.
            let signs: &[u8] = if n < 2 { &[0] } else { &[0, 0x80] };
            for sign in signs {
                let mut encoding = y;
                encoding[31] |= sign;
                assert!(VerifyingKey::from_bytes(&encoding).unwrap().is_weak());
                assert!(is_of_small_order(&encoding));
                found += 1;
            }
        }
        assert_eq!(found, 8);
        for seed in 0..64 {
            let key = SigningKey::from_bytes(&[seed; 32]).verifying_key();
            assert!(!key.is_weak() && !is_of_small_order(key.as_bytes()));
        }
    }

    /// The oracle: the ssh-key crate reads what we print, and we read what it prints.
    #[test]
    fn agrees_with_the_ssh_key_crate() {
        let seed = [0x11; 32];
        let ours = SigningKey::from_bytes(&seed);
        let key = PublicKey::from_bytes(ours.verifying_key().to_bytes());
        let signature = Signature::from_bytes(ours.sign(&signed_data(b"message")).to_bytes());
        let text = armor(&key, &signature);

        let theirs = ssh_key::PrivateKey::from(ssh_key::private::Ed25519Keypair::from_seed(&seed));
        let sig = theirs
            .sign(GIT_NAMESPACE, ssh_key::HashAlg::Sha512, b"message")
            .unwrap();
        assert_eq!(
            sig.to_pem(ssh_key::LineEnding::LF).unwrap().trim_end(),
            text
        );
        assert_eq!(theirs.public_key().to_openssh().unwrap(), key.to_string());

        assert_eq!(parse_armor(&text), Ok((key, signature)));
        assert!(key.verifies(&signed_data(b"message"), &signature));
        assert!(!key.verifies(&signed_data(b"massage"), &signature));
        assert_eq!(key.to_string().parse(), Ok(key));
    }

    #[test]
    fn every_changed_character_of_an_armor_is_refused_or_another_signature() {
        let ours = SigningKey::from_bytes(&[0x22; 32]);
        let key = PublicKey::from_bytes(ours.verifying_key().to_bytes());
        let signature = Signature::from_bytes(ours.sign(&signed_data(b"m")).to_bytes());
        let text = armor(&key, &signature);
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            if let Ok((k, s)) = parse_armor(&changed) {
                assert!((k, s) != (key, signature), "byte {at}");
                assert!(
                    !(k == key && k.verifies(&signed_data(b"m"), &s)),
                    "byte {at}"
                );
            }
        }
        for wrong in [
            "ssh-ed25519",
            "ssh-ed25519 ",
            "ssh-rsa AAAA",
            "ssh-ed25519 AAAA",
            &format!("{key} me"),
            &format!(" {key}"),
        ] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
    }
}
