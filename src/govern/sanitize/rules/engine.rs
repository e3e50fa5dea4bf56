//! One set of rules, and one look at a text with it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

use super::file::{Allow, RuleFault, SecretRule, read, read_own};
use super::keywords::{KeywordTable, forms};
use super::triggers::TriggerTask;
use super::window::{AFTER, ScanWindows, boundary, boundary_before};
use crate::govern::sanitize::cue_words::{CueClass, CueWord};
use crate::govern::sanitize::exempt::{Exempt, Exemptions};
use crate::govern::sanitize::optional::{OPTIONAL, Optional};
use crate::govern::sanitize::phrases::sentences::{SentenceScan, SentenceTopic};
use crate::govern::sanitize::phrases::strong_cues;
use crate::govern::sanitize::phrases::strong_cues::CueScan;
use crate::govern::sanitize::phrases::words::is_ticket;
use crate::govern::sanitize::phrases::{codes, credentials, passwords};
use crate::govern::sanitize::public::{is_called_public, is_example};
use crate::govern::sanitize::separator::Ends;
use crate::govern::sanitize::tables;
use crate::govern::sanitize::tables::Heads;
use crate::govern::sanitize::text::passes::OPAQUE;
use crate::govern::sanitize::text::span::{SecretSpan, of_kind};
use crate::govern::sanitize::text::work;
use crate::govern::sanitize::{address, assignments, optional, pem, random_tokens};
use crate::record::ledger::reply::SENT_KEY;

/// The rules that every home has.
pub(in crate::govern::sanitize) const OWN_RULES: &str =
    include_str!(concat!(env!("OUT_DIR"), "/secrets.json"));
/// What errors call them.
pub(in crate::govern::sanitize) const OWN_NAME: &str = "genesis/secrets.toml";

/// From this length of a text the search for keywords is worth a table that takes some milliseconds
/// to make.
const LONG: usize = 64 * 1024;

/// Kinds of what no rule file finds; the order is that of precedence.
const FIRST: [&str; 2] = ["private-key", "certificate"];
const LAST: [&str; 8] = [
    "url-password",
    "basic-auth",
    "bearer-token",
    "authorization",
    "password",
    "secret",
    "encoded-secret",
    "token",
];

/// What a home chooses beside rule files.
#[derive(Clone, Debug, Default)]
pub struct HomeRules {
    /// Findings that stay: exact texts, and expressions between slashes.
    pub allow: Vec<String>,
    /// Kinds that are looked for only where they are asked for.
    pub optional: Vec<Optional>,
}

/// Indexes of those kinds.
struct Kinds {
    url: usize,
    basic: usize,
    bearer: usize,
    authorization: usize,
    password: usize,
    secret: usize,
    encoded: usize,
    token: usize,
}

struct KnownRule {
    rule: SecretRule,
    kind: usize,
    file: usize,
    /// Whether it is one of ours: every match of those stands near one of its keywords.
    is_own: bool,
}

/// Rules, ready to be used; their expressions are compiled when a keyword calls for them.
pub struct Engine {
    kinds: Vec<String>,
    is_kind: HashSet<String>,
    rules: Vec<KnownRule>,
    allow: Vec<Vec<Allow>>,
    always: Vec<usize>,
    /// For the small letters of short texts: a question is looked through in less time than a faster
    /// search, or one for both cases, takes to be made.
    keywords: AhoCorasick,
    words: Vec<String>,
    /// The same search for long texts as they are, made when the first of them comes.
    fast: OnceLock<Option<AhoCorasick>>,
    actions: Vec<Vec<TriggerTask>>,
    of: Kinds,
    pub(in crate::govern::sanitize) exempt: Exempt,
    optional: Vec<(Optional, usize)>,
}

/// What one look at a text finds.
#[derive(Default)]
pub(in crate::govern::sanitize) struct ScanResult {
    /// Secrets; not sorted, and some may overlap.
    pub(in crate::govern::sanitize) spans: Vec<SecretSpan>,
    /// Byte ranges of blocks that are public, such as certificates.
    pub(in crate::govern::sanitize) public: Vec<(usize, usize)>,
}

impl Engine {
    /// Our own rules and those of `files`, each given as its name and its text.
    pub fn new(files: &[(String, String)]) -> Result<Self, RuleFault> {
        Engine::with(files, &HomeRules::default())
    }

