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
  place           TEXT NOT NULL CHECK (place IN ('won', 'lost', 'failed', 'denied', 'withheld'))
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
