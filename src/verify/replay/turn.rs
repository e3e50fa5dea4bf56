//! One exchange computed again, assertion by assertion.

use std::collections::HashSet;

use crate::continuity::declared::TurnContext;
use crate::continuity::gates::Kept;
use crate::continuity::turns::{DECLARED, TURN};
use crate::govern::kernel::Kernel;
use crate::govern::sanitize::{Clean, redact};
use crate::record::bundle::NamedHash;
use crate::record::context::config::ContextConfig;
use crate::record::context::event::Kind;
use crate::record::context::spec::{Effect, Form, Transformation};
use crate::record::context::turn::prompt_digest;
use crate::record::hash::Hash32;
use crate::store::ExchangeRow;

use super::super::contexts::{Context, ContextFault};
use super::super::exchange_rows::Rows;
use super::super::threads::decision;
use super::parts::{ERASED, NOTHING_SENT, bundle, events, plain_prompt, record, same, worst};
use super::source::Source;
use super::trial::{Difference, decide};
use super::{Assertion, Outcome, Replay, ReplayError, Replayed};

/// What all assertions about a turn with a context are made from.
struct Turn<'t> {
    context: &'t Context,
    rows: &'t Rows<'t>,
    config: ContextConfig,
    kernel: &'t Kernel,
    text: Clean,
}

const BEFORE: &str = "it was recorded before there were threads";
pub(super) fn replay(replay: &Replay<'_>, row: &ExchangeRow) -> Result<Replayed, ReplayError> {
    let session = replay.session(row.session)?.ok_or(crate::store::StoreError::Corrupt {
        place: "llm_exchange.session_id",
        expected: "a session",
        actual: row.session.to_string(),
    })?;
    let known = replay.kernel(session.kernel_hash)?;
    let rows = Rows::read(replay.store, &session, row, &known)?;
    let kernel = known.as_ref().as_ref().and_then(|known| known.as_ref().ok());
    let mut told = Replayed {
        exchange: row.exchange_id,
        session: session.id,
        seq: row.seq,
        thread: rows.context.as_ref().map(|context| context.row.thread),
        outcomes: Vec::new(),
        difference: None,
        tried: false,
    };
    let text = rows.user.as_ref().and_then(|turn| turn.content.as_deref());
    let bundle = bundle(&session, row, kernel, text);
    let record = record(replay, &rows);
    let mut outcomes = match (&rows.context, kernel, text) {
        (None, ..) => with_context(|_| Outcome::NotChecked(BEFORE.to_owned())),
        (Some(context), Some(kernel), Some(text)) => match context.config(replay.store) {
            Ok(config) => {
                let turn = Turn { context, rows: &rows, config, kernel, text: redact(text).clean };
                turn.outcomes(replay, &mut told)?
            }
            Err(fault) => without_configuration(replay, context, fault)?,
        },
        (Some(_), None, _) => with_context(|_| Outcome::NotChecked("its kernel is not here".to_owned())),
        (Some(context), _, None) => erased(replay, context)?,
    };
    outcomes.push((Assertion::SameBundle, bundle));
    outcomes.push((Assertion::SameRecord, record));
    if rows.context.is_none() {
        outcomes.push((Assertion::SamePrompt, plain_prompt(&rows, text)));
    }
    outcomes.sort_by_key(|(assertion, _)| *assertion);
    told.outcomes = outcomes;
    Ok(told)
}

/// The assertions that need a context, all alike.
fn with_context(outcome: impl Fn(Assertion) -> Outcome) -> Vec<(Assertion, Outcome)> {
    use Assertion::{NoObservation, SameConfiguration, SameContext, SameDecision, SameEvents, SameReferences};
    let all = [SameConfiguration, SameReferences, SameContext, NoObservation, SameDecision, SameEvents];
    all.into_iter().map(|assertion| (assertion, outcome(assertion))).collect()
}

