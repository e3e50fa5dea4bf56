//! The witnesses that whoever checks an opened text believes.

use std::collections::BTreeSet;

use crate::record::time::Seconds;
use crate::record::tree::witness_policy::WitnessPolicy;

use super::super::report::{CheckAnswer, CheckVerdict, counted};
use super::time::StartBlock;
use super::{OpeningCheck, OpeningQuestion, OpeningSubject};
use crate::verify::time::witnesses::{FORGED, reached_by};

impl<'a> OpeningCheck<'a> {
    /// What witnesses say, and when the quorum was reached.
    ///
    /// A line that claims to be of a witness of the policy and is not signed by its key makes
    /// *cosigned by* *no*: then nothing in the note counts. A cosignature from long before an
    /// opened line, or from before the block that the session started on, counts for no time.
    pub(super) fn cosigned(
        &mut self,
        read: &OpeningSubject<'a>,
        start: Option<&StartBlock>,
    ) -> (CheckVerdict, Option<Seconds>) {
        let not_checked = |words: String| (CheckVerdict::new(CheckAnswer::NotChecked, words), None);
        let Some(note) = &read.head else {
            return not_checked("no tree head can be read".to_owned());
        };
        let Some(policy) = self.trust.policy.filter(|policy| policy.asks_somebody()) else {
            let others = u64::try_from(note.others.len()).unwrap_or(u64::MAX);
            let words = format!(
                "{} in the file; name the witnesses with --policy",
                counted(others, "cosignature")
            );
            return not_checked(words);
        };
        if self.count(OpeningQuestion::TreeHead) > 0 || !policy.knows(&note.head) {
            return not_checked(
                "the policy is about another log, or the tree head does not hold".to_owned(),
            );
        }
        let mut seen: Vec<(&str, u64)> = Vec::new();
        for (witness, time) in policy.cosigners(note) {
            match time {
                Some(time) => seen.push((&witness.name, time)),
                None => {
                    let expected = format!("a cosignature by the key of {}", witness.key.name);
                    self.find(OpeningQuestion::CosignedBy, "head", expected, FORGED);
                }
            }
        }
        if self.count(OpeningQuestion::CosignedBy) > 0 {
            return (CheckVerdict::new(CheckAnswer::No, FORGED), None);
        }
        quorum(policy, &seen, self.earliest(read, start))
    }

    /// Before which times no cosignature is believed: that of the newest opened line, and that of
    /// the start's block.
    fn earliest(
        &self,
        read: &OpeningSubject<'a>,
        start: Option<&StartBlock>,
    ) -> (Seconds, Seconds) {
        let line = read.opened_lines().map(|shown| shown.line.time).max();
        (
            line.unwrap_or(Seconds::ZERO),
            start.map_or(Seconds::ZERO, |start| start.time),
        )
    }
}

fn quorum(
    policy: &WitnessPolicy,
    seen: &[(&str, u64)],
    (line, start): (Seconds, Seconds),
) -> (CheckVerdict, Option<Seconds>) {
    let names: BTreeSet<&str> = seen.iter().map(|(name, _)| *name).collect();
    let listed = names.iter().copied().collect::<Vec<_>>().join(", ");
    if !policy.is_reached_by(&names) {
        let by = if listed.is_empty() {
            "nobody of the policy".to_owned()
        } else {
            listed
        };
        return (
            CheckVerdict::new(
                CheckAnswer::NotChecked,
                format!("the quorum is not reached: cosigned by {by}"),
            ),
            None,
        );
    }
    let by = reached_by(policy, seen, line).filter(|time| *time >= start);
    (
        CheckVerdict::new(CheckAnswer::Yes, format!("the policy's quorum: {listed}")),
        by,
    )
}
