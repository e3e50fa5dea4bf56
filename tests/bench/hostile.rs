//! Texts that were made to be slow: one construct over and over, and what no construct is.

/// Families of such texts, by name: a piece that is repeated.
const PIECES: &[(&str, &str)] = &[
    ("escapes", "%41"),
    ("escaped signs", "%3D"),
    ("entities", "&quot;"),
    ("assignments without a value", "password="),
    ("assignments", "password=x1y2z3 "),
    ("quotes left open", "password: \""),
    ("quoted words", "password \"aa bb "),
    ("words that call", "key "),
    ("sentences", "the password is "),
    ("elements", "<password>"),
    ("log-ins", "log in with "),
    ("one letter", "a"),
    ("capitals", "A"),
    ("mixed", "aB3"),
    ("dots", "."),
    ("short keywords", "sk-"),
    ("heads of tokens", "eyJ"),
    ("tokens after tokens", "eyJhbGciOi.eyJhbGciOi"),
    ("addresses", "https://a:bcde@f "),
    ("addresses without an end", "://"),
    ("markers", "-----BEGIN"),
    ("blocks without a body", "-----BEGIN PRIVATE KEY-----"),
    ("open brackets", "[redacted:"),
    ("placeholders", "[redacted:password]x"),
    ("joined strings", "\"a\"+\"b\""),
    ("lines that go on", "\\\n"),
    ("tags in tokens", "ab<b>"),
    ("signs that are not seen", "a&shy;"),
    ("quoted lines", "ab\n> "),
    ("blocks of YAML", "token: |\n  a"),
    ("second values", "token = x || "),
    ("signs where a key is told", "leaked q|&hHhxr4qBxZ>M "),
    ("cut tokens", "ab12cd34ef56ab78\n"),
    ("invisible characters", "a\u{200b}"),
    ("look-alikes", "a\u{430}"),
    ("commands", "mysql -p"),
    ("words of a seed", "mnemonic word word "),
    ("credentials", "creds: a / b "),
    ("users", "user bob password zebra "),
    ("ends of sentences", "zebra is the password "),
    ("quoted phrases", "the password is \"aa bb cc\" "),
    ("headers", "Authorization: Bearer a1B2c3D4e5F6g7H8\n"),
    ("pairs in base64", "Basic dXNlcjpwYXNzd29yZDE= "),
    ("flags", "-u a:bcdef "),
    ("one-time passwords", "otp \""),
    ("hashes", "$6$aaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ("tokens in JSON", "{\"token\":\"q8w7e6r5t4y3u2i1\"},"),
    ("nested JSON", "{\\\"password\\\":\\\""),
    ("elements with values", "<password>x1y2z3</password>"),
    ("passwords of connections", ";password=a1b2c3"),
    ("names in capitals", "DB_PASSWORD_"),
    ("names of functions", "getPasswordToken("),
    ("machines", "machine a login b password c1d2e3 "),
    ("codes", "the code is "),
    ("prompts", "when prompted "),
    ("purposes", "use aB3dE6gH9 to log in "),
    ("services", "datadog_key="),
    ("names of services", "twilio "),
    ("secrets of clusters", "kind: Secret\ndata:\n  a: b\n"),
    (
        "lines of base64",
        "MIIEpAIBAAKCAQEA7bqK3x9Zt1Qd8Lw2MIIEpAIBAAKCAQEA7bqK3x9Zt1Qd8Lw2\n",
    ),
    (
        "lines of digests",
        "39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69\n",
    ),
    ("identifiers", "123e4567-e89b-42d3-a456-426614174000 "),
    ("blanks", "password          "),
    ("empty lines", "\n"),
    (
        "words of other scripts",
        "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c} ",
    ),
    ("wide words", "\u{ff50}\u{ff41}\u{ff53}\u{ff53} "),
    ("terminal colours", "\u{1b}[32mkey\u{1b}[0m"),
    ("signs of secrets", "leaked "),
];

/// Numbers that look random and are the same everywhere (xorshift).
fn random(bytes: usize, alphabet: &[u8], word: usize) -> String {
    let mut state = 88_172_645_463_325_252_u64;
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let end_of_word = text.len() % (word + 1) == word;
        text.push(if end_of_word {
            ' '
        } else {
            char::from(alphabet[(state >> 20) as usize % alphabet.len()])
        });
    }
    text
}

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Every family, as texts of about so many bytes.
pub fn families(bytes: usize) -> Vec<(&'static str, String)> {
    let mut all: Vec<(&str, String)> = PIECES
        .iter()
        .map(|(name, piece)| (*name, piece.repeat(bytes / piece.len())))
        .collect();
    let passwords: String = (0..bytes / 24)
        .map(|at| format!("password=aB{:06}xy{at:06}\n", at * 7919 % 1_000_000))
        .collect();
    all.push(("a thousand passwords", passwords));
    all.push(("random words", random(bytes, BASE64, 40)));
    all.push(("one random word", random(bytes, BASE64, usize::MAX - 1)));
    let printable: Vec<u8> = (32..127).collect();
    all.push(("random text", random(bytes, &printable, usize::MAX - 1)));
    all
}
