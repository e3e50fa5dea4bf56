//! Puts the word lists and rules of `genesis/` into JSON, which is read at every start in a fifth of
//! the time that TOML takes. The files that people read and change stay as they are.

use std::path::Path;
use std::{env, fs};

/// The files, without `.toml`.
const FILES: [&str; 7] = [
    "acts", "claims", "cues", "replies", "said", "secrets", "tokens",
];

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=scripts/words.rs");
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    for name in FILES {
        let source = format!("genesis/{name}.toml");
        println!("cargo::rerun-if-changed={source}");
        let failed = |why: String| format!("{source}: {why}");
        let text = fs::read_to_string(&source).map_err(|e| failed(e.to_string()))?;
        let table: toml::Table = toml::from_str(&text).map_err(|e| failed(e.to_string()))?;
        let json = serde_json::to_string(&table).map_err(|e| failed(e.to_string()))?;
        fs::write(Path::new(&out).join(format!("{name}.json")), json)
            .map_err(|e| failed(e.to_string()))?;
    }
    Ok(())
}
