//! The one signature predicate against `ssh-keygen`: the same answer, or stricter; never laxer.

use std::io::Write as _;
use std::process::{Command, Stdio};

use gently::record::signature::{PublicKey, Signature, armor, signed_data};

#[derive(serde::Deserialize)]
struct Vector {
    name: String,
    key: String,
    message: String,
    signature: String,
    holds: bool,
}

/// What stock tools accept and the predicate does not: a neutral R, keys of small order, the next
/// spelling of `s`, and second encodings.
const LAXER: [&str; 5] = [
    "s + 1L",
    "R of order 1 ",
    "A of order ",
    "A neutral, y = p + 1",
    "with sign",
];

#[test]
fn ssh_keygen_accepts_all_that_holds_and_no_more_than_is_known() {
    let vectors: Vec<Vector> =
        serde_json::from_str(include_str!("../vectors/ours/signatures.json"))
            .expect("the vectors are JSON");
    assert!(vectors.len() >= 40);
    let folder = tempfile::tempdir().expect("a folder");
    let (signers, file) = (
        folder.path().join("signers"),
        folder.path().join("signature"),
    );
    for vector in &vectors {
        let bytes = |text: &str| hex::decode(text).expect("hexadecimal");
        let key = PublicKey::from_bytes(bytes(&vector.key).try_into().expect("32 bytes"));
        let signature =
            Signature::from_bytes(bytes(&vector.signature).try_into().expect("64 bytes"));
        let message = bytes(&vector.message);
        assert_eq!(
            key.verifies(&signed_data(&message), &signature),
            vector.holds,
            "{}",
            vector.name
        );
        std::fs::write(&signers, key.allowed_signers_line()).expect("written");
        std::fs::write(&file, format!("{}\n", armor(&key, &signature))).expect("written");
        let mut child = Command::new("ssh-keygen")
            .args([
                "-Y",
                "verify",
                "-I",
                "ledger@gently.invalid",
                "-n",
                "git",
                "-f",
            ])
            .arg(&signers)
            .arg("-s")
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("ssh-keygen runs");
        // It may have refused the key before it read anything.
        let _ = child.stdin.take().expect("its input").write_all(&message);
        let theirs = child.wait().expect("it ends").success();
        assert!(
            theirs || !vector.holds,
            "{}: ssh-keygen refuses what holds",
            vector.name
        );
        let known = LAXER.iter().any(|part| vector.name.contains(part));
        assert!(
            theirs == vector.holds || known,
            "{}: ssh-keygen accepts it",
            vector.name
        );
    }
}
