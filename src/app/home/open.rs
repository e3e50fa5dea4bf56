//! The only place that chooses implementations: home, key, kernel, model, sources, clock,
//! randomness.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use zeroize::Zeroizing;

use crate::anchor::BlockSource;
use crate::anchor::agree::{AgreementPolicy, Quorum};
use crate::anchor::bitcoind::{Auth, Bitcoind};
use crate::anchor::esplora::Esplora;
use crate::anchor::headers_file::HeadersFile;
use crate::ask::Observations;
use crate::config::{AnchorMode, Config, ConfigError, Content, Settings};
use crate::continuity::compile::note_last_looks;
use crate::govern::actions::actuation::MAX_ACTS;
use crate::govern::kernel::Kernel;
use crate::govern::sight_rules::SightPlan;
use crate::home::{Home, InitOptions, locate, remove_leftovers};
use crate::keys::agent::SOCKET_ENV;
use crate::keys::{KeyError, Signer, os_random};
use crate::os::{may_change_folder, shell_word};
use crate::record::bitcoin::block::Network;
use crate::record::context::config::ContextConfig;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{Bundle, SightEntry};
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::Genesis;
use crate::record::time::{Seconds, whole_millis};
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::{
    ContentPolicy, Recorder, RecorderTerms, SettingsInForce, SyncPolicy, revoked_at, unwatched,
};
use crate::session::TurnEnvironment;
use crate::sight::disk_usage::DiskUsage;
use crate::sight::index_changed::IndexChanged;
use crate::sight::index_status::IndexStatus;
use crate::sight::service_status::ServiceStatus;
use crate::sight::sys_health::SysHealth;
use crate::sight::{Tool, observe_wanted};
use crate::store::{AuthKeyRow, Store, StoreError};

pub use super::open_error::OpenHomeError;
use super::secrets::auth_key;
use crate::app::redacted::no_secret;
use crate::app::set_up::rules_in_force::put_in_force;

/// The wall clock, in whole seconds; refuses what the format can't hold.
pub fn clock() -> Result<Seconds, OpenHomeError> {
    seconds_at(std::time::SystemTime::now())
}

fn seconds_at(now: std::time::SystemTime) -> Result<Seconds, OpenHomeError> {
    // Not by a calendar's library: those panic before 1970.
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since
        .ok()
        .and_then(|since| Seconds::new(since.as_secs()).ok())
        .ok_or(OpenHomeError::Clock)
}

/// The clock for places that come after [`clock`] has succeeded once.
pub fn clock_or_epoch() -> Seconds {
    clock().unwrap_or(Seconds::ZERO)
}

/// Milliseconds of this machine's monotonic clock, since this was asked first.
pub fn monotonic_millis() -> u64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    whole_millis(BEGUN.get_or_init(Instant::now).elapsed())
}

/// An environment variable.
pub fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The database of a home, to be read alone.
pub fn store(home: &Home) -> Result<Store, StoreError> {
    Store::open_read_only(&home.paths().database())
}

/// The configuration of a home, under the environment of this process.
pub fn config(home: &Home) -> Result<Config, ConfigError> {
    Config::load(home.root(), &env)
}

/// Where the home is.
pub fn home_path() -> Result<PathBuf, OpenHomeError> {
    Ok(locate(env("GENTLY_HOME"))?)
}

/// `GENTLY_HOME=/srv/gently `: what stands before commands about a home that is not where homes are by
/// default.
pub fn before_commands(root: &Path) -> String {
    let absolute = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    match locate(None) {
        Ok(usual) if usual == absolute => String::new(),
        _ => format!("GENTLY_HOME={} ", shell_word(&absolute)),
    }
}

/// The home, which must exist.
pub fn existing_home() -> Result<Home, OpenHomeError> {
    let path = home_path()?;
    Home::open(&path)?.ok_or(OpenHomeError::NoHome { path })
}

/// The home, which must exist, opened for writing.
pub fn open_home() -> Result<OpenHome, OpenHomeError> {
    OpenHome::open(existing_home()?)
}

