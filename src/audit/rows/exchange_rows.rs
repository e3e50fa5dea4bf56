//! One exchange that is held against the record: its rows, and what they give again.

use std::cell::OnceCell;

use crate::govern::kernel::Kernel;
use crate::record::Exchange;
use crate::record::context::spec::ResolvedContext;
use crate::record::exchange::{ExchangeFault, MissingTurn};
use crate::record::ledger::commitment::{Salt, Scheme};
use crate::record::ledger::exchange::ExchangeDoc;
use crate::record::ledger::prompt::SystemPrompt;
use crate::store::ExchangeRows;

/// All that the database and the log have of one exchange.
pub(crate) struct ExchangeEvidence<'a> {
    /// Rows of the exchange and of what belongs to it.
    pub rows: ExchangeRows<'a>,
    /// What they say.
    pub record: Exchange,
    /// The session's, or why it can't be read; none when it is not there.
    pub kernel: &'a Option<Result<Kernel, String>>,
    /// Rendering is the dearest part of a check, and done once.
    compiled: OnceCell<Result<Option<String>, String>>,
}

impl<'a> ExchangeEvidence<'a> {
    /// From its rows.
    pub fn of(
        rows: ExchangeRows<'a>,
        kernel: &'a Option<Result<Kernel, String>>,
    ) -> ExchangeEvidence<'a> {
        ExchangeEvidence {
            record: rows.record(),
            rows,
            kernel,
            compiled: OnceCell::new(),
        }
    }

    /// The compiled prompt, rendered again; none when nothing was compiled.
    pub fn compiled(&self) -> Result<Option<&str>, String> {
        let render = || {
            let compiled = self.record.compiled_prompt(self.system_prompt());
            compiled.map_err(told)
        };
        match self.compiled.get_or_init(render) {
            Ok(compiled) => Ok(compiled.as_deref()),
            Err(words) => Err(words.clone()),
        }
    }

    /// The same where context and user's text were made again.
    pub fn compiled_with(
        &self,
        resolved: Option<&ResolvedContext>,
        user: &str,
    ) -> Result<Option<String>, String> {
        let kernel = self.system_prompt();
        let compiled = self.record.compiled_with(kernel, resolved, user);
        compiled.map_err(told)
    }

    /// The exchange document that the rows give.
    pub fn document(&self, scheme: Scheme, salt: &Salt) -> Result<ExchangeDoc, String> {
        let compiled = match self.record.erasure.compiled_prompt {
            // A commitment stands in its place.
            Some(_) => None,
            None => self.compiled()?,
        };
        let document = self.record.document(scheme, salt, compiled);
        document.map_err(told)
    }

    fn system_prompt(&self) -> Result<SystemPrompt<'a>, String> {
        match self.kernel {
            Some(Ok(kernel)) => Ok(kernel.system_prompt()),
            Some(Err(words)) => Err(words.clone()),
            None => Err("its kernel is not in the database".to_owned()),
        }
    }
}

/// A fault in the words of a finding.
fn told(fault: ExchangeFault) -> String {
    match fault {
        ExchangeFault::Turn(MissingTurn::Erased(_) | MissingTurn::Unknown(_)) => {
            "an earlier turn in it is erased, and no tombstone names it for that".to_owned()
        }
        other => other.to_string(),
    }
}
