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
SELECT thread_id || '/' || who, who, thread_id, ifnull(sum(characters), 0) / 4, count(since), ifnull(max(thread_number), 0),
       max(max(created_at), ifnull(max(made_at), 0))
  FROM (SELECT m.thread_id, coalesce(m.specialist, m.model) AS who, m.created_at,
               CASE WHEN m.line > ifnull(b.upto, -1) THEN m.characters END AS characters,
               CASE WHEN m.line > ifnull(b.upto, -1) THEN 1 END AS since, b.thread_number,
               (SELECT CAST(strftime('%s', l.time) AS INTEGER) FROM log_line_part l WHERE l.n = b.line) AS made_at
          FROM thread c LEFT JOIN readable_handoff b
            ON b.line = (SELECT n.line FROM readable_handoff n WHERE n.thread_id = c.thread_id ORDER BY n.line DESC LIMIT 1)
          CROSS JOIN said_message m ON m.thread_id = c.thread_id)
 GROUP BY thread_id, who;
