//! The JSON documents of the ledger (format, section 7): exactly these keys, in canonical JSON.

use serde::{Deserialize, Deserializer, Serialize};

use super::commitment::Scheme;
use crate::record::bitcoin::block::{Block, Network};
use crate::record::canon::InOrder;
use crate::record::hash::Hash32;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

/// The constant `gently/1`; any other text does not parse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Format;

/// The name of this format.
pub const FORMAT: &str = "gently/1";

impl From<Format> for String {
    fn from(_: Format) -> String {
        FORMAT.to_owned()
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == FORMAT {
            Ok(Format)
        } else {
            Err(serde::de::Error::custom(format!(
                "format '{text}', not '{FORMAT}'"
            )))
        }
    }
}

/// `genesis.json`: what a ledger is, for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Genesis {
    /// How it commits to text.
    pub commitments: Scheme,
    /// Time of the genesis line.
    pub created_at: Seconds,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// Hash that the first line of the log follows: [`Hash32::GENESIS`].
    pub genesis: Hash32,
    /// Which chain its blocks are of.
    pub network: Network,
    /// The ledger's name: not empty, no white space, no `+`.
    pub origin: String,
    /// The first signing key.
    pub signer: PublicKey,
}

/// The origin a ledger gets when none is given: `gently/` and 16 digits of the first key's hash.
pub fn default_origin(signer: &PublicKey) -> String {
    format!("gently/{}", Hash32::digest(signer.as_bytes()).short16())
}

/// Whether a text may be an origin (format, section 7): 1 to 100 bytes of printable ASCII, no
/// space, no `+`.
pub fn origin_is_valid(origin: &str) -> bool {
    (1..=100).contains(&origin.len())
        && origin
            .bytes()
            .all(|b| matches!(b, 0x21..=0x7e) && b != b'+')
}

/// `session.json`: what a session was opened under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionDoc {
    /// Hash of the auth key that opened the session: `H(auth_key)`.
    pub auth_key_hash: Hash32,
    /// The block at the start.
    pub block: Block,
    /// Branch of the session, `branch-1` to `branch-7`.
    pub branch: String,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// Attested by the writer.
    pub host_role: String,
    /// Hash of the kernel's canonical JSON.
    pub kernel_hash: Hash32,
    /// The model's id.
    pub model: String,
    /// Time of the `session_start` line.
    pub opened_at: Seconds,
    /// Attested by the writer.
    pub phase: String,
    /// Head of the log just before the `session_start` line.
    pub prev_log: Hash32,
    /// Id of the session, as [`crate::record::log::chain::session_id`] makes it.
    pub session_id: Hash32,
    /// 1 to 3.
    pub tier: u8,
}

/// `authority_state` of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthorityState {
    /// The question is within what authority allows.
    Ok,
    /// Authority was not enough for all of it.
    Insufficient,
    /// The question is not allowed.
    Blocked,
}

impl AuthorityState {
    /// The spelling in documents and database.
    pub const fn name(self) -> &'static str {
        match self {
            AuthorityState::Ok => "ok",
            AuthorityState::Insufficient => "insufficient",
            AuthorityState::Blocked => "blocked",
        }
    }
}

/// The verdict flags of one exchange (AEGIS 9.1), without the note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidatorFlags {
    /// A claim of authority or action.
    pub authority_drift: bool,
    /// Declared sight not used.
    pub completeness_drift: bool,
    /// Claims without a source.
    pub evidence_drift: bool,
    /// The declared output shape was met.
    pub schema_ok: bool,
    /// Tone outside the kernel.
    pub tone_drift: bool,
}

/// `record.json`: one answered interaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Time of the prompt line.
    pub asked_at: Seconds,
    /// Attested by the writer.
    pub authority_state: AuthorityState,
    /// Entry of the session's chain, as [`crate::record::log::chain::chain_entry`] makes it.
    pub chain_entry: Hash32,
    /// Commitment to the exchange document.
    pub exchange_hash: Hash32,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// Hash of the kernel's canonical JSON.
    pub kernel_hash: Hash32,
    /// The model that answered.
    pub model: String,
    /// The chain entry before, or the session id.
    pub prev: Hash32,
    /// Commitment to the prompt.
    pub prompt_hash: Hash32,
    /// Whether the answer is a refusal.
    pub refusal: bool,
    /// Commitment to the answer.
    pub response_hash: Hash32,
    /// The prompt's number in its session, from 1.
    pub seq: u64,
    /// Id of the session.
    pub session_id: Hash32,
    /// Time of the `response` line.
    pub timestamp: Seconds,
    /// Verdicts of the judge on the answer.
    pub validator: ValidatorFlags,
}

