//! Opened texts, checked with nothing but their file (format, sections 11.1 and 12).
//!
//! The answers are separate. *consistent*, *commitment* and *tree head* are always *yes* or *no*: a
//! file without what they need is not read at all. The others are *not checked* where the file, or
//! whoever checks, brings nothing to check with. Everything hangs on one signed root: lines are
//! under it, documents are those that the lines name, and what documents say is believed of nothing
//! else.

mod height;
mod keys;
mod lines;
mod openings;
mod parts;
mod stamp;
mod time;
mod trust;

use std::collections::{BTreeMap, BTreeSet};

use crate::record::bitcoin::block::{Header, Network};
use crate::record::ledger::documents::Genesis;
use crate::record::ledger::opening::{Document, OpeningFile, Stamp};
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;
use crate::record::tree::note::CosignedNote;
use crate::record::tree::witness_policy::WitnessPolicy;

use super::report::{CheckAnswer, CheckVerdict, counted};
use super::time::proofs::HeaderRequests;

use keys::Keys;
use lines::OpeningEntry;
use openings::OpenedLines;
use time::not_after;

/// What is asked about opened texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpeningQuestion {
    /// Do the parts of the file fit together?
    Consistent,
    /// Do keys and texts give the commitments that the ledger carries?
    Commitment,
    /// Is the tree head signed by the key that genesis and rotations lead to?
    TreeHead,
    /// Is that key the newest that the checker pinned?
    SignedBy,
    /// Have the checker's witnesses seen the tree?
    CosignedBy,
    /// Was it made after a block?
    NotBefore,
    /// Was it made before a block, or before a witness saw it?
    NotAfter,
}

impl OpeningQuestion {
    /// All of them, in the order of screens.
    pub const ALL: [OpeningQuestion; 7] = [
        OpeningQuestion::Consistent,
        OpeningQuestion::Commitment,
        OpeningQuestion::TreeHead,
        OpeningQuestion::SignedBy,
        OpeningQuestion::CosignedBy,
        OpeningQuestion::NotBefore,
        OpeningQuestion::NotAfter,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            OpeningQuestion::Consistent => "consistent",
            OpeningQuestion::Commitment => "commitment",
            OpeningQuestion::TreeHead => "tree_head",
            OpeningQuestion::SignedBy => "signed_by",
            OpeningQuestion::CosignedBy => "cosigned_by",
            OpeningQuestion::NotBefore => "not_before",
            OpeningQuestion::NotAfter => "not_after",
        }
    }
}

/// Something in the file that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpeningFinding {
    /// Which answer it turns to *no*.
    pub about: OpeningQuestion,
    /// Which part of the file.
    pub place: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub actual: String,
}

/// What the check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpeningReport {
    answers: Vec<(OpeningQuestion, CheckVerdict)>,
    /// What is wrong.
    pub findings: Vec<OpeningFinding>,
    /// The ledger's network, by its genesis; none when the file has none that can be believed.
    pub network: Option<Network>,
    /// The key that genesis and rotations lead to.
    pub signer: Option<PublicKey>,
    /// The time before which nothing of this was on record, when *not before* is *yes*.
    pub since: Option<Seconds>,
    /// The time by which all of it was on record, when *not after* is *yes*.
    pub until: Option<Seconds>,
}

impl OpeningReport {
    /// Whether the text in this place of the file's openings is the one that was put on record.
    ///
    /// None is while a fault that is nobody's in particular keeps all of them from being judged.
    pub fn text_opens(&self, at: usize) -> bool {
        let faults = self
            .findings
            .iter()
            .filter(|finding| finding.about == OpeningQuestion::Commitment);
        let names = [
            "openings".to_owned(),
            "documents".to_owned(),
            openings::place_of(at),
        ];
        let mut places = faults.map(|finding| &finding.place);
        !places.any(|place| names.contains(place))
    }

