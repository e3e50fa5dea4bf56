//! What is measured of a turn, the commitment to its trace, and what is known of it afterwards.

use std::path::Path;

use gently::audit::trace_facts::{TraceFactsReader, TraceLookup, TraceSource, facts_of};
use gently::record::trace::facts::{Known, TraceFacts};
use gently::record::trace::level::{Absence, TraceLevel};
use gently::record::trace::mapping::{TraceMapping, TraceRequest};
use gently::store::Store;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::model_server::{Behaviour, ModelServer};
use crate::opening::{open, served, signer};
use crate::person::{Person, git};
use crate::second::{both, of_one_opening};
use crate::unguarded::unguarded;

/// A home that a build from before measures made: three answers in two conversations, one model that
/// failed, one denial, and one exchange that is erased. A bundle of git that holds `home.tar`.
const BEFORE: &str = "tests/data/homes/before_measures.bundle";

/// That home.
pub fn from_before() -> Person {
    let person = Person::new();
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join(BEFORE);
    let bundle = bundle.display().to_string();
    let dir = person.dir.path();
    git(dir, &["clone", "--quiet", &bundle, "before"]).exits(0);
    let tar = std::fs::File::open(dir.join("before/home.tar")).unwrap();
    tar::Archive::new(tar).unpack(dir).unwrap();
    person
}

/// What is known of each exchange, oldest first.
fn facts(person: &Person) -> Vec<TraceSource> {
    let store = Store::open_read_only(&person.at("gently.db")).unwrap();
    let mut ids = Vec::new();
    let each = store.each_exchange(None, &mut |row| {
        ids.push(row.exchange_id);
        Ok(())
    });
    each.unwrap();
    let found = ids.into_iter().map(|id| match facts_of(&store, id) {
        Ok(TraceLookup::Found(found)) => *found,
        other => panic!("{other:?}"),
    });
    found.collect()
}

fn known<T>(value: &Known<T>, told: impl Fn(&T) -> String) -> String {
    match value {
        Ok(value) => told(value),
        Err(absence) => format!("({})", absence.code()),
    }
}

/// The facts in words, without what every run has otherwise.
fn told(facts: &TraceFacts) -> String {
    let list = |list: &Known<Vec<String>>| known(list, |list| format!("[{}]", list.join(", ")));
    let is_here = |text: &Known<String>| known(text, |_| "here".to_owned());
    let count = |count: &Known<u64>| known(count, u64::to_string);
    let checks = known(&facts.checks, |checks| {
        let failed = checks.iter().filter(|check| !check.passed);
        let failed: Vec<&str> = failed.map(|check| check.name.as_str()).collect();
        format!("{} made, failed [{}]", checks.len(), failed.join(", "))
    });
    let texts = &facts.texts;
    format!(
        "{:?}, authority {}, number {}, depth {}, thread {}\n  \
           sources {}, of {}; in conflict {} {}; unknown {}; looks {}\n  \
           checks {checks}; reasons {:?}; notes {:?}\n  \
           model {}, took {}; tokens {} and {}, cost {}\n  \
           question {}, bundle {}, prompt {}, answer {}\n",
        facts.end,
        facts.authority.name(),
        facts.seq,
        count(&facts.depth),
        known(&facts.thread, |_| "known".to_owned()),
        known(&facts.sources, |count| format!(
            "{} with {} pairs",
            count.sources, count.same_pairs
        )),
        list(&facts.source_kinds),
        known(&facts.is_in_conflict, bool::to_string),
        list(&facts.conflicts),
        list(&facts.unknowns),
        known(&facts.looks, |looks| looks.len().to_string()),
        facts.reasons,
        facts.notes,
        facts.model,
        known(&facts.model_ms, |_| "some time".to_owned()),
        count(&facts.tokens_input),
        count(&facts.tokens_output),
        known(&facts.cost, |cost| format!(
            "{} {}",
            cost.micro, cost.currency
        )),
        is_here(&texts.question),
        is_here(&texts.bundle),
        is_here(&texts.compiled_prompt),
        is_here(&texts.answer),
    )
}

/// Answered twice, the first time with two facts that disagree; refused, withheld, failed, denied, and not compiled; the first is erased where
/// that is asked for.
fn turns(variables: &[(&str, &str)]) -> (Person, ModelServer) {
    let says = |text: &str| Behaviour::Says(text.to_owned());
    let server = ModelServer::script(vec![
        says("The well is nine metres deep."),
        says("It is still nine metres deep."),
        says("I'm sorry, but I can't help with that."),
        says("I have restarted nginx."),
        Behaviour::error(500, "out of order"),
    ]);
    let base_url = server.base_url();
    let own = [
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", base_url.as_str()),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
    ];
    let person = Person::with(&[&own, variables].concat());
    person.gently(&["init"]).exits(0);
    person.withholds_claims(|kernel| kernel);
    for claim in ["The well is dry.", "The well is nine metres deep."] {
        let fact = ["fact", "add", claim, "--subject", "well"];
        person.gently(&fact).exits(0);
    }
    // A fact whose text is not kept is in no state.
    let code = if variables.is_empty() { 0 } else { 2 };
    for id in ["fact-1", "fact-2"] {
        person.gently(&["fact", "ratify", id]).exits(code);
    }
    for (question, code) in [
        ("How deep is the well?", 0),
        ("And now?", 0),
        ("Tell me of it.", 0),
        ("Restart it.", 1),
        ("Is anybody there?", 2),
    ] {
        person.gently(&["ask", "--no-sight", question]).exits(code);
    }
    let unknown = ["ask", "--no-sight", "--ref", "deadbeef", "And before?"];
    person.gently(&unknown).exits(1);
    let narrow = ["config", "set", "model.window.openai/small-1b", "256"];
    person.gently(&narrow).exits(0);
    let long = format!("Who fits? {}", "Word. ".repeat(400));
    person.gently(&["ask", "--no-sight", &long]).exits(2);
    (person, server)
}

