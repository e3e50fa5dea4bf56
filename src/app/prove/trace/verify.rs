//! Checking traces: envelopes, traces of anybody, batches of them. Each question has its own answer;
//! what nobody looked at is *not checked*, and never a yes.

use std::path::PathBuf;

use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::home::Home;
use crate::os::{shell_word, why_unread};
use crate::record::signature::PublicKey;
use crate::record::trace::envelope::{Envelope, EnvelopeHead};
use crate::record::trace::field::profile_of;
use crate::record::trace::file::{
    TraceDocument, TraceDocuments, TraceFileFault, UnreadTrace, texts_of,
};
use crate::record::trace::level::{TraceLevel, TraceProfile};
use crate::record::trace::read::MAX_TRACE_FILE;
use crate::record::trace::signed::{
    SignatureAnswers, Trace, TraceAnswer, TraceVerifier, parse_public_key,
};
use crate::verify::{CheckAnswer, CheckVerdict};

use super::home_record::{HomeRecord, OwnVerdicts};
use super::on_all_cores;
use super::proof::{ProofResult, by_proof};
use crate::app::home::open;
use crate::app::prove::verify::opening::is_opening;
use crate::app::prove::verify::target::read_signers;

/// So many bytes of a file are checked at once.
const PART: usize = 1 << 20;

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
    /// How screens call its exchange, where this home has it.
    pub exchange: Option<String>,
    /// How much it tells.
    pub level: TraceLevel,
    /// The key that it names.
    pub key_id: String,
    /// The ledger key whose signature is around it.
    pub signed_by: Option<PublicKey>,
    /// In the order of [`TraceQuestion::ALL`].
    pub answers: Vec<(TraceQuestion, CheckVerdict)>,
}

impl CheckedTrace {
    /// The answer to one question.
    pub fn answer(&self, question: TraceQuestion) -> CheckAnswer {
        let found = self.answers.iter().find(|(known, _)| *known == question);
        found.map_or(CheckAnswer::NotChecked, |(_, verdict)| verdict.answer)
    }

    fn change(&mut self, question: TraceQuestion, into: impl FnOnce(CheckVerdict) -> CheckVerdict) {
        let mut answers = self.answers.iter_mut();
        if let Some((_, verdict)) = answers.find(|(known, _)| *known == question) {
            *verdict = into(verdict.clone());
        }
    }

    /// Whether some answer is of a kind.
    pub fn has(&self, answer: CheckAnswer) -> bool {
        let mut answers = self.answers.iter();
        answers.any(|(_, verdict)| verdict.answer == answer)
    }
}

/// What the check of a file comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracesOutcome {
    /// No answer is *no*, and of each trace one is *yes*.
    Hold,
    /// Of so many traces some answer is *no*.
    Wrong {
        /// How many.
        count: usize,
    },
    /// Of so many traces nothing could be checked, and of none an answer is *no*.
    Unchecked {
        /// How many.
        count: usize,
    },
}

impl TracesOutcome {
    /// Of all traces of a file.
    pub fn of(checked: &[CheckedTrace]) -> TracesOutcome {
        let wrong = |one: &&CheckedTrace| one.has(CheckAnswer::No);
        let unchecked = |one: &&CheckedTrace| !one.has(CheckAnswer::Yes);
        let wrong = checked.iter().filter(wrong).count();
        let unchecked = checked.iter().filter(unchecked).count();
        match (wrong, unchecked) {
            (0, 0) if !checked.is_empty() => TracesOutcome::Hold,
            (0, count) => TracesOutcome::Unchecked { count },
            (count, _) => TracesOutcome::Wrong { count },
        }
    }
}

/// Checks every trace of a file, with what the home on this machine knows, where there is one.
///
/// # Errors
/// A sentence on why nothing could be looked at.
pub fn check(
    request: &TraceCheckRequest,
    home: Option<&Home>,
) -> Result<Vec<CheckedTrace>, FieldSentence> {
    // A home that can't be read is no reason not to look at somebody else's file.
    let store = home.and_then(|home| open::store(home).ok());
    let store = store.filter(|store| store.begin_read().is_ok());
    let own = home.zip(store.as_ref());
    let own = own.and_then(|(home, store)| HomeRecord::of(home, store).ok());
    check_against(request, own.as_ref())
}

