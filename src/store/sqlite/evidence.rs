//! What of the database is evidence, and so never changes: one list, and the triggers made of it.
//!
//! Triggers protect against a program's mistakes. Against a person who has the file, only evidence
//! outside helps; `audit verify` compares with it.

/// How the rows of a table may change after they are written. None is ever deleted. Columns are
/// names with spaces between them.
struct EvidenceTable {
    /// Name of the table.
    table: &'static str,
    /// Number of the migration that makes it, from 1: its triggers follow there.
    made_by: usize,
    /// What one of its rows is, as a refusal says it.
    row: &'static str,
    /// Columns that never change.
    fixed: &'static str,
    /// Columns that never change and that a later migration adds, with its number.
    added: &'static [(usize, &'static str)],
    /// Columns that get their values once, together with `outcome`.
    once: &'static str,
    /// What is derived from a text: erasing the text makes it null, and nothing else changes it.
    digests: &'static str,
    /// Columns that may change: where a row stands, and what erasing a text takes away.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "named, so that a test sees that no column was forgotten"
        )
    )]
    free: &'static str,
}

/// A table whose rows are for ever as they were written.
const UNCHANGING: EvidenceTable = EvidenceTable {
    table: "",
    made_by: 1,
    row: "",
    fixed: "",
    added: &[],
    once: "",
    digests: "",
    free: "",
};

/// All tables of evidence, with all of their columns.
const EVIDENCE: &[EvidenceTable] = &[
    EvidenceTable {
        table: "log_line",
        row: "a log line",
        fixed: "n hash line",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "ledger_commit",
        row: "a commit",
        fixed: "n line kind ref id raw tree_of segment_from segment_to",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "ledger_file",
        row: "a commit's file",
        fixed: "commit_n name content",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "chat_session",
        row: "a session's start",
        fixed: "session_id started_at phase tier kernel_hash host_role model_id ledger_session \
            auth_key_hash branch",
        free: "ended_at status block header prompts interactions chain_head last_at",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "chat_turn",
        row: "a turn",
        fixed: "turn_id session_id created_at speaker refusal authority_state driftwatch_id line",
        free: "content content_hash n",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "llm_exchange",
        row: "an exchange",
        fixed: "exchange_id session_id turn_user_id created_at seq model decision authority_state \
            exclusions prompt_commitment prompt_line user_text_commitment bundle_commitment \
            compiled_prompt_commitment request_commitment",
        once: "turn_aurora_id validator_summary outcome reason refusal answered_at prompt_tokens \
            completion_tokens cost_micro cost_currency response_commitment exchange_commitment \
            chain_entry outcome_line aurora_text_commitment reply_commitment",
        free: "context_bundle_hash context_bundle_json prompt_hash prompt_compiled response_hash \
            response_sanitized params request reply salt",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "erasure_commitment",
        row: "the commitment to what is erased",
        fixed: "line role exchange_id commitment",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "context_artifact_ref",
        row: "what was injected",
        fixed: "ref_id line exchange_id artifact_type artifact_id included_reason observed_at \
            freshness_s",
        digests: "artifact_hash risk_flags",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "drift_event",
        row: "a drift event",
        fixed: "drift_id kind exchange_id drift_class severity prompt_hash response_hash summary \
            created_at",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "assertion_event",
        row: "an assertion",
        fixed: "line name exchange_id assertion_id level passed created_at",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "exchange_measure",
        made_by: 4,
        row: "what was measured of an exchange",
        fixed: "line exchange_id program door depth sources same_pairs is_in_conflict compile_ms \
            first_byte_ms model_ms judge_ms trace_mapping trace_commitment trace_key",
        added: &[
            (5, "specialist domain_alignment"),
            (6, "round attempt"),
            (9, "utility"),
        ],
        ..UNCHANGING
    },
    EvidenceTable {
        table: "artifact",
        row: "an artifact",
        fixed: "line kind id commitment",
        free: "document salt",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "context_config",
        row: "a configuration in force",
        fixed: "config_digest document",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "thread",
        row: "a thread",
        fixed: "thread_id session_id number created_at",
        free: "name",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "thread_turn",
        row: "a turn's context",
        fixed: "line turn_id thread_id parent_turn_id intent_type config_digest declared \
            transformations inputs reasons",
        digests: "context_digest prompt_digest",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "thread_event",
        row: "an event",
        fixed: "thread_id event_index event_id kind turn_id line created_at bytes",
        digests: "event_digest",
        ..UNCHANGING
    },
    EvidenceTable {
        table: "context_ref",
        row: "a resolved reference",
        fixed: "line event_index turn_id event_id ref_id admitted_for",
        digests: "event_digest",
        ..UNCHANGING
    },
];

