//! Commitments to text, and opening them (format, sections 3 and 11).

use std::fmt;

use ring::hmac;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::record::hash::Hash32;

/// How a ledger commits to text; chosen once, in `genesis.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheme {
    /// `k = HMAC(salt, "gently/1/" ‖ role)`, `commitment = HMAC(k, text)`.
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
    /// `H(text)`: short texts can be guessed, and erasure is not erasure.
    #[serde(rename = "sha256")]
    Sha256,
}

impl Scheme {
    /// The name as `genesis.json` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::HmacSha256 => "hmac-sha256",
            Scheme::Sha256 => "sha256",
        }
    }
}

/// Length of a salt, and of an opening key.
const KEY_BYTES: usize = 32;
/// So many roles an exchange had before it had a trace: of salts from then, so many keys are left.
const ROLES_BEFORE_TRACES: usize = 11;

/// 32 random bytes beside the text in the private database, and nowhere else.
///
/// Destroying it, with the text, leaves a commitment that can't be guessed. Where only some of an
/// exchange's commitments must not be guessed any more, the opening keys of the other roles are
/// left in its place ([`Salt::without`]). Wiped when dropped.
#[derive(Clone)]
pub struct Salt(Zeroizing<Vec<u8>>);

impl Salt {
    /// Wraps 32 bytes that the caller took from the operating system's randomness.
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Salt(Zeroizing::new(bytes.to_vec()))
    }

    /// As the store has it: 32 bytes, or the keys that are left of it.
    pub fn from_stored(bytes: &[u8]) -> Option<Self> {
        let roles = [ROLES_BEFORE_TRACES, Role::OF_EXCHANGES.len()];
        let lengths = [KEY_BYTES, roles[0] * KEY_BYTES, roles[1] * KEY_BYTES];
        lengths
            .contains(&bytes.len())
            .then(|| Salt(Zeroizing::new(bytes.to_vec())))
    }

    /// The bytes, for the store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What is left when the opening keys of these roles are destroyed: those of an exchange's other
    /// roles, in the order of [`Role::OF_EXCHANGES`], with zeros in the place of what is gone.
    #[must_use]
    pub fn without(&self, gone: &[Role]) -> Salt {
        let keys = Role::OF_EXCHANGES.map(|role| match gone.contains(&role) {
            true => Hash32::ZERO,
            false => opening_key(self, role),
        });
        let bytes = keys.iter().flat_map(|key| *key.as_bytes());
        Salt(Zeroizing::new(bytes.collect()))
    }

    /// The key of a role, where keys are all that is left; none where the salt is whole.
    pub fn key_left(&self, role: Role) -> Option<Hash32> {
        if self.0.len() == KEY_BYTES {
            return None;
        }
        let at = Role::OF_EXCHANGES.iter().position(|known| *known == role);
        let key = at.and_then(|at| self.0.chunks_exact(KEY_BYTES).nth(at));
        let key = key.and_then(|key| <[u8; KEY_BYTES]>::try_from(key).ok());
        Some(key.map_or(Hash32::ZERO, Hash32::from_bytes))
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(..)")
    }
}

/// What kind of text a commitment is over; part of its key, so that no text of one role opens
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user's text as it was sent, after secrets were removed.
    Prompt,
    /// The answer exactly as the model gave it.
    Response,
    /// The exchange document.
    Exchange,
    /// The JCS document of one artifact.
    Artifact,
    /// Inside the exchange document: the stored user text.
    UserText,
    /// Inside the exchange document: the stored answer.
    AuroraText,
    /// Inside the exchange document: the compiled prompt.
    CompiledPrompt,
    /// Inside the exchange document: the context bundle.
    Bundle,
    /// Inside the exchange document: the context digest.
    ContextDigest,
    /// Inside the exchange document: the prompt digest.
    PromptDigest,
    /// Inside the exchange document: what was sent, part by part.
    Request,
    /// Inside the exchange document: what came beside the answer's text.
    Reply,
    /// Inside the exchange document: the signed trace.
    Trace,
}

