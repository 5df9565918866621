-- The signed checkpoint of each chain as it ends, and the hashes that the Merkle root of the next one is made of, 32 bytes each.
ALTER TABLE chains ADD COLUMN checkpoint TEXT NOT NULL DEFAULT '';
ALTER TABLE chains ADD COLUMN tree       BLOB NOT NULL DEFAULT x'';
