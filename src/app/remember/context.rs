//! What was, or would be, put before a model, why, and what was kept out.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::ask::conversation;
use crate::ask::draft::{Denial, DraftInput, PromptPlan, ReferredQuestion};
use crate::ask::recall::DeclaredContext;
use crate::ask::refer::{ParentTurn, ResolvedRefs};
use crate::ask::withheld::{WITHHELD, Withheld};
use crate::audit::rows::contexts::ContextFault;
use crate::continuity::compile::{CompileFault, ContextBundle};
use crate::continuity::declared::TurnPlace;
use crate::govern::sanitize::redact;
use crate::govern::sight_rules::{SightPlan, SightWish};
use crate::home::Home;
use crate::record::canon;
use crate::record::ledger::bundle::{ArtifactRef, Bundle, Exclusion, SightEntry};
use crate::record::ledger::prompt::TURN;
use crate::record::ledger::short_name::{short_name, short_names};
use crate::recorder::Refusal;
use crate::session::ActiveSession;
use crate::store::{ArtifactRefRow, ExchangeRow, ReadStore, StoreError};

use super::handoff::declare::in_place_of_last;
use super::project;
use crate::app::ask::denial::{fault_words, refusal_words};
use crate::app::ask::model_choice::{CallOptions, choose_in};
use crate::app::ask::references::{ContextRequest, ThreadRequest};
use crate::app::ask::warnings::issue_words;
use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::conversation::ConversationScope;
use crate::app::look::digests::{TurnDigests, digests};
use crate::app::look::not_shown::{UnshownReference, changed, not_shown};
use crate::app::look::show;

/// What was put before the model in an exchange.
pub struct ContextDetails {
    /// Row of the exchange whose context this is.
    pub exchange: ExchangeRow,
    /// What was put.
    pub refs: Vec<ArtifactRef>,
    /// What each of them says, where it says anything.
    pub texts: Vec<Option<String>>,
    /// What was kept out.
    pub exclusions: Vec<Exclusion>,
    /// How screens call all of it.
    pub names: ContextNames,
    /// What was compiled; none when nothing was, or it is not here.
    pub bundle: Option<Bundle>,
    /// The documents that its digests are over; none for an exchange without a thread.
    pub digests: Option<TurnDigests>,
}

impl ContextDetails {
    /// Why its bundle is not shown, in a sentence; none where it is here.
    pub fn missing(&self) -> Option<&'static str> {
        let exchange = &self.exchange;
        if self.bundle.is_some() {
            return None;
        }
        Some(match &exchange.not_kept {
            Some(not_kept) if not_kept.bundle.is_some() => {
                "its bundle was not kept (store.content was \"none\"): what it said is not here, what was in it is named"
            }
            _ if self.refs.is_empty() => "nothing was put before a model for it",
            _ if exchange.is_erased() => {
                "its question and its answer are erased; what was put before the model beside them is named"
            }
            _ => {
                "its bundle is not here any more, erased or lost: what stood in it is named, and shown as far as it is here"
            }
        })
    }
}

/// How screens call an exchange, what was put before its model, and what was kept out.
#[derive(Clone, Debug, Default)]
pub struct ContextNames {
    /// The exchange; empty for one that was not asked.
    pub exchange: String,
    /// What was put, in its order.
    pub refs: Vec<String>,
    /// What was kept out, in its order.
    pub exclusions: Vec<String>,
}

impl ContextNames {
    fn of(
        store: &ReadStore,
        refs: &[ArtifactRef],
        exclusions: &[Exclusion],
    ) -> Result<ContextNames, StoreError> {
        let refs = refs.iter().map(|one| screen_name(store, &one.artifact_id));
        let kept_out = exclusions
            .iter()
            .map(|one| screen_name(store, &one.artifact));
        Ok(ContextNames {
            exchange: String::new(),
            refs: refs.collect::<Result<_, _>>()?,
            exclusions: kept_out.collect::<Result<_, _>>()?,
        })
    }
}

