//! The door to come: a program that asks, shows, verifies and opens a turn through the desk alone,
//! without a terminal and without the program `gently`.

use std::path::Path;

use gently::app::ask::{AskRequest, SightWish, TurnControl, prepare, settle};
use gently::app::home::open::{OpenHome, home_at};
use gently::app::keep::doctor::examine;
use gently::app::keep::rebuild;
use gently::app::look::log_lines::{self, LinesRequest};
use gently::app::look::show;
use gently::app::prove::opening::{OpeningRequest, TurnText, open_texts};
use gently::app::prove::verify::home::holds;
use gently::app::prove::verify::opening::{CheckRequest, check};
use gently::app::prove::verify::{VerifyRequest, verify};
use gently::app::set_up::settings;
use gently::view::ask::turn::{TurnNotices, TurnView};
use gently::view::keep::doctor::DoctorView;
use gently::view::look::exchange::ExchangeView;

#[tokio::test]
async fn a_turn_is_asked_shown_verified_and_opened_without_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("home");
    let (home, made) = home_at(&place).unwrap();
    assert!(made);
    settings::set("anchor.mode", "off", &place, &|_| None).unwrap();

    // Ask.
    let opened = OpenHome::open(home.clone()).unwrap();
    let request = AskRequest {
        text: "What do you see?".to_owned(),
        model: Some("observer".to_owned()),
        sight: SightWish::All,
        ..AskRequest::default()
    };
    let setup = prepare(&opened, &request, &|_| {}).await.unwrap();
    let main_before = setup.main_before();
    let asked = setup
        .ask(&TurnControl::default(), &|_| {}, &|_| {})
        .await
        .unwrap();
    let answer = asked.answer().unwrap().to_owned();
    let beside = TurnNotices {
        notes: Vec::new(),
        receipt: asked.receipt(&opened).unwrap().value().unwrap(),
        files: Vec::new(),
    };
    let told = serde_json::to_value(TurnView::of(&asked, beside)).unwrap();
    assert_eq!(told["answer"], answer.as_str());
    assert_eq!(told["outcome"], "answered");
    settle(&opened, main_before).await;

    // Show.
    let exchange = asked.exchange().to_string();
    let details = show::exchange(&home, &exchange, false).unwrap();
    assert_eq!(details.prompt_text(), Some("What do you see?"));
    let told = serde_json::to_value(ExchangeView::of(&details)).unwrap();
    assert_eq!(told["answer"], answer.as_str());

    // Verify.
    let verified = verify(&VerifyRequest::default(), Some(&place), None).unwrap();
    assert!(verified.report.holds(), "{:?}", verified.report.findings);

    // Open, and check what was opened as somebody without the home would.
    let auth = opened.authorize().await.unwrap();
    let request = OpeningRequest {
        session: Some("last".to_owned()),
        seq: vec![1],
        texts: vec![TurnText::Response],
        ..OpeningRequest::default()
    };
    let opening = open_texts(&opened, auth, &request).await.unwrap();
    let file = folder.path().join("opening.json");
    std::fs::write(&file, &opening.text).unwrap();
    let request = CheckRequest {
        file,
        ..CheckRequest::default()
    };
    let checked = check(&request).unwrap();
    assert!(checked.holds);
    assert_eq!(checked.file.openings[0].text, answer);
}

#[tokio::test]
async fn a_lost_log_is_found_and_rebuilt_without_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("home");
    let (home, _) = home_at(&place).unwrap();
    settings::set("anchor.mode", "off", &place, &|_| None).unwrap();
    let log = home.paths().log();
    let before = std::fs::read(&log).unwrap();
    assert!(rebuild::losses(&place).unwrap().is_nothing());
    assert_eq!(log_check(&place).await, "ok");

    std::fs::remove_file(&log).unwrap();
    assert_eq!(log_check(&place).await, "FAIL");
    let lost = rebuild::losses(&place).unwrap();
    assert_eq!(lost.lines.map(|(from, _)| from), Some(1));

    let done = rebuild::rebuild(&place, &|_| ()).unwrap();
    assert_eq!(done.rebuilt.lost.lines, lost.lines);
    assert!(holds(&done.report), "{:?}", done.report.findings);
    assert!(std::fs::read(&log).unwrap().starts_with(&before));
    let lines = log_lines::newest(&home, &LinesRequest::default()).unwrap();
    assert_eq!(lines.broken(), 0);
    // That it was rebuilt is on record.
    assert_eq!(lines.shown.len() as u64, done.rebuilt.recover.unwrap());
}

/// What the examination says of the log.
async fn log_check(place: &Path) -> String {
    let report = DoctorView::of(&examine(place).await);
    let check = report.checks.iter().find(|check| check.check == "log");
    check.unwrap().state.to_owned()
}
