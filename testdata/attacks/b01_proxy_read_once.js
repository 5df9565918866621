// A proxy counts how often each key is read: once. Value.
const reads = {};
const r = await codemode.echo(new Proxy({ a: 1, b: 2 }, { get(t, k) { if (typeof k === 'string') reads[k] = (reads[k] || 0) + 1; return t[k]; } }));
return [r.a, r.b, reads.a, reads.b];
