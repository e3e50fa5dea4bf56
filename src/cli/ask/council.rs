//! A council at the terminal: the answer that was chosen on stdout, who gave it and why on stderr.

use crate::app::ask::AskRequest;
use crate::app::ask::council::{
    CouncilError, CouncilListener, CouncilMember, CouncilResult, CouncilWish, MemberEnd, convene,
};
use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::app::look::not_shown::UnshownReference;
use crate::app::set_up::specialist::choice::thousandths;
use crate::ask::TurnEnd;
use crate::govern::council::confidence_label;
use crate::record::ledger::council::ReviewVerdict;
use crate::record::ledger::short_name::short_name;

use super::receipt::ReceiptFile;
use super::turn::{TurnReport, TurnScreen};
use crate::cli::remember::context::{self, LossesTold};
use crate::cli::screen::quiet;
use crate::cli::screen::terminal::Terminal;
use crate::cli::{COULD_NOT, NEGATIVE, could_not, program, say};

impl TurnScreen<'_> {
    /// Asks a council, and prints the answer that it chose.
    pub async fn council(
        &self,
        opened: &OpenHome,
        (request, wish): (&AskRequest, &CouncilWish),
        place: Option<ReceiptFile>,
    ) -> Result<TurnReport, OpenHomeError> {
        let notice = |line: &str| self.told.say(line);
        let setup = convene(opened, request, wish, &notice).await?;
        let main_before = setup.main_before();
        let person = Terminal::listen(&setup.called()).map_err(|e| OpenHomeError::Signals {
            reason: e.to_string(),
        })?;
        let told = LossesTold {
            all: self.verbose,
            files: false,
        };
        let lost = |not_shown: &[UnshownReference]| {
            let lines = context::lost_with_files(not_shown, told, self.door());
            lines.iter().for_each(|line| self.told.say(line));
        };
        let listener = CouncilListener {
            control: &person.control,
            notice: &notice,
            lost: &lost,
        };
        let outcome = person.attend(setup.ask(&listener)).await;
        let ended = TurnReport::ended(person.exit_code(), main_before);
        // From here on a signal ends the process, whoever is slow to read what is printed.
        drop(person);
        let result = match outcome {
            Ok(result) => result,
            Err(CouncilError::Home(error)) => return Err(error),
            Err(CouncilError::Ask(error)) => return Ok(self.unasked(error, ended)),
        };
        Ok(self.decided(opened, result, (place, ended)))
    }

    /// Prints what a council decided.
    fn decided(
        &self,
        opened: &OpenHome,
        result: CouncilResult,
        (place, ended): (Option<ReceiptFile>, TurnReport),
    ) -> TurnReport {
        let signalled = ended.signalled;
        let Some(asked) = result.shown() else {
            let why = result.members.iter().filter_map(no_answer);
            let why: Vec<String> = why.collect();
            return TurnReport {
                code: signalled.unwrap_or_else(|| could_not(&why.join("; "), self.json)),
                ..ended
            };
        };
        let shown = self.shown(opened, asked, Some(&result), (place, ended));
        lines_of(&result).iter().for_each(|line| say(line));
        let code = match (signalled.filter(|_| result.is_interrupted), result.choice) {
            (Some(signalled), _) => signalled,
            (None, Some(_)) => shown.code,
            (None, None) => worst(&result.members).max(shown.code),
        };
        TurnReport {
            code,
            asked: result.into_shown(),
            ..shown
        }
    }
}

/// The worst exit code of members of whom none has an answer to choose.
fn worst(members: &[CouncilMember]) -> u8 {
    let codes = members
        .iter()
        .filter_map(|member| match member.end.as_ref()? {
            MemberEnd::Unasked(_) | MemberEnd::Erased(_) => Some(COULD_NOT),
            MemberEnd::Asked(asked) => Some(match &asked.turn.turn {
                TurnEnd::Answered(_) | TurnEnd::Refused(_, None) => NEGATIVE,
                TurnEnd::Refused(_, Some(_)) | TurnEnd::Failed(..) | TurnEnd::Interrupted(_) => {
                    COULD_NOT
                }
            }),
        });
    codes.max().unwrap_or(COULD_NOT)
}

/// `swe gave no answer: the model took too long`
fn no_answer(member: &CouncilMember) -> Option<String> {
    let why = member.end.as_ref()?.why_unanswered()?;
    Some(format!(
        "{} gave no answer: {}",
        quiet(&member.chosen.name),
        quiet(&why)
    ))
}

/// `council-1: lawyer of 2, W 0.650, payment 0.650 · 1 of 1 agree (High) · 3.4 s · $0.0041`, and below it
/// who gave no answer, who disagrees and what is proposed.
fn lines_of(result: &CouncilResult) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(winner), Some(choice)) = (result.winner(), result.choice) {
        let id = result
            .id
            .as_deref()
            .map_or("council".to_owned(), short_name);
        let asked = result
            .members
            .iter()
            .filter(|one| one.on_record().is_some());
        let votes = match (winner.votes.all, winner.votes.confidence()) {
            (all, Some(confidence)) => format!(
                "{} of {all} agree ({})",
                winner.votes.agree,
                confidence_label(confidence)
            ),
            (_, None) => "no votes".to_owned(),
        };
        let mut parts = vec![
            format!(
                "{id}: {} of {}, W {}, payment {}",
                quiet(&winner.chosen.name),
                asked.count(),
                thousandths(winner.welfare() / 1000),
                thousandths(choice.payment / 1000)
            ),
            votes,
            format!(
                "{}.{} s",
                result.took_ms / 1000,
                result.took_ms % 1000 / 100
            ),
        ];
        parts.extend(result.costs.iter().map(ToString::to_string));
        lines.push(parts.join(" · "));
        if winner.chosen.is_prior() {
            lines.push(format!(
                "nothing is known of them yet: rate the answer with {} rate last good, or bad",
                program()
            ));
        }
    } else {
        let why = match result.is_interrupted {
            true => "given up: what came is on record, and no council decided",
            false => "no council: there is no answer to choose",
        };
        lines.push(why.to_owned());
    }
    lines.extend(result.members.iter().filter_map(no_answer));
    lines.extend(review_lines(result));
    let ids = result.corrections.iter().map(|id| short_name(id));
    let ids: Vec<String> = ids.collect();
    if !ids.is_empty() {
        lines.push(format!(
            "reviews propose what is right, to be read by {0} correction list; to make it count: {0} correction ratify {1}",
            program(),
            ids.join(" ")
        ));
    }
    let refused = result.refused_corrections.iter();
    lines.extend(
        refused.map(|why| format!("a review's correction is not on record: {}", quiet(why))),
    );
    lines
}

/// Who disagrees with whom and why, and which review is no vote.
fn review_lines(result: &CouncilResult) -> Vec<String> {
    let name = |at: usize| quiet(&result.members[at].chosen.name);
    let mut lines = Vec::new();
    for review in &result.reviews {
        for said in &review.answers {
            let (by, of) = (name(review.by), name(said.of));
            match &said.saying {
                Ok(saying) if saying.verdict == ReviewVerdict::Disagree => {
                    lines.push(format!("{by} disagrees with {of}: {}", quiet(&saying.why)));
                }
                Ok(_) => {}
                Err(why) => lines.push(format!("{by} on {of}: {}", quiet(why))),
            }
        }
    }
    lines
}
