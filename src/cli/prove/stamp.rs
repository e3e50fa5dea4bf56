//! `gently audit stamp` and `gently audit upgrade`.

use crate::anchor::agree::in_short;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::stamp::{self as desk, StampingError};
use crate::app::words::with_more;
use crate::stamp::{StampResult, UpgradeResult};
use crate::view::prove::stamp::{StampView, UpgradeView};

use crate::cli::{COULD_NOT, FINE, could_not, present, say};

/// Stamps every tree head that has no proof.
pub async fn stamp(json: bool) -> Result<u8, OpenHomeError> {
    let opened = open::open_home()?;
    let all = match desk::stamp(&opened, &say).await {
        Ok(all) => all,
        Err(error) => return refused(error, json),
    };
    let text = || {
        let words = stamping_words(&all);
        words.unwrap_or_else(|| "every tree head has its proof".to_owned()) + "\n"
    };
    let printed = present(json, || StampView::of(&all), text);
    Ok(if all.left == 0 { FINE } else { COULD_NOT }.max(printed))
}

/// Asks calendars what became of every pending proof.
pub async fn upgrade(json: bool) -> Result<u8, OpenHomeError> {
    let opened = open::open_home()?;
    let done = match desk::upgrade(&opened).await {
        Ok(done) => done,
        Err(error) => return refused(error, json),
    };
    Ok(present(json, || UpgradeView::of(&done), || upgraded(&done)))
}

fn upgraded(done: &UpgradeResult) -> String {
    let mut lines = upgrading_words(done);
    lines.extend(unreached_words(done));
    lines.push(match (done.completed.len(), done.pending.len()) {
        (_, 0) => "no proof is pending".to_owned(),
        (_, 1) => "1 proof is pending".to_owned(),
        (_, n) => format!("{n} proofs are pending"),
    });
    lines.join("\n") + "\n"
}

fn refused(error: StampingError, json: bool) -> Result<u8, OpenHomeError> {
    match error {
        StampingError::Home(error) => Err(error),
        other => Ok(could_not(&other.to_string(), json)),
    }
}

/// One line on stamping; none when there was nothing to stamp.
pub fn stamping_words(done: &StampResult) -> Option<String> {
    let accepted: Vec<&str> = done.accepted().collect();
    let heads = |n: usize| {
        if n == 1 {
            "1 tree head".to_owned()
        } else {
            format!("{n} tree heads")
        }
    };
    if !done.stamped.is_empty() {
        let left = if done.left == 0 {
            String::new()
        } else {
            format!("; {} still without a proof", heads(done.left))
        };
        return Some(format!(
            "stamped {} at {}; pending until a Bitcoin block has it, some hours: gently audit upgrade{left}",
            heads(done.stamped.len()),
            accepted.join(", ")
        ));
    }
    (done.left > 0).then(|| {
        let why = done.faults().next().map(|fault| format!(" ({})", in_short(fault))).unwrap_or_default();
        let taken = match accepted.len() {
            0 => "none".to_owned(),
            n => n.to_string(),
        };
        let must = match accepted.len() {
            0 => String::new(),
            _ => format!(", and {} must", done.quorum),
        };
        format!(
            "not dated yet: {taken} of {} calendars, which date it, took it{must}{why}; the next close tries again, or: \
             gently audit stamp",
            done.answers.len(),
        )
    })
}

/// Lines on what became of proofs that were promised.
pub fn upgrading_words(done: &UpgradeResult) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(newest) = done.completed.last() {
        let n = done.completed.len();
        let proofs = if n == 1 {
            "1 proof is".to_owned()
        } else {
            format!("{n} proofs are")
        };
        lines.push(format!(
            "{proofs} complete: the tree head of commit {} was there before block {}",
            newest.head.commit, newest.height
        ));
    }
    lines.extend(done.words.iter().cloned());
    if let Some(oldest) = done.late.first() {
        let more = with_more(done.late.len() - 1);
        lines.push(format!(
            "pending for more than 48 hours: the proof on commit {}{more}; calendars take some hours. A later proof covers \
             the same lines",
            oldest.commit
        ));
    }
    lines
}

/// One line on calendars that did not answer when they were asked for what is pending.
pub fn unreached_words(done: &UpgradeResult) -> Option<String> {
    let why: Vec<String> = done.unreached.iter().map(in_short).collect();
    (!why.is_empty()).then(|| {
        format!(
            "pending as before: {}; asked again at the next close, or: gently audit upgrade",
            why.join(", ")
        )
    })
}
