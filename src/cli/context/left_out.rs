//! What a declared reference loses, in a line for each reason.

use crate::app::not_shown::{UnshownReference, not_shown};
use crate::continuity::declared::TurnContext;
use crate::continuity::gates::ExclusionReason;

/// Ids that are named in one line.
const NAMED: usize = 6;
/// Digits of an id that people are shown.
const DIGITS: usize = 8;

/// A line for each reason but want of room, which the last line after an answer tells; of what is
/// news alone, unless `all` is.
pub fn beside_room(context: &TurnContext, all: bool) -> Vec<String> {
    let no_room = [
        ExclusionReason::RingCapItems,
        ExclusionReason::RingCapTokens,
    ];
    let no_room = no_room.map(ExclusionReason::code);
    let mut lost = not_shown(context);
    lost.retain(|one| !no_room.contains(&one.rule.as_str()) && (all || one.is_news()));
    by_rule(lost).iter().map(|of| line(of)).collect()
}

/// A line for each reason; `unfit` turns of `last:N` were not declared at all.
pub fn lines(context: &TurnContext, unfit: u64) -> Vec<String> {
    let mut lines: Vec<String> = by_rule(not_shown(context))
        .iter()
        .map(|of| line(of))
        .collect();
    if unfit > 0 {
        let turns = if unfit == 1 { "turn has" } else { "turns have" };
        lines.push(format!(
            "not declared: {unfit} of the last {turns} no place, as context.max_refs in context.json allows no more references"
        ));
    }
    lines
}

/// The references of each rule, in the order in which the rules first come.
fn by_rule(all: Vec<UnshownReference>) -> Vec<Vec<UnshownReference>> {
    let mut groups: Vec<Vec<UnshownReference>> = Vec::new();
    for one in all {
        match groups.iter_mut().find(|of| of[0].rule == one.rule) {
            Some(of) => of.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn line(of: &[UnshownReference]) -> String {
    let name = |one: &UnshownReference| {
        let id = one.ref_id.get(..DIGITS).unwrap_or_default();
        format!("{} {id}…", one.what)
    };
    let names: Vec<String> = of.iter().take(NAMED).map(name).collect();
    let more = match of.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "not shown to the model: {}{more} ({})",
        names.join(", "),
        of[0].why
    )
}
