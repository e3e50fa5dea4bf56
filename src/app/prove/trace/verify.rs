//! Checking traces: envelopes, traces of anybody, batches of them. Each question has its own answer;
//! what nobody looked at is *not checked*, and never a yes.

use std::path::PathBuf;

use serde_json::Value;

use crate::home::Home;
use crate::os::shell_word;
use crate::record::ledger::commitment::Role;
use crate::record::ledger::opening::{Document, OpeningFile};
use crate::record::signature::{PublicKey, Verifier};
use crate::record::trace::envelope::{Envelope, EnvelopeHead};
use crate::record::trace::file::{TraceDocument, read_file};
use crate::record::trace::level::TraceLevel;
use crate::record::trace::read::MAX_TRACE_FILE;
use crate::record::trace::signed::{
    SignatureAnswers, Trace, TraceAnswer, key_id, parse_public_key,
};
use crate::verify::{About, QuestionAnswer, QuestionVerdict, Trust, check_opening};

use super::own::{OwnRecord, OwnVerdicts};
use crate::app::home::open;
use crate::app::prove::verify::opening::{is_opening, opened};
use crate::app::prove::verify::target::read_signers;

/// What is asked about a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceQuestion {
    /// Is the signature that of a key over what the trace says?
    Signature,
    /// Does the trace name that key?
    KeyId,
    /// Are ids, times and place bound by the ledger's signature around it?
    Bound,
    /// Does the exchange's commitment open to what is signed?
    Committed,
    /// Is it of an exchange that is on record?
    OnRecord,
    /// Does this home build the same trace again?
    Same,
    /// Is each field of its level there, or has a reason, and none above it?
    Fields,
    /// Do those whose words it shows consent?
    Consent,
}

impl TraceQuestion {
    /// All of them, in the order of screens.
    pub const ALL: [TraceQuestion; 8] = [
        TraceQuestion::Signature,
        TraceQuestion::KeyId,
        TraceQuestion::Bound,
        TraceQuestion::Committed,
        TraceQuestion::OnRecord,
        TraceQuestion::Same,
        TraceQuestion::Fields,
        TraceQuestion::Consent,
    ];

    /// The name in JSON; on screens with a blank in place of the line.
    pub const fn name(self) -> &'static str {
        match self {
            TraceQuestion::Signature => "signature",
            TraceQuestion::KeyId => "key_id",
            TraceQuestion::Bound => "bound",
            TraceQuestion::Committed => "committed",
            TraceQuestion::OnRecord => "on_record",
            TraceQuestion::Same => "same",
            TraceQuestion::Fields => "fields",
            TraceQuestion::Consent => "consent",
        }
    }
}

/// A file of traces, and what a checker brings along.
#[derive(Clone, Debug, Default)]
pub struct TraceCheckRequest {
    /// Path of the file.
    pub file: PathBuf,
    /// The key that signed the traces: base64 of its 32 bytes.
    pub key: Option<String>,
    /// Keys that a ledger may be signed by, or files of them.
    pub signers: Vec<String>,
}

/// One trace of a file with all answers.
#[derive(Clone, Debug)]
pub struct CheckedTrace {
    /// Whether it came in an envelope.
    pub in_envelope: bool,
    /// As it names itself.
    pub trace_id: String,
    /// How much it tells.
    pub level: TraceLevel,
    /// The key that it names.
    pub key_id: String,
    /// The ledger key whose signature is around it.
    pub signed_by: Option<PublicKey>,
    /// In the order of [`TraceQuestion::ALL`].
    pub answers: Vec<(TraceQuestion, QuestionVerdict)>,
}

impl CheckedTrace {
    /// The answer to one question.
    pub fn answer(&self, question: TraceQuestion) -> QuestionAnswer {
        let found = self.answers.iter().find(|(known, _)| *known == question);
        found.map_or(QuestionAnswer::NotChecked, |(_, verdict)| verdict.answer)
    }

    /// Whether some answer is of a kind.
    pub fn has(&self, answer: QuestionAnswer) -> bool {
        let mut answers = self.answers.iter();
        answers.any(|(_, verdict)| verdict.answer == answer)
    }
}

