-- Councils and handoffs. docs/schema.md explains each table.

-- In which round of a council it was asked; null outside of one.
ALTER TABLE exchange_measure ADD COLUMN round TEXT CHECK (round IN ('answer', 'peer_review'));
-- How often the question was asked before, as its answers were blocked; null where it was to be asked once.
ALTER TABLE exchange_measure ADD COLUMN attempt INTEGER CHECK (attempt BETWEEN 0 AND 3);

-- What councils decided; derived from artifact by the rules of src/record/ledger/council.rs. No text stands here.
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
CREATE INDEX idx_council_answer_council ON council_answer(council_line);
CREATE TABLE council_review (                -- one row for each answer that a review was shown
  id              TEXT PRIMARY KEY,          -- the council's id, a slash and a number: council:000001/1
  council_line    INTEGER NOT NULL REFERENCES artifact(line),
  exchange_id     TEXT NOT NULL,             -- of the review
  of_exchange_id  TEXT NOT NULL,             -- of the answer
  verdict         TEXT CHECK (verdict IN ('agree', 'disagree'))  -- null: it was no vote
) STRICT;
CREATE INDEX idx_council_review_council ON council_review(council_line);
CREATE INDEX idx_council_review_of ON council_review(of_exchange_id);
CREATE INDEX idx_council_review_exchange ON council_review(exchange_id);

CREATE INDEX idx_thread_turn_aside ON thread_turn(line) WHERE intent_type <> 'chat.message';

-- The turns of threads that are messages: somebody asked, and no council decided against the answer. Reviews and
-- handoffs stand in the thread beside them.
CREATE VIEW message_turn (line, turn_id, thread_id) AS
SELECT h.line, h.turn_id, h.thread_id
  FROM thread_turn h
 WHERE h.intent_type = 'chat.message'
   AND NOT EXISTS (SELECT 1 FROM council_answer a WHERE a.exchange_id = h.turn_id AND a.place <> 'won');

-- The AUA state store's views again, with what councils know. docs/schema.md says where each column is from.

-- Which corrections are about an exchange; erasing one takes it out of here.
CREATE INDEX idx_artifact_correction_about ON artifact(json_extract(document, '$.content.about'))
  WHERE kind = 'correction' AND document IS NOT NULL;

DROP VIEW sessions;
CREATE VIEW sessions (id, created_at, updated_at, domain, query_count, metadata, model, status) AS
SELECT s.session_id, s.started_at, s.last_at,
       (SELECT json_extract(a.document, '$.content.domains[0].domain')
          FROM llm_exchange e JOIN council_answer c ON c.exchange_id = e.exchange_id JOIN artifact a ON a.line = c.council_line
         WHERE e.session_id = s.session_id ORDER BY e.seq DESC LIMIT 1),
       s.prompts,
       json_object('token_id', s.auth_key_hash,
                   'trace_ids', json((SELECT json_group_array(x.exchange_id)
                                        FROM (SELECT e.exchange_id FROM llm_exchange e
                                               WHERE e.session_id = s.session_id ORDER BY e.seq) x)),
                   'routing', json_object('model', s.model_id)),
       s.model_id, s.status
  FROM chat_session s;

DROP VIEW conversations;
CREATE VIEW conversations (conversation_id, user_id, title, project_id, created_at, updated_at, state, turns) AS
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
       c.state, c.turns
  FROM conversation c JOIN thread h ON h.thread_id = c.thread_id;

DROP VIEW messages;
CREATE VIEW messages (message_id, conversation_id, role, content, callout_type, models_used, accuracy_level, confidence,
                      created_at, exchange_id, line) AS
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
       CASE v.kind WHEN 'EXECUTION' THEN c.confidence / 1000.0 END, v.created_at, e.exchange_id, v.line
  FROM thread_event v JOIN chat_turn t ON t.turn_id = v.event_id JOIN llm_exchange e ON e.exchange_id = v.turn_id
  LEFT JOIN council_answer c ON c.exchange_id = e.exchange_id LEFT JOIN artifact ca ON ca.line = c.council_line
 WHERE v.kind IN ('INTENT', 'EXECUTION') AND EXISTS (SELECT 1 FROM message_turn m WHERE m.line = e.prompt_line)
UNION ALL                                    -- of exchanges whose thread was lost with a database
SELECT t.turn_id, NULL, CASE t.speaker WHEN 'user' THEN 'user' ELSE 'assistant' END, t.content, NULL,
       CASE t.speaker WHEN 'user' THEN '[]' ELSE json_array(e.model) END, NULL, NULL, t.created_at, e.exchange_id,
       CASE t.speaker WHEN 'user' THEN e.prompt_line ELSE e.outcome_line END
  FROM chat_turn t JOIN llm_exchange e ON e.prompt_line = t.line
 WHERE NOT EXISTS (SELECT 1 FROM thread_turn h WHERE h.line = t.line);

