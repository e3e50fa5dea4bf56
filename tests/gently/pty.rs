//! A terminal: what a command prints where both of its outputs are one.

use std::process::{Command, Stdio};

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
