//! One session as its lines tell it (format, sections 4 and 5).
//!
//! `session_start`, then its branch line and `auth_ok`, then prompts with at most one outcome each,
//! anchors, drift and artifacts, then `session_end` and nothing more.

use std::collections::BTreeMap;

use super::chain::{chain_entry, session_close_hash};
use super::entry::{DriftClass, Event, Line};
use super::violation::{LineViolations, LogRule};
use crate::record::bitcoin::block::Header;
use crate::record::bitcoin::fit::line_fits;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// How many missing prompt numbers are remembered as lost: a larger jump is no lost line but
/// nonsense, and must not make a reader allocate what a hostile number says.
const MAX_LOST: u64 = 1024;

/// What became of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptOutcome {
    /// Its `prompt` line is not there; a later one has a higher number.
    Lost,
    /// There is no answer yet.
    Unanswered,
    /// It has its outcome: event `response`, `response_fail` or `denied`.
    Ended(ExchangeOutcome),
}

/// One prompt: two bytes, so that a session of a million keeps two megabytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptState {
    /// What became of it.
    pub outcome: PromptOutcome,
    /// Bit set over [`DriftClass`].
    drift: u8,
}

impl PromptState {
    /// Whether a `drift` line of this class names the prompt.
    pub fn drifted(&self, class: DriftClass) -> bool {
        self.drift & bit(class) != 0
    }

    /// The classes of its `drift` lines.
    pub fn drift(self) -> impl Iterator<Item = DriftClass> {
        DriftClass::ALL
            .into_iter()
            .filter(move |class| self.drifted(*class))
    }
}

fn bit(class: DriftClass) -> u8 {
    match class {
        DriftClass::Authority => 1,
        DriftClass::Evidence => 2,
        DriftClass::Tone => 4,
        DriftClass::Schema => 8,
        DriftClass::Completeness => 16,
    }
}

/// A prompt without an outcome so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenPrompt {
    /// Number of its line.
    pub line: u64,
    /// Time of its line.
    pub time: Seconds,
    /// Commitment to the prompt.
    pub hash: Hash32,
}

/// What the `session_start` line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStart {
    /// Number of the line.
    pub line: u64,
    /// HASH of the line that began the session.
    pub log: Hash32,
    /// HASH of the line before it.
    pub prev_log: Hash32,
    /// TIMESTAMP of the line that began the session.
    pub time: Seconds,
    /// Height; 0 for `local`.
    pub btc: u32,
    /// Branch of the session, `branch-1` to `branch-7`.
    pub branch: String,
    /// Block hash; zero for `local`.
    pub block: Hash32,
    /// Hash of the auth key.
    pub auth: Hash32,
    /// Hash of `session.json`.
    pub record: Hash32,
}

impl SessionStart {
    /// What a line with this number says behind the line with HASH `prev_log`; none for any other
    /// event.
    pub fn of(line: &Line, number: u64, prev_log: Hash32) -> Option<Self> {
        let Event::SessionStart {
            btc,
            branch,
            block,
            auth,
            record,
        } = &line.event
        else {
            return None;
        };
        Some(SessionStart {
            line: number,
            log: line.hash,
            prev_log,
            time: line.time,
            btc: *btc,
            branch: branch.clone(),
            block: *block,
            auth: *auth,
            record: *record,
        })
    }
}

/// What the `session_end` line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEnd {
    /// Number of the line.
    pub line: u64,
    /// HASH of the line that ended the session.
    pub log: Hash32,
    /// TIMESTAMP of the line that ended the session.
    pub time: Seconds,
    /// Height; 0 for `local`.
    pub btc: u32,
    /// Block hash; zero for `local`.
    pub block: Hash32,
    /// The session close hash.
    pub close: Hash32,
    /// Hash of `close.json`.
    pub record: Hash32,
}

/// What the log says of one session so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionState {
    /// SESSION_ID of its lines.
    pub id: Hash32,
    /// Its first line.
    pub start: SessionStart,
    /// That of its last `session_start` or `btc_anchor`.
    pub height: u32,
    /// Prompt `n` at place `n - 1`.
    pub turns: Vec<PromptState>,
    /// Number of `response` lines.
    pub answered: u64,
    /// The last chain entry; none before the first answer.
    pub last_chain: Option<Hash32>,
    /// Prompts without an outcome, by number: incomplete, not inconsistent.
    pub unanswered: BTreeMap<u64, OpenPrompt>,
    /// TIMESTAMP of its last line.
    pub last_time: Seconds,
    /// Its last line, when it has ended.
    pub end: Option<SessionEnd>,
}

