//! A key that stands in a file twice: which it is, and where it stands the first time.
//!
//! The parser names the second place alone. What stands before that line is TOML by itself, and
//! shows which table is open there and where the key stands in it.

use toml_edit::{Document, Item, TableLike};

/// The parser's words for it.
pub const DUPLICATE: &str = "duplicate key";
/// Stands for a statement, to see which table it would go into.
const PROBE: &str = "a_key_that_nobody_has";

/// A key that stands in a file twice.
pub struct DuplicateKey {
    /// Its sections and its name, joined by dots.
    pub key: String,
    /// The line of the first time, where it can be told.
    pub first_line: Option<usize>,
}

impl DuplicateKey {
    /// The key that stands again at a byte of a text.
    pub fn at(text: &str, start: usize) -> DuplicateKey {
        Self::found(text, start).unwrap_or_else(|| {
            let rest = text.get(start..).unwrap_or_default();
            let end = rest.find(|c: char| c.is_whitespace() || "=]".contains(c));
            DuplicateKey {
                key: rest
                    .get(..end.unwrap_or(rest.len()))
                    .unwrap_or_default()
                    .to_owned(),
                first_line: None,
            }
        })
    }

    fn found(text: &str, start: usize) -> Option<DuplicateKey> {
        let line_start = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
        let before = text.get(..line_start)?;
        let line = text.get(line_start..)?.lines().next()?;
        let mut path = Vec::new();
        let statement = if line.trim_start().starts_with('[') {
            line.to_owned()
        } else {
            path = open_table(before)?;
            format!("{} = 0", line.split_once('=')?.0)
        };
        path.extend(only_path(&statement)?);
        let document = Document::parse(before).ok()?;
        let (depth, at) = first_place(document.as_table(), &path)?;
        path.truncate(depth);
        Some(DuplicateKey {
            key: joined(&path),
            first_line: Some(before.get(..at)?.matches('\n').count() + 1),
        })
    }
}

/// The keys of the table that a statement behind this text would go into.
fn open_table(before: &str) -> Option<Vec<String>> {
    let probed = format!("{before}{PROBE} = 0\n");
    let document = Document::parse(probed).ok()?;
    let mut path = Vec::new();
    leads_to(document.as_table(), &mut path).then_some(path)
}

fn leads_to(table: &dyn TableLike, path: &mut Vec<String>) -> bool {
    if table.contains_key(PROBE) {
        return true;
    }
    table.iter().any(|(name, item)| {
        path.push(name.to_owned());
        let found = item
            .as_table_like()
            .is_some_and(|table| leads_to(table, path));
        if !found {
            path.pop();
        }
        found
    })
}

/// The keys of a text that has one statement.
fn only_path(statement: &str) -> Option<Vec<String>> {
    let document = Document::parse(statement.to_owned()).ok()?;
    let mut path = Vec::new();
    let mut next: Option<&dyn TableLike> = Some(document.as_table());
    while let Some((name, item)) = next.and_then(|table| table.iter().next()) {
        path.push(name.to_owned());
        next = Item::as_table_like(item);
    }
    Some(path)
}

/// Where the last key of a path stands that is there; and how many keys lead to it.
fn first_place(root: &dyn TableLike, path: &[String]) -> Option<(usize, usize)> {
    let (mut table, mut found) = (Some(root), None);
    for (depth, name) in path.iter().enumerate() {
        let Some((key, item)) = table.and_then(|table| table.get_key_value(name)) else {
            break;
        };
        found = key.span().map(|span| (depth + 1, span.start));
        table = item.as_table_like();
    }
    found
}

/// A path as people type it: in quotes what has a dot or a slash in it.
fn joined(path: &[String]) -> String {
    let part = |name: &String| match name.contains(['.', '/', ':']) {
        true => format!("\"{name}\""),
        false => name.clone(),
    };
    path.iter().map(part).collect::<Vec<_>>().join(".")
}
