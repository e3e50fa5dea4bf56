//! What is fed, with what must hold of every answer.

use std::collections::HashSet;
use std::ops::ControlFlow;

use gently::govern::sanitize::redact;
use gently::govern::sanitize::steps;
use gently::import::{ImportOptions, MAX_CONVERSATION, SourcePiece, read as read_source};
use gently::record::bitcoin::header::Header;
use gently::record::canon;
use gently::record::ledger::bundle::Bundle;
use gently::record::ledger::imported::ImportFormat;
use gently::record::log::entry::Line;
use gently::record::ots::Proof;
use gently::record::signature::parse_armor;
use gently::record::trace::file::{TraceDocuments, texts_of};
use gently::record::trace::read;
use gently::record::tree::note::{CosignedNote, NoteSignature, VerifierKey};
use gently::record::tree::parse_note;
use gently::record::tree::proof::TlogProof;
use gently::record::tree::witness_policy::WitnessPolicy;

use super::mutate::Target;

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "ots",
        seeds: proofs,
        words: OTS_WORDS,
        feed: ots,
        longest: 300_000,
    },
    Target {
        name: "entry",
        seeds: lines,
        words: ENTRY_WORDS,
        feed: entry,
        longest: 20_000,
    },
    Target {
        name: "canon",
        seeds: documents,
        words: JSON_WORDS,
        feed: canonical,
        longest: 20_000,
    },
    Target {
        name: "trace",
        seeds: traces,
        words: JSON_WORDS,
        feed: trace,
        longest: 20_000,
    },
    Target {
        name: "header",
        seeds: headers,
        words: &[b"f", b"0", b"FF"],
        feed: header,
        longest: 400,
    },
    Target {
        name: "note",
        seeds: notes,
        words: NOTE_WORDS,
        feed: note,
        longest: 20_000,
    },
    Target {
        name: "sanitize",
        seeds: texts,
        words: TEXT_WORDS,
        feed: sanitized,
        longest: 20_000,
    },
    Target {
        name: "import",
        seeds: exports,
        words: IMPORT_WORDS,
        feed: imported,
        longest: 40_000,
    },
];

/// An error's first words: what kind it is, without the numbers in it.
fn kind(error: &dyn std::fmt::Display) -> String {
    error
        .to_string()
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .take(48)
        .collect()
}

/// What a reader accepts, it prints as it was; whatever else is the same answer.
fn same(printed: &str, given: &str) -> Result<String, String> {
    if printed == given {
        Ok("good".to_owned())
    } else {
        Err("it prints other bytes than it read".to_owned())
    }
}

const OTS_WORDS: &[&[u8]] = &[
    b"\x05\x88\x96\x0d\x73\xd7\x19\x01",
    b"\x83\xdf\xe3\x0d\x2e\xf9\x0c\x8e",
    b"\x00",
    b"\x02",
    b"\x03",
    b"\x08",
    b"\x67",
    b"\xf0",
    b"\xf1",
    b"\xf2",
    b"\xf3",
    b"\xff",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
];

fn proofs() -> Vec<Vec<u8>> {
    vec![
        include_bytes!("../data/ots/f.txt.ots").to_vec(),
        include_bytes!("../data/ots/f.pending.ots").to_vec(),
    ]
}

fn ots(bytes: &[u8]) -> Result<String, String> {
    let read = match Proof::read(bytes) {
        Ok(read) => read,
        Err(fault) if fault.at > bytes.len() => {
            return Err(format!(
                "the fault is at byte {} of {}",
                fault.at,
                bytes.len()
            ));
        }
        Err(fault) => return Ok(kind(&fault.reason)),
    };
    let printed = read.print();
    let again = Proof::read(&printed)
        .map_err(|fault| format!("it does not read what it prints: {fault}"))?;
    if again != read || again.print() != printed {
        return Err("what it prints reads as another proof".to_owned());
    }
    let leaves = read
        .leaves()
        .map_err(|reason| format!("it read, and does not compute: {reason}"))?;
    Ok(format!("good, {} leaves", leaves.len().min(8)))
}

