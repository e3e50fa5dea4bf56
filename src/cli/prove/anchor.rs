//! `gently anchor status`: what each block source says now, and the block that comes of it.

use std::fmt::Write as _;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::anchor::{self, AnchorStatus};
use crate::config::AnchorMode;
use crate::record::bitcoin::block::{Block, Source};
use crate::view::prove::anchor::AnchorStatusView;

use crate::cli::{COULD_NOT, FINE, NEGATIVE, clean, present, say};

/// Asks every source, and shows their answers.
///
/// 0 when a session could be anchored now, 1 when not, 2 when the configuration can't work.
pub async fn status(json: bool) -> Result<u8, OpenHomeError> {
    let status = anchor::status(&open::home_path()?).await?;
    let printed = present(json, || AnchorStatusView::of(&status), || text(&status));
    if !json && status.config.anchor.mode == AnchorMode::Auto {
        for notice in &status.seen.notices {
            say(notice);
        }
    }
    if let Some(why) = &status.misconfigured {
        say(&format!("error: {why}"));
        return Ok(COULD_NOT);
    }
    let code = if status.seen.anchor.block.is_local() {
        NEGATIVE
    } else {
        FINE
    };
    Ok(code.max(printed))
}

fn text(status: &AnchorStatus) -> String {
    let anchor = &status.config.anchor;
    let is_off = anchor.mode == AnchorMode::Off;
    let mut out = format!(
        "network {} · mode {} · quorum {} · deadline {} ms\n",
        status.network.name(),
        if is_off { "off" } else { "auto" },
        open::policy(&status.config).quorum,
        anchor.deadline.as_millis()
    );
    let width = status
        .seen
        .answers
        .iter()
        .map(|answer| answer.name.chars().count())
        .max()
        .unwrap_or(0);
    for answer in &status.seen.answers {
        let said = match &answer.outcome {
            Ok(block) => block_words(block),
            Err(fault) if fault.is_lie() => clean(&format!("LIES: {fault}")),
            Err(fault) if fault.is_dropped() => clean(&format!("dropped: {fault}")),
            Err(fault) => clean(&format!("no block: {fault}")),
        };
        let (name, kind, took) = (&answer.name, kind(answer.kind), answer.elapsed.as_millis());
        writeln!(out, "{name:width$}  {kind:8}  {took:>5} ms  {said}")
            .expect("a string takes every byte");
    }
    let chosen = &status.seen.anchor.block;
    let last = if is_off {
        "no block: nobody is asked (gently config set anchor.mode auto)".to_owned()
    } else if chosen.is_local() {
        "no block: of a session that begins now, your clock alone says when".to_owned()
    } else {
        format!("anchor: {}, {}", block_words(chosen), chosen.branch())
    };
    out + &last + "\n"
}

/// `block 930226 0000…c2d4 of 2026-01-01T00:00:00Z`
fn block_words(block: &Block) -> String {
    format!("block {} {} of {}", block.height, block.hash, block.time)
}

fn kind(source: Source) -> &'static str {
    match source {
        Source::Esplora => "esplora",
        Source::Bitcoind => "bitcoind",
        Source::File => "file",
        Source::Local => "local",
    }
}
