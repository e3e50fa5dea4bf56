//! Rules in the TOML format of gitleaks: what a file holds, and whether a match counts.

use std::sync::OnceLock;

use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};
use serde::Deserialize;

use super::dialect::from_go;
use crate::govern::sanitize::text::statistics::entropy;

/// Largest compiled expression: stock files need about a tenth.
const MAX_PROGRAM: usize = 128 * 1024 * 1024;
/// Longest name of a rule: it becomes a part of a placeholder.
pub const MAX_ID: usize = 64;

/// Why a rule file can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rule file {file}{}: {reason}. Mend the file, or take it out of [sanitize] rules in gently.toml", .rule.as_ref().map(|id| format!(", rule '{id}'")).unwrap_or_default())]
pub struct RuleFault {
    /// The file as it was named.
    pub file: String,
    /// The rule, unless it is the file as a whole.
    pub rule: Option<String>,
    /// What is wrong with it.
    pub reason: String,
}

/// An expression that is compiled when it is first needed.
pub struct Expression {
    text: String,
    compiled: OnceLock<Option<Regex>>,
    /// Fewest bytes of a match, when every match lies inside one run of token bytes; else 0.
    run: OnceLock<usize>,
}

/// Whose an expression is.
#[derive(Clone, Copy)]
enum Origin {
    /// Compiled in: a test reads it, and nobody waits for that.
    Own,
    /// A file's: its faults are told when the file is read.
    Foreign,
}

impl Expression {
    /// Reads an expression as its origin wants it; of one that is not looked at, the number of
    /// groups is none.
    fn of(text: &str, origin: Origin) -> Result<(Self, usize), String> {
        match origin {
            Origin::Own => Ok((Self::own(text), 0)),
            Origin::Foreign => Self::read(text),
        }
    }

    /// Reads an expression; its syntax is checked, nothing is compiled. Returns it with its number
    /// of groups.
    fn read(text: &str) -> Result<(Self, usize), String> {
        let expression = Self::own(text);
        let parsed = expression.parsed()?;
        expression.run.get_or_init(|| run_of(&parsed));
        Ok((expression, parsed.properties().explicit_captures_len()))
    }

    /// One of ours, which a test reads: its syntax is not looked at before it is needed.
    fn own(text: &str) -> Self {
        Expression {
            text: from_go(text),
            compiled: OnceLock::new(),
            run: OnceLock::new(),
        }
    }

    fn parsed(&self) -> Result<Hir, String> {
        let mut parser = regex_syntax::ParserBuilder::new()
            .unicode(is_unicode(&self.text))
            .utf8(false)
            .build();
        parser.parse(&self.text).map_err(|error| one_line(&error))
    }

    /// How long a run of token bytes must be for a match to lie in it; 0 when a match may be
    /// anything else.
    pub fn run(&self) -> usize {
        *self
            .run
            .get_or_init(|| self.parsed().map_or(0, |parsed| run_of(&parsed)))
    }