fn check_against(
    request: &TraceCheckRequest,
    own: Option<&HomeRecord<'_>>,
) -> Result<Vec<CheckedTrace>, FieldSentence> {
    let place = request.file.display();
    let bytes = crate::os::read_regular(&request.file, MAX_TRACE_FILE as u64);
    let bytes =
        bytes.map_err(|e| format!("{place}: {}; a file of traces is wanted", why_unread(&e)))?;
    let mut texts = texts_of(&bytes).map_err(|e| format!("{place}: {e}"))?;
    let keys = CheckKeys::of(request, own)?;
    let mut checked = Vec::new();
    // What a small file unfolds to in memory is many times its size: a part of it at a time.
    while let Some(part) = next_part(&mut texts) {
        let read = on_all_cores(&part, |text| {
            let document = text.read()?;
            Ok::<_, TraceFileFault>(check_document(document, &keys))
        });
        for document in read {
            let document = document.map_err(|e| unread(request, &bytes, &e))?;
            checked.extend(document.into_iter().map(|one| match own {
                Some(own) => one.asked_of(own),
                None => one.checked,
            }));
        }
    }
    match checked.is_empty() {
        true => Err(format!("{place}: there is no trace in it").into()),
        false => Ok(checked),
    }
}

/// Why a file holds no traces: somebody may have taken an opening for one.
fn unread(request: &TraceCheckRequest, bytes: &[u8], fault: &TraceFileFault) -> String {
    let place = request.file.display();
    match is_opening(bytes) {
        true => format!(
            "{place} is what gently share or gently audit open wrote, and no file of traces; check it with: \
             gently check {}",
            shell_word(&request.file)
        ),
        false => format!("{place}: {fault}"),
    }
}

/// The next documents of a file that together have at least [`PART`] bytes; none behind the last.
fn next_part<'a>(texts: &mut TraceDocuments<'a>) -> Option<Vec<UnreadTrace<'a>>> {
    let (mut part, mut size) = (Vec::new(), 0);
    while size < PART {
        let Some(text) = texts.next() else {
            break;
        };
        size += text.bytes.len();
        part.push(text);
    }
    (!part.is_empty()).then_some(part)
}

/// A trace that was checked without a home; one may know more of it.
struct CheckedAlone {
    trace: Trace,
    /// What its envelope says, if it has one.
    head: Option<EnvelopeHead>,
    checked: CheckedTrace,
}

impl CheckedAlone {
    fn trace(trace: Trace, keys: &CheckKeys) -> CheckedAlone {
        CheckedAlone {
            checked: check_alone(&trace, keys),
            trace,
            head: None,
        }
    }

    fn envelope(envelope: Envelope, keys: &CheckKeys) -> CheckedAlone {
        CheckedAlone {
            checked: check_envelope(&envelope, keys),
            trace: envelope.trace,
            head: Some(envelope.head),
        }
    }

    /// With what a home says in the place of what nobody could say without one.
    fn asked_of(self, own: &HomeRecord<'_>) -> CheckedTrace {
        let (trace, mut checked) = (&self.trace, self.checked);
        let (recorded, same) = match &self.head {
            None => own.judge_alone(trace),
            Some(head) => own.judge(head, trace),
        };
        if recorded.answer == CheckAnswer::Yes {
            checked.exchange = own.name_of(trace);
            if let Some(why) = own.refuses_key(trace) {
                checked.change(TraceQuestion::KeyId, |_| no(why));
            }
        }
        if let (Some(head), Some(signer)) = (&self.head, checked.signed_by)
            && let Some(why) = own.refuses_signer(head, signer)
        {
            checked.change(TraceQuestion::Bound, |bound| match bound.answer {
                CheckAnswer::No => bound,
                _ => no(why),
            });
        }
        if let Some(head) = &self.head
            && recorded.answer == CheckAnswer::Yes
            && own.has_committed(head)
        {
            checked.change(TraceQuestion::Committed, |said| match said.answer {
                CheckAnswer::NotChecked => yes("its exchange commits to it in this home"),
                _ => said,
            });
        }
        checked.change(TraceQuestion::OnRecord, |proven| both(proven, recorded));
        checked.change(TraceQuestion::Same, |_| same);
        let level = trace.unsigned.trace_level;
        if let Some(head) = self.head.filter(|_| level == TraceLevel::FullTraces)
            && let Some(id) = &head.consent
        {
            let consent = own.judge_consent(&head, id);
            checked.change(TraceQuestion::Consent, |_| consent);
        }
        checked
    }
}

