//! A list of messages with tools, parts and settings, as a gateway will bring it: through the desk to
//! servers of all three kinds, recorded, checked and erased.

use gently::app::ask::{AskRequest, AskResult, TurnControl, prepare};
use gently::app::home::open::{OpenHome, home_at};
use gently::app::set_up::settings;
use gently::ask::TurnEnd;
use gently::record::ledger::client_request::{ClientRequest, ToolCall};
use gently::record::ledger::image::ImageFile;
use gently::record::ledger::request::RequestPart;
use serde_json::{Value, json};

use crate::model_server::{ANSWER, Behaviour, ModelServer};
use crate::opening;
use crate::person::{Person, run};

/// A model behind each kind of server.
const MODELS: [&str; 3] = ["openai/small-1b", "ollama/small-1b", "anthropic/small-1b"];
/// What is asked in most of them.
const QUESTION: &str = "What is on the picture, and how deep is the well?";
/// A token of a known kind; nobody's.
const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const PASSWORD: &str = "hunter2hunter2";

/// A home whose models are all behind one server.
fn house(server: &ModelServer) -> (Person, OpenHome) {
    let person = Person::new();
    let place = person.home();
    home_at(&place).unwrap();
    for (key, value) in [
        ("anchor.mode", "off"),
        ("model.base_url", &server.base_url()),
        ("model.ollama_url", &server.root_url()),
        ("model.anthropic_url", &server.root_url()),
    ] {
        settings::set(key, value, &place, &|_| None).unwrap();
    }
    let (home, _) = home_at(&place).unwrap();
    (person, OpenHome::open(home).unwrap())
}

async fn ask(
    opened: &OpenHome,
    model: &str,
    client: ClientRequest,
    control: &TurnControl,
) -> Result<AskResult, String> {
    let request = AskRequest {
        model: Some(model.to_owned()),
        client: Some(client),
        ..AskRequest::default()
    };
    let setup = prepare(opened, &request, &|_| {}).await;
    let setup = setup.map_err(|e| e.to_string())?;
    let asked = setup.ask(control, &|_| {}, &|_| {}).await;
    asked.map_err(|e| e.to_string())
}

