//! Key rotation through the program: by the old key, for the new one, finished by whoever comes
//! next.

use std::fs;
use std::process::Command;

use crate::person::Person;

fn signer(home: &std::path::Path) -> String {
    fs::read_to_string(home.join("keys/signing.key.pub"))
        .unwrap()
        .split(' ')
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_rotation_ends_sessions_and_old_signatures_stay_valid() {
    let person = Person::with(&[]);
    person.gently(&["ask", "one"]).exits(0);
    let (home, first) = (person.home(), signer(&person.home()));
    let rotated = person
        .gently(&["key", "rotate", "--yes", "--json"])
        .exits(0)
        .json();
    assert_eq!(rotated["old_signer"], first.as_str());
    assert_eq!(rotated["new_signer"], signer(&home).as_str());
    assert_ne!(first, signer(&home));
    assert!(!home.join("keys/signing.key.next").exists());
    person.gently(&["ask", "two"]).exits(0);
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    person.gently(&["ask", "three"]).exits(0);
    person.gently(&["session", "close"]).exits(0);
    let report = person
        .gently(&["audit", "verify", "--json", "--require", "signed"])
        .exits(0)
        .json();
    // Who knows the first key alone does not know the newest.
    let old = person
        .gently(&["audit", "verify", "--json", "--signer", &first])
        .exits(0)
        .json();
    assert_eq!(old["answers"]["signed_by"], "no");
    assert_eq!(
        (
            &report["answers"]["consistent"],
            &report["answers"]["signed_by"]
        ),
        (&"yes".into(), &"yes".into())
    );
    assert_eq!(
        fs::read_to_string(home.join("keys/allowed_signers"))
            .unwrap()
            .lines()
            .count(),
        3
    );
    let git = |args: &[&str]| {
        Command::new("git")
            .arg("-C")
            .arg(home.join("ledger.git"))
            .args(args)
            .output()
            .unwrap()
    };
    assert!(git(&["fsck", "--strict"]).stderr.is_empty());
    let signers = format!(
        "gpg.ssh.allowedSignersFile={}",
        home.join("keys/allowed_signers").display()
    );
    for commit in String::from_utf8(git(&["rev-list", "--all"]).stdout)
        .unwrap()
        .lines()
    {
        let checked = git(&[
            "-c",
            "gpg.format=ssh",
            "-c",
            &signers,
            "verify-commit",
            commit,
        ]);
        assert!(checked.status.success(), "{commit}");
    }
    let log = fs::read_to_string(home.join("audit.log")).unwrap();
    assert_eq!(log.matches("|key_rotate|-|record:").count(), 2);
}

#[test]
fn a_rotation_that_died_before_the_files_moved_is_finished_by_the_next_command() {
    let person = Person::with(&[]);
    person.gently(&["ask", "one"]).exits(0);
    let keys = person.home().join("keys");
    let old = ["signing.key", "signing.key.pub", "allowed_signers"]
        .map(|name| (name, fs::read(keys.join(name)).unwrap()));
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    let new = signer(&person.home());
    // As the files were between the commit point and the renames.
    fs::rename(keys.join("signing.key"), keys.join("signing.key.next")).unwrap();
    fs::rename(
        keys.join("signing.key.pub"),
        keys.join("signing.key.next.pub"),
    )
    .unwrap();
    for (name, bytes) in old {
        fs::write(keys.join(name), bytes).unwrap();
        use std::os::unix::fs::PermissionsExt;
        let mode = if name == "signing.key" { 0o600 } else { 0o644 };
        fs::set_permissions(keys.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    person.gently(&["ask", "two"]).exits(0);
    assert_eq!(signer(&person.home()), new);
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn a_rotation_that_died_before_its_record_is_begun_again() {
    let person = Person::with(&[]);
    person.gently(&["ask", "one"]).exits(0);
    let keys = person.home().join("keys");
    let before = signer(&person.home());
    let mut made = Command::new("ssh-keygen");
    made.args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(keys.join("signing.key.next"));
    assert!(made.status().unwrap().success());
    person.gently(&["ask", "two"]).exits(0);
    assert_eq!(
        signer(&person.home()),
        before,
        "a key that is not on record is not in force"
    );
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    person.gently(&["ask", "three"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}
