//! What the record of this machine says of a trace: whether its exchange is on record, whether the
//! same trace is built again, whether there is a consent.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use uuid::Uuid;

use crate::audit::trace_facts::{TraceFactsReader, TraceLookup, TraceSource};
use crate::home::Home;
use crate::record::ledger::consent::{CONSENT, CONSENT_WITHDRAWN, Consent, ConsentNeed, Consents};
use crate::record::ledger::short_name::short_name;
use crate::record::signature::PublicKey;
use crate::record::trace::envelope::EnvelopeHead;
use crate::record::trace::export::TRACE_EXPORT;
use crate::record::trace::facts::TraceFacts;
use crate::record::trace::field::{TraceField, profile_of};
use crate::record::trace::level::{Absence, TraceLevel, TraceProfile};
use crate::record::trace::mapping::{
    TraceMapping, TraceRequest, agent_id_hash, task_id, thought_id, trace_id,
};
use crate::record::trace::signed::{Trace, UnsignedTrace, key_id};
use crate::record::trace::value::TraceValue;
use crate::store::{Store, StoreError};
use crate::verify::CheckVerdict;

use super::consent_cover::needs_of;
use super::export::{changed_rows, mapping_of};
use super::key;
use super::verify::{no, not_checked, yes};
use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::show::RecordCheck;
use crate::app::prove::consent::consents;
use crate::app::prove::handed_on::{RecordedExport, RecordedExports, exports};
use crate::app::prove::recorded_artifacts::unrecorded;
use crate::app::prove::verify::target::own_signers;

/// What stands in the line of a key rotation.
const ROTATION: &str = "|key_rotate|";

/// The record of a home, to compare traces with.
pub(super) struct HomeRecord<'a> {
    store: &'a Store,
    reader: TraceFactsReader<'a>,
    record: RecordCheck<'a>,
    consents: Consents,
    exports: RecordedExports,
    /// Why nothing is believed of consents and exports, once that was looked up.
    unrecorded: OnceCell<Option<String>>,
    /// The keys that traces and envelopes of this home may be signed with.
    pub keys: Vec<PublicKey>,
    /// The ledger's keys in the order in which they came into force, but the newest: each with the
    /// line, from 0, behind which it signs nothing.
    retired: Vec<(PublicKey, u64)>,
}

/// Two answers: *on record*, and *same*.
pub(super) type OwnVerdicts = (CheckVerdict, CheckVerdict);

/// How a trace was made, as far as it is known.
struct TraceMaking<'a> {
    mapping: Option<TraceMapping>,
    profile: TraceProfile,
    /// Why fields are absent, as an envelope says; none of a trace without one.
    absent: Option<&'a BTreeMap<String, Absence>>,
}