impl Role {
    /// The roles of an exchange's texts. Their order is that of the keys that are left of a salt, so
    /// a new one stands at the end.
    pub const OF_EXCHANGES: [Role; 12] = [
        Role::Prompt,
        Role::Response,
        Role::Exchange,
        Role::UserText,
        Role::AuroraText,
        Role::CompiledPrompt,
        Role::Bundle,
        Role::ContextDigest,
        Role::PromptDigest,
        Role::Request,
        Role::Reply,
        Role::Trace,
    ];

    /// The name that enters the key.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Prompt => "prompt",
            Role::Response => "response",
            Role::Exchange => "exchange",
            Role::Artifact => "artifact",
            Role::UserText => "user_text",
            Role::AuroraText => "aurora_text",
            Role::CompiledPrompt => "compiled_prompt",
            Role::Bundle => "bundle",
            Role::ContextDigest => "context_digest",
            Role::PromptDigest => "prompt_digest",
            Role::Request => "request",
            Role::Reply => "reply",
            Role::Trace => "trace",
        }
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    for part in parts {
        mac.update(part);
    }
    mac.sign()
        .as_ref()
        .try_into()
        .expect("HMAC-SHA256 gives 32 bytes")
}

/// The key that opens one role of one exchange: `HMAC-SHA256(salt, "gently/1/" ‖ role)`. Zeros where
/// it is destroyed, which open nothing that is on record.
pub fn opening_key(salt: &Salt, role: Role) -> Hash32 {
    if let Some(key) = salt.key_left(role) {
        return key;
    }
    Hash32::from_bytes(hmac(
        salt.as_bytes(),
        &[b"gently/1/", role.name().as_bytes()],
    ))
}

/// The commitment to `text` in `role` under the ledger's scheme; `salt` is not used under `sha256`.
pub fn commit(scheme: Scheme, salt: &Salt, role: Role, text: &[u8]) -> Hash32 {
    match scheme {
        Scheme::HmacSha256 => commit_with_key(opening_key(salt, role), text),
        Scheme::Sha256 => Hash32::digest(text),
    }
}

/// The commitment that an opened `key` gives for `text`: what an outsider recomputes.
pub fn commit_with_key(key: Hash32, text: &[u8]) -> Hash32 {
    Hash32::from_bytes(hmac(key.as_bytes(), &[text]))
}

/// What a commitment is held against that was opened with this key; none where the ledger commits by
/// plain SHA-256.
pub fn commit_opened(key: Option<Hash32>, text: &[u8]) -> Hash32 {
    match key {
        Some(key) => commit_with_key(key, text),
        None => Hash32::digest(text),
    }
}

/// One opened role of one turn (format, section 11).
///
/// `{"commitment","format","key","role","seq","session_id","text"}`; `key` is null under `sha256`;
/// for an artifact `seq` is null and `session_id` that of its line, `-` outside sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextOpening {
    /// The commitment that the ledger carries.
    pub commitment: Hash32,
    /// Version of the document's form: `gently/1`.
    pub format: super::documents::Format,
    /// The opening key; none under `sha256`.
    pub key: Option<Hash32>,
    /// Which text of the exchange it is.
    pub role: Role,
    /// The prompt's number in its session; none for an artifact.
    pub seq: Option<u64>,
    /// 64 digits, or `-`.
    pub session_id: String,
    /// The text itself.
    pub text: String,
}

