//! What the record of this machine says of a trace: whether its exchange is on record, whether the
//! same trace is built again, whether there is a consent.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::audit::trace_facts::{TraceFactsReader, TraceLookup, TurnTrace};
use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::ledger::consent::{Consent, Consents};
use crate::record::ledger::short_name::short_name;
use crate::record::signature::PublicKey;
use crate::record::trace::envelope::EnvelopeHead;
use crate::record::trace::field::{TraceField, profile_of};
use crate::record::trace::level::{Absence, TraceLevel, TraceProfile};
use crate::record::trace::mapping::{
    TraceMapping, TraceRequest, agent_id_hash, thought_id, trace_id,
};
use crate::record::trace::signed::{Trace, UnsignedTrace};
use crate::record::trace::value::TraceValue;
use crate::store::Store;
use crate::verify::QuestionVerdict;

use super::export::{mapping_of, need_of};
use super::key;
use super::verify::{no, not_checked, yes};
use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::consent::consents;
use crate::app::prove::verify::target::own_signers;

/// The record of a home, to compare traces with.
pub(super) struct OwnRecord<'a> {
    reader: TraceFactsReader<'a>,
    consents: Consents,
    /// The keys that traces and envelopes of this home may be signed with.
    pub keys: Vec<PublicKey>,
}

/// Two answers: *on record*, and *same*.
pub(super) type OwnVerdicts = (QuestionVerdict, QuestionVerdict);

