//! The audit log: vectors, the reader, the appender, and what parses prints back identically.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::fs;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use gently::log::append::{AppendError, Appender};
use gently::log::read::{LogPiece, LogReader, ReadError, tail};
use gently::record::bitcoin::block::Header;
use gently::record::hash::Hash32;
use gently::record::log::entry::{DriftClass, Event, Line, MAX_LINE};
use gently::record::log::rules::LogState;
use gently::record::time::Seconds;
use proptest::prelude::*;

/// What a reader and the rules say of a log.
#[derive(Debug, Default)]
pub struct Verdict {
    pub findings: Vec<String>,
    pub unanswered: usize,
    pub torn: bool,
    pub lines: u64,
}

/// Reads a whole log as a verifier does, and lists all that is wrong.
pub fn judge(bytes: &[u8]) -> (Verdict, LogState) {
    judge_from(LogState::new(), bytes)
}

fn judge_from(mut state: LogState, bytes: &[u8]) -> (Verdict, LogState) {
    let mut verdict = Verdict::default();
    for piece in LogReader::starting_at(bytes, state.count() + 1, 0) {
        match piece {
            Ok(LogPiece::Line(raw)) => match Line::parse(raw.text.as_bytes()) {
                Ok(line) => verdict
                    .findings
                    .extend(state.accept(&line).err().map(|found| found.to_string())),
                Err(wrong) => {
                    state.skip(raw.text.as_bytes());
                    verdict
                        .findings
                        .push(format!("line {}: {wrong}", raw.number));
                }
            },
            Ok(LogPiece::Torn(_)) => verdict.torn = true,
            Err(wrong) => {
                state.skip(wrong.bytes());
                verdict.findings.push(wrong.to_string());
            }
        }
    }
    verdict.unanswered = state.unanswered().count();
    verdict.lines = state.count();
    (verdict, state)
}

fn vectors(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let folders = [root.join(folder), root.join("ours").join(folder)];
    let entries = folders
        .iter()
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_vector_comes_out_as_its_name_says() {
    let mut seen = 0;
    for path in vectors("audit_log") {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (verdict, _) = judge(&fs::read(&path).unwrap());
        match name.split(['_', '.']).next().unwrap() {
            "valid" => {
                assert!(
                    verdict.findings.is_empty(),
                    "{name}: {:#?}",
                    verdict.findings
                );
                assert_eq!((verdict.unanswered, verdict.torn), (0, false), "{name}");
            }
            "invalid" => assert!(!verdict.findings.is_empty(), "{name} was taken as valid"),
            "incomplete" => {
                assert!(
                    verdict.findings.is_empty(),
                    "{name}: {:#?}",
                    verdict.findings
                );
                assert!(verdict.unanswered > 0, "{name}");
            }
            "torn" => {
                assert!(
                    verdict.findings.is_empty(),
                    "{name}: {:#?}",
                    verdict.findings
                );
                assert!(verdict.torn, "{name}");
            }
            other => panic!("{name}: what does '{other}' ask for?"),
        }
        seen += 1;
    }
    assert!(seen >= 47, "only {seen} vectors");
}

#[test]
fn one_defect_is_few_findings_at_the_right_line() {
    for path in vectors("audit_log") {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (verdict, _) = judge(&fs::read(&path).unwrap());
        assert!(
            verdict.findings.len() <= 3,
            "{name}: {:#?}",
            verdict.findings
        );
    }
}

#[test]
fn logs_of_whole_ledgers() {
    let mut seen = 0;
    for folder in vectors("ledgers").into_iter().filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let (verdict, state) = judge(&fs::read(folder.join("audit.log")).unwrap());
        let sound = !matches!(
            name.as_str(),
            "log_line_dropped_rechained" | "close_hash_wrong" | "dated_before_its_block"
        );
        assert_eq!(
            verdict.findings.is_empty(),
            sound,
            "{name}: {:#?}",
            verdict.findings
        );
        assert_eq!(
            verdict.unanswered > 0,
            matches!(
                name.as_str(),
                "prompt_unanswered" | "log_tail_truncated" | "log_line_dropped_rechained"
            ),
            "{name}"
        );
        if name == "honest" {
            assert_eq!(
                (
                    verdict.lines,
                    state.sessions().count(),
                    state.open_sessions().len()
                ),
                (60, 5, 0)
            );
            assert_eq!(
                state
                    .sessions()
                    .map(|session| session.answered)
                    .sum::<u64>(),
                10
            );
        }
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} ledgers");
}

