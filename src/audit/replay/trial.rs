//! Another kernel, tried on history: which decisions would have been others, had it been in force
//! from the beginning.
//!
//! History is walked in the order of its lines, and what the kernel denies on the way is denied for
//! what comes later: it has no answer, and no model was shown it. Questions stay as they were
//! asked; nobody knows what else would have been asked then, and what a model would have said to a
//! question that was denied.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use uuid::Uuid;

use crate::continuity::declared::TurnContext;
use crate::govern::authority::{
    Decision, Judge, PolicyInput, SentBeside, broken_beside, may_be_beside,
};
use crate::govern::kernel::Kernel;
use crate::govern::policy::FORBIDDEN;
use crate::govern::sanitize::{Clean, redact};
use crate::record::context::event::{EventKind, IntentPayload};
use crate::record::context::turn::Counts;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::Bundle;
use crate::record::ledger::client_request::ClientRequest;
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::params::Params;
use crate::record::ledger::request::RequestDoc;
use crate::store::{ContextRows, ExchangeRow, StoreError};

use super::source::EventSource;
use super::turn::{unanswered, were_erased};
use super::{Replay, ReplayError};

/// A decision that would differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialDifference {
    /// Id of the exchange whose verdict differs.
    pub exchange: Uuid,
    /// Session that the exchange is part of.
    pub session: Hash32,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// Question of that exchange, without secrets.
    pub question: Clean,
    /// Codes on record; none when it was allowed.
    pub was: Vec<String>,
    /// Codes under the other kernel; none when it would be allowed.
    pub would: Vec<DenyingRule>,
}

/// One rule that would deny a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyingRule {
    /// Code of the rule, as a decision names it.
    pub code: String,
    /// What it would be denied for.
    pub cause: Cause,
}

/// What a rule looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The question's own text.
    Own,
    /// A text that it refers to: the turn that this is of.
    Referred(Uuid),
    /// What was sent with it: the owner's part of the system message, the intent in force, facts
    /// and notes.
    Beside,
    /// Something else than texts: counts, references, the model.
    Other,
}

impl Cause {
    /// Its name in `--json`.
    pub const fn name(&self) -> &'static str {
        match self {
            Cause::Own => "own_text",
            Cause::Referred(_) => "referred_text",
            Cause::Beside => "sent_with_it",
            Cause::Other => "other",
        }
    }
}

/// How often a rule would deny.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Questions that it would deny, with those that are denied on record.
    pub questions: u64,
    /// … for their own text.
    pub own: u64,
    /// … for a text that they refer to.
    pub referred: u64,
}

/// What came of a trial.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Questions that were decided again.
    pub tried: u64,
    /// Why others were not, and how many.
    pub untried: BTreeMap<&'static str, u64>,
    /// Whether the one that was asked for was decided again; of all of them, whether any was.
    pub reached: bool,
    /// Decisions that would be others.
    pub differences: Vec<TrialDifference>,
    /// How many questions each rule denies, by its code.
    pub totals: BTreeMap<String, Total>,
}

/// What a kernel decides about a turn: codes, none when it allows; and the authority state.
pub(super) fn decide(
    judge: &Judge,
    (text, model): (&Clean, &str),
    context: &TurnContext,
    counts: Counts,
) -> (Vec<String>, AuthorityState) {
    decide_on(judge, (text, model), context, counts, context.intents())
}

fn decide_on(
    judge: &Judge,
    (text, model): (&Clean, &str),
    context: &TurnContext,
    counts: Counts,
    intents: Vec<&IntentPayload>,
) -> (Vec<String>, AuthorityState) {
    if let Err(fault) = context.resolved() {
        return (vec![fault.code().to_owned()], AuthorityState::Blocked);
    }
    let decision: Decision = judge.decide(&PolicyInput {
        prompt: text,
        model,
        counts,
        intents,
    });
    (decision.reasons().to_vec(), decision.authority_state())
}

/// Its text is erased, or was never kept.
const NO_TEXT: &str = "its text is not here";
/// It has no thread.
const NO_CONTEXT: &str =
    "it was recorded before there were threads, or taken over from a ledger alone";
