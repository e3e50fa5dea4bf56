-- The relationship database (AEGIS 5.2) and what commitments, the commit point and recovery need.
-- Times are whole seconds since the Unix epoch. Hashes are 64 lower-case hexadecimal digits.
-- A text is stored once, in chat_turn.content (or artifact.document); everything else refers to it.

CREATE TABLE kernel (
  kernel_hash     TEXT PRIMARY KEY,
  document        TEXT NOT NULL              -- canonical JSON of kernel.toml
) STRICT;

CREATE TABLE auth_key (
  auth_key_hash   TEXT PRIMARY KEY,          -- H(auth_key): the key itself is nowhere in here
  name            TEXT NOT NULL UNIQUE,
  added_at        INTEGER NOT NULL,
  revoked_at      INTEGER
) STRICT;

CREATE TABLE auth_failure (                  -- failures of the running minute that have no line yet
  reason          TEXT PRIMARY KEY,
  since           INTEGER NOT NULL,
  pending         INTEGER NOT NULL
) STRICT;

CREATE TABLE block (                         -- every block that a line has named
  hash            TEXT PRIMARY KEY,
  height          INTEGER NOT NULL,
  header          TEXT NOT NULL,
  document        TEXT NOT NULL              -- the block as documents spell it
) STRICT;
CREATE INDEX idx_block_height ON block(height);

CREATE TABLE chat_session (
  session_id      TEXT PRIMARY KEY,          -- UUID (version 8) derived from ledger_session
  started_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  phase           TEXT NOT NULL,
  tier            INTEGER NOT NULL,
  kernel_hash     TEXT NOT NULL REFERENCES kernel(kernel_hash),
  host_role       TEXT NOT NULL,
  model_id        TEXT NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('open', 'closed')),
  ledger_session  TEXT NOT NULL UNIQUE,      -- the session id of ledger and log
  auth_key_hash   TEXT NOT NULL REFERENCES auth_key(auth_key_hash),
  branch          TEXT NOT NULL,
  block           TEXT NOT NULL,             -- the last block the session has seen, as documents spell it
  header          TEXT,                      -- its header; null for the local block
  prompts         INTEGER NOT NULL,
  interactions    INTEGER NOT NULL,
  chain_head      TEXT NOT NULL,             -- the last chain entry, or the session id
  last_at         INTEGER NOT NULL           -- time of its last line
) STRICT;
CREATE INDEX idx_chat_session_open ON chat_session(status) WHERE status = 'open';

CREATE TABLE chat_turn (
  turn_id         TEXT PRIMARY KEY,
  session_id      TEXT NOT NULL REFERENCES chat_session(session_id),
  created_at      INTEGER NOT NULL,
  speaker         TEXT NOT NULL CHECK (speaker IN ('user', 'aurora')),
  content         TEXT,                      -- sanitized; null once erased
  content_hash    TEXT,                      -- SHA-256 of content; null once erased
  refusal         INTEGER NOT NULL DEFAULT 0,
  authority_state TEXT NOT NULL CHECK (authority_state IN ('ok', 'insufficient', 'blocked')),
  driftwatch_id   TEXT
) STRICT;
CREATE INDEX idx_chat_turn_session_time ON chat_turn(session_id, created_at);
CREATE INDEX idx_chat_turn_content ON chat_turn(content_hash) WHERE speaker = 'user';

