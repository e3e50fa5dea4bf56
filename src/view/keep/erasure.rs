//! Texts that were erased.

use serde::Serialize;
use uuid::Uuid;

use crate::app::keep::erase::{ErasedImport, ErasurePlan, NamedExchange};
use crate::app::words::counted;
use crate::record::ledger::council::COUNCIL;
use crate::record::ledger::imported::IMPORT;
use crate::record::ledger::short_name::short_name;
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::ErasureResult;

use super::plan::PlanView;

/// So many ids are named in a sentence; `--json` has all of them.
const NAMED: usize = 3;

/// Why erased words still stand in the database's own log where another program reads it, and until when.
pub const READER_HOLDS_THE_LOG: &str = "another program reads the database, so the words still stand in gently.db-wal: \
     once it has ended, the next command that records something empties it, for example gently session open; until \
     then gently doctor says so";

/// What an erasure came to.
#[derive(Clone, Debug, Serialize)]
pub struct ErasureView {
    /// Exchanges whose texts are gone.
    pub exchanges: Vec<Uuid>,
    /// Artifacts and names of threads that are gone.
    pub artifacts: Vec<String>,
    /// Exchanges whose prompts quoted them, and are gone with them.
    pub contexts: Vec<Uuid>,
    /// Whether anything was erased.
    pub erased: bool,
    /// Whether no copy stands in the database's own log.
    pub scrubbed: bool,
    /// Why copies still stand in it, and until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unscrubbed: Option<String>,
    /// Whether first letters of erased words may be left in a search index, until a rebuild.
    pub letters_stay: bool,
    /// Why the search indexes could not be written anew: erased words may be left where they are damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwritten: Option<String>,
    /// Imported conversations that took the place of an erased one, and stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub newer: Vec<String>,
}

impl ErasureView {
    /// Of a result.
    pub fn of(result: &ErasureResult) -> Self {
        ErasureView {
            exchanges: result.exchanges.clone(),
            artifacts: result.artifacts.clone(),
            contexts: result.contexts.clone(),
            erased: !(result.exchanges.is_empty() && result.artifacts.is_empty()),
            scrubbed: result.scrubbed,
            unscrubbed: match (&result.unscrubbed, result.scrubbed) {
                (None, false) => Some(READER_HOLDS_THE_LOG.to_owned()),
                (why, _) => why.clone(),
            },
            letters_stay: result.letters_stay,
            unwritten: result.unwritten.clone(),
            newer: Vec::new(),
        }
    }
}

/// What of a council whose record goes stays, and how to erase it.
fn council_turns_stay(plan: &ErasurePlan) -> Option<String> {
    let first = plan.council_turns.first()?;
    let all = named(plan.council_turns.iter().cloned());
    Some(format!(
        "the question, its answers and their reviews stay: {all}; to erase one with its question: \
         gently erase {first}"
    ))
}

/// What took the place of an imported conversation that goes, and stays.
pub fn newer_stay(plan: &ErasurePlan) -> Option<String> {
    let first = short_name(plan.newer.first()?);
    let all = named(plan.newer.iter().map(|id| short_name(id)));
    let (says, it) = match plan.newer.len() {
        1 => ("it says nearly the same, and stays", "erases it"),
        _ => ("they say nearly the same, and stay", "erases the first"),
    };
    Some(format!(
        "imported later in the place of what goes: {all}; {says}. gently erase {first} {it}, too"
    ))
}

/// What an erasure would reach.
#[derive(Clone, Debug, Serialize)]
pub struct ErasureReachView {
    /// Exchanges whose texts go.
    pub exchanges: Vec<NamedExchangeView>,
    /// Artifacts and names of threads that go.
    pub artifacts: Vec<String>,
    /// Other exchanges of which what was sent can't be put together any more.
    pub contexts: Vec<NamedExchangeView>,
    /// Those among them that only refer to what goes: their model was shown none of its words.
    pub referring: Vec<NamedExchangeView>,
    /// Conversations whose title goes, as none of their texts is left.
    pub titles: Vec<Uuid>,
    /// How the question begins, if it is one alone that goes.
    pub question: Option<String>,
    /// The models that the texts were sent to, each with its server as the settings have it.
    pub sent_to: Vec<String>,
    /// The exports and openings by which their words were handed on.
    pub handed_on: Vec<String>,
    /// Corrections and ratings that were said about them, and stay.
    pub said_about: Vec<String>,
    /// Answers and reviews of councils whose record goes; they stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub council_turns: Vec<String>,
    /// The imported conversations among the artifacts, with their titles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ErasedImportView>,
    /// Imported conversations that took the place of one that goes, and stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub newer: Vec<String>,
}

