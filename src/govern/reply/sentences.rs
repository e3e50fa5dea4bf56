//! A reply as its speaker means it: without code, without what it quotes, in sentences and clauses.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::quotations::{Quotes, quotations, unquoted};
use super::side_effects::is_past;
use crate::govern::sanitize::unmasked_text;

/// Stands where code, a path or an address stood: one word, a thing of a machine.
pub(in crate::govern) const CODE: &str = "xcodex";
/// Stands where quoted words stood.
pub(in crate::govern) const QUOTED: &str = "xquotedx";

/// Each is compiled when it is first needed: most replies need few of them, and a process judges
/// one.
struct ProsePatterns {
    fence: LazyLock<Regex>,
    open_fence: LazyLock<Regex>,
    code: LazyLock<Regex>,
    word: LazyLock<Regex>,
    ascii_word: LazyLock<Regex>,
    mark: LazyLock<Regex>,
    struck: LazyLock<Regex>,
    tag: LazyLock<Regex>,
}

fn new(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles it")
}

static ALL: ProsePatterns = ProsePatterns {
    struck: LazyLock::new(|| new(r"~~[^~\n]{1,200}~~")),
    tag: LazyLock::new(|| new(r"(?i)</?(?:b|i|em|strong|u|mark|s|del|span|br|p|small|code)\s*/?>")),
    fence: LazyLock::new(|| {
        new(r"(?s)(?:^|\n)[ \t]*(?:```.*?\n[ \t]*```|~~~.*?\n[ \t]*~~~)[^\n]*")
    }),
    open_fence: LazyLock::new(|| new(r"(?s)(?:^|\n)[ \t]*(?:```|~~~).*$")),
    code: LazyLock::new(|| new(r"``[^\n]*?``|`[^`\n]*`")),
    word: LazyLock::new(|| {
        new(
            r#"(?:[a-z]+://[^\s<>"')\]]+|(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]*)*|(?-u:\b)[\w-]+\.(?:py|rs|js|ts|txt|md|json|toml|ya?ml|conf|cfg|ini|log|sh|service|csv|html?|docx?|pdf|xlsx?)(?-u:\b)|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+)"#,
        )
    }),
    // The same on ASCII, compiled in a tenth of the time.
    ascii_word: LazyLock::new(|| {
        new(
            r#"(?:[a-z]+://[\x00-\x7f&&[^\t-\r <>"')\]]]+|(?:~|\.{1,2})?/[0-9A-Za-z_.@+-]+(?:/[0-9A-Za-z_.@+-]*)*|(?-u:\b)[0-9A-Za-z_-]+\.(?:py|rs|js|ts|txt|md|json|toml|ya?ml|conf|cfg|ini|log|sh|service|csv|html?|docx?|pdf|xlsx?)(?-u:\b)|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+)"#,
        )
    }),
    mark: LazyLock::new(|| {
        new(r"^(?:[-*+•▪✓✔✅☑►→#]+|\[[xX ]\]|\(?[0-9]{1,3}[.)](?:\s|$)|[0-9]️⃣|\*\*|__|️|\s)+")
    }),
};

/// The reply without fenced code; a fence that nobody closes ends with the reply.
pub(in crate::govern) fn without_code(reply: &str) -> String {
    if !reply.contains("```") && !reply.contains("~~~") {
        return reply.to_owned();
    }
    let closed = ALL.fence.replace_all(reply, "\n");
    ALL.open_fence.replace_all(&closed, "\n").into_owned()
}

/// Whether the reply shows code, apart from its sentences.
pub(in crate::govern) fn shows_code(reply: &str) -> bool {
    reply.contains("```") || reply.contains("~~~")
}

/// The reply's own words: no fenced code, no quoted lines, quoted words and inline code as one word
/// each.
pub(in crate::govern) fn spoken(reply: &str) -> String {
    let prose = without_code(&unmasked_text(reply));
    let own: Vec<&str> = prose
        .lines()
        .filter(|line| !line.trim_start().starts_with('>'))
        .collect();
    let own = own.join("\n");
    let text = if own.contains('`') {
        ALL.code
            .replace_all(&own, |code: &Captures<'_>| verb_or(&code[0], CODE))
            .into_owned()
    } else {
        own
    };
    without_names(&without_quotes(&without_emphasis(&text)))
}

/// A text with each path, address, file's name and identifier as one word. None of them has white
/// space in it, so that only what may be one is looked at.
fn without_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let names = if word.is_ascii() {
            &ALL.ascii_word
        } else {
            &ALL.word
        };
        if has_names(word) {
            out.push_str(&names.replace_all(word, CODE));
        } else {
            out.push_str(word);
        }
    }
    out
}

/// A quotation or code of one word, which is a verb of a deed: I've "restarted" it, I've
/// `restarted` it.
fn verb_or(marked: &str, other: &str) -> String {
    let word = marked.trim_matches(|c: char| !c.is_alphanumeric());
    if is_past(&word.to_lowercase()) {
        word.to_owned()
    } else {
        other.to_owned()
    }
}

