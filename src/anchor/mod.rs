//! When: block sources, and how they agree; witnesses of the log.
//!
//! Floor 2. A source only *claims* a block; [`agree::observe`] asks all of them at once, checks
//! every header by format section 9, and comes back with one [`Anchor`] or with the `local` block.

pub mod agree;
pub mod bitcoind;
pub mod calendar;
pub mod esplora;
pub mod headers_file;
pub mod headers_store;
mod http;
pub mod sync;
pub mod witness;

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::record::bitcoin::block::{Anchor, HeaderFault, Network, Source};
use crate::record::hash::Hash32;

/// Somebody who can be asked which Bitcoin block there is.
///
/// The contract:
/// - An answer is a **claim**. The source has parsed it, and filled `network` with what it was
///   configured for and `time` with the header's; it has not checked work, hash or height. Callers
///   do, with [`Anchor::check`]; [`agree::observe`] does it for them.
/// - An answer always has a header and is never the `local` block: a source that does not know says
///   why.
/// - [`tip`](Self::tip) is the best block of this moment, not cached. [`at`](Self::at) is the block
///   of the source's best chain at a height; [`SourceFault::UnknownHeight`] when its chain ends
///   before it.
/// - Nothing is kept, written or retried here. Futures may be dropped at any time (a deadline) and
///   leave nothing behind; several may run at once on one source.
/// - Answers are bounded in size whatever the other side sends, and no method panics on what it
///   sends.
pub trait BlockSource: Send + Sync {
    /// What messages and the quorum call it: the address, or the path. Never holds a secret.
    fn name(&self) -> &str;

    /// What its blocks carry as `source`.
    fn kind(&self) -> Source;

    /// Asks for the best block of this moment.
    fn tip(&self) -> BoxFuture<'_, Result<Anchor, SourceFault>>;

    /// Asks for the block at a height of the source's best chain.
    fn at(&self, height: u32) -> BoxFuture<'_, Result<Anchor, SourceFault>>;
}

