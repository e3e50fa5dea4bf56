//! Every target of the fuzzer, for some hundred inputs, the same ones in every run; `tests/fuzz`
//! runs them for longer.

#[path = "../fuzz/mutate.rs"]
mod mutate;
#[path = "../fuzz/targets.rs"]
mod targets;

/// Inputs for each target.
const INPUTS: u64 = 400;

#[test]
fn every_reader_holds_on_mutated_inputs() {
    assert_eq!(targets::TARGETS.len(), 8);
    for target in targets::TARGETS {
        let done = mutate::run(target, 1, &|inputs| inputs < INPUTS);
        assert!(done.failed.is_none(), "{}: {}", target.name, done.verdict());
        assert!(
            done.inputs >= INPUTS && done.kept > 0,
            "{}: {} inputs, {} kept",
            target.name,
            done.inputs,
            done.kept
        );
    }
}