/// Whether every trace in a document holds, for whoever has these keys and no home.
fn check_document(document: TraceDocument, keys: &CheckKeys) -> Vec<CheckedAlone> {
    match document {
        TraceDocument::Trace(trace) => vec![CheckedAlone::trace(*trace, keys)],
        TraceDocument::Envelope(envelope) => vec![CheckedAlone::envelope(*envelope, keys)],
        TraceDocument::Batch(batch) => {
            let traces = batch.traces.into_iter();
            let check = |trace| CheckedAlone::trace(trace, keys);
            traces.map(check).collect()
        }
    }
}

/// The keys that somebody names, and those of this home.
struct CheckKeys {
    /// The one key that every trace has to be of.
    named: Option<TraceVerifier>,
    /// Keys of ledgers that somebody trusts.
    pinned: Vec<TraceVerifier>,
    /// Keys of this home, of its ledger and of its traces.
    own: Vec<TraceVerifier>,
}

impl CheckKeys {
    fn of(
        request: &TraceCheckRequest,
        own: Option<&HomeRecord<'_>>,
    ) -> Result<CheckKeys, FieldSentence> {
        let named = request.key.as_deref().map(|text| {
            parse_public_key(text).map(TraceVerifier::new).ok_or_else(|| {
                sentence![
                    RequestField::Key,
                    " takes the public_key_base64 that gently trace key prints: base64 of 32 bytes, 44 characters"
                ]
            })
        });
        let pinned = request.signers.iter().map(|text| read_signers(text));
        let pinned = pinned.collect::<Result<Vec<_>, _>>();
        let pinned = pinned.map_err(|e| e.to_string())?.concat();
        let own = own.map_or(&[][..], |own| own.keys.as_slice());
        let ready = |keys: &[PublicKey]| keys.iter().copied().map(TraceVerifier::new).collect();
        Ok(CheckKeys {
            named: named.transpose()?,
            pinned: ready(&pinned),
            own: ready(own),
        })
    }

    /// The keys of ledgers that somebody trusts.
    fn pinned(&self) -> Vec<PublicKey> {
        self.pinned.iter().map(|key| *key.public()).collect()
    }

    /// The key that a trace is held against: the one that is named, else one that is known here and
    /// that the trace names.
    fn for_trace(&self, trace: &Trace) -> Option<&TraceVerifier> {
        let is_one = |key: &&TraceVerifier| key.id() == trace.signature_key_id;
        let known = || self.pinned.iter().chain(&self.own).find(is_one);
        self.named.as_ref().or_else(known)
    }
}

fn answered(answer: CheckAnswer, reason: impl Into<String>) -> CheckVerdict {
    CheckVerdict {
        answer,
        reason: reason.into(),
    }
}

pub(super) fn yes(reason: impl Into<String>) -> CheckVerdict {
    answered(CheckAnswer::Yes, reason)
}

pub(super) fn no(reason: impl Into<String>) -> CheckVerdict {
    answered(CheckAnswer::No, reason)
}

pub(super) fn not_checked(reason: impl Into<String>) -> CheckVerdict {
    answered(CheckAnswer::NotChecked, reason)
}

/// An answer of the trace itself, with words for a yes.
fn verdict(answer: TraceAnswer, words: &str) -> CheckVerdict {
    match answer {
        TraceAnswer::Yes => yes(words),
        TraceAnswer::No(why) => no(why),
        TraceAnswer::NotChecked(why) => not_checked(why),
    }
}

/// What the two questions about the key come to.
fn key_verdicts(answers: SignatureAnswers, id: &str) -> [(TraceQuestion, CheckVerdict); 2] {
    [
        (
            TraceQuestion::Signature,
            verdict(answers.signature, &format!("it is that of {id}")),
        ),
        (TraceQuestion::KeyId, verdict(answers.key_id, id)),
    ]
}

