//! The database's commits among themselves and against `ledger.git`, and writing what the ledger
//! lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::ledger::read::{RefTarget, Repository};
use crate::ledger::write::Ledger;
use crate::ledger::{LedgerError, Oid, head_of, put_away};
use crate::os::open_regular;
use crate::record::ledger::commit::{NOTES_OTS, NOTES_WITNESS};
use crate::store::{CommitRow, LedgerHead, Store};

use super::commits::Commits;
use super::{Contradiction, MissingParts, RecorderError, changed, database_is_older, set_aside};
use crate::recorder::apply::files_of;
use crate::recorder::comparison::{ExpectedRef, RefPosition, ref_position};

/// The file without which git sees no repository.
const HEAD: &str = "HEAD";
/// What it holds in a new ledger.
const HEAD_TEXT: &str = "ref: refs/heads/main\n";
/// How many commits are written as one pack.
const WRITTEN: u64 = 2048;

/// What is at the ledger's place.
pub enum LedgerPlace {
    /// Nothing, or an empty folder.
    Nothing,
    /// A folder that is no repository.
    Broken,
    /// A repository that something keeps from being read, which is put out of the way first.
    Hindered(Hindrances),
    /// A repository that could be opened.
    Ledger(Box<Ledger>),
}

impl LedgerPlace {
    /// The repository, if it is one.
    pub fn ledger(&self) -> Option<&Ledger> {
        match self {
            LedgerPlace::Ledger(ledger) => Some(ledger),
            _ => None,
        }
    }
}

fn apply_error(what: &'static str) -> impl Fn(LedgerError) -> RecorderError {
    move |e| RecorderError::Unapplied {
        what,
        reason: e.to_string(),
    }
}

/// What keeps a repository from being read although it is whole, and says nothing of what is on record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hindrances {
    /// There is no file `HEAD` that stock git reads.
    pub no_head: bool,
    /// What is in its place; files that give commits other parents (`shallow`, `info/grafts`).
    pub aside: Vec<PathBuf>,
}

impl Hindrances {
    fn of(path: &Path) -> Self {
        if !["objects", "refs"]
            .iter()
            .all(|part| path.join(part).is_dir())
        {
            return Hindrances::default();
        }
        let head = path.join(HEAD);
        let no_head = head_of(path).is_err();
        let others = ["shallow", "info/grafts"].map(|part| path.join(part));
        let head = no_head.then_some(head).into_iter();
        Hindrances {
            no_head,
            aside: head.chain(others).filter(|file| is_there(file)).collect(),
        }
    }

    fn is_nothing(&self) -> bool {
        *self == Hindrances::default()
    }
}

/// Puts aside what keeps a repository from being read, and a `HEAD` into one without; returns what was
/// done, with new names. As it says nothing of what is on record it is done before anything is
/// compared, and the repository's notes stay where they are.
pub fn take_out_of_the_way(path: &Path) -> Result<Hindrances, RecorderError> {
    let Hindrances { no_head, aside } = Hindrances::of(path);
    let aside = aside
        .iter()
        .map(|file| set_aside(file))
        .collect::<Result<_, _>>()?;
    if no_head {
        restore_head(path)?;
    }
    Ok(Hindrances { no_head, aside })
}

/// Opens what is there; a folder that can't be read is an error, and not taken for a broken one.
pub fn open(path: &Path) -> Result<LedgerPlace, RecorderError> {
    let failed = |e: std::io::Error| RecorderError::Unapplied {
        what: "reading ledger.git",
        reason: format!("{}: {e}", path.display()),
    };
    match std::fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(LedgerPlace::Nothing),
        Err(e) => return Err(failed(e)),
        Ok(true) => return Ok(LedgerPlace::Nothing),
        Ok(false) => {}
    }
    let hindrances = Hindrances::of(path);
    if !hindrances.is_nothing() {
        return Ok(LedgerPlace::Hindered(hindrances));
    }
    for part in [HEAD, "config"] {
        let part = path.join(part);
        match open_regular(&part) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(RecorderError::Unapplied {
                    what: "reading ledger.git",
                    reason: format!("{}: {e}. {}", part.display(), put_away(path, &part)),
                });
            }
            _ => {}
        }
    }
    match Ledger::open(path) {
        Ok(ledger) => Ok(LedgerPlace::Ledger(Box::new(ledger))),
        Err(LedgerError::Git { .. }) => Ok(LedgerPlace::Broken),
        Err(e) => Err(apply_error("opening ledger.git")(e)),
    }
}

