//! One set of rules, and one look at a text with it.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};

use super::rules::{Allow, Rule, RuleFault, RuleFile, read};
use super::span::Span;
use super::words::{Class, WORDS};
use super::{address, bare, named, pem, prose};

/// The rules that every home has.
const OWN_RULES: &str = include_str!("../../../genesis/secrets.toml");
/// What errors call them.
pub(super) const OWN_NAME: &str = "genesis/secrets.toml";

/// How far before its keyword a match of our own rules may begin.
const BEFORE: usize = 160;
/// How far after its keyword a match is looked for first; one that reaches the end is looked for further.
const AFTER: usize = 512;

/// What is looked for where a keyword stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Rule(usize),
    Named(Class),
    Block,
    Address,
    Bearer,
    Basic,
    Authorization,
    UserFlag,
    Pair,
}

/// Keywords of no rule file.
const TRIGGERS: &[(&str, Action)] = &[
    ("begin ", Action::Block),
    ("://", Action::Address),
    ("bearer", Action::Bearer),
    ("basic", Action::Basic),
    ("authorization", Action::Authorization),
    ("-u", Action::UserFlag),
    ("--user", Action::UserFlag),
    ("log in with", Action::Pair),
    ("login with", Action::Pair),
    ("sign in with", Action::Pair),
    ("login as", Action::Pair),
    ("credentials", Action::Pair),
    ("creds", Action::Pair),
    ("username and password", Action::Pair),
];

/// Kinds of what no rule file finds; the order is that of precedence.
const FIRST: [&str; 2] = ["private-key", "certificate"];
const LAST: [&str; 8] =
    ["url-password", "basic-auth", "bearer-token", "authorization", "password", "secret", "encoded-secret", "token"];

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

struct Known {
    rule: Rule,
    kind: usize,
    file: usize,
    /// Whether every match stands near one of its keywords, which is so for our own rules.
    near: bool,
}

/// Rules, ready to be used; their expressions are compiled when a keyword calls for them.
pub struct Engine {
    kinds: Vec<String>,
    rules: Vec<Known>,
    allow: Vec<Vec<Allow>>,
    always: Vec<usize>,
    keywords: AhoCorasick,
    actions: Vec<Vec<Action>>,
    of: Kinds,
}

/// Keywords while they are gathered: each once, with all that it calls for.
#[derive(Default)]
struct Gathered {
    index: HashMap<String, usize>,
    words: Vec<String>,
    actions: Vec<Vec<Action>>,
}

impl Gathered {
    fn add(&mut self, word: &str, action: Action) {
        let at = *self.index.entry(word.to_owned()).or_insert_with(|| {
            self.words.push(word.to_owned());
            self.actions.push(Vec::new());
            self.words.len() - 1
        });
        if !self.actions[at].contains(&action) {
            self.actions[at].push(action);
        }
    }
}

impl Engine {
    /// Our own rules and those of `files`, each given as its name and its text.
    pub fn new(files: &[(String, String)]) -> Result<Self, RuleFault> {
        let mut read_files = vec![read(OWN_NAME, OWN_RULES)?];
        for (name, text) in files {
            read_files.push(read(name, text)?);
        }
        let mut kinds: Vec<String> = FIRST.map(str::to_owned).to_vec();
        let mut gathered = Gathered::default();
        let (mut rules, mut allow, mut always) = (Vec::new(), Vec::new(), Vec::new());
        for (file, RuleFile { rules: of_file, allow: of_all }) in read_files.into_iter().enumerate() {
            allow.push(of_all);
            for rule in of_file {
                let kind = index_of(&mut kinds, &rule.id);
                if rule.keywords.is_empty() {
                    always.push(rules.len());
                }
                rule.keywords.iter().for_each(|word| gathered.add(word, Action::Rule(rules.len())));
                rules.push(Known { rule, kind, file, near: file == 0 });
            }
        }
        let of = of_last(&mut kinds);
        for (class, words) in WORDS {
            for form in words.iter().flat_map(|word| forms(word)) {
                gathered.add(&form, Action::Named(*class));
            }
        }
        TRIGGERS.iter().for_each(|(word, action)| gathered.add(word, *action));
        let keywords = AhoCorasickBuilder::new().ascii_case_insensitive(true).build(&gathered.words);
        let keywords = keywords.map_err(|e| RuleFault {
            file: files.last().map_or(OWN_NAME, |(name, _)| name).to_owned(),
            rule: None,
            reason: format!("its keywords are too many or too long: {e}"),
        })?;
        Ok(Engine { kinds, rules, allow, always, keywords, actions: gathered.actions, of })
    }

