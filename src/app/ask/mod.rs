//! Asking once: what a door gives, and what came of it.

pub mod attachment;
pub mod chat;
pub mod council;
pub mod denial;
pub mod model_choice;
pub mod references;
pub mod removed;
pub mod retry;
pub mod seat;
pub mod warnings;

use std::borrow::Cow;
use std::path::Path;

use uuid::Uuid;

use crate::anchor::agree::BlockLack;
use crate::app::sentence::FieldSentence;
pub use crate::ask::TurnControl;
use crate::ask::conversation::stands_beside;
use crate::ask::recall::DeclaredContext;
use crate::ask::refer::{ParentTurn, ThreadPosition};
use crate::ask::sight_sent::tools_shown;
use crate::ask::{AskError, Observations, Question, TurnEnd, TurnResult};
use crate::config::Config;
use crate::continuity::brought::CleanRequest;
use crate::continuity::declared::TurnContext;
use crate::govern::drift::{DriftClass, ReplyVerdict};
use crate::govern::kernel::Kernel;
use crate::govern::policy::Topics;
use crate::govern::sight_rules::SightPlan;
pub use crate::govern::sight_rules::SightWish;
use crate::models::{Model, ModelFault};
use crate::record::context::turn::TurnIntent;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::ArtifactRef;
use crate::record::ledger::client_request::{ClientRequest, ToolCall};
use crate::record::ledger::measures::QuestionDoor;
use crate::record::ledger::receipt::Receipt;
use crate::record::ledger::short_name::short_name;
use crate::record::ledger::specialist::AskedSpecialist;
use crate::recorder::{QuestionOrigin, TurnIds};
use crate::session::{self, TurnEnvironment};
use crate::store::ReadStore;

use super::find;
use super::home::open::{self, OpenHome, OpenHomeError, clock_or_epoch};
use super::keep::erase;
use super::look::conversation::{
    ConversationScope, QuestionPlace, begins_anew, going_on, is_archived, join_project,
};
use super::look::not_shown::{UnshownReference, changed, not_shown};
use super::prove::tree_heads::{self, ThirdPartyReport};
use super::redacted::clean;
use super::remember::correction::{self, CorrectionInput};
use super::remember::handoff::{self, pressure::DueHandoff};
use super::remember::items::conflict::{Conflict, in_context};
use super::remember::project::{self, ProjectDetails};
pub use super::set_up::specialist::choice::SpecialistWish;
use super::set_up::specialist::choice::{ChosenSpecialist, choose as choose_specialist};
use attachment::{Attachment, AttachmentNotice, QuestionText, too_long, with_files};
use chat::last_exchange;
use denial::{fault_words, refusal_words};
use model_choice::{
    AUTO, CallOptions, another_of, choose, choose_in, first_of_ollama, instead_of, key, set_server,
    stands_for,
};
use references::{ContextRequest, ThreadRequest};
use removed::RemovedSecrets;
use seat::TurnSeat;
use warnings::{CarriedWarning, DriftWarning};

/// What is asked, and how.
#[derive(Clone, Debug, Default)]
pub struct AskRequest {
    /// Question as it was typed, secrets included.
    pub text: String,
    /// Files that stand behind it.
    pub files: Vec<Attachment>,
    /// A model's id or alias; the configured one without it.
    pub model: Option<String>,
    /// What the call is made with.
    pub call: CallOptions,
    /// What is declared as its context.
    pub context: ContextRequest,
    /// Where it stands.
    pub thread: ThreadRequest,
    /// Whether the observational tools are looked at.
    pub sight: SightWish,
    /// A whole list of messages with tools and settings, in the place of a text: then the last words
    /// of a user among them are the question, and no earlier turns are shown beside it.
    pub client: Option<ClientRequest>,
    /// Where it came in.
    pub door: QuestionDoor,
    /// The specialist that it goes to, in the place of a model.
    pub specialist: Option<SpecialistWish>,
    /// The domain that it is of, where somebody says so.
    pub domain: Option<String>,
    /// How often it was asked before, as its answers were blocked; none where it is asked once.
    pub attempt: Option<u8>,
    /// Where it stands and who answers, where that was looked up before: what else says so is not
    /// looked at.
    pub seat: Option<TurnSeat>,
}

