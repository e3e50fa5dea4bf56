//! The verbs of side effects, and the things of a machine: what [`super::claims`] looks for.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A side effect whatever it acts on. `base/past`, where the past is not the base and *ed*.
const DEEDS: &str = "restart reboot delete erase wipe install uninstall stop/stopped kill terminate archive star/starred \
  trash send/sent email message/messaged text/texted post publish deploy execute run/ran enable disable configure save schedule \
  reschedule cancel/cancelled cancel book purchase buy/bought order pay/paid refund transfer/transferred mount unmount upgrade \
  downgrade download upload push commit/committed merge submit/submitted forward grant revoke rebuild/rebuilt reinstall activate \
  deactivate rename notify mark flag/flagged unsubscribe subscribe mute unmute assign escalate purge flush provision migrate \
  restore reload pin/pinned measure benchmark encrypt decrypt whitelist reserve invite redeploy relaunch launch overwrite/overwrote \
  overwrite/overwritten run/run shutdown power/powered dispatch enroll register sync commit reset/reset";
/// A side effect only on a thing of a machine: *I added an example* is none.
const EDITS: &str = "create update add change write/wrote write/written modify set/set edit copy replace fix move remove open close \
  clear start confirm switch/switched turn/turned lock unlock log/logged put/put attach apply adjust rotate generate register \
  store record test check/checked process request place connect disconnect import export back/backed roll/rolled make/made \
  file patch prune bump/bumped resolve link clean/cleaned";
/// Things of a machine, and of the services that it is connected to.
const THINGS: &str = "note notes file files folder folders directory directories service services server servers machine system \
  daemon process processes container containers disk database package packages firewall port account accounts calendar inbox email \
  emails mail message messages event events invite invites invitation invitations reminder reminders ticket tickets repository repo \
  branch cron cronjob trash configuration config settings setting order orders appointment meeting meetings request reservation \
  booking flight alarm timer task tasks issue issues script job jobs table record records backup backups image volume user users \
  password permission permissions key keys route dns domain certificate cluster node pod vm instance bucket index queue cache logs \
  light lights lamp thermostat door contact subscription payment invoice transaction playlist workspace codebase deployment pipeline \
  partition kernel driver drivers nginx apache docker host network router session sessions device pull update updates dependency \
  dependencies environment attachment xcodex";

/// Which forms a verb has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VerbForms {
    Deed,
    Edit,
}

struct Verbs {
    past: BTreeMap<String, VerbForms>,
    base: BTreeMap<String, VerbForms>,
    going_on: BTreeMap<String, VerbForms>,
}

fn verbs() -> &'static Verbs {
    static ONCE: OnceLock<Verbs> = OnceLock::new();
    ONCE.get_or_init(|| {
        let mut all = Verbs {
            past: BTreeMap::new(),
            base: BTreeMap::new(),
            going_on: BTreeMap::new(),
        };
        for (list, kind) in [(EDITS, VerbForms::Edit), (DEEDS, VerbForms::Deed)] {
            for verb in list.split_whitespace() {
                let (base, past) = verb
                    .split_once('/')
                    .map_or_else(|| (verb, regular(verb)), |(b, p)| (b, p.to_owned()));
                all.going_on.insert(ing(base, &past), kind);
                all.past.insert(past, kind);
                all.base.insert(base.to_owned(), kind);
            }
        }
        all
    })
}

fn regular(base: &str) -> String {
    match base.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ied"),
        _ if base.ends_with('e') => format!("{base}d"),
        _ => format!("{base}ed"),
    }
}

fn ing(base: &str, past: &str) -> String {
    let doubled = past
        .strip_suffix("ed")
        .filter(|stem| stem.len() == base.len() + 1 && stem.starts_with(base));
    match (doubled, base.strip_suffix('e')) {
        (Some(stem), _) | (None, Some(stem)) => format!("{stem}ing"),
        (None, None) if past != format!("{base}ed") && is_short(base) => base
            .chars()
            .next_back()
            .map_or_else(String::new, |last| format!("{base}{last}ing")),
        (None, None) => format!("{base}ing"),
    }
}

/// Consonant, vowel, consonant at the end, as in *run*: the last is doubled.
fn is_short(base: &str) -> bool {
    let vowel = |c: Option<char>| c.is_some_and(|c| "aeiou".contains(c));
    let mut back = base.chars().rev();
    let (last, middle, first) = (back.next(), back.next(), back.next());
    !vowel(last) && vowel(middle) && !vowel(first) && last.is_some_and(|c| !"wxy".contains(c))
}

/// What a clause is about decides which verbs are side effects in it.
#[derive(Clone, Copy, Debug)]
pub(in crate::govern) struct Deeds {
    on_a_thing: bool,
}

impl Deeds {
    /// For a clause of these words; `code` when the reply shows code, which is then what was made
    /// or changed.
    pub fn of(words: &[String], code: bool) -> Deeds {
        let shown = code || words.iter().any(|w| SHOWN_HERE.contains(&w.as_str()));
        Deeds {
            on_a_thing: !shown && words.iter().any(|word| is_thing(word)),
        }
    }

    fn is(self, kind: Option<&VerbForms>) -> bool {
        kind.is_some_and(|kind| *kind == VerbForms::Deed || self.on_a_thing)
    }

    /// `restarted`
    pub fn past(self, word: &str) -> bool {
        self.is(verbs().past.get(word))
    }

    /// `restart`, after *I was able to*
    pub fn base(self, word: &str) -> bool {
        self.is(verbs().base.get(word))
    }

    /// `restarting`
    pub fn going_on(self, word: &str) -> bool {
        self.is(verbs().going_on.get(word))
    }
}

/// What is shown in the reply itself was not done to a machine: *I've updated the file below*.
const SHOWN_HERE: [&str; 9] = [
    "below",
    "above",
    "following",
    "here",
    "here's",
    "example",
    "examples",
    "draft",
    "snippet",
];

/// Whether a word is the past of a deed: what a quotation of one word may be.
pub(in crate::govern) fn is_past(word: &str) -> bool {
    verbs().past.contains_key(word)
}

/// Whether a word is a thing of a machine.
pub(in crate::govern) fn is_thing(word: &str) -> bool {
    static ONCE: OnceLock<std::collections::BTreeSet<&str>> = OnceLock::new();
    ONCE.get_or_init(|| THINGS.split_whitespace().collect())
        .contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_the_verbs() {
        let any = Deeds { on_a_thing: true };
        let none = Deeds { on_a_thing: false };
        for past in [
            "restarted",
            "deleted",
            "stopped",
            "sent",
            "ran",
            "notified",
            "deployed",
            "committed",
            "archived",
        ] {
            assert!(none.past(past), "{past}");
        }
        for edit in ["created", "updated", "wrote", "set", "modified", "moved"] {
            assert!(any.past(edit) && !none.past(edit), "{edit}");
        }
        for going in [
            "restarting",
            "deleting",
            "stopping",
            "sending",
            "running",
            "committing",
            "notifying",
        ] {
            assert!(none.going_on(going), "{going}");
        }
        assert!(none.base("restart") && !none.base("restarted") && !none.past("restart"));
    }
}
