//! From what was found to what is put before the model: gates, scores, rings, caps, disputes (AEGIS
//! 6.2 to 6.5).

use std::cmp::Reverse;

use serde::Serialize;

use crate::govern::kernel::{Kernel, RingCaps};
use crate::govern::policy::Topics;
use crate::govern::sanitize::Clean;
use crate::record::canon;
use crate::record::ledger::bundle::{ArtifactRef, BundleIntent, Exclusion, Fact, Moment, OpenItem};
use crate::record::ledger::prompt::{DEEP, PriorTurn};
use crate::record::time::Seconds;

use super::candidate::{Candidate, CandidateClass, RecallResult};
use super::compile::tokens;
use super::conflict::{self, Dispute};
use super::gates::{ExclusionReason, gate};
use super::score::{ScoreParts, score};
use super::turns;
use super::words::words;

/// Why something of ring 2 is there.
pub const FOR_A_CONFLICT: &str = "ring2.conflict";

/// The risk flag of what came from a file.
pub const UNVERIFIED: &str = "unverified";

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Facts, notes and decisions, as the bundle has them.
    pub facts: Vec<Fact>,
    /// Open drift, and disputes.
    pub open_items: Vec<OpenItem>,
    /// The intent of a person.
    pub intent: Vec<BundleIntent>,
    /// Turns of deep history, oldest first.
    pub turns: Vec<PriorTurn>,
    /// Turns that were declared, by `event_index`.
    pub declared: Vec<PriorTurn>,
    /// One for everything that is put, in its order: items, declared turns, deep history.
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
        Room {
            items: caps.items,
            tokens: caps.tokens,
        }
    }

    /// Takes room for something that is printed in so many bytes; why not, if there is none.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), ExclusionReason> {
        self.take_all(&[bytes])
    }

    /// Takes room for all of these, or for none of them.
    pub(super) fn take_all(&mut self, each: &[usize]) -> Result<(), ExclusionReason> {
        let items = u64::try_from(each.len()).unwrap_or(u64::MAX);
        let needed = each
            .iter()
            .fold(0_u64, |sum, bytes| sum.saturating_add(tokens(*bytes)));
        if items > self.items {
            return Err(ExclusionReason::RingCapItems);
        }
        if needed > self.tokens {
            return Err(ExclusionReason::RingCapTokens);
        }
        (self.items, self.tokens) = (self.items - items, self.tokens - needed);
        Ok(())
    }
}

/// One artifact that passed the gates.
struct Eligible<'a> {
    candidate: &'a Candidate,
    parts: ScoreParts,
}

/// Chooses; a function of its arguments and nothing else.
pub fn select(
    kernel: &Kernel,
    user_input: &Clean,
    recalled: &RecallResult,
    now: Seconds,
) -> Selection {
    let question = words(user_input.as_str());
    let mut chosen = Selection::default();
    let found = chosen.passing(kernel, &recalled.found);
    let rivals = chosen.passing(kernel, &recalled.rivals);
    let disputes = conflict::disputes(&found.iter().chain(&rivals).copied().collect::<Vec<_>>());
    let scored = |candidate: &'_ Candidate| {
        score(
            candidate,
            &question,
            now,
            conflict::is_disputed(&disputes, &candidate.id),
        )
    };
    let mut ring1: Vec<Eligible<'_>> = found
        .into_iter()
        .map(|candidate| Eligible {
            candidate,
            parts: scored(candidate),
        })
        .collect();
    ring1.sort_by(|a, b| order(a).cmp(&order(b)));
    let left = chosen.fill(ring1, Room::of(kernel.rules().rings.ring1), &disputes, now);
    let shown: Vec<&Dispute> = disputes
        .iter()
        .filter(|dispute| chosen.shows_one_of(&dispute.ids))
        .collect();
    let needed = |id: &String| shown.iter().any(|dispute| dispute.ids.contains(id));
    let mut deep = Room::of(kernel.rules().rings.ring2);
    for (one, kept) in left {
        let kept = if needed(&one.candidate.id) {
            deep.take(printed(one.candidate)).err()
        } else {
            Some(kept)
        };
        match kept {
            None => chosen.put(&one, FOR_A_CONFLICT, &disputes, now),
            Some(kept) => chosen.exclude(&one.candidate.id, kept),
        }
    }
    // A rival of nothing that is shown was not looked for by the question.
    for candidate in rivals.into_iter().filter(|rival| needed(&rival.id)) {
        match deep.take(printed(candidate)) {
            Ok(()) => chosen.put(
                &Eligible {
                    candidate,
                    parts: scored(candidate),
                },
                FOR_A_CONFLICT,
                &disputes,
                now,
            ),
            Err(kept) => chosen.exclude(&candidate.id, kept),
        }
    }
    chosen
        .open_items
        .extend(shown.into_iter().map(Dispute::open_item));
    let topics = Topics::of(kernel.policy());
    turns::choose((&question, &topics), recalled, now, &mut deep, &mut chosen);
    let imported = chosen.passing(kernel, &recalled.imported);
    for candidate in imported {
        let one = Eligible {
            candidate,
            parts: scored(candidate),
        };
        // Policy does not see what others said: what is about one of its topics is kept out.
        let kept = match topics.forbid(&candidate.text) {
            true => Some(ExclusionReason::Forbidden),
            false => deep.take(printed(candidate)).err(),
        };
        match kept {
            None => chosen.put(&one, DEEP, &disputes, now),
            Some(kept) => chosen.exclude(&candidate.id, kept),
        }
    }
    chosen
}

