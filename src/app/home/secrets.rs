//! Where secrets come from: passphrases and the auth key; nothing of them is ever printed.
//!
//! A passphrase comes from the first of: `--passphrase-cmd`, `$GENTLY_PASSPHRASE`, `[keys]
//! passphrase_cmd`, whoever the door can ask. A command runs with `sh -c`; the first line that it
//! prints is the secret.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::config::Config;
use crate::home::Home;
use crate::keys::{AUTH_KEY_ENV, AuthKey, KeyError, STORE_KEY_ENV, WorkFactor};
use crate::os::read_regular;
use crate::record::hash::Hash32;

use super::open::env;

/// The environment's way to give a passphrase.
pub const PASSPHRASE_ENV: &str = "GENTLY_PASSPHRASE";
/// More than any secret has; a command that prints more is not what was meant.
const MAX_SECRET: usize = 64 * 1024;

/// How long a command may take before somebody is told of it.
const LONG: Duration = Duration::from_secs(3);

/// More than any file of an auth key has.
const MAX_KEY_FILE: u64 = 64 * 1024;

/// The auth key that a passphrase opened last, with the digest of its file.
static UNSEALED: Mutex<Option<(Hash32, Zeroizing<String>)>> = Mutex::new(None);

/// What the door of this process offers; set once, before anything runs.
static OFFERED: OnceLock<SecretCommands> = OnceLock::new();

/// Asks a person for a passphrase: the words to ask with, and what it is the passphrase of.
pub type PassphrasePrompt = fn(&str, &str) -> Result<Zeroizing<String>, KeyError>;

/// What a door brings along: `--passphrase-cmd`, `--key-cmd`, and somebody to ask.
#[derive(Clone, Debug, Default)]
pub struct SecretCommands {
    /// Prints a passphrase.
    pub passphrase_cmd: Option<String>,
    /// Prints the model server's key.
    pub key_cmd: Option<String>,
    /// Who can be asked; a door without a person has nobody.
    pub ask: Option<PassphrasePrompt>,
    /// Says what is waited for.
    pub tell: Option<fn(&str)>,
}

/// Remembers what the door offers.
pub fn set(offered: SecretCommands) {
    let _ = OFFERED.set(offered);
}

/// What the door offers.
pub fn offered() -> SecretCommands {
    OFFERED.get().cloned().unwrap_or_default()
}

/// Runs a command with `sh -c` and takes the first line that it prints.
///
/// The error names where the command stands and how it ended, never what it printed.
pub fn from_command(command: &str, place: &str) -> Result<Zeroizing<String>, KeyError> {
    let failed = |reason: String| KeyError::Command {
        place: place.to_owned(),
        reason,
    };
    let child = program("sh")
        .arg("-c")
        .arg(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    let mut child = child.map_err(|e| failed(format!("sh does not run ({e})")))?;
    let _waited = WaitNotice::begin(place);
    let mut printed = child.stdout.take().expect("it was asked to be a pipe");
    let bytes = up_to_a_line(&mut printed);
    let is_too_long = bytes.as_ref().is_ok_and(|bytes| bytes.len() > MAX_SECRET);
    if is_too_long {
        // What is printed is no secret, and may have no end.
        drop(printed);
        let _ = child.kill();
    } else {
        // Whoever prints more than the secret is let; what a program that is left running holds open is
        // waited for by nobody.
        let rest = u64::try_from(MAX_SECRET).unwrap_or(u64::MAX);
        std::thread::spawn(move || std::io::copy(&mut printed.take(rest), &mut std::io::sink()));
    }
    let status = child.wait();
    let bytes = bytes.map_err(|e| failed(format!("what it printed can't be read ({e})")))?;
    match status {
        _ if is_too_long => {}
        Ok(status) if status.success() => {}
        Ok(status) if status.code() == Some(NOT_FOUND) => {
            return Err(failed(
                "a program that it names is not installed, or not in $PATH".to_owned(),
            ));
        }
        Ok(status) => return Err(failed(format!("it failed ({status})"))),
        Err(e) => return Err(failed(format!("how it ended is not known ({e})"))),
    }
    first_line(&bytes).map_err(|reason| failed(reason.to_owned()))
}

/// What sh ends with where there is no such program.
const NOT_FOUND: i32 = 127;

/// Says once, where something takes long, that it is waited for; until it is dropped.
struct WaitNotice(Option<(Sender<()>, JoinHandle<()>)>);

impl WaitNotice {
    /// Of the command that stands at a place.
    fn begin(place: &str) -> Self {
        let Some(tell) = offered().tell else {
            return WaitNotice(None);
        };
        let words = format!(
            "the command of {place} has not ended after {} s, and is waited for",
            LONG.as_secs()
        );
        let (end, ended) = channel();
        let wait = move || {
            if ended.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                tell(&words);
            }
        };
        WaitNotice(Some((end, std::thread::spawn(wait))))
    }
}

