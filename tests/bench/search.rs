//! A home with so many messages of 60 words: searches in it, its lists, its log, its migration.
//!
//! The messages are put into the database beside the one exchange that a recorder made, row by row
//! as that one has them, with an entry of the search index and a line of the log each: what is
//! measured reads nothing else. A million take minutes that way, and hours through a recorder.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gently::app::look::conversation::{ListRequest, PageRequest, list, messages};
use gently::app::look::search::{SearchPlace, SearchRequest, TypedSearch, search_in};
use gently::home::Home;
use gently::record::hash::Hash32;
use gently::record::log::chain::line_hash;
use gently::record::time::Seconds;
use gently::store::{Store, StoreError};
use rusqlite::{Connection, params};

use crate::history;

/// Words of a message.
const WORDS: usize = 60;
/// Different words.
const VOCABULARY: u64 = 30_000;
/// Exchanges of a conversation.
const SHORT: i64 = 5;
/// The exchange that the one long conversation begins with, and the one behind it.
const LONG: (i64, i64) = (500, 600);
/// Seconds between one exchange and the next.
const MINUTE: i64 = 60;
/// Exchanges of one session.
const SESSION: i64 = 500;
/// The projects: conversations here and there, and one tenth of all, the oldest but for a few.
const HERE_AND_THERE: &str = "desk";
const LONG_AGO: &str = "attic";

/// How many exchanges the conversation has that begins with this one; none that is in the middle of
/// one.
fn begins(number: i64) -> Option<i64> {
    let is_long = (LONG.0..LONG.1).contains(&number);
    match number {
        number if number == LONG.0 => Some(LONG.1 - LONG.0),
        number if !is_long && number % SHORT == 0 => Some(SHORT),
        _ => None,
    }
}

/// Numbers that look like chance, the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    /// A word, the more seldom the higher its number.
    fn word(&mut self) -> String {
        let most = self.roll(VOCABULARY) + 1;
        name(self.roll(most))
    }

    fn text(&mut self) -> String {
        let words: Vec<String> = (0..WORDS).map(|_| self.word()).collect();
        words.join(" ")
    }
}

/// The word of a number: syllables, so that beginnings are shared.
fn name(number: u64) -> String {
    const BEGIN: [&str; 16] = [
        "ba", "co", "di", "fe", "gu", "ka", "lo", "mi", "ne", "pu", "ra", "so", "ti", "ve", "wu",
        "za",
    ];
    const END: [&str; 8] = ["n", "r", "l", "t", "mp", "rk", "st", "nd"];
    let (mut rest, mut word) = (number, String::new());
    loop {
        word.push_str(BEGIN[(rest % 16) as usize]);
        word.push_str(END[(rest / 16 % 8) as usize]);
        rest /= 128;
        if rest == 0 {
            return word;
        }
    }
}

/// Puts the rows that are copied aside, and gives what adds such a row: each column as it stands there,
/// or as `?N` where it is another.
fn copied(database: &Connection, table: &str, rows: &str, other: &[(&str, usize)]) -> String {
    let aside = format!("CREATE TEMP TABLE one_{table} AS SELECT * FROM main.{table} {rows}");
    database.execute_batch(&aside).unwrap();
    let mut names = database
        .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
        .unwrap();
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let value = |name: &String| match other.iter().find(|(known, _)| known == name) {
        Some((_, number)) => format!("?{number}"),
        None => name.clone(),
    };
    let values: Vec<String> = names.iter().map(value).collect();
    format!(
        "INSERT INTO main.{table} ({}) SELECT {} FROM one_{table}",
        names.join(", "),
        values.join(", ")
    )
}

