-- Where people sit who answer questions: a row for each, until they leave or their process ends. beats are its signs of life.
CREATE TABLE seats (
  claim   TEXT    PRIMARY KEY,
  channel TEXT    NOT NULL,
  created INTEGER NOT NULL,
  beats   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
