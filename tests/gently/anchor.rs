//! Block sources and their agreement, against explorers on loopback that serve real mainnet
//! headers.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::time::{Duration, Instant};

use gently::anchor::agree::{AgreementPolicy, Observation, Quorum, host, observe};
use gently::anchor::esplora::Esplora;
use gently::anchor::{BlockSource, SourceFault};
use gently::record::bitcoin::block::{Anchor, Block, Header, HeaderFault, Network, Source};
use gently::record::time::Seconds;

use crate::esplora_server::{Chain, EsploraServer, Manner, Route, STALE, rows};

/// The tip of most tests: block 829619 and its time.
const TIP: u32 = 829_619;

/// Loopback answers in a few milliseconds; this is for a machine that is busy with other tests.
const PATIENT: Duration = Duration::from_secs(20);
/// For tests that wait for the deadline to pass.
const HASTY: Duration = Duration::from_millis(300);
/// Longer than any deadline here; a server is stopped with its test.
const NEVER: Manner = Manner::Slow(Duration::from_secs(600));

fn chain() -> Chain {
    Chain::real(829_604..=TIP)
}

fn now() -> Seconds {
    header_of(&chain(), TIP).fields().time
}

fn header_of(chain: &Chain, height: u32) -> Header {
    chain.block(height).1.parse().unwrap()
}

fn explorer(server: &EsploraServer) -> Box<dyn BlockSource> {
    Box::new(Esplora::new(server.url(), Network::Bitcoin).unwrap())
}

async fn ask(servers: &[&EsploraServer], policy: AgreementPolicy) -> Observation {
    ask_at(servers, policy, now()).await
}

async fn ask_at(servers: &[&EsploraServer], policy: AgreementPolicy, now: Seconds) -> Observation {
    let sources: Vec<_> = servers.iter().map(|server| explorer(server)).collect();
    observe(&sources, Network::Bitcoin, policy, now).await
}

fn patient(quorum: usize) -> AgreementPolicy {
    AgreementPolicy {
        quorum: Quorum::Of(quorum),
        deadline: PATIENT,
    }
}

/// What one explorer's tip comes to, alone.
async fn fault_of(server: &EsploraServer) -> SourceFault {
    let observation = ask(&[server], patient(1)).await;
    assert_eq!(observation.anchor, Anchor::local(Network::Bitcoin, now()));
    let begins = match &observation.answers[0].outcome {
        Err(SourceFault::Unreachable { .. } | SourceFault::Timeout { .. }) => "Offline: ",
        _ => "No Bitcoin block, so your clock alone says when: ",
    };
    assert!(
        observation
            .notices
            .iter()
            .any(|note| note.starts_with(begins)),
        "{:?}",
        observation.notices
    );
    observation
        .answers
        .into_iter()
        .next()
        .unwrap()
        .outcome
        .unwrap_err()
}

