//! OpenTimestamps calendars: they take a digest, put it into a Bitcoin block with others, and tell
//! how (format, section 9).
//!
//! ```text
//! POST BASE/digest          32 bytes → a tree over them that ends in promises (pending attestations)
//! GET  URI/timestamp/HEX    the commitment that a promise is about → a tree over it; 404 while there is none
//! ```
//! A calendar is believed nothing. Of a promise only its address counts, and only one that is
//! configured or a known calendar's is kept: it is asked later. Of an answer to that question only
//! attestations of Bitcoin are kept, and whoever asked holds them against the block's header.

use reqwest::{Client, Method, StatusCode, Url};

use super::{SourceFault, http, shown};
use crate::record::ots::{Attestation, ProofNode};

/// What the stock client reads at most.
const MAX_ANSWER: usize = 10_000;
/// Where addresses of this kind are configured.
const KEY: &str = "ots.calendars";
/// The public calendars that the stock client asks, too; pools hand a digest on to one of them.
const KNOWN: &[&str] = &[
    ".calendar.opentimestamps.org",
    ".calendar.eternitywall.com",
    ".calendar.catallaxy.com",
];

/// A calendar that can be asked.
pub struct Calendar {
    name: String,
    base: Url,
    client: Client,
}

impl Calendar {
    /// Prepares a calendar at a base address; contacts nobody.
    ///
    /// `https`, or `http` on loopback. Fails with [`SourceFault::Address`], or with
    /// [`SourceFault::Certificates`] on a machine without a CA store.
    pub fn new(address: &str) -> Result<Self, SourceFault> {
        let base = http::parse_base(address, KEY)?;
        let client = http::client(&base)?;
        let name = base.as_str().trim_end_matches('/').to_owned();
        Ok(Calendar { name, base, client })
    }

    /// Its address, without a slash at its end.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hands in a digest; the tree over it holds promises of known calendars and nothing else.
    ///
    /// `configured` are the addresses that are known beside the public ones.
    pub async fn submit(
        &self,
        digest: &[u8],
        configured: &[String],
    ) -> Result<ProofNode, SourceFault> {
        let (at, body) = self
            .ask(Method::POST, "digest", Some(digest.to_vec()))
            .await?;
        let answer = self
            .tree(&at, body, digest)?
            .ok_or_else(|| self.useless(&at, "404"))?;
        let promises = |attestation: &Attestation| match attestation {
            Attestation::Pending { uri } => is_known(uri, configured),
            _ => false,
        };
        let kept = pruned(answer, &promises);
        kept.ok_or_else(|| {
            self.useless(&at, "no promise of a calendar that is configured or known")
        })
    }

