//! Tables and properties of the sanitizer.

use proptest::prelude::*;

use super::*;

/// Joined at run time, so that scanners of repositories find no token here.
fn token(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn secrets_are_replaced_by_their_kind() {
    let aws = token(&["AKIA", "Z7QX2LMNPD", "4TWBGH"]);
    let github = token(&["ghp", "_", "x7Qm2Lp9Vd4TwBgHs8Kc3Rf6Yj1Nz5Aa0UeE"]);
    let jwt =
        token(&["eyJhbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", ".", "dBjftJeZ4CVPmB92K27uhbUJU1p1r"]);
    for (text, expected) in [
        (format!("key {aws} end"), "key [redacted:aws-access-key] end"),
        (format!("push with {github}."), "push with [redacted:github-token]."),
        (format!("Authorization: Bearer {jwt}"), "Authorization: Bearer [redacted:jwt]"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZDE=".into(), "Authorization: Basic [redacted:basic-auth]"),
        ("postgres://app:s3cr3t!@db.local/x".into(), "postgres://app:[redacted:url-password]@db.local/x"),
        ("password=hunter2".into(), "password=[redacted:password]"),
        ("\"password\": \"correct horse\",".into(), "\"password\": \"[redacted:password]\","),
        ("DB_PASSWORD=tr0ub4dor\nHOME=/x".into(), "DB_PASSWORD=[redacted:password]\nHOME=/x"),
        ("api_key: 9f8e7d6c5b4a39281706".into(), "api_key: [redacted:secret]"),
        ("export APP_SECRET='q8w7e6r5t4y3'".into(), "export APP_SECRET='[redacted:secret]'"),
        ("tool --password swordf1sh --verbose".into(), "tool --password [redacted:password] --verbose"),
        ("The password for it is Tr0ub4dor&3.".into(), "The password for it is [redacted:password]."),
    ] {
        assert_eq!(redact(&text).clean.as_str(), expected, "{text}");
    }
}

#[test]
fn a_private_key_goes_whole() {
    let label = token(&["RSA PRIVATE", " KEY"]);
    let body = "MIIEpAIBAAKCAQEA7bq\nabc123+/=\n";
    let whole = format!("a\n-----BEGIN {label}-----\n{body}-----END {label}-----\nb");
    assert_eq!(redact(&whole).clean.as_str(), "a\n[redacted:private-key]\nb");
    let cut = format!("a\n-----BEGIN {label}-----\n{body}");
    assert_eq!(redact(&cut).clean.as_str(), "a\n[redacted:private-key]");
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "id 123e4567-e89b-42d3-a456-426614174000",
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "version 1.22.333-rc.4+build.5",
        "What is a good password policy?",
        "The password is required.",
        "password=${DB_PASSWORD}",
        "token = get_token(session)",
        "see https://example.org:8080/path@v2",
        "a basic understanding of tokens",
        "The bearer of this letter",
        "[redacted:password] and [redacted:jwt-2]",
        "",
    ] {
        let redaction = redact(text);
        assert_eq!(redaction.clean.as_str(), text);
        assert!(redaction.found.is_empty());
    }
}

#[test]
fn one_secret_has_one_number() {
    let (first, second) = (token(&["AKIA", "Z7QX2LMNPD4TWBGH"]), token(&["AKIA", "Q6PY3KMNPD5RWCGJ"]));
    let redaction = redact(&format!("{first} {second} {first}"));
    assert_eq!(
        redaction.clean.as_str(),
        "[redacted:aws-access-key] [redacted:aws-access-key-2] [redacted:aws-access-key]"
    );
    assert_eq!(redaction.found.len(), 3);
    assert_eq!((redaction.found[1].start, redaction.found[1].end), (21, 41));
    // A placeholder that was there keeps its number to itself.
    assert_eq!(
        redact("[redacted:password] password=hunter2").clean.as_str(),
        "[redacted:password] password=[redacted:password-2]"
    );
    // Said once by name, a secret goes everywhere.
    assert_eq!(
        redact("password=abcd1234efgh, yes abcd1234efgh").clean.as_str(),
        "password=[redacted:password], yes [redacted:password]"
    );
}

#[test]
fn brackets_hide_nothing() {
    for text in [
        "password=[redacted:hunter2x]",
        "password=[redacted:password]hunter2x",
        "password=[redacted:password-hunter2x]",
    ] {
        assert!(!redact(text).clean.as_str().contains("hunter2x"), "{text}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,4}",
        Just("password=".to_owned()),
        Just("password: \"".to_owned()),
        Just("--token ".to_owned()),
        Just("[redacted:password]".to_owned()),
        Just("[redacted:secret-2]".to_owned()),
        Just("[redacted:".to_owned()),
        Just("https://u:".to_owned()),
        Just("@host".to_owned()),
        Just("Bearer ".to_owned()),
        Just("the password is ".to_owned()),
        Just("-----BEGIN X PRIVATE ".to_owned() + "KEY-----"),
        Just("abcd1234EFGH5678".to_owned()),
        Just("\n".to_owned()),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|v| v.concat())
}

proptest! {
    #[test]
    fn redacting_twice_is_redacting_once(text in pieces()) {
        let once = redact(&text);
        let twice = redact(once.clean.as_str());
        prop_assert_eq!(once.clean.as_str(), twice.clean.as_str());
        prop_assert!(twice.found.is_empty());
        for pair in once.found.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
    }
}

#[test]
fn many_findings_and_open_brackets_stay_linear() {
    // Quadratic handling of any of these would take minutes, not a blink.
    let label = token(&["PRIVATE", " KEY"]);
    for piece in ["password=abcd1234efgh ", "[redacted:", "[redacted:password]x", "ey-ey-", "https://a:bcde@f "] {
        let text = piece.repeat(60_000 / piece.len());
        let _ = redact(&text);
    }
    let open = format!("-----BEGIN {label}-----").repeat(2000);
    assert_eq!(redact(&open).found.len(), 2000);
}
