-- Which calendars were asked to stamp heads of the log, and what came of it. No evidence: a proof proves itself, and
-- stands in refs/notes/ots.
CREATE TABLE calendar_state (
  address         TEXT PRIMARY KEY,          -- without a slash at its end
  asked_at        INTEGER NOT NULL,          -- when it was last asked
  accepted_at     INTEGER,                   -- when it last accepted; null: never
  said            TEXT                       -- why it did not accept then; null when it did
) STRICT;
