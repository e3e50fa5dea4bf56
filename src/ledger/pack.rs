//! Packs: a batch of objects becomes one pack, and small packs are merged into larger ones.
//!
//! Loose, one recorded turn would be seven files, each to be synced by itself; as a pack it is two.
//! Packs are merged as in `git repack --geometric`, in process: what is merged is in its new place,
//! and durable, before the old packs go, so a reader never sees a gap.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gix::ObjectId;
use gix::objs::Kind;
use gix::progress::Discard;
use gix::zlib::stream::deflate::{Compress, FlushCompress};
use gix::zlib::{Compression, Status};
use gix_pack::data::Version;
use gix_pack::data::output::{self, Entry, bytes::FromEntriesIter};

use super::aside_of;
use super::write::{Ledger, git, io_error};
use super::{LedgerError, OBJECT_FORMAT};

/// With more packs than this, the small ones are merged; every look-up asks each pack.
///
/// Seldom, and many at once: a merge is the only moment at which a pack goes that a reader may have
/// listed and not opened. With the one that a merge makes there are never more than 20.
const MAX_PACKS: usize = 18;
/// Objects of a merge that are handed on together.
const MERGE_CHUNK: usize = 512;
/// More than the head, the end and the block marks of a zlib stream of a small object.
const STREAM_OVERHEAD: usize = 64;

type PackResult<T> = Result<T, gix::Error>;

/// Objects that wait to be written, each once, in the order in which they came.
#[derive(Default)]
pub(super) struct Batch {
    known: BTreeSet<ObjectId>,
    objects: Vec<(ObjectId, Kind, Vec<u8>)>,
}

impl Batch {
    /// Whether an object is in it.
    pub(super) fn holds(&self, id: &ObjectId) -> bool {
        self.known.contains(id)
    }

    /// How many are in it.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Adds one object, unless the pack has it already.
    pub(super) fn add(&mut self, id: ObjectId, kind: Kind, data: Vec<u8>) {
        if self.known.insert(id) {
            self.objects.push((id, kind, data));
        }
    }
}

impl Ledger {
    /// Writes the batch as one pack with its index. Readable on return, durable after
    /// [`Ledger::sync`].
    pub fn write_objects(&mut self) -> Result<(), LedgerError> {
        if self.batch.objects.is_empty() {
            return Ok(());
        }
        let folder = self.pack_dir();
        fs::create_dir_all(&folder).map_err(|e| io_error("make", &folder, e))?;
        let failed = |e: gix::Error| git("write a pack", &folder, &e);
        let mut packer = Packer::new();
        let entries = self
            .batch
            .objects
            .iter()
            .map(|(id, kind, data)| packer.entry(*id, *kind, data));
        let entries = entries.collect::<PackResult<Vec<_>>>().map_err(failed)?;
        let count = u32::try_from(entries.len()).expect("a batch is far smaller than 2^32 objects");
        let mut bytes = Vec::new();
        stream(std::iter::once(Ok(entries)), count, &mut bytes).map_err(failed)?;
        let written = index(&mut &bytes[..], &folder).map_err(failed)?;
        self.paths.extend(written);
        self.paths.insert(folder);
        self.written
            .extend(self.batch.objects.iter().map(|(id, ..)| *id));
        let batch = std::mem::take(&mut self.batch);
        self.unseen = batch.objects.last().map(|(id, ..)| *id);
        if self.searches {
            self.look_again();
        }
        Ok(())
    }

    /// Merges small packs when there are many. Durable on return; on an error nothing is lost.
    pub fn tidy(&mut self) -> Result<(), LedgerError> {
        let folder = self.pack_dir();
        let mut packs = packs(&folder)?;
        if packs.len() <= MAX_PACKS {
            return Ok(());
        }
        packs.sort_by_key(|pack| (pack.count, pack.index.clone()));
        let counts: Vec<u64> = packs.iter().map(|pack| u64::from(pack.count)).collect();
        packs.truncate(geometric_split(&counts));
        merge(&packs, &folder)?;
        for pack in &packs {
            // The index first: a pack without index is no pack to anybody.
            for path in [&pack.index, &pack.data] {
                fs::remove_file(path).map_err(|e| io_error("remove", path, e))?;
            }
        }
        Ok(())
    }

