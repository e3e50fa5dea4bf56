//! Projects: names under which conversations are kept together, and the one that is in use.
//!
//! Ids on record are public, names are not: so a project is called by a number there.

use crate::config::Config;
use crate::home::Home;
use crate::record::ledger::conversation::{
    NO_PROJECT, PROJECT, PROJECT_RENAMED, PROJECT_RETIRED, ProjectRow, ProjectState,
    check_project_name,
};
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecorderError};
use crate::store::{ReadStore, StoreError};

use super::named_artifact::{NamedArtifact, NamedThing, record_named};
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::look::conversation::{GivenText, said_in};
use crate::app::set_up::settings::{self, ChangedSetting};

/// The key that says which project is in use.
pub const KEY: &str = "conversation.project";

/// A beginning of fewer characters is typed by mistake.
const LEAST: usize = 3;

/// A project with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectDetails {
    /// Row of the project.
    pub row: ProjectRow,
    /// Name for screens, such as `project-1`.
    pub short: String,
    /// What it is called; none where that is not here.
    pub name: Option<String>,
    /// Why its name is not there; none when it is.
    pub missing: Option<&'static str>,
}

impl ProjectDetails {
    /// How a sentence calls it: `project-1 "Travel"`.
    pub fn called(&self) -> String {
        match &self.name {
            Some(name) => format!("{} \"{}\"", self.short, spelled_on_a_line(name)),
            None => self.short.clone(),
        }
    }
}

/// A project in a list.
pub struct ListedProject {
    /// The project, with its name.
    pub project: ProjectDetails,
    /// How many conversations it has, those in the archive among them.
    pub conversations: u64,
    /// Whether it is in use.
    pub is_in_use: bool,
}

/// A project of this id, as it is read now; none where there is none.
pub fn details(store: &ReadStore, id: &str) -> Result<Option<ProjectDetails>, StoreError> {
    let row = store.project(id)?;
    row.map(|row| with_name(store, row)).transpose()
}

fn with_name(store: &ReadStore, row: ProjectRow) -> Result<ProjectDetails, StoreError> {
    let (name, missing) = match said_in(store, row.name_line, "name")? {
        GivenText::Words(name) => (Some(name), None),
        GivenText::NotKept => (None, Some("not kept")),
        GivenText::Erased => (None, Some("erased")),
    };
    Ok(ProjectDetails {
        short: short_name(&row.id),
        row,
        name,
        missing,
    })
}

fn all(store: &ReadStore) -> Result<Vec<ProjectDetails>, StoreError> {
    let rows = store.projects(None)?.into_iter();
    rows.map(|row| with_name(store, row)).collect()
}

/// Those whose name a text is; where none is, those that have it in another case; else those that
/// begin so.
fn called(store: &ReadStore, typed: &str) -> Result<Vec<ProjectDetails>, StoreError> {
    let rows = store.projects_named(typed, u32::MAX)?.into_iter();
    let found: Vec<ProjectDetails> = rows
        .map(|row| with_name(store, row))
        .collect::<Result<_, StoreError>>()?;
    if !found.is_empty() {
        return Ok(found);
    }
    let typed = typed.to_lowercase();
    let (mut alike, mut beginning) = (Vec::new(), Vec::new());
    for project in all(store)? {
        let name = project.name.as_deref().map(str::to_lowercase);
        match name {
            Some(name) if name == typed => alike.push(project),
            Some(name) if name.starts_with(&typed) => beginning.push(project),
            _ => {}
        }
    }
    let is_long = typed.chars().count() >= LEAST;
    Ok(match alike.is_empty() {
        true if is_long => beginning,
        _ => alike,
    })
}

/// The project that a text means: its name in any case, its id, or how its name begins.
///
/// Of several with one name the one that is open is meant; where that leaves several, they are named.
pub fn find(store: &ReadStore, text: &str) -> Result<ProjectDetails, OpenHomeError> {
    let typed = text.trim();
    if let Some(found) = record_name(typed)
        .map(|id| details(store, &id))
        .transpose()?
        .flatten()
    {
        return Ok(found);
    }
    let mut found = called(store, typed)?;
    if found.len() > 1 {
        let is_open = |project: &ProjectDetails| project.row.state == ProjectState::Open;
        let open = found.iter().filter(|project| is_open(project)).count();
        if open == 1 {
            found.retain(is_open);
        }
    }
    match found.len() {
        0 => Err(OpenHomeError::Refused(format!(
            "no project '{}' here: its name or how that begins, or its id as in project-1; gently project list shows \
             them",
            spelled_on_a_line(typed)
        ))),
        1 => found
            .pop()
            .ok_or_else(|| OpenHomeError::Refused("no project".to_owned())),
        _ => {
            let named: Vec<String> = found.iter().map(ProjectDetails::called).collect();
            Err(OpenHomeError::Refused(format!(
                "'{}' could be any of: {}; say which by its id",
                spelled_on_a_line(typed),
                named.join(", ")
            )))
        }
    }
}

