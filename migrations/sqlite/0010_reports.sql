-- How checks of answers came out, added up by parts of 32,768 lines of the log, so that a report over all of them reads
-- sums. Derived from assertion_event and what stands with its exchange; docs/schema.md explains each column.

CREATE TABLE check_part (                    -- the parts that are added up
  part        INTEGER PRIMARY KEY,           -- of prompts: line >> 15
  oldest      INTEGER                        -- time of the oldest prompt in it; null: there is none
) STRICT;

CREATE TABLE check_total (
  part        INTEGER NOT NULL,
  kernel_hash TEXT NOT NULL,                 -- of the session, which says what checks are worth
  specialist  TEXT NOT NULL,                 -- that was asked; empty: a model was asked by its own name
  name        TEXT NOT NULL,                 -- class and rule
  level       TEXT NOT NULL CHECK (level IN ('info', 'soft', 'blocking')),
  passed      INTEGER NOT NULL CHECK (passed IN (0, 1)),
  made        INTEGER NOT NULL,              -- how many
  PRIMARY KEY (part, kernel_hash, specialist, name, level, passed)
) STRICT, WITHOUT ROWID;
