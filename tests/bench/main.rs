//! Measures what gently costs around a model: run by `scripts/bench.sh`, in release mode.
//!
//! ```text
//! bench history HOME SESSIONS        makes a home with that many closed sessions of one or two turns
//! bench ask GENTLY HOME PAIRS        gently ask against a bare call of the same instant server
//! bench beside LLM GENTLY HOME PAIRS gently ask beside the program llm, an ordinary question to the same instant server
//! bench start GENTLY RUNS            gently --help
//! bench check GENTLY HOME RUNS       gently audit check of the newest answer, and a receipt
//! bench context HOME ITEMS RUNS      a home of 1000 sessions with so many facts, notes and decisions, then the compile
//!                                    of the contexts of so many questions
//! bench headers FOLDER COUNT RUNS    a store of so many easy headers, then reading and checking all of them
//! bench replay GENTLY HOME EXCHANGES a home with so many exchanges in threads of a hundred, then all of them replayed
//! bench trace GENTLY HOME EXCHANGES RUNS   the same home, then generic traces of all of it: exported and verified
//! bench search GENTLY HOME MESSAGES RUNS   a home with so many messages of 60 words, then searches of every kind in it
//! bench council GENTLY HOME RUNS     councils of three who review each other, at a server that takes its time
//! bench judge                        judging 1 MB of each hostile family, and half of it
//! bench sanitize RUNS [FILE…]        redacting 1 MB of each hostile family, and of each file repeated up to 1 MB
//! ```
//!
//! All times are in milliseconds: median, then the 90th percentile. They are of the wall clock;
//! where it says *processor*, and of `sanitize`, of the processor, which a busy machine does not
//! stretch.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to say but where"
)]

mod choice;
mod context;
mod council;
mod headers;
mod history;
mod hostile;
mod judge;
mod opening;
mod processor;
mod replay;
mod search;
mod server;
mod trace;

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs that are not counted: caches fill, the session opens.
const WARM_UP: usize = 5;

fn main() {
    // With GENTLY_STORE_ENCRYPTED=true and a key in the environment, homes are made encrypted.
    gently::store::set_key_finder(gently::app::home::store_key::find_key);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["history", home, sessions] => history::make(Path::new(home), sessions.parse().unwrap()),
        ["ask", gently, home, pairs] => ask(gently, home, pairs.parse().unwrap()),
        ["beside", llm, gently, home, pairs] => beside(llm, gently, home, pairs.parse().unwrap()),
        ["context", home, items, runs] => compile(
            Path::new(home),
            items.parse().unwrap(),
            runs.parse().unwrap(),
        ),
        ["corrections", gently, home, count, runs] => corrections(
            gently,
            Path::new(home),
            count.parse().unwrap(),
            runs.parse().unwrap(),
        ),
        ["headers", folder, count, runs] => {
            let (folder, count) = (Path::new(folder), count.parse().unwrap());
            print(
                "append, in batches of 2000",
                &mut [headers::make(folder, count)],
            );
            let (mut times, mut processor) = headers::measure(folder, count, runs.parse().unwrap());
            print("read and check", &mut times);
            print("- processor time of it", &mut processor);
        }
        ["check", gently, home, runs] => {
            opening::measure(gently, Path::new(home), runs.parse().unwrap(), print)
        }
        ["replay", gently, home, exchanges] => {
            replay::run(gently, Path::new(home), exchanges.parse().unwrap())
        }
        ["trace", gently, home, exchanges, runs] => {
            let (home, exchanges) = (Path::new(home), exchanges.parse().unwrap());
            for measured in trace::measure(gently, home, exchanges, runs.parse().unwrap()) {
                print_target(measured);
            }
        }
        ["search", gently, home, messages, runs] => search(
            gently,
            Path::new(home),
            messages.parse().unwrap(),
            runs.parse().unwrap(),
        ),
        ["council", gently, home, runs] => {
            for measured in council::measure(gently, Path::new(home), runs.parse().unwrap()) {
                print_target(measured);
            }
        }
        ["judge"] => judge::measure(),
        ["sanitize", runs, files @ ..] => sanitize(runs.parse().unwrap(), files),
        ["start", gently, runs] => start(gently, runs.parse().unwrap()),
        _ => {
            eprintln!(
                "usage: bench history HOME SESSIONS | ask GENTLY HOME PAIRS | beside LLM GENTLY HOME PAIRS | start GENTLY RUNS | check GENTLY HOME RUNS | \
                 context HOME ITEMS RUNS | headers FOLDER COUNT RUNS | sanitize RUNS [FILE…] | judge | \
                 replay GENTLY HOME EXCHANGES | trace GENTLY HOME EXCHANGES RUNS | search GENTLY HOME MESSAGES RUNS | \
                 council GENTLY HOME RUNS | corrections GENTLY HOME COUNT RUNS"
            );
            std::process::exit(2);
        }
    }
}

