//! Keys: who may ask, and who signs.

use std::path::Path;

use serde::Serialize;

use crate::app::set_up::keys::{
    KeyRotation, LedgerSigners, NewAuthKey, RevocationPlan, RotationPlan,
};
use crate::app::words::counted;
use crate::record::hash::Hash32;
use crate::record::signature::PublicKey;
use crate::store::AuthKeyRow;

use crate::view::keep::plan::PlanView;
use crate::view::look::session::{SessionClosePlanView, closing_sentences};
use crate::view::prove::tree_heads::ThirdPartyView;

/// What a stranger runs who has the keys in the file `signers`: for a file or page that was shared,
/// for a whole ledger, and for one without gently.
const CHECKS: [&str; 3] = [
    "gently check FILE --signer signers",
    "gently audit verify --repo LEDGER --signer signers",
    "git -C LEDGER -c gpg.ssh.allowedSignersFile=\"$PWD/signers\" verify-commit main",
];

/// An auth key; its hash is all that is kept of it.
#[derive(Clone, Debug, Serialize)]
pub struct AuthKeyView {
    /// What it is called.
    pub name: String,
    /// Hash of the key's text.
    pub hash: Hash32,
    /// When it was added.
    pub added_at: String,
    /// When it was revoked.
    pub revoked_at: Option<String>,
}

impl AuthKeyView {
    /// Of a row.
    pub fn of(row: &AuthKeyRow) -> Self {
        AuthKeyView {
            name: row.name.clone(),
            hash: row.hash,
            added_at: row.added_at.to_string(),
            revoked_at: row.revoked_at.map(|at| at.to_string()),
        }
    }
}

/// What revoking an auth key would do.
#[derive(Clone, Debug, Serialize)]
pub struct RevocationPlanView {
    /// The key that would be revoked.
    #[serde(flatten)]
    pub key: AuthKeyView,
    /// Sessions that it opened and that are open.
    pub open_sessions: usize,
    /// Whether no key is left then that opens this home.
    pub is_last: bool,
}

impl RevocationPlanView {
    /// Of a plan.
    pub fn plan(plan: &RevocationPlan) -> PlanView<RevocationPlanView> {
        let mut said = vec![format!(
            "revokes the auth key '{}' of {} for ever: nobody can ask with it again",
            plan.row.name, plan.row.added_at
        )];
        if plan.open_sessions > 0 {
            said.push(format!(
                "{} of this key can still be closed, and take no more prompts",
                counted(plan.open_sessions, "open session")
            ));
        }
        if plan.is_last {
            said.push(
                "it is the last one: nobody can ask in this home any more, nor change it"
                    .to_owned(),
            );
        }
        let details = RevocationPlanView {
            key: AuthKeyView::of(&plan.row),
            open_sessions: plan.open_sessions,
            is_last: plan.is_last,
        };
        PlanView::new(true, said, details)
    }
}

/// An auth key that was made. It has no `Debug`: it holds the key.
#[derive(Serialize)]
pub struct NewAuthKeyView {
    /// What is kept of it.
    #[serde(flatten)]
    pub kept: AuthKeyView,
    /// The key, this once.
    pub key: String,
}

impl NewAuthKeyView {
    /// Of a new key.
    pub fn of(new: &NewAuthKey) -> Self {
        NewAuthKeyView {
            kept: AuthKeyView::of(&new.row),
            key: new.key.as_str().to_owned(),
        }
    }
}

/// A signing key that was put in force.
#[derive(Clone, Debug, Serialize)]
pub struct KeyRotationView {
    /// The key before it.
    pub old_signer: String,
    /// The key that signs now.
    pub new_signer: String,
    /// The log's key for the operators of witnesses.
    pub log_key: Option<String>,
    /// What calendars and witnesses said of the rotation's tree head.
    #[serde(flatten)]
    pub outside: ThirdPartyView,
}

impl KeyRotationView {
    /// Of a rotation.
    pub fn of(rotation: &KeyRotation) -> Self {
        KeyRotationView {
            old_signer: rotation.old.to_string(),
            new_signer: rotation.new.to_string(),
            log_key: rotation.log_key.clone(),
            outside: ThirdPartyView::of(&rotation.outside),
        }
    }
}

/// What putting the next signing key in force would do.
#[derive(Clone, Debug, Serialize)]
pub struct RotationPlanView {
    /// The key that signs now.
    pub old_signer: String,
    /// The agent's key that would sign; null where one is made.
    pub new_signer: Option<String>,
    /// The sessions that are closed first.
    #[serde(flatten)]
    pub closes: SessionClosePlanView,
}

impl RotationPlanView {
    /// Of a plan.
    pub fn plan(plan: &RotationPlan) -> PlanView<RotationPlanView> {
        let old = plan.old.fingerprint();
        let mut said = Vec::new();
        if !plan.closes.sessions.is_empty() {
            said = closing_sentences(&plan.closes);
        }
        said.push(match &plan.next {
            None => format!(
                "makes a new signing key, and destroys the private half of the one in force, {old}"
            ),
            Some(next) => format!(
                "puts the agent's key {} in the place of the one in force, {old}",
                next.fingerprint()
            ),
        });
        said.push(
            "records that for ever: whoever pinned a key has to be given all of keys/allowed_signers again"
                .to_owned(),
        );
        let details = RotationPlanView {
            old_signer: plan.old.to_string(),
            new_signer: plan.next.as_ref().map(ToString::to_string),
            closes: SessionClosePlanView::of(&plan.closes),
        };
        PlanView::new(true, said, details)
    }
}

/// A key's file that was changed.
#[derive(Clone, Debug, Serialize)]
pub struct KeyFileView {
    /// Where it is.
    pub file: String,
    /// `protected` or `unprotected`.
    pub state: &'static str,
}

impl KeyFileView {
    /// Of a file and what it is now.
    pub fn of(path: &Path, state: &'static str) -> Self {
        KeyFileView {
            file: path.display().to_string(),
            state,
        }
    }
}

/// What others pin of a ledger, and what they do with it.
#[derive(Clone, Debug, Serialize)]
pub struct SignerView {
    /// The ledger's name.
    pub origin: String,
    /// The key that signs now.
    pub signer: String,
    /// Its fingerprint, as `ssh-keygen -l` prints it.
    pub fingerprint: String,
    /// Every key that ever signed, the newest last: the lines of `allowed_signers`.
    pub allowed_signers: Vec<String>,
    /// How they are written to a file.
    pub give: String,
    /// What somebody runs who has that file.
    pub check: Vec<String>,
}

impl SignerView {
    /// Of what is pinned; `program` is how gently is called here.
    pub fn of(signers: &LedgerSigners, program: &str) -> Self {
        let line = |key: &PublicKey| key.allowed_signers_line().trim_end().to_owned();
        SignerView {
            origin: signers.origin.clone(),
            signer: signers.in_force.to_string(),
            fingerprint: signers.in_force.fingerprint(),
            allowed_signers: signers.keys.iter().map(line).collect(),
            give: format!("{program} key show > signers"),
            check: CHECKS.map(str::to_owned).into(),
        }
    }
}