/// An imported conversation that would be erased.
#[derive(Clone, Debug, Serialize)]
pub struct ErasedImportView {
    /// Its id, such as `imported:000001`.
    pub conversation: String,
    /// What its source called it; null without a title.
    pub title: Option<String>,
    /// How many messages it has.
    pub messages: u64,
}

impl ErasedImportView {
    fn of(one: &ErasedImport) -> ErasedImportView {
        ErasedImportView {
            conversation: one.id.clone(),
            title: one.title.clone(),
            messages: one.messages,
        }
    }
}

/// An exchange without a word of it.
#[derive(Clone, Debug, Serialize)]
pub struct NamedExchangeView {
    /// What screens call it.
    pub id: String,
    /// Id of the exchange that would be erased.
    pub exchange: Uuid,
    /// When it was asked.
    pub asked_at: String,
    /// Which model was asked.
    pub model: String,
    /// Whether it has an answer.
    pub answered: bool,
}

impl NamedExchangeView {
    fn of_all(all: &[NamedExchange]) -> Vec<NamedExchangeView> {
        let view = |one: &NamedExchange| NamedExchangeView {
            id: one.id.clone(),
            exchange: one.exchange,
            asked_at: one.asked_at.to_string(),
            model: one.model.clone(),
            answered: one.is_answered,
        };
        all.iter().map(view).collect()
    }
}

impl ErasureReachView {
    /// Of a plan.
    pub fn plan(plan: &ErasurePlan) -> PlanView<ErasureReachView> {
        let details = ErasureReachView {
            exchanges: NamedExchangeView::of_all(&plan.exchanges),
            artifacts: plan.artifacts.clone(),
            contexts: NamedExchangeView::of_all(&plan.contexts),
            referring: NamedExchangeView::of_all(&plan.referring),
            titles: plan.titles.clone(),
            question: plan.question.clone(),
            sent_to: plan.sent_to.clone(),
            handed_on: plan.handed_on.clone(),
            said_about: plan.said_about.clone(),
            council_turns: plan.council_turns.clone(),
            imported: plan.imported.iter().map(ErasedImportView::of).collect(),
            newer: plan.newer.clone(),
        };
        PlanView::new(!plan.is_empty(), sentences(plan), details)
    }
}

