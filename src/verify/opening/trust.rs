//! Whom whoever checks an opened text believes: pinned keys, and the witnesses of a policy.

use std::collections::BTreeSet;

use crate::record::entry::Line;
use crate::record::note::CosignedNote;
use crate::record::policy::Policy;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::super::report::{Answer, Verdict, counted};
use super::super::witnessed::{FORGED, reached_by};
use super::{About, Check};

pub(super) fn signed_by(key: &PublicKey, pinned: Option<&[PublicKey]>) -> Verdict {
    match pinned {
        Some(_) => Verdict::new(Answer::Yes, format!("the pinned {key}")),
        None => Verdict::new(Answer::NotChecked, format!("unpinned: {key}; pin it with --signer")),
    }
}

impl Check<'_> {
    /// What witnesses say, and when the quorum was reached.
    ///
    /// A line that claims to be of a witness of the policy and is not signed by its key makes *cosigned by* *no*: then
    /// nothing in the note counts. A cosignature from long before the opened line counts for no time.
    pub(super) fn cosigned(
        &mut self,
        head: Option<&(u64, CosignedNote)>,
        policy: Option<&Policy>,
        line: Option<&Line>,
    ) -> (Verdict, Option<Seconds>) {
        let not_checked = |words: String| (Verdict::new(Answer::NotChecked, words), None);
        let Some((_, note)) = head else { return not_checked("no tree head can be read".to_owned()) };
        let Some(policy) = policy.filter(|policy| policy.asks_somebody()) else {
            let others = u64::try_from(note.others.len()).unwrap_or(u64::MAX);
            let words = format!("{} in the file; name the witnesses with --policy", counted(others, "cosignature"));
            return not_checked(words);
        };
        if self.count(About::TreeHead) > 0 || !policy.knows(&note.head) {
            let words = "the policy is about another log, or the tree head does not hold";
            return (Verdict::new(Answer::No, words), None);
        }
        let mut seen: Vec<(&str, u64)> = Vec::new();
        for (witness, time) in policy.cosigners(note) {
            match time {
                Some(time) => seen.push((&witness.name, time)),
                None => {
                    let expected = format!("a cosignature by the key of {}", witness.key.name);
                    self.find(About::CosignedBy, "head", expected, FORGED);
                }
            }
        }
        if self.count(About::CosignedBy) > 0 {
            return (Verdict::new(Answer::No, FORGED), None);
        }
        let names: BTreeSet<&str> = seen.iter().map(|(name, _)| *name).collect();
        let listed = names.iter().copied().collect::<Vec<_>>().join(", ");
        if !policy.is_reached_by(&names) {
            let by = if listed.is_empty() { "nobody of the policy".to_owned() } else { listed };
            return (Verdict::new(Answer::No, format!("the quorum is not reached: cosigned by {by}")), None);
        }
        let from = line.map_or(Seconds::ZERO, |line| line.time);
        (Verdict::new(Answer::Yes, format!("the policy's quorum: {listed}")), reached_by(policy, &seen, from))
    }
}
