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

/// A line for each reason but want of room, which the last line after an answer tells; what is lost
/// with its files was told before.
pub fn beside_room(not_shown: &[UnshownReference], told: LossesTold) -> Vec<String> {
    let no_room = [
        ExclusionReason::RingCapItems,
        ExclusionReason::RingCapTokens,
    ];
    let no_room = no_room.map(ExclusionReason::code);
    let mut lost = not_shown.to_vec();
    lost.retain(|one| {
        let is_told = one.files.is_empty() && !no_room.contains(&one.rule.as_str());
        is_told && (told.all || one.is_news())
    });
    by_rule(lost).iter().map(|of| line(of)).collect()
}

/// A line for each question that is lost with the files behind it.
pub fn lost_with_files(
    not_shown: &[UnshownReference],
    told: LossesTold,
    door: QuestionDoor,
) -> Vec<String> {
    let lost = not_shown.iter().filter(|one| {
        let is_told = told.all || told.files || one.is_news();
        !one.files.is_empty() && is_told
    });
    lost.map(|one| line_of_files(one, door)).collect()
}

/// A line for each reason; `unfit` turns of `last:N` were not declared at all.
pub fn lines(not_shown: &[UnshownReference], unfit: u64) -> Vec<String> {
    let (with_files, others): (Vec<_>, Vec<_>) = not_shown
        .iter()
        .cloned()
        .partition(|one| !one.files.is_empty());
    let files = with_files.iter();
    let files = files.map(|one| line_of_files(one, QuestionDoor::Ask));
    let others = by_rule(others);
    let mut lines: Vec<String> = files.chain(others.iter().map(|of| line(of))).collect();
    if unfit > 0 {
        let turns = if unfit == 1 { "turn has" } else { "turns have" };
        lines.push(format!(
            "not declared: {unfit} of the last {turns} no place, as context.max_refs in context.json allows no more references"
        ));
    }
    lines
}

/// `the question 81bb5b35/16 is not shown to the model again, nor x.conf behind it: logs, lists of settings
/// and long documents are shown once; attach it again: -f x.conf`
fn line_of_files(one: &UnshownReference, door: QuestionDoor) -> String {
    let (flag, between) = match door {
        QuestionDoor::Chat => ("/file", " and "),
        _ => ("-f", " "),
    };
    let names = one.files.iter().map(|name| quiet(name));
    let names: Vec<String> = names.collect();
    let again = names.iter();
    let again = again.filter(|name| *name != PIPED);
    let again = again.map(|name| format!("{flag} {}", shell_word(Path::new(name))));
    let again: Vec<String> = again.collect();
    let question = match &one.exchange {
        Some(id) => format!("the question {id}"),
        None => "an earlier question".to_owned(),
    };
    let why = match one.rule == ExclusionReason::EvidenceBlob.code() {
        true => "logs, lists of settings and long documents are shown once",
        false => one.why,
    };
    let them = if again.len() == 1 { "it" } else { "them" };
    let attach = format!("attach {them} again: {}", again.join(between));
    let is_piped = again.len() < names.len();
    format!(
        "{question} is not shown to the model again, nor {} behind it: {why}; {}",
        names.join(", "),
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
