//! What is wrong between the lines of a log: one rule, with place, expected and actual.

use std::fmt;

/// A rule of format, sections 4 and 5, that one line alone can't show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogRule {
    /// `genesis` is the first line, and no other.
    Genesis,
    /// HASH covers the line before and this line.
    Chain,
    /// TIMESTAMP never goes backwards but at `clock_set`.
    Time,
    /// `clock_set` carries its own `to` as TIMESTAMP.
    ClockSet,
    /// Every `record:` is of one line only.
    Record,
    /// BTC_HEIGHT is the line's own `btc`, else that of its session, else the highest before.
    Height,
    /// Right after `session_start` stand its branch line, where it has one, and its `auth_ok`;
    /// nowhere else.
    Opening,
    /// A line of a session stands after its `session_start`.
    NoSession,
    /// A session starts once.
    SessionTwice,
    /// Nothing of a session follows its `session_end`.
    SessionEnded,
    /// The session id is the hash of auth key hash, block and log head.
    SessionId,
    /// `branch` is `branch-(height mod 7 + 1)`.
    SessionBranch,
    /// Height 0 and the zero hash stand together, for the `local` block, and only so.
    LocalBlock,
    /// `seq` counts the prompts of a session from 1.
    PromptSeq,
    /// An outcome names a prompt of its session.
    OutcomeWithoutPrompt,
    /// A prompt has at most one outcome.
    SecondOutcome,
    /// A denial or failed compile follows its prompt's line directly.
    NotDirect,
    /// `chain` is the hash of the entry before, prompt, response and time.
    ChainEntry,
    /// `drift` names an answered prompt.
    DriftUnanswered,
    /// `btc_anchor` names a higher block than the session's last.
    AnchorNotHigher,
    /// The header hashes to the block.
    AnchorHeader,
    /// The header is not from the line's own future.
    AnchorTime,
    /// `interactions` is the number of the session's responses.
    Interactions,
    /// `close` is the hash of session id, block and last chain entry.
    CloseHash,
    /// `key_rotate` stands where no session is open.
    RotationWhileOpen,
}

impl LogRule {
    /// The rule as a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            LogRule::Genesis => "the log begins with 'genesis', and it stands nowhere else",
            LogRule::Chain => "HASH does not cover the line before and this line",
            LogRule::Time => "TIMESTAMP goes backwards",
            LogRule::ClockSet => "TIMESTAMP of 'clock_set' is not its own 'to'",
            LogRule::Record => "'record' stands on an earlier line already",
            LogRule::Height => "BTC_HEIGHT is not the one in force",
            LogRule::Opening => {
                "'session_start' is followed at once by its branch line, if it has one, and 'auth_ok'"
            }
            LogRule::NoSession => "the session has no 'session_start' before this line",
            LogRule::SessionTwice => "the session was started before",
            LogRule::SessionEnded => "the session goes on after its 'session_end'",
            LogRule::SessionId => "SESSION_ID is not the hash of auth key hash, block and log head",
            LogRule::SessionBranch => "the branch is not that of the height",
            LogRule::LocalBlock => "height 0 and the zero block hash stand together only",
            LogRule::PromptSeq => "prompts are not numbered from 1 without a gap",
            LogRule::OutcomeWithoutPrompt => "an outcome without its prompt",
            LogRule::SecondOutcome => "a second outcome of one prompt",
            LogRule::NotDirect => "a denial or failed compile does not follow its prompt directly",
            LogRule::ChainEntry => "the chain entry is not that of its inputs",
            LogRule::DriftUnanswered => "drift of a prompt that has no answer",
            LogRule::AnchorNotHigher => "the anchor is not higher than the session's last block",
            LogRule::AnchorHeader => "the header is of another block",
            LogRule::AnchorTime => "the line names a block from its own future",
            LogRule::Interactions => "the number of interactions is not that of the responses",
            LogRule::CloseHash => "the close hash is not that of its inputs",
            LogRule::RotationWhileOpen => "the signing key changes while a session is open",
        }
    }
}

/// A line that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a violation that nobody reports makes a broken log look whole"]
pub struct Violation {
    /// The line's number, from 1.
    pub line: u64,
    /// The rule that the line breaks.
    pub rule: LogRule,
    /// What the rule asks for.
    pub expected: String,
    /// What the line says.
    pub actual: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation {
            line,
            rule,
            expected,
            actual,
        } = self;
        write!(
            f,
            "line {line}: {}: expected {expected}, found {actual}",
            rule.words()
        )
    }
}

impl std::error::Error for Violation {}

/// Collects what is wrong with one line, and keeps the first: it stands nearest to the cause.
pub(crate) struct LineViolations {
    line: u64,
    first: Option<Violation>,
}

impl LineViolations {
    pub(crate) fn of_line(line: u64) -> Self {
        LineViolations { line, first: None }
    }

    /// The line's number.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    pub(crate) fn add(
        &mut self,
        rule: LogRule,
        expected: impl fmt::Display,
        actual: impl fmt::Display,
    ) {
        if self.first.is_none() {
            let (expected, actual) = (expected.to_string(), actual.to_string());
            self.first = Some(Violation {
                line: self.line,
                rule,
                expected,
                actual,
            });
        }
    }

    pub(crate) fn same<T: PartialEq + fmt::Display>(
        &mut self,
        rule: LogRule,
        expected: T,
        actual: T,
    ) {
        if expected != actual {
            self.add(rule, expected, actual);
        }
    }

    pub(crate) fn into_result(self) -> Result<(), Violation> {
        self.first.map_or(Ok(()), Err)
    }
}
