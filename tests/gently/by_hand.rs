//! The page `docs/verify-by-hand.md`, run as it stands on a ledger of the real binary.

use std::path::Path;
use std::process::{Command, Output};

use gently::record::commitment;

/// The page's blocks, in order, as one script.
fn script() -> String {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verify-by-hand.md")).unwrap();
    let mut script = String::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```bash" => inside = true,
            "```" => inside = false,
            _ if inside => {
                script.push_str(line);
                script.push('\n');
            }
            _ => {}
        }
    }
    assert!(!inside && script.lines().count() > 50, "the page lost its blocks");
    script
}
