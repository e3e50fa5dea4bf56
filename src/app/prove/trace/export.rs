//! Exporting traces: built from the record, signed, checked as a stranger would check them, and on
//! record before the file has a name.

use std::collections::BTreeSet;
use std::fmt;

use uuid::Uuid;

use crate::app::prove::{NotHandedOn, because};
use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::audit::trace_facts::{TraceFactsReader, TraceSource};
use crate::keys::Signer;
use crate::record::hash::Hash32;
use crate::record::ledger::consent::{Consent, ConsentNeed};
use crate::record::ledger::documents::Format;
use crate::record::ledger::erased::TOMBSTONE;
use crate::record::ledger::opening::OpeningFile;
use crate::record::signature::Signature;
use crate::record::time::Seconds;
use crate::record::trace::envelope::{Envelope, EnvelopeHead, EnvelopeKind};
use crate::record::trace::export::{EXPORT, TRACE_EXPORT};
use crate::record::trace::file::TraceBatch;
use crate::record::trace::level::{TraceLevel, TraceProfile};
use crate::record::trace::mapping::{BuiltTrace, TraceMapping, TraceRequest};
use crate::record::trace::read::MAX_TRACE_FILE;
use crate::record::trace::signed::{Trace, TraceAnswer, TraceVerifier};
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecorderError};
use crate::store::{ArtifactFilter, ExchangeRow, ReadStore, Store, StoreError};

use super::consent_cover::{NoConsent, cover, still_covered};
use super::key::own_signer;
use super::select::{TraceSelection, select};
use super::{FEW, on_all_cores, shared_out};
use crate::app::find;
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::look::show::RecordCheck;
use crate::app::prove::opening::{self, OpenTextsError, OpeningRequest, TurnText, open_planned};

/// What the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// An envelope on each line.
    Envelope,
    /// A trace on each line.
    Trace,
    /// A body for the other project's receiver on each line, of so many traces.
    Batch(usize),
}

/// What is to be exported.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// Of which exchanges.
    pub selection: TraceSelection,
    /// How much, and in which form of the document's; answers that are withheld are shown, too, or
    /// not.
    pub trace: TraceRequest,
    /// What the file holds.
    pub form: ExportForm,
    /// Whether each envelope has the opening of its exchange document.
    pub with_proof: bool,
}

/// Why nothing was exported.
#[derive(Debug)]
pub enum TraceExportError {
    /// Texts would be shown of exchanges that no consent covers.
    NoConsent(NoConsent),
    /// A sentence for a person.
    Refused(FieldSentence),
    /// Something is broken.
    Failed(OpenHomeError),
}

impl<E> From<E> for TraceExportError
where
    OpenHomeError: From<E>,
{
    fn from(error: E) -> Self {
        TraceExportError::Failed(error.into())
    }
}

impl From<NotHandedOn> for TraceExportError {
    fn from(why: NotHandedOn) -> Self {
        TraceExportError::Refused(why.0)
    }
}

/// Why the trace of one exchange can't be made.
#[derive(Debug)]
pub(super) enum UnmadeTrace {
    /// How facts became fields is of a later gently: this name is unknown.
    LaterMapping(String),
    /// Its rows give none that may be signed.
    Rows(String),
    /// The signature over it does not hold just after it was made.
    Signature,
    /// The key gave no signature.
    Key(OpenHomeError),
}

impl UnmadeTrace {
    fn rows(why: impl fmt::Display) -> UnmadeTrace {
        UnmadeTrace::Rows(why.to_string())
    }

    /// The error, with how screens call the exchange.
    pub fn of(self, short: &str) -> OpenHomeError {
        OpenHomeError::Refused(match self {
            UnmadeTrace::LaterMapping(mapping) => {
                format!("the trace of {short} is of a later gently ({mapping}): use that one")
            }
            UnmadeTrace::Rows(why) => {
                format!("the trace of {short} can't be made: {why}; look with: gently audit verify")
            }
            UnmadeTrace::Signature => format!(
                "the signature of the trace of {short} does not hold just after it was made; nothing was written. Look at the key: gently trace key"
            ),
            UnmadeTrace::Key(error) => return error,
        })
    }
}

/// The mapping that is on record with a turn; the first where none is.
pub(super) fn mapping_of(turn: &TraceSource) -> Result<TraceMapping, UnmadeTrace> {
    match &turn.recorded {
        None => Ok(TraceMapping::First),
        Some(recorded) => TraceMapping::named(&recorded.mapping)
            .ok_or_else(|| UnmadeTrace::LaterMapping(recorded.mapping.clone())),
    }
}

