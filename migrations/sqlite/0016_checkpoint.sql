-- The signed tree head over all lines, made in the transaction that added the last of them: audit.checkpoint is this text,
-- and writing the file anew needs no key. Null in a database from before it, until its next writer starts.
ALTER TABLE head ADD COLUMN checkpoint TEXT;
-- Bytes of audit.log that are inside main: a segment ends before it is too long for those who read it.
ALTER TABLE head ADD COLUMN segment_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE head SET segment_bytes = (SELECT ifnull(sum(length(line) + 1), 0) FROM log_line WHERE n < head.segment_lines);