const ENTRY_WORDS: &[&[u8]] = &[
    b"|",
    b"%",
    b"%7C",
    b"%0A",
    b"=",
    b",",
    b"-",
    b"00000000",
    b"18446744073709551616",
    b"2026-",
];

fn lines() -> Vec<Vec<u8>> {
    let log: &[&[u8]] = &[
        include_bytes!("../vectors/audit_log/invalid_height_leading_zero.log"),
        include_bytes!("../vectors/audit_log/invalid_auth_ok_twice.log"),
        include_bytes!("../vectors/audit_log/invalid_escape_needless.log"),
        include_bytes!("../vectors/audit_log/incomplete_prompt_unanswered.log"),
    ];
    log.iter()
        .flat_map(|log| log.split(|b| *b == b'\n'))
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

fn entry(bytes: &[u8]) -> Result<String, String> {
    match Line::parse(bytes) {
        Ok(line) if line.text().as_bytes() == bytes => Ok(format!("good {}", line.event.name())),
        Ok(_) => Err("it prints other bytes than it read".to_owned()),
        Err(error) => Ok(kind(&error)),
    }
}

const JSON_WORDS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\"",
    b"\\u0000",
    b"\\ud834\\udd1e",
    b"1e400",
    b"-0",
    b"0.1",
    b"9007199254740993",
    b"null",
    b"true",
    b"[[[[[[[[",
    b"{\"a\":",
];

fn documents() -> Vec<Vec<u8>> {
    let bundle = br#"{"artifacts":[],"sight":[]}"#;
    let plain =
        br#"{"a":[1,-2,0.5,1e21,"\u0007x\"\\"],"b":{"c":null,"d":true},"n":9007199254740991}"#;
    vec![
        bundle.to_vec(),
        plain.to_vec(),
        include_bytes!("../data/kernels/0.1.0.json").to_vec(),
        b"[]".to_vec(),
    ]
}

fn canonical(bytes: &[u8]) -> Result<String, String> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Bundle::parse(text);
        let _ = WitnessPolicy::parse(text);
    }
    let value: serde_json::Value = match canon::parse(bytes) {
        Ok(value) => value,
        Err(error) => return Ok(kind(&error)),
    };
    let printed =
        canon::print(&value).map_err(|error| format!("it read, and does not print: {error}"))?;
    same(
        &printed,
        std::str::from_utf8(bytes).map_err(|error| error.to_string())?,
    )
}

fn traces() -> Vec<Vec<u8>> {
    let trace = br#"{"agent_id_hash":"x","completed_at":"x","components":[{"component_type":"action","data":{"a":[1,-2,0.5,"\u0007x\"\\"],"k_eff":1.0},"event_type":"ACTION_RESULT","timestamp":"x"}],"signature":"FnLr2bI3bTL39wXmTgBXAxgQvEBfe77ikJ4jilbAhlM5ULEokMkGzxc7xHXRxBzs35YAE41XHX8kAOLKnjJxBw","signature_key_id":"x","started_at":"x","thought_id":"x","trace_id":"x","trace_level":"generic"}"#;
    let event = [
        &br#"{"event_type":"complete_trace","trace":"#[..],
        trace,
        br#","trace_level":"generic"}"#,
    ]
    .concat();
    let batch = [
        &br#"{"batch_timestamp":"x","consent_timestamp":null,"events":["#[..],
        &event,
        br#"],"trace_level":"generic"}"#,
    ]
    .concat();
    vec![trace.to_vec(), batch, b"[1e16,-0,1E-5]".to_vec()]
}

fn trace(bytes: &[u8]) -> Result<String, String> {
    if let Ok(value) = read::read(bytes) {
        let mut printed = Vec::new();
        value.write(&mut printed);
        let again = read::read(&printed)
            .map_err(|error| format!("it is printed, and does not read: {error}"))?;
        if again != value {
            return Err("what is printed is read as another value".to_owned());
        }
    }
    let read =
        |texts: TraceDocuments<'_>| texts.map(|text| text.read()).collect::<Result<Vec<_>, _>>();
    match texts_of(bytes).and_then(read) {
        Ok(documents) => Ok(format!("{} documents", documents.len())),
        Err(error) => Ok(kind(&error)),
    }
}

