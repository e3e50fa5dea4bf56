//! One store story, told to any database behind the driver.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use gently::record::bitcoin::block::{Anchor, Network};
use gently::record::exchange::ExchangeOutcome;
use gently::record::hash::Hash32;
use gently::record::ledger::commit::{CommitKind, MAIN};
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::documents::AuthorityState;
use gently::record::time::Seconds;
use gently::store::{
    AppliedMark, ArtifactFilter, ArtifactRefRow, ArtifactRow, AssertionRow, AuthKeyRow, CommitRow,
    DriftRow, ExchangeRow, KernelRow, LedgerHead, OutcomeUpdate, ReadStore, SessionRow, Store,
    StoreError, TurnRow, WriteStore,
};
use uuid::Uuid;

use crate::recorder::{anchor, at};

fn hash(name: &str) -> Hash32 {
    Hash32::digest(name.as_bytes())
}

/// A text whose beginning is the hash it is stored with, as every line's is.
fn line(n: u64, words: &str) -> String {
    format!("{}|{words}", hash(&format!("line {n}")))
}

fn uuid(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn signer() -> gently::record::signature::PublicKey {
    gently::keys::SigningKey::from_seed(&[7; 32]).public()
}

fn head() -> LedgerHead {
    LedgerHead {
        signer: signer(),
        lines: 0,
        hash: Hash32::GENESIS,
        time: Seconds::ZERO,
        height: 0,
        bytes: 0,
        frontier: vec![1, 2, 3],
        commits: 0,
        segment_lines: 0,
        segment_bytes: 0,
        segment_at: at(0),
        last_branch: None,
        checkpoint: None,
        applied: AppliedMark::default(),
        boot: None,
    }
}

/// The head after three lines and two commits.
fn moved() -> LedgerHead {
    LedgerHead {
        lines: 3,
        hash: hash("line 2"),
        time: at(9),
        height: 829_604,
        bytes: 17,
        frontier: vec![4; 70],
        commits: 2,
        segment_lines: 1,
        segment_bytes: 6,
        segment_at: at(8),
        last_branch: Some("branch-7".to_owned()),
        checkpoint: Some("a tree head".to_owned()),
        ..head()
    }
}

fn session() -> SessionRow {
    SessionRow {
        uuid: uuid(1),
        id: hash("session"),
        started_at: at(1),
        ended_at: None,
        phase: "genesis".to_owned(),
        tier: 2,
        kernel_hash: hash("kernel"),
        host_role: "brain".to_owned(),
        model: "observer".to_owned(),
        auth_key_hash: hash("key"),
        branch: "branch-7".to_owned(),
        anchor: anchor(829_604),
        prompts: 2,
        interactions: 1,
        chain_head: hash("chain"),
        last_at: at(2),
    }
}

fn turn(n: u128, by_user: bool) -> TurnRow {
    let content = format!("text {n} with 'quotes', é and \u{0} inside");
    TurnRow {
        turn_id: uuid(n),
        line: 1,
        session: uuid(1),
        created_at: at(3),
        by_user,
        content_hash: Some(hash(&content)),
        content: Some(content),
        refusal: !by_user,
        authority_state: AuthorityState::Insufficient,
        driftwatch_id: (!by_user).then(|| "drift-1".to_owned()),
    }
}

fn exchange(n: u128, seq: u64) -> ExchangeRow {
    ExchangeRow {
        request: None,
        params: Some("{}".to_owned()),
        exchange_id: uuid(n),
        session: uuid(1),
        turn_user: uuid(10),
        bundle_hash: Some(hash("bundle")),
        bundle_json: Some("{\"a\":1}".to_owned()),
        prompt_hash: Some(hash("compiled")),
        created_at: at(3),
        seq,
        model: "observer".to_owned(),
        decision: "allow".to_owned(),
        authority_state: AuthorityState::Ok,
        exclusions: "[]".to_owned(),
        salt: Some(Salt::new([9; 32])),
        prompt_commitment: hash("prompt"),
        prompt_line: 1,
        not_kept: None,
        outcome: None,
    }
}

fn outcome() -> OutcomeUpdate {
    OutcomeUpdate {
        reply: None,
        reply_commitment: None,
        cost: None,
        outcome: ExchangeOutcome::Answered,
        reason: None,
        turn_aurora: Some(uuid(11)),
        response_hash: Some(hash("stored")),
        validator_summary: Some("{}".to_owned()),
        refusal: Some(false),
        answered_at: at(5),
        prompt_tokens: Some(11),
        completion_tokens: Some(7),
        response_commitment: Some(hash("response")),
        exchange_commitment: hash("exchange"),
        chain_entry: Some(hash("chain")),
        aurora_text: None,
        outcome_line: 2,
    }
}

fn artifact_ref() -> ArtifactRefRow {
    ArtifactRefRow {
        ref_id: uuid(30),
        exchange: uuid(20),
        artifact_type: "sys_health".to_owned(),
        artifact_id: "sys_health".to_owned(),
        artifact_hash: Some(hash("values")),
        included_reason: "ring0.sight".to_owned(),
        observed_at: Some(at(3)),
        freshness_s: Some(0),
        risk_flags: Some("[\"old\"]".to_owned()),
    }
}

fn drift() -> DriftRow {
    DriftRow {
        drift_id: "drift-1".to_owned(),
        exchange: uuid(20),
        class: "evidence".to_owned(),
        severity: "medium".to_owned(),
        prompt_hash: hash("prompt"),
        response_hash: hash("response"),
        summary: "figure=42".to_owned(),
        created_at: at(5),
    }
}

fn assertion(id: u128, name: &str, passed: bool) -> AssertionRow {
    let level = if passed { "info" } else { "soft" }.to_owned();
    AssertionRow {
        assertion_id: uuid(id),
        exchange: uuid(20),
        name: name.to_owned(),
        level,
        passed,
        created_at: at(5),
    }
}

fn artifact(line: u64) -> ArtifactRow {
    ArtifactRow {
        line,
        kind: "kernel".to_owned(),
        id: format!("kernel-{line}"),
        document: Some("{}".to_owned()),
        salt: Some(Salt::new([3; 32])),
        commitment: hash("artifact"),
    }
}

fn auth_key() -> AuthKeyRow {
    AuthKeyRow {
        hash: hash("key"),
        name: "owner".to_owned(),
        added_at: at(0),
        revoked_at: None,
    }
}

fn commit(n: u64, kind: CommitKind, reference: &str) -> CommitRow {
    CommitRow {
        n,
        line: n,
        kind,
        reference: reference.to_owned(),
        id: format!("{n:040x}"),
        raw: vec![0, 255, 10, 13],
        tree_of: (n > 0).then_some(0),
        segment: (n > 0).then_some((0, 2)),
    }
}

fn files() -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([
        ("genesis.json".to_owned(), b"{}".to_vec()),
        ("raw".to_owned(), vec![0, 1, 255]),
    ])
}

