//! `gently context`: what was, or would be, put before a model, why, and what was kept out; and
//! what `ask` declares.

mod documents;
mod lost;
mod view;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::ask::recall::{DeclaredContext, Reference, recall};
use crate::ask::refer::{ResolvedRefs, ThreadPosition, count, refer};
use crate::ask::withheld::{WITHHELD, Withheld};
use crate::config::Config;
use crate::continuity::compile::{ContextBundle, Inputs, compile};
use crate::continuity::declared::TurnContext;
use crate::continuity::turns::TURN;
use crate::govern::authority::{PolicyInput, broken_beside, decide};
use crate::govern::kernel::Kernel;
use crate::govern::sanitize::{Clean, redact};
use crate::home::Home;
use crate::record::canon;
use crate::record::context::config::{ContextRules, EmptyRefs};
use crate::record::ledger::bundle::{ArtifactRef, Bundle, Exclusion};
use crate::record::time::Seconds;
use crate::store::sqlite::Sqlite;
use crate::store::{ArtifactRefRow, Find, ReadStore, SessionRow, StoreError, Threads as _};
use crate::verify::rows::contexts::ContextFault;

use super::session::turn_name;
use super::{NEGATIVE, could_not, print, say};
use crate::app::find;
use crate::app::model_choice;
use crate::app::open;
use crate::app::open::{OpenHomeError, env};

pub use lost::lines as lost;
use view::ContextView;
pub use view::disclosed;

/// What `gently context` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// Show what was put before the model in an exchange, with each part of each score, and what
    /// was kept out
    Show {
        /// As gently show takes it
        #[arg(default_value = "last")]
        exchange: String,
    },
    /// Compile the context of a question; calls no model, records nothing
    Preview(PreviewArgs),
}

