//! What Tab completes: commands, models, titles, projects, and the ids of this conversation.
//!
//! All of it is looked up when it is asked for: whoever presses no Tab waits for none of it.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustyline::Context;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use uuid::Uuid;

use crate::app::ask::chat::{exchanges, models_asked};
use crate::app::home::open;
use crate::app::set_up::model_list::{ServerState, list};
use crate::home::Home;
use crate::models::{observer, replay};
use crate::record::unseen::spelled;
use crate::store::Store;

use super::place;
use super::typed::COMMANDS;

/// Model servers that take longer are not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Looks up what Tab completes, when it is pressed.
pub struct ChatWords {
    /// Where the home is.
    path: PathBuf,
    /// The conversation.
    pub thread: Option<Uuid>,
    files: FilenameCompleter,
    /// The models, once somebody wanted to know.
    models: RefCell<Option<Vec<String>>>,
}

impl ChatWords {
    /// Those of a home.
    pub fn of(path: PathBuf, thread: Option<Uuid>) -> ChatWords {
        ChatWords {
            path,
            thread,
            files: FilenameCompleter::new(),
            models: RefCell::new(None),
        }
    }

    /// What can stand behind a command.
    fn behind(&self, command: &str) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match command {
            "model" => self.models(),
            "open" => self.of_store(|store| place::titles(store).unwrap_or_default()),
            "project" => {
                let home = Home::open(&self.path).ok().flatten();
                let names = home.and_then(|home| place::projects(&home).ok());
                let mut names = names.unwrap_or_default();
                names.push("none".to_owned());
                names
            }
            "refs" => {
                let mut refs: Vec<String> = words(&["last:", "none", "usual"]);
                refs.extend(self.exchanges());
                refs
            }
            "show" => self.exchanges(),
            "erase" => {
                let mut ids: Vec<String> = words(&["last"]);
                ids.extend(self.exchanges());
                ids
            }
            "deep" => words(&["on", "off"]),
            _ => Vec::new(),
        }
    }

    fn store(&self) -> Option<Store> {
        let home = Home::open(&self.path).ok().flatten()?;
        open::store(&home).ok()
    }

    fn of_store(&self, look: impl FnOnce(&Store) -> Vec<String>) -> Vec<String> {
        self.store().map(|store| look(&store)).unwrap_or_default()
    }

    fn exchanges(&self) -> Vec<String> {
        let Some(thread) = self.thread else {
            return Vec::new();
        };
        self.of_store(|store| exchanges(store, thread).unwrap_or_default())
    }

    /// Aliases, models that were asked before, what is built in, and what servers list.
    fn models(&self) -> Vec<String> {
        let mut known = self.models.borrow_mut();
        let models = known.get_or_insert_with(|| {
            let mut models = self.of_store(|store| models_asked(store).unwrap_or_default());
            models.extend([observer::ID, replay::ID].map(str::to_owned));
            models.extend(listed(self.path.clone()));
            models.sort();
            models.dedup();
            models
        });
        models.clone()
    }
}

/// The models that servers list, and the aliases of the configuration.
fn listed(path: PathBuf) -> Vec<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let list = runtime.map(|runtime| runtime.block_on(list(&path)).ok());
        // Nobody listens when it took too long.
        let _ = sender.send(list.ok().flatten());
    });
    let Some(list) = receiver.recv_timeout(PATIENCE).ok().flatten() else {
        return Vec::new();
    };
    let of_server = list.servers.iter().flat_map(|server| {
        let names = match &server.state {
            ServerState::Models(names) => names.as_slice(),
            _ => &[],
        };
        let named = |name: &String| format!("{}/{name}", server.wire.name());
        names.iter().map(named)
    });
    of_server.chain(list.aliases.keys().cloned()).collect()
}

impl Completer for ChatWords {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..pos).unwrap_or(line);
        let Some(command) = typed.strip_prefix('/') else {
            return Ok((pos, Vec::new()));
        };
        let Some((name, rest)) = command.split_once(' ') else {
            let names = COMMANDS.iter().map(|command| {
                let blank = if command.takes.is_empty() { "" } else { " " };
                Pair {
                    display: format!("/{}", command.name),
                    replacement: format!("/{}{blank}", command.name),
                }
            });
            return Ok((
                0,
                names
                    .filter(|one| one.replacement.starts_with(typed))
                    .collect(),
            ));
        };
        if name == "file" {
            return self.files.complete(line, pos, context);
        }
        // Several references stand behind one another; a title has blanks in it.
        let begun = match name {
            "refs" => rest.rsplit(' ').next().unwrap_or(rest),
            _ => rest.trim_start(),
        };
        let fits = |word: &String| {
            let word = word.to_lowercase();
            word.starts_with(&begun.to_lowercase()) && spelled(&word) == word
        };
        let words = self.behind(name).into_iter().filter(fits);
        let pair = |word: String| Pair {
            display: word.clone(),
            replacement: word,
        };
        Ok((pos - begun.len(), words.map(pair).collect()))
    }
}
