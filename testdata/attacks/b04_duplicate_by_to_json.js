// toJSON that deletes and defines keys of its holder cannot make two equal keys. Value.
const o = { a: { toJSON() { delete o.b; o.b = 3; o.c = 4; return 1; } }, b: 2, c: 2 };
const r = await codemode.echo(o);
return [Object.keys(r).join(), r.a, r.b];