fn headers() -> Vec<Vec<u8>> {
    let rows = include_str!("../data/btc/headers.csv").lines();
    rows.filter_map(|row| row.split(',').find(|cell| cell.len() == 160))
        .take(8)
        .map(|cell| cell.as_bytes().to_vec())
        .collect()
}

fn header(bytes: &[u8]) -> Result<String, String> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok("not text".to_owned());
    };
    match text.parse::<Header>() {
        Ok(header) => {
            let (fields, hash) = (header.fields(), header.hash());
            let again = Header::from_bytes(*header.as_bytes());
            if again.fields() != fields || again.hash() != hash {
                return Err("the same bytes are two headers".to_owned());
            }
            same(&header.to_string(), text)
        }
        Err(error) => Ok(kind(&error)),
    }
}

const NOTE_WORDS: &[&[u8]] = &[
    "\u{2014} ".as_bytes(),
    b"\n\n",
    b"\n",
    b"AAAA",
    b"=",
    b"+",
    b"index ",
    b"-----BEGIN SSH SIGNATURE-----",
];

fn notes() -> Vec<Vec<u8>> {
    let hash = "A".repeat(43) + "=";
    let head = format!(
        "example.org/log\n8\n{hash}\n\n\u{2014} example.org/log {}\n",
        "B".repeat(92)
    );
    let proof = format!("c2sp.org/tlog-proof@v1\nindex 3\n{hash}\n{hash}\n\n{head}");
    let key = "example.org/log+12345678+BAAA".to_owned();
    let armor = format!(
        "-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n",
        "U1NIU0lH".repeat(8)
    );
    [head, proof, key, armor]
        .into_iter()
        .map(String::into_bytes)
        .collect()
}

fn note(bytes: &[u8]) -> Result<String, String> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok("not text".to_owned());
    };
    let mut answer = String::new();
    let mut read = |name: &str, printed: Option<String>| match printed {
        Some(printed) if printed != text => {
            Err(format!("{name}: it prints other bytes than it read"))
        }
        Some(_) => {
            answer.push_str(name);
            Ok(())
        }
        None => Ok(()),
    };
    read("key ", VerifierKey::parse(text).ok().map(|key| key.print()))?;
    read(
        "signature ",
        NoteSignature::parse(text).ok().map(|line| line.print()),
    )?;
    read(
        "cosigned ",
        CosignedNote::parse(text).ok().map(|note| note.print()),
    )?;
    read(
        "proof ",
        TlogProof::parse(text).ok().map(|proof| proof.print()),
    )?;
    let armored = if parse_armor(text).is_ok() {
        "armor"
    } else {
        ""
    };
    let head = parse_note(text).map_or_else(|error| kind(&error), |_| "head".to_owned());
    Ok(format!("{answer}{armored}{head}"))
}

/// Bytes that a redaction may look at for each byte of its text, and for any text.
const STEPS_A_BYTE: u64 = 200;
const STEPS_AT_LEAST: u64 = 10_000_000;

const TEXT_WORDS: &[&[u8]] = &[
    b"password=",
    b"password: \"",
    b"the password is ",
    b"--token ",
    b"[redacted:password]",
    b"[redacted:",
    b"https://u:",
    b"@host",
    b"Bearer ",
    b"%41",
    b"&quot;",
    b"\\u0041",
    b"\" + \"",
    b"\\\n",
    b"key ",
    b"\n",
    b"abcd1234EFGH5678",
    "\u{200b}".as_bytes(),
    "\u{430}".as_bytes(),
    "\u{ff21}".as_bytes(),
    b"\x1b[32m",
    b"YWRtaW46c3VwZXJzM2NyZXQ=",
    b"api_key = ",
];