    /// All kinds, by index.
    pub(super) fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// How many rules of rule files there are, our own among them.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Ids of all rules, and whether their expressions compile.
    #[cfg(test)]
    pub(super) fn expressions(&self) -> impl Iterator<Item = (&str, bool)> {
        self.rules.iter().map(|known| (known.rule.id.as_str(), known.rule.expression.regex().is_some()))
    }

    /// All places of one text that hold a secret, as it stands; not sorted, and some may overlap.
    pub(super) fn look(&self, text: &str) -> Vec<Span> {
        self.look_at(text, true)
    }

    fn look_at(&self, text: &str, decode: bool) -> Vec<Span> {
        let mut near: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.rules.len()];
        let mut words: Vec<(usize, usize, Class)> = Vec::new();
        let mut spans = Vec::new();
        let mut has_blocks = false;
        for hit in self.keywords.find_overlapping_iter(text) {
            for action in &self.actions[hit.pattern().as_usize()] {
                match action {
                    Action::Rule(rule) => near[*rule].push((hit.start(), hit.end())),
                    Action::Named(class) => words.push((hit.start(), hit.end(), *class)),
                    Action::Block => has_blocks = true,
                    action => self.look_after(text, hit.end(), *action, &mut spans),
                }
            }
        }
        let blocks = if has_blocks { pem::blocks(text, 0, 1) } else { pem::Blocks::default() };
        spans.extend(blocks.secret.iter().copied());
        for rule in &self.always {
            near[*rule].push((0, text.len()));
        }
        for (known, hits) in self.rules.iter().zip(&near).filter(|(_, hits)| !hits.is_empty()) {
            self.look_by_rule(text, known, hits, &mut spans);
        }
        let cues = self.look_by_name(text, words, &mut spans);
        let mut covered = blocks.public;
        covered.extend(blocks.secret.iter().map(|span| (span.start, span.end)));
        covered.sort_unstable();
        let hides = |plain: &str| decode && self.hides(plain);
        let found = bare::look(text, &covered, &cues, &hides);
        spans.extend(found.random.into_iter().map(|(start, end)| Span { start, end, kind: self.of.token }));
        spans.extend(found.encoded.into_iter().map(|(start, end)| Span { start, end, kind: self.of.encoded }));
        spans
    }

    /// Whether a decoded text is a user and a password, or holds a secret.
    fn hides(&self, plain: &str) -> bool {
        let pair = plain.split_once(':').is_some_and(|(user, password)| {
            let user_fits = (1..=64).contains(&user.len())
                && user.bytes().all(|b| b.is_ascii_alphanumeric() || b"._@+-".contains(&b));
            user_fits && password.len() >= 4 && !password.contains(char::is_whitespace) && !password.starts_with('/')
        });
        pair || !self.look_at(plain, false).is_empty()
    }

    fn look_after(&self, text: &str, end: usize, action: Action, spans: &mut Vec<Span>) {
        let mut add = |place: Option<(usize, usize)>, kind: usize| {
            spans.extend(place.map(|(start, end)| Span { start, end, kind }));
        };
        match action {
            Action::Address => {
                address::user_info(text, end).into_iter().for_each(|place| add(Some(place), self.of.url))
            }
            Action::Bearer => add(address::bearer(text, end), self.of.bearer),
            Action::Basic => add(address::basic(text, end), self.of.basic),
            Action::Authorization => add(address::authorization(text, end), self.of.authorization),
            Action::UserFlag => add(address::user_flag(text, end), self.of.password),
            Action::Pair => add(prose::pair(text, end), self.of.password),
            Action::Rule(_) | Action::Named(_) | Action::Block => {}
        }
    }

    /// Runs one rule's expression where its keywords are.
    fn look_by_rule(&self, text: &str, known: &Known, hits: &[(usize, usize)], spans: &mut Vec<Span>) {
        let Some(regex) = known.rule.expression.regex() else {
            // What can't be looked for must not pass: the whole text goes.
            spans.push(Span { start: 0, end: text.len(), kind: known.kind });
            return;
        };
        let global = self.allow.get(known.file).map_or(&[][..], Vec::as_slice);
        let bytes = text.as_bytes();
        let (mut at, mut done) = (0, 0);
        while let Some((from, to)) = window(text, known.near, hits, &mut at, done) {
            let mut to = to;
            let mut from = from;
            while let Some(whole) = regex.find_at(&bytes[..to], from) {
                if whole.end() == to && to < text.len() {
                    // The match may go on behind the window.
                    to = boundary(text, to.saturating_add(4 * (to - whole.start()).max(AFTER)));
                    from = whole.start();
                    continue;
                }
                let matched = (whole.start(), whole.end());
                let found =
                    if regex.captures_len() > 1 { regex.captures_at(&bytes[..to], whole.start()) } else { None };
                let secret = found.map_or(Some(matched), |found| known.rule.secret(&found));
                let secret = secret.map(|(start, end)| (boundary_before(text, start), boundary(text, end)));
                if let Some(secret) = secret
                    && known.rule.counts(text, secret, matched, global)
                {
                    spans.push(Span { start: secret.0, end: secret.1, kind: known.kind });
                }
                from = if whole.is_empty() { boundary(text, whole.end() + 1) } else { whole.end() };
                if from >= to {
                    break;
                }
            }
            done = to.max(from);
        }
    }

    /// Looks at every word that calls something secret; returns where such words are.
    fn look_by_name(&self, text: &str, mut words: Vec<(usize, usize, Class)>, spans: &mut Vec<Span>) -> bare::Cues {
        words.sort_unstable_by_key(|(start, end, _)| (*start, usize::MAX - end));
        let mut cues = bare::Cues::default();
        let mut done = 0;
        for (start, end, class) in words {
            if end <= done {
                continue;
            }
            done = end;
            cues.add(text, start, end, class);
            let is_password = matches!(class, Class::Password | Class::ShortPassword);
            let kind = if is_password { self.of.password } else { self.of.secret };
            let place = named::look(text, start, end, class);
            let place = if is_password {
                place.or_else(|| prose::look(text, start, end))
            } else {
                place.or_else(|| prose::token(text, start, end, class))
            };
            spans.extend(place.map(|(start, end)| Span { start, end, kind }));
        }
        cues
    }
}

