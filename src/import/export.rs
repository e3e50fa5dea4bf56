//! The export of a service: lists of JSON, in a ZIP or as a file.
//!
//! Names in a ZIP are looked at by their last part, and are never paths: nothing is unpacked onto
//! the disk.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::rc::Rc;

use serde_json::Value;
use zip::read::{ArchiveOffset, Config};
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;
use zip::{CompressionMethod, ZipArchive};

use super::draft::PieceFeed;
use super::elements::{ElementScanner, ScanFault, ScannedElement};
use super::fault::ImportFault;
use super::file::{ForeignFile, ForeignReader};
use super::json::{MAX_PIECE, parse};
use super::{SourceError, SourcePiece};
use crate::record::unseen::spelled_on_a_line;

/// Most bytes of all that is inflated: 16 GiB.
const MAX_INFLATED: u64 = 16 << 30;
/// How often its compressed size a file of a ZIP may have.
const MAX_RATIO: u64 = 1000;
/// Most bytes of what a ZIP says of its files: room for some hundred thousand pictures.
const MAX_DIRECTORY: u64 = 8 << 20;
/// Room of so many bytes is kept from one element of a list to the next.
const KEPT: usize = 1 << 20;
/// How a ZIP begins.
const ZIP: &[u8] = b"PK";
/// How the last part of a ZIP begins, and how many bytes that has where nothing is said of the ZIP.
const ZIP_END: &[u8] = b"PK\x05\x06";
const ZIP_END_BYTES: u64 = 22;
/// The list of conversations, where there is one alone.
const CONVERSATIONS: &str = "conversations.json";
/// What names projects.
const PROJECTS: &str = "projects.json";
/// So many characters of the beginning and of the end of a name in a ZIP are shown, where it has more.
const SHOWN: usize = 60;
/// What people do about a file that no service exported.
const EXPORTED: &str = "Name the file that the service exported: its ZIP, or conversations.json in it \
                        (gently import --help names the formats)";
/// What people do about a file that is not whole.
const AGAIN: &str = "Download the export again, and import that file: what is on record already is \
                     not recorded twice";

/// Why a list can't be read to its end, and what people do about it.
struct ListFault {
    reason: String,
    remedy: &'static str,
}

impl ListFault {
    /// It is not whole.
    fn torn(reason: String) -> ListFault {
        ListFault {
            reason,
            remedy: AGAIN,
        }
    }

    /// It is none that a service exported.
    fn foreign(reason: String) -> ListFault {
        ListFault {
            reason,
            remedy: EXPORTED,
        }
    }
}

/// What takes an element of a list: where it stands, and what it is.
pub(super) type TakeElement<'a> =
    &'a mut dyn FnMut(&str, Result<Value, ImportFault>, &mut PieceFeed<'_>);

/// A list of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExportedList {
    /// Conversations.
    Conversations,
    /// Projects.
    Projects,
}

/// A file of a ZIP that is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ListEntry {
    /// The number in its name; projects stand first.
    order: (bool, Option<u64>),
    index: usize,
    /// Its name in the ZIP, for people.
    name: String,
}

/// A name in a ZIP: its folder, with what ends that, and its last part.
fn split(name: &str) -> (&str, &str) {
    let end = name.rfind(['/', '\\']).map_or(0, |at| at + 1);
    name.split_at(end)
}

/// The digits of a numbered list of conversations.
fn digits(last: &str) -> Option<&str> {
    let digits = last.strip_prefix("conversations-")?.strip_suffix(".json")?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(digits)
}

/// Whether a file of this name is a list of conversations.
pub(super) fn is_list(name: &str) -> bool {
    name == CONVERSATIONS || digits(name).is_some()
}

/// A name in a ZIP for people: on one line, and of a long one the beginning and the end; and whether that is all.
fn shown(name: &str) -> (String, bool) {
    let spelled = spelled_on_a_line(name);
    let most = 2 * SHOWN;
    let count = spelled.chars().count();
    if count <= most {
        return (spelled, true);
    }
    let begin: String = spelled.chars().take(SHOWN).collect();
    let end: String = spelled.chars().skip(count - SHOWN).collect();
    (format!("{begin}…{end}"), false)
}

/// The lists of conversations in one folder of a ZIP.
#[derive(Default)]
struct FolderLists {
    /// Whether there is one without a number.
    has_plain: bool,
    numbers: BTreeSet<u64>,
    /// How many digits the shortest number has.
    width: usize,
}

