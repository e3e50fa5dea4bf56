//! Who waits for an answer: one file for each recorder, in `in-flight/`, that names its prompts.
//!
//! ```text
//! 0196f3c1-….lock                           locked by the operating system while its process lives
//!   5b1c6e0a-7f0e-8c3d-9a51-0d2f4b7e6c18    36 bytes and a newline: an exchange whose model is thinking
//!   ------------------------------------    a free place, which a later prompt takes
//! ```
//!
//! A prompt is in flight when a locked file names it. Nothing is made or deleted for a prompt: it
//! takes a place in its recorder's file before its transaction commits, and gives it back. Files
//! are made and removed under the writer's lock, and the lock of a file ends with its process.
//!
//! A file for each prompt would be simpler. It was measured: to make, lock and delete one takes
//! ext4 70 to 115 µs under load, a place takes 4 to 6, and a recorder of many askers has some 650
//! µs for a whole exchange.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use uuid::Uuid;

use super::RecorderError;
use crate::os::open_private;

/// Bytes of one place: a UUID as text, or as many dashes, and a newline.
const PLACE: usize = 37;

/// The prompts of one recorder whose models are thinking.
#[derive(Clone, Debug)]
pub struct Prompts {
    folder: PathBuf,
    own: Arc<Mutex<Option<InFlightFile>>>,
}

impl Prompts {
    /// Makes nothing yet: the file comes with the first prompt.
    pub fn new(folder: PathBuf) -> Self {
        Prompts {
            folder,
            own: Arc::default(),
        }
    }

    /// Takes a place for an exchange that is about to be recorded; only under the writer's lock.
    pub fn begin(&self, exchange: Uuid) -> Result<InFlight, RecorderError> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_none() {
            self.clear();
            *own = Some(InFlightFile::make(&self.folder).map_err(failed(&self.folder))?);
        }
        // Just made, if it was not there.
        let Some(places) = own.as_mut() else {
            return Err(RecorderError::Stopped);
        };
        let place = places.take(exchange).map_err(failed(&places.path))?;
        Ok(InFlight {
            own: self.own.clone(),
            place,
        })
    }

    /// The exchanges whose answer a living process waits for.
    pub fn waited_for(&self) -> Result<BTreeSet<Uuid>, RecorderError> {
        let mut found = BTreeSet::new();
        for path in files(&self.folder).map_err(failed(&self.folder))? {
            if let Some(mut file) = open_held(&path).map_err(failed(&path))? {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(failed(&path))?;
                found.extend(bytes.chunks(PLACE).filter_map(named));
            }
        }
        Ok(found)
    }

    /// Removes what dead processes left behind; only under the writer's lock.
    pub fn clear(&self) {
        // What stays is harmless: it is not locked, and the next one removes it.
        for path in files(&self.folder).unwrap_or_default() {
            if let Ok(None) = open_held(&path) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// A prompt whose model is thinking: while it lives, its session can't be closed.
///
/// It ends with the process. Dropping it says that nobody waits for the answer any more.
#[derive(Debug)]
pub struct InFlight {
    own: Arc<Mutex<Option<InFlightFile>>>,
    place: u64,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(places) = self
            .own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
        {
            places.give_back(self.place);
        }
    }
}

/// The file of one recorder; it goes with the recorder and the last of its prompts.
#[derive(Debug)]
struct InFlightFile {
    path: PathBuf,
    file: File,
    /// Places that are free, and how many there are in all.
    free: Vec<u64>,
    count: u64,
}

impl InFlightFile {
    fn make(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.lock", Uuid::new_v4()));
        let file = open_private(&path)?;
        // It can be held by one who looks, for a moment.
        file.lock()?;
        Ok(InFlightFile {
            path,
            file,
            free: Vec::new(),
            count: 0,
        })
    }

    fn take(&mut self, exchange: Uuid) -> io::Result<u64> {
        let place = self.free.last().copied().unwrap_or(self.count);
        self.write(place, &exchange.to_string())?;
        if self.free.pop().is_none() {
            self.count += 1;
        }
        Ok(place)
    }

    /// Where even this can't be written, the place is not used again, and is taken until the
    /// process ends.
    fn give_back(&mut self, place: u64) {
        if self.write(place, &"-".repeat(PLACE - 1)).is_ok() {
            self.free.push(place);
        }
    }

    fn write(&mut self, place: u64, text: &str) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(place * PLACE as u64))?;
        self.file.write_all(format!("{text}\n").as_bytes())
    }
}

