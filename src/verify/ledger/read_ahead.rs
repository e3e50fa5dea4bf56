//! The files of all commits, read by two threads and handed out in the order in which they are
//! checked.
//!
//! Commits are taken in portions. A second thread reads portions ahead of the check. The checking
//! thread reads too while the portion that it needs is not there, so neither waits while there is
//! something to read.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::ledger::Oid;
use crate::ledger::read::{ObjectFault, ReadBudget, Repository, TreeEntry};

use crate::record::ledger::commit::CommitKind;
use crate::record::limits;

use super::history::History;
use super::interaction::{InteractionCommit, InteractionReader};

/// Commits of one portion.
const PORTION: usize = 32;
/// Portions that wait to be checked: some megabytes.
const WINDOW: usize = 32;
/// The largest tree of a commit has five files.
pub(crate) const MAX_FILES: usize = 16;

/// What a commit's tree holds.
pub(crate) enum TreeContent {
    /// An answer that is right in itself.
    Answer(Box<InteractionCommit>),
    /// Anything else, and what nobody has looked at yet.
    Files(FetchedFiles),
}

/// The tree of a commit, and those of its files that were asked for.
pub(crate) struct FetchedFiles {
    pub entries: Result<Vec<TreeEntry>, ObjectFault>,
    /// By the place of their entry.
    pub files: Vec<(usize, Result<Vec<u8>, ObjectFault>)>,
}

/// Reads one commit's tree and files; of a tree whose segment was checked before, not the segment.
///
/// Of several entries of one name the last is read, which is the one that is checked; of a segment
/// nothing is kept: its lines were taken before, or belong to no part of `main`.
fn fetch(repository: &Repository, tree: &Oid, checked: &HashSet<Oid>) -> FetchedFiles {
    let skip: &[&str] = if checked.contains(tree) {
        &["audit.log", "checkpoint"]
    } else {
        &[]
    };
    let entries = repository.tree(tree);
    let ours = |name: &str| {
        CommitKind::ALL
            .iter()
            .any(|kind| kind.files(true).contains(&name))
    };
    let wanted = |entry: &TreeEntry| {
        entry.mode == "100644" && !skip.contains(&entry.name.as_str()) && ours(&entry.name)
    };
    let mut last: BTreeMap<&str, (usize, &TreeEntry)> = BTreeMap::new();
    for (at, entry) in entries
        .iter()
        .flatten()
        .enumerate()
        .filter(|(_, entry)| wanted(entry))
    {
        last.insert(&entry.name, (at, entry));
    }
    let read = |(at, entry): (usize, &TreeEntry)| {
        let content = repository.file(entry).map(|bytes| {
            if entry.name == "audit.log" {
                Vec::new()
            } else {
                bytes
            }
        });
        (at, content)
    };
    let files = last.into_values().map(read).collect();
    FetchedFiles { entries, files }
}

impl TreeContent {
    /// About how much memory it takes.
    fn size(&self) -> usize {
        let TreeContent::Files(FetchedFiles { entries, files }) = self else {
            return size_of::<InteractionCommit>();
        };
        let read = files
            .iter()
            .map(|(_, content)| content.as_ref().map_or(0, Vec::len))
            .sum::<usize>();
        read + entries
            .as_ref()
            .map_or(0, |entries| entries.len() * 2 * size_of::<TreeEntry>())
    }
}

fn size_of_all(portion: &VecDeque<TreeContent>) -> usize {
    portion.iter().map(TreeContent::size).sum()
}

/// What both threads see.
#[derive(Default)]
struct PipelineState {
    /// The next portion that nobody has begun.
    next: usize,
    /// How many portions were handed out.
    taken: usize,
    ready: BTreeMap<usize, VecDeque<TreeContent>>,
    /// What those take in memory.
    size: usize,
    /// One of the two has ended.
    over: bool,
}

/// The plan of what is read.
pub(crate) struct ReadAhead<'a> {
    history: &'a History,
    checked: &'a HashSet<Oid>,
    portions: Vec<&'a [u32]>,
    state: Mutex<PipelineState>,
    changed: Condvar,
}

