// Answers of wide text are kept: twice as large as they look. Memory.
const keep = [], s = '\u4e00'.repeat(5e5);
for (let i = 0; ; i++) keep.push(await codemode.echo(s + i));
