-- The database of a home. docs/schema.md explains each table; this file says how it is stored.
--
-- Times are whole seconds since the Unix epoch. Hashes are 64 lower-case hexadecimal digits. Ids are UUIDs of
-- version 8, derived, so that the same record has the same id everywhere. A text is stored once, in chat_turn.content
-- or artifact.document; everything else refers to it.
--
-- Ids have no order, so in an index each one lies on a page of its own. What belongs to an exchange is therefore found
-- by the number of its prompt's line, which grows with the log, and ids that are only looked up stand in indexes in
-- parts of 32,768 lines (`line >> 15`): what is added lies beside what was added just before.
--
-- The triggers that keep evidence from changing are not in this file: store/sqlite/evidence.rs lists what is evidence,
-- and they are made from that list.

-- Who may ask, and under which rules -------------------------------------------------------------------------------

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

-- Sessions, turns and exchanges (AEGIS 5.2) ------------------------------------------------------------------------

CREATE TABLE chat_session (
  session_id      TEXT PRIMARY KEY,          -- derived from ledger_session
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
  driftwatch_id   TEXT,
  line            INTEGER NOT NULL,          -- of the prompt of its exchange
  n               INTEGER NOT NULL UNIQUE    -- its place in the search index
) STRICT;
CREATE INDEX idx_chat_turn_session_time ON chat_turn(session_id, created_at);
CREATE INDEX idx_chat_turn_content ON chat_turn(line >> 15, content_hash) WHERE speaker = 'user';

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
  request             TEXT,                  -- canonical JSON of what was sent, part by part; null: nothing was, or erased
  reply               TEXT,                  -- canonical JSON of what came beside the answer; null: nothing did, or erased
  cost_micro          INTEGER,               -- millionths of cost_currency, by the price table of its time
  cost_currency       TEXT,
  salt                BLOB,                  -- 32 bytes, or the keys left of it (erasure_commitment); null once erased
  prompt_commitment   TEXT NOT NULL,
  response_commitment TEXT,
  exchange_commitment TEXT,
  chain_entry         TEXT,
  prompt_line         INTEGER NOT NULL,
  outcome_line        INTEGER,
  -- With [store] content = "none" these stand in the place of the texts: what the exchange document commits to.
  user_text_commitment       TEXT,           -- not null: the texts of this exchange were not kept
  bundle_commitment          TEXT,
  compiled_prompt_commitment TEXT,
  aurora_text_commitment     TEXT,
  request_commitment         TEXT,
  reply_commitment           TEXT,
  UNIQUE (session_id, seq)
) STRICT;
CREATE INDEX idx_llm_exchange_session_time ON llm_exchange(session_id, created_at);
CREATE INDEX idx_llm_exchange_line ON llm_exchange(prompt_line);
CREATE INDEX idx_llm_exchange_prompt ON llm_exchange(prompt_line >> 15, prompt_hash) WHERE outcome = 'answered';
CREATE INDEX idx_llm_exchange_chain ON llm_exchange(prompt_line >> 15, chain_entry) WHERE chain_entry IS NOT NULL;
CREATE INDEX idx_llm_exchange_in_flight ON llm_exchange(session_id) WHERE outcome IS NULL;
-- Exchanges whose text is kept, by age: what a retention of so many days looks for.
CREATE INDEX idx_llm_exchange_kept ON llm_exchange(created_at) WHERE salt IS NOT NULL AND outcome IS NOT NULL;