/// A question for which everything is at hand, and nothing is on record.
pub struct AskSetup<'a> {
    opened: &'a OpenHome,
    /// The question with the files behind it.
    asked: QuestionText,
    key: Hash32,
    model: Model,
    /// Whether nobody chose it: it is one of its server's list.
    is_from_list: bool,
    /// The alias that stands for it, where one was named.
    alias: Option<String>,
    /// What a client brought beside it.
    client: Option<ClientRequest>,
    origin: QuestionOrigin,
    specialist: Option<ChosenSpecialist>,
    declared: DeclaredContext,
    are_refs_typed: bool,
    from_handoff: bool,
    position: ThreadPosition,
    /// Whether it begins another conversation.
    anew: bool,
    /// The project that a new conversation joins.
    project: Option<ProjectDetails>,
    observations: Observations,
    /// Where `main` was.
    main_before: Option<u64>,
}

/// A turn on record, with what a door tells of it.
pub struct AskResult {
    /// What became of the question, with everything that is shown of it.
    pub turn: TurnResult,
    /// What was declared as its context.
    pub declared: DeclaredContext,
    /// Whether the person said so with this question, and no setting.
    pub are_refs_typed: bool,
    /// Where the answer is from, if it is a replay.
    pub replayed: Option<String>,
    /// How screens call it: `8923fa34/3`.
    pub id: String,
    /// The conversation that it was asked in; none where that can't be looked up.
    pub place: Option<QuestionPlace>,
    /// What disagrees among what its model was shown.
    pub conflicts: Vec<Conflict>,
    /// What was declared as its context and is not shown to its model.
    pub not_shown: Vec<UnshownReference>,
    /// Why what was declared could not be resolved, if it could not.
    pub unresolved: Option<String>,
    /// What a person is told of its answer.
    pub warnings: Vec<DriftWarning>,
    /// What was found in its answer beside that, and is no warning under its kernel.
    pub noted: Vec<DriftWarning>,
    /// The open warnings of earlier answers that the model was told of for the first time here.
    pub carried: Vec<CarriedWarning>,
    /// What is told of the files behind the question.
    pub files: Vec<AttachmentNotice>,
    /// The secrets that were removed from question and files, by place.
    pub removed: Vec<RemovedSecrets>,
    /// How many tokens the model's window holds, where that is known.
    pub window: Option<u64>,
    /// Whether what the model was shown went to a server.
    pub over_a_wire: bool,
    /// Whether that server is another machine: what it is sent of this one is told before.
    pub leaves_machine: bool,
    /// What the server lists in the place of a model that it does not know, in a sentence.
    pub instead: Option<String>,
    /// The specialist that it went to, and why.
    pub specialist: Option<ChosenSpecialist>,
    /// Whether its model is shown a handoff, and what came after it, in place of the last turns.
    pub from_handoff: bool,
    /// Why its conversation is to be summed up, if it is.
    pub due: Option<DueHandoff>,
}

