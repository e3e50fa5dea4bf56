//! A file of somebody else: opened for reading only, and hashed before anything is taken of it.

use std::cell::Cell;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::export::is_list;
use super::{SourceError, SourceFile};
use crate::os;

/// What to do about a file that is not there.
const NAME_IT: &str = "Name the file that the other program wrote";
/// How much is read at once.
const BLOCK: usize = 1 << 18;

/// The bytes of a file; reading them ends with an error once nobody wants more of it.
pub(super) struct ForeignReader {
    file: File,
    stop: CancellationToken,
}

impl Read for ForeignReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_cancelled() {
            true => Err(io::Error::other("the import was stopped")),
            false => self.file.read(out),
        }
    }
}

impl Seek for ForeignReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A file that is read.
pub(super) struct ForeignFile {
    /// As it was named.
    named: PathBuf,
    /// Where it lies, links followed: whoever names a file may keep it behind one.
    path: PathBuf,
    /// Its name, for places.
    name: String,
    file: File,
    /// Whoever cancels it wants no more of the file.
    stop: CancellationToken,
    before: Metadata,
    /// Whether somebody else has opened it by its path, so that what is hashed here could be another file.
    is_opened_by_path: Cell<bool>,
    sha256: [u8; 32],
    bytes: u64,
}

impl ForeignFile {
    /// Opens a regular file and hashes its bytes, until `stop` is cancelled.
    pub(super) fn open(path: &Path, stop: &CancellationToken) -> Result<ForeignFile, SourceError> {
        let unread = |error: io::Error| unread(path, &error);
        let (real, file) = opened(path)?;
        let mut reader = ForeignReader {
            file,
            stop: stop.clone(),
        };
        let before = reader.file.metadata().map_err(unread)?;
        let (sha256, bytes) = hashed(&mut reader).map_err(unread)?;
        Ok(ForeignFile {
            named: path.to_owned(),
            name: path.file_name().map_or_else(
                || path.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            ),
            path: real,
            file: reader.file,
            stop: reader.stop,
            before,
            is_opened_by_path: Cell::new(false),
            sha256,
            bytes,
        })
    }

