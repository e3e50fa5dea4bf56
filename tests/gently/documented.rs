//! The pages: their links lead somewhere, the guide is short and whole, and what `docs/schema.md` names beside each
//! statement of its documents exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// `file::test` of every test of a file.
fn tests_of(file: &str) -> BTreeSet<String> {
    let test = Regex::new(r"(?s)#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn ([a-z0-9_]+)").unwrap();
    let source = read(&format!("tests/gently/{file}.rs"));
    test.captures_iter(&source).map(|found| found[1].to_owned()).collect()
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
    look(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &format!("{file}.rs"), &mut found);
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
            let is_there = sources.iter().any(|source| source.contains(&format!("fn {name}")));
            assert!(is_there, "{}: neither a test nor a function of a source file {file}.rs", &found[0]);
            continue;
        }
        let tests = tests_of(file);
        let fits =
            |test: &String| if cut.is_empty() && !name.is_empty() { test == name } else { test.starts_with(name) };
        assert!(tests.iter().any(fits), "{}: no test of that name in {file}.rs: {tests:?}", &found[0]);
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
        let state = row.trim_end_matches('|').rsplit(" | ").next().unwrap().trim();
        assert!(header || state.starts_with("[x] ") || state.starts_with("[ ] later: "), "{row}");
        rows += usize::from(!header);
    }
    assert!(rows > 90, "{rows}");
}

/// Our own pages, by their path from the root of the repository.
fn pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = ["docs", "docs/guide"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        entries.map(move |entry| format!("{folder}/{}", entry.unwrap().file_name().into_string().unwrap()))
    });
    std::iter::once("README.md".to_owned()).chain(listed.filter(|path| path.ends_with(".md"))).collect()
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
            let heading = link.replace_all(heading.trim_start_matches('#').trim(), "$1").to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
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
            let there = if file.is_empty() { root.join(&path) } else { root.join(&path).parent().unwrap().join(file) };
            let is_there = match fs::read_to_string(&there) {
                Ok(text) => place.is_empty() || anchors(&text).contains(place),
                Err(_) => there.is_dir() && place.is_empty(),
            };
            if !is_there {
                wrong.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    assert!(count > 150, "{count}");
}

/// A page of the guide is on one topic and read in one go; its index names every one of them once.
#[test]
fn the_guide_is_short_and_whole() {
    let index = read("docs/guide/README.md");
    for path in pages().into_iter().filter(|path| path.starts_with("docs/guide/")) {
        let page = read(&path);
        let (lines, words) = (page.lines().count(), page.split_whitespace().count());
        assert!(lines <= 100 && words <= 900, "{path}: {lines} lines, {words} words");
        let name = path.trim_start_matches("docs/guide/");
        assert_eq!(index.matches(&format!("]({name})")).count(), usize::from(name != "README.md"), "{path}");
    }
}
