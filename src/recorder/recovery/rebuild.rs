//! Restoring a lost log or ledger from the database, where nothing contradicts it; and what the
//! database derives from itself.
//!
//! The database holds every line, every commit with its signature and every file of one, so nothing
//! here asks the signing key; the `recover` line is signed by the next writer, and a
//! database without a tree head by [`sign_rebuilt`] alone. First everything is
//! looked at: the database must hold together, and what is left of log and ledger must be a
//! beginning or a part of what it says. Only then something is written, in the order of a normal
//! batch: objects, refs, lines, the mark; and at last a `recover` line says how much it was.
//!
//! | found | done |
//! |---|---|
//! | no log, an empty one, one that ends early, with or without a part of its next line | the missing lines are appended |
//! | no tree head beside the log, a torn one, one over fewer lines | the database's is put there |
//! | a log that ends in bytes that are no line (zeros after a power loss), or is no file but a link or a folder | it is set aside, and written anew |
//! | an old line with other words, while the database's lines are under a tree head signed by the key in force | the log is set aside, and written anew |
//! | no ledger, or a folder that is no repository any more | set aside, and made anew |
//! | a repository without a file `HEAD`, or with `shallow` or `info/grafts` | one is put there, these are set aside, before anything is compared; notes stay |
//! | objects missing or torn; packs torn | packs are set aside, the objects written again |
//! | a ref missing, torn, or at an older commit of its own history | moved to the newest |
//! | the mark of what log and ledger have (`head.applied_*`) is none of the database's own lines | made again |
//! | derived rows, or a search index, that are not what turns, artifacts and texts give | made again |
//! | a view, an index, a trigger, a search index or a table without evidence that is not as this build makes it | made again, a view, an index or a trigger too many is taken away |
//! | a table of evidence that is missing | refused: nothing else holds what was in it |
//! | anything else | refused: [`Contradiction`] |

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::keys::Signer;
use crate::ledger::aside_of;
use crate::record::hash::Hash32;
use crate::record::log::entry::{Event, Line};
use crate::record::time::Seconds;
use crate::record::tree::Frontier;
use crate::store::{
    AppliedMark, DerivedFaults, LedgerHead, ReaderWait, SchemaDifference, Store, StoreError,
    UnsignedLines,
};

use super::restored;
use super::unsigned;
use crate::recorder::batch::{transaction, writer::Writer};
use crate::recorder::entries::{content_policy::WriterContext, erase};
use crate::recorder::lock::{WAIT, WriterLock};
use crate::recorder::{CHECKPOINT, Paths, RecorderError, SyncPolicy, apply, unwatched};

mod commits;
mod ledger;
mod log;
mod rows;

/// The first place where database, log and ledger contradict each other; nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: gently.db says {database}; {holder} says {found}. Nothing was written. {next}")]
pub struct Contradiction {
    /// Which line, commit or ref, numbers from 1.
    pub place: String,
    /// What the database says.
    pub database: String,
    /// Who says otherwise: `audit.log`, `ledger.git`, or `gently.db` itself.
    pub holder: &'static str,
    /// What that one says.
    pub found: String,
    /// The next command.
    pub next: String,
}

/// What is lost of log and ledger, or was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingParts {
    /// Numbers of the first and last line that the log lacks, from 1.
    pub lines: Option<(u64, u64)>,
    /// The tree head beside the log is missing, torn, or over fewer lines.
    pub checkpoint: bool,
    /// Bytes of an unfinished last line in the log, which are cut.
    pub torn_bytes: u64,
    /// There was no repository.
    pub repository: bool,
    /// Its `HEAD` is missing or torn.
    pub head: bool,
    /// Commits of which an object is missing or torn.
    pub commits: u64,
    /// Refs that are missing, torn or behind.
    pub refs: Vec<String>,
    /// Derived rows and search indexes of the database that are not what turns, artifacts and texts
    /// give.
    pub derived: DerivedFaults,
    /// Tables, views, indexes and triggers of the database that are not as this build makes them;
    /// tables stay as they are.
    pub schema: Vec<SchemaDifference>,
    /// What the database notes that log and ledger have does not follow from its lines.
    pub mark: bool,
    /// Lines that nothing has signed, in a database whose tree head was taken away: whoever signs the
    /// tree anew signs them.
    pub unsigned: Option<UnsignedLines>,
    /// The home was restored from a backup that has no tree head: who adopts signs one, no rebuild.
    pub adoption_signs: bool,
    /// What is renamed, since nothing is deleted: files as they are before, after a rebuild their
    /// new names.
    pub aside: Vec<PathBuf>,
}

impl MissingParts {
    /// Whether nothing is lost.
    pub fn is_nothing(&self) -> bool {
        *self == MissingParts::default()
    }

