//! `gently audit stamp` and `gently audit upgrade`; and what is said of stamping when a session
//! closes.

use serde_json::{Value, json};

use crate::anchor::agree::in_short;
use crate::anchor::calendar::Calendar;
use crate::recorder::Paths;
use crate::stamp::{AT_LEISURE, AtClose, CommittedTreeHead, StampResult, Stamper, UpgradeResult};
use crate::store::sqlite::Sqlite;

use super::heads::{HeadReport, main_tip};
use super::wire::{self, OpenHome, OpenHomeError};
use super::{COULD_NOT, FINE, clean, could_not, print, say};

/// Everything that stamping needs, put together.
struct StampSetup {
    calendars: Vec<Calendar>,
    paths: Paths,
}

impl StampSetup {
    fn of(opened: &OpenHome) -> Result<Self, OpenHomeError> {
        let addresses = opened.config.calendars();
        let calendars = addresses
            .iter()
            .map(|address| Calendar::new(address))
            .collect::<Result<_, _>>()?;
        Ok(StampSetup {
            calendars,
            paths: opened.home.paths(),
        })
    }

    fn stamper<'a>(&'a self, opened: &'a OpenHome) -> Stamper<'a> {
        Stamper {
            paths: &self.paths,
            store: &opened.store,
            calendars: &self.calendars,
            quorum: opened.config.ots.quorum,
            network: opened.genesis.network,
            sources: &opened.sources,
            clock: &wire::clock_or_epoch,
        }
    }

    /// Why nobody can be asked, if so.
    fn hopeless(&self, opened: &OpenHome) -> Option<String> {
        let (here, quorum) = (self.calendars.len(), opened.config.ots.quorum);
        if here == 0 {
            return Some(
                "no calendar is to be asked: ots.calendars is empty, or anchor.mode is off"
                    .to_owned(),
            );
        }
        (here < quorum).then(|| {
            format!(
                "ots.quorum is {quorum}, ots.calendars are {here}: no head can be stamped. Add calendars, or: gently \
                 config set ots.quorum {here}"
            )
        })
    }
}

/// Stamps every tree head that has no proof; what is behind the newest one gets a checkpoint first.
pub async fn stamp(json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(wire::existing_home()?)?;
    opened.authorize().await?;
    let parts = StampSetup::of(&opened)?;
    if let Some(why) = parts.hopeless(&opened) {
        return Ok(could_not(&why, json));
    }
    opened.recorder.checkpoint(wire::clock()?).await?;
    let stamper = parts.stamper(&opened);
    let mut stamped = Vec::new();
    let all = loop {
        let mut done = match stamper.stamp(AT_LEISURE).await {
            Ok(done) => done,
            Err(error) => return Ok(could_not(&error.to_string(), json)),
        };
        keep_answers(&opened, &done)
            .iter()
            .for_each(|line| say(line));
        let none_of_these = done.stamped.is_empty();
        stamped.append(&mut done.stamped);
        if none_of_these || done.left == 0 {
            break StampResult { stamped, ..done };
        }
    };
    let words = stamping_words(&all).unwrap_or_else(|| "every tree head has its proof".to_owned());
    let told = if json {
        format!("{}\n", stamping_facts(&all))
    } else {
        format!("{words}\n")
    };
    let printed = print(&told);
    Ok(if all.left == 0 { FINE } else { COULD_NOT }.max(printed))
}

/// Asks calendars what became of every pending proof.
pub async fn upgrade(json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(wire::existing_home()?)?;
    let parts = StampSetup::of(&opened)?;
    let done = match parts.stamper(&opened).upgrade(AT_LEISURE, None).await {
        Ok(done) => done,
        Err(error) => return Ok(could_not(&error.to_string(), json)),
    };
    let mut text = format!("{}\n", upgrading_facts(&done));
    if !json {
        let mut lines = upgrading_words(&done);
        lines.extend(unreached_words(&done));
        lines.push(match (done.completed.len(), done.pending.len()) {
            (_, 0) => "no proof is pending".to_owned(),
            (_, 1) => "1 proof is pending".to_owned(),
            (_, n) => format!("{n} proofs are pending"),
        });
        text = lines.iter().map(|line| format!("{line}\n")).collect();
    }
    Ok(print(&text))
}