fn texts() -> Vec<Vec<u8>> {
    // Joined at run time, so that scanners of repositories find no token here.
    let block = [
        "-----BEGIN RSA PRIVATE",
        " KEY-----\nMIIEpAIBAAKCAQEA7bqK3x9Zt1Qd8Lw2\n-----END RSA PRIVATE",
        " KEY-----\n",
    ]
    .concat();
    let token = ["gh", "p_x7Qm2Lp9Vd4TwBgHs8Kc3Rf6Yj1Nz5Aa0UeE"].concat();
    let texts = [
        "The password for the guest network is Tr0ub4dor&3.\nLog in with admin / s3cr3t!pw.\n".to_owned(),
        "DB_PASSWORD=tr0ub4dor\n{\"token\": \"q8w7e6r5t4y3\", 'key': 'Ab3dEf6hIj9kLm2n'}\n<password>hunter2</password>".to_owned(),
        format!("curl -u bob:hunter22 https://a:b1c2d3@example.org/x -H 'Authorization: Bearer {token}'\n"),
        format!("key:\n{block}and {token}\n"),
        "id 123e4567-e89b-42d3-a456-426614174000 sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69".to_owned(),
    ];
    texts.into_iter().map(String::into_bytes).collect()
}

fn sanitized(bytes: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let before = steps();
    let once = redact(&text);
    let looked = steps() - before;
    if looked > STEPS_AT_LEAST + STEPS_A_BYTE * text.len() as u64 {
        return Err(format!("{looked} steps for {} bytes", text.len()));
    }
    let clean = once.clean.as_str();
    let mut done = 0;
    for found in &once.found {
        if found.start < done
            || found.end <= found.start
            || text.get(found.start..found.end).is_none()
        {
            return Err(format!(
                "a finding at {}..{} after one that ends at {done}",
                found.start, found.end
            ));
        }
        done = found.end;
    }
    if once.found.is_empty() != (clean == text) {
        return Err("a text changed without a finding, or not with one".to_owned());
    }
    let kept: Vec<&str> = pieces(&text, &once.found).collect();
    let mut rest = clean;
    for piece in &kept {
        let Some(at) = rest.find(piece) else {
            return Err("what was no finding is gone".to_owned());
        };
        rest = &rest[at + piece.len()..];
    }
    let twice = redact(clean);
    if twice.clean != once.clean || !twice.found.is_empty() {
        return Err(format!("redacting again changes it: {:?}", twice.found));
    }
    let mut kinds: Vec<&str> = once.found.iter().map(|found| found.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    Ok(kinds.join(" "))
}

/// What stands between findings.
fn pieces<'a>(
    text: &'a str,
    found: &'a [gently::govern::sanitize::SecretFinding],
) -> impl Iterator<Item = &'a str> {
    let starts = std::iter::once(0).chain(found.iter().map(|found| found.end));
    let ends = found
        .iter()
        .map(|found| found.start)
        .chain(std::iter::once(text.len()));
    starts.zip(ends).map(|(start, end)| &text[start..end])
}

const IMPORT_WORDS: &[&[u8]] = &[
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"\"",
    b"\\",
    b"\\ud800",
    b"\\u0000",
    b"null",
    b"\"parent\":null",
    b"\"a\"",
    b"\"b\"",
    b"1e999",
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"\n",
];

