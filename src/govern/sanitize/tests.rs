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
    let jwt = token(&[
        "eyJhbGciOiJIUzI1NiJ9",
        ".",
        "eyJzdWIiOiIxMjM0NTY3ODkwIn0",
        ".",
        "dBjftJeZ4CVPmB92K27uhbUJU1p1r",
    ]);
    for (text, expected) in [
        (
            format!("key {aws} end"),
            "key [redacted:aws-access-key] end",
        ),
        (
            format!("push with {github}."),
            "push with [redacted:github-token].",
        ),
        (
            format!("Authorization: Bearer {jwt}"),
            "Authorization: Bearer [redacted:jwt]",
        ),
        (
            "Authorization: Basic dXNlcjpwYXNzd29yZDE=".into(),
            "Authorization: Basic [redacted:basic-auth]",
        ),
        (
            "postgres://app:s3cr3t!@db.local/x".into(),
            "postgres://app:[redacted:url-password]@db.local/x",
        ),
        ("password=hunter2".into(), "password=[redacted:password]"),
        (
            "\"password\": \"correct horse\",".into(),
            "\"password\": \"[redacted:password]\",",
        ),
        (
            "DB_PASSWORD=tr0ub4dor\nHOME=/x".into(),
            "DB_PASSWORD=[redacted:password]\nHOME=/x",
        ),
        (
            "api_key: 9f8e7d6c5b4a39281706".into(),
            "api_key: [redacted:secret]",
        ),
        (
            "export APP_SECRET='q8w7e6r5t4y3'".into(),
            "export APP_SECRET='[redacted:secret]'",
        ),
        (
            "tool --password swordf1sh --verbose".into(),
            "tool --password [redacted:password] --verbose",
        ),
        (
            "The password for it is Tr0ub4dor&3.".into(),
            "The password for it is [redacted:password].",
        ),
    ] {
        assert_eq!(redact(&text).clean.as_str(), expected, "{text}");
    }
}

