//! `gently conflict`: what disagrees, and a person's word on which of it holds (AEGIS 6.4, 12.2).

use clap::Subcommand;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::remember::items::conflict::{Conflict, list, resolve};
use crate::record::ledger::short_name::short_name;
use crate::view::remember::item::{ConflictView, ResolvedConflictView};

use super::items::line;
use crate::cli::screen::quiet;
use crate::cli::{present, program, say};

/// What `gently conflict` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ConflictCommand {
    /// List what is in force on one subject and does not say the same
    List,
    /// Say which one holds; the others on its subject are superseded
    Resolve {
        /// The id of the one that holds
        holds: String,
        /// Why the others do not hold
        #[arg(long, value_name = "WORDS")]
        reason: Option<String>,
    },
}

/// Lists or resolves conflicts.
pub async fn run(command: ConflictCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        ConflictCommand::List => print_list(json),
        ConflictCommand::Resolve { holds, reason } => {
            put_in_force(&holds, reason.as_deref(), json).await
        }
    }
}

fn print_list(json: bool) -> Result<u8, OpenHomeError> {
    let found = list(&open::existing_home()?)?;
    let views = || found.iter().map(ConflictView::of).collect::<Vec<_>>();
    let printed = present(json, views, || text(&found));
    if !json {
        let ways = found.iter().map(|conflict| conflict.ways(&program()));
        ways.for_each(|way| say(&format!("say which one holds: {way}")));
    }
    Ok(printed)
}

fn text(found: &[Conflict]) -> String {
    if found.is_empty() {
        say("nothing in force disagrees");
    }
    let mut out = String::new();
    for conflict in found {
        out.push_str(&format!("{}\n", quiet(&conflict.subject)));
        for (item, text) in &conflict.items {
            out.push_str(&format!("    {}\n", line(item, Some(text))));
        }
    }
    out
}

async fn put_in_force(holds: &str, reason: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let opened = open::open_home()?;
    let resolved = resolve(&opened, holds, reason).await?;
    let superseded = resolved.superseded.iter().map(|id| short_name(id));
    let superseded: Vec<String> = superseded.collect();
    let text = || {
        format!(
            "{}  {} holds; superseded: {}\n",
            short_name(&resolved.recorded.document.id),
            short_name(&resolved.holds.id),
            superseded.join(", ")
        )
    };
    Ok(present(json, || ResolvedConflictView::of(&resolved), text))
}
