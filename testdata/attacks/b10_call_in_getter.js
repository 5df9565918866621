// A tool is called from a getter of an argument of another call, ten levels deep. Value.
const all = [];
const f = n => { const p = codemode.echo(n === 0 ? { n } : { n, get x() { f(n - 1); return n; } }); all.push(p); return p; };
f(10);
const r = await Promise.all(all);
return r.map(x => x.n).sort((a, b) => a - b).join();