/// `gently context preview`.
#[derive(Debug, Args)]
pub struct PreviewArgs {
    /// The question
    #[arg(required = true)]
    words: Vec<String>,
    /// For which model
    #[arg(long, short, value_name = "ID")]
    model: Option<String>,
    #[command(flatten)]
    refs: RefArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Where a question stands.
#[derive(Clone, Debug, Default, Args)]
pub struct PlaceArgs {
    /// Ask in this thread, as gently thread list shows it; else in the session's own
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,
    /// Reply to this earlier exchange, in its thread: what was said after it is not in between
    #[arg(long, value_name = "EXCHANGE")]
    pub parent: Option<String>,
}

impl PlaceArgs {
    /// Looks thread and parent up.
    pub fn standing(&self, store: &Sqlite) -> Result<ThreadPosition, OpenHomeError> {
        let thread = self
            .thread
            .as_deref()
            .map(|text| find::thread(store, text))
            .transpose()?;
        let parent = self
            .parent
            .as_deref()
            .map(|text| find::exchange(store, text))
            .transpose()?;
        let parent = parent.map(|exchange| exchange.exchange_id);
        let of = parent.map(|parent| store.thread_turn(parent)).transpose()?;
        let wrong = |reason: String| OpenHomeError::Setting {
            flag: "--parent",
            reason,
        };
        match (thread, of) {
            (thread, None) => Ok(ThreadPosition {
                thread: thread.map(|row| row.thread),
                parent,
            }),
            (_, Some(None)) => {
                let why = "that exchange has no thread here, as it is from before there were threads or was taken over \
                           from a ledger alone: quote it instead";
                Err(wrong(why.to_owned()))
            }
            (Some(thread), Some(Some(turn))) if thread.thread != turn.thread => {
                Err(wrong(format!(
                    "that exchange belongs to thread {}, not to {}: leave --thread out",
                    turn.thread, thread.thread
                )))
            }
            (_, Some(Some(turn))) => Ok(ThreadPosition {
                thread: Some(turn.thread),
                parent,
            }),
        }
    }
}

/// What a question declares as its context.
#[derive(Clone, Debug, Default, Args)]
pub struct RefArgs {
    /// What is shown to the model: last:N, the last N questions of the thread with their answers,
    /// an exchange, or the id of one event; again for more. Wins over context.refs
    #[arg(long = "ref", value_name = "REF")]
    pub refs: Vec<String>,
    /// Show the model no earlier turns
    #[arg(long, conflicts_with = "refs")]
    pub no_ref: bool,
    /// Search the turns of all sessions, too; what was added is said
    #[arg(long)]
    pub deep: bool,
}

/// So many of the last turns can be declared at once.
const MOST: u32 = 64;
/// The turns that are declared when nothing says otherwise.
const USUAL: u32 = 6;

impl RefArgs {
    /// What is declared: the flags, else `gently.toml`, else what `context.json` expands, else the
    /// usual.
    pub fn declared(
        &self,
        config: &Config,
        rules: &ContextRules,
        store: &dyn Find,
    ) -> Result<DeclaredContext, OpenHomeError> {
        let typed = |text: &str| reference(store, text);
        let refs = match (config.refs.as_deref(), rules.empty_refs_policy) {
            _ if self.no_ref => Vec::new(),
            _ if !self.refs.is_empty() => self
                .refs
                .iter()
                .map(|text| typed(text))
                .collect::<Result<_, _>>()?,
            (Some("none"), _) => Vec::new(),
            (Some(configured), _) => vec![typed(configured)?],
            (None, EmptyRefs::Expand) => vec![Reference::Last(
                u32::try_from(rules.expand_last_n).unwrap_or(u32::MAX),
            )],
            (None, EmptyRefs::Allow | EmptyRefs::Deny) => vec![Reference::Last(USUAL)],
        };
        Ok(DeclaredContext {
            refs,
            none: self.no_ref,
            deep: self.deep,
        })
    }
}

fn reference(store: &dyn Find, text: &str) -> Result<Reference, OpenHomeError> {
    let Some(count) = text.strip_prefix("last:") else {
        return Ok(find::reference(store, text)?);
    };
    let most = count
        .parse()
        .ok()
        .filter(|n: &u32| (1..=MOST).contains(n) && n.to_string() == count);
    most.map(Reference::Last)
        .ok_or_else(|| OpenHomeError::Setting {
            flag: "--ref",
            reason: format!("last:N takes N from 1 to {MOST}; not '{text}'"),
        })
}

/// How many earlier turns are among what was put before a model, in words; none when there are
/// none.
pub fn turns_in(refs: &[ArtifactRef]) -> Option<String> {
    let count = refs.iter().filter(|one| one.artifact_type == TURN).count();
    (count > 0).then(|| format!("{count} earlier turn{}", if count == 1 { "" } else { "s" }))
}

/// What was declared for a question, and what came of it.
pub fn asked(
    declared: &DeclaredContext,
    refs: &[ArtifactRef],
    context: &TurnContext,
    unfit: u64,
) -> Value {
    let view = ContextView {
        title: String::new(),
        refs,
        texts: vec![None; refs.len()],
        exclusions: &[],
    };
    let mut injected = view.facts()["injected"].take();
    injected
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
        .for_each(|one| {
            one.remove("text");
        });
    json!({
        "declared": declared.refs.iter().map(|one| redact(&one.to_string()).clean.as_str().to_owned()).collect::<Vec<_>>(), "deep": declared.deep,
        "injected": injected, "disclosure": disclosed(refs),
        "declared_refs": context.declared().iter().map(|one| &one.ref_id).collect::<Vec<_>>(),
        "transformations": context.transformations(), "not_shown": lost::facts(context), "not_declared": unfit,
    })
}

/// Does it.
pub async fn run(command: ContextCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        ContextCommand::Show { exchange } => show(&exchange, json),
        ContextCommand::Preview(args) => preview(&args, json).await,
    }
}

