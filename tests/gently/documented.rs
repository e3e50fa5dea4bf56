//! `docs/schema.md` names tests and functions beside each statement of its documents; each of them
//! exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

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

#[test]
fn every_test_that_the_schema_names_exists() {
    let schema = read("docs/schema.md");
    let named = Regex::new(r"`([a-z_]+)::([a-z0-9_]*)(…?)`").unwrap();
    let modules = read("tests/gently/main.rs");
    let mut count = 0;
    for found in named.captures_iter(&schema) {
        let (file, name, cut) = (&found[1], &found[2], &found[3]);
        if matches!(file, "log" | "ledger" | "store" | "gates" | "crate") && !name.is_empty() {
            continue;
        }
        if !modules.contains(&format!("mod {file};")) {
            let sources = sources_of(file);
            let is_there = sources
                .iter()
                .any(|source| source.contains(&format!("fn {name}")));
            assert!(
                is_there,
                "{}: neither a test nor a function of a source file {file}.rs",
                &found[0]
            );
            continue;
        }
        let tests = tests_of(file);
        let fits = |test: &String| {
            if cut.is_empty() && !name.is_empty() {
                test == name
            } else {
                test.starts_with(name)
            }
        };
        assert!(
            tests.iter().any(fits),
            "{}: no test of that name in {file}.rs: {tests:?}",
            &found[0]
        );
        count += 1;
    }
    assert!(count > 40, "{count}");
}

/// Each row of the AEGIS tables ends with whether it is here, or what has to come first.
#[test]
fn every_statement_of_the_document_has_its_state() {
    let schema = read("docs/schema.md");
    let (_, rest) = schema.split_once("## AEGIS Continuity Engine\n").unwrap();
    let (aegis, _) = rest.split_once("\n## ").unwrap();
    let mut rows = 0;
    for row in aegis.lines().filter(|line| line.starts_with("| ")) {
        let header = row.ends_with("| state |");
        let state = row
            .trim_end_matches('|')
            .rsplit(" | ")
            .next()
            .unwrap()
            .trim();
        assert!(
            header || state.starts_with("[x] ") || state.starts_with("[ ] later: "),
            "{row}"
        );
        rows += usize::from(!header);
    }
    assert!(rows > 90, "{rows}");
}
