//! The `gently` program.

fn main() -> std::process::ExitCode {
    gently::cli::run()
}