fn valid() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/audit_log/valid.log"))
        .unwrap()
}

/// Every byte of a valid log, replaced: the finding is at its line.
#[test]
fn every_changed_byte_is_found_at_its_line() {
    let text = String::from_utf8(valid()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut state = LogState::new();
    for (place, line) in lines.iter().enumerate() {
        let next = lines.get(place + 1).unwrap_or(&"");
        // The newline of the last line is left out: without it the line is torn, which is no
        // finding.
        for at in 0..line.len() - usize::from(next.is_empty()) {
            let mut bad = [line.as_bytes(), next.as_bytes()].concat();
            bad[at] = if bad[at] == b'0' { b'1' } else { b'0' };
            let (verdict, _) = judge_from(state.clone(), &bad);
            let first = verdict
                .findings
                .first()
                .unwrap_or_else(|| panic!("byte {at} of {line} goes unseen"));
            assert!(
                first.starts_with(&format!("line {}: ", place + 1)),
                "byte {at} of {line}: {first}"
            );
        }
        state
            .accept(&Line::parse(line.trim_end().as_bytes()).unwrap())
            .unwrap();
    }
}

#[test]
fn the_reader_hands_out_numbers_offsets_and_the_torn_end() {
    let text = b"one\n\nthree\nto";
    let pieces: Vec<LogPiece> = LogReader::new(&text[..]).map(Result::unwrap).collect();
    let shown: Vec<(u64, u64, String)> = pieces
        .iter()
        .map(|piece| match piece {
            LogPiece::Line(line) => (line.number, line.offset, line.text.clone()),
            LogPiece::Torn(torn) => (
                torn.number,
                torn.offset,
                String::from_utf8(torn.bytes.clone()).unwrap(),
            ),
        })
        .collect();
    let want = [(1, 0, "one"), (2, 4, ""), (3, 5, "three"), (4, 11, "to")]
        .map(|(n, o, t)| (n, o, t.to_owned()));
    assert_eq!(shown, want);
    assert!(matches!(pieces.last(), Some(LogPiece::Torn(_))));
    assert_eq!(LogReader::new(&b""[..]).count(), 0);
}

#[test]
fn the_reader_passes_over_what_it_holds_and_over_nothing_else() {
    let text = "one\ntwo\nthree is long\nfour\nto".as_bytes();
    let reader = || LogReader::new(BufReader::with_capacity(7, std::io::Cursor::new(text)));
    let next = |mut reader: LogReader<_>| reader.next().unwrap().unwrap();
    for (lines, count) in [("one\n", 1), ("one\ntwo\nthree is long\n", 3)] {
        let mut same = reader();
        assert!(same.pass_same(lines.as_bytes(), count).unwrap());
        assert_eq!(same.offset(), lines.len() as u64);
        let LogPiece::Line(line) = next(same) else {
            panic!("no line after {lines}")
        };
        assert_eq!((line.number, line.offset), (count + 1, lines.len() as u64));
    }
    // Another byte early and late, and more than there is: the reader stays.
    for other in [
        "One\n",
        "one\ntwo\nthree is lonG\n",
        "one\ntwo\nthree is long\nfour\nto\n",
    ] {
        let mut differs = reader();
        assert!(!differs.pass_same(other.as_bytes(), 9).unwrap(), "{other}");
        let LogPiece::Line(line) = next(differs) else {
            panic!("no line")
        };
        assert_eq!(
            (line.number, line.offset, line.text.as_str()),
            (1, 0, "one"),
            "{other}"
        );
    }
}

#[test]
fn the_reader_names_bad_bytes_and_goes_on() {
    let mut text = b"fine\nnul\0here\nlatin\xe9\n".to_vec();
    text.extend(vec![b'x'; 3 * MAX_LINE]);
    text.extend(b"\nlast\n");
    // A small buffer, so that lines span several reads.
    let pieces: Vec<_> = LogReader::new(BufReader::with_capacity(7, &text[..])).collect();
    assert_eq!(pieces.len(), 5);
    assert!(matches!(
        &pieces[1],
        Err(ReadError::Nul {
            number: 2,
            offset: 5,
            column: 4,
            ..
        })
    ));
    assert!(matches!(
        &pieces[2],
        Err(ReadError::NotUtf8 {
            number: 3,
            offset: 14,
            column: 6,
            ..
        })
    ));
    assert!(matches!(
        &pieces[3],
        Err(ReadError::TooLong {
            number: 4,
            offset: 21,
            ..
        })
    ));
    let Ok(LogPiece::Line(last)) = &pieces[4] else {
        panic!("{:?}", pieces[4])
    };
    assert_eq!(
        (last.number, last.text.as_str(), last.end()),
        (5, "last", text.len() as u64)
    );
    let exact = [vec![b'x'; MAX_LINE], vec![b'\n']].concat();
    assert!(LogReader::new(&exact[..]).all(|piece| matches!(piece, Ok(LogPiece::Line(_)))));
    assert!(LogReader::new(&exact[..MAX_LINE]).all(|piece| matches!(piece, Ok(LogPiece::Torn(_)))));
}

#[test]
fn the_tail_is_that_of_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.log");
    let long = "y".repeat(MAX_LINE);
    let lines: Vec<String> = (0..500)
        .map(|n| format!("{n} {}", "x".repeat(n * 3)))
        .chain([long])
        .collect();
    fs::write(&path, lines.join("\n") + "\n" + "torn").unwrap();
    let len = fs::metadata(&path).unwrap().len();
    for count in [0, 1, 2, 77, 501, 900] {
        let end = tail(&path, count).unwrap();
        let texts: Vec<String> = end.lines.iter().map(|line| line.text.clone()).collect();
        assert_eq!(texts, lines[lines.len().saturating_sub(count)..]);
        assert_eq!((end.len, end.torn()), (len, 4));
        let bytes = fs::read(&path).unwrap();
        assert!(
            end.lines
                .iter()
                .all(|line| bytes[line.offset as usize..].starts_with(line.text.as_bytes()))
        );
    }
    fs::write(&path, "").unwrap();
    assert_eq!(tail(&path, 3).unwrap().lines, []);
    fs::write(&path, vec![0; 200_000]).unwrap();
    assert_eq!(
        (tail(&path, 3).unwrap().end, tail(&path, 3).unwrap().torn()),
        (0, 200_000)
    );
    fs::write(&path, [vec![b'x'; 200_000], b"\n".to_vec()].concat()).unwrap();
    assert!(matches!(tail(&path, 1), Err(ReadError::TooLong { .. })));
    assert!(matches!(
        tail(&dir.path().join("none"), 1),
        Err(ReadError::Io { .. })
    ));
}

