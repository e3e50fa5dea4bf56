//! Asks under Bitcoin blocks, against explorers on loopback that serve real mainnet headers; and
//! asks of models.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gently::anchor::BlockSource;
use gently::anchor::agree::AgreementPolicy;
use gently::anchor::esplora::Esplora;
use gently::app::ask::denial::reason_words;
use gently::ask::recall::DeclaredContext;
use gently::ask::refer::ThreadPosition;
use gently::ask::{Observations, Question, TurnControl, TurnEnd, ask};
use gently::home::Home;
use gently::models::Model;
use gently::record::bitcoin::block::Network;
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::ledger::commitment::Salt;
use gently::record::time::Seconds;
use gently::recorder::{QuestionOrigin, Recorder, unwatched};
use gently::session::TurnEnvironment;
use gently::sight::sys_health::SysHealth;
use gently::sight::{Tool, observe_all};
use gently::store::Store;
use serde_json::{Value, json};

use crate::anchor::mined;
use crate::clock::time_of;
use crate::esplora_server::{Chain, EsploraServer, Manner, Route, STALE, rows};
use crate::llama::llama;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};

const TIP: u32 = 829_619;
/// Longer than any deadline here; a server is stopped with its test.
const NEVER: Manner = Manner::Slow(Duration::from_secs(600));
/// Nobody listens on loopback's discard port at this address.
const DEAD: &str = "http://127.0.0.77:9";
/// How it is said that nobody answered.
const OFFLINE: &str = "Offline: no Bitcoin block, so your clock alone says when: ";
/// How it is said that no answer was of use.
const NO_ANCHOR: &str = "No Bitcoin block, so your clock alone says when: ";

fn chain() -> Chain {
    Chain::real(829_604..=TIP)
}

/// Somebody whose explorers are these.
fn person(explorers: &[&str]) -> Person {
    let list = Value::from(explorers.to_vec()).to_string();
    // Answers come within milliseconds; this is for a machine that is busy with other tests.
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", &list),
        ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
    ]);
    person.lives_after(TIP);
    person
}

/// The session's start as the ledger has it: `session.json`, and `btc_header` if there is one.
fn start(person: &Person) -> (Value, Option<String>) {
    let commit = person
        .git(&["log", "--all", "--format=%H", "--grep=^session_start:"])
        .exits(0)
        .out;
    let commit = commit.lines().next().unwrap();
    let document = person
        .git(&["show", &format!("{commit}:session.json")])
        .exits(0)
        .out;
    let header = person.git(&["show", &format!("{commit}:btc_header")]);
    (
        serde_json::from_str(&document).unwrap(),
        (header.code == 0).then_some(header.out),
    )
}

/// It was recorded on the local clock, and nothing anywhere says that it is anchored; `why` is told.
#[track_caller]
fn is_local(person: &Person, told: &Ran, why: &str) {
    assert!(
        told.err
            .lines()
            .last()
            .unwrap_or_default()
            .contains("audit verify"),
        "{told:#?}"
    );
    let said = format!(" · no block: {why}\n");
    assert!(told.err.contains(&said), "{said}: {told:#?}");
    assert_eq!(
        told.err
            .lines()
            .filter(|line| line.starts_with(OFFLINE) || line.starts_with(NO_ANCHOR))
            .count(),
        1,
        "{told:#?}"
    );
    let (session, header) = start(person);
    let block = &session["block"];
    assert_eq!(
        (&block["height"], &block["source"], &session["branch"]),
        (&json!(0), &json!("local"), &json!("branch-1"))
    );
    assert_eq!(
        (block["hash"].as_str().unwrap(), header),
        ("0".repeat(64).as_str(), None)
    );
    let report = person.verified();
    assert_eq!(
        (&report["btc_anchors"], &report["answers"]["not_before"]),
        (&json!(0), &json!("not checked"))
    );
    assert_eq!(report["answers"]["consistent"], "yes");
    assert!(
        person
            .log()
            .iter()
            .all(|line| line.split('|').nth(1) == Some("0"))
    );
}