/// The home, made with defaults when it does not exist; and whether it was made.
pub fn home_or_new() -> Result<(Home, bool), OpenHomeError> {
    home_at(&home_path()?)
}

/// The same in a place that the caller names.
pub fn home_at(path: &Path) -> Result<(Home, bool), OpenHomeError> {
    match Home::open(path)? {
        Some(home) => Ok((home, false)),
        None => {
            let options = InitOptions::default();
            let home = Home::init(path, &options, &mut os_random, clock()?)?;
            Ok((home, true))
        }
    }
}

/// Everything that a turn or a session needs, opened.
pub struct OpenHome {
    /// Folder of the home and what it is known by.
    pub home: Home,
    /// Settings of `gently.toml` and the environment.
    pub config: Config,
    /// Database of the home, opened for queries alone.
    pub store: Store,
    /// What the ledger is.
    pub genesis: Genesis,
    /// Kernel in force, under which questions are asked.
    pub kernel: Kernel,
    /// What a turn may refer to; read once.
    pub context: ContextConfig,
    /// The one writer.
    pub recorder: Recorder,
    /// In the order of configuration.
    pub sources: Vec<Box<dyn BlockSource>>,
}

/// Why a file that is written for others may not have a name: it would take the place of one that the
/// home lives on.
pub fn own_file((home, config): (&Home, &Config), path: &Path) -> Option<String> {
    let real = |path: &Path| match path.canonicalize() {
        Ok(found) => Some(found),
        Err(_) => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(parent.join(path.file_name()?))
        }
    };
    let (named, root) = (real(path)?, real(home.root())?);
    let keys = [&config.trace.key_file, &config.model.key_file];
    let is_key = keys
        .into_iter()
        .flatten()
        .any(|key| real(key).as_ref() == Some(&named));
    let shown = spelled_on_a_line(&path.display().to_string());
    if is_key {
        return Some(format!(
            "{shown} holds a key that the settings name; name another file"
        ));
    }
    // Also where the home is mounted in a second place.
    let place = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    let home_place = place(&root)?;
    let mut above = named.ancestors().skip(1);
    let is_inside =
        named.starts_with(&root) || above.any(|folder| place(folder) == Some(home_place));
    is_inside.then(|| {
        format!("{shown} lies in the home ({}), which nothing but gently writes to; name a file elsewhere", root.display())
    })
}

impl OpenHome {
    /// Why a file that is written for others may not have a name: it would take the place of one that the
    /// home lives on.
    pub fn own_file(&self, path: &Path) -> Option<String> {
        own_file((&self.home, &self.config), path)
    }

    /// Opens a home for writing. Git and log are synced with each record, and now if any waits.
    pub fn open(home: Home) -> Result<Self, OpenHomeError> {
        Self::open_under(home, Home::kernel, SyncPolicy::EachBatch)
    }

    /// The same for somebody who waits for an answer: the sync of git and log waits for the close of
    /// a session, for more records, or for the next command that opens the home.
    pub fn open_for_turns(home: Home) -> Result<Self, OpenHomeError> {
        Self::open_under(home, Home::kernel, SyncPolicy::Deferred)
    }

    /// The same under a kernel of one's own.
    pub fn open_under<E>(
        home: Home,
        kernel: impl FnOnce(&Store) -> Result<Kernel, E>,
        sync_policy: SyncPolicy,
    ) -> Result<Self, OpenHomeError>
    where
        OpenHomeError: From<E>,
    {
        remove_leftovers(home.root());
        let settings = Settings::load(home.root(), &env)?;
        let config = Config::from_settings(&settings, home.root());
        put_in_force(&config)?;
        no_secret("session.host_role", &config.session.host_role)?;
        home.is_private()?;
        writable(&home.paths().database())?;
        finish_rotation(&home)?;
        let signer = signer(&home, &config)?;
        let terms = RecorderTerms {
            content_policy: Some(content_policy(&config)),
            settings: Some(SettingsInForce(settings.recorded())),
            sync_policy,
            ..RecorderTerms::default()
        };
        let recorder = Recorder::open_with(home.paths(), signer, clock()?, unwatched(), terms)?;
        let store = store(&home)?;
        let genesis = Home::genesis(&store)?;
        let kernel = kernel(&store)?;
        let config = config.on_host(kernel.host_role());
        let sources = sources(&config, genesis.network)?;
        let context = home.context()?;
        Ok(OpenHome {
            home,
            config,
            store,
            genesis,
            kernel,
            context,
            recorder,
            sources,
        })
    }

