//! `gently anchor sync`: keeps headers of Bitcoin blocks, so that heights and proofs are checked
//! with nobody's help.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::json;

use crate::anchor::BlockSource;
use crate::anchor::headers_store::{HeadersStore, StoreFault};
use crate::anchor::sync::{
    HeadersIn, MAX_REQUESTS, SyncFault, SyncResult, from_explorer, from_file, from_node, start_for,
};
use crate::config::{AnchorMode, Config};
use crate::home::Home;
use crate::record::bitcoin::block::Network;
use crate::store::Store;

use super::terminal::wanted;
use super::{COULD_NOT, FINE, could_not, print, say};
use crate::app::open;
use crate::app::open::OpenHomeError;

/// `gently anchor sync`.
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Take them from a file: 80 bytes a block, or lines of height,hash,header
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The height of the first block in a file of 80 bytes a block
    #[arg(long, value_name = "HEIGHT", requires = "from", default_value_t = 0)]
    start: u32,
}

/// The bar of one run; nothing where nobody sees it.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new() -> Self {
        if !wanted(
            std::io::stderr().is_terminal(),
            std::env::var("TERM").ok().as_deref(),
        ) {
            return Bar(None);
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let form = "headers: {bar:24} {percent} % to {len} ({rate}, {eta} left)";
        let style =
            ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
        // What can't be written is not shown.
        bar.set_style(style.with_key(
            "rate",
            |state: &ProgressState, to: &mut dyn std::fmt::Write| {
                let _ = write!(to, "{:.0} a second", state.per_sec());
            },
        ));
        Bar(Some(bar))
    }

    fn show(&self, next: u32, end: u32) {
        if let Some(bar) = &self.0 {
            bar.set_length(u64::from(end));
            bar.set_position(u64::from(next));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// What a run goes by.
struct Run<'a> {
    folder: PathBuf,
    network: Network,
    store: &'a Store,
    config: &'a Config,
}

/// Adds headers; resumes where the last run ended. 2 when none could be had.
pub async fn run(args: &SyncArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let config = Config::load(home.root(), &open::env)?;
    let store = Store::open_read_only(&home.paths().database())?;
    let network = Home::genesis(&store)?.network;
    let run = Run {
        folder: home.paths().headers(),
        network,
        store: &store,
        config: &config,
    };
    let held = match HeadersStore::lock(&run.folder) {
        Ok(held) => held,
        Err(fault) => return Ok(could_not(&fault.to_string(), json)),
    };
    let before = match HeadersStore::open(&run.folder, network, &[]) {
        Ok(kept) => kept,
        Err(fault) => return Ok(could_not(&fault.to_string(), json)),
    };
    let kept = before
        .as_ref()
        .map_or(0, |kept| kept.next_height() - kept.start());
    let done = match &args.from {
        Some(file) => run.file(before, file, args.start),
        None if config.anchor.mode == AnchorMode::Off => {
            return Ok(could_not(
                "anchor.mode is off: nobody is asked. From a file: gently anchor sync --from FILE",
                json,
            ));
        }
        None => run.ask(before).await?,
    };
    drop(held);
    let after = HeadersStore::open(&run.folder, network, &[]);
    let (fault, code) = match &done {
        Ok(_) => (None, FINE),
        Err(why) => (Some(why.clone()), COULD_NOT),
    };
    let complete = done.as_ref().is_ok_and(|done| done.complete);
    let facts = after
        .ok()
        .flatten()
        .map(|kept| (kept.start(), kept.next_height()));
    let count = facts.map_or(0, |(start, next)| next - start);
    if json {
        let facts = json!({
            "network": network.name(), "folder": run.folder.display().to_string(),
            "from": facts.map(|(start, _)| start), "to": facts.and_then(|(_, next)| next.checked_sub(1)),
            "headers": count, "added": count.saturating_sub(kept), "complete": complete, "error": fault,
        });
        print(&format!("{facts}\n"));
    } else if let Some((start, next)) = facts.filter(|(start, next)| next > start) {
        let added = count.saturating_sub(kept);
        print(&format!(
            "headers {start} to {} of {} are kept, {added} of them new\n",
            next - 1,
            network.name()
        ));
    }
    if let Some(why) = fault {
        say(&format!("error: {why}"));
    } else if !complete {
        say(&format!(
            "not all yet: one run asks at most {MAX_REQUESTS} questions. Run it again to go on"
        ));
    }
    run.say_what_is_older(facts);
    Ok(code)
}

impl Run<'_> {
    fn file(
        &self,
        kept: Option<HeadersStore>,
        path: &Path,
        start: u32,
    ) -> Result<SyncResult, String> {
        let words = |fault: SyncFault| fault.to_string();
        let file = HeadersIn::open(path, start).map_err(words)?;
        let mut kept = match kept {
            Some(kept) => kept,
            None => self.create(self.first_in(file.next_height()))?,
        };
        let bar = Bar::new();
        from_file(&mut kept, file, &|next, end| bar.show(next, end)).map_err(words)
    }

    /// The first height at or after one at which a chain can start.
    fn first_in(&self, height: u32) -> u32 {
        let start = start_for(self.network, height);
        let next = start_for(self.network, height.saturating_add(2015));
        if start >= height {
            start
        } else {
            next.max(height)
        }
    }

    fn create(&self, start: u32) -> Result<HeadersStore, String> {
        HeadersStore::create(&self.folder, self.network, start)
            .map_err(|fault: StoreFault| fault.to_string())
    }

    /// The first node that answers, else the first explorer.
    async fn ask(
        &self,
        kept: Option<HeadersStore>,
    ) -> Result<Result<SyncResult, String>, OpenHomeError> {
        let (nodes, explorers) = (
            open::nodes(self.config, self.network)?,
            open::explorers(self.config, self.network)?,
        );
        let (mut kept, mut faults) = (kept, Vec::new());
        let bar = Bar::new();
        let watch = |next, end| bar.show(next, end);
        for node in &nodes {
            let done = match self.ready(&mut kept, node, 0).await {
                Ok(store) => from_node(store, node, &watch)
                    .await
                    .map_err(|fault| fault.to_string()),
                Err(why) => Err(why),
            };
            match done {
                Ok(done) => return Ok(Ok(done)),
                Err(why) => faults.push(why),
            }
        }
        let mut left = MAX_REQUESTS;
        for explorer in &explorers {
            let done = match self.ready(&mut kept, explorer, u32::MAX).await {
                Ok(store) => from_explorer(store, explorer, &mut left, &watch)
                    .await
                    .map_err(|fault| fault.to_string()),
                Err(why) => Err(why),
            };
            match done {
                Ok(done) => return Ok(Ok(done)),
                Err(why) => faults.push(why),
            }
        }
        if faults.is_empty() {
            faults.push(
                "no node and no explorer is configured (anchor.bitcoind, anchor.esplora)"
                    .to_owned(),
            );
        }
        Ok(Err(faults.join("; ")))
    }

    /// The store to append to; a new one starts no higher than `most`, the tip, and the lowest
    /// block on record.
    async fn ready<'s>(
        &self,
        kept: &'s mut Option<HeadersStore>,
        source: &dyn BlockSource,
        most: u32,
    ) -> Result<&'s mut HeadersStore, String> {
        let store = match kept.take() {
            Some(store) => store,
            None => {
                let tip = source
                    .tip()
                    .await
                    .map_err(|fault| fault.to_string())?
                    .block
                    .height;
                let lowest = self.store.lowest_block().ok().flatten().unwrap_or(tip);
                self.create(start_for(self.network, lowest.min(tip).min(most)))?
            }
        };
        Ok(kept.insert(store))
    }

    fn say_what_is_older(&self, kept: Option<(u32, u32)>) {
        let lowest = self.store.lowest_block().ok().flatten();
        if let (Some((start, _)), Some(lowest)) = (kept, lowest)
            && lowest < start
        {
            say(&format!(
                "the ledger names block {lowest}, before the first header kept: it stays claimed. To keep older ones, move \
                 {} away and sync from a node or a file",
                self.folder.display()
            ));
        }
    }
}
