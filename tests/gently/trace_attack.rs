//! Traces under attack: by whoever changes the database, by whoever has a key, by whoever hands on what is
//! erased or is nobody's to hand on.

use std::path::{Path, PathBuf};

use gently::app::home::open::{OpenHome, home_at};
use gently::app::prove::trace::consent_cover::NoConsent;
use gently::app::prove::trace::export::{
    ExportForm, ExportRequest, TraceExportError, plan, record,
};
use gently::app::prove::trace::select::TraceSelection;
use gently::keys::SigningKey;
use gently::record::hash::Hash32;
use gently::record::trace::envelope::{Envelope, EnvelopeHead};
use gently::record::trace::field::TraceField;
use gently::record::trace::level::{Absence, TraceLevel, TraceProfile};
use gently::record::trace::mapping::TraceRequest;
use gently::record::trace::read::read;
use gently::record::trace::signed::{Trace, TraceVerifier, UnsignedTrace};
use gently::record::trace::value::TraceValue;

use crate::model_server::Behaviour;
use crate::opening::served;
use crate::person::Person;
use crate::tamper_rows::edit;
use crate::trace_rig::{answers, consents, export, exported, named};

/// What an enemy does to what is signed.
type Change = fn(&mut EnvelopeHead, &mut UnsignedTrace);

/// The first envelope of a file, changed, and signed anew with a key.
fn sealed(person: &Person, file: &Path, key: &SigningKey, change: Change) -> PathBuf {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.split_inclusive('\n').next().unwrap();
    let Envelope {
        mut head, trace, ..
    } = Envelope::parse(line.as_bytes()).unwrap();
    let mut said = trace.unsigned;
    change(&mut head, &mut said);
    let bytes = said.signed_bytes();
    head.sha256 = Hash32::digest(&bytes);
    let signature = key.sign(&bytes);
    let trace: Trace = said.signed(&TraceVerifier::new(key.public()), signature);
    let signature = key.sign(&head.to_be_signed(&trace).unwrap());
    let envelope = head.signed(trace, key.public(), signature);
    let place = person.dir.path().join("sealed.json");
    std::fs::write(&place, envelope.print().unwrap()).unwrap();
    place
}

fn own_key(person: &Person) -> SigningKey {
    SigningKey::load(&person.at("keys/signing.key")).unwrap()
}

fn stranger_key() -> SigningKey {
    SigningKey::from_seed(&[9; 32])
}

/// A field of a component.
fn put(said: &mut UnsignedTrace, event: &str, key: &str, value: TraceValue) {
    let mut components = said.components.iter_mut();
    let component = components
        .find(|component| component.event_type == event)
        .unwrap();
    component.data.insert(key.to_owned(), value);
}

/// Takes a field out, and says why it is not there.
fn take(head: &mut EnvelopeHead, said: &mut UnsignedTrace, field: TraceField, why: Absence) {
    let profile = TraceProfile::SevenComponents;
    assert!(field.take(profile, said));
    head.absent.insert(field.place(profile).path(), why);
}

fn as_base64(key: &SigningKey) -> String {
    gently::record::trace::signed::public_key_base64(&key.public())
}

/// The answers that are no, of a file that a key signed.
fn noes(person: &Person, file: &Path, key: &SigningKey) -> (i32, Vec<String>) {
    let key = as_base64(key);
    let (code, told) = answers(person, file.to_str().unwrap(), &["--key", &key]);
    (code, named(&told[0], "no"))
}

