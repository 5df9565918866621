// An array proxy whose length changes between reads. Value.
let n = 0;
const r = await codemode.echo(new Proxy([1, 2, 3], { get: (t, k) => k === 'length' ? (n++ === 0 ? 2 : 1000) : t[k] }));
return r.length;
