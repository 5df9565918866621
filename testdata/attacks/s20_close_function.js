// The text closes the wrapper, runs its middle part outside, and opens it again. Syntax error.
return 1; }); codemode.echo('evil'); (async () => {
