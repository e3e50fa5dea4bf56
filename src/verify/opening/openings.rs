//! Which line carries what is opened, that every line is needed, and that keys and texts give the
//! commitments. No line carries those of a turn's request and reply: the opened exchange document
//! of that turn does.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Scheme, TextOpening};
use crate::record::ledger::opening::{Document, named_commitments};
use crate::record::log::entry::{Event, Line};

use super::lines::OpeningEntry;
use super::{OpeningCheck, OpeningQuestion, OpeningSubject};

/// Which of a file's lines are opened, by their places.
#[derive(Default)]
pub(super) struct OpenedLines {
    /// What carries the commitment of each opening; none when there is no such line.
    carriers: Vec<Option<usize>>,
    /// These, and the outcome of each opened turn.
    pub all: BTreeSet<usize>,
}

impl OpenedLines {
    /// Whether the line in this place carries a commitment that is opened.
    pub fn is_carrier(&self, at: usize) -> bool {
        self.carriers.contains(&Some(at))
    }
}

/// What an opening is called in findings.
pub(super) fn place_of(at: usize) -> String {
    format!("opening {}", at.saturating_add(1))
}

impl<'a> OpeningCheck<'a> {
    /// The line of each opening, and that there is none but those, their outcomes, the genesis, the
    /// rotations and the session's.
    pub(super) fn openings(&mut self, lines: &[OpeningEntry<'a>]) -> OpenedLines {
        let openings = &self.file.openings;
        let Some(first) = openings.first() else {
            self.find(
                OpeningQuestion::Commitment,
                "openings",
                "one or more",
                "none",
            );
            return OpenedLines::default();
        };
        let session = first.session_id.parse::<Hash32>().ok();
        let (mut found, mut needed, mut artifacts) = (Vec::new(), BTreeSet::new(), 0);
        for (at, opening) in openings.iter().enumerate() {
            self.same(
                &place_of(at),
                "session_id",
                first.session_id.clone(),
                opening.session_id.clone(),
            );
            let line = carrier(lines, opening, &mut artifacts);
            if let (Role::Artifact, Some(seq)) = (opening.role, opening.seq) {
                self.find(
                    OpeningQuestion::Consistent,
                    place_of(at),
                    "seq null, as of every artifact",
                    seq,
                );
            }
            if line.is_none() {
                let what = opening
                    .seq
                    .map_or_else(|| "an artifact".to_owned(), |seq| format!("prompt {seq}"));
                let expected = match is_named(opening.role) {
                    true => format!("the line of the outcome of {what}"),
                    false => format!(
                        "a line that carries a commitment of role {} of {what}",
                        opening.role.name()
                    ),
                };
                self.find(OpeningQuestion::Consistent, place_of(at), expected, "none");
            }
            needed.extend(line);
            needed.extend(outcome(lines, opening));
            found.push(line);
        }
        let order: Vec<_> = found
            .iter()
            .zip(openings)
            .map(|(line, opening)| (*line, rank(opening.role)))
            .collect();
        if !order.is_sorted_by(|a, b| a < b) {
            let expected = "openings in the order of their lines, and prompt, response, exchange, request, reply, \
                            each once";
            self.find(
                OpeningQuestion::Consistent,
                "openings",
                expected,
                "another order",
            );
        }
        self.needed(lines, session, &needed);
        OpenedLines {
            carriers: found,
            all: needed,
        }
    }

    /// Every line is of the session, or the whole ledger's, and is there for something.
    fn needed(
        &mut self,
        lines: &[OpeningEntry<'a>],
        session: Option<Hash32>,
        needed: &BTreeSet<usize>,
    ) {
        let (mut starts, mut ends) = (0, 0);
        let opened = |at: usize| needed.contains(&at);
        for (at, shown) in lines.iter().enumerate() {
            let place = shown.place();
            let (wanted, of_session) = match &shown.line.event {
                Event::Genesis { .. } => (at == 0, false),
                Event::KeyRotate { .. } => (true, false),
                Event::SessionStart { .. } => {
                    starts += 1;
                    (
                        starts == 1 && session.is_some() && needed.iter().all(|line| *line > at),
                        true,
                    )
                }
                Event::SessionEnd { .. } => {
                    ends += 1;
                    (
                        ends == 1 && session.is_some() && needed.iter().all(|line| *line < at),
                        true,
                    )
                }
                _ => (opened(at), true),
            };
            if !wanted {
                let expected = "lines that are needed, from the session's start to its end";
                self.find(
                    OpeningQuestion::Consistent,
                    &place,
                    expected,
                    format!("'{}'", shown.line.event.name()),
                );
            }
            let name = |id: Option<Hash32>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
            if of_session {
                self.same(&place, "session", name(session), name(shown.line.session));
            }
        }
        if session.is_some() && starts == 0 {
            self.find(
                OpeningQuestion::Consistent,
                "lines",
                "the session's start",
                "none",
            );
        }
    }

    /// Keys and texts give the commitments under the ledger's own scheme, and lines or records
    /// carry them.
    pub(super) fn commitments(&mut self, read: &OpeningSubject<'a>) {
        let file = self.file;
        let Some(genesis) = read.genesis() else {
            return self.find(
                OpeningQuestion::Commitment,
                "documents",
                "a genesis that says how the ledger commits",
                "none",
            );
        };
        let named = named_in_exchanges(&file.openings, read, genesis.commitments);
        for (at, opening) in file.openings.iter().enumerate() {
            let carried = match is_named(opening.role) {
                true => named
                    .get(&turn_of(opening))
                    .and_then(|members| members.get(opening.role.name()).copied()),
                false => carried_at(read, at, opening.role),
            };
            if carried != Some(opening.commitment) {
                let expected = match (carried, is_named(opening.role)) {
                    (Some(carried), _) => format!("commitment {carried}"),
                    (None, false) => "commitment none".to_owned(),
                    (None, true) => format!(
                        "commitment of the member {} of this turn's exchange document, opened here, \
                         canonical, and as it was put on record",
                        opening.role.name()
                    ),
                };
                self.find(
                    OpeningQuestion::Commitment,
                    place_of(at),
                    expected,
                    opening.commitment,
                );
            }
            if !opening.holds(genesis.commitments) {
                let expected = format!("key and text that give {}", opening.commitment);
                let actual = match (genesis.commitments, opening.key) {
                    (Scheme::HmacSha256, None) => "no key, where the ledger's scheme has one",
                    (Scheme::Sha256, Some(_)) => "a key, where the ledger's scheme has none",
                    _ => "others",
                };
                self.find(OpeningQuestion::Commitment, place_of(at), expected, actual);
            }
        }
    }

    pub(super) fn opens(&self, read: &OpeningSubject<'a>) -> String {
        let names: Vec<&str> = self
            .file
            .openings
            .iter()
            .map(|opening| opening.role.name())
            .collect();
        let (names, few) = (names.join(", "), names.len() == 1);
        let gives = if few {
            "gives the commitment"
        } else {
            "give the commitments"
        };
        match read.genesis().map(|genesis| genesis.commitments) {
            Some(Scheme::Sha256) => {
                format!("the plain SHA-256 of each text is what the ledger carries ({names})")
            }
            _ => format!("key and text of {names} {gives} that the ledger carries"),
        }
    }
}

/// Whether the commitment of this role stands in the exchange document of its turn, and in no line.
const fn is_named(role: Role) -> bool {
    matches!(role, Role::Request | Role::Reply)
}

/// Session and number.
type TurnKey<'a> = (&'a str, Option<u64>);

fn turn_of(opening: &TextOpening) -> TurnKey<'_> {
    (&opening.session_id, opening.seq)
}

