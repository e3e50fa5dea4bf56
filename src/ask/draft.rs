//! The middle of a turn: from a redacted question to the prompt that would be sent for it, or to
//! why none would be. A question that is asked and one that is only looked at pass the same code.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::continuity::brought::CleanRequest;
use crate::continuity::compile::{CompileFault, ContextBundle, Inputs, compile};
use crate::continuity::declared::{TurnContext, TurnPlace};
use crate::continuity::prompt::{CompiledPrompt, render_for};
use crate::govern::authority::{Decision, PolicyInput, broken_beside, decide};
use crate::govern::drift::Judgement;
use crate::govern::kernel::Kernel;
use crate::govern::reply::validate::silent_tool;
use crate::govern::sanitize::Clean;
use crate::models::Model;
use crate::record::context::config::ContextConfig;
use crate::record::context::turn::Counts;
use crate::record::ledger::bundle::SightEntry;
use crate::record::ledger::client_request::ClientRequest;
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::params::Params;
use crate::record::time::Seconds;
use crate::recorder::Refusal;
use crate::store::{ReadStore, StoreError};

use super::recall::{DeclaredContext, recall};
use super::refer::{ReferRules, ResolvedRefs, count, refer};
use super::window::{self, WindowFit};

/// All that the prompt of a question is made from.
#[derive(Clone, Copy)]
pub struct DraftInput<'a> {
    /// What is on record.
    pub store: &'a ReadStore,
    /// Kernel in force.
    pub kernel: &'a Kernel,
    /// What a turn may refer to.
    pub context: &'a ContextConfig,
    /// Who is asked.
    pub model: &'a Model,
    /// The session that it is asked in; nil when one would be opened.
    pub session: Uuid,
    /// Role of the host under which that session runs.
    pub host_role: &'a str,
    /// The question, without its secrets.
    pub text: &'a Clean,
    /// The owner's part of the system message.
    pub own: Option<&'a Clean>,
    /// What a client brought.
    pub client: Option<&'a CleanRequest>,
    /// What is declared as its context.
    pub declared: &'a DeclaredContext,
    /// Where it stands in its thread.
    pub place: TurnPlace,
    /// What the model's window leaves for earlier turns, where that is known to be too little.
    pub room: Option<u64>,
    /// Whether the answer is asked for piece by piece, of a model that can do that.
    pub is_streamed: bool,
    /// The moment that all of it is looked at.
    pub now: Seconds,
}

/// A prompt as it would be recorded and sent.
pub struct PromptDraft {
    /// What the model is shown beside the question.
    pub bundle: ContextBundle,
    /// The messages.
    pub compiled: CompiledPrompt,
    /// What the model's server is told.
    pub params: Params,
    /// What policy decided.
    pub authority_state: AuthorityState,
}

/// What is to become of a question.
pub enum PromptPlan {
    /// A model gets it.
    Send(Box<PromptDraft>),
    /// No model gets it.
    Refuse(Denial),
    /// It has to be made again: earlier turns may have no more than so many tokens.
    TooLong {
        /// Tokens that the model's window leaves for earlier turns.
        room: u64,
    },
}

/// Why no model may be asked.
pub struct Denial {
    /// What is put on record for it.
    pub refusal: Refusal,
    /// What policy decided.
    pub authority_state: AuthorityState,
    /// What could not be compiled, where it was that.
    pub fault: Option<Box<CompileFault>>,
}

impl Denial {
    /// By rules; the first is the reason.
    fn of_rules(codes: Vec<String>, authority_state: AuthorityState) -> Denial {
        Denial {
            refusal: Refusal::Denied {
                reason: codes.first().cloned().unwrap_or_default(),
                codes,
            },
            authority_state,
            fault: None,
        }
    }

    /// Of a bundle or prompt that could not be made; `judgement` where that by itself is drift.
    fn not_compiled(
        fault: CompileFault,
        judgement: Option<Judgement>,
        authority_state: AuthorityState,
    ) -> Denial {
        Denial {
            refusal: Refusal::CompileFailed {
                reason: fault.code().to_owned(),
                judgement,
            },
            authority_state,
            fault: Some(Box::new(fault)),
        }
    }
}

/// Decides on INTENTs alone; references that could not be resolved are denied without asking
/// policy.
fn decided(
    kernel: &Kernel,
    text: &Clean,
    model: &str,
    context: &TurnContext,
    counts: Counts,
) -> Result<AuthorityState, Denial> {
    if let Err(fault) = context.resolved() {
        let refusal = Refusal::Denied {
            reason: fault.reason().to_owned(),
            codes: vec![fault.code().to_owned()],
        };
        return Err(Denial {
            refusal,
            authority_state: AuthorityState::Blocked,
            fault: None,
        });
    }
    let input = PolicyInput {
        prompt: text,
        model,
        counts,
        intents: context.intents(),
    };
    match decide(kernel, &input) {
        Decision::Allow { authority_state } => Ok(authority_state),
        Decision::Deny {
            reasons,
            authority_state,
        } => Err(Denial::of_rules(reasons, authority_state)),
    }
}

