//! Between which blocks: the words and the JSON.

use serde_json::{Value, json};

use crate::verify::{Bound, Bracket, Report, Scope};

/// The lines on the whole ledger; none with `--since`, which looks at no proof.
pub(super) fn lines(report: &Report) -> Vec<String> {
    if !matches!(report.scope, Scope::Whole { .. }) {
        return Vec::new();
    }
    let bracket = &report.bracket;
    let of_lines = |n: u64| if n == 1 { "1 line".to_owned() } else { format!("{n} lines") };
    let tail = format!("tail:        {} of {} unanchored", of_lines(bracket.tail), report.entries);
    let span = match (&bracket.longest, bracket.proofs) {
        (Some(span), _) => {
            let blocks = span.blocks();
            let blocks = if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") };
            format!(
                "at most {blocks} without an outside anchor (line {}: {} to {})",
                span.line, span.after, span.before
            )
        }
        (None, 0) => "no line is between two blocks".to_owned(),
        (None, _) => "no line that is attested is after a block".to_owned(),
    };
    let unbounded = match bracket.unbounded {
        0 => String::new(),
        n => format!("; {} attested, after no block", of_lines(n)),
    };
    vec![tail, format!("span:        {span}{unbounded}")]
}

/// One end of a session's bracket.
pub(super) fn words(bound: &Bound) -> String {
    match bound {
        Bound::Block { height, time, proven } => {
            let minutes = time.to_string();
            let minutes = minutes.get(..16).unwrap_or(&minutes);
            let whose = if *proven { ", height proven" } else { "" };
            format!("block {height} ({minutes}Z{whose})")
        }
        Bound::None(why) => why.clone(),
    }
}

/// One end as JSON.
pub(super) fn bound(bound: &Bound) -> Value {
    match bound {
        Bound::Block { height, time, proven } => {
            json!({"block": height, "time": time.to_string(), "height_proven": proven, "reason": null})
        }
        Bound::None(why) => json!({"block": null, "time": null, "height_proven": false, "reason": why}),
    }
}

/// The bracket of the ledger as JSON.
pub(super) fn facts(bracket: &Bracket) -> Value {
    let span = bracket.longest.map(|span| {
        json!({"blocks": span.blocks(), "line": span.line, "after_block": span.after, "before_block": span.before})
    });
    json!({
        "proofs": bracket.proofs, "proofs_without_header": bracket.unchecked, "proofs_pending": bracket.pending,
        "unanchored_tail": bracket.tail, "longest_span": span, "attested_after_no_block": bracket.unbounded,
        "blocks_proven": bracket.placed, "blocks_orphaned": bracket.orphaned, "blocks_claimed": bracket.claimed,
    })
}
