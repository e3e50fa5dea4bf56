//! What the record of this machine says of a trace: whether its exchange is on record, whether the
//! same trace is built again, whether there is a consent.

use uuid::Uuid;

use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::ledger::consent::{Consent, Consents};
use crate::record::ledger::short_name::short_name;
use crate::record::log::entry::Line;
use crate::record::signature::PublicKey;
use crate::record::trace::envelope::Envelope;
use crate::record::trace::field::{TraceField, profile_of};
use crate::record::trace::level::{Absence, TraceProfile};
use crate::record::trace::mapping::{
    TraceMapping, TraceRequest, agent_id_hash, thought_id, trace_id,
};
use crate::record::trace::signed::{Trace, UnsignedTrace};
use crate::record::trace::value::TraceValue;
use crate::store::{ExchangeRow, SessionRow, Store, StoreError};
use crate::verify::QuestionVerdict;

use super::facts::facts_of;
use super::key;
use super::verify::{no, not_checked, yes};
use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::consent::{consents, need_of};
use crate::app::prove::verify::target::own_signers;

/// The record of a home, to compare traces with.
pub struct OwnRecord {
    store: Store,
    origin: String,
    consents: Consents,
    /// The keys that traces and envelopes of this home may be signed with.
    pub(super) keys: Vec<PublicKey>,
}

/// An exchange with an outcome, by its rows and lines.
struct OwnExchange {
    row: ExchangeRow,
    session: SessionRow,
    prompt: Line,
    outcome: Line,
}

impl OwnRecord {
    /// Opens the record of a home for reading.
    pub fn open(home: &Home) -> Result<OwnRecord, OpenHomeError> {
        let store = open::store(home)?;
        store.begin_read()?;
        let origin = Home::genesis(&store)?.origin;
        // Without them a trace is asked for its key; that is no reason to look at nothing.
        let mut keys = own_signers(home.root()).unwrap_or_default();
        let own = open::config(home).map_err(OpenHomeError::from);
        let own = own.and_then(|config| key::public(&config, || Ok(store.head()?.signer)));
        keys.extend(own.ok().filter(|key| !keys.contains(key)));
        Ok(OwnRecord {
            consents: consents(&store)?,
            origin,
            keys,
            store,
        })
    }

    fn exchange(&self, id: Uuid) -> Result<Option<OwnExchange>, StoreError> {
        let Some(row) = self.store.exchange(id)? else {
            return Ok(None);
        };
        let line = |n: u64| -> Result<Option<Line>, StoreError> {
            let text = self.store.lines(n, n + 1)?.pop();
            Ok(text.and_then(|text| Line::parse(text.as_bytes()).ok()))
        };
        let ended = row.outcome.as_ref().map(|outcome| outcome.outcome_line);
        let outcome = ended.map(line).transpose()?.flatten();
        let session = self.store.session_of(row.session)?;
        Ok(match (session, line(row.prompt_line)?, outcome) {
            (Some(session), Some(prompt), Some(outcome)) => Some(OwnExchange {
                row,
                session,
                prompt,
                outcome,
            }),
            _ => None,
        })
    }

    /// *On record* and *same* of an envelope.
    pub(super) fn judge(&self, envelope: &Envelope) -> (QuestionVerdict, QuestionVerdict) {
        let head = &envelope.head;
        if head.origin != self.origin {
            return of_another_ledger();
        }
        let found = match self.exchange(head.exchange) {
            Ok(Some(found)) => found,
            Ok(None) => return unknown(),
            Err(e) => return unreadable(&e),
        };
        for (is_same, what) in [
            (found.session.id == head.session_id, "another session"),
            (found.row.seq == head.seq, "another number in its session"),
            (
                found.prompt.hash == head.prompt_line,
                "another prompt's line",
            ),
            (found.outcome.hash == head.line, "another outcome's line"),
        ] {
            if !is_same {
                return (
                    no(format!("the exchange has {what} here")),
                    not_checked("it is not as it is on record"),
                );
            }
        }
        let profile = profile_of(&envelope.trace.unsigned, &head.absent);
        let same = self.same(&found, &envelope.trace, head.mapping, profile);
        (yes("in this home's log"), same)
    }

