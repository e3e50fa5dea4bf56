//! The one gate before an answer that its kernel blocks: whoever shows or sends an answer on record
//! asks here first.
//!
//! Nothing on record says *withheld*: it follows from the drift of the exchange and the kernel of
//! its session, which are evidence. A kernel that can't be read blocks, so that nothing is shown on
//! a guess.

use uuid::Uuid;

use crate::govern::kernel::Kernel;
use crate::govern::stored_kernel::StoredKernels;
use crate::recorder::REPLY;
use crate::store::{DriftRow, ExchangeRow, ReadStore, StoreError};

/// What stands in the place of a withheld answer.
pub const WITHHELD: &str = "withheld, as your kernel says";

/// Which answers are withheld, with the kernels that say so.
pub struct Withheld<'a> {
    store: &'a ReadStore,
    kernels: StoredKernels,
}

impl<'a> Withheld<'a> {
    /// Over a store.
    pub fn of(store: &'a ReadStore) -> Self {
        Withheld {
            store,
            kernels: StoredKernels::default(),
        }
    }

    /// Whether the answer of an exchange is withheld; false for one without an answer.
    pub fn answer_of(&self, exchange: &ExchangeRow) -> Result<bool, StoreError> {
        let drift = self.store.drift(exchange.exchange_id)?;
        if drift.is_empty() {
            return Ok(false);
        }
        let Some(session) = self.store.session_of(exchange.session)? else {
            return Ok(true);
        };
        let kernel = self
            .kernels
            .get(session.kernel_hash, |hash| self.store.kernel(hash))?;
        let events = drift.iter().map(DriftRow::class_and_summary);
        Ok(Kernel::withholds(kernel.as_ref().as_ref().ok(), events))
    }

    /// Whether the document of an actuation intent quotes an answer that is withheld.
    pub fn is_quoted_in(&self, content: &serde_json::Value) -> Result<bool, StoreError> {
        let exchange = content["exchange"].as_str().and_then(|id| id.parse().ok());
        match exchange.filter(|_| content["source"] == REPLY) {
            Some(exchange) => self.answer_called(exchange),
            None => Ok(false),
        }
    }

    /// Whether a turn's text is a withheld answer: false for what a person asked.
    pub fn turn(&self, turn: Uuid) -> Result<bool, StoreError> {
        let Some(exchange) = self.store.exchange_of_turn(turn)? else {
            return Ok(false);
        };
        Ok(exchange.turn_user != turn && self.answer_of(&exchange)?)
    }

    /// The same by an exchange's id; false for one that is not here.
    pub fn answer_called(&self, exchange: Uuid) -> Result<bool, StoreError> {
        self.store
            .exchange(exchange)?
            .map_or(Ok(false), |exchange| self.answer_of(&exchange))
    }
}
