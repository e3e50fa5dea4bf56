-- Corrections, specialists and ratings. What continuity selects from has a kind more, and what is left of a correction's
-- confidence needs three columns more. docs/schema.md explains each table.

DROP VIEW continuity_text;
CREATE TABLE continuity_item_before AS SELECT * FROM continuity_item;
DROP TABLE continuity_item;

CREATE TABLE continuity_item (               -- what continuity selects from (AEGIS 6); derived from artifact
  line             INTEGER PRIMARY KEY REFERENCES artifact(line), -- of the artifact that made it
  id               TEXT NOT NULL UNIQUE,     -- ledger:000183, note:000001, decision:000001, intent:000001, correction:000001
  kind             TEXT NOT NULL CHECK (kind IN ('fact', 'note', 'decision', 'intent', 'correction')),
  state            TEXT NOT NULL
    CHECK (state IN ('proposed', 'ratified', 'declared', 'retired', 'superseded', 'cleared', 'erased')),
  state_line       INTEGER NOT NULL,         -- of the artifact that gave it its state
  subject          TEXT,                     -- lower case; null: it can't disagree with anything
  source           TEXT,
  observed_at      INTEGER,
  confidence       TEXT,                     -- of a fact: high, medium, low
  confidence_milli INTEGER,                  -- of a correction: in thousandths, when it was observed
  decay            TEXT CHECK (decay IN ('A', 'B', 'C', 'D')),  -- of a correction: how fast it loses that
  domain           TEXT,                     -- of a correction: its field
  phase            TEXT,                     -- in which it may be shown
  tier             INTEGER,                  -- from which on it may be shown
  session          TEXT,                     -- the ledger's id of the session it was recorded in
  hash             TEXT NOT NULL             -- the artifact's commitment, as its line has it
) STRICT;
INSERT INTO continuity_item (line, id, kind, state, state_line, subject, source, observed_at, confidence, phase, tier,
                             session, hash)
SELECT line, id, kind, state, state_line, subject, source, observed_at, confidence, phase, tier, session, hash
  FROM continuity_item_before;
DROP TABLE continuity_item_before;
CREATE INDEX idx_continuity_item_state ON continuity_item(kind, state, line);
CREATE INDEX idx_continuity_item_subject ON continuity_item(subject, line)
  WHERE subject IS NOT NULL AND state IN ('ratified', 'declared');
CREATE INDEX idx_continuity_item_session ON continuity_item(session, line) WHERE session IS NOT NULL;

CREATE VIEW continuity_text (line, text, subject) AS    -- of what is proposed or in force
  SELECT i.line,
         json_extract(a.document, '$.content.text')
         || CASE WHEN json_extract(a.document, '$.content.rejected') <> ''
                 THEN ' (not: ' || json_extract(a.document, '$.content.rejected') || ')' ELSE '' END,
         json_extract(a.document, '$.content.subject')
    FROM continuity_item i JOIN artifact a ON a.line = i.line
   WHERE i.kind <> 'intent' AND i.state IN ('proposed', 'ratified', 'declared');

-- The AUA state store's table of corrections. What is left of a confidence is computed when it is read: the age in
-- parts of a lifetime, each bit of which takes its factor of 10^-9 (src/record/ledger/correction.rs).

CREATE VIEW corrections (id, created_at, subject, domain, claim, rejected, confidence, source, effective_confidence,
                         decay_class, metadata, state, about, line) AS
SELECT id, created_at, subject, domain, claim, rejected, confidence_milli / 1000.0, source,
       CASE WHEN decay = 'A' THEN confidence_milli
            WHEN parts >= 524288 THEN 0
            ELSE (confidence_milli * (1000000000
         * CASE WHEN parts & 1 THEN 999984741 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 2 THEN 999969483 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 4 THEN 999938967 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 8 THEN 999877937 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 16 THEN 999755889 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 32 THEN 999511838 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 64 THEN 999023914 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 128 THEN 998048781 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 256 THEN 996101369 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 512 THEN 992217938 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 1024 THEN 984496437 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 2048 THEN 969233234 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 4096 THEN 939413063 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 8192 THEN 882496903 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 16384 THEN 778800783 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 32768 THEN 606530660 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 65536 THEN 367879441 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 131072 THEN 135335283 ELSE 1000000000 END / 1000000000
         * CASE WHEN parts & 262144 THEN 18315639 ELSE 1000000000 END / 1000000000
                 ) + 500000000) / 1000000000 END / 1000.0,
       decay, metadata, state, about, line
  FROM (SELECT i.id, CAST(strftime('%s', l.time) AS INTEGER) AS created_at, i.subject, i.domain,
               json_extract(a.document, '$.content.text') AS claim,
               json_extract(a.document, '$.content.rejected') AS rejected, i.confidence_milli, i.source, i.decay,
               json_object('session_id', (SELECT s.session_id FROM chat_session s WHERE s.ledger_session = i.session),
                           'trace_id', json_extract(a.document, '$.content.about'),
                           'correction_type', CASE json_extract(a.document, '$.content.rejected')
                                              WHEN '' THEN 'preference' ELSE 'replacement' END) AS metadata,
               i.state, json_extract(a.document, '$.content.about') AS about, i.line,
               (max(0, CAST(strftime('%s', 'now') AS INTEGER) - i.observed_at) * 65536 + d.lifetime / 2)
               / d.lifetime AS parts
          FROM continuity_item i JOIN artifact a ON a.line = i.line JOIN log_line_part l ON l.n = i.line
          LEFT JOIN (SELECT 'B' AS class, 315576000 AS lifetime UNION ALL SELECT 'C', 94672800
                     UNION ALL SELECT 'D', 15778800) d ON d.class = i.decay
         WHERE i.kind = 'correction');

-- What people said of answers: the newest rating of each exchange and auth key; derived from artifact.
CREATE TABLE rating (
  line        INTEGER PRIMARY KEY REFERENCES artifact(line),
  exchange_id TEXT NOT NULL,
  by_key      TEXT NOT NULL,                 -- hash of the auth key
  specialist  TEXT,                          -- specialist:000001; null: a model was asked by its own name
  model       TEXT NOT NULL,
  domain      TEXT NOT NULL,                 -- the likeliest of the question
  verdict     TEXT NOT NULL CHECK (verdict IN ('good', 'bad')),
  UNIQUE (exchange_id, by_key)
) STRICT;
CREATE INDEX idx_rating_count ON rating(specialist, model, domain, verdict);

-- Who answered: the specialist that was asked for; null where a model was asked by its own name.
ALTER TABLE exchange_measure ADD COLUMN specialist TEXT;
-- How much of the question is of its domains, in thousandths.
ALTER TABLE exchange_measure ADD COLUMN domain_alignment INTEGER;

CREATE VIEW promotions (id, created_at, specialist, event, from_model, to_model, reverted, metadata, line) AS
SELECT a.id, CAST(strftime('%s', l.time) AS INTEGER), json_extract(a.document, '$.content.specialist'),
       json_extract(a.document, '$.content.event'), json_extract(a.document, '$.content.from_model'),
       json_extract(a.document, '$.content.to_model'),
       EXISTS (SELECT 1 FROM artifact r WHERE r.kind = 'promotion' AND r.line > a.line
                AND json_extract(r.document, '$.content.reverts') = a.id),
       json_extract(a.document, '$.content.metadata'), a.line
  FROM artifact a JOIN log_line_part l ON l.n = a.line
 WHERE a.kind = 'promotion';
