//! What councils decided, which is derived, against the artifacts that give it.

use crate::record::ledger::council::{CouncilAnswer, CouncilReview, Councils};

use super::database::RowCheck;
use super::derived::{DerivedFields, column};
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Every row of a council's answers and reviews is what the artifacts give; `given` has taken all
    /// of them.
    pub fn check_councils(&mut self, given: &Councils) -> Result<(), VerifyError> {
        if let Some(found) = self.rows(self.store.council_answers_by_exchange())? {
            let given = given.answers().clone();
            self.compare_derived("council_answer", given, found.into_iter().collect());
        }
        if let Some(found) = self.rows(self.store.council_reviews_by_id())? {
            let given = given.reviews().clone();
            self.compare_derived("council_review", given, found.into_iter().collect());
        }
        Ok(())
    }
}

impl DerivedFields for CouncilAnswer {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("council_line", self.council_line.to_string()),
            ("specialist", self.specialist.to_string()),
            ("utility", self.utility.to_string()),
            ("welfare", self.welfare.to_string()),
            ("payment", self.payment.to_string()),
            ("confidence", column(self.confidence)),
            ("place", self.place.name().to_owned()),
        ]
    }
}

impl DerivedFields for CouncilReview {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("council_line", self.council_line.to_string()),
            ("exchange_id", self.exchange.to_string()),
            ("of_exchange_id", self.of.to_string()),
            (
                "verdict",
                column(self.verdict.map(|verdict| verdict.name())),
            ),
        ]
    }
}
