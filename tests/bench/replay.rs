//! Replay of a long record: threads of a hundred turns, each of which refers to the six events
//! before it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use gently::ask::recall::{DeclaredContext, Reference, recall};
use gently::ask::refer::{ReferRules, count, refer};
use gently::audit::replay::{AssertionOutcome, Replay};
use gently::continuity::compile::{Inputs, compile};
use gently::continuity::declared::TurnPlace;
use gently::continuity::prompt::render;
use gently::govern::kernel::{GENESIS_KERNEL, Kernel};
use gently::govern::sanitize::{Placeholders, redact};
use gently::home::{Home, InitOptions};
use gently::keys::os_random;
use gently::models::Model;
use gently::record::bitcoin::block::{Anchor, Network};
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::ledger::bundle::SightEntry;
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::documents::AuthorityState;
use gently::record::ledger::params::Params;
use gently::record::time::Seconds;
use gently::recorder::{Prompt, Recorder, SessionTerms, TurnEntry, thread_id, unwatched};
use gently::sight::sys_health::SysHealth;
use gently::sight::{Tool, observe_all};
use gently::store::{SessionRow, Store};

/// Turns of one thread.
const TURNS: u64 = 100;
/// Policies that count and search, and deny nothing of what is asked here.
const POLICY: &str = r#"
[policy.thread]
intents = 1000
[policy.rate]
intents = 10000000
seconds = 86400
[policy.budget]
tokens = 1000000000
seconds = 86400
[[policy.forbidden]]
name = "weapons"
pattern = "(?i)\\bexplosives?\\b"
"#;
/// Runs of the program.
const RUNS: u32 = 3;
/// Sessions whose turns wait at the same moment.
const AT_ONCE: u64 = 100;

