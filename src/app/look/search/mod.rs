//! Finding again what was said: questions, answers and what was put on record, by their words.
//!
//! Nothing is recorded and no model asked. What is erased or was never kept is not found; a withheld
//! answer is listed without its text.
//!
//! | file | what is in it |
//! |---|---|
//! | `typed` | what was typed, read |
//! | `snippet` | the part of a text that shows why it was found |

mod snippet;
mod typed;

use std::ops::{ControlFlow, Range};

use uuid::Uuid;

pub use snippet::{Snippet, SnippetPart};
pub use typed::{NoSearch, TypedSearch};

use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::ask::withheld::Withheld;
use crate::config::Config;
use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::ledger::imported::{
    ImportFormat, ImportedRole, MessageOnRecord, format_of, message_number,
};
use crate::record::ledger::item::{ItemKind, content};
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::log::page_cursor::PageCursor;
use crate::record::time::Seconds;
use crate::record::unseen::spelled_on_a_line;
use crate::store::{
    ConversationRow, ExchangeRow, GivenTitle, ImportedFilter, ImportedMatch, ImportedSearch,
    ItemMatch, ReadStore, StoreError, TextQuery, TextSpan, ThreadFilter, TurnFilter, TurnMatch,
};

use super::conversation::conversation;
use super::session::question_begins;
use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::moment::when;
use crate::app::remember::project;

/// What is looked through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchPlace {
    /// Questions and answers.
    Turns,
    /// Facts, notes and decisions that are proposed or in force.
    Items,
    /// Texts of both kinds.
    #[default]
    All,
}

/// What is looked for, and where.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The words that were typed, read as a search.
    pub words: TypedSearch,
    /// Only what literally has what was typed.
    pub exact: bool,
    /// What is looked through.
    pub place: SearchPlace,
    /// Nothing older: a time, a day or an age.
    pub since: Option<String>,
    /// Nothing as young or younger.
    pub until: Option<String>,
    /// Of one conversation.
    pub conversation: Option<String>,
    /// Of one project.
    pub project: Option<String>,
    /// Questions alone, or answers alone.
    pub by_user: Option<bool>,
    /// Of models whose name holds this; a `*` in it stands for anything.
    pub model: Option<String>,
    /// So many hits at most.
    pub number: u32,
    /// Only what is older than the last hit of another page.
    pub before: Option<String>,
    /// The best first, not the newest.
    pub best: bool,
}

impl SearchRequest {
    /// For words alone, wherever they stand: the newest 20.
    pub fn of(words: TypedSearch) -> Self {
        SearchRequest {
            words,
            exact: false,
            place: SearchPlace::All,
            since: None,
            until: None,
            conversation: None,
            project: None,
            by_user: None,
            model: None,
            number: 20,
            before: None,
            best: false,
        }
    }

    /// Whether something is asked for that only turns have.
    fn is_about_turns(&self) -> bool {
        self.conversation.is_some() || self.project.is_some() || self.model.is_some()
    }

    /// Six digits that tell this search from others: a place in its list is none in theirs.
    fn mark(&self) -> String {
        let said = format!(
            "{} {:?}",
            self.words.spelling(),
            (
                self.exact,
                self.place,
                &self.since,
                &self.until,
                &self.conversation,
                &self.project,
                self.by_user,
                &self.model
            )
        );
        let digest = Hash32::digest(said.as_bytes()).to_string();
        digest.get(..MARK).unwrap_or(&digest).to_owned()
    }
}

/// Titles are looked for among so many open conversations, those asked in last, and among as many that
/// are archived.
const TITLES: u32 = 1000;
/// Digits of a search's mark.
const MARK: usize = 6;

