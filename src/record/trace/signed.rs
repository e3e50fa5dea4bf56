//! A trace, the bytes that its signature is over, and traces of anybody.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::level::TraceLevel;
use super::read::{TraceJsonFault, read};
use super::value::{TraceValue, write_map};
use crate::record::context::json;
use crate::record::hash::Hash32;
use crate::record::signature::{PublicKey, Signature, Verifier};

/// Characters of a signature: 64 bytes as base64url without padding.
const SIGNATURE_DIGITS: usize = 86;
/// What stands before the digits of a key's id.
const KEY_ID_PREFIX: &str = "agent-";
/// Digits of a key's id.
const KEY_ID_DIGITS: usize = 12;
/// Characters of an odd value that an error shows.
const SHOWN: usize = 40;

/// Why something is no trace, or can't be signed as one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceFault {
    /// Not JSON, or JSON that two readers may read in two ways.
    #[error(transparent)]
    Json(#[from] TraceJsonFault),
    /// A member that is missing, unknown, or of another form.
    #[error("{path}: expected {expected}")]
    Member {
        /// Where, from the trace on, parts separated by `/`.
        path: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A level that there is not.
    #[error("trace_level '{actual}'; there are generic, detailed and full_traces")]
    Level {
        /// As it is spelled, shortened.
        actual: String,
    },
    /// Not the text of a signature.
    #[error(
        "signature of {actual} characters; it has 86 of base64url without padding (64 bytes), so this one is cut or spelled otherwise"
    )]
    Signature {
        /// How many characters it has.
        actual: usize,
    },
    /// As long as one, and not base64url of 64 bytes as an encoder spells it.
    #[error("signature: these 86 characters are no base64url of 64 bytes, as an encoder spells it")]
    SignatureSpelling,
    /// Something empty in what is to be signed, which signer and verifier of the other project strip
    /// differently.
    #[error("{path} is empty (null, \"\", [] or {{}}); such a trace can't be signed")]
    Empty {
        /// Where, from the component's `event_type` on.
        path: String,
    },
    /// A fraction that has no form of ours.
    #[error(
        "{path}: expected an integer, or a fraction from 0 to below 10^12 of at most four places"
    )]
    Number {
        /// Where, from the component's `event_type` on.
        path: String,
    },
}

/// One component: a step of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceComponent {
    /// `observation`, `context`, `rationale`, `conscience`, `action`.
    pub component_type: String,
    /// Its fields.
    pub data: BTreeMap<String, TraceValue>,
    /// Which step it is: `THOUGHT_START` …
    pub event_type: String,
    /// When it took place.
    pub timestamp: String,
}

/// A trace without its signature.
///
/// Only `components` and `trace_level` are signed; the rest is bound by an envelope, if there is
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsignedTrace {
    /// The first 16 digits of the SHA-256 of the ledger's name; of others, what they make it.
    pub agent_id_hash: String,
    /// Time of the outcome.
    pub completed_at: String,
    /// The steps, in their order.
    pub components: Vec<TraceComponent>,
    /// Time of the prompt.
    pub started_at: String,
    /// `task_` and the thread's id, if it has one.
    pub task_id: Option<String>,
    /// `th_` and the exchange's id.
    pub thought_id: String,
    /// `trace-`, the thought's id and the time of the prompt.
    pub trace_id: String,
    /// How much it tells.
    pub trace_level: TraceLevel,
    /// What others put beside; traces of ours have none.
    pub others: BTreeMap<String, TraceValue>,
}

/// A trace with its signature; whether that holds is asked with [`TraceVerifier::answers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// All but the signature.
    pub unsigned: UnsignedTrace,
    /// Over [`UnsignedTrace::signed_bytes`].
    pub signature: Signature,
    /// Which key is said to have made it.
    pub signature_key_id: String,
}

/// An answer to one question about a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceAnswer {
    /// It is so.
    Yes,
    /// It is not so, and why.
    No(String),
    /// Nobody looked, and why.
    NotChecked(&'static str),
}

impl TraceAnswer {
    /// Yes where there is no fault.
    pub(super) fn of<E: std::fmt::Display>(checked: Result<(), E>) -> TraceAnswer {
        match checked {
            Ok(()) => TraceAnswer::Yes,
            Err(fault) => TraceAnswer::No(fault.to_string()),
        }
    }

    /// Whether it is a no.
    pub const fn is_no(&self) -> bool {
        matches!(self, TraceAnswer::No(_))
    }
}

