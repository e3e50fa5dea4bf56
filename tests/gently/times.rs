//! Times and heights that don't fit: lying explorers, ones that contradict each other, clocks that
//! are wrong, and a cache that holds a lie. None of them gets into the ledger, and a home that met
//! one goes on.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use serde_json::json;

use crate::clock::time_of;
use crate::esplora_server::{Chain, EsploraServer};
use crate::person::{Person, Ran};

const TIP: u32 = 829_619;

fn chain(tip: u32) -> Chain {
    Chain::real(829_604..=tip)
}

/// A real block, said to be at another height.
fn moved(chain: Chain, height: u32, to: u32) -> Chain {
    let real = Chain::real(height..=height);
    let (hash, header) = real.block(height);
    chain.with(to, hash, header)
}

/// Somebody who lives ten minutes after the newest block, and has these explorers.
fn person(explorers: &[&EsploraServer]) -> Person {
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
        ("GENTLY_ANCHOR_LOOK_AGAIN_S", "0"),
    ]);
    asks(&mut person, explorers);
    person.lives_after(TIP);
    person
}

fn asks(person: &mut Person, explorers: &[&EsploraServer]) {
    let urls: Vec<&str> = explorers.iter().map(|explorer| explorer.url()).collect();
    person.set("GENTLY_ANCHOR_ESPLORA", &json!(urls).to_string());
}

#[track_caller]
fn is_at(told: &Ran, height: u32) {
    assert!(told.err.contains(&format!("block {height}\n")), "{told:#?}");
}

#[track_caller]
fn is_sound(person: &Person) {
    let report = person.verified();
    assert_eq!(
        (&report["answers"]["consistent"], &report["findings"]),
        (&json!("yes"), &json!([])),
        "{report:#}"
    );
}

#[test]
fn a_real_block_at_another_height_does_not_break_a_home() {
    // Three blocks higher is within every bound: without headers nobody can tell.
    let liar = EsploraServer::start(moved(chain(TIP - 2), TIP - 1, TIP + 2));
    let mut person = person(&[&liar]);
    is_at(&person.ask("one"), TIP + 2);
    person.gently(&["session", "close"]).exits(0);
    is_sound(&person);
    // The honest one has the same block where it is. This ledger can't name it there, so it waits
    // for a newer one.
    let honest = EsploraServer::start(chain(TIP - 1));
    asks(&mut person, &[&honest]);
    let told = person.ask("two");
    assert!(
        told.err
            .contains("no block: the source's answer was refused\n"),
        "{told:#?}"
    );
    // With -v it is said which, and programs get the same.
    let told_more = person.gently(&["ask", "-v", "two"]).exits(0);
    let host = honest.url().trim_start_matches("http://").to_owned();
    let which = format!(" · no block: {host} gave a false answer\n");
    assert!(told_more.err.contains(&which), "{told_more:#?}");
    let lack = person.gently(&["ask", "--json", "two"]).exits(0).json()["no_block"].clone();
    assert_eq!(
        lack,
        json!({
            "reason": "refused",
            "says": "the source's answer was refused",
            "why": format!("{host} gave a false answer"),
        })
    );
    let said = told
        .err
        .lines()
        .find(|line| line.starts_with("block source dropped: "))
        .unwrap();
    for part in [
        honest.url(),
        &format!("at height {}", TIP - 1),
        &format!("this ledger has it at {}", TIP + 2),
    ] {
        assert!(said.contains(part), "{said}");
    }
    let status = person.gently(&["anchor", "status"]).exits(1);
    assert!(status.out.contains("LIES"), "{status:#?}");
    person.gently(&["session", "close"]).exits(0);
    is_sound(&person);
    honest.set_chain(chain(TIP));
    is_at(&person.ask("three"), TIP);
    person
        .gently(&["note", "add", "a line outside sessions"])
        .exits(0);
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["audit", "stamp"]);
    is_sound(&person);
    assert_eq!(person.gently(&["audit", "rebuild"]).exits(0).err, "");
}

#[test]
fn two_that_contradict_each_other_on_a_block_are_both_dropped() {
    let honest = EsploraServer::start(chain(TIP));
    let liar = EsploraServer::start(moved(chain(TIP - 1), TIP, TIP + 4));
    let third = EsploraServer::start(chain(TIP - 1));
    for quorum in ["auto", "1", "2"] {
        let mut two = person(&[&honest, &liar]);
        two.set("GENTLY_ANCHOR_QUORUM", quorum);
        let told = two.ask("one");
        let named: Vec<&str> = told
            .err
            .lines()
            .filter(|line| line.starts_with("block source dropped: "))
            .collect();
        assert_eq!(named.len(), 2, "{told:#?}");
        assert!(
            named[0].contains(honest.url()) && named[1].contains(liar.url()),
            "{named:?}"
        );
        assert!(
            named
                .iter()
                .all(|line| line.contains(Chain::real(TIP..=TIP).block(TIP).0)),
            "{named:?}"
        );
        assert!(
            told.err
                .contains("no block: the sources' answers were refused\n"),
            "{told:#?}"
        );
        is_sound(&two);
    }
    // A third is believed: who is contradicted was asked, and counts for nobody.
    is_at(&person(&[&honest, &liar, &third]).ask("one"), TIP - 1);
}

