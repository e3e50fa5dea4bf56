//! The open home, where the chat stands, and one question.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app::ask::attachment::Attachment;
use crate::app::ask::chat::{HomeTerms, offered, thread_of};
use crate::app::ask::council::CouncilWish;
use crate::app::ask::model_choice::{AUTO, CallOptions, choose, without_provider};
use crate::app::ask::references::{ContextRequest, ThreadRequest};
use crate::app::ask::{
    AnsweringModel, AskRequest, SpecialistWish, answering, beyond_without_a_home,
};
use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::set_up::specialist::choice::{is_anybody, nobody};
use crate::app::set_up::specialist::{called, find as find_specialist, on_record};
use crate::cli::ask::turn::{TurnReport, TurnScreen, settled};
use crate::cli::flags::spelled;
use crate::cli::remember::handoff;
use crate::cli::screen::signals::Wait;
use crate::cli::set_up::init;
use crate::cli::{COULD_NOT, Notices, could_not, say, stopped};
use crate::config::Config;
use crate::record::ledger::council::AccuracyLevel;
use crate::record::ledger::measures::QuestionDoor;
use crate::record::ledger::specialist::Specialist;
use crate::record::unseen::spelled_on_a_line;

use super::ChatArgs;
use super::place;

/// What is typed in the place of a specialist's name for none.
const NO_SPECIALIST: &str = "none";

/// Holds what lives from one question of a chat to the next.
pub struct Chat {
    /// Whether answers are JSON objects.
    pub json: bool,
    /// Where the home is.
    path: PathBuf,
    /// The home; none before the first question makes it, and after it failed.
    home: Option<ChatHome>,
    /// The conversation; none until the first question of a new one is on record.
    pub thread: Option<Uuid>,
    /// The project that new conversations join, where it is another one than the one in use.
    joins: Option<String>,
    /// What the questions to come are asked with.
    pub settings: ChatSettings,
    /// What was said, so that it is said once.
    told: Rc<Notices>,
}

/// Says what the questions of a chat are asked with, until a command changes it.
#[derive(Default)]
pub struct ChatSettings {
    /// A model's id or alias; the configured one without it.
    pub model: Option<String>,
    /// Id of the specialist that is asked in its place.
    pub specialist: Option<String>,
    /// Ids of specialists that are asked at once in its place.
    pub council: Option<Vec<String>>,
    /// How sure answers are to be.
    pub accuracy: Option<AccuracyLevel>,
    /// What is declared as context.
    pub context: ContextRequest,
    /// Files that go with the next question.
    pub files: Vec<Attachment>,
}

/// An open home, and what is in force in it.
struct ChatHome {
    opened: OpenHome,
    terms: HomeTerms,
    /// Whether this chat made it.
    is_new: bool,
    /// Whether the log was changed since it was noted last.
    is_touched: bool,
}

/// Says what came of a question, and whether it is to be asked again.
pub struct ChatTurn {
    /// The exit code.
    pub code: u8,
    /// Whether nothing of it is on record for certain, so that it is to be asked again.
    pub is_kept: bool,
    /// Whether it was refused as it is: the same again is refused again.
    pub is_refused: bool,
    /// What has it answered otherwise, where the chat's settings may be why it was refused.
    pub way_out: Option<&'static str>,
    /// The exit code of the signal that gave it up.
    pub signalled: Option<u8>,
    /// Its text as it is offered again.
    pub offered: Option<String>,
}

impl ChatTurn {
    fn kept(code: u8) -> ChatTurn {
        ChatTurn {
            code,
            is_kept: true,
            is_refused: false,
            way_out: None,
            signalled: None,
            offered: None,
        }
    }

    fn refused(code: u8) -> ChatTurn {
        ChatTurn {
            is_refused: true,
            ..ChatTurn::kept(code)
        }
    }
}

