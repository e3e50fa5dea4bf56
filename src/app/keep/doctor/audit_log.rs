//! Whether the log, as the view `audit_log` of the database has it, hangs together: each line's hash
//! follows from that of the line before and from the line itself.
//!
//! It is the quick look that the AUA state store asks for, and reads nothing but the database: who
//! can change the file can change all of it. `gently audit verify` compares with what is signed.

use std::ops::ControlFlow;

use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::log::chain::line_hash;
use crate::store::{AuditLine, LedgerHead, ReadStore, StoreError};

use crate::app::home::open::{self, OpenHomeError};

/// What came of walking along the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditWalk {
    /// Lines that follow from one another, from the first.
    pub lines: u64,
    /// Where it breaks.
    pub broken: Option<AuditBreak>,
}

/// The first line that does not follow from those before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditBreak {
    /// Its number, from 1.
    pub line: u64,
    /// What belongs there.
    pub expected: String,
    /// What is there.
    pub actual: String,
}

/// Walks along all lines in the database of a home; none of them is kept in memory.
pub fn walk(home: &Home) -> Result<AuditWalk, OpenHomeError> {
    let store = open::store(home)?;
    Ok(store.reading(along)?)
}

fn along(store: &ReadStore) -> Result<AuditWalk, StoreError> {
    let head = store.head()?;
    let mut walk = AuditWalk {
        lines: 0,
        broken: None,
    };
    let mut before = Hash32::GENESIS;
    store.each_audit_line(&mut |line| {
        match next(&line, walk.lines, before) {
            Ok(hash) => before = hash,
            Err(broken) => walk.broken = Some(broken),
        }
        walk.lines += u64::from(walk.broken.is_none());
        match walk.broken {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    })?;
    walk.broken = walk.broken.or_else(|| ends_as(&head, walk.lines, before));
    Ok(walk)
}

/// The hash of a line that is to be the one of this number, behind the hash of the line before.
fn next(line: &AuditLine, n: u64, before: Hash32) -> Result<Hash32, AuditBreak> {
    let breaks = |expected: String, actual: String| AuditBreak {
        line: n.saturating_add(1),
        expected,
        actual,
    };
    let number = |n: u64| format!("line {}", n.saturating_add(1));
    if line.n != n {
        return Err(breaks(number(n), number(line.n)));
    }
    let told = line.before.as_deref().unwrap_or("none");
    if told.as_bytes() != before.digits() {
        return Err(breaks(format!("prev_hash {before}"), told.to_owned()));
    }
    let (own, rest) = line.line.split_once('|').unwrap_or_default();
    let hash = line_hash(before, rest.as_bytes());
    for actual in [own, line.curr.as_str()] {
        if actual.as_bytes() != hash.digits() {
            return Err(breaks(format!("curr_hash {hash}"), actual.to_owned()));
        }
    }
    Ok(hash)
}

/// Where the lines do not end as the head says.
fn ends_as(head: &LedgerHead, lines: u64, last: Hash32) -> Option<AuditBreak> {
    let ended = |lines: u64, hash: Hash32| format!("an end behind {lines} lines, with {hash}");
    let is_it = (head.lines, head.hash) == (lines, last);
    (!is_it).then(|| AuditBreak {
        line: lines.min(head.lines).saturating_add(1),
        expected: ended(head.lines, head.hash),
        actual: ended(lines, last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: u64, before: Hash32, rest: &str) -> AuditLine {
        let hash = line_hash(before, rest.as_bytes());
        AuditLine {
            n,
            before: Some(before.to_string()),
            curr: hash.to_string(),
            line: format!("{hash}|{rest}"),
        }
    }

    #[test]
    fn a_line_follows_from_the_one_before_or_is_named() {
        let before = Hash32::GENESIS;
        let good = line(0, before, "829002|x");
        assert_eq!(next(&good, 0, before).unwrap().to_string(), good.curr);
        let other = Hash32::ZERO.to_string();
        let changed = |change: fn(&mut AuditLine, String)| {
            let mut line = good.clone();
            change(&mut line, other.clone());
            line
        };
        for (wrong, n) in [
            (good.clone(), 1),
            (changed(|line, _| line.n = 7), 0),
            (changed(|line, other| line.before = Some(other)), 0),
            (changed(|line, _| line.before = None), 0),
            (changed(|line, other| line.curr = other), 0),
            (changed(|line, _| line.line.push('x')), 0),
            (changed(|line, _| line.line = String::new()), 0),
            (
                changed(|line, other| line.line.replace_range(..64, &other)),
                0,
            ),
        ] {
            let broken = next(&wrong, n, before).unwrap_err();
            assert_eq!(broken.line, n + 1, "{wrong:?}");
        }
    }
}
