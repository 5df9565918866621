-- Nothing: it is the SQLite table that is made anew. The numbers of both databases go together.
SELECT 1;
