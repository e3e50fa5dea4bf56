//! A log or ledger that is restored from the database.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::app::keep::rebuild::RebuildResult;
use crate::recorder::{Contradiction, MissingParts};
use crate::store::{DerivedFaults, UnsignedLines};

use crate::view::prove::report::VerdictView;

/// Lines of the log.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LineRangeView {
    /// The number of the first, from 1.
    pub from: u64,
    /// The number of the last.
    pub to: u64,
}

/// What is lost of log and ledger, or was restored.
#[derive(Clone, Debug, Serialize)]
pub struct MissingPartsView {
    /// Lines that the log lacks.
    pub lines: Option<LineRangeView>,
    /// Bytes of an unfinished last line.
    pub torn_bytes: u64,
    /// Whether the tree head beside the log is lost.
    pub checkpoint: bool,
    /// Whether there is no repository.
    pub made_anew: bool,
    /// Whether its `HEAD` is lost.
    pub head: bool,
    /// Commits of which an object is lost.
    pub commits: u64,
    /// Refs that are lost.
    pub refs: Vec<String>,
    /// What the database derives from itself and is not as it should be.
    pub derived: DerivedFaultsView,
    /// Views, indexes and triggers that are not as this build makes them, each as a sentence.
    pub schema: Vec<String>,
    /// The same of tables: they stay as they are.
    pub tables: Vec<String>,
    /// Whether the database noted of log and ledger what does not follow from its lines.
    pub mark: bool,
    /// Lines that nobody had signed, in a database whose tree head was taken away.
    pub unsigned: Option<UnsignedView>,
    /// Whether the tree head is signed by `gently audit adopt` alone: the home was restored from a backup
    /// that has none.
    pub adoption_signs: bool,
}

/// Lines that nobody had signed.
#[derive(Clone, Debug, Serialize)]
pub struct UnsignedView {
    /// Which they are.
    pub lines: LineRangeView,
    /// The first of them by number, kind and time.
    pub named: Vec<String>,
}

impl UnsignedView {
    /// Of what a database says.
    pub fn of(unsigned: &UnsignedLines) -> Self {
        UnsignedView {
            lines: LineRangeView {
                from: unsigned.from,
                to: unsigned.to,
            },
            named: unsigned.named.clone(),
        }
    }
}

/// Rows and entries of search indexes that are not what turns, artifacts and texts give.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DerivedFaultsView {
    /// Rows of facts, notes, decisions and intents.
    pub items: u64,
    /// Rows of conversations.
    pub conversations: u64,
    /// Rows of projects.
    pub projects: u64,
    /// Rows of ratings.
    pub ratings: u64,
    /// Rows of what councils decided.
    pub councils: u64,
    /// Rows of handoffs.
    pub handoffs: u64,
    /// Sums of checks, by parts of the log.
    pub checks: u64,
    /// Rows of imported conversations.
    pub imported: u64,
    /// Names of what is erased.
    pub erased: u64,
    /// 1 where what is noted of settings is another.
    pub settings: u64,
    /// Entries of search indexes.
    pub indexed: u64,
}

impl DerivedFaultsView {
    /// Of what was found.
    pub fn of(faults: &DerivedFaults) -> Self {
        DerivedFaultsView {
            items: faults.items,
            conversations: faults.conversations,
            projects: faults.projects,
            ratings: faults.ratings,
            councils: faults.councils,
            handoffs: faults.handoffs,
            checks: faults.checks,
            imported: faults.imported,
            erased: faults.erased,
            settings: faults.settings,
            indexed: faults.indexed,
        }
    }
}

impl MissingPartsView {
    fn of(lost: &MissingParts) -> Self {
        MissingPartsView {
            lines: lost.lines.map(|(from, to)| LineRangeView { from, to }),
            torn_bytes: lost.torn_bytes,
            checkpoint: lost.checkpoint,
            made_anew: lost.repository,
            head: lost.head,
            commits: lost.commits,
            refs: lost.refs.clone(),
            derived: DerivedFaultsView::of(&lost.derived),
            schema: sentences(lost, true),
            tables: sentences(lost, false),
            mark: lost.mark,
            unsigned: lost.unsigned.as_ref().map(UnsignedView::of),
            adoption_signs: lost.adoption_signs,
        }
    }
}

/// Differences of the schema that a rebuild mends, or leaves.
fn sentences(lost: &MissingParts, mended: bool) -> Vec<String> {
    let of = lost.schema.iter();
    let of = of.filter(|fault| fault.is_mendable() == mended);
    of.map(ToString::to_string).collect()
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.display().to_string();
    paths.iter().map(name).collect()
}

/// What would be restored.
#[derive(Clone, Debug, Serialize)]
pub struct LossesView {
    /// Always true: nothing was written.
    pub dry_run: bool,
    /// What is lost.
    pub lost: MissingPartsView,
    /// Files that would be renamed.
    pub set_aside: Vec<String>,
    /// The exit code.
    pub exit: u8,
}

impl LossesView {
    /// Of what is lost.
    pub fn of(lost: &MissingParts, exit: u8) -> Self {
        LossesView {
            dry_run: true,
            lost: MissingPartsView::of(lost),
            set_aside: names(&lost.aside),
            exit,
        }
    }
}

/// What was restored.
#[derive(Clone, Debug, Serialize)]
pub struct RebuildView {
    /// Whether nothing was written: always false.
    pub dry_run: bool,
    /// What was lost before.
    pub restored: MissingPartsView,
    /// Files that were renamed: their new names.
    pub set_aside: Vec<String>,
    /// The number of the `recover` line.
    pub recover_line: Option<u64>,
    /// Lines of the log.
    pub lines: u64,
    /// Commits of the ledger.
    pub commits: u64,
    /// HASH of the last line.
    pub head: String,
    /// What a check of it found, by question.
    pub answers: BTreeMap<&'static str, VerdictView>,
    /// The exit code.
    pub exit: u8,
}

impl RebuildView {
    /// Of a rebuild.
    pub fn of(result: &RebuildResult, exit: u8) -> Self {
        let rebuilt = &result.rebuilt;
        RebuildView {
            dry_run: false,
            restored: MissingPartsView::of(&rebuilt.lost),
            set_aside: names(&rebuilt.lost.aside),
            recover_line: rebuilt.recover,
            lines: rebuilt.lines,
            commits: rebuilt.commits,
            head: rebuilt.head.to_string(),
            answers: VerdictView::all(&result.report),
            exit,
        }
    }
}

/// Where database, log and ledger say different things.
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceView {
    /// Which line, commit or ref.
    pub place: String,
    /// What the database says.
    pub database: String,
    /// Who says otherwise.
    #[serde(rename = "in")]
    pub holder: &'static str,
    /// What that one says.
    pub found: String,
    /// The next command.
    pub next: String,
}

/// That nothing was rebuilt, because the sources contradict each other.
#[derive(Clone, Debug, Serialize)]
pub struct ContradictionView {
    /// The same in words.
    pub error: String,
    /// What the two say, and where.
    pub difference: DifferenceView,
    /// The exit code.
    pub exit: u8,
}

impl ContradictionView {
    /// Of a contradiction.
    pub fn of(difference: &Contradiction, exit: u8) -> Self {
        ContradictionView {
            error: difference.to_string(),
            difference: DifferenceView {
                place: difference.place.clone(),
                database: difference.database.clone(),
                holder: difference.holder,
                found: difference.found.clone(),
                next: difference.next.clone(),
            },
            exit,
        }
    }
}
