//! The configuration: `gently.toml` and the environment, read once into plain values.
//!
//! ```text
//! [anchor]
//! mode = "off"                  GENTLY_ANCHOR_MODE=off wins over it
//! ```
//!
//! One table ([`table::KEYS`]) says which keys exist, their types, ranges and defaults. A missing
//! file means the defaults. Unknown keys and wrong types are refused, never ignored. Two variables
//! are no keys: `GENTLY_HOME` (where the home is) and `GENTLY_AUTH_KEY` (who asks).

mod duplicate;
mod error;
mod kind;
mod name_path;
mod named_tables;
mod recorded;
mod rules;
mod settings;
pub mod table;
mod unset;
mod value;
pub mod witnesses;
mod words;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::os::read_own_text;
use crate::record::bitcoin::block::Network;

pub use error::ConfigError;
pub use name_path::NamePath;
pub use named_tables::{NamedTables, SHIPPED, is_alias};
pub use settings::{Settings, ValueSource};
pub use table::{
    AnchorSettings, Config, ContextSettings, ConversationSettings, KeySettings, ModelSettings, Ots,
    RetentionSettings, SanitizeSettings, SessionSettings, SightSettings, StoreSettings, Witnesses,
};
pub use unset::without;
pub use witnesses::ConfiguredWitness;

use crate::record::ledger::params::Params;

/// What signs the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedBy {
    /// The key in `keys/signing.key`.
    File,
    /// An SSH agent that has the key of `keys/signing.key.pub`.
    Agent {
        /// `[keys] agent_wait_s`: how long one signature is waited for.
        wait: Duration,
    },
}

/// The file's name in a home.
pub const FILE: &str = "gently.toml";

/// The commented file that a home starts from: every key with its default.
pub const GENESIS: &str = include_str!("../../genesis/gently.toml");

/// The file that the home of a network's ledger starts from: the explorers are those of its chain.
///
/// A regtest chain is its owner's alone, and no explorer has it. Public calendars write into
/// mainnet only, so the ledgers of other chains start with none.
pub fn genesis_file(network: Network) -> String {
    const ESPLORA: &str =
        r#"esplora = ["https://blockstream.info/api", "https://mempool.space/api"]"#;
    let of_network = match network {
        Network::Bitcoin => ESPLORA,
        Network::Testnet4 => r#"esplora = ["https://mempool.space/testnet4/api"]"#,
        Network::Signet => r#"esplora = ["https://mempool.space/signet/api"]"#,
        Network::Regtest => "esplora = []",
    };
    let file = GENESIS.replacen(ESPLORA, of_network, 1);
    if network == Network::Bitcoin {
        return file;
    }
    let no_calendars = |line: &str| {
        if line.starts_with("calendars = ") {
            "calendars = []\n".to_owned()
        } else {
            format!("{line}\n")
        }
    };
    file.lines().map(no_calendars).collect()
}

/// The same file of a home whose database is encrypted from its beginning: a plain one in its place
/// is refused, whatever the environment says later.
pub fn with_encryption(file: &str) -> String {
    file.replacen("\nencrypted = false\n", "\nencrypted = true\n", 1)
}

/// How environment variables are looked up: `&|name| std::env::var_os(name)`, or a test's own.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Whether block sources are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnchorMode {
    /// All that are configured.
    Auto,
    /// Nobody is contacted, no file is read.
    Off,
}

/// What `[store] content` may say: which texts the database keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Texts are kept with secrets removed.
    Sanitized,
    /// None are kept: hashes and commitments only.
    Nothing {
        /// `[store] openings`: whether salts are.
        openings: bool,
    },
}

impl Config {
    /// Who is contacted for blocks; nobody in mode `off`.
    pub fn anchor_addresses(&self) -> Vec<String> {
        if self.anchor.mode == AnchorMode::Off {
            return Vec::new();
        }
        [
            self.anchor.bitcoind.as_slice(),
            self.anchor.esplora.as_slice(),
        ]
        .concat()
    }

    /// Who is sent heads of the log; nobody in mode `off`, which contacts nobody.
    pub fn calendars(&self) -> &[String] {
        if self.anchor.mode == AnchorMode::Off {
            &[]
        } else {
            &self.ots.calendars
        }
    }

    /// The same on a machine that a kernel calls so: what the configuration says of it wins.
    pub fn on_host(mut self, role: &str) -> Self {
        if self.session.host_role.is_empty() {
            role.clone_into(&mut self.session.host_role);
        }
        self
    }

    /// Reads the configuration of a home; a missing file means the defaults.
    pub fn load(home: &Path, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let settings = Settings::load(home, environment)?;
        Ok(Self::from_settings(&settings, home))
    }
}