    /// How much it is, as a `recover` line counts: lines or commits, whichever is more.
    pub fn count(&self) -> u64 {
        let lines = self
            .lines
            .map_or(0, |(from, to)| to.saturating_sub(from).saturating_add(1));
        let refs = u64::try_from(self.refs.len()).unwrap_or(u64::MAX);
        lines.max(self.commits).max(refs)
    }
}

/// What a rebuild did, and where the home stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebuildOutcome {
    /// What was restored.
    pub lost: MissingParts,
    /// Number of the `recover` line, from 1; none when nothing was missing.
    pub recover: Option<u64>,
    /// Lines of the log.
    pub lines: u64,
    /// Commits of the ledger.
    pub commits: u64,
    /// HASH of the last line.
    pub head: Hash32,
    /// Whether a signed tree head is over all lines.
    pub is_signed: bool,
}

/// A home whose writers wait.
struct LockedHome<'a> {
    paths: &'a Paths,
    store: Store,
    /// What of its schema is not as this build makes it.
    schema: Vec<SchemaDifference>,
    head: LedgerHead,
    _lock: WriterLock,
}

impl<'a> LockedHome<'a> {
    fn open(paths: &'a Paths) -> Result<Self, RecorderError> {
        let store = Store::open(&paths.database())?;
        let lock = WriterLock::acquire_within(&paths.lock(), WAIT)?;
        let schema = store.schema_faults()?;
        if let Some(lost) = lost_evidence(&schema) {
            return Err(lost.into());
        }
        let head = store.head()?;
        Ok(LockedHome {
            paths,
            store,
            schema,
            head,
            _lock: lock,
        })
    }

    /// Whether the tree head beside the log is not the database's; refuses when it is of another
    /// history.
    fn lost_checkpoint(&self) -> Result<bool, RecorderError> {
        match apply::checkpoint_is_newest(&self.head, self.paths) {
            Ok(is_newest) => Ok(match self.head.lacks_tree_head() {
                true => !self.adoption_signs(),
                false => !is_newest && self.head.checkpoint.is_some(),
            }),
            Err(RecorderError::Disagree {
                place,
                expected,
                actual,
                ..
            }) => {
                let next = database_is_older();
                Err(Contradiction {
                    place,
                    database: expected,
                    holder: CHECKPOINT,
                    found: actual,
                    next,
                }
                .into())
            }
            Err(e) => Err(e),
        }
    }

    /// Whether the tree head that is missing is signed when somebody says what is newer than the backup.
    fn adoption_signs(&self) -> bool {
        self.head.lacks_tree_head() && restored::is_marked(self.paths)
    }

    /// What nobody has signed, where there is no tree head to tell: the commits have been looked at.
    fn unsigned(
        &self,
        ledger: &ledger::LedgerContent,
    ) -> Result<Option<UnsignedLines>, RecorderError> {
        match self.head.lacks_tree_head() {
            true => {
                unsigned::without_tree_head(&self.store, &self.head, ledger.covered, self.paths)
            }
            false => Ok(None),
        }
    }

    /// Whether the mark of what log and ledger have is none of the record; from here on it is taken for
    /// one that knows nothing then.
    fn forget_stray_mark(&mut self) -> Result<bool, RecorderError> {
        let after = self.store.lines(self.head.applied.lines, self.head.lines)?;
        let is_stray = !self.head.fits_mark(&after);
        if is_stray {
            self.head.applied = AppliedMark::default();
        }
        Ok(is_stray)
    }

    fn look(&self) -> Result<(log::LogContent, ledger::LedgerContent), RecorderError> {
        let here = ledger::open(&self.paths.ledger())?;
        let log = log::look(&self.store, &self.head, &self.paths.log(), here.ledger())?;
        let ledger = ledger::look(&self.store, &self.head, here)?;
        // What contradicts in another way is told first.
        unsigned::refuse(&self.store, &self.head)?;
        Ok((log, ledger))
    }
}

/// What of log and ledger is lost and [`rebuild`] would restore; changes neither.
///
/// Holds the writer's lock while it looks. The error is [`RecorderError::Differ`] where the sources
/// contradict.
pub fn look(paths: &Paths) -> Result<MissingParts, RecorderError> {
    // What else may be wrong is said where the home is opened.
    let is_negative = Store::open(&paths.database())?.has_negative_mark();
    if matches!(is_negative, Ok(true)) {
        // Nothing else can be looked at before that is made again.
        return Ok(MissingParts {
            mark: true,
            ..MissingParts::default()
        });
    }
    let mut home = LockedHome::open(paths)?;
    let mark = home.forget_stray_mark()?;
    let (log, ledger) = home.look()?;
    let mut lost = MissingParts {
        mark,
        checkpoint: home.lost_checkpoint()?,
        derived: derived_unless(!home.schema.is_empty(), home.store.all_derived_faults())?,
        schema: home.schema.clone(),
        unsigned: home.unsigned(&ledger)?,
        adoption_signs: home.adoption_signs(),
        ..MissingParts::default()
    };
    log.count(&home.head, &home.paths.log(), &mut lost);
    ledger.count(&home.paths.ledger(), &mut lost);
    Ok(lost)
}