    /// The expression, or none when it is larger than any program may be.
    pub fn regex(&self) -> Option<&Regex> {
        let unicode = is_unicode(&self.text);
        let compile = || {
            RegexBuilder::new(&self.text)
                .unicode(unicode)
                .size_limit(MAX_PROGRAM)
                .build()
                .ok()
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// Whether a byte may be a part of a token, in the widest sense of any rule.
pub fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_-.+/=~%:@!*$|".contains(&b)
}

fn run_of(parsed: &Hir) -> usize {
    if is_of_token(parsed) {
        parsed.properties().minimum_len().unwrap_or(0)
    } else {
        0
    }
}

/// Whether all that an expression matches is made of token bytes.
fn is_of_token(parsed: &Hir) -> bool {
    match parsed.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => literal.0.iter().all(|b| is_token_byte(*b)),
        HirKind::Class(Class::Bytes(class)) => class
            .iter()
            .all(|range| (range.start()..=range.end()).all(is_token_byte)),
        HirKind::Class(Class::Unicode(class)) => class.iter().all(|range| {
            range.end().is_ascii()
                && (range.start()..=range.end()).all(|c| u8::try_from(c).is_ok_and(is_token_byte))
        }),
        HirKind::Repetition(repeated) => is_of_token(&repeated.sub),
        HirKind::Capture(group) => is_of_token(&group.sub),
        HirKind::Concat(all) | HirKind::Alternation(all) => all.iter().all(is_of_token),
    }
}

/// Whether an expression speaks of more than ASCII; without, classes and borders are ASCII's, as in
/// Go.
fn is_unicode(text: &str) -> bool {
    !text.is_ascii() || text.contains(r"\p") || text.contains(r"\P") || text.contains(r"\x{")
}

/// The parser's own last line: what is wrong, without the drawing of where.
fn one_line(error: &regex_syntax::Error) -> String {
    let text = error.to_string();
    let said = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("error: "))
        .unwrap_or("it can't be read");
    format!("its regular expression is not one: {said}")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawFile {
    #[serde(default)]
    rules: Vec<RawRule>,
    allowlist: Option<RawAllow>,
    #[serde(default)]
    allowlists: Vec<RawAllow>,
    extend: Option<toml::Table>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRule {
    #[serde(default)]
    id: String,
    regex: Option<String>,
    path: Option<String>,
    #[serde(default)]
    secret_group: usize,
    #[serde(default)]
    keywords: Vec<String>,
    entropy: Option<f64>,
    allowlist: Option<RawAllow>,
    #[serde(default)]
    allowlists: Vec<RawAllow>,
    #[serde(default)]
    skip_report: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAllow {
    condition: Option<String>,
    regex_target: Option<String>,
    #[serde(default)]
    regexes: Vec<String>,
    #[serde(default)]
    stopwords: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    commits: Vec<String>,
    #[serde(default)]
    target_rules: Vec<String>,
}

/// What of a match an allowlist's expressions look at.
#[derive(Clone, Copy)]
enum AllowTarget {
    Secret,
    Match,
    Line,
}

/// What a match is not, although its expression fits.
pub struct Allow {
    all: bool,
    target: AllowTarget,
    regexes: Vec<Expression>,
    stopwords: Vec<String>,
    rules: Vec<String>,
}

impl Allow {
    /// Reads one; none when it speaks of paths and commits only, which a text has not.
    fn read(raw: RawAllow, origin: Origin) -> Result<Option<Self>, String> {
        let all = match raw.condition.as_deref() {
            None | Some("" | "OR" | "or" | "||") => false,
            Some("AND" | "and" | "&&") => true,
            Some(other) => {
                return Err(format!(
                    "an allowlist's condition is AND or OR; found '{other}'"
                ));
            }
        };
        let target = match raw.regex_target.as_deref() {
            None | Some("" | "secret") => AllowTarget::Secret,
            Some("match") => AllowTarget::Match,
            Some("line") => AllowTarget::Line,
            Some(other) => {
                return Err(format!(
                    "regexTarget is secret, match or line; found '{other}'"
                ));
            }
        };
        // With AND, a path or a commit that a text has not can't be fulfilled.
        let never = all && !(raw.paths.is_empty() && raw.commits.is_empty());
        if never || (raw.regexes.is_empty() && raw.stopwords.is_empty()) {
            return Ok(None);
        }
        let regexes = raw
            .regexes
            .iter()
            .map(|text| Ok(Expression::of(text, origin)?.0))
            .collect::<Result<Vec<_>, String>>()?;
        let stopwords = raw
            .stopwords
            .iter()
            .map(|word| word.to_lowercase())
            .collect();
        Ok(Some(Allow {
            all,
            target,
            regexes,
            stopwords,
            rules: raw.target_rules,
        }))
    }

    fn is_for(&self, rule: &str) -> bool {
        self.rules.is_empty() || self.rules.iter().any(|id| id == rule)
    }

    fn allows(&self, secret: &str, matched: &str, line: &str) -> bool {
        let looked_at = match self.target {
            AllowTarget::Secret => secret,
            AllowTarget::Match => matched,
            AllowTarget::Line => line,
        };
        let by_regex = || {
            self.regexes.iter().any(|e| {
                e.regex()
                    .is_some_and(|regex| regex.is_match(looked_at.as_bytes()))
            })
        };
        let by_word = || {
            let lower = secret.to_lowercase();
            self.stopwords
                .iter()
                .any(|word| lower.contains(word.as_str()))
        };
        if self.all {
            (self.regexes.is_empty() || by_regex()) && (self.stopwords.is_empty() || by_word())
        } else {
            by_regex() || by_word()
        }
    }
}

/// A rule by which one kind of secret is found.
pub struct SecretRule {
    pub id: String,
    pub keywords: Vec<String>,
    pub expression: Expression,
    group: usize,
    entropy: f64,
    allow: Vec<Allow>,
}

impl SecretRule {
    fn read(raw: RawRule, origin: Origin) -> Result<Option<Self>, String> {
        if !is_id(&raw.id) {
            return Err(format!(
                "its id is 1 to {MAX_ID} letters, digits, '-', '_' or '.'; found '{}'",
                raw.id
            ));
        }
        let Some(text) = raw.regex.filter(|_| !raw.skip_report) else {
            let says_something = raw.skip_report || raw.path.is_some();
            return if says_something {
                Ok(None)
            } else {
                Err("it has neither regex nor path".to_owned())
            };
        };
        let origin = if raw.secret_group == 0 {
            origin
        } else {
            Origin::Foreign
        };
        let (expression, groups) = Expression::of(&text, origin)?;
        let entropy = raw.entropy.unwrap_or(0.0);
        if raw.secret_group > groups {
            return Err(format!(
                "secretGroup is {}, and its regular expression has {groups} groups",
                raw.secret_group
            ));
        }
        let allow = raw
            .allowlist
            .into_iter()
            .chain(raw.allowlists)
            .map(|raw| Allow::read(raw, origin));
        let allow = allow.collect::<Result<Vec<_>, _>>()?;
        Ok(Some(SecretRule {
            id: raw.id,
            keywords: raw
                .keywords
                .iter()
                .map(|word| word.to_lowercase())
                .filter(|word| !word.is_empty())
                .collect(),
            expression,
            group: raw.secret_group,
            entropy,
            allow: allow.into_iter().flatten().collect(),
        }))
    }

    /// The secret of a match: the named group, else the first that took part, else all of it.
    pub fn secret(&self, found: &Captures<'_>) -> Option<(usize, usize)> {
        let group = if self.group > 0 {
            found.get(self.group)
        } else {
            found
                .iter()
                .skip(1)
                .flatten()
                .find(|group| !group.is_empty())
                .or_else(|| found.get(0))
        };
        group
            .filter(|group| !group.is_empty())
            .map(|group| (group.start(), group.end()))
    }

    /// Whether a match counts: random enough, and not allowed by its own or the `global`
    /// allowlists.
    pub fn counts(
        &self,
        text: &str,
        secret: (usize, usize),
        matched: (usize, usize),
        global: &[Allow],
    ) -> bool {
        let part = |(start, end): (usize, usize)| text.get(start..end).unwrap_or_default();
        let word = part(secret);
        if self.entropy > 0.0 && entropy(word) <= self.entropy {
            return false;
        }
        let allow = self
            .allow
            .iter()
            .chain(global.iter().filter(|allow| allow.is_for(&self.id)));
        let line = || {
            let start = text
                .get(..matched.0)
                .and_then(|before| before.rfind('\n'))
                .map_or(0, |at| at + 1);
            let end = text
                .get(matched.1..)
                .and_then(|after| after.find('\n'))
                .map_or(text.len(), |at| matched.1 + at);
            part((start, end))
        };
        !allow.into_iter().any(|allow| {
            let line = if matches!(allow.target, AllowTarget::Line) {
                line()
            } else {
                ""
            };
            allow.allows(word, part(matched), line)
        })
    }
}

fn is_id(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The rules of one file, and what it never counts.
pub struct RuleFile {
    pub rules: Vec<SecretRule>,
    pub allow: Vec<Allow>,
}

/// Reads a rule file; `name` is what errors call it.
pub fn read(name: &str, text: &str) -> Result<RuleFile, RuleFault> {
    let raw = toml::from_str(text).map_err(|e| no_rule_file(name, e.message()))?;
    read_from(name, raw, Origin::Foreign)
}

/// Reads the rules that are compiled in, as JSON (`scripts/words.rs`); their expressions are looked
/// at when they are needed.
pub fn read_own(name: &str, text: &str) -> Result<RuleFile, RuleFault> {
    let raw = serde_json::from_str(text).map_err(|e| no_rule_file(name, &e.to_string()))?;
    read_from(name, raw, Origin::Own)
}

fn no_rule_file(name: &str, why: &str) -> RuleFault {
    RuleFault {
        file: name.to_owned(),
        rule: None,
        reason: format!("it is no rule file: {why}"),
    }
}

fn read_from(name: &str, raw: RawFile, origin: Origin) -> Result<RuleFile, RuleFault> {
    let fault = |rule: Option<&str>, reason: String| RuleFault {
        file: name.to_owned(),
        rule: rule.map(str::to_owned),
        reason,
    };
    if raw.extend.is_some() {
        return Err(fault(
            None,
            "it has an [extend] section, which is not followed; name each file in [sanitize] rules"
                .to_owned(),
        ));
    }
    let mut rules = Vec::with_capacity(raw.rules.len());
    for rule in raw.rules {
        let id = rule.id.clone();
        rules.extend(SecretRule::read(rule, origin).map_err(|reason| fault(Some(&id), reason))?);
    }
    if rules.is_empty() {
        return Err(fault(
            None,
            "there is no rule in it that looks at text".to_owned(),
        ));
    }
    let allow = raw
        .allowlist
        .into_iter()
        .chain(raw.allowlists)
        .map(|raw| Allow::read(raw, origin));
    let allow = allow
        .collect::<Result<Vec<_>, _>>()
        .map_err(|reason| fault(None, format!("its allowlist: {reason}")))?;
    Ok(RuleFile {
        rules,
        allow: allow.into_iter().flatten().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::sanitize::rules::engine::{OWN_NAME, OWN_RULES};

    #[test]
    fn our_own_expressions_are_what_a_file_may_hold() {
        let file = include_str!("../../../../genesis/secrets.toml");
        let (read, own) = (
            read(OWN_NAME, file).unwrap(),
            read_own(OWN_NAME, OWN_RULES).unwrap(),
        );
        assert_eq!(
            (read.rules.len(), read.allow.len()),
            (own.rules.len(), own.allow.len())
        );
        assert!(!own.rules.is_empty());
        for (read, own) in read.rules.iter().zip(&own.rules) {
            assert_eq!((&read.id, read.group), (&own.id, own.group));
            assert_eq!(read.expression.text, own.expression.text);
            assert!(
                own.expression.run.get().is_none(),
                "{} is looked at before it is needed",
                own.id
            );
            assert!(own.expression.regex().is_some(), "{}", own.id);
            assert_eq!(read.expression.run(), own.expression.run(), "{}", own.id);
        }
    }
}
