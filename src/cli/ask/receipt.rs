//! The receipt that `gently ask` gives to be kept.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::app::ask::AskResult;

use crate::app::home::open::OpenHome;
use crate::cli::{COULD_NOT, FINE, say};

/// A new, empty file for a receipt; removed again when nothing is put into it.
pub struct ReceiptFile {
    path: PathBuf,
    file: File,
    kept: bool,
}

impl ReceiptFile {
    /// Makes the file before anything is asked, so that nobody is asked for nothing.
    pub fn reserve(path: &Path) -> Result<ReceiptFile, String> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|e| {
            let why = if e.kind() == std::io::ErrorKind::AlreadyExists {
                "it exists, and a receipt is never written over; name a new file".to_owned()
            } else {
                e.to_string()
            };
            format!("--receipt {}: {why}", path.display())
        })?;
        Ok(ReceiptFile {
            path: path.to_owned(),
            file,
            kept: false,
        })
    }

    fn keep(&mut self, text: &str) -> Result<(), String> {
        // Not synced: nobody waits for the disk a third time. What a power cut takes is the
        // receipt, never the turn.
        self.file
            .write_all(text.as_bytes())
            .map_err(|e| format!("{}: {e}", self.path.display()))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for ReceiptFile {
    fn drop(&mut self) {
        if !self.kept {
            // An empty file that stays is no receipt, and says so when it is read.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The receipt of a turn, if one was wanted.
pub struct TurnReceipt {
    value: Value,
    /// Where it is kept, or why it is not.
    told: Option<Result<PathBuf, String>>,
}

impl TurnReceipt {
    /// Takes the receipt of a turn that is on record, when there is a place for it or a reader of
    /// JSON.
    pub fn of(
        opened: &OpenHome,
        asked: &AskResult,
        place: Option<ReceiptFile>,
        json: bool,
    ) -> TurnReceipt {
        if place.is_none() && !json {
            return TurnReceipt {
                value: Value::Null,
                told: None,
            };
        }
        let receipt = asked.receipt(opened);
        let value = receipt
            .as_ref()
            .ok()
            .and_then(|receipt| receipt.value().ok())
            .unwrap_or(Value::Null);
        let told = match (receipt, place) {
            (Ok(_), None) => None,
            (Err(why), _) => Some(Err(why)),
            (Ok(receipt), Some(mut place)) => {
                let kept = receipt
                    .print()
                    .map_err(|e| e.to_string())
                    .and_then(|text| place.keep(&text));
                Some(kept.map(|()| place.path.clone()))
            }
        };
        TurnReceipt { value, told }
    }

    /// For `--json`; null when none was taken.
    pub fn value(&self) -> Value {
        self.value.clone()
    }

    /// Says where it is, or why there is none, and gives the exit code for that.
    pub fn say(&self) -> u8 {
        match &self.told {
            None => FINE,
            Some(Ok(path)) => {
                say(&format!("receipt kept in {}", path.display()));
                FINE
            }
            Some(Err(why)) => {
                say(&format!(
                    "no receipt ({why}); the turn is on record all the same"
                ));
                COULD_NOT
            }
        }
    }
}
