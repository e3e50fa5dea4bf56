-- Ids in no order (UUIDs, hashes) put every row of an exchange on a page of its own in each index: of a database that
-- is larger than memory an ask read and wrote back some nineteen of them. What belongs to an exchange is found by the
-- number of its prompt's line now, which grows with the log; and ids that are only looked up stand in indices in parts
-- of 32,768 lines (`line >> 15`), so that what is added lies with what was added just before. Three kinds of id are
-- left in no order: exchange_id and the two turn_id of an exchange, which others refer to.
-- The migration runs with foreign keys off: tables that are referred to are made again.

DROP VIEW turn_text;
DROP TABLE turn_fts;
CREATE TABLE chat_turn_near (
  turn_id         TEXT PRIMARY KEY,
  session_id      TEXT NOT NULL REFERENCES chat_session(session_id),
  created_at      INTEGER NOT NULL,
  speaker         TEXT NOT NULL CHECK (speaker IN ('user', 'aurora')),
  content         TEXT,                      -- sanitized; null once erased
  content_hash    TEXT,                      -- SHA-256 of content; null once erased
  refusal         INTEGER NOT NULL DEFAULT 0,
  authority_state TEXT NOT NULL CHECK (authority_state IN ('ok', 'insufficient', 'blocked')),
  driftwatch_id   TEXT,
  line            INTEGER NOT NULL,          -- of the prompt of its exchange
  n               INTEGER NOT NULL UNIQUE    -- its place in the search index; a hidden rowid may change
) STRICT;
INSERT INTO chat_turn_near
  SELECT t.turn_id, t.session_id, t.created_at, t.speaker, t.content, t.content_hash, t.refusal, t.authority_state,
         t.driftwatch_id, coalesce(u.prompt_line, a.prompt_line, -1), t.rowid
    FROM chat_turn t LEFT JOIN llm_exchange u ON u.turn_user_id = t.turn_id
         LEFT JOIN llm_exchange a ON a.turn_aurora_id = t.turn_id ORDER BY t.rowid;
DROP TABLE turn_index;
DROP TABLE chat_turn;
ALTER TABLE chat_turn_near RENAME TO chat_turn;
CREATE INDEX idx_chat_turn_session_time ON chat_turn(session_id, created_at);
CREATE INDEX idx_chat_turn_content ON chat_turn(line >> 15, content_hash) WHERE speaker = 'user';
CREATE TRIGGER chat_turn_is_final BEFORE UPDATE OF
  turn_id, line, session_id, created_at, speaker, refusal, authority_state, driftwatch_id
ON chat_turn
BEGIN SELECT RAISE(ABORT, 'a turn is evidence and never changes'); END;
CREATE TRIGGER chat_turn_stays BEFORE DELETE ON chat_turn
BEGIN SELECT RAISE(ABORT, 'a turn is evidence and is never deleted'); END;

