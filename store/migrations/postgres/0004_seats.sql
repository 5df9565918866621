-- Where people sit who answer questions: a row for each, until they leave or their process ends. beats are its signs of life.
CREATE TABLE seats (
  claim   text   PRIMARY KEY,
  channel text   NOT NULL,
  created bigint NOT NULL,
  beats   bigint NOT NULL DEFAULT 0
);

CREATE TRIGGER seats_tell AFTER INSERT OR DELETE ON seats FOR EACH STATEMENT EXECUTE FUNCTION tell();
