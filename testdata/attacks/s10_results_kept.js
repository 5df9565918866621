// Results of calls that are all kept. Memory.
const a = [], s = 'x'.repeat(1e6);
for (;;) a.push(await codemode.echo({ s, n: a.length }));