impl<'a> HomeRecord<'a> {
    /// The record in a home's database.
    pub fn of(home: &Home, store: &'a Store) -> Result<HomeRecord<'a>, OpenHomeError> {
        // Without them a trace is asked for its key; that is no reason to look at nothing.
        let ledger = own_signers(home.root()).unwrap_or_default();
        let retired = match ledger.len() {
            0 | 1 => Vec::new(),
            _ => retired(store, &ledger)?,
        };
        let mut keys = ledger;
        let own = open::config(home).map_err(OpenHomeError::from);
        let own = own.and_then(|config| key::public(&config, || Ok(store.head()?.signer)));
        keys.extend(own.ok().filter(|key| !keys.contains(key)));
        Ok(HomeRecord {
            store,
            consents: consents(store)?,
            exports: exports(store)?,
            unrecorded: OnceCell::new(),
            reader: TraceFactsReader::new(store)?,
            record: RecordCheck::new(store)?,
            keys,
            retired,
        })
    }

    /// The exchange that a trace says it is of.
    ///
    /// # Errors
    /// What is answered where it is not here.
    fn find(&self, exchange: Uuid, level: TraceLevel) -> Result<Box<TraceSource>, OwnVerdicts> {
        match self.reader.facts_of(exchange, level) {
            Ok(TraceLookup::Found(found)) => Ok(found),
            Ok(TraceLookup::Waits | TraceLookup::NoSuchExchange) => Err(unknown()),
            Err(e) => Err((
                not_checked(e.to_string()),
                not_checked("this home can't be read"),
            )),
        }
    }

    /// How screens call the exchange that a trace is of.
    pub fn name_of(&self, trace: &Trace) -> Option<String> {
        find::short_id_of(self.store, exchange_of(trace)?)
            .ok()
            .flatten()
    }

    fn origin(&self) -> &str {
        &self.reader.genesis().origin
    }

    /// Why an envelope of this home's ledger can't be by its signer; none where it can.
    pub fn refuses_signer(&self, head: &EnvelopeHead, signer: PublicKey) -> Option<String> {
        if head.origin != self.origin() {
            return None;
        }
        if !self.keys.contains(&signer) {
            let name = signer.fingerprint();
            return Some(format!(
                "it is by {name}, which is no key of this home's ledger"
            ));
        }
        self.replaced_before(head.exchange, |key| *key == signer)
    }

    /// Why a trace of this home can't be by the key that it names; none where it can.
    pub fn refuses_key(&self, trace: &Trace) -> Option<String> {
        let is_named = |key: &PublicKey| key_id(key) == trace.signature_key_id;
        self.replaced_before(exchange_of(trace)?, is_named)
    }

    /// That a key of the ledger was replaced before an exchange was asked.
    fn replaced_before(
        &self,
        exchange: Uuid,
        is_it: impl Fn(&PublicKey) -> bool,
    ) -> Option<String> {
        let (key, last) = self.retired.iter().find(|(key, _)| is_it(key))?;
        let asked = self.find(exchange, TraceLevel::Generic).ok()?;
        let is_later = asked.facts.prompt_number.saturating_sub(1) > *last;
        is_later.then(|| {
            let name = key.fingerprint();
            format!("it is by {name}, which was replaced before this was asked")
        })
    }

    /// Whether the commitment of an envelope that is as it is on record is that of its exchange here.
    pub fn has_committed(&self, head: &EnvelopeHead) -> bool {
        let row = self.store.exchange(head.exchange).ok().flatten();
        let measured = row.and_then(|row| self.store.measures(&row).ok().flatten());
        let said = head.committed.map(|committed| committed.value);
        measured.is_some_and(|measured| said == Some(measured.trace_commitment))
    }

    /// *On record* and *same* of an envelope.
    pub fn judge(&self, head: &EnvelopeHead, trace: &Trace) -> OwnVerdicts {
        if head.origin != self.origin() {
            return of_another_ledger();
        }
        let said = &trace.unsigned;
        let found = match self.find(head.exchange, said.trace_level) {
            Ok(found) => found,
            Err(answers) => return answers,
        };
        let profile = profile_of(said, &head.absent);
        let mut differing = vec![
            (found.session == head.session_id, "session"),
            (found.facts.seq == head.seq, "number in its session"),
            (found.facts.prompt_line == head.prompt_line, "prompt's line"),
            (found.line == head.line, "outcome's line"),
            (
                is_committed(&found, head, (said.trace_level, profile)),
                "commitment to its trace",
            ),
        ];
        differing.extend(named_parts(&found.facts, said));
        let making = TraceMaking {
            mapping: Some(head.mapping),
            profile,
            absent: Some(&head.absent),
        };
        self.verdicts(&found, &differing, trace, &making)
    }

    /// The same of a trace without an envelope.
    pub fn judge_alone(&self, trace: &Trace) -> OwnVerdicts {
        let said = &trace.unsigned;
        if said.agent_id_hash != agent_id_hash(self.origin()) {
            return of_another_ledger();
        }
        let Some(id) = exchange_of(trace) else {
            return unknown();
        };
        let found = match self.find(id, said.trace_level) {
            Ok(found) => found,
            Err(answers) => return answers,
        };
        let profile = profile_of(said, &BTreeMap::new());
        let line = TraceValue::text(found.facts.prompt_line.to_string());
        let mut differing = vec![
            (said.thought_id == thought_id(id), "thought_id"),
            (
                TraceField::AuditEntryHash.find(profile, said) == Some(&line),
                "audit_entry_hash",
            ),
        ];
        differing.extend(named_parts(&found.facts, said));
        let making = TraceMaking {
            mapping: mapping_of(&found).ok(),
            profile,
            absent: None,
        };
        self.verdicts(&found, &differing, trace, &making)
    }

    /// Both answers, where these parts are as they are here, or not.
    fn verdicts(
        &self,
        found: &TraceSource,
        parts: &[(bool, &str)],
        trace: &Trace,
        making: &TraceMaking<'_>,
    ) -> OwnVerdicts {
        if let Some((_, what)) = parts.iter().find(|(is_same, _)| !is_same) {
            return (
                no(format!("the exchange has another {what} here")),
                not_checked("it is not as it is on record"),
            );
        }
        let same = match self.changed_here(found) {
            Ok(changed) if changed.is_empty() => same(found, trace, making),
            Ok(changed) => no(format!(
                "what this home has of the exchange is not as it was recorded ({}): gently audit verify",
                changed.join(", ")
            )),
            Err(e) => not_checked(e.to_string()),
        };
        (yes("in this home's log"), same)
    }

    /// What of an exchange is not as it was recorded.
    fn changed_here(&self, found: &TraceSource) -> Result<Vec<&'static str>, StoreError> {
        let row = self.store.exchange(found.facts.exchange)?;
        row.map_or(Ok(Vec::new()), |row| {
            changed_rows(&self.record, &row, found)
        })
    }

