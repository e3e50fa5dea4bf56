//! One history: tree heads that stand outside the log, and witnesses' cosignatures of them (format,
//! sections 10 and 12 step 5).
//!
//! A tree head outside is a note in `refs/notes/witness`, or one that somebody kept. Whoever signed
//! it (the ledger, or a witness of the policy) has seen the log up to there: it must be this log.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::NOTES_WITNESS;
use crate::record::ledger::documents::Genesis;
use crate::record::limits;
use crate::record::time::Seconds;
use crate::record::tree::note::CosignedNote;
use crate::record::tree::witness_policy::WitnessPolicy;

use crate::verify::ledger::history::{CommitChain, CommitNode, History};
use crate::verify::ledger::keys::KeyHistory;
use crate::verify::log::lines::Lines;
use crate::verify::report::{AuditQuestion, CheckAnswer, CheckVerdict, Findings, counted};

/// A witness's clock may be behind the ledger's by so many seconds: what the writer of a log allows
/// of its own.
const CLOCKS_APART: u64 = 3600;

/// What is there in place of a witness's cosignature.
pub(crate) const FORGED: &str = "a line in its name that its key did not sign";

/// A tree head that somebody kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideHead {
    /// What a finding calls it: a file, a commit of another copy.
    pub place: String,
    /// It, with the signatures of others.
    pub note: CosignedNote,
}

/// Tree heads of others, and what the log says at their sizes.
#[derive(Default)]
pub(crate) struct ForeignTreeHeads<'a> {
    pub policy: Option<&'a WitnessPolicy>,
    pub given: &'a [OutsideHead],
    /// Notes by the commit that they are on; none for one that is no cosigned note.
    notes: Vec<(Oid, Option<CosignedNote>)>,
    /// The largest tree head that the policy is content with, and by whom.
    covered: Option<(u64, Vec<String>)>,
    /// The largest tree head that witnesses had seen by a time that counts: how many lines, and
    /// when.
    pub timed: Option<(u64, Seconds)>,
    /// Whether there is a tree head at all.
    any: bool,
    /// Tree heads that could not be held against the log: its lines there were not read.
    unjudged: u64,
}

impl<'a> ForeignTreeHeads<'a> {
    /// What the caller brings along.
    pub fn new(policy: Option<&'a WitnessPolicy>, given: &'a [OutsideHead]) -> Self {
        ForeignTreeHeads {
            policy,
            given,
            ..ForeignTreeHeads::default()
        }
    }
}

/// What the log was at some of its sizes: root and time of the last line.
#[derive(Clone, Default)]
pub(crate) struct RootsBySize {
    pub wanted: BTreeSet<u64>,
    roots: BTreeMap<u64, (Hash32, Seconds)>,
}

impl RootsBySize {
    pub fn is_wanted(&self, size: u64) -> bool {
        self.wanted.contains(&size)
    }

    /// The root over so many lines, if it was kept.
    pub fn root(&self, size: u64) -> Option<Hash32> {
        self.roots.get(&size).map(|(root, _)| *root)
    }

    pub fn keep(&mut self, size: u64, root: Hash32, time: Seconds) {
        self.roots.insert(size, (root, time));
    }
}

