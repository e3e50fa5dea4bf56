//! A report as text.

use std::fmt::Write as _;

use crate::app::prove::verify::conclusion::{LedgerObjection, LedgerVerdict};
use crate::app::words::{and_more, with_more};
use crate::record::bitcoin::block::Network;
use crate::verify::{
    AuditAnswers, AuditQuestion, CheckAnswer, Finding, PositionSummary, Report, Scope,
    SessionReport,
};

use crate::view::prove::report::{end, height, integrity, validity};

use crate::app::prove::verify::VerifyResult;
use crate::view::prove::headline::HeadlineView;

use super::bounds;
use super::row_words::plain;
use crate::cli::screen::{counted, mark};

/// How many sessions an error message lists.
const LISTED: usize = 10;

/// The verdict first, then at most eight lines.
pub(super) fn text(checked: &VerifyResult) -> String {
    let (report, said) = (
        &checked.report,
        headlines(&HeadlineView::of_ledger(checked)),
    );
    let mut out = match checked.verdict() {
        // It names tables and the like, as they are called in the database.
        LedgerVerdict::Against(LedgerObjection::MadeOtherwise { .. }) => said,
        _ => plain(&said),
    };
    put_first_finding(&mut out, report.findings.first());
    put_beside_the_record(&mut out, report);
    put_ledger(&mut out, report);
    let hint = hint(report).map_or(String::new(), |hint| format!("; {hint}"));
    put(&mut out, format_args!("More: with -v{hint}"));
    out
}

/// What differs in the database and is no evidence, before all that is well.
fn put_beside_the_record(out: &mut String, report: &Report) {
    let lists = [
        ("search", report.search.as_deref()),
        ("schema", report.schema.as_deref()),
    ];
    let consistent = report.answers.to(AuditQuestion::Consistent).answer;
    let evidence = match consistent {
        CheckAnswer::No => "",
        _ => "; no evidence is affected",
    };
    for (of, faults) in lists {
        let Some((first, more)) = faults.and_then(<[String]>::split_first) else {
            continue;
        };
        let more = with_more(more.len());
        put(
            out,
            format_args!(
                "{} {of}: {first}{more}{evidence} -> gently audit rebuild",
                mark("warning")
            ),
        );
    }
}

/// What helps against a *no*, where its reason says so behind the number of findings.
fn hint(report: &Report) -> Option<&str> {
    let answers = AuditQuestion::ALL.map(|question| report.answers.to(question));
    let no = answers
        .into_iter()
        .find(|verdict| verdict.answer == CheckAnswer::No)?;
    no.reason.split_once("; ").map(|(_, hint)| hint)
}

/// The verdict and all that was found: the five lines, the answers, the findings.
pub(super) fn full_text(checked: &VerifyResult) -> String {
    let headline = HeadlineView::of_ledger(checked);
    format!("{}\n{}", headlines(&headline), details(&checked.report))
}

/// The verdict, and what it leaves open.
fn headlines(headline: &HeadlineView) -> String {
    let mut out = String::new();
    put(
        &mut out,
        format_args!("{} {}", mark(headline.mark), headline.text),
    );
    if !headline.not_proven.is_empty() {
        let open = headline.not_proven.join("; ");
        put(
            &mut out,
            format_args!("{} Not proven: {open}", mark("open")),
        );
    }
    out
}

fn put_first_finding(out: &mut String, finding: Option<&Finding>) {
    if let Some(finding) = finding {
        let (expected, actual) = (plain(&finding.expected), plain(&finding.actual));
        put(out, format_args!("  expected: {expected}"));
        put(out, format_args!("  actual:   {actual}"));
    }
}

/// The lines that the source documents have.
fn put_ledger(out: &mut String, report: &Report) {
    let genesis = report
        .genesis
        .map_or("unreadable".to_owned(), |hash| hash.to_string());
    put(out, format_args!("Genesis: {genesis}"));
    put(out, format_args!("Entries: {}", report.entries));
    put(out, format_args!("Chain integrity: {}", integrity(report)));
    let of =
        test_network(report).map_or_else(String::new, |network| format!(" ({})", network.name()));
    put(out, format_args!("BTC anchors: {}{of}", report.btc_anchors));
    put(out, format_args!("Sessions: {}", report.sessions.len()));
}

fn test_network(report: &Report) -> Option<Network> {
    report
        .network
        .filter(|network| *network != Network::Bitcoin)
}