#[test]
fn the_block_of_the_moment_is_in_screen_ledger_and_verdict() {
    let server = EsploraServer::start(Chain::real(829_604..=TIP - 1));
    let person = person(&[server.url(), DEAD]);
    let told = person.ask("How is this machine doing?");
    let branch = format!("branch-{}", (TIP - 1) % 7 + 1);
    assert!(
        told.err.contains(&format!("/1 · block {}\n", TIP - 1)),
        "{told:#?}"
    );
    let hosts = format!(
        "tells them nothing: {}, 127.0.0.77:9\n",
        server.url().trim_start_matches("http://")
    );
    assert!(
        told.err.contains(&hosts),
        "the first run names who is contacted: {told:#?}"
    );
    assert!(!told.err.contains("your clock alone"));
    let (session, header) = start(&person);
    let first = Chain::real(829_604..=TIP - 1);
    assert_eq!(session["block"]["hash"], first.block(TIP - 1).0);
    assert_eq!(
        (&session["block"]["height"], &session["block"]["source"]),
        (&json!(TIP - 1), &json!("esplora"))
    );
    assert_eq!(session["branch"], branch);
    assert_eq!(header.unwrap(), format!("{}\n", first.block(TIP - 1).1));

    // Questions in quick succession ask no explorer.
    let asked = server.asked();
    assert!(!person.ask("And now?").err.contains("contacted"));
    assert_eq!(server.asked(), asked);

    // Closed under a later block.
    server.set_chain(chain());
    person.gently(&["session", "close"]).exits(0);
    let commit = person
        .git(&["log", "main", "--format=%H", "-1"])
        .exits(0)
        .out;
    let header = person
        .git(&["show", &format!("{}:btc_header", commit.trim())])
        .exits(0)
        .out;
    assert_eq!(header, format!("{}\n", chain().block(TIP).1));
    let report = person.verified();
    assert_eq!(
        (&report["btc_anchors"], &report["answers"]["not_before"]),
        (&json!(2), &json!("yes"))
    );
    let id = session["session_id"].as_str().unwrap();
    let told = person.gently(&["audit", "session", &id[..8]]).exits(0);
    assert!(
        told.out
            .contains(&format!("Start BTC: {}\nEnd BTC: {TIP}\n", TIP - 1)),
        "{told:#?}"
    );

    let asked = server.asked();
    for args in [
        &["audit", "verify", "-v"] as &[&str],
        &["session", "list"],
        &["config", "get"],
    ] {
        person.gently(args).exits(0);
    }
    assert_eq!(server.asked(), asked, "looking contacts nobody");
}

