//! Projects.

use serde::Serialize;

use crate::app::remember::named_artifact::NamedThing;
use crate::app::remember::project::{ListedProject, ProjectChoice, ProjectDetails};
use crate::app::words::counted;
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
    let would = format!(
        "retires {} for good: its {} stay in it, and no other one joins it",
        planned.project.called(),
        counted(planned.conversations, "conversation")
    );
    PlanView::new(true, vec![would], ListedProjectView::of(planned))
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