impl FolderLists {
    /// Notes a list by the last part of its name.
    fn note(&mut self, last: &str) {
        self.has_plain |= last == CONVERSATIONS;
        let digits = digits(last).unwrap_or_default();
        // One that is too large to count has none before it that could be named.
        if let Ok(number) = digits.parse() {
            self.numbers.insert(number);
            self.width = match self.width {
                0 => digits.len(),
                width => width.min(digits.len()),
            };
        }
    }

    /// The lists that should be there by the numbers of others: ChatGPT counts from 0, and one without a number is
    /// the first where it stands beside others. Several on end are told as one, by their first and last.
    fn missing(&self, folder: &str) -> Vec<String> {
        let width = self.width;
        let name = |number: u64| shown(&format!("{folder}conversations-{number:0width$}.json")).0;
        let mut next = u64::from(self.has_plain);
        let mut missing = Vec::new();
        for number in &self.numbers {
            match number.checked_sub(next) {
                None | Some(0) => {}
                Some(1) => missing.push(name(next)),
                Some(_) => missing.push(format!("{} to {}", name(next), name(number - 1))),
            }
            next = number.saturating_add(1);
        }
        missing
    }
}

/// The lists that should be in a ZIP by the numbers of those that are.
fn missing_lists<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut folders: BTreeMap<&str, FolderLists> = BTreeMap::new();
    for name in names {
        let (folder, last) = split(name);
        if last == CONVERSATIONS || digits(last).is_some() {
            folders.entry(folder).or_default().note(last);
        }
    }
    let each = folders.iter();
    each.flat_map(|(folder, lists)| lists.missing(folder))
        .collect()
}

impl ListEntry {
    /// The entry of a name, if it is one that is read.
    fn of(name: &str, index: usize) -> Option<ListEntry> {
        let (_, last) = split(name);
        // One that is too large to count is the last; it is read like all others.
        let number = digits(last).map(|digits| digits.parse().unwrap_or(u64::MAX));
        let order = match last {
            PROJECTS => (false, None),
            CONVERSATIONS => (true, None),
            _ => (true, Some(number?)),
        };
        let (mut name, is_whole) = shown(name);
        if !is_whole {
            // Two that are long may be shown alike.
            name.push_str(&format!(" (file {} of the ZIP)", index + 1));
        }
        Some(ListEntry { order, index, name })
    }

    fn list(&self) -> ExportedList {
        match self.order.0 {
            false => ExportedList::Projects,
            true => ExportedList::Conversations,
        }
    }
}

/// Reads all lists of an export: projects first, then conversations in the order of their numbers.
/// What the layout is called comes back.
///
/// # Errors
///
/// The first list that can't be read to its end, when all others were read.
pub(super) fn read(
    file: &ForeignFile,
    feed: &mut PieceFeed<'_>,
    mut take: impl FnMut(ExportedList, &str, Result<Value, ImportFault>, &mut PieceFeed<'_>),
) -> Result<String, SourceError> {
    let mut reader = file.reader()?;
    let is_zip = match reader.fill_buf() {
        Ok(block) => block.starts_with(ZIP),
        Err(error) => return Err(file.unread(&error)),
    };
    if !is_zip {
        let name = file.name();
        let mut one = |place: &str, element, feed: &mut PieceFeed<'_>| {
            take(ExportedList::Conversations, place, element, feed);
        };
        let read = elements(reader, name, "conversation", feed, &mut one);
        return match read {
            Ok(()) => Ok(CONVERSATIONS.to_owned()),
            Err(_) if ends_as_zip(file) => Err(file.error(
                "something stands in it before the ZIP that it is",
                "Download the export again; what it was put into may be a mail or another file, which it is to be \
                 taken out of",
            )),
            Err(fault) => Err(file.error(fault.reason, fault.remedy)),
        };
    }
    drop(reader);
    let mut archive = OpenedZip::open(file)?;
    let entries = archive.entries(file)?;
    let missing = archive.missing();
    if !missing.is_empty() {
        feed.piece(SourcePiece::Missing(missing));
    }
    let is_numbered = entries.iter().any(|entry| entry.order.1.is_some());
    let mut first_fault = None;
    // Files of a ZIP may lie over one another: all of it is held against all of it, too.
    let mut left = MAX_INFLATED.min(file.bytes().saturating_mul(MAX_RATIO));
    for entry in &entries {
        if feed.is_over() {
            break;
        }
        let list = entry.list();
        let mut one = |place: &str, element, feed: &mut PieceFeed<'_>| {
            take(list, place, element, feed);
        };
        if let Err(fault) = archive.entry(file, entry, &mut left, feed, &mut one) {
            let reason = format!("{} in it: {}", entry.name, fault.reason);
            first_fault.get_or_insert(file.error(reason, fault.remedy));
        }
    }
    let layout = match is_numbered {
        true => "conversations-NNN.json",
        false => CONVERSATIONS,
    };
    first_fault.map_or_else(|| Ok(layout.to_owned()), Err)
}