    /// The same, with what a home chooses.
    pub fn with(files: &[(String, String)], choice: &HomeRules) -> Result<Self, RuleFault> {
        let exempt = Exempt::read(&choice.allow)?;
        let mut read_files = vec![read_own(OWN_NAME, OWN_RULES)?];
        for (name, text) in files {
            read_files.push(read(name, text)?);
        }
        let mut kinds: Vec<String> = FIRST.map(str::to_owned).to_vec();
        let mut gathered = KeywordTable::default();
        let (mut rules, mut allow, mut always) = (Vec::new(), Vec::new(), Vec::new());
        for (file, read) in read_files.into_iter().enumerate() {
            allow.push(read.allow);
            for rule in read.rules {
                let kind = index_of(&mut kinds, &rule.id);
                if rule.keywords.is_empty() {
                    always.push(rules.len());
                }
                rule.keywords
                    .iter()
                    .for_each(|word| gathered.add(word, TriggerTask::Rule(rules.len())));
                rules.push(KnownRule {
                    rule,
                    kind,
                    file,
                    is_own: file == 0,
                });
            }
        }
        let of = of_last(&mut kinds);
        // The names are kinds in every home, so that a placeholder is one wherever its text comes
        // to.
        let mut optional = Vec::new();
        for (_, name, kind) in OPTIONAL {
            let index = index_of(&mut kinds, name);
            if choice.optional.contains(&kind) {
                optional.push((kind, index));
            }
        }
        for (class, words) in CueClass::all() {
            for form in words.iter().flat_map(forms) {
                gathered.add(&form, TriggerTask::Named(class));
            }
        }
        for (task, words) in TriggerTask::all() {
            words.iter().for_each(|word| gathered.add(word, task));
        }
        let small = gathered.words.iter().map(|word| word.to_ascii_lowercase());
        let keywords = AhoCorasickBuilder::new()
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .dense_depth(1)
            .build(small);
        let keywords = keywords.map_err(|e| RuleFault {
            file: files.last().map_or(OWN_NAME, |(name, _)| name).to_owned(),
            rule: None,
            reason: format!("its keywords are too many or too long: {e}"),
        })?;
        let known = kinds.iter().cloned();
        let is_kind = known.chain([SENT_KEY.to_owned()]).collect();
        let (words, actions) = (gathered.words, gathered.actions);
        Ok(Engine {
            kinds,
            is_kind,
            rules,
            allow,
            always,
            keywords,
            words,
            fast: OnceLock::new(),
            actions,
            of,
            exempt,
            optional,
        })
    }

    /// Whether there is such a kind.
    pub(in crate::govern::sanitize) fn is_kind(&self, name: &str) -> bool {
        self.is_kind.contains(name)
    }

    /// Whether a kind is that of a token that nothing names.
    pub(in crate::govern::sanitize) fn is_bare(&self, kind: usize) -> bool {
        kind == self.of.token || kind == self.of.encoded
    }

    /// Whether a kind is one of a rule file, which tells it by its shape.
    pub(in crate::govern::sanitize) fn is_shape(&self, kind: usize) -> bool {
        (FIRST.len()..self.of.url).contains(&kind)
    }

    /// What a home lets stay, as it is put on record.
    pub fn exemptions(&self) -> Exemptions {
        self.exempt.described()
    }

    /// Whether there are rules whose matches may be anywhere, however far from what changes.
    pub(in crate::govern::sanitize) fn reaches_far(&self) -> bool {
        self.rules.iter().any(|known| !known.is_own)
    }

