//! Which models could answer: every server that is known, asked for its list.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::config::Config;
use crate::home::Home;
use crate::models::listing;
use crate::models::wire::Wire;

use crate::app::ask::model_choice;
use crate::app::home::open::{OpenHomeError, env};
use crate::app::redacted::clean;

/// For all servers together: they are asked at once.
const DEADLINE: Duration = Duration::from_secs(3);

/// All that could answer, but for what is built in.
pub struct ModelList {
    /// Servers that are configured or found.
    pub servers: Vec<Server>,
    /// Names that the owner gave.
    pub aliases: BTreeMap<String, String>,
    /// What is asked when nothing is said.
    pub default: String,
}

/// Asks every server; needs no home.
pub async fn list(root: &Path) -> Result<ModelList, OpenHomeError> {
    Home::open(root)?;
    let config = Config::load(root, &env)?;
    Ok(ModelList {
        servers: servers(&config).await,
        default: clean(&config.model.default),
        aliases: config.model.named.aliases,
    })
}

/// How it stands with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It has these models.
    Models(Vec<String>),
    /// It was not asked, because it answers nobody without a key.
    NoKey,
    /// It did not say.
    Fault {
        /// Short code of the fault, such as `unreachable`.
        reason: String,
        /// Sentence that says what happened.
        said: String,
    },
}

impl ServerState {
    /// Without secrets that a server said, or that are in an address.
    fn clean(self) -> ServerState {
        match self {
            ServerState::Models(names) => {
                ServerState::Models(names.iter().map(|name| clean(name)).collect())
            }
            ServerState::NoKey => ServerState::NoKey,
            ServerState::Fault { reason, said } => ServerState::Fault {
                reason,
                said: clean(&said),
            },
        }
    }
}

/// A server, and how it stands with it.
pub struct Server {
    /// How it is spoken to.
    pub wire: Wire,
    /// Its address, without a secret.
    pub url: String,
    /// The variable that its key comes from.
    pub key_variable: Option<String>,
    /// Whether there is a key.
    pub has_key: bool,
    /// How it stands.
    pub state: ServerState,
}

/// All servers that are known, asked at once.
async fn servers(config: &Config) -> Vec<Server> {
    futures_util::future::join_all(Wire::ALL.map(|wire| ask(wire, config))).await
}

/// How many models a server lists, or why it lists none.
pub async fn reachable(wire: Wire, config: &Config) -> Result<usize, String> {
    let server = ask(wire, config).await;
    match server.state {
        ServerState::Models(names) => Ok(names.len()),
        ServerState::NoKey => Err(format!(
            "no key in ${}",
            server.key_variable.unwrap_or_default()
        )),
        ServerState::Fault { said, .. } => Err(said),
    }
}

async fn ask(wire: Wire, config: &Config) -> Server {
    let (url, variable) = model_choice::server(wire, config);
    let key = if variable.is_empty() {
        None
    } else {
        model_choice::key(variable)
    };
    let has_key = key.is_some();
    let key_variable = (!variable.is_empty()).then(|| variable.to_owned());
    // Another address than the provider's own may be a server that wants no key.
    let state = if !has_key && key_variable.is_some() && url == wire.base_url() {
        ServerState::NoKey
    } else {
        let asked = listing::models(model_choice::place(wire, &url, key, variable, DEADLINE));
        match tokio::time::timeout(DEADLINE, asked).await {
            Ok(Ok(names)) => ServerState::Models(names),
            Ok(Err(fault)) => ServerState::from(&fault),
            Err(_) => ServerState::Fault {
                reason: "timeout".to_owned(),
                said: format!(
                    "no list of models from {url} within {} s",
                    DEADLINE.as_secs()
                ),
            },
        }
    };
    // From here on it is shown, and nobody is asked any more.
    Server {
        wire,
        url: clean(&url),
        key_variable,
        has_key,
        state: state.clean(),
    }
}
