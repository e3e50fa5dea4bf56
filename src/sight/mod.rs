//! Observational tools: values, or a reason; one file a tool.

pub mod sys_health;