/// Checks the auth key, chooses the model and looks up what the request names.
///
/// Nothing is recorded but a wrong or missing key. `notice` is told what people should know.
pub async fn prepare<'a>(
    opened: &'a OpenHome,
    request: &'a AskRequest,
    notice: &dyn Fn(&str),
) -> Result<AskSetup<'a>, OpenHomeError> {
    let key = opened.authorize().await?;
    let database = opened.home.paths().database();
    let store = &opened.store;
    let scope = ConversationScope {
        key: Some(key),
        project: project::id_in_use(store, &opened.config)?,
    };
    let seat = request.seat.as_ref();
    let mut position = match seat {
        Some(seat) => seat.position,
        None => ThreadPosition {
            intent: request.door.intent(),
            ..request.thread.standing(store, &scope)?
        },
    };
    let specialist = match (seat, &request.specialist) {
        (Some(seat), _) => seat.specialist.clone(),
        (None, wish) => wish
            .as_ref()
            .map(|wish| choose_specialist(store, wish, (&request.text, request.domain.as_deref())))
            .transpose()?,
    };
    let bound = specialist.as_ref().map(|chosen| chosen.model.as_str());
    let keeps = position.thread.filter(|_| request.thread.keeps_model());
    let choice = choose_in(
        keeps.map(|thread| (&**store, thread)),
        bound.or(request.model.as_deref()),
        &with_system(&request.call, specialist.as_ref()),
        (&opened.config, &database),
    )
    .await;
    let choice = match (choice, &specialist) {
        (Err(error), Some(chosen)) => return Err(OpenHomeError::Refused(chosen.unasked(&error))),
        (choice, _) => choice?,
    };
    let most = opened.kernel.rules().prompt.max_bytes;
    let (text, client) =
        question_of(request, &choice.model, most).map_err(OpenHomeError::Refused)?;
    let asked = with_files(&text, &request.files);
    // What is in a file is not what the question is about.
    let plan = SightPlan::of(&opened.kernel, &text, request.sight);
    let mut model = showing(choice.model, &request.files, notice)?;
    if let Some(chosen) = &specialist {
        if seat.is_none() {
            notice(&chosen.sentence(matches!(request.specialist, Some(SpecialistWish::Best(_)))));
        }
        model = match chosen.window {
            Some(window) => model.within(Some(window)),
            None => model,
        };
    }
    if let Some(client) = &client {
        model = model.holding(&client.images);
    }
    if is_beyond(&model, &plan, request) {
        let why = beyond_the_observer(&opened.config, request.model.as_deref()).await;
        return Err(OpenHomeError::Refused(why));
    }
    let why = choice
        .why
        .as_ref()
        .filter(|_| request.thread.anew || !goes_on(opened, model.id()));
    why.into_iter()
        .chain(&choice.notices)
        .for_each(|line| notice(line));
    // A client's messages are the conversation.
    let context = ContextRequest {
        no_refs: request.context.no_refs || client.is_some(),
        ..request.context.clone()
    };
    let begun = match seat {
        Some(_) => BegunConversation::default(),
        None => {
            let begun =
                BegunConversation::of(opened, (key, model.id()), (request, position), notice)?;
            put_right(opened, &request.text, begun.before, notice).await?;
            begun
        }
    };
    let mut declared = match seat.and_then(|seat| seat.declared.clone()) {
        Some(declared) => declared,
        None => context.declared(&opened.config, opened.context.rules(), store)?,
    };
    let goes_on = begun.before.filter(|_| {
        let is_message = position.intent == TurnIntent::ChatMessage;
        is_message && position.parent == ParentTurn::Newest
    });
    let instead = from_handoff(opened, goes_on, (request, &declared), notice)?;
    let is_from_handoff = instead.is_some();
    if let Some(instead) = instead {
        declared = instead;
        // What is declared is of this conversation.
        position.thread = goes_on;
    }
    Ok(AskSetup {
        opened,
        asked,
        key,
        model,
        is_from_list: choice.is_from_list,
        alias: choice.alias,
        client,
        origin: QuestionOrigin {
            door: request.door,
            specialist: specialist.as_ref().map(|chosen| AskedSpecialist {
                id: chosen.id,
                alignment: chosen.alignment,
                utility: u16::try_from(chosen.utility()).unwrap_or_default(),
            }),
            round: seat.and_then(|seat| seat.round),
            attempt: request.attempt,
        },
        specialist,
        are_refs_typed: !context.refs.is_empty(),
        declared,
        from_handoff: is_from_handoff || seat.is_some_and(|seat| seat.is_from_handoff),
        position,
        anew: begun.anew,
        project: begun.project,
        observations: opened.gather(&plan)?,
        main_before: tree_heads::main_tip(opened)?,
    })
}

/// What a question that goes on in a thread declares in place of the last turns, where a handoff sums
/// those up; says so.
fn from_handoff(
    opened: &OpenHome,
    goes_on: Option<Uuid>,
    (request, declared): (&AskRequest, &DeclaredContext),
    notice: &dyn Fn(&str),
) -> Result<Option<DeclaredContext>, OpenHomeError> {
    let goes_on = goes_on.filter(|_| request.context.refs.is_empty());
    let Some(thread) = goes_on else {
        return Ok(None);
    };
    let instead = handoff::declare::in_place_of_last(&opened.store, thread, declared)?;
    Ok(instead.map(|instead| {
        notice(&instead.sentence);
        instead.declared
    }))
}

/// The conversation that a question begins or goes on with.
#[derive(Default)]
struct BegunConversation {
    /// The thread of the turn before; none where another one begins.
    before: Option<Uuid>,
    /// Whether another conversation begins, in a session of its own.
    anew: bool,
    /// The project that a new one joins.
    project: Option<ProjectDetails>,
}