impl ChatHome {
    /// Opens the home, and makes it where there is none.
    fn open() -> Result<ChatHome, OpenHomeError> {
        let (home, is_new) = open::home_or_new()?;
        let is_touched = home.log_is_touched();
        let opened = OpenHome::open_for_turns(home).inspect_err(|_| open::note_files())?;
        Ok(ChatHome {
            terms: HomeTerms::of(&opened.home, &opened.store)?,
            opened,
            is_new,
            is_touched,
        })
    }
}

impl Chat {
    /// Opens the home, if there is one, and finds the conversation that goes on.
    pub async fn begin(args: &ChatArgs, json: bool) -> Result<Chat, OpenHomeError> {
        let path = open::home_path()?;
        let mut chat = Chat {
            json,
            home: None,
            thread: None,
            joins: None,
            settings: ChatSettings {
                model: args.model.clone(),
                ..ChatSettings::default()
            },
            told: Rc::default(),
            path,
        };
        if let (Some(model), Ok(config)) = (&args.model, Config::load(&chat.path, &open::env))
            && let Ok(Some(meant)) = without_provider(model, &config).await
        {
            chat.settings.model = Some(meant.id);
        }
        if chat.path.exists() {
            chat.home = Some(ChatHome::open()?);
        }
        if let Some(name) = &args.specialist {
            chat.choose_specialist(name)?;
        }
        if let Some(names) = &args.council {
            chat.choose_council(names)?;
        }
        if let Some(level) = args.accuracy {
            chat.ask_by_level(level.into())?;
        }
        if let Some(project) = &args.project {
            chat.join(project)?;
        }
        match &args.conversation {
            Some(text) => chat.go_to(text)?,
            None if args.goes_on => chat.thread = Some(place::newest(chat.opened()?).await?),
            None => {}
        }
        Ok(chat)
    }

    /// Goes on in the conversation that a text means.
    pub fn go_to(&mut self, text: &str) -> Result<(), OpenHomeError> {
        self.thread = Some(place::find(self.opened()?, text)?);
        Ok(())
    }

    /// Begins another conversation with the next question.
    pub fn begin_anew(&mut self) {
        self.thread = None;
    }

    /// Begins another conversation now, and gives it a title.
    pub async fn begin_titled(&mut self, title: &str) -> Result<(), OpenHomeError> {
        let opened = self.opened()?;
        let model = self.settings.model.as_deref();
        let begun = place::begin(opened, title, model, &|line| say(line)).await?;
        self.thread = Some(begun);
        Ok(())
    }

    /// Has new conversations join a project, or none.
    pub fn join(&mut self, project: &str) -> Result<(), OpenHomeError> {
        if let Some(home) = &mut self.home {
            place::join_project(&mut home.opened, project)?;
        }
        self.joins = Some(project.to_owned());
        Ok(())
    }

    /// Asks a model from here on, if there is one of this name.
    ///
    /// Its name is made whole now, so that no server is asked for it again; gives what was typed so
    /// was taken for.
    pub async fn choose_model(&mut self, model: &str) -> Result<Option<String>, OpenHomeError> {
        let opened = self.opened()?;
        let database = opened.home.paths().database();
        let (call, config) = (CallOptions::default(), &opened.config);
        let choice = choose(Some(model), &call, config, &database).await?;
        let is_auto = model == AUTO;
        self.ask_one();
        self.settings.model = Some(if is_auto { model.to_owned() } else { choice.id });
        Ok(choice.why.filter(|_| !is_auto))
    }

    /// Asks a specialist from here on, or models by their own names where it is `none`; gives the
    /// specialist.
    pub fn choose_specialist(&mut self, name: &str) -> Result<Option<Specialist>, OpenHomeError> {
        let found = match name {
            NO_SPECIALIST => None,
            _ => Some(self.specialist(name)?),
        };
        self.ask_one();
        self.settings.specialist = found.as_ref().map(|found| found.id.to_string());
        Ok(found)
    }

    /// Asks one model from here on, and no specialist of any name.
    fn ask_one(&mut self) {
        self.settings.specialist = None;
        self.settings.council = None;
        self.settings.accuracy = None;
    }