/// What a hit is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HitSource {
    /// A question or an answer.
    Turn {
        /// Whether it is the question.
        by_user: bool,
        /// Id of the turn's row.
        turn: Uuid,
        /// Id of the exchange that the turn is part of.
        exchange: Uuid,
        /// What screens call it: `8923fa34/3`.
        short: String,
        /// The model that was asked.
        model: String,
        /// Its conversation; none of an exchange from before there were any.
        conversation: Option<Uuid>,
    },
    /// A message of a conversation that came from a file: the newest of it that fits.
    Imported {
        /// Id of the conversation, such as `imported:000001`.
        id: String,
        /// Its place in the conversation, from 1.
        number: u64,
        /// Whose file it came from.
        format: ImportFormat,
        /// Whether a person wrote it.
        by_user: bool,
        /// The model, as its source names it.
        model: Option<String>,
        /// When it was said, as its source says.
        said_at: Option<Seconds>,
    },
    /// What somebody put on record.
    Item {
        /// Name of the item, such as `ledger:000183`.
        id: String,
        /// What it is.
        kind: ItemKind,
    },
}

/// One text that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// When it was recorded.
    pub at: Seconds,
    /// The number of its line in the log, from 0.
    pub line: u64,
    /// What it is of.
    pub source: HitSource,
    /// What its conversation is called; none without one, and where that is erased or not kept.
    pub title: Option<String>,
    /// The part of the text that shows why it was found; none of a withheld answer.
    pub snippet: Option<Snippet>,
}

/// A conversation whose title has what is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitleHit {
    /// Id of the conversation; none of an imported one.
    pub conversation: Option<Uuid>,
    /// Whose file it came from, if it was imported.
    pub format: Option<ImportFormat>,
    /// The first digits of it, as commands take them; of an imported one its name.
    pub short: String,
    /// What it is called.
    pub title: String,
}

/// What was looked through to find the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedCount {
    /// So many texts fit, and were compared.
    pub hits: u64,
    /// So many there are.
    pub texts: u64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    /// Newest first, or best first.
    pub hits: Vec<SearchHit>,
    /// Where the next page begins; none when there is nothing older.
    pub older: Option<String>,
    /// What was looked through, when the best were asked for.
    pub ranked: Option<RankedCount>,
    /// Conversations whose given title has the words, the one asked in last first. With the first
    /// page alone, and none where something is asked for that only texts have.
    pub titles: Vec<TitleHit>,
}

/// The hits of a home that are asked for.
pub fn search(home: &Home, request: &SearchRequest) -> Result<SearchResult, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    store.reading(|store| search_in(store, &by_id(store, &config, request)?))
}

/// How many hits there are.
pub fn count(home: &Home, request: &SearchRequest) -> Result<u64, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    store.reading(|store| {
        let request = by_id(store, &config, request)?;
        Search::prepare(store, &request)?.count()
    })
}

/// The same request with a conversation by its id, so that a place in the list stays one whatever
/// `last` is by then.
fn by_id(
    store: &ReadStore,
    config: &Config,
    request: &SearchRequest,
) -> Result<SearchRequest, OpenHomeError> {
    let mut request = request.clone();
    if let Some(text) = &request.conversation {
        if let Some(id) = record_name(text).filter(|id| id.starts_with("imported:")) {
            let name = short_name(&id);
            return Err(OpenHomeError::Refused(format!(
                "{name} came from a file, and what came from files is searched all together, without a conversation: \
                 gently search \"…\". What stands in it: gently conversation show {name}"
            )));
        }
        let in_use = project::id_in_use(store, config)?;
        let row = conversation(store, text, in_use.as_deref())?;
        request.conversation = Some(row.thread.to_string());
    }
    Ok(request)
}

/// The same in a store of which one state is seen.
pub fn search_in(
    store: &ReadStore,
    request: &SearchRequest,
) -> Result<SearchResult, OpenHomeError> {
    let search = Search::prepare(store, request)?;
    let mut result = match request.best {
        true => search.best()?,
        false => search.newest()?,
    };
    result.titles = search.titles()?;
    Ok(result)
}

