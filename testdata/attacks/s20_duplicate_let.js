// The wrapper does not open a new scope for the same names. Syntax error.
let a = 1; let a = 2; return a;
