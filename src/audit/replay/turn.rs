//! One exchange computed again, assertion by assertion.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use crate::continuity::declared::TurnContext;
use crate::continuity::gates::ExclusionReason;
use crate::continuity::turns::DECLARED;
use crate::govern::actions::actuation::requested_anywhere;
use crate::govern::authority::may_be_beside;
use crate::govern::kernel::Kernel;
use crate::govern::sanitize::{Clean, redact};
use crate::record::canon;
use crate::record::context::config::ContextConfig;
use crate::record::context::event::{EventKind, ThreadEvent};
use crate::record::context::spec::{
    AdmittedFor, ResolvedContext, ResolvedRef, RuleEffect, normative_inputs,
};
use crate::record::context::turn::{Counts, TurnIntent, prompt_digest};
use crate::record::exchange::{ABANDONED, ExchangeContext, ExchangeOutcome};
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::NamedHash;
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::prompt::TURN;
use crate::store::{ArtifactRefRow, ContextRows, ExchangeRow, ExchangeRows};
use uuid::Uuid;

use super::parts::{NOTHING_SENT, bundle, events, hashes, plain_prompt, record, same, worst};
use super::source::EventSource;
use super::trial::decide;
use super::{Assertion, AssertionOutcome, ExchangeReplay, Replay, ReplayError};
use crate::audit::rows::contexts::ContextFault;
use crate::audit::rows::exchange_rows::ExchangeEvidence;
use crate::audit::rows::threads::decision;

/// What all assertions about a turn with a context are made from.
struct ReplayTurn<'t> {
    context: &'t ContextRows,
    evidence: &'t ExchangeEvidence<'t>,
    rows: &'t ExchangeRows<'t>,
    config: &'t ContextConfig,
    kernel: &'t Kernel,
    /// The user's text; none when it is not here.
    text: Option<&'t Clean>,
    /// What is said where a text of it is needed and not here.
    absent: &'t AssertionOutcome,
}

/// There is no context, and the text is here.
const BEFORE: &str = "it was recorded before there were threads";
/// There is neither.
const NO_CONTEXT: &str = "what it declared is not here: it was recorded before there were threads, or taken over from a \
                          ledger alone";
/// There is no kernel.
const NO_KERNEL: &str = "its kernel is not here: the session was taken over from a ledger alone";

/// What is stored went through the rules of then, so today's take nothing out of it unless they are
/// others.
const OTHER_RULES: &str =
    "the sanitizer's rules or [sanitize] allow have changed since, and what it takes out with them";

/// Replays one exchange.
pub(super) fn replay(
    replay: &Replay<'_>,
    row: &ExchangeRow,
) -> Result<ExchangeReplay, ReplayError> {
    let session = replay
        .session(row.session)?
        .ok_or(crate::store::StoreError::Corrupt {
            place: "llm_exchange.session_id".to_owned(),
            expected: "a session".to_owned(),
            actual: row.session.to_string(),
        })?;
    let known = replay.kernel(session.kernel_hash)?;
    let context = ContextRows::read_by(replay.store, row.exchange_id, || {
        replay.referred(row.exchange_id)
    })?;
    let rows = ExchangeRows::read_with(replay.store, &session, row, context)?;
    let evidence = ExchangeEvidence::of(rows, &known);
    let rows = &evidence.rows;

    let mut told = ExchangeReplay {
        exchange: row.exchange_id,
        session: session.id,
        seq: row.seq,
        thread: rows.context.as_ref().map(|context| context.row.thread),
        outcomes: Vec::new(),
    };
    let stored = rows.user.as_ref().and_then(|turn| turn.content.as_deref());
    let redacted = stored.map(redact);
    let is_clean = redacted
        .as_ref()
        .is_some_and(|redacted| redacted.found.is_empty());
    let absent = match redacted.is_none() || is_clean {
        true => replay.absent_if(rows.has_gone(), row)?,
        false => AssertionOutcome::NotChecked(OTHER_RULES.to_owned()),
    };
    replay.keep(rows, is_clean)?;
    let text = redacted
        .as_ref()
        .filter(|_| is_clean)
        .map(|redacted| &redacted.clean);
    let absent = &absent;
    let kernel = match known.as_ref() {
        None => Err(AssertionOutcome::NotChecked(NO_KERNEL.to_owned())),
        Some(Err(words)) => Err(AssertionOutcome::Fails(words.clone())),
        Some(Ok(kernel)) => Ok(kernel),
    };
    let mut outcomes = in_context(replay, &evidence, &kernel, (text, absent))?;
    outcomes.push((
        Assertion::SameBundle,
        match (kernel, text) {
            (Err(why), _) => why,
            (_, None) => absent.clone(),
            (Ok(kernel), Some(text)) => bundle(&session, &evidence, (kernel, text), absent),
        },
    ));
    let recorded = record(replay, &evidence, absent);
    outcomes.push((
        Assertion::SameRecord,
        worst([hashes(replay, rows), recorded]),
    ));
    if !replay.has_same_list(row.prompt_line)? {
        outcomes
            .iter_mut()
            .for_each(|(assertion, outcome)| under_another_list(*assertion, outcome));
    }
    outcomes.sort_by_key(|(assertion, _)| *assertion);
    told.outcomes = outcomes;
    Ok(told)
}

