//! A home with a long history, through the real recorder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use gently::continuity::candidate::RecallResult;
use gently::continuity::compile::{Inputs, compile};
use gently::continuity::declared::{TurnContext, TurnPlace};
use gently::continuity::prompt::render;
use gently::govern::kernel::Kernel;
use gently::govern::sanitize::{Placeholders, redact};
use gently::home::{Home, InitOptions};
use gently::keys::os_random;
use gently::models::Model;
use gently::record::bitcoin::block::{Anchor, Network};
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::context::turn::Counts;
use gently::record::ledger::bundle::SightEntry;
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::documents::AuthorityState;
use gently::record::ledger::params::Params;
use gently::record::time::Seconds;
use gently::recorder::thread_id;
use gently::recorder::{Prompt, Recorder, SessionTerms, TurnEntry, unwatched};
use gently::sight::sys_health::SysHealth;
use gently::sight::{Tool, observe_all};
use gently::store::Store;

/// How many sessions wait at the same moment: their records share transactions and syncs.
const AT_ONCE: u64 = 128;

struct House<'a> {
    recorder: &'a Recorder,
    kernel: &'a Kernel,
    terms: SessionTerms,
    sight: BTreeMap<String, SightEntry>,
}

/// Makes it; the first session lies as many seconds back as there are groups.
pub fn make(root: &Path, sessions: u64) {
    let begun = Instant::now();
    let clock = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let mut now = Seconds::new(clock - sessions / AT_ONCE - 2).unwrap();
    let home = Home::init(root, &InitOptions::default(), &mut os_random, now).unwrap();
    let recorder =
        Recorder::open(home.paths(), home.signing_key().unwrap(), now, unwatched()).unwrap();
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    let kernel = Home::kernel(&store).unwrap();
    let terms = SessionTerms {
        auth_key_hash: store.auth_keys().unwrap()[0].hash,
        kernel_hash: kernel.hash(),
        kernel_json: kernel.canonical_json().to_owned(),
        model: "observer".to_owned(),
        host_role: kernel.host_role().to_owned(),
        phase: kernel.phase().to_owned(),
        tier: kernel.tier(),
    };
    let tools: [Arc<dyn Tool>; 1] = [Arc::new(SysHealth {
        home: root.to_owned(),
    })];
    let sight = observe_all(&tools, kernel.tools(), now);
    let house = House {
        recorder: &recorder,
        kernel: &kernel,
        terms,
        sight,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut done = 0;
    while done < sessions {
        now = Seconds::new(now.get() + 1).unwrap();
        let count = AT_ONCE.min(sessions - done);
        runtime.block_on(join_all(
            (done..done + count).map(|n| session(&house, n, now)),
        ));
        done += count;
    }
    drop(recorder);
    let head = store.head().unwrap();
    println!(
        "{sessions} sessions, {} lines, {} commits in {:.1} s",
        head.lines,
        head.commits,
        begun.elapsed().as_secs_f64()
    );
}

/// One session from open to close, with one turn or two.
async fn session(house: &House<'_>, number: u64, now: Seconds) {
    let anchor = || Anchor::local(Network::Bitcoin, now);
    let session = house
        .recorder
        .open_session(house.terms.clone(), anchor(), now)
        .await
        .unwrap();
    let config = ContextConfig::parse(GENESIS_CONTEXT).unwrap();
    for turn in 0..=number % 2 {
        let text = redact(&format!(
            "Question {turn} of session {number}: how is this machine doing?"
        ))
        .clean;
        let bundle = compile(&Inputs {
            session_id: session.uuid,
            user_input: &text,
            kernel: house.kernel,
            host_role: &session.host_role,
            model_id: "observer",
            now,
            sight: house.sight.clone(),
            recalled: &RecallResult::default(),
        })
        .unwrap();
        let params = Params::default();
        let compiled = render(house.kernel, &bundle, (None, &params), (&text, None));
        let mut salt = [0; 32];
        os_random(&mut salt).unwrap();
        let (authority_state, salt) = (AuthorityState::Ok, Salt::new(salt));
        let prompt = Prompt {
            session: session.id,
            text,
            bundle,
            compiled,
            context: TurnContext::alone(
                &config,
                TurnPlace::of_message(thread_id(session.id, 0), None),
            ),
            counts: Counts::default(),
            params,
            authority_state,
            salt,
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
    house
        .recorder
        .close_session(session.id, anchor(), now)
        .await
        .unwrap();
}
