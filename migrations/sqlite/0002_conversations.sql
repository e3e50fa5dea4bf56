-- Conversations and projects: what people call threads, and put them into. docs/schema.md explains each table.
--
-- Nothing of this is evidence: it is derived from turns and artifacts by the rules of
-- src/record/ledger/conversation.rs, which fill it here once, and audit verify compares it with them. No text stands
-- here: titles and names are in their artifacts, and lines point to them.

CREATE TABLE conversation (                  -- a thread that was begun on record
  thread_id       TEXT PRIMARY KEY REFERENCES thread(thread_id),
  last_line       INTEGER NOT NULL,          -- of its newest prompt; before the first, of the artifact that began it
  turns           INTEGER NOT NULL,          -- its exchanges
  title_line      INTEGER REFERENCES artifact(line),  -- of the newest conversation_title; null: none gave one
  project         TEXT,                      -- project:000001; null: in none
  state           TEXT NOT NULL CHECK (state IN ('open', 'archived')),
  state_line      INTEGER NOT NULL           -- of the artifact that gave it its state; without one, of what began it
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_conversation_state ON conversation(state, last_line);
CREATE INDEX idx_conversation_project ON conversation(project, last_line);

CREATE TABLE project (
  id              TEXT PRIMARY KEY,          -- project:000001
  line            INTEGER NOT NULL REFERENCES artifact(line),  -- of the artifact that made it
  name_line       INTEGER NOT NULL REFERENCES artifact(line),  -- of the newest artifact that names it
  state           TEXT NOT NULL CHECK (state IN ('open', 'retired'))
) STRICT, WITHOUT ROWID;

-- What is asked for by its words: a title, a name. Erasing a document takes its words out of here.
CREATE INDEX idx_artifact_title ON artifact(json_extract(document, '$.content.title'))
  WHERE kind = 'conversation_title' AND document IS NOT NULL;
CREATE INDEX idx_artifact_project_name ON artifact(json_extract(document, '$.content.name'))
  WHERE kind IN ('project', 'project_renamed') AND document IS NOT NULL;

-- Under which settings the newest record was made, without their values: a tag is HMAC-SHA-256 of name and value under a
-- key of this home. Before the first record of this build there is no row.

CREATE TABLE setting_state (
  id              INTEGER PRIMARY KEY CHECK (id = 1),
  key             TEXT NOT NULL,             -- 32 random bytes
  digest          TEXT NOT NULL,             -- of all settings that count, as a config_reload names them
  line            INTEGER REFERENCES artifact(line),  -- of the newest config_reload; null: there is none
  named           TEXT                       -- the digest in it; null: its document came not with its line
) STRICT;
CREATE TABLE setting_tag (
  name            TEXT PRIMARY KEY,          -- model.default
  tag             TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is there already. A ledger that was taken over from a later build may have brought lines of these kinds.

INSERT INTO conversation (thread_id, last_line, turns, title_line, project, state, state_line)
SELECT h.thread_id, coalesce(t.last, b.line), ifnull(t.turns, 0),
       (SELECT max(a.line) FROM artifact a WHERE a.kind = 'conversation_title' AND a.id = h.thread_id),
       (SELECT json_extract(a.document, '$.content.project') FROM artifact a
         WHERE a.kind = 'conversation_project' AND a.id = h.thread_id ORDER BY a.line DESC LIMIT 1),
       CASE s.kind WHEN 'conversation_archived' THEN 'archived' ELSE 'open' END,
       coalesce(s.line, b.line, t.first)
  FROM thread h
  LEFT JOIN (SELECT thread_id, count(*) AS turns, min(line) AS first, max(line) AS last
               FROM thread_turn GROUP BY thread_id) t ON t.thread_id = h.thread_id
  LEFT JOIN (SELECT id, min(line) AS line FROM artifact WHERE kind = 'thread' GROUP BY id) b ON b.id = h.thread_id
  LEFT JOIN (SELECT id, kind, max(line) AS line FROM artifact
              WHERE kind IN ('conversation_archived', 'conversation_restored') GROUP BY id) s ON s.id = h.thread_id
 WHERE coalesce(t.last, b.line) IS NOT NULL;

INSERT INTO project (id, line, name_line, state)
SELECT p.id, p.line,
       coalesce((SELECT max(a.line) FROM artifact a
                  WHERE a.kind = 'project_renamed' AND a.id = p.id AND a.line > p.line), p.line),
       CASE WHEN EXISTS (SELECT 1 FROM artifact a
                          WHERE a.kind = 'project_retired' AND a.id = p.id AND a.line > p.line)
            THEN 'retired' ELSE 'open' END
  FROM (SELECT id, min(line) AS line FROM artifact WHERE kind = 'project' GROUP BY id) p;

-- The tables of the AUA state store, as views: its columns first, ours after them. Lines are numbered from 0, times are
-- seconds since the epoch. docs/schema.md says where each column is from, or why it is null.

CREATE VIEW sessions (id, created_at, updated_at, domain, query_count, metadata, model, status) AS
SELECT s.session_id, s.started_at, s.last_at, NULL, s.prompts,
       json_object('token_id', s.auth_key_hash,
                   'trace_ids', json((SELECT json_group_array(x.exchange_id)
                                        FROM (SELECT e.exchange_id FROM llm_exchange e
                                               WHERE e.session_id = s.session_id ORDER BY e.seq) x)),
                   'routing', json_object('model', s.model_id)),
       s.model_id, s.status
  FROM chat_session s;

CREATE VIEW conversations (conversation_id, user_id, title, project_id, created_at, updated_at, state, turns) AS
SELECT c.thread_id,
       (SELECT k.name FROM chat_session s JOIN auth_key k ON k.auth_key_hash = s.auth_key_hash
         WHERE s.session_id = h.session_id),
       CASE WHEN c.title_line IS NOT NULL
            THEN (SELECT json_extract(a.document, '$.content.title') FROM artifact a WHERE a.line = c.title_line)
            ELSE coalesce(h.name, (SELECT substr(t.content, 1, 60)
                                     FROM thread_event v JOIN chat_turn t ON t.turn_id = v.event_id
                                    WHERE v.thread_id = c.thread_id AND v.kind = 'INTENT' ORDER BY v.line LIMIT 1)) END,
       c.project, h.created_at,
       coalesce((SELECT v.created_at FROM thread_event v WHERE v.thread_id = c.thread_id ORDER BY v.line DESC LIMIT 1),
                h.created_at),
       c.state, c.turns
  FROM conversation c JOIN thread h ON h.thread_id = c.thread_id;

CREATE VIEW messages (message_id, conversation_id, role, content, callout_type, models_used, accuracy_level, confidence,
                      created_at, exchange_id, line) AS
SELECT t.turn_id, v.thread_id, CASE v.kind WHEN 'INTENT' THEN 'user' ELSE 'assistant' END, t.content, NULL,
       CASE v.kind WHEN 'INTENT' THEN '[]' ELSE json_array(e.model) END, NULL, NULL, v.created_at, e.exchange_id, v.line
  FROM thread_event v JOIN chat_turn t ON t.turn_id = v.event_id JOIN llm_exchange e ON e.exchange_id = v.turn_id
 WHERE v.kind IN ('INTENT', 'EXECUTION')
UNION ALL                                    -- of exchanges whose thread was lost with a database
SELECT t.turn_id, NULL, CASE t.speaker WHEN 'user' THEN 'user' ELSE 'assistant' END, t.content, NULL,
       CASE t.speaker WHEN 'user' THEN '[]' ELSE json_array(e.model) END, NULL, NULL, t.created_at, e.exchange_id,
       CASE t.speaker WHEN 'user' THEN e.prompt_line ELSE e.outcome_line END
  FROM chat_turn t JOIN llm_exchange e ON e.prompt_line = t.line
 WHERE NOT EXISTS (SELECT 1 FROM thread_turn h WHERE h.line = t.line);

CREATE VIEW projects (project_id, user_id, name, created_at, state) AS
SELECT p.id,
       (SELECT k.name FROM artifact a JOIN auth_key k ON k.auth_key_hash = json_extract(a.document, '$.content.by')
         WHERE a.line = p.line),
       (SELECT json_extract(a.document, '$.content.name') FROM artifact a WHERE a.line = p.name_line),
       -- HASH|HEIGHT|TIMESTAMP|…, a hash of 64 digits and a time of 20 characters
       (SELECT CAST(strftime('%s', substr(l.line, 66 + instr(substr(l.line, 66), '|'), 20)) AS INTEGER)
          FROM log_line l WHERE l.n = p.line),
       p.state
  FROM project p;

-- HASH|HEIGHT|TIMESTAMP|EVENT_TYPE|SESSION_ID|DETAILS, taken apart.
CREATE VIEW log_line_part (n, hash, line, time, event, session, details) AS
SELECT n, hash, line, substr(rest, 1, 20), substr(rest, 22, at - 1),
       CASE substr(rest, 22 + at, 1) WHEN '-' THEN NULL ELSE substr(rest, 22 + at, 64) END,
       CASE substr(rest, 22 + at, 1) WHEN '-' THEN substr(rest, 24 + at) ELSE substr(rest, 87 + at) END
  FROM (SELECT n, hash, line, rest, instr(substr(rest, 22), '|') AS at
          FROM (SELECT n, hash, line, substr(line, 66 + instr(substr(line, 66), '|')) AS rest FROM log_line));

CREATE VIEW audit_log (id, created_at, event_type, session_id, trace_id, token_id, field, specialist, u_score,
                       confidence, latency_ms, details, prev_hash, curr_hash, line) AS
SELECT l.n, CAST(strftime('%s', l.time) AS INTEGER),
       CASE WHEN l.event = 'prompt' THEN 'query'
            WHEN l.event = 'auth_fail' THEN 'auth_failure'
            WHEN l.event <> 'artifact' THEN l.event
            WHEN l.details LIKE 'kind:correction,%' THEN 'correction'
            WHEN l.details LIKE 'kind:promotion,%' THEN 'promotion'
            WHEN l.details LIKE 'kind:config@_reload,%' ESCAPE '@' THEN 'config_reload'
            ELSE 'artifact' END,
       (SELECT s.session_id FROM chat_session s WHERE s.ledger_session = l.session), e.exchange_id,
       (SELECT s.auth_key_hash FROM chat_session s WHERE s.ledger_session = l.session), NULL, e.model, NULL, NULL,
       CASE WHEN l.event IN ('response', 'response_fail') THEN (e.answered_at - e.created_at) * 1000 END,
       (SELECT json_group_object(substr(j.value, 1, instr(j.value, ':') - 1), substr(j.value, instr(j.value, ':') + 1))
          FROM json_each('[' || replace(json_quote(l.details), ',', '","') || ']') j),
       coalesce((SELECT p.hash FROM log_line p WHERE p.n = l.n - 1),
                CASE l.n WHEN 0 THEN '39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69' END),
       l.hash, l.line
  FROM log_line_part l
  -- DETAILS are key:value joined by ','; of the events with a number, it is that of a prompt
  LEFT JOIN llm_exchange e
    ON e.session_id = (SELECT s.session_id FROM chat_session s WHERE s.ledger_session = l.session)
   AND instr(',' || l.details, ',seq:') > 0
   AND e.seq = CAST(substr(l.details, instr(',' || l.details, ',seq:') + 4) AS INTEGER);

-- The words of turns as the index has them. Our own connections refuse a view over such a table (trusted_schema is
-- off), and read the table by a query; the view is for others.
CREATE VIRTUAL TABLE turn_fts_vocab USING fts5vocab(turn_fts, 'instance');
CREATE VIEW keyword_index (keyword, message_id, conversation_id, role, created_at) AS
SELECT DISTINCT w.term, t.turn_id, h.thread_id, CASE t.speaker WHEN 'user' THEN 'user' ELSE 'assistant' END,
       t.created_at
  FROM turn_fts_vocab w JOIN chat_turn t ON t.n = w.doc LEFT JOIN thread_turn h ON h.line = t.line;
