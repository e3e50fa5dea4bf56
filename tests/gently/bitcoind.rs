//! A Bitcoin node as block source: a small server with its answers, and a real one in regtest.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use gently::anchor::agree::{AgreementPolicy, Quorum, observe};
use gently::anchor::bitcoind::{Auth, Bitcoind};
use gently::anchor::{BlockSource, SourceFault};
use gently::record::bitcoin::block::{HeaderFault, Network, Source};
use gently::record::time::Seconds;
use serde_json::{Value, json};

use crate::esplora_server::Chain;
use crate::node::Node;
use crate::person::{Person, Ran};

const TIP: u32 = 829_619;
const PATIENT: AgreementPolicy = AgreementPolicy {
    quorum: Quorum::Of(1),
    deadline: Duration::from_secs(20),
};

/// What a server answers to a method and its parameters: status and body.
type Answers = fn(&str, &Value) -> (u16, String);

/// `user:password` as a client sends it.
const BASIC: &str = "Basic dXNlcjpwYXNzd29yZA==";

fn password(password: &str) -> Auth {
    Auth::Password {
        user: "user".to_owned(),
        password: password.to_owned().into(),
    }
}

/// Serves RPC answers on a free port for as long as the test's runtime lives.
async fn serve(answer: Answers) -> String {
    let handler = move |headers: HeaderMap, body: String| async move {
        if headers
            .get("authorization")
            .is_none_or(|value| value != BASIC)
        {
            return (StatusCode::UNAUTHORIZED, String::new());
        }
        let question: Value = serde_json::from_str(&body).unwrap();
        let (status, text) = answer(question["method"].as_str().unwrap(), &question["params"]);
        (StatusCode::from_u16(status).unwrap(), text)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/", post(handler))).await },
    );
    url
}

fn result(value: Value) -> (u16, String) {
    (
        200,
        json!({"result": value, "error": null, "id": "gently"}).to_string(),
    )
}

fn error(code: i64, message: &str) -> (u16, String) {
    (
        500,
        json!({"result": null, "error": {"code": code, "message": message}, "id": "gently"})
            .to_string(),
    )
}

/// A synced, pruned mainnet node.
fn honest(method: &str, params: &Value) -> (u16, String) {
    let chain = Chain::real(829_604..=TIP);
    let height = params[0]
        .as_u64()
        .map(|height| u32::try_from(height).unwrap());
    match method {
        "getblockchaininfo" => result(
            json!({"chain": "main", "blocks": TIP, "headers": TIP, "pruned": true,
            "bestblockhash": chain.block(TIP).0, "initialblockdownload": false, "warnings": []}),
        ),
        "getblockhash" if height.is_none_or(|height| height > TIP) => {
            error(-8, "Block height out of range")
        }
        "getblockhash" => result(json!(chain.block(height.unwrap()).0)),
        "getblockheader" => {
            assert_eq!(params[1], json!(false));
            let found = (829_604..=TIP)
                .map(|height| chain.block(height))
                .find(|block| params[0] == block.0);
            found.map_or_else(
                || error(-5, "Block not found"),
                |block| result(json!(block.1)),
            )
        }
        other => panic!("asked for {other}"),
    }
}

async fn fault_of(answer: Answers) -> SourceFault {
    Bitcoind::new(&serve(answer).await, Network::Bitcoin, password("password"))
        .unwrap()
        .tip()
        .await
        .unwrap_err()
}

#[tokio::test]
async fn a_nodes_tip_is_an_anchor() {
    let node = Bitcoind::new(&serve(honest).await, Network::Bitcoin, password("password")).unwrap();
    assert_eq!(node.kind(), Source::Bitcoind);
    let tip = node.tip().await.unwrap();
    assert_eq!(
        (
            tip.block.height,
            tip.block.source,
            tip.check(Network::Bitcoin)
        ),
        (TIP, Source::Bitcoind, Ok(()))
    );
    assert_eq!(node.at(829_610).await.unwrap().block.height, 829_610);
    assert!(matches!(
        node.at(TIP + 1).await,
        Err(SourceFault::UnknownHeight { .. })
    ));
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
    assert!(
        matches!(fault, SourceFault::Denied { .. }) && !fault.to_string().contains("of the start"),
        "{fault}"
    );
    std::fs::write(&cookie, "user:password").unwrap();
    assert_eq!(node.tip().await.unwrap().block.height, TIP);
}