/// The database is sound, and both verifiers say the same of the ledger.
#[track_caller]
fn is_sound(person: &Person) {
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
    let (ledger, log) = (person.at("ledger.git"), person.at("audit.log"));
    let key = person.at("keys/allowed_signers").display().to_string();
    let (says, ours) = both(&ledger, Some(&log), Some(&key));
    assert_eq!((&says, says.code), (&ours, Some(0)), "verify.py");
}

/// The commitment on record opens with its key to the trace that the facts give.
fn is_committed(found: &TraceSource) -> bool {
    let recorded = found.recorded.as_ref().unwrap();
    let mapping = TraceMapping::named(&recorded.mapping).unwrap();
    let built = mapping
        .build(&found.facts, TraceRequest::COMMITTED)
        .unwrap();
    let committed = recorded.committed.unwrap();
    assert_eq!(committed.value, recorded.commitment);
    let key = committed.key.unwrap();
    let bytes = built.trace.to_be_signed().unwrap();
    gently::record::ledger::commitment::commit_with_key(key, &bytes) == committed.value
}

#[test]
fn what_is_known_of_each_kind_of_turn() {
    let (person, _server) = turns(&[]);
    is_sound(&person);
    let kept = facts(&person);
    assert_eq!(kept.len(), 7);
    assert!(kept.iter().all(is_committed));
    person.gently(&["erase", "interaction-1", "--yes"]).exits(0);
    is_sound(&person);
    let erased = facts(&person);
    assert!(erased.iter().all(is_committed), "erased ones, too");
    let (unkept, _server) = turns(&[("GENTLY_STORE_CONTENT", "none")]);
    is_sound(&unkept);
    let unkept = facts(&unkept);
    assert!(unkept.iter().all(is_committed));

    let mut text = String::new();
    for (name, traces) in [
        ("kept", &kept),
        ("the first erased", &erased),
        ("unkept", &unkept),
    ] {
        let all: Vec<String> = traces.iter().map(|one| told(&one.facts)).collect();
        text += &format!("{name}\n\n{}\n", all.join("\n"));
    }
    let before = from_before();
    let all: Vec<String> = facts(&before).iter().map(|one| told(&one.facts)).collect();
    text += &format!("from before\n\n{}", all.join("\n"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../cli");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("trace_facts", text));
}

/// Its exchanges have no measures, and stay as they were; what is asked next has.
#[test]
fn a_home_from_before_measures_is_as_it_was() {
    let person = from_before();
    is_sound(&person);
    let before = facts(&person);
    assert!(before.iter().all(|one| one.recorded.is_none()));
    assert!(
        before
            .iter()
            .all(|one| one.facts.depth == Err(Absence::FromBefore))
    );
    let counting = "SELECT count(*) FROM exchange_measure";
    let rows = |sql: &str| {
        person
            .database()
            .query_row(sql, [], |row| row.get::<_, u32>(0))
    };
    assert_eq!(rows(counting), Ok(0));
    let first = before[0].facts.exchange.to_string();
    person
        .gently(&["ask", "--parent", &first, "And since?"])
        .exits(0);
    person.gently(&["ask", "-c", "And then?"]).exits(0);
    let after = facts(&person);
    let depths: Vec<Known<u64>> = after[before.len()..]
        .iter()
        .map(|one| one.facts.depth)
        .collect();
    assert_eq!(depths, [Ok(1), Ok(2)]);
    // Erasing what they refer to leaves what they were committed to.
    person.gently(&["erase", &first, "--yes"]).exits(0);
    is_sound(&person);
    assert!(facts(&person)[before.len()..].iter().all(is_committed));
}

/// Also where nothing else can tell: the exchange is erased.
#[test]
fn a_changed_measure_is_found_even_where_its_exchange_is_erased() {
    let (person, _server) = turns(&[]);
    person.gently(&["erase", "interaction-1", "--yes"]).exits(0);
    let whole = std::fs::read(person.at("gently.db")).unwrap();
    let home = |sql: &str| {
        let database = unguarded(person.at("gently.db"));
        database
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        let changed = database.execute(sql, []).unwrap();
        assert_eq!(changed, 1, "{sql}");
    };
    let first = "line = (SELECT min(line) FROM exchange_measure)";
    let last = "line = (SELECT max(line) FROM exchange_measure)";
    for (sql, places) in [
        (format!("UPDATE exchange_measure SET depth = 4 WHERE {first}"), "trace_commitment"),
        (format!("UPDATE exchange_measure SET model_ms = model_ms + 1 WHERE {first}"), "trace_commitment"),
        (format!("UPDATE exchange_measure SET sources = 9 WHERE {first}"), "trace_commitment"),
        (format!("UPDATE exchange_measure SET trace_commitment = '{:064}' WHERE {first}", 1), "trace_commitment"),
        (format!("UPDATE exchange_measure SET trace_key = zeroblob(32) WHERE {first}"), "trace_commitment"),
        (format!("UPDATE exchange_measure SET trace_mapping = 'gently.trace/9' WHERE {first}"), "gently.trace/9"),
        (format!("UPDATE exchange_measure SET compile_ms = 77777 WHERE {last}"), "exchange_commitment"),
        (format!("UPDATE exchange_measure SET trace_key = NULL WHERE {last}"), "the key of role trace"),
        (format!("DELETE FROM exchange_measure WHERE {last}"), "exchange_commitment"),
        (
            "UPDATE assertion_event SET passed = 0 WHERE line = (SELECT min(line) FROM assertion_event)
                AND name = (SELECT min(name) FROM assertion_event WHERE level = 'blocking')".to_owned(),
            "trace_commitment",
        ),
    ] {
        home(&sql);
        let report: Value = person.verified();
        assert_eq!(report["answers"]["consistent"], "no", "{sql}");
        let findings = report["findings"].to_string();
        assert!(findings.contains(places), "{sql}: {findings}");
        drop(std::fs::remove_file(person.at("gently.db-wal")));
        drop(std::fs::remove_file(person.at("gently.db-shm")));
        std::fs::write(person.at("gently.db"), &whole).unwrap();
    }
    is_sound(&person);
}

/// Nobody can open anything there, and nobody is told that he could.
#[test]
fn without_openings_there_is_a_commitment_and_no_key() {
    let variables = [
        ("GENTLY_STORE_CONTENT", "none"),
        ("GENTLY_STORE_OPENINGS", "false"),
    ];
    let (person, _server) = turns(&variables);
    is_sound(&person);
    for found in facts(&person) {
        let recorded = found.recorded.unwrap();
        assert_eq!(recorded.committed, None);
    }
}

#[test]
fn what_waits_and_what_is_nowhere_has_no_facts() {
    let (person, server) = (from_before(), ModelServer::start(Behaviour::Gate));
    let store = Store::open_read_only(&person.at("gently.db")).unwrap();
    let reader = TraceFactsReader::new(&store).unwrap();
    let of = |id| reader.facts_of(id, TraceLevel::Generic).unwrap();
    assert!(matches!(of(Uuid::nil()), TraceLookup::NoSuchExchange));
    let mut asking = person
        .command(&["ask", "--no-sight", "--model", "openai/x", "Who waits?"])
        .env("GENTLY_MODEL_BASE_URL", server.base_url())
        .spawn()
        .unwrap();
    server.wait_for(1);
    let waits = store.newest_exchange().unwrap().unwrap();
    assert!(matches!(of(waits.exchange_id), TraceLookup::Waits));
    asking.kill().unwrap();
    asking.wait().unwrap();
    person.gently(&["session", "close", "--yes"]).exits(0);
    // Nobody waited for it any more, so nothing was measured.
    let TraceLookup::Found(found) = of(waits.exchange_id) else {
        panic!("it has an outcome");
    };
    assert_eq!(found.recorded, None);
    assert_eq!(found.facts.depth, Err(Absence::NotMeasured));
    is_sound(&person);
}

/// The opened document shows both members, and both verifiers hold it against its line.
#[test]
fn the_opened_exchange_document_tells_what_was_measured() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("What is the capital of France?");
    let place = open(&person, "opened", &["last", "1", "--role", "exchange"]);
    let (says, ours) = of_one_opening(&place, &signer(&person));
    assert_eq!((&says, says.code), (&ours, Some(0)), "verify.py");
    let file: Value = serde_json::from_slice(&std::fs::read(place).unwrap()).unwrap();
    let text = file["openings"][0]["text"].as_str().unwrap();
    let document: Value = serde_json::from_str(text).unwrap();
    let measures = document["measures"].as_object().unwrap();
    let keys: Vec<&str> = measures.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "compile_ms",
            "depth",
            "door",
            "first_byte_ms",
            "is_in_conflict",
            "judge_ms",
            "model_ms",
            "program",
            "same_pairs",
            "sources",
        ]
    );
    assert_eq!(measures["door"], json!("ask"));
    let program = concat!("gently ", env!("CARGO_PKG_VERSION"));
    assert_eq!(measures["program"], json!(program));
    let (first, last) = (&measures["first_byte_ms"], &measures["model_ms"]);
    assert!(first.as_u64().unwrap() <= last.as_u64().unwrap());
    let recorded = facts(&person)[0].recorded.clone().unwrap();
    let expected = json!({"commitment": recorded.commitment, "mapping": "gently.trace/1"});
    assert_eq!(document["trace"], expected);
}
