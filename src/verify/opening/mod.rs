//! One opened text, checked with nothing but its file (format, sections 10 and 11).
//!
//! The answers are separate. *consistent*, *commitment*, *in tree* and *tree head* are always *yes* or *no*: a file
//! without what they need is not read at all. The others are *not checked* where the file, or whoever checks, brings
//! nothing to check with.

mod height;
mod parts;
mod time;
mod trust;

use std::collections::{BTreeMap, BTreeSet};

use crate::record::block::Header;
use crate::record::note::CosignedNote;
use crate::record::opening::{OpeningFile, StampPart};
use crate::record::policy::Policy;
use crate::record::proof::{TlogProof, includes};
use crate::record::signature::PublicKey;
use crate::record::tree::leaf;

use super::proofs::Wanted;
use super::report::{Answer, Verdict, counted};

use time::not_after;
use trust::signed_by;

/// What is asked about an opened text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum About {
    /// Do the parts of the file fit together?
    Consistent,
    /// Do key and text give the commitment that the ledger carries?
    Commitment,
    /// Is the line in the tree?
    InTree,
    /// Is the tree head signed by the file's key?
    TreeHead,
    /// Is that key, which has signed everything, one that the checker pinned?
    SignedBy,
    /// Have the checker's witnesses seen the tree?
    CosignedBy,
    /// Was it made after a block?
    NotBefore,
    /// Was it made before a block, or before a witness saw it?
    NotAfter,
}

impl About {
    /// All of them, in the order of screens.
    pub const ALL: [About; 8] = [
        About::Consistent,
        About::Commitment,
        About::InTree,
        About::TreeHead,
        About::SignedBy,
        About::CosignedBy,
        About::NotBefore,
        About::NotAfter,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            About::Consistent => "consistent",
            About::Commitment => "commitment",
            About::InTree => "in_tree",
            About::TreeHead => "tree_head",
            About::SignedBy => "signed_by",
            About::CosignedBy => "cosigned_by",
            About::NotBefore => "not_before",
            About::NotAfter => "not_after",
        }
    }
}

/// Something in the file that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpeningFinding {
    /// Which answer it turns to *no*.
    pub about: About,
    /// Which part of the file.
    pub place: &'static str,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub actual: String,
}

/// What the check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpeningReport {
    answers: Vec<(About, Verdict)>,
    /// What is wrong.
    pub findings: Vec<OpeningFinding>,
}

impl OpeningReport {
    /// The answer to one question.
    pub fn to(&self, about: About) -> Verdict {
        let found = self.answers.iter().find(|(known, _)| *known == about);
        found.map_or_else(|| Verdict::new(Answer::NotChecked, ""), |(_, verdict)| verdict.clone())
    }

    /// Whether nothing is *no*; what was not checked is not counted, and the first four always are.
    pub fn passes(&self) -> bool {
        self.answers.iter().all(|(_, verdict)| verdict.answer != Answer::No)
    }
}

/// Whom to believe.
#[derive(Clone, Copy, Default)]
pub struct Trust<'a> {
    /// The keys that the ledger may be signed by; none: whichever is in the file.
    pub pinned: Option<&'a [PublicKey]>,
    /// Which witnesses count.
    pub policy: Option<&'a Policy>,
    /// Headers of a chain that was checked from a built-in block on, each at its height; at least those that
    /// [`wanted_headers`] names, as far as the chain reaches.
    pub chain: Option<&'a BTreeMap<u32, Header>>,
}

/// Which headers whoever keeps a chain of them should bring to a check; none for a line outside of sessions.
pub fn wanted_headers(file: &OpeningFile) -> Option<Wanted> {
    let block = &file.start.as_ref()?.document.block;
    let attested = file.stamp.as_ref().and_then(StampPart::read).map(|stamped| stamped.height);
    let named = [Some(block.height), block.height.checked_sub(1)].into_iter().flatten();
    let named = if block.is_local() { BTreeSet::new() } else { named.collect() };
    Some(Wanted { network: block.network, attested: attested.into_iter().collect(), named })
}