-- What each kernel says that checks are worth, in thousandths; the defaults of src/govern/kernel.rs where it does not
-- say, and null where its document is lost.
CREATE VIEW check_worth (kernel_hash, soft, blocking, info, passed) AS
SELECT kernel_hash,
       CASE WHEN json_valid(document) THEN ifnull(json_extract(document, '$.utility.soft'), -50) END,
       CASE WHEN json_valid(document) THEN ifnull(json_extract(document, '$.utility.blocking'), -1000) END,
       CASE WHEN json_valid(document) THEN ifnull(json_extract(document, '$.utility.info'), 0) END,
       CASE WHEN json_valid(document) THEN ifnull(json_extract(document, '$.utility.passed'), 0) END
  FROM kernel;

-- What a specialist's answer was worth: what was expected of it, and what the checks of its reply add by the kernel of its
-- session, held between nothing and a whole; in thousandths. A kernel that says nothing of it has the shipped numbers.
CREATE VIEW exchange_utility (exchange_id, utility) AS
SELECT c.exchange_id,
       max(0, min(1000, c.utility + ifnull((
         SELECT sum(CASE WHEN v.level = 'info' THEN w.info WHEN v.passed = 1 THEN w.passed
                         WHEN v.level = 'soft' THEN w.soft ELSE w.blocking END)
           FROM assertion_event v WHERE v.line = e.prompt_line), 0)))
  FROM council_answer c JOIN llm_exchange e ON e.exchange_id = c.exchange_id
  JOIN chat_session s ON s.session_id = e.session_id JOIN check_worth w ON w.kernel_hash = s.kernel_hash
 WHERE e.outcome = 'answered' AND w.soft IS NOT NULL;

CREATE VIEW model_runs (run_id, query_id, conversation_id, specialist, round, raw_response, utility_score,
                        confidence_score, vcg_welfare_score, vcg_winner, corrections_applied, latency_ms, domain,
                        domain_l0, domain_path, created_at, model, payment, outcome, line) AS
SELECT x.exchange_id, coalesce(x.council_id, x.exchange_id), x.thread_id, coalesce(x.specialist, x.model), x.round, x.answer,
       (SELECT u.utility / 1000.0 FROM exchange_utility u WHERE u.exchange_id = x.exchange_id),
       x.confidence / 1000.0, x.welfare / 1000000.0, CASE WHEN x.place IS NOT NULL THEN x.place = 'won' END,
       (SELECT count(*) FROM context_artifact_ref r WHERE r.exchange_id = x.exchange_id AND r.artifact_type = 'correction'),
       x.first_byte_ms, x.domain,
       CASE instr(x.domain, '.') WHEN 0 THEN x.domain ELSE substr(x.domain, 1, instr(x.domain, '.') - 1) END,
       x.domain, x.created_at, x.model, x.payment / 1000000.0, x.outcome, x.prompt_line
  FROM (SELECT e.exchange_id, e.model, e.created_at, e.outcome, e.prompt_line, h.thread_id, m.specialist, m.round,
               m.first_byte_ms, c.confidence, c.welfare, c.payment, c.place, a.id AS council_id,
               coalesce(json_extract(a.document, '$.content.domains[0].domain'),
                        (SELECT g.domain FROM rating g WHERE g.exchange_id = e.exchange_id ORDER BY g.line DESC LIMIT 1))
                 AS domain,
               (SELECT t.content FROM chat_turn t WHERE t.turn_id = e.turn_aurora_id) AS answer
          FROM llm_exchange e
          LEFT JOIN thread_turn h ON h.line = e.prompt_line
          LEFT JOIN exchange_measure m ON m.line = e.prompt_line
          LEFT JOIN council_answer c ON c.exchange_id = e.exchange_id
          LEFT JOIN artifact a ON a.line = coalesce(c.council_line, (SELECT min(r.council_line) FROM council_review r
                                                                      WHERE r.exchange_id = e.exchange_id))) x;

DROP VIEW audit_log;
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
       (SELECT s.auth_key_hash FROM chat_session s WHERE s.ledger_session = l.session),
       CASE WHEN e.exchange_id IS NOT NULL
            THEN (SELECT json_extract(a.document, '$.content.domains[0].domain') FROM artifact a
                   WHERE a.line = coalesce(c.council_line, (SELECT min(r.council_line) FROM council_review r
                                                             WHERE r.exchange_id = e.exchange_id))) END,
       coalesce((SELECT m.specialist FROM exchange_measure m WHERE m.line = e.prompt_line), e.model),
       CASE WHEN l.event = 'response'
            THEN (SELECT u.utility / 1000.0 FROM exchange_utility u WHERE u.exchange_id = e.exchange_id) END,
       CASE WHEN l.event = 'response' THEN c.confidence / 1000.0 END,
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
   AND e.seq = CAST(substr(l.details, instr(',' || l.details, ',seq:') + 4) AS INTEGER)
  LEFT JOIN council_answer c ON c.exchange_id = e.exchange_id;

DROP VIEW keyword_index;
CREATE VIEW keyword_index (keyword, message_id, conversation_id, role, created_at) AS
SELECT DISTINCT w.term, t.turn_id, h.thread_id, CASE t.speaker WHEN 'user' THEN 'user' ELSE 'assistant' END,
       t.created_at
  FROM turn_fts_vocab w JOIN chat_turn t ON t.n = w.doc LEFT JOIN thread_turn h ON h.line = t.line
 WHERE h.line IS NULL OR EXISTS (SELECT 1 FROM message_turn m WHERE m.line = h.line);
