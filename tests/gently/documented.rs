//! The pages: their links lead somewhere, the guide is short and whole, and what
//! `docs/coverage.tsv` names beside each statement of the source documents exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

use crate::person::Person;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// `file::test` of every test of a file.
fn tests_of(file: &str) -> BTreeSet<String> {
    let test = Regex::new(
        r"(?s)#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn ([a-z0-9_]+)",
    )
    .unwrap();
    let source = read(&format!("tests/gently/{file}.rs"));
    test.captures_iter(&source)
        .map(|found| found[1].to_owned())
        .collect()
}

/// The source files of a name, in every folder.
fn sources_of(file: &str) -> Vec<String> {
    fn look(folder: &Path, name: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                look(&path, name, found);
            } else if path.file_name().is_some_and(|found| found == name) {
                found.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut found = Vec::new();
    look(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &format!("{file}.rs"),
        &mut found,
    );
    found
}

/// Adds every doc comment below a folder that is a pronoun or a question word alone.
fn look_for_empty_comments(folder: &Path, found: &mut Vec<String>) {
    const EMPTY: [&str; 24] = [
        "he", "here", "how", "it", "its", "itself", "one", "ours", "so", "that", "theirs", "them",
        "there", "these", "they", "this", "those", "what", "when", "where", "which", "who",
        "whose", "why",
    ];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            look_for_empty_comments(&path, found);
            continue;
        }
        let source = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<&str> = source.lines().map(str::trim).collect();
        for (n, line) in lines.iter().enumerate() {
            let is_doc = |n: usize| lines.get(n).is_some_and(|line| line.starts_with("///"));
            let is_alone = !is_doc(n + 1) && (n == 0 || !is_doc(n - 1));
            let Some(text) = line.strip_prefix("///").filter(|_| is_alone) else {
                continue;
            };
            let word = text.trim().trim_end_matches('.').to_lowercase();
            if EMPTY.contains(&word.as_str()) {
                found.push(format!("{}:{}: {line}", path.display(), n + 1));
            }
        }
    }
}

