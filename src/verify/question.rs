//! The six questions about a ledger, and how they are answered (format, section 12).

/// The six questions about a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditQuestion {
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

impl AuditQuestion {
    /// All questions, in the order of the page.
    pub const ALL: [AuditQuestion; 6] = [
        AuditQuestion::Consistent,
        AuditQuestion::Complete,
        AuditQuestion::Unique,
        AuditQuestion::NotBefore,
        AuditQuestion::NotAfter,
        AuditQuestion::SignedBy,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AuditQuestion::Consistent => "consistent",
            AuditQuestion::Complete => "complete",
            AuditQuestion::Unique => "unique",
            AuditQuestion::NotBefore => "not_before",
            AuditQuestion::NotAfter => "not_after",
            AuditQuestion::SignedBy => "signed_by",
        }
    }
}

/// What can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckAnswer {
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

impl CheckAnswer {
    /// The word on screens and in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            CheckAnswer::Yes => "yes",
            CheckAnswer::YesSince => "yes since",
            CheckAnswer::Partly => "partly",
            CheckAnswer::No => "no",
            CheckAnswer::NotChecked => "not checked",
        }
    }
}

/// An answer with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckVerdict {
    /// Yes, no, or how far it could be told.
    pub answer: CheckAnswer,
    /// Why, in one line.
    pub reason: String,
}

impl CheckVerdict {
    pub(super) fn new(answer: CheckAnswer, reason: impl Into<String>) -> Self {
        CheckVerdict {
            answer,
            reason: reason.into(),
        }
    }
}

/// The answers to the six questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditAnswers {
    /// Verdict on [`AuditQuestion::Consistent`].
    pub consistent: CheckVerdict,
    /// Verdict on [`AuditQuestion::Complete`].
    pub complete: CheckVerdict,
    /// Verdict on [`AuditQuestion::Unique`].
    pub unique: CheckVerdict,
    /// Verdict on [`AuditQuestion::NotBefore`].
    pub not_before: CheckVerdict,
    /// Verdict on [`AuditQuestion::NotAfter`].
    pub not_after: CheckVerdict,
    /// Verdict on [`AuditQuestion::SignedBy`].
    pub signed_by: CheckVerdict,
}

impl AuditAnswers {
    pub(super) fn to_mut(&mut self, question: AuditQuestion) -> &mut CheckVerdict {
        match question {
            AuditQuestion::Consistent => &mut self.consistent,
            AuditQuestion::Complete => &mut self.complete,
            AuditQuestion::Unique => &mut self.unique,
            AuditQuestion::NotBefore => &mut self.not_before,
            AuditQuestion::NotAfter => &mut self.not_after,
            AuditQuestion::SignedBy => &mut self.signed_by,
        }
    }

    /// The answer to one question.
    pub fn to(&self, question: AuditQuestion) -> &CheckVerdict {
        match question {
            AuditQuestion::Consistent => &self.consistent,
            AuditQuestion::Complete => &self.complete,
            AuditQuestion::Unique => &self.unique,
            AuditQuestion::NotBefore => &self.not_before,
            AuditQuestion::NotAfter => &self.not_after,
            AuditQuestion::SignedBy => &self.signed_by,
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
    pub const fn of(&self, question: AuditQuestion) -> Option<u64> {
        match question {
            AuditQuestion::Complete => Some(self.complete),
            AuditQuestion::Unique => Some(self.unique),
            AuditQuestion::NotAfter => Some(self.not_after),
            AuditQuestion::SignedBy => Some(self.signed_by),
            AuditQuestion::Consistent | AuditQuestion::NotBefore => None,
        }
    }
}
