//! What of the database is evidence, and so never changes: one list, and the triggers made of it.
//!
//! Triggers protect against a program's mistakes. Against a person who has the file, only evidence
//! outside helps; `audit verify` compares with it.

/// How the rows of a table may change after they are written. None is ever deleted.
pub(super) struct Evidence {
    /// The table.
    pub table: &'static str,
    /// What one of its rows is, as a refusal says it.
    pub row: &'static str,
    /// Columns that never change.
    pub fixed: &'static [&'static str],
    /// Columns that get their values once, together with `outcome`.
    pub once: &'static [&'static str],
    /// Digests of texts: erasing a text makes them null, and nothing else changes them.
    pub digests: &'static [&'static str],
    /// Columns that may change: where a row stands, and what erasing a text takes away.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "named, so that a test sees that no column was forgotten"
        )
    )]
    pub free: &'static [&'static str],
}

/// A table whose rows are as they were written, for ever.
const fn unchanging(
    table: &'static str,
    row: &'static str,
    fixed: &'static [&'static str],
) -> Evidence {
    Evidence {
        table,
        row,
        fixed,
        once: &[],
        digests: &[],
        free: &[],
    }
}

/// All tables of evidence, with all of their columns.
pub(super) const EVIDENCE: &[Evidence] = &[
    unchanging("log_line", "a log line", &["n", "hash", "line"]),
    unchanging(
        "ledger_commit",
        "a commit",
        &[
            "n",
            "line",
            "kind",
            "ref",
            "id",
            "raw",
            "tree_of",
            "segment_from",
            "segment_to",
        ],
    ),
    unchanging(
        "ledger_file",
        "a commit's file",
        &["commit_n", "name", "content"],
    ),
    Evidence {
        free: &[
            "ended_at",
            "status",
            "block",
            "header",
            "prompts",
            "interactions",
            "chain_head",
            "last_at",
        ],
        ..unchanging(
            "chat_session",
            "a session's start",
            &[
                "session_id",
                "started_at",
                "phase",
                "tier",
                "kernel_hash",
                "host_role",
                "model_id",
                "ledger_session",
                "auth_key_hash",
                "branch",
            ],
        )
    },
    Evidence {
        free: &["content", "content_hash", "n"],
        ..unchanging(
            "chat_turn",
            "a turn",
            &[
                "turn_id",
                "session_id",
                "created_at",
                "speaker",
                "refusal",
                "authority_state",
                "driftwatch_id",
                "line",
            ],
        )
    },
    Evidence {
        once: &[
            "turn_aurora_id",
            "validator_summary",
            "outcome",
            "reason",
            "refusal",
            "answered_at",
            "prompt_tokens",
            "completion_tokens",
            "cost_micro",
            "cost_currency",
            "response_commitment",
            "exchange_commitment",
            "chain_entry",
            "outcome_line",
            "aurora_text_commitment",
        ],
        free: &[
            "context_bundle_hash",
            "context_bundle_json",
            "prompt_hash",
            "prompt_compiled",
            "response_hash",
            "response_sanitized",
            "params",
            "salt",
        ],
        ..unchanging(
            "llm_exchange",
            "an exchange",
            &[
                "exchange_id",
                "session_id",
                "turn_user_id",
                "created_at",
                "seq",
                "model",
                "decision",
                "authority_state",
                "exclusions",
                "prompt_commitment",
                "prompt_line",
                "user_text_commitment",
                "bundle_commitment",
                "compiled_prompt_commitment",
            ],
        )
    },
    Evidence {
        // Flags may name what an artifact says.
        digests: &["risk_flags"],
        ..unchanging(
            "context_artifact_ref",
            "what was injected",
            &[
                "ref_id",
                "line",
                "exchange_id",
                "artifact_type",
                "artifact_id",
                "artifact_hash",
                "included_reason",
                "observed_at",
                "freshness_s",
            ],
        )
    },
    unchanging(
        "drift_event",
        "a drift event",
        &[
            "drift_id",
            "kind",
            "exchange_id",
            "drift_class",
            "severity",
            "prompt_hash",
            "response_hash",
            "summary",
            "created_at",
        ],
    ),
    unchanging(
        "assertion_event",
        "an assertion",
        &[
            "line",
            "name",
            "exchange_id",
            "assertion_id",
            "level",
            "passed",
            "created_at",
        ],
    ),
    Evidence {
        free: &["document", "salt"],
        ..unchanging(
            "artifact",
            "an artifact",
            &["line", "kind", "id", "commitment"],
        )
    },
    unchanging(
        "context_config",
        "a configuration in force",
        &["config_digest", "document"],
    ),
    Evidence {
        free: &["name"],
        ..unchanging(
            "thread",
            "a thread",
            &["thread_id", "session_id", "number", "created_at"],
        )
    },
    Evidence {
        digests: &["context_digest", "prompt_digest"],
        ..unchanging(
            "thread_turn",
            "a turn's context",
            &[
                "line",
                "turn_id",
                "thread_id",
                "parent_turn_id",
                "intent_type",
                "config_digest",
                "declared",
                "transformations",
                "inputs",
                "reasons",
            ],
        )
    },
    Evidence {
        digests: &["event_digest"],
        ..unchanging(
            "thread_event",
            "an event",
            &[
                "thread_id",
                "event_index",
                "event_id",
                "kind",
                "turn_id",
                "line",
                "created_at",
                "bytes",
            ],
        )
    },
    Evidence {
        digests: &["event_digest"],
        ..unchanging(
            "context_ref",
            "a resolved reference",
            &[
                "line",
                "event_index",
                "turn_id",
                "event_id",
                "ref_id",
                "admitted_for",
            ],
        )
    },
];

