//! What the operating system is asked for beyond `std`: files that are files, and limits of this
//! process.
//!
//! A folder that somebody hands over may hold a pipe where a ref should be, or a symlink to another
//! file of the reader's. So whatever is read from it is opened without following a link and without
//! waiting, and is asked what it is before a byte is read.

mod leftover;

pub use leftover::{
    Leftover, LeftoverKind, LeftoverName, OwnLeftovers, dead_leftovers, is_own, is_running,
    own_name, remove_dead_leftovers, remove_own_leftovers, uninterrupted,
};

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// What a path names that is no regular file, as an error's words.
fn not_regular(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{what}, not a regular file: it is not followed"),
    )
}

/// Why a file that somebody named can't be read, for a sentence behind its name.
pub fn why_unread(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "it may not be read by you; mend its mode or its owner".to_owned()
        }
        _ => format!("it can't be read: {error}"),
    }
}

/// A path as one word of a shell: in quotes unless nothing in it means anything there.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    if !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"/._-+:@".contains(&b))
    {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// How many bytes somebody without privileges can still write on the disk that holds a path.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Elsewhere the system is not asked.
#[cfg(not(unix))]
pub fn free_bytes(_path: &Path) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails where this process may not make and remove files in a folder.
#[cfg(unix)]
pub fn may_change_folder(path: &Path) -> io::Result<()> {
    use rustix::fs::Access;
    Ok(rustix::fs::access(
        path,
        Access::WRITE_OK | Access::EXEC_OK,
    )?)
}

/// Elsewhere the system says so when it is tried.
#[cfg(not(unix))]
pub fn may_change_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether what is printed goes into a file that a person can hand on; a pipe is none.
#[cfg(unix)]
pub fn is_led_into_file() -> bool {
    use std::os::fd::AsFd as _;
    let handle = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    handle.is_ok_and(|file| file.metadata().is_ok_and(|data| data.is_file()))
}

/// Elsewhere what is no terminal is taken for one.
#[cfg(not(unix))]
pub fn is_led_into_file() -> bool {
    use std::io::IsTerminal as _;
    !io::stdout().is_terminal()
}

/// What kind of thing this is, in a word or two.
pub fn kind_of(kind: std::fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        } else if kind.is_socket() {
            return "a socket";
        } else if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    match kind {
        kind if kind.is_symlink() => "a symlink",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_file() => "a file",
        _ => "something else",
    }
}

/// Opens a regular file for reading; anything else at that path is an error that says what it is,
/// and nothing waits.
#[cfg(unix)]
pub fn open_regular(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        // What a link is answered with differs between systems, and a socket can't be opened at
        // all.
        Err(error) => {
            return Err(match std::fs::symlink_metadata(path) {
                Ok(found) if !found.is_file() => not_regular(kind_of(found.file_type())),
                _ => error.into(),
            });
        }
    };
    let found = file.metadata()?;
    if found.is_file() {
        Ok(file)
    } else {
        Err(not_regular(kind_of(found.file_type())))
    }
}

/// Opens a regular file for reading.
#[cfg(not(unix))]
pub fn open_regular(path: &Path) -> io::Result<File> {
    let found = std::fs::symlink_metadata(path)?;
    if found.is_file() {
        File::open(path)
    } else {
        Err(not_regular(kind_of(found.file_type())))
    }
}

/// Opens a file of mode 0600 as it is, and makes an empty one where there is none; no link is
/// followed, nothing is cut.
///
/// For locks: whoever put a link there would have it lock, make or empty a file of his choice.
pub fn open_private(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    let opened = {
        use rustix::fs::{Mode, OFlags, open};
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        open(path, flags, Mode::RUSR | Mode::WUSR).map(File::from)
    };
    #[cfg(not(unix))]
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    match (opened, std::fs::symlink_metadata(path)) {
        (_, Ok(found)) if !found.is_file() => Err(not_regular(kind_of(found.file_type()))),
        (opened, _) => Ok(opened?),
    }
}

/// [`read_regular_text`] of a file of the person's own, which may stand behind a link.
pub fn read_own_text(path: &Path, most: u64) -> io::Result<String> {
    read_regular_text(&path.canonicalize()?, most)
}

/// Reads a regular file that has at most so many bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    // One byte more shows that there are more, also of a file that grows meanwhile.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        return Ok(bytes);
    }
    Err(io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("more than {most} bytes"),
    ))
}

/// [`read_regular`], as text.
pub fn read_regular_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, most)?)
        .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
}

/// Which start of the system this is, as the kernel names it: 36 characters on Linux. None elsewhere.
///
/// What was written since it began is still there for whoever reads, synced or not, however many
/// processes died; across two of them only what was synced is.
pub fn boot_id() -> Option<&'static str> {
    static BOOT: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let read = || {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let id = text.trim();
        (id.len() == 36).then(|| id.to_owned())
    };
    BOOT.get_or_init(read).as_deref()
}

