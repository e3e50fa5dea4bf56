//! Conversations and projects are what turns and artifacts give, whatever is done and in whatever
//! order: told here by a small model of its own, and by the verifier.

use std::collections::BTreeMap;

use gently::continuity::declared::{TurnContext, TurnPlace};
use gently::govern::sanitize::{Placeholders, redact};
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::hash::Hash32;
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::conversation::{
    CONVERSATION_ARCHIVED, CONVERSATION_PROJECT, CONVERSATION_RESTORED, CONVERSATION_TITLE,
    ConversationState, PROJECT, PROJECT_RENAMED, PROJECT_RETIRED,
};
use gently::record::log::page_cursor::PageCursor;
use gently::recorder::{
    ArtifactField, ArtifactId, ContentPolicy, Erasure, NewArtifact, Recorder, RecorderTerms,
    always, thread_id, unwatched,
};
use gently::store::{ConversationFilter, GivenTitle, MessagePage, SessionRow};
use uuid::Uuid;

use crate::person::Person;
use crate::recorder::{Rig, anchor, answer, at, prompt_in, wait};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }
}

/// What was done with a thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    begun: Option<u64>,
    asked: Vec<u64>,
    title: Option<u64>,
    project: Option<String>,
    archived: Option<(bool, u64)>,
}

/// What was done in a home.
#[derive(Default)]
struct Model {
    threads: BTreeMap<Uuid, Thread>,
    /// Line, line of the newest name, whether it is over.
    projects: BTreeMap<String, (u64, u64, bool)>,
}

impl Model {
    /// The rows that there must be, in words.
    fn rows(&self) -> Vec<String> {
        let conversations = self.threads.iter().filter_map(|(id, thread)| {
            let first = thread.begun.or(thread.asked.first().copied())?;
            let last = thread.asked.last().copied().unwrap_or(first);
            let (archived, line) = thread.archived.unwrap_or((false, first));
            let state = if archived { "archived" } else { "open" };
            let (turns, title, project) = (thread.asked.len(), thread.title, &thread.project);
            Some(format!(
                "{id} {last} {turns} {title:?} {project:?} {state} {line}"
            ))
        });
        let projects = self.projects.iter().map(|(id, (line, name, over))| {
            let state = if *over { "retired" } else { "open" };
            format!("{id} {line} {name} {state}")
        });
        conversations.chain(projects).collect()
    }
}

/// The rows that there are, by a stock client.
fn rows(rig: &Rig) -> Vec<String> {
    let database = rusqlite::Connection::open(rig.root().join("gently.db")).unwrap();
    let mut conversations = database
        .prepare("SELECT * FROM conversation ORDER BY thread_id")
        .unwrap();
    let conversation = |row: &rusqlite::Row<'_>| {
        let (id, last, turns): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (title, project): (Option<i64>, Option<String>) = (row.get(3)?, row.get(4)?);
        let (state, line): (String, i64) = (row.get(5)?, row.get(6)?);
        Ok(format!(
            "{id} {last} {turns} {title:?} {project:?} {state} {line}"
        ))
    };
    let mut all: Vec<String> = conversations
        .query_map([], conversation)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut projects = database
        .prepare("SELECT * FROM project ORDER BY id")
        .unwrap();
    let project = |row: &rusqlite::Row<'_>| {
        let (id, line, name): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let state: String = row.get(3)?;
        Ok(format!("{id} {line} {name} {state}"))
    };
    all.extend(projects.query_map([], project).unwrap().map(Result::unwrap));
    all
}

fn salt(n: u64) -> Salt {
    Salt::new(*Hash32::digest(&n.to_be_bytes()).as_bytes())
}

/// Somebody who does things at random, and notes each in the model.
struct Actor<'a> {
    rig: &'a Rig,
    recorder: Recorder,
    dice: Dice,
    model: Model,
    session: SessionRow,
    now: u64,
}

