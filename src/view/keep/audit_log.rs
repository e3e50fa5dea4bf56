//! What came of walking along the log of the database.

use serde::Serialize;

use crate::app::keep::doctor::audit_log::AuditWalk;
use crate::app::prove::verify::conclusion::VerdictMark;
use crate::app::words::counted;

use crate::view::prove::headline::HeadlineView;

/// The first line that does not follow from those before.
#[derive(Clone, Debug, Serialize)]
pub struct AuditBreakView {
    /// Its number, from 1.
    pub line: u64,
    /// What belongs there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// What came of walking along the log.
#[derive(Clone, Debug, Serialize)]
pub struct AuditWalkView {
    /// The sentence that it comes to.
    pub headline: HeadlineView,
    /// Whether all lines follow from one another.
    pub ok: bool,
    /// Lines that do, from the first.
    pub lines: u64,
    /// Where it breaks; null where it does not.
    pub broken: Option<AuditBreakView>,
}

impl AuditWalkView {
    /// Of a walk.
    pub fn of(walk: &AuditWalk) -> Self {
        let (mark, text) = match &walk.broken {
            None => {
                let lines = counted(walk.lines, "log line");
                (
                    VerdictMark::Yes,
                    format!("{lines}, each follows from the one before"),
                )
            }
            Some(broken) => {
                let line = broken.line;
                (
                    VerdictMark::No,
                    format!(
                        "The log breaks at line {line}: it does not follow from the one before"
                    ),
                )
            }
        };
        AuditWalkView {
            headline: HeadlineView::new(mark, text),
            ok: walk.broken.is_none(),
            lines: walk.lines,
            broken: walk.broken.as_ref().map(|broken| AuditBreakView {
                line: broken.line,
                expected: broken.expected.clone(),
                found: broken.actual.clone(),
            }),
        }
    }
}