impl ForeignTreeHeads<'_> {
    /// Reads the notes of witnesses; gives the sizes of the log that tree heads are about.
    ///
    /// Behind a saved position only those of the commits that are read. A notes tree that is none
    /// is reported where its objects are checked.
    pub fn read(
        &mut self,
        repository: &Repository,
        history: &History,
        is_saved: bool,
    ) -> BTreeSet<u64> {
        let on_main: BTreeSet<Oid> = history.on_main().map(|node| node.id).collect();
        let tip = history
            .notes
            .iter()
            .find(|(name, _)| name == NOTES_WITNESS)
            .map(|(_, tip)| *tip);
        // One note for each commit on `main`, where all of those are known.
        let most = if is_saved {
            limits::NOTE_OBJECTS
        } else {
            on_main.len()
        };
        let notes = tip
            .and_then(|tip| repository.notes_within(&tip, most).ok())
            .unwrap_or_default();
        for (commit, blob) in notes {
            if is_saved && !on_main.contains(&commit) {
                continue;
            }
            let Ok(bytes) = repository.blob(&blob) else {
                continue;
            };
            let kept = 2 * u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            repository
                .budget()
                .keep(|| format!("{NOTES_WITNESS}, object {blob}"), kept);
            let note = std::str::from_utf8(&bytes)
                .ok()
                .and_then(|text| CosignedNote::parse(text).ok());
            self.notes.push((commit, note));
        }
        let given = self.given.iter().map(|head| head.note.head.size);
        let noted = self
            .notes
            .iter()
            .filter_map(|(_, note)| Some(note.as_ref()?.head.size));
        given.chain(noted).collect()
    }

    /// Lines up to the largest tree head that the policy is content with.
    pub fn covered_lines(&self) -> u64 {
        self.covered.as_ref().map_or(0, |(size, _)| *size)
    }

    /// The answer to *unique* for a log of so many lines, when nothing speaks against it.
    pub fn verdict(&self, count: u64) -> CheckVerdict {
        let no = |reason: String| CheckVerdict::new(CheckAnswer::NotChecked, reason);
        let Some(policy) = self.policy else {
            return no("no witness policy was given: a second history would not show".to_owned());
        };
        if !policy.asks_somebody() {
            return no("the policy asks no witness: a second history would not show".to_owned());
        }
        if self.unjudged > 0 {
            let heads = counted(self.unjudged, "tree head");
            return no(format!(
                "{heads} outside could not be held against lines that were not read"
            ));
        }
        if !self.any {
            return no("there is no tree head yet that a witness could have cosigned".to_owned());
        }
        let Some((size, names)) = &self.covered else {
            return no(
                "no tree head here has the cosignatures that the policy asks for".to_owned(),
            );
        };
        let after = match count.saturating_sub(*size) {
            0 => String::new(),
            n => format!("; {} came after", counted(n, "line")),
        };
        let answer = if *size >= count {
            CheckAnswer::Yes
        } else {
            CheckAnswer::Partly
        };
        CheckVerdict::new(
            answer,
            format!(
                "through line {size}: {} cosigned this history{after}",
                names.join(", ")
            ),
        )
    }
}

/// Holds tree heads of others against the log.
pub(crate) struct OutsideCheck<'c, 'a> {
    pub repository: &'c Repository,
    pub genesis: Option<&'c Genesis>,
    pub history: &'c History,
    pub keys: &'c KeyHistory,
    pub lines: &'c Lines,
    pub outside: &'c mut ForeignTreeHeads<'a>,
    pub findings: &'c mut Findings,
}

impl OutsideCheck<'_, '_> {
    /// Holds every tree head outside against the log, and cosignatures against the policy.
    pub fn check(&mut self, is_saved: bool) {
        let history = self.history;
        // The root has no tree head; behind a saved position the first that is known is not the
        // root.
        let heads = if is_saved { 0 } else { 1 };
        self.outside.any = history.on_main().nth(heads).is_some();
        let notes = std::mem::take(&mut self.outside.notes);
        // What a writer put on newer commits meanwhile is about lines that are not read.
        for (commit, note) in notes
            .iter()
            .filter(|(commit, _)| !history.newer_on_main.contains(commit))
        {
            let place = format!("{NOTES_WITNESS}, note {commit}");
            let node = history
                .node(commit)
                .filter(|node| matches!(node.chain, Some(CommitChain::Main(_))));
            let Some(note) = note else {
                self.findings.inconsistent(
                    None,
                    place,
                    "a tree head with signature lines",
                    "another text",
                );
                continue;
            };
            let own = node
                .as_ref()
                .is_some_and(|node| self.is_head_of(node, note));
            if node.is_some() && !own {
                let expected = "the tree head of the commit that it is on";
                self.findings
                    .inconsistent(None, place.clone(), expected, "another");
            }
            let cosigned = self.cosigned(&place, note);
            let by_witness = cosigned.as_deref().is_some_and(|by| !by.is_empty());
            if !own && (by_witness || self.is_signed_here(note)) {
                self.check_outside_head(&place, note, by_witness);
            }
            if let (true, Some(cosigned)) = (own, cosigned) {
                self.take_covered(note, &cosigned);
            }
        }
        for given in self.outside.given {
            let cosigned = self.cosigned(&given.place, &given.note);
            if !self.check_outside_head(
                &given.place,
                &given.note,
                cosigned.is_some_and(|by| !by.is_empty()),
            ) {
                self.findings.contradicted(&given.place);
            }
        }
    }

