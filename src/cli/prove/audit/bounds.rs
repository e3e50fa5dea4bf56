//! Between which blocks, in words.

use crate::verify::{PendingProof, Report, Scope, SessionBound};

use crate::app::home::open;
use crate::cli::screen::counted;

/// The lines on the whole ledger; none with `--since`, which looks at no proof.
pub(super) fn lines(report: &Report) -> Vec<String> {
    if !matches!(report.scope, Scope::Whole { .. }) {
        return Vec::new();
    }
    let bounds = &report.bounds;
    let of_lines = |n: u64| {
        if n == 1 {
            "1 line".to_owned()
        } else {
            format!("{n} lines")
        }
    };
    let tail = format!(
        "tail:        {} of {} unanchored",
        of_lines(bounds.tail),
        report.entries
    );
    let span = match (&bounds.longest, bounds.proofs) {
        (Some(span), _) => {
            let blocks = span.blocks();
            let blocks = if blocks == 1 {
                "1 block".to_owned()
            } else {
                format!("{blocks} blocks")
            };
            format!(
                "at most {blocks} without an outside anchor (line {}: {} to {})",
                span.line, span.after, span.before
            )
        }
        (None, 0) => "no line is between two blocks".to_owned(),
        (None, _) => "no line that is attested is after a block".to_owned(),
    };
    let unbounded = match bounds.unbounded {
        0 => String::new(),
        n => format!("; {} attested, after no block", of_lines(n)),
    };
    let mut lines = vec![tail, format!("span:        {span}{unbounded}")];
    lines.extend(bounds.waits.filter(|waits| waits.is_late(open::clock_or_epoch())).map(|PendingProof { commit, since }| {
        format!(
            "pending:     for more than 48 hours, since {since}: the proof on commit {commit}; gently audit upgrade (a \
             later proof covers the same lines)"
        )
    }));
    lines
}

/// Sessions whose brackets stand in the report; all of them do in its JSON.
const SHOWN: usize = 10;

/// The brackets of the newest sessions; none with `--since`.
pub(super) fn sessions(report: &Report) -> Vec<String> {
    let (count, whole) = (
        report.sessions.len(),
        matches!(report.scope, Scope::Whole { .. }),
    );
    if !whole || count == 0 {
        return Vec::new();
    }
    let of = if count > SHOWN {
        format!("the newest {SHOWN} of {count}; each with gently audit session ID, all with --json")
    } else {
        counted(count, "session")
    };
    let each = report
        .sessions
        .iter()
        .rev()
        .take(SHOWN)
        .flat_map(|session| {
            let (before, after) = (words(&session.not_before), words(&session.not_after));
            [
                format!("  {}", session.id.short16()),
                format!("    Not before: {before}"),
                format!("    Not after: {after}"),
            ]
        });
    std::iter::once(format!("brackets:    {of}"))
        .chain(each)
        .collect()
}

/// One end of a session's bracket, without the reason where there is none.
pub(super) fn short(bound: &SessionBound) -> String {
    match bound {
        SessionBound::Block { .. } => words(bound),
        SessionBound::None(_) => "not proven".to_owned(),
    }
}

/// One end of a session's bracket.
pub(super) fn words(bound: &SessionBound) -> String {
    match bound {
        SessionBound::Block {
            height,
            time,
            proven,
        } => {
            let minutes = time.to_string();
            let minutes = minutes.get(..16).unwrap_or(&minutes);
            let whose = if *proven { ", height proven" } else { "" };
            format!("block {height} ({minutes}Z{whose})")
        }
        SessionBound::None(why) => why.clone(),
    }
}
