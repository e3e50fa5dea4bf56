//! What a declared reference loses, in a line for each reason.

use crate::app::look::not_shown::UnshownReference;
use crate::app::words::with_more;
use crate::continuity::gates::ExclusionReason;

/// Ids that are named in one line.
const NAMED: usize = 6;

/// A line for each reason but want of room, which the last line after an answer tells; of what is
/// news alone, unless `all` is.
pub fn beside_room(not_shown: &[UnshownReference], all: bool) -> Vec<String> {
    let no_room = [
        ExclusionReason::RingCapItems,
        ExclusionReason::RingCapTokens,
    ];
    let no_room = no_room.map(ExclusionReason::code);
    let mut lost = not_shown.to_vec();
    lost.retain(|one| !no_room.contains(&one.rule.as_str()) && (all || one.is_news()));
    by_rule(lost).iter().map(|of| line(of)).collect()
}

/// A line for each reason; `unfit` turns of `last:N` were not declared at all.
pub fn lines(not_shown: &[UnshownReference], unfit: u64) -> Vec<String> {
    let mut lines: Vec<String> = by_rule(not_shown.to_vec())
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
    let name = |one: &UnshownReference| match &one.exchange {
        Some(id) => format!("{} {id}", one.what),
        None => one.what.to_owned(),
    };
    let names: Vec<String> = of.iter().take(NAMED).map(name).collect();
    let more = with_more(of.len().saturating_sub(NAMED));
    format!(
        "not shown to the model: {}{more} ({})",
        names.join(", "),
        of[0].why
    )
}