/// Nobody signs that a turn took place as its changed rows have it, at any level.
#[test]
fn changed_rows_are_not_exported_and_not_the_same() {
    for statement in [
        "UPDATE chat_turn SET content = 'Buy gold.' WHERE speaker = 'aurora'",
        "UPDATE llm_exchange SET model = 'openai/forged'",
        "UPDATE assertion_event SET passed = 1 - passed",
        "DELETE FROM assertion_event",
    ] {
        let (person, _server) = served(Behaviour::Good);
        person.ask("Anything?");
        consents(&person, &["--past"]);
        let before = exported(&person, "before.json", &["last", "--level", "full_traces"]);
        let lines = person.log().len();
        edit(&person, statement);
        for level in ["generic", "detailed", "full_traces"] {
            let (file, ran) = export(&person, "after.json", &["last", "--level", level]);
            let ran = ran.exits(2);
            assert!(ran.err.contains("audit verify"), "{level}: {}", ran.err);
            assert!(!file.exists(), "{level}");
        }
        assert_eq!(person.log().len(), lines);
        let shown = person.gently(&["trace", "show"]).exits(1);
        assert!(
            shown.err.contains("not as it was recorded"),
            "{}",
            shown.err
        );
        let (code, told) = answers(&person, before.to_str().unwrap(), &[]);
        assert_eq!((code, named(&told[0], "no")), (1, vec!["same".to_owned()]));
    }
}

/// A consent that was made wider in the database, or whose withdrawal is gone from it, covers nothing.
#[test]
fn changed_consents_cover_nothing() {
    for (statement, give) in [
        (
            "UPDATE artifact SET document = replace(document, '\"past\":false', '\"past\":true') WHERE kind = 'consent'",
            &["consent", "give", "--purpose", "a study"][..],
        ),
        (
            "DELETE FROM artifact WHERE kind = 'consent_withdrawn'",
            &["consent", "give", "--purpose", "a study", "--past"][..],
        ),
    ] {
        let (person, _server) = served(Behaviour::Good);
        person.ask("Anything?");
        person.gently(give).exits(0);
        person
            .gently(&["consent", "withdraw", "consent-1"])
            .exits(0);
        edit(&person, statement);
        let (file, ran) = export(&person, "full.json", &["last", "--level", "full_traces"]);
        let ran = ran.exits(2);
        assert!(ran.err.contains("audit verify"), "{}", ran.err);
        assert!(!file.exists());
    }
}

/// A consent that somebody put into the database covers nothing, and what was handed on under it neither.
#[test]
fn invented_consents_cover_nothing() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    consents(&person, &["--exchange", "last"]);
    let file = exported(&person, "one.json", &["last", "--level", "full_traces"]);
    person.ask("Something else?");
    // Of an id of its own, on a line that is free.
    edit(
        &person,
        "INSERT INTO artifact(line, kind, id, document, salt, commitment)
         SELECT 99999, kind, 'consent:000002', document, salt, commitment FROM artifact WHERE kind = 'consent'",
    );
    let (refused, ran) = export(&person, "all.json", &["--all", "--level", "full_traces"]);
    let ran = ran.exits(2);
    assert!(ran.err.contains("audit verify"), "{}", ran.err);
    assert!(!refused.exists());
    let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!(
        (code, named(&told[0], "no")),
        (1, vec!["consent".to_owned()])
    );
}

