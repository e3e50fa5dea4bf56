//! An SSH agent that keeps the signing key and signs with it (draft-ietf-sshm-ssh-agent).
//!
//! ```text
//! message            length 4 bytes, kind 1 byte, contents
//! 11 → 12            which keys: number 4, then for each key blob and comment
//! 13 → 14            sign: key blob, data, flags 4 → signature blob
//! 5                  no
//! string             length 4 bytes, bytes
//! key blob           string "ssh-ed25519", string of 32 bytes
//! signature blob     string "ssh-ed25519", string of 64 bytes
//! ```
//!
//! An Ed25519 key signs the data as it is, so one request serves commits (the bytes of SSHSIG) and
//! signed notes (the text). Every signature is checked against the public key before it is used.
//! The private key never comes here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::KeyError;
use crate::record::signature::{PublicKey, Signature};

/// The environment's way to say where the agent listens.
pub const SOCKET_ENV: &str = "SSH_AUTH_SOCK";
/// How long an agent may take to list its keys; nobody is asked for that.
const LISTING: Duration = Duration::from_secs(10);
/// More than any agent has to say; OpenSSH's own limit.
const MAX_MESSAGE: usize = 256 * 1024;
const KIND: &[u8] = b"ssh-ed25519";
const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES: u8 = 12;
const SIGN_REQUEST: u8 = 13;
const SIGN_RESPONSE: u8 = 14;

/// A key that an agent keeps.
#[derive(Clone, Debug)]
pub struct AgentKey {
    socket: PathBuf,
    public: PublicKey,
    /// How long one signature may take, all of it: a person may have to confirm it (`ssh-add -c`).
    wait: Duration,
}

impl AgentKey {
    /// The key of the agent at a socket, which has `wait` for each signature; fails when nobody
    /// listens there, or it does not have the key.
    pub fn open(socket: &Path, public: PublicKey, wait: Duration) -> Result<Self, KeyError> {
        let key = AgentKey {
            socket: socket.to_owned(),
            public,
            wait,
        };
        key.ready().map(|()| key)
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Asks whether the agent has the key now.
    pub fn ready(&self) -> Result<(), KeyError> {
        let answer = self.ask(&[REQUEST_IDENTITIES], self.wait.min(LISTING))?;
        let mut rest = self.expect(&answer, IDENTITIES, "list its keys")?;
        let own = blob(self.public.as_bytes());
        let count = take_number(&mut rest).ok_or_else(|| self.garbled("a list of keys"))?;
        for _ in 0..count {
            let key = take_string(&mut rest).ok_or_else(|| self.garbled("a list of keys"))?;
            take_string(&mut rest).ok_or_else(|| self.garbled("a list of keys"))?;
            if key == own {
                return Ok(());
            }
        }
        Err(KeyError::NotInAgent {
            key: self.public.to_string(),
            socket: self.socket.clone(),
        })
    }

    /// Signs bytes as they are; the signature is good, or there is none.
    pub fn sign(&self, bytes: &[u8]) -> Result<Signature, KeyError> {
        let mut request = vec![SIGN_REQUEST];
        put_string(&mut request, &blob(self.public.as_bytes()));
        put_string(&mut request, bytes);
        request.extend_from_slice(&0u32.to_be_bytes());
        let answer = self.ask(&request, self.wait)?;
        let mut rest = self.expect(&answer, SIGN_RESPONSE, "sign")?;
        let signature = take_string(&mut rest).and_then(|mut blob| {
            let kind = take_string(&mut blob)?;
            let signature = <[u8; 64]>::try_from(take_string(&mut blob)?).ok()?;
            (kind == KIND && blob.is_empty()).then(|| Signature::from_bytes(signature))
        });
        let signature = signature.ok_or_else(|| self.garbled("an Ed25519 signature"))?;
        if self.public.verifies(bytes, &signature) {
            return Ok(signature);
        }
        Err(self.garbled("a signature that is this key's"))
    }

    /// The contents of an answer of the kind asked for.
    fn expect<'a>(
        &self,
        answer: &'a [u8],
        kind: u8,
        what: &'static str,
    ) -> Result<&'a [u8], KeyError> {
        match answer.split_first() {
            Some((found, rest)) if *found == kind => Ok(rest),
            _ => Err(KeyError::AgentRefused {
                what,
                socket: self.socket.clone(),
            }),
        }
    }

    fn garbled(&self, expected: &'static str) -> KeyError {
        KeyError::AgentAnswer {
            expected,
            socket: self.socket.clone(),
        }
    }

    fn unreachable(&self, source: &std::io::Error, wait: Duration) -> KeyError {
        let socket = self.socket.clone();
        match source.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
                KeyError::AgentSilent {
                    socket,
                    waited_s: wait.as_secs(),
                }
            }
            _ => KeyError::NoAgent {
                socket,
                reason: source.to_string(),
            },
        }
    }

    /// One question on a connection of its own: an agent that was started anew is found again.
    ///
    /// The deadline is that of the whole answer: an agent that sends it byte by byte gets no more
    /// time.
    #[cfg(unix)]
    fn ask(&self, request: &[u8], wait: Duration) -> Result<Vec<u8>, KeyError> {
        use std::io::Write as _;
        let unreachable = |source| self.unreachable(&source, wait);
        let mut agent =
            std::os::unix::net::UnixStream::connect(&self.socket).map_err(unreachable)?;
        let deadline = std::time::Instant::now() + wait;
        agent.set_write_timeout(Some(wait)).map_err(unreachable)?;
        let mut message = Vec::with_capacity(request.len() + 4);
        put_string(&mut message, request);
        agent.write_all(&message).map_err(unreachable)?;
        let mut length = [0; 4];
        read_until(&mut agent, &mut length, deadline).map_err(unreachable)?;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_MESSAGE {
            return Err(self.garbled("a message of at most 256 KiB"));
        }
        let mut answer = vec![0; length];
        read_until(&mut agent, &mut answer, deadline).map_err(unreachable)?;
        Ok(answer)
    }

    #[cfg(not(unix))]
    fn ask(&self, _request: &[u8], wait: Duration) -> Result<Vec<u8>, KeyError> {
        Err(self.unreachable(&std::io::Error::from(std::io::ErrorKind::Unsupported), wait))
    }
}

