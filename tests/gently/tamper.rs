//! One thing changed in an honest ledger: the verifier finds it and names the place.
//!
//! Of the sample one byte of every object is changed (its place wanders with the object's number),
//! and every 401st byte of the log. Every single byte: of objects and refs in `tamper_bytes.rs`, of
//! the log in the unit tests of `src/verify/log/file.rs`, every value of the database in
//! `tamper_database.rs`.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ed25519_dalek::{Signer, SigningKey};
use gently::record::signature::{PublicKey, Signature, armor, signed_data};
use gently::verify::{Evidence, Finding, Report, verify};

use crate::verify::Sample;

pub(crate) fn git_bytes(repository: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut git = Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(input).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(output.status.success(), "git {args:?}");
    output.stdout
}

pub(crate) fn git(repository: &Path, args: &[&str]) -> String {
    String::from_utf8(git_bytes(repository, args, b""))
        .unwrap()
        .trim_end()
        .to_owned()
}

/// The bytes of a loose object's file.
pub(crate) fn loose(kind: &str, content: &[u8]) -> Vec<u8> {
    let level = gix::zlib::Compression::new(6).unwrap();
    let mut deflate = gix::zlib::stream::deflate::Write::new(Vec::new(), level);
    deflate
        .write_all(format!("{kind} {}\0", content.len()).as_bytes())
        .unwrap();
    deflate.write_all(content).unwrap();
    deflate.flush().unwrap();
    deflate.into_inner()
}

/// The honest ledger with every object in a file of its own.
struct Ledger {
    sample: Sample,
    path: PathBuf,
}

