//! A headers file as block source.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::time::Duration;

use gently::anchor::agree::{AgreementPolicy, Quorum, observe};
use gently::anchor::esplora::Esplora;
use gently::anchor::headers_file::HeadersFile;
use gently::anchor::{BlockSource, SourceFault};
use gently::record::bitcoin::block::{Network, Source};
use gently::record::time::Seconds;

use crate::esplora_server::{Chain, EsploraServer, HEADERS, rows};

#[tokio::test]
async fn a_headers_file_is_a_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.csv");
    std::fs::write(&path, HEADERS).unwrap();
    let source = HeadersFile::new(&path, Network::Bitcoin);
    assert_eq!(
        (source.name(), source.kind()),
        (path.to_str().unwrap(), Source::File)
    );
    let all = rows(HEADERS);
    assert_eq!(
        source.tip().await.unwrap().block.height,
        all.last().unwrap().0
    );
    for (height, hash, _) in all {
        let anchor = source.at(height).await.unwrap();
        assert_eq!(anchor.block.hash.to_string(), hash);
        assert_eq!(anchor.check(Network::Bitcoin), Ok(()));
    }
    assert!(matches!(
        source.at(5).await,
        Err(SourceFault::UnknownHeight { height: 5, .. })
    ));

    let server = EsploraServer::start(Chain::real(829_604..=829_619));
    let explorer = Esplora::new(server.url(), Network::Bitcoin).unwrap();
    let sources: Vec<Box<dyn BlockSource>> = vec![Box::new(source), Box::new(explorer)];
    let policy = AgreementPolicy {
        quorum: Quorum::Of(2),
        deadline: Duration::from_secs(20),
    };
    let observation = observe(
        &sources,
        Network::Bitcoin,
        policy,
        Seconds::new(crate::clock::time_of(829_619)).unwrap(),
    )
    .await;
    assert_eq!(
        (
            observation.anchor.block.height,
            observation.anchor.block.source
        ),
        (829_619, Source::File)
    );
}

#[tokio::test]
async fn a_headers_file_is_read_strictly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.csv");
    let tip = |text: String| {
        std::fs::write(&path, text).unwrap();
        let source = HeadersFile::new(&path, Network::Bitcoin);
        async move { source.tip().await }
    };
    let all: Vec<&str> = HEADERS.lines().collect();
    let (one, two) = (all[1], all[2]);
    // Any order, with or without the column names and the last newline; a line said twice is one
    // line.
    for text in [
        format!("{two}\n{one}\n"),
        format!("{}\n{one}\n{two}", all[0]),
        format!("{two}\n{two}\n"),
    ] {
        assert_eq!(tip(text).await.unwrap().block.height, 1);
    }
    let bad = [
        (format!("{one}\n\n{two}\n"), "line 2"),
        (format!("{one}\n{two}\r\n"), "line 2"),
        (format!("{one}\n0{two}\n"), "line 2"),
        (format!("{one}\n{}\n", all[0]), "line 2"),
        (format!("{one}\n{two},\n"), "line 2"),
        (format!("{}\n", &one[..one.len() - 2]), "line 1"),
        (
            format!("{one}\n{}", "0".repeat(5000)),
            "line 2: longer than 237 bytes",
        ),
        (String::new(), "holds no headers"),
        (format!("{}\n", all[0]), "holds no headers"),
        (format!("{one}\n0{}\n", &two[1..]), "on line 1"),
    ];
    for (text, expected) in bad {
        let fault = tip(text.clone()).await.unwrap_err().to_string();
        assert!(
            fault.contains(expected) && fault.contains("headers.csv"),
            "{text}: {fault}"
        );
    }
    let gone = HeadersFile::new(&folder.path().join("none.csv"), Network::Bitcoin);
    assert!(matches!(gone.tip().await, Err(SourceFault::Read { .. })));
}

/// Headers that somebody names and that are not there: nothing is said of heights, so nothing is
/// judged.
#[test]
fn a_folder_of_headers_that_is_none_is_no_check() {
    let honest =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ledgers/honest");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("file"), "text").unwrap();
    std::fs::create_dir(at("empty")).unwrap();
    std::fs::create_dir(at("wrong")).unwrap();
    std::fs::write(at("wrong/bitcoin-0.dat"), [0; 80]).unwrap();
    let bundle = honest.join("ledger.bundle").display().to_string();
    let opening = honest
        .join("openings/one_response.json")
        .display()
        .to_string();
    let reader = crate::person::Person::new();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/verify.py");
    let second = |args: &[&str]| {
        crate::person::run(
            std::process::Command::new("python3")
                .arg(&script)
                .args(args),
        )
    };
    for name in ["nowhere", "file", "empty", "wrong"] {
        let path = at(name);
        let ours = reader
            .gently(&[
                "audit",
                "verify",
                "--quiet",
                "--repo",
                &bundle,
                "--headers",
                &path,
            ])
            .exits(2);
        assert!(
            ours.err.contains(&path) && ours.out.is_empty(),
            "{name}: {ours:#?}"
        );
        let theirs = second(&[&bundle, "--headers", &path]).exits(2);
        assert!(theirs.err.contains(&path), "{name}: {theirs:#?}");
    }
    for name in ["nowhere", "file"] {
        let path = at(name);
        let ours = reader
            .gently(&["audit", "check", &opening, "--headers", &path])
            .exits(2);
        assert!(ours.err.contains(&path), "{name}: {ours:#?}");
        second(&["--opening", &opening, "--headers", &path]).exits(2);
    }
}
