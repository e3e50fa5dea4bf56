//! Conversations and projects, which are derived, against the turns and artifacts that give them.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

use crate::record::ledger::conversation::ConversationRows;

use super::database::RowCheck;
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Every row of a conversation and of a project is what turns and artifacts give; `said` has
    /// taken all artifacts.
    pub fn check_conversations(&mut self, mut said: ConversationRows) -> Result<(), VerifyError> {
        let turns = self.store.each_thread_turn(&mut |thread, line| {
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
            self.compare("conversation", threads.filter_map(given).collect(), found);
        }
        if let Some(found) = self.rows(self.store.projects(None))? {
            let found = found.into_iter().map(|row| (row.id.clone(), row));
            self.compare("project", said.projects(), found.collect());
        }
        Ok(())
    }

    /// The rows of a table are those expected; they hold no text.
    fn compare<K: Ord + Display, R: Debug + PartialEq>(
        &mut self,
        table: &str,
        mut expected: BTreeMap<K, R>,
        found: Vec<(K, R)>,
    ) {
        let told = |row: Option<&R>| row.map_or("none".to_owned(), |row| format!("{row:?}"));
        for (key, row) in found {
            let known = expected.remove(&key);
            if known.as_ref() != Some(&row) {
                let place = format!("{table} {key}");
                self.cell(None, &place, "row", told(known.as_ref()), told(Some(&row)));
            }
        }
        for (key, row) in expected {
            let place = format!("{table} {key}");
            self.cell(None, &place, "row", told(Some(&row)), told(None));
        }
    }
}