/// A denial for it would be the record's word.
const BESIDE: &str = "it was denied for what was to be sent with it, which is not on record";
/// Its rows can't be read.
const UNREAD: &str = "its configuration or its counts can't be read: see the replay";

/// Tries a kernel on all history, or on one exchange after all that came before it.
pub(super) fn run(
    replay: &Replay<'_>,
    other: &Kernel,
    only: Option<Uuid>,
) -> Result<Trial, ReplayError> {
    let mut order: Vec<(u64, Uuid)> = Vec::new();
    replay.store.each_asked(&mut |row| {
        order.push((row.line, row.exchange));
        Ok(())
    })?;
    order.sort_unstable();
    let judge = replay.judge(other);
    let mut rolling = TrialHistory {
        replay,
        other,
        judge: &judge,
        denied: HashSet::new(),
        trial: Trial::default(),
    };
    for (_, exchange) in order {
        let row = replay
            .store
            .exchange(exchange)?
            .ok_or(StoreError::Corrupt {
                place: "llm_exchange.exchange_id".to_owned(),
                expected: "an exchange".to_owned(),
                actual: exchange.to_string(),
            })?;
        let is_asked_for = only.is_none_or(|only| only == exchange);
        match rolling.turn(&row)? {
            Ok(difference) if is_asked_for => rolling.count(difference),
            Err(why) if is_asked_for => *rolling.trial.untried.entry(why).or_default() += 1,
            _ => {}
        }
        if only == Some(exchange) {
            break;
        }
    }
    Ok(rolling.trial)
}

/// What was sent with a question: the bundle, and as texts the owner's part of the system message,
/// what was told of the answer's shape, and what a client brought; none where nothing was sent, or it
/// is not here.
fn sent_with(row: &ExchangeRow) -> Option<(Bundle, Vec<String>)> {
    let bundle = Bundle::parse(row.bundle_json.as_deref()?).ok()?;
    let params = row.params.as_deref().map(Params::parse);
    let params = params.and_then(Result::ok).unwrap_or_default();
    let request = row.request.as_deref().map(RequestDoc::parse);
    let request = request.and_then(Result::ok);
    let client = request.and_then(|request| request.client(&params));
    let brought = client.as_ref().map(ClientRequest::texts);
    let shape = params.shape_beside();
    let told = params.system.into_iter().chain(shape);
    Some((bundle, told.chain(brought.unwrap_or_default()).collect()))
}

/// History up to a line, as it would have been.
struct TrialHistory<'r, 'a> {
    replay: &'r Replay<'a>,
    other: &'r Kernel,
    judge: &'r Rc<Judge>,
    /// Turns that would have been denied.
    denied: HashSet<Uuid>,
    trial: Trial,
}

/// Why a turn is not decided again, or what was and what would be.
type TrialResult = Result<TrialDifference, &'static str>;

impl TrialHistory<'_, '_> {
    fn turn(&mut self, row: &ExchangeRow) -> Result<TrialResult, ReplayError> {
        let tried = self.again(row)?;
        let denied = match &tried {
            Ok(difference) => !difference.would.is_empty(),
            // What can't be decided again stays as it was.
            Err(_) => row.decision == "deny",
        };
        if denied {
            self.denied.insert(row.exchange_id);
        }
        Ok(tried)
    }

