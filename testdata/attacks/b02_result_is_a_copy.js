// The result is a copy: changing it changes nobody else's. Value.
const a = { x: { y: 1 } };
const r = await codemode.echo(a);
r.x.y = 2;
const [p, q] = await Promise.all([codemode.echo(a), codemode.echo(a)]);
p.x.y = 3;
return [a.x.y, q.x.y];