/// A block that was found while a session was quiet, with a clock that the test moves.
#[tokio::test]
async fn a_newer_block_goes_on_record_when_a_quiet_session_goes_on() {
    let server = EsploraServer::start(Chain::real(829_604..=TIP - 1));
    let person = person(&[server.url()]);
    person.ask("How is this machine doing?");
    server.set_chain(chain());

    let home = Home::open(&person.home()).unwrap().unwrap();
    let started = Seconds::new(time_of(TIP) + 660).unwrap();
    let recorder = Recorder::open(
        home.paths(),
        home.signing_key().unwrap(),
        started,
        unwatched(),
    )
    .unwrap();
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    let kernel = Home::kernel(&store).unwrap();
    let key = store.auth_keys().unwrap()[0].hash;
    let sources: Vec<Box<dyn BlockSource>> = vec![Box::new(
        Esplora::new(server.url(), Network::Bitcoin).unwrap(),
    )];
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(SysHealth {
        home: person.home(),
    })];
    let (model, say) = (Model::observer(), |_: &str| {});
    for (later, heights) in [(61, vec![TIP]), (62, vec![TIP])] {
        let clock = || Seconds::new(started.get() + later).unwrap();
        let context = ContextConfig::parse(GENESIS_CONTEXT).unwrap();
        let house = TurnEnvironment {
            context: &context,
            recorder: &recorder,
            store: &store,
            kernel: &kernel,
            model: model.id(),
            host_role: "brain",
            idle: Duration::from_secs(1800),
            network: Network::Bitcoin,
            sources: &sources,
            policy: AgreementPolicy {
                deadline: Duration::from_secs(20),
                ..AgreementPolicy::default()
            },
            look_again: Duration::from_secs(60),
            clock: &clock,
            stopwatch: &|| 0,
            say: &say,
            declared: &|_| {},
        };
        let gather = || {
            let (sight, salt) = (
                observe_all(&tools, kernel.tools(), clock()),
                Salt::new([later as u8; 32]),
            );
            Observations {
                sight,
                salt,
                action_salts: Vec::new(),
            }
        };
        let question = Question {
            text: "And now?",
            marked: &[],
            declared: &DeclaredContext::default(),
            standing: ThreadPosition::default(),
            client: None,
            origin: QuestionOrigin::default(),
        };
        let asked = ask(
            &house,
            key,
            &model,
            question,
            gather,
            &TurnControl::default(),
        )
        .await
        .unwrap();
        let TurnEnd::Answered(answer) = asked.turn else {
            panic!("{:?}", asked.turn)
        };
        assert!(!asked.resumed.opened);
        assert_eq!(answer.session.anchor.block.height, TIP);
        let lines = person.log();
        let anchored: Vec<&String> = lines
            .iter()
            .filter(|line| line.contains("|btc_anchor|"))
            .collect();
        assert_eq!(anchored.len(), heights.len(), "{lines:#?}");
        let (hash, header) = (
            chain().block(TIP).0.to_owned(),
            chain().block(TIP).1.to_owned(),
        );
        assert!(
            anchored[0].ends_with(&format!("|btc:{TIP},block:{hash},header:{header}")),
            "{anchored:?}"
        );
        // The session stays on the branch of its start; its lines carry the newer height.
        assert_eq!(
            answer.session.branch,
            format!("branch-{}", (TIP - 1) % 7 + 1)
        );
        assert!(
            lines.last().unwrap().contains(&format!("|{TIP}|")),
            "{lines:#?}"
        );
    }
    drop(recorder);
    let report = person.verified();
    assert_eq!(
        (
            &report["answers"]["consistent"],
            &report["answers"]["not_before"]
        ),
        (&json!("yes"), &json!("yes"))
    );
}

#[test]
fn a_lie_is_named_and_dropped_and_never_an_anchor() {
    let real = chain();
    let (hash, header) = real.block(TIP);
    let easy = mined(0x207f_ffff);
    let testnet = bitcoin::constants::genesis_block(bitcoin::Network::Testnet4).header;
    let testnet: gently::record::bitcoin::block::Header =
        bitcoin::consensus::encode::serialize_hex(&testnet)
            .parse()
            .unwrap();
    for (what, lying) in [
        (
            "wrong hash",
            chain().with(TIP + 1, &format!("{}1", "0".repeat(63)), header),
        ),
        (
            "too easy bits",
            chain().with(TIP + 1, &easy.hash().to_string(), &easy.to_string()),
        ),
        (
            "other network",
            chain().with(TIP + 1, &testnet.hash().to_string(), &testnet.to_string()),
        ),
        (
            "years older",
            Chain::real(0..=2).with(200_000, hash, header),
        ),
    ] {
        let liar = EsploraServer::start(lying);
        let alone = person(&[liar.url()]);
        let told = alone.ask("How is this machine doing?");
        assert!(
            told.err
                .contains(&format!("block source dropped: {}", liar.url())),
            "{what}: {told:#?}"
        );
        let note = format!(
            "{NO_ANCHOR}{} gave a false answer\n",
            liar.url().trim_start_matches("http://")
        );
        assert!(told.err.contains(&note), "{what}: {told:#?}");
        is_local(&alone, &told, "the source's answer was refused");

        let honest = EsploraServer::start(chain());
        let both = person(&[liar.url(), honest.url()]);
        let told = both.ask("How is this machine doing?");
        assert!(
            told.err
                .contains(&format!("block source dropped: {}", liar.url())),
            "{what}: {told:#?}"
        );
        assert!(
            told.err.contains(&format!(" · block {TIP}\n")),
            "{what}: {told:#?}"
        );
        assert_eq!(start(&both).0["block"]["hash"], hash, "{what}");
        assert_eq!(both.verified()["answers"]["not_before"], "yes", "{what}");
    }
}

