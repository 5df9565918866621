// The text closes the parentheses of a call. Syntax error.
return 1; })()); globalThis.evil = 1; (async (x) => ((() => {