    /// The same of a trace without an envelope.
    pub(super) fn judge_alone(&self, trace: &Trace) -> (QuestionVerdict, QuestionVerdict) {
        let said = &trace.unsigned;
        if said.agent_id_hash != agent_id_hash(&self.origin) {
            return of_another_ledger();
        }
        let id = said.thought_id.strip_prefix("th_");
        let id: Option<Uuid> = id.and_then(|id| id.parse().ok());
        let found = match id.map(|id| self.exchange(id)) {
            Some(Ok(Some(found))) => found,
            Some(Err(e)) => return unreadable(&e),
            Some(Ok(None)) | None => return unknown(),
        };
        let id = found.row.exchange_id;
        let profile = profile_of(said, &Default::default());
        let line = TraceValue::text(found.prompt.hash.to_string());
        for (is_same, what) in [
            (said.thought_id == thought_id(id), "thought_id"),
            (said.trace_id == trace_id(id, found.prompt.time), "trace_id"),
            (
                said.started_at == found.prompt.time.to_string(),
                "started_at",
            ),
            (
                said.completed_at == found.outcome.time.to_string(),
                "completed_at",
            ),
            (
                TraceField::AuditEntryHash.find(profile, said) == Some(&line),
                "audit_entry_hash",
            ),
        ] {
            if !is_same {
                return (
                    no(format!("the exchange has another {what} here")),
                    not_checked("it is not as it is on record"),
                );
            }
        }
        let same = self.same(&found, trace, TraceMapping::NEWEST, profile);
        (yes("in this home's log"), same)
    }

    /// Whether the rows of this home give the same signed bytes.
    fn same(
        &self,
        found: &OwnExchange,
        trace: &Trace,
        mapping: TraceMapping,
        profile: TraceProfile,
    ) -> QuestionVerdict {
        let facts = match facts_of(&self.store, &found.session, &found.row) {
            Ok(facts) => facts,
            Err(why) => return not_checked(format!("it can't be built again here: {why}")),
        };
        let said = Hash32::digest(&trace.unsigned.signed_bytes());
        let mut absent = Default::default();
        for withheld_too in [false, true] {
            let request = TraceRequest {
                level: trace.unsigned.trace_level,
                profile,
                withheld_too,
            };
            match mapping.build(&facts, request) {
                Ok(built) if Hash32::digest(&built.trace.signed_bytes()) == said => {
                    return yes("this home builds it again, byte for byte");
                }
                Ok(built) => absent = built.absent,
                Err(why) => return not_checked(format!("it can't be built again here: {why}")),
            }
        }
        let shows = |path: &String| shows(&trace.unsigned, profile, path);
        let mut gone = absent
            .iter()
            .filter(|(_, absence)| **absence == Absence::Erased);
        match gone.any(|(path, _)| shows(path)) {
            true => not_checked("what it shows is erased here by now"),
            false => no("this home builds another trace of this exchange"),
        }
    }

    /// Whether the consent that an envelope names is on record and covered its exchange.
    pub(super) fn judge_consent(&self, envelope: &Envelope, id: &str) -> QuestionVerdict {
        let short = short_name(id);
        if envelope.head.origin != self.origin {
            return not_checked(format!("it names {short} of another ledger"));
        }
        let Some(consent) = self.consents.get(id) else {
            return no(format!("this home has no {short}"));
        };
        let row = match self.store.exchange(envelope.head.exchange) {
            Ok(row) => row,
            Err(e) => return not_checked(e.to_string()),
        };
        let level = envelope.trace.unsigned.trace_level;
        let need = row.map(|row| need_of(&self.store, &row, level)).transpose();
        let need = match need {
            Ok(Some(Some(need))) => need,
            Ok(_) => return no("this home has no such exchange"),
            Err(e) => return not_checked(e.to_string()),
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

/// Whether a trace has something in a place, as envelopes name those.
fn shows(trace: &UnsignedTrace, profile: TraceProfile, path: &str) -> bool {
    let mut fields = TraceField::ALL.iter();
    let field = fields.find(|field| field.place(profile).path() == path);
    field.is_some_and(|field| field.find(profile, trace).is_some())
}

fn of_another_ledger() -> (QuestionVerdict, QuestionVerdict) {
    const OTHER: &str = "it is of another ledger than this home's";
    (not_checked(OTHER), not_checked(OTHER))
}

fn unknown() -> (QuestionVerdict, QuestionVerdict) {
    (
        no("this home has no such exchange with an outcome"),
        not_checked("there is nothing to build it from"),
    )
}

fn unreadable(error: &StoreError) -> (QuestionVerdict, QuestionVerdict) {
    (
        not_checked(error.to_string()),
        not_checked("this home can't be read"),
    )
}
