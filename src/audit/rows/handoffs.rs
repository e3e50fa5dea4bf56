//! Handoffs, which are derived, against the artifacts that give them.

use crate::record::ledger::handoff::{Handoff, Handoffs};

use super::database::RowCheck;
use super::derived::{DerivedFields, column};
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Every row of a handoff is what the artifacts give; `given` has taken all of them.
    pub fn check_handoffs(&mut self, given: Handoffs) -> Result<(), VerifyError> {
        let mut found = Vec::new();
        let read = self.store.each_handoff(&mut |handoff| {
            found.push((handoff.line, handoff));
            Ok(())
        });
        if self.rows(read)?.is_some() {
            self.compare_derived("handoff", given.into_map(), found);
        }
        Ok(())
    }
}

impl DerivedFields for Handoff {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("id", self.id.clone()),
            ("exchange_id", self.exchange.to_string()),
            ("thread_id", self.conversation.to_string()),
            ("specialist", column(self.specialist)),
            ("thread_number", self.thread_number.to_string()),
            ("trigger_name", self.trigger.name().to_owned()),
            ("upto", self.upto.to_string()),
        ]
    }
}
