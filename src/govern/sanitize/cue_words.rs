//! The words that call a value secret, and the everyday words that are none.

/// What a word says about the value that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CueClass {
    /// Something a person may have chosen: any four characters.
    Password,
    /// The same, as a word so short that it stands in others.
    ShortPassword,
    /// Something a machine made: eight random characters.
    Token,
    /// A key of any kind.
    Key,
    /// A word that secrets and much else have in their names.
    Weak,
    /// Only a sign that a secret is near.
    Cue,
}

/// A word that calls something secret, where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct CueWord {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) class: CueClass,
}

impl CueClass {
    /// Whether the word calls a password.
    pub(super) fn is_password(self) -> bool {
        matches!(self, CueClass::Password | CueClass::ShortPassword)
    }

    /// Whether the word must stand at the start of a part of its name.
    pub(super) fn is_short(self) -> bool {
        matches!(self, CueClass::ShortPassword | CueClass::Key)
    }
}

/// Every word by what it says, in lower case.
#[rustfmt::skip]
pub(super) const WORDS: &[(CueClass, &[&str])] = &[
    (CueClass::Password, &[
        "password", "passwd", "paswd", "passwrd", "paswrd", "pswrd", "psswd", "psswrd", "psword", "pssword", "pasword",
        "passphrase", "pass phrase", "passcode", "pswd", "passwort", "kennwort",
        "mot de passe", "mots de passe", "motdepasse", "mdp", "contraseña", "contrasena", "haslo", "palavra-passe", "wachtwoord", "lösenord",
        "adgangskode", "passord", "salasana", "hasło", "heslo", "jelszó", "şifre", "пароль", "密码", "密碼", "口令",
        "パスワード", "비밀번호", "비밀 번호", "비번", "암호", "패스워드", "пароля", "kodeord", "mật khẩu", "รหัสผ่าน",
        "كلمة المرور", "סיסמה", "पासवर्ड", "kata sandi", "parolă", "lozinka", "slaptažodis", "securestring",
    ]),
    (CueClass::ShortPassword, &[
        "pass", "pwd", "psw", "pw", "senha", "parola",
    ]),
    (CueClass::Token, &[
        "secret", "token", "apikey", "api_key", "api-key", "api key", "accesskey", "access_key", "access-key",
        "access key", "authkey", "auth_key", "auth-key", "private_key", "privatekey", "private-key",
        "private key", "encryption_key", "encryptionkey", "encryption key", "signing_key", "signingkey",
        "signing key", "master_key", "masterkey", "license_key", "licensekey", "license key",
        "account_key", "accountkey", "deploy_key", "deploykey", "storage_key", "storagekey", "shared_key",
        "sharedkey", "sharedaccesskey", "sharedaccesssignature", "app_key", "appkey", "client_key", "user_key",
        "userkey", "stream_key", "session_key", "credential", "bearer", "sessionid", "session_id", "phpsessid",
        "session id", "authorization", "auth_code", "recovery code", "nkey", "webhook_key", "otp_seed", "otp seed", "totp secret",
        "secretkey", "secret_key", "pepper", "apitoken", "consumer_key", "consumerkey", "service_key",
        "subscription-key", "subscription_key",
    ]),
    (CueClass::Key, &[
        "key",
    ]),
    (CueClass::Weak, &[
        "access", "private", "creds", "_auth", "_pat", "signature", "cookie", "jwt", "sonar.login", "license",
        "salt", "nonce", "auth", "hmac",
    ]),
    (CueClass::Cue, &[
        "leaked", "call the api", "still valid", "expired", "is rejected", "authenticate with", "rotate",
    ]),
];

