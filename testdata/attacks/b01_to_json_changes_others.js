// toJSON of the first key changes the second: it is read afterwards, once, and that is what travels. Value.
const a = { x: { toJSON() { a.y = 'changed'; return 1; } }, y: 'first' };
const r = await codemode.echo(a);
return r.y;
