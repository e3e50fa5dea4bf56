//! Conversations and projects, which are derived, against the turns and artifacts that give them.

use std::collections::BTreeMap;

use crate::record::ledger::conversation::{ConversationRow, ConversationRows, ProjectRow};

use super::database::RowCheck;
use super::derived::{DerivedFields, column};
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Every row of a conversation and of a project is what turns and artifacts give; `said` has
    /// taken all artifacts.
    pub fn check_conversations(&mut self, mut said: ConversationRows) -> Result<(), VerifyError> {
        let turns = self.store.each_message_turn(&mut |thread, line| {
            said.ask(thread, line);
            Ok(())
        });
        if self.rows(turns)?.is_none() {
            return Ok(());
        }
        let mut found = Vec::new();
        let read = self.store.each_conversation(&mut |row| {
            found.push((row.thread, row));
            Ok(())
        });
        let threads = self.rows(self.store.newest_threads(u32::MAX))?;
        if let (Some(()), Some(threads)) = (self.rows(read)?, threads) {
            let given = |thread| Some((thread, said.conversation(thread)?));
            let threads = threads.into_iter().map(|row| row.thread);
            let given: BTreeMap<_, _> = threads.filter_map(given).collect();
            self.compare_derived("conversation", given, found);
        }
        if let Some(found) = self.rows(self.store.projects(None))? {
            let found = found.into_iter().map(|row| (row.id.clone(), row));
            self.compare_derived("project", said.projects(), found.collect());
        }
        Ok(())
    }
}

impl DerivedFields for ConversationRow {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("last_line", self.last_line.to_string()),
            ("turns", self.turns.to_string()),
            ("title_line", column(self.title_line)),
            ("project", column(self.project.as_ref())),
            ("state", self.state.name().to_owned()),
            ("state_line", self.state_line.to_string()),
        ]
    }
}

impl DerivedFields for ProjectRow {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("line", self.line.to_string()),
            ("name_line", self.name_line.to_string()),
            ("state", self.state.name().to_owned()),
        ]
    }
}
