//! A real Bitcoin node in regtest on loopback, installed by `scripts/peers.sh`; ended with its
//! test.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use bitcoin::hashes::Hash as _;
use serde_json::{Value, json};

/// `EX_TEMPFAIL` of `scripts/peers.sh`: can't be had on this machine, now.
const UNAVAILABLE: i32 = 75;
/// A node starts in two seconds here; a loaded machine may take its time.
const START: Duration = Duration::from_secs(120);

/// A running node with a chain of its own.
pub struct Node {
    child: Option<Child>,
    folder: tempfile::TempDir,
    port: u16,
    times_mined: AtomicU8,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Node {
    /// A new chain, which has its first block only; none, with a note, where the program can't be
    /// had.
    ///
    /// # Panics
    /// If it is there and does not start.
    pub fn start() -> Option<Self> {
        program()?;
        let folder = tempfile::tempdir().unwrap();
        // Free at this moment; the node has no way to choose one itself and tell.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut node = Node {
            child: None,
            folder,
            port,
            times_mined: AtomicU8::new(1),
            url: format!("http://127.0.0.1:{port}"),
        };
        node.start_again();
        Some(node)
    }

    /// Starts it after [`Node::kill`], with the chain that it had on disk.
    pub fn start_again(&mut self) {
        let child = Command::new(program().unwrap().join("bitcoind"))
            .args([
                "-regtest",
                "-server",
                "-rpcbind=127.0.0.1",
                "-rpcallowip=127.0.0.1",
                "-listen=0",
                "-connect=0",
            ])
            .args([
                "-excessiveblocksize=10000000000",
                "-maxstackmemoryusageconsensus=0",
                "-minminingtxfee=0.000005",
            ])
            .arg(format!("-datadir={}", self.folder.path().display()))
            .arg(format!("-rpcport={}", self.port))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.child = Some(child);
        let began = Instant::now();
        // It has no way to tell that it is up but to be asked; its cookie is there when it can be.
        while !on_a_runtime(self.try_call("getblockcount", json!([])))
            .is_ok_and(|reply| reply["error"].is_null())
        {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(
                ended.is_none() && began.elapsed() < START,
                "the node does not start: {ended:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _it_may_have_ended = child.kill();
            let _status = child.wait();
        }
    }

    /// The file that its start wrote.
    pub fn cookie(&self) -> PathBuf {
        self.folder.path().join("regtest/.cookie")
    }

    /// User and password of this start.
    pub fn credentials(&self) -> (String, String) {
        let cookie = std::fs::read_to_string(self.cookie()).unwrap();
        let (user, password) = cookie.split_once(':').unwrap();
        (user.to_owned(), password.to_owned())
    }

    /// Mines so many blocks on the tip, and gives their hashes.
    pub async fn mine(&self, blocks: u32) -> Value {
        // To another address each time: what is mined again in the same second would be the block
        // that was forgotten.
        let key = bitcoin::PubkeyHash::from_byte_array(
            [self.times_mined.fetch_add(1, Ordering::SeqCst); 20],
        );
        let address = bitcoin::Address::p2pkh(key, bitcoin::NetworkKind::Test).to_string();
        self.call("generatetoaddress", json!([blocks, address]))
            .await
    }

    /// [`Node::mine`] for a test without a runtime.
    pub fn mines(&self, blocks: u32) -> Vec<String> {
        serde_json::from_value(on_a_runtime(self.mine(blocks))).unwrap()
    }

    /// Takes a block and all after it off the chain.
    pub fn forgets(&self, block: &str) {
        on_a_runtime(self.call("invalidateblock", json!([block])));
    }

    /// Asks it; it must answer.
    pub async fn call(&self, method: &str, params: Value) -> Value {
        let reply = self.try_call(method, params).await.unwrap();
        assert_eq!(reply["error"], Value::Null, "{method}");
        reply["result"].clone()
    }

    async fn try_call(&self, method: &str, params: Value) -> Result<Value, String> {
        gently::net::install_tls_provider();
        let cookie = std::fs::read_to_string(self.cookie()).map_err(|e| e.to_string())?;
        let (user, password) = cookie.split_once(':').ok_or("half a cookie")?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .unwrap();
        let question = json!({"jsonrpc": "1.0", "id": 1, "method": method, "params": params});
        let request = client
            .post(&self.url)
            .basic_auth(user, Some(password))
            .json(&question);
        let reply = request.send().await.map_err(|e| e.to_string())?;
        reply.json().await.map_err(|e| e.to_string())
    }
}

/// Runs it on a runtime of its own, in a thread of its own: the caller may be on one already.
fn on_a_runtime<T: Send>(work: impl Future<Output = T> + Send) -> T {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    std::thread::scope(|scope| scope.spawn(|| runtime().block_on(work)).join().unwrap())
}

/// Where the node's programs are; `None`, with a note on stderr, where they can't be had.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/peers.sh");
        let output = Command::new("sh")
            .arg(script)
            .arg("node")
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        match output.status.code() {
            Some(0) => Some(PathBuf::from(
                String::from_utf8(output.stdout).unwrap().trim_end(),
            )),
            Some(UNAVAILABLE) => {
                eprintln!(
                    "skipped: no real Bitcoin node on this machine (scripts/peers.sh node says why)"
                );
                None
            }
            code => panic!("scripts/peers.sh node ended with {code:?}"),
        }
    };
    PROGRAM.get_or_init(install).as_deref()
}