fn lines(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_appender_appends_and_cuts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.log");
    let mut log = Appender::open(&path).unwrap();
    assert!(log.is_empty());
    log.append(&lines(&["a", "bc"])).unwrap();
    log.sync().unwrap();
    log.append(&[]).unwrap();
    assert_eq!(
        (log.len(), fs::read(&path).unwrap()),
        (5, b"a\nbc\n".to_vec())
    );
    drop(log);
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"to")
        .unwrap();
    let mut log = Appender::open(&path).unwrap();
    assert_eq!(log.len(), 7);
    assert!(matches!(
        log.truncate_to(4),
        Err(AppendError::Cut {
            offset: 4,
            len: 7,
            ..
        })
    ));
    assert!(matches!(
        log.truncate_to(8),
        Err(AppendError::Cut {
            offset: 8,
            len: 7,
            ..
        })
    ));
    log.truncate_to(tail(&path, 0).unwrap().end).unwrap();
    log.append_at(5, &lines(&["torn no more"])).unwrap();
    log.sync().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"a\nbc\ntorn no more\n");
    log.truncate_to(0).unwrap();
    assert_eq!((log.len(), fs::metadata(&path).unwrap().len()), (0, 0));
}

#[test]
fn the_appender_refuses_what_it_does_not_know() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.log");
    let mut log = Appender::open(&path).unwrap();
    let mut other = Appender::open(&path).unwrap();
    log.append(&lines(&["mine"])).unwrap();
    assert!(matches!(
        other.append(&lines(&["x"])),
        Err(AppendError::Length {
            expected: 0,
            actual: 5,
            ..
        })
    ));
    assert!(matches!(
        other.truncate_to(0),
        Err(AppendError::Length {
            expected: 0,
            actual: 5,
            ..
        })
    ));
    assert!(matches!(
        log.append_at(4, &lines(&["x"])),
        Err(AppendError::Length {
            expected: 4,
            actual: 5,
            ..
        })
    ));
    for wrong in ["", "two\nlines", "nul\0", "é", &"x".repeat(MAX_LINE + 1)] {
        assert!(matches!(
            log.append(&lines(&["fine", wrong])),
            Err(AppendError::Line {
                index: 2,
                count: 2,
                ..
            })
        ));
    }
    assert_eq!(fs::read(&path).unwrap(), b"mine\n");
    assert!(matches!(
        Appender::open(dir.path()),
        Err(AppendError::NotAFile { .. })
    ));
    assert!(matches!(
        Appender::open(&dir.path().join("no/audit.log")),
        Err(AppendError::Io { .. })
    ));
}