    /// The search for keywords in a text, and the text as it is to be searched.
    fn search<'t>(&self, text: &'t str) -> (&AhoCorasick, Cow<'t, str>) {
        let build = || {
            let mut builder = AhoCorasickBuilder::new();
            builder
                .ascii_case_insensitive(true)
                .kind(Some(AhoCorasickKind::DFA))
                .build(&self.words)
                .ok()
        };
        let fast = (text.len() >= LONG).then(|| self.fast.get_or_init(build).as_ref());
        match fast.flatten() {
            Some(fast) => (fast, Cow::Borrowed(text)),
            None => (&self.keywords, Cow::Owned(text.to_ascii_lowercase())),
        }
    }

    /// All kinds, by index.
    pub(in crate::govern::sanitize) fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// How many rules of rule files there are, our own among them.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Ids of all rules, and whether their expressions compile.
    #[cfg(test)]
    pub(in crate::govern::sanitize) fn expressions(&self) -> impl Iterator<Item = (&str, bool)> {
        self.rules.iter().map(|known| {
            (
                known.rule.id.as_str(),
                known.rule.expression.regex().is_some(),
            )
        })
    }

    /// All places of one text that hold a secret, as it stands.
    pub(in crate::govern::sanitize) fn look(&self, text: &str) -> ScanResult {
        self.look_at(text, true)
    }

    fn look_at(&self, text: &str, decode: bool) -> ScanResult {
        work::count(text.len());
        let mut windows = ScanWindows::new(text, self.rules.len());
        let mut words: Vec<CueWord> = Vec::new();
        let mut spans = Vec::new();
        let mut has_blocks = false;
        let mut sentences: [SentenceScan; 3] = Default::default();
        let (search, searched) = self.search(text);
        for hit in search.find_overlapping_iter(&*searched) {
            let (start, end) = (hit.start(), hit.end());
            for action in &self.actions[hit.pattern().as_usize()] {
                match action {
                    TriggerTask::Rule(rule) if self.rules[*rule].is_own => {
                        windows.add(*rule, start, end, self.rules[*rule].rule.expression.run());
                    }
                    TriggerTask::Rule(rule) => windows.everything(*rule),
                    TriggerTask::Named(class) => {
                        push_word(
                            &mut words,
                            CueWord {
                                start,
                                end,
                                class: *class,
                            },
                        );
                    }
                    TriggerTask::Block => has_blocks = true,
                    TriggerTask::Sentence(topic) => {
                        let scan = &mut sentences[*topic as usize];
                        let places = scan.around(text, start, end, *topic);
                        spans.extend(of_kind(self.of.password, places));
                    }
                    action => self.look_around(text, start, end, *action, &mut spans),
                }
            }
        }
        let blocks = if has_blocks {
            pem::blocks(text, 0, 1)
        } else {
            pem::Blocks::default()
        };
        spans.extend(blocks.secret.iter().copied());
        self.always
            .iter()
            .for_each(|rule| windows.everything(*rule));
        for (rule, known) in self.rules.iter().enumerate() {
            self.look_by_rule(text, known, windows.of(rule), &mut spans);
        }
        for (kind, index) in &self.optional {
            spans.extend(of_kind(*index, optional::look(text, *kind)));
        }
        let cues = self.look_by_name(
            text,
            words,
            &mut sentences[SentenceTopic::Password as usize],
            &mut spans,
        );
        let mut covered = blocks.public.clone();
        covered.extend(blocks.secret.iter().map(|span| (span.start, span.end)));
        covered.sort_unstable();
        let hides = |plain: &str| decode && self.hides(plain);
        let found = random_tokens::look(text, &covered, &cues, &hides);
        spans.extend(of_kind(self.of.token, found.random));
        spans.extend(of_kind(self.of.encoded, found.encoded));
        ScanResult {
            spans,
            public: blocks.public,
        }
    }

    /// Whether a decoded text is a user and a password, or holds a secret.
    fn hides(&self, plain: &str) -> bool {
        let pair = plain.split_once(':').is_some_and(|(user, password)| {
            let user_fits = (1..=64).contains(&user.len())
                && user
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._@+-".contains(&b));
            user_fits
                && password.len() >= 4
                && !password.contains(char::is_whitespace)
                && !password.starts_with('/')
        });
        pair || !self.look_at(plain, false).spans.is_empty()
    }

    fn look_around(
        &self,
        text: &str,
        start: usize,
        end: usize,
        action: TriggerTask,
        spans: &mut Vec<SecretSpan>,
    ) {
        let of = &self.of;
        match action {
            TriggerTask::Address => spans.extend(of_kind(of.url, address::user_info(text, end))),
            TriggerTask::Bearer => spans.extend(of_kind(of.bearer, address::bearer(text, end))),
            TriggerTask::Basic => spans.extend(of_kind(of.basic, address::basic(text, end))),
            TriggerTask::Authorization => {
                let place = address::authorization(text, end);
                spans.extend(of_kind(of.authorization, place));
            }
            TriggerTask::Opens => {
                spans.extend(of_kind(of.password, codes::look(text, start, end)));
            }
            action => {
                spans.extend(of_kind(
                    of.password,
                    password_around(text, (start, end), action),
                ));
            }
        }
    }

    /// Runs one rule's expression where its keywords are.
    fn look_by_rule(
        &self,
        text: &str,
        known: &KnownRule,
        windows: &[(usize, usize)],
        spans: &mut Vec<SecretSpan>,
    ) {
        if windows.is_empty() {
            return;
        }
        let Some(regex) = known.rule.expression.regex() else {
            // What can't be looked for must not pass: the whole text goes.
            spans.push(SecretSpan {
                start: 0,
                end: text.len(),
                kind: known.kind,
            });
            return;
        };
        let global = self.allow.get(known.file).map_or(&[][..], Vec::as_slice);
        let bytes = text.as_bytes();
        let mut done = 0;
        for (from, to) in windows {
            let (mut from, mut to) = (done.max(*from), done.max(*to));
            while let Some(whole) = regex.find_at(&bytes[..to], from) {
                work::count(whole.end() - from);
                if whole.end() == to && to < text.len() {
                    // The match may go on behind the window.
                    to = boundary(text, to.saturating_add(4 * (to - whole.start()).max(AFTER)));
                    from = whole.start();
                    continue;
                }
                let matched = (whole.start(), whole.end());
                let found = if regex.captures_len() > 1 {
                    regex.captures_at(&bytes[..to], whole.start())
                } else {
                    None
                };
                let secret = found.map_or(Some(matched), |found| known.rule.secret(&found));
                let secret =
                    secret.map(|(start, end)| (boundary_before(text, start), boundary(text, end)));
                if let Some(secret) = secret
                    && known.rule.counts(text, secret, matched, global)
                    && !(known.is_own
                        && is_example(text.get(secret.0..secret.1).unwrap_or_default()))
                {
                    spans.push(SecretSpan {
                        start: secret.0,
                        end: secret.1,
                        kind: known.kind,
                    });
                }
                from = if whole.is_empty() {
                    boundary(text, whole.end() + 1)
                } else {
                    whole.end()
                };
                if from >= to {
                    break;
                }
            }
            work::count(to.saturating_sub(from));
            done = to.max(from);
        }
    }

    /// Looks at every word that calls something secret; returns where such words are.
    fn look_by_name(
        &self,
        text: &str,
        words: Vec<CueWord>,
        sentences: &mut SentenceScan,
        spans: &mut Vec<SecretSpan>,
    ) -> random_tokens::Cues {
        let mut cues = random_tokens::Cues::default();
        let (mut ends, mut heads, mut scan) =
            (Ends::default(), Heads::default(), CueScan::default());
        let nexts = passwords::nexts(text, &words);
        for (word, next) in words.iter().zip(nexts) {
            let CueWord { start, end, class } = *word;
            work::count(end - start);
            cues.add(text, start, end, class);
            let is_name = class.is_short() && is_ticket(text, start, end);
            if is_name || is_taken(text, end) || is_sought(text, start, end) {
                continue;
            }
            let kind = if class.is_password() {
                self.of.password
            } else {
                self.of.secret
            };
            if let Some(values) = tables::look(text, *word, &mut heads) {
                spans.extend(of_kind(kind, values));
                continue;
            }
            let place = assignments::look(text, *word, &mut ends)
                .or_else(|| assignments::look_grouped(text, *word));
            let place = if class.is_password() {
                place.or_else(|| passwords::look(text, start, end, next))
            } else {
                let place = place.or_else(|| passwords::token(text, *word, next));
                place.filter(|(at, _)| !is_called_public(text, *at))
            };
            if let Some(place) = place {
                spans.extend(of_kind(kind, [place]));
                continue;
            }
            if class.is_password() {
                let places = sentences.around(text, start, end, SentenceTopic::Password);
                spans.extend(of_kind(kind, places));
            }
            let called = text.get(start..end).unwrap_or_default();
            if class.is_password() || called.eq_ignore_ascii_case("credential") {
                spans.extend(of_kind(kind, scan.around(text, start, end)));
            }
        }
        cues
    }
}

