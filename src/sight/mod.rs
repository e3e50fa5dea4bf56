//! Observational tools: values, or a reason; one file a tool (AEGIS 7).

pub mod sys_health;

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::record::bundle::{NoSight, SightEntry};
use crate::record::time::Seconds;

/// One read-only tool.
///
/// Contract: it changes nothing, needs no network, and gives values or a reason; what it can't tell it
/// names as unknown. It may block; [`observe_all`] bounds it.
pub trait Tool: Send + Sync {
    /// The name in kernel and bundle: `sys_health`.
    fn name(&self) -> &'static str;

    /// Looks once. `now` becomes `observed_at`.
    fn observe(&self, now: Seconds) -> SightEntry;
}

/// How long one tool may look: a person waits for it before every answer.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// Looks with every tool that is allowed, and says of all others why not.
///
/// `allowed` comes from the kernel's tier. A tool that is not allowed is not run.
pub fn observe_all(tools: &[Arc<dyn Tool>], allowed: &[String], now: Seconds) -> BTreeMap<String, SightEntry> {
    let mut sight = BTreeMap::new();
    for name in allowed {
        sight.insert(name.clone(), nothing(NoSight::NotInstalled, name));
    }
    for tool in tools {
        let name = tool.name().to_owned();
        let entry =
            if allowed.contains(&name) { bounded(tool, now, DEADLINE) } else { nothing(NoSight::BlockedByTier, &name) };
        sight.insert(name, entry);
    }
    sight
}

fn nothing(reason: NoSight, unknown: &str) -> SightEntry {
    SightEntry::Unavailable { reason, unknowns: vec![unknown.to_owned()] }
}

/// Runs a tool on a thread of its own, so that a hanging mount can't hold up the answer; a tool that
/// panics or is late is a tool error, and its thread is left to end by itself.
fn bounded(tool: &Arc<dyn Tool>, now: Seconds, deadline: Duration) -> SightEntry {
    let (send, receive) = mpsc::channel();
    let runner = Arc::clone(tool);
    let spawned = std::thread::Builder::new().name(format!("sight-{}", tool.name())).spawn(move || {
        // The receiver is gone only when the deadline has passed: the answer is then of no use.
        let _ = send.send(runner.observe(now));
    });
    if spawned.is_err() {
        return nothing(NoSight::ToolError, tool.name());
    }
    receive.recv_timeout(deadline).unwrap_or_else(|_| nothing(NoSight::ToolError, tool.name()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::bundle::{Moment, Reading};

    struct Fixed;
    impl Tool for Fixed {
        fn name(&self) -> &'static str {
            "fixed"
        }
        fn observe(&self, now: Seconds) -> SightEntry {
            let values = BTreeMap::from([("n".to_owned(), Reading::Count(1))]);
            SightEntry::Seen { observed_at: Moment(now), freshness_s: 0, values, unknowns: vec![] }
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
        let tools: [Arc<dyn Tool>; 2] = [Arc::new(Fixed), Arc::new(Panics)];
        let allowed = ["fixed".to_owned(), "absent".to_owned()];
        let sight = observe_all(&tools, &allowed, Seconds::ZERO);
        assert_eq!(reason(&sight["fixed"]), None);
        assert_eq!(reason(&sight["absent"]), Some(NoSight::NotInstalled));
        // Not allowed, so not run: it would have been a tool error.
        assert_eq!(reason(&sight["panics"]), Some(NoSight::BlockedByTier));
    }

    #[test]
    fn a_tool_that_breaks_or_hangs_is_a_tool_error() {
        let broken: Arc<dyn Tool> = Arc::new(Panics);
        assert_eq!(reason(&bounded(&broken, Seconds::ZERO, DEADLINE)), Some(NoSight::ToolError));
        let (release, gate) = mpsc::channel();
        let stuck: Arc<dyn Tool> = Arc::new(Stuck(std::sync::Mutex::new(gate)));
        assert_eq!(reason(&bounded(&stuck, Seconds::ZERO, Duration::from_millis(10))), Some(NoSight::ToolError));
        release.send(()).unwrap();
    }
}