/// Writes a new file, or replaces a regular one, under its name: nothing is written through a link,
/// and whoever reads meanwhile sees the old file or the new one. With `mode`, as permissions.
pub fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    replace(path, bytes, mode, std::fs::File::sync_all)
}

/// [`replace_file`] without waiting for the disk: after a power failure the file may be the old
/// one, or empty. For what can be found out again.
pub fn replace_hint(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    replace(path, bytes, mode, |_| Ok(()))
}

fn replace(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    sync: fn(&std::fs::File) -> io::Result<()>,
) -> io::Result<()> {
    use std::io::Write as _;
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => return Err(not_regular(kind_of(found.file_type()))),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let beside = beside(path);
    let written = new_file(&beside, mode).and_then(|mut file| {
        file.write_all(bytes)?;
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
        sync(&file)
    });
    let placed = written.and_then(|()| std::fs::rename(&beside, path));
    if placed.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    placed
}

/// A file that is whole, and on the disk, before it has its name: a process that is killed meanwhile
/// leaves nothing behind, where the system knows files without a name.
#[derive(Debug)]
pub struct UnnamedFile {
    path: PathBuf,
    file: File,
    /// The name that it has meanwhile, where it has to have one.
    beside: Option<PathBuf>,
}

impl UnnamedFile {
    /// Writes it, for a place that it may get later.
    pub fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<UnnamedFile> {
        let mut unnamed = match unnamed_in(folder_of(path), mode) {
            Some(file) => UnnamedFile {
                path: path.to_owned(),
                file,
                beside: None,
            },
            None => {
                let beside = beside(path);
                UnnamedFile {
                    path: path.to_owned(),
                    file: new_file(&beside, mode)?,
                    beside: Some(beside),
                }
            }
        };
        io::Write::write_all(&mut unnamed.file, bytes)?;
        unnamed.file.sync_all()?;
        Ok(unnamed)
    }

    /// Gives it its name. Another file of that name is replaced in one step, or is an error.
    pub fn name(mut self, replaces: bool) -> io::Result<()> {
        let place = match (replaces, &self.beside) {
            (true, None) => {
                let beside = beside(&self.path);
                link(&self.file, &beside)?;
                self.beside.insert(beside)
            }
            (_, Some(beside)) => beside,
            (false, None) => {
                link(&self.file, &self.path)?;
                return sync_folder_of(&self.path);
            }
        };
        if replaces {
            std::fs::rename(place, &self.path)?;
            self.beside = None;
        } else {
            // Where the system knows no second names, it is moved.
            std::fs::hard_link(place, &self.path).or_else(|fault| match fault.kind() {
                io::ErrorKind::AlreadyExists => Err(fault),
                _ => rename_new(place, &self.path).map_err(|_| fault),
            })?;
        }
        sync_folder_of(&self.path)
    }
}

impl Drop for UnnamedFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = std::fs::remove_file(beside);
        }
    }
}

/// The folder of a path; that of a bare name is the current one.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(folder_of(path))?.sync_all(),
        false => Ok(()),
    }
}

/// A file without a name in a folder; none where the system knows none there.
#[cfg(target_os = "linux")]
fn unnamed_in(folder: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    // Without it, as in some containers, it could get no name.
    if !Path::new("/proc/self/fd").exists() {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::from_raw_mode(mode));
    opened.ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn unnamed_in(_: &Path, _: u32) -> Option<File> {
    None
}

/// Gives a file without a name one that is free.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    use std::os::fd::AsRawFd as _;
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives a file another name, which has to be free.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// How a file is called beside its place until it has its name, where it can't be without one.
pub const UNNAMED: LeftoverName = (".new-", "");

/// A name beside a file, of this process alone; what was left under it is removed.
fn beside(path: &Path) -> PathBuf {
    let beside = own_name(path, UNNAMED);
    let _ = std::fs::remove_file(&beside);
    beside
}

/// A new file; `create_new` follows no link: the name must be free.
fn new_file(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

/// Nothing of this process's memory is written to the disk when it crashes: there are texts and
/// keys in it.
pub fn no_core_dump() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let hard = getrlimit(Resource::Core).maximum;
        // What was lowered can't fail; a system that has no such limit writes no core either.
        let _ = setrlimit(
            Resource::Core,
            Rlimit {
                current: Some(0),
                maximum: hard,
            },
        );
    }
    #[cfg(target_os = "linux")]
    {
        // A core that goes to a program (`core_pattern` with a pipe) is not kept off by the limit.
        let _ =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
}

/// Ends the process when something takes too long, unless it is dropped before.
#[derive(Debug)]
pub struct Deadline {
    /// Dropped with it, which ends the wait.
    _ended: std::sync::mpsc::Sender<()>,
}

impl Deadline {
    /// From now on; `late` is run just before the process ends with this exit code.
    pub fn start(
        within: std::time::Duration,
        code: i32,
        late: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::Builder::new()
            .name("deadline".to_owned())
            .spawn(move || {
                if end.recv_timeout(within) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    late();
                    std::process::exit(code);
                }
            })?;
        Ok(Deadline { _ended: ended })
    }
}