/// The password that a trigger of `start..end` calls for.
fn password_around(
    text: &str,
    (start, end): (usize, usize),
    action: TriggerTask,
) -> Option<(usize, usize)> {
    match action {
        TriggerTask::UserFlag => address::user_flag(text, end),
        TriggerTask::Pair => passwords::pair(text, end),
        TriggerTask::Login => {
            credentials::after_login(text, end).or_else(|| strong_cues::behind(text, end))
        }
        TriggerTask::Behind => strong_cues::behind(text, end),
        TriggerTask::Joined => strong_cues::joined(text, start, end),
        TriggerTask::Mail => strong_cues::of_mail(text, end),
        TriggerTask::Purpose => credentials::before_purpose(text, start),
        TriggerTask::Code | TriggerTask::ToldCode | TriggerTask::Pin => {
            let (number, told) = (action == TriggerTask::Pin, action == TriggerTask::ToldCode);
            credentials::code(text, (start, end), number, told)
        }
        _ => None,
    }
}

/// Adds a word that ends no earlier than all before it, unless it is inside of one; those inside of
/// it go.
///
/// What is left is in the order of the text.
fn push_word(words: &mut Vec<CueWord>, word: CueWord) {
    while words.last().is_some_and(|last| {
        word.start < last.start || word.start == last.start && word.end > last.end
    }) {
        words.pop();
    }
    if words.last().is_none_or(|last| word.end > last.end) {
        words.push(word);
    }
}

