//! Taking a key out of a file's text, with its line and nothing else: comments and order stay.

use std::ops::Range;

use toml_edit::{Document, DocumentMut, Item, TableLike};

/// The text without what stands at a place: a key, or a table with all that is in it. A comment
/// behind a value gets a line of its own. A text that has nothing there, or is not TOML, stays.
pub fn without(text: &str, path: &[&str]) -> String {
    let (Some((last, tables)), Ok(document)) = (path.split_last(), Document::parse(text)) else {
        return text.to_owned();
    };
    let mut table: &dyn TableLike = document.as_table();
    for name in tables {
        let Some(item) = table.get(name) else {
            return text.to_owned();
        };
        if item
            .as_inline_table()
            .is_some_and(|inline| !inline.is_dotted())
        {
            return without_part(text, path);
        }
        match item.as_table_like() {
            Some(next) => table = next,
            None => return text.to_owned(),
        }
    }
    let mut cuts = Vec::new();
    collect(table, last, &mut cuts);
    cuts.sort_by_key(|cut| cut.start);
    let mut left = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        let lines = lines_of(text, &cut);
        left.push_str(text.get(at..lines.start).unwrap_or_default());
        left.push_str(&comment_behind(text, &cut, &lines));
        at = lines.end;
    }
    left.push_str(text.get(at..).unwrap_or_default());
    left
}

/// The statements that a key stands in: its own, or those of its table and the table's header.
fn collect(table: &dyn TableLike, name: &str, cuts: &mut Vec<Range<usize>>) {
    let Some((key, item)) = table.get_key_value(name) else {
        return;
    };
    match item {
        Item::Value(value) => {
            let inline = value.as_inline_table().filter(|inline| inline.is_dotted());
            if let Some(dotted) = inline {
                dotted
                    .iter()
                    .for_each(|(name, _)| collect(dotted, name, cuts));
                return;
            }
            let spans = key.span().zip(value.span());
            cuts.extend(spans.map(|(key, value)| key.start..value.end));
        }
        Item::Table(inner) => {
            inner
                .iter()
                .for_each(|(name, _)| collect(inner, name, cuts));
            if !inner.is_dotted() && !inner.is_implicit() {
                cuts.extend(inner.span());
            }
        }
        Item::None | Item::ArrayOfTables(_) => {}
    }
}

/// The whole lines of a statement, with the end of the last one.
fn lines_of(text: &str, cut: &Range<usize>) -> Range<usize> {
    let before = text.get(..cut.start).unwrap_or_default();
    let behind = text.get(cut.end..).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = behind.find('\n').map_or(text.len(), |at| cut.end + at + 1);
    start..end
}

/// The comment behind a statement, as a line.
fn comment_behind(text: &str, cut: &Range<usize>, lines: &Range<usize>) -> String {
    let behind = text.get(cut.end..lines.end).unwrap_or_default();
    let comment = behind.find('#').and_then(|at| behind.get(at..));
    comment.unwrap_or_default().to_owned()
}

/// The same in an inline table, where no comment can stand.
fn without_part(text: &str, path: &[&str]) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        return text.to_owned();
    };
    let Some((last, tables)) = path.split_last() else {
        return text.to_owned();
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for name in tables {
        match table.get_mut(name).and_then(Item::as_table_like_mut) {
            Some(next) => table = next,
            None => return text.to_owned(),
        }
    }
    table.remove(last);
    let after = document.to_string();
    match text.contains("\r\n") {
        true => after.replace('\n', "\r\n"),
        false => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_with_its_line_and_nothing_else() {
        for (path, before, after) in [
            (
                &["anchor", "mode"][..],
                "# top\n[anchor] # a\n# about mode\nmode = 'off'\nquorum = 1 # b\n",
                "# top\n[anchor] # a\n# about mode\nquorum = 1 # b\n",
            ),
            (
                &["anchor", "mode"],
                "[anchor]\nmode = 'off'  # mine\n",
                "[anchor]\n# mine\n",
            ),
            (
                &["anchor", "esplora"],
                "[anchor]\n  esplora = [\n  'a', # one\n  'b',\n]\nmode = 'off'",
                "[anchor]\nmode = 'off'",
            ),
            (
                &["anchor", "mode"],
                "anchor.mode = 'off'\n\n[ots]\n",
                "\n[ots]\n",
            ),
            (
                &["anchor", "mode"],
                "[anchor]\r\nmode = 'off'\r\nquorum = 1\r\n",
                "[anchor]\r\nquorum = 1\r\n",
            ),
            (
                &["anchor", "mode"],
                "anchor = { mode = 'off', quorum = 1 } # x\n",
                "anchor = { quorum = 1 } # x\n",
            ),
            (
                &["price", "openai/x"],
                "[price.'openai/x'] # dear\ninput_per_mtok = '1'\n# out\noutput_per_mtok = '2'\n[store]\n",
                "# dear\n# out\n[store]\n",
            ),
            (
                &["price", "openai/x"],
                "[price]\n'openai/x'.input_per_mtok = '1'\n'openai/x'.output_per_mtok = '2'\n",
                "[price]\n",
            ),
            (
                &["price", "openai/x"],
                "[price]\n'openai/x' = { input_per_mtok = '1', output_per_mtok = '2' }\n",
                "[price]\n",
            ),
            (
                &["anchor", "mode"],
                "[anchor]\nquorum = 1\n",
                "[anchor]\nquorum = 1\n",
            ),
            (&["anchor", "mode"], "[ots]\n", "[ots]\n"),
        ] {
            assert_eq!(without(before, path), after, "{before}");
        }
    }
}