/// What the ledger's own key binds is still held against the record, and against the proof.
#[test]
fn what_the_owner_binds_is_held_against_record_and_proof() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    let args = ["last", "--level", "generic", "--with-proof"];
    let file = exported(&person, "proven.json", &args);
    let (stranger, key) = (Person::new(), own_key(&person));
    let changes: [(&str, Change, &[&str], &[&str]); 11] = [
        (
            "times of components",
            |_, said| said.started_at = "2025-01-01T00:00:00Z".to_owned(),
            &["bound", "on_record"],
            &["bound", "on_record"],
        ),
        (
            "task_id",
            |_, said| said.task_id = Some(format!("task_{}", uuid::Uuid::nil())),
            &["on_record"],
            &["on_record"],
        ),
        (
            "no task_id",
            |head, said| {
                said.task_id = None;
                let reason = Absence::Erased;
                head.absent.insert("task_id".to_owned(), reason);
            },
            &["on_record"],
            &["on_record"],
        ),
        (
            "a reason",
            |head, _| {
                let reason = Absence::Erased;
                let path = "THOUGHT_START.task_priority".to_owned();
                head.absent.insert(path, reason);
            },
            &["fields"],
            &["fields", "same"],
        ),
        (
            "a reason of another field",
            |head, said| {
                head.committed = None;
                take(head, said, TraceField::EffectiveSources, Absence::NotUsd);
            },
            &["fields", "on_record"],
            &["fields", "on_record"],
        ),
        (
            "a reason that the field may have",
            |head, _| {
                let path = "ACTION_RESULT.cost_cents".to_owned();
                head.absent.insert(path, Absence::NotUsd);
            },
            &["on_record"],
            &["on_record", "same"],
        ),
        (
            "independent sources",
            |head, said| {
                head.committed = None;
                let sources = read(b"9.0").unwrap();
                put(said, "IDMA_RESULT", "k_eff", sources);
            },
            &["on_record"],
            &["on_record"],
        ),
        (
            "depth",
            |head, said| {
                head.committed = None;
                put(said, "THOUGHT_START", "thought_depth", TraceValue::count(4));
            },
            &["on_record"],
            &["on_record"],
        ),
        (
            "tokens, and no commitment",
            |head, said| {
                head.committed = None;
                put(
                    said,
                    "ACTION_RESULT",
                    "tokens_output",
                    TraceValue::count(999),
                );
            },
            &["on_record"],
            &["on_record"],
        ),
        (
            "a word",
            |head, said| {
                head.committed = None;
                let words = TraceValue::text("my secret words");
                put(said, "SNAPSHOT_AND_CONTEXT", "cognitive_state", words);
            },
            &["committed", "fields"],
            &["committed", "fields", "on_record"],
        ),
        (
            "no commitment",
            |head, _| head.committed = None,
            &["committed"],
            &["committed", "on_record"],
        ),
    ];
    for (what, change, without, with) in changes {
        let forged = sealed(&person, &file, &key, change);
        let (code, found) = noes(&stranger, &forged, &key);
        assert_eq!(found, without, "{what}, for a stranger");
        assert_eq!(code, i32::from(!without.is_empty()), "{what}");
        let (code, found) = noes(&person, &forged, &key);
        assert_eq!(found, with, "{what}, at home");
        assert_eq!(code, 1, "{what}");
    }
}

/// A home knows its keys: another one signs nothing of its ledger, and a replaced one nothing that was
/// asked later.
#[test]
fn another_key_is_refused_at_home() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Before?");
    let old = own_key(&person);
    let file = exported(&person, "one.json", &["last", "--level", "generic"]);
    let forged = sealed(&person, &file, &stranger_key(), |_, _| {});
    let (code, found) = noes(&person, &forged, &stranger_key());
    assert_eq!((code, found), (1, vec!["bound".to_owned()]));
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    // What was signed before stays so.
    assert_eq!(answers(&person, file.to_str().unwrap(), &[]).0, 0);
    person.ask("After?");
    let file = exported(&person, "two.json", &["last", "--level", "generic"]);
    assert_eq!(answers(&person, file.to_str().unwrap(), &[]).0, 0);
    let forged = sealed(&person, &file, &old, |_, _| {});
    let (code, found) = noes(&person, &forged, &old);
    let both = || ["bound", "key_id"].map(str::to_owned).to_vec();
    assert_eq!((code, found), (1, both()));
    // The trace alone, out of that envelope.
    let envelope: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&forged).unwrap()).unwrap();
    let alone = person.home().with_file_name("alone.json");
    std::fs::write(&alone, envelope["trace"].to_string()).unwrap();
    let (code, found) = noes(&person, &alone, &old);
    assert_eq!((code, found), (1, vec!["key_id".to_owned()]));
}

/// Of an erased exchange the fields that are not erased are compared all the same.
#[test]
fn an_invented_trace_of_an_erased_exchange_is_not_the_same() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    consents(&person, &["--past"]);
    let file = exported(&person, "full.json", &["last", "--level", "full_traces"]);
    person.gently(&["erase", "last", "--yes"]).exits(0);
    let key = own_key(&person);
    // The honest one can't be compared in full.
    let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!((code, named(&told[0], "no")), (0, Vec::new()));
    assert_eq!(told[0]["same"], "not checked");
    let forged = sealed(&person, &file, &key, |_, said| {
        put(
            said,
            "ACTION_RESULT",
            "execution_success",
            TraceValue::Flag(false),
        );
    });
    let (code, found) = noes(&person, &forged, &key);
    assert_eq!((code, found), (1, vec!["same".to_owned()]));
}