#[tokio::test]
async fn a_wrong_password_is_told_without_telling_it() {
    let node = Bitcoind::new(&serve(honest).await, Network::Bitcoin, password("hunter2")).unwrap();
    let fault = node.tip().await.unwrap_err();
    assert!(matches!(fault, SourceFault::Denied { .. }), "{fault}");
    assert!(
        fault.to_string().contains("rpcpassword") && !fault.to_string().contains("hunter2"),
        "{fault}"
    );
}

#[tokio::test]
async fn a_node_that_cannot_answer_says_why() {
    let warm = fault_of(|_, _| error(-28, "Verifying blocks\u{1b}[2J…")).await;
    assert!(
        matches!(warm, SourceFault::NotReady { .. }) && !warm.to_string().contains('\u{1b}'),
        "{warm}"
    );
    let syncing = fault_of(|_, _| {
        result(json!({"chain": "main", "blocks": 5, "bestblockhash": "0".repeat(64), "initialblockdownload": true}))
    })
    .await;
    assert!(matches!(syncing, SourceFault::NotReady { .. }), "{syncing}");
    let other = fault_of(|_, _| {
        result(json!({"chain": "test", "blocks": 5, "bestblockhash": "0".repeat(64)}))
    })
    .await;
    assert!(
        matches!(other, SourceFault::OtherNetwork { .. }) && other.is_lie(),
        "{other}"
    );
    assert!(matches!(
        fault_of(|_, _| error(-32_601, "Method not found")).await,
        SourceFault::Refused { .. }
    ));
    assert!(matches!(
        fault_of(|_, _| (403, String::new())).await,
        SourceFault::Status { actual: 403, .. }
    ));
    assert!(matches!(
        fault_of(|_, _| (503, "Work queue depth".into())).await,
        SourceFault::Status { .. }
    ));
    let long = fault_of(|_, _| (200, "[".repeat(70_000))).await;
    assert!(matches!(long, SourceFault::TooLong { .. }), "{long}");
    let broken: [Answers; 6] = [
        |_, _| (200, "<html>".into()),
        |_, _| (200, String::new()),
        |_, _| (200, "{}".into()),
        |_, _| (200, "[".repeat(9_000)),
        |_, _| result(json!({"chain": "main", "blocks": -1, "bestblockhash": "0".repeat(64)})),
        |method, params| {
            if method == "getblockheader" {
                result(json!("00"))
            } else {
                honest(method, params)
            }
        },
    ];
    for (at, answer) in broken.into_iter().enumerate() {
        let fault = fault_of(answer).await;
        assert!(
            matches!(fault, SourceFault::Malformed { .. }),
            "case {at}: {fault}"
        );
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
    assert!(
        matches!(
            fault,
            SourceFault::Lie {
                fault: HeaderFault::Hash { .. },
                ..
            }
        ),
        "{fault}"
    );
}

#[tokio::test]
async fn a_real_node_in_regtest_is_a_source() {
    let Some(node) = Node::start() else { return };
    gently::net::install_tls_provider();
    let source =
        Bitcoind::new(&node.url, Network::Regtest, Auth::CookieFile(node.cookie())).unwrap();
    let mined = node.mine(5).await;
    let tip = source.tip().await.unwrap();
    assert_eq!(
        (tip.block.height, json!(tip.block.hash)),
        (5, mined[4].clone())
    );
    for height in 0..=5 {
        assert_eq!(
            source.at(height).await.unwrap().check(Network::Regtest),
            Ok(()),
            "block {height}"
        );
    }
    assert!(matches!(
        source.at(6).await,
        Err(SourceFault::UnknownHeight { height: 6, .. })
    ));

    let wrong = Bitcoind::new(&node.url, Network::Regtest, password("wrong")).unwrap();
    assert!(matches!(wrong.tip().await, Err(SourceFault::Denied { .. })));
    let elsewhere =
        Bitcoind::new(&node.url, Network::Bitcoin, Auth::CookieFile(node.cookie())).unwrap();
    assert!(matches!(
        elsewhere.tip().await,
        Err(SourceFault::OtherNetwork { .. })
    ));

    node.call("invalidateblock", json!([mined[4]])).await;
    let source: Box<dyn BlockSource> = Box::new(source);
    let observation = observe(&[source], Network::Regtest, PATIENT, tip.block.time).await;
    assert_eq!(json!(observation.anchor.block.hash), mined[3]);
    assert_eq!(
        (
            observation.anchor.block.branch().as_str(),
            observation.notices.len()
        ),
        ("branch-5", 0)
    );
}

/// Somebody whose ledger is of the node's chain, and who looks for a block before every prompt.
fn regtest(node: &Node) -> Person {
    let person = Person::with(&[]);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    for (key, value) in [
        ("anchor.bitcoind", format!("['{}']", node.url)),
        (
            "anchor.bitcoind_cookie",
            node.cookie().display().to_string(),
        ),
        ("anchor.look_again_s", "0".to_owned()),
        ("anchor.deadline_ms", "20000".to_owned()),
    ] {
        person.gently(&["config", "set", key, &value]).exits(0);
    }
    person
}

/// The heights of the log's lines of one event, in order.
fn heights(person: &Person, event: &str) -> Vec<u64> {
    let wanted = format!("|{event}|");
    let lines = person
        .log()
        .into_iter()
        .filter(|line| line.contains(&wanted));
    lines
        .map(|line| line.split('|').nth(1).unwrap().parse().unwrap())
        .collect()
}

/// Whether everything on record holds together, and what `not before` says.
#[track_caller]
fn sound(person: &Person) -> Value {
    let report = person
        .gently(&["audit", "verify", "--json", "--network", "regtest"])
        .exits(0)
        .json();
    assert_eq!(report["answers"]["consistent"], "yes", "{report}");
    assert_eq!(report["answers"]["complete"], "yes", "{report}");
    report["answers"]["not_before"].clone()
}

#[test]
fn a_session_lives_on_a_real_node() {
    let Some(node) = Node::start() else { return };
    let person = regtest(&node);
    // A chain of nothing but the first block shows no time.
    let status = person.gently(&["anchor", "status"]).exits(1);
    assert!(status.out.contains("no block yet"), "{status:?}");
    let first = person.ask("Is there a block?");
    assert!(
        first.err.contains("no block yet") && first.err.contains("no block: no source gave one"),
        "{first:?}"
    );
    person.gently(&["session", "close"]).exits(0);

    node.mines(3);
    let status = person
        .gently(&["anchor", "status", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&status["block"]["height"], &status["sources"][0]["kind"]),
        (&json!(3), &json!("bitcoind"))
    );
    assert!(person.ask("And now?").err.contains("block 3"));
    // Nothing new: no line.
    person.ask("And now?");
    assert!(heights(&person, "btc_anchor").is_empty());
    let mined = node.mines(2);
    let asked = person
        .gently(&["ask", "--json", "And now?"])
        .exits(0)
        .json();
    assert_eq!(asked["block"]["hash"], json!(mined[1]));
    assert_eq!(heights(&person, "btc_anchor"), [5]);
    node.mines(1);
    person.gently(&["session", "close"]).exits(0);
    assert_eq!(heights(&person, "session_end"), [0, 6]);
    assert_eq!(heights(&person, "session_start"), [0, 3]);
    assert_eq!(sound(&person), "yes");
}

#[test]
fn a_reorganisation_takes_no_session_back() {
    let Some(node) = Node::start() else { return };
    let person = regtest(&node);
    let mined = node.mines(5);
    assert!(person.ask("Which block?").err.contains("block 5"));
    // The two newest blocks are gone, and others come in their place, slowly.
    node.forgets(&mined[3]);
    assert!(person.ask("Which block?").err.contains("block 5"));
    let other = node.mines(1);
    assert!(person.ask("Which block?").err.contains("block 5"));
    assert!(heights(&person, "btc_anchor").is_empty());
    // The node is at height 4: the session ends on its own block, not on a lower one.
    let closed = person
        .gently(&["session", "close", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&closed[0]["block"]["height"], &closed[0]["block"]["hash"]),
        (&json!(5), &json!(mined[4]))
    );
    sound(&person);

    // Another block of the height that a session has seen already is no newer block, but it may end
    // it.
    assert!(person.ask("Which block?").err.contains("block 4"));
    node.forgets(&other[0]);
    let rival = node.mines(1);
    assert_ne!(rival, other);
    person.ask("Which block?");
    assert!(heights(&person, "btc_anchor").is_empty());
    let closed = person
        .gently(&["session", "close", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&closed[0]["block"]["height"], &closed[0]["block"]["hash"]),
        (&json!(4), &json!(rival[0]))
    );
    assert_eq!(sound(&person), "yes");
    assert_eq!(
        (
            heights(&person, "session_start"),
            heights(&person, "session_end")
        ),
        (vec![5, 4], vec![5, 4])
    );
}

#[test]
fn a_node_that_dies_leaves_the_local_clock() {
    let Some(mut node) = Node::start() else {
        return;
    };
    let person = regtest(&node);
    node.mines(2);
    person.ask("Are you there?");
    node.kill();
    let asked = person.ask("And now?");
    assert!(
        asked.err.contains("your clock alone says when") && asked.err.contains("block 2"),
        "{asked:?}"
    );
    person.gently(&["anchor", "status"]).exits(1);
    let closed = person.gently(&["session", "close"]).exits(0);
    assert!(
        closed.err.contains("your clock alone says when"),
        "{closed:?}"
    );
    assert_eq!(heights(&person, "session_end"), [0]);
    sound(&person);
    // Every start writes another cookie, and the file is read anew.
    node.start_again();
    // What it had not yet written to the disk is gone.
    node.mines(2);
    let back = person.ask("Back again?");
    assert!(
        !back.err.contains("no block") && !back.err.contains("your clock alone"),
        "{back:?}"
    );
    sound(&person);
}

#[test]
fn a_wrong_secret_is_told_and_never_shown() {
    let Some(node) = Node::start() else { return };
    node.mines(1);
    let mut person = regtest(&node);
    let stale = person.dir.path().join("stale");
    std::fs::write(&stale, "__cookie__:hunter2").unwrap();
    let refused = |person: &Person, said: &str| {
        let status = person.gently(&["anchor", "status"]).exits(1);
        assert!(status.out.contains(said), "{status:?}");
        let asked = person.ask("Does it know us?");
        assert!(
            asked.err.contains(said) && asked.err.contains("no block: no source gave one"),
            "{asked:?}"
        );
        for shown in [&status.out, &status.err, &asked.out, &asked.err] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        person.gently(&["session", "close"]).exits(0);
    };
    person.set(
        "GENTLY_ANCHOR_BITCOIND_COOKIE",
        &stale.display().to_string(),
    );
    refused(&person, "every start writes another");
    person.set(
        "GENTLY_ANCHOR_BITCOIND_COOKIE",
        &person.dir.path().join("none").display().to_string(),
    );
    refused(&person, "a node that runs writes it");

    // By name: the password comes from the variable that the configuration names, and from nowhere
    // else.
    let mut person = Person::with(&[]);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    person
        .gently(&[
            "config",
            "set",
            "anchor.bitcoind",
            &format!("['{}']", node.url),
        ])
        .exits(0);
    let unknown = person.gently(&["anchor", "status"]).exits(2);
    assert!(
        unknown
            .err
            .contains("gently config set anchor.bitcoind_cookie FILE"),
        "{unknown:?}"
    );
    let (user, password) = node.credentials();
    person
        .gently(&["config", "set", "anchor.bitcoind_user", &user])
        .exits(0);
    person
        .gently(&[
            "config",
            "set",
            "anchor.bitcoind_password_env",
            "NODE_SECRET",
        ])
        .exits(0);
    let missing = person.gently(&["ask", "Does it know us?"]).exits(2);
    assert!(missing.err.contains("NODE_SECRET"), "{missing:?}");
    person.set("NODE_SECRET", "hunter2");
    refused(&person, "rpcpassword");
    person.set("NODE_SECRET", &password);
    assert!(person.ask("Does it know us?").err.contains("block 1"));
    for (key, value) in [
        ("anchor.bitcoind_password", "hunter2"),
        ("anchor.bitcoind", "['http://u:hunter2@[::1]:1']"),
    ] {
        let put = person.gently(&["config", "set", key, value]).exits(2);
        assert!(
            put.err.contains("password") && !put.err.contains("hunter2"),
            "{put:?}"
        );
    }
    let file = person.at("gently.toml");
    let both = std::fs::read_to_string(&file).unwrap().replacen(
        "\n[anchor]",
        "\n[anchor]\nbitcoind_password = 'hunter2'",
        1,
    );
    std::fs::write(&file, both).unwrap();
    let refused = person.gently(&["ask", "Hi"]).exits(2);
    assert!(
        refused.err.contains("anchor.bitcoind_password_env") && !refused.err.contains("hunter2"),
        "{refused:?}"
    );
    for written in ["audit.log", "gently.db"] {
        let bytes = std::fs::read(person.at(written)).unwrap();
        assert!(
            !bytes.windows(7).any(|seen| seen == b"hunter2"),
            "{written}"
        );
    }
}

/// The program against a server with a node's answers, in a ledger of the real chain.
async fn with_stub(answer: Answers, args: &'static [&'static str]) -> Ran {
    let url = serve(answer).await;
    let run = move || {
        let mut person = Person::with(&[
            ("GENTLY_ANCHOR_ESPLORA", "[]"),
            ("GENTLY_ANCHOR_BITCOIND", &format!("['{url}']")),
            ("GENTLY_ANCHOR_BITCOIND_USER", "user"),
            ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
            ("BITCOIND_PASSWORD", "password"),
        ]);
        person.lives_after(TIP);
        person.gently(args)
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn a_node_that_is_not_ready_is_waited_for_by_nobody() {
    let pruned = with_stub(honest, &["ask", "Hi"]).await.exits(0);
    assert!(pruned.err.contains(&format!("block {TIP}")), "{pruned:?}");
    let warm: Answers = |_, _| error(-28, "Verifying blocks…");
    let syncing: Answers = |_, _| {
        result(
            json!({"chain": "main", "blocks": 5, "bestblockhash": "0".repeat(64), "initialblockdownload": true}),
        )
    };
    for (answer, said) in [
        (warm, "error -28"),
        (syncing, "still downloading the chain, at height 5"),
    ] {
        let status = with_stub(answer, &["anchor", "status", "--json"])
            .await
            .exits(1)
            .json();
        let fault = &status["sources"][0]["fault"].as_str().unwrap();
        assert!(
            fault.contains(said) && status["anchored"] == false,
            "{status}"
        );
        let asked = with_stub(answer, &["ask", "Hi"]).await.exits(0);
        assert!(
            asked.err.contains("not ready") && asked.err.contains("no block: no source gave one"),
            "{asked:?}"
        );
    }
}
