//! `gently anchor status`: what each block source says now, and the block that comes of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::anchor::agree::{Observation, SourceTip, observe_beside};
use crate::config::{AnchorMode, Config};
use crate::home::Home;
use crate::record::bitcoin::block::{Block, Network, Source};
use crate::recorder::block_elsewhere;
use crate::store::Store;

use super::{COULD_NOT, FINE, NEGATIVE, print, say};
use crate::app::open;
use crate::app::open::OpenHomeError;

/// Asks every source, shows their answers, and writes nothing.
///
/// Of a home only the configuration and the genesis are read; without one the defaults and
/// `bitcoin` are taken. 0 when a session could be anchored now, 1 when not, 2 when the
/// configuration can't work.
pub async fn status(json: bool) -> Result<u8, OpenHomeError> {
    let path = open::home_path()?;
    let store = Home::open(&path)?
        .map(|home| Store::open_read_only(&home.paths().database()))
        .transpose()?;
    let network = store
        .as_ref()
        .map(Home::genesis)
        .transpose()?
        .map_or(Network::Bitcoin, |genesis| genesis.network);
    let config = Config::load(&path, &open::env)?;
    let sources = open::sources(&config, network)?;
    let names: BTreeSet<&str> = sources.iter().map(|source| source.name()).collect();
    let quorum = config.anchor.quorum;
    // One source is no quorum of two, whatever it answers.
    let hopeless = quorum
        .filter(|quorum| !names.is_empty() && names.len() < *quorum)
        .map(|quorum| {
            format!(
                "anchor.quorum is {quorum}, sources are {here}: no session can be anchored. \
             Add sources, or: gently config set anchor.quorum {here}",
                here = names.len()
            )
        });
    let known = |hash, height| {
        store
            .as_ref()
            .and_then(|store| block_elsewhere(store, hash, height).ok().flatten())
    };
    let seen = observe_beside(
        &sources,
        network,
        open::policy(&config),
        open::clock()?,
        &known,
    )
    .await;
    let report = AnchorReport {
        network,
        config: &config,
        seen: &seen,
        hopeless: hopeless.as_deref(),
    };
    let printed = print(&if json {
        format!("{}\n", report.json())
    } else {
        report.text()
    });
    if !json && config.anchor.mode == AnchorMode::Auto {
        for note in &seen.notes {
            say(note);
        }
    }
    if let Some(why) = &hopeless {
        say(&format!("error: {why}"));
        return Ok(COULD_NOT);
    }
    Ok(if seen.anchor.block.is_local() {
        NEGATIVE
    } else {
        FINE
    }
    .max(printed))
}

struct AnchorReport<'a> {
    network: Network,
    config: &'a Config,
    seen: &'a Observation,
    hopeless: Option<&'a str>,
}

impl AnchorReport<'_> {
    fn mode(&self) -> &'static str {
        if self.config.anchor.mode == AnchorMode::Off {
            "off"
        } else {
            "auto"
        }
    }

    fn text(&self) -> String {
        let anchor = &self.config.anchor;
        let mut out = format!(
            "network {} · mode {} · quorum {} · deadline {} ms\n",
            self.network.name(),
            self.mode(),
            open::policy(self.config).quorum,
            anchor.deadline.as_millis()
        );
        let width = self
            .seen
            .answers
            .iter()
            .map(|answer| answer.name.chars().count())
            .max()
            .unwrap_or(0);
        for answer in &self.seen.answers {
            let said = match &answer.outcome {
                Ok(block) => block_words(block),
                Err(fault) if fault.is_lie() => super::clean(&format!("LIES: {fault}")),
                Err(fault) if fault.is_dropped() => super::clean(&format!("dropped: {fault}")),
                Err(fault) => super::clean(&format!("no block: {fault}")),
            };
            let (name, kind, took) = (&answer.name, kind(answer.kind), answer.elapsed.as_millis());
            writeln!(out, "{name:width$}  {kind:8}  {took:>5} ms  {said}")
                .expect("a string takes every byte");
        }
        let chosen = &self.seen.anchor.block;
        let last = if self.config.anchor.mode == AnchorMode::Off {
            "no anchor: nobody is asked (gently config set anchor.mode auto)".to_owned()
        } else if chosen.is_local() {
            "no anchor: a session now would rest on the local clock".to_owned()
        } else {
            format!("anchor: {}, {}", block_words(chosen), chosen.branch())
        };
        out + &last + "\n"
    }

    fn json(&self) -> Value {
        let chosen = &self.seen.anchor.block;
        let header = self.seen.anchor.header.as_ref().map(ToString::to_string);
        json!({
            "network": self.network.name(), "mode": self.mode(), "quorum": self.config.anchor.quorum.map_or(json!("auto"), |count| json!(count)),
            "deadline_ms": u64::try_from(self.config.anchor.deadline.as_millis()).unwrap_or(u64::MAX),
            "sources": self.seen.answers.iter().map(source_facts).collect::<Vec<_>>(),
            "anchored": !chosen.is_local(),
            "block": if chosen.is_local() { Value::Null } else { json!(chosen) },
            "header": header,
            "branch": if chosen.is_local() { Value::Null } else { json!(chosen.branch()) },
            "notes": self.seen.notes, "misconfigured": self.hopeless,
        })
    }
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

fn source_facts(answer: &SourceTip) -> Value {
    let fault = answer.outcome.as_ref().err();
    json!({
        "name": answer.name, "kind": answer.kind,
        "elapsed_ms": u64::try_from(answer.elapsed.as_millis()).unwrap_or(u64::MAX),
        "block": answer.outcome.as_ref().ok(), "fault": fault.map(|fault| super::clean(&fault.to_string())),
        "lie": fault.is_some_and(crate::anchor::SourceFault::is_lie),
    })
}
