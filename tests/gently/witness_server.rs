//! A local witness (c2sp tlog-witness) that behaves as a test tells it to, wrongly when asked.
//!
//! Plain sockets, one thread a connection: a framework would prevent half of the manners.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine as _;
use ed25519_dalek::{Signer, SigningKey};
use gently::record::hash::Hash32;
use gently::record::signature::PublicKey;
use gently::record::tree::note::{KeyKind, NoteSignature, VerifierKey};
use gently::record::tree::proof::continues;
use gently::record::tree::{SignedNote, note_body, parse_note};

/// How it treats a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Manner {
    /// As the document says, version 1.0: an equal size with another root is 409.
    Honest,
    /// As version 1.1 says: that is 422.
    Newer,
    /// Signs with another key, under its own name and key id.
    WrongKey,
    /// Signs in its own right, under a name that nobody knows.
    Stranger,
    /// Cosigns another tree head than it was shown.
    OtherHead,
    /// 409 with this body and media type.
    Conflict(String, &'static str),
    /// 409 with a size that is another one each time.
    Restless,
    /// 422, whatever it is shown.
    Refutes,
    /// Takes the question and never answers.
    Silent,
    /// 200 and bytes that are no signature lines.
    Rubbish,
    /// 200 and megabytes of signature lines.
    Huge,
    /// Something that is not HTTP.
    NotHttp,
    /// This status, with words that try to write on the screen.
    Status(u16),
}

struct State {
    manner: Manner,
    size: u64,
    root: Hash32,
    /// Which of the log's keys it trusts; all when none is named.
    trusted: Option<Vec<PublicKey>>,
    questions: Vec<String>,
    arrival: Option<Instant>,
    time: Option<u64>,
    over: bool,
}

