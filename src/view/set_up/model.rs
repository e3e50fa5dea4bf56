//! Models that could answer.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::app::set_up::model_list::{ModelList, Server, ServerState};
use crate::models::{observer, replay};

/// A server of models.
#[derive(Clone, Debug, Serialize)]
pub struct ModelServerView {
    /// `ollama`, `anthropic` or `openai`.
    pub provider: &'static str,
    /// Address of the server.
    pub url: String,
    /// The variable that its key stands in.
    pub key_variable: Option<String>,
    /// Whether there is a key.
    pub has_key: bool,
    /// `reachable`, `no_key` or `unreachable`.
    pub state: &'static str,
    /// Names of the models that the server lists; null when it did not answer.
    pub models: Option<Vec<String>>,
    /// The code of what is wrong.
    pub reason: Option<String>,
    /// The same in words.
    pub message: Option<String>,
}

impl ModelServerView {
    fn of(server: &Server) -> Self {
        let (state, models, reason, message) = match &server.state {
            ServerState::Models(names) => ("reachable", Some(names.clone()), None, None),
            ServerState::NoKey => ("no_key", None, None, None),
            ServerState::Fault { reason, said } => (
                "unreachable",
                None,
                Some(reason.clone()),
                Some(said.clone()),
            ),
        };
        ModelServerView {
            provider: server.wire.name(),
            url: server.url.clone(),
            key_variable: server.key_variable.clone(),
            has_key: server.has_key,
            state,
            models,
            reason,
            message,
        }
    }
}

/// All that could answer.
#[derive(Clone, Debug, Serialize)]
pub struct ModelListView {
    /// What is always there.
    pub built_in: [&'static str; 2],
    /// Servers that are configured or found.
    pub servers: Vec<ModelServerView>,
    /// Names that the owner gave.
    pub aliases: BTreeMap<String, String>,
    /// What is asked when nothing is said.
    pub default: String,
}

impl ModelListView {
    /// Of a list.
    pub fn of(list: &ModelList) -> Self {
        ModelListView {
            built_in: [observer::ID, replay::ID],
            servers: list.servers.iter().map(ModelServerView::of).collect(),
            aliases: list.aliases.clone(),
            default: list.default.clone(),
        }
    }
}