/// The report as a person reads it: five lines, the answers, the findings.
fn details(report: &Report) -> String {
    let mut out = String::new();
    if let Some(network) = test_network(report) {
        put(
            &mut out,
            format_args!(
                "Network: {}, a test network: its blocks are not Bitcoin's",
                network.name()
            ),
        );
    }
    put_ledger(&mut out, report);
    put(&mut out, format_args!(""));
    put_answers(&mut out, &report.answers);
    put_beside(&mut out, report);
    let between = bounds::lines(report)
        .into_iter()
        .chain(bounds::sessions(report));
    between.for_each(|line| put(&mut out, format_args!("{line}")));
    let database = match (&report.database, &report.scope) {
        (Some(counts), _) => counts.as_str(),
        (None, Scope::Whole { .. }) => "not at hand, so not checked",
        (None, Scope::Since { .. }) => "not checked with --since",
    };
    put(&mut out, format_args!("database:    {database}"));
    if let Some(search) = &report.search {
        put_search(&mut out, search);
    }
    if let Some(schema) = &report.schema {
        put_schema(&mut out, schema);
    }
    if report.receipts > 0 {
        put(
            &mut out,
            format_args!("receipts:    {} compared with the log", report.receipts),
        );
    }
    put(&mut out, format_args!("checked:     {}", checked(report)));
    put_findings(&mut out, report.findings.iter(), report.more_findings);
    out
}

fn put(out: &mut String, line: std::fmt::Arguments<'_>) {
    // What a foreign ledger says may hold escape sequences for the terminal.
    let clean: String = line
        .to_string()
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    writeln!(out, "{clean}").expect("a String takes everything");
}

fn put_answers(out: &mut String, answers: &AuditAnswers) {
    for question in AuditQuestion::ALL {
        let verdict = answers.to(question);
        let name = format!("{}:", question.name().replace('_', " "));
        put(
            out,
            format_args!("{name:<12} {} ({})", verdict.answer.word(), verdict.reason),
        );
    }
}

/// What stands beside the answers: lines that nobody signed, what is newer, clocks that were set,
/// refs of others.
fn put_beside(out: &mut String, report: &Report) {
    let (first, last) = (report.extents.signed_by + 1, |count: u64| {
        report.extents.signed_by + count
    });
    if report.unsigned > 0 {
        put(
            out,
            format_args!(
                "unsigned:    lines {first} to {} are signed by nobody, so they prove nothing",
                last(report.unsigned)
            ),
        );
    }
    if report.newer > 0 {
        put(
            out,
            format_args!(
                "newer:       lines {first} to {} were not read, because a writer is adding them",
                last(report.newer)
            ),
        );
    }
    for set in &report.clock_sets {
        put(
            out,
            format_args!(
                "clock set:   line {}, from {} to {}",
                set.line, set.before, set.to
            ),
        );
    }
    if report.foreign_refs > 0 {
        put(
            out,
            format_args!("other refs:  {}, not read", report.foreign_refs),
        );
    }
    if report.plain_clone {
        put(
            out,
            format_args!("plain clone: read through refs/remotes/origin/"),
        );
    }
}

fn put_findings<'a>(out: &mut String, findings: impl Iterator<Item = &'a Finding>, more: u64) {
    for (n, finding) in findings.enumerate() {
        put(out, format_args!(""));
        put(
            out,
            format_args!(
                "Finding {} ({}): {}",
                n + 1,
                finding.question.name().replace('_', " "),
                finding.place
            ),
        );
        put(out, format_args!("  expected: {}", finding.expected));
        put(out, format_args!("  actual:   {}", finding.actual));
    }
    if let Some(more) = and_more(more) {
        put(out, format_args!(""));
        put(out, format_args!("{more}"));
    }
}

/// The search indexes: no evidence, so beside the answers.
fn put_search(out: &mut String, faults: &[String]) {
    if faults.is_empty() {
        put(
            out,
            format_args!(
                "search:      the index holds each text exactly once, by its words (it is no evidence)"
            ),
        );
        return;
    }
    put(
        out,
        format_args!(
            "search:      the index differs from the texts on record; no evidence is affected, but a search may miss texts"
        ),
    );
    for fault in faults {
        put(out, format_args!("  {fault}"));
    }
}

/// The schema of the database: no evidence, either.
fn put_schema(out: &mut String, faults: &[String]) {
    if faults.is_empty() {
        put(
            out,
            format_args!(
                "schema:      tables, views, indexes, triggers and search indexes are as gently makes them"
            ),
        );
        return;
    }
    put(
        out,
        format_args!(
            "schema:      the database is not as gently makes it; gently audit rebuild makes all of it again but what \
             holds evidence, and names that"
        ),
    );
    for fault in faults {
        put(out, format_args!("  {fault}"));
    }
}

/// How much was checked, and whose word stands for the rest.
fn checked(report: &Report) -> String {
    match &report.scope {
        Scope::Whole { mismatch: None } => "verified from scratch".to_owned(),
        Scope::Whole {
            mismatch: Some(mismatch),
        } => {
            format!("no earlier check to continue from; verified everything ({mismatch})")
        }
        Scope::Since {
            commit,
            line,
            saved: None,
            ..
        } => format!(
            "since commit {commit}, log line {line}, as requested; earlier commits were not checked"
        ),
        Scope::Since {
            commit,
            line,
            saved:
                Some(PositionSummary {
                    at,
                    from_scratch_at,
                }),
            ..
        } => format!(
            "continued from position {line}, saved at {at} (commit {commit}); of what is before only {} were read again; \
             last verified from scratch at {from_scratch_at}",
            counted(report.replayed, "line")
        ),
    }
}

