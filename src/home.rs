//! A home: where it is, how it is made, what it holds.
//!
//! ```text
//! gently.toml     configuration
//! context.json    what a turn may refer to
//! keys/           0700: auth.key, signing.key (0600), signing.key.pub, allowed_signers
//! ledger.git      the git ledger
//! audit.log       the log
//! gently.db       the relationship database (0600)
//! audit.seen      length and times of the log when gently last closed it, so that a turn notices a change (0600)
//! verified.json   how far the last check came that found nothing wrong (0600)
//! writer.lock     held for one batch; in-flight/ has a file for each writer, with its prompts whose model is thinking
//! ```

mod guard;
mod index;
mod scratch;
mod touched;

pub use scratch::{
    LeftCopy, LeftCopyOf, RESTORING, ScratchUse, left_copies, make_scratch, remove_leftovers,
};

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::config;
use crate::config::SignedBy;
use crate::govern::kernel::{Kernel, KernelError};
use crate::keys::{
    AuthKey, KeyError, Random, SIGNING_KEY, SIGNING_KEY_PUB, Signer, SigningKey, allowed_signers,
    create_dir, rotation,
};
use crate::os::read_own_text;
use crate::record::bitcoin::block::Network;
use crate::record::canon;
use crate::record::context::config::{ContextConfig, ContextConfigFault, GENESIS_CONTEXT};
use crate::record::hash::Hash32;
use crate::record::ledger::auth_key;
use crate::record::ledger::commitment::{Salt, Scheme};
use crate::record::ledger::documents::{FORMAT, Format, Genesis, default_origin, origin_is_valid};
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;
use crate::recorder::{FirstRecords, Paths, RecorderError, create};
use crate::store::{DatabaseForm, ReadStore, Store, StoreError};

pub use guard::PRIVATE;
use guard::lock_init;

/// The file that says what a turn may refer to.
pub const CONTEXT: &str = "context.json";

/// Why a home can't be found, made or read.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Neither `$GENTLY_HOME` nor a home directory is known.
    #[error(
        "no place for a home: $GENTLY_HOME is not set, and neither is $HOME. Set GENTLY_HOME to a directory"
    )]
    NoPlace,
    /// Something is there already.
    #[error(
        "{path} is there already, and is not an empty directory. Use another place: GENTLY_HOME=DIR gently init"
    )]
    Exists {
        /// Folder that has a home already.
        path: PathBuf,
    },
    /// A part of the home is missing.
    #[error("{path} is no whole home: {part} is missing. {}", mend(part))]
    Incomplete {
        /// Folder of the home.
        path: PathBuf,
        /// What is missing.
        part: &'static str,
    },
    /// Others can read or change what is private.
    #[error(
        "{} has mode {mode:04o}: others than its owner can read or change it, so nothing is recorded. \
         chmod {widest:o} {}", path.display(), path.display()
    )]
    Wide {
        /// File or folder that others can read.
        path: PathBuf,
        /// Its permission bits, such as `0o644`.
        mode: u32,
        /// The widest it may have.
        widest: u32,
    },
    /// An origin that the format does not allow.
    #[error(
        "'{origin}' can't be a ledger's name: 1 to 100 printable ASCII characters, without spaces and '+'"
    )]
    Origin {
        /// What was given.
        origin: String,
    },
    /// The system refused.
    #[error("cannot {doing} {path}: {reason}. Another place: GENTLY_HOME=DIR")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// File or folder that could not be read or written.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A key could not be made, read or written.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The first records.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// The database could not be made or opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The kernel on record.
    #[error("the kernel on record can't be read: {0}")]
    Kernel(#[from] KernelError),
    /// The configuration of contexts.
    #[error("{0}; a home without the file has the built-in one")]
    Context(#[from] ContextConfigFault),
    /// A document of the home is not what it should be.
    #[error("{what}: {reason}; run `gently audit verify`")]
    Document {
        /// Name of the document, such as `genesis.json`.
        what: &'static str,
        /// What is wrong with the document.
        reason: String,
    },
}

/// How a part of a home comes back.
fn mend(part: &str) -> &'static str {
    match part {
        "audit.log" | "ledger.git" => "`gently audit rebuild` restores it from the database",
        "gently.db" => {
            "It was the only copy of the texts: `gently audit rebuild` says what can be had. Restore a backup, or use \
             another place with GENTLY_HOME"
        }
        _ => "Restore it from a backup, or use another place with GENTLY_HOME",
    }
}

