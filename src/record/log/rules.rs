//! What the lines of a log must be to each other (format, sections 4 and 5), as far as it needs no
//! git.
//!
//! A [`LogState`] takes parsed lines in order. It serves a writer, who stops at the first
//! violation, and a verifier, who lists them all.
//!
//! **Going on after a violation.** A line that breaks a rule is still counted and still takes
//! effect, as far as it makes sense: its HASH becomes the head, its time the last time, its chain
//! entry the one that the next is made from. So one wrong line is mostly one finding, and not one
//! for each line after it. Of several violations of one line the first is reported; it stands
//! nearest to the cause. A session whose `session_start` is not there is reported once, and its
//! lines are then judged only for what does not need the session. A line that does not parse is
//! handed to [`LogState::skip`].
//!
//! **Memory.** Two bytes a prompt, 16 bytes a record, and a fixed summary a session; the commitment
//! of a prompt is kept until its outcome. A million exchanges are about 40 MB.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::chain::{line_hash, session_id};
use super::entry::{Event, Line, excerpt};
use super::lifecycle::{PrecedingLine, check_local};
use super::resume::Resume;
use super::violation::LineViolations;
use crate::record::bitcoin::block::branch_of;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

pub use super::lifecycle::{
    OpenPrompt, PromptOutcome, PromptState, SessionEnd, SessionStart, SessionState,
    is_failed_compile,
};
pub use super::violation::{LogRule, Violation};

/// The log as far as it was read.
#[derive(Clone, Debug)]
pub struct LogState {
    head: Hash32,
    /// False after a line whose HASH could not be read.
    head_known: bool,
    count: u64,
    last_time: Option<Seconds>,
    highest: u32,
    /// The first half of each `record:`. 128 bits: nobody finds two that share it by chance, and
    /// who searches for years accuses only his own log.
    records: HashSet<[u8; 16]>,
    sessions: BTreeMap<Hash32, SessionState>,
    open: BTreeSet<Hash32>,
    /// Sessions that have lines and no `session_start`.
    unfounded: BTreeSet<Hash32>,
    /// What must stand on the next lines, after a `session_start`.
    opening: VecDeque<Event>,
    opening_of: Hash32,
    branches: BTreeSet<String>,
    last_branch: Option<String>,
    before: PrecedingLine,
}

impl Default for LogState {
    fn default() -> Self {
        LogState::new()
    }
}

impl LogState {
    /// The state before the first line.
    pub fn new() -> Self {
        LogState {
            head: Hash32::GENESIS,
            head_known: true,
            count: 0,
            last_time: None,
            highest: 0,
            records: HashSet::new(),
            sessions: BTreeMap::new(),
            open: BTreeSet::new(),
            unfounded: BTreeSet::new(),
            opening: VecDeque::new(),
            opening_of: Hash32::ZERO,
            branches: BTreeSet::new(),
            last_branch: None,
            before: PrecedingLine::Other,
        }
    }

    /// Goes on behind a line; of what is before it, a second line with the same `record:` is not
    /// noticed.
    pub fn resume(from: Resume) -> Self {
        let open: BTreeMap<Hash32, SessionState> = from
            .sessions
            .into_iter()
            .map(|session| (session.id, session))
            .collect();
        LogState {
            head: from.head,
            count: from.count,
            last_time: Some(from.last_time),
            highest: from.highest,
            open: open.keys().copied().collect(),
            sessions: open,
            branches: from.branches,
            last_branch: from.last_branch,
            ..LogState::new()
        }
    }

    /// HASH of the last line that could be read; the genesis hash before the first.
    pub fn head(&self) -> Hash32 {
        self.head
    }

    /// How many lines were taken, unreadable ones too.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// TIMESTAMP of the last line.
    pub fn last_time(&self) -> Option<Seconds> {
        self.last_time
    }

    /// The highest height that any line named: BTC_HEIGHT of the next line outside sessions.
    pub fn highest(&self) -> u32 {
        self.highest
    }

    /// A session, open or ended.
    pub fn session(&self, id: Hash32) -> Option<&SessionState> {
        self.sessions.get(&id)
    }

