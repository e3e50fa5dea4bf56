//! The shapes of secrets: one rule a kind, compiled when one of its words is in a text.
//!
//! Shapes of vendors' tokens are public facts. Every expression is linear in the text (regex crate).

use std::sync::OnceLock;

use regex::Regex;

/// How a match is looked at before it counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// The shape alone is proof.
    Shape,
    /// Said to be a password: at least four characters, and no stand-in or code.
    Password,
    /// Said to be a key or token: at least eight characters of mixed kinds, and no stand-in or code.
    Token,
}

/// One rule. Its first capture group that took part is the secret, else the whole match.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    /// Lower case; none of them in the text means no match.
    words: &'static [&'static str],
    pattern: &'static str,
    pub(super) check: Check,
    regex: OnceLock<Option<Regex>>,
}

const fn rule(kind: &'static str, words: &'static [&'static str], pattern: &'static str, check: Check) -> Rule {
    Rule { kind, words, pattern, check, regex: OnceLock::new() }
}

const fn shape(kind: &'static str, words: &'static [&'static str], pattern: &'static str) -> Rule {
    rule(kind, words, pattern, Check::Shape)
}

impl Rule {
    /// The expression, when a word of the rule is in the text (given in lower case).
    pub(super) fn regex(&self, lower: &str) -> Option<&Regex> {
        if !self.words.iter().any(|word| lower.contains(word)) {
            return None;
        }
        // A word border of ASCII keeps the fast engine on any text.
        let compile = || Regex::new(&self.pattern.replace(r"\b", r"(?-u:\b)")).ok();
        self.regex.get_or_init(compile).as_ref()
    }
}

/// Whether a value that a name calls a secret may be one.
pub(super) fn plausible(value: &str, check: Check) -> bool {
    match check {
        Check::Shape => true,
        Check::Password => value.chars().count() >= 4 && !stands_in(value),
        Check::Token => value.chars().count() >= 8 && mixed(value) && !stands_in(value),
    }
}

/// Letters and digits, letters of both cases, or many digits: what prose words and constants are not.
fn mixed(value: &str) -> bool {
    let has = |test: fn(&char) -> bool| value.chars().any(|c| test(&c));
    let letters = has(char::is_ascii_alphabetic);
    let inner_case = value.chars().skip(1).any(|c| c.is_ascii_uppercase()) && has(char::is_ascii_lowercase);
    let digits = has(char::is_ascii_digit);
    (letters && digits) || (inner_case && value.len() >= 20) || (digits && value.len() >= 24)
}

const STAND_INS: [&str; 26] = [
    "pass",
    "pwd",
    "user",
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "string",
    "password",
    "passwd",
    "secret",
    "token",
    "example",
    "redacted",
    "hidden",
    "required",
    "optional",
    "empty",
    "input",
    "text",
    "value",
    "default",
    "self",
    "this",
];
const CODE_STARTS: [&str; 16] = [
    "$",
    "<",
    "{",
    "%",
    "@",
    "os.",
    "env.",
    "process.",
    "self.",
    "this.",
    "config.",
    "settings.",
    "getenv",
    "request.",
    "your",
    "function",
];

/// A stand-in for a secret, or code that fetches one.
fn stands_in(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let first = lower.chars().next();
    let same = lower.chars().all(|c| Some(c) == first);
    let call = lower.split_once('(').is_some_and(|(head, _)| !head.is_empty() && head.chars().all(identifier))
        || lower.contains("::")
        || (lower.contains('.') && lower.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '.')))
        || lower.contains("===");
    // PASSWORD, NATS_PASSWORD, confirm_password: a name, not a value.
    let name = value.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        || (lower.ends_with("password") && value.chars().all(identifier));
    let path = lower.starts_with('/') && lower.matches('/').count() > 1;
    same || call
        || name
        || path
        || STAND_INS.contains(&lower.as_str())
        || CODE_STARTS.iter().any(|start| lower.starts_with(start))
        || lower.contains("://")
}

fn identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':')
}