/// Checks every trace of a file, with what the home on this machine knows, where there is one.
///
/// # Errors
/// A sentence on why nothing could be looked at.
pub fn check(
    request: &TraceCheckRequest,
    home: Option<&Home>,
) -> Result<Vec<CheckedTrace>, String> {
    // A home that can't be read is no reason not to look at somebody else's file.
    let store = home.and_then(|home| open::store(home).ok());
    let store = store.filter(|store| store.begin_read().is_ok());
    let own = home.zip(store.as_ref());
    let own = own.and_then(|(home, store)| OwnRecord::of(home, store).ok());
    check_against(request, own.as_ref())
}

fn check_against(
    request: &TraceCheckRequest,
    own: Option<&OwnRecord<'_>>,
) -> Result<Vec<CheckedTrace>, String> {
    let place = request.file.display();
    let bytes = crate::os::read_regular(&request.file, MAX_TRACE_FILE as u64);
    let bytes = bytes.map_err(|e| format!("{place}: {e}; a file of traces is wanted"))?;
    let documents = read_file(&bytes).map_err(|e| match is_opening(&bytes) {
        true => format!(
            "{place} is what gently share or gently audit open wrote, and no file of traces; check it with: \
             gently check {}",
            shell_word(&request.file)
        ),
        false => format!("{place}: {e}"),
    })?;
    let keys = CheckKeys::of(request, own)?;
    let checked = documents.into_iter().flat_map(|document| match document {
        TraceDocument::Envelope(envelope) => vec![check_envelope(&envelope, &keys, own)],
        TraceDocument::Trace(trace) => vec![check_alone(&trace, &keys, own)],
        TraceDocument::Batch(batch) => {
            let traces = batch.traces.iter();
            traces.map(|trace| check_alone(trace, &keys, own)).collect()
        }
    });
    let checked: Vec<CheckedTrace> = checked.collect();
    match checked.is_empty() {
        true => Err(format!("{place}: there is no trace in it")),
        false => Ok(checked),
    }
}

/// The keys that somebody names, and those of this home.
struct CheckKeys {
    /// The one key that every trace has to be of.
    named: Option<CheckKey>,
    /// Keys of ledgers that somebody trusts.
    pinned: Vec<CheckKey>,
    /// Keys of this home, of its ledger and of its traces.
    own: Vec<CheckKey>,
}

/// A key made ready for many signatures.
struct CheckKey {
    key: PublicKey,
    id: String,
    /// None for bytes that are no key.
    verifier: Option<Verifier>,
}

impl CheckKey {
    fn new(key: PublicKey) -> CheckKey {
        CheckKey {
            id: key_id(&key),
            verifier: Verifier::of(&key),
            key,
        }
    }

    fn answers(&self, trace: &Trace) -> SignatureAnswers {
        match &self.verifier {
            Some(verifier) => trace.answers_of(&self.key, verifier),
            None => trace.answers(&self.key),
        }
    }
}

impl CheckKeys {
    fn of(request: &TraceCheckRequest, own: Option<&OwnRecord<'_>>) -> Result<CheckKeys, String> {
        let named = request.key.as_deref().map(|text| {
            parse_public_key(text).map(CheckKey::new).ok_or_else(|| {
                "--key takes the public_key_base64 that gently trace key prints: base64 of 32 bytes, 44 characters"
                    .to_owned()
            })
        });
        let pinned = request.signers.iter().map(|text| read_signers(text));
        let pinned = pinned.collect::<Result<Vec<_>, _>>();
        let pinned = pinned.map_err(|e| e.to_string())?.concat();
        let own = own.map_or(&[][..], |own| own.keys.as_slice());
        let ready = |keys: &[PublicKey]| keys.iter().copied().map(CheckKey::new).collect();
        Ok(CheckKeys {
            named: named.transpose()?,
            pinned: ready(&pinned),
            own: ready(own),
        })
    }

    /// The key that a trace is held against: the one that is named, else one that is known here and
    /// that the trace names.
    fn for_trace(&self, trace: &Trace) -> Option<&CheckKey> {
        let is_one = |key: &&CheckKey| key.id == trace.signature_key_id;
        let known = || self.pinned.iter().chain(&self.own).find(is_one);
        self.named.as_ref().or_else(known)
    }
}

fn answered(answer: QuestionAnswer, reason: impl Into<String>) -> QuestionVerdict {
    QuestionVerdict {
        answer,
        reason: reason.into(),
    }
}

pub(super) fn yes(reason: impl Into<String>) -> QuestionVerdict {
    answered(QuestionAnswer::Yes, reason)
}

pub(super) fn no(reason: impl Into<String>) -> QuestionVerdict {
    answered(QuestionAnswer::No, reason)
}