/// Everything once, in one transaction.
fn write_all(tx: &mut WriteStore) -> Result<(), StoreError> {
    tx.create_head(&head(), "{\"genesis\":1}")?;
    let kernel = KernelRow {
        hash: hash("kernel"),
        document: "{\"tier\":2}".to_owned(),
    };
    tx.remember(&kernel)?;
    tx.remember(&kernel)?;
    tx.put(&auth_key())?;
    for n in 0..3u64 {
        tx.put_line(n, hash(&format!("line {n}")), &line(n, "text"))?;
    }
    tx.put_commit(&commit(0, CommitKind::Genesis, MAIN), &files())?;
    tx.put_commit(
        &commit(1, CommitKind::SessionStart, "refs/heads/branch-7"),
        &BTreeMap::new(),
    )?;
    tx.put_block(&anchor(829_604))?;
    tx.put_block(&anchor(829_604))?;
    tx.put_block(&Anchor::local(Network::Bitcoin, at(1)))?;
    tx.put(&session())?;
    tx.put(&turn(10, true))?;
    tx.put(&turn(11, false))?;
    tx.put(&exchange(20, 1))?;
    tx.put(&exchange(21, 2))?;
    tx.put_all(&[artifact_ref()])?;
    tx.put_outcome(uuid(20), &outcome())?;
    tx.put(&drift())?;
    tx.put_all(&[
        assertion(60, "evidence.figure=42", false),
        assertion(61, "tone.urgency", true),
    ])?;
    tx.put_artifact(&artifact(0))?;
    tx.put_artifact(&artifact(2))?;
    tx.set_auth_failure("wrong_key", at(4), 1)?;
    tx.set_auth_failure("wrong_key", at(5), 3)?;
    tx.move_head(&head(), &moved())
}