/// `81bb5b35/15` for an earlier turn, `fact-3`, `disk_usage`; a warning by the number that it has in
/// every list.
fn screen_name(store: &ReadStore, id: &str) -> Result<String, StoreError> {
    let turn = id.strip_prefix("turn:").unwrap_or(id);
    if let Ok(turn) = turn.parse::<Uuid>() {
        return match store.exchange_of_turn(turn)? {
            Some(exchange) => find::short_id_of_row(store, &exchange),
            None => Ok("a question of another record".to_owned()),
        };
    }
    if id.starts_with("driftwatch:") {
        let known = find::drift(store, id);
        return Ok(known.map_or_else(|_| short_name(id), |state| short_name(&state.id())));
    }
    let mut parts = id.split(':');
    Ok(match (parts.next(), parts.next()) {
        (Some("tool"), Some(tool)) => tool.to_owned(),
        (Some("kernel"), Some(_)) => "kernel".to_owned(),
        _ => short_name(id),
    })
}

/// What an artifact says, as people read it: who speaks, what a warning was of, which facts
/// disagree.
pub fn screen_text(reference: &ArtifactRef, said: &str) -> String {
    if reference.artifact_type == TURN {
        let speakers = [("user: ", "question: "), ("aurora: ", "answer: ")];
        let told = speakers
            .iter()
            .find_map(|(speaker, word)| Some(format!("{word}{}", said.strip_prefix(speaker)?)));
        return told.unwrap_or_else(|| said.to_owned());
    }
    let id = &reference.artifact_id;
    if id.starts_with("driftwatch:") {
        return issue_words(said).unwrap_or_else(|| said.to_owned());
    }
    match id.starts_with("conflict:") {
        true => short_names(said),
        false => said.to_owned(),
    }
}

/// What was put before the model in the exchange that `id` means.
pub fn show(home: &Home, id: &str) -> Result<ContextDetails, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let exchange = find::exchange(&store, id)?;
    let refs = refs_of(&store.artifact_refs(exchange.exchange_id)?);
    let bundle = exchange
        .bundle_json
        .as_deref()
        .and_then(|text| Bundle::parse(text).ok());
    let gate = Withheld::of(&store);
    let said = |reference: &ArtifactRef| match (reference.artifact_type.as_str(), &bundle) {
        (TURN, _) => turn_text(&store, &gate, &reference.artifact_id),
        (_, bundle) => Ok(bundle
            .as_ref()
            .and_then(|bundle| said_in(bundle, &reference.artifact_id))),
    };
    let texts = refs.iter().map(said).collect::<Result<Vec<_>, _>>()?;
    let compiled = show::compiled(&store, &exchange)?;
    let digests = digests(&store, &exchange, compiled.as_deref()).map_err(|fault| match fault {
        ContextFault::Store(error) => OpenHomeError::Store(error),
        other => OpenHomeError::Setting {
            place: "context".into(),
            reason: other.to_string(),
        },
    })?;
    let exclusions: Vec<Exclusion> =
        canon::parse(exchange.exclusions.as_bytes()).unwrap_or_default();
    let names = ContextNames {
        exchange: find::short_id_of_row(&store, &exchange)?,
        ..ContextNames::of(&store, &refs, &exclusions)?
    };
    Ok(ContextDetails {
        exclusions,
        names,
        exchange,
        refs,
        texts,
        bundle,
        digests,
    })
}

/// References as they stand on record.
fn refs_of(rows: &[ArtifactRefRow]) -> Vec<ArtifactRef> {
    let flags = |row: &ArtifactRefRow| {
        row.risk_flags
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
    };
    rows.iter()
        .map(|row| ArtifactRef {
            artifact_type: row.artifact_type.clone(),
            artifact_id: row.artifact_id.clone(),
            artifact_hash: row.artifact_hash,
            included_reason: row.included_reason.clone(),
            observed_at: row.observed_at,
            freshness_s: row.freshness_s,
            risk_flags: flags(row).unwrap_or_default(),
        })
        .collect()
}

/// What an artifact says in a bundle.
fn said_in(bundle: &Bundle, id: &str) -> Option<String> {
    let fact = bundle
        .facts
        .iter()
        .find(|fact| fact.id == id)
        .map(|fact| &fact.claim);
    let item = bundle
        .open_items
        .iter()
        .find(|item| item.id == id)
        .map(|item| &item.issue);
    // A person has one intent in force, and the bundle does not name it.
    let intent = bundle
        .intent
        .iter()
        .filter(|_| id.starts_with("intent:"))
        .find(|intent| intent.source == "user");
    fact.or(item)
        .or(intent.map(|intent| &intent.intent))
        .cloned()
}