/// A consent is one to what was handed on: no export of it on record is none.
#[test]
fn a_trace_that_nobody_exported_has_no_consent() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("One?");
    consents(&person, &["--exchange", "last"]);
    let file = exported(&person, "full.json", &["last", "--level", "full_traces"]);
    let (_, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!(told[0]["consent"], "yes");
    person.gently(&["consent", "withdraw", "1"]).exits(0);
    let (_, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!(told[0]["consent"], "yes");
    consents(&person, &["--exchange", "last"]);
    let forged = sealed(&person, &file, &own_key(&person), |head, _| {
        head.consent = Some("consent:000002".to_owned());
    });
    let (code, found) = noes(&person, &forged, &own_key(&person));
    assert_eq!((code, found), (1, vec!["consent".to_owned()]));
}

/// What another person asked is not mine to hand on, in the prompt of my question either.
#[test]
fn a_prompt_shows_nobody_who_did_not_consent() {
    let (mut person, _server) = served(Behaviour::Good);
    person.ask("Mine?");
    let mine = std::fs::read_to_string(person.at("keys/auth.key")).unwrap();
    let bobs = person.gently(&["key", "add", "bob"]).exits(0).out;
    let conversation = person
        .gently(&["conversation", "list", "--json"])
        .exits(0)
        .json();
    let conversation = conversation["conversations"][0]["id"].clone();
    let conversation = conversation.as_str().unwrap().to_owned();
    person.set("GENTLY_AUTH_KEY", bobs.trim());
    person
        .gently(&[
            "ask",
            "--conversation",
            &conversation,
            "Bob's private verbena?",
        ])
        .exits(0);
    person.set("GENTLY_AUTH_KEY", mine.trim());
    person
        .gently(&["ask", "--conversation", &conversation, "Mine again?"])
        .exits(0);
    consents(&person, &["--past"]);
    let full = ["last", "--level", "full_traces"];
    let (file, ran) = export(&person, "full.json", &full);
    let ran = ran.exits(1);
    assert!(ran.err.contains("whose prompt shows"), "{}", ran.err);
    assert!(ran.err.contains("another auth key"), "{}", ran.err);
    assert!(!file.exists());
    person.set("GENTLY_AUTH_KEY", bobs.trim());
    consents(&person, &["--past"]);
    person.set("GENTLY_AUTH_KEY", mine.trim());
    let file = exported(&person, "full.json", &full);
    let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!((code, told[0]["consent"].as_str()), (0, "yes"));
}

/// A conversation is named by its title wherever traces and consents take one.
#[test]
fn a_title_names_a_conversation() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Where to in spring?");
    person
        .gently(&["conversation", "rename", "last", "Lisbon"])
        .exits(0);
    let given = person
        .gently(&[
            "consent",
            "give",
            "--purpose",
            "a study",
            "--conversation",
            "Lisbon",
        ])
        .exits(0);
    assert!(given.err.contains("--past"), "{}", given.err);
    let args = ["--conversation", "Lisbon", "--level", "full_traces"];
    let (_, ran) = export(&person, "titled.json", &args);
    ran.exits(1);
    consents(&person, &["--conversation", "Lisbon", "--past"]);
    let file = exported(&person, "titled.json", &args);
    let stranger = Person::new();
    let told = stranger
        .gently(&["trace", "verify", file.to_str().unwrap()])
        .exits(0)
        .out;
    assert!(told.contains("whose key that is nobody said"), "{told}");
}

