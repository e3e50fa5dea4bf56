//! The rules between lines: honest logs that must pass, and one defect each that must be named.

use gently::record::bitcoin::block::branch_of;
use gently::record::exchange::ExchangeOutcome;
use gently::record::hash::Hash32;
use gently::record::log::chain::{session_close_hash, session_id};
use gently::record::log::entry::{DriftClass, Event, Line};
use gently::record::log::rules::{LogRule, LogState, PromptOutcome, is_failed_compile};
use gently::record::time::Seconds;

use crate::written_log::{Log, Writer, block_of, header_of, named};

#[test]
fn an_honest_log_passes() {
    let mut log = Log::begun();
    let mut first = log.open(930_226);
    log.prompt(&first, 1);
    let mut second = log.open(0);
    log.prompt(&second, 1);
    log.prompt(&first, 2);
    log.answer(&mut first, 2);
    log.drift(&first, 2, DriftClass::Tone);
    log.drift(&first, 2, DriftClass::Tone);
    log.drift(&first, 2, DriftClass::Schema);
    log.prompt(&first, 3);
    log.deny(&first, 3);
    log.prompt(&first, 4);
    log.fail(&first, 4, "compile.no_kernel");
    log.anchor(&mut second, 930_228);
    log.fail(&second, 1, "timeout");
    log.answer(&mut first, 1);
    log.prompt(&first, 5);
    log.future(None);
    log.future(Some(&first));
    log.fail(&first, 5, "abandoned");
    log.end(&second, 0);
    log.end(&first, 930_227);
    let record = log.record();
    log.outside(Event::KeyRotate { record });
    log.clock_set(1_600_000_000);
    let third = log.start(0);
    log.auth(&third);
    let fourth = log.start(930_226);
    log.switch(&fourth, 0);
    log.auth(&fourth);
    log.prompt(&fourth, 1);
    let (found, state) = log.findings();
    assert_eq!(found, []);
    let ended = state.session(first.id).unwrap();
    let outcomes: Vec<PromptOutcome> = ended.turns.iter().map(|turn| turn.outcome).collect();
    assert_eq!(
        outcomes,
        [
            PromptOutcome::Ended(ExchangeOutcome::Answered),
            PromptOutcome::Ended(ExchangeOutcome::Answered),
            PromptOutcome::Ended(ExchangeOutcome::Denied),
            PromptOutcome::Ended(ExchangeOutcome::Failed),
            PromptOutcome::Ended(ExchangeOutcome::Failed)
        ]
    );
    assert_eq!(
        ended.turn(2).unwrap().drift().collect::<Vec<_>>(),
        [DriftClass::Tone, DriftClass::Schema]
    );
    assert_eq!(
        (ended.answered, ended.last_chain, ended.is_open()),
        (2, first.chain, false)
    );
    assert_eq!(
        (state.head(), state.count(), state.highest()),
        (log.head(), log.lines.len() as u64, 930_228)
    );
    let mut open: Vec<Hash32> = state.open_sessions().map(|session| session.id).collect();
    open.sort();
    let mut want = [third.id, fourth.id];
    want.sort();
    assert_eq!(open, want);
    let waiting: Vec<_> = state
        .unanswered()
        .map(|(session, seq, prompt)| (session.id, seq, prompt.line))
        .collect();
    assert_eq!(waiting, [(fourth.id, 1, state.count())]);
}

/// What follows a session start is what the state says follows it.
#[test]
fn a_writer_asks_which_lines_open_a_session() {
    let mut log = Log::begun();
    log.open(930_226);
    log.open(0);
    let (_, state) = log.findings();
    let lines = |height| -> Vec<String> {
        let events = state.opening_lines(&branch_of(height), named("auth key"));
        events.iter().map(|event| event.name().to_owned()).collect()
    };
    assert_eq!(lines(0), ["auth_ok"]);
    assert_eq!(lines(930_226), ["branch_switch", "auth_ok"]);
    assert_eq!(lines(930_227), ["branch_create", "auth_ok"]);
}