/// The same of one that conversations can be put into.
pub fn find_open(store: &ReadStore, text: &str) -> Result<ProjectDetails, OpenHomeError> {
    let found = find(store, text)?;
    match found.row.state {
        ProjectState::Open => Ok(found),
        ProjectState::Retired => Err(OpenHomeError::Refused(is_retired(&found.called()))),
    }
}

fn is_retired(called: &str) -> String {
    format!("{called} is retired; gently project list shows those that are open")
}

/// Why nothing can be put into a project any more.
pub fn why_not_open(store: &ReadStore, id: &str) -> Result<Option<String>, RecorderError> {
    let state = store.project(id)?.map(|row| row.state);
    Ok(match state {
        Some(ProjectState::Open) => None,
        Some(ProjectState::Retired) => Some(is_retired(&short_name(id))),
        None => Some(format!("there is no {}", short_name(id))),
    })
}

/// The project in use, as `conversation.project` names it; it may be retired.
pub fn in_use(store: &ReadStore, config: &Config) -> Result<Option<ProjectDetails>, OpenHomeError> {
    let Some(text) = config.conversation.project.as_deref() else {
        return Ok(None);
    };
    if text.eq_ignore_ascii_case(NO_PROJECT) {
        return Ok(None);
    }
    find(store, text).map(Some).map_err(|e| match e {
        OpenHomeError::Refused(why) => OpenHomeError::Refused(format!(
            "{KEY} says which project is in use: {why}; gently project use none goes on without"
        )),
        other => other,
    })
}

/// The id of the project in use.
pub fn id_in_use(store: &ReadStore, config: &Config) -> Result<Option<String>, OpenHomeError> {
    Ok(in_use(store, config)?.map(|project| project.row.id))
}

/// The project in use that a new conversation joins; none, and a word about it, when it is retired.
pub fn joined_by_new(
    store: &ReadStore,
    config: &Config,
    notice: &dyn Fn(&str),
) -> Result<Option<ProjectDetails>, OpenHomeError> {
    let Some(project) = in_use(store, config)? else {
        return Ok(None);
    };
    if project.row.state == ProjectState::Open {
        return Ok(Some(project));
    }
    notice(&format!(
        "{} is in use and retired: what begins now is in no project (gently project use none)",
        project.called()
    ));
    Ok(None)
}

/// The projects of a home, oldest first; without the retired ones unless all are asked for.
pub fn list(home: &Home, with_retired: bool) -> Result<Vec<ListedProject>, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    store.begin_read()?;
    // A key that names nothing is no reason to list nothing.
    let in_use = id_in_use(&store, &config).ok().flatten();
    let shown = all(&store)?.into_iter().filter(|project| {
        with_retired
            || project.row.state == ProjectState::Open
            || in_use.as_ref() == Some(&project.row.id)
    });
    shown
        .map(|project| listed(&store, project, in_use.as_deref()))
        .collect()
}

/// One project of a home, by its whole name or its id.
pub fn show(home: &Home, text: &str) -> Result<ListedProject, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    store.begin_read()?;
    let in_use = id_in_use(&store, &config).ok().flatten();
    listed(&store, find(&store, text)?, in_use.as_deref())
}

fn listed(
    store: &ReadStore,
    project: ProjectDetails,
    in_use: Option<&str>,
) -> Result<ListedProject, OpenHomeError> {
    Ok(ListedProject {
        conversations: store.conversations_in(&project.row.id)?,
        is_in_use: in_use == Some(project.row.id.as_str()),
        project,
    })
}

/// The project that would be retired; changes nothing.
pub fn plan_retirement(
    store: &ReadStore,
    config: &Config,
    text: &str,
) -> Result<ListedProject, OpenHomeError> {
    let in_use = id_in_use(store, config).ok().flatten();
    listed(store, find_open(store, text)?, in_use.as_deref())
}

/// The same of one, as it is after a change.
fn after(opened: &OpenHome, id: &str) -> Result<ListedProject, OpenHomeError> {
    let in_use = id_in_use(&opened.store, &opened.config).ok().flatten();
    let project = details(&opened.store, id)?.ok_or_else(|| StoreError::Corrupt {
        place: "project.id".to_owned(),
        expected: "a row for each project".to_owned(),
        actual: format!("none for {id}"),
    })?;
    listed(&opened.store, project, in_use.as_deref())
}