/// Hands on each element of a list; why it can't be read to its end.
fn elements(
    reader: impl BufRead,
    name: &str,
    what: &str,
    feed: &mut PieceFeed<'_>,
    take: TakeElement<'_>,
) -> Result<(), ListFault> {
    let mut scanner = ElementScanner::new(reader);
    let mut element = Vec::new();
    let mut number = 0_u64;
    while !feed.is_over() {
        number += 1;
        let read = match scanner.next(MAX_PIECE, &mut element) {
            Ok(ScannedElement::End) => return Ok(()),
            Ok(ScannedElement::Whole) => {
                let read = parse(&element);
                // A large one is not held beside what was read of it.
                if element.capacity() > KEPT {
                    element = Vec::new();
                }
                read
            }
            Ok(ScannedElement::TooLarge(bytes)) => Err(ImportFault::new(
                "too_large",
                format!("it has {bytes} bytes; {MAX_PIECE} are read"),
            )),
            Err(fault) => {
                let before = number - 1;
                return Err(match fault {
                    ScanFault::Unread(error) => {
                        let reason = format!("{what} {number} of it can't be read: {error}");
                        match error.kind() {
                            io::ErrorKind::FileTooLarge => ListFault::foreign(reason),
                            _ => ListFault::torn(reason),
                        }
                    }
                    ScanFault::NoList => ListFault::foreign(format!(
                        "it is no list of JSON ({what}s in [ … ]), which is what an export has"
                    )),
                    ScanFault::Cut(at) => ListFault::torn(format!(
                        "it ends at byte {at}, in the middle of {what} {number}"
                    )),
                    ScanFault::Behind(at) => ListFault::torn(format!(
                        "something stands at byte {at}, behind the end of its list of {before} {what}s"
                    )),
                });
            }
        };
        take(&format!("{name}, {what} {number}"), read, feed);
    }
    Ok(())
}

/// Whether a file ends as a ZIP does.
fn ends_as_zip(file: &ForeignFile) -> bool {
    let end = file.reader().ok().and_then(|mut reader| {
        let from = file.bytes().checked_sub(ZIP_END_BYTES)?;
        reader.seek(SeekFrom::Start(from)).ok()?;
        let mut end = [0; ZIP_END.len()];
        reader.read_exact(&mut end).ok()?;
        Some(end)
    });
    end.is_some_and(|end| end == ZIP_END)
}

/// A reader that gives no more than it is told: a ZIP says itself how long its list of files is.
struct MeteredReader {
    inner: BufReader<ForeignReader>,
    left: Rc<Cell<u64>>,
}

impl MeteredReader {
    /// A reader of what a ZIP says of its files, and what it may still give.
    fn of_directory(file: &ForeignFile) -> Result<(MeteredReader, Rc<Cell<u64>>), SourceError> {
        let left = Rc::new(Cell::new(MAX_DIRECTORY));
        let metered = MeteredReader {
            inner: file.reader()?,
            left: Rc::clone(&left),
        };
        Ok((metered, left))
    }
}

/// A ZIP is all of its file, from its first byte.
fn whole_file() -> Config {
    Config {
        archive_offset: ArchiveOffset::Known(0),
    }
}

impl Read for MeteredReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        if left == 0 && !out.is_empty() {
            let words = format!("what it says of its files takes more than {MAX_DIRECTORY} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
        }
        let most = out.len().min(left);
        let read = self.inner.read(&mut out[..most])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

impl Seek for MeteredReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// A reader of an inflated file that ends with an error where it is larger than it may be.
struct BoundedReader<'a, R> {
    inner: R,
    most: u64,
    /// What all files together may still have.
    left: &'a mut u64,
    seen: u64,
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.seen += read as u64;
        *self.left = self.left.saturating_sub(read as u64);
        if self.seen > self.most || *self.left == 0 {
            let words = too_much(self.seen);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
        }
        Ok(read)
    }
}

