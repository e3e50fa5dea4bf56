//! What sight asks of a home: how much it holds, and whether it changed behind gently's back.

use std::path::Path;

use crate::config;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Scheme, commit};
use crate::record::log::entry::{Event, Line};
use crate::record::time::Seconds;
use crate::recorder::{EvidenceComparison, RecorderError};
use crate::sight::index_changed::{HomePart, IndexComparison};
use crate::sight::index_status::IndexCounts;
use crate::store::{HomeFile, Store, StoreError};

use super::{Home, HomeError};

/// Files that are no evidence and that nobody but gently and its owner changes; those of [`KEYS`]
/// are others.
const FILES: [&str; 2] = [config::FILE, super::CONTEXT];
/// The folder of keys: every file in it is looked at.
const KEYS: &str = "keys";
/// No home has as many keys; of more it is not told whether they are the same.
const MOST_KEYS: usize = 256;
/// No key is as long; of a longer file its length is noted in the place of its content.
const MOST_BYTES: u64 = 1 << 20;
/// How often a comparison is begun again because another process wrote meanwhile.
const ATTEMPTS: usize = 3;

impl Home {
    /// Counts what the database holds.
    pub fn counted(&self) -> Result<IndexCounts, StoreError> {
        let store = Store::open_read_only(&self.paths().database())?;
        store.begin_read()?;
        let (rows, head) = (store.row_counts()?, store.head()?);
        Ok(IndexCounts {
            sessions: rows.sessions,
            sessions_open: rows.sessions_open,
            exchanges: rows.exchanges,
            artifacts: rows.artifacts,
            search_entries: Some(rows.search_entries),
            log_lines: head.lines,
            ledger_commits: head.commits,
            last_record_at: head.time,
        })
    }

    /// Compares log, ledger, kernel and files with what the database knows of them; changes
    /// nothing.
    pub fn compared(&self) -> Result<IndexComparison, HomeError> {
        let store = Store::open_read_only(&self.paths().database())?;
        let (log, ledger) = self.compare_evidence(&store)?;
        let (noted, noted_at) = store.home_files()?;
        let part = |prefix: &str| match files_changed(&self.root, &noted, prefix) {
            _ if noted_at.is_none() => HomePart::Unknown,
            Some(false) => HomePart::Same,
            Some(true) => HomePart::Changed,
            None => HomePart::Unknown,
        };
        let kernel = if kernel_is_committed(&store)? {
            HomePart::Same
        } else {
            HomePart::Changed
        };
        let config = [part(config::FILE), part(super::CONTEXT)]
            .into_iter()
            .find(|p| *p != HomePart::Same);
        let config = config.unwrap_or(HomePart::Same);
        Ok(IndexComparison {
            log,
            ledger,
            kernel,
            config,
            keys: part("keys/"),
            noted_at,
        })
    }

    /// Log and ledger, while nobody writes: the head is the same before and after.
    fn compare_evidence(&self, store: &Store) -> Result<(HomePart, HomePart), HomeError> {
        for _ in 0..ATTEMPTS {
            let head = store.head()?;
            let compared = EvidenceComparison::of(store, &head, &self.paths());
            if store.head()? == head {
                return Ok(
                    compared.map_or((HomePart::Unknown, HomePart::Unknown), |found| {
                        let log = [part(&found.log), part(&found.checkpoint)];
                        let log = log.into_iter().find(|part| *part != HomePart::Same);
                        (log.unwrap_or(HomePart::Same), part(&found.ledger))
                    }),
                );
            }
        }
        Ok((HomePart::Unknown, HomePart::Unknown))
    }

    /// Notes what the files of the home are like now; true when they were not noted so before.
    ///
    /// Called when a turn has ended, and whenever gently itself has changed one of them.
    pub fn note_files(&self, now: Seconds) -> Result<bool, HomeError> {
        let store = Store::open_read_only(&self.paths().database())?;
        self.note_files_beside(&store, now)
    }

    /// The same with a store of this home that is open already.
    pub fn note_files_beside(&self, store: &Store, now: Seconds) -> Result<bool, HomeError> {
        let files = files_now(&self.root);
        let (noted, _) = store.home_files()?;
        if noted == files {
            return Ok(false);
        }
        Store::open(&self.paths().database())?.note_files(&files, now)?;
        Ok(true)
    }
}

fn files_now(root: &Path) -> Vec<HomeFile> {
    let file = |name: &String| {
        Some(HomeFile {
            name: name.clone(),
            sha256: digest(&root.join(name))?,
        })
    };
    let names = FILES
        .iter()
        .map(|name| (*name).to_owned())
        .chain(keys(root).into_iter().flatten());
    let mut files: Vec<HomeFile> = names.collect::<Vec<_>>().iter().filter_map(file).collect();
    files.sort();
    files
}

/// The files of the folder of keys; none when it can't be read, or holds too many.
fn keys(root: &Path) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let folder = match std::fs::read_dir(root.join(KEYS)) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Some(names),
        folder => folder.ok()?,
    };
    for entry in folder {
        names.push(format!(
            "{KEYS}/{}",
            entry.ok()?.file_name().to_string_lossy()
        ));
    }
    (names.len() <= MOST_KEYS).then_some(names)
}

/// What a file holds; none when it is not there, can't be read, or is no file.
fn digest(path: &Path) -> Option<Hash32> {
    let length = path.metadata().ok().filter(|found| found.is_file())?.len();
    let bytes = if length > MOST_BYTES {
        length.to_be_bytes().to_vec()
    } else {
        std::fs::read(path).ok()?
    };
    Some(Hash32::digest(&bytes))
}

/// Whether the files under a prefix are not what was noted; none when one is there and can't be
/// read.
fn files_changed(root: &Path, noted: &[HomeFile], prefix: &str) -> Option<bool> {
    let names = if prefix.starts_with(KEYS) {
        keys(root)?
    } else {
        vec![prefix.to_owned()]
    };
    if names
        .iter()
        .any(|name| root.join(name).is_file() && std::fs::File::open(root.join(name)).is_err())
    {
        return None;
    }
    let under = |files: &[HomeFile]| -> Vec<HomeFile> {
        files
            .iter()
            .filter(|file| file.name.starts_with(prefix))
            .cloned()
            .collect()
    };
    Some(under(&files_now(root)) != under(noted))
}

/// Whether a part is where the database knows it.
fn part<T>(compared: &Result<T, RecorderError>) -> HomePart {
    match compared {
        Ok(_) => HomePart::Same,
        Err(RecorderError::Disagree { .. } | RecorderError::Unapplied { .. }) => HomePart::Changed,
        Err(_) => HomePart::Unknown,
    }
}

/// Whether the newest kernel opens its commitment, and its line carries that commitment.
fn kernel_is_committed(store: &Store) -> Result<bool, HomeError> {
    let scheme: Scheme = Home::genesis(store)?.commitments;
    let Some(row) = store.newest_artifact("kernel")? else {
        return Ok(false);
    };
    let (Some(document), Some(salt)) = (&row.document, &row.salt) else {
        return Ok(false);
    };
    let line = store
        .lines(row.line, row.line + 1)?
        .first()
        .and_then(|line| Line::parse(line.as_bytes()).ok());
    let event = Event::Artifact {
        kind: row.kind.clone(),
        id: row.id.clone(),
        hash: row.commitment,
    };
    let opens = commit(scheme, salt, Role::Artifact, document.as_bytes()) == row.commitment;
    Ok(opens && line.is_some_and(|line| line.event == event))
}
