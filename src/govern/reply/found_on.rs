//! The words of a reply that a rule was found on, for telling a person.
//!
//! A judgement holds no word of the reply, and no record of it does. So they are looked for again
//! where somebody is told, in the reply at hand without its secrets: of its sentences the first in
//! which the rule finds something by itself, and of a long one the part.

use crate::govern::clauses::text::{SentenceEnds, own_prose, parts, sentences};
use crate::govern::drift::{DriftClass, Judgement};
use crate::govern::kernel::Kernel;
use crate::govern::phrase;
use crate::govern::reply_rule::ReplyRule;
use crate::govern::sanitize::{Clean, unmasked_text};
use crate::record::context::turn::TurnIntent;
use crate::record::ledger::bundle::Bundle;
use crate::record::ledger::short_name::short_name;

use super::output::Shape;
use super::rejected::put_right_by;
use super::review_prose::said_for;
use super::sentences::{folded, spoken, without_mark};
use super::side_effects::Deeds;
use super::validate::{Validation, judge_said};

/// Longest excerpt, in characters.
const EXCERPT: usize = 60;
/// So many sentences are looked at: what stands behind them is told without its words.
const SENTENCES: usize = 200;
/// So many parts of one long sentence are looked at.
const PARTS: usize = 100;
/// Behind a part of a reply: it says nothing, and what stands before it is no quotation that is the
/// whole reply.
const REST: &str = "\n\n\u{2014}";

/// What a reply was judged against, as long as somebody is to be told of it.
#[derive(Clone, Debug)]
pub struct ReplyContext {
    /// All that the model was shown.
    pub shown: Bundle,
    /// The question that the reply answers, without secrets.
    pub question: Clean,
    /// The shape that the reply was to have.
    pub shape: Option<Shape>,
    /// What the turn is for: a review says what the texts in its JSON say.
    pub intent: TurnIntent,
}

/// Words of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundWords {
    /// At most some 60 characters, on one line.
    pub excerpt: String,
    /// The verb of a claim to have done something: `restarted`. None in another language than
    /// English.
    pub deed: Option<String>,
    /// The correction that it speaks against, and what that says is right: `correction-2: We close at
    /// six.`
    pub correction: Option<String>,
}

impl ReplyContext {
    /// Judges a reply.
    pub fn judge(&self, kernel: &Kernel, reply: &str) -> Judgement {
        let said = said_for(self.intent, reply);
        let held = (self.shape.as_ref(), reply);
        judge_said(kernel, &self.shown, &self.question, held, &said)
    }

    /// The words of a reply that a rule was found on; none when they are not in it any more, or
    /// stand too far behind.
    pub fn found_on(&self, kernel: &Kernel, rule: ReplyRule, reply: &Clean) -> Option<FoundWords> {
        let said = said_for(self.intent, reply.as_str());
        let text = self.sought_in(rule, &said);
        let excerpt = match rule {
            // Nobody answered.
            ReplyRule::SightWithoutValues => return None,
            // The whole reply is it.
            ReplyRule::NoValueGiven | ReplyRule::NotJson | ReplyRule::OtherShape => {
                cut(reply.as_str())
            }
            _ => self.excerpt(kernel, rule, &text)?,
        };
        if excerpt.is_empty() {
            return None;
        }
        let deed = (rule == ReplyRule::ClaimedSideEffect).then(|| deed_in(&excerpt));
        let correction = (rule == ReplyRule::RejectedClaim)
            .then(|| put_right_by(&self.shown, &excerpt))
            .flatten();
        Some(FoundWords {
            correction: correction.map(|(id, claim)| format!("{}: {}", short_name(id), cut(claim))),
            deed: deed.flatten(),
            excerpt,
        })
    }

    /// The part of a reply that a rule looks at: for most its own words, without code and quoted
    /// lines.
    fn sought_in(&self, rule: ReplyRule, reply: &str) -> String {
        if rule.class() == DriftClass::Evidence {
            return reply.to_owned();
        }
        folded(&own_prose(&unmasked_text(reply)))
    }