fn too_much(bytes: u64) -> String {
    format!(
        "it unpacks to {bytes} bytes or more, which is over {MAX_RATIO} times its size in the ZIP, or with what was before \
         it over {MAX_RATIO} times that of the ZIP or over 16 GiB; that is no export"
    )
}

/// A ZIP whose list of files was read.
struct OpenedZip(ZipArchive<MeteredReader>);

impl OpenedZip {
    fn open(file: &ForeignFile) -> Result<OpenedZip, SourceError> {
        let torn = |error: ZipError| file.error(format!("it is no whole ZIP: {error}"), AGAIN);
        let (metered, left) = MeteredReader::of_directory(file)?;
        let archive = ZipArchive::with_config(whole_file(), metered).map_err(torn)?;
        if archive.has_duplicate_names()
            && let Some(name) = Self::name_of_two_lists(file)?
        {
            return Err(file.error(
                format!("two of its files are called {name:?}, and it says of neither that it is the one that counts"),
                "Unpack both, and import one after the other; or download the export again",
            ));
        }
        left.set(u64::MAX);
        Ok(OpenedZip(archive))
    }

    /// The name of a list that two files of a ZIP have; an archive by names holds one of them alone.
    fn name_of_two_lists(file: &ForeignFile) -> Result<Option<String>, SourceError> {
        let torn = |error: ZipError| file.error(format!("it is no whole ZIP: {error}"), AGAIN);
        let (metered, _) = MeteredReader::of_directory(file)?;
        let mut all = ZipIterable::try_new(metered, whole_file()).map_err(torn)?;
        let mut seen = HashSet::new();
        for entry in all.files().map_err(torn)? {
            let entry = entry.map_err(torn)?;
            let Ok(name) = entry.name() else { continue };
            if ListEntry::of(&name, 0).is_some() && !seen.insert(name.to_string()) {
                return Ok(Some(name.to_string()));
            }
        }
        Ok(None)
    }