impl Drop for InFlightFile {
    fn drop(&mut self) {
        // A file that stays is harmless: it is not locked, and whoever comes next removes it.
        let _ = fs::remove_file(&self.path);
    }
}

fn named(place: &[u8]) -> Option<Uuid> {
    std::str::from_utf8(place.strip_suffix(b"\n")?)
        .ok()?
        .parse()
        .ok()
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// Opens a file that another holds locked; none if nobody does, or if it is gone.
fn open_held(path: &Path) -> io::Result<Option<File>> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    // Shared, so that two who look at once don't take each other for the one who waits.
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(file)),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> RecorderError {
    move |e| RecorderError::Lock {
        path: path.to_owned(),
        reason: e.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    #[test]
    fn a_prompt_in_flight_is_seen_until_it_is_dropped() {
        let home = tempfile::tempdir().unwrap();
        let (own, other) = (
            Prompts::new(home.path().join("a")),
            Prompts::new(home.path().join("a")),
        );
        assert!(other.waited_for().unwrap().is_empty());
        let (one, two) = (own.begin(id(1)).unwrap(), own.begin(id(2)).unwrap());
        let theirs = other.begin(id(3)).unwrap();
        for looks in [&own, &other] {
            assert_eq!(
                looks.waited_for().unwrap(),
                BTreeSet::from([id(1), id(2), id(3)])
            );
        }
        drop(one);
        assert_eq!(other.waited_for().unwrap(), BTreeSet::from([id(2), id(3)]));
        // The place is taken again: the file does not grow with the prompts that were.
        let four = own.begin(id(4)).unwrap();
        assert_eq!(
            other.waited_for().unwrap(),
            BTreeSet::from([id(2), id(3), id(4)])
        );
        let length = |path: &PathBuf| fs::metadata(path).unwrap().len();
        let lengths: BTreeSet<u64> = files(&own.folder).unwrap().iter().map(length).collect();
        assert_eq!(lengths, BTreeSet::from([PLACE as u64, 2 * PLACE as u64]));
        // What outlives its recorder is still waited for.
        drop(own);
        assert_eq!(
            other.waited_for().unwrap(),
            BTreeSet::from([id(2), id(3), id(4)])
        );
        drop((two, four));
        assert_eq!(other.waited_for().unwrap(), BTreeSet::from([id(3)]));
        assert_eq!(files(&other.folder).unwrap().len(), 1);
        drop((theirs, other));
        assert_eq!(fs::read_dir(home.path().join("a")).unwrap().count(), 0);
    }

    #[test]
    fn what_a_dead_process_left_is_nobodys_and_goes() {
        let home = tempfile::tempdir().unwrap();
        let prompts = Prompts::new(home.path().to_owned());
        let left = home.path().join("left.lock");
        fs::write(&left, format!("{}\n", id(7))).unwrap();
        assert!(prompts.waited_for().unwrap().is_empty());
        let held = open_private(&left).unwrap();
        held.lock().unwrap();
        assert_eq!(prompts.waited_for().unwrap(), BTreeSet::from([id(7)]));
        prompts.clear();
        assert!(left.exists());
        drop(held);
        let _own = prompts.begin(id(8)).unwrap();
        assert!(!left.exists());
        assert_eq!(prompts.waited_for().unwrap(), BTreeSet::from([id(8)]));
    }

    #[test]
    fn a_place_names_one_exchange_or_none() {
        let text = format!("{}\n", id(7));
        assert_eq!(named(text.as_bytes()), Some(id(7)));
        for wrong in [
            "",
            "\n",
            text.trim_end(),
            &text[1..],
            &format!("{}\n", "-".repeat(PLACE - 1)),
        ] {
            assert_eq!(named(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
