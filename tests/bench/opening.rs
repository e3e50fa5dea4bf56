//! Checking an opened text, and signing a receipt.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gently::home::Home;
use gently::record::ledger::opening::OpeningFile;
use gently::record::time::Seconds;
use gently::recorder::{Recorder, TurnIds, unwatched};
use gently::store::Store;
use gently::verify::{Trust, check_opening};

use crate::processor;

/// Times the check of the newest turn's answer, in a process of its own and by itself, and a
/// receipt.
pub fn measure(gently: &str, home: &Path, runs: usize, print: fn(&str, &mut [Duration])) {
    let store = Store::open_read_only(&home.join("gently.db")).unwrap();
    let exchange = store.newest_exchange().unwrap().unwrap();
    let session = store.session_of(exchange.session).unwrap().unwrap();
    let file = home.with_extension("opening");
    let _ = std::fs::remove_file(&file);
    let program = |args: &[&str]| {
        let mut command = Command::new(gently);
        command
            .args(args)
            .env("GENTLY_HOME", home)
            .env("GENTLY_ANCHOR_MODE", "off");
        assert!(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
    };
    let (id, seq, path) = (
        session.id.to_string(),
        exchange.seq.to_string(),
        file.to_str().unwrap(),
    );
    let began = Instant::now();
    program(&["audit", "open", &id, &seq, "--out", path]);
    println!(
        "opening of {} bytes, made in {:.1} ms",
        file.metadata().unwrap().len(),
        began.elapsed().as_secs_f64() * 1e3
    );
    let bytes = std::fs::read(&file).unwrap();
    let (mut whole, mut alone, mut receipts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut used, before) = (Duration::ZERO, processor::children());
    for _ in 0..runs {
        let began = Instant::now();
        program(&["audit", "check", path]);
        whole.push(began.elapsed());
        used = processor::children() - before;
        let began = Instant::now();
        let report = check_opening(&OpeningFile::parse(&bytes).unwrap(), Trust::default());
        alone.push(began.elapsed());
        assert!(report.opens());
    }
    let made = Home::open(home).unwrap().unwrap();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let now = Seconds::new(now).unwrap();
    let recorder =
        Recorder::open(made.paths(), made.signing_key().unwrap(), now, unwatched()).unwrap();
    let ids = TurnIds {
        session: session.id,
        session_uuid: session.uuid,
        seq: exchange.seq,
        exchange: exchange.exchange_id,
        prompt_hash: exchange.prompt_commitment,
        prompt_line: session.id,
    };
    for _ in 0..runs {
        let began = Instant::now();
        drop(recorder.receipt(&store, &ids).unwrap().print().unwrap());
        receipts.push(began.elapsed());
    }
    std::fs::remove_file(&file).unwrap();
    print("gently audit check, whole", &mut whole);
    let each = used.as_secs_f64() * 1e3 / runs.max(1) as f64;
    println!("- processor time of it, mean {each:.1} ms");
    print("the check alone", &mut alone);
    print("a receipt", &mut receipts);
}