impl TextOpening {
    /// Whether text and key give the commitment under the ledger's scheme, compared in constant
    /// time.
    ///
    /// A key where the scheme has none, and none where it has one, opens nothing: else one
    /// commitment could be opened as a short text with its key, and as whatever else has that
    /// SHA-256 without one.
    pub fn holds(&self, scheme: Scheme) -> bool {
        let found = commit_opened(self.key, self.text.as_bytes());
        self.key.is_some() == (scheme == Scheme::HmacSha256)
            && bool::from(found.as_bytes().ct_eq(self.commitment.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn vectors() {
        let vectors: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/vectors/commitment.json")).unwrap();
        assert!(!vectors.is_empty());
        for v in vectors {
            let scheme: Scheme = serde_json::from_value(v["scheme"].clone()).unwrap();
            let role: Role = serde_json::from_value(v["role"].clone()).unwrap();
            let text = v["text"].as_str().unwrap();
            let salt = v["salt"]
                .as_str()
                .map_or([0; 32], |s| hex::decode(s).unwrap().try_into().unwrap());
            let salt = Salt::new(salt);
            let want: Hash32 = v["commitment"].as_str().unwrap().parse().unwrap();
            assert_eq!(commit(scheme, &salt, role, text.as_bytes()), want);
            if let Some(key) = v["opening_key"].as_str() {
                assert_eq!(opening_key(&salt, role).to_string(), key);
            }
        }
    }

    #[test]
    fn keys_that_are_left_of_a_salt_open_their_roles_and_no_other() {
        let salt = Salt::new([7; 32]);
        let gone = [Role::CompiledPrompt, Role::PromptDigest];
        let left = salt.without(&gone).without(&[Role::Bundle]);
        let left = Salt::from_stored(left.as_bytes()).unwrap();
        for role in Role::OF_EXCHANGES {
            let is_gone = gone.contains(&role) || role == Role::Bundle;
            let expected = match is_gone {
                true => Hash32::ZERO,
                false => opening_key(&salt, role),
            };
            assert_eq!(opening_key(&left, role), expected, "{}", role.name());
        }
        let holds = |part: &[u8]| left.as_bytes().windows(32).any(|found| found == part);
        assert!(!holds(salt.as_bytes()));
        assert!(!holds(opening_key(&salt, Role::CompiledPrompt).as_bytes()));
        // What is left of a salt from before traces.
        let old = Salt::from_stored(&left.as_bytes()[..11 * 32]).unwrap();
        assert_eq!(
            opening_key(&old, Role::Reply),
            opening_key(&salt, Role::Reply)
        );
        assert_eq!(opening_key(&old, Role::Trace), Hash32::ZERO);
        assert!(Salt::from_stored(&[0; 31]).is_none());
        assert!(Salt::from_stored(&[0; 64]).is_none());
    }

    #[test]
    fn openings_of_the_honest_ledger_hold_and_altered_ones_do_not() {
        let openings: Vec<TextOpening> = serde_json::from_str(include_str!(
            "../../../tests/vectors/ledgers/honest/openings.json"
        ))
        .unwrap();
        assert!(!openings.is_empty());
        for mut opening in openings {
            assert!(opening.holds(Scheme::HmacSha256) && !opening.holds(Scheme::Sha256));
            opening.text.push(' ');
            assert!(!opening.holds(Scheme::HmacSha256));
        }
    }

    /// Whatever bytes a commitment is, they are the SHA-256 of nothing that can be named, and the
    /// key says so.
    #[test]
    fn a_commitment_opens_under_its_ledgers_scheme_alone() {
        let salt = Salt::new([7; 32]);
        for (own, other) in [
            (Scheme::HmacSha256, Scheme::Sha256),
            (Scheme::Sha256, Scheme::HmacSha256),
        ] {
            let opening = TextOpening {
                commitment: commit(own, &salt, Role::Prompt, b"yes"),
                format: crate::record::ledger::documents::Format,
                key: (own == Scheme::HmacSha256).then(|| opening_key(&salt, Role::Prompt)),
                role: Role::Prompt,
                seq: Some(1),
                session_id: "-".to_owned(),
                text: "yes".to_owned(),
            };
            assert!(opening.holds(own) && !opening.holds(other));
            let swapped = match own {
                Scheme::HmacSha256 => TextOpening {
                    key: None,
                    ..opening.clone()
                },
                Scheme::Sha256 => TextOpening {
                    key: Some(Hash32::ZERO),
                    ..opening.clone()
                },
            };
            assert!(!swapped.holds(own));
        }
    }
}
