//! Why the house could not be opened: every fault of the pieces that it is put together from.

use std::path::PathBuf;

use crate::anchor::SourceFault;
use crate::audit::trace_facts::TraceFactsFault;
use crate::backup::BackupError;
use crate::config::ConfigError;
use crate::govern::sanitize::RuleFault;
use crate::home::HomeError;
use crate::keys::KeyError;
use crate::models::ModelFault;
use crate::recorder::RecorderError;
use crate::store::StoreError;
use crate::verify::VerifyError;
use crate::witness::WitnessError;

use crate::app::find::FindError;
use crate::app::keep::erase::StoppedErasing;
use crate::app::sentence::{FieldSentence, sentence};
use crate::app::words::either;

/// Why the house could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenHomeError {
    /// The folder is no home, or an incomplete one.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The configuration has an unknown key or a value out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The database could not be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The recorder refused to go on.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// A key is missing, unreadable or not one of this home's.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The model could not be chosen or reached.
    #[error(transparent)]
    Model(#[from] ModelFault),
    /// A backup could not be written or read.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// Evidence that can't be looked at.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The rows of an exchange give no trace.
    #[error(transparent)]
    TraceFacts(#[from] TraceFactsFault),
    /// Witnesses could not be asked.
    #[error(transparent)]
    Witness(#[from] WitnessError),
    /// A block source.
    #[error(transparent)]
    Source(#[from] SourceFault),
    /// A node is configured, and not how it knows us.
    #[error("{address} is a Bitcoin node, and it is not said how it knows us: {why}")]
    NodeAuth {
        /// The first node's address.
        address: String,
        /// What is missing, and how to mend it.
        why: String,
    },
    /// A rule file of the sanitizer.
    #[error(transparent)]
    Rules(#[from] RuleFault),
    /// An id that names nothing, or too much.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A model id of no known kind.
    #[error(
        "no model '{id}': {}; gently model list shows what is there",
        meant_models(meant, listed)
    )]
    UnknownModel {
        /// What was asked for.
        id: String,
        /// Models that are there and have this name, or almost; the nearest first.
        meant: Vec<String>,
        /// Models that servers list which somebody set or that are on this machine.
        listed: Vec<String>,
    },
    /// A setting of a call that is not one.
    #[error("{place}: {reason}")]
    Setting {
        /// Where it was given.
        place: FieldSentence,
        /// What is wrong.
        reason: String,
    },
    /// There is no home.
    #[error("there is no home at {}: run `gently init`, or ask something", path.display())]
    NoHome {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The auth key is not one of this home's.
    #[error("auth failed ({reason}): {why}. No model was called")]
    Auth {
        /// The code on record.
        reason: &'static str,
        /// What is wrong and how to mend it.
        why: String,
    },
    /// The home can't be written.
    #[error(
        "{} can't be written ({reason}), so nothing can be recorded. Mount the disk read-write, or mend its \
         owner and mode; or use another home: GENTLY_HOME=DIR", path.display()
    )]
    ReadOnly {
        /// Path of the database that can't be written.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Nobody could be told to stop.
    #[error(
        "the system does not let gently listen to signals ({reason}), so that nothing could be interrupted"
    )]
    Signals {
        /// The system's words.
        reason: String,
    },
    /// The clock shows a time that the format can't hold.
    #[error("the system clock is set before 1970 or after 9999: set it right and ask again")]
    Clock,
    /// What was asked for can't be done in this home as it is; the words say why, and what helps.
    #[error("{0}")]
    Refused(String),
    /// An erasing of many that was stopped between two of its portions.
    #[error(transparent)]
    Erasing(Box<StoppedErasing>),
    /// The same of what a request names, or does not name; a door spells that its own way.
    #[error("{0}")]
    Wanting(FieldSentence),
}

impl From<StoppedErasing> for OpenHomeError {
    fn from(stopped: StoppedErasing) -> OpenHomeError {
        OpenHomeError::Erasing(Box::new(stopped))
    }
}

impl OpenHomeError {
    /// The same as a sentence, in which a door spells what a request names.
    pub fn sentence(&self) -> FieldSentence {
        match self {
            OpenHomeError::Wanting(sentence) => sentence.clone(),
            OpenHomeError::Setting { place, reason } => {
                sentence![place.clone(), format!(": {reason}")]
            }
            error => error.to_string().into(),
        }
    }
}

/// What somebody may have meant, or what can be said at all.
fn meant_models(meant: &[String], listed: &[String]) -> String {
    /// More are looked up.
    const MOST_NAMED: usize = 3;
    match (meant, listed.len()) {
        ([], 1..=MOST_NAMED) => format!("say {}, or observer", either(listed)),
        ([], _) => {
            "say observer, ollama/NAME, anthropic/NAME, openai/NAME, replay, or an alias".to_owned()
        }
        (names, _) => format!("did you mean {}", either(names)),
    }
}
