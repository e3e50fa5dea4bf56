//! The six questions about a ledger, and how they are answered (format, section 11).

/// The six questions about a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// Does all that is here hold together?
    Consistent,
    /// Is everything here that was recorded?
    Complete,
    /// Is this the only history?
    Unique,
    /// Was it made after the blocks that it names?
    NotBefore,
    /// Was it made before a block or witness outside?
    NotAfter,
    /// Is its newest signed line signed by the newest key that the checker pinned?
    SignedBy,
}

impl Question {
    /// All questions, in the order of the page.
    pub const ALL: [Question; 6] = [
        Question::Consistent,
        Question::Complete,
        Question::Unique,
        Question::NotBefore,
        Question::NotAfter,
        Question::SignedBy,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Question::Consistent => "consistent",
            Question::Complete => "complete",
            Question::Unique => "unique",
            Question::NotBefore => "not_before",
            Question::NotAfter => "not_after",
            Question::SignedBy => "signed_by",
        }
    }
}

/// What can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Checked, and it holds.
    Yes,
    /// Checked from a point of the history on, and it holds there; never a pass of the whole.
    YesSince,
    /// Checked, and it holds up to a line that is named; newer lines are there.
    Partly,
    /// Checked, and it does not.
    No,
    /// Not looked at; never a pass.
    NotChecked,
}

impl Answer {
    /// The word on screens and in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::YesSince => "yes since",
            Answer::Partly => "partly",
            Answer::No => "no",
            Answer::NotChecked => "not checked",
        }
    }
}

/// An answer with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The answer.
    pub answer: Answer,
    /// Why, in one line.
    pub reason: String,
}

impl Verdict {
    pub(super) fn new(answer: Answer, reason: impl Into<String>) -> Self {
        Verdict {
            answer,
            reason: reason.into(),
        }
    }
}

/// The answers to the six questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// See [`Question::Consistent`].
    pub consistent: Verdict,
    /// See [`Question::Complete`].
    pub complete: Verdict,
    /// See [`Question::Unique`].
    pub unique: Verdict,
    /// See [`Question::NotBefore`].
    pub not_before: Verdict,
    /// See [`Question::NotAfter`].
    pub not_after: Verdict,
    /// See [`Question::SignedBy`].
    pub signed_by: Verdict,
}

impl Answers {
    pub(super) fn to_mut(&mut self, question: Question) -> &mut Verdict {
        match question {
            Question::Consistent => &mut self.consistent,
            Question::Complete => &mut self.complete,
            Question::Unique => &mut self.unique,
            Question::NotBefore => &mut self.not_before,
            Question::NotAfter => &mut self.not_after,
            Question::SignedBy => &mut self.signed_by,
        }
    }

    /// The answer to one question.
    pub fn to(&self, question: Question) -> &Verdict {
        match question {
            Question::Consistent => &self.consistent,
            Question::Complete => &self.complete,
            Question::Unique => &self.unique,
            Question::NotBefore => &self.not_before,
            Question::NotAfter => &self.not_after,
            Question::SignedBy => &self.signed_by,
        }
    }
}

/// Up to which line of the log some answers speak; 0 where they speak of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// The last line judged.
    pub complete: u64,
    /// The last line under a tree head that a quorum cosigned.
    pub unique: u64,
    /// The last line that a block, or witnesses, show to have been there.
    pub not_after: u64,
    /// The last line that somebody signed.
    pub signed_by: u64,
}

impl Extents {
    /// The line up to which an answer speaks; none for answers that are not about lines.
    pub const fn of(&self, question: Question) -> Option<u64> {
        match question {
            Question::Complete => Some(self.complete),
            Question::Unique => Some(self.unique),
            Question::NotAfter => Some(self.not_after),
            Question::SignedBy => Some(self.signed_by),
            Question::Consistent | Question::NotBefore => None,
        }
    }
}
