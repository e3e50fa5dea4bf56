//! A terminal: what a command prints where both of its outputs are one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use regex::Regex;

use crate::person::{Person, Ran, run};

/// Runs a command with both outputs on a terminal of so many rows and columns, and prints what came
/// there.
const PTY: &str = r#"
import fcntl, os, pty, struct, subprocess, sys, termios, tty
master, slave = pty.openpty()
tty.setraw(slave)
size = struct.pack("HHHH", int(sys.argv[1]), int(sys.argv[2]), 0, 0)
fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
child = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
os.close(slave)
while True:
    try:
        got = os.read(master, 65536)
    except OSError:
        break
    if not got:
        break
    sys.stdout.buffer.write(got)
sys.stdout.buffer.flush()
sys.exit(child.wait())
"#;

/// What a terminal of so many rows and columns shows of a command of gently's.
pub fn on_terminal(person: &Person, size: (u16, u16), args: &[&str]) -> Ran {
    of_command(person, size, person.command(args))
}

/// The same of any command, in a person's own environment and folder.
pub fn of_command(person: &Person, (rows, columns): (u16, u16), plain: Command) -> Ran {
    let mut python = Command::new("python3");
    python.args(["-c", PTY, &rows.to_string(), &columns.to_string()]);
    python.arg(plain.get_program()).args(plain.get_args());
    let set = plain.get_envs();
    python
        .env_clear()
        .envs(set.filter_map(|(name, value)| Some((name, value?))));
    python.current_dir(person.dir.path()).stdin(Stdio::null());
    run(&mut python)
}

/// A terminal in front of a command: what comes on standard input is typed there, what is shown goes
/// to standard output.
const TYPED: &str = r#"
import fcntl, os, pty, select, signal, struct, sys, termios
master, slave = pty.openpty()
size = struct.pack("HHHH", int(sys.argv[1]), int(sys.argv[2]), 0, 0)
fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.closerange(3, 64)
    # Whatever the test was started under: a job in the background hears no Ctrl-C.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.execvp(sys.argv[3], sys.argv[3:])
os.close(slave)
os.write(1, b"%d\n" % child)
watched = [master, 0]
while True:
    ready, _, _ = select.select(watched, [], [])
    if 0 in ready:
        keys = os.read(0, 65536)
        if keys:
            os.write(master, keys)
        else:
            watched.remove(0)
    if master in ready:
        try:
            shown = os.read(master, 65536)
        except OSError:
            shown = b""
        if not shown:
            break
        os.write(1, shown)
status = os.waitpid(child, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status) & 0xff)
"#;

/// The longest that is waited for what must be shown; reached only when it never is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody who types at a terminal, and looks at what it shows.
pub struct Typist {
    python: Child,
    keys: Option<ChildStdin>,
    screen: Arc<(Mutex<TypistScreen>, Condvar)>,
    reader: Option<JoinHandle<()>>,
    /// How much of the screen was looked at.
    seen: usize,
    /// The process of the command.
    pub process: u32,
}

/// What came on a terminal.
#[derive(Default)]
struct TypistScreen {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Typist {
    /// Starts a command of gently's on a terminal of so many rows and columns.
    pub fn begin(person: &Person, size: (u16, u16), args: &[&str]) -> Typist {
        Typist::of_command(person, size, person.command(args))
    }

    /// The same of any command, in a person's own environment and folder.
    pub fn of_command(person: &Person, (rows, columns): (u16, u16), plain: Command) -> Typist {
        let mut python = Command::new("python3");
        python.args(["-c", TYPED, &rows.to_string(), &columns.to_string()]);
        python.arg(plain.get_program()).args(plain.get_args());
        let set = plain.get_envs();
        python
            .env_clear()
            .envs(set.filter_map(|(name, value)| Some((name, value?))));
        let mut python = python
            .current_dir(person.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut shown = BufReader::new(python.stdout.take().unwrap());
        let mut process = String::new();
        shown.read_line(&mut process).unwrap();
        let screen: Arc<(Mutex<TypistScreen>, Condvar)> = Arc::default();
        let reader = std::thread::spawn({
            let screen = Arc::clone(&screen);
            move || {
                let mut some = [0; 65536];
                loop {
                    let read = shown.read(&mut some).unwrap_or(0);
                    let mut screen_now = screen.0.lock().unwrap();
                    screen_now.bytes.extend_from_slice(&some[..read]);
                    screen_now.is_over = read == 0;
                    screen.1.notify_all();
                    if read == 0 {
                        return;
                    }
                }
            }
        });
        Typist {
            keys: python.stdin.take(),
            python,
            screen,
            reader: Some(reader),
            seen: 0,
            process: process.trim().parse().unwrap(),
        }
    }

    /// Types keys.
    pub fn types(&mut self, keys: &str) {
        let to = self.keys.as_mut().unwrap();
        to.write_all(keys.as_bytes()).unwrap();
        to.flush().unwrap();
    }

    /// Waits until a text is shown behind what was looked at, and gives what stands before it.
    #[track_caller]
    pub fn sees(&mut self, text: &str) -> String {
        let (lock, changed) = &*self.screen;
        let from = self.seen;
        let found = |screen: &TypistScreen| plain(&screen.bytes)[from..].find(text);
        let (screen, _) = changed
            .wait_timeout_while(lock.lock().unwrap(), PATIENCE, |screen| {
                found(screen).is_none() && !screen.is_over
            })
            .unwrap();
        let all = plain(&screen.bytes);
        let at = all[from..].find(text);
        let at =
            at.unwrap_or_else(|| panic!("never shown: {text:?}\n--- behind:\n{}", &all[from..]));
        self.seen = from + at + text.len();
        all[from..from + at].to_owned()
    }

    /// All that was shown so far, with what moves the cursor.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.screen.0.lock().unwrap().bytes).into_owned()
    }

    /// Waits until the command itself has ended, whoever else still has the terminal.
    pub fn waits(&mut self) {
        let alive = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while alive() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end of the command; gives its exit code, and all that was shown.
    pub fn ends(mut self) -> Ran {
        let code = self.python.wait().unwrap().code().unwrap_or(-1);
        self.reader.take().unwrap().join().unwrap();
        Ran {
            code,
            out: plain(&self.screen.0.lock().unwrap().bytes),
            err: String::new(),
        }
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        drop(self.keys.take());
        // A test that failed leaves nobody behind: closing the terminal ends the command.
        let _ = self.python.kill();
        let _ = self.python.wait();
    }
}

/// What a terminal shows, without what moves the cursor.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace('\r', "");
    let moves = Regex::new("\u{1b}\\[[0-9;?]*[A-Za-z]").unwrap();
    moves.replace_all(&text, "").into_owned()
}
