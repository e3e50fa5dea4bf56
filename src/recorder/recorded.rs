//! What the writer adds to a prompt or a reply by recording it.
//!
//! What somebody brought is only looked at while it is recorded, so that a batch can be filled a
//! second time.

use crate::store::SessionRow;

use super::entries::actions::Action;
use super::entries::content_policy::ContentPolicy;
use super::in_flight::InFlight;
use super::turn::{JudgedReply, Prompt, RecordedAnswer, RecordedPrompt, TurnIds};

use crate::govern::sanitize::{Placeholders, redact};
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::reply::ReplyDoc;

/// What a prompt on record has beside what was brought.
pub struct PromptDetails {
    /// Ids of the exchange, its turns and its session.
    pub ids: TurnIds,
    /// Name of the model that the session is with.
    pub model: String,
    /// Intents that it put on record.
    pub actions: Vec<Action>,
    /// Salts that are left for those of the reply.
    pub action_salts: Vec<Salt>,
    /// What is kept of its texts.
    pub content_policy: ContentPolicy,
    /// The session's numbers for secrets, none of them new.
    pub numbers: Placeholders,
    /// Says that somebody waits for its answer.
    pub in_flight: InFlight,
}

impl PromptDetails {
    /// The prompt with all that is recorded of it.
    pub fn of(self, prompt: Prompt) -> RecordedPrompt {
        RecordedPrompt {
            ids: self.ids,
            model: self.model,
            text: prompt.text,
            bundle: prompt.bundle,
            compiled: prompt.compiled,
            params: prompt.params,
            actions: self.actions,
            action_salts: self.action_salts,
            salt: prompt.salt,
            content_policy: self.content_policy,
            numbers: self.numbers,
            entry: prompt.entry,
            _in_flight: self.in_flight,
        }
    }
}

/// What an answer on record has beside what was judged.
pub struct AnswerDetails {
    /// Ids of the exchange, its turns and its session.
    pub ids: TurnIds,
    /// The session after it.
    pub session: SessionRow,
    /// Commitment to the answer.
    pub response_hash: Hash32,
    /// Commitment to the exchange document.
    pub exchange_hash: Hash32,
    /// The chain entry.
    pub chain_entry: Hash32,
    /// HASH of the `response` line.
    pub response_line: Hash32,
    /// The interaction's commit.
    pub commit: String,
    /// Ids of the drift lines.
    pub drift_ids: Vec<String>,
    /// Intents that it put on record.
    pub actions: Vec<Action>,
    /// Kinds of secrets that were removed from what is stored.
    pub redacted: Vec<String>,
}

impl AnswerDetails {
    /// The answer with all that is recorded of it.
    pub fn of(self, judged: JudgedReply) -> RecordedAnswer {
        let calls = judged.beside.as_ref().map(ReplyDoc::calls);
        let calls = calls.unwrap_or_default();
        let unoffered = calls
            .iter()
            .filter(|call| !judged.offered.contains(&call.name));
        RecordedAnswer {
            tools: unoffered.map(|call| redact(&call.name).clean).collect(),
            tool_calls: calls,
            text: judged.text,
            ids: self.ids,
            session: self.session,
            response_hash: self.response_hash,
            exchange_hash: self.exchange_hash,
            chain_entry: self.chain_entry,
            response_line: self.response_line,
            commit: self.commit,
            judgement: judged.judgement,
            context: judged.context,
            drift_ids: self.drift_ids,
            actions: self.actions,
            usage: judged.usage,
            cost: judged.cost,
            redacted: self.redacted,
        }
    }
}
