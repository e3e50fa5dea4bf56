//! Sessions: resumed when they fit, opened on a block, closed when idle or asked to.

use std::time::Duration;

use crate::anchor::BlockSource;
use crate::anchor::agree::{AgreementPolicy, BlockLack, observe_beside};
use crate::continuity::declared::TurnContext;
use crate::govern::kernel::Kernel;
use crate::record::bitcoin::block::{Anchor, Network};
use crate::record::context::config::ContextConfig;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::time::Seconds;
use crate::recorder::{
    Recorder, RecorderError, SessionClose, SessionTerms, block_elsewhere, resumable,
};
use crate::store::{ReadStore, SessionRow};

/// That there is no network is said once in so long.
const DAY: Duration = Duration::from_secs(86_400);
/// How often a prompt in flight is looked at while its session waits to be closed.
const POLL: Duration = Duration::from_millis(50);

/// Everything around a session and a turn: what is asked, looked at and written to.
///
/// All of it is observed or injected from outside; the pipeline itself has no clock, no randomness
/// and no configuration.
pub struct TurnEnvironment<'a> {
    /// The one writer.
    pub recorder: &'a Recorder,
    /// Queries; another connection than the recorder's.
    pub store: &'a ReadStore,
    /// Kernel in force, under which the question is asked.
    pub kernel: &'a Kernel,
    /// What a turn may refer to.
    pub context: &'a ContextConfig,
    /// Id of the model that sessions run under.
    pub model: &'a str,
    /// From the configuration.
    pub host_role: &'a str,
    /// A session quiet for longer is closed before the next prompt.
    pub idle: Duration,
    /// The ledger's chain.
    pub network: Network,
    /// Block sources; none when nobody is to be asked.
    pub sources: &'a [Box<dyn BlockSource>],
    /// How they have to agree, and how long they may take.
    pub policy: AgreementPolicy,
    /// A session quiet for so long looks for a newer block before its next prompt.
    pub look_again: Duration,
    /// Clock that the times of the turn come from.
    pub clock: &'a dyn Fn() -> Seconds,
    /// Milliseconds of a monotonic clock, which the measures of the turn come from; they count from
    /// any moment.
    pub stopwatch: &'a dyn Fn() -> u64,
    /// Lines for the person, as they come.
    pub say: &'a dyn Fn(&str),
    /// Told, once the prompt is on record and before its model is called, what was declared.
    pub declared: &'a dyn Fn(&TurnContext),
}

impl TurnEnvironment<'_> {
    /// Time of the clock now.
    pub fn now(&self) -> Seconds {
        (self.clock)()
    }

    /// The block of this moment; its notices are said.
    pub async fn block(&self) -> SeenBlock {
        let now = self.now();
        if self.sources.is_empty() {
            // Whoever asks nobody has chosen so, and is told once, when the home is made.
            return SeenBlock {
                anchor: Anchor::local(self.network, now),
                lack: None,
            };
        }
        // What can't be looked up here the writer looks up once more, and refuses.
        let known = |hash, height| block_elsewhere(self.store, hash, height).ok().flatten();
        let seen = observe_beside(self.sources, self.network, self.policy, now, &known).await;
        match self.has_told_of_no_block(now) {
            true => seen
                .notices_beside_offline()
                .for_each(|notice| (self.say)(notice)),
            false => seen.notices.iter().for_each(|notice| (self.say)(notice)),
        }
        SeenBlock {
            anchor: seen.anchor,
            lack: seen.lack,
        }
    }

    /// Whether it was said within a day that there is no block: the session that was opened last is
    /// under none. What can't be looked up is said again.
    fn has_told_of_no_block(&self, now: Seconds) -> bool {
        let newest = self.store.newest_session().ok().flatten();
        newest.is_some_and(|session| {
            session.anchor.block.is_local() && now.since(session.started_at) < DAY.as_secs()
        })
    }

    /// What a session of an auth key runs under.
    pub fn terms(&self, auth_key_hash: Hash32) -> SessionTerms {
        SessionTerms {
            auth_key_hash,
            kernel_hash: self.kernel.hash(),
            kernel_json: self.kernel.canonical_json().to_owned(),
            model: self.model.to_owned(),
            host_role: self.host_role.to_owned(),
            phase: self.kernel.phase().to_owned(),
            tier: self.kernel.tier(),
        }
    }
}

/// The block of a moment, as its sources gave it.
#[derive(Clone, Debug)]
pub struct SeenBlock {
    /// The block; `local` where there is none.
    pub anchor: Anchor,
    /// Why there is none, where somebody was asked.
    pub lack: Option<BlockLack>,
}

/// The session of a turn, and the block that was seen on the way.
#[derive(Clone, Debug)]
pub struct ActiveSession {
    /// Row of the session.
    pub session: SessionRow,
    /// Whether it was opened just now.
    pub opened: bool,
    /// Whether it was not there yet when it was looked for first: it was opened for this question,
    /// or for another one at the same moment.
    pub is_new: bool,
    /// What the sources gave, if they were asked.
    pub seen: Option<SeenBlock>,
}

