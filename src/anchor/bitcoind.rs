//! Blocks from one's own Bitcoin node, over its JSON-RPC.
//!
//! ```text
//! getblockchaininfo          → chain, blocks, bestblockhash, initialblockdownload   (one consistent answer)
//! getblockhash HEIGHT        → hash; error -8 beyond the tip
//! getblockheader HASH false  → 160 digits; pruned nodes keep all headers
//! ```

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use futures_util::future::{BoxFuture, FutureExt};
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{BlockSource, SourceFault, http, shown};
use crate::record::bitcoin::block::{Anchor, Block, Header, Network, Source};
use crate::record::hash::Hash32;

/// `getblockchaininfo` lists soft forks and warnings: a few KB in all releases so far.
const MAX_ANSWER: usize = 64 * 1024;

/// Two thousand headers with what is around them.
const MAX_BATCH: usize = 2 * 1024 * 1024;

/// A cookie is `__cookie__:` and 64 digits; a longer file is something else.
const MAX_COOKIE: u64 = 1024;

/// Where addresses of this kind are configured.
const KEY: &str = "anchor.bitcoind";

/// Bitcoin Core's code for "loading", "verifying": it will answer later.
const RPC_IN_WARMUP: i64 = -28;
/// Its code for a height beyond the tip.
const RPC_INVALID_PARAMETER: i64 = -8;

/// How the node knows us. Has no `Debug`: it holds a password.
pub enum Auth {
    /// `rpcuser` and `rpcpassword`, or a pair made for `rpcauth`.
    Password {
        /// User name for the node's RPC interface, as `rpcauth` has it.
        user: String,
        /// Password that belongs to the user name.
        password: Zeroizing<String>,
    },
    /// The `.cookie` file in the node's data directory; read anew at every question, since every
    /// start of the node writes another.
    CookieFile(PathBuf),
}

/// A node that speaks Bitcoin Core's JSON-RPC.
pub struct Bitcoind {
    name: String,
    base: Url,
    network: Network,
    auth: Auth,
    client: Client,
}

#[derive(Deserialize)]
struct ChainInfo {
    chain: String,
    blocks: u32,
    bestblockhash: Hash32,
    #[serde(default)]
    initialblockdownload: bool,
}

#[derive(Deserialize)]
struct RpcReply {
    #[serde(default)]
    result: Value,
    error: Option<RpcError>,
}

/// One answer of several.
#[derive(Deserialize)]
struct BatchReply {
    id: usize,
    #[serde(default)]
    result: Value,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    #[serde(default)]
    message: String,
}

/// What one call came to: the node's own errors are told apart by the question that was asked.
enum RpcOutcome<T> {
    Result(T),
    Error(RpcError),
}

impl Bitcoind {
    /// Prepares a node at an address such as `http://127.0.0.1:8332`; contacts nobody, reads no
    /// cookie.
    ///
    /// `https`, or `http` on loopback: the password goes over this connection. Fails with
    /// [`SourceFault::Address`] or [`SourceFault::Certificates`].
    pub fn new(address: &str, network: Network, auth: Auth) -> Result<Self, SourceFault> {
        let base = http::parse_base(address, KEY)?;
        let client = http::client(&base)?;
        let name = base.as_str().trim_end_matches('/').to_owned();
        Ok(Bitcoind {
            name,
            base,
            network,
            auth,
            client,
        })
    }

    async fn ask_tip(&self) -> Result<Anchor, SourceFault> {
        let info = self.chain_info().await?;
        self.header_of(info.bestblockhash, info.blocks).await
    }

    async fn ask_at(&self, height: u32) -> Result<Anchor, SourceFault> {
        self.chain_info().await?;
        match self
            .call("getblockhash", json!([height]), "a block hash of 64 digits")
            .await?
        {
            RpcOutcome::Result(hash) => self.header_of(hash, height).await,
            RpcOutcome::Error(error) if error.code == RPC_INVALID_PARAMETER => {
                Err(SourceFault::UnknownHeight {
                    at: self.name.clone(),
                    height,
                })
            }
            RpcOutcome::Error(error) => Err(self.failed("getblockhash", &error)),
        }
    }