/// What there is of the ledger.
pub struct LedgerContent {
    here: LedgerPlace,
    /// Refs that are not at their newest commit: where they are, and where they belong.
    refs: BTreeMap<String, (RefPosition, Oid)>,
    /// Files of torn packs.
    packs: Vec<PathBuf>,
    /// Commits of which an object is missing or torn.
    commits: u64,
    /// The first lines of the log, up to the last that a commit of the database belongs to.
    pub covered: u64,
}

impl LedgerContent {
    /// What of it is lost.
    pub fn count(&self, path: &Path, lost: &mut MissingParts) {
        lost.repository = matches!(self.here, LedgerPlace::Nothing | LedgerPlace::Broken);
        lost.commits = self.commits;
        lost.refs = self.refs.keys().cloned().collect();
        lost.aside.extend(self.packs.iter().cloned());
        match &self.here {
            LedgerPlace::Broken => lost.aside.push(path.to_owned()),
            LedgerPlace::Hindered(Hindrances { no_head, aside }) => {
                lost.head = *no_head;
                lost.aside.extend(aside.iter().cloned());
            }
            LedgerPlace::Nothing | LedgerPlace::Ledger(_) => {}
        }
    }

    /// Writes objects, then moves refs. Durable on return.
    pub fn restore(
        self,
        store: &Store,
        head: &LedgerHead,
        path: &Path,
        lost: &mut MissingParts,
    ) -> Result<(), RecorderError> {
        self.count(path, lost);
        lost.aside.clear();
        let mut ledger = match self.here {
            LedgerPlace::Ledger(mut ledger) => {
                lost.aside = ledger
                    .set_aside_torn_packs()
                    .map_err(apply_error("setting aside torn packs"))?;
                *ledger
            }
            LedgerPlace::Broken => {
                lost.aside.push(set_aside(path)?);
                made(path)?
            }
            LedgerPlace::Nothing => made(path)?,
            LedgerPlace::Hindered(again) => {
                return Err(RecorderError::Unapplied {
                    what: "opening ledger.git",
                    reason: format!("somebody changes it meanwhile: {again:?}"),
                });
            }
        };
        if lost.repository || self.commits > 0 || !self.packs.is_empty() {
            lost.commits = put_all(store, head, path, &mut ledger)?;
        }
        for (name, (place, tip)) in &self.refs {
            let moved = match place {
                RefPosition::Known(from) => ledger.move_ref(name, *from, *tip),
                RefPosition::Torn => ledger.overwrite_torn_ref(name, *tip),
                // Such a one is refused, and nothing is restored.
                RefPosition::Elsewhere => continue,
            };
            moved.map_err(apply_error("moving a ref of ledger.git"))?;
        }
        ledger.sync().map_err(apply_error("syncing ledger.git"))
    }
}

/// Makes `HEAD` as a new ledger has it. Durable on return.
fn restore_head(path: &Path) -> Result<(), RecorderError> {
    let file = path.join(HEAD);
    let written = std::fs::write(&file, HEAD_TEXT)
        .and_then(|()| File::open(&file)?.sync_all())
        .and_then(|()| File::open(path)?.sync_all());
    written.map_err(|e| RecorderError::Unapplied {
        what: "writing HEAD of ledger.git",
        reason: e.to_string(),
    })
}

/// Whether there is anything, be it a link to nothing.
fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

fn made(path: &Path) -> Result<Ledger, RecorderError> {
    let mut ledger = Ledger::create(path).map_err(apply_error("making ledger.git"))?;
    ledger.sync().map_err(apply_error("syncing ledger.git"))?;
    Ok(ledger)
}

