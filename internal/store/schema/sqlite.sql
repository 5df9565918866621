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
  open_from INTEGER NOT NULL, -- no call before this entry is still open
  checkpoint TEXT   NOT NULL DEFAULT '',  -- the signed checkpoint of the chain as it ends
  tree      BLOB    NOT NULL DEFAULT x'', -- the hashes that the Merkle root of the next one is made of, 32 bytes each
  tail      BLOB    NOT NULL DEFAULT x'', -- shows that somebody with the key of the record wrote the end
  pruned    INTEGER NOT NULL DEFAULT 0,   -- the entries 2 to this one were exported, and may be removed
  pruning   TEXT    NOT NULL DEFAULT ''   -- says so, signed: verification begins there
) STRICT;

-- The record. body is canonical JSON, hash its SHA-256; the other columns repeat what body says, for queries. Rows of
-- about a kilobyte that are always added at the end cost half as much in a table with row numbers: it fills its last
-- page and begins the next, where the other kind shares its rows out anew. No trigger keeps REPLACE out, which took a
-- fifth of the time of each entry: our own connections have recursive_triggers on, where REPLACE meets
-- entries_no_delete. Whoever opens the file otherwise can drop triggers, too; what he replaces is found by
-- verification.
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
  sealed    BLOB    NOT NULL DEFAULT x'', -- encrypted: the values that body shows only in part; body has its SHA-256
  PRIMARY KEY (chain, seq)
) STRICT;

CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;

CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries
WHEN OLD.seq < 2 OR OLD.seq > coalesce((SELECT pruned FROM chains WHERE number = OLD.chain), 0)
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;