    /// Asks these specialists at once from here on, between commas; one where it is `none`.
    pub fn choose_council(&mut self, names: &str) -> Result<(), OpenHomeError> {
        if names == NO_SPECIALIST {
            self.settings.council = None;
            return Ok(());
        }
        let names = names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let found = names.map(|name| self.specialist(name));
        let found: Vec<Specialist> = found.collect::<Result<_, _>>()?;
        let ids: BTreeSet<_> = found.iter().map(|one| one.id).collect();
        if ids.len() < found.len() || ids.len() < 2 {
            return Err(OpenHomeError::Refused(
                "a council has two members or more, each named once: /council swe,law".to_owned(),
            ));
        }
        self.settings.specialist = None;
        self.settings.council = Some(found.iter().map(|one| one.id.to_string()).collect());
        Ok(())
    }

    /// Has answers be so sure from here on; as before where it is `none`.
    pub fn choose_accuracy(&mut self, level: &str) -> Result<(), OpenHomeError> {
        if level == NO_SPECIALIST {
            self.settings.accuracy = None;
            return Ok(());
        }
        let level: AccuracyLevel = level.parse().map_err(|_| {
            OpenHomeError::Refused(format!(
                "'{}' is no accuracy: fast, balanced, high, maximum, or none",
                spelled_on_a_line(level)
            ))
        })?;
        self.ask_by_level(level)
    }

    /// The same for one of the levels, unless it would have every question refused: somebody has to be there
    /// who can be chosen.
    fn ask_by_level(&mut self, level: AccuracyLevel) -> Result<(), OpenHomeError> {
        let is_anybody = match &self.home {
            Some(home) => is_anybody(&home.opened.store)?,
            // Of a home that can't be opened now, the question says what is wrong.
            None => self.path.exists(),
        };
        if self.settings.council.is_none() && !is_anybody {
            return Err(nobody());
        }
        self.settings.specialist = None;
        self.settings.accuracy = Some(level);
        Ok(())
    }

