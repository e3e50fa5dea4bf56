//! The hard gates (AEGIS 6.2): what fails one is kept out, whatever its score, and the reason is on
//! record.

use std::sync::LazyLock;

use regex::Regex;

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::redact;

use super::candidate::{Candidate, Confidence, TurnCandidate};

/// Why something was kept out. The codes stand in `exclusions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExclusionReason {
    /// It does not say where it is from.
    NotSourced,
    /// Phase or tier do not allow it, or it was denied or withheld.
    AuthorityIncompatible,
    /// An answer, or a turn of deep history, that is about a topic which the kernel in force
    /// forbids.
    Forbidden,
    /// The sanitizer finds a secret in it.
    Sensitive,
    /// A dump or a binary, not a statement.
    EvidenceBlob,
    /// A fact that nobody ratified.
    Unratified,
    /// A correction of whose confidence less than half is left.
    Faded,
    /// Its text is erased.
    Erased,
    /// Its text was never kept.
    NotKept,
    /// A question that got no answer, among the last ones, which nobody named by itself: it was
    /// asked again, or given up.
    Unanswered,
    /// The ring holds as many artifacts as the kernel allows.
    RingCapItems,
    /// The ring has no room left for it.
    RingCapTokens,
}

impl ExclusionReason {
    /// The code as bundle and database have it, such as `stale`.
    pub const fn code(self) -> &'static str {
        match self {
            ExclusionReason::NotSourced => "not_sourced",
            ExclusionReason::AuthorityIncompatible => "authority_incompatible",
            ExclusionReason::Forbidden => "forbidden",
            ExclusionReason::Sensitive => "sensitive",
            ExclusionReason::EvidenceBlob => "evidence_blob_disallowed",
            ExclusionReason::Unratified => "unratified",
            ExclusionReason::Faded => "faded",
            ExclusionReason::Erased => "erased",
            ExclusionReason::NotKept => "not_kept",
            ExclusionReason::Unanswered => "unanswered",
            ExclusionReason::RingCapItems => "ring_cap_items",
            ExclusionReason::RingCapTokens => "ring_cap_tokens",
        }
    }
}

/// Holds an artifact against the gates, in the order of the document; none: it may be let in.
pub fn gate(kernel: &Kernel, candidate: &Candidate) -> Option<ExclusionReason> {
    let Candidate {
        text,
        source,
        phase,
        tier,
        counts,
        confidence,
        ..
    } = candidate;
    if !is_sourced(&candidate.id, source.as_deref()) {
        return Some(ExclusionReason::NotSourced);
    }
    if !counts {
        return Some(ExclusionReason::Unratified);
    }
    if *confidence == Confidence::Faded {
        return Some(ExclusionReason::Faded);
    }
    if !is_compatible(kernel, phase.as_deref(), *tier) {
        return Some(ExclusionReason::AuthorityIncompatible);
    }
    text_gate(text, holds_secret)
}

/// The same for a turn, whose source is its own row and line. `forbids` of its text, where policy
/// does not see that: what a model said, and deep history, which nobody declared, are kept out and
/// deny nothing.
pub fn gate_turn(
    turn: &TurnCandidate,
    forbids: impl FnOnce(&str) -> bool,
) -> Option<ExclusionReason> {
    let kept = gate_said(
        turn.text.as_deref(),
        (turn.not_kept, turn.withheld),
        holds_secret,
    );
    kept.or_else(|| {
        turn.text
            .as_deref()
            .is_some_and(forbids)
            .then_some(ExclusionReason::Forbidden)
    })
}

/// The same of a turn's text, whether it was never kept and whether it was denied or withheld,
/// where the sanitizer was perhaps asked about it before.
pub fn gate_said(
    text: Option<&str>,
    (not_kept, withheld): (bool, bool),
    is_sensitive: impl FnOnce(&str) -> bool,
) -> Option<ExclusionReason> {
    let gone = if not_kept {
        ExclusionReason::NotKept
    } else {
        ExclusionReason::Erased
    };
    let Some(text) = text else { return Some(gone) };
    if withheld {
        Some(ExclusionReason::AuthorityIncompatible)
    } else {
        text_gate(text, is_sensitive)
    }
}

fn text_gate(text: &str, is_sensitive: impl FnOnce(&str) -> bool) -> Option<ExclusionReason> {
    // The cheaper one first: a dump of megabytes is not searched for secrets only to be kept out.
    if is_blob(text) {
        return Some(ExclusionReason::EvidenceBlob);
    }
    is_sensitive(text).then_some(ExclusionReason::Sensitive)
}