-- Where the entries of a run are: in which blocks of 64 entries of a chain. A batch of one run adds one row at most,
-- where an index of the runs took a quarter of the time of each entry.
CREATE TABLE run_blocks (
  run   TEXT    NOT NULL,
  chain INTEGER NOT NULL,
  first INTEGER NOT NULL, -- a multiple of 64
  PRIMARY KEY (run, chain, first)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER run_blocks_no_update BEFORE UPDATE ON run_blocks
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;

CREATE TRIGGER run_blocks_no_delete BEFORE DELETE ON run_blocks
WHEN OLD.first < 2 OR OLD.first + 63 > coalesce((SELECT pruned FROM chains WHERE number = OLD.chain), 0)
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;

-- Calls that wait for a person. validated is NULL until one answers, then 0 or 1 for good.
CREATE TABLE approvals (
  id          TEXT    PRIMARY KEY,
  run         TEXT    NOT NULL,
  call        INTEGER NOT NULL,
  principal   TEXT    NOT NULL,
  digest      TEXT    NOT NULL, -- of everything that the answer binds
  question    TEXT    NOT NULL, -- JSON
  created     INTEGER NOT NULL,
  expires     INTEGER NOT NULL,
  validated   INTEGER CHECK (validated IN (0, 1)),
  answer      TEXT    NOT NULL DEFAULT '', -- JSON
  answered_by TEXT    NOT NULL DEFAULT '',
  answered_at INTEGER,
  used_at     INTEGER,
  withdrawn   INTEGER, -- closed without an answer
  CHECK (withdrawn IS NULL OR validated IS NULL),
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

CREATE TRIGGER approvals_withdrawn_once BEFORE UPDATE ON approvals
WHEN OLD.withdrawn IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the question is withdrawn'); END;

-- The questions in the order in which they were last asked, answered or closed. Numbers only grow, and writers come one
-- after the other: whoever has read up to a number misses none.
CREATE TABLE approvals_changed (
  number   INTEGER PRIMARY KEY AUTOINCREMENT,
  question TEXT    NOT NULL UNIQUE ON CONFLICT REPLACE
) STRICT;

CREATE TRIGGER approvals_asked_tell AFTER INSERT ON approvals
BEGIN INSERT INTO approvals_changed (question) VALUES (NEW.id); END;

CREATE TRIGGER approvals_closed_tell AFTER UPDATE OF validated, withdrawn ON approvals
BEGIN INSERT INTO approvals_changed (question) VALUES (NEW.id); END;

CREATE TRIGGER approvals_removed_tell AFTER DELETE ON approvals
BEGIN DELETE FROM approvals_changed WHERE question = OLD.id; END;

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

-- Runs that wait for a person and hold no thread. claim names who resumes one; nobody else may then. A run waits
-- (phase 0), is claimed by a process that has not touched it yet (1), goes on in it (2), or is over and being ended
-- (3). round counts how often it was parked, beats the signs of life of the process that has it.
-- An image has megabytes. It comes last, or SQLite would read it whole to find what is behind it; without rowids, to
-- compare keys.
CREATE TABLE parked (
  run       TEXT    PRIMARY KEY NOT NULL,
  principal TEXT    NOT NULL,
  profile   TEXT    NOT NULL,
  guest     TEXT    NOT NULL, -- sha256 of quickjs.wasm
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL,
  claim     TEXT    NOT NULL DEFAULT '',
  phase     INTEGER NOT NULL DEFAULT 0 CHECK (phase BETWEEN 0 AND 3),
  round     INTEGER NOT NULL DEFAULT 1,
  beats     INTEGER NOT NULL DEFAULT 0,
  session   TEXT    NOT NULL DEFAULT '', -- in which it goes on
  bytes     INTEGER NOT NULL DEFAULT 0,  -- of state and image; 0 without an image
  state     TEXT    NOT NULL, -- JSON: what the host knew of the run
  image     BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX parked_session ON parked (session) WHERE session <> '';

-- What is read of all runs, without their images: how much of them there is, and who has them.
CREATE INDEX parked_size   ON parked (principal, bytes) WHERE bytes > 0;
CREATE INDEX parked_claims ON parked (created, run, expires, claim, phase, beats);

-- A claim changes hands only before anything was done with it, and what went on waits again only with a new image.
CREATE TRIGGER parked_once BEFORE UPDATE ON parked
WHEN NOT (
  (NEW.phase = OLD.phase AND NEW.claim = OLD.claim AND NEW.round = OLD.round AND NEW.image = OLD.image
      AND NEW.state = OLD.state)
  OR (OLD.phase = 0 AND NEW.phase IN (1, 3) AND NEW.claim <> '' AND NEW.round = OLD.round)
  OR (OLD.phase = 1 AND NEW.phase IN (1, 3) AND NEW.claim <> '' AND NEW.round = OLD.round)
  OR (OLD.phase = 1 AND NEW.phase = 0 AND NEW.claim = '' AND NEW.round = OLD.round)
  OR (OLD.phase = 1 AND NEW.phase = 2 AND NEW.claim = OLD.claim AND NEW.round = OLD.round)
  OR (OLD.phase = 2 AND NEW.phase IN (0, 1) AND NEW.round = OLD.round + 1 AND (NEW.phase = 1) = (NEW.claim <> ''))
  OR (OLD.phase IN (2, 3) AND NEW.phase = 3 AND NEW.claim <> '' AND NEW.round = OLD.round))
BEGIN SELECT RAISE(ABORT, 'the parked run is taken'); END;

-- How a run ended, for a client that comes back.
CREATE TABLE outcomes (
  run       TEXT    PRIMARY KEY NOT NULL,
  principal TEXT    NOT NULL,
  state     TEXT    NOT NULL,
  body      BLOB    NOT NULL,
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL
) STRICT;

CREATE TRIGGER outcomes_fixed BEFORE UPDATE ON outcomes
BEGIN SELECT RAISE(ABORT, 'how a run ended does not change'); END;

CREATE TABLE overlays (
  id      TEXT    PRIMARY KEY,
  holder  TEXT    NOT NULL, -- the session or principal that it narrows
  body    TEXT    NOT NULL, -- JSON
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX overlays_holder ON overlays (holder);

-- Where people sit who answer questions: a row for each, until they leave or their process ends. beats are its signs
-- of life.
CREATE TABLE seats (
  claim   TEXT    PRIMARY KEY,
  channel TEXT    NOT NULL,
  created INTEGER NOT NULL,
  beats   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The idempotency keys of requests: each names the run that its request began. A key expires some time after its run
-- ended.
CREATE TABLE keys (
  key     TEXT   PRIMARY KEY, -- digest of whose key it is, and of the key
  request TEXT   NOT NULL,    -- digest of the request
  run     TEXT   NOT NULL UNIQUE,
  expires INTEGER             -- NULL until the run has ended
) STRICT, WITHOUT ROWID;

-- Values and console outputs that did not fit into a reply, and images, audio and files that programs kept, for later
-- programs of their principal. A result is there once its row is; its chunks are written before.
CREATE TABLE results (
  handle    TEXT    PRIMARY KEY NOT NULL,
  principal TEXT    NOT NULL,
  owner     TEXT    NOT NULL, -- whose quota it uses; '' is everybody whom nobody verifies
  run       TEXT    NOT NULL,
  profile   TEXT    NOT NULL,
  untrusted INTEGER NOT NULL CHECK (untrusted IN (0, 1)),
  bytes     INTEGER NOT NULL,
  mime      TEXT    NOT NULL, -- of an image, audio or a file; '' is a value or the output of a console
  about     BLOB    NOT NULL, -- JSON: what it is, and where its parts are
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL
) STRICT;

CREATE INDEX results_owner ON results (owner, created);

CREATE TABLE result_chunks (
  handle  TEXT    NOT NULL,
  number  INTEGER NOT NULL,
  body    BLOB    NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (handle, number)
) STRICT;

CREATE TRIGGER results_fixed BEFORE UPDATE ON results
BEGIN SELECT RAISE(ABORT, 'a result does not change'); END;

CREATE TRIGGER result_chunks_fixed BEFORE UPDATE ON result_chunks
BEGIN SELECT RAISE(ABORT, 'a result does not change'); END;

-- What programs of one principal share from one to the next, and how each left it.
CREATE TABLE sessions (
  id        TEXT    PRIMARY KEY NOT NULL,
  principal TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  owner     TEXT    NOT NULL, -- whose quota it uses; '' is everybody whom nobody verifies
  profile   TEXT    NOT NULL,
  created   INTEGER NOT NULL,
  used      INTEGER NOT NULL,
  expires   INTEGER NOT NULL,
  UNIQUE (principal, name)
) STRICT;

CREATE INDEX sessions_owner ON sessions (owner);

CREATE TABLE session_versions (
  session TEXT    NOT NULL,
  number  INTEGER NOT NULL,
  run     TEXT    NOT NULL, -- that made it; '' is none
  guest   TEXT    NOT NULL, -- sha256 of quickjs.wasm
  bytes   INTEGER NOT NULL, -- of the image
  about   BLOB    NOT NULL, -- JSON: what the host knows of it
  created INTEGER NOT NULL,
  image   BLOB    NOT NULL,
  PRIMARY KEY (session, number)
) STRICT;

CREATE TRIGGER session_versions_fixed BEFORE UPDATE ON session_versions
BEGIN SELECT RAISE(ABORT, 'a version does not change'); END;

-- What is used of a budget in its window, by budget and by whom.
CREATE TABLE budgets (
  name    TEXT    PRIMARY KEY NOT NULL,
  began   INTEGER NOT NULL, -- the window
  used    INTEGER NOT NULL,
  expires INTEGER NOT NULL  -- the end of the window
) STRICT;


-- How principals reach upstream servers with tokens of their own. A process renews the tokens while it has the lease.
CREATE TABLE logins (
  principal  TEXT    NOT NULL,
  server     TEXT    NOT NULL,
  account    TEXT    NOT NULL, -- random: another one after the next login
  body       BLOB    NOT NULL, -- sealed
  created    INTEGER NOT NULL,
  lease      TEXT    NOT NULL DEFAULT '',
  lease_ends INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (principal, server)
) STRICT, WITHOUT ROWID;