/// Makes the home.
pub fn make(gently: &str, home: &Path, messages: u64) {
    let begun = Instant::now();
    history::make(home, 1);
    for project in [HERE_AND_THERE, LONG_AGO] {
        run(gently, home, &["project", "new", project]);
    }
    let database = Connection::open(home.join("gently.db")).unwrap();
    let pragmas =
        "PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000";
    database.execute_batch(pragmas).unwrap();
    let mark: String = database
        .query_row("SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE type = 'trigger'", [], |row| row.get(0))
        .unwrap();
    database.execute_batch(&mark).unwrap();
    let (first, began): (String, i64) = database
        .query_row(
            "SELECT exchange_id, created_at FROM llm_exchange ORDER BY rowid LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let session = copied(
        &database,
        "chat_session",
        "WHERE rowid = 1",
        &[("session_id", 1), ("ledger_session", 2), ("model_id", 3)],
    );
    let thread = copied(
        &database,
        "thread",
        "WHERE rowid = 1",
        &[
            ("thread_id", 1),
            ("session_id", 2),
            ("name", 3),
            ("number", 4),
        ],
    );
    let conversation = copied(
        &database,
        "conversation",
        "LIMIT 1",
        &[
            ("thread_id", 1),
            ("last_line", 2),
            ("turns", 3),
            ("project", 4),
        ],
    );
    let exchange = copied(
        &database,
        "llm_exchange",
        &format!("WHERE exchange_id = '{first}'"),
        &[
            ("exchange_id", 1),
            ("session_id", 2),
            ("turn_user_id", 3),
            ("turn_aurora_id", 4),
            ("seq", 5),
            ("prompt_line", 6),
            ("outcome_line", 7),
            ("model", 8),
            ("created_at", 9),
            ("answered_at", 9),
        ],
    );
    let turn = copied(
        &database,
        "chat_turn",
        "WHERE n <= 2",
        &[
            ("turn_id", 1),
            ("session_id", 2),
            ("created_at", 3),
            ("content", 4),
            ("line", 5),
            ("n", 6),
            ("content_hash", 7),
        ],
    );
    let thread_turn = copied(
        &database,
        "thread_turn",
        &format!("WHERE turn_id = '{first}'"),
        &[("line", 1), ("turn_id", 2), ("thread_id", 3)],
    );
    let event = copied(
        &database,
        "thread_event",
        &format!("WHERE turn_id = '{first}'"),
        &[
            ("thread_id", 1),
            ("event_index", 2),
            ("event_id", 3),
            ("turn_id", 4),
            ("line", 5),
            ("created_at", 6),
        ],
    );
    let (mut lines, mut n): (i64, i64) = database
        .query_row(
            "SELECT (SELECT max(n) FROM log_line), (SELECT max(n) FROM chat_turn)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let line: String = database
        .query_row(
            "SELECT line FROM log_line l JOIN llm_exchange e ON e.prompt_line = l.n LIMIT 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let mut hash: Hash32 = database
        .query_row("SELECT hash FROM head", [], |row| row.get::<_, String>(0))
        .unwrap()
        .parse()
        .unwrap();
    let fields: Vec<&str> = line.split('|').collect();
    let dated = |time: i64| {
        let time = Seconds::new(time as u64).unwrap().to_string();
        let mut fields = fields.clone();
        fields[2] = &time;
        fields[1..].join("|")
    };
    let mut dice = Dice(88_172_645_463_325_252);
    // Ids look like chance, as those do that a recorder makes.
    let digest = |kind: u64, number: i64| Hash32::digest(format!("{kind} {number}").as_bytes());
    let id = |kind: u64, number: i64| {
        let digits = digest(kind, number).to_string();
        let (beginning, rest) = (&digits[..8], &digits[8..]);
        format!(
            "{beginning}-{}-8{}-8{}-{}",
            &rest[..4],
            &rest[4..7],
            &rest[7..10],
            &rest[10..22]
        )
    };
    let (mut session_id, mut thread_id, mut index) = (String::new(), String::new(), 0);
    let count = i64::try_from(messages / 2).unwrap();
    for number in 0..count {
        if number % 5000 == 0 {
            let ends = if number == 0 {
                "BEGIN"
            } else {
                "COMMIT; BEGIN"
            };
            database.execute_batch(ends).unwrap();
        }
        // One session in fifty is of a rare model.
        let model = match number / SESSION % 50 {
            7 => "openai/rare-1b",
            even if even % 2 == 0 => "ollama/common-8b",
            _ => "observer",
        };
        if number % SESSION == 0 {
            session_id = id(1, number);
            let ledger = digest(1, number).to_string();
            database
                .prepare_cached(&session)
                .unwrap()
                .execute(params![session_id, ledger, model])
                .unwrap();
        }
        if let Some(exchanges) = begins(number) {
            (thread_id, index) = (id(2, number), 0);
            let (name, place) = (format!("talk {number}"), 10 + number % SESSION);
            database
                .prepare_cached(&thread)
                .unwrap()
                .execute(params![thread_id, session_id, name, place])
                .unwrap();
            let project = match number / SHORT {
                talk if talk % 50 == 7 => Some("project:000001"),
                talk if (20..20 + count / SHORT / 10).contains(&talk) => Some("project:000002"),
                _ => None,
            };
            let newest = lines + 2 * exchanges.min(count - number) - 1;
            database
                .prepare_cached(&conversation)
                .unwrap()
                .execute(params![thread_id, newest, exchanges, project])
                .unwrap();
        }
        let at = began + number * MINUTE;
        let (asked, answered) = (lines + 1, lines + 2);
        let (exchange_id, user, aurora) = (id(3, number), id(4, number), id(5, number));
        let put = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            database
                .prepare_cached(sql)
                .unwrap()
                .execute(values)
                .unwrap();
        };
        for line in [asked, answered] {
            let rest = dated(at);
            hash = line_hash(hash, rest.as_bytes());
            put(
                "INSERT INTO log_line (n, hash, line) VALUES (?1, ?2, ?3)",
                &[&line, &hash.to_string(), &format!("{hash}|{rest}")],
            );
        }
        for (by, turn_id) in [("user", &user), ("aurora", &aurora)] {
            n += 1;
            let text = dice.text();
            put(
                &format!("{turn} WHERE speaker = '{by}'"),
                &[
                    turn_id,
                    &session_id,
                    &at,
                    &text,
                    &asked,
                    &n,
                    &digest(6, n).to_string(),
                ],
            );
            put(
                "INSERT INTO turn_fts (rowid, content) VALUES (?1, ?2)",
                &[&n, &text],
            );
        }
        put(
            &exchange,
            &[
                &exchange_id,
                &session_id,
                &user,
                &aurora,
                &(number % SESSION + 1),
                &asked,
                &answered,
                &model,
                &at,
            ],
        );
        put(&thread_turn, &[&asked, &exchange_id, &thread_id]);
        for (kind, event_id, line) in [("INTENT", &user, asked), ("EXECUTION", &aurora, answered)] {
            index += 1;
            put(
                &format!("{event} WHERE kind = '{kind}'"),
                &[&thread_id, &(index - 1), event_id, &exchange_id, &line, &at],
            );
        }
        lines += 2;
    }
    database.execute_batch("COMMIT").unwrap();
    database
        .execute(
            "UPDATE head SET lines = ?1, hash = ?2",
            (lines + 1, hash.to_string()),
        )
        .unwrap();
    database
        .execute(
            "INSERT INTO turn_fts (turn_fts, rank) VALUES ('merge', 500)",
            [],
        )
        .unwrap();
    println!(
        "{messages} messages of {WORDS} words in {} conversations, put straight into the tables and the search index \
         (not recorded one by one), in {:.1} s",
        (0..count)
            .filter(|number| begins(*number).is_some())
            .count(),
        begun.elapsed().as_secs_f64()
    );
}

/// Runs the program in a home, and takes nothing but its success for an answer.
fn run(gently: &str, home: &Path, args: &[&str]) -> String {
    let done = Command::new(gently)
        .args(args)
        .env("GENTLY_HOME", home)
        .env("GENTLY_ANCHOR_MODE", "off")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(done.status.success(), "{args:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// What stands for the week in the middle, until that is known.
const WEEK: &str = "a week";

/// One search, of which each is another.
type Search = fn(&mut Dice) -> SearchRequest;

fn of(line: &str) -> SearchRequest {
    let mut request = SearchRequest::of(TypedSearch::of_line(line).unwrap());
    request.place = SearchPlace::Turns;
    request
}

fn common(dice: &mut Dice) -> SearchRequest {
    of(&name(dice.roll(20)))
}

/// A common word, with one filter.
fn filtered(dice: &mut Dice, filter: impl Fn(&mut SearchRequest)) -> SearchRequest {
    let mut request = common(dice);
    filter(&mut request);
    request
}

/// What is measured, and the most milliseconds that it is to take.
const SEARCHES: [(&str, u32, Search); 18] = [
    ("a word", 20, |dice| of(&dice.word())),
    ("a common word", 20, common),
    ("three words", 20, |dice| {
        of(&format!("{} {} {}", dice.word(), dice.word(), dice.word()))
    }),
    ("a phrase of two", 20, |dice| {
        of(&format!(
            "\"{} {}\"",
            name(dice.roll(20)),
            name(dice.roll(20))
        ))
    }),
    ("a beginning of 4 letters", 20, |dice| {
        of(&format!("{}*", &(name(dice.roll(128) + 128))[..4]))
    }),
    ("a beginning of 3 letters", 50, |dice| {
        of(&format!("{}*", &name(dice.roll(128))[..3]))
    }),
    ("--since and --until, a week", 100, |dice| {
        filtered(dice, |request| request.since = Some(WEEK.to_owned()))
    }),
    ("--by model", 100, |dice| {
        filtered(dice, |request| request.by_user = Some(false))
    }),
    ("--model, every second session", 100, |dice| {
        filtered(dice, |request| request.model = Some("ollama".to_owned()))
    }),
    ("--model, one session in fifty", 100, |dice| {
        filtered(dice, |request| request.model = Some("rare".to_owned()))
    }),
    ("--conversation, the first", 100, |dice| {
        filtered(dice, |request| {
            request.conversation = Some("talk 0".to_owned());
        })
    }),
    ("--conversation, a long one", 100, |dice| {
        filtered(dice, |request| {
            request.conversation = Some("talk 500".to_owned());
        })
    }),
    ("--conversation, beginning of 3", 100, |dice| {
        let mut request = of(&format!("{}*", &name(dice.roll(128))[..3]));
        request.conversation = Some("talk 500".to_owned());
        request
    }),
    ("--project, here and there", 100, |dice| {
        filtered(dice, |request| {
            request.project = Some(HERE_AND_THERE.to_owned());
        })
    }),
    ("--project, long ago", 100, |dice| {
        filtered(dice, |request| request.project = Some(LONG_AGO.to_owned()))
    }),
    ("--in all", 100, |dice| {
        filtered(dice, |request| request.place = SearchPlace::All)
    }),
    ("--in items", 100, |dice| {
        filtered(dice, |request| request.place = SearchPlace::Items)
    }),
    // Every hit is read and compared: there is no target but what it takes.
    ("--best", 0, |dice| {
        filtered(dice, |request| request.best = true)
    }),
];

/// What something took, often, and the most milliseconds that it is to take; 0: there is no target.
pub type Measured = (&'static str, u32, Vec<Duration>);

/// Searches so often, each kind by turns; gives the times of each.
pub fn measure(home: &Path, runs: usize) -> Vec<Measured> {
    let store = Store::open_read_only(&home.join("gently.db")).unwrap();
    let (first, last) = store
        .reading(|store| {
            let lines = store.head()?.lines;
            Ok::<_, StoreError>((store.time_of_line(0)?, store.time_of_line(lines - 1)?))
        })
        .unwrap();
    let (first, last) = (first.unwrap().get(), last.unwrap().get());
    let middle = Seconds::new(first + (last - first) / 2).unwrap();
    let after = Seconds::new(middle.get() + 7 * 86_400).unwrap();
    let mut dice = Dice(7);
    let mut times: Vec<Measured> = SEARCHES
        .iter()
        .map(|(name, most, _)| (*name, *most, Vec::new()))
        .collect();
    for _ in 0..runs {
        for ((_, _, search), (_, _, times)) in SEARCHES.iter().zip(&mut times) {
            let mut request = search(&mut dice);
            if request.since.is_some() {
                request.since = Some(middle.to_string());
                request.until = Some(after.to_string());
            }
            let begun = Instant::now();
            let found = store.reading(|store| search_in(store, &request)).unwrap();
            times.push(begun.elapsed());
            assert!(found.hits.len() <= 20);
        }
    }
    times
}

/// The first page of the conversations, and the newest 50 messages of one, each opened anew.
pub fn lists(home: &Path, runs: usize) -> Vec<Measured> {
    let home = Home::open(home).unwrap().unwrap();
    let (mut listed, mut shown) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let request = ListRequest {
            project: None,
            all: true,
            archived: false,
            most: 20,
            before: None,
        };
        let begun = Instant::now();
        let found = list(&home, &request).unwrap();
        listed.push(begun.elapsed());
        assert_eq!(found.conversations.len(), 20);
        let request = PageRequest {
            id: "talk 500".to_owned(),
            most: 50,
            before: None,
            after: None,
        };
        let begun = Instant::now();
        let page = messages(&home, &request).unwrap();
        shown.push(begun.elapsed());
        assert_eq!(page.messages.len(), 50);
    }
    vec![
        ("conversation list", 30, listed),
        ("conversation show, 50 messages", 20, shown),
    ]
}

/// Walks along the log with the program, and says how many lines it read in a second.
pub fn audit(gently: &str, home: &Path) {
    let begun = Instant::now();
    let said = run(gently, home, &["doctor", "--check-audit", "--json"]);
    let seconds = begun.elapsed().as_secs_f64();
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let lines = said["lines"].as_u64().unwrap();
    println!(
        "{:42} {:8.0} lines a second: {lines} in {seconds:.2} s   (target: 333333 a second)",
        "doctor --check-audit",
        lines as f64 / seconds
    );
}

/// Takes the tables of conversations away and lets the program make them again: killed half way,
/// begun anew, and once more without that.
pub fn migration(gently: &str, home: &Path) {
    let exchanges: u32 = Connection::open(home.join("gently.db"))
        .unwrap()
        .query_row("SELECT count(*) FROM llm_exchange", [], |row| row.get(0))
        .unwrap();
    let command = || {
        let mut command = Command::new(gently);
        command
            .args(["thread", "list"])
            .env("GENTLY_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    };
    let timed = || {
        let begun = Instant::now();
        assert!(command().status().unwrap().success());
        begun.elapsed().as_secs_f64()
    };
    before_conversations(&home.join("gently.db"));
    // A list of all threads takes its time, too.
    let (first, list) = (timed(), timed());
    before_conversations(&home.join("gently.db"));
    let mut killed = command().spawn().unwrap();
    std::thread::sleep(Duration::from_secs_f64((first - list).max(0.0) / 2.0));
    let was_at_it = killed.try_wait().unwrap().is_none();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let anew = timed() - list;
    println!(
        "{:42} {:8.2} s for {exchanges} exchanges; {}, begun anew {anew:.2} s   (target: {:.0} s)",
        "migration",
        first - list,
        match was_at_it {
            true => "killed half way",
            false => "over before it could be killed",
        },
        f64::from(exchanges) * 60.0 / 100_000.0
    );
}

/// The database as the first migration alone leaves it.
fn before_conversations(path: &Path) {
    const FIRST: &str = include_str!("../../migrations/sqlite/0001_home.sql");
    const OBJECTS: &str =
        "SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'index', 'table')
        AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'refinery%'";
    let objects = |database: &Connection| -> Vec<(String, String)> {
        let mut statement = database.prepare(OBJECTS).unwrap();
        let names = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        names.unwrap().map(Result::unwrap).collect()
    };
    let only_first = Connection::open_in_memory().unwrap();
    only_first.execute_batch(FIRST).unwrap();
    let known = objects(&only_first);
    let database = Connection::open(path).unwrap();
    let all = objects(&database);
    // Views before the tables that they are over.
    for kind in ["view", "index", "table"] {
        let of_kind = all.iter().filter(|(of, _)| of == kind);
        for (_, name) in of_kind.filter(|object| !known.contains(object)) {
            database
                .execute_batch(&format!("DROP {kind} IF EXISTS {name}"))
                .unwrap();
        }
    }
    let marks = "DELETE FROM refinery_schema_history WHERE version > 1; PRAGMA user_version = 0;
                 PRAGMA wal_checkpoint(TRUNCATE);";
    database.execute_batch(marks).unwrap();
}

/// A terminal in front of a chat: prints how many milliseconds its prompt took to stand there.
const TERMINAL: &str = r#"
import os, pty, sys, time
begun = time.monotonic()
child, master = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], [sys.argv[1], "chat"])
shown = b""
while b"> " not in shown.replace(b"=> ", b""):
    shown += os.read(master, 65536)
print((time.monotonic() - begun) * 1000)
os.write(master, b"\x04")
while True:
    try:
        if not os.read(master, 65536):
            break
    except OSError:
        break
os.waitpid(child, 0)
"#;

/// How long the first prompt of a chat takes; none where there is no python3 to make a terminal.
pub fn first_prompts(gently: &str, home: &Path, runs: usize) -> Option<Measured> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let done = Command::new("python3")
            .args(["-c", TERMINAL, gently])
            .env("GENTLY_HOME", home)
            .env("GENTLY_ANCHOR_MODE", "off")
            .env("TERM", "xterm")
            .output()
            .ok()?;
        let said = String::from_utf8(done.stdout).unwrap();
        let milliseconds: f64 = said.trim().parse().expect("a prompt");
        times.push(Duration::from_secs_f64(milliseconds / 1000.0));
    }
    Some(("chat, the first prompt", 100, times))
}
