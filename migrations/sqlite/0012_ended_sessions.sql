-- Where sessions ended, so that one whose row says that it is open is looked up among those that ended behind its last
-- exchange.
CREATE INDEX idx_ledger_commit_end ON ledger_commit(line) WHERE kind = 'session_end';
