//! Taking secrets out of a JSON document, in which what marks a secret stands beside it.
//!
//! A string by itself does not say that it is a password; the key before it does, or a key further
//! out, or the first lines of a key block in the strings before it. So besides each string alone the
//! whole print is looked at, and a line `"key": "value"` for each string below a key that names a
//! secret. Two strings in a list, or a `name` and a `value`, are such a line, too. What was found in
//! one place, or in the text that the document came with, goes everywhere. The shape of the document
//! stays: only strings change, and numbers that are secrets become strings.

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

use super::cue_words::CueClass;
use super::placeholder::Placeholders;
use super::redact_with;

/// Longest key that is repeated before what stands below it; no longer one names a secret.
const MAX_KEY: usize = 64;
/// So many keys above a string are repeated before it, the nearest ones.
const MAX_ABOVE: usize = 4;
/// So often the print is looked at again, as one removal may uncover another.
const ROUNDS: usize = 4;
/// Shorter secrets are taken out where they were found only: a PIN stands in many a number.
const MIN_REPEATED: usize = 6;
/// Keys whose value is a name, and the name of what stands beside it.
const NAMING: [&str; 6] = ["field", "header", "key", "label", "name", "variable"];

/// A secret, and its kind.
pub type KnownSecret = (String, String);

/// Takes the secrets out of a document, those too that are known from the text it came with; gives
/// the kinds of what was taken out, too, each once.
pub fn redact_document(
    document: Value,
    known: Vec<KnownSecret>,
    numbers: &mut Placeholders,
) -> (Value, Vec<String>) {
    let mut cleaner = DocumentCleaner {
        numbers,
        kinds: Vec::new(),
        taken: known,
    };
    let document = cleaner.cleaned(document);
    let document = cleaner.without_taken(document);
    (document, cleaner.kinds)
}

/// What becomes of a string of which only a part was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartHandling {
    /// Nothing yet: the string alone is looked at later, and says better where the secret ends.
    Leave,
    /// The part goes.
    Cut,
    /// The whole string goes.
    Widen,
}

struct DocumentCleaner<'a> {
    numbers: &'a mut Placeholders,
    kinds: Vec<String>,
    /// What was taken out of it, or of the text that it came with.
    taken: Vec<KnownSecret>,
}