    /// Whether the trace was handed on under the consent that its envelope names: an export of it is on
    /// record, while the consents to all that it shows were in force.
    pub fn judge_consent(&self, head: &EnvelopeHead, id: &str) -> CheckVerdict {
        let short = short_name(id);
        if head.origin != self.origin() {
            return not_checked(format!("it names {short} of another ledger"));
        }
        let unrecorded = self
            .unrecorded
            .get_or_init(|| unrecorded_consents(self.store));
        if let Some(why) = unrecorded {
            return no(why.clone());
        }
        let Some(consent) = self.consents.get(id) else {
            return no(format!("this home has no {short}"));
        };
        let Some(terms) = &consent.terms else {
            return not_checked(format!("what {short} said is erased"));
        };
        let found = match self.find(head.exchange, TraceLevel::FullTraces) {
            Ok(found) => found,
            Err((on_record, _)) => return on_record,
        };
        let needs = match needs_of(self.store, &found) {
            Ok(needs) => needs,
            Err(e) => return not_checked(e.to_string()),
        };
        let is_of = |export: &&RecordedExport| {
            export.export.level == TraceLevel::FullTraces
                && export.export.exchanges.contains(&head.exchange)
                && export.export.consent.iter().any(|under| under == id)
        };
        let mut exports = self.exports.told.iter().filter(is_of).peekable();
        if exports.peek().is_none() {
            return match self.exports.untold.as_slice() {
                [] => no(format!("no export of it under {short} is on record")),
                _ => not_checked(format!(
                    "no export of it under {short} is on record; what others say is erased"
                )),
            };
        }
        let mut why = String::new();
        for export in exports {
            match self.gap_at(export, &needs) {
                None if consent.withdrawn.is_some() => {
                    return yes(format!("{short}, which is withdrawn by now"));
                }
                None => return yes(format!("{short}, given {}", terms.at)),
                Some(gap) => why = gap,
            }
        }
        no(why)
    }

    /// What no consent that an export names covered when it was made; none where all was.
    fn gap_at(&self, export: &RecordedExport, needs: &[ConsentNeed]) -> Option<String> {
        let short = short_name(&export.id);
        let Some(at) = export.at else {
            return Some(format!("the line of {short} can't be read"));
        };
        let then = |consent: &Consent| Consent {
            withdrawn: consent.withdrawn.filter(|gone| gone.line < export.line),
            ..consent.clone()
        };
        let named = export.export.consent.iter();
        let given: Vec<Consent> = named
            .filter_map(|id| self.consents.get(id))
            .filter(|consent| consent.line < export.line)
            .map(then)
            .collect();
        let covers = |need: &ConsentNeed| given.iter().any(|one| one.covers(*need, at).is_ok());
        match needs.iter().all(covers) {
            true => None,
            false => Some(format!(
                "no consent covered all that it shows when {short} was made"
            )),
        }
    }
}

/// What of consents and exports is not as the log has it.
fn unrecorded_consents(store: &Store) -> Option<String> {
    let mut kinds = [CONSENT, CONSENT_WITHDRAWN, TRACE_EXPORT].into_iter();
    kinds.find_map(|kind| match unrecorded(store, kind) {
        Ok(None) => None,
        Ok(Some(line)) => Some(format!(
            "this home has another {kind} than line {} of its log: gently audit verify",
            line + 1
        )),
        Err(e) => Some(e.to_string()),
    })
}