/// A text that fits, before anything else is read of it.
enum TextMatch {
    Turn(TurnMatch),
    Imported(ImportedMatch),
    Item(ItemMatch),
}

impl TextMatch {
    fn text(&self) -> &str {
        match self {
            TextMatch::Turn(turn) => &turn.text,
            TextMatch::Imported(message) => &message.text,
            TextMatch::Item(item) => &item.text,
        }
    }
}

/// A search with everything looked up that it names.
struct Search<'a> {
    store: &'a ReadStore,
    request: &'a SearchRequest,
    query: TextQuery,
    /// Which turns; none when none are looked at.
    turns: Option<TurnFilter>,
    /// Which messages of imported conversations; none when none are looked at.
    imported: Option<ImportedFilter>,
    /// The lines of the artifacts that are looked at; none when none are.
    items: Option<Range<u64>>,
}

impl<'a> Search<'a> {
    fn prepare(store: &'a ReadStore, request: &'a SearchRequest) -> Result<Self, OpenHomeError> {
        let refused = |why: FieldSentence| Err(OpenHomeError::Wanting(why));
        if request.place == SearchPlace::Items && request.is_about_turns() {
            return refused(sentence![
                "facts, notes and decisions belong to no conversation, project or model: leave that out, or ",
                RequestField::Place,
                " items"
            ]);
        }
        if request.place == SearchPlace::Items && request.by_user == Some(false) {
            return refused(sentence![
                "facts, notes and decisions are a person's: leave out ",
                RequestField::By,
                " model, or ",
                RequestField::Place,
                " items"
            ]);
        }
        if request.best && request.before.is_some() {
            return refused(sentence![
                RequestField::Best,
                " has no pages, as a text that is added moves the others: ask for more with ",
                RequestField::Limit,
                ", or leave out ",
                RequestField::Best
            ]);
        }
        let now = open::clock_or_epoch();
        let moment = |field, text: &Option<String>| {
            let text = text.as_deref();
            let read = text.map(|text| when(field, text, now)).transpose();
            read.map_err(OpenHomeError::Wanting)
        };
        let (since, until) = (
            moment(RequestField::Since, &request.since)?,
            moment(RequestField::Until, &request.until)?,
        );
        let lines = lines_between(store, since, until)?;
        let end = match &request.before {
            Some(before) => lines.end.min(place(store, request, before)?),
            None => lines.end,
        };
        let lines = lines.start..end.max(lines.start);
        let has_turns = request.place != SearchPlace::Items;
        let has_items = request.place != SearchPlace::Turns
            && !request.is_about_turns()
            && request.by_user != Some(false);
        let turns = has_turns
            .then(|| turn_filter(store, request, (since, until), &lines))
            .transpose()?;
        // They belong to no conversation and no project of one's own.
        let has_imported = has_turns && request.conversation.is_none() && request.project.is_none();
        let imported = has_imported.then(|| ImportedFilter {
            lines: lines.clone(),
            by_user: request.by_user,
            model: request.model.as_deref().map(like),
        });
        Ok(Search {
            store,
            request,
            query: request.words.query(request.exact),
            turns,
            imported,
            items: has_items.then_some(lines),
        })
    }

    /// Whether a text that the index found is one.
    fn fits(&self, text: &str) -> bool {
        !self.request.exact || self.request.words.is_literally_in(text)
    }