#[test]
fn a_private_key_goes_whole() {
    let label = token(&["RSA PRIVATE", " KEY"]);
    let body = "MIIEpAIBAAKCAQEA7bq\nabc123+/=\n";
    let whole = format!("a\n-----BEGIN {label}-----\n{body}-----END {label}-----\nb");
    assert_eq!(
        redact(&whole).clean.as_str(),
        "a\n[redacted:private-key]\nb"
    );
    let cut = format!("a\n-----BEGIN {label}-----\n{body}");
    assert_eq!(redact(&cut).clean.as_str(), "a\n[redacted:private-key]\n");
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
        "no key file /srv/.tmpAb3dEf6hI/keys/auth.key",
        "chmod 600 /var/lib/x7Qm2Lp9Vd4T/key",
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
    let (first, second) = (
        token(&["AKIA", "Z7QX2LMNPD4TWBGH"]),
        token(&["AKIA", "Q6PY3KMNPD5RWCGJ"]),
    );
    let redaction = redact(&format!("{first} {second} {first}"));
    assert_eq!(
        redaction.clean.as_str(),
        "[redacted:aws-access-key] [redacted:aws-access-key-2] [redacted:aws-access-key]"
    );
    assert_eq!(redaction.found.len(), 3);
    assert_eq!((redaction.found[1].start, redaction.found[1].end), (21, 41));
    // A placeholder that was there keeps its number to itself.
    assert_eq!(
        redact("[redacted:password] password=hunter2")
            .clean
            .as_str(),
        "[redacted:password] password=[redacted:password-2]"
    );
    // Said once by name, a secret goes everywhere.
    assert_eq!(
        redact("password=abcd1234efgh, yes abcd1234efgh")
            .clean
            .as_str(),
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

#[test]
fn forms_of_configuration_and_code_that_put_a_value_elsewhere() {
    for form in [
        "adafruit_token: |\n  {}",
        "adafruit_token: >-\n    {}",
        "ADAFRUIT_TOKEN :::= \"{}\"",
        "adafruitToken = process.env.T || \"{}\"",
        "adafruitToken = env('T') ?: '{}';",
        "adafruit_token = os.getenv('T') or \"{}\"",
        "adafruit_token = live ? other : \"{}\"",
    ] {
        for value in ["f2y4l6u42yp6sunsthnnt6n0cg7fzhag", "vp7k8ugdmpoiblli"] {
            let text = form.replace("{}", value);
            assert!(!redact(&text).clean.as_str().contains(value), "{text}");
        }
    }
    for text in [
        "token: |\n  This is what the token is for.",
        "token = x ? y : \"none\"",
        "password = given || \"\"",
        "token: > 5 times",
    ] {
        assert_eq!(redact(text).clean.as_str(), text);
    }
}

#[test]
fn a_value_that_code_calculates_is_no_token() {
    for text in [
        "    total_tokens = 50+len(a)//4\n",
        "max_tokens=int(n*1.3)+8",
        "token: 3*self.count(x)[0]-1,",
        "api_key = (first+1)*key_length(4)",
    ] {
        assert_eq!(redact(text).clean.as_str(), text);
    }
    for text in [
        "password = 50+len(a)//4",
        "token = \"50+len(a)//4\"",
        "token = 50+(zwD26NeyMCvBsR9nxfaybLHD7TcLh22O)//4",
        "token = 5+vp7k8ugdmpoiblli(4)",
    ] {
        assert!(redact(text).clean.as_str().contains("[redacted:"), "{text}");
    }
}

#[test]
fn signs_in_disorder_where_a_secret_is_spoken_of() {
    for text in [
        "why does this key give me a 401? q|&hHhxr4qBxZ>MZ",
        "I think I leaked WAzCXU0;nnBI$CXq!Sh on github",
        "nS#9v)Kd>2QxZ!p(mT\n\n^ is this still valid, my key?",
    ] {
        let clean = redact(text).clean;
        assert!(
            clean.as_str().contains("[redacted:"),
            "{text}: {}",
            clean.as_str()
        );
    }
    for text in [
        "my key is read by `os.environ['API_KEY']` here",
        "my key stands in https://example.org/a?b=C1&d=E2#f!x",
        "I leaked it with [this](https://example.org/A1?b=2&c;d)",
        "q|&hHhxr4qBxZ>MZ and nothing more",
        "my key is checked by fn test_utf_16be_decode_bom_prefixed_split_byte_pair",
        "this token is read by '+]*([0-9]+|[*])?(\\.([0-9]+|[*]))?' there",
    ] {
        assert_eq!(redact(text).clean.as_str(), text);
    }
}

#[test]
fn a_token_that_marks_cut_is_one() {
    let token = ["AKIA", "HACKSW4JNR6OBZUE"];
    for (before, between, after) in [
        ("", "<wbr>", ""),
        ("<b>", "</b>", ""),
        ("**", "**", ""),
        ("", "&shy;", ""),
        ("> ", "\n> ", ""),
        ("`", "``", "`"),
        ("", "=\r\n", ""),
        ("<span>", "</span><span class=x>", "</span>"),
    ] {
        let text = format!(
            "it is {before}{}{between}{}{after} there",
            token[0], token[1]
        );
        let clean = redact(&text).clean;
        assert!(
            !clean.as_str().contains(token[1]) && clean.as_str().ends_with("there"),
            "{text}: {}",
            clean.as_str()
        );
    }
    // What is whole before a mark ends there.
    let text = format!("> {}{}\n> HereIsMore words", token[0], token[1]);
    assert!(
        redact(&text)
            .clean
            .as_str()
            .ends_with("\n> HereIsMore words")
    );
}

#[test]
fn a_token_is_found_however_it_is_masked_or_cut() {
    let github = token(&["ghp", "_", "x7Qm2Lp9Vd4TwBgHs8Kc3Rf6Yj1Nz5Aa0UeE"]);
    let (head, tail) = github.split_at(20);
    let wide: String = github
        .chars()
        .map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap())
        .collect();
    for text in [
        format!("{head}\u{200b}{tail}"),
        format!("{head}\u{ad}{tail}"),
        wide,
        github.replace('e', "\u{435}").replace('a', "\u{430}"),
        format!("\u{1b}[32m{github}\u{1b}[0m"),
        format!("\"{head}\" + \"{tail}\""),
        format!("\"{head}\"\n    \"{tail}\""),
        format!("x = {head}\\\n{tail}"),
        format!("{head}\n{tail}\n"),
        github.replace('_', "%5F"),
        format!("password%3D{github}"),
    ] {
        let clean = redact(&text).clean;
        assert!(!clean.as_str().contains("Wg"), "{clean}");
        assert!(
            !clean.as_str().contains(&tail[4..]) && clean.as_str().contains("[redacted:"),
            "{text:?}: {clean}"
        );
    }
    for (text, expected) in [
        (
            "value YWRtaW46c3VwZXJzM2NyZXQ= set",
            "value [redacted:encoded-secret] set",
        ),
        (
            "password\u{ff1a} hunter2",
            "password\u{ff1a} [redacted:password]",
        ),
        (
            "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}: hunter2",
            "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}: [redacted:password]",
        ),
    ] {
        assert_eq!(redact(text).clean.as_str(), expected);
    }
}

#[test]
fn passwords_are_heard_in_sentences() {
    for (text, secret) in [
        (
            "the wifi password is qpizpdq2twofr if you need it",
            "qpizpdq2twofr",
        ),
        ("mot de passe : vvvicb2", "vvvicb2"),
        ("log in with admin / Tr0ub4dor", "Tr0ub4dor"),
        ("use hunter2 as the password", "hunter2"),
        ("I set the password to K9!mmm yesterday", "K9!mmm"),
        ("id/pw: master/iPp6@GRq", "iPp6@GRq"),
        (
            "my key is `zwD26NeyMCvBsR9nxfaybLHD`.",
            "zwD26NeyMCvBsR9nxfaybLHD",
        ),
    ] {
        assert!(!redact(text).clean.as_str().contains(secret), "{text}");
    }
    for text in [
        "if the password is wrong, try again",
        "the password is stored in the database",
        "What is the password for?",
        "This command asks for a password. You can set it to provide one.",
        "the 16,000 token `gpt-3.5-turbo-16k` model",
    ] {
        assert_eq!(redact(text).clean.as_str(), text);
    }
}

#[test]
fn a_session_gives_one_secret_one_number() {
    let mut numbers = Placeholders::new([7; 32]);
    let first = redact_with("password=hunter2", &mut numbers);
    assert_eq!(first.clean.as_str(), "password=[redacted:password]");
    let given = numbers.take_new();
    assert_eq!(
        given
            .iter()
            .map(|new| (new.kind.as_str(), new.number))
            .collect::<Vec<_>>(),
        [("password", 1)]
    );
    // Another process, with what is on record.
    let mut numbers = Placeholders::known([7; 32], given);
    let second = redact_with("password=swordf1sh, once password=hunter2", &mut numbers);
    assert_eq!(
        second.clean.as_str(),
        "password=[redacted:password-2], once password=[redacted:password]"
    );
    assert_eq!(numbers.take_new().len(), 1);
    assert!(
        redact_with(second.clean.as_str(), &mut numbers)
            .found
            .is_empty()
    );
}

#[test]
fn our_own_rules_are_read_and_all_compile() {
    let engine = Engine::new(&[]).unwrap();
    for rule in engine.expressions() {
        assert!(rule.1, "{}", rule.0);
    }
    for kind in engine.kinds() {
        assert!(
            kind.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
            "{kind}"
        );
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
        for found in &once.found {
            prop_assert!(found.start < found.end && text.get(found.start..found.end).is_some());
        }
        for pair in once.found.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
    }
}

#[test]
fn what_people_say_about_passwords_is_read() {
    for text in [
        "the password is Kd93mfpq2",
        "use Kd93mfpq2 to log in as admin",
        "log in using Kd93mfpq2",
        "you can log in as deploy with Kd93mfpq2",
        "here's the pw - Kd93mfpq2",
        "creds: admin / Kd93mfpq2",
        "login: admin:Kd93mfpq2",
        "try Kd93mfpq2 as the passphrase",
        "pw \u{2192} Kd93mfpq2",
        "password should be Kd93mfpq2",
        "I set PGPASSWORD to Kd93mfpq2",
        "ssh into 10.0.0.4 with deploy / Kd93mfpq2",
        "connect with user bob pass Kd93mfpq2",
        "user is deploy, password Kd93mfpq2, host 10.0.0.4",
        "the password was changed to Kd93mfpq2",
        "password \"Kd93mfpq2\" is rejected",
        "My password Kd93mfpq2 got rejected",
        "the wifi is guestnet and the code is Kd93mfpq2",
        "enter Kd93mfpq2 when prompted for the password",
        "when it asks for a password type Kd93mfpq2",
        "authenticate as svc-ci using Kd93mfpq2",
        "Credentials are bob@example.org and Kd93mfpq2",
        "email bob@example.org password: Kd93mfpq2",
        "le mot de passe est Kd93mfpq2",
    ] {
        let clean = redact(text).clean;
        assert!(!clean.as_str().contains("Kd93"), "{text}: {clean}");
    }
    for (text, rest) in [
        ("my pin is 482913", "my pin is [redacted:password]"),
        (
            "hunter2 is my password",
            "[redacted:password] is my password",
        ),
        (
            "The passphrase is \"purple monkey dishwasher\".",
            "The passphrase is \"[redacted:password]\".",
        ),
    ] {
        assert_eq!(redact(text).clean.as_str(), rest);
    }
}

#[test]
fn what_people_say_without_a_password_stays() {
    for text in [
        "What is the password policy for user accounts?",
        "use bcrypt to log in",
        "log in using OAuth2",
        "log in with GitHub to continue",
        "You can log in as admin with SSO",
        "the password must be at least 12 characters",
        "passwords are hashed with SHA256 or PBKDF2",
        "the token expired at 2026-11-22T08:00:00Z",
        "the pin is 5 mm wide",
        "The code is in main.rs",
        "the code is ISO-3166",
        "login using SAML2 is broken",
        "type Ctrl+C when it asks for a password",
        "use user2 to log in",
        "user is deploy, password authentication is disabled",
        "user accounts use password hashing (argon2id)",
        "username and password are required",
        "the password was changed to something better",
        "the password is set to expire",
        "authenticate using Ed25519",
        "connect with TLSv1.3",
        "if password != confirm_password: raise ValueError(1)",
        "our webhook secret is rotated daily",
    ] {
        assert_eq!(redact(text).clean.as_str(), text);
    }
}

#[test]
fn configuration_of_all_forms_is_read() {
    for text in [
        "machine example.org login bob password Kd93mfpq2",
        "db.example.org:5432:app:bob:Kd93mfpq2",
        "ansible_ssh_pass=Kd93mfpq2",
        "ansible_become_password: Kd93mfpq2",
        "  password = \"Kd93mfpq2\" # terraform",
        "variable \"db_password\" { default = \"Kd93mfpq2\" }",
        "<connectionString>Server=x;User Id=sa;Password=Kd93mfpq2;</connectionString>",
        "mongodb+srv://app:Kd93mfpq2@cluster0.example.net/test",
        "requirepass Kd93mfpq2",
        "-Dspring.datasource.password=Kd93mfpq2",
        "MYSQL_ROOT_PASSWORD: Kd93mfpq2",
        "--set auth.password=Kd93mfpq2",
        "wget --http-password=Kd93mfpq2 https://example.org",
        "curl -u bob:Kd93mfpq2 https://example.org",
        "enable secret 5 Kd93mfpq2",
        "WIFI:T:WPA;S:net;P:Kd93mfpq2;;",
        "os.getenv(\"DB_PASSWORD\", \"Kd93mfpq2\")",
        "PASWORD=Kd93mfpq2",
        "[client]\npassword=Kd93mfpq2\n",
        "{\"password\":\"Kd93mfpq2\"}",
        "{\"body\": \"{\\\"password\\\": \\\"Kd93mfpq2\\\"}\"}",
    ] {
        let clean = redact(text).clean;
        assert!(
            !clean.as_str().contains("Kd93") && clean.as_str().contains("[redacted:"),
            "{text}: {clean}"
        );
    }
}

#[test]
fn secrets_in_secrets_and_over_one_another_leave_nothing() {
    use base64::Engine as _;
    let github = token(&["ghp", "_", "x7Qm2Lp9Vd4TwBgHs8Kc3Rf6Yj1Nz5Aa0UeE"]);
    let aws = token(&["AKIA", "Z7QX2LMNPD4TWBGH"]);
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("bob:{github}"));
    for text in [
        format!("https://bob:{github}@example.org/x"),
        format!("password={github}"),
        format!("Authorization: Bearer {github}"),
        format!("token = \"{aws}{github}\""),
        format!("{aws}{github}"),
        format!("password: {aws} password: {github}"),
        format!("-H \"Authorization: Basic {encoded}\""),
        format!("{{\"auths\": {{\"x\": {{\"auth\": \"{encoded}\"}}}}}}"),
        format!("url=https%3A%2F%2Fbob%3A{github}%40example.org"),
    ] {
        let clean = redact(&text).clean;
        for part in [&github[4..20], &github[20..], &aws[4..], &encoded[4..20]] {
            assert!(!clean.as_str().contains(part), "{text}: {clean}");
        }
    }
}