#[test]
fn every_doc_comment_says_something() {
    let mut found = Vec::new();
    look_for_empty_comments(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    assert!(
        found.is_empty(),
        "comments that say nothing:\n{}",
        found.join("\n")
    );
}

/// One statement of a source document.
struct Statement {
    document: String,
    statement: String,
    place: String,
    tests: String,
    state: String,
    row: String,
}

/// The rows of `docs/coverage.tsv`, each of six cells.
fn coverage() -> Vec<Statement> {
    let table = read("docs/coverage.tsv");
    let mut rows = table.lines();
    assert_eq!(
        rows.next(),
        Some("document\tsection\tstatement\twhere\ttest\tstate")
    );
    let statement = |row: &str| {
        let cells: Vec<&str> = row.split('\t').collect();
        let [document, section, statement, place, tests, state] = cells[..] else {
            panic!("{row}: not six cells")
        };
        assert!(
            cells.iter().all(|cell| *cell == cell.trim()),
            "{row}: blanks around a cell"
        );
        assert!(
            !section.is_empty() && !statement.is_empty(),
            "{row}: no section, or no statement"
        );
        let [document, statement, place, tests, state] =
            [document, statement, place, tests, state].map(str::to_owned);
        Statement {
            document,
            statement,
            place,
            tests,
            state,
            row: row.to_owned(),
        }
    };
    rows.map(statement).collect()
}

/// Whether a source file of that name, or the file of tests beside it, has this in it.
fn has(file: &str, text: &str) -> bool {
    let sources = [sources_of(file), sources_of(&format!("{file}_tests"))].concat();
    sources.iter().any(|source| source.contains(text))
}

/// What is wrong with one entry of the column of tests.
///
/// An entry is `file::test` of `tests/gently`, `file::` for all of them, `file.rs` for the tests of a
/// source file itself, `compile_fail:file.rs` for its examples that must not compile, or a path.
fn fault(named: &str) -> Option<String> {
    if let Some((file, name)) = named.split_once("::") {
        let modules = read("tests/gently/main.rs");
        if !modules.contains(&format!("mod {file};")) {
            return Some(format!("no file {file}.rs of tests"));
        }
        let tests = tests_of(file);
        let is_there = if name.is_empty() {
            !tests.is_empty()
        } else {
            tests.contains(name)
        };
        return (!is_there).then(|| format!("no such test in {file}.rs: {tests:?}"));
    }
    if let Some(file) = named.strip_prefix("compile_fail:") {
        let is_there = file
            .strip_suffix(".rs")
            .is_some_and(|file| has(file, "```compile_fail"));
        return (!is_there)
            .then(|| "no example that must not compile in a source file of that name".to_owned());
    }
    if let Some(file) = named.strip_suffix(".rs") {
        return (!has(file, "#[test]")).then(|| "no test in a source file of that name".to_owned());
    }
    let path = named.split(' ').next().unwrap_or_default();
    let is_there = path.contains('/') && Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists();
    (!is_there).then(|| "neither a test nor a file".to_owned())
}

#[test]
fn every_test_that_the_coverage_names_exists() {
    let mut count = 0;
    for row in coverage() {
        for named in row.tests.split("; ").filter(|named| !named.is_empty()) {
            assert_eq!(fault(named), None, "{named}, for '{}'", row.statement);
            count += 1;
        }
    }
    assert!(count > 150, "{count}");
}

/// Each statement is built and says where, or says what has to come first; none stands twice.
#[test]
fn every_statement_of_the_documents_has_its_state() {
    let mut known = BTreeSet::new();
    let mut counts = BTreeMap::new();
    for row in coverage() {
        let built = row.state == "here" && !row.place.is_empty();
        let later = row
            .state
            .strip_prefix("later: ")
            .is_some_and(|what| !what.is_empty());
        assert!(built || later, "{}", row.row);
        *counts.entry(row.document).or_insert(0) += 1;
        assert!(known.insert(row.row.clone()), "{} stands twice", row.row);
    }
    let least = [
        ("AEGIS", 106),
        ("AUA", 55),
        ("CIRIS", 79),
        ("DBL", 71),
        ("GentlyOS", 96),
    ];
    assert!(
        counts.keys().eq(least.map(|(document, _)| document).iter()),
        "{counts:?}"
    );
    assert!(
        least.iter().all(|(name, least)| counts[*name] >= *least),
        "{counts:?}"
    );
}

/// Every table and view of a new home is named on the page.
#[test]
fn the_schema_names_every_table() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let database = person.database();
    let mut names = database
        .prepare(
            "SELECT name FROM pragma_table_list \
             WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite%'",
        )
        .unwrap();
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(names.len() > 20, "{names:?}");
    let page = read("docs/schema.md");
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
}

/// The lines of a table in a section of docs/architecture.md, below its two heading lines.
fn table_of(section: &str) -> Vec<Vec<String>> {
    let page = read("docs/architecture.md");
    let (_, after) = page.split_once(&format!("\n## {section}\n")).unwrap();
    let section = after.split("\n## ").next().unwrap();
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split(" | ");
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(cells).collect()
}

#[test]
fn the_way_of_a_prompt_is_true() {
    let steps = table_of("One prompt, from the terminal to the screen");
    assert!(steps.len() > 20, "{}", steps.len());
    for step in steps {
        let [_, file, function] = step.as_slice() else {
            panic!("a step has three cells: {step:?}");
        };
        let (file, function) = (file.trim_matches('`'), function.trim_matches('`'));
        let declared = Regex::new(&format!(r"\bfn {function}\b")).unwrap();
        assert!(declared.is_match(&read(file)), "{file} has no {function}");
    }
}

#[test]
fn the_words_of_our_own_are_few() {
    let words = table_of("Words");
    assert!((20..=40).contains(&words.len()), "{}", words.len());
    for word in words {
        assert_eq!(word.len(), 2, "{word:?}");
    }
}

#[test]
fn every_room_is_in_the_table_of_rooms() {
    let rooms: Vec<String> = table_of("Rooms")
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    let named = |name: &str| {
        rooms
            .iter()
            .any(|cell| cell.contains(&format!("src/{name}")))
    };
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_root = ["lib", "main"].contains(&name.as_str());
        assert!(
            is_root || named(&name),
            "{name} has no line in the table of rooms"
        );
    }
}

