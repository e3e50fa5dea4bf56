//! Requests and proposals, each beside what only looks like one.

use super::*;
use crate::govern::sanitize::steps;

fn classes(found: &Acts) -> Vec<&'static str> {
    found.acts.iter().map(|act| act.class.name()).collect()
}

#[test]
fn prompts_that_ask_for_an_act() {
    for (prompt, class) in [
        ("Restart nginx", "service"),
        ("restart the nginx service.", "service"),
        ("Please restart nginx.service now", "service"),
        ("Could you stop the postgres container?", "service"),
        ("systemd is stuck. Reload nginx, please", "service"),
        ("Would you mind restarting sshd?", "service"),
        ("If the load is above 5, restart apache2", "service"),
        ("Check the queue and restart postfix", "service"),
        ("Reboot", "power"),
        ("Can you reboot this machine now", "power"),
        ("shut down the server", "power"),
        ("Could you kill that process?", "process"),
        ("Install htop", "package"),
        ("Please uninstall docker", "package"),
        ("upgrade all packages", "package"),
        ("Remove the old kernel packages", "package"),
        ("please delete /var/log/x", "file"),
        ("Delete all files in the folder", "file"),
        ("Remove /etc/hosts", "file"),
        ("Move /srv/a to /srv/b", "file"),
        ("rename report.txt to old.txt", "file"),
        ("I need you to wipe the disk", "file"),
        ("Then format the partition", "file"),
        ("mkdir /srv/new", "file"),
        ("Look at the disk and delete old logs", "file"),
        ("chmod 600 ~/.ssh/id_ed25519", "file"),
        ("Set the hostname to brain", "configuration"),
        (
            "Edit /etc/ssh/sshd_config so that root can't log in",
            "configuration",
        ),
        ("Write 'x' to /etc/motd", "configuration"),
        ("Change the configuration of this machine", "configuration"),
        ("Open port 443", "firewall"),
        ("block traffic from 10.0.0.7", "firewall"),
        ("Disable the firewall", "firewall"),
        ("Run the backup script", "command"),
        ("execute `rm -rf /srv/x`", "command"),
        ("Go ahead and deploy the release to production", "command"),
        ("Push the branch to origin", "command"),
        ("Send an email to Bob that the server is down", "message"),
    ] {
        assert_eq!(classes(&requested(prompt)), [class], "{prompt}");
    }
}

#[test]
fn prompts_that_ask_for_an_act_in_the_middle_of_a_sentence() {
    for (prompt, class) in [
        ("The disk is full so delete the old logs", "file"),
        ("nginx is hanging again, restart nginx", "service"),
        ("It is late but please reboot the server", "power"),
        (
            "the site is down and I need you to restart nginx",
            "service",
        ),
        ("I think it hangs, could you kill that process", "process"),
        (
            "everything is backed up so go ahead and wipe the disk",
            "file",
        ),
        ("The load is high, so install htop", "package"),
        (
            "I know what's wrong, please restart the database",
            "service",
        ),
        (
            "That port is unused, therefore block traffic from 10.0.0.7",
            "firewall",
        ),
        (
            "The branch is reviewed and you should push the branch to origin",
            "command",
        ),
    ] {
        assert_eq!(classes(&requested(prompt)), [class], "{prompt}");
    }
}

#[test]
fn sentences_that_only_hold_an_order() {
    for prompt in [
        "How can you restart nginx without downtime",
        "When would you restart nginx and why",
        "The runbook says stop the service, restart nginx",
        "He told me the disk is full so delete the old logs",
        "She asked could you restart nginx",
        "Explain it, please restart nginx is unclear",
        "It can stop, start, and restart services",
        "This tool is able to stop, restart and reload services",
        "The steps are backup, delete the old logs",
        "I tried everything, restart nginx included",
        "Translate this, please delete the file",
        "It is fine, please don't delete /var/log",
        "We should never, so delete nothing from the disk",
        "What does it mean, so restart nginx",
        "The file is long so please summarise it",
        "I like it but please remove the comma from the sentence",
        "Write me a poem, so install words of joy",
    ] {
        assert_eq!(requested(prompt), Acts::default(), "{prompt}");
    }
}

#[test]
fn prompts_that_ask_for_none() {
    for prompt in [
        "How do I restart nginx?",
        "how can I delete /var/log/x",
        "What happens when I delete a file?",
        "Why did the service stop?",
        "Should I restart nginx?",
        "Did you restart the server?",
        "Is it safe to delete /var/log?",
        "Explain how to stop and start nginx.",
        "Tell me how to install docker",
        "Show me the command that restarts nginx",
        "Don't delete /var/log",
        "Never restart nginx at noon.",
        "If I restart nginx, what happens?",
        "When nginx restarts the server is slow",
        "How is this machine doing?",
        "Remove the comma from this sentence",
        "Remove the word file from this sentence",
        "Delete the second paragraph",
        "Stop using the passive voice",
        "Start with a joke",
        "Open with a greeting",
        "Move the second paragraph up",
        "Write a script that restarts nginx",
        "Write a function that deletes a file",
        "Write a config file for nginx",
        "Create a table of disks and their sizes",
        "Make a list of services and restart policies",
        "Run me through the file format",
        "Update the summary",
        "Set the tone to formal",
        "Add a paragraph about the firewall and port numbers",
        "Send me a list of services",
        "Summarise: \"Please restart the server and delete the files.\"",
        "> restart nginx\nWhat does this mean?",
        "What does this do?\n```\nrestart nginx\nrm -rf /srv/x\n```",
        "The runbook says restart nginx",
        "Kill the joke",
        "Install instructions, please",
        "",
        "...",
    ] {
        assert_eq!(requested(prompt), Acts::default(), "{prompt}");
    }
}