    /// Renames packs that a power loss tore, so that their objects are written anew from the
    /// database.
    ///
    /// For recovery, before anything is put: a pack counts as torn when its length, its trailer and
    /// its index do not fit together, when one of the two files is missing, or when its checksum is
    /// not that of its bytes. Returns what was set aside.
    pub fn set_aside_torn_packs(&mut self) -> Result<Vec<PathBuf>, LedgerError> {
        let mut aside = Vec::new();
        for part in self.torn_packs()? {
            let to = aside_of(&part);
            fs::rename(&part, &to).map_err(|e| io_error("rename", &part, e))?;
            aside.push(to);
        }
        if !aside.is_empty() {
            // The handle may have mapped what is gone.
            let path = self.path().to_owned();
            let paths = std::mem::take(&mut self.paths);
            *self = Ledger::open(&path)?;
            self.paths = paths;
        }
        Ok(aside)
    }

    /// The files of packs that count as torn, an index before its pack; nothing is written.
    pub fn torn_packs(&self) -> Result<Vec<PathBuf>, LedgerError> {
        let mut torn = Vec::new();
        let folder = self.pack_dir();
        let found = if folder.exists() {
            entries_of(&folder)?
        } else {
            Vec::new()
        };
        for path in found {
            let (index, data) = (path.with_extension("idx"), path.with_extension("pack"));
            let is_torn = match path.extension().and_then(|e| e.to_str()) {
                Some("pack") => !is_whole(&path, &index).map_err(|e| io_error("read", &path, e))?,
                Some("idx") => !data.exists(),
                _ => false,
            };
            if is_torn {
                torn.extend([index, data].into_iter().filter(|part| part.exists()));
            }
        }
        Ok(torn)
    }

    fn pack_dir(&self) -> PathBuf {
        self.objects_dir().join("pack")
    }
}

/// Makes pack entries with one compressor: to set one up for each small object costs as much as
/// compressing it.
struct Packer(Compress);

impl Packer {
    fn new() -> Self {
        Packer(Compress::new(Compression::DEFAULT))
    }

    fn entry(&mut self, id: ObjectId, kind: Kind, data: &[u8]) -> PackResult<Entry> {
        self.0.reset();
        // Room for a stream that could not be compressed at all, so that one call is enough.
        let mut out = vec![0; data.len() + data.len() / 1000 + STREAM_OVERHEAD];
        match self.0.compress(data, &mut out, FlushCompress::Finish)? {
            Status::StreamEnd => {}
            other => {
                return Err(gix::error::Error::from_error(io::Error::other(format!(
                    "{other:?}"
                ))));
            }
        }
        out.truncate(usize::try_from(self.0.total_out()).unwrap_or(usize::MAX));
        Ok(Entry {
            id,
            kind: output::entry::Kind::Base(kind),
            decompressed_size: data.len(),
            compressed_data: out,
        })
    }
}

/// Writes pack bytes.
fn stream(
    entries: impl Iterator<Item = PackResult<Vec<Entry>>>,
    count: u32,
    out: &mut dyn io::Write,
) -> PackResult<()> {
    let mut written = FromEntriesIter::new(entries, out, count, Version::V2, OBJECT_FORMAT);
    written.by_ref().try_for_each(|chunk| chunk.map(|_| ()))
}

