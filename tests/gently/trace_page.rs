//! What `docs/traces.md` and `docs/trace.schema.json` say of traces, against the table of fields and
//! against files that were exported.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use gently::record::trace::document::{TOLD, TOLD_WITHOUT_ANSWER};
use gently::record::trace::field::{TASK_ID, TASK_ID_ABSENCES, TraceField, TraceStep};
use gently::record::trace::level::{Absence, TraceLevel, TraceProfile};
use serde_json::Value;

use crate::person::run;
use crate::trace_rig::{exported, turns};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(&page("trace.schema.json")).unwrap()
}

/// The places of all fields in the schema of some components, each with the level that it says.
fn places(schema: &Value, components: &[&str]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for name in components {
        let component = &schema["$defs"][*name]["properties"];
        let event = component["event_type"]["const"].as_str().unwrap();
        for (key, field) in component["data"]["properties"].as_object().unwrap() {
            let level = |field: &Value| field["description"].as_str().map(str::to_owned);
            match level(field) {
                Some(level) => {
                    found.insert((format!("{event}.{key}"), level));
                }
                None => {
                    for (inner, field) in field["properties"].as_object().unwrap() {
                        found.insert((format!("{event}.{key}.{inner}"), level(field).unwrap()));
                    }
                }
            }
        }
    }
    found
}

#[test]
fn the_schema_and_the_page_name_every_field_and_nothing_else() {
    let (schema, traces) = (schema(), page("traces.md"));
    let seven = TraceStep::ALL.map(TraceStep::event_type);
    let six: Vec<&str> = seven
        .into_iter()
        .filter(|name| *name != "IDMA_RESULT")
        .map(|name| match name {
            "DMA_RESULTS" => "DMA_RESULTS_v1_9_1",
            other => other,
        })
        .collect();
    for (profile, components) in [
        (TraceProfile::SevenComponents, &seven[..]),
        (TraceProfile::SixComponents, &six),
    ] {
        let expected: BTreeSet<(String, String)> = TraceField::ALL
            .iter()
            .map(|field| {
                let level = format!("from level {}", field.row().level);
                (field.place(profile).path(), level)
            })
            .collect();
        assert_eq!(places(&schema, components), expected, "{profile:?}");
    }
    // The page has a row for each, with the letter of its level.
    for field in TraceField::ALL {
        let row = field.row();
        let letter = match row.level {
            TraceLevel::Generic => "| G |",
            TraceLevel::Detailed => "| D |",
            TraceLevel::FullTraces => "| F |",
        };
        let name = format!("`{}`", row.name);
        let mut rows = traces.lines().filter(|line| line.starts_with("| "));
        assert!(
            rows.any(|line| line.contains(&name) && line.contains(letter)),
            "{name} {letter}"
        );
    }
    for absence in Absence::ALL {
        let code = absence.code();
        assert!(traces.contains(&format!("| `{code}` |")), "{code}");
        let codes = &schema["$defs"]["envelope"]["properties"]["absent"];
        let codes = codes["additionalProperties"]["enum"].as_array().unwrap();
        assert!(codes.contains(&Value::from(code)) && codes.len() == Absence::ALL.len());
    }
}