-- What an exchange document commits to and nobody can put together again, since something that the model was shown is
-- erased. The keys of these commitments are destroyed with it, so that nobody can try texts on them.
CREATE TABLE erasure_commitment (
  line            INTEGER NOT NULL,          -- of the prompt of its exchange
  role            TEXT NOT NULL CHECK (role IN ('compiled_prompt', 'bundle', 'context_digest', 'prompt_digest')),
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  commitment      TEXT NOT NULL,
  PRIMARY KEY (line, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE context_artifact_ref (
  ref_id          TEXT PRIMARY KEY,
  line            INTEGER NOT NULL,          -- of the prompt of its exchange
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  artifact_type   TEXT NOT NULL,
  artifact_id     TEXT NOT NULL,
  artifact_hash   TEXT,                      -- of a sight entry or an open item, null once the bundle is erased
  included_reason TEXT NOT NULL,
  observed_at     INTEGER,
  freshness_s     INTEGER,
  risk_flags      TEXT                       -- may name what the artifact says; null once its exchange is erased
) STRICT;
CREATE INDEX idx_context_artifact_exchange ON context_artifact_ref(exchange_id);
CREATE INDEX idx_context_artifact_id ON context_artifact_ref(line >> 15, artifact_id);

-- What was found in answers (AEGIS 9) ------------------------------------------------------------------------------

CREATE TABLE drift_event (
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

CREATE TABLE assertion_event (               -- each check of an answer, and how it came out
  line            INTEGER NOT NULL,          -- of the prompt of its exchange
  name            TEXT NOT NULL,             -- class and rule: authority.claimed_side_effect
  exchange_id     TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  assertion_id    TEXT NOT NULL,             -- derived from session, number and name
  level           TEXT NOT NULL CHECK (level IN ('info', 'soft', 'blocking')),  -- what its failure does
  passed          INTEGER NOT NULL CHECK (passed IN (0, 1)),
  created_at      INTEGER NOT NULL,          -- time of the outcome's line
  PRIMARY KEY (line, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_assertion_event_told ON assertion_event(line) WHERE passed = 0 AND level <> 'info';

-- Threads and the contexts of turns (DBL) --------------------------------------------------------------------------
-- No text stands here: that of an INTENT and of an EXECUTION is in chat_turn, whose turn_id is the event's id.

CREATE TABLE context_config (
  config_digest   TEXT PRIMARY KEY,          -- SHA-256 of the document's canonical text
  document        TEXT NOT NULL              -- context.json as it was in force
) STRICT;

CREATE TABLE thread (
  thread_id       TEXT PRIMARY KEY,          -- derived from session and number
  session_id      TEXT NOT NULL REFERENCES chat_session(session_id),  -- it was begun in
  number          INTEGER NOT NULL,          -- 0: the one that every session has
  name            TEXT,                      -- what a person calls it; null once erased
  created_at      INTEGER NOT NULL,
  UNIQUE (session_id, number)
) STRICT;
CREATE INDEX idx_thread_name ON thread(name) WHERE name IS NOT NULL;

CREATE TABLE thread_turn (                   -- one row for each exchange
  line            INTEGER PRIMARY KEY,       -- of its prompt
  turn_id         TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  thread_id       TEXT NOT NULL REFERENCES thread(thread_id),
  parent_turn_id  TEXT REFERENCES llm_exchange(exchange_id),
  intent_type     TEXT NOT NULL,
  config_digest   TEXT NOT NULL REFERENCES context_config(config_digest),
  declared        TEXT NOT NULL,             -- canonical JSON: the ids that the client declared
  transformations TEXT NOT NULL,             -- canonical JSON: what the rules changed
  inputs          TEXT NOT NULL,             -- canonical JSON: the counts that policy saw
  reasons         TEXT NOT NULL,             -- canonical JSON: the codes of the DECISION
  context_digest  TEXT,                      -- null: not resolved, or something in it is erased
  prompt_digest   TEXT                       -- null: no call was to be made, or something in it is erased
) STRICT;

CREATE TABLE thread_event (
  thread_id       TEXT NOT NULL REFERENCES thread(thread_id),
  event_index     INTEGER NOT NULL,          -- from 0, in the order of recording
  event_id        TEXT NOT NULL,             -- of an INTENT and an EXECUTION the id of their turn
  kind            TEXT NOT NULL CHECK (kind IN ('INTENT', 'DECISION', 'EXECUTION')),
  turn_id         TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  line            INTEGER NOT NULL,          -- the log's: of the prompt, or of the response
  created_at      INTEGER NOT NULL,          -- time of that line
  bytes           INTEGER,                   -- length of an INTENT's text
  event_digest    TEXT,                      -- null once erased
  PRIMARY KEY (thread_id, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_thread_event_line ON thread_event(thread_id, line, kind);
CREATE INDEX idx_thread_event_intent ON thread_event(created_at, line, bytes) WHERE kind = 'INTENT';
CREATE UNIQUE INDEX idx_thread_event_decision ON thread_event(line >> 15, event_id) WHERE kind = 'DECISION';

CREATE TABLE context_ref (                   -- what declared references stand for
  line            INTEGER NOT NULL,          -- of the prompt that declared them
  event_index     INTEGER NOT NULL,
  turn_id         TEXT NOT NULL REFERENCES llm_exchange(exchange_id),
  event_id        TEXT NOT NULL,
  ref_id          TEXT NOT NULL,             -- as declared
  admitted_for    TEXT NOT NULL CHECK (admitted_for IN ('governance', 'execution_only')),
  event_digest    TEXT,                      -- as it was resolved; null once the event is erased
  PRIMARY KEY (line, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_context_ref_event ON context_ref(line >> 15, event_id);

-- Artifacts, and what is derived from them -------------------------------------------------------------------------

CREATE TABLE artifact (                      -- everything else that must not change silently
  line            INTEGER PRIMARY KEY,       -- its artifact line
  kind            TEXT NOT NULL,
  id              TEXT NOT NULL,
  document        TEXT,                      -- canonical JSON; null once erased
  salt            BLOB,                      -- 32 bytes; null once erased
  commitment      TEXT NOT NULL
) STRICT;
CREATE INDEX idx_artifact_kind ON artifact(kind, line);
CREATE INDEX idx_artifact_kind_id ON artifact(kind, id);
CREATE INDEX idx_artifact_id ON artifact(id, line);
CREATE INDEX idx_artifact_action_exchange ON artifact(json_extract(document, '$.content.exchange'))
  WHERE kind = 'action' AND document IS NOT NULL;

CREATE TABLE tombstone_id (                  -- what each tombstone names; derived from its document
  id              TEXT NOT NULL,             -- an exchange, or an artifact's id
  line            INTEGER NOT NULL REFERENCES artifact(line),
  PRIMARY KEY (id, line)
) STRICT, WITHOUT ROWID;

CREATE TABLE continuity_item (               -- what continuity selects from (AEGIS 6); derived from artifact
  line            INTEGER PRIMARY KEY REFERENCES artifact(line),  -- of the artifact that made it
  id              TEXT NOT NULL UNIQUE,      -- ledger:000183, note:000001, decision:000001, intent:000001
  kind            TEXT NOT NULL CHECK (kind IN ('fact', 'note', 'decision', 'intent')),
  state           TEXT NOT NULL
    CHECK (state IN ('proposed', 'ratified', 'declared', 'retired', 'superseded', 'cleared', 'erased')),
  state_line      INTEGER NOT NULL,          -- of the artifact that gave it its state
  subject         TEXT,                      -- lower case; null: it can't disagree with anything
  source          TEXT,
  observed_at     INTEGER,
  confidence      TEXT,                      -- of a fact: high, medium, low
  phase           TEXT,                      -- in which it may be shown
  tier            INTEGER,                   -- from which on it may be shown
  session         TEXT,                      -- the ledger's id of the session it was recorded in
  hash            TEXT NOT NULL              -- the artifact's commitment, as its line has it
) STRICT;
CREATE INDEX idx_continuity_item_state ON continuity_item(kind, state, line);
CREATE INDEX idx_continuity_item_subject ON continuity_item(subject, line)
  WHERE subject IS NOT NULL AND state IN ('ratified', 'declared');
CREATE INDEX idx_continuity_item_session ON continuity_item(session, line) WHERE session IS NOT NULL;

-- Search indexes ---------------------------------------------------------------------------------------------------
-- They hold words, and no text: that stays in its table. What is deleted leaves no copy in an index.

CREATE VIEW continuity_text (line, text, subject) AS    -- of what is proposed or in force
  SELECT i.line, json_extract(a.document, '$.content.text'), json_extract(a.document, '$.content.subject')
    FROM continuity_item i JOIN artifact a ON a.line = i.line
   WHERE i.kind <> 'intent' AND i.state IN ('proposed', 'ratified', 'declared');
CREATE VIRTUAL TABLE continuity_fts USING fts5(
  text, subject, content = 'continuity_text', content_rowid = 'line', tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO continuity_fts (continuity_fts, rank) VALUES ('secure-delete', 1);

CREATE VIEW turn_text (n, content) AS SELECT n, content FROM chat_turn WHERE content IS NOT NULL;
CREATE VIRTUAL TABLE turn_fts USING fts5(
  content, content = 'turn_text', content_rowid = 'n', tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO turn_fts (turn_fts, rank) VALUES ('secure-delete', 1);

-- Log and ledger, so that both can be made again from here without a key -------------------------------------------

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
  id              TEXT NOT NULL,             -- git object id
  raw             BLOB NOT NULL,             -- the commit object, signature included
  tree_of         INTEGER REFERENCES ledger_commit(n),  -- shares the files of this commit
  segment_from    INTEGER,                   -- first line of its audit.log; null: has none
  segment_to      INTEGER
) STRICT;
CREATE INDEX idx_ledger_commit_line ON ledger_commit(line);
CREATE INDEX idx_ledger_commit_ref ON ledger_commit(ref, n);
CREATE INDEX idx_ledger_commit_start ON ledger_commit(ref, kind, n) WHERE kind = 'session_start';
CREATE UNIQUE INDEX idx_ledger_commit_id ON ledger_commit(line >> 15, id);

CREATE TABLE ledger_file (                   -- a commit's files, but for audit.log, which is lines
  commit_n        INTEGER NOT NULL REFERENCES ledger_commit(n),
  name            TEXT NOT NULL,
  content         BLOB NOT NULL,
  PRIMARY KEY (commit_n, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE head (                          -- where the ledger stands; moved by compare-and-swap
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
  segment_bytes   INTEGER NOT NULL,          -- their length: a segment ends before it is too long for its readers
  segment_at      INTEGER NOT NULL,
  last_branch     TEXT,                      -- of the session started last
  checkpoint      TEXT,                      -- the signed tree head over all lines: audit.checkpoint is this text
  applied_lines   INTEGER NOT NULL,          -- known to be durable in audit.log
  applied_bytes   INTEGER NOT NULL,
  applied_commits INTEGER NOT NULL,          -- known to be durable in git
  boot            TEXT                       -- the system's start under which what follows was written there; null: not known
) STRICT;

-- No evidence: what helps to work, and what a person or the next question wants to know ------------------------------

CREATE TABLE block (                         -- every block that a line has named
  hash            TEXT NOT NULL,             -- with its height: somebody may have given a hash at another height
  height          INTEGER NOT NULL,
  header          TEXT NOT NULL,
  document        TEXT NOT NULL,             -- the block as documents spell it
  PRIMARY KEY (hash, height)
) STRICT;
CREATE INDEX idx_block_height ON block(height);

-- Which number a secret got in an open session; gone when the session closes. A tag is HMAC-SHA-256 of the secret
-- under the session's key; without the key it says nothing.
CREATE TABLE placeholder_key (
  session_id      TEXT PRIMARY KEY REFERENCES chat_session(session_id),
  key             BLOB NOT NULL              -- 32 random bytes
) STRICT, WITHOUT ROWID;
CREATE TABLE placeholder (
  session_id      TEXT NOT NULL REFERENCES chat_session(session_id),
  kind            TEXT NOT NULL,             -- aws-access-key
  number          INTEGER NOT NULL,          -- from 1, within kind and session
  tag             BLOB,                      -- which secret; null: a text of the session was erased, the number stays taken
  PRIMARY KEY (session_id, kind, number),
  UNIQUE (session_id, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE scrub (                         -- a row: erased texts stand in the write-ahead log until it is emptied
  id              INTEGER PRIMARY KEY CHECK (id = 1)
) STRICT;

CREATE TABLE home_file (                     -- files of the home that are no evidence, as gently last saw them
  name            TEXT PRIMARY KEY,          -- relative to the home, with '/': keys/auth.key
  sha256          TEXT NOT NULL,             -- of its bytes: a digest of a private file opens nothing
  noted_at        INTEGER NOT NULL
) STRICT;

CREATE TABLE witness_state (                 -- cosignatures prove themselves, and stand in refs/notes/witness
  vkey            TEXT PRIMARY KEY,          -- verifier key of the witness
  lines           INTEGER NOT NULL,          -- size of the newest tree head that it cosigned; 0: none
  cosigned_at     INTEGER,                   -- when, by its own clock
  asked_at        INTEGER NOT NULL,          -- when it was last asked
  asked_lines     INTEGER NOT NULL,          -- size of the tree head that it was asked about
  said            TEXT                       -- why it did not cosign then; null when it did
) STRICT;

CREATE TABLE calendar_state (                -- proofs prove themselves, and stand in refs/notes/ots
  address         TEXT PRIMARY KEY,          -- without a slash at its end
  asked_at        INTEGER NOT NULL,          -- when it was last asked
  accepted_at     INTEGER,                   -- when it last accepted; null: never
  said            TEXT                       -- why it did not accept then; null when it did
) STRICT;

-- Right edges of the log's tree at sizes that witnesses were asked about: a consistency proof from there reads the
-- lines since, and none before. Derived from log_line.
CREATE TABLE tree_mark (
  lines           INTEGER PRIMARY KEY,
  frontier        BLOB NOT NULL              -- be64(lines) and the roots of the complete subtrees, largest first
) STRICT;
