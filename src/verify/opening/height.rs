//! What is known of a block's height: by a chain of headers that the checker keeps, else by the header alone.

use crate::record::block::{Header, Network};
use crate::record::epochs::is_cheap;

use super::{About, Check};

/// How far a height is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Height {
    /// The kept chain has this header there.
    Proven,
    /// The kept chain has another one there, on top of the same block: it was orphaned, and was real.
    Orphaned,
    /// Whoever made the file says so; the header shows the work of that height's epoch, or of the table's end.
    Claimed,
    /// The same, with next to no work: nothing is shown.
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
                "it shows less than a sixteenth of the work that the built-in table ends with: bring headers, --headers",
            ),
            Height::Beyond => Some("the kept headers do not reach it: gently anchor sync"),
            Height::Proven | Height::Orphaned | Height::Claimed | Height::Elsewhere => None,
        }
    }
}

impl Check<'_> {
    /// Holds a header against the kept chain; another block at its height is a finding.
    pub(super) fn height(
        &mut self,
        about: About,
        place: &'static str,
        header: &Header,
        height: u32,
        network: Network,
    ) -> Height {
        let Some(chain) = self.chain else {
            let cheap = is_cheap(network, header.fields().bits);
            return if cheap { Height::Cheap } else { Height::Claimed };
        };
        let Some(kept) = chain.get(&height) else { return Height::Beyond };
        if kept == header {
            return Height::Proven;
        }
        // A start block may have been orphaned; a proof in an orphaned block proves nothing to anybody else.
        let below = height.checked_sub(1).and_then(|below| chain.get(&below));
        if about == About::NotBefore && below.is_some_and(|below| below.hash() == header.fields().prev) {
            return Height::Orphaned;
        }
        let expected = format!("block {} at height {height}, as the kept headers have it", kept.hash());
        self.find(about, place, expected, format!("block {}", header.hash()));
        Height::Elsewhere
    }
}
