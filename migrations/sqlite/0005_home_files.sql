-- What the files of a home that are no evidence looked like when gently last saw them: for telling that
-- somebody else changed them (sight, index_changed). A digest of a private file opens nothing.
CREATE TABLE home_file (
  name            TEXT PRIMARY KEY,          -- relative to the home, with '/': keys/auth.key
  sha256          TEXT NOT NULL,             -- of its bytes
  noted_at        INTEGER NOT NULL
) STRICT;