    /// The rooms as sessions and turns see them.
    pub fn environment<'a>(&'a self, model: &'a str, say: &'a dyn Fn(&str)) -> TurnEnvironment<'a> {
        TurnEnvironment {
            recorder: &self.recorder,
            store: &self.store,
            kernel: &self.kernel,
            context: &self.context,
            model,
            host_role: &self.config.session.host_role,
            idle: self.config.session.idle,
            network: self.genesis.network,
            sources: &self.sources,
            policy: policy(&self.config),
            look_again: self.config.anchor.look_again,
            clock: &clock_or_epoch,
            stopwatch: &monotonic_millis,
            say,
            declared: &|_| {},
        }
    }

    /// Checks the auth key in constant time; a wrong or missing one is on record before this
    /// returns.
    pub async fn authorize(&self) -> Result<Hash32, OpenHomeError> {
        let presented = auth_key(&self.home, &self.config);
        let (mut usable, mut revoked) = (Vec::new(), Vec::new());
        for key in self.store.auth_keys()? {
            match revoked_at(&self.store, &key)? {
                Some(_) => revoked.push(key),
                None => usable.push(key),
            }
        }
        let hashes = |keys: &[AuthKeyRow]| keys.iter().map(|key| key.hash).collect::<Vec<Hash32>>();
        let (known, revoked) = (hashes(&usable), hashes(&revoked));
        let (reason, why) = match presented {
            Ok(key) => match key.find_in(&known) {
                Some(hash) => return Ok(hash),
                None if key.find_in(&revoked).is_some() => (
                    "revoked_key",
                    "the key was revoked; use another one (gently key list)".to_owned(),
                ),
                None => (
                    "wrong_key",
                    "this home does not know the key; use the one it was made with".to_owned(),
                ),
            },
            Err(e @ KeyError::Missing { .. }) => ("missing_key", e.to_string()),
            Err(e @ KeyError::AuthKey { .. }) => ("malformed_key", e.to_string()),
            Err(e @ KeyError::WrongPassphrase { .. }) => ("wrong_passphrase", e.to_string()),
            Err(e @ (KeyError::NoPassphrase { .. } | KeyError::Command { .. })) => {
                ("no_passphrase", e.to_string())
            }
            Err(e @ KeyError::Sealed { .. }) => ("malformed_key", e.to_string()),
            Err(e) => ("unsafe_key_file", e.to_string()),
        };
        self.recorder.auth_fail(reason.to_owned(), clock()?).await?;
        Err(OpenHomeError::Auth { reason, why })
    }

    /// A turn's own observations: what the plan's tools show, and salts.
    pub fn gather(&self, plan: &SightPlan) -> Result<Observations, OpenHomeError> {
        let action_salts = (0..2 * MAX_ACTS)
            .map(|_| fresh_salt())
            .collect::<Result<_, _>>()?;
        Ok(Observations {
            sight: sight(&self.home, &self.config, (&self.kernel, &self.store), plan)?,
            salt: fresh_salt()?,
            action_salts,
        })
    }
}

impl OpenHome {
    /// Whether texts are kept, as configured.
    pub fn keeps_text(&self) -> bool {
        keeps_text(&self.config)
    }
}

/// Whether texts are kept under a configuration.
pub fn keeps_text(config: &Config) -> bool {
    content_policy(config).keeps_text()
}

/// What is kept of texts, as configured.
fn content_policy(config: &Config) -> ContentPolicy {
    match config.store.content() {
        Content::Sanitized => ContentPolicy::Sanitized,
        Content::Nothing { openings } => ContentPolicy::Nothing { openings },
    }
}