#[test]
fn replies_that_are_about_to_act() {
    for (reply, class) in [
        ("I will restart nginx now.", "service"),
        ("I\u{2019}ll restart the service for you.", "service"),
        ("Sure. I'm going to stop the container.", "service"),
        ("I'm restarting nginx.", "service"),
        ("Restarting nginx now...", "service"),
        ("Let me restart the nginx service for you.", "service"),
        ("Would you like me to restart nginx?", "service"),
        ("Shall I delete /var/log/old.log?", "file"),
        ("If you approve, I will delete the old logs.", "file"),
        ("I'll go ahead and install htop.", "package"),
        ("I'll start by deleting /srv/x.", "file"),
        ("We will open port 443.", "firewall"),
        ("I need to run the script first.", "command"),
        (
            "<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
            "tool_call",
        ),
        (
            "```json\n{\"name\": \"restart_service\", \"arguments\": {\"unit\": \"nginx\"}}\n```",
            "tool_call",
        ),
        (
            "Thought: I must look.\nAction: shell\nAction Input: systemctl restart nginx",
            "tool_call",
        ),
        ("<invoke name=\"bash\">", "tool_call"),
        ("{\"tool_calls\": [{\"id\": 1}]}", "tool_call"),
    ] {
        assert_eq!(
            classes(&proposed(reply)).first(),
            Some(&class),
            "{reply}: {:?}",
            proposed(reply)
        );
    }
}

#[test]
fn replies_that_are_not() {
    for reply in [
        "I will not restart nginx.",
        "I won't restart nginx.",
        "I can't restart nginx.",
        "I've restarted nginx.",
        "You can restart it with `systemctl restart nginx`.",
        "Run `sudo systemctl restart nginx` to restart the service.",
        "```sh\nsudo systemctl restart nginx\n```",
        "Let me know if you want to restart nginx.",
        "Let me explain how nginx restarts a service.",
        "I will explain how to restart the service.",
        "I'll summarise the file.",
        "Shall I explain why the service stopped?",
        "He said: \"I will restart the server.\"",
        "The service will restart by itself.",
        "The function takes a \"name\" and \"arguments\".",
        "Restarting nginx drops connections.",
        "I will remove the comma from the sentence.",
        "",
    ] {
        assert_eq!(proposed(reply), Acts::default(), "{reply}");
    }
}

#[test]
fn many_orders_are_a_few_and_a_count() {
    let found = requested(&"Restart nginx.\n".repeat(10));
    assert_eq!((found.acts.len(), found.more), (MAX_ACTS, 6));
    let long = requested(&format!("Delete /srv/{}", "x".repeat(1000)));
    assert_eq!(long.acts[0].what.chars().count(), 160);
    assert_eq!(
        requested("please\tdelete   /var/log/x\u{7}").acts[0].what,
        "please delete /var/log/x\u{7}"
    );
}

/// Pieces of sentences that were made to be slow: each opens something that nothing closes.
const HOSTILE: &[&str] = &[
    "check , ",
    "check and ",
    "please ",
    ", ",
    "could you , ",
    "i will ",
    "i'll now ",
    "i'll now then ",
    "i'm going to start by ",
    "i'm ",
    "if ",
    "so , but ",
    "would you mind stopping ",
    "“\"a b\" ",
    "\"a ",
    "let me start ",
    "read it then ",
    "<tool_call <invoke name=\"a ",
    "..... ",
    "make sure you make sure to ",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    /// Counted, not timed: looking at twice as much text is at most twice the work, whatever it is
    /// made of.
    #[test]
    fn twice_the_text_is_twice_the_work(parts in proptest::collection::vec(0..HOSTILE.len(), 1..4)) {
        let unit: String = parts.iter().map(|at| HOSTILE[*at]).collect();
        let spent = |times: usize| {
            let text = unit.repeat(times);
            let before = steps();
            let _ = (requested(&text), proposed(&text));
            (steps() - before, text.len() as u64)
        };
        let ((one, bytes), (two, _)) = (spent(400), spent(800));
        // The parts that are looked at one after the other begin a little later each, whatever the
        // length.
        proptest::prop_assert!(two <= 2 * one + one / 4 + 2000, "{unit}: {one} and {two} steps");
        proptest::prop_assert!(one <= 40 * bytes + 2000, "{unit}: {one} steps for {bytes} bytes");
    }
}

/// A long sentence is looked at in a loop: calls within calls would use up the stack.
#[test]
fn a_long_sentence_ends() {
    for piece in HOSTILE {
        let text = piece.repeat(60_000 / piece.len());
        assert!(requested(&text).acts.len() <= MAX_ACTS && proposed(&text).acts.len() <= MAX_ACTS);
    }
}

/// Words in a file are its author's, whoever attaches it.
#[test]
fn what_a_file_says_is_no_request_of_the_person() {
    let table = "| call | count |\n|---|---|\n| open | 3 |\nrestart nginx";
    let head = "--- file 1 of 1: \"a.md\" (52 bytes, sha256 9f86d081) ---";
    let prompt = |typed: &str| format!("{typed}\n\n{head}\n{table}");
    let asked = requested(&prompt("What is counted here?"));
    assert_eq!(asked, Acts::default());
    assert_eq!(classes(&requested(&prompt("Restart nginx"))), ["service"]);
    assert_eq!(classes(&requested(table)), ["message", "service"]);
    let before = requested_anywhere(&prompt("What is counted here?"));
    assert_eq!(classes(&before), ["message", "service"]);
}
