//! The blocks that sessions start and end on, and those of the database (format, sections 5, 9,
//! 12 steps 5 and 6).

use std::collections::BTreeMap;

use crate::record::bitcoin::block::{Block, Header, HeaderFault, check_anchor};
use crate::record::bitcoin::epochs::is_cheap;
use crate::record::bitcoin::fit::{check_height, line_fits};
use crate::record::hash::Hash32;

use crate::verify::ledger::commits::{CommitCheck, CommitFiles};
use crate::verify::ledger::history::CommitNode;
use crate::verify::report::AuditQuestion;

/// Who first named a block whose header was accepted.
#[derive(Clone, Debug)]
pub(crate) struct FirstMention {
    /// The block before it.
    pub prev: Hash32,
    /// The target that its header claims.
    pub bits: u32,
    pub session: Option<Hash32>,
    /// Line or commit that first names the block.
    pub place: String,
}

/// The blocks that commits name.
#[derive(Default)]
pub(crate) struct NamedBlocks {
    /// Each with who named it first.
    pub first: BTreeMap<(u32, Hash32), FirstMention>,
    /// Starts and ends of sessions with an accepted header.
    pub anchors: u64,
}

impl CommitCheck<'_> {
    /// Holds a document's block against the header beside it; an accepted header is an anchor.
    pub fn check_block(
        &mut self,
        node: &CommitNode,
        session: Hash32,
        block: &Block,
        files: &CommitFiles,
    ) {
        let Some(network) = self.genesis.map(|genesis| genesis.network) else {
            return;
        };
        let read = files
            .get("btc_header")
            .map(|bytes| read_header(bytes))
            .transpose();
        if let Ok(Some(header)) = &read {
            self.check_fit(node, session, block, header);
        }
        // Of a commit whose line is not at hand the rest counts for no answer that headers have a
        // say in.
        if self.is_apart(node) {
            return;
        }
        let checked = match &read {
            Err(fault) => Err(fault.clone()),
            Ok(header) => check_anchor(header.as_ref(), block, network),
        };
        match checked {
            Ok(()) if block.is_local() => {}
            Ok(()) => {
                self.blocks.anchors += 1;
                if let Ok(Some(header)) = read {
                    let (place, fields) = (|| node.file("btc_header"), header.fields());
                    if is_cheap(network, fields.bits) {
                        self.lines.cheap.insert(session);
                    }
                    let named = || FirstMention {
                        prev: fields.prev,
                        bits: fields.bits,
                        session: Some(session),
                        place: place(),
                    };
                    self.blocks
                        .first
                        .entry((block.height, block.hash))
                        .or_insert_with(named);
                }
            }
            Err(fault) => {
                let place = node.file("btc_header");
                let expected = format!(
                    "a header that shows the work of block {} of {}",
                    block.height,
                    network.name()
                );
                let actual = fault.to_string();
                if contradicts(&fault) {
                    self.findings.inconsistent(
                        Some(session),
                        place.clone(),
                        expected.clone(),
                        actual.clone(),
                    );
                }
                // A local block claims no work, so nothing is wrong with its work.
                if !matches!(fault, HeaderFault::OfLocal { .. }) {
                    self.findings.add(
                        AuditQuestion::NotBefore,
                        Some(session),
                        place,
                        expected,
                        actual,
                    );
                }
            }
        }
    }

    /// Whether time and place of a named block belong together: its height and its time, its time
    /// and the line's, and one height to one block.
    fn check_fit(&mut self, node: &CommitNode, session: Hash32, block: &Block, header: &Header) {
        let time = header.fields().time;
        let mut find = |expected: String, actual: String| {
            self.findings
                .inconsistent(Some(session), node.file("btc_header"), expected, actual);
        };
        // What the header says: that the document says the same is another check.
        if let Err(fault) = check_height(&Block {
            time,
            ..block.clone()
        }) {
            find(
                "height and time that belong together".to_owned(),
                fault.to_string(),
            );
        }
        if !line_fits(node.time, time) {
            let expected = format!("a line no more than 2 hours before its block's time, {time}");
            find(
                expected,
                format!(
                    "TIMESTAMP {}: it names a block from its own future",
                    node.time
                ),
            );
        }
        let place = || node.file("btc_header");
        self.lines.name_block(
            block.height,
            block.hash,
            Some(session),
            &place,
            self.findings,
        );
    }
}

fn read_header(bytes: &[u8]) -> Result<Header, HeaderFault> {
    let form = || HeaderFault::Form {
        digits: bytes.len(),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| form())?;
    text.strip_suffix('\n').ok_or_else(form)?.parse()
}

/// Whether a fault is a contradiction inside the ledger, and not only too little work.
fn contradicts(fault: &HeaderFault) -> bool {
    !matches!(
        fault,
        HeaderFault::Bits { .. }
            | HeaderFault::Limit { .. }
            | HeaderFault::Work { .. }
            | HeaderFault::Epoch { .. }
            | HeaderFault::EpochEnd { .. }
    )
}
