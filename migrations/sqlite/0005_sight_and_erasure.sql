-- What the files of a home that are no evidence looked like when gently last saw them: for telling that
-- somebody else changed them (sight, index_changed). A digest of a private file opens nothing.
CREATE TABLE home_file (
  name            TEXT PRIMARY KEY,          -- relative to the home, with '/': keys/auth.key
  sha256          TEXT NOT NULL,             -- of its bytes
  noted_at        INTEGER NOT NULL
) STRICT;

-- Erased texts stand in the write-ahead log until it is emptied. A row here: that is still to be done.
CREATE TABLE scrub (
  id              INTEGER PRIMARY KEY CHECK (id = 1)
) STRICT;

-- Exchanges whose text is kept, by age: what a retention of so many days looks for.
CREATE INDEX idx_llm_exchange_kept ON llm_exchange(created_at) WHERE salt IS NOT NULL AND outcome IS NOT NULL;
