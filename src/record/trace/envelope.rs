//! The envelope of a trace: what its own signature leaves open, bound by the ledger's.
//!
//! ```text
//! {"absent":{"THOUGHT_START.task_priority":"no_such_thing",…},"committed":{"key":HASH|null,"value":HASH}|null,
//!  "consent":"consent:000001"|null,"exchange":UUID,"format":"gently/1","kind":"trace","line":HASH,
//!  "mapping":"gently.trace/1","origin":"…","prompt_line":HASH,"proof":{…}|null,"seq":N,"session_id":HASH,
//!  "sha256":HASH,"signature":"-----BEGIN SSH SIGNATURE-----\n…","trace":{…}}                            one line
//! ```
//!
//! `sha256` is that of M. `signature` is an SSH signature in namespace `git`, as a receipt's, over
//! the canonical JSON (RFC 8785) of the same document without its key `signature`.
//!
//! The file is that canonical JSON, too, but for `trace`, which stands in the spelling of M: RFC
//! 8785 has `1` for `1.0`, and whoever takes the trace out of the file would print another M.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use super::field::{TraceField, TraceStep, check_fields};
use super::level::{Absence, TraceLevel, TraceProfile};
use super::mapping::{TraceMapping, agent_id_hash, task_id, thought_id, trace_id};
use super::read::{TraceJsonFault, read};
use super::signed::{
    SignatureAnswers, Trace, TraceAnswer, TraceFault, TraceMembers, TraceVerifier, UnsignedTrace,
};
use super::value::TraceValue;
use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::commit_opened;
use crate::record::ledger::documents::Format;
use crate::record::ledger::opening::{MAX_STRUCTURE, OpeningFault, OpeningFile, outside_strings};
use crate::record::signature::{
    PublicKey, Signature, SignatureError, armor, parse_armor, signed_data,
};
use crate::record::time::Seconds;

/// What stands outside of strings beside a proof has at most so many bytes: a bundle's numbers and
/// keys.
const MAX_BESIDE: usize = 1 << 20;

/// Why bytes are no envelope.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeFault {
    /// It does not end with its one newline.
    #[error("an envelope is one line of JSON and its newline; this does not end so")]
    Newline,
    /// Not JSON.
    #[error(transparent)]
    Json(#[from] TraceJsonFault),
    /// More structure than there may be.
    #[error("{actual} bytes outside of strings; an envelope has at most {most}")]
    TooMuch {
        /// Most bytes outside of strings.
        most: usize,
        /// How many there are.
        actual: usize,
    },
    /// Not the document.
    #[error(transparent)]
    Document(#[from] CanonError),
    /// Its trace or its signature is missing, or of another form.
    #[error(transparent)]
    Trace(#[from] TraceFault),
    /// Its signature is no text of one.
    #[error("signature: {0}")]
    Armor(#[from] SignatureError),
    /// What is in `proof` is no opening file.
    #[error("proof: {0}")]
    Proof(#[from] OpeningFault),
}

/// The constant `trace`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnvelopeKind {
    /// The only kind.
    #[default]
    #[serde(rename = "trace")]
    Trace,
}

/// The commitment with role `trace` in the exchange document, and the key that opens it to M.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommittedTrace {
    /// The opening key; null where the ledger commits by plain SHA-256.
    pub key: Option<Hash32>,
    /// The commitment.
    pub value: Hash32,
}

impl CommittedTrace {
    /// Whether it opens to these bytes.
    pub fn opens(&self, bytes: &[u8]) -> bool {
        let found = commit_opened(self.key, bytes);
        bool::from(found.as_bytes().ct_eq(self.value.as_bytes()))
    }
}

/// All of an envelope but signature and trace; keys in this order are also their canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeHead {
    /// Why fields of the level are not in the trace.
    pub absent: BTreeMap<String, Absence>,
    /// What the exchange document commits to; null but for a generic trace in seven components.
    pub committed: Option<CommittedTrace>,
    /// The consent under which texts are shown: `consent:000001`.
    pub consent: Option<String>,
    /// Id of the exchange.
    pub exchange: Uuid,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// Always `trace`.
    pub kind: EnvelopeKind,
    /// HASH of the outcome's line.
    pub line: Hash32,
    /// How facts became fields.
    pub mapping: TraceMapping,
    /// The ledger's name.
    pub origin: String,
    /// HASH of the prompt's line.
    pub prompt_line: Hash32,
    /// The opening file of the exchange document, where it was asked for.
    pub proof: Option<OpeningFile>,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// Id of the session.
    pub session_id: Hash32,
    /// SHA-256 of M.
    pub sha256: Hash32,
}

/// A trace in its envelope; what of it holds is asked with [`Envelope::answers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What is bound beside the trace.
    pub head: EnvelopeHead,
    /// The trace.
    pub trace: Trace,
    /// Who signed the envelope; whose key that is, is the ledger's matter.
    pub signer: PublicKey,
    signature: Signature,
}