/// Configuration and order need no text.
fn erased(replay: &Replay<'_>, context: &Context) -> Result<Vec<(Assertion, Outcome)>, ReplayError> {
    let (config, events) = (configuration(replay, context), events(replay, context, None)?);
    let mut outcomes = with_context(|assertion| match assertion {
        Assertion::SameConfiguration => config.clone(),
        Assertion::SameEvents => events.clone(),
        _ => Outcome::NotChecked(ERASED.to_owned()),
    });
    outcomes.push((Assertion::SamePrompt, Outcome::NotChecked(ERASED.to_owned())));
    Ok(outcomes)
}

fn without_configuration(
    replay: &Replay<'_>,
    context: &Context,
    fault: ContextFault,
) -> Result<Vec<(Assertion, Outcome)>, ReplayError> {
    let fault = Outcome::Fails(fault.to_string());
    let events = events(replay, context, None)?;
    let mut outcomes = with_context(|assertion| match assertion {
        Assertion::SameConfiguration => fault.clone(),
        Assertion::SameEvents => events.clone(),
        _ => Outcome::NotChecked("its configuration can't be read".to_owned()),
    });
    outcomes.push((Assertion::SamePrompt, Outcome::NotChecked("its configuration can't be read".to_owned())));
    Ok(outcomes)
}

fn configuration(replay: &Replay<'_>, context: &Context) -> Outcome {
    match context.config(replay.store) {
        Ok(config) => same("context_config_digest", Some(context.row.config_digest), Some(config.digest().0)),
        Err(fault) => Outcome::Fails(fault.to_string()),
    }
}

