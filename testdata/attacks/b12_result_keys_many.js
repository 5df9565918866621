// Fifty thousand keys come back. Value.
const o = {};
for (let i = 0; i < 50000; i++) o['k' + i] = i;
const r = await codemode.echo(o);
return Object.keys(r).length === 50000 && r.k49999 === 49999;