/// What is replayed of the context that a turn was asked in, as far as what it needs is here.
fn in_context(
    replay: &Replay<'_>,
    evidence: &ExchangeEvidence<'_>,
    kernel: &Result<&Kernel, AssertionOutcome>,
    (text, absent): (Option<&Clean>, &AssertionOutcome),
) -> Result<Vec<(Assertion, AssertionOutcome)>, ReplayError> {
    let rows = &evidence.rows;
    let Some(context) = &rows.context else {
        return Ok(without_context(evidence, text, absent));
    };
    let kernel = match kernel {
        Ok(kernel) => kernel,
        Err(why) => return without_kernel(replay, context, rows, why),
    };
    match replay.config(context)?.as_ref() {
        Ok(config) => ReplayTurn {
            context,
            evidence,
            rows,
            config,
            kernel,
            text,
            absent,
        }
        .outcomes(replay),
        Err(words) => without_configuration(replay, context, rows, words),
    }
}

/// What texts hold decides which are kept out of a context; under another list that can't be
/// decided again.
fn under_another_list(assertion: Assertion, outcome: &mut AssertionOutcome) {
    use Assertion::{
        NoObservation, SameBundle, SameContext, SameDecision, SamePrompt, SameReferences,
    };
    let of_texts = [
        SameReferences,
        SameContext,
        NoObservation,
        SameDecision,
        SameBundle,
        SamePrompt,
    ];
    if of_texts.contains(&assertion) && matches!(outcome, AssertionOutcome::Fails(_)) {
        *outcome = AssertionOutcome::NotChecked(OTHER_RULES.to_owned());
    }
}

/// The assertions that need a context, all alike.
fn alike(outcome: &AssertionOutcome) -> Vec<(Assertion, AssertionOutcome)> {
    use Assertion::{
        NoObservation, SameConfiguration, SameContext, SameDecision, SameEvents, SamePrompt,
        SameReferences,
    };
    let all = [
        SameConfiguration,
        SameReferences,
        SameContext,
        NoObservation,
        SameDecision,
        SamePrompt,
        SameEvents,
    ];
    all.into_iter()
        .map(|assertion| (assertion, outcome.clone()))
        .collect()
}

/// The same with what some of them come to.
fn but(
    all: Vec<(Assertion, AssertionOutcome)>,
    some: &[(Assertion, AssertionOutcome)],
) -> Vec<(Assertion, AssertionOutcome)> {
    let other = |assertion| {
        some.iter()
            .find(|(of, _)| *of == assertion)
            .map(|(_, outcome)| outcome.clone())
    };
    all.into_iter()
        .map(|(assertion, outcome)| (assertion, other(assertion).unwrap_or(outcome)))
        .collect()
}

fn without_context(
    evidence: &ExchangeEvidence<'_>,
    text: Option<&Clean>,
    absent: &AssertionOutcome,
) -> Vec<(Assertion, AssertionOutcome)> {
    let why = if text.is_some() { BEFORE } else { NO_CONTEXT };
    but(
        alike(&AssertionOutcome::NotChecked(why.to_owned())),
        &[(Assertion::SamePrompt, plain_prompt(evidence, text, absent))],
    )
}

