//! What an error says of a value or a key that is wrong.

use toml_edit::Value as Toml;

use super::table::{KEYS, Key};

/// A value and its type, for an error.
pub(super) fn shown(toml: &Toml, whole: bool) -> String {
    let text = toml.to_string();
    match (whole, text.trim()) {
        // An address with a password in it has a sign that hardly anything else has.
        (true, text) if !text.contains('@') => format!("{} {text}", toml.type_name()),
        (_, text) => format!(
            "{} of {} characters",
            toml.type_name(),
            text.chars().count()
        ),
    }
}

/// The known key that a person most likely meant: spelled almost so, or in a section that was left
/// out.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let distance = |key: &&Key| {
        let whole = strsim::damerau_levenshtein(name, key.name);
        let leaf =
            strsim::damerau_levenshtein(name.rsplit('.').next().unwrap_or(name), key.parts().1);
        whole.min(leaf + 1)
    };
    let best = KEYS.iter().min_by_key(distance)?;
    (distance(&best) <= name.len().div_ceil(3)).then_some(best.name)
}
