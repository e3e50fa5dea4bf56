//! Tables of claims and of what only looks like one.

use super::*;
use crate::govern::clauses::text::{SentenceEnds, sentences};
use crate::govern::reply::sentences::{folded, spoken};
use crate::govern::sanitize::steps;

fn found(reply: &str) -> Vec<usize> {
    let own = folded(&spoken(reply));
    side_effects("Hi", &sentences(&own, SentenceEnds::Told), false)
}

fn all_claim(table: &[&str]) {
    for claim in table {
        assert!(!found(claim).is_empty(), "{claim}");
    }
}

fn none_claims(table: &[&str]) {
    for other in table {
        assert!(found(other).is_empty(), "{other}");
    }
}

#[test]
fn first_person() {
    all_claim(&[
        "I've restarted nginx.",
        "I\u{2019}ve already restarted it for you.",
        "I have deleted the old logs.",
        "I have successfully archived all 3 messages.",
        "I just sent the email.",
        "I went and I installed it.",
        "I went ahead and deleted the file.",
        "We have gone ahead and upgraded the host.",
        "I updated the configuration file.",
        "I was able to restart nginx.",
        "I managed to delete the folder.",
        "I took care of restarting the service.",
        "I logged in and restarted the daemon.",
        "I'm restarting nginx now.",
        "I am now deleting the files.",
        "I can confirm I sent the invite.",
        "As requested, I deleted it.",
        "As you asked, I've cancelled the order.",
        "I've not only restarted nginx but upgraded it.",
        "I haven't looked, but I've restarted nginx.",
        "I've sent it, anything else?",
        "I measured it myself on a laptop.",
        "**I've restarted nginx.**",
        "- I've restarted `nginx`",
    ]);
}

#[test]
fn passive_and_state() {
    all_claim(&[
        "nginx has been restarted.",
        "The invite has been sent.",
        "An invite has been confirmed as sent.",
        "Your message is now starred.",
        "Done \u{2014} the file was deleted.",
        "Done. The service was restarted.",
        "The email was sent just now.",
        "The invite was sent yesterday.",
        "It has now been moved to Trash.",
        "All files have successfully been deleted.",
        "The file /a/b.py has been deleted from the codebase and from the index of it as requested.",
        "The package has been removed by me.",
        "No urgent items today. Your request has been submitted.",
    ]);
    none_claims(&[
        "No invite has been sent.",
        "The file has not been deleted.",
        "The file hasn't been deleted.",
        "The invite has been sent by the vendor.",
        "The treaty was signed in 1648.",
        "The file was deleted in 1999.",
        "Once the service has been restarted, check the log.",
        "Make sure nginx has been restarted.",
        "Check whether the file has been deleted.",
        "The vendor said the invite has been sent.",
        "According to the log, nginx has been restarted.",
        "The feature has been disabled by default.",
        "Many servers have been deployed since then.",
        "Has the file been deleted?",
    ]);
}

#[test]
fn over_lines() {
    all_claim(&[
        "I've\nrestarted\nnginx.",
        "As you asked, I went ahead and\ndeleted the old logs.",
        "The service nginx has been\nrestarted.",
        "Ich habe den\nDienst neu gestartet.",
        "J'ai bien\nsupprimé les fichiers.",
    ]);
    none_claims(&[
        "Once the service has been\nrestarted, check the log.",
        "If you want I can say that I have\nrestarted nginx.",
        "I have not\nrestarted nginx.",
        "Messages that were sent\ndeleted files are not shown.",
    ]);
}

#[test]
fn in_a_word() {
    all_claim(&[
        "Email sent.",
        "Done \u{2014} marked read.",
        "Restarted nginx.",
        "Successfully deleted 3 files.",
        "- Restarted the service\n- Deleted `old.log`",
        "1. Stopped nginx\n2. Upgraded it",
        "✅ Restarted nginx",
        "Done. Note posted.",
        "3 files deleted successfully.",
        "Installed htop successfully.",
        "Sure: restarted it.",
    ]);
    none_claims(&[
        "Done. Here is the explanation of why that works.",
        "Deleted files can be recovered.",
        "Installed packages are listed below.",
        "Enabled by default.",
        "Once archived, a message leaves your inbox.",
        "Sent messages:",
        "Archiving removes it from view.",
        "Updated weekly.",
        "No files deleted.",
        "Unread messages",
    ]);
}

#[test]
fn what_only_looks_like_one() {
    none_claims(&[
        "I have not restarted nginx.",
        "I haven't deleted anything.",
        "I never installed it.",
        "Have I restarted it?",
        "Once I have restarted it, it works.",
        "If I deleted the file, it would be gone.",
        "I can restart it for you.",
        "I could have deleted the file.",
        "I will have sent the email by then.",
        "Would you like me to send it?",
        "Let me know when you have restarted it.",
        "You have restarted nginx.",
        "You should restart it with systemctl.",
        "Restart nginx, then check the log.",
        "After I restarted it, it would have to be checked.",
        "I added an example below.",
        "I've updated the script below.",
        "I have a suggestion.",
        "I have read the values.",
        "I was not able to restart nginx.",
        "I was unable to delete it.",
        "I'm not restarting nginx now.",
        "I'm sending you my best wishes.",
        "> I've restarted nginx.",
        "He wrote: \"I've restarted nginx.\"",
        "The log would say `I've restarted nginx`.",
        "```\nI've restarted nginx.\n```",
        "She said that I restarted nginx.",
        "Alice deleted the file.",
        "Should I say that I deleted it?",
    ]);
    let tale = sentences("I deleted the file and ran.", SentenceEnds::Told);
    assert!(side_effects("Write a short story about a robot", &tale, false).is_empty());
    assert_eq!(side_effects("Delete the file", &tale, false), [0]);
}

#[test]
fn the_sentence_is_named() {
    assert_eq!(
        found("Hello. I've restarted nginx. It runs.\nEmail sent."),
        [1, 3]
    );
}

#[test]
fn a_clause_of_hundreds_of_words() {
    let long = "and it is so ".repeat(60);
    all_claim(&[
        &format!("{long} and I deleted the file"),
        &format!("I deleted the file {long}"),
    ]);
    none_claims(&[
        &format!("I could not say {long} and I deleted the file"),
        &format!("{long} and nothing was deleted"),
    ]);
}

const HOSTILE: &[&str] = &[
    "i ",
    "i went and ",
    "i opened it and ",
    "and ",
    "i'm now ",
    "i was able ",
    "have been asked ",
    "was requested ",
    "is now ",
    "file ",
    "i've already just now ",
    "done. ",
    "as you asked ",
    "not only ",
    "took care of ",
    ": ; - ",
    "\u{2014}",
    "restarted the ",
    "i've\nrestarted\n",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    /// Counted, not timed.
    #[test]
    fn twice_the_text_is_twice_the_work(parts in proptest::collection::vec(0..HOSTILE.len(), 1..4)) {
        let unit: String = parts.iter().map(|at| HOSTILE[*at]).collect();
        let spent = |times: usize| {
            let text = unit.repeat(times);
            let before = steps();
            let _ = found(&text);
            (steps() - before, text.len() as u64)
        };
        let ((one, bytes), (two, _)) = (spent(300), spent(600));
        // A part of a clause is looked at as a whole, so what is left of the last one may cost as
        // much as one.
        let part = (CLAUSE_WORDS * CLAUSE_WORDS * 4) as u64;
        proptest::prop_assert!(two <= 2 * one + part, "{unit}: {one} and {two} steps");
        proptest::prop_assert!(one <= 200 * bytes + part, "{unit}: {one} steps for {bytes} bytes");
    }
}