/// One pair a round, the bare call and the turn by turns, so that a slow moment of the machine
/// meets both.
fn ask(gently: &str, home: &str, pairs: usize) {
    let address = server::instant();
    let (mut bare, mut shown, mut whole, mut added) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut used = processor::children();
    for round in 0..pairs + WARM_UP {
        if round == WARM_UP {
            used = processor::children();
        }
        let one = call(address);
        let (answer, end) = turn(gently, home, address, "How is this machine doing?");
        if round >= WARM_UP {
            bare.push(one);
            shown.push(answer.saturating_sub(one));
            added.push(end.saturating_sub(one));
            whole.push(end);
        }
    }
    print("bare call", &mut bare);
    print("gently ask, whole", &mut whole);
    print("added until the answer is shown", &mut shown);
    print("added until the process has ended", &mut added);
    let each = (processor::children() - used).as_secs_f64() * 1000.0 / pairs as f64;
    println!("{:42} {each:8.2}", "processor time of gently ask, mean");
}

/// The same question to the same server, with nothing around it.
fn call(address: SocketAddr) -> Duration {
    let body = server::QUESTION;
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("choices"));
    begun.elapsed()
}

/// One process from its start: until the first byte of the answer, and until its end.
fn turn(gently: &str, home: &str, address: SocketAddr, question: &str) -> (Duration, Duration) {
    let begun = Instant::now();
    let mut child = Command::new(gently)
        .args(["ask", "--model", "openai/instant", question])
        .env("GENTLY_HOME", home)
        .env("GENTLY_ANCHOR_MODE", "off")
        .env("GENTLY_MODEL_BASE_URL", format!("http://{address}/v1"))
        .env_remove("OPENAI_API_KEY")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut answer = child.stdout.take().unwrap();
    answer.read_exact(&mut [0]).expect("an answer");
    let shown = begun.elapsed();
    assert!(child.wait().unwrap().success());
    (shown, begun.elapsed())
}

/// Whole processes by turns: the other program keeps a database of what was said, too.
fn beside(llm: &str, gently: &str, home: &str, pairs: usize) {
    const QUESTION: &str = "What is the capital of France?";
    let address = server::instant();
    let of_llm = Path::new(home).join("of-llm");
    std::fs::create_dir_all(&of_llm).unwrap();
    let models = format!(
        "- model_id: instant\n  model_name: instant\n  api_base: http://{address}/v1\n  can_stream: false\n"
    );
    std::fs::write(of_llm.join("extra-openai-models.yaml"), models).unwrap();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..pairs + WARM_UP {
        let (_, end) = turn(gently, home, address, QUESTION);
        let begun = Instant::now();
        let told = Command::new(llm)
            .args(["--model", "instant", QUESTION])
            .env("LLM_USER_PATH", &of_llm)
            .env("OPENAI_API_KEY", "none")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(told.status.success(), "{told:?}");
        if round >= WARM_UP {
            ours.push(end);
            theirs.push(begun.elapsed());
        }
    }
    print("gently ask, whole, ordinary question", &mut ours);
    print("llm, whole, the same", &mut theirs);
}

/// Every kind of search in process, and one by the program itself.
fn search(gently: &str, home: &Path, messages: u64, runs: usize) {
    // One that is there is measured as it is.
    if !home.join("gently.db").exists() {
        search::make(gently, home, messages);
    }
    println!("in process, a common word with each filter:");
    for measured in search::measure(home, runs) {
        print_target(measured);
    }
    for measured in search::lists(home, runs) {
        print_target(measured);
    }
    let (mut whole, mut start) = (Vec::new(), Vec::new());
    for round in 0..runs + WARM_UP {
        for (args, times) in [
            (
                &["search", "--json", "--in", "turns", "ban"][..],
                &mut whole,
            ),
            (&["--version"], &mut start),
        ] {
            let begun = Instant::now();
            let done = Command::new(gently)
                .args(args)
                .env("GENTLY_HOME", home)
                .output()
                .unwrap();
            assert!(done.status.code().is_some_and(|code| code < 2), "{done:?}");
            if round >= WARM_UP {
                times.push(begun.elapsed());
            }
        }
    }
    print_target(("gently search, a common word", 70, whole));
    print("gently --version, for comparison", &mut start);
    search::audit(gently, home);
    search::migration(gently, home);
    // What is put into tables can be searched, but not asked in: a chat has a home of its own.
    let other = home.with_extension("chat");
    history::make(&other, SESSIONS);
    chat(gently, &other, runs);
    std::fs::remove_dir_all(&other).unwrap();
}

