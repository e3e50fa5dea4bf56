//! `gently assertion report`, `gently specialist report`, the view of assertions, and what an answer was
//! worth: counted from the record, with nothing where nothing is known.

use gently::govern::kernel::{GENESIS_KERNEL, Kernel};
use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::opening::served;
use crate::person::Person;
use crate::unguarded::{found_and_made_again, unguarded};

const VISA: &str = "Which visa do I need at the court?";

/// Somebody who asked two specialists, one of whom claimed an act, and a model by its own name.
fn with_runs() -> (Person, ModelServer) {
    let (person, server) = served(Behaviour::Says("I've restarted nginx.".to_owned()));
    person.gently(&["init"]).exits(0);
    for args in [
        &["domain", "add", "law", "--words", "visas, courts"][..],
        &[
            "specialist",
            "add",
            "lawyer",
            "-m",
            "openai/law-1b",
            "--domains",
            "law",
        ],
        &["specialist", "add", "swe", "-m", "openai/code-1b"],
        &["specialist", "add", "idle", "-m", "openai/idle-1b"],
    ] {
        person.gently(args).exits(0);
    }
    person
        .gently(&["ask", "--specialist", "lawyer", VISA])
        .exits(0);
    person.gently(&["rate", "last", "good"]).exits(0);
    person
        .gently(&["ask", "--specialist", "swe", VISA])
        .exits(0);
    person
        .gently(&["ask", "-m", "openai/plain-1b", "Hello"])
        .exits(0);
    (person, server)
}

fn report(person: &Person, args: &[&str]) -> Value {
    let all = [&["assertion", "report", "--json"], args].concat();
    person.gently(&all).exits(0).json()
}

fn specialists(person: &Person, args: &[&str]) -> Value {
    let all = [&["specialist", "report", "--json"], args].concat();
    person.gently(&all).exits(0).json()
}

/// The part of a model.
fn of<'a>(report: &'a Value, model: &str) -> &'a Value {
    let parts = report["parts"].as_array().unwrap();
    let found = parts.iter().find(|part| part["model"] == model);
    found.unwrap_or_else(|| panic!("{model}: {report:#}"))
}