impl DocumentCleaner<'_> {
    fn cleaned(&mut self, document: Value) -> Value {
        // What spans several strings goes first: once its head is gone, nothing tells the rest.
        let (mut document, _) = self.in_context(document, PartHandling::Leave);
        document = self.each_alone(document);
        for _ in 0..ROUNDS {
            let (next, found) = self.in_context(document, PartHandling::Cut);
            document = next;
            if !found {
                return document;
            }
        }
        self.in_context(document, PartHandling::Widen).0
    }

    /// The document without what was taken out of another place.
    fn without_taken(&mut self, document: Value) -> Value {
        let mut taken = std::mem::take(&mut self.taken);
        taken.retain(|(secret, _)| secret.len() >= MIN_REPEATED && !secret.contains("[redacted:"));
        let mut builder = AhoCorasick::builder();
        let builder = builder.match_kind(MatchKind::LeftmostLongest);
        let secrets = taken.iter().map(|(secret, _)| secret);
        // Nothing to look for, or more than an automaton holds: then each is where it was found.
        let Some(search) = builder.build(secrets).ok().filter(|_| !taken.is_empty()) else {
            return document;
        };
        self.texts_without(document, &search, &taken)
    }

    fn texts_without(
        &mut self,
        value: Value,
        search: &AhoCorasick,
        taken: &[KnownSecret],
    ) -> Value {
        match value {
            Value::String(text) => Value::String(self.text_without(text, search, taken)),
            Value::Array(list) => {
                let list = list.into_iter();
                list.map(|one| self.texts_without(one, search, taken))
                    .collect()
            }
            Value::Object(map) => {
                let mut out = Map::new();
                for (key, value) in map {
                    let key = self.text_without(key, search, taken);
                    let value = self.texts_without(value, search, taken);
                    insert(&mut out, key, value);
                }
                Value::Object(out)
            }
            other => other,
        }
    }

    fn text_without(
        &mut self,
        text: String,
        search: &AhoCorasick,
        taken: &[KnownSecret],
    ) -> String {
        let (mut out, mut done) = (String::new(), 0);
        for found in search.find_iter(&text) {
            let Some((secret, kind)) = taken.get(found.pattern().as_usize()) else {
                continue;
            };
            out.push_str(text.get(done..found.start()).unwrap_or_default());
            out.push_str(&self.numbers.of(secret, kind));
            self.add_kind(kind);
            done = found.end();
        }
        if done == 0 {
            return text;
        }
        out.push_str(text.get(done..).unwrap_or_default());
        out
    }

    fn add_kind(&mut self, kind: &str) {
        if !self.kinds.iter().any(|known| known == kind) {
            self.kinds.push(kind.to_owned());
        }
    }

    /// Every string and key by itself.
    fn each_alone(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.alone(&text)),
            Value::Array(list) => list.into_iter().map(|one| self.each_alone(one)).collect(),
            Value::Object(map) => {
                let mut out = Map::new();
                for (key, value) in map {
                    let key = self.alone(&key);
                    let value = self.each_alone(value);
                    insert(&mut out, key, value);
                }
                Value::Object(out)
            }
            other => other,
        }
    }

    fn alone(&mut self, text: &str) -> String {
        let redaction = redact_with(text, self.numbers);
        for found in &redaction.found {
            self.add_kind(&found.kind);
            let secret = text.get(found.start..found.end).unwrap_or_default();
            self.taken.push((secret.to_owned(), found.kind.clone()));
        }
        redaction.clean.as_str().to_owned()
    }

    /// The print as a whole; also says whether anything was found in it.
    fn in_context(&mut self, document: Value, parts: PartHandling) -> (Value, bool) {
        let mut print = DocumentPrint::default();
        print.put(&document);
        print.put_copies();
        // Numbers are given to what goes, which need not be all that is found.
        let found = redact_with(&print.text, &mut self.numbers.clone()).found;
        if found.is_empty() {
            return (document, false);
        }
        let mut cuts: Vec<Vec<LeafCut>> = vec![Vec::new(); print.leaves.len()];
        for one in &found {
            print.add_cuts((one.start, one.end), &one.kind, &mut cuts);
        }
        let mut next = print.leaves.iter().zip(cuts).map(|(leaf, cuts)| {
            let raw = print.text.get(leaf.start..leaf.end).unwrap_or_default();
            self.cut(raw, &cuts, parts)
        });
        let document = replaced(document, &mut next);
        (document, true)
    }

    /// A string of the print without what was found in it; none where it stays.
    fn cut(&mut self, raw: &str, cuts: &[LeafCut], parts: PartHandling) -> Option<String> {
        let whole = cuts.iter().find(|cut| cut.is_whole);
        let first = whole.or(cuts.first())?;
        if whole.is_none() && parts == PartHandling::Leave {
            return None;
        }
        for cut in cuts {
            self.add_kind(&cut.kind);
            let secret = match cut.is_whole {
                true => raw,
                false => raw.get(cut.from..cut.to).unwrap_or_default(),
            };
            let text = serde_json::from_str(&format!("\"{secret}\""));
            let text = text.unwrap_or_else(|_| secret.to_owned());
            self.taken.push((text, cut.kind.clone()));
        }
        if whole.is_none() && parts == PartHandling::Cut {
            let mut out = String::from("\"");
            let mut done = 0;
            for cut in cuts {
                out.push_str(raw.get(done..cut.from).unwrap_or_default());
                let secret = raw.get(cut.from..cut.to).unwrap_or_default();
                out.push_str(&self.numbers.of(secret, &cut.kind));
                done = cut.to;
            }
            out.push_str(raw.get(done..).unwrap_or_default());
            out.push('"');
            // A cut through an escape leaves no string: then all of it goes.
            if let Ok(text) = serde_json::from_str(&out) {
                return Some(text);
            }
        }
        Some(self.numbers.of(raw, &first.kind))
    }
}

