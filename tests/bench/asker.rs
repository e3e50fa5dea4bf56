//! Turns through the real pipeline: compile, record, observer, judge, record.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gently::continuity::candidate::RecallResult;
use gently::continuity::compile::{Inputs, compile};
use gently::continuity::declared::{TurnContext, TurnPlace};
use gently::continuity::prompt::render;
use gently::govern::actions::actuation::MAX_ACTS;
use gently::govern::kernel::Kernel;
use gently::govern::sanitize::{Placeholders, redact};
use gently::home::{Home, InitOptions};
use gently::keys::os_random;
use gently::models::Model;
use gently::record::bitcoin::block::{Anchor, Block, Header, Network, Source, check_header};
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::context::turn::Counts;
use gently::record::hash::Hash32;
use gently::record::ledger::bundle::SightEntry;
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::documents::AuthorityState;
use gently::record::ledger::params::Params;
use gently::record::time::Seconds;
use gently::recorder::{
    JudgedReply, Prompt, RecordedPrompt, Recorder, SessionTerms, TurnEntry, thread_id, unwatched,
};
use gently::sight::sys_health::SysHealth;
use gently::sight::{Tool, observe_all};
use gently::store::{SessionRow, Store};

/// Sessions open at once.
const SESSIONS: usize = 4;
/// A session is closed after about so many turns.
const SESSION_TURNS: u64 = 400;
/// Turns that share one observation: the system's own answer time is not what is measured.
const SIGHT_TURNS: u64 = 500;
const BEGIN: u64 = 1_767_830_400;

const QUESTIONS: [&str; 6] = [
    "How is this machine doing?",
    "How much memory is used on this server?",
    "Is the disk of this machine full?",
    "What is the capital of France?",
    "Is the web server of this machine running?",
    "What do you know?",
];

/// How many exchanges a home has.
pub fn exchanges(root: &Path) -> u64 {
    let store = Store::open_read_only(&root.join("gently.db")).unwrap();
    store.row_counts().unwrap().exchanges
}

/// A home that is being asked.
pub struct House {
    recorder: Recorder,
    kernel: Kernel,
    config: ContextConfig,
    model: Model,
    terms: SessionTerms,
    tools: Vec<Arc<dyn Tool>>,
    sight: RefCell<BTreeMap<String, SightEntry>>,
    asked: Cell<u64>,
    height: Cell<u32>,
    open: RefCell<Vec<SessionRow>>,
}

