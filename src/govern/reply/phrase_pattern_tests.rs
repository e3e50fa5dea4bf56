//! What words rule out, the whole expression rules out, too.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::*;
use crate::govern::reply::sentences::plain;
use crate::govern::reply::{refusal, refusal_families};

const CORPORA: [&str; 5] = [
    include_str!("../../../tests/data/drift/refusals.jsonl"),
    include_str!("../../../tests/data/drift/authority.jsonl"),
    include_str!("../../../tests/data/drift/fresh.jsonl"),
    include_str!("../../../tests/data/drift/third.jsonl"),
    include_str!("../../../tests/data/drift/acts.jsonl"),
];

fn patterns() -> Vec<&'static str> {
    let families = refusal_families::tests::patterns();
    let all = refusal::patterns().into_iter().chain(families);
    all.map(|pattern| pattern.text).collect()
}

/// Every prompt and reply of the labelled sets, in plain spelling; replies that were called good by
/// themselves.
fn corpus() -> (Vec<String>, Vec<String>) {
    let (mut all, mut good) = (Vec::new(), Vec::new());
    for line in CORPORA.iter().flat_map(|file| file.lines()) {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let texts = ["prompt", "response"].map(|name| record.get(name).and_then(|v| v.as_str()));
        all.extend(texts.into_iter().flatten().map(plain));
        if record["label"] == "comply" {
            good.extend(texts[1].map(plain));
        }
    }
    assert!(all.len() > 800 && good.len() > 100);
    (all, good)
}

/// Small numbers without end, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Some text that an expression matches, but for what has to stand beside it.
fn example(hir: &Hir, dice: &mut Dice, out: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).unwrap()),
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges();
            let range = ranges[dice.below(ranges.len().min(3))];
            let (first, last) = (range.start() as u32, range.end() as u32);
            let letter = first + dice.below((last - first + 1).min(90) as usize) as u32;
            out.push(char::from_u32(letter).unwrap());
        }
        HirKind::Class(Class::Bytes(class)) => {
            let range = class.ranges()[dice.below(class.ranges().len())];
            let letter =
                range.start() + dice.below(usize::from(range.end() - range.start()) + 1) as u8;
            out.push(char::from(letter));
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(3).min(repetition.min + 3);
            let times = repetition.min as usize + dice.below((most - repetition.min + 1) as usize);
            (0..times).for_each(|_| example(&repetition.sub, dice, out));
        }
        HirKind::Capture(capture) => example(&capture.sub, dice, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| example(part, dice, out)),
        HirKind::Alternation(parts) => example(&parts[dice.below(parts.len())], dice, out),
    }
}

fn agree(pattern: &PhrasePattern, text: &str) -> bool {
    let whole = pattern.regex().is_match(text);
    let pairs = LetterPairs::of(text);
    let parts = pattern.likely(&pairs).any(|one| one.regex().is_match(text));
    assert_eq!(parts, whole, "{} {text:?}", pattern.text);
    whole
}

#[test]
fn words_decide_as_the_whole_expression_does() {
    let (texts, _) = corpus();
    let mut dice = Dice(7);
    for text in patterns() {
        let pattern = PhrasePattern::new(text);
        for text in &texts {
            agree(&pattern, text);
        }
        let hir = regex_syntax::Parser::new().parse(text).unwrap();
        let mut matched = 0;
        for round in 0..600 {
            let mut text = String::new();
            if round % 4 == 0 {
                text.push_str(["so ", "x", "\u{e9}", "_"][dice.below(4)]);
            }
            example(&hir, &mut dice, &mut text);
            if round % 3 == 0 {
                text.push_str([" so", "x", "\u{e9}", "_"][dice.below(4)]);
            }
            if round % 5 == 0 {
                let at = dice.below(text.chars().count());
                text = text
                    .chars()
                    .enumerate()
                    .filter(|(n, _)| *n != at)
                    .map(|(_, c)| c)
                    .collect();
            }
            matched += usize::from(agree(&pattern, &text));
        }
        assert!(matched > 100, "{matched} of {text}");
    }
}

#[test]
fn every_expression_is_read_to_its_end() {
    // These begin with what is optional and go on with single letters.
    let pairs = LetterPairs::of("\u{1}");
    for text in patterns() {
        let pattern = PhrasePattern::new(text);
        assert_eq!(pattern.likely(&pairs).count(), 0, "{text}");
    }
}

#[test]
fn a_plain_answer_needs_few_expressions() {
    let (_, good) = corpus();
    let (mut looked_at, mut compiled, mut needed) = (0, 0, 0);
    for text in patterns() {
        let pattern = PhrasePattern::new(text);
        for text in &good {
            let pairs = LetterPairs::of(text);
            let likely: Vec<_> = pattern.likely(&pairs).collect();
            looked_at += pattern.text.len();
            compiled += likely.iter().map(|one| one.text.len()).sum::<usize>();
            let matching = likely.iter().filter(|one| one.regex().is_match(text));
            needed += matching.map(|one| one.text.len()).sum::<usize>();
        }
    }
    let share = |bytes: usize| 1000 * bytes / looked_at;
    let said = format!("{} of {} in a thousand", share(compiled), share(needed));
    assert!(share(compiled) <= 40, "{said}");
}

#[test]
fn what_a_pattern_asks_of_a_text() {
    for (pattern, yes, no) in [
        (r"(?-u)\bno\b", "a no.", "know nothing"),
        (
            r"(?x-u)\b(?:a|no)\ (?:good|bad)\b",
            "a good, no",
            "a goodness",
        ),
        (r"^(?:is|are) ", "is it", "this is it"),
        (r"^(?:so )?(?:is|are) ", "so is it", "so it was"),
        (r"hm+,? [a-z]{2,3} ok", "hmmm xy ok", "m, ab ok"),
        (
            r"(?x)(?-u:\b)(?:\pL+\ ){0,2}caf[eé]s?(?-u:\b)",
            "un cafe",
            "un garde",
        ),
        (r"a\.b|[\]x]y", "]y", "a-b x"),
        (r"(?P<one>two|three){2}", "twothree", "one"),
    ] {
        let pattern = PhrasePattern::new(pattern);
        let likely = |text: &str| pattern.likely(&LetterPairs::of(text)).next().is_some();
        assert!(pattern.is_match(yes) && likely(yes), "{}", pattern.text);
        assert!(!pattern.is_match(no) && !likely(no), "{}", pattern.text);
    }
    // What is not read is left to the expression.
    for pattern in [
        r"(?i)no",
        r"(?m)^no",
        r"(?i:no)",
        r"[[:alpha:]]no",
        r"\x6eo",
    ] {
        let pattern = PhrasePattern::new(pattern);
        assert_eq!(
            pattern.likely(&LetterPairs::of("")).count(),
            1,
            "{}",
            pattern.text
        );
    }
}

#[test]
fn often_asked_it_is_compiled_whole() {
    let pattern = PhrasePattern::new("one|two");
    for _ in 0..OFTEN {
        assert!(!pattern.is_match("three") && pattern.whole.get().is_none());
    }
    assert!(!pattern.is_match("three") && pattern.whole.get().is_some());
    assert!(pattern.is_match("two"));
}
