// One object used in two calls at once: each call has its own snapshot. Value.
const a = { n: 1 };
const p = codemode.echo(a);
a.n = 2;
const q = codemode.echo(a);
a.n = 3;
return [(await p).n, (await q).n];