/// Whether the sanitizer finds a secret.
pub fn holds_secret(text: &str) -> bool {
    !redact(text).found.is_empty()
}

/// Whether an artifact names a ledger id, and where what it says is from.
pub fn is_sourced(id: &str, source: Option<&str>) -> bool {
    let named = id
        .split_once(':')
        .is_some_and(|(kind, number)| !kind.is_empty() && !number.is_empty());
    named && source.is_some_and(|source| !source.trim().is_empty())
}

/// Whether this kernel's phase and tier allow an artifact.
pub fn is_compatible(kernel: &Kernel, phase: Option<&str>, tier: u8) -> bool {
    phase.is_none_or(|phase| phase == kernel.phase()) && tier <= kernel.tier()
}

/// More bytes than this are a document, not a statement.
const MAX_BYTES: usize = 16 * 1024;
/// Fewer lines than this are no dump, whatever they look like.
const MIN_LINES: usize = 5;
/// From this share of lines on, in percent, a text is a dump.
const SHARE: usize = 60;
/// More of these in a thousand characters and it is binary.
const CONTROLS_IN_1000: usize = 10;
/// So many bytes without a space, in an alphabet that encodes data: no path or address is as long.
/// Letters of scripts that put no spaces between words (Chinese, Japanese, Thai, …) are no such
/// alphabet.
const MAX_RUN: usize = 512;

static STAMPED: LazyLock<Regex> = LazyLock::new(|| {
    let stamp = r"^[^\pL\d]{0,3}(\d{4}[-/]\d\d[-/]\d\d|\d\d[:.]\d\d[:.]\d\d|\d{10,13}\b|\w{3} +\d{1,2} \d\d:\d\d)|^\[[^\]]{0,40}\d{2,}[:.]\d{2,}[^\]]{0,20}\]|^\S{1,40} .{0,30}\[\d\d/\w{3}/\d{4}:";
    Regex::new(stamp).expect("a test compiles it")
});
/// The same on a line of ASCII; compiled in a tenth of the time.
static STAMPED_ASCII: LazyLock<Regex> = LazyLock::new(|| {
    let stamp = r"^[\x00-\x7f&&[^A-Za-z0-9]]{0,3}([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}|[0-9]{2}[:.][0-9]{2}[:.][0-9]{2}|[0-9]{10,13}(?-u:\b)|[0-9A-Za-z_]{3} +[0-9]{1,2} [0-9]{2}:[0-9]{2})|^\[[\x00-\x7f&&[^\]]]{0,40}[0-9]{2,}[:.][0-9]{2,}[\x00-\x7f&&[^\]]]{0,20}\]|^[\x00-\x7f&&[^\t-\r ]]{1,40} [\x00-\x7f&&[^\n]]{0,30}\[[0-9]{2}/[0-9A-Za-z_]{3}/[0-9]{4}:";
    Regex::new(stamp).expect("a test compiles it")
});
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(export +|set +)?[A-Za-z_][A-Za-z0-9_.-]*\s?=").expect("a test compiles it")
});

/// Whether a text is a raw log, a dump of settings, a document or a binary: by its structure, never
/// by its words.
pub fn is_blob(text: &str) -> bool {
    if text.len() > MAX_BYTES || text.contains('\0') {
        return true;
    }
    let chars = text.chars().count();
    let odd = text
        .chars()
        .filter(|c| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || *c == '\u{fffd}')
        .count();
    if odd * 1000 > chars * CONTROLS_IN_1000 || is_encoded(text) {
        return true;
    }
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let share = |fits: &dyn Fn(&str) -> bool| {
        lines.iter().filter(|line| fits(line)).count() * 100 / lines.len().max(1)
    };
    let is_stamped = |line: &str| {
        if line.is_ascii() {
            STAMPED_ASCII.is_match(line)
        } else {
            STAMPED.is_match(line)
        }
    };
    // What a line of either kind must hold: where too few do, no expression is compiled.
    let may_be = |sign: fn(char) -> bool| share(&|line| line.contains(sign)) >= SHARE;
    lines.len() >= MIN_LINES
        && ((may_be(char::is_numeric) && share(&is_stamped) >= SHARE)
            || (may_be(|c| c == '=') && share(&|line| ASSIGNED.is_match(line)) >= SHARE))
}

