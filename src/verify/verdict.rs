//! From findings to answers (format, section 11): each question has its own, and what was not looked
//! at is *not checked*.

use crate::record::hash::Hash32;
use crate::record::rules::Session;

use super::bracket::Bracket;
use super::checker::Checker;
use super::report::{Answer, Answers, Question, Report, SessionBlock, SessionReport, Verdict, counted};

impl Checker<'_> {
    /// The report of everything that was found.
    pub fn into_report(self) -> Report {
        let bracket = self.bracket();
        let answers = Answers {
            consistent: self.limited(self.consistent()),
            complete: self.limited(self.complete(&bracket)),
            unique: self.limited(self.unique()),
            not_before: self.limited(self.not_before()),
            not_after: self.limited(self.not_after(&bracket)),
            signed_by: self.limited(self.signed_by()),
        };
        let position = self.position();
        let entries = self.lines_checked();
        let sessions = self.session_reports();
        let chain_valid = answers.consistent.answer == Answer::Yes;
        let (findings, more_findings) = self.findings.into_list();
        Report {
            genesis: self.genesis.as_ref().map(|genesis| genesis.genesis),
            entries,
            chain_valid,
            btc_anchors: self.btc_anchors,
            sessions,
            answers,
            findings,
            more_findings,
            origin: self.genesis.map(|genesis| genesis.origin),
            signers: self.keys.iter().map(|known| known.key.to_string()).collect(),
            log_head: self.lines.state.head(),
            lines_in_segments: self.lines_in_segments,
            commits: self.commits,
            tree_heads: self.tree_heads,
            bracket,
            unkept: self.database.as_ref().map_or(0, |counts| counts.unkept),
            search: self.database.as_ref().and_then(|counts| counts.search.clone()),
            database: self.database.map(|counts| counts.to_string()),
            scope: self.scope,
            replayed: self.replayed,
            receipts: self.receipts,
            position,
        }
    }

    fn unique(&self) -> Verdict {
        self.broken(Question::Unique).unwrap_or_else(|| self.witnessed())
    }

    fn broken(&self, question: Question) -> Option<Verdict> {
        let count = self.findings.count(question);
        (count > 0).then(|| Verdict::new(Answer::No, counted(count, "finding")))
    }

    fn consistent(&self) -> Verdict {
        self.broken(Question::Consistent).unwrap_or_else(|| {
            let commits = counted(self.commits.values().sum(), "commit");
            let heads = counted(u64::try_from(self.tree_heads.len()).unwrap_or(u64::MAX), "tree head");
            let lines = counted(self.lines_checked(), "log line");
            let erased = self.database.as_ref().map_or(0, |database| database.erased);
            let erased = if erased == 0 { String::new() } else { format!(", {erased} erased") };
            let unkept = match self.database.as_ref().map_or(0, |database| database.unkept) {
                0 => String::new(),
                1 => ", the texts of 1 record are not kept and were not checked".to_owned(),
                n => format!(", the texts of {n} records are not kept and were not checked"),
            };
            Verdict::new(Answer::Yes, format!("{commits}, {lines}, {heads} hold together{erased}{unkept}"))
        })
    }

    fn complete(&self, bracket: &Bracket) -> Verdict {
        self.broken(Question::Complete).unwrap_or_else(|| {
            let tail = self.tail_words(bracket);
            let log =
                if self.log_file { "" } else { "; no audit.log was given, lines after the last segment are not known" };
            let reason = format!("every prompt has its outcome and every commit its line; {tail}{log}");
            Verdict::new(Answer::Yes, reason)
        })
    }

    fn not_before(&self) -> Verdict {
        self.broken(Question::NotBefore).unwrap_or_else(|| {
            if self.genesis.is_none() {
                return Verdict::new(Answer::NotChecked, "no genesis.json says which network");
            }
            let unlooked = self.findings.count_unlooked(Question::NotBefore);
            if unlooked > 0 {
                let reason =
                    format!("{unlooked} places where a start, an end or an anchor may be could not be looked at");
                return Verdict::new(Answer::NotChecked, reason);
            }
            let anchors = self.btc_anchors + self.lines.accepted_anchors;
            if anchors == 0 {
                return Verdict::new(Answer::NotChecked, "no session names a block: all are local");
            }
            let local = self.sessions.values().filter(|s| s.start == SessionBlock::Local).count();
            let anchors = match anchors {
                1 => "1 block header shows its work".to_owned(),
                n => format!("{n} block headers show their work"),
            };
            let local = match local {
                1 => "1 session starts on no block".to_owned(),
                n => format!("{n} sessions start on no block"),
            };
            let placed = self.placed_words();
            Verdict::new(Answer::Yes, format!("{anchors}; {local}{placed}"))
        })
    }

    fn signed_by(&self) -> Verdict {
        self.broken(Question::SignedBy).unwrap_or_else(|| {
            let Some(first) = self.genesis.as_ref().map(|genesis| genesis.signer) else {
                return Verdict::new(Answer::NotChecked, "no genesis.json says which key");
            };
            let unlooked = self.findings.count_unlooked(Question::SignedBy);
            if unlooked > 0 {
                return Verdict::new(Answer::NotChecked, format!("{unlooked} signatures could not be read"));
            }
            let commits = counted(self.commits.values().sum(), "commit");
            match self.pinned {
                Some(_) => Verdict::new(Answer::Yes, format!("{commits} by the pinned {first} and its successors")),
                None => Verdict::new(
                    Answer::NotChecked,
                    format!("unpinned: {commits} by {first} and its successors; pin it with --signer"),
                ),
            }
        })
    }

    /// Sessions of the log in the order of their starts, then those that only commits tell of.
    fn session_reports(&self) -> Vec<SessionReport> {
        // Sessions that ended before what is checked are not this report's.
        let first = self.first_line();
        let checked = |session: &&Session| session.end.as_ref().is_none_or(|end| end.line > first);
        let mut logged: Vec<_> = self.lines.state.sessions().filter(checked).collect();
        logged.sort_by_key(|session| session.start.line);
        let mut ids: Vec<Hash32> = logged.iter().map(|session| session.id).collect();
        let only_commits = self.met.iter().filter(|id| self.lines.state.session(**id).is_none());
        ids.extend(only_commits);
        ids.into_iter().map(|id| self.session_report(id)).collect()
    }

    fn session_report(&self, id: Hash32) -> SessionReport {
        let line = self.lines.state.session(id);
        let commits = self.sessions.get(&id);
        let of_height = |btc: u32| if btc == 0 { SessionBlock::Local } else { SessionBlock::Height(btc) };
        let logged_end = line.and_then(|session| session.end.as_ref()).map(|end| of_height(end.btc));
        let start = commits.map(|session| session.start).or(line.map(|session| of_height(session.start.btc)));
        let holds = |questions: &[Question]| questions.iter().all(|q| self.findings.touching(id, *q) == 0);
        let branch = commits.map(|session| session.branch.clone());
        SessionReport {
            id,
            branch: branch.or(line.map(|session| session.start.branch.clone())).unwrap_or_default(),
            start: start.unwrap_or(SessionBlock::Local),
            end: commits.and_then(|session| session.end).or(logged_end),
            interactions: commits.map_or(0, |session| session.interactions),
            not_before: self.not_before_of(id),
            not_after: self.not_after_of(id),
            chain_valid: holds(&[Question::Consistent]),
            all_verified: holds(&[Question::Consistent, Question::NotBefore, Question::SignedBy])
                && line.is_none_or(|session| session.start.line > self.first_line()),
        }
    }
}