fn turn_text(
    store: &ReadStore,
    gate: &Withheld<'_>,
    id: &str,
) -> Result<Option<String>, StoreError> {
    let Ok(id) = id.parse() else { return Ok(None) };
    let Some(turn) = store.turn(id)? else {
        return Ok(None);
    };
    let speaker = if turn.by_user { "user" } else { "aurora" };
    if gate.turn(id)? {
        return Ok(Some(format!("{speaker}: ({WITHHELD})")));
    }
    if turn.content.is_none()
        && store
            .exchange_of_turn(id)?
            .is_some_and(|exchange| exchange.not_kept.is_some())
    {
        return Ok(Some(format!("{speaker}: (not kept)")));
    }
    Ok(turn.content.map(|text| format!("{speaker}: {text}")))
}

/// A question whose context is to be compiled, without asking it.
#[derive(Clone, Debug, Default)]
pub struct PreviewRequest {
    /// Question that would be asked.
    pub text: String,
    /// For which model.
    pub model: Option<String>,
    /// What is declared as its context.
    pub context: ContextRequest,
    /// Where it stands.
    pub thread: ThreadRequest,
    /// Whether the tools are looked at.
    pub sight: SightWish,
}

/// What a question would come to.
pub struct ContextPreview {
    /// The session that it would be asked in; none when one would be opened.
    pub session: Option<Uuid>,
    /// What was declared.
    pub declared: DeclaredContext,
    /// That a handoff is shown in place of the last turns, in a sentence.
    pub handoff: Option<String>,
    /// How that was resolved.
    pub referred: ResolvedRefs,
    /// How screens call what was compiled.
    pub names: ContextNames,
    /// What was declared and would not be shown.
    pub not_shown: Vec<UnshownReference>,
    /// What would become of it.
    pub outcome: PreviewOutcome,
}

/// What would become of a question.
pub enum PreviewOutcome {
    /// This would be put before the model.
    Compiled(Box<ContextBundle>),
    /// Nothing can be compiled.
    Fault(CompileFault),
    /// Policy would deny it.
    Denied {
        /// Codes of the rules that would deny it.
        codes: Vec<String>,
        /// Why, in words.
        why: String,
    },
}

impl PreviewOutcome {
    fn refused(store: &ReadStore, denial: Denial, referred: &ResolvedRefs) -> PreviewOutcome {
        if let Some(fault) = denial.fault {
            return PreviewOutcome::Fault(*fault);
        }
        let why = match referred.context.resolved() {
            Err(fault) => fault_words(store, fault),
            Ok(_) => format!("nothing would be sent: {}", refusal_words(&denial.refusal)),
        };
        let codes = match denial.refusal {
            Refusal::Denied { codes, .. } => codes,
            Refusal::CompileFailed { reason, .. } => vec![reason],
        };
        PreviewOutcome::Denied { codes, why }
    }
}

