//! Where a check finds headers of Bitcoin blocks: the kept chain, else the home's block sources.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;

use crate::anchor::BlockSource;
use crate::anchor::headers_store::HeadersStore;
use crate::app::home::open;
use crate::config::Config;
use crate::record::bitcoin::block::{Header, Network};
use crate::verify::{HeaderRequests, Headers};

use super::target::TargetError;

/// The folder of kept headers, and the home whose sources may be asked.
pub struct HeaderSources {
    folder: Option<PathBuf>,
    home: Option<PathBuf>,
    /// Whether somebody named the folder: a fault of it is then no answer of a check.
    named: bool,
    unusable: RefCell<Option<String>>,
}

/// What `--headers` names must be a folder: else a check would be one without headers, and nobody
/// told.
pub fn folder(named: &Path) -> Result<(), TargetError> {
    let failed = |why: &str| TargetError::Headers {
        reason: format!("{}: {why}", named.display()),
    };
    match std::fs::metadata(named) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(failed(
            "expected the folder that holds NETWORK-START.dat, and it is none",
        )),
        Err(error) => Err(failed(&error.to_string())),
    }
}

impl HeaderSources {
    /// A folder, which is the home's own or was named by the caller.
    pub fn new(folder: Option<PathBuf>, home: Option<PathBuf>, named: bool) -> Self {
        HeaderSources {
            folder,
            home,
            named,
            unusable: RefCell::new(None),
        }
    }

    /// Why the folder that was named can't be used, once a check has wanted headers of it.
    pub fn unusable(&self) -> Option<String> {
        self.unusable.borrow().clone()
    }

    /// Finds what a check wants; sources are asked only for blocks that proofs name and the kept
    /// chain does not reach.
    pub fn find(&self, wanted: &HeaderRequests) -> Headers {
        let mut headers = Headers::default();
        let heights: Vec<u32> = wanted.attested.union(&wanted.named).copied().collect();
        match self
            .folder
            .as_ref()
            .map(|folder| HeadersStore::open(folder, wanted.network, &heights))
        {
            Some(Ok(Some(store))) => {
                headers.kept = true;
                headers.chain = heights
                    .iter()
                    .filter_map(|at| Some((*at, store.header(*at)?)))
                    .collect();
            }
            Some(Err(fault)) => {
                self.cannot_use(fault.to_string());
                headers.fault = Some(fault.to_string());
            }
            Some(Ok(None)) => {
                let folder = self.folder.as_deref().unwrap_or(Path::new("")).display();
                self.cannot_use(format!(
                    "{folder} holds no headers of {}",
                    wanted.network.name()
                ));
            }
            None => {}
        }
        let missing: BTreeSet<u32> = wanted
            .attested
            .iter()
            .filter(|height| !headers.chain.contains_key(height))
            .copied()
            .collect();
        if !missing.is_empty()
            && let Err(why) = self.ask(wanted.network, &missing, &mut headers)
        {
            headers.fault.get_or_insert(why);
        }
        headers
    }

    fn cannot_use(&self, why: String) {
        if self.named {
            self.unusable.replace(Some(why));
        }
    }

    fn ask(
        &self,
        network: Network,
        heights: &BTreeSet<u32>,
        headers: &mut Headers,
    ) -> Result<(), String> {
        let Some(home) = &self.home else {
            return Ok(());
        };
        let config = Config::load(home, &open::env).map_err(|e| e.to_string())?;
        let sources = open::sources(&config, network).map_err(|e| e.to_string())?;
        if sources.is_empty() {
            return Ok(());
        }
        let deadline = config.anchor.deadline;
        // The caller may be on a runtime already, and this one waits.
        let asked = std::thread::scope(|scope| {
            let asking = scope.spawn(|| -> Result<BTreeMap<u32, Vec<Header>>, String> {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                let runtime = runtime.map_err(|e| format!("no runtime: {e}"))?;
                let said =
                    runtime.block_on(headers_from_sources(&sources, network, heights, deadline));
                runtime.shutdown_background();
                Ok(said)
            });
            asking
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        headers.said = asked;
        Ok(())
    }
}

/// What sources say of heights: headers that show their work.
async fn headers_from_sources(
    sources: &[Box<dyn BlockSource>],
    network: Network,
    heights: &BTreeSet<u32>,
    deadline: Duration,
) -> BTreeMap<u32, Vec<Header>> {
    let until = tokio::time::Instant::now() + deadline;
    let questions = heights
        .iter()
        .flat_map(|height| sources.iter().map(move |source| (*height, source)));
    let asked = questions.map(|(height, source)| async move {
        let answer = tokio::time::timeout_at(until, source.at(height))
            .await
            .ok()?
            .ok()?;
        answer.check(network).ok()?;
        Some((height, answer.header?))
    });
    let mut said = BTreeMap::new();
    for (height, header) in join_all(asked).await.into_iter().flatten() {
        said.entry(height).or_insert_with(Vec::new).push(header);
    }
    said
}
