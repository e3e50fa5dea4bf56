//! Keeping headers of Bitcoin blocks, so that heights and proofs are checked with nobody's help.

use std::path::{Path, PathBuf};

use crate::anchor::BlockSource;
use crate::anchor::headers_store::HeadersStore;
use crate::anchor::sync::{
    HeadersIn, MAX_REQUESTS, SyncProgress, SyncResult, from_explorer, from_file, from_node,
    start_for,
};
use crate::config::{AnchorMode, Config};
use crate::home::Home;
use crate::record::bitcoin::block::Network;
use crate::store::Store;

use crate::app::home::open::{self, OpenHomeError};

/// Where headers are taken from; from the configured nodes and explorers when no file is named.
#[derive(Clone, Debug, Default)]
pub struct SyncRequest {
    /// A file of them.
    pub from: Option<PathBuf>,
    /// The height of the first block in a file of 80 bytes a block.
    pub start: u32,
}

/// The headers that are kept.
#[derive(Clone, Copy, Debug)]
pub struct KeptHeaders {
    /// The height of the first.
    pub start: u32,
    /// The height after the last.
    pub next: u32,
}

impl KeptHeaders {
    fn of(store: &HeadersStore) -> Self {
        KeptHeaders {
            start: store.start(),
            next: store.next_height(),
        }
    }

    /// How many they are.
    pub fn count(self) -> u32 {
        self.next - self.start
    }
}

/// What came of a run.
pub struct SyncReport {
    /// Bitcoin network whose headers were fetched.
    pub network: Network,
    /// Where they are kept.
    pub folder: PathBuf,
    /// What is kept now.
    pub kept: Option<KeptHeaders>,
    /// How many of them are new.
    pub added: u32,
    /// Whether all that the source has, but the newest few, is kept now.
    pub is_complete: bool,
    /// Why none could be had, or no more.
    pub fault: Option<String>,
    /// The lowest block that the ledger names, when it is before the first that is kept: it stays
    /// claimed.
    pub older_block: Option<u32>,
}

/// Adds headers; resumes where the last run ended.
pub async fn sync(
    home: &Home,
    request: &SyncRequest,
    progress: SyncProgress<'_>,
) -> Result<SyncReport, OpenHomeError> {
    let config = open::config(home)?;
    let store = open::store(home)?;
    let run = SyncRun {
        folder: home.paths().headers(),
        network: Home::genesis(&store)?.network,
        store: &store,
        config: &config,
        progress,
    };
    let refused = |fault: &dyn std::fmt::Display| OpenHomeError::Refused(fault.to_string());
    let lock = HeadersStore::lock(&run.folder).map_err(|fault| refused(&fault))?;
    let before =
        HeadersStore::open(&run.folder, run.network, &[]).map_err(|fault| refused(&fault))?;
    let kept_before = before
        .as_ref()
        .map_or(0, |kept| KeptHeaders::of(kept).count());
    let done = match &request.from {
        Some(file) => run.read_file(before, file, request.start),
        None if config.anchor.mode == AnchorMode::Off => {
            return Err(refused(
                &"anchor.mode is off: nobody is asked. From a file: gently anchor sync --from FILE",
            ));
        }
        None => run.ask_sources(before).await?,
    };
    drop(lock);
    let after = HeadersStore::open(&run.folder, run.network, &[]);
    let kept = after.ok().flatten().as_ref().map(KeptHeaders::of);
    let lowest = store.lowest_block().ok().flatten();
    Ok(SyncReport {
        network: run.network,
        folder: run.folder,
        kept,
        added: kept
            .map_or(0, KeptHeaders::count)
            .saturating_sub(kept_before),
        is_complete: done.as_ref().is_ok_and(|done| done.complete),
        fault: done.err(),
        older_block: lowest.filter(|lowest| kept.is_some_and(|kept| *lowest < kept.start)),
    })
}

/// What a run goes by.
struct SyncRun<'a> {
    folder: PathBuf,
    network: Network,
    store: &'a Store,
    config: &'a Config,
    progress: SyncProgress<'a>,
}

impl SyncRun<'_> {
    fn read_file(
        &self,
        kept: Option<HeadersStore>,
        path: &Path,
        start: u32,
    ) -> Result<SyncResult, String> {
        let file = HeadersIn::open(path, start).map_err(|fault| fault.to_string())?;
        let mut kept = match kept {
            Some(kept) => kept,
            None => self.create(self.first_in(file.next_height()))?,
        };
        from_file(&mut kept, file, self.progress).map_err(|fault| fault.to_string())
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
        HeadersStore::create(&self.folder, self.network, start).map_err(|fault| fault.to_string())
    }

    /// The first node that answers, else the first explorer.
    async fn ask_sources(
        &self,
        mut kept: Option<HeadersStore>,
    ) -> Result<Result<SyncResult, String>, OpenHomeError> {
        let nodes = open::nodes(self.config, self.network)?;
        let explorers = open::explorers(self.config, self.network)?;
        let mut faults = Vec::new();
        for node in &nodes {
            let done = match self.ready(&mut kept, node, 0).await {
                Ok(store) => from_node(store, node, self.progress)
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
                Ok(store) => from_explorer(store, explorer, &mut left, self.progress)
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
}
