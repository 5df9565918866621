-- The idempotency keys of requests: each names the run that its request began. A key expires some time after its run ended.
CREATE TABLE keys (
  key     text   PRIMARY KEY, -- digest of whose key it is, and of the key
  request text   NOT NULL,    -- digest of the request
  run     text   NOT NULL UNIQUE,
  expires bigint              -- NULL until the run has ended
);