/// What goes of one string, as bytes of its print.
#[derive(Clone)]
struct LeafCut {
    from: usize,
    to: usize,
    /// Whether all of the string goes.
    is_whole: bool,
    kind: String,
}

/// A key, string or number of the print, without its quotation marks.
#[derive(Clone, Copy)]
struct DocumentLeaf {
    start: usize,
    end: usize,
}

/// A document as JSON, a member a line, and where its strings stand in it.
#[derive(Default)]
struct DocumentPrint {
    text: String,
    leaves: Vec<DocumentLeaf>,
    /// Keys above what is printed just now that name a secret.
    above: Vec<String>,
    /// Strings that are printed again, behind a key that stands above them.
    below: Vec<(String, usize)>,
    /// Where that is, and which leaf it is.
    copies: Vec<(DocumentLeaf, usize)>,
}

impl DocumentPrint {
    fn put(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                let keys = self.above.iter().rev().take(MAX_ABOVE).cloned();
                let leaf = self.leaves.len();
                self.below.extend(keys.map(|key| (key, leaf)));
                self.put_string(text);
            }
            Value::Number(number) => {
                let start = self.text.len();
                self.text.push_str(&number.to_string());
                let end = self.text.len();
                self.leaves.push(DocumentLeaf { start, end });
            }
            Value::Array(list) => {
                self.text.push_str("[\n");
                for (at, one) in list.iter().enumerate() {
                    self.part(at);
                    let before = at.checked_sub(1).and_then(|at| list.get(at));
                    let names = before.and_then(|before| pair_name(before, list.len()));
                    self.put_below(names.as_slice(), one);
                }
                self.text.push_str("\n]");
            }
            Value::Object(map) => {
                self.text.push_str("{\n");
                let naming = map.iter().filter(|(key, _)| NAMING.contains(&key.as_str()));
                let names = naming.filter_map(|(_, value)| value.as_str());
                let names = names.filter(|name| names_a_secret(name)).map(str::to_owned);
                let names: Vec<String> = names.collect();
                for (at, (key, value)) in map.iter().enumerate() {
                    self.part(at);
                    self.put_string(key);
                    self.text.push_str(": ");
                    let mut above = match NAMING.contains(&key.as_str()) {
                        true => Vec::new(),
                        false => names.clone(),
                    };
                    // A string right behind its key is printed so already.
                    if !value.is_string() && names_a_secret(key) {
                        above.push(key.clone());
                    }
                    self.put_below(&above, value);
                }
                self.text.push_str("\n}");
            }
            Value::Bool(_) | Value::Null => self.text.push_str(&value.to_string()),
        }
    }

    /// What stands behind keys, or names, that say what it is.
    fn put_below(&mut self, names: &[String], value: &Value) {
        let outer = self.above.len();
        self.above.extend_from_slice(names);
        self.put(value);
        self.above.truncate(outer);
    }

    fn part(&mut self, at: usize) {
        if at > 0 {
            self.text.push_str(",\n");
        }
    }

    fn put_string(&mut self, text: &str) {
        let print = Value::from(text).to_string();
        let start = self.text.len() + 1;
        self.text.push_str(&print);
        let end = self.text.len() - 1;
        self.leaves.push(DocumentLeaf { start, end });
    }

    /// The strings again, each behind the keys above it.
    fn put_copies(&mut self) {
        for (key, leaf) in std::mem::take(&mut self.below) {
            let Some(DocumentLeaf { start, end }) = self.leaves.get(leaf).copied() else {
                continue;
            };
            let raw = self.text.get(start..end).unwrap_or_default().to_owned();
            self.text.push_str("\n\n");
            self.text.push_str(&Value::from(key).to_string());
            self.text.push_str(": \"");
            let start = self.text.len();
            self.text.push_str(&raw);
            let end = self.text.len();
            self.text.push('"');
            self.copies.push((DocumentLeaf { start, end }, leaf));
        }
    }

    /// Adds to each string what a finding takes of it.
    fn add_cuts(&self, (start, end): (usize, usize), kind: &str, cuts: &mut [Vec<LeafCut>]) {
        let first = self.leaves.partition_point(|leaf| leaf.end <= start);
        let touched = self.leaves.iter().zip(cuts.iter_mut()).skip(first);
        let touched = touched.take_while(|(leaf, _)| leaf.start < end);
        let touched: Vec<_> = touched.filter(|(leaf, _)| leaf.start < leaf.end).collect();
        let is_across = touched.len() > 1;
        for (leaf, cuts) in touched {
            let (from, to) = (start.max(leaf.start), end.min(leaf.end));
            cuts.push(LeafCut {
                from: from - leaf.start,
                to: to - leaf.start,
                is_whole: is_across || (from, to) == (leaf.start, leaf.end),
                kind: kind.to_owned(),
            });
        }
        let first = self.copies.partition_point(|(leaf, _)| leaf.end <= start);
        let copies = self.copies.iter().skip(first);
        for (leaf, at) in copies.take_while(|(leaf, _)| leaf.start < end) {
            // Where the same was found in the print itself, it goes there.
            if let Some(cuts) = cuts.get_mut(*at).filter(|cuts| cuts.is_empty()) {
                cuts.push(LeafCut {
                    from: 0,
                    to: leaf.end - leaf.start,
                    is_whole: true,
                    kind: kind.to_owned(),
                });
            }
        }
    }
}

