//! A block explorer on loopback that speaks the Esplora wire format: honest, or wrong in one way.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::oneshot;

/// Real mainnet headers, `height,hash,header`.
pub const HEADERS: &str = include_str!("../data/btc/headers.csv");
/// A real orphaned block of height 823226, whose rival is in [`HEADERS`].
pub const STALE: &str = include_str!("../data/btc/stale.csv");

/// What an explorer knows: height → hash and header.
#[derive(Clone, Default)]
pub struct Chain(BTreeMap<u32, (String, String)>);

impl Chain {
    /// The real blocks of these heights that `tests/data/btc/headers.csv` holds; at least one.
    pub fn real(heights: RangeInclusive<u32>) -> Self {
        let rows = rows(HEADERS)
            .into_iter()
            .filter(|row| heights.contains(&row.0));
        let chain = Chain(
            rows.map(|(height, hash, header)| (height, (hash, header)))
                .collect(),
        );
        assert!(!chain.0.is_empty(), "no copied headers in {heights:?}");
        chain
    }

    /// The same with one block put in or replaced.
    pub fn with(mut self, height: u32, hash: &str, header: &str) -> Self {
        self.0.insert(height, (hash.to_owned(), header.to_owned()));
        self
    }

    /// Hash and header of a height.
    pub fn block(&self, height: u32) -> (&str, &str) {
        let (hash, header) = &self.0[&height];
        (hash, header)
    }
}

/// The rows of a headers CSV.
pub fn rows(csv: &str) -> Vec<(u32, String, String)> {
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        (
            cells[0].parse().unwrap(),
            cells[1].to_owned(),
            cells[2].to_owned(),
        )
    };
    csv.lines().skip(1).map(row).collect()
}

/// The three questions of the dialect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    Tip,
    Hash,
    Header,
}

/// How it answers.
#[derive(Clone)]
pub enum Manner {
    /// As a real one.
    Honest,
    /// Only after this long.
    Slow(Duration),
    /// This, to one question.
    Says(Route, u16, Vec<u8>),
    /// The right answer to one question, broken off.
    Cut(Route),
    /// A body to one question that never ends.
    Endless(Route),
    /// 302 to this address for everything.
    Redirects(String),
}

struct Explorer {
    chain: Mutex<Chain>,
    manner: Mutex<Manner>,
    asked: AtomicUsize,
}

/// A running explorer; stops, whatever it is doing, when it is dropped.
pub struct EsploraServer {
    url: String,
    explorer: Arc<Explorer>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl EsploraServer {
    /// Serves a chain honestly on a free port.
    pub fn start(chain: Chain) -> Self {
        Self::start_with(chain, Manner::Honest)
    }

    /// Serves a chain on a free port, in its manner.
    pub fn start_with(chain: Chain, manner: Manner) -> Self {
        let explorer = Arc::new(Explorer {
            chain: Mutex::new(chain),
            manner: Mutex::new(manner),
            asked: AtomicUsize::new(0),
        });
        // Bound here, so that a question asked right after start finds it.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let served = explorer.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    served = async { axum::serve(listener, router(served)).await } => served.unwrap(),
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        EsploraServer {
            url,
            explorer,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The base address, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Replaces the chain: a new block, a reorganisation.
    pub fn set_chain(&self, chain: Chain) {
        *self.explorer.chain.lock().unwrap() = chain;
    }

    /// Changes how it answers from now on.
    pub fn set_manner(&self, manner: Manner) {
        *self.explorer.manner.lock().unwrap() = manner;
    }

    /// How many questions it was asked.
    pub fn asked(&self) -> usize {
        self.explorer.asked.load(Ordering::SeqCst)
    }
}

impl Drop for EsploraServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _panicked_in_its_own_thread = thread.join();
        }
    }
}

type Shared = State<Arc<Explorer>>;

fn router(explorer: Arc<Explorer>) -> Router {
    Router::new()
        .route("/blocks/tip/height", get(tip))
        .route("/block-height/{height}", get(hash))
        .route("/block/{hash}/header", get(header))
        .route("/blocks/{height}", get(page))
        .with_state(explorer)
}

async fn tip(State(explorer): Shared) -> Response {
    let text = explorer
        .chain
        .lock()
        .unwrap()
        .0
        .keys()
        .next_back()
        .map(u32::to_string);
    answer(&explorer, Route::Tip, text).await
}

async fn hash(State(explorer): Shared, Path(height): Path<u32>) -> Response {
    let text = explorer
        .chain
        .lock()
        .unwrap()
        .0
        .get(&height)
        .map(|block| block.0.clone());
    answer(&explorer, Route::Hash, text).await
}

async fn header(State(explorer): Shared, Path(hash): Path<String>) -> Response {
    let text = explorer
        .chain
        .lock()
        .unwrap()
        .0
        .values()
        .find(|block| block.0 == hash)
        .map(|block| block.1.clone());
    answer(&explorer, Route::Header, text).await
}

/// Ten blocks from a height down, as Esplora lists them.
async fn page(State(explorer): Shared, Path(height): Path<u32>) -> Response {
    let listed = |(height, (hash, header)): (&u32, &(String, String))| {
        let bytes = hex::decode(header).unwrap();
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let reversed = |at: usize| {
            hex::encode(
                bytes[at..at + 32]
                    .iter()
                    .rev()
                    .copied()
                    .collect::<Vec<u8>>(),
            )
        };
        serde_json::json!({
            "id": hash, "height": height, "version": number(0), "timestamp": number(68), "tx_count": 1, "size": 285,
            "weight": 1140, "merkle_root": reversed(36), "mediantime": number(68), "nonce": number(76),
            "previousblockhash": if *height == 0 { None } else { Some(reversed(4)) }, "bits": number(72), "difficulty": 1.0,
        })
    };
    let blocks: Vec<_> = explorer
        .chain
        .lock()
        .unwrap()
        .0
        .range(..=height)
        .rev()
        .take(10)
        .map(listed)
        .collect();
    answer(
        &explorer,
        Route::Hash,
        Some(serde_json::Value::from(blocks).to_string()),
    )
    .await
}

async fn answer(explorer: &Explorer, route: Route, text: Option<String>) -> Response {
    explorer.asked.fetch_add(1, Ordering::SeqCst);
    let manner = explorer.manner.lock().unwrap().clone();
    match manner {
        Manner::Slow(wait) => tokio::time::sleep(wait).await,
        Manner::Says(at, status, body) if at == route => {
            return (StatusCode::from_u16(status).unwrap(), body).into_response();
        }
        Manner::Cut(at) if at == route => return cut(text.unwrap_or_default()),
        Manner::Endless(at) if at == route => return endless(),
        Manner::Redirects(to) => return (StatusCode::FOUND, [("location", to)]).into_response(),
        _ => {}
    }
    // A Rust string goes out as text/plain, without a newline: as a real one answers.
    text.map_or_else(
        || (StatusCode::NOT_FOUND, "Block not found").into_response(),
        IntoResponse::into_response,
    )
}

fn cut(text: String) -> Response {
    let half = text[..text.len() / 2].to_owned();
    let parts = [Ok(half), Err(std::io::Error::other("broken off"))];
    Body::from_stream(futures_util::stream::iter(parts)).into_response()
}

fn endless() -> Response {
    let part = || Ok::<_, std::io::Error>("0".repeat(1024));
    Body::from_stream(futures_util::stream::iter(std::iter::repeat_with(part))).into_response()
}
