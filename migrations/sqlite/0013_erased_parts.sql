-- A council's answer that was erased before it was decided, and handoffs of which something that they sum up is erased;
-- what a handoff among it sums up is summed up, too.
CREATE TABLE council_answer_before AS SELECT * FROM council_answer;
DROP TABLE council_answer;
CREATE TABLE council_answer (                -- one row for each member that was asked in a first round
  exchange_id     TEXT PRIMARY KEY,
  council_line    INTEGER NOT NULL REFERENCES artifact(line),
  specialist      TEXT NOT NULL,             -- specialist:000001
  utility         INTEGER NOT NULL,          -- expected in the likeliest domain of the question, in thousandths
  welfare         INTEGER NOT NULL,          -- expected in all of the question, in millionths
  payment         INTEGER NOT NULL,          -- what its choice cost the others, in millionths
  confidence      INTEGER,                   -- agreeing votes among all on it, in thousandths; null: there were none
  place           TEXT NOT NULL CHECK (place IN ('won', 'lost', 'failed', 'denied', 'withheld', 'erased'))
) STRICT;
INSERT INTO council_answer
SELECT exchange_id, council_line, specialist, utility, welfare, payment, confidence, place FROM council_answer_before;
DROP TABLE council_answer_before;
CREATE INDEX idx_council_answer_council ON council_answer(council_line);

DROP VIEW readable_handoff;
CREATE VIEW readable_handoff (thread_id, line, upto, thread_number, content) AS
SELECT k.thread_id, k.line, k.upto, k.thread_number, t.content
  FROM handoff k CROSS JOIN llm_exchange e ON e.exchange_id = k.exchange_id
  CROSS JOIN chat_turn t ON t.turn_id = e.turn_aurora_id
 WHERE t.content IS NOT NULL
   AND NOT EXISTS (
       WITH RECURSIVE summed (line) AS (
         SELECT e.prompt_line
         UNION SELECT h.line
           FROM summed s CROSS JOIN context_ref r ON r.line = s.line
           CROSS JOIN chat_turn d ON d.turn_id = r.event_id
           CROSS JOIN thread_turn h ON h.line = d.line
          WHERE h.intent_type = 'context.handoff' AND h.line < s.line)
       SELECT 1 FROM summed s CROSS JOIN context_ref r ON r.line = s.line WHERE r.event_digest IS NULL);

DROP VIEW context_backups;
CREATE VIEW context_backups (backup_id, conversation_id, specialist, trigger, thread_number, backup_text,
                             token_estimate, created_at, exchange_id, upto, is_valid, line) AS
SELECT k.id, k.thread_id, coalesce(k.specialist, e.model), k.trigger_name, k.thread_number, t.content,
       length(t.content) / 4, CAST(strftime('%s', l.time) AS INTEGER), k.exchange_id, k.upto,
       EXISTS (SELECT 1 FROM readable_handoff b WHERE b.thread_id = k.thread_id AND b.line = k.line)
         AND NOT EXISTS (SELECT 1 FROM said_message m WHERE m.thread_id = k.thread_id AND m.line > k.upto),
       k.line
  FROM handoff k JOIN log_line_part l ON l.n = k.line LEFT JOIN llm_exchange e ON e.exchange_id = k.exchange_id
  LEFT JOIN chat_turn t ON t.turn_id = e.turn_aurora_id;
