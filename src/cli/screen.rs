//! Foreign text on a screen: it may say anything, and move nothing.
//!
//! One gate for all of it: what is written to standard output or standard error passes [`Gate`],
//! whoever's words they are. On a terminal everything that moves, hides or reorders is spelled out,
//! and so it is on standard error always, which is for people wherever it is led (git shows a
//! hook's on the terminal of whoever pushes). A pipe behind standard output gets the exact bytes.

use std::io::{IsTerminal as _, Stderr, StdoutLock, Write};

pub use crate::app::words::{beginning, counted};
use crate::record::unseen::{spelled, spelled_on_a_line};

/// Where text leaves the program.
pub struct Gate<W> {
    to: W,
    spells: bool,
}

impl Gate<StdoutLock<'static>> {
    /// Standard output.
    pub fn out() -> Self {
        let to = std::io::stdout();
        Gate {
            spells: to.is_terminal(),
            to: to.lock(),
        }
    }
}

impl Gate<Stderr> {
    /// Standard error.
    pub fn err() -> Self {
        Gate {
            spells: true,
            to: std::io::stderr(),
        }
    }
}

impl<W: Write> Write for Gate<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.spells {
            self.to
                .write_all(spelled(&String::from_utf8_lossy(bytes)).as_bytes())?;
        } else {
            self.to.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

/// A text on one line; what moves the cursor, or turns the direction of writing, is spelled out.
pub fn quiet(text: &str) -> String {
    spelled_on_a_line(text)
}

/// The sign before a verdict: `yes`, `no`, or what is open; in words where the locale has no such
/// characters.
pub fn mark(of: &str) -> &'static str {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let plain = set.is_some_and(|locale| !locale.to_ascii_lowercase().contains("utf"));
    match (of, plain) {
        ("yes", false) => "✔",
        ("yes", true) => "ok",
        ("no", false) => "✘",
        ("no", true) => "NO",
        ("warning", false) => "⚠",
        ("warning", true) => "!!",
        _ => "?",
    }
}

/// A text of several lines, each behind `indent`; tabs stay.
pub fn block(text: &str, indent: &str) -> String {
    let safe = |line: &str| line.split('\t').map(quiet).collect::<Vec<_>>().join("\t");
    text.lines()
        .map(|line| {
            if line.is_empty() {
                "\n".to_owned()
            } else {
                format!("{indent}{}\n", safe(line))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_write_elsewhere_on_the_screen() {
        assert_eq!(
            quiet("a\u{1b}[2J\r\nb\u{202e}é"),
            "a\\u001b[2J\\r\\nb\\u202eé"
        );
        assert_eq!(
            block("one\n\ttwo\u{7}\n\nthree\n", "  "),
            "  one\n  \ttwo\\u0007\n\n  three\n"
        );
    }

    #[test]
    fn a_gate_spells_for_people_and_for_nobody_else() {
        for (spells, expected) in [(true, "a\\u001b[2J\n"), (false, "a\u{1b}[2J\n")] {
            let mut gate = Gate {
                to: Vec::new(),
                spells,
            };
            gate.write_all(b"a\x1b[2J\n").unwrap();
            assert_eq!(gate.to, expected.as_bytes());
        }
    }
}