/// The keys that were replaced, each with the line of what replaced it.
fn retired(store: &Store, keys: &[PublicKey]) -> Result<Vec<(PublicKey, u64)>, StoreError> {
    let mut lines = Vec::new();
    store.each_audit_line(&mut |line| {
        if line.line.contains(ROTATION) {
            lines.push(line.n);
        }
        ControlFlow::Continue(())
    })?;
    Ok(keys.iter().copied().zip(lines).collect())
}

/// What an exchange's ids and times are here, against what a trace says.
fn named_parts(facts: &TraceFacts, said: &UnsignedTrace) -> [(bool, &'static str); 5] {
    let task = facts.thread.map(task_id);
    [
        (
            said.trace_id == trace_id(facts.exchange, facts.asked_at),
            "trace_id",
        ),
        (said.started_at == facts.asked_at.to_string(), "started_at"),
        (
            said.completed_at == facts.answered_at.to_string(),
            "completed_at",
        ),
        // Of what was taken over from a ledger alone nobody knows the thread.
        (task.is_err() || said.task_id == task.ok(), "task_id"),
        (said.others.is_empty(), "set of members"),
    ]
}

/// Whether an envelope names the commitment that is on record, where one of its form is to.
fn is_committed(
    found: &TraceSource,
    head: &EnvelopeHead,
    (level, profile): (TraceLevel, TraceProfile),
) -> bool {
    let is_form = level == TraceLevel::Generic && profile == TraceProfile::SevenComponents;
    let said = head.committed;
    match &found.recorded {
        // Nobody knows any more what the document committed to.
        None if found.is_gone => true,
        None => said.is_none(),
        Some(_) if !is_form => said.is_none(),
        Some(recorded) => said == recorded.committed,
    }
}

/// Whether the rows of this home give the same signed bytes, but for what is erased here by now.
fn same(found: &TraceSource, trace: &Trace, making: &TraceMaking<'_>) -> CheckVerdict {
    const LATER: &str = "how it was made is of a later gently: ask that one";
    let Some(mapping) = making.mapping else {
        return not_checked(LATER);
    };
    let mut erased = None;
    for withheld_too in [false, true] {
        let request = TraceRequest {
            level: trace.unsigned.trace_level,
            profile: making.profile,
            withheld_too,
        };
        let built = match mapping.build(&found.facts, request) {
            Ok(built) => built,
            Err(why) => return not_checked(format!("it can't be built again here: {why}")),
        };
        let gone = gone_fields(&built.absent, making.profile);
        let (left, missing) = without(&trace.unsigned, &gone, making.profile);
        if left.signed_bytes() != built.trace.signed_bytes() {
            continue;
        }
        if let Some(path) = other_reason(making.absent, &built.absent) {
            return no(format!("this home has another reason for {path}"));
        }
        match missing {
            0 => return yes("this home builds it again, byte for byte"),
            missing => erased = Some(missing),
        }
    }
    match erased {
        Some(missing) => not_checked(format!(
            "{missing} of its fields can't be compared: what they show is erased here by now; all others are the same"
        )),
        None => no("this home builds another trace of this exchange"),
    }
}

/// The fields that are erased here.
fn gone_fields(absent: &BTreeMap<String, Absence>, profile: TraceProfile) -> Vec<TraceField> {
    let fields = TraceField::ALL.iter().copied();
    fields
        .filter(|field| absent.get(&field.place(profile).path()) == Some(&Absence::Erased))
        .collect()
}

/// A trace without these fields, and how many of them it had.
fn without(
    trace: &UnsignedTrace,
    fields: &[TraceField],
    profile: TraceProfile,
) -> (UnsignedTrace, usize) {
    let mut left = trace.clone();
    let taken = fields.iter().filter(|field| field.take(profile, &mut left));
    let taken = taken.count();
    (left, taken)
}

/// A field that an envelope says is absent for another reason than here; what is erased here by now may
/// have had any.
fn other_reason<'a>(
    said: Option<&'a BTreeMap<String, Absence>>,
    here: &BTreeMap<String, Absence>,
) -> Option<&'a str> {
    let mut said = said?.iter();
    let is_other = |(path, code): &(&String, &Absence)| match here.get(*path) {
        Some(Absence::Erased) => false,
        found => found != Some(*code),
    };
    said.find(is_other).map(|(path, _)| path.as_str())
}

/// The exchange that a trace names.
fn exchange_of(trace: &Trace) -> Option<Uuid> {
    let id = trace.unsigned.thought_id.strip_prefix("th_")?;
    id.parse().ok()
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
