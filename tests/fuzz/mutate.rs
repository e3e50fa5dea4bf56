//! Makes inputs out of inputs, and keeps those that are answered in a new way.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// What is fed.
pub struct Target {
    pub name: &'static str,
    /// Inputs to begin with: good ones, so that most of a mutated one is good, too.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Pieces that the format knows.
    pub words: &'static [&'static [u8]],
    /// Feeds one input: what was answered, in a few words, or what does not hold.
    pub feed: fn(&[u8]) -> Result<String, String>,
    /// Longest input.
    pub longest: usize,
}

/// How much processor time one input may take, in an unoptimised build.
const MOST: Duration = Duration::from_secs(20);
/// Most inputs that are kept beside the first ones.
const KEPT: usize = 4096;

/// What a run did.
pub struct Done {
    pub inputs: u64,
    pub kept: usize,
    /// The input that failed, and how.
    pub failed: Option<(Vec<u8>, String)>,
}

impl Done {
    pub fn verdict(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        self.failed
            .as_ref()
            .map_or("held".to_owned(), |(input, why)| {
                format!("FAILED: {why}\ninput: {}", hex(input))
            })
    }
}

/// Numbers that look random and are the same on every machine (xorshift).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `most`.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % most.max(1)
    }
}

/// Feeds a target for as long as `goes_on` says, given how many inputs there were.
pub fn run(target: &Target, seed: u64, goes_on: &dyn Fn(u64) -> bool) -> Done {
    let mut dice = Dice::new(seed);
    let mut inputs = (target.seeds)();
    let first = inputs.len();
    let mut answers = HashSet::new();
    let mut done = Done {
        inputs: 0,
        kept: 0,
        failed: None,
    };
    for input in &inputs {
        done.inputs += 1;
        match fed(target, input) {
            Ok(answer) => answers.insert(answer),
            Err(why) => {
                return Done {
                    failed: Some((input.clone(), why)),
                    ..done
                };
            }
        };
    }
    while goes_on(done.inputs) {
        let input = mutated(&inputs, target, &mut dice);
        done.inputs += 1;
        match fed(target, &input) {
            Ok(answer) => {
                if inputs.len() < first + KEPT && answers.insert(answer) {
                    inputs.push(input);
                }
            }
            Err(why) => {
                return Done {
                    failed: Some((input, why)),
                    kept: inputs.len() - first,
                    ..done
                };
            }
        }
    }
    Done {
        kept: inputs.len() - first,
        ..done
    }
}

fn fed(target: &Target, input: &[u8]) -> Result<String, String> {
    let begun = Instant::now();
    let before = processor_time();
    let answer = catch_unwind(AssertUnwindSafe(|| (target.feed)(input)))
        .unwrap_or_else(|_| Err("it panicked".into()));
    // A machine that is busy with other things stops a process for as long as it likes.
    let took = begun.elapsed();
    if took > MOST
        && processor_time()
            .zip(before)
            .is_none_or(|(now, before)| now - before > MOST)
    {
        return Err(format!("it took {took:?}"));
    }
    answer
}

/// What this thread has used of a processor so far; none where the system does not say.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ')
        .next()?
        .parse()
        .ok()
        .map(Duration::from_nanos)
}

fn mutated(inputs: &[Vec<u8>], target: &Target, dice: &mut Dice) -> Vec<u8> {
    let mut input = inputs[dice.below(inputs.len())].clone();
    for _ in 0..1 + dice.below(6) {
        mutate(&mut input, inputs, target, dice);
    }
    input.truncate(target.longest);
    input
}

fn mutate(input: &mut Vec<u8>, inputs: &[Vec<u8>], target: &Target, dice: &mut Dice) {
    let at = dice.below(input.len() + 1);
    let length = dice.below(1 + (input.len() - at).min(64));
    match dice.below(10) {
        0 if at < input.len() => input[at] ^= 1 << dice.below(8),
        1 if at < input.len() => {
            input[at] = [0, 1, 0x7f, 0x80, 0xff, b'\n', b' ', b'"', b'=', b'|'][dice.below(10)]
        }
        2 => drop(input.drain(at..at + length)),
        3 => {
            let piece = input[at..at + length].to_vec();
            let times = [1, 2, 9, 100][dice.below(4)];
            input.splice(at..at, piece.repeat(times));
        }
        4 => {
            // A piece of another input.
            let other = &inputs[dice.below(inputs.len())];
            let from = dice.below(other.len() + 1);
            let to = from + dice.below(other.len() - from + 1);
            input.splice(at..at + length, other[from..to].iter().copied());
        }
        5 => input.truncate(at),
        6 => {
            let bytes: Vec<u8> = (0..1 + dice.below(8))
                .map(|_| u8::try_from(dice.below(256)).unwrap())
                .collect();
            input.splice(at..at, bytes);
        }
        7 | 8 if !target.words.is_empty() => {
            let word = target.words[dice.below(target.words.len())];
            input.splice(at..at + length.min(8), word.iter().copied());
        }
        _ if at < input.len() => {
            input[at] = input[at]
                .wrapping_add(u8::try_from(dice.below(5)).unwrap())
                .wrapping_sub(2)
        }
        _ => input.push(u8::try_from(dice.below(256)).unwrap()),
    }
}
