//! Answers that `--require` names.

use crate::verify::{AuditQuestion, CheckAnswer, Report};

/// An answer that has to be *yes*: of all lines, or of those up to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequiredAnswer {
    question: AuditQuestion,
    line: Option<u64>,
}

/// Reads `not-before`, `signed`, `not-after:120`.
pub fn read_required(text: &str) -> Result<RequiredAnswer, String> {
    let (name, line) = text
        .split_once(':')
        .map_or((text, None), |(name, line)| (name, Some(line)));
    let full = if name == "signed" {
        "signed_by".to_owned()
    } else {
        name.replace('-', "_")
    };
    let question = AuditQuestion::ALL.into_iter().find(|question| question.name() == full).ok_or_else(|| {
        format!("'{name}' is no answer: signed, not-before, not-after, unique, consistent or complete")
    })?;
    let Some(line) = line else {
        return Ok(RequiredAnswer {
            question,
            line: None,
        });
    };
    if !matches!(question, AuditQuestion::NotAfter | AuditQuestion::Unique) {
        return Err(format!(
            "'{text}': only not-after and unique may name a line"
        ));
    }
    let digits = !line.starts_with('0') && line.bytes().all(|byte| byte.is_ascii_digit());
    let line = line.parse().ok().filter(|_| digits);
    let line =
        line.ok_or_else(|| format!("'{text}': a line is a number from 1, as in not-after:120"))?;
    Ok(RequiredAnswer {
        question,
        line: Some(line),
    })
}

impl RequiredAnswer {
    /// *Partly* is enough for a line that it covers, when the ledger is judged up to there.
    fn is_met(self, report: &Report) -> bool {
        let answer = report.answers.to(self.question).answer;
        match (self.line, report.extents.of(self.question)) {
            (Some(line), Some(through)) => {
                matches!(answer, CheckAnswer::Yes | CheckAnswer::Partly)
                    && line <= through.min(report.extents.complete)
            }
            _ => answer == CheckAnswer::Yes,
        }
    }

    fn name(self) -> String {
        let name = self.question.name().replace('_', " ");
        self.line
            .map_or(name.clone(), |line| format!("{name} through line {line}"))
    }
}

/// Says which required answers are not *yes*; none when all are.
pub fn unmet(required: &[RequiredAnswer], report: &Report) -> Option<String> {
    let unmet = required.iter().filter(|required| !required.is_met(report));
    let words: Vec<String> = unmet
        .map(|required| {
            let verdict = report.answers.to(required.question);
            format!("{} is {}", required.name(), verdict.answer.word())
        })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_stand_behind_two_of_the_answers() {
        let read = |text: &str| read_required(text);
        assert_eq!(
            read("signed"),
            Ok(RequiredAnswer {
                question: AuditQuestion::SignedBy,
                line: None
            })
        );
        assert_eq!(
            read("not-after:120"),
            Ok(RequiredAnswer {
                question: AuditQuestion::NotAfter,
                line: Some(120)
            })
        );
        assert_eq!(
            read("unique:1"),
            Ok(RequiredAnswer {
                question: AuditQuestion::Unique,
                line: Some(1)
            })
        );
        for wrong in [
            "",
            "after",
            "signed:3",
            "not-before:3",
            "not-after:",
            "not-after:0",
            "not-after:+3",
            "unique:03",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
