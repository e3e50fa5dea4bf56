//! A copy of the floor table of `docs/architecture.md`, held against the imports of `src/`.
//!
//! Counted are all paths that start at `crate::`, `gently::`, or climb with `super::`, in `use`
//! lines and inline. Comments, doc comments, string literals and `#[cfg(test)]` items are cut out
//! first.

use std::fs;
use std::path::{Path, PathBuf};

/// What a module may import besides itself: whole modules, or paths inside one.
fn allowed(module: &str) -> Option<&'static [&'static str]> {
    const BELOW_5: &[&str] = &[
        "os",
        "net",
        "record",
        "govern",
        "continuity",
        "anchor",
        "sight",
        "keys",
        "log",
        "ledger",
        "store",
        "config",
        "import",
        "recorder",
        "models",
        "session",
        "ask",
        "home",
        "backup",
        "stamp",
        "witness",
    ];
    // Reading halves only: nothing that writes, and no database.
    const VERIFY: &[&str] = &["os", "record", "log::read", "ledger::read", "ledger::Oid"];
    // The store's queries and the rows they return; neither `Store` nor `WriteStore`.
    const AUDIT: &[&str] = &[
        "record",
        "govern",
        "continuity",
        "log::read",
        "ledger::read",
        "ledger::Oid",
        "verify",
        "store::ReadStore",
        "store::StoreError",
        "store::AppliedMark",
        "store::ArtifactFilter",
        "store::MissingCommitments",
        "store::ArtifactRefRow",
        "store::ArtifactRow",
        "store::AssertionRow",
        "store::AuthKeyRow",
        "store::CommitRow",
        "store::ContextRefRow",
        "store::ContextRows",
        "store::DriftRow",
        "store::EventRow",
        "store::IntentRow",
        "store::ExchangeRow",
        "store::ExchangeRows",
        "store::LedgerHead",
        "store::MeasureRow",
        "store::ReferredText",
        "store::SessionRow",
        "store::ThreadRow",
        "store::ThreadTurnRow",
        "store::TurnRow",
    ];
    Some(match module {
        // Floor 0.
        "os" | "net" | "record" => &[],
        // Floor 1.
        "govern" => &["record"],
        "continuity" => &["record", "govern"],
        // Floor 2: not each other.
        "anchor" => &["os", "net", "record"],
        "sight" | "keys" | "log" | "ledger" | "store" | "config" | "import" => &["os", "record"],
        // Floor 3. The types of the turn are its door: it takes a compiled prompt and a judgement.
        "recorder" => &[
            "os",
            "record",
            "govern",
            "continuity",
            "keys",
            "log",
            "ledger",
            "store",
        ],
        "verify" => VERIFY,
        // Floor 4.
        "audit" => AUDIT,
        "models" => &["net", "record", "recorder"],
        // Floor 5: all below, and one another; never the verifier or the audit.
        "session" | "ask" | "home" | "backup" | "stamp" | "witness" => BELOW_5,
        // Floor 6: the desk, all below it.
        "app" => &["*"],
        // Floor 7: what people see of it.
        "view" => &["*"],
        // Floor 8: all, but not each other.
        "cli" | "gateway" => &["*"],
        _ => return None,
    })
}

/// Why `path` (without its leading `crate`) may not be imported from `module`, if it may not.
fn fault(module: &str, path: &[String]) -> Option<String> {
    let target = path.first()?;
    if target == module {
        return None;
    }
    let joined = path.join("::");
    if allowed(target).is_none() {
        return Some(format!(
            "{module} names crate::{joined}, and '{target}' is not in the floor table"
        ));
    }
    let doors = ["cli", "gateway"];
    let fine = match allowed(module) {
        None => return Some(format!("'{module}' is not in the floor table")),
        // Nothing below reads a view: they are what is shown, not what is worked with.
        Some(["*"]) => {
            !doors.contains(&target.as_str()) && (target != "view" || doors.contains(&module))
        }
        Some(list) => list
            .iter()
            .any(|allowed| joined == *allowed || joined.starts_with(&format!("{allowed}::"))),
    };
    (!fine).then(|| format!("{module} may not import crate::{joined}"))
}

/// Replaces comments and literals by spaces, so that what is left is code.
fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skipped(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(
                chars[at..end]
                    .iter()
                    .map(|c| if *c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        }
    }
    out
}

