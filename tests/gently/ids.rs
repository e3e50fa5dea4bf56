//! Ids that hold: what was printed of an exchange names it for ever.

use std::collections::BTreeSet;

use gently::app::ask::{AskRequest, prepare};
use gently::app::find::{exchange, session, short_id};
use gently::app::open::{OpenHome, home_at};
use gently::app::settings;
use gently::ask::TurnControl;
use gently::store::Store;
use uuid::Uuid;

use crate::model_server::{Behaviour, ModelServer};

/// One exchange, as it was told when it was recorded.
struct Told {
    id: String,
    exchange: Uuid,
    seq: u64,
}

/// Every session that is not the first asks once or twice, each of another model.
#[tokio::test]
async fn what_was_printed_once_names_the_same_in_fifty_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("home");
    home_at(&place).unwrap();
    let server = ModelServer::start(Behaviour::Good);
    for (key, value) in [
        ("anchor.mode", "off"),
        ("model.base_url", &server.base_url()),
    ] {
        settings::set(key, value, &place, &|_| None).unwrap();
    }
    let (home, _) = home_at(&place).unwrap();
    let opened = OpenHome::open(home.clone()).unwrap();
    let mut told: Vec<Told> = Vec::new();
    for n in 0..50 {
        for _ in 0..1 + n % 3 {
            let request = AskRequest {
                text: format!("Question {n}?"),
                model: Some(format!("openai/m-{n}")),
                ..AskRequest::default()
            };
            let setup = prepare(&opened, &request, &|_| {}).await.unwrap();
            let asked = setup.ask(&TurnControl::default(), &|_| {}).await.unwrap();
            told.push(Told {
                id: asked.id.clone(),
                exchange: asked.exchange(),
                seq: asked.ids().seq,
            });
            let last = exchange(&opened.store, "last").unwrap();
            assert_eq!(last.exchange_id, asked.exchange());
        }
    }
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    let mut sessions = BTreeSet::new();
    for one in &told {
        let row = exchange(&store, &one.id).unwrap();
        assert_eq!(row.exchange_id, one.exchange, "{}", one.id);
        let around = session(&store, &one.id).unwrap();
        assert_eq!(around.uuid, row.session);
        sessions.insert(around.id);
        // What was printed then is what is printed now.
        assert_eq!(short_id(&store, around.id, one.seq).unwrap(), one.id);
        let named = format!("{}/interaction-{}", around.id, one.seq);
        assert_eq!(exchange(&store, &named).unwrap().exchange_id, one.exchange);
    }
    assert_eq!((told.len(), sessions.len()), (99, 50));
    // A number without a session is of the newest that has so many.
    for seq in 1..=3 {
        let newest = told.iter().rev().find(|one| one.seq == seq).unwrap();
        let found = exchange(&store, &format!("interaction-{seq}")).unwrap();
        assert_eq!(found.exchange_id, newest.exchange, "interaction-{seq}");
    }
    let none = exchange(&store, "interaction-4").unwrap_err().to_string();
    assert!(none.contains("no session has so many prompts"), "{none}");
}
