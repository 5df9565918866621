// Answers of a megabyte of text are kept until nothing is left. Memory.
const keep = [], s = 'x'.repeat(1e6);
for (let i = 0; ; i++) keep.push(await codemode.echo(s + i));
