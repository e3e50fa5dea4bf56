//! What is known of a block's height: by a chain of headers that the checker keeps, else by the
//! header alone.

use crate::record::bitcoin::block::{Header, Network};
use crate::record::bitcoin::epochs::is_cheap;

use super::{OpeningCheck, OpeningQuestion};

/// How far a height is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Height {
    /// The kept chain has this header there.
    Proven,
    /// The kept chain has another one there, on top of the same block: it was orphaned, and was
    /// real.
    Orphaned,
    /// Whoever made the file says so; the header shows a sixteenth or more of the work of the
    /// table's end.
    Claimed,
    /// The same with less work: nothing is shown.
    Cheap,
    /// The kept chain does not reach it: whoever keeps headers takes nobody's word for a height.
    Beyond,
    /// The kept chain has another block there; that is a finding.
    Elsewhere,
}

impl Height {
    /// What is said behind the block's name.
    pub const fn words(self) -> &'static str {
        match self {
            Height::Proven => ", at the height that the kept headers prove",
            Height::Orphaned => ", orphaned later, at a height that the kept headers prove",
            Height::Claimed => ", at a height that is the file's word",
            Height::Cheap | Height::Beyond | Height::Elsewhere => "",
        }
    }

    /// Why nothing is shown by a header at this height; none when something is.
    pub const fn lacks(self) -> Option<&'static str> {
        match self {
            Height::Cheap => Some(
                "cheap work, less than a sixteenth of what the built-in table ends with: bring headers, --headers",
            ),
            Height::Beyond => Some("the kept headers do not reach it: gently anchor sync"),
            Height::Proven | Height::Orphaned | Height::Claimed | Height::Elsewhere => None,
        }
    }
}

/// What is said of times on another network.
pub(super) fn of_no_time(network: Network) -> String {
    let name = network.name();
    format!(
        "the ledger is of {name}, whose blocks show no time unless you name it: --network {name}"
    )
}

impl OpeningCheck<'_> {
    /// Holds a header against the kept chain; another block at its height is a finding.
    pub(super) fn height(
        &mut self,
        about: OpeningQuestion,
        place: &str,
        header: &Header,
        height: u32,
        network: Network,
    ) -> Height {
        let Some(chain) = self.trust.chain else {
            return if is_cheap(network, header.fields().bits) {
                Height::Cheap
            } else {
                Height::Claimed
            };
        };
        let Some(kept) = chain.get(&height) else {
            return Height::Beyond;
        };
        if kept == header {
            return Height::Proven;
        }
        // A start block may have been orphaned; a proof in an orphaned block proves nothing to
        // anybody else.
        let below = height.checked_sub(1).and_then(|below| chain.get(&below));
        let on_top = below.is_some_and(|below| below.hash() == header.fields().prev);
        if about == OpeningQuestion::NotBefore
            && on_top
            && kept.fields().bits == header.fields().bits
        {
            return Height::Orphaned;
        }
        let expected = format!(
            "block {} at height {height}, as the kept headers have it",
            kept.hash()
        );
        self.find(about, place, expected, format!("block {}", header.hash()));
        Height::Elsewhere
    }
}