/// All rules; where matches overlap, the earlier rule names the kind.
pub(super) static RULES: [Rule; 64] = [
    shape(
        "private-key",
        &["private key"],
        r"-{2,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{2,5}(?:(?:[^-]|-[^-])*-{2,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{2,5}|[A-Za-z0-9+/=\s\\]*)",
    ),
    shape("private-key", &["private-lines"], r"Private-Lines: *[0-9]+\s+([A-Za-z0-9+/=\s]+)"),
    shape("private-key", &["age-secret-key"], r"AGE-SECRET-KEY-1[0-9A-Za-z]{58}"),
    shape(
        "certificate",
        &["begin certificate"],
        r"-----BEGIN CERTIFICATE-----(?:[^-]|-[^-])*-----END CERTIFICATE-----",
    ),
    shape(
        "aws-access-key",
        &["akia", "asia", "abia", "acca", "a3t"],
        r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    ),
    shape(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{22,255})",
    ),
    shape(
        "gitlab-token",
        &["gl"],
        r"\b(?:gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.=-]{20,300}|GR1348941[A-Za-z0-9_-]{20})",
    ),
    shape("anthropic-key", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{20,200}"),
    shape("openai-key", &["sk-"], r"\bsk-(?:(?:proj|svcacct|admin|None|or-v1)-)?[A-Za-z0-9_-]{20,200}"),
    shape(
        "slack-token",
        &["xox", "xapp-"],
        r"\b(?:xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,255}|xapp-[0-9]-[A-Za-z0-9-]{20,255})",
    ),
    shape(
        "webhook",
        &["hooks.slack.com", "webhook.office.com", "discord"],
        r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)/|[a-z0-9]+\.webhook\.office\.com/webhookb2/|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9_/@+-]{20,300})",
    ),
    shape(
        "google-key",
        &["aiza", "ya29.", "gocspx-"],
        r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,400}|\bGOCSPX-[A-Za-z0-9_-]{20,40}",
    ),
    shape(
        "stripe-key",
        &["sk_", "rk_", "pk_", "whsec_"],
        r"\b(?:[srp]k_(?:live|test|prod)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{24,100})",
    ),
    shape("sendgrid-key", &["sg."], r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    shape("twilio-key", &["sk", "ac"], r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    shape("npm-token", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}"),
    shape("pypi-token", &["pypi-"], r"\bpypi-[A-Za-z0-9_-]{50,1000}"),
    shape("huggingface-token", &["hf_", "api_org_"], r"\b(?:hf_|api_org_)[A-Za-z0-9]{30,40}\b"),
    shape("digitalocean-token", &["_v1_"], r"\bdo[opr]_v1_[a-f0-9]{64}"),
    shape("shopify-token", &["shp"], r"\bshp(?:at|ca|pa|ss|tka)_[A-Za-z0-9]{32,64}"),
    shape("square-token", &["sq0", "eaaa"], r"\bsq0[a-z]{3}-[A-Za-z0-9_-]{22,60}|\bEAAA[A-Za-z0-9_-]{60}"),
    shape("facebook-token", &["eaa"], r"\bEAA[A-Za-z0-9]{50,300}"),
    shape("mailgun-key", &["key-"], r"\bkey-[0-9a-f]{32}\b"),
    shape("mailchimp-key", &["-us"], r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    shape("telegram-token", &[":a"], r"\b[0-9]{7,10}:A[A-Za-z0-9_-]{34}"),
    shape("discord-token", &["."], r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    shape("vault-token", &["hvs.", "hvb.", "hvr."], r"\bhv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    shape("linear-key", &["lin_"], r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    shape("databricks-token", &["dapi"], r"\bdapi[A-Fa-f0-9]{30,34}(?:-[0-9])?"),
    shape("grafana-token", &["glsa_", "glc_"], r"\b(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,400})"),
    shape("newrelic-key", &["nrak-", "nrii-", "nrjs-", "nrra-"], r"\bNR(?:AK|II|JS|RA|IQ)-[A-Za-z0-9]{19,42}"),
    shape("postman-key", &["pmak-"], r"\bPMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}"),
    shape("pulumi-token", &["pul-"], r"\bpul-[a-f0-9]{40}"),
    shape("rubygems-key", &["rubygems_"], r"\brubygems_[a-f0-9]{48}"),
    shape("terraform-token", &["atlasv1"], r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    shape("doppler-token", &["dp."], r"\bdp\.(?:pt|st|ct|scim|audit|sa)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    shape("planetscale-token", &["pscale_"], r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    shape("dynatrace-token", &["dt0"], r"\bdt0[a-z][0-9]{2}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    shape("sentry-token", &["sntry"], r"\bsntry[su]_[A-Za-z0-9_+/=]{40,300}"),
    shape("figma-token", &["figd_"], r"\bfigd_[A-Za-z0-9_-]{38,44}"),
    shape("airtable-token", &["pat"], r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    shape("notion-token", &["ntn_", "secret_"], r"\b(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})\b"),
    shape("tailscale-key", &["tskey-"], r"\btskey-[A-Za-z0-9-]{15,80}"),
    shape("atlassian-token", &["atatt3", "atctt3"], r"\bAT[AC]TT3[A-Za-z0-9_=-]{60,250}"),
    shape("docker-token", &["dckr_"], r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,40}"),
    shape("groq-key", &["gsk_"], r"\bgsk_[A-Za-z0-9]{40,60}"),
    shape("replicate-token", &["r8_"], r"\br8_[A-Za-z0-9]{37}\b"),
    shape("perplexity-key", &["pplx-"], r"\bpplx-[A-Za-z0-9]{40,60}"),
    shape(
        "prefixed-key",
        &[
            "sgp_", "cfat_", "cfut_", "cfk_", "vcp_", "vci_", "vca_", "vcr_", "vck_", "tvly-", "fo1_", "sqp_", "squ_",
            "sqa_", "ops_eyj", "ccipat_", "sbp_", "fio-u-", "secret-", "ezak", "eztk", "duffel_", "hrku-", "swmtkn-",
            "dnkey-", "igqv", "1//0", "nral",
        ],
        r"\b(?:sgp_(?:local_|[a-f0-9]{16}_)?|cf(?:at|ut|k)_|vc[pirak]_|tvly-(?:dev-)?|fo1_|sq[pua]_|ops_|CCIPAT_|sbp_|fio-u-|EZ[AT]K|duffel_(?:test|live)_|HRKU-|SWMTKN-1-|dnkey-|IGQV|1//0)[A-Za-z0-9_=+/-]{28,400}",
    ),
    shape(
        "prefixed-key",
        &["_api_", "_pat_", "_live_", "_test_", "_prod_", "api-", "_sk_"],
        r"\b(?:[a-z]{2,12}[_-](?:api|pat|sk|live|test|prod)[_-][A-Za-z0-9_]{0,8}[A-Fa-f0-9]{32,80}|xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}|shippo_(?:live|test)_[a-f0-9]{40})\b",
    ),
    shape("jwt", &["ey"], r"\bey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,3}"),
    shape(
        "azure-key",
        &["accountkey", "sharedaccess"],
        r"(?i)\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%&._-]{20,})",
    ),
    rule(
        "url-password",
        &["://"],
        r#"\b[A-Za-z][A-Za-z0-9+.-]{1,24}://[^\s/:@"'<>]{0,100}:([^\s/"'<>]{1,200})@[A-Za-z0-9\[]"#,
        Check::Password,
    ),
    rule(
        "bearer-token",
        &["bearer", "token"],
        r#"(?i)\b(?:bearer|authorization["']?\s*[:=]\s*["']?token)[ \t]+["']?([A-Za-z0-9._~+/=-]{12,})"#,
        Check::Token,
    ),
    rule("basic-auth", &["basic"], r"(?i)\bbasic[ \t]+([A-Za-z0-9+/]{8,}={0,2})", Check::Token),
    rule(
        "password",
        &["pass", "pwd", "psw", "pw"],
        r#"(?i)(?:pass(?:word|wd|phrase|code)?|p?s?swo?r?d|pwd|\bpw)(?-i:s|[A-Z0-9_][A-Za-z0-9_]{0,16})?["'\]]{0,2}(?: string)?[ \t]{0,20}(?:=>|:=|\.=|[!=]==?|=|:)\s{0,4}(?:"([^"\r\n]{4,200})"|'([^'\r\n]{4,200})'|`([^`\r\n]{4,200})`|([^\s"'`,;<>=({&#][^\s"'`,;<>]{3,200}))"#,
        Check::Password,
    ),
    rule(
        "password",
        &["pass", "pwd", "token", "secret", "key"],
        r#"(?i)(?:^|\s)--?(?:pass(?:word|wd|phrase)?|pwd|(?:auth-|access-)?token|secret|api-?key)(?:=|[ \t]+)["']?([^\s"'-][^\s"']{3,200})"#,
        Check::Password,
    ),
    rule(
        "password",
        &["-u", "--user"],
        r#"(?:^|\s)(?:-u|--user)[ =]{0,2}["']?[^\s:"'/]{1,60}:([^\s"'/]{4,200})"#,
        Check::Token,
    ),
    rule(
        "password",
        &["password", "identified by"],
        r#"(?i)\b(?:password|identified by|define password)(?: is)?[ \t]{1,4}["']([^"'\r\n ]{4,200})["']"#,
        Check::Password,
    ),
    rule(
        "password",
        &["password", "passphrase", "passwd"],
        r#"(?i)\b(?:password|passphrase|passwd)(?: [a-z]+){0,4} (?:is|was|to)[: ]+["'`]?([^\s"'`]{6,200})"#,
        Check::Token,
    ),
    rule(
        "password",
        &["key=\"", "token>", "password>", "secret>", "key>"],
        r#"(?i)(?:key="[a-z0-9_.-]{0,40}(?:password|secret|token|key)[a-z0-9_.-]{0,20}"\s+value="([^"\r\n]{4,400})"|<[a-z0-9_.:-]{0,40}(?:password|secret|token|key)>\s*([^\s<>]{4,400})\s*</)"#,
        Check::Password,
    ),
    shape(
        "password-hash",
        &["$1$", "$2", "$5$", "$6$", "$y$", "$argon2"],
        r"\$(?:1|5|6|y|2[abxy]|argon2(?:id|i|d))\$[A-Za-z0-9./=,$+-]{20,200}",
    ),
    rule(
        "secret",
        &["secret", "key", "token", "credential", "_pat"],
        r#"(?i)(?:secret|[a-z0-9]{2,20}_key|_pat|api[_-]?key|apikey|access[_-]?key|auth[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|token|credentials?)(?-i:s|[A-Z0-9_][A-Za-z0-9_]{0,16})?["'\]]{0,2}(?: string)?[ \t]{0,20}(?:=>|:=|\.=|[!=]==?|=|:)\s{0,4}(?:"([^"\s]{8,400})"|'([^'\s]{8,400})'|`([^`\s]{8,400})`|([^\s"'`,;<>=({\[&#][^\s"'`,;<>(){}\[\]]{7,400}))"#,
        Check::Token,
    ),
    rule(
        "secret",
        &["secret", "key", "token"],
        r#"(?i)(?:secret|secret[_-]?key|access[_-]?key|api[_-]?key|token|key|_private)(?: is)?[ \t]{1,4}["'`]?([A-Za-z0-9_+/=-]{24,400})"#,
        Check::Token,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles_and_has_a_word() {
        for rule in &RULES {
            let word = rule.words.first().unwrap();
            assert!(rule.words.iter().all(|w| w.to_ascii_lowercase() == **w), "{}", rule.kind);
            assert!(rule.regex(word).is_some(), "{}: {}", rule.kind, rule.pattern);
            assert!(rule.kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", rule.kind);
        }
    }

    #[test]
    fn stand_ins_and_code_are_no_secrets() {
        for value in
            ["${PASSWORD}", "<password>", "None", "********", "getpass()", "os.environ['X']", "your_password", "abc"]
        {
            assert!(!plausible(value, Check::Password), "{value}");
        }
        for value in ["hunter2", "correct horse battery", "p@ss"] {
            assert!(plausible(value, Check::Password), "{value}");
        }
        assert!(plausible("a8f5f167f44f4964e6c998dee827110c", Check::Token));
        assert!(!plausible("authentication", Check::Token));
        assert!(!plausible("12345678", Check::Token));
    }
}
