//! Whom whoever checks an opened text believes: pinned keys, and the witnesses of a policy.

use std::collections::BTreeSet;

use crate::record::note::{CosignedNote, VerifierKey};
use crate::record::policy::Policy;
use crate::record::signature::PublicKey;

use super::super::report::{Answer, Verdict, counted};

pub(super) fn signed_by(key: &PublicKey, pinned: Option<&[PublicKey]>) -> Verdict {
    match pinned {
        Some(_) => Verdict::new(Answer::Yes, format!("the pinned {key}")),
        None => Verdict::new(Answer::NotChecked, format!("unpinned: {key}; pin it with --signer")),
    }
}

/// What witnesses say, and when the quorum was reached.
pub(super) fn cosigned(
    head: Option<&(u64, CosignedNote)>,
    policy: Option<&Policy>,
    head_holds: bool,
) -> (Verdict, Option<u64>) {
    let not_checked = |words: String| (Verdict::new(Answer::NotChecked, words), None);
    let Some((_, note)) = head else { return not_checked("no tree head can be read".to_owned()) };
    let Some(policy) = policy.filter(|policy| policy.asks_somebody()) else {
        let others = u64::try_from(note.others.len()).unwrap_or(u64::MAX);
        return not_checked(format!(
            "{} in the file; name the witnesses with --policy",
            counted(others, "cosignature")
        ));
    };
    let known = |log: &VerifierKey| log.name == note.head.origin && note.head.verify(&log.key);
    if !head_holds || !(policy.logs().is_empty() || policy.logs().iter().any(known)) {
        return (Verdict::new(Answer::No, "the policy is about another log, or the tree head does not hold"), None);
    }
    let mut seen: Vec<(u64, &str)> = policy
        .witnesses()
        .iter()
        .filter_map(|witness| Some((note.cosigned_at(&witness.key)?, witness.name.as_str())))
        .collect();
    seen.sort_unstable();
    let names: BTreeSet<&str> = seen.iter().map(|(_, name)| *name).collect();
    let listed = names.iter().copied().collect::<Vec<_>>().join(", ");
    if !policy.is_reached_by(&names) {
        let by = if listed.is_empty() { "nobody of the policy".to_owned() } else { listed };
        return (Verdict::new(Answer::No, format!("the quorum is not reached: cosigned by {by}")), None);
    }
    // When the first few are enough, the later ones say nothing more.
    let mut enough = BTreeSet::new();
    let reached = seen.iter().find(|(_, name)| {
        enough.insert(*name);
        policy.is_reached_by(&enough)
    });
    (Verdict::new(Answer::Yes, format!("the policy's quorum: {listed}")), reached.map(|(time, _)| *time))
}
