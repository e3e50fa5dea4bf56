//! The proof in an envelope: whether it leads from the trace to a signed tree head, and whether the
//! exchange document that it opens says what the trace says.

use serde_json::Value;

use crate::app::prove::verify::opening::opened;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Role;
use crate::record::ledger::exchange::ExchangeDoc;
use crate::record::ledger::opening::{Document, OpeningFile};
use crate::record::signature::PublicKey;
use crate::record::trace::document::difference;
use crate::record::trace::envelope::{Envelope, EnvelopeHead};
use crate::verify::{
    CheckAnswer, CheckVerdict, OpeningQuestion, OpeningReport, Trust, check_opening,
};

use super::verify::{no, not_checked, yes};

/// What a proof shows.
pub(super) struct ProofResult {
    pub verdict: CheckVerdict,
    /// The commitment to the trace in the exchange document; none where that has none.
    pub commitment: Option<Hash32>,
}

impl ProofResult {
    fn without_document(verdict: CheckVerdict) -> ProofResult {
        ProofResult {
            verdict,
            commitment: None,
        }
    }
}

/// Whether the proof leads from the trace to a signed tree head, by one of these keys where there are
/// any, and its exchange document says what the trace says.
pub(super) fn by_proof(
    envelope: &Envelope,
    proof: &OpeningFile,
    pinned: &[PublicKey],
) -> ProofResult {
    let trust = Trust {
        pinned: Some(pinned).filter(|keys| !keys.is_empty()),
        ..Trust::default()
    };
    let report = check_opening(proof, trust);
    if let Some(why) = refused(envelope, &report) {
        return ProofResult::without_document(no(why));
    }
    let Some(document) = exchange_in(&envelope.head, proof) else {
        return ProofResult::without_document(no("the proof is of another exchange"));
    };
    match serde_json::from_value::<ExchangeDoc>(document) {
        Ok(document) => ProofResult {
            verdict: held_against(envelope, &document, &report),
            commitment: document.trace.map(|trace| trace.commitment),
        },
        Err(e) => ProofResult::without_document(unread(&e)),
    }
}

/// Why a proof proves nothing of an envelope; none where it may.
fn refused(envelope: &Envelope, report: &OpeningReport) -> Option<String> {
    if !report.opens() {
        let first = report.findings.first();
        let why = first.map_or("", |first| first.place.as_str());
        return Some(format!("the proof does not hold: {why}"));
    }
    let is_other = report.signer != Some(envelope.signer);
    is_other.then(|| "the proof is of another ledger's key than the envelope".to_owned())
}

/// Whether the document says what envelope and trace say, and where the proof leads.
fn held_against(
    envelope: &Envelope,
    document: &ExchangeDoc,
    report: &OpeningReport,
) -> CheckVerdict {
    match difference(&envelope.head, &envelope.trace.unsigned, document) {
        Ok(None) => {}
        Ok(Some(found)) => return no(format!("what the proof opens says otherwise: {found}")),
        Err(e) => return unread(&e),
    }
    let since = report.to(OpeningQuestion::NotBefore);
    let mut words = "the proof leads to a signed tree head".to_owned();
    if since.answer == CheckAnswer::Yes {
        words.push_str(&format!(", and on from there: {}", since.reason));
    }
    yes(words)
}

/// A document that holds, and of which nothing can be compared.
fn unread(fault: &dyn std::fmt::Display) -> CheckVerdict {
    not_checked(format!(
        "the exchange document in the proof is not of this gently's form, so that the trace was not held \
         against it ({fault}): ask a later gently"
    ))
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
