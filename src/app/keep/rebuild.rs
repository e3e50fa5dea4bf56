//! A lost log or ledger from the database, or why not.

use std::path::Path;

use crate::home::Home;
use crate::ledger::read::{RefTarget, Repository};
use crate::log::read::{LogPiece, LogReader};
use crate::os::kind_of;
use crate::record::ledger::commit::MAIN;
use crate::recorder::{
    self, Contradiction, MissingParts, Paths, RebuildOutcome, RecorderError, is_marked,
    look_for_losses,
};
use crate::store::UnsignedLines;
use crate::verify::Report;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::history::first_parents;
use crate::app::prove::verify::home::check_own;

/// Why nothing was rebuilt.
#[derive(Debug)]
pub enum RebuildError {
    /// The sources contradict each other.
    Contradiction(Contradiction),
    /// It could not be looked at, or not done.
    Home(OpenHomeError),
}

impl<E> From<E> for RebuildError
where
    OpenHomeError: From<E>,
{
    fn from(error: E) -> Self {
        match OpenHomeError::from(error) {
            OpenHomeError::Recorder(RecorderError::Differ(difference)) => {
                RebuildError::Contradiction(difference)
            }
            // Nothing was asked that could be withheld: it could not be done, that is all.
            OpenHomeError::Recorder(error) => {
                RebuildError::Home(OpenHomeError::Refused(error.to_string()))
            }
            other => RebuildError::Home(other),
        }
    }
}

/// Whether lines are signed that no tree head covered when the home was rebuilt.
pub enum RebuiltSignature {
    /// A writer has signed what was to be signed.
    Signed,
    /// The home was restored from a backup, and writes nothing before it is said what is newer.
    Restored,
    /// A writer could not start, and the newest line waits for one; why.
    Unsigned(String),
    /// A writer could not start, and nothing waited to be signed; why.
    NoWriter(String),
}

/// What was rebuilt, and what a check of it found.
pub struct RebuildResult {
    /// What was rebuilt.
    pub rebuilt: RebuildOutcome,
    /// Whether the newest line is signed.
    pub signature: RebuiltSignature,
    /// What the check of the rebuilt home found.
    pub report: Report,
}

/// What is lost of a home; changes nothing.
pub fn losses(root: &Path) -> Result<MissingParts, RebuildError> {
    Ok(look_for_losses(&rebuildable(root)?)?)
}

/// Restores what is lost of a home, and checks it. What nobody had signed is told before it is signed.
pub fn rebuild(root: &Path, tell: &dyn Fn(&UnsignedLines)) -> Result<RebuildResult, RebuildError> {
    let paths = rebuildable(root)?;
    let rebuilt = recorder::rebuild(&paths, open::clock()?)?;
    let signature = if is_marked(&paths) {
        RebuiltSignature::Restored
    } else {
        if let Some(unsigned) = &rebuilt.lost.unsigned {
            tell(unsigned);
        }
        match sign(&paths) {
            Ok(()) => RebuiltSignature::Signed,
            Err(why) if rebuilt.is_signed => RebuiltSignature::NoWriter(why.to_string()),
            Err(why) => RebuiltSignature::Unsigned(why.to_string()),
        }
    };
    Ok(RebuildResult {
        rebuilt,
        signature,
        report: check_own(&paths)?,
    })
}

/// The home's files; fails without a database.
fn rebuildable(root: &Path) -> Result<Paths, OpenHomeError> {
    let paths = Paths {
        root: root.to_owned(),
    };
    let parts = [paths.database(), paths.ledger(), paths.log()];
    if parts.iter().all(|part| !part.exists()) {
        return Err(OpenHomeError::NoHome { path: paths.root });
    }
    if !paths.database().is_file() {
        return Err(OpenHomeError::Refused(without_database(&paths)));
    }
    Ok(paths)
}

/// Signs the lines that no tree head covers yet.
fn sign(paths: &Paths) -> Result<(), OpenHomeError> {
    let home = Home::open(&paths.root)?.ok_or_else(|| OpenHomeError::NoHome {
        path: paths.root.clone(),
    })?;
    let signer = open::signer(&home, &open::config(&home)?)?;
    Ok(recorder::sign_rebuilt(paths, signer, open::clock()?)?)
}

/// Why nothing can be rebuilt without the database, and what there is.
fn without_database(paths: &Paths) -> String {
    let found = paths.database().symlink_metadata();
    let found = found.map_or("missing", |found| kind_of(found.file_type()));
    let (root, ledger, log) = (paths.root.display(), paths.ledger(), paths.log());
    let of_ledger = in_ledger(&ledger).map_or_else(
        |why| format!("ledger.git can't be read ({why})"),
        |(commits, lines)| {
            format!("main in ledger.git has {commits} commits, with lines 1 to {lines} of the log")
        },
    );
    let of_log = in_log(&log).map_or_else(
        |why| format!("audit.log can't be read ({why})"),
        |lines| format!("audit.log has {lines} lines"),
    );
    let if_log = |words: String| if log.is_file() { words } else { String::new() };
    let with_log = if_log(format!(" --log {root}.lost/audit.log"));
    let own_log = if_log(format!(" --log {}", log.display()));
    format!(
        "gently.db is {found}, and can't be rebuilt: texts, salts and the state of sessions were in it alone. {of_ledger}; \
         {of_log}. What is there can be verified for ever: `gently audit verify --repo {}{own_log}`. To go on, a backup \
         is needed: `mv {root} {root}.lost`, `gently restore FILE`, then \
         `gently audit adopt --from {root}.lost/ledger.git{with_log}` takes over what is newer than the backup, without \
         its texts. With no backup: keep this home as it is, and go on in a new one, GENTLY_HOME=DIR gently init",
        ledger.display()
    )
}

/// Commits on `main`, and lines in its segments.
fn in_ledger(path: &Path) -> Result<(usize, usize), String> {
    let repository = Repository::open(path).map_err(|e| e.to_string())?;
    let refs = repository.refs().map_err(|e| e.to_string())?;
    let main = refs
        .into_iter()
        .find(|found| found.name == MAIN)
        .map(|found| found.target);
    let Some(RefTarget::Direct(main)) = main else {
        return Err("it has no main".to_owned());
    };
    let chain = first_parents(&repository, &main).map_err(|e| e.actual())?;
    let mut lines = 0;
    for (_, commit) in &chain {
        let tree = repository.tree(&commit.tree).map_err(|e| e.actual())?;
        if let Some(entry) = tree.iter().find(|entry| entry.name == "audit.log") {
            let segment = repository.segment(&entry.id).map_err(|e| e.actual())?;
            lines += segment.iter().filter(|byte| **byte == b'\n').count();
        }
    }
    Ok((chain.len(), lines))
}

/// Whole lines of the log.
fn in_log(path: &Path) -> Result<usize, String> {
    let pieces = LogReader::open(path).map_err(|e| e.to_string())?;
    Ok(pieces
        .filter(|piece| matches!(piece, Ok(LogPiece::Line(_))))
        .count())
}