impl BegunConversation {
    /// Looked up for a question of an auth key to a model; what a person should know of it is said.
    fn of(
        opened: &OpenHome,
        (key, model): (Hash32, &str),
        (request, position): (&AskRequest, ThreadPosition),
        notice: &dyn Fn(&str),
    ) -> Result<BegunConversation, OpenHomeError> {
        let project = project::joined_by_new(&opened.store, &opened.config, notice)?;
        let told = match position.thread {
            Some(thread) => is_archived(&opened.store, thread)?,
            None => None,
        };
        let begins = match request.thread.anew || request.thread.is_named() {
            true => None,
            false => begins_anew(opened, key, model, project.as_ref())?,
        };
        told.iter().chain(&begins).for_each(|word| notice(word));
        let anew = request.thread.anew || begins.is_some();
        let before = match (position.thread, anew) {
            (Some(thread), _) => Some(thread),
            (None, true) => None,
            (None, false) => going_on(opened, key, model)?,
        };
        Ok(BegunConversation {
            before,
            anew,
            project,
        })
    }
}

/// What a call is made with, and a specialist's part of the system message where nobody gives another.
fn with_system(call: &CallOptions, chosen: Option<&ChosenSpecialist>) -> CallOptions {
    let own = chosen.and_then(|chosen| chosen.system.clone());
    CallOptions {
        system: call.system.clone().or(own),
        ..call.clone()
    }
}

/// How a question begins that corrects the turn before it.
const CORRECTS: &str = "correction:";

/// Puts a question that begins with `correction:` on record as one about the turn before, so that it is
/// asked with it.
async fn put_right(
    opened: &OpenHome,
    text: &str,
    thread: Option<Uuid>,
    notice: &dyn Fn(&str),
) -> Result<(), OpenHomeError> {
    let head = text.trim_start();
    let begins = head.get(..CORRECTS.len());
    if !begins.is_some_and(|begins| begins.eq_ignore_ascii_case(CORRECTS)) {
        return Ok(());
    }
    // What policy forbids is denied as a question, and stays out of later ones: also a claim that it
    // forbids without the word before it, as which later questions would be shown it.
    let topics = Topics::of(opened.kernel.policy());
    let claim = head[CORRECTS.len()..].trim();
    if topics.forbid(text) || topics.forbid(claim) {
        return Ok(());
    }
    let about = thread.map(|thread| last_exchange(&opened.store, thread));
    let said = CorrectionInput {
        about: about.transpose()?.flatten(),
        ..CorrectionInput::of(&head[CORRECTS.len()..])
    };
    correction::check(&said)?;
    if let Some(same) = correction::same_in_force(opened, &said)? {
        notice(&format!(
            "{} says the same, and is in force",
            short_name(&same)
        ));
        return Ok(());
    }
    let made = correction::add(opened, &said).await?;
    let id = short_name(&made.recorded.document.id);
    let about = match &said.about {
        Some(about) => format!(", about {about}"),
        None => ", about no turn, as there is none before it".to_owned(),
    };
    notice(&match made.recorded.is_kept {
        true => format!("{id} is on record{about}; to take it back: gently correction retire {id}"),
        false => format!("{id} is on record by its commitment only: no texts are kept"),
    });
    Ok(())
}

/// The question's text, and what a client brought beside it; or why nobody is asked.
fn question_of<'r>(
    request: &'r AskRequest,
    model: &Model,
    most: u64,
) -> Result<(Cow<'r, str>, Option<ClientRequest>), String> {
    let (text, client) = match &request.client {
        None => (Cow::Borrowed(request.text.as_str()), None),
        Some(client) => {
            let (text, client) = brought(client, request, model, most)?;
            (Cow::Owned(text), Some(client))
        }
    };
    match too_long(&text, &request.files, most) {
        Some(why) => Err(why),
        None => Ok((text, client)),
    }
}

