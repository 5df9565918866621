-- Nothing: it is a trigger of SQLite that is made anew. The numbers of both databases go together.
SELECT 1;
