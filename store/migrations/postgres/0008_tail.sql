-- What shows that the end of each chain, signed or not yet, was written by somebody with the key of the record.
ALTER TABLE chains ADD COLUMN tail BYTEA NOT NULL DEFAULT '';
