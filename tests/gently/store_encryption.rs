//! What a build without encryption says of it.

#![cfg(not(feature = "sealed"))]

use crate::person::Person;

#[test]
fn an_encrypted_home_is_refused_and_left_as_it_is() {
    let person = Person::new();
    person.ask("hello");
    // Nobody can tell an encrypted file from noise.
    let mut noise: Vec<u8> = Vec::new();
    let mut state = 1_u32;
    while noise.len() < 16_384 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.extend_from_slice(&state.to_be_bytes()[..2]);
    }
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(person.at(&format!("gently.db{end}")));
    }
    std::fs::write(person.at("gently.db"), &noise).unwrap();
    for door in [
        &["ask", "hello"][..],
        &["search", "hello"],
        &["log"],
        &["audit", "verify"],
        &["audit", "rebuild"],
    ] {
        let ran = person.gently(door).exits(2);
        let said = format!("{}{}", ran.err, ran.out);
        assert!(
            said.contains("this build of gently has no encryption"),
            "{ran:?}"
        );
        assert!(said.contains("--features sealed"), "{ran:?}");
    }
    let now = std::fs::read(person.at("gently.db")).unwrap();
    assert!(now == noise, "it changed");
    assert!(!person.at("gently.db-wal").exists());
    let status = person
        .gently(&["store", "status", "--json"])
        .exits(1)
        .json();
    assert_eq!(status["encrypted"], true);
    assert_eq!(status["can_encrypt"], false);
}

#[test]
fn nothing_can_be_encrypted_and_that_is_said_with_the_way_to_a_build_that_can() {
    let mut person = Person::new();
    person.ask("hello");
    let refused = person.gently(&["store", "encrypt"]).exits(2);
    assert!(refused.err.contains("--features sealed"), "{refused:?}");
    let status = person.gently(&["store", "status"]).exits(0);
    assert!(
        status
            .out
            .contains("is not encrypted: whoever has the disk can read it"),
        "{status:?}"
    );
    person.set("GENTLY_STORE_ENCRYPTED", "true");
    let refused = person.gently(&["ask", "hello"]).exits(2);
    assert!(
        refused.err.contains("although store.encrypted is true"),
        "{refused:?}"
    );
    let wrong = person.gently(&["store", "status"]).exits(1);
    assert!(
        wrong.out.contains("although store.encrypted is true"),
        "{wrong:?}"
    );
}

#[test]
fn a_new_key_is_for_the_place_that_is_read_first() {
    let mut person = Person::new();
    let new = ["store", "encrypt", "--new-key"];
    for (variable, value, place) in [
        ("GENTLY_STORE_KEY", "", "where [store] key_cmd finds it"),
        (
            "GENTLY_STORE_KEY_CMD",
            "cat key",
            "where $GENTLY_STORE_KEY_CMD finds it",
        ),
        ("GENTLY_STORE_KEY", "00", "into $GENTLY_STORE_KEY"),
    ] {
        person.set(variable, value);
        let made = person.gently(&new).exits(0);
        let said = made.err.replace("\n  ", " ");
        assert!(said.contains(&format!("put it {place}")), "{made:?}");
        assert_eq!(made.out.trim_end().len(), 64, "{made:?}");
    }
}
