-- What was measured of a turn, and what its trace is committed to: one row with each outcome. There is none for a prompt
-- that nobody waited for any more, and none for exchanges from before this table. No text stands in it, so erasing
-- leaves it as it is. Times are whole milliseconds of a monotonic clock; null where the step did not take place.
CREATE TABLE exchange_measure (
  line             INTEGER PRIMARY KEY,      -- of the prompt of its exchange
  exchange_id      TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  program          TEXT NOT NULL,            -- who recorded it: name and version
  door             TEXT NOT NULL CHECK (door IN ('ask', 'chat', 'council', 'review', 'handoff', 'serve')),
  depth            INTEGER NOT NULL,         -- 0 for a thread's first turn, else its parent's and one
  sources          INTEGER NOT NULL,         -- the model, and what was put before it but the kernel; 0: none was to be called
  same_pairs       INTEGER NOT NULL,         -- pairs of them that are of one origin
  is_in_conflict   INTEGER NOT NULL CHECK (is_in_conflict IN (0, 1)),  -- whether something injected is
  compile_ms       INTEGER NOT NULL,         -- from the turn's begin until it was handed to the recorder
  first_byte_ms    INTEGER,                  -- from the request until the first byte of the answer's body
  model_ms         INTEGER,                  -- … until its last byte
  judge_ms         INTEGER,                  -- for judging the reply
  trace_mapping    TEXT NOT NULL,            -- how facts became fields: gently.trace/1
  trace_commitment TEXT NOT NULL,            -- to the signed bytes of the generic trace
  trace_key        BLOB                      -- opens that commitment, which is to no text; null: no openings are kept, or none are needed
) STRICT;