pub(super) fn not_checked(reason: impl Into<String>) -> QuestionVerdict {
    answered(QuestionAnswer::NotChecked, reason)
}

/// An answer of the trace itself, with words for a yes.
fn verdict(answer: TraceAnswer, words: &str) -> QuestionVerdict {
    match answer {
        TraceAnswer::Yes => yes(words),
        TraceAnswer::No(why) => no(why),
        TraceAnswer::NotChecked(why) => not_checked(why),
    }
}

/// What the two questions about the key come to.
fn key_verdicts(answers: SignatureAnswers, id: &str) -> [(TraceQuestion, QuestionVerdict); 2] {
    [
        (
            TraceQuestion::Signature,
            verdict(answers.signature, &format!("it is that of {id}")),
        ),
        (TraceQuestion::KeyId, verdict(answers.key_id, id)),
    ]
}

/// A trace without an envelope.
fn check_alone(trace: &Trace, keys: &CheckKeys, own: Option<&OwnRecord<'_>>) -> CheckedTrace {
    const NO_KEY: &str = "nobody said whose key it is: --key BASE64, as gently trace key prints it";
    const ALONE: &str = "it has no envelope, so that its ids and times are signed by nobody";
    let [signature, key] = match keys.for_trace(trace) {
        Some(key) => key_verdicts(key.answers(trace), &key.id),
        None => [
            (TraceQuestion::Signature, not_checked(NO_KEY)),
            (TraceQuestion::KeyId, not_checked(NO_KEY)),
        ],
    };
    let (on_record, same) = match own {
        Some(own) => own.judge_alone(trace),
        None => no_home(),
    };
    let answers = vec![
        signature,
        key,
        (TraceQuestion::Bound, not_checked(ALONE)),
        (
            TraceQuestion::Committed,
            not_checked("it has no envelope with a commitment"),
        ),
        (TraceQuestion::OnRecord, on_record),
        (TraceQuestion::Same, same),
        (
            TraceQuestion::Fields,
            not_checked("it has no envelope that says why fields are absent"),
        ),
        (
            TraceQuestion::Consent,
            not_checked("it has no envelope that names a consent"),
        ),
    ];
    checked(trace, None, answers)
}

fn checked(
    trace: &Trace,
    signed_by: Option<PublicKey>,
    answers: Vec<(TraceQuestion, QuestionVerdict)>,
) -> CheckedTrace {
    CheckedTrace {
        in_envelope: signed_by.is_some(),
        trace_id: trace.unsigned.trace_id.clone(),
        level: trace.unsigned.trace_level,
        key_id: trace.signature_key_id.clone(),
        signed_by,
        answers,
    }
}

/// *On record* and *same* without a home.
fn no_home() -> OwnVerdicts {
    const NO_HOME: &str = "there is no home here that can be read, to compare it with";
    (not_checked(NO_HOME), not_checked(NO_HOME))
}

/// A trace in its envelope.
fn check_envelope(
    envelope: &Envelope,
    keys: &CheckKeys,
    own: Option<&OwnRecord<'_>>,
) -> CheckedTrace {
    let trace = &envelope.trace;
    let key = keys.for_trace(trace);
    let answers = envelope.answers(key.map(|key| &key.key));
    let signatures = SignatureAnswers {
        signature: answers.signature,
        key_id: answers.key_id,
    };
    let [signature, key] = key_verdicts(signatures, &trace.signature_key_id);
    let proof = envelope.head.proof.as_ref();
    let proven = proof.map(|proof| by_proof(envelope, proof, keys));
    let mut committed = verdict(answers.committed, "the commitment opens to what is signed");
    if let Some(Proven {
        commitment: Some(held),
        ..
    }) = &proven
        && let Some(said) = envelope.head.committed
        && *held != said.value.to_string()
    {
        committed = no("the exchange document in the proof commits to another trace");
    }
    let (recorded, same) = match own {
        Some(own) => own.judge(envelope),
        None => no_home(),
    };
    let on_record = both(proven.map(|proven| proven.verdict), recorded);
    let mut consent = verdict(answers.consent, "");
    if let (Some(id), QuestionAnswer::Yes) = (&envelope.head.consent, consent.answer) {
        consent = match own {
            Some(own) => own.judge_consent(envelope, id),
            None => not_checked(format!(
                "it names {id}; whether that was given, its home can say"
            )),
        };
    }
    let answers = vec![
        signature,
        key,
        (TraceQuestion::Bound, bound(envelope, answers.bound, keys)),
        (TraceQuestion::Committed, committed),
        (TraceQuestion::OnRecord, on_record),
        (TraceQuestion::Same, same),
        (
            TraceQuestion::Fields,
            verdict(answers.fields, "each is there, or has its reason"),
        ),
        (TraceQuestion::Consent, consent),
    ];
    checked(trace, Some(envelope.signer), answers)
}

