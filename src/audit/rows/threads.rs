//! Every event of a turn, its context and both digests against lines, texts and configuration
//! (format, section 12 step 6).

use uuid::Uuid;

use crate::govern::sanitize::unnumbered;
use crate::record::canon;
use crate::record::context::event::{DecisionPayload, EventKind, ThreadEvent};
use crate::record::context::turn::prompt_digest;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::NamedHash;
use crate::record::ledger::exchange::{ArtifactDoc, row_id};
use crate::record::time::Seconds;
use crate::store::{ArtifactFilter, ContextRows, EventRow, ExchangeRows, ThreadRow};

use super::contexts::{ContextFault, event_again, place_of};
use super::database::RowCheck;
use super::exchange_rows::ExchangeEvidence;
use crate::verify::VerifyError;

/// What an event's row must say.
struct ExpectedRow {
    kind: EventKind,
    event: Uuid,
    line: u64,
    at: Seconds,
    bytes: Option<u64>,
}

impl ExpectedRow {
    /// The events that a turn must have left.
    fn all(rows: &ExchangeRows<'_>, context: &ContextRows) -> Vec<ExpectedRow> {
        let row = rows.exchange;
        let text = rows.user.as_ref().and_then(|turn| turn.content.as_ref());
        // Of an erased text the length is what is left.
        let known = context
            .event(EventKind::Intent)
            .and_then(|event| event.bytes);
        let bytes = text.map_or(known, |text| u64::try_from(unnumbered(text).len()).ok());
        let asked = |kind, event, bytes| ExpectedRow {
            kind,
            event,
            line: row.prompt_line,
            at: row.created_at,
            bytes,
        };
        let decision = row_id("decision", rows.session.id, row.seq);
        let mut expected = vec![
            asked(EventKind::Intent, row.turn_user, bytes),
            asked(EventKind::Decision, decision, None),
        ];
        if let Some((outcome, event)) = row.outcome.as_ref().and_then(|o| Some((o, o.turn_aurora?)))
        {
            let (line, at) = (outcome.outcome_line, outcome.answered_at);
            expected.push(ExpectedRow {
                kind: EventKind::Execution,
                event,
                line,
                at,
                bytes: None,
            });
        }
        expected
    }
}