/// Bounds the address space of this process, unless it is bounded closer already.
pub fn bound_memory(bytes: u64) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let found = getrlimit(Resource::As);
        if found.current.is_none_or(|current| current > bytes) {
            let _ = setrlimit(
                Resource::As,
                Rlimit {
                    current: Some(bytes),
                    maximum: found.maximum,
                },
            );
        }
    }
    #[cfg(not(unix))]
    let _ = bytes;
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn why(result: io::Result<impl std::fmt::Debug>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn commands_survive_a_shell() {
        for (path, expected) in [
            ("/a/b-c.key", "/a/b-c.key"),
            ("/a b", "'/a b'"),
            ("/it's", r"'/it'\''s'"),
            ("", "''"),
            ("/$(x)", "'/$(x)'"),
        ] {
            assert_eq!(shell_word(Path::new(path)), expected);
        }
    }

    #[test]
    fn only_regular_files_are_opened_and_nothing_waits() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), b"text").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("gone"), at("dangling")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status()
            .unwrap();
        assert!(made.success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read_regular(&at("file"), 4).unwrap(), b"text");
        assert!(why(read_regular(&at("file"), 3)).contains("more than 3 bytes"));
        for (name, what) in [
            ("link", "a symlink"),
            ("dangling", "a symlink"),
            ("folder", "a folder"),
            ("pipe", "a pipe"),
            ("socket", "a socket"),
        ] {
            assert!(
                why(open_regular(&at(name))).starts_with(what),
                "{name}: {}",
                why(open_regular(&at(name)))
            );
            assert!(
                why(replace_file(&at(name), b"new", 0o600)).starts_with(what),
                "{name}"
            );
            assert!(why(open_private(&at(name))).starts_with(what), "{name}");
        }
        assert!(why(open_regular(Path::new("/dev/zero"))).starts_with("a device"));
        assert_eq!(
            open_regular(&at("gone")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_eq!(std::fs::read(at("file")).unwrap(), b"text");
        drop(open_private(&at("file")).unwrap());
        drop(open_private(&at("lock")).unwrap());
        assert_eq!(
            std::fs::metadata(at("lock")).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(std::fs::read(at("file")).unwrap(), b"text");
    }

    #[test]
    fn a_file_is_replaced_whole_with_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for (text, mode) in [("one", 0o644), ("two", 0o600)] {
            replace_file(&path, text.as_bytes(), mode).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(
                std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                mode
            );
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    /// Runs one of the helpers below in a process of its own; its exit code.
    fn run_alone(helper: &str) -> Option<i32> {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone.args([
            "--exact",
            &format!("os::tests::{helper}"),
            "--ignored",
            "--test-threads",
            "1",
        ]);
        alone.output().unwrap().status.code()
    }

    #[test]
    fn a_deadline_ends_the_process_with_its_code_unless_it_is_dropped() {
        assert_eq!(run_alone("helper_that_is_late"), Some(7));
        assert_eq!(run_alone("helper_that_is_in_time"), Some(0));
    }

    #[test]
    fn bounded_memory_can_not_be_had_and_is_not_widened() {
        assert_eq!(run_alone("helper_that_wants_memory"), Some(9));
    }

    #[test]
    #[ignore = "ends its own process: a_deadline_ends_the_process_with_its_code_unless_it_is_dropped runs it"]
    fn helper_that_is_late() {
        let _deadline = Deadline::start(std::time::Duration::from_millis(1), 7, || {}).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(600));
    }

    #[test]
    #[ignore = "counterpart of helper_that_is_late, run with it"]
    fn helper_that_is_in_time() {
        drop(Deadline::start(std::time::Duration::from_millis(50), 7, || {}).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(200));
    }

    #[test]
    #[ignore = "bounds its own process: bounded_memory_can_not_be_had_and_is_not_widened runs it"]
    fn helper_that_wants_memory() {
        bound_memory(1 << 30);
        bound_memory(1 << 40);
        let mut bytes: Vec<u8> = Vec::new();
        let enough = bytes.try_reserve_exact(64 << 20).is_ok();
        let more = Vec::<u8>::new().try_reserve_exact(2 << 30).is_ok();
        std::process::exit(if enough && !more { 9 } else { 1 });
    }
}
