//! An OpenTimestamps calendar on loopback: honest, or wrong in one way; and blocks of a regtest
//! chain made by hand.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gently::record::bitcoin::block::Header;
use gently::record::ots::{Attestation, Op, ProofNode};
use tokio::sync::oneshot;

/// How it answers what is handed in.
#[derive(Clone)]
pub enum Manner {
    /// As a real one.
    Honest,
    /// Only after this long.
    Slow(Duration),
    /// This, whatever it is given.
    Says(u16, Vec<u8>),
    /// With a promise of somebody else.
    PromisesOf(&'static str),
    /// With a proof that is said to be in a block already.
    InBlock(u64),
}

struct Calendar {
    url: String,
    nonce: u8,
    manner: Mutex<Manner>,
    digests: Mutex<Vec<Vec<u8>>>,
    commitments: Mutex<Vec<Vec<u8>>>,
    asked: Mutex<Vec<String>>,
    arrivals: Mutex<Vec<Instant>>,
    /// What it answers to a commitment, in hexadecimal.
    answers: Mutex<BTreeMap<String, Vec<u8>>>,
}

/// A running calendar; stops when it is dropped.
pub struct CalendarServer {
    calendar: Arc<Calendar>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl CalendarServer {
    /// An honest one on a free port; `nonce` tells its answers from others'.
    pub fn start(nonce: u8) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let calendar = Arc::new(Calendar {
            url: format!("http://{}", listener.local_addr().unwrap()),
            nonce,
            manner: Mutex::new(Manner::Honest),
            digests: Mutex::default(),
            commitments: Mutex::default(),
            asked: Mutex::default(),
            arrivals: Mutex::default(),
            answers: Mutex::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let router = Router::new()
            .route("/digest", post(digest))
            .route("/timestamp/{hex}", get(timestamp))
            .with_state(calendar.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    served = async { axum::serve(listener, router).await } => served.unwrap(),
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        CalendarServer {
            calendar,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Its address, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.calendar.url
    }

    /// Changes how it answers from now on.
    pub fn set_manner(&self, manner: Manner) {
        *self.calendar.manner.lock().unwrap() = manner;
    }

    /// What was handed in, in order.
    pub fn digests(&self) -> Vec<Vec<u8>> {
        self.calendar.digests.lock().unwrap().clone()
    }

    /// What it has promised to put into a block, in order.
    pub fn commitments(&self) -> Vec<Vec<u8>> {
        self.calendar.commitments.lock().unwrap().clone()
    }

    /// The commitments that it was asked for, in hexadecimal.
    pub fn asked(&self) -> Vec<String> {
        self.calendar.asked.lock().unwrap().clone()
    }

    /// When something was last handed in.
    pub fn last_arrival(&self) -> Option<Instant> {
        self.calendar.arrivals.lock().unwrap().last().copied()
    }

    /// From now on answers a commitment with this.
    pub fn answers(&self, commitment: &[u8], answer: Vec<u8>) {
        self.calendar
            .answers
            .lock()
            .unwrap()
            .insert(hex::encode(commitment), answer);
    }

    /// Puts a commitment into the block of a height: answers with a proof, and gives the Merkle
    /// root that it ends in.
    pub fn attest(&self, commitment: &[u8], height: u64) -> [u8; 32] {
        let (tree, root) = in_block(commitment, b"a transaction around it", height);
        self.answers(commitment, tree.print());
        root
    }
}

impl Drop for CalendarServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _panicked_in_its_own_thread = thread.join();
        }
    }
}

/// A proof that leads from a message through something before it into a block, and the root it ends
/// in.
pub fn in_block(message: &[u8], before: &[u8], height: u64) -> (ProofNode, [u8; 32]) {
    let ops = [Op::Prepend(before.to_vec()), Op::Sha256, Op::Sha256];
    let tree = ProofNode::chain(ops.into_iter(), Attestation::Bitcoin { height });
    let root = tree.leaves(message).unwrap()[0].message.clone();
    (tree, root.try_into().unwrap())
}

async fn digest(State(calendar): State<Arc<Calendar>>, body: Bytes) -> Response {
    calendar.digests.lock().unwrap().push(body.to_vec());
    calendar.arrivals.lock().unwrap().push(Instant::now());
    let manner = calendar.manner.lock().unwrap().clone();
    let mut uri = calendar.url.clone();
    match manner {
        Manner::Honest => {}
        Manner::Slow(wait) => tokio::time::sleep(wait).await,
        Manner::Says(status, body) => {
            return (StatusCode::from_u16(status).unwrap(), body).into_response();
        }
        Manner::PromisesOf(other) => uri = other.to_owned(),
        Manner::InBlock(height) => return in_block(&body, b"x", height).0.print().into_response(),
    }
    let ops = [Op::Append(vec![calendar.nonce; 16]), Op::Sha256];
    let tree = ProofNode::chain(ops.into_iter(), Attestation::Pending { uri });
    let commitment = tree.leaves(&body).unwrap()[0].message.clone();
    calendar.commitments.lock().unwrap().push(commitment);
    tree.print().into_response()
}

async fn timestamp(State(calendar): State<Arc<Calendar>>, Path(hex): Path<String>) -> Response {
    calendar.asked.lock().unwrap().push(hex.clone());
    let manner = calendar.manner.lock().unwrap().clone();
    if let Manner::Slow(wait) = manner {
        tokio::time::sleep(wait).await;
    }
    match calendar.answers.lock().unwrap().get(&hex) {
        Some(answer) => answer.clone().into_response(),
        None => (
            StatusCode::NOT_FOUND,
            "Pending confirmation in Bitcoin blockchain",
        )
            .into_response(),
    }
}

/// Real headers of a regtest node, from its first block on.
pub fn regtest_headers() -> Vec<Header> {
    let text = include_str!("../data/ots/regtest-headers.csv");
    text.lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect()
}

/// A header on top of another with this Merkle root; regtest asks for no work worth the name.
pub fn mined_on(before: &Header, root: [u8; 32]) -> Header {
    mined_at(
        before,
        root,
        u32::try_from(before.fields().time.get()).unwrap() + 600,
    )
}

/// The same, made now: it attests lines that were written before.
pub fn mined_now(before: &Header, root: [u8; 32]) -> Header {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    mined_at(
        before,
        root,
        u32::try_from(now.max(before.fields().time.get() + 1)).unwrap(),
    )
}

/// The same at a time of one's choice.
pub fn mined_at(before: &Header, root: [u8; 32], time: u32) -> Header {
    let mut bytes = *before.as_bytes();
    let mut prev = *before.hash().as_bytes();
    prev.reverse();
    bytes[4..36].copy_from_slice(&prev);
    bytes[36..68].copy_from_slice(&root);
    bytes[68..72].copy_from_slice(&time.to_le_bytes());
    for nonce in 0_u32.. {
        bytes[76..80].copy_from_slice(&nonce.to_le_bytes());
        let header = Header::from_bytes(bytes);
        if header.hash().as_bytes()[0] < 0x7f {
            return header;
        }
    }
    unreachable!("half of all nonces do")
}

/// Headers as `anchor.headers` reads them, from height 0.
pub fn csv(headers: &[Header]) -> String {
    let row = |(height, header): (usize, &Header)| format!("{height},{},{header}\n", header.hash());
    format!(
        "height,hash,header\n{}",
        headers.iter().enumerate().map(row).collect::<String>()
    )
}