/// Intents first, then the highest score; of two alike the newer. Open drift comes last: it tells
/// of answers, and what a person put on record, which policy sees as it is sent, must not give way
/// to it.
fn order<'a>(one: &Eligible<'a>) -> (u8, Reverse<(i64, Seconds, &'a str)>) {
    let Candidate {
        class,
        observed_at,
        id,
        ..
    } = one.candidate;
    let group = match class {
        CandidateClass::Intent => 0,
        CandidateClass::Fact
        | CandidateClass::Note
        | CandidateClass::Decision
        | CandidateClass::Correction
        | CandidateClass::Imported => 1,
        CandidateClass::Drift => 2,
    };
    (group, Reverse((one.parts.total(), *observed_at, id)))
}

fn length(entry: &impl Serialize) -> usize {
    // What can't be printed takes no room, and is refused when the bundle is.
    canon::print(entry).map_or(0, |text| text.len())
}

/// Bytes of a candidate inside the bundle.
fn printed(candidate: &Candidate) -> usize {
    match candidate.class {
        CandidateClass::Intent => length(&intent(candidate)),
        CandidateClass::Drift => length(&open_item(candidate)),
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
    OpenItem {
        id: candidate.id.clone(),
        issue: candidate.text.clone(),
        status: "open".to_owned(),
    }
}

fn intent(candidate: &Candidate) -> BundleIntent {
    BundleIntent {
        intent: candidate.text.clone(),
        source: "user".to_owned(),
    }
}

impl Selection {
    /// What passes the gates; what fails one is named.
    fn passing<'a>(&mut self, kernel: &Kernel, list: &'a [Candidate]) -> Vec<&'a Candidate> {
        let mut passed = Vec::new();
        for candidate in list {
            match gate(kernel, candidate) {
                Some(kept) => self.exclude(&candidate.id, kept),
                None => passed.push(candidate),
            }
        }
        passed
    }

    /// Puts what there is room for, in the order given; what there is none for comes back.
    fn fill<'a>(
        &mut self,
        ranked: Vec<Eligible<'a>>,
        mut room: Room,
        disputes: &[Dispute],
        now: Seconds,
    ) -> Vec<(Eligible<'a>, ExclusionReason)> {
        let mut left = Vec::new();
        for one in ranked {
            match room.take(printed(one.candidate)) {
                Ok(()) => self.put(&one, "ring1", disputes, now),
                Err(kept) => left.push((one, kept)),
            }
        }
        left
    }

    fn shows_one_of(&self, ids: &[String]) -> bool {
        self.refs
            .iter()
            .any(|shown| ids.contains(&shown.artifact_id))
    }

    pub(super) fn exclude(&mut self, artifact: &str, kept: ExclusionReason) {
        self.exclusions.push(Exclusion {
            artifact: artifact.to_owned(),
            reason: kept.code().to_owned(),
        });
    }

    fn put(&mut self, one: &Eligible<'_>, why: &str, disputes: &[Dispute], now: Seconds) {
        let candidate = one.candidate;
        match candidate.class {
            CandidateClass::Intent => self.intent.push(intent(candidate)),
            CandidateClass::Drift => self.open_items.push(open_item(candidate)),
            CandidateClass::Fact
            | CandidateClass::Note
            | CandidateClass::Decision
            | CandidateClass::Correction
            | CandidateClass::Imported => self.facts.push(fact(candidate)),
        }
        self.refs.push(ArtifactRef {
            artifact_type: candidate.class.artifact_type().to_owned(),
            artifact_id: candidate.id.clone(),
            artifact_hash: Some(candidate.hash),
            included_reason: one.parts.code(why),
            observed_at: Some(candidate.observed_at),
            freshness_s: Some(now.since(candidate.observed_at)),
            risk_flags: match candidate.class {
                CandidateClass::Imported => vec![UNVERIFIED.to_owned()],
                _ => conflict::flags(disputes, &candidate.id),
            },
        });
    }
}