/// What of an exchange is not as it was recorded, its trace among it.
pub(super) fn changed_rows(
    record: &RecordCheck<'_>,
    row: &ExchangeRow,
    turn: &TraceSource,
) -> Result<Vec<&'static str>, StoreError> {
    let mut changed = record.changed(row)?;
    if !opens_commitment(turn) {
        changed.push("what its trace is committed to");
    }
    Ok(changed)
}

/// Whether the rows of a turn give the trace that its exchange commits to, as far as that can be opened.
fn opens_commitment(turn: &TraceSource) -> bool {
    let recorded = turn.recorded.as_ref();
    let Some(committed) = recorded.and_then(|recorded| recorded.committed) else {
        return true;
    };
    // A later mapping is refused where the trace is built.
    let Ok(mapping) = mapping_of(turn) else {
        return true;
    };
    let built = mapping.build(&turn.facts, TraceRequest::COMMITTED);
    built.is_ok_and(|built| committed.opens(&built.trace.signed_bytes()))
}

/// Builds the trace of a turn by the mapping that is on record with it.
pub(super) fn build(
    turn: &TraceSource,
    request: TraceRequest,
) -> Result<(TraceMapping, BuiltTrace), UnmadeTrace> {
    let mapping = mapping_of(turn)?;
    let built = mapping.build(&turn.facts, request);
    Ok((mapping, built.map_err(UnmadeTrace::rows)?))
}

/// A file as it will be; nothing is on record of it yet.
pub struct PlannedExport {
    /// All of its bytes.
    pub text: String,
    /// Their SHA-256.
    pub sha256: Hash32,
    /// The exchanges whose traces are in it, in its order.
    pub exchanges: Vec<Uuid>,
    /// How many of what was selected wait for their outcome, and are left out.
    pub waiting: u64,
    /// How many are erased, so that no proof of theirs is in the file, where proofs were asked for.
    pub unproven: u64,
    /// Whether there are proofs in the file; that those documents were opened is on record then.
    pub has_proofs: bool,
    /// Ids of the consents under which texts are shown.
    pub consents: Vec<String>,
    /// How many of the traces hold a word of a question or an answer: what is erased or was not kept
    /// is in none.
    pub worded: u64,
    /// The key that signed the traces.
    pub key_id: String,
    /// How much they tell, in which form.
    pub trace: TraceRequest,
    /// What each consent has to cover still when it is recorded.
    needs: Vec<(String, ConsentNeed)>,
    /// How many lines the log had before anything was read.
    seen_lines: u64,
}

/// An export that is on record.
pub struct NewExport {
    /// Its id, such as `export:000001`.
    pub id: String,
    /// What was exported.
    pub planned: PlannedExport,
}

/// What signs, with both keys made ready to check what they signed.
struct ExportKeys<'a> {
    /// For traces; none where it is the ledger's.
    own: Option<Signer>,
    own_key: TraceVerifier,
    ledger: &'a Signer,
    ledger_key: TraceVerifier,
}

