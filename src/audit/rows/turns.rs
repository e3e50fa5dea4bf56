//! All turns of the database together: each is one of an exchange, and they are numbered in the order
//! in which they were recorded.

use super::database::RowCheck;
use crate::verify::VerifyError;

/// So many turns are named that should not be there, or not where they are.
const MOST: usize = 20;

/// The turns on the way along their numbers.
#[derive(Default)]
struct TurnOrder {
    count: u64,
    /// The line that the turn before was recorded with.
    before: Option<u64>,
    /// Numbers of turns that stand behind what was recorded later.
    misplaced: Vec<u64>,
}

impl TurnOrder {
    /// Turns are numbered in the order of their lines: a question by that of its prompt, an answer by
    /// that of its exchange's outcome. A turn of no exchange has none.
    fn take(&mut self, n: u64, line: Option<u64>) {
        self.count += 1;
        if line.is_none() {
            return;
        }
        if line <= self.before && self.misplaced.len() < MOST {
            self.misplaced.push(n);
        }
        self.before = line;
    }
}

impl RowCheck<'_> {
    /// No turn is there beside those of exchanges, which were all looked at before, and each has its
    /// number behind those that were recorded before it.
    pub fn check_turn_places(&mut self) -> Result<(), VerifyError> {
        let mut order = TurnOrder::default();
        let read = self.store.each_turn_place(&mut |n, line| {
            order.take(n, line);
            Ok(())
        });
        if self.rows(read)?.is_none() {
            return Ok(());
        }
        if order.count != self.turns {
            let most = u32::try_from(MOST).unwrap_or(u32::MAX);
            let strangers = self.rows(self.store.turns_of_no_exchange(most))?;
            let strangers = strangers.unwrap_or_default();
            if strangers.is_empty() {
                self.cell(None, "chat_turn", "rows", self.turns, order.count);
            }
            for turn in strangers {
                let place = format!("chat_turn {turn}");
                self.fault(None, place, "an exchange that it is a turn of", "none");
            }
        }
        for n in order.misplaced {
            let place = format!("chat_turn with the number {n}");
            let expected = "numbers in the order of the lines that turns were recorded with";
            self.fault(None, place, expected, "another order");
        }
        Ok(())
    }
}