/// The test runs itself again under a limit on the size of files: a write then stops halfway, as on
/// a full disk.
#[cfg(unix)]
#[test]
fn a_write_that_fails_halfway_is_taken_back() {
    const LOG: &str = "GENTLY_TEST_LOG_UNDER_A_LIMIT";
    if let Some(path) = std::env::var_os(LOG) {
        let mut log = Appender::open(Path::new(&path)).unwrap();
        let batch = vec!["x".repeat(100); 30];
        let failed = (0..100).find_map(|_| log.append(&batch).err());
        assert!(
            matches!(
                failed,
                Some(AppendError::Io {
                    action: "append to",
                    ..
                })
            ),
            "{failed:?}"
        );
        assert_eq!(
            (log.len() % 3030, fs::metadata(path).unwrap().len()),
            (0, log.len())
        );
        assert!(!log.is_empty());
        log.append(&lines(&["there is room for this"])).unwrap();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let child = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "log::a_write_that_fails_halfway_is_taken_back"])
        .env(LOG, dir.path().join("audit.log"))
        .output()
        .unwrap();
    assert!(
        child.status.success(),
        "{}",
        String::from_utf8_lossy(&child.stdout)
    );
    assert!(
        fs::read(dir.path().join("audit.log"))
            .unwrap()
            .ends_with(b"x\nthere is room for this\n")
    );
}

fn hash() -> impl Strategy<Value = Hash32> {
    any::<[u8; 32]>().prop_map(Hash32::from_bytes)
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 1..40).prop_map(String::from_iter)
}