/// A name as it is recorded, if no open project has it.
fn name_in<'a>(
    store: &ReadStore,
    text: &'a str,
    but: Option<&str>,
) -> Result<&'a str, OpenHomeError> {
    let name = text.trim();
    check_project_name(name).map_err(|e| OpenHomeError::Refused(e.to_string()))?;
    let in_small = name.to_lowercase();
    let is_taken = |other: &ProjectDetails| {
        let other_name = other.name.as_deref().map(str::to_lowercase);
        other_name.as_deref() == Some(in_small.as_str())
            && other.row.state == ProjectState::Open
            && Some(other.row.id.as_str()) != but
    };
    match all(store)?.into_iter().find(is_taken) {
        None => Ok(name),
        Some(other) => Err(OpenHomeError::Refused(format!(
            "there is a project of that name: {}",
            other.called()
        ))),
    }
}

/// Makes a project.
pub async fn begin(
    opened: &OpenHome,
    name: &str,
    notice: &dyn Fn(&str),
) -> Result<NamedThing<ListedProject>, OpenHomeError> {
    let name = name_in(&opened.store, name, None)?;
    let key = opened.authorize().await?;
    let named = NamedArtifact {
        kind: PROJECT,
        id: ArtifactId::Next { prefix: PROJECT },
        name_key: "name",
        name,
        beside: Vec::new(),
    };
    let (recorded, removed) = record_named(opened, key, named, notice).await?;
    let of = after(opened, &recorded.document.id)?;
    Ok(NamedThing { of, removed })
}

/// Gives a project another name.
pub async fn rename(
    opened: &OpenHome,
    project: &str,
    name: &str,
    notice: &dyn Fn(&str),
) -> Result<NamedThing<ListedProject>, OpenHomeError> {
    let key = opened.authorize().await?;
    let found = find(&opened.store, project)?;
    let name = name_in(&opened.store, name, Some(&found.row.id))?;
    let named = NamedArtifact {
        kind: PROJECT_RENAMED,
        id: ArtifactId::Of(found.row.id.clone()),
        name_key: "name",
        name,
        beside: Vec::new(),
    };
    let (_, removed) = record_named(opened, key, named, notice).await?;
    let of = after(opened, &found.row.id)?;
    Ok(NamedThing { of, removed })
}

/// A project that was retired.
pub struct RetiredProject {
    /// The project as it is now.
    pub of: ListedProject,
    /// Whether it was in use, and the settings name it no more.
    pub stopped_use: bool,
    /// The variable of the environment that names it still.
    pub still_named_by: Option<String>,
}

/// Ends a project, for good: its conversations stay in it, and no other one joins them. It is in use
/// no more.
pub async fn retire(
    opened: &OpenHome,
    planned: &ListedProject,
) -> Result<RetiredProject, OpenHomeError> {
    let key = opened.authorize().await?;
    let found = &planned.project;
    let id = found.row.id.clone();
    let allowed = move |store: &ReadStore| why_not_open(store, &id);
    let new = NewArtifact {
        kind: PROJECT_RETIRED,
        id: ArtifactId::Of(found.row.id.clone()),
        content: vec![("by", ArtifactField::Hash(key))],
        session: None,
        salt: fresh_salt()?,
        now: open::clock()?,
    };
    opened.recorder.artifact(new, allowed).await?;
    let mut of = after(opened, &found.row.id)?;
    if !planned.is_in_use {
        return Ok(RetiredProject {
            of,
            stopped_use: false,
            still_named_by: None,
        });
    }
    let setting = settings::unset(KEY, opened.home.root(), &open::env)?;
    of.is_in_use = setting.overridden_by.is_some();
    Ok(RetiredProject {
        stopped_use: !of.is_in_use,
        still_named_by: setting.overridden_by,
        of,
    })
}

/// What is in use after a change of it.
pub struct ProjectChoice {
    /// The project; none for none.
    pub project: Option<ProjectDetails>,
    /// What was written to gently.toml.
    pub setting: ChangedSetting,
}

/// Puts a project in use, or none: its id is written to gently.toml, so that another name changes
/// nothing.
pub fn choose(home: &Home, text: &str) -> Result<ProjectChoice, OpenHomeError> {
    let root = home.root();
    if text.trim().eq_ignore_ascii_case(NO_PROJECT) {
        return Ok(ProjectChoice {
            project: None,
            setting: settings::unset(KEY, root, &open::env)?,
        });
    }
    let store = open::store(home)?;
    let project = find_open(&store, text)?;
    let setting = settings::set(KEY, &project.row.id, root, &open::env)?;
    Ok(ProjectChoice {
        project: Some(project),
        setting,
    })
}
