//! What came of another kernel on history, for people.

use crate::app::prove::replay::ReplayResult;
use crate::audit::replay::{Cause, DenyingRule, Trial, TrialDifference};
use crate::cli::screen::{beginning, counted, quiet};

/// So many differences are shown line by line; `--json` has all.
const SHOWN: usize = 50;
/// How much of a question stands in a line.
const EXCERPT: usize = 60;

/// All that would be another decision, with totals by rule.
pub fn text(trial: &Trial, result: &ReplayResult) -> String {
    let denied = trial
        .differences
        .iter()
        .filter(|one| one.was.is_empty())
        .count();
    let allowed = trial
        .differences
        .iter()
        .filter(|one| one.would.is_empty())
        .count();
    let mut text = format!(
        "\nhad that kernel been in force from the beginning: of {} {denied} would be denied that were allowed, and \
         {allowed} allowed that were denied\n",
        counted(trial.tried, "question")
    );
    for (code, total) in &trial.totals {
        text.push_str(&format!(
            "    {:36} denies {:>6}",
            quiet(code),
            total.questions
        ));
        if total.own + total.referred > 0 {
            text.push_str(&format!(
                ": {} by their own text, {} by a text referred to",
                total.own, total.referred
            ));
        }
        text.push('\n');
    }
    for (why, n) in &trial.untried {
        text.push_str(&format!("    not tried: {n}, as {why}\n"));
    }
    for one in trial.differences.iter().take(SHOWN) {
        let (name, words) = (name(one, result), words(one, result));
        text.push_str(&format!("\n{name}\n    {words}\n"));
    }
    if trial.differences.len() > SHOWN {
        text.push_str("\n… more: --json has all\n");
    }
    text
}

/// What it comes to for one exchange.
pub fn of_one(trial: &Trial, result: &ReplayResult) -> String {
    let said = match (trial.differences.first(), trial.untried.keys().next()) {
        (Some(difference), _) => words(difference, result),
        (None, Some(why)) => format!("not tried: {why}"),
        (None, None) if trial.reached => "the same decision".to_owned(),
        (None, None) => "not tried: it is not on record".to_owned(),
    };
    format!("\nhad that kernel been in force from the beginning: {said}\n")
}

fn name(one: &TrialDifference, result: &ReplayResult) -> String {
    let question = beginning(one.question.as_str(), EXCERPT);
    format!("{}  {question}", result.name(one.exchange))
}

fn words(one: &TrialDifference, result: &ReplayResult) -> String {
    let denied = |rules: Vec<String>| match rules.as_slice() {
        [] => "allowed".to_owned(),
        rules => format!("denied: {}", rules.join(", ")),
    };
    let rule = |rule: &DenyingRule| match &rule.cause {
        Cause::Own => format!("{} (its own text)", quiet(&rule.code)),
        Cause::Referred(turn) => {
            let turn = result.name(*turn);
            format!("{} (the text of {turn})", quiet(&rule.code))
        }
        Cause::Beside => format!("{} (what was sent with it)", quiet(&rule.code)),
        Cause::Other => quiet(&rule.code),
    };
    format!(
        "was {}; would be {}",
        denied(one.was.iter().map(|code| quiet(code)).collect()),
        denied(one.would.iter().map(rule).collect())
    )
}
