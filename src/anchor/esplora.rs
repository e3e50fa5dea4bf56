//! Blocks from an Esplora explorer over HTTP.
//!
//! ```text
//! GET BASE/blocks/tip/height   → 830592                 text/plain, no newline
//! GET BASE/block-height/830592 → 0000…c2d4              64 digits; 404 "Block not found"
//! GET BASE/block/HASH/header   → 00e0ff3f…              160 digits
//! ```

use std::sync::OnceLock;

use futures_util::future::{BoxFuture, FutureExt};
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;

use super::{BlockSource, SourceFault, http, shown};
use crate::record::bitcoin::block::{Anchor, Block, Header, Network, Source};
use crate::record::hash::Hash32;

/// The longest right answer is a header's 160 digits; error pages are cut long before they matter.
const MAX_ANSWER: usize = 4096;

/// Fifteen blocks with all that an explorer says of them.
const MAX_PAGE: usize = 128 * 1024;

/// A block as an explorer lists it.
#[derive(Deserialize)]
struct ExplorerBlock {
    id: Hash32,
    height: u32,
    version: i64,
    #[serde(default)]
    previousblockhash: Option<Hash32>,
    merkle_root: Hash32,
    timestamp: u32,
    bits: u32,
    nonce: u32,
}

impl ExplorerBlock {
    fn header(&self) -> Header {
        let mut bytes = [0; 80];
        let reversed = |hash: Hash32| {
            let mut bytes = *hash.as_bytes();
            bytes.reverse();
            bytes
        };
        // Some list the version signed, some not: the 32 bits are the same.
        let version = self.version.to_le_bytes();
        let prev = self.previousblockhash.map_or([0; 32], reversed);
        bytes[..4].copy_from_slice(&version[..4]);
        bytes[4..36].copy_from_slice(&prev);
        bytes[36..68].copy_from_slice(&reversed(self.merkle_root));
        bytes[68..72].copy_from_slice(&self.timestamp.to_le_bytes());
        bytes[72..76].copy_from_slice(&self.bits.to_le_bytes());
        bytes[76..].copy_from_slice(&self.nonce.to_le_bytes());
        Header::from_bytes(bytes)
    }
}

/// Where addresses of this kind are configured.
const KEY: &str = "anchor.esplora";

/// An explorer that speaks the Esplora REST dialect.
pub struct Esplora {
    name: String,
    base: Url,
    network: Network,
    /// Made with the first question: reading a CA store takes longer than most turns need it.
    client: OnceLock<Client>,
}

impl Esplora {
    /// Prepares an explorer at a base address, with or without a slash at its end; contacts nobody.
    ///
    /// `https`, or `http` on loopback. The network is what the explorer is believed to serve:
    /// Esplora does not say, the header's work shows it. Fails with [`SourceFault::Address`]; that
    /// a machine has no CA store is said by the first question ([`SourceFault::Certificates`]).
    pub fn new(address: &str, network: Network) -> Result<Self, SourceFault> {
        let base = http::parse_base(address, KEY)?;
        let name = base.as_str().trim_end_matches('/').to_owned();
        Ok(Esplora {
            name,
            base,
            network,
            client: OnceLock::new(),
        })
    }

    fn client(&self) -> Result<&Client, SourceFault> {
        match self.client.get() {
            Some(client) => Ok(client),
            None => http::client(&self.base).map(|client| self.client.get_or_init(|| client)),
        }
    }

    async fn ask_tip(&self) -> Result<Anchor, SourceFault> {
        let at = "blocks/tip/height";
        let text = self
            .ask(at)
            .await?
            .ok_or_else(|| self.malformed(at, "a height", b"Block not found"))?;
        let height =
            parse_height(&text).ok_or_else(|| self.malformed(at, "a height", text.as_bytes()))?;
        self.ask_at(height).await
    }

    async fn ask_at(&self, height: u32) -> Result<Anchor, SourceFault> {
        let unknown = || SourceFault::UnknownHeight {
            at: self.name.clone(),
            height,
        };
        let at = format!("block-height/{height}");
        let text = self.ask(&at).await?.ok_or_else(unknown)?;
        let hash: Hash32 = text
            .parse()
            .map_err(|_| self.malformed(&at, "a block hash of 64 digits", text.as_bytes()))?;
        let at = format!("block/{hash}/header");
        // A block that was orphaned between the two questions is 404 here.
        let text = self.ask(&at).await?.ok_or_else(unknown)?;
        let header: Header = text
            .parse()
            .map_err(|_| self.malformed(&at, "a header of 160 digits", text.as_bytes()))?;
        let block = Block {
            hash,
            height,
            network: self.network,
            source: Source::Esplora,
            time: header.fields().time,
        };
        Ok(Anchor {
            block,
            header: Some(header),
        })
    }