/// Rows without `PartialEq`, as text that holds every column.
fn spelled(row: &ExchangeRow) -> String {
    format!("{row:?} {:?}", row.salt.as_ref().map(Salt::as_bytes))
}

fn read_all(store: &ReadStore) {
    assert_eq!(store.head().unwrap(), moved());
    assert_eq!(store.genesis().unwrap(), "{\"genesis\":1}");
    let mut sessions = Vec::new();
    store
        .each_session(&mut |row| {
            sessions.push(row);
            Ok(())
        })
        .unwrap();
    assert_eq!(sessions, [session()]);
    assert_eq!(store.open_sessions().unwrap(), [session()]);
    assert_eq!(store.session(hash("session")).unwrap(), Some(session()));
    assert_eq!(store.session(hash("nobody")).unwrap(), None);
    let answered = ExchangeRow {
        outcome: Some(outcome()),
        ..exchange(20, 1)
    };
    for of in [None, Some(uuid(1))] {
        let mut exchanges = Vec::new();
        store
            .each_exchange(of, &mut |row| {
                exchanges.push(spelled(&row));
                Ok(())
            })
            .unwrap();
        assert_eq!(exchanges, [spelled(&answered), spelled(&exchange(21, 2))]);
    }
    store
        .each_exchange(Some(uuid(2)), &mut |_| panic!("an exchange of nobody"))
        .unwrap();
    assert_eq!(
        spelled(&store.exchange(uuid(20)).unwrap().unwrap()),
        spelled(&answered)
    );
    assert_eq!(store.in_flight(uuid(1)).unwrap().len(), 1);
    assert_eq!(store.turn(uuid(10)).unwrap(), Some(turn(10, true)));
    assert_eq!(store.turn(uuid(11)).unwrap(), Some(turn(11, false)));
    assert_eq!(store.artifact_refs(uuid(20)).unwrap(), [artifact_ref()]);
    assert_eq!(store.drift(uuid(20)).unwrap(), [drift()]);
    let (failed, passed) = (
        assertion(60, "evidence.figure=42", false),
        assertion(61, "tone.urgency", true),
    );
    assert_eq!(store.assertions(uuid(20)).unwrap(), [failed, passed]);
    assert_eq!(store.assertions(uuid(21)).unwrap(), []);
    assert!(
        store.has_artifact("kernel", "kernel-2").unwrap()
            && !store.has_artifact("note", "kernel-2").unwrap()
    );
    let artifacts: Vec<String> = store
        .artifacts(ArtifactFilter::All)
        .unwrap()
        .iter()
        .map(|row| format!("{row:?}"))
        .collect();
    assert_eq!(
        artifacts,
        [format!("{:?}", artifact(0)), format!("{:?}", artifact(2))]
    );
    assert_eq!(store.newest_artifact("kernel").unwrap().unwrap().line, 2);
    assert!(store.newest_artifact("note").unwrap().is_none());
    assert_eq!(
        store.kernel(hash("kernel")).unwrap().as_deref(),
        Some("{\"tier\":2}")
    );
    assert_eq!(store.auth_keys().unwrap(), [auth_key()]);
    assert_eq!(
        store.lines(1, 3).unwrap(),
        [line(1, "text"), line(2, "text")]
    );
    let (genesis, start) = (
        commit(0, CommitKind::Genesis, MAIN),
        commit(1, CommitKind::SessionStart, "refs/heads/branch-7"),
    );
    assert_eq!(
        store.commits(0, 9).unwrap(),
        [genesis.clone(), start.clone()]
    );
    assert_eq!(store.tip(MAIN, 2).unwrap(), Some(genesis));
    assert_eq!(store.tip("refs/heads/branch-7", 1).unwrap(), None);
    assert_eq!(store.tip("refs/heads/branch-7", 2).unwrap(), Some(start));
    assert_eq!(
        store
            .last_of_kind("refs/heads/branch-7", CommitKind::SessionStart)
            .unwrap(),
        Some(1)
    );
    assert_eq!(
        store.refs().unwrap(),
        ["refs/heads/branch-7", "refs/heads/main"]
    );
    assert_eq!(store.files(0).unwrap(), files());
    assert_eq!(store.blocks_at(829_604).unwrap(), [anchor(829_604)]);
    assert_eq!(store.blocks_at(1).unwrap(), []);
    assert_eq!(
        store.auth_failures().unwrap(),
        [("wrong_key".to_owned(), at(5), 3)]
    );
}