/// Each defect stands on the last line that `defect` writes into a log with an open session, its
/// prompts 1 (answered) and 2 (waiting); exactly that line and rule must be found.
#[test]
fn one_defect_is_one_finding() {
    type Defect = fn(&mut Log, &mut Writer);
    let table: &[(LogRule, Defect)] = &[
        (LogRule::Genesis, |log, _| {
            log.push(930_226, None, Event::Genesis { record: named("x") })
        }),
        (LogRule::Time, |log, s| {
            log.time -= 2;
            log.prompt(s, 3);
        }),
        (LogRule::ClockSet, |log, _| {
            log.outside(Event::ClockSet {
                to: Seconds::new(1_600_000_000).unwrap(),
            })
        }),
        (LogRule::Record, |log, _| {
            log.outside(Event::Checkpoint {
                record: named("record 2"),
            });
        }),
        (LogRule::Height, |log, s| {
            log.push(
                930_225,
                Some(s.id),
                Event::Prompt {
                    hash: named("prompt"),
                    seq: 3,
                },
            )
        }),
        (LogRule::Height, |log, _| {
            log.push(0, None, Event::Recover { applied: 1 })
        }),
        (LogRule::Height, |log, s| {
            let (header, block) = header_of(930_230);
            log.push(
                930_226,
                Some(s.id),
                Event::BtcAnchor {
                    btc: 930_230,
                    block,
                    header,
                },
            );
        }),
        (LogRule::Opening, |log, s| log.auth(s)),
        (LogRule::Opening, |log, s| log.create(s)),
        (LogRule::Opening, |log, s| {
            log.start(0);
            log.prompt(s, 3);
        }),
        (LogRule::Opening, |log, _| {
            let other = log.start(0);
            log.auth(&other);
        }),
        (LogRule::Opening, |log, _| {
            let other = log.start(930_226 + 7);
            log.create(&other);
        }),
        (LogRule::Opening, |log, _| {
            let other = log.start(0);
            log.create(&other);
            log.inside(
                &other,
                Event::AuthOk {
                    auth: named("another key").short16(),
                },
            );
        }),
        (LogRule::Opening, |log, s| {
            let other = log.start(0);
            log.create(&other);
            log.auth(s);
        }),
        (LogRule::NoSession, |log, _| {
            let nobody = Writer {
                id: named("nobody"),
                height: 0,
                chain: None,
                answered: 0,
            };
            log.prompt(&nobody, 1);
        }),
        (LogRule::SessionTwice, |log, s| {
            log.start_as(s.id, 930_226, block_of(930_226), branch_of(930_226));
        }),
        (LogRule::SessionEnded, |log, s| {
            log.end(s, 930_226);
            log.future(Some(s));
        }),
        (LogRule::SessionEnded, |log, s| {
            log.end(s, 930_226);
            log.fail(s, 2, "abandoned");
        }),
        (LogRule::SessionId, |log, _| {
            log.start_as(named("made up"), 0, Hash32::ZERO, branch_of(0));
        }),
        (LogRule::SessionBranch, |log, _| {
            let id = session_id(
                named("auth key"),
                &block_of(930_227).to_string(),
                log.head(),
            );
            log.start_as(id, 930_227, block_of(930_227), branch_of(930_226));
        }),
        (LogRule::LocalBlock, |log, _| {
            let id = session_id(named("auth key"), &block_of(9).to_string(), log.head());
            log.start_as(id, 0, block_of(9), branch_of(0));
        }),
        (LogRule::LocalBlock, |log, _| {
            let id = session_id(named("auth key"), &Hash32::ZERO.to_string(), log.head());
            log.start_as(id, 930_226, Hash32::ZERO, branch_of(930_226));
        }),
        (LogRule::PromptSeq, |log, s| log.prompt(s, 4)),
        (LogRule::PromptSeq, |log, s| log.prompt(s, 2)),
        (LogRule::PromptSeq, |log, s| log.prompt(s, u64::MAX)),
        (LogRule::OutcomeWithoutPrompt, |log, s| {
            log.fail(s, 3, "timeout")
        }),
        (LogRule::OutcomeWithoutPrompt, |log, s| {
            log.answer(s, u64::MAX)
        }),
        (LogRule::OutcomeWithoutPrompt, |log, s| log.deny(s, 3)),
        (LogRule::SecondOutcome, |log, s| log.answer(s, 1)),
        (LogRule::SecondOutcome, |log, s| log.fail(s, 1, "timeout")),
        (LogRule::NotDirect, |log, s| {
            log.prompt(s, 3);
            log.deny(s, 2);
        }),
        (LogRule::NotDirect, |log, s| {
            log.prompt(s, 3);
            log.future(None);
            log.fail(s, 3, "compile");
        }),
        (LogRule::ChainEntry, |log, s| {
            s.chain = Some(named("another history"));
            log.answer(s, 2);
        }),
        (LogRule::DriftUnanswered, |log, s| {
            log.drift(s, 2, DriftClass::Tone)
        }),
        (LogRule::DriftUnanswered, |log, s| {
            log.drift(s, 3, DriftClass::Tone)
        }),
        (LogRule::AnchorNotHigher, |log, s| log.anchor(s, 930_226)),
        (LogRule::AnchorNotHigher, |log, s| log.anchor(s, 930_219)),
        (LogRule::AnchorHeader, |log, s| {
            s.height = 930_228;
            let event = Event::BtcAnchor {
                btc: 930_228,
                block: block_of(930_228),
                header: header_of(930_229).0,
            };
            log.inside(s, event);
        }),
        (LogRule::Interactions, |log, s| {
            let close = session_close_hash(s.id, &block_of(0).to_string(), s.chain);
            log.end_as(s, 0, close, 2);
        }),
        (LogRule::CloseHash, |log, s| log.end_as(s, 0, named("x"), 1)),
        (LogRule::RotationWhileOpen, |log, _| {
            let record = log.record();
            log.outside(Event::KeyRotate { record });
        }),
    ];
    for (row, (rule, defect)) in table.iter().enumerate() {
        let mut log = Log::begun();
        let mut session = log.open(930_226);
        log.prompt(&session, 1);
        log.answer(&mut session, 1);
        log.prompt(&session, 2);
        assert_eq!(log.findings().0, []);
        defect(&mut log, &mut session);
        let (found, _) = log.findings();
        assert_eq!(
            found,
            [(log.lines.len() as u64, *rule)],
            "row {row}: {rule:?}"
        );
    }
}