/// Parts after a word that make it the name of something about a secret: `password_file`,
/// `tokenType`.
#[rustfmt::skip]
const ABOUT: &[&str] = &[
    "alg", "algorithm", "argument", "arn", "at", "attempts", "attribute", "button", "change", "changed", "class",
    "cmd", "column", "command", "confirm", "confirmation", "count", "date", "dir", "directory", "duration", "enabled",
    "encoding", "encryption", "endpoint", "env", "error", "exp", "expiration", "expires", "expiry", "factory",
    "field", "file", "filename", "folder", "form", "format", "generator", "hash", "hashed", "hasher", "hashing", "header", "help", "hint",
    "icon", "id", "ids", "index", "input", "issuer", "label", "len", "length", "lifetime", "limit", "link",
    "location", "manager", "max", "message", "method", "min", "mode", "msg", "name", "names", "num", "page", "param",
    "parameter", "path", "pattern", "placeholder", "plugin", "policy", "prefix", "prompt", "property", "provider",
    "ref", "regex", "required", "reset", "rotation", "scope", "scopes", "service", "size", "source", "status",
    "store", "strength", "suffix", "text", "time", "title",
];
#[rustfmt::skip]
const ABOUT_MORE: &[&str] = &[
    "timeout", "ttl", "type", "types", "update", "updated", "uri", "url", "usage", "user", "valid", "validation",
    "validator", "version", "view", "visible",
];

/// Whether a part of a name says that the value is about a secret, and none itself.
pub(super) fn is_a_kind_of_name(part: &str) -> bool {
    static LISTS: [Lexicon; 2] = [Lexicon::new(ABOUT), Lexicon::new(ABOUT_MORE)];
    LISTS.iter().any(|list| list.has(part))
}

/// Everyday words that follow "password is", "token:" and the like in prose and help texts.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "a", "about", "above", "absent", "accepted", "active", "after", "again", "all", "allowed", "also", "always", "an",
    "and", "another", "any", "are", "as", "asked", "at", "auth", "authentication", "available", "bad", "based", "be",
    "because", "been", "before", "being", "below", "better", "between", "blank", "both", "but", "by", "called", "can",
    "cannot", "case", "change", "changed", "characters", "check", "checked", "combination", "common", "compromised",
    "configured", "confirm", "correct", "created", "currently", "database", "decrypted", "default", "defined",
    "different", "disabled", "displayed", "do", "does", "don't", "done", "due", "during", "each", "easily", "easy", "either", "else",
    "empty", "enabled", "encoded", "encrypted", "enter", "entered", "equal", "exactly", "expired", "field", "file",
    "fine", "first", "for", "forgotten", "from", "generated", "given", "good", "got", "guessed", "handled", "hard",
    "has", "hashed", "have", "here", "hidden", "how", "id", "if", "ignored", "important", "in", "incorrect", "input",
    "instead", "invalid", "is", "it", "its", "just", "keep", "kept", "known", "later", "least", "left", "less",
    "likely", "line", "local", "long", "longer", "lost", "made", "mandatory", "may", "missing", "more", "must", "my",
    "name", "needed", "needs", "never", "new", "no", "none", "not", "now", "null", "of", "off", "okay", "on", "once",
    "one", "only", "optional", "or", "other", "our", "output", "over", "part", "passed", "plain", "plaintext",
    "please", "possible", "present", "printed", "prompted", "protected", "provided", "read", "really", "request",
    "requested", "required", "reset", "right", "safe", "said", "same", "saved", "secret", "secure", "sensitive", "sent",
    "server", "set", "shared", "short", "should", "shown", "simple", "so", "some", "someone", "something",
    "specified", "still", "stored", "string", "strong", "stronger", "such", "supplied", "supposed", "sure", "taken", "text",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "too", "true", "type",
    "unique", "unknown", "unset", "until", "up", "use", "used", "user", "username", "using", "valid", "value",
    "verified", "very", "via", "was", "weak", "weaker", "what",
];
/// The same in German, French, Spanish and Italian: what is said of passwords there.
#[rustfmt::skip]
const COMMON_ELSEWHERE: &[&str] = &[
    "abgelaufen", "aquí", "correct", "correcta", "correcto", "débil", "erforderlich", "errata", "expiré", "expirée",
    "falsch", "falsche", "falsches", "faux", "geheim", "gespeichert", "geändert", "gut", "immer", "incorrecta",
    "incorrecte", "incorrecto", "invalide", "inválida", "korrekt", "kurz", "leer", "necesaria", "nicht", "noch",
    "notwendig", "nécessaire", "nötig", "obbligatoria", "obligatoire", "obligatoria", "oublié", "requerida", "requis",
    "requise", "richtig", "scaduta", "schlecht", "schwach", "segura", "sicher", "trop", "ungültig", "unsicher",
    "vergessen", "verschlüsselt", "vide", "weg", "zurückgesetzt",
];
#[rustfmt::skip]
const COMMON_MORE: &[&str] = &[
    "when", "where", "whether", "which", "while", "who", "whose", "why", "will", "with", "within", "without", "worse", "wrong",
    "you", "your",
];