fn without_kernel(
    replay: &Replay<'_>,
    context: &ContextRows,
    rows: &ExchangeRows<'_>,
    why: &AssertionOutcome,
) -> Result<Vec<(Assertion, AssertionOutcome)>, ReplayError> {
    let config = (
        Assertion::SameConfiguration,
        configuration(replay, context)?,
    );
    let events = (Assertion::SameEvents, events(replay, context, rows)?);
    Ok(but(alike(why), &[config, events]))
}

fn without_configuration(
    replay: &Replay<'_>,
    context: &ContextRows,
    rows: &ExchangeRows<'_>,
    words: &str,
) -> Result<Vec<(Assertion, AssertionOutcome)>, ReplayError> {
    let config = (
        Assertion::SameConfiguration,
        AssertionOutcome::Fails(words.to_owned()),
    );
    let events = (Assertion::SameEvents, events(replay, context, rows)?);
    Ok(but(
        alike(&AssertionOutcome::NotChecked(
            "its configuration can't be read".to_owned(),
        )),
        &[config, events],
    ))
}

fn configuration(
    replay: &Replay<'_>,
    context: &ContextRows,
) -> Result<AssertionOutcome, ReplayError> {
    Ok(match replay.config(context)?.as_ref() {
        Ok(config) => same(
            "context_config_digest",
            Some(context.row.config_digest),
            Some(config.digest().0),
        ),
        Err(words) => AssertionOutcome::Fails(words.clone()),
    })
}

