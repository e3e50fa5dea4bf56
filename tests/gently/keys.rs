//! Key files: modes, links, never overwritten, and read by stock `ssh-keygen`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gently::keys::{
    ALLOWED_SIGNERS, AUTH_KEY, AuthKey, KeyError, SIGNING_KEY, SIGNING_KEY_PUB, SigningKey,
};
use gently::keys::{allowed_signers, create_dir, os_random};
use gently::record::signature::{GIT_NAMESPACE, armor, signed_data};

/// A directory of keys in a temporary one.
struct Keys {
    _home: tempfile::TempDir,
    dir: PathBuf,
}

impl Keys {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("keys");
        create_dir(&dir).unwrap();
        Keys { _home: home, dir }
    }

    fn with_all() -> Self {
        let keys = Keys::new();
        AuthKey::from_bytes([5; 32])
            .save_new(&keys.path(AUTH_KEY))
            .unwrap();
        signing().save_new(&keys.path(SIGNING_KEY)).unwrap();
        allowed_signers::save_new(&keys.path(ALLOWED_SIGNERS), &[signing().public()]).unwrap();
        keys
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

fn signing() -> SigningKey {
    SigningKey::from_seed(&[0x11; 32])
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn ssh_keygen(args: &[&str], stdin: &[u8]) -> String {
    use std::io::Write;
    let mut child = Command::new("ssh-keygen")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("stock ssh-keygen is installed");
    child.stdin.take().unwrap().write_all(stdin).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(
        out.status.success(),
        "ssh-keygen {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn files_are_made_as_the_module_draws_them() {
    let keys = Keys::with_all();
    assert_eq!(mode(&keys.dir), 0o700);
    assert_eq!(mode(&keys.path(AUTH_KEY)), 0o600);
    assert_eq!(mode(&keys.path(SIGNING_KEY)), 0o600);
    assert_eq!(mode(&keys.path(SIGNING_KEY_PUB)) & 0o133, 0);
    assert_eq!(
        fs::read_to_string(keys.path(AUTH_KEY)).unwrap(),
        format!("{}\n", "05".repeat(32))
    );
    let public = fs::read_to_string(keys.path(SIGNING_KEY_PUB)).unwrap();
    assert_eq!(
        public,
        format!("{} ledger@gently.invalid\n", signing().public())
    );
    assert_eq!(fs::read_dir(&keys.dir).unwrap().count(), 4);

    assert_eq!(
        AuthKey::load(&keys.path(AUTH_KEY)).unwrap().hash(),
        AuthKey::from_bytes([5; 32]).hash()
    );
    assert_eq!(
        SigningKey::load(&keys.path(SIGNING_KEY)).unwrap().public(),
        signing().public()
    );
    assert_eq!(
        allowed_signers::load(&keys.path(ALLOWED_SIGNERS)).unwrap(),
        [signing().public()]
    );
}

#[test]
fn stock_ssh_keygen_reads_what_is_written_and_the_other_way_round() {
    let keys = Keys::with_all();
    let path = keys.path(SIGNING_KEY);
    let printed = ssh_keygen(&["-y", "-f", path.to_str().unwrap()], b"");
    assert_eq!(
        printed,
        fs::read_to_string(keys.path(SIGNING_KEY_PUB)).unwrap()
    );

    let theirs = keys.path("theirs");
    ssh_keygen(
        &[
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            "",
            "-f",
            theirs.to_str().unwrap(),
        ],
        b"",
    );
    let loaded = SigningKey::load(&theirs).unwrap();
    let public = fs::read_to_string(keys.path("theirs.pub")).unwrap();
    assert_eq!(public.trim_end(), loaded.public().to_string());

    // A signature of ours, checked by them.
    let signature = signing().sign(&signed_data(b"payload"));
    let file = keys.path("payload.sig");
    fs::write(
        &file,
        format!("{}\n", armor(&signing().public(), &signature)),
    )
    .unwrap();
    let (signers, file) = (keys.path(ALLOWED_SIGNERS), file.to_str().unwrap());
    let signers = signers.to_str().unwrap();
    ssh_keygen(
        &[
            "-Y",
            "verify",
            "-f",
            signers,
            "-I",
            "ledger@gently.invalid",
            "-n",
            GIT_NAMESPACE,
            "-s",
            file,
        ],
        b"payload",
    );
}

#[test]
fn a_wider_mode_is_refused_with_the_command_that_mends_it() {
    let load_auth = |keys: &Keys| AuthKey::load(&keys.path(AUTH_KEY)).map(|_| ());
    let load_signing = |keys: &Keys| SigningKey::load(&keys.path(SIGNING_KEY)).map(|_| ());
    let keys = Keys::with_all();
    for wide in [0o640, 0o604, 0o660, 0o644, 0o700, 0o610, 0o777] {
        chmod(&keys.path(AUTH_KEY), wide);
        chmod(&keys.path(SIGNING_KEY), wide);
        for (error, name) in [
            (load_auth(&keys), AUTH_KEY),
            (load_signing(&keys), SIGNING_KEY),
        ] {
            let error = error.unwrap_err();
            assert!(
                matches!(error, KeyError::Mode { expected: 0o600, actual, .. } if actual == wide),
                "{error}"
            );
            let said = error.to_string();
            let (path, command) = (keys.path(name), said.split('`').nth(1).unwrap());
            assert_eq!(command, format!("chmod 600 {}", path.display()));
            assert!(
                Command::new("sh")
                    .args(["-c", command])
                    .status()
                    .unwrap()
                    .success()
            );
            assert_eq!(mode(&path), 0o600);
        }
        load_auth(&keys).expect("mended");
        load_signing(&keys).expect("mended");
    }
    for wide in [0o750, 0o705, 0o755, 0o701, 0o770] {
        chmod(&keys.dir, wide);
        for error in [load_auth(&keys), load_signing(&keys)] {
            let said = error.unwrap_err().to_string();
            assert!(
                said.ends_with(&format!("run `chmod 700 {}`", keys.dir.display())),
                "{said}"
            );
        }
    }
    chmod(&keys.dir, 0o700);
    for narrow in [0o400, 0o600] {
        chmod(&keys.path(AUTH_KEY), narrow);
        load_auth(&keys).expect("narrower is fine");
    }
}

#[test]
fn links_and_what_is_no_file_are_refused() {
    let keys = Keys::with_all();
    let refused = |path: &Path, expected: &str| {
        for error in [
            AuthKey::load(path).unwrap_err(),
            SigningKey::load(path).unwrap_err(),
        ] {
            let said = error.to_string();
            assert!(
                matches!(error, KeyError::Kind { .. }) && said.contains(expected),
                "{said}"
            );
        }
    };
    let link = keys.path("link");
    symlink(keys.path(AUTH_KEY), &link).unwrap();
    refused(&link, "is a symbolic link, expected a regular file");
    fs::create_dir(keys.path("dir")).unwrap();
    refused(&keys.path("dir"), "is a directory, expected a regular file");
    // A pipe would make a reader wait for ever.
    assert!(
        Command::new("mkfifo")
            .arg(keys.path("pipe"))
            .status()
            .unwrap()
            .success()
    );
    refused(
        &keys.path("pipe"),
        "is a pipe, socket or device, expected a regular file",
    );
    let dir_link = keys.dir.with_file_name("linked");
    symlink(&keys.dir, &dir_link).unwrap();
    refused(
        &dir_link.join(AUTH_KEY),
        "is a symbolic link, expected a directory",
    );

    let missing = AuthKey::load(&keys.path("missing")).unwrap_err();
    assert!(matches!(missing, KeyError::Missing { .. }), "{missing}");
}

#[test]
fn nothing_is_overwritten() {
    let keys = Keys::with_all();
    let before: Vec<_> = [AUTH_KEY, SIGNING_KEY, SIGNING_KEY_PUB, ALLOWED_SIGNERS]
        .map(|name| fs::read(keys.path(name)).unwrap())
        .to_vec();
    let other = SigningKey::from_seed(&[0x22; 32]);
    assert!(matches!(
        create_dir(&keys.dir),
        Err(KeyError::Exists { .. })
    ));
    assert!(matches!(
        AuthKey::from_bytes([6; 32]).save_new(&keys.path(AUTH_KEY)),
        Err(KeyError::Exists { .. })
    ));
    assert!(matches!(
        other.save_new(&keys.path(SIGNING_KEY)),
        Err(KeyError::Exists { .. })
    ));
    let signers = allowed_signers::save_new(&keys.path(ALLOWED_SIGNERS), &[other.public()]);
    assert!(matches!(signers, Err(KeyError::Exists { .. })));
    // A link to nowhere is in the way too: following it would write elsewhere.
    symlink(keys.dir.with_file_name("elsewhere"), keys.path("new.key")).unwrap();
    assert!(matches!(
        AuthKey::from_bytes([6; 32]).save_new(&keys.path("new.key")),
        Err(KeyError::Exists { .. })
    ));
    assert!(!keys.dir.with_file_name("elsewhere").exists());
    // A public half without its private one: neither is written.
    fs::write(keys.path("half.key.pub"), "mine").unwrap();
    assert!(matches!(
        other.save_new(&keys.path("half.key")),
        Err(KeyError::Exists { .. })
    ));
    assert!(!keys.path("half.key").exists());
    let after: Vec<_> = [AUTH_KEY, SIGNING_KEY, SIGNING_KEY_PUB, ALLOWED_SIGNERS]
        .map(|name| fs::read(keys.path(name)).unwrap())
        .to_vec();
    assert_eq!(after, before);
}

#[test]
fn files_that_hold_something_else_are_refused_without_showing_it() {
    let keys = Keys::new();
    let digits = "ab".repeat(32);
    let path = keys.path(AUTH_KEY);
    let write = |path: &Path, text: &str| {
        fs::write(path, text).unwrap();
        chmod(path, 0o600);
    };
    for wrong in [
        "",
        "\n",
        &digits,
        &digits[2..],
        &format!("{digits}\n\n"),
        &format!("{digits}\r\n"),
        &digits.to_uppercase(),
    ] {
        write(&path, wrong);
        let error = AuthKey::load(&path).unwrap_err();
        assert!(
            matches!(error, KeyError::AuthKey { .. })
                && !error.to_string().to_lowercase().contains("abab"),
            "{error}"
        );
    }
    write(&path, &"a".repeat(100_000));
    assert!(matches!(AuthKey::load(&path), Err(KeyError::Large { .. })));

    let path = keys.path(SIGNING_KEY);
    for wrong in [
        "",
        "key",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n",
    ] {
        write(&path, wrong);
        assert!(
            matches!(SigningKey::load(&path), Err(KeyError::SigningKey { .. })),
            "{wrong}"
        );
    }
    for (args, right) in [
        (
            ["-t", "ed25519", "-N", "secret"],
            (|e| matches!(e, KeyError::Encrypted { .. })) as fn(&KeyError) -> bool,
        ),
        (["-t", "ecdsa", "-N", ""], |e| {
            matches!(e, KeyError::SigningKey { .. })
        }),
    ] {
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_file(keys.path(SIGNING_KEY_PUB));
        ssh_keygen(
            &[&["-q", "-f", path.to_str().unwrap()][..], &args[..]].concat(),
            b"",
        );
        let error = SigningKey::load(&path).unwrap_err();
        assert!(right(&error), "{error}");
    }
}

#[test]
fn the_system_s_randomness_makes_different_keys() {
    let (one, two) = (
        AuthKey::generate(&mut os_random).unwrap(),
        AuthKey::generate(&mut os_random).unwrap(),
    );
    assert_ne!(one.hash(), two.hash());
    let (one, two) = (
        SigningKey::generate(&mut os_random).unwrap(),
        SigningKey::generate(&mut os_random).unwrap(),
    );
    assert_ne!(one.public(), two.public());
    let fixed = SigningKey::generate(&mut |seed| {
        seed.fill(0x11);
        Ok(())
    });
    assert_eq!(fixed.unwrap().public(), signing().public());
}