/// What an envelope answers by itself; whether it is on record, the ledger answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeAnswers {
    /// Whether the trace's signature over M is its key's.
    pub signature: TraceAnswer,
    /// Whether the trace names that key.
    pub key_id: TraceAnswer,
    /// Whether the envelope's signature holds, and says of the trace what the trace says.
    pub bound: TraceAnswer,
    /// Whether the commitment opens to M.
    pub committed: TraceAnswer,
    /// Whether each field of its level is there, or has a reason, and none above it.
    pub fields: TraceAnswer,
    /// Whether it names a consent, where it shows texts.
    pub consent: TraceAnswer,
}

impl EnvelopeHead {
    /// The canonical print without its last brace: `signature` and `trace` are the keys behind these,
    /// so that what is signed and the file both begin with it.
    fn open_print(&self) -> Result<String, CanonError> {
        let mut text = canon::print(self)?;
        text.pop();
        Ok(text)
    }

    /// The bytes that the envelope's signature is over: those of an SSH signature of its canonical
    /// print with the trace.
    pub fn to_be_signed(&self, trace: &Trace) -> Result<Vec<u8>, CanonError> {
        let mut text = self.open_print()?;
        text.push_str(",\"trace\":");
        text.push_str(&canon::print(trace)?);
        text.push('}');
        Ok(signed_data(text.as_bytes()))
    }

    /// The envelope, with `signer`'s signature over [`EnvelopeHead::to_be_signed`].
    pub fn signed(self, trace: Trace, signer: PublicKey, signature: Signature) -> Envelope {
        Envelope {
            head: self,
            trace,
            signer,
            signature,
        }
    }
}

impl Envelope {
    /// The file's bytes: one line.
    pub fn print(&self) -> Result<String, CanonError> {
        let mut text = self.head.open_print()?;
        text.push_str(&print_end(&self.trace, (&self.signer, &self.signature)));
        text.push('\n');
        Ok(text)
    }

    /// Reads what [`Envelope::print`] writes, and nothing else; no signature is checked.
    pub fn parse(bytes: &[u8]) -> Result<Envelope, EnvelopeFault> {
        let line = bytes.strip_suffix(b"\n").ok_or(EnvelopeFault::Newline)?;
        // Says in good words what is not JSON, and what two readers could read in two ways.
        Envelope::of(read(line)?, bytes)
    }

    /// The envelope whose bytes were read as a JSON value.
    pub(super) fn of(value: TraceValue, bytes: &[u8]) -> Result<Envelope, EnvelopeFault> {
        let line = bytes.strip_suffix(b"\n").ok_or(EnvelopeFault::Newline)?;
        let (actual, most) = (outside_strings(line), MAX_STRUCTURE + MAX_BESIDE);
        if actual > most {
            return Err(EnvelopeFault::TooMuch { most, actual });
        }
        let mut members = TraceMembers::of(value, String::new())?;
        let armored = members.text("signature")?;
        let (signer, signature) = parse_armor(armored.trim_end_matches('\n'))?;
        let trace = Trace::of(members.value("trace")?)?;
        // Of what is left only the head's own spelling is read.
        let head = head_in(line, &trace, (&signer, &signature))?;
        if let Some(proof) = &head.proof {
            OpeningFile::parse(proof.print()?.as_bytes())?;
        }
        Ok(head.signed(trace, signer, signature))
    }