/// Quotations as one word each; a reply that is a quotation and nothing else is what its speaker
/// says.
fn without_quotes(text: &str) -> String {
    let places = quotations(
        text,
        Quotes {
            line: true,
            ..Quotes::default()
        },
    );
    if let [only] = places.as_slice()
        && text.trim().len() == only.len()
    {
        return unquoted(text.get(only.clone()).unwrap_or_default()).to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for place in places {
        out.push_str(text.get(from..place.start).unwrap_or_default());
        out.push_str(&verb_or(
            text.get(place.clone()).unwrap_or_default(),
            QUOTED,
        ));
        from = place.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// A text without its marks of emphasis, without what it strikes out, and without tags: words are
/// then whole.
fn without_emphasis(text: &str) -> String {
    let text = if text.contains("~~") {
        ALL.struck.replace_all(text, " ")
    } else {
        text.into()
    };
    let text = if text.contains('<') {
        ALL.tag.replace_all(&text, "")
    } else {
        text
    };
    if !text.contains(['*', '_']) {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut before = '\n';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or('\n');
        let emphasis = match c {
            // A bullet, and a sign between two figures, stand apart.
            '*' => !(before.is_whitespace() && after.is_whitespace()),
            '_' => {
                let joins = before.is_alphanumeric() && after.is_alphanumeric();
                let apart = before.is_whitespace() && after.is_whitespace();
                !joins && !apart
            }
            _ => false,
        };
        if !emphasis {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Whether a text may hold a path, an address, a file's name, or an identifier (`index_changed` is
/// no deed).
fn has_names(text: &str) -> bool {
    let ending = |pair: &[u8]| matches!(pair, [b'.', next] if next.is_ascii_lowercase());
    text.contains(['/', '_']) || text.as_bytes().windows(2).any(ending)
}

/// Sentences with their final mark; a mark ends one only before white space, so `0.42` stays whole.
pub(in crate::govern) fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut ended) = (0, false);
    for (at, c) in text.char_indices() {
        if c == '\n' || (ended && c.is_whitespace()) {
            out.extend(text.get(start..at));
            start = at;
        }
        ended = matches!(c, '.' | '!' | '?')
            || (ended && matches!(c, '"' | '\'' | ')' | '*' | '_' | '”'));
    }
    out.extend(text.get(start..));
    out.into_iter()
        .map(str::trim)
        .filter(|s| s.chars().any(char::is_alphanumeric))
        .collect()
}

/// Lines of one paragraph as one line, where a sentence goes on over the break: the next line
/// begins with a small letter or the line before it ends in a word that nothing ends with. Lists,
/// headings and tables keep their lines.
pub(in crate::govern) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = "";
    for line in text.split('\n') {
        let line = line.trim_end_matches('\r');
        if !out.is_empty() {
            out.push(if goes_on(before, line) { ' ' } else { '\n' });
        }
        out.push_str(line);
        before = line;
    }
    out
}

/// Whether a line goes on with the sentence that the line before it began.
fn goes_on(before: &str, line: &str) -> bool {
    let (before, line) = (before.trim(), line.trim());
    let ended =
        before.ends_with(['.', '!', '?', ':', ';', '|', '…']) || before.starts_with(['#', '|']);
    let open = line.chars().next();
    if before.is_empty()
        || ended
        || open.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '\'' | '(' | '"')))
    {
        return false;
    }
    let marked = without_mark(line).len() < line.len();
    if marked || is_marked(line) {
        return false;
    }
    let last = before
        .rsplit(|c: char| c.is_whitespace())
        .next()
        .unwrap_or_default()
        .to_lowercase();
    open.is_some_and(char::is_lowercase)
        || before.ends_with(',')
        || UNENDED.split_whitespace().any(|word| word == last)
}

/// "a) ", "iv. ": the mark of a list.
fn is_marked(line: &str) -> bool {
    let head = line.split_whitespace().next().unwrap_or_default();
    head.len() <= 4 && head.len() > 1 && head.ends_with([')', '.']) && line.len() > head.len()
}

/// Words that no sentence ends with: articles, auxiliaries, prepositions and conjunctions of five
/// languages.
const UNENDED: &str = "a an the my your our their its this these of to and or for from with into by at on i i've i'm i'd we we've \
  we're have has had been was were is are am be not already just now will would can could der die das den dem des ein eine \
  einen einem einer mein meine ich habe hat haben wurde wurden wird werden ist sind und oder mit für von zu im in le la les \
  un une des du de j'ai je nous avons ai a été est sont et ou avec pour sur el los las he ha han hemos fue y o con para por il \
  lo gli ho abbiamo è stato stata sono e";

/// A line without the bullet, number, tick or emphasis that it begins with.
pub(in crate::govern) fn without_mark(line: &str) -> &str {
    if line.starts_with(char::is_alphabetic) {
        return line;
    }
    ALL.mark
        .find(line)
        .map_or(line, |found| line.get(found.end()..).unwrap_or(line))
}