/// The question of a client's request, and the request; or why nobody is asked with it.
fn brought(
    client: &ClientRequest,
    request: &AskRequest,
    model: &Model,
    most: u64,
) -> Result<(String, ClientRequest), String> {
    if !request.text.is_empty() {
        return Err(
            "a list of messages brings its question along: leave the question beside it out".into(),
        );
    }
    if !request.context.refs.is_empty() {
        return Err(
            "a list of messages brings its conversation along: leave the references out".into(),
        );
    }
    let bytes = u64::try_from(client.bytes()).unwrap_or(u64::MAX);
    if bytes > most {
        return Err(format!(
            "messages, tools and settings together have {bytes} bytes, and the kernel's prompt.max_bytes is {most}:              bring less, or raise it: gently kernel show > kernel.toml, edit it, gently kernel set kernel.toml"
        ));
    }
    if let Some(why) = model.refuses(client) {
        return Err(why);
    }
    CleanRequest::check_names(client).map_err(|e| e.to_string())?;
    client.clone().taken_apart()
}

/// Whether a model is the one that was asked last, in a session that goes on: whoever asks was told
/// then how it was chosen. What can't be looked up is told again.
fn goes_on(opened: &OpenHome, model: &str) -> bool {
    let now = clock_or_epoch();
    let idle = opened.config.session.idle;
    let open = opened.store.open_sessions().unwrap_or_default();
    let in_use = open
        .iter()
        .filter(|session| session.prompts > 0 && !session.is_quiet(now, idle));
    let newest = in_use.max_by_key(|session| session.last_at);
    newest.is_some_and(|session| session.model == model)
}

/// The model with the images to look at; only one behind a server looks at any.
fn showing(
    model: Model,
    files: &[Attachment],
    notice: &dyn Fn(&str),
) -> Result<Model, OpenHomeError> {
    let images = files.iter().filter(|file| file.image.is_some());
    let names: Vec<&str> = images.map(|file| file.name.as_str()).collect();
    if names.is_empty() {
        return Ok(model);
    }
    let names = names.join(", ");
    if !model.is_over_a_wire() {
        return Err(OpenHomeError::Refused(format!(
            "{} looks at no images, and there is {names}; name a model that does (gently model list): \
             gently ask -m MODEL",
            model.id()
        )));
    }
    notice(&format!(
        "sent as it is, as nothing is taken out of an image: {names}"
    ));
    let images = files.iter().filter_map(|file| file.image.clone());
    Ok(model.showing(images.collect()))
}

/// Whether it is the observer that would be asked, and what no tool of this machine can tell.
fn is_beyond(model: &Model, plan: &SightPlan, request: &AskRequest) -> bool {
    let is_asked =
        !request.files.is_empty() || !request.text.trim().is_empty() || request.client.is_some();
    is_asked && model.is_observer() && !plan.wanted
}

/// Why a question can't be asked by somebody who has no home yet and no language model: then none is
/// made; nor for a model that there is not. None where it can, or where something else is wrong, which
/// is said when the home is made.
pub async fn beyond_without_a_home(request: &AskRequest, home: &Path) -> Option<FieldSentence> {
    let config = Config::load(home, &open::env).ok()?;
    let (call, nowhere) = (&request.call, Path::new(""));
    let model = request.model.as_deref();
    let choice = match choose(model, call, &config, nowhere).await {
        Ok(choice) => choice,
        Err(error @ (OpenHomeError::Setting { .. } | OpenHomeError::UnknownModel { .. })) => {
            return Some(error.sentence());
        }
        Err(_) => return None,
    };
    let plan = SightPlan::of(&Kernel::genesis(), &request.text, request.sight);
    match is_beyond(&choice.model, &plan, request) {
        true => Some(beyond_the_observer(&config, model).await.into()),
        false => None,
    }
}

/// Who answers what is asked next.
pub struct AnsweringModel {
    /// Its id.
    pub id: String,
    /// The specialist that it is asked for, as people call it.
    pub specialist: Option<String>,
    /// Warnings about the choice, each a whole sentence.
    pub notices: Vec<String>,
    /// Why it is no language model, and how to ask one; none where it is one.
    pub without: Option<String>,
}

/// Who would answer in a conversation, or in a new one without it.
pub async fn answering(
    place: Option<(&ReadStore, Uuid)>,
    model: Option<&str>,
    (config, database): (&Config, &Path),
) -> Result<AnsweringModel, OpenHomeError> {
    let call = CallOptions::default();
    let choice = choose_in(place, model, &call, (config, database)).await?;
    let without = match choice.model.is_observer() {
        true => Some(beyond_the_observer(config, model).await),
        false => None,
    };
    Ok(AnsweringModel {
        id: choice.model.id().to_owned(),
        specialist: None,
        notices: choice.notices,
        without,
    })
}

