//! Why a piece of a file can't be taken, before it is known where the piece stands.

use super::RefusedPiece;

/// One reason, as a word for counting and as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportFault {
    /// The word.
    pub(super) reason: &'static str,
    /// The sentence: what was expected, and what was there.
    pub(super) detail: String,
}

impl ImportFault {
    /// A reason with its sentence.
    pub(super) fn new(reason: &'static str, detail: impl Into<String>) -> ImportFault {
        ImportFault {
            reason,
            detail: detail.into(),
        }
    }

    /// Something has another form than is read.
    pub(super) fn shape(detail: impl Into<String>) -> ImportFault {
        ImportFault::new("shape", detail)
    }

    /// The piece that it costs.
    pub(super) fn at(self, place: impl Into<String>, name: Option<String>) -> RefusedPiece {
        RefusedPiece {
            place: place.into(),
            name,
            reason: self.reason,
            detail: self.detail,
        }
    }
}