/// The triggers that keep [`EVIDENCE`], as one script.
pub(super) fn triggers() -> String {
    EVIDENCE.iter().map(Evidence::triggers).collect()
}

impl Evidence {
    fn triggers(&self) -> String {
        let Evidence { table, row, .. } = self;
        let changes = "is evidence and never changes";
        let mut script = trigger(
            &format!("{table}_is_final"),
            &format!("UPDATE OF {} ON {table}", self.fixed.join(", ")),
            &format!("{row} {changes}"),
        );
        script += &trigger(
            &format!("{table}_stays"),
            &format!("DELETE ON {table}"),
            &format!("{row} is evidence and is never deleted"),
        );
        if !self.once.is_empty() {
            let columns = self.once.join(", ");
            script += &trigger(
                &format!("{table}_outcome_is_final"),
                &format!("UPDATE OF {columns} ON {table} WHEN OLD.outcome IS NOT NULL"),
                &format!("{row} with an outcome {changes}"),
            );
        }
        if !self.digests.is_empty() {
            let columns = self.digests.join(", ");
            let other = |column: &&str| {
                format!("(NEW.{column} IS NOT NULL AND NEW.{column} IS NOT OLD.{column})")
            };
            let other = self.digests.iter().map(other).collect::<Vec<_>>();
            script += &trigger(
                &format!("{table}_digests_go_only"),
                &format!("UPDATE OF {columns} ON {table} WHEN {}", other.join(" OR ")),
                &format!("what is said of a text {changes}; erasing destroys it"),
            );
        }
        script
    }
}

/// A trigger that refuses a change.
fn trigger(name: &str, before: &str, refusal: &str) -> String {
    let refusal = refusal.replace('\'', "''");
    format!("CREATE TRIGGER {name} BEFORE {before}\nBEGIN SELECT RAISE(ABORT, '{refusal}'); END;\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A column that is added to a table of evidence has to be named above, and so decided about.
    #[test]
    fn the_list_and_the_schema_agree() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        super::super::Sqlite::create(&path).unwrap();
        let connection = rusqlite::Connection::open(path).unwrap();
        let names = |sql: &str| -> BTreeSet<String> {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let mut known = BTreeSet::new();
        for evidence in EVIDENCE {
            let table = evidence.table;
            let columns = names(&format!("SELECT name FROM pragma_table_info('{table}')"));
            let parts = [
                evidence.fixed,
                evidence.once,
                evidence.digests,
                evidence.free,
            ];
            let listed: Vec<String> = parts.concat().into_iter().map(str::to_owned).collect();
            assert_eq!(
                listed.len(),
                columns.len(),
                "{table}: a column stands in one part of the list"
            );
            assert_eq!(
                listed.into_iter().collect::<BTreeSet<_>>(),
                columns,
                "{table}"
            );
            let of_table = format!("type = 'trigger' AND tbl_name = '{table}'");
            known.extend(names(&format!(
                "SELECT name FROM sqlite_schema WHERE {of_table}"
            )));
        }
        let all = names("SELECT name FROM sqlite_schema WHERE type = 'trigger'");
        assert_eq!(all, known, "triggers keep evidence, and nothing else");
        assert_eq!(all.len(), EVIDENCE.len() * 2 + 1 + 4);
    }
}