/// A chat's first prompt, and what a turn of it adds to a bare call of the same server.
fn chat(gently: &str, home: &Path, runs: usize) {
    match search::first_prompts(gently, home, runs) {
        Some(measured) => print_target(measured),
        None => println!("chat, the first prompt: skipped, as no python3 is on the PATH"),
    }
    let address = server::instant();
    let mut chat = Command::new(gently)
        .args(["chat", "--model", "openai/instant"])
        .env("GENTLY_HOME", home)
        .env("GENTLY_ANCHOR_MODE", "off")
        .env("GENTLY_MODEL_BASE_URL", format!("http://{address}/v1"))
        .env_remove("OPENAI_API_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut asks = chat.stdin.take().unwrap();
    let mut answers = BufReader::new(chat.stdout.take().unwrap());
    let mut added = Vec::new();
    for round in 0..runs + WARM_UP {
        let one = call(address);
        let begun = Instant::now();
        writeln!(asks, "How is this machine doing, for the {round}th time?").unwrap();
        let mut answer = String::new();
        while answer.trim().is_empty() {
            answer.clear();
            assert!(answers.read_line(&mut answer).unwrap() > 0, "an answer");
        }
        let shown = begun.elapsed();
        if round >= WARM_UP {
            added.push(shown.saturating_sub(one));
        }
    }
    drop(asks);
    assert!(chat.wait().unwrap().success());
    print_target(("chat, added until an answer shows", 15, added));
}

/// Sessions before the items: their turns are searched for open drift, and for deep history.
const SESSIONS: u64 = 1000;

fn compile(home: &Path, items: u64, runs: usize) {
    // One that is there is measured as it is.
    if !home.join("gently.db").exists() {
        history::make(home, SESSIONS);
        context::fill(home, items);
    }
    compiled(home, runs);
}

/// The same from so many corrections, and choosing among specialists with as many ratings.
fn corrections(gently: &str, home: &Path, count: u64, runs: usize) {
    if !home.join("gently.db").exists() {
        history::make(home, SESSIONS);
        context::correct(home, count);
        choice::rate(gently, home, count);
    }
    compiled(home, runs);
    let (mut times, mut used) = choice::measure(home, runs);
    print("choice among 20 specialists (≤ 10)", &mut times);
    print("  processor", &mut used);
}

fn compiled(home: &Path, runs: usize) {
    for (name, mut times, mut used) in context::measure(home, runs) {
        print(&format!("compile, {name}"), &mut times);
        println!(
            "{:42} {:8.2}",
            "  slowest",
            times.last().unwrap().as_secs_f64() * 1000.0
        );
        print("  processor", &mut used);
    }
}

/// Bytes of one text that is redacted.
const TEXT: usize = 1_000_000;

/// What the first redaction of a process takes, then each text's; with the steps a byte, which no
/// load changes.
fn sanitize(runs: usize, files: &[&str]) {
    let begun = Instant::now();
    gently::govern::sanitize::redact("the first");
    println!(
        "{:42} {:8.2}",
        "the first redaction",
        begun.elapsed().as_secs_f64() * 1000.0
    );
    let mut texts = hostile::families(TEXT);
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        texts.push((file, text.repeat(TEXT.div_ceil(text.len()))));
    }
    for (name, text) in texts {
        let (mut times, before) = (Vec::new(), gently::govern::sanitize::steps());
        for _ in 0..runs {
            let before = processor::thread();
            gently::govern::sanitize::redact(&text);
            times.push((processor::thread() - before).mul_f64(TEXT as f64 / text.len() as f64));
        }
        let steps = gently::govern::sanitize::steps() - before;
        print(name, &mut times);
        println!(
            "{:42} {:8.1}",
            "  steps a byte",
            steps as f64 / (runs * text.len()) as f64
        );
    }
}

fn start(gently: &str, runs: usize) {
    let mut times = Vec::new();
    for round in 0..runs + WARM_UP {
        let begun = Instant::now();
        assert!(
            Command::new(gently)
                .arg("--help")
                .stdout(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
        if round >= WARM_UP {
            times.push(begun.elapsed());
        }
    }
    print("gently --help", &mut times);
}

/// The same with the most milliseconds that it is to take behind its name.
fn print_target((what, most, mut times): search::Measured) {
    let what = match most {
        0 => what.to_owned(),
        most => format!("{what} (≤ {most})"),
    };
    print(&what, &mut times);
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |percent: usize| {
        times
            .get((times.len() * percent / 100).min(times.len() - 1))
            .unwrap()
    };
    let ms = |time: &Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{what:42} {:8.2} {:8.2}   ({} runs)",
        ms(at(50)),
        ms(at(90)),
        times.len()
    );
}
