-- Who this database is: checkpoints name it, so that another one in its place is noticed.
CREATE TABLE meta (
  name  text PRIMARY KEY,
  value text NOT NULL
);

-- One row for each chain of the record. What it says of the head is what the next append is checked
-- against; the record itself is in entries, and verification does not read this. owner appends to the
-- chain as long as beat is young.
CREATE TABLE chains (
  number    bigint PRIMARY KEY,
  seq       bigint NOT NULL,
  hash      bytea  NOT NULL,
  open_from bigint NOT NULL, -- no call before this entry is still open
  owner     text   NOT NULL DEFAULT '',
  beat      timestamptz NOT NULL DEFAULT now(),
  checkpoint text  NOT NULL DEFAULT '', -- the signed checkpoint of the chain as it ends
  tree      bytea  NOT NULL DEFAULT '', -- the hashes that the Merkle root of the next one is made of, 32 bytes each
  tail      bytea  NOT NULL DEFAULT '', -- shows that somebody with the key of the record wrote the end
  pruned    bigint NOT NULL DEFAULT 0,  -- the entries 2 to this one were exported, and may be removed
  pruning   text   NOT NULL DEFAULT ''  -- says so, signed: verification begins there
);

-- The record. body is canonical JSON, hash its SHA-256; the other columns repeat what body says, for queries.
CREATE TABLE entries (
  chain     bigint NOT NULL,
  seq       bigint NOT NULL,
  time      bigint NOT NULL, -- microseconds since 1970
  kind      text   NOT NULL,
  state     text   NOT NULL,
  run       text   NOT NULL,
  call      bigint NOT NULL,
  principal text   NOT NULL,
  profile   text   NOT NULL,
  tool      text   NOT NULL,
  hash      bytea  NOT NULL,
  body      text   NOT NULL,
  sealed    bytea  NOT NULL DEFAULT '', -- encrypted: the values that body shows only in part; body has its SHA-256
  PRIMARY KEY (chain, seq)
);

CREATE INDEX entries_run ON entries (run, call) WHERE run <> '';

CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the record is append-only'; END $$;

CREATE TRIGGER entries_append_only BEFORE UPDATE OR TRUNCATE ON entries
FOR EACH STATEMENT EXECUTE FUNCTION append_only();

CREATE FUNCTION only_pruned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.seq < 2 OR OLD.seq > coalesce((SELECT pruned FROM chains WHERE number = OLD.chain), 0) THEN
    RAISE EXCEPTION 'the record is append-only';
  END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER entries_only_pruned BEFORE DELETE ON entries FOR EACH ROW EXECUTE FUNCTION only_pruned();

-- A role that is given SELECT sees the entries of its own principal; the owner sees all.
ALTER TABLE entries ENABLE ROW LEVEL SECURITY;
CREATE POLICY entries_of_principal ON entries FOR SELECT USING (principal = current_user);

-- Calls that wait for a person. validated is NULL until one answers, then true or false for good.
CREATE TABLE approvals (
  id          text    PRIMARY KEY,
  run         text    NOT NULL,
  call        bigint  NOT NULL,
  principal   text    NOT NULL,
  digest      text    NOT NULL, -- of everything that the answer binds
  question    text    NOT NULL, -- JSON
  created     bigint  NOT NULL,
  expires     bigint  NOT NULL,
  validated   boolean,
  answer      text    NOT NULL DEFAULT '', -- JSON
  answered_by text    NOT NULL DEFAULT '',
  answered_at bigint,
  used_at     bigint,
  withdrawn   bigint, -- closed without an answer
  CHECK (withdrawn IS NULL OR validated IS NULL),
  CHECK (used_at IS NULL OR validated),
  CHECK ((validated IS NULL) = (answered_at IS NULL))
);

CREATE INDEX approvals_open ON approvals (expires) WHERE validated IS NULL;
CREATE INDEX approvals_run  ON approvals (run);

