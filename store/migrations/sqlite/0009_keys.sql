-- The idempotency keys of requests: each names the run that its request began. A key expires some time after its run ended.
CREATE TABLE keys (
  key     TEXT   PRIMARY KEY, -- digest of whose key it is, and of the key
  request TEXT   NOT NULL,    -- digest of the request
  run     TEXT   NOT NULL UNIQUE,
  expires INTEGER             -- NULL until the run has ended
) STRICT, WITHOUT ROWID;