impl<'a> OwnRecord<'a> {
    /// The record in a home's database.
    pub fn of(home: &Home, store: &'a Store) -> Result<OwnRecord<'a>, OpenHomeError> {
        // Without them a trace is asked for its key; that is no reason to look at nothing.
        let mut keys = own_signers(home.root()).unwrap_or_default();
        let own = open::config(home).map_err(OpenHomeError::from);
        let own = own.and_then(|config| key::public(&config, || Ok(store.head()?.signer)));
        keys.extend(own.ok().filter(|key| !keys.contains(key)));
        Ok(OwnRecord {
            consents: consents(store)?,
            reader: TraceFactsReader::new(store)?,
            keys,
        })
    }

    /// The exchange that a trace says it is of.
    ///
    /// # Errors
    /// What is answered where it is not here.
    fn find(&self, exchange: Uuid, level: TraceLevel) -> Result<Box<TurnTrace>, OwnVerdicts> {
        match self.reader.facts_of(exchange, level) {
            Ok(TraceLookup::Found(found)) => Ok(found),
            Ok(TraceLookup::Waits | TraceLookup::NoSuchExchange) => Err(unknown()),
            Err(e) => Err((
                not_checked(e.to_string()),
                not_checked("this home can't be read"),
            )),
        }
    }

    fn origin(&self) -> &str {
        &self.reader.genesis().origin
    }

    /// *On record* and *same* of an envelope.
    pub fn judge(&self, head: &EnvelopeHead, trace: &Trace) -> OwnVerdicts {
        if head.origin != self.origin() {
            return of_another_ledger();
        }
        let found = match self.find(head.exchange, trace.unsigned.trace_level) {
            Ok(found) => found,
            Err(answers) => return answers,
        };
        let is_committed = |value| {
            let recorded = found.recorded.as_ref();
            recorded.is_some_and(|recorded| recorded.commitment == value)
        };
        let differing = [
            (found.session == head.session_id, "session"),
            (found.facts.seq == head.seq, "number in its session"),
            (found.facts.prompt_line == head.prompt_line, "prompt's line"),
            (found.line == head.line, "outcome's line"),
            (
                head.committed.is_none_or(|said| is_committed(said.value)),
                "commitment to its trace",
            ),
        ];
        let profile = profile_of(&trace.unsigned, &head.absent);
        self.verdicts(&found, &differing, trace, (Some(head.mapping), profile))
    }

    /// The same of a trace without an envelope.
    pub fn judge_alone(&self, trace: &Trace) -> OwnVerdicts {
        let said = &trace.unsigned;
        if said.agent_id_hash != agent_id_hash(self.origin()) {
            return of_another_ledger();
        }
        let id = said.thought_id.strip_prefix("th_");
        let Some(id) = id.and_then(|id| id.parse().ok()) else {
            return unknown();
        };
        let found = match self.find(id, said.trace_level) {
            Ok(found) => found,
            Err(answers) => return answers,
        };
        let profile = profile_of(said, &BTreeMap::new());
        let line = TraceValue::text(found.facts.prompt_line.to_string());
        let (asked_at, answered_at) = (found.facts.asked_at, found.facts.answered_at);
        let differing = [
            (said.thought_id == thought_id(id), "thought_id"),
            (said.trace_id == trace_id(id, asked_at), "trace_id"),
            (said.started_at == asked_at.to_string(), "started_at"),
            (said.completed_at == answered_at.to_string(), "completed_at"),
            (
                TraceField::AuditEntryHash.find(profile, said) == Some(&line),
                "audit_entry_hash",
            ),
        ];
        let mapping = mapping_of(&found).ok();
        self.verdicts(&found, &differing, trace, (mapping, profile))
    }

    /// Both answers, where these parts are as they are here, or not.
    fn verdicts(
        &self,
        found: &TurnTrace,
        parts: &[(bool, &str)],
        trace: &Trace,
        (mapping, profile): (Option<TraceMapping>, TraceProfile),
    ) -> OwnVerdicts {
        match parts.iter().find(|(is_same, _)| !is_same) {
            Some((_, what)) => (
                no(format!("the exchange has another {what} here")),
                not_checked("it is not as it is on record"),
            ),
            None => {
                let same = match mapping {
                    Some(mapping) => same(found, trace, mapping, profile),
                    None => not_checked("how it was made is of a later gently: ask that one"),
                };
                (yes("in this home's log"), same)
            }
        }
    }

    /// Whether the consent that an envelope names is on record and covered its exchange.
    pub fn judge_consent(
        &self,
        head: &EnvelopeHead,
        level: TraceLevel,
        id: &str,
    ) -> QuestionVerdict {
        let short = short_name(id);
        if head.origin != self.origin() {
            return not_checked(format!("it names {short} of another ledger"));
        }
        let Some(consent) = self.consents.get(id) else {
            return no(format!("this home has no {short}"));
        };
        let need = match self.find(head.exchange, TraceLevel::Generic) {
            Ok(found) => need_of(&found, level),
            Err((on_record, _)) => return on_record,
        };
        // What was handed on while it was in force stays so.
        let given = Consent {
            withdrawn: None,
            ..consent.clone()
        };
        let Some(terms) = &given.terms else {
            return not_checked(format!("what {short} said is erased"));
        };
        match (given.covers(need, terms.at), consent.withdrawn) {
            (Err(gap), _) => no(format!("{short} does not cover it: {}", gap.words())),
            (Ok(()), Some(_)) => yes(format!("{short}, which is withdrawn by now")),
            (Ok(()), None) => yes(short),
        }
    }
}

/// Whether the rows of this home give the same signed bytes.
fn same(
    found: &TurnTrace,
    trace: &Trace,
    mapping: TraceMapping,
    profile: TraceProfile,
) -> QuestionVerdict {
    let said = Hash32::digest(&trace.unsigned.signed_bytes());
    let mut absent = BTreeMap::new();
    for withheld_too in [false, true] {
        let request = TraceRequest {
            level: trace.unsigned.trace_level,
            profile,
            withheld_too,
        };
        match mapping.build(&found.facts, request) {
            Ok(built) if Hash32::digest(&built.trace.signed_bytes()) == said => {
                return yes("this home builds it again, byte for byte");
            }
            Ok(built) => absent = built.absent,
            Err(why) => return not_checked(format!("it can't be built again here: {why}")),
        }
    }
    let mut gone = absent
        .iter()
        .filter(|(_, absence)| **absence == Absence::Erased);
    match gone.any(|(path, _)| shows(&trace.unsigned, profile, path)) {
        true => not_checked("what it shows is erased here by now"),
        false => no("this home builds another trace of this exchange"),
    }
}

/// Whether a trace has something in a place, as envelopes name those.
fn shows(trace: &UnsignedTrace, profile: TraceProfile, path: &str) -> bool {
    let mut fields = TraceField::ALL.iter();
    let field = fields.find(|field| field.place(profile).path() == path);
    field.is_some_and(|field| field.find(profile, trace).is_some())
}

fn of_another_ledger() -> OwnVerdicts {
    const OTHER: &str = "it is of another ledger than this home's";
    (not_checked(OTHER), not_checked(OTHER))
}

fn unknown() -> OwnVerdicts {
    (
        no("this home has no such exchange with an outcome"),
        not_checked("there is nothing to build it from"),
    )
}