/// Why a source gave no block that counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceFault {
    /// The configured address can't be used.
    #[error(
        "'{address}' is no address that can be asked: {reason}; change it with: gently config set {key} …"
    )]
    Address {
        /// What is configured.
        address: String,
        /// What is wrong with it.
        reason: &'static str,
        /// The configuration key that holds it.
        key: &'static str,
    },
    /// This machine has no certificates to check `https` with.
    #[error(
        "cannot check https certificates: {reason}; install the CA store (Debian, Ubuntu: apt-get install \
         ca-certificates), or point SSL_CERT_FILE to a PEM bundle"
    )]
    Certificates {
        /// The TLS library's words.
        reason: String,
    },
    /// No connection, or it broke before the answer was whole.
    #[error("{at}: no whole answer: {reason}")]
    Unreachable {
        /// The address asked.
        at: String,
        /// The transport's words.
        reason: String,
    },
    /// No answer in time.
    #[error("{at}: no answer within {} ms", after.as_millis())]
    Timeout {
        /// Who was asked.
        at: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// Another status than 200.
    #[error("{at}: expected status {expected}, got {actual}, saying '{said}'")]
    Status {
        /// The address asked.
        at: String,
        /// HTTP status of a good answer: 200.
        expected: u16,
        /// HTTP status that the source sent.
        actual: u16,
        /// The beginning of the body, escaped.
        said: String,
    },
    /// An answer of another form.
    #[error("{at}: expected {expected}, got '{actual}'")]
    Malformed {
        /// The address asked, or file and line.
        at: String,
        /// Form that the answer should have had, in words.
        expected: &'static str,
        /// The beginning of what came, escaped.
        actual: String,
    },
    /// An answer longer than any right one.
    #[error("{at}: longer than {limit} bytes, as no right answer is")]
    TooLong {
        /// The address asked, or file and line.
        at: String,
        /// Most bytes that an answer may have.
        limit: usize,
    },
    /// The source's chain has no such height.
    #[error("{at}: knows no block at height {height}")]
    UnknownHeight {
        /// Who was asked.
        at: String,
        /// The height asked for.
        height: u32,
    },
    /// The source's chain has nothing but its first block.
    #[error(
        "{at}: no block yet: its chain has only the first one, which is in every copy of the software and shows no \
         time; let it download, or mine one (regtest)"
    )]
    NoBlockYet {
        /// Who was asked.
        at: String,
    },
    /// Asked for one height, told of another.
    #[error("{at}: asked for height {expected}, told of {actual}")]
    OtherHeight {
        /// Who was asked.
        at: String,
        /// The height asked for.
        expected: u32,
        /// The height in the answer.
        actual: u32,
    },
    /// The source serves another chain than it is configured for.
    #[error("{at}: expected network {}, it is of '{actual}'", expected.name())]
    OtherNetwork {
        /// Who was asked.
        at: String,
        /// Network of the ledger.
        expected: Network,
        /// The source's own word, escaped.
        actual: String,
    },
    /// The block's header is not accepted: the source lies, or serves another network.
    #[error("{at}: block {height} is not accepted: {fault}")]
    Lie {
        /// Who said it.
        at: String,
        /// The height it claims.
        height: u32,
        /// Why it can't be true.
        fault: HeaderFault,
    },
    /// Less work than anybody spends on a block of this chain.
    #[error(
        "{at}: block {height} has bits {bits:08x}: less than a sixteenth of the work that a block of this chain takes"
    )]
    Cheap {
        /// Who said it.
        at: String,
        /// The height it claims.
        height: u32,
        /// Compact difficulty target of the block, as its header has it.
        bits: u32,
    },
    /// A block that is known at another height: somebody lies.
    #[error(
        "{at}: block {hash} is said to be at height {height}, and {who} at {other}; one of the two is a lie"
    )]
    TwoHeights {
        /// Who said it.
        at: String,
        /// Hash of the block that is named at two heights.
        hash: Hash32,
        /// The height it claims.
        height: u32,
        /// Who says otherwise, in the middle of a sentence.
        who: String,
        /// The other height.
        other: u32,
    },
    /// The newest block of the source is old.
    #[error(
        "{at}: its newest block, {height}, is of {time}, more than a day behind this machine's clock ({now}): it is \
         stuck, or still loading, or the clock is wrong (timedatectl)"
    )]
    Old {
        /// Who said it.
        at: String,
        /// The block's height.
        height: u32,
        /// Time in the header of the block.
        time: crate::record::time::Seconds,
        /// Time of this machine's clock.
        now: crate::record::time::Seconds,
    },
    /// The node refuses the password.
    #[error("{at}: the node refuses the name and password: {mend}")]
    Denied {
        /// The address asked.
        at: String,
        /// How to mend it.
        mend: String,
    },
    /// The node is up but can't answer yet.
    #[error("{at}: the node is not ready: {said}; wait, or ask another source")]
    NotReady {
        /// The address asked.
        at: String,
        /// The node's words, escaped.
        said: String,
    },
    /// The node answers a plain question with an error.
    #[error("{at}: the node answers with {said}")]
    Refused {
        /// The address and method asked.
        at: String,
        /// The node's code and words, escaped.
        said: String,
    },
    /// A file can't be read.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// File that could not be read.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Two lines of a headers file name two blocks of one height.
    #[error(
        "{}: height {height} is block {first} on line {first_line} and {second} on line {second_line}; keep the \
         one of the best chain", path.display()
    )]
    TwoBlocks {
        /// File that names two blocks at one height.
        path: PathBuf,
        /// Height at which both blocks stand.
        height: u32,
        /// The first block.
        first: Hash32,
        /// Its line, from 1.
        first_line: u64,
        /// The second block.
        second: Hash32,
        /// Its line, from 1.
        second_line: u64,
    },
}

impl SourceFault {
    /// Whether the answer itself was false, not just missing: what makes a source a liar.
    pub fn is_lie(&self) -> bool {
        matches!(
            self,
            SourceFault::Lie { .. }
                | SourceFault::OtherHeight { .. }
                | SourceFault::OtherNetwork { .. }
                | SourceFault::Cheap { .. }
                | SourceFault::TwoHeights { .. }
        )
    }

    /// Whether it is named to the person beside an answer of others: a lie, or a block that is too
    /// old to stand on.
    pub fn is_dropped(&self) -> bool {
        self.is_lie() || matches!(self, SourceFault::Old { .. })
    }

    /// Whether there was an answer that can't be taken: a false one, an old one, or no sense in it.
    pub fn is_refused(&self) -> bool {
        let is_nonsense = matches!(
            self,
            SourceFault::Malformed { .. } | SourceFault::TooLong { .. }
        );
        is_nonsense || self.is_dropped()
    }
}

/// Foreign bytes as a message may show them: printable ASCII, escaped, the first 80 characters.
fn shown(bytes: &[u8]) -> String {
    /// Enough to see what it is; a screen line has more to say.
    const SHOWN: usize = 80;
    String::from_utf8_lossy(bytes)
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_default)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_bytes_cannot_write_on_the_screen() {
        let hostile = b"\x1b[2J<html>\r\n'\xff\xe2\x80\xae";
        assert_eq!(
            shown(hostile),
            "\\u{1b}[2J<html>\\r\\n\\'\\u{fffd}\\u{202e}"
        );
        assert_eq!(shown(&[b'a'; 500]).len(), 80);
    }
}
