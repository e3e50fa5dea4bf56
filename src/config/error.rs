//! What can be wrong with a configuration.

use std::path::PathBuf;

/// Why a configuration was refused; the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A key that does not exist.
    #[error("{place}: unknown key '{key}'{} `gently config get` lists all", nearest.map_or_else(|| ";".to_owned(), |n| format!(", did you mean '{n}'?")))]
    Unknown {
        /// Where it stands.
        place: String,
        /// What was written.
        key: String,
        /// The key that was most likely meant.
        nearest: Option<&'static str>,
    },
    /// A table where a key is wanted.
    #[error("{place}: '{key}' is a table: {}", if names.is_empty() { "nothing stands in it yet".to_owned() } else { format!("in it are {}", names.join(", ")) })]
    Table {
        /// Where it stands.
        place: String,
        /// Dotted name of the table, such as `model.alias`.
        key: String,
        /// The keys in it.
        names: Vec<String>,
    },
    /// An alias that is still needed.
    #[error(
        "{place}: model.alias.{alias} stays, as it is what model.default is. First: gently config unset model.default"
    )]
    Needed {
        /// Where it was asked for.
        place: String,
        /// Name of the alias.
        alias: String,
    },
    /// One part of a price that has no other yet.
    #[error(
        "{place}: there is no price of {model} yet, and one part alone is none. Set both amounts, for a million tokens \
         each: gently config set {} \"1 2\"", crate::os::shell_word(std::path::Path::new(&format!("price.{model}")))
    )]
    HalfPrice {
        /// Where it was asked for.
        place: String,
        /// The model.
        model: String,
    },
    /// A password where none may stand.
    #[error(
        "{place}: '{key}' would put a password into a file. Put it into an environment variable, and that one's name \
         into the file: gently config set anchor.bitcoind_password_env NAME; or use the node's cookie file: \
         gently config set anchor.bitcoind_cookie FILE"
    )]
    Password {
        /// Where it stands.
        place: String,
        /// The key that does not exist.
        key: String,
    },
    /// A value of another type, or outside what its key takes.
    #[error("{place}: {key} is {expected}; found {actual}")]
    Wrong {
        /// Where it stands.
        place: String,
        /// Dotted name of the key.
        key: String,
        /// What it takes.
        expected: String,
        /// What was written.
        actual: String,
    },
    /// Nothing where a value is wanted.
    #[error("{place}: {key} can't be empty; to take it out: {out}")]
    Empty {
        /// Where it was asked for.
        place: String,
        /// Dotted name of the key.
        key: String,
        /// The command that takes it out.
        out: String,
    },
    /// A key that stands there twice.
    #[error("{place}: '{key}' is there twice{}; remove one of the two", first.as_deref().unwrap_or_default())]
    Duplicate {
        /// Where it stands the second time.
        place: String,
        /// Dotted name of the key.
        key: String,
        /// Where it stands the first time.
        first: Option<String>,
    },
    /// The file is not TOML.
    #[error("{place}: not TOML: {reason}")]
    Syntax {
        /// Where parsing stopped.
        place: String,
        /// What the TOML parser said.
        reason: String,
    },
    /// There is no home to configure.
    #[error("no home at {}: `gently init` makes it, as the first `gently ask` does", path.display())]
    NoHome {
        /// Where it should be.
        path: PathBuf,
    },
    /// A file could not be read or written.
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
