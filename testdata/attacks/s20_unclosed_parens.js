// An open parenthesis that a wrapper might close. Syntax error.
return (1