impl SessionState {
    pub(crate) fn new(id: Hash32, start: SessionStart) -> Self {
        let (height, last_time) = (start.btc, start.time);
        SessionState {
            id,
            start,
            height,
            turns: Vec::new(),
            answered: 0,
            last_chain: None,
            unanswered: BTreeMap::new(),
            last_time,
            end: None,
        }
    }

    /// Whether the session may go on.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// The prompt with this number, if the log holds it.
    pub fn turn(&self, seq: u64) -> Option<&PromptState> {
        let place = usize::try_from(seq.checked_sub(1)?).ok()?;
        self.turns.get(place)
    }

    /// The number that the next prompt gets.
    pub fn next_seq(&self) -> u64 {
        u64::try_from(self.turns.len()).map_or(u64::MAX, |count| count.saturating_add(1))
    }

    /// Takes one line of the session that is not its `session_start`.
    ///
    /// `before` is the line just before it in the log, of whatever session.
    pub(crate) fn take(&mut self, line: &Line, before: PrecedingLine, found: &mut LineViolations) {
        if let Some(end) = &self.end {
            let expected = format!("nothing after line {}", end.line);
            return found.add(LogRule::SessionEnded, expected, line.event.name());
        }
        self.last_time = line.time;
        match &line.event {
            Event::Prompt { hash, seq } => {
                let prompt = OpenPrompt {
                    line: found.line(),
                    time: line.time,
                    hash: *hash,
                };
                self.take_prompt(*seq, prompt, found);
            }
            Event::Response {
                hash, seq, chain, ..
            } => self.take_response(*seq, *hash, *chain, line.time, found),
            Event::ResponseFail { seq, reason, .. } => {
                self.resolve(*seq, PromptOutcome::Ended(ExchangeOutcome::Failed), found);
                if is_failed_compile(reason) {
                    self.check_direct(*seq, before, line, found);
                }
            }
            Event::Denied { seq, .. } => {
                self.resolve(*seq, PromptOutcome::Ended(ExchangeOutcome::Denied), found);
                self.check_direct(*seq, before, line, found);
            }
            Event::Drift { class, seq, .. } => self.take_drift(*seq, *class, found),
            Event::BtcAnchor { btc, block, header } => {
                self.take_anchor((*btc, *block), header, line.time, found)
            }
            Event::SessionEnd { .. } => self.take_end(line, found),
            _ => {}
        }
    }

    fn take_prompt(&mut self, seq: u64, prompt: OpenPrompt, found: &mut LineViolations) {
        let next = self.next_seq();
        if seq != next {
            found.add(
                LogRule::PromptSeq,
                format!("seq {next}"),
                format!("seq {seq}"),
            );
        }
        if seq < next || seq - next > MAX_LOST {
            return;
        }
        for _ in next..seq {
            self.turns.push(PromptState {
                outcome: PromptOutcome::Lost,
                drift: 0,
            });
        }
        self.turns.push(PromptState {
            outcome: PromptOutcome::Unanswered,
            drift: 0,
        });
        self.unanswered.insert(seq, prompt);
    }

    fn take_response(
        &mut self,
        seq: u64,
        hash: Hash32,
        chain: Hash32,
        time: Seconds,
        found: &mut LineViolations,
    ) {
        if let Some(prompt) =
            self.resolve(seq, PromptOutcome::Ended(ExchangeOutcome::Answered), found)
        {
            let expected = chain_entry(self.last_chain.unwrap_or(self.id), prompt.hash, hash, time);
            found.same(LogRule::ChainEntry, expected, chain);
        }
        // The entry as it stands: the next one was made from it, so one wrong entry is one finding.
        self.last_chain = Some(chain);
        self.answered += 1;
    }

    /// Gives the prompt its outcome; none when there is no such prompt, or it has one.
    fn resolve(
        &mut self,
        seq: u64,
        outcome: PromptOutcome,
        found: &mut LineViolations,
    ) -> Option<OpenPrompt> {
        let prompt = self.unanswered.remove(&seq);
        let last = self.turns.len();
        let place = seq
            .checked_sub(1)
            .and_then(|place| usize::try_from(place).ok());
        let turn = place.and_then(|place| self.turns.get_mut(place));
        match (turn, &prompt) {
            (Some(turn), Some(_)) => turn.outcome = outcome,
            (Some(turn), None) if turn.outcome == PromptOutcome::Lost => {
                turn.outcome = outcome;
                found.add(
                    LogRule::OutcomeWithoutPrompt,
                    format!("a prompt line with seq {seq} before"),
                    "none",
                );
            }
            (Some(_), None) => found.add(
                LogRule::SecondOutcome,
                "one outcome",
                format!("another for seq {seq}"),
            ),
            (None, _) => {
                let expected = format!("one of the {last} prompts of the session");
                found.add(
                    LogRule::OutcomeWithoutPrompt,
                    expected,
                    format!("seq {seq}"),
                );
            }
        }
        prompt
    }