impl<'a> ExportKeys<'a> {
    fn of(opened: &OpenHome, ledger: &'a Signer) -> Result<ExportKeys<'a>, TraceExportError> {
        let own = own_signer(opened)?;
        Ok(ExportKeys {
            own_key: TraceVerifier::new(own.as_ref().unwrap_or(ledger).public()),
            own,
            ledger,
            ledger_key: TraceVerifier::new(ledger.public()),
        })
    }

    /// The signed trace; its signature holds.
    fn sign(&self, built: BuiltTrace) -> Result<Trace, UnmadeTrace> {
        let bytes = built.trace.to_be_signed().map_err(UnmadeTrace::rows)?;
        let signer = self.own.as_ref().unwrap_or(self.ledger);
        let signature = signed(signer, &bytes)?;
        match self.own_key.verifies(&bytes, &signature) {
            true => Ok(built.trace.signed(&self.own_key, signature)),
            false => Err(UnmadeTrace::Signature),
        }
    }

    /// The envelope around a signed trace; everything that it answers holds.
    fn bind(&self, head: EnvelopeHead, trace: Trace) -> Result<Envelope, UnmadeTrace> {
        let bytes = head.to_be_signed(&trace).map_err(UnmadeTrace::rows)?;
        let signature = signed(self.ledger, &bytes)?;
        let envelope = head.signed(trace, self.ledger.public(), signature);
        for (name, answer) in [
            ("bound", envelope.bound(&self.ledger_key)),
            ("committed", envelope.committed()),
            ("fields", envelope.fields()),
        ] {
            if let TraceAnswer::No(why) = answer {
                return Err(UnmadeTrace::Rows(format!("{name}: {why}")));
            }
        }
        Ok(envelope)
    }
}

fn signed(signer: &Signer, bytes: &[u8]) -> Result<Signature, UnmadeTrace> {
    let signature = signer.sign(bytes);
    signature.map_err(|e| UnmadeTrace::Key(e.into()))
}

/// One turn whose trace is exported.
struct ExportTurn {
    turn: Box<TraceSource>,
    /// The consent to show its texts, where they are shown.
    consent: Option<Consent>,
    proof: Option<OpeningFile>,
}

/// How screens call an exchange; looked up where it is said, which is where something is wrong.
pub(super) fn name_of(store: &ReadStore, exchange: Uuid) -> String {
    let short = find::short_id_of(store, exchange).ok().flatten();
    short.unwrap_or_else(|| exchange.to_string())
}

/// Makes the file of what is asked for.
///
/// With `with_proof` it is on record before this returns that the exchange documents are opened.
///
/// # Errors
/// Nothing is exported of anything, if something can't be, or is another than what was recorded.
pub async fn plan(
    opened: &OpenHome,
    key: Hash32,
    request: &ExportRequest,
) -> Result<PlannedExport, TraceExportError> {
    if request.with_proof && request.form != ExportForm::Envelope {
        return because(sentence![
            RequestField::WithProof,
            " is for envelopes: a trace by itself has no place for it"
        ]);
    }
    let now = open::clock()?;
    let seen_lines = opened.store.head()?.lines;
    let found = select(&opened.store, &request.selection, now)?;
    let signer = open::signer(&opened.home, &opened.config)?;
    let keys = ExportKeys::of(opened, &signer)?;
    let mut turns = turns(opened, request.trace.level, &found.exchanges)?;
    let mut needs = Vec::new();
    if request.trace.level == TraceLevel::FullTraces {
        let of = turns.iter().map(|one| &*one.turn);
        let found = cover(&opened.store, of, now)?;
        for (one, covered) in turns.iter_mut().zip(found) {
            one.consent = Some(covered.consent);
            needs.extend(covered.needs);
        }
    }
    let unproven = match request.with_proof {
        true => prove(opened, key, &mut turns, request.selection.is_named()).await?,
        false => 0,
    };
    let origin = &opened.genesis.origin;
    let parts = on_all_cores(&turns, |one| part(origin, request, &keys, one));
    let mut lines = ExportLines::new(request.form, request.trace.level, now);
    let mut worded = 0;
    for (one, part) in turns.iter().zip(parts) {
        let exchange = one.turn.facts.exchange;
        let part = part.map_err(|unmade| unmade.of(&name_of(&opened.store, exchange)))?;
        lines.take(part)?;
        let texts = &one.turn.facts.texts;
        worded += u64::from(texts.question.is_ok() || texts.answer.is_ok());
    }
    let text = lines.finish()?;
    let consents: BTreeSet<String> = needs.iter().map(|(id, _)| id.clone()).collect();
    Ok(PlannedExport {
        sha256: Hash32::digest(text.as_bytes()),
        text,
        exchanges: found.exchanges,
        waiting: found.waiting,
        unproven,
        has_proofs: turns.iter().any(|one| one.proof.is_some()),
        consents: consents.into_iter().collect(),
        worded,
        key_id: keys.own_key.id().to_owned(),
        trace: request.trace,
        needs,
        seen_lines,
    })
}

/// The turns with their facts, each as it was recorded.
///
/// # Errors
/// One that is another than what was recorded: nobody signs that it took place so.
fn turns(
    opened: &OpenHome,
    level: TraceLevel,
    exchanges: &[Uuid],
) -> Result<Vec<ExportTurn>, TraceExportError> {
    let read = |store: &Store, exchanges: &[Uuid]| -> Result<Vec<ExportTurn>, TraceExportError> {
        let (reader, record) = (TraceFactsReader::new(store)?, RecordCheck::new(store)?);
        let turn = |exchange: &Uuid| recorded_turn(store, (&reader, &record), *exchange, level);
        exchanges.iter().map(turn).collect()
    };
    if exchanges.len() <= FEW {
        return read(&opened.store, exchanges);
    }
    let home = &opened.home;
    let read_all = |share: &[Uuid]| read(&open::store(home)?, share);
    let shares = shared_out(exchanges, read_all).into_iter();
    let turns = shares.collect::<Result<Vec<_>, _>>()?;
    Ok(turns.into_iter().flatten().collect())
}

fn recorded_turn(
    store: &Store,
    (reader, record): (&TraceFactsReader<'_>, &RecordCheck<'_>),
    exchange: Uuid,
    level: TraceLevel,
) -> Result<ExportTurn, TraceExportError> {
    let row = store.exchange(exchange)?;
    let turn = row.as_ref().map(|row| reader.facts_of_row(row, level));
    let (Some(row), Some(turn)) = (row, turn.transpose()?.flatten()) else {
        let short = name_of(store, exchange);
        return because(format!("{short} has no outcome any more; say it again"));
    };
    let changed = changed_rows(record, &row, &turn)?;
    if !changed.is_empty() {
        return Err(TraceExportError::Failed(OpenHomeError::Refused(format!(
            "{} is another in gently.db than what was recorded ({}), and no trace is made of that; what differs says: \
             gently audit verify",
            name_of(store, exchange),
            changed.join(", ")
        ))));
    }
    Ok(ExportTurn {
        turn: Box::new(turn),
        consent: None,
        proof: None,
    })
}

/// Puts the opening of its exchange document into each turn; all of them are on record then. Gives how
/// many have none: of several turns, those that are erased stay without.
///
/// # Errors
/// One that can't be opened, before anything is on record.
async fn prove(
    opened: &OpenHome,
    key: Hash32,
    turns: &mut [ExportTurn],
    is_named: bool,
) -> Result<u64, TraceExportError> {
    let mut planned = Vec::new();
    for (n, one) in turns.iter().enumerate() {
        if one.turn.is_gone && !is_named {
            continue;
        }
        let exchange = one.turn.facts.exchange;
        let request = OpeningRequest {
            session: Some(exchange.to_string()),
            texts: vec![TurnText::Exchange],
            ..OpeningRequest::default()
        };
        let unproven = |error| unproven(&opened.store, exchange, error);
        planned.push((n, opening::plan(opened, &request).map_err(unproven)?));
    }
    let without = turns.len() - planned.len();
    for (n, planned) in planned {
        let exchange = turns[n].turn.facts.exchange;
        let unproven = |error| unproven(&opened.store, exchange, error);
        let opening = open_planned(opened, key, planned).await.map_err(unproven)?;
        turns[n].proof = Some(opening.file);
    }
    Ok(without as u64)
}

fn unproven(store: &ReadStore, exchange: Uuid, error: OpenTextsError) -> TraceExportError {
    match error {
        OpenTextsError::Refused(why) => TraceExportError::Refused(sentence![
            format!("there is no proof for {}: ", name_of(store, exchange)),
            why
        ]),
        OpenTextsError::Failed(error) => TraceExportError::Failed(error),
    }
}

/// What one turn becomes.
enum ExportPart {
    Line(String),
    Trace(Box<Trace>, Option<Seconds>),
}

/// Makes it; reads nothing, so that all cores can.
fn part(
    origin: &str,
    request: &ExportRequest,
    keys: &ExportKeys<'_>,
    one: &ExportTurn,
) -> Result<ExportPart, UnmadeTrace> {
    let turn = &one.turn;
    let recorded = turn.recorded.as_ref();
    let (mapping, built) = build(turn, request.trace)?;
    let absent = built.absent.clone();
    let trace = keys.sign(built)?;
    match request.form {
        ExportForm::Trace => return Ok(ExportPart::Line(trace.print() + "\n")),
        ExportForm::Batch(_) => {
            let consent = one.consent.as_ref();
            let terms = consent.and_then(|consent| consent.terms.as_ref());
            let given = terms.map(|terms| terms.at);
            return Ok(ExportPart::Trace(Box::new(trace), given));
        }
        ExportForm::Envelope => {}
    }
    let is_committed = request.trace.level == TraceLevel::Generic
        && request.trace.profile == TraceProfile::SevenComponents;
    let head = EnvelopeHead {
        absent,
        committed: recorded
            .and_then(|recorded| recorded.committed)
            .filter(|_| is_committed),
        consent: one.consent.as_ref().map(|consent| consent.id.clone()),
        exchange: turn.facts.exchange,
        format: Format,
        kind: EnvelopeKind::Trace,
        line: turn.line,
        mapping,
        origin: origin.to_owned(),
        prompt_line: turn.facts.prompt_line,
        proof: one.proof.clone(),
        seq: turn.facts.seq,
        session_id: turn.session,
        sha256: Hash32::digest(&trace.unsigned.signed_bytes()),
    };
    let envelope = keys.bind(head, trace)?;
    let printed = envelope.print().map_err(UnmadeTrace::rows)?;
    Ok(ExportPart::Line(printed))
}

/// The file as it grows.
struct ExportLines {
    text: String,
    form: ExportForm,
    level: TraceLevel,
    now: Seconds,
    batch: Vec<Trace>,
    /// When the newest consent of the batch was given.
    consent: Option<Seconds>,
}

impl ExportLines {
    fn new(form: ExportForm, level: TraceLevel, now: Seconds) -> ExportLines {
        ExportLines {
            text: String::new(),
            form,
            level,
            now,
            batch: Vec::new(),
            consent: None,
        }
    }