/// Whether the envelope holds, and is by a key that was named, if any was.
fn bound(envelope: &Envelope, answer: TraceAnswer, keys: &CheckKeys) -> QuestionVerdict {
    let signer = envelope.signer.fingerprint();
    let is_pinned = keys.pinned.iter().any(|key| key.key == envelope.signer);
    let is_own = keys.own.iter().any(|key| key.key == envelope.signer);
    match answer {
        TraceAnswer::Yes if is_pinned => yes(format!("by {signer}, which you named")),
        TraceAnswer::Yes if !keys.pinned.is_empty() => no(format!(
            "it is by {signer}, and none of the keys that you named"
        )),
        TraceAnswer::Yes if is_own => yes(format!("by {signer}, a key of this home")),
        TraceAnswer::Yes => yes(format!(
            "by {signer}; whose key that is nobody said (--signer KEY-OR-FILE)"
        )),
        other => verdict(other, ""),
    }
}

/// What a proof shows.
struct Proven {
    verdict: QuestionVerdict,
    /// The commitment to the trace in the exchange document; none where that has none.
    commitment: Option<String>,
}

/// Whether the proof leads from the trace to a signed tree head.
fn by_proof(envelope: &Envelope, proof: &OpeningFile, keys: &CheckKeys) -> Proven {
    let pinned: Vec<PublicKey> = keys.pinned.iter().map(|key| key.key).collect();
    let trust = Trust {
        pinned: Some(pinned.as_slice()).filter(|keys| !keys.is_empty()),
        ..Trust::default()
    };
    let report = check_opening(proof, trust);
    let failed = |words: String| Proven {
        verdict: no(words),
        commitment: None,
    };
    if !report.opens() {
        let first = report.findings.first();
        let why = first.map_or("", |first| first.place.as_str());
        return failed(format!("the proof does not hold: {why}"));
    }
    if report.signer != Some(envelope.signer) {
        return failed("the proof is of another ledger's key than the envelope".to_owned());
    }
    let Some(document) = exchange_in(&envelope.head, proof) else {
        return failed("the proof is of another exchange".to_owned());
    };
    let since = report.to(About::NotBefore);
    let mut words = "the proof leads to a signed tree head".to_owned();
    if since.answer == QuestionAnswer::Yes {
        words.push_str(&format!(", and on from there: {}", since.reason));
    }
    Proven {
        verdict: yes(words),
        commitment: document["trace"]["commitment"].as_str().map(str::to_owned),
    }
}

/// The exchange document of an envelope's exchange, where the proof opens that, under the line and
/// the name that the envelope has.
fn exchange_in(head: &EnvelopeHead, proof: &OpeningFile) -> Option<Value> {
    let is_origin = |document: &Document| matches!(document, Document::Genesis(genesis) if genesis.origin == head.origin);
    if !proof.documents.iter().any(is_origin) {
        return None;
    }
    let (exchange, session) = (head.exchange.to_string(), head.session_id.to_string());
    opened(proof).find_map(|(opening, line)| {
        let document: Value = serde_json::from_str(&opening.text).ok()?;
        let is_it = opening.role == Role::Exchange
            && opening.seq == Some(head.seq)
            && opening.session_id == session
            && line.is_some_and(|line| line.hash == head.line)
            && document["exchange_id"] == exchange.as_str();
        is_it.then_some(document)
    })
}

/// One answer of two that were looked for in two ways.
fn both(proven: Option<QuestionVerdict>, recorded: QuestionVerdict) -> QuestionVerdict {
    match (proven, recorded) {
        (None, recorded) => recorded,
        (Some(proven), recorded) if recorded.answer == QuestionAnswer::NotChecked => proven,
        (Some(proven), _) if proven.answer == QuestionAnswer::No => proven,
        (Some(_), recorded) if recorded.answer == QuestionAnswer::No => recorded,
        (Some(proven), recorded) => yes(format!("{}; {}", recorded.reason, proven.reason)),
    }
}