impl ReplayTurn<'_> {
    /// Configuration, references and counts need no text of this turn; the rest does.
    fn outcomes(
        &self,
        replay: &Replay<'_>,
    ) -> Result<Vec<(Assertion, AssertionOutcome)>, ReplayError> {
        replay.gone.replace(None);
        let ledger = self.resolved(replay, None, self.kernel)?;
        let stream = self.resolved(replay, Some(self.rows.exchange.prompt_line), self.kernel)?;
        let gone = replay.gone.take();
        let events = events(replay, self.context, self.rows)?;
        let or_gone = |outcome: AssertionOutcome| gone.clone().unwrap_or(outcome);
        let (references, observed) = (
            worst([self.references(&ledger), agree(&ledger, &stream)]),
            self.counts(replay),
        );
        let mut outcomes = vec![
            (
                Assertion::SameConfiguration,
                configuration(replay, self.context)?,
            ),
            (Assertion::SameReferences, or_gone(references)),
            (
                Assertion::NoObservation,
                worst([or_gone(no_observation(&ledger)), observed]),
            ),
            (Assertion::SameEvents, events),
        ];
        let kind = same(
            "intent_type",
            Some(self.context.row.intent.name()),
            self.intent().map(TurnIntent::name),
        );
        let Some(text) = self.text else {
            let rest = [Assertion::SameDecision, Assertion::SamePrompt];
            outcomes.extend(rest.map(|assertion| (assertion, self.absent.clone())));
            outcomes.push((Assertion::SameContext, worst([kind, self.absent.clone()])));
            return Ok(outcomes);
        };
        let digest = self.digest(&ledger, text);
        outcomes.extend([
            (
                Assertion::SameContext,
                worst([
                    kind,
                    or_gone(self.same_context(text, &digest, &ledger, &stream)),
                ]),
            ),
            (
                Assertion::SameDecision,
                or_gone(self.decision(replay, text, &ledger, digest.ok().flatten())),
            ),
            (Assertion::SamePrompt, or_gone(self.prompt(text, &ledger))),
        ]);
        Ok(outcomes)
    }

    /// What the turn has to be for: it follows from where it came in, and that was measured with its
    /// outcome. A prompt without one says so itself.
    fn intent(&self) -> Option<TurnIntent> {
        let (row, measures) = (self.rows.exchange, &self.rows.measures);
        match (&row.outcome, measures) {
            (_, Some(row)) => Some(row.measures.door.intent()),
            // Nobody measured what was given up when its process was killed.
            (Some(outcome), None) if outcome.reason.as_deref() == Some(ABANDONED) => {
                Some(self.context.row.intent)
            }
            (Some(_), None) => Some(TurnIntent::ChatMessage),
            (None, None) => Some(self.context.row.intent),
        }
    }

    /// Resolves what is declared again, under a kernel's caps.
    fn resolved(
        &self,
        replay: &Replay<'_>,
        before: Option<u64>,
        kernel: &Kernel,
    ) -> Result<TurnContext, ReplayError> {
        let declared = self.context.declared().unwrap_or_default();
        let (were_erased, judge) = (were_erased(self.context), replay.judge(kernel));
        let unanswered = unanswered(replay, self.context, self.rows.exchange.prompt_line)?;
        let source = EventSource {
            replay,
            before,
            were_erased,
            unanswered,
            kernel: kernel.hash(),
            judge,
        };
        let place = self.context.place();
        // Counts that can't be read are a finding of their own.
        let room = self.context.counts().ok().and_then(|counts| counts.room);
        TurnContext::resolve(
            self.config,
            place,
            &declared,
            kernel.rules().rings.of(place.intent).within(room),
            &source,
        )
    }

    fn digest(
        &self,
        context: &TurnContext,
        text: &Clean,
    ) -> Result<Option<NamedHash>, ContextFault> {
        let digest = context.digest(self.context.row.turn, text.as_str());
        digest.map_err(|e| ContextFault::Wrong(e.to_string()))
    }

    /// Stored references against those that were resolved again.
    fn references(&self, again: &TurnContext) -> AssertionOutcome {
        let refs: Vec<&(ResolvedRef, ThreadEvent)> = again
            .resolved()
            .into_iter()
            .flat_map(ResolvedContext::events)
            .collect();
        let by_rows = self.context.refs.iter().map(|one| {
            let r = &one.reference;
            (r.index, r.ref_id.as_str(), r.admitted_for, r.digest)
        });
        let found = refs.iter().map(|(r, _)| {
            (
                r.event_index,
                r.ref_id.as_str(),
                r.admitted_for,
                r.event_digest.map(|d| d.0),
            )
        });
        let resolved = match by_rows.clone().eq(found.clone()) {
            true => AssertionOutcome::Holds,
            false => same("resolved_refs", Some(listed(by_rows)), Some(listed(found))),
        };
        let made = canon::print(&again.transformations()).ok();
        let injected = declared_turns(self.rows);
        let shown = again
            .resolved()
            .into_iter()
            .flat_map(ResolvedContext::shown);
        let said = shown.filter(|(_, event)| event.kind() != EventKind::Decision);
        let expected: Vec<String> = said.map(|(_, event)| event.place().id.clone()).collect();
        let put = self.rows.exchange.bundle_json.is_some();
        worst([
            resolved,
            same(
                "transformations",
                Some(self.context.row.transformations.clone()),
                made,
            ),
            match put {
                true => same(
                    "declared turns among context_artifact_ref",
                    Some(injected.join(", ")),
                    Some(expected.join(", ")),
                ),
                false => AssertionOutcome::Holds,
            },
        ])
    }

    fn same_context(
        &self,
        text: &Clean,
        digest: &Result<Option<NamedHash>, ContextFault>,
        ledger: &TurnContext,
        stream: &TurnContext,
    ) -> AssertionOutcome {
        let stored = self.context.row.context_digest;
        let by_rows = match digest {
            Ok(digest) => same("context_digest", stored, digest.map(|digest| digest.0)),
            Err(fault) => AssertionOutcome::Fails(fault.to_string()),
        };
        // What is resolved alike has one digest.
        if ledger == stream {
            return by_rows;
        }
        let by_log = match self.digest(stream, text) {
            Ok(digest) => same(
                "context_digest, by the log's order",
                stored,
                digest.map(|digest| digest.0),
            ),
            Err(fault) => fault.into(),
        };
        worst([by_rows, by_log])
    }

    /// The counts on record are those of INTENTs, in the database and in the log's order.
    fn counts(&self, replay: &Replay<'_>) -> AssertionOutcome {
        let counts = match self.context.counts() {
            Ok(counts) => counts,
            Err(fault) => return fault.into(),
        };
        if counts.as_of > self.rows.exchange.prompt_line {
            let what = format!(
                "inputs.as_of {} is behind its own line {}",
                counts.as_of, self.rows.exchange.prompt_line
            );
            return AssertionOutcome::Fails(what);
        }
        let (thread, windows) = (self.context.row.thread, self.kernel.policy().windows());
        let told = |counts: Counts| canon::print(&counts).unwrap_or_default();
        let by_log = replay.stream.intents.counts(thread, counts, windows);
        let by_rows = replay.intents.counts(thread, counts, windows);
        worst([
            same(
                "inputs, by the log's order",
                Some(told(counts)),
                Some(told(by_log)),
            ),
            same(
                "inputs, by the database",
                Some(told(counts)),
                Some(told(by_rows)),
            ),
        ])
    }

    fn decision(
        &self,
        replay: &Replay<'_>,
        text: &Clean,
        context: &TurnContext,
        digest: Option<NamedHash>,
    ) -> AssertionOutcome {
        let (row, reasons) = (self.rows.exchange, self.context.reasons());
        let (counts, reasons) = match (self.context.counts(), reasons) {
            (Ok(counts), Ok(reasons)) => (counts, reasons),
            (Err(fault), _) | (_, Err(fault)) => return fault.into(),
        };
        let (codes, state) = decide(
            &replay.judge(self.kernel),
            (text, &row.model),
            context,
            counts,
        );
        // What was to be sent beside a denied question is not on record, so that part is the
        // record's word.
        let beside =
            codes.is_empty() && row.decision == "deny" && may_be_beside(self.kernel, &reasons);
        let (codes, state) = if beside {
            (reasons.clone(), AuthorityState::Blocked)
        } else {
            (codes, state)
        };
        // Before, the words of files were read as the person's own.
        let was_asked_in_files = state == AuthorityState::Ok
            && row.authority_state == AuthorityState::Insufficient
            && !requested_anywhere(text.as_str()).acts.is_empty();
        let state = if was_asked_in_files {
            row.authority_state
        } else {
            state
        };
        let result = if codes.is_empty() { "allow" } else { "deny" };
        let event = self.context.event(EventKind::Decision);
        let again = event
            .map(|event| decision(self.rows, self.context, event, digest))
            .transpose();
        let again = match again {
            Ok(again) => again
                .and_then(|event| event.digest())
                .map(|digest| digest.0),
            Err(fault) => return fault.into(),
        };
        worst([
            same(
                "decision",
                Some(row.decision.clone()),
                Some(result.to_owned()),
            ),
            same("reasons", Some(reasons.join(", ")), Some(codes.join(", "))),
            same(
                "authority_state",
                Some(row.authority_state.name()),
                Some(state.name()),
            ),
            same(
                "event_digest of the DECISION",
                event.and_then(|event| event.digest),
                again,
            ),
        ])
    }

    fn prompt(&self, text: &Clean, context: &TurnContext) -> AssertionOutcome {
        let stored = (
            self.rows.exchange.prompt_hash,
            self.context.row.prompt_digest,
        );
        match (stored, &self.rows.exchange.bundle_json) {
            ((None, None), None) => return AssertionOutcome::NotChecked(NOTHING_SENT.to_owned()),
            ((None, None), Some(_)) | (_, None) => return self.absent.clone(),
            _ => {}
        }
        // What the rows compile to is rendered once, for the document as well.
        let is_in_rows =
            self.refers_to(context) && self.evidence.record.user.as_deref() == Some(text.as_str());
        let compiled = match is_in_rows {
            true => self.evidence.compiled().map(|text| text.map(Cow::Borrowed)),
            false => {
                let resolved = context.resolved().ok();
                let again = self.evidence.compiled_with(resolved, text.as_str());
                again.map(|text| text.map(Cow::Owned))
            }
        };
        let compiled = match compiled {
            Ok(Some(compiled)) => compiled,
            Ok(None) => return self.absent.clone(),
            Err(words) => return AssertionOutcome::Fails(words),
        };
        let row = self.rows.exchange;
        let digest = prompt_digest(&compiled, &row.model, row.params.as_deref())
            .ok()
            .map(|digest| digest.0);
        let hash = Hash32::digest(compiled.as_bytes());
        worst([
            same("prompt_hash", stored.0, Some(hash)),
            same("prompt_digest", stored.1, digest),
        ])
    }

    /// Whether the rows refer to what was resolved, in the same order, with the same texts: all
    /// that a block is made of.
    fn refers_to(&self, context: &TurnContext) -> bool {
        let Some(Ok(shown)) = self
            .evidence
            .record
            .context
            .as_ref()
            .map(ExchangeContext::shown)
        else {
            return false;
        };
        let Ok(resolved) = context.resolved() else {
            return false;
        };
        let rows = shown
            .into_iter()
            .map(|one| (one.reference.ref_id.as_str(), one.kind, one.text.as_deref()));
        rows.eq(resolved
            .shown()
            .map(|(r, event)| (r.ref_id.as_str(), event.kind(), event.text())))
    }
}