/// A trace without an envelope.
fn check_alone(trace: &Trace, keys: &CheckKeys) -> CheckedTrace {
    const NO_KEY: &str = "nobody said whose key it is: --key BASE64, as gently trace key prints it";
    const OTHER_KEY: &str = "the trace names none of the keys that you named";
    const ALONE: &str = "it has no envelope, so that its ids and times are signed by nobody";
    let [signature, key] = match keys.for_trace(trace) {
        Some(key) => key_verdicts(key.answers(trace), key.id()),
        None if !keys.pinned.is_empty() => [
            (TraceQuestion::Signature, not_checked(OTHER_KEY)),
            (TraceQuestion::KeyId, no(OTHER_KEY)),
        ],
        None => [
            (TraceQuestion::Signature, not_checked(NO_KEY)),
            (TraceQuestion::KeyId, not_checked(NO_KEY)),
        ],
    };
    let (on_record, same) = no_home();
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
    answers: Vec<(TraceQuestion, CheckVerdict)>,
) -> CheckedTrace {
    CheckedTrace {
        in_envelope: signed_by.is_some(),
        trace_id: trace.unsigned.trace_id.clone(),
        exchange: None,
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
fn check_envelope(envelope: &Envelope, keys: &CheckKeys) -> CheckedTrace {
    let trace = &envelope.trace;
    let key = keys.for_trace(trace);
    let answers = envelope.answers(key);
    let signatures = SignatureAnswers {
        signature: answers.signature,
        key_id: answers.key_id,
    };
    let [signature, key] = key_verdicts(signatures, &trace.signature_key_id);
    let proof = envelope.head.proof.as_ref();
    let proven = proof.map(|proof| by_proof(envelope, proof, &keys.pinned()));
    let committed = committed(envelope, answers.committed, proven.as_ref());
    let (unknown, same) = no_home();
    let on_record = proven.map_or(unknown, |proven| proven.verdict);
    let mut consent = verdict(answers.consent, "");
    if let (Some(id), CheckAnswer::Yes) = (&envelope.head.consent, consent.answer) {
        consent = not_checked(format!(
            "it names {id}; whether that was given, its home can say"
        ));
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

/// Whether the exchange commits to what is signed: a commitment that only the envelope names is nobody's
/// yet.
fn committed(
    envelope: &Envelope,
    opens: TraceAnswer,
    proven: Option<&ProofResult>,
) -> CheckVerdict {
    let said = envelope.head.committed;
    let document = proven.filter(|proven| proven.verdict.answer == CheckAnswer::Yes);
    match (opens, said, document.map(|proven| &proven.commitment)) {
        (TraceAnswer::Yes, Some(said), Some(Some(held))) if *held == said.value => {
            yes("the exchange document in the proof commits to it")
        }
        (TraceAnswer::Yes, Some(_), Some(Some(_))) => {
            no("the exchange document in the proof commits to another trace")
        }
        (TraceAnswer::Yes, Some(_), Some(None)) => {
            no("the exchange document in the proof commits to no trace")
        }
        (TraceAnswer::Yes, Some(_), None) => not_checked(
            "it opens to what is signed; that the exchange commits to it, its home can say, or a proof (--with-proof)",
        ),
        (TraceAnswer::NotChecked(_), None, Some(Some(_))) if is_committed_form(envelope) => no(
            "the exchange document in the proof commits to a trace, and the envelope names no commitment",
        ),
        (other, ..) => verdict(other, ""),
    }
}

/// Whether a trace is of the level and in the form that exchanges commit to.
fn is_committed_form(envelope: &Envelope) -> bool {
    let trace = &envelope.trace.unsigned;
    trace.trace_level == TraceLevel::Generic
        && profile_of(trace, &envelope.head.absent) == TraceProfile::SevenComponents
}

/// Whether the envelope holds, and is by a key that was named, if any was.
fn bound(envelope: &Envelope, answer: TraceAnswer, keys: &CheckKeys) -> CheckVerdict {
    let signer = envelope.signer.fingerprint();
    let is_pinned = keys
        .pinned
        .iter()
        .any(|key| *key.public() == envelope.signer);
    let is_own = keys.own.iter().any(|key| *key.public() == envelope.signer);
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

/// One answer of two that were looked for in two ways.
fn both(proven: CheckVerdict, recorded: CheckVerdict) -> CheckVerdict {
    let is_no = |verdict: &CheckVerdict| verdict.answer == CheckAnswer::No;
    match (proven.answer, recorded.answer) {
        (CheckAnswer::NotChecked, _) => recorded,
        (_, CheckAnswer::NotChecked) => proven,
        _ if is_no(&proven) => proven,
        _ if is_no(&recorded) => recorded,
        _ => yes(format!("{}; {}", recorded.reason, proven.reason)),
    }
}
