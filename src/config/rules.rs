//! What the text of a key may be: each rule with its words.

use crate::record::ledger::params::Temperature;
use crate::record::unseen::is_plain_name;

use super::table::TextRule;

/// What holds a password nowhere: addresses and passwords of nodes go different ways.
pub(super) const SOURCE: TextRule = TextRule {
    says: "an address that starts with http:// or https://, without a name or password in it",
    accepts: |text| is_url(text) && !text.contains('@'),
    shows: true,
};
pub(super) const USER: TextRule = TextRule {
    says: "a name without ':' (a password never stands in a file of gently: anchor.bitcoind_password_env)",
    accepts: |text| !text.is_empty() && !text.contains(':'),
    shows: false,
};
/// A key belongs into the environment: an address is shown, logged, and part of errors.
pub(super) const URL: TextRule = TextRule {
    says: "an address that starts with http:// or https://, without a name or password in it; a key stands in the variable that model.api_key_env names",
    accepts: |text| is_url(text) && !has_user(text),
    shows: true,
};
pub(super) const PATH: TextRule = TextRule {
    says: "a path",
    accepts: |text| !text.is_empty(),
    shows: true,
};
pub(super) const EXEMPT: TextRule = TextRule {
    says: "a text, or an expression between slashes",
    accepts: |text| (1..=512).contains(&text.len()) && !text.trim().is_empty(),
    shows: true,
};
pub(super) const OPTIONAL: TextRule = TextRule {
    says: "card, iban, email or phone",
    accepts: |text| matches!(text, "card" | "iban" | "email" | "phone"),
    shows: true,
};
pub(super) const MODEL: TextRule = TextRule {
    says: "\"auto\", \"observer\", \"replay\", \"ollama/NAME\", \"anthropic/NAME\", \"openai/NAME\" or an alias",
    accepts: |text| text == "auto" || is_model_id(text) || super::named_tables::is_alias(text),
    shows: true,
};
pub(super) const REFS: TextRule = TextRule {
    says: "\"none\", or \"last:N\" with N from 1 to 64",
    accepts: |text| text == "none" || text.strip_prefix("last:").is_some_and(is_few),
    shows: true,
};
pub(super) const DECIMAL: TextRule = TextRule {
    says: "a decimal from \"0\" to \"2\" with at most 3 places, as in \"0.2\"",
    accepts: |text| text.parse::<Temperature>().is_ok(),
    shows: true,
};
pub(super) const VARIABLE: TextRule = TextRule {
    says: "the name of an environment variable",
    accepts: is_variable,
    shows: false,
};
/// Not shown in errors: a key pasted where its command belongs must not be.
pub(super) const COMMAND: TextRule = TextRule {
    says: "a shell command",
    accepts: |text| !text.trim().is_empty(),
    shows: false,
};
pub(super) const ROLE: TextRule = TextRule {
    says: "a string that is not blank",
    accepts: |text| text.trim() == text && !text.is_empty(),
    shows: true,
};

/// A count of earlier turns, spelled as a number is.
fn is_few(text: &str) -> bool {
    text.parse::<u32>()
        .is_ok_and(|n| (1..=64).contains(&n) && n.to_string() == text)
}
/// What systemd takes for a unit's name (systemd.unit(5)), and no option.
pub(super) const UNIT: TextRule = TextRule {
    says: "a systemd unit with its ending, as in \"nginx.service\"",
    accepts: |text| {
        let kinds = [
            "service", "socket", "timer", "target", "mount", "path", "slice", "scope",
        ];
        let known = text
            .rsplit_once('.')
            .is_some_and(|(name, kind)| !name.is_empty() && kinds.contains(&kind));
        let plain = |b: u8| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':' | b'@' | b'\\')
        };
        known && text.len() <= 128 && !text.starts_with('-') && text.bytes().all(plain)
    },
    shows: true,
};

/// Whether an address names somebody before its host.
fn has_user(text: &str) -> bool {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    host.split(['/', '\\'])
        .next()
        .is_some_and(|host| host.contains('@'))
}

pub(super) fn is_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with('/') && !rest.contains([' ', '#', '?'])
    })
}

/// Whether a text is a model's full id; what it names need not be there.
pub fn is_model_id(text: &str) -> bool {
    let named =
        |rest: &str| !rest.is_empty() && !rest.contains(char::is_whitespace) && is_plain_name(rest);
    match text.split_once('/') {
        Some(("ollama" | "anthropic" | "openai", name)) => named(name),
        Some(_) => false,
        None => {
            matches!(text, "observer" | "replay") || text.strip_prefix("replay:").is_some_and(named)
        }
    }
}

pub(super) fn is_prose(text: &str, most: usize) -> bool {
    text.len() <= most
        && !text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}

pub(super) fn is_variable(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
