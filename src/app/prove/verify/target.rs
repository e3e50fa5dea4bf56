//! Which ledger is looked at: a home, a repository or a bundle.

use std::path::{Path, PathBuf};

use crate::app::prove::git;
use crate::audit::{DatabaseAudit, WithDatabase};
use crate::os::{read_regular_text, why_unread};
use crate::record::ledger::commit::CommitKind;
use crate::record::signature::PublicKey;
use crate::recorder::{Paths, checkpoint_is_newest};
use crate::store::{Store, StoreError};
use crate::verify::{
    AuditQuestion, Evidence, Finding, HeaderRequests, OwnerCheck, Report, VerifyError,
    VerifyOptions, verify_as, verify_in_use,
};

use super::TargetRequest;
use super::copy::{self, Copy};
use super::headers::{self, HeaderSources};

/// The tree head beside a log.
pub(super) const CHECKPOINT: &str = "audit.checkpoint";
/// Largest file of keys: some thousand of them, with their comments.
const MAX_KEYS: u64 = 1 << 20;

/// Why nothing could be looked at.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Neither a home nor `--repo`.
    #[error("no home to look at; run `gently init`, or name a ledger with --repo PATH-OR-BUNDLE")]
    NoHome,
    /// The home holds no ledger.
    #[error("no ledger at {path}; run `gently init`, or name a ledger with --repo PATH-OR-BUNDLE")]
    NoLedger {
        /// Where it should be.
        path: PathBuf,
    },
    /// A saved position is wanted, and there is no place for one.
    #[error(
        "--since last of a repository needs --position FILE, which an earlier check with it has written"
    )]
    NoPosition,
    /// A part of the home is lost.
    #[error("{path} is missing; `gently audit rebuild` restores it from the database")]
    Lost {
        /// Where it should be.
        path: PathBuf,
    },
    /// No key in what `--signer` names, or in the home's own file.
    #[error(
        "no ssh-ed25519 public key in '{place}': {reason}; give 'ssh-ed25519 AAAA…' or a .pub file"
    )]
    Signer {
        /// The argument or file.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A bundle could not be unpacked.
    #[error("git can't unpack the bundle {path}: {reason}; check it with `git bundle verify`")]
    Bundle {
        /// Path of the git bundle.
        path: PathBuf,
        /// What git said about it.
        reason: String,
    },
    /// A copy could not be fetched.
    #[error("no copy of {address}: {reason}")]
    Copy {
        /// The address, without a name or password.
        address: String,
        /// git's words, or why git was not asked.
        reason: String,
    },
    /// No policy in what `--policy` names.
    #[error("{path}: {reason}; the form of a policy is c2sp.org/tlog-policy")]
    Policy {
        /// Path of the witness policy.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No tree head in what `--head` names, no ledger in what `--compare` names.
    #[error("{place} is nothing to compare with: {reason}")]
    Head {
        /// The file, repository or address.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `--headers` names no folder, or one whose headers can't be used.
    #[error("--headers {reason}")]
    Headers {
        /// Which, and what is wrong with it.
        reason: String,
    },
    /// A receipt that can't be read, or was changed.
    #[error("{0}")]
    Receipt(String),
    /// The verifier could not look.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

/// A repository that was named: a folder, a bundle that was unpacked, or a copy that was fetched.
pub enum OpenedRepository {
    /// As it is.
    Folder(PathBuf),
    /// Removed when the check is over.
    Bundle(UnpackedBundle),
    /// In the cache.
    Copy(Box<Copy>),
}

impl OpenedRepository {
    /// Finds what a path or an address names.
    pub fn find(named: &Path) -> Result<Self, TargetError> {
        let text = named.to_string_lossy();
        if !named.exists() && copy::is_address(&text) {
            return Ok(OpenedRepository::Copy(Box::new(Copy::fetch(&text)?)));
        }
        Ok(if named.is_file() {
            OpenedRepository::Bundle(UnpackedBundle::bundle(named)?)
        } else {
            OpenedRepository::Folder(named.to_owned())
        })
    }

    /// Where it is.
    pub fn repository(&self) -> PathBuf {
        match self {
            OpenedRepository::Folder(path) => path.clone(),
            OpenedRepository::Bundle(unpacked) => unpacked.repository(),
            OpenedRepository::Copy(copy) => copy.repository(),
        }
    }
}

/// A ledger to look at.
pub struct AuditTarget {
    repository: PathBuf,
    log: Option<PathBuf>,
    checkpoint: Option<PathBuf>,
    signers: Vec<PublicKey>,
    database: Option<PathBuf>,
    in_use: bool,
    places: HeaderSources,
    opened: Option<OpenedRepository>,
    /// A home that has lost its database: where it was.
    lost: Option<PathBuf>,
}

impl AuditTarget {
    /// Whether a key is one of those that the ledger has to be signed by.
    pub fn pins(&self, key: &PublicKey) -> bool {
        self.signers.contains(key)
    }

    /// Finds what the flags name, else the home's own ledger, pinned to the home's own first key.
    pub fn find(request: &TargetRequest, home: Option<&Path>) -> Result<Self, TargetError> {
        let mut signers = Vec::new();
        for named in &request.signers {
            signers.extend(read_signers(named)?);
        }
        request
            .headers
            .as_deref()
            .map(headers::folder)
            .transpose()?;
        let beside = |log: &PathBuf| log.with_file_name(CHECKPOINT);
        if let Some(repository) = &request.repo {
            let opened = OpenedRepository::find(repository)?;
            return Ok(AuditTarget {
                repository: opened.repository(),
                checkpoint: request
                    .checkpoint
                    .clone()
                    .or_else(|| request.log.as_ref().map(beside)),
                log: request.log.clone(),
                signers,
                database: None,
                in_use: false,
                places: HeaderSources::new(
                    request.headers.clone(),
                    None,
                    request.headers.is_some(),
                ),
                opened: Some(opened),
                lost: None,
            });
        }
        let home = home.ok_or(TargetError::NoHome)?;
        let (repository, log) = (home.join("ledger.git"), home.join("audit.log"));
        let database = Some(home.join("gently.db")).filter(|path| path.is_file());
        if let Some(lost) = [&repository, &log]
            .into_iter()
            .find(|part| database.is_some() && !part.exists())
        {
            return Err(TargetError::Lost { path: lost.clone() });
        }
        if !repository.is_dir() {
            return Err(TargetError::NoLedger { path: repository });
        }
        if signers.is_empty() {
            signers = own_signers(home)?;
        }
        let folder = request.headers.clone().unwrap_or_else(|| {
            Paths {
                root: home.to_owned(),
            }
            .headers()
        });
        let places = HeaderSources::new(
            Some(folder),
            Some(home.to_owned()),
            request.headers.is_some(),
        );
        // What has keys is a home, and no copy of a ledger's public part.
        let lost =
            (database.is_none() && home.join("keys").is_dir()).then(|| home.join("gently.db"));
        let checkpoint = Some(beside(&log));
        Ok(AuditTarget {
            repository,
            log: Some(log),
            checkpoint,
            signers,
            database,
            in_use: true,
            places,
            opened: None,
            lost,
        })
    }

    /// The copy in the cache, when an address was named.
    pub fn copy(&self) -> Option<&Copy> {
        match &self.opened {
            Some(OpenedRepository::Copy(copy)) => Some(copy),
            _ => None,
        }
    }

    /// Whether the database of a home has a tree head that is not beside the log yet, as after a
    /// power loss: then the newest lines look as if nobody had signed them.
    pub fn has_tree_head_to_place(&self) -> bool {
        let (Some(database), true) = (&self.database, self.in_use) else {
            return false;
        };
        let Some(root) = database.parent() else {
            return false;
        };
        let paths = Paths {
            root: root.to_owned(),
        };
        let signed = Store::open_read_only(database).and_then(|store| {
            let head = store.head()?;
            // Right after a rotation it is by the key before, and beside the log in nearly every home.
            let nobody_signed = store.unsigned_lines(&head, |_| Ok::<_, StoreError>(false))?;
            Ok((nobody_signed.is_none() && !head.lacks_tree_head()).then_some(head))
        });
        signed.is_ok_and(|head| {
            head.is_some_and(|head| matches!(checkpoint_is_newest(&head, &paths), Ok(false)))
        })
    }

    /// Checks the ledger under these terms.
    pub fn report(&self, terms: VerifyOptions<'_>) -> Result<Report, TargetError> {
        let database = |look: &mut WithDatabase<'_>| -> Result<(), VerifyError> {
            let Some(path) = &self.database else {
                return Ok(());
            };
            let store = Store::open_read_only(path)?;
            store.begin_read()?;
            look(&store)?;
            Ok(store.end_read()?)
        };
        let audit = DatabaseAudit(&database);
        let evidence = Evidence {
            repository: &self.repository,
            log: self.log.as_deref(),
            checkpoint: self.checkpoint.as_deref(),
            signers: &self.signers,
        };
        let find = |wanted: &HeaderRequests| self.places.find(wanted);
        let terms = VerifyOptions {
            owner: self.database.as_ref().map(|_| &audit as &dyn OwnerCheck),
            headers: Some(&find),
            ..terms
        };
        let check = if self.in_use {
            verify_in_use
        } else {
            verify_as
        };
        let mut report = check(&evidence, terms)?;
        if let Some(reason) = self.places.unusable() {
            return Err(TargetError::Headers { reason });
        }
        if let Some(lost) = &self.lost {
            let answers = report
                .commits
                .get(&CommitKind::Interaction)
                .copied()
                .unwrap_or_default();
            report.found(Finding {
                question: AuditQuestion::Complete,
                place: lost.display().to_string(),
                expected: "the database of this home, which had the only texts and salts".to_owned(),
                actual: format!(
                    "nothing: the texts of {answers} answers and of every artifact are lost, and none can be opened any \
                     more; restore a backup (gently restore FILE, into a new place)"
                ),
                session: None,
            });
        }
        Ok(report)
    }
}

/// The keys of the home, in the order in which they came into force.
pub fn own_signers(home: &Path) -> Result<Vec<PublicKey>, TargetError> {
    let keys = home.join("keys");
    let files = [keys.join("allowed_signers"), keys.join("signing.key.pub")];
    let file = files.iter().find(|file| file.is_file());
    file.map_or(Ok(Vec::new()), |file| {
        read_signers(&file.display().to_string())
    })
}

/// One key as it is typed, or the first one of a file.
pub fn read_signer(text: &str) -> Result<PublicKey, TargetError> {
    if text.starts_with("ssh-ed25519 ") {
        key_in(text, text)
    } else {
        first_key(Path::new(text))
    }
}

/// One key, or every key of a file: an `allowed_signers` has one a line.
pub fn read_signers(text: &str) -> Result<Vec<PublicKey>, TargetError> {
    if text.starts_with("ssh-ed25519 ") {
        return key_in(text, text).map(|key| vec![key]);
    }
    let failed = |e: std::io::Error| unread_signer(text, &e);
    let keys = read_regular_text(Path::new(text), MAX_KEYS).map_err(failed)?;
    let lines = keys
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys: Vec<PublicKey> = lines
        .map(|line| key_in(line, text))
        .collect::<Result<_, _>>()?;
    if keys.is_empty() {
        return Err(TargetError::Signer {
            place: text.to_owned(),
            reason: "it is empty".to_owned(),
        });
    }
    Ok(keys)
}

fn first_key(file: &Path) -> Result<PublicKey, TargetError> {
    let place = file.display().to_string();
    match read_regular_text(file, MAX_KEYS) {
        Ok(text) => key_in(&text, &place),
        Err(error) => Err(unread_signer(&place, &error)),
    }
}

/// That the file of a key can't be read.
fn unread_signer(place: &str, error: &std::io::Error) -> TargetError {
    TargetError::Signer {
        place: place.to_owned(),
        reason: why_unread(error),
    }
}

/// The first key of a `.pub` or `allowed_signers` text; comments before and after it are passed
/// over.
fn key_in(text: &str, place: &str) -> Result<PublicKey, TargetError> {
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let failed = |reason: &str| TargetError::Signer {
        place: place.to_owned(),
        reason: reason.to_owned(),
    };
    let line = lines.next().ok_or_else(|| failed("it is empty"))?;
    let mut words = line
        .split_whitespace()
        .skip_while(|word| *word != "ssh-ed25519");
    match (words.next(), words.next()) {
        (Some(kind), Some(key)) => format!("{kind} {key}")
            .parse()
            .map_err(|_| failed("the key is damaged")),
        _ => Err(failed("its first line holds none")),
    }
}

/// A bundle, unpacked by the user's own git into a folder that goes away again.
pub struct UnpackedBundle {
    folder: PathBuf,
}

impl UnpackedBundle {
    fn bundle(bundle: &Path) -> Result<Self, TargetError> {
        let failed = |reason: String| TargetError::Bundle {
            path: bundle.to_owned(),
            reason,
        };
        let bundle_path = std::path::absolute(bundle).map_err(|e| failed(e.to_string()))?;
        let unpacked = UnpackedBundle {
            folder: fresh_folder().map_err(|e| failed(e.to_string()))?,
        };
        // The caller's repository, hooks and settings have no say in what is looked at.
        let mut git = git::git();
        git.env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0");
        git.args(["clone", "--quiet", "--mirror", "--template=", "--"])
            .arg(&bundle_path)
            .arg(unpacked.repository());
        let output = git::run(&mut git).map_err(failed)?;
        if !output.status.success() {
            return Err(failed(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            ));
        }
        Ok(unpacked)
    }

    fn repository(&self) -> PathBuf {
        self.folder.join("ledger.git")
    }
}

impl Drop for UnpackedBundle {
    fn drop(&mut self) {
        // Nothing to be done about a folder that can't be removed: it is in the system's temporary
        // folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A new folder that only this user can read.
fn fresh_folder() -> std::io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|e| std::io::Error::other(e.to_string()))?;
    let folder = std::env::temp_dir().join(format!("gently-audit-{}", hex::encode(random)));
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder)?;
    Ok(folder)
}