/// What the opened exchange documents name, by turn: of each turn the first one, if it is the one
/// that was put on record. Each is read once, however many openings refer to it.
fn named_in_exchanges<'a>(
    openings: &'a [TextOpening],
    read: &OpeningSubject<'_>,
    scheme: Scheme,
) -> BTreeMap<TurnKey<'a>, BTreeMap<&'static str, Hash32>> {
    let mut named = BTreeMap::new();
    let wanted: BTreeSet<TurnKey<'_>> = openings
        .iter()
        .filter(|opening| is_named(opening.role))
        .map(turn_of)
        .collect();
    for (at, opening) in openings.iter().enumerate() {
        let turn = turn_of(opening);
        if opening.role != Role::Exchange || !wanted.contains(&turn) || named.contains_key(&turn) {
            continue;
        }
        let is_recorded = carried_at(read, at, Role::Exchange) == Some(opening.commitment)
            && opening.holds(scheme);
        let members = is_recorded
            .then(|| named_commitments(&opening.text))
            .flatten();
        named.insert(turn, members.unwrap_or_default());
    }
    named
}

/// The commitment of a role that the line of the opening in this place carries.
fn carried_at(read: &OpeningSubject<'_>, at: usize, role: Role) -> Option<Hash32> {
    let line = read.opened.carriers.get(at).copied().flatten()?;
    carried(read.lines.get(line)?, role)
}

