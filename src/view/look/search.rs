//! What a search found.

use serde::Serialize;
use uuid::Uuid;

use crate::app::look::imported::origin_word;
use crate::app::look::search::{HitSource, RankedCount, SearchHit, SearchResult, TitleHit};
use crate::record::ledger::imported::ImportFormat;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct SearchView {
    /// Newest first, or best first.
    pub hits: Vec<SearchHitView>,
    /// What `--before` takes for the next page; null when there is nothing older.
    pub older: Option<String>,
    /// What was compared for the best ones; null unless they were asked for.
    pub ranked: Option<RankedCountView>,
    /// Conversations whose title has the words: with the first page, unless it is asked for what only
    /// texts have.
    pub titles: Vec<TitleHitView>,
}

/// A conversation whose title has the words.
#[derive(Clone, Debug, Serialize)]
pub struct TitleHitView {
    /// Id of the conversation; null of an imported one.
    pub conversation: Option<Uuid>,
    /// `gently`, or where it is from: `imported:chatgpt`.
    pub origin: String,
    /// The first digits of it, as commands take them.
    pub id: String,
    /// What it is called.
    pub title: String,
}

impl TitleHitView {
    fn of(hit: &TitleHit) -> Self {
        TitleHitView {
            conversation: hit.conversation,
            origin: origin(hit.format),
            id: hit.short.clone(),
            title: hit.title.clone(),
        }
    }
}

/// How much was compared.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RankedCountView {
    /// Texts that have the words.
    pub hits: u64,
    /// Texts that there are.
    pub texts: u64,
}

/// How many hits there are.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HitCountView {
    /// How many hits there are.
    pub count: u64,
}

/// One text that was found.
#[derive(Clone, Debug, Serialize)]
pub struct SearchHitView {
    /// When it was recorded.
    pub time: String,
    /// Its line in the log, from 1.
    pub line: u64,
    /// `question`, `answer`, `imported`, `fact`, `note` or `decision`.
    pub kind: &'static str,
    /// `gently`, or where it is from: `imported:chatgpt`, which is not verified.
    pub origin: String,
    /// The id of an imported conversation.
    pub imported: Option<String>,
    /// The place of the message in it, from 1.
    pub number: Option<u64>,
    /// When an imported message was said, as its source says; null where that is not known.
    pub source_at: Option<String>,
    /// What its conversation is called; null without one, and where that is not here.
    pub title: Option<String>,
    /// Id of the conversation; null for an item.
    pub conversation: Option<Uuid>,
    /// What `gently show` takes: `81bb5b35/16`.
    pub exchange: Option<String>,
    /// The exchange's own id.
    pub exchange_id: Option<Uuid>,
    /// The turn's id.
    pub turn: Option<Uuid>,
    /// The id of a fact, note or decision.
    pub item: Option<String>,
    /// `user` or `model`.
    pub by: &'static str,
    /// The model that was asked.
    pub model: Option<String>,
    /// Whether it is an answer that the kernel blocks.
    pub withheld: bool,
    /// The part of the text that shows why it was found; null when it is withheld.
    pub snippet: Option<String>,
    /// Where the words are in it: pairs of characters, the first and the one behind the last.
    pub marks: Vec<(usize, usize)>,
}

impl SearchView {
    /// Of what was found.
    pub fn of(result: &SearchResult) -> Self {
        SearchView {
            hits: result.hits.iter().map(SearchHitView::of).collect(),
            older: result.older.clone(),
            ranked: result
                .ranked
                .map(|RankedCount { hits, texts }| RankedCountView { hits, texts }),
            titles: result.titles.iter().map(TitleHitView::of).collect(),
        }
    }
}

impl SearchHitView {
    fn of(hit: &SearchHit) -> Self {
        let mut view = SearchHitView {
            time: hit.at.to_string(),
            line: hit.line + 1,
            kind: "",
            origin: origin(None),
            imported: None,
            number: None,
            source_at: None,
            title: hit.title.clone(),
            conversation: None,
            exchange: None,
            exchange_id: None,
            turn: None,
            item: None,
            by: "user",
            model: None,
            withheld: hit.snippet.is_none(),
            snippet: hit.snippet.as_ref().map(|snippet| snippet.text()),
            marks: marks(hit),
        };
        match &hit.source {
            HitSource::Turn {
                by_user,
                turn,
                exchange,
                short,
                model,
                conversation,
            } => {
                (view.kind, view.by) = match by_user {
                    true => ("question", "user"),
                    false => ("answer", "model"),
                };
                view.conversation = *conversation;
                view.exchange = Some(short.clone());
                view.exchange_id = Some(*exchange);
                view.turn = Some(*turn);
                view.model = Some(model.clone());
            }
            HitSource::Imported {
                id,
                number,
                format,
                by_user,
                model,
                said_at,
            } => {
                view.kind = "imported";
                view.origin = origin(Some(*format));
                view.by = match by_user {
                    true => "user",
                    false => "model",
                };
                view.imported = Some(id.clone());
                view.number = Some(*number);
                view.source_at = said_at.map(|at| at.to_string());
                view.model.clone_from(model);
            }
            HitSource::Item { id, kind } => {
                view.kind = kind.name();
                view.item = Some(id.clone());
            }
        }
        view
    }
}

/// Where something is from.
fn origin(format: Option<ImportFormat>) -> String {
    match format {
        Some(format) => origin_word(Some(format)),
        None => "gently".to_owned(),
    }
}

/// Where the marked parts of a snippet are.
fn marks(hit: &SearchHit) -> Vec<(usize, usize)> {
    let (mut at, mut marks) = (0, Vec::new());
    for part in hit.snippet.iter().flat_map(|snippet| &snippet.parts) {
        let end = at + part.text.chars().count();
        if part.is_marked {
            marks.push((at, end));
        }
        at = end;
    }
    marks
}