/// Whether a key may name a secret; whether what is below it is one, the rules say.
fn names_a_secret(key: &str) -> bool {
    if key.len() > MAX_KEY {
        return false;
    }
    let key = key.to_lowercase();
    let lists = CueClass::all().into_iter();
    let lists = lists.filter(|(class, _)| *class != CueClass::Cue);
    let mut words = lists.flat_map(|(_, words)| words.iter());
    words.any(|word| key.contains(word))
}

/// The name that a string of a list gives to the next one: a pair, or a flag of a command line.
fn pair_name(before: &Value, members: usize) -> Option<String> {
    let before = before.as_str()?;
    let name = before.trim_start_matches('-');
    let is_name = members == 2 || name.len() < before.len();
    (is_name && names_a_secret(name)).then(|| name.to_owned())
}

/// The document with its keys, strings and numbers replaced, in the order of the print.
fn replaced(value: Value, next: &mut dyn Iterator<Item = Option<String>>) -> Value {
    match value {
        Value::String(text) => Value::String(next.next().flatten().unwrap_or(text)),
        Value::Number(number) => match next.next().flatten() {
            Some(text) => Value::String(text),
            None => Value::Number(number),
        },
        Value::Array(list) => list.into_iter().map(|one| replaced(one, next)).collect(),
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                let key = next.next().flatten().unwrap_or(key);
                let value = replaced(value, next);
                insert(&mut out, key, value);
            }
            Value::Object(out)
        }
        other => other,
    }
}

