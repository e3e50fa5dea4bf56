//! Artifacts that disagree: both are shown and marked, none is resolved by inference (AEGIS 6.4).

use std::collections::BTreeMap;

use crate::record::ledger::bundle::OpenItem;
use crate::record::ledger::correction::correction_parts;
use crate::record::ledger::item::same_claim;
use crate::record::ledger::prompt::CORRECTION;

use super::candidate::Candidate;

/// Artifacts in force on one subject that do not say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    /// What it is about.
    pub subject: String,
    /// Who takes part, by id.
    pub ids: Vec<String>,
}

impl Dispute {
    /// `conflict:` and the ids.
    pub fn id(&self) -> String {
        format!("conflict:{}", self.ids.join("+"))
    }

    /// How the model sees it.
    pub fn open_item(&self) -> OpenItem {
        OpenItem {
            id: self.id(),
            issue: format!(
                "{} disagree on '{}'; all are shown, none is resolved",
                self.ids.join(" and "),
                self.subject
            ),
            status: "conflict".to_owned(),
        }
    }
}

/// What an item claims: of a correction its text without what it rejects.
pub fn claim_of<'a>(id: &str, text: &'a str) -> &'a str {
    match id.split_once(':') {
        Some((CORRECTION, _)) => correction_parts(text).0,
        _ => text,
    }
}

/// The ids of a list of texts on one subject if they don't all say the same; all of them, since
/// none is preferred.
pub fn disagreeing<'a>(texts: &[(&'a str, &str)]) -> Vec<&'a str> {
    let first = texts.first().map_or("", |(_, text)| text);
    if texts.iter().all(|(_, text)| same_claim(first, text)) {
        return Vec::new();
    }
    let mut ids: Vec<&str> = texts.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The disputes among candidates, by subject.
pub fn disputes(candidates: &[&Candidate]) -> Vec<Dispute> {
    let mut by_subject: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for candidate in candidates.iter().filter(|candidate| candidate.counts) {
        if let Some(subject) = &candidate.subject {
            let claim = claim_of(&candidate.id, &candidate.text);
            by_subject
                .entry(subject)
                .or_default()
                .push((&candidate.id, claim));
        }
    }
    by_subject
        .into_iter()
        .map(|(subject, texts)| (subject, disagreeing(&texts)))
        .filter(|(_, ids)| ids.len() > 1)
        .map(|(subject, ids)| Dispute {
            subject: subject.to_owned(),
            ids: ids.into_iter().map(str::to_owned).collect(),
        })
        .collect()
}

/// Whether an artifact takes part in any.
pub fn is_disputed(disputes: &[Dispute], id: &str) -> bool {
    disputes
        .iter()
        .any(|dispute| dispute.ids.iter().any(|known| known == id))
}

/// The risk flags of an artifact: one for each that it disagrees with.
pub fn flags(disputes: &[Dispute], id: &str) -> Vec<String> {
    let of = disputes
        .iter()
        .filter(|dispute| dispute.ids.iter().any(|known| known == id));
    of.flat_map(|dispute| &dispute.ids)
        .filter(|other| *other != id)
        .map(|other| format!("conflict:{other}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_disagrees() {
        for (texts, expected) in [
            (vec![], vec![]),
            (vec![("a", "x")], vec![]),
            (vec![("a", "Port 80."), ("b", "port  80")], vec![]),
            (vec![("b", "Port 80."), ("a", "Port 81.")], vec!["a", "b"]),
            (
                vec![("a", "x"), ("b", "x"), ("c", "y")],
                vec!["a", "b", "c"],
            ),
            (vec![("a", "x"), ("a", "x")], vec![]),
        ] {
            assert_eq!(disagreeing(&texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_dispute_is_marked_on_each_side() {
        let dispute = Dispute {
            subject: "port".into(),
            ids: vec!["ledger:1".into(), "ledger:2".into()],
        };
        assert_eq!(dispute.id(), "conflict:ledger:1+ledger:2");
        assert_eq!(dispute.open_item().status, "conflict");
        let all = [dispute];
        assert_eq!(flags(&all, "ledger:1"), ["conflict:ledger:2"]);
        assert_eq!(flags(&all, "ledger:3"), Vec::<String>::new());
        assert!(is_disputed(&all, "ledger:2") && !is_disputed(&all, "ledger:3"));
    }
}