/// A question whose references are resolved and counted; nothing is decided yet.
pub struct ReferredQuestion<'a> {
    input: DraftInput<'a>,
    /// How its references were resolved.
    pub referred: ResolvedRefs,
    /// What policy counts.
    pub counts: Counts,
}

impl<'a> ReferredQuestion<'a> {
    /// Resolves and counts what the question refers to.
    pub fn of(input: DraftInput<'a>) -> Result<ReferredQuestion<'a>, StoreError> {
        let rules = ReferRules {
            kernel: input.kernel,
            config: input.context,
            room: input.room,
        };
        let referred = refer(input.store, rules, input.place, input.declared)?;
        let counted = count(input.store, input.kernel, &referred.context, input.now)?;
        let counts = Counts {
            room: input.room,
            ..counted
        };
        Ok(ReferredQuestion {
            input,
            referred,
            counts,
        })
    }

    /// Decides, recalls and compiles, without asking anybody.
    pub fn draft(
        &self,
        sight: BTreeMap<String, SightEntry>,
    ) -> Result<Result<PromptDraft, Denial>, StoreError> {
        let DraftInput {
            kernel,
            model,
            text,
            own,
            ..
        } = self.input;
        let context = &self.referred.context;
        let authority_state = match decided(kernel, text, model.id(), context, self.counts) {
            Ok(state) => state,
            Err(denial) => return Ok(Err(denial)),
        };
        let bundle = match self.bundle(sight, authority_state)? {
            Ok(bundle) => bundle,
            Err(denial) => return Ok(Err(denial)),
        };
        let params = Params {
            stream: self.input.is_streamed && model.streams(),
            ..model.params(own.map(Clean::as_str))
        };
        let compiled = self.rendered(&bundle, &params);
        let codes = self.broken_beside(&bundle, &compiled, &params);
        if !codes.is_empty() {
            return Ok(Err(Denial::of_rules(codes, AuthorityState::Blocked)));
        }
        Ok(Ok(PromptDraft {
            bundle,
            compiled,
            params,
            authority_state,
        }))
    }

    /// Whether a draft fits into its model's window, once that was looked at.
    pub fn plan(&self, draft: PromptDraft) -> PromptPlan {
        let model = self.input.model;
        match window::fit(model, &draft.compiled, &draft.bundle, self.input.room) {
            Ok(WindowFit::Within(room)) => PromptPlan::TooLong { room },
            // Only a prompt that is whole tells how much its server has to take.
            Ok(WindowFit::Fits) => {
                PromptPlan::Send(Box::new(match window::to_ask_for(model, &draft.compiled) {
                    None => draft,
                    num_ctx => {
                        let params = Params {
                            num_ctx,
                            ..draft.params
                        };
                        PromptDraft {
                            compiled: self.rendered(&draft.bundle, &params),
                            params,
                            ..draft
                        }
                    }
                }))
            }
            Err(fault) => {
                PromptPlan::Refuse(Denial::not_compiled(fault, None, draft.authority_state))
            }
        }
    }

    fn rendered(&self, bundle: &ContextBundle, params: &Params) -> CompiledPrompt {
        let DraftInput {
            kernel,
            text,
            own,
            client,
            ..
        } = self.input;
        let intent = self.input.place.intent;
        render_for(intent, kernel, bundle, (own, params), (text, client))
    }

    /// Codes of the rules that are broken by what would be sent beside the question.
    fn broken_beside(
        &self,
        bundle: &ContextBundle,
        compiled: &CompiledPrompt,
        params: &Params,
    ) -> Vec<String> {
        let DraftInput {
            kernel, text, own, ..
        } = self.input;
        let shape = params.shape_beside();
        let brought = compiled.request().client(params);
        let brought = brought.as_ref().map(ClientRequest::texts);
        let brought = brought.unwrap_or_default();
        let mut beside = bundle.beside(own, shape.as_deref());
        beside.texts.extend(brought.iter().map(String::as_str));
        broken_beside(kernel, text, self.counts, &beside)
    }

    /// Recalls what is on record and compiles what the model is shown, or says why there is nothing
    /// to show it.
    fn bundle(
        &self,
        sight: BTreeMap<String, SightEntry>,
        authority_state: AuthorityState,
    ) -> Result<Result<ContextBundle, Denial>, StoreError> {
        let DraftInput {
            store,
            kernel,
            text,
            declared,
            ..
        } = self.input;
        let recalled = recall(
            store,
            kernel,
            text,
            &self.referred,
            declared.deep,
            self.input.now,
        )?;
        let compiled = compile(&Inputs {
            session_id: self.input.session,
            user_input: text,
            kernel,
            host_role: self.input.host_role,
            model_id: self.input.model.id(),
            now: self.input.now,
            sight,
            recalled: &recalled,
        });
        Ok(compiled.map_err(|fault| {
            // Sight that is declared and silent is drift before any model is called (AEGIS 7.2).
            let silent = matches!(fault, CompileFault::SightWithoutValues { .. });
            let judgement = silent.then(|| silent_tool(kernel));
            Denial::not_compiled(fault, judgement, authority_state)
        }))
    }
}
