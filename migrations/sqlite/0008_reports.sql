-- Reports: what checks of replies were worth, and an index by which answers are counted without a look at their rows,
-- which hold bundles and requests. docs/schema.md explains each view.

CREATE INDEX idx_llm_exchange_counted ON llm_exchange(prompt_line, session_id, created_at, model, outcome, refusal,
                                                      answered_at, prompt_tokens, completion_tokens, cost_micro,
                                                      cost_currency);

-- The AUA state store's table of assertions. What one is worth is stored nowhere: it follows from its level, its
-- outcome and its session's kernel, by the rule of src/govern/utility.rs.
CREATE VIEW assertion_events (id, created_at, session_id, assertion_name, level, passed, bonus_applied, retries_used,
                              latency_ms, domain, policy_name, exchange_id, specialist, line) AS
SELECT a.assertion_id, a.created_at, e.session_id, a.name, a.level, a.passed,
       CASE WHEN a.level = 'info' THEN w.info WHEN a.passed = 1 THEN w.passed
            WHEN a.level = 'soft' THEN w.soft ELSE w.blocking END / 1000.0,
       m.attempt, NULL,
       (SELECT r.domain FROM rating r WHERE r.exchange_id = a.exchange_id ORDER BY r.line DESC LIMIT 1),
       s.kernel_hash, a.exchange_id, m.specialist, a.line
  FROM assertion_event a
  JOIN llm_exchange e ON e.prompt_line = a.line
  JOIN chat_session s ON s.session_id = e.session_id
  JOIN check_worth w ON w.kernel_hash = s.kernel_hash
  LEFT JOIN exchange_measure m ON m.line = a.line;