#[test]
fn two_that_disagree_are_both_named() {
    let (height, stale, stale_header) = rows(STALE).remove(0);
    let real = EsploraServer::start(Chain::real(823_222..=height));
    let other =
        EsploraServer::start(Chain::real(823_222..=height).with(height, &stale, &stale_header));
    let mut person = person(&[real.url(), other.url()]);
    person.lives_after(823_225);
    let told = person.ask("How is this machine doing?");
    let note = told
        .err
        .lines()
        .find(|line| line.contains(&stale))
        .unwrap_or_else(|| panic!("{told:#?}"));
    assert!(
        note.contains(real.url()) && note.contains(other.url()),
        "{note}"
    );
    let chosen = Chain::real(height - 1..=height)
        .block(height - 1)
        .0
        .to_owned();
    assert_eq!(
        start(&person).0["block"]["hash"],
        chosen,
        "the newest that both have"
    );
    assert_eq!(person.verified()["answers"]["not_before"], "yes");
}

#[test]
fn silence_and_garbage_leave_the_local_clock_and_one_line() {
    let says = |route, status, body: &[u8]| Manner::Says(route, status, body.to_vec());
    for (manner, clause) in [
        (NEVER, "gave no answer within"),
        (
            says(Route::Tip, 200, b"<html>\x1b[2J\r\nsoon</html>"),
            "expected a height, got '<html>\\u{1b}[2J",
        ),
        (says(Route::Tip, 200, b"-1"), "expected a height"),
        (says(Route::Hash, 200, b"\xff\xfe"), "expected text"),
        (
            says(Route::Header, 200, b"00"),
            "expected a header of 160 digits",
        ),
        (says(Route::Tip, 503, b"busy"), "got 503, saying 'busy'"),
        (Manner::Cut(Route::Header), "can't be reached"),
        (Manner::Endless(Route::Header), "as no right answer is"),
        (
            Manner::Redirects("http://192.0.2.1/".to_owned()),
            "can't be reached (redirected to another host; name that one in the configuration, if it is meant)",
        ),
    ] {
        let slow = matches!(manner, Manner::Slow(_));
        let why = match &manner {
            Manner::Says(_, 503, _) => "no source gave one",
            Manner::Says(..) | Manner::Endless(_) => "the source's answer was refused",
            _ => "offline",
        };
        let answers = matches!(manner, Manner::Says(..) | Manner::Endless(_));
        let server = EsploraServer::start_with(chain(), manner);
        let mut person = person(&[server.url()]);
        if slow {
            person.set("GENTLY_ANCHOR_DEADLINE_MS", "300");
        }
        // Who answers is no sign that the network is away.
        let begins = match answers {
            true => NO_ANCHOR,
            false => OFFLINE,
        };
        let told = person.ask("How is this machine doing?");
        let note = told
            .err
            .lines()
            .find(|line| line.starts_with(begins))
            .unwrap_or_default();
        assert!(note.contains(clause), "{clause}: {told:#?}");
        assert!(!told.err.contains('\x1b'));
        is_local(&person, &told, why);
    }
}

#[test]
fn all_dead_is_said_in_one_line() {
    let person = person(&[DEAD, "http://127.0.0.78:9"]);
    let told = person.ask("How is this machine doing?");
    let note = told
        .err
        .lines()
        .find(|line| line.starts_with("Offline: "))
        .unwrap();
    let expected = "Offline: no Bitcoin block, so your clock alone says when: 127.0.0.77:9 and 127.0.0.78:9 can't be \
                    reached (Connection refused (os error 111)). To stop asking: gently config set anchor.mode off";
    assert_eq!(note, expected);
    is_local(&person, &told, "offline");
    // It is said once in a day, whatever asks; each answer says what it stands on.
    let next = person
        .gently(&["ask", "--new", "How is its disk?"])
        .exits(0);
    let closed = person.gently(&["session", "close", "-v"]).exits(0);
    for ran in [&next, &closed] {
        assert!(!ran.err.contains("Offline: "), "{ran:#?}");
    }
    // Nobody was asked for that question: nobody knows whether it is so still.
    assert!(next.err.contains(" · no block\n"), "{next:#?}");
    assert!(closed.out.contains("  no block\n"), "{closed:#?}");
}