/// A home that exists.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

/// What a new home is made with.
#[derive(Clone, Debug)]
pub struct InitOptions {
    /// Which chain its blocks are of.
    pub network: Network,
    /// How its ledger commits to text.
    pub commitments: Scheme,
    /// The ledger's name; derived from the first key when none is given.
    pub origin: Option<String>,
}

impl Default for InitOptions {
    fn default() -> Self {
        InitOptions {
            network: Network::Bitcoin,
            commitments: Scheme::HmacSha256,
            origin: None,
        }
    }
}

/// Where the home is: `$GENTLY_HOME`, else the platform's data directory.
pub fn locate(gently_home: Option<OsString>) -> Result<PathBuf, HomeError> {
    match gently_home {
        Some(path) if !path.is_empty() => {
            let path = PathBuf::from(path);
            std::path::absolute(&path).map_err(|e| io("find", &path, &e))
        }
        _ => {
            let base =
                etcetera::base_strategy::choose_base_strategy().map_err(|_| HomeError::NoPlace)?;
            let path = base.data_dir().join("gently");
            std::path::absolute(&path).map_err(|e| io("find", &path, &e))
        }
    }
}

fn io(doing: &'static str, path: &Path, error: &std::io::Error) -> HomeError {
    HomeError::Io {
        doing,
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

impl Home {
    /// Opens a home; none when there is nothing (or an empty directory) at that place.
    pub fn open(root: &Path) -> Result<Option<Self>, HomeError> {
        if is_free(root)? {
            return Ok(None);
        }
        let home = Home {
            root: root.to_owned(),
        };
        let paths = home.paths();
        for (part, path) in [
            ("gently.db", paths.database()),
            ("ledger.git", paths.ledger()),
            ("audit.log", paths.log()),
            ("keys", home.root.join("keys")),
        ] {
            if !path.exists() {
                return Err(HomeError::Incomplete {
                    path: home.root,
                    part,
                });
            }
        }
        Ok(Some(home))
    }

    /// Makes a home: in a temporary directory beside it, under a lock, renamed at the end.
    ///
    /// Durable and whole on return; after a failure nothing is left at `root`. Two at once make one
    /// home, and both get it.
    pub fn init(
        root: &Path,
        options: &InitOptions,
        random: Random<'_>,
        now: Seconds,
    ) -> Result<Self, HomeError> {
        if let Some(origin) = options
            .origin
            .as_ref()
            .filter(|origin| !origin_is_valid(origin))
        {
            return Err(HomeError::Origin {
                origin: origin.clone(),
            });
        }
        let parent = root.parent().ok_or_else(|| HomeError::Exists {
            path: root.to_owned(),
        })?;
        std::fs::create_dir_all(parent).map_err(|e| io("make", parent, &e))?;
        let name = root
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(home) = Home::open(root)? {
            return Ok(home);
        }
        let lock_path = parent.join(format!(".{name}.init.lock"));
        let lock = lock_init(&lock_path)?;
        let made = match Home::open(root) {
            Ok(None) => make(
                &parent.join(format!(".{name}.init")),
                root,
                options,
                random,
                now,
            ),
            other => other.map(|_| ()),
        };
        // Removed while it is held: whoever waits on it sees that it is gone, and takes a new one.
        let _ = std::fs::remove_file(&lock_path);
        drop(lock);
        made.map(|()| Home {
            root: root.to_owned(),
        })
    }

    /// The home's directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where its parts are.
    pub fn paths(&self) -> Paths {
        Paths {
            root: self.root.clone(),
        }
    }

    /// The vault file of the auth key.
    pub fn auth_key_path(&self) -> PathBuf {
        self.root.join("keys").join("auth.key")
    }

    /// Whether a key rotation was begun and not finished.
    pub fn rotation_is_begun(&self) -> bool {
        rotation::is_begun(&self.root.join("keys"))
    }

    /// Finishes a key rotation that is on record and whose files a process left halfway.
    pub fn finish_rotation(&self, in_force: &PublicKey) -> Result<bool, HomeError> {
        Ok(rotation::finish(&self.root.join("keys"), in_force)?)
    }

    /// The next signing key, beside the one in force.
    pub fn next_signing_key(&self, random: Random<'_>) -> Result<SigningKey, HomeError> {
        Ok(rotation::prepare(&self.root.join("keys"), random)?)
    }

    /// The signing key of the key file.
    pub fn signing_key(&self) -> Result<SigningKey, HomeError> {
        Ok(SigningKey::load(&self.root.join("keys").join(SIGNING_KEY))?)
    }

    /// Notes that an agent's key is the next signing key.
    pub fn next_agent_key(&self, next: &PublicKey) -> Result<(), HomeError> {
        Ok(rotation::prepare_agent(&self.root.join("keys"), next)?)
    }

    /// What signs, as the configuration says; `socket` is the value of `SSH_AUTH_SOCK`. One never
    /// stands in for the other.
    pub fn signer(&self, chosen: SignedBy, socket: Option<&Path>) -> Result<Signer, HomeError> {
        let keys = self.root.join("keys");
        Ok(match chosen {
            SignedBy::File => self.signing_key()?.into(),
            SignedBy::Agent { wait } => Signer::agent(&keys.join(SIGNING_KEY_PUB), socket, wait)?,
        })
    }

    /// What the ledger is.
    pub fn genesis(store: &ReadStore) -> Result<Genesis, HomeError> {
        canon::parse(store.genesis()?.as_bytes()).map_err(|e| HomeError::Document {
            what: "genesis.json in gently.db",
            reason: e.to_string(),
        })
    }

    /// What a turn may refer to: the home's `context.json`, or the built-in one in a home from
    /// before it.
    pub fn context(&self) -> Result<ContextConfig, HomeError> {
        Home::context_in(&self.root)
    }

    /// The same of the home in a folder that may lack other parts.
    pub fn context_in(root: &Path) -> Result<ContextConfig, HomeError> {
        let path = root.join(CONTEXT);
        let text = match read_own_text(&path, config::MAX_FILE) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => GENESIS_CONTEXT.to_owned(),
            Err(e) => return Err(io("read", &path, &e)),
        };
        Ok(ContextConfig::parse(&text)?)
    }

    /// The kernel in force: the newest one on record.
    pub fn kernel(store: &Store) -> Result<Kernel, HomeError> {
        let missing = |reason: &str| HomeError::Document {
            what: "the kernel in gently.db",
            reason: reason.to_owned(),
        };
        let row = store
            .newest_artifact("kernel")?
            .ok_or_else(|| missing("there is none"))?;
        let text = row.document.ok_or_else(|| missing("its text is gone"))?;
        let doc: ArtifactDoc =
            canon::parse(text.as_bytes()).map_err(|e| missing(&e.to_string()))?;
        let json = canon::print(&doc.content).map_err(|e| missing(&e.to_string()))?;
        Ok(Kernel::from_canonical(&json)?)
    }
}

fn make(
    temporary: &Path,
    root: &Path,
    options: &InitOptions,
    random: Random<'_>,
    now: Seconds,
) -> Result<(), HomeError> {
    remove_dir(temporary)?;
    let made = fill(temporary, options, random, now).and_then(|()| move_in(temporary, root));
    if made.is_err() {
        let _ = remove_dir(temporary);
    }
    made
}

/// Whether nothing, or an empty directory, is at that place.
fn is_free(root: &Path) -> Result<bool, HomeError> {
    match std::fs::read_dir(root) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory && root.exists() => {
            Err(HomeError::Exists {
                path: root.to_owned(),
            })
        }
        Err(e) => Err(io("read", root, &e)),
    }
}

