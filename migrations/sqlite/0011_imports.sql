-- Conversations that were held elsewhere and came as a file. docs/schema.md explains each table and view.

-- Derived from artifact by the rules of src/record/ledger/imported.rs. No text stands here: that is in the documents.
CREATE TABLE imported_conversation (
  line          INTEGER PRIMARY KEY REFERENCES artifact(line),
  id            TEXT NOT NULL,               -- imported:000001
  format        TEXT CHECK (format IN ('chatgpt', 'claude', 'llm', 'aua', 'jsonl')),  -- null, as all that follows, once erased
  source_id     TEXT,                        -- its id in the source
  digest        TEXT,                        -- SHA-256 of what it says
  created_at    INTEGER,                     -- as the source says
  updated_at    INTEGER,
  messages      INTEGER NOT NULL,            -- 0 once erased
  import_id     TEXT,                        -- import:000001
  state         TEXT NOT NULL CHECK (state IN ('current', 'replaced', 'erased')),
  source_tag    BLOB                         -- a hint that its source is unchanged; no evidence, and follows from nothing here
) STRICT;
CREATE INDEX idx_imported_conversation_id ON imported_conversation(id);
CREATE INDEX idx_imported_conversation_source ON imported_conversation(format, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX idx_imported_conversation_import ON imported_conversation(import_id, line) WHERE import_id IS NOT NULL;
CREATE INDEX idx_imported_conversation_state ON imported_conversation(state, line);

CREATE TABLE imported_message (              -- one row for each message of a conversation that is not erased
  n             INTEGER PRIMARY KEY,         -- line * 1048576 + i
  line          INTEGER NOT NULL REFERENCES imported_conversation(line),
  i             INTEGER NOT NULL,            -- its place in the conversation, from 0
  role          TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
  model         TEXT,                        -- as the source names it
  at            INTEGER                      -- as the source says
) STRICT;

CREATE INDEX idx_artifact_imported_title ON artifact(json_extract(document, '$.content.title'))
  WHERE kind = 'imported_conversation' AND document IS NOT NULL;

CREATE VIEW imported_text (n, content) AS    -- of conversations that no later import took the place of
SELECT m.n, json_extract(a.document, '$.content.messages[' || m.i || '].text')
  FROM imported_message m CROSS JOIN imported_conversation c ON c.line = m.line CROSS JOIN artifact a ON a.line = m.line
 WHERE c.state = 'current' AND a.document IS NOT NULL;
CREATE VIRTUAL TABLE imported_fts USING fts5(
  content, content = 'imported_text', content_rowid = 'n', tokenize = 'porter unicode61 remove_diacritics 2', prefix = '3 4');
INSERT INTO imported_fts (imported_fts, rank) VALUES ('secure-delete', 1);

-- The AUA state store's views again. `origin` says where a row is from: of gently's own exchanges, or of a file.

DROP VIEW conversations;
CREATE VIEW conversations (conversation_id, user_id, title, project_id, created_at, updated_at, state, turns, origin) AS
SELECT c.thread_id,
       (SELECT k.name FROM chat_session s JOIN auth_key k ON k.auth_key_hash = s.auth_key_hash
         WHERE s.session_id = h.session_id),
       CASE WHEN c.title_line IS NOT NULL
            THEN (SELECT json_extract(a.document, '$.content.title') FROM artifact a WHERE a.line = c.title_line)
            ELSE coalesce(h.name, (SELECT substr(t.content, 1, 60)
                                     FROM thread_event v JOIN chat_turn t ON t.turn_id = v.event_id
                                    WHERE v.thread_id = c.thread_id AND v.kind = 'INTENT'
                                      AND EXISTS (SELECT 1 FROM message_turn m WHERE m.line = v.line)
                                    ORDER BY v.line LIMIT 1)) END,
       c.project, h.created_at,
       coalesce((SELECT v.created_at FROM thread_event v WHERE v.thread_id = c.thread_id ORDER BY v.line DESC LIMIT 1),
                h.created_at),
       c.state, c.turns, 'gently'
  FROM conversation c JOIN thread h ON h.thread_id = c.thread_id
UNION ALL
SELECT i.id,
       (SELECT k.name FROM auth_key k WHERE k.auth_key_hash = json_extract(a.document, '$.content.by')),
       json_extract(a.document, '$.content.title'), NULL, i.created_at, ifnull(i.updated_at, i.created_at), 'open',
       (SELECT count(*) FROM imported_message m
         WHERE m.n >= i.line << 20 AND m.n < (i.line + 1) << 20 AND m.role = 'user'),
       'imported:' || i.format
  FROM imported_conversation i JOIN artifact a ON a.line = i.line
 WHERE i.state = 'current';

DROP VIEW messages;
CREATE VIEW messages (message_id, conversation_id, role, content, callout_type, models_used, accuracy_level, confidence,
                      created_at, exchange_id, line, origin) AS
SELECT t.turn_id, v.thread_id, CASE v.kind WHEN 'INTENT' THEN 'user' ELSE 'assistant' END, t.content,
       CASE WHEN v.kind = 'INTENT' THEN NULL
            WHEN EXISTS (SELECT 1 FROM artifact a JOIN continuity_item i ON i.line = a.line
                          WHERE a.kind = 'correction' AND a.document IS NOT NULL
                            AND json_extract(a.document, '$.content.about') = e.exchange_id
                            AND i.state IN ('proposed', 'ratified', 'declared')) THEN 'correction'
            WHEN EXISTS (SELECT 1 FROM council_review r
                          WHERE r.of_exchange_id = e.exchange_id AND r.verdict = 'disagree') THEN 'disagreement' END,
       CASE v.kind WHEN 'INTENT' THEN '[]' ELSE json_array(e.model) END,
       CASE v.kind WHEN 'EXECUTION' THEN json_extract(ca.document, '$.content.accuracy') END,
       CASE v.kind WHEN 'EXECUTION' THEN c.confidence / 1000.0 END, v.created_at, e.exchange_id, v.line, 'gently'
  FROM thread_event v JOIN chat_turn t ON t.turn_id = v.event_id JOIN llm_exchange e ON e.exchange_id = v.turn_id
  LEFT JOIN council_answer c ON c.exchange_id = e.exchange_id LEFT JOIN artifact ca ON ca.line = c.council_line
 WHERE v.kind IN ('INTENT', 'EXECUTION') AND EXISTS (SELECT 1 FROM message_turn m WHERE m.line = e.prompt_line)
UNION ALL                                    -- of exchanges whose thread was lost with a database
SELECT t.turn_id, NULL, CASE t.speaker WHEN 'user' THEN 'user' ELSE 'assistant' END, t.content, NULL,
       CASE t.speaker WHEN 'user' THEN '[]' ELSE json_array(e.model) END, NULL, NULL, t.created_at, e.exchange_id,
       CASE t.speaker WHEN 'user' THEN e.prompt_line ELSE e.outcome_line END, 'gently'
  FROM chat_turn t JOIN llm_exchange e ON e.prompt_line = t.line
 WHERE NOT EXISTS (SELECT 1 FROM thread_turn h WHERE h.line = t.line)
UNION ALL
SELECT i.id || '/' || (m.i + 1), i.id, m.role, x.content, NULL,
       CASE WHEN m.model IS NULL THEN '[]' ELSE json_array(m.model) END, NULL, NULL, m.at, NULL, m.line,
       'imported:' || i.format
  FROM imported_conversation i JOIN imported_message m ON m.n >= i.line << 20 AND m.n < (i.line + 1) << 20
  JOIN imported_text x ON x.n = m.n
 WHERE i.state = 'current';

DROP VIEW promotions;
CREATE VIEW promotions (id, created_at, specialist, event, from_model, to_model, reverted, metadata, line, origin) AS
SELECT a.id, CAST(strftime('%s', l.time) AS INTEGER), json_extract(a.document, '$.content.specialist'),
       json_extract(a.document, '$.content.event'), json_extract(a.document, '$.content.from_model'),
       json_extract(a.document, '$.content.to_model'),
       EXISTS (SELECT 1 FROM artifact r WHERE r.kind = 'promotion' AND r.line > a.line
                AND json_extract(r.document, '$.content.reverts') = a.id),
       json_extract(a.document, '$.content.metadata'), a.line, 'gently'
  FROM artifact a JOIN log_line_part l ON l.n = a.line
 WHERE a.kind = 'promotion'
UNION ALL                                    -- of other programs: they bind nothing; of one that changed, the newest
SELECT json_extract(a.document, '$.content.source_id'), json_extract(a.document, '$.content.at'),
       json_extract(a.document, '$.content.specialist'), json_extract(a.document, '$.content.event'),
       json_extract(a.document, '$.content.from_model'), json_extract(a.document, '$.content.to_model'),
       json_extract(a.document, '$.content.reverted'), json_extract(a.document, '$.content.metadata'), a.line,
       'imported:' || json_extract(a.document, '$.content.format')
  FROM artifact a
 WHERE a.kind = 'imported_promotion' AND a.document IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM artifact n WHERE n.kind = 'imported_promotion' AND n.line > a.line
                    AND n.document IS NOT NULL
                    AND json_extract(n.document, '$.content.source_id') = json_extract(a.document, '$.content.source_id'));

CREATE VIRTUAL TABLE imported_fts_vocab USING fts5vocab(imported_fts, 'instance');
DROP VIEW keyword_index;
CREATE VIEW keyword_index (keyword, message_id, conversation_id, role, created_at) AS
SELECT DISTINCT w.term, t.turn_id, h.thread_id, CASE t.speaker WHEN 'user' THEN 'user' ELSE 'assistant' END,
       t.created_at
  FROM turn_fts_vocab w JOIN chat_turn t ON t.n = w.doc LEFT JOIN thread_turn h ON h.line = t.line
 WHERE h.line IS NULL OR EXISTS (SELECT 1 FROM message_turn m WHERE m.line = h.line)
UNION ALL
SELECT DISTINCT w.term, i.id || '/' || (m.i + 1), i.id, m.role, m.at
  FROM imported_fts_vocab w JOIN imported_message m ON m.n = w.doc JOIN imported_conversation i ON i.line = m.line;