/// 32 bytes of the system's randomness.
pub fn fresh_salt() -> Result<Salt, OpenHomeError> {
    let mut bytes = [0; 32];
    os_random(&mut bytes)?;
    Ok(Salt::new(bytes))
}

/// Every observational tool that there is; the kernel says which of them run.
pub fn tools(home: &Home, config: &Config) -> Vec<Arc<dyn Tool>> {
    let paths = home.paths();
    let (counting, comparing) = (home.clone(), home.clone());
    vec![
        Arc::new(SysHealth {
            home: home.root().to_owned(),
        }),
        Arc::new(DiskUsage),
        Arc::new(ServiceStatus::new(config.sight.units.clone())),
        Arc::new(IndexStatus {
            count: Arc::new(move || counting.counted().map_err(|e| e.to_string())),
            database: paths.database(),
            ledger: paths.ledger(),
            log: paths.log(),
        }),
        Arc::new(IndexChanged {
            compare: Arc::new(move || comparing.compared().map_err(|e| e.to_string())),
        }),
    ]
}

/// Notes what the files of the home are like, for sight to compare with later.
///
/// What fails here costs nobody anything: the next comparison then says that a file changed.
pub fn note_files() {
    let home = home_path()
        .ok()
        .and_then(|path| Home::open(&path).ok().flatten());
    if let (Some(home), Ok(now)) = (home, clock()) {
        let _ = home.note_files(now);
        home.note_log();
    }
}

/// The same when the home is open: its own connection reads what was noted. As the last of a
/// process, another one would read all of the write-ahead log again.
pub fn close_and_note(opened: OpenHome) {
    if let Ok(now) = clock() {
        let _ = opened.home.note_files_beside(&opened.store, now);
    }
    let home = opened.home.clone();
    // The log is as it stays when the recorder has ended.
    drop(opened);
    home.note_log();
}

/// What signs, as configured.
pub fn signer(home: &Home, config: &Config) -> Result<Signer, OpenHomeError> {
    let socket = env(SOCKET_ENV).map(PathBuf::from);
    Ok(home.signer(config.keys.signer(), socket.as_deref())?)
}

/// What the observational tools of a plan show now, and when the others were looked at last.
pub fn sight(
    home: &Home,
    config: &Config,
    (kernel, store): (&Kernel, &Store),
    plan: &SightPlan,
) -> Result<BTreeMap<String, SightEntry>, OpenHomeError> {
    let tools = tools(home, config);
    let mut sight = observe_wanted(&tools, kernel.tools(), &plan.tools, clock()?);
    if sight.values().any(SightEntry::was_not_looked_at) {
        let newest = store.newest_with_bundle()?;
        let bundle = newest.and_then(|exchange| exchange.bundle_json);
        // A bundle that can't be read is for gently audit verify to say, not for a question.
        if let Some(earlier) = bundle.and_then(|json| Bundle::parse_unprinted(&json).ok()) {
            note_last_looks(&mut sight, &earlier);
        }
    }
    Ok(sight)
}

/// Puts the next signing key in place, when a rotation is on record whose process died before it
/// did.
pub fn finish_rotation(home: &Home) -> Result<(), OpenHomeError> {
    if home.rotation_is_begun() {
        let in_force = store(home)?.head()?.signer;
        home.finish_rotation(&in_force)?;
    }
    Ok(())
}

/// Fails where a new file can't take the place of the database: on a read-only disk, or where a mode
/// forbids it.
pub fn replaceable(home: &Home) -> Result<(), OpenHomeError> {
    let refused = |path: &Path, fault: std::io::Error| {
        OpenHomeError::Refused(format!(
            "{} can't be written ({fault}), and nothing is changed. Mount the disk read-write, or mend its owner and \
             mode, then give the same command again",
            path.display()
        ))
    };
    let database = home.paths().database();
    let opened = std::fs::OpenOptions::new().write(true).open(&database);
    opened.map_err(|fault| refused(&database, fault))?;
    may_change_folder(home.root()).map_err(|fault| refused(home.root(), fault))
}

