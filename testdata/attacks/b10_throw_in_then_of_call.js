// A reaction that throws inside the delivery of an answer does not harm the next answer. Value.
const ps = Array.from({ length: 20 }, (_, i) => codemode.echo(i).then(v => { if (v % 2) throw new Error('reaction'); return v; }));
const r = await Promise.allSettled(ps);
return r.map(x => x.status[0]).join('');