/// What a trace and a key answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureAnswers {
    /// Whether the signature over M is the key's.
    pub signature: TraceAnswer,
    /// Whether `signature_key_id` names the key.
    pub key_id: TraceAnswer,
}

/// `agent-` and the first 12 digits of the SHA-256 of a key's 32 bytes.
pub fn key_id(key: &PublicKey) -> String {
    let digits = Hash32::digest(key.as_bytes()).to_string();
    let digits: String = digits.chars().take(KEY_ID_DIGITS).collect();
    format!("{KEY_ID_PREFIX}{digits}")
}

/// A public key as the other project spells it: base64 of its 32 bytes.
pub fn public_key_base64(key: &PublicKey) -> String {
    BASE64.encode(key.as_bytes())
}

/// Reads what [`public_key_base64`] prints; none for anything else.
pub fn parse_public_key(text: &str) -> Option<PublicKey> {
    let bytes = BASE64.decode(text).ok()?;
    Some(PublicKey::from_bytes(bytes.try_into().ok()?))
}

/// What registers a key with the other project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyRegistration {
    /// Always `ed25519`.
    pub algorithm: &'static str,
    /// Whose key it is, in words.
    pub description: String,
    /// As traces name it.
    pub key_id: String,
    /// Base64 of its 32 bytes.
    pub public_key_base64: String,
}

impl KeyRegistration {
    /// Of a key.
    pub fn new(key: &PublicKey, description: String) -> KeyRegistration {
        KeyRegistration {
            algorithm: "ed25519",
            description,
            key_id: key_id(key),
            public_key_base64: public_key_base64(key),
        }
    }
}

impl TraceComponent {
    /// Adds it as it stands in M.
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"component_type\":");
        json::write_text(out, &self.component_type);
        out.extend_from_slice(b",\"data\":");
        write_map(&self.data, out);
        out.extend_from_slice(b",\"event_type\":");
        json::write_text(out, &self.event_type);
        out.extend_from_slice(b",\"timestamp\":");
        json::write_text(out, &self.timestamp);
        out.push(b'}');
    }

    fn to_value(&self) -> TraceValue {
        TraceValue::Map(BTreeMap::from([
            (
                "component_type".to_owned(),
                TraceValue::text(&self.component_type),
            ),
            ("data".to_owned(), TraceValue::Map(self.data.clone())),
            ("event_type".to_owned(), TraceValue::text(&self.event_type)),
            ("timestamp".to_owned(), TraceValue::text(&self.timestamp)),
        ]))
    }

    /// The one at a place of the list; a member beside the four would not be signed.
    fn of(value: TraceValue, n: usize) -> Result<TraceComponent, TraceFault> {
        let mut members = TraceMembers::of(value, format!("components/{n}"))?;
        let component = TraceComponent {
            component_type: members.text("component_type")?,
            data: members.map("data")?,
            event_type: members.text("event_type")?,
            timestamp: members.text("timestamp")?,
        };
        match members.left.keys().next() {
            None => Ok(component),
            Some(key) => Err(TraceFault::Member {
                path: format!("components/{n}/{key}"),
                expected: "component_type, data, event_type and timestamp alone: nothing else is signed",
            }),
        }
    }

    /// The first place in its data that does not please.
    fn find(&self, pleases: &dyn Fn(&TraceValue) -> bool) -> Option<String> {
        let mut entries = self.data.iter();
        entries.find_map(|(key, value)| {
            let inner = value.find(pleases)?;
            Some(format!("{}/{key}{inner}", self.event_type))
        })
    }

    /// Where something is empty: the data itself, or a value in it.
    fn find_empty(&self) -> Option<String> {
        match self.data.is_empty() {
            true => Some(self.event_type.clone()),
            false => self.find(&|value| !value.is_empty()),
        }
    }
}