/// Why the observer is not asked what no tool can tell, and four ways to somebody who may know:
/// those that are there, and what it takes for the others to be.
async fn beyond_the_observer(config: &Config, model: Option<&str>) -> String {
    let chosen = model.unwrap_or(&config.model.default);
    let why = match (chosen, set_server(config)) {
        (AUTO, Some(url)) => format!(
            "No language model is there: no list of models at {url}. Start that server, or set another."
        ),
        (AUTO, None) => "No language model is set up.".to_owned(),
        _ => "The model that was chosen, observer, is no language model.".to_owned(),
    };
    let local = match first_of_ollama(config).await {
        Some(name) => format!("gently ask -m ollama/{name} \"…\""),
        None => "ollama pull llama3.2".to_owned(),
    };
    let of_provider = |variable: &str, alias: &str| match key(variable) {
        Some(_) => format!("gently ask -m {alias} \"…\""),
        None => format!("export {variable}=KEY"),
    };
    let mut ways = vec![
        (local, "an Ollama on this machine"),
        (
            of_provider(&config.model.anthropic_key_env, "sonnet"),
            "Anthropic",
        ),
        (of_provider(&config.model.api_key_env, "gpt"), "OpenAI"),
        (
            "gently config set model.base_url URL".to_owned(),
            "any OpenAI-compatible server",
        ),
    ];
    if chosen != AUTO {
        // Nobody else is asked where the observer is what somebody chose.
        ways.push((
            "gently ask -m auto \"…\"".to_owned(),
            "then, whichever of them is there",
        ));
    }
    let widest = ways.iter().map(|(typed, _)| typed.chars().count());
    let widest = widest.max().unwrap_or_default();
    let lines = ways
        .iter()
        .map(|(typed, whom)| format!("\n  {typed:widest$}  {whom}"));
    let own = "gently can answer questions about this machine by itself.";
    format!("{why} {own} To ask a model:{}", lines.collect::<String>())
}

impl AskSetup<'_> {
    /// The model that is asked.
    pub fn model_id(&self) -> &str {
        self.model.id()
    }

    /// Where `main` is, for [`settle`].
    pub fn main_before(&self) -> Option<u64> {
        self.main_before
    }

    /// Whether somebody named the turns that are shown, and whether with this question.
    pub fn names_turns(&self) -> (bool, bool) {
        (self.declared.names_turns(), self.are_refs_typed)
    }

    /// Asks. What comes back is on record; an answer that drift blocks is to be withheld. `lost` is
    /// told what was declared and is not shown, before the model is called.
    pub async fn ask(
        self,
        control: &TurnControl,
        notice: &dyn Fn(&str),
        lost: &dyn Fn(&[UnshownReference]),
    ) -> Result<AskResult, AskError> {
        // What goes along again is not lost.
        let again: Vec<&str> = self
            .asked
            .files
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        let declared = |context: &TurnContext| {
            let mut missing = not_shown(&self.opened.store, context);
            missing
                .iter_mut()
                .for_each(|one| one.files.retain(|name| !again.contains(&name.as_str())));
            lost(&missing);
        };
        let environment = TurnEnvironment {
            declared: &declared,
            ..self.opened.environment(self.model.id(), notice)
        };
        if self.anew {
            let opening = session::open(&environment, self.key);
            let opened = control.cancelled.run_until_cancelled(opening).await;
            let opened = opened.ok_or(AskError::Interrupted)?;
            opened.map_err(AskError::Prompt)?;
        }
        let question = Question {
            text: &self.asked.text,
            marked: &self.asked.marked,
            declared: &self.declared,
            standing: self.position,
            client: self.client.as_ref(),
            origin: self.origin,
        };
        let observations = self.observations;
        let gather = move || observations;
        let asked = crate::ask::ask(
            &environment,
            self.key,
            &self.model,
            question,
            gather,
            control,
        );
        let mut turn = asked.await?;
        turn.resumed.opened |= self.anew;
        let begun = self.project.as_ref().filter(|_| turn.earlier == 0);
        if let Some(project) = begun {
            let thread = turn.referred.thread();
            // The turn is on record: nothing that comes of this keeps anybody from it.
            match join_project(self.opened, self.key, thread, project).await {
                Ok(word) => word.iter().for_each(|word| notice(word)),
                Err(e) => notice(&format!(
                    "the conversation could not be put into {}: {e}",
                    project.called()
                )),
            }
        }
        let instead = match &turn.turn {
            TurnEnd::Failed(_, fault) => {
                let asked = FailedModel {
                    id: self.model.id(),
                    is_from_list: self.is_from_list,
                    alias: self.alias.as_deref(),
                };
                let looked = asked.instead(fault, &self.opened.config);
                let looked = control.cancelled.run_until_cancelled(looked).await;
                looked.flatten()
            }
            _ => None,
        };
        let due = match self.position.intent {
            // What can't be looked up keeps nobody from the answer.
            TurnIntent::ChatMessage if self.opened.keeps_text() => {
                let asked = handoff::pressure::AskedOne {
                    specialist: self.specialist.as_ref().map(|chosen| chosen.id),
                    model: self.model.id(),
                };
                let (store, window) = (&self.opened.store, self.model.window());
                handoff::pressure::due_after(
                    store,
                    &turn,
                    asked,
                    (window, self.opened.config.handoff.auto),
                )
                .ok()
                .flatten()
                .filter(|_| !stands_beside(self.model.id()))
            }
            _ => None,
        };
        Ok(AskResult {
            removed: RemovedSecrets::of(&turn.removed, &self.asked.files, &self.asked.lines),
            files: self.asked.files,
            declared: self.declared,
            specialist: self.specialist,
            are_refs_typed: self.are_refs_typed,
            instead,
            due,
            from_handoff: self.from_handoff,
            ..AskResult::of(self.opened, &self.model, turn)
        })
    }
}