/// Fails on a read-only disk, which the database itself tells only as "unable to open".
fn writable(database: &Path) -> Result<(), OpenHomeError> {
    let opened = std::fs::OpenOptions::new().write(true).open(database);
    opened.map(drop).map_err(|e| OpenHomeError::ReadOnly {
        path: database.to_owned(),
        reason: e.to_string(),
    })
}

/// How block sources have to agree.
pub fn policy(config: &Config) -> AgreementPolicy {
    AgreementPolicy {
        quorum: config.anchor.quorum.map_or(Quorum::All, Quorum::Of),
        deadline: config.anchor.deadline,
    }
}

/// How the configured nodes know us: by their cookie file, or by a user and a variable's password.
fn node_auth(config: &Config, address: &str) -> Result<Auth, OpenHomeError> {
    let anchor = &config.anchor;
    let fault = |why: String| OpenHomeError::NodeAuth {
        address: address.to_owned(),
        why,
    };
    match (&anchor.bitcoind_cookie, &anchor.bitcoind_user) {
        (Some(path), None) => Ok(Auth::CookieFile(path.clone())),
        (None, Some(user)) => {
            let variable = &anchor.bitcoind_password_env;
            let password = std::env::var(variable).ok().filter(|text| !text.is_empty()).ok_or_else(|| {
                fault(format!("put the password of user '{user}' into the environment variable {variable}"))
            })?;
            Ok(Auth::Password { user: user.clone(), password: Zeroizing::new(password) })
        }
        (Some(_), Some(_)) => {
            Err(fault("both anchor.bitcoind_cookie and anchor.bitcoind_user are set; remove one".to_owned()))
        }
        (None, None) => Err(fault(
            "gently config set anchor.bitcoind_cookie FILE (.cookie in the node's data directory); \
             or gently config set anchor.bitcoind_user NAME"
                .to_owned(),
        )),
    }
}

/// The block sources of a configuration: file, nodes, explorers; none in mode `off`.
pub fn sources(
    config: &Config,
    network: Network,
) -> Result<Vec<Box<dyn BlockSource>>, OpenHomeError> {
    let mut sources: Vec<Box<dyn BlockSource>> = Vec::new();
    if config.anchor.mode == AnchorMode::Off {
        return Ok(sources);
    }
    if let Some(path) = &config.anchor.headers {
        sources.push(Box::new(HeadersFile::new(path, network)));
    }
    for node in nodes(config, network)? {
        sources.push(Box::new(node));
    }
    for explorer in explorers(config, network)? {
        sources.push(Box::new(explorer));
    }
    Ok(sources)
}

/// The nodes of a configuration, whatever its mode.
pub fn nodes(config: &Config, network: Network) -> Result<Vec<Bitcoind>, OpenHomeError> {
    let node = |address: &String| {
        Ok(Bitcoind::new(
            address,
            network,
            node_auth(config, address)?,
        )?)
    };
    config.anchor.bitcoind.iter().map(node).collect()
}

/// The explorers of a configuration, whatever its mode.
pub fn explorers(config: &Config, network: Network) -> Result<Vec<Esplora>, OpenHomeError> {
    config
        .anchor
        .esplora
        .iter()
        .map(|address| Ok(Esplora::new(address, network)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_clock_outside_the_format_is_refused_and_nothing_panics() {
        let year_10000 = UNIX_EPOCH + Duration::from_secs(253_402_300_800);
        assert_eq!(
            seconds_at(year_10000 - Duration::from_secs(1))
                .unwrap()
                .to_string(),
            "9999-12-31T23:59:59Z"
        );
        for wrong in [
            UNIX_EPOCH - Duration::from_nanos(1),
            UNIX_EPOCH - Duration::from_secs(1 << 33),
            year_10000,
        ] {
            assert!(
                matches!(seconds_at(wrong), Err(OpenHomeError::Clock)),
                "{wrong:?}"
            );
        }
    }
}
