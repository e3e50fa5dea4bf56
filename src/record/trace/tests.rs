//! Whole traces: what one of each kind of turn tells, and properties of all of them.

mod enveloped;
mod known;
mod python;

use std::collections::BTreeMap;

use ed25519_dalek::{Signer as _, SigningKey};
use uuid::Uuid;

use super::envelope::{CommittedTrace, Envelope, EnvelopeHead, EnvelopeKind};
use super::facts::{ReplyCheck, ToolLook, TraceEnd, TraceFacts, TraceTexts};
use super::field::{FieldFault, TraceField, TraceStep, check_fields};
use super::file::{TraceBatch, TraceDocument, TraceFileFault, texts_of};
use super::level::{Absence, TraceLevel, TraceProfile};
use super::mapping::{BuiltTrace, TraceMapping, TraceRequest};
use super::read::{MAX_TRACE_FILE, read};
use super::signed::{
    KeyRegistration, Trace, TraceAnswer, TraceFault, TraceVerifier, UnsignedTrace, key_id,
    parse_public_key, print_signature, public_key_base64,
};
use super::sources::SourceCount;
use super::value::TraceValue;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::NoSight;
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit, opening_key};
use crate::record::ledger::documents::{AuthorityState, Format};
use crate::record::ledger::params::Cost;
use crate::record::ledger::receipt::Statement;
use crate::record::signature::{PublicKey, Signature, signed_data};
use crate::record::time::Seconds;
use crate::record::tree::note_body;

const QUESTION: &str = "How full is the disk of the old laptop in the cellar?";
const ANSWER: &str = "It has seventy one percent free, so nothing has to be done today.";
const SYSTEM: &str = "You answer from what you were shown and from nothing else whatever.";
const BUNDLE: &str = r#"{"facts":[{"claim":"The laptop in the cellar is called berta by everybody","id":"ledger:000183"}],"intent":[],"sight":{"sys_health":{"unknowns":[],"values":{"cpu_load":0.42,"disk_free_pct":71}}},"tier":2}"#;

pub(super) fn facts() -> TraceFacts {
    let check = |name: &str| ReplyCheck {
        name: name.to_owned(),
        is_blocking: name.starts_with("authority."),
        passed: name != "evidence.unsourced",
    };
    let tools = [
        ("disk_usage", ToolLook::Available),
        ("index_changed", ToolLook::Available),
        ("index_status", ToolLook::Available),
        (
            "service_status",
            ToolLook::Unavailable(NoSight::NotInstalled),
        ),
        ("sys_health", ToolLook::Available),
    ];
    let lists = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
    TraceFacts {
        exchange: Uuid::from_u128(0x0123_4567_89ab_8def_8123_4567_89ab_cdef),
        thread: Ok(Uuid::from_u128(0x7654_3210_89ab_8def_8123_4567_89ab_cdef)),
        origin: "gently/0123456789abcdef".to_owned(),
        asked_at: "2026-02-08T12:34:56Z".parse().unwrap(),
        answered_at: "2026-02-08T12:34:58Z".parse().unwrap(),
        seq: 7,
        prompt_line: Hash32::GENESIS,
        prompt_number: 42,
        depth: Ok(2),
        domain_alignment: Err(Absence::NoSpecialist),
        is_review: false,
        model: "small-1b".to_owned(),
        end: TraceEnd::Answered,
        authority: AuthorityState::Ok,
        is_in_conflict: Ok(false),
        conflicts: Ok(Vec::new()),
        unknowns: lists(&["gpu_health"]),
        sources: Ok(SourceCount::new(8, 10).unwrap()),
        source_kinds: lists(&["ledger_fact:1", "model:1", "tool:5", "turn:1"]),
        looks: Ok(tools.map(|(tool, look)| (tool.to_owned(), look)).into()),
        checks: Ok([
            "authority.claimed_side_effect",
            "evidence.unknown_artifact",
            "evidence.unsourced",
            "tone.certainty",
        ]
        .map(check)
        .into()),
        reasons: Vec::new(),
        notes: Some("1 of 4 checks: evidence: unsourced count=1".to_owned()),
        model_ms: Ok(1204),
        tokens_input: Ok(1800),
        tokens_output: Ok(47),
        cost: Ok(Cost {
            currency: "USD".to_owned(),
            micro: 2050,
        }),
        texts: TraceTexts {
            question: Ok(QUESTION.to_owned()),
            bundle: Ok(BUNDLE.to_owned()),
            compiled_prompt: Ok(format!("[{{\"content\":\"{SYSTEM}\"}}]")),
            answer: Ok(ANSWER.to_owned()),
        },
    }
}