fn index_of(kinds: &mut Vec<String>, name: &str) -> usize {
    let lower = name.to_ascii_lowercase();
    kinds.iter().position(|kind| *kind == lower).unwrap_or_else(|| {
        kinds.push(lower);
        kinds.len() - 1
    })
}

fn of_last(kinds: &mut Vec<String>) -> Kinds {
    let [url, basic, bearer, authorization, password, secret, encoded, token] = LAST.map(|name| index_of(kinds, name));
    Kinds { url, basic, bearer, authorization, password, secret, encoded, token }
}

/// A word as it is written: letters outside ASCII have two forms that the search does not know to be one.
fn forms(word: &str) -> Vec<String> {
    if word.is_ascii() {
        return vec![word.to_owned()];
    }
    let mut rest = word.chars();
    let first: String = rest.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let mut forms = vec![word.to_owned(), format!("{first}{}", rest.as_str()), word.to_uppercase()];
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// The nearest character boundary at or before a place.
pub(super) fn boundary_before(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest character boundary at or after a place.
fn boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at.min(text.len())
}

/// The next stretch of text that a rule looks at: around hits that lie close, or everything.
fn window(text: &str, near: bool, hits: &[(usize, usize)], at: &mut usize, done: usize) -> Option<(usize, usize)> {
    if !near {
        return (*at == 0 && !hits.is_empty()).then(|| {
            *at = hits.len();
            (0, text.len())
        });
    }
    while hits.get(*at).is_some_and(|(_, end)| *end <= done) {
        *at += 1;
    }
    let (start, end) = hits.get(*at).copied()?;
    *at += 1;
    let from = boundary(text, start.saturating_sub(BEFORE)).max(done);
    let mut to = end + AFTER;
    while let Some((start, end)) = hits.get(*at)
        && start.saturating_sub(BEFORE) <= to
    {
        to = end + AFTER;
        *at += 1;
    }
    Some((from, boundary(text, to)))
}
