-- Deterministic context (DBL): threads, the events of their turns, what each turn declared and what came of it.
-- No text stands here: that of an INTENT and of an EXECUTION is in chat_turn, whose turn_id is the event's id.

CREATE TABLE context_config (
  config_digest   TEXT PRIMARY KEY,          -- SHA-256 of the document's canonical text, 64 digits
  document        TEXT NOT NULL              -- context.json as it was in force
) STRICT;

CREATE TABLE thread (
  thread_id       TEXT PRIMARY KEY,          -- UUID (version 8) derived from session and number
  session_id      TEXT NOT NULL REFERENCES chat_session(session_id),  -- it was begun in
  number          INTEGER NOT NULL,          -- 0: the one that every session has
  name            TEXT,                      -- what a person calls it; null once erased
  created_at      INTEGER NOT NULL,
  UNIQUE (session_id, number)
) STRICT;
CREATE INDEX idx_thread_name ON thread(name) WHERE name IS NOT NULL;

CREATE TABLE thread_turn (                   -- one row for each exchange
  turn_id         TEXT PRIMARY KEY REFERENCES llm_exchange(exchange_id),
  thread_id       TEXT NOT NULL REFERENCES thread(thread_id),
  parent_turn_id  TEXT REFERENCES thread_turn(turn_id),
  intent_type     TEXT NOT NULL,
  config_digest   TEXT NOT NULL REFERENCES context_config(config_digest),
  declared        TEXT NOT NULL,             -- canonical JSON: the ids that the client declared
  transformations TEXT NOT NULL,             -- canonical JSON: what the rules changed
  inputs          TEXT NOT NULL,             -- canonical JSON: the counts that policy saw
  reasons         TEXT NOT NULL,             -- canonical JSON: the codes of the DECISION
  context_digest  TEXT,                      -- null: not resolved, or something in it is erased
  prompt_digest   TEXT                       -- null: no call was to be made, or something in it is erased
) STRICT;
CREATE INDEX idx_thread_turn_thread ON thread_turn(thread_id);

CREATE TABLE thread_event (
  thread_id       TEXT NOT NULL REFERENCES thread(thread_id),
  event_index     INTEGER NOT NULL,          -- from 0, in the order of recording
  event_id        TEXT NOT NULL UNIQUE,
  kind            TEXT NOT NULL CHECK (kind IN ('INTENT', 'DECISION', 'EXECUTION')),
  turn_id         TEXT NOT NULL REFERENCES thread_turn(turn_id),
  line            INTEGER NOT NULL,          -- the log's: of the prompt, or of the response
  created_at      INTEGER NOT NULL,          -- time of that line
  bytes           INTEGER,                   -- length of an INTENT's text
  event_digest    TEXT,                      -- 64 digits; null once erased
  PRIMARY KEY (thread_id, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_thread_event_turn ON thread_event(turn_id);
CREATE INDEX idx_thread_event_intent ON thread_event(created_at, line, bytes) WHERE kind = 'INTENT';
CREATE INDEX idx_thread_event_intent_of ON thread_event(thread_id, line) WHERE kind = 'INTENT';

CREATE TABLE context_ref (                   -- what declared references stand for
  turn_id         TEXT NOT NULL REFERENCES thread_turn(turn_id),
  event_id        TEXT NOT NULL REFERENCES thread_event(event_id),
  ref_id          TEXT NOT NULL,             -- as declared
  admitted_for    TEXT NOT NULL CHECK (admitted_for IN ('governance', 'execution_only')),
  event_index     INTEGER NOT NULL,
  event_digest    TEXT,                      -- as it was resolved; null once the event is erased
  PRIMARY KEY (turn_id, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_context_ref_event ON context_ref(event_id);

CREATE TRIGGER context_config_is_final BEFORE UPDATE ON context_config
BEGIN SELECT RAISE(ABORT, 'a configuration in force is evidence and never changes'); END;
CREATE TRIGGER context_config_stays BEFORE DELETE ON context_config
BEGIN SELECT RAISE(ABORT, 'a configuration in force is evidence and is never deleted'); END;
CREATE TRIGGER thread_is_final BEFORE UPDATE OF thread_id, session_id, number, created_at ON thread
BEGIN SELECT RAISE(ABORT, 'a thread is evidence and never changes'); END;
CREATE TRIGGER thread_stays BEFORE DELETE ON thread
BEGIN SELECT RAISE(ABORT, 'a thread is evidence and is never deleted'); END;
CREATE TRIGGER thread_turn_is_final BEFORE UPDATE OF
  turn_id, thread_id, parent_turn_id, intent_type, config_digest, declared, transformations, inputs, reasons
ON thread_turn
BEGIN SELECT RAISE(ABORT, 'a turn''s context is evidence and never changes'); END;
CREATE TRIGGER thread_turn_stays BEFORE DELETE ON thread_turn
BEGIN SELECT RAISE(ABORT, 'a turn''s context is evidence and is never deleted'); END;
CREATE TRIGGER thread_turn_digests_go_only BEFORE UPDATE OF context_digest, prompt_digest ON thread_turn
WHEN (NEW.context_digest IS NOT NULL AND NEW.context_digest IS NOT OLD.context_digest)
  OR (NEW.prompt_digest IS NOT NULL AND NEW.prompt_digest IS NOT OLD.prompt_digest)
BEGIN SELECT RAISE(ABORT, 'a digest is evidence and never changes; erasing destroys it'); END;
CREATE TRIGGER thread_event_is_final BEFORE UPDATE OF
  event_id, thread_id, event_index, kind, turn_id, line, created_at, bytes
ON thread_event
BEGIN SELECT RAISE(ABORT, 'an event is evidence and never changes'); END;
CREATE TRIGGER thread_event_digest_goes_only BEFORE UPDATE OF event_digest ON thread_event
WHEN NEW.event_digest IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a digest is evidence and never changes; erasing destroys it'); END;
CREATE TRIGGER thread_event_stays BEFORE DELETE ON thread_event
BEGIN SELECT RAISE(ABORT, 'an event is evidence and is never deleted'); END;
CREATE TRIGGER context_ref_is_final BEFORE UPDATE OF turn_id, event_id, ref_id, admitted_for, event_index ON context_ref
BEGIN SELECT RAISE(ABORT, 'a resolved reference is evidence and never changes'); END;
CREATE TRIGGER context_ref_stays BEFORE DELETE ON context_ref
BEGIN SELECT RAISE(ABORT, 'a resolved reference is evidence and is never deleted'); END;
