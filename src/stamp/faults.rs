//! What keeps promises from being completed: each calendar and kind of trouble once, however many
//! promises.

use std::collections::BTreeMap;

use crate::anchor::SourceFault;

/// Why a promise stays one.
#[derive(Clone, Debug)]
pub(super) enum StampFault {
    /// Nobody answers there: the next promise of it need not be asked for.
    Unreached(SourceFault),
    /// No answer that can be read.
    Answer(SourceFault),
    /// An answer that says something else than the block's header, or what can't be.
    Refused(String),
    /// No header to hold the answer against.
    NoHeader(String),
}

impl StampFault {
    /// A calendar's fault, sorted.
    pub fn of(fault: SourceFault) -> Self {
        match fault {
            SourceFault::Unreachable { .. } | SourceFault::Timeout { .. } => {
                StampFault::Unreached(fault)
            }
            other => StampFault::Answer(other),
        }
    }

    const fn kind(&self) -> u8 {
        match self {
            StampFault::Unreached(_) => 0,
            StampFault::Answer(_) => 1,
            StampFault::Refused(_) => 2,
            StampFault::NoHeader(_) => 3,
        }
    }
}

/// The first of each calendar and kind, and how many there were.
#[derive(Default)]
pub(super) struct StampFaults(BTreeMap<(String, u8), (StampFault, usize)>);

impl StampFaults {
    pub fn add(&mut self, uri: &str, fault: StampFault) {
        let (_, count) = self
            .0
            .entry((uri.to_owned(), fault.kind()))
            .or_insert((fault, 0));
        *count += 1;
    }

    /// Whether nobody answered there.
    pub fn is_unreached(&self, uri: &str) -> bool {
        self.0
            .keys()
            .any(|(known, kind)| known == uri && *kind == 0)
    }

    /// Calendars that nobody answered at, and a line for each other trouble.
    pub fn told(self) -> (Vec<SourceFault>, Vec<String>) {
        let (mut unreached, mut words) = (Vec::new(), Vec::new());
        for (fault, count) in self.0.into_values() {
            let more = if count < 2 {
                String::new()
            } else {
                format!("; so with {} more of its promises", count - 1)
            };
            match fault {
                StampFault::Unreached(fault) => unreached.push(fault),
                StampFault::Answer(fault) => words.push(format!("{fault}{more}")),
                StampFault::Refused(said) | StampFault::NoHeader(said) => {
                    words.push(format!("{said}{more}"))
                }
            }
        }
        (unreached, words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_calendar_and_trouble_is_one_line() {
        let at = |uri: &str, n: usize| SourceFault::Unreachable {
            at: format!("{uri}/{n}"),
            reason: "x".to_owned(),
        };
        let mut faults = StampFaults::default();
        for n in 0..64 {
            faults.add("a", StampFault::of(at("a", n)));
            faults.add(
                "b",
                StampFault::of(SourceFault::TooLong {
                    at: format!("b/{n}"),
                    limit: 9,
                }),
            );
            faults.add("b", StampFault::Refused(format!("refused {n}")));
        }
        faults.add("a", StampFault::NoHeader("none".to_owned()));
        assert!(faults.is_unreached("a") && !faults.is_unreached("b"));
        let (unreached, words) = faults.told();
        assert_eq!(unreached.len(), 1);
        let more = "; so with 63 more of its promises";
        let long = "b/0: longer than 9 bytes, as no right answer is";
        assert_eq!(
            words,
            [
                "none".to_owned(),
                format!("{long}{more}"),
                format!("refused 0{more}")
            ]
        );
    }
}