/// Puts pack bytes into the folder with their index; returns the files.
fn index(bytes: &mut dyn io::BufRead, folder: &Path) -> PackResult<Vec<PathBuf>> {
    let never = AtomicBool::new(false);
    let base = None::<gix::objs::find::Never>;
    let options = gix_pack::bundle::write::Options {
        thread_limit: Some(1),
        ..Default::default()
    };
    let outcome = gix_pack::Bundle::write_to_directory(
        bytes,
        Some(folder),
        &mut Discard,
        &never,
        base,
        OBJECT_FORMAT,
        options,
    )?;
    if let Some(keep) = outcome.keep_path {
        // It guards against a collector that runs before refs move; the writer's lock does that
        // here.
        let _ = fs::remove_file(keep);
    }
    Ok(outcome
        .data_path
        .into_iter()
        .chain(outcome.index_path)
        .collect())
}

/// A pack on disk.
struct Pack {
    data: PathBuf,
    index: PathBuf,
    count: u32,
}

fn entries_of(folder: &Path) -> Result<Vec<PathBuf>, LedgerError> {
    let read = || {
        fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()
    };
    read().map_err(|e| io_error("read", folder, e))
}

fn packs(folder: &Path) -> Result<Vec<Pack>, LedgerError> {
    let mut found = Vec::new();
    for index in entries_of(folder)? {
        let data = index.with_extension("pack");
        if index.extension().is_some_and(|e| e == "idx")
            && data.exists()
            && !index.with_extension("keep").exists()
        {
            let count = object_count(&data).map_err(|e| io_error("read", &data, e))?;
            found.push(Pack { data, index, count });
        }
    }
    Ok(found)
}

/// The number of objects, from a pack's 12-byte header.
fn object_count(data: &Path) -> io::Result<u32> {
    let mut header = [0; 12];
    File::open(data)?.read_exact(&mut header)?;
    let [.., a, b, c, d] = header;
    Ok(u32::from_be_bytes([a, b, c, d]))
}

/// How many of the smallest packs are merged, so that each that stays is at least twice all smaller
/// ones.
fn geometric_split(counts: &[u64]) -> usize {
    let mut split = counts.len().min(2);
    let mut before = 0;
    for (at, count) in counts.iter().enumerate() {
        if *count < 2 * before {
            split = split.max(at + 1);
        }
        before += count;
    }
    split
}

/// Writes one pack with the objects of several; entries are copied as they are compressed.
fn merge(packs: &[Pack], folder: &Path) -> Result<(), LedgerError> {
    let failed = |e: gix::Error| git("merge packs", folder, &e);
    let bundles = packs
        .iter()
        .map(|pack| gix_pack::Bundle::at(&pack.index, OBJECT_FORMAT));
    let bundles = bundles.collect::<PackResult<Vec<_>>>().map_err(failed)?;
    let kept = |(number, id): (usize, &gix::oid)| {
        bundles[..number]
            .iter()
            .all(|earlier| earlier.index.lookup(id).is_none())
    };
    let ids = |number: usize| (0..bundles[number].index.num_objects()).map(move |at| (number, at));
    let count = (0..bundles.len())
        .flat_map(ids)
        .filter(|(number, at)| kept((*number, bundles[*number].index.oid_at_index(*at))))
        .count();
    let count = u32::try_from(count).map_err(|_| LedgerError::Git {
        doing: "merge packs",
        path: folder.to_owned(),
        reason: "more than 2^32 objects".to_owned(),
    })?;
    let temporary = folder.join("tmp_pack_merge");
    let file = File::create(&temporary).map_err(|e| io_error("create", &temporary, e))?;
    let written = bundles
        .iter()
        .enumerate()
        .flat_map(|(number, bundle)| chunks(bundle, move |id| kept((number, id))));
    let mut out = BufWriter::new(file);
    let made = stream(written, count, &mut out)
        .map_err(failed)
        .and_then(|()| {
            let mut file = out
                .into_inner()
                .map_err(|e| io_error("write", &temporary, e.into_error()))?;
            file.seek(SeekFrom::Start(0))
                .map_err(|e| io_error("read", &temporary, e))?;
            let file = File::open(&temporary).map_err(|e| io_error("read", &temporary, e))?;
            index(&mut BufReader::new(file), folder).map_err(failed)
        });
    let _ = fs::remove_file(&temporary);
    for path in made?.iter().map(PathBuf::as_path).chain([folder]) {
        File::open(path)
            .and_then(|f| f.sync_all())
            .map_err(|e| io_error("sync", path, e))?;
    }
    Ok(())
}

