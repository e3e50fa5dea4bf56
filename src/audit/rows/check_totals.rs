//! Sums of checks, which are derived, against the rows that give them.

use super::database::RowCheck;
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// What is added up of each part of the log is what the checks of its exchanges give.
    pub fn check_sums(&mut self) -> Result<(), VerifyError> {
        for part in self
            .rows(self.store.wrong_check_parts())?
            .unwrap_or_default()
        {
            let place = format!("check_total of part {part}");
            self.fault(None, place, "the sums of its checks", "others");
        }
        let stray = self.rows(self.store.stray_check_sums())?;
        if let Some(stray) = stray.filter(|stray| *stray > 0) {
            let place = "check_part and check_total".to_owned();
            let found = format!("{stray} of parts that no line can be in");
            self.fault(None, place, "parts of the log", found);
        }
        Ok(())
    }
}
