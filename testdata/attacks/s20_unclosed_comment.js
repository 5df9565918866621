// A comment that would swallow the end of the wrapper. Syntax error.
return 1 /* never closed
