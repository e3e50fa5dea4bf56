//! Which stretches of a text a rule's expression is run over.

use super::file::is_token_byte;

/// How far before its keyword a match of our own rules may begin.
const BEFORE: usize = 160;
/// How far after its keyword a match is looked for first; one that reaches the end is looked for
/// further.
pub const AFTER: usize = 512;

/// Stretches of text for each rule, in the order of the text; those that meet are one.
pub struct ScanWindows<'a> {
    text: &'a str,
    of_rule: Vec<Vec<(usize, usize)>>,
    /// The run of token bytes that was measured last.
    run: (usize, usize),
}

impl<'a> ScanWindows<'a> {
    pub fn new(text: &'a str, rules: usize) -> Self {
        ScanWindows {
            text,
            of_rule: vec![Vec::new(); rules],
            run: (0, 0),
        }
    }

    /// The stretches of one rule.
    pub fn of(&self, rule: usize) -> &[(usize, usize)] {
        &self.of_rule[rule]
    }

    /// The whole text, for a rule whose matches may be anywhere.
    pub fn everything(&mut self, rule: usize) {
        if self.of_rule[rule].is_empty() {
            self.of_rule[rule].push((0, self.text.len()));
        }
    }

    /// Around a keyword at `start..end`. With `run`, matches lie in a run of so many token bytes
    /// around it, or nowhere.
    pub fn add(&mut self, rule: usize, start: usize, end: usize, run: usize) {
        let mut window = (
            start.saturating_sub(BEFORE),
            (end + AFTER).min(self.text.len()),
        );
        if run > 0 {
            self.measure(start, end);
            if self.run.1 - self.run.0 < run {
                return;
            }
            window = (window.0.max(self.run.0), window.1.min(self.run.1));
        }
        match self.of_rule[rule].last_mut() {
            Some(last) if window.0 <= last.1 => {
                *last = (window.0.min(last.0), window.1.max(last.1))
            }
            _ => self.of_rule[rule].push(window),
        }
    }

    /// Measures the run around a place, unless it is the one that was measured last.
    fn measure(&mut self, start: usize, end: usize) {
        if self.run.0 <= start && end <= self.run.1 {
            return;
        }
        let bytes = self.text.as_bytes();
        // Places come in the order of the text, so that nothing is measured twice.
        let left = bytes[..start]
            .iter()
            .rev()
            .take_while(|b| is_token_byte(**b))
            .count();
        let right = bytes[end..]
            .iter()
            .take_while(|b| is_token_byte(**b))
            .count();
        self.run = (start - left, end + right);
    }
}

/// The nearest character boundary at or before a place.
pub fn boundary_before(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest character boundary at or after a place.
pub fn boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at.min(text.len())
}