/// What is erased while a file is made is in none.
#[tokio::test]
async fn what_is_erased_meanwhile_is_not_recorded_as_exported() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    consents(&person, &["--past"]);
    let (home, _) = home_at(&person.at("")).unwrap();
    let opened = OpenHome::open(home).unwrap();
    let key = opened.authorize().await.unwrap();
    let request = ExportRequest {
        selection: TraceSelection::All,
        trace: TraceRequest {
            level: TraceLevel::FullTraces,
            profile: TraceProfile::SevenComponents,
            withheld_too: false,
        },
        form: ExportForm::Envelope,
        with_proof: false,
    };
    let planned = plan(&opened, key, &request).await.unwrap();
    assert!(planned.text.contains("Anything?"));
    person.gently(&["erase", "last", "--yes"]).exits(0);
    match record(&opened, key, planned).await {
        Err(TraceExportError::NoConsent(why)) => assert_eq!(why, NoConsent::ErasedMeanwhile),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it is on record after it was erased"),
    }
    let log = person.log();
    assert!(!log.iter().any(|line| line.contains("kind:trace_export,")));
}

/// The record of what was handed on outlives the erasing of its words, and erasing names it.
#[test]
fn what_was_handed_on_is_said() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    consents(&person, &["--past"]);
    exported(&person, "generic.json", &["last", "--level", "generic"]);
    exported(&person, "full.json", &["last", "--level", "full_traces"]);
    person
        .gently(&["share", "last", "--yes", "--out", "shared.json"])
        .exits(0);
    let plan = person
        .gently(&["erase", "last", "--dry-run", "--json"])
        .exits(0)
        .json();
    let names: Vec<&str> = plan["handed_on"]
        .as_array()
        .unwrap_or_else(|| panic!("{plan}"))
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    assert!(
        names.contains(&"export-2") && !names.contains(&"export-1"),
        "{plan}"
    );
    assert!(
        names.iter().any(|name| name.starts_with("opening-")),
        "{plan}"
    );
    person.gently(&["erase", "export-2", "--yes"]).exits(0);
    let ran = person
        .gently(&["consent", "withdraw", "consent-1"])
        .exits(0);
    assert!(ran.err.contains("export-2"), "{}", ran.err);
    assert!(!ran.err.contains("nothing was exported"), "{}", ran.err);
}

/// A file for others takes the place of nothing that the home lives on.
#[test]
fn no_export_takes_the_place_of_the_home() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    for name in ["gently.db", "keys/signing.key", "audit.log", "new.jsonl"] {
        let place = person.at(name);
        let before = std::fs::read(&place).ok();
        let ran = person
            .gently(&[
                "trace",
                "export",
                "last",
                "--level",
                "generic",
                "--force",
                "--out",
                place.to_str().unwrap(),
            ])
            .exits(2);
        assert!(ran.err.contains("lies in the home"), "{}", ran.err);
        assert_eq!(std::fs::read(&place).ok(), before, "{name}");
    }
    person.gently(&["audit", "verify"]).exits(0);
}

/// Proofs of many: what is erased has none, and is said; by name it is refused, with nothing on record.
#[test]
fn what_is_erased_has_no_proof() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("One?");
    person.ask("Two?");
    person.gently(&["erase", "last", "--yes"]).exits(0);
    let lines = person.log().len();
    let (file, ran) = export(
        &person,
        "named.jsonl",
        &["last", "--level", "generic", "--with-proof"],
    );
    ran.exits(2);
    assert!(!file.exists());
    assert_eq!(person.log().len(), lines);
    let all = ["--all", "--level", "generic", "--with-proof"];
    let (file, ran) = export(&person, "all.jsonl", &all);
    let ran = ran.exits(0);
    assert!(
        ran.err.contains("without a proof: 1 exchange"),
        "{}",
        ran.err
    );
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("\"proof\":null").count(), 1);
    assert_eq!(answers(&person, file.to_str().unwrap(), &[]).0, 0);
}

/// One trace of which nothing could be checked is said with the exit code.
#[test]
fn a_file_holds_only_where_each_trace_was_looked_at() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("One?");
    let file = exported(
        &person,
        "alone.jsonl",
        &["last", "--level", "generic", "--as", "trace"],
    );
    let foreign = std::fs::read_to_string(&file).unwrap();
    let envelope = exported(&person, "own.jsonl", &["last", "--level", "generic"]);
    let both = std::fs::read_to_string(envelope).unwrap() + &foreign;
    let place = person.dir.path().join("both.jsonl");
    std::fs::write(&place, both).unwrap();
    let stranger = Person::new();
    let (code, told) = answers(&stranger, place.to_str().unwrap(), &[]);
    assert_eq!((code, told.len()), (2, 2));
    assert!(named(&told[1], "yes").is_empty());
    assert_eq!(answers(&person, place.to_str().unwrap(), &[]).0, 0);
}

