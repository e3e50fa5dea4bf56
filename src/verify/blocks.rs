//! The blocks that sessions start and end on (format, sections 4, 8 and 11.5).

use crate::record::block::{Block, Header, HeaderFault, check_anchor};
use crate::record::hash::Hash32;

use super::checker::{Checker, Files};
use super::history::Node;
use super::report::Question;

impl Checker<'_> {
    /// Holds a document's block against the header beside it; an accepted header is an anchor.
    pub fn check_block(&mut self, node: &Node, session: Hash32, block: &Block, files: &Files) {
        let Some(network) = self.genesis.as_ref().map(|genesis| genesis.network) else { return };
        let checked = match files.get("btc_header").map(|bytes| read_header(bytes)) {
            Some(Err(fault)) => Err(fault),
            Some(Ok(header)) => check_anchor(Some(&header), block, network),
            None => check_anchor(None, block, network),
        };
        match checked {
            Ok(()) if block.is_local() => {}
            Ok(()) => self.btc_anchors += 1,
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
            | HeaderFault::TooEasy { .. }
            | HeaderFault::EpochEnd { .. }
    )
}