CREATE TABLE llm_exchange (
  exchange_id         TEXT PRIMARY KEY,
  session_id          TEXT NOT NULL REFERENCES chat_session(session_id),
  turn_user_id        TEXT NOT NULL REFERENCES chat_turn(turn_id),
  turn_aurora_id      TEXT REFERENCES chat_turn(turn_id),  -- null: no answer was given, none is made up
  context_bundle_hash TEXT,                  -- null: nothing was compiled (a denial, a failed compile)
  context_bundle_json TEXT,                  -- holds references, no turn's text
  prompt_hash         TEXT,                  -- SHA-256 of the compiled prompt (not the ledger's prompt commitment)
  prompt_compiled     TEXT,                  -- always null: rendered on read from kernel, bundle and user turn
  response_hash       TEXT,                  -- SHA-256 of the stored answer
  response_sanitized  TEXT,                  -- always null: the answer stands in its turn
  validator_summary   TEXT,                  -- null until answered
  created_at          INTEGER NOT NULL,      -- time of the prompt line
  seq                 INTEGER NOT NULL,
  model               TEXT NOT NULL,
  decision            TEXT NOT NULL CHECK (decision IN ('allow', 'deny', 'none')),
  authority_state     TEXT NOT NULL,
  exclusions          TEXT NOT NULL,         -- JSON list of what was left out and why
  outcome             TEXT CHECK (outcome IN ('answered', 'failed', 'denied')),  -- null while in flight
  reason              TEXT,                  -- code, for failed and denied
  refusal             INTEGER,
  answered_at         INTEGER,               -- time of the outcome's line
  prompt_tokens       INTEGER,
  completion_tokens   INTEGER,
  params              TEXT,                  -- canonical JSON of what the call was made with; null: no call was to be made
  cost_micro          INTEGER,               -- millionths of cost_currency, by the price table of its time
  cost_currency       TEXT,
  salt                BLOB,                  -- 32 bytes; null once erased
  prompt_commitment   TEXT NOT NULL,
  response_commitment TEXT,
  exchange_commitment TEXT,
  chain_entry         TEXT,
  prompt_line         INTEGER NOT NULL,
  outcome_line        INTEGER,
  UNIQUE (session_id, seq)
) STRICT;
CREATE INDEX idx_llm_exchange_session_time ON llm_exchange(session_id, created_at);
CREATE INDEX idx_llm_exchange_prompt ON llm_exchange(prompt_hash) WHERE outcome = 'answered';
CREATE INDEX idx_llm_exchange_turn_user ON llm_exchange(turn_user_id);
CREATE INDEX idx_llm_exchange_chain ON llm_exchange(chain_entry) WHERE chain_entry IS NOT NULL;
CREATE INDEX idx_llm_exchange_in_flight ON llm_exchange(session_id) WHERE outcome IS NULL;

CREATE TABLE context_artifact_ref (
  ref_id          TEXT PRIMARY KEY,
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  artifact_type   TEXT NOT NULL,
  artifact_id     TEXT NOT NULL,
  artifact_hash   TEXT,
  included_reason TEXT NOT NULL,
  observed_at     INTEGER,
  freshness_s     INTEGER,
  risk_flags      TEXT
) STRICT;
CREATE INDEX idx_context_artifact_exchange ON context_artifact_ref(exchange_id);

CREATE TABLE drift_event (                   -- AEGIS 9.3
  drift_id        TEXT PRIMARY KEY,
  kind            TEXT NOT NULL CHECK (kind = 'DRIFTWATCH'),
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  drift_class     TEXT NOT NULL,
  severity        TEXT NOT NULL,
  prompt_hash     TEXT NOT NULL,             -- the ledger's commitment
  response_hash   TEXT NOT NULL,             -- the ledger's commitment
  summary         TEXT NOT NULL,
  created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX idx_drift_event_exchange ON drift_event(exchange_id);

CREATE TABLE artifact (                      -- everything else that must not change silently
  line            INTEGER PRIMARY KEY,       -- its artifact line
  kind            TEXT NOT NULL,
  id              TEXT NOT NULL,
  document        TEXT,                      -- canonical JSON; null once erased
  salt            BLOB,
  commitment      TEXT NOT NULL
) STRICT;

CREATE INDEX idx_artifact_kind ON artifact(kind, line);

-- What is written to the log and to git, so that both can be made again from here without a key.
CREATE TABLE log_line (
  n               INTEGER PRIMARY KEY,       -- from 0
  hash            TEXT NOT NULL,
  line            TEXT NOT NULL              -- without its newline
) STRICT;

CREATE TABLE ledger_commit (
  n               INTEGER PRIMARY KEY,       -- from 0, in the order of application
  line            INTEGER NOT NULL REFERENCES log_line(n),
  kind            TEXT NOT NULL,
  ref             TEXT NOT NULL,
  id              TEXT NOT NULL UNIQUE,      -- git object id
  raw             BLOB NOT NULL,             -- the commit object, signature included
  tree_of         INTEGER REFERENCES ledger_commit(n),  -- shares the files of this commit
  segment_from    INTEGER,                   -- first line of its audit.log; null: has none
  segment_to      INTEGER
) STRICT;
CREATE INDEX idx_ledger_commit_line ON ledger_commit(line);
CREATE INDEX idx_ledger_commit_ref ON ledger_commit(ref, n);
CREATE INDEX idx_ledger_commit_start ON ledger_commit(ref, kind, n) WHERE kind = 'session_start';

CREATE TABLE ledger_file (                   -- a commit's files, but for audit.log, which is lines
  commit_n        INTEGER NOT NULL REFERENCES ledger_commit(n),
  name            TEXT NOT NULL,
  content         BLOB NOT NULL,
  PRIMARY KEY (commit_n, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE head (
  id              INTEGER PRIMARY KEY CHECK (id = 1),
  genesis         TEXT NOT NULL,             -- genesis.json
  signer          TEXT NOT NULL,             -- the key in force
  lines           INTEGER NOT NULL,
  hash            TEXT NOT NULL,             -- HASH of the last line
  time            INTEGER NOT NULL,
  height          INTEGER NOT NULL,          -- the highest of all lines
  bytes           INTEGER NOT NULL,          -- length of audit.log with all lines in it
  frontier        BLOB NOT NULL,             -- right edge of the Merkle tree
  commits         INTEGER NOT NULL,
  segment_lines   INTEGER NOT NULL,          -- lines that are inside main
  segment_at      INTEGER NOT NULL,
  last_branch     TEXT,                      -- of the session started last
  applied_lines   INTEGER NOT NULL,          -- known to be durable in audit.log
  applied_bytes   INTEGER NOT NULL,
  applied_commits INTEGER NOT NULL           -- known to be durable in git
) STRICT;

-- Rows that are evidence never change: an exchange gets one outcome, once. (Erasing text later nulls
-- text, plain hashes and salt, which are not named here.)
CREATE TRIGGER llm_exchange_is_final BEFORE UPDATE OF
  exchange_id, session_id, seq, turn_user_id, turn_aurora_id, model, decision, authority_state, exclusions, outcome, reason, refusal,
  created_at, answered_at, prompt_tokens, completion_tokens, cost_micro, cost_currency, validator_summary, prompt_commitment,
  response_commitment, exchange_commitment, chain_entry, prompt_line, outcome_line
ON llm_exchange WHEN OLD.outcome IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'an exchange with an outcome is evidence and never changes'); END;

CREATE TRIGGER log_line_is_final BEFORE UPDATE ON log_line
BEGIN SELECT RAISE(ABORT, 'a log line is evidence and never changes'); END;
CREATE TRIGGER log_line_stays BEFORE DELETE ON log_line
BEGIN SELECT RAISE(ABORT, 'a log line is evidence and is never deleted'); END;
CREATE TRIGGER ledger_commit_is_final BEFORE UPDATE ON ledger_commit
BEGIN SELECT RAISE(ABORT, 'a commit is evidence and never changes'); END;
CREATE TRIGGER ledger_commit_stays BEFORE DELETE ON ledger_commit
BEGIN SELECT RAISE(ABORT, 'a commit is evidence and is never deleted'); END;

CREATE TRIGGER llm_exchange_was_asked BEFORE UPDATE OF
  exchange_id, session_id, seq, turn_user_id, model, decision, authority_state, exclusions, created_at,
  prompt_commitment, prompt_line
ON llm_exchange
BEGIN SELECT RAISE(ABORT, 'what was asked is evidence and never changes'); END;
CREATE TRIGGER llm_exchange_stays BEFORE DELETE ON llm_exchange
BEGIN SELECT RAISE(ABORT, 'an exchange is evidence and is never deleted'); END;
CREATE TRIGGER chat_session_is_final BEFORE UPDATE OF
  session_id, started_at, phase, tier, kernel_hash, host_role, model_id, ledger_session, auth_key_hash, branch
ON chat_session
BEGIN SELECT RAISE(ABORT, 'a session''s start is evidence and never changes'); END;
CREATE TRIGGER chat_session_stays BEFORE DELETE ON chat_session
BEGIN SELECT RAISE(ABORT, 'a session is evidence and is never deleted'); END;
CREATE TRIGGER chat_turn_is_final BEFORE UPDATE OF
  turn_id, session_id, created_at, speaker, refusal, authority_state, driftwatch_id
ON chat_turn
BEGIN SELECT RAISE(ABORT, 'a turn is evidence and never changes'); END;
CREATE TRIGGER chat_turn_stays BEFORE DELETE ON chat_turn
BEGIN SELECT RAISE(ABORT, 'a turn is evidence and is never deleted'); END;
CREATE TRIGGER context_artifact_ref_is_final BEFORE UPDATE ON context_artifact_ref
BEGIN SELECT RAISE(ABORT, 'what was injected is evidence and never changes'); END;
CREATE TRIGGER context_artifact_ref_stays BEFORE DELETE ON context_artifact_ref
BEGIN SELECT RAISE(ABORT, 'what was injected is evidence and is never deleted'); END;
CREATE TRIGGER drift_event_is_final BEFORE UPDATE ON drift_event
BEGIN SELECT RAISE(ABORT, 'a drift event is evidence and never changes'); END;
CREATE TRIGGER drift_event_stays BEFORE DELETE ON drift_event
BEGIN SELECT RAISE(ABORT, 'a drift event is evidence and is never deleted'); END;
CREATE TRIGGER artifact_is_final BEFORE UPDATE OF line, kind, id, commitment ON artifact
BEGIN SELECT RAISE(ABORT, 'an artifact is evidence and never changes'); END;
CREATE TRIGGER artifact_stays BEFORE DELETE ON artifact
BEGIN SELECT RAISE(ABORT, 'an artifact is evidence and is never deleted'); END;
CREATE TRIGGER ledger_file_is_final BEFORE UPDATE ON ledger_file
BEGIN SELECT RAISE(ABORT, 'a commit''s file is evidence and never changes'); END;
CREATE TRIGGER ledger_file_stays BEFORE DELETE ON ledger_file
BEGIN SELECT RAISE(ABORT, 'a commit''s file is evidence and is never deleted'); END;