/// Runs work that must be refused, and checks that nothing of it stays.
fn refused(
    store: &mut Store,
    what: &str,
    work: &mut dyn FnMut(&mut WriteStore) -> Result<(), StoreError>,
) {
    let before = (store.head().unwrap(), store.lines(0, 99).unwrap());
    let error = store.transact(work).expect_err(what);
    assert!(
        matches!(error, StoreError::Query { .. } | StoreError::Corrupt { .. }),
        "{what}: {error:?}"
    );
    assert_eq!(
        (store.head().unwrap(), store.lines(0, 99).unwrap()),
        before,
        "{what}"
    );
}

/// What every database behind the driver must do.
fn story(mut store: Store) -> Store {
    store.transact(&mut write_all).unwrap();
    read_all(&store);

    // The head moves by compare-and-swap, and with it everything of the transaction, or nothing.
    let stale = store.transact(&mut |tx| {
        tx.put_line(3, hash("line 3"), &line(3, "lost"))?;
        tx.move_head(&head(), &moved())
    });
    match stale {
        Err(StoreError::HeadMoved {
            expected: 0,
            actual,
        }) => assert!(actual.starts_with("3 lines"), "{actual}"),
        other => panic!("{other:?}"),
    }
    read_all(&store);

    // One of each.
    refused(&mut store, "a second head", &mut |tx| {
        tx.create_head(&head(), "{}")
    });
    refused(&mut store, "a line number twice", &mut |tx| {
        tx.put_line(0, hash("x"), "x")
    });
    refused(&mut store, "a commit number twice", &mut |tx| {
        tx.put_commit(&commit(0, CommitKind::Genesis, MAIN), &BTreeMap::new())
    });
    refused(&mut store, "a commit id twice", &mut |tx| {
        tx.put_commit(
            &CommitRow {
                n: 7,
                ..commit(0, CommitKind::Genesis, MAIN)
            },
            &BTreeMap::new(),
        )
    });
    refused(&mut store, "a session twice", &mut |tx| tx.put(&session()));
    refused(&mut store, "a ledger session twice", &mut |tx| {
        tx.put(&SessionRow {
            uuid: uuid(99),
            ..session()
        })
    });
    refused(&mut store, "a turn twice", &mut |tx| {
        tx.put(&turn(10, true))
    });
    refused(&mut store, "a number twice in a session", &mut |tx| {
        tx.put(&exchange(22, 2))
    });
    refused(&mut store, "a second outcome", &mut |tx| {
        tx.put_outcome(uuid(20), &outcome())
    });
    refused(&mut store, "an outcome of nobody", &mut |tx| {
        tx.put_outcome(uuid(77), &outcome())
    });
    refused(&mut store, "an exchange of no session", &mut |tx| {
        tx.put(&ExchangeRow {
            session: uuid(77),
            ..exchange(23, 3)
        })
    });
    refused(&mut store, "an auth key's name twice", &mut |tx| {
        tx.put(&AuthKeyRow {
            hash: hash("other"),
            ..auth_key()
        })
    });
    refused(&mut store, "an artifact's line twice", &mut |tx| {
        tx.put_artifact(&artifact(0))
    });
    refused(&mut store, "a drift id twice", &mut |tx| tx.put(&drift()));
    refused(&mut store, "an assertion twice", &mut |tx| {
        tx.put_all(&[assertion(60, "tone.urgency", true)])
    });
    refused(&mut store, "an assertion of nobody", &mut |tx| {
        tx.put_all(&[AssertionRow {
            exchange: uuid(77),
            ..assertion(62, "tone.flattery", true)
        }])
    });

    // What a mark undoes is undone alone.
    store
        .transact(&mut |tx| {
            tx.put_line(3, hash("line 3"), &line(3, "kept"))?;
            tx.mark()?;
            tx.put_line(4, hash("line 4"), &line(4, "undone"))?;
            tx.rollback_to_mark()?;
            tx.put_line(4, hash("line 4"), &line(4, "undone again"))?;
            tx.rollback_to_mark()?;
            tx.take_mark()?;
            tx.mark()?;
            tx.put_line(4, hash("line 4"), &line(4, "kept, too"))?;
            tx.take_mark()?;
            assert!(
                tx.rollback_to_mark().is_err() && tx.take_mark().is_err(),
                "there is no mark"
            );
            Ok(())
        })
        .unwrap();
    assert_eq!(
        store.lines(3, 9).unwrap(),
        [line(3, "kept"), line(4, "kept, too")]
    );

    // A session moves until it is closed.
    let ended = SessionRow {
        ended_at: Some(at(9)),
        prompts: 5,
        anchor: anchor(829_605),
        ..session()
    };
    store
        .transact(&mut |tx| tx.move_session(uuid(1), &ended.progress()))
        .unwrap();
    assert_eq!(store.session(hash("session")).unwrap(), Some(ended.clone()));
    assert_eq!(store.open_sessions().unwrap(), []);
    refused(&mut store, "a closed session", &mut |tx| {
        tx.move_session(uuid(1), &ended.progress())
    });

    let applied = AppliedMark {
        lines: 3,
        bytes: 17,
        commits: 2,
    };
    store.mark_applied(&applied).unwrap();
    assert_eq!(store.head().unwrap(), LedgerHead { applied, ..moved() });
    store
}