#[test]
fn of_several_that_answer_only_what_all_of_them_have_counts() {
    let (newest, behind) = (
        EsploraServer::start(chain(TIP)),
        EsploraServer::start(chain(TIP - 3)),
    );
    let two = person(&[&newest, &behind]);
    is_at(&two.ask("one"), TIP - 3);
    let status = two.gently(&["anchor", "status", "--json"]).exits(0).json();
    assert_eq!(
        (&status["quorum"], &status["block"]["height"]),
        (&json!("auto"), &json!(TIP - 3))
    );
    // One that answers alone is enough; one that answers and has no block there is not left out.
    let alone = person(&[&newest]);
    is_at(&alone.ask("one"), TIP);
    let hole = EsploraServer::start(Chain::real(TIP..=TIP));
    let told = person(&[&behind, &hole]).ask("one");
    assert!(
        told.err.contains(&format!(
            "not every source that answered has block {}",
            TIP - 3
        )),
        "{told:#?}"
    );
    assert!(
        told.err
            .contains("no block: too few sources agree on one\n"),
        "{told:#?}"
    );
    let wrong = alone.gently(&["config", "set", "anchor.quorum", "all"]);
    assert!(
        wrong.code != 0 && wrong.err.contains("\"auto\", or a whole number from 1 to"),
        "{wrong:#?}"
    );
}

#[test]
fn a_clock_that_is_slow_is_named_and_nothing_is_written() {
    let explorer = EsploraServer::start(chain(TIP));
    let mut person = person(&[&explorer]);
    person.lives_at(time_of(TIP) - 8_000);
    let told = person.gently(&["ask", "one"]).exits(3);
    assert!(
        told.err.contains("the clock says") && told.err.contains("timedatectl"),
        "{told:#?}"
    );
    assert!(
        person
            .log()
            .iter()
            .all(|line| !line.contains("|session_start|")),
        "{:#?}",
        person.log()
    );
    // Within what clocks may be apart.
    person.lives_at(time_of(TIP) - 7_000);
    is_at(&person.ask("one"), TIP);
    person.gently(&["session", "close"]).exits(0);
    is_sound(&person);
}

#[test]
fn a_source_that_is_a_day_behind_the_clock_is_dropped_and_a_file_is_not() {
    let explorer = EsploraServer::start(chain(TIP));
    let mut person = person(&[&explorer]);
    person.lives_at(time_of(TIP) + 24 * 3_600 + 600);
    let told = person.ask("one");
    let said = told
        .err
        .lines()
        .find(|line| line.starts_with("block source dropped: "))
        .unwrap();
    assert!(
        said.contains(explorer.url()) && said.contains("more than a day behind"),
        "{said}"
    );
    assert!(
        told.err
            .contains("no block: the source's answer was refused\n"),
        "{told:#?}"
    );
    person.gently(&["session", "close"]).exits(0);
    // A file of headers is what its owner put there; it holds no fresh explorer back.
    let file = person.headers(829_604..=829_605);
    person.set("GENTLY_ANCHOR_HEADERS", file.to_str().unwrap());
    is_at(&person.ask("two"), 829_605);
    person.gently(&["session", "close"]).exits(0);
    is_sound(&person);
    let mut fresh = person;
    fresh.lives_at(time_of(TIP) + 23 * 3_600);
    std::fs::remove_dir_all(fresh.home()).unwrap();
    is_at(&fresh.ask("three"), TIP);
    // An early block costs nothing today, whatever height it is said to be at.
    let old = EsploraServer::start(Chain::real(0..=2));
    fresh.unset("GENTLY_ANCHOR_HEADERS");
    asks(&mut fresh, &[&old]);
    let told = fresh.gently(&["anchor", "status"]).exits(1);
    assert!(
        told.out.contains("less than a sixteenth of the work"),
        "{told:#?}"
    );
}

#[test]
fn a_lie_in_the_cache_of_blocks_stops_nobody_and_heals() {
    let explorer = EsploraServer::start(chain(TIP));
    let person = person(&[&explorer]);
    person.gently(&["init"]).exits(0);
    let real = chain(TIP);
    let (hash, header) = real.block(TIP);
    let open = || rusqlite::Connection::open(person.at("gently.db")).unwrap();
    let kept = || -> Vec<(u32, String)> {
        let db = open();
        let mut rows = db
            .prepare("SELECT height, header FROM block WHERE hash = ?1 ORDER BY height")
            .unwrap();
        rows.query_map([hash], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    let document = json!({"hash": hash, "height": TIP + 7, "network": "bitcoin", "source": "esplora",
        "time": time_of(TIP)});
    let sql = "INSERT INTO block VALUES (?1, ?2, ?3, ?4)";
    open()
        .execute(
            sql,
            rusqlite::params![hash, TIP + 7, header, document.to_string()],
        )
        .unwrap();
    is_at(&person.ask("one"), TIP);
    assert_eq!(kept(), [(TIP, header.to_owned())]);
    is_sound(&person);
    // A row that was changed, and one that is gone: neither is evidence, and both come back with
    // the next line.
    open()
        .execute("UPDATE block SET header = ?1", [real.block(TIP - 1).1])
        .unwrap();
    is_sound(&person);
    person.gently(&["session", "close"]).exits(0);
    assert_eq!(kept(), [(TIP, header.to_owned())]);
    open().execute("DELETE FROM block", []).unwrap();
    is_at(&person.ask("two"), TIP);
    person.gently(&["session", "close"]).exits(0);
    assert_eq!(kept().len(), 1);
    is_sound(&person);
}