/// Where the line is that an opening is of: the answer's for every role, else its own; artifacts in
/// their order. A request or a reply is of the line that its exchange document is of.
fn carrier(
    lines: &[OpeningEntry<'_>],
    opening: &TextOpening,
    artifacts: &mut usize,
) -> Option<usize> {
    if opening.role == Role::Artifact {
        let mut all = lines
            .iter()
            .enumerate()
            .filter(|(_, shown)| matches!(shown.line.event, Event::Artifact { .. }));
        let found = all.nth(*artifacts).map(|(at, _)| at);
        *artifacts += 1;
        return found;
    }
    opening.seq?;
    let find = |is: fn(&Event) -> bool| of_turn(lines, opening, is);
    let answered = find(|event| matches!(event, Event::Response { .. }));
    match opening.role {
        Role::Prompt => answered.or_else(|| find(|event| matches!(event, Event::Prompt { .. }))),
        Role::Response => answered,
        Role::Exchange | Role::Request | Role::Reply => answered.or_else(|| find(is_failure)),
        _ => None,
    }
}

/// Where the outcome of the prompt is that an opening is of, if the file has one: a failure beside
/// an answer is none.
fn outcome(lines: &[OpeningEntry<'_>], opening: &TextOpening) -> Option<usize> {
    opening.seq?;
    let find = |is: fn(&Event) -> bool| of_turn(lines, opening, is);
    find(|event| matches!(event, Event::Response { .. })).or_else(|| find(is_failure))
}

fn is_failure(event: &Event) -> bool {
    matches!(event, Event::ResponseFail { .. } | Event::Denied { .. })
}

fn of_turn(
    lines: &[OpeningEntry<'_>],
    opening: &TextOpening,
    is: impl Fn(&Event) -> bool,
) -> Option<usize> {
    let session = opening.session_id.parse::<Hash32>().ok()?;
    let own = |line: &Line| line.session == Some(session) && line.event.seq() == opening.seq;
    lines
        .iter()
        .position(|shown| own(&shown.line) && is(&shown.line.event))
}

/// In which order those of one line stand.
const fn rank(role: Role) -> u8 {
    match role {
        Role::Prompt => 0,
        Role::Response => 1,
        Role::Request => 3,
        Role::Reply => 4,
        _ => 2,
    }
}

/// The commitment of a role that a line, or its `record.json`, carries.
fn carried(shown: &OpeningEntry<'_>, role: Role) -> Option<Hash32> {
    let record = match shown.document {
        Some(Document::Record(record)) => Some(record),
        _ => None,
    };
    match (&shown.line.event, role) {
        (Event::Artifact { hash, .. }, Role::Artifact)
        | (Event::Prompt { hash, .. }, Role::Prompt) => Some(*hash),
        (Event::ResponseFail { exchange, .. } | Event::Denied { exchange, .. }, Role::Exchange) => {
            Some(*exchange)
        }
        (Event::Response { .. }, Role::Prompt) => record.map(|record| record.prompt_hash),
        (Event::Response { hash, .. }, Role::Response) => Some(*hash),
        (Event::Response { .. }, Role::Exchange) => record.map(|record| record.exchange_hash),
        _ => None,
    }
}