    /// Whether a note is over the tree head of this commit, signature and all.
    fn is_head_of(&self, node: &CommitNode, note: &CosignedNote) -> bool {
        let entries = self.repository.tree(&node.tree).unwrap_or_default();
        let entry = entries.iter().rfind(|entry| entry.is_file("checkpoint"));
        let bytes = entry.and_then(|entry| self.repository.file(entry).ok());
        bytes.is_some_and(|bytes| bytes == note.head.render().as_bytes())
    }

    /// Which witnesses of the policy cosigned, and when; none when a line is not what it claims:
    /// then nothing counts.
    fn cosigned(&mut self, place: &str, note: &CosignedNote) -> Option<Vec<(String, u64)>> {
        let (mut held, mut whole) = (Vec::new(), true);
        for (witness, time) in self
            .outside
            .policy
            .iter()
            .flat_map(|policy| policy.cosigners(note))
        {
            match time {
                Some(time) => held.push((witness.name.clone(), time)),
                None => {
                    whole = false;
                    let expected = format!("a cosignature by the key of {}", witness.key.name);
                    self.findings
                        .add(AuditQuestion::Unique, None, place, expected, FORGED);
                }
            }
        }
        whole.then_some(held)
    }

    fn is_signed_here(&self, note: &CosignedNote) -> bool {
        let mut keys = self.keys.known.iter();
        keys.any(|known| note.head.verify(&known.key))
    }

    /// A tree head that somebody outside has is one of this log; false when the log says otherwise.
    fn check_outside_head(&mut self, place: &str, note: &CosignedNote, by_witness: bool) -> bool {
        let head = &note.head;
        if self
            .genesis
            .is_none_or(|genesis| genesis.origin != head.origin)
        {
            return true;
        }
        let who = match (self.is_signed_here(note), by_witness) {
            (true, _) => "the ledger's key",
            (false, true) => "a witness",
            (false, false) => "a key that is not in this ledger",
        };
        let count = self.lines.state.count();
        if head.size > count {
            let expected = format!("a log of {} lines, as {who} signed", head.size);
            self.findings.add(
                AuditQuestion::Complete,
                None,
                place,
                expected,
                format!("{count} lines"),
            );
            return false;
        }
        match self.lines.sizes.roots.get(&head.size) {
            Some((root, _)) if *root == head.root => true,
            Some((root, _)) => {
                let expected = format!("root {root}, that of the first {} lines here", head.size);
                let actual = format!("root {}, signed by {who}: a second history", head.root);
                // Of the ledger's own key it is a second history, and this one does not hold
                // without it.
                if self.is_signed_here(note) {
                    self.findings
                        .inconsistent(None, place, expected.clone(), actual.clone());
                }
                self.findings
                    .add(AuditQuestion::Unique, None, place, expected, actual);
                false
            }
            None => {
                self.outside.unjudged += 1;
                true
            }
        }
    }

    /// Counts the cosignatures of a commit's own tree head.
    fn take_covered(&mut self, note: &CosignedNote, cosigned: &[(String, u64)]) {
        let Some(policy) = self
            .outside
            .policy
            .filter(|policy| policy.knows(&note.head))
        else {
            return;
        };
        let head = &note.head;
        let cosigned: Vec<(&str, u64)> = cosigned
            .iter()
            .map(|(name, time)| (name.as_str(), *time))
            .collect();
        let names: BTreeSet<&str> = cosigned.iter().map(|(name, _)| *name).collect();
        let larger = |known: Option<u64>| known.is_none_or(|known| known < head.size);
        if policy.asks_somebody()
            && policy.is_reached_by(&names)
            && larger(self.outside.covered.as_ref().map(|(size, _)| *size))
        {
            self.outside.covered =
                Some((head.size, names.into_iter().map(str::to_owned).collect()));
        }
        let line = self
            .lines
            .sizes
            .roots
            .get(&head.size)
            .map_or(Seconds::ZERO, |(_, time)| *time);
        if let Some(by) = reached_by(policy, &cosigned, line)
            && larger(self.outside.timed.map(|(size, _)| size))
        {
            self.outside.timed = Some((head.size, by));
        }
    }
}

/// The earliest time by which enough had cosigned; a cosignature from long before the last line
/// counts for no time.
pub(crate) fn reached_by(
    policy: &WitnessPolicy,
    cosigned: &[(&str, u64)],
    line: Seconds,
) -> Option<Seconds> {
    let from = line.get().saturating_sub(CLOCKS_APART);
    policy
        .reached_at(cosigned, from)
        .and_then(|time| Seconds::new(time).ok())
}