/// Whether all that is assigned at a place was taken out before.
fn is_taken(text: &str, end: usize) -> bool {
    let rest = text.get(end..).and_then(|rest| rest.strip_prefix('='));
    let value = rest.map(|rest| rest.strip_prefix(['"', '\'']).unwrap_or(rest));
    let after = value.and_then(|value| value.strip_prefix(OPAQUE));
    after.is_some_and(|after| {
        after.is_empty() || after.starts_with([' ', '\n', '\r', '\t', '"', '\'', ';', '&'])
    })
}

/// Whether code asks for the word `start..end` itself: `if 'password' in query or …`. Nothing is said
/// there of what one is.
fn is_sought(text: &str, start: usize, end: usize) -> bool {
    const CONDITIONS: [&str; 5] = ["if", "elif", "while", "return", "assert"];
    /// So many bytes of the line are looked at before it.
    const BEFORE: usize = 200;
    let before = text.get(boundary(text, start.saturating_sub(BEFORE))..start);
    let (Some(before), Some(after)) = (before, text.get(end..)) else {
        return false;
    };
    let quoted = ['\'', '"'].into_iter().find_map(|mark| {
        let (before, after) = (before.strip_suffix(mark)?, after.strip_prefix(mark)?);
        Some((before, after))
    });
    let Some((before, after)) = quoted else {
        return false;
    };
    let line = before.rsplit('\n').next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let (first, last) = (words.clone().next(), words.next_back());
    let is_condition = |word: Option<&str>| word.is_some_and(|word| CONDITIONS.contains(&word));
    let goes_on = matches!(last, Some("and" | "or" | "not"));
    let asks = is_condition(last) || goes_on && is_condition(first);
    let within = after
        .strip_prefix(" in ")
        .or_else(|| after.strip_prefix(" not in "));
    let name_ends = |c: char| !(c.is_ascii_alphanumeric() || "_.()[]".contains(c));
    let behind = within.map(|within| within.trim_start_matches(|c| !name_ends(c)));
    asks && behind.is_some_and(|behind| {
        [":", ",", " and ", " or ", " else "]
            .iter()
            .any(|sign| behind.starts_with(sign))
    })
}

fn index_of(kinds: &mut Vec<String>, name: &str) -> usize {
    let lower = name.to_ascii_lowercase();
    kinds
        .iter()
        .position(|kind| *kind == lower)
        .unwrap_or_else(|| {
            kinds.push(lower);
            kinds.len() - 1
        })
}

fn of_last(kinds: &mut Vec<String>) -> Kinds {
    let [
        url,
        basic,
        bearer,
        authorization,
        password,
        secret,
        encoded,
        token,
    ] = LAST.map(|name| index_of(kinds, name));
    Kinds {
        url,
        basic,
        bearer,
        authorization,
        password,
        secret,
        encoded,
        token,
    }
}
