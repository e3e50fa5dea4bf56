//! A home with so many messages of 60 words, and searches in it.
//!
//! The messages are put into the database beside the one exchange that a recorder made, row by row
//! as that one has them, with an entry of the search index each: what is measured reads nothing
//! else. A million take minutes that way, and hours through a recorder.

use std::path::Path;
use std::time::{Duration, Instant};

use gently::app::look::search::{SearchPlace, SearchRequest, TypedSearch, search_in};
use gently::record::time::Seconds;
use gently::store::{Store, StoreError};
use rusqlite::{Connection, params};

use crate::history;

/// Words of a message.
const WORDS: usize = 60;
/// Different words.
const VOCABULARY: u64 = 30_000;
/// Exchanges of one conversation.
const LONG: i64 = 100;
/// Seconds between one exchange and the next.
const MINUTE: i64 = 60;
/// Exchanges of one session.
const SESSION: i64 = 500;

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

/// The columns of a table, each as it stands in the row that is copied, or as `?N` where it is another.
fn copied(database: &Connection, table: &str, other: &[(&str, usize)]) -> String {
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
        "INSERT INTO {table} ({}) SELECT {} FROM {table}",
        names.join(", "),
        values.join(", ")
    )
}

/// Makes the home.
pub fn make(home: &Path, messages: u64) {
    let begun = Instant::now();
    history::make(home, 1);
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
        &[("session_id", 1), ("ledger_session", 2), ("model_id", 3)],
    );
    let thread = copied(
        &database,
        "thread",
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
        &[("line", 1), ("turn_id", 2), ("thread_id", 3)],
    );
    let event = copied(
        &database,
        "thread_event",
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
    let (hash, line): (String, String) = database
        .query_row(
            "SELECT hash, line FROM log_line l JOIN llm_exchange e ON e.prompt_line = l.n LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let fields: Vec<&str> = line.split('|').collect();
    let dated = |time: i64| {
        let time = Seconds::new(time as u64).unwrap().to_string();
        let mut fields = fields.clone();
        fields[2] = &time;
        fields.join("|")
    };
    let mut dice = Dice(88_172_645_463_325_252);
    let id = |kind: u64, number: i64| {
        format!(
            "{kind:08x}-0000-8000-{:04x}-{:012x}",
            0x8000 + number % 0x4000,
            (number as u64).wrapping_mul(0x9e37_79b9_7f4b) & 0xffff_ffff_ffff
        )
    };
    let (mut session_id, mut thread_id) = (String::new(), String::new());
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
        // One session in fifty is of a rare model, one conversation in fifty of a project.
        let model = match number / SESSION % 50 {
            7 => "openai/rare-1b",
            even if even % 2 == 0 => "ollama/common-8b",
            _ => "observer",
        };
        if number % SESSION == 0 {
            session_id = id(1, number);
            let ledger = format!("{number:064x}");
            database
                .prepare_cached(&format!("{session} WHERE rowid = 1"))
                .unwrap()
                .execute(params![session_id, ledger, model])
                .unwrap();
        }
        if number % LONG == 0 {
            thread_id = id(2, number);
            let row = format!("{thread} WHERE rowid = 1");
            let (name, place) = (format!("talk {}", number / LONG), 10 + number % SESSION);
            database
                .prepare_cached(&row)
                .unwrap()
                .execute(params![thread_id, session_id, name, place])
                .unwrap();
            let project = (number / LONG % 50 == 7).then_some("project:000001");
            let row = format!("{conversation} ORDER BY thread_id LIMIT 1");
            database
                .prepare_cached(&row)
                .unwrap()
                .execute(params![thread_id, lines + 2 * LONG, LONG, project])
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
            put(
                "INSERT INTO log_line (n, hash, line) VALUES (?1, ?2, ?3)",
                &[&line, &hash, &dated(at)],
            );
        }
        for (by, turn_id) in [("user", &user), ("aurora", &aurora)] {
            n += 1;
            let text = dice.text();
            put(
                &format!("{turn} WHERE speaker = '{by}' AND n <= 2"),
                &[
                    turn_id,
                    &session_id,
                    &at,
                    &text,
                    &asked,
                    &n,
                    &format!("{n:064x}"),
                ],
            );
            put(
                "INSERT INTO turn_fts (rowid, content) VALUES (?1, ?2)",
                &[&n, &text],
            );
        }
        put(
            &format!("{exchange} WHERE exchange_id = '{first}'"),
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
        put(
            &format!("{thread_turn} WHERE turn_id = '{first}'"),
            &[&asked, &exchange_id, &thread_id],
        );
        for (kind, event_id, line, place) in [
            ("INTENT", &user, asked, 0),
            ("EXECUTION", &aurora, answered, 1),
        ] {
            let index = number % LONG * 2 + place;
            put(
                &format!("{event} WHERE turn_id = '{first}' AND kind = '{kind}'"),
                &[&thread_id, &index, event_id, &exchange_id, &line, &at],
            );
        }
        lines += 2;
    }
    database.execute_batch("COMMIT").unwrap();
    database
        .execute("UPDATE head SET lines = ?1", [lines + 1])
        .unwrap();
    database
        .execute(
            "INSERT INTO turn_fts (turn_fts, rank) VALUES ('merge', 500)",
            [],
        )
        .unwrap();
    println!(
        "{messages} messages of {WORDS} words in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
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

const SEARCHES: [(&str, Search); 12] = [
    ("a word", |dice| of(&dice.word())),
    ("a common word", common),
    ("three words", |dice| {
        of(&format!("{} {} {}", dice.word(), dice.word(), dice.word()))
    }),
    ("a phrase of two", |dice| {
        of(&format!(
            "\"{} {}\"",
            name(dice.roll(20)),
            name(dice.roll(20))
        ))
    }),
    ("a beginning of 4 letters", |dice| {
        of(&format!("{}*", &(name(dice.roll(128) + 128))[..4]))
    }),
    ("a beginning of 3 letters", |dice| {
        of(&format!("{}*", &name(dice.roll(128))[..3]))
    }),
    ("a common word, of a week", |dice| {
        let mut request = common(dice);
        request.since = Some(WEEK.to_owned());
        request
    }),
    ("a common word, in answers", |dice| {
        let mut request = common(dice);
        request.by_user = Some(false);
        request
    }),
    ("a common word, of a rare model", |dice| {
        let mut request = common(dice);
        request.model = Some("rare".to_owned());
        request
    }),
    ("a common word, of a conversation", |dice| {
        let mut request = common(dice);
        request.conversation = Some("talk 3".to_owned());
        request
    }),
    ("a beginning of 3, of a conversation", |dice| {
        let mut request = of(&format!("{}*", &name(dice.roll(128))[..3]));
        request.conversation = Some("talk 3".to_owned());
        request
    }),
    ("a common word, the best", |dice| {
        let mut request = common(dice);
        request.best = true;
        request
    }),
];

/// Searches so often, each kind by turns; gives the times of each.
pub fn measure(home: &Path, runs: usize) -> Vec<(&'static str, Vec<Duration>)> {
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
    let mut times: Vec<(&'static str, Vec<Duration>)> = SEARCHES
        .iter()
        .map(|(name, _)| (*name, Vec::new()))
        .collect();
    for _ in 0..runs {
        for ((_, search), (_, times)) in SEARCHES.iter().zip(&mut times) {
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
