//! Files that are asked about: each stands behind the question, under a line that says what it is.
//!
//! ```text
//! --- notes.txt (1,234 bytes, sha256 9f86d081…) ---
//! ```
//! The hash is of the file's bytes; secrets are taken out of its text afterwards, with those of the
//! question. A file is read whole or not at all, and what is not text is refused by name.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::Path;

use crate::os;
use crate::record::hash::Hash32;
use crate::record::unseen::spelled_on_a_line;

/// No file is read that is larger; the kernel's own limit, for question and files together, is
/// below.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Some images begin with their kind some bytes behind the start.
const WEBP_AT: usize = 8;
/// Where a sentence on a file ends that is no text.
const TEXT_ONLY: &str = "what is sent is UTF-8 text";

/// A file, read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its own name, without folders; what nobody sees in it is spelled out.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Of these bytes.
    pub sha256: Hash32,
    /// Its text.
    text: String,
}

impl Attachment {
    /// Reads a file.
    ///
    /// # Errors
    /// A sentence for a person, with the file's name and how to mend it.
    pub fn read(path: &Path) -> Result<Attachment, String> {
        read_while(path, &mut || ()).map_err(|why| format!("{}: {why}", shown(path)))
    }

    /// The line above its text.
    fn head(&self) -> String {
        let Attachment {
            name,
            bytes,
            sha256,
            ..
        } = self;
        format!(
            "--- {name} ({} bytes, sha256 {sha256}) ---",
            grouped(*bytes)
        )
    }
}

/// A question with the files behind it, as it is asked.
pub fn with_files(question: &str, files: &[Attachment]) -> String {
    let mut text = question.to_owned();
    for file in files {
        if !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(&file.head());
        text.push('\n');
        text.push_str(&file.text);
    }
    text
}

/// Why question and files are too much for a kernel; none when they are not.
pub fn too_long(text: &str, files: &[Attachment], most: u64) -> Option<String> {
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if files.is_empty() || length <= most {
        return None;
    }
    let named = files
        .iter()
        .map(|file| format!("{} ({} bytes)", file.name, grouped(file.bytes)));
    Some(format!(
        "question and files together have {} bytes, and the kernel's prompt.max_bytes is {}: {}; ask about less, \
         or raise it: gently kernel show > kernel.toml, edit it, gently kernel set kernel.toml",
        grouped(length),
        grouped(most),
        named.collect::<Vec<_>>().join(", ")
    ))
}

/// The same; `meanwhile` is what happens while it is read.
fn read_while(path: &Path, meanwhile: &mut dyn FnMut()) -> Result<Attachment, String> {
    if path == Path::new("-") {
        return Err(
            "standard input is added to the question by itself; a file of that name is ./-"
                .to_owned(),
        );
    }
    let found = std::fs::metadata(path).map_err(|e| unreadable(&e))?;
    if found.is_dir() {
        return Err("it is a folder; name the files in it".to_owned());
    }
    if !found.is_file() {
        return Err(format!(
            "it is {}, no file; lead it into gently ask, as in: COMMAND | gently ask \"…\"",
            os::kind_of(found.file_type())
        ));
    }
    if found.len() > MAX_FILE {
        return Err(format!(
            "it has {} bytes, and at most {} are read; ask about a part of it",
            grouped(found.len()),
            grouped(MAX_FILE)
        ));
    }
    // A link is followed: the person named it.
    let real = std::fs::canonicalize(path).map_err(|e| unreadable(&e))?;
    let file = os::open_regular(&real).map_err(|e| unreadable(&e))?;
    let bytes = unchanged(&file, meanwhile)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(Attachment {
        name: spelled_on_a_line(&name.to_string_lossy()),
        bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        sha256: Hash32::digest(&bytes),
        text: text_of(bytes)?,
    })
}

