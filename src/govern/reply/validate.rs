//! The validator: what a reply claims, held against what its model was shown (AEGIS 9).
//!
//! Each rule is conservative: it raises what it can point at and stays silent in doubt. Events name
//! the rule, how often and in which sentence, never the reply's words, so that no record of a
//! verdict holds text. `docs/drift.md` says what each rule looks at, and its limits.

use crate::record::ledger::bundle::Bundle;
use crate::record::ledger::reply::has_refusal_part;

use super::claims;
use super::completeness;
use super::output::{Miss, Shape};
use super::refusal;
use super::rejected::{rejections, said};
use super::sentences::{folded, shows_code, spoken};
use super::sight_figures;
use super::sources;
use crate::govern::clauses::text::{SentenceEnds, sentences};
use crate::govern::drift::{DriftClass, Judgement, RuleResult};
use crate::govern::kernel::Kernel;
use crate::govern::phrase;
use crate::govern::reply_rule::ReplyRule;
use crate::govern::sanitize::Clean;

/// Judges one reply; a function of its arguments and nothing else.
///
/// Without a declared shape there is nothing to hold the output against, and `schema_ok` is true.
pub fn judge(
    kernel: &Kernel,
    bundle: &Bundle,
    prompt: &Clean,
    shape: Option<&Shape>,
    reply: &str,
) -> Judgement {
    judge_said(kernel, bundle, prompt, (shape, reply), reply)
}

/// The same for a reply that says something else than its bytes, as a review does: the declared shape
/// is held against the whole reply, everything else against what it says.
pub(super) fn judge_said(
    kernel: &Kernel,
    bundle: &Bundle,
    prompt: &Clean,
    (shape, reply): (Option<&Shape>, &str),
    said: &str,
) -> Judgement {
    let own = folded(&spoken(said));
    let look = Validation::of(kernel, bundle, prompt.as_str(), said, &own);
    let refusal = look.refuses();
    let mut ran = vec![look.authority()];
    ran.extend(look.evidence());
    ran.extend(look.completeness(refusal));
    ran.extend(look.tone());
    ran.extend(shape.into_iter().flat_map(|shape| schema(shape, reply)));
    Judgement::new(kernel, ran, refusal)
}

/// The judgement about a turn that ends before its model is called: a declared tool gave neither
/// values nor a reason (AEGIS 7.2).
pub fn silent_tool(kernel: &Kernel) -> Judgement {
    let found = Some("before_call=true".to_owned());
    Judgement::new(
        kernel,
        vec![RuleResult {
            rule: ReplyRule::SightWithoutValues,
            found,
        }],
        false,
    )
}

/// What all rules look at.
pub(super) struct Validation<'a> {
    kernel: &'a Kernel,
    bundle: &'a Bundle,
    prompt: &'a str,
    reply: &'a str,
    /// The reply without code and quotes.
    own: &'a str,
    sentences: Vec<&'a str>,
    /// Whether the question asks for values that the bundle holds.
    grounded: bool,
    /// Sentences that contradict a value; only looked for in an answer to such a question.
    contradictions: Vec<usize>,
}

impl<'a> Validation<'a> {
    pub(super) fn of(
        kernel: &'a Kernel,
        bundle: &'a Bundle,
        prompt: &'a str,
        reply: &'a str,
        own: &'a str,
    ) -> Self {
        let sentences = sentences(own, SentenceEnds::Told);
        let grounded = completeness::asks_of_machine(kernel, prompt)
            && completeness::sees_what_is_asked(bundle, prompt);
        let contradictions = if grounded {
            sight_figures::contradictions(bundle, prompt, &sentences)
        } else {
            Vec::new()
        };
        Validation {
            kernel,
            bundle,
            prompt,
            reply,
            own,
            sentences,
            grounded,
            contradictions,
        }
    }

    /// Whether a rule finds something.
    pub(super) fn finds(&self, rule: ReplyRule) -> bool {
        let ran = match rule.class() {
            DriftClass::Authority => vec![self.authority()],
            DriftClass::Evidence => self.evidence(),
            DriftClass::Completeness => self.completeness(self.refuses()),
            DriftClass::Tone => self.tone(),
            // A shape is the whole reply's.
            DriftClass::Schema => Vec::new(),
        };
        ran.iter()
            .any(|ran| ran.rule == rule && ran.found.is_some())
    }