/// Why nothing is rebuilt from a database that lacks what is evidence.
fn lost_evidence(schema: &[SchemaDifference]) -> Option<Contradiction> {
    let lost = schema.iter().filter(|fault| fault.is_lost_evidence());
    let lost: Vec<&str> = lost.map(|fault| fault.name.as_str()).collect();
    let others = schema.iter().filter(|fault| fault.cure().is_some());
    let others: Vec<&str> = others.map(|fault| fault.name.as_str()).collect();
    let next = match (lost.as_slice(), others.as_slice()) {
        (_, []) | ([], _) => database_is_wrong(),
        ([first, ..], [other, ..]) => format!(
            "None of gently's: table {}. If it is what is missing, under another name, give it its own, in the home: \
             sqlite3 gently.db 'ALTER TABLE {other} RENAME TO {first}', then `gently audit rebuild`. If not: {}",
            others.join(", "),
            database_is_wrong()
        ),
    };
    (!lost.is_empty()).then(|| Contradiction {
        place: format!("the tables of evidence, {}", lost.join(", ")),
        database: "nothing, as it has no such table any more".to_owned(),
        holder: "the program",
        found: "what was in them stood there alone, and can't be made again".to_owned(),
        next,
    })
}

/// What of derived rows is not as it should be; where the schema is another (`is_another`) it need not
/// be readable before that is made again.
fn derived_unless(
    is_another: bool,
    faults: Result<DerivedFaults, StoreError>,
) -> Result<DerivedFaults, StoreError> {
    match faults {
        Err(StoreError::Query { .. } | StoreError::Altered { .. }) if is_another => {
            Ok(DerivedFaults::default())
        }
        faults => faults,
    }
}

/// Restores what is lost of log and ledger, and logs `recover` when anything was missing; then makes
/// again what the database derives from itself, which is no record.
///
/// `now` is the time of that line. Durable on return. The error is [`RecorderError::Differ`] where
/// the sources contradict; then nothing was written. A rebuild that was interrupted is finished by
/// the next one.
pub fn rebuild(paths: &Paths, now: Seconds) -> Result<RebuildOutcome, RecorderError> {
    let was_negative = forget_negative_mark(paths)?;
    let mut home = LockedHome::open(paths)?;
    let mark = home.forget_stray_mark()? || was_negative;
    let hindrances = ledger::take_out_of_the_way(&paths.ledger())?;
    let (log, ledger) = home.look()?;
    let mut lost = MissingParts {
        mark,
        checkpoint: home.lost_checkpoint()?,
        unsigned: home.unsigned(&ledger)?,
        adoption_signs: home.adoption_signs(),
        ..MissingParts::default()
    };
    ledger.restore(&home.store, &home.head, &paths.ledger(), &mut lost)?;
    lost.head |= hindrances.no_head;
    lost.aside.extend(hindrances.aside);
    log.restore(&home.store, &home.head, &paths.log(), &mut lost)?;
    if lost.checkpoint {
        apply::put_checkpoint(&home.head, paths)?;
    }
    lost.schema = home.store.make_schema_again()?;
    lost.derived = home.store.derive_again()?;
    home.store.forget_first_letters()?;
    erase::finish(&mut home.store, ReaderWait::Seconds)?;
    let applied = apply::all_applied(&home.head);
    if home.head.applied != applied {
        home.sync_all()?;
        home.store.mark_applied(&applied)?;
    }
    // A home that was restored from a backup gets its files back as the backup's database has them,
    // and no line of its own before somebody says whether there is newer history.
    let recover = if lost.count() > 0 && !restored::is_marked(paths) {
        Some(home.say_recovered(now, lost.count())?)
    } else {
        None
    };
    let is_signed = transaction::is_signed(&home.head);
    let LedgerHead {
        lines,
        commits,
        hash,
        ..
    } = home.head;
    Ok(RebuildOutcome {
        lost,
        recover,
        lines,
        commits,
        head: hash,
        is_signed,
    })
}