/// All bytes of a file that stays as it is while it is read.
fn unchanged(file: &File, meanwhile: &mut dyn FnMut()) -> Result<Vec<u8>, String> {
    let state = || file.metadata().map_err(|e| unreadable(&e));
    let before = state()?;
    let mut bytes = Vec::new();
    // One byte more shows that it grew.
    let mut limited = file.take(MAX_FILE + 1);
    limited
        .read_to_end(&mut bytes)
        .map_err(|e| unreadable(&e))?;
    meanwhile();
    let after = state()?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let when = |of: &Metadata| of.modified().ok();
    if before.len() == length && after.len() == length && when(&before) == when(&after) {
        return Ok(bytes);
    }
    Err(format!(
        "it changed while it was read ({} bytes before, {} read, {} after); ask again when nobody writes to it, or \
         about a copy",
        grouped(before.len()),
        grouped(length),
        grouped(after.len())
    ))
}

/// The bytes of a file as text.
fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    if let Some(kind) = image_kind(&bytes) {
        return Err(format!("it is an image ({kind}), and {TEXT_ONLY}"));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(format!(
            "it has a NUL byte at byte {at}: it is binary, or UTF-16, and {TEXT_ONLY}"
        ));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("it is not UTF-8 at byte {at}, and {TEXT_ONLY}; convert it first, for example with iconv")
    })
}

/// What image a file is, by its first bytes.
fn image_kind(bytes: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xff\xd8\xff", "jpeg"),
        (b"GIF87a", "gif"),
        (b"GIF89a", "gif"),
    ];
    let found = kinds.iter().find(|(first, _)| bytes.starts_with(first));
    let is_webp = || {
        let kind = bytes.get(WEBP_AT..).unwrap_or_default();
        bytes.starts_with(b"RIFF") && kind.starts_with(b"WEBP")
    };
    found
        .map(|(_, kind)| *kind)
        .or_else(|| is_webp().then_some("webp"))
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => {
            "it may not be read by you; mend its mode or its owner".to_owned()
        }
        _ => format!("it can't be read: {error}"),
    }
}

/// A path for a sentence, as it was typed.
fn shown(path: &Path) -> String {
    spelled_on_a_line(&path.to_string_lossy())
}

/// `1,234,567`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn a_file_stands_behind_the_question_under_its_line() {
        let (_folder, path) = folder_with("notes.txt", b"one\ntwo\n");
        let file = Attachment::read(&path).unwrap();
        let sha256 = Hash32::digest(b"one\ntwo\n");
        assert_eq!(
            with_files("What?", &[file.clone(), file]),
            format!(
                "What?\n\n--- notes.txt (8 bytes, sha256 {sha256}) ---\none\ntwo\n\n\
                 --- notes.txt (8 bytes, sha256 {sha256}) ---\none\ntwo\n"
            )
        );
        assert_eq!(with_files("What?", &[]), "What?");
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn what_changes_while_it_is_read_is_refused() {
        use std::io::Write as _;
        type Change = fn(&Path);
        let grows: Change = |path| {
            let mut file = File::options().append(true).open(path).unwrap();
            file.write_all(b"more").unwrap();
        };
        let same_length: Change = |path| {
            let file = File::options().write(true).open(path).unwrap();
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
            file.set_modified(later).unwrap();
        };
        let shrinks: Change = |path| {
            File::options()
                .write(true)
                .open(path)
                .unwrap()
                .set_len(1)
                .unwrap()
        };
        for change in [grows, same_length, shrinks] {
            let (_folder, path) = folder_with("log", b"one");
            let why = read_while(&path, &mut || change(&path)).unwrap_err();
            assert!(why.contains("changed while it was read"), "{why}");
            // Nobody writes any more.
            assert!(read_while(&path, &mut || ()).is_ok());
        }
    }

    #[test]
    fn what_is_no_text_is_named() {
        for (bytes, said) in [
            (&b"a\0b"[..], "NUL byte at byte 1"),
            (b"ab\xff", "not UTF-8 at byte 2"),
            (b"\x89PNG\r\n\x1a\n....", "an image (png)"),
            (b"\xff\xd8\xff\xe0", "an image (jpeg)"),
            (b"GIF89a..", "an image (gif)"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "an image (webp)"),
        ] {
            let (_folder, path) = folder_with("x", bytes);
            let why = Attachment::read(&path).unwrap_err();
            assert!(why.contains(said) && why.contains("/x: "), "{why}");
        }
        let (_folder, path) = folder_with("large", b"");
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let why = Attachment::read(&path).unwrap_err();
        assert!(
            why.contains("1,073,741,824 bytes") && why.contains("16,777,216"),
            "{why}"
        );
    }
}
