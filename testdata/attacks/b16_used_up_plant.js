// A run uses up its memory with answers. The next run must have all of its own.
const keep = [], s = 'x'.repeat(2e6);
for (let i = 0; ; i++) keep.push(await codemode.echo({ s, i }));