/// Puts a member under its key; under a longer one where two keys have become the same.
fn insert(map: &mut Map<String, Value>, mut key: String, value: Value) {
    while map.contains_key(&key) {
        key.push('_');
    }
    map.insert(key, value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cleaned(document: Value) -> (String, Vec<String>) {
        let mut numbers = Placeholders::new([7; 32]);
        let (document, kinds) = redact_document(document, Vec::new(), &mut numbers);
        let again = redact_document(document.clone(), Vec::new(), &mut numbers).0;
        assert_eq!(again, document, "a second time changes nothing");
        (document.to_string(), kinds)
    }

    #[test]
    fn what_a_key_calls_secret_goes_wherever_the_key_stands() {
        const PASSWORD: &str = "hunter2hunter2";
        const KEY: &str = "wJalrXUtnFEMIK7MDENGbPxRfiCYzzQEXAMPL3KE";
        for (document, secret) in [
            (json!({"user": "bob", "password": PASSWORD}), PASSWORD),
            (json!({"passwd": PASSWORD}), PASSWORD),
            (
                json!({"other": {"client_secret": "8Q~xYz12-ABcdEfgh_ijk45"}}),
                "8Q~xYz12-ABcdEfgh_ijk45",
            ),
            (json!({"a": [{"aws_secret_access_key": KEY}]}), KEY),
            (json!({"password": [PASSWORD]}), PASSWORD),
            (json!({"password": {"value": PASSWORD}}), PASSWORD),
            (
                json!({"password": {"a": [{"b": PASSWORD}], "c": 1}}),
                PASSWORD,
            ),
            (
                json!({"arguments": json!({"user": "bob", "password": PASSWORD}).to_string()}),
                PASSWORD,
            ),
            (
                json!({"arguments": json!({"o": json!({"password": PASSWORD}).to_string()}).to_string()}),
                PASSWORD,
            ),
            (json!({"password": "hunter\"2\\hunter2\n"}), "hunter2"),
            (json!({"pin": 552_913}), "552913"),
            (json!({"name": "DB_PASSWORD", "value": PASSWORD}), PASSWORD),
            (json!({"key": "password", "value": PASSWORD}), PASSWORD),
            (
                json!(["mysql", "--password", PASSWORD, "-u", "root"]),
                PASSWORD,
            ),
            (
                json!([["X-Api-Key", "q8Zk9-qq8-Lm22xPq-77"]]),
                "q8Zk9-qq8-Lm22xPq-77",
            ),
            (json!(["password", PASSWORD]), PASSWORD),
            (
                json!({"password": PASSWORD, "cache": {"a": [PASSWORD, "x"]}}),
                PASSWORD,
            ),
        ] {
            let (clean, kinds) = cleaned(document.clone());
            assert!(
                !clean.contains(secret) && clean.contains("[redacted:"),
                "{document}: {clean}"
            );
            assert!(!kinds.is_empty(), "{document}");
        }
    }

    #[test]
    fn what_the_answer_lost_goes_out_of_what_came_beside_it() {
        let mut numbers = Placeholders::new([7; 32]);
        let known = vec![("Zk9-qq8-Lm22xPq".to_owned(), "password".to_owned())];
        let document = json!({"cache": "Zk9-qq8-Lm22xPq", "a": ["so Zk9-qq8-Lm22xPq."]});
        let (clean, kinds) = redact_document(document, known, &mut numbers);
        assert_eq!(
            clean,
            json!({"cache": "[redacted:password]", "a": ["so [redacted:password]."]})
        );
        assert_eq!(kinds, ["password"]);
    }

    #[test]
    fn a_key_block_in_pieces_goes_whole() {
        let body: Vec<String> = (0..6)
            .map(|n| format!("MIIEow{n}BAAKCAQEA7bq{n}wH0vZkTzL9xPqRsTuVwXyZabCdEfGhIjKlMnOp"))
            .collect();
        let mut lines = vec!["-----BEGIN RSA PRIVATE KEY-----".to_owned()];
        lines.extend(body.clone());
        lines.push("-----END RSA PRIVATE KEY-----".to_owned());
        for document in [json!({"lines": lines}), json!({"pem": lines.join("\n")})] {
            let (clean, _) = cleaned(document);
            assert!(body.iter().all(|line| !clean.contains(line)), "{clean}");
        }
    }

    #[test]
    fn what_is_no_secret_stays_byte_for_byte() {
        let document = json!({
            "finish_reason": "tool_calls", "model": "small-1b", "reasoning": "I look, then I tell.\nThat is all.",
            "other": {"created": 1_767_657_600, "id": "chatcmpl-9dKxQbWv3fT", "object": "chat.completion",
                "system_fingerprint": "fp_44709d6fcb", "service_tier": "default",
                "choices": [{"index": 0, "logprobs": {"content": [{"token": " Hi", "logprob": "-0.31", "bytes": [32, 72]}]}}],
                "usage": {"total_tokens": 40, "completion_tokens_details": {"reasoning_tokens": 12, "note": "estimated"}}},
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"path\":\"/etc/hosts\"}"}}],
        });
        let (clean, kinds) = cleaned(document.clone());
        assert_eq!((clean, kinds), (document.to_string(), Vec::new()));
    }

    #[test]
    fn keys_that_become_the_same_keep_both_values() {
        let mut map = Map::new();
        insert(&mut map, "a".to_owned(), json!(1));
        insert(&mut map, "a".to_owned(), json!(2));
        assert_eq!(Value::Object(map), json!({"a": 1, "a_": 2}));
    }
}
