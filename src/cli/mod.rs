//! The terminal door.

pub mod audit;
pub mod config;

/// Runs the program.
pub fn run() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