impl ActiveSession {
    /// The block of this moment, if one was looked for.
    pub fn anchor(&self) -> Option<Anchor> {
        self.seen.as_ref().map(|seen| seen.anchor.clone())
    }
}

/// Closes what is idle, then resumes the session that fits or opens one.
///
/// A block is looked for when a session is opened or closed, and when the one resumed has been
/// quiet for `look_again`: questions in quick succession ask no explorer.
pub async fn resume_or_open(
    environment: &TurnEnvironment<'_>,
    auth_key_hash: Hash32,
) -> Result<ActiveSession, RecorderError> {
    let terms = environment.terms(auth_key_hash);
    let now = environment.now();
    let idle: Vec<SessionRow> = environment
        .store
        .open_sessions()?
        .into_iter()
        .filter(|session| session.is_quiet(now, environment.idle))
        .collect();
    let fits = resumable(environment.store, &terms)?
        .filter(|session| !session.is_quiet(now, environment.idle));
    let quiet = fits
        .as_ref()
        .is_none_or(|session| session.is_quiet(now, environment.look_again));
    let seen = if quiet || !idle.is_empty() {
        Some(environment.block().await)
    } else {
        None
    };
    if let Some(seen) = &seen {
        close_idle(environment, &idle, &seen.anchor).await?;
    }
    let seen = match seen {
        Some(seen) => seen,
        // It may have been closed since it was looked at; then a new one needs a block.
        None => match environment
            .recorder
            .resume(terms.clone(), environment.now())
            .await?
        {
            Some(session) => {
                return Ok(ActiveSession {
                    session,
                    opened: false,
                    is_new: false,
                    seen: None,
                });
            }
            None => environment.block().await,
        },
    };
    let (session, opened) = environment
        .recorder
        .resume_or_open(terms, seen.anchor.clone(), environment.now())
        .await?;
    Ok(ActiveSession {
        session,
        opened,
        is_new: fits.is_none(),
        seen: Some(seen),
    })
}

/// Closes idle sessions; one whose prompt still waits for its model is not idle.
async fn close_idle(
    environment: &TurnEnvironment<'_>,
    idle: &[SessionRow],
    anchor: &Anchor,
) -> Result<(), RecorderError> {
    for session in idle {
        match environment
            .recorder
            .close_session(session.id, anchor.clone(), environment.now())
            .await
        {
            Ok(closed) => (environment.say)(&format!(
                "closed session {}: nothing was asked in it for a while",
                closed.session.id.short8()
            )),
            // Another process closed it, or waits for an answer in it.
            Err(RecorderError::InFlight { .. } | RecorderError::NotOpen { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// Opens a session, whether or not one that fits is open.
pub async fn open(
    environment: &TurnEnvironment<'_>,
    auth_key_hash: Hash32,
) -> Result<SessionRow, RecorderError> {
    let anchor = environment.block().await.anchor;
    environment
        .recorder
        .open_session(environment.terms(auth_key_hash), anchor, environment.now())
        .await
}

/// Closes a session against the block of this moment, waiting for prompts whose model is still
/// thinking.
///
/// The wait ends when the answer is recorded or its process is gone; a model call has its own time
/// limit.
pub async fn close(
    environment: &TurnEnvironment<'_>,
    session: Hash32,
) -> Result<SessionClose, RecorderError> {
    let mut said = false;
    loop {
        let anchor = environment.block().await.anchor;
        match environment
            .recorder
            .close_session(session, anchor, environment.now())
            .await
        {
            Err(RecorderError::InFlight { seq, .. }) => {
                if !said {
                    (environment.say)(&format!(
                        "waiting for the model's answer to interaction-{seq}"
                    ));
                }
                said = true;
                wait_for(environment, session).await?;
            }
            other => return other,
        }
    }
}

/// Puts a kernel in force: closes every open session, as [`close`] does, and starts none; the next
/// prompt does.
pub async fn set_kernel(
    environment: &TurnEnvironment<'_>,
    kernel: &Kernel,
    salt: &Salt,
) -> Result<Vec<SessionClose>, RecorderError> {
    let mut said = false;
    loop {
        let anchor = environment.block().await.anchor;
        match environment
            .recorder
            .set_kernel(kernel.clone(), anchor, salt.clone(), environment.now())
            .await
        {
            Err(RecorderError::InFlight { session, seq }) => {
                if !said {
                    (environment.say)(&format!(
                        "waiting for the model's answer to interaction-{seq}"
                    ));
                }
                said = true;
                wait_for(environment, session).await?;
            }
            other => return other,
        }
    }
}

/// Waits until no process waits for an answer in a session.
async fn wait_for(environment: &TurnEnvironment<'_>, session: Hash32) -> Result<(), RecorderError> {
    loop {
        tokio::time::sleep(POLL).await;
        let Some(row) = environment.store.session(session)? else {
            return Err(RecorderError::NotOpen { session });
        };
        let unanswered = environment.store.in_flight(row.uuid)?;
        let waited_for = environment.recorder.waited_for()?;
        if !unanswered
            .iter()
            .any(|exchange| waited_for.contains(&exchange.exchange_id))
        {
            return Ok(());
        }
    }
}
