-- What the validator checked, and how each check came out: written in the answer's transaction.
CREATE TABLE assertion_event (
  assertion_id    TEXT PRIMARY KEY,          -- UUID (version 8) derived from session, number and name
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  name            TEXT NOT NULL,             -- class and rule: authority.claimed_side_effect
  level           TEXT NOT NULL CHECK (level IN ('info', 'soft', 'blocking')),  -- what its failure does
  passed          INTEGER NOT NULL CHECK (passed IN (0, 1)),
  created_at      INTEGER NOT NULL           -- time of the outcome's line
) STRICT;
CREATE INDEX idx_assertion_event_exchange ON assertion_event(exchange_id);
CREATE INDEX idx_assertion_event_told ON assertion_event(exchange_id) WHERE passed = 0 AND level <> 'info';
-- Later states of a drift event are artifacts with its id.
CREATE INDEX idx_artifact_kind_id ON artifact(kind, id);

CREATE TRIGGER assertion_event_is_final BEFORE UPDATE ON assertion_event
BEGIN SELECT RAISE(ABORT, 'an assertion is evidence and never changes'); END;
CREATE TRIGGER assertion_event_stays BEFORE DELETE ON assertion_event
BEGIN SELECT RAISE(ABORT, 'an assertion is evidence and is never deleted'); END;
