//! A verified position: how far an earlier check came, so that the next one need only look at what
//! is new.
//!
//! It is private state, in canonical JSON with a sum over the rest of it. Nothing in it is believed
//! for itself: [`super::fit`] holds it against the ledger. What it can't prove is that the
//! earlier check took place; so a check that goes on from it never answers *yes*, only *yes since*.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ledger::Oid;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

/// The name of this form of position.
const FORM: &str = "gently-verified/1";

/// Why a check can't continue from a saved position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PositionMismatch {
    /// Not what [`Position::print`] prints: changed, cut, or of another version.
    #[error("the file was not written by a check: {reason}")]
    Form {
        /// What is wrong.
        reason: String,
    },
    /// `main` of this ledger does not go through the position's commit.
    #[error(
        "main does not go through commit {commit}, line {line} of the log, where the check of {at} ended"
    )]
    Rewritten {
        /// The position's commit.
        commit: Oid,
        /// Lines up to it.
        line: u64,
        /// When the position was saved.
        at: Seconds,
    },
    /// `main` begins with another commit than the ledger that the position is of.
    #[error(
        "root of main: the ledger has {expected}, the position {actual}: this is another ledger, or its history was \
         written anew from its beginning"
    )]
    OtherRoot {
        /// What `main` begins with.
        expected: String,
        /// What it began with when the position was saved.
        actual: String,
    },
    /// What follows it contradicts it, or is wrong itself; the check of everything tells.
    #[error(
        "a check that continued from it found at {place}: expected {expected}, actual {actual}"
    )]
    Found {
        /// Of the first finding.
        place: String,
        /// Of the first finding.
        expected: String,
        /// Of the first finding.
        actual: String,
    },
    /// Another ledger's, or something in it is not what the ledger says.
    #[error("{what}: the ledger has {expected}, the position {actual}")]
    Differs {
        /// Which part of the position.
        what: &'static str,
        /// What the ledger says.
        expected: String,
        /// What the position says.
        actual: String,
    },
    /// An object or line that the position names can't be read, or is not signed.
    #[error("{place}: {reason}")]
    Unreadable {
        /// Object or line that the position names.
        place: String,
        /// What is wrong.
        reason: String,
    },
}

/// A signing key, and what brought it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyAt {
    /// Number of the line after which it is in force.
    pub after: u64,
    /// The rotation; the root of `main` for the first key.
    pub commit: Oid,
    pub key: PublicKey,
}

/// What a position says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PositionContent {
    /// When the check ended.
    pub at: Seconds,
    /// Blocks that the log names at the highest height.
    pub blocks: BTreeSet<Hash32>,
    /// Length of the lines with their newlines.
    pub bytes: u64,
    /// The commit of `main` that the position is at.
    pub commit: Oid,
    /// When all of the ledger was last checked.
    pub from_scratch_at: Seconds,
    /// The tree of the lines, as [`crate::record::tree::Frontier::to_bytes`] stores it, in
    /// hexadecimal.
    pub frontier: String,
    /// HASH of the last line of the commit's segment.
    pub head: Hash32,
    pub highest: u32,
    pub keys: Vec<KeyAt>,
    pub last_branch: Option<String>,
    /// Number of that line.
    pub lines: u64,
    /// Open sessions, with the numbers of their first lines.
    pub open: BTreeMap<Hash32, u64>,
    /// The newest commit of each branch whose line is one of these lines.
    pub tips: BTreeMap<u8, Oid>,
}

/// Where an earlier check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position(pub(crate) PositionContent);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PositionFile {
    form: String,
    position: PositionContent,
    /// H of the canonical JSON of `position`: against a slip, not against a forger.
    sum: Hash32,
}

impl Position {
    /// Reads what [`Position::print`] printed, and nothing else.
    pub fn read(bytes: &[u8]) -> Result<Self, PositionMismatch> {
        let wrong = |reason: String| PositionMismatch::Form { reason };
        let stored: PositionFile = canon::parse(bytes).map_err(|e| wrong(e.to_string()))?;
        if stored.form != FORM {
            return Err(wrong(format!(
                "form '{}', not '{FORM}'",
                stored.form.escape_debug()
            )));
        }
        let sum = canon::digest(&stored.position).map_err(|e| wrong(e.to_string()))?;
        if sum != stored.sum {
            return Err(wrong(format!("its sum is {sum}, not {}", stored.sum)));
        }
        let PositionContent {
            at,
            from_scratch_at,
            ..
        } = stored.position;
        if from_scratch_at > at {
            return Err(wrong(format!(
                "all was checked at {from_scratch_at}, after {at}"
            )));
        }
        Ok(Position(stored.position))
    }

    /// One line of canonical JSON, without a newline.
    pub fn print(&self) -> Result<String, PositionMismatch> {
        let wrong = |e: canon::CanonError| PositionMismatch::Form {
            reason: e.to_string(),
        };
        let sum = canon::digest(&self.0).map_err(wrong)?;
        canon::print(&PositionFile {
            form: FORM.to_owned(),
            position: self.0.clone(),
            sum,
        })
        .map_err(wrong)
    }

    /// The same position, reached at this time by a check of everything, or by one that went on
    /// from another.
    #[must_use]
    pub fn reached(mut self, at: Seconds, from: Option<&Position>) -> Self {
        self.0.from_scratch_at = from.map_or(at, |from| from.0.from_scratch_at).min(at);
        self.0.at = at;
        self
    }

    /// Why `main`, which has this root, does not go through the position's commit.
    pub(crate) fn missed(&self, root: Option<Oid>) -> PositionMismatch {
        let own = self.0.keys.first().map(|first| first.commit);
        if own == root {
            return PositionMismatch::Rewritten {
                commit: self.0.commit,
                line: self.0.lines,
                at: self.0.at,
            };
        }
        let spelled =
            |root: Option<Oid>| root.map_or("none".to_owned(), |id| format!("commit {id}"));
        PositionMismatch::OtherRoot {
            expected: spelled(root),
            actual: spelled(own),
        }
    }

    /// The key that the ledger began with.
    pub fn first_key(&self) -> Option<PublicKey> {
        self.0.keys.first().map(|first| first.key)
    }

    /// When the check ended that came here.
    pub fn at(&self) -> Seconds {
        self.0.at
    }

    /// When all of the ledger was last checked.
    pub fn from_scratch_at(&self) -> Seconds {
        self.0.from_scratch_at
    }

    /// How many lines of the log it covers.
    pub fn lines(&self) -> u64 {
        self.0.lines
    }
}