/// A mark that is no count is set to none, which says that nothing is known to be durable.
fn forget_negative_mark(paths: &Paths) -> Result<bool, RecorderError> {
    let mut store = Store::open(&paths.database())?;
    let is_negative = matches!(store.has_negative_mark(), Ok(true));
    if is_negative {
        store.mark_applied(&AppliedMark::default())?;
    }
    Ok(is_negative)
}

/// Has a writer start once, which signs what a rebuild leaves: its own line, and all of them where the
/// database had no tree head any more.
pub fn sign_rebuilt(
    paths: &Paths,
    key: impl Into<Signer>,
    now: Seconds,
) -> Result<(), RecorderError> {
    sign_anew(paths, Arc::new(key.into()), now)
}

/// The same with a key that signs more afterwards.
pub(super) fn sign_anew(
    paths: &Paths,
    key: Arc<Signer>,
    now: Seconds,
) -> Result<(), RecorderError> {
    let mut writer = Writer::open(
        paths.clone(),
        key,
        WriterContext::new(None, None)?,
        unwatched(),
        (WAIT, SyncPolicy::EachBatch),
    )?;
    writer.sign_anew(now)
}

impl LockedHome<'_> {
    /// Waits until all that no mark calls durable is: it may be in its place, and not on the disk.
    fn sync_all(&self) -> Result<(), RecorderError> {
        let watch = unwatched();
        let again = |store: &_| {
            apply::apply(
                store,
                &self.head,
                (self.paths, &watch),
                apply::GitKnowledge::Anywhere,
            )
        };
        self.store.reading(again)?.sync(&watch)
    }

    /// Appends the `recover` line, here and to the log; returns its number.
    fn say_recovered(&mut self, now: Seconds, count: u64) -> Result<u64, RecorderError> {
        let before = self.store.head()?;
        let mut head = before.clone();
        let mut frontier =
            Frontier::from_bytes(&head.frontier).map_err(|e| RecorderError::Unrecordable {
                what: "head.frontier",
                reason: e.to_string(),
            })?;
        // A clock that is behind stops new records, and must not stop the mending of old ones.
        let time = head.time.max(now);
        let line = Line::new(
            head.hash,
            head.height,
            time,
            None,
            Event::Recover { applied: count },
        );
        self.store.transact(&mut |tx| {
            transaction::append(tx, &mut head, &mut frontier, &line, &line.text())?;
            head.frontier = frontier.to_bytes();
            tx.move_head(&before, &head)
        })?;
        let watch = unwatched();
        apply::apply(
            &self.store,
            &head,
            (self.paths, &watch),
            apply::GitKnowledge::Anywhere,
        )?
        .sync(&watch)?;
        self.store.mark_applied(&apply::all_applied(&head))?;
        self.head = self.store.head()?;
        Ok(self.head.lines)
    }
}

/// Renames what can't be used, so that it is kept. Durable with the folder's next sync.
fn set_aside(path: &Path) -> Result<PathBuf, RecorderError> {
    let to = aside_of(path);
    let failed = |e: std::io::Error| RecorderError::Unapplied {
        what: "setting aside",
        reason: e.to_string(),
    };
    std::fs::rename(path, &to).map_err(failed)?;
    Ok(to)
}

/// What follows when the source of a rebuild is itself broken.
pub(super) fn database_is_wrong() -> String {
    "The database was changed or damaged, and nothing is rebuilt from it: keep this home as it is, and bring back the \
     newest backup in another place: `GENTLY_HOME=DIR gently restore FILE`. `gently audit verify` names all that does \
     not hold"
        .to_owned()
}

/// What is there was changed, and does not hold by itself: the person may put it away.
fn changed(name: &str) -> String {
    format!(
        "`gently audit verify` shows what holds. If {name} was changed or damaged, keep it, in the home: \
         `mv {name} {name}.changed`; then `gently audit rebuild` makes it anew from the database"
    )
}

/// What stands behind the last line of database and tree head alike, and follows it.
fn nobody_signed(lines: u64) -> String {
    format!(
        "Nobody signed it: the signed tree head beside the log ends with line {lines}, as the database does, and whoever \
         could write the file could add it. Keep it, in the home: `mv audit.log audit.log.changed`; then \
         `gently audit rebuild` writes the log anew from the database"
    )
}

/// What is there goes on where the database ends.
fn database_is_older() -> String {
    "The database is the older one: bring the newest one back; if it is lost, `gently audit adopt --own` takes over \
     what ledger.git and audit.log hold beyond it"
        .to_owned()
}

/// What is there holds by itself, and is not what the database holds.
fn two_histories() -> String {
    "Both hold by themselves: these are two histories, and gently does not choose. Keep both, and bring together \
     the gently.db, ledger.git and audit.log that belong to each other. `gently audit verify` names all that differs"
        .to_owned()
}
