// Answers full of keys that are all different fill the table of names. Memory.
const keep = [];
for (let n = 0; ; n++) keep.push(await codemode.echo(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [n + 'k' + i, i]))));
