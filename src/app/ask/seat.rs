//! Where a question stands and who answers it, where whoever asks has looked that up before: a member
//! of a council, and a question that is asked again.

use crate::app::set_up::specialist::choice::ChosenSpecialist;
use crate::ask::recall::DeclaredContext;
use crate::ask::refer::ThreadPosition;
use crate::record::ledger::measures::CouncilRound;

/// What is known of a question before it is asked.
#[derive(Clone, Debug)]
pub struct TurnSeat {
    /// Where it stands, and what it is for.
    pub position: ThreadPosition,
    /// The specialist that it goes to; none where a model is asked by its own name.
    pub specialist: Option<ChosenSpecialist>,
    /// What is declared in the place of what the request names.
    pub declared: Option<DeclaredContext>,
    /// Whether that is a handoff, and what came after it.
    pub is_from_handoff: bool,
    /// In which round of a council it is asked.
    pub round: Option<CouncilRound>,
}
