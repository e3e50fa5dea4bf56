//! Exchanges and turns of the database against their lines and commitments (format, section 12 step 6).
//!
//! The exchange document is built again from the rows, so a changed row shows in `exchange_hash`;
//! what stands outside the document (ids, plain digests, line numbers) is held against its own
//! source.

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::has_placeholder;
use crate::record::canon;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit};
use crate::record::ledger::documents::Record;
use crate::record::ledger::exchange::{ExchangeDoc, row_id};
use crate::record::log::entry::Event;
use crate::store::{ContextRows, ExchangeRow, ExchangeRows, SessionRow, ThreadTurnRow, TurnRow};

use super::artifacts::{ERASED, PUT_BACK};
use super::database::{RowCheck, RowDifference, stop};
use super::exchange_rows::ExchangeEvidence;
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Checks the exchanges of one session: each against its lines, texts and commitments.
    pub fn check_exchanges(&mut self, session: &SessionRow) -> Result<(), VerifyError> {
        let kernel = self.rows(self.store.kernel(session.kernel_hash))?.flatten();
        let kernel = kernel.map(|json| Kernel::stored(Some(&json)));
        let (mut found, mut failed) = (0, Ok(()));
        let read = self
            .store
            .each_exchange(Some(session.uuid), &mut |exchange| {
                found += 1;
                failed = self.check_exchange((session, &kernel), &exchange);
                failed.as_ref().map_err(|_| stop()).copied()
            });
        failed?;
        self.rows(read)?;
        let logged = self
            .ledger
            .lines
            .state
            .session(session.id)
            .map_or(0, |logged| logged.next_seq() - 1);
        if found < logged {
            self.cell(
                Some(session.id),
                &format!("llm_exchange of session {}", session.id),
                "rows",
                logged,
                found,
            );
        }
        Ok(())
    }

    fn check_exchange(
        &mut self,
        (session, kernel): (&SessionRow, &Option<Result<Kernel, String>>),
        exchange: &ExchangeRow,
    ) -> Result<(), VerifyError> {
        self.counts.exchanges += 1;
        self.ledger.progress.step();
        let refs = self
            .rows(self.store.artifact_refs(exchange.exchange_id))?
            .unwrap_or_default();
        let context = self
            .rows(ContextRows::read(self.store, exchange.exchange_id))?
            .flatten();
        let rows = ExchangeRows {
            session,
            exchange,
            user: self.rows(self.store.turn(exchange.turn_user))?.flatten(),
            aurora: match exchange
                .outcome
                .as_ref()
                .and_then(|outcome| outcome.turn_aurora)
            {
                Some(id) => self.rows(self.store.turn(id))?.flatten(),
                None => None,
            },
            prior: self.prior_turns(session, &refs, context.is_some())?,
            refs,
            context,
            drift: self
                .rows(self.store.drift(exchange.exchange_id))?
                .unwrap_or_default(),
            measures: self.rows(self.store.measures(exchange))?.flatten(),
            erasure: self
                .rows(self.store.erasure_commitments(exchange))?
                .unwrap_or_default(),
        };
        let turns = [&rows.user, &rows.aurora].into_iter().flatten().count();
        self.turns += u64::try_from(turns).unwrap_or(u64::MAX);
        let evidence = ExchangeEvidence::of(rows, kernel);
        self.check_ids(&evidence.rows);
        self.check_injected(&evidence)?;
        self.check_prompt(&evidence.rows)?;
        self.check_texts(&evidence);
        self.check_erasure(&evidence);
        self.check_left(&evidence);
        self.check_outcome(&evidence)?;
        self.check_assertions(&evidence)?;
        self.check_trace(&evidence)?;
        self.check_context(&evidence)
    }

    /// Ids are derived from session and number, so they can't be moved to another row.
    fn check_ids(&mut self, rows: &ExchangeRows<'_>) {
        let (session, seq, place) = (rows.session.id, rows.exchange.seq, rows.place());
        let id = Some(session);
        let derived = |label: &str| row_id(label, session, seq);
        self.cell(
            id,
            &place,
            "exchange_id",
            derived("exchange"),
            rows.exchange.exchange_id,
        );
        self.cell(
            id,
            &place,
            "turn_user_id",
            derived("turn_user"),
            rows.exchange.turn_user,
        );
        let aurora = rows
            .exchange
            .outcome
            .as_ref()
            .filter(|outcome| outcome.outcome == ExchangeOutcome::Answered);
        let turn = rows
            .exchange
            .outcome
            .as_ref()
            .and_then(|outcome| outcome.turn_aurora);
        self.cell_opt(
            id,
            &place,
            "turn_aurora_id",
            aurora.map(|_| derived("turn_aurora")),
            turn,
        );
        for (i, row) in rows.refs.iter().enumerate() {
            self.cell(
                id,
                &place,
                "context_artifact_ref.ref_id",
                derived(&format!("artifact_ref/{i}")),
                row.ref_id,
            );
        }
        for (i, row) in rows.drift.iter().enumerate() {
            self.cell(
                id,
                &place,
                "drift_event.drift_id",
                derived(&format!("drift/{i}")).to_string(),
                row.drift_id.clone(),
            );
        }
    }

    fn check_prompt(&mut self, rows: &ExchangeRows<'_>) -> Result<(), VerifyError> {
        let (id, place, row) = (Some(rows.session.id), rows.place(), rows.exchange);
        let Some(line) = self.line_of(row.prompt_line)? else {
            self.no_line(rows, "prompt_line", row.prompt_line);
            return Ok(());
        };
        let asked = Event::Prompt {
            hash: row.prompt_commitment,
            seq: row.seq,
        };
        self.cell_opt(
            id,
            &place,
            "session of its prompt line",
            Some(rows.session.id),
            line.session,
        );
        self.cell(
            id,
            &place,
            "prompt line",
            describe(&line.event),
            describe(&asked),
        );
        self.cell(id, &place, "created_at", line.time, row.created_at);
        if let Some(turn) = &rows.user {
            self.cell(
                id,
                &turn_place(rows, turn),
                "created_at",
                line.time,
                turn.created_at,
            );
        }
        Ok(())
    }

    /// A row whose line the log lacks: newer than the log, or of another ledger.
    fn no_line(&mut self, rows: &ExchangeRows<'_>, what: &str, n: u64) {
        let newer = n >= self.ledger.lines.state.count();
        let expected = format!("{what} of a line that is its own");
        let actual = format!("{what} {n}, which is no line of the log");
        let id = Some(rows.session.id);
        let difference = RowDifference {
            place: &rows.place(),
            expected,
            actual,
        };
        self.fault_unless_newer(newer, id, difference);
    }

    /// Texts against their digests and commitments.
    fn check_texts(&mut self, evidence: &ExchangeEvidence<'_>) {
        let rows = &evidence.rows;
        let (id, place, row) = (Some(rows.session.id), rows.place(), rows.exchange);
        let Some(user) = &rows.user else {
            self.fault(id, place, "a user turn", "none");
            return;
        };
        let outcome = row.outcome.as_ref();
        if outcome.is_some_and(|outcome| outcome.turn_aurora.is_some()) && rows.aurora.is_none() {
            self.fault(id, &place, "the turn of its answer", "none");
        }
        for turn in [Some(user), rows.aurora.as_ref()].into_iter().flatten() {
            self.check_turn(rows, turn);
        }
        if let Some(not_kept) = row.not_kept {
            self.check_unkept(rows, not_kept);
            return;
        }
        self.check_policy(rows);
        let bundle = row
            .bundle_json
            .as_ref()
            .map(|json| Hash32::digest(json.as_bytes()));
        self.cell_opt(id, &place, "context_bundle_hash", bundle, row.bundle_hash);
        match (&user.content, &row.salt) {
            (Some(text), Some(salt)) => self.check_prompt_text(evidence, text, salt),
            _ => self.check_erased(rows),
        }
    }

    /// The columns of a turn against those of its exchange, and its text against its digest.
    fn check_turn(&mut self, rows: &ExchangeRows<'_>, turn: &TurnRow) {
        let (id, place, row) = (Some(rows.session.id), turn_place(rows, turn), rows.exchange);
        if rows.exchange.not_kept.is_none() {
            let digest = turn
                .content
                .as_ref()
                .map(|text| Hash32::digest(text.as_bytes()));
            self.cell_opt(id, &place, "content_hash", digest, turn.content_hash);
        }
        self.cell(id, &place, "session_id", rows.session.uuid, turn.session);
        self.cell(id, &place, "line", row.prompt_line, turn.line);
        let user_turn = turn.turn_id == row.turn_user;
        self.cell(id, &place, "speaker is user", user_turn, turn.by_user);
        let refusal = !user_turn
            && row
                .outcome
                .as_ref()
                .and_then(|outcome| outcome.refusal)
                .unwrap_or_default();
        self.cell(id, &place, "refusal", refusal, turn.refusal);
        self.cell(
            id,
            &place,
            "authority_state",
            row.authority_state.name(),
            turn.authority_state.name(),
        );
        let first = rows
            .drift
            .first()
            .filter(|_| !user_turn)
            .map(|drift| drift.drift_id.clone());
        self.cell_opt(
            id,
            &place,
            "driftwatch_id",
            first,
            turn.driftwatch_id.clone(),
        );
    }

    /// The text of a question, and the prompt that was made with it, against what is committed to.
    fn check_prompt_text(&mut self, evidence: &ExchangeEvidence<'_>, text: &str, salt: &Salt) {
        let rows = &evidence.rows;
        let (id, place, row) = (Some(rows.session.id), rows.place(), rows.exchange);
        let name = row.exchange_id.to_string();
        if self.tombstones.erased.has(&name, row.prompt_line) {
            self.fault(id, &place, ERASED, PUT_BACK);
        }
        let Some(scheme) = self.scheme() else {
            return;
        };
        let commitment = commit(scheme, salt, Role::Prompt, text.as_bytes());
        self.cell(
            id,
            &place,
            "prompt_commitment of the user's text",
            commitment,
            row.prompt_commitment,
        );
        if self.tombstones.has_context(&name) {
            self.counts.contexts += 1;
            return;
        }
        match evidence.compiled() {
            Ok(compiled) => {
                let digest = compiled.map(|text| Hash32::digest(text.as_bytes()));
                self.cell_opt(
                    id,
                    &place,
                    "prompt_hash of the compiled prompt",
                    digest,
                    row.prompt_hash,
                );
            }
            Err(reason) => {
                self.fault(id, place, "a prompt that can be rendered again", reason);
            }
        }
    }

    pub fn check_erased(&mut self, rows: &ExchangeRows<'_>) {
        let texts = [&rows.user, &rows.aurora]
            .into_iter()
            .flatten()
            .any(|turn| turn.content.is_some())
            || rows.exchange.has_texts_beside();
        if self.tombstones.has(&rows.exchange.exchange_id.to_string()) {
            self.counts.erased += 1;
            if texts && rows.exchange.salt.is_none() {
                // Without its salt a text is anybody's word.
                let expected = "no text, as it is erased";
                self.fault(Some(rows.session.id), rows.place(), expected, "a text");
            }
            let question = rows.user.as_ref().and_then(|turn| turn.content.as_ref());
            if question.is_none() && rows.exchange.salt.is_some() {
                // With it an erased text can be guessed.
                let expected = "no salt, as it is erased";
                self.fault(Some(rows.session.id), rows.place(), expected, "a salt");
            }
        } else {
            let expected = "its text and salt, or a tombstone on record";
            self.fault(Some(rows.session.id), rows.place(), expected, "neither");
        }
    }

    /// Where a commitment stands in the place of what is erased, nothing else may: it would be
    /// anybody's word. And a tombstone says that something was erased.
    fn check_erasure(&mut self, evidence: &ExchangeEvidence<'_>) {
        let (rows, kept) = (&evidence.rows, evidence.record.erasure);
        let (id, row) = (Some(rows.session.id), rows.exchange);
        let name = row.exchange_id.to_string();
        let (is_erased, is_shown) = (
            self.tombstones.has(&name),
            self.tombstones.has_context(&name),
        );
        for one in &rows.erasure {
            if !is_erased && !is_shown {
                let expected = "a tombstone that says what it stands for";
                let place = format!("erasure_commitment {} of {}", one.role.name(), rows.place());
                self.fault(id, place, expected, "none");
            }
        }
        let context = rows.context.as_ref().map(|context| &context.row);
        let digest = |of: fn(&ThreadTurnRow) -> Option<Hash32>| context.and_then(of);
        let bundle = row.bundle_json.as_deref();
        let bundle = bundle.map(|json| Hash32::digest(json.as_bytes()));
        let stands_for = [
            ("prompt_hash", is_shown, row.prompt_hash),
            ("context_bundle_json", kept.bundle.is_some(), bundle),
            (
                "context_digest",
                kept.context_digest.is_some(),
                digest(|row| row.context_digest),
            ),
            (
                "prompt_digest",
                kept.prompt_digest.is_some(),
                digest(|row| row.prompt_digest),
            ),
        ];
        for (column, is_gone, stored) in stands_for {
            if is_gone {
                self.cell_opt(id, &rows.place(), column, None, stored);
            }
        }
    }

    fn check_outcome(&mut self, evidence: &ExchangeEvidence<'_>) -> Result<(), VerifyError> {
        let rows = &evidence.rows;
        let (id, place, row) = (Some(rows.session.id), rows.place(), rows.exchange);
        let Some(outcome) = &row.outcome else {
            self.check_no_outcome(rows.session.id, row.seq, &place);
            return Ok(());
        };
        let Some(line) = self.line_of(outcome.outcome_line)? else {
            self.no_line(rows, "outcome_line", outcome.outcome_line);
            return Ok(());
        };
        self.cell_opt(
            id,
            &place,
            "session of its outcome line",
            Some(rows.session.id),
            line.session,
        );
        let told = outcome_event(row, &line.event).as_ref().map(describe);
        self.cell_opt(
            id,
            &place,
            "outcome line",
            Some(describe(&line.event)),
            told,
        );
        self.cell(id, &place, "answered_at", line.time, outcome.answered_at);
        if let Some(turn) = &rows.aurora {
            self.cell(
                id,
                &turn_place(rows, turn),
                "created_at",
                line.time,
                turn.created_at,
            );
            self.cell_opt(
                id,
                &place,
                "response_hash",
                turn.content_hash,
                outcome.response_hash,
            );
        }
        for drift in &rows.drift {
            let place = format!("drift_event {}", drift.drift_id);
            self.cell(
                id,
                &place,
                "prompt_hash",
                row.prompt_commitment,
                drift.prompt_hash,
            );
            let answer = outcome.response_commitment.unwrap_or(Hash32::ZERO);
            self.cell(id, &place, "response_hash", answer, drift.response_hash);
            self.cell(id, &place, "created_at", line.time, drift.created_at);
        }
        if let Event::Response { record, .. } = &line.event {
            self.check_record(rows, outcome.outcome_line, *record)?;
        } else {
            self.check_verdicts(rows, None);
        }
        if row.not_kept.is_some() {
            // An answer that was lost with a backup is in a tombstone, and what committed to it is
            // lost with it.
            if outcome.turn_aurora.is_none() || outcome.aurora_text.is_some() {
                self.check_exchange_document(evidence);
            }
            return Ok(());
        }
        let gone =
            |turn: &Option<TurnRow>| turn.as_ref().is_some_and(|turn| turn.content.is_none());
        if gone(&rows.aurora) && row.salt.is_some() && !gone(&rows.user) {
            // Asked before a backup, answered after it: the answer is lost, and the document with
            // it.
            self.check_erased(rows);
            return Ok(());
        }
        if !gone(&rows.user) {
            self.check_exchange_document(evidence);
        }
        Ok(())
    }

    /// `exchange_commitment` of an answer is the one in its `record.json`, the copy of it that the
    /// outcome's line commits to; that the copy is there and is the commit's is held with the rows
    /// of commits.
    fn check_record(
        &mut self,
        rows: &ExchangeRows<'_>,
        line: u64,
        record: Hash32,
    ) -> Result<(), VerifyError> {
        let stored = self.rows(self.store.record_of_line(line))?.flatten();
        let stored = stored.filter(|bytes| Hash32::digest(bytes) == record);
        if let Some(document) =
            stored.and_then(|bytes| canon::parse_in_order::<Record>(&bytes).ok())
        {
            let place = rows.place();
            let stored = rows
                .exchange
                .outcome
                .as_ref()
                .map(|outcome| outcome.exchange_commitment);
            self.cell_opt(
                Some(rows.session.id),
                &place,
                "exchange_commitment",
                Some(document.exchange_hash),
                stored,
            );
            self.check_verdicts(rows, Some(&document));
        }
        Ok(())
    }

    fn check_exchange_document(&mut self, evidence: &ExchangeEvidence<'_>) {
        let rows = &evidence.rows;
        let Some(outcome) = &rows.exchange.outcome else {
            return;
        };
        let Some(scheme) = self.scheme() else {
            return;
        };
        // An erased exchange can't be opened, by nobody: that is what erasing is.
        let Some(salt) = &rows.exchange.salt else {
            return;
        };
        let (id, place) = (Some(rows.session.id), rows.place());
        let rebuilt = evidence.document(scheme, salt);
        if let Ok(document) = &rebuilt {
            self.check_keys_left(rows, document, (scheme, salt));
        }
        match rebuilt
            .and_then(|document| document.commitment(scheme, salt).map_err(|e| e.to_string()))
        {
            Ok(found) => {
                self.cell(
                    id,
                    &place,
                    "exchange_commitment of its rows",
                    found,
                    outcome.exchange_commitment,
                );
            }
            Err(reason) => {
                self.fault(id, place, "rows that give the exchange document", reason);
            }
        }
        let answer = rows.aurora.as_ref().and_then(|turn| turn.content.as_ref());
        if let (Some(answer), Some(response)) = (answer, outcome.response_commitment)
            && commit(scheme, salt, Role::Response, answer.as_bytes()) != response
        {
            // The answer was shown with a secret that is not stored; the exchange document holds
            // the rest.
            self.counts.redacted += 1;
        }
    }
}

