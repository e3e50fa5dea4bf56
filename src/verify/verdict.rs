//! From findings to answers (format, section 12): each question has its own, and what was not
//! looked at is *not checked*.

use crate::record::bitcoin::block::Network;
use crate::record::hash::Hash32;
use crate::record::log::rules::SessionState;

use super::checker::Checker;
use super::report::{
    AuditAnswers, AuditQuestion, CheckAnswer, CheckVerdict, Extents, Report, SessionBlock,
    SessionReport, counted,
};
use super::time::bounds::LedgerBounds;
use super::time::proofs::BlockStanding;

impl Checker<'_> {
    /// The report of everything that was found.
    pub fn into_report(mut self) -> Report {
        let bounds = self.bounds();
        let answers = AuditAnswers {
            consistent: self.limited(self.consistent()),
            complete: self.limited(self.complete(&bounds)),
            unique: self.limited(self.unique()),
            not_before: self.limited(self.not_before()),
            not_after: self.limited(self.not_after(&bounds)),
            signed_by: self.limited(self.signed_by()),
        };
        let position = self.position();
        let entries = self.lines_checked();
        let sessions = self.session_reports();
        let chain_valid = answers.consistent.answer == CheckAnswer::Yes;
        let contradicted_by = self.findings.contradicted_by();
        let (findings, more_findings) = std::mem::take(&mut self.findings).into_list();
        Report {
            genesis: self.genesis.as_ref().map(|genesis| genesis.genesis),
            network: self.genesis.as_ref().map(|genesis| genesis.network),
            proves_nothing: self.proves_nothing(),
            entries,
            extents: self.extents(),
            last_time: self.log.lines.state.last_time(),
            unsigned: self.log.unsigned,
            newer: self.log.newer,
            commits_without_line: self.commits.apart,
            clock_sets: std::mem::take(&mut self.log.lines.clock_sets),
            foreign_refs: self.history.foreign_refs,
            plain_clone: self.history.plain,
            root_pinned: self
                .keys
                .known
                .first()
                .is_some_and(|first| self.terms.signers.contains(&first.key)),
            chain_valid,
            btc_anchors: self.blocks.anchors,
            sessions,
            answers,
            findings,
            more_findings,
            origin: self.genesis.map(|genesis| genesis.origin),
            signers: self
                .keys
                .known
                .iter()
                .map(|known| known.key.to_string())
                .collect(),
            log_head: self.log.lines.state.head(),
            lines_in_segments: self.log.in_segments,
            commits: self.commits.kinds,
            tree_heads: self.log.tree_heads,
            bounds,
            imported: self.database.as_ref().map_or(0, |found| found.imported),
            erased: self.database.as_ref().map_or(0, |found| found.erased),
            not_kept: self.database.as_ref().map_or(0, |found| found.not_kept),
            search: self
                .database
                .as_ref()
                .and_then(|found| found.search.clone()),
            schema: self.database.as_ref().map(|found| found.schema.clone()),
            database: self.database.map(|found| found.words),
            scope: self.start.scope,
            replayed: self.start.replayed,
            receipts: self.receipts,
            contradicted_by,
            position,
        }
    }

    fn unique(&self) -> CheckVerdict {
        self.broken(AuditQuestion::Unique)
            .unwrap_or_else(|| self.outside.verdict(self.log.lines.state.count()))
    }

    fn broken(&self, question: AuditQuestion) -> Option<CheckVerdict> {
        let count = self.findings.count(question);
        (count > 0).then(|| CheckVerdict::new(CheckAnswer::No, counted(count, "finding")))
    }

    fn consistent(&self) -> CheckVerdict {
        if let Some(mut broken) = self.broken(AuditQuestion::Consistent) {
            broken.reason.push_str(&self.clone_words());
            return broken;
        }
        self.whole()
    }

    /// What helps where branches have no ref, as a clone of one branch leaves them.
    fn clone_words(&self) -> String {
        let refs = if self.history.plain {
            "remotes/origin"
        } else {
            "heads"
        };
        match self.history.unreachable.len() {
            0 => String::new(),
            _ => format!(
                "; no ref leads to some commits: if this is a clone of one branch, \
                 git fetch origin '+refs/heads/*:refs/{refs}/*'"
            ),
        }
    }

    fn whole(&self) -> CheckVerdict {
        let commits = counted(self.commits.kinds.values().sum(), "commit");
        let heads = counted(
            u64::try_from(self.log.tree_heads.len()).unwrap_or(u64::MAX),
            "tree head",
        );
        let lines = counted(self.lines_checked(), "log line");
        let erased = self.database.as_ref().map_or(0, |database| database.erased);
        let erased = if erased == 0 {
            String::new()
        } else {
            format!(", {erased} erased")
        };
        let not_kept = match self
            .database
            .as_ref()
            .map_or(0, |database| database.not_kept)
        {
            0 => String::new(),
            1 => ", the texts of 1 record are not kept and were not checked".to_owned(),
            n => format!(", the texts of {n} records are not kept and were not checked"),
        };
        CheckVerdict::new(
            CheckAnswer::Yes,
            format!("{commits}, {lines}, {heads} hold together{erased}{not_kept}"),
        )
    }

    /// Up to where the log was judged, with its time.
    fn reached(&self) -> String {
        let time = self
            .log
            .lines
            .state
            .last_time()
            .map_or("no time".to_owned(), |time| time.to_string());
        format!("up to line {} of {time}", self.log.lines.state.count())
    }

    fn complete(&self, bounds: &LedgerBounds) -> CheckVerdict {
        let reached = self.reached();
        if let Some(broken) = self.broken(AuditQuestion::Complete) {
            return CheckVerdict::new(broken.answer, format!("{}, {reached}", broken.reason));
        }
        if self.log.lines.state.count() == 0 {
            return CheckVerdict::new(CheckAnswer::NotChecked, "no line of the log is at hand");
        }
        let tail = self.tail_words(bounds);
        let log = match (self.terms.has_log, self.commits.apart) {
            (true, _) => String::new(),
            (false, 0) => {
                "; no audit.log was given, lines after the last segment are not known".to_owned()
            }
            (false, n) => format!(
                "; no audit.log was given, {} behind the last segment",
                counted(n, "commit")
            ),
        };
        let newer = match self.log.newer {
            0 => String::new(),
            n => format!("; {} newer, not read", counted(n, "line")),
        };
        let reason = format!(
            "{reached}: every prompt has its outcome and every commit its line; {tail}{log}{newer}"
        );
        CheckVerdict::new(CheckAnswer::Yes, reason)
    }

    /// Whether this is a test network that the caller did not name: anybody makes its blocks.
    pub(super) fn proves_nothing(&self) -> bool {
        let network = self.genesis.as_ref().map(|genesis| genesis.network);
        network.is_some_and(|network| {
            network != Network::Bitcoin && self.terms.network != Some(network)
        })
    }

    /// Why blocks prove nothing here.
    pub(super) fn on_test_network(&self) -> Option<CheckVerdict> {
        let network = self
            .genesis
            .as_ref()
            .filter(|_| self.proves_nothing())?
            .network
            .name();
        let reason = format!(
            "a {network} ledger: its blocks prove nothing; name the network with --network {network}"
        );
        Some(CheckVerdict::new(CheckAnswer::NotChecked, reason))
    }

    fn not_before(&self) -> CheckVerdict {
        if self.genesis.is_none() {
            let unknown = CheckVerdict::new(
                CheckAnswer::NotChecked,
                "no genesis.json says which network",
            );
            return self.broken(AuditQuestion::NotBefore).unwrap_or(unknown);
        }
        self.on_test_network().or_else(|| self.broken(AuditQuestion::NotBefore)).unwrap_or_else(|| {
            let no = |reason: String| CheckVerdict::new(CheckAnswer::NotChecked, reason);
            let unlooked = self.findings.count_unlooked(AuditQuestion::NotBefore);
            if unlooked > 0 {
                return no(format!(
                    "{unlooked} places where a start, an end or an anchor may be could not be looked at"
                ));
            }
            let anchors = self.blocks.anchors + self.log.lines.accepted_anchors;
            if anchors == 0 {
                return no("no session names a block: all are local".to_owned());
            }
            let bitcoin = self.genesis.as_ref().is_some_and(|genesis| genesis.network == Network::Bitcoin);
            let mut beyond = self.proofs.placed.iter().filter(|(_, placed)| **placed == BlockStanding::NotReached);
            if let Some(((highest, _), _)) = beyond.next_back().filter(|_| self.proofs.kept && bitcoin) {
                return no(format!("the kept headers end below block {highest}: gently anchor sync"));
            }
            if !self.proofs.kept && !self.log.lines.cheap.is_empty() {
                let cheap = &self.log.lines.cheap;
                let named: Vec<String> = cheap.iter().take(NAMED).map(Hash32::short16).collect();
                let more = if cheap.len() > NAMED { " and others" } else { "" };
                return no(format!(
                    "cheap work: less than a sixteenth of what the built-in table ends with, of session {}{more}",
                    named.join(", ")
                ));
            }
            let local = self.sessions.count_local();
            let anchors = match anchors {
                1 => "1 block header shows its work".to_owned(),
                n => format!("{n} block headers show their work"),
            };
            let local = match local {
                1 => "1 session starts on no block".to_owned(),
                n => format!("{n} sessions start on no block"),
            };
            let placed = self.placed_words();
            CheckVerdict::new(CheckAnswer::Yes, format!("{anchors}; {local}{placed}"))
        })
    }

    /// Up to which lines the answers speak.
    fn extents(&self) -> Extents {
        Extents {
            complete: self.log.lines.state.count(),
            unique: self.outside.covered_lines(),
            not_after: self.not_after_line(),
            signed_by: self.log.lines.state.count(),
        }
    }

    /// The key in force at the last signed line has to be one of those that the caller pinned.
    pub fn check_signer(&mut self) {
        let Some(key) = self.keys.of_size(self.log.lines.state.count()) else {
            return;
        };
        if !self.terms.signers.is_empty() && !self.terms.signers.contains(&key) {
            let place = format!("log line {}", self.log.lines.state.count());
            let pinned: Vec<String> = self.terms.signers.iter().map(ToString::to_string).collect();
            let expected = format!("signed by a key of --signer: {}", pinned.join(", "));
            let has_handed_over = self
                .keys
                .known
                .iter()
                .any(|known| self.terms.signers.contains(&known.key));
            let more = if has_handed_over {
                ", to which a key of --signer handed over: give --signer the newer keys, too, the newest last \
                 (allowed_signers, from the owner)"
            } else {
                ""
            };
            self.findings.add(
                AuditQuestion::SignedBy,
                None,
                place,
                expected,
                format!("signed by {key}{more}"),
            );
        }
    }

    fn signed_by(&self) -> CheckVerdict {
        self.broken(AuditQuestion::SignedBy).unwrap_or_else(|| {
            let no = |reason: String| CheckVerdict::new(CheckAnswer::NotChecked, reason);
            let line = self.log.lines.state.count();
            let Some(key) = self.keys.of_size(line).filter(|_| self.genesis.is_some()) else {
                return no("no genesis.json says which key".to_owned());
            };
            let unlooked = self.findings.count_unlooked(AuditQuestion::SignedBy);
            if unlooked > 0 {
                return no(format!("{unlooked} signatures could not be read"));
            }
            let commits = counted(self.commits.kinds.values().sum(), "commit");
            let how = format!("{commits}, through line {line}, the last by {key}");
            if self.log.unsigned > 0 {
                let lines = lines_from(line + 1, self.log.unsigned);
                return no(format!("{lines} signed by nobody; {how}"));
            }
            if line == 0 {
                return no("no line is at hand that anybody signed".to_owned());
            }
            match self.terms.signers.last() {
                None => no(format!("unpinned: {how}; pin it with --signer")),
                Some(newest) if *newest != key => match self.keys.known.last() {
                    Some(last) if last.key == *newest && last.after == Some(line) => no(format!(
                        "retired: line {line} is the rotation to {newest}, which the old key signs; the next line is \
                         signed by the new one; {how}"
                    )),
                    _ => no(format!("retired: the newest key of --signer is {newest}; {how}")),
                },
                Some(_) => CheckVerdict::new(CheckAnswer::Yes, format!("{how}, pinned{}", self.root_words())),
            }
        })
    }

    /// Whether the key that the ledger began with is pinned too, when it is another.
    fn root_words(&self) -> String {
        match self.keys.known.first() {
            Some(first) if !self.terms.signers.contains(&first.key) => {
                format!("; it began with {}, which is not", first.key)
            }
            _ => String::new(),
        }
    }

    /// Sessions of the log in the order of their starts, then those that only commits tell of.
    fn session_reports(&self) -> Vec<SessionReport> {
        // Sessions that ended before what is checked are not this report's.
        let first = self.start.first_line();
        let checked =
            |session: &&SessionState| session.end.as_ref().is_none_or(|end| end.line > first);
        let mut logged: Vec<_> = self.log.lines.state.sessions().filter(checked).collect();
        logged.sort_by_key(|session| session.start.line);
        let mut ids: Vec<Hash32> = logged.iter().map(|session| session.id).collect();
        let only_commits = self
            .sessions
            .met
            .iter()
            .filter(|id| self.log.lines.state.session(**id).is_none());
        ids.extend(only_commits);
        ids.into_iter().map(|id| self.session_report(id)).collect()
    }

    fn session_report(&self, id: Hash32) -> SessionReport {
        let line = self.log.lines.state.session(id);
        let commits = self.sessions.get(id);
        let of_height = |btc: u32| {
            if btc == 0 {
                SessionBlock::Local
            } else {
                SessionBlock::Height(btc)
            }
        };
        let logged_end = line
            .and_then(|session| session.end.as_ref())
            .map(|end| of_height(end.btc));
        let start = commits
            .map(|session| session.start)
            .or(line.map(|session| of_height(session.start.btc)));
        let holds = |questions: &[AuditQuestion]| {
            questions
                .iter()
                .all(|q| self.findings.touching(id, *q) == 0)
        };
        let branch = commits.map(|session| session.branch.clone());
        SessionReport {
            id,
            branch: branch
                .or(line.map(|session| session.start.branch.clone()))
                .unwrap_or_default(),
            start: start.unwrap_or(SessionBlock::Local),
            end: commits.and_then(|session| session.end).or(logged_end),
            interactions: commits.map_or(0, |session| session.interactions),
            prompts: line.map(|session| session.next_seq() - 1),
            not_before: self.not_before_of(id),
            not_after: self.not_after_of(id),
            chain_valid: holds(&[AuditQuestion::Consistent]),
            all_verified: holds(&[
                AuditQuestion::Consistent,
                AuditQuestion::NotBefore,
                AuditQuestion::SignedBy,
            ]) && line
                .is_none_or(|session| session.start.line > self.start.first_line()),
        }
    }
}

/// So many sessions are named in one line.
const NAMED: usize = 5;

fn lines_from(first: u64, count: u64) -> String {
    match count {
        1 => format!("line {first} is"),
        n => format!("lines {first} to {} are", first + n - 1),
    }
}