/// Of a turn that called no model.
fn uncalled(end: TraceEnd) -> TraceFacts {
    TraceFacts {
        end,
        authority: AuthorityState::Blocked,
        unknowns: Ok(Vec::new()),
        sources: Ok(SourceCount::NONE),
        source_kinds: Err(Absence::NoSuchThing),
        looks: Err(Absence::NoSuchThing),
        checks: Err(Absence::NoJudgement),
        reasons: vec!["TOKEN_BUDGET".to_owned()],
        notes: None,
        model_ms: Err(Absence::NoSuchThing),
        tokens_input: Err(Absence::NoSuchThing),
        tokens_output: Err(Absence::NoSuchThing),
        cost: Err(Absence::NoSuchThing),
        texts: TraceTexts {
            question: Ok(QUESTION.to_owned()),
            bundle: Err(Absence::NoSuchThing),
            compiled_prompt: Err(Absence::NoSuchThing),
            answer: Err(Absence::NoSuchThing),
        },
        ..facts()
    }
}

/// One turn of each kind that there is.
pub(super) fn turns() -> Vec<(&'static str, TraceFacts)> {
    let blocked = ReplyCheck {
        name: "authority.claimed_side_effect".to_owned(),
        is_blocking: true,
        passed: false,
    };
    let gone = |absence: Absence| TraceTexts {
        question: Err(absence),
        bundle: Err(absence),
        compiled_prompt: Err(absence),
        answer: Err(absence),
    };
    vec![
        ("answered", facts()),
        (
            "refused",
            TraceFacts {
                depth: Ok(0),
                is_in_conflict: Ok(true),
                conflicts: Ok(vec!["ledger:000001".to_owned(), "ledger:000002".to_owned()]),
                ..facts()
            },
        ),
        (
            "withheld",
            TraceFacts {
                end: TraceEnd::Withheld,
                checks: Ok(vec![blocked]),
                ..facts()
            },
        ),
        ("denied", uncalled(TraceEnd::Denied)),
        ("compile failed", uncalled(TraceEnd::NotCompiled)),
        (
            "failed",
            TraceFacts {
                end: TraceEnd::Failed,
                checks: Err(Absence::NoJudgement),
                reasons: vec!["timeout".to_owned()],
                notes: None,
                tokens_input: Err(Absence::NotReported),
                tokens_output: Err(Absence::NotReported),
                cost: Ok(Cost {
                    currency: "EUR".to_owned(),
                    micro: 1,
                }),
                ..facts()
            },
        ),
        (
            "erased",
            TraceFacts {
                unknowns: Err(Absence::Erased),
                conflicts: Err(Absence::Erased),
                looks: Err(Absence::Erased),
                texts: gone(Absence::Erased),
                ..facts()
            },
        ),
        (
            "not kept",
            TraceFacts {
                looks: Err(Absence::NotKept),
                texts: gone(Absence::NotKept),
                ..facts()
            },
        ),
        (
            "from before",
            TraceFacts {
                thread: Err(Absence::FromBefore),
                depth: Err(Absence::FromBefore),
                sources: Err(Absence::FromBefore),
                checks: Err(Absence::FromBefore),
                model_ms: Err(Absence::FromBefore),
                ..facts()
            },
        ),
    ]
}

pub(super) fn requests() -> Vec<TraceRequest> {
    let of_profile = |profile| {
        TraceLevel::ALL.map(|level| TraceRequest {
            level,
            profile,
            withheld_too: false,
        })
    };
    TraceProfile::ALL.into_iter().flat_map(of_profile).collect()
}

