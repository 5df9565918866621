-- As before, but FAIL instead of ABORT: for ABORT the library keeps what it takes to undo the statement, with each one.
DROP TRIGGER entries_no_replace;
CREATE TRIGGER entries_no_replace BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries WHERE chain = NEW.chain AND seq = NEW.seq)
BEGIN SELECT RAISE(FAIL, 'the record is append-only'); END;
