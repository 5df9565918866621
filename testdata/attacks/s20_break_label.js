// A label of the wrapper cannot be guessed. Syntax error.
break outer;
