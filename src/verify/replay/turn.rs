//! One exchange computed again, assertion by assertion.

use std::collections::HashSet;

use crate::continuity::candidate::Recalled;
use crate::continuity::compile::{Inputs, compile};
use crate::continuity::declared::TurnContext;
use crate::continuity::gates::Kept;
use crate::continuity::turns::{DECLARED, TURN};
use crate::govern::kernel::Kernel;
use crate::govern::sanitize::{Clean, redact};
use crate::record::bundle::{Bundle, NamedHash};
use crate::record::context::config::ContextConfig;
use crate::record::context::event::Kind;
use crate::record::context::spec::{Effect, Form, Transformation};
use crate::record::context::turn::prompt_digest;
use crate::record::hash::Hash32;
use crate::store::{ExchangeRow, SessionRow};

use super::super::contexts::{Context, ContextFault, event_again};
use super::super::exchange_rows::Rows;
use super::super::threads::decision;
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
const ERASED: &str = "a text in it is erased or was not kept";

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

fn same<T: PartialEq + std::fmt::Display>(what: &str, recorded: Option<T>, again: Option<T>) -> Outcome {
    if recorded == again {
        return Outcome::Holds;
    }
    let told = |value: Option<T>| value.map_or("none".to_owned(), |value| value.to_string());
    Outcome::Fails(format!("{what}: on record {}, computed again {}", told(recorded), told(again)))
}

fn configuration(replay: &Replay<'_>, context: &Context) -> Outcome {
    match context.config(replay.store) {
        Ok(config) => same("context_config_digest", Some(context.row.config_digest), Some(config.digest().0)),
        Err(fault) => Outcome::Fails(fault.to_string()),
    }
}