    fn excerpt(&self, kernel: &Kernel, rule: ReplyRule, text: &str) -> Option<String> {
        let all = sentences(text, SentenceEnds::Told);
        let rest = if all.len() == 1 { "" } else { REST };
        let finds = |part: &str| self.finds(kernel, rule, &format!("{part}{rest}"));
        let some = all.get(..SENTENCES.min(all.len())).unwrap_or_default();
        let alone = some.iter().copied().find(|sentence| finds(sentence));
        // "Done. The file was deleted": the second says it by the first.
        let second = || {
            let pair = some.windows(2).find(
                |pair| matches!(pair, [first, second] if finds(&format!("{first}\n{second}"))),
            );
            pair.and_then(|pair| pair.last().copied())
        };
        let sentence = without_mark(alone.or_else(second)?);
        if sentence.chars().count() <= EXCERPT || alone.is_none() {
            return Some(cut(sentence));
        }
        Some(part_of(sentence, &finds).unwrap_or_else(|| cut(sentence)))
    }

    fn finds(&self, kernel: &Kernel, rule: ReplyRule, text: &str) -> bool {
        let own = folded(&spoken(text));
        Validation::of(kernel, &self.shown, self.question.as_str(), text, &own).finds(rule)
    }
}

/// The part of a long sentence in which something is found: a clause, or the words around it.
fn part_of(sentence: &str, finds: &dyn Fn(&str) -> bool) -> Option<String> {
    let short = |part: &&str| part.chars().count() <= EXCERPT;
    let parts = parts(sentence);
    let lesser = parts.iter().flat_map(|part| part.split(", "));
    let all = parts.iter().copied().chain(lesser).filter(short);
    if let Some(found) = all.take(PARTS).find(|part| finds(part)) {
        return Some(cut(found));
    }
    let words: Vec<&str> = sentence.split_whitespace().collect();
    (0..words.len()).take(PARTS).find_map(|from| {
        let part = words_from(words.get(from..)?);
        finds(&part).then(|| {
            let before = if from > 0 { "…" } else { "" };
            format!("{before}{}", cut(&part))
        })
    })
}

/// So many words as an excerpt holds.
fn words_from(words: &[&str]) -> String {
    let mut part = String::new();
    for word in words {
        if part.chars().count() + word.chars().count() >= EXCERPT {
            break;
        }
        if !part.is_empty() {
            part.push(' ');
        }
        part.push_str(word);
    }
    part
}

/// The beginning of a text on one line, without marks of quotation, which are to stand around it.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line
        .trim_matches(['"', '“', '”', '*', '_'])
        .replace('"', "'");
    let start: String = line.chars().take(EXCERPT).collect();
    if start.len() == line.len() {
        return start;
    }
    // At a word's end, unless that is far.
    match start.rsplit_once(' ') {
        Some((words, _)) if words.chars().count() * 2 > EXCERPT => format!("{words}…"),
        _ => format!("{start}…"),
    }
}