    /// The answer to one question.
    pub fn to(&self, about: OpeningQuestion) -> CheckVerdict {
        let found = self.answers.iter().find(|(known, _)| *known == about);
        found.map_or_else(
            || CheckVerdict::new(CheckAnswer::NotChecked, ""),
            |(_, verdict)| verdict.clone(),
        )
    }

    /// Whether the file opens what it says: *consistent*, *commitment* and *tree head*. Whose the
    /// key is, when it was and who else has seen it are other questions.
    pub fn opens(&self) -> bool {
        let needed = [
            OpeningQuestion::Consistent,
            OpeningQuestion::Commitment,
            OpeningQuestion::TreeHead,
        ];
        needed
            .iter()
            .all(|about| self.to(*about).answer == CheckAnswer::Yes)
    }
}

/// Whom to believe.
#[derive(Clone, Copy, Default)]
pub struct Trust<'a> {
    /// The ledger's keys, in the order in which they came into force; none: whichever the file
    /// leads to.
    pub pinned: Option<&'a [PublicKey]>,
    /// Which witnesses count.
    pub policy: Option<&'a WitnessPolicy>,
    /// Headers of a chain that was checked from a built-in block on, each at its height; at least
    /// those that [`wanted_headers`] names, as far as the chain reaches.
    pub chain: Option<&'a BTreeMap<u32, Header>>,
    /// The test network whose blocks are to show times; none but Bitcoin's do otherwise.
    pub network: Option<Network>,
}

/// Which headers whoever keeps a chain of them should bring to a check; none for a file without a
/// genesis document.
pub fn wanted_headers(file: &OpeningFile) -> Option<HeaderRequests> {
    let network = file.documents.iter().find_map(genesis)?.network;
    let stamped = file.stamp.as_ref().and_then(Stamp::read);
    let attested = stamped
        .iter()
        .flat_map(|stamped| stamped.blocks.iter().map(|block| block.height))
        .collect();
    let blocks = file.documents.iter().filter_map(|document| match document {
        Document::Session(start) => Some(&start.block),
        Document::Close(end) => Some(&end.block),
        _ => None,
    });
    let heights = blocks
        .filter(|block| !block.is_local())
        .map(|block| block.height);
    let named: BTreeSet<u32> = heights
        .flat_map(|height| [Some(height), height.checked_sub(1)])
        .flatten()
        .collect();
    Some(HeaderRequests {
        network,
        attested,
        named,
    })
}

fn genesis(document: &Document) -> Option<&Genesis> {
    match document {
        Document::Genesis(genesis) => Some(genesis),
        _ => None,
    }
}

/// What a file is of, as far as it can be read.
struct OpeningSubject<'a> {
    /// Its lines; those that can't be read are findings.
    lines: Vec<OpeningEntry<'a>>,
    opened: OpenedLines,
    keys: Keys,
    head: Option<CosignedNote>,
}

impl<'a> OpeningSubject<'a> {
    fn genesis(&self) -> Option<&'a Genesis> {
        self.lines
            .first()
            .filter(|first| first.entry.index == 0)
            .and_then(|first| first.document)
            .and_then(genesis)
    }

    /// The lines that carry what is opened, and the outcomes of these turns.
    fn opened_lines(&self) -> impl Iterator<Item = &OpeningEntry<'a>> {
        self.opened
            .all
            .iter()
            .filter_map(|place| self.lines.get(*place))
    }
}

