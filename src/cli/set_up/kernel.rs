//! `gently kernel`: what is in force, what a file would change, and putting it in force.

use std::path::Path;

use serde_json::Value;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::kernel::{self, KernelCheck, KernelFileError, KernelSetResult, NewKernel};
use crate::govern::kernel_diff::KernelChange;
use crate::home::HomeError;
use crate::view::set_up::kernel::{KernelCheckView, KernelSetView, KernelView};

use crate::cli::args::KernelCommand;
use crate::cli::prove::tree_heads;
use crate::cli::screen::view_or_words::view_before_words;
use crate::cli::screen::{counted, quiet};
use crate::cli::{FINE, NEGATIVE, Notices, could_not, present, present_as_is, say};

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

fn show(json: bool) -> Result<u8, OpenHomeError> {
    let kernel = kernel::current_kernel(&open::existing_home()?)?;
    let toml = kernel.to_toml().map_err(HomeError::from)?;
    let text = || format!("# kernel {}\n{toml}", kernel.hash());
    Ok(present_as_is(json, || KernelView::of(&kernel), text))
}

fn check(file: &Path, json: bool) -> Result<u8, OpenHomeError> {
    let kernel = match kernel::read(file) {
        Ok(kernel) => kernel,
        Err(KernelFileError::Unreadable(why)) => return Ok(could_not(&why, json)),
        Err(KernelFileError::Invalid(why)) => {
            view_before_words(json, || KernelCheckView::invalid(crate::cli::clean(&why)));
            say(&why);
            return Ok(NEGATIVE);
        }
    };
    let checked = kernel::check(&open::home_path()?, kernel)?;
    let view = || KernelCheckView::of(&checked);
    Ok(present(json, view, || comparison(&checked)))
}

fn comparison(checked: &KernelCheck) -> String {
    let name = if checked.has_home {
        "in force"
    } else {
        "of a new home"
    };
    let head = format!("valid: kernel {}\n", checked.kernel.hash());
    let compared = if checked.changes.is_empty() {
        format!("the same as the kernel {name}\n")
    } else {
        format!(
            "from the kernel {name}, {}:\n",
            checked.compared_with.hash()
        )
    };
    format!("{head}{compared}{}", lines(&checked.changes))
}

async fn set(file: &Path, json: bool) -> Result<u8, OpenHomeError> {
    let kernel = match kernel::read(file) {
        Ok(kernel) => kernel,
        Err(KernelFileError::Unreadable(why) | KernelFileError::Invalid(why)) => {
            let why = format!("{why}. The kernel in force stays");
            return Ok(could_not(&why, json));
        }
    };
    let told = Notices::default();
    let done = kernel::set(open::existing_home()?, &kernel, &|line| told.say(line)).await?;
    Ok(match done {
        KernelSetResult::Unchanged(hash) => {
            view_before_words(json, || KernelSetView::unchanged(hash));
            say(&format!(
                "kernel {hash} is in force already; nothing was recorded"
            ));
            FINE
        }
        KernelSetResult::Set(new) => {
            tree_heads::say(&new.outside, &told);
            present(json, || KernelSetView::of(&new), || put_in_force(&new))
        }
    })
}

fn put_in_force(new: &NewKernel) -> String {
    for closed in &new.closed {
        say(&format!(
            "closed session {} ({})",
            closed.session.id.short16(),
            counted(closed.session.interactions, "interaction")
        ));
    }
    format!("kernel {} is in force\n{}", new.hash, lines(&new.changes))
}

/// One line a key; of a list what comes and what goes.
fn lines(changes: &[KernelChange]) -> String {
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

fn words(change: &KernelChange) -> String {
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