    /// All sessions, in the order of their ids.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionState> {
        self.sessions.values()
    }

    /// The sessions without a `session_end`.
    pub fn open_sessions(&self) -> impl ExactSizeIterator<Item = &SessionState> {
        self.open.iter().map(|id| {
            self.sessions
                .get(id)
                .expect("every open session is among the sessions")
        })
    }

    /// Whether a session was started on this branch.
    pub fn has_branch(&self, branch: &str) -> bool {
        self.branches.contains(branch)
    }

    /// The branch of the session started last.
    pub fn last_branch(&self) -> Option<&str> {
        self.last_branch.as_deref()
    }

    /// The lines that must come next, while a `session_start` waits for its branch line and
    /// `auth_ok`.
    pub fn opening(&self) -> impl Iterator<Item = &Event> {
        self.opening.iter()
    }

    /// Prompts without an outcome, of open and of ended sessions: the log is incomplete, not
    /// inconsistent.
    pub fn unanswered(&self) -> impl Iterator<Item = (&SessionState, u64, &OpenPrompt)> {
        self.sessions().flat_map(|s| {
            s.unanswered
                .iter()
                .map(move |(seq, prompt)| (s, *seq, prompt))
        })
    }

    /// What must follow `session_start` of a session on `branch` with this auth key hash: its
    /// branch line, where it has one, and `auth_ok`. A writer writes exactly these.
    pub fn opening_lines(&self, branch: &str, auth: Hash32) -> Vec<Event> {
        let mut lines = Vec::new();
        match &self.last_branch {
            _ if !self.has_branch(branch) => lines.push(Event::BranchCreate {
                branch: branch.to_owned(),
            }),
            Some(from) if from != branch => {
                lines.push(Event::BranchSwitch {
                    from: from.clone(),
                    to: branch.to_owned(),
                });
            }
            _ => {}
        }
        lines.push(Event::AuthOk {
            auth: auth.short16(),
        });
        lines
    }

    /// Takes the next line.
    ///
    /// The form of the line is not looked at again: it was parsed, or [`Line::check`]ed.
    pub fn accept(&mut self, line: &Line) -> Result<(), Violation> {
        self.accept_spelled(line, line.rest().as_bytes())
    }

    /// Takes the next line, given with what stands after its first `|`: what [`Line::parse`]
    /// accepted need not be spelled again.
    pub fn accept_spelled(&mut self, line: &Line, rest: &[u8]) -> Result<(), Violation> {
        self.count += 1;
        let mut found = LineViolations::of_line(self.count);
        self.check_place(line, rest, &mut found);
        let stray = self.is_stray(line, &mut found);
        self.check_opening(line, stray, &mut found);
        self.check_height(line, stray, &mut found);
        if !stray {
            self.apply(line, &mut found);
        }
        self.step(line);
        found.into_result()
    }

    /// Passes over a line that did not parse: counts it, and takes its HASH as the head if it has
    /// one.
    pub fn skip(&mut self, raw: &[u8]) {
        self.count += 1;
        let hash = raw
            .get(..64)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|d| d.parse().ok());
        self.head_known = hash.is_some();
        self.head = hash.unwrap_or(self.head);
        self.opening.clear();
        self.before = PrecedingLine::Unreadable;
    }

    /// Genesis, chain, time, record: what concerns every line.
    fn check_place(&mut self, line: &Line, rest: &[u8], found: &mut LineViolations) {
        let first = self.count == 1;
        if first != matches!(line.event, Event::Genesis { .. }) {
            let expected = if first { "genesis" } else { "any other event" };
            found.add(
                LogRule::Genesis,
                expected,
                format!("'{}'", excerpt(line.event.name())),
            );
        }
        if self.head_known {
            let expected = line_hash(self.head, rest);
            if expected != line.hash {
                found.add(LogRule::Chain, expected, line.hash);
            }
        }
        match (&line.event, self.last_time) {
            (Event::ClockSet { to }, _) => found.same(LogRule::ClockSet, *to, line.time),
            (_, Some(last)) if line.time < last => {
                found.add(LogRule::Time, format!("{last} or later"), line.time);
            }
            _ => {}
        }
        if let Some(record) = line.event.record()
            && !self.records.insert(half(record))
        {
            found.add(LogRule::Record, "a record of its own", record);
        }
    }

    /// Whether the line is of a session that was never started.
    fn is_stray(&mut self, line: &Line, found: &mut LineViolations) -> bool {
        let Some(id) = line.session else { return false };
        if matches!(line.event, Event::SessionStart { .. }) {
            self.unfounded.remove(&id);
            return false;
        }
        if self.sessions.contains_key(&id) {
            return false;
        }
        if self.unfounded.insert(id) {
            let actual = format!("'{}' of session {id}", excerpt(line.event.name()));
            found.add(LogRule::NoSession, "a 'session_start' before", actual);
        }
        true
    }

    /// The lines that follow a `session_start` at once, and stand nowhere else.
    fn check_opening(&mut self, line: &Line, stray: bool, found: &mut LineViolations) {
        let of_opening = line.session == Some(self.opening_of);
        let Some(expected) = self.opening.pop_front() else {
            if is_opening(&line.event) && !stray {
                found.add(LogRule::Opening, "no such line here", describe(&line.event));
            }
            return;
        };
        if of_opening && line.event == expected {
            return;
        }
        found.add(LogRule::Opening, describe(&expected), describe(&line.event));
        // A wrong branch line stands for the right one; anything else ends the opening.
        let branch_line = matches!(
            line.event,
            Event::BranchCreate { .. } | Event::BranchSwitch { .. }
        );
        if !(of_opening && branch_line) {
            self.opening.clear();
        } else if self.opening.is_empty() {
            self.opening.push_back(expected);
        }
    }

    fn check_height(&mut self, line: &Line, stray: bool, found: &mut LineViolations) {
        let own = own_height(&line.event);
        let of_session = line
            .session
            .and_then(|id| self.sessions.get(&id))
            .map(|session| session.height);
        let expected = own.or(of_session).or((!stray).then_some(self.highest));
        found.same(
            LogRule::Height,
            expected.unwrap_or(line.height),
            line.height,
        );
        self.highest = self.highest.max(own.unwrap_or(0));
    }

    fn apply(&mut self, line: &Line, found: &mut LineViolations) {
        if let Event::SessionStart { .. } = line.event {
            return self.start(line, found);
        }
        if let (Event::KeyRotate { .. }, Some(session)) = (&line.event, self.open.first()) {
            found.add(
                LogRule::RotationWhileOpen,
                "no open session",
                format!("session {session} open"),
            );
        }
        let Some(session) = line.session.and_then(|id| self.sessions.get_mut(&id)) else {
            return;
        };
        session.take(line, self.before, found);
        if !session.is_open() {
            self.open.remove(&session.id);
        }
    }

    fn start(&mut self, line: &Line, found: &mut LineViolations) {
        let (Some(id), Some(start)) = (line.session, SessionStart::of(line, self.count, self.head))
        else {
            return;
        };
        if let Some(earlier) = self.sessions.get(&id) {
            let actual = format!("another beside line {}", earlier.start.line);
            return found.add(LogRule::SessionTwice, "one 'session_start'", actual);
        }
        found.same(
            LogRule::SessionBranch,
            branch_of(start.btc),
            start.branch.clone(),
        );
        check_local(start.btc, start.block, found);
        if self.head_known {
            found.same(
                LogRule::SessionId,
                session_id(start.auth, &start.block.to_string(), self.head),
                id,
            );
        }
        self.opening = self.opening_lines(&start.branch, start.auth).into();
        self.opening_of = id;
        self.branches.insert(start.branch.clone());
        self.last_branch = Some(start.branch.clone());
        self.open.insert(id);
        self.sessions.insert(id, SessionState::new(id, start));
    }

    fn step(&mut self, line: &Line) {
        self.head = line.hash;
        self.head_known = true;
        self.last_time = Some(line.time);
        self.before = match (&line.event, line.session) {
            (Event::Prompt { seq, .. }, Some(session)) => {
                PrecedingLine::Prompt { session, seq: *seq }
            }
            _ => PrecedingLine::Other,
        };
    }
}

fn half(hash: Hash32) -> [u8; 16] {
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// The height that a line names itself.
fn own_height(event: &Event) -> Option<u32> {
    match event {
        Event::SessionStart { btc, .. }
        | Event::BtcAnchor { btc, .. }
        | Event::SessionEnd { btc, .. } => Some(*btc),
        _ => None,
    }
}

fn is_opening(event: &Event) -> bool {
    matches!(
        event,
        Event::BranchCreate { .. } | Event::BranchSwitch { .. } | Event::AuthOk { .. }
    )
}

fn describe(event: &Event) -> String {
    excerpt(&format!("'{} {}'", event.name(), event.details()))
}
