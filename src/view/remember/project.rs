//! Projects.

use serde::Serialize;

use crate::app::remember::named_artifact::NamedThing;
use crate::app::remember::project::{ListedProject, ProjectChoice, ProjectDetails, RetiredProject};
use crate::view::keep::plan::PlanView;

/// A project, as it stands beside a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct ProjectView {
    /// Its id: `project:000001`.
    pub id: String,
    /// What it is called; null when that is erased or not kept.
    pub name: Option<String>,
    /// `open` or `retired`.
    pub state: &'static str,
}

impl ProjectView {
    /// Of a project.
    pub fn of(project: &ProjectDetails) -> Self {
        ProjectView {
            id: project.row.id.clone(),
            name: project.name.clone(),
            state: project.row.state.name(),
        }
    }
}

/// A project in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedProjectView {
    /// The project itself.
    #[serde(flatten)]
    pub project: ProjectView,
    /// How many conversations it has, those in the archive among them.
    pub conversations: u64,
    /// Whether it is in use.
    pub in_use: bool,
}

impl ListedProjectView {
    /// Of a project in a list.
    pub fn of(listed: &ListedProject) -> Self {
        ListedProjectView {
            project: ProjectView::of(&listed.project),
            conversations: listed.conversations,
            in_use: listed.is_in_use,
        }
    }
}

/// What retiring a project would do.
pub fn retirement(planned: &ListedProject) -> PlanView<ListedProjectView> {
    let called = planned.project.called();
    let stays = match planned.conversations {
        0 => "it has no conversation, and none joins it".to_owned(),
        1 => "its 1 conversation stays in it, and no other one joins it".to_owned(),
        several => format!("its {several} conversations stay in it, and no other one joins it"),
    };
    let mut would = vec![format!("retires {called} for good: {stays}")];
    if planned.is_in_use {
        would.push("stops using it: what begins then is in no project".to_owned());
    }
    PlanView::new(true, would, ListedProjectView::of(planned))
}

/// A project that was retired.
#[derive(Clone, Debug, Serialize)]
pub struct RetiredProjectView {
    /// The project as it is now.
    #[serde(flatten)]
    pub project: ListedProjectView,
    /// Whether it was in use until now.
    pub stopped_use: bool,
    /// The variable of the environment that still names it; null for none.
    pub still_named_by: Option<String>,
}

impl RetiredProjectView {
    /// Of a project that was retired.
    pub fn of(retired: &RetiredProject) -> Self {
        RetiredProjectView {
            project: ListedProjectView::of(&retired.of),
            stopped_use: retired.stopped_use,
            still_named_by: retired.still_named_by.clone(),
        }
    }
}

/// A project that was given a name.
#[derive(Clone, Debug, Serialize)]
pub struct NamedProjectView {
    /// The project as it is now.
    #[serde(flatten)]
    pub project: ListedProjectView,
    /// Kinds of secrets that were removed from the name.
    pub removed: Vec<String>,
}

impl NamedProjectView {
    /// Of a project that was given a name.
    pub fn of(named: &NamedThing<ListedProject>) -> Self {
        NamedProjectView {
            project: ListedProjectView::of(&named.of),
            removed: named.removed.clone(),
        }
    }
}

/// Which project is in use.
#[derive(Clone, Debug, Serialize)]
pub struct ProjectChoiceView {
    /// It; null for none.
    pub project: Option<ProjectView>,
    /// The variable of the environment that is set, and wins over what was chosen.
    pub overridden_by: Option<String>,
}

impl ProjectChoiceView {
    /// Of a choice.
    pub fn of(choice: &ProjectChoice) -> Self {
        ProjectChoiceView {
            project: choice.project.as_ref().map(ProjectView::of),
            overridden_by: choice.setting.overridden_by.clone(),
        }
    }
}