/// Makes a home with so many exchanges, and replays them all: in this process, each assertion
/// looked at, and by the program.
pub fn run(gently: &str, root: &Path, exchanges: u64) {
    make(root, exchanges);
    let home = Home::open(root).unwrap().unwrap();
    let (begun, used) = (Instant::now(), processor());
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    store.begin_read().unwrap();
    let replay = Replay::open(&store, &home.paths().log()).unwrap();
    let opened = begun.elapsed();
    assert_eq!(replay.faults().unwrap(), []);
    let (mut done, mut held, mut other) = (0u64, 0u64, Vec::new());
    replay
        .all(&mut |one| {
            done += 1;
            for (assertion, outcome) in one.outcomes {
                match outcome {
                    AssertionOutcome::Holds => held += 1,
                    unheld => other.push((assertion, unheld)),
                }
            }
        })
        .unwrap();
    assert_eq!(other, [], "every assertion of every exchange holds");
    assert_eq!(held, done * 9);
    println!(
        "{done} exchanges replayed, {held} assertions hold: {:.2} s ({:.2} s of processor time), {:.2} s of it for the order of the log",
        begun.elapsed().as_secs_f64(),
        processor() - used,
        opened.as_secs_f64()
    );
    drop(replay);
    for run in 1..=RUNS {
        let begun = Instant::now();
        let output = Command::new(gently)
            .env("GENTLY_HOME", root)
            .args(["audit", "replay", "--all"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        println!(
            "gently audit replay --all, run {run}: {:.2} s (target: 5 s for 10000)",
            begun.elapsed().as_secs_f64()
        );
    }
}

/// Processor time of this thread so far, in seconds.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

struct House<'a> {
    recorder: &'a Recorder,
    store: &'a Store,
    kernel: &'a Kernel,
    config: &'a ContextConfig,
    sight: BTreeMap<String, SightEntry>,
}

fn salt() -> Salt {
    let mut salt = [0; 32];
    os_random(&mut salt).unwrap();
    Salt::new(salt)
}

/// Makes a home with so many exchanges in threads of a hundred.
pub fn make(root: &Path, exchanges: u64) {
    let begun = Instant::now();
    let clock = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let now = Seconds::new(clock).unwrap();
    let home = Home::init(root, &InitOptions::default(), &mut os_random, now).unwrap();
    let recorder =
        Recorder::open(home.paths(), home.signing_key().unwrap(), now, unwatched()).unwrap();
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    let kernel = Kernel::from_toml(&format!("{GENESIS_KERNEL}{POLICY}")).unwrap();
    let config = ContextConfig::parse(GENESIS_CONTEXT).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let anchor = Anchor::local(Network::Bitcoin, now);
    runtime
        .block_on(recorder.set_kernel(kernel.clone(), anchor, salt(), now))
        .unwrap();
    // Looked at once: what a tool takes is no part of a replay, what it showed is.
    let tools: [Arc<dyn Tool>; 1] = [Arc::new(SysHealth {
        home: root.to_owned(),
    })];
    let sight = observe_all(&tools, kernel.tools(), now);
    let house = House {
        recorder: &recorder,
        store: &store,
        kernel: &kernel,
        config: &config,
        sight,
    };
    let mut left = exchanges.div_ceil(TURNS);
    while left > 0 {
        let sessions = AT_ONCE.min(left);
        runtime.block_on(join_all((0..sessions).map(|_| session(&house, now))));
        left -= sessions;
    }
    println!(
        "{exchanges} exchanges on record in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
}

async fn session(house: &House<'_>, now: Seconds) {
    let kernel = house.kernel;
    let terms = SessionTerms {
        auth_key_hash: house.store.auth_keys().unwrap()[0].hash,
        kernel_hash: kernel.hash(),
        kernel_json: kernel.canonical_json().to_owned(),
        model: "observer".to_owned(),
        host_role: kernel.host_role().to_owned(),
        phase: kernel.phase().to_owned(),
        tier: kernel.tier(),
    };
    let anchor = Anchor::local(Network::Bitcoin, now);
    let session = house
        .recorder
        .open_session(terms, anchor.clone(), now)
        .await
        .unwrap();
    for turn in 0..TURNS {
        ask(house, &session, turn, now).await;
    }
    house
        .recorder
        .close_session(session.id, anchor, now)
        .await
        .unwrap();
}

async fn ask(house: &House<'_>, session: &SessionRow, turn: u64, now: Seconds) {
    let text = redact(&format!(
        "Question {turn}: what was said before, and what follows from it?"
    ))
    .clean;
    let declared = DeclaredContext {
        refs: vec![Reference::Last(6)],
        ..DeclaredContext::default()
    };
    let rules = ReferRules {
        kernel: house.kernel,
        config: house.config,
        room: None,
    };
    let thread = thread_id(session.id, 0);
    let parent = house.store.newest_message(thread).unwrap();
    let place = TurnPlace::of_message(thread, parent);
    let referred = refer(house.store, rules, place, &declared).unwrap();
    let counts = count(house.store, house.kernel, &referred.context, now).unwrap();
    let recalled = recall(house.store, house.kernel, &text, &referred, false, now).unwrap();
    let bundle = compile(&Inputs {
        session_id: session.uuid,
        user_input: &text,
        kernel: house.kernel,
        host_role: &session.host_role,
        model_id: "observer",
        now,
        sight: house.sight.clone(),
        recalled: &recalled,
    })
    .unwrap();
    let params = Params::default();
    let compiled = render(house.kernel, &bundle, (None, &params), (&text, None));
    let prompt = Prompt {
        session: session.id,
        text,
        bundle,
        compiled,
        context: referred.context,
        counts,
        params,
        authority_state: AuthorityState::Ok,
        salt: salt(),
        action_salts: Vec::new(),
        numbers: Placeholders::new([0; 32]),
        anchor: None,
        now,
        entry: TurnEntry::default(),
    };
    let prompt = house.recorder.prompt(prompt).await.unwrap();
    let judged = Model::observer()
        .invoke(&prompt)
        .await
        .unwrap()
        .judge(house.kernel, &prompt);
    house.recorder.answer(prompt, judged, now).await.unwrap();
}