/// Our own pages, by their path from the root of the repository.
fn pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = ["docs", "docs/guide"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        entries.map(move |entry| {
            format!(
                "{folder}/{}",
                entry.unwrap().file_name().into_string().unwrap()
            )
        })
    });
    std::iter::once("README.md".to_owned())
        .chain(listed.filter(|path| path.ends_with(".md")))
        .collect()
}

/// A page without its code, in which brackets are no links.
fn prose(page: &str) -> String {
    let mut fenced = false;
    let lines = page.lines().filter(|line| {
        fenced ^= line.starts_with("```");
        !fenced && !line.starts_with("    ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The places of a page that a link may name, as GitHub names them after headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").unwrap();
    let headings = prose(page);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let heading = link
                .replace_all(heading.trim_start_matches('#').trim(), "$1")
                .to_lowercase();
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let code = Regex::new(r"`[^`\n]*`").unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for path in pages() {
        let page = read(&path);
        for found in link.captures_iter(&code.replace_all(&prose(&page), "``")) {
            let target = &found[1];
            if target.contains("://") {
                continue;
            }
            count += 1;
            let (file, place) = target.split_once('#').unwrap_or((target, ""));
            let there = if file.is_empty() {
                root.join(&path)
            } else {
                root.join(&path).parent().unwrap().join(file)
            };
            let is_there = match fs::read_to_string(&there) {
                Ok(text) => place.is_empty() || anchors(&text).contains(place),
                Err(_) => there.is_dir() && place.is_empty(),
            };
            if !is_there {
                wrong.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "links that lead nowhere:\n{}",
        wrong.join("\n")
    );
    assert!(count > 150, "{count}");
}

/// A page of the guide is on one topic and read in one go; its index names every one of them once.
#[test]
fn the_guide_is_short_and_whole() {
    let index = read("docs/guide/README.md");
    for path in pages()
        .into_iter()
        .filter(|path| path.starts_with("docs/guide/"))
    {
        let page = read(&path);
        let (lines, words) = (page.lines().count(), page.split_whitespace().count());
        assert!(
            lines <= 100 && words <= 900,
            "{path}: {lines} lines, {words} words"
        );
        let name = path.trim_start_matches("docs/guide/");
        assert_eq!(
            index.matches(&format!("]({name})")).count(),
            usize::from(name != "README.md"),
            "{path}"
        );
    }
}

/// All names of files below a folder, and with them what the small text files among them say.
fn haystack(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        text.push_str(&format!("{}\n", path.file_name().unwrap().display()));
        if path.is_dir() {
            haystack(&path, text);
        } else if path
            .extension()
            .is_some_and(|kind| ["rs", "py", "snap"].iter().any(|known| kind == *known))
        {
            text.push_str(&fs::read_to_string(path).unwrap_or_default());
        }
    }
}

/// The rulings of the format are cited by their numbers: each stands once, and the tests and
/// vectors that it names are there.
#[test]
fn every_ruling_keeps_its_number_and_what_shows_it() {
    const RULINGS: u32 = 130;
    let page = read("docs/format.md");
    let (_, appendix) = page.split_once("\n## Format questions\n").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = String::new();
    haystack(&root.join("tests"), &mut known);
    let name = Regex::new(r"`([^`]+)`").unwrap();
    let mut numbers = Vec::new();
    for row in appendix
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| # "))
    {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let [number, _, _, shown] = cells[..] else {
            panic!("{row}: not four cells")
        };
        numbers.push(number.parse::<u32>().unwrap());
        for found in name.captures_iter(shown) {
            let named = &found[1];
            let is_path = ["src/", "tests/", "scripts/"]
                .iter()
                .any(|start| named.starts_with(start));
            let is_word = named.len() > 10
                && named
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
            assert!(
                !is_path || root.join(named).exists(),
                "{named} of ruling {number} is not there"
            );
            assert!(
                !is_word || known.contains(named),
                "{named} of ruling {number} is not among the tests"
            );
        }
    }
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(1..=RULINGS), "{numbers:?}");
}