/// Whether a text holds a long run of characters of an alphabet that encodes data: printable ASCII,
/// or signs that are no letters (private use, braille, blocks). A letter of another script ends a
/// run, and so does a mark that is its part.
fn is_encoded(text: &str) -> bool {
    let mut run = 0;
    for c in text.chars() {
        let ends = if c.is_ascii() {
            c.is_ascii_whitespace()
        } else {
            c.is_alphabetic() || c.is_whitespace()
        };
        run = if ends { 0 } else { run + c.len_utf8() };
        if run > MAX_RUN {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuity::candidate::CandidateClass;
    use crate::record::hash::Hash32;
    use crate::record::time::Seconds;

    fn fact(text: &str) -> Candidate {
        Candidate {
            id: "ledger:000001".into(),
            class: CandidateClass::Fact,
            text: text.into(),
            subject: None,
            source: Some("ledger".into()),
            observed_at: Seconds::ZERO,
            confidence: Confidence::High,
            counts: true,
            phase: Some("beta".into()),
            tier: 1,
            hash: Hash32::ZERO,
            relevance: 1,
            here: false,
        }
    }

    proptest::proptest! {
        /// The expression of ASCII fits what that of all texts fits; and what fits neither sign
        /// fits no expression.
        #[test]
        fn on_ascii_both_expressions_are_one(
            line in "(\\[|\\]|[0-9]{1,4}|[-/:. ]|[A-Z][a-z]{2} |[0-9]{2}:[0-9]{2}|=|[ -~]|\t|é|٣){0,24}",
        ) {
            let all = STAMPED.is_match(&line);
            proptest::prop_assert!(!line.is_ascii() || all == STAMPED_ASCII.is_match(&line), "{:?}", line);
            proptest::prop_assert!(!all || line.contains(char::is_numeric));
            proptest::prop_assert!(!ASSIGNED.is_match(&line) || line.contains('='));
        }
    }

    #[test]
    fn each_gate_has_its_reason() {
        let kernel = Kernel::genesis();
        let plain = fact("The backup runs at night.");
        for (candidate, kept) in [
            (plain.clone(), None),
            (
                Candidate {
                    source: None,
                    ..plain.clone()
                },
                Some("not_sourced"),
            ),
            (
                Candidate {
                    source: Some(" ".into()),
                    ..plain.clone()
                },
                Some("not_sourced"),
            ),
            (
                Candidate {
                    id: "000001".into(),
                    ..plain.clone()
                },
                Some("not_sourced"),
            ),
            (
                Candidate {
                    id: "ledger:".into(),
                    ..plain.clone()
                },
                Some("not_sourced"),
            ),
            (
                Candidate {
                    counts: false,
                    ..plain.clone()
                },
                Some("unratified"),
            ),
            (
                Candidate {
                    phase: Some("alpha".into()),
                    ..plain.clone()
                },
                Some("authority_incompatible"),
            ),
            (
                Candidate {
                    phase: None,
                    ..plain.clone()
                },
                None,
            ),
            (
                Candidate {
                    tier: 2,
                    ..plain.clone()
                },
                None,
            ),
            (
                Candidate {
                    tier: 3,
                    ..plain.clone()
                },
                Some("authority_incompatible"),
            ),
            (
                fact("the password is password=hunter2hunter2"),
                Some("sensitive"),
            ),
            (fact("the password was [redacted:password]"), None),
            (
                fact(&"word ".repeat(4000)),
                Some("evidence_blob_disallowed"),
            ),
        ] {
            assert_eq!(
                gate(&kernel, &candidate).map(ExclusionReason::code),
                kept,
                "{candidate:?}"
            );
        }
    }

    #[test]
    fn turns_that_were_withheld_or_erased_stay_out() {
        let turn = TurnCandidate {
            turn: uuid::Uuid::nil(),
            by_user: true,
            at: Seconds::ZERO,
            line: 1,
            not_kept: false,
            text: Some("Hello?".into()),
            hash: Hash32::ZERO,
            withheld: false,
            relevance: 0,
            declared: "last:6".into(),
        };
        for (turn, kept) in [
            (turn.clone(), None),
            (
                TurnCandidate {
                    withheld: true,
                    ..turn.clone()
                },
                Some("authority_incompatible"),
            ),
            (
                TurnCandidate {
                    text: Some("forbidden".into()),
                    ..turn.clone()
                },
                Some("forbidden"),
            ),
            (
                TurnCandidate {
                    text: None,
                    ..turn.clone()
                },
                Some("erased"),
            ),
            (
                TurnCandidate {
                    text: None,
                    withheld: true,
                    ..turn.clone()
                },
                Some("erased"),
            ),
            (
                TurnCandidate {
                    text: None,
                    not_kept: true,
                    ..turn.clone()
                },
                Some("not_kept"),
            ),
            (
                TurnCandidate {
                    text: Some("a\0b".into()),
                    ..turn.clone()
                },
                Some("evidence_blob_disallowed"),
            ),
        ] {
            assert_eq!(
                gate_turn(&turn, |text| text.contains("forbidden")).map(ExclusionReason::code),
                kept,
                "{turn:?}"
            );
        }
    }

    #[test]
    fn dumps_are_told_by_their_structure() {
        let lines = |line: &str, n: usize| {
            (0..n)
                .map(|i| format!("{}\n", line.replace('#', &(10 + i).to_string())))
                .collect::<String>()
        };
        for (name, text) in [
            (
                "journal",
                lines("Jan  2 03:04:# host sshd[42]: connection closed", 6),
            ),
            ("iso", lines("2026-01-02T03:04:#Z INFO started", 5)),
            ("kernel ring", lines("[  12.3456#] usb 1-1: new device", 6)),
            (
                "web server",
                lines(
                    "10.0.0.# - - [02/Jan/2026:03:04:05 +0000] \"GET / HTTP/1.1\" 200",
                    6,
                ),
            ),
            (
                "epoch",
                lines("17678304# error", 6).replace("error", "00 error"),
            ),
            ("env", lines("SETTING_#=value", 5)),
            ("export", lines("export SETTING_#=value", 5)),
            ("ini", lines("name# = value", 5)),
            ("encoded", "QUJD".repeat(200)),
            (
                "encoded, behind a sentence without a space",
                format!("密钥是{}，请保存", "QUJD".repeat(200)),
            ),
            ("hexadecimal", "0f".repeat(300)),
            ("ascii85", "9jqo^BlbD-BleB1DJ+*+F(f,q".repeat(30)),
            ("percent", "%E4%BD%A0".repeat(60)),
            ("private use", "\u{e000}\u{e001}".repeat(120)),
            ("braille", "\u{2801}\u{28ff}".repeat(120)),
            ("binary", "text\u{1}\u{2}\u{3} and more text".to_owned()),
            ("large", "a short line\n".repeat(2000)),
            ("not UTF-8 once", "caf\u{fffd}".to_owned()),
        ] {
            assert!(is_blob(&text), "{name}");
        }
        for (name, text) in [
            (
                "claim",
                "The backup ran on 2026-01-02 at 03:04:05.".to_owned(),
            ),
            (
                "four log lines",
                lines("2026-01-02T03:04:#Z INFO started", 4),
            ),
            ("list", lines("- item #: something to do", 20)),
            (
                "prose with a setting",
                format!(
                    "Set PATH=/usr/bin.\n{}",
                    lines("Then go on with step #.", 8)
                ),
            ),
            (
                "code",
                lines("    let x# = compute(y);\n    call(x#);\n    // done", 6),
            ),
            ("table", lines("| # | 3 | 4 |", 12)),
            ("hash", format!("the head is {}", "ab".repeat(32))),
            ("tabs", "a\tb\tc\r\nd\te\tf\r\n".repeat(10)),
            ("nothing", String::new()),
            (
                "Chinese",
                "今天下午三点我们在会议室讨论了数据库备份的安排，结果如下。".repeat(12),
            ),
            (
                "Japanese",
                "昨日のバックアップは午前二時に終わりましたが、警告が一件ありました。".repeat(12),
            ),
            (
                "Thai",
                "เซิร์ฟเวอร์สำรองข้อมูลเสร็จสมบูรณ์เมื่อคืนนี้และไม่มีข้อผิดพลาดใดๆเลย".repeat(12),
            ),
            ("Khmer", "ម៉ាស៊ីនមេបានបម្រុងទុកទិន្នន័យរួចរាល់ហើយ".repeat(12)),
            (
                "Chinese with names",
                "我们用PostgreSQL和Redis做缓存，".repeat(30),
            ),
            (
                "Korean with particles",
                "데이터베이스백업이완료되었습니다".repeat(20),
            ),
        ] {
            assert!(!is_blob(&text), "{name}");
        }
    }
}
