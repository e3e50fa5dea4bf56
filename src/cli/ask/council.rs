//! A council at the terminal: the answer that was chosen on stdout, who gave it and why on stderr.

use crate::app::ask::council::{
    CouncilError, CouncilListener, CouncilMember, CouncilResult, CouncilWish, MemberEnd, convene,
};
use crate::app::ask::{AskRequest, AskResult};
use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::app::look::not_shown::UnshownReference;
use crate::app::remember::correction::ProposalEnd;
use crate::app::set_up::specialist::choice::thousandths;
use crate::ask::TurnEnd;
use crate::govern::council::{CouncilChoice, DecidedBy, VoteCount, confidence_label};
use crate::record::ledger::council::ReviewVerdict;
use crate::record::ledger::short_name::short_name;

use super::receipt::ReceiptFile;
use super::turn::{TurnReport, TurnScreen};
use crate::cli::remember::context::{self, LossesTold};
use crate::cli::screen::terminal::Terminal;
use crate::cli::screen::{beginning, quiet};
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
            let why = no_answers(&result.members, None);
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

/// `swe, law gave no answer: the model took too long`: each reason once; `told` stands on the screen already.
fn no_answers(members: &[CouncilMember], told: Option<&str>) -> Vec<String> {
    let unanswered = members.iter().filter_map(|member| {
        let why = member.end.as_ref()?.why_unanswered()?;
        Some((why, quiet(&member.chosen.name)))
    });
    let unanswered: Vec<(String, String)> = unanswered.collect();
    let mut whys: Vec<(&str, Vec<String>)> = Vec::new();
    for (why, name) in &unanswered {
        put_under(&mut whys, why, name.clone());
    }
    let line = |(why, names): (&str, Vec<String>)| {
        let names = names.join(", ");
        match told == Some(why) {
            true => format!("{names} gave no answer, for the reason above"),
            false => format!("{names} gave no answer: {}", quiet(why)),
        }
    };
    whys.into_iter().map(line).collect()
}

/// Who was chosen and how, and below it who gave no answer, who disagrees, what is proposed, and how to see
/// all of it.
fn lines_of(result: &CouncilResult) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(winner), Some(choice)) = (result.winner(), result.choice) {
        lines.extend(chosen_lines(result, winner, choice));
    } else {
        let why = match result.is_interrupted {
            true => "given up: what came is on record, and no council decided",
            false => "no council: there is no answer to choose",
        };
        lines.push(why.to_owned());
    }
    let told = result.shown().and_then(AskResult::why_unanswered);
    lines.extend(no_answers(&result.members, told.as_deref()));
    lines.extend(review_lines(result));
    lines.extend(proposal_lines(result));
    if let Some(id) = &result.id {
        lines.push(format!(
            "every answer and review of it: {} council show {}",
            program(),
            short_name(id)
        ));
    }
    lines
}

/// `council-1: lawyer of 2, W 0.650, payment 0.650` and `2 of 2 agree (High) · 3.4 s · $0.0041`, and what
/// decided where ratings did not.
fn chosen_lines(
    result: &CouncilResult,
    winner: &CouncilMember,
    choice: CouncilChoice,
) -> Vec<String> {
    let members = result.members.iter();
    let asked = members.filter(|one| one.on_record().is_some()).count();
    let (id, name) = (result.id.as_deref(), quiet(&winner.chosen.name));
    let id = id.map_or("council".to_owned(), short_name);
    let welfare = thousandths(winner.welfare() / 1000);
    let head = match asked {
        1 => format!("{id}: {name} answered, W {welfare}"),
        _ => format!(
            "{id}: {name} of {asked}, W {welfare}, payment {}",
            thousandths(choice.payment / 1000)
        ),
    };
    let took = result.took_ms;
    let mut parts = vec![
        votes(winner.votes),
        format!("{}.{} s", took / 1000, took % 1000 / 100),
    ];
    parts.extend(result.costs.iter().map(ToString::to_string));
    let mut lines = vec![head, parts.join(" · ")];
    let even = match result.decided_by {
        Some(DecidedBy::Votes) => Some("the votes decided"),
        Some(DecidedBy::Age) => Some("another has as many votes, so the older was chosen"),
        Some(DecidedBy::Alone | DecidedBy::Expected) | None => None,
    };
    let chosen = &winner.chosen;
    let known = match (chosen.is_prior(), chosen.is_unrated_here()) {
        (true, _) => "nothing is known of them yet".to_owned(),
        (false, true) => format!("nothing is rated in {} yet", quiet(&chosen.domain_names())),
        (false, false) => "ratings expect as much of another".to_owned(),
    };
    match even {
        Some(even) => lines.push(format!("{known}; {even}")),
        None if chosen.is_prior() => lines.push(known),
        None => {}
    }
    if chosen.is_prior() {
        let program = program();
        lines.push(format!("to rate the answer: {program} rate last good"));
        lines.push(format!("or: {program} rate last bad"));
    }
    lines
}