fn remove_dir(path: &Path) -> Result<(), HomeError> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io("remove", path, &e)),
        _ => Ok(()),
    }
}

/// Makes everything a home holds.
fn fill(
    root: &Path,
    options: &InitOptions,
    random: Random<'_>,
    now: Seconds,
) -> Result<(), HomeError> {
    create_dir(root)?;
    let keys = root.join("keys");
    create_dir(&keys)?;
    let auth = AuthKey::generate(random)?;
    auth.save_new(&keys.join("auth.key"))?;
    let signing = SigningKey::generate(random)?;
    signing.save_new(&keys.join("signing.key"))?;
    allowed_signers::save_new(&keys.join("allowed_signers"), &[signing.public()])?;
    let config = root.join(config::FILE);
    let context = root.join(CONTEXT);
    for (path, text) in [
        (&config, config::genesis_file(options.network)),
        (&context, GENESIS_CONTEXT.to_owned()),
    ] {
        crate::os::replace_file(path, text.as_bytes(), 0o600).map_err(|e| io("write", path, &e))?;
    }
    let genesis = genesis(options, &signing, now)?;
    let kernel = Kernel::genesis();
    let mut salt = [0; 32];
    random(&mut salt)?;
    let first = FirstRecords {
        genesis,
        kernel: (kernel.hash(), kernel.canonical_json().to_owned()),
        salt: Salt::new(salt),
        auth_key: (auth.hash(), auth_key::FIRST.to_owned()),
    };
    create(
        &Paths {
            root: root.to_owned(),
        },
        signing,
        &first,
    )?;
    if DatabaseForm::of(&root.join("gently.db"))? == DatabaseForm::Encrypted {
        let text = config::with_encryption(&config::genesis_file(options.network));
        crate::os::replace_file(&config, text.as_bytes(), 0o600)
            .map_err(|e| io("write", &config, &e))?;
    }
    Home {
        root: root.to_owned(),
    }
    .note_files(now)
    .map(|_| ())
}

