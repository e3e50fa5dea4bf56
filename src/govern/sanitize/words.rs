//! The words that call a value secret, and the everyday words that are none.

/// What a word says about the value that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
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

impl Class {
    /// Whether the word must stand at the start of a part of its name.
    pub(super) fn is_short(self) -> bool {
        matches!(self, Class::ShortPassword | Class::Key)
    }
}

/// Every word, in lower case.
pub(super) const WORDS: &[(&str, Class)] = &[
    ("password", Class::Password), ("passwd", Class::Password), ("passphrase", Class::Password),
    ("pass phrase", Class::Password), ("passcode", Class::Password), ("pswd", Class::Password),
    ("passwort", Class::Password), ("kennwort", Class::Password), ("mot de passe", Class::Password),
    ("motdepasse", Class::Password), ("contraseña", Class::Password), ("contrasena", Class::Password),
    ("palavra-passe", Class::Password), ("wachtwoord", Class::Password), ("lösenord", Class::Password),
    ("adgangskode", Class::Password), ("passord", Class::Password), ("salasana", Class::Password),
    ("hasło", Class::Password), ("heslo", Class::Password), ("jelszó", Class::Password), ("şifre", Class::Password),
    ("пароль", Class::Password), ("密码", Class::Password), ("密碼", Class::Password), ("口令", Class::Password),
    ("パスワード", Class::Password), ("비밀번호", Class::Password), ("비번", Class::Password),
    ("암호", Class::Password), ("securestring", Class::Password),
    ("pass", Class::ShortPassword), ("pwd", Class::ShortPassword), ("psw", Class::ShortPassword),
    ("pw", Class::ShortPassword), ("senha", Class::ShortPassword), ("parola", Class::ShortPassword),
    ("secret", Class::Token), ("token", Class::Token), ("apikey", Class::Token), ("api_key", Class::Token),
    ("api-key", Class::Token), ("api key", Class::Token), ("accesskey", Class::Token), ("access_key", Class::Token),
    ("access-key", Class::Token), ("access key", Class::Token), ("authkey", Class::Token),
    ("auth_key", Class::Token), ("auth-key", Class::Token), ("private_key", Class::Token),
    ("privatekey", Class::Token), ("private-key", Class::Token), ("private key", Class::Token),
    ("encryption_key", Class::Token), ("encryptionkey", Class::Token), ("encryption key", Class::Token),
    ("signing_key", Class::Token), ("signingkey", Class::Token), ("signing key", Class::Token),
    ("master_key", Class::Token), ("masterkey", Class::Token), ("license_key", Class::Token),
    ("licensekey", Class::Token), ("license key", Class::Token), ("account_key", Class::Token),
    ("accountkey", Class::Token), ("deploy_key", Class::Token), ("deploykey", Class::Token),
    ("storage_key", Class::Token), ("storagekey", Class::Token), ("shared_key", Class::Token),
    ("sharedkey", Class::Token), ("sharedaccesskey", Class::Token), ("sharedaccesssignature", Class::Token),
    ("app_key", Class::Token), ("appkey", Class::Token), ("client_key", Class::Token), ("user_key", Class::Token),
    ("userkey", Class::Token), ("stream_key", Class::Token), ("session_key", Class::Token),
    ("credential", Class::Token), ("bearer", Class::Token), ("sessionid", Class::Token),
    ("session_id", Class::Token), ("phpsessid", Class::Token), ("session id", Class::Token), ("authorization", Class::Token),
    ("auth_code", Class::Token), ("recovery code", Class::Token), ("nkey", Class::Token), ("webhook_key", Class::Token),
    ("otp_seed", Class::Token), ("secretkey", Class::Token), ("secret_key", Class::Token), ("apitoken", Class::Token), ("consumer_key", Class::Token), ("consumerkey", Class::Token),
    ("service_key", Class::Token), ("subscription-key", Class::Token), ("subscription_key", Class::Token),
    ("key", Class::Key),
    ("access", Class::Weak), ("private", Class::Weak), ("creds", Class::Weak), ("_auth", Class::Weak),
    ("_pat", Class::Weak), ("signature", Class::Weak), ("cookie", Class::Weak), ("jwt", Class::Weak),
    ("sonar.login", Class::Weak), ("cookie", Class::Weak), ("license", Class::Weak), ("salt", Class::Weak),
    ("leaked", Class::Cue), ("call the api", Class::Cue), ("still valid", Class::Cue), ("expired", Class::Cue),
    ("is rejected", Class::Cue), ("authenticate with", Class::Cue), ("rotate", Class::Cue),
];