/// The end of the comment or literal that starts at `at`; `at` itself when none does.
fn skipped(chars: &[char], at: usize) -> usize {
    let next = |offset: usize| chars.get(at + offset).copied();
    let from = |offset: usize| at + offset..chars.len();
    match (chars[at], next(1)) {
        ('/', Some('/')) => from(2).find(|i| chars[*i] == '\n').unwrap_or(chars.len()),
        ('/', Some('*')) => block_comment_end(chars, at),
        ('"', _) => string_end(chars, at + 1),
        ('r', Some('"' | '#')) if at == 0 || !is_word(chars[at - 1]) || chars[at - 1] == 'b' => {
            raw_string_end(chars, at)
        }
        ('\'', Some('\\')) => from(3)
            .find(|i| chars[*i] == '\'')
            .map_or(chars.len(), |i| i + 1),
        ('\'', Some(_)) if next(2) == Some('\'') => at + 3,
        _ => at,
    }
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn raw_string_end(chars: &[char], start: usize) -> usize {
    let hashes = chars[start + 1..].iter().take_while(|c| **c == '#').count();
    let open = start + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return start; // r#keyword
    }
    let closes = |i: &usize| {
        chars[*i] == '"'
            && chars[i + 1..]
                .iter()
                .take(hashes)
                .filter(|c| **c == '#')
                .count()
                == hashes
    };
    (open + 1..chars.len())
        .find(closes)
        .map_or(chars.len(), |i| i + 1 + hashes)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Cuts out every item that stands under `#[cfg(test)]`: to its `;`, or to its matching brace.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::new();
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        out.push_str(&rest[..start]);
        rest = &rest[start + MARK.len()..];
        let mut depth = 0usize;
        let end = rest.char_indices().find(|(_, c)| match c {
            '{' => {
                depth += 1;
                false
            }
            '}' => {
                depth = depth.saturating_sub(1);
                depth == 0
            }
            ';' => depth == 0,
            _ => false,
        });
        rest = end.map_or("", |(i, _)| &rest[i + 1..]);
    }
    out.push_str(rest);
    out
}

/// Reads the path that stands at the head of `text` and spreads its braces out.
fn paths(text: &str) -> Vec<Vec<String>> {
    let text = text.trim_start();
    if let Some(inner) = text.strip_prefix('{') {
        return branches(inner).into_iter().flat_map(paths).collect();
    }
    let name: String = text.chars().take_while(|c| is_word(*c)).collect();
    if name.is_empty() {
        return vec![if text.starts_with('*') {
            vec!["*".to_owned()]
        } else {
            Vec::new()
        }];
    }
    let after = text[name.len()..].trim_start();
    let tails = match after.strip_prefix("::") {
        Some(more) => paths(more),
        None => vec![Vec::new()],
    };
    tails
        .into_iter()
        .map(|tail| std::iter::once(name.clone()).chain(tail).collect())
        .collect()
}