/// Fills a buffer before the deadline, or fails as a read that timed out.
#[cfg(unix)]
fn read_until(
    from: &mut std::os::unix::net::UnixStream,
    mut buffer: &mut [u8],
    deadline: std::time::Instant,
) -> std::io::Result<()> {
    use std::io::{ErrorKind, Read as _};
    while !buffer.is_empty() {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        from.set_read_timeout(Some(left))?;
        match from.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => buffer = buffer.get_mut(count..).unwrap_or_default(),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn blob(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_string(&mut out, KIND);
    put_string(&mut out, key);
    out
}

fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn take_number(from: &mut &[u8]) -> Option<u32> {
    let (number, rest) = from.split_first_chunk::<4>()?;
    *from = rest;
    Some(u32::from_be_bytes(*number))
}

fn take_string<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(from)?).ok()?;
    let (string, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(string)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::keys::SigningKey;

    const WAIT: Duration = Duration::from_secs(60);

    fn message(contents: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_string(&mut out, contents);
        out
    }

    /// Asks an agent that gives one answer, byte for byte, and hangs up.
    fn asked<T>(answer: Vec<u8>, ask: impl FnOnce(&AgentKey) -> T) -> T {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("agent");
        let listener = UnixListener::bind(&socket).unwrap();
        let agent = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut length = [0; 4];
            client.read_exact(&mut length).unwrap();
            let mut request = vec![0; u32::from_be_bytes(length) as usize];
            client.read_exact(&mut request).unwrap();
            client.write_all(&answer).unwrap();
        });
        let result = ask(&AgentKey {
            socket,
            public: key().public(),
            wait: WAIT,
        });
        agent.join().unwrap();
        result
    }

    fn key() -> SigningKey {
        SigningKey::from_seed(&[7; 32])
    }

    fn signature(kind: &[u8], bytes: &[u8]) -> Vec<u8> {
        let (mut inner, mut out) = (Vec::new(), vec![SIGN_RESPONSE]);
        put_string(&mut inner, kind);
        put_string(&mut inner, bytes);
        put_string(&mut out, &inner);
        message(&out)
    }

    #[test]
    fn only_a_good_signature_is_taken() {
        let good = *key().sign(b"data").as_bytes();
        let mut bad = good;
        bad[3] ^= 1;
        assert_eq!(
            asked(signature(KIND, &good), |key| key.sign(b"data"))
                .unwrap()
                .as_bytes(),
            &good
        );
        let garbled = [
            signature(KIND, &bad),
            signature(b"ssh-rsa", &good),
            signature(KIND, &good[..63]),
            message(&[SIGN_RESPONSE]),
            message(&[SIGN_RESPONSE, 0, 0, 0, 9]),
            u32::MAX.to_be_bytes().to_vec(),
        ];
        for answer in garbled {
            let error = asked(answer.clone(), |key| key.sign(b"data")).unwrap_err();
            assert!(
                matches!(error, KeyError::AgentAnswer { .. }),
                "{answer:?}: {error}"
            );
        }
        for answer in [message(&[5]), message(&[])] {
            assert!(matches!(
                asked(answer, |key| key.sign(b"data")),
                Err(KeyError::AgentRefused { .. })
            ));
        }
        for answer in [Vec::new(), vec![0, 0], vec![0, 0, 0, 9, SIGN_RESPONSE]] {
            assert!(matches!(
                asked(answer, |key| key.sign(b"data")),
                Err(KeyError::NoAgent { .. })
            ));
        }
    }

    #[test]
    fn the_key_is_looked_for_among_others() {
        let list = |keys: &[PublicKey], count: u32| {
            let mut out = vec![IDENTITIES];
            out.extend_from_slice(&count.to_be_bytes());
            for key in keys {
                put_string(&mut out, &blob(key.as_bytes()));
                put_string(&mut out, b"a comment");
            }
            message(&out)
        };
        let (own, other) = (key().public(), SigningKey::from_seed(&[8; 32]).public());
        assert!(asked(list(&[other, own], 2), AgentKey::ready).is_ok());
        assert!(matches!(
            asked(list(&[other], 1), AgentKey::ready),
            Err(KeyError::NotInAgent { .. })
        ));
        assert!(matches!(
            asked(list(&[], 0), AgentKey::ready),
            Err(KeyError::NotInAgent { .. })
        ));
        assert!(matches!(
            asked(list(&[other], 2), AgentKey::ready),
            Err(KeyError::AgentAnswer { .. })
        ));
        let nobody = AgentKey::open(Path::new("no socket here"), own, WAIT);
        assert!(matches!(nobody, Err(KeyError::NoAgent { .. })));
    }

    /// Neither silence nor a byte now and then keeps a turn waiting for longer than it was told.
    #[test]
    fn the_deadline_is_that_of_the_whole_answer() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("agent");
        let listener = UnixListener::bind(&socket).unwrap();
        let wait = Duration::from_secs(1);
        for drips in [false, true] {
            let key = AgentKey {
                socket: socket.clone(),
                public: key().public(),
                wait,
            };
            let begun = std::time::Instant::now();
            let asking = std::thread::spawn(move || (key.sign(b"data"), begun.elapsed()));
            let (mut client, _) = listener.accept().unwrap();
            let answer = signature(KIND, &[0; 64]);
            for byte in answer {
                if asking.is_finished() || (drips && client.write_all(&[byte]).is_err()) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            let (result, took) = asking.join().unwrap();
            assert!(
                matches!(result, Err(KeyError::AgentSilent { waited_s: 1, .. })),
                "{drips}: {result:?}"
            );
            assert!(took >= wait && took < wait * 3, "{drips}: {took:?}");
        }
    }
}
