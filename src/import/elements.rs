//! A list of JSON, split into its elements: one is held at a time, and one that is too large is
//! passed over without being held.

use std::io::{self, BufRead};

/// What comes next in a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScannedElement {
    /// An element, whole.
    Whole,
    /// An element that is larger than may be held, with its bytes.
    TooLarge(u64),
    /// The list has ended, and nothing stands behind it.
    End,
}

/// Why a list can't be split further.
#[derive(Debug)]
pub(super) enum ScanFault {
    /// The system would not read it, or it can't be inflated.
    Unread(io::Error),
    /// It does not begin as a list does.
    NoList,
    /// It ends before the list does, at this byte.
    Cut(u64),
    /// Something stands behind the list, at this byte.
    Behind(u64),
}

/// Where a scanner is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Before the list.
    Before,
    /// Behind its `[`.
    First,
    /// Behind a comma.
    Next,
    /// Behind its `]`.
    Behind,
}

/// Splits a list.
pub(super) struct ElementScanner<R> {
    reader: R,
    at: u64,
    state: ScanState,
}

impl<R: BufRead> ElementScanner<R> {
    /// A scanner of a list that begins here.
    pub(super) fn new(reader: R) -> ElementScanner<R> {
        ElementScanner {
            reader,
            at: 0,
            state: ScanState::Before,
        }
    }

    /// The next byte, which is not taken.
    fn peek(&mut self) -> Result<Option<u8>, ScanFault> {
        loop {
            match self.reader.fill_buf() {
                Ok(block) => return Ok(block.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ScanFault::Unread(error)),
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.at += bytes as u64;
    }

    /// The next byte that is no white space, which is not taken.
    fn peek_past_space(&mut self) -> Result<Option<u8>, ScanFault> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.skip(1),
                other => return Ok(other),
            }
        }
    }

    /// Reads the next element into `element`, and not more than `most` bytes of it.
    pub(super) fn next(
        &mut self,
        most: usize,
        element: &mut Vec<u8>,
    ) -> Result<ScannedElement, ScanFault> {
        element.clear();
        if self.state == ScanState::Before {
            // A byte order mark.
            for byte in *b"\xef\xbb\xbf" {
                if self.peek()? == Some(byte) {
                    self.skip(1);
                }
            }
            if self.peek_past_space()? != Some(b'[') {
                return Err(ScanFault::NoList);
            }
            self.skip(1);
            self.state = ScanState::First;
        }
        let next = self.peek_past_space()?;
        if self.state == ScanState::First && next == Some(b']') {
            self.skip(1);
            self.state = ScanState::Behind;
        }
        if self.state == ScanState::Behind {
            return match self.peek_past_space()? {
                None => Ok(ScannedElement::End),
                Some(_) => Err(ScanFault::Behind(self.at)),
            };
        }
        self.element(most, element)
    }

    fn element(&mut self, most: usize, element: &mut Vec<u8>) -> Result<ScannedElement, ScanFault> {
        let begin = self.at;
        let mut nesting = Nesting::default();
        let mut is_too_large = false;
        loop {
            if self.peek()?.is_none() {
                return Err(ScanFault::Cut(self.at));
            }
            let block = self.reader.fill_buf().map_err(ScanFault::Unread)?;
            let end = nesting.end_in(block);
            let part = &block[..end.unwrap_or(block.len())];
            is_too_large |= element.len() + part.len() > most;
            match is_too_large {
                false => element.extend_from_slice(part),
                // What was held so far is of no use any more.
                true => *element = Vec::new(),
            }
            let found = end.map(|end| block[end]);
            let bytes = part.len();
            self.skip(bytes);
            let Some(found) = found else { continue };
            let length = self.at - begin;
            self.skip(1);
            self.state = match found {
                b',' => ScanState::Next,
                _ => ScanState::Behind,
            };
            return Ok(match is_too_large {
                true => ScannedElement::TooLarge(length),
                false => ScannedElement::Whole,
            });
        }
    }
}

/// How deep a place in an element lies.
#[derive(Default)]
struct Nesting {
    depth: u64,
    is_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Where in a block the element ends: at the comma or bracket behind it.
    fn end_in(&mut self, block: &[u8]) -> Option<usize> {
        for (at, byte) in block.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_text => self.is_escaped = true,
                b'"' => self.is_text = !self.is_text,
                _ if self.is_text => {}
                b'{' | b'[' => self.depth += 1,
                b',' | b']' if self.depth == 0 => return Some(at),
                // One too many costs its element alone.
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    /// Elements of a list, and how it ends.
    fn split(text: &[u8], most: usize, block: usize) -> (Vec<String>, String) {
        let mut scanner = ElementScanner::new(BufReader::with_capacity(block, text));
        let (mut element, mut found) = (Vec::new(), Vec::new());
        loop {
            match scanner.next(most, &mut element) {
                Ok(ScannedElement::Whole) => {
                    found.push(String::from_utf8_lossy(&element).into_owned())
                }
                Ok(ScannedElement::TooLarge(bytes)) => found.push(format!("too large: {bytes}")),
                Ok(ScannedElement::End) => return (found, "end".to_owned()),
                Err(fault) => return (found, format!("{fault:?}")),
            }
        }
    }

    #[test]
    fn lists_are_split_and_their_ends_are_seen() {
        for (text, elements, end) in [
            ("[]", &[][..], "end"),
            (" \u{feff}[]", &[], "NoList"),
            ("\u{feff} [ ] \n", &[], "end"),
            ("[1]", &["1"], "end"),
            (
                "[{\"a\":[1,2]},\"],\\\"],\" ,3]",
                &["{\"a\":[1,2]}", "\"],\\\"],\" ", "3"],
                "end",
            ),
            ("[1,]", &["1", ""], "end"),
            ("[,]", &["", ""], "end"),
            ("[{}},{}]", &["{}}", "{}"], "end"),
            ("[1] 2", &["1"], "Behind(4)"),
            ("[1", &[], "Cut(2)"),
            ("[1,", &["1"], "Cut(3)"),
            ("[1,{\"a\":\"]", &["1"], "Cut(10)"),
            ("[", &[], "Cut(1)"),
            ("", &[], "NoList"),
            ("{}", &[], "NoList"),
            ("[123456789,1]", &["too large: 9", "1"], "end"),
        ] {
            for block in [1, 2, 7, 100] {
                let most = if text.contains("123456789") { 8 } else { 100 };
                let found = split(text.as_bytes(), most, block);
                assert_eq!(
                    found,
                    (
                        elements.iter().map(ToString::to_string).collect(),
                        end.to_owned()
                    ),
                    "{text}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn what_json_has_comes_out(texts in proptest::collection::vec("\\PC{0,9}|[\\[\\]{}\",\\\\]{0,9}", 0..6), block in 1_usize..9) {
            let values: Vec<_> = texts.iter().map(|text| serde_json::json!({"a": [text, {}], "b": text})).collect();
            let printed = serde_json::to_string(&values).unwrap();
            let (found, end) = split(printed.as_bytes(), 1000, block);
            prop_assert_eq!(end, "end");
            let read: Vec<serde_json::Value> = found.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            prop_assert_eq!(read, values);
        }
    }
}