/// Ids that are on record as erased when they were resolved.
pub(super) fn were_erased(context: &ContextRows) -> HashSet<String> {
    left_out_by(context, ExclusionReason::Erased)
}

/// Ids that are on record as left out since they got no answer: those of questions whose turn had
/// ended so before the prompt's line.
pub(super) fn unanswered(
    replay: &Replay<'_>,
    context: &ContextRows,
    line: u64,
) -> Result<HashSet<String>, ReplayError> {
    let mut unanswered = HashSet::new();
    for id in left_out_by(context, ExclusionReason::Unanswered) {
        let Ok(event) = id.parse::<Uuid>() else {
            continue;
        };
        let event = replay.store.event(event)?;
        let Some(event) = event.filter(|event| event.kind == EventKind::Intent) else {
            continue;
        };
        let exchange = replay.store.exchange(event.turn)?;
        let outcome = exchange.and_then(|exchange| exchange.outcome);
        let had_failed = outcome.is_some_and(|outcome| {
            outcome.outcome == ExchangeOutcome::Failed && outcome.outcome_line < line
        });
        if had_failed {
            unanswered.insert(id);
        }
    }
    Ok(unanswered)
}

fn left_out_by(context: &ContextRows, reason: ExclusionReason) -> HashSet<String> {
    let made = context.transformations().unwrap_or_default();
    let left = made
        .into_iter()
        .filter(|t| t.effect == RuleEffect::LeftOut && t.rule == reason.code());
    left.map(|t| t.ref_id).collect()
}