/// What a check behind a named commit cost beyond what is new, and how to spare that; none for any
/// other check.
pub(super) fn cost(report: &Report) -> Option<String> {
    let Scope::Since {
        commit,
        line: line @ 1..,
        saved: None,
        mismatch,
    } = &report.scope
    else {
        return None;
    };
    let why = match mismatch {
        Some(mismatch) => format!("there was no earlier check to continue from ({mismatch})"),
        None => format!("no saved position lies at commit {commit} or before it"),
    };
    Some(format!(
        "gently audit: {} were read and checked again, because {why}; `gently audit verify` saves a position that \
         the next check continues from\n",
        counted(*line, "older log line")
    ))
}

/// What was kept of this ledger and says otherwise: a sentence of its own, as it fails without
/// `--require`.
pub(super) fn contradicted(report: &Report) -> Option<String> {
    let by: Vec<&str> = report.contradicted_by.iter().map(String::as_str).collect();
    (!by.is_empty()).then(|| {
        format!(
            "gently audit: what was kept of this ledger contradicts it: {}\n",
            by.join(", ")
        )
    })
}

/// One session as a person reads it: the verdict, then at most eight lines.
pub(super) fn session_text(report: &Report, session: &SessionReport) -> String {
    let mut out = plain(&headlines(&HeadlineView::of_session(report, session)));
    put_session(&mut out, session);
    let since = bounds::short(&session.not_before);
    let until = bounds::short(&session.not_after);
    match report.findings_of(session).len() {
        0 => put(&mut out, format_args!("When: since {since}; until {until}")),
        n => put(&mut out, format_args!("Findings: {n}, with -v")),
    }
    out
}

/// The same with its ends and all findings.
pub(super) fn full_session_text(report: &Report, session: &SessionReport) -> String {
    let mut out = headlines(&HeadlineView::of_session(report, session));
    put_session(&mut out, session);
    let (since, until) = (&session.not_before, &session.not_after);
    put(
        &mut out,
        format_args!("Not before: {}", bounds::words(since)),
    );
    put(
        &mut out,
        format_args!("Not after: {}", bounds::words(until)),
    );
    put_findings(&mut out, report.findings_of(session).into_iter(), 0);
    out
}

/// The lines that the source documents have.
fn put_session(out: &mut String, session: &SessionReport) {
    put(out, format_args!("Session: {}", session.id));
    put(out, format_args!("Start BTC: {}", height(session.start)));
    put(out, format_args!("End BTC: {}", end(session)));
    put(out, format_args!("Interactions: {}", session.interactions));
    put_unanswered(out, session);
    put(out, format_args!("Branch: {}", session.branch));
    let chain = validity(session.chain_valid);
    put(out, format_args!("Chain integrity: {chain}"));
    let all = if session.all_verified { "YES" } else { "NO" };
    put(out, format_args!("All hashes verified: {all}"));
}

/// The documents count answers alone; a person also asked what was refused, failed or given up.
fn put_unanswered(out: &mut String, session: &SessionReport) {
    let Some(asked) = session
        .prompts
        .filter(|asked| *asked > session.interactions)
    else {
        return;
    };
    let left = asked - session.interactions;
    let asked = counted(asked, "question");
    put(out, format_args!("Without an answer: {left} of {asked}"));
}

/// Says that no session begins so, and which there are.
pub(super) fn unknown_session(report: &Report, prefix: &str) -> String {
    let newest: Vec<&SessionReport> = report.sessions.iter().rev().collect();
    let prefix: String = prefix.chars().filter(|c| !c.is_control()).collect();
    if newest.is_empty() {
        return format!("gently audit: no session begins with '{prefix}': the ledger has none\n");
    }
    format!(
        "gently audit: no session begins with '{prefix}'; the newest are:\n{}",
        listed(&newest)
    )
}

/// Says which sessions begin so.
pub(super) fn ambiguous_session(prefix: &str, several: &[&SessionReport]) -> String {
    format!(
        "gently audit: {} sessions begin with '{prefix}'; give more digits:\n{}",
        several.len(),
        listed(several)
    )
}

fn listed(sessions: &[&SessionReport]) -> String {
    let mut out = String::new();
    for session in sessions.iter().take(LISTED) {
        put(
            &mut out,
            format_args!(
                "  {} {} {}",
                session.id,
                session.branch,
                height(session.start)
            ),
        );
    }
    if let Some(more) = and_more(sessions.len().saturating_sub(LISTED)) {
        put(&mut out, format_args!("  {more}"));
    }
    out
}