impl Drop for WaitNotice {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            // A notice that failed is no fault of the command.
            let _ = thread.join();
        }
    }
}

/// What is printed up to the first end of a line, or as much as is more than any secret.
fn up_to_a_line(printed: &mut impl Read) -> std::io::Result<Zeroizing<Vec<u8>>> {
    // Of its full length at once: growing would leave copies behind.
    let mut bytes = Zeroizing::new(vec![0; MAX_SECRET + 1]);
    let mut filled = 0;
    while filled < bytes.len() && !bytes[..filled].contains(&b'\n') {
        match printed.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// A program that is to be started. What opens this process's database and keys, or presents one of
/// them, is not in its environment: a pager, an editor, git and their children have no use for it.
pub fn program(name: &str) -> Command {
    let mut program = Command::new(name);
    for secret in [STORE_KEY_ENV, PASSPHRASE_ENV, AUTH_KEY_ENV] {
        program.env_remove(secret);
    }
    program
}

/// The first line of what a command or file holds, without its end.
pub fn first_line(bytes: &[u8]) -> Result<Zeroizing<String>, &'static str> {
    if bytes.len() > MAX_SECRET {
        return Err("it is longer than any secret");
    }
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok("") => Err("its first line is empty"),
        Ok(text) => Ok(Zeroizing::new(text.to_owned())),
        Err(_) => Err("its first line is not UTF-8"),
    }
}

/// A passphrase for something that has one.
pub fn passphrase(config: &Config, place: &str) -> Result<Zeroizing<String>, KeyError> {
    match given(config)? {
        Some(passphrase) => Ok(passphrase),
        None => ask(&format!("passphrase of {place}: "), place),
    }
}

/// A passphrase for something that gets one; on a terminal it is asked for twice.
pub fn new_passphrase(config: &Config, place: &str) -> Result<Zeroizing<String>, KeyError> {
    if let Some(passphrase) = given(config)? {
        return Ok(passphrase);
    }
    let first = ask(&format!("new passphrase for {place}: "), place)?;
    let second = ask("the same again: ", place)?;
    if *first != *second {
        return Err(KeyError::TwoPassphrases);
    }
    Ok(first)
}

/// Whether a passphrase is had without asking anybody.
pub fn is_passphrase_given(config: &Config) -> bool {
    offered().passphrase_cmd.is_some()
        || env(PASSPHRASE_ENV).is_some()
        || config.keys.passphrase_cmd.is_some()
}

fn given(config: &Config) -> Result<Option<Zeroizing<String>>, KeyError> {
    if let Some(command) = offered().passphrase_cmd {
        return from_command(&command, "--passphrase-cmd").map(Some);
    }
    if let Some(text) = env(PASSPHRASE_ENV) {
        let place = format!("${PASSPHRASE_ENV}");
        let text = text.into_string().map(Zeroizing::new);
        return match text {
            Ok(text) if !text.is_empty() => Ok(Some(text)),
            _ => Err(KeyError::NoPassphrase {
                place,
                reason: "it is empty, or not UTF-8".to_owned(),
            }),
        };
    }
    config
        .keys
        .passphrase_cmd
        .as_deref()
        .map(|command| from_command(command, "[keys] passphrase_cmd"))
        .transpose()
}