CREATE FUNCTION approvals_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.validated IS NOT NULL AND (NEW.validated, NEW.answer, NEW.answered_by, NEW.answered_at)
     IS DISTINCT FROM (OLD.validated, OLD.answer, OLD.answered_by, OLD.answered_at) THEN
    RAISE EXCEPTION 'the approval is answered';
  END IF;
  IF OLD.used_at IS NOT NULL AND NEW.used_at IS DISTINCT FROM OLD.used_at THEN
    RAISE EXCEPTION 'the approval is used';
  END IF;
  IF (NEW.id, NEW.run, NEW.call, NEW.principal, NEW.digest, NEW.question, NEW.expires)
     IS DISTINCT FROM (OLD.id, OLD.run, OLD.call, OLD.principal, OLD.digest, OLD.question, OLD.expires) THEN
    RAISE EXCEPTION 'what was asked does not change';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER approvals_guard BEFORE UPDATE ON approvals FOR EACH ROW EXECUTE FUNCTION approvals_guard();

CREATE FUNCTION approvals_withdrawn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.withdrawn IS NOT NULL THEN
    RAISE EXCEPTION 'the question is withdrawn';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER approvals_withdrawn BEFORE UPDATE ON approvals FOR EACH ROW EXECUTE FUNCTION approvals_withdrawn();

-- When the questions were last asked, answered or closed: the transaction. Whoever reads again from the oldest
-- transaction that was under way at the last time misses none, though transactions do not end in order.
CREATE TABLE approvals_changed (
  question text   PRIMARY KEY,
  number   bigint NOT NULL
);

CREATE INDEX approvals_changed_number ON approvals_changed (number);

CREATE FUNCTION approvals_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO approvals_changed VALUES (NEW.id, pg_current_xact_id()::text::bigint)
    ON CONFLICT (question) DO UPDATE SET number = EXCLUDED.number;
  RETURN NULL;
END $$;

CREATE TRIGGER approvals_changed_tell AFTER INSERT OR UPDATE OF validated, withdrawn ON approvals
  FOR EACH ROW EXECUTE FUNCTION approvals_change();

CREATE FUNCTION approvals_remove() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM approvals_changed WHERE question = OLD.id;
  RETURN NULL;
END $$;

CREATE TRIGGER approvals_removed_tell AFTER DELETE ON approvals FOR EACH ROW EXECUTE FUNCTION approvals_remove();

CREATE TABLE grants (
  id         text   PRIMARY KEY,
  principal  text   NOT NULL,
  profile    text   NOT NULL,
  run        text   NOT NULL, -- '' when it outlives the run
  key        text   NOT NULL, -- digest of what it covers
  body       text   NOT NULL, -- JSON
  created    bigint NOT NULL,
  expires    bigint NOT NULL,
  uses_left  bigint CHECK (uses_left >= 0), -- NULL: as often as wanted
  revoked_at bigint
);

CREATE INDEX grants_key ON grants (key);

CREATE FUNCTION grants_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at) OR NEW.expires > OLD.expires
     OR NEW.uses_left > OLD.uses_left OR (OLD.uses_left IS NOT NULL AND NEW.uses_left IS NULL) THEN
    RAISE EXCEPTION 'a grant never grows';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER grants_guard BEFORE UPDATE ON grants FOR EACH ROW EXECUTE FUNCTION grants_guard();

