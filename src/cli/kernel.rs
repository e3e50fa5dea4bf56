//! `gently kernel`: what is in force, what a file would change, and putting it in force.

use std::path::Path;

use serde_json::{Value, json};

use crate::govern::kernel::Kernel;
use crate::govern::kernel_diff::{Change, changes};
use crate::home::{Home, HomeError};
use crate::record::canon;
use crate::session;
use crate::store::Store;

use super::args::KernelCommand;
use super::screen::{counted, quiet};
use super::{FINE, NEGATIVE, Notices, could_not, heads, print, say};
use crate::app::open;
use crate::app::open::{OpenHome, OpenHomeError};
use crate::app::tree_heads;

/// The longest value that is shown on one line.
const SHOWN: usize = 100;

/// Runs one of the verbs.
pub async fn run(command: KernelCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        KernelCommand::Show => show(json),
        KernelCommand::Check { file } => check(&file, json),
        KernelCommand::Set { file } => set(&file, json).await,
    }
}

fn in_force(home: &Home) -> Result<Kernel, HomeError> {
    Home::kernel(&Store::open_read_only(&home.paths().database())?)
}

fn show(json: bool) -> Result<u8, OpenHomeError> {
    let kernel = in_force(&open::existing_home()?)?;
    if json {
        let facts = json!({"kernel_hash": kernel.hash().to_string(), "kernel": document(&kernel)});
        return Ok(print(&format!("{facts}\n")));
    }
    let toml = kernel.to_toml().map_err(HomeError::from)?;
    Ok(print(&format!("# kernel {}\n{toml}", kernel.hash())))
}

fn document(kernel: &Kernel) -> Value {
    canon::parse(kernel.canonical_json().as_bytes()).unwrap_or(Value::Null)
}

/// Reads a file; the error is a sentence, and whether there was a file at all.
fn read(file: &Path) -> Result<Kernel, (bool, String)> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| (false, format!("cannot read {}: {e}", file.display())))?;
    Kernel::from_toml(&text).map_err(|e| (true, format!("{}: {e}", file.display())))
}

fn check(file: &Path, json: bool) -> Result<u8, OpenHomeError> {
    let kernel = match read(file) {
        Ok(kernel) => kernel,
        Err((false, why)) => return Ok(could_not(&why, json)),
        Err((true, why)) => {
            if json {
                print(&format!(
                    "{}\n",
                    json!({"valid": false, "error": super::clean(&why)})
                ));
            }
            say(&why);
            return Ok(NEGATIVE);
        }
    };
    let root = open::home_path()?;
    let (known, name) = match Home::open(&root)? {
        Some(home) => (in_force(&home)?, "in force"),
        None => (Kernel::genesis(), "of a new home"),
    };
    let changes = changes(&known, &kernel);
    if json {
        let facts = json!({
            "valid": true, "kernel_hash": kernel.hash().to_string(), "compared_with": known.hash().to_string(),
            "identical": changes.is_empty(), "changes": facts(&changes),
        });
        return Ok(print(&format!("{facts}\n")));
    }
    let head = format!("valid: kernel {}\n", kernel.hash());
    let compared = if changes.is_empty() {
        format!("the same as the kernel {name}\n")
    } else {
        format!("from the kernel {name}, {}:\n", known.hash())
    };
    Ok(print(&format!("{head}{compared}{}", lines(&changes))))
}

async fn set(file: &Path, json: bool) -> Result<u8, OpenHomeError> {
    let kernel = match read(file) {
        Ok(kernel) => kernel,
        Err((_, why)) => {
            return Ok(could_not(
                &format!("{why}. The kernel in force stays"),
                json,
            ));
        }
    };
    super::no_secret("the kernel", kernel.canonical_json())?;
    let home = open::existing_home()?;
    let known = in_force(&home).ok();
    if known
        .as_ref()
        .is_some_and(|known| known.hash() == kernel.hash())
    {
        if json {
            let facts = json!({"kernel_hash": kernel.hash().to_string(), "set": false, "changes": [], "closed": []});
            print(&format!("{facts}\n"));
        }
        say(&format!(
            "kernel {} is in force already; nothing was recorded",
            kernel.hash()
        ));
        return Ok(FINE);
    }
    // Under the new one: the kernel in force may be lost (a home that adopted a newer ledger), and
    // this mends it.
    let opened = OpenHome::open_under(home, |_| Ok::<_, OpenHomeError>(kernel.clone()))?;
    opened.authorize().await?;
    let changes = known
        .map(|known| changes(&known, &kernel))
        .unwrap_or_default();
    let told = Notices::default();
    let say_on = |line: &str| told.say(line);
    let before = tree_heads::main_tip(&opened)?;
    let closed = session::set_kernel(
        &opened.environment("", &say_on),
        &kernel,
        &open::fresh_salt()?,
    )
    .await?;
    let outside = heads::after(&opened, before, &told).await;
    if json {
        let ids: Vec<String> = closed
            .iter()
            .map(|closed| closed.session.id.to_string())
            .collect();
        let facts = json!({
            "kernel_hash": kernel.hash().to_string(), "set": true, "changes": facts(&changes), "closed": ids,
            "closed_interactions": closed.iter().map(|closed| closed.session.interactions).collect::<Vec<_>>(),
            "ots": outside.ots,
            "witnesses": outside.witnesses,
        });
        return Ok(print(&format!("{facts}\n")));
    }
    for closed in &closed {
        say(&format!(
            "closed session {} ({})",
            closed.session.id.short16(),
            counted(closed.session.interactions, "interaction")
        ));
    }
    Ok(print(&format!(
        "kernel {} is in force\n{}",
        kernel.hash(),
        lines(&changes)
    )))
}

fn facts(changes: &[Change]) -> Value {
    changes
        .iter()
        .map(|change| json!({"key": change.key, "from": change.from, "to": change.to}))
        .collect()
}

/// One line a key; of a list what comes and what goes.
fn lines(changes: &[Change]) -> String {
    let width = changes
        .iter()
        .map(|change| change.key.len())
        .max()
        .unwrap_or(0);
    changes
        .iter()
        .map(|change| format!("  {:width$}  {}\n", change.key, words(change)))
        .collect()
}

fn words(change: &Change) -> String {
    if let Some((added, removed)) = change.entries() {
        let added = added.into_iter().map(|value| format!("+{}", short(value)));
        let removed = removed
            .into_iter()
            .map(|value| format!("-{}", short(value)));
        return added.chain(removed).collect::<Vec<_>>().join(" ");
    }
    let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "(nothing)".to_owned(), short);
    format!("{} -> {}", side(&change.from), side(&change.to))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() {
        format!("{}…", quiet(&cut))
    } else {
        quiet(&cut)
    }
}