impl RowCheck<'_> {
    /// Keys that are left of a salt: those, and only those, with which something is opened.
    fn check_keys_left(
        &mut self,
        rows: &ExchangeRows<'_>,
        document: &ExchangeDoc,
        (scheme, salt): (Scheme, &Salt),
    ) {
        if rows.exchange.not_kept.is_some() || salt.key_left(Role::Exchange).is_none() {
            return;
        }
        let answer = rows
            .aurora
            .as_ref()
            .and_then(|turn| turn.content.as_deref());
        let outcome = rows.exchange.outcome.as_ref();
        let answer = answer.zip(outcome.and_then(|outcome| outcome.response_commitment));
        let mut gone = document.unopened(scheme, salt, answer);
        if answer.is_some_and(|(text, _)| !has_placeholder(text)) {
            // It was stored as it came, so its commitment opens.
            gone.retain(|role| *role != Role::Response);
        }
        gone.extend(rows.erasure.iter().map(|one| one.role));
        for role in Role::OF_EXCHANGES {
            let what = format!("an opening key of role {}", role.name());
            let is_here = salt.key_left(role) != Some(Hash32::ZERO);
            let expected = !gone.contains(&role);
            self.cell(
                Some(rows.session.id),
                &rows.place(),
                &what,
                expected,
                is_here,
            );
        }
        let opens = |(text, response): (&str, Hash32)| {
            commit(scheme, salt, Role::Response, text.as_bytes()) == response
        };
        if !gone.contains(&Role::Response) && !answer.is_none_or(opens) {
            let expected = "an opening key of role response that opens the answer";
            self.fault(Some(rows.session.id), rows.place(), expected, "another");
        }
    }
}