/// `2 of 2 agree (High)`
fn votes(votes: VoteCount) -> String {
    let Some(label) = votes.confidence().map(confidence_label) else {
        return "no votes".to_owned();
    };
    match (votes.agree, votes.all) {
        (0, 1) => format!("its one review disagrees ({label})"),
        (1, 1) => format!("its one review agrees ({label})"),
        (agree, all) => format!("{agree} of {all} agree ({label})"),
    }
}

/// What reviews propose as right, and how to make it count.
fn proposal_lines(result: &CouncilResult) -> Vec<String> {
    /// Longer ones are cut.
    const EXCERPT: usize = 200;
    let mut lines = Vec::new();
    for proposal in &result.proposals {
        lines.push(match &proposal.end {
            ProposalEnd::Recorded(id) => format!(
                "{} {}: {}",
                quiet(&result.proposing(proposal)),
                short_name(id),
                beginning(&quiet(&proposal.text), EXCERPT)
            ),
            ProposalEnd::Known { .. } | ProposalEnd::Refused(_) => {
                quiet(&result.why_unrecorded(proposal).unwrap_or_default())
            }
        });
    }
    let ids = result.corrections().into_iter().map(short_name);
    let ids: Vec<String> = ids.collect();
    if !ids.is_empty() {
        let it = if ids.len() == 1 { "it" } else { "them" };
        lines.push(format!(
            "to make {it} count: {} correction ratify {}",
            program(),
            ids.join(" ")
        ));
    }
    lines
}

/// Who disagrees with whom and why, and which review is no vote.
fn review_lines(result: &CouncilResult) -> Vec<String> {
    let name = |at: usize| quiet(&result.members[at].chosen.name);
    let mut lines = Vec::new();
    // Of each reason why there is no vote, who on whose answers.
    let mut unread: Vec<(&str, Vec<String>)> = Vec::new();
    for review in &result.reviews {
        let by = name(review.by);
        let mut whys: Vec<(&str, Vec<String>)> = Vec::new();
        // Answers stand in a review in the order in which they came.
        let mut answers: Vec<_> = review.answers.iter().collect();
        answers.sort_by_key(|said| said.of);
        for said in answers {
            let of = name(said.of);
            match &said.saying {
                Ok(saying) if saying.verdict == ReviewVerdict::Disagree => {
                    lines.push(format!("{by} disagrees with {of}: {}", quiet(&saying.why)));
                }
                Ok(_) => {}
                Err(why) => put_under(&mut whys, why, of),
            }
        }
        for (why, about) in whys {
            put_under(&mut unread, why, format!("{by} on {}", about.join(", ")));
        }
    }
    let unread = unread.into_iter();
    let unread = unread.map(|(why, who)| format!("{}: {}", who.join("; "), quiet(why)));
    lines.extend(unread);
    lines
}

/// Puts one more under its reason, which stands there once.
fn put_under<'a>(whys: &mut Vec<(&'a str, Vec<String>)>, why: &'a str, one: String) {
    match whys.iter_mut().find(|(known, _)| *known == why) {
        Some((_, under)) => under.push(one),
        None => whys.push((why, vec![one])),
    }
}