    /// What the envelope answers; `key` is the one that the trace is said to be signed with, where
    /// somebody says so. Else it is the envelope's own signer.
    pub fn answers(&self, key: Option<&TraceVerifier>) -> EnvelopeAnswers {
        let made_ready;
        let signer = match key {
            Some(key) if *key.public() == self.signer => key,
            _ => {
                made_ready = TraceVerifier::new(self.signer);
                &made_ready
            }
        };
        let SignatureAnswers { signature, key_id } = self.signature_answers(key, signer);
        EnvelopeAnswers {
            signature,
            key_id,
            bound: self.bound(signer),
            committed: self.committed(),
            fields: self.fields(),
            consent: self.consent(),
        }
    }

    fn signature_answers(
        &self,
        key: Option<&TraceVerifier>,
        signer: &TraceVerifier,
    ) -> SignatureAnswers {
        let answers = key.unwrap_or(signer).answers(&self.trace);
        let names_another = self.trace.signature_key_id != signer.id();
        // Traces may have a key of their own, which the envelope does not hold.
        if key.is_none() && answers.signature.is_no() && names_another {
            const OTHER: &str = "the trace names another key than the envelope's; say which";
            return SignatureAnswers {
                signature: TraceAnswer::NotChecked(OTHER),
                key_id: TraceAnswer::NotChecked(OTHER),
            };
        }
        answers
    }

    /// Whether the envelope's signature is `signer`'s, and every word that is in both is the same in
    /// both.
    pub fn bound(&self, signer: &TraceVerifier) -> TraceAnswer {
        TraceAnswer::of(self.check_bound(signer))
    }

    fn check_bound(&self, signer: &TraceVerifier) -> Result<(), String> {
        let (head, trace) = (&self.head, &self.trace.unsigned);
        let bytes = head.to_be_signed(&self.trace).map_err(|e| e.to_string())?;
        if !signer.verifies(&bytes, &self.signature) {
            return Err("the envelope's signature is not its signer's over this envelope".into());
        }
        if Hash32::digest(&trace.signed_bytes()) != head.sha256 {
            return Err("sha256 is not that of what the trace signs".into());
        }
        let (asked_at, ended_at) = (second(&trace.started_at), second(&trace.completed_at));
        let id = asked_at.map(|at| trace_id(head.exchange, at));
        // What is asked for stands in the same place in either profile.
        let field = |field: TraceField| field.find(TraceProfile::SevenComponents, trace);
        let line = TraceValue::text(head.prompt_line.to_string());
        let number = TraceValue::count(head.seq);
        for (is_same, what) in [
            (trace.thought_id == thought_id(head.exchange), "exchange"),
            (Some(&trace.trace_id) == id.as_ref(), "trace_id"),
            (trace.agent_id_hash == agent_id_hash(&head.origin), "origin"),
            (asked_at.is_some() && ended_at >= asked_at, "times"),
            (has_times_of(trace), "the times of its components"),
            (
                trace.task_id.as_deref().is_none_or(is_task_id),
                "task_id, which is no thread's",
            ),
            (
                field(TraceField::AuditEntryHash) == Some(&line),
                "prompt_line",
            ),
            (field(TraceField::RoundNumber) == Some(&number), "seq"),
            (
                trace.others.is_empty(),
                "a member that no trace of ours has",
            ),
        ] {
            if !is_same {
                return Err(format!("envelope and trace do not agree: {what}"));
            }
        }
        Ok(())
    }

    /// Whether the commitment opens to what is signed.
    pub fn committed(&self) -> TraceAnswer {
        let Some(committed) = self.head.committed else {
            return TraceAnswer::NotChecked("the envelope holds no commitment");
        };
        if self.trace.unsigned.trace_level != TraceLevel::Generic {
            return TraceAnswer::No("only generic traces are committed to".to_owned());
        }
        match committed.opens(&self.trace.unsigned.signed_bytes()) {
            true => TraceAnswer::Yes,
            false => TraceAnswer::No("the commitment does not open to what is signed".to_owned()),
        }
    }