/// References as they stand on record.
pub fn refs_of(rows: &[ArtifactRefRow]) -> Vec<ArtifactRef> {
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

fn show(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let store = Sqlite::open_read_only(&open::existing_home()?.paths().database())?;
    store.begin_read()?;
    let exchange = find::exchange(&store, id)?;
    let refs = refs_of(&store.artifact_refs(exchange.exchange_id)?);
    let bundle = exchange
        .bundle_json
        .as_deref()
        .and_then(|text| Bundle::parse(text).ok());
    let exclusions: Vec<Exclusion> =
        canon::parse(exchange.exclusions.as_bytes()).unwrap_or_default();
    let gate = Withheld::of(&store);
    let said = |reference: &ArtifactRef| match (reference.artifact_type.as_str(), &bundle) {
        (TURN, _) => turn_text(&store, &gate, &reference.artifact_id),
        (_, bundle) => Ok(bundle
            .as_ref()
            .and_then(|bundle| view::said_in(bundle, &reference.artifact_id))),
    };
    let texts = refs.iter().map(said).collect::<Result<Vec<_>, _>>()?;
    let title = format!(
        "context of {} ({})",
        turn_name(&exchange),
        exchange.exchange_id
    );
    let view = ContextView {
        title,
        refs: &refs,
        texts,
        exclusions: &exclusions,
    };
    if !json {
        if bundle.is_none() {
            say(match exchange.not_kept {
                Some(not_kept) if not_kept.bundle.is_some() => {
                    "its bundle was not kept (store.content was \"none\"): what it said is not here, what was in it is named"
                }
                _ => {
                    "nothing was compiled for it: no model was to be called, or its bundle is not here"
                }
            });
        }
        return Ok(print(&view.text()));
    }
    let mut facts = view.facts();
    facts["exchange"] = json!(exchange.exchange_id.to_string());
    facts["bundle_hash"] = json!(exchange.bundle_hash.map(|hash| hash.to_string()));
    facts["kept"] = json!(exchange.not_kept.is_none());
    facts["bundle"] = json!(
        exchange
            .bundle_json
            .as_deref()
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
    );
    let compiled = super::show::compiled(&store, &exchange)?;
    facts["digests"] =
        documents::of(&store, &exchange, compiled.as_deref()).map_err(|fault| match fault {
            ContextFault::Store(error) => OpenHomeError::Store(error),
            other => OpenHomeError::Setting {
                flag: "context",
                reason: other.to_string(),
            },
        })?;
    Ok(print(&format!("{facts}\n")))
}

fn turn_text(
    store: &dyn ReadStore,
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

async fn preview(args: &PreviewArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let config = Config::load(home.root(), &env)?;
    let database = home.paths().database();
    let store = Sqlite::open_read_only(&database)?;
    let kernel = Home::kernel(&store)?;
    let config = config.on_host(kernel.host_role());
    let context = home.context()?;
    let declared = args.refs.declared(&config, context.rules(), &store)?;
    let none = model_choice::CallOptions::default();
    let model = model_choice::choose(args.model.as_deref(), &none, &config, &database)
        .await?
        .model;
    let text = redact(&args.words.join(" ")).clean;
    // Whose session it would be is not asked: no key is needed for a look.
    let fits = |s: &&SessionRow| {
        s.kernel_hash == kernel.hash()
            && s.model == model.id()
            && s.host_role == config.session.host_role
    };
    let row = store.open_sessions()?.iter().rev().find(fits).cloned();
    let session = row.as_ref().map(|session| session.uuid);
    let now = open::clock()?;
    let standing = args.place.standing(&store)?;
    let referred = refer(
        &store,
        (&kernel, &context),
        row.as_ref(),
        standing,
        &declared,
    )?;
    if let Some(code) = denied(&store, &kernel, (&text, model.id()), &referred, now, json)? {
        return Ok(code);
    }
    let sight = open::sight(&home, &config, &kernel)?;
    let recalled = recall(&store, &kernel, session, &text, &referred, declared.deep)?;
    let compiled = compile(&Inputs {
        session_id: session.unwrap_or_default(),
        user_input: &text,
        kernel: &kernel,
        host_role: &config.session.host_role,
        model_id: model.id(),
        now,
        sight,
        recalled: &recalled,
    });
    lost(&referred.context, referred.unfit)
        .iter()
        .for_each(|line| say(line));
    match compiled {
        Ok(bundle) => {
            let counts = count(&store, &kernel, &referred.context, now)?;
            let codes = broken_beside(&kernel, &text, counts, &bundle.beside(None));
            if !codes.is_empty() {
                return Ok(would_deny(&codes, &denial_words(&codes), json));
            }
            Ok(print_preview(
                &bundle,
                session,
                (&declared, &referred),
                json,
            ))
        }
        Err(fault) => Ok(could_not(&fault.to_string(), json)),
    }
}

/// Says that it would be denied, with the exit code, if it would.
fn denied(
    store: &Sqlite,
    kernel: &Kernel,
    (text, model): (&Clean, &str),
    referred: &ResolvedRefs,
    now: Seconds,
    json: bool,
) -> Result<Option<u8>, OpenHomeError> {
    let context = &referred.context;
    let (codes, why) = match context.resolved() {
        Err(fault) => (vec![fault.code().to_owned()], fault.to_string()),
        Ok(_) => {
            let counts = count(store, kernel, context, now)?;
            let normative = PolicyInput {
                prompt: text,
                model,
                counts,
                intents: context.intents(),
            };
            let codes = decide(kernel, &normative).reasons().to_vec();
            let why = denial_words(&codes);
            (codes, why)
        }
    };
    Ok((!codes.is_empty()).then(|| would_deny(&codes, &why, json)))
}

fn denial_words(codes: &[String]) -> String {
    format!(
        "policy would deny it ({}): nothing would be sent",
        codes.join(", ")
    )
}

fn would_deny(codes: &[String], why: &str, json: bool) -> u8 {
    if json {
        print(&format!(
            "{}\n",
            json!({"denied": codes.first(), "reasons": codes, "message": why, "exit": NEGATIVE})
        ));
    }
    say(why);
    NEGATIVE
}

fn print_preview(
    bundle: &ContextBundle,
    session: Option<Uuid>,
    (declared, referred): (&DeclaredContext, &ResolvedRefs),
    json: bool,
) -> u8 {
    let said = |reference: &ArtifactRef| {
        let turn = bundle
            .declared()
            .iter()
            .chain(bundle.turns())
            .find(|turn| turn.turn.to_string() == reference.artifact_id);
        let turn = turn.map(|turn| format!("{}: {}", turn.speaker, turn.text));
        turn.or_else(|| view::said_in(bundle.bundle(), &reference.artifact_id))
    };
    let texts = bundle.refs().iter().map(said).collect();
    let title = "context of this question; no model was called, nothing is recorded".to_owned();
    let view = ContextView {
        title,
        refs: bundle.refs(),
        texts,
        exclusions: bundle.exclusions(),
    };
    if !json {
        if session.is_none() {
            say("no session that fits is open: one would be opened, without earlier turns");
        }
        return print(&view.text());
    }
    let mut facts = view.facts();
    facts["session_uuid"] = json!(session.map(|id| id.to_string()));
    facts["bundle_hash"] = json!(bundle.hash().to_string());
    facts["bundle"] = json!(bundle.bundle());
    facts["declared"] = json!(
        declared
            .refs
            .iter()
            .map(|one| redact(&one.to_string()).clean.as_str().to_owned())
            .collect::<Vec<_>>()
    );
    facts["deep"] = json!(declared.deep);
    facts["not_shown"] = lost::facts(&referred.context);
    facts["not_declared"] = json!(referred.unfit);
    print(&format!("{facts}\n"))
}