    /// The headers of heights `from..to`, at most ten, in one question.
    ///
    /// ```text
    /// GET BASE/blocks/HEIGHT   → [{"id","height","version","previousblockhash","merkle_root","timestamp","bits","nonce",…}, …]
    /// ```
    /// An answer lists blocks from HEIGHT down, ten or more. Each header is put together from its
    /// fields and must have the hash that it is listed under.
    pub async fn headers(&self, from: u32, to: u32) -> Result<Vec<Header>, SourceFault> {
        let at = format!("blocks/{}", to.saturating_sub(1));
        let url = self
            .base
            .join(&at)
            .map_err(|_| self.malformed(&at, "a path", at.as_bytes()))?;
        let body = http::fetch(
            self.client()?.get(url),
            &format!("{}/{at}", self.name),
            MAX_PAGE,
        )
        .await?;
        if body.status != StatusCode::OK {
            let (at, actual) = (format!("{}/{at}", self.name), body.status.as_u16());
            return Err(SourceFault::Status {
                at,
                expected: 200,
                actual,
                said: shown(&body.bytes),
            });
        }
        let wrong = |expected| self.malformed(&at, expected, &body.bytes);
        let listed: Vec<ExplorerBlock> =
            serde_json::from_slice(&body.bytes).map_err(|_| wrong("a list of blocks"))?;
        let mut headers = std::collections::BTreeMap::new();
        for block in listed
            .into_iter()
            .filter(|block| (from..to).contains(&block.height))
        {
            let header = block.header();
            if header.hash() != block.id {
                return Err(wrong("blocks whose fields hash to their id"));
            }
            headers.insert(block.height, header);
        }
        if headers.len() != to.saturating_sub(from) as usize {
            return Err(wrong("every block down from the height asked for"));
        }
        Ok(headers.into_values().collect())
    }

    /// One answer as text without white space at its end; none for a 404.
    async fn ask(&self, path: &str) -> Result<Option<String>, SourceFault> {
        let at = format!("{}/{path}", self.name);
        let url = self
            .base
            .join(path)
            .map_err(|_| self.malformed(path, "a path", path.as_bytes()))?;
        let body = http::fetch(self.client()?.get(url), &at, MAX_ANSWER).await?;
        match body.status {
            StatusCode::OK => match String::from_utf8(body.bytes) {
                Ok(text) => Ok(Some(text.trim_end().to_owned())),
                Err(error) => Err(self.malformed(path, "text", error.as_bytes())),
            },
            StatusCode::NOT_FOUND if body.bytes.starts_with(b"Block not found") => Ok(None),
            other => Err(SourceFault::Status {
                at,
                expected: 200,
                actual: other.as_u16(),
                said: shown(&body.bytes),
            }),
        }
    }

    fn malformed(&self, path: &str, expected: &'static str, actual: &[u8]) -> SourceFault {
        SourceFault::Malformed {
            at: format!("{}/{path}", self.name),
            expected,
            actual: shown(actual),
        }
    }
}

impl BlockSource for Esplora {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> Source {
        Source::Esplora
    }

    fn tip(&self) -> BoxFuture<'_, Result<Anchor, SourceFault>> {
        self.ask_tip().boxed()
    }

    fn at(&self, height: u32) -> BoxFuture<'_, Result<Anchor, SourceFault>> {
        self.ask_at(height).boxed()
    }
}

/// Parses a height as it prints: no sign, no leading zero.
pub(super) fn parse_height(text: &str) -> Option<u32> {
    let height = text.parse::<u32>().ok()?;
    (height.to_string() == text).then_some(height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_have_one_spelling() {
        assert_eq!(parse_height("0"), Some(0));
        assert_eq!(parse_height("4294967295"), Some(u32::MAX));
        for text in [
            "",
            "-1",
            "+1",
            "01",
            "1 ",
            "4294967296",
            "0x1",
            "1.0",
            "one",
        ] {
            assert_eq!(parse_height(text), None, "{text}");
        }
    }
}