    /// Whether each field of its level is there, or has a reason, and none above it.
    pub fn fields(&self) -> TraceAnswer {
        let trace = &self.trace.unsigned;
        match trace.check_form() {
            Err(fault) => TraceAnswer::No(fault.to_string()),
            Ok(()) => match (
                check_fields(trace, &self.head.absent),
                self.check_alignment(),
            ) {
                (Ok(()), Ok(())) => TraceAnswer::Yes,
                (Ok(()), Err(why)) => TraceAnswer::No(why),
                (Err(fault), _) => TraceAnswer::No(fault.to_string()),
            },
        }
    }

    /// How much of a question is of a specialist's domains stands in the second mapping alone, and is a
    /// share of a whole.
    fn check_alignment(&self) -> Result<(), String> {
        let trace = &self.trace.unsigned;
        let found = TraceProfile::ALL
            .into_iter()
            .find_map(|profile| TraceField::DomainAlignment.find(profile, trace));
        let Some(TraceValue::Number(share)) = found else {
            return match self.head.mapping {
                TraceMapping::First => Ok(()),
                TraceMapping::Second => Err(format!(
                    "{} tells of a specialist, and there is no domain_alignment",
                    TraceMapping::Second.name()
                )),
            };
        };
        if self.head.mapping == TraceMapping::First {
            return Err("domain_alignment stands in no trace of this mapping".to_owned());
        }
        let value: Option<f64> = share.as_str().parse().ok();
        match value.is_some_and(|value| (0.0..=1.0).contains(&value)) {
            true => Ok(()),
            false => Err(format!(
                "domain_alignment {} is no share of 1",
                share.as_str()
            )),
        }
    }

    fn consent(&self) -> TraceAnswer {
        match (self.trace.unsigned.trace_level, &self.head.consent) {
            (TraceLevel::FullTraces, Some(_)) => TraceAnswer::Yes,
            (TraceLevel::FullTraces, None) => {
                TraceAnswer::No("it shows texts, and names no consent".to_owned())
            }
            _ => TraceAnswer::NotChecked("it shows no texts"),
        }
    }
}

/// A time as gently spells it, and in no other way.
fn second(text: &str) -> Option<Seconds> {
    let time: Seconds = text.parse().ok()?;
    (time.to_string() == text).then_some(time)
}

/// Whether each component has the time of its step: the prompt's, or the outcome's.
fn has_times_of(trace: &UnsignedTrace) -> bool {
    let mut components = trace.components.iter();
    components.all(|component| {
        let mut steps = TraceStep::ALL.into_iter();
        let step = steps.find(|step| step.event_type() == component.event_type);
        let is_after = step.is_some_and(TraceStep::is_after_outcome);
        let time = match is_after {
            true => &trace.completed_at,
            false => &trace.started_at,
        };
        component.timestamp == *time
    })
}

/// Whether a text is `task_` and the id of a thread.
fn is_task_id(text: &str) -> bool {
    let id = text.split_once('_').and_then(|(_, id)| id.parse().ok());
    id.is_some_and(|id: Uuid| task_id(id) == text)
}

/// The head in a line that ends with a signature and a trace, all spelled as a writer spells them.
fn head_in(
    line: &[u8],
    trace: &Trace,
    signed: (&PublicKey, &Signature),
) -> Result<EnvelopeHead, CanonError> {
    let end = print_end(trace, signed);
    let Some(head) = line.strip_suffix(end.as_bytes()) else {
        let from = line.len().saturating_sub(end.len());
        let same = line.iter().skip(from).zip(end.bytes());
        let same = same.take_while(|(a, b)| **a == *b).count();
        return Err(CanonError::Spelling { at: from + same });
    };
    canon::parse(&[head, b"}"].concat())
}

/// What stands behind the head in a file, with its last brace.
fn print_end(trace: &Trace, (signer, signature): (&PublicKey, &Signature)) -> String {
    let armored = serde_json::Value::from(armor(signer, signature) + "\n");
    format!(",\"signature\":{armored},\"trace\":{}}}", trace.print())
}
