//! From what was found to what is put before the model: gates, scores, rings, caps, disputes (AEGIS 6.2 to 6.5).

use serde::Serialize;

use crate::govern::kernel::{Kernel, RingCaps};
use crate::govern::sanitize::Clean;
use crate::record::bundle::{ArtifactRef, Exclusion, Fact, Intent, Moment, OpenItem};
use crate::record::canon;
use crate::record::time::Seconds;

use super::candidate::{Candidate, Class, Recalled};
use super::compile::tokens;
use super::conflict::{self, Dispute};
use super::gates::{Kept, gate};
use super::prompt::PriorTurn;
use super::score::{Parts, score};
use super::turns;
use super::words::words;

/// Why something of ring 2 is there.
pub const FOR_A_CONFLICT: &str = "ring2.conflict";

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Facts, notes and decisions, as the bundle has them.
    pub facts: Vec<Fact>,
    /// Open drift, and disputes.
    pub open_items: Vec<OpenItem>,
    /// The intent of a person.
    pub intent: Vec<Intent>,
    /// Earlier turns, oldest first.
    pub turns: Vec<PriorTurn>,
    /// One for each of them, in the order in which they are put.
    pub refs: Vec<ArtifactRef>,
    /// What was kept out.
    pub exclusions: Vec<Exclusion>,
}

/// What a ring still has room for.
pub(super) struct Room {
    items: u64,
    tokens: u64,
}

impl Room {
    pub(super) fn of(caps: RingCaps) -> Room {
        Room { items: caps.items, tokens: caps.tokens }
    }

    /// Takes room for something that is printed in so many bytes; why not, if there is none.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Kept> {
        let needed = tokens(bytes);
        if self.items == 0 {
            return Err(Kept::RingCapItems);
        }
        if needed > self.tokens {
            return Err(Kept::RingCapTokens);
        }
        (self.items, self.tokens) = (self.items - 1, self.tokens - needed);
        Ok(())
    }
}

/// One artifact that passed the gates.
struct Eligible<'a> {
    candidate: &'a Candidate,
    parts: Parts,
}

/// Chooses; a function of its arguments and nothing else.
pub fn select(kernel: &Kernel, user_input: &Clean, recalled: &Recalled, now: Seconds) -> Selection {
    let question = words(user_input.as_str());
    let mut chosen = Selection::default();
    let mut pass = |list: &'_ [Candidate]| -> Vec<usize> {
        let mut passed = Vec::new();
        for (at, candidate) in list.iter().enumerate() {
            match gate(kernel, candidate) {
                Some(kept) => chosen.exclude(&candidate.id, kept),
                None => passed.push(at),
            }
        }
        passed
    };
    let (found, rivals) = (pass(&recalled.found), pass(&recalled.rivals));
    let found: Vec<&Candidate> = found.into_iter().filter_map(|at| recalled.found.get(at)).collect();
    let rivals: Vec<&Candidate> = rivals.into_iter().filter_map(|at| recalled.rivals.get(at)).collect();
    let all: Vec<&Candidate> = found.iter().chain(&rivals).copied().collect();
    let disputes = conflict::disputes(&all);
    let scored = |candidate| Eligible {
        candidate,
        parts: score(candidate, &question, now, conflict::is_disputed(&disputes, &candidate.id)),
    };
    let mut ring1: Vec<Eligible<'_>> = found.into_iter().map(scored).collect();
    ring1.sort_by(|a, b| order(a).cmp(&order(b)));
    let mut room = Room::of(kernel.rules().rings.ring1);
    let mut left = Vec::new();
    let mut taken: Vec<&str> = Vec::new();
    for one in ring1 {
        match room.take(printed(one.candidate)) {
            Ok(()) => {
                taken.push(&one.candidate.id);
                chosen.put(&one, "ring1", &disputes, now);
            }
            Err(kept) => left.push((one, kept)),
        }
    }
    let seen: Vec<&Dispute> = disputes.iter().filter(|d| d.ids.iter().any(|id| taken.contains(&id.as_str()))).collect();
    let mut deep = Room::of(kernel.rules().rings.ring2);
    left.extend(rivals.into_iter().map(|candidate| (scored(candidate), Kept::RingCapItems)));
    for (one, kept) in left {
        let id = &one.candidate.id;
        let kept = match seen.iter().any(|dispute| dispute.ids.contains(id)) {
            true => deep.take(printed(one.candidate)).err(),
            // A rival of something that is not shown was not looked for by the question.
            false if recalled.rivals.iter().any(|rival| rival.id == *id) => continue,
            false => Some(kept),
        };
        match kept {
            None => chosen.put(&one, FOR_A_CONFLICT, &disputes, now),
            Some(kept) => chosen.exclude(id, kept),
        }
    }
    chosen.open_items.extend(seen.into_iter().map(Dispute::open_item));
    turns::choose(kernel, &question, recalled, now, deep, &mut chosen);
    chosen
}

/// Intents first, then the highest score; of two alike the one with the smaller id.
fn order<'a>(one: &Eligible<'a>) -> (bool, std::cmp::Reverse<i64>, &'a str) {
    (one.candidate.class != Class::Intent, std::cmp::Reverse(one.parts.total()), &one.candidate.id)
}

fn length(entry: &impl Serialize) -> usize {
    // What can't be printed takes no room, and is refused when the bundle is.
    canon::print(entry).map_or(0, |text| text.len())
}

/// Bytes of a candidate inside the bundle.
fn printed(candidate: &Candidate) -> usize {
    match candidate.class {
        Class::Intent => length(&intent(candidate)),
        Class::Drift => length(&open_item(candidate)),
        _ => length(&fact(candidate)),
    }
}

fn fact(candidate: &Candidate) -> Fact {
    Fact {
        id: candidate.id.clone(),
        claim: candidate.text.clone(),
        source: candidate.source.clone().unwrap_or_default(),
        observed_at: Moment(candidate.observed_at),
        confidence: candidate.confidence.name().to_owned(),
    }
}

fn open_item(candidate: &Candidate) -> OpenItem {
    OpenItem { id: candidate.id.clone(), issue: candidate.text.clone(), status: "open".to_owned() }
}

fn intent(candidate: &Candidate) -> Intent {
    Intent { intent: candidate.text.clone(), source: "user".to_owned() }
}

impl Selection {
    pub(super) fn exclude(&mut self, artifact: &str, kept: Kept) {
        self.exclusions.push(Exclusion { artifact: artifact.to_owned(), reason: kept.code().to_owned() });
    }

    fn put(&mut self, one: &Eligible<'_>, why: &str, disputes: &[Dispute], now: Seconds) {
        let candidate = one.candidate;
        match candidate.class {
            Class::Intent => self.intent.push(intent(candidate)),
            Class::Drift => self.open_items.push(open_item(candidate)),
            Class::Fact | Class::Note | Class::Decision => self.facts.push(fact(candidate)),
        }
        self.refs.push(ArtifactRef {
            artifact_type: candidate.class.artifact_type().to_owned(),
            artifact_id: candidate.id.clone(),
            artifact_hash: Some(candidate.hash),
            included_reason: one.parts.code(why),
            observed_at: Some(candidate.observed_at),
            freshness_s: Some(now.since(candidate.observed_at)),
            risk_flags: conflict::flags(disputes, &candidate.id),
        });
    }
}
