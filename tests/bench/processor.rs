//! Processor time, which a busy machine does not stretch as it does the wall clock's.

use std::time::Duration;

/// Of this thread so far, in nanoseconds; what the system keeps for `/proc` is older by up to a tick
/// of 4 ms.
pub fn thread() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(spent).unwrap()
}

/// Of all processes that this one has waited for, in ticks of 10 ms: of use over many of them.
pub fn children() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Behind the name, which ends with the last bracket: user and system time of children are
    // fields 16 and 17.
    let fields: Vec<&str> = text
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    let ticks: u64 = fields[13..15]
        .iter()
        .map(|field| field.parse::<u64>().unwrap())
        .sum();
    Duration::from_millis(ticks * 10)
}