/// A model that gave no answer, and how it was chosen.
struct FailedModel<'a> {
    id: &'a str,
    is_from_list: bool,
    alias: Option<&'a str>,
}

impl FailedModel<'_> {
    /// What else can be asked after its fault, in sentences; none where the fault's own words are
    /// enough.
    async fn instead(&self, fault: &ModelFault, config: &Config) -> Option<String> {
        if fault.may_miss_model() {
            let listed = instead_of(self.id, config).await;
            let alias = self.alias.map(|alias| stands_for(alias, self.id));
            let ends = |listed: &str| if listed.ends_with('?') { "" } else { "." };
            match (listed, alias) {
                (Some(listed), Some(alias)) => {
                    return Some(format!("{listed}{} {alias}", ends(&listed)));
                }
                (None, None) => {}
                (listed, alias) => return listed.or(alias),
            }
        }
        match self.is_from_list && fault.is_refusal() {
            true => another_of(self.id, config).await,
            false => None,
        }
    }
}

fn ids_of(turn: &TurnEnd) -> &TurnIds {
    match turn {
        TurnEnd::Answered(answer) => &answer.ids,
        TurnEnd::Refused(refusal, _) => &refusal.ids,
        TurnEnd::Failed(failure, _) | TurnEnd::Interrupted(failure) => &failure.ids,
    }
}

impl AskResult {
    /// Of a turn that is on record: what can't be looked up keeps nobody from it. What belongs to the
    /// question alone is added by whoever asked.
    fn of(opened: &OpenHome, model: &Model, turn: TurnResult) -> AskResult {
        let store = &opened.store;
        let ids = ids_of(&turn.turn);
        // A longer id names the same.
        let id = find::short_id(store, ids.session, ids.seq)
            .unwrap_or_else(|_| format!("{}/{}", ids.session, ids.seq));
        let referred = &turn.referred;
        let fault = referred.resolved().err();
        let carried =
            warnings::carried(store, &turn.context, (referred.thread(), referred.parent()));
        AskResult {
            id,
            place: QuestionPlace::of(store, referred.thread()).ok(),
            conflicts: in_context(store, &turn.context).unwrap_or_default(),
            not_shown: [not_shown(store, referred), changed(store, &turn.changed)].concat(),
            unresolved: fault.map(|fault| fault_words(store, fault)),
            warnings: warnings::of_turn(&opened.kernel, &turn.turn),
            noted: warnings::noted(&turn.turn),
            carried: carried.unwrap_or_default(),
            turn,
            files: Vec::new(),
            declared: DeclaredContext::default(),
            are_refs_typed: false,
            replayed: model.source(),
            window: model.window(),
            over_a_wire: model.is_over_a_wire(),
            leaves_machine: model.leaves_machine(),
            removed: Vec::new(),
            instead: None,
            specialist: None,
            due: None,
            from_handoff: false,
        }
    }