/// Small files that unfold to much are refused before they do.
#[test]
fn a_file_of_empty_objects_is_refused() {
    let person = Person::new();
    let place = person.dir.path().join("objects.json");
    let objects = "{\"\":0},".repeat(600_000);
    std::fs::write(&place, format!("{{\"a\":[{objects}0]}}")).unwrap();
    let ran = person
        .gently(&["trace", "verify", place.to_str().unwrap()])
        .exits(2);
    assert!(ran.err.contains("more values"), "{}", ran.err);
}

/// Somebody takes the texts of an exchange away and says that they were never kept: the settings on
/// record kept them.
#[test]
fn texts_that_were_kept_are_not_called_unkept() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("What is the capital of France?");
    consents(&person, &["--past"]);
    let file = exported(&person, "full.json", &["last", "--level", "full_traces"]);
    let some = "lower(hex(randomblob(32)))";
    edit(
        &person,
        &format!(
            "UPDATE chat_turn SET content = NULL;
             UPDATE llm_exchange SET user_text_commitment = {some}, bundle_commitment = {some},
               compiled_prompt_commitment = {some}, request_commitment = {some}, context_bundle_json = NULL"
        ),
    );
    let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!((code, told[0]["same"].as_str()), (1, "no"), "{told:?}");
    let (place, refused) = export(&person, "again.json", &["last", "--level", "generic"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(!place.exists());
    let words = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("which were kept by the policy"), "{words}");
}

#[test]
fn a_consent_to_what_is_erased_covers_nothing() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("One?");
    person.ask("Two?");
    consents(&person, &["--exchange", "last"]);
    consents(&person, &["--thread", "last", "--past"]);
    consents(&person, &["--past"]);
    let covers = |expected: [bool; 3]| {
        let listed = person
            .gently(&["consent", "list", "--json"])
            .exits(0)
            .json();
        for (consent, nothing) in listed.as_array().unwrap().iter().zip(expected) {
            assert_eq!(consent["covers_nothing"], nothing, "{listed:#}");
        }
        let told = person.gently(&["consent", "list"]).exits(0).out;
        let said = told.matches("covers nothing any more").count();
        assert_eq!(
            said,
            expected.into_iter().filter(|nothing| *nothing).count()
        );
    };
    covers([false; 3]);
    person.gently(&["erase", "last", "--yes"]).exits(0);
    covers([true, false, false]);
    person
        .gently(&["conversation", "delete", "last", "--yes"])
        .exits(0);
    covers([true, true, false]);
}

#[test]
fn a_conversation_is_named_by_its_title_in_traces_and_threads_too() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("What is the capital of France?");
    person.ask("And of Spain?");
    person
        .gently(&["conversation", "rename", "last", "Of capitals"])
        .exits(0);
    person.gently(&["ask", "--new", "Something else?"]).exits(0);
    let file = exported(&person, "two.json", &["Of capitals", "--level", "generic"]);
    assert_eq!(answers(&person, file.to_str().unwrap(), &[]).1.len(), 2);
    let id = |args: &[&str]| person.gently(args).exits(0).json()["exchange"].clone();
    let second = id(&["trace", "show", "Of capitals", "--json"]);
    assert_eq!(second, id(&["trace", "show", "interaction-2", "--json"]));
    let shown = person.gently(&["thread", "show", "Of capitals"]).exits(0);
    assert!(shown.out.contains("capital of France"), "{shown:?}");
    assert!(!shown.out.contains("Something else"), "{shown:?}");
    let unknown = person.gently(&["thread", "show", "Of nothing"]).exits(2);
    assert!(unknown.err.contains("gently thread list"), "{unknown:?}");
}