/// Stamps and completes within two seconds, if `main` is not where it was.
///
/// Whatever goes wrong costs a line: the close is on record.
pub async fn after_close(opened: &OpenHome, before: Option<u64>) -> HeadReport {
    if main_tip(opened).is_ok_and(|now| now == before) {
        return HeadReport::default();
    }
    let not_stamped = |why: &str| HeadReport::failed(format!("not stamped: {why}"), why);
    let parts = match StampSetup::of(opened) {
        Ok(parts) if parts.calendars.is_empty() => return HeadReport::default(),
        Ok(parts) => parts,
        Err(error) => return not_stamped(&error.to_string()),
    };
    if let Some(why) = parts.hopeless(opened) {
        return not_stamped(&why);
    }
    let Some(AtClose {
        stamping,
        upgrading,
    }) = parts.stamper(opened).at_close().await
    else {
        return HeadReport::default();
    };
    // Who takes no new head is named there, once for everything.
    let is_told = stamping
        .as_ref()
        .is_ok_and(|done| done.stamped.is_empty() && done.left > 0);
    let stamping = match stamping {
        Ok(done) => {
            let lines = stamping_words(&done)
                .into_iter()
                .chain(keep_answers(opened, &done))
                .collect();
            HeadReport {
                lines,
                facts: stamping_facts(&done),
            }
        }
        Err(error) => not_stamped(&error.to_string()),
    };
    let upgrading = match upgrading {
        Ok(done) => {
            let unreached = unreached_words(&done).filter(|_| !is_told);
            let lines = upgrading_words(&done)
                .into_iter()
                .chain(unreached)
                .collect();
            HeadReport {
                lines,
                facts: upgrading_facts(&done),
            }
        }
        Err(error) => not_stamped(&error.to_string()),
    };
    let facts = json!({"stamp": stamping.facts, "upgrade": upgrading.facts});
    HeadReport {
        lines: [stamping.lines, upgrading.lines].concat(),
        facts,
    }
}

/// Keeps for `doctor` what each calendar said; a line when that can't be done.
fn keep_answers(opened: &OpenHome, done: &StampResult) -> Option<String> {
    if done.answers.is_empty() {
        return None;
    }
    let said: Vec<(&str, Option<String>)> = done
        .answers
        .iter()
        .map(|(name, fault)| {
            (
                name.as_str(),
                fault.as_ref().map(|fault| clean(&fault.to_string())),
            )
        })
        .collect();
    let said: Vec<(&str, Option<&str>)> = said
        .iter()
        .map(|(name, said)| (*name, said.as_deref()))
        .collect();
    let kept = Sqlite::open(&opened.home.paths().database())
        .and_then(|mut store| store.put_calendar_answers(wire::clock_or_epoch(), &said));
    kept.err()
        .map(|error| format!("what the calendars said is not kept: {error}"))
}

/// One line on stamping; none when there was nothing to stamp.
fn stamping_words(done: &StampResult) -> Option<String> {
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
        format!(
            "not stamped: {} of {} calendars accepted, {} must{why}; {} tried again at the next close, or: gently audit \
             stamp",
            accepted.len(),
            done.answers.len(),
            done.quorum,
            heads(done.left),
        )
    })
}

fn upgrading_words(done: &UpgradeResult) -> Vec<String> {
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
        let n = done.late.len();
        let more = if n == 1 {
            String::new()
        } else {
            format!(" and {} more", n - 1)
        };
        lines.push(format!(
            "pending for more than 48 hours: the proof on commit {}{more}; calendars take some hours. A later proof covers \
             the same lines",
            oldest.commit
        ));
    }
    lines
}

/// One line on calendars that did not answer when they were asked for what is pending.
fn unreached_words(done: &UpgradeResult) -> Option<String> {
    let why: Vec<String> = done.unreached.iter().map(in_short).collect();
    (!why.is_empty()).then(|| {
        format!(
            "pending as before: {}; asked again at the next close, or: gently audit upgrade",
            why.join(", ")
        )
    })
}

fn head_facts(head: &CommittedTreeHead) -> Value {
    json!({"commit": head.commit.to_string(), "checkpoint": head.file.to_string()})
}

fn stamping_facts(done: &StampResult) -> Value {
    json!({
        "stamped": done.stamped.iter().map(head_facts).collect::<Vec<_>>(), "unstamped": done.left,
        "accepted": done.accepted().collect::<Vec<_>>(), "quorum": done.quorum,
        "faults": done.faults().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn upgrading_facts(done: &UpgradeResult) -> Value {
    let completed = done.completed.iter().map(|one| {
        let mut facts = head_facts(&one.head);
        facts["block"] = json!(one.height);
        facts
    });
    json!({
        "completed": completed.collect::<Vec<_>>(),
        "pending": done.pending.iter().map(head_facts).collect::<Vec<_>>(),
        "late": done.late.iter().map(head_facts).collect::<Vec<_>>(), "notes": done.words,
        "unreached": done.unreached.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
