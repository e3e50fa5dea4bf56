//! Rows of evidence that nobody meets who reads what belongs to an exchange, and rows that stand in
//! another order than their lines.

use super::database::RowCheck;
use crate::verify::VerifyError;

/// So many rows of a table are named.
const MOST: u32 = 20;

impl RowCheck<'_> {
    /// Every row of evidence belongs to something else on record, and none has the number of another.
    pub fn check_orphans(&mut self) -> Result<(), VerifyError> {
        for row in self.rows(self.store.stray_rows(MOST))?.unwrap_or_default() {
            self.fault(None, row.place, row.expected, "none");
        }
        let misnumbered = self.rows(self.store.misnumbered_rows(MOST))?;
        for row in misnumbered.unwrap_or_default() {
            self.fault(None, row.place, row.expected, "another");
        }
        Ok(())
    }
}