impl Ledger {
    fn honest() -> Self {
        let sample = Sample::unpack("honest");
        let path = sample.repository();
        let pack = fs::read_dir(path.join("objects/pack"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let pack = pack
            .into_iter()
            .find(|path| path.extension().is_some_and(|e| e == "pack"))
            .unwrap();
        let aside = sample.dir.path().join("aside.pack");
        fs::rename(&pack, &aside).unwrap();
        fs::remove_dir_all(path.join("objects/pack")).unwrap();
        git_bytes(&path, &["unpack-objects", "-q"], &fs::read(aside).unwrap());
        Ledger { sample, path }
    }

    fn report(&self) -> Report {
        self.sample.report()
    }

    fn with_log(&self, log: &[u8]) -> Report {
        let file = self.sample.dir.path().join("changed.log");
        fs::write(&file, log).unwrap();
        verify(&Evidence {
            repository: &self.path,
            log: Some(&file),
            checkpoint: Some(&self.sample.checkpoint()),
            signers: &self.sample.signers(),
        })
        .unwrap()
    }

    /// Every object: id, kind, content.
    fn objects(&self) -> Vec<(String, String, Vec<u8>)> {
        let list = git(
            &self.path,
            &[
                "cat-file",
                "--batch-all-objects",
                "--batch-check=%(objectname) %(objecttype)",
            ],
        );
        let pairs = list.lines().map(|line| line.split_once(' ').unwrap());
        pairs
            .map(|(id, kind)| {
                (
                    id.to_owned(),
                    kind.to_owned(),
                    git_bytes(&self.path, &["cat-file", kind, id], b""),
                )
            })
            .collect()
    }

    fn file_of(&self, id: &str) -> PathBuf {
        self.path.join("objects").join(&id[..2]).join(&id[2..])
    }

    /// Writes content under another object's id, as stock git would read it.
    fn overwrite(&self, id: &str, kind: &str, content: &[u8]) {
        let file = self.file_of(id);
        let _ = fs::remove_file(&file);
        fs::write(file, loose(kind, content)).unwrap();
    }

    fn tip(&self, reference: &str) -> String {
        git(&self.path, &["rev-parse", reference])
    }

    fn store(&self, kind: &str, content: &[u8]) -> String {
        String::from_utf8(git_bytes(
            &self.path,
            &["hash-object", "-t", kind, "-w", "--stdin"],
            content,
        ))
        .unwrap()
        .trim()
        .to_owned()
    }
}

fn names(report: &Report, place: &str) -> bool {
    report
        .findings
        .iter()
        .any(|finding| finding.place.contains(place))
}

fn places(report: &Report) -> Vec<&str> {
    report
        .findings
        .iter()
        .map(|finding: &Finding| finding.place.as_str())
        .collect()
}

#[test]
fn a_changed_byte_of_the_log_is_found_in_its_line() {
    let ledger = Ledger::honest();
    let log = fs::read(ledger.sample.log()).unwrap();
    for at in (0..log.len()).step_by(401) {
        let mut changed = log.clone();
        changed[at] ^= 0x01;
        let line = log[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let report = ledger.with_log(&changed);
        assert!(!report.passes(), "byte {at}");
        assert!(
            names(&report, &format!("audit.log line {line}")),
            "byte {at}: {:?}",
            places(&report)
        );
    }
}

#[test]
fn lines_dropped_doubled_and_swapped_are_found() {
    let ledger = Ledger::honest();
    let log = fs::read_to_string(ledger.sample.log()).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let joined = |lines: &[&str]| format!("{}\n", lines.join("\n")).into_bytes();
    for at in [0, 1, 13, 30, 56, 57, 58, 59] {
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        assert!(
            !ledger.with_log(&joined(&doubled)).passes(),
            "line {} twice",
            at + 1
        );
        let mut dropped = lines.clone();
        dropped.remove(at);
        let report = ledger.with_log(&joined(&dropped));
        let named = names(&report, "audit.log line") || names(&report, "audit.checkpoint");
        assert!(named, "line {} dropped: {:?}", at + 1, places(&report));
        if at == 59 {
            continue;
        }
        let mut swapped = lines.clone();
        swapped.swap(at, at + 1);
        assert!(
            !ledger.with_log(&joined(&swapped)).passes(),
            "line {} swapped",
            at + 1
        );
    }
    for (cut, place) in [
        (0, "audit.log line 1"),
        (40, "audit.log line 41"),
        (57, "audit.log line 58"),
    ] {
        let report = ledger.with_log(
            &lines[..cut]
                .iter()
                .flat_map(|line| [line, "\n"])
                .collect::<String>()
                .into_bytes(),
        );
        assert_eq!(
            report.answers.consistent.answer.word(),
            "yes",
            "a prefix of {cut} lines"
        );
        assert_eq!(report.answers.complete.answer.word(), "no");
        assert!(names(&report, place), "{:?}", places(&report));
    }
    let torn = ledger.with_log(&log.as_bytes()[..log.len() - 20]);
    assert_eq!(
        (
            torn.answers.consistent.answer.word(),
            torn.answers.complete.answer.word()
        ),
        ("yes", "no")
    );
    assert!(names(&torn, "audit.log line 60"), "{:?}", places(&torn));
}

#[test]
fn a_changed_byte_of_any_object_is_found_in_that_object() {
    let ledger = Ledger::honest();
    assert!(ledger.report().passes());
    let objects = ledger.objects();
    assert!(objects.len() > 100);
    for (n, (id, kind, content)) in objects.iter().enumerate() {
        let original = fs::read(ledger.file_of(id)).unwrap();
        let mut changed = content.clone();
        let at = n * 37 % changed.len();
        changed[at] ^= 0x01;
        ledger.overwrite(id, kind, &changed);
        let report = ledger.report();
        assert!(
            names(&report, id),
            "byte {at} of {kind} {id}: {:?}",
            places(&report)
        );
        assert_eq!(report.answers.consistent.answer.word(), "no");
        fs::remove_file(ledger.file_of(id)).unwrap();
        fs::write(ledger.file_of(id), original).unwrap();
    }
    assert!(ledger.report().passes());
}

#[test]
fn a_missing_torn_or_swapped_object_is_found() {
    let ledger = Ledger::honest();
    let objects = ledger.objects();
    for kind in ["commit", "tree", "blob"] {
        let of_kind: Vec<_> = objects.iter().filter(|object| object.1 == kind).collect();
        let (id, _, content) = of_kind[of_kind.len() / 2];
        let original = fs::read(ledger.file_of(id)).unwrap();
        let other = if kind == "blob" { "tree" } else { "blob" };
        let damages: [&dyn Fn(); 5] = [
            &|| fs::remove_file(ledger.file_of(id)).unwrap(),
            &|| {
                let _ = fs::remove_file(ledger.file_of(id));
                fs::write(ledger.file_of(id), &original[..original.len() / 2]).unwrap();
            },
            &|| {
                let _ = fs::remove_file(ledger.file_of(id));
                fs::write(ledger.file_of(id), b"").unwrap();
            },
            &|| ledger.overwrite(id, other, content),
            &|| ledger.overwrite(id, kind, &of_kind[0].2),
        ];
        for (n, damage) in damages.iter().enumerate() {
            damage();
            let report = ledger.report();
            assert!(
                names(&report, id),
                "damage {n} of {kind} {id}: {:?}",
                places(&report)
            );
        }
        let _ = fs::remove_file(ledger.file_of(id));
        fs::write(ledger.file_of(id), &original).unwrap();
    }
    assert!(ledger.report().passes());
}

#[test]
fn a_ref_moved_dropped_added_or_symbolic_is_found() {
    let ledger = Ledger::honest();
    let refs = [
        "refs/heads/main",
        "refs/heads/branch-1",
        "refs/heads/branch-7",
    ];
    let tips: Vec<String> = refs.iter().map(|name| ledger.tip(name)).collect();
    let genesis = git(
        &ledger.path,
        &["rev-list", "--max-parents=0", "refs/heads/main"],
    );
    for (n, name) in refs.iter().enumerate() {
        let back: Vec<String> = ["~1", "~2", "~4"]
            .iter()
            .map(|steps| ledger.tip(&format!("{name}{steps}")))
            .collect();
        let others = tips
            .iter()
            .filter(|tip| **tip != tips[n])
            .chain([&genesis])
            .chain(&back);
        for target in others {
            git(&ledger.path, &["update-ref", name, target]);
            let report = ledger.report();
            assert!(!report.passes());
            assert!(
                names(&report, name),
                "{name} moved to {target}: {:?}",
                places(&report)
            );
        }
        git(&ledger.path, &["update-ref", "-d", name]);
        assert!(names(&ledger.report(), name), "{name} dropped");
        let to = refs[(n + 1) % refs.len()];
        git(&ledger.path, &["symbolic-ref", name, to]);
        assert!(names(&ledger.report(), name), "{name} symbolic");
        fs::write(ledger.path.join(name), format!("{}x\n", tips[n])).unwrap();
        assert!(names(&ledger.report(), name), "{name} with a byte more");
        fs::write(ledger.path.join(name), &tips[n]).unwrap();
        assert!(names(&ledger.report(), name), "{name} without its newline");
        fs::write(ledger.path.join(name), format!("{}\n", tips[n])).unwrap();
    }
    assert!(ledger.report().passes());
    let replace = format!("refs/replace/{}", tips[0]);
    for added in [
        "refs/heads/branch-2",
        "refs/heads/branch-8",
        "refs/heads/other",
        "refs/tags/v1",
        "refs/remotes/o/main",
        &replace,
    ] {
        git(&ledger.path, &["update-ref", added, &tips[1]]);
        let report = ledger.report();
        // A branch of a ledger is judged; what hosts make is counted, and not read.
        let ours = added == "refs/heads/branch-2";
        assert_eq!(
            names(&report, added),
            ours,
            "{added}: {:?}",
            places(&report)
        );
        assert_eq!(
            (report.foreign_refs, report.passes()),
            (u64::from(!ours), !ours),
            "{added}"
        );
        git(&ledger.path, &["update-ref", "-d", added]);
    }
    assert!(ledger.report().passes());
}

/// Signs a commit as the owner of the second key can.
fn sign(headers: &str, message: &str) -> Vec<u8> {
    let key = SigningKey::from_bytes(&[0x22; 32]);
    let signature = Signature::from_bytes(
        key.sign(&signed_data(format!("{headers}\n{message}").as_bytes()))
            .to_bytes(),
    );
    let armored = armor(
        &PublicKey::from_bytes(key.verifying_key().to_bytes()),
        &signature,
    )
    .replace('\n', "\n ");
    format!("{headers}gpgsig {armored}\n\n{message}").into_bytes()
}

/// The tip of `main`, a close, taken apart: tree lines, headers and message.
fn close(ledger: &Ledger) -> (Vec<String>, String, String) {
    let text = String::from_utf8(git_bytes(
        &ledger.path,
        &["cat-file", "commit", "refs/heads/main"],
        b"",
    ))
    .unwrap();
    let (headers, rest) = text.split_once("gpgsig ").unwrap();
    let message = rest.split_once("\n\n").unwrap().1;
    let tree = git(&ledger.path, &["ls-tree", "refs/heads/main"])
        .lines()
        .map(str::to_owned)
        .collect();
    (tree, headers.to_owned(), message.to_owned())
}

#[test]
fn files_changed_with_new_names_and_an_old_signature_are_found() {
    let ledger = Ledger::honest();
    let tip = ledger.tip("refs/heads/main");
    let whole =
        String::from_utf8(git_bytes(&ledger.path, &["cat-file", "commit", &tip], b"")).unwrap();
    let (tree, _, _) = close(&ledger);
    for line in &tree {
        let (entry, name) = line.split_once('\t').unwrap();
        let id = entry.split(' ').nth(2).unwrap();
        let mut content = git_bytes(&ledger.path, &["cat-file", "blob", id], b"");
        let at = content.len() / 2;
        content[at] ^= 0x01;
        let changed = whole_tree(
            &ledger,
            &tree,
            &[(
                line,
                format!("100644 blob {}\t{name}", ledger.store("blob", &content)),
            )],
        );
        let forged = ledger.store(
            "commit",
            whole.replacen(&whole[5..45], &changed, 1).as_bytes(),
        );
        git(&ledger.path, &["update-ref", "refs/heads/main", &forged]);
        let report = ledger.report();
        assert!(names(&report, &forged), "{name}: {:?}", places(&report));
        assert_eq!(report.answers.signed_by.answer.word(), "no", "{name}");
    }
    git(&ledger.path, &["update-ref", "refs/heads/main", &tip]);
    assert!(ledger.report().passes());
}

fn whole_tree(ledger: &Ledger, tree: &[String], changes: &[(&String, String)]) -> String {
    let mut lines: Vec<String> = tree.to_vec();
    for (from, to) in changes {
        lines
            .iter_mut()
            .filter(|line| line == from)
            .for_each(|line| line.clone_from(to));
    }
    let text: String = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    String::from_utf8(git_bytes(&ledger.path, &["mktree"], text.as_bytes()))
        .unwrap()
        .trim()
        .to_owned()
}

/// The owner of the key can sign anything; the rules hold for him too.
#[test]
fn a_commit_that_its_owner_signed_against_the_rules_is_found() {
    let ledger = Ledger::honest();
    let (tree, headers, message) = close(&ledger);
    let tip = ledger.tip("refs/heads/main");
    let branch = ledger.tip("refs/heads/branch-1");
    let first = tree[0].clone();
    let of = |changes: &[(&String, String)]| {
        headers.replacen(&headers[5..45], &whole_tree(&ledger, &tree, changes), 1)
    };
    let second_parent = headers.lines().nth(2).unwrap().to_owned() + "\n";
    let date = headers.split_whitespace().rev().nth(1).unwrap().to_owned();
    let later = (date.parse::<u64>().unwrap() + 1).to_string();
    let cases: Vec<(&str, String, String)> = vec![
        ("as it was", headers.clone(), message.clone()),
        (
            "a file more",
            of(&[(
                &first,
                format!("{first}\n{}", first.replace("audit.log", "more")),
            )]),
            message.clone(),
        ),
        (
            "a file less",
            of(&[(&first, String::new())]),
            message.clone(),
        ),
        (
            "another name",
            of(&[(&first, first.replace("audit.log", "Audit.log"))]),
            message.clone(),
        ),
        (
            "executable",
            of(&[(&first, first.replace("100644", "100755"))]),
            message.clone(),
        ),
        (
            "a link",
            of(&[(&first, first.replace("100644", "120000"))]),
            message.clone(),
        ),
        (
            "no second parent",
            headers.replacen(&second_parent, "", 1),
            message.clone(),
        ),
        (
            "three parents",
            headers.replacen(
                &second_parent,
                &format!("{second_parent}parent {branch}\n"),
                1,
            ),
            message.clone(),
        ),
        (
            "another second parent",
            headers.replacen(&second_parent, &format!("parent {branch}\n"), 1),
            message.clone(),
        ),
        (
            "another date",
            headers.replace(&date, &later),
            message.clone(),
        ),
        (
            "another author",
            headers.replacen("author gently", "author Gently", 1),
            message.clone(),
        ),
        (
            "another zone",
            headers.replace("+0000", "+0100"),
            message.clone(),
        ),
        (
            "a trailer more",
            headers.clone(),
            format!("{message}Signed-off-by: x\n"),
        ),
        (
            "no last newline",
            headers.clone(),
            message.trim_end().to_owned(),
        ),
        (
            "another subject",
            headers.clone(),
            message.replacen("close:", "merge:", 1),
        ),
        (
            "another id in the subject",
            headers.clone(),
            message.replacen("close:5", "close:6", 1),
        ),
        (
            "trailers in another order",
            headers.clone(),
            swap_trailers(&message),
        ),
        (
            "a record of another document",
            headers.clone(),
            message.replacen("Record: 5", "Record: 6", 1),
        ),
        (
            "another line",
            headers.clone(),
            message.replacen("Log: 0", "Log: 1", 1),
        ),
        (
            "a header more",
            format!("{headers}encoding UTF-8\n"),
            message.clone(),
        ),
    ];
    for (name, headers, message) in &cases {
        let forged = ledger.store("commit", &sign(headers, message));
        git(&ledger.path, &["update-ref", "refs/heads/main", &forged]);
        let report = ledger.report();
        if *name == "as it was" {
            assert_eq!(forged, tip);
            assert!(report.passes());
            continue;
        }
        assert_ne!(forged, tip, "{name}");
        assert_eq!(report.answers.consistent.answer.word(), "no", "{name}");
        assert!(names(&report, &forged), "{name}: {:?}", places(&report));
    }
}

fn swap_trailers(message: &str) -> String {
    let mut lines: Vec<&str> = message.lines().collect();
    lines.swap(3, 4);
    format!("{}\n", lines.join("\n"))
}
