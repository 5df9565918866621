// Braces in the order that would fit a generator wrapper. Syntax error.
yield 1; } } ); ( { *x() { 