fn ask(prompt: &str, place: &str) -> Result<Zeroizing<String>, KeyError> {
    match offered().ask {
        Some(ask) => ask(prompt, place),
        None => Err(KeyError::NoPassphrase {
            place: place.to_owned(),
            reason: "nobody can be asked for it here".to_owned(),
        }),
    }
}

/// The auth key that is presented: `$GENTLY_AUTH_KEY`, else the vault file.
pub fn auth_key(home: &Home, config: &Config) -> Result<AuthKey, KeyError> {
    match env(AUTH_KEY_ENV) {
        Some(text) => {
            let text = Zeroizing::new(text.to_string_lossy().into_owned());
            AuthKey::from_text(&text, "$GENTLY_AUTH_KEY")
        }
        None => {
            let path = home.auth_key_path();
            match AuthKey::is_protected(&path)? {
                true => unsealed(&path, config),
                false => AuthKey::load(&path),
            }
        }
    }
}

/// The digest of the file that the auth key is in, whether it has a passphrase or not; none where the
/// environment presents the key, and where there is no such file.
pub fn auth_key_file(home: &Home) -> Option<Hash32> {
    if env(AUTH_KEY_ENV).is_some() {
        return None;
    }
    let bytes = read_regular(&home.auth_key_path(), MAX_KEY_FILE).ok()?;
    Some(Hash32::digest(&Zeroizing::new(bytes)))
}

/// The key of a file that has a passphrase, which is asked for once for as long as the file stays as
/// it is: a chat presents its key with every question.
pub fn unsealed(path: &Path, config: &Config) -> Result<AuthKey, KeyError> {
    let sealed = std::fs::read(path).ok().map(|bytes| Hash32::digest(&bytes));
    let mut known = UNSEALED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, text)) = known.as_ref()
        && Some(*of) == sealed
    {
        return AuthKey::from_text(text, &path.display().to_string());
    }
    let key = AuthKey::load_with(path, &mut |place| passphrase(config, place))?;
    *known = sealed.map(|sealed| (sealed, key.reveal()));
    Ok(key)
}

/// How hard a new passphrase is to try.
///
/// Builds with debug assertions, which encrypt a hundred times slower, take another one for tests.
pub fn work_factor() -> WorkFactor {
    if cfg!(debug_assertions)
        && let Some(log_n) =
            env("GENTLY_TEST_WORK_FACTOR").and_then(|text| text.to_str()?.parse().ok())
    {
        return WorkFactor::new(log_n);
    }
    WorkFactor::STANDARD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_first_line() {
        for (bytes, expected) in [
            (&b"key\n"[..], Some("key")),
            (b"key", Some("key")),
            (b"key\r\nmore", Some("key")),
            (b" key ", Some(" key ")),
            (b"", None),
            (b"\nkey", None),
            (b"\xff\n", None),
        ] {
            assert_eq!(
                first_line(bytes).ok().as_deref().map(String::as_str),
                expected,
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_failed_command_does_not_show_what_it_printed() {
        assert_eq!(
            *from_command("printf 'sec ret\\nmore'", "t").unwrap(),
            "sec ret"
        );
        let error = from_command("echo hush; exit 3", "--key-cmd")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("--key-cmd") && error.contains('3') && !error.contains("hush"),
            "{error}"
        );
        assert!(from_command("true", "t").is_err());
    }

    #[test]
    fn a_command_without_an_end_and_one_that_leaves_a_child_hold_nobody() {
        let error = from_command("tr '\\0' x </dev/zero", "t").unwrap_err();
        assert!(
            error.to_string().contains("longer than any secret"),
            "{error}"
        );
        let error = from_command("yes", "t").unwrap_err();
        assert!(error.to_string().contains("it failed"), "{error}");
        let begun = std::time::Instant::now();
        let left = from_command("echo key; sleep 20 &", "t").unwrap();
        assert_eq!(*left, "key");
        assert!(begun.elapsed().as_secs() < 15, "it waited for the child");
        // More lines than one, as password managers print them, are no fault.
        let more = from_command("echo key; seq 5000", "t").unwrap();
        assert_eq!(*more, "key");
    }
}
