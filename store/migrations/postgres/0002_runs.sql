-- A parked run waits (phase 0), is claimed by a process that has not touched it yet (1), goes on in it (2), or is over and
-- being ended (3). round counts how often it was parked, beats the signs of life of the process that has it.
ALTER TABLE parked
  ADD COLUMN phase int    NOT NULL DEFAULT 0 CHECK (phase BETWEEN 0 AND 3),
  ADD COLUMN round bigint NOT NULL DEFAULT 1,
  ADD COLUMN beats bigint NOT NULL DEFAULT 0;

UPDATE parked SET phase = 2 WHERE claim <> '';

-- A claim changes hands only before anything was done with it, and what went on waits again only with a new image.
CREATE OR REPLACE FUNCTION parked_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    (NEW.phase = OLD.phase AND NEW.claim = OLD.claim AND NEW.round = OLD.round AND NEW.image = OLD.image AND NEW.state = OLD.state)
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

-- Signs of life are no news.
DROP TRIGGER parked_tell ON parked;
CREATE TRIGGER parked_tell AFTER INSERT OR UPDATE OF phase OR DELETE ON parked FOR EACH STATEMENT EXECUTE FUNCTION tell();

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
CREATE TRIGGER outcomes_tell AFTER INSERT OR DELETE ON outcomes FOR EACH STATEMENT EXECUTE FUNCTION tell();

-- What else a question is about, and when it was closed without an answer.
ALTER TABLE approvals
  ADD COLUMN kind      text NOT NULL DEFAULT '',
  ADD COLUMN client    text NOT NULL DEFAULT '',
  ADD COLUMN session   text NOT NULL DEFAULT '',
  ADD COLUMN role      text NOT NULL DEFAULT '',
  ADD COLUMN withdrawn bigint CHECK (withdrawn IS NULL OR validated IS NULL);

CREATE FUNCTION approvals_withdrawn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.withdrawn IS NOT NULL THEN
    RAISE EXCEPTION 'the question is withdrawn';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER approvals_withdrawn BEFORE UPDATE ON approvals FOR EACH ROW EXECUTE FUNCTION approvals_withdrawn();
