-- The index over turns, with the beginnings of three and four letters that its words have: without them SQLite reads
-- all places of all words that begin so before it gives the newest. It is filled from the texts that are here.
DROP TABLE turn_fts;
CREATE VIRTUAL TABLE turn_fts USING fts5(
  content, content = 'turn_text', content_rowid = 'n', prefix = '3 4',
  tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO turn_fts (turn_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO turn_fts (turn_fts) VALUES ('rebuild');
