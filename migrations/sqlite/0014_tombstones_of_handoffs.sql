-- What a handoff sums up is erased where a tombstone says so, whatever stands in the rows of its references.
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
       SELECT 1 FROM summed s CROSS JOIN context_ref r ON r.line = s.line
        WHERE r.event_digest IS NULL OR EXISTS (
              SELECT 1 FROM thread_turn h CROSS JOIN thread_event v
                  ON v.thread_id = h.thread_id AND v.event_index = r.event_index
                CROSS JOIN tombstone_id g ON g.id = v.turn_id AND g.line > v.line
               WHERE h.line = r.line));

-- The newest handoff of a conversation is looked for once, and not for each of its messages.
DROP VIEW token_counters;
CREATE VIEW token_counters (counter_id, specialist, conversation_id, token_estimate, message_count, thread_number,
                            updated_at) AS
WITH newest (thread_id, line) AS MATERIALIZED (
  SELECT h.thread_id,
         (SELECT n.line FROM readable_handoff n WHERE n.thread_id = h.thread_id ORDER BY n.line DESC LIMIT 1)
    FROM (SELECT DISTINCT thread_id FROM handoff) h)
SELECT thread_id || '/' || who, who, thread_id, ifnull(sum(characters), 0) / 4, count(since), ifnull(max(thread_number), 0),
       max(max(created_at), ifnull(max(made_at), 0))
  FROM (SELECT m.thread_id, coalesce(m.specialist, m.model) AS who, m.created_at,
               CASE WHEN m.line > ifnull(b.upto, -1) THEN m.characters END AS characters,
               CASE WHEN m.line > ifnull(b.upto, -1) THEN 1 END AS since, b.thread_number,
               (SELECT CAST(strftime('%s', l.time) AS INTEGER) FROM log_line_part l WHERE l.n = b.line) AS made_at
          FROM said_message m LEFT JOIN newest w ON w.thread_id = m.thread_id LEFT JOIN handoff b ON b.line = w.line)
 GROUP BY thread_id, who;

-- Whether a handoff is the newest word of its conversation costs less to see than whether what it sums up is there.
DROP VIEW context_backups;
CREATE VIEW context_backups (backup_id, conversation_id, specialist, trigger, thread_number, backup_text,
                             token_estimate, created_at, exchange_id, upto, is_valid, line) AS
SELECT k.id, k.thread_id, coalesce(k.specialist, e.model), k.trigger_name, k.thread_number, t.content,
       length(t.content) / 4, CAST(strftime('%s', l.time) AS INTEGER), k.exchange_id, k.upto,
       CASE WHEN EXISTS (SELECT 1 FROM said_message m WHERE m.thread_id = k.thread_id AND m.line > k.upto) THEN 0
            ELSE EXISTS (SELECT 1 FROM readable_handoff b WHERE b.thread_id = k.thread_id AND b.line = k.line) END,
       k.line
  FROM handoff k JOIN log_line_part l ON l.n = k.line LEFT JOIN llm_exchange e ON e.exchange_id = k.exchange_id
  LEFT JOIN chat_turn t ON t.turn_id = e.turn_aurora_id;
