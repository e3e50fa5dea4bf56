//! Which rules of the sanitizer are in force by a home's configuration.

use std::path::Path;

use crate::config::{self, Config};
use crate::govern::sanitize::{self, Engine, HomeRules, OPTIONAL, RuleFault};
use crate::os::read_own_text;
use crate::record::hash::Hash32;

/// Puts the rules of a configuration in force; a file that can't be used is an error, before
/// anything else is done.
pub fn put_in_force(config: &Config) -> Result<(), RuleFault> {
    if config.sanitize.rules.is_empty()
        && config.sanitize.allow.is_empty()
        && config.sanitize.optional.is_empty()
    {
        return Ok(());
    }
    // A second call in one process is for the same home.
    sanitize::put_in_force(engine(config)?);
    Ok(())
}

/// The rules of a configuration, ready to be used.
fn engine(config: &Config) -> Result<Engine, RuleFault> {
    let files = config
        .sanitize
        .rules
        .iter()
        .map(|path| Ok((path.display().to_string(), text_of(path)?)));
    let chosen = OPTIONAL
        .iter()
        .filter(|(name, ..)| config.sanitize.optional.iter().any(|chosen| chosen == name));
    let choice = HomeRules {
        allow: config.sanitize.allow.clone(),
        optional: chosen.map(|(.., kind)| *kind).collect(),
    };
    Engine::with(&files.collect::<Result<Vec<_>, RuleFault>>()?, &choice)
}

/// What is in force by a configuration, in words: how many rules, and each file with its SHA-256.
pub fn described(config: &Config) -> Result<String, RuleFault> {
    let engine = engine(config)?;
    let mut words = format!("{} rules", engine.rules());
    let exempt = engine.exemptions();
    if exempt.count > 0 {
        words.push_str(&format!("; {} exempted by [sanitize] allow", exempt.count));
    }
    for name in &config.sanitize.optional {
        words.push_str(&format!("; {name} looked for"));
    }
    for path in &config.sanitize.rules {
        words.push_str(&format!(
            "; {} sha256 {}",
            path.display(),
            Hash32::digest(text_of(path)?.as_bytes())
        ));
    }
    Ok(words)
}

fn text_of(path: &Path) -> Result<String, RuleFault> {
    let fault = |e: std::io::Error| RuleFault {
        file: path.display().to_string(),
        rule: None,
        reason: format!("it can't be read: {e}"),
    };
    read_own_text(path, config::MAX_FILE).map_err(fault)
}

/// What tells the rules in force, by a configuration and this version of gently, from others.
pub fn fingerprint(config: &Config) -> Result<Hash32, RuleFault> {
    let mut words = format!(
        "gently {}\n{}",
        env!("CARGO_PKG_VERSION"),
        described(config)?
    );
    for allowed in &config.sanitize.allow {
        words.push_str(&format!("\n{allowed}"));
    }
    Ok(Hash32::digest(words.as_bytes()))
}
