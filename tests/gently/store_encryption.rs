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
