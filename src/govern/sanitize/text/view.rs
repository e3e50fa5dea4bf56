//! A text derived from another by small edits, with the way back to the original's bytes.

use std::borrow::Cow;

/// Bytes `start..end` of the original become one character, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    pub start: usize,
    pub end: usize,
    pub with: Option<char>,
}

/// A place where offsets of view and original are known to agree.
struct OffsetPair {
    view: usize,
    original: usize,
    /// Whether what follows replaces something, rather than being copied.
    replaced: bool,
}

/// What is looked at in place of a text.
pub struct TextView<'a> {
    pub text: Cow<'a, str>,
    offsets: Vec<OffsetPair>,
}

impl<'a> TextView<'a> {
    /// Applies edits, which are sorted and apart.
    pub fn of(text: &'a str, edits: &[Edit]) -> Self {
        if edits.is_empty() {
            return TextView {
                text: Cow::Borrowed(text),
                offsets: Vec::new(),
            };
        }
        let mut out = String::with_capacity(text.len());
        let mut offsets = Vec::with_capacity(2 * edits.len());
        let mut done = 0;
        for edit in edits {
            out.push_str(text.get(done..edit.start).unwrap_or_default());
            offsets.push(OffsetPair {
                view: out.len(),
                original: edit.start,
                replaced: true,
            });
            out.extend(edit.with);
            offsets.push(OffsetPair {
                view: out.len(),
                original: edit.end,
                replaced: false,
            });
            done = edit.end;
        }
        out.push_str(text.get(done..).unwrap_or_default());
        TextView {
            text: Cow::Owned(out),
            offsets,
        }
    }

    /// The bytes of the original that `start..end` of the view stand for; what was cut out inside
    /// is included.
    pub fn original(&self, start: usize, end: usize) -> (usize, usize) {
        let from = match self
            .offsets
            .partition_point(|mark| mark.view <= start)
            .checked_sub(1)
        {
            None => start,
            Some(at) => match &self.offsets[at] {
                OffsetPair {
                    original,
                    replaced: true,
                    ..
                } => *original,
                OffsetPair { view, original, .. } => original + (start - view),
            },
        };
        let to = match self
            .offsets
            .partition_point(|mark| mark.view < end)
            .checked_sub(1)
        {
            None => end,
            Some(at) => match &self.offsets[at] {
                OffsetPair { replaced: true, .. } => {
                    self.offsets.get(at + 1).map_or(end, |mark| mark.original)
                }
                OffsetPair { view, original, .. } => original + (end - view),
            },
        };
        (from, to.max(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_find_their_way_back() {
        let edit = |start, end, with| Edit { start, end, with };
        // "a%20b--c": "%20" becomes a space, "--" goes.
        let view = TextView::of("a%20b--c", &[edit(1, 4, Some(' ')), edit(5, 7, None)]);
        assert_eq!(view.text, "a bc");
        for (of_view, of_original) in [
            ((0, 1), (0, 1)),
            ((1, 2), (1, 4)),
            ((0, 2), (0, 4)),
            ((2, 3), (4, 5)),
            ((3, 4), (7, 8)),
            ((2, 4), (4, 8)),
        ] {
            assert_eq!(
                view.original(of_view.0, of_view.1),
                of_original,
                "{of_view:?}"
            );
        }
        assert_eq!(TextView::of("abc", &[]).original(1, 2), (1, 2));
    }
}
