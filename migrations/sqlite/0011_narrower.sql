-- Keys in no order (UUIDs) make every row touch a page of its own: eleven assertions and six references an exchange
-- were half of what a transaction wrote. Both stand with their exchange now; an assertion's key is its exchange and
-- its name, of which its id is derived, and a reference's id is checked against its place.
CREATE TABLE assertion_narrow (
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  name            TEXT NOT NULL,             -- class and rule: authority.claimed_side_effect
  assertion_id    TEXT NOT NULL,             -- UUID (version 8) derived from session, number and name
  level           TEXT NOT NULL CHECK (level IN ('info', 'soft', 'blocking')),  -- what its failure does
  passed          INTEGER NOT NULL CHECK (passed IN (0, 1)),
  created_at      INTEGER NOT NULL,          -- time of the outcome's line
  PRIMARY KEY (exchange_id, name)
) STRICT, WITHOUT ROWID;
INSERT INTO assertion_narrow SELECT exchange_id, name, assertion_id, level, passed, created_at FROM assertion_event ORDER BY exchange_id, name;
DROP TABLE assertion_event;
ALTER TABLE assertion_narrow RENAME TO assertion_event;
CREATE INDEX idx_assertion_event_told ON assertion_event(exchange_id) WHERE passed = 0 AND level <> 'info';
CREATE TRIGGER assertion_event_is_final BEFORE UPDATE ON assertion_event
BEGIN SELECT RAISE(ABORT, 'an assertion is evidence and never changes'); END;
CREATE TRIGGER assertion_event_stays BEFORE DELETE ON assertion_event
BEGIN SELECT RAISE(ABORT, 'an assertion is evidence and is never deleted'); END;

CREATE TABLE artifact_ref_narrow (
  ref_id          TEXT NOT NULL,
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  artifact_type   TEXT NOT NULL,
  artifact_id     TEXT NOT NULL,
  artifact_hash   TEXT,
  included_reason TEXT NOT NULL,
  observed_at     INTEGER,
  freshness_s     INTEGER,
  risk_flags      TEXT
) STRICT;
INSERT INTO artifact_ref_narrow SELECT * FROM context_artifact_ref ORDER BY rowid;
DROP TABLE context_artifact_ref;
ALTER TABLE artifact_ref_narrow RENAME TO context_artifact_ref;
CREATE INDEX idx_context_artifact_exchange ON context_artifact_ref(exchange_id);
CREATE INDEX idx_context_artifact_id ON context_artifact_ref(artifact_id);
CREATE TRIGGER context_artifact_ref_is_final BEFORE UPDATE ON context_artifact_ref
BEGIN SELECT RAISE(ABORT, 'what was injected is evidence and never changes'); END;
CREATE TRIGGER context_artifact_ref_stays BEFORE DELETE ON context_artifact_ref
BEGIN SELECT RAISE(ABORT, 'what was injected is evidence and is never deleted'); END;

-- Turns become searchable at the end of their transaction, all at once: the index writes itself out at every mark
-- that is set after a change of it, and a batch sets one for each record.
DROP TRIGGER turn_is_found;
