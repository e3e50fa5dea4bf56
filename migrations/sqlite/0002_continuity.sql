-- What continuity selects from (AEGIS 6). All of it is derived from artifact and chat_turn, by triggers, so that every
-- way a row gets in or loses its text keeps it. No text stands here: it stays in artifact.document and
-- chat_turn.content, and the search indexes hold words only.

CREATE TABLE continuity_item (
  line        INTEGER PRIMARY KEY REFERENCES artifact(line),  -- of the artifact that made it
  id          TEXT NOT NULL UNIQUE,          -- ledger:000183, note:000001, decision:000001, intent:000001
  kind        TEXT NOT NULL CHECK (kind IN ('fact', 'note', 'decision', 'intent')),
  state       TEXT NOT NULL
    CHECK (state IN ('proposed', 'ratified', 'declared', 'retired', 'superseded', 'cleared', 'erased')),
  state_line  INTEGER NOT NULL,              -- of the artifact that gave it its state
  subject     TEXT,                          -- lower case; null: it can't disagree with anything
  source      TEXT,
  observed_at INTEGER,
  confidence  TEXT,                          -- of a fact: high, medium, low
  phase       TEXT,                          -- in which it may be shown
  tier        INTEGER,                       -- from which on it may be shown
  session     TEXT,                          -- the ledger's id of the session it was recorded in
  hash        TEXT NOT NULL                  -- the artifact's commitment, as its line has it
) STRICT;
CREATE INDEX idx_continuity_item_state ON continuity_item(kind, state, line);
CREATE INDEX idx_continuity_item_subject ON continuity_item(subject, line)
  WHERE subject IS NOT NULL AND state IN ('ratified', 'declared');
CREATE INDEX idx_continuity_item_session ON continuity_item(session, line) WHERE session IS NOT NULL;
CREATE INDEX idx_llm_exchange_turn_aurora ON llm_exchange(turn_aurora_id) WHERE turn_aurora_id IS NOT NULL;

-- Words of what is proposed or in force. What is deleted leaves no copy in the index.
CREATE VIEW continuity_text (line, text, subject) AS
  SELECT i.line, json_extract(a.document, '$.content.text'), json_extract(a.document, '$.content.subject')
    FROM continuity_item i JOIN artifact a ON a.line = i.line
   WHERE i.kind <> 'intent' AND i.state IN ('proposed', 'ratified', 'declared');