    /// How many bytes it has.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its name without folders.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// As a word of a command line that names it.
    pub(super) fn word(&self) -> String {
        os::shell_word(&self.named)
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is cancelled once nobody wants more of it.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// That the file which lies at its path now is this one; from here on it has to stay so.
    pub(super) fn opened_by_path(&self) -> Result<(), SourceError> {
        self.is_opened_by_path.set(true);
        let of = |found: &Metadata| (found.dev(), found.ino());
        match self.path.metadata() {
            Ok(there) if of(&there) == of(&self.before) => Ok(()),
            _ => Err(self.error(
                "another file was put in its place while it was read",
                "Import it again when no other program writes there: what is on record already is not \
                 recorded twice",
            )),
        }
    }

    /// Its bytes from the beginning; one reader at a time, as all share one place in the file.
    pub(super) fn reader(&self) -> Result<BufReader<ForeignReader>, SourceError> {
        let opened = self.file.try_clone().and_then(|mut file| {
            file.seek(SeekFrom::Start(0))?;
            let stop = self.stop.clone();
            Ok(ForeignReader { file, stop })
        });
        match opened {
            Ok(file) => Ok(BufReader::with_capacity(BLOCK, file)),
            Err(error) => Err(self.unread(&error)),
        }
    }

    /// Why nothing (more) of it can be read.
    pub(super) fn error(
        &self,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> SourceError {
        SourceError {
            file: Some(Box::new(self.described(String::new()))),
            place: self.name.clone(),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }

    /// The system would not read it.
    pub(super) fn unread(&self, error: &io::Error) -> SourceError {
        self.error(
            format!("it can't be read further: {error}"),
            "Copy the file to a disk that is whole, and import the copy",
        )
    }

    fn described(&self, version: String) -> SourceFile {
        SourceFile {
            sha256: self.sha256,
            bytes: self.bytes,
            version,
        }
    }

    /// What is known of it at the end; an error where it was written to meanwhile, since what was
    /// read is then not what was hashed.
    pub(super) fn finish(self, version: String) -> Result<SourceFile, SourceError> {
        if self.is_opened_by_path.get() {
            self.opened_by_path()?;
        }
        let now = self.file.metadata().map_err(|error| self.unread(&error))?;
        // When it was written to can be set by anybody; when anything of it was changed can't.
        let of = |found: &Metadata| {
            (
                found.len(),
                found.modified().ok(),
                found.ctime(),
                found.ctime_nsec(),
            )
        };
        if of(&now) != of(&self.before) {
            return Err(self.error(
                "another program wrote to it, or put another file in its place, while it was read",
                "Close that program, and import the file again: what is on record already is not \
                 recorded twice",
            ));
        }
        Ok(self.described(version))
    }
}

/// Refuses what is no file that can be read; nothing is read of it.
pub fn look_at(path: &Path) -> Result<(), SourceError> {
    opened(path).map(drop)
}

/// Where a regular file lies, links followed, and the file.
fn opened(path: &Path) -> Result<(PathBuf, File), SourceError> {
    if path.is_dir() {
        return Err(refused_folder(path));
    }
    let unread = |error: io::Error| unread(path, &error);
    let real = path.canonicalize().map_err(unread)?;
    let file = os::open_regular(&real).map_err(unread)?;
    Ok((real, file))
}

/// Why a file that was named is not read.
fn unread(path: &Path, error: &io::Error) -> SourceError {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let (reason, remedy) = match path.metadata() {
        // A pipe may have a path, or none.
        Ok(found) if !found.is_file() => (
            format!(
                "it is {}, and what is imported is read more than once",
                os::kind_of(found.file_type())
            ),
            "Write it to a file, and import that",
        ),
        Err(_) if is_missing && path == Path::new("-") => (
            "there is no file of this name, and what is imported is read more than once".to_owned(),
            "Write what comes through a pipe to a file, and import that",
        ),
        Err(_) if is_missing && path.is_symlink() => {
            ("it is a link that leads nowhere".to_owned(), NAME_IT)
        }
        _ => (os::why_unread(error), NAME_IT),
    };
    SourceError {
        file: None,
        place: path.display().to_string(),
        reason,
        remedy: remedy.to_owned(),
    }
}

/// Why a folder is not read; somebody may have unpacked an export into it.
fn refused_folder(path: &Path) -> SourceError {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut lists: Vec<String> = names.filter(|name| is_list(name)).collect();
    lists.sort();
    SourceError {
        file: None,
        place: path.display().to_string(),
        reason: "it is a folder, and a file is imported".to_owned(),
        remedy: match lists.as_slice() {
            [] => "Name the file that the other program wrote, or the ZIP as it was downloaded"
                .to_owned(),
            [list] => format!("The list in it: {}", os::shell_word(&path.join(list))),
            [first, ..] => format!(
                "The ZIP as it was downloaded has all of it; or one of the {} lists in it after the other: {}, …",
                lists.len(),
                os::shell_word(&path.join(first))
            ),
        },
    }
}

fn hashed(file: &mut impl Read) -> io::Result<([u8; 32], u64)> {
    let mut digest = Sha256::new();
    let mut block = vec![0; BLOCK];
    let mut bytes = 0;
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok((digest.finalize().into(), bytes)),
            Ok(n) => {
                digest.update(&block[..n]);
                bytes += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A line without what an editor or Windows puts around it.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii()
}

/// What a line of a file is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LimitedLine {
    /// It is whole, without its newline.
    Whole,
    /// It is longer than may be held; so many bytes of it were passed over.
    TooLarge(u64),
    /// There is none any more.
    End,
}

/// Reads the next line into `line`, and not more than `most` bytes of it; how many bytes it takes
/// in the file, with its newline.
pub(super) fn next_line(
    reader: &mut impl BufRead,
    most: usize,
    line: &mut Vec<u8>,
) -> io::Result<(LimitedLine, u64)> {
    line.clear();
    let mut bytes = 0_u64;
    let mut is_too_large = false;
    loop {
        let block = match reader.fill_buf() {
            Ok(block) => block,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = block.iter().position(|b| *b == b'\n');
        let part = &block[..end.unwrap_or(block.len())];
        if block.is_empty() && bytes == 0 {
            return Ok((LimitedLine::End, 0));
        }
        is_too_large |= line.len() + part.len() > most;
        if !is_too_large {
            line.extend_from_slice(part);
        }
        let is_last = end.is_some() || block.is_empty();
        let used = part.len() + usize::from(end.is_some());
        bytes += used as u64;
        reader.consume(used);
        if is_last && is_too_large {
            line.clear();
            return Ok((LimitedLine::TooLarge(bytes), bytes));
        }
        if is_last {
            return Ok((LimitedLine::Whole, bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_held_up_to_a_limit_and_no_further() {
        let mut reader = BufReader::with_capacity(3, &b"abcd\n\nabcde\nx"[..]);
        let mut line = Vec::new();
        let mut found = Vec::new();
        loop {
            let (kind, bytes) = next_line(&mut reader, 4, &mut line).unwrap();
            if kind == LimitedLine::End {
                break;
            }
            found.push((kind, bytes, String::from_utf8(line.clone()).unwrap()));
        }
        let expected = [
            (LimitedLine::Whole, 5, "abcd"),
            (LimitedLine::Whole, 1, ""),
            (LimitedLine::TooLarge(6), 6, ""),
            (LimitedLine::Whole, 1, "x"),
        ];
        assert_eq!(found, expected.map(|(k, n, t)| (k, n, t.to_owned())));
    }

    fn read_of(path: &Path) -> Result<ForeignFile, SourceError> {
        ForeignFile::open(path, &CancellationToken::new())
    }

    #[test]
    fn what_was_stopped_is_read_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, vec![b'a'; 3 * BLOCK]).unwrap();
        let stop = CancellationToken::new();
        let file = ForeignFile::open(&path, &stop).unwrap();
        let mut reader = file.reader().unwrap();
        assert_eq!(reader.fill_buf().unwrap().len(), BLOCK);
        reader.consume(BLOCK);
        stop.cancel();
        let why = reader.fill_buf().unwrap_err();
        assert_eq!(why.to_string(), "the import was stopped");
        let why = ForeignFile::open(&path, &stop).err().unwrap();
        assert!(why.reason.contains("the import was stopped"), "{why}");
    }

    #[test]
    fn a_file_that_was_opened_by_its_path_has_to_stay_there() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.db"), folder.path().join("b.db"));
        for is_by_path in [false, true] {
            std::fs::write(&path, b"one").unwrap();
            std::fs::write(&other, b"two").unwrap();
            let file = read_of(&path).unwrap();
            if is_by_path {
                file.opened_by_path().unwrap();
            }
            std::fs::rename(&other, &path).unwrap();
            match (is_by_path, file.finish("1".to_owned())) {
                (false, read) => {
                    let why = read.unwrap_err();
                    assert!(why.reason.contains("while it was read"), "{why}");
                }
                (true, read) => {
                    let why = read.unwrap_err();
                    assert!(why.reason.contains("put in its place"), "{why}");
                }
            }
        }
    }

    #[test]
    fn what_is_hashed_is_the_whole_file_and_a_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, vec![b'a'; BLOCK + 1]).unwrap();
        let file = read_of(&path).unwrap();
        let known: [u8; 32] = Sha256::digest(vec![b'a'; BLOCK + 1]).into();
        let read = file.finish("1".to_owned()).unwrap();
        assert_eq!((read.sha256, read.bytes), (known, BLOCK as u64 + 1));
        let file = read_of(&path).unwrap();
        std::fs::write(&path, b"other").unwrap();
        let error = file.finish("1".to_owned()).unwrap_err();
        assert!(error.reason.contains("while it was read"), "{error}");
        // Nor does it help to set the time back.
        let file = read_of(&path).unwrap();
        let before = file.before.modified().unwrap();
        std::fs::write(&path, b"OTHER").unwrap();
        let again = File::options().write(true).open(&path).unwrap();
        again.set_modified(before).unwrap();
        assert!(file.finish("1".to_owned()).is_err());
        let file = read_of(&path).unwrap();
        std::fs::write(&path, b"other").unwrap();
        let error = file.finish("1".to_owned()).unwrap_err();
        let was: [u8; 32] = Sha256::digest(b"OTHER").into();
        assert_eq!(error.file.unwrap().sha256, was);
        assert_ne!(known, was);
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let error = read_of(folder.path()).err().unwrap();
        assert!(
            error.remedy.contains("the ZIP as it was downloaded"),
            "{error}"
        );
        let lists = ["conversations-000.json", "conversations-001.json"];
        for (list, said) in lists
            .into_iter()
            .zip([": The list in it: ", "one of the 2 lists"])
        {
            std::fs::write(folder.path().join(list), b"[]").unwrap();
            let remedy = read_of(folder.path()).err().unwrap().remedy;
            assert!(
                format!(": {remedy}").contains(said) && remedy.contains(lists[0]),
                "{remedy}"
            );
        }
        // A pipe has a name, and no path.
        let (read, _write) = std::io::pipe().unwrap();
        let pipe = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&read));
        for (name, said) in [(pipe.as_str(), "it is a pipe"), ("-", "through a pipe")] {
            let error = read_of(Path::new(name)).err().unwrap().to_string();
            assert!(error.contains(said), "{error}");
        }
        let error = read_of(&folder.path().join("none")).err().unwrap();
        assert!(error.reason.contains("there is no such file"), "{error}");
    }
}