    fn again(&self, row: &ExchangeRow) -> Result<TrialResult, ReplayError> {
        let replay = self.replay;
        let Some(context) = ContextRows::read_by(replay.store, row.exchange_id, || Ok(Vec::new()))?
        else {
            return Ok(Err(NO_CONTEXT));
        };
        let Some(text) = replay
            .store
            .turn(row.turn_user)?
            .and_then(|turn| turn.content)
        else {
            return Ok(Err(NO_TEXT));
        };
        let config = replay.config(&context)?;
        let (Ok(config), Ok(counts), Ok(was)) =
            (config.as_ref(), context.counts(), context.reasons())
        else {
            return Ok(Err(UNREAD));
        };
        let Some(session) = replay.session(row.session)? else {
            return Ok(Err(UNREAD));
        };
        let mut declared = Vec::new();
        for one in context.declared().unwrap_or_default() {
            if !self.never_said(&one.ref_id)? {
                declared.push(one);
            }
        }
        let (were_erased, judge) = (were_erased(&context), self.judge.clone());
        let source = EventSource {
            replay,
            before: None,
            were_erased,
            unanswered: unanswered(replay, &context, row.prompt_line)?,
            kernel: self.other.hash(),
            judge,
        };
        let place = context.place();
        let resolved = TurnContext::resolve(
            config,
            place,
            &declared,
            self.other
                .rules()
                .rings
                .of(place.intent)
                .within(counts.room),
            &source,
        )?;
        replay.gone.replace(None);
        let counts =
            replay
                .intents
                .counts(context.row.thread, counts, self.other.policy().windows());
        let question = redact(&text).clean;
        let mut would = self.rules((&question, &row.model), &resolved, counts);
        if would.is_empty() {
            let sent = sent_with(row);
            let mut beside = SentBeside::default();
            if let Some((bundle, told)) = &sent {
                let told = told.iter().map(String::as_str);
                beside.texts.extend(told);
                beside.texts.extend(bundle.texts_of_people());
                beside.names.extend(bundle.names_by_people());
            }
            let codes = broken_beside(self.other, &question, counts, &beside);
            would.extend(codes.into_iter().map(|code| DenyingRule {
                code,
                cause: Cause::Beside,
            }));
        }
        if would.is_empty() && may_be_beside(self.other, &was) {
            return Ok(Err(BESIDE));
        }
        Ok(Ok(TrialDifference {
            exchange: row.exchange_id,
            session: session.id,
            seq: row.seq,
            question,
            was,
            would,
        }))
    }

    /// Whether an id is that of an answer which nobody would have given.
    fn never_said(&self, id: &str) -> Result<bool, ReplayError> {
        let Ok(uuid) = id.parse::<Uuid>() else {
            return Ok(false);
        };
        let event = self.replay.store.event(uuid)?;
        Ok(event.is_some_and(|event| {
            event.kind == EventKind::Execution && self.denied.contains(&event.turn)
        }))
    }

    /// The rules that would deny a question, each with its cause.
    fn rules(
        &self,
        (text, model): (&Clean, &str),
        context: &TurnContext,
        counts: Counts,
    ) -> Vec<DenyingRule> {
        let intents: Vec<IntentPayload> = context
            .intents()
            .into_iter()
            .map(|intent| {
                let turn = intent.place().turn_id.parse().ok();
                intent
                    .clone()
                    .with_denied(turn.is_some_and(|turn| self.denied.contains(&turn)))
            })
            .collect();
        let on = |intents: Vec<&IntentPayload>| {
            decide_on(self.judge, (text, model), context, counts, intents).0
        };
        let alone: BTreeSet<String> = on(Vec::new()).into_iter().collect();
        let cause = |code: &str| {
            if !code.starts_with(FORBIDDEN) {
                return if code.starts_with("policy.prompt") || code == "policy.empty_prompt" {
                    Cause::Own
                } else {
                    Cause::Other
                };
            }
            if alone.contains(code) {
                return Cause::Own;
            }
            let of = intents
                .iter()
                .find(|intent| on(vec![intent]).iter().any(|one| one == code));
            of.and_then(|intent| intent.place().turn_id.parse().ok())
                .map_or(Cause::Other, Cause::Referred)
        };
        on(intents.iter().collect())
            .into_iter()
            .map(|code| DenyingRule {
                cause: cause(&code),
                code,
            })
            .collect()
    }

    fn count(&mut self, difference: TrialDifference) {
        self.trial.tried += 1;
        self.trial.reached = true;
        for rule in &difference.would {
            let total = self.trial.totals.entry(rule.code.clone()).or_default();
            total.questions += 1;
            total.own += u64::from(rule.cause == Cause::Own);
            total.referred += u64::from(matches!(rule.cause, Cause::Referred(_)));
        }
        if difference
            .was
            .iter()
            .ne(difference.would.iter().map(|rule| &rule.code))
        {
            self.trial.differences.push(difference);
        }
    }
}