    fn take(&mut self, part: ExportPart) -> Result<(), TraceExportError> {
        match part {
            ExportPart::Line(line) => self.text.push_str(&line),
            ExportPart::Trace(trace, consent) => {
                self.batch.push(*trace);
                self.consent = self.consent.max(consent);
            }
        }
        match self.form {
            ExportForm::Batch(most) if self.batch.len() >= most => self.end_batch(),
            _ => {}
        }
        match self.text.len() > MAX_TRACE_FILE {
            true => because(format!(
                "the file would have more than {MAX_TRACE_FILE} bytes (64 MiB), which nobody reads; export less at once, such as a session at a time"
            )),
            false => Ok(()),
        }
    }

    fn end_batch(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let traces = std::mem::take(&mut self.batch);
        let batch = TraceBatch::new(traces, self.level, self.now, self.consent.take());
        self.text.push_str(&batch.print());
        self.text.push('\n');
    }

    fn finish(mut self) -> Result<String, TraceExportError> {
        self.end_batch();
        match self.text.len() > MAX_TRACE_FILE {
            true => because("the file would have more than 64 MiB; export less at once"),
            false => Ok(self.text),
        }
    }
}

/// Puts an export on record, in the name of an auth key; durably before this returns.
///
/// # Errors
/// A consent that is withdrawn, over or erased by now.
pub async fn record(
    opened: &OpenHome,
    key: Hash32,
    planned: PlannedExport,
) -> Result<NewExport, TraceExportError> {
    let now = open::clock()?;
    let (needs, seen_lines) = (planned.needs.clone(), planned.seen_lines);
    let again = needs.clone();
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        let why = not_any_more(store, seen_lines, &needs, now)?;
        Ok(why.map(|_| NOT_COVERED.to_owned()))
    };
    let words = |words: Vec<String>| {
        let words = words.into_iter().map(ArtifactField::Word);
        ArtifactField::List(words.collect())
    };
    let exchanges = planned.exchanges.iter().map(Uuid::to_string).collect();
    let new = NewArtifact {
        kind: TRACE_EXPORT,
        id: ArtifactId::Next { prefix: EXPORT },
        content: vec![
            ("by", ArtifactField::Hash(key)),
            ("consent", words(planned.consents.clone())),
            ("exchanges", words(exchanges)),
            ("key_id", ArtifactField::Word(planned.key_id.clone())),
            (
                "level",
                ArtifactField::Word(planned.trace.level.name().to_owned()),
            ),
            (
                "profile",
                ArtifactField::Word(planned.trace.profile.name().to_owned()),
            ),
            ("sha256", ArtifactField::Hash(planned.sha256)),
        ],
        session: None,
        salt: fresh_salt()?,
        now,
    };
    match opened.recorder.artifact(new, allowed).await {
        Ok(recorded) => Ok(NewExport {
            id: recorded.document.id,
            planned,
        }),
        Err(error @ RecorderError::NotAllowed { .. }) => {
            // What is withdrawn or erased stays so.
            match not_any_more(&opened.store, seen_lines, &again, now)? {
                Some(why) => Err(TraceExportError::NoConsent(why)),
                None => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// What the recorder is told where an export must not be recorded.
const NOT_COVERED: &str = "no consent covers it any more";

/// Why what was read before so many lines must not be handed on any more: a consent to it has ended,
/// or it may hold what is erased by now.
fn not_any_more(
    store: &ReadStore,
    seen_lines: u64,
    needs: &[(String, ConsentNeed)],
    now: Seconds,
) -> Result<Option<NoConsent>, StoreError> {
    let stones = store.artifacts(ArtifactFilter::Kind(TOMBSTONE))?;
    if stones.iter().any(|stone| stone.line >= seen_lines) {
        return Ok(Some(NoConsent::ErasedMeanwhile));
    }
    still_covered(store, needs, now)
}
