//! Earlier turns: those that the client declared, which stand in the context block, and deep
//! history when it asked for it.

use crate::govern::policy::Topics;
use crate::record::ledger::bundle::{ArtifactRef, Exclusion};
use crate::record::ledger::prompt::{DEEP, TURN};
use crate::record::ledger::short_name::short_name;
use crate::record::time::Seconds;

use super::candidate::{RecallResult, TurnCandidate};
use super::gates::{ExclusionReason, gate_turn};
use super::score::{ScoreParts, score_turn};
use super::select::{FOR_A_CONFLICT, Room, Selection};

/// How the reason of a declared turn begins; what was declared follows.
pub const DECLARED: &str = "declared.";

/// One turn that is put, and why.
struct TurnPlacement<'a> {
    turn: &'a TurnCandidate,
    reason: String,
}

/// Puts the turns that were declared, as they were resolved, then chooses the best of deep history.
///
/// What was declared, policy has seen; of deep history what is about one of `topics` is kept out.
pub(super) fn choose(
    (question, topics): (&[String], &Topics),
    recalled: &RecallResult,
    now: Seconds,
    deep: &mut Room,
    chosen: &mut Selection,
) {
    for turn in &recalled.declared {
        chosen
            .refs
            .push(reference(turn, format!("{DECLARED}{}", turn.declared), now));
        chosen.declared.extend(turn.prior());
    }
    let kept = recalled.kept.iter();
    // An item's id has its kind in it.
    let named = |id: &String| match id.contains(':') {
        true => id.clone(),
        false => format!("{TURN}:{id}"),
    };
    chosen.exclusions.extend(kept.map(|(id, rule)| Exclusion {
        artifact: named(id),
        reason: rule.clone(),
    }));
    let mut put: Vec<TurnPlacement<'_>> = Vec::new();
    let is_declared = |turn: &&TurnCandidate| {
        recalled
            .declared
            .iter()
            .any(|known| known.turn == turn.turn)
    };
    let mut history: Vec<(&TurnCandidate, ScoreParts)> = recalled
        .deep
        .iter()
        .filter(|turn| !is_declared(turn))
        .map(|turn| (turn, score_turn(turn, question, now)))
        .collect();
    history.sort_by_key(|(turn, parts)| {
        (
            std::cmp::Reverse(parts.total()),
            std::cmp::Reverse(turn.line),
        )
    });
    for (turn, parts) in history {
        offer((turn, topics), deep, parts.code(DEEP), &mut put, chosen);
    }
    put.sort_by_key(|one| one.turn.line);
    for TurnPlacement { turn, reason } in put {
        chosen.turns.extend(turn.prior());
        chosen.refs.push(reference(turn, reason, now));
    }
}

fn reference(turn: &TurnCandidate, included_reason: String, now: Seconds) -> ArtifactRef {
    ArtifactRef {
        artifact_type: TURN.to_owned(),
        artifact_id: turn.turn.to_string(),
        artifact_hash: Some(turn.hash),
        included_reason,
        observed_at: Some(turn.at),
        freshness_s: Some(now.since(turn.at)),
        risk_flags: Vec::new(),
    }
}

fn offer<'a>(
    (turn, topics): (&'a TurnCandidate, &Topics),
    room: &mut Room,
    reason: String,
    put: &mut Vec<TurnPlacement<'a>>,
    chosen: &mut Selection,
) {
    if put.iter().any(|one| one.turn.turn == turn.turn) {
        return;
    }
    let length = turn.prior().map_or(0, |prior| prior.length());
    let kept = match gate_turn(turn, |text| topics.forbid(text)) {
        Some(kept) => Some(kept),
        None => room.take(length).err(),
    };
    match kept {
        None => put.push(TurnPlacement { turn, reason }),
        Some(kept) => exclude(turn, kept, chosen),
    }
}

/// A turn named by two declarations is kept out once.
fn exclude(turn: &TurnCandidate, kept: ExclusionReason, chosen: &mut Selection) {
    let name = format!("{TURN}:{}", turn.turn);
    if chosen.exclusions.iter().all(|known| known.artifact != name) {
        chosen.exclude(&name, kept);
    }
}

/// The line that goes with an answer for which deep history was used (AEGIS 12.5): what was added,
/// and why.
///
/// `refs` are `artifact_id` and `included_reason` of what was put, as they stand on record. None
/// without ring 2.
pub fn disclosure<'a>(refs: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let (mut history, mut conflicts, mut imported) = (Vec::new(), Vec::new(), Vec::new());
    for (id, reason) in refs {
        match ScoreParts::read(reason) {
            Some((why, _)) if why == DEEP && id.contains(':') => imported.push(short_name(id)),
            Some((why, _)) if why == DEEP => history.push(id),
            Some((why, _)) if why == FOR_A_CONFLICT => conflicts.push(short_name(id)),
            _ => {}
        }
    }
    let mut said = Vec::new();
    if !history.is_empty() {
        let turns = if history.len() == 1 { "turn" } else { "turns" };
        let first = history
            .iter()
            .map(|id| id.get(..8).unwrap_or(id).to_owned());
        said.push(format!(
            "{} earlier {turns}{}, as deep history was asked for",
            history.len(),
            in_brackets(first.collect())
        ));
    }
    if !imported.is_empty() {
        let passages = if imported.len() == 1 {
            "passage"
        } else {
            "passages"
        };
        let count = imported.len();
        said.push(format!(
            "{count} imported {passages}{}, not verified",
            in_brackets(imported)
        ));
    }
    if !conflicts.is_empty() {
        said.push(format!(
            "{}, to show what disagrees with what was found",
            conflicts.join(", ")
        ));
    }
    (!said.is_empty()).then(|| format!("added from deep history: {}", said.join("; ")))
}

/// ` (a, b)`; nothing of more than are read in a row.
fn in_brackets(ids: Vec<String>) -> String {
    const NAMED: usize = 3;
    match ids.len() {
        0..=NAMED => format!(" ({})", ids.join(", ")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_from_deep_history_is_said() {
        let score = ScoreParts::default().code("x").split_off(1);
        let (deep, conflict, plain) = (
            format!("{DEEP}{score}"),
            format!("{FOR_A_CONFLICT}{score}"),
            format!("ring1{score}"),
        );
        let turn = "6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77";
        for (refs, said) in [
            (vec![], None),
            (
                vec![
                    ("kernel:1", "ring0.constraints"),
                    ("ledger:1", plain.as_str()),
                    (turn, "declared.last:6"),
                ],
                None,
            ),
            (
                vec![("imported:000003", deep.as_str())],
                Some("added from deep history: 1 imported passage (imported-3), not verified"),
            ),
            (
                vec![(turn, deep.as_str())],
                Some(
                    "added from deep history: 1 earlier turn (6d1c0c30), as deep history was asked for",
                ),
            ),
            (
                vec![(turn, deep.as_str()); 4],
                Some("added from deep history: 4 earlier turns, as deep history was asked for"),
            ),
            (
                vec![
                    (turn, deep.as_str()),
                    (turn, deep.as_str()),
                    ("ledger:000002", conflict.as_str()),
                ],
                Some(
                    "added from deep history: 2 earlier turns (6d1c0c30, 6d1c0c30), as deep history was asked for; \
                     fact-2, to show what disagrees with what was found",
                ),
            ),
        ] {
            assert_eq!(disclosure(refs.into_iter()).as_deref(), said);
        }
    }
}
