//! What one turn declared and what that came to: all of its context but the id that the record
//! gives the turn.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::govern::kernel::RingCaps;
use crate::record::context::block::context_block;
use crate::record::context::config::ContextConfig;
use crate::record::context::event::{EventKind, IntentPayload};
use crate::record::context::json::JsonFault;
use crate::record::context::spec::{
    AssembledContext, ContextForm, ContextSpec, DeclaredRef, Identity, ResolvedContext,
    Transformation, context_digest,
};
use crate::record::context::turn::TurnIntent;
use crate::record::ledger::bundle::NamedHash;

use super::refs::{EmptyRecord, Lookup, RefFault, governed, resolve, sorted};

/// Where a turn stands in its thread, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnPlace {
    /// Id of the thread.
    pub thread: Uuid,
    /// The turn that it replies to; none where it replies to nothing.
    pub parent: Option<Uuid>,
    /// What it is for.
    pub intent: TurnIntent,
}

impl TurnPlace {
    /// Of a question that somebody asks.
    pub const fn of_message(thread: Uuid, parent: Option<Uuid>) -> TurnPlace {
        let intent = TurnIntent::ChatMessage;
        TurnPlace {
            thread,
            parent,
            intent,
        }
    }
}

/// The declared context of one turn, resolved or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnContext {
    config: ContextConfig,
    place: TurnPlace,
    declared: Vec<DeclaredRef>,
    resolved: Result<ResolvedContext, RefFault>,
}

impl TurnContext {
    /// Resolves what was declared for a turn.
    pub fn resolve<L: Lookup>(
        config: &ContextConfig,
        place: TurnPlace,
        declared: &[DeclaredRef],
        caps: RingCaps,
        events: &L,
    ) -> Result<Self, L::Error> {
        let resolved = resolve(declared, &place.thread.to_string(), config, caps, events)?;
        Ok(TurnContext {
            config: config.clone(),
            place,
            declared: sorted(declared),
            resolved,
        })
    }

    /// A turn that refers to nothing.
    pub fn alone(config: &ContextConfig, place: TurnPlace) -> Self {
        let Ok(context) = Self::resolve(
            config,
            place,
            &[],
            RingCaps {
                items: 0,
                tokens: 0,
            },
            &EmptyRecord,
        );
        context
    }

    /// The configuration that it was resolved with.
    pub fn config(&self) -> &ContextConfig {
        &self.config
    }

    /// Id of the thread that the turn belongs to.
    pub fn thread(&self) -> Uuid {
        self.place.thread
    }

    /// The turn that it replies to.
    pub fn parent(&self) -> Option<Uuid> {
        self.place.parent
    }

    /// What the turn is for.
    pub fn intent(&self) -> TurnIntent {
        self.place.intent
    }

    /// As declared, sorted.
    pub fn declared(&self) -> &[DeclaredRef] {
        &self.declared
    }

    /// What it came to, or why nothing did.
    pub fn resolved(&self) -> Result<&ResolvedContext, &RefFault> {
        self.resolved.as_ref()
    }

    /// How many turns a model is shown something of.
    pub fn turns_shown(&self) -> u64 {
        let shown = self.resolved().into_iter().flat_map(ResolvedContext::shown);
        let said = shown.filter(|(_, event)| event.kind() != EventKind::Decision);
        let turns: BTreeSet<&str> = said
            .map(|(_, event)| event.place().turn_id.as_str())
            .collect();
        u64::try_from(turns.len()).unwrap_or(u64::MAX)
    }

    /// What the rules changed.
    pub fn transformations(&self) -> &[Transformation] {
        self.resolved
            .as_ref()
            .map_or(&[], |resolved| &resolved.transformations)
    }

    /// What policy may see: every INTENT that was resolved, each once, by `event_index`.
    pub fn intents(&self) -> Vec<&IntentPayload> {
        self.resolved.as_ref().map(governed).unwrap_or_default()
    }

    /// The context block as it is sent; none when nothing is referred to.
    pub fn block(&self) -> Option<String> {
        self.resolved
            .as_ref()
            .ok()
            .and_then(|resolved| context_block(resolved, ContextForm::Sent))
    }

    /// The specification; none when it could not be resolved.
    pub fn spec(&self, turn: Uuid, text: &str) -> Option<ContextSpec> {
        let identity = Identity {
            parent_turn_id: self.place.parent.map(|parent| parent.to_string()),
            thread_id: self.place.thread.to_string(),
            turn_id: turn.to_string(),
        };
        let resolved = self.resolved.as_ref().ok()?;
        Some(ContextSpec::new(
            &self.config,
            identity,
            self.place.intent.name(),
            text,
            resolved,
        ))
    }

    /// The assembled context in one of its forms; none when it could not be resolved.
    pub fn assembled(&self, text: &str, form: ContextForm) -> Option<AssembledContext> {
        self.resolved
            .as_ref()
            .ok()
            .map(|resolved| AssembledContext::new(text, resolved, form))
    }

    /// `context_digest`; none when it could not be resolved.
    pub fn digest(&self, turn: Uuid, text: &str) -> Result<Option<NamedHash>, JsonFault> {
        match (
            self.spec(turn, text),
            self.assembled(text, ContextForm::Hashed),
        ) {
            (Some(spec), Some(hashed)) => context_digest(&spec, &hashed).map(Some),
            _ => Ok(None),
        }
    }
}