    /// The node's chain, which must be the ledger's and, except in regtest, caught up: a node in
    /// its first download would give a block that is years old. (A regtest node says so whenever
    /// nobody mined for a day.)
    async fn chain_info(&self) -> Result<ChainInfo, SourceFault> {
        let method = "getblockchaininfo";
        let info: ChainInfo = match self
            .call(method, json!([]), "chain, blocks and bestblockhash")
            .await?
        {
            RpcOutcome::Result(info) => info,
            RpcOutcome::Error(error) => return Err(self.failed(method, &error)),
        };
        if info.chain != chain_name(self.network) {
            let actual = shown(info.chain.as_bytes());
            return Err(SourceFault::OtherNetwork {
                at: self.name.clone(),
                expected: self.network,
                actual,
            });
        }
        if info.initialblockdownload && self.network != Network::Regtest {
            let said = format!("still downloading the chain, at height {}", info.blocks);
            return Err(SourceFault::NotReady {
                at: self.name.clone(),
                said,
            });
        }
        Ok(info)
    }

    async fn header_of(&self, hash: Hash32, height: u32) -> Result<Anchor, SourceFault> {
        let (method, expected) = ("getblockheader", "a header of 160 digits");
        let text: String = match self.call(method, json!([hash, false]), expected).await? {
            RpcOutcome::Result(text) => text,
            RpcOutcome::Error(error) => return Err(self.failed(method, &error)),
        };
        let header: Header = text
            .parse()
            .map_err(|_| self.malformed(method, expected, text.as_bytes()))?;
        let block = Block {
            hash,
            height,
            network: self.network,
            source: Source::Bitcoind,
            time: header.fields().time,
        };
        Ok(Anchor {
            block,
            header: Some(header),
        })
    }

    /// The headers of `count` heights from `from` on, in two questions.
    ///
    /// ```text
    /// [getblockhash HEIGHT, …]          → [hash, …]
    /// [getblockheader HASH false, …]    → [160 digits, …]
    /// ```
    pub async fn headers(&self, from: u32, count: u32) -> Result<Vec<Header>, SourceFault> {
        let heights = (from..from.saturating_add(count))
            .map(|height| json!([height]))
            .collect();
        let hashes: Vec<Hash32> = self.batch("getblockhash", heights).await?;
        let hashes = hashes
            .into_iter()
            .map(|hash| json!([hash, false]))
            .collect();
        let texts: Vec<String> = self.batch("getblockheader", hashes).await?;
        let expected = "a header of 160 digits";
        let header = |text: &String| {
            text.parse()
                .map_err(|_| self.malformed("getblockheader", expected, text.as_bytes()))
        };
        texts.iter().map(header).collect()
    }