CREATE VIRTUAL TABLE continuity_fts USING fts5(
  text, subject, content = 'continuity_text', content_rowid = 'line', tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO continuity_fts (continuity_fts, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER continuity_item_replaced BEFORE INSERT ON artifact WHEN NEW.kind = 'intent'
BEGIN
  UPDATE continuity_item SET state = 'superseded', state_line = NEW.line
   WHERE kind = 'intent' AND state = 'declared';
END;
CREATE TRIGGER continuity_item_made AFTER INSERT ON artifact
WHEN NEW.kind IN ('fact', 'note', 'decision', 'intent') AND NEW.document IS NOT NULL
BEGIN
  INSERT INTO continuity_item VALUES (
    NEW.line, NEW.id, NEW.kind, iif(NEW.kind = 'fact', 'proposed', 'declared'), NEW.line,
    json_extract(NEW.document, '$.content.subject'), json_extract(NEW.document, '$.content.source'),
    json_extract(NEW.document, '$.content.observed_at'), json_extract(NEW.document, '$.content.confidence'),
    json_extract(NEW.document, '$.content.phase'), json_extract(NEW.document, '$.content.tier'),
    json_extract(NEW.document, '$.content.session'), NEW.commitment)
  ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER continuity_item_ratified AFTER INSERT ON artifact WHEN NEW.kind = 'fact_ratified'
BEGIN
  UPDATE continuity_item SET state = 'ratified', state_line = NEW.line
   WHERE id = NEW.id AND kind = 'fact' AND state = 'proposed';
END;
CREATE TRIGGER continuity_item_retired AFTER INSERT ON artifact
WHEN NEW.kind IN ('fact_retired', 'note_retired', 'decision_retired')
BEGIN
  UPDATE continuity_item SET state = 'retired', state_line = NEW.line
   WHERE id = NEW.id AND NEW.kind = kind || '_retired' AND state IN ('proposed', 'ratified', 'declared');
END;
CREATE TRIGGER continuity_item_cleared AFTER INSERT ON artifact WHEN NEW.kind = 'intent_cleared'
BEGIN
  UPDATE continuity_item SET state = 'cleared', state_line = NEW.line
   WHERE id = NEW.id AND kind = 'intent' AND state = 'declared';
END;
CREATE TRIGGER continuity_item_superseded AFTER INSERT ON artifact
WHEN NEW.kind = 'conflict_resolved' AND NEW.document IS NOT NULL
BEGIN
  UPDATE continuity_item SET state = 'superseded', state_line = NEW.line
   WHERE id IN (SELECT value FROM json_each(NEW.document, '$.content.superseded'))
     AND kind <> 'intent' AND state IN ('ratified', 'declared');
END;

CREATE TRIGGER continuity_item_is_found AFTER INSERT ON continuity_item WHEN NEW.kind <> 'intent'
BEGIN
  INSERT INTO continuity_fts (rowid, text, subject) SELECT line, text, subject FROM continuity_text WHERE line = NEW.line;
END;
CREATE TRIGGER continuity_item_is_found_no_more AFTER UPDATE OF state ON continuity_item
WHEN OLD.kind <> 'intent' AND OLD.state IN ('proposed', 'ratified', 'declared')
  AND NEW.state IN ('retired', 'superseded')
BEGIN
  INSERT INTO continuity_fts (continuity_fts, rowid, text, subject)
    SELECT 'delete', line, json_extract(document, '$.content.text'), json_extract(document, '$.content.subject')
      FROM artifact WHERE line = NEW.line;
END;
CREATE TRIGGER continuity_item_erased AFTER UPDATE OF document ON artifact
WHEN OLD.document IS NOT NULL AND NEW.document IS NULL
BEGIN
  INSERT INTO continuity_fts (continuity_fts, rowid, text, subject)
    SELECT 'delete', line, json_extract(OLD.document, '$.content.text'), json_extract(OLD.document, '$.content.subject')
      FROM continuity_item
     WHERE line = NEW.line AND kind <> 'intent' AND state IN ('proposed', 'ratified', 'declared');
  UPDATE continuity_item SET state = 'erased', state_line = line, subject = NULL, source = NULL, observed_at = NULL,
    confidence = NULL, phase = NULL, tier = NULL, session = NULL WHERE line = NEW.line;
END;

-- Words of all turns, for deep history. A number of its own: a hidden rowid may change.
CREATE TABLE turn_index (
  n           INTEGER PRIMARY KEY,
  turn_id     TEXT NOT NULL UNIQUE REFERENCES chat_turn(turn_id)
) STRICT;
CREATE VIEW turn_text (n, content) AS
  SELECT x.n, t.content FROM turn_index x JOIN chat_turn t ON t.turn_id = x.turn_id WHERE t.content IS NOT NULL;
CREATE VIRTUAL TABLE turn_fts USING fts5(
  content, content = 'turn_text', content_rowid = 'n', tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO turn_fts (turn_fts, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER turn_is_found AFTER INSERT ON chat_turn WHEN NEW.content IS NOT NULL
BEGIN
  INSERT INTO turn_index (turn_id) VALUES (NEW.turn_id);
  INSERT INTO turn_fts (rowid, content) SELECT n, NEW.content FROM turn_index WHERE turn_id = NEW.turn_id;
END;
CREATE TRIGGER turn_is_found_no_more AFTER UPDATE OF content ON chat_turn WHEN OLD.content IS NOT NULL AND NEW.content IS NULL
BEGIN
  INSERT INTO turn_fts (turn_fts, rowid, content) SELECT 'delete', n, OLD.content FROM turn_index WHERE turn_id = NEW.turn_id;
  DELETE FROM turn_index WHERE turn_id = NEW.turn_id;
END;

-- What was there before. No artifact of these kinds was ever written without this table.
INSERT INTO turn_index (turn_id) SELECT turn_id FROM chat_turn WHERE content IS NOT NULL ORDER BY rowid;
INSERT INTO turn_fts (turn_fts) VALUES ('rebuild');
