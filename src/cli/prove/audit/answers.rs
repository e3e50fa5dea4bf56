//! What a check says of a whole ledger, in a few lines.

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
    if report.findings.len() > SHOWN_FINDINGS {
        lines.push(format!(
            "  and {} more: gently audit verify",
            report.findings.len() - SHOWN_FINDINGS
        ));
    }
    lines
}
