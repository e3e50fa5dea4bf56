//! Ratings, which are derived, against the artifacts that give them.

use crate::record::ledger::specialist::{Rating, Ratings};

use super::database::RowCheck;
use super::derived::{DerivedFields, column};
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Every row of a rating is what the artifacts give; `given` has taken all of them.
    pub fn check_ratings(&mut self, given: Ratings) -> Result<(), VerifyError> {
        let mut found = Vec::new();
        let read = self.store.each_rating(&mut |rating| {
            found.push((rating.line, rating));
            Ok(())
        });
        if self.rows(read)?.is_some() {
            self.compare_derived("rating", given.into_map(), found);
        }
        Ok(())
    }
}

impl DerivedFields for Rating {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("exchange_id", self.exchange.to_string()),
            ("by_key", self.by.to_string()),
            ("specialist", column(self.specialist)),
            ("model", self.model.clone()),
            ("domain", self.domain.clone()),
            ("verdict", self.verdict.name().to_owned()),
        ]
    }
}
