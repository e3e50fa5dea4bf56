//! The blocks that sessions start and end on, and those of the database (format, sections 4, 8, 11.5 and 11.6).

use crate::record::block::{Block, Header, HeaderFault, check_anchor};
use crate::record::hash::Hash32;

use crate::store::Read;

use super::VerifyError;
use super::checker::{Checker, Files};
use super::history::Node;
use super::report::Question;

/// Who first named a block whose header was accepted.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// The block before it.
    pub prev: Hash32,
    pub session: Option<Hash32>,
    /// Where.
    pub place: String,
}

impl Checker<'_> {
    /// Holds a document's block against the header beside it; an accepted header is an anchor.
    pub fn check_block(&mut self, node: &Node, session: Hash32, block: &Block, files: &Files) {
        let Some(network) = self.genesis.as_ref().map(|genesis| genesis.network) else { return };
        let read = files.get("btc_header").map(|bytes| read_header(bytes)).transpose();
        let checked = match &read {
            Err(fault) => Err(fault.clone()),
            Ok(header) => check_anchor(header.as_ref(), block, network),
        };
        match checked {
            Ok(()) if block.is_local() => {}
            Ok(()) => {
                self.btc_anchors += 1;
                if let Ok(Some(header)) = read {
                    let place = || node.file("btc_header");
                    let named = || Named { prev: header.fields().prev, session: Some(session), place: place() };
                    self.named.entry((block.height, block.hash)).or_insert_with(named);
                }
            }
            Err(fault) => {
                let place = node.file("btc_header");
                let expected = format!("a header that shows the work of block {} of {}", block.height, network.name());
                let actual = fault.to_string();
                if contradicts(&fault) {
                    self.findings.add(
                        Question::Consistent,
                        Some(session),
                        place.clone(),
                        expected.clone(),
                        actual.clone(),
                    );
                }
                // A local block claims no work, so nothing is wrong with its work.
                if !matches!(fault, HeaderFault::OfLocal { .. }) {
                    self.findings.add(Question::NotBefore, Some(session), place, expected, actual);
                }
            }
        }
    }
}

impl Checker<'_> {
    /// The blocks that lines name stand in the database, each with the header that is its own.
    pub(super) fn check_block_rows(&mut self, store: &dyn Read) -> Result<(), VerifyError> {
        let Some(network) = self.genesis.as_ref().map(|genesis| genesis.network) else { return Ok(()) };
        let named: Vec<_> =
            self.lines.blocks.iter().filter(|(height, _)| **height > 0).map(|(h, b)| (*h, b.clone())).collect();
        for (height, hashes) in named {
            let Some(rows) = self.rows(store.blocks_at(height))? else { continue };
            let missing = hashes.iter().filter(|hash| !rows.iter().any(|anchor| anchor.block.hash == **hash));
            let missing = missing.map(|hash| format!("none with hash {hash}"));
            let faults =
                rows.iter().filter_map(|anchor| check_anchor(anchor.header.as_ref(), &anchor.block, network).err());
            for actual in missing.chain(faults.map(|fault| fault.to_string())).collect::<Vec<_>>() {
                let (expected, place) =
                    ("the block that the log names, with its header", format!("database, block {height}"));
                self.findings.add(Question::Consistent, None, place, expected, actual);
            }
        }
        Ok(())
    }
}

fn read_header(bytes: &[u8]) -> Result<Header, HeaderFault> {
    let form = || HeaderFault::Form { digits: bytes.len() };
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
