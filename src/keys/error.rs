//! What can be wrong with a key or its file; no message holds key material.

use std::path::{Path, PathBuf};

use crate::os::shell_word;

/// Why a key was not made, read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The system gave no randomness.
    #[error("the system gave no random bytes: {reason}")]
    Random {
        /// What the operating system said.
        reason: String,
    },
    /// A key file is not there.
    #[error("no key file {}: `gently init` makes one with a new home, else restore it from a backup", path.display())]
    Missing {
        /// Path where the key should be.
        path: PathBuf,
    },
    /// Something of that name exists; keys are never overwritten.
    #[error("{} exists and is not overwritten: move it away first, `mv {} {}`", path.display(), shell_word(path), shell_word(&old(path)))]
    Exists {
        /// The file or directory.
        path: PathBuf,
    },
    /// A symbolic link, directory, pipe or device where a file or directory of ours belongs.
    #[error("{} is {actual}, expected {expected}", path.display())]
    Kind {
        /// Path where a file or folder of ours belongs.
        path: PathBuf,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        actual: &'static str,
    },
    /// Others than the owner may read or change it.
    #[error("{} has mode {actual:04o}, expected {expected:04o} or less: run `chmod {expected:o} {}`", path.display(), shell_word(path))]
    Mode {
        /// The file or directory.
        path: PathBuf,
        /// The widest mode it may have.
        expected: u32,
        /// The mode it has.
        actual: u32,
    },
    /// It was replaced between looking and opening.
    #[error("{} was replaced while it was being opened: try again", path.display())]
    Replaced {
        /// File that another process replaced.
        path: PathBuf,
    },
    /// Larger than any key file.
    #[error("{} has more than {limit} bytes: it is no key file", path.display())]
    Large {
        /// File that is too large to be a key.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// Not the text of an auth key.
    #[error("the auth key in {place} is not 64 lower-case hexadecimal digits{} ({actual} bytes found)", if *newline { " and a newline" } else { "" })]
    AuthKey {
        /// File or environment variable.
        place: String,
        /// Whether a newline belongs at the end.
        newline: bool,
        /// How long the text is.
        actual: usize,
    },
    /// Not the text of a key that opens a database.
    #[error(
        "the key in {place} is not 64 hexadecimal digits and nothing else ({actual} bytes found)"
    )]
    StoreKey {
        /// File, environment variable or command.
        place: String,
        /// How long the text is.
        actual: usize,
    },
    /// The vault file has a passphrase, and none was given.
    #[error(
        "{place} needs a passphrase: {reason}. Set $GENTLY_PASSPHRASE, or give --passphrase-cmd CMD, or use a terminal"
    )]
    NoPassphrase {
        /// Encrypted file, as messages name it.
        place: String,
        /// Why it could not be asked for.
        reason: String,
    },
    /// A new passphrase was not typed twice the same.
    #[error("the two passphrases differ; nothing was changed, try again")]
    TwoPassphrases,
    /// Not the passphrase that it was sealed with.
    #[error("wrong passphrase for {place}")]
    WrongPassphrase {
        /// Encrypted file, as messages name it.
        place: String,
    },
    /// Not an age file with a passphrase, or a damaged one.
    #[error(
        "{place} can't be decrypted: {reason}; it is damaged, cut or not what gently wrote: use another copy"
    )]
    Sealed {
        /// Encrypted file, as messages name it.
        place: String,
        /// The reader's words.
        reason: String,
    },
    /// A command or file that should give a secret did not.
    #[error("{place} gave no secret: {reason}")]
    Command {
        /// Where it stands.
        place: String,
        /// What went wrong; never what it printed.
        reason: String,
    },
    /// A file that the configuration names for a secret is not there.
    #[error("no file {} ({key} names it): put the key there, with mode 0600", path.display())]
    NoSecretFile {
        /// The configuration's key.
        key: &'static str,
        /// File that should hold the passphrase.
        path: PathBuf,
    },
    /// Encrypting the key failed.
    #[error("encrypting: {reason}")]
    Seal {
        /// The writer's words.
        reason: String,
    },
    /// A signing key that a passphrase protects.
    #[error("{} has a passphrase, which is not supported: remove it with `ssh-keygen -p -N '' -f {}`", path.display(), shell_word(path))]
    Encrypted {
        /// File of the encrypted key.
        path: PathBuf,
    },
    /// Not an OpenSSH private key of the one kind a ledger signs with.
    #[error("{} is not an OpenSSH Ed25519 private key: {reason}", path.display())]
    SigningKey {
        /// File of the signing key.
        path: PathBuf,
        /// How the file differs from a key in OpenSSH's form.
        reason: String,
    },
    /// Not a raw seed.
    #[error("{} has {actual} bytes, and a raw Ed25519 seed has 32: not base64, not digits, no newline", path.display())]
    Seed {
        /// File of the seed.
        path: PathBuf,
        /// How many bytes it has.
        actual: usize,
    },
    /// Not a public key file of the one kind.
    #[error("{} holds no `ssh-ed25519 AAAA…` on its first line", path.display())]
    PublicKey {
        /// File of the public key.
        path: PathBuf,
    },
    /// The agent is to sign, and nothing says where it is.
    #[error(
        "[keys] signer is \"agent\", and ${variable} is not set: start one with `eval \"$(ssh-agent)\"` and give it the key \
         with `ssh-add FILE`"
    )]
    NoSocket {
        /// Environment variable that should name the socket: `SSH_AUTH_SOCK`.
        variable: &'static str,
    },
    /// Nobody answers at the agent's socket.
    #[error("no SSH agent answers at {}: {reason}; start it again and give it the key with `ssh-add FILE`", socket.display())]
    NoAgent {
        /// Path of the agent's socket.
        socket: PathBuf,
        /// What the operating system said.
        reason: String,
    },
    /// The agent listens and says nothing.
    #[error(
        "the SSH agent at {} did not answer within {waited_s} s: it hangs, or waits for somebody who is to confirm; answer it, or \
         end it, start it again and `ssh-add FILE`. [keys] agent_wait_s gives it more time",
        socket.display()
    )]
    AgentSilent {
        /// Path of the agent's socket.
        socket: PathBuf,
        /// How long it was waited for.
        waited_s: u64,
    },
    /// The agent has other keys, or none.
    #[error(
        "the SSH agent at {} does not have the key {key}, or is locked: give it with `ssh-add FILE` (`ssh-add -L` lists), or \
         unlock it with `ssh-add -X`",
        socket.display()
    )]
    NotInAgent {
        /// The key in `signing.key.pub`.
        key: String,
        /// Path of the agent's socket.
        socket: PathBuf,
    },
    /// The agent said no.
    #[error("the SSH agent at {} refused to {what}: it may have lost the key (`ssh-add -l`), be locked (`ssh-add -X`) or have asked somebody who said no; then try again", socket.display())]
    AgentRefused {
        /// What it was asked.
        what: &'static str,
        /// Path of the agent's socket.
        socket: PathBuf,
    },
    /// The agent's answer is not what it should be; nothing was signed with it.
    #[error("the SSH agent at {} answered with something else than {expected}; nothing was signed: use another agent", socket.display())]
    AgentAnswer {
        /// What was expected.
        expected: &'static str,
        /// Path of the agent's socket.
        socket: PathBuf,
    },
    /// A line of `allowed_signers` that no writer would have written.
    #[error(
        "{place}, line {line}: expected `ledger@gently.invalid namespaces=\"git\" ssh-ed25519 AAAA…`, found '{actual}'"
    )]
    AllowedSigners {
        /// File or ref that the signers come from.
        place: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is there, shortened.
        actual: String,
    },
    /// A file could not be read, written or synced.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

fn old(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".old");
    name.into()
}