#[test]
fn going_on_after_a_violation_finds_the_next_one_and_nothing_between() {
    let mut log = Log::begun();
    let mut session = log.open(930_226);
    // Line 5 names a session that was never started, line 6 is its second line; line 8 skips number
    // 2.
    let stray = Writer {
        id: named("stray"),
        height: 3,
        chain: None,
        answered: 0,
    };
    log.prompt(&stray, 9);
    log.fail(&stray, 9, "timeout");
    log.prompt(&session, 1);
    log.prompt(&session, 3);
    log.answer(&mut session, 3);
    log.answer(&mut session, 1);
    log.prompt(&session, 4);
    log.end(&session, 930_226);
    let (found, state) = log.findings();
    assert_eq!(found, [(5, LogRule::NoSession), (8, LogRule::PromptSeq)]);
    assert_eq!(
        state.session(session.id).unwrap().turn(2).unwrap().outcome,
        PromptOutcome::Lost
    );
}

#[test]
fn an_unreadable_line_is_passed_over() {
    let mut log = Log::begun();
    let session = log.open(930_226);
    log.prompt(&session, 1);
    log.deny(&session, 1);
    let mut state = LogState::new();
    for (place, line) in log.lines.iter().enumerate() {
        match place {
            1 | 4 => state.skip(line.text().as_bytes()),
            2 => assert_eq!(state.accept(line).unwrap_err().rule, LogRule::NoSession),
            _ => assert_eq!(state.accept(line), Ok(())),
        }
    }
    assert_eq!((state.head(), state.count()), (log.head(), 6));
    state.skip(b"no hash here");
    assert_eq!((state.head(), state.count()), (log.head(), 7));
    let after = Line::new(
        named("unknown"),
        0,
        Seconds::MAX,
        None,
        Event::Recover { applied: 1 },
    );
    assert_eq!(state.accept(&after), Ok(()));
    assert_eq!(state.head(), after.hash);
}

#[test]
fn which_reasons_are_failed_compiles() {
    for reason in ["compile", "compile.budget", "compile_failed"] {
        assert!(is_failed_compile(reason), "{reason}");
    }
    for reason in ["timeout", "abandoned", "compiled", "no.compile", ""] {
        assert!(!is_failed_compile(reason), "{reason}");
    }
}
