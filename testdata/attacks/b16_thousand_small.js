// A thousand answers of sixteen kilobytes are kept. Value, or memory.
const keep = [], s = 'x'.repeat(16000);
for (let i = 0; i < 1000; i++) keep.push(await codemode.echo(s + i));
return keep.length;