async fn lie_of(chain: Chain) -> HeaderFault {
    match fault_of(&EsploraServer::start(chain)).await {
        SourceFault::Lie { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_right_answer_is_the_anchor() {
    let server = EsploraServer::start(chain());
    for address in [server.url().to_owned(), format!("{}/", server.url())] {
        let source: Box<dyn BlockSource> =
            Box::new(Esplora::new(&address, Network::Bitcoin).unwrap());
        assert_eq!(
            (source.name(), source.kind()),
            (server.url(), Source::Esplora)
        );
        let observation = observe(&[source], Network::Bitcoin, patient(1), now()).await;
        let chain = chain();
        let (hash, header) = chain.block(TIP);
        let block = Block {
            hash: hash.parse().unwrap(),
            height: TIP,
            network: Network::Bitcoin,
            source: Source::Esplora,
            time: now(),
        };
        assert_eq!(
            observation.anchor,
            Anchor {
                block: block.clone(),
                header: Some(header.parse().unwrap())
            }
        );
        assert_eq!(observation.answers[0].outcome, Ok(block));
        assert_eq!(observation.notices, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_source_answers_for_a_height_or_says_that_it_has_none() {
    let server = EsploraServer::start(chain());
    let source = explorer(&server);
    assert_eq!(
        source.at(829_610).await.unwrap().header,
        Some(header_of(&chain(), 829_610))
    );
    let fault = source.at(TIP + 1).await.unwrap_err();
    assert_eq!(
        fault,
        SourceFault::UnknownHeight {
            at: server.url().to_owned(),
            height: TIP + 1
        }
    );
}

#[tokio::test]
async fn the_tip_is_never_remembered() {
    let server = EsploraServer::start(Chain::real(829_604..=TIP - 1));
    let source = explorer(&server);
    assert_eq!(server.asked(), 0, "naming a source contacts nobody");
    assert_eq!(source.tip().await.unwrap().block.height, TIP - 1);
    assert_eq!(server.asked(), 3);
    server.set_chain(chain());
    assert_eq!(source.tip().await.unwrap().block.height, TIP);
}

#[test]
fn loopback_needs_no_certificates_and_no_proxy() {
    // Environment variables are a process's own, so the question is asked in a child.
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "anchor::in_a_host_without_certificates",
            "--ignored",
            "--nocapture",
        ])
        .env("SSL_CERT_FILE", "/dev/null")
        .env("SSL_CERT_DIR", "/dev/null")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("ALL_PROXY", "http://127.0.0.1:1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[tokio::test]
#[ignore = "run by loopback_needs_no_certificates_and_no_proxy, in an environment of its own"]
async fn in_a_host_without_certificates() {
    let server = EsploraServer::start(chain());
    assert_eq!(explorer(&server).tip().await.unwrap().block.height, TIP);
    let elsewhere = Esplora::new("https://example.invalid/api", Network::Bitcoin).unwrap();
    let fault = elsewhere.tip().await.unwrap_err();
    assert!(matches!(fault, SourceFault::Certificates { .. }), "{fault}");
    assert!(
        fault
            .to_string()
            .contains("apt-get install ca-certificates"),
        "{fault}"
    );
}

#[tokio::test]
async fn lies_are_told_apart() {
    let real = chain();
    let (hash, header) = real.block(TIP);
    let other = "0".repeat(63) + "1";
    assert!(matches!(
        lie_of(chain().with(TIP, &other, header)).await,
        HeaderFault::Hash { .. }
    ));

    let easy = mined(0x207f_ffff);
    let easy_chain = chain().with(TIP + 1, &easy.hash().to_string(), &easy.to_string());
    assert!(matches!(
        lie_of(easy_chain).await,
        HeaderFault::Limit {
            actual: 0x207f_ffff,
            ..
        }
    ));

    let testnet = bitcoin::constants::genesis_block(bitcoin::Network::Testnet4).header;
    let testnet: Header = bitcoin::consensus::encode::serialize_hex(&testnet)
        .parse()
        .unwrap();
    let testnet_chain = chain().with(TIP + 1, &testnet.hash().to_string(), &testnet.to_string());
    assert!(matches!(
        lie_of(testnet_chain).await,
        HeaderFault::Epoch {
            actual: 0x1d00_ffff,
            ..
        }
    ));

    // The real tip said to be years older, where blocks were easier.
    let elsewhere = Chain::default().with(200_000, hash, header);
    assert!(matches!(
        lie_of(elsewhere).await,
        HeaderFault::Epoch {
            height: 200_000,
            ..
        }
    ));
}

#[tokio::test]
async fn a_liar_is_named_and_dropped_however_high_it_claims() {
    let honest = EsploraServer::start(chain());
    let easy = mined(0x207f_ffff);
    let liar =
        EsploraServer::start(chain().with(TIP + 9, &easy.hash().to_string(), &easy.to_string()));
    let observation = ask(&[&liar, &honest], patient(1)).await;
    assert_eq!(observation.anchor.block.height, TIP);
    assert_eq!(observation.notices.len(), 1, "{:?}", observation.notices);
    assert!(
        observation.notices[0].contains(liar.url()) && observation.notices[0].contains("dropped")
    );
    assert!(
        observation.answers[0]
            .outcome
            .as_ref()
            .unwrap_err()
            .is_lie()
    );
}

#[tokio::test]
async fn every_broken_answer_has_its_own_fault() {
    let says = |route, status, body: &[u8]| Manner::Says(route, status, body.to_vec());
    type Expected = fn(&SourceFault) -> bool;
    let malformed: Expected = |fault| matches!(fault, SourceFault::Malformed { .. });
    let status: Expected = |fault| matches!(fault, SourceFault::Status { .. });
    let long: Expected = |fault| matches!(fault, SourceFault::TooLong { .. });
    let unreachable: Expected = |fault| matches!(fault, SourceFault::Unreachable { .. });
    let unknown: Expected = |fault| matches!(fault, SourceFault::UnknownHeight { .. });
    let whole = header_of(&chain(), TIP).to_string();
    let cases = [
        (says(Route::Tip, 200, b"<html>\x1b[2J"), malformed),
        (says(Route::Tip, 200, b"-1"), malformed),
        (says(Route::Tip, 200, b"4294967296"), malformed),
        (says(Route::Tip, 200, b""), malformed),
        (says(Route::Tip, 200, b"\xff\xfe"), malformed),
        (says(Route::Tip, 404, b"Block not found"), malformed),
        (says(Route::Hash, 200, b"0000"), malformed),
        (says(Route::Hash, 200, b"../../../etc"), malformed),
        (
            says(Route::Header, 200, &whole.as_bytes()[..158]),
            malformed,
        ),
        (
            says(Route::Header, 200, whole.to_uppercase().as_bytes()),
            malformed,
        ),
        (says(Route::Header, 404, b"Block not found"), unknown),
        (says(Route::Header, 404, b"no such page"), status),
        (says(Route::Tip, 500, b"oops"), status),
        (says(Route::Tip, 429, b"slow down"), status),
        (says(Route::Header, 200, &[b'0'; 5000]), long),
        (Manner::Endless(Route::Hash), long),
        (Manner::Cut(Route::Header), unreachable),
    ];
    let server = EsploraServer::start(chain());
    for (at, (manner, expected)) in cases.into_iter().enumerate() {
        server.set_manner(manner);
        let fault = fault_of(&server).await;
        assert!(expected(&fault), "case {at}: {fault}");
        assert!(
            fault.to_string().contains(server.url()) && !fault.to_string().contains('\u{1b}'),
            "{fault}"
        );
    }
    server.set_manner(Manner::Honest);
    assert_eq!(ask(&[&server], patient(1)).await.anchor.block.height, TIP);
}

#[tokio::test]
async fn a_refused_connection_is_no_anchor_and_says_so_once() {
    let gone = EsploraServer::start(chain());
    let address = gone.url().to_owned();
    drop(gone);
    let source: Box<dyn BlockSource> = Box::new(Esplora::new(&address, Network::Bitcoin).unwrap());
    let observation = observe(&[source], Network::Bitcoin, patient(1), now()).await;
    assert!(observation.anchor.block.is_local());
    assert_eq!(observation.anchor.block.branch(), "branch-1");
    assert_eq!(observation.notices.len(), 1);
    let expected = format!(
        "Offline: no Bitcoin block, so your clock alone says when: {} can't be reached (Connection refused",
        host(&address)
    );
    assert!(
        observation.notices[0].starts_with(&expected),
        "{}",
        observation.notices[0]
    );

    let observation = observe(&[], Network::Regtest, patient(1), now()).await;
    assert_eq!(observation.anchor, Anchor::local(Network::Regtest, now()));
    // Nobody is to be asked, and that is not told each time.
    assert_eq!(observation.notices, [] as [String; 0]);
}

#[tokio::test]
async fn the_deadline_is_for_all_together() {
    let (slow, dead) = (
        EsploraServer::start_with(chain(), NEVER),
        EsploraServer::start_with(chain(), NEVER),
    );
    let honest = EsploraServer::start(chain());
    let start = Instant::now();
    let policy = AgreementPolicy {
        quorum: Quorum::Of(1),
        deadline: HASTY,
    };
    let observation = ask(&[&slow, &dead], policy).await;
    assert!(start.elapsed() >= HASTY && start.elapsed() < PATIENT);
    assert!(observation.anchor.block.is_local());
    for answer in &observation.answers {
        assert!(
            matches!(
                answer.outcome,
                Err(SourceFault::Timeout { after: HASTY, .. })
            ),
            "{answer:?}"
        );
    }
    // Long enough for an honest one on a busy machine, and the slow one is still not waited for
    // beyond it.
    let policy = AgreementPolicy {
        quorum: Quorum::Of(1),
        deadline: Duration::from_secs(2),
    };
    let observation = ask(&[&slow, &honest], policy).await;
    assert_eq!(observation.anchor.block.height, TIP);
    assert!(observation.notices.is_empty(), "{:?}", observation.notices);
}

#[tokio::test]
async fn of_two_valid_blocks_at_one_height_the_first_configured_is_taken_and_both_are_named() {
    let (height, hash, header) = rows(STALE).into_iter().next().unwrap();
    let real = EsploraServer::start(Chain::real(823_222..=height));
    let stale =
        EsploraServer::start(Chain::real(823_222..=height - 1).with(height, &hash, &header));
    let rival = Chain::real(height..=height).block(height).0.to_owned();
    for (order, first) in [([&real, &stale], &rival), ([&stale, &real], &hash)] {
        let observation = ask_at(
            &order,
            patient(1),
            header_of(&Chain::real(height..=height), height)
                .fields()
                .time,
        )
        .await;
        assert_eq!(observation.anchor.block.hash.to_string(), *first);
        assert_eq!(observation.notices.len(), 1);
        assert!(observation.notices[0].contains(&rival) && observation.notices[0].contains(&hash));
    }
    let clock = header_of(&Chain::real(height..=height), height)
        .fields()
        .time;
    let observation = ask_at(&[&real, &stale], patient(2), clock).await;
    assert!(
        observation.anchor.block.is_local(),
        "a quorum of two has no answer here"
    );
    assert!(
        observation
            .notices
            .last()
            .unwrap()
            .contains("no 2 sources name the same block")
    );
}

#[tokio::test]
async fn the_higher_of_two_that_lag_is_taken_in_silence() {
    let (behind, newer) = (
        EsploraServer::start(Chain::real(829_604..=TIP - 1)),
        EsploraServer::start(chain()),
    );
    let observation = ask(&[&behind, &newer], patient(1)).await;
    assert_eq!(observation.anchor.block.height, TIP);
    assert!(observation.notices.is_empty(), "{:?}", observation.notices);

    let far = EsploraServer::start(Chain::real(829_604..=829_605));
    let observation = ask(&[&far, &newer], patient(1)).await;
    assert_eq!(
        (observation.anchor.block.height, observation.notices.len()),
        (TIP, 1)
    );
}

#[tokio::test]
async fn a_quorum_compares_at_the_lower_tip() {
    let (behind, newer) = (
        EsploraServer::start(Chain::real(829_604..=TIP - 1)),
        EsploraServer::start(chain()),
    );
    let observation = ask(&[&newer, &behind], patient(2)).await;
    assert_eq!(observation.anchor.block.height, TIP - 1);

    // One that lies low doesn't hold the other two back.
    let old = EsploraServer::start(Chain::real(0..=2));
    assert_eq!(
        ask(&[&old, &newer, &behind], patient(2))
            .await
            .anchor
            .block
            .height,
        TIP - 1
    );
    assert_eq!(
        ask(&[&newer, &behind], patient(3)).await.anchor,
        Anchor::local(Network::Bitcoin, now())
    );
    // One source named twice is one source.
    assert!(
        ask(&[&newer, &newer], patient(2))
            .await
            .anchor
            .block
            .is_local()
    );
}

#[tokio::test]
async fn a_quorum_leaves_time_for_the_comparison() {
    let slow = EsploraServer::start_with(chain(), NEVER);
    let (behind, newer) = (
        EsploraServer::start(Chain::real(829_604..=TIP - 1)),
        EsploraServer::start(chain()),
    );
    let policy = AgreementPolicy {
        quorum: Quorum::Of(2),
        deadline: Duration::from_secs(4),
    };
    assert_eq!(
        ask(&[&slow, &newer, &behind], policy)
            .await
            .anchor
            .block
            .height,
        TIP - 1
    );
}

#[tokio::test]
async fn a_block_far_ahead_of_the_clock_is_noted() {
    let server = EsploraServer::start(chain());
    for (ahead, notes) in [(7200, 0), (7201, 1)] {
        let clock = Seconds::new(now().get() - ahead).unwrap();
        let observation = observe(&[explorer(&server)], Network::Bitcoin, patient(1), clock).await;
        assert_eq!(
            (observation.anchor.block.height, observation.notices.len()),
            (TIP, notes)
        );
    }
}

#[tokio::test]
async fn a_source_that_lies_about_an_older_block_is_named_once() {
    let (easy, two) = (mined(0x207f_ffff), mined(0x207e_ffff));
    let lies = chain().with(TIP - 1, &easy.hash().to_string(), &easy.to_string());
    let liar = EsploraServer::start(lies.with(TIP - 2, &two.hash().to_string(), &two.to_string()));
    let behind = EsploraServer::start(Chain::real(829_604..=TIP - 1));
    let (older, gone) = (
        EsploraServer::start(Chain::real(829_604..=TIP - 2)),
        EsploraServer::start(chain()),
    );
    gone.set_manner(Manner::Says(Route::Tip, 500, Vec::new()));
    // At the liar's tip nobody else is; one lower it lies, and is not asked for the next.
    let observation = ask(&[&liar, &behind, &older, &gone], patient(2)).await;
    assert_eq!(observation.anchor.block.height, TIP - 2);
    assert_eq!(observation.notices.len(), 1, "{:?}", observation.notices);
    assert!(
        observation.notices[0].contains(liar.url()) && observation.notices[0].contains("207fffff")
    );

    let observation = ask(&[&liar, &behind, &gone], patient(2)).await;
    assert!(observation.anchor.block.is_local());
    let why = observation.notices.last().unwrap();
    assert!(
        why.contains(gone.url()) && why.contains("500") && why.contains(host(behind.url())),
        "{why}"
    );
}

#[tokio::test]
async fn a_redirect_stays_where_it_was_allowed() {
    let server = EsploraServer::start(chain());
    let same = format!("{}/blocks/tip/height", server.url());
    let cases = [
        ("https://127.0.0.1:1/", "redirected to another scheme"),
        ("http://example.invalid/", "redirected to another host"),
        (same.as_str(), "redirected too often"),
    ];
    for (to, expected) in cases {
        server.set_manner(Manner::Redirects(to.to_owned()));
        let fault = fault_of(&server).await.to_string();
        assert!(fault.contains(expected), "{fault}");
    }
}

/// A header of no chain, with work for its own easy bits.
pub fn mined(bits: u32) -> Header {
    let mut bytes = [7; 80];
    bytes[72..76].copy_from_slice(&bits.to_le_bytes());
    let tries = (0..u32::MAX).map(|nonce: u32| {
        bytes[76..].copy_from_slice(&nonce.to_le_bytes());
        Header::from_bytes(bytes)
    });
    // 207fffff is met by every hash whose first bit is clear.
    tries
        .into_iter()
        .find(|header| header.hash().as_bytes()[0] < 0x7f)
        .unwrap()
}