    /// Id of the model that was asked.
    pub fn model(&self) -> &str {
        let resumed = &self.turn.resumed;
        &resumed.session.model
    }

    /// Names of the turn.
    pub fn ids(&self) -> &TurnIds {
        ids_of(&self.turn.turn)
    }

    /// The exchange's id, by which it is shown, opened and erased.
    pub fn exchange(&self) -> Uuid {
        self.ids().exchange
    }

    /// Why there is no block, where one was looked for in this turn.
    pub fn lack(&self) -> Option<&BlockLack> {
        self.turn.resumed.seen.as_ref()?.lack.as_ref()
    }

    /// The answer, if there is one and it may be shown.
    pub fn answer(&self) -> Option<&str> {
        match &self.turn.turn {
            TurnEnd::Answered(answer) if !self.is_withheld() => Some(&answer.text),
            _ => None,
        }
    }

    /// What the answer wants called, as the model said so; nothing where it is withheld. gently calls
    /// nothing.
    pub fn tool_calls(&self) -> &[ToolCall] {
        match &self.turn.turn {
            TurnEnd::Answered(answer) if !self.is_withheld() => &answer.tool_calls,
            _ => &[],
        }
    }

    /// Whether there is an answer and the kernel blocks its drift.
    pub fn is_withheld(&self) -> bool {
        match &self.turn.turn {
            TurnEnd::Answered(answer) => answer.judgement.verdict() == ReplyVerdict::Block,
            _ => false,
        }
    }

    /// Why there is no answer, in words; none when there is one.
    pub fn why_unanswered(&self) -> Option<String> {
        match &self.turn.turn {
            TurnEnd::Answered(_) => None,
            TurnEnd::Refused(_, Some(fault)) => Some(fault.to_string()),
            TurnEnd::Refused(refusal, None) => {
                let unresolved = self.unresolved.clone();
                Some(unresolved.unwrap_or_else(|| refusal_words(&refusal.refusal)))
            }
            TurnEnd::Failed(_, fault) => Some(clean(&match &self.instead {
                Some(instead) => fault.mended(instead),
                None => fault.to_string(),
            })),
            TurnEnd::Interrupted(failure) => Some(format!(
                "interrupted while {} was thinking",
                failure.session.model
            )),
        }
    }

    /// How an answer misses the shape that was declared for it, in a sentence; none when it has it,
    /// or when there is none.
    pub fn shape_missed(&self) -> Option<String> {
        let TurnEnd::Answered(answer) = &self.turn.turn else {
            return None;
        };
        let mut events = answer.judgement.events().iter();
        let missed = events.find(|event| event.class == DriftClass::Schema)?;
        Some(DriftWarning::without_excerpt(missed.class.name(), &missed.summary).sentence)
    }

    /// The conversation where a person can't know of it without being told: it has earlier questions,
    /// or a title that somebody gave it.
    pub fn place_to_tell(&self) -> Option<&QuestionPlace> {
        let place = self.place.as_ref()?;
        (self.turn.earlier > 0 || place.is_titled()).then_some(place)
    }

    /// The tools whose values went to a server; none for a model that is built in.
    pub fn sent_sight(&self) -> Vec<&ArtifactRef> {
        match self.over_a_wire {
            true => tools_shown(&self.turn.context),
            false => Vec::new(),
        }
    }

    /// What somebody can keep, to hold the ledger to later.
    pub fn receipt(&self, opened: &OpenHome) -> Result<Receipt, String> {
        opened
            .recorder
            .receipt(&opened.store, self.ids())
            .map_err(|e| e.to_string())
    }
}

/// What was done after the person had the answer.
pub struct SettleReport {
    /// What the retention erased, or why it could not.
    pub erased: Option<String>,
    /// What calendars and witnesses said of a tree head that the turn made.
    pub outside: ThirdPartyReport,
}

/// Does what need not keep a person waiting: erases a little of what is due, and asks calendars and
/// witnesses about a tree head that a checkpoint or the close of an idle session may have made.
pub async fn settle(opened: &OpenHome, main_before: Option<u64>) -> SettleReport {
    let erased = erase::some_that_is_due(opened).await;
    let outside = tree_heads::after(opened, main_before).await;
    SettleReport { erased, outside }
}
