//! `gently project`: names under which conversations are kept together, and the one in use.

use clap::Subcommand;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::remember::named_artifact::NamedThing;
use crate::app::remember::project::{
    ListedProject, ProjectChoice, ProjectDetails, begin, choose, list, plan_retirement, rename,
    retire, show,
};
use crate::record::ledger::conversation::ProjectState;
use crate::view::remember::project::{
    ListedProjectView, NamedProjectView, ProjectChoiceView, RetiredProjectView, retirement,
};

use crate::cli::screen::confirm::{self, ConfirmArgs, ConfirmWords};
use crate::cli::screen::{counted, quiet};
use crate::cli::{Notices, could_not, present, program, say};

/// What `gently project` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// Make a project; gently project use puts it in use
    New {
        /// What to call it
        name: String,
    },
    /// List projects, oldest first
    List {
        /// Those that are retired, too
        #[arg(long)]
        all: bool,
    },
    /// Give a project another name
    Rename {
        /// Its name or how that begins, or its id as in project-1
        project: String,
        /// What to call it from now on
        name: String,
    },
    /// End a project for good: its conversations stay in it, no other one joins them
    Retire {
        /// Its name or how that begins, or its id as in project-1
        project: String,
        #[command(flatten)]
        consent: ConfirmArgs,
    },
    /// Put a project in use: only its conversations are listed, and new ones join it
    ///
    /// Its id is written to gently.toml (conversation.project). GENTLY_CONVERSATION_PROJECT wins over
    /// it, for one shell.
    Use {
        /// Its name or how that begins, its id as in project-1, or none
        project: String,
    },
}

impl ProjectCommand {
    /// Whether it changes a file of the home that sight compares.
    pub fn writes(&self) -> bool {
        match self {
            ProjectCommand::Use { .. } => true,
            ProjectCommand::Retire { consent, .. } => !consent.dry_run,
            _ => false,
        }
    }
}

/// Does it.
pub async fn run(command: ProjectCommand, json: bool) -> Result<u8, OpenHomeError> {
    let told = Notices::default();
    let notice = |line: &str| told.say(line);
    match command {
        ProjectCommand::New { name } => {
            let made = begin(&open::open_home()?, &name, &notice).await?;
            let printed = print_named(&made, json);
            say(&format!(
                "to put it in use: {} project use {}",
                program(),
                made.of.project.short
            ));
            Ok(printed)
        }
        ProjectCommand::List { all } => print_list(all, json),
        ProjectCommand::Rename { project, name } => {
            let renamed = rename(&open::open_home()?, &project, &name, &notice).await?;
            Ok(print_named(&renamed, json))
        }
        ProjectCommand::Retire { project, consent } => end(&project, consent, json).await,
        ProjectCommand::Use { project } => put_in_use(&project, json),
    }
}

/// Retires a project, once somebody has said that it may be.
async fn end(project: &str, consent: ConfirmArgs, json: bool) -> Result<u8, OpenHomeError> {
    if consent.dry_run {
        let home = open::existing_home()?;
        let (store, config) = (open::store(&home)?, open::config(&home)?);
        let planned = plan_retirement(&store, &config, project)?;
        return Ok(confirm::dry_run(&retirement(&planned), json));
    }
    let opened = open::open_home()?;
    opened.authorize().await?;
    let planned = plan_retirement(&opened.store, &opened.config, project)?;
    let words = ConfirmWords {
        does: "retire it",
        done: "retired",
    };
    if let Err(why) = consent.ask(&retirement(&planned), words) {
        return Ok(could_not(&why, json));
    }
    let retired = retire(&opened, &planned).await?;
    if retired.stopped_use {
        say("it was in use, and no project is now: what begins from here on is in none");
    }
    if let Some(variable) = &retired.still_named_by {
        say(&format!(
            "{variable} names it in this shell, and what begins now is in no project: unset {variable}"
        ));
    }
    let view = || RetiredProjectView::of(&retired);
    Ok(present(json, view, || line(&retired.of)))
}

fn print_list(all: bool, json: bool) -> Result<u8, OpenHomeError> {
    let projects = list(&open::existing_home()?, all)?;
    let views = || {
        let views = projects.iter().map(ListedProjectView::of);
        views.collect::<Vec<_>>()
    };
    let text = || {
        if projects.is_empty() {
            say(&format!(
                "no project yet: {} project new \"…\" makes one",
                program()
            ));
        }
        projects.iter().map(line).collect()
    };
    Ok(present(json, views, text))
}

/// Prints the project of an id.
pub fn print_shown(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    Ok(print_one(&show(&open::existing_home()?, id)?, json))
}

fn print_one(listed: &ListedProject, json: bool) -> u8 {
    present(json, || ListedProjectView::of(listed), || line(listed))
}

fn print_named(named: &NamedThing<ListedProject>, json: bool) -> u8 {
    present(json, || NamedProjectView::of(named), || line(&named.of))
}

/// `project-1  Travel  (3 conversations, in use)`
fn line(listed: &ListedProject) -> String {
    let mut beside = vec![counted(listed.conversations, "conversation")];
    if listed.is_in_use {
        beside.push("in use".to_owned());
    }
    if listed.project.row.state == ProjectState::Retired {
        beside.push("retired".to_owned());
    }
    let name = name(&listed.project);
    let short = &listed.project.short;
    format!("{short}  {name}  ({})\n", beside.join(", "))
}

/// What a project is called, or in brackets why that is not here.
fn name(project: &ProjectDetails) -> String {
    match (&project.name, project.missing) {
        (Some(name), _) => quiet(name),
        (None, Some(missing)) => format!("({missing})"),
        (None, None) => String::new(),
    }
}

fn put_in_use(project: &str, json: bool) -> Result<u8, OpenHomeError> {
    let choice = choose(&open::existing_home()?, project)?;
    if let Some(variable) = &choice.setting.overridden_by {
        say(&format!(
            "not in force in this shell: {variable} is set and wins"
        ));
    }
    Ok(present(
        json,
        || ProjectChoiceView::of(&choice),
        || in_use(&choice),
    ))
}

fn in_use(choice: &ProjectChoice) -> String {
    match &choice.project {
        Some(project) => format!("{} is in use\n", project.called()),
        None => "no project is in use\n".to_owned(),
    }
}
