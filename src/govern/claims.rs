//! Claims of completed side effects: what a model says it did, and can't have done.

use super::phrase;

/// Past forms that are a side effect whatever they act on.
const DEEDS: [&str; 49] = [
    "restarted",
    "rebooted",
    "deleted",
    "erased",
    "wiped",
    "installed",
    "uninstalled",
    "stopped",
    "killed",
    "terminated",
    "archived",
    "starred",
    "trashed",
    "sent",
    "emailed",
    "posted",
    "published",
    "deployed",
    "executed",
    "ran",
    "enabled",
    "disabled",
    "configured",
    "saved",
    "scheduled",
    "cancelled",
    "canceled",
    "booked",
    "purchased",
    "transferred",
    "mounted",
    "unmounted",
    "upgraded",
    "downloaded",
    "uploaded",
    "pushed",
    "committed",
    "merged",
    "submitted",
    "forwarded",
    "granted",
    "revoked",
    "rebuilt",
    "reinstalled",
    "activated",
    "deactivated",
    "renamed",
    "notified",
    "marked",
];
/// Past forms that are one only on a thing of a machine ("I added an example" is none).
const EDITS: [&str; 20] = [
    "created",
    "updated",
    "added",
    "changed",
    "wrote",
    "written",
    "modified",
    "set",
    "edited",
    "copied",
    "replaced",
    "fixed",
    "moved",
    "removed",
    "opened",
    "closed",
    "cleared",
    "reset",
    "started",
    "confirmed",
];
/// Things of a machine.
const THINGS: [&str; 35] = [
    "note",
    "file",
    "files",
    "folder",
    "folders",
    "directory",
    "service",
    "services",
    "server",
    "machine",
    "system",
    "daemon",
    "process",
    "container",
    "disk",
    "database",
    "package",
    "packages",
    "firewall",
    "port",
    "account",
    "calendar",
    "inbox",
    "email",
    "message",
    "messages",
    "event",
    "invite",
    "reminder",
    "ticket",
    "repository",
    "branch",
    "cron",
    "trash",
    "configuration",
];
/// Words that may stand between subject and verb.
const BETWEEN: [&str; 12] =
    ["already", "just", "now", "also", "successfully", "gone", "ahead", "and", "then", "since", "have", "both"];
/// Words that make a sentence no report of a deed: negation, condition, plan, question, speech of others.
const NO_REPORT: [&str; 32] = [
    "not", "never", "no", "none", "nobody", "nothing", "if", "once", "when", "whenever", "unless", "until", "would",
    "could", "should", "will", "can", "cannot", "might", "may", "must", "after", "before", "suppose", "imagine",
    "pretend", "example", "said", "says", "wrote:", "needed", "without",
];
/// Longest passive sentence taken for a report: longer ones mostly tell of something else.
const PASSIVE_WORDS: usize = 14;

/// Whether a sentence claims a completed side effect of the speaker's.
///
/// First person ("I've restarted nginx"), passive and short ("The invite has been sent."), or a bare
/// note ("Email sent."); not when negated, conditional, offered, asked or quoted.
pub(super) fn side_effect(sentence: &str) -> bool {
    if sentence.ends_with('?') || sentence.starts_with(['>', '"', '\u{201c}']) {
        return false;
    }
    let words = phrase::words(sentence);
    let thing = words.iter().any(|word| THINGS.contains(&word.as_str()));
    let is_deed = |word: &str| DEEDS.contains(&word) || (thing && EDITS.contains(&word));
    let reports = |at: usize| {
        let head = words.get(..at).unwrap_or_default();
        // "I can confirm" says that it is so.
        let head = match head {
            [i, can, confirm, rest @ ..] if i == "i" && can == "can" && confirm == "confirm" => rest,
            _ => head,
        };
        !head.iter().any(|w| NO_REPORT.contains(&w.as_str()) || w.ends_with("n't"))
    };
    let first_person = words.iter().enumerate().any(|(at, word)| {
        matches!(word.as_str(), "i've" | "i" | "we've" | "we")
            && deed_after(&words, at + 1).is_some_and(is_deed)
            && reports(at)
    });
    // "As requested" tells whose deed it was, however long the sentence.
    let short = words.len() <= PASSIVE_WORDS || words.iter().any(|word| word == "requested");
    first_person || (short && passive(&words, is_deed, reports)) || note(&words)
}

/// The first word after `at` that is not one of [`BETWEEN`].
fn deed_after(words: &[String], at: usize) -> Option<&str> {
    words.get(at..)?.iter().map(String::as_str).find(|word| !BETWEEN.contains(word))
}

fn passive(words: &[String], is_deed: impl Fn(&str) -> bool, reports: impl Fn(usize) -> bool) -> bool {
    words.windows(2).enumerate().any(|(at, pair)| {
        let perfect = matches!(pair, [has, been] if matches!(has.as_str(), "has" | "have") && been == "been");
        let state = matches!(pair, [is, now] if matches!(is.as_str(), "is" | "are") && now == "now");
        (perfect || state) && deed_after(words, at + 2).is_some_and(&is_deed) && reports(at)
    })
}

/// "Email sent.", "Done — marked read."
fn note(words: &[String]) -> bool {
    match words {
        [thing, deed] => THINGS.contains(&thing.as_str()) && DEEDS.contains(&deed.as_str()),
        [done, deed, ..] if done == "done" && words.len() <= 5 => DEEDS.contains(&deed.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_and_what_only_looks_like_one() {
        for claim in [
            "I've restarted nginx.",
            "I\u{2019}ve already restarted it for you.",
            "I have deleted the old logs.",
            "I have successfully archived all 3 messages.",
            "I just sent the email.",
            "I went and I installed it.",
            "We have gone ahead and upgraded the host.",
            "I updated the configuration file.",
            "The invite has been sent.",
            "Your message is now starred.",
            "Email sent.",
            "Done \u{2014} marked read.",
        ] {
            assert!(side_effect(claim), "{claim}");
        }
        for other in [
            "I have not restarted nginx.",
            "I haven't deleted anything.",
            "Have I restarted it?",
            "Once I have restarted it, it works.",
            "If I deleted the file, it would be gone.",
            "I can restart it for you.",
            "Would you like me to send it?",
            "You have restarted nginx.",
            "No invite has been sent.",
            "I added an example below.",
            "I have a suggestion.",
            "You should restart it with systemctl.",
            "> I've restarted nginx.",
            "I never installed it.",
            "The treaty was signed in 1648.",
            "I have read the values.",
        ] {
            assert!(!side_effect(other), "{other}");
        }
    }
}
