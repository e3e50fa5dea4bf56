//! What a council of three costs beside its models: each answers and reviews after a fixed time.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::search::Measured;
use super::server;

/// So long each answer and each review takes.
const THINKS: Duration = Duration::from_millis(300);
/// Ten in a hundred more than both rounds, in milliseconds.
const MOST: u32 = 660;
/// The most that is ours, in milliseconds.
const MOST_OF_OURS: u32 = 60;
/// Who is asked.
const MEMBERS: [&str; 3] = ["one", "two", "three"];

fn gently(program: &str, home: &Path, address: SocketAddr, args: &[&str]) -> Vec<u8> {
    let done = Command::new(program)
        .args(args)
        .env("GENTLY_HOME", home)
        .env("GENTLY_ANCHOR_MODE", "off")
        .env("GENTLY_MODEL_BASE_URL", format!("http://{address}/v1"))
        .env_remove("OPENAI_API_KEY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{args:?}: {said}");
    done.stdout
}

/// Councils in a new home, one after the other: until the decision, what of it is ours, and the whole
/// process.
pub fn measure(program: &str, home: &Path, runs: usize) -> Vec<Measured> {
    let address = server::thinking(THINKS);
    gently(program, home, address, &["init"]);
    for name in MEMBERS {
        let model = format!("openai/{name}");
        gently(
            program,
            home,
            address,
            &["specialist", "add", name, "-m", &model],
        );
    }
    let (mut decided, mut ours, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    // The first opens the members' sessions.
    for run in 0..=runs {
        let begun = Instant::now();
        let args = ["ask", "--json", "--accuracy", "high", "How is it going?"];
        let said = gently(program, home, address, &args);
        let took = begun.elapsed();
        let turn: serde_json::Value = serde_json::from_slice(&said).unwrap();
        let votes = &turn["council"]["members"][0]["votes"]["all"];
        assert_eq!(votes, 2, "{turn:#}");
        if run > 0 {
            let took_ms = turn["council"]["took_ms"].as_u64().unwrap();
            let of_it = Duration::from_millis(took_ms);
            decided.push(of_it);
            ours.push(of_it.saturating_sub(THINKS * 2));
            whole.push(took);
        }
    }
    vec![
        ("until the council has decided", MOST, decided),
        ("- what of that is ours", MOST_OF_OURS, ours),
        ("the whole process", 0, whole),
    ]
}