/// Checks an opening file; a pure function of the file and whom the caller believes.
pub fn check_opening(file: &OpeningFile, trust: Trust<'_>) -> OpeningReport {
    let mut check = Check { file, chain: trust.chain, findings: Vec::new() };
    let line = check.line();
    check.parts(line.as_ref());
    check.commitment(line.as_ref());
    let head = check.head();
    check.signer(trust.pinned);
    let not_before = check.not_before();
    let stamped = check.stamp(line.as_ref());
    let cosigned = check.cosigned(head.as_ref(), trust.policy, line.as_ref());
    let mut report = OpeningReport { answers: Vec::new(), findings: Vec::new() };
    for about in About::ALL {
        let verdict = match about {
            About::Consistent => Verdict::new(Answer::Yes, check.fits()),
            About::Commitment => Verdict::new(Answer::Yes, check.opens()),
            About::InTree => Verdict::new(Answer::Yes, in_tree(head.as_ref())),
            About::TreeHead => Verdict::new(Answer::Yes, head_words(head.as_ref(), &file.head.key)),
            About::SignedBy => signed_by(&file.head.key, trust.pinned),
            About::CosignedBy => cosigned.0.clone(),
            About::NotBefore => not_before.clone(),
            About::NotAfter => not_after(stamped.clone(), cosigned.1),
        };
        let found = check.count(about);
        let told = counted(u64::try_from(found).unwrap_or(u64::MAX), "finding");
        report.answers.push((about, if found == 0 { verdict } else { Verdict::new(Answer::No, told) }));
    }
    report.findings = check.findings;
    report
}

struct Check<'a> {
    file: &'a OpeningFile,
    chain: Option<&'a BTreeMap<u32, Header>>,
    findings: Vec<OpeningFinding>,
}

impl Check<'_> {
    fn find(&mut self, about: About, place: &'static str, expected: impl ToString, actual: impl ToString) {
        let (expected, actual) = (expected.to_string(), actual.to_string());
        self.findings.push(OpeningFinding { about, place, expected, actual });
    }

    fn same<T: PartialEq + ToString>(&mut self, place: &'static str, what: &str, expected: T, actual: T) {
        if expected != actual {
            let (expected, actual) = (expected.to_string(), actual.to_string());
            self.find(About::Consistent, place, format!("{what} {expected}"), format!("{what} {actual}"));
        }
    }

    fn count(&self, about: About) -> usize {
        self.findings.iter().filter(|finding| finding.about == about).count()
    }

    /// The tree head, and the line's place in its tree.
    fn head(&mut self) -> Option<(u64, CosignedNote)> {
        let part = &self.file.head;
        let proof = match TlogProof::parse(&part.proof) {
            Ok(proof) => proof,
            Err(error) => {
                self.find(About::InTree, "head", "a tlog-proof", error);
                self.find(About::TreeHead, "head", "a tree head", "none that can be read");
                return None;
            }
        };
        let note = match CosignedNote::parse(&proof.checkpoint) {
            Ok(note) => note,
            Err(error) => {
                self.find(About::InTree, "head", "the root of a tree", "none that can be read");
                self.find(About::TreeHead, "head", "a tree head", error);
                return None;
            }
        };
        if !includes(leaf(self.file.line.text.as_bytes()), proof.index, note.head.size, &proof.path, note.head.root) {
            let expected = format!("the line as entry {} of the {} of {}", proof.index, note.head.size, note.head.root);
            self.find(About::InTree, "head", expected, "a proof of something else");
        }
        if !note.head.verify(&part.key) {
            self.find(About::TreeHead, "head", format!("a signature by {}", part.key), "a signature that is not");
        }
        Some((proof.index, note))
    }

    fn signer(&mut self, pinned: Option<&[PublicKey]>) {
        let key = &self.file.head.key;
        if let Some(pinned) = pinned.filter(|pinned| !pinned.contains(key)) {
            let names: Vec<String> = pinned.iter().map(ToString::to_string).collect();
            self.find(About::SignedBy, "head", format!("the pinned {}", names.join(" or ")), key);
        }
        if self.count(About::TreeHead) > 0 {
            self.find(About::SignedBy, "head", "a tree head that the key has signed", "another signature");
        }
    }

    fn fits(&self) -> String {
        let mut parts = vec!["line"];
        let there = [
            ("record", self.file.record.is_some()),
            ("session start", self.file.start.is_some()),
            ("session close", self.file.close.is_some()),
        ];
        parts.extend(there.iter().filter(|(_, there)| *there).map(|(name, _)| *name));
        let reach = match &self.file.close {
            Some(close) if close.later.is_some() => "; the close covers this turn",
            Some(_) => "; how the close covers it is not in the file",
            None => "",
        };
        format!("{} fit together{reach}", parts.join(", "))
    }

    fn opens(&self) -> String {
        let role = self.file.opening.role.name();
        match self.file.opening.key {
            Some(_) => format!("key and text give the commitment of role {role} that the ledger carries"),
            None => format!("the text's plain SHA-256 is what the ledger carries for role {role}"),
        }
    }
}

fn in_tree(head: Option<&(u64, CosignedNote)>) -> String {
    head.map_or_else(String::new, |(index, note)| {
        format!("line {} of the {} that the tree head is over", index.saturating_add(1), note.head.size)
    })
}

fn head_words(head: Option<&(u64, CosignedNote)>, key: &PublicKey) -> String {
    head.map_or_else(String::new, |(_, note)| {
        format!("{} lines of {}, signed by {key}", note.head.size, note.head.origin)
    })
}
