// Awaiting codemode gives codemode: no tool named then is called. Value.
const c = await codemode;
return c === codemode && await c.echo('x') === 'x';