/// Checks an opening file; a pure function of the file and whom the caller believes.
pub fn check_opening(file: &OpeningFile, trust: Trust<'_>) -> OpeningReport {
    let mut check = OpeningCheck {
        file,
        trust,
        findings: Vec::new(),
    };
    let lines = check.lines();
    let opened = check.openings(&lines);
    let keys = check.keys(&lines);
    let mut read = OpeningSubject {
        lines,
        opened,
        keys,
        head: None,
    };
    read.head = check.head(&read);
    check.parts(&read);
    check.commitments(&read);
    check.roots(&read);
    let signer = check.signer(&read);
    let (not_before, start) = check.not_before(&read);
    let (stamped, attested) = check.stamp(&read, start.as_ref()).unzip();
    let (cosigned, seen) = check.cosigned(&read, start.as_ref());
    let network = read.genesis().map(|genesis| genesis.network);
    let mut report = OpeningReport {
        answers: Vec::new(),
        findings: Vec::new(),
        network,
        signer: read.head_key().copied(),
        since: None,
        until: None,
    };
    for about in OpeningQuestion::ALL {
        // Of blocks that show no time nothing is asked, so nothing is wrong with them.
        let untimed = matches!(
            about,
            OpeningQuestion::NotBefore | OpeningQuestion::NotAfter
        ) && network.is_some_and(|network| !check.shows_time(network));
        let verdict = match about {
            OpeningQuestion::Consistent => CheckVerdict::new(CheckAnswer::Yes, fits(&read)),
            OpeningQuestion::Commitment => CheckVerdict::new(CheckAnswer::Yes, check.opens(&read)),
            OpeningQuestion::TreeHead => CheckVerdict::new(CheckAnswer::Yes, read.head_words()),
            OpeningQuestion::SignedBy => signer.clone(),
            OpeningQuestion::CosignedBy => cosigned.clone(),
            OpeningQuestion::NotBefore => not_before.clone(),
            OpeningQuestion::NotAfter => not_after(stamped.clone(), seen.filter(|_| !untimed)),
        };
        let found = if untimed { 0 } else { check.count(about) };
        let told = counted(u64::try_from(found).unwrap_or(u64::MAX), "finding");
        report.answers.push((
            about,
            if found == 0 {
                verdict
            } else {
                CheckVerdict::new(CheckAnswer::No, told)
            },
        ));
    }
    report.findings = check.findings;
    let is_yes = |about| report.to(about).answer == CheckAnswer::Yes;
    let since = start
        .map(|start| start.time)
        .filter(|_| is_yes(OpeningQuestion::NotBefore));
    let by_block =
        attested.filter(|_| stamped.is_some_and(|block| block.answer == CheckAnswer::Yes));
    let until = by_block
        .into_iter()
        .chain(seen)
        .min()
        .filter(|_| is_yes(OpeningQuestion::NotAfter));
    (report.since, report.until) = (since, until);
    report
}

struct OpeningCheck<'a> {
    file: &'a OpeningFile,
    trust: Trust<'a>,
    findings: Vec<OpeningFinding>,
}

impl OpeningCheck<'_> {
    fn find(
        &mut self,
        about: OpeningQuestion,
        place: impl ToString,
        expected: impl ToString,
        actual: impl ToString,
    ) {
        let (place, expected, actual) =
            (place.to_string(), expected.to_string(), actual.to_string());
        self.findings.push(OpeningFinding {
            about,
            place,
            expected,
            actual,
        });
    }

    /// A difference between two values that should be the same is inconsistent.
    fn same<T: PartialEq + ToString>(&mut self, place: &str, what: &str, expected: T, actual: T) {
        if expected != actual {
            let (expected, actual) = (expected.to_string(), actual.to_string());
            self.find(
                OpeningQuestion::Consistent,
                place,
                format!("{what} {expected}"),
                format!("{what} {actual}"),
            );
        }
    }

    fn count(&self, about: OpeningQuestion) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.about == about)
            .count()
    }

    /// Whether blocks of the ledger's network show times to this checker.
    fn shows_time(&self, network: Network) -> bool {
        network == Network::Bitcoin || self.trust.network == Some(network)
    }
}

fn fits(read: &OpeningSubject<'_>) -> String {
    let lines = counted(u64::try_from(read.lines.len()).unwrap_or(u64::MAX), "line");
    let closed = if read
        .lines
        .iter()
        .any(|shown| matches!(shown.document, Some(Document::Close(_))))
    {
        "; the session is closed"
    } else {
        ""
    };
    format!("{lines} under one root, and the documents that they name{closed}")
}
