-- Handoffs: conversations, summed up for whoever goes on in them. docs/schema.md explains each table and view.

CREATE TABLE handoff (                       -- derived from artifact; its text is the answer of its exchange
  line          INTEGER PRIMARY KEY REFERENCES artifact(line),
  id            TEXT NOT NULL,               -- handoff:000001
  exchange_id   TEXT NOT NULL,
  thread_id     TEXT NOT NULL,               -- the conversation that it sums up
  specialist    TEXT,                        -- specialist:000001; null: a model was asked by its own name
  thread_number INTEGER NOT NULL,            -- how many the conversation has, with this one
  trigger_name  TEXT NOT NULL CHECK (trigger_name IN ('token_threshold', 'message_count', 'time_gap', 'manual',
                                                      'coverage_job_no_backup', 'coverage_job_stale')),
  upto          INTEGER NOT NULL             -- line of the newest message that it is about
) STRICT;
CREATE INDEX idx_handoff_thread ON handoff(thread_id, line);
CREATE INDEX idx_handoff_id ON handoff(id);

-- What was said as messages: neither a decision, a handoff, a review nor an answer that a council decided against is one. Who said it is the specialist, else the model.
CREATE VIEW said_message (thread_id, line, created_at, characters, specialist, model) AS
SELECT v.thread_id, v.line, v.created_at, length(t.content), x.specialist, e.model
  FROM thread_event v CROSS JOIN llm_exchange e ON e.exchange_id = v.turn_id
  CROSS JOIN message_turn h ON h.line = e.prompt_line
  LEFT JOIN chat_turn t ON t.turn_id = v.event_id
  LEFT JOIN exchange_measure x ON x.line = e.prompt_line
 WHERE v.kind IN ('INTENT', 'EXECUTION');

-- Handoffs whose text is there; the newest of a conversation is the one that is gone on from.
CREATE VIEW readable_handoff (thread_id, line, upto, thread_number, content) AS
SELECT k.thread_id, k.line, k.upto, k.thread_number, t.content
  FROM handoff k CROSS JOIN llm_exchange e ON e.exchange_id = k.exchange_id
  CROSS JOIN chat_turn t ON t.turn_id = e.turn_aurora_id
 WHERE t.content IS NOT NULL;

-- The AUA state store's tables of context pressure: its columns first, ours after them.

CREATE VIEW token_counters (counter_id, specialist, conversation_id, token_estimate, message_count, thread_number,
                            updated_at) AS
SELECT thread_id || '/' || who, who, thread_id, ifnull(sum(characters), 0) / 4, count(since), ifnull(max(thread_number), 0),
       max(max(created_at), ifnull(max(made_at), 0))
  FROM (SELECT m.thread_id, coalesce(m.specialist, m.model) AS who, m.created_at,
               CASE WHEN m.line > ifnull(b.upto, -1) THEN m.characters END AS characters,
               CASE WHEN m.line > ifnull(b.upto, -1) THEN 1 END AS since, b.thread_number,
               (SELECT CAST(strftime('%s', l.time) AS INTEGER) FROM log_line_part l WHERE l.n = b.line) AS made_at
          FROM said_message m LEFT JOIN readable_handoff b
            ON b.line = (SELECT max(n.line) FROM readable_handoff n WHERE n.thread_id = m.thread_id))
 GROUP BY thread_id, who;

CREATE VIEW context_backups (backup_id, conversation_id, specialist, trigger, thread_number, backup_text,
                             token_estimate, created_at, exchange_id, upto, is_valid, line) AS
SELECT k.id, k.thread_id, coalesce(k.specialist, e.model), k.trigger_name, k.thread_number, t.content,
       length(t.content) / 4, CAST(strftime('%s', l.time) AS INTEGER), k.exchange_id, k.upto,
       t.content IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM said_message m WHERE m.thread_id = k.thread_id AND m.line > k.upto),
       k.line
  FROM handoff k JOIN log_line_part l ON l.n = k.line LEFT JOIN llm_exchange e ON e.exchange_id = k.exchange_id
  LEFT JOIN chat_turn t ON t.turn_id = e.turn_aurora_id;
