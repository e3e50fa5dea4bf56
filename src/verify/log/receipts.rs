//! Whether the ledger continues what its owner once signed for somebody: receipts, kept outside.
//!
//! A log that is shorter than a receipt says has lost its end: *complete* is *no*. A log that is
//! long enough, and has another line or tree at that place, is another history: *unique* is *no*. A
//! receipt by a key that was not in force there is not this ledger's: *signed by* is *no*.

use crate::record::hash::Hash32;
use crate::record::ledger::documents::Genesis;
use crate::record::ledger::receipt::Receipt;
use crate::record::log::entry::{Event, Line};
use crate::record::tree::Frontier;

use crate::verify::ledger::keys::KeyHistory;
use crate::verify::report::{AuditQuestion, Findings, counted};

/// A receipt, and what it is called in findings.
#[derive(Clone, Debug)]
pub struct KeptReceipt {
    /// The name of its file.
    pub name: String,
    /// What was signed.
    pub receipt: Receipt,
}

/// Receipts, while the lines pass by.
#[derive(Clone, Default)]
pub(crate) struct Receipts(Vec<ReceiptMatch>);

/// One receipt, and what the log has at the places that it names.
#[derive(Clone)]
struct ReceiptMatch {
    kept: KeptReceipt,
    /// HASH and root at its size.
    there: Option<(Hash32, Hash32)>,
    /// The number of the line that it names, and what that says.
    line: Option<(u64, String)>,
}

impl Receipts {
    pub fn new(kept: &[KeptReceipt]) -> Self {
        Receipts(
            kept.iter()
                .map(|kept| ReceiptMatch {
                    kept: kept.clone(),
                    there: None,
                    line: None,
                })
                .collect(),
        )
    }

    /// Takes line `number`, and the log with it; `line` is none when it can't be read.
    pub fn take(&mut self, number: u64, line: Option<&Line>, head: Hash32, tree: &Frontier) {
        for met in &mut self.0 {
            let says = &met.kept.receipt.statement;
            if met.kept.receipt.head.size == number {
                met.there = Some((head, tree.root()));
            }
            if let Some(line) = line.filter(|line| line.hash == says.line) {
                met.line = Some((number, outcome(line)));
            }
        }
    }
}

/// What a line says about a turn, as receipts say it.
fn outcome(line: &Line) -> String {
    let session = line
        .session
        .map_or_else(|| "-".to_owned(), |id| id.to_string());
    let chain = match &line.event {
        Event::Response { chain, .. } => chain.to_string(),
        Event::ResponseFail { .. } | Event::Denied { .. } => "-".to_owned(),
        other => return format!("a {} line", other.name()),
    };
    described(&session, line.event.seq().unwrap_or_default(), &chain)
}

fn described(session: &str, seq: u64, chain: &str) -> String {
    format!("the outcome of prompt {seq} of session {session}, chain {chain}")
}

/// What receipts are held against.
pub(crate) struct ReceiptCheck<'c> {
    pub genesis: Option<&'c Genesis>,
    pub keys: &'c KeyHistory,
    /// How many lines were taken.
    pub count: u64,
    /// Whether there is a log beside the segments in `main`.
    pub has_log: bool,
    pub findings: &'c mut Findings,
}

impl ReceiptCheck<'_> {
    /// Holds every receipt against the log; says how many there are.
    pub fn check(&mut self, receipts: &Receipts) -> u64 {
        for met in &receipts.0 {
            self.check_receipt(met);
        }
        u64::try_from(receipts.0.len()).unwrap_or(u64::MAX)
    }

    fn check_receipt(&mut self, met: &ReceiptMatch) {
        let (place, says) = (
            format!("receipt {}", met.kept.name),
            &met.kept.receipt.statement,
        );
        let note = &met.kept.receipt.head;
        let mut find = |question, expected: String, actual: String| {
            self.findings
                .add(question, None, place.clone(), expected, actual);
            self.findings.contradicted(&place);
        };
        if let Some(genesis) = self.genesis
            && genesis.origin != note.origin
        {
            find(
                AuditQuestion::SignedBy,
                format!("a receipt of {}", genesis.origin),
                format!("one of {}", note.origin),
            );
        }
        // A rotation's own line is the last that the old key signs; of a log that is too short any
        // key may be in force.
        let count = self.count;
        let mut keys = self.keys.known.iter();
        let known = if note.size > count {
            keys.any(|known| known.key == met.kept.receipt.key)
        } else {
            let in_force = keys
                .rev()
                .find(|known| known.after.is_some_and(|after| after < note.size));
            in_force.is_some_and(|known| known.key == met.kept.receipt.key)
        };
        if self.genesis.is_some() && !known {
            let expected = format!("a signature by the key in force at line {}", note.size);
            find(
                AuditQuestion::SignedBy,
                expected,
                format!("one by {}", met.kept.receipt.key),
            );
        }
        let Some((head, root)) = met.there else {
            let lines = |n: u64| counted(n, "line");
            let expected = format!("{} or more, as its owner has signed", lines(note.size));
            let log = if self.has_log {
                ""
            } else {
                "; no audit.log was given, where newer ones may stand: --log FILE"
            };
            let actual = format!("{}{log}", lines(count));
            return find(AuditQuestion::Complete, expected, actual);
        };
        if head != says.log_head {
            let expected = format!("line {} with HASH {}", note.size, says.log_head);
            find(AuditQuestion::Unique, expected, format!("HASH {head}"));
        }
        if root != note.root {
            let expected = format!("root {} over the first {} lines", note.root, note.size);
            find(AuditQuestion::Unique, expected, format!("root {root}"));
        }
        let chain = says
            .chain_entry
            .map_or_else(|| "-".to_owned(), |chain| chain.to_string());
        let expected = described(&says.session_id.to_string(), says.seq, &chain);
        let found = met
            .line
            .as_ref()
            .filter(|(number, _)| *number <= note.size)
            .map(|(_, what)| what.clone());
        if found.as_ref() != Some(&expected) {
            let actual = found.unwrap_or_else(|| "no such line up to there".to_owned());
            find(
                AuditQuestion::Unique,
                format!("line {}: {expected}", says.line),
                actual,
            );
        }
    }
}