/// References, as they are told.
fn listed<'r>(refs: impl Iterator<Item = (u64, &'r str, AdmittedFor, Option<Hash32>)>) -> String {
    let told = refs.map(|(index, id, admitted_for, digest)| {
        let digest = digest.map_or("erased".to_owned(), |digest| digest.to_string());
        format!("{index} {id} {} {digest}", admitted_for.name())
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Database and log's order resolve alike.
fn agree(ledger: &TurnContext, stream: &TurnContext) -> AssertionOutcome {
    if ledger == stream {
        return AssertionOutcome::Holds;
    }
    let told = |context: &TurnContext| match context.resolved() {
        Ok(resolved) => {
            let refs = resolved.refs.iter().map(|(r, _)| {
                let digest = r
                    .event_digest
                    .map_or("none".to_owned(), |digest| digest.to_string());
                format!("{} {} {digest}", r.event_index, r.ref_id)
            });
            refs.collect::<Vec<_>>().join(", ")
        }
        Err(fault) => fault.to_string(),
    };
    same(
        "resolved_refs, database against log",
        Some(told(ledger)),
        Some(told(stream)),
    )
}

/// Normative inputs are the digests of INTENTs, and of nothing else.
fn no_observation(context: &TurnContext) -> AssertionOutcome {
    let Ok(resolved) = context.resolved() else {
        return AssertionOutcome::Holds;
    };
    let intents: BTreeSet<NamedHash> = context
        .intents()
        .iter()
        .filter_map(|intent| intent.digest())
        .collect();
    // An event that is declared twice is an input twice.
    if normative_inputs(resolved)
        .into_iter()
        .collect::<BTreeSet<_>>()
        == intents
    {
        return AssertionOutcome::Holds;
    }
    AssertionOutcome::Fails(
        "normative_input_digests: they are not those of the INTENTs that are referred to"
            .to_owned(),
    )
}

/// Ids of turns that stand among the references as declared, in their order.
fn declared_turns(rows: &ExchangeRows<'_>) -> Vec<String> {
    let is_declared = |row: &&ArtifactRefRow| {
        row.artifact_type == TURN && row.included_reason.starts_with(DECLARED)
    };
    let declared = rows.refs.iter().filter(is_declared);
    declared.map(|row| row.artifact_id.clone()).collect()
}