-- Runs that wait for a person and hold no thread. claim names who resumes one; nobody else may then. A run waits
-- (phase 0), is claimed by a process that has not touched it yet (1), goes on in it (2), or is over and being ended
-- (3). round counts how often it was parked, beats the signs of life of the process that has it.
CREATE TABLE parked (
  run       text   PRIMARY KEY,
  principal text   NOT NULL,
  profile   text   NOT NULL,
  guest     text   NOT NULL, -- sha256 of quickjs.wasm
  state     text   NOT NULL, -- JSON: what the host knew of the run
  image     bytea  NOT NULL,
  created   bigint NOT NULL,
  expires   bigint NOT NULL,
  claim     text   NOT NULL DEFAULT '',
  phase     int    NOT NULL DEFAULT 0 CHECK (phase BETWEEN 0 AND 3),
  round     bigint NOT NULL DEFAULT 1,
  beats     bigint NOT NULL DEFAULT 0,
  session   text   NOT NULL DEFAULT '', -- in which it goes on
  bytes     bigint NOT NULL DEFAULT 0   -- of state and image; 0 without an image
);

CREATE UNIQUE INDEX parked_session ON parked (session) WHERE session <> '';
CREATE INDEX parked_size ON parked (principal, bytes) WHERE bytes > 0;

-- A claim changes hands only before anything was done with it, and what went on waits again only with a new image.
CREATE FUNCTION parked_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    (NEW.phase = OLD.phase AND NEW.claim = OLD.claim AND NEW.round = OLD.round AND NEW.image = OLD.image
      AND NEW.state = OLD.state)
    OR (OLD.phase = 0 AND NEW.phase IN (1, 3) AND NEW.claim <> '' AND NEW.round = OLD.round)
    OR (OLD.phase = 1 AND NEW.phase IN (1, 3) AND NEW.claim <> '' AND NEW.round = OLD.round)
    OR (OLD.phase = 1 AND NEW.phase = 0 AND NEW.claim = '' AND NEW.round = OLD.round)
    OR (OLD.phase = 1 AND NEW.phase = 2 AND NEW.claim = OLD.claim AND NEW.round = OLD.round)
    OR (OLD.phase = 2 AND NEW.phase IN (0, 1) AND NEW.round = OLD.round + 1 AND (NEW.phase = 1) = (NEW.claim <> ''))
    OR (OLD.phase IN (2, 3) AND NEW.phase = 3 AND NEW.claim <> '' AND NEW.round = OLD.round))
  THEN
    RAISE EXCEPTION 'the parked run is taken';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER parked_guard BEFORE UPDATE ON parked FOR EACH ROW EXECUTE FUNCTION parked_guard();

CREATE TABLE overlays (
  id      text   PRIMARY KEY,
  holder  text   NOT NULL, -- the session or principal that it narrows
  body    text   NOT NULL, -- JSON
  created bigint NOT NULL,
  expires bigint NOT NULL
);

CREATE INDEX overlays_holder ON overlays (holder);

-- How a run ended, for a client that comes back.
CREATE TABLE outcomes (
  run       text   PRIMARY KEY,
  principal text   NOT NULL,
  state     text   NOT NULL,
  body      bytea  NOT NULL,
  created   bigint NOT NULL,
  expires   bigint NOT NULL
);

CREATE FUNCTION outcomes_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'how a run ended does not change'; END $$;

CREATE TRIGGER outcomes_fixed BEFORE UPDATE ON outcomes FOR EACH ROW EXECUTE FUNCTION outcomes_guard();

-- Where people sit who answer questions: a row for each, until they leave or their process ends. beats are its signs
-- of life.
CREATE TABLE seats (
  claim   text   PRIMARY KEY,
  channel text   NOT NULL,
  created bigint NOT NULL,
  beats   bigint NOT NULL DEFAULT 0
);

-- The idempotency keys of requests: each names the run that its request began. A key expires some time after its run
-- ended.
CREATE TABLE keys (
  key     text   PRIMARY KEY, -- digest of whose key it is, and of the key
  request text   NOT NULL,    -- digest of the request
  run     text   NOT NULL UNIQUE,
  expires bigint              -- NULL until the run has ended
);

