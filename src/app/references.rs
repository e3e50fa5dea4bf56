//! What a question declares as its context, and where it stands: what was typed, looked up.

use crate::ask::recall::{DeclaredContext, Reference};
use crate::ask::refer::ThreadPosition;
use crate::config::Config;
use crate::record::context::config::{ContextRules, EmptyRefs};
use crate::store::{ReadStore, Store};

use super::find;
use super::open::OpenHomeError;
use super::words::short_uuids;

/// What a question declares, as it was typed.
#[derive(Clone, Debug, Default)]
pub struct ContextRequest {
    /// `last:N`, exchanges, ids of events; they win over `context.refs`.
    pub refs: Vec<String>,
    /// Whether no earlier turns are shown.
    pub no_refs: bool,
    /// Whether the turns of all sessions are searched, too.
    pub deep: bool,
}

/// Where a question stands, as it was typed.
#[derive(Clone, Debug, Default)]
pub struct ThreadRequest {
    /// A thread; that of the conversation that goes on without it.
    pub thread: Option<String>,
    /// The earlier exchange that it replies to.
    pub parent: Option<String>,
    /// Whether it begins another conversation, in a session of its own.
    pub anew: bool,
}

/// So many of the last turns can be declared at once.
const MOST: u32 = 64;
/// The turns that are declared when nothing says otherwise.
const USUAL: u32 = 40;

impl ContextRequest {
    /// What is declared: the request, else `gently.toml`, else what `context.json` expands, else
    /// the usual.
    pub fn declared(
        &self,
        config: &Config,
        rules: &ContextRules,
        store: &ReadStore,
    ) -> Result<DeclaredContext, OpenHomeError> {
        let typed = |text: &str| reference(store, text);
        let refs = match (config.context.refs.as_deref(), rules.empty_refs_policy) {
            _ if self.no_refs => Vec::new(),
            _ if !self.refs.is_empty() => self
                .refs
                .iter()
                .map(|text| typed(text))
                .collect::<Result<_, _>>()?,
            (Some("none"), _) => Vec::new(),
            (Some(configured), _) => vec![typed(configured)?],
            (None, EmptyRefs::Expand) => vec![Reference::Last(
                u32::try_from(rules.expand_last_n).unwrap_or(u32::MAX),
            )],
            (None, EmptyRefs::Allow | EmptyRefs::Deny) => vec![Reference::Last(USUAL)],
        };
        Ok(DeclaredContext {
            refs,
            none: self.no_refs,
            deep: self.deep,
        })
    }
}

fn reference(store: &ReadStore, text: &str) -> Result<Reference, OpenHomeError> {
    let Some(count) = text.strip_prefix("last:") else {
        return Ok(find::reference(store, text)?);
    };
    let most = count
        .parse()
        .ok()
        .filter(|n: &u32| (1..=MOST).contains(n) && n.to_string() == count);
    most.map(Reference::Last)
        .ok_or_else(|| OpenHomeError::Setting {
            flag: "--ref",
            reason: format!("last:N takes N from 1 to {MOST}; not '{text}'"),
        })
}

impl ThreadRequest {
    /// Looks thread and parent up.
    pub fn standing(&self, store: &Store) -> Result<ThreadPosition, OpenHomeError> {
        let thread = self
            .thread
            .as_deref()
            .map(|text| find::thread(store, text))
            .transpose()?;
        let parent = self
            .parent
            .as_deref()
            .map(|text| find::exchange(store, text))
            .transpose()?;
        let parent = parent.map(|exchange| exchange.exchange_id);
        let of = parent.map(|parent| store.thread_turn(parent)).transpose()?;
        let wrong = |reason: String| OpenHomeError::Setting {
            flag: "--parent",
            reason,
        };
        match (thread, of) {
            (thread, None) => Ok(ThreadPosition {
                thread: thread.map(|row| row.thread),
                parent,
            }),
            (_, Some(None)) => {
                let why = "that exchange has no thread here, as it is from before there were threads or was taken over \
                           from a ledger alone: quote it instead";
                Err(wrong(why.to_owned()))
            }
            (Some(thread), Some(Some(turn))) if thread.thread != turn.thread => {
                let (of, not) = (turn.thread.to_string(), thread.thread.to_string());
                Err(wrong(short_uuids(&format!(
                    "that exchange belongs to thread {of}, not to {not}: leave --thread out"
                ))))
            }
            (_, Some(Some(turn))) => Ok(ThreadPosition {
                thread: Some(turn.thread),
                parent,
            }),
        }
    }
}