    /// What is looked for in imported conversations; `also` is [`Search::fits`].
    fn of_imported<'b>(
        &'b self,
        filter: &'b ImportedFilter,
        also: &'b dyn Fn(&str) -> bool,
    ) -> ImportedSearch<'b> {
        ImportedSearch {
            wanted: &self.query,
            filter,
            also: self.request.exact.then_some(also),
        }
    }

    fn newest(&self) -> Result<SearchResult, OpenHomeError> {
        // One more than is shown: whether there are older ones.
        let most = usize::try_from(self.request.number).unwrap_or(usize::MAX);
        let enough = |found: &Vec<(u64, TextMatch)>| match found.len() > most {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let mut found = Vec::new();
        if let Some(filter) = &self.turns {
            let mut turns = Vec::new();
            self.store.search_turns(&self.query, filter, &mut |turn| {
                if self.fits(&turn.text) {
                    let line = self.store.line_of_turn(turn.n)?;
                    turns.push((line, TextMatch::Turn(turn)));
                }
                Ok(enough(&turns))
            })?;
            found.append(&mut turns);
        }
        if let Some(filter) = &self.imported {
            let mut messages: Vec<(u64, TextMatch)> = Vec::new();
            let also = |text: &str| self.fits(text);
            let search = self.of_imported(filter, &also);
            self.store.search_imported(&search, &mut |message| {
                messages.push((message.line, TextMatch::Imported(message)));
                Ok(enough(&messages))
            })?;
            found.append(&mut messages);
        }
        if let Some(lines) = &self.items {
            let mut items = Vec::new();
            self.store.search_items(&self.query, lines, &mut |item| {
                if self.fits(&item.text) {
                    items.push((item.line, TextMatch::Item(item)));
                }
                Ok(enough(&items))
            })?;
            found.append(&mut items);
        }
        found.sort_by_key(|(line, _)| std::cmp::Reverse(*line));
        let is_more = found.len() > most;
        found.truncate(most);
        let hits = self.hits(found)?;
        let older = hits.last().filter(|_| is_more).map(|last| {
            let cursor = PageCursor {
                line: last.line,
                time: last.at,
            };
            format!("{cursor}-{}", self.request.mark())
        });
        Ok(SearchResult {
            hits,
            older,
            ranked: None,
            titles: Vec::new(),
        })
    }

    fn best(&self) -> Result<SearchResult, OpenHomeError> {
        let most = usize::try_from(self.request.number).unwrap_or(usize::MAX);
        let mut found: Vec<(f64, u64, TextMatch)> = Vec::new();
        if let Some(filter) = &self.turns {
            let mut left = most;
            self.store
                .rank_turns(&self.query, filter, &mut |(score, turn)| {
                    if self.fits(&turn.text) {
                        let line = self.store.line_of_turn(turn.n)?;
                        found.push((score, line, TextMatch::Turn(turn)));
                        left = left.saturating_sub(1);
                    }
                    Ok(if left == 0 {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    })
                })?;
        }
        if let Some(filter) = &self.imported {
            let mut left = most;
            let also = |text: &str| self.fits(text);
            let search = self.of_imported(filter, &also);
            self.store.rank_imported(&search, &mut |(score, message)| {
                found.push((score, message.line, TextMatch::Imported(message)));
                left = left.saturating_sub(1);
                Ok(if left == 0 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            })?;
        }
        if let Some(lines) = &self.items {
            let mut left = most;
            self.store
                .rank_items(&self.query, lines, &mut |(score, item)| {
                    if self.fits(&item.text) {
                        found.push((score, item.line, TextMatch::Item(item)));
                        left = left.saturating_sub(1);
                    }
                    Ok(if left == 0 {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    })
                })?;
        }
        found.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
        found.truncate(most);
        let found = found.into_iter().map(|(_, line, found)| (line, found));
        let (turns, items, imported) = self.store.searchable()?;
        let ranked = RankedCount {
            hits: self.indexed()?,
            texts: self.turns.as_ref().map_or(0, |_| turns)
                + self.imported.as_ref().map_or(0, |_| imported)
                + self.items.as_ref().map_or(0, |_| items),
        };
        Ok(SearchResult {
            hits: self.hits(found.collect())?,
            older: None,
            ranked: Some(ranked),
            titles: Vec::new(),
        })
    }

    /// The conversations whose given title has the words. What is called as its first question begins
    /// is found by that.
    fn titles(&self) -> Result<Vec<TitleHit>, StoreError> {
        let request = self.request;
        let is_about_texts = request.since.is_some()
            || request.until.is_some()
            || request.by_user.is_some()
            || request.model.is_some()
            || request.conversation.is_some()
            || request.before.is_some();
        let Some(filter) = self.turns.as_ref().filter(|_| !is_about_texts) else {
            return Ok(Vec::new());
        };
        let mut found = self.store.titled_among(TITLES)?;
        if let Some(ThreadFilter::Project(project)) = &filter.threads {
            found.retain(|(row, _)| row.project.as_ref() == Some(project));
        }
        match request.exact {
            true => found.retain(|(_, title)| request.words.is_literally_in(title)),
            false => {
                let titles: Vec<&str> = found.iter().map(|(_, title)| title.as_str()).collect();
                let mut fits = self.store.fitting(&self.query, &titles)?.into_iter();
                found.retain(|_| fits.next() == Some(true));
            }
        }
        let hit = |(row, title): (ConversationRow, String)| {
            let short = find::short_thread(self.store, row.thread)?;
            Ok(TitleHit {
                conversation: Some(row.thread),
                format: None,
                short,
                title,
            })
        };
        let mut titles: Vec<TitleHit> = found
            .into_iter()
            .map(hit)
            .collect::<Result<_, StoreError>>()?;
        titles.extend(self.imported_titles()?);
        Ok(titles)
    }

    /// The same of imported conversations, of those recorded last.
    fn imported_titles(&self) -> Result<Vec<TitleHit>, StoreError> {
        if self.imported.is_none() {
            return Ok(Vec::new());
        }
        let mut found = self.store.imported_titles(TITLES)?;
        let titles: Vec<&str> = found.iter().map(|(_, _, title)| title.as_str()).collect();
        let fits: Vec<bool> = match self.request.exact {
            true => titles
                .iter()
                .map(|title| self.request.words.is_literally_in(title))
                .collect(),
            false => self.store.fitting(&self.query, &titles)?,
        };
        let mut fits = fits.into_iter();
        found.retain(|_| fits.next() == Some(true));
        let hit = |(id, format, title): (String, ImportFormat, String)| TitleHit {
            conversation: None,
            format: Some(format),
            short: short_name(&id),
            title,
        };
        Ok(found.into_iter().map(hit).collect())
    }

    /// How many texts the index has for it.
    fn indexed(&self) -> Result<u64, StoreError> {
        let turns = self.turns.as_ref();
        let turns = turns.map(|filter| self.store.count_turns(&self.query, filter));
        let items = self.items.as_ref();
        let items = items.map(|lines| self.store.count_items(&self.query, lines));
        let imported = self.imported.as_ref();
        // What the index has: an exact search may find fewer.
        let imported = imported.map(|filter| {
            self.store.count_imported_hits(&ImportedSearch {
                wanted: &self.query,
                filter,
                also: None,
            })
        });
        [turns, imported, items].into_iter().flatten().sum()
    }

    fn count(&self) -> Result<u64, OpenHomeError> {
        if !self.request.exact {
            return Ok(self.indexed()?);
        }
        let mut count = 0;
        if let Some(filter) = &self.turns {
            self.store.search_turns(&self.query, filter, &mut |turn| {
                count += u64::from(self.fits(&turn.text));
                Ok(ControlFlow::Continue(()))
            })?;
        }
        if let Some(filter) = &self.imported {
            let also = |text: &str| self.fits(text);
            let search = self.of_imported(filter, &also);
            count += self.store.count_imported_hits(&search)?;
        }
        if let Some(lines) = &self.items {
            self.store.search_items(&self.query, lines, &mut |item| {
                count += u64::from(self.fits(&item.text));
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(count)
    }

    /// All that is shown of what was found.
    fn hits(&self, found: Vec<(u64, TextMatch)>) -> Result<Vec<SearchHit>, StoreError> {
        let texts: Vec<&str> = found.iter().map(|(_, found)| found.text()).collect();
        let marks = self.marks(&texts)?;
        let gate = Withheld::of(self.store);
        let all = found.iter().zip(marks);
        let hits = all.map(|((line, found), spans)| self.hit(&gate, *line, found, &spans));
        hits.filter_map(Result::transpose).collect()
    }

    /// None for a turn that no exchange refers to: nobody said it on record, and `audit verify` finds
    /// it.
    fn hit(
        &self,
        gate: &Withheld<'_>,
        line: u64,
        found: &TextMatch,
        spans: &[TextSpan],
    ) -> Result<Option<SearchHit>, StoreError> {
        match found {
            TextMatch::Imported(message) => {
                let artifact = self.store.artifact_of_line(message.line)?;
                let document = artifact.and_then(|artifact| artifact.document);
                let said = content(document.as_deref()).unwrap_or_default();
                // What is indexed by a row is shown as the record has it.
                let Some(written) = MessageOnRecord::of(&said, message.i) else {
                    return Ok(None);
                };
                let by_user = written.role == ImportedRole::User;
                Ok(Some(SearchHit {
                    at: self.time_of(line)?,
                    line,
                    source: HitSource::Imported {
                        id: message.id.clone(),
                        number: message.n - message_number(message.line, 0) + 1,
                        format: format_of(&said).unwrap_or(message.format),
                        by_user,
                        model: written.model.map(str::to_owned),
                        said_at: written.at,
                    },
                    title: message.title.clone(),
                    snippet: Some(Snippet::of(found.text(), spans)),
                }))
            }
            TextMatch::Item(item) => Ok(Some(SearchHit {
                at: self.time_of(line)?,
                line,
                source: HitSource::Item {
                    id: item.id.clone(),
                    kind: item.kind,
                },
                title: None,
                snippet: Some(Snippet::of(found.text(), spans)),
            })),
            TextMatch::Turn(turn) => {
                let Some(exchange) = self.store.exchange_of_turn(turn.turn)? else {
                    return Ok(None);
                };
                let by_user = exchange.turn_user == turn.turn;
                let is_withheld = !by_user && gate.answer_of(&exchange)?;
                let context = self.store.thread_turn(exchange.exchange_id)?;
                let conversation = context.map(|context| context.thread);
                let title = conversation
                    .map(|thread| title_of(self.store, thread))
                    .transpose()?;
                Ok(Some(SearchHit {
                    at: turn.created_at,
                    line,
                    source: source_of(self.store, by_user, turn.turn, exchange, conversation)?,
                    title: title.flatten(),
                    snippet: match (is_withheld, by_user) {
                        (true, _) => None,
                        (false, true) => Some(Snippet::of_question(found.text(), spans)),
                        (false, false) => Some(Snippet::of(found.text(), spans)),
                    },
                }))
            }
        }
    }

    fn time_of(&self, line: u64) -> Result<Seconds, StoreError> {
        let time = self.store.time_of_line(line)?;
        time.ok_or_else(|| StoreError::Corrupt {
            place: "log_line.line".to_owned(),
            expected: "a line of the log".to_owned(),
            actual: format!("none with the number {line}"),
        })
    }

    /// Where texts have what is looked for.
    fn marks(&self, texts: &[&str]) -> Result<Vec<Vec<TextSpan>>, StoreError> {
        if !self.request.exact {
            let terms = self.query.all.concat();
            return self.store.marks(&terms, texts);
        }
        let literal = |text: &&str| {
            let terms = self.request.words.positive();
            let mut spans: Vec<TextSpan> = terms
                .flat_map(|term| text.match_indices(&term.text))
                .map(|(at, found)| at..at + found.len())
                .collect();
            spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
            spans
        };
        Ok(texts.iter().map(literal).collect())
    }
}

fn source_of(
    store: &ReadStore,
    by_user: bool,
    turn: Uuid,
    exchange: ExchangeRow,
    conversation: Option<Uuid>,
) -> Result<HitSource, StoreError> {
    Ok(HitSource::Turn {
        by_user,
        turn,
        exchange: exchange.exchange_id,
        short: find::short_id_of_row(store, &exchange)?,
        model: exchange.model,
        conversation,
    })
}

/// What a conversation is called; none when that is not here.
pub fn title_of(store: &ReadStore, thread: Uuid) -> Result<Option<String>, StoreError> {
    let given = match store.conversation(thread)? {
        Some(row) => store.given_title(&row)?,
        None => GivenTitle::Nothing,
    };
    match given {
        GivenTitle::Text(title) => Ok(Some(title)),
        GivenTitle::Gone => Ok(None),
        GivenTitle::Nothing => {
            let first = store.first_message(thread)?;
            let first = first
                .map(|turn| store.exchange(turn))
                .transpose()?
                .flatten();
            first
                .map(|first| question_begins(store, &first))
                .transpose()
        }
    }
}

/// The lines of the log from one time on and before another.
fn lines_between(
    store: &ReadStore,
    since: Option<Seconds>,
    until: Option<Seconds>,
) -> Result<Range<u64>, StoreError> {
    let from = since.map(|time| store.line_from(time)).transpose()?;
    let to = until.map(|time| store.line_from(time)).transpose()?;
    Ok(from.unwrap_or(0)..to.map_or_else(|| store.head().map(|head| head.lines), Ok)?)
}

/// The line that the next page ends before.
fn place(store: &ReadStore, request: &SearchRequest, before: &str) -> Result<u64, OpenHomeError> {
    let refused = || {
        let before = spelled_on_a_line(before);
        OpenHomeError::Wanting(sentence![
            RequestField::Before,
            format!(
                " '{before}': it is no place in this search; a search prints where its next page begins, for the same \
                 words and filters. Leave it out to begin with the newest"
            )
        ])
    };
    let (cursor, mark) = before.rsplit_once('-').ok_or_else(refused)?;
    let cursor: PageCursor = cursor.parse().map_err(|_| refused())?;
    if mark != request.mark() || !store.is_place(cursor)? {
        return Err(refused());
    }
    Ok(cursor.line)
}

fn turn_filter(
    store: &ReadStore,
    request: &SearchRequest,
    (since, until): (Option<Seconds>, Option<Seconds>),
    lines: &Range<u64>,
) -> Result<TurnFilter, OpenHomeError> {
    let threads = match (&request.conversation, &request.project) {
        (Some(text), None) => Some(ThreadFilter::One(conversation(store, text, None)?.thread)),
        (None, Some(text)) => Some(ThreadFilter::Project(project::find(store, text)?.row.id)),
        (None, None) => None,
        (Some(_), Some(_)) => {
            return Err(OpenHomeError::Wanting(sentence![
                "a conversation is in one project: say ",
                RequestField::Conversation,
                " or ",
                RequestField::Project,
                ", not both"
            ]));
        }
    };
    let all = store.turn_numbers()?;
    let is_whole = since.is_none() && until.is_none() && request.before.is_none();
    let numbers = match is_whole {
        true => all,
        false => store.turn_number_from(lines.start)?..store.turn_number_from(lines.end)?,
    };
    Ok(TurnFilter {
        numbers,
        since,
        until,
        by_user: request.by_user,
        model: request.model.as_deref().map(like),
        threads,
    })
}

/// A pattern for names of models, as SQL's LIKE takes it: without a `*` the name holds it, with one
/// it is all of the name.
fn like(pattern: &str) -> String {
    let mut like = String::new();
    for c in pattern.chars() {
        match c {
            '*' => like.push('%'),
            '%' | '_' | '\\' => like.extend(['\\', c]),
            c => like.push(c),
        }
    }
    if pattern.contains('*') {
        like
    } else {
        format!("%{like}%")
    }
}
