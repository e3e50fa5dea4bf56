//! Observational tools: values, or a reason; one file a tool (AEGIS 7).

pub mod disk_usage;
pub mod index_changed;
pub mod index_status;
pub mod service_status;
pub mod sys_health;

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::record::ledger::bundle::{Measurement, Moment, NoSight, SightEntry};
use crate::record::time::Seconds;

/// One read-only tool.
///
/// Contract: it changes nothing, needs no network, and gives values or a reason; what it can't tell
/// it names as unknown. A value is a number, or a short text that no stranger chose freely. It may
/// block; [`observe_all`] bounds it.
pub trait Tool: Send + Sync {
    /// The name in kernel and bundle: `sys_health`.
    fn name(&self) -> &'static str;

    /// Looks once. `now` becomes `observed_at`.
    fn observe(&self, now: Seconds) -> SightEntry;
}

/// How long all tools together may look: a person waits for them before every answer.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// Looks with every tool that is allowed, all at the same time, and says of all others why not.
///
/// `allowed` comes from the kernel's tier. A tool that is not allowed is not run.
pub fn observe_all(
    tools: &[Arc<dyn Tool>],
    allowed: &[String],
    now: Seconds,
) -> BTreeMap<String, SightEntry> {
    observe_within(tools, (allowed, allowed), now, DEADLINE)
}

/// The same with those of the allowed ones that are `wanted`; the others are left alone.
pub fn observe_wanted(
    tools: &[Arc<dyn Tool>],
    allowed: &[String],
    wanted: &[String],
    now: Seconds,
) -> BTreeMap<String, SightEntry> {
    observe_within(tools, (allowed, wanted), now, DEADLINE)
}

/// Runs each tool on a thread of its own, so that a hanging mount can't hold up the answer; a tool
/// that panics or is late is a tool error, and its thread is left to end by itself.
fn observe_within(
    tools: &[Arc<dyn Tool>],
    (allowed, wanted): (&[String], &[String]),
    now: Seconds,
    deadline: Duration,
) -> BTreeMap<String, SightEntry> {
    let until = Instant::now() + deadline;
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    let mut sight: BTreeMap<String, SightEntry> = allowed
        .iter()
        .map(|name| (name.clone(), nothing(NoSight::NotInstalled, name)))
        .collect();
    let (send, receive) = mpsc::channel();
    let mut looking = 0_usize;
    for tool in tools {
        let name = tool.name();
        let entry = if !has(allowed, name) {
            nothing(NoSight::BlockedByTier, name)
        } else if has(wanted, name) {
            looking += usize::from(look(tool, now, send.clone()));
            nothing(NoSight::ToolError, name)
        } else {
            // What nobody asked about is no unknown.
            SightEntry::Unavailable {
                reason: NoSight::NotLooked(None),
                unknowns: Vec::new(),
            }
        };
        sight.insert(name.to_owned(), entry);
    }
    drop(send);
    for _ in 0..looking {
        // Late, or every tool that is still to come has panicked.
        let Ok((name, entry)) =
            receive.recv_timeout(until.saturating_duration_since(Instant::now()))
        else {
            break;
        };
        sight.insert(name, entry);
    }
    sight
}

/// Starts one tool; false when the system gives no thread.
fn look(tool: &Arc<dyn Tool>, now: Seconds, send: mpsc::Sender<(String, SightEntry)>) -> bool {
    let runner = Arc::clone(tool);
    let spawned = std::thread::Builder::new()
        .name(format!("sight-{}", tool.name()))
        .spawn(move || {
            let entry = runner.observe(now);
            // The receiver is gone only when the deadline has passed: the answer is then of no use.
            let _ = send.send((runner.name().to_owned(), entry));
        });
    spawned.is_ok()
}

fn nothing(reason: NoSight, unknown: &str) -> SightEntry {
    SightEntry::Unavailable {
        reason,
        unknowns: vec![unknown.to_owned()],
    }
}

/// What a tool has found so far: values, and the names of what it could not tell.
#[derive(Default)]
struct ToolReadings {
    values: BTreeMap<String, Measurement>,
    unknowns: Vec<String>,
}

impl ToolReadings {
    fn count(&mut self, name: &str, value: Option<u64>) {
        self.put(name, value.map(Measurement::Count));
    }

    fn text(&mut self, name: &str, value: &str) {
        self.put(name, Some(Measurement::Text(value.to_owned())));
    }

