//! A clock of a test's own for the real program: a few lines of C that the loader puts before the C
//! library's.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use gently::record::bitcoin::block::Header;

use crate::esplora_server::{HEADERS, rows};
use crate::person::Person;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long ahead(void) { const char *text = getenv("CLOCK_IS_AHEAD"); return text ? atol(text) : 0; }
int clock_gettime(clockid_t which, struct timespec *to) {
    int failed = syscall(SYS_clock_gettime, which, to);
    if (!failed && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) to->tv_sec += ahead();
    return failed;
}
time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *to, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"#;

/// The library, made once.
fn library() -> &'static Path {
    static MADE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let (source, library) = (dir.path().join("clock.c"), dir.path().join("clock.so"));
        std::fs::write(&source, SOURCE).unwrap();
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .output();
        let made = made.unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        (dir, library)
    });
    path
}

/// The time of a block of `tests/data/btc/headers.csv`.
pub fn time_of(height: u32) -> u64 {
    let (_, _, header) = rows(HEADERS)
        .into_iter()
        .find(|row| row.0 == height)
        .unwrap();
    header.parse::<Header>().unwrap().fields().time.get()
}

impl Person {
    /// Sets the clock of the commands to come; it runs on from there.
    pub fn lives_at(&mut self, time: u64) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let ahead = i128::from(time) - i128::from(now);
        self.set("CLOCK_IS_AHEAD", &ahead.to_string());
        self.set("LD_PRELOAD", library().to_str().unwrap());
    }

    /// Ten minutes after a block was found: explorers in tests have the blocks of some weeks of
    /// 2024.
    pub fn lives_after(&mut self, height: u32) {
        self.lives_at(time_of(height) + 600);
    }
}