impl UnsignedTrace {
    /// M: what is signed, of whatever stands there.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2048);
        out.extend_from_slice(b"{\"components\":[");
        for (n, component) in self.components.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            component.write(&mut out);
        }
        out.extend_from_slice(b"],\"trace_level\":");
        json::write_text(&mut out, self.trace_level.name());
        out.push(b'}');
        out
    }

    /// M of a trace that may be signed.
    ///
    /// # Errors
    /// Something empty in it, or a fraction that has no form of ours.
    pub fn to_be_signed(&self) -> Result<Vec<u8>, TraceFault> {
        self.check_form()?;
        Ok(self.signed_bytes())
    }

    /// Whether it has the form in which both sides print the same bytes.
    pub fn check_form(&self) -> Result<(), TraceFault> {
        if let Some(path) = self.find_empty() {
            return Err(TraceFault::Empty { path });
        }
        let is_ours = |value: &TraceValue| match value {
            TraceValue::Number(number) => number.is_ours(),
            _ => true,
        };
        let mut components = self.components.iter();
        match components.find_map(|component| component.find(&is_ours)) {
            Some(path) => Err(TraceFault::Number { path }),
            None => Ok(()),
        }
    }

    /// Where something is empty in what is signed.
    fn find_empty(&self) -> Option<String> {
        self.components.iter().find_map(TraceComponent::find_empty)
    }

    /// The trace, with a key's signature over [`UnsignedTrace::to_be_signed`].
    ///
    /// The signature is not checked here: whoever signs ten thousand of them has the key at hand.
    pub fn signed(self, key: &TraceVerifier, signature: Signature) -> Trace {
        Trace {
            unsigned: self,
            signature,
            signature_key_id: key.id.clone(),
        }
    }
}

/// A key made ready to check what many traces and envelopes say it signed.
pub struct TraceVerifier {
    key: PublicKey,
    id: String,
    /// None for bytes that are no key.
    verifier: Option<Verifier>,
}

impl TraceVerifier {
    /// Makes a key ready.
    pub fn new(key: PublicKey) -> TraceVerifier {
        TraceVerifier {
            id: key_id(&key),
            verifier: Verifier::of(&key),
            key,
        }
    }

    /// The key's bytes.
    pub fn public(&self) -> &PublicKey {
        &self.key
    }

    /// As traces name it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether a signature is this key's over these bytes; never for bytes that are no key.
    #[must_use = "an unchecked signature proves nothing"]
    pub fn verifies(&self, bytes: &[u8], signature: &Signature) -> bool {
        let verifier = self.verifier.as_ref();
        verifier.is_some_and(|verifier| verifier.holds(bytes, signature))
    }

    /// What a trace answers, asked with this key.
    pub fn answers(&self, trace: &Trace) -> SignatureAnswers {
        let is_signed = || self.verifies(&trace.unsigned.signed_bytes(), &trace.signature);
        let signature = match &self.verifier {
            None => TraceAnswer::No("this key is no point of the curve".to_owned()),
            Some(_) if is_signed() => TraceAnswer::Yes,
            Some(_) => TraceAnswer::No(trace.refusal()),
        };
        SignatureAnswers {
            signature,
            key_id: trace.names(self),
        }
    }
}

impl Trace {
    /// Reads a trace of anybody.
    pub fn parse(bytes: &[u8]) -> Result<Trace, TraceFault> {
        Trace::of(read(bytes)?)
    }

    /// The trace that a JSON value is.
    pub fn of(value: TraceValue) -> Result<Trace, TraceFault> {
        let mut members = TraceMembers::of(value, String::new())?;
        let components = members.list("components")?.into_iter().enumerate();
        let components: Result<Vec<TraceComponent>, TraceFault> = components
            .map(|(n, value)| TraceComponent::of(value, n))
            .collect();
        let level = members.text("trace_level")?;
        let trace_level = TraceLevel::named(&level).ok_or_else(|| TraceFault::Level {
            actual: level.chars().take(SHOWN).collect(),
        })?;
        let signature = parse_signature(&members.text("signature")?)?;
        let signature_key_id = members.text("signature_key_id")?;
        let unsigned = UnsignedTrace {
            agent_id_hash: members.text("agent_id_hash")?,
            completed_at: members.text("completed_at")?,
            components: components?,
            started_at: members.text("started_at")?,
            task_id: members.optional_text("task_id")?,
            thought_id: members.text("thought_id")?,
            trace_id: members.text("trace_id")?,
            trace_level,
            others: members.left,
        };
        Ok(Trace {
            unsigned,
            signature,
            signature_key_id,
        })
    }

