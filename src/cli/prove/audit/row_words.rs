//! Findings in plain words: rows and fields of the database by what they hold. With `-v` and in
//! `--json` they have the names of the record, by which somebody looks them up.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::app::words::short_uuids;

/// An exchange, its question or its answer, as findings name them.
static EXCHANGE: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"(?:llm_exchange|chat_turn) [0-9a-f-]{36} \((answer to )?prompt ([0-9]+) of session ([0-9a-f]{8})[0-9a-f]{56}\)";
    Regex::new(form).expect("it is a pattern")
});

/// Tables and fields, and what they hold.
const NAMES: [(&str, &str); 36] = [
    ("artifact_hash", "hash"),
    ("by_key", "key"),
    ("auth_key", "key"),
    ("chat_session", "session"),
    ("chat_turn", "question or answer"),
    ("content_hash", "hash of its text"),
    (
        "continuity_item",
        "fact, note, decision, intent or correction",
    ),
    ("context_artifact_ref", "what was put before a model"),
    ("context_artifact_ref.artifact_hash", "hash"),
    ("context_bundle_hash", "hash of its context"),
    ("context_bundle_json", "context"),
    ("context_digest", "digest of its context"),
    ("context_ref", "reference"),
    ("DECISION", "decision"),
    ("drift_event", "warning"),
    ("event_digest", "digest"),
    ("exchange_commitment", "commitment"),
    ("included_reason", "why it is there"),
    ("last_line", "newest line"),
    ("ledger_commit", "commit"),
    ("ledger_file", "file of a commit"),
    ("llm_exchange", "question"),
    ("log_line", "line of the log"),
    ("name_line", "line of its name"),
    ("prompt_commitment", "commitment to the question"),
    ("prompt_digest", "digest of what was sent"),
    ("prompt_hash", "hash"),
    ("response_commitment", "commitment to the answer"),
    ("response_hash", "hash of the answer"),
    ("risk_flags", "what is to be known of it"),
    ("state_line", "line of its state"),
    ("thread_event", "event of a conversation"),
    ("thread_turn", "turn of a conversation"),
    ("title_line", "line of its title"),
    ("tombstone_id", "what was erased"),
    ("validator_summary", "what the checks came to"),
];
/// Why something is before a model, by how the record's reason begins.
const REASONS: [(&str, &str); 3] = [
    ("ring0.", "in every prompt"),
    ("ring1.", "found for the question"),
    ("ring2.", "found in all sessions"),
];

/// A line of a finding, for a person.
pub(super) fn plain(text: &str) -> String {
    let named = EXCHANGE.replace_all(text, |found: &Captures<'_>| {
        let what = found.get(1).map_or("question", |_| "answer");
        format!("{what} {}/{}", &found[3], &found[2])
    });
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let mut out = String::with_capacity(named.len());
    let mut rest: &str = &named;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        out.push_str(word_of(word));
        let (between, next) = after.split_at(after.find(is_part).unwrap_or(after.len()));
        out.push_str(between);
        rest = next;
    }
    short_uuids(&out)
}

fn word_of(word: &str) -> &str {
    let name = NAMES.iter().find(|(name, _)| *name == word);
    let reason = REASONS.iter().find(|(begins, _)| word.starts_with(begins));
    name.or(reason).map_or(word, |(_, plain)| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_fields_are_called_by_what_they_hold() {
        let session = "4e6236886a743d90a423a25194ad550df01f29cff5b129e214096184c6ef5d63";
        let exchange = "llm_exchange d2f8dbfd-5a0c-810d-b017-cbe70ae482e1";
        for (text, expected) in [
            (
                format!("Changed: database, {exchange} (prompt 3 of session {session})"),
                "Changed: database, question 4e623688/3",
            ),
            (
                format!(
                    "Changed: database, chat_turn 9f9953c2-4393-8506-a200-d25c2d6eb7dc (prompt 3 of session {session}); \
                     and 13 more findings"
                ),
                "Changed: database, question 4e623688/3; and 13 more findings",
            ),
            (
                format!(
                    "chat_turn 9f9953c2-4393-8506-a200-d25c2d6eb7dc (answer to prompt 12 of session {session})"
                ),
                "answer 4e623688/12",
            ),
            (
                "context_artifact_ref.artifact_hash of kernel:21028bea21988891 none".to_owned(),
                "hash of kernel:21028bea21988891 none",
            ),
            (
                "prompt_hash of the compiled prompt 1bff".to_owned(),
                "hash of the compiled prompt 1bff",
            ),
            (
                "included_reason ring0.constraints, not ring1.score".to_owned(),
                "why it is there in every prompt, not found for the question",
            ),
            (
                "refs/heads/main: expected é".to_owned(),
                "refs/heads/main: expected é",
            ),
            (String::new(), ""),
        ] {
            assert_eq!(plain(&text), expected);
        }
    }
}