    /// How one model answers again, where a level alone says who is asked.
    pub fn way_to_one_model(&self) -> Option<&'static str> {
        let by_level = self.settings.accuracy.is_some() && self.settings.council.is_none();
        by_level.then_some("/accuracy none has one model answer again")
    }

    /// The council that is asked, if one is.
    fn council(&self) -> Option<CouncilWish> {
        CouncilWish::of(self.settings.council.clone(), self.settings.accuracy)
    }

    /// Who answers, where it is not one model that somebody named; in words that begin a sentence.
    pub fn several(&self) -> Option<String> {
        let level = self.settings.accuracy.map(AccuracyLevel::name);
        let is_reviewed = self.settings.accuracy == Some(AccuracyLevel::Balanced);
        match (&self.settings.council, level) {
            (None, None) => None,
            (None, Some(_)) if is_reviewed => Some(
                "one specialist answers and another one reviews (accuracy balanced)".to_owned(),
            ),
            (None, Some(level)) => Some(format!("specialists answer with accuracy {level}")),
            (Some(ids), _) => {
                let names = ids
                    .iter()
                    .map(|id| self.specialist(id).map(|one| called(&one)));
                let names: Vec<String> = names.filter_map(Result::ok).collect();
                let names = names.join(", ");
                Some(match self.settings.accuracy {
                    Some(AccuracyLevel::Fast) => {
                        format!("of {names} the one of whom most is expected answers")
                    }
                    Some(AccuracyLevel::Balanced) => {
                        format!(
                            "of {names} one answers and another one reviews (accuracy balanced)"
                        )
                    }
                    Some(level) => format!("{names} answer together, accuracy {}", level.name()),
                    None => format!("{names} answer together"),
                })
            }
        }
    }

    fn specialist(&self, name: &str) -> Result<Specialist, OpenHomeError> {
        let all = on_record(&self.opened()?.store)?;
        find_specialist(&all, name).map_err(OpenHomeError::Refused)
    }

    /// Who answers the next question: the specialist or model that this chat was told to ask, else
    /// the model that answered in the conversation last, else the configured one.
    pub async fn answering(&self) -> Result<AnsweringModel, OpenHomeError> {
        let specialist = self.settings.specialist.as_deref();
        let specialist = specialist.map(|id| self.specialist(id)).transpose()?;
        let bound = specialist.as_ref().and_then(|one| one.model.as_deref());
        let mut answering = self.answering_model(bound).await?;
        answering.specialist = specialist.as_ref().map(called);
        Ok(answering)
    }

    /// The model that answers the next question: this one, or the one that is to be asked without it.
    async fn answering_model(&self, bound: Option<&str>) -> Result<AnsweringModel, OpenHomeError> {
        let model = bound.or(self.settings.model.as_deref());
        match &self.home {
            Some(ChatHome { opened, .. }) => {
                let place = self.thread.map(|thread| (&*opened.store, thread));
                let database = opened.home.paths().database();
                answering(place, model, (&opened.config, &database)).await
            }
            None => {
                let config = Config::load(&self.path, &open::env)?;
                answering(None, model, (&config, Path::new(""))).await
            }
        }
    }

    /// Where the home is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open home.
    pub fn opened(&self) -> Result<&OpenHome, OpenHomeError> {
        let home = self.home.as_ref().map(|home| &home.opened);
        home.ok_or_else(|| OpenHomeError::NoHome {
            path: self.path.clone(),
        })
    }

    /// Closes the home.
    pub fn close(&mut self) {
        if let Some(home) = self.home.take() {
            open::close_and_note(home.opened);
        }
    }

    /// Opens the home anew where another process changed what it is asked under; gives what was
    /// changed.
    pub fn renew_where_changed(&mut self) -> Result<Option<&'static str>, OpenHomeError> {
        let Some(home) = &self.home else {
            return Ok(None);
        };
        let terms = HomeTerms::of(&home.opened.home, &home.opened.store)?;
        let changed = terms.changed_since(&home.terms);
        if changed.is_some() {
            self.renew()?;
        }
        Ok(changed)
    }

    /// Opens the home anew. Until that succeeds, every question tries it again.
    fn renew(&mut self) -> Result<(), OpenHomeError> {
        self.close();
        self.home = Some(ChatHome::open()?);
        // Somebody may have ended the project meanwhile, which keeps nobody from asking.
        if let Some(project) = self.joins.take()
            && let Err(error) = self.join(&project)
        {
            stopped(&error, false);
        }
        Ok(())
    }

    /// Asks in the conversation; all of it is said.
    pub async fn ask(&mut self, text: &str) -> ChatTurn {
        let (request, council) = (self.request(text), self.council());
        if !self.path.exists()
            && let Some(why) = beyond_without_a_home(&request, &self.path).await
        {
            return ChatTurn::refused(could_not(&spelled(&why), self.json));
        }
        if self.home.is_none()
            && let Err(error) = self.renew()
        {
            return ChatTurn::kept(stopped(&error, self.json));
        }
        let Some(home) = &mut self.home else {
            return ChatTurn::kept(COULD_NOT);
        };
        let told = Rc::clone(&self.told);
        told.begin_turn();
        let is_new = std::mem::take(&mut home.is_new);
        if is_new {
            init::welcome(&home.opened.home, &home.opened.config, &told);
        }
        let door = TurnScreen {
            json: self.json,
            verbose: false,
            made: is_new,
            names_place: false,
            told: &told,
        };
        let asked = match &council {
            Some(council) => door.council(&home.opened, (&request, council), None).await,
            None => door.ask(&home.opened, &request, None).await,
        };
        let report = match asked {
            Ok(report) => report,
            Err(error) => {
                let code = stopped(&error, self.json);
                if is_of_the_home(&error) {
                    self.renew_and_say();
                }
                if !is_of_the_question(&error) {
                    return ChatTurn::kept(code);
                }
                let is_of_whom = matches!(error, OpenHomeError::Refused(_));
                return ChatTurn {
                    way_out: self.way_to_one_model().filter(|_| is_of_whom),
                    ..ChatTurn::refused(code)
                };
            }
        };
        let mut turn = ChatTurn {
            code: report.code,
            is_kept: report.asked.is_none(),
            is_refused: false,
            way_out: None,
            signalled: report.signalled,
            offered: None,
        };
        if let Some(exchange) = report.asked.as_ref().map(|asked| asked.exchange()) {
            turn.offered = offered(&home.opened.store, exchange).ok().flatten();
            self.stand_behind(exchange);
        }
        if let (Some(home), Some(asked)) = (&self.home, &report.asked) {
            handoff::run_after(&home.opened, asked, &told).await;
        }
        let signalled = self.settle(&report, &told).await;
        turn.signalled = turn.signalled.or(signalled);
        if report.is_unrecorded {
            self.renew_and_say();
        }
        turn
    }

    fn request(&self, text: &str) -> AskRequest {
        AskRequest {
            text: text.to_owned(),
            files: self.settings.files.clone(),
            model: self.settings.model.clone(),
            context: self.settings.context.clone(),
            thread: ThreadRequest {
                thread: self.thread.map(|thread| thread.to_string()),
                is_talk: true,
                anew: self.thread.is_none(),
                ..ThreadRequest::default()
            },
            door: QuestionDoor::Chat,
            specialist: match (&self.settings.specialist, self.settings.accuracy) {
                (Some(id), _) => Some(SpecialistWish::Named(id.clone())),
                (None, Some(AccuracyLevel::Fast)) => {
                    Some(SpecialistWish::Best(self.settings.council.clone()))
                }
                (None, _) => None,
            },
            ..AskRequest::default()
        }
    }

    /// What is on record was asked with the files, and began the conversation if none was there.
    fn stand_behind(&mut self, exchange: Uuid) {
        self.settings.files.clear();
        let (Some(home), None) = (&self.home, self.thread) else {
            return;
        };
        self.thread = thread_of(&home.opened.store, exchange).ok().flatten();
    }

    /// Does what can wait until the answer is there, until a signal comes; gives its exit code.
    async fn settle(&mut self, report: &TurnReport, told: &Notices) -> Option<u8> {
        let home = self.home.as_mut()?;
        let is_touched = std::mem::take(&mut home.is_touched);
        let cancelled = CancellationToken::new();
        let wait = Wait::begin(cancelled.clone()).ok()?;
        let settling = settled(&home.opened, report, is_touched, told);
        if let Some(Err(error)) = cancelled.run_until_cancelled(settling).await {
            stopped(&error, false);
        }
        wait.exit_code()
    }

    /// Opens the home anew after it failed, and says so.
    fn renew_and_say(&mut self) {
        match self.renew() {
            Ok(()) => say("the home was opened anew"),
            Err(error) => {
                stopped(&error, false);
            }
        }
    }
}

/// Whether an error before a question was on record is of the home and its keys, which another
/// process may have changed, and not of what was asked.
fn is_of_the_home(error: &OpenHomeError) -> bool {
    matches!(
        error,
        OpenHomeError::Home(_)
            | OpenHomeError::Key(_)
            | OpenHomeError::ReadOnly { .. }
            | OpenHomeError::Recorder(_)
            | OpenHomeError::Store(_)
    )
}

/// Whether an error before a question was on record is of what was asked and of whom, so that the same again is
/// refused again.
fn is_of_the_question(error: &OpenHomeError) -> bool {
    matches!(
        error,
        OpenHomeError::Refused(_)
            | OpenHomeError::Wanting(_)
            | OpenHomeError::Setting { .. }
            | OpenHomeError::UnknownModel { .. }
            | OpenHomeError::Model(_)
            | OpenHomeError::Find(_)
    )
}