    /// Whether the reply refuses: its server says so, or its words do.
    fn refuses(&self) -> bool {
        let code = shows_code(self.reply);
        has_refusal_part(self.reply) || refusal::refuses(self.kernel, self.prompt, self.own, code)
    }

    fn authority(&self) -> RuleResult {
        let found = places(&claims::side_effects(
            self.prompt,
            &self.sentences,
            shows_code(self.reply),
        ));
        RuleResult {
            rule: ReplyRule::ClaimedSideEffect,
            found,
        }
    }

    fn evidence(&self) -> Vec<RuleResult> {
        let unsourced = sources::unsourced(self.bundle, self.prompt, self.reply);
        let artifacts = (unsourced.artifacts > 0).then(|| format!("count={}", unsourced.artifacts));
        let mut ran = vec![RuleResult {
            rule: ReplyRule::UnknownArtifact,
            found: artifacts,
        }];
        if self.grounded {
            ran.push(RuleResult {
                rule: ReplyRule::ContradictsSight,
                found: places(&self.contradictions),
            });
        }
        let rejections = rejections(self.bundle);
        if !rejections.is_empty() {
            ran.push(RuleResult {
                rule: ReplyRule::RejectedClaim,
                found: places(&said(&rejections, &self.sentences)),
            });
        }
        let rule = if self.grounded {
            ReplyRule::Unsourced
        } else {
            ReplyRule::GeneralUnsourced
        };
        ran.push(RuleResult {
            rule,
            found: unsourced.counts(),
        });
        ran
    }

    /// How a reply leaves out the values it was asked for; the first way that holds is the one that
    /// is told.
    fn completeness(&self, refusal: bool) -> Vec<RuleResult> {
        let mut ran = vec![RuleResult {
            rule: ReplyRule::SightWithoutValues,
            found: None,
        }];
        if !self.grounded {
            return ran;
        }
        let contradicts = !self.contradictions.is_empty();
        let carries = || completeness::carries(self.bundle, self.prompt, self.own, contradicts);
        let ways: [(ReplyRule, &dyn Fn() -> bool); 3] = [
            (ReplyRule::DeniesSight, &|| {
                completeness::denies(self.kernel, self.own)
            }),
            (ReplyRule::RefusesSight, &|| refusal),
            (ReplyRule::NoValueGiven, &|| !carries()),
        ];
        for (rule, is_so) in ways {
            let so = is_so();
            ran.push(RuleResult {
                rule,
                found: so.then(String::new),
            });
            if so {
                break;
            }
        }
        ran
    }

    fn tone(&self) -> Vec<RuleResult> {
        let tone = &self.kernel.rules().tone;
        let words = phrase::words(self.own);
        let lists = [
            (ReplyRule::Urgency, &tone.urgency),
            (ReplyRule::Flattery, &tone.flattery),
            (ReplyRule::Intimacy, &tone.intimacy),
            (ReplyRule::Certainty, &tone.certainty),
        ];
        let count = |list: &[String]| {
            list.iter()
                .filter(|p| phrase::find(&words, p).is_some())
                .count()
        };
        let ran = lists.into_iter().map(|(rule, list)| {
            let n = count(list);
            RuleResult {
                rule,
                found: (n > 0).then(|| format!("count={n}")),
            }
        });
        ran.collect()
    }
}

/// `count=2 sentences=0,3`; none when there are no places.
fn places(at: &[usize]) -> Option<String> {
    /// A summary is short: places beyond these are counted.
    const NAMED: usize = 8;
    let named: Vec<String> = at.iter().take(NAMED).map(ToString::to_string).collect();
    (!at.is_empty()).then(|| format!("count={} sentences={}", at.len(), named.join(",")))
}

fn schema(shape: &Shape, reply: &str) -> Vec<RuleResult> {
    let json = |found| RuleResult {
        rule: ReplyRule::NotJson,
        found,
    };
    let other = |found| RuleResult {
        rule: ReplyRule::OtherShape,
        found,
    };
    match shape.met_by(reply) {
        Ok(()) => vec![json(None), other(None)],
        Err(Miss::NotJson { wrapped }) => vec![json(Some(format!("wrapped={wrapped}")))],
        Err(Miss::OtherShape { errors, keywords }) => {
            vec![
                json(None),
                other(Some(format!(
                    "errors={errors} keywords={}",
                    keywords.join(",")
                ))),
            ]
        }
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
pub(in crate::govern) mod tests;