    /// One method with many parameters, answered in their order.
    async fn batch<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Vec<Value>,
    ) -> Result<Vec<T>, SourceFault> {
        let (at, count) = (format!("{} {method}", self.name), params.len());
        let (user, password) = self.credentials().await?;
        let one = |(id, params): (usize, Value)| json!({"jsonrpc": "1.0", "id": id, "method": method, "params": params});
        let questions: Vec<Value> = params.into_iter().enumerate().map(one).collect();
        let request = self
            .client
            .post(self.base.clone())
            .basic_auth(user, Some(password.as_str()))
            .json(&questions);
        let body = http::fetch(request, &at, MAX_BATCH).await?;
        if body.status == StatusCode::UNAUTHORIZED {
            return Err(SourceFault::Denied {
                at,
                mend: self.mend(),
            });
        }
        let wrong = || self.malformed(method, "an answer to each question", &body.bytes);
        let replies: Vec<BatchReply> = serde_json::from_slice(&body.bytes).map_err(|_| wrong())?;
        let mut results = std::collections::BTreeMap::new();
        for reply in replies {
            if let Some(error) = reply.error {
                return Err(self.failed(method, &error));
            }
            results.insert(
                reply.id,
                serde_json::from_value(reply.result).map_err(|_| wrong())?,
            );
        }
        let complete = results.len() == count
            && results
                .last_key_value()
                .is_none_or(|(last, _)| *last < count);
        if complete {
            Ok(results.into_values().collect())
        } else {
            Err(wrong())
        }
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
        expected: &'static str,
    ) -> Result<RpcOutcome<T>, SourceFault> {
        let at = format!("{} {method}", self.name);
        let (user, password) = self.credentials().await?;
        let question =
            json!({"jsonrpc": "1.0", "id": "gently", "method": method, "params": params});
        let request = self
            .client
            .post(self.base.clone())
            .basic_auth(user, Some(password.as_str()))
            .json(&question);
        let body = http::fetch(request, &at, MAX_ANSWER).await?;
        if body.status == StatusCode::UNAUTHORIZED {
            return Err(SourceFault::Denied {
                at,
                mend: self.mend(),
            });
        }
        // Errors come with status 500 or 404 and a JSON body; anything else with such a status is
        // no node.
        match serde_json::from_slice::<RpcReply>(&body.bytes) {
            Ok(RpcReply {
                error: Some(error), ..
            }) => Ok(RpcOutcome::Error(error)),
            Ok(RpcReply { result, .. }) if body.status == StatusCode::OK => {
                let shown_result = result.to_string();
                serde_json::from_value(result)
                    .map(RpcOutcome::Result)
                    .map_err(|_| self.malformed(method, expected, shown_result.as_bytes()))
            }
            Err(_) if body.status == StatusCode::OK => {
                Err(self.malformed(method, expected, &body.bytes))
            }
            Ok(_) | Err(_) => {
                let actual = body.status.as_u16();
                Err(SourceFault::Status {
                    at,
                    expected: 200,
                    actual,
                    said: shown(&body.bytes),
                })
            }
        }
    }

    async fn credentials(&self) -> Result<(String, Zeroizing<String>), SourceFault> {
        match &self.auth {
            Auth::Password { user, password } => Ok((user.clone(), password.clone())),
            Auth::CookieFile(path) => {
                let (read_from, of) = (path.clone(), |reason| SourceFault::Read {
                    path: path.clone(),
                    reason,
                });
                let read = tokio::task::spawn_blocking(move || read_cookie(&read_from)).await;
                let text = read.map_err(|e| of(e.to_string()))?.map_err(|error| {
                    of(format!(
                        "{error}; a node that runs writes it, into its data directory"
                    ))
                })?;
                let pair = text.trim_end().split_once(':');
                let (user, password) =
                    pair.ok_or_else(|| of("not a cookie of the form name:secret".into()))?;
                Ok((user.to_owned(), Zeroizing::new(password.to_owned())))
            }
        }
    }

    fn mend(&self) -> String {
        match &self.auth {
            Auth::Password { user, .. } => {
                format!(
                    "compare user '{}' and its password with rpcuser, rpcpassword or rpcauth of bitcoin.conf",
                    shown(user.as_bytes())
                )
            }
            Auth::CookieFile(path) => {
                format!(
                    "is {} the cookie of the node that runs there? every start writes another",
                    path.display()
                )
            }
        }
    }

    fn failed(&self, method: &str, error: &RpcError) -> SourceFault {
        let said = format!("error {}: {}", error.code, shown(error.message.as_bytes()));
        let at = format!("{} {method}", self.name);
        if error.code == RPC_IN_WARMUP {
            return SourceFault::NotReady { at, said };
        }
        SourceFault::Refused { at, said }
    }

    fn malformed(&self, method: &str, expected: &'static str, actual: &[u8]) -> SourceFault {
        SourceFault::Malformed {
            at: format!("{} {method}", self.name),
            expected,
            actual: shown(actual),
        }
    }
}

impl BlockSource for Bitcoind {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> Source {
        Source::Bitcoind
    }

    fn tip(&self) -> BoxFuture<'_, Result<Anchor, SourceFault>> {
        self.ask_tip().boxed()
    }

    fn at(&self, height: u32) -> BoxFuture<'_, Result<Anchor, SourceFault>> {
        self.ask_at(height).boxed()
    }
}

/// Reads at most [`MAX_COOKIE`] bytes, whatever the path is of.
fn read_cookie(path: &Path) -> std::io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    File::open(path)?
        .take(MAX_COOKIE)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// What the node calls a network.
const fn chain_name(network: Network) -> &'static str {
    match network {
        Network::Bitcoin => "main",
        Network::Testnet4 => "testnet4",
        Network::Signet => "signet",
        Network::Regtest => "regtest",
    }
}