fn sqlite(dir: &Path) -> Store {
    crate::person::at_rest();
    Store::create(&dir.join("gently.db")).unwrap()
}

fn opened(path: &Path) -> rusqlite::Connection {
    crate::person::by_hand(path, rusqlite::OpenFlags::default())
}

#[test]
fn the_story_with_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    drop(story(sqlite(dir.path())));
    // All of it is there for the next one who opens it, twice.
    for _ in 0..2 {
        let again = Store::open(&dir.path().join("gently.db")).unwrap();
        assert_eq!(again.head().unwrap().applied.lines, 3);
        assert_eq!(again.integrity().unwrap(), "ok");
        assert_eq!(again.version().unwrap(), 14);
    }
}

#[test]
fn evidence_never_changes_even_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = sqlite(dir.path());
    store.transact(&mut write_all).unwrap();
    let by_hand = opened(&dir.path().join("gently.db"));
    for statement in [
        "UPDATE log_line SET line = 'x' WHERE n = 1",
        "DELETE FROM log_line WHERE n = 2",
        "UPDATE ledger_commit SET raw = x'00' WHERE n = 1",
        "DELETE FROM ledger_commit WHERE n = 1",
        "UPDATE ledger_file SET content = x'00'",
        "DELETE FROM ledger_file",
        "UPDATE llm_exchange SET outcome = 'failed' WHERE seq = 1",
        "UPDATE llm_exchange SET chain_entry = NULL WHERE seq = 1",
        "UPDATE llm_exchange SET prompt_commitment = 'x' WHERE seq = 1",
        "UPDATE llm_exchange SET prompt_commitment = 'x' WHERE seq = 2",
        "UPDATE llm_exchange SET seq = 9 WHERE seq = 2",
        "DELETE FROM llm_exchange WHERE seq = 2",
        "UPDATE artifact SET commitment = 'x'",
        "DELETE FROM artifact",
        "UPDATE drift_event SET severity = 'low'",
        "DELETE FROM drift_event",
        "UPDATE context_artifact_ref SET included_reason = 'x'",
        "DELETE FROM context_artifact_ref",
        "UPDATE chat_session SET ledger_session = 'x'",
        "DELETE FROM chat_session",
        "UPDATE chat_turn SET speaker = 'user'",
        "DELETE FROM chat_turn",
    ] {
        let refused = by_hand
            .execute(statement, [])
            .expect_err(statement)
            .to_string();
        assert!(refused.contains("evidence"), "{statement}: {refused}");
    }
    read_all(&store);
    // Erasing text, hash and salt stays possible.
    for statement in [
        "UPDATE chat_turn SET content = NULL, content_hash = NULL WHERE speaker = 'user'",
        "UPDATE llm_exchange SET salt = NULL, context_bundle_json = NULL, context_bundle_hash = NULL",
        "UPDATE artifact SET document = NULL, salt = NULL",
    ] {
        by_hand.execute(statement, []).expect(statement);
    }
}