    /// The trace as a JSON value.
    pub fn to_value(&self) -> TraceValue {
        let unsigned = &self.unsigned;
        let components = unsigned.components.iter().map(TraceComponent::to_value);
        let mut members = unsigned.others.clone();
        let signature = print_signature(&self.signature);
        let texts: [(&str, &str); 8] = [
            ("agent_id_hash", &unsigned.agent_id_hash),
            ("completed_at", &unsigned.completed_at),
            ("signature", &signature),
            ("signature_key_id", &self.signature_key_id),
            ("started_at", &unsigned.started_at),
            ("thought_id", &unsigned.thought_id),
            ("trace_id", &unsigned.trace_id),
            ("trace_level", unsigned.trace_level.name()),
        ];
        let task = unsigned.task_id.as_deref().map(|id| ("task_id", id));
        for (key, text) in texts.into_iter().chain(task) {
            members.insert(key.to_owned(), TraceValue::text(text));
        }
        members.insert(
            "components".to_owned(),
            TraceValue::List(components.collect()),
        );
        TraceValue::Map(members)
    }

    /// One line without a newline, in the spelling of M: its components stand there byte for byte.
    pub fn print(&self) -> String {
        let mut out = Vec::with_capacity(4096);
        self.to_value().write(&mut out);
        String::from_utf8(out).expect("everything outside ASCII is escaped")
    }

    fn refusal(&self) -> String {
        let refusal = "the signature is not this key's over this trace";
        match self.unsigned.find_empty() {
            Some(path) => format!(
                "{refusal}; {path} is empty, and signers there leave out some of what is empty"
            ),
            None => refusal.to_owned(),
        }
    }

    /// Whether its key id is a key's.
    fn names(&self, key: &TraceVerifier) -> TraceAnswer {
        match self.signature_key_id == key.id {
            true => TraceAnswer::Yes,
            false => {
                let actual: String = self.signature_key_id.chars().take(SHOWN).collect();
                let expected = &key.id;
                TraceAnswer::No(format!("the key is {expected}, the trace names '{actual}'"))
            }
        }
    }
}

/// A signature as traces spell it: base64url without padding.
pub fn print_signature(signature: &Signature) -> String {
    URL_SAFE_NO_PAD.encode(signature.as_bytes())
}

/// Reads what [`print_signature`] prints, and nothing else.
fn parse_signature(text: &str) -> Result<Signature, TraceFault> {
    let fault = || TraceFault::Signature {
        actual: text.chars().count(),
    };
    if text.len() != SIGNATURE_DIGITS {
        return Err(fault());
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let bytes = bytes.and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
    let bytes = bytes.ok_or(TraceFault::SignatureSpelling)?;
    Ok(Signature::from_bytes(bytes))
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Trace::of(TraceValue::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// Members of an object that are taken out of it one by one.
pub(super) struct TraceMembers {
    left: BTreeMap<String, TraceValue>,
    path: String,
}

impl TraceMembers {
    pub(super) fn of(value: TraceValue, path: String) -> Result<TraceMembers, TraceFault> {
        match value {
            TraceValue::Map(left) => Ok(TraceMembers { left, path }),
            _ if path.is_empty() => Err(TraceFault::Member {
                path: "trace".to_owned(),
                expected: "an object",
            }),
            _ => Err(TraceFault::Member {
                path,
                expected: "an object",
            }),
        }
    }

    pub(super) fn fault(&self, key: &str, expected: &'static str) -> TraceFault {
        let path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}/{key}"),
        };
        TraceFault::Member { path, expected }
    }

    pub(super) fn text(&mut self, key: &str) -> Result<String, TraceFault> {
        match self.left.remove(key) {
            Some(TraceValue::Text(text)) => Ok(text),
            _ => Err(self.fault(key, "a text")),
        }
    }

    pub(super) fn optional_text(&mut self, key: &str) -> Result<Option<String>, TraceFault> {
        match self.left.remove(key) {
            None | Some(TraceValue::Null) => Ok(None),
            Some(TraceValue::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.fault(key, "a text or null")),
        }
    }

    pub(super) fn value(&mut self, key: &str) -> Result<TraceValue, TraceFault> {
        let value = self.left.remove(key);
        value.ok_or_else(|| self.fault(key, "a value"))
    }

    pub(super) fn list(&mut self, key: &str) -> Result<Vec<TraceValue>, TraceFault> {
        match self.left.remove(key) {
            Some(TraceValue::List(items)) => Ok(items),
            _ => Err(self.fault(key, "a list")),
        }
    }

    pub(super) fn map(&mut self, key: &str) -> Result<BTreeMap<String, TraceValue>, TraceFault> {
        match self.left.remove(key) {
            Some(TraceValue::Map(entries)) => Ok(entries),
            _ => Err(self.fault(key, "an object")),
        }
    }
}