fn sentences(plan: &ErasurePlan) -> Vec<String> {
    if plan.is_empty() {
        let stay = corrections_stay(plan).into_iter().chain(others_stay(plan));
        return [plan.nothing.to_owned()].into_iter().chain(stay).collect();
    }
    // Imported conversations are told by their titles, and their import by what it is.
    let is_import = |id: &str| id.split(':').next() == Some(IMPORT);
    let imports: Vec<&String> = plan.artifacts.iter().filter(|id| is_import(id)).collect();
    let is_told = |id: &str| {
        plan.imported.iter().any(|one| one.id == id) || !plan.imported.is_empty() && is_import(id)
    };
    let artifacts = plan.artifacts.iter().zip(&plan.artifact_names);
    let untold: Vec<String> = match plan.imported.is_empty() {
        true => artifacts.map(|(_, name)| spelled_on_a_line(name)).collect(),
        false => artifacts
            .filter(|(id, _)| !is_told(id))
            .map(|(_, name)| spelled_on_a_line(name))
            .collect(),
    };
    let is_all_told = untold.is_empty();
    let (artifacts, exchanges) = (named(untold.into_iter()), plan.exchanges.as_slice());
    let is_council = |id: &String| id.split(':').next() == Some(COUNCIL);
    let of_council = !plan.artifacts.is_empty() && plan.artifacts.iter().all(is_council);
    let destroyed = match exchanges {
        [] if is_all_told => None,
        [] if plan.artifacts.len() == imports.len() => Some(match imports.len() {
            1 => format!(
                "destroys {artifacts}, the record of an import: what became of its file, and its SHA-256"
            ),
            _ => format!(
                "destroys {artifacts}, the records of the imports of one file: what became of it, and its SHA-256"
            ),
        }),
        [] if of_council => Some(format!(
            "destroys {artifacts}, a council's own record: who was asked, the votes and the choice"
        )),
        [] => Some(format!("destroys {artifacts}")),
        [one] => Some(one_destroyed(one, plan.question.as_deref())),
        several => Some(several_destroyed(several)),
    };
    let asked_for = !exchanges.is_empty() && !plan.artifacts.is_empty();
    let asked_for = asked_for.then(|| match plan.artifacts.len() {
        1 => format!("destroys the request to act in it: {artifacts}"),
        _ => format!("destroys the requests to act in them: {artifacts}"),
    });
    let titled = plan.titled.iter().cloned();
    let titles = match plan.titled.len() {
        0 => None,
        1 => Some("the title of a conversation of which no text is left"),
        _ => Some("the titles of conversations of which no text is left"),
    };
    let titles = titles.map(|titles| format!("destroys {titles}: {}", named(titled)));
    let sent_to = plan.sent_to.iter().map(|to| spelled_on_a_line(to));
    let sent_to = (!plan.sent_to.is_empty())
        .then(|| format!("was sent to {}: nothing is erased there", named(sent_to)));
    let handed_on = (!plan.handed_on.is_empty()).then(|| {
        let through = named(plan.handed_on.iter().cloned());
        let files = match plan.handed_on.len() {
            1 => "that file",
            _ => "one of those files",
        };
        format!("was handed on with {through}: whoever has {files} has the words")
    });
    let said_about = (!plan.said_about.is_empty()).then(|| {
        let first = plan.said_about.first().map_or("", String::as_str);
        let all = named(plan.said_about.iter().cloned());
        format!("said about it, and not erased with it: {all}; to erase one: gently erase {first}")
    });
    let is_with_others = !imports.is_empty() && plan.artifacts.len() > imports.len();
    let emptied = is_with_others.then(|| {
        let named = named(imports.iter().map(|id| short_name(id)));
        match imports.len() {
            1 => format!(
                "the record of the import goes with that: what became of its file, and its SHA-256 ({named})"
            ),
            _ => format!(
                "the records of the imports go with that: what became of their files, and their SHA-256 ({named})"
            ),
        }
    });
    let quoting: Vec<String> = plan.quoting().map(|one| one.id.clone()).collect();
    let referring = plan.referring.iter().map(|one| one.id.clone());
    let is_import_alone = !imports.is_empty() && !is_with_others;
    let stays = match exchanges.is_empty() && (of_council || is_import_alone) {
        true => "times, numbers and commitments stay; there is no way back to that record",
        false => "times, numbers and commitments stay; there is no way back to the texts",
    };
    [
        imported_destroyed(&plan.imported),
        destroyed,
        asked_for,
        emptied,
        corrections_stay(plan),
        others_stay(plan),
        newer_stay(plan),
        titles,
        words_also_in(&quoting),
        only_referring(referring),
        sent_to,
        handed_on,
        said_about,
        council_turns_stay(plan),
        Some(stays.to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How many imported conversations go, what they are called, and with how many messages.
fn imported_destroyed(all: &[ErasedImport]) -> Option<String> {
    let messages: u64 = all.iter().map(|one| one.messages).sum();
    let messages = counted(messages, "message");
    let called = all
        .iter()
        .map(|one| format!("\"{}\"", spelled_on_a_line(&one.called)));
    let older = all.iter().filter(|one| one.is_replaced).count();
    let older = match (older, all.len()) {
        (0, _) => String::new(),
        (_, 1) => " (an older version, whose place a later one took)".to_owned(),
        (1, _) => " (one is an older version, whose place a later one took)".to_owned(),
        (older, _) => format!(" ({older} are older versions, whose place later ones took)"),
    };
    match all {
        [] => None,
        [one] => Some(format!(
            "destroys the imported conversation {}, with {messages}{older}: {}",
            short_name(&one.id),
            named(called)
        )),
        several => Some(format!(
            "destroys {} imported conversations, with {messages}{older}: {}",
            several.len(),
            named(called)
        )),
    }
}

/// That corrections of an import are one's own, and how to see them and take them back.
fn corrections_stay(plan: &ErasurePlan) -> Option<String> {
    let it = match plan.stay_beside.0 {
        0 => return None,
        1 => "1 correction that came with it stays",
        several => &format!("{several} corrections that came with it stay"),
    };
    Some(format!(
        "{it}: gently correction list --all shows them, gently correction retire correction-N takes one back, gently \
         erase correction-N erases its text"
    ))
}

/// That an import's promotions and audit log go one by one.
fn others_stay(plan: &ErasurePlan) -> Option<String> {
    let it = match plan.stay_beside.1 {
        0 => return None,
        1 => "a promotion or an audit log that came with it stays",
        several => &format!("{several} promotions and audit logs that came with it stay"),
    };
    Some(format!(
        "{it}: gently erase imported_promotion-N, or audit-N, erases one"
    ))
}

fn one_destroyed(one: &NamedExchange, begins: Option<&str>) -> String {
    let begins = begins.map_or_else(String::new, |begins| format!(" \"{begins}\","));
    let question = format!(
        "destroys the question of {},{begins} asked {}",
        one.id, one.asked_at
    );
    match one.is_answered {
        true => format!(
            "{question}, and the answer of {}",
            spelled_on_a_line(&one.model)
        ),
        false => format!("{question}; it has no answer"),
    }
}

fn several_destroyed(several: &[NamedExchange]) -> String {
    let count = several.len();
    let what = match several.iter().filter(|one| one.is_answered).count() {
        0 => format!("{count} questions, which have no answer"),
        answered if answered == count => format!("{count} questions with their answers"),
        answered => format!("{count} questions and {}", counted(answered, "answer")),
    };
    let times = several.iter().map(|one| one.asked_at);
    let asked = times.clone().min().zip(times.max());
    let asked = asked.map_or_else(String::new, |(first, last)| {
        format!(", asked from {first} to {last}")
    });
    let ids = named(several.iter().map(|one| one.id.clone()));
    format!("destroys {what}{asked}: {ids}")
}

/// Where else the words stood that are erased: they go from what the model was shown, and what it answered stays,
/// which nobody can tell apart from words of its own.
pub fn words_also_in(quoting: &[String]) -> Option<String> {
    let (first, count) = (quoting.first()?, quoting.len());
    let (exchanges, answers, it) = match count {
        1 => (
            "another question, and go".to_owned(),
            "its answer stays, and may repeat them",
            "it",
        ),
        _ => (
            format!("{count} other questions, and go"),
            "their answers stay, and may repeat them",
            "the first",
        ),
    };
    Some(format!(
        "the words were also shown to a model with {exchanges} from there, too: {}; {answers}. gently erase {first} \
         erases {it}, too",
        named(quoting.iter().cloned())
    ))
}

/// What becomes of exchanges that only refer to what is erased.
fn only_referring(ids: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let count = ids.len();
    let refer = match count {
        0 => return None,
        1 => "1 other question refers to it and keeps its".to_owned(),
        several => format!("{several} other questions refer to it and keep their"),
    };
    Some(format!(
        "{refer} texts; only hashes go from which the erased words could be guessed: {}",
        named(ids)
    ))
}

/// `a, b, c and 12 more`.
fn named(all: impl ExactSizeIterator<Item = String>) -> String {
    let count = all.len();
    let first: Vec<String> = all.take(NAMED).collect();
    match count.saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