/// A file of each format.
fn exports() -> Vec<Vec<u8>> {
    let chat = br#"[{"id":"c","title":"T","create_time":1.5,"current_node":"b","mapping":{
        "a":{"parent":null,"children":["b"],"message":null},
        "b":{"parent":"a","children":[],"message":{"author":{"role":"user"},"create_time":2,
        "content":{"content_type":"text","parts":["x",{"content_type":"image"}]},"metadata":{"model_slug":"m"}}}}}]"#;
    let claude = br#"[{"uuid":"c","name":"T","created_at":"2024-01-02T03:04:05Z","chat_messages":[
        {"uuid":"a","sender":"human","text":"x","attachments":[{"file_name":"f","extracted_content":"y"}]},
        {"uuid":"b","sender":"assistant","content":[{"type":"text","text":"z"}],"parent_message_uuid":"a"}]}]"#;
    let lines = b"{\"conversation\":\"a\",\"role\":\"user\",\"text\":\"x\",\"at\":1}\n\
        {\"conversation\":\"b\",\"role\":\"tool\",\"text\":\"y\",\"id\":\"b\"}\n\
        {\"conversation\":\"a\",\"role\":\"assistant\",\"text\":\"z\",\"parent\":null}\n";
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("conversations.json", options).unwrap();
    std::io::Write::write_all(&mut zip, claude).unwrap();
    let database = |tables: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.db");
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute_batch(&format!("PRAGMA page_size = 512; {tables}"))
            .unwrap();
        db.close().unwrap();
        std::fs::read(path).unwrap()
    };
    vec![
        chat.to_vec(),
        claude.to_vec(),
        lines.to_vec(),
        zip.finish().unwrap().into_inner(),
        database(
            "CREATE TABLE responses(id, model, prompt, system, response, conversation_id, datetime_utc);
             INSERT INTO responses VALUES ('a', 'm', 'x', NULL, 'y', 'c', '2024-01-02T03:04:05');
             CREATE TABLE threads(id, name, tip_message_hash);
             CREATE TABLE turns(id, thread_id, parent_message_hash, tip_message_hash, model);
             CREATE TABLE messages(hash, parent_hash, role);
             CREATE TABLE parts(message_hash, position, type, text, payload);
             INSERT INTO threads VALUES ('c', 'T', 'b'); INSERT INTO messages VALUES ('a', NULL, 'user'), ('b', 'a', 'assistant');
             INSERT INTO parts VALUES ('a', 0, 'text', 'x', NULL), ('b', 0, 'tool_call', NULL, '{\"name\":\"n\"}');",
        ),
        database(
            "CREATE TABLE conversations(conversation_id, title, created_at, updated_at, project_id);
             CREATE TABLE messages(message_id, conversation_id, role, content, created_at);
             CREATE TABLE audit_log(id, prev_hash, curr_hash);
             INSERT INTO conversations VALUES ('c', 'T', 1.5, 2.5, NULL);
             INSERT INTO messages VALUES ('a', 'c', 'user', 'x', 1.5), ('b', 'c', 'assistant', 'enc:v1:AAAA', 1.5);
             INSERT INTO audit_log VALUES ('1', 'genesis', 'a'), ('2', 'a', 'b');",
        ),
    ]
}

/// Whatever the bytes are, a conversation that is handed on is whole: ids once, parents before their
/// replies, within the limits.
fn imported(bytes: &[u8]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversations.json");
    std::fs::write(&path, bytes).unwrap();
    let mut answer = String::new();
    for format in ImportFormat::ALL {
        let mut pieces = Vec::new();
        let end = read_source(format, &path, &ImportOptions::default(), &mut |piece| {
            pieces.push(piece);
            ControlFlow::Continue(())
        });
        for piece in &pieces {
            match piece {
                SourcePiece::Refused(refused) => answer.push_str(refused.reason),
                SourcePiece::Conversation(one) => {
                    let mut seen = HashSet::new();
                    for message in &one.messages {
                        if message.parent.as_ref().is_some_and(|id| !seen.contains(id)) {
                            return Err(format!("a parent is not before its reply: {message:?}"));
                        }
                        if !seen.insert(&message.id) || message.text.contains('\0') {
                            return Err(format!("an id twice, or a NUL: {message:?}"));
                        }
                    }
                    let held: usize = one.messages.iter().map(|message| message.text.len()).sum();
                    if held > MAX_CONVERSATION || one.source_id.is_empty() {
                        return Err("over the limit, or without an id".to_owned());
                    }
                    answer.push('+');
                }
                _ => answer.push('*'),
            }
        }
        answer.push_str(if end.is_ok() { ";" } else { "!" });
    }
    if std::fs::read_dir(folder.path()).unwrap().count() != 1 {
        return Err("a file was made beside it".to_owned());
    }
    Ok(answer.chars().take(60).collect())
}