/// Whether a word of prose is one of those, or has the form of one (`…ed`, `…ing`, `…able`).
pub(super) fn is_common(word: &str) -> bool {
    static LISTS: [Lexicon; 3] = [
        Lexicon::new(COMMON),
        Lexicon::new(COMMON_MORE),
        Lexicon::new(COMMON_ELSEWHERE),
    ];
    let ends = |end: &&str| {
        word.get(word.len() - end.len()..)
            .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    LISTS.iter().any(|list| list.has(word))
        || (word.len() >= 6
            && ["ed", "ing", "able", "ible", "ation", "ment", "ly"]
                .iter()
                .any(ends)
            && word.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// Words in lower case, sorted; most others are told from them by their first letter and their
/// length.
pub(super) struct Lexicon {
    words: &'static [&'static str],
    /// For each first letter, and for what is none, a bit for every length.
    lengths: [u64; 27],
    /// For each first letter, where its words begin and end.
    places: [(u16, u16); 27],
}

/// Longer than any word of a list.
const MAX_LISTED: usize = 32;

impl Lexicon {
    pub(super) const fn new(words: &'static [&'static str]) -> Self {
        let (mut lengths, mut places, mut at) = ([0; 27], [(0, 0); 27], 0);
        while at < words.len() {
            let word = words[at].as_bytes();
            assert!(word.len() < MAX_LISTED);
            let first = letter(word[0]);
            if lengths[first] == 0 {
                places[first].0 = at as u16;
            }
            places[first].1 = at as u16 + 1;
            lengths[first] |= 1 << word.len();
            at += 1;
        }
        Lexicon {
            words,
            lengths,
            places,
        }
    }

    /// Whether a text is one of the words, in capitals or small letters.
    pub(super) fn has(&self, text: &str) -> bool {
        let Some(first) = text.bytes().next() else {
            return false;
        };
        let first = letter(first);
        if text.len() >= MAX_LISTED || self.lengths[first] & (1 << text.len()) == 0 {
            return false;
        }
        let mut lower = [0; MAX_LISTED];
        let lower = &mut lower[..text.len()];
        lower.copy_from_slice(text.as_bytes());
        lower.make_ascii_lowercase();
        let (from, to) = self.places[first];
        self.words[usize::from(from)..usize::from(to)]
            .binary_search_by(|word| word.as_bytes().cmp(lower))
            .is_ok()
    }
}

const fn letter(b: u8) -> usize {
    let b = b.to_ascii_lowercase();
    if b.is_ascii_lowercase() {
        (b - b'a') as usize
    } else {
        26
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_in_lower_case() {
        for list in [ABOUT, ABOUT_MORE, COMMON, COMMON_MORE, COMMON_ELSEWHERE] {
            for two in list.windows(2) {
                assert!(two[0] < two[1], "{two:?}");
            }
        }
        for word in WORDS.iter().flat_map(|(_, words)| *words) {
            assert_eq!(*word, word.to_lowercase());
        }
    }
}
