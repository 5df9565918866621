// An open block that a wrapper might close. Syntax error.
if (true) { return 1;