/// A witness of its own key, until it is dropped.
pub struct WitnessServer {
    address: SocketAddr,
    key: SigningKey,
    name: String,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

/// The verifier key of a witness made from a seed.
pub fn vkey(name: &str, seed: u8) -> VerifierKey {
    let key = SigningKey::from_bytes(&[seed; 32]);
    let key = PublicKey::from_bytes(key.verifying_key().to_bytes());
    VerifierKey {
        name: name.to_owned(),
        kind: KeyKind::Cosigner,
        key,
    }
}

/// The line with which the witness of a seed cosigns a tree head.
pub fn cosign(head: &SignedNote, name: &str, seed: u8, time: u64) -> NoteSignature {
    let body = note_body(&head.origin, head.size, head.root);
    let signature = SigningKey::from_bytes(&[seed; 32])
        .sign(format!("cosignature/v1\ntime {time}\n{body}").as_bytes());
    let signature = [&time.to_be_bytes()[..], &signature.to_bytes()].concat();
    NoteSignature {
        name: name.to_owned(),
        key_id: vkey(name, seed).id(),
        signature,
    }
}

fn now() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

impl WitnessServer {
    /// One that has seen nothing yet.
    pub fn start(name: &str, seed: u8, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            manner,
            size: 0,
            root: Hash32::digest(b""),
            trusted: None,
            questions: Vec::new(),
            arrival: None,
            time: None,
            over: false,
        }));
        let (shared, own) = (Arc::clone(&state), (name.to_owned(), seed));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.lock().unwrap().over {
                    return;
                }
                let (shared, own) = (Arc::clone(&shared), own.clone());
                std::thread::spawn(move || _ = serve(stream.unwrap(), &shared, &own));
            }
        });
        let key = SigningKey::from_bytes(&[seed; 32]);
        WitnessServer {
            address,
            key,
            name: name.to_owned(),
            state,
            thread: Some(thread),
        }
    }

    /// Its submission prefix.
    pub fn url(&self) -> String {
        format!("http://{}/prefix", self.address)
    }

    /// Its verifier key.
    pub fn vkey(&self) -> VerifierKey {
        let key = PublicKey::from_bytes(self.key.verifying_key().to_bytes());
        VerifierKey {
            name: self.name.clone(),
            kind: KeyKind::Cosigner,
            key,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Behaves otherwise from now on.
    pub fn be(&self, manner: Manner) {
        self.state().manner = manner;
    }

    /// Trusts these keys of the log alone.
    pub fn trust(&self, keys: &[PublicKey]) {
        self.state().trusted = Some(keys.to_vec());
    }

    /// Has cosigned this tree, whatever it saw.
    pub fn hold(&self, size: u64, root: Hash32) {
        let mut state = self.state();
        (state.size, state.root) = (size, root);
    }

    /// Dates its cosignatures so.
    pub fn date(&self, time: u64) {
        self.state().time = Some(time);
    }

    /// What it holds.
    pub fn held(&self) -> (u64, Hash32) {
        let state = self.state();
        (state.size, state.root)
    }

    /// When it was last asked.
    pub fn last_arrival(&self) -> Option<Instant> {
        self.state().arrival
    }

    /// The bodies of all questions, and forgets them.
    pub fn questions(&self) -> Vec<String> {
        std::mem::take(&mut self.state().questions)
    }
}

impl Drop for WitnessServer {
    fn drop(&mut self) {
        self.state().over = true;
        drop(TcpStream::connect(self.address));
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn read_question(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(digits) = line.strip_prefix("content-length: ") {
            length = digits.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, String::from_utf8(body).ok()?))
}

fn serve(mut stream: TcpStream, state: &Mutex<State>, own: &(String, u8)) -> Option<()> {
    let (first, body) = read_question(&stream)?;
    assert_eq!(first.trim_end(), "POST /prefix/add-checkpoint HTTP/1.1");
    state.lock().unwrap().questions.push(body.clone());
    state.lock().unwrap().arrival = Some(Instant::now());
    let manner = state.lock().unwrap().manner.clone();
    match manner {
        Manner::Silent => {
            while !state.lock().unwrap().over {
                std::thread::sleep(Duration::from_millis(20));
            }
            return None;
        }
        Manner::NotHttp => stream.write_all(b"SSH-2.0-OpenSSH\r\n").ok()?,
        Manner::Huge => {
            // Whoever reads stops long before the end.
            let chunk = "— w AAAAAAAAAAAA\n".repeat(4096);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                chunk.len() * 1000
            );
            stream.write_all(head.as_bytes()).ok()?;
            for _ in 0..1000 {
                stream.write_all(chunk.as_bytes()).ok()?;
            }
        }
        _ => {
            let (status, kind, answer) = answer(&manner, &body, &mut state.lock().unwrap(), own)?;
            let head = format!(
                "HTTP/1.1 {status} Words\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                answer.len()
            );
            stream
                .write_all(&[head.as_bytes(), &answer].concat())
                .ok()?;
        }
    }
    Some(())
}

type Answer = (u16, &'static str, Vec<u8>);
const SIZE: &str = "text/x.tlog.size";

fn answer(
    manner: &Manner,
    body: &str,
    state: &mut State,
    (name, seed): &(String, u8),
) -> Option<Answer> {
    let (head, checkpoint) = body.split_once("\n\n")?;
    let mut lines = head.split('\n');
    let old: u64 = lines.next()?.strip_prefix("old ")?.parse().ok()?;
    let hash = |line: &str| {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(line)
            .unwrap();
        Hash32::from_bytes(bytes.try_into().unwrap())
    };
    let path: Vec<Hash32> = lines.map(hash).collect();
    let head = parse_note(checkpoint).unwrap();
    let time = state.time.unwrap_or_else(now);
    let signed = |line: NoteSignature| Some((200, "text/plain", line.print().into_bytes()));
    match manner {
        Manner::WrongKey => {
            let line = cosign(&head, name, seed + 100, time);
            signed(NoteSignature {
                key_id: vkey(name, *seed).id(),
                ..line
            })
        }
        Manner::Stranger => signed(cosign(&head, "stranger.example", seed + 100, time)),
        Manner::OtherHead => signed(cosign(
            &SignedNote {
                size: head.size + 1,
                ..head
            },
            name,
            *seed,
            time,
        )),
        Manner::Conflict(body, kind) => Some((409, kind, body.clone().into_bytes())),
        Manner::Restless => Some((
            409,
            SIZE,
            format!("{}\n", (old + 1) % head.size).into_bytes(),
        )),
        Manner::Refutes => Some((422, "text/plain", b"no".to_vec())),
        Manner::Rubbish => Some((
            200,
            "text/html",
            b"<html>\x1b[2J\xff\xfe</html>\n\n\n".to_vec(),
        )),
        Manner::Status(status) => Some((*status, "text/plain", b"\x1b[2Jbroken\x07".to_vec())),
        _ => honest(
            manner,
            (old, &path, &head),
            state,
            &cosign(&head, name, *seed, time),
        ),
    }
}

fn honest(
    manner: &Manner,
    (old, path, head): (u64, &[Hash32], &SignedNote),
    state: &mut State,
    line: &NoteSignature,
) -> Option<Answer> {
    if state
        .trusted
        .as_ref()
        .is_some_and(|keys| !keys.iter().any(|key| head.verify(key)))
    {
        return Some((403, "text/plain", Vec::new()));
    }
    let held = format!("{}\n", state.size).into_bytes();
    if old > head.size {
        return Some((400, "text/plain", Vec::new()));
    }
    if old != state.size {
        return Some((409, SIZE, held));
    }
    if old == head.size && state.root != head.root {
        return Some(if *manner == Manner::Newer {
            (422, "text/plain", Vec::new())
        } else {
            (409, SIZE, held)
        });
    }
    if path.len() > 63 || !continues((state.size, state.root), (head.size, head.root), path) {
        return Some((422, "text/plain", Vec::new()));
    }
    (state.size, state.root) = (head.size, head.root);
    Some((200, "text/plain", line.print().into_bytes()))
}