#[test]
fn a_database_of_another_build_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    drop(sqlite(dir.path()));
    let path = dir.path().join("gently.db");
    let by_hand = opened(&path);
    let refused = |found: &str| {
        for opened in [Store::open(&path), Store::open_read_only(&path)] {
            let refusal = opened.err().unwrap();
            assert!(matches!(refusal, StoreError::OtherBuild { .. }));
            let said = refusal.to_string();
            let what_to_do = [
                found,
                "Nothing is changed",
                "gently init",
                "audit verify --repo",
            ];
            assert!(
                what_to_do.iter().all(|words| said.contains(words)),
                "{said}"
            );
        }
    };
    // As the builds before the first release left it: other migrations, and more of them.
    let history = "SELECT checksum FROM refinery_schema_history WHERE version = 1";
    let checksum: String = by_hand.query_row(history, [], |row| row.get(0)).unwrap();
    by_hand
        .execute_batch(
            "PRAGMA user_version = 0;
             UPDATE refinery_schema_history SET name = 'relationship', checksum = '1' WHERE version = 1;
             INSERT INTO refinery_schema_history VALUES (18, 'blocks', '2026-01-01T00:00:00Z', '2')",
        )
        .unwrap();
    refused("V18__blocks");
    by_hand
        .execute_batch("DELETE FROM refinery_schema_history WHERE version = 18")
        .unwrap();
    refused("V1__relationship");
    by_hand
        .execute(
            "UPDATE refinery_schema_history SET name = 'home', checksum = ?1 WHERE version = 1",
            [checksum],
        )
        .unwrap();
    Store::open(&path).unwrap();
    // One of the future, too.
    by_hand
        .execute_batch(
            "PRAGMA user_version = 7;
             INSERT INTO refinery_schema_history VALUES (999, 'later', '2030-01-01T00:00:00Z', '1')",
        )
        .unwrap();
    refused("V999__later");
}

/// Whatever is asked of such a home, it is one refusal, and the home stays as it is.
#[test]
fn a_home_of_an_earlier_build_is_left_alone() {
    let person = crate::person::Person::with(&[("GENTLY_ANCHOR_MODE", "off")]);
    person.gently(&["ask", "How is it?"]).exits(0);
    let sql = "PRAGMA user_version = 0;
               UPDATE refinery_schema_history SET name = 'relationship', checksum = '1'";
    opened(&person.at("gently.db")).execute_batch(sql).unwrap();
    let log = std::fs::read(person.at("audit.log")).unwrap();
    for args in [
        &["ask", "And now?"] as &[&str],
        &["show", "last", "--full"],
        &["session", "close"],
    ] {
        let refused = person.gently(args);
        assert!(
            refused.code >= 2 && refused.err.contains("made by another build of gently"),
            "{args:?}: {refused:?}"
        );
    }
    assert_eq!(std::fs::read(person.at("audit.log")).unwrap(), log);
    // What it published needs no database.
    let (ledger, log) = (person.at("ledger.git"), person.at("audit.log"));
    let (ledger, log) = (ledger.to_str().unwrap(), log.to_str().unwrap());
    person
        .gently(&["audit", "verify", "--repo", ledger, "--log", log])
        .exits(0);
}

