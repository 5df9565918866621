// A template that would swallow the end of the wrapper. Syntax error.
return `never closed