impl House {
    /// Makes a home on a private chain, or goes on with one that is there.
    pub fn make_or_open(root: &Path) -> Self {
        let options = InitOptions {
            network: Network::Regtest,
            ..InitOptions::default()
        };
        let begin = Seconds::new(BEGIN).unwrap();
        let there = Home::open(root).unwrap();
        let home =
            there.unwrap_or_else(|| Home::init(root, &options, &mut os_random, begin).unwrap());
        let store = Store::open_read_only(&home.paths().database()).unwrap();
        let kernel = Home::kernel(&store).unwrap();
        let model = Model::observer();
        let terms = SessionTerms {
            auth_key_hash: store.auth_keys().unwrap().first().unwrap().hash,
            kernel_hash: kernel.hash(),
            kernel_json: kernel.canonical_json().to_owned(),
            model: model.id().to_owned(),
            host_role: kernel.host_role().to_owned(),
            phase: kernel.phase().to_owned(),
            tier: kernel.tier(),
        };
        let recorder = Recorder::open(
            home.paths(),
            home.signing_key().unwrap(),
            begin,
            unwatched(),
        )
        .unwrap();
        let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(SysHealth {
            home: root.to_owned(),
        })];
        let house = House {
            recorder,
            kernel,
            config: ContextConfig::parse(GENESIS_CONTEXT).unwrap(),
            model,
            terms,
            tools,
            sight: RefCell::default(),
            asked: Cell::new(exchanges(root)),
            height: Cell::new(store.head().unwrap().height.max(100)),
            open: RefCell::new(store.open_sessions().unwrap()),
        };
        house.look();
        house
    }

    /// How many turns were asked so far.
    pub fn asked(&self) -> u64 {
        self.asked.get()
    }

    /// Three turns to the second.
    fn now(&self) -> Seconds {
        Seconds::new(BEGIN + self.asked.get() / 3).unwrap()
    }

    fn look(&self) {
        *self.sight.borrow_mut() = observe_all(&self.tools, self.kernel.tools(), self.now());
    }

    /// A block of the private chain, mined here: every second nonce is good.
    fn block(&self) -> Anchor {
        let height = self.height.get() + 1;
        self.height.set(height);
        let now = self.now();
        (0u32..)
            .find_map(|nonce| {
                let mut bytes = [0u8; 80];
                bytes[0] = 1;
                bytes[4..8].copy_from_slice(&height.to_le_bytes());
                bytes[68..72].copy_from_slice(&u32::try_from(now.get()).unwrap().to_le_bytes());
                bytes[72..76].copy_from_slice(&0x207f_ffffu32.to_le_bytes());
                bytes[76..80].copy_from_slice(&nonce.to_le_bytes());
                let header = Header::from_bytes(bytes);
                let block = Block {
                    hash: header.hash(),
                    height,
                    network: Network::Regtest,
                    source: Source::File,
                    time: now,
                };
                check_header(&header, &block, Network::Regtest).ok()?;
                Some(Anchor {
                    block,
                    header: Some(header),
                })
            })
            .unwrap()
    }

    /// Some turns by several askers at once.
    pub async fn many(&self, turns: u64, askers: u64) {
        let mut left = turns;
        while left > 0 {
            let portion = left.min(SESSION_TURNS * SESSIONS as u64);
            self.renew().await;
            let open: Vec<Hash32> = self
                .open
                .borrow()
                .iter()
                .map(|session| session.id)
                .collect();
            let askers = askers.min(portion);
            let each = (0..askers).map(|asker| {
                let turns = portion / askers + u64::from(asker < portion % askers);
                let session = open[usize::try_from(asker).unwrap() % open.len()];
                async move {
                    for _ in 0..turns {
                        self.ask(session).await;
                    }
                }
            });
            futures_util::future::join_all(each).await;
            left -= portion;
        }
    }

    /// One turn.
    pub async fn ask_one(&self) {
        let session = self.open.borrow().first().unwrap().id;
        self.ask(session).await;
    }

    /// Closes all sessions and opens others.
    pub async fn renew(&self) {
        self.close().await;
        for _ in 0..SESSIONS {
            let opened = self
                .recorder
                .open_session(self.terms.clone(), self.block(), self.now())
                .await
                .unwrap();
            self.open.borrow_mut().push(opened);
        }
    }

    /// Closes all sessions.
    pub async fn close(&self) {
        let open = self.open.take();
        for session in open {
            self.recorder
                .close_session(session.id, self.block(), self.now())
                .await
                .unwrap();
        }
    }

    async fn ask(&self, session: Hash32) {
        let prompt = self.recorder.prompt(self.compiled(session)).await.unwrap();
        let judged = self.judged(&prompt).await;
        self.recorder
            .answer(prompt, judged, self.now())
            .await
            .unwrap();
    }

    /// What the model says to a recorded prompt, judged.
    async fn judged(&self, prompt: &RecordedPrompt) -> JudgedReply {
        let reply = self.model.invoke(prompt).await.unwrap();
        reply.judge(&self.kernel, prompt)
    }

    /// Turns whose prompts are compiled, and whose replies judged, before they are recorded: what
    /// the recorder takes by itself, with so many records at once.
    pub async fn waves(&self, turns: u64, askers: u64) -> Duration {
        let mut took = Duration::ZERO;
        let mut left = turns;
        while left > 0 {
            let begun = Instant::now();
            self.renew().await;
            took += begun.elapsed();
            let portion = left.min(SESSION_TURNS * SESSIONS as u64);
            left -= portion;
            let mut of_portion = portion;
            while of_portion > 0 {
                let wave = of_portion.min(askers);
                of_portion -= wave;
                took += self.wave(wave).await;
            }
        }
        took
    }

    async fn wave(&self, turns: u64) -> Duration {
        let open: Vec<Hash32> = self
            .open
            .borrow()
            .iter()
            .map(|session| session.id)
            .collect();
        let prompts: Vec<Prompt> = (0..turns)
            .map(|n| self.compiled(open[usize::try_from(n).unwrap() % open.len()]))
            .collect();
        let begun = Instant::now();
        let recorded =
            futures_util::future::join_all(prompts.into_iter().map(|p| self.recorder.prompt(p)))
                .await;
        let mut took = begun.elapsed();
        let mut judged = Vec::new();
        for prompt in recorded {
            let prompt = prompt.unwrap();
            let reply = self.judged(&prompt).await;
            judged.push((prompt, reply));
        }
        let now = self.now();
        let begun = Instant::now();
        let answers = judged
            .into_iter()
            .map(|(prompt, judged)| self.recorder.answer(prompt, judged, now));
        for answer in futures_util::future::join_all(answers).await {
            answer.unwrap();
        }
        took += begun.elapsed();
        took
    }

    /// The next question, compiled for a model.
    fn compiled(&self, session: Hash32) -> Prompt {
        let n = self.asked.get() + 1;
        self.asked.set(n);
        if n.is_multiple_of(SIGHT_TURNS) {
            self.look();
        }
        let question = QUESTIONS[usize::try_from(n).unwrap() % QUESTIONS.len()];
        let text = redact(&format!("{question} ({n})")).clean;
        let uuid = self
            .open
            .borrow()
            .iter()
            .find(|row| row.id == session)
            .unwrap()
            .uuid;
        let now = self.now();
        let inputs = Inputs {
            session_id: uuid,
            user_input: &text,
            kernel: &self.kernel,
            host_role: self.kernel.host_role(),
            model_id: self.model.id(),
            now,
            sight: self.sight.borrow().clone(),
            recalled: &RecallResult::default(),
        };
        let bundle = compile(&inputs).unwrap();
        let params = Params::default();
        let compiled = render(&self.kernel, &bundle, (None, &params), (&text, None));
        // A request to act ("Restart …") becomes an artifact of its own, with a salt of its own.
        let action_salts = (0..2 * MAX_ACTS).map(|_| fresh_salt()).collect();
        Prompt {
            session,
            text,
            bundle,
            compiled,
            context: TurnContext::alone(
                &self.config,
                TurnPlace::of_message(thread_id(session, 0), None),
            ),
            counts: Counts::default(),
            authority_state: AuthorityState::Ok,
            salt: fresh_salt(),
            action_salts,
            numbers: Placeholders::new([0; 32]),
            params,
            anchor: None,
            now,
            entry: TurnEntry::default(),
        }
    }
}

fn fresh_salt() -> Salt {
    let mut salt = [0; 32];
    os_random(&mut salt).unwrap();
    Salt::new(salt)
}