impl RowCheck<'_> {
    /// The context of one exchange; an exchange from before threads has none, and its document says
    /// so.
    pub fn check_context(&mut self, evidence: &ExchangeEvidence<'_>) -> Result<(), VerifyError> {
        let rows = &evidence.rows;
        let Some(context) = &rows.context else {
            return Ok(());
        };
        let (id, place) = (Some(rows.session.id), rows.place());
        self.check_thread(rows, context)?;
        for expected in ExpectedRow::all(rows, context) {
            self.check_event(rows, context, &expected);
        }
        let expected = ExpectedRow::all(rows, context).len();
        let extra = context.events.len().saturating_sub(expected);
        self.cell(
            id,
            &place,
            "thread_event rows beyond those of its turn",
            0,
            extra,
        );
        let config = self.rows(self.store.context_config(context.row.config_digest))?;
        if let Some(stored) = config {
            let digest = match context.config(self.store) {
                Ok(config) => {
                    if stored != Some(config.document().to_string()) {
                        let place = format!("context_config {}", context.row.config_digest);
                        self.fault(
                            id,
                            place,
                            "a document as gently writes it",
                            "the same in another spelling",
                        );
                    }
                    config.digest().0.to_string()
                }
                Err(fault) => fault.to_string(),
            };
            self.cell(
                id,
                &place,
                "context_config_digest",
                context.row.config_digest.to_string(),
                digest,
            );
        }
        self.check_context_digests(evidence, context)
    }

    /// Every thread: a session's own begins with its first event and has no name, any other with
    /// its artifact.
    pub fn check_threads(&mut self) -> Result<(), VerifyError> {
        for thread in self
            .rows(self.store.newest_threads(u32::MAX))?
            .unwrap_or_default()
        {
            let place = format!("thread {}", thread.thread);
            let session = self
                .rows(self.store.session_of(thread.session))?
                .flatten()
                .map(|session| session.id);
            let derived = session.map(|session| row_id("thread", session, thread.number));
            self.cell_opt(session, &place, "thread_id", derived, Some(thread.thread));
            let (name, begun) = match thread.number {
                0 => (None, self.first_event(&thread)?),
                _ => self.begun(&thread)?,
            };
            self.cell_opt(session, &place, "name", name, thread.name.clone());
            // Without its line in the log yet, what begun it is checked when it is there.
            if begun.is_some() || thread.number == 0 {
                self.cell_opt(
                    session,
                    &place,
                    "created_at",
                    begun,
                    Some(thread.created_at),
                );
            }
        }
        Ok(())
    }

    fn first_event(&mut self, thread: &ThreadRow) -> Result<Option<Seconds>, VerifyError> {
        let mut first = None;
        let read = self.store.each_event(thread.thread, &mut |event| {
            first.get_or_insert(event.created_at);
            Ok(())
        });
        self.rows(read)?;
        Ok(first)
    }

    /// Name and time of the artifact that a thread was begun with; no name once it is erased.
    fn begun(
        &mut self,
        thread: &ThreadRow,
    ) -> Result<(Option<String>, Option<Seconds>), VerifyError> {
        let rows = self
            .rows(
                self.store
                    .artifacts(ArtifactFilter::Id(&thread.thread.to_string())),
            )?
            .unwrap_or_default();
        let Some(row) = rows.into_iter().find(|row| row.kind == "thread") else {
            return Ok((None, None));
        };
        let document = row
            .document
            .as_deref()
            .and_then(|text| canon::parse::<ArtifactDoc>(text.as_bytes()).ok());
        let name = document.and_then(|doc| doc.content.get("name")?.as_str().map(str::to_owned));
        Ok((name, self.line_of(row.line)?.map(|line| line.time)))
    }

    /// Thread and parent are what their ids say.
    fn check_thread(
        &mut self,
        rows: &ExchangeRows<'_>,
        context: &ContextRows,
    ) -> Result<(), VerifyError> {
        let (id, place) = (Some(rows.session.id), rows.place());
        let thread = self.rows(self.store.thread(context.row.thread))?.flatten();
        let begun = match &thread {
            Some(thread) => self.rows(self.store.session_of(thread.session))?.flatten(),
            None => None,
        };
        let derived = thread
            .zip(begun)
            .map(|(thread, session)| row_id("thread", session.id, thread.number));
        self.cell_opt(id, &place, "thread_id", derived, Some(context.row.thread));
        if let Some(parent) = context.row.parent {
            let row = self.rows(self.store.thread_turn(parent))?.flatten();
            let of = row.map(|row| row.thread);
            self.cell_opt(
                id,
                &place,
                "thread of parent_turn_id",
                Some(context.row.thread),
                of,
            );
        }
        Ok(())
    }

    fn check_event(
        &mut self,
        rows: &ExchangeRows<'_>,
        context: &ContextRows,
        expected: &ExpectedRow,
    ) {
        let (id, place) = (
            Some(rows.session.id),
            format!("{} event of {}", expected.kind.name(), rows.place()),
        );
        let Some(event) = context.event(expected.kind) else {
            return self.fault(id, place, format!("event {}", expected.event), "none");
        };
        self.cell(id, &place, "event_id", expected.event, event.event);
        self.cell(id, &place, "thread_id", context.row.thread, event.thread);
        self.cell(id, &place, "line", expected.line, event.line);
        self.cell(id, &place, "created_at", expected.at, event.created_at);
        self.cell_opt(id, &place, "bytes", expected.bytes, event.bytes);
    }

    /// Event digests, context digest and prompt digest, from texts; where those are gone, none may
    /// be left.
    fn check_context_digests(
        &mut self,
        evidence: &ExchangeEvidence<'_>,
        context: &ContextRows,
    ) -> Result<(), VerifyError> {
        let rows = &evidence.rows;
        let (id, place) = (Some(rows.session.id), rows.place());
        for event in context
            .events
            .iter()
            .filter(|event| event.kind != EventKind::Decision)
        {
            let again = self.again(event_again(self.store, event))?;
            self.check_digest(
                rows,
                &format!("event_digest of its {}", event.kind.name()),
                again.and_then(|e| e.digest()).map(|digest| digest.0),
                event.digest,
            );
        }
        for one in &context.refs {
            let event = self.rows(self.store.event(one.reference.event))?.flatten();
            let now = event.as_ref().and_then(|event| event.digest);
            let what = format!("event_digest of its reference {}", one.reference.ref_id);
            self.cell_opt(id, &place, &what, now, one.reference.digest);
            let index = event
                .as_ref()
                .map(|event| (event.index, event.thread.to_string()));
            let of = index
                .as_ref()
                .map(|(index, thread)| format!("{index} of thread {thread}"));
            let stored = format!("{} of thread {}", one.reference.index, context.row.thread);
            self.cell_opt(id, &place, "place of a reference", of, Some(stored));
        }
        let text = rows.user.as_ref().and_then(|turn| turn.content.as_deref());
        let erased = text.is_none()
            || self
                .tombstones
                .has_context(&rows.exchange.exchange_id.to_string());
        if erased {
            // An artifact that is erased leaves the context; a turn that is takes it along.
            self.check_digest(rows, "prompt_digest", None, context.row.prompt_digest);
            return self.check_decision_left(rows, context);
        }
        let text = text.unwrap_or_default();
        let made = self.again(context.documents(self.store, text))?.flatten();
        let digest = match made.map(|documents| documents.digest()).transpose() {
            Ok(digest) => digest,
            Err(fault) => return self.again::<()>(Err(fault)).map(drop),
        };
        self.check_digest(
            rows,
            "context_digest",
            digest.map(|d| d.0),
            context.row.context_digest,
        );
        if let Some(event) = context.event(EventKind::Decision) {
            let again = self.again(decision(rows, context, event, digest))?;
            let again = again.and_then(|e| e.digest()).map(|digest| digest.0);
            self.check_digest(rows, "event_digest of its DECISION", again, event.digest);
        }
        if let Ok(Some(compiled)) = evidence.compiled() {
            let sent = prompt_digest(
                compiled,
                &rows.exchange.model,
                rows.exchange.params.as_deref(),
            );
            self.check_digest(
                rows,
                "prompt_digest",
                sent.ok().map(|d| d.0),
                context.row.prompt_digest,
            );
        }
        Ok(())
    }

    /// A DECISION whose context can't be made again: its digest is gone, or it is that over the
    /// context digest on record, to which the exchange document commits.
    fn check_decision_left(
        &mut self,
        rows: &ExchangeRows<'_>,
        context: &ContextRows,
    ) -> Result<(), VerifyError> {
        let Some(event) = context.event(EventKind::Decision) else {
            return Ok(());
        };
        if event.digest.is_none() && context.row.context_digest.is_none() {
            return Ok(());
        }
        let digest = context.row.context_digest.map(NamedHash);
        let again = self.again(decision(rows, context, event, digest))?;
        let again = again.and_then(|e| e.digest()).map(|digest| digest.0);
        self.check_digest(rows, "event_digest of its DECISION", again, event.digest);
        Ok(())
    }

    fn check_digest(
        &mut self,
        rows: &ExchangeRows<'_>,
        what: &str,
        expected: Option<Hash32>,
        actual: Option<Hash32>,
    ) {
        self.cell_opt(Some(rows.session.id), &rows.place(), what, expected, actual);
    }

    /// What was made again; none where a text is gone, and where it contradicts itself, which is a
    /// finding.
    fn again<T>(&mut self, made: Result<T, ContextFault>) -> Result<Option<T>, VerifyError> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(ContextFault::Gone) => Ok(None),
            Err(ContextFault::Store(error)) => self.rows(Err(error)),
            Err(ContextFault::Wrong(words)) => {
                let expected = "rows that give the context again";
                self.fault(None, "thread_turn", expected, words);
                Ok(None)
            }
        }
    }
}

/// A turn's DECISION with a context digest that was computed again.
pub fn decision(
    rows: &ExchangeRows<'_>,
    context: &ContextRows,
    event: &EventRow,
    digest: Option<NamedHash>,
) -> Result<ThreadEvent, ContextFault> {
    let normative = context.normative(rows.session, rows.exchange, digest)?;
    let decision = DecisionPayload::new(place_of(event), &normative);
    decision
        .map(ThreadEvent::Decision)
        .map_err(|e| ContextFault::Wrong(e.to_string()))
}