impl<'a> Actor<'a> {
    async fn begin(rig: &'a Rig, seed: u64, keeps: ContentPolicy) -> Actor<'a> {
        let home = rig.home();
        let terms = RecorderTerms {
            content_policy: Some(keeps),
            ..RecorderTerms::default()
        };
        let key = home.signing_key().unwrap();
        let opened = Recorder::open_with(home.paths(), key, at(1), unwatched(), terms);
        let recorder = opened.unwrap();
        let session = recorder.open_session(rig.terms(), anchor(829_604), at(2));
        let session = session.await.unwrap();
        Actor {
            rig,
            recorder,
            dice: Dice(seed),
            model: Model::default(),
            session,
            now: 2,
        }
    }

    fn tick(&mut self) -> u64 {
        // Often within one second.
        self.now += u64::from(self.dice.below(3) == 0);
        self.now
    }

    /// A thread that is there already, or the session's own.
    fn thread(&mut self) -> Uuid {
        let own = thread_id(self.session.id, 0);
        let known: Vec<Uuid> = self.model.threads.keys().copied().collect();
        match self.dice.below(known.len() + 1) {
            0 => own,
            n => known[n - 1],
        }
    }

    fn known_thread(&mut self) -> Option<Uuid> {
        let known: Vec<Uuid> = self.model.threads.keys().copied().collect();
        (!known.is_empty()).then(|| known[self.dice.below(known.len())])
    }

    async fn artifact(
        &mut self,
        kind: &'static str,
        id: ArtifactId,
        field: Option<(&'static str, ArtifactField)>,
    ) -> (u64, String) {
        let now = self.tick();
        let by = ("by", ArtifactField::Hash(self.session.auth_key_hash));
        let new = NewArtifact {
            kind,
            id,
            content: std::iter::once(by).chain(field).collect(),
            session: None,
            salt: salt(self.dice.0),
            now: at(now),
        };
        let recorded = self.recorder.artifact(new, always).await.unwrap();
        (recorded.line, recorded.document.id)
    }

    async fn ask(&mut self) {
        let (thread, now) = (self.thread(), self.tick());
        let config = ContextConfig::parse(GENESIS_CONTEXT).unwrap();
        let parent = self.rig.store().newest_message(thread).unwrap();
        let context = TurnContext::alone(&config, TurnPlace::of_message(thread, parent));
        let text = format!("what of {}?", self.dice.below(1000));
        let store = self.rig.store();
        let numbers = store.placeholders(self.session.uuid).unwrap();
        let numbers = Placeholders::new(numbers.key.unwrap_or_default());
        let prompt = prompt_in(
            &self.recorder,
            &self.session,
            (context, &text),
            numbers,
            at(now),
        );
        let prompt = prompt.await.unwrap();
        let line = self
            .rig
            .store()
            .newest_exchange()
            .unwrap()
            .unwrap()
            .prompt_line;
        self.model
            .threads
            .entry(thread)
            .or_default()
            .asked
            .push(line);
        if self.dice.below(4) == 0 {
            let failed = self.recorder.fail(prompt, "timeout".to_owned(), at(now));
            failed.await.unwrap();
        } else {
            answer(&self.recorder, prompt, at(now)).await.unwrap();
        }
    }

    async fn begin_thread(&mut self) {
        let now = self.tick();
        let name = redact("a thread").clean;
        let begun =
            self.recorder
                .begin_thread(self.session.id, Some(name), salt(self.dice.0), at(now));
        let thread = begun.await.unwrap().thread;
        let newest = self.rig.store().newest_artifact("thread").unwrap().unwrap();
        self.model.threads.entry(thread).or_default().begun = Some(newest.line);
    }

    async fn say_of_a_conversation(&mut self) {
        let Some(thread) = self.known_thread() else {
            return;
        };
        let id = ArtifactId::Of(thread.to_string());
        match self.dice.below(4) {
            0 => {
                let title = redact("A title of its own").clean;
                let field = ("title", ArtifactField::Text(title));
                let (line, _) = self.artifact(CONVERSATION_TITLE, id, Some(field)).await;
                self.model.threads.entry(thread).or_default().title = Some(line);
            }
            1 => {
                let known: Vec<String> = self.model.projects.keys().cloned().collect();
                let to = match self.dice.below(known.len() + 1) {
                    0 => None,
                    n => Some(known[n - 1].clone()),
                };
                let field = to.clone().map_or(ArtifactField::Null, ArtifactField::Word);
                self.artifact(CONVERSATION_PROJECT, id, Some(("project", field)))
                    .await;
                self.model.threads.entry(thread).or_default().project = to;
            }
            n => {
                let archived = n == 2;
                let kind = if archived {
                    CONVERSATION_ARCHIVED
                } else {
                    CONVERSATION_RESTORED
                };
                let (line, _) = self.artifact(kind, id, None).await;
                self.model.threads.entry(thread).or_default().archived = Some((archived, line));
            }
        }
    }

    async fn say_of_a_project(&mut self) {
        let known: Vec<String> = self.model.projects.keys().cloned().collect();
        let name = || Some(("name", ArtifactField::Text(redact("Law").clean)));
        let at = self.dice.below(known.len() + 2);
        let Some(id) = known.get(at) else {
            let next = ArtifactId::Next { prefix: PROJECT };
            let (line, id) = self.artifact(PROJECT, next, name()).await;
            self.model.projects.insert(id, (line, line, false));
            return;
        };
        if self.dice.below(2) == 0 {
            let (line, _) = self
                .artifact(PROJECT_RENAMED, ArtifactId::Of(id.clone()), name())
                .await;
            self.model.projects.get_mut(id).unwrap().1 = line;
        } else {
            self.artifact(PROJECT_RETIRED, ArtifactId::Of(id.clone()), None)
                .await;
            self.model.projects.get_mut(id).unwrap().2 = true;
        }
    }

    async fn erase(&mut self) {
        let (now, store) = (self.tick(), self.rig.store());
        let mut what = Erasure {
            exchanges: Vec::new(),
            artifacts: Vec::new(),
            reason: redact("at random").clean,
        };
        let thread = self.known_thread();
        if self.dice.below(2) == 0 {
            let newest = store.newest_exchange().unwrap();
            what.exchanges.extend(newest.map(|row| row.exchange_id));
        } else if let Some(thread) = thread {
            let id = thread.to_string();
            let all = store
                .artifacts(gently::store::ArtifactFilter::Id(&id))
                .unwrap();
            if all.is_empty() {
                return;
            }
            what.artifacts.push(id);
            // What put it into a project says nothing any more.
            self.model.threads.entry(thread).or_default().project = None;
        }
        let (salt, at) = (salt(self.dice.0), at(now));
        self.recorder.erase(what, salt, at).await.unwrap();
    }

    async fn another_session(&mut self) {
        let now = at(self.tick());
        let closed = self
            .recorder
            .close_session(self.session.id, anchor(829_604), now);
        closed.await.unwrap();
        let opened = self
            .recorder
            .open_session(self.rig.terms(), anchor(829_604), now);
        self.session = opened.await.unwrap();
    }

    async fn act(&mut self) {
        match self.dice.below(20) {
            0 => self.another_session().await,
            1 | 2 => self.begin_thread().await,
            3..=5 => self.erase().await,
            6..=8 => self.say_of_a_project().await,
            9..=13 => self.say_of_a_conversation().await,
            _ => self.ask().await,
        }
    }
}

#[test]
fn rows_are_what_was_done_in_any_order() {
    for seed in 0..4 {
        let keeps = match seed {
            3 => ContentPolicy::Nothing { openings: true },
            _ => ContentPolicy::Sanitized,
        };
        let rig = Rig::new();
        wait(async {
            let mut actor = Actor::begin(&rig, seed, keeps).await;
            for step in 0..40 {
                actor.act().await;
                assert_eq!(rows(&rig), actor.model.rows(), "seed {seed}, step {step}");
            }
            assert!(actor.model.threads.len() > 1 && !actor.model.projects.is_empty());
        });
        rig.assert_sound(&format!("seed {seed}"));
        // Whatever row is changed by hand is found, and named.
        for (table, key, change) in [
            ("conversation", "thread_id", "turns = turns + 1"),
            ("conversation", "thread_id", "last_line = last_line - 1"),
            (
                "conversation",
                "thread_id",
                "state = CASE state WHEN 'open' THEN 'archived' ELSE 'open' END",
            ),
            ("conversation", "thread_id", "project = 'project:000099'"),
            (
                "project",
                "id",
                "state = CASE state WHEN 'open' THEN 'retired' ELSE 'open' END",
            ),
            (
                "project",
                "id",
                "name_line = (SELECT min(line) FROM artifact)",
            ),
        ] {
            let other = rig.copy();
            let database = rusqlite::Connection::open(other.root().join("gently.db")).unwrap();
            let newest = format!("{key} = (SELECT max({key}) FROM {table})");
            let named: String = database
                .query_row(&format!("SELECT max({key}) FROM {table}"), [], |row| {
                    row.get(0)
                })
                .unwrap();
            let changed =
                database.execute(&format!("UPDATE {table} SET {change} WHERE {newest}"), []);
            assert_eq!(changed.unwrap(), 1);
            drop(database);
            let findings = other.report().findings;
            let places: Vec<&str> = findings
                .iter()
                .map(|finding| finding.place.as_str())
                .collect();
            assert_eq!(places, [format!("database, {table} {named}")], "{change}");
        }
    }
}

/// Pages forth and back while others ask: every message once, and in order.
#[test]
fn paging_gives_every_message_once_whoever_writes() {
    let rig = Rig::new();
    wait(async {
        let mut actor = Actor::begin(&rig, 7, ContentPolicy::Sanitized).await;
        for _ in 0..12 {
            actor.ask().await;
        }
        let thread = thread_id(actor.session.id, 0);
        let place = |row: &gently::store::MessageRow| PageCursor {
            line: row.line,
            time: row.created_at,
        };
        for most in [1, 3, 50] {
            // Back from the newest, while questions are added.
            let (mut back, mut page) = (Vec::new(), MessagePage::Newest);
            loop {
                let rows = rig.store().messages(thread, page, most).unwrap();
                let Some(first) = rows.first() else {
                    break;
                };
                page = MessagePage::Before(place(first));
                back = [rows, back].concat();
                actor.ask().await;
            }
            // And forth from the first, until there are no more.
            let mut forth = rig
                .store()
                .messages(thread, MessagePage::Newest, u32::MAX)
                .unwrap();
            forth.truncate(1);
            loop {
                let after = MessagePage::After(place(forth.last().unwrap()));
                let rows = rig.store().messages(thread, after, most).unwrap();
                if rows.is_empty() {
                    break;
                }
                forth.extend(rows);
                if forth.len() < 20 {
                    actor.ask().await;
                }
            }
            let all = rig
                .store()
                .messages(thread, MessagePage::Newest, u32::MAX)
                .unwrap();
            assert_eq!(forth, all, "{most} at a time");
            assert_eq!(back, all[..back.len()], "{most} at a time");
            assert!(all.windows(2).all(|two| two[0].line < two[1].line));
            let store = rig.store();
            assert!(all.iter().all(|row| store.is_place(place(row)).unwrap()));
            let other = PageCursor {
                line: all[0].line + 1,
                ..place(&all[0])
            };
            assert!(
                !store
                    .is_place(PageCursor {
                        line: 9999,
                        ..other
                    })
                    .unwrap()
            );
        }
    });
}

#[test]
fn conversations_are_found_by_what_they_are_called() {
    let rig = Rig::new();
    wait(async {
        let mut actor = Actor::begin(&rig, 1, ContentPolicy::Sanitized).await;
        actor.begin_thread().await;
        for _ in 0..6 {
            actor.ask().await;
        }
        let named = *actor
            .model
            .threads
            .iter()
            .find(|(_, told)| told.begun.is_some())
            .unwrap()
            .0;
        let store = rig.store();
        let found = |title: &str| {
            let found = rig.store().conversations_titled(title, 9).unwrap();
            found.iter().map(|row| row.thread).collect::<Vec<_>>()
        };
        assert_eq!(found("a thread"), [named]);
        assert!(found("a Thread").is_empty());
        let row = store.conversation(named).unwrap().unwrap();
        let text = |text: &str| GivenTitle::Text(text.to_owned());
        assert_eq!(store.given_title(&row).unwrap(), text("a thread"));
        let project = actor.artifact(
            PROJECT,
            ArtifactId::Next { prefix: PROJECT },
            Some(("name", ArtifactField::Text(redact("Law").clean))),
        );
        let (_, project) = project.await;
        let own = thread_id(actor.session.id, 0);
        for (thread, title) in [(named, "Other"), (own, "Twice"), (named, "Twice")] {
            let title = ArtifactField::Text(redact(title).clean);
            let id = ArtifactId::Of(thread.to_string());
            actor
                .artifact(CONVERSATION_TITLE, id, Some(("title", title)))
                .await;
        }
        assert!(found("a thread").is_empty(), "it has a title");
        assert!(found("Other").is_empty(), "it has a newer one");
        assert_eq!(found("Twice").len(), 2);
        let id = ArtifactId::Of(own.to_string());
        let to = ("project", ArtifactField::Word(project.clone()));
        actor
            .artifact(CONVERSATION_PROJECT, id.clone(), Some(to))
            .await;
        let listed = |state, project| {
            let filter = ConversationFilter { state, project };
            let rows = rig.store().conversations(filter, None, 9).unwrap();
            rows.iter().map(|row| row.thread).collect::<Vec<_>>()
        };
        let (open, archived) = (ConversationState::Open, ConversationState::Archived);
        let in_project = Some(project.as_str());
        assert_eq!(listed(open, in_project), [own]);
        assert_eq!(listed(open, None).len(), 2);
        let key = actor.session.auth_key_hash;
        let newest = |project| {
            let row = rig.store().newest_conversation_of(key, project).unwrap();
            row.map(|row| row.thread)
        };
        assert_eq!(newest(in_project), Some(own));
        assert_eq!(newest(None), listed(open, None).first().copied());
        actor.artifact(CONVERSATION_ARCHIVED, id, None).await;
        assert_eq!(
            (listed(open, in_project), listed(archived, in_project)),
            (vec![], vec![own])
        );
        assert_eq!((newest(in_project), newest(None)), (None, Some(named)));
        let store = rig.store();
        let projects = store.projects_named("Law", 9).unwrap();
        assert_eq!(projects.len(), 1);
        assert_eq!(
            store.project_name(&projects[0]).unwrap().as_deref(),
            Some("Law")
        );
        assert_eq!(
            store.models_of(own, 9).unwrap(),
            [("observer".to_owned(), true)]
        );
        let digits = &own.to_string()[..13];
        let like: Vec<gently::store::ConversationRow> = store.like(digits, 2).unwrap();
        assert_eq!(like.iter().map(|row| row.thread).collect::<Vec<_>>(), [own]);
        // What a title said is gone with it; that there was one stays.
        let what = Erasure {
            exchanges: Vec::new(),
            artifacts: vec![named.to_string()],
            reason: redact("x").clean,
        };
        actor
            .recorder
            .erase(what, salt(99), at(actor.now))
            .await
            .unwrap();
        let row = rig.store().conversation(named).unwrap().unwrap();
        assert_eq!(rig.store().given_title(&row).unwrap(), GivenTitle::Gone);
        assert_eq!(found("Twice"), [own]);
    });
    rig.assert_sound("found");
}

/// An artifact's kind, its id (none: the next project), and what it says.
type Saying<'a> = (&'static str, &'a str, Option<(&'static str, &'a str)>);

/// Records artifacts about conversations in a home that the program made.
pub fn say(person: &Person, said: &[Saying<'_>]) {
    let rig = Rig::borrowed(&person.home());
    let (home, now) = (rig.home(), rig.store().head().unwrap().time);
    wait(async {
        let key = home.signing_key().unwrap();
        let recorder = Recorder::open(home.paths(), key, now, unwatched()).unwrap();
        for (kind, id, field) in said {
            let id = match *id {
                "" => ArtifactId::Next { prefix: PROJECT },
                id => ArtifactId::Of(id.to_owned()),
            };
            let field = field.map(|(name, text)| {
                let text = match name {
                    "project" => ArtifactField::Word(text.to_owned()),
                    _ => ArtifactField::Text(redact(text).clean),
                };
                (name, text)
            });
            let new = NewArtifact {
                kind,
                id,
                content: field.into_iter().collect(),
                session: None,
                salt: salt(now.get()),
                now,
            };
            recorder.artifact(new, always).await.unwrap();
        }
    });
}

/// What was said of conversations after a backup is known by its lines alone: that a title was given,
/// that one was put away, that there is a project; not what they are called, nor what was put where.
#[test]
fn a_ledger_that_is_taken_over_moves_conversations() {
    let mut person = Person::new();
    person.set("GENTLY_PASSPHRASE", "correct horse");
    person.gently(&["init"]).exits(0);
    person.ask("What is old?");
    person.gently(&["thread", "new", "garden"]).exits(0);
    let file = person.dir.path().join("backup").display().to_string();
    person.gently(&["backup", &file]).exits(0);
    let threads = |person: &Person| {
        let rows = Rig::borrowed(&person.home())
            .store()
            .newest_threads(9)
            .unwrap();
        rows.into_iter()
            .map(|row| row.thread.to_string())
            .collect::<Vec<_>>()
    };
    let before = threads(&person);
    let [garden, old] = &before[..] else {
        panic!("{before:?}");
    };
    person.gently(&["session", "close"]).exits(0);
    person.ask("Who will lose this?");
    let lost = threads(&person)[0].clone();
    say(
        &person,
        &[
            (PROJECT, "", Some(("name", "Law"))),
            (CONVERSATION_TITLE, old, Some(("title", "Of old"))),
            (
                CONVERSATION_PROJECT,
                old,
                Some(("project", "project:000001")),
            ),
            (CONVERSATION_ARCHIVED, garden, None),
            (CONVERSATION_TITLE, &lost, Some(("title", "Lost"))),
        ],
    );
    person.gently(&["audit", "verify"]).exits(0);
    let gone = person.dir.path().join("gone");
    std::fs::rename(person.home(), &gone).unwrap();
    person.gently(&["restore", &file]).exits(0);
    let (ledger, log) = (gone.join("ledger.git"), gone.join("audit.log"));
    let (ledger, log) = (ledger.display().to_string(), log.display().to_string());
    person
        .gently(&["audit", "adopt", "--from", &ledger, "--log", &log])
        .exits(0);
    person.gently(&["audit", "verify"]).exits(0);
    let conversation = |id: &str| {
        let store = Rig::borrowed(&person.home()).store();
        let row = store.conversation(id.parse().unwrap()).unwrap();
        row.map(|row| (store.given_title(&row).unwrap(), row))
    };
    let (title, row) = conversation(old).unwrap();
    assert_eq!((title, row.project, row.turns), (GivenTitle::Gone, None, 1));
    let (title, row) = conversation(garden).unwrap();
    assert_eq!(title, GivenTitle::Text("garden".to_owned()));
    assert_eq!(row.state, ConversationState::Archived);
    assert_eq!(conversation(&lost), None);
    let store = Rig::borrowed(&person.home()).store();
    let projects = store.projects(None).unwrap();
    assert_eq!(
        (projects.len(), store.project_name(&projects[0]).unwrap()),
        (1, None)
    );
    drop(store);
    // Its session is open still: the thread begins again, and its title was given before.
    person.ask("Does it go on?");
    let (title, row) = conversation(&lost).unwrap();
    assert_eq!((title, row.turns), (GivenTitle::Gone, 1));
    person.gently(&["audit", "verify"]).exits(0);
}