/// Parts after a word that make it the name of something about a secret: `password_file`, `tokenType`.
const ABOUT: &[&str] = &[
    "alg", "algorithm", "argument", "arn", "at", "attempts", "attribute", "button", "change", "changed", "class", "cmd", "column", "command", "confirm", "confirmation", "count", "date", "dir", "directory", "duration", "enabled", "encoding", "encryption", "endpoint", "env", "error", "exp", "expiration", "expires", "expiry", "factory", "field", "file", "filename", "folder", "form", "format", "generator", "hash", "hashed", "header", "help", "hint", "icon", "id", "ids", "index", "input", "issuer", "label", "len", "length", "lifetime", "limit", "link", "location", "manager", "max", "message", "method", "min", "mode", "msg", "name", "names", "num", "page", "param", "parameter", "path", "pattern", "placeholder", "plugin", "policy", "prefix", "prompt", "property", "provider", "ref", "regex", "required", "reset", "rotation", "scope", "scopes", "service", "size", "source", "status", "store", "strength", "suffix", "text", "time", "title",
];
const ABOUT_MORE: &[&str] = &[
    "timeout", "ttl", "type", "types", "update", "updated", "uri", "url", "usage", "user", "valid", "validation", "validator", "version", "view", "visible",
];

/// Whether a part of a name says that the value is about a secret, and none itself.
pub(super) fn is_a_kind_of_name(part: &str) -> bool {
    let lower = part.to_ascii_lowercase();
    ABOUT.binary_search(&lower.as_str()).is_ok() || ABOUT_MORE.binary_search(&lower.as_str()).is_ok()
}

/// Everyday words that follow "password is", "token:" and the like in prose and help texts.
const COMMON: &[&str] = &[
    "a", "about", "above", "absent", "accepted", "active", "after", "again", "all", "allowed", "also", "always", "an", "and", "another", "any", "are", "as", "asked", "at", "auth", "authentication", "available", "bad", "based", "be", "because", "been", "before", "being", "below", "better", "between", "blank", "both", "but", "by", "called", "can", "cannot", "case", "change", "changed", "characters", "check", "checked", "combination", "common", "compromised", "configured", "confirm", "correct", "created", "currently", "database", "decrypted", "default", "defined", "different", "disabled", "displayed", "do", "does", "don't", "during", "each", "easily", "easy", "either", "else", "empty", "enabled", "encoded", "encrypted", "enter", "entered", "equal", "exactly", "expired", "field", "file", "fine", "first", "for", "forgotten", "from", "generated", "given", "good", "got", "guessed", "handled", "hard", "has", "hashed", "have", "here", "hidden", "how", "id", "if", "ignored", "important", "in", "incorrect", "input", "instead", "invalid", "is", "it", "its", "just", "keep", "kept", "known", "later", "least", "left", "less", "likely", "line", "local", "long", "longer", "lost", "made", "mandatory", "may", "missing", "more", "must", "my", "name", "needed", "needs", "never", "new", "no", "none", "not", "now", "null", "of", "off", "okay", "on", "once", "one", "only", "optional", "or", "other", "our", "output", "over", "part", "passed", "plain", "plaintext", "please", "possible", "present", "printed", "prompted", "protected", "provided", "read", "really", "request", "requested", "required", "reset", "right", "safe", "same", "saved", "secret", "secure", "sensitive", "sent", "server", "set", "shared", "short", "should", "shown", "simple", "so", "some", "someone", "something", "specified", "still", "stored", "string", "strong", "such", "supplied", "supposed", "sure", "taken", "text", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "too", "true", "type", "unique", "unknown", "unset", "until", "up", "use", "used", "user", "username", "using", "valid", "value", "verified", "very", "via", "was", "weak", "what",
];
const COMMON_MORE: &[&str] = &[
    "when", "where", "whether", "which", "while", "who", "whose", "why", "will", "with", "within", "without", "wrong", "you", "your",
];

/// Whether a word of prose is one of those, or has the form of one (`…ed`, `…ing`, `…able`).
pub(super) fn is_common(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let ending = ["ed", "ing", "able", "ible", "ation", "ment", "ly"];
    COMMON.binary_search(&lower.as_str()).is_ok()
        || COMMON_MORE.binary_search(&lower.as_str()).is_ok()
        || (lower.len() >= 6 && lower.bytes().all(|b| b.is_ascii_lowercase()) && ending.iter().any(|end| lower.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_in_lower_case() {
        for list in [ABOUT, ABOUT_MORE, COMMON, COMMON_MORE] {
            for two in list.windows(2) {
                assert!(two[0] < two[1], "{two:?}");
            }
        }
        for (word, _) in WORDS {
            assert_eq!(*word, word.to_lowercase());
        }
    }
}
