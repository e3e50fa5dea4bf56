//! `gently session show SESSION`: what it ran under, its exchanges, its blocks, its commits.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::session::{self, ListedExchange, SessionDetails};
use crate::cli::present;
use crate::cli::screen::{self, counted, minute, quiet};
use crate::record::bitcoin::block::Block;
use crate::store::CommitRow;
use crate::view::look::outcome::outcome_words;
use crate::view::look::session::SessionDetailsView;

/// Shows one session.
pub fn run(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let details = session::show(&open::existing_home()?, id)?;
    let view = || SessionDetailsView::of(&details);
    Ok(present(json, view, || text(&details)))
}

fn text(details: &SessionDetails) -> String {
    let row = &details.row;
    let mut out = format!("session {}\n", row.id);
    let mut line = |name: &str, value: String| out.push_str(&format!("    {name:12}  {value}\n"));
    let state = row
        .ended_at
        .map_or_else(|| "open".to_owned(), |at| format!("closed {at}"));
    line("state", format!("opened {} · {state}", row.started_at));
    line("model", quiet(&row.model));
    line(
        "under",
        format!(
            "kernel {} · phase {} · tier {}",
            row.kernel_hash.short16(),
            row.phase,
            row.tier
        ),
    );
    line("host", quiet(&row.host_role));
    line("auth key", row.auth_key_hash.short16());
    line(
        "start block",
        details
            .opened
            .as_ref()
            .map_or_else(unknown, |doc| block(&doc.block)),
    );
    line("last block", block(&row.anchor.block));
    line("chain head", row.chain_head.to_string());
    line(
        "start commit",
        details.start.as_ref().map_or_else(unknown, commit),
    );
    if row.ended_at.is_some() {
        line(
            "close hash",
            details
                .closed
                .as_ref()
                .map_or_else(unknown, |doc| doc.session_close_hash.to_string()),
        );
        line(
            "end commit",
            details.end.as_ref().map_or_else(unknown, commit),
        );
        line(
            "on main",
            details.merge.as_ref().map_or_else(unknown, commit),
        );
    }
    out.push_str(&format!(
        "\n{}, {} answered\n",
        counted(row.prompts, "question"),
        row.interactions
    ));
    for ListedExchange {
        row,
        short,
        prompt_begins,
        ..
    } in &details.exchanges
    {
        let state = quiet(&outcome_words(row));
        let head = format!("    {short:12}  {}  {state}", minute(row.created_at));
        out.push_str(&screen::row(&head, prompt_begins));
    }
    out
}

fn unknown() -> String {
    "not found: gently audit verify".to_owned()
}

fn commit(row: &CommitRow) -> String {
    format!("{} on {}", row.id, row.reference)
}

fn block(block: &Block) -> String {
    if block.is_local() {
        return format!("none; by this machine's clock it was {}", block.time);
    }
    format!("{} {}", block.height, block.hash)
}
