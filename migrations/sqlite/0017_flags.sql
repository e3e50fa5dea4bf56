-- What was flagged about an artifact may name what it says (`unknown:` and what a tool could not tell): it goes when the
-- text of its exchange is erased, and changes in no other way.
DROP TRIGGER context_artifact_ref_is_final;
CREATE TRIGGER context_artifact_ref_is_final BEFORE UPDATE OF
  line, ref_id, exchange_id, artifact_type, artifact_id, artifact_hash, included_reason, observed_at, freshness_s
ON context_artifact_ref
BEGIN SELECT RAISE(ABORT, 'what was injected is evidence and never changes'); END;
CREATE TRIGGER context_artifact_ref_flags_go_only BEFORE UPDATE OF risk_flags ON context_artifact_ref
WHEN NEW.risk_flags IS NOT NULL AND NEW.risk_flags IS NOT OLD.risk_flags
BEGIN SELECT RAISE(ABORT, 'what was flagged is evidence and never changes; erasing destroys it'); END;