#[test]
fn the_deadline_is_kept() {
    let server = EsploraServer::start_with(chain(), NEVER);
    let person = Person::with(&[("GENTLY_ANCHOR_ESPLORA", &format!("[{:?}]", server.url()))]);
    let begun = Instant::now();
    person.ask("How is this machine doing?");
    // Three seconds, and time for a busy machine.
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_headers_file_anchors_a_host_without_a_network() {
    let person = Person::with(&[("GENTLY_ANCHOR_ESPLORA", "[]")]);
    person.gently(&["init"]).exits(0);
    let file = person.headers(829_604..=TIP);
    std::fs::rename(&file, person.at("headers.csv")).unwrap();
    person
        .gently(&["config", "set", "anchor.headers", "headers.csv"])
        .exits(0);
    let told = person.ask("How is this machine doing?");
    assert!(told.err.contains(&format!(" · block {TIP}\n")), "{told:#?}");
    assert_eq!(start(&person).0["block"]["source"], "file");
    assert_eq!(person.verified()["answers"]["not_before"], "yes");

    // Damaged, it is named, and no anchor.
    person.gently(&["session", "close"]).exits(0);
    std::fs::write(
        person.at("headers.csv"),
        "height,hash,header\n829619,00,00\n",
    )
    .unwrap();
    let told = person.ask("How is this machine doing?");
    let note = told
        .err
        .lines()
        .find(|line| line.starts_with(NO_ANCHOR))
        .unwrap_or_else(|| panic!("{told:#?}"));
    assert!(
        note.contains("headers.csv") && note.contains("line 2"),
        "{note}"
    );
    assert!(
        told.err
            .contains("no block: the source's answer was refused")
    );
}

#[test]
fn off_contacts_nobody() {
    let server = EsploraServer::start(chain());
    let mut person = person(&[server.url()]);
    person.set("GENTLY_ANCHOR_MODE", "off");
    let told = person.ask("How is this machine doing?");
    assert!(
        !told.err.contains("block") && !told.err.contains("contact"),
        "{told:#?}"
    );
    person.gently(&["session", "close"]).exits(0);
    assert_eq!(server.asked(), 0);
    // A configuration says the same as the environment.
    person.set("GENTLY_ANCHOR_MODE", "auto");
    person
        .gently(&["ask", "--model", "observer", "one"])
        .exits(0);
    assert!(server.asked() > 0);
    let asked = server.asked();
    person.gently(&["session", "close"]).exits(0);
    let now = server.asked();
    assert!(now > asked);
}

/// llama.cpp with SmolLM2, as anybody would run it.
#[test]
fn a_real_model_answers_and_the_record_holds() {
    let Some(llama) = llama() else { return };
    let server = EsploraServer::start(chain());
    let mut person = person(&[server.url()]);
    person.unset("GENTLY_MODEL_DEFAULT");
    person.gently(&["init"]).exits(0);
    person
        .gently(&[
            "config",
            "set",
            "model.default",
            &format!("openai/{}", llama.model),
        ])
        .exits(0);
    person
        .gently(&["config", "set", "model.base_url", &llama.base_url])
        .exits(0);
    let first = person
        .gently(&["ask", "--json", "What is the capital of France?"])
        .exits(0)
        .json();
    assert_eq!(
        (&first["outcome"], &first["block"]["height"]),
        (&json!("answered"), &json!(TIP))
    );
    let answer = first["answer"].as_str().unwrap();
    assert!(answer.len() > 3 && !answer.contains("observer"), "{answer}");
    assert!(
        first["usage"]["prompt_tokens"].as_u64().unwrap() > 100,
        "{first}"
    );
    assert!(
        (1..=24).contains(&first["usage"]["completion_tokens"].as_u64().unwrap()),
        "{first}"
    );
    let second = person.gently(&["ask", "And of Spain?"]).exits(0);
    assert!(!second.out.trim().is_empty());
    assert!(
        second.err.starts_with("✔ ")
            && second
                .err
                .contains("/2 · in \"What is the capital of France?\" · block "),
        "{second:#?}"
    );
    let stored: String = person
        .database()
        .query_row(
            "SELECT content FROM chat_turn WHERE speaker = 'aurora' ORDER BY rowid LIMIT 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(stored, answer, "what was shown is what is recorded");
    person.gently(&["session", "close"]).exits(0);
    person
        .gently(&[
            "audit",
            "verify",
            "--require",
            "signed,not-before,consistent,complete",
        ])
        .exits(0);
    // Its server gone, the next ask fails on record.
    person.set("GENTLY_MODEL_BASE_URL", "http://127.0.0.77:9/v1");
    person.gently(&["ask", "Still there?"]).exits(2);
    assert_eq!(person.verified()["answers"]["complete"], "yes");
}

#[test]
fn every_way_a_model_fails_is_told_and_on_record() {
    const KEY: &str = "sk-proj-Q7fX2mZ9LwT4bN8vC1kR5yH3";
    for (behaviour, reason, told_of) in [
        (Behaviour::Refused, "unreachable", "can't be reached"),
        (Behaviour::NeverBegins, "timeout", "took too long"),
        (Behaviour::StallsInBody, "timeout", "took too long"),
        (
            Behaviour::rate_limited("7"),
            "rate_limited",
            "Rate limit reached for requests (it asks to wait 7 s)",
        ),
        (
            Behaviour::error(500, "the kitchen burns"),
            "http_500",
            "500: the kitchen burns",
        ),
        (
            Behaviour::no_such_model(),
            "http_404",
            "The model `nobody-7b` does not exist",
        ),
        (Behaviour::EchoesKey, "http_401", "I don't know `"),
        (Behaviour::CutBody, "cut", "was cut off"),
        (Behaviour::CutChunked, "cut", "was cut off"),
        (
            Behaviour::BrokenJson,
            "malformed",
            "is not a chat completion",
        ),
        (Behaviour::NotHttp, "malformed", "expected HTTP"),
        (
            Behaviour::ContentType("text/html"),
            "wrong_content_type",
            "text/html",
        ),
    ] {
        let hasty = reason == "timeout";
        let server = ModelServer::start(behaviour.clone());
        let mut person = Person::new();
        person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
        person.set("GENTLY_MODEL_TIMEOUT_S", if hasty { "1" } else { "60" });
        person.set("OPENAI_API_KEY", KEY);
        let told = person
            .gently(&["ask", "-m", "openai/small", "What now?"])
            .exits(2);
        assert_eq!(told.out, "", "{behaviour:?}");
        assert!(told.err.contains(told_of), "{behaviour:?}: {told:#?}");
        assert!(
            !told.err.contains(KEY) && !told.err.contains(&KEY[8..]),
            "{behaviour:?}: {told:#?}"
        );
        let line = person
            .log()
            .into_iter()
            .find(|line| line.contains("|response_fail|"))
            .unwrap();
        let recorded = line
            .split("reason:")
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap()
            .to_owned();
        assert_eq!(recorded, reason, "{behaviour:?}: {told:#?}");
        assert!(
            told.err.contains(&format!(
                "/1 · no answer: {} · on record",
                reason_words(reason)
            )),
            "{told:#?}"
        );
        let object = person
            .gently(&["ask", "-m", "openai/small", "--json", "And now?"])
            .exits(2)
            .json();
        assert_eq!(
            (&object["outcome"], &object["reason"], &object["answer"]),
            (&json!("failed"), &json!(reason), &Value::Null)
        );
        assert!(
            object["message"].as_str().unwrap().contains(told_of),
            "{object}"
        );
        let report = person.verified();
        assert_eq!(
            (
                &report["answers"]["complete"],
                &report["answers"]["consistent"]
            ),
            (&json!("yes"), &json!("yes"))
        );
        // What the model did wrong once does not stand in the way of the next ask.
        person.ask("And the observer?");
    }
}

/// A prompt has at most one outcome, and the model is called once: only a failed connection is
/// tried again.
#[test]
fn a_failed_call_is_not_repeated() {
    let server = ModelServer::script(vec![Behaviour::error(500, "once"), Behaviour::Good]);
    let mut person = Person::new();
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    person
        .gently(&["ask", "-m", "openai/small", "What now?"])
        .exits(2);
    assert_eq!(server.requests().len(), 1);
    let told = person
        .gently(&["ask", "-m", "openai/small", "And now?"])
        .exits(0);
    assert_eq!(told.out, format!("{}\n", crate::model_server::ANSWER));
    assert!(
        told.err.starts_with("✔ ") && told.err.contains("/2 · in \"What now?\"\n"),
        "{told:#?}"
    );
}