fn event() -> impl Strategy<Value = Event> {
    let code = || "[a-z0-9_.]{1,12}";
    let branch = || (1..=7u8).prop_map(|n| format!("branch-{n}"));
    let seq = || 1..=u64::MAX;
    let class = proptest::sample::select(DriftClass::ALL.to_vec());
    let header = any::<[[u8; 16]; 5]>()
        .prop_map(|parts| Header::from_bytes(parts.concat().try_into().unwrap()));
    let details = proptest::collection::btree_map("[a-z_]{1,8}", text(), 0..5);
    prop_oneof![
        (any::<u32>(), branch(), hash(), hash(), hash()).prop_map(
            |(btc, branch, block, auth, record)| Event::SessionStart {
                btc,
                branch,
                block,
                auth,
                record
            }
        ),
        (branch(), branch()).prop_map(|(from, to)| Event::BranchSwitch { from, to }),
        hash().prop_map(|auth| Event::AuthOk {
            auth: auth.short16()
        }),
        (code(), seq()).prop_map(|(reason, count)| Event::AuthFail { reason, count }),
        (hash(), seq()).prop_map(|(hash, seq)| Event::Prompt { hash, seq }),
        (hash(), seq(), text(), hash(), hash()).prop_map(|(hash, seq, model, chain, record)| {
            Event::Response {
                hash,
                seq,
                model,
                chain,
                record,
            }
        }),
        (seq(), text(), code(), hash()).prop_map(|(seq, model, reason, exchange)| {
            Event::ResponseFail {
                seq,
                model,
                reason,
                exchange,
            }
        }),
        (seq(), code(), hash()).prop_map(|(seq, reason, exchange)| Event::Denied {
            seq,
            reason,
            exchange
        }),
        (any::<u32>(), hash(), header).prop_map(|(btc, block, header)| Event::BtcAnchor {
            btc,
            block,
            header
        }),
        (class, code(), seq(), text()).prop_map(|(class, severity, seq, id)| Event::Drift {
            class,
            severity,
            seq,
            id
        }),
        (code(), text(), hash()).prop_map(|(kind, id, hash)| Event::Artifact { kind, id, hash }),
        (any::<u32>(), any::<u64>(), hash(), hash(), hash()).prop_map(
            |(btc, interactions, block, close, record)| {
                Event::SessionEnd {
                    btc,
                    interactions,
                    block,
                    close,
                    record,
                }
            }
        ),
        (0..=Seconds::MAX.get()).prop_map(|to| Event::ClockSet {
            to: Seconds::new(to).unwrap()
        }),
        ("x_[a-z0-9_]{0,8}", details).prop_map(|(event_type, map)| Event::Unknown {
            event_type,
            details: map.into_iter().collect()
        }),
    ]
}

fn line() -> impl Strategy<Value = (Hash32, Line)> {
    (
        hash(),
        any::<u32>(),
        0..=Seconds::MAX.get(),
        hash(),
        event(),
    )
        .prop_map(|(prev, height, time, id, event)| {
            let session = (!matches!(event, Event::ClockSet { .. })).then_some(id);
            (
                prev,
                Line::new(prev, height, Seconds::new(time).unwrap(), session, event),
            )
        })
}

proptest! {
    #[test]
    fn what_parses_prints_back((prev, line) in line()) {
        let text = line.text();
        prop_assert!(text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)));
        let parsed = Line::parse(text.as_bytes());
        prop_assert_eq!(parsed.as_ref(), Ok(&line));
        prop_assert!(line.follows(prev));
        prop_assert_eq!(line.check(), Ok(()));
    }

    #[test]
    fn a_changed_byte_never_goes_unseen((prev, line) in line(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = line.text().into_bytes();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        if let Ok(other) = Line::parse(&bytes) {
            prop_assert_ne!(&other, &line);
            prop_assert_eq!(other.text().into_bytes(), bytes);
            prop_assert!(!other.follows(prev));
        }
    }

    #[test]
    fn foreign_bytes_never_break_the_parser(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(line) = Line::parse(&bytes) {
            prop_assert_eq!(line.text().into_bytes(), bytes);
        }
    }
}