impl InOrder for Record {}

/// `close.json`: the end of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// The block at the close.
    pub block: Block,
    /// Time of the `session_end` line.
    pub closed_at: Seconds,
    /// The last chain entry; zero if none.
    pub final_chain_hash: Hash32,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// Number of interaction commits.
    pub interactions: u64,
    /// Hash of the session's end, as [`crate::record::log::chain::session_close_hash`] makes it.
    pub session_close_hash: Hash32,
    /// Id of the session.
    pub session_id: Hash32,
}

/// `checkpoint.json`: a segment and a tree head while sessions are open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointDoc {
    /// The block of the line's height; a claim, never an anchor.
    pub block: Block,
    /// Time of the `checkpoint` line.
    pub created_at: Seconds,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// Head of the log just before the `checkpoint` line.
    pub log_head: Hash32,
    /// How many sessions are open.
    pub sessions_open: u64,
}

/// `rotate.json`: one signing key gives way to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rotate {
    /// Time of the `key_rotate` line.
    pub created_at: Seconds,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// In force after the line.
    pub new_signer: PublicKey,
    /// In force up to and with the line.
    pub old_signer: PublicKey,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::canon;

    fn record(seq: u64, model: &str) -> Record {
        let text = format!(
            r#"{{"asked_at":1,"authority_state":"ok","chain_entry":"{h}","exchange_hash":"{h}","format":"gently/1","kernel_hash":"{h}","model":{},"prev":"{h}","prompt_hash":"{h}","refusal":false,"response_hash":"{h}","seq":{seq},"session_id":"{h}","timestamp":253402300799,"validator":{{"authority_drift":false,"completeness_drift":true,"evidence_drift":false,"schema_ok":true,"tone_drift":false}}}}"#,
            serde_json::to_string(model).unwrap(),
            h = Hash32::GENESIS,
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn origins_are_short_and_printable() {
        let long = "o".repeat(100);
        for fine in ["a", "gently/10ba682c8ad13513", "~!\"#", &long] {
            assert!(origin_is_valid(fine), "{fine}");
        }
        for wrong in [
            "",
            " ",
            "a b",
            "a+b",
            "a\n",
            "a\u{7f}",
            "ä",
            "a\u{200b}",
            &format!("{long}o"),
        ] {
            assert!(!origin_is_valid(wrong), "{wrong:?}");
        }
    }

    /// What lets a record be read by [`canon::parse_in_order`]: both ways of reading say the same.
    #[test]
    fn a_record_is_declared_in_the_order_of_its_keys() {
        for model in [
            "observer",
            "a\"b\\c/d\u{7f}",
            "\u{0}\u{8}\u{9}\u{a}\u{c}\u{d}\u{1f}",
            "é\u{2028}😀",
            "1234567890123456",
        ] {
            let canonical = canon::print(&record(3, model)).unwrap();
            assert_eq!(serde_json::to_string(&record(3, model)).unwrap(), canonical);
            assert_eq!(
                canon::parse_in_order::<Record>(canonical.as_bytes()).unwrap(),
                record(3, model)
            );
            for (good, wrong) in [
                ("\"seq\":3", "\"seq\": 3"),
                ("\"seq\":3", "\"seq\":3.0"),
                ("\"seq\":3", "\"seq\":03"),
                ("\"seq\":3,", "\"seq\":3,\"seq\":3,"),
                ("\"asked_at\":1,", ""),
                ("\"refusal\":false", "\"refusal\":\"false\""),
                ("gently/1", "gently\\/1"),
                ("}}", "}}\n"),
            ] {
                let changed = canonical.replacen(good, wrong, 1);
                assert_ne!(changed, canonical);
                let (quick, slow) = (
                    canon::parse_in_order(changed.as_bytes()),
                    canon::parse(changed.as_bytes()),
                );
                let (quick, slow): (Result<Record, _>, Result<Record, _>) = (quick, slow);
                assert_eq!(
                    quick.unwrap_err().to_string(),
                    slow.unwrap_err().to_string()
                );
            }
        }
    }

    /// From 2^53 on canonical JSON prints a number otherwise.
    #[test]
    fn a_large_number_is_judged_by_its_canonical_print() {
        for seq in [999_999_999_999_999, 9_007_199_254_740_993, u64::MAX] {
            let plain = serde_json::to_string(&record(seq, "m")).unwrap();
            let (quick, slow) = (
                canon::parse_in_order::<Record>(plain.as_bytes()),
                canon::parse::<Record>(plain.as_bytes()),
            );
            assert_eq!(quick.is_ok(), slow.is_ok(), "{seq}");
        }
    }
}
