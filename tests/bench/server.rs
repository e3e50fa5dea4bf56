//! A model's server that answers at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// What the bare call sends: as long as what gently sends.
pub const QUESTION: &str = concat!(
    r#"{"model":"instant","messages":[{"role":"system","content":""#,
    "You answer one question for a person, under the constraints of the context block below. ",
    "The block is the only context there is: you have no memory of earlier conversations and no tools. ",
    r#""},{"role":"user","content":"How is this machine doing?"}]}"#
);

const ANSWER: &str = concat!(
    r#"{"id":"1","object":"chat.completion","created":1,"model":"instant","choices":[{"index":0,"finish_reason":"stop","#,
    r#""message":{"role":"assistant","content":"The load is low and the memory is mostly free."}}],"#,
    r#""usage":{"prompt_tokens":400,"completion_tokens":10,"total_tokens":410}}"#
);

/// Starts it on a free port of this machine; it ends with the process.
pub fn instant() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap());
        }
    });
    address
}

/// One that thinks so long about each question, about all of them at once, and lists models at once.
/// Asked for a review it agrees with both answers that it is shown.
pub fn thinking(time: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let Some(body) = received(&mut BufReader::new(&stream)) else {
                    return;
                };
                if !body.is_empty() {
                    std::thread::sleep(time);
                }
                let is_review = String::from_utf8_lossy(&body).contains("what another model said");
                let answer = match is_review {
                    true => {
                        ANSWER.replace("The load is low and the memory is mostly free.", AGREES)
                    }
                    false => ANSWER.to_owned(),
                };
                stream.write_all(reply(&answer).as_bytes()).unwrap();
            });
        }
    });
    address
}

/// A review of two answers, as it stands inside a JSON text.
const AGREES: &str = concat!(
    r#"{\"reviews\":[{\"of\":\"A\",\"verdict\":\"agree\",\"why\":\"So it is.\"},"#,
    r#"{\"of\":\"B\",\"verdict\":\"agree\",\"why\":\"So it is.\"}]}"#
);

fn serve(mut stream: TcpStream) {
    if received(&mut BufReader::new(&stream)).is_some() {
        stream.write_all(reply(ANSWER).as_bytes()).unwrap();
    }
}

fn reply(answer: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
        answer.len()
    )
}

/// The body of a request; none where there is none.
fn received(reader: &mut BufReader<&TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Some(body)
}