#[test]
fn far_from_what_was_found_the_text_is_the_same_to_the_rules() {
    // More than one piece is looked at again, and a public block reaches over the edges of both.
    let line = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA7bqK3x9Zt1Qd8Lw2aB3d\n";
    let public = format!(
        "-----BEGIN PUBLIC KEY-----\n{}-----END PUBLIC KEY-----\n",
        line.repeat(300)
    );
    let text = format!("password=hunter2x\n{public}password=hunter3y\n");
    let once = redact(&text);
    assert_eq!(
        once.clean.as_str(),
        format!("password=[redacted:password]\n{public}password=[redacted:password-2]\n")
    );
    assert_eq!(redact(once.clean.as_str()).clean, once.clean);
}

#[test]
fn many_findings_and_open_brackets_stay_linear() {
    // Quadratic handling of any of these would take minutes, not a blink.
    let label = token(&["PRIVATE", " KEY"]);
    for piece in [
        "password=abcd1234efgh ",
        "[redacted:",
        "[redacted:password]x",
        "ey-ey-",
        "https://a:bcde@f ",
    ] {
        let text = piece.repeat(60_000 / piece.len());
        let _ = redact(&text);
    }
    let open = format!("-----BEGIN {label}-----").repeat(2000);
    // A marker without a body is a mention of one.
    assert!(redact(&open).found.is_empty());
    for piece in [
        "password=",
        "-----BEGIN",
        "\u{200b}",
        "\"",
        "key ",
        "%41",
        "aB3",
        "\\\n",
    ] {
        let text = piece.repeat(60_000 / piece.len());
        let _ = redact(&text);
    }
}

/// Code that looks for the word says nothing of a password; a sentence with the same words does.
#[test]
fn a_word_that_code_looks_for_calls_nothing() {
    for text in [
        "if 'password' in ql or 'login' in ql: a=\"Please use the form.\"",
        "    elif \"password\" not in q.lower() and x: a = \"See the wiki for it\"",
        "if 'password' in t and 'reset' in t: return \"Please ask\"",
        "x = 1 if 'password' in ql else 2; a=\"Please use\"",
    ] {
        assert_eq!(redact(text).clean.as_str(), text);
    }
    for text in [
        "if you want the 'password' in short: Blue4Fox-77",
        "if the 'password' is wrong: use Blue4Fox-77",
        "if 'password' in ql: password = \"Blue4Fox-77\"",
        "if 'password' in the vault fails, the password is Blue4Fox-77",
    ] {
        let clean = redact(text).clean;
        assert!(
            !clean.as_str().contains("Blue4Fox-77"),
            "{}",
            clean.as_str()
        );
    }
}