/// `genesis.json` of a new ledger: the template that the binary carries, with this ledger's own
/// values.
fn genesis(
    options: &InitOptions,
    signing: &SigningKey,
    now: Seconds,
) -> Result<Genesis, HomeError> {
    let template: serde_json::Value = serde_json::from_str(include_str!("../genesis/genesis.json"))
        .map_err(|e| HomeError::Document {
            what: "the built-in genesis.json",
            reason: e.to_string(),
        })?;
    if template["format"] != FORMAT || template["genesis"] != Hash32::GENESIS.to_string() {
        let reason = "it names another format or genesis hash".to_owned();
        return Err(HomeError::Document {
            what: "the built-in genesis.json",
            reason,
        });
    }
    let signer = signing.public();
    Ok(Genesis {
        commitments: options.commitments,
        created_at: now,
        format: Format,
        genesis: Hash32::GENESIS,
        network: options.network,
        origin: options
            .origin
            .clone()
            .unwrap_or_else(|| default_origin(&signer)),
        signer,
    })
}

/// Syncs the new home and gives it its name.
fn move_in(temporary: &Path, root: &Path) -> Result<(), HomeError> {
    File::open(temporary)
        .and_then(|dir| dir.sync_all())
        .map_err(|e| io("sync", temporary, &e))?;
    std::fs::rename(temporary, root).map_err(|e| io("rename the new home to", root, &e))?;
    let parent = root.parent().unwrap_or(root);
    File::open(parent)
        .and_then(|dir| dir.sync_all())
        .map_err(|e| io("sync", parent, &e))
}