impl<'a> ReadAhead<'a> {
    /// All commits of `main`, of the branches and of what no ref leads to, in the order of the
    /// checks.
    pub fn new(history: &'a History, checked: &'a HashSet<Oid>) -> Self {
        let others = history
            .branches
            .values()
            .chain(&history.unreachable)
            .map(Vec::as_slice);
        let chains = std::iter::once(history.new_on_main()).chain(others);
        let portions = chains.flat_map(|chain| chain.chunks(PORTION)).collect();
        ReadAhead {
            history,
            checked,
            portions,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, PipelineState> {
        // What it guards is whole at every moment: a panic of the other thread is told by its join.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, reader: &mut CommitReader<'_>, portion: usize) -> VecDeque<TreeContent> {
        let commits = self.portions.get(portion).copied().unwrap_or_default();
        commits
            .iter()
            .filter_map(|at| self.read_one(reader, *at as usize))
            .collect()
    }

    fn read_one(&self, reader: &mut CommitReader<'_>, at: usize) -> Option<TreeContent> {
        let tree = self.history.graph.tree(at)?;
        let claimed = self.history.graph.answer(at);
        let answer = claimed.and_then(|(log, message)| reader.answers.read(&tree, log, message));
        Some(match answer {
            Some(answer) => TreeContent::Answer(Box::new(answer)),
            None => TreeContent::Files(fetch(reader.repository, &tree, self.checked)),
        })
    }

    /// Reads ahead until everything is begun; the second thread.
    pub fn run(&self, path: &Path, budget: &ReadBudget) {
        let _end = WakeOnDrop(self);
        // Whoever checks reads by himself when this thread can't.
        let Ok(repository) = Repository::open_again(path, budget) else {
            return;
        };
        let mut reader = CommitReader::of(&repository);
        loop {
            let mut state = self.state();
            while !self.may_begin(&state) && state.next < self.portions.len() && !state.over {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if state.over || state.next >= self.portions.len() {
                return;
            }
            self.begin(state, &mut reader);
        }
    }

    /// Whether there is a portion to read, and room for it.
    fn may_begin(&self, state: &PipelineState) -> bool {
        state.next < self.portions.len()
            && state.next < state.taken + WINDOW
            && state.size < limits::READ_AHEAD
    }

    /// Reads the next portion that nobody has begun, for whoever checks.
    fn begin(&self, mut state: MutexGuard<'_, PipelineState>, reader: &mut CommitReader<'_>) {
        let portion = state.next;
        state.next += 1;
        drop(state);
        let files = self.read(reader, portion);
        let mut state = self.state();
        state.size += size_of_all(&files);
        state.ready.insert(portion, files);
        drop(state);
        self.changed.notify_all();
    }

    /// The next portion: as it was read ahead, or read here; while another thread reads it, those
    /// after it are read.
    fn take(&self, reader: &mut CommitReader<'_>) -> VecDeque<TreeContent> {
        let mut state = self.state();
        let portion = state.taken;
        state.taken += 1;
        loop {
            if let Some(files) = state.ready.remove(&portion) {
                state.size = state.size.saturating_sub(size_of_all(&files));
                self.changed.notify_all();
                return files;
            }
            if state.next <= portion || state.over {
                state.next = state.next.max(portion + 1);
                drop(state);
                return self.read(reader, portion);
            }
            if self.may_begin(&state) {
                self.begin(state, reader);
                state = self.state();
            } else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Hands out one commit's files after the other.
    pub fn consumer<'b>(&'b self, repository: &'b Repository) -> ReadAheadConsumer<'a, 'b> {
        ReadAheadConsumer {
            read_ahead: self,
            reader: CommitReader::of(repository),
            current: VecDeque::new(),
            _end: WakeOnDrop(self),
        }
    }
}

/// What one thread reads with.
struct CommitReader<'a> {
    repository: &'a Repository,
    answers: InteractionReader<'a>,
}

impl<'a> CommitReader<'a> {
    fn of(repository: &'a Repository) -> Self {
        CommitReader {
            repository,
            answers: InteractionReader::new(repository),
        }
    }
}

/// Wakes the other thread when one ends, however it ends.
struct WakeOnDrop<'a, 'b>(&'b ReadAhead<'a>);

impl Drop for WakeOnDrop<'_, '_> {
    fn drop(&mut self) {
        self.0.state().over = true;
        self.0.changed.notify_all();
    }
}

/// The checking thread's end.
pub(crate) struct ReadAheadConsumer<'a, 'b> {
    read_ahead: &'b ReadAhead<'a>,
    reader: CommitReader<'b>,
    current: VecDeque<TreeContent>,
    _end: WakeOnDrop<'a, 'b>,
}

impl ReadAheadConsumer<'_, '_> {
    /// The files of the next commit.
    pub fn next(&mut self) -> Option<TreeContent> {
        if self.current.is_empty() {
            self.current = self.read_ahead.take(&mut self.reader);
        }
        self.current.pop_front()
    }
}
