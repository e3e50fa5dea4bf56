//! What a declared reference loses, in a line for each reason.

use std::path::Path;

use crate::app::ask::attachment::PIPED;
use crate::app::look::not_shown::UnshownReference;
use crate::app::words::with_more;
use crate::cli::screen::quiet;
use crate::continuity::gates::ExclusionReason;
use crate::os::shell_word;
use crate::record::ledger::measures::QuestionDoor;

/// Ids that are named in one line.
const NAMED: usize = 6;

/// What is told again that was told behind an earlier answer.
#[derive(Clone, Copy)]
pub struct LossesTold {
    /// All of it.
    pub all: bool,
    /// What lost files with it.
    pub files: bool,
}

/// A line for each reason but want of room, which the last line after an answer tells, where no file
/// is lost with it.
pub fn beside_room(
    not_shown: &[UnshownReference],
    told: LossesTold,
    door: QuestionDoor,
) -> Vec<String> {
    let no_room = [
        ExclusionReason::RingCapItems,
        ExclusionReason::RingCapTokens,
    ];
    let no_room = no_room.map(ExclusionReason::code);
    let mut lost = not_shown.to_vec();
    lost.retain(|one| {
        let has_files = !one.files.is_empty();
        let is_told = has_files || !no_room.contains(&one.rule.as_str());
        is_told && (told.all || has_files && told.files || one.is_news())
    });
    all_lines(lost, door)
}

/// A line for each reason; `unfit` turns of `last:N` were not declared at all.
pub fn lines(not_shown: &[UnshownReference], unfit: u64) -> Vec<String> {
    let mut lines = all_lines(not_shown.to_vec(), QuestionDoor::Ask);
    if unfit > 0 {
        let turns = if unfit == 1 { "turn has" } else { "turns have" };
        lines.push(format!(
            "not declared: {unfit} of the last {turns} no place, as context.max_refs in context.json allows no more references"
        ));
    }
    lines
}

/// A line for the files of each question that lost them, and one for each reason of the others.
fn all_lines(lost: Vec<UnshownReference>, door: QuestionDoor) -> Vec<String> {
    let (with_files, others): (Vec<_>, Vec<_>) =
        lost.into_iter().partition(|one| !one.files.is_empty());
    let files = with_files.iter().map(|one| line_of_files(one, door));
    files
        .chain(by_rule(others).iter().map(|of| line(of)))
        .collect()
}

/// `not shown again: x.conf, of 81bb5b35/16; attach it again with -f x.conf`
fn line_of_files(one: &UnshownReference, door: QuestionDoor) -> String {
    let (flag, between) = match door {
        QuestionDoor::Ask => ("-f", " "),
        QuestionDoor::Chat => ("/file", " and "),
    };
    let names = one.files.iter().map(|name| quiet(name));
    let names: Vec<String> = names.collect();
    let again = names.iter();
    let again = again.filter(|name| *name != PIPED);
    let again = again.map(|name| format!("{flag} {}", shell_word(Path::new(name))));
    let again: Vec<String> = again.collect();
    let of = one.exchange.as_ref().map(|id| format!(", of {id}"));
    let them = if again.len() == 1 { "it" } else { "them" };
    let attach = format!("attach {them} again with {}", again.join(between));
    let is_piped = again.len() < names.len();
    format!(
        "not shown again: {}{}; {}",
        names.join(", "),
        of.unwrap_or_default(),
        match (is_piped, again.is_empty()) {
            (false, _) => attach,
            (true, true) => "pipe it in again".to_owned(),
            (true, false) => format!("pipe it in again, and {attach}"),
        }
    )
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