impl Turn<'_> {
    fn outcomes(&self, replay: &Replay<'_>, told: &mut Replayed) -> Result<Vec<(Assertion, Outcome)>, ReplayError> {
        replay.gone.set(false);
        let ledger = self.resolved(replay, None, self.kernel)?;
        let stream = self.resolved(replay, Some(self.rows.exchange.prompt_line), self.kernel)?;
        let gone = replay.gone.get() || self.context.row.context_digest.is_none() && ledger.resolved().is_ok();
        let or_gone = |outcome: Outcome| match gone {
            true => Outcome::NotChecked(ERASED.to_owned()),
            false => outcome,
        };
        if let Some(other) = &replay.other {
            told.tried = !gone;
            told.difference = if gone { None } else { self.difference(replay, other)? };
        }
        let digest = self.digest(&ledger);
        Ok(vec![
            (Assertion::SameConfiguration, configuration(replay, self.context)),
            (Assertion::SameReferences, or_gone(worst([self.references(&ledger), agree(&ledger, &stream)]))),
            (Assertion::SameContext, or_gone(self.same_context(&digest, &stream))),
            (Assertion::NoObservation, or_gone(worst([no_observation(&ledger), self.counts(replay)?]))),
            (Assertion::SameDecision, or_gone(self.decision(&ledger, digest.ok().flatten()))),
            (Assertion::SamePrompt, or_gone(self.prompt(&ledger))),
            (Assertion::SameEvents, events(replay, self.context, Some(self.rows))?),
        ])
    }

    /// Resolves what is declared again, under a kernel's caps.
    fn resolved(&self, replay: &Replay<'_>, before: Option<u64>, kernel: &Kernel) -> Result<TurnContext, ReplayError> {
        let declared = self.context.declared().unwrap_or_default();
        let made: Vec<Transformation> = serde_json::from_str(&self.context.row.transformations).unwrap_or_default();
        let erased = made.iter().filter(|t| t.effect == Effect::LeftOut && t.rule == Kept::Erased.code());
        let were_erased: HashSet<String> = erased.map(|t| t.ref_id.clone()).collect();
        let source = Source { replay, before, were_erased };
        let place = (self.context.row.thread, self.context.row.parent);
        TurnContext::resolve(&self.config, place, &declared, kernel.rules().rings.declared(), &source)
    }

    fn digest(&self, context: &TurnContext) -> Result<Option<NamedHash>, ContextFault> {
        let digest = context.digest(self.context.row.turn, self.text.as_str());
        digest.map_err(|e| ContextFault::Wrong(e.to_string()))
    }

    /// Stored references against those that were resolved again.
    fn references(&self, again: &TurnContext) -> Outcome {
        let stored: Vec<String> = self
            .context
            .refs
            .iter()
            .map(|one| {
                let r = &one.reference;
                let digest = r.digest.map_or("erased".to_owned(), |digest| digest.to_string());
                format!("{} {} {} {digest}", r.index, r.ref_id, r.admitted_for.name())
            })
            .collect();
        let refs = again.resolved().map_or(&[][..], |resolved| &resolved.refs);
        let found: Vec<String> = refs
            .iter()
            .map(|(r, _)| format!("{} {} {} {}", r.event_index, r.ref_id, r.admitted_for.name(), r.event_digest.0))
            .collect();
        let made = crate::record::canon::print(&again.transformations()).ok();
        let injected: Vec<String> = self.rows.declared_turns();
        let said = refs.iter().filter(|(_, event)| event.kind() != Kind::Decision);
        let expected: Vec<String> = said.map(|(_, event)| event.place().id.clone()).collect();
        let put = self.rows.exchange.bundle_json.is_some();
        worst([
            same("resolved_refs", Some(stored.join(", ")), Some(found.join(", "))),
            same("transformations", Some(self.context.row.transformations.clone()), made),
            match put {
                true => same(
                    "declared turns among context_artifact_ref",
                    Some(injected.join(", ")),
                    Some(expected.join(", ")),
                ),
                false => Outcome::Holds,
            },
        ])
    }

    fn same_context(&self, digest: &Result<Option<NamedHash>, ContextFault>, stream: &TurnContext) -> Outcome {
        let stored = self.context.row.context_digest;
        let from_log = match self.digest(stream) {
            Ok(digest) => same("context_digest, by the log's order", stored, digest.map(|digest| digest.0)),
            Err(fault) => fault.into(),
        };
        match digest {
            Ok(digest) => worst([same("context_digest", stored, digest.map(|digest| digest.0)), from_log]),
            Err(fault) => Outcome::Fails(fault.to_string()),
        }
    }

    /// The counts on record are those of INTENTs, in the database and in the log's order.
    fn counts(&self, replay: &Replay<'_>) -> Result<Outcome, ReplayError> {
        let counts = match self.context.counts() {
            Ok(counts) => counts,
            Err(fault) => return Ok(fault.into()),
        };
        if counts.as_of > self.rows.exchange.prompt_line {
            let what =
                format!("inputs.as_of {} is behind its own line {}", counts.as_of, self.rows.exchange.prompt_line);
            return Ok(Outcome::Fails(what));
        }
        let windows = self.kernel.policy().windows();
        let windows = (windows.rate, windows.budget);
        let print = |counts: &_| crate::record::canon::print(counts).ok();
        let by_log = replay.stream.counts(self.context.row.thread, counts, windows);
        let by_rows = recount(replay, self.context, counts, windows)?;
        Ok(worst([
            same("inputs, by the log's order", print(&counts), print(&by_log)),
            same("inputs, by the database", print(&counts), print(&by_rows)),
        ]))
    }

    fn decision(&self, context: &TurnContext, digest: Option<NamedHash>) -> Outcome {
        let (row, reasons) = (self.rows.exchange, self.context.reasons());
        let (counts, reasons) = match (self.context.counts(), reasons) {
            (Ok(counts), Ok(reasons)) => (counts, reasons),
            (Err(fault), _) | (_, Err(fault)) => return fault.into(),
        };
        let (codes, state) = decide(self.kernel, (&self.text, &row.model), context, counts);
        let result = if codes.is_empty() { "allow" } else { "deny" };
        let event = self.context.event(Kind::Decision);
        let again = event.map(|event| decision(self.rows, self.context, event, digest)).transpose();
        let again = match again {
            Ok(again) => again.map(|event| event.digest().0),
            Err(fault) => return fault.into(),
        };
        worst([
            same("decision", Some(row.decision.clone()), Some(result.to_owned())),
            same("reasons", Some(reasons.join(", ")), Some(codes.join(", "))),
            same("authority_state", Some(row.authority_state.name()), Some(state.name())),
            same("event_digest of the DECISION", event.and_then(|event| event.digest), again),
        ])
    }

    fn prompt(&self, context: &TurnContext) -> Outcome {
        let stored = (self.rows.exchange.prompt_hash, self.context.row.prompt_digest);
        if self.rows.exchange.bundle_json.is_none() && stored == (None, None) {
            return Outcome::NotChecked(NOTHING_SENT.to_owned());
        }
        if stored == (None, None) {
            return Outcome::NotChecked(ERASED.to_owned());
        }
        let compiled = match self.rows.compiled_with(context.block(), self.text.as_str()) {
            Ok(Some(compiled)) => compiled,
            Ok(None) => return Outcome::NotChecked("its bundle is erased".to_owned()),
            Err(words) => return Outcome::Fails(words),
        };
        let row = self.rows.exchange;
        let digest = prompt_digest(&compiled, &row.model, row.params.as_deref()).ok().map(|digest| digest.0);
        worst([
            same("prompt_hash", stored.0, Some(Hash32::digest(compiled.as_bytes()))),
            same("prompt_digest", stored.1, digest),
        ])
    }

    /// How another kernel would have decided, if otherwise; its caps and windows are used.
    fn difference(&self, replay: &Replay<'_>, other: &Kernel) -> Result<Option<Difference>, ReplayError> {
        let (Ok(counts), Ok(was)) = (self.context.counts(), self.context.reasons()) else { return Ok(None) };
        let context = self.resolved(replay, None, other)?;
        let windows = other.policy().windows();
        let counts = recount(replay, self.context, counts, (windows.rate, windows.budget))?;
        let (would, _) = decide(other, (&self.text, &self.rows.exchange.model), &context, counts);
        Ok((was != would).then_some(Difference { was, would }))
    }
}