/// The codes and the fields of a row of the page's table of reasons.
fn reasons(row: &str) -> Option<(Vec<String>, Vec<String>)> {
    let quoted = |cell: &str| {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let (codes, fields) = row
        .strip_prefix("| ")?
        .strip_suffix(" |")?
        .split_once(" | ")?;
    Some((quoted(codes), quoted(fields)))
}

#[test]
fn the_page_says_by_which_codes_each_field_may_be_absent() {
    let traces = page("traces.md");
    let rows = traces
        .lines()
        .skip_while(|line| !line.starts_with("| codes |"));
    let rows = rows.skip(2).map_while(reasons);
    let mut said: Vec<(String, Vec<String>)> = rows
        .flat_map(|(codes, fields)| fields.into_iter().map(move |field| (field, codes.clone())))
        .collect();
    let codes = |absences: &[Absence]| -> Vec<String> {
        let codes = absences.iter().map(|absence| absence.code().to_owned());
        codes.collect()
    };
    let fields = TraceField::ALL.iter().map(|field| field.row());
    let mut expected: Vec<(String, Vec<String>)> = fields
        .map(|row| (row.name.to_owned(), codes(row.absences)))
        .collect();
    expected.push((TASK_ID.to_owned(), codes(TASK_ID_ABSENCES)));
    said.sort();
    expected.sort();
    assert_eq!(said, expected);
}

/// The page names the fields that a proof is compared with, and no others.
#[test]
fn the_page_says_what_is_held_against_a_proof() {
    let page = page("traces.md");
    let told = page.split("**Against a proof.**").nth(1).unwrap();
    let told = told.split("The commitment").next().unwrap();
    let quoted: BTreeSet<&str> = told.split('`').skip(1).step_by(2).collect();
    for field in TraceField::ALL {
        let name = field.row().name;
        let name = name.rsplit('.').next().unwrap();
        let is_told = TOLD.contains(field) || TOLD_WITHOUT_ANSWER.contains(field);
        assert_eq!(quoted.contains(name), is_told, "{name}");
    }
}

#[test]
fn what_is_exported_is_of_the_schema() {
    let (person, _server) = turns();
    person
        .gently(&["consent", "give", "--purpose", "a study", "--past"])
        .exits(0);
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let mut count = 0;
    for level in ["generic", "detailed", "full_traces"] {
        for form in ["envelope", "trace", "batch"] {
            for profile in ["v1.9.3", "v1.9.1"] {
                let name = format!("{level}-{form}-{profile}");
                let args = [
                    "--all",
                    "--level",
                    level,
                    "--as",
                    form,
                    "--profile",
                    profile,
                ];
                let file = exported(&person, &name, &args);
                let text = std::fs::read_to_string(&file).unwrap();
                for line in text.lines() {
                    let mut document: Value = serde_json::from_str(line).unwrap();
                    let faults: Vec<String> = schema
                        .iter_errors(&document)
                        .map(|fault| fault.to_string().chars().take(400).collect())
                        .collect();
                    assert_eq!(faults, [""; 0], "{name}");
                    count += 1;
                    // What is not in the table is not of the schema.
                    let trace = match form {
                        "envelope" => &mut document["trace"],
                        "batch" => &mut document["events"][0]["trace"],
                        _ => &mut document,
                    };
                    trace["components"][0]["data"]["mood"] = "good".into();
                    assert!(!schema.is_valid(&document), "{name}");
                }
            }
        }
    }
    assert_eq!(count, 3 * 2 * (4 + 4 + 1));
}

/// What the page says to type: python3 prints M, openssl checks the signature.
#[test]
fn python_and_openssl_check_a_trace_as_the_page_says() {
    let (person, _server) = turns();
    let folder = person.dir.path();
    let args = ["interaction-1", "--level", "detailed", "--as", "trace"];
    exported(&person, "trace.json", &args);
    let key = person.gently(&["trace", "key", "--json"]).exits(0).json();
    let key = key["public_key_base64"].as_str().unwrap();
    let page = page("traces.md");
    let recipe = page.split("```sh\n").nth(1).unwrap();
    let recipe = recipe.split("```").next().unwrap();
    let shown = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
    assert!(recipe.contains(shown));
    let typed = |key: &str| {
        let recipe = recipe.replace(shown, key);
        run(Command::new("bash")
            .arg("-c")
            .arg(recipe)
            .current_dir(folder))
    };
    let told = typed(key).exits(0);
    assert!(
        told.out.contains("Signature Verified Successfully"),
        "{told:?}"
    );
    // With another key, and with another level, it does not hold.
    assert_ne!(typed(shown).code, 0);
    let trace = std::fs::read_to_string(folder.join("trace.json")).unwrap();
    let trace = trace.replace("\"detailed\"", "\"generic\"");
    std::fs::write(folder.join("trace.json"), trace).unwrap();
    assert_ne!(typed(key).code, 0);
}
