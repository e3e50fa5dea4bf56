//! Code and pages cite `docs/format.md` by the numbers of its sections: each number is one that the
//! page has.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// What in our files may cite the format.
const FOLDERS: [&str; 6] = ["src", "scripts", "genesis", "docs", "tests/gently", "hooks"];
/// Files of which no other page but the format has sections.
const OF_THE_FORMAT: [&str; 2] = ["scripts/verify.py", "genesis/share.js"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The numbers of the sections of the format, and `12 step 3` for the steps of verifying.
fn numbers(page: &str) -> BTreeSet<String> {
    let (sections, _) = page.split_once("\n## Format questions\n").unwrap();
    let heading = Regex::new(r"(?m)^##+ (\d+(?:\.\d+)?) ").unwrap();
    let step = Regex::new(r"(?m)^(\d+)\. \*\*").unwrap();
    let (_, verifying) = sections.split_once("\n## 12 ").unwrap();
    let headings = heading
        .captures_iter(sections)
        .map(|found| found[1].to_owned());
    let steps = step
        .captures_iter(verifying)
        .map(|found| format!("12 step {}", &found[1]));
    headings.chain(steps).collect()
}

/// What a text cites of the format; of a file that is about nothing else, without its name, too.
fn cited(text: &str, is_of_the_format: bool) -> Vec<String> {
    const NUMBERS: &str = r"\d+(?:\.\d+)?(?: steps? \d+)?";
    // A comment goes on behind the signs that begin its next line.
    let breaks = Regex::new(r"\s*\n\s*(?://[/!]?|#)?\s*").unwrap();
    let text = breaks.replace_all(text, " ");
    let before = match is_of_the_format {
        true => r"",
        false => r"\bformat(?:\.md)?,? (?:at )?",
    };
    let citation = format!(
        r"(?i){before}\bsections? ({NUMBERS}(?:(?:, | and | to )(?:\d+(?:\.\d+)?)(?: steps? \d+)?)*)"
    );
    let number = Regex::new(NUMBERS).unwrap();
    let mut all = Vec::new();
    for found in Regex::new(&citation).unwrap().captures_iter(&text) {
        let numbers = number.find_iter(found.get(1).unwrap().as_str());
        all.extend(numbers.map(|one| one.as_str().replace("steps", "step")));
    }
    all
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, files),
            false => files.push(path),
        }
    }
}

#[test]
fn every_section_of_the_format_that_is_cited_is_there() {
    let known = numbers(&fs::read_to_string(root().join("docs/format.md")).unwrap());
    let mut files = Vec::new();
    for folder in FOLDERS {
        files_below(&root().join(folder), &mut files);
    }
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files {
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        let is_of_the_format = OF_THE_FORMAT.contains(&name.as_str());
        // This file has citations that lead nowhere.
        if name.ends_with("cited_sections.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        for number in cited(&text, is_of_the_format) {
            count += 1;
            if !known.contains(&number) {
                wrong.push(format!("{name}: section {number}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/format.md has no such section:\n{}",
        wrong.join("\n")
    );
    assert!(count > 120, "{count}");
}

/// A link to a section of the format says the number that its heading has.
#[test]
fn a_link_to_a_section_of_the_format_has_its_number() {
    let link =
        Regex::new(r"\[[^\]]*section\s+(\d+(?:\.\d+)?)\]\((?:(?:\.\./)?format\.md)?#(\d+)-[^)]*\)")
            .unwrap();
    let mut files = vec![root().join("README.md")];
    files_below(&root().join("docs"), &mut files);
    let mut count = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for found in link.captures_iter(&text) {
            count += 1;
            assert_eq!(found[1].replace('.', ""), found[2], "{}", file.display());
        }
    }
    assert!(count >= 8, "{count}");
}

#[test]
fn what_is_cited_is_found_in_every_spelling() {
    for (text, is_of_the_format, expected) in [
        ("/// A line (format, section 14).", false, vec!["14"]),
        (
            "//! Lines (format,\n//! sections 4, 5\n//! and 12 steps 3).",
            false,
            vec!["4", "5", "12 step 3"],
        ),
        ("as format section 9 says", false, vec!["9"]),
        (
            "(docs/format.md, sections 11.1 and\n// 11.2)",
            false,
            vec!["11.1", "11.2"],
        ),
        (
            "(AEGIS, section 6; format, sections 2 to 4)",
            false,
            vec!["2", "4"],
        ),
        ("RFC 6962, section 2.1", false, vec![]),
        ("# receipts, section 11", true, vec!["11"]),
    ] {
        assert_eq!(cited(text, is_of_the_format), expected, "{text}");
    }
    let known = numbers(
        "## 11 A\n### 11.1 B\n\n## 12 C\n1. **Genesis.** It.\n2. **All** of it.\n\n## Format questions\n### 3 D\n",
    );
    let expected = ["11", "11.1", "12", "12 step 1", "12 step 2"];
    assert!(known.iter().eq(expected.iter()), "{known:?}");
}