    /// Asks what became of a commitment; the tree over it ends in Bitcoin blocks. None while there
    /// is no block.
    pub async fn complete(&self, commitment: &[u8]) -> Result<Option<ProofNode>, SourceFault> {
        let (at, body) = self
            .ask(
                Method::GET,
                &format!("timestamp/{}", hex::encode(commitment)),
                None,
            )
            .await?;
        let Some(answer) = self.tree(&at, body, commitment)? else {
            return Ok(None);
        };
        let blocks = |attestation: &Attestation| matches!(attestation, Attestation::Bitcoin { .. });
        pruned(answer, &blocks)
            .map(Some)
            .ok_or_else(|| self.useless(&at, "a proof that ends in no block"))
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<(String, http::HttpAnswer), SourceFault> {
        let at = format!("{}/{path}", self.name);
        let url = self
            .base
            .join(path)
            .map_err(|_| self.useless(&at, "no path"))?;
        let request = self
            .client
            .request(method, url)
            .header("Accept", "application/vnd.opentimestamps.v1");
        let request = match body {
            Some(body) => request.body(body),
            None => request,
        };
        let body = http::fetch(request, &at, MAX_ANSWER).await?;
        Ok((at, body))
    }

    /// The tree of an answer; none of a 404.
    fn tree(
        &self,
        at: &str,
        body: http::HttpAnswer,
        message: &[u8],
    ) -> Result<Option<ProofNode>, SourceFault> {
        match body.status {
            StatusCode::OK => match ProofNode::read(&body.bytes, message) {
                Ok(tree) => Ok(Some(tree)),
                Err(fault) => Err(self.useless(at, &fault.to_string())),
            },
            StatusCode::NOT_FOUND => Ok(None),
            other => Err(SourceFault::Status {
                at: at.to_owned(),
                expected: 200,
                actual: other.as_u16(),
                said: shown(&body.bytes),
            }),
        }
    }

    fn useless(&self, at: &str, actual: &str) -> SourceFault {
        SourceFault::Malformed {
            at: at.to_owned(),
            expected: "a timestamp",
            actual: shown(actual.as_bytes()),
        }
    }
}

/// Whether a promise's address is one that may be asked: a configured one, or a public calendar's.
pub fn is_known(uri: &str, configured: &[String]) -> bool {
    let uri = uri.trim_end_matches('/');
    let public = uri.strip_prefix("https://").is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        KNOWN.iter().any(|known| {
            host.strip_suffix(known)
                .is_some_and(|label| !label.is_empty() && !label.contains(':'))
        })
    });
    public
        || configured
            .iter()
            .any(|known| known.trim_end_matches('/') == uri)
}

/// The tree with these attestations only, and without branches that end in none; none when nothing
/// is left.
fn pruned(tree: ProofNode, keeps: &dyn Fn(&Attestation) -> bool) -> Option<ProofNode> {
    let attestations: std::collections::BTreeSet<_> =
        tree.attestations.into_iter().filter(|a| keeps(a)).collect();
    let branches: std::collections::BTreeMap<_, _> = tree
        .branches
        .into_iter()
        .filter_map(|(op, below)| Some((op, pruned(below, keeps)?)))
        .collect();
    (!attestations.is_empty() || !branches.is_empty()).then_some(ProofNode {
        attestations,
        branches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ots::Op;

    #[test]
    fn only_known_calendars_are_ever_asked() {
        let ours = ["http://127.0.0.1:14788/".to_owned()];
        for good in [
            "http://127.0.0.1:14788",
            "https://alice.btc.calendar.opentimestamps.org",
            "https://finney.calendar.eternitywall.com/",
            "https://btc.calendar.catallaxy.com",
        ] {
            assert!(is_known(good, &ours), "{good}");
        }
        for wrong in [
            "http://alice.btc.calendar.opentimestamps.org",
            "https://calendar.opentimestamps.org.example.org",
            "https://example.org/.calendar.opentimestamps.org",
            "https://.calendar.opentimestamps.org",
            "https://a.calendar.opentimestamps.org:22",
            "http://127.0.0.1:14789",
            "http://127.0.0.1:14788/x",
            "",
        ] {
            assert!(!is_known(wrong, &ours), "{wrong}");
        }
    }

    #[test]
    fn a_tree_keeps_what_was_asked_for() {
        let pending = |uri: &str| Attestation::Pending {
            uri: uri.to_owned(),
        };
        let block = Attestation::Bitcoin { height: 5 };
        let mut tree = ProofNode::chain([Op::Sha256, Op::Reverse].into_iter(), block.clone());
        tree.merge(ProofNode::chain([Op::Sha256].into_iter(), pending("a")));
        tree.merge(ProofNode::chain([Op::Sha1].into_iter(), pending("b")));
        let blocks = pruned(tree.clone(), &|a| matches!(a, Attestation::Bitcoin { .. })).unwrap();
        assert_eq!(
            blocks,
            ProofNode::chain([Op::Sha256, Op::Reverse].into_iter(), block)
        );
        let b = pruned(tree.clone(), &|a| *a == pending("b")).unwrap();
        assert_eq!(b, ProofNode::chain([Op::Sha1].into_iter(), pending("b")));
        assert_eq!(pruned(tree, &|_| false), None);
    }
}