#[test]
fn of_two_writers_one_waits_and_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = sqlite(dir.path());
    store.transact(&mut write_all).unwrap();
    let path = dir.path().join("gently.db");
    let mut second = Store::open(&path).unwrap();
    let begun = Instant::now();
    store
        .transact(&mut |tx| {
            tx.put_line(3, hash("line 3"), &line(3, "first"))?;
            // The other is refused, and still reads what was there before.
            let refused =
                second.transact(&mut |tx| tx.put_line(3, hash("line 3"), &line(3, "second")));
            assert!(
                matches!(refused, Err(StoreError::Busy { .. })),
                "{refused:?}"
            );
            assert!(refused.unwrap_err().to_string().contains("locked"));
            assert_eq!(second.head().unwrap(), moved());
            assert_eq!(second.lines(3, 9).unwrap(), Vec::<String>::new());
            Ok(())
        })
        .unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(4), "it did not wait");
    assert_eq!(second.lines(3, 9).unwrap(), [line(3, "first")]);
    // One that is quick enough is waited for.
    let holder = opened(&path);
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            second.transact(&mut |tx| tx.put_line(4, hash("line 4"), &line(4, "second")))
        });
        std::thread::sleep(Duration::from_millis(100));
        holder.execute_batch("COMMIT").unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(
        store.lines(3, 9).unwrap(),
        [line(3, "first"), line(4, "second")]
    );
}

/// The columns and keys of AEGIS 5.2: a reference has its id for a key, and an exchange's are found by
/// the exchange's id, without reading the table.
#[test]
fn references_stand_as_aegis_has_them() {
    let dir = tempfile::tempdir().unwrap();
    drop(sqlite(dir.path()));
    let database = opened(&dir.path().join("gently.db"));
    let key = "SELECT name FROM pragma_table_info('context_artifact_ref') WHERE pk = 1";
    let key: String = database.query_row(key, [], |row| row.get(0)).unwrap();
    assert_eq!(key, "ref_id");
    for (filter, index) in [
        (
            "exchange_id = '0'",
            "USING INDEX idx_context_artifact_exchange (exchange_id=?)",
        ),
        ("ref_id = '0'", "(ref_id=?)"),
    ] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT * FROM context_artifact_ref WHERE {filter}");
        let plan: String = database
            .query_row(&sql, [], |row| row.get("detail"))
            .unwrap();
        assert!(
            plan.starts_with("SEARCH") && plan.contains(index),
            "{filter}: {plan}"
        );
    }
}

#[test]
fn opened_for_reading_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gently.db");
    assert!(matches!(
        Store::open_read_only(&path),
        Err(StoreError::Missing { .. })
    ));
    assert!(matches!(
        Store::open(&path),
        Err(StoreError::Missing { .. })
    ));
    assert!(!path.exists(), "looking made a file");
    let mut store = sqlite(dir.path());
    assert!(Store::create(&path).is_err(), "a database was made twice");
    store.transact(&mut write_all).unwrap();
    let mut reader = Store::open_read_only(&path).unwrap();
    read_all(&reader);
    assert!(matches!(
        reader.transact(&mut |tx| tx.put_line(3, hash("line 3"), &line(3, "x"))),
        Err(StoreError::Query { .. })
    ));
    assert!(reader.mark_applied(&AppliedMark::default()).is_err());
    // Between begin and end it sees one state, whatever others write.
    reader.begin_read().unwrap();
    assert_eq!(reader.lines(0, 99).unwrap().len(), 3);
    store
        .transact(&mut |tx| tx.put_line(3, hash("line 3"), &line(3, "x")))
        .unwrap();
    assert_eq!(reader.lines(0, 99).unwrap().len(), 3);
    reader.end_read().unwrap();
    assert_eq!(reader.lines(0, 99).unwrap().len(), 4);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for file in ["gently.db", "gently.db-wal", "gently.db-shm"] {
            let mode = std::fs::metadata(dir.path().join(file))
                .unwrap()
                .permissions()
                .mode()
                & 0o777;
            assert_eq!(mode, 0o600, "{file}");
        }
    }
}
