-- What was expected of who is asked, on record with each exchange. docs/schema.md explains column and view.

-- What was expected of the specialist in the likeliest domain of the question when it was asked, in thousandths; null
-- where a model was asked by its own name, and of exchanges from before.
ALTER TABLE exchange_measure ADD COLUMN utility INTEGER CHECK (utility BETWEEN 0 AND 1000);

-- What a specialist's answer was worth: what was expected of it, and what the checks of its reply add by the kernel of its
-- session, held between nothing and a whole; in thousandths. A kernel that says nothing of it has the shipped numbers.
DROP VIEW exchange_utility;
CREATE VIEW exchange_utility (exchange_id, utility) AS
SELECT e.exchange_id,
       max(0, min(1000, coalesce(m.utility, c.utility) + ifnull((
         SELECT sum(CASE WHEN v.level = 'info' THEN w.info WHEN v.passed = 1 THEN w.passed
                         WHEN v.level = 'soft' THEN w.soft ELSE w.blocking END)
           FROM assertion_event v WHERE v.line = e.prompt_line), 0)))
  FROM llm_exchange e
  JOIN chat_session s ON s.session_id = e.session_id JOIN check_worth w ON w.kernel_hash = s.kernel_hash
  LEFT JOIN exchange_measure m ON m.line = e.prompt_line
  LEFT JOIN council_answer c ON c.exchange_id = e.exchange_id
 WHERE e.outcome = 'answered' AND w.soft IS NOT NULL AND coalesce(m.utility, c.utility) IS NOT NULL;
