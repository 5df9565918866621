-- A parked run waits (phase 0), is claimed by a process that has not touched it yet (1), goes on in it (2), or is over and
-- being ended (3). round counts how often it was parked, beats the signs of life of the process that has it.
ALTER TABLE parked ADD COLUMN phase INTEGER NOT NULL DEFAULT 0 CHECK (phase BETWEEN 0 AND 3);
ALTER TABLE parked ADD COLUMN round INTEGER NOT NULL DEFAULT 1;
ALTER TABLE parked ADD COLUMN beats INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER parked_claimed_once;
UPDATE parked SET phase = 2 WHERE claim <> '';

-- A claim changes hands only before anything was done with it, and what went on waits again only with a new image.
CREATE TRIGGER parked_once BEFORE UPDATE ON parked
WHEN NOT (
  (NEW.phase = OLD.phase AND NEW.claim = OLD.claim AND NEW.round = OLD.round AND NEW.image = OLD.image AND NEW.state = OLD.state)
  OR (OLD.phase = 0 AND NEW.phase IN (1, 3) AND NEW.claim <> '' AND NEW.round = OLD.round)
  OR (OLD.phase = 1 AND NEW.phase IN (1, 3) AND NEW.claim <> '' AND NEW.round = OLD.round)
  OR (OLD.phase = 1 AND NEW.phase = 0 AND NEW.claim = '' AND NEW.round = OLD.round)
  OR (OLD.phase = 1 AND NEW.phase = 2 AND NEW.claim = OLD.claim AND NEW.round = OLD.round)
  OR (OLD.phase = 2 AND NEW.phase IN (0, 1) AND NEW.round = OLD.round + 1 AND (NEW.phase = 1) = (NEW.claim <> ''))
  OR (OLD.phase IN (2, 3) AND NEW.phase = 3 AND NEW.claim <> '' AND NEW.round = OLD.round))
BEGIN SELECT RAISE(ABORT, 'the parked run is taken'); END;

-- How a run ended, for a client that comes back.
CREATE TABLE outcomes (
  run       TEXT    PRIMARY KEY,
  principal TEXT    NOT NULL,
  state     TEXT    NOT NULL,
  body      BLOB    NOT NULL,
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER outcomes_fixed BEFORE UPDATE ON outcomes
BEGIN SELECT RAISE(ABORT, 'how a run ended does not change'); END;

-- What else a question is about, and when it was closed without an answer.
ALTER TABLE approvals ADD COLUMN kind      TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN client    TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN session   TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN role      TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN withdrawn INTEGER CHECK (withdrawn IS NULL OR validated IS NULL);

CREATE TRIGGER approvals_withdrawn_once BEFORE UPDATE ON approvals
WHEN OLD.withdrawn IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the question is withdrawn'); END;
