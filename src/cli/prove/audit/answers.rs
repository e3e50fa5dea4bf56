//! What a check says of a whole ledger, in a few lines.

use crate::app::words::and_more;
use crate::verify::{AuditQuestion, Report};

/// Findings shown before one is sent to `gently audit verify`.
const SHOWN_FINDINGS: usize = 5;

/// The answers, and the first findings.
pub(in crate::cli) fn report_lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for question in AuditQuestion::ALL {
        let verdict = report.answers.to(question);
        let name = question.name().replace('_', " ");
        lines.push(format!(
            "  {name:<11} {:<11} {}",
            verdict.answer.word(),
            verdict.reason
        ));
    }
    for finding in report.findings.iter().take(SHOWN_FINDINGS) {
        lines.push(format!(
            "  {}: expected {}, found {}",
            finding.place, finding.expected, finding.actual
        ));
    }
    let more = and_more(report.findings.len().saturating_sub(SHOWN_FINDINGS));
    lines.extend(more.map(|more| format!("  {more}: gently audit verify")));
    lines
}
