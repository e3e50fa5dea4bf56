-- Councils and handoffs. docs/schema.md explains each table.

-- In which round of a council it was asked; null outside of one.
ALTER TABLE exchange_measure ADD COLUMN round TEXT CHECK (round IN ('answer', 'peer_review'));
-- How often the question was asked before, as its answers were blocked; null where it was to be asked once.
ALTER TABLE exchange_measure ADD COLUMN attempt INTEGER CHECK (attempt BETWEEN 0 AND 3);