/// Compiles the context of a question; calls no model, records nothing, and needs no auth key.
pub async fn preview(
    home: &Home,
    request: &PreviewRequest,
) -> Result<ContextPreview, OpenHomeError> {
    let config = open::config(home)?;
    let database = home.paths().database();
    let store = open::store(home)?;
    let kernel = Home::kernel(&store)?;
    let config = config.on_host(kernel.host_role());
    let context = home.context()?;
    let mut declared = request.context.declared(&config, context.rules(), &store)?;
    let scope = ConversationScope {
        key: None,
        project: project::id_in_use(&store, &config)?,
    };
    let position = request.thread.standing(&store, &scope)?;
    let keeps = position.thread.filter(|_| request.thread.keeps_model());
    let keeps = keeps.map(|thread| (&*store, thread));
    let (call, asked) = (CallOptions::default(), request.model.as_deref());
    let model = choose_in(keeps, asked, &call, (&config, &database))
        .await?
        .model;
    let text = redact(&request.text).clean;
    let host_role = &config.session.host_role;
    let now = open::clock()?;
    // Those that a question would find idle are closed before it is asked. Whose session it would
    // be is not asked: no key is needed for a look.
    let mut open_sessions = store.open_sessions()?;
    let idle = config.session.idle;
    open_sessions.retain(|session| !session.is_quiet(now, idle));
    let row = open_sessions.iter().rev().find(|session| {
        !request.thread.anew && session.runs_under(kernel.hash(), model.id(), host_role)
    });
    let session = row.map(|session| session.uuid);
    let thread = match (position.thread, row) {
        (Some(thread), _) => thread,
        (None, Some(session)) => {
            let active = ActiveSession {
                session: session.clone(),
                opened: false,
                is_new: false,
                seen: None,
            };
            conversation::thread_of(&store, &active)?
        }
        // Without a session or a conversation there is no thread yet: nothing can be referred to.
        (None, None) if request.thread.anew || conversation::stands_beside(model.id()) => {
            Uuid::nil()
        }
        (None, None) => conversation::newest(&store, open_sessions.iter())?.unwrap_or_default(),
    };
    let is_next = request.context.refs.is_empty() && position.parent == ParentTurn::Newest;
    let handoff = match is_next {
        true => in_place_of_last(&store, thread, &declared)?,
        false => None,
    };
    let handoff = handoff.map(|instead| {
        declared = instead.declared;
        instead.sentence
    });
    let plan = SightPlan::of(&kernel, &request.text, request.sight);
    let sight = open::sight(home, &config, (&kernel, &store), &plan)?;
    let own = model.system().map(|text| redact(text.trim()).clean);
    let input = DraftInput {
        store: &store,
        kernel: &kernel,
        context: &context,
        model: &model,
        session: session.unwrap_or_default(),
        host_role,
        text: &text,
        own: own.as_ref(),
        client: None,
        declared: &declared,
        place: TurnPlace {
            thread,
            parent: position.parent.of(&store, thread)?,
            intent: position.intent,
        },
        room: None,
        is_streamed: false,
        now,
    };
    let (outcome, referred) = drafted(input, &sight).await?;
    let names = match &outcome {
        PreviewOutcome::Compiled(bundle) => {
            ContextNames::of(&store, bundle.refs(), bundle.exclusions())?
        }
        _ => ContextNames::default(),
    };
    Ok(ContextPreview {
        session,
        not_shown: [
            not_shown(&store, &referred.context),
            changed(&store, &referred.changed),
        ]
        .concat(),
        declared,
        handoff,
        referred,
        names,
        outcome,
    })
}

/// What `ask` would make of a question: again with less room for earlier turns where the model's
/// window asks for that.
async fn drafted(
    mut input: DraftInput<'_>,
    sight: &BTreeMap<String, SightEntry>,
) -> Result<(PreviewOutcome, ResolvedRefs), OpenHomeError> {
    loop {
        let question = ReferredQuestion::of(input)?;
        let plan = match question.draft(sight.clone())? {
            Err(denial) => PromptPlan::Refuse(denial),
            Ok(draft) => {
                input.model.look_at_window().await;
                question.plan(draft)
            }
        };
        let outcome = match plan {
            PromptPlan::TooLong { room } => {
                input.room = Some(room);
                continue;
            }
            PromptPlan::Send(draft) => PreviewOutcome::Compiled(Box::new(draft.bundle)),
            PromptPlan::Refuse(denial) => {
                PreviewOutcome::refused(input.store, denial, &question.referred)
            }
        };
        return Ok((outcome, question.referred));
    }
}

/// What each reference of a preview says, where it says anything.
pub fn preview_texts(bundle: &ContextBundle) -> Vec<Option<String>> {
    let said = |reference: &ArtifactRef| {
        let turn = bundle
            .declared()
            .iter()
            .chain(bundle.turns())
            .find(|turn| turn.turn.to_string() == reference.artifact_id);
        let turn = turn.map(|turn| format!("{}: {}", turn.speaker, turn.text));
        turn.or_else(|| said_in(bundle.bundle(), &reference.artifact_id))
    };
    bundle.refs().iter().map(said).collect()
}
