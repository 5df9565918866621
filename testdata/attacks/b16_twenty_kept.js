// Twenty answers of a megabyte are kept and are all whole: that much there must be. Value.
const keep = [], s = 'y'.repeat(1e6);
for (let i = 0; i < 20; i++) keep.push(await codemode.echo(s + (10 + i)));
return [keep.length, keep.every((r, i) => r.length === 1000002 && r.endsWith(String(10 + i)))];
