//! What the validator found in an answer, in sentences: one for each rule.
//!
//! Records and judgements name a rule and numbers. A person is told of it with the words of the
//! answer that it was found on, a model without them.

use crate::govern::drift::rule_of;
use crate::govern::reply_rule::ReplyRule;

use super::found_on::FoundWords;

/// What a rule found in the answer at hand, by a summary as it is recorded, with the words that it
/// was found on.
pub fn sentence(summary: &str, found: Option<&FoundWords>) -> String {
    of("The answer", summary, found)
}

/// The same of an answer that came before: what a model is told of a warning that nobody has closed.
/// No word of the answer stands in it.
pub fn open_question(summary: &str) -> String {
    of("An earlier answer", summary, None)
}

fn of(answer: &str, summary: &str, found: Option<&FoundWords>) -> String {
    let reason = rule_of(summary);
    let Some(rule) = ReplyRule::named(reason) else {
        return format!("A rule of another version of gently found something ({reason}).");
    };
    let on = found.map_or_else(String::new, |found| format!(" (\"{}\")", found.excerpt));
    match rule {
        ReplyRule::ClaimedSideEffect => {
            let deed = found.and_then(|found| found.deed.as_deref());
            let deed = deed.unwrap_or("did");
            format!("{answer} says it {deed} something{on}. gently did nothing.")
        }
        ReplyRule::UnknownArtifact => {
            format!("{answer} names a record that it was not shown{on}.")
        }
        ReplyRule::ContradictsSight => {
            format!("{answer} gives a figure that was not measured here{on}.")
        }
        ReplyRule::RejectedClaim => {
            let right = found.and_then(|found| found.correction.as_deref());
            match right {
                Some(right) => {
                    format!("{answer} says what a correction rejects{on}. Right is, by {right}")
                }
                None => format!("{answer} says what a correction on record rejects{on}."),
            }
        }
        ReplyRule::Unsourced | ReplyRule::GeneralUnsourced => format!(
            "{answer} gives {} that nothing it was shown says{on}.",
            stated(summary)
        ),
        ReplyRule::SightWithoutValues => {
            "A tool that looks at this machine gave no values and no reason, so no model was asked."
                .to_owned()
        }
        ReplyRule::DeniesSight => format!(
            "{answer} says it can't see this machine{on}. It was sent what was measured here."
        ),
        ReplyRule::RefusesSight => {
            format!("{answer} refuses{on}, though it was sent what was asked for.")
        }
        ReplyRule::NoValueGiven => {
            format!("{answer} leaves out the values that it was sent{on}.")
        }
        ReplyRule::Urgency => format!("{answer} presses you to hurry{on}."),
        ReplyRule::Flattery => format!("{answer} flatters you{on}."),
        ReplyRule::Intimacy => format!("{answer} speaks as if it were close to you{on}."),
        ReplyRule::Certainty => format!("{answer} is surer than anybody can be{on}."),
        ReplyRule::NotJson if summary.ends_with("wrapped=true") => {
            format!("{answer} was to be JSON alone, and has something around it{on}.")
        }
        ReplyRule::NotJson => format!("{answer} was to be JSON, and is not{on}."),
        ReplyRule::OtherShape => format!(
            "{answer} is JSON of another shape than was asked for: {}.",
            misses(summary)
        ),
    }
}

/// The value behind a key of a summary.
fn value<'a>(summary: &'a str, key: &str) -> Option<&'a str> {
    let pairs = summary.split(' ').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(name, _)| *name == key);
    values.next().map(|(_, value)| value)
}

/// `3 numbers and 1 date`, of the counts in a summary.
fn stated(summary: &str) -> String {
    /// As a summary names them, and one of each.
    const KINDS: [(&str, &str); 7] = [
        ("numbers", "number"),
        ("dates", "date"),
        ("versions", "version"),
        ("paths", "path"),
        ("addresses", "address"),
        ("quotes", "quotation"),
        ("ids", "id"),
    ];
    let said = |(kind, one): &(&str, &str)| {
        let n: u64 = value(summary, kind)?.parse().ok()?;
        Some(match (n, *kind) {
            (1, _) => format!("1 {one}"),
            (n, "addresses") => format!("{n} addresses"),
            (n, _) => format!("{n} {one}s"),
        })
    };
    let mut all: Vec<String> = KINDS.iter().filter_map(said).collect();
    match (all.pop(), all.is_empty()) {
        (None, _) => "something".to_owned(),
        (Some(only), true) => only,
        (Some(last), false) => format!("{} and {last}", all.join(", ")),
    }
}

/// `2 parts are wrong (required, type)`.
fn misses(summary: &str) -> String {
    let errors: u64 = value(summary, "errors")
        .and_then(|errors| errors.parse().ok())
        .unwrap_or(1);
    let parts = if errors == 1 {
        "1 part is wrong".to_owned()
    } else {
        format!("{errors} parts are wrong")
    };
    match value(summary, "keywords").filter(|keywords| !keywords.is_empty()) {
        Some(keywords) => format!("{parts} ({})", keywords.replace(',', ", ")),
        None => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_of_an_earlier_answer_and_none_of_its_words() {
        for (summary, told) in [
            (
                "claimed_side_effect count=1 sentences=1",
                "An earlier answer says it did something. gently did nothing.",
            ),
            (
                "no_value_given",
                "An earlier answer leaves out the values that it was sent.",
            ),
            (
                "unsourced numbers=3 addresses=1",
                "An earlier answer gives 3 numbers and 1 address that nothing it was shown says.",
            ),
            (
                "not_json wrapped=true",
                "An earlier answer was to be JSON alone, and has something around it.",
            ),
            (
                "someday count=1",
                "A rule of another version of gently found something (someday).",
            ),
        ] {
            assert_eq!(open_question(summary), told);
        }
        for rule in ReplyRule::ALL {
            let told = open_question(rule.name());
            let is_code = told.contains('_') || told.contains('=');
            assert!(told.ends_with('.') && !is_code, "{told}");
        }
    }
}