/// The first of several outcomes that does not hold.
fn worst(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    let mut worst = Outcome::Holds;
    for outcome in outcomes {
        match (&worst, &outcome) {
            (Outcome::Fails(_), _) => {}
            (_, Outcome::Fails(_)) | (Outcome::Holds, Outcome::NotChecked(_)) => worst = outcome,
            _ => {}
        }
    }
    worst
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

const NOTHING_SENT: &str = "nothing was to be sent";

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

/// The events of a turn against the log's order, and against their texts where those are here.
fn events(replay: &Replay<'_>, context: &Context, rows: Option<&Rows<'_>>) -> Result<Outcome, ReplayError> {
    let placed = replay.stream.of_turn(context.row.turn);
    if placed.is_empty() {
        let behind = rows.is_some_and(|rows| rows.exchange.prompt_line >= replay.stream.lines);
        return Ok(match behind {
            true => Outcome::NotChecked("audit.log does not reach it yet".to_owned()),
            false => Outcome::Fails("the log has no prompt line of it".to_owned()),
        });
    }
    let told = |id, kind: Kind, thread, index, line: u64| {
        format!("{} {id} is event {index} of thread {thread}, line {}", kind.name(), line + 1)
    };
    let expected: Vec<String> = placed.iter().map(|(id, p)| told(*id, p.kind, p.thread, p.index, p.line)).collect();
    let found: Vec<String> = context.events.iter().map(|e| told(e.event, e.kind, e.thread, e.index, e.line)).collect();
    if expected != found {
        let missing = expected.iter().find(|one| !found.contains(one));
        let extra = found.iter().find(|one| !expected.contains(one));
        let words = |one: Option<&String>| one.cloned().unwrap_or_else(|| "nothing".to_owned());
        return Ok(Outcome::Fails(format!("by the log {}; in the database {}", words(missing), words(extra))));
    }
    for event in context.events.iter().filter(|event| event.kind != Kind::Decision) {
        match event_again(replay.store, event) {
            Ok(again) if Some(again.digest().0) == event.digest => {}
            Ok(again) => {
                let what = format!("event_digest of {} {}", event.kind.name(), event.event);
                return Ok(same(&what, event.digest, Some(again.digest().0)));
            }
            Err(ContextFault::Gone) => return Ok(Outcome::NotChecked(ERASED.to_owned())),
            Err(ContextFault::Store(error)) => return Err(error.into()),
            Err(fault) => return Ok(fault.into()),
        }
    }
    Ok(Outcome::Holds)
}

/// The bundle: ring 0 compiled again, the rest as it was found then; and its hash.
fn bundle(session: &SessionRow, row: &ExchangeRow, kernel: Option<&Kernel>, text: Option<&str>) -> Outcome {
    let Some(json) = &row.bundle_json else {
        let why = if row.bundle_hash.is_none() { NOTHING_SENT } else { ERASED };
        return Outcome::NotChecked(why.to_owned());
    };
    let (Some(kernel), Some(text)) = (kernel, text) else { return Outcome::NotChecked(ERASED.to_owned()) };
    let stored = match Bundle::parse(json) {
        Ok(stored) => stored,
        Err(e) => return Outcome::Fails(format!("context_bundle_json: {e}")),
    };
    let recalled = Recalled::default();
    let compiled = compile(&Inputs {
        session_id: session.uuid,
        user_input: &redact(text).clean,
        kernel,
        host_role: &session.host_role,
        model_id: &row.model,
        now: stored.compiled_at.0,
        sight: stored.sight.clone(),
        recalled: &recalled,
    });
    let again = compiled.map_err(|e| e.to_string()).and_then(|compiled| {
        let mut again = compiled.bundle().clone();
        // What was found on record then is an observation; the system's intent is ring 0's.
        let found = stored.intent.get(again.intent.len()..).unwrap_or_default().to_vec();
        again.intent.extend(found);
        again.facts.clone_from(&stored.facts);
        again.open_items.clone_from(&stored.open_items);
        again.exclusions.clone_from(&stored.exclusions);
        again.print().map_err(|e| e.to_string())
    });
    match again {
        Ok(again) if again == *json => {
            same("context_bundle_hash", row.bundle_hash, Some(Hash32::digest(again.as_bytes())))
        }
        Ok(_) => Outcome::Fails("context_bundle_json: ring 0 compiles to another bundle".to_owned()),
        Err(words) => Outcome::Fails(format!("context_bundle_json: {words}")),
    }
}

/// The exchange document from the rows, against the commitment.
fn record(replay: &Replay<'_>, rows: &Rows<'_>) -> Outcome {
    let Some(outcome) = &rows.exchange.outcome else {
        return Outcome::NotChecked("it has no outcome yet".to_owned());
    };
    let Some(salt) = &rows.exchange.salt else { return Outcome::NotChecked(ERASED.to_owned()) };
    if rows.has_gone() {
        return Outcome::NotChecked(ERASED.to_owned());
    }
    let document = rows.document(replay.scheme, salt);
    match document.and_then(|document| document.commitment(replay.scheme, salt).map_err(|e| e.to_string())) {
        Ok(again) => same("exchange_commitment", Some(outcome.exchange_commitment), Some(again)),
        Err(words) => Outcome::Fails(words),
    }
}

/// The compiled prompt of an exchange from before threads.
fn plain_prompt(rows: &Rows<'_>, text: Option<&str>) -> Outcome {
    let Some(text) = text else { return Outcome::NotChecked(ERASED.to_owned()) };
    let Some(stored) = rows.exchange.prompt_hash else {
        let why = if rows.exchange.bundle_json.is_none() { NOTHING_SENT } else { ERASED };
        return Outcome::NotChecked(why.to_owned());
    };
    match rows.compiled(text) {
        Ok(compiled) => same("prompt_hash", Some(stored), compiled.map(|text| Hash32::digest(text.as_bytes()))),
        Err(words) => Outcome::Fails(words),
    }
}

impl Rows<'_> {
    /// Ids of turns that stand among the references as declared, in their order.
    fn declared_turns(&self) -> Vec<String> {
        let refs = self.refs.iter().filter(|r| r.artifact_type == TURN && r.included_reason.starts_with(DECLARED));
        refs.map(|r| r.artifact_id.clone()).collect()
    }
}
