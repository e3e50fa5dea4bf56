-- Who was asked to cosign tree heads, and what came of it. No evidence: a cosignature proves itself, and stands in
-- refs/notes/witness.
CREATE TABLE witness_state (
  vkey            TEXT PRIMARY KEY,          -- verifier key of the witness
  lines           INTEGER NOT NULL,          -- size of the newest tree head that it cosigned; 0: none
  cosigned_at     INTEGER,                   -- when, by its own clock
  asked_at        INTEGER NOT NULL,          -- when it was last asked
  asked_lines     INTEGER NOT NULL,          -- size of the tree head that it was asked about
  said            TEXT                       -- why it did not cosign then; null when it did
) STRICT;

-- Right edges of the log's tree at sizes that witnesses were asked about: a consistency proof from there reads the
-- lines since, and none before. Derived from log_line.
CREATE TABLE tree_mark (
  lines           INTEGER PRIMARY KEY,
  frontier        BLOB NOT NULL              -- be64(lines) and the roots of the complete subtrees, largest first
) STRICT;
