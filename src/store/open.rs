//! Making and opening the database of a home: the one place that says which database it is.

use std::path::Path;

use super::sqlite::Sqlite;
pub use super::sqlite::{
    ConvertStep, ConvertWatch, ForeignJournal, convert, foreign_journal, left_unfinished,
    remove_unfinished, unfinished_file,
};
use super::{ReadStore, Store, StoreError};

impl Store {
    /// Makes the database of a new home; fails when the file exists.
    ///
    /// Private to its owner: mode 0600, since it holds the texts and salts.
    pub fn create(path: &Path) -> Result<Store, StoreError> {
        Ok(Store::on(Box::new(Sqlite::create(path)?)))
    }

    /// Opens the database of a home for writing, applying migrations that are new to it.
    ///
    /// # Errors
    /// [`StoreError::OtherBuild`] for one that another build of gently made: its tables are others.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Ok(Store::on(Box::new(Sqlite::open(path)?)))
    }

    /// Opens it for reading only; the same is refused.
    pub fn open_read_only(path: &Path) -> Result<Store, StoreError> {
        Ok(Store::on(Box::new(Sqlite::open_read_only(path)?)))
    }
}

/// Whether a database can be opened for reading; nothing of it is changed.
pub fn look_at_database(path: &Path) -> Result<(), StoreError> {
    Sqlite::look(path)
}

impl ReadStore {
    /// Whether its file is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.driver.is_encrypted()
    }
}