    /// Its files by their numbers, with their names.
    fn names(&self) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
        let named = |index| Some((index, self.0.name_for_index(index)?.ok()?));
        (0..self.0.len()).filter_map(named)
    }

    /// The lists that should be in it by the numbers of those that are.
    fn missing(&self) -> Vec<String> {
        let names: Vec<_> = self.names().map(|(_, name)| name).collect();
        missing_lists(names.iter().map(|name| &**name))
    }

    /// The files that are read, in their order.
    fn entries(&self, file: &ForeignFile) -> Result<Vec<ListEntry>, SourceError> {
        let mut entries: Vec<ListEntry> = self
            .names()
            .filter_map(|(index, name)| ListEntry::of(&name, index))
            .collect();
        entries.sort();
        if entries
            .iter()
            .any(|entry| entry.list() == ExportedList::Conversations)
        {
            return Ok(entries);
        }
        let inner = self
            .names()
            .find(|(_, name)| name.to_ascii_lowercase().ends_with(".zip"));
        Err(match inner {
            Some((_, name)) => file.error(
                format!("it has no {CONVERSATIONS}, but a ZIP in the ZIP ({name:?}), which is not opened"),
                "Unpack it once, and import the ZIP that was in it",
            ),
            None => file.error(
                format!(
                    "it is a ZIP in which no file is called {CONVERSATIONS} or conversations-NNN.json (there are {} in it)",
                    self.0.len()
                ),
                "Import the ZIP of the export as it was downloaded",
            ),
        })
    }

    /// Reads the list in one of its files.
    fn entry(
        &mut self,
        file: &ForeignFile,
        entry: &ListEntry,
        left: &mut u64,
        feed: &mut PieceFeed<'_>,
        take: TakeElement<'_>,
    ) -> Result<(), ListFault> {
        let raw = self.0.by_index_raw(entry.index);
        let raw = raw.map_err(|error| ListFault::torn(format!("it can't be read: {error}")))?;
        if raw.encrypted() {
            return Err(ListFault {
                reason: "it is under a password".to_owned(),
                remedy: "Unpack it with that, and import what is in it",
            });
        }
        // What the ZIP says of itself is held against the file.
        let packed = raw.compressed_size();
        if packed > file.bytes() {
            return Err(ListFault::torn(format!(
                "the ZIP says that it takes {packed} bytes, more than there are"
            )));
        }
        let method = raw.compression();
        if !matches!(
            method,
            CompressionMethod::Stored | CompressionMethod::Deflated
        ) {
            return Err(ListFault {
                reason: format!("it is packed in a way that is not read ({method})"),
                remedy: "Unpack the ZIP, and import what was in it",
            });
        }
        let most = packed.saturating_mul(MAX_RATIO);
        if raw.size() > most || raw.size() > *left {
            return Err(ListFault::foreign(too_much(raw.size())));
        }
        drop(raw);
        let inflated = self.0.by_index(entry.index);
        let inner =
            inflated.map_err(|error| ListFault::torn(format!("it can't be unpacked: {error}")))?;
        let bounded = BoundedReader {
            inner,
            most,
            left,
            seen: 0,
        };
        let what = match entry.list() {
            ExportedList::Conversations => "conversation",
            ExportedList::Projects => "project",
        };
        let mut reader = BufReader::with_capacity(1 << 16, bounded);
        if reader.fill_buf().is_ok_and(|block| block.starts_with(ZIP)) {
            return Err(ListFault {
                reason: "it is a ZIP in the ZIP, which is not opened".to_owned(),
                remedy: "Unpack it once, and import what is in it",
            });
        }
        elements(reader, &entry.name, what, feed, take)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::import::SourcePiece;
    use crate::import::tests::{ReadPieces, conversations, read_bytes, refusals};
    use crate::record::ledger::imported::ImportFormat::{ChatGpt, Claude};

    /// A ZIP of files.
    pub(in crate::import) fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for (name, bytes) in files {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn one(id: &str) -> String {
        format!(r#"{{"uuid":"{id}","chat_messages":[{{"uuid":"1","sender":"human","text":"a"}}]}}"#)
    }

    fn list(ids: &[&str]) -> Vec<u8> {
        let all: Vec<String> = ids.iter().map(|id| one(id)).collect();
        format!("[{}]", all.join(",")).into_bytes()
    }

    fn ids(read: &ReadPieces) -> Vec<&str> {
        let all = conversations(&read.pieces).into_iter();
        all.map(|one| one.source_id.as_str()).collect()
    }

    /// A ZIP whose directory names one packed file `times` times, as numbered lists.
    fn overlapping(packed: &[u8], times: usize) -> Vec<u8> {
        const END: usize = 22;
        let (name, mut zip) = (
            "conversations-000.json",
            zipped(&[("conversations-000.json", packed)]),
        );
        let end = zip.split_off(zip.len() - END);
        let number = |at: usize| u32::from_le_bytes(end[at..at + 4].try_into().unwrap()) as usize;
        let record = zip.split_off(number(16));
        let at = record
            .windows(name.len())
            .position(|part| part == name.as_bytes())
            .unwrap();
        for n in 0..times {
            let mut one = record.clone();
            one[at + 14..at + 17].copy_from_slice(format!("{n:03}").as_bytes());
            zip.extend(one);
        }
        let mut end = end.clone();
        let count = u16::try_from(times).unwrap().to_le_bytes();
        end[8..10].copy_from_slice(&count);
        end[10..12].copy_from_slice(&count);
        let size = u32::try_from(record.len() * times).unwrap();
        end[12..16].copy_from_slice(&size.to_le_bytes());
        [zip, end].concat()
    }

    #[test]
    fn files_that_lie_over_one_another_are_no_way_around_the_limit() {
        // Less alike than blanks alone, each of which is over its own limit.
        let blanks = (0..5_000).map(|n| " ".repeat(100 + n * 7_919 % 50) + "\n");
        let blanks = format!("[{}]", blanks.collect::<String>());
        let read = read_bytes(ChatGpt, &overlapping(blanks.as_bytes(), 2));
        read.end.unwrap();
        let zip = overlapping(blanks.as_bytes(), 500);
        let all = blanks.len() * 500;
        assert!(all > 2 * 1000 * zip.len(), "{} {}", all, zip.len());
        let why = read_bytes(ChatGpt, &zip).end.unwrap_err().to_string();
        assert!(why.contains("over 1000 times that of the ZIP"), "{why}");
    }

    /// A ZIP in which the name of its second file is that of its first, whose last letter is another.
    fn with_one_name(names: [&str; 2]) -> Vec<u8> {
        let mut zip = zipped(&[(names[0], &list(&["a"])), (names[1], &list(&["b"]))]);
        let other = names[1].as_bytes();
        for at in 0..zip.len() - other.len() {
            if zip[at..].starts_with(other) {
                zip[at..at + other.len()].copy_from_slice(names[0].as_bytes());
            }
        }
        zip
    }

    #[test]
    fn of_two_lists_with_one_name_none_is_lost() {
        let zip = with_one_name(["conversations.json", "conversations.jsom"]);
        let read = read_bytes(Claude, &zip);
        assert!(read.pieces.is_empty());
        let why = why(read);
        assert!(why.contains("two of its files are called"), "{why}");
        // Pictures may be called alike: nothing is read of them.
        let mut files = vec![("conversations.json", list(&["a"]))];
        files.extend([("a.png", vec![0]), ("b.png", vec![1])]);
        let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, &b[..])).collect();
        let mut zip = zipped(&files);
        for at in 0..zip.len() - 5 {
            if zip[at..].starts_with(b"b.png") {
                zip[at] = b'a';
            }
        }
        let read = read_bytes(Claude, &zip);
        assert_eq!(ids(&read), ["a"]);
        read.end.unwrap();
    }

    #[test]
    fn a_zip_that_is_packed_otherwise_or_stands_in_another_file_says_so() {
        let zip = zipped(&[("conversations.json", &list(&["a"]))]);
        let mut behind = b"From: somebody\n\n".to_vec();
        behind.extend_from_slice(&zip);
        let words = why(read_bytes(Claude, &behind));
        assert!(
            words.contains("something stands in it before the ZIP"),
            "{words}"
        );
        // The method stands in both of its headers: 12 is that of bzip2, 14 that of LZMA.
        for method in [12, 14] {
            let mut zip = zip.clone();
            for (begin, at) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
                let header = zip.windows(4).position(|four| four == begin).unwrap();
                zip[header + at] = method;
            }
            let words = why(read_bytes(Claude, &zip));
            assert!(
                words.contains("packed in a way that is not read"),
                "{words}"
            );
            assert!(words.contains("Unpack the ZIP"), "{words}");
        }
    }

    fn why(read: ReadPieces) -> String {
        read.end.unwrap_err().to_string()
    }

    #[test]
    fn a_zip_is_read_by_last_names_in_the_order_of_numbers() {
        let zip = zipped(&[
            ("conversations-99999999999999999999.json", &list(&["d"])),
            ("a/conversations-010.json", &list(&["c"])),
            ("../../conversations-002.json", &list(&["b"])),
            ("/etc/conversations.json", &list(&["a"])),
            ("conversations-x.json", b"no"),
            ("__MACOSX/._conversations.json", b"no"),
            ("my conversations.json", b"no"),
            ("conversations.json/picture.png", b"no"),
        ]);
        let read = read_bytes(Claude, &zip);
        assert_eq!(ids(&read), ["a", "b", "c", "d"]);
        let file = read.end.unwrap();
        assert_eq!(file.version, "conversations-NNN.json");
        assert_eq!(file.bytes, zip.len() as u64);
        let read = read_bytes(Claude, &zipped(&[("conversations.json", &list(&["a"]))]));
        assert_eq!(read.end.unwrap().version, "conversations.json");
    }

    /// The lists that are told to be missing in a ZIP of lists with these names.
    fn missing(names: &[&str]) -> Vec<String> {
        let lists: Vec<(String, Vec<u8>)> = names
            .iter()
            .enumerate()
            .map(|(n, name)| ((*name).to_owned(), list(&[&n.to_string()])))
            .collect();
        let files: Vec<(&str, &[u8])> = lists.iter().map(|(n, b)| (n.as_str(), &b[..])).collect();
        let read = read_bytes(Claude, &zipped(&files));
        read.end.unwrap();
        let told = read.pieces.iter().filter_map(|piece| match piece {
            SourcePiece::Missing(lists) => Some(lists.clone()),
            _ => None,
        });
        told.flatten().collect()
    }

    #[test]
    fn a_gap_in_the_numbers_of_lists_is_told() {
        for (names, expected) in [
            (
                &["conversations-000.json", "conversations-001.json"][..],
                &[][..],
            ),
            (
                &["conversations-000.json", "conversations-002.json"],
                &["conversations-001.json"],
            ),
            (&["conversations-001.json"], &["conversations-000.json"]),
            (
                &[
                    "conversations-003.json",
                    "conversations-004.json",
                    "conversations-010.json",
                ],
                &[
                    "conversations-000.json to conversations-002.json",
                    "conversations-005.json to conversations-009.json",
                ],
            ),
            (
                &["conversations-999.json", "conversations-1001.json"],
                &[
                    "conversations-000.json to conversations-998.json",
                    "conversations-1000.json",
                ],
            ),
            // One without a number is the first.
            (
                &[
                    "conversations.json",
                    "conversations-1.json",
                    "conversations-2.json",
                ],
                &[],
            ),
            (
                &["conversations.json", "conversations-2.json"],
                &["conversations-1.json"],
            ),
            (&["conversations.json"], &[]),
            // Each folder is a set of its own.
            (
                &[
                    "a/conversations-000.json",
                    "a/conversations-001.json",
                    "b\\conversations-001.json",
                ],
                &["b\\conversations-000.json"],
            ),
            (
                &[
                    "conversations-0.json",
                    "conversations-99999999999999999999.json",
                ],
                &[],
            ),
            (
                &[
                    "conversations-0.json",
                    "conversations-18446744073709551615.json",
                ],
                &["conversations-1.json to conversations-18446744073709551614.json"],
            ),
            (
                &["\u{1b}[2J\n/conversations-1.json"],
                &["\\u001b[2J\\n/conversations-0.json"],
            ),
        ] {
            assert_eq!(missing(names), expected, "{names:?}");
        }
    }

    #[test]
    fn lists_with_one_name_in_several_folders_are_told_apart() {
        let broken = b"[1]";
        let (one, other) = (
            format!("{}a/", "x".repeat(300)),
            format!("{}b/", "x".repeat(300)),
        );
        let (one, other) = (one.repeat(2), other.repeat(2));
        let names: Vec<String> = ["", "a/", "../a/", "\u{1b}[2J\u{202e}/", &one, &other]
            .iter()
            .map(|folder| format!("{folder}conversations.json"))
            .collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &broken[..])).collect();
        let read = read_bytes(ChatGpt, &zipped(&files));
        let places: Vec<&str> = refusals(&read.pieces)
            .iter()
            .map(|(_, place)| *place)
            .collect();
        let (shown, long) = places.split_at(4);
        let expected = [
            "conversations.json, conversation 1",
            "a/conversations.json, conversation 1",
            "../a/conversations.json, conversation 1",
            "\\u001b[2J\\u202e/conversations.json, conversation 1",
        ];
        assert_eq!(shown, expected);
        for (place, file) in long.iter().zip([5, 6]) {
            let end = format!("/conversations.json (file {file} of the ZIP), conversation 1");
            assert!(place.ends_with(&end), "{place}");
            assert!(place.chars().count() <= 200, "{place}");
        }
        let torn = zipped(&[
            ("conversations.json", b"[]"),
            ("b/conversations.json", b"["),
        ]);
        let why = why(read_bytes(ChatGpt, &torn));
        assert!(
            why.contains("b/conversations.json in it: it ends at byte 1"),
            "{why}"
        );
    }

    #[test]
    fn a_broken_list_costs_its_rest_alone() {
        let mut cut = list(&["a", "b", "c"]);
        cut.truncate(cut.len() - 10);
        let at = cut.len();
        let read = read_bytes(
            Claude,
            &zipped(&[
                ("conversations-1.json", &cut),
                ("conversations-2.json", &list(&["d"])),
            ]),
        );
        assert_eq!(ids(&read), ["a", "b", "d"]);
        let error = read.end.unwrap_err();
        let expected = format!(
            "conversations-1.json in it: it ends at byte {at}, in the middle of conversation 3"
        );
        assert_eq!(error.reason, expected);
        assert!(error.file.is_some());

        let read = read_bytes(Claude, &cut);
        assert_eq!(ids(&read), ["a", "b"]);
        assert!(why(read).contains("in the middle of conversation 3"));
    }

    #[test]
    fn a_broken_element_costs_itself_alone() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let large = format!("\"{}\"", "a".repeat(MAX_PIECE));
        for (element, reason) in [
            ("{\"uuid\":1}", "shape"),
            ("", "not_json"),
            ("{\"uuid\":\"x\",\"uuid\":\"y\"}", "duplicate_key"),
            ("{\"uuid\":\"\\ud800\"}", "not_text"),
            ("{\"uuid\":\"\\u0000\",\"chat_messages\":[]}", "not_text"),
            ("{\"uuid\":\"\0\"}", "not_json"),
            ("{\"uuid\":\"x\"}", "shape"),
            (one("a").as_str(), "repeats"),
            (deep.as_str(), "too_deep"),
            (large.as_str(), "too_large"),
        ] {
            let text = format!("[{},{element},{}]", one("a"), one("b"));
            let read = read_bytes(Claude, text.as_bytes());
            assert_eq!(ids(&read), ["a", "b"]);
            let place = "conversations.json, conversation 2";
            assert_eq!(refusals(&read.pieces), [(reason, place)]);
            read.end.unwrap();
        }
    }

    #[test]
    fn what_is_no_export_says_what_it_is() {
        for (bytes, words) in [
            (b"{}".to_vec(), "it is no list of JSON"),
            (Vec::new(), "it is no list of JSON"),
            (
                b"[] x".to_vec(),
                "behind the end of its list of 0 conversations",
            ),
            (b"PK\x03\x04 and no more".to_vec(), "it is no whole ZIP"),
            (
                zipped(&[("chat.html", b"")]),
                "no file is called conversations.json or conversations-NNN.json (there are 1 in it)",
            ),
            (
                zipped(&[("projects.json", b"[]")]),
                "no file is called conversations.json",
            ),
            (
                zipped(&[("in.ZIP", &zipped(&[("conversations.json", b"[]")]))]),
                "a ZIP in the ZIP (\"in.ZIP\"), which is not opened",
            ),
            (
                zipped(&[(
                    "conversations.json",
                    &zipped(&[("conversations.json", b"[]")]),
                )]),
                "conversations.json in it: it is a ZIP in the ZIP",
            ),
        ] {
            let read = read_bytes(ChatGpt, &bytes);
            assert!(read.pieces.is_empty());
            let why = why(read);
            assert!(why.contains(words), "{why}");
        }
        let mut torn = zipped(&[("conversations.json", &list(&["a", "b"]))]);
        torn.truncate(torn.len() - 30);
        assert!(why(read_bytes(Claude, &torn)).contains("it is no whole ZIP"));
    }

    #[test]
    fn a_password_is_asked_of_nobody() {
        let mut zip = zipped(&[("conversations.json", &list(&["a"]))]);
        // The flag of a password, in the local header and in the list of files.
        let central = zip.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        zip[6] |= 1;
        zip[central + 8] |= 1;
        let why = why(read_bytes(Claude, &zip));
        assert!(why.contains("under a password"), "{why}");
    }

    #[test]
    fn what_unpacks_to_a_thousand_times_its_size_is_refused() {
        let mut bomb = vec![b' '; 40 << 20];
        bomb[0] = b'[';
        bomb.push(b']');
        let why = why(read_bytes(
            Claude,
            &zipped(&[("conversations.json", &bomb)]),
        ));
        assert!(why.contains("over 1000 times its size"), "{why}");
        let plain = vec![b' '; 1 << 20];
        let mut left = 2 << 20;
        let mut bounded = |most| {
            let inner = &plain[..];
            let left = &mut left;
            io::copy(
                &mut BoundedReader {
                    inner,
                    most,
                    left,
                    seen: 0,
                },
                &mut io::sink(),
            )
        };
        // What a ZIP says of its sizes need not be so.
        assert_eq!(bounded(1 << 20).unwrap(), 1 << 20);
        assert!(bounded((1 << 20) - 1).is_err());
        assert!(
            bounded(1 << 20).is_err(),
            "all of them have a limit together"
        );
    }

    #[test]
    fn a_list_of_files_has_a_limit() {
        let name = |n: usize| format!("{n:0>60000}");
        let names: Vec<String> = (0..140).map(name).collect();
        let mut files: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &b""[..])).collect();
        files.push(("conversations.json", b"[]"));
        let why = why(read_bytes(Claude, &zipped(&files)));
        assert!(why.contains("takes more than 8388608 bytes"), "{why}");
        let few = zipped(&files[100..]);
        assert!(read_bytes(Claude, &few).end.is_ok());
    }

    #[test]
    fn projects_name_the_conversations_of_them() {
        let conversations = format!(
            r#"[{},{{"uuid":"b","project_uuid":"p","chat_messages":[]}},{{"uuid":"c","project":{{"name":"Q"}},"chat_messages":[]}}]"#,
            one("a")
        );
        let read = read_bytes(
            Claude,
            &zipped(&[
                ("conversations.json", conversations.as_bytes()),
                (
                    "x/projects.json",
                    br#"[{"uuid":"p","name":"P"},{"uuid":"q"}]"#,
                ),
            ]),
        );
        let projects: Vec<_> = read
            .pieces
            .iter()
            .map(|piece| match piece {
                SourcePiece::Conversation(one) => one.project.as_deref(),
                SourcePiece::Refused(refused) => Some(refused.place.as_str()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            projects,
            [
                Some("x/projects.json, project 2"),
                None,
                Some("P"),
                Some("Q")
            ]
        );
    }
}
