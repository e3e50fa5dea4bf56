//! What people said of answers: one row for each exchange and auth key, of the newest rating; counted
//! for who answers next.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::item::subject;
use crate::record::ledger::specialist::{
    KINDS, RATING, Rating, RatingCount, SpecialistId, Specialists, rating_of,
};

use super::access::{ReadStore, WriteStore};
use super::table::values;
use super::{ArtifactFilter, ArtifactRow, StoreError};

impl ReadStore {
    /// Calls `each` for every rating that counts, in the order of lines.
    pub fn each_rating(
        &self,
        each: &mut dyn FnMut(Rating) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row("ORDER BY line", values![], each)
    }

    /// The rating of an exchange by an auth key that counts.
    pub fn rating(&self, exchange: Uuid, by: Hash32) -> Result<Option<Rating>, StoreError> {
        self.row(
            "WHERE exchange_id = ?1 AND by_key = ?2",
            values![exchange, by],
        )
    }

    /// How the answers of a specialist with a model were rated, by domain.
    pub fn rating_counts(
        &self,
        specialist: SpecialistId,
        model: &str,
    ) -> Result<Vec<RatingCount>, StoreError> {
        // Counting one stretch of the index costs two thirds of grouping: no column is read from it.
        let sql = "WITH RECURSIVE rated(domain) AS (
                       SELECT min(domain) FROM rating WHERE specialist = ?1 AND model = ?2
                       UNION ALL
                       SELECT (SELECT min(domain) FROM rating
                                WHERE specialist = ?1 AND model = ?2 AND domain > rated.domain)
                         FROM rated WHERE rated.domain IS NOT NULL),
                     counted(domain, good, bad) AS (
                       SELECT domain,
                              (SELECT count(*) FROM rating WHERE specialist = ?1 AND model = ?2
                                  AND domain = rated.domain AND verdict = 'good'),
                              (SELECT count(*) FROM rating WHERE specialist = ?1 AND model = ?2
                                  AND domain = rated.domain AND verdict = 'bad')
                         FROM rated WHERE domain IS NOT NULL)
                   SELECT domain, good, good + bad FROM counted ORDER BY domain";
        let rows: Vec<(String, u64, u64)> =
            self.list("count ratings", sql, values![specialist, model])?;
        let count = |(domain, good, rated)| RatingCount {
            domain,
            good,
            rated,
        };
        let counts = rows.into_iter().map(count);
        Ok(counts.collect())
    }

    /// What an exchange of a council says of others' answers; none of what is no review, and where no text
    /// is here.
    pub fn review_text(&self, exchange: Uuid) -> Result<Option<String>, StoreError> {
        let sql = "SELECT t.content FROM llm_exchange e JOIN chat_turn t ON t.turn_id = e.turn_aurora_id
                    WHERE e.exchange_id = ?1 AND t.content IS NOT NULL
                      AND EXISTS (SELECT 1 FROM council_review r WHERE r.exchange_id = e.exchange_id)";
        self.one("read a review", sql, values![exchange])
    }

    /// Ids of corrections and ratings with a text that are about an exchange, and of corrections that
    /// stand in its question, or in what it says as a review, word for word, or whose subject repeats it; not those that are erased.
    pub fn said_about(&self, exchange: Uuid, question: &str) -> Result<Vec<String>, StoreError> {
        let repeated = subject(question);
        let sql = "SELECT id FROM artifact
                    WHERE kind IN ('correction', 'rating') AND document IS NOT NULL
                      AND (json_extract(document, '$.content.about') = ?1
                           OR json_extract(document, '$.content.exchange') = ?1
                              AND json_extract(document, '$.content.why') IS NOT NULL
                           OR kind = 'correction' AND instr(?2, json_extract(document, '$.content.text')) > 0
                           OR kind = 'correction' AND ?3 <> ''
                              AND instr(json_extract(document, '$.content.subject'), ?3) > 0)
                    ORDER BY line";
        self.list(
            "look for what was said about it",
            sql,
            values![exchange, question, repeated.as_str()],
        )
    }

    /// The artifacts that domains and specialists follow from, in the order of lines.
    pub fn specialist_rows(&self) -> Result<Vec<ArtifactRow>, StoreError> {
        let mut rows = Vec::new();
        for kind in KINDS {
            rows.extend(self.artifacts(ArtifactFilter::Kind(kind))?);
        }
        rows.sort_by_key(|row| row.line);
        Ok(rows)
    }

    /// All domains and specialists that are on record.
    pub fn specialists(&self) -> Result<Specialists, StoreError> {
        let rows = self.specialist_rows()?;
        let mut all = Specialists::default();
        for row in rows {
            all.take(row.line, &row.kind, &row.id, row.document.as_deref());
        }
        Ok(all)
    }

    /// The words of each text as a search index of turns stems them, each once.
    pub fn stems(&self, texts: &[&str]) -> Result<Vec<BTreeSet<String>>, StoreError> {
        self.driver.stems(texts)
    }
}

impl WriteStore {
    /// A rating takes the place of an earlier one of its exchange and key.
    pub(super) fn follow_rating(&mut self, artifact: &ArtifactRow) -> Result<(), StoreError> {
        let document = artifact.document.as_deref();
        let Some(rating) = rating_of(artifact.line, &artifact.kind, document) else {
            return Ok(());
        };
        let sql = "DELETE FROM rating WHERE exchange_id = ?1 AND by_key = ?2";
        self.change("replace a rating", sql, values![rating.exchange, rating.by])?;
        self.add(&rating)
    }

    /// Once a rating is erased, the one before it counts again.
    pub(super) fn follow_erased_rating(&mut self, line: u64) -> Result<(), StoreError> {
        let erased: Option<Rating> = self.row("WHERE line = ?1", values![line])?;
        let Some(erased) = erased else { return Ok(()) };
        let sql = "DELETE FROM rating WHERE line = ?1";
        self.change("take a rating back", sql, values![line])?;
        let of = |row: &ArtifactRow| rating_of(row.line, &row.kind, row.document.as_deref());
        let earlier = self.artifacts(ArtifactFilter::Kind(RATING))?;
        let is_of = |rating: &Rating| (rating.exchange, rating.by) == (erased.exchange, erased.by);
        let before = earlier.iter().rev().filter_map(of).find(is_of);
        before.map_or(Ok(()), |rating| self.add(&rating))
    }
}
