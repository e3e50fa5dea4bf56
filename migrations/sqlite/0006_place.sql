-- Numbers of secrets within an open session, texts that are not kept, and indexes for erasing.

-- Which number a secret got in an open session (sanitizing, placeholders). No evidence: gone when the session closes.
-- A tag is HMAC-SHA-256 of the secret under the session's key; without the key it says nothing.
CREATE TABLE placeholder_key (
  session_id      TEXT PRIMARY KEY REFERENCES chat_session(session_id),
  key             BLOB NOT NULL              -- 32 random bytes
) STRICT, WITHOUT ROWID;
CREATE TABLE placeholder (
  session_id      TEXT NOT NULL REFERENCES chat_session(session_id),
  kind            TEXT NOT NULL,             -- aws-access-key
  number          INTEGER NOT NULL,          -- from 1, within kind and session
  tag             BLOB,                      -- which secret; null: a text of the session was erased, the number stays taken
  PRIMARY KEY (session_id, kind, number),
  UNIQUE (session_id, tag)
) STRICT, WITHOUT ROWID;

-- With [store] content = "none" these stand in the place of the texts: what the exchange document commits to.
-- user_text_commitment tells that the texts of an exchange were not kept.
ALTER TABLE llm_exchange ADD COLUMN user_text_commitment TEXT;
ALTER TABLE llm_exchange ADD COLUMN bundle_commitment TEXT;
ALTER TABLE llm_exchange ADD COLUMN compiled_prompt_commitment TEXT;
ALTER TABLE llm_exchange ADD COLUMN aurora_text_commitment TEXT;
CREATE TRIGGER llm_exchange_was_not_kept BEFORE UPDATE OF
  user_text_commitment, bundle_commitment, compiled_prompt_commitment
ON llm_exchange
BEGIN SELECT RAISE(ABORT, 'what was asked is evidence and never changes'); END;
CREATE TRIGGER llm_exchange_answer_was_not_kept BEFORE UPDATE OF aurora_text_commitment ON llm_exchange
WHEN OLD.outcome IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'an exchange with an outcome is evidence and never changes'); END;

-- What erasing looks up, and the newest of a kind.
CREATE INDEX idx_artifact_kind_line ON artifact(kind, line);
CREATE INDEX idx_artifact_id ON artifact(id, line);
CREATE INDEX idx_artifact_action_exchange ON artifact(json_extract(document, '$.content.exchange'))
  WHERE kind = 'action' AND document IS NOT NULL;
CREATE INDEX idx_context_artifact_id ON context_artifact_ref(artifact_id);

-- What each tombstone names; derived from its document.
CREATE TABLE tombstone_id (
  id              TEXT NOT NULL,             -- an exchange, or an artifact's id
  line            INTEGER NOT NULL REFERENCES artifact(line),
  PRIMARY KEY (id, line)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER tombstone_is_found AFTER INSERT ON artifact WHEN NEW.kind = 'tombstone' AND NEW.document IS NOT NULL
BEGIN
  INSERT INTO tombstone_id (id, line) SELECT value, NEW.line FROM json_each(NEW.document, '$.content.ids')
    WHERE true ON CONFLICT DO NOTHING;
END;
INSERT INTO tombstone_id (id, line)
  SELECT j.value, a.line FROM artifact a, json_each(a.document, '$.content.ids') j
   WHERE a.kind = 'tombstone' AND a.document IS NOT NULL ON CONFLICT DO NOTHING;
