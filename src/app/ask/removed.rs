//! Secrets that were removed from what was asked: what they are, and where they stood.

use super::attachment::AttachmentNotice;
use crate::app::words::counted;
use crate::ask::{TakenFrom, TakenSecret};

use std::ops::Range;

/// Most lines of a file that a sentence names.
const MOST_LINES: usize = 5;

/// The secrets of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedSecrets {
    /// Where they stood.
    pub from: RemovalSource,
    /// What they are, each with its line in a file, from one, in the order in which they stood.
    pub secrets: Vec<(Option<usize>, String)>,
}

/// Where secrets stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalSource {
    /// In the question, as it was typed.
    Question,
    /// In the file of this name.
    File(String),
    /// In what a client brought beside its question.
    Messages,
    /// In the owner's part of the system message.
    System,
}

impl RemovalSource {
    /// Its code.
    pub fn name(&self) -> &'static str {
        match self {
            RemovalSource::Question => "question",
            RemovalSource::File(_) => "file",
            RemovalSource::Messages => "messages",
            RemovalSource::System => "system",
        }
    }
}

impl RemovedSecrets {
    /// By place: of a question, and of the files behind it, whose texts stand on these lines of it.
    pub fn of(
        taken: &[TakenSecret],
        files: &[AttachmentNotice],
        lines: &[Range<usize>],
    ) -> Vec<RemovedSecrets> {
        let mut all: Vec<RemovedSecrets> = Vec::new();
        for one in taken {
            let (from, line) = match one.place {
                TakenFrom::Messages => (RemovalSource::Messages, None),
                TakenFrom::System => (RemovalSource::System, None),
                TakenFrom::Line(line) => {
                    let mut texts = files.iter().zip(lines);
                    match texts.find(|(_, lines)| lines.contains(&line)) {
                        Some((file, lines)) => (
                            RemovalSource::File(file.name.clone()),
                            Some(line - lines.start + 1),
                        ),
                        None => (RemovalSource::Question, None),
                    }
                }
            };
            let secret = (line, one.kind.clone());
            match all.iter_mut().find(|known| known.from == from) {
                Some(known) => known.secrets.push(secret),
                None => all.push(RemovedSecrets {
                    from,
                    secrets: vec![secret],
                }),
            }
        }
        // Those that the name of a file tells of come first otherwise.
        for one in &mut all {
            one.secrets.sort_by_key(|(line, _)| *line);
        }
        all
    }

    /// `1 secret removed from app.py line 12 before it was stored or sent: github-pat`
    pub fn sentence(&self) -> String {
        let place = match &self.from {
            RemovalSource::Question => "your question".to_owned(),
            RemovalSource::File(name) => format!("{name} {}", self.lines_told()),
            RemovalSource::Messages => "the messages beside the question".to_owned(),
            RemovalSource::System => "your part of the system message".to_owned(),
        };
        let mut kinds: Vec<&str> = self.secrets.iter().map(|(_, kind)| kind.as_str()).collect();
        kinds.dedup();
        format!(
            "{} removed from {place} before it was stored or sent: {}",
            counted(self.secrets.len(), "secret"),
            kinds.join(", ")
        )
    }

    /// `line 12`, `lines 3, 8 and 12`.
    fn lines_told(&self) -> String {
        let mut lines: Vec<usize> = self.secrets.iter().filter_map(|(line, _)| *line).collect();
        lines.dedup();
        let more = lines.len().saturating_sub(MOST_LINES);
        let mut told: Vec<String> = lines
            .iter()
            .take(MOST_LINES)
            .map(usize::to_string)
            .collect();
        if more > 0 {
            told.push(format!("{more} more"));
        }
        match told.split_last() {
            Some((last, [])) => format!("line {last}"),
            Some((last, others)) => format!("lines {} and {last}", others.join(", ")),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lines: impl IntoIterator<Item = usize>) -> RemovedSecrets {
        let secret = |line| (Some(line), "github-pat".to_owned());
        RemovedSecrets {
            from: RemovalSource::File("app.py".to_owned()),
            secrets: lines.into_iter().map(secret).collect(),
        }
    }

    #[test]
    fn lines_are_named_and_many_counted() {
        for (lines, told) in [
            (vec![12], "1 secret removed from app.py line 12 before"),
            (vec![3, 3], "2 secrets removed from app.py line 3 before"),
            (
                vec![3, 8],
                "2 secrets removed from app.py lines 3 and 8 before",
            ),
            (
                (1..=7).collect(),
                "7 secrets removed from app.py lines 1, 2, 3, 4, 5 and 2 more before",
            ),
        ] {
            let sentence = at(lines).sentence();
            assert!(sentence.starts_with(told), "{sentence}");
            assert!(sentence.ends_with(" it was stored or sent: github-pat"));
        }
    }
}