-- Words of all turns, for deep history; they go in at the end of a transaction, all at once.
CREATE VIEW turn_text (n, content) AS SELECT n, content FROM chat_turn WHERE content IS NOT NULL;
CREATE VIRTUAL TABLE turn_fts USING fts5(
  content, content = 'turn_text', content_rowid = 'n', tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO turn_fts (turn_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO turn_fts (turn_fts) VALUES ('rebuild');
CREATE TRIGGER turn_is_found_no_more AFTER UPDATE OF content ON chat_turn WHEN OLD.content IS NOT NULL AND NEW.content IS NULL
BEGIN
  INSERT INTO turn_fts (turn_fts, rowid, content) VALUES ('delete', OLD.n, OLD.content);
END;

DROP INDEX idx_llm_exchange_prompt;
DROP INDEX idx_llm_exchange_turn_user;
DROP INDEX idx_llm_exchange_turn_aurora;
DROP INDEX idx_llm_exchange_chain;
CREATE INDEX idx_llm_exchange_line ON llm_exchange(prompt_line);
CREATE INDEX idx_llm_exchange_prompt ON llm_exchange(prompt_line >> 15, prompt_hash) WHERE outcome = 'answered';
CREATE INDEX idx_llm_exchange_chain ON llm_exchange(prompt_line >> 15, chain_entry) WHERE chain_entry IS NOT NULL;

CREATE TABLE artifact_ref_near (
  ref_id          TEXT NOT NULL,
  line            INTEGER NOT NULL,          -- of the prompt of its exchange
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  artifact_type   TEXT NOT NULL,
  artifact_id     TEXT NOT NULL,
  artifact_hash   TEXT,
  included_reason TEXT NOT NULL,
  observed_at     INTEGER,
  freshness_s     INTEGER,
  risk_flags      TEXT
) STRICT;
INSERT INTO artifact_ref_near
  SELECT r.ref_id, e.prompt_line, r.exchange_id, r.artifact_type, r.artifact_id, r.artifact_hash, r.included_reason,
         r.observed_at, r.freshness_s, r.risk_flags
    FROM context_artifact_ref r JOIN llm_exchange e ON e.exchange_id = r.exchange_id ORDER BY r.rowid;
DROP TABLE context_artifact_ref;
ALTER TABLE artifact_ref_near RENAME TO context_artifact_ref;
CREATE INDEX idx_context_artifact_exchange ON context_artifact_ref(line, exchange_id);
CREATE INDEX idx_context_artifact_id ON context_artifact_ref(line >> 15, artifact_id);
CREATE TRIGGER context_artifact_ref_is_final BEFORE UPDATE ON context_artifact_ref
BEGIN SELECT RAISE(ABORT, 'what was injected is evidence and never changes'); END;
CREATE TRIGGER context_artifact_ref_stays BEFORE DELETE ON context_artifact_ref
BEGIN SELECT RAISE(ABORT, 'what was injected is evidence and is never deleted'); END;

CREATE TABLE assertion_near (
  line            INTEGER NOT NULL,          -- of the prompt of its exchange
  name            TEXT NOT NULL,             -- class and rule: authority.claimed_side_effect
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  assertion_id    TEXT NOT NULL,             -- UUID (version 8) derived from session, number and name
  level           TEXT NOT NULL CHECK (level IN ('info', 'soft', 'blocking')),  -- what its failure does
  passed          INTEGER NOT NULL CHECK (passed IN (0, 1)),
  created_at      INTEGER NOT NULL,          -- time of the outcome's line
  PRIMARY KEY (line, name)
) STRICT, WITHOUT ROWID;
INSERT INTO assertion_near
  SELECT e.prompt_line, a.name, a.exchange_id, a.assertion_id, a.level, a.passed, a.created_at
    FROM assertion_event a JOIN llm_exchange e ON e.exchange_id = a.exchange_id ORDER BY e.prompt_line, a.name;
DROP TABLE assertion_event;
ALTER TABLE assertion_near RENAME TO assertion_event;
CREATE INDEX idx_assertion_event_told ON assertion_event(line) WHERE passed = 0 AND level <> 'info';
CREATE TRIGGER assertion_event_is_final BEFORE UPDATE ON assertion_event
BEGIN SELECT RAISE(ABORT, 'an assertion is evidence and never changes'); END;
CREATE TRIGGER assertion_event_stays BEFORE DELETE ON assertion_event
BEGIN SELECT RAISE(ABORT, 'an assertion is evidence and is never deleted'); END;

CREATE TABLE thread_turn_near (              -- one row for each exchange
  line            INTEGER PRIMARY KEY,       -- of its prompt
  turn_id         TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  thread_id       TEXT NOT NULL REFERENCES thread(thread_id),
  parent_turn_id  TEXT REFERENCES llm_exchange(exchange_id),
  intent_type     TEXT NOT NULL,
  config_digest   TEXT NOT NULL REFERENCES context_config(config_digest),
  declared        TEXT NOT NULL,             -- canonical JSON: the ids that the client declared
  transformations TEXT NOT NULL,             -- canonical JSON: what the rules changed
  inputs          TEXT NOT NULL,             -- canonical JSON: the counts that policy saw
  reasons         TEXT NOT NULL,             -- canonical JSON: the codes of the DECISION
  context_digest  TEXT,                      -- null: not resolved, or something in it is erased
  prompt_digest   TEXT                       -- null: no call was to be made, or something in it is erased
) STRICT;
INSERT INTO thread_turn_near
  SELECT e.prompt_line, t.turn_id, t.thread_id, t.parent_turn_id, t.intent_type, t.config_digest, t.declared,
         t.transformations, t.inputs, t.reasons, t.context_digest, t.prompt_digest
    FROM thread_turn t JOIN llm_exchange e ON e.exchange_id = t.turn_id ORDER BY e.prompt_line;
DROP TABLE thread_turn;
ALTER TABLE thread_turn_near RENAME TO thread_turn;
CREATE TRIGGER thread_turn_is_final BEFORE UPDATE OF
  line, turn_id, thread_id, parent_turn_id, intent_type, config_digest, declared, transformations, inputs, reasons
ON thread_turn
BEGIN SELECT RAISE(ABORT, 'a turn''s context is evidence and never changes'); END;
CREATE TRIGGER thread_turn_stays BEFORE DELETE ON thread_turn
BEGIN SELECT RAISE(ABORT, 'a turn''s context is evidence and is never deleted'); END;
CREATE TRIGGER thread_turn_digests_go_only BEFORE UPDATE OF context_digest, prompt_digest ON thread_turn
WHEN (NEW.context_digest IS NOT NULL AND NEW.context_digest IS NOT OLD.context_digest)
  OR (NEW.prompt_digest IS NOT NULL AND NEW.prompt_digest IS NOT OLD.prompt_digest)
BEGIN SELECT RAISE(ABORT, 'a digest is evidence and never changes; erasing destroys it'); END;

CREATE TABLE thread_event_near (
  thread_id       TEXT NOT NULL REFERENCES thread(thread_id),
  event_index     INTEGER NOT NULL,          -- from 0, in the order of recording
  event_id        TEXT NOT NULL,             -- of an INTENT and an EXECUTION the id of their turn
  kind            TEXT NOT NULL CHECK (kind IN ('INTENT', 'DECISION', 'EXECUTION')),
  turn_id         TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  line            INTEGER NOT NULL,          -- the log's: of the prompt, or of the response
  created_at      INTEGER NOT NULL,          -- time of that line
  bytes           INTEGER,                   -- length of an INTENT's text
  event_digest    TEXT,                      -- 64 digits; null once erased
  PRIMARY KEY (thread_id, event_index)
) STRICT, WITHOUT ROWID;
INSERT INTO thread_event_near
  SELECT thread_id, event_index, event_id, kind, turn_id, line, created_at, bytes, event_digest
    FROM thread_event ORDER BY thread_id, event_index;
DROP TABLE thread_event;
ALTER TABLE thread_event_near RENAME TO thread_event;
CREATE INDEX idx_thread_event_line ON thread_event(thread_id, line, kind);
CREATE INDEX idx_thread_event_intent ON thread_event(created_at, line, bytes) WHERE kind = 'INTENT';
CREATE UNIQUE INDEX idx_thread_event_decision ON thread_event(line >> 15, event_id) WHERE kind = 'DECISION';
CREATE TRIGGER thread_event_is_final BEFORE UPDATE OF
  event_id, thread_id, event_index, kind, turn_id, line, created_at, bytes
ON thread_event
BEGIN SELECT RAISE(ABORT, 'an event is evidence and never changes'); END;
CREATE TRIGGER thread_event_digest_goes_only BEFORE UPDATE OF event_digest ON thread_event
WHEN NEW.event_digest IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a digest is evidence and never changes; erasing destroys it'); END;
CREATE TRIGGER thread_event_stays BEFORE DELETE ON thread_event
BEGIN SELECT RAISE(ABORT, 'an event is evidence and is never deleted'); END;

CREATE TABLE context_ref_near (              -- what declared references stand for
  line            INTEGER NOT NULL,          -- of the prompt that declared them
  event_index     INTEGER NOT NULL,
  turn_id         TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  event_id        TEXT NOT NULL,
  ref_id          TEXT NOT NULL,             -- as declared
  admitted_for    TEXT NOT NULL CHECK (admitted_for IN ('governance', 'execution_only')),
  event_digest    TEXT,                      -- as it was resolved; null once the event is erased
  PRIMARY KEY (line, event_index)
) STRICT, WITHOUT ROWID;
INSERT INTO context_ref_near
  SELECT e.prompt_line, r.event_index, r.turn_id, r.event_id, r.ref_id, r.admitted_for, r.event_digest
    FROM context_ref r JOIN llm_exchange e ON e.exchange_id = r.turn_id ORDER BY e.prompt_line, r.event_index;
DROP TABLE context_ref;
ALTER TABLE context_ref_near RENAME TO context_ref;
CREATE INDEX idx_context_ref_event ON context_ref(line >> 15, event_id);
CREATE TRIGGER context_ref_is_final BEFORE UPDATE OF line, turn_id, event_id, ref_id, admitted_for, event_index ON context_ref
BEGIN SELECT RAISE(ABORT, 'a resolved reference is evidence and never changes'); END;
CREATE TRIGGER context_ref_stays BEFORE DELETE ON context_ref
BEGIN SELECT RAISE(ABORT, 'a resolved reference is evidence and is never deleted'); END;

CREATE TABLE ledger_commit_near (
  n               INTEGER PRIMARY KEY,       -- from 0, in the order of application
  line            INTEGER NOT NULL REFERENCES log_line(n),
  kind            TEXT NOT NULL,
  ref             TEXT NOT NULL,
  id              TEXT NOT NULL,             -- git object id
  raw             BLOB NOT NULL,             -- the commit object, signature included
  tree_of         INTEGER REFERENCES ledger_commit(n),  -- shares the files of this commit
  segment_from    INTEGER,                   -- first line of its audit.log; null: has none
  segment_to      INTEGER
) STRICT;
INSERT INTO ledger_commit_near SELECT * FROM ledger_commit ORDER BY n;
DROP TABLE ledger_commit;
ALTER TABLE ledger_commit_near RENAME TO ledger_commit;
CREATE INDEX idx_ledger_commit_line ON ledger_commit(line);
CREATE INDEX idx_ledger_commit_ref ON ledger_commit(ref, n);
CREATE INDEX idx_ledger_commit_start ON ledger_commit(ref, kind, n) WHERE kind = 'session_start';
CREATE UNIQUE INDEX idx_ledger_commit_id ON ledger_commit(line >> 15, id);
CREATE TRIGGER ledger_commit_is_final BEFORE UPDATE ON ledger_commit
BEGIN SELECT RAISE(ABORT, 'a commit is evidence and never changes'); END;
CREATE TRIGGER ledger_commit_stays BEFORE DELETE ON ledger_commit
BEGIN SELECT RAISE(ABORT, 'a commit is evidence and is never deleted'); END;