/// How a finding names a question or an answer.
fn turn_place(rows: &ExchangeRows<'_>, turn: &TurnRow) -> String {
    let of = if turn.by_user {
        "prompt"
    } else {
        "answer to prompt"
    };
    let (id, seq, session) = (turn.turn_id, rows.exchange.seq, rows.session.id);
    format!("chat_turn {id} ({of} {seq} of session {session})")
}

pub fn describe(event: &Event) -> String {
    format!("{} {}", event.name(), event.details())
}

/// The outcome's line as the row tells it; `record` is the line's own, the row has none.
fn outcome_event(row: &ExchangeRow, line: &Event) -> Option<Event> {
    let outcome = row.outcome.as_ref()?;
    let (seq, reason) = (row.seq, outcome.reason.clone().unwrap_or_default());
    let (model, exchange) = (row.model.clone(), outcome.exchange_commitment);
    Some(match outcome.outcome {
        ExchangeOutcome::Answered => Event::Response {
            hash: outcome.response_commitment.unwrap_or(Hash32::ZERO),
            seq,
            model,
            chain: outcome.chain_entry.unwrap_or(Hash32::ZERO),
            record: line.record().unwrap_or(Hash32::ZERO),
        },
        ExchangeOutcome::Failed => Event::ResponseFail {
            seq,
            model,
            reason,
            exchange,
        },
        ExchangeOutcome::Denied => Event::Denied {
            seq,
            reason,
            exchange,
        },
    })
}