fn calls() -> Value {
    let call = |id: &str, name: &str, arguments: &str| json!({"tool_call": {"arguments": arguments, "id": id, "name": name}});
    json!([{"text": "I look."}, call("call_a", "depth", r#"{"well":"north"}"#), call("call_b", "see", "{}")])
}

fn tools() -> Value {
    json!([
        {"name": "depth", "description": "Measures a well.", "parameters": {"type": "object",
            "properties": {"well": {"type": "string"}, "step": {"type": "number", "minimum": 0.5}}, "required": []}},
        {"name": "see", "parameters": {"type": "object"}},
    ])
}

/// Messages of every role and kind of part; the last one is a tool's.
fn full(model: &str) -> (ClientRequest, ImageFile) {
    let image = ImageFile::of(b"GIF89a".to_vec()).unwrap();
    let result = |id: &str, text: &str| json!({"role": "tool", "parts": [{"tool_result": {"id": id, "text": text}}]});
    let mut request = json!({
        "messages": [
            {"role": "system", "parts": [{"text": "Be brief."}]},
            {"role": "user", "parts": [{"text": "Hello."}]},
            {"role": "assistant", "parts": [{"text": "Good day."}]},
            {"role": "user", "parts": [{"text": QUESTION}, {"image": image.named}]},
            {"role": "assistant", "parts": calls()},
            result("call_a", "12 m"),
            result("call_b", "A heron."),
        ],
        "settings": {"top_p": 0.9, "top_k": 40},
        "tools": tools(),
    });
    if !model.starts_with("ollama") {
        request["tool_choice"] = json!({"name": "depth"});
    }
    let mut request = ClientRequest::parse(&request.to_string()).unwrap();
    request.images = vec![image.clone()];
    (request, image)
}

/// The messages behind the system's, in a server's own words.
fn expected(model: &str) -> Value {
    let (args, image) = (r#"{"well":"north"}"#, "R0lGODlh");
    let (hello, good_day) = (
        json!({"role": "user", "content": "Hello."}),
        json!({"role": "assistant", "content": "Good day."}),
    );
    match model.split_once('/').unwrap().0 {
        "openai" => {
            let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
            let url = format!("data:image/gif;base64,{image}");
            json!([hello, good_day,
                {"role": "user", "content": [{"type": "text", "text": QUESTION},
                    {"type": "image_url", "image_url": {"url": url}}]},
                {"role": "assistant", "content": "I look.",
                    "tool_calls": [call("call_a", "depth", args), call("call_b", "see", "{}")]},
                {"role": "tool", "tool_call_id": "call_a", "content": "12 m"},
                {"role": "tool", "tool_call_id": "call_b", "content": "A heron."}])
        }
        "ollama" => {
            let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "function": {"name": name, "arguments": arguments}});
            json!([hello, good_day,
                {"role": "user", "content": QUESTION, "images": [image]},
                {"role": "assistant", "content": "I look.",
                    "tool_calls": [call("call_a", "depth", json!({"well": "north"})), call("call_b", "see", json!({}))]},
                {"role": "tool", "tool_call_id": "call_a", "tool_name": "depth", "content": "12 m"},
                {"role": "tool", "tool_call_id": "call_b", "tool_name": "see", "content": "A heron."}])
        }
        _ => {
            let source = json!({"type": "base64", "media_type": "image/gif", "data": image});
            json!([hello, good_day,
                {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": QUESTION}]},
                {"role": "assistant", "content": [{"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "call_a", "name": "depth", "input": {"well": "north"}},
                    {"type": "tool_use", "id": "call_b", "name": "see", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_a", "content": "12 m"},
                    {"type": "tool_result", "tool_use_id": "call_b", "content": "A heron."}]}])
        }
    }
}

/// Both verifiers and the replay agree on a home.
fn holds(person: &Person) {
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut python = std::process::Command::new("python3");
    python
        .arg(root.join("scripts/verify.py"))
        .arg(person.at("ledger.git"))
        .arg("--log")
        .arg(person.at("audit.log"))
        .arg("--json");
    let theirs = run(&mut python).exits(0).json();
    assert_eq!(theirs["answers"]["consistent"], "yes", "{theirs}");
}

#[tokio::test]
async fn messages_tools_parts_and_settings_reach_servers_of_every_kind() {
    for model in MODELS {
        let wanted = json!({"role": "assistant", "content": "Once more.", "tool_calls": [{"type": "function",
            "id": "call_c", "function": {"name": "depth", "arguments": "{\"well\":\"south\"}"}}]});
        let server = ModelServer::start(Behaviour::Message(wanted));
        let (person, opened) = house(&server);
        let (client, image) = full(model);
        let asked = ask(&opened, model, client.clone(), &TurnControl::default())
            .await
            .unwrap();
        let body = server.requests()[0].json();

        // What was sent.
        let (system, messages) = match model.starts_with("anthropic") {
            true => (body["system"].clone(), body["messages"].clone()),
            false => {
                let all = body["messages"].as_array().unwrap();
                (all[0]["content"].clone(), json!(all[1..]))
            }
        };
        let system = system.as_str().unwrap();
        assert!(
            system.ends_with("\n\nBe brief.") && system.len() > 40,
            "{model}: {system}"
        );
        assert_eq!(messages, expected(model), "{model}");
        let parameters = &tools()[0]["parameters"];
        match model.starts_with("anthropic") {
            true => {
                assert_eq!(body["tools"][0]["input_schema"], *parameters);
                assert_eq!(
                    body["tools"][1],
                    json!({"name": "see", "input_schema": {"type": "object"}})
                );
                assert_eq!(
                    body["tool_choice"],
                    json!({"type": "tool", "name": "depth"})
                );
            }
            false => {
                assert_eq!(body["tools"][0]["type"], "function");
                assert_eq!(body["tools"][0]["function"], tools()[0]);
                let choice = json!({"type": "function", "function": {"name": "depth"}});
                let choice = Some(choice).filter(|_| model.starts_with("openai"));
                assert_eq!(body.get("tool_choice"), choice.as_ref());
            }
        }
        let set = match model.starts_with("ollama") {
            true => &body["options"],
            false => &body,
        };
        assert_eq!(
            (&set["top_p"], &set["top_k"]),
            (&json!(0.9), &json!(40)),
            "{model}"
        );

        // What came back.
        let id = match model.starts_with("ollama") {
            true => "",
            false => "call_c",
        };
        let call = ToolCall {
            arguments: r#"{"well":"south"}"#.to_owned(),
            id: id.to_owned(),
            name: "depth".to_owned(),
        };
        assert_eq!(asked.tool_calls(), [call], "{model}");
        let TurnEnd::Answered(answer) = &asked.turn.turn else {
            panic!("{model}: no answer");
        };
        assert!(answer.tools.is_empty(), "{model}: it was offered");
        drop(opened);

        // What is on record.
        let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
        assert_eq!(shown["prompt"], QUESTION, "{model}: {shown:#}");
        let request = &shown["request"];
        let parts = |at: usize| request["messages"][at]["parts"].clone();
        assert_eq!(parts(0)[1], json!({"text": "Be brief."}), "{request:#}");
        assert_eq!(parts(3), json!(["question", {"image": image.named}]));
        assert_eq!(parts(4), calls());
        assert_eq!(
            parts(6),
            json!([{"tool_result": {"id": "call_b", "text": "A heron."}}])
        );
        assert_eq!(request["messages"][6]["role"], "tool");
        assert_eq!(request["settings"]["top_p"], "0.9");
        assert_eq!(request["settings"]["top_k"], 40);
        let choice = json!({"name": "depth"});
        let choice = Some(choice).filter(|_| !model.starts_with("ollama"));
        assert_eq!(request["settings"].get("tool_choice"), choice.as_ref());
        let step = &request["tools"][0]["parameters"]["properties"]["step"];
        assert_eq!(step["minimum"], "0.5");
        assert_eq!(request["tools"][0]["parameters"]["required"], json!([]));
        assert_eq!(
            shown["reply"]["tool_calls"].as_array().unwrap().len(),
            1,
            "{shown:#}"
        );
        holds(&person);

        // Erased, nothing of it is left.
        person
            .gently(&["erase", "last", "--yes", "--reason", "no"])
            .exits(0);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        for file in ["gently.db", "gently.db-wal", "audit.log"] {
            let found = text(std::fs::read(person.at(file)).unwrap_or_default());
            for words in ["A heron.", "Measures a well.", "well\\\":\\\"north"] {
                assert!(!found.contains(words), "{model}: {words} in {file}");
            }
        }
        holds(&person);
    }
}

/// A turn after another: what came of a call is asked about with the same question, and a plain
/// question goes on with what the conversation was.
#[tokio::test]
async fn a_plain_question_goes_on_after_a_clients() {
    let server = ModelServer::start(Behaviour::Good);
    let (person, opened) = house(&server);
    for _ in 0..2 {
        let (client, _) = full(MODELS[0]);
        let asked = ask(&opened, MODELS[0], client, &TurnControl::default())
            .await
            .unwrap();
        assert_eq!(asked.answer(), Some(ANSWER));
        assert!(asked.tool_calls().is_empty());
    }
    drop(opened);
    let told = person.gently(&["ask", "--no-sight", "-m", MODELS[0], "And now?"]);
    assert_eq!(told.exits(0).out, format!("{ANSWER}\n"));
    let sent = server.requests();
    // The second one of a client brings its own conversation, and gets no other.
    assert_eq!(sent[0].json()["messages"], sent[1].json()["messages"]);
    let last = sent[2].json();
    let said: Vec<&Value> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["content"])
        .collect();
    assert_eq!(said[1..], [QUESTION, ANSWER, QUESTION, ANSWER, "And now?"]);
    assert_eq!(last.get("tools"), None);
    holds(&person);
}

#[tokio::test]
async fn what_no_server_is_asked_with_is_said_and_nothing_is_recorded() {
    let server = ModelServer::start(Behaviour::Good);
    let (person, opened) = house(&server);
    let hi = || json!({"role": "user", "parts": [{"text": "Hi."}]});
    let with = |messages: Value| json!({"messages": messages});
    let long = "x".repeat(1 << 20);
    let large = json!([{"name": "look", "description": long, "parameters": {}}]);
    let mid = json!([hi(), {"role": "system", "parts": [{"text": "Now be brief."}]}, hi()]);
    let call = |arguments: &str, id: &str| {
        json!([hi(),
        {"role": "assistant", "parts": [{"tool_call": {"arguments": arguments, "id": id, "name": "look"}}]},
        {"role": "tool", "parts": [{"tool_result": {"id": id, "text": "1"}}]}])
    };
    let answer = json!({"role": "assistant", "parts": [{"text": "Hello."}]});
    let tool = json!([{"name": "look", "parameters": {}}]);
    let named = json!([{"name": SECRET, "parameters": {}}]);
    for (model, request, words) in [
        (0, with(json!([])), "is empty"),
        (
            0,
            with(json!([hi(), answer])),
            "role assistant: nothing is asked",
        ),
        (
            0,
            json!({"messages": [hi()], "settings": {"stream": false}}),
            "stream is gently's",
        ),
        (
            0,
            json!({"messages": [hi()], "settings": {"model": "x"}}),
            "model is gently's",
        ),
        (
            0,
            json!({"messages": [hi()], "settings": {"messages": []}}),
            "messages is gently's",
        ),
        (
            0,
            json!({"messages": [hi()], "tools": large}),
            "prompt.max_bytes",
        ),
        (
            0,
            json!({"messages": [hi()], "tools": named}),
            "holds a secret",
        ),
        (1, with(call("no object", "a")), "no JSON object"),
        (
            1,
            json!({"messages": [hi()], "tools": tool, "tool_choice": "required"}),
            "takes no tool_choice",
        ),
        (2, with(mid.clone()), "at the beginning only"),
        (
            2,
            with(json!([answer, hi()])),
            "begins with a message of the role assistant",
        ),
        (
            2,
            with(call("{}", "a.b")),
            "an id that Anthropic does not take",
        ),
        (2, with(call("[]", "a")), "no JSON object"),
    ] {
        let client = ClientRequest::parse(&request.to_string()).unwrap();
        let told = ask(&opened, MODELS[model], client, &TurnControl::default()).await;
        let told = told.err().unwrap_or_default();
        assert!(told.contains(words), "{words}: {told}");
        assert!(!told.contains(SECRET), "{told}");
    }
    let robot = json!({"messages": [{"role": "robot", "parts": [{"text": "Hi."}]}]});
    let told = ClientRequest::parse(&robot.to_string()).unwrap_err();
    assert!(told.contains("unknown variant `robot`"), "{told}");
    let offered = json!({"messages": [hi()], "tools": tool});
    let client = ClientRequest::parse(&offered.to_string()).unwrap();
    let told = ask(&opened, "observer", client.clone(), &TurnControl::default()).await;
    assert!(told.err().unwrap_or_default().contains("takes no tools"));
    // Two questions, or two conversations.
    for (text, refs) in [("Hi.", vec![]), ("", vec!["last:3".to_owned()])] {
        let mut request = AskRequest {
            text: text.to_owned(),
            model: Some(MODELS[0].to_owned()),
            client: Some(client.clone()),
            ..AskRequest::default()
        };
        request.context.refs = refs;
        let told = prepare(&opened, &request, &|_| {})
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(told.contains("brings its"), "{told}");
    }
    assert!(server.requests().is_empty() && server.looks().is_empty());
    // What one takes that another does not.
    let client = ClientRequest::parse(&with(mid).to_string()).unwrap();
    ask(&opened, MODELS[0], client, &TurnControl::default())
        .await
        .unwrap();
    drop(opened);
    let counts = "SELECT count(*) FROM llm_exchange";
    let count: i64 = person
        .database()
        .query_row(counts, [], |row| row.get(0))
        .unwrap();
    assert_eq!((count, server.requests().len()), (1, 1));
    holds(&person);
}

#[tokio::test]
async fn secrets_go_out_of_all_that_a_client_brings() {
    let server = ModelServer::start(Behaviour::Good);
    let (person, opened) = house(&server);
    for (number, model) in MODELS.into_iter().enumerate() {
        let (mut client, _) = full(model);
        client.tools[0].description = Some(format!("Measures with {SECRET}."));
        client.tools[1].parameters = json!({"properties": {"password": {"default": PASSWORD}}});
        client.settings.insert("user".to_owned(), json!(SECRET));
        for part in client.messages.iter_mut().flat_map(|one| &mut one.parts) {
            match part {
                RequestPart::ToolCall(call) => {
                    call.arguments = json!({"password": PASSWORD, "pin": 552_913}).to_string();
                }
                RequestPart::ToolResult(result) => {
                    result.text = format!("It took {SECRET} and {PASSWORD}.")
                }
                RequestPart::Text(text) if text == "Be brief." => text.push_str(SECRET),
                _ => {}
            }
        }
        let asked = ask(&opened, model, client, &TurnControl::default())
            .await
            .unwrap();
        assert!(!asked.turn.removed.is_empty(), "{model}");
        let sent = String::from_utf8(server.requests()[number].body.clone()).unwrap();
        for secret in [SECRET, PASSWORD, "552913"] {
            assert!(!sent.contains(secret), "{model}, {secret}: {sent}");
        }
        assert!(sent.contains("Measures with [redacted:"), "{model}: {sent}");
        assert_eq!(
            server.requests()[number].json()["messages"]
                .as_array()
                .unwrap()
                .len(),
            expected(model).as_array().unwrap().len()
                + usize::from(!model.starts_with("anthropic"))
        );
    }
    drop(opened);
    for file in std::fs::read_dir(person.home()).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let found = String::from_utf8_lossy(&bytes).into_owned();
        assert!(
            !found.contains(SECRET) && !found.contains(PASSWORD),
            "{:?}",
            file.path()
        );
    }
    holds(&person);
}

/// What is brought is held against policy like what is asked, and a denied question reaches no
/// server, in any way.
#[tokio::test]
async fn nothing_is_sent_for_what_policy_denies() {
    let show = json!({"model_info": {"x.context_length": 4096}});
    let server = ModelServer::telling(vec![Behaviour::Good], show, json!({"max_model_len": 4096}));
    let (person, opened) = house(&server);
    drop(opened);
    let kernel = person.dir.path().join("kernel.toml");
    let topic = "\n[[policy.forbidden]]\nname = \"birds\"\npattern = \"(?i)heron\"\n";
    std::fs::write(
        &kernel,
        format!("{}{topic}", gently::govern::kernel::GENESIS_KERNEL),
    )
    .unwrap();
    person
        .gently(&["kernel", "set", kernel.to_str().unwrap()])
        .exits(0);
    let (home, _) = home_at(&person.home()).unwrap();
    let opened = OpenHome::open(home).unwrap();
    for model in MODELS {
        let (client, _) = full(model);
        let asked = ask(&opened, model, client, &TurnControl::default())
            .await
            .unwrap();
        assert!(matches!(asked.turn.turn, TurnEnd::Refused(..)), "{model}");
        person
            .gently(&["ask", "-m", model, "What is a heron?"])
            .exits(1);
        person
            .gently(&["ask", "-m", model, "Hi", "--system", "Like a heron."])
            .exits(1);
        person
            .gently(&["context", "preview", "-m", model, "What is a heron?"])
            .exits(1);
    }
    assert_eq!((server.requests().len(), server.looks().len()), (0, 0));
    assert_eq!(server.connections(), 0);
    drop(opened);
    // What is allowed is sent, and the window is asked for.
    person
        .gently(&["ask", "-m", MODELS[1], "What is a well?"])
        .exits(0);
    assert_eq!((server.requests().len(), server.looks().len()), (1, 1));
    holds(&person);
}

/// A kernel that is tried on history sees what a client brought.
#[tokio::test]
async fn another_kernel_is_tried_on_what_was_brought() {
    let server = ModelServer::start(Behaviour::Good);
    let (person, opened) = house(&server);
    let (client, _) = full(MODELS[0]);
    ask(&opened, MODELS[0], client, &TurnControl::default())
        .await
        .unwrap();
    drop(opened);
    let kernel = person.dir.path().join("kernel.toml");
    let topic = "\n[[policy.forbidden]]\nname = \"birds\"\npattern = \"(?i)heron\"\n";
    std::fs::write(
        &kernel,
        format!("{}{topic}", gently::govern::kernel::GENESIS_KERNEL),
    )
    .unwrap();
    let tried = [
        "audit",
        "replay",
        "--all",
        "--json",
        "--kernel",
        kernel.to_str().unwrap(),
    ];
    let tried = person.gently(&tried).json();
    let would = &tried["differences"][0]["rules"][0];
    assert_eq!(
        (&would["code"], &would["cause"]),
        (&json!("policy.forbidden.birds"), &json!("sent_with_it")),
        "{tried:#}"
    );
}

/// A server that refuses to stream is asked again without, and the record says that both were sent.
#[tokio::test]
async fn a_stream_that_was_refused_is_on_record() {
    let watched = TurnControl {
        is_watched: true,
        ..TurnControl::default()
    };
    for (behaviour, unstreamed, reason) in [
        (Behaviour::NoStream(400), Some(true), None),
        (Behaviour::Good, None, None),
        (
            Behaviour::error(400, "too long"),
            None,
            Some("http_400.unstreamed"),
        ),
    ] {
        let server = ModelServer::start(behaviour);
        let (person, opened) = house(&server);
        let (client, _) = full(MODELS[0]);
        ask(&opened, MODELS[0], client, &watched).await.unwrap();
        drop(opened);
        let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
        assert_eq!(shown["request"]["settings"]["stream"], true, "{shown:#}");
        let said = shown["reply"].get("unstreamed").and_then(Value::as_bool);
        assert_eq!(said, unstreamed, "{shown:#}");
        assert_eq!(shown["reason"].as_str(), reason, "{shown:#}");
        let times = 1 + usize::from(unstreamed.is_some() || reason.is_some());
        assert_eq!(server.requests().len(), times);
        holds(&person);
    }
}

/// What a client brought is opened to somebody without the ledger as it was sent; where nothing is
/// kept, nothing of it is.
#[tokio::test]
async fn what_was_brought_is_opened_and_not_kept_where_nothing_is() {
    let server = ModelServer::start(Behaviour::Good);
    let (person, opened) = house(&server);
    let (client, _) = full(MODELS[0]);
    let asked = ask(&opened, MODELS[0], client.clone(), &TurnControl::default()).await;
    asked.unwrap();
    drop(opened);
    let roles = ["last", "1", "--role", "request,exchange"];
    let file = opening::open(&person, "opening.json", &roles);
    let facts = opening::holds(&person, &file);
    let text = facts["openings"][1]["text"].as_str().unwrap();
    for words in [
        "A heron.",
        "Measures a well.",
        r#""settings":{"tool_choice""#,
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }

    settings::set("store.content", "none", &person.home(), &|_| None).unwrap();
    let (home, _) = home_at(&person.home()).unwrap();
    let opened = OpenHome::open(home).unwrap();
    let asked = ask(&opened, MODELS[0], client, &TurnControl::default())
        .await
        .unwrap();
    assert_eq!(asked.answer(), Some(ANSWER));
    drop(opened);
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    assert_eq!(
        (&shown["request"], &shown["kept"]),
        (&Value::Null, &json!(false)),
        "{shown:#}"
    );
    holds(&person);
}