/// The entries of a pack in the order in which they lie, in chunks.
fn chunks<'a>(
    bundle: &'a gix_pack::Bundle,
    kept: impl Fn(&gix::oid) -> bool + 'a,
) -> impl Iterator<Item = PackResult<Vec<Entry>>> + 'a {
    let mut order: Vec<(u64, u32)> = (0..bundle.index.num_objects())
        .map(|at| (bundle.index.pack_offset_at_index(at), at))
        .collect();
    order.sort_unstable();
    let end = bundle.pack.pack_end() as u64;
    let mut next = 0;
    std::iter::from_fn(move || {
        let mut chunk = Vec::new();
        while chunk.len() < MERGE_CHUNK
            && let Some(&(offset, at)) = order.get(next)
        {
            next += 1;
            let id = bundle.index.oid_at_index(at);
            if kept(id) {
                let until = order.get(next).map_or(end, |(offset, _)| *offset);
                match copy(bundle, id, at, offset, until) {
                    Ok(entry) => chunk.push(entry),
                    Err(e) => return Some(Err(e)),
                }
            }
        }
        if chunk.is_empty() {
            None
        } else {
            Some(Ok(chunk))
        }
    })
}

/// One entry as it lies; a delta, which only a foreign packer makes, is resolved.
fn copy(
    bundle: &gix_pack::Bundle,
    id: &gix::oid,
    at: u32,
    offset: u64,
    until: u64,
) -> PackResult<Entry> {
    let found = bundle.pack.entry(offset)?;
    if let (Some(kind), Some(bytes)) = (
        found.header.as_kind(),
        bundle.pack.entry_slice(found.data_offset..until),
    ) {
        return Ok(Entry {
            id: id.to_owned(),
            kind: output::entry::Kind::Base(kind),
            decompressed_size: usize::try_from(found.decompressed_size).unwrap_or(usize::MAX),
            compressed_data: bytes.to_vec(),
        });
    }
    let (mut buffer, mut inflate) = (Vec::new(), Default::default());
    let (object, _) =
        bundle.get_object_by_index(at, &mut buffer, &mut inflate, &mut gix_pack::cache::Never)?;
    Packer::new().entry(id.to_owned(), object.kind, object.data)
}

/// Whether a pack and its index fit together, to the last byte of the pack.
fn is_whole(data: &Path, index: &Path) -> io::Result<bool> {
    if !index.exists() || index.metadata()?.len() < 1072 || data.metadata()?.len() < 32 {
        return Ok(false);
    }
    let Ok(bundle) = gix_pack::Bundle::at(index, OBJECT_FORMAT) else {
        return Ok(false);
    };
    let never = AtomicBool::new(false);
    let sound = bundle.index.verify_checksum(&mut Discard, &never).is_ok()
        && bundle.pack.verify_checksum(&mut Discard, &never).is_ok()
        && bundle.index.pack_checksum() == bundle.pack.checksum();
    Ok(sound)
}

#[cfg(test)]
mod tests {
    use super::geometric_split;

    #[test]
    fn what_stays_is_twice_all_that_is_smaller() {
        for (counts, split) in [
            (&[7, 7, 7][..], 3),
            (&[7, 7, 100], 2),
            (&[7, 7, 27], 3),
            (&[7, 7, 28], 2),
            (&[1, 2, 6, 18], 2),
            (&[1, 1, 1, 1000, 1500], 5),
            (&[1, 1, 1, 1000, 2500], 3),
            (&[5], 1),
            (&[], 0),
        ] {
            assert_eq!(geometric_split(counts), split, "{counts:?}");
        }
    }
}
