//! The terminal door.

pub mod audit;

/// Runs the program.
pub fn run() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
