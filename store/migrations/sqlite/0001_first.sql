-- Who this database is: checkpoints name it, so that another one in its place is noticed.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each chain of the record. What it says of the head is what the next append is checked
-- against; the record itself is in entries, and verification does not read this.
CREATE TABLE chains (
  number    INTEGER PRIMARY KEY,
  seq       INTEGER NOT NULL,
  hash      BLOB    NOT NULL,
  open_from INTEGER NOT NULL -- no call before this entry is still open
) STRICT;

-- The record. body is canonical JSON, hash its SHA-256; the other columns repeat what body says, for queries.
CREATE TABLE entries (
  chain     INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  time      INTEGER NOT NULL, -- microseconds since 1970
  kind      TEXT    NOT NULL,
  state     TEXT    NOT NULL,
  run       TEXT    NOT NULL,
  call      INTEGER NOT NULL,
  principal TEXT    NOT NULL,
  profile   TEXT    NOT NULL,
  tool      TEXT    NOT NULL,
  hash      BLOB    NOT NULL,
  body      TEXT    NOT NULL,
  PRIMARY KEY (chain, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_run ON entries (run, call) WHERE run <> '';

CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;

CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;

-- INSERT OR REPLACE would delete the old row without the trigger above.
CREATE TRIGGER entries_no_replace BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries WHERE chain = NEW.chain AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;

-- Calls that wait for a person. validated is NULL until one answers, then 0 or 1 for good.
CREATE TABLE approvals (
  id          TEXT    PRIMARY KEY,
  run         TEXT    NOT NULL,
  call        INTEGER NOT NULL,
  principal   TEXT    NOT NULL,
  digest      TEXT    NOT NULL, -- what was asked, see POLICY "binding"
  question    TEXT    NOT NULL, -- JSON
  created     INTEGER NOT NULL,
  expires     INTEGER NOT NULL,
  validated   INTEGER CHECK (validated IN (0, 1)),
  answer      TEXT    NOT NULL DEFAULT '', -- JSON
  answered_by TEXT    NOT NULL DEFAULT '',
  answered_at INTEGER,
  used_at     INTEGER,
  CHECK (used_at IS NULL OR validated = 1),
  CHECK ((validated IS NULL) = (answered_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_open    ON approvals (expires) WHERE validated IS NULL;
CREATE INDEX approvals_run     ON approvals (run);

CREATE TRIGGER approvals_answered_once BEFORE UPDATE ON approvals
WHEN OLD.validated IS NOT NULL AND (NEW.validated IS NOT OLD.validated OR NEW.answer <> OLD.answer
  OR NEW.answered_by <> OLD.answered_by OR NEW.answered_at IS NOT OLD.answered_at)
BEGIN SELECT RAISE(ABORT, 'the approval is answered'); END;

CREATE TRIGGER approvals_used_once BEFORE UPDATE ON approvals
WHEN OLD.used_at IS NOT NULL AND NEW.used_at IS NOT OLD.used_at
BEGIN SELECT RAISE(ABORT, 'the approval is used'); END;

CREATE TRIGGER approvals_fixed BEFORE UPDATE ON approvals
WHEN NEW.id <> OLD.id OR NEW.run <> OLD.run OR NEW.call <> OLD.call OR NEW.principal <> OLD.principal
  OR NEW.digest <> OLD.digest OR NEW.question <> OLD.question OR NEW.expires <> OLD.expires
BEGIN SELECT RAISE(ABORT, 'what was asked does not change'); END;

CREATE TABLE grants (
  id         TEXT    PRIMARY KEY,
  principal  TEXT    NOT NULL,
  profile    TEXT    NOT NULL,
  run        TEXT    NOT NULL, -- '' when it outlives the run
  key        TEXT    NOT NULL, -- digest of what it covers
  body       TEXT    NOT NULL, -- JSON
  created    INTEGER NOT NULL,
  expires    INTEGER NOT NULL,
  uses_left  INTEGER CHECK (uses_left >= 0), -- NULL: as often as wanted
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX grants_key ON grants (key);

CREATE TRIGGER grants_no_revival BEFORE UPDATE ON grants
WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at) OR NEW.expires > OLD.expires
  OR NEW.uses_left > OLD.uses_left OR (OLD.uses_left IS NOT NULL AND NEW.uses_left IS NULL)
BEGIN SELECT RAISE(ABORT, 'a grant never grows'); END;

-- Runs that wait for a person and hold no thread. claim names who resumes one; nobody else may then.
CREATE TABLE parked (
  run       TEXT    PRIMARY KEY,
  principal TEXT    NOT NULL,
  profile   TEXT    NOT NULL,
  guest     TEXT    NOT NULL, -- sha256 of quickjs.wasm
  state     TEXT    NOT NULL, -- JSON: what the host knew of the run
  image     BLOB    NOT NULL,
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL,
  claim     TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE TRIGGER parked_claimed_once BEFORE UPDATE ON parked
WHEN OLD.claim <> '' AND NEW.claim <> OLD.claim
BEGIN SELECT RAISE(ABORT, 'the parked run is taken'); END;

CREATE TABLE overlays (
  id      TEXT    PRIMARY KEY,
  holder  TEXT    NOT NULL, -- the session or principal that it narrows
  body    TEXT    NOT NULL, -- JSON
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX overlays_holder ON overlays (holder);