/// Writes every commit of which something is missing; returns how many there were.
fn put_all(
    store: &Store,
    head: &LedgerHead,
    path: &Path,
    ledger: &mut Ledger,
) -> Result<u64, RecorderError> {
    let mut written = 0;
    let mut from = 0;
    while from < head.commits {
        let to = from.saturating_add(WRITTEN).min(head.commits);
        for row in store.commits(from, to)? {
            let before = ledger.written();
            ledger
                .put(&row.raw, &files_of(store, &row)?)
                .map_err(apply_error("writing objects to ledger.git"))?;
            written += u64::from(ledger.written() != before);
        }
        ledger.sync().map_err(apply_error("syncing ledger.git"))?;
        ledger.tidy().map_err(apply_error("merging packs"))?;
        // This handle may still have mapped packs that were merged.
        *ledger = Ledger::open(path).map_err(apply_error("opening ledger.git"))?;
        from = to;
    }
    Ok(written)
}

/// Holds the database's commits against each other, the lines and the ledger; refuses at the first
/// difference.
pub fn look(
    store: &Store,
    head: &LedgerHead,
    here: LedgerPlace,
) -> Result<LedgerContent, RecorderError> {
    let mut covered = 0;
    if matches!(here, LedgerPlace::Hindered(_)) {
        if head.lacks_tree_head() {
            let all = Commits::begin(store, None, true)?;
            all.look(head, &mut |row, _| covered = row.line.saturating_add(1))?;
        }
        return Ok(LedgerContent {
            here,
            refs: BTreeMap::new(),
            packs: Vec::new(),
            commits: 0,
            covered,
        });
    }
    let names: BTreeSet<String> = store.refs()?.into_iter().collect();
    let mut places = BTreeMap::new();
    let mut packs = Vec::new();
    if let Some(ledger) = here.ledger() {
        refuse_strange_refs(store, ledger, &names)?;
        packs = ledger
            .torn_packs()
            .map_err(apply_error("reading the packs of ledger.git"))?;
        for name in names {
            if let Some(target) = target(ledger, &name)? {
                places.insert(name, target);
            }
        }
    }
    // A ref may be at any commit of its own history, or not there: what is lost is written again.
    let mut known: BTreeMap<String, ExpectedRef> = BTreeMap::new();
    let strict = !packs.is_empty() || head.lacks_tree_head();
    let (tips, commits) =
        Commits::begin(store, here.ledger(), strict)?.look(head, &mut |row, id| {
            covered = row.line.saturating_add(1);
            let expected = known.entry(row.reference.clone()).or_default();
            expected.pending.push(id);
        })?;
    let mut refs = BTreeMap::new();
    for (name, tip) in tips {
        let place = places.get(&name);
        let position = ref_position(&known.remove(&name).unwrap_or_default(), place);
        match (position, place, here.ledger()) {
            (RefPosition::Known(Some(id)), ..) if id == tip => {}
            (RefPosition::Elsewhere, Some(RefTarget::Direct(id)), Some(ledger)) => {
                return Err(elsewhere(ledger, head, name, (*id, tip)).into());
            }
            _ => {
                refs.insert(name, (position, tip));
            }
        }
    }
    Ok(LedgerContent {
        here,
        refs,
        packs,
        commits,
        covered,
    })
}

/// Where a ref of the ledger points; none where there is none.
fn target(ledger: &Ledger, name: &str) -> Result<Option<RefTarget>, RecorderError> {
    match ledger.tip(name) {
        Ok(id) => Ok(id.map(RefTarget::Direct)),
        Err(LedgerError::TornRef { found, .. }) => Ok(Some(RefTarget::Broken(found))),
        Err(e) => Err(apply_error("reading a ref of ledger.git")(e)),
    }
}