fn built(facts: &TraceFacts, level: TraceLevel) -> BuiltTrace {
    let request = TraceRequest {
        level,
        ..TraceRequest::COMMITTED
    };
    TraceMapping::First.build(facts, request).unwrap()
}

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(key: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(key.verifying_key().to_bytes())
}

fn sign(key: &SigningKey, bytes: &[u8]) -> Signature {
    Signature::from_bytes(key.sign(bytes).to_bytes())
}

fn signed(trace: UnsignedTrace) -> Trace {
    let key = secret(7);
    let signature = sign(&key, &trace.to_be_signed().unwrap());
    trace.signed(&TraceVerifier::new(public(&key)), signature)
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// What a field of a trace holds.
fn value(trace: &UnsignedTrace, field: TraceField) -> Option<String> {
    let place = field.place(TraceProfile::SevenComponents);
    let component = trace
        .components
        .iter()
        .find(|component| component.event_type == place.step.event_type())?;
    let mut out = Vec::new();
    place.find(&component.data)?.write(&mut out);
    Some(text_of(out))
}

#[test]
fn the_generic_trace_of_an_answered_turn() {
    let BuiltTrace { trace, absent } = built(&facts(), TraceLevel::Generic);
    let expected = [
        r#"{"components":[{"component_type":"observation","data":{"round_number":7,"thought_depth":2},"event_type":"THOUGHT_START","timestamp":"2026-02-08T12:34:56Z"},"#,
        r#"{"component_type":"context","data":{"cognitive_state":"work"},"event_type":"SNAPSHOT_AND_CONTEXT","timestamp":"2026-02-08T12:34:56Z"},"#,
        r#"{"component_type":"rationale","data":{"pdma":{"has_conflicts":false}},"event_type":"DMA_RESULTS","timestamp":"2026-02-08T12:34:56Z"},"#,
        r#"{"component_type":"rationale","data":{"correlation_risk":0.3571,"fragility_flag":false,"k_eff":2.2857,"phase":"healthy"},"event_type":"IDMA_RESULT","timestamp":"2026-02-08T12:34:56Z"},"#,
        r#"{"component_type":"rationale","data":{"is_recursive":false,"selected_action":"SPEAK"},"event_type":"ASPDMA_RESULT","timestamp":"2026-02-08T12:34:56Z"},"#,
        r#"{"component_type":"conscience","data":{"action_was_overridden":false,"coherence_passed":true,"conscience_passed":true,"epistemic_humility_passed":true,"ethical_faculties_skipped":false,"optimization_veto_passed":true},"event_type":"CONSCIENCE_RESULT","timestamp":"2026-02-08T12:34:58Z"},"#,
        r#"{"component_type":"action","data":{"audit_entry_hash":"39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","audit_sequence_number":42,"cost_cents":0.205,"execution_success":true,"execution_time_ms":1204,"tokens_input":1800,"tokens_output":47,"tokens_total":1847},"event_type":"ACTION_RESULT","timestamp":"2026-02-08T12:34:58Z"}],"trace_level":"generic"}"#,
    ];
    assert_eq!(text_of(trace.to_be_signed().unwrap()), expected.concat());
    let codes: Vec<String> = absent
        .iter()
        .map(|(path, absence)| format!("{path} {}", absence.code()))
        .collect();
    assert_eq!(
        codes,
        [
            "ASPDMA_RESULT.selection_confidence not_measured",
            "CONSCIENCE_RESULT.coherence_level not_measured",
            "CONSCIENCE_RESULT.coherence_score not_measured",
            "CONSCIENCE_RESULT.coherence_threshold not_measured",
            "CONSCIENCE_RESULT.entropy_level not_measured",
            "CONSCIENCE_RESULT.entropy_passed not_measured",
            "CONSCIENCE_RESULT.entropy_score not_measured",
            "CONSCIENCE_RESULT.entropy_threshold not_measured",
            "CONSCIENCE_RESULT.epistemic_humility_certainty not_measured",
            "CONSCIENCE_RESULT.optimization_veto_entropy_ratio not_measured",
            "DMA_RESULTS.csdma.plausibility_score not_measured",
            "DMA_RESULTS.dsdma.domain_alignment no_specialist",
            "THOUGHT_START.task_priority no_such_thing",
        ]
    );
    assert_eq!(
        trace.trace_id,
        "trace-th_01234567-89ab-8def-8123-456789abcdef-20260208123456"
    );
    assert_eq!(
        trace.task_id.as_deref(),
        Some("task_76543210-89ab-8def-8123-456789abcdef")
    );
    let origin = Hash32::digest(b"gently/0123456789abcdef").to_string();
    assert_eq!(trace.agent_id_hash, origin[..16]);
}

#[test]
fn the_fuller_levels_of_an_answered_turn() {
    use TraceField as F;
    let detailed = built(&facts(), TraceLevel::Detailed).trace;
    let full = built(&facts(), TraceLevel::FullTraces).trace;
    for trace in [&detailed, &full] {
        for (field, expected) in [
            (F::ThoughtType, r#""follow_up""#),
            (
                F::ActiveServices,
                r#"["disk_usage","index_changed","index_status","sys_health"]"#,
            ),
            (
                F::ServiceHealth,
                r#"{"disk_usage":"available","index_changed":"available","index_status":"available","service_status":"not_installed","sys_health":"available"}"#,
            ),
            (F::CommonSenseFlags, r#"["evidence.unsourced"]"#),
            (F::Conflicts, r#""none""#),
            (
                F::SourcesIdentified,
                r#"["ledger_fact:1","model:1","tool:5","turn:1"]"#,
            ),
            (F::HumilityUncertainties, r#"["gpu_health"]"#),
            (F::ActionExecuted, r#""SPEAK""#),
            (F::ModelsUsed, r#"["small-1b"]"#),
        ] {
            assert_eq!(value(trace, field).as_deref(), Some(expected), "{field:?}");
        }
        assert_eq!(value(trace, F::VetoAffectedValues), None);
    }
    for (field, expected) in [
        (
            F::ActionRationale,
            r#""1 of 4 checks: evidence: unsourced count=1""#.to_owned(),
        ),
        (F::ThoughtContent, format!("\"{QUESTION}\"")),
        (
            F::SystemSnapshot,
            BUNDLE
                .replace("\"intent\":[],", "")
                .replace("\"unknowns\":[],", ""),
        ),
        (
            F::AspdmaPrompt,
            format!(r#""[{{\"content\":\"{SYSTEM}\"}}]""#),
        ),
        (F::ActionParameters, format!(r#"{{"content":"{ANSWER}"}}"#)),
    ] {
        assert_eq!(value(&full, field), Some(expected), "{field:?}");
        assert_eq!(value(&detailed, field), None, "{field:?}");
    }
    let long = TraceFacts {
        texts: TraceTexts {
            question: Ok("é".repeat(501)),
            ..facts().texts
        },
        ..facts()
    };
    let shown = value(
        &built(&long, TraceLevel::FullTraces).trace,
        F::ThoughtContent,
    );
    assert_eq!(shown, Some(format!("\"{}\"", "\\u00e9".repeat(500))));
}

/// For each kind of turn what tells it from others, or the reason for which that is absent.
#[test]
fn each_kind_of_turn_tells_what_it_was() {
    use TraceField as F;
    let turns: BTreeMap<&str, TraceFacts> = turns().into_iter().collect();
    for (turn, field, expected) in [
        ("refused", F::ThoughtType, r#""seed""#),
        ("refused", F::HasConflicts, "true"),
        ("refused", F::Conflicts, r#""ledger:000001, ledger:000002""#),
        ("refused", F::Phase, r#""chaos""#),
        ("withheld", F::SelectedAction, r#""SPEAK""#),
        ("withheld", F::ActionWasOverridden, "true"),
        ("withheld", F::ConsciencePassed, "false"),
        ("withheld", F::VetoPassed, "false"),
        ("withheld", F::VetoAffectedValues, r#"["authority"]"#),
        ("withheld", F::FacultiesSkipped, "false"),
        ("withheld", F::ExecutionSuccess, "false"),
        ("withheld", F::CoherencePassed, "no_judgement"),
        ("withheld", F::HumilityPassed, "no_judgement"),
        ("withheld", F::ActionExecuted, "no_such_thing"),
        ("withheld", F::ActionParameters, "no_such_thing"),
        ("denied", F::SelectedAction, r#""REJECT""#),
        ("denied", F::ActionExecuted, r#""REJECT""#),
        ("denied", F::ExecutionSuccess, "true"),
        ("denied", F::HasConflicts, "true"),
        ("denied", F::EffectiveSources, "0.0"),
        ("denied", F::FragilityFlag, "true"),
        ("denied", F::CorrelationRisk, "no_such_thing"),
        ("denied", F::Phase, "no_such_thing"),
        ("denied", F::ConsciencePassed, "false"),
        ("denied", F::FacultiesSkipped, "true"),
        ("denied", F::VetoPassed, "no_judgement"),
        ("denied", F::ExecutionTimeMs, "no_such_thing"),
        ("denied", F::ModelsUsed, "no_such_thing"),
        ("denied", F::ActionRationale, r#""TOKEN_BUDGET""#),
        ("compile failed", F::SelectedAction, r#""DEFER""#),
        ("compile failed", F::ActiveServices, "no_such_thing"),
        ("failed", F::SelectedAction, r#""SPEAK""#),
        ("failed", F::ExecutionSuccess, "false"),
        ("failed", F::ActionExecuted, "no_such_thing"),
        ("failed", F::TokensTotal, "not_reported"),
        ("failed", F::CostCents, "not_usd"),
        ("failed", F::ModelsUsed, r#"["small-1b"]"#),
        ("erased", F::ThoughtContent, "erased"),
        ("erased", F::Conflicts, "erased"),
        ("erased", F::HasConflicts, "false"),
        ("not kept", F::SystemSnapshot, "not_kept"),
        ("not kept", F::ServiceHealth, "not_kept"),
        ("from before", F::ThoughtDepth, "from_before"),
        ("from before", F::EffectiveSources, "from_before"),
        ("from before", F::ConsciencePassed, "from_before"),
        ("from before", F::FacultiesSkipped, "false"),
        ("from before", F::ExecutionTimeMs, "from_before"),
    ] {
        let BuiltTrace { trace, absent } = built(&turns[turn], TraceLevel::FullTraces);
        let path = field.place(TraceProfile::SevenComponents).path();
        let reason = absent.get(&path).map(|absence| absence.code().to_owned());
        let found = value(&trace, field).or(reason);
        assert_eq!(found.as_deref(), Some(expected), "{turn}: {field:?}");
    }
    let shown = TraceMapping::First.build(
        &turns["withheld"],
        TraceRequest {
            level: TraceLevel::FullTraces,
            profile: TraceProfile::SevenComponents,
            withheld_too: true,
        },
    );
    let shown = value(&shown.unwrap().trace, F::ActionParameters);
    assert_eq!(shown, Some(format!(r#"{{"content":"{ANSWER}"}}"#)));
}

#[test]
fn every_field_is_there_or_has_a_reason_and_nothing_is_above_its_level() {
    for (turn, facts) in turns() {
        for request in requests() {
            let BuiltTrace { trace, absent } = TraceMapping::First.build(&facts, request).unwrap();
            assert_eq!(check_fields(&trace, &absent), Ok(()), "{turn} {request:?}");
            assert_eq!(trace.check_form(), Ok(()));
            let of_level = |field: &&TraceField| field.row().level <= request.level;
            let expected = TraceField::ALL.iter().filter(of_level).count();
            let places = TraceField::ALL
                .iter()
                .map(|field| field.place(request.profile));
            let there = places
                .filter(|place| {
                    let event = place.step.event_type();
                    let mut components = trace.components.iter();
                    let component = components.find(|one| one.event_type == event);
                    component.is_some_and(|one| place.find(&one.data).is_some())
                })
                .count();
            let task = usize::from(absent.contains_key("task_id"));
            assert_eq!(there + absent.len() - task, expected, "{turn} {request:?}");
            let most = match request.profile {
                TraceProfile::SevenComponents => 7,
                TraceProfile::SixComponents => 6,
            };
            let fewer = usize::from(turn == "from before" && request.level == TraceLevel::Generic);
            let has_own = request.profile == TraceProfile::SevenComponents;
            let expected = most - fewer * usize::from(has_own);
            assert_eq!(trace.components.len(), expected, "{turn} {request:?}");
        }
    }
}

#[test]
fn a_trace_that_is_not_of_the_table_is_told_so() {
    let good = built(&facts(), TraceLevel::Detailed);
    let told = |change: &dyn Fn(&mut BuiltTrace)| {
        let mut changed = good.clone();
        change(&mut changed);
        check_fields(&changed.trace, &changed.absent).unwrap_err()
    };
    let data = |built: &mut BuiltTrace, n: usize, key: &str, value: TraceValue| {
        built.trace.components[n].data.insert(key.to_owned(), value);
    };
    for field in TraceField::ALL {
        let place = field.place(TraceProfile::SevenComponents);
        let path = place.path();
        let n = TraceStep::ALL.iter().position(|step| *step == place.step);
        let n = n.unwrap();
        if field.row().level == TraceLevel::FullTraces {
            let above = told(&|built| data(built, n, place.key, TraceValue::text("x")));
            assert!(matches!(above, FieldFault::Beyond { .. }), "{above}");
            let above = told(&|built| {
                let _ = built.absent.insert(path.clone(), Absence::Erased);
            });
            assert!(matches!(above, FieldFault::Beyond { .. }), "{above}");
        } else if good.absent.contains_key(&path) {
            let missing = told(&|built| {
                let _ = built.absent.remove(&path);
            });
            assert_eq!(missing, FieldFault::Missing { path });
        } else {
            let both = told(&|built| {
                let _ = built.absent.insert(path.clone(), Absence::Erased);
            });
            assert!(matches!(both, FieldFault::Both { .. }), "{both}");
            let null =
                told(&|built| place.put(&mut built.trace.components[n].data, TraceValue::Null));
            assert!(matches!(null, FieldFault::Form { .. }), "{null}");
        }
    }
    let beyond = told(&|built| data(built, 0, "mood", TraceValue::text("good")));
    assert!(beyond.to_string().contains("THOUGHT_START.mood"));
    let beyond = told(&|built| {
        let _ = built.absent.insert("x".to_owned(), Absence::Erased);
    });
    assert!(beyond.to_string().starts_with("x has no place"));
    let changes: [&dyn Fn(&mut BuiltTrace); 3] = [
        &|built| built.trace.components.swap(0, 1),
        &|built| {
            let first = built.trace.components[0].clone();
            built.trace.components.insert(0, first);
        },
        &|built| built.trace.components[3].component_type = "action".to_owned(),
    ];
    for change in changes {
        assert!(matches!(told(change), FieldFault::Component { .. }));
    }
    let missing = told(&|built| built.trace.task_id = None);
    assert!(matches!(missing, FieldFault::Missing { .. }));
}

#[test]
fn a_field_is_absent_by_its_own_codes_and_by_no_other() {
    let good = built(&facts(), TraceLevel::FullTraces);
    let profile = TraceProfile::SevenComponents;
    for field in TraceField::ALL {
        let (path, allowed) = (field.place(profile).path(), field.row().absences);
        for absence in Absence::ALL {
            let BuiltTrace { mut trace, absent } = good.clone();
            field.take(profile, &mut trace);
            let absent = [absent, [(path.clone(), absence)].into()];
            let absent = absent.into_iter().flatten().collect();
            let Err(fault) = check_fields(&trace, &absent) else {
                assert!(allowed.contains(&absence), "{path}: {absence:?}");
                continue;
            };
            assert!(!allowed.contains(&absence), "{fault}");
            let told = fault.to_string();
            let said = format!("{path} is said to be absent ({})", absence.code());
            assert!(told.starts_with(&said), "{told}");
            let named = told.rsplit(';').next().unwrap();
            let codes = allowed.iter().map(|absence| absence.code());
            assert!(codes.into_iter().all(|code| named.contains(code)), "{told}");
        }
    }
    let lost = |absence: Absence| {
        let BuiltTrace {
            mut trace,
            mut absent,
        } = good.clone();
        trace.task_id = None;
        absent.insert("task_id".to_owned(), absence);
        check_fields(&trace, &absent)
    };
    assert_eq!(lost(Absence::FromBefore), Ok(()));
    let told = lost(Absence::NotUsd).unwrap_err().to_string();
    assert_eq!(
        told,
        "task_id is said to be absent (not_usd); it may be absent by one of erased, from_before"
    );
}

#[test]
fn no_four_words_of_a_text_are_in_a_trace_without_texts() {
    let words = |text: &str| -> Vec<String> {
        let letters = |c: char| !c.is_alphanumeric();
        let words = text.split(letters).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    for (turn, facts) in turns() {
        for request in requests() {
            let trace = TraceMapping::First.build(&facts, request).unwrap().trace;
            let told = words(&text_of(trace.signed_bytes()));
            let says = |text: &str| {
                words(text)
                    .windows(4)
                    .any(|four| told.windows(4).any(|found| found == four))
            };
            let found = [QUESTION, ANSWER, SYSTEM, "is called berta by everybody"].map(says);
            let is_full = request.level == TraceLevel::FullTraces;
            let is_shown = turn == "answered" && is_full;
            assert!(
                is_shown || is_full || found == [false; 4],
                "{turn}: {found:?}"
            );
            assert!(!is_shown || found == [true; 4], "{turn}: {found:?}");
        }
    }
}

/// The document's figures hold for what is signed; ids, times and signature are 430 bytes more.
#[test]
fn what_is_signed_has_the_documents_sizes() {
    for (level, most) in [(TraceLevel::Generic, 1700), (TraceLevel::Detailed, 2700)] {
        let trace = built(&facts(), level).trace;
        let length = trace.signed_bytes().len();
        assert!(length <= most, "{level}: {length} bytes are signed");
        let whole = signed(trace).print().len();
        assert!(whole <= most + 300, "{level}: {whole} bytes");
    }
}

#[test]
fn a_bundle_that_no_trace_can_hold_is_named() {
    for (bundle, fault) in [
        ("{\"a\":", "not JSON"),
        ("{\"a\":-0.5}", "SNAPSHOT_AND_CONTEXT/system_snapshot/a"),
    ] {
        let facts = TraceFacts {
            texts: TraceTexts {
                bundle: Ok(bundle.to_owned()),
                ..facts().texts
            },
            ..facts()
        };
        let request = TraceRequest {
            level: TraceLevel::FullTraces,
            ..TraceRequest::COMMITTED
        };
        let refused = TraceMapping::First.build(&facts, request).unwrap_err();
        assert!(refused.to_string().contains(fault), "{refused}");
        assert!(
            TraceMapping::First
                .build(&facts, TraceRequest::COMMITTED)
                .is_ok()
        );
    }
}

#[test]
fn a_commitment_is_to_the_signed_bytes_of_the_generic_trace() {
    let (salt, scheme) = (Salt::new([5; 32]), Scheme::HmacSha256);
    let committed = |facts: &TraceFacts| {
        let mapping = TraceMapping::named("gently.trace/1").unwrap();
        mapping.commitment(facts, scheme, &salt).unwrap()
    };
    let bytes = built(&facts(), TraceLevel::Generic).trace.signed_bytes();
    let expected = commit(scheme, &salt, Role::Trace, &bytes);
    assert_eq!(committed(&facts()), expected);
    assert_ne!(
        commit(scheme, &salt, Role::Exchange, &bytes),
        expected,
        "another role"
    );
    // What only fuller levels tell is not committed to; every measure is.
    let texts = TraceFacts {
        texts: uncalled(TraceEnd::Denied).texts,
        looks: Err(Absence::Erased),
        unknowns: Err(Absence::Erased),
        ..facts()
    };
    assert_eq!(committed(&texts), expected);
    for changed in [
        TraceFacts {
            depth: Ok(3),
            ..facts()
        },
        TraceFacts {
            model_ms: Ok(1205),
            ..facts()
        },
        TraceFacts {
            sources: Ok(SourceCount::new(8, 11).unwrap()),
            ..facts()
        },
        TraceFacts {
            prompt_number: 43,
            ..facts()
        },
        TraceFacts {
            is_in_conflict: Ok(true),
            ..facts()
        },
        TraceFacts {
            answered_at: "2026-02-08T12:34:59Z".parse().unwrap(),
            ..facts()
        },
    ] {
        assert_ne!(committed(&changed), expected);
    }
    assert_eq!(TraceMapping::named("gently.trace/3"), None);
    for mapping in TraceMapping::ALL {
        assert_eq!(TraceMapping::named(mapping.name()), Some(mapping));
        let spelled = serde_json::to_string(&mapping).unwrap();
        assert_eq!(spelled, format!("\"{}\"", mapping.name()));
    }
    // A specialist shows in the second mapping alone.
    let asked = TraceFacts {
        domain_alignment: Ok(667),
        ..facts()
    };
    assert_eq!(TraceMapping::of(&asked), TraceMapping::Second);
    assert_eq!(TraceMapping::of(&facts()), TraceMapping::First);
    let bytes = |mapping: TraceMapping, facts: &TraceFacts| {
        let built = mapping.build(facts, TraceRequest::COMMITTED).unwrap();
        built.trace.to_be_signed().unwrap()
    };
    let told = String::from_utf8(bytes(TraceMapping::Second, &asked)).unwrap();
    assert!(told.contains("\"domain_alignment\":0.667"), "{told}");
    assert_eq!(
        bytes(TraceMapping::First, &asked),
        bytes(TraceMapping::First, &facts())
    );
    // So does a review, which is about another turn.
    let review = TraceFacts {
        is_review: true,
        ..asked.clone()
    };
    let told = String::from_utf8(bytes(TraceMapping::Second, &review)).unwrap();
    assert!(told.contains("\"is_recursive\":true"), "{told}");
    assert_eq!(
        bytes(TraceMapping::First, &review),
        bytes(TraceMapping::First, &facts())
    );
}

/// One key signs commits, receipts and envelopes, tree heads, and traces.
#[test]
fn no_kind_of_signed_bytes_can_be_taken_for_another() {
    let head = Hash32::GENESIS;
    let line_ends = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'\n').count();
    for (_, facts) in turns() {
        for request in requests() {
            let built = TraceMapping::First.build(&facts, request).unwrap();
            let bytes = built.trace.signed_bytes();
            // An SSH signature is over `SSHSIG…`, a tree head is three lines, M is none.
            assert!(bytes.starts_with(b"{\"components\":[{") && bytes.ends_with(b"\"}"));
            assert_eq!(line_ends(&bytes), 0);
            assert!(signed_data(&bytes).starts_with(b"SSHSIG"));
        }
    }
    // Of what an SSH signature is over, a commit begins with `tree `, the others are JSON with other keys.
    let receipt = Statement {
        chain_entry: None,
        checkpoint: String::new(),
        format: Format,
        line: head,
        log_head: head,
        seq: 1,
        session_id: head,
    };
    let receipt = canon::print(&receipt).unwrap();
    let envelope = canon::print(&enveloped::envelope(TraceLevel::Generic).head).unwrap();
    assert!(canon::parse::<EnvelopeHead>(receipt.as_bytes()).is_err());
    assert!(canon::parse::<Statement>(envelope.as_bytes()).is_err());
    assert!(canon::parse::<Statement>(receipt.as_bytes()).is_ok());
    assert!(canon::parse::<EnvelopeHead>(envelope.as_bytes()).is_ok());
    assert!(receipt.starts_with('{') && envelope.starts_with('{'));
    let note = note_body("{\"components\":[{", 1, head);
    assert_eq!(line_ends(note.as_bytes()), 3);
    assert!(!note.starts_with("SSHSIG"));
}