#[test]
fn checks_add_up_however_they_are_told_apart() {
    let (person, _server) = with_runs();
    let whole = report(&person, &[]);
    assert_eq!(whole["by"], "name");
    assert!(whole["made"].as_u64() > Some(3), "{whole:#}");
    let name = |name: &str| {
        let groups = whole["groups"].as_array().unwrap();
        groups.iter().find(|group| group["key"] == name).cloned()
    };
    let claimed = name("authority.claimed_side_effect").unwrap();
    assert_eq!(
        (
            &claimed["made"],
            &claimed["passed"],
            &claimed["failed_soft"]
        ),
        (&json!(3), &json!(0), &json!(3))
    );
    assert_eq!(
        (&claimed["passed_share"], &claimed["bonus"]),
        (&json!(0), &json!(-150))
    );
    for by in ["name", "specialist", "domain"] {
        let told = report(&person, &["--by", by]);
        let groups = told["groups"].as_array().unwrap();
        for what in [
            "made",
            "passed",
            "failed_info",
            "failed_soft",
            "failed_blocking",
        ] {
            let sum: u64 = groups
                .iter()
                .map(|group| group[what].as_u64().unwrap())
                .sum();
            assert_eq!(whole[what], sum, "{by}, {what}");
        }
        let bonus: i64 = groups
            .iter()
            .map(|group| group["bonus"].as_i64().unwrap())
            .sum();
        assert_eq!(whole["bonus"], bonus, "{by}");
        let ended = ["passed", "failed_info", "failed_soft", "failed_blocking"];
        let ended: u64 = ended.iter().map(|what| told[what].as_u64().unwrap()).sum();
        assert_eq!(told["made"], ended, "{by}");
    }
    let by_specialist = report(&person, &["--by", "specialist"]);
    let keys: Vec<(&Value, &Value)> = by_specialist["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (&group["key"], &group["name"]))
        .collect();
    assert_eq!(
        keys,
        [
            (&Value::Null, &Value::Null),
            (&json!("specialist:000001"), &json!("lawyer")),
            (&json!("specialist:000002"), &json!("swe")),
        ]
    );
    let by_domain = report(&person, &["--by", "domain"]);
    let keys: Vec<&Value> = by_domain["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| &group["key"])
        .collect();
    assert_eq!(keys, [&Value::Null, &json!("law")]);
    let screen = person
        .gently(&["assertion", "report", "--by", "domain"])
        .exits(0)
        .out;
    assert!(
        screen.contains("(not rated, so of no domain)\n") && screen.contains("\nlaw\n"),
        "{screen}"
    );
}

#[test]
fn sums_that_somebody_put_there_are_found_and_taken_away() {
    let (person, _server) = with_runs();
    let whole = report(&person, &[]);
    let lied = "INSERT INTO check_total SELECT 0, kernel_hash, '', 'authority.made_up', 'soft', 1, 1000 FROM kernel";
    found_and_made_again(
        &person,
        &[lied, "INSERT INTO check_part (part, oldest) VALUES (0, 1)"],
    );
    let left = "SELECT (SELECT count(*) FROM check_part) + (SELECT count(*) FROM check_total)";
    let left: u32 = person
        .database()
        .query_row(left, [], |row| row.get(0))
        .unwrap();
    assert_eq!((left, report(&person, &[])), (0, whole));
}

#[test]
fn an_empty_selection_says_so_and_what_is_no_selection_is_refused() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    for (args, said) in [
        (&["assertion", "report"][..], "no reply was checked"),
        (
            &["specialist", "report"],
            "nothing was asked, and no answer rated",
        ),
        (
            &["specialist", "report", "--since", "2h"],
            "nothing was asked since 20",
        ),
    ] {
        let ran = person.gently(args).exits(1);
        assert!(ran.err.contains(said) && ran.out.is_empty(), "{ran:#?}");
    }
    let none = person
        .gently(&["assertion", "report", "--json"])
        .exits(1)
        .json();
    assert_eq!(
        (
            &none["made"],
            &none["passed_share"],
            &none["bonus"],
            &none["groups"]
        ),
        (&json!(0), &Value::Null, &Value::Null, &json!([]))
    );
    let ran = person
        .gently(&["specialist", "report", "--svg", "none.svg"])
        .exits(1);
    assert!(!person.dir.path().join("none.svg").exists(), "{ran:?}");
    for (args, said) in [
        (&["assertion", "report", "--by", "colour"][..], "colour"),
        (
            &["assertion", "report", "--since", "9999-01-01"],
            "lies ahead",
        ),
        (&["assertion", "report", "--since", "soon"], "--since takes"),
        (
            &["specialist", "report", "--since", "9999-01-01"],
            "lies ahead",
        ),
    ] {
        let ran = person.gently(args).exits(2);
        assert!(ran.err.contains(said), "{ran:#?}");
    }
}

#[test]
fn what_came_of_each_specialist_is_counted() {
    let (person, _server) = with_runs();
    let told = specialists(&person, &[]);
    let lawyer = of(&told, "openai/law-1b");
    assert_eq!(
        (&lawyer["specialist"], &lawyer["name"], &lawyer["bound"]),
        (&json!("specialist:000001"), &json!("lawyer"), &json!(true))
    );
    assert_eq!(
        (
            &lawyer["questions"],
            &lawyer["answers"],
            &lawyer["good"],
            &lawyer["bad"]
        ),
        (&json!(1), &json!(1), &json!(1), &json!(0))
    );
    // (1000 + 10 · 650) / 11
    assert_eq!(
        (&lawyer["expected"], &lawyer["basis"]),
        (&json!(681), &json!("ratings"))
    );
    assert_eq!(
        lawyer["domains"],
        json!([{"domain": "law", "good": 1, "rated": 1, "expected": 681}])
    );
    assert!(lawyer["median_model_ms"].is_u64(), "{lawyer:#}");
    assert!(
        lawyer["drift"]["authority"].as_u64() >= Some(1),
        "{lawyer:#}"
    );
    assert_eq!(
        (&lawyer["won"], &lawyer["welfare"]),
        (&Value::Null, &Value::Null)
    );
    assert!(lawyer["won_why_not"].is_string() && lawyer["welfare_why_not"].is_string());
    let swe = of(&told, "openai/code-1b");
    assert_eq!(
        (&swe["expected"], &swe["basis"]),
        (&json!(650), &json!("prior"))
    );
    let idle = of(&told, "openai/idle-1b");
    assert_eq!(
        (
            &idle["questions"],
            &idle["median_model_ms"],
            &idle["prompt_tokens"]
        ),
        (&json!(0), &Value::Null, &Value::Null)
    );
    let plain = of(&told, "openai/plain-1b");
    assert_eq!(
        (&plain["specialist"], &plain["expected"], &plain["basis"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    // What a specialist is bound to stands first; what it was bound to before stays.
    person
        .gently(&["specialist", "promote", "lawyer", "--to", "openai/law-2b"])
        .exits(0);
    let told = specialists(&person, &[]);
    assert_eq!(told["parts"][0]["model"], "openai/law-2b");
    assert_eq!(of(&told, "openai/law-1b")["bound"], false);
    assert_eq!(
        (
            &told["promotions"][0]["event"],
            &told["promotions"][0]["name"]
        ),
        (&json!("promote"), &json!("lawyer"))
    );
    assert_eq!(told["utilities"][0]["values"], json!([681]));
    let screen = person.gently(&["specialist", "report"]).exits(0).out;
    for line in [
        "specialist-1  lawyer  openai/law-2b\n",
        "specialist-1  lawyer  openai/law-1b  (retired, or bound to another model)\n",
        "    rated     1 good, 0 bad\n    expected  0.681 of 1 (law 0.681)\n",
        "    expected  0.650 of 1: nothing of it is rated yet, and all begin with that\n",
        "openai/plain-1b  (asked by its own name)\n",
    ] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    // Together they are what gently stats counts.
    let stats = person.gently(&["stats", "--json"]).exits(0).json();
    let sum = told["parts"].as_array().unwrap().iter();
    let sum: u64 = sum.map(|part| part["questions"].as_u64().unwrap()).sum();
    assert_eq!(stats["questions"], sum);
}

#[test]
fn since_leaves_out_what_is_older_and_expects_by_all_of_it() {
    let (person, _server) = with_runs();
    unguarded(person.at("gently.db"))
        .execute(
            "UPDATE llm_exchange SET created_at = created_at - 3 * 86400 WHERE model = 'openai/law-1b'",
            [],
        )
        .unwrap();
    let told = specialists(&person, &["--since", "2d"]);
    let lawyer = of(&told, "openai/law-1b");
    assert_eq!(
        (&lawyer["questions"], &lawyer["expected"]),
        (&json!(0), &json!(681))
    );
    assert_eq!(of(&told, "openai/code-1b")["questions"], 1);
    let checks = |args: &[&str]| report(&person, args)["made"].as_u64().unwrap();
    assert!(checks(&["--since", "2d"]) < checks(&[]));
}

#[test]
fn a_picture_shows_what_was_expected_with_the_promotions() {
    let (person, _server) = with_runs();
    person
        .gently(&["specialist", "promote", "lawyer", "--to", "openai/law-2b"])
        .exits(0);
    let ran = person
        .gently(&["specialist", "report", "--svg", "report.svg"])
        .exits(0);
    assert!(ran.err.contains("drawn into report.svg"), "{ran:?}");
    let svg = std::fs::read_to_string(person.dir.path().join("report.svg")).unwrap();
    for text in [
        "expected utility, thousandths",
        "lawyer (openai/law-1b)",
        "lawyer to openai/law-2b",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let inside = person.home().join("report.svg");
    for (file, said) in [
        (
            "report.svg",
            "exists, and is not written over; name a new file with --svg",
        ),
        ("-", "--svg -"),
        ("no/report.svg", "there is no folder no"),
        (inside.to_str().unwrap(), "lies in the home"),
    ] {
        let ran = person
            .gently(&["specialist", "report", "--svg", file])
            .exits(2);
        assert!(ran.err.replace("\n  ", " ").contains(said), "{ran:?}");
    }
    assert!(!inside.exists());
}

#[test]
fn hostile_names_are_spelled_out_on_the_screen() {
    let (person, _server) = with_runs();
    let database = unguarded(person.at("gently.db"));
    for sql in [
        "UPDATE llm_exchange SET model = 'openai/' || char(27) || '[2J' || char(8238) || 'x' WHERE model = 'openai/plain-1b'",
        "UPDATE rating SET domain = 'law' || char(27) || '[31m' || char(10) || 'expected 1.000'",
        "UPDATE assertion_event SET name = 'tone.' || char(27) || ']0;x' WHERE name LIKE 'authority.%'",
    ] {
        assert!(database.execute(sql, []).unwrap() > 0, "{sql}");
    }
    for args in [
        &["specialist", "report"][..],
        &["assertion", "report"],
        &["assertion", "report", "--by", "domain"],
        &["specialist", "report", "--svg", "hostile.svg"],
    ] {
        let ran = person.gently(args).exits(0);
        assert!(
            !ran.out.contains('\u{1b}') && !ran.out.contains('\u{202e}'),
            "{ran:?}"
        );
        assert!(!ran.out.contains("\nexpected 1.000"), "{ran:?}");
    }
    let svg = std::fs::read_to_string(person.dir.path().join("hostile.svg")).unwrap();
    assert!(!svg.contains('\u{1b}'), "{svg}");
}

#[test]
fn the_view_gives_each_check_the_worth_that_the_kernel_says() {
    let (person, _server) = with_runs();
    let kernel = person.dir.path().join("other.toml");
    let other = GENESIS_KERNEL
        .replacen("soft = -50", "soft = -77", 1)
        .replacen("passed = 0", "passed = 9", 1);
    std::fs::write(&kernel, other).unwrap();
    person
        .gently(&["kernel", "set", kernel.to_str().unwrap()])
        .exits(0);
    person
        .gently(&["ask", "--specialist", "lawyer", "--new", VISA])
        .exits(0);
    // A kernel from before utilities has the shipped ones.
    let old = include_str!("../data/kernels/0.1.0.json");
    let database = unguarded(person.at("gently.db"));
    let held = |database: &rusqlite::Connection| -> Vec<(String, String, bool, Option<f64>)> {
        let sql = "SELECT k.document, v.level, v.passed, v.bonus_applied FROM assertion_events v
                     JOIN kernel k ON k.kernel_hash = v.policy_name ORDER BY v.line, v.assertion_name";
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    let agree = |rows: &[(String, String, bool, Option<f64>)]| {
        for (document, level, passed, bonus) in rows {
            let kernel = Kernel::from_canonical(document);
            let worth = kernel
                .ok()
                .map(|kernel| kernel.utility().bonus(level, *passed));
            let found = bonus.map(|bonus| (bonus * 1000.0).round() as i64);
            assert_eq!(found, worth, "{level} {passed}: {document}");
        }
    };
    let rows = held(&database);
    agree(&rows);
    assert!(rows.iter().any(|row| row.3 == Some(-0.077)), "{rows:?}");
    assert!(
        rows.iter().any(|row| row.3 == Some(-0.05)) && rows.iter().any(|row| row.3 == Some(0.009))
    );
    // Each level and outcome, under a kernel of each kind.
    for level in ["info", "soft", "blocking"] {
        for passed in [0, 1] {
            database
                .execute(
                    "UPDATE assertion_event SET level = ?1, passed = ?2",
                    rusqlite::params![level, passed],
                )
                .unwrap();
            for document in [old, ""] {
                database
                    .execute(
                        "UPDATE kernel SET document = ?1 WHERE document NOT LIKE '%-77%'",
                        [document],
                    )
                    .unwrap();
                let rows = held(&database);
                agree(&rows);
                let lost = rows.iter().filter(|row| row.3.is_none()).count();
                assert_eq!(lost > 0, document.is_empty(), "{level} {passed}");
                // What a lost kernel said is no zero in a sum.
                let bonus = &report(&person, &[])["bonus"];
                assert_eq!(bonus.is_null(), document.is_empty(), "{bonus}");
            }
        }
    }
    let count = |sql: &str| -> u32 { database.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(
        count("SELECT count(*) FROM assertion_events"),
        count("SELECT count(*) FROM assertion_event")
    );
    assert_eq!(
        count("SELECT count(*) FROM assertion_events WHERE domain = 'law' AND specialist IS NULL"),
        0
    );
    assert!(count("SELECT count(*) FROM assertion_events WHERE domain = 'law'") > 0);
    assert_eq!(
        count(
            "SELECT count(*) FROM assertion_events WHERE latency_ms IS NOT NULL OR retries_used IS NOT NULL"
        ),
        0
    );
}

#[test]
fn what_an_answer_was_worth_follows_from_ratings_and_checks() {
    let (person, _server) = with_runs();
    let worth =
        |id: &str| person.gently(&["show", id, "--json"]).exits(0).json()["utility"].clone();
    // The newest is of a model by its own name, the one before of a specialist of whom nothing is known,
    // the first of one that was rated.
    let plain = worth("last");
    assert_eq!(plain["score"], Value::Null);
    assert!(
        plain["why_not"]
            .as_str()
            .unwrap()
            .contains("by its own name"),
        "{plain}"
    );
    let exchange = |model: &str| -> String {
        let sql = "SELECT exchange_id FROM llm_exchange WHERE model = ?1";
        person
            .database()
            .query_row(sql, [model], |row| row.get(0))
            .unwrap()
    };
    let (swe, lawyer) = (exchange("openai/code-1b"), exchange("openai/law-1b"));
    let told = worth(&swe);
    assert_eq!(
        told,
        json!({"score": 600, "domain": "law", "expected": 650, "bonus": -50, "why_not": null})
    );
    assert_eq!(worth(&lawyer)["score"], 631);
    let screen = person.gently(&["show", &lawyer, "--full"]).exits(0).out;
    assert!(
        screen.contains("    0.631 of 1: 0.681 is expected in law, its checks add -0.050\n"),
        "{screen}"
    );
    // Without question and rating nobody knows what it was of.
    person.gently(&["erase", &swe, "--yes"]).exits(0);
    assert!(
        worth(&swe)["why_not"]
            .as_str()
            .unwrap()
            .contains("can't be seen any more")
    );
    person.gently(&["erase", &lawyer, "--yes"]).exits(0);
    assert_eq!(worth(&lawyer)["domain"], "law");
}

/// A million exchanges more of seven models and twenty specialists, one in ten of them rated: as copies
/// of rows that are there, with bundles and requests of a usual size.
const A_MILLION: &str = "
    CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i FROM n;
    CREATE TEMP TABLE one AS SELECT * FROM llm_exchange WHERE outcome = 'answered' LIMIT 1;
    UPDATE one SET context_bundle_json = hex(randomblob(600)), request = hex(randomblob(100));
    INSERT INTO llm_exchange (exchange_id, session_id, turn_user_id, context_bundle_json, created_at, seq, model, decision,
        authority_state, exclusions, outcome, refusal, answered_at, prompt_tokens, completion_tokens, params, request,
        cost_micro, cost_currency, prompt_commitment, prompt_line, outcome_line)
      SELECT printf('%08x-0000-8000-8000-%012x', (i * 2654435761) & 4294967295, i), session_id, turn_user_id,
        context_bundle_json, created_at + i / 10, 1000 + i, 'openai/small-' || (i % 7), decision, authority_state, exclusions,
        outcome, i % 50 = 0, answered_at + i / 10, 400, 100, params, request, 120, 'USD', prompt_commitment,
        1000000 + i * 3, 1000001 + i * 3 FROM n CROSS JOIN one ORDER BY i;
    INSERT INTO exchange_measure (line, exchange_id, program, door, depth, sources, same_pairs, is_in_conflict, compile_ms,
        first_byte_ms, model_ms, judge_ms, trace_mapping, trace_commitment, trace_key, specialist, domain_alignment)
      SELECT prompt_line, exchange_id, 'gently', 'ask', 1, 2, 0, 0, 10, 300, 500 + (prompt_line * 7919) % 20000, 3, 'gently.trace/2',
        hex(randomblob(32)), randomblob(32), printf('specialist:%06d', prompt_line / 3 % 20 + 1), 500
        FROM llm_exchange WHERE prompt_line >= 1000000 ORDER BY prompt_line;
    INSERT INTO drift_event SELECT hex(randomblob(16)), 'DRIFTWATCH', exchange_id, 'evidence', 'low', '', '', 'unsourced n=1',
        created_at FROM llm_exchange WHERE prompt_line >= 1000000 AND prompt_line % 20 = 0;
    INSERT INTO rating SELECT prompt_line + 2, exchange_id, printf('%064d', 0), printf('specialist:%06d', prompt_line / 3 % 20 + 1),
        model, 'law', CASE prompt_line % 3 WHEN 0 THEN 'bad' ELSE 'good' END
        FROM llm_exchange WHERE prompt_line >= 1000000 AND prompt_line % 10 = 0;
    INSERT INTO assertion_event SELECT prompt_line, name, e.exchange_id, hex(randomblob(16)), 'soft', prompt_line % 20 <> 0, e.created_at
        FROM llm_exchange e CROSS JOIN (SELECT DISTINCT name FROM assertion_event) WHERE prompt_line >= 1000000;
    INSERT INTO check_part SELECT prompt_line >> 15 AS part, min(created_at) FROM llm_exchange GROUP BY 1
        HAVING part + 1 < (SELECT max(prompt_line) >> 15 FROM llm_exchange);
    INSERT INTO check_total SELECT a.line >> 15, s.kernel_hash, ifnull(m.specialist, ''), a.name, a.level, a.passed, count(*)
        FROM assertion_event a JOIN llm_exchange e ON e.prompt_line = a.line JOIN chat_session s ON s.session_id = e.session_id
        LEFT JOIN exchange_measure m ON m.line = a.line WHERE a.line >> 15 IN (SELECT part FROM check_part)
        GROUP BY 1, 2, 3, 4, 5, 6;";

/// What a million answers take.
#[test]
#[ignore = "makes a database of some gigabytes: scripts/bench.sh reports runs it"]
fn a_million_answers_are_counted() {
    let (person, _server) = with_runs();
    unguarded(person.at("gently.db"))
        .execute_batch(A_MILLION)
        .unwrap();
    for args in [
        &["specialist", "report"][..],
        &["assertion", "report"],
        &["assertion", "report", "--by", "specialist"],
        &["assertion", "report", "--by", "domain"],
        &["stats"],
    ] {
        for _ in 0..3 {
            let begun = std::time::Instant::now();
            let ran = person.gently(args).exits(0);
            assert!(ran.out.len() > 100, "{ran:?}");
            eprintln!("{args:?}: {:.2} s", begun.elapsed().as_secs_f64());
        }
    }
}