/// A ref that is at no commit which the database knows there.
fn elsewhere(
    ledger: &Ledger,
    head: &LedgerHead,
    name: String,
    (at, tip): (Oid, Oid),
) -> Contradiction {
    let next = if goes_on(ledger, head, at, tip) {
        database_is_older()
    } else {
        changed("ledger.git")
    };
    let database = format!("commit {tip}");
    Contradiction {
        place: name,
        database,
        holder: "ledger.git",
        found: format!("commit {at}"),
        next,
    }
}

/// Whether a commit is reached from the database's tip by commits of this ledger, the first of them
/// by the key that the database knows. What somebody else pushed on top is no newer history.
fn goes_on(ledger: &Ledger, head: &LedgerHead, at: Oid, tip: Oid) -> bool {
    let Ok(repository) = Repository::open(ledger.path()) else {
        return false;
    };
    let mut next = at;
    loop {
        let Ok(commit) = repository.commit(&next) else {
            return false;
        };
        match commit.parents.first() {
            Some(parent) if *parent == tip => return commit.is_signed_by(&head.signer),
            Some(parent) => next = *parent,
            None => return false,
        }
    }
}

/// Every ref but the notes is the database's, and points at a commit.
fn refuse_strange_refs(
    store: &Store,
    ledger: &Ledger,
    known: &BTreeSet<String>,
) -> Result<(), RecorderError> {
    let failed = |e: crate::ledger::read::OpenError| RecorderError::Unapplied {
        what: "listing the refs of ledger.git",
        reason: e.to_string(),
    };
    let all = Repository::open(ledger.path())
        .and_then(|repository| repository.refs())
        .map_err(failed)?;
    let named = all
        .into_iter()
        .filter(|found| found.name.starts_with("refs/"));
    for found in named.filter(|found| ![NOTES_OTS, NOTES_WITNESS].contains(&found.name.as_str())) {
        let (is_known, name) = (known.contains(&found.name), found.name);
        let said = match found.target {
            // A torn one is made whole.
            RefTarget::Direct(_) | RefTarget::Broken(_) if is_known => continue,
            RefTarget::Direct(id) => format!("commit {id}"),
            RefTarget::Symbolic(to) => format!("a pointer to {to}"),
            RefTarget::Broken(what) => what,
        };
        let unknown = |id: &str| {
            store
                .like::<CommitRow>(id, 1)
                .is_ok_and(|found| found.is_empty())
        };
        let next = match said.strip_prefix("commit ") {
            Some(id) if name.starts_with("refs/heads/branch-") && unknown(id) => {
                database_is_older()
            }
            _ => format!(
                "Look at what it is, then take it away: `git -C {} update-ref --no-deref -d {name}`, and \
                 `gently audit rebuild` again",
                ledger.path().display()
            ),
        };
        let database = if is_known { "a commit" } else { "no such ref" }.to_owned();
        return Err(Contradiction {
            place: name,
            database,
            holder: "ledger.git",
            found: said,
            next,
        }
        .into());
    }
    Ok(())
}

/// The line `n`, from 0, as a segment on `main` has it; none when no segment that can be read holds
/// it.
pub fn line_in_segments(
    store: &Store,
    head: &LedgerHead,
    ledger: &Ledger,
    n: u64,
) -> Option<String> {
    let repository = Repository::open(ledger.path()).ok()?;
    let holds =
        |segment: Option<(u64, u64)>| segment.is_some_and(|(from, to)| (from..to).contains(&n));
    let mut from = 0;
    while from < head.commits {
        let to = from.saturating_add(WRITTEN);
        if let Some(row) = store
            .commits(from, to)
            .ok()?
            .into_iter()
            .find(|row| holds(row.segment))
        {
            let commit = repository.commit(&row.id.parse().ok()?).ok()?;
            let entry = repository
                .tree(&commit.tree)
                .ok()?
                .into_iter()
                .find(|entry| entry.name == "audit.log")?;
            let text = String::from_utf8(repository.file(&entry).ok()?).ok()?;
            let at = usize::try_from(n - row.segment?.0).ok()?;
            return text.lines().nth(at).map(str::to_owned);
        }
        from = to;
    }
    None
}
