// A template that is closed by the wrapper, if there is one in it. Syntax error.
return `${1