    fn check_direct(
        &self,
        seq: u64,
        before: PrecedingLine,
        line: &Line,
        found: &mut LineViolations,
    ) {
        let direct = match before {
            PrecedingLine::Prompt {
                session,
                seq: asked,
            } => session == self.id && asked == seq,
            PrecedingLine::Unreadable => true,
            PrecedingLine::Other => false,
        };
        if !direct {
            let expected = format!("the prompt with seq {seq} on the line before");
            found.add(
                LogRule::NotDirect,
                expected,
                format!("'{}' after another line", line.event.name()),
            );
        }
    }

    fn take_drift(&mut self, seq: u64, class: DriftClass, found: &mut LineViolations) {
        let place = seq
            .checked_sub(1)
            .and_then(|place| usize::try_from(place).ok());
        match place.and_then(|place| self.turns.get_mut(place)) {
            Some(turn) if turn.outcome == PromptOutcome::Ended(ExchangeOutcome::Answered) => {
                turn.drift |= bit(class)
            }
            _ => found.add(
                LogRule::DriftUnanswered,
                "the seq of a response before",
                format!("seq {seq}"),
            ),
        }
    }

    fn take_anchor(
        &mut self,
        (btc, block): (u32, Hash32),
        header: &Header,
        time: Seconds,
        found: &mut LineViolations,
    ) {
        if btc <= self.height {
            found.add(
                LogRule::AnchorNotHigher,
                format!("above {}", self.height),
                btc,
            );
        }
        found.same(LogRule::AnchorHeader, block, block_hash(header));
        let mined = header.fields().time;
        if !line_fits(time, mined) {
            found.add(
                LogRule::AnchorTime,
                format!("TIMESTAMP at most 2 hours before the block's {mined}"),
                time,
            );
        }
        self.height = btc;
    }

    fn take_end(&mut self, line: &Line, found: &mut LineViolations) {
        let Event::SessionEnd {
            btc,
            interactions,
            block,
            close,
            record,
        } = &line.event
        else {
            return;
        };
        check_local(*btc, *block, found);
        found.same(LogRule::Interactions, self.answered, *interactions);
        let expected = session_close_hash(self.id, &block.to_string(), self.last_chain);
        found.same(LogRule::CloseHash, expected, *close);
        let (block, close, record) = (*block, *close, *record);
        self.end = Some(SessionEnd {
            line: found.line(),
            log: line.hash,
            time: line.time,
            btc: *btc,
            block,
            close,
            record,
        });
        self.turns.shrink_to_fit();
    }
}

/// What the line just before is, for the outcomes that must follow their prompt directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrecedingLine {
    /// The session's prompt of that number.
    Prompt { session: Hash32, seq: u64 },
    /// Another line, or none.
    Other,
    /// A line that did not parse: it may have been the prompt.
    Unreadable,
}

/// Whether a `response_fail` says that no prompt could be compiled: CODE `compile`, or one that
/// begins with `compile.` or `compile_`.
pub fn is_failed_compile(reason: &str) -> bool {
    reason
        .strip_prefix("compile")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
}

/// Height 0 says "no block", the zero hash says so too (format, section 5).
pub(crate) fn check_local(btc: u32, block: Hash32, found: &mut LineViolations) {
    if (btc == 0) != (block == Hash32::ZERO) {
        let expected = if btc == 0 {
            "the zero hash at height 0"
        } else {
            "a block hash other than zero"
        };
        found.add(
            LogRule::LocalBlock,
            expected,
            format!("height {btc}, block {block}"),
        );
    }
}

/// The double SHA-256 of a header, in the order in which explorers print it.
fn block_hash(header: &Header) -> Hash32 {
    let inner = Hash32::digest(header.as_bytes());
    let mut bytes = *Hash32::digest(inner.as_bytes()).as_bytes();
    bytes.reverse();
    Hash32::from_bytes(bytes)
}