/// The first verb of a deed: rather one that is always a deed (*restarted*) than one that depends on
/// what was changed (*set*).
fn deed_in(excerpt: &str) -> Option<String> {
    let words = phrase::words(excerpt);
    let always = Deeds::of(&[], true);
    let here = Deeds::of(&words, false);
    let first = |deeds: Deeds| words.iter().find(|word| deeds.past(word)).cloned();
    first(always).or_else(|| first(here))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::reply::validate::tests::BUNDLE;
    use crate::govern::sanitize::redact;

    const MACHINE: &str = "How is this machine doing?";

    fn context(question: &str) -> ReplyContext {
        ReplyContext {
            shown: Bundle::parse(BUNDLE).unwrap(),
            question: redact(question).clean,
            shape: None,
            intent: TurnIntent::ChatMessage,
        }
    }

    /// What a reply's words are, for a rule that it breaks.
    fn found(rule: ReplyRule, question: &str, reply: &str) -> Option<FoundWords> {
        let (kernel, context) = (Kernel::genesis(), context(question));
        let judged = context.judge(&kernel, reply);
        let broken = |one: &&crate::govern::drift::DriftEvent| one.rule() == rule.name();
        assert_eq!(
            judged.events().iter().filter(broken).count(),
            1,
            "{rule:?}: {reply}"
        );
        context.found_on(&kernel, rule, &redact(reply).clean)
    }

    #[test]
    fn each_rule_is_found_on_the_words_that_break_it() {
        use ReplyRule as R;
        let long = "This took a good part of the morning and most of the afternoon here, \
                    I restarted the web server, everything was quick again.";
        for (rule, question, reply, words) in [
            (
                R::ClaimedSideEffect,
                "Hi",
                "Fine. I've restarted nginx. Bye.",
                "I've restarted nginx.",
            ),
            (
                R::ClaimedSideEffect,
                "Hi",
                "- **I've restarted nginx.**\n- Bye.",
                "I've restarted nginx.",
            ),
            (
                R::ClaimedSideEffect,
                "Hi",
                "All done.\nThe file was deleted.",
                "The file was deleted.",
            ),
            (
                R::ClaimedSideEffect,
                "Hi",
                "Ja.\nIch habe nginx neu gestartet.",
                "Ich habe nginx neu gestartet.",
            ),
            (
                R::ClaimedSideEffect,
                "Hi",
                "He said:\n> I've stopped it.\nI've restarted nginx.",
                "I've restarted nginx.",
            ),
            (
                R::ClaimedSideEffect,
                "Hi",
                long,
                "I restarted the web server",
            ),
            (
                R::UnknownArtifact,
                "Hi",
                "Yes. As ledger:000183 says, it is so.",
                "As ledger:000183 says, it is so.",
            ),
            (
                R::ContradictsSight,
                MACHINE,
                "Well. The disk is 12 % free, load 0.42.",
                "The disk is 12 % free, load 0.42.",
            ),
            (
                R::Unsourced,
                MACHINE,
                "Load 0.42. It was built in 1987.",
                "It was built in 1987.",
            ),
            (
                R::GeneralUnsourced,
                "Hi",
                "Well.\nIt has 8,849 metres.",
                "It has 8,849 metres.",
            ),
            (
                R::DeniesSight,
                MACHINE,
                "Hello. I don't have access to your system.",
                "I don't have access to your system.",
            ),
            (
                R::RefusesSight,
                MACHINE,
                "I'm sorry, but I can't help with that.",
                "I'm sorry, but I can't help with that.",
            ),
            (
                R::NoValueGiven,
                MACHINE,
                "It is doing very well!",
                "It is doing very well!",
            ),
            (R::Flattery, "Hi", "Yes. Great question!", "Great question!"),
        ] {
            let found = found(rule, question, reply);
            assert_eq!(
                found.map(|found| found.excerpt).as_deref(),
                Some(words),
                "{reply}"
            );
        }
    }

    #[test]
    fn the_words_are_short_and_the_deed_is_named() {
        let nobody = "x".repeat(40);
        let far = format!("{} I've restarted nginx.", format!("{nobody} ").repeat(12));
        let words = found(ReplyRule::ClaimedSideEffect, "Hi", &far).unwrap();
        assert_eq!(words.deed.as_deref(), Some("restarted"));
        assert!(
            words.excerpt.chars().count() <= EXCERPT + 2
                && words.excerpt.contains("I've restarted"),
            "{words:?}"
        );
        for (reply, deed) in [
            ("Email sent.", Some("sent")),
            (
                "I've created the file /etc/x.conf for you.",
                Some("created"),
            ),
            ("Ich habe nginx neu gestartet.", None),
        ] {
            let words = found(ReplyRule::ClaimedSideEffect, "Hi", reply).unwrap();
            assert_eq!(words.deed.as_deref(), deed, "{reply}");
        }
    }

    #[test]
    fn a_secret_is_no_part_of_the_words() {
        let key = ["sk-ant-", "api03-", &"aB3".repeat(31), "AA"].concat();
        let reply = format!("I've deleted the key {key} from the file.");
        let words = found(ReplyRule::ClaimedSideEffect, "Hi", &reply).unwrap();
        assert!(
            words.excerpt.starts_with("I've deleted the key") && !words.excerpt.contains("aB3"),
            "{words:?}"
        );
    }

    #[test]
    fn what_is_not_there_or_far_behind_has_no_words() {
        let kernel = Kernel::genesis();
        let none = |rule, reply: &str| context("Hi").found_on(&kernel, rule, &redact(reply).clean);
        assert_eq!(
            none(ReplyRule::ClaimedSideEffect, "Nothing was done."),
            None
        );
        assert_eq!(none(ReplyRule::SightWithoutValues, "Anything"), None);
        assert_eq!(none(ReplyRule::NoValueGiven, " \n"), None);
        let far = format!("{}I've restarted nginx.", "Fine.\n".repeat(SENTENCES));
        assert_eq!(none(ReplyRule::ClaimedSideEffect, &far), None);
    }

    #[test]
    fn an_excerpt_is_one_line_that_ends_at_a_word() {
        assert_eq!(cut("a\n \"b\"  c"), "a 'b' c");
        assert_eq!(cut("\"quoted\""), "quoted");
        let long = cut(&"word ".repeat(40));
        assert!(
            long.ends_with("word…") && long.chars().count() <= EXCERPT + 1,
            "{long}"
        );
        assert_eq!(cut(&"x".repeat(80)), format!("{}…", "x".repeat(60)));
    }
}
