//! Imported conversations, which are derived, against the artifacts that give them.

use crate::record::ledger::imported::{
    ImportedConversation, ImportedConversations, ImportedMessage,
};

use super::database::RowCheck;
use super::derived::{DerivedFields, column};
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Every row of a message of the conversation of a line is what its artifact gives.
    pub fn check_imported_messages(
        &mut self,
        line: u64,
        given: Vec<ImportedMessage>,
    ) -> Result<(), VerifyError> {
        let read = self.store.imported_messages(line);
        if let Some(found) = self.rows(read)? {
            let by_number = |rows: Vec<ImportedMessage>| rows.into_iter().map(|row| (row.n, row));
            let given = by_number(given).collect();
            self.compare_derived("imported_message", given, by_number(found).collect());
        }
        Ok(())
    }

    /// Every row of an imported conversation is what the artifacts give; `given` has taken all of them.
    pub fn check_imported(&mut self, given: ImportedConversations) -> Result<(), VerifyError> {
        let stray = self.store.stray_imported_lines();
        for line in self.rows(stray)?.unwrap_or_default() {
            let place = format!("imported_message of line {line}");
            let expected = "no row: no imported conversation on record gives one";
            self.fault(None, place, expected, "one");
        }
        let with_hint = self.store.erased_with_hint();
        for line in self.rows(with_hint)?.unwrap_or_default() {
            let place = format!("imported_conversation of line {line}, column source_tag");
            self.fault(None, place, "nothing: it is erased", "something");
        }
        let mut found = Vec::new();
        let read = self.store.each_imported(&mut |row| {
            found.push((row.line, row));
            Ok(())
        });
        if self.rows(read)?.is_some() {
            self.compare_derived("imported_conversation", given.into_map(), found);
        }
        Ok(())
    }
}

impl DerivedFields for ImportedConversation {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("id", self.id.clone()),
            ("format", column(self.format.map(|format| format.name()))),
            ("source_id", column(self.source_id.as_ref())),
            ("digest", column(self.digest)),
            ("created_at", column(self.created_at)),
            ("updated_at", column(self.updated_at)),
            ("messages", self.messages.to_string()),
            ("import_id", column(self.import.as_ref())),
            ("state", self.state.name().to_owned()),
        ]
    }
}

impl DerivedFields for ImportedMessage {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("line", self.line.to_string()),
            ("i", self.i.to_string()),
            ("role", self.role.name().to_owned()),
            ("model", column(self.model.as_ref())),
            ("at", column(self.at)),
        ]
    }
}