/// The triggers that keep those of [`EVIDENCE`] that a migration makes, as one script.
pub(super) fn triggers(made_by: usize) -> String {
    let tables = EVIDENCE.iter().filter(|table| table.made_by == made_by);
    let added = EVIDENCE
        .iter()
        .filter_map(|table| table.added_trigger(made_by));
    tables.map(EvidenceTable::triggers).chain(added).collect()
}

impl EvidenceTable {
    /// The trigger of the columns that a migration adds, if it adds any.
    fn added_trigger(&self, added_by: usize) -> Option<String> {
        let EvidenceTable { table, row, .. } = self;
        let is_of = |(number, _): &&(usize, &str)| *number == added_by;
        let at = self.added.iter().position(|added| is_of(&added))?;
        let (number, columns) = self.added.get(at)?;
        let again = match at {
            0 => String::new(),
            _ => format!("_{number}"),
        };
        Some(trigger(
            &format!("{table}_added_is_final{again}"),
            &format!("UPDATE OF {} ON {table}", listed(columns)),
            &format!("{row} is evidence and never changes"),
        ))
    }

    fn triggers(&self) -> String {
        let EvidenceTable { table, row, .. } = self;
        let changes = "is evidence and never changes";
        let mut script = trigger(
            &format!("{table}_is_final"),
            &format!("UPDATE OF {} ON {table}", listed(self.fixed)),
            &format!("{row} {changes}"),
        );
        script += &trigger(
            &format!("{table}_stays"),
            &format!("DELETE ON {table}"),
            &format!("{row} is evidence and is never deleted"),
        );
        if !self.once.is_empty() {
            let columns = listed(self.once);
            script += &trigger(
                &format!("{table}_outcome_is_final"),
                &format!("UPDATE OF {columns} ON {table} WHEN OLD.outcome IS NOT NULL"),
                &format!("{row} with an outcome {changes}"),
            );
        }
        if !self.digests.is_empty() {
            let is_other = |column: &str| {
                format!("(NEW.{column} IS NOT NULL AND NEW.{column} IS NOT OLD.{column})")
            };
            let is_other: Vec<String> = self.digests.split(' ').map(is_other).collect();
            let (columns, is_other) = (listed(self.digests), is_other.join(" OR "));
            script += &trigger(
                &format!("{table}_digests_go_only"),
                &format!("UPDATE OF {columns} ON {table} WHEN {is_other}"),
                &format!("what is said of a text {changes}; erasing destroys it"),
            );
        }
        script
    }
}

/// Columns as SQL lists them.
fn listed(columns: &str) -> String {
    columns.replace(' ', ", ")
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
    use crate::store::Store;

    /// A column that is added to a table of evidence has to be named above, and so decided about.
    #[test]
    fn the_list_and_the_schema_agree() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        drop(Store::create(&path).unwrap());
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
            let (fixed, once) = (evidence.fixed, evidence.once);
            let added: Vec<&str> = evidence.added.iter().map(|(_, columns)| *columns).collect();
            let added = added.join(" ");
            let parts = [fixed, &added, once, evidence.digests, evidence.free].join(" ");
            let listed: Vec<String> = parts.split_whitespace().map(str::to_owned).collect();
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
        let added = EVIDENCE.iter().flat_map(|table| table.added).count();
        assert_eq!(all.len(), EVIDENCE.len() * 2 + 1 + 4 + added);
    }
}