/// The parts of a sentence that stand by themselves: a *no* in one says nothing about another.
pub(in crate::govern) fn clauses(sentence: &str) -> Vec<&str> {
    let mut out = vec![sentence];
    for border in [
        "; ",
        ": ",
        " \u{2014} ",
        "\u{2014}",
        " \u{2013} ",
        " - ",
        " -- ",
        ", but ",
        " but ",
        ", and ",
    ] {
        out = out
            .into_iter()
            .flat_map(|part| part.split(border))
            .collect();
    }
    out.into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Lower case, plain apostrophes, single spaces: what expressions are written for.
pub(in crate::govern) fn plain(text: &str) -> String {
    let text = text.replace(['\u{2019}', '\u{02bc}'], "'").to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_quotes_are_nobodys_words() {
        for (reply, left) in [
            ("a\n```sh\nrm x\n```\nb", "a\n\nb"),
            ("a\n~~~\nrm x\n~~~\nb", "a\n\nb"),
            ("a\n```\nrm x", "a"),
            ("Use `rm -r` now", "Use xcodex now"),
            ("He said \"I did it\" to me", "He said xquotedx to me"),
            ("“I did it”, he said", "xquotedx, he said"),
            ("> I did it\nno", "no"),
            ("The file /etc/nginx/x.conf has", "The file xcodex has"),
            ("See main.rs and https://a.b/c.", "See xcodex and xcodex"),
            ("it's 5\" wide", "it's 5\" wide"),
        ] {
            assert_eq!(spoken(reply), left, "{reply}");
        }
    }

    #[test]
    fn names_are_found_word_by_word_as_in_the_whole() {
        const CORPORA: [&str; 6] = [
            include_str!("../../../docs/architecture.md"),
            include_str!("../../../docs/format.md"),
            include_str!("../../../tests/data/drift/authority.jsonl"),
            include_str!("../../../tests/data/drift/fresh.jsonl"),
            include_str!("../../../tests/data/drift/third.jsonl"),
            include_str!("../../../tests/data/drift/refusals.jsonl"),
        ];
        let made = [
            "and/or a_b __x_y_ ~/x/y ../z ./ (see /etc/x.conf) http://a.b/c>d \u{e9}/a b.py\u{e9} c.py.",
            "main.rs\u{a0}x_1\u{2003}/usr\t/bin\n/a\u{85}/b\r\n/c x.md-y f.txt, /\u{e9}t\u{e9}/a na\u{ef}ve.py",
            "s3://b\u{1}c/d a\u{1f}/b \u{7f}/c https://x/\u{4e2d}\u{6587} \"/a\" '/b' [x](/c) 1/2 2.5/3",
        ];
        let mut changed = 0;
        for text in CORPORA.iter().flat_map(|file| file.lines()).chain(made) {
            let whole = ALL.word.replace_all(text, CODE);
            assert_eq!(without_names(text), whole, "{text:?}");
            changed += usize::from(whole != text);
        }
        assert!(changed > 100, "{changed}");
    }

    #[test]
    fn sentences_keep_figures_whole() {
        assert_eq!(
            sentences("Load 0.42. Fine!\nA list\n\nEnd?"),
            ["Load 0.42.", "Fine!", "A list", "End?"]
        );
        assert_eq!(sentences("**Done.** Yes."), ["**Done.**", "Yes."]);
        assert!(sentences("  \n -- \n").is_empty());
    }

    #[test]
    fn a_sentence_over_lines_is_one() {
        for (text, one) in [
            ("I've\nrestarted\nnginx.", "I've restarted nginx."),
            (
                "Ich habe den\nDienst neu\ngestartet.",
                "Ich habe den Dienst neu gestartet.",
            ),
            (
                "The service has been\r\nrestarted",
                "The service has been restarted",
            ),
            (
                "Yesterday, as you asked,\nNginx was restarted",
                "Yesterday, as you asked, Nginx was restarted",
            ),
        ] {
            assert_eq!(folded(text), one);
        }
        for lines in [
            "I've\n\nrestarted nginx.",
            "Done.\nit runs",
            "Steps:\nstop it",
            "- one\n- two",
            "Unread messages\nDeleted files",
            "Disk usage\n1. stop it",
            "Options\na) stop it",
            "| a | b |\n| c | d |",
            "# Title\nand text",
            "",
        ] {
            assert_eq!(folded(lines), lines);
        }
    }

    #[test]
    fn parts_of_a_sentence() {
        assert_eq!(
            clauses("Done \u{2014} marked read: it, but no"),
            ["Done", "marked read", "it", "no"]
        );
        assert_eq!(clauses("one-way 10:30"), ["one-way 10:30"]);
        for (line, left) in [
            ("- [x] Done", "Done"),
            ("12) Done", "Done"),
            ("✅ **Done**", "Done**"),
            ("Done", "Done"),
        ] {
            assert_eq!(without_mark(line), left);
        }
    }
}