/// The comma-separated parts up to the brace that closes this group.
fn branches(inner: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0usize, 0, Vec::new());
    for (i, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                found.push(&inner[start..i]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&inner[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    found.retain(|part| !part.trim().is_empty());
    found
}

/// All paths of a file that lead somewhere in the crate, counted from its root.
fn imports(module: &[String], source: &str) -> Vec<Vec<String>> {
    let code = without_tests(&code_only(source));
    let mut found = Vec::new();
    for (start, _) in code.match_indices("::") {
        let head: String = code[..start]
            .chars()
            .rev()
            .take_while(|c| is_word(*c))
            .collect();
        let before = code[..start - head.len()].chars().next_back();
        let word: String = head.chars().rev().collect();
        let tails = || paths(&code[start + 2..]);
        match word.as_str() {
            // `use crate::{…}` and `crate::a::b`; a path that goes on from another is not a start.
            "crate" | "gently" if before != Some(':') => found.extend(tails()),
            "super" if before != Some(':') => {
                found.extend(tails().into_iter().filter_map(|tail| climbed(module, tail)))
            }
            _ => {}
        }
    }
    found.retain(|path| !path.is_empty());
    found
}

/// `super::tail` seen from the crate's root; none when it stays inside its top module.
fn climbed(module: &[String], tail: Vec<String>) -> Option<Vec<String>> {
    let more = tail.iter().take_while(|name| *name == "super").count();
    let keep = module.len().checked_sub(1 + more)?;
    Some(
        module[..keep]
            .iter()
            .cloned()
            .chain(tail.into_iter().skip(more))
            .collect(),
    )
}

/// `src/store/sqlite.rs` → `store`, `sqlite`; `mod.rs` names its folder.
fn module_of(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> = file
        .with_extension("")
        .iter()
        .map(|p| p.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

fn faults(file: &Path, source: &str) -> Vec<String> {
    let module = module_of(file);
    let Some(top) = module.first() else {
        return Vec::new();
    };
    let here: Vec<String> = match top.as_str() {
        // The crate root declares the floors; the program calls one door.
        "lib" => imports(&[], source)
            .iter()
            .map(|path| format!("lib imports {}", path.join("::")))
            .collect(),
        "main" => imports(&[], source)
            .iter()
            .filter(|path| path.first().is_some_and(|first| first != "cli"))
            .map(|path| format!("main imports {}, not cli alone", path.join("::")))
            .collect(),
        _ => imports(&module, source)
            .iter()
            .filter_map(|path| fault(top, path))
            .collect(),
    };
    here.into_iter()
        .map(|what| format!("src/{}: {what}", file.display()))
        .collect()
}

fn sources(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !is_test_file(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// `x_tests.rs` and `tests.rs` are test modules in a file of their own, and may look anywhere.
fn is_test_file(path: &Path) -> bool {
    path.file_stem()
        .is_some_and(|stem| stem.to_string_lossy().ends_with("tests"))
}

#[test]
fn imports_go_downward() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources(&root);
    assert!(
        files.len() > 20,
        "only {} files found below {}",
        files.len(),
        root.display()
    );
    let found: Vec<String> = files
        .iter()
        .flat_map(|path| {
            faults(
                path.strip_prefix(&root).unwrap(),
                &fs::read_to_string(path).unwrap(),
            )
        })
        .collect();
    assert!(
        found.is_empty(),
        "against the floor table (docs/architecture.md):\n{}",
        found.join("\n")
    );
}

/// The page and this copy of it name the same modules, and `src/` has no other.
#[test]
fn the_page_names_every_module_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let (_, after) = page.split_once("\n## Floors\n").unwrap();
    let rows = after.lines().filter(|line| line.starts_with("| "));
    let rows = rows.filter_map(|line| line.split(" | ").nth(1));
    let rows = rows.take_while(|cell| *cell != "file").skip(1);
    let mut named: Vec<&str> = rows
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    named.sort_unstable();
    for name in &named {
        assert!(allowed(name).is_some(), "{name} is not held");
    }
    named.retain(|name| *name != "gateway");
    let entries = fs::read_dir(root.join("src")).unwrap();
    let mut modules: Vec<String> = entries
        .map(|entry| module_of(Path::new(&entry.unwrap().file_name())).concat())
        .filter(|name| !["lib", "main"].contains(&name.as_str()))
        .collect();
    modules.sort_unstable();
    modules.dedup();
    assert_eq!(named, modules);
}

/// What only a door may say: words on a screen, and the end of the process.
fn printing(source: &str) -> Vec<&'static str> {
    const WORDS: [&str; 8] = [
        "println!",
        "print!",
        "eprintln!",
        "eprint!",
        "io::stdout(",
        "io::stderr(",
        "io::stdin(",
        "process::exit",
    ];
    let code = code_only(source);
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    WORDS
        .into_iter()
        .filter(|word| code.contains(word))
        .collect()
}

#[test]
fn only_a_door_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let inside = |path: &&PathBuf| {
        let file = path.strip_prefix(&root).unwrap();
        // A deadline that a door sets ends the process where nothing else can.
        let ends = file == Path::new("main.rs") || file == Path::new("os.rs");
        !file.starts_with("cli") && !file.starts_with("gateway") && !ends
    };
    let files = sources(&root);
    let found: Vec<String> = files
        .iter()
        .filter(inside)
        .map(|path| (path, printing(&fs::read_to_string(path).unwrap())))
        .filter(|(_, words)| !words.is_empty())
        .map(|(path, words)| format!("{}: {}", path.display(), words.join(", ")))
        .collect();
    assert!(
        found.is_empty(),
        "only a door prints:\n{}",
        found.join("\n")
    );
    assert_eq!(
        printing("fn f() { println!(\"\") } // print!"),
        ["println!"]
    );
    assert_eq!(
        printing("/* eprint! */ fn f() { std::process::exit(1) }"),
        ["process::exit"]
    );
}

/// Whether code is written for one database: it names its room, or its crate.
fn names_a_database(source: &str) -> bool {
    let code = without_tests(&code_only(source));
    let module = code.replace("mod sqlite;", "");
    ["sqlite::", "rusqlite", "refinery"]
        .iter()
        .any(|name| module.contains(name))
}

/// Queries are written against the driver; which database a home has is said where it is opened. Those
/// of other programs are what they are, and are read in one place.
#[test]
fn one_file_says_which_database_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources(&root);
    let files = files.iter().map(|path| path.strip_prefix(&root).unwrap());
    let mut naming: Vec<&Path> = files
        .filter(|file| !file.starts_with("store/sqlite"))
        .filter(|file| names_a_database(&fs::read_to_string(root.join(file)).unwrap()))
        .collect();
    naming.sort_unstable();
    // Databases of other programs are read as what they are.
    let ours = ["import/database.rs", "store/open.rs"].map(Path::new);
    assert_eq!(naming, ours);
    assert!(names_a_database("use rusqlite::Connection;"));
    assert!(names_a_database("use super::sqlite::Sqlite;"));
    assert!(!names_a_database(
        "// rusqlite\nmod sqlite;\n#[cfg(test)]\nfn f() { rusqlite::open() }"
    ));
}

#[test]
fn made_up_violations_are_caught() {
    for (file, source) in [
        ("record/hash.rs", "use crate::govern::kernel::Kernel;"),
        ("record/hash.rs", "use super::super::store::Store;"),
        ("govern/mod.rs", "use crate::continuity;"),
        (
            "log/append.rs",
            "use crate::{record::hash::Hash32, ledger::write};",
        ),
        (
            "store/sqlite.rs",
            "fn f() -> crate::log::read::Line { todo() }",
        ),
        ("config.rs", "use crate::anchor;"),
        ("recorder/mod.rs", "use crate::models::Model;"),
        ("recorder/batch/failpoint.rs", "use crate::anchor::agree;"),
        ("models/openai.rs", "use crate::session;"),
        ("verify/chain.rs", "use crate::log::append::Appender;"),
        (
            "verify/mod.rs",
            "use crate::ledger::{read::Reader, write::Writer};",
        ),
        ("audit/rows/database.rs", "use crate::store::Store;"),
        (
            "audit/rows/database.rs",
            "use crate::store::{ReadStore, WriteStore};",
        ),
        (
            "audit/rows/database.rs",
            "use crate::store::sqlite::Database;",
        ),
        ("verify/mod.rs", "use crate::recorder;"),
        ("verify/mod.rs", "use crate::store::ReadStore;"),
        ("verify/checker.rs", "use crate::audit::DatabaseAudit;"),
        ("audit/mod.rs", "use crate::recorder;"),
        ("ask.rs", "use crate::audit;"),
        ("verify/mod.rs", "use crate::log::*;"),
        ("ask.rs", "use crate::verify;"),
        ("session.rs", "use crate::cli::wire;"),
        ("gateway/mod.rs", "use crate::cli::args;"),
        ("app/find.rs", "use crate::cli::show;"),
        ("session.rs", "use crate::app::find;"),
        ("verify/mod.rs", "use crate::app::find;"),
        ("attic/mod.rs", "use crate::record::hash;"),
        ("ask.rs", "use crate::attic;"),
        (
            "ask.rs",
            "/* one */ // two\nlet c = '\"'; crate::verify::run();",
        ),
        ("lib.rs", "use crate::record::hash::Hash32;"),
        ("main.rs", "use gently::store::sqlite;"),
    ] {
        assert_eq!(faults(Path::new(file), source).len(), 1, "{file}: {source}");
    }
}

#[test]
fn what_the_table_allows_passes() {
    for (file, source) in [
        (
            "record/log/chain.rs",
            "use super::hash::Hash32; use crate::record::time::Seconds;",
        ),
        (
            "continuity/gates.rs",
            "use crate::govern::kernel; use crate::record::bundle::{self, Bundle};",
        ),
        (
            "verify/mod.rs",
            "use crate::{os, log::read, ledger::{Oid, read::Reader}};",
        ),
        (
            "audit/mod.rs",
            "use crate::{verify::Report, log::read, store::{ExchangeRow, ReadStore}};",
        ),
        (
            "ask.rs",
            "use crate::session::Session; use crate::models::{Model, observer::Observer};",
        ),
        (
            "cli/ask/mod.rs",
            "use crate::ask; use super::wire; use crate::verify::report::Report;",
        ),
        ("main.rs", "fn main() { gently::cli::run() }"),
        (
            "record/time.rs",
            "//! see crate::store\n/// crate::log\nconst S: &str = \"crate::log\"; /* crate::cli */",
        ),
        (
            "record/time.rs",
            "const S: &str = r#\"a \" crate::log\"#; fn f<'a>(x: &'a str) -> char { '\\'' }",
        ),
        (
            "record/time.rs",
            "#[cfg(test)]\nmod tests { use crate::store; fn f() { { } } }\n#[cfg(test)]\nuse crate::log;",
        ),
    ] {
        assert_eq!(
            faults(Path::new(file), source),
            Vec::<String>::new(),
            "{file}: {source}"
        );
    }
}
