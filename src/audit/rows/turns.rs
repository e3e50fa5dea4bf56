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
    /// The line of the newest question so far.
    newest: Option<u64>,
    /// Numbers of turns that stand before what they follow.
    misplaced: Vec<u64>,
}

impl TurnOrder {
    /// Questions are numbered in the order of their lines, and an answer behind its question.
    fn take(&mut self, (n, line, by_user): (u64, u64, bool)) {
        self.count += 1;
        let follows = match by_user {
            true => self.newest.is_none_or(|newest| newest < line),
            false => self.newest.is_some_and(|newest| newest >= line),
        };
        if !follows && self.misplaced.len() < MOST {
            self.misplaced.push(n);
        }
        if by_user {
            self.newest = self.newest.max(Some(line));
        }
    }
}

impl RowCheck<'_> {
    /// No turn is there beside those of exchanges, which were all looked at before.
    pub fn check_turn_places(&mut self) -> Result<(), VerifyError> {
        let mut order = TurnOrder::default();
        let read = self.store.each_turn_place(&mut |place| {
            order.take(place);
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
            let expected = "numbers in the order of recording, an answer behind its question";
            self.fault(None, place, expected, "another order");
        }
        Ok(())
    }
}