    fn put(&mut self, name: &str, value: Option<Measurement>) {
        match value {
            Some(value) => drop(self.values.insert(name.to_owned(), value)),
            None => self.unknowns.push(name.to_owned()),
        }
    }

    /// The entry, observed now; a tool error when there is no value at all.
    fn entry(self, now: Seconds) -> SightEntry {
        let ToolReadings { values, unknowns } = self;
        if values.is_empty() {
            return SightEntry::Unavailable {
                reason: NoSight::ToolError,
                unknowns,
            };
        }
        SightEntry::Seen {
            observed_at: Moment(now),
            freshness_s: 0,
            values,
            unknowns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FixedTool;
    impl Tool for FixedTool {
        fn name(&self) -> &'static str {
            "fixed"
        }
        fn observe(&self, now: Seconds) -> SightEntry {
            let values = BTreeMap::from([("n".to_owned(), Measurement::Count(1))]);
            SightEntry::Seen {
                observed_at: Moment(now),
                freshness_s: 0,
                values,
                unknowns: vec![],
            }
        }
    }

    /// Answers only when it is let go.
    struct Stuck(std::sync::Mutex<mpsc::Receiver<()>>);
    impl Tool for Stuck {
        fn name(&self) -> &'static str {
            "stuck"
        }
        fn observe(&self, _: Seconds) -> SightEntry {
            let _ = self.0.lock().map(|gate| gate.recv());
            nothing(NoSight::NotInstalled, "never")
        }
    }

    struct Panics;
    impl Tool for Panics {
        fn name(&self) -> &'static str {
            "panics"
        }
        fn observe(&self, _: Seconds) -> SightEntry {
            std::panic::resume_unwind(Box::new("a tool broke"))
        }
    }

    fn reason(entry: &SightEntry) -> Option<NoSight> {
        match entry {
            SightEntry::Unavailable { reason, .. } => Some(*reason),
            SightEntry::Seen { .. } => None,
        }
    }

    #[test]
    fn values_or_a_reason() {
        let tools: [Arc<dyn Tool>; 2] = [Arc::new(FixedTool), Arc::new(Panics)];
        let allowed = ["fixed".to_owned(), "absent".to_owned()];
        let sight = observe_all(&tools, &allowed, Seconds::ZERO);
        assert_eq!(reason(&sight["fixed"]), None);
        assert_eq!(reason(&sight["absent"]), Some(NoSight::NotInstalled));
        // Not allowed, so not run: it would have been a tool error.
        assert_eq!(reason(&sight["panics"]), Some(NoSight::BlockedByTier));
    }

    #[test]
    fn what_is_not_wanted_is_not_run() {
        let tools: [Arc<dyn Tool>; 2] = [Arc::new(FixedTool), Arc::new(Panics)];
        let allowed = ["fixed", "panics", "absent"].map(str::to_owned);
        let sight = observe_wanted(&tools, &allowed, &allowed[..1], Seconds::ZERO);
        assert_eq!(reason(&sight["fixed"]), None);
        // Had it been run, it would have been a tool error.
        assert_eq!(reason(&sight["panics"]), Some(NoSight::NotLooked(None)));
        assert_eq!(reason(&sight["absent"]), Some(NoSight::NotInstalled));
        // Wanted is not allowed.
        let sight = observe_wanted(&tools, &[], &allowed, Seconds::ZERO);
        assert_eq!(reason(&sight["panics"]), Some(NoSight::BlockedByTier));
    }

    #[test]
    fn a_tool_that_breaks_or_hangs_is_a_tool_error_and_holds_up_no_other() {
        let (release, gate) = mpsc::channel();
        let stuck: Arc<dyn Tool> = Arc::new(Stuck(std::sync::Mutex::new(gate)));
        let tools: [Arc<dyn Tool>; 3] = [stuck, Arc::new(Panics), Arc::new(FixedTool)];
        let allowed = ["stuck", "panics", "fixed"].map(str::to_owned);
        let within = Duration::from_millis(300);
        let sight = observe_within(&tools, (&allowed, &allowed), Seconds::ZERO, within);
        assert_eq!(reason(&sight["stuck"]), Some(NoSight::ToolError));
        assert_eq!(reason(&sight["panics"]), Some(NoSight::ToolError));
        assert_eq!(reason(&sight["fixed"]), None);
        release.send(()).unwrap();
    }
}
