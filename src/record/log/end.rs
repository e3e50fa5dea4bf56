//! Where a log ends, as its lines give it and as somebody says it; and where the two differ.
//!
//! The database keeps the end of the log. Rebuild holds it against the database's own lines, audit
//! against those of `audit.log`: both read this one comparison.

use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// Where a log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// How many lines it has.
    pub lines: u64,
    /// HASH of the last one.
    pub hash: Hash32,
    /// TIMESTAMP of the last one; none where there is no line.
    pub time: Option<Seconds>,
    /// The highest block that a line names.
    pub height: u32,
    /// Length of all lines with their newlines.
    pub bytes: u64,
    /// The tree of the lines, as [`crate::record::tree::Frontier::to_bytes`] stores it.
    pub frontier: Vec<u8>,
    /// How many of the lines are inside `main`.
    pub segment_lines: u64,
    /// The branch that was switched to last.
    pub last_branch: Option<String>,
}

/// One thing about the end of a log that is said otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndDifference {
    /// Which value differs, such as `lines`.
    pub what: &'static str,
    /// What the lines give.
    pub given: String,
    /// What is said.
    pub said: String,
}

impl LogEnd {
    /// What is said otherwise than the lines give it; of another number of lines nothing else is
    /// compared.
    pub fn differences(&self, said: &LogEnd) -> Vec<EndDifference> {
        let mut found = Vec::new();
        let mut compare = |what, is_same: bool, spell: &dyn Fn(&LogEnd) -> String| {
            if !is_same {
                let (given, said) = (spell(self), spell(said));
                found.push(EndDifference { what, given, said });
            }
        };
        if self.lines != said.lines {
            compare("lines", false, &|end| end.lines.to_string());
            return found;
        }
        compare("hash", self.hash == said.hash, &|end| end.hash.to_string());
        compare("time", self.time == said.time, &|end| spelled(&end.time));
        compare("height", self.height == said.height, &|end| {
            end.height.to_string()
        });
        compare("bytes", self.bytes == said.bytes, &|end| {
            end.bytes.to_string()
        });
        compare("frontier", self.frontier == said.frontier, &|end| {
            hex::encode(&end.frontier)
        });
        let same_segments = self.segment_lines == said.segment_lines;
        compare("segment_lines", same_segments, &|end| {
            end.segment_lines.to_string()
        });
        compare(
            "last_branch",
            self.last_branch == said.last_branch,
            &|end| spelled(&end.last_branch),
        );
        found
    }
}

fn spelled<T: ToString>(value: &Option<T>) -> String {
    value
        .as_ref()
        .map_or_else(|| "none".to_owned(), T::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut LogEnd);

    #[test]
    fn each_thing_that_is_said_otherwise_is_named_and_nothing_else() {
        let end = LogEnd {
            lines: 2,
            hash: Hash32::GENESIS,
            time: None,
            height: 3,
            bytes: 4,
            frontier: vec![5],
            segment_lines: 1,
            last_branch: Some("none".to_owned()),
        };
        assert_eq!(end.differences(&end), []);
        let changes: [(&str, Change); 8] = [
            ("lines", |end| (end.lines, end.bytes) = (3, 5)),
            ("hash", |end| end.hash = Hash32::ZERO),
            ("time", |end| end.time = Some(Seconds::ZERO)),
            ("height", |end| end.height += 1),
            ("bytes", |end| end.bytes += 1),
            ("frontier", |end| end.frontier.push(0)),
            ("segment_lines", |end| end.segment_lines += 1),
            ("last_branch", |end| end.last_branch = None),
        ];
        for (what, change) in changes {
            let mut said = end.clone();
            change(&mut said);
            let found: Vec<&str> = end.differences(&said).iter().map(|of| of.what).collect();
            assert_eq!(found, [what]);
        }
    }
}