-- Values and console outputs that did not fit into a reply, and images, audio and files that programs kept, for later
-- programs of their principal. A result is there once its row is; its chunks are written before.
CREATE TABLE results (
  handle    text    PRIMARY KEY,
  principal text    NOT NULL,
  owner     text    NOT NULL, -- whose quota it uses; '' is everybody whom nobody verifies
  run       text    NOT NULL,
  profile   text    NOT NULL,
  untrusted boolean NOT NULL,
  bytes     bigint  NOT NULL,
  mime      text    NOT NULL, -- of an image, audio or a file; '' is a value or the output of a console
  about     bytea   NOT NULL, -- JSON: what it is, and where its parts are
  created   bigint  NOT NULL,
  expires   bigint  NOT NULL
);

CREATE INDEX results_owner ON results (owner, created);

CREATE TABLE result_chunks (
  handle  text   NOT NULL,
  number  bigint NOT NULL,
  body    bytea  NOT NULL,
  expires bigint NOT NULL,
  PRIMARY KEY (handle, number)
);

CREATE FUNCTION results_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a result does not change'; END $$;

CREATE TRIGGER results_fixed BEFORE UPDATE ON results FOR EACH ROW EXECUTE FUNCTION results_guard();
CREATE TRIGGER result_chunks_fixed BEFORE UPDATE ON result_chunks FOR EACH ROW EXECUTE FUNCTION results_guard();

-- What programs of one principal share from one to the next, and how each left it.
CREATE TABLE sessions (
  id        text   PRIMARY KEY,
  principal text   NOT NULL,
  name      text   NOT NULL,
  owner     text   NOT NULL, -- whose quota it uses; '' is everybody whom nobody verifies
  profile   text   NOT NULL,
  created   bigint NOT NULL,
  used      bigint NOT NULL,
  expires   bigint NOT NULL,
  UNIQUE (principal, name)
);

CREATE INDEX sessions_owner ON sessions (owner);

CREATE TABLE session_versions (
  session text   NOT NULL,
  number  bigint NOT NULL,
  run     text   NOT NULL, -- that made it; '' is none
  guest   text   NOT NULL, -- sha256 of quickjs.wasm
  bytes   bigint NOT NULL, -- of the image
  about   bytea  NOT NULL, -- JSON: what the host knows of it
  created bigint NOT NULL,
  image   bytea  NOT NULL,
  PRIMARY KEY (session, number)
);

CREATE FUNCTION session_versions_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a version does not change'; END $$;

CREATE TRIGGER session_versions_fixed BEFORE UPDATE ON session_versions
FOR EACH ROW EXECUTE FUNCTION session_versions_guard();

-- What is used of a budget in its window, by budget and by whom.
CREATE TABLE budgets (
  name    text   PRIMARY KEY NOT NULL,
  began   bigint NOT NULL, -- the window
  used    bigint NOT NULL,
  expires bigint NOT NULL  -- the end of the window
);


-- Every replica hears of every change; signs of life are none.
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('codemode', TG_TABLE_NAME);
  RETURN NULL;
END $$;

CREATE TRIGGER approvals_tell AFTER INSERT OR UPDATE OF validated, withdrawn OR DELETE ON approvals
  FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER grants_tell    AFTER INSERT OR UPDATE OR DELETE ON grants    FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER parked_tell    AFTER INSERT OR UPDATE OF phase OR DELETE ON parked
  FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER overlays_tell  AFTER INSERT OR UPDATE OR DELETE ON overlays  FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER outcomes_tell  AFTER INSERT OR DELETE ON outcomes  FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER seats_tell     AFTER INSERT OR DELETE ON seats     FOR EACH STATEMENT EXECUTE FUNCTION tell();

-- How principals reach upstream servers with tokens of their own. A process renews the tokens while it has the lease.
CREATE TABLE logins (
  principal  text   NOT NULL,
  server     text   NOT NULL,
  account    text   NOT NULL, -- random: another one after the next login
  body       bytea  NOT NULL, -- sealed
  created    bigint NOT NULL,
  lease      text   NOT NULL DEFAULT '',
  lease_ends bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (principal, server)
);