/// Counts again in the database.
fn recount(
    replay: &Replay<'_>,
    context: &Context,
    given: crate::record::context::turn::Counts,
    (rate, budget): (Option<u64>, Option<u64>),
) -> Result<crate::record::context::turn::Counts, ReplayError> {
    let within = |seconds: u64| replay.store.intents_since(given.at.before(seconds), given.as_of);
    let recent = rate.map(within).transpose()?;
    let spent = budget.map(within).transpose()?;
    Ok(crate::record::context::turn::Counts {
        recent: recent.map_or(0, |(count, _)| count),
        spent: spent.map_or(0, |(_, tokens)| tokens),
        thread: replay.store.intents_before(context.row.thread, given.as_of)?,
        ..given
    })
}

/// Database and log's order resolve alike.
fn agree(ledger: &TurnContext, stream: &TurnContext) -> Outcome {
    let told = |context: &TurnContext| match context.resolved() {
        Ok(resolved) => {
            let refs =
                resolved.refs.iter().map(|(r, _)| format!("{} {} {}", r.event_index, r.ref_id, r.event_digest.0));
            refs.collect::<Vec<_>>().join(", ")
        }
        Err(fault) => fault.to_string(),
    };
    same("resolved_refs, database against log", Some(told(ledger)), Some(told(stream)))
}

/// Normative inputs are the digests of INTENTs, and of nothing else.
fn no_observation(context: &TurnContext) -> Outcome {
    let Some(hashed) = context.assembled("", Form::Hashed) else { return Outcome::Holds };
    let mut intents: Vec<NamedHash> = context.intents().iter().map(|intent| intent.digest()).collect();
    intents.sort();
    if hashed.normative_input_digests == intents {
        return Outcome::Holds;
    }
    Outcome::Fails("normative_input_digests: they are not those of the INTENTs that are referred to".to_owned())
}

impl Rows<'_> {
    /// Ids of turns that stand among the references as declared, in their order.
    fn declared_turns(&self) -> Vec<String> {
        let refs = self.refs.iter().filter(|r| r.artifact_type == TURN && r.included_reason.starts_with(DECLARED));
        refs.map(|r| r.artifact_id.clone()).collect()
    }
}