impl Settings {
    /// Reads the settings of a home; a missing file means the defaults.
    pub fn load(home: &Path, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let path = home.join(FILE);
        Self::read(
            &file_text(&path)?.unwrap_or_default(),
            &path.display().to_string(),
            environment,
        )
    }
}

impl ModelSettings {
    /// What is sent beside the question.
    pub fn params(&self) -> Params {
        Params {
            max_tokens: self.max_tokens,
            seed: self.seed,
            system: self.system.clone(),
            temperature: self.temperature,
            ..Params::default()
        }
    }
}

impl StoreSettings {
    /// What is kept of texts.
    pub fn content(&self) -> Content {
        match self.content.as_str() {
            "none" => Content::Nothing {
                openings: self.openings,
            },
            _ => Content::Sanitized,
        }
    }
}

impl KeySettings {
    /// What signs the ledger.
    pub fn signer(&self) -> SignedBy {
        match self.signer.as_str() {
            "agent" => SignedBy::Agent {
                wait: self.agent_wait,
            },
            _ => SignedBy::File,
        }
    }
}

/// No file of settings, of rules or of what a turn may refer to has more bytes.
pub const MAX_FILE: u64 = 16 << 20;

/// The text of a configuration file; none if it does not exist.
pub(crate) fn file_text(path: &Path) -> Result<Option<String>, ConfigError> {
    match read_own_text(path, MAX_FILE) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Io {
            doing: "read",
            path: path.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn none(_: &str) -> Option<OsString> {
        None
    }

    fn read(text: &str) -> Result<Settings, ConfigError> {
        Settings::read(text, "gently.toml", &none)
    }

    #[test]
    fn the_file_of_a_new_home_gives_exactly_the_defaults() {
        let home = Path::new("/home");
        let (written, defaults) = (read(GENESIS).unwrap(), read("").unwrap());
        assert_eq!(
            Config::from_settings(&written, home),
            Config::from_settings(&defaults, home)
        );
        for key in table::KEYS {
            let (section, name) = key.parts();
            let after = GENESIS.split_once(&format!("\n[{section}]\n")).unwrap().1;
            let own = after.split("\n[").next().unwrap();
            let lines = own.lines().filter(|l| {
                l.trim_start_matches("# ")
                    .starts_with(&format!("{name} = "))
            });
            assert_eq!(lines.count(), 1, "{} is not shown once", key.name);
            if key.default_value().is_some() {
                assert_eq!(
                    written.get(key.name).unwrap().1,
                    ValueSource::File,
                    "{}",
                    key.name
                );
            }
        }
    }

    #[test]
    fn no_ledger_starts_with_the_explorers_of_another_chain() {
        assert_eq!(genesis_file(Network::Bitcoin), GENESIS);
        for (network, explorers) in [
            (Network::Testnet4, 1),
            (Network::Signet, 1),
            (Network::Regtest, 0),
        ] {
            let config =
                Config::from_settings(&read(&genesis_file(network)).unwrap(), Path::new("/home"));
            assert_eq!(config.anchor.esplora.len(), explorers, "{network:?}");
            assert!(
                config
                    .anchor
                    .esplora
                    .iter()
                    .all(|url| url.contains(network.name())),
                "{network:?}"
            );
            assert_eq!(config.ots.calendars, [""; 0], "{network:?}");
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_issue() {
        let config = Config::from_settings(&read("").unwrap(), Path::new("/home"));
        assert_eq!(config.anchor.mode, AnchorMode::Auto);
        assert_eq!(
            config.anchor.esplora,
            ["https://blockstream.info/api", "https://mempool.space/api"]
        );
        assert_eq!(
            (config.anchor.headers, config.anchor.deadline.as_millis()),
            (None, 3000)
        );
        assert_eq!(
            (config.anchor.bitcoind.len(), config.anchor.quorum),
            (0, None)
        );
        assert_eq!(config.anchor.look_again.as_secs(), 60);
        assert_eq!((config.ots.calendars.len(), config.ots.quorum), (4, 2));
        assert_eq!(
            (
                config.model.timeout.as_secs(),
                config.model.connect_timeout.as_secs()
            ),
            (120, 10)
        );
        assert_eq!(
            (
                config.model.default.as_str(),
                config.model.api_key_env.as_str()
            ),
            ("auto", "OPENAI_API_KEY")
        );
        assert_eq!(config.model.anthropic_key_env, "ANTHROPIC_API_KEY");
        assert_eq!(
            (&config.model.ollama_url, &config.model.params()),
            (&None, &Params::default())
        );
        assert_eq!(
            (
                config.session.idle.as_secs(),
                config.session.host_role.as_str()
            ),
            (1800, "")
        );
        assert_eq!(
            (config.store.content(), config.context.refs.as_deref()),
            (Content::Sanitized, None)
        );
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let environment =
            |name: &str| (name == "GENTLY_ANCHOR_MODE").then(|| OsString::from("off"));
        let settings = Settings::read(
            "[anchor]\nmode = 'auto'\nheaders = 'h.csv'",
            "f",
            &environment,
        )
        .unwrap();
        assert_eq!(
            settings.get("anchor.mode"),
            Some((&table::Value::Text("off".into()), ValueSource::Environment))
        );
        let config = Config::from_settings(&settings, Path::new("/home"));
        assert_eq!(
            (config.anchor.mode, config.calendars()),
            (AnchorMode::Off, &[][..])
        );
        assert_eq!(config.anchor.headers, Some(PathBuf::from("/home/h.csv")));

        let wrong = |name: &str| (name == "GENTLY_MODEL_TIMEOUT_S").then(|| OsString::from("soon"));
        let error = Settings::read("", "f", &wrong).unwrap_err().to_string();
        assert!(
            error.contains("GENTLY_MODEL_TIMEOUT_S") && error.contains("1 to 3600"),
            "{error}"
        );
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        for (text, said) in [
            (
                "[anchor]\nmod = 'off'",
                "gently.toml line 2: unknown key 'anchor.mod', did you mean 'anchor.mode'?",
            ),
            (
                "\n\n[anchr]\nmode = 'off'",
                "gently.toml line 4: unknown key 'anchr.mode', did you mean 'anchor.mode'?",
            ),
            ("[empty]", "gently.toml line 1: unknown key 'empty'"),
            (
                "esplora = []",
                "gently.toml line 1: unknown key 'esplora', did you mean 'anchor.esplora'?",
            ),
            (
                "anchor = 1",
                "gently.toml line 1: anchor is a section: [anchor]; found integer",
            ),
            (
                "[anchor]\nbitcoind_password = 'x'",
                "line 2: 'anchor.bitcoind_password' would put a password into a file",
            ),
            (
                "[anchor]\nbitcoind_password = 'x'",
                "gently config set anchor.bitcoind_password_env NAME",
            ),
            (
                "[anchor]\nmode = true",
                "gently.toml line 2: anchor.mode is \"auto\" or \"off\"; found boolean true",
            ),
            (
                "[anchor]\ndeadline_ms = '3000'",
                "a whole number from 100 to 60000; found string \"3000\"",
            ),
            (
                "[model.default]\nname = 1",
                "\"openai/NAME\" or an alias; found table",
            ),
            (
                "[store]\ncontent = 'all'",
                "\"sanitized\" or \"none\"; found string \"all\"",
            ),
            (
                "[store]\nopenings = 'no'",
                "store.openings is true or false; found string \"no\"",
            ),
            (
                "[anchor]\nmode = 'off'\nmode = 'off'",
                "gently.toml line 3: 'anchor.mode' is there twice, first on line 2; remove one of the two",
            ),
            (
                "anchor.mode = 'off'\n# more\nots.quorum = 1\n\nanchor.mode = 'auto'",
                "gently.toml line 5: 'anchor.mode' is there twice, first on line 1",
            ),
            (
                "[anchor]\nmode = 'off'\n[ots]\n[anchor]",
                "gently.toml line 4: 'anchor' is there twice, first on line 1",
            ),
            (
                "[price.\"openai/x.y\"]\n[model.alias]\na = 'openai/x'\n[price.\"openai/x.y\"]",
                "gently.toml line 4: 'price.\"openai/x.y\"' is there twice, first on line 1",
            ),
            (
                "[model.alias]\na = 'openai/x'\n'a' = [\n'openai/y' ]",
                "gently.toml line 3: 'model.alias.a' is there twice, first on line 2",
            ),
            (
                "anchor = { mode = 'off', mode = 'auto' }",
                "gently.toml line 1: 'mode' is there twice; remove one",
            ),
            ("[anchor", "gently.toml line 1: not TOML"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn an_empty_variable_is_taken_out_of_the_environment() {
        let environment = |name: &str| (name == "GENTLY_ANCHOR_MODE").then(OsString::new);
        let error = Settings::read("", "gently.toml", &environment).unwrap_err();
        let said = error.to_string();
        assert!(
            said.ends_with("to take it out: unset GENTLY_ANCHOR_MODE"),
            "{said}"
        );
    }

    #[test]
    fn every_way_to_write_a_table_is_read() {
        for text in [
            "[anchor]\nmode = 'off'",
            "anchor.mode = 'off'",
            "anchor = { mode = 'off' }",
            "[\"anchor\"]\n'mode' = \"off\"",
        ] {
            assert_eq!(
                read(text).unwrap().get("anchor.mode").unwrap().1,
                ValueSource::File,
                "{text}"
            );
        }
    }
}
